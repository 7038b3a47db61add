/* catalog.h -- a small catalogue without plugins behind it, for graphs:
 *
 *     text/lines   pure      {text} -> [string]           closed
 *     text/count   pure      {text, limit?} -> {n}        closed
 *     file/read    read      {path} -> {text}
 *     file/write   write     {path, text}; reconcile; 5 s
 *     pay/refund   external  anything
 *     guardrails   pii, pattern
 *     a memory that reads nothing as of an earlier time; no discovery
 */
#ifndef TEST_CATALOG_H
#define TEST_CATALOG_H

#include "core/model/catalog.h"

/* The schemas are compiled at the first call and kept until
 * test_catalog_finish(). */
const struct mortise_catalog *test_catalog(void);
void test_catalog_finish(void);

#endif
