#ifndef C_EMISORA_SRTP_H
#define C_EMISORA_SRTP_H

#include <srtp2/srtp.h>

#endif
