/* oauth_scope.c -- sets of scopes, as OAuth writes them: names with a blank in
 * between, in any order.
 *
 * A name is of visible ASCII without quotes and backslashes (RFC 6749, 3.3); a
 * set has each name once, and at most OAUTH_TEXT_MAX bytes: what is beyond that
 * is left out. */
#include "oauth_parts.h"

/* The next name of a set, which loses it; empty behind the last. */
static mortise_str next(mortise_str *set)
{
    mortise_str one;

    while (set->n > 0 && *set->p == ' ') {
        set->p++;
        set->n--;
    }
    one = mortise_strn(set->p, 0);
    while (one.n < set->n && one.p[one.n] != ' ')
        one.n++;
    set->p = one.n > 0 ? set->p + one.n : set->p;
    set->n -= one.n;
    return one;
}

int oauth_scope_has(mortise_str set, mortise_str one)
{
    mortise_str each = next(&set);

    while (each.n > 0 && !oauth_str_same(each, one))
        each = next(&set);
    return each.n > 0;
}

int oauth_scope_exceeds(mortise_str set, mortise_str other)
{
    mortise_str each = next(&set);

    while (each.n > 0 && oauth_scope_has(other, each))
        each = next(&set);
    return each.n > 0;
}

static int is_name(mortise_str s)
{
    for (uint64_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] > '~' || s.p[i] == '"' || s.p[i] == '\\')
            return 0;
    return s.n > 0;
}

static mortise_status add(struct bytes *set, mortise_str one)
{
    mortise_status status = MORTISE_S_OK;

    if (!is_name(one) || oauth_scope_has(bytes_str(set), one) ||
        set->n + one.n >= OAUTH_TEXT_MAX)
        return MORTISE_S_OK;
    if (set->n > 0)
        status = bytes_put(set, mortise_strz(" "));
    return status == MORTISE_S_OK ? bytes_put(set, one) : status;
}

mortise_status oauth_scope_join(struct bytes *set, mortise_str more)
{
    mortise_status status = MORTISE_S_OK;
    mortise_str each = next(&more);

    for (; each.n > 0 && status == MORTISE_S_OK; each = next(&more))
        status = add(set, each);
    return status;
}

mortise_status oauth_scope_join_list(struct bytes *set, mortise_jv list)
{
    mortise_jv_iter it = mortise_jv_each(list);
    mortise_status status = MORTISE_S_OK;
    struct bytes name = {0};
    mortise_jv one;

    while (status == MORTISE_S_OK && !it.is_object &&
           mortise_jv_next(&it, NULL, &one)) {
        name.n = 0;
        status = bytes_decode(&name, one);
        if (status == MORTISE_S_OK)
            status = add(set, bytes_str(&name));
        else if (status == MORTISE_S_INVALID)
            status = MORTISE_S_OK; /* no string */
    }
    bytes_free(&name);
    return status;
}
