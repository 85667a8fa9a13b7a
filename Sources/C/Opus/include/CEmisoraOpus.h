#ifndef C_EMISORA_OPUS_H
#define C_EMISORA_OPUS_H

#include <opus/opus.h>

#endif
