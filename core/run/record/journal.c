/* journal.c -- encodes and decodes the entries of a run's journal.
 *
 * An entry is its type (u8) and then the fields of the type, in the order of
 * its row in entries.def.  Numbers are little-endian; strings and JSON values
 * are a length (u32) and bytes, JSON is compact, and an absent value has length
 * 0.
 *
 *   f  frame u32
 *   n  node u32, visit u32            v  value     s  actor
 *   g  generation u32                 o  note      i  id
 *   a  attempt u32                    d  digest, 32 bytes
 *   t  started u64, ms                e  edges: count u32, then u32 each
 *   u  at u64, ms                     h  how u8
 *   k  step: ordinal u32, key         m  method
 *   x  status i32, after u32          y  a store's identity, 16 bytes
 *   w  writes: count u32, then each: ref u16, flags u8, reduce u8, text if
 *      ref is MORTISE_WRITE_SPELLED, and the value unless flags bit 0 is set:
 *      then the value is the entry's own, which is common and stored once
 *
 * A record is never changed after it is written (R8), so there is nothing to
 * migrate: a reader rejects a run with an entry of unknown type.
 */
#include "core/run/record/journal.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

static const struct {
    const char *name, *fields;
} entry_types[MORTISE_E_N] = {
#define ENTRY_OF_RUN(type, number, name, fields, ...)                          \
    [MORTISE_E_##type] = {name, fields},
#define ENTRY_OF_EXEC ENTRY_OF_RUN
#define ENTRY_MARK    ENTRY_OF_RUN
#include "core/run/record/entries.def"
};

/* The letters of `fields`: members of an entry, in the order in which they are
 * stored. */
enum part_kind {
    PART_U8,
    PART_U32,
    PART_U64,
    PART_BYTES, /* copied as they are: other numbers, a digest, an identity */
    PART_TEXT,
    PART_JSON,
    PART_EDGES,
    PART_WRITES
};

struct part {
    uint8_t kind; /* enum part_kind */
    uint8_t size; /* 0: no part */
    uint16_t at;
};

enum { PARTS = 4 }; /* of a letter: at most two, and an empty one */

#define PART(kind, member)                                                     \
    {                                                                          \
        PART_##kind, sizeof((struct mortise_entry *)NULL)->member,             \
            offsetof(struct mortise_entry, member)                             \
    }
static const struct part parts['z' - 'a' + 1][PARTS] = {
    ['f' - 'a'] = {PART(U32, frame)},
    ['n' - 'a'] = {PART(U32, node), PART(U32, visit)},
    ['g' - 'a'] = {PART(U32, generation)},
    ['a' - 'a'] = {PART(U32, attempt)},
    ['t' - 'a'] = {PART(U64, started_ms)},
    ['u' - 'a'] = {PART(U64, at_ms)},
    ['h' - 'a'] = {PART(U8, how)},
    ['v' - 'a'] = {PART(JSON, value)},
    ['o' - 'a'] = {PART(JSON, note)},
    ['s' - 'a'] = {PART(TEXT, actor)},
    ['i' - 'a'] = {PART(TEXT, id)},
    ['d' - 'a'] = {PART(BYTES, digest)},
    ['k' - 'a'] = {PART(U32, ordinal), PART(TEXT, key)},
    ['m' - 'a'] = {PART(TEXT, method)},
    ['x' - 'a'] = {PART(BYTES, status), PART(BYTES, after)},
    ['y' - 'a'] = {PART(BYTES, store.b)},
    ['e' - 'a'] = {PART(EDGES, edges)},
    ['w' - 'a'] = {PART(WRITES, writes)},
};
#undef PART

static const struct part *get_letter_parts(char letter)
{
    assert(letter >= 'a' && letter <= 'z'); /* as in entries.def */
    return parts[letter - 'a'];
}

enum { SAME_VALUE = 1 }; /* flag of a write */

static void encode_json_field(struct mortise_buf *b, const json_t *v)
{
    size_t at = b->n;
    uint32_t len;

    mortise_buf_put_u32(b, 0);
    if (v == NULL)
        return;
    if (mortise_json_write(b, v) != MORTISE_OK)
        b->failed = true;
    if (b->failed || b->n - at - 4 > UINT32_MAX) {
        b->failed = true;
        return;
    }
    len = (uint32_t)(b->n - at - 4);
    memcpy(b->p + at, &len, sizeof len);
}

static void encode_writes(struct mortise_buf *b, const struct mortise_entry *e)
{
    mortise_buf_put_u32(b, (uint32_t)e->n_writes);
    for (size_t i = 0; i < e->n_writes; i++) {
        const struct mortise_entry_write *w = &e->writes[i];
        bool same = w->value == e->value && e->value != NULL;

        mortise_buf_put_u16(b, w->ref);
        mortise_buf_put_u8(b, same ? SAME_VALUE : 0);
        mortise_buf_put_u8(b, (uint8_t)w->reduce);
        if (w->ref == MORTISE_WRITE_SPELLED)
            mortise_buf_put_str(b, w->text);
        if (!same)
            encode_json_field(b, w->value);
    }
}

static void encode_part(struct mortise_buf *b, const struct part *part,
                        const struct mortise_entry *e)
{
    const void *at = (const char *)e + part->at;

    switch ((enum part_kind)part->kind) {
    case PART_U8:
        mortise_buf_put_u8(b, *(const uint8_t *)at);
        break;
    case PART_U32:
        mortise_buf_put_u32(b, *(const uint32_t *)at);
        break;
    case PART_U64:
        mortise_buf_put_u64(b, *(const uint64_t *)at);
        break;
    case PART_BYTES:
        mortise_buf_put(b, at, part->size);
        break;
    case PART_TEXT:
        mortise_buf_put_str(b, *(const char *const *)at);
        break;
    case PART_JSON:
        encode_json_field(b, *(json_t *const *)at);
        break;
    case PART_EDGES:
        mortise_buf_put_u32(b, (uint32_t)e->n_edges);
        mortise_buf_put(b, e->edges, e->n_edges * sizeof e->edges[0]);
        break;
    case PART_WRITES:
        encode_writes(b, e);
        break;
    }
}

void mortise_entry_write(struct mortise_buf *b, const struct mortise_entry *e)
{
    mortise_buf_put_u8(b, (uint8_t)e->type);
    for (const char *f = entry_types[e->type].fields; *f != '\0'; f++) {
        for (const struct part *p = get_letter_parts(*f); p->size != 0; p++)
            encode_part(b, p, e);
    }
}

static int decode_json_field(json_t **out, struct mortise_reader *r,
                             struct mortise_err *err)
{
    size_t n;
    const char *p = mortise_read_blob(r, &n);

    *out = NULL;
    return n == 0 ? MORTISE_OK : mortise_json_parse_written(out, p, n, err);
}

static int decode_text_field(const char **out, struct mortise_reader *r,
                             struct mortise_arena *a, struct mortise_err *err)
{
    size_t n;
    const char *p = mortise_read_blob(r, &n);

    *out = mortise_arena_strndup(a, p, n);
    return *out != NULL ? MORTISE_OK : mortise_nomem(err);
}

static int decode_edges(struct mortise_entry *e, struct mortise_reader *r,
                        struct mortise_arena *a, struct mortise_err *err)
{
    size_t n = mortise_read_u32(r);
    const void *p;

    if (n == 0)
        return MORTISE_OK;
    p = mortise_read_bytes(r, n * sizeof e->edges[0]);
    if (p == NULL)
        return MORTISE_OK; /* r->bad is set; the caller checks it */
    e->edges = mortise_arena_alloc(a, n * sizeof e->edges[0]);
    if (e->edges == NULL)
        return mortise_nomem(err);
    memcpy(e->edges, p, n * sizeof e->edges[0]);
    e->n_edges = n;
    return MORTISE_OK;
}

static int decode_entry_write(struct mortise_entry *e,
                              struct mortise_entry_write *w,
                              struct mortise_reader *r, struct mortise_arena *a,
                              struct mortise_err *err)
{
    uint8_t flags, reduce;
    int rv = MORTISE_OK;

    w->ref = mortise_read_u16(r);
    flags = mortise_read_u8(r);
    reduce = mortise_read_u8(r);
    if (reduce > MORTISE_REDUCE_EXPR)
        r->bad = true;
    w->reduce = (enum mortise_reduce)reduce;
    if (w->ref == MORTISE_WRITE_SPELLED)
        rv = decode_text_field(&w->text, r, a, err);
    if (rv != MORTISE_OK)
        return rv;
    if (flags & SAME_VALUE)
        w->value = json_incref(e->value);
    else
        rv = decode_json_field(&w->value, r, err);
    if (w->value == NULL)
        r->bad = true;
    return rv;
}

static int decode_entry_writes(struct mortise_entry *e,
                               struct mortise_reader *r,
                               struct mortise_arena *a, struct mortise_err *err)
{
    size_t n = mortise_read_u32(r);
    int rv = MORTISE_OK;

    if (n > (size_t)(r->end - r->p)) /* each takes more than a byte */
        r->bad = true;
    if (n == 0 || r->bad)
        return MORTISE_OK;
    e->writes = mortise_arena_alloc(a, n * sizeof e->writes[0]);
    if (e->writes == NULL)
        return mortise_nomem(err);
    while (rv == MORTISE_OK && !r->bad && e->n_writes < n)
        rv = decode_entry_write(e, &e->writes[e->n_writes++], r, a, err);
    return rv;
}

static inline int decode_part(struct mortise_entry *e, const struct part *part,
                              struct mortise_reader *r, struct mortise_arena *a,
                              struct mortise_err *err)
{
    void *at = (char *)e + part->at;

    switch ((enum part_kind)part->kind) {
    case PART_U8:
        *(uint8_t *)at = mortise_read_u8(r);
        break;
    case PART_U32:
        *(uint32_t *)at = mortise_read_u32(r);
        break;
    case PART_U64:
        *(uint64_t *)at = mortise_read_u64(r);
        break;
    case PART_BYTES:
        mortise_read_copy(r, at, part->size);
        break;
    case PART_TEXT:
        return decode_text_field(at, r, a, err);
    case PART_JSON:
        return decode_json_field(at, r, err);
    case PART_EDGES:
        return decode_edges(e, r, a, err);
    case PART_WRITES:
        return decode_entry_writes(e, r, a, err);
    }
    return MORTISE_OK;
}

/* Decode the fields of these letters; stop at the first that fails. */
static int decode_fields(struct mortise_entry *e, const char *letters,
                         struct mortise_reader *r, struct mortise_arena *a,
                         struct mortise_err *err)
{
    for (; *letters != '\0'; letters++) {
        for (const struct part *p = get_letter_parts(*letters); p->size != 0;
             p++) {
            int rv = decode_part(e, p, r, a, err);

            if (rv != MORTISE_OK || r->bad)
                return rv;
        }
    }
    return MORTISE_OK;
}

/* Every decoding error is reported as MORTISE_ECORRUPT, except running out of
 * memory. */
static int make_decode_error(struct mortise_err *err, int rv)
{
    if (rv == MORTISE_ENOMEM)
        return rv;
    if (rv != MORTISE_OK)
        return mortise_err_prefix(err, MORTISE_ECORRUPT, "a journal entry");
    return mortise_fail(err, MORTISE_ECORRUPT, "a journal entry is damaged");
}

int mortise_entry_read(struct mortise_entry *e, struct mortise_reader *r,
                       struct mortise_arena *a, struct mortise_err *err)
{
    uint8_t type;
    int rv;

    if (r->p == r->end)
        return MORTISE_ENOTFOUND;
    *e = (struct mortise_entry){.actor = "", .id = "", .key = "", .method = ""};
    type = mortise_read_u8(r);
    if (type >= MORTISE_E_N || entry_types[type].fields == NULL)
        return mortise_fail(err, MORTISE_ECORRUPT,
                            "journal entry of unknown type %u", type);
    e->type = (enum mortise_entry_type)type;
    rv = decode_fields(e, entry_types[type].fields, r, a, err);
    if (rv == MORTISE_OK && !r->bad)
        return MORTISE_OK;
    mortise_entry_finish(e);
    return make_decode_error(err, rv);
}

void mortise_entry_finish(struct mortise_entry *e)
{
    json_decref(e->value);
    json_decref(e->note);
    for (size_t i = 0; i < e->n_writes; i++)
        json_decref(e->writes[i].value);
    e->value = e->note = NULL;
    e->n_writes = 0;
}

const char *mortise_entry_type_name(enum mortise_entry_type type)
{
    return entry_types[type].name;
}

bool mortise_entry_has_node(const struct mortise_entry *e)
{
    return strchr(entry_types[e->type].fields, 'n') != NULL;
}

const char *mortise_ask_name(enum mortise_ask ask)
{
    static const char *const names[] = {
        "",      "approval_pending", "scheduled_pause", "scheduled_pause",
        "human", "in_doubt",         "budget",          "node",
        "plan"};

    return names[ask];
}

const char *mortise_settle_name(enum mortise_settle settle)
{
    static const char *const names[] = {
        "",        "approved",  "rejected", "answered", "passed",
        "expired", "withdrawn", "happened", "retry",    "fail"};

    return names[settle];
}

const char *mortise_pause_name(enum mortise_pause pause)
{
    static const char *const names[] = {"", "operator", "shutdown"};

    return names[pause];
}

const char *mortise_run_status_name(int status)
{
    static const char *const names[] = {
        "",         "accepted", "running",   "waiting", "paused",
        "in_doubt", "blocked",  "completed", "failed",  "cancelled"};

    return status > 0 && status <= MORTISE_RUN_CANCELLED ? names[status] : "";
}
