/* wire.c -- calls as bytes.
 *
 * The format, little-endian:
 *
 *   u8 version (1) | u8 type | u16 flags | u64 call | fields | body
 *
 * `fields` are those of the type, in the order of enum field below: numbers as
 * they are, strings as u32 length and bytes.  The body, if the type has one,
 * comes last: u64 length and bytes.  With the flag IN_MEMFD only the length is
 * in the packet, and a sealed memfd holds the bytes.
 *
 * Promises:
 *
 *   (1) A decoder never reads outside its packet, and accepts exactly the
 *       output of an encoder: a cut message, extra bytes, and an unknown type,
 *       flag, version, kind or function are errors.
 *   (2) Bytes in a memfd cannot change while they are read: a memfd that is not
 *       sealed against writing, growing and shrinking is rejected.  A peer that
 *       could shrink it would kill this process with SIGBUS.
 *   (3) Decoding returns the encoded message, for every type and field. */
#include "core/plugin/wire.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/files.h"
#include "core/plugin/kind.h"
#include "core/plugin/memfd.h"

enum { IN_MEMFD = 1 };

/* Optional fields, in the order of the format. */
enum field {
    F_ASK = 1 << 0,
    F_DEADLINE = 1 << 1,
    F_REQUEST = 1 << 2, /* attempt, visit, the ids */
    F_CALL = 1 << 3,    /* kind, function, stage */
    F_STATUS = 1 << 4,
    F_LEVEL = 1 << 5,
    F_NAME = 1 << 6,
    F_MESSAGE = 1 << 7,
    F_DETAIL = 1 << 8,
    F_BODY = 1 << 9
};

static const unsigned fields[MORTISE_WIRE_TYPES] = {
    [MORTISE_WIRE_CREATE] = F_BODY,
    [MORTISE_WIRE_CALL] = F_DEADLINE | F_REQUEST | F_CALL | F_NAME | F_BODY,
    [MORTISE_WIRE_CANCEL] = 0,
    [MORTISE_WIRE_ANSWER] = F_ASK | F_STATUS | F_BODY,
    [MORTISE_WIRE_QUIESCE] = F_DEADLINE,
    [MORTISE_WIRE_DESTROY] = 0,
    [MORTISE_WIRE_RETURN] = F_STATUS,
    [MORTISE_WIRE_LOG] = F_LEVEL | F_MESSAGE,
    [MORTISE_WIRE_EMIT] = F_NAME | F_BODY,
    [MORTISE_WIRE_FINISH] = F_STATUS | F_MESSAGE | F_DETAIL,
    [MORTISE_WIRE_FAIL] = F_MESSAGE | F_DETAIL,
    [MORTISE_WIRE_ASK] = F_ASK | F_NAME | F_BODY,
};

#define FIELD(of, name)                                                        \
    {                                                                          \
        of, offsetof(struct mortise_wire, name),                               \
            sizeof((struct mortise_wire *)NULL)->name                          \
    }

/* The parts of each field, in order, without the body.  Numbers have four or
 * eight bytes; a mortise_str has its length before it. */
static const struct part {
    enum field of;
    size_t at, size;
} parts[] = {
    FIELD(F_ASK, ask),
    FIELD(F_DEADLINE, deadline_ns),
    FIELD(F_REQUEST, attempt),
    FIELD(F_REQUEST, visit),
    FIELD(F_REQUEST, flags),
    FIELD(F_REQUEST, run_id),
    FIELD(F_REQUEST, node_path),
    FIELD(F_REQUEST, idempotency_key),
    FIELD(F_REQUEST, trace_parent),
    FIELD(F_CALL, kind),
    FIELD(F_CALL, function),
    FIELD(F_CALL, stage),
    FIELD(F_STATUS, status),
    FIELD(F_LEVEL, level),
    FIELD(F_NAME, name),
    FIELD(F_MESSAGE, message),
    FIELD(F_DETAIL, detail),
};

_Static_assert(sizeof(mortise_str) > sizeof(uint64_t), "it is no number");

/* ---- writing ------------------------------------------------------------- */

static void encode_wire_fields(struct mortise_buf *b,
                               const struct mortise_wire *m, unsigned has)
{
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const char *from = (const char *)m + parts[i].at;
        mortise_str s;

        if ((has & parts[i].of) == 0)
            continue;
        if (parts[i].size == sizeof s) {
            memcpy(&s, from, sizeof s);
            mortise_buf_put_blob(b, s.p, (size_t)s.n);
        } else {
            mortise_buf_put(b, from, parts[i].size);
        }
    }
}

