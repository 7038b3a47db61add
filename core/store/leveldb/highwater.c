/* highwater.c -- the mark: the number of the last synced batch, in a file.
 *
 * A gap in the numbers of batches shows, but a database that lost its end looks
 * complete: LevelDB opens a log with a damaged, cut or missing tail without an
 * error, as if its writer had been killed there.  So the number of the last
 * synced batch is also in a file beside the database.  A store that ends before
 * it is corrupt.  Guarantees:
 *
 *   (1) The mark is never ahead of the disk: it is written after the sync of
 *       its batch.  The mark itself is not synced, which would double the cost
 *       of a commit.  So after a power failure it may be behind.
 *   (2) A torn write is no false alarm.  There are two slots, which are written
 *       in turn, each with a checksum, and so far apart that only the file's
 *       first sector can hold both.  The newest valid slot counts.
 *   (3) The file is created complete and durable, by rename, and its size never
 *       changes.  So an update needs no disk space and changes no directory.
 *   (4) It has the identity of its store, so the mark of another store is not
 *       mistaken for it.
 *   (5) If somebody removes the file, alone or with the store, the next write
 *       fails, because data written to unlinked files is lost.
 *
 *     at 0 and at 256: "mortmark", u64 number, 16 bytes identity, BLAKE2b-256
 *     of these 32 bytes; zeros up to 512.
 */
#include "core/store/leveldb/highwater.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/store/leveldb/directory.h"

enum { SIZE = 512, SLOTS = 2, SLOT_DISTANCE = 256, SIGNED_SIZE = 32 };
enum { SLOT = SIGNED_SIZE + MORTISE_DIGEST };

static const char name[] = "mark", name_new[] = "mark.new";
static const char magic[8] = {'m', 'o', 'r', 't', 'm', 'a', 'r', 'k'};

static void write_slot(uint8_t out[SLOT], const struct mortise_highwater *w)
{
    assert(w->slot < SLOTS);
    memcpy(out, magic, sizeof magic);
    for (int i = 0; i < 8; i++)
        out[8 + i] = (uint8_t)(w->number >> 8 * i);
    memcpy(out + 16, w->identity, MORTISE_STORE_ID);
    mortise_digest(out + SIGNED_SIZE, out, SIGNED_SIZE);
}

/* Decode a slot; false: its checksum is wrong. */
static bool read_slot(struct mortise_highwater *w, const uint8_t in[SLOT])
{
    uint8_t digest[MORTISE_DIGEST];

    mortise_digest(digest, in, SIGNED_SIZE);
    if (memcmp(in, magic, sizeof magic) != 0 ||
        memcmp(digest, in + SIGNED_SIZE, sizeof digest) != 0)
        return false;
    w->number = 0;
    for (int i = 8; i-- > 0;)
        w->number = w->number << 8 | in[8 + i];
    memcpy(w->identity, in + 16, MORTISE_STORE_ID);
    return true;
}

/* Read the newest valid slot (2). */
static int load_newest_slot(struct mortise_highwater *w,
                            struct mortise_err *err)
{
    uint8_t all[SIZE + 1];
    ssize_t n = pread(w->fd, all, sizeof all, 0);
    bool found = false;

    if (n < 0)
        return mortise_syserr(err, errno, "read %s", name);
    for (unsigned i = 0; n == SIZE && i < SLOTS; i++) {
        struct mortise_highwater one = {.fd = w->fd, .slot = i};

        if (!read_slot(&one, all + (size_t)i * SLOT_DISTANCE))
            continue;
        if (found && memcmp(one.identity, w->identity, MORTISE_STORE_ID) != 0)
            return mortise_fail(
                err, MORTISE_ECORRUPT,
                "its file 'mark' contains the marks of two stores");
        if (!found || one.number > w->number)
            *w = one;
        found = true;
    }
    return found ? MORTISE_OK
                 : mortise_fail(err, MORTISE_ECORRUPT,
                                "its file 'mark', which records the last "
                                "commit, contains no valid record");
}

/* The message for anything but a regular file, which is not waited for. */
static int fail_replaced_mark(struct mortise_err *err)
{
    return mortise_fail(
        err, MORTISE_ECORRUPT,
        "its 'mark', which records the last commit, is not a regular file: it "
        "was replaced, and the newest commits may be missing");
}

int mortise_highwater_open(struct mortise_highwater *w, int dir, bool writing,
                           struct mortise_err *err)
{
    struct stat st;
    int rv;

    w->fd = -1;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        !S_ISREG(st.st_mode))
        return fail_replaced_mark(err);

    *w = (struct mortise_highwater){.fd = openat(dir, name,
                                                 (writing ? O_RDWR : O_RDONLY) |
                                                     O_NOFOLLOW | O_CLOEXEC |
                                                     O_NONBLOCK)};
    if (w->fd < 0)
        return errno == ENOENT ? MORTISE_OK
                               : mortise_syserr(err, errno, "open %s", name);
    rv = load_newest_slot(w, err);
    if (rv != MORTISE_OK)
        mortise_highwater_close(w);
    return rv;
}

/* Write the whole file, with both slots alike, and sync it. */
static int write_mark_file(const struct mortise_highwater *w,
                           struct mortise_err *err)
{
    uint8_t all[SIZE] = {0};
    ssize_t n;

    assert(w->fd >= 0);
    for (size_t i = 0; i < SLOTS; i++)
        write_slot(all + i * SLOT_DISTANCE, w);
    n = write(w->fd, all, sizeof all);
    if (n != (ssize_t)sizeof all)
        return mortise_syserr(err, n < 0 ? errno : ENOSPC, "write %s",
                              name_new);
    if (fsync(w->fd) != 0)
        return mortise_syserr(err, errno, "sync %s", name_new);
    return MORTISE_OK;
}

/* (3) */
int mortise_highwater_make(struct mortise_highwater *w, int dir,
                           const uint8_t identity[MORTISE_STORE_ID],
                           uint64_t number, struct mortise_err *err)
{
    int rv;

    *w = (struct mortise_highwater){
        .fd = mortise_directory_create_file(dir, name_new, O_RDWR),
        .number = number};
    if (w->fd < 0)
        return mortise_syserr(err, errno, "make %s", name_new);
    memcpy(w->identity, identity, MORTISE_STORE_ID);
    rv = write_mark_file(w, err);
    if (rv == MORTISE_OK && renameat(dir, name_new, dir, name) != 0)
        rv = mortise_syserr(err, errno, "rename %s", name_new);
    if (rv == MORTISE_OK && fsync(dir) != 0)
        rv = mortise_syserr(err, errno, "sync the directory");
    if (rv != MORTISE_OK)
        mortise_highwater_close(w);
    return rv;
}

int mortise_highwater_write(struct mortise_highwater *w, uint64_t number,
                            struct mortise_err *err)
{
    unsigned slot = (w->slot + 1) % SLOTS;
    uint8_t bytes[SLOT];
    struct stat st;
    ssize_t n;

    assert(w->fd >= 0 && number >= w->number);
    if (fstat(w->fd, &st) == 0 && st.st_nlink == 0)
        return mortise_fail(
            err, MORTISE_ECORRUPT,
            "the store's file 'mark', or the whole store, was removed");
    w->number = number;
    write_slot(bytes, w);
    n = pwrite(w->fd, bytes, sizeof bytes, (off_t)slot * SLOT_DISTANCE);
    if (n != (ssize_t)sizeof bytes)
        return mortise_syserr(err, n < 0 ? errno : ENOSPC, "write %s", name);
    w->slot = slot;
    return MORTISE_OK;
}

void mortise_highwater_close(struct mortise_highwater *w)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}
