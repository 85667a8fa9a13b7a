#define _GNU_SOURCE
#include "CEmisoraLinux.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_BATCH 64

typedef union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} socket_address;

static socklen_t to_system(const emisora_address *from, socket_address *to) {
    memset(to, 0, sizeof *to);
    if (!from->is_v6) {
        to->v4.sin_family = AF_INET;
        to->v4.sin_port = htons(from->port);
        to->v4.sin_addr.s_addr = htonl((uint32_t)from->low);
        return sizeof to->v4;
    }
    to->v6.sin6_family = AF_INET6;
    to->v6.sin6_port = htons(from->port);
    for (int i = 0; i < 8; i++) {
        to->v6.sin6_addr.s6_addr[i] = (uint8_t)(from->high >> (56 - 8 * i));
        to->v6.sin6_addr.s6_addr[8 + i] = (uint8_t)(from->low >> (56 - 8 * i));
    }
    return sizeof to->v6;
}

static bool from_system(const struct sockaddr *from, emisora_address *to) {
    memset(to, 0, sizeof *to);
    if (from->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
        to->low = ntohl(v4->sin_addr.s_addr);
        to->port = ntohs(v4->sin_port);
        return true;
    }
    if (from->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;
        for (int i = 0; i < 8; i++) {
            to->high = to->high << 8 | v6->sin6_addr.s6_addr[i];
            to->low = to->low << 8 | v6->sin6_addr.s6_addr[8 + i];
        }
        to->port = ntohs(v6->sin6_port);
        to->is_v6 = 1;
        return true;
    }
    return false;
}

int emisora_epoll_wait(int epoll, struct epoll_event *events, int capacity, int64_t timeout_ns) {
    if (timeout_ns < 0) return epoll_wait(epoll, events, capacity, -1);
    struct timespec timeout = {timeout_ns / 1000000000, timeout_ns % 1000000000};
    int result = epoll_pwait2(epoll, events, capacity, &timeout, NULL);
    // Kernels before 5.11 and filters of system calls that do not know this one have milliseconds only: round up, so
    // that a deadline has passed when it is handled.
    if (result < 0 && (errno == ENOSYS || errno == EPERM)) {
        int64_t ms = (timeout_ns + 999999) / 1000000;
        return epoll_wait(epoll, events, capacity, ms > 60000 ? 60000 : (int)ms);
    }
    return result;
}

