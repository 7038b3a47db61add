/* fold.c -- writes into the state, and the reducers.
 *
 * A reducer is called only if the path has a value; the first write sets it.
 * Every reducer is a function of (old value, operand) alone, so a fold in a
 * given order gives the same value every time.
 *
 * `avg` needs more than the value: the number of operands and their sum.  The
 * state stores them beside scratch and artifacts, as means.PATH = {n, sum};
 * nothing else reads that.  Any other write to the path, or to a path around it
 * (an update, for example), removes the entry.  The next average then starts
 * with the current value as one operand.
 */
#include "core/run/state/fold.h"

#include <string.h>

static const char *reduce_name(enum mortise_reduce reduce)
{
    static const char *const names[] = {"last",    "last", "first", "concat",
                                        "merge",   "sum",  "min",   "max",
                                        "longest", "avg",  "expr"};

    return names[reduce];
}

static int type_error(struct mortise_err *err, const struct mortise_write *w,
                      const char *wants)
{
    return mortise_fail(err, MORTISE_EINVAL, "reducer '%s' at %s needs %s",
                        reduce_name(w->reduce), w->path->text, wants);
}

static int concat_arrays(json_t **out, json_t *old, json_t *add,
                         struct mortise_err *err)
{
    *out = json_copy(old);
    if (*out != NULL && json_array_extend(*out, add) == 0)
        return MORTISE_OK;
    mortise_json_clear_ref(out);
    return mortise_nomem(err);
}

static int concat_strings(json_t **out, const json_t *old, const json_t *add,
                          struct mortise_err *err)
{
    struct mortise_buf b;

    mortise_buf_init(&b, &mortise_heap);
    mortise_buf_put(&b, json_string_value(old), json_string_length(old));
    mortise_buf_put(&b, json_string_value(add), json_string_length(add));
    *out = b.failed ? NULL : mortise_json_make_string(b.n != 0 ? b.p : "", b.n);
    mortise_buf_finish(&b);
    return *out != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* A string has no items that max_items could count. */
static int reduce_concat(json_t **out, json_t *old,
                         const struct mortise_write *w, struct mortise_err *err)
{
    bool capped = w->how != NULL && w->how->max_items > 0;

    if (json_is_array(old) && json_is_array(w->value))
        return concat_arrays(out, old, w->value, err);
    if (capped)
        return type_error(err, w, "two arrays, because max_items counts items");
    if (json_is_string(old) && json_is_string(w->value))
        return concat_strings(out, old, w->value, err);
    return type_error(err, w, "two arrays or two strings");
}

/* A deep merge; `add` wins.  The recursion is bounded: JSON input has a maximum
 * depth. */
static json_t *merge_objects(const json_t *old, json_t *add)
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
        json_t *both =
            mine != NULL ? merge_objects(mine, value) : json_incref(value);

        if (both == NULL || json_object_set_new(out, key, both) != 0)
            goto nomem;
    }
    return out;
nomem:
    json_decref(out);
    return NULL;
}

static int reduce_merge(json_t **out, const json_t *old,
                        const struct mortise_write *w, struct mortise_err *err)
{
    if (!json_is_object(old) || !json_is_object(w->value))
        return type_error(err, w, "two objects");
    *out = merge_objects(old, w->value);
    return *out != NULL ? MORTISE_OK : mortise_nomem(err);
}

static int reduce_sum(json_t **out, const json_t *old,
                      const struct mortise_write *w, struct mortise_err *err)
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
        if (*out == NULL) /* jansson rejects infinity */
            return mortise_fail(err, MORTISE_EINVAL, "sum at %s overflows",
                                w->path->text);
    }
    return *out != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* -1, 0, 1; exact if both are integers. */
static int compare_json_numbers(const json_t *a, const json_t *b)
{
    if (json_is_integer(a) && json_is_integer(b)) {
        json_int_t x = json_integer_value(a), y = json_integer_value(b);

        return (x > y) - (x < y);
    }
    double x = json_number_value(a), y = json_number_value(b);

    return (x > y) - (x < y);
}

static int reduce_min_max(json_t **out, json_t *old,
                          const struct mortise_write *w, int sign,
                          struct mortise_err *err)
{
    if (!json_is_number(old) || !json_is_number(w->value))
        return type_error(err, w, "two numbers");
    *out = json_incref(sign * compare_json_numbers(w->value, old) > 0 ? w->value
                                                                      : old);
    return MORTISE_OK;
}

/* Characters of a string, items of an array. */
static size_t get_value_length(const json_t *v)
{
    const char *s = json_string_value(v);
    size_t n = 0;

    if (json_is_array(v))
        return json_array_size(v);
    for (size_t i = 0; i < json_string_length(v); i++)
        n += ((unsigned char)s[i] & 0xC0) != 0x80;
    return n;
}

