/* usage.c -- add up the usage of model calls, and convert it from and to JSON.
 *
 *   (1) Floating-point numbers are never added.  An amount is rounded once when
 *       it is read, to whole nano-dollars, and only integers are added.
 *   (2) A usage with an invalid member is an error, because an overlooked
 *       amount would be money that nobody counts.  The valid amounts of a
 *       plugin's usage still count, and the sum is marked `unclear`: the budget
 *       makes an assumption for the rest.
 *   (3) Amounts saturate at a bound, so no plugin can cause an overflow.
 */
#include "core/json/usage.h"

#include <math.h>
#include <string.h>

static const char *const names[] = {
    [MORTISE_USED_CALLS] = "model_calls",
    [MORTISE_USED_INPUT] = "input_tokens",
    [MORTISE_USED_OUTPUT] = "output_tokens",
    [MORTISE_USED_USD] = "usd",
    [MORTISE_USED_CACHED] = "cached_tokens",
    [MORTISE_USED_CACHE_WRITE] = "cache_write_tokens",
    [MORTISE_USED_REASONING] = "reasoning_tokens",
};

const char *mortise_usage_amount_name(enum mortise_usage_amount what)
{
    return names[what];
}

void mortise_usage_finish(struct mortise_usage *u)
{
    json_decref(u->models);
    json_decref(u->by_model);
    *u = (struct mortise_usage){0};
}

bool mortise_usage_is_empty(const struct mortise_usage *u)
{
    for (size_t i = 0; i < MORTISE_USED_N; i++) {
        if (u->amount[i] != 0)
            return false;
    }
    return !u->unclear;
}

/* ---- amounts ------------------------------------------------------------ */

uint64_t mortise_usd_to_nano(double usd)
{
    return (uint64_t)llround(usd * MORTISE_NANO);
}

bool mortise_usd_parse(uint64_t *nano, const json_t *value)
{
    const uint64_t most = MORTISE_USAGE_MAX / MORTISE_NANO;
    double usd = json_number_value(value);

    if (!json_is_number(value) || !(usd >= 0 && usd <= (double)most))
        return false;
    *nano = mortise_usd_to_nano(usd);
    return true;
}

json_t *mortise_usd_to_json(uint64_t nano)
{
    return json_real((double)nano / MORTISE_NANO);
}

static bool parse_usage_count(uint64_t *out, const json_t *value)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) > MORTISE_USAGE_MAX)
        return false;
    *out = (uint64_t)json_integer_value(value);
    return true;
}

static int parse_usage_amount(struct mortise_usage *u, size_t i,
                              const json_t *value, struct mortise_err *err)
{
    if (i == MORTISE_USED_USD && !mortise_usd_parse(&u->amount[i], value))
        return mortise_fail(
            err, MORTISE_EINVAL,
            "usd must be a decimal number of dollars from 0 to %d",
            (int)(MORTISE_USAGE_MAX / MORTISE_NANO));
    if (i != MORTISE_USED_USD && !parse_usage_count(&u->amount[i], value))
        return mortise_fail(err, MORTISE_EINVAL,
                            "%s must be an integer from 0 to %lld", names[i],
                            (long long)MORTISE_USAGE_MAX);
    return MORTISE_OK;
}

/* ---- names -------------------------------------------------------------- */

static bool has_model_name(const json_t *models, const char *name)
{
    MORTISE_JSON_EACH (one, i, models)
        if (strcmp(json_string_value(one), name) == 0)
            return true;
    return false;
}

static int add_model_name(struct mortise_usage *u, const json_t *name)
{
    if (u->models == NULL)
        u->models = json_array();
    if (u->models == NULL)
        return MORTISE_ENOMEM;
    if (has_model_name(u->models, json_string_value(name)) ||
        json_array_size(u->models) == MORTISE_USAGE_MODELS)
        return MORTISE_OK;
    return json_array_append(u->models, mortise_json_unconst(name)) == 0
               ? MORTISE_OK
               : MORTISE_ENOMEM;
}

static int parse_model_name(struct mortise_usage *u, const json_t *name,
                            struct mortise_err *err)
{
    size_t n = json_string_length(name);

