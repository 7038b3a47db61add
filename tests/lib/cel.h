/* cel.h -- expressions over one name, `x`, in tests. */
#ifndef TESTS_LIB_CEL_H
#define TESTS_LIB_CEL_H

/* The expression gives this, as compact JSON, while x is `x` (JSON; NULL: there
 * is no such name). */
void test_cel_gives(const char *expr, const char *x, const char *want);
/* It fails, when it is compiled or when it is evaluated, with these words and
 * pointing at this part of it. */
void test_cel_fails(const char *expr, const char *x, const char *at,
                    const char *words);

#endif
