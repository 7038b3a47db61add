/* patch.c -- turns {scratch?, artifacts?} into writes.
 *
 * A person's update and an executor's `update` have this form.  It becomes
 * writes of whole roots, or one write for each member through the reducer of
 * its path.  If reducers are declared only for paths below a member, the member
 * is split further.
 */
#include <assert.h>
#include <string.h>

#include "core/run/state/state.h"

static int add_patch_write(struct patch *p, enum mortise_reduce reduce,
                           const char *path, json_t *value,
                           const struct mortise_schema *s,
                           struct mortise_err *err)
{
    struct mortise_entry_write *w = &p->writes[p->n];

    assert(p->n < p->cap); /* mortise_patch_parse() counted them */
    w->ref = MORTISE_WRITE_SPELLED;
    w->reduce = reduce;
    w->text = path;
    w->value = mortise_schema_normalize(s, value, p->graph->expr_cost);
    p->n++;
    return w->value != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* The path of a member, in the arena.  The key can be any string. */
static const char *spell_member(struct patch *p, const char *path,
                                const char *key)
{
    struct mortise_buf text;
    char *out = NULL;

    mortise_buf_init(&text, p->mem);
    mortise_buf_puts(&text, path);
    mortise_buf_puts(&text, "[\"");
    for (; *key != '\0'; key++) {
        if (*key == '"' || *key == '\\')
            mortise_buf_put(&text, "\\", 1);
        mortise_buf_put(&text, key, 1);
    }
    mortise_buf_puts(&text, "\"]");
    if (!text.failed)
        out = mortise_arena_strndup(&p->arena, text.p, text.n);
    mortise_buf_finish(&text);
    return out;
}

static bool is_reduced_below(const struct mortise_graph *g,
                             const struct mortise_path *path)
{
    for (size_t i = 0; i < g->n_reducers; i++) {
        if (g->reducers[i].path.n > path->n &&
            mortise_path_is_prefix(path, &g->reducers[i].path))
            return true;
    }
    return false;
}

static int patch_members(struct patch *p, const char *at, json_t *value,
                         const struct mortise_schema *s,
                         struct mortise_err *err);

/* The recursion is bounded by the depth of the value. */
static int patch_member(struct patch *p, const char *at, json_t *value,
                        const struct mortise_schema *s, struct mortise_err *err)
{
    struct mortise_path path;
    enum mortise_reduce reduce;
    int rv = mortise_path_parse(&path, &p->arena, at, strlen(at), err);

    if (rv != MORTISE_OK)
        return rv;
    reduce = mortise_graph_get_reduce(p->graph, &path);
    if (reduce == MORTISE_REDUCE_DEFAULT && json_is_object(value) &&
        is_reduced_below(p->graph, &path))
        return patch_members(p, at, value, s, err);
    return add_patch_write(p,
                           reduce == MORTISE_REDUCE_DEFAULT ? p->plain : reduce,
                           at, value, s, err);
}

static int patch_members(struct patch *p, const char *at, json_t *value,
                         const struct mortise_schema *s,
                         struct mortise_err *err)
{
    const char *key;
    json_t *member;

    json_object_foreach(value, key, member)
    {
        const char *path = spell_member(p, at, key);
        int rv;

        if (path == NULL)
            return mortise_nomem(err);
        rv = patch_member(p, path, member,
                          s != NULL ? mortise_schema_get_member(s, key) : NULL,
                          err);
        if (rv != MORTISE_OK)
            return rv;
    }
    return MORTISE_OK;
}

static int patch_root(struct patch *p, const char *root, json_t *value,
                      const struct mortise_schema *s, struct mortise_err *err)
{
    if (!json_is_object(value))
        return mortise_fail(err, MORTISE_EINVAL, "%s must be an object", root);
    return p->whole
               ? add_patch_write(p, MORTISE_REDUCE_LAST, root, value, s, err)
               : patch_members(p, root, value, s, err);
}

/* Nested members count, too: each may become a write. */
static size_t count_members(const json_t *value)
{
    size_t n = 0;
    const char *key;
    json_t *member;

    json_object_foreach(mortise_json_unconst(value), key, member)
    {
        n += 1 + count_members(member);
    }
    return n;
}

static int patch_roots(struct patch *p, const json_t *body,
                       struct mortise_err *err)
{
    const char *key;
    json_t *value;
    int rv = MORTISE_OK;

    json_object_foreach(mortise_json_unconst(body), key, value)
    {
        if (rv != MORTISE_OK)
            break;
        if (strcmp(key, "scratch") == 0)
            rv = patch_root(p, "scratch", value, p->graph->scratch, err);
        else if (strcmp(key, "artifacts") == 0)
            rv = patch_root(p, "artifacts", value, p->graph->artifacts, err);
        else
            rv = mortise_fail(
                err, MORTISE_EINVAL,
                "an update can change scratch and artifacts, not '%s'%s", key,
                strcmp(key, "input") == 0 ? " (input cannot be changed)" : "");
    }
    return rv;
}

void mortise_patch_init(struct patch *p, struct mortise_run *r,
                        const struct mortise_graph *g)
{
    *p = (struct patch){.mem = r->mem, .graph = g};
    mortise_arena_init(&p->arena, r->mem);
}

int mortise_patch_parse(struct patch *p, const json_t *body,
                        struct mortise_err *err)
{
    if (!json_is_object(body))
        return mortise_fail(
            err, MORTISE_EINVAL,
            "an update must be an object with scratch, artifacts or both");
    if (mortise_fold_check_depth(body, err) != MORTISE_OK)
        return MORTISE_EINVAL;
    p->cap = 2 + count_members(body);
    p->writes = mortise_arena_alloc(&p->arena, p->cap * sizeof p->writes[0]);
    return p->writes != NULL ? patch_roots(p, body, err) : mortise_nomem(err);
}

void mortise_patch_finish(struct patch *p)
{
    for (size_t i = 0; i < p->n; i++)
        json_decref(p->writes[i].value);
    mortise_arena_finish(&p->arena);
}
