/* wire.h -- calls as bytes: the messages between the engine and a plugin in
 * another process.
 *
 * One message is one packet of a SOCK_SEQPACKET pair.  A body over
 * MORTISE_WIRE_INLINE bytes travels in a sealed memfd beside the packet.
 * [any] */
#ifndef MORTISE_PLUGIN_WIRE_H
#define MORTISE_PLUGIN_WIRE_H

#include <mortise/plugin.h>

#include "core/base/buf.h"
#include "core/base/err.h"

enum {
    MORTISE_WIRE_VERSION = 1,
    MORTISE_WIRE_INLINE = 64 * 1024,     /* a longer body gets a memfd */
    MORTISE_WIRE_BODY_MAX = 64 << 20,    /* the largest body */
    MORTISE_WIRE_PACKET_MAX = 192 * 1024 /* without the memfd */
};

enum mortise_wire_type {
    /* to the plugin */
    MORTISE_WIRE_CREATE = 1, /* body: the config */
    MORTISE_WIRE_CALL,       /* calls a function of an interface */
    MORTISE_WIRE_CANCEL,
    MORTISE_WIRE_ANSWER, /* to an ask */
    MORTISE_WIRE_QUIESCE,
    MORTISE_WIRE_DESTROY,
    /* to the host */
    MORTISE_WIRE_RETURN, /* for any of the above, except CANCEL and ANSWER */
    MORTISE_WIRE_LOG,
    MORTISE_WIRE_EMIT,
    MORTISE_WIRE_FINISH,
    MORTISE_WIRE_FAIL,
    MORTISE_WIRE_ASK,
    MORTISE_WIRE_TYPES /* the last type + 1 */
};

/* A message. wire.c lists the fields of each type; mortise_wire_decode() sets
 * all others to zero. */
struct mortise_wire {
    enum mortise_wire_type type;
    uint64_t call;
    uint64_t ask;         /* ASK, ANSWER */
    uint64_t deadline_ns; /* calls, QUIESCE; CLOCK_MONOTONIC of the host */
    uint32_t kind, function; /* CALL: of kind.h, both in range once decoded */
    uint32_t attempt, visit, stage;
    uint32_t flags;   /* CALL: MORTISE_REQUEST_... of plugin.h */
    int32_t status;   /* RETURN, FINISH, ANSWER */
    int32_t level;    /* LOG */
    mortise_str name; /* the operation, emit's kind, ask's method */
    mortise_str run_id, node_path, idempotency_key, trace_parent;
    mortise_str message; /* FINISH, FAIL, LOG */
    mortise_str detail;
    mortise_str body;
};

/* An encoded message. */
struct mortise_packet {
    struct mortise_buf bytes;
    int fd; /* -1: none */
};

int mortise_wire_encode(struct mortise_packet *out,
                        const struct mortise_mem *mem,
                        const struct mortise_wire *msg,
                        struct mortise_err *err);
void mortise_packet_finish(struct mortise_packet *p);

/* A mapped memfd; it must live as long as the message that points into it. */
struct mortise_wire_map {
    void *p;
    size_t n;
};

/* Decode a message; its strings point into p and the map. fd is borrowed; -1:
 * none arrived.  MORTISE_EINVAL unless it is exactly one message of this
 * version; *map is empty then. */
int mortise_wire_decode(struct mortise_wire *msg, struct mortise_wire_map *map,
                        const void *p, size_t n, int fd,
                        struct mortise_err *err);
void mortise_wire_unmap(struct mortise_wire_map *map);

/* Encode a message and decode it into fresh memory, as `make wire` does for
 * each call (carry.h).  *msg then points into `held`. */
struct mortise_wire_storage {
    const struct mortise_mem *mem;
    void *p;
    size_t n;
    struct mortise_wire_map map;
};

int mortise_wire_round_trip(struct mortise_wire *msg,
                            struct mortise_wire_storage *held,
                            const struct mortise_mem *mem,
                            struct mortise_err *err);
void mortise_wire_release(struct mortise_wire_storage *held);

#endif
