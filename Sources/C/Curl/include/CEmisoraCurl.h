#ifndef C_EMISORA_CURL_H
#define C_EMISORA_CURL_H

#include <curl/curl.h>

// Functions with a variable number of arguments, which Swift cannot import, one for each type of argument.

static inline CURLcode emisora_curl_set_long(CURL *_Nonnull handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode emisora_curl_set_text(CURL *_Nonnull handle, CURLoption option, const char *_Nullable value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode emisora_curl_set_list(CURL *_Nonnull handle, CURLoption option,
                                             struct curl_slist *_Nullable value) {
    return curl_easy_setopt(handle, option, value);
}
typedef size_t (*emisora_curl_callback)(char *_Nullable bytes, size_t size, size_t count, void *_Nullable user);
static inline CURLcode emisora_curl_set_callback(CURL *_Nonnull handle, CURLoption option,
                                                 emisora_curl_callback _Nonnull callback) {
    return curl_easy_setopt(handle, option, callback);
}
static inline CURLcode emisora_curl_set_user(CURL *_Nonnull handle, CURLoption option, void *_Nullable user) {
    return curl_easy_setopt(handle, option, user);
}
static inline CURLcode emisora_curl_get_long(CURL *_Nonnull handle, CURLINFO info, long *_Nonnull value) {
    return curl_easy_getinfo(handle, info, value);
}
/// What a finished transfer came to; `CURLE_OK` also while there is none.
static inline CURLcode emisora_curl_result(CURLM *_Nonnull multi) {
    CURLcode result = CURLE_OK;
    int waiting = 0;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &waiting)))
        if (message->msg == CURLMSG_DONE)
            result = message->data.result;
    return result;
}

#endif
