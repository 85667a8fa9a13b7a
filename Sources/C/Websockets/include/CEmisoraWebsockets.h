#ifndef C_EMISORA_WEBSOCKETS_H
#define C_EMISORA_WEBSOCKETS_H

#include <libwebsockets.h>

/// Bytes that `lws_write` needs in front of the payload; a macro Swift cannot see.
static inline size_t emisora_lws_pre(void) { return LWS_PRE; }

/// RFC 8996: nothing before TLS 1.2; macros Swift cannot see.
static inline long emisora_lws_no_old_tls(void) { return SSL_OP_NO_TLSv1 | SSL_OP_NO_TLSv1_1; }

/// What is wrong with a certificate, in OpenSSL's words; `verification` is the `user` of
/// LWS_CALLBACK_OPENSSL_PERFORM_SERVER_CERT_VERIFICATION. NULL: nothing.
static inline const char *_Nullable emisora_lws_certificate_problem(void *_Nonnull verification) {
    int error = X509_STORE_CTX_get_error((X509_STORE_CTX *)verification);
    return error == X509_V_OK ? NULL : X509_verify_cert_error_string(error);
}

/// A timer of the service loop with the pointer that libwebsockets' own has no room for.
typedef struct emisora_lws_timer {
    lws_sorted_usec_list_t entry;
    void (*_Nullable fire)(void *_Nullable user);
    void *_Nullable user;
} emisora_lws_timer;

/// Fires once after `microseconds` on the service thread; a timer that is already waiting is moved.
void emisora_lws_timer_schedule(struct lws_context *_Nonnull context, emisora_lws_timer *_Nonnull timer,
                                int64_t microseconds);
void emisora_lws_timer_cancel(emisora_lws_timer *_Nonnull timer);

/// Whether the other side of a connection has ended it or said that it sends no more, whatever waits to be read.
int emisora_lws_has_hung_up(int descriptor);

/// libwebsockets logs to standard error on its own account; what matters reaches us as results and callbacks.
static inline void emisora_lws_silence(void) { lws_set_log_level(0, NULL); }

#endif
