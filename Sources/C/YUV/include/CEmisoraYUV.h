#ifndef C_EMISORA_YUV_H
#define C_EMISORA_YUV_H

#include <libyuv.h>

#endif
