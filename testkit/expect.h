/* expect.h -- compare the outcome of a case with its expectations. */
#ifndef MORTISE_TESTKIT_EXPECT_H
#define MORTISE_TESTKIT_EXPECT_H

#include "testkit/cases/casefile.h"

/* Does `got` match `want`?  An object may have members that `want` does not
 * list. Everything else must be equal; numbers are compared by value. */
bool mortise_expect_is_match(const struct mortise_yaml *want,
                             const json_t *got);

/* Add a finding for each expectation that the outcome (rehearse.h) does not
 * meet, and for each problem of the run. */
void mortise_expect_check(const struct mortise_case *c, const json_t *outcome,
                          struct mortise_diags *diags);

/* Add findings for the problems alone, after a crash `where`; NULL: without a
 * crash. */
void mortise_expect_report_problems(const struct mortise_case *c,
                                    const json_t *outcome, const char *where,
                                    struct mortise_diags *diags);

/* Add a finding for each difference between a run and the same run with a
 * crash `where` ("before commit 3 was written").  Returns false if they
 * differ. */
bool mortise_expect_check_same(const struct mortise_case *c,
                               const json_t *plain, const json_t *crashed,
                               const char *where, struct mortise_diags *diags);

#endif
