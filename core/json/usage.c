/* usage.c -- what calls of models cost: counted, and as JSON.
 *
 *   (1) No sum is made of floating numbers: what is read is rounded once, to
 *       whole nano-dollars, and only whole numbers are added.
 *   (2) What is no usage is refused as a whole: an amount that nobody looks at
 *       would be money that nobody counts.
 *   (3) Amounts are bounded, and stop there: nothing a plugin says overflows.
 */
#include "json/usage.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const struct {
    const char *name;
    size_t at;
} amounts[] = {
    {"model_calls", offsetof(struct mortise_usage, model_calls)},
    {"input_tokens", offsetof(struct mortise_usage, input_tokens)},
    {"output_tokens", offsetof(struct mortise_usage, output_tokens)},
    {"usd", offsetof(struct mortise_usage, nano_usd)},
};

enum { N_AMOUNTS = sizeof amounts / sizeof amounts[0], USD = 3 };

static uint64_t *amount(struct mortise_usage *u, size_t i)
{
    return (uint64_t *)(void *)((char *)u + amounts[i].at);
}

static uint64_t amount_of(const struct mortise_usage *u, size_t i)
{
    return *(const uint64_t *)(const void *)((const char *)u + amounts[i].at);
}

void mortise_usage_finish(struct mortise_usage *u)
{
    json_decref(u->models);
    *u = (struct mortise_usage){0};
}

bool mortise_usage_is_none(const struct mortise_usage *u)
{
    for (size_t i = 0; i < N_AMOUNTS; i++) {
        if (amount_of(u, i) != 0)
            return false;
    }
    return true;
}

/* ---- amounts ------------------------------------------------------------ */

bool mortise_usd_parse(uint64_t *nano, const json_t *value)
{
    double usd = json_number_value(value);

    if (!json_is_number(value) ||
        !(usd >= 0 && usd <= (double)(MORTISE_USAGE_MAX / MORTISE_NANO)))
        return false;
    *nano = (uint64_t)llround(usd * MORTISE_NANO);
    return true;
}

json_t *mortise_usd_json(uint64_t nano)
{
    return json_real((double)nano / MORTISE_NANO);
}

static bool read_count(uint64_t *out, const json_t *value)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) > MORTISE_USAGE_MAX)
        return false;
    *out = (uint64_t)json_integer_value(value);
    return true;
}

static int read_amount(struct mortise_usage *u, size_t i, const json_t *value,
                       struct mortise_err *err)
{
    if (i == USD && !mortise_usd_parse(amount(u, i), value))
        return mortise_fail(err, MORTISE_EINVAL,
                            "usd is a decimal of dollars from 0 to %d",
                            (int)(MORTISE_USAGE_MAX / MORTISE_NANO));
    if (i != USD && !read_count(amount(u, i), value))
        return mortise_fail(err, MORTISE_EINVAL,
                            "%s is a whole number from 0 to %lld",
                            amounts[i].name, (long long)MORTISE_USAGE_MAX);
    return MORTISE_OK;
}

/* ---- names -------------------------------------------------------------- */

static bool has_name(const json_t *models, const char *name)
{
    size_t i;
    json_t *one;

    json_array_foreach(mortise_json_unconst(models), i, one)
    {
        if (strcmp(json_string_value(one), name) == 0)
            return true;
    }
    return false;
}

static int add_name(struct mortise_usage *u, json_t *name)
{
    if (u->models == NULL)
        u->models = json_array();
    if (u->models == NULL)
        return MORTISE_ENOMEM;
    if (has_name(u->models, json_string_value(name)) ||
        json_array_size(u->models) == MORTISE_USAGE_MODELS)
        return MORTISE_OK;
    return json_array_append(u->models, name) == 0 ? MORTISE_OK
                                                   : MORTISE_ENOMEM;
}

static int read_name(struct mortise_usage *u, json_t *name,
                     struct mortise_err *err)
{
    size_t n = json_string_length(name);

