#ifndef C_EMISORA_V4L2_H
#define C_EMISORA_V4L2_H

#include <errno.h>
#include <libv4l2.h>
#include <linux/videodev2.h>
#include <stdint.h>
#include <string.h>

// Every request number is a macro that Swift does not import. Requests go through libv4l2, which hands them straight to
// the kernel unless `emisora_v4l2_convert` was called for the descriptor.

/// Planes that are carried; drivers of cameras have at most three.
enum { EMISORA_V4L2_PLANES = 3 };

static inline int emisora_v4l2_ioctl(int fd, unsigned long request, void *argument) {
    int result;
    do {
        result = v4l2_ioctl(fd, request, argument);
    } while (result < 0 && errno == EINTR);
    return result;
}

/// Puts libv4l's conversion between an open descriptor and its user.
static inline int emisora_v4l2_convert(int fd) { return v4l2_fd_open(fd, 0) < 0 ? -1 : 0; }
static inline int emisora_v4l2_close(int fd) { return v4l2_close(fd); }
static inline void *emisora_v4l2_map(int fd, size_t length, int64_t offset) {
    // Writable, since libv4l's own mappings are; `MAP_FAILED` is a macro of a cast.
    void *memory = v4l2_mmap(NULL, length, 3 /* PROT_READ | PROT_WRITE */, 1 /* MAP_SHARED */, fd, offset);
    return memory == (void *)-1 ? NULL : memory;
}
static inline int emisora_v4l2_unmap(void *memory, size_t length) { return v4l2_munmap(memory, length); }

static inline int emisora_v4l2_is_multiplanar(uint32_t type) { return type == V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE; }

static inline int emisora_v4l2_querycap(int fd, struct v4l2_capability *out) {
    return emisora_v4l2_ioctl(fd, VIDIOC_QUERYCAP, out);
}
static inline int emisora_v4l2_enum_format(int fd, struct v4l2_fmtdesc *out) {
    return emisora_v4l2_ioctl(fd, VIDIOC_ENUM_FMT, out);
}
static inline int emisora_v4l2_enum_frame_size(int fd, struct v4l2_frmsizeenum *out) {
    return emisora_v4l2_ioctl(fd, VIDIOC_ENUM_FRAMESIZES, out);
}
static inline int emisora_v4l2_enum_frame_interval(int fd, struct v4l2_frmivalenum *out) {
    return emisora_v4l2_ioctl(fd, VIDIOC_ENUM_FRAMEINTERVALS, out);
}

// MARK: Formats and buffers, the single- and the multi-planar API as one

typedef struct {
    uint32_t type, width, height, pixelformat, field, colorspace, ycbcr_enc, quantization, xfer_func, num_planes;
    uint32_t bytesperline[EMISORA_V4L2_PLANES], sizeimage[EMISORA_V4L2_PLANES];
} emisora_v4l2_format;

typedef enum { EMISORA_V4L2_GET, EMISORA_V4L2_SET, EMISORA_V4L2_TRY } emisora_v4l2_verb;

/// More planes than are carried: -1 with E2BIG.
static inline int emisora_v4l2_do_format(int fd, emisora_v4l2_verb verb, emisora_v4l2_format *f) {
    struct v4l2_format raw;
    memset(&raw, 0, sizeof raw);
    raw.type = f->type;
    int multi = emisora_v4l2_is_multiplanar(f->type);
    if (verb != EMISORA_V4L2_GET && multi) {
        struct v4l2_pix_format_mplane *p = &raw.fmt.pix_mp;
        p->width = f->width;
        p->height = f->height;
        p->pixelformat = f->pixelformat;
        p->field = f->field;
        p->colorspace = f->colorspace;
    } else if (verb != EMISORA_V4L2_GET) {
        struct v4l2_pix_format *p = &raw.fmt.pix;
        p->width = f->width;
        p->height = f->height;
        p->pixelformat = f->pixelformat;
        p->field = f->field;
        p->colorspace = f->colorspace;
    }
    unsigned long request = verb == EMISORA_V4L2_GET ? VIDIOC_G_FMT : verb == EMISORA_V4L2_SET ? VIDIOC_S_FMT : VIDIOC_TRY_FMT;
    if (emisora_v4l2_ioctl(fd, request, &raw) < 0) return -1;
    if (multi) {
        const struct v4l2_pix_format_mplane *p = &raw.fmt.pix_mp;
        if (p->num_planes > EMISORA_V4L2_PLANES) {
            errno = E2BIG;
            return -1;
        }
        f->width = p->width;
        f->height = p->height;
        f->pixelformat = p->pixelformat;
        f->field = p->field;
        f->colorspace = p->colorspace;
        f->ycbcr_enc = p->ycbcr_enc;
        f->quantization = p->quantization;
        f->xfer_func = p->xfer_func;
        f->num_planes = p->num_planes;
        for (uint32_t i = 0; i < p->num_planes; i++) {
            f->bytesperline[i] = p->plane_fmt[i].bytesperline;
            f->sizeimage[i] = p->plane_fmt[i].sizeimage;
        }
    } else {
        const struct v4l2_pix_format *p = &raw.fmt.pix;
        f->width = p->width;
        f->height = p->height;
        f->pixelformat = p->pixelformat;
        f->field = p->field;
        f->colorspace = p->colorspace;
        // Drivers older than these fields leave `priv` alone and the fields with it.
        int extended = p->priv == V4L2_PIX_FMT_PRIV_MAGIC;
        f->ycbcr_enc = extended ? p->ycbcr_enc : 0;
        f->quantization = extended ? p->quantization : 0;
        f->xfer_func = extended ? p->xfer_func : 0;
        f->num_planes = 1;
        f->bytesperline[0] = p->bytesperline;
        f->sizeimage[0] = p->sizeimage;
    }
    return 0;
}

