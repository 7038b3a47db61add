/* traces.h -- what is asked of a memory, and what it answers, judged by
 * <mortise/memory.h>.  [any] */
#ifndef MORTISE_ENGINE_COMMON_TRACES_H
#define MORTISE_ENGINE_COMMON_TRACES_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/plugin/manifest.h"

/* What `scope` and `type` may be; NULL ends them. */
extern const char *const mortise_trace_scopes[], *const mortise_trace_types[];

/* Is that a trace to be written?  MORTISE_EINVAL: what is wrong, and the name of
 * the member that is, which lives as long as the trace; NULL: the whole. */
int mortise_trace_check(const json_t *trace, const char **wrong,
                        struct mortise_err *err);
/* Is that a body of read(), write() or forget() (`kind`), but for `tenant` and
 * `now`, which are the host's?  `m` is the memory's manifest, which says whether
 * it has as_of.  MORTISE_EINVAL: it is not, and what is wrong. */
int mortise_traces_check(const struct mortise_manifest *m,
                         const struct mortise_call_kind *kind,
                         const json_t *body, struct mortise_err *err);
/* Is that an answer to it?  No trace is there that was not asked for. */
int mortise_traces_judge(const struct mortise_call_kind *kind,
                         const json_t *body, const json_t *answer,
                         struct mortise_err *err);
/* The whole body: a copy, with the tenant and the time.  NULL: memory ran out. */
json_t *mortise_traces_body(const json_t *body, const char *tenant,
                            uint64_t now_ms);

#endif
