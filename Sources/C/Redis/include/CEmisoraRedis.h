#ifndef C_EMISORA_REDIS_H
#define C_EMISORA_REDIS_H

#include <hiredis/hiredis.h>

// The connection's fields, whose types differ between versions of the library.

static inline int emisora_redis_fd(const redisContext *_Nonnull context) { return context->fd; }
static inline int emisora_redis_has_failed(const redisContext *_Nonnull context) { return context->err != 0; }
static inline const char *_Nonnull emisora_redis_error(const redisContext *_Nonnull context) {
    return context->errstr;
}
/// Bytes of a reply that is not complete yet.
static inline size_t emisora_redis_unread(const redisContext *_Nonnull context) {
    return context->reader->len - context->reader->pos;
}

#endif