typedef struct {
    uint32_t type, index, flags, field, sequence, num_planes;
    int64_t seconds, microseconds;
    uint32_t bytesused[EMISORA_V4L2_PLANES], length[EMISORA_V4L2_PLANES], data_offset[EMISORA_V4L2_PLANES],
        mem_offset[EMISORA_V4L2_PLANES];
} emisora_v4l2_buffer;

typedef enum { EMISORA_V4L2_QUERYBUF, EMISORA_V4L2_QBUF, EMISORA_V4L2_DQBUF } emisora_v4l2_buffer_verb;

/// `type`, `index` and, for multi-planar types, `num_planes` are read; everything is written.
static inline int emisora_v4l2_do_buffer(int fd, emisora_v4l2_buffer_verb verb, emisora_v4l2_buffer *b) {
    struct v4l2_buffer raw;
    struct v4l2_plane planes[VIDEO_MAX_PLANES];
    memset(&raw, 0, sizeof raw);
    memset(planes, 0, sizeof planes);
    raw.type = b->type;
    raw.memory = V4L2_MEMORY_MMAP;
    raw.index = b->index;
    int multi = emisora_v4l2_is_multiplanar(b->type);
    if (multi) {
        raw.m.planes = planes;
        raw.length = VIDEO_MAX_PLANES;
        if (verb == EMISORA_V4L2_QBUF) raw.length = b->num_planes > EMISORA_V4L2_PLANES ? EMISORA_V4L2_PLANES : b->num_planes;
    }
    unsigned long request =
        verb == EMISORA_V4L2_QUERYBUF ? VIDIOC_QUERYBUF : verb == EMISORA_V4L2_QBUF ? VIDIOC_QBUF : VIDIOC_DQBUF;
    if (emisora_v4l2_ioctl(fd, request, &raw) < 0) return -1;
    b->index = raw.index;
    b->flags = raw.flags;
    b->field = raw.field;
    b->sequence = raw.sequence;
    b->seconds = raw.timestamp.tv_sec;
    b->microseconds = raw.timestamp.tv_usec;
    if (!multi) {
        b->num_planes = 1;
        b->bytesused[0] = raw.bytesused;
        b->length[0] = raw.length;
        b->data_offset[0] = 0;
        b->mem_offset[0] = raw.m.offset;
        return 0;
    }
    b->num_planes = raw.length > EMISORA_V4L2_PLANES ? EMISORA_V4L2_PLANES : raw.length;
    for (uint32_t i = 0; i < b->num_planes; i++) {
        b->bytesused[i] = planes[i].bytesused;
        b->length[i] = planes[i].length;
        b->data_offset[i] = planes[i].data_offset;
        b->mem_offset[i] = planes[i].m.mem_offset;
    }
    return 0;
}

/// `count` is how many are wanted and then how many there are.
static inline int emisora_v4l2_request_buffers(int fd, uint32_t type, uint32_t *count) {
    struct v4l2_requestbuffers raw;
    memset(&raw, 0, sizeof raw);
    raw.count = *count;
    raw.type = type;
    raw.memory = V4L2_MEMORY_MMAP;
    if (emisora_v4l2_ioctl(fd, VIDIOC_REQBUFS, &raw) < 0) return -1;
    *count = raw.count;
    return 0;
}

static inline int emisora_v4l2_stream(int fd, uint32_t type, int on) {
    int value = (int)type;
    return emisora_v4l2_ioctl(fd, on ? VIDIOC_STREAMON : VIDIOC_STREAMOFF, &value);
}

/// The time of a frame in seconds: `numerator / denominator`. Answers -1 with ENOTTY if the driver has no such setting.
static inline int emisora_v4l2_interval(int fd, uint32_t type, int set, uint32_t *numerator, uint32_t *denominator) {
    struct v4l2_streamparm raw;
    memset(&raw, 0, sizeof raw);
    raw.type = type;
    if (set) {
        raw.parm.capture.timeperframe.numerator = *numerator;
        raw.parm.capture.timeperframe.denominator = *denominator;
    }
    if (emisora_v4l2_ioctl(fd, set ? VIDIOC_S_PARM : VIDIOC_G_PARM, &raw) < 0) return -1;
    if (!(raw.parm.capture.capability & V4L2_CAP_TIMEPERFRAME)) {
        errno = ENOTTY;
        return -1;
    }
    *numerator = raw.parm.capture.timeperframe.numerator;
    *denominator = raw.parm.capture.timeperframe.denominator;
    return 0;
}

