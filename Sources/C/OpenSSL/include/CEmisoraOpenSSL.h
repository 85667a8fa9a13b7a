#ifndef C_EMISORA_OPENSSL_H
#define C_EMISORA_OPENSSL_H

#include <openssl/ssl.h>

#endif
