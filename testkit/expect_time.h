/* expect_time.h -- how long a case took, and what of it was beside what. */
#ifndef MORTISE_TESTKIT_EXPECT_TIME_H
#define MORTISE_TESTKIT_EXPECT_TIME_H

#include "testkit/cases/casefile.h"

/* A finding for each expectation about time that the outcome (rehearse.h) does
 * not meet. */
void mortise_expect_times(const struct mortise_case_expect *e,
                          const json_t *outcome, struct mortise_diags *diags);

#endif