    if (n == 0 || n > MORTISE_USAGE_NAME_MAX ||
        strlen(json_string_value(name)) != n)
        return mortise_fail(err, MORTISE_EINVAL,
                            "the name of a model must have 1 to %d bytes",
                            MORTISE_USAGE_NAME_MAX);
    return add_model_name(u, name) == MORTISE_OK ? MORTISE_OK
                                                 : mortise_nomem(err);
}

static int parse_model_names(struct mortise_usage *u, const json_t *list,
                             struct mortise_err *err)
{
    int rv = MORTISE_OK;

    if (!json_is_array(list) || json_array_size(list) > MORTISE_USAGE_MODELS)
        return mortise_fail(err, MORTISE_EINVAL,
                            "models must be a list of at most %d names",
                            MORTISE_USAGE_MODELS);
    MORTISE_JSON_EACH (one, i, list)
        if (rv == MORTISE_OK)
            rv = parse_model_name(u, one, err);
    return rv;
}

/* ---- JSON --------------------------------------------------------------- */

/* `list` is the member with the names: "model" (one) or "models" (several). */
static int parse_usage_member(struct mortise_usage *u, const char *key,
                              const json_t *value, const char *list,
                              struct mortise_err *err)
{
    if (strcmp(key, list) == 0)
        return strcmp(list, "model") == 0 ? parse_model_name(u, value, err)
                                          : parse_model_names(u, value, err);
    for (size_t i = 0; i < MORTISE_USED_N; i++) {
        if (strcmp(key, names[i]) == 0)
            return parse_usage_amount(u, i, value, err);
    }
    return mortise_fail(err, MORTISE_EINVAL,
                        "usage has no member '%.64s': use model_calls, "
                        "input_tokens, output_tokens, usd, cached_tokens, "
                        "cache_write_tokens, reasoning_tokens or %s",
                        key, list);
}

static int check_object(const json_t *value, struct mortise_err *err)
{
    return json_is_object(value)
               ? MORTISE_OK
               : mortise_fail(err, MORTISE_EINVAL, "usage must be an object");
}

/* (2) */
int mortise_usage_parse(struct mortise_usage *u, const json_t *said,
                        struct mortise_err *err)
{
    int rv = check_object(said, err);

    *u = (struct mortise_usage){0};
    MORTISE_JSON_MEMBERS (key, one, said) {
        int member = parse_usage_member(u, key, one, "model",
                                        rv == MORTISE_OK ? err : NULL);

        if (rv == MORTISE_OK)
            rv = member;
    }
    u->unclear = rv != MORTISE_OK;
    return rv;
}

int mortise_usage_from_json(struct mortise_usage *u, const json_t *value,
                            struct mortise_err *err)
{
    int rv = check_object(value, err);

    *u = (struct mortise_usage){0};
    MORTISE_JSON_MEMBERS (key, one, value) {
        if (rv == MORTISE_OK && strcmp(key, "unclear") == 0)
            u->unclear = json_is_true(one);
        else if (rv == MORTISE_OK)
            rv = parse_usage_member(u, key, one, "models", err);
    }
    if (rv != MORTISE_OK)
        mortise_usage_finish(u);
    return rv;
}

json_t *mortise_usage_to_json(const struct mortise_usage *u)
{
    const uint64_t *n = u->amount;
    json_t *out = json_pack(
        "{s:I, s:I, s:I, s:o, s:O*}", names[MORTISE_USED_CALLS],
        (json_int_t)n[MORTISE_USED_CALLS], names[MORTISE_USED_INPUT],
        (json_int_t)n[MORTISE_USED_INPUT], names[MORTISE_USED_OUTPUT],
        (json_int_t)n[MORTISE_USED_OUTPUT], names[MORTISE_USED_USD],
        mortise_usd_to_json(n[MORTISE_USED_USD]), "models", u->models);

    for (size_t i = MORTISE_USED_CACHED; out != NULL && i < MORTISE_USED_N; i++)
        if (n[i] > 0 &&
            json_object_set_new(out, names[i], json_integer((json_int_t)n[i])))
            mortise_json_clear_ref(&out);
    if (out != NULL && u->unclear &&
        json_object_set_new(out, "unclear", json_true()) != 0)
        mortise_json_clear_ref(&out);
    return out;
}

