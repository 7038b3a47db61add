/* junit.h -- the report of `mortise test` as JUnit XML, which CI systems read. */
#ifndef MORTISE_TESTKIT_JUNIT_H
#define MORTISE_TESTKIT_JUNIT_H

#include <jansson.h>

#include "core/base/buf.h"

/* Append the whole document; `report` is that of `mortise test --json`.  A file's
 * cases are a testsuite, a finding a line of its case's failure. */
void mortise_junit_write(struct mortise_buf *b, const json_t *report);

#endif
