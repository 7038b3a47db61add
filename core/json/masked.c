/* masked.c -- a JSON value with its secrets masked.
 *
 * Strings are searched in decoded form, so the result is the same value with
 * other strings in it.  A number that is a secret, or contains one, becomes a
 * string.
 */
#include "core/json/masked.h"

#include <string.h>

enum { NUMBER_TEXT = 64 };

static size_t print_masked_number(char out[NUMBER_TEXT], const json_t *v)
{
    int n = json_is_integer(v)
                ? snprintf(out, NUMBER_TEXT, "%" JSON_INTEGER_FORMAT,
                           json_integer_value(v))
                : snprintf(out, NUMBER_TEXT, "%.17g", json_real_value(v));

    return n > 0 ? (size_t)n : 0;
}

static bool has_member_masked(const struct mortise_mask *mask, const char *name,
                              const json_t *v)
{
    return mortise_mask_is_match(mask, name, strlen(name)) ||
           mortise_json_has_secret(mask, v);
}

bool mortise_json_has_secret(const struct mortise_mask *mask, const json_t *v)
{
    char text[NUMBER_TEXT];

    if (mask == NULL)
        return false;
    if (json_is_string(v))
        return mortise_mask_is_match(mask, json_string_value(v),
                                     json_string_length(v));
    if (json_is_number(v))
        return mortise_mask_is_match(mask, text, print_masked_number(text, v));
    MORTISE_JSON_EACH (one, i, v)
        if (mortise_json_has_secret(mask, one))
            return true;
    MORTISE_JSON_MEMBERS (name, one, v)
        if (has_member_masked(mask, name, one))
            return true;
    return false;
}

static json_t *mask_string(const struct mortise_mask *mask, const char *p,
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

static json_t *mask_array(const struct mortise_mask *mask, const json_t *v,
                          const struct mortise_mem *mem)
{
    json_t *out = json_array();

    MORTISE_JSON_EACH (one, i, v)
        if (out != NULL &&
            json_array_append_new(out, mortise_json_mask(mask, one, mem)) != 0)
            mortise_json_clear_ref(&out);
    return out;
}

static json_t *mask_object(const struct mortise_mask *mask, const json_t *v,
                           const struct mortise_mem *mem)
{
    json_t *out = json_object();

    MORTISE_JSON_MEMBERS (name, one, v) {
        json_t *as = mask_string(mask, name, strlen(name), mem);

        if (out != NULL &&
            (as == NULL ||
             json_object_set_new(out, json_string_value(as),
                                 mortise_json_mask(mask, one, mem)) != 0))
            mortise_json_clear_ref(&out);
        json_decref(as);
    }
    return out;
}

json_t *mortise_json_mask(const struct mortise_mask *mask, const json_t *v,
                          const struct mortise_mem *mem)
{
    char text[NUMBER_TEXT];

    if (!mortise_json_has_secret(mask, v))
        return json_incref(mortise_json_unconst(v));
    if (json_is_string(v))
        return mask_string(mask, json_string_value(v), json_string_length(v),
                           mem);
    if (json_is_number(v))
        return mask_string(mask, text, print_masked_number(text, v), mem);
    return json_is_array(v) ? mask_array(mask, v, mem)
                            : mask_object(mask, v, mem);
}
