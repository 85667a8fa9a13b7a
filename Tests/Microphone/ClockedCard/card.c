#include "CEmisoraClockedCard.h"

#include <alsa/asoundlib.h>
#include <alsa/pcm_external.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

struct emisora_card {
    snd_pcm_ioplug_t io;
    double samples_per_ns;
    int64_t start;
    /// What was read since the start.
    uint64_t read;
    atomic_int error;
};

static int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static uint64_t recorded(emisora_card *card) {
    return (uint64_t)((double)(now_ns() - card->start) * card->samples_per_ns);
}

static int card_start(snd_pcm_ioplug_t *io) {
    emisora_card *card = io->private_data;
    card->start = now_ns();
    card->read = 0;
    struct itimerspec every = {{0, 5000000}, {0, 5000000}};
    return timerfd_settime(io->poll_fd, 0, &every, NULL) < 0 ? -errno : 0;
}

static int card_prepare(snd_pcm_ioplug_t *io) {
    emisora_card *card = io->private_data;
    return -atomic_load(&card->error);
}

static int card_stop(snd_pcm_ioplug_t *io) {
    struct itimerspec never = {{0, 0}, {0, 0}};
    timerfd_settime(io->poll_fd, 0, &never, NULL);
    return 0;
}

static snd_pcm_sframes_t card_pointer(snd_pcm_ioplug_t *io) {
    emisora_card *card = io->private_data;
    int error = atomic_load(&card->error);
    // Older libraries take every error here for an overrun; the truth comes out when the card is to be started anew.
    if (error) return -error;
    uint64_t position = recorded(card);
    if (position - card->read > io->buffer_size) return -EPIPE;
    return (snd_pcm_sframes_t)(position % io->buffer_size);
}

static snd_pcm_sframes_t card_transfer(
    snd_pcm_ioplug_t *io, const snd_pcm_channel_area_t *areas, snd_pcm_uframes_t offset, snd_pcm_uframes_t size) {
    emisora_card *card = io->private_data;
    int error = atomic_load(&card->error);
    if (error) return -error;
    for (unsigned channel = 0; channel < io->channels; channel++) {
        const snd_pcm_channel_area_t *area = &areas[channel];
        char *base = (char *)area->addr + area->first / 8;
        for (snd_pcm_uframes_t index = 0; index < size; index++) {
            double seconds = (double)card->start * 1e-9 + (double)(card->read + index) / card->samples_per_ns * 1e-9;
            int16_t value = (int16_t)(16000 * sin(2 * M_PI * fmod(1000 * seconds, 1)));
            *(int16_t *)(base + (offset + index) * (area->step / 8)) = value;
        }
    }
    card->read += size;
    return (snd_pcm_sframes_t)size;
}

static int card_revents(snd_pcm_ioplug_t *io, struct pollfd *descriptors, unsigned count, unsigned short *revents) {
    emisora_card *card = io->private_data;
    uint64_t ticks;
    *revents = 0;
    if (count > 0 && descriptors[0].revents & POLLIN && read(io->poll_fd, &ticks, sizeof ticks) < 0 && errno != EAGAIN)
        return -errno;
    if (atomic_load(&card->error) || recorded(card) - card->read >= io->period_size) *revents = POLLIN;
    return 0;
}

static int card_close(snd_pcm_ioplug_t *io) {
    emisora_card *card = io->private_data;
    close(io->poll_fd);
    free(card);
    return 0;
}

static const snd_pcm_ioplug_callback_t callbacks = {
    .start = card_start,
    .stop = card_stop,
    .prepare = card_prepare,
    .pointer = card_pointer,
    .transfer = card_transfer,
    .close = card_close,
    .poll_revents = card_revents,
};

emisora_card *emisora_card_open(unsigned rate, double drift) {
    emisora_card *card = calloc(1, sizeof *card);
    if (!card) return NULL;
    card->samples_per_ns = rate * (1 + drift * 1e-6) * 1e-9;
    card->io.version = SND_PCM_IOPLUG_VERSION;
    card->io.name = "Clocked card";
    card->io.flags = SND_PCM_IOPLUG_FLAG_MONOTONIC;
    card->io.callback = &callbacks;
    card->io.private_data = card;
    card->io.poll_events = POLLIN;
    card->io.poll_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (card->io.poll_fd < 0 ||
        snd_pcm_ioplug_create(&card->io, "clocked", SND_PCM_STREAM_CAPTURE, SND_PCM_NONBLOCK) < 0) {
        free(card);
        return NULL;
    }
    static const unsigned accesses[] = {SND_PCM_ACCESS_RW_INTERLEAVED};
    static const unsigned formats[] = {SND_PCM_FORMAT_S16_LE};
    snd_pcm_ioplug_set_param_list(&card->io, SND_PCM_IOPLUG_HW_ACCESS, 1, accesses);
    snd_pcm_ioplug_set_param_list(&card->io, SND_PCM_IOPLUG_HW_FORMAT, 1, formats);
    snd_pcm_ioplug_set_param_minmax(&card->io, SND_PCM_IOPLUG_HW_CHANNELS, 2, 2);
    snd_pcm_ioplug_set_param_minmax(&card->io, SND_PCM_IOPLUG_HW_RATE, rate, rate);
    snd_pcm_ioplug_set_param_minmax(&card->io, SND_PCM_IOPLUG_HW_PERIOD_BYTES, 256, 65536);
    snd_pcm_ioplug_set_param_minmax(&card->io, SND_PCM_IOPLUG_HW_BUFFER_BYTES, 1024, 262144);
    return card;
}

void *emisora_card_handle(emisora_card *card) {
    return card->io.pcm;
}

void emisora_card_fail(emisora_card *card, int error) {
    atomic_store(&card->error, error);
}