static int reduce_longest(json_t **out, json_t *old,
                          const struct mortise_write *w,
                          struct mortise_err *err)
{
    if (!(json_is_array(old) && json_is_array(w->value)) &&
        !(json_is_string(old) && json_is_string(w->value)))
        return type_error(err, w, "two arrays or two strings");
    *out = json_incref(
        get_value_length(w->value) > get_value_length(old) ? w->value : old);
    return MORTISE_OK;
}

/* ---- means -------------------------------------------------------------- */

/* The path in the state of the count and the sum for a mean. */
#define MEAN_OF(path)                                                          \
    {                                                                          \
        (struct mortise_path_step[]){{"means", 0}, {(path)->text, 0}}, 2,      \
            (path)->text                                                       \
    }

static int reduce_avg(json_t **out, json_t **state, const json_t *old,
                      const struct mortise_write *w, struct mortise_err *err)
{
    const struct mortise_path at = MEAN_OF(w->path);
    const json_t *mean = mortise_path_get(*state, &at);
    json_t *n = json_object_get(mean, "n"), *sum_of;
    double total = json_number_value(old);
    json_int_t count = 1;

    if (!json_is_number(old) || !json_is_number(w->value))
        return type_error(err, w, "two numbers");
    if (n != NULL) {
        count = json_integer_value(n);
        total = json_real_value(json_object_get(mean, "sum"));
    }
    total += json_number_value(w->value);
    sum_of = json_real(total); /* jansson rejects infinity */
    if (sum_of == NULL)
        return mortise_fail(err, MORTISE_EINVAL, "avg at %s overflows",
                            w->path->text);
    *out = json_real(total / (double)(count + 1));
    if (*out == NULL) {
        json_decref(sum_of);
        return mortise_nomem(err);
    }
    return mortise_path_set(
        state, &at, json_pack("{s:I, s:o}", "n", count + 1, "sum", sum_of),
        err);
}

/* Is the path `text` the path of length n, or below it? */
static bool is_at_or_below(const char *text, const char *path, size_t n)
{
    return strncmp(text, path, n) == 0 &&
           (text[n] == '\0' || text[n] == '.' || text[n] == '[');
}

/* Another reducer wrote the path: remove the means at and below it. */
static int forget_means(json_t **state, const struct mortise_path *path,
                        struct mortise_err *err)
{
    json_t *means = json_object_get(*state, "means"), *mean;
    size_t n = strlen(path->text);
    const char *text;
    void *next;

    json_object_foreach_safe(means, next, text, mean)
    {
        const struct mortise_path of = {NULL, 0, text};
        const struct mortise_path at = MEAN_OF(&of);
        int rv = MORTISE_OK;

        if (!json_is_null(mean) && is_at_or_below(text, path->text, n))
            rv = mortise_path_set(state, &at, json_null(), err);
        if (rv != MORTISE_OK)
            return rv;
    }
    return MORTISE_OK;
}

/* ---- bounds ------------------------------------------------------------- */

/* The deepest value.  The state and the documents that contain it nest the
 * value in a path of at most MORTISE_PATH_STEPS and a few members: half of
 * MORTISE_JSON_DEPTH_INTERNAL is more than enough for that. */
enum { DEEPEST = MORTISE_JSON_DEPTH_INTERNAL / 2 };

static bool is_deeper(const json_t *value, int than)
{
    const char *key;
    json_t *member;
    size_t i;

    if (than == 0)
        return json_is_object(value) || json_is_array(value);
    json_object_foreach(mortise_json_unconst(value), key, member)
    {
        if (is_deeper(member, than - 1))
            return true;
    }
    json_array_foreach(value, i, member)
    {
        if (is_deeper(member, than - 1))
            return true;
    }
    return false;
}

int mortise_fold_check_depth(const json_t *value, struct mortise_err *err)
{
    return is_deeper(value, DEEPEST)
               ? mortise_fail(err, MORTISE_ELIMIT,
                              "a value is nested deeper than %d levels",
                              DEEPEST)
               : MORTISE_OK;
}

/* Apply max_items to a list that may have grown beyond it. */
static int apply_max_items(json_t **now, const struct mortise_write *w,
                           struct mortise_err *err)
{
    const struct mortise_reducer *how = w->how;
    size_t n = json_array_size(*now);
    json_t *kept;

