/* logfile.c -- read and write LevelDB's log format.
 *
 * LevelDB's own reader takes a damaged length for the end of the log, or skips
 * the rest of a 32 KiB block.  Salvage needs everything that is left.  So
 *
 *   (1) after damage, the next record is searched at each byte.  A record is
 *       recognised by its checksum (CRC-32C), with a false match in one of four
 *       billion cases;
 *   (2) a record is returned completely or not at all;
 *   (3) skipped bytes are reported.
 *
 * A block contains records: u32 checksum (masked) of the bytes after the
 * length, u16 length, u8 type (1: whole, 2: first piece, 3: middle piece, 4:
 * last piece), the bytes.  Fewer than seven bytes at its end are zeros.  A
 * record's content is a batch: u64 sequence number, u32 count, and for each
 * change a u8 (1: put, 0: delete), then key and value with their lengths as
 * varints (doc/log_format.md and db/write_batch.cc of LevelDB).
 */
#include "core/store/leveldb/logfile.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "core/base/files.h"
#include "core/base/infile.h"

enum { BLOCK = 32768, HEADER = 7, BATCH_HEADER = 12 };
enum { WHOLE = 1, FIRST, MIDDLE, LAST };

/* CRC-32C by table: the remainder for each byte. */
static uint32_t crc_remainders[256];
static pthread_once_t crc_table_once = PTHREAD_ONCE_INIT;

static void fill_remainders(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t left = byte;

        for (int i = 0; i < 8; i++)
            left = left >> 1 ^ (0x82F63B78 & -(left & 1));
        crc_remainders[byte] = left;
    }
}

static uint32_t crc32c(const uint8_t *p, size_t n)
{
    uint32_t crc = 0xFFFFFFFF;

    pthread_once(&crc_table_once, fill_remainders);
    while (n-- > 0)
        crc = crc >> 8 ^ crc_remainders[(crc ^ *p++) & 0xFF];
    return ~crc;
}

uint32_t mortise_logfile_checksum(const void *p, size_t n)
{
    uint32_t crc = crc32c(p, n);

    return (crc >> 15 | crc << 17) + 0xA282EAD8;
}

static uint32_t read_little_endian(const uint8_t *p, size_t n)
{
    uint32_t v = 0;

    while (n-- > 0)
        v = v << 8 | p[n];
    return v;
}

void mortise_logfile_init(struct mortise_logfile *l,
                          const struct mortise_mem *mem)
{
    *l = (struct mortise_logfile){.damaged = false};
    mortise_buf_init(&l->bytes, mem);
    mortise_buf_init(&l->record, mem);
}

void mortise_logfile_finish(struct mortise_logfile *l)
{
    mortise_buf_finish(&l->record);
    mortise_buf_finish(&l->bytes);
}

int mortise_logfile_load(struct mortise_logfile *l, int dir, const char *name,
                         struct mortise_err *err)
{
    int fd = mortise_infile_open(dir, name, O_NOFOLLOW), rv = MORTISE_OK;

    if (fd < 0)
        return mortise_syserr(err, errno, "open %s", name);
    if (mortise_file_read_rest(&l->bytes, fd, UINT64_MAX) != 0)
        rv = mortise_syserr(err, errno, "read %s", name);
    else if (l->bytes.failed)
        rv = mortise_nomem(err);
    close(fd);
    l->p = l->begin = (const uint8_t *)l->bytes.p;
    l->end = l->begin + l->bytes.n;
    return rv;
}

/* The number of bytes from l->p to the end of its block, or of the log. */
static size_t left_in_block(const struct mortise_logfile *l)
{
    size_t in_block = BLOCK - (size_t)(l->p - l->begin) % BLOCK;
    size_t left = (size_t)(l->end - l->p);

    return left < in_block ? left : in_block;
}

/* Is there a complete piece at l->p? */
static bool is_piece(const struct mortise_logfile *l)
{
    size_t left = left_in_block(l), n;
    uint32_t crc;

    if (left < HEADER || l->p[6] < WHOLE || l->p[6] > LAST)
        return false;
    n = read_little_endian(l->p + 4, 2);
    if (n > left - HEADER)
        return false;
    crc = mortise_logfile_checksum(l->p + 6, n + 1);
    return crc == read_little_endian(l->p, 4);
}

