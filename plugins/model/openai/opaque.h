/* opaque.h -- members of a message or a call that only the server understands
 * (signatures, details of what was reasoned): kept as they come, for the way
 * back.
 *
 * A stream gives a member in pieces.  opaque_write() puts them together as
 * OpenAI's own clients do: strings are joined, objects member by member, and
 * elements of lists that have the same `index` and `type` are one element.  Of
 * names, ids, kinds, signatures, numbers and bools the last piece counts. */
#ifndef OPENAI_OPAQUE_H
#define OPENAI_OPAQUE_H

#include <stdbool.h>

#include <mortise/json.h>

#include "../../bytes.h"

struct opaque_member {
    struct bytes name;   /* as JSON */
    struct bytes values; /* JSON: a list without its closing bracket */
    size_t n;
};

/* Zeroed: there is none. */
struct opaque {
    struct opaque_member *list;
    size_t n;
    uint64_t bytes;
};

void opaque_finish(struct opaque *o);

/* Keep each member of the object but those named in `known` (NULL behind the
 * last), null, and what is empty.  MORTISE_S_NOMEM. */
mortise_status opaque_take(struct opaque *o, mortise_jv object,
                           const char *const *known);

/* A member `name` with an object of all that was kept; nothing where that is
 * nothing, or no JSON that a host takes.  MORTISE_S_NOMEM. */
mortise_status opaque_write(mortise_jw *w, const char *name,
                            const struct opaque *o);

#endif
