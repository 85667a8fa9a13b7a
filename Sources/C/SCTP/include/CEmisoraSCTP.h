#ifndef C_EMISORA_SCTP_H
#define C_EMISORA_SCTP_H

#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <usrsctp.h>

// What Swift cannot import: a variadic callback, a union and option structures with flexible ends.

static inline int emisora_sctp_errno(void) { return errno; }
static const int emisora_sctp_not_connected = ENOTCONN;
static const int emisora_sctp_would_block = EWOULDBLOCK;
static const int emisora_sctp_invalid = EINVAL;
static const int emisora_sctp_unsupported = EOPNOTSUPP;

typedef int (*emisora_sctp_output)(void *address, void *packet, size_t length, uint8_t tos, uint8_t set_df);

/// Once a process. No thread drives timers or reads sockets then.
static inline void emisora_sctp_init(emisora_sctp_output output) {
    usrsctp_init_nothreads(0, output, NULL);
    // Only what browsers have: ordered, unordered and partially reliable streams that can be reset.
    usrsctp_sysctl_set_sctp_pr_enable(1);
    usrsctp_sysctl_set_sctp_reconfig_enable(1);
    usrsctp_sysctl_set_sctp_ecn_enable(0);
    usrsctp_sysctl_set_sctp_asconf_enable(0);
    usrsctp_sysctl_set_sctp_auto_asconf(0);
    usrsctp_sysctl_set_sctp_auth_enable(0);
    usrsctp_sysctl_set_sctp_nrsack_enable(0);
    usrsctp_sysctl_set_sctp_pktdrop_enable(0);
    // Packets of no association are not answered.
    usrsctp_sysctl_set_sctp_blackhole(2);
    // A control message does not wait for a window to grow (RFC 6928 has the ten).
    usrsctp_sysctl_set_sctp_initial_cwnd(10);
    usrsctp_sysctl_set_sctp_max_burst_default(10);
    usrsctp_sysctl_set_sctp_max_chunks_on_queue(4096);
}

static inline struct sockaddr_conn emisora_sctp_address(void *address, uint16_t port) {
    struct sockaddr_conn result;
    memset(&result, 0, sizeof result);
    result.sconn_family = AF_CONN;
    result.sconn_port = htons(port);
    result.sconn_addr = address;
    return result;
}

static inline struct socket *emisora_sctp_socket(void) {
    return usrsctp_socket(AF_CONN, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);
}

struct emisora_sctp_options {
    int buffer_size;
    uint16_t streams, incoming_streams;
    int has_resets;
    uint32_t initial_rto, minimum_rto, maximum_rto;
};

/// 0, or −1 with errno where one of the options is refused.
static inline int emisora_sctp_configure(struct socket *socket, const struct emisora_sctp_options *options) {
    if (usrsctp_set_non_blocking(socket, 1) < 0) return -1;
    const struct linger linger = {.l_onoff = 1, .l_linger = 0};
    if (usrsctp_setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) < 0) return -1;
    const int size = options->buffer_size, on = 1, off = 0;
    if (usrsctp_setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &size, sizeof size) < 0) return -1;
    if (usrsctp_setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, sizeof size) < 0) return -1;
    if (usrsctp_setsockopt(socket, IPPROTO_SCTP, SCTP_NODELAY, &on, sizeof on) < 0) return -1;
    if (usrsctp_setsockopt(socket, IPPROTO_SCTP, SCTP_RECVRCVINFO, &on, sizeof on) < 0) return -1;
    // A message that is delivered in parts has nothing of others between them.
    if (usrsctp_setsockopt(socket, IPPROTO_SCTP, SCTP_FRAGMENT_INTERLEAVE, &off, sizeof off) < 0) return -1;
    struct sctp_assoc_value reconfiguration = {.assoc_id = SCTP_FUTURE_ASSOC, .assoc_value = options->has_resets != 0};
    if (usrsctp_setsockopt(socket, IPPROTO_SCTP, SCTP_RECONFIG_SUPPORTED, &reconfiguration, sizeof reconfiguration) < 0)
        return -1;
    struct sctp_assoc_value reset = {.assoc_id = SCTP_ALL_ASSOC, .assoc_value = 1};
    if (usrsctp_setsockopt(socket, IPPROTO_SCTP, SCTP_ENABLE_STREAM_RESET, &reset, sizeof reset) < 0) return -1;
    struct sctp_initmsg init = {
        .sinit_num_ostreams = options->streams, .sinit_max_instreams = options->incoming_streams,
        .sinit_max_attempts = UINT16_MAX, .sinit_max_init_timeo = (uint16_t)options->maximum_rto,
    };
    if (usrsctp_setsockopt(socket, IPPROTO_SCTP, SCTP_INITMSG, &init, sizeof init) < 0) return -1;
    struct sctp_rtoinfo rto = {
        .srto_initial = options->initial_rto, .srto_max = options->maximum_rto, .srto_min = options->minimum_rto};
    if (usrsctp_setsockopt(socket, IPPROTO_SCTP, SCTP_RTOINFO, &rto, sizeof rto) < 0) return -1;
    const uint16_t events[] = {
        SCTP_ASSOC_CHANGE, SCTP_SEND_FAILED_EVENT, SCTP_PARTIAL_DELIVERY_EVENT, SCTP_STREAM_RESET_EVENT,
    };
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        struct sctp_event event = {.se_assoc_id = SCTP_ALL_ASSOC, .se_type = events[i], .se_on = 1};
        if (usrsctp_setsockopt(socket, IPPROTO_SCTP, SCTP_EVENT, &event, sizeof event) < 0) return -1;
    }
    return 0;
}

