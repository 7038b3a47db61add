/* update.c -- the command that gives a run another state.
 *
 * What is given becomes writes, by path: whole, or through the reducers of what
 * they merge into.  They are tried on the state as it is, against the schemas
 * and limits that every write is held to, before one entry says all of them.
 */
#include <assert.h>
#include <string.h>

#include "run/internal.h"

/* The writes that an update makes: whole roots when replacing, else one for
 * each field, through the reducers. */
struct update {
    struct mortise_arena arena;
    struct mortise_entry_write *writes;
    size_t n, cap;
};

static int update_add(struct update *u, enum mortise_reduce reduce,
                      const char *path, json_t *value,
                      const struct mortise_schema *s, struct mortise_err *err)
{
    struct mortise_entry_write *w = &u->writes[u->n];

    assert(u->n < u->cap); /* update_make() counted */
    w->ref = MORTISE_WRITE_SPELLED;
    w->reduce = reduce;
    w->text = path;
    w->value = s != NULL ? mortise_schema_normal(s, value) : json_incref(value);
    u->n++;
    return w->value != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* The path of a member, in the arena: any name may be one. */
static const char *spell_member(struct mortise_run *r, struct update *u,
                                const char *path, const char *key)
{
    struct mortise_buf text;
    char *out = NULL;

    mortise_buf_init(&text, r->mem);
    mortise_buf_puts(&text, path);
    mortise_buf_puts(&text, "[\"");
    for (; *key != '\0'; key++) {
        if (*key == '"' || *key == '\\')
            mortise_buf_put(&text, "\\", 1);
        mortise_buf_put(&text, key, 1);
    }
    mortise_buf_puts(&text, "\"]");
    if (!text.failed)
        out = mortise_arena_strndup(&u->arena, text.p, text.n);
    mortise_buf_finish(&text);
    return out;
}

static bool is_reduced_below(const struct mortise_graph *g,
                             const struct mortise_path *path)
{
    for (size_t i = 0; i < g->n_reducers; i++) {
        if (g->reducers[i].path.n > path->n &&
            mortise_path_covers(path, &g->reducers[i].path))
            return true;
    }
    return false;
}

static int update_merge(struct mortise_run *r, struct update *u, const char *at,
                        json_t *value, const struct mortise_schema *s,
                        struct mortise_err *err);

/* One member: through its own reducer, or further down to those of its members,
 * or in the place of what is there.  Recursion ends with the value. */
static int update_merge_member(struct mortise_run *r, struct update *u,
                               const char *at, json_t *value,
                               const struct mortise_schema *s,
                               struct mortise_err *err)
{
    struct mortise_path path;
    enum mortise_reduce reduce;
    int rv = mortise_path_parse(&path, &u->arena, at, strlen(at), err);

    if (rv != MORTISE_OK)
        return rv;
    reduce = mortise_graph_reduce(r->graph, &path);
    if (reduce == MORTISE_REDUCE_DEFAULT && json_is_object(value) &&
        is_reduced_below(r->graph, &path))
        return update_merge(r, u, at, value, s, err);
    return update_add(
        u, reduce == MORTISE_REDUCE_DEFAULT ? MORTISE_REDUCE_LAST : reduce, at,
        value, s, err);
}

static int update_merge(struct mortise_run *r, struct update *u, const char *at,
                        json_t *value, const struct mortise_schema *s,
                        struct mortise_err *err)
{
    const char *key;
    json_t *member;

    json_object_foreach(value, key, member)
    {
        const char *path = spell_member(r, u, at, key);
        int rv;

        if (path == NULL)
            return mortise_nomem(err);
        rv = update_merge_member(
            r, u, path, member,
            s != NULL ? mortise_schema_member(s, key) : NULL, err);
        if (rv != MORTISE_OK)
            return rv;
    }
    return MORTISE_OK;
}

static int update_root(struct mortise_run *r, struct update *u,
                       const char *root, json_t *value, bool merge,
                       const struct mortise_schema *s, struct mortise_err *err)
{
    if (!json_is_object(value))
        return mortise_fail(err, MORTISE_EINVAL, "%s must be an object", root);
    return merge ? update_merge(r, u, root, value, s, err)
                 : update_add(u, MORTISE_REDUCE_LAST, root, value, s, err);
}

/* Members of members count, too: each may become a write. */
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

static int update_make(struct mortise_run *r, struct update *u,
                       const struct mortise_command *c, struct mortise_err *err)
{
    json_t *body, *value;
    const char *key;
    int rv = command_json(&body, c, "update", err);

    if (rv == MORTISE_OK && !json_is_object(body))
        rv = mortise_fail(err, MORTISE_EINVAL,
                          "an update is {scratch?, artifacts?}");
    if (rv != MORTISE_OK) {
        json_decref(body);
        return rv;
    }
    u->cap = 2 + count_members(body);
    u->writes = mortise_arena_alloc(&u->arena, u->cap * sizeof u->writes[0]);
    if (u->writes == NULL)
        rv = mortise_nomem(err);
    json_object_foreach(body, key, value)
    {
        bool merge = (c->flags & MORTISE_CMD_MERGE) != 0;

        if (rv != MORTISE_OK)
            break;
        if (strcmp(key, "scratch") == 0)
            rv = update_root(r, u, "scratch", value, merge, r->graph->scratch,
                             err);
        else if (strcmp(key, "artifacts") == 0)
            rv = update_root(r, u, "artifacts", value, merge,
                             r->graph->artifacts, err);
        else
            rv = mortise_fail(
                err, MORTISE_EINVAL,
                "an update has scratch and artifacts, not '%s'%s", key,
                strcmp(key, "input") == 0 ? " (input is frozen)" : "");
    }
    json_decref(body);
    return rv;
}

static void update_finish(struct update *u)
{
    for (size_t i = 0; i < u->n; i++)
        json_decref(u->writes[i].value);
    mortise_arena_finish(&u->arena);
}

/* What the state would be: its reducers take it, what it changes holds against
 * the schemas, and it is not too large. */
static int update_try(struct mortise_run *r, struct update *u,
                      struct mortise_err *err)
{
    uint64_t size;
    json_t *state;
    int rv = past_total(r, r->frames[0], false, &state, err);

    for (size_t i = 0; rv == MORTISE_OK && i < u->n; i++) {
        struct mortise_path path;
        struct mortise_write w = {&path, u->writes[i].reduce,
                                  u->writes[i].value, NULL};

        rv = mortise_path_parse(&path, &u->arena, u->writes[i].text,
                                strlen(u->writes[i].text), err);
        if (rv == MORTISE_OK && w.reduce > MORTISE_REDUCE_LAST)
            w.how = mortise_graph_reducer(r->graph, &path);
        if (rv == MORTISE_OK)
            rv = mortise_fold_write(&state, &w, r->graph->expr_cost, err);
        if (rv == MORTISE_OK)
            rv = judge_field_of(r->graph, state, &path, err);
    }
    if (rv == MORTISE_OK)
        rv = size_within(r->graph, state, &size, err);
    json_decref(state);
    return rv != MORTISE_OK ? mortise_doing(err, rv, "update") : rv;
}

/* Does what it makes depend on what is there? */
static bool update_reduces(const struct update *u)
{
    for (size_t i = 0; i < u->n; i++) {
        if (u->writes[i].reduce != MORTISE_REDUCE_LAST)
            return true;
    }
    return false;
}

/* Answers and results are applied before the update, and what they write is
 * not known before: an update that they could break must come after them. */
int update_check(struct mortise_run *r, const struct held_command *h,
                 const struct mortise_command *c, struct mortise_err *err)
{
    struct update u = {.n = 0};
    int rv;

    mortise_arena_init(&u.arena, r->mem);
    rv = update_make(r, &u, c, err);
    if (rv == MORTISE_OK)
        rv = update_try(r, &u, err);
    if (rv == MORTISE_OK && update_reduces(&u) &&
        (command_has(h, MORTISE_CMD_ANSWER) ||
         command_has(h, MORTISE_CMD_RESOLVE)))
        rv = mortise_fail(err, MORTISE_EINVAL,
                          "an update through reducers cannot come in one call "
                          "with an answer or a result; give it afterwards");
    update_finish(&u);
    return rv;
}

/* It was checked, and nothing that could break it happened since. */
static int record_update(struct mortise_run *r, const struct mortise_command *c,
                         const char *actor, struct mortise_err *err)
{
    struct update u = {.n = 0};
    int rv;

    mortise_arena_init(&u.arena, r->mem);
    rv = update_make(r, &u, c, err);
    if (rv == MORTISE_OK) {
        struct mortise_entry e = {.type = MORTISE_E_UPDATE,
                                  .actor = actor,
                                  .writes = u.writes,
                                  .n_writes = u.n};

        rv = record(r, &e, err);
    }
    update_finish(&u);
    return rv;
}

/* Questions are asked again, since the state that they are about changes; a
 * scheduled pause is about none. */
int update_do(struct mortise_run *r, const struct mortise_command *c,
              const char *actor, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        if (x->frame->top != r->frames[0])
            continue; /* it has another state */
        rv = disarm(r, x, err);
        if (rv == MORTISE_OK && x->state == X_ASKED &&
            x->ask != MORTISE_ASK_BEFORE)
            rv = command_withdraw(r, x, err);
    }
    return rv != MORTISE_OK ? rv : record_update(r, c, actor, err);
}
