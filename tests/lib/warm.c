/* warm.c -- what libraries keep for good once they were used. */
#include "lib/warm.h"

#include <check.h>
#include <leveldb/c.h>
#include <stdio.h>
#include <uv.h>

void warm_leveldb(const char *dir)
{
    leveldb_options_t *o = leveldb_options_create();
    leveldb_writeoptions_t *w = leveldb_writeoptions_create();
    char warm[4096 + 8], *said = NULL;
    leveldb_t *db;

    snprintf(warm, sizeof warm, "%s/warm", dir);
    leveldb_options_set_create_if_missing(o, 1);
    db = leveldb_open(o, warm, &said);
    ck_assert_ptr_null(said);
    leveldb_put(db, w, "k", 1, "v", 1, &said);
    leveldb_compact_range(db, NULL, 0, NULL, 0);
    leveldb_close(db);
    leveldb_writeoptions_destroy(w);
    leveldb_options_destroy(o);
}

void warm_libuv(void)
{
    uv_loop_t loop;

    ck_assert_int_eq(uv_loop_init(&loop), 0);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
}
