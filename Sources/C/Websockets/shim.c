#define _GNU_SOURCE
#include <poll.h>

#include "CEmisoraWebsockets.h"

static void fire(lws_sorted_usec_list_t *entry)
{
    emisora_lws_timer *timer = lws_container_of(entry, emisora_lws_timer, entry);
    if (timer->fire)
        timer->fire(timer->user);
}

void emisora_lws_timer_schedule(struct lws_context *context, emisora_lws_timer *timer, int64_t microseconds)
{
    lws_sul_schedule(context, 0, &timer->entry, fire, microseconds < 1 ? 1 : microseconds);
}

void emisora_lws_timer_cancel(emisora_lws_timer *timer)
{
    lws_sul_cancel(&timer->entry);
}

int emisora_lws_has_hung_up(int descriptor)
{
    struct pollfd one = {.fd = descriptor, .events = POLLRDHUP};
    return poll(&one, 1, 0) > 0;
}
