/* test_store_cache.c -- results that the store keeps: whose they are, how many
 * there are, and which go.  test_store_crash.c kills it meanwhile. */
#include <check.h>
#include <leveldb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/commits.h"
#include "lib/store_reader.h"
#include "lib/test.h"
#include "lib/warm.h"
#include "core/store/store.h"
#include "lib/store_now.h"

enum {
    AROUND = 2 * (1 + 8 + 2 + 1 + 32) + 1 + 4 + 1 + 8, /* a value, of "t" */
    MOST = 10 * (AROUND + 50)
};

static char dir[4096], path[4096 + 64];
static uint64_t seq; /* of the one run */

static void setup(void)
{
    snprintf(dir, sizeof dir, "%s", test_mkdir());
    warm_leveldb(dir);
    snprintf(path, sizeof path, "%s/store", dir);
    seq = 0;
    test_begin();
}

static void teardown(void)
{
    test_rmdir(dir);
    test_nothing_left();
}

static struct mortise_store *open_store(void)
{
    struct mortise_store *s;
    struct mortise_err err = {0};

    ck_assert_msg(mortise_store_open(&s, path, &test_mem, &err) == MORTISE_OK,
                  "%s", err.msg);
    mortise_store_set_cache_limit(s, MOST);
    return s;
}

/* A result of so many bytes, that says which it is. */
static struct mortise_cached_result *make(const char *name, size_t size)
{
    struct mortise_cached_result *c = calloc(1, sizeof *c);
    char *value = calloc(1, size + 1);

    memset(value, 'x', size);
    memcpy(value, name, strlen(name));
    mortise_digest(c->key, name, strlen(name));
    c->value = value;
    c->value_size = size;
    return c;
}

static void unmake(struct mortise_cached_result *c)
{
    free((char *)(uintptr_t)c->value);
    free(c);
}

static void write_with(struct mortise_store *s, const char *tenant,
                       const struct mortise_cached_result *list, size_t n)
{
    static struct made_commit m;
    struct mortise_commit *c = &m.c;
    char run[32];

    snprintf(run, sizeof run, "r%llu", (unsigned long long)++seq);
    make_commit(&m, tenant, run, 1, 10);
    m.c.cached = list;
    m.c.n_cached = n;
    ck_assert_int_eq(mortise_store_write(s, &c, 1, NULL), MORTISE_OK);
    ck_assert_int_eq(c->result, MORTISE_OK);
}

static void put(struct mortise_store *s, const char *tenant, const char *name,
                size_t size)
{
    struct mortise_cached_result *c = make(name, size);

    write_with(s, tenant, c, 1);
    unmake(c);
}

/* Is it there, whole, and itself? */
static bool has(struct mortise_store *s, const char *tenant, const char *name)
{
    uint8_t key[MORTISE_DIGEST];
    struct mortise_buf value;
    int rv;

    mortise_digest(key, name, strlen(name));
    mortise_buf_init(&value, &test_mem);
    rv = mortise_store_cached(s, tenant, key, &value, NULL);
    if (rv == MORTISE_OK)
        ck_assert(value.n >= strlen(name) &&
                  memcmp(value.p, name, strlen(name)) == 0);
    else
        ck_assert_int_eq(rv, MORTISE_ENOTFOUND);
    mortise_buf_finish(&value);
    return rv == MORTISE_OK;
}

static const char *numbered(int i)
{
    static char name[16];

    snprintf(name, sizeof name, "n%d", i);
    return name;
}

/* Everything holds that docs/format.md says, and there are so many. */
static void check_store(size_t n)
{
    struct reader_store r;

    ck_assert_msg(store_reader_read(&r, path) == 0, "%s", r.why);
    ck_assert_uint_eq(r.n_cached, n);
    store_reader_free(&r);
}

/* A result is its tenant's and its key's alone, over processes. */
START_TEST(results_are_a_tenants)
{
    struct mortise_store *s = open_store();

    ck_assert(!has(s, "t", "a"));
    put(s, "t", "a", 50);
    ck_assert(has(s, "t", "a"));
    ck_assert(!has(s, "t", "b"));
    ck_assert(!has(s, "", "a"));
    ck_assert(!has(s, "tt", "a"));
    mortise_store_close(s);
    s = open_store();
    ck_assert(has(s, "t", "a"));
    mortise_store_close(s);
    check_store(1);
}
END_TEST

