/* visible.c -- makes NULs in texts visible.
 *
 * Texts are printed as C strings, so the part behind a NUL would be invisible,
 * for example to a person who approves it.  Therefore a NUL is printed as
 * `\x00`, like other control characters.  JSON output (--json) is not changed.
 */
#include "cli/visible.h"

#include <stdlib.h>
#include <string.h>

#include "core/json/value.h"

static bool has_embedded_nul(const json_t *text)
{
    return strlen(json_string_value(text)) != json_string_length(text);
}

/* Recursive; the depth of JSON is limited. */
static bool has_any_nul(const json_t *v)
{
    if (json_is_string(v))
        return has_embedded_nul(v);
    MORTISE_JSON_EACH (one, i, v)
        if (has_any_nul(one))
            return true;
    MORTISE_JSON_MEMBERS (key, one, v)
        if (has_any_nul(one))
            return true;
    return false;
}

static json_t *spell_nul(const json_t *text)
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

/* NULL: memory ran out. */
static json_t *copy_with_visible_nul(const json_t *v)
{
    json_t *out = json_is_array(v) ? json_array() : json_object();

    if (json_is_string(v)) {
        json_decref(out);
        return has_embedded_nul(v) ? spell_nul(v)
                                   : json_incref(mortise_json_unconst(v));
    }
    if (!json_is_array(v) && !json_is_object(v)) {
        json_decref(out);
        return json_incref(mortise_json_unconst(v));
    }
    MORTISE_JSON_EACH (one, i, v)
        if (out != NULL &&
            json_array_append_new(out, copy_with_visible_nul(one)) != 0)
            mortise_json_clear_ref(&out);
    MORTISE_JSON_MEMBERS (key, one, v)
        if (out != NULL &&
            json_object_set_new(out, key, copy_with_visible_nul(one)) != 0)
            mortise_json_clear_ref(&out);
    return out;
}

json_t *mortise_json_show_nul(json_t *v)
{
    json_t *out;

    if (v == NULL || !has_any_nul(v))
        return v;
    out = copy_with_visible_nul(v);
    json_decref(v);
    return out;
}
