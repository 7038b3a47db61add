/* test_hostile_store.c -- a store that somebody spoils.
 *
 * A ledger of what was acknowledged is kept outside of the store.  Then a file
 * of the store is damaged: each file, by flipped bits (all of the headers of
 * a log's records among them), cuts, zeros, emptying and removal.  Whoever
 * opens what is left gets an error, or finds exactly what the ledger says:
 * never less, never something else.  And a refused opening changes nothing, so
 * that looking does no harm to what can be saved: which is another store, whole
 * as far as it goes.
 *
 * The same where what the store consists of is removed or renamed while it is
 * open and written to. */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/commits.h"
#include "lib/matrix.h"
#include "lib/store_reader.h"
#include "lib/test.h"
#include "lib/warm.h"
#include "core/store/leveldb/integrity.h"
#include "tools/salvage/salvage.h"
#include "lib/store_now.h"

static char dir[4096];       /* of this test */
static char path[4096 + 64]; /* the store in it */

static void setup(void)
{
    snprintf(dir, sizeof dir, "%s", test_mkdir());
    snprintf(path, sizeof path, "%s/store", dir);
    warm_leveldb(dir);
    test_begin();
}

static void teardown(void)
{
    test_rmdir(dir);
    test_nothing_left();
}

/* ---- what is there ------------------------------------------------------ */

/* Everything that can be read, in one number; an error of reading it. */
struct sum {
    struct mortise_store *s;
    struct mortise_hasher h;
    int rv;
};

static int add_checkpoint(void *ud, const struct mortise_checkpoint *cp)
{
    struct sum *sum = ud;

    mortise_hasher_add_u64(&sum->h, cp->seq);
    mortise_hasher_add_field(&sum->h, cp->id.b, sizeof cp->id.b);
    mortise_hasher_add_field(&sum->h, cp->entries, cp->size);
    return 0;
}

static int add_head(void *ud, const char *tenant, const char *run,
                    const struct mortise_head *head)
{
    struct sum *sum = ud;

    mortise_hasher_add_str(&sum->h, tenant);
    mortise_hasher_add_str(&sum->h, run);
    mortise_hasher_add_u64(&sum->h, head->seq);
    sum->rv = mortise_store_checkpoints(sum->s, tenant, run, 1, add_checkpoint,
                                        sum, NULL);
    return sum->rv;
}

static int add_pending(void *ud, const char *tenant, const char *run,
                       const struct mortise_pending *p)
{
    struct sum *sum = ud;

    mortise_hasher_add_str(&sum->h, tenant);
    mortise_hasher_add_str(&sum->h, run);
    mortise_hasher_add_str(&sum->h, p->id);
    mortise_hasher_add_u64(&sum->h, p->deadline_ms);
    mortise_hasher_add_field(&sum->h, p->payload, p->payload_size);
    return 0;
}

static int add_kv(struct sum *sum, const char *run)
{
    struct made_commit m;
    struct mortise_buf value;
    int rv;

    make_commit(&m, "default", run, 1, 0);
    mortise_buf_init(&value, &test_mem);
    rv = mortise_store_kv(sum->s, "default", "made", m.kvs[0].key,
                          m.kvs[0].key_size, &value, NULL);
    mortise_hasher_add_field(&sum->h, value.p, value.n);
    mortise_buf_finish(&value);
    return rv == MORTISE_ENOTFOUND ? MORTISE_OK : rv;
}

