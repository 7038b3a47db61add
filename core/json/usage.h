/* usage.h -- what calls of models cost: counted, and as JSON.
 *
 * Money is counted in whole nano-dollars (1 USD = 1e9): sums are exact, and the
 * same in whatever order they are made.  In JSON it is a decimal of dollars, as
 * people and price lists have it; up to MORTISE_USAGE_MAX of anything every
 * amount has a decimal of its own and comes back from it as it was.
 *
 *     {"model_calls": 1, "input_tokens": 812, "output_tokens": 90,
 *      "usd": 0.000214, "models": ["small-1"]}
 *
 * One thread at a time.  [any] */
#ifndef MORTISE_JSON_USAGE_H
#define MORTISE_JSON_USAGE_H

#include "core/json/value.h"

#define MORTISE_USAGE_MAX 1000000000000000 /* of each */

enum {
    MORTISE_USAGE_MODELS = 16,    /* names that are kept */
    MORTISE_USAGE_NAME_MAX = 128, /* bytes of one */
    MORTISE_NANO = 1000000000
};

enum mortise_used {
    MORTISE_USED_CALLS,
    MORTISE_USED_INPUT,
    MORTISE_USED_OUTPUT,
    MORTISE_USED_USD, /* nano-dollars */
    /* Parts of those above, as far as somebody said: of the input, what came
     * from a server's cache, and what was put there; of the output, what was
     * reasoned. */
    MORTISE_USED_CACHED,
    MORTISE_USED_CACHE_WRITE,
    MORTISE_USED_REASONING,
    MORTISE_USED_N
};

struct mortise_usage { /* all zero: nothing; then there is nothing to finish */
    uint64_t amount[MORTISE_USED_N];
    json_t *models; /* distinct names, the first that came; NULL: none */
    /* Of these, {NAME: [amount ...]}: what was told with one name; NULL: none.
     * A sum alone has it. */
    json_t *by_model;
    bool unclear; /* it may be more: an amount that was reported is none */
};

/* What an operation may use at most. */
struct mortise_usage_bound {
    bool present; /* it says something of that; else it uses nothing */
    bool said[MORTISE_USED_N];
    uint64_t most[MORTISE_USED_N];
};

/* "model_calls" and so on. */
const char *mortise_used_name(enum mortise_used what);

void mortise_usage_finish(struct mortise_usage *u);
/* No amount, and nothing is unclear: a name alone is nothing. */
bool mortise_usage_is_none(const struct mortise_usage *u);

/* What a plugin says: {model_calls?, input_tokens?, output_tokens?, usd?,
 * cached_tokens?, cache_write_tokens?, reasoning_tokens?, model?}.
 * MORTISE_EINVAL in words: *u then has the members that are valid, and is
 * unclear.  Finish *u in any case. */
int mortise_usage_parse(struct mortise_usage *u, const json_t *said,
                        struct mortise_err *err);
/* Of dollars from 0 to 1000000. */
uint64_t mortise_usd_nano(double usd);
/* A decimal of dollars, 0 to 1000000, rounded to the next nano-dollar; false:
 * it is none. */
bool mortise_usd_parse(uint64_t *nano, const json_t *value);
json_t *mortise_usd_json(uint64_t nano);

/* Each amount and each name more; an amount stops at MORTISE_USAGE_MAX.
 * MORTISE_ENOMEM: a name is missing. */
int mortise_usage_add(struct mortise_usage *to,
                      const struct mortise_usage *more);
/* Each amount less, down to 0. */
void mortise_usage_less(struct mortise_usage *from,
                        const struct mortise_usage *by);

/* What people see: the form below, and `by_model`: {NAME: {model_calls,
 * input_tokens, output_tokens, usd}}, if there is any.  NULL: memory ran out. */
json_t *mortise_usage_shown(const struct mortise_usage *u);

/* The form above, with the first four amounts and what is there of the others:
 * a new reference, NULL when memory ran out; and back.  MORTISE_EINVAL when it
 * is not of that form. */
json_t *mortise_usage_json(const struct mortise_usage *u);
int mortise_usage_read(struct mortise_usage *u, const json_t *value,
                       struct mortise_err *err);

#endif
