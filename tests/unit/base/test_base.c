/* test_base.c -- errors, ways out, memory, buffers, hashes, ids, clocks,
 * tables. */
#include <check.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/escape.h"
#include "core/base/files.h"
#include "core/base/hash.h"
#include "core/base/id.h"
#include "core/base/mem.h"
#include "core/base/table.h"
#include "core/base/userdir.h"
#include "lib/test.h"

/* The version as text, as numbers, and what the library answers are one. */
START_TEST(the_version_is_one)
{
    char text[64];

    snprintf(text, sizeof text, "%d.%d.%d", MORTISE_VERSION_MAJOR,
             MORTISE_VERSION_MINOR, MORTISE_VERSION_PATCH);
    ck_assert_str_eq(text, MORTISE_VERSION);
    ck_assert_str_eq(mortise_version(), MORTISE_VERSION);
#if MORTISE_VERSION_NUMBER < MORTISE_VERSION_OF(0, 1, 0) ||                    \
    MORTISE_VERSION_OF(0, 2, 0) <= MORTISE_VERSION_OF(0, 1, 999) ||            \
    MORTISE_VERSION_OF(1, 0, 0) <= MORTISE_VERSION_OF(0, 999, 999)
    ck_abort_msg("versions have another order");
#endif
}
END_TEST

/* The code stays what it was where the failure happened; the words grow. */
START_TEST(doing_prefixes_and_keeps_the_code)
{
    struct mortise_err err;
    int rv = mortise_fail(&err, MORTISE_EIO, "disk %d", 7);

    rv = mortise_err_prefix(&err, rv, "load %s", "a.yaml");
    ck_assert_int_eq(rv, MORTISE_EIO);
    ck_assert_int_eq(err.code, MORTISE_EIO);
    ck_assert_str_eq(err.msg, "load a.yaml: disk 7");
}
END_TEST

/* A message that is too long ends at the boundary of a character. */
START_TEST(a_long_message_stays_utf8)
{
    struct mortise_err err;
    char *long_one = malloc(4001);

    for (int i = 0; i < 2000; i++)
        memcpy(long_one + 2 * i, "\xC3\xA9", 2);
    long_one[4000] = '\0';
    mortise_fail(&err, MORTISE_EINVAL, "x%s", long_one);
    ck_assert_uint_lt(strlen(err.msg), sizeof err.msg);
    ck_assert_uint_eq((strlen(err.msg) - 1) % 2, 0);
    free(long_one);
}
END_TEST

/* What the system said is said in its words. */
START_TEST(errno_becomes_words_and_a_code)
{
    struct mortise_err err;

    ck_assert_int_eq(mortise_syserr(&err, EISDIR, "read %s", "x"), MORTISE_EIO);
    ck_assert_str_eq(err.msg, "read x: Is a directory");
    ck_assert_int_eq(mortise_syserr(&err, ENOSPC, "write"), MORTISE_ENOSPC);
    ck_assert_int_eq(mortise_syserr(NULL, ENOENT, "open"), MORTISE_ENOTFOUND);
}
END_TEST

START_TEST(every_result_has_a_name)
{
    for (int r = MORTISE_RESULTS_END; r < 0; r++)
        ck_assert_ptr_ne(strstr(mortise_result_name(r), "E_"), NULL);
    ck_assert_str_eq(mortise_result_name(MORTISE_OK), "OK");
    ck_assert_str_eq(mortise_result_name(MORTISE_ENOSPC), "E_NO_SPACE");
    ck_assert_str_eq(mortise_result_name(MORTISE_RESULTS_END),
                     "E_STALE_ATTEMPT");
    ck_assert_str_eq(mortise_result_name(MORTISE_RESULTS_END - 1), "E_UNKNOWN");
    ck_assert_str_eq(mortise_result_name(MORTISE_EEXISTS), "E_EXISTS");
    ck_assert_str_eq(mortise_result_name(1), "E_UNKNOWN");
    ck_assert_str_eq(mortise_result_name(-1000), "E_UNKNOWN");
}
END_TEST

/* What the writer wrote the reader reads; past the end it gives zeroes, says
 * so, and believes no length that points outside. */
