/* record.c -- encode and decode the store's values.
 *
 * A value is a version byte, then the fields in the order below, little-endian
 * (core/base/buf.h).  Text that callers borrow as a C string is stored with its
 * NUL, so that reading copies nothing.  Guarantees:
 *
 *   (1) A record reads back equal to the one that was written.
 *   (2) Bytes that are truncated, too long or lack that NUL are
 *       MORTISE_ECORRUPT, and another version is MORTISE_EFORMAT.  Nothing
 *       outside the bytes is accessed.  (LevelDB's checksums detect accidents;
 *       this detects the rest.)
 *   (3) A layout never changes within its version:
 *       tests/unit/store/test_store.c has one example of each, byte by byte.
 */
#include "core/store/leveldb/record.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

enum { VERSION = 1 };

enum { HEAD_DEV = 1 << 16 }; /* the lowest flag bit above the status */

int mortise_stamp_check(uint32_t format, struct mortise_err *err)
{
    if (format == MORTISE_STORE_FORMAT)
        return MORTISE_OK;
    return mortise_fail(err, MORTISE_EFORMAT,
                        "it has format %u, but mortise " MORTISE_VERSION
                        " reads only format %d: use the version that created "
                        "it, or a later one",
                        format, MORTISE_STORE_FORMAT);
}

/* ---- the layouts --------------------------------------------------------- */

/* The encoding of a struct member. */
enum form {
    RAW,    /* `more` bytes, unchanged: numbers, and bytes */
    FLAG,   /* bool as u8, 0 or 1 */
    PHASE,  /* enum mortise_phase as u8 */
    STATUS, /* u32 of a head: its status, and the flag `dev` */
    TEXT,   /* a C string as a blob, with its NUL */
    /* length and bytes; `more` is the offset of the member with the size */
    BLOB
};

struct mortise_field {
    enum form form;
    size_t at, more;
};

