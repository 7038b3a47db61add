/* members.c -- read a JSON object from outside into a struct, by a table.
 *
 * Every member is checked.  An unknown member is an error and not ignored,
 * because the sender expected it to have an effect.
 */
#include "core/json/members.h"

#include <assert.h>
#include <string.h>

#include "core/base/nearest.h"

enum { MAX_MEMBER_ROWS = 32 }; /* rows of a table */

int mortise_members_check(const struct mortise_members *m, const json_t *from,
                          struct mortise_err *err)
{
    const char *near, *names[MAX_MEMBER_ROWS];

    assert(m->n <= MAX_MEMBER_ROWS); /* tables are part of the program */
    for (size_t i = 0; i < m->n; i++)
        names[i] = m->rows[i].name;
    MORTISE_JSON_MEMBERS (key, value, from) {
        size_t i = 0;

        while (i < m->n && strcmp(names[i], key) != 0)
            i++;
        if (i < m->n)
            continue;
        near = mortise_nearest_find(key, names, m->n);
        return mortise_fail(err, MORTISE_EINVAL,
                            "a request has no member '%.100s'%s%s%s", key,
                            near != NULL ? "; did you mean '" : "",
                            near != NULL ? near : "", near != NULL ? "'?" : "");
    }
    return MORTISE_OK;
}

static int fail_member_type(const struct mortise_member *row, const char *what,
                            struct mortise_err *err)
{
    return mortise_fail(err, MORTISE_EINVAL, "'%s' must be %s", row->name,
                        what);
}

static int read_member_value(const struct mortise_member *row, const json_t *v,
                             void *to, struct mortise_err *err)
{
    switch (row->type) {
    case MORTISE_MEMBER_TEXT:
        if (!json_is_string(v))
            return fail_member_type(row, "a string", err);
        if (strlen(json_string_value(v)) != json_string_length(v))
            return fail_member_type(row, "a string without a NUL", err);
        *(const char **)to = json_string_value(v);
        break;
    case MORTISE_MEMBER_NUMBER:
        if (!json_is_integer(v) || json_integer_value(v) < 0)
            return fail_member_type(row, "an integer of at least 0", err);
        *(uint64_t *)to = (uint64_t)json_integer_value(v);
        break;
    case MORTISE_MEMBER_FLAG:
        if (!json_is_boolean(v))
            return fail_member_type(row, "true or false", err);
        *(uint32_t *)to |= json_is_true(v) ? row->bit : 0;
        break;
    case MORTISE_MEMBER_VALUE:
        *(const json_t **)to = v;
        break;
    }
    return MORTISE_OK;
}

int mortise_members_get(const struct mortise_members *m, const json_t *from,
                        void *into, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < m->n; i++) {
        const struct mortise_member *row = &m->rows[i];
        const json_t *v = json_object_get(from, row->name);

        if (v != NULL &&
            (!json_is_null(v) || row->type == MORTISE_MEMBER_VALUE))
            rv = read_member_value(row, v, (char *)into + row->at, err);
        else if (row->must)
            rv =
                mortise_fail(err, MORTISE_EINVAL, "'%s' is missing", row->name);
    }
    return rv;
}

int mortise_members_read(const struct mortise_members *m, const json_t *from,
                         const char *shape, void *into, struct mortise_err *err)
{
    int rv = json_is_object(from)
                 ? mortise_members_check(m, from, err)
                 : mortise_fail(err, MORTISE_EINVAL, "%s", shape);

    return rv == MORTISE_OK ? mortise_members_get(m, from, into, err) : rv;
}
