/* path.h -- dot-paths into a JSON value, and writing with sharing.
 *
 * Syntax: member ("." member | "[" index "]" | "[" "\"" key "\"" "]")*, e.g.
 * artifacts["red-team"].notes[0].  A member is [A-Za-z_][A-Za-z0-9_-]*; in a
 * key, \" and \\ stand for a quote and a backslash.  At most
 * MORTISE_PATH_STEPS steps. [any] */
#ifndef MORTISE_JSON_PATH_H
#define MORTISE_JSON_PATH_H

#include "core/json/value.h"

enum { MORTISE_PATH_STEPS = 64 };

struct mortise_path_step {
    const char *key; /* NUL-terminated, or NULL for an index */
    size_t index;
};

struct mortise_path { /* lives in the arena that it was parsed into */
    struct mortise_path_step *steps;
    size_t n;
    const char *text; /* canonical spelling: a.b[0]["c d"] */
};

/* MORTISE_EINVAL with "column C: ..." when it is no path. */
int mortise_path_parse(struct mortise_path *out, struct mortise_arena *a,
                       const char *text, size_t n, struct mortise_err *err);

/* Borrowed, or NULL where the path leads nowhere. */
json_t *mortise_path_get(const json_t *root, const struct mortise_path *path);

/* The same, if nobody else holds it or anything that it is in: it may be
 * changed in place.  Else NULL. */
json_t *mortise_path_own(json_t *root, const struct mortise_path *path);

/* Would a value find its place there (as mortise_path_set() judges)? */
bool mortise_path_fits(const json_t *root, const struct mortise_path *path);

/* Set `value` (reference taken, also on failure) at `path` in *root.  Parts of
 * *root that nobody else holds (refcount 1, all the way down) are changed in
 * place, shared ones are copied along the path first: other holders of the
 * old root see nothing.  Missing objects are made; an index must exist or be
 * the length (append).  Cost: the widths of the objects copied, nothing else.
 * A step into a value that is no container of that kind is MORTISE_EINVAL.
 * After a failure *root is as it was. */
int mortise_path_set(json_t **root, const struct mortise_path *path,
                     json_t *value, struct mortise_err *err);

/* a is a prefix of b, or equal. */
bool mortise_path_covers(const struct mortise_path *a,
                         const struct mortise_path *b);
/* An order, step by step, in which what a path covers stands right behind it. */
int mortise_path_compare(const struct mortise_path *a,
                         const struct mortise_path *b);
bool mortise_path_equal(const struct mortise_path *a,
                        const struct mortise_path *b);

#endif