/* The first four amounts of a list, as an object. */
static json_t *make_amounts_object(const json_t *amounts)
{
    json_t *out = json_object();

    for (size_t i = 0; out != NULL && i <= MORTISE_USED_USD; i++) {
        json_t *n = json_array_get(amounts, i);

        if (json_object_set_new(
                out, names[i],
                i == MORTISE_USED_USD
                    ? mortise_usd_to_json((uint64_t)json_integer_value(n))
                    : json_incref(n)) != 0)
            mortise_json_clear_ref(&out);
    }
    return out;
}

json_t *mortise_usage_to_user_json(const struct mortise_usage *u)
{
    json_t *out = mortise_usage_to_json(u), *all;

    if (out == NULL || u->by_model == NULL)
        return out;
    all = json_object();
    MORTISE_JSON_MEMBERS (name, amounts, u->by_model)
        if (json_object_set_new(all, name, make_amounts_object(amounts)) != 0)
            mortise_json_clear_ref(&all);
    if (json_object_set_new(out, "by_model", all) == 0)
        return out;
    json_decref(out);
    return NULL;
}

/* ---- sums --------------------------------------------------------------- */

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
    return a < MORTISE_USAGE_MAX - b ? a + b : MORTISE_USAGE_MAX;
}

/* Add amounts to the sums of one model.  Models beyond the limit
 * are ignored. */
static int add_to_model(struct mortise_usage *to, const char *name,
                        const uint64_t more[MORTISE_USED_N])
{
    json_t *amounts, *sums = json_array();

    if (to->by_model == NULL)
        to->by_model = json_object();
    amounts = json_object_get(to->by_model, name);
    if (amounts == NULL &&
        json_object_size(to->by_model) == MORTISE_USAGE_MODELS) {
        json_decref(sums);
        return MORTISE_OK;
    }
    for (size_t i = 0; i < MORTISE_USED_N; i++) {
        uint64_t n = (uint64_t)json_integer_value(json_array_get(amounts, i));

        if (json_array_append_new(sums, json_integer((json_int_t)add_saturated(
                                            n, more[i]))) != 0) {
            json_decref(sums);
            return MORTISE_ENOMEM;
        }
    }
    return json_object_set_new(to->by_model, name, sums) == 0 ? MORTISE_OK
                                                              : MORTISE_ENOMEM;
}

static int add_by_model(struct mortise_usage *to,
                        const struct mortise_usage *more)
{
    int rv = MORTISE_OK;

    if (more->by_model == NULL)
        return json_array_size(more->models) == 1
                   ? add_to_model(
                         to, json_string_value(json_array_get(more->models, 0)),
                         more->amount)
                   : MORTISE_OK;
    MORTISE_JSON_MEMBERS (name, amounts, more->by_model) {
        uint64_t n[MORTISE_USED_N];

        for (size_t i = 0; i < MORTISE_USED_N; i++)
            n[i] = (uint64_t)json_integer_value(json_array_get(amounts, i));
        if (rv == MORTISE_OK)
            rv = add_to_model(to, name, n);
    }
    return rv;
}

/* Copy the names to our own list, because the other list may be shared. */
static int add_model_names(struct mortise_usage *to, const json_t *more)
{
    int rv = MORTISE_OK;

    MORTISE_JSON_EACH (one, i, more)
        if (rv == MORTISE_OK)
            rv = add_model_name(to, one);
    return rv;
}

int mortise_usage_add(struct mortise_usage *to,
                      const struct mortise_usage *more)
{
    int rv = add_by_model(to, more);

    for (size_t i = 0; i < MORTISE_USED_N; i++)
        to->amount[i] = add_saturated(to->amount[i], more->amount[i]);
    to->unclear |= more->unclear;
    return rv == MORTISE_OK ? add_model_names(to, more->models) : rv;
}

void mortise_usage_subtract(struct mortise_usage *from,
                            const struct mortise_usage *by)
{
    for (size_t i = 0; i < MORTISE_USED_N; i++) {
        uint64_t less = by->amount[i];

        from->amount[i] -= less < from->amount[i] ? less : from->amount[i];
    }
    from->unclear &= !by->unclear;
}
