/* expect.h -- is what came out of a case what it expects? */
#ifndef MORTISE_TESTKIT_EXPECT_H
#define MORTISE_TESTKIT_EXPECT_H

#include "testkit/cases/casefile.h"

/* Is `got` what `want` says?  Objects have at least what is said of them; all
 * else is the same, numbers by their value. */
bool mortise_expect_fits(const struct mortise_yaml *want, const json_t *got);

/* A finding for each expectation that the outcome (rehearse.h) does not
 * meet, and for each problem that the run had. */
void mortise_expect_judge(const struct mortise_case *c, const json_t *outcome,
                          struct mortise_diags *diags);

/* Those of its problems alone, after a crash `where`; NULL: there was none. */
void mortise_expect_problems(const struct mortise_case *c,
                             const json_t *outcome, const char *where,
                             struct mortise_diags *diags);

/* A finding for each difference between a run and one that crashed `where`
 * ("before commit 3 was written"); false: there is one. */
bool mortise_expect_same(const struct mortise_case *c, const json_t *plain,
                         const json_t *crashed, const char *where,
                         struct mortise_diags *diags);

#endif
