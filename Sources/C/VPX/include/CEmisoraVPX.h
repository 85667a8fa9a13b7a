#ifndef C_EMISORA_VPX_H
#define C_EMISORA_VPX_H

#include <vpx/vp8cx.h>
#include <vpx/vp8dx.h>
#include <vpx/vpx_decoder.h>
#include <vpx/vpx_encoder.h>

// Macros and variadic functions that Swift cannot import, one function each.

static inline vpx_codec_err_t emisora_vp8_enc_init(vpx_codec_ctx_t *ctx, const vpx_codec_enc_cfg_t *cfg) {
    return vpx_codec_enc_init(ctx, vpx_codec_vp8_cx(), cfg, 0);
}
static inline vpx_codec_err_t emisora_vp8_dec_init(vpx_codec_ctx_t *ctx, const vpx_codec_dec_cfg_t *cfg) {
    return vpx_codec_dec_init(ctx, vpx_codec_vp8_dx(), cfg, 0);
}
static inline vpx_codec_err_t emisora_vp8_set_cpu_used(vpx_codec_ctx_t *ctx, int value) {
    return vpx_codec_control(ctx, VP8E_SET_CPUUSED, value);
}
static inline vpx_codec_err_t emisora_vp8_set_noise_sensitivity(vpx_codec_ctx_t *ctx, unsigned value) {
    return vpx_codec_control(ctx, VP8E_SET_NOISE_SENSITIVITY, value);
}
static inline vpx_codec_err_t emisora_vp8_set_static_threshold(vpx_codec_ctx_t *ctx, unsigned value) {
    return vpx_codec_control(ctx, VP8E_SET_STATIC_THRESHOLD, value);
}
static inline vpx_codec_err_t emisora_vp8_set_token_partitions(vpx_codec_ctx_t *ctx, int value) {
    return vpx_codec_control(ctx, VP8E_SET_TOKEN_PARTITIONS, value);
}
static inline vpx_codec_err_t emisora_vp8_set_max_intra_bitrate_pct(vpx_codec_ctx_t *ctx, unsigned value) {
    return vpx_codec_control(ctx, VP8E_SET_MAX_INTRA_BITRATE_PCT, value);
}
static inline vpx_codec_err_t emisora_vp8_set_screen_content_mode(vpx_codec_ctx_t *ctx, unsigned value) {
    return vpx_codec_control(ctx, VP8E_SET_SCREEN_CONTENT_MODE, value);
}
static inline int emisora_vp8_last_quantizer(vpx_codec_ctx_t *ctx) {
    int value = -1;
    vpx_codec_control(ctx, VP8E_GET_LAST_QUANTIZER_64, &value);
    return value;
}

#endif
