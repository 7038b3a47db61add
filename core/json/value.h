/* value.h -- JSON values: jansson's json_t, read and written our way.
 *
 * Values are immutable once shared: change one only when its reference count
 * is 1 (path.h does).  jansson counts atomically, so readers may be in any
 * thread.  Parse limits: depth 64 (MORTISE_JSON_DEPTH), integers of 64 bits
 * signed (wider ones are refused with a position), no NaN, no duplicate keys,
 * no NUL inside keys.  [any] */
#ifndef MORTISE_JSON_VALUE_H
#define MORTISE_JSON_VALUE_H

#include <jansson.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/hash.h"
#include "core/json/parse.h"

enum {
    MORTISE_JSON_DEPTH = 64, /* of what comes from outside */
    MORTISE_JSON_DEPTH_OURS =
        MORTISE_JSON_DEEPEST /* of documents that hold such values */
};

/* Any JSON value from n bytes of UTF-8.  Errors: "line L column C: ...",
 * MORTISE_EINVAL.  *out is a new reference. */
int mortise_json_parse(json_t **out, const char *text, size_t n,
                       struct mortise_err *err);

/* The same of one line: the words of an error are without its place, which is
 * *column. */
int mortise_json_parse_line(json_t **out, const char *text, size_t n,
                            size_t *column, struct mortise_err *err);

/* The same for what mortise_json_write() wrote: MORTISE_JSON_DEPTH_OURS. */
int mortise_json_read(json_t **out, const char *text, size_t n,
                      struct mortise_err *err);

/* The value of a text that is a constant of ours or that mortise_json_text()
 * wrote, a new reference.  NULL: memory ran out. */
json_t *mortise_json_ours(const char *text);

/* Compact, members in their order; appended to b.  MORTISE_ENOMEM, or
 * MORTISE_ELIMIT for a value deeper than MORTISE_JSON_DEPTH_OURS. */
int mortise_json_write(struct mortise_buf *b, const json_t *v);
/* The same, as a NUL-terminated string of `mem` (mortise_release_str);
 * NULL for either failure. */
char *mortise_json_text(const struct mortise_mem *mem, const json_t *v);

/* Canonical form (after RFC 8785): members sorted by UTF-16 code units,
 * integers as they are, reals in the shortest form that reads back and always
 * with a '.' or an exponent, minimal escapes.  Two values are equal exactly
 * when their canonical forms are; 1 and 1.0 differ.  Appended to b. */
int mortise_json_canonical(struct mortise_buf *b, const json_t *v);
int mortise_json_digest(uint8_t out[MORTISE_DIGEST], const json_t *v,
                        const struct mortise_mem *mem);

/* Append the token of a key to a pointer (RFC 6901): "/a~1b" for "a/b". */
void mortise_json_pointer(struct mortise_buf *pointer, const char *key);

/* A string value from n bytes, or NULL (out of memory, not UTF-8). */
json_t *mortise_json_strn(const char *s, size_t n);

/* jansson iterates over and counts what is not const only.  For those two: a
 * value that somebody else may see is never changed. */
static inline json_t *mortise_json_unconst(const json_t *v)
{
    return (json_t *)(uintptr_t)v;
}

/* A reference is given up, and forgotten; replaced by one to a borrowed value.
 * Either may be NULL. */
static inline void mortise_json_drop(json_t **ref)
{
    json_decref(*ref);
    *ref = NULL;
}

static inline void mortise_json_hold(json_t **ref, json_t *value)
{
    json_incref(value);
    json_decref(*ref);
    *ref = value;
}

/* The text of an object's member, lent; "" where that is not there, or no
 * text. */
static inline const char *mortise_json_text_of(const json_t *object,
                                               const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text != NULL ? text : "";
}

/* Is it a text of nothing but blanks and line ends, or of nothing? */
bool mortise_json_is_blank(const json_t *v);

/* `for` each element `one` of an array that is only read, the i-th; `break` and
 * `continue` are those of one loop. */
#define MORTISE_JSON_EACH(one, i, list)                                        \
    for (size_t i = 0, go_on_##one = 1;                                        \
         go_on_##one && i < json_array_size(list); i++)                        \
        for (const json_t *one = (go_on_##one = 0, json_array_get(list, i));   \
             one != NULL; one = NULL, go_on_##one = 1)

/* `for` each member of an object, its name and the value `one`, in the same
 * way.  The object's members stay the same meanwhile, whatever is in them. */
#define MORTISE_JSON_MEMBERS(name, one, object)                                \
    for (void *at_##one = json_object_iter(mortise_json_unconst(object)),      \
              *go_on_##one = at_##one;                                         \
         at_##one != NULL;                                                     \
         at_##one = go_on_##one != NULL                                        \
                        ? json_object_iter_next(mortise_json_unconst(object),  \
                                                at_##one)                      \
                        : NULL)                                                \
        for (const char *name =                                                \
                 (go_on_##one = NULL, json_object_iter_key(at_##one));         \
             name != NULL; name = NULL)                                        \
            for (json_t *one = json_object_iter_value(at_##one); one != NULL;  \
                 one = NULL, go_on_##one = at_##one)

#endif