static int make_sealed_memfd(int *out, mortise_str body,
                             struct mortise_err *err)
{
    int fd = mortise_memfd_new("mortise-body");

    if (fd < 0)
        return mortise_syserr(err, errno, "memfd for a body");
    if (mortise_file_write_fd(fd, body.p, (size_t)body.n) != 0 ||
        mortise_memfd_seal(fd) != 0) {
        int saved = errno;

        close(fd);
        return mortise_syserr(err, saved, "memfd for a body");
    }
    *out = fd;
    return MORTISE_OK;
}

static int encode_body(struct mortise_packet *out, mortise_str body,
                       struct mortise_err *err)
{
    assert(body.n <= MORTISE_WIRE_BODY_MAX && out->fd < 0);
    mortise_buf_put_u64(&out->bytes, body.n);
    if (body.n > MORTISE_WIRE_INLINE)
        return make_sealed_memfd(&out->fd, body, err);
    mortise_buf_put(&out->bytes, body.p, (size_t)body.n);
    return MORTISE_OK;
}

int mortise_wire_encode(struct mortise_packet *out,
                        const struct mortise_mem *mem,
                        const struct mortise_wire *msg, struct mortise_err *err)
{
    unsigned has = fields[msg->type];
    bool in_memfd = (has & F_BODY) != 0 && msg->body.n > MORTISE_WIRE_INLINE;
    int rv = MORTISE_OK;

    assert(msg->type > 0 && msg->type < MORTISE_WIRE_TYPES);
    out->fd = -1;
    mortise_buf_init(&out->bytes, mem);
    if (msg->body.n > MORTISE_WIRE_BODY_MAX)
        return mortise_fail(err, MORTISE_ELIMIT,
                            "a body is larger than %d bytes",
                            (int)MORTISE_WIRE_BODY_MAX);
    mortise_buf_put_u8(&out->bytes, MORTISE_WIRE_VERSION);
    mortise_buf_put_u8(&out->bytes, (uint8_t)msg->type);
    mortise_buf_put_u16(&out->bytes, in_memfd ? IN_MEMFD : 0);
    mortise_buf_put_u64(&out->bytes, msg->call);
    encode_wire_fields(&out->bytes, msg, has);
    if (has & F_BODY)
        rv = encode_body(out, msg->body, err);
    if (rv == MORTISE_OK && out->bytes.failed)
        rv = mortise_nomem(err);
    if (rv == MORTISE_OK && out->bytes.n > MORTISE_WIRE_PACKET_MAX)
        rv = mortise_fail(err, MORTISE_ELIMIT, "a message has %zu bytes",
                          out->bytes.n);
    if (rv != MORTISE_OK)
        mortise_packet_finish(out);
    return rv;
}

void mortise_packet_finish(struct mortise_packet *p)
{
    mortise_buf_finish(&p->bytes);
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
}

/* ---- reading ------------------------------------------------------------- */

/* A missing part stays zero and sets r->bad. */
static void decode_wire_fields(struct mortise_reader *r, struct mortise_wire *m,
                               unsigned has)
{
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char *to = (char *)m + parts[i].at;
        const void *from;
        mortise_str s;
        size_t n;

        if ((has & parts[i].of) == 0)
            continue;
        if (parts[i].size == sizeof s) {
            s.p = mortise_read_blob(r, &n);
            s.n = n;
            memcpy(to, &s, sizeof s);
        } else if ((from = mortise_read_bytes(r, parts[i].size)) != NULL) {
            memcpy(to, from, parts[i].size);
        }
    }
}

static int fail_bad_message(struct mortise_err *err, const char *what)
{
    return mortise_fail(err, MORTISE_EINVAL, "bad message: %s", what);
}

/* Does the function exist? */
static bool is_callable(const struct mortise_wire *m)
{
    return m->kind < MORTISE_KINDS &&
           m->function < mortise_kinds[m->kind]->n_calls;
}

