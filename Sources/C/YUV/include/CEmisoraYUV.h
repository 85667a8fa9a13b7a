#ifndef C_EMISORA_YUV_H
#define C_EMISORA_YUV_H

#include <libyuv/convert.h>
#include <libyuv/convert_argb.h>
#include <libyuv/convert_from.h>
#include <libyuv/convert_from_argb.h>
#include <libyuv/planar_functions.h>
#include <libyuv/rotate.h>
#include <libyuv/scale.h>

// BT.709 full range: libyuv has the constants, but no function of that name.
static inline int emisora_f420_to_argb(
    const uint8_t *y, int y_stride, const uint8_t *u, int u_stride, const uint8_t *v, int v_stride, uint8_t *argb,
    int argb_stride, int width, int height) {
    return I420ToARGBMatrix(y, y_stride, u, u_stride, v, v_stride, argb, argb_stride, &kYuvF709Constants, width, height);
}

#endif
