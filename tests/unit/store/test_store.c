/* test_store.c -- the store: formats, compare-and-set, reads, who holds it,
 * what it refuses, and the store thread.  test_store_crash.c kills it. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <leveldb/c.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/commits.h"
#include "lib/powercut.h"
#include "lib/store_reader.h"
#include "lib/test.h"
#include "lib/warm.h"
#include "core/store/leveldb/key.h"
#include "core/store/leveldb/logfile.h"
#include "core/store/leveldb/record.h"
#include "core/store/leveldb/integrity.h"
#include "lib/store_now.h"
#include "core/store/writer.h"

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
    powercut_end();
    test_rmdir(dir);
    test_nothing_left();
}

static struct mortise_store *open_store(void)
{
    struct mortise_store *s;
    struct mortise_err err = {0};

    ck_assert_msg(mortise_store_open(&s, path, &test_mem, &err) == MORTISE_OK,
                  "%s", err.msg);
    return s;
}

/* Opening fails with this code and these words. */
static void open_refused(int code, const char *words)
{
    struct mortise_store *s;
    struct mortise_err err = {0};

    ck_assert_int_eq(mortise_store_open(&s, path, &test_mem, &err), code);
    ck_assert_int_eq(err.code, code);
    ck_assert_ptr_null(s);
    ck_assert_msg(strstr(err.msg, words) != NULL, "%s", err.msg);
    ck_assert_msg(strstr(err.msg, path) != NULL, "%s", err.msg);
}

static int write_one(struct mortise_store *s, struct mortise_commit *c)
{
    struct mortise_err err = {0};

    ck_assert_msg(mortise_store_write(s, &c, 1, &err) == MORTISE_OK, "%s",
                  err.msg);
    return c->result;
}

static void commit(struct mortise_store *s, const char *tenant, const char *run,
                   uint64_t seq)
{
    struct made_commit m;

    make_commit(&m, tenant, run, seq, 40);
    ck_assert_int_eq(write_one(s, &m.c), MORTISE_OK);
}

static void commit_up_to(struct mortise_store *s, const char *tenant,
                         const char *run, uint64_t last)
{
    for (uint64_t seq = 1; seq <= last; seq++)
        commit(s, tenant, run, seq);
}

/* The independent reader finds nothing wrong. */
static void reads_well(struct reader_store *r)
{
    int rv = store_reader_read(r, path);

    ck_assert_msg(rv == 0, "%s", r->why);
}

/* ---- formats ----------------------------------------------------------- */

static void is_hex(const struct mortise_buf *b, const char *hex)
{
    char got[1024];

    ck_assert(!b->failed);
    ck_assert_uint_lt(2 * b->n, sizeof got);
    mortise_hex_encode(got, b->p, b->n);
    ck_assert_str_eq(got, hex);
}

/* One of each key, byte by byte: a change here is a new format. */
START_TEST(keys_are_what_they_were)
{
    uint8_t digest[MORTISE_DIGEST] = {0xAB};
    struct mortise_buf k;

    mortise_buf_init(&k, &test_mem);
    mortise_key_commit(&k, 0x0102);
    is_hex(&k, "630000000000000102");
    mortise_key_deadline(&k, 5, "t", "run", "id");
    is_hex(&k, "640000000000000005"
               "000174"
               "000372756e"
               "6964");
    mortise_key_graph(&k, digest);
    is_hex(&k, "67ab0000000000000000000000000000000000000000000000000000000000"
               "0000");
    mortise_key_head(&k, "t", "run");
    is_hex(&k, "68"
               "000174"
               "72756e");
    mortise_key_checkpoint(&k, "t", "run", 7);
    is_hex(&k, "6b"
               "000174"
               "000372756e"
               "0000000000000007");
    mortise_key_mark(&k, "m");
    is_hex(&k, "6d6d");
    mortise_key_kv(&k, "t", "plug", "a\0b", 3);
    is_hex(&k, "6e"
               "000174"
               "0004706c7567"
               "610062");
    mortise_key_pending(&k, "t", "run", "id");
    is_hex(&k, "70"
               "000174"
               "000372756e"
               "6964");
    mortise_key_prefix_of_tag(&k, MORTISE_KEY_STAMP);
    is_hex(&k, "76");
    mortise_key_prefix_of_tag(&k, MORTISE_KEY_IDENTITY);
    is_hex(&k, "69");
    mortise_buf_finish(&k);
}
END_TEST

static const struct mortise_head a_head = {
    .seq = 1,
    .checkpoint = {{0xC0, 0xC1}},
    .epoch = 2,
    .created_ms = 3,
    .updated_ms = 4,
    .branch = 5,
    .status = 6,
    .n_pending = 7,
    .graph = {0xAB},
    .reason = "why",
    .graph_name = "g",
};

static const uint32_t a_stamp = MORTISE_STORE_FORMAT;
static const struct mortise_source a_source = {"p", "src", 3};
static const struct mortise_checkpoint a_checkpoint = {
    .id = {{0xC0}},
    .parent = {{0xC1}},
    .time_ms = 1,
    .first_event = 2,
    .n_events = 3,
    .branch = 4,
    .step = 5,
    .phase = MORTISE_PHASE_COMMAND,
    .graph = {0xAB},
    .entries = "xyz",
    .size = 3,
};

/* One of each value, byte by byte. */
START_TEST(values_are_what_they_were)
{
    const struct mortise_pending pending = {
        .id = "id", .deadline_ms = 9, .payload = "{}", .payload_size = 2};
    const struct mortise_batch batch = {0x0102, 0x0403};
    const struct mortise_spawn_budget purse = {
        {UINT64_MAX, UINT64_MAX, 1, 2, 3, 4, 5}, {0, 0, 6, 7, 8, 9, 10}};
    struct mortise_head dev_head = a_head;
    struct mortise_buf b;

    mortise_buf_init(&b, &test_mem);
    mortise_record_encode(&b, &mortise_record_stamp, &a_stamp);
    is_hex(&b, "01"
               "01000000");
    mortise_buf_clear(&b);
    mortise_record_encode(&b, &mortise_record_batch, &batch);
    is_hex(&b, "01"
               "0201000000000000"
               "0304000000000000");
    mortise_buf_clear(&b);
    mortise_record_encode(&b, &mortise_record_mark, &(uint64_t){3});
    is_hex(&b, "01"
               "0300000000000000");
    mortise_buf_clear(&b);
    mortise_record_encode(&b, &mortise_record_purse, &purse);
    is_hex(&b, "01"
               "ffffffffffffffff"
               "ffffffffffffffff"
               "0100000000000000"
               "0200000000000000"
               "0300000000000000"
               "0400000000000000"
               "0500000000000000"
               "0000000000000000"
               "0000000000000000"
               "0600000000000000"
               "0700000000000000"
               "0800000000000000"
               "0900000000000000"
               "0a00000000000000");
    mortise_buf_clear(&b);
    mortise_record_encode(&b, &mortise_record_identity, "abcdefghijklmnop");
    is_hex(&b, "01"
               "6162636465666768696a6b6c6d6e6f70");
    mortise_buf_clear(&b);
    mortise_record_encode(&b, &mortise_record_head, &a_head);
    is_hex(&b, "01"
               "0100000000000000"
               "c0c10000000000000000000000000000"
               "0200000000000000"
               "0300000000000000"
               "0400000000000000"
               "05000000"
               "06000000"
               "07000000"
               "ab000000000000000000000000000000"
               "00000000000000000000000000000000"
               "04000000"
               "77687900"
               "02000000"
               "6700");
    dev_head.dev = true;
    mortise_buf_clear(&b);
    mortise_record_encode(&b, &mortise_record_head, &dev_head);
    ck_assert_mem_eq(b.p + 53, "\x06\0\x01", 4); /* u16 status, u16 flags */
    mortise_buf_clear(&b);
    mortise_record_encode(&b, &mortise_record_checkpoint, &a_checkpoint);
    is_hex(&b, "01"
               "c0000000000000000000000000000000"
               "c1000000000000000000000000000000"
               "0100000000000000"
               "0200000000000000"
               "03000000"
               "04000000"
               "05000000"
               "06"
               "ab000000000000000000000000000000"
               "00000000000000000000000000000000"
               "03000000"
               "78797a");
    mortise_buf_clear(&b);
    mortise_record_encode(&b, &mortise_record_pending, &pending);
    is_hex(&b, "01"
               "0900000000000000"
               "02000000"
               "7b7d");
    mortise_buf_clear(&b);
    mortise_record_encode(&b, &mortise_record_deadline, &(bool){true});
    is_hex(&b, "01"
               "01");
    mortise_buf_clear(&b);
    mortise_record_encode(&b, &mortise_record_kv,
                          &(struct mortise_value){"{}", 2});
    is_hex(&b, "01"
               "02000000"
               "7b7d");
    mortise_buf_clear(&b);
    mortise_record_encode_graph(&b, &a_source, 1);
    is_hex(&b, "01"
               "01000000"
               "02000000"
               "7000"
               "03000000"
               "737263");
    mortise_buf_finish(&b);
}
END_TEST

static int read_graph(const void *p, size_t n)
{
    struct mortise_source *files;
    struct mortise_arena a;
    size_t n_files;
    int rv;

    mortise_arena_init(&a, &test_mem);
    rv = mortise_record_decode_graph(&a, &files, &n_files, p, n);
    mortise_arena_finish(&a);
    return rv;
}

/* Read one value of the kind that `i` says; what it holds is not looked at. */
static int read_any(int i, const void *p, size_t n)
{
    uint32_t stamp;
    struct mortise_batch batch;
    struct mortise_head head;
    struct mortise_checkpoint cp;
    struct mortise_pending pending;
    bool timer;
    struct mortise_value value;
    uint8_t id[MORTISE_STORE_ID];
    uint64_t number;

    switch (i) {
    case 0:
        return mortise_record_decode(&mortise_record_stamp, &stamp, p, n);
    case 1:
        return mortise_record_decode(&mortise_record_batch, &batch, p, n);
    case 2:
        return mortise_record_decode(&mortise_record_mark, &number, p, n);
    case 3:
        return mortise_record_decode(&mortise_record_head, &head, p, n);
    case 4:
        return mortise_record_decode(&mortise_record_checkpoint, &cp, p, n);
    case 5:
        return mortise_record_decode(&mortise_record_pending, &pending, p, n);
    case 6:
        return mortise_record_decode(&mortise_record_kv, &value, p, n);
    case 7:
        return mortise_record_decode(&mortise_record_deadline, &timer, p, n);
    case 8:
        return mortise_record_decode(&mortise_record_identity, id, p, n);
    default:
        return read_graph(p, n);
    }
}

static void write_any(int i, struct mortise_buf *b)
{
    const struct mortise_pending pending = {
        .id = "id", .deadline_ms = 9, .payload = "{}", .payload_size = 2};
    const struct mortise_batch batch = {1, 2};

    mortise_buf_clear(b);
    switch (i) {
    case 0:
        mortise_record_encode(b, &mortise_record_stamp, &a_stamp);
        break;
    case 1:
        mortise_record_encode(b, &mortise_record_batch, &batch);
        break;
    case 2:
        mortise_record_encode(b, &mortise_record_mark, &(uint64_t){1});
        break;
    case 3:
        mortise_record_encode(b, &mortise_record_head, &a_head);
        break;
    case 4:
        mortise_record_encode(b, &mortise_record_checkpoint, &a_checkpoint);
        break;
    case 5:
        mortise_record_encode(b, &mortise_record_pending, &pending);
        break;
    case 6:
        mortise_record_encode(b, &mortise_record_kv,
                              &(struct mortise_value){"1", 1});
        break;
    case 7:
        mortise_record_encode(b, &mortise_record_deadline, &(bool){false});
        break;
    case 8:
        mortise_record_encode(b, &mortise_record_identity, "abcdefghijklmnop");
        break;
    default:
        mortise_record_encode_graph(b, &a_source, 1);
    }
}

/* A value that was cut anywhere, or has more behind it, is corrupt; one of a
 * later version is newer; neither is read past its end. */
START_TEST(values_cut_or_newer_are_refused)
{
    struct mortise_buf b;

    mortise_buf_init(&b, &test_mem);
    write_any(_i, &b);
    ck_assert_int_eq(read_any(_i, b.p, b.n), MORTISE_OK);
    for (size_t cut = 0; cut < b.n; cut++) {
        char *exact = malloc(cut != 0 ? cut : 1); /* so that ASan sees it */

        memcpy(exact, b.p, cut);
        ck_assert_int_eq(read_any(_i, exact, cut), MORTISE_ECORRUPT);
        free(exact);
    }
    mortise_buf_put_u8(&b, 0);
    ck_assert_int_eq(read_any(_i, b.p, b.n), MORTISE_ECORRUPT);
    b.p[0] = 2;
    ck_assert_int_eq(read_any(_i, b.p, b.n), MORTISE_EFORMAT);
    mortise_buf_finish(&b);
}
END_TEST