int emisora_udp_open(emisora_address *address) {
    socket_address local;
    socklen_t length = to_system(address, &local);
    int fd = socket(local.any.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    int size = 2 * 1024 * 1024, on = 1;
    // The system may grant less; that is no reason to fail.
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    if (address->is_v6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(fd, &local.any, length) != 0 || getsockname(fd, &local.any, &length) != 0) {
        int saved = errno;
        close(fd);
        errno = saved;
        return -1;
    }
    from_system(&local.any, address);
    return fd;
}

int emisora_udp_receive(
    int socket, uint8_t *slots, size_t slot_size, int count, uint32_t *lengths, emisora_address *sources) {
    struct mmsghdr messages[MAX_BATCH];
    struct iovec vectors[MAX_BATCH];
    socket_address from[MAX_BATCH];
    if (count > MAX_BATCH) count = MAX_BATCH;
    memset(messages, 0, sizeof messages[0] * (size_t)count);
    for (int i = 0; i < count; i++) {
        vectors[i] = (struct iovec){slots + slot_size * (size_t)i, slot_size};
        messages[i].msg_hdr.msg_iov = &vectors[i];
        messages[i].msg_hdr.msg_iovlen = 1;
        messages[i].msg_hdr.msg_name = &from[i];
        messages[i].msg_hdr.msg_namelen = sizeof from[i];
    }
    int received = recvmmsg(socket, messages, (unsigned)count, MSG_DONTWAIT, NULL);
    for (int i = 0; i < received; i++) {
        bool usable = from_system(&from[i].any, &sources[i]) && !(messages[i].msg_hdr.msg_flags & MSG_TRUNC);
        lengths[i] = usable ? messages[i].msg_len : 0;
    }
    return received;
}

int emisora_udp_send(
    int socket, const uint8_t *slots, size_t slot_size, int count, const uint32_t *lengths,
    const emisora_address *destinations) {
    struct mmsghdr messages[MAX_BATCH];
    struct iovec vectors[MAX_BATCH];
    socket_address to[MAX_BATCH];
    if (count > MAX_BATCH) count = MAX_BATCH;
    memset(messages, 0, sizeof messages[0] * (size_t)count);
    for (int i = 0; i < count; i++) {
        vectors[i] = (struct iovec){(void *)(slots + slot_size * (size_t)i), lengths[i]};
        messages[i].msg_hdr.msg_iov = &vectors[i];
        messages[i].msg_hdr.msg_iovlen = 1;
        messages[i].msg_hdr.msg_name = &to[i];
        messages[i].msg_hdr.msg_namelen = to_system(&destinations[i], &to[i]);
    }
    int sent = sendmmsg(socket, messages, (unsigned)count, MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent < 0 ? -errno : sent;
}

// Flags of /proc/net/if_inet6.
enum { v6_temporary = 0x01, v6_dad_failed = 0x08, v6_deprecated = 0x20, v6_tentative = 0x40 };

static unsigned v6_flags(const emisora_address *address) {
    FILE *table = fopen("/proc/net/if_inet6", "re");
    if (!table) return 0;
    uint64_t high, low;
    unsigned flags, result = 0;
    while (fscanf(table, "%16" SCNx64 "%16" SCNx64 " %*x %*x %*x %x %*s", &high, &low, &flags) == 3)
        if (high == address->high && low == address->low) result |= flags;
    fclose(table);
    return result;
}

int emisora_interface_addresses(emisora_address *addresses, char *names, uint8_t *are_temporary, int capacity) {
    struct ifaddrs *list;
    if (getifaddrs(&list) != 0) return -1;
    int count = 0;
    for (struct ifaddrs *entry = list; entry && count < capacity; entry = entry->ifa_next) {
        if (!entry->ifa_addr || !(entry->ifa_flags & IFF_UP)) continue;
        if (!from_system(entry->ifa_addr, &addresses[count])) continue;
        unsigned flags = addresses[count].is_v6 ? v6_flags(&addresses[count]) : 0;
        // Addresses that must not be used for something new.
        if (flags & (v6_dad_failed | v6_deprecated | v6_tentative)) continue;
        are_temporary[count] = (flags & v6_temporary) != 0;
        strncpy(names + 16 * count, entry->ifa_name, 15);
        names[16 * count + 15] = 0;
        count++;
    }
    freeifaddrs(list);
    return count;
}

int emisora_watch_addresses(void) {
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (fd < 0) return -1;
    struct sockaddr_nl address = {
        .nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE};
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        int saved = errno;
        close(fd);
        errno = saved;
        return -1;
    }
    return fd;
}

int emisora_source_address(const emisora_address *destination, emisora_address *source) {
    socket_address to, from;
    socklen_t length = to_system(destination, &to), from_length = sizeof from;
    int fd = socket(to.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    int result = connect(fd, &to.any, length) == 0 && getsockname(fd, &from.any, &from_length) == 0 ? 0 : -1;
    int saved = errno;
    close(fd);
    errno = saved;
    if (result == 0) from_system(&from.any, source);
    return result;
}

int emisora_tcp_connect(const emisora_address *remote, emisora_address *local) {
    socket_address from, to;
    socklen_t from_length = to_system(local, &from), length = to_system(remote, &to);
    int fd = socket(to.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (bind(fd, &from.any, from_length) != 0 || (connect(fd, &to.any, length) != 0 && errno != EINPROGRESS)
        || getsockname(fd, &from.any, &from_length) != 0) {
        int saved = errno;
        close(fd);
        errno = saved;
        return -1;
    }
    from_system(&from.any, local);
    return fd;
}

int emisora_tcp_listen(emisora_address *address) {
    socket_address local;
    socklen_t length = to_system(address, &local);
    int fd = socket(local.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    int on = 1;
    // Connections of an earlier run that linger must not keep a port of a small range.
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->is_v6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(fd, &local.any, length) != 0 || listen(fd, 64) != 0 || getsockname(fd, &local.any, &length) != 0) {
        int saved = errno;
        close(fd);
        errno = saved;
        return -1;
    }
    from_system(&local.any, address);
    return fd;
}

int emisora_tcp_accept(int listener, emisora_address *remote) {
    socket_address from;
    socklen_t length = sizeof from;
    int fd = accept4(listener, &from.any, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return -1;
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    from_system(&from.any, remote);
    return fd;
}

void emisora_tcp_limit_unsent(int socket, int bytes) {
    setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes);
}

int emisora_socket_error(int socket) {
    int error = 0;
    socklen_t length = sizeof error;
    return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

int emisora_resolve(const char *name, emisora_address *addresses, int capacity) {
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM, .ai_flags = AI_ADDRCONFIG};
    struct addrinfo *list;
    int code = getaddrinfo(name, NULL, &hints, &list);
    // Only loopback has that family: AI_ADDRCONFIG would hide what is there.
    if (code != 0) {
        hints.ai_flags = 0;
        code = getaddrinfo(name, NULL, &hints, &list);
    }
    // EAI codes are negative.
    if (code != 0) return code < 0 ? code : -code;
    int count = 0;
    for (struct addrinfo *entry = list; entry && count < capacity; entry = entry->ai_next)
        if (from_system(entry->ai_addr, &addresses[count])) count++;
    freeaddrinfo(list);
    return count;
}

int emisora_watch_folder(const char *folder) {
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0) return -1;
    if (inotify_add_watch(fd, folder, IN_CREATE | IN_DELETE | IN_ATTRIB | IN_MOVED_TO) < 0) {
        int saved = errno;
        close(fd);
        errno = saved;
        return -1;
    }
    return fd;
}

void emisora_set_thread_name(const char *name) {
    char short_name[16];
    strncpy(short_name, name, sizeof short_name - 1);
    short_name[sizeof short_name - 1] = 0;
    pthread_setname_np(pthread_self(), short_name);
}

int emisora_thread_id(void) {
    // Asked at every door into the loop: a system call each time would cost more than what it guards.
    static __thread int id;
    if (id == 0) id = gettid();
    return id;
}

void emisora_ignore_sigpipe(void) { signal(SIGPIPE, SIG_IGN); }
FILE *emisora_stdout(void) { return stdout; }
FILE *emisora_stderr(void) { return stderr; }

static sigset_t termination_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    return set;
}

void emisora_block_termination_signals(void) {
    sigset_t set = termination_signals();
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

int emisora_wait_for_termination_signal(void) {
    sigset_t set = termination_signals();
    int number = 0;
    sigwait(&set, &number);
    return number;
}
