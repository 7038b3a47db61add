/* policy.h -- the operations that graphs may call, and those that need
 * approval. */
#ifndef MORTISE_MODEL_POLICY_H
#define MORTISE_MODEL_POLICY_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/base/span.h"

/* Size of a buffer for PLUGIN/OPERATION; manifests and the lock limit its
 * length. */
enum { MORTISE_TOOL_MAX = 384 };

/* The prefix of the name under which a run pins the definition of
 * PLUGIN/OPERATION. */
#define MORTISE_TOOL_PIN_PREFIX "tool:"

struct mortise_pattern { /* of PLUGIN/OPERATION */
    const char *text;
    struct mortise_span at;
};

struct mortise_patterns {
    bool said;              /* false: not set */
    struct mortise_span at; /* its key */
    const struct mortise_pattern *list;
    size_t n;
};

struct mortise_policy {
    struct mortise_patterns allow; /* not set: everything is allowed */
    struct mortise_patterns ask, deny;
};

enum mortise_judgement { MORTISE_ALLOW = 1, MORTISE_ASK, MORTISE_DENY };

/* *by: the place of the pattern or list that decided, or NULL if none did. */
enum mortise_judgement mortise_policy_judge(const struct mortise_policy *p,
                                            const char *plugin, const char *op,
                                            const struct mortise_span **by);

/* The same for a call whose arguments name its object.  `judged_as` is the
 * operation with {ARGUMENT} for arguments in the name.  `tool` gets the name
 * that is judged.  A name that is too long or invalid is denied, with *by
 * NULL. */
enum mortise_judgement
mortise_policy_judge_call(const struct mortise_policy *p, const char *plugin,
                          const char *judged_as, const json_t *args,
                          char tool[MORTISE_TOOL_MAX],
                          const struct mortise_span **by);

/* MORTISE_EDENIED, with a message about the place that denies the name (NULL:
 * the name is invalid). */
int mortise_policy_report_denial(const char *tool,
                                 const struct mortise_span *by,
                                 struct mortise_err *why);

#endif
