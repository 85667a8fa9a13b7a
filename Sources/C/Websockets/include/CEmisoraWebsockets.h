#ifndef C_EMISORA_WEBSOCKETS_H
#define C_EMISORA_WEBSOCKETS_H

#include <libwebsockets.h>

#endif
