#ifndef C_EMISORA_FFMPEG_H
#define C_EMISORA_FFMPEG_H

#include <errno.h>
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/channel_layout.h>
#include <libavutil/display.h>
#include <libavutil/log.h>
#include <libavutil/pixdesc.h>
#include <libswresample/swresample.h>
#include <libswscale/swscale.h>

// Macros that Swift does not import.

static inline int64_t emisora_av_no_timestamp(void) { return AV_NOPTS_VALUE; }
static inline int emisora_av_end_of_file(void) { return AVERROR_EOF; }
static inline int emisora_av_again(void) { return AVERROR(EAGAIN); }
static inline int emisora_av_no_memory(void) { return AVERROR(ENOMEM); }
static inline int emisora_av_exit(void) { return AVERROR_EXIT; }
static inline int emisora_av_not_permitted(void) { return AVERROR(EPERM); }
static inline int emisora_av_invalid(void) { return AVERROR(EINVAL); }
static inline int emisora_av_has_alpha(int pixel_format) {
    const AVPixFmtDescriptor *description = av_pix_fmt_desc_get((enum AVPixelFormat)pixel_format);
    return description && (description->flags & AV_PIX_FMT_FLAG_ALPHA);
}
static inline int emisora_av_is_rgb(int pixel_format) {
    const AVPixFmtDescriptor *description = av_pix_fmt_desc_get((enum AVPixelFormat)pixel_format);
    return description && (description->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL));
}
static inline int emisora_av_is_gray(int pixel_format) {
    const AVPixFmtDescriptor *description = av_pix_fmt_desc_get((enum AVPixelFormat)pixel_format);
    return description && description->nb_components <= 2 && !(description->flags & AV_PIX_FMT_FLAG_PAL);
}
/// Whether the samples lie in main memory, in a layout that libswscale can read.
static inline int emisora_av_is_readable(int pixel_format) {
    const AVPixFmtDescriptor *description = av_pix_fmt_desc_get((enum AVPixelFormat)pixel_format);
    return description && !(description->flags & AV_PIX_FMT_FLAG_HWACCEL) &&
           sws_isSupportedInput((enum AVPixelFormat)pixel_format);
}

// Fields that moved or were renamed between FFmpeg 5.1 (Debian 12) and its successors.

/// The display matrix of a stream, or NULL.
static inline const int32_t *emisora_av_stream_matrix(const AVStream *stream) {
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 30, 101)
    const AVPacketSideData *data = av_packet_side_data_get(
        stream->codecpar->coded_side_data, stream->codecpar->nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX);
    return data && data->size >= 9 * sizeof(int32_t) ? (const int32_t *)data->data : NULL;
#else
    size_t size = 0;
    const uint8_t *data = av_stream_get_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
    return data && size >= 9 * sizeof(int32_t) ? (const int32_t *)data : NULL;
#endif
}

/// The display matrix of a picture, or NULL.
static inline const int32_t *emisora_av_frame_matrix(const AVFrame *frame) {
    const AVFrameSideData *data = av_frame_get_side_data(frame, AV_FRAME_DATA_DISPLAYMATRIX);
    return data && data->size >= 9 * sizeof(int32_t) ? (const int32_t *)data->data : NULL;
}

static inline int64_t emisora_av_frame_duration(const AVFrame *frame) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 30, 100)
    return frame->duration;
#else
    return frame->pkt_duration;
#endif
}

// Arrays, which Swift sees as tuples.

static inline const uint8_t *emisora_av_frame_plane(const AVFrame *frame, int plane) { return frame->data[plane]; }
static inline int emisora_av_frame_stride(const AVFrame *frame, int plane) { return frame->linesize[plane]; }

/// Bytes from the start of a plane to the end of the memory that the picture holds for it; 0 if that is not known.
static inline size_t emisora_av_frame_plane_size(const AVFrame *frame, int plane) {
    for (int index = 0; index < AV_NUM_DATA_POINTERS && frame->buf[index]; index++) {
        const AVBufferRef *buffer = frame->buf[index];
        if (frame->data[plane] >= buffer->data && frame->data[plane] < buffer->data + buffer->size)
            return (size_t)(buffer->data + buffer->size - frame->data[plane]);
    }
    return 0;
}

/// Writes a picture in another pixel format to up to three planes; the number of rows written, or an error.
static inline int emisora_sws_convert(
    struct SwsContext *context, const AVFrame *frame, uint8_t *plane0, int stride0, uint8_t *plane1, int stride1,
    uint8_t *plane2, int stride2) {
    uint8_t *const planes[4] = {plane0, plane1, plane2, NULL};
    const int strides[4] = {stride0, stride1, stride2, 0};
    return sws_scale(
        context, (const uint8_t *const *)frame->data, frame->linesize, 0, frame->height, planes, strides);
}

/// Colour coefficients and ranges (0 limited, 1 full) of a conversion, contrast and saturation left alone.
static inline int emisora_sws_set_color(
    struct SwsContext *context, int from_matrix, int from_full, int to_matrix, int to_full) {
    return sws_setColorspaceDetails(
        context, sws_getCoefficients(from_matrix), from_full, sws_getCoefficients(to_matrix), to_full, 0, 1 << 16,
        1 << 16);
}

/// A resampler from the shape of `frame` to interleaved 16-bit integers; NULL if there is no such conversion.
static inline struct SwrContext *emisora_swr_open(const AVFrame *frame, int rate, int channels) {
    struct SwrContext *context = NULL;
    AVChannelLayout from = {0}, to = {0};
    av_channel_layout_default(&to, channels);
    if (frame->ch_layout.order == AV_CHANNEL_ORDER_UNSPEC)
        av_channel_layout_default(&from, frame->ch_layout.nb_channels);
    else if (av_channel_layout_copy(&from, &frame->ch_layout) < 0)
        return NULL;
    int status = swr_alloc_set_opts2(
        &context, &to, AV_SAMPLE_FMT_S16, rate, &from, (enum AVSampleFormat)frame->format, frame->sample_rate, 0, NULL);
    av_channel_layout_uninit(&from);
    if (status < 0 || swr_init(context) < 0) swr_free(&context);
    return context;
}

/// Resamples a frame, or with `frame` NULL what is left inside. Samples in each channel, or an error.
static inline int emisora_swr_convert(struct SwrContext *context, const AVFrame *frame, int16_t *out, int capacity) {
    uint8_t *planes[1] = {(uint8_t *)out};
    return swr_convert(
        context, planes, capacity, frame ? (const uint8_t **)frame->extended_data : NULL,
        frame ? frame->nb_samples : 0);
}

#endif
