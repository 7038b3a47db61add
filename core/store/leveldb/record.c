/* record.c -- the store's values as bytes.
 *
 * Every value is a version byte and then its fields in the order written here,
 * little-endian (base/buf.h).  Text that is lent to callers as a C string is
 * stored with its NUL, so that reading it copies nothing.  The promises:
 *
 *   (1) What was written is read back equal.
 *   (2) Bytes that are cut, too long or without that NUL are MORTISE_ECORRUPT,
 *       and a version above ours is MORTISE_ENEWER; nothing outside the bytes
 *       is touched.  (LevelDB's checksums find accidents; this finds the rest.)
 *   (3) A layout never changes under its version: tests/unit/store/test_store.c
 *       holds one example of each, byte by byte.
 */
#include "store/leveldb/record.h"

#include <assert.h>
#include <string.h>

enum { VERSION = 1 };

enum { HEAD_DEV = 1 << 16 }; /* the first of the flags behind a status */

int mortise_stamp_check(const struct mortise_stamp *st, struct mortise_err *err)
{
    if (st->oldest <= MORTISE_STORE_FORMAT)
        return MORTISE_OK;
    return mortise_fail(err, MORTISE_ENEWER,
                        "its format %u needs a program that reads format %u, "
                        "this one reads %d: use the newer program",
                        st->format, st->oldest, MORTISE_STORE_FORMAT);
}

static void put_text(struct mortise_buf *b, const char *s)
{
    if (s == NULL)
        s = "";
    mortise_buf_blob(b, s, strlen(s) + 1);
}

void mortise_record_stamp(struct mortise_buf *b)
{
    mortise_buf_u8(b, VERSION);
    mortise_buf_u32(b, MORTISE_STORE_FORMAT);
    mortise_buf_u32(b, MORTISE_STORE_OLDEST);
}

void mortise_record_batch(struct mortise_buf *b,
                          const struct mortise_batch *batch)
{
    mortise_buf_u8(b, VERSION);
    mortise_buf_u64(b, batch->epoch);
    mortise_buf_u64(b, batch->verified);
}

void mortise_record_mark(struct mortise_buf *b, uint64_t value)
{
    mortise_buf_u8(b, VERSION);
    mortise_buf_u64(b, value);
}

void mortise_record_identity(struct mortise_buf *b,
                             const uint8_t id[MORTISE_STORE_ID])
{
    mortise_buf_u8(b, VERSION);
    mortise_buf_put(b, id, MORTISE_STORE_ID);
}

void mortise_record_head(struct mortise_buf *b, const struct mortise_head *h)
{
    assert(h->seq > 0);           /* a run begins with its first checkpoint */
    assert(h->status < HEAD_DEV); /* flags are stored above it */
    mortise_buf_u8(b, VERSION);
    mortise_buf_u64(b, h->seq);
    mortise_buf_put(b, h->checkpoint.b, sizeof h->checkpoint.b);
    mortise_buf_u64(b, h->epoch);
    mortise_buf_u64(b, h->created_ms);
    mortise_buf_u64(b, h->updated_ms);
    mortise_buf_u32(b, h->branch);
    mortise_buf_u32(b, h->status | (h->dev ? HEAD_DEV : 0));
    mortise_buf_u32(b, h->n_pending);
    mortise_buf_put(b, h->graph, sizeof h->graph);
    put_text(b, h->reason);
    put_text(b, h->graph_name);
}

void mortise_record_checkpoint(struct mortise_buf *b,
                               const struct mortise_checkpoint *cp)
{
    assert(cp->phase <= UINT8_MAX);
    assert(cp->entries != NULL || cp->size == 0);
    mortise_buf_u8(b, VERSION);
    mortise_buf_put(b, cp->id.b, sizeof cp->id.b);
    mortise_buf_put(b, cp->parent.b, sizeof cp->parent.b);
    mortise_buf_u64(b, cp->time_ms);
    mortise_buf_u64(b, cp->first_event);
    mortise_buf_u32(b, cp->n_events);
    mortise_buf_u32(b, cp->branch);
    mortise_buf_u32(b, cp->step);
    mortise_buf_u8(b, (uint8_t)cp->phase);
    mortise_buf_put(b, cp->graph, sizeof cp->graph);
    mortise_buf_blob(b, cp->entries, cp->size);
}

