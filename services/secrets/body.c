/* body.c -- checks the members of requests and answers. */
#include "services/secrets/body.h"

#include <sodium.h>
#include <string.h>

#include "services/secrets/secret.h"

bool mortise_body_is_text(const json_t *value)
{
    return json_is_string(value) &&
           strlen(json_string_value(value)) == json_string_length(value);
}

bool mortise_body_is_string(const json_t *value)
{
    return json_is_string(value);
}

bool mortise_body_is_any(const json_t *value)
{
    return value != NULL;
}

bool mortise_body_is_flag(const json_t *value)
{
    return json_is_boolean(value);
}

bool mortise_body_is_count(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           json_integer_value(value) <= INT32_MAX;
}

bool mortise_body_is_text_object(const json_t *value)
{
    const char *name;
    json_t *one;

    if (!json_is_object(value) || json_object_size(value) > MORTISE_BODY_TEXTS)
        return false;
    json_object_foreach(mortise_json_unconst(value), name, one)
    {
        if (!mortise_body_is_text(one))
            return false;
    }
    return true;
}

bool mortise_body_is_secret_object(const json_t *value)
{
    const char *name;
    json_t *one;

    if (!mortise_body_is_text_object(value))
        return false;
    json_object_foreach(mortise_json_unconst(value), name, one)
    {
        if (mortise_secret_get_name(json_string_value(one)) == NULL)
            return false;
    }
    return true;
}

static const struct mortise_body_member *
find_member(const struct mortise_body_member *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

bool mortise_body_is_valid(const json_t *body,
                           const struct mortise_body_member *list, size_t n)
{
    const char *name;
    json_t *value;

    json_object_foreach(mortise_json_unconst(body), name, value)
    {
        const struct mortise_body_member *m = find_member(list, n, name);

        if (m == NULL || !m->fits(value))
            return false;
    }
    return true;
}

int32_t mortise_body_check(const json_t *body,
                           const struct mortise_body_member *list, size_t n,
                           const char *whose, char *words)
{
    const char *name;
    json_t *value;

    json_object_foreach(mortise_json_unconst(body), name, value)
    {
        const struct mortise_body_member *m = find_member(list, n, name);

        if (m == NULL)
            return mortise_ask_format_error(words, MORTISE_S_INVALID,
                                            "%s has an unknown member '%s'",
                                            whose, name);
        if (!m->fits(value))
            return mortise_ask_format_error(words, MORTISE_S_INVALID,
                                            "'%s' must be %s", name, m->what);
    }
    return MORTISE_S_OK;
}

int32_t mortise_body_check_secrets(const struct mortise_asked *a,
                                   const char *member, char *words)
{
    const json_t *references = json_object_get(a->body, member);
    struct mortise_err why;
    const char *name;
    json_t *value;

    json_object_foreach(mortise_json_unconst(references), name, value)
    {
        const char *secret = mortise_secret_get_name(json_string_value(value));
        int rv =
            secret != NULL
                ? mortise_secret_check_grant(a->m->settings.deployment,
                                             a->manifest, a->as, secret, &why)
                : MORTISE_OK;

        if (rv != MORTISE_OK)
            return mortise_ask_format_error(
                words,
                rv == MORTISE_ENOMEM ? MORTISE_S_NOMEM : MORTISE_S_DENIED,
                "%.500s", why.msg);
    }
    return MORTISE_S_OK;
}

int mortise_body_await_secrets(struct mortise_asked *a, const char *member,
                               void (*then)(struct mortise_asked *a),
                               struct mortise_err *err)
{
    const json_t *references = json_object_get(a->body, member);
    const char *names[MORTISE_BODY_TEXTS], *name;
    json_t *value;
    size_t n = 0;

    json_object_foreach(mortise_json_unconst(references), name, value)
    {
        names[n] = mortise_secret_get_name(json_string_value(value));
        n += names[n] != NULL;
    }
    return mortise_secret_await(a, names, n, then, err);
}

json_t *mortise_body_encode_base64(const char *p, size_t n,
                                   const struct mortise_mem *mem)
{
    size_t size = sodium_base64_encoded_len(n, sodium_base64_VARIANT_ORIGINAL);
    char *text = mortise_alloc(mem, size);
    json_t *out;

    if (text == NULL)
        return NULL;
    sodium_bin2base64(text, size, (const unsigned char *)p, n,
                      sodium_base64_VARIANT_ORIGINAL);
    out = json_string(text);
    mortise_release(mem, text, size);
    return out;
}
