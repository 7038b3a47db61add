/* path.h -- dot-paths into a JSON value, and copy-on-write updates.
 *
 * Syntax: member ("." member | "[" index "]" | "[" "\"" key "\"" "]")*, e.g.
 * artifacts["red-team"].notes[0].  A member is [A-Za-z_][A-Za-z0-9_-]*; in a
 * key, \" and \\ stand for a quote and a backslash.  At most MORTISE_PATH_STEPS
 * steps. [any] */
#ifndef MORTISE_JSON_PATH_H
#define MORTISE_JSON_PATH_H

#include "core/json/value.h"

enum { MORTISE_PATH_STEPS = 64 };

struct mortise_path_step {
    const char *key; /* NUL-terminated, or NULL for an index */
    size_t index;
};

struct mortise_path { /* lives in the arena given to mortise_path_parse() */
    struct mortise_path_step *steps;
    size_t n;
    const char *text; /* canonical spelling: a.b[0]["c d"] */
};

/* MORTISE_EINVAL with "column C: ..." if the text is not a path. */
int mortise_path_parse(struct mortise_path *out, struct mortise_arena *a,
                       const char *text, size_t n, struct mortise_err *err);

/* The value at `path`, borrowed; NULL: there is none. */
json_t *mortise_path_get(const json_t *root, const struct mortise_path *path);

/* The value at `path`, if it and all its parents have no other holder, so that
 * it may be changed in place.  Else NULL. */
json_t *mortise_path_get_unshared(json_t *root,
                                  const struct mortise_path *path);

/* Would mortise_path_set() accept this path? */
bool mortise_path_is_settable(const json_t *root,
                              const struct mortise_path *path);

/* Set `value` at `path` in *root; takes the reference, also on failure.
 * Containers with no other holder (reference count 1, all the way down) are
 * changed in place.  Shared ones are copied along the path first, so other
 * holders of the old root see no change.  Missing objects are made.  An index
 * must exist or equal the length (append).  The cost is the width of the copied
 * containers.  MORTISE_EINVAL: a step leads into a value that is not a
 * container of its kind.  After a failure, *root is unchanged. */
int mortise_path_set(json_t **root, const struct mortise_path *path,
                     json_t *value, struct mortise_err *err);

/* Is `a` a prefix of `b`, or equal to it? */
bool mortise_path_is_prefix(const struct mortise_path *a,
                            const struct mortise_path *b);
/* Compare step by step.  The paths that a path covers sort directly
 * after it. */
int mortise_path_compare(const struct mortise_path *a,
                         const struct mortise_path *b);
bool mortise_path_is_equal(const struct mortise_path *a,
                           const struct mortise_path *b);

#endif
