/* found.h -- check the answers of discovery plugins, and merge several answers.
 * <mortise/discovery.h> has the rules for plugin authors. */
#ifndef MORTISE_ENGINE_COMMON_FOUND_H
#define MORTISE_ENGINE_COMMON_FOUND_H

#include <stddef.h>

#include "core/base/err.h"
#include "core/json/value.h"

enum {
    MORTISE_FOUND_MAX = 100,     /* results of one question */
    MORTISE_FOUND_TOKENS = 4000, /* default limit for their texts */
    MORTISE_FOUND_TOKENS_MAX = 1000000
};

/* Is `word` a kind of result, or (`or_any`) "any"? */
bool mortise_found_is_kind(const char *word, bool or_any);

/* Is `output` a valid answer to `request`?  MORTISE_EINVAL: no, and `why` has
 * the reason.  MORTISE_OK: *out, a new reference, is its list of results in the
 * same order, with unknown members removed. */
int mortise_found_check(json_t **out, const json_t *request,
                        const json_t *output, struct mortise_err *why);

/* The same for the answer of list(): *out is {KEY: {digest, entry}}. */
int mortise_found_check_entries(json_t **out, const json_t *output,
                                struct mortise_err *why);

/* Merge n lists, each from mortise_found_check() or NULL (no answer).  NULL:
 * out of memory. */
json_t *mortise_found_merge(const json_t *request, json_t *const *lists,
                            size_t n);

#endif
