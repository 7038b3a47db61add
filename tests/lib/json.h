/* json.h -- jansson's heap through test_mem: counted, and refused with the
 * rest by test_mem_fail_at(). */
#ifndef TEST_JSON_H
#define TEST_JSON_H

/* Behind test_begin(), before the first value; from then on
 * test_nothing_left() also asserts that no JSON value stays. */
void test_count_json(void);

#endif
