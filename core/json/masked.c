/* masked.c -- a JSON value without what must not be seen.
 *
 * The strings are looked at as they are, not as they are written, so that what
 * comes out is the same value with other strings in it.  A number that is a
 * secret, or has one inside, becomes a string.
 */
#include "core/json/masked.h"

#include <string.h>

enum { NUMBER_TEXT = 64 };

static size_t number_text(char out[NUMBER_TEXT], const json_t *v)
{
    int n = json_is_integer(v)
                ? snprintf(out, NUMBER_TEXT, "%" JSON_INTEGER_FORMAT,
                           json_integer_value(v))
                : snprintf(out, NUMBER_TEXT, "%.17g", json_real_value(v));

    return n > 0 ? (size_t)n : 0;
}

static bool is_told(const struct mortise_mask *mask, const char *name,
                    const json_t *v)
{
    return mortise_mask_finds(mask, name, strlen(name)) ||
           mortise_json_tells(mask, v);
}

bool mortise_json_tells(const struct mortise_mask *mask, const json_t *v)
{
    char text[NUMBER_TEXT];

    if (mask == NULL)
        return false;
    if (json_is_string(v))
        return mortise_mask_finds(mask, json_string_value(v),
                                  json_string_length(v));
    if (json_is_number(v))
        return mortise_mask_finds(mask, text, number_text(text, v));
    MORTISE_JSON_EACH (one, i, v)
        if (mortise_json_tells(mask, one))
            return true;
    MORTISE_JSON_MEMBERS (name, one, v)
        if (is_told(mask, name, one))
            return true;
    return false;
}

static json_t *masked_text(const struct mortise_mask *mask, const char *p,
                           size_t n, const struct mortise_mem *mem)
{
    struct mortise_buf b;
    json_t *out;

    mortise_buf_init(&b, mem);
    mortise_mask_text(mask, p, n, &b);
    out = b.failed ? NULL : json_stringn(b.p != NULL ? b.p : "", b.n);
    mortise_buf_finish(&b);
    return out;
}

static json_t *masked_array(const struct mortise_mask *mask, const json_t *v,
                            const struct mortise_mem *mem)
{
    json_t *out = json_array();

    MORTISE_JSON_EACH (one, i, v)
        if (out != NULL && json_array_append_new(
                               out, mortise_json_masked(mask, one, mem)) != 0)
            mortise_json_drop(&out);
    return out;
}

static json_t *masked_object(const struct mortise_mask *mask, const json_t *v,
                             const struct mortise_mem *mem)
{
    json_t *out = json_object();

    MORTISE_JSON_MEMBERS (name, one, v) {
        json_t *as = masked_text(mask, name, strlen(name), mem);

        if (out != NULL &&
            (as == NULL ||
             json_object_set_new(out, json_string_value(as),
                                 mortise_json_masked(mask, one, mem)) != 0))
            mortise_json_drop(&out);
        json_decref(as);
    }
    return out;
}

json_t *mortise_json_masked(const struct mortise_mask *mask, const json_t *v,
                            const struct mortise_mem *mem)
{
    char text[NUMBER_TEXT];

    if (!mortise_json_tells(mask, v))
        return json_incref(mortise_json_unconst(v));
    if (json_is_string(v))
        return masked_text(mask, json_string_value(v), json_string_length(v),
                           mem);
    if (json_is_number(v))
        return masked_text(mask, text, number_text(text, v), mem);
    return json_is_array(v) ? masked_array(mask, v, mem)
                            : masked_object(mask, v, mem);
}
