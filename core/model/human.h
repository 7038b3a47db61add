/* human.h -- the data of a human node: for the files that read and run such
 * nodes. */
#ifndef MORTISE_MODEL_HUMAN_H
#define MORTISE_MODEL_HUMAN_H

#include "core/model/graph.h"

enum mortise_on_timeout {
    MORTISE_TIMEOUT_ERROR, /* the default */
    MORTISE_TIMEOUT_ACCEPT,
    MORTISE_TIMEOUT_REJECT,
    MORTISE_TIMEOUT_GOTO
};

struct mortise_human { /* `own` of its node */
    struct mortise_tmpl *prompt;
    struct mortise_schema *answer_schema;
    const char *const *assignees;
    size_t n_assignees;
    uint64_t wait_ms;              /* 0: no limit */
    struct mortise_tmpl *wait;     /* a template instead; NULL: none */
    bool auto_accept, auto_reject; /* no person is asked */
    const char *auto_reason;       /* the reason of auto_reject; may be "" */
    bool trusts_auto_accept;       /* guardrail_override: false */
    enum mortise_on_timeout on_timeout;
    struct mortise_tmpl *criteria; /* the judge, a model, decides by them */
    double threshold;              /* the confidence, from 0 to 1, that the
                                    * judge needs */
};

#endif