START_TEST(records_round_trip_and_never_overrun)
{
    struct mortise_buf b;
    struct mortise_reader r;
    size_t n;

    mortise_buf_init(&b, &mortise_heap);
    mortise_buf_put_u8(&b, 1);
    mortise_buf_put_u16(&b, 0x0203);
    mortise_buf_put_u32(&b, 0x04050607);
    mortise_buf_put_u64(&b, 0x08090a0b0c0d0e0fULL);
    mortise_buf_put_str(&b, "mortise");
    ck_assert(!b.failed);
    ck_assert_uint_eq((unsigned char)b.p[1], 3); /* little-endian */

    mortise_reader_init(&r, b.p, b.n);
    ck_assert_uint_eq(mortise_read_u8(&r), 1);
    ck_assert_uint_eq(mortise_read_u16(&r), 0x0203);
    ck_assert_uint_eq(mortise_read_u32(&r), 0x04050607);
    ck_assert_uint_eq(mortise_read_u64(&r), 0x08090a0b0c0d0e0fULL);
    ck_assert_mem_eq(mortise_read_blob(&r, &n), "mortise", 7);
    ck_assert_uint_eq(n, 7);
    ck_assert(!r.bad);
    ck_assert_uint_eq(mortise_read_u8(&r), 0);
    ck_assert(r.bad);

    for (size_t cut = 0; cut < b.n; cut++) {
        mortise_reader_init(&r, b.p, cut);
        mortise_read_bytes(&r, 15);
        mortise_read_blob(&r, &n);
        ck_assert(r.bad);
        ck_assert_uint_eq(n, 0);
    }
    mortise_buf_finish(&b);
}
END_TEST

/* Refuses the nth allocation and all after it. */
static void *stingy(void *ud, void *ptr, size_t old_size, size_t new_size)
{
    int *left = ud;

    if (new_size > old_size && (*left)-- <= 0)
        return NULL;
    return mortise_heap.realloc(NULL, ptr, old_size, new_size);
}

/* A buffer that could not grow says so once, at the end, and leaks nothing. */
START_TEST(a_buffer_survives_oom)
{
    int left = 1;
    struct mortise_mem mem = {stingy, &left};
    struct mortise_buf b;

    mortise_buf_init(&b, &mem);
    for (int i = 0; i < 1000; i++)
        mortise_buf_put_u64(&b, 1);
    ck_assert(b.failed);
    ck_assert_ptr_null(mortise_buf_cstr(&b));
    mortise_buf_finish(&b);
}
END_TEST

/* Arena memory is zeroed, aligned and does not overlap, large or small. */
START_TEST(an_arena_hands_out_clean_memory)
{
    struct mortise_arena a;
    unsigned char *p[600];
    size_t wrong = 0;

    mortise_arena_init(&a, &mortise_heap);
    for (int i = 0; i < 600; i++) {
        size_t n = i % 50 == 0 ? 100000 : (size_t)i;

        p[i] = mortise_arena_alloc(&a, n);
        ck_assert_uint_eq((uintptr_t)p[i] % _Alignof(max_align_t), 0);
        for (size_t k = 0; k < n; k++)
            wrong += p[i][k] != 0;
        memset(p[i], i & 0xFF, n);
    }
    for (int i = 0; i < 600; i++) {
        for (size_t k = 0; k < (i % 50 == 0 ? 100000u : (unsigned)i); k++)
            wrong += p[i][k] != (i & 0xFF);
    }
    ck_assert_uint_eq(wrong, 0);
    mortise_arena_finish(&a);
}
END_TEST

/* Fields do not run into each other: ("ab","c") is not ("a","bc"). */
START_TEST(a_digest_of_fields_keeps_them_apart)
{
    uint8_t one[MORTISE_DIGEST], two[MORTISE_DIGEST];
    struct mortise_hasher h;

    mortise_hasher_init(&h);
    mortise_hasher_add_str(&h, "ab");
    mortise_hasher_add_str(&h, "c");
    mortise_hasher_final(&h, one);
    mortise_hasher_init(&h);
    mortise_hasher_add_str(&h, "a");
    mortise_hasher_add_str(&h, "bc");
    mortise_hasher_final(&h, two);
    ck_assert_mem_ne(one, two, sizeof one);
}
END_TEST

/* The test vector of RFC 7693's family: BLAKE2b-256 of nothing. */
START_TEST(digest_is_blake2b_256)
{
    uint8_t d[MORTISE_DIGEST];
    char hex[MORTISE_DIGEST_HEX];

    mortise_digest(d, "", 0);
    mortise_hex_encode(hex, d, sizeof d);
    ck_assert_str_eq(hex, "0e5751c026e543b2e8ab2eb06099daa1"
                          "d1e5df47778f7787faab45cdf12fe3a8");
    ck_assert_int_eq(mortise_hex_decode(d, sizeof d, hex, strlen(hex)), 0);
    ck_assert_int_eq(mortise_hex_decode(d, sizeof d, hex, 63), -1);
    hex[0] = 'g';
    ck_assert_int_eq(mortise_hex_decode(d, sizeof d, hex, 64), -1);
}
END_TEST

