/* found.h -- what discovery plugins found: is it an answer, and what several of
 * them come to.  <mortise/discovery.h> has the rules, for their authors. */
#ifndef MORTISE_ENGINE_COMMON_FOUND_H
#define MORTISE_ENGINE_COMMON_FOUND_H

#include <stddef.h>

#include "core/base/err.h"
#include "core/json/value.h"

enum {
    MORTISE_FOUND_MAX = 100,     /* results of one question */
    MORTISE_FOUND_TOKENS = 4000, /* of their texts, where nobody said */
    MORTISE_FOUND_TOKENS_MAX = 1000000
};

/* The kinds of what is found, or of what is asked for ("any", too). */
bool mortise_found_is_kind(const char *word, bool or_any);

/* Is `output` an answer to `request`?  MORTISE_EINVAL says why not; MORTISE_OK:
 * *out, a new reference, is its list, in its order, with the members that we
 * know and no others. */
int mortise_found_judge(json_t **out, const json_t *request,
                        const json_t *output, struct mortise_err *why);

/* The same of list()'s answer: *out is {KEY: {digest, entry}}. */
int mortise_found_judge_entries(json_t **out, const json_t *output,
                                struct mortise_err *why);

/* One list of n, each of which mortise_found_judge() passed, or is NULL: nobody
 * answered there.  NULL: memory ran out. */
json_t *mortise_found_fuse(const json_t *request, json_t *const *lists,
                           size_t n);

#endif
