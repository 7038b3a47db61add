/* spend.h -- the amounts of a graph's `budget`. */
#ifndef MORTISE_MODEL_SPEND_H
#define MORTISE_MODEL_SPEND_H

#include "core/json/usage.h"

enum mortise_spend { /* in the order of the table and of the output */
                     MORTISE_SPEND_TOOL_CALLS,
                     MORTISE_SPEND_WALL, /* ms; counted by clock.c */
                     MORTISE_SPEND_MODEL_CALLS,
                     MORTISE_SPEND_INPUT_TOKENS,
                     MORTISE_SPEND_OUTPUT_TOKENS,
                     MORTISE_SPEND_TOKENS, /* input and output */
                     MORTISE_SPEND_USD,    /* nano-dollars */
                     MORTISE_N_SPENDS
};

enum mortise_on_exceeded {
    MORTISE_EXCEEDED_PAUSE,
    MORTISE_EXCEEDED_FAIL,
    MORTISE_EXCEEDED_GOTO
};

struct mortise_budget {
    bool said[MORTISE_N_SPENDS]; /* false: no limit */
    uint64_t most[MORTISE_N_SPENDS];
    enum mortise_on_exceeded on_exceeded;
    uint32_t to;   /* GOTO: a node; a BUDGET edge leads there */
    bool unpriced; /* allow calls with an unknown price */
};

enum { MORTISE_SPEND_FIRST_USED = MORTISE_SPEND_MODEL_CALLS };

/* Copy usage into the amounts from MORTISE_SPEND_FIRST_USED on; `out` has
 * MORTISE_N_SPENDS elements. */
void mortise_spend_from_usage(uint64_t *out, const uint64_t *used);
/* Convert an amount to JSON (a whole number; usd as decimal dollars) and
 * back. */
json_t *mortise_spend_encode(enum mortise_spend what, uint64_t amount);
bool mortise_spend_decode(enum mortise_spend what, const json_t *value,
                          uint64_t *amount);

/* "tool_calls" and so on. */
const char *mortise_spend_name(enum mortise_spend what);
/* Find an amount by name; MORTISE_N_SPENDS: none. */
enum mortise_spend mortise_spend_find(const char *name);
bool mortise_budget_is_set(const struct mortise_budget *b);
const char *mortise_on_exceeded_name(enum mortise_on_exceeded how);

#endif
