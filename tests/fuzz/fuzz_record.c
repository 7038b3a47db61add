/* fuzz_record.c -- the store's keys and values from arbitrary bytes.
 *
 * The first byte says which.  A reader stays inside the bytes, and what it
 * accepts is exactly what is written for it again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/leveldb/key.h"
#include "core/store/leveldb/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int checkpoint(struct mortise_buf *b, const void *p, size_t n)
{
    struct mortise_checkpoint cp;
    int rv = mortise_record_decode(&mortise_record_checkpoint, &cp, p, n);

    if (rv == MORTISE_OK)
        mortise_record_encode(b, &mortise_record_checkpoint, &cp);
    return rv;
}

static int head(struct mortise_buf *b, const void *p, size_t n)
{
    struct mortise_head h;
    int rv = mortise_record_decode(&mortise_record_head, &h, p, n);

    if (rv == MORTISE_OK)
        mortise_record_encode(b, &mortise_record_head, &h);
    return rv;
}

static int pending(struct mortise_buf *b, const void *p, size_t n)
{
    struct mortise_pending request;
    int rv = mortise_record_decode(&mortise_record_pending, &request, p, n);

    if (rv == MORTISE_OK)
        mortise_record_encode(b, &mortise_record_pending, &request);
    return rv;
}

static int deadline(struct mortise_buf *b, const void *p, size_t n)
{
    bool timer;
    int rv = mortise_record_decode(&mortise_record_deadline, &timer, p, n);

    if (rv == MORTISE_OK)
        mortise_record_encode(b, &mortise_record_deadline, &timer);
    return rv;
}

static int kv(struct mortise_buf *b, const void *p, size_t n)
{
    struct mortise_value value;
    int rv = mortise_record_decode(&mortise_record_kv, &value, p, n);

    if (rv == MORTISE_OK)
        mortise_record_encode(b, &mortise_record_kv, &value);
    return rv;
}

static int graph(struct mortise_buf *b, const void *p, size_t n)
{
    struct mortise_source *files;
    struct mortise_arena a;
    size_t n_files;
    int rv;

    mortise_arena_init(&a, &mortise_heap);
    rv = mortise_record_decode_graph(&a, &files, &n_files, p, n);
    if (rv == MORTISE_OK)
        mortise_record_encode_graph(b, files, n_files);
    mortise_arena_finish(&a);
    return rv;
}

static int batch(struct mortise_buf *b, const void *p, size_t n)
{
    struct mortise_batch of;
    int rv = mortise_record_decode(&mortise_record_batch, &of, p, n);

    if (rv == MORTISE_OK)
        mortise_record_encode(b, &mortise_record_batch, &of);
    return rv;
}

/* What a reader knows no version of is refused, and is no less well formed. */
static int stamp(struct mortise_buf *b, const void *p, size_t n)
{
    struct mortise_stamp of;
    int rv = mortise_record_decode(&mortise_record_stamp, &of, p, n);

    if (rv == MORTISE_OK) {
        mortise_buf_put(b, p, n); /* only our own is ever written */
        if (mortise_stamp_check(&of, NULL) == MORTISE_OK &&
            of.oldest > MORTISE_STORE_FORMAT)
            abort();
    }
    return rv;
}

static int mark(struct mortise_buf *b, const void *p, size_t n)
{
    uint64_t value;
    int rv = mortise_record_decode(&mortise_record_mark, &value, p, n);

    if (rv == MORTISE_OK)
        mortise_record_encode(b, &mortise_record_mark, &value);
    return rv;
}

static int identity(struct mortise_buf *b, const void *p, size_t n)
{
    uint8_t id[MORTISE_STORE_ID];
    int rv = mortise_record_decode(&mortise_record_identity, id, p, n);

    if (rv == MORTISE_OK)
        mortise_record_encode(b, &mortise_record_identity, id);
    return rv;
}

static int tombstone(struct mortise_buf *b, const void *p, size_t n)
{
    struct mortise_tombstone t;
    int rv = mortise_record_decode(&mortise_record_tombstone, &t, p, n);

    if (rv == MORTISE_OK)
        mortise_record_encode(b, &mortise_record_tombstone, &t);
    return rv;
}

static int leaving(struct mortise_buf *b, const void *p, size_t n)
{
    struct mortise_leaving l;
    int rv = mortise_record_decode(&mortise_record_leaving, &l, p, n);

    if (rv == MORTISE_OK)
        mortise_record_encode(b, &mortise_record_leaving, &l);
    return rv;
}

/* A key of a tag with a tenant and one more name. */
static int short_key(struct mortise_buf *b, const void *p, size_t n)
{
    struct mortise_reader r;
    struct mortise_buf names;
    int rv;

    mortise_buf_init(&names, &mortise_heap);
    mortise_reader_init(&r, p, n);
    rv =
        mortise_read_u8(&r) == MORTISE_KEY_HEAD ? MORTISE_OK : MORTISE_ECORRUPT;
    mortise_key_read_name(&r, &names);
    mortise_key_read_last(&r, &names);
    if (r.bad)
        rv = MORTISE_ECORRUPT;
    if (rv == MORTISE_OK)
        mortise_key_head(b, names.p, names.p + strlen(names.p) + 1);
    mortise_buf_finish(&names);
    return rv;
}

/* The longest key: that of a deadline, with its tag. */
static int key(struct mortise_buf *b, const void *p, size_t n)
{
    struct mortise_reader r;
    struct mortise_buf names;
    uint64_t ms;
    int rv;

    mortise_buf_init(&names, &mortise_heap);
    mortise_reader_init(&r, p, n);
    rv = mortise_read_u8(&r) == MORTISE_KEY_DEADLINE ? MORTISE_OK
                                                     : MORTISE_ECORRUPT;
    ms = mortise_key_read_number(&r);
    mortise_key_read_name(&r, &names);
    mortise_key_read_name(&r, &names);
    mortise_key_read_last(&r, &names);
    if (r.bad)
        rv = MORTISE_ECORRUPT;
    if (rv == MORTISE_OK) {
        const char *run = names.p + strlen(names.p) + 1;

        mortise_key_deadline(b, ms, names.p, run, run + strlen(run) + 1);
    }
    mortise_buf_finish(&names);
    return rv;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int (*const again[])(struct mortise_buf *, const void *, size_t) = {
        checkpoint, head,  pending, graph,    batch,     key,     deadline,
        kv,         stamp, mark,    identity, tombstone, leaving, short_key};
    struct mortise_buf b;
    int rv;

    if (size == 0)
        return 0;
    mortise_buf_init(&b, &mortise_heap);
    rv = again[data[0] % (sizeof again / sizeof again[0])](&b, data + 1,
                                                           size - 1);
    if (rv == MORTISE_OK &&
        (b.failed || b.n != size - 1 || memcmp(b.p, data + 1, b.n) != 0))
        abort();
    mortise_buf_finish(&b);
    return 0;
}
