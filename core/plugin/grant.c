/* grant.c -- the values of a plugin's permissions in a deployment.
 *
 * A manifest lists the resources that its plugin may use.  It can leave a part
 * to the deployment: `net: [config:base_url]`.  Only this file resolves such an
 * entry, so the code that enforces permissions and the code that shows them use
 * the same list. */
#include "core/plugin/grant.h"

#include <assert.h>
#include <string.h>

#include "core/json/path.h"

struct grant_builder {
    struct mortise_arena *a;
    struct mortise_grant_value *list;
    size_t n, cap;
};

static int append_grant(struct grant_builder *g, const char *value,
                        const char *says, struct mortise_err *err)
{
    assert(g->n <= g->cap);
    if (g->n == g->cap) {
        size_t cap = g->cap * 2 + 4;
        struct mortise_grant_value *list =
            mortise_arena_alloc(g->a, cap * sizeof *list);

        if (list == NULL)
            return mortise_nomem(err);
        if (g->n > 0)
            memcpy(list, g->list, g->n * sizeof *list);
        g->list = list;
        g->cap = cap;
    }
    g->list[g->n++] = (struct mortise_grant_value){value, says};
    return MORTISE_OK;
}

static int add_grants_of_value(struct grant_builder *g, const json_t *value,
                               const char *says, struct mortise_err *err)
{
    size_t n = json_array_size(value); /* 0 if it is not an array */
    int rv = MORTISE_OK;

    if (json_is_string(value))
        return append_grant(g, json_string_value(value), says, err);
    if (!json_is_array(value))
        return mortise_fail(err, MORTISE_ECONFIG,
                            "%s: must be a string or a list of strings", says);
    for (size_t i = 0; rv == MORTISE_OK && i < n; i++) {
        const char *one = json_string_value(json_array_get(value, i));

        rv = one != NULL ? append_grant(g, one, says, err)
                         : mortise_fail(err, MORTISE_ECONFIG,
                                        "%s: an element is not a string", says);
    }
    return rv;
}

static int add_grants_of_config(struct grant_builder *g, const char *says,
                                const char *text, const json_t *config,
                                struct mortise_err *err)
{
    struct mortise_path path;
    const json_t *value;
    int rv = mortise_path_parse(&path, g->a, text, strlen(text), err);

    if (rv != MORTISE_OK)
        return mortise_err_prefix(
            err, rv == MORTISE_ENOMEM ? rv : MORTISE_ECONFIG, "%s", says);
    value = mortise_path_get(config, &path);
    return value != NULL ? add_grants_of_value(g, value, says, err)
                         : MORTISE_OK;
}

const char *mortise_grant_get_config_path(const char *permission)
{
    static const char from_config[] = "config:";
    const size_t n = sizeof from_config - 1;

    return strncmp(permission, from_config, n) == 0 ? permission + n : NULL;
}

int mortise_grant_resolve(struct mortise_grant *out, struct mortise_arena *a,
                          const struct mortise_names *permission,
                          const json_t *config, struct mortise_err *err)
{
    struct grant_builder g = {.a = a};
    int rv = MORTISE_OK;

    *out = (struct mortise_grant){NULL, 0};
    for (size_t i = 0; rv == MORTISE_OK && i < permission->n; i++) {
        const char *one = permission->items[i];
        const char *path = mortise_grant_get_config_path(one);

        rv = path != NULL ? add_grants_of_config(&g, one, path, config, err)
                          : append_grant(&g, one, one, err);
    }
    if (rv == MORTISE_OK)
        *out = (struct mortise_grant){g.list, g.n};
    return rv;
}
