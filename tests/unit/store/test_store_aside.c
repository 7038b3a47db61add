/* test_store_aside.c -- what an opening puts aside, and what it is good for:
 * databases that LevelDB itself made, looked at before it opens them again. */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <leveldb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/warm.h"
#include "core/store/leveldb/aside.h"
#include "core/store/leveldb/dbfile.h"
#include "core/store/leveldb/tables.h"

enum { ROUNDS = 5, KEYS = 40 };

static char dir[4096];
static int db = -1; /* the directory */
static struct mortise_err err;

/* ---- LevelDB -------------------------------------------------------------- */

static leveldb_t *ldb_open(void)
{
    leveldb_options_t *o = leveldb_options_create();
    char *said = NULL;
    leveldb_t *l;

    leveldb_options_set_create_if_missing(o, 1);
    leveldb_options_set_paranoid_checks(o, 1);
    l = leveldb_open(o, dir, &said);
    ck_assert_msg(said == NULL, "%s", said);
    leveldb_options_destroy(o);
    return l;
}

/* Keys of one round: some are new, some replace those of the last. */
static void put_round(leveldb_t *l, int round)
{
    leveldb_writeoptions_t *w = leveldb_writeoptions_create();
    char key[32], value[100], *said = NULL;

    for (int i = 0; i < KEYS; i++) {
        snprintf(key, sizeof key, "%05d", round * (KEYS / 2) + i);
        snprintf(value, sizeof value, "%d of round %d", i, round);
        leveldb_put(l, w, key, strlen(key), value, strlen(value), &said);
        ck_assert_ptr_null(said);
    }
    leveldb_writeoptions_destroy(w);
}

/* Whatever is in it, one line a key; to be freed. */
static char *contents(void)
{
    leveldb_t *l = ldb_open();
    leveldb_readoptions_t *r = leveldb_readoptions_create();
    leveldb_iterator_t *it = leveldb_create_iterator(l, r);
    char *all = calloc(1, 65536), *to = all;

    for (leveldb_iter_seek_to_first(it); leveldb_iter_valid(it);
         leveldb_iter_next(it)) {
        size_t k, v;
        const char *key = leveldb_iter_key(it, &k);
        const char *value = leveldb_iter_value(it, &v);

        ck_assert_int_lt(to - all, 65536 - 256);
        to += sprintf(to, "%.*s: %.*s\n", (int)k, key, (int)v, value);
    }
    leveldb_iter_destroy(it);
    leveldb_readoptions_destroy(r);
    leveldb_close(l);
    return all;
}

static void merge(void)
{
    leveldb_t *l = ldb_open();

    leveldb_compact_range(l, NULL, 0, NULL, 0);
    leveldb_close(l);
}

/* Each opening makes a table of what the one before left in the log. */
static void put_rounds(int from, int n)
{
    for (int round = from; round < from + n; round++) {
        leveldb_t *l = ldb_open();

        put_round(l, round);
        leveldb_close(l);
    }
}

/* A merged table, one that is not, and a log with records. */
static void setup(void)
{
    snprintf(dir, sizeof dir, "%s", test_mkdir());
    warm_leveldb(dir);
    test_begin();
    err = (struct mortise_err){0};
    put_rounds(0, ROUNDS);
    merge();
    put_rounds(ROUNDS, 2);
    db = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(db, 0);
}

static void teardown(void)
{
    close(db);
    test_rmdir(dir);
    test_nothing_left();
}

/* ---- what is in the directory --------------------------------------------- */

