#ifndef C_EMISORA_CLOCKED_CARD_H
#define C_EMISORA_CLOCKED_CARD_H

#include <stdint.h>

/// A sound card in software that ALSA takes for one: it records a 1 kHz tone by a clock of its own, in real time, and
/// runs over when it is not read.
typedef struct emisora_card emisora_card;

/// Makes a card whose clock is `drift` millionths faster than the machine's, or NULL.
emisora_card *emisora_card_open(unsigned rate, double drift);
/// ALSA's handle (snd_pcm_t). Closing it ends the card.
void *emisora_card_handle(emisora_card *card);
/// From now on every call answers this error, as a driver does whose device was unplugged; 0 for none.
void emisora_card_fail(emisora_card *card, int error);

#endif