/* Version and variant bits, the time in front, in text as in RFC 9562. */
START_TEST(uuids_are_version_7)
{
    static const uint8_t random[10] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
                                       0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
    char text[MORTISE_UUID_TEXT];

    mortise_uuid_format(text, mortise_uuid7_make(0x0123456789AB, random));
    ck_assert_str_eq(text, "01234567-89ab-7fff-bfff-ffffffffffff");
}
END_TEST

START_TEST(times_are_rfc3339)
{
    char text[MORTISE_TIME_TEXT];

    mortise_time_format(text, 1700000000123);
    ck_assert_str_eq(text, "2023-11-14T22:13:20.123Z");
    mortise_time_format(text, 0);
    ck_assert_str_eq(text, "1970-01-01T00:00:00.000Z");
    mortise_time_format(text, UINT64_MAX);
    ck_assert_str_eq(text, "9999-12-31T23:59:59.999Z");
}
END_TEST

/* However long a wait is, its end lies ahead. */
START_TEST(waits_end_later)
{
    uint64_t now = mortise_mono_ns();

    ck_assert_uint_ge(mortise_mono_ns_after(5), now + 5000000);
    ck_assert_uint_gt(mortise_mono_ns_after((uint64_t)1 << 52),
                      now + (1ull << 62));
    ck_assert_uint_gt(mortise_mono_ns_after(UINT64_MAX), now + (1ull << 62));
}
END_TEST

/* ---- table --------------------------------------------------------------- */

struct thing {
    struct mortise_table_entry entry;
    uint64_t key;
    bool in;
};

static struct thing *find(const struct mortise_table *t, uint64_t hash,
                          uint64_t key)
{
    struct mortise_table_entry *e = mortise_table_find(t, hash);

    for (; e != NULL; e = mortise_table_find_next(e)) {
        struct thing *x = MORTISE_CONTAINER_OF(e, struct thing, entry);

        if (x->key == key)
            return x;
    }
    return NULL;
}

/* What is in it is found, what was removed is not, whatever the hashes and
 * whether or not there is memory to grow. */
START_TEST(table_finds_what_is_there) /* loop: good hashes, bad ones, no memory
                                       */
{
    static struct thing things[5000];
    struct mortise_table t;
    size_t seen = 0;

    mortise_table_init(&t, &test_mem);
    if (_i == 2)
        test_mem_fail_at(0);
    for (uint64_t i = 0; i < 5000; i++) {
        things[i] = (struct thing){.key = i, .in = true};
        mortise_table_add(&t, &things[i].entry,
                          _i == 1 ? i % 7 * 16 : mortise_hash_u64s(i, 1));
    }
    for (uint64_t i = 0; i < 5000; i += 3) {
        mortise_table_remove(&t, &things[i].entry);
        things[i].in = false;
    }
    for (uint64_t i = 0; i < 5000; i++)
        ck_assert_ptr_eq(
            find(&t, _i == 1 ? i % 7 * 16 : mortise_hash_u64s(i, 1), i),
            things[i].in ? &things[i] : NULL);
    for (struct mortise_table_entry *e = mortise_table_first(&t); e != NULL;
         e = mortise_table_next(&t, e))
        seen++;
    ck_assert_uint_eq(seen, t.n);
    ck_assert_uint_eq(seen, 5000 - 1667);
    test_mem_fail_at(-1);
    mortise_table_finish(&t);
}
END_TEST

/* No two lists of strings are the same by where they are cut. */
START_TEST(hashes_know_where_strings_end)
{
    ck_assert_uint_ne(mortise_hash_strs("a", "bc"),
                      mortise_hash_strs("ab", "c"));
    ck_assert_uint_ne(mortise_hash_strs("", "a"), mortise_hash_strs("a", ""));
    ck_assert_uint_ne(mortise_hash_u64s(1, 2), mortise_hash_u64s(2, 1));
}
END_TEST

/* A compiler of one level more than it may have. */
struct descent {
    struct mortise_escape escape;
    struct mortise_arena arena;
    struct mortise_err err;
    int depth, most;
};

static void descend(void *arg)
{
    struct descent *d = arg;

    mortise_escape_alloc(&d->escape, &d->arena, 1, 100);
    if (d->depth == d->most)
        return;
    if (++d->depth == 20)
        mortise_escape(&d->escape,
                       mortise_fail(&d->err, MORTISE_EINVAL, "too deep"));
    descend(d);
    d->depth--;
}