/* A value reads back as it was written, texts as C strings. */
START_TEST(values_round_trip)
{
    struct mortise_head h, dev_head = a_head;
    struct mortise_buf b;
    struct mortise_checkpoint cp;

    mortise_buf_init(&b, &test_mem);
    mortise_record_encode(&b, &mortise_record_head, &a_head);
    ck_assert_int_eq(mortise_record_decode(&mortise_record_head, &h, b.p, b.n),
                     MORTISE_OK);
    ck_assert_uint_eq(h.seq, 1);
    ck_assert_uint_eq(h.epoch, 2);
    ck_assert_uint_eq(h.created_ms, 3);
    ck_assert_uint_eq(h.updated_ms, 4);
    ck_assert_uint_eq(h.branch, 5);
    ck_assert_uint_eq(h.status, 6);
    ck_assert(!h.dev);
    ck_assert_uint_eq(h.n_pending, 7);
    ck_assert_mem_eq(&h.checkpoint, &a_head.checkpoint, 16);
    ck_assert_mem_eq(h.graph, a_head.graph, 32);
    ck_assert_str_eq(h.reason, "why");
    ck_assert_str_eq(h.graph_name, "g");
    dev_head.dev = true;
    mortise_buf_clear(&b);
    mortise_record_encode(&b, &mortise_record_head, &dev_head);
    ck_assert_int_eq(mortise_record_decode(&mortise_record_head, &h, b.p, b.n),
                     MORTISE_OK);
    ck_assert(h.dev);
    ck_assert_uint_eq(h.status, 6);
    mortise_buf_clear(&b);
    mortise_record_encode(&b, &mortise_record_checkpoint, &a_checkpoint);
    ck_assert_int_eq(
        mortise_record_decode(&mortise_record_checkpoint, &cp, b.p, b.n),
        MORTISE_OK);
    ck_assert_mem_eq(&cp.id, &a_checkpoint.id, 16);
    ck_assert_mem_eq(&cp.parent, &a_checkpoint.parent, 16);
    ck_assert_uint_eq(cp.time_ms, 1);
    ck_assert_uint_eq(cp.first_event, 2);
    ck_assert_uint_eq(cp.n_events, 3);
    ck_assert_uint_eq(cp.branch, 4);
    ck_assert_uint_eq(cp.step, 5);
    ck_assert_int_eq(cp.phase, MORTISE_PHASE_COMMAND);
    ck_assert_mem_eq(cp.entries, "xyz", 3);
    ck_assert_uint_eq(cp.size, 3);
    mortise_buf_finish(&b);
}
END_TEST

/* Names that try to look like other names, lengths and separators. */
static const char *const nasty[] = {"",
                                    "a",
                                    "aa",
                                    "ab",
                                    "a/b",
                                    "a/",
                                    "/",
                                    "b",
                                    "../a",
                                    "\x01",
                                    "\x01"
                                    "a",
                                    "a\x01",
                                    "\x02",
                                    "\xff",
                                    "\xff\xff",
                                    "a b",
                                    "é",
                                    "default",
                                    "defaul",
                                    "defaultx",
                                    "%00",
                                    "a\n",
                                    "q",
                                    "0",
                                    "00",
                                    "\x02"
                                    "ab"};
enum { N_NASTY = sizeof nasty / sizeof nasty[0] };

struct made_key {
    char bytes[64];
    size_t n;
};

static int compare_keys(const void *a, const void *b)
{
    const struct made_key *x = a, *y = b;

    if (x->n != y->n)
        return x->n < y->n ? -1 : 1;
    return memcmp(x->bytes, y->bytes, x->n);
}

/* No two different (tenant, run, id) give the same key (R2). */
START_TEST(no_two_names_share_a_key)
{
    enum { N = N_NASTY * N_NASTY * N_NASTY };
    struct made_key *keys = calloc(N, sizeof *keys), *at = keys;
    struct mortise_buf k;

    mortise_buf_init(&k, &test_mem);
    for (int i = 0; i < N; i++, at++) {
        mortise_key_pending(&k, nasty[i % N_NASTY],
                            nasty[i / N_NASTY % N_NASTY],
                            nasty[i / N_NASTY / N_NASTY]);
        ck_assert_uint_le(k.n, sizeof at->bytes);
        memcpy(at->bytes, k.p, k.n);
        at->n = k.n;
    }
    qsort(keys, N, sizeof *keys, compare_keys);
    for (int i = 1; i < N; i++)
        ck_assert_int_ne(compare_keys(&keys[i - 1], &keys[i]), 0);
    free(keys);
    mortise_buf_finish(&k);
}
END_TEST

/* ---- opening ----------------------------------------------------------- */

static mode_t mode_of(const char *name)
{
    char full[8192];
    struct stat st;

    snprintf(full, sizeof full, "%s/%s", path, name);
    ck_assert_int_eq(stat(full, &st), 0);
    return st.st_mode & 0777;
}

/* A new store is for its owner alone, and stamped. */
START_TEST(a_new_store_is_private_and_stamped)
{
    char full[8192], *text;
    mode_t old = umask(0);

    mortise_store_close(open_store());
    umask(old);
    ck_assert_int_eq(mode_of("."), 0700);
    ck_assert_int_eq(mode_of("db"), 0700);
    snprintf(full, sizeof full, "%s/format", path);
    text = test_read(full, NULL);
    ck_assert_str_eq(text, "mortise-store 1\n");
    free(text);
}
END_TEST

/* The epoch grows with each opening that writes, and an opening that only
 * reads leaves no record behind. */
START_TEST(the_epoch_grows_with_openings_that_write)
{
    struct reader_store r;
    struct mortise_store *s = open_store();

    ck_assert_uint_eq(s->epoch, 1);
    commit(s, "default", "a", 1);
    commit(s, "default", "a", 2);
    ck_assert_uint_eq(s->epoch, 1);
    mortise_store_close(s);
    for (int i = 0; i < 3; i++) {
        s = open_store();
        ck_assert_uint_eq(s->epoch, 2);
        mortise_store_close(s);
    }
    s = open_store();
    commit(s, "default", "a", 3);
    ck_assert_int_eq(mortise_store_reopen(s, NULL), MORTISE_OK);
    ck_assert_uint_eq(s->epoch, 3);
    mortise_store_close(s);
    reads_well(&r);
    ck_assert_uint_eq(r.last_commit, 3);
    ck_assert_uint_eq(r.epoch, 2);
    store_reader_free(&r);
}
END_TEST

/* Opening and committing cope with every allocation failing. */
START_TEST(open_survives_oom)
{
    struct mortise_store *s;
    int n = 0, rv;

    do {
        test_mem_fail_at(n++);
        rv = mortise_store_open(&s, path, &test_mem, NULL);
        ck_assert_int_eq(rv, test_mem_failed() ? MORTISE_ENOMEM : MORTISE_OK);
        ck_assert_int_eq(s == NULL, test_mem_failed());
    } while (test_mem_failed());
    ck_assert_int_gt(n, 3);
    mortise_store_close(s);
}
END_TEST

/* No directory to make it in, or a file in its place: a clear error. */
START_TEST(a_store_needs_a_place)
{
    snprintf(path, sizeof path, "%s/no/where", dir);
    open_refused(MORTISE_ENOTFOUND, "make the directory");
    snprintf(path, sizeof path, "%s/file", dir);
    test_write(path, "x", 1);
    open_refused(MORTISE_ENOTFOUND, "open the directory");
}
END_TEST

/* ---- who holds it ------------------------------------------------------ */

/* Ask in another process.  It dies by a signal, so that no leak checker looks
 * at its copy of what is ours. */
static bool asked_elsewhere(bool (*question)(void))
{
    int answer[2], status;
    char c = 0;
    pid_t child;

    ck_assert_int_eq(pipe(answer), 0);
    child = fork();
    if (child == 0) {
        c = question();
        if (write(answer[1], &c, 1) == 1)
            raise(SIGKILL);
        _exit(9);
    }
    ck_assert_int_eq(read(answer[0], &c, 1), 1);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    close(answer[0]);
    close(answer[1]);
    return c != 0;
}

/* Is opening refused with the pid of our parent? */
static bool is_told_the_pid(void)
{
    struct mortise_store *mine;
    struct mortise_err err;
    char words[64];

    snprintf(words, sizeof words, "held by process %ld", (long)getppid());
    return mortise_store_open(&mine, path, &mortise_heap, &err) ==
               MORTISE_EBUSY &&
           strstr(err.msg, words) != NULL;
}

/* All names, times and bytes below a directory, in one number.  (Reading LOCK
 * would drop the lock of its holder, if that is us.) */
static void sum_up(struct mortise_hasher *h, const char *at)
{
    struct dirent **list;
    int n = scandir(at, &list, NULL, alphasort);

    ck_assert_int_ge(n, 0);
    for (int i = 0; i < n; i++) {
        char full[8192];
        struct stat st;

        snprintf(full, sizeof full, "%s/%s", at, list[i]->d_name);
        ck_assert_int_eq(lstat(full, &st), 0);
        if (list[i]->d_name[0] != '.') {
            mortise_hasher_add_str(h, list[i]->d_name);
            mortise_hasher_add_u64(h, st.st_ino);
            mortise_hasher_add_u64(h, (uint64_t)st.st_mtim.tv_sec);
            mortise_hasher_add_u64(h, (uint64_t)st.st_mtim.tv_nsec);
            if (S_ISDIR(st.st_mode)) {
                sum_up(h, full);
            } else if (strcmp(list[i]->d_name, "LOCK") != 0) {
                size_t size;
                char *p = test_read(full, &size);

                mortise_hasher_add_field(h, p, size);
                free(p);
            }
        }
        free(list[i]);
    }
    free(list);
}

static void sum_of_store(uint8_t out[MORTISE_DIGEST])
{
    struct mortise_hasher h;

    mortise_hasher_init(&h);
    sum_up(&h, path);
    mortise_hasher_final(&h, out);
}

/* Another process is told which process holds the store, and touches
 * nothing. */
START_TEST(another_process_is_told_the_pid)
{
    uint8_t before[MORTISE_DIGEST], after[MORTISE_DIGEST];
    struct mortise_store *s = open_store();

    sum_of_store(before);
    ck_assert(asked_elsewhere(is_told_the_pid));
    sum_of_store(after);
    ck_assert_mem_eq(before, after, MORTISE_DIGEST);
    mortise_store_close(s);
}
END_TEST

/* Is the store locked, as this process, not its holder, sees it? */
static bool is_locked(void)
{
    struct flock lk = {.l_type = F_WRLCK};
    char lock[8192];
    int fd;

    snprintf(lock, sizeof lock, "%s/db/LOCK", path);
    fd = open(lock, O_RDWR);
    return fcntl(fd, F_GETLK, &lk) == 0 && lk.l_type != F_UNLCK;
}

/* A second open in one process is refused under any path, and does not lose
 * the lock of the first. */
START_TEST(the_same_process_is_refused_too)
{
    struct mortise_store *s = open_store(), *again;
    char link_path[8192], dots[9000], words[64];
    const char *const names[] = {path, link_path, dots};
    struct mortise_err err;

    snprintf(link_path, sizeof link_path, "%s/link", dir);
    ck_assert_int_eq(symlink(path, link_path), 0);
    snprintf(dots, sizeof dots, "%s/db/..", path);
    snprintf(words, sizeof words, "pid %ld", (long)getpid());
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(mortise_store_open(&again, names[i], &test_mem, &err),
                         MORTISE_EBUSY);
        ck_assert_ptr_nonnull(strstr(err.msg, words));
        ck_assert(asked_elsewhere(is_locked));
    }
    commit(s, "default", "a", 1);
    mortise_store_close(s);
    ck_assert(!asked_elsewhere(is_locked));
    mortise_store_close(open_store());
}
END_TEST

/* Where the engine would create a file, and whether a link there is refused or
 * replaced. */
static const struct {
    const char *name;
    bool refused, of_directory;
} links[] = {
    {"format.new", false, false},
    {"mark.new", false, false},
    {"reserve", false, false},
    {"db", true, true},
    {"db/LOCK", true, false},
    {"db/MANIFEST-000001", true, false},
    {"db/000001.dbtmp", true, false},
    {"db/000005.ldb", true, false},
    {"quarantine", true, true},
    {"quarantine/plugin", true, false},
    {"memory", true, true},
    {"memory/local", true, true},
    {"memory/local/traces.db", true, false},
    {"memory/local/traces.db-wal", true, false},
};

/* A store that somebody else made writes to no file outside of it, whether the
 * target is there or not. */
