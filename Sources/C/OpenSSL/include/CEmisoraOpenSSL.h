#ifndef C_EMISORA_OPENSSL_H
#define C_EMISORA_OPENSSL_H

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// What Swift cannot import from OpenSSL's headers: macros and variadic functions, one function each.

static inline EVP_PKEY *emisora_generate_p256_key(void) { return EVP_EC_gen("P-256"); }

static inline long emisora_ssl_ctx_set_min_proto_version(SSL_CTX *ctx, int version) {
    return SSL_CTX_set_min_proto_version(ctx, version);
}
static inline long emisora_ssl_ctx_set_max_proto_version(SSL_CTX *ctx, int version) {
    return SSL_CTX_set_max_proto_version(ctx, version);
}
static inline long emisora_ssl_ctx_set_groups(SSL_CTX *ctx, const char *groups) {
    return SSL_CTX_set1_groups_list(ctx, groups);
}
static inline void emisora_ssl_ctx_set_options(SSL_CTX *ctx) {
    // RFC 8827 §6.5: no renegotiation; resumption would only add states that nobody uses.
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_QUERY_MTU);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_read_ahead(ctx, 1);
}
static inline void emisora_ssl_set_mtu(SSL *ssl, long mtu) { SSL_set_mtu(ssl, mtu); }
static inline long emisora_dtls_handle_timeout(SSL *ssl) { return DTLSv1_handle_timeout(ssl); }
/// Microseconds until OpenSSL's retransmission timer runs out, or -1 when none is running.
static inline long long emisora_dtls_timeout_us(SSL *ssl) {
    struct timeval left;
    if (DTLSv1_get_timeout(ssl, &left) != 1) return -1;
    return (long long)left.tv_sec * 1000000 + left.tv_usec;
}
static inline void emisora_bio_set_retry_read(BIO *bio) { BIO_set_retry_read(bio); }
static inline void emisora_bio_clear_retry(BIO *bio) { BIO_clear_retry_flags(bio); }
static inline long emisora_ssl_set_server_name(SSL *ssl, const char *name) {
    return SSL_set_tlsext_host_name(ssl, name);
}
static inline void emisora_ssl_ctx_use_partial_writes(SSL_CTX *ctx) {
    SSL_CTX_set_mode(ctx, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}
/// RFC 8996: nothing before TLS 1.2; a connection is what it was when it began.
static inline long emisora_ssl_ctx_use_server_defaults(SSL_CTX *ctx) {
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    return SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
}
/// Hands the certificate, its chain and its key from a context to one connection, in place of what that one had.
static inline int emisora_ssl_use_identity_of(SSL *ssl, SSL_CTX *source) {
    STACK_OF(X509) *chain = NULL;
    X509 *certificate = SSL_CTX_get0_certificate(source);
    EVP_PKEY *key = SSL_CTX_get0_privatekey(source);
    if (!certificate || !key || SSL_CTX_get0_chain_certs(source, &chain) != 1) return 0;
    SSL_certs_clear(ssl);
    return SSL_use_cert_and_key(ssl, certificate, key, chain, 1);
}
/// Bytes that a memory BIO holds.
static inline size_t emisora_bio_pending(BIO *bio) { return BIO_ctrl_pending(bio); }

#endif
