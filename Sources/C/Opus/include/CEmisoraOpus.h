#ifndef C_EMISORA_OPUS_H
#define C_EMISORA_OPUS_H

#include <opus/opus.h>

// Variadic controls that Swift cannot import, one function each.

static inline int emisora_opus_set_bitrate(OpusEncoder *encoder, opus_int32 value) {
    return opus_encoder_ctl(encoder, OPUS_SET_BITRATE(value));
}
static inline int emisora_opus_set_complexity(OpusEncoder *encoder, opus_int32 value) {
    return opus_encoder_ctl(encoder, OPUS_SET_COMPLEXITY(value));
}
static inline int emisora_opus_set_inband_fec(OpusEncoder *encoder, opus_int32 value) {
    return opus_encoder_ctl(encoder, OPUS_SET_INBAND_FEC(value));
}
static inline int emisora_opus_set_packet_loss_percent(OpusEncoder *encoder, opus_int32 value) {
    return opus_encoder_ctl(encoder, OPUS_SET_PACKET_LOSS_PERC(value));
}
static inline int emisora_opus_set_dtx(OpusEncoder *encoder, opus_int32 value) {
    return opus_encoder_ctl(encoder, OPUS_SET_DTX(value));
}
static inline int emisora_opus_set_max_bandwidth(OpusEncoder *encoder, opus_int32 value) {
    return opus_encoder_ctl(encoder, OPUS_SET_MAX_BANDWIDTH(value));
}

#endif