/* Is the rest of the block padding, too short for a header? */
static bool is_trailer(const struct mortise_logfile *l)
{
    size_t left = left_in_block(l);

    for (size_t i = 0; i < left; i++)
        if (l->p[i] != 0)
            return false;
    return left < HEADER || (size_t)(l->end - l->p) == left;
}

/* Move to the next piece (1); false: at the end. */
static bool find_piece(struct mortise_logfile *l)
{
    while (l->p < l->end && !is_piece(l)) {
        if (is_trailer(l)) {
            l->p += left_in_block(l);
            continue;
        }
        l->damaged = true;
        l->in_record = false;
        l->p++;
    }
    return l->p < l->end;
}

bool mortise_logfile_next(struct mortise_logfile *l)
{
    while (find_piece(l)) {
        size_t n = read_little_endian(l->p + 4, 2);
        int type = l->p[6];
        bool begins = type == WHOLE || type == FIRST;

        if (begins == l->in_record)
            l->damaged = true; /* a piece without its others (2) */
        if (begins)
            mortise_buf_clear(&l->record);
        if (begins || l->in_record)
            mortise_buf_put(&l->record, l->p + HEADER, n);
        l->p += HEADER + n;
        if (type == WHOLE || (type == LAST && l->in_record)) {
            l->in_record = false;
            return true;
        }
        l->in_record = begins || (l->in_record && type == MIDDLE);
    }
    l->damaged |= l->in_record;
    return false;
}

/* Append one piece. */
static void write_piece(struct mortise_buf *b, uint8_t type, const void *p,
                        size_t n)
{
    size_t at = b->n;
    uint32_t crc;

    assert(n <= BLOCK - HEADER && at % BLOCK + HEADER + n <= BLOCK);
    assert(type >= WHOLE && type <= LAST);
    mortise_buf_put_u32(b, 0);
    mortise_buf_put_u16(b, (uint16_t)n);
    mortise_buf_put_u8(b, type);
    mortise_buf_put(b, p, n);
    if (b->failed)
        return;
    crc = mortise_logfile_checksum(b->p + at + 6, n + 1);
    for (size_t i = 0; i < 4; i++)
        b->p[at + i] = (char)(crc >> 8 * i);
}

void mortise_logfile_write(struct mortise_buf *b,
                           const struct mortise_buf *record)
{
    size_t at = 0;
    bool first = true;

    while (!b->failed && (first || at < record->n)) {
        size_t left = BLOCK - b->n % BLOCK, n = record->n - at;
        bool last;

        if (left < HEADER) {
            mortise_buf_put(b, "\0\0\0\0\0\0", left);
            continue;
        }
        if (n > left - HEADER)
            n = left - HEADER;
        last = at + n == record->n;
        write_piece(b,
                    first && last ? WHOLE
                    : first       ? FIRST
                    : last        ? LAST
                                  : MIDDLE,
                    record->p + at, n);
        at += n;
        first = false;
    }
    assert(b->failed || at == record->n); /* (2) */
}

uint64_t mortise_logfile_read_number(struct mortise_reader *r)
{
    uint64_t v = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = mortise_read_u8(r);

        v |= (uint64_t)(byte & 0x7F) << shift;
        if ((byte & 0x80) == 0)
            return v;
    }
    r->bad = true;
    return 0;
}

const uint8_t *mortise_logfile_read_slice(struct mortise_reader *r, size_t *n)
{
    *n = mortise_logfile_read_number(r);
    return mortise_read_bytes(r, *n);
}

bool mortise_logfile_next_op(const struct mortise_buf *record, size_t *at,
                             struct mortise_logop *op)
{
    struct mortise_reader r;
    uint8_t type;

    assert(*at == 0 || *at >= BATCH_HEADER);
    if (*at == 0)
        *at = BATCH_HEADER;
    if (*at >= record->n)
        return false;
    mortise_reader_init(&r, record->p + *at, record->n - *at);
    type = mortise_read_u8(&r);
    *op = (struct mortise_logop){.put = type == 1};
    op->key = mortise_logfile_read_slice(&r, &op->key_size);
    if (op->put)
        op->value = mortise_logfile_read_slice(&r, &op->value_size);
    *at = record->n - (size_t)(r.end - r.p);
    return type <= 1 && !r.bad;
}