static int sum_up(struct mortise_store *s, uint8_t out[MORTISE_DIGEST])
{
    struct sum sum = {.s = s};
    int rv;

    mortise_hasher_init(&sum.h);
    rv = mortise_store_heads(s, NULL, NULL, add_head, &sum, NULL);
    if (rv == MORTISE_OK)
        rv = sum.rv;
    if (rv == MORTISE_OK)
        rv = mortise_store_inbox(s, "default", NULL, NULL, add_pending, &sum,
                                 NULL);
    if (rv == MORTISE_OK)
        rv = mortise_store_due(s, UINT64_MAX, add_pending, &sum, NULL);
    if (rv == MORTISE_OK)
        rv = add_kv(&sum, "a");
    if (rv == MORTISE_OK)
        rv = add_kv(&sum, "b/2");
    mortise_hasher_add_field(&sum.h, s->identity, MORTISE_STORE_ID);
    mortise_hasher_final(&sum.h, out);
    return rv;
}

static int open_and_sum(uint8_t out[MORTISE_DIGEST], bool *opened)
{
    struct mortise_store *s;
    int rv = mortise_store_open(&s, path, &test_mem, NULL);

    *opened = rv == MORTISE_OK;
    if (rv != MORTISE_OK)
        return rv;
    rv = sum_up(s, out);
    mortise_store_close(s);
    return rv;
}

/* ---- what was acknowledged ---------------------------------------------- */

static int commit(struct mortise_store *s, const char *run, uint64_t seq,
                  size_t entries)
{
    static struct made_commit m;
    struct mortise_commit *c = &m.c;
    int rv;

    make_commit(&m, "default", run, seq, entries);
    rv = mortise_store_write(s, &c, 1, NULL);
    return rv != MORTISE_OK ? rv : c->result;
}

static struct mortise_store *open_store(void)
{
    struct mortise_store *s;
    struct mortise_err err = {0};

    ck_assert_msg(mortise_store_open(&s, path, &test_mem, &err) == MORTISE_OK,
                  "%s", err.msg);
    return s;
}

/* Two runs, some commits an opening; the sum of it all. */
static void make_store(unsigned openings, uint64_t each, size_t entries,
                       uint8_t sum[MORTISE_DIGEST])
{
    uint64_t seq = 0;

    for (unsigned i = 0; i < openings; i++) {
        struct mortise_store *s = open_store();

        for (uint64_t k = 0; k < each; k++) {
            seq++;
            ck_assert_int_eq(commit(s, "a", seq, entries), MORTISE_OK);
            ck_assert_int_eq(commit(s, "b/2", seq, 10), MORTISE_OK);
        }
        ck_assert_int_eq(sum_up(s, sum), MORTISE_OK);
        mortise_store_close(s);
    }
}

/* ---- an image of the store ---------------------------------------------- */

enum { MAX_FILES = 64 };

static struct image {
    struct file {
        char name[300]; /* in the store */
        char *bytes;
        size_t size;
    } files[MAX_FILES];
    size_t n;
} image;

static char *in_store(const char *name)
{
    static char full[8192];

    snprintf(full, sizeof full, "%s/%s", path, name);
    return full;
}

/* Not what LevelDB only logs to, nor its lock, nor what says nothing. */
static bool counts(const char *name)
{
    return name[0] != '.' && strncmp(name, "LO", 2) != 0 &&
           strcmp(name, "reserve") != 0;
}

static void take_image_of(const char *sub)
{
    DIR *d = opendir(in_store(sub));
    struct dirent *e;

    ck_assert_ptr_nonnull(d);
    while ((e = readdir(d)) != NULL) {
        struct file *f = &image.files[image.n];

        if (!counts(e->d_name) || e->d_type != DT_REG)
            continue;
        ck_assert_uint_lt(image.n, MAX_FILES);
        snprintf(f->name, sizeof f->name, "%s%s", sub, e->d_name);
        f->bytes = test_read(in_store(f->name), &f->size);
        image.n++;
    }
    closedir(d);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct file *)a)->name,
                  ((const struct file *)b)->name);
}

static void take_image(void)
{
    image.n = 0;
    take_image_of("");
    take_image_of("db/");
    qsort(image.files, image.n, sizeof image.files[0], by_name);
}

static void free_image(void)
{
    for (size_t i = 0; i < image.n; i++)
        free(image.files[i].bytes);
    image.n = 0;
}

