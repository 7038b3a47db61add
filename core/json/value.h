/* value.h -- read and write JSON values (jansson's json_t).
 *
 * A shared value is immutable: change one only if its reference count is 1
 * (path.h does). jansson counts references atomically, so any thread may read.
 * Limits of the parser: depth 64 (MORTISE_JSON_DEPTH), 64-bit signed integers
 * (larger ones are an error with a position), no NaN, no duplicate keys, no NUL
 * inside keys. [any] */
#ifndef MORTISE_JSON_VALUE_H
#define MORTISE_JSON_VALUE_H

#include <jansson.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/hash.h"
#include "core/json/parse.h"

enum {
    MORTISE_JSON_DEPTH = 64, /* of values from outside */
    MORTISE_JSON_DEPTH_INTERNAL =
        MORTISE_JSON_DEPTH_MAX /* of documents that contain such values */
};

/* Parse one JSON value from n bytes of UTF-8.  Errors: MORTISE_EINVAL with
 * "line L column C: ...".  *out is a new reference. */
int mortise_json_parse(json_t **out, const char *text, size_t n,
                       struct mortise_err *err);

/* Parse a text of one line like mortise_json_parse() does.  The message of an
 * error lacks the position: *column has the column. */
int mortise_json_parse_line(json_t **out, const char *text, size_t n,
                            size_t *column, struct mortise_err *err);

/* Parse a text that mortise_json_write() made.  The depth limit is
 * MORTISE_JSON_DEPTH_INTERNAL. */
int mortise_json_parse_written(json_t **out, const char *text, size_t n,
                               struct mortise_err *err);

/* Parse a constant, or text from mortise_json_to_text(); returns a new reference.
 * NULL: out of memory. */
json_t *mortise_json_parse_trusted(const char *text);

/* Append the value in compact form, members in their order.  MORTISE_ENOMEM, or
 * MORTISE_ELIMIT if it is deeper than MORTISE_JSON_DEPTH_INTERNAL. */
int mortise_json_write(struct mortise_buf *b, const json_t *v);
/* The text of mortise_json_write() as a NUL-terminated string; free it with
 * mortise_release_str().  NULL: out of memory, or too deep. */
char *mortise_json_to_text(const struct mortise_mem *mem, const json_t *v);

/* Append the canonical form (after RFC 8785): members sorted by UTF-16 code
 * units, integers unchanged, reals in the shortest form that reads back and
 * always with a '.' or an exponent, minimal escapes.  Two values are equal
 * exactly if their canonical forms are; 1 and 1.0 differ. */
int mortise_json_write_canonical(struct mortise_buf *b, const json_t *v);
int mortise_json_digest(uint8_t out[MORTISE_DIGEST], const json_t *v,
                        const struct mortise_mem *mem);

/* Append a key as a token to a JSON pointer (RFC 6901): "/a~1b" for "a/b". */
void mortise_json_append_pointer(struct mortise_buf *pointer, const char *key);

/* A string value of n bytes; NULL: out of memory, or not UTF-8. */
json_t *mortise_json_make_string(const char *s, size_t n);

/* Remove const, because jansson's functions that iterate and count references
 * take no const.  The caller must not change a shared value. */
static inline json_t *mortise_json_unconst(const json_t *v)
{
    return (json_t *)(uintptr_t)v;
}

/* mortise_json_clear_ref() releases a reference and sets it to NULL.
 * mortise_json_set_ref() replaces a reference by a new one to `value`.  The old
 * reference and the value may be NULL. */
static inline void mortise_json_clear_ref(json_t **ref)
{
    json_decref(*ref);
    *ref = NULL;
}

static inline void mortise_json_set_ref(json_t **ref, json_t *value)
{
    json_incref(value);
    json_decref(*ref);
    *ref = value;
}

/* The text of a string member, borrowed; "" if it is missing or no string. */
static inline const char *mortise_json_get_text(const json_t *object,
                                                const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text != NULL ? text : "";
}

/* Is it an empty string, or one of blanks and line ends only? */
bool mortise_json_is_blank(const json_t *v);

/* A `for` loop over the elements of an array: `one` is the i-th.  `break` and
 * `continue` work as in a single loop.  The array must not change. */
#define MORTISE_JSON_EACH(one, i, list)                                        \
    for (size_t i = 0, go_on_##one = 1;                                        \
         go_on_##one && i < json_array_size(list); i++)                        \
        for (const json_t *one = (go_on_##one = 0, json_array_get(list, i));   \
             one != NULL; one = NULL, go_on_##one = 1)

/* A `for` loop over the members of an object, in the same way: `name` and its
 * value `one`.  No member may be added or removed meanwhile. */
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
