/* fold.c -- writes into the state, and the reducers.
 *
 * A reducer is asked only when a value is there already; the first write to a
 * path just sets it.  Each is a function of (old, operand) alone, so that a
 * fold in a given order is a given value.
 */
#include "run/fold.h"

#include <string.h>

static int type_error(struct mortise_err *err, const struct mortise_write *w,
                      const char *wants)
{
    return mortise_fail(err, MORTISE_EINVAL, "reducer '%s' at %s wants %s",
                        mortise_reduce_name(w->reduce), w->path->text, wants);
}

static int concat_arrays(json_t **out, const json_t *old, const json_t *add,
                         struct mortise_err *err)
{
    json_t *joined = json_array();
    size_t i;
    json_t *item;

    if (joined == NULL)
        return mortise_nomem(err);
    json_array_foreach(old, i, item)
    {
        if (json_array_append(joined, item) != 0)
            goto nomem;
    }
    json_array_foreach(add, i, item)
    {
        if (json_array_append(joined, item) != 0)
            goto nomem;
    }
    *out = joined;
    return MORTISE_OK;
nomem:
    json_decref(joined);
    return mortise_nomem(err);
}

static int concat_strings(json_t **out, const json_t *old, const json_t *add,
                          struct mortise_err *err)
{
    struct mortise_buf b;

    mortise_buf_init(&b, &mortise_heap);
    mortise_buf_put(&b, json_string_value(old), json_string_length(old));
    mortise_buf_put(&b, json_string_value(add), json_string_length(add));
    *out = b.failed ? NULL : mortise_json_strn(b.n != 0 ? b.p : "", b.n);
    mortise_buf_finish(&b);
    return *out != NULL ? MORTISE_OK : mortise_nomem(err);
}

static int concat(json_t **out, const json_t *old,
                  const struct mortise_write *w, struct mortise_err *err)
{
    if (json_is_array(old) && json_is_array(w->value))
        return concat_arrays(out, old, w->value, err);
    if (json_is_string(old) && json_is_string(w->value))
        return concat_strings(out, old, w->value, err);
    return type_error(err, w, "two arrays or two strings");
}

/* Deep, right wins.  The depth is bounded by what JSON we let in. */
static json_t *merged(const json_t *old, json_t *add)
{
    json_t *out, *value;
    const char *key;

    if (!json_is_object(old) || !json_is_object(add))
        return json_incref(add);
    out = json_object();
    if (out == NULL || json_object_update(out, (json_t *)(uintptr_t)old) != 0)
        goto nomem;
    json_object_foreach(add, key, value)
    {
        json_t *mine = json_object_get(old, key);
        json_t *both = mine != NULL ? merged(mine, value) : json_incref(value);

        if (both == NULL || json_object_set_new(out, key, both) != 0)
            goto nomem;
    }
    return out;
nomem:
    json_decref(out);
    return NULL;
}

static int merge(json_t **out, const json_t *old, const struct mortise_write *w,
                 struct mortise_err *err)
{
    if (!json_is_object(old) || !json_is_object(w->value))
        return type_error(err, w, "two objects");
    *out = merged(old, w->value);
    return *out != NULL ? MORTISE_OK : mortise_nomem(err);
}

static int sum(json_t **out, const json_t *old, const struct mortise_write *w,
               struct mortise_err *err)
{
    json_int_t total;

    if (!json_is_number(old) || !json_is_number(w->value))
        return type_error(err, w, "two numbers");
    if (json_is_integer(old) && json_is_integer(w->value)) {
        if (__builtin_add_overflow(json_integer_value(old),
                                   json_integer_value(w->value), &total))
            return mortise_fail(err, MORTISE_EINVAL, "sum at %s overflows",
                                w->path->text);
        *out = json_integer(total);
    } else {
        *out = json_real(json_number_value(old) + json_number_value(w->value));
        if (*out == NULL) /* jansson refuses infinity */
            return mortise_fail(err, MORTISE_EINVAL, "sum at %s overflows",
                                w->path->text);
    }
    return *out != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* -1, 0, 1; exact where both are integers. */
static int compare_numbers(const json_t *a, const json_t *b)
{
    if (json_is_integer(a) && json_is_integer(b)) {
        json_int_t x = json_integer_value(a), y = json_integer_value(b);

        return (x > y) - (x < y);
    }
    double x = json_number_value(a), y = json_number_value(b);

    return (x > y) - (x < y);
}

static int extreme(json_t **out, json_t *old, const struct mortise_write *w,
                   int sign, struct mortise_err *err)
{
    if (!json_is_number(old) || !json_is_number(w->value))
        return type_error(err, w, "two numbers");
    *out =
        json_incref(sign * compare_numbers(w->value, old) > 0 ? w->value : old);
    return MORTISE_OK;
}

/* Characters of a string, items of an array. */
static size_t length_of(const json_t *v)
{
    const char *s = json_string_value(v);
    size_t n = 0;

    if (json_is_array(v))
        return json_array_size(v);
    for (size_t i = 0; i < json_string_length(v); i++)
        n += ((unsigned char)s[i] & 0xC0) != 0x80;
    return n;
}

static int longest(json_t **out, json_t *old, const struct mortise_write *w,
                   struct mortise_err *err)
{
    if (!(json_is_array(old) && json_is_array(w->value)) &&
        !(json_is_string(old) && json_is_string(w->value)))
        return type_error(err, w, "two arrays or two strings");
    *out = json_incref(length_of(w->value) > length_of(old) ? w->value : old);
    return MORTISE_OK;
}

/* What stands at the path after the write: a new reference. */
static int reduced(json_t **out, json_t *old, const struct mortise_write *w,
                   struct mortise_err *err)
{
    switch (w->reduce) {
    case MORTISE_REDUCE_FIRST:
        *out = json_incref(old);
        return MORTISE_OK;
    case MORTISE_REDUCE_CONCAT:
        return concat(out, old, w, err);
    case MORTISE_REDUCE_MERGE:
        return merge(out, old, w, err);
    case MORTISE_REDUCE_SUM:
        return sum(out, old, w, err);
    case MORTISE_REDUCE_MIN:
        return extreme(out, old, w, -1, err);
    case MORTISE_REDUCE_MAX:
        return extreme(out, old, w, 1, err);
    case MORTISE_REDUCE_LONGEST:
        return longest(out, old, w, err);
    case MORTISE_REDUCE_DEFAULT:
    case MORTISE_REDUCE_LAST:
    case MORTISE_REDUCE_AVG: /* these two do not load as yet */
    case MORTISE_REDUCE_EXPR:
        break;
    }
    *out = json_incref(w->value);
    return MORTISE_OK;
}

int mortise_fold_write(json_t **state, const struct mortise_write *w,
                       struct mortise_err *err)
{
    json_t *old, *now;
    int rv = MORTISE_OK;

    if (w->reduce == MORTISE_REDUCE_DEFAULT || w->reduce == MORTISE_REDUCE_LAST)
        return mortise_path_set(state, w->path, json_incref(w->value), err);
    old = mortise_path_get(*state, w->path);
    if (old == NULL)
        now = json_incref(w->value);
    else
        rv = reduced(&now, old, w, err);
    return rv != MORTISE_OK ? rv : mortise_path_set(state, w->path, now, err);
}

const char *mortise_reduce_name(enum mortise_reduce reduce)
{
    static const char *const names[] = {"last",   "last",  "first",
                                        "concat", "merge", "sum",
                                        "min",    "max",   "longest"};

    return names[reduce];
}