static const char *path_of(const char *name)
{
    static char path[4096 + 300];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

/* The names of a kind, those that are aside or those that are not; how many,
 * and the last of them in `name`. */
static int count(enum mortise_dbfile kind, bool aside, char name[256])
{
    DIR *d = opendir(dir);
    struct dirent *e;
    int n = 0;

    while ((e = readdir(d)) != NULL) {
        const char *was = mortise_aside_strip_prefix(e->d_name);

        if ((was != e->d_name) != aside || mortise_dbfile_kind(was) != kind)
            continue;
        if (name != NULL)
            snprintf(name, 256, "%s", e->d_name);
        n++;
    }
    closedir(d);
    return n;
}

static void flip(const char *name, size_t at)
{
    size_t n;
    char *bytes = test_read(path_of(name), &n);

    ck_assert_uint_lt(at, n);
    bytes[at] ^= 0x40;
    test_write(path_of(name), bytes, n);
    free(bytes);
}

static void take(void)
{
    ck_assert_msg(mortise_aside_save(db, &test_mem, &err) == MORTISE_OK, "%s",
                  err.msg);
}

static bool is_whole(void)
{
    bool whole;

    ck_assert_int_eq(mortise_aside_is_complete(db, &whole, &test_mem, &err),
                     MORTISE_OK);
    return whole;
}

static bool tables_stay(void)
{
    bool stay;

    ck_assert_int_eq(mortise_tables_are_stable(db, &stay, &test_mem, &err),
                     MORTISE_OK);
    return stay;
}

/* ---- what LevelDB's MANIFEST names ------------------------------------------
 */

static void names_what_is_there(void)
{
    struct mortise_tables t;
    char manifest[256], name[64];

    ck_assert(mortise_dbfile_read_current(db, "CURRENT", manifest));
    ck_assert_int_eq(mortise_tables_read(&t, db, manifest, &test_mem, &err),
                     MORTISE_OK);
    ck_assert_int_eq((int)t.n, count(MORTISE_DBFILE_TABLE, false, NULL));
    for (size_t i = 0; i < t.n; i++) {
        snprintf(name, sizeof name, "%06llu.ldb",
                 (unsigned long long)t.list[i].number);
        ck_assert_msg(access(path_of(name), F_OK) == 0, "%s", name);
    }
    mortise_tables_free(&t);
}

START_TEST(a_manifest_names_its_tables)
{
    names_what_is_there();
    ck_assert_int_gt(count(MORTISE_DBFILE_TABLE, false, NULL), 1);
    merge(); /* with tables that are gone, and where a level was merged to */
    names_what_is_there();
    ck_assert_int_gt(count(MORTISE_DBFILE_TABLE, false, NULL), 0);
}
END_TEST

/* Cut at any byte it names fewer, or does not read; and it never reads with a
 * byte changed. */
START_TEST(a_manifest_with_damage)
{
    struct mortise_tables t;
    char name[MORTISE_DBFILE_NAME];
    size_t n;
    char *whole;

    ck_assert(mortise_dbfile_read_current(db, "CURRENT", name));
    whole = test_read(path_of(name), &n);
    for (size_t i = 0; i < n; i++) {
        test_write(path_of(name), whole, i);
        ck_assert_msg(!tables_stay(), "cut at %zu", i);
        test_write(path_of(name), whole, n);
        flip(name, i);
        ck_assert_int_eq(mortise_tables_read(&t, db, name, &test_mem, &err),
                         MORTISE_ECORRUPT);
        mortise_tables_free(&t);
        ck_assert_msg(!tables_stay(), "changed at %zu", i);
    }
    test_write(path_of(name), whole, n);
    ck_assert(tables_stay());
    free(whole);
}
END_TEST

/* ---- what an opening puts aside --------------------------------------------
 */

/* However many tables there are. */
START_TEST(what_is_whole_needs_no_tables_aside)
{
    take();
    ck_assert(is_whole());
    ck_assert_int_eq(count(MORTISE_DBFILE_CURRENT, true, NULL), 1);
    ck_assert_int_eq(count(MORTISE_DBFILE_MANIFEST, true, NULL), 1);
    ck_assert_int_eq(count(MORTISE_DBFILE_LOG, true, NULL), 1);
    ck_assert_int_eq(count(MORTISE_DBFILE_TABLE, true, NULL), 0);
}
END_TEST

/* A length: LevelDB takes it for the end, and what follows is gone. */
static void damage_log(void)
{
    char name[256];

    count(MORTISE_DBFILE_LOG, false, name);
    flip(name, 5);
}

START_TEST(a_damaged_log_needs_no_tables_aside)
{
    damage_log();
    take();
    ck_assert(is_whole());
    ck_assert_int_eq(count(MORTISE_DBFILE_TABLE, true, NULL), 0);
}
END_TEST

static void endanger(int how)
{
    char name[256];

    switch (how) {
    case 0: /* it does not know that one */
        test_write(path_of("000777.ldb"), "x", 1);
        return;
    case 1: /* which may be the one that counts */
        test_write(path_of("MANIFEST-000777"), "", 0);
        return;
    case 2: /* it will not open; who mends it needs the others */
        count(MORTISE_DBFILE_TABLE, false, name);
        ck_assert_int_eq(unlink(path_of(name)), 0);
        return;
    case 3: /* its log makes one too many in level 0 */
        put_rounds(ROUNDS + 2, 2);
        return;
    default: /* ... or more than one */
        count(MORTISE_DBFILE_LOG, false, name);
        ck_assert_int_eq(truncate(path_of(name), 400000), 0);
    }
}

START_TEST(what_is_in_danger_is_aside)
{
    int tables;

    endanger(_i);
    tables = count(MORTISE_DBFILE_TABLE, false, NULL);
    take();
    ck_assert(is_whole());
    ck_assert_int_gt(tables, 0);
    ck_assert_int_eq(count(MORTISE_DBFILE_TABLE, true, NULL), tables);
}
END_TEST

/* ---- what it is good for --------------------------------------------------- */

static void put_back(void)
{
    ck_assert_msg(mortise_aside_restore(db, &test_mem, &err) == MORTISE_OK,
                  "%s", err.msg);
    ck_assert_int_eq(count(MORTISE_DBFILE_CURRENT, true, NULL), 0);
    ck_assert_int_eq(count(MORTISE_DBFILE_MANIFEST, true, NULL), 0);
}

/* Opened, and nothing but that: all is as it was. */
START_TEST(an_opening_is_undone)
{
    size_t n, m;
    char name[256], *log, *again;

    if (_i == 1)
        damage_log();
    count(MORTISE_DBFILE_LOG, false, name);
    log = test_read(path_of(name), &n);
    take();
    leveldb_close(ldb_open());
    ck_assert_int_ne(access(path_of(name), F_OK), 0);
    put_back();
    again = test_read(path_of(name), &m);
    ck_assert_uint_eq(n, m);
    ck_assert_int_eq(memcmp(log, again, n), 0);
    free(log);
    free(again);
}
END_TEST

/* A merge came between, and with it the tables went that are not aside: what
 * was made of them counts, for whoever looks and whoever puts back, and for the
 * next opening, which puts that aside. */
START_TEST(what_was_merged_is_not_undone)
{
    char *all = contents(), *after;

    take();
    merge();
    ck_assert(!is_whole());
    if (_i == 0)
        put_back();
    else
        take();
    ck_assert_int_eq(is_whole(), _i == 1);
    after = contents();
    ck_assert_str_eq(all, after);
    free(all);
    free(after);
}
END_TEST

/* ... but is where the tables are aside. */
START_TEST(what_was_aside_is_put_back_after_a_merge)
{
    char all[256], again[256];

    endanger(1);
    count(MORTISE_DBFILE_TABLE, false, all);
    take();
    merge();
    ck_assert(is_whole());
    ck_assert_int_ne(access(path_of(all), F_OK), 0);
    put_back();
    ck_assert_int_eq(access(path_of(all), F_OK), 0);
    ck_assert(mortise_dbfile_read_current(db, "CURRENT", again));
    ck_assert_int_eq(access(path_of(again), F_OK), 0);
}
END_TEST

/* ---- a table's second name outlives the opening ---------------------------- */

static void drop_aside(void)
{
    ck_assert_msg(mortise_aside_drop(db, &err) == MORTISE_OK, "%s", err.msg);
    ck_assert(!is_whole());
    ck_assert_int_eq(count(MORTISE_DBFILE_CURRENT, true, NULL), 0);
    ck_assert_int_eq(count(MORTISE_DBFILE_MANIFEST, true, NULL), 0);
    ck_assert_int_eq(count(MORTISE_DBFILE_LOG, true, NULL), 0);
}

static ino_t inode_of(const char *name)
{
    struct stat st;

    ck_assert_int_eq(stat(path_of(name), &st), 0);
    return st.st_ino;
}

/* The next opening finds it, and what is aside is as good as before. */
START_TEST(a_table_is_put_aside_once)
{
    struct stat before, after;
    char name[256];
    int tables;

    endanger(3);
    tables = count(MORTISE_DBFILE_TABLE, false, NULL);
    take();
    drop_aside();
    ck_assert_int_eq(count(MORTISE_DBFILE_TABLE, true, name), tables);
    ck_assert_int_eq(stat(path_of(name), &before), 0);
    take();
    ck_assert_int_eq(stat(path_of(name), &after), 0);
    ck_assert(before.st_ctim.tv_sec == after.st_ctim.tv_sec &&
              before.st_ctim.tv_nsec == after.st_ctim.tv_nsec);
    ck_assert(is_whole());
    merge();
    ck_assert_int_ne(access(path_of(mortise_aside_strip_prefix(name)), F_OK),
                     0);
    put_back();
    ck_assert_int_eq(access(path_of(mortise_aside_strip_prefix(name)), F_OK),
                     0);
    ck_assert_int_eq(count(MORTISE_DBFILE_TABLE, true, NULL), 0);
}
END_TEST

/* A name that some other file has is no second name, and a table that is gone
 * does not come back: it would be one that LevelDB removed. */
START_TEST(a_second_name_is_that_of_a_table_that_is_there)
{
    static const char gone[] = "aside.000003.ldb";
    char name[256];

    endanger(3);
    take();
    drop_aside();
    count(MORTISE_DBFILE_TABLE, true, name);
    ck_assert_str_ne(name, gone);
    ck_assert_int_eq(unlink(path_of(name)), 0);
    test_write(path_of(name), "another", 7);
    test_write(path_of(gone), "merged long ago", 15);
    take();
    ck_assert(is_whole());
    ck_assert_uint_eq(inode_of(name),
                      inode_of(mortise_aside_strip_prefix(name)));
    ck_assert_int_ne(access(path_of(gone), F_OK), 0);
}
END_TEST

/* Where none is in danger, none keeps a second name. */
START_TEST(second_names_go_when_no_merge_is_due)
{
    endanger(3);
    take();
    drop_aside();
    merge();
    ck_assert(tables_stay());
    take();
    ck_assert(is_whole());
    ck_assert_int_eq(count(MORTISE_DBFILE_TABLE, true, NULL), 0);
}
END_TEST

/* A table that somebody removed comes back by its second name; one that LevelDB
 * merged does not. */
START_TEST(a_removed_table_comes_back)
{
    char name[256];

    endanger(3);
    take();
    drop_aside();
    count(MORTISE_DBFILE_TABLE, true, name);
    ck_assert(!mortise_aside_is_last_link(db, name, &test_mem));
    ck_assert_int_eq(unlink(path_of(mortise_aside_strip_prefix(name))), 0);
    ck_assert(mortise_aside_is_last_link(db, name, &test_mem));
    take();
    ck_assert_int_eq(access(path_of(mortise_aside_strip_prefix(name)), F_OK),
                     0);
    drop_aside();
    merge();
    ck_assert(!mortise_aside_is_last_link(db, name, &test_mem));
    take();
    ck_assert_int_ne(access(path_of(mortise_aside_strip_prefix(name)), F_OK),
                     0);
}
END_TEST

/* What an opening made that is refused goes, tables too, and a log that was
 * replaced is the one it was. */
START_TEST(an_undone_opening_leaves_nothing)
{
    char log[256], *was, *is;
    int tables;
    size_t n, m;

    endanger(_i == 0 ? 3 : 1);
    tables = count(MORTISE_DBFILE_TABLE, false, NULL);
    count(MORTISE_DBFILE_LOG, false, log);
    was = test_read(path_of(log), &n);
    take();
    ck_assert_int_eq(unlink(path_of(log)), 0);
    test_write(path_of(log), "cut", 3);
    test_write(path_of("000999.ldb"), "half a merge", 12);
    put_back();
    ck_assert_int_eq(count(MORTISE_DBFILE_TABLE, false, NULL), tables);
    is = test_read(path_of(log), &m);
    ck_assert_uint_eq(n, m);
    ck_assert_mem_eq(was, is, n);
    free(was);
    free(is);
}
END_TEST

/* Swept are those that LevelDB removed, the others remain. */
START_TEST(a_sweep_frees_what_was_merged)
{
    char name[256];
    int tables;

    ck_assert(!mortise_aside_drop_removed(db));
    endanger(3);
    take();
    drop_aside();
    tables = count(MORTISE_DBFILE_TABLE, true, name);
    ck_assert(mortise_aside_drop_removed(db));
    ck_assert_int_eq(count(MORTISE_DBFILE_TABLE, true, NULL), tables);
    ck_assert_int_eq(renameat(db, mortise_aside_strip_prefix(name), db, "away"),
                     0);
    ck_assert(mortise_aside_drop_removed(db));
    ck_assert_int_eq(count(MORTISE_DBFILE_TABLE, true, NULL), tables - 1);
    ck_assert_int_eq(renameat(db, "away", db, mortise_aside_strip_prefix(name)),
                     0);
    merge();
    ck_assert(!mortise_aside_drop_removed(db));
    ck_assert_int_eq(count(MORTISE_DBFILE_TABLE, true, NULL), 0);
}
END_TEST

/* Without memory it says so, and the next attempt does it. */
START_TEST(without_memory)
{
    int rv = MORTISE_ENOMEM;

    for (int n = 0; rv == MORTISE_ENOMEM; n++) {
        test_mem_fail_at(n);
        rv = mortise_aside_save(db, &test_mem, &err);
        ck_assert(test_mem_failed() == (rv != MORTISE_OK));
    }
    test_mem_fail_at(-1);
    ck_assert_int_eq(rv, MORTISE_OK);
    ck_assert(is_whole());
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store: aside");
    TCase *tc = tcase_create("aside");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_manifest_names_its_tables);
    tcase_add_test(tc, a_manifest_with_damage);
    tcase_add_test(tc, what_is_whole_needs_no_tables_aside);
    tcase_add_test(tc, a_damaged_log_needs_no_tables_aside);
    tcase_add_loop_test(tc, what_is_in_danger_is_aside, 0, 5);
    tcase_add_loop_test(tc, an_opening_is_undone, 0, 2);
    tcase_add_loop_test(tc, what_was_merged_is_not_undone, 0, 2);
    tcase_add_test(tc, what_was_aside_is_put_back_after_a_merge);
    tcase_add_test(tc, a_table_is_put_aside_once);
    tcase_add_test(tc, a_second_name_is_that_of_a_table_that_is_there);
    tcase_add_test(tc, second_names_go_when_no_merge_is_due);
    tcase_add_test(tc, a_removed_table_comes_back);
    tcase_add_loop_test(tc, an_undone_opening_leaves_nothing, 0, 2);
    tcase_add_test(tc, a_sweep_frees_what_was_merged);
    tcase_add_test(tc, without_memory);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
