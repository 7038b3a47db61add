/* traces.h -- check requests to memory plugins and their answers against
 * <mortise/memory.h>.  [any] */
#ifndef MORTISE_ENGINE_COMMON_TRACES_H
#define MORTISE_ENGINE_COMMON_TRACES_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/plugin/manifest.h"

/* The values of `scope` and `type`; NULL ends each list. */
extern const char *const mortise_trace_scopes[], *const mortise_trace_types[];

/* Is this a valid trace to write?  MORTISE_EINVAL: no; *wrong is the name of
 * the offending member, which lives as long as the trace (NULL: the whole
 * trace). */
int mortise_trace_check(const json_t *trace, const char **wrong,
                        struct mortise_err *err);
/* Is this a valid body for read(), write() or forget() (`kind`)?  The host adds
 * `tenant` and `now`.  `m`, the memory's manifest, tells whether it supports
 * as_of.  MORTISE_EINVAL: the error. */
int mortise_traces_check_request(const struct mortise_manifest *m,
                                 const struct mortise_call_kind *kind,
                                 const json_t *body, struct mortise_err *err);
/* Is this a valid answer?  All its traces must match the request. */
int mortise_traces_check_answer(const struct mortise_call_kind *kind,
                                const json_t *body, const json_t *answer,
                                struct mortise_err *err);
/* A copy of the body with tenant and time.  NULL: out of memory. */
json_t *mortise_traces_make_body(const json_t *body, const char *tenant,
                                 uint64_t now_ms);

#endif
