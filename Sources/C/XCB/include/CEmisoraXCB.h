#ifndef C_EMISORA_XCB_H
#define C_EMISORA_XCB_H

#include <xcb/composite.h>
#include <xcb/damage.h>
#include <xcb/randr.h>
#include <xcb/shm.h>
#include <xcb/xcb.h>
#include <xcb/xcbext.h>
#include <xcb/xfixes.h>

// The extensions are known by global variables, which Swift takes for shared mutable state: one function each. The
// answers belong to the connection; NULL if it is broken.

static inline const xcb_query_extension_reply_t *emisora_xcb_composite(xcb_connection_t *connection) {
    return xcb_get_extension_data(connection, &xcb_composite_id);
}
static inline const xcb_query_extension_reply_t *emisora_xcb_damage(xcb_connection_t *connection) {
    return xcb_get_extension_data(connection, &xcb_damage_id);
}
static inline const xcb_query_extension_reply_t *emisora_xcb_randr(xcb_connection_t *connection) {
    return xcb_get_extension_data(connection, &xcb_randr_id);
}
static inline const xcb_query_extension_reply_t *emisora_xcb_shm(xcb_connection_t *connection) {
    return xcb_get_extension_data(connection, &xcb_shm_id);
}
static inline const xcb_query_extension_reply_t *emisora_xcb_xfixes(xcb_connection_t *connection) {
    return xcb_get_extension_data(connection, &xcb_xfixes_id);
}

#endif
