/* expect_time.h -- check the duration and parallelism of a case. */
#ifndef MORTISE_TESTKIT_EXPECT_TIME_H
#define MORTISE_TESTKIT_EXPECT_TIME_H

#include "testkit/cases/casefile.h"

/* Add a finding for each expectation about time that the outcome (rehearse.h)
 * does not meet. */
void mortise_expect_check_times(const struct mortise_case_expect *e,
                                const json_t *outcome,
                                struct mortise_diags *diags);

#endif