/// 0, or −1 with errno. The association is made by both sides at once (RFC 8841 section 9.3).
static inline int emisora_sctp_connect(
    struct socket *socket, void *address, uint16_t local_port, uint16_t remote_port, uint32_t packet_size) {
    struct sockaddr_conn local = emisora_sctp_address(address, local_port);
    struct sockaddr_conn remote = emisora_sctp_address(address, remote_port);
    if (usrsctp_bind(socket, (struct sockaddr *)&local, sizeof local) < 0) return -1;
    if (usrsctp_connect(socket, (struct sockaddr *)&remote, sizeof remote) < 0 && errno != EINPROGRESS) return -1;
    // Packets have the size that is given (its path MTU discovery sends nothing that could be lost for its size), no
    // heartbeats are sent, and no number of retransmissions ends the association: ICE consent watches over the path.
    struct sctp_paddrparams path;
    memset(&path, 0, sizeof path);
    memcpy(&path.spp_address, &remote, sizeof remote);
    path.spp_flags = SPP_PMTUD_DISABLE | SPP_HB_DISABLE;
    path.spp_pathmtu = packet_size;
    path.spp_pathmaxrxt = UINT16_MAX;
    if (usrsctp_setsockopt(socket, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, &path, sizeof path) < 0) return -1;
    struct sctp_assocparams association;
    memset(&association, 0, sizeof association);
    association.sasoc_asocmaxrxt = UINT16_MAX;
    return usrsctp_setsockopt(socket, IPPROTO_SCTP, SCTP_ASSOCINFO, &association, sizeof association);
}

/// `policy`: SCTP_PR_SCTP_NONE, _RTX or _TTL. Bytes taken, or −1 with errno.
static inline ssize_t emisora_sctp_send(
    struct socket *socket, const void *bytes, size_t count, uint16_t stream, uint32_t ppid, int is_ordered,
    uint16_t policy, uint32_t value) {
    struct sctp_sendv_spa info;
    memset(&info, 0, sizeof info);
    info.sendv_flags = SCTP_SEND_SNDINFO_VALID;
    info.sendv_sndinfo.snd_sid = stream;
    info.sendv_sndinfo.snd_ppid = htonl(ppid);
    info.sendv_sndinfo.snd_flags = is_ordered ? 0 : SCTP_UNORDERED;
    if (policy != SCTP_PR_SCTP_NONE) {
        info.sendv_flags |= SCTP_SEND_PRINFO_VALID;
        info.sendv_prinfo.pr_policy = policy;
        info.sendv_prinfo.pr_value = value;
    }
    return usrsctp_sendv(socket, bytes, count, NULL, 0, &info, sizeof info, SCTP_SENDV_SPA, 0);
}

/// Bytes read, 0 at the end, or −1 with errno.
static inline ssize_t emisora_sctp_receive(
    struct socket *socket, void *bytes, size_t capacity, uint16_t *stream, uint32_t *ppid, int *is_complete,
    int *is_notification) {
    struct sctp_rcvinfo info;
    memset(&info, 0, sizeof info);
    socklen_t length = sizeof info;
    unsigned int kind = SCTP_RECVV_NOINFO;
    int flags = 0;
    const ssize_t count = usrsctp_recvv(socket, bytes, capacity, NULL, NULL, &info, &length, &kind, &flags);
    *stream = info.rcv_sid;
    *ppid = ntohl(info.rcv_ppid);
    *is_complete = (flags & MSG_EOR) != 0;
    *is_notification = (flags & MSG_NOTIFICATION) != 0;
    return count;
}

/// 0, or −1 with errno. At least one stream; none would mean all.
static inline int emisora_sctp_reset(struct socket *socket, const uint16_t *streams, uint16_t count) {
    enum { limit = 256 };
    union {
        struct sctp_reset_streams request;
        uint8_t bytes[sizeof(struct sctp_reset_streams) + limit * sizeof(uint16_t)];
    } storage;
    if (count == 0 || count > limit) return -1;
    memset(&storage, 0, sizeof storage);
    storage.request.srs_flags = SCTP_STREAM_RESET_OUTGOING;
    storage.request.srs_number_streams = count;
    memcpy(storage.request.srs_stream_list, streams, count * sizeof(uint16_t));
    return usrsctp_setsockopt(
        socket, IPPROTO_SCTP, SCTP_RESET_STREAMS, &storage,
        (socklen_t)(sizeof(struct sctp_reset_streams) + count * sizeof(uint16_t)));
}

/// Whether something that was sent is neither acknowledged nor given up.
static inline int emisora_sctp_is_outstanding(struct socket *socket) {
    struct sctp_status status;
    memset(&status, 0, sizeof status);
    socklen_t length = sizeof status;
    if (usrsctp_getsockopt(socket, IPPROTO_SCTP, SCTP_STATUS, &status, &length) < 0) return 0;
    return status.sstat_unackdata > 0 || status.sstat_penddata > 0;
}

#endif