/* ---- ways to spoil ------------------------------------------------------ */

enum way { FLIP, CUT, ZERO_SECTOR, DELETE };

struct damage {
    const struct file *file;
    enum way way;
    size_t at; /* a bit; bytes that stay; a sector; nothing */
};

static const char *say(const struct damage *d)
{
    static const char *const ways[] = {"bit flipped at", "cut to",
                                       "a sector of zeros at", "removed"};
    static char words[400];

    snprintf(words, sizeof words, "%s: %s %zu", d->file->name, ways[d->way],
             d->at);
    return words;
}

/* The bytes of the file as spoilt, or NULL; *n of them. */
static char *spoil(const struct damage *d, size_t *n)
{
    char *bytes;

    *n = d->file->size;
    if (d->way == DELETE)
        return NULL;
    bytes = malloc(*n + 1);
    memcpy(bytes, d->file->bytes, *n);
    if (d->way == FLIP)
        bytes[d->at / 8] ^= (char)(1 << d->at % 8);
    else if (d->way == CUT)
        *n = d->at;
    else
        memset(bytes + d->at, 0, *n - d->at < 512 ? *n - d->at : 512);
    return bytes;
}

static void lay_out(const struct damage *d, const char *spoilt, size_t n)
{
    test_rmdir(path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(mkdir(in_store("db"), 0700), 0);
    for (size_t i = 0; i < image.n; i++) {
        const struct file *f = &image.files[i];

        if (f != d->file)
            test_write(in_store(f->name), f->bytes, f->size);
        else if (spoilt != NULL)
            test_write(in_store(f->name), spoilt, n);
    }
}

/* Is every file as it was laid out? */
static void is_as_laid_out(const struct damage *d, const char *spoilt, size_t n)
{
    for (size_t i = 0; i < image.n; i++) {
        const struct file *f = &image.files[i];
        const char *bytes = f != d->file ? f->bytes : spoilt;
        size_t size = f != d->file ? f->size : n, got;
        char *there;

        if (bytes == NULL) {
            ck_assert_msg(access(in_store(f->name), F_OK) != 0, "%s: %s",
                          say(d), f->name);
            continue;
        }
        ck_assert_msg(access(in_store(f->name), F_OK) == 0, "%s: lost %s",
                      say(d), f->name);
        there = test_read(in_store(f->name), &got);
        ck_assert_msg(got == size && memcmp(there, bytes, size) == 0,
                      "%s: changed %s", say(d), f->name);
        free(there);
    }
}

/* ---- what is saved ------------------------------------------------------ */

static int check_checkpoint(void *ud, const struct mortise_checkpoint *cp)
{
    static char expected[MADE_ENTRIES];
    const char *run = ud;
    struct mortise_uuid id = made_id(run, cp->seq);

    made_entries(expected, run, cp->seq, cp->size);
    ck_assert_mem_eq(cp->entries, expected, cp->size);
    ck_assert_mem_eq(cp->id.b, id.b, sizeof id.b);
    return 0;
}

/* Whole up to its head, and as it was made. */
static int check_saved_run(void *ud, const char *tenant, const char *run,
                           const struct mortise_head *head)
{
    struct mortise_err err = {0};
    char name[16];

    snprintf(name, sizeof name, "%s", run);
    ck_assert_msg(mortise_store_checkpoints(ud, tenant, run, 1,
                                            check_checkpoint, name,
                                            &err) == MORTISE_OK,
                  "%s of %d: %s", run, (int)head->seq, err.msg);
    return 0;
}

static void hear(void *ud, const char *words)
{
    (void)ud;
    ck_assert_str_ne(words, "");
}

static void no_end(void *ud, const struct mortise_checkpoint *cp,
                   uint32_t *status)
{
    (void)ud;
    (void)cp;
    (void)status;
}

static void as_it_is(void *ud, struct mortise_head *head)
{
    (void)ud;
    head->reason = "";
}

static void no_name(void *ud, const struct mortise_source *files, size_t n,
                    struct mortise_buf *name)
{
    (void)ud;
    (void)files;
    (void)n;
    (void)name;
}

/* Nothing but tables has one copy of what it holds, and a log loses one batch
 * with one bit. */
static uint64_t may_miss(const struct damage *d)
{
    if (strstr(d->file->name, ".ldb") != NULL)
        return UINT64_MAX;
    if (strstr(d->file->name, ".log") != NULL)
        return d->way == FLIP ? 1 : UINT64_MAX;
    return 0;
}

/* What is saved of a refused store is another whole one, as far as it goes;
 * and all of it is, where nothing is lost that stands in one place alone. */
static void try_to_save(const struct damage *d,
                        const uint8_t ledger[MORTISE_DIGEST])
{
    char to[4300];
    uint8_t found[MORTISE_DIGEST];
    static const struct mortise_salvage_callbacks how = {
        .say = hear, .follow = no_end, .stand = as_it_is, .name = no_name};
    struct mortise_salvage_result out;
    struct mortise_err err = {0};
    struct mortise_store *s;
    struct reader_store r;
    int rv;

    snprintf(to, sizeof to, "%s/saved", dir);
    rv = mortise_store_salvage(path, to, &test_mem, &how, &out, &err);
    if (rv == MORTISE_EFORMAT && strcmp(d->file->name, "format") == 0)
        return; /* A later version's could look so, and a checksum in the stamp
                 * would not tell: of its stamp we know the number alone.  So
                 * salvage leaves it untouched as well; who knows better mends
                 * one line of text. */
    ck_assert_msg(rv == MORTISE_OK, "%s: %s", say(d), err.msg);
    ck_assert_msg(out.missing <= may_miss(d), "%s: %d commits missing", say(d),
                  (int)out.missing);
    ck_assert_msg(store_reader_read(&r, to) == 0, "%s: %s", say(d), r.why);
    ck_assert_uint_eq(r.n_runs, out.runs);
    store_reader_free(&r);
    ck_assert_int_eq(mortise_store_open(&s, to, &test_mem, &err), MORTISE_OK);
    ck_assert_int_eq(
        mortise_store_heads(s, NULL, NULL, check_saved_run, s, &err),
        MORTISE_OK);
    if (may_miss(d) == 0 && strcmp(d->file->name, "mark") != 0) {
        ck_assert_int_eq(sum_up(s, found), MORTISE_OK);
        ck_assert_msg(memcmp(found, ledger, sizeof found) == 0,
                      "%s: not all was saved", say(d));
    }
    mortise_store_close(s);
    test_rmdir(to);
}

static size_t n_refused, n_same;

static void try_damage(const struct damage *d,
                       const uint8_t ledger[MORTISE_DIGEST])
{
    uint8_t found[MORTISE_DIGEST];
    size_t n;
    char *spoilt = spoil(d, &n);
    bool opened;

    lay_out(d, spoilt, n);
    for (int k = 0; k < 2; k++) {
        int rv = open_and_sum(found, &opened);

        ck_assert_msg(rv != MORTISE_OK ||
                          memcmp(found, ledger, MORTISE_DIGEST) == 0,
                      "%s: something else is there", say(d));
        if (!opened && k == 0 && n_refused % 4 == 0)
            try_to_save(d, ledger);
        if (!opened)
            is_as_laid_out(d, spoilt, n);
        n_refused += rv != MORTISE_OK;
        n_same += rv == MORTISE_OK;
    }
    free(spoilt);
}

/* ---- the matrix --------------------------------------------------------- */

static size_t n_tried;

static void consider(const struct file *f, enum way way, size_t at,
                     size_t share, const uint8_t ledger[MORTISE_DIGEST])
{
    struct damage d = {f, way, at};

    if (matrix_takes(n_tried++, share))
        try_damage(&d, ledger);
}

static bool is_log(const struct file *f)
{
    return strstr(f->name, ".log") != NULL ||
           strstr(f->name, "MANIFEST") != NULL;
}

/* Where the next record of a log begins, behind the one at `at`. */
static size_t next_record(const struct file *f, size_t at)
{
    size_t left = 32768 - at % 32768;

    if (left < 7)
        return at + left;
    return at + 7 + (unsigned char)f->bytes[at + 4] +
           256u * (unsigned char)f->bytes[at + 5];
}

/* Each bit of a record's header; cuts there. */
static void spoil_records(const struct file *f,
                          const uint8_t ledger[MORTISE_DIGEST])
{
    for (size_t at = 0; at + 7 <= f->size; at = next_record(f, at)) {
        for (size_t bit = 0; bit < 7 * 8; bit++)
            consider(f, FLIP, at * 8 + bit, 16, ledger);
        consider(f, CUT, at, 4, ledger);
        consider(f, CUT, at + 5, 4, ledger);
        consider(f, CUT, at + 7, 4, ledger);
    }
}

static void spoil_file(const struct file *f,
                       const uint8_t ledger[MORTISE_DIGEST])
{
    size_t bits = 8 * f->size, step = bits / 3000 + 1;

    if (is_log(f))
        spoil_records(f, ledger);
    for (size_t bit = 0; bit < bits; bit += step)
        consider(f, FLIP, bit, 24, ledger);
    for (size_t bit = bits > 400 ? bits - 400 : 0; bit < bits; bit += 3)
        consider(f, FLIP, bit, 8, ledger);
    for (size_t at = 0; at < f->size; at += f->size / 40 + 1)
        consider(f, CUT, at, 4, ledger);
    for (size_t at = 0; at < f->size; at += 512)
        consider(f, ZERO_SECTOR, at, 4, ledger);
    n_tried = 0; /* these are always tried */
    consider(f, CUT, 0, 1, ledger);
    consider(f, CUT, f->size - 1, 1, ledger);
    consider(f, CUT, f->size / 2, 1, ledger);
    consider(f, ZERO_SECTOR, 0, 1, ledger);
    consider(f, DELETE, 0, 1, ledger);
}

/* A store all of which is in a log; one with tables of several openings; and
 * one with a log of several blocks. */
START_TEST(damage_is_an_error_or_harmless)
{
    static const struct {
        unsigned openings;
        uint64_t each;
        size_t entries;
    } stores[] = {{1, 10, 60}, {4, 3, 200}, {2, 12, 3000}};
    uint8_t ledger[MORTISE_DIGEST], found[MORTISE_DIGEST];
    struct damage none = {0};
    bool opened;

    make_store(stores[_i].openings, stores[_i].each, stores[_i].entries,
               ledger);
    take_image();
    lay_out(&none, NULL, 0);
    ck_assert_int_eq(open_and_sum(found, &opened), MORTISE_OK);
    ck_assert_mem_eq(found, ledger, sizeof ledger);
    n_refused = n_same = 0;
    for (size_t i = 0; i < image.n; i++)
        spoil_file(&image.files[i], ledger);
    ck_assert_uint_gt(n_refused, n_same); /* most of it is noticed */
    ck_assert_uint_gt(n_refused, 100);
    free_image();
}
END_TEST

/* ---- while it is open --------------------------------------------------- */

/* The first file in db/ that is called so; NULL: none. */
static const char *find(const char *tail)
{
    static char name[300];
    DIR *d = opendir(in_store("db"));
    struct dirent *e;

    name[0] = '\0';
    while (name[0] == '\0' && (e = readdir(d)) != NULL)
        if (strstr(e->d_name, tail) != NULL &&
            strncmp(e->d_name, "LOG", 3) != 0)
            snprintf(name, sizeof name, "db/%s", e->d_name);
    closedir(d);
    ck_assert_str_ne(name, "");
    return name;
}

static void remove_dir(const char *name)
{
    char full[8192];

    snprintf(full, sizeof full, "%s", in_store(name));
    test_rmdir(full);
}

static void move(const char *name, const char *to)
{
    char from[8192];

    snprintf(from, sizeof from, "%s", in_store(name));
    ck_assert_int_eq(rename(from, to), 0);
}

enum { MEDDLINGS = 14 };

/* Another directory takes the place of db/: with copies of all its files, or
 * empty. */
static void put_in_place(bool copied)
{
    char was[8192], to[4300], *bytes;
    struct dirent *e;
    size_t size;
    DIR *d;

    snprintf(to, sizeof to, "%s/elsewhere", dir);
    move("db", to);
    ck_assert_int_eq(mkdir(in_store("db"), 0700), 0);
    d = opendir(to);
    while (copied && (e = readdir(d)) != NULL) {
        char name[300];

        if (e->d_name[0] == '.')
            continue;
        snprintf(was, sizeof was, "%s/%s", to, e->d_name);
        snprintf(name, sizeof name, "db/%s", e->d_name);
        bytes = test_read(was, &size);
        test_write(in_store(name), bytes, size);
        free(bytes);
    }
    closedir(d);
}

/* What somebody does to it who should not. */
static void meddle(int how)
{
    static const char *const files[] = {"db/LOCK", "db/CURRENT", "format",
                                        "mark"};
    char to[4300];

    snprintf(to, sizeof to, "%s/elsewhere", dir);
    if (how < 4)
        ck_assert_int_eq(unlink(in_store(files[how])), 0);
    else if (how == 4)
        ck_assert_int_eq(unlink(in_store(find(".log"))), 0);
    else if (how == 5)
        ck_assert_int_eq(unlink(in_store(find("MANIFEST"))), 0);
    else if (how == 6)
        ck_assert_int_eq(unlink(in_store(find(".ldb"))), 0);
    else if (how == 7)
        remove_dir("db");
    else if (how == 8)
        remove_dir("");
    else if (how == 9)
        move("db", to);
    else if (how == 10)
        ck_assert_int_eq(truncate(in_store(find(".log")), 0), 0);
    else if (how == 11)
        move("", to);
    else
        put_in_place(how == 12);
    if (how == 11)
        snprintf(path, sizeof path, "%s/elsewhere", dir);
}

/* Commits go on until one fails; then there is an error, or all that was
 * acknowledged, for whoever comes next. */
START_TEST(meddling_is_an_error_or_harmless)
{
    uint8_t ledger[MORTISE_DIGEST], found[MORTISE_DIGEST];
    uint64_t acked = 4;
    bool opened;
    int rv;

    make_store(2, 2, 100, ledger);
    struct mortise_store *s = open_store();
    meddle(_i);
    while (acked < 8 && commit(s, "a", acked + 1, 100) == MORTISE_OK)
        acked++;
    /* The mark, the database or its CURRENT is gone, or another is in its
     * place: it is noticed at once. */
    if (_i == 1 || _i == 3 || (_i >= 7 && _i <= 9) || _i > 11)
        ck_assert_uint_eq(acked, 4);
    rv = acked > 4 ? sum_up(s, ledger) : MORTISE_OK; /* or it is as made */
    mortise_store_close(s);
    if (_i == 8) { /* all is gone: there is no store any more */
        ck_assert_int_ne(access(path, F_OK), 0);
        return;
    }
    for (int k = 0; k < 2; k++) {
        int again = open_and_sum(found, &opened);

        ck_assert_msg(
            again != MORTISE_OK ||
                (rv == MORTISE_OK && memcmp(found, ledger, sizeof found) == 0),
            "%d: something else is there", _i);
        /* Locks and names are no data; of a stamp, nobody can tell. */
        if (_i == 0 || _i == 11 || _i == 12)
            ck_assert_int_eq(again, MORTISE_OK);
        if (_i == 2)
            ck_assert_int_eq(again, MORTISE_ECORRUPT);
    }
}
END_TEST

/* ---- what is no file ---------------------------------------------------- */

static void put_a_socket(const char *at)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_uint_lt(strlen(at), sizeof a.sun_path);
    memcpy(a.sun_path, at, strlen(at));
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    close(fd);
}