/* There are never more bytes than allowed, and what goes are the oldest, also
 * in an opening that has put none itself so far. */
START_TEST(the_oldest_go_first)
{
    struct mortise_store *s = open_store();

    for (int i = 0; i < 40; i++) {
        put(s, "t", numbered(i), 50);
        ck_assert_int_eq(has(s, "t", numbered(i - 9)), i >= 9);
        ck_assert(!has(s, "t", numbered(i - 10)));
        if (i % 7 == 3)
            ck_assert_int_eq(mortise_store_reopen(s, NULL), MORTISE_OK);
    }
    mortise_store_close(s);
    check_store(10);
}
END_TEST

/* A large one drives out as many as its room takes, and no more. */
START_TEST(a_large_one_takes_its_room)
{
    struct mortise_store *s = open_store();

    for (int i = 0; i < 10; i++)
        put(s, "t", numbered(i), 50);
    put(s, "t", "large", 50 + 3 * (AROUND + 50));
    ck_assert(!has(s, "t", "n3"));
    ck_assert(has(s, "t", "n4"));
    ck_assert(has(s, "t", "large"));
    mortise_store_close(s);
    check_store(7);
}
END_TEST

/* One that could not fit alone is not kept, and drives nothing out; of a batch
 * with more than fits, what comes first is. */
START_TEST(what_cannot_fit_is_not_kept)
{
    struct mortise_store *s = open_store();
    struct mortise_cached_result list[25];

    put(s, "t", "a", 50);
    put(s, "t", "huge", MOST - AROUND + 1);
    ck_assert(has(s, "t", "a"));
    ck_assert(!has(s, "t", "huge"));
    put(s, "t", "all", MOST - AROUND);
    ck_assert(has(s, "t", "all"));
    ck_assert(!has(s, "t", "a"));
    for (int i = 0; i < 25; i++) {
        struct mortise_cached_result *c = make(numbered(i), 50);

        list[i] = *c;
        free(c);
    }
    write_with(s, "t", list, 25);
    for (int i = 0; i < 25; i++) {
        ck_assert_int_eq(has(s, "t", numbered(i)), i < 10);
        free((char *)(uintptr_t)list[i].value);
    }
    ck_assert(!has(s, "t", "all"));
    mortise_store_close(s);
    check_store(10);
}
END_TEST

/* A key that is put again stays as it was first until its time, then as it was
 * put last. */
START_TEST(put_twice_goes_twice)
{
    struct mortise_store *s = open_store();

    put(s, "t", "a", 50);
    for (int i = 0; i < 5; i++)
        put(s, "t", numbered(i), 50);
    put(s, "t", "a", 50);
    for (int i = 5; i < 13; i++)
        put(s, "t", numbered(i), 50);
    ck_assert(has(s, "t", "a"));
    ck_assert(!has(s, "t", "n3"));
    put(s, "t", "n13", 50);
    ck_assert(has(s, "t", "a"));
    put(s, "t", "n14", 50);
    ck_assert(!has(s, "t", "a"));
    mortise_store_close(s);
    check_store(10);
}
END_TEST

/* With less room than before, what is too much goes with the next. */
START_TEST(a_smaller_bound_takes_hold)
{
    struct mortise_store *s = open_store();

    for (int i = 0; i < 10; i++)
        put(s, "t", numbered(i), 50);
    mortise_store_close(s);
    s = open_store();
    mortise_store_set_cache_limit(s, MOST / 5);
    put(s, "t", "b", 50);
    ck_assert(has(s, "t", "n9"));
    ck_assert(!has(s, "t", "n8"));
    mortise_store_close(s);
    check_store(2);
}
END_TEST