    if (n == 0 || n > MORTISE_USAGE_NAME_MAX ||
        strlen(json_string_value(name)) != n)
        return mortise_fail(err, MORTISE_EINVAL,
                            "a model is a name of 1 to %d bytes",
                            MORTISE_USAGE_NAME_MAX);
    return add_name(u, name) == MORTISE_OK ? MORTISE_OK : mortise_nomem(err);
}

static int read_names(struct mortise_usage *u, const json_t *list,
                      struct mortise_err *err)
{
    size_t i;
    json_t *one;
    int rv = MORTISE_OK;

    if (!json_is_array(list) || json_array_size(list) > MORTISE_USAGE_MODELS)
        return mortise_fail(err, MORTISE_EINVAL,
                            "models is a list of at most %d names",
                            MORTISE_USAGE_MODELS);
    json_array_foreach(mortise_json_unconst(list), i, one)
    {
        if (rv == MORTISE_OK)
            rv = read_name(u, one, err);
    }
    return rv;
}

/* ---- JSON --------------------------------------------------------------- */

/* `names`: the member that has them, one or many. */
static int read_member(struct mortise_usage *u, const char *key, json_t *value,
                       const char *names, struct mortise_err *err)
{
    if (strcmp(key, names) == 0)
        return strcmp(names, "model") == 0 ? read_name(u, value, err)
                                           : read_names(u, value, err);
    for (size_t i = 0; i < N_AMOUNTS; i++) {
        if (strcmp(key, amounts[i].name) == 0)
            return read_amount(u, i, value, err);
    }
    return mortise_fail(err, MORTISE_EINVAL,
                        "usage is {model_calls?, input_tokens?, "
                        "output_tokens?, usd?, %s?}, without '%.64s'",
                        names, key);
}

static int read_all(struct mortise_usage *u, const json_t *value,
                    const char *names, struct mortise_err *err)
{
    const char *key;
    json_t *one;
    int rv = json_is_object(value)
                 ? MORTISE_OK
                 : mortise_fail(err, MORTISE_EINVAL, "usage is an object");

    *u = (struct mortise_usage){0};
    json_object_foreach(mortise_json_unconst(value), key, one)
    {
        if (rv == MORTISE_OK)
            rv = read_member(u, key, one, names, err);
    }
    if (rv != MORTISE_OK)
        mortise_usage_finish(u);
    return rv;
}

int mortise_usage_parse(struct mortise_usage *u, const json_t *said,
                        struct mortise_err *err)
{
    return read_all(u, said, "model", err);
}

int mortise_usage_read(struct mortise_usage *u, const json_t *value,
                       struct mortise_err *err)
{
    return read_all(u, value, "models", err);
}

json_t *mortise_usage_json(const struct mortise_usage *u)
{
    return json_pack("{s:I, s:I, s:I, s:o, s:O*}", "model_calls",
                     (json_int_t)u->model_calls, "input_tokens",
                     (json_int_t)u->input_tokens, "output_tokens",
                     (json_int_t)u->output_tokens, "usd",
                     mortise_usd_json(u->nano_usd), "models", u->models);
}

/* ---- sums --------------------------------------------------------------- */

/* Names are added to a list of our own: the other may be somebody's. */
static int add_names(struct mortise_usage *to, const json_t *names)
{
    size_t i;
    json_t *one;
    int rv = MORTISE_OK;

    json_array_foreach(mortise_json_unconst(names), i, one)
    {
        if (rv == MORTISE_OK)
            rv = add_name(to, one);
    }
    return rv;
}

int mortise_usage_add(struct mortise_usage *to,
                      const struct mortise_usage *more)
{
    for (size_t i = 0; i < N_AMOUNTS; i++) {
        uint64_t room = MORTISE_USAGE_MAX - amount_of(to, i);
        uint64_t by = amount_of(more, i);

        *amount(to, i) += by < room ? by : room;
    }
    return add_names(to, more->models);
}

void mortise_usage_less(struct mortise_usage *from,
                        const struct mortise_usage *by)
{
    for (size_t i = 0; i < N_AMOUNTS; i++) {
        uint64_t less = amount_of(by, i);

        *amount(from, i) -=
            less < amount_of(from, i) ? less : amount_of(from, i);
    }
}
