/* usage.h -- add up the usage of model calls, and convert it from and to JSON.
 *
 * Money is counted in whole nano-dollars (1 USD = 1e9), so sums are exact and
 * do not depend on their order.  JSON has a decimal number of dollars, as
 * people and price lists do.  Up to MORTISE_USAGE_MAX, each amount has a
 * distinct decimal, which converts back to the same amount.
 *
 *     {"model_calls": 1, "input_tokens": 812, "output_tokens": 90,
 *      "usd": 0.000214, "models": ["small-1"]}
 *
 * One thread at a time. [any] */
#ifndef MORTISE_JSON_USAGE_H
#define MORTISE_JSON_USAGE_H

#include "core/json/value.h"

#define MORTISE_USAGE_MAX 1000000000000000 /* of each amount */

enum {
    MORTISE_USAGE_MODELS = 16,    /* number of names */
    MORTISE_USAGE_NAME_MAX = 128, /* bytes of a name */
    MORTISE_NANO = 1000000000
};

enum mortise_usage_amount {
    MORTISE_USED_CALLS,
    MORTISE_USED_INPUT,
    MORTISE_USED_OUTPUT,
    MORTISE_USED_USD, /* in nano-dollars */
    /* Parts of the amounts above, if reported: input tokens read from a
     * server's cache, input tokens written to it, and output tokens used for
     * reasoning. */
    MORTISE_USED_CACHED,
    MORTISE_USED_CACHE_WRITE,
    MORTISE_USED_REASONING,
    MORTISE_USED_N
};

/* The usage of model calls.  A struct with all zeros means no usage, and needs
 * no mortise_usage_finish(). */
struct mortise_usage {
    uint64_t amount[MORTISE_USED_N];
    /* distinct names, in order of appearance; NULL: none */
    json_t *models;
    /* The usage per model, {NAME: [amount ...]}; NULL: none.  Only sums have
     * it. */
    json_t *by_model;
    /* the usage may be higher: a reported amount was invalid */
    bool unclear;
};

/* The most that one operation may use. */
struct mortise_usage_bound {
    /* the operation declares a bound; false: it has no usage */
    bool present;
    bool said[MORTISE_USED_N];
    uint64_t most[MORTISE_USED_N];
};

/* "model_calls" etc. */
const char *mortise_usage_amount_name(enum mortise_usage_amount what);

void mortise_usage_finish(struct mortise_usage *u);
/* Are all amounts 0 and nothing unclear?  Names do not count. */
bool mortise_usage_is_empty(const struct mortise_usage *u);

/* Parse the usage that a plugin reports: {model_calls?, input_tokens?,
 * output_tokens?, usd?, cached_tokens?, cache_write_tokens?, reasoning_tokens?,
 * model?}. MORTISE_EINVAL: *u has the valid members and is unclear.  Call
 * mortise_usage_finish() in any case. */
int mortise_usage_parse(struct mortise_usage *u, const json_t *said,
                        struct mortise_err *err);
/* Nano-dollars from 0 to 1000000 dollars. */
uint64_t mortise_usd_to_nano(double usd);
/* Parse a decimal number of dollars, 0 to 1000000, rounded to a nano-dollar;
 * false: invalid. */
bool mortise_usd_parse(uint64_t *nano, const json_t *value);
json_t *mortise_usd_to_json(uint64_t nano);

/* Add amounts and names to *to.  Amounts saturate at MORTISE_USAGE_MAX.
 * MORTISE_ENOMEM: a name is missing. */
int mortise_usage_add(struct mortise_usage *to,
                      const struct mortise_usage *more);
/* Subtract each amount, down to 0. */
void mortise_usage_subtract(struct mortise_usage *from,
                            const struct mortise_usage *by);

/* The JSON for users: mortise_usage_to_json() and, if there is any,
 * `by_model`: {NAME: {model_calls, input_tokens, output_tokens, usd}}.
 * NULL: out of memory. */
json_t *mortise_usage_to_user_json(const struct mortise_usage *u);

/* The JSON form above, with the first four amounts and the others if not 0: a
 * new reference, NULL if out of memory. mortise_usage_from_json() converts back:
 * MORTISE_EINVAL if the value has another form. */
json_t *mortise_usage_to_json(const struct mortise_usage *u);
int mortise_usage_from_json(struct mortise_usage *u, const json_t *value,
                            struct mortise_err *err);

#endif