// MARK: Events, controls, selections

static inline int emisora_v4l2_subscribe(int fd, uint32_t kind, uint32_t id, int on) {
    struct v4l2_event_subscription raw;
    memset(&raw, 0, sizeof raw);
    raw.type = kind;
    raw.id = id;
    return emisora_v4l2_ioctl(fd, on ? VIDIOC_SUBSCRIBE_EVENT : VIDIOC_UNSUBSCRIBE_EVENT, &raw);
}

typedef struct {
    uint32_t type, id, pending, changes;
} emisora_v4l2_event;

static inline int emisora_v4l2_dequeue_event(int fd, emisora_v4l2_event *out) {
    struct v4l2_event raw;
    memset(&raw, 0, sizeof raw);
    if (emisora_v4l2_ioctl(fd, VIDIOC_DQEVENT, &raw) < 0) return -1;
    out->type = raw.type;
    out->id = raw.id;
    out->pending = raw.pending;
    out->changes = 0;
    if (raw.type == V4L2_EVENT_SOURCE_CHANGE) out->changes = raw.u.src_change.changes;
    if (raw.type == V4L2_EVENT_CTRL) out->changes = raw.u.ctrl.changes;
    return 0;
}

static inline int emisora_v4l2_query_control(int fd, struct v4l2_query_ext_ctrl *out) {
    return emisora_v4l2_ioctl(fd, VIDIOC_QUERY_EXT_CTRL, out);
}

/// `value` gets the number of an integer menu; `name` (32 bytes) the name of another.
static inline int emisora_v4l2_query_menu(int fd, uint32_t id, uint32_t index, int is_integer, char *name, int64_t *value) {
    struct v4l2_querymenu raw;
    memset(&raw, 0, sizeof raw);
    raw.id = id;
    raw.index = index;
    if (emisora_v4l2_ioctl(fd, VIDIOC_QUERYMENU, &raw) < 0) return -1;
    *value = is_integer ? raw.value : 0;
    memcpy(name, raw.name, sizeof raw.name);
    if (is_integer) name[0] = 0;
    return 0;
}

/// With `payload` the control's value is that memory; else `value` is, of 64 bits if `is_wide`.
static inline int emisora_v4l2_control(
    int fd, int set, uint32_t id, int is_wide, int64_t *value, void *payload, uint32_t payload_size) {
    struct v4l2_ext_control control;
    struct v4l2_ext_controls raw;
    memset(&control, 0, sizeof control);
    memset(&raw, 0, sizeof raw);
    control.id = id;
    if (payload) {
        control.size = payload_size;
        control.ptr = payload;
    } else if (is_wide) {
        control.value64 = *value;
    } else {
        control.value = (int32_t)*value;
    }
    raw.which = V4L2_CTRL_WHICH_CUR_VAL;
    raw.count = 1;
    raw.controls = &control;
    if (emisora_v4l2_ioctl(fd, set ? VIDIOC_S_EXT_CTRLS : VIDIOC_G_EXT_CTRLS, &raw) < 0) return -1;
    if (!payload) *value = is_wide ? control.value64 : control.value;
    return 0;
}

static inline int emisora_v4l2_selection(
    int fd, uint32_t type, int set, uint32_t target, int32_t *left, int32_t *top, uint32_t *width, uint32_t *height) {
    struct v4l2_selection raw;
    memset(&raw, 0, sizeof raw);
    // This request takes the single-planar type for both kinds of devices.
    raw.type = emisora_v4l2_is_multiplanar(type) ? V4L2_BUF_TYPE_VIDEO_CAPTURE : type;
    raw.target = target;
    if (set) raw.r = (struct v4l2_rect){*left, *top, *width, *height};
    if (emisora_v4l2_ioctl(fd, set ? VIDIOC_S_SELECTION : VIDIOC_G_SELECTION, &raw) < 0) return -1;
    *left = raw.r.left;
    *top = raw.r.top;
    *width = raw.r.width;
    *height = raw.r.height;
    return 0;
}

// `bytes` is a `struct v4l2_dv_timings`, of which nothing is known but its size.
static inline int emisora_v4l2_timings_size(void) { return sizeof(struct v4l2_dv_timings); }

static inline int emisora_v4l2_timings(int fd, int set, void *bytes) {
    struct v4l2_dv_timings raw;
    memset(&raw, 0, sizeof raw);
    if (set) memcpy(&raw, bytes, sizeof raw);
    if (emisora_v4l2_ioctl(fd, set ? VIDIOC_S_DV_TIMINGS : VIDIOC_QUERY_DV_TIMINGS, &raw) < 0) return -1;
    memcpy(bytes, &raw, sizeof raw);
    return 0;
}

static inline int emisora_v4l2_priority(int fd, int set, uint32_t *priority) {
    enum v4l2_priority value = (enum v4l2_priority) * priority;
    if (emisora_v4l2_ioctl(fd, set ? VIDIOC_S_PRIORITY : VIDIOC_G_PRIORITY, &value) < 0) return -1;
    *priority = value;
    return 0;
}

#endif
