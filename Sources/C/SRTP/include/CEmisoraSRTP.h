#ifndef C_EMISORA_SRTP_H
#define C_EMISORA_SRTP_H

#include <srtp2/srtp.h>

// Macros that Swift cannot import, as functions.

static inline void emisora_srtp_policy_aes_cm_128_hmac_sha1_80(srtp_crypto_policy_t *policy) {
    srtp_crypto_policy_set_aes_cm_128_hmac_sha1_80(policy);
}
static inline void emisora_srtp_policy_aead_aes_128_gcm(srtp_crypto_policy_t *policy) {
    srtp_crypto_policy_set_aes_gcm_128_16_auth(policy);
}
static inline void emisora_srtp_policy_aead_aes_256_gcm(srtp_crypto_policy_t *policy) {
    srtp_crypto_policy_set_aes_gcm_256_16_auth(policy);
}

#endif