void mortise_record_pending(struct mortise_buf *b,
                            const struct mortise_pending *p)
{
    assert(!p->timer); /* it asks nobody: a deadline is all that it has */
    assert(p->payload != NULL || p->payload_size == 0);
    mortise_buf_u8(b, VERSION);
    mortise_buf_u64(b, p->deadline_ms);
    mortise_buf_blob(b, p->payload, p->payload_size);
}

void mortise_record_deadline(struct mortise_buf *b, bool timer)
{
    mortise_buf_u8(b, VERSION);
    mortise_buf_u8(b, timer);
}

void mortise_record_kv(struct mortise_buf *b, const char *value, size_t size)
{
    assert(value != NULL); /* a key without a value is deleted */
    mortise_buf_u8(b, VERSION);
    mortise_buf_blob(b, value, size);
}

void mortise_record_graph(struct mortise_buf *b,
                          const struct mortise_source *files, size_t n)
{
    assert(n > 0 && n <= UINT32_MAX); /* the graph's own file is the first */
    mortise_buf_u8(b, VERSION);
    mortise_buf_u32(b, (uint32_t)n);
    for (size_t i = 0; i < n; i++) {
        put_text(b, files[i].path);
        mortise_buf_blob(b, files[i].text, files[i].size);
    }
}

/* A reader behind the version byte. */
static int begin(struct mortise_reader *r, const void *p, size_t n)
{
    mortise_reader_init(r, p, n);
    switch (mortise_read_u8(r)) {
    case VERSION:
        return MORTISE_OK;
    case 0: /* or no byte at all */
        return MORTISE_ECORRUPT;
    default:
        return MORTISE_ENEWER;
    }
}

/* Everything was there, and nothing else. */
static int end(const struct mortise_reader *r)
{
    return r->bad || r->p != r->end ? MORTISE_ECORRUPT : MORTISE_OK;
}

static const char *read_text(struct mortise_reader *r)
{
    size_t n;
    const char *s = mortise_read_blob(r, &n);

    if (n == 0 || memchr(s, '\0', n) != s + n - 1) {
        r->bad = true;
        return "";
    }
    return s;
}

static void read_bytes(struct mortise_reader *r, void *out, size_t n)
{
    const void *p = mortise_read_raw(r, n);

    if (p != NULL)
        memcpy(out, p, n);
}

void mortise_record_tombstone(struct mortise_buf *b,
                              const struct mortise_tombstone *t)
{
    mortise_buf_u8(b, VERSION);
    mortise_buf_u64(b, t->removed_ms);
    mortise_buf_u64(b, t->ended_ms);
    mortise_buf_u32(b, t->status);
}

void mortise_record_leaving(struct mortise_buf *b,
                            const struct mortise_leaving *l)
{
    assert(l->first <= l->last); /* with the last one the record goes */
    mortise_buf_u8(b, VERSION);
    mortise_buf_u64(b, l->first);
    mortise_buf_u64(b, l->last);
}

int mortise_record_read_stamp(struct mortise_stamp *out, const void *p,
                              size_t n)
{
    struct mortise_reader r;
    int rv = begin(&r, p, n);

    if (rv != MORTISE_OK)
        return rv;
    out->format = mortise_read_u32(&r);
    out->oldest = mortise_read_u32(&r);
    return end(&r);
}

int mortise_record_read_batch(struct mortise_batch *out, const void *p,
                              size_t n)
{
    struct mortise_reader r;
    int rv = begin(&r, p, n);

    if (rv != MORTISE_OK)
        return rv;
    out->epoch = mortise_read_u64(&r);
    out->verified = mortise_read_u64(&r);
    return end(&r);
}

int mortise_record_read_mark(uint64_t *value, const void *p, size_t n)
{
    struct mortise_reader r;
    int rv = begin(&r, p, n);

    if (rv != MORTISE_OK)
        return rv;
    *value = mortise_read_u64(&r);
    return end(&r);
}

int mortise_record_read_identity(uint8_t id[MORTISE_STORE_ID], const void *p,
                                 size_t n)
{
    struct mortise_reader r;
    int rv = begin(&r, p, n);

    if (rv != MORTISE_OK)
        return rv;
    read_bytes(&r, id, MORTISE_STORE_ID);
    return end(&r);
}