START_TEST(
    no_link_leads_out_of_a_store) /* loop: name, and is the target there? */
{
    const char *name = links[_i / 2].name;
    bool there = _i % 2 == 0;
    char target[8192], at[8192], *text;
    size_t n;
    struct mortise_store *s = NULL;
    struct mortise_err err;
    int rv;

    snprintf(target, sizeof target, "%s/target", dir);
    if (there && links[_i / 2].of_directory)
        ck_assert_int_eq(mkdir(target, 0700), 0);
    else if (there)
        test_write(target, "mine", 4);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    snprintf(at, sizeof at, "%s/%s", path, name);
    for (char *slash = at + strlen(path); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        ck_assert(mkdir(at, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
    ck_assert_int_eq(symlink(target, at), 0);
    rv = mortise_store_open(&s, path, &test_mem, &err);
    ck_assert_int_eq(rv, links[_i / 2].refused ? MORTISE_EDENIED : MORTISE_OK);
    if (rv == MORTISE_OK)
        mortise_store_close(s);
    else
        ck_assert_msg(strstr(err.msg, at) != NULL, "%s", err.msg);
    if (!there) {
        ck_assert_int_ne(access(target, F_OK), 0);
    } else if (links[_i / 2].of_directory) {
        ck_assert_int_eq(rmdir(target), 0); /* it is empty */
    } else {
        text = test_read(target, &n);
        ck_assert_str_eq(text, "mine");
        free(text);
    }
}
END_TEST

/* The lock is the directory's: somebody who removes all that looks like a lock
 * lets nobody in. */
START_TEST(a_removed_lock_file_still_locks)
{
    struct mortise_store *s = open_store();
    char full[8192];

    snprintf(full, sizeof full, "%s/db/LOCK", path);
    ck_assert_int_eq(unlink(full), 0);
    ck_assert(asked_elsewhere(is_told_the_pid));
    commit(s, "default", "a", 1);
    mortise_store_close(s);
    mortise_store_close(open_store());
}
END_TEST

static struct mortise_store *inherited;

/* Does everything fail here that would read or write? */
static bool is_a_copy(void)
{
    struct made_commit m;
    struct mortise_commit *c = &m.c;
    struct mortise_err err;
    uint64_t value;

    make_commit(&m, "default", "a", 2, 40);
    if (mortise_store_is_ours(inherited) ||
        mortise_store_write(inherited, &c, 1, &err) != MORTISE_ESTATE ||
        strstr(err.msg, "is a fork of") == NULL ||
        mortise_store_reopen(inherited, NULL) != MORTISE_ESTATE ||
        mortise_store_get_mark(inherited, "m", &value, NULL) != MORTISE_ESTATE)
        return false;
    mortise_store_close(inherited);
    return true;
}

/* A child of fork() can do nothing to the store, by no call and not by closing
 * it; and goes without disturbing. */
START_TEST(a_forked_child_has_no_store)
{
    uint8_t before[MORTISE_DIGEST], after[MORTISE_DIGEST];
    struct reader_store r;

    inherited = open_store();
    commit(inherited, "default", "a", 1);
    sum_of_store(before);
    ck_assert(asked_elsewhere(is_a_copy));
    sum_of_store(after);
    ck_assert_mem_eq(before, after, MORTISE_DIGEST);
    commit(inherited, "default", "a", 2);
    mortise_store_close(inherited);
    reads_well(&r);
    ck_assert_uint_eq(r.last_commit, 2);
    store_reader_free(&r);
}
END_TEST

/* A process that opens the store, leaves a child behind, by `beget`, and is
 * killed; the child, which lives until the pipe is closed, and is ours now. */
static pid_t leave_a_child(pid_t (*beget)(void), int life[2])
{
    int told[2], status;
    pid_t parent, child = 0;

    ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    ck_assert_int_eq(pipe(life), 0);
    ck_assert_int_eq(pipe(told), 0);
    parent = fork();
    if (parent == 0) {
        open_store();
        child = beget();
        if (child == 0) {
            char c;

            child = getpid();
            close(life[1]);
            if (write(told[1], &child, sizeof child) != sizeof child)
                _exit(9);
            _exit(read(life[0], &c, 1) == 0 ? 0 : 9);
        }
        for (;;)
            pause();
    }
    ck_assert_int_eq(read(told[0], &child, sizeof child), sizeof child);
    ck_assert_int_eq(kill(parent, SIGKILL), 0);
    ck_assert_int_eq(waitpid(parent, &status, 0), parent);
    close(told[0]);
    close(told[1]);
    return child;
}

/* Whom fork() made does not keep the store when its parent has died; whom a
 * bare clone made does, and is named. */
START_TEST(a_child_left_behind)
{
    char words[64];
    int life[2];
    pid_t child = leave_a_child(_i == 0 ? fork : _Fork, life);

    if (_i == 0) {
        mortise_store_close(open_store());
    } else {
        snprintf(
            words, sizeof words,
            "held by process %ld, which a former owner of the store started",
            (long)child);
        open_refused(MORTISE_EBUSY, words);
    }
    close(life[0]);
    close(life[1]);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    mortise_store_close(open_store());
}
END_TEST

/* How many copies that are looked at are there? */
static unsigned n_views(void)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    unsigned n = 0;

    while ((e = readdir(d)) != NULL)
        n += strncmp(e->d_name, "mortise-view-", 13) == 0;
    closedir(d);
    return n;
}

static void look_at_it(void)
{
    struct mortise_store *s;

    ck_assert_int_eq(mortise_store_open_view(&s, path, &test_mem, NULL),
                     MORTISE_OK);
    mortise_store_close(s);
}

/* A copy that nobody looks at any more is cleared away by the next look, at
 * whichever store; one that somebody looks at is not, nor is another thing. */
START_TEST(a_copy_left_behind)
{
    char was[4096], mine[4200];
    const char *tmp = getenv("TMPDIR");
    int life[2];
    char c = 0;
    pid_t pid;

    snprintf(was, sizeof was, "%s", tmp != NULL ? tmp : "");
    mortise_store_close(open_store());
    setenv("TMPDIR", dir, 1);
    ck_assert_int_eq(pipe(life), 0);
    pid = fork();
    if (pid == 0) {
        struct mortise_store *s;

        if (mortise_store_open_view(&s, path, &test_mem, NULL) != MORTISE_OK ||
            write(life[1], "!", 1) != 1)
            _exit(9);
        for (;;)
            pause();
    }
    ck_assert_int_eq(read(life[0], &c, 1), 1);
    snprintf(mine, sizeof mine, "%s/mortise-view-of-mine", dir);
    ck_assert_int_eq(mkdir(mine, 0700), 0);
    snprintf(path, sizeof path, "%s/other", dir);
    mortise_store_close(open_store());
    look_at_it();
    ck_assert_uint_eq(n_views(), 2); /* its, and what is none */
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    ck_assert_uint_eq(n_views(), 2);
    look_at_it();
    ck_assert_uint_eq(n_views(), 1);
    ck_assert_int_eq(rmdir(mine), 0);
    close(life[0]);
    close(life[1]);
    if (tmp != NULL)
        setenv("TMPDIR", was, 1);
    else
        unsetenv("TMPDIR");
}
END_TEST

/* A store that is renamed while it is open stays one store: it is held under
 * its new name, what is written goes there, and what takes its old name is
 * another. */
START_TEST(a_renamed_store_is_one_store)
{
    struct mortise_store *s = open_store(), *other;
    char was[sizeof path];
    struct reader_store r;

    commit(s, "default", "a", 1);
    memcpy(was, path, sizeof was);
    snprintf(path, sizeof path, "%s/moved", dir);
    ck_assert_int_eq(rename(was, path), 0);
    ck_assert(asked_elsewhere(is_told_the_pid));
    ck_assert_int_eq(mortise_store_open(&other, was, &test_mem, NULL),
                     MORTISE_OK);
    commit(other, "default", "b", 1);
    commit(s, "default", "a", 2);
    ck_assert_int_eq(mortise_store_reopen(s, NULL), MORTISE_OK);
    commit(s, "default", "a", 3);
    mortise_store_close(other);
    mortise_store_close(s);
    reads_well(&r);
    ck_assert_uint_eq(r.n_runs, 1);
    ck_assert_uint_eq(r.runs[0].seq, 3);
    store_reader_free(&r);
}
END_TEST

/* Two different stores in one process do not disturb each other. */
START_TEST(two_stores_in_one_process)
{
    struct mortise_store *a = open_store(), *b;

    snprintf(path, sizeof path, "%s/other", dir);
    b = open_store();
    commit(a, "default", "x", 1);
    commit(b, "default", "x", 1);
    mortise_store_close(a);
    commit(b, "default", "x", 2);
    mortise_store_close(b);
}
END_TEST

/* ---- what it refuses --------------------------------------------------- */

static void stamp_store(const char *text)
{
    char full[8192];

    snprintf(full, sizeof full, "%s/format", path);
    test_write(full, text, strlen(text));
}

/* A store of another format is refused, in words, and nothing in it is touched: a
 * later one, and those of development versions. */
START_TEST(a_store_of_another_format_is_left_untouched)
{
    static const struct {
        const char *stamp, *words;
    } others[] = {
        {"mortise-store 2\n", "it has format 2, but mortise " MORTISE_VERSION
                              " reads only format 1: use the version that "
                              "created it, or a later one"},
        {"mortise-store 4\nand more\n", "it has format 4"},
        {"mortise-store 1\noldest-reader 1\n",
         "a development version before 0.2.0 created it"},
        {"mortise-store 2\noldest-reader 1\n",
         "a development version before 0.2.0 created it, and no release can "
         "read it: finish its runs with that version, or move it away and "
         "create a new store"},
    };
    uint8_t before[MORTISE_DIGEST], after[MORTISE_DIGEST];
    struct mortise_store *s = open_store();

    commit_up_to(s, "default", "a", 3);
    mortise_store_close(s);
    stamp_store(others[_i].stamp);
    sum_of_store(before);
    open_refused(MORTISE_EFORMAT, others[_i].words);
    sum_of_store(after);
    ck_assert_mem_eq(before, after, MORTISE_DIGEST);
}
END_TEST

/* What is no stamp is no store. */
START_TEST(a_strange_stamp_is_corrupt)
{
    mortise_store_close(open_store());
    stamp_store("hello\n");
    open_refused(MORTISE_ECORRUPT, "not the format file of a store");
    stamp_store("mortise-store 1");
    open_refused(MORTISE_ECORRUPT, "not the format file of a store");
    stamp_store("mortise-store 1\nmore\n");
    open_refused(MORTISE_ECORRUPT, "not the format file of a store");
    stamp_store("");
    open_refused(MORTISE_ECORRUPT, "is empty");
}
END_TEST

/* Change the database behind the store's back: delete `key`, or put it. */
static void meddle(const struct mortise_buf *key, const char *value, size_t n)
{
    leveldb_options_t *o = leveldb_options_create();
    leveldb_writeoptions_t *w = leveldb_writeoptions_create();
    char db_path[8192];
    char *said = NULL;
    leveldb_t *db;

    snprintf(db_path, sizeof db_path, "%s/db", path);
    leveldb_options_set_create_if_missing(o, 1);
    db = leveldb_open(o, db_path, &said);
    ck_assert_ptr_null(said);
    if (value == NULL)
        leveldb_delete(db, w, key->p, key->n, &said);
    else
        leveldb_put(db, w, key->p, key->n, value, n, &said);
    ck_assert_ptr_null(said);
    leveldb_close(db);
    leveldb_writeoptions_destroy(w);
    leveldb_options_destroy(o);
}

/* The stamp in the database decides, too, whatever its file says. */
START_TEST(the_stamp_in_the_database_counts_too)
{
    struct mortise_store *s = open_store();
    struct mortise_buf k;

    commit(s, "default", "a", 1);
    mortise_store_close(s);
    mortise_buf_init(&k, &test_mem);
    mortise_key_prefix_of_tag(&k, MORTISE_KEY_STAMP);
    meddle(&k, "\x01\x04\0\0\0", 5);
    open_refused(MORTISE_EFORMAT, "format 4");
    meddle(&k, "\x02\x04\0\0\0", 5);
    open_refused(MORTISE_EFORMAT,
                 "another version of mortise wrote the format stamp");
    meddle(&k, NULL, 0);
    open_refused(MORTISE_ECORRUPT, "not the database of a store");
    mortise_buf_finish(&k);
}
END_TEST

static void is_identity(const struct mortise_store *s, const uint8_t *id)
{
    ck_assert_mem_eq(s->identity, id, MORTISE_STORE_ID);
}

/* It stays through closing and reopening; another store has another one, and
 * so has one that was made anew in the same place. */
START_TEST(a_store_has_an_identity_of_its_own)
{
    uint8_t id[MORTISE_STORE_ID];
    struct mortise_store *s = open_store();
    struct reader_store r;

    memcpy(id, s->identity, sizeof id);
    commit(s, "default", "a", 1);
    is_identity(s, id);
    ck_assert_int_eq(mortise_store_reopen(s, NULL), MORTISE_OK);
    is_identity(s, id);
    mortise_store_close(s);
    reads_well(&r);
    ck_assert_int_eq(r.identified, 1);
    ck_assert_mem_eq(r.identity, id, sizeof id);
    store_reader_free(&r);
    s = open_store();
    is_identity(s, id);
    mortise_store_close(s);

    test_rmdir(path);
    s = open_store();
    ck_assert_mem_ne(s->identity, id, sizeof id);
    mortise_store_close(s);
}
END_TEST

/* The identity is in the first batch, so it is never missing. */
START_TEST(a_store_without_its_identity_is_corrupt)
{
    struct mortise_store *s = open_store();
    struct mortise_buf k;

    commit(s, "default", "a", 1);
    mortise_store_close(s);
    mortise_buf_init(&k, &test_mem);
    mortise_key_prefix_of_tag(&k, MORTISE_KEY_IDENTITY);
    meddle(&k, NULL, 0);
    open_refused(MORTISE_ECORRUPT, "the record of its identity is missing");
    meddle(&k, "\x01too short", 10);
    open_refused(MORTISE_ECORRUPT, "the store's identity cannot be decoded");
    mortise_buf_finish(&k);
}
END_TEST

/* A stamped store whose database is gone is a loss, not a new store. */
START_TEST(a_lost_database_is_not_replaced)
{
    struct mortise_store *s = open_store();
    char full[8192];

    commit(s, "default", "a", 1);
    mortise_store_close(s);
    snprintf(full, sizeof full, "%s/db/CURRENT", path);
    ck_assert_int_eq(unlink(full), 0);
    open_refused(MORTISE_ECORRUPT, "missing");
    snprintf(full, sizeof full, "%s/db", path);
    test_rmdir(full);
    open_refused(MORTISE_ECORRUPT, "missing");
}
END_TEST

/* ---- the mark ------------------------------------------------------------
 */

static char *in_store(const char *name)
{
    static char full[2][8192];
    static int i;

    i = !i;
    snprintf(full[i], sizeof full[i], "%s/%s", path, name);
    return full[i];
}

static void mark_is(uint64_t number)
{
    struct reader_store r;

    reads_well(&r);
    ck_assert_int_eq(r.has_mark, 1);
    ck_assert_uint_eq(r.mark, number);
    store_reader_free(&r);
}

/* It names what was synced: the number of each batch that was, and of none that
 * waits for a later sync.  (Its end is torn, or a power cut took it: then it
 * names an earlier one.) */
START_TEST(the_mark_follows_each_sync)
{
    struct mortise_store *s = open_store();
    struct made_commit m;
    char *bytes;
    size_t size;

    commit_up_to(s, "default", "a", 2);
    make_commit(&m, "default", "a", 3, 40);
    m.c.lazy = true;
    ck_assert_int_eq(write_one(s, &m.c), MORTISE_OK);
    mortise_store_close(s);
    mark_is(2);
    s = open_store();
    commit(s, "default", "a", 4);
    commit(s, "default", "a", 5);
    mortise_store_close(s);
    mark_is(5);

    bytes = test_read(in_store("mark"), &size);
    ck_assert_uint_eq(size, 512);
    for (int slot = 0; slot < 2; slot++) {
        bytes[256 * slot + 20] ^= 1;
        test_write(in_store("mark"), bytes, size);
        if (slot == 0)
            mortise_store_close(open_store());
    }
    open_refused(MORTISE_ECORRUPT, "contains no valid record");
    free(bytes);
}
END_TEST

/* The only file of the database that is called so. */
static char *the_file(const char *tail)
{
    static char full[8192];
    struct dirent *e;
    DIR *d = opendir(in_store("db"));

    full[0] = '\0';
    while ((e = readdir(d)) != NULL)
        if (strstr(e->d_name, tail) != NULL) {
            ck_assert_str_eq(full, "");
            snprintf(full, sizeof full, "%s/db/%s", path, e->d_name);
        }
    closedir(d);
    ck_assert_str_ne(full, "");
    return full;
}

/* Spoil a log of 20 commits so that LevelDB takes some of it, or all, for
 * never written. */
static void lose_the_tail(int how)
{
    size_t size;
    char *log = the_file(".log"), *bytes = test_read(log, &size);

    if (how == 0) {
        bytes[4] ^= 1; /* the first record's length */
        bytes[5] ^= 0x40;
        test_write(log, bytes, size);
    } else if (how == 1) {
        ck_assert_int_eq(truncate(log, (off_t)size / 2), 0);
    } else {
        ck_assert_int_eq(unlink(log), 0);
    }
    free(bytes);
}

/* What was acknowledged and is not there is missed, however whole the rest is;
 * and however often somebody looks, nothing of it goes away. */
START_TEST(a_lost_tail_is_corrupt)
{
    static const char *const words[] = {
        ("20 commits are missing: number 20 was written and synced, but the "
         "last readable one is 0"),
        "missing: number 20", "20 commits are missing"};
    struct mortise_store *s = open_store();
    size_t size[2] = {0};
    char *bytes[2] = {NULL};

    commit_up_to(s, "default", "a", 20);
    mortise_store_close(s);
    lose_the_tail(_i);
    for (int k = 0; k < 2; k++) {
        if (_i < 2)
            bytes[k] = test_read(the_file(".log"), &size[k]);
        for (int n = 0; n < 3; n++)
            open_refused(MORTISE_ECORRUPT, words[_i]);
    }
    ck_assert_uint_eq(size[0], size[1]);
    if (_i < 2)
        ck_assert_mem_eq(bytes[0], bytes[1], size[0]);
    free(bytes[0]);
    free(bytes[1]);
}
END_TEST

/* Append to the log what a power cut leaves of a record of n bytes that was
 * never synced: the beginning of it, and from a block on zeros. */
static void tear(size_t n, size_t block)
{
    size_t size, from;
    char *log = the_file(".log"), *was = test_read(log, &size);
    struct mortise_buf bytes, record;

    mortise_buf_init(&bytes, &test_mem);
    mortise_buf_init(&record, &test_mem);
    mortise_buf_put(&bytes, was, size);
    for (size_t i = 0; i < n; i++)
        mortise_buf_put_u8(&record, (uint8_t)(1 + i % 255));
    mortise_logfile_write(&bytes, &record);
    from = size / block * block + block;
    ck_assert_uint_lt(from, bytes.n);
    memset(bytes.p + from, 0, bytes.n - from);
    test_write(log, bytes.p, bytes.n);
    mortise_buf_finish(&record);
    mortise_buf_finish(&bytes);
    free(was);
}

/* What was never synced, and of which the file system kept the size alone, is
 * no damage: all that was acknowledged is there, for who opens the store and for
 * doctor, and the store goes on. */
START_TEST(a_torn_end_is_none)
{
    static const size_t sizes[] = {6000, 9000, 40000, 90000};
    static const size_t blocks[] = {512, 1024, 4096, 4096};
    struct mortise_store *s = open_store();
    struct mortise_err err;
    struct reader_store r;

    commit_up_to(s, "default", "a", 20);
    mortise_store_close(s);
    tear(sizes[_i], blocks[_i]);
    ck_assert_msg(mortise_store_check(path, &test_mem, &err) == MORTISE_OK,
                  "%s", err.msg);
    s = open_store();
    commit(s, "default", "a", 21);
    mortise_store_close(s);
    reads_well(&r);
    ck_assert_uint_eq(store_reader_run(&r, "default", "a")->seq, 21);
    store_reader_free(&r);
}
END_TEST

/* But where the mark knows of more, it is a loss, and stays as it is; and so is
 * an end that is anything but zeros. */
START_TEST(a_torn_end_excuses_no_loss)
{
    struct mortise_store *s = open_store();
    size_t size, again;
    char *log, *bytes, *after;

    commit_up_to(s, "default", "a", 20);
    mortise_store_close(s);
    if (_i == 0) {
        log = the_file(".log");
        bytes = test_read(log, &size);
        ck_assert_int_eq(truncate(log, (off_t)(size - 100)), 0);
        free(bytes);
        tear(9000, 512);
    } else {
        tear(9000, 512);
        log = the_file(".log");
        bytes = test_read(log, &size);
        bytes[size - 1] = 1;
        test_write(log, bytes, size);
        free(bytes);
    }
    bytes = test_read(the_file(".log"), &size);
    open_refused(MORTISE_ECORRUPT, _i == 0 ? "1 commit is missing" : "");
    after = test_read(the_file(".log"), &again);
    ck_assert_uint_eq(size, again);
    ck_assert_mem_eq(bytes, after, size);
    free(bytes);
    free(after);
}
END_TEST

/* Who removes the mark does not get rid of the question; nor who brings that of
 * another store. */
START_TEST(a_store_needs_its_own_mark)
{
    struct mortise_store *s = open_store();
    char was[8192], other[8192];

    commit_up_to(s, "default", "a", 3);
    mortise_store_close(s);
    snprintf(was, sizeof was, "%s.was", in_store("mark"));
    ck_assert_int_eq(rename(in_store("mark"), was), 0);
    open_refused(MORTISE_ECORRUPT,
                 "its file 'mark', which records the last commit, is missing");
    ck_assert_int_eq(unlink(in_store("format")), 0);
    open_refused(MORTISE_ECORRUPT,
                 "its file 'mark', which records the last commit, is missing");
    stamp_store("mortise-store 1\n");

    memcpy(other, path, sizeof path);
    snprintf(path, sizeof path, "%s/other", dir);
    mortise_store_close(open_store());
    ck_assert_int_eq(rename(in_store("mark"), was), 0);
    memcpy(path, other, sizeof path);
    ck_assert_int_eq(rename(was, in_store("mark")), 0);
    open_refused(MORTISE_ECORRUPT, "its file 'mark' belongs to another store");
}
END_TEST

/* Somebody removed the stamp of a store that has commits: as its mark says, or
 * the database of one that never synced.  It is said each time, and nothing is written. */
START_TEST(a_store_without_its_stamp_is_corrupt)
{
    uint8_t before[MORTISE_DIGEST], after[MORTISE_DIGEST];
    struct mortise_store *s = open_store();
    struct made_commit m;

    for (uint64_t seq = 1; seq <= 3; seq++) {
        make_commit(&m, "default", "a", seq, 40);
        m.c.lazy = _i == 1;
        ck_assert_int_eq(write_one(s, &m.c), MORTISE_OK);
    }
    mortise_store_close(s);
    ck_assert_int_eq(unlink(in_store("format")), 0);
    sum_of_store(before);
    for (int n = 0; n < 3; n++)
        open_refused(MORTISE_ECORRUPT,
                     "its file 'format' is missing, but it has commits up to "
                     "number 3: 'mortise store salvage NEW-DIR'");
    sum_of_store(after);
    if (_i == 0) /* otherwise LevelDB had to look, which numbers files */
        ck_assert_mem_eq(before, after, MORTISE_DIGEST);
    ck_assert_int_ne(access(in_store("format"), F_OK), 0);
}
END_TEST

/* A FIFO in the way of the stamp is replaced, and not waited for. */
START_TEST(a_fifo_in_place_of_the_new_stamp)
{
    test_within(60);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(mkfifo(in_store("format.new"), 0600), 0);
    mortise_store_close(open_store());
    ck_assert_int_ne(access(in_store("format.new"), F_OK), 0);
}
END_TEST

/* Whoever was cut off while making a store left one that has no stamp yet. */
START_TEST(a_store_that_was_never_written_to_is_made_again)
{
    mortise_store_close(open_store());
    ck_assert_int_eq(unlink(in_store("format")), 0);
    if (_i > 0)
        ck_assert_int_eq(unlink(in_store("mark")), 0);
    if (_i > 1)
        test_rmdir(in_store("db"));
    struct mortise_store *s = open_store();
    commit(s, "default", "a", 1);
    mortise_store_close(s);
    ck_assert_int_eq(access(in_store("format"), F_OK), 0);
    mark_is(1);
}
END_TEST

/* What is emptied or cut in the database is corruption, not an I/O error. */
START_TEST(a_cut_file_is_corrupt)
{
    struct mortise_store *s = open_store();

    commit_up_to(s, "default", "a", 3);
    mortise_store_close(s);
    mortise_store_close(open_store()); /* has its log made a table */
    if (_i == 0) {
        ck_assert_int_eq(truncate(in_store("db/CURRENT"), 0), 0);
        open_refused(MORTISE_ECORRUPT, "CURRENT");
        return;
    }
    ck_assert_int_eq(truncate(the_file(".ldb"), _i == 1 ? 0 : 20), 0);
    open_refused(MORTISE_ECORRUPT, "");
}
END_TEST

/* A hole anywhere in the commit numbers is found at open (R6b). */
START_TEST(a_hole_in_the_commits_is_corrupt)
{
    struct mortise_store *s = open_store();
    struct mortise_buf k;
    char words[64];

    commit_up_to(s, "default", "a", 6);
    mortise_store_close(s);
    mortise_buf_init(&k, &test_mem);
    mortise_key_commit(&k, (uint64_t)_i);
    meddle(&k, NULL, 0);
    snprintf(words, sizeof words, "commit %d is missing", _i);
    open_refused(MORTISE_ECORRUPT, words);
    mortise_buf_finish(&k);
}
END_TEST

/* Records without any commit number are corrupt as well. */
START_TEST(records_without_commits_are_corrupt)
{
    struct mortise_store *s = open_store();
    struct mortise_buf k;

    commit_up_to(s, "default", "a", 1);
    mortise_store_close(s);
    mortise_buf_init(&k, &test_mem);
    mortise_key_commit(&k, 1);
    meddle(&k, NULL, 0);
    open_refused(MORTISE_ECORRUPT, "the record of its last commit is missing");
    mortise_buf_finish(&k);
}
END_TEST

/* The one file in db/ whose name ends so. */
static void find_db_file(char out[8192], const char *ending)
{
    char db_path[8000];
    struct dirent *e;
    DIR *d;

    snprintf(db_path, sizeof db_path, "%s/db", path);
    d = opendir(db_path);
    ck_assert_ptr_nonnull(d);
    out[0] = '\0';
    while ((e = readdir(d)) != NULL) {
        size_t n = strlen(e->d_name), m = strlen(ending);

        if (n > m && strcmp(e->d_name + n - m, ending) == 0)
            snprintf(out, 8192, "%s/%.100s", db_path, e->d_name);
    }
    closedir(d);
    ck_assert_str_ne(out, "");
}

static void flip(const char *file, const char *needle)
{
    size_t n;
    char *p = test_read(file, &n), *at = memmem(p, n, needle, strlen(needle));

    ck_assert_ptr_nonnull(at);
    *at ^= 1;
    test_write(file, p, n);
    free(p);
}

/* A flipped byte in LevelDB's log is refused at open. */
START_TEST(a_flipped_byte_in_the_log_is_corrupt)
{
    struct mortise_store *s = open_store();
    char file[8192];

    commit_up_to(s, "default", "a", 6);
    mortise_store_close(s);
    find_db_file(file, ".log");
    flip(file, "<a 3>");
    open_refused(MORTISE_ECORRUPT, "checksum");
}
END_TEST

static int count_checkpoint(void *ud, const struct mortise_checkpoint *cp)
{
    size_t *n = ud;

    ck_assert_uint_eq(cp->seq, *n + 1);
    (*n)++;
    return 0;
}

/* A flipped byte in a table is refused at open or when it is read; nothing
 * is skipped in silence. */
START_TEST(a_flipped_byte_in_a_table_is_corrupt)
{
    struct mortise_store *s = open_store();
    struct mortise_err err = {0};
    char file[8192];
    size_t n = 0;
    int rv;

    commit_up_to(s, "default", "a", 200);
    ck_assert_int_eq(mortise_store_reopen(s, NULL), MORTISE_OK); /* flushes */
    mortise_store_close(s);
    find_db_file(file, ".ldb");
    flip(file, "<a 150>");
    rv = mortise_store_open(&s, path, &test_mem, &err);
    if (rv == MORTISE_OK) {
        rv = mortise_store_checkpoints(s, "default", "a", 1, count_checkpoint,
                                       &n, &err);
        ck_assert_uint_lt(n, 150);
    }
    ck_assert_int_eq(rv, MORTISE_ECORRUPT);
    mortise_store_close(s);
}
END_TEST

/* A checkpoint that is missing in the middle or at the end is no shorter
 * history but a corrupt one. */
START_TEST(a_missing_checkpoint_is_corrupt)
{
    struct mortise_store *s = open_store();
    struct mortise_buf k;
    size_t n = 0;

    commit_up_to(s, "default", "a", 5);
    mortise_store_close(s);
    mortise_buf_init(&k, &test_mem);
    mortise_key_checkpoint(&k, "default", "a", (uint64_t)_i);
    meddle(&k, NULL, 0);
    mortise_buf_finish(&k);
    s = open_store();
    ck_assert_int_eq(mortise_store_checkpoints(s, "default", "a", 1,
                                               count_checkpoint, &n, NULL),
                     MORTISE_ECORRUPT);
    mortise_store_close(s);
}
END_TEST

/* ---- writing ----------------------------------------------------------- */

/* A run is admitted once; later commits need the head as it is, by number and
 * by identity. */
START_TEST(a_commit_needs_the_head_it_expects)
{
    struct mortise_store *s = open_store();
    struct made_commit m;

    commit(s, "default", "a", 1);
    make_commit(&m, "default", "a", 1, 0);
    ck_assert_int_eq(write_one(s, &m.c), MORTISE_EEXISTS);
    commit(s, "default", "a", 2);
    make_commit(&m, "default", "a", 2, 0);
    ck_assert_int_eq(write_one(s, &m.c), MORTISE_ECONFLICT);
    make_commit(&m, "default", "a", 4, 0);
    ck_assert_int_eq(write_one(s, &m.c), MORTISE_ECONFLICT);
    make_commit(&m, "default", "none", 2, 0);
    ck_assert_int_eq(write_one(s, &m.c), MORTISE_ECONFLICT);
    make_commit(&m, "default", "a", 3, 0);
    m.c.checkpoint.parent.b[7] ^= 1;
    ck_assert_int_eq(write_one(s, &m.c), MORTISE_ECONFLICT);
    make_commit(&m, "other", "a", 3, 0);
    ck_assert_int_eq(write_one(s, &m.c), MORTISE_ECONFLICT);
    commit(s, "default", "a", 3);
    mortise_store_close(s);
}
END_TEST

/* Very many runs at once: each has a head of its own, whatever was put in
 * between, and one that another commit moved is not to be moved again. */
START_TEST(no_head_is_taken_for_another)
{
    enum { RUNS = 3000 };
    struct made_commit *m = calloc(RUNS, sizeof *m);
    struct mortise_commit **list = calloc(RUNS, sizeof *list);
    struct mortise_store *s = open_store();

    for (uint64_t step = 0; step < 6; step++) { /* each twice */
        for (int i = 0; i < RUNS; i++) {
            char *run = m[i].entries + 4096;

            sprintf(run, "%d", i);
            make_commit(&m[i], "default", run, step / 2 + 1, 0);
            list[i] = &m[i].c;
        }
        ck_assert_int_eq(mortise_store_write(s, list, RUNS, NULL), MORTISE_OK);
        for (int i = 0; i < RUNS; i++)
            ck_assert_int_eq(m[i].c.result, step % 2 == 0 ? MORTISE_OK
                                            : step == 1   ? MORTISE_EEXISTS
                                                          : MORTISE_ECONFLICT);
    }
    mortise_store_close(s);
    free(list);
    free(m);
}
END_TEST

/* In one batch: commits of one run follow each other, what conflicts is left
 * out with all that was built on it, the others are written. */
START_TEST(a_batch_leaves_out_what_conflicts)
{
    static struct made_commit m[9];
    static const struct {
        const char *tenant, *run;
        uint64_t seq;
        int result;
    } plan[9] = {
        {"default", "a", 2, MORTISE_OK},
        {"default", "b", 1, MORTISE_OK},
        {"default", "a", 3, MORTISE_OK},
        {"default", "a", 3, MORTISE_ECONFLICT},
        {"default", "b", 1, MORTISE_EEXISTS},
        {"default", "c", 2, MORTISE_ECONFLICT},
        {"default", "c", 3, MORTISE_ECONFLICT},
        {"default", "a", 4, MORTISE_OK},
        {"other", "a", 1, MORTISE_OK},
    };
    struct mortise_commit *list[9];
    struct mortise_store *s = open_store();
    struct reader_store r;

    commit(s, "default", "a", 1);
    for (int i = 0; i < 9; i++) {
        make_commit(&m[i], plan[i].tenant, plan[i].run, plan[i].seq, 10);
        list[i] = &m[i].c;
    }
    ck_assert_int_eq(mortise_store_write(s, list, 9, NULL), MORTISE_OK);
    for (int i = 0; i < 9; i++)
        ck_assert_int_eq(m[i].c.result, plan[i].result);
    mortise_store_close(s);
    reads_well(&r);
    ck_assert_uint_eq(r.n_runs, 3);
    ck_assert_uint_eq(r.last_commit, 2); /* two batches in all */
    ck_assert_uint_eq(store_reader_run(&r, "default", "a")->seq, 4);
    ck_assert_uint_eq(store_reader_run(&r, "default", "b")->seq, 1);
    ck_assert_uint_eq(store_reader_run(&r, "other", "a")->seq, 1);
    store_reader_free(&r);
}
END_TEST

/* A batch of nothing but conflicts is not written at all. */
START_TEST(a_batch_of_conflicts_writes_nothing)
{
    struct mortise_store *s = open_store();
    struct reader_store r;
    struct made_commit m;

    commit(s, "default", "a", 1);
    make_commit(&m, "default", "a", 1, 0);
    ck_assert_int_eq(write_one(s, &m.c), MORTISE_EEXISTS);
    ck_assert_int_eq(mortise_store_write(s, NULL, 0, NULL), MORTISE_OK);
    mortise_store_close(s);
    reads_well(&r);
    ck_assert_uint_eq(r.last_commit, 1);
    store_reader_free(&r);
}
END_TEST

/* A name that no key can hold is refused, alone, and without harm. */
START_TEST(a_name_too_long_is_refused)
{
    struct mortise_store *s = open_store();
    char *name = malloc(65537);
    struct mortise_err err;
    struct made_commit m;

    memset(name, 'x', 65536);
    name[65536] = '\0';
    make_commit(&m, "default", name, 1, 0);
    ck_assert_int_eq(write_one(s, &m.c), MORTISE_EINVAL);
    ck_assert_int_eq(mortise_store_raise_mark(s, name, 1, &err),
                     MORTISE_EINVAL);
    ck_assert_int_eq(mortise_store_runs(s, name, NULL, NULL, NULL, &err),
                     MORTISE_EINVAL);
    name[65535] = '\0';
    commit_up_to(s, name, name, 3);
    mortise_store_close(s);
    free(name);
}
END_TEST

/* Each commit costs few and short records. */
START_TEST(a_small_commit_costs_little)
{
    struct mortise_store *s = open_store();
    struct made_commit m;
    struct stat st;
    char file[8192];
    off_t before;

    make_commit(&m, "default", "0198c0de-0000-7000-8000-000000000000", 1, 20);
    ck_assert_int_eq(write_one(s, &m.c), MORTISE_OK);
    find_db_file(file, ".log");
    ck_assert_int_eq(stat(file, &st), 0);
    before = st.st_size;
    for (uint64_t seq = 2; seq <= 31; seq++) { /* a third opens a request */
        make_commit(&m, "default", "0198c0de-0000-7000-8000-000000000000", seq,
                    20);
        ck_assert_int_eq(write_one(s, &m.c), MORTISE_OK);
    }
    ck_assert_int_eq(stat(file, &st), 0);
    ck_assert_int_lt((st.st_size - before) / 30, 20 + 600);
    mortise_store_close(s);
}
END_TEST

/* Writing, reading and reopening cope with every allocation failing: an error
 * means a dead handle, and reopened the store has all or nothing of it. */
START_TEST(writing_survives_oom)
{
    struct mortise_store *s = open_store();
    struct made_commit m;
    struct mortise_commit *c = &m.c;
    uint64_t seq = 0;
    int n = 0, rv;

    make_commit(&m, "default", "a", 1, 4000);
    do {
        test_mem_fail_at(n++);
        rv = mortise_store_write(s, &c, 1, NULL);
        if (test_mem_failed()) {
            test_mem_fail_at(-1);
            ck_assert_int_eq(rv, MORTISE_ENOMEM);
            ck_assert_int_eq(mortise_store_write(s, &c, 1, NULL),
                             MORTISE_ESTATE);
            ck_assert_int_eq(
                mortise_store_head(s, "default", "a", NULL, NULL, NULL),
                MORTISE_ESTATE);
            ck_assert_int_eq(mortise_store_reopen(s, NULL), MORTISE_OK);
            ck_assert_int_eq(
                mortise_store_head(s, "default", "a", NULL, NULL, NULL),
                MORTISE_ENOTFOUND);
            rv = MORTISE_ENOMEM;
        }
    } while (rv == MORTISE_ENOMEM);
    test_mem_fail_at(-1);
    ck_assert_int_eq(rv, MORTISE_OK);
    ck_assert_int_gt(n, 1);
    mortise_store_close(s);
    (void)seq;
}
END_TEST

/* ---- reading ----------------------------------------------------------- */

static int keep_head(void *ud, const char *tenant, const char *run,
                     const struct mortise_head *head)
{
    struct mortise_head *out = ud;

    ck_assert_str_eq(tenant, "default");
    ck_assert_str_eq(run, "a");
    ck_assert_str_eq(head->reason, "");
    ck_assert_str_eq(head->graph_name, "made");
    *out = *head;
    return 0;
}

struct checkpoints {
    const char *run;
    uint64_t next;
    uint64_t stop_at;
};

static int check_made(void *ud, const struct mortise_checkpoint *cp)
{
    struct checkpoints *c = ud;
    struct made_commit m;

    make_commit(&m, "default", c->run, c->next, 40);
    ck_assert_uint_eq(cp->seq, c->next);
    ck_assert_mem_eq(&cp->id, &m.c.checkpoint.id, 16);
    ck_assert_mem_eq(&cp->parent, &m.c.checkpoint.parent, 16);
    ck_assert_uint_eq(cp->time_ms, m.c.checkpoint.time_ms);
    ck_assert_uint_eq(cp->first_event, m.c.checkpoint.first_event);
    ck_assert_uint_eq(cp->size, 40);
    ck_assert_mem_eq(cp->entries, m.entries, 40);
    return c->next++ == c->stop_at;
}

/* What was committed is read back, from any checkpoint on. */
START_TEST(a_run_is_read_back)
{
    struct mortise_store *s = open_store();
    struct mortise_head head;
    struct mortise_source *files;
    struct mortise_arena a;
    size_t n_files;
    uint8_t digest[MORTISE_DIGEST] = {1};

    commit_up_to(s, "default", "a", 5);
    for (int again = 0; again < 2; again++) {
        ck_assert_int_eq(
            mortise_store_head(s, "default", "a", keep_head, &head, NULL),
            MORTISE_OK);
        ck_assert_uint_eq(head.seq, 5);
        ck_assert_uint_eq(head.n_pending, 1);
        for (uint64_t from = 0; from <= 7; from++) {
            struct checkpoints c = {"a", from != 0 ? from : 1, 0};

            ck_assert_int_eq(mortise_store_checkpoints(s, "default", "a", from,
                                                       check_made, &c, NULL),
                             MORTISE_OK);
            ck_assert_uint_eq(c.next, from > 6 ? from : 6);
        }
        ck_assert_int_eq(mortise_store_reopen(s, NULL), MORTISE_OK);
    }
    mortise_arena_init(&a, &test_mem);
    ck_assert_int_eq(
        mortise_store_graph(s, head.graph, &a, &files, &n_files, NULL),
        MORTISE_OK);
    ck_assert_uint_eq(n_files, 1);
    ck_assert_str_eq(files[0].path, "made.yaml");
    ck_assert_str_eq(files[0].text, made_graph);
    ck_assert_int_eq(mortise_store_graph(s, digest, &a, &files, &n_files, NULL),
                     MORTISE_ENOTFOUND);
    mortise_arena_finish(&a);
    mortise_store_close(s);
}
END_TEST

/* A walk ends when its callback says so, without an error. */
START_TEST(a_callback_may_end_the_walk)
{
    struct mortise_store *s = open_store();
    struct checkpoints c = {"a", 1, 3};

    commit_up_to(s, "default", "a", 5);
    ck_assert_int_eq(
        mortise_store_checkpoints(s, "default", "a", 1, check_made, &c, NULL),
        MORTISE_OK);
    ck_assert_uint_eq(c.next, 4);
    mortise_store_close(s);
}
END_TEST

/* What is not there, or another tenant's, is not found (R1). */
START_TEST(what_is_not_there_is_not_found)
{
    struct mortise_store *s = open_store();
    struct mortise_err err;
    size_t n = 0;

    commit(s, "default", "a", 1);
    ck_assert_int_eq(mortise_store_head(s, "other", "a", NULL, NULL, &err),
                     MORTISE_ENOTFOUND);
    ck_assert_ptr_nonnull(strstr(err.msg, "no run a"));
    ck_assert_int_eq(mortise_store_head(s, "default", "", NULL, NULL, NULL),
                     MORTISE_ENOTFOUND);
    ck_assert_int_eq(mortise_store_checkpoints(s, "other", "a", 1,
                                               count_checkpoint, &n, NULL),
                     MORTISE_OK);
    ck_assert_uint_eq(n, 0);
    mortise_store_close(s);
}
END_TEST

struct listing {
    char text[65536];
    size_t n, stop_at;
    char last_run[64], last_id[64];
};

static int list_run(void *ud, const char *tenant, const char *run,
                    const struct mortise_head *head)
{
    struct listing *l = ud;

    (void)head;
    ck_assert_uint_lt(strlen(l->text), sizeof l->text - 256);
    sprintf(l->text + strlen(l->text), "[%s|%s]", tenant, run);
    snprintf(l->last_run, sizeof l->last_run, "%s", run);
    return ++l->n == l->stop_at;
}

static int list_request(void *ud, const char *tenant, const char *run,
                        const struct mortise_pending *p)
{
    struct listing *l = ud;

    ck_assert_uint_lt(strlen(l->text), sizeof l->text - 256);
    sprintf(l->text + strlen(l->text), "[%s|%s|%s %.*s]", tenant, run, p->id,
            (int)p->payload_size, p->payload);
    snprintf(l->last_run, sizeof l->last_run, "%s", run);
    snprintf(l->last_id, sizeof l->last_id, "%s", p->id);
    return ++l->n == l->stop_at;
}

/* Every pair of nasty tenant and run is a run of its own, listed under its
 * tenant and nowhere else, in order of id, and paged without gap or repeat. */
START_TEST(runs_are_listed_by_tenant)
{
    struct mortise_store *s = open_store();
    static struct listing all, page;

    for (int t = 0; t < N_NASTY; t++)
        for (int r = 0; r < N_NASTY; r++)
            if ((t + r) % 3 != 0)
                commit(s, nasty[t], nasty[r], 1);
    for (int t = 0; t < N_NASTY; t++) {
        size_t expected = 0;

        for (int r = 0; r < N_NASTY; r++)
            expected += (t + r) % 3 != 0;
        memset(&all, 0, sizeof all);
        memset(&page, 0, sizeof page);
        ck_assert_int_eq(
            mortise_store_runs(s, nasty[t], NULL, list_run, &all, NULL),
            MORTISE_OK);
        ck_assert_uint_eq(all.n, expected);
        while (page.n < expected) {
            page.stop_at = page.n + 2;
            ck_assert_int_eq(
                mortise_store_runs(s, nasty[t],
                                   page.n != 0 ? page.last_run : NULL, list_run,
                                   &page, NULL),
                MORTISE_OK);
        }
        ck_assert_str_eq(page.text, all.text);
    }
    mortise_store_close(s);
}
END_TEST

/* Runs come in order of the bytes of their ids. */
START_TEST(runs_come_in_order)
{
    struct mortise_store *s = open_store();
    static struct listing l;

    commit(s, "t", "b", 1);
    commit(s, "t", "aa", 1);
    commit(s, "t", "a", 1);
    commit(s, "t2", "a", 1);
    ck_assert_int_eq(mortise_store_runs(s, "t", NULL, list_run, &l, NULL),
                     MORTISE_OK);
    ck_assert_str_eq(l.text, "[t|a][t|aa][t|b]");
    mortise_store_close(s);
}
END_TEST

/* The inbox shows what is open, by tenant, and pages through it. */
START_TEST(the_inbox_shows_what_is_open)
{
    struct mortise_store *s = open_store();
    static struct listing l;

    commit_up_to(s, "t", "a", 2);
    commit_up_to(s, "t", "b", 3); /* closed again */
    commit_up_to(s, "t", "c", 5);
    commit_up_to(s, "u", "a", 2);
    ck_assert_int_eq(
        mortise_store_inbox(s, "t", NULL, NULL, list_request, &l, NULL),
        MORTISE_OK);
    ck_assert_str_eq(l.text, "[t|a|q2 {\"seq\":2}][t|c|q5 {\"seq\":5}]");
    l = (struct listing){.stop_at = 1};
    ck_assert_int_eq(
        mortise_store_inbox(s, "t", NULL, NULL, list_request, &l, NULL),
        MORTISE_OK);
    ck_assert_int_eq(mortise_store_inbox(s, "t", l.last_run, l.last_id,
                                         list_request, &l, NULL),
                     MORTISE_OK);
    ck_assert_str_eq(l.text, "[t|a|q2 {\"seq\":2}][t|c|q5 {\"seq\":5}]");
    ck_assert_int_eq(mortise_store_inbox(s, "t", l.last_run, l.last_id,
                                         list_request, &l, NULL),
                     MORTISE_OK);
    ck_assert_uint_eq(l.n, 2);
    mortise_store_close(s);
}
END_TEST

/* Deadlines come soonest first, over all tenants, up to the time asked for. */
START_TEST(deadlines_come_soonest_first)
{
    struct mortise_store *s = open_store();
    static struct listing l;

    commit_up_to(s, "u", "a", 5);
    commit_up_to(s, "t", "b", 2);
    commit_up_to(s, "t", "c", 8);
    commit_up_to(s, "t", "d", 6); /* none open */
    ck_assert_int_eq(mortise_store_due(s, 1999, list_request, &l, NULL),
                     MORTISE_OK);
    ck_assert_str_eq(l.text, "");
    ck_assert_int_eq(mortise_store_due(s, 5000, list_request, &l, NULL),
                     MORTISE_OK);
    ck_assert_str_eq(l.text, "[t|b|q2 {\"seq\":2}][u|a|q5 {\"seq\":5}]");
    memset(&l, 0, sizeof l);
    ck_assert_int_eq(mortise_store_due(s, UINT64_MAX, list_request, &l, NULL),
                     MORTISE_OK);
    ck_assert_uint_eq(l.n, 3);
    mortise_store_close(s);
}
END_TEST

/* A timer asks nobody: it costs its deadline, is due like any, and the inbox
 * does not pass over it, since it is not there. */
START_TEST(timers_are_deadlines_alone)
{
    const struct mortise_pending nap = {
        .id = "nap", .deadline_ms = 700, .timer = true};
    struct mortise_store *s = open_store();
    struct made_commit m;
    static struct listing l;
    struct reader_store r;

    commit(s, "t", "a", 1);
    make_commit(&m, "t", "a", 2, 10); /* asks a question, too */
    m.c.head.n_pending = 0;
    m.c.opens = &nap;
    ck_assert_int_eq(write_one(s, &m.c), MORTISE_OK);
    ck_assert_int_eq(mortise_store_due(s, 999, list_request, &l, NULL),
                     MORTISE_OK);
    ck_assert_str_eq(l.text, "[t|a|nap ]");
    memset(&l, 0, sizeof l);
    ck_assert_int_eq(
        mortise_store_inbox(s, "t", NULL, NULL, list_request, &l, NULL),
        MORTISE_OK);
    ck_assert_uint_eq(l.n, 0);
    mortise_store_close(s);
    reads_well(&r);
    ck_assert_uint_eq(r.n_deadlines, 1);
    ck_assert_uint_eq(r.runs[0].n_requests, 0);
    store_reader_free(&r);

    s = open_store();
    make_commit(&m, "t", "a", 3, 10);
    m.c.closes = &nap;
    ck_assert_int_eq(write_one(s, &m.c), MORTISE_OK);
    ck_assert_int_eq(mortise_store_due(s, UINT64_MAX, list_request, &l, NULL),
                     MORTISE_OK);
    ck_assert_uint_eq(l.n, 0);
    mortise_store_close(s);
}
END_TEST

static struct mortise_store *walked; /* what close_the_next writes to */

static int close_the_next(void *ud, const char *tenant, const char *run,
                          const struct mortise_pending *p)
{
    size_t *n = ud;

    (void)p;
    ck_assert_str_eq(run, (*n)++ == 0 ? "a" : "b");
    if (*n == 1)
        commit(walked, tenant, "b", 3);
    return 0;
}

/* A walk sees one moment: what is closed while it goes on is still in it,
 * whole. */
START_TEST(a_walk_sees_one_moment)
{
    size_t n = 0;

    walked = open_store();
    commit_up_to(walked, "t", "a", 2);
    commit_up_to(walked, "t", "b", 2);
    ck_assert_int_eq(
        mortise_store_due(walked, UINT64_MAX, close_the_next, &n, NULL),
        MORTISE_OK);
    ck_assert_uint_eq(n, 2);
    mortise_store_close(walked);
}
END_TEST

/* A mark is 0 before it is put, and only grows. */
START_TEST(marks_only_grow)
{
    struct mortise_store *s = open_store();
    uint64_t v = 7;

    ck_assert_int_eq(mortise_store_get_mark(s, "plugin:x", &v, NULL),
                     MORTISE_OK);
    ck_assert_uint_eq(v, 0);
    ck_assert_int_eq(mortise_store_raise_mark(s, "plugin:x", 5, NULL),
                     MORTISE_OK);
    ck_assert_int_eq(mortise_store_raise_mark(s, "plugin:x", 3, NULL),
                     MORTISE_OK);
    ck_assert_int_eq(mortise_store_reopen(s, NULL), MORTISE_OK);
    ck_assert_int_eq(mortise_store_get_mark(s, "plugin:x", &v, NULL),
                     MORTISE_OK);
    ck_assert_uint_eq(v, 5);
    ck_assert_int_eq(mortise_store_get_mark(s, "plugin:", &v, NULL),
                     MORTISE_OK);
    ck_assert_uint_eq(v, 0);
    mortise_store_close(s);
}
END_TEST

static void put_kv(struct mortise_store *s, uint64_t seq, const char *tenant,
                   struct mortise_kv kv)
{
    struct made_commit m;

    make_commit(&m, tenant, "a", seq, 10);
    m.c.kvs = &kv;
    m.c.n_kvs = 1;
    ck_assert_int_eq(write_one(s, &m.c), MORTISE_OK);
}

/* What a plugin keeps under a key, "" when that is nothing. */
static const char *kept(struct mortise_store *s, const char *tenant,
                        const char *plugin, const char *key, size_t size)
{
    static char text[256];
    struct mortise_buf value;
    int rv;

    mortise_buf_init(&value, &test_mem);
    rv = mortise_store_kv(s, tenant, plugin, key, size, &value, NULL);
    ck_assert(rv == MORTISE_OK || rv == MORTISE_ENOTFOUND);
    snprintf(text, sizeof text, "%.*s", (int)value.n,
             value.p != NULL ? value.p : "");
    mortise_buf_finish(&value);
    return text;
}

/* A value is its tenant's, its plugin's and its key's alone, whatever bytes
 * these have; a later one replaces it, and none takes it away. */
START_TEST(plugins_keep_values_of_their_own)
{
    struct mortise_store *s = open_store();

    put_kv(s, 1, "t", (struct mortise_kv){"p", "k", 1, "[1]", 3});
    put_kv(s, 2, "t", (struct mortise_kv){"p", "k\0", 2, "[2]", 3});
    put_kv(s, 3, "t", (struct mortise_kv){"pk", "", 0, "[3]", 3});
    put_kv(s, 1, "tp", (struct mortise_kv){"p", "k", 1, "[4]", 3});
    put_kv(s, 4, "t", (struct mortise_kv){"p", "\0\1k", 3, "[5]", 3});
    ck_assert_int_eq(mortise_store_reopen(s, NULL), MORTISE_OK);
    ck_assert_str_eq(kept(s, "t", "p", "k", 1), "[1]");
    ck_assert_str_eq(kept(s, "t", "p", "k\0", 2), "[2]");
    ck_assert_str_eq(kept(s, "t", "pk", "", 0), "[3]");
    ck_assert_str_eq(kept(s, "tp", "p", "k", 1), "[4]");
    ck_assert_str_eq(kept(s, "t", "p", "\0\1k", 3), "[5]");
    ck_assert_str_eq(kept(s, "t", "p", "", 0), "");
    ck_assert_str_eq(kept(s, "t", "q", "k", 1), "");
    ck_assert_str_eq(kept(s, "tp", "p", "k\0", 2), "");
    put_kv(s, 5, "t", (struct mortise_kv){"p", "k", 1, "[6]", 3});
    put_kv(s, 6, "t", (struct mortise_kv){"p", "k\0", 2, NULL, 0});
    ck_assert_str_eq(kept(s, "t", "p", "k", 1), "[6]");
    ck_assert_str_eq(kept(s, "t", "p", "k\0", 2), "");
    mortise_store_close(s);
}
END_TEST

/* A commit that conflicts puts nothing. */
START_TEST(a_conflict_keeps_no_value)
{
    struct mortise_store *s = open_store();
    struct made_commit m;

    commit_up_to(s, "t", "a", 3);
    make_commit(&m, "t", "a", 2, 10);
    ck_assert_int_eq(write_one(s, &m.c), MORTISE_ECONFLICT);
    ck_assert_str_eq(kept(s, "t", "made", "a\0", 2), "3");
    mortise_store_close(s);
}
END_TEST

/* Each read copes with every allocation failing, and leaves the store fit. */
START_TEST(reading_survives_oom)
{
    struct mortise_store *s = open_store();
    struct mortise_source *files;
    struct mortise_arena a;
    struct mortise_buf value;
    size_t n_files;
    static struct listing l;
    struct made_commit m;
    uint64_t v;
    size_t count;
    int n, rv = MORTISE_OK;

    commit_up_to(s, "default", "a", 5);
    make_commit(&m, "default", "a", 1, 0);
    for (int what = 0; what < 8; what++) {
        for (n = 0;; n++) {
            mortise_arena_init(&a, &test_mem);
            mortise_buf_init(&value, &test_mem);
            memset(&l, 0, sizeof l);
            count = 0;
            test_mem_fail_at(n);
            if (what == 0)
                rv = mortise_store_head(s, "default", "a", list_run, &l, NULL);
            if (what == 1)
                rv = mortise_store_checkpoints(s, "default", "a", 1,
                                               count_checkpoint, &count, NULL);
            if (what == 2)
                rv = mortise_store_runs(s, "default", NULL, list_run, &l, NULL);
            if (what == 3)
                rv = mortise_store_inbox(s, "default", NULL, NULL, list_request,
                                         &l, NULL);
            if (what == 4)
                rv = mortise_store_due(s, 99999, list_request, &l, NULL);
            if (what == 5)
                rv = mortise_store_graph(s, m.c.checkpoint.graph, &a, &files,
                                         &n_files, NULL);
            if (what == 6)
                rv = mortise_store_get_mark(s, "x", &v, NULL);
            if (what == 7)
                rv = mortise_store_kv(s, "default", "made", "a\0", 2, &value,
                                      NULL);
            mortise_arena_finish(&a);
            mortise_buf_finish(&value);
            if (!test_mem_failed())
                break;
            ck_assert_int_eq(rv, MORTISE_ENOMEM);
        }
        test_mem_fail_at(-1);
        ck_assert_int_eq(rv, MORTISE_OK);
        ck_assert_int_gt(n, 0);
    }
    mortise_store_close(s);
}
END_TEST

/* ---- failed writes ----------------------------------------------------- */

static void watch(void)
{
    char state[8192], journaled[8192];

    snprintf(state, sizeof state, "%s/powercut", dir);
    snprintf(journaled, sizeof journaled, "%s/db", path);
    powercut_begin(state, path, journaled, NULL);
}

/* After a failed sync the handle is dead, for reads too, until it is reopened
 * (R6b). */
START_TEST(a_failed_sync_leaves_a_dead_handle)
{
    struct mortise_store *s = open_store();
    struct made_commit m;
    struct mortise_commit *c = &m.c;
    struct mortise_err err = {0};
    uint64_t v;

    commit_up_to(s, "default", "a", 3);
    watch();
    ck_assert_int_eq(mortise_store_reopen(s, &err), MORTISE_OK);
    powercut_fail("fdatasync:1:EIO:once");
    make_commit(&m, "default", "a", 4, 40);
    ck_assert_int_eq(mortise_store_write(s, &c, 1, &err), MORTISE_EIO);
    ck_assert_ptr_nonnull(strstr(err.msg, "write to the store"));
    ck_assert_int_eq(mortise_store_write(s, &c, 1, &err), MORTISE_ESTATE);
    ck_assert_int_eq(mortise_store_raise_mark(s, "m", 1, NULL), MORTISE_ESTATE);
    ck_assert_int_eq(mortise_store_get_mark(s, "m", &v, NULL), MORTISE_ESTATE);
    ck_assert_int_eq(mortise_store_runs(s, "default", NULL, NULL, NULL, NULL),
                     MORTISE_ESTATE);
    ck_assert_int_eq(mortise_store_reopen(s, &err), MORTISE_OK);
    ck_assert_int_eq(
        mortise_store_head(s, "default", "a", keep_head, &m.c.head, NULL),
        MORTISE_OK);
    ck_assert(m.c.head.seq == 3 || m.c.head.seq == 4);
    commit(s, "default", "a", m.c.head.seq + 1);
    mortise_store_close(s);
}
END_TEST

/* A full disk is called that, and when it has room again the store goes on. */
START_TEST(a_full_disk_is_called_that)
{
    static const char *const specs[] = {"write:1:ENOSPC:always",
                                        "write:1:short:always"};
    struct mortise_store *s = open_store();
    struct made_commit m;
    struct mortise_commit *c = &m.c;
    struct mortise_err err = {0};

    commit_up_to(s, "default", "a", 3);
    watch();
    ck_assert_int_eq(mortise_store_reopen(s, &err), MORTISE_OK);
    powercut_fail(specs[_i]);
    make_commit(&m, "default", "a", 4, 40);
    ck_assert_int_eq(mortise_store_write(s, &c, 1, &err), MORTISE_ENOSPC);
    ck_assert_int_eq(mortise_store_reopen(s, &err), MORTISE_ENOSPC);
    ck_assert_int_eq(mortise_store_write(s, &c, 1, &err), MORTISE_ESTATE);
    ck_assert_int_eq(mortise_store_reopen(s, &err), MORTISE_ENOSPC);
    powercut_fail(NULL);
    ck_assert_int_eq(mortise_store_reopen(s, &err), MORTISE_OK);
    commit(s, "default", "a", 4);
    mortise_store_close(s);
}
END_TEST

static bool has_reserve(void)
{
    struct stat st;

    return stat(in_store("reserve"), &st) == 0 && st.st_size == 4 << 20 &&
           st.st_blocks >= (4 << 20) / 512;
}

/* Room is kept back for a full disk: it goes when a write finds none, so that
 * the store opens again and the runs that are there go on; no new run comes
 * until it can be made again. */
START_TEST(a_full_disk_has_a_reserve)
{
    struct mortise_store *s = open_store();
    struct made_commit m;
    struct mortise_commit *c = &m.c;

    ck_assert(!has_reserve()); /* an opening that only reads takes no room */
    commit(s, "default", "a", 1);
    ck_assert(has_reserve());
    watch();
    ck_assert_int_eq(mortise_store_reopen(s, NULL), MORTISE_OK);
    powercut_fail("write:1:ENOSPC:once");
    make_commit(&m, "default", "a", 2, 40);
    ck_assert_int_eq(mortise_store_write(s, &c, 1, NULL), MORTISE_ENOSPC);
    ck_assert_int_eq(mortise_store_reopen(s, NULL), MORTISE_OK);
    ck_assert(!has_reserve());

    powercut_fail("open:1:ENOSPC:always"); /* there is no room for more */
    commit(s, "default", "a", 2);
    make_commit(&m, "default", "b", 1, 40);
    ck_assert_int_eq(write_one(s, &m.c), MORTISE_ENOSPC);
    commit(s, "default", "a", 3);
    powercut_fail(NULL);
    ck_assert_int_eq(write_one(s, &m.c), MORTISE_OK);
    ck_assert(has_reserve());
    mortise_store_close(s);
}
END_TEST

/* A store that does not open for want of room opens with the reserve. */
START_TEST(a_full_disk_opens_with_the_reserve)
{
    struct mortise_store *s = open_store();
    struct made_commit m;

    commit(s, "default", "a", 1);
    mortise_store_close(s);
    ck_assert(has_reserve());
    watch();
    powercut_fail("link:1:ENOSPC:once");
    s = open_store();
    ck_assert(!has_reserve());
    powercut_fail("open:1:ENOSPC:always");
    make_commit(&m, "default", "b", 1, 40);
    ck_assert_int_eq(write_one(s, &m.c), MORTISE_ENOSPC);
    powercut_fail(NULL);
    commit(s, "default", "a", 2);
    ck_assert(has_reserve());
    mortise_store_close(s);
}
END_TEST

/* Marks are the cheapest batches; with the watching on, syncs cost nothing. */
static void write_batches(uint64_t from, uint64_t to)
{
    struct mortise_store *s = open_store();

    for (uint64_t i = from; i <= to; i++)
        ck_assert_int_eq(mortise_store_raise_mark(s, "m", i, NULL), MORTISE_OK);
    mortise_store_close(s);
}

static void drop_commit(uint64_t n)
{
    struct mortise_buf k;

    mortise_buf_init(&k, &test_mem);
    mortise_key_commit(&k, n);
    meddle(&k, NULL, 0);
    mortise_buf_finish(&k);
}

/* Of the commit numbers the last 65,536 are kept, and a hole among them is
 * found if nobody has looked there yet. */
START_TEST(old_commit_numbers_go)
{
    struct reader_store r;

    ck_assert_int_eq(mkdir(path, 0700), 0);
    watch();
    write_batches(1, 65536 + 300);
    mortise_store_close(open_store());
    reads_well(&r);
    ck_assert_uint_eq(r.first_commit, 301);
    ck_assert_uint_eq(r.last_commit, 65836);
    store_reader_free(&r);
    drop_commit(301);
    open_refused(MORTISE_ECORRUPT, "commit 301 is missing");
}
END_TEST

/* Of what an earlier opening saw whole only the last 4,096 are looked at
 * again; what was written since, always all. */
START_TEST(opening_looks_at_what_is_new)
{
    ck_assert_int_eq(mkdir(path, 0700), 0);
    watch();
    write_batches(1, 5000);
    write_batches(5001, 10000);
    drop_commit(4990); /* behind the 5,000 that the second opening saw */
    mortise_store_close(open_store());
    drop_commit((uint64_t)_i);
    open_refused(MORTISE_ECORRUPT, "is missing");
}
END_TEST

/* ---- the store thread -------------------------------------------------- */

struct answers {
    pthread_mutex_t lock;
    size_t n, batches, failed;
    struct mortise_commit *last; /* answered */
    bool in_order;
    int first_error;
};

static void on_done(void *ud, struct mortise_commit *const *commits, size_t n,
                    int result, const struct mortise_err *err)
{
    struct answers *a = ud;
    char name[16];

    pthread_mutex_lock(&a->lock);
    pthread_getname_np(pthread_self(), name, sizeof name);
    a->in_order = a->in_order && strcmp(name, "mortise-store") == 0 &&
                  (err != NULL) == (result != MORTISE_OK) && n <= 512;
    for (size_t i = 0; i < n; i++) {
        a->in_order = a->in_order && commits[i] > a->last;
        a->last = commits[i];
    }
    a->n += n;
    a->batches++;
    if (result != MORTISE_OK)
        a->failed += n;
    if (a->first_error == MORTISE_OK)
        a->first_error = result;
    pthread_mutex_unlock(&a->lock);
}

static size_t answered(struct answers *a)
{
    size_t n;

    pthread_mutex_lock(&a->lock);
    n = a->n;
    pthread_mutex_unlock(&a->lock);
    return n;
}

static void wait_for(struct answers *a, size_t n)
{
    while (answered(a) < n)
        usleep(200);
}

static int submit(struct mortise_writer *w, struct mortise_commit *c)
{
    return mortise_writer_submit(w, &c, 1, NULL);
}

/* What is handed in is written and answered once, in order, in fewer batches
 * than commits; stopping waits for all of it. */
START_TEST(the_writer_groups_commits)
{
    enum { N = 2000 };
    struct made_commit *m = calloc(N, sizeof *m);
    struct answers a = {.lock = PTHREAD_MUTEX_INITIALIZER, .in_order = true};
    struct mortise_store *s = open_store();
    struct mortise_writer *w;
    struct reader_store r;

    ck_assert_int_eq(mortise_writer_start(&w, s, &test_mem, on_done, &a, NULL),
                     MORTISE_OK);
    for (uint64_t i = 0; i < N; i++) {
        char *run = m[i].entries + 4096;

        sprintf(run, "run%llu", (unsigned long long)i % 10);
        make_commit(&m[i], "default", "", i / 10 + 1, 0);
        m[i].c.run = run;
        sprintf(run, "run%llu", (unsigned long long)i % 10);
        ck_assert_int_eq(submit(w, &m[i].c), MORTISE_OK);
    }
    mortise_writer_stop(w);
    ck_assert_uint_eq(a.n, N);
    ck_assert_uint_eq(a.failed, 0);
    ck_assert_uint_lt(a.batches, N / 2);
    ck_assert(a.in_order);
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(m[i].c.result, MORTISE_OK);
    mortise_store_close(s);
    reads_well(&r);
    ck_assert_uint_eq(r.n_runs, 10);
    for (size_t i = 0; i < r.n_runs; i++)
        ck_assert_uint_eq(r.runs[i].seq, N / 10);
    ck_assert_uint_eq(r.last_commit, a.batches);
    store_reader_free(&r);
    free(m);
}
END_TEST

/* A lone run commits on its own thread, but never past what is queued. */
START_TEST(the_writer_writes_inline_when_quiet)
{
    enum { N = 300 };
    struct made_commit *m = calloc(N, sizeof *m);
    struct answers a = {.lock = PTHREAD_MUTEX_INITIALIZER, .in_order = true};
    struct mortise_store *s = open_store();
    struct mortise_writer *w;
    size_t submitted = 0, inlined = 0;

    ck_assert_int_eq(mortise_writer_start(&w, s, &test_mem, on_done, &a, NULL),
                     MORTISE_OK);
    for (uint64_t i = 0; i < N; i++) {
        struct mortise_commit *c = &m[i].c;
        int rv = MORTISE_EIO;

        make_commit(&m[i], "default", "a", i + 1, 0);
        if (i % 3 != 0 && mortise_writer_write_inline(w, &c, 1, &rv, NULL)) {
            ck_assert_int_eq(rv, MORTISE_OK);
            ck_assert_int_eq(c->result, MORTISE_OK);
            inlined++;
        } else {
            ck_assert_int_eq(submit(w, c), MORTISE_OK);
            submitted++;
        }
        if (i % 5 == 0)
            wait_for(&a, submitted);
    }
    mortise_writer_stop(w);
    ck_assert_uint_eq(a.n, submitted);
    ck_assert_uint_gt(inlined, 0);
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(m[i].c.result, MORTISE_OK);
    mortise_store_close(s);
    free(m);
}
END_TEST

/* After a failed write everything handed in gets the error, inline too, until
 * the store was reopened and the writer reset. */
START_TEST(the_writer_stops_at_a_failed_write)
{
    enum { N = 50 };
    struct made_commit *m = calloc(N + 1, sizeof *m);
    struct mortise_commit *c = &m[N].c;
    struct answers a = {.lock = PTHREAD_MUTEX_INITIALIZER, .in_order = true};
    struct mortise_store *s = open_store();
    struct mortise_writer *w;
    struct mortise_err err = {0};
    struct mortise_head head;
    int rv;

    commit(s, "default", "a", 1);
    watch();
    ck_assert_int_eq(mortise_store_reopen(s, NULL), MORTISE_OK);
    powercut_fail("sync:1:EIO:once");
    ck_assert_int_eq(mortise_writer_start(&w, s, &test_mem, on_done, &a, NULL),
                     MORTISE_OK);
    for (uint64_t i = 0; i < N; i++) {
        make_commit(&m[i], "default", "a", i + 2, 10);
        ck_assert_int_eq(submit(w, &m[i].c), MORTISE_OK);
        if (i % 10 == 0)
            wait_for(&a, i + 1);
    }
    wait_for(&a, N);
    ck_assert_uint_eq(a.failed, N);
    ck_assert_int_eq(a.first_error, MORTISE_EIO);
    while (!mortise_writer_write_inline(w, &c, 1, &rv, &err))
        usleep(200);
    ck_assert_int_eq(rv, MORTISE_EIO);
    ck_assert_ptr_nonnull(strstr(err.msg, "write to the store"));

    ck_assert_int_eq(mortise_store_reopen(s, NULL), MORTISE_OK);
    mortise_writer_reset(w);
    ck_assert_int_eq(
        mortise_store_head(s, "default", "a", keep_head, &head, NULL),
        MORTISE_OK);
    make_commit(&m[N], "default", "a", head.seq + 1, 10);
    ck_assert(mortise_writer_write_inline(w, &c, 1, &rv, &err));
    ck_assert_int_eq(rv, MORTISE_OK);
    ck_assert_int_eq(c->result, MORTISE_OK);
    ck_assert(a.in_order);
    mortise_writer_stop(w);
    mortise_store_close(s);
    free(m);
}
END_TEST

/* Starting and handing in cope with every allocation failing. */
START_TEST(the_writer_survives_oom)
{
    struct answers a = {.lock = PTHREAD_MUTEX_INITIALIZER, .in_order = true};
    struct mortise_store *s = open_store();
    struct mortise_writer *w = NULL;
    struct made_commit m;
    int n = 0, rv;

    commit(s, "default", "warm", 1); /* the store has its buffers */
    do {
        test_mem_fail_at(n++);
        rv = mortise_writer_start(&w, s, &test_mem, on_done, &a, NULL);
        ck_assert_int_eq(w == NULL, rv != MORTISE_OK);
    } while (rv == MORTISE_ENOMEM);
    ck_assert_int_gt(n, 1);
    make_commit(&m, "default", "a", 1, 0);
    test_mem_fail_at(0);
    ck_assert_int_eq(submit(w, &m.c), MORTISE_ENOMEM);
    test_mem_fail_at(-1);
    ck_assert_int_eq(submit(w, &m.c), MORTISE_OK);
    mortise_writer_stop(w);
    mortise_writer_stop(NULL);
    ck_assert_uint_eq(a.n, 1);
    ck_assert_uint_eq(a.failed, 0);
    mortise_store_close(s);
}
END_TEST

/* Reads go on beside the writer and see whole commits. */
START_TEST(reads_beside_the_writer_see_whole_commits)
{
    enum { N = 400 };
    struct made_commit *m = calloc(N, sizeof *m);
    struct answers a = {.lock = PTHREAD_MUTEX_INITIALIZER, .in_order = true};
    struct mortise_store *s = open_store();
    struct mortise_writer *w;
    static struct listing l;
    uint64_t seen = 0;

    commit(s, "default", "a", 1);
    ck_assert_int_eq(mortise_writer_start(&w, s, &test_mem, on_done, &a, NULL),
                     MORTISE_OK);
    for (uint64_t i = 0; i < N; i++) {
        make_commit(&m[i], "default", "a", i + 2, 40);
        ck_assert_int_eq(submit(w, &m[i].c), MORTISE_OK);
    }
    while (seen < N + 1) {
        struct checkpoints c = {"a", 1, 0};

        ck_assert_int_eq(mortise_store_checkpoints(s, "default", "a", 1,
                                                   check_made, &c, NULL),
                         MORTISE_OK);
        ck_assert_uint_ge(c.next - 1, seen);
        seen = c.next - 1;
        memset(&l, 0, sizeof l);
        ck_assert_int_eq(
            mortise_store_due(s, UINT64_MAX, list_request, &l, NULL),
            MORTISE_OK);
        ck_assert_uint_le(l.n, 1);
    }
    mortise_writer_stop(w);
    mortise_store_close(s);
    free(m);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("store");
    TCase *tc = tcase_create("store");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, keys_are_what_they_were);
    tcase_add_test(tc, values_are_what_they_were);
    tcase_add_loop_test(tc, values_cut_or_newer_are_refused, 0, 10);
    tcase_add_test(tc, values_round_trip);
    tcase_add_test(tc, no_two_names_share_a_key);
    tcase_add_test(tc, a_new_store_is_private_and_stamped);
    tcase_add_test(tc, the_epoch_grows_with_openings_that_write);
    tcase_add_test(tc, a_store_has_an_identity_of_its_own);
    tcase_add_test(tc, open_survives_oom);
    tcase_add_test(tc, a_store_needs_a_place);
    tcase_add_test(tc, another_process_is_told_the_pid);
    tcase_add_test(tc, the_same_process_is_refused_too);
    tcase_add_test(tc, a_removed_lock_file_still_locks);
    tcase_add_test(tc, a_forked_child_has_no_store);
    tcase_add_loop_test(tc, a_child_left_behind, 0, 2);
    tcase_add_test(tc, a_copy_left_behind);
    tcase_add_test(tc, a_renamed_store_is_one_store);
    tcase_add_test(tc, two_stores_in_one_process);
    tcase_add_loop_test(tc, a_store_of_another_format_is_left_untouched, 0, 4);
    tcase_add_test(tc, a_strange_stamp_is_corrupt);
    tcase_add_test(tc, the_stamp_in_the_database_counts_too);
    tcase_add_test(tc, a_store_without_its_identity_is_corrupt);
    tcase_add_test(tc, a_lost_database_is_not_replaced);
    tcase_add_test(tc, the_mark_follows_each_sync);
    tcase_add_loop_test(tc, a_lost_tail_is_corrupt, 0, 3);
    tcase_add_loop_test(tc, a_torn_end_is_none, 0, 4);
    tcase_add_loop_test(tc, a_torn_end_excuses_no_loss, 0, 2);
    tcase_add_test(tc, a_store_needs_its_own_mark);
    tcase_add_loop_test(tc, a_store_without_its_stamp_is_corrupt, 0, 2);
    tcase_add_test(tc, a_fifo_in_place_of_the_new_stamp);
    tcase_add_loop_test(tc, a_store_that_was_never_written_to_is_made_again, 0,
                        3);
    tcase_add_loop_test(tc, a_cut_file_is_corrupt, 0, 3);
    tcase_add_loop_test(tc, a_hole_in_the_commits_is_corrupt, 1, 6);
    tcase_add_test(tc, records_without_commits_are_corrupt);
    tcase_add_test(tc, a_flipped_byte_in_the_log_is_corrupt);
    tcase_add_test(tc, a_flipped_byte_in_a_table_is_corrupt);
    tcase_add_loop_test(tc, a_missing_checkpoint_is_corrupt, 1, 6);
    tcase_add_test(tc, a_commit_needs_the_head_it_expects);
    tcase_add_test(tc, no_head_is_taken_for_another);
    tcase_add_test(tc, a_batch_leaves_out_what_conflicts);
    tcase_add_test(tc, a_batch_of_conflicts_writes_nothing);
    tcase_add_test(tc, a_name_too_long_is_refused);
    tcase_add_test(tc, a_small_commit_costs_little);
    tcase_add_test(tc, writing_survives_oom);
    tcase_add_test(tc, a_run_is_read_back);
    tcase_add_test(tc, a_callback_may_end_the_walk);
    tcase_add_test(tc, what_is_not_there_is_not_found);
    tcase_add_test(tc, runs_are_listed_by_tenant);
    tcase_add_test(tc, runs_come_in_order);
    tcase_add_test(tc, the_inbox_shows_what_is_open);
    tcase_add_test(tc, deadlines_come_soonest_first);
    tcase_add_test(tc, timers_are_deadlines_alone);
    tcase_add_test(tc, a_walk_sees_one_moment);
    tcase_add_test(tc, marks_only_grow);
    tcase_add_test(tc, plugins_keep_values_of_their_own);
    tcase_add_test(tc, a_conflict_keeps_no_value);
    tcase_add_test(tc, reading_survives_oom);
    tcase_add_test(tc, a_failed_sync_leaves_a_dead_handle);
    tcase_add_test(tc, a_full_disk_has_a_reserve);
    tcase_add_test(tc, a_full_disk_opens_with_the_reserve);
    tcase_add_loop_test(tc, a_full_disk_is_called_that, 0, 2);
    tcase_add_test(tc, old_commit_numbers_go);
    tcase_add_loop_test(tc, opening_looks_at_what_is_new, 5000, 5002);
    tcase_add_loop_test(tc, no_link_leads_out_of_a_store, 0,
                        2 * (int)(sizeof links / sizeof links[0]));
    tcase_add_test(tc, the_writer_groups_commits);
    tcase_add_test(tc, the_writer_writes_inline_when_quiet);
    tcase_add_test(tc, the_writer_stops_at_a_failed_write);
    tcase_add_test(tc, the_writer_survives_oom);
    tcase_add_test(tc, reads_beside_the_writer_see_whole_commits);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