/* A FIFO, a socket, a device or a directory in place of one of LevelDB's files
 * is damage like any other, and nobody waits for it: not who opens the store,
 * nor who looks at a copy or checks it. */
START_TEST(what_is_no_file_is_corrupt)
{
    static const char *const files[] = {"CURRENT", "MANIFEST", ".log", ".ldb"};
    const struct mortise_mem *mem = &test_mem;
    char at[8192];

    for (int kind = 0; kind < 4; kind++) {
        struct mortise_store *s = NULL;
        struct mortise_err err;
        uint8_t ledger[MORTISE_DIGEST];

        test_within(60);
        test_rmdir(path);
        make_store(2, 2, 100, ledger);
        snprintf(at, sizeof at, "%s", in_store(find(files[_i])));
        ck_assert_int_eq(unlink(at), 0);
        if (kind == 0)
            ck_assert_int_eq(mkfifo(at, 0600), 0);
        else if (kind == 1)
            put_a_socket(at);
        else if (kind == 2)
            ck_assert_int_eq(symlink("/dev/tty", at), 0);
        else
            ck_assert_int_eq(mkdir(at, 0700), 0);
        for (int k = 0; k < 2; k++) {
            ck_assert_int_eq(mortise_store_open(&s, path, mem, &err),
                             MORTISE_ECORRUPT);
            ck_assert_msg(strstr(err.msg, " is not a regular file") != NULL,
                          "%s", err.msg);
            ck_assert_int_eq(mortise_store_check(path, mem, &err),
                             MORTISE_ECORRUPT);
        }
        ck_assert_msg(mortise_store_open_view(&s, path, mem, &err) ==
                          MORTISE_OK,
                      "%s", err.msg);
        mortise_store_close(s);
    }
}
END_TEST