int mortise_record_read_head(struct mortise_head *out, const void *p, size_t n)
{
    struct mortise_reader r;
    uint32_t status;
    int rv = begin(&r, p, n);

    if (rv != MORTISE_OK)
        return rv;
    out->seq = mortise_read_u64(&r);
    read_bytes(&r, out->checkpoint.b, sizeof out->checkpoint.b);
    out->epoch = mortise_read_u64(&r);
    out->created_ms = mortise_read_u64(&r);
    out->updated_ms = mortise_read_u64(&r);
    out->branch = mortise_read_u32(&r);
    status = mortise_read_u32(&r);
    out->status = status & ~(uint32_t)HEAD_DEV;
    out->dev = (status & HEAD_DEV) != 0;
    out->n_pending = mortise_read_u32(&r);
    read_bytes(&r, out->graph, sizeof out->graph);
    out->reason = read_text(&r);
    out->graph_name = read_text(&r);
    r.bad = r.bad || out->seq == 0 || out->status >= HEAD_DEV;
    return end(&r);
}

int mortise_record_read_tombstone(struct mortise_tombstone *out, const void *p,
                                  size_t n)
{
    struct mortise_reader r;
    int rv = begin(&r, p, n);

    if (rv != MORTISE_OK)
        return rv;
    out->removed_ms = mortise_read_u64(&r);
    out->ended_ms = mortise_read_u64(&r);
    out->status = mortise_read_u32(&r);
    return end(&r);
}

int mortise_record_read_leaving(struct mortise_leaving *out, const void *p,
                                size_t n)
{
    struct mortise_reader r;
    int rv = begin(&r, p, n);

    if (rv != MORTISE_OK)
        return rv;
    out->first = mortise_read_u64(&r);
    out->last = mortise_read_u64(&r);
    r.bad = r.bad || out->first > out->last;
    return end(&r);
}

int mortise_record_read_checkpoint(struct mortise_checkpoint *out,
                                   const void *p, size_t n)
{
    struct mortise_reader r;
    int rv = begin(&r, p, n);

    if (rv != MORTISE_OK)
        return rv;
    read_bytes(&r, out->id.b, sizeof out->id.b);
    read_bytes(&r, out->parent.b, sizeof out->parent.b);
    out->time_ms = mortise_read_u64(&r);
    out->first_event = mortise_read_u64(&r);
    out->n_events = mortise_read_u32(&r);
    out->branch = mortise_read_u32(&r);
    out->step = mortise_read_u32(&r);
    out->phase = (enum mortise_phase)mortise_read_u8(&r);
    read_bytes(&r, out->graph, sizeof out->graph);
    out->entries = mortise_read_blob(&r, &out->size);
    return end(&r);
}

int mortise_record_read_pending(struct mortise_pending *out, const void *p,
                                size_t n)
{
    struct mortise_reader r;
    int rv = begin(&r, p, n);

    if (rv != MORTISE_OK)
        return rv;
    out->deadline_ms = mortise_read_u64(&r);
    out->payload = mortise_read_blob(&r, &out->payload_size);
    out->timer = false;
    return end(&r);
}

int mortise_record_read_deadline(bool *timer, const void *p, size_t n)
{
    struct mortise_reader r;
    int rv = begin(&r, p, n);
    uint8_t what;

    if (rv != MORTISE_OK)
        return rv;
    what = mortise_read_u8(&r);
    *timer = what == 1;
    return what <= 1 ? end(&r) : MORTISE_ECORRUPT;
}

int mortise_record_read_kv(const char **value, size_t *size, const void *p,
                           size_t n)
{
    struct mortise_reader r;
    int rv = begin(&r, p, n);

    if (rv != MORTISE_OK)
        return rv;
    *value = mortise_read_blob(&r, size);
    return end(&r);
}

static bool read_source(struct mortise_arena *a, struct mortise_source *out,
                        struct mortise_reader *r)
{
    const char *path = read_text(r), *text = mortise_read_blob(r, &out->size);

    if (r->bad)
        return true; /* the end says so */
    out->path = mortise_arena_strdup(a, path);
    out->text = mortise_arena_strndup(a, text, out->size);
    return out->path != NULL && out->text != NULL;
}

int mortise_record_read_graph(struct mortise_arena *a,
                              struct mortise_source **files, size_t *n_files,
                              const void *p, size_t n)
{
    struct mortise_source *list;
    struct mortise_reader r;
    int rv = begin(&r, p, n);
    uint32_t count;

    if (rv != MORTISE_OK)
        return rv;
    count = mortise_read_u32(&r);
    if (count == 0 || count > n / 9) /* the least that a file takes */
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
