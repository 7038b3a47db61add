/* human.h -- what a human node says of its question: between who reads such
 * nodes and who runs them. */
#ifndef MORTISE_LANG_GRAPH_KINDS_HUMAN_H
#define MORTISE_LANG_GRAPH_KINDS_HUMAN_H

#include "core/model/graph.h"

enum mortise_on_timeout {
    MORTISE_TIMEOUT_ERROR, /* where it does not say */
    MORTISE_TIMEOUT_ACCEPT,
    MORTISE_TIMEOUT_REJECT,
    MORTISE_TIMEOUT_GOTO
};

struct mortise_human { /* `own` of its node */
    struct mortise_tmpl *prompt;
    struct mortise_schema *answer_schema;
    const char *const *assignees;
    size_t n_assignees;
    uint64_t wait_ms;              /* 0: for ever */
    struct mortise_tmpl *wait;     /* what gives it instead; NULL: nothing */
    bool auto_accept, auto_reject; /* nobody is asked */
    const char *auto_reason;       /* why rejected; "" */
    bool trusts_auto_accept;       /* guardrail_override: false */
    enum mortise_on_timeout on_timeout;
    struct mortise_tmpl *criteria; /* of who judges in a person's place, */
    double threshold;              /* and how sure it has to be, from 0 to 1 */
};

#endif