/* So is what stands in place of the stamp, or of a second name. */
START_TEST(no_stamp_is_a_directory)
{
    static const char *const names[] = {"format", "format", "format",
                                        "db/aside.000008.ldb"};
    struct mortise_store *s = NULL;
    struct mortise_err err;
    uint8_t ledger[MORTISE_DIGEST];
    char at[8192];

    make_store(2, 2, 100, ledger);
    snprintf(at, sizeof at, "%s/%s", path, names[_i]);
    unlink(at);
    if (_i == 0)
        ck_assert_int_eq(mkfifo(at, 0600), 0);
    else if (_i == 1)
        ck_assert_int_eq(symlink("/dev/zero", at), 0);
    else
        ck_assert_int_eq(mkdir(at, 0700), 0);
    ck_assert_int_eq(mortise_store_open(&s, path, &test_mem, &err),
                     MORTISE_ECORRUPT);
    ck_assert_msg(strstr(err.msg, " is not a regular file") != NULL, "%s",
                  err.msg);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("hostile store");
    TCase *tc = tcase_create("hostile store");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, matrix_is_whole() ? 3600 : 300);
    tcase_add_loop_test(tc, damage_is_an_error_or_harmless, 0, 3);
    tcase_add_loop_test(tc, meddling_is_an_error_or_harmless, 0, MEDDLINGS);
    tcase_add_loop_test(tc, what_is_no_file_is_corrupt, 0, 4);
    tcase_add_loop_test(tc, no_stamp_is_a_directory, 0, 4);
    suite_add_tcase(s, tc);
    return s;
}

/* Thousands of small files: in memory if there is a place for them. */
int main(void)
{
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0);
    return test_run(suite());
}
