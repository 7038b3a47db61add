/* junit.h -- write the report of `mortise test` as JUnit XML. */
#ifndef MORTISE_TESTKIT_JUNIT_H
#define MORTISE_TESTKIT_JUNIT_H

#include <jansson.h>

#include "core/base/buf.h"

/* Append the document; `report` is the output of `mortise test --json`.  The
 * cases of one file become a testsuite; the findings of a case are the lines
 * of its failure. */
void mortise_junit_write(struct mortise_buf *b, const json_t *report);

#endif