/* Who is left ends at once, with the code that was said; else all return. */
START_TEST(failures_leave_by_one_door)
{
    struct descent d = {.most = 19};

    d.escape.err = &d.err;
    mortise_arena_init(&d.arena, &mortise_heap);
    ck_assert_int_eq(mortise_escape_catch(&d.escape, descend, &d), MORTISE_OK);
    ck_assert_int_eq(d.depth, 0);
    d.most = 21;
    ck_assert_int_eq(mortise_escape_catch(&d.escape, descend, &d),
                     MORTISE_EINVAL);
    ck_assert_int_eq(d.depth, 20);
    ck_assert_str_eq(d.err.msg, "too deep");
    mortise_arena_finish(&d.arena);
}
END_TEST

/* A HOME that is not there is nobody's: the one of the passwd entry counts. */
START_TEST(a_home_that_is_not_there)
{
    const struct passwd *me = getpwuid(geteuid());
    struct mortise_err err = {0};
    char dir[PATH_MAX] = "", want[PATH_MAX], *state, *home;
    int rv;

    if (me == NULL)
        return; /* a user without an entry has HOME alone */
    snprintf(want, sizeof want, "%s/.local/state/mortise", me->pw_dir);
    state = strdup(getenv("XDG_STATE_HOME"));
    home = getenv("HOME") != NULL ? strdup(getenv("HOME")) : NULL;
    unsetenv("XDG_STATE_HOME");
    setenv("HOME", "/no/such/home", 1);
    rv = mortise_userdir_get(dir, &err);
    setenv("XDG_STATE_HOME", state, 1);
    if (home != NULL)
        setenv("HOME", home, 1);
    else
        unsetenv("HOME");
    free(state);
    free(home);
    ck_assert_msg(rv == MORTISE_OK ? strcmp(dir, want) == 0
                                   : strstr(err.msg, me->pw_dir) != NULL,
                  "not %s: %s%s", want, dir, err.msg);
}
END_TEST

/* A search on PATH gives each executable file, in the order of the directories.  An
 * empty entry is the working directory, and a name that is too long is none. */
START_TEST(files_on_path)
{
    char dir[64], list[512], name[128], out[128];
    const char *path = list;

    snprintf(dir, sizeof dir, "%s", test_mkdir());
    snprintf(list, sizeof list, "%s/none:%s::%s/", dir, dir, dir);
    snprintf(name, sizeof name, "%s/tool", dir);
    test_write(name, "", 0);
    ck_assert(!mortise_file_find_on_path(&path, "tool", out, sizeof out));
    ck_assert_str_eq(path, "");
    ck_assert_int_eq(chmod(name, 0700), 0);
    path = list;
    ck_assert(mortise_file_find_on_path(&path, "tool", out, sizeof out));
    ck_assert_str_eq(out, name);
    ck_assert(mortise_file_find_on_path(&path, "tool", out, sizeof out));
    ck_assert_str_eq(strrchr(out, '/') - 1, "//tool");
    ck_assert(!mortise_file_find_on_path(&path, "tool", out, sizeof out));
    path = list;
    ck_assert(!mortise_file_find_on_path(&path, "tool", out, 8));
    path = ":/none";
    ck_assert(mortise_file_find_on_path(&path, "tests", out, sizeof out));
    ck_assert_str_eq(out, "./tests");
    path = NULL;
    ck_assert(!mortise_file_find_on_path(&path, "tool", out, sizeof out));
    test_rmdir(dir);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("base");
    TCase *tc = tcase_create("base");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_add_test(tc, the_version_is_one);
    tcase_add_test(tc, doing_prefixes_and_keeps_the_code);
    tcase_add_test(tc, a_long_message_stays_utf8);
    tcase_add_test(tc, errno_becomes_words_and_a_code);
    tcase_add_test(tc, every_result_has_a_name);
    tcase_add_test(tc, records_round_trip_and_never_overrun);
    tcase_add_test(tc, a_buffer_survives_oom);
    tcase_add_test(tc, an_arena_hands_out_clean_memory);
    tcase_add_test(tc, a_digest_of_fields_keeps_them_apart);
    tcase_add_test(tc, digest_is_blake2b_256);
    tcase_add_test(tc, uuids_are_version_7);
    tcase_add_test(tc, times_are_rfc3339);
    tcase_add_test(tc, waits_end_later);
    tcase_add_loop_test(tc, table_finds_what_is_there, 0, 3);
    tcase_add_test(tc, hashes_know_where_strings_end);
    tcase_add_test(tc, failures_leave_by_one_door);
    tcase_add_test(tc, a_home_that_is_not_there);
    tcase_add_test(tc, files_on_path);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
