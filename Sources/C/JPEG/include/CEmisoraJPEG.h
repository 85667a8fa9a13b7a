#ifndef C_EMISORA_JPEG_H
#define C_EMISORA_JPEG_H

#include <turbojpeg.h>

#endif