#define AT(record, member) offsetof(struct mortise_##record, member)
#define RAW_OF(record, member)                                                 \
    {                                                                          \
        RAW, AT(record, member),                                               \
            sizeof(((struct mortise_##record *)0)->member)                     \
    }
#define BLOB_OF(record, member, size)                                          \
    {                                                                          \
        BLOB, AT(record, member), AT(record, size)                             \
    }

static const struct mortise_field stamp[] = {{RAW, 0, sizeof(uint32_t)}};
static const struct mortise_field batch[] = {
    RAW_OF(batch, epoch),
    RAW_OF(batch, verified),
};
static const struct mortise_field number[] = {{RAW, 0, sizeof(uint64_t)}};
static const struct mortise_field identity[] = {{RAW, 0, MORTISE_STORE_ID}};
static const struct mortise_field head[] = {
    RAW_OF(head, seq),
    RAW_OF(head, checkpoint),
    RAW_OF(head, epoch),
    RAW_OF(head, created_ms),
    RAW_OF(head, updated_ms),
    RAW_OF(head, branch),
    {STATUS, 0, 0},
    RAW_OF(head, n_pending),
    RAW_OF(head, graph),
    {TEXT, AT(head, reason), 0},
    {TEXT, AT(head, graph_name), 0},
};
static const struct mortise_field checkpoint[] = {
    RAW_OF(checkpoint, id),       RAW_OF(checkpoint, parent),
    RAW_OF(checkpoint, time_ms),  RAW_OF(checkpoint, first_event),
    RAW_OF(checkpoint, n_events), RAW_OF(checkpoint, branch),
    RAW_OF(checkpoint, step),     {PHASE, AT(checkpoint, phase), 0},
    RAW_OF(checkpoint, graph),    BLOB_OF(checkpoint, entries, size),
};
static const struct mortise_field pending[] = {
    RAW_OF(pending, deadline_ms),
    BLOB_OF(pending, payload, payload_size),
};
static const struct mortise_field deadline[] = {{FLAG, 0, 0}};
static const struct mortise_field value[] = {BLOB_OF(value, text, size)};
static const struct mortise_field tombstone[] = {
    RAW_OF(tombstone, removed_ms),
    RAW_OF(tombstone, ended_ms),
    RAW_OF(tombstone, status),
};
static const struct mortise_field leaving[] = {
    RAW_OF(leaving, first),
    RAW_OF(leaving, last),
};

static const struct mortise_field spawn[] = {
    RAW_OF(spawn, epoch),
    RAW_OF(spawn, claimed_ms),
    RAW_OF(spawn, updated_ms),
    RAW_OF(spawn, state),
    RAW_OF(spawn, status),
    RAW_OF(spawn, depth),
    RAW_OF(spawn, attempt),
    RAW_OF(spawn, reports),
    {FLAG, AT(spawn, detached), 0},
    {FLAG, AT(spawn, native), 0},
    RAW_OF(spawn, task),
    {TEXT, AT(spawn, origin), 0},
    {TEXT, AT(spawn, execution), 0},
    {TEXT, AT(spawn, call), 0},
    {TEXT, AT(spawn, name), 0},
    {TEXT, AT(spawn, child), 0},
    {TEXT, AT(spawn, token), 0},
    {TEXT, AT(spawn, progress), 0},
    BLOB_OF(spawn, result, result_size),
};
static const struct mortise_field child[] = {
    {TEXT, AT(child, parent), 0},
    {TEXT, AT(child, id), 0},
};
static const struct mortise_field tree[] = {
    RAW_OF(spawn_tree, active),
    RAW_OF(spawn_tree, total),
    RAW_OF(spawn_tree, detached_active),
    RAW_OF(spawn_tree, detached_total),
};
static const struct mortise_field purse[] = {
    RAW_OF(spawn_budget, most),
    RAW_OF(spawn_budget, used),
};

/* A run begins with its first checkpoint. */
static bool is_head(const void *record)
{
    const struct mortise_head *h = record;

    /* flag bits are above the status */
    return h->seq > 0 && h->status < HEAD_DEV;
}

/* The record is removed with the last checkpoint. */
static bool is_leaving(const void *record)
{
    const struct mortise_leaving *l = record;

    return l->first <= l->last;
}

/* The handle is claimed.  It has a child if its state requires one, a native
 * one from the start.  It has a result status exactly if it is over. */
static bool is_spawn(const void *record)
{
    const struct mortise_spawn *s = record;
    bool begun =
        s->state >= MORTISE_SPAWN_CREATED && s->state <= MORTISE_SPAWN_SETTLED;

    return s->epoch > 0 && s->depth > 0 && s->attempt > 0 &&
           mortise_spawn_state_name((int)s->state) != NULL &&
           mortise_spawn_has_ended(s) ==
               (mortise_spawn_status_name((int)s->status) != NULL) &&
           (!begun || s->child[0] != '\0') &&
           (s->native
                ? s->child[0] != '\0'
                : s->state != MORTISE_SPAWN_PENDING || s->child[0] == '\0');
}

static bool is_tree(const void *record)
{
    const struct mortise_spawn_tree *t = record;

    return t->active <= t->total && t->detached_total <= t->total &&
           t->detached_active <= t->detached_total &&
           t->detached_active <= t->active;
}

static bool has_value_text(const void *record)
{
    const struct mortise_value *v = record;

    return v->text != NULL;
}

#define RECORD(layout) layout, sizeof layout / sizeof layout[0]

const struct mortise_record
    mortise_record_stamp = {"the format stamp", RECORD(stamp), NULL},
    mortise_record_batch = {"a commit record", RECORD(batch), NULL},
    mortise_record_mark = {"a mark", RECORD(number), NULL},
    mortise_record_age = {"the age of a result", RECORD(number), NULL},
    mortise_record_overdue_time =
        {"the time of the last report of overdue runs", RECORD(number), NULL},
    mortise_record_identity = {"the store's identity", RECORD(identity), NULL},
    mortise_record_head = {"the head of a run", RECORD(head), is_head},
    mortise_record_checkpoint = {"a checkpoint", RECORD(checkpoint), NULL},
    mortise_record_pending = {"a request", RECORD(pending), NULL},
    mortise_record_deadline = {"a deadline", RECORD(deadline), NULL},
    mortise_record_kv = {"a value of a plugin", RECORD(value), has_value_text},
    mortise_record_cached = {"a cached result", RECORD(value), has_value_text},
    mortise_record_tombstone = {"a tombstone", RECORD(tombstone), NULL},
    mortise_record_leaving = {"the rest of a removed run", RECORD(leaving),
                              is_leaving},
    mortise_record_spawn = {"a spawn handle", RECORD(spawn), is_spawn},
    mortise_record_child = {"the parent of a run", RECORD(child), NULL},
    mortise_record_tree = {"the counters of a tree", RECORD(tree), is_tree},
    mortise_record_purse = {"the budget of a tree", RECORD(purse), NULL};

/* ---- writing ------------------------------------------------------------- */

static void put_record_text(struct mortise_buf *b, const char *s)
{
    if (s == NULL)
        s = "";
    mortise_buf_put_blob(b, s, strlen(s) + 1);
}

static void put_record_blob(struct mortise_buf *b, const void *at,
                            const void *size)
{
    const void *p;
    size_t n;

    memcpy(&p, at, sizeof p);
    memcpy(&n, size, sizeof n);
    assert(p != NULL || n == 0);
    mortise_buf_put_blob(b, p, n);
}

static void put_record_field(struct mortise_buf *b,
                             const struct mortise_field *f, const void *record)
{
    const char *at = (const char *)record + f->at;
    const struct mortise_head *h = record; /* for STATUS */
    enum mortise_phase phase;
    const char *text;

    switch (f->form) {
    case RAW:
        mortise_buf_put(b, at, f->more);
        break;
    case FLAG:
        mortise_buf_put_u8(b, *(const bool *)at);
        break;
    case PHASE:
        memcpy(&phase, at, sizeof phase);
        assert(phase <= UINT8_MAX);
        mortise_buf_put_u8(b, (uint8_t)phase);
        break;
    case STATUS:
        mortise_buf_put_u32(b, h->status | (h->dev ? HEAD_DEV : 0));
        break;
    case TEXT:
        memcpy(&text, at, sizeof text);
        put_record_text(b, text);
        break;
    case BLOB:
        put_record_blob(b, at, (const char *)record + f->more);
        break;
    }
}

void mortise_record_encode(struct mortise_buf *b,
                           const struct mortise_record *of, const void *record)
{
    assert(of->is_sound == NULL || of->is_sound(record));
    mortise_buf_put_u8(b, VERSION);
    for (size_t i = 0; i < of->n; i++)
        put_record_field(b, &of->fields[i], record);
}

void mortise_record_encode_graph(struct mortise_buf *b,
                                 const struct mortise_source *files, size_t n)
{
    assert(n > 0 && n <= UINT32_MAX); /* the graph's own file comes first */
    mortise_buf_put_u8(b, VERSION);
    mortise_buf_put_u32(b, (uint32_t)n);
    for (size_t i = 0; i < n; i++) {
        put_record_text(b, files[i].path);
        mortise_buf_put_blob(b, files[i].text, files[i].size);
    }
}

/* ---- reading ------------------------------------------------------------- */

/* Start to read after the version byte. */
static int begin_record(struct mortise_reader *r, const void *p, size_t n)
{
    mortise_reader_init(r, p, n);
    switch (mortise_read_u8(r)) {
    case VERSION:
        return MORTISE_OK;
    case 0: /* also for no bytes at all */
        return MORTISE_ECORRUPT;
    default:
        return MORTISE_EFORMAT;
    }
}

/* Was everything read, without an error? */
static int end(const struct mortise_reader *r)
{
    return r->bad || r->p != r->end ? MORTISE_ECORRUPT : MORTISE_OK;
}

static const char *read_record_text(struct mortise_reader *r)
{
    size_t n;
    const char *s = mortise_read_blob(r, &n);

    if (n == 0 || memchr(s, '\0', n) != s + n - 1) {
        r->bad = true;
        return "";
    }
    return s;
}

static void read_record_field(struct mortise_reader *r,
                              const struct mortise_field *f, void *record)
{
    char *at = (char *)record + f->at;
    struct mortise_head *h = record; /* for STATUS */
    enum mortise_phase phase;
    const void *p;
    uint32_t u;
    size_t n;

    switch (f->form) {
    case RAW:
        p = mortise_read_bytes(r, f->more);
        if (p != NULL)
            memcpy(at, p, f->more);
        break;
    case FLAG:
        u = mortise_read_u8(r);
        r->bad = r->bad || u > 1;
        *(bool *)at = u == 1;
        break;
    case PHASE:
        phase = (enum mortise_phase)mortise_read_u8(r);
        memcpy(at, &phase, sizeof phase);
        break;
    case STATUS:
        u = mortise_read_u32(r);
        h->status = u & ~(uint32_t)HEAD_DEV;
        h->dev = (u & HEAD_DEV) != 0;
        break;
    case TEXT:
        p = read_record_text(r);
        memcpy(at, &p, sizeof p);
        break;
    case BLOB:
        p = mortise_read_blob(r, &n);
        memcpy(at, &p, sizeof p);
        memcpy((char *)record + f->more, &n, sizeof n);
        break;
    }
}

int mortise_record_decode(const struct mortise_record *of, void *out,
                          const void *p, size_t n)
{
    struct mortise_reader r;
    int rv = begin_record(&r, p, n);

    if (rv != MORTISE_OK)
        return rv;
    for (size_t i = 0; i < of->n; i++)
        read_record_field(&r, &of->fields[i], out);
    r.bad = r.bad || (of->is_sound != NULL && !of->is_sound(out));
    return end(&r);
}

static bool read_source(struct mortise_arena *a, struct mortise_source *out,
                        struct mortise_reader *r)
{
    const char *path = read_record_text(r),
               *text = mortise_read_blob(r, &out->size);

    if (r->bad)
        /* the caller checks r->bad at the end */
        return true;
    out->path = mortise_arena_strdup(a, path);
    out->text = mortise_arena_strndup(a, text, out->size);
    return out->path != NULL && out->text != NULL;
}

int mortise_record_decode_graph(struct mortise_arena *a,
                                struct mortise_source **files, size_t *n_files,
                                const void *p, size_t n)
{
    struct mortise_source *list;
    struct mortise_reader r;
    int rv = begin_record(&r, p, n);
    uint32_t count;

    if (rv != MORTISE_OK)
        return rv;
    count = mortise_read_u32(&r);
    if (count == 0 || count > n / 9) /* the minimum size of a file */
        return MORTISE_ECORRUPT;
    list = mortise_arena_alloc(a, count * sizeof *list);
    if (list == NULL)
        return MORTISE_ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        if (!read_source(a, &list[i], &r))
            return MORTISE_ENOMEM;
    *files = list;
    *n_files = count;
    return end(&r);
}