/* What LevelDB has under a key changes to these bytes. */
static void spoil(unsigned char tag)
{
    leveldb_options_t *o = leveldb_options_create();
    leveldb_readoptions_t *ro = leveldb_readoptions_create();
    leveldb_writeoptions_t *wo = leveldb_writeoptions_create();
    char db_path[4096 + 80], *said = NULL, key[256];
    leveldb_iterator_t *it;
    leveldb_t *db;
    size_t n;

    snprintf(db_path, sizeof db_path, "%s/db", path);
    db = leveldb_open(o, db_path, &said);
    ck_assert_ptr_null(said);
    it = leveldb_create_iterator(db, ro);
    leveldb_iter_seek(it, (char *)&tag, 1);
    const char *at = leveldb_iter_key(it, &n);

    ck_assert_uint_le(n, sizeof key);
    memcpy(key, at, n);
    ck_assert_int_eq(key[0], (char)tag);
    leveldb_put(db, wo, key, n, "\1", 1, &said);
    ck_assert_ptr_null(said);
    leveldb_iter_destroy(it);
    leveldb_close(db);
    leveldb_readoptions_destroy(ro);
    leveldb_writeoptions_destroy(wo);
    leveldb_options_destroy(o);
}

/* A result that does not read is told as that, and harms nothing else. */
START_TEST(a_spoilt_result_is_told)
{
    struct mortise_store *s = open_store();
    uint8_t key[MORTISE_DIGEST];
    struct mortise_buf value;
    struct mortise_err err;

    put(s, "t", "a", 50);
    mortise_store_close(s);
    spoil('r');
    s = open_store();
    mortise_digest(key, "a", 1);
    mortise_buf_init(&value, &test_mem);
    ck_assert_int_eq(mortise_store_cached(s, "t", key, &value, &err),
                     MORTISE_ECORRUPT);
    ck_assert_str_eq(err.msg, "a cached result cannot be decoded");
    mortise_buf_finish(&value);
    put(s, "t", "b", 50);
    ck_assert(has(s, "t", "b"));
    mortise_store_close(s);
}
END_TEST

/* An age that does not read ends the write: by it we would delete. */
START_TEST(a_spoilt_age_is_loud)
{
    static struct made_commit m;
    struct mortise_commit *c = &m.c;
    struct mortise_store *s = open_store();
    struct mortise_err err;

    put(s, "t", "a", 50);
    mortise_store_close(s);
    spoil('o');
    s = open_store();
    make_commit(&m, "t", "other", 1, 10);
    m.c.cached = &m.cached;
    m.c.n_cached = 1;
    ck_assert_int_eq(mortise_store_write(s, &c, 1, &err), MORTISE_ECORRUPT);
    ck_assert_str_eq(err.msg, "the age of a result cannot be decoded");
    mortise_store_close(s);
}
END_TEST

/* Any allocation may fail, in putting, trimming and finding: then the write
 * failed, or the store is as it should be. */
START_TEST(memory_may_run_out)
{
    struct mortise_store *s = open_store();
    static struct made_commit m;
    struct mortise_commit *c = &m.c;
    struct mortise_cached_result *one = make("new", 50);
    int n = 0, rv;

    for (int i = 0; i < 10; i++)
        put(s, "t", numbered(i), 50);
    do {
        ck_assert_int_eq(mortise_store_reopen(s, NULL), MORTISE_OK);
        make_commit(&m, "t", "again", 1, 10);
        m.c.cached = one;
        m.c.n_cached = 1;
        test_mem_fail_at(n++);
        rv = mortise_store_write(s, &c, 1, NULL);
        test_mem_fail_at(-1);
        ck_assert(rv == MORTISE_OK || rv == MORTISE_ENOMEM);
        if (rv != MORTISE_OK)
            ck_assert_int_eq(mortise_store_reopen(s, NULL), MORTISE_OK);
        ck_assert_int_eq(has(s, "t", "new"), rv == MORTISE_OK);
        ck_assert_int_eq(has(s, "t", "n0"), rv != MORTISE_OK);
    } while (rv != MORTISE_OK);
    ck_assert_int_gt(n, 2);
    unmake(one);
    mortise_store_close(s);
    check_store(10);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("store_cache");
    TCase *tc = tcase_create("all");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, results_are_a_tenants);
    tcase_add_test(tc, the_oldest_go_first);
    tcase_add_test(tc, a_large_one_takes_its_room);
    tcase_add_test(tc, what_cannot_fit_is_not_kept);
    tcase_add_test(tc, put_twice_goes_twice);
    tcase_add_test(tc, a_smaller_bound_takes_hold);
    tcase_add_test(tc, a_spoilt_result_is_told);
    tcase_add_test(tc, a_spoilt_age_is_loud);
    tcase_add_test(tc, memory_may_run_out);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
