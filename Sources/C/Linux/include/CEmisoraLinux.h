#ifndef C_EMISORA_LINUX_H
#define C_EMISORA_LINUX_H

#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

// What Swift's Glibc module lacks. The GNU calls are wrapped out of line, in linux.c, since a feature macro in a header
// would give this module another view of the C library than Swift's own.

/// An IP address and port, free of the C library's socket types. IPv4 stands in the low 32 bits of `low`.
typedef struct {
    uint64_t high;
    uint64_t low;
    uint16_t port;
    uint8_t is_v6;
} emisora_address;

/// Waits for events; a negative timeout waits without end. Answers like epoll_wait.
int emisora_epoll_wait(int epoll, struct epoll_event *events, int capacity, int64_t timeout_ns);

/// A bound, non-blocking UDP socket with large buffers, or -1 with errno. `address` gets the port that was chosen.
int emisora_udp_open(emisora_address *address);

/// Receives up to `count` (at most 64) datagrams into slots of `slot_size` bytes one behind the other. `lengths` gets
/// 0 for one that did not fit. Answers their number, or -1 with errno.
int emisora_udp_receive(
    int socket, uint8_t *slots, size_t slot_size, int count, uint32_t *lengths, emisora_address *sources);

/// Sends `count` (at most 64) datagrams from slots of `slot_size` bytes. Answers how many were sent, or the negated
/// errno of the first.
int emisora_udp_send(
    int socket, const uint8_t *slots, size_t slot_size, int count, const uint32_t *lengths,
    const emisora_address *destinations);

/// Fills up to `capacity` addresses of interfaces that are up, without IPv6 addresses that are deprecated or not yet
/// known to be unique; answers their number, or -1 with errno. `names` has 16 bytes for each; `are_temporary` tells
/// temporary IPv6 addresses (RFC 8981).
int emisora_interface_addresses(emisora_address *addresses, char *names, uint8_t *are_temporary, int capacity);

/// A non-blocking netlink descriptor that becomes readable when interfaces, addresses or routes change; or -1 with errno.
int emisora_watch_addresses(void);

/// Which of our addresses the system would send from; answers 0, or -1 with errno.
int emisora_source_address(const emisora_address *destination, emisora_address *source);

/// A non-blocking TCP socket that begins to connect from `local`, which gets the port that was chosen; or -1 with errno.
int emisora_tcp_connect(const emisora_address *remote, emisora_address *local);

/// A non-blocking TCP socket that listens on `address`, which gets the port that was chosen; or -1 with errno.
int emisora_tcp_listen(emisora_address *address);

/// Takes a connection, as a non-blocking socket, and tells who made it; or -1 with errno.
int emisora_tcp_accept(int listener, emisora_address *remote);

/// Lets the system hold no more than `bytes` that it has not sent; the rest is not taken, so that it can be chosen anew.
void emisora_tcp_limit_unsent(int socket, int bytes);

/// The error that waits at a socket; 0: none.
int emisora_socket_error(int socket);

/// Blocks while it asks for a name's addresses; answers their number, or the negative code of getaddrinfo.
int emisora_resolve(const char *name, emisora_address *addresses, int capacity);

/// A non-blocking descriptor that becomes readable when a name in `folder` comes, goes or gets other rights; or -1 with
/// errno.
int emisora_watch_folder(const char *folder);

/// Names the calling thread; the system keeps 15 bytes.
void emisora_set_thread_name(const char *name);
int emisora_thread_id(void);
void emisora_ignore_sigpipe(void);
FILE *emisora_stdout(void);
FILE *emisora_stderr(void);
/// Blocks SIGINT and SIGTERM for this thread and those it starts, and waits on them elsewhere: see below.
void emisora_block_termination_signals(void);
/// Waits for SIGINT or SIGTERM, which must be blocked; answers its number.
int emisora_wait_for_termination_signal(void);

#endif
