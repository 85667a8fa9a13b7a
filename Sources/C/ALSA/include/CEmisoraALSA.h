#ifndef C_EMISORA_ALSA_H
#define C_EMISORA_ALSA_H

#include <alsa/asoundlib.h>

// A handler of messages is variadic, which Swift can neither write nor set.

static void emisora_alsa_ignore_message(
    const char *file, int line, const char *function, int error, const char *format, va_list arguments) {
    (void)file, (void)line, (void)function, (void)error, (void)format, (void)arguments;
}

/// Keeps the library from writing to standard error from the calling thread: errors are told by what calls return.
static inline void emisora_alsa_silence_thread(void) {
    snd_lib_error_set_local(emisora_alsa_ignore_message);
}

#endif
