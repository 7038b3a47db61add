/* test.h -- what every test program shares.
 *
 * A test file ends with `int main(void) { return test_run(suite()); }`.
 * test_mem counts blocks and can refuse any allocation; test_nothing_left()
 * is the teardown that asserts that no block, descriptor or thread stays. */
#ifndef TEST_H
#define TEST_H

#include <check.h>

#include <stdbool.h>

#include "core/base/mem.h"

/* Runs it (CK_ENV verbosity) and returns what main should. */
int test_run(Suite *s);

/* The counting allocator. */
extern const struct mortise_mem test_mem;
/* Refuse the nth allocation (from 0) and every later one; -1: none. */
void test_mem_fail_at(int n);
/* Did the last fail_at() refuse anything? */
bool test_mem_failed(void);
size_t test_mem_blocks(void);

/* setup: remember descriptors and threads, disarm faults. */
void test_begin(void);
/* The test is to be over within so many seconds, or its process dies: for what
 * might wait for ever, also where Check gives a test no time (CK_FORK=no). */
void test_within(unsigned seconds);
/* teardown: blocks are 0, descriptors and threads as at test_begin(). */
void test_nothing_left(void);

/* A fresh directory under $TMPDIR, removed with all in it by
 * test_rmdir(); the string is static until the next call. */
const char *test_mkdir(void);
void test_rmdir(const char *dir);

/* A TCP port of 127.0.0.1 that nobody uses now, for a page that shows a fixed
 * one. */
int test_port(void);

/* Whole files; test_read gives malloc()ed bytes with a NUL behind. */
void test_write(const char *path, const void *p, size_t n);
char *test_read(const char *path, size_t *n);

#endif