static int map_body(struct mortise_wire *m, struct mortise_wire_map *map,
                    uint64_t n, int fd, struct mortise_err *err)
{
    struct stat st;
    int seals;

    /* Checked by decode_body(). */
    assert(n > MORTISE_WIRE_INLINE && map->p == NULL);
    if (fd < 0)
        return fail_bad_message(err, "its body is missing");
    seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & MORTISE_MEMFD_SEALS) != MORTISE_MEMFD_SEALS)
        return fail_bad_message(err, "its body is not sealed");
    if (fstat(fd, &st) != 0 || (uint64_t)st.st_size != n)
        return fail_bad_message(err, "its body has the wrong size");
    map->p = mmap(NULL, (size_t)n, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map->p == MAP_FAILED) {
        map->p = NULL;
        return mortise_syserr(err, errno, "map a body");
    }
    map->n = (size_t)n;
    m->body = (mortise_str){map->p, n};
    return MORTISE_OK;
}

/* Decode the body, which comes last. */
static int decode_body(struct mortise_reader *r, struct mortise_wire *m,
                       struct mortise_wire_map *map, bool in_memfd, int fd,
                       struct mortise_err *err)
{
    uint64_t n = mortise_read_u64(r);
    bool small = n <= MORTISE_WIRE_INLINE;

    if (r->bad || n > MORTISE_WIRE_BODY_MAX || small == in_memfd)
        return fail_bad_message(err, "its body has an invalid size");
    if (in_memfd)
        return map_body(m, map, n, fd, err);
    m->body.p = mortise_read_bytes(r, (size_t)n);
    m->body.n = m->body.p != NULL ? n : 0;
    return MORTISE_OK;
}

int mortise_wire_decode(struct mortise_wire *msg, struct mortise_wire_map *map,
                        const void *p, size_t n, int fd,
                        struct mortise_err *err)
{
    struct mortise_reader r;
    uint8_t version, type;
    uint16_t flags;
    unsigned has;
    int rv = MORTISE_OK;

    *msg = (struct mortise_wire){0};
    *map = (struct mortise_wire_map){0};
    mortise_reader_init(&r, p, n);
    version = mortise_read_u8(&r);
    type = mortise_read_u8(&r);
    flags = mortise_read_u16(&r);
    if (r.bad || version != MORTISE_WIRE_VERSION)
        return fail_bad_message(err, "another version of the protocol");
    if (type == 0 || type >= MORTISE_WIRE_TYPES || (flags & ~IN_MEMFD) != 0)
        return fail_bad_message(err, "unknown type or flags");
    has = fields[type];
    if ((flags & IN_MEMFD) != 0 && (has & F_BODY) == 0)
        return fail_bad_message(err, "a body where none is allowed");
    msg->type = (enum mortise_wire_type)type;
    msg->call = mortise_read_u64(&r);
    decode_wire_fields(&r, msg, has);
    if ((has & F_CALL) != 0 && !r.bad && !is_callable(msg))
        rv = fail_bad_message(err, "a call of an unknown kind");
    else if (has & F_BODY)
        rv = decode_body(&r, msg, map, (flags & IN_MEMFD) != 0, fd, err);
    if (rv == MORTISE_OK && (r.bad || r.p != r.end))
        rv = fail_bad_message(err, r.bad ? "cut short"
                                         : "unexpected data follows it");
    if (rv != MORTISE_OK)
        mortise_wire_unmap(map);
    return rv;
}

void mortise_wire_unmap(struct mortise_wire_map *map)
{
    if (map->p != NULL)
        munmap(map->p, map->n);
    *map = (struct mortise_wire_map){0};
}

/* ---- encode and decode again --------------------------------------------- */

int mortise_wire_round_trip(struct mortise_wire *msg,
                            struct mortise_wire_storage *held,
                            const struct mortise_mem *mem,
                            struct mortise_err *err)
{
    struct mortise_packet packet;
    int rv = mortise_wire_encode(&packet, mem, msg, err);

    *held = (struct mortise_wire_storage){.mem = mem};
    if (rv != MORTISE_OK)
        return rv;
    /* Allocate exactly this size, so that a sanitizer detects a read past the
     * end. */
    held->p = mortise_alloc(mem, packet.bytes.n);
    if (held->p == NULL) {
        mortise_packet_finish(&packet);
        return mortise_nomem(err);
    }
    held->n = packet.bytes.n;
    memcpy(held->p, packet.bytes.p, held->n);
    rv = mortise_wire_decode(msg, &held->map, held->p, held->n, packet.fd, err);
    mortise_packet_finish(&packet);
    if (rv != MORTISE_OK)
        mortise_wire_release(held);
    return rv;
}

void mortise_wire_release(struct mortise_wire_storage *held)
{
    mortise_release(held->mem, held->p, held->n);
    mortise_wire_unmap(&held->map);
    held->p = NULL;
}
