/* visible.c -- texts with a NUL in them, for people.
 *
 * What is printed are C strings, so what stands behind a NUL in a text would not
 * be seen: by who is asked to approve it, say.  Such a text gets `\x00` in its
 * place, as every other control character does when it is printed.  What
 * programs get (--json) is as it is. */
#include "cli/visible.h"

#include <stdlib.h>
#include <string.h>

#include "core/json/value.h"

static bool has_nul(const json_t *text)
{
    return strlen(json_string_value(text)) != json_string_length(text);
}

/* Recursive; as deep as JSON may be. */
static bool any_has(const json_t *v)
{
    if (json_is_string(v))
        return has_nul(v);
    MORTISE_JSON_EACH (one, i, v)
        if (any_has(one))
            return true;
    MORTISE_JSON_MEMBERS (key, one, v)
        if (any_has(one))
            return true;
    return false;
}

static json_t *spell(const json_t *text)
{
    const char *s = json_string_value(text);
    size_t n = json_string_length(text), at = 0;
    char *out = malloc(4 * n + 1);
    json_t *v;

    for (size_t i = 0; out != NULL && i < n; i++) {
        if (s[i] == '\0') {
            memcpy(out + at, "\\x00", 4);
            at += 4;
        } else {
            out[at++] = s[i];
        }
    }
    v = out != NULL ? json_stringn(out, at) : NULL;
    free(out);
    return v;
}

/* A copy; NULL: memory ran out. */
static json_t *copy(const json_t *v)
{
    json_t *out = json_is_array(v) ? json_array() : json_object();

    if (json_is_string(v)) {
        json_decref(out);
        return has_nul(v) ? spell(v) : json_incref(mortise_json_unconst(v));
    }
    if (!json_is_array(v) && !json_is_object(v)) {
        json_decref(out);
        return json_incref(mortise_json_unconst(v));
    }
    MORTISE_JSON_EACH (one, i, v)
        if (out != NULL && json_array_append_new(out, copy(one)) != 0)
            mortise_json_drop(&out);
    MORTISE_JSON_MEMBERS (key, one, v)
        if (out != NULL && json_object_set_new(out, key, copy(one)) != 0)
            mortise_json_drop(&out);
    return out;
}

json_t *mortise_visible(json_t *v)
{
    json_t *out;

    if (v == NULL || !any_has(v))
        return v;
    out = copy(v);
    json_decref(v);
    return out;
}