    if (how == NULL || how->max_items == 0 || n <= how->max_items)
        return MORTISE_OK;
    if (!how->drop_oldest)
        return mortise_fail(
            err, MORTISE_EINVAL,
            "%s can have at most %llu items (max_items), but would have %zu",
            w->path->text, (unsigned long long)how->max_items, n);
    kept = json_array();
    for (size_t i = n - how->max_items; kept != NULL && i < n; i++) {
        if (json_array_append(kept, json_array_get(*now, i)) != 0)
            mortise_json_clear_ref(&kept);
    }
    json_decref(*now);
    *now = kept;
    return kept != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* Can the list grow by these items without exceeding max_items? */
static bool has_room_for_items(const json_t *list,
                               const struct mortise_write *w)
{
    return w->how == NULL || w->how->max_items == 0 ||
           json_array_size(list) + json_array_size(w->value) <=
               w->how->max_items;
}

/* Append to a list in place if nothing else refers to it: the cost is the
 * length of the operand, not of the list.  *done: it was appended. */
static int append_in_place(json_t *state, const struct mortise_write *w,
                           bool *done, struct mortise_err *err)
{
    json_t *list = mortise_path_get_unshared(state, w->path);

    *done = json_is_array(list) && json_is_array(w->value) &&
            has_room_for_items(list, w);
    return !*done || json_array_extend(list, w->value) == 0
               ? MORTISE_OK
               : mortise_nomem(err);
}

/* {expr}: evaluate it with the names `old` and `new`. */
static int reduce_expr(json_t **out, const json_t *old,
                       const struct mortise_write *w, uint64_t expr_cost,
                       struct mortise_err *err)
{
    const json_t *values[MORTISE_REDUCE_NAMES] = {
        [MORTISE_REDUCE_OLD] = old, [MORTISE_REDUCE_NEW] = w->value};
    const struct mortise_expr_env env = {values, expr_cost};
    int rv = mortise_expr_eval(&w->how->expr, &env, out, err);

    if (rv == MORTISE_OK)
        rv = mortise_fold_check_depth(*out, err);
    else
        *out = NULL;
    return rv == MORTISE_OK || rv == MORTISE_ENOMEM ? rv : MORTISE_EINVAL;
}

/* ---- a write ------------------------------------------------------------ */

/* The value at the path after the write: a new reference. */
static int reduce_value(json_t **out, json_t **state, json_t *old,
                        const struct mortise_write *w, uint64_t expr_cost,
                        struct mortise_err *err)
{
    *out = NULL;
    switch (w->reduce) {
    case MORTISE_REDUCE_FIRST:
        *out = json_incref(old);
        return MORTISE_OK;
    case MORTISE_REDUCE_CONCAT:
        return reduce_concat(out, old, w, err);
    case MORTISE_REDUCE_MERGE:
        return reduce_merge(out, old, w, err);
    case MORTISE_REDUCE_SUM:
        return reduce_sum(out, old, w, err);
    case MORTISE_REDUCE_MIN:
        return reduce_min_max(out, old, w, -1, err);
    case MORTISE_REDUCE_MAX:
        return reduce_min_max(out, old, w, 1, err);
    case MORTISE_REDUCE_LONGEST:
        return reduce_longest(out, old, w, err);
    case MORTISE_REDUCE_AVG:
        return reduce_avg(out, state, old, w, err);
    case MORTISE_REDUCE_EXPR:
        return reduce_expr(out, old, w, expr_cost, err);
    case MORTISE_REDUCE_DEFAULT:
    case MORTISE_REDUCE_LAST:
        break;
    }
    *out = json_incref(w->value);
    return MORTISE_OK;
}

static bool can_concat(const json_t *old, const struct mortise_write *w)
{
    bool lists = json_is_array(old) && json_is_array(w->value);

    return (lists && has_room_for_items(old, w)) ||
           (json_is_string(old) && json_is_string(w->value));
}

bool mortise_fold_is_certain(const json_t *state, const struct mortise_write *w)
{
    const json_t *old = mortise_path_get(state, w->path);

    switch (w->reduce) {
    case MORTISE_REDUCE_DEFAULT:
    case MORTISE_REDUCE_LAST:
        return mortise_path_is_settable(state, w->path);
    case MORTISE_REDUCE_CONCAT:
        return old != NULL && can_concat(old, w);
    case MORTISE_REDUCE_MERGE:
        return json_is_object(old) && json_is_object(w->value);
    default:
        return false;
    }
}

int mortise_fold_write(json_t **state, const struct mortise_write *w,
                       uint64_t expr_cost, struct mortise_err *err)
{
    json_t *old, *now;
    bool done = false;
    int rv = MORTISE_OK;

    if (w->reduce != MORTISE_REDUCE_AVG && w->reduce != MORTISE_REDUCE_FIRST &&
        json_object_get(*state, "means") != NULL)
        rv = forget_means(state, w->path, err);
    if (rv != MORTISE_OK)
        return rv;
    if (w->reduce == MORTISE_REDUCE_DEFAULT || w->reduce == MORTISE_REDUCE_LAST)
        return mortise_path_set(state, w->path, json_incref(w->value), err);
    if (w->reduce == MORTISE_REDUCE_CONCAT)
        rv = append_in_place(*state, w, &done, err);
    if (rv != MORTISE_OK || done)
        return rv;
    old = mortise_path_get(*state, w->path);
    if (old == NULL)
        now = json_incref(w->value);
    else
        rv = reduce_value(&now, state, old, w, expr_cost, err);
    if (rv == MORTISE_OK)
        rv = apply_max_items(&now, w, err);
    if (rv != MORTISE_OK) {
        json_decref(now);
        return rv;
    }
    return mortise_path_set(state, w->path, now, err);
}
