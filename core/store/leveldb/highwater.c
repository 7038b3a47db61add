/* highwater.c -- the mark outside of the database: how much of it was synced.
 *
 * Batches are numbered, and a hole in the numbers shows; but a database that
 * lost its end is whole: LevelDB opens a log whose tail is damaged, cut or gone
 * without a word, as if its writer had died there.  So the number of the
 * highest synced batch stands in a file beside it, and a store that ends before
 * that is corrupt.  The promises:
 *
 *   (1) It never runs ahead of the disk: it is written after the sync of the
 *       batch that it names, never before.  It is not synced itself, which
 *       would double what a commit costs, so after a power cut it may be
 *       behind, by what the kernel had not yet written back.
 *   (2) A write that was torn is no false alarm: two slots take turns, far
 *       enough apart that no sector but the file's own first holds both, each
 *       with a checksum.  What was written last counts if it is whole, else
 *       what was written before it.
 *   (3) It is made whole and durable, by rename, and has its size for good:
 *       putting a number takes no room on the disk and changes no name.
 *   (4) It has the identity of its store, so that one of another store is not
 *       taken for this one's.
 *   (5) Who removes it under us, alone or with the whole store, makes the next
 *       write fail: what is written to files without names is not kept.
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

enum { SIZE = 512, SLOTS = 2, APART = 256, SAID = 32 };
enum { SLOT = SAID + MORTISE_DIGEST };

static const char name[] = "mark", name_new[] = "mark.new";
static const char magic[8] = {'m', 'o', 'r', 't', 'm', 'a', 'r', 'k'};

static void write_slot(uint8_t out[SLOT], const struct mortise_highwater *w)
{
    assert(w->slot < SLOTS);
    memcpy(out, magic, sizeof magic);
    for (int i = 0; i < 8; i++)
        out[8 + i] = (uint8_t)(w->number >> 8 * i);
    memcpy(out + 16, w->identity, MORTISE_STORE_ID);
    mortise_digest(out + SAID, out, SAID);
}

/* Is this slot whole?  Then what it says. */
static bool read_slot(struct mortise_highwater *w, const uint8_t in[SLOT])
{
    uint8_t digest[MORTISE_DIGEST];

    mortise_digest(digest, in, SAID);
    if (memcmp(in, magic, sizeof magic) != 0 ||
        memcmp(digest, in + SAID, sizeof digest) != 0)
        return false;
    w->number = 0;
    for (int i = 8; i-- > 0;)
        w->number = w->number << 8 | in[8 + i];
    memcpy(w->identity, in + 16, MORTISE_STORE_ID);
    return true;
}

/* (2): what the file says. */
static int read_file(struct mortise_highwater *w, struct mortise_err *err)
{
    uint8_t all[SIZE + 1];
    ssize_t n = pread(w->fd, all, sizeof all, 0);
    bool found = false;

    if (n < 0)
        return mortise_syserr(err, errno, "read %s", name);
    for (unsigned i = 0; n == SIZE && i < SLOTS; i++) {
        struct mortise_highwater one = {.fd = w->fd, .slot = i};

        if (!read_slot(&one, all + (size_t)i * APART))
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

/* Something else in its place is opened at most, and not waited for. */
static int no_file(struct mortise_err *err)
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
        return no_file(err);

    *w = (struct mortise_highwater){.fd = openat(dir, name,
                                                 (writing ? O_RDWR : O_RDONLY) |
                                                     O_NOFOLLOW | O_CLOEXEC |
                                                     O_NONBLOCK)};
    if (w->fd < 0)
        return errno == ENOENT ? MORTISE_OK
                               : mortise_syserr(err, errno, "open %s", name);
    rv = read_file(w, err);
    if (rv != MORTISE_OK)
        mortise_highwater_close(w);
    return rv;
}

/* All of the file, both slots alike, on the disk under its first name. */
static int write_file(const struct mortise_highwater *w,
                      struct mortise_err *err)
{
    uint8_t all[SIZE] = {0};
    ssize_t n;

    assert(w->fd >= 0);
    for (size_t i = 0; i < SLOTS; i++)
        write_slot(all + i * APART, w);
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
        .fd = mortise_directory_create(dir, name_new, O_RDWR),
        .number = number};
    if (w->fd < 0)
        return mortise_syserr(err, errno, "make %s", name_new);
    memcpy(w->identity, identity, MORTISE_STORE_ID);
    rv = write_file(w, err);
    if (rv == MORTISE_OK && renameat(dir, name_new, dir, name) != 0)
        rv = mortise_syserr(err, errno, "rename %s", name_new);
    if (rv == MORTISE_OK && fsync(dir) != 0)
        rv = mortise_syserr(err, errno, "sync the directory");
    if (rv != MORTISE_OK)
        mortise_highwater_close(w);
    return rv;
}

int mortise_highwater_put(struct mortise_highwater *w, uint64_t number,
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
    n = pwrite(w->fd, bytes, sizeof bytes, (off_t)slot * APART);
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
