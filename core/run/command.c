/* command.c -- people's commands: validated, then recorded, then obeyed.
 *
 * The list that comes in one call is one: every command of it is validated
 * before anything is recorded, and what is recorded stands in one commit.  The
 * order is decisions, plugins, update, goto, cancel, pause, resume, whatever
 * the order given.
 *
 * `update` and `goto` change what executions see, so what is in flight is
 * cancelled first and the list waits (r->held) until the calls have let go; it
 * is validated again then, since a call may have ended well on the way.
 * `pause` waits in the same manner, but lets effects come to their end, for as
 * long as the event's patience.  A paused run stands still, whatever is decided
 * or falls due, until a `resume`, or an update or goto that goes on.
 *
 * Who gives a command comes from the transport, never from the command.
 */
#include <assert.h>
#include <string.h>

#include "run/internal.h"

/* A list, as it is applied. */
struct held_command {
    struct mortise_arena arena;
    const struct mortise_command *list;
    size_t n;
    uint32_t flags;
    const char *actor;
    const struct mortise_pin *pins; /* only where nothing is in flight */
    size_t n_pins;
    uint64_t patience_ms;
};

/* Completed and cancelled runs are over; a failed one can be resumed. */
static bool is_over(const struct mortise_run *r)
{
    return r->status == MORTISE_RUN_COMPLETED ||
           r->status == MORTISE_RUN_CANCELLED;
}

static bool has(const struct held_command *h, uint32_t kind)
{
    for (size_t i = 0; i < h->n; i++) {
        if (h->list[i].kind == kind)
            return true;
    }
    return false;
}

/* ---- finding what a decision is about ----------------------------------- */

/* The execution whose request that is; *s: which of its steps asks, NULL:
 * itself. */
static struct exec *request_of(const struct mortise_run *r, const char *id,
                               struct step **s)
{
    *s = NULL;
    for (size_t i = 0; i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        if ((x->state == X_ASKED || x->state == X_HELD) &&
            x->loss == LOSS_NONE && strcmp(x->request, id) == 0)
            return x;
        *s = step_requested(x, id);
        if (*s != NULL)
            return x;
    }
    return NULL;
}

static int find_request(const struct mortise_run *r,
                        const struct mortise_command *c, struct exec **out,
                        struct step **s, struct mortise_err *err)
{
    uint64_t deadline_ms;

    if (c->id == NULL || c->id[0] == '\0')
        return mortise_fail(err, MORTISE_EINVAL, "a decision needs an id");
    *out = request_of(r, c->id, s);
    if (*out == NULL)
        return mortise_fail(err, MORTISE_EMISMATCH,
                            "no pending request '%s' in run %s (unknown, or "
                            "settled already)",
                            c->id, r->id);
    deadline_ms = *s != NULL ? (*s)->deadline_ms : (*out)->deadline_ms;
    if (deadline_ms != 0 && r->time_ms >= deadline_ms)
        return mortise_fail(err, MORTISE_EMISMATCH, "request '%s' has expired",
                            c->id);
    return MORTISE_OK;
}

/* A step in doubt, by request id, node id or path. */
static struct exec *doubt_of(const struct mortise_run *r, const char *id)
{
    char path[MORTISE_EXEC_PATH];

    for (size_t i = 1; i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        if (x->state != X_ASKED || x->ask != MORTISE_ASK_DOUBT)
            continue;
        exec_path(r, x, path);
        if (strcmp(x->request, id) == 0 || strcmp(path, id) == 0 ||
            strcmp(node_of(r, x)->id, id) == 0)
            return x;
    }
    return NULL;
}

static int parse_json(json_t **out, const struct mortise_command *c,
                      const char *what, struct mortise_err *err)
{
    int rv;

    *out = NULL;
    if (c->json == NULL)
        return MORTISE_OK;
    rv = mortise_json_parse(out, c->json, strlen(c->json), err);
    return rv != MORTISE_OK ? mortise_doing(err, rv, "%s", what) : rv;
}

/* ---- validating --------------------------------------------------------- */

/* approve | reject; `await_external` is no decision. */
static int check_decision(const struct mortise_command *c,
                          struct mortise_err *err)
{
    const char *d = c->decision != NULL ? c->decision : "";

    if (strcmp(d, "approve") == 0 || strcmp(d, "reject") == 0)
        return MORTISE_OK;
    if (strcmp(d, "await_external") == 0)
        return mortise_fail(err, MORTISE_EDECISION,
                            "await_external decides nothing; approve or "
                            "reject, or leave the request pending");
    return mortise_fail(err, MORTISE_EDECISION,
                        "decision must be approve or reject, not '%s'", d);
}

static int check_args(struct mortise_run *r, struct exec *x,
                      const struct mortise_command *c, struct mortise_err *err)
{
    json_t *args;
    int rv = parse_json(&args, c, "args", err);

    (void)r;
    if (rv == MORTISE_OK && args != NULL)
        rv = exec_check_body(node_of(r, x), args, r->mem, err);
    json_decref(args);
    return rv;
}

static int check_approve(struct mortise_run *r, const struct mortise_command *c,
                         struct mortise_err *err)
{
    struct exec *x;
    struct step *s;
    const char *digest;
    int rv;

    rv = check_decision(c, err);
    if (rv != MORTISE_OK || is_over(r))
        return rv;
    rv = find_request(r, c, &x, &s, err);
    if (rv != MORTISE_OK)
        return rv;
    if (s != NULL || x->ask != MORTISE_ASK_APPROVAL)
        return mortise_fail(
            err, MORTISE_EMISMATCH,
            "request '%s' asks for no tool approval (it is "
            "'%s'); answer it instead",
            c->id, s != NULL ? step_kind_name(s) : mortise_ask_name(x->ask));
    digest = json_string_value(json_object_get(x->payload, "digest"));
    if (c->digest != NULL && (digest == NULL || strcmp(digest, c->digest) != 0))
        return mortise_fail(err, MORTISE_EMISMATCH,
                            "the digest %s is not of the pending call, whose "
                            "digest is %s",
                            c->digest, digest != NULL ? digest : "missing");
    return check_args(r, x, c, err);
}

static bool may_answer(const struct mortise_node *n, const char *actor)
{
    for (size_t i = 0; i < n->n_assignees; i++) {
        if (strcmp(n->assignees[i], actor) == 0)
            return true;
    }
    return n->n_assignees == 0;
}

/* {approved, reason?, answer?}. */
static int check_decision_value(const struct mortise_node *n,
                                const json_t *value, struct mortise_err *err)
{
    const json_t *approved = json_object_get(value, "approved");
    const json_t *reason = json_object_get(value, "reason");
    const json_t *answer = json_object_get(value, "answer");
    const char *key;
    json_t *member;
    int rv;

    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        if (strcmp(key, "approved") != 0 && strcmp(key, "reason") != 0 &&
            strcmp(key, "answer") != 0)
            return mortise_fail(err, MORTISE_EINVAL,
                                "an answer is {approved, reason?, answer?}; "
                                "'%s' is none of them",
                                key);
    }
    if (!json_is_boolean(approved))
        return mortise_fail(err, MORTISE_EINVAL,
                            "an answer must say approved: true or false");
    if (reason != NULL && !json_is_string(reason))
        return mortise_fail(err, MORTISE_EINVAL, "reason must be a string");
    if (n->answer_schema == NULL || json_is_false(approved))
        return MORTISE_OK;
    if (answer == NULL)
        return mortise_fail(err, MORTISE_EINVAL,
                            "the question wants an answer: member 'answer' is "
                            "missing");
    rv = mortise_schema_check(n->answer_schema, answer, err);
    return rv != MORTISE_OK ? mortise_doing(err, rv, "answer") : rv;
}

/* Who may answer a question that an executor asks. */
static bool may_answer_step(const struct step *s, const char *actor)
{
    const json_t *list = json_object_get(s->payload, "assignees"), *one;
    size_t i;

    json_array_foreach(list, i, one)
    {
        if (json_is_string(one) && strcmp(json_string_value(one), actor) == 0)
            return true;
    }
    return json_array_size(list) == 0;
}

/* The bare value, as the question's schema has it. */
static int check_answer_step(struct mortise_run *r, const struct step *s,
                             const struct mortise_command *c, const char *actor,
                             struct mortise_err *err)
{
    json_t *value;
    int rv;

    if (s->kind == MORTISE_STEP_TIMER)
        return mortise_fail(err, MORTISE_EDECISION,
                            "request '%s' is a timer; time answers it", c->id);
    if (!may_answer_step(s, actor))
        return mortise_fail(err, MORTISE_EDENIED,
                            "'%s' is not among those who may answer '%s'",
                            actor, c->id);
    rv = parse_json(&value, c, "answer", err);
    if (rv == MORTISE_OK && value == NULL)
        rv = mortise_fail(err, MORTISE_EINVAL, "an answer is a value");
    if (rv == MORTISE_OK)
        rv = step_check_answer(r, s, value, err);
    json_decref(value);
    return rv;
}

static int check_answer(struct mortise_run *r, const struct mortise_command *c,
                        const char *actor, struct mortise_err *err)
{
    struct exec *x;
    struct step *s;
    json_t *value;
    int rv = find_request(r, c, &x, &s, err);

    if (rv == MORTISE_OK && c->decision != NULL)
        rv = check_decision(c, err);
    if (rv != MORTISE_OK)
        return rv;
    if (s != NULL)
        return check_answer_step(r, s, c, actor, err);
    if (x->ask == MORTISE_ASK_APPROVAL || x->ask == MORTISE_ASK_DOUBT)
        return mortise_fail(
            err, MORTISE_EDECISION, "request '%s' is '%s'; %s it", c->id,
            mortise_ask_name(x->ask),
            x->ask == MORTISE_ASK_DOUBT ? "resolve" : "approve or reject");
    rv = parse_json(&value, c, "answer", err);
    if (rv != MORTISE_OK)
        return rv;
    if (x->ask == MORTISE_ASK_HUMAN && !may_answer(node_of(r, x), actor))
        rv = mortise_fail(err, MORTISE_EDENIED,
                          "'%s' is not among those who may answer '%s'", actor,
                          node_of(r, x)->id);
    else if (x->ask == MORTISE_ASK_HUMAN)
        rv = check_decision_value(node_of(r, x), value, err);
    else if (!json_is_true(json_object_get(value, "approved")))
        rv = mortise_fail(err, MORTISE_EDECISION,
                          "a scheduled pause can only be passed; cancel the "
                          "run to end it");
    json_decref(value);
    return rv;
}

static int check_resolve(struct mortise_run *r, const struct mortise_command *c,
                         struct mortise_err *err)
{
    const char *d = c->decision != NULL ? c->decision : "";
    struct exec *x = c->id != NULL ? doubt_of(r, c->id) : NULL;
    json_t *result;
    int rv;

    if (x == NULL)
        return mortise_fail(err, MORTISE_EMISMATCH,
                            "no step '%s' of run %s is in doubt",
                            c->id != NULL ? c->id : "", r->id);
    if (strcmp(d, "retry") == 0 || strcmp(d, "fail") == 0)
        return MORTISE_OK;
    if (strcmp(d, "done") != 0)
        return mortise_fail(err, MORTISE_EDECISION,
                            "a doubt is resolved by done, retry or fail, not "
                            "'%s'",
                            d);
    rv = parse_json(&result, c, "result", err);
    if (rv == MORTISE_OK && result == NULL)
        rv = mortise_fail(err, MORTISE_EINVAL,
                          "done needs the result that the effect had");
    if (rv == MORTISE_OK)
        rv = json_object_get(x->payload, "step") != NULL
                 ? mortise_fold_check_depth(result, err)
                 : settle_check_output(node_of(r, x), result, err);
    json_decref(result);
    return rv;
}

/* No effect may hang between intent and answer while its frontier moves; that
 * of a failure which on_error led elsewhere is behind it. */
static int check_settled(const struct mortise_run *r, struct mortise_err *err)
{
    for (size_t i = 1; i < r->n_execs; i++) {
        const struct exec *x = r->execs[i];
        bool live_call =
            r->live && (x->state == X_RUNNING || x->state == X_STOPPING ||
                        x->state == X_INTENT);

        if ((x->effect_open || step_in_doubt(r, x) != NULL) && !live_call &&
            !x->handled && x->state != X_DONE && x->state != X_CANCELLED)
            return mortise_fail(err, MORTISE_EINDOUBT,
                                "the effect of node '%s' is not settled; "
                                "resume the run or resolve that step first",
                                node_of(r, x)->id);
    }
    return MORTISE_OK;
}

static bool is_in_map(const struct mortise_graph *g,
                      const struct mortise_node *n)
{
    uint32_t at = n->region;

    while (at != 0 && g->regions[at].kind != MORTISE_REGION_MAP)
        at = g->regions[at].parent;
    return at != 0;
}

static int check_goto(const struct mortise_run *r,
                      const struct mortise_command *c, struct mortise_err *err)
{
    if (c->node == NULL || mortise_graph_node(r->graph, c->node) == NULL)
        return mortise_fail(err, MORTISE_EUNKNOWN_NODE,
                            "graph '%s' has no node '%s'", r->graph->name,
                            c->node != NULL ? c->node : "");
    return is_in_map(r->graph, mortise_graph_node(r->graph, c->node))
               ? mortise_fail(err, MORTISE_EINVAL,
                              "node '%s' is in the body of a map, which has no "
                              "elements to run it for; go to where the map "
                              "starts",
                              c->node)
               : check_settled(r, err);
}

static int check_resume(const struct mortise_run *r,
                        const struct held_command *h, struct mortise_err *err)
{
    if (r->live && r->status == MORTISE_RUN_RUNNING && h->n == 1)
        return mortise_fail(err, MORTISE_ECONFLICT,
                            "run %s is running already; somebody else resumed "
                            "it",
                            r->id);
    if (r->status == MORTISE_RUN_IN_DOUBT && !has(h, MORTISE_CMD_RESOLVE)) {
        for (size_t i = 1; i < r->n_execs; i++) {
            const struct exec *x = r->execs[i];

            if (x->state == X_ASKED && x->ask == MORTISE_ASK_DOUBT)
                return mortise_fail(
                    err, MORTISE_EINDOUBT,
                    "the effect of node '%s' may have happened: find out, "
                    "then `mortise resolve %s %s --done RESULT | --retry | "
                    "--fail`",
                    node_of(r, x)->id, r->id, x->request);
        }
    }
    return MORTISE_OK;
}

/* ---- update ------------------------------------------------------------- */

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
    int rv = parse_json(&body, c, "update", err);

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
            rv = settle_check_write(r->graph, state, &path, err);
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
static int check_update(struct mortise_run *r, const struct held_command *h,
                        const struct mortise_command *c,
                        struct mortise_err *err)
{
    struct update u = {.n = 0};
    int rv;

    mortise_arena_init(&u.arena, r->mem);
    rv = update_make(r, &u, c, err);
    if (rv == MORTISE_OK)
        rv = update_try(r, &u, err);
    if (rv == MORTISE_OK && update_reduces(&u) &&
        (has(h, MORTISE_CMD_ANSWER) || has(h, MORTISE_CMD_RESOLVE)))
        rv = mortise_fail(err, MORTISE_EINVAL,
                          "an update through reducers cannot come in one call "
                          "with an answer or a result; give it afterwards");
    update_finish(&u);
    return rv;
}

/* ---- limits ------------------------------------------------------------- */

static int check_limit(const struct mortise_run *r,
                       const struct held_command *h,
                       const struct mortise_command *c, struct mortise_err *err)
{
    json_t *body;
    int rv;

    if (is_over(r) && !has(h, MORTISE_CMD_GOTO))
        return mortise_fail(err, MORTISE_ESTATE,
                            "run %s is %s: no limit holds it", r->id,
                            mortise_run_status_name(r->status));
    rv = parse_json(&body, c, "limits", err);
    if (rv == MORTISE_OK)
        rv = limit_check(r, body, err);
    json_decref(body);
    return rv;
}

static int do_limit(struct mortise_run *r, const struct mortise_command *c,
                    const char *actor, struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_LIMIT, .actor = actor};
    int rv = parse_json(&e.value, c, "limits", err);

    if (rv == MORTISE_OK)
        rv = record(r, &e, err);
    json_decref(e.value);
    return rv;
}

/* ---- the list as one ---------------------------------------------------- */

static int check_one(struct mortise_run *r, const struct held_command *h,
                     const struct mortise_command *c, struct mortise_err *err)
{
    int rv;

    switch (c->kind) {
    case MORTISE_CMD_RESUME:
        return check_resume(r, h, err);
    case MORTISE_CMD_UPDATE:
        rv = check_settled(r, err);
        return rv != MORTISE_OK ? rv : check_update(r, h, c, err);
    case MORTISE_CMD_GOTO:
        return check_goto(r, c, err);
    case MORTISE_CMD_APPROVE_TOOL:
        return check_approve(r, c, err);
    case MORTISE_CMD_ANSWER:
        return check_answer(r, c, h->actor, err);
    case MORTISE_CMD_RESOLVE:
        return check_resolve(r, c, err);
    case MORTISE_CMD_CANCEL:
        return MORTISE_OK;
    case MORTISE_CMD_LIMIT:
        return check_limit(r, h, c, err);
    case MORTISE_CMD_PAUSE:
        return has(h, MORTISE_CMD_RESUME)
                   ? mortise_fail(err, MORTISE_EINVAL,
                                  "pause and resume in one call contradict "
                                  "each other")
                   : MORTISE_OK;
    default:
        return mortise_fail(err, MORTISE_EINVAL, "unknown command kind %u",
                            c->kind);
    }
}

static bool is_decision(uint32_t kind)
{
    return kind == MORTISE_CMD_APPROVE_TOOL || kind == MORTISE_CMD_ANSWER ||
           kind == MORTISE_CMD_RESOLVE;
}

/* What a decision is about, under whatever name; NULL: nothing. */
static const void *decided_by(const struct mortise_run *r,
                              const struct mortise_command *c)
{
    struct step *s;

    if (c->id == NULL)
        return NULL;
    if (c->kind == MORTISE_CMD_RESOLVE)
        return doubt_of(r, c->id);
    /* Several steps of one may ask at once. */
    return request_of(r, c->id, &s) != NULL && s != NULL
               ? (const void *)s
               : request_of(r, c->id, &s);
}

/* One answer a request, and at most one of each other kind. */
static int check_pairs(const struct mortise_run *r,
                       const struct held_command *h, struct mortise_err *err)
{
    for (size_t i = 0; i < h->n; i++) {
        for (size_t k = i + 1; k < h->n; k++) {
            const struct mortise_command *a = &h->list[i], *b = &h->list[k];

            if (is_decision(a->kind) && is_decision(b->kind)) {
                if (decided_by(r, a) != NULL &&
                    decided_by(r, a) == decided_by(r, b))
                    return mortise_fail(err, MORTISE_EMISMATCH,
                                        "request '%s' is decided twice", a->id);
            } else if (a->kind == b->kind) {
                return mortise_fail(err, MORTISE_EINVAL,
                                    "one command of a kind at a time");
            }
        }
    }
    return MORTISE_OK;
}

static int check_all(struct mortise_run *r, const struct held_command *h,
                     struct mortise_err *err)
{
    int rv = check_pairs(r, h, err);

    for (size_t i = 0; rv == MORTISE_OK && i < h->n; i++)
        rv = check_one(r, h, &h->list[i], err);
    return rv;
}

/* ---- doing it ----------------------------------------------------------- */

static int record_settle(struct mortise_run *r, struct exec *x,
                         enum mortise_settle how, json_t *value,
                         const uint8_t *digest, const char *actor,
                         struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_SETTLE,
                              .frame = x->frame->index,
                              .node = x->node,
                              .visit = x->visit,
                              .how = (uint8_t)how,
                              .value = value,
                              .actor = actor};
    char id[REQUEST_ID];
    int rv = disarm(r, x, err);

    if (rv != MORTISE_OK)
        return rv;
    memcpy(id, x->request, sizeof id); /* applying forgets it */
    e.id = id;
    if (digest != NULL)
        memcpy(e.digest, digest, MORTISE_DIGEST);
    return record(r, &e, err);
}

static int do_reject(struct mortise_run *r, struct exec *x,
                     const struct mortise_command *c, const char *actor,
                     struct mortise_err *err)
{
    const char *reason = c->reason != NULL ? c->reason : "";
    json_t *value = json_pack("{s:s}", "reason", reason);
    struct mortise_err why;
    int rv;

    if (value == NULL)
        return mortise_nomem(err);
    rv = record_settle(r, x, MORTISE_SETTLE_REJECTED, value, NULL, actor, err);
    json_decref(value);
    mortise_fail(&why, MORTISE_EDENIED, "rejected by %s%s%s", actor,
                 reason[0] != '\0' ? ": " : "", reason);
    return rv != MORTISE_OK ? rv
                            : settle_failed_err(r, x, "rejected", &why, err);
}

static int do_approve(struct mortise_run *r, const struct mortise_command *c,
                      const char *actor, struct mortise_err *err)
{
    struct step *s;
    struct exec *x = request_of(r, c->id, &s);
    uint8_t digest[MORTISE_DIGEST];
    json_t *args, *value;
    int rv;

    if (strcmp(c->decision, "reject") == 0)
        return do_reject(r, x, c, actor, err);
    rv = parse_json(&args, c, "args", err);
    if (rv != MORTISE_OK)
        return rv;
    rv = exec_approval_digest(
        r, x, args != NULL ? args : json_object_get(x->payload, "args"), digest,
        err);
    value = json_pack("{s:o*}", "args", args);
    if (rv == MORTISE_OK && value == NULL)
        rv = mortise_nomem(err);
    if (rv == MORTISE_OK)
        rv = record_settle(r, x, MORTISE_SETTLE_APPROVED, value, digest, actor,
                           err);
    json_decref(value);
    return rv;
}

/* {approved, reason, decided_by, answer?}: the output of a human node, the
 * answer typed by its schema. */
static json_t *decision_of(const struct mortise_node *n, const json_t *answer,
                           const char *actor)
{
    json_t *out = json_pack("{s:O, s:s}", "approved",
                            json_object_get(answer, "approved"), "reason", "");
    json_t *reason = json_object_get(answer, "reason");
    json_t *value = json_object_get(answer, "answer");
    char by[300];

    snprintf(by, sizeof by, "person %s", actor);
    if (value != NULL && n->answer_schema != NULL)
        value = mortise_schema_normal(n->answer_schema, value);
    else
        json_incref(value);
    if (out == NULL ||
        (reason != NULL && json_object_set(out, "reason", reason) != 0) ||
        json_object_set_new(out, "decided_by", json_string(by)) != 0 ||
        (json_object_get(answer, "answer") != NULL &&
         json_object_set_new(out, "answer", value) != 0)) {
        json_decref(out);
        return NULL;
    }
    return out;
}

static int do_answer(struct mortise_run *r, const struct mortise_command *c,
                     const char *actor, struct mortise_err *err)
{
    struct step *s;
    struct exec *x = request_of(r, c->id, &s);
    bool human = x->ask == MORTISE_ASK_HUMAN;
    json_t *value, *decided;
    int rv = parse_json(&value, c, "answer", err);

    if (rv != MORTISE_OK)
        return rv;
    if (s != NULL) {
        rv = step_answered(r, x, s, value, actor, err);
        json_decref(value);
        return rv;
    }
    rv = record_settle(r, x,
                       human ? MORTISE_SETTLE_ANSWERED : MORTISE_SETTLE_PASSED,
                       human ? value : NULL, NULL, actor, err);
    if (rv == MORTISE_OK && human) {
        decided = decision_of(node_of(r, x), value, actor);
        rv = decided != NULL ? settle_done(r, x, decided, DONE_ANSWERED, err)
                             : mortise_nomem(err);
        json_decref(decided);
    }
    json_decref(value);
    return rv;
}

static int do_resolve(struct mortise_run *r, const struct mortise_command *c,
                      const char *actor, struct mortise_err *err)
{
    struct exec *x = doubt_of(r, c->id);
    bool of_step = json_object_get(x->payload, "step") != NULL;
    json_t *result;
    int rv;

    if (strcmp(c->decision, "retry") == 0)
        return record_settle(r, x, MORTISE_SETTLE_RETRY, NULL, NULL, actor,
                             err);
    if (strcmp(c->decision, "fail") == 0) {
        rv = record_settle(r, x, MORTISE_SETTLE_FAIL, NULL, NULL, actor, err);
        return rv != MORTISE_OK
                   ? rv
                   : settle_failed(r, x, "in_doubt", "permanent",
                                   c->reason != NULL ? c->reason
                                                     : "resolved as failed",
                                   err);
    }
    rv = parse_json(&result, c, "result", err);
    if (rv == MORTISE_OK)
        rv = record_settle(r, x, MORTISE_SETTLE_HAPPENED, result, NULL, actor,
                           err);
    if (rv == MORTISE_OK && !of_step) /* else it goes on with that answer */
        rv = settle_done(r, x, result, DONE_RESOLVED, err);
    json_decref(result);
    return rv;
}

static int do_decision(struct mortise_run *r, const struct mortise_command *c,
                       const char *actor, struct mortise_err *err)
{
    switch (c->kind) {
    case MORTISE_CMD_APPROVE_TOOL:
        return is_over(r) ? MORTISE_OK : do_approve(r, c, actor, err);
    case MORTISE_CMD_ANSWER:
        return do_answer(r, c, actor, err);
    default:
        assert(c->kind == MORTISE_CMD_RESOLVE); /* is_decision() */
        return do_resolve(r, c, actor, err);
    }
}

static int withdraw(struct mortise_run *r, struct exec *x,
                    struct mortise_err *err)
{
    return record_settle(r, x, MORTISE_SETTLE_WITHDRAWN, NULL, NULL, "", err);
}

int command_stop_one(struct mortise_run *r, struct exec *x,
                     enum mortise_entry_type type, struct mortise_err *err)
{
    struct mortise_entry e = {.type = type,
                              .frame = x->frame->index,
                              .node = x->node,
                              .visit = x->visit,
                              .generation = x->generation,
                              .at_ms = r->time_ms};
    int rv = MORTISE_OK;

    if (x->state == X_ASKED || x->state == X_HELD)
        rv = withdraw(r, x, err);
    if (rv == MORTISE_OK)
        rv = disarm(r, x, err);
    return rv != MORTISE_OK || x->state == X_DONE ? rv : record(r, &e, err);
}

int command_stop_idle(struct mortise_run *r, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    /* A withdrawn hold may activate more: the list grows as we go. */
    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        if (x->state == X_READY || x->state == X_ASKED ||
            x->state == X_INTENT || x->state == X_BACKOFF ||
            x->state == X_SUSPENDED || x->state == X_HELD ||
            x->state == X_INSIDE)
            rv = command_stop_one(r, x, MORTISE_E_STOPPED, err);
    }
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
static int do_update(struct mortise_run *r, const struct mortise_command *c,
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
            rv = withdraw(r, x, err);
    }
    return rv != MORTISE_OK ? rv : record_update(r, c, actor, err);
}

static int do_goto(struct mortise_run *r, const struct mortise_command *c,
                   const char *actor, struct mortise_err *err)
{
    const struct mortise_node *n = mortise_graph_node(r->graph, c->node);
    struct mortise_entry e = {
        .type = MORTISE_E_GOTO,
        .node = n->index,
        .how = (c->flags & MORTISE_CMD_FORCE) != 0,
        .actor = actor,
    };
    int rv = command_stop_idle(r, err);

    if (rv != MORTISE_OK)
        return rv;
    e.visit = frame_visits(r, n->index) + 1;
    return record(r, &e, err);
}

static int do_cancel(struct mortise_run *r, const struct mortise_command *c,
                     const char *actor, struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_CANCEL, .actor = actor};
    int rv;

    if (r->status >= MORTISE_RUN_COMPLETED || r->cancelling)
        return MORTISE_OK;
    e.value = c->reason != NULL
                  ? mortise_json_strn(c->reason, strlen(c->reason))
                  : NULL;
    rv = record(r, &e, err);
    json_decref(e.value);
    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        if (x->state == X_RUNNING || x->state == X_STOPPING)
            rv = cancel_call(r, x, STOP_RUN, err);
    }
    return rv != MORTISE_OK ? rv : command_stop_idle(r, err);
}

static int record_pause(struct mortise_run *r, enum mortise_pause how,
                        const char *reason, const char *actor,
                        struct mortise_err *err)
{
    struct mortise_entry e = {
        .type = MORTISE_E_PAUSE, .how = (uint8_t)how, .actor = actor};
    int rv;

    if (reason != NULL) {
        e.value = mortise_json_strn(reason, strlen(reason));
        if (e.value == NULL)
            return mortise_nomem(err);
    }
    rv = record(r, &e, err);
    json_decref(e.value);
    return rv;
}

int command_recover(struct mortise_run *r, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    if (r->live || r->paused == MORTISE_PAUSE_OPERATOR)
        return MORTISE_OK;
    if (r->paused == MORTISE_PAUSE_SHUTDOWN)
        rv = record_pause(r, MORTISE_PAUSE_OVER, NULL, "", err);
    return rv != MORTISE_OK ? rv : go_live(r, err);
}

/* Stand still.  That an engine stops does not undo what a person said. */
static int do_pause(struct mortise_run *r, const struct mortise_command *c,
                    const char *actor, struct mortise_err *err)
{
    enum mortise_pause how = (c->flags & MORTISE_CMD_SHUTDOWN) != 0
                                 ? MORTISE_PAUSE_SHUTDOWN
                                 : MORTISE_PAUSE_OPERATOR;
    int rv = MORTISE_OK;

    if (r->status >= MORTISE_RUN_COMPLETED || r->cancelling ||
        r->paused == how || r->paused == MORTISE_PAUSE_OPERATOR)
        return MORTISE_OK;
    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++)
        rv = disarm(r, r->execs[i], err);
    r->live = false;
    return rv != MORTISE_OK ? rv : record_pause(r, how, c->reason, actor, err);
}

/* Go on from the head, unless it stands still and nobody said that it is not
 * to: a decision alone does not. */
static int do_continue(struct mortise_run *r, const struct held_command *h,
                       struct mortise_err *err)
{
    bool moves = has(h, MORTISE_CMD_UPDATE) || has(h, MORTISE_CMD_GOTO);
    int rv = MORTISE_OK;

    if ((h->flags & MORTISE_NO_CONTINUE) != 0 || r->live ||
        has(h, MORTISE_CMD_PAUSE))
        return MORTISE_OK;
    if (r->paused != MORTISE_PAUSE_OVER && moves)
        rv = record_pause(r, MORTISE_PAUSE_OVER, NULL, h->actor, err);
    return rv != MORTISE_OK || r->paused != MORTISE_PAUSE_OVER
               ? rv
               : go_live(r, err);
}

/* Try again what failed, pass scheduled pauses. */
static int do_resume(struct mortise_run *r, const char *actor,
                     struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_RESUME, .actor = actor};
    int rv;

    if (is_over(r))
        return MORTISE_OK;
    rv = record(r, &e, err);
    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        if ((x->state == X_ASKED && x->ask == MORTISE_ASK_BEFORE) ||
            x->state == X_HELD)
            rv = record_settle(r, x, MORTISE_SETTLE_PASSED, NULL, NULL, actor,
                               err);
    }
    return rv;
}

static const struct mortise_command *one_of(const struct held_command *h,
                                            uint32_t kind)
{
    for (size_t i = 0; i < h->n; i++) {
        if (h->list[i].kind == kind)
            return &h->list[i];
    }
    return NULL;
}

static bool has_changed(const struct held_command *h, const char *plugin)
{
    for (size_t i = 0; i < h->n_pins; i++) {
        if (strcmp(h->pins[i].plugin, plugin) == 0)
            return true;
    }
    return false;
}

/* Go on with other plugins.  Calls of them that wait for approval are asked
 * about again: they are other calls now (pins.c (2)). */
static int do_accept(struct mortise_run *r, const struct held_command *h,
                     struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_PINS, .actor = h->actor};
    int rv;

    if (h->n_pins == 0)
        return MORTISE_OK;
    e.value = pins_json(h->pins, h->n_pins);
    rv = e.value != NULL ? record(r, &e, err) : mortise_nomem(err);
    json_decref(e.value);
    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        if (x->state == X_ASKED && x->ask == MORTISE_ASK_APPROVAL &&
            has_changed(h, node_of(r, x)->plugin))
            rv = withdraw(r, x, err);
    }
    return rv;
}

static int apply_all(struct mortise_run *r, const struct held_command *h,
                     struct mortise_err *err)
{
    const struct mortise_command *update = one_of(h, MORTISE_CMD_UPDATE);
    const struct mortise_command *jump = one_of(h, MORTISE_CMD_GOTO);
    const struct mortise_command *cancel = one_of(h, MORTISE_CMD_CANCEL);
    const struct mortise_command *pause = one_of(h, MORTISE_CMD_PAUSE);
    const struct mortise_command *limit = one_of(h, MORTISE_CMD_LIMIT);
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < h->n; i++) {
        if (is_decision(h->list[i].kind))
            rv = do_decision(r, &h->list[i], h->actor, err);
    }
    if (rv == MORTISE_OK)
        rv = do_accept(r, h, err);
    if (rv == MORTISE_OK && limit != NULL)
        rv = do_limit(r, limit, h->actor, err);
    if (rv == MORTISE_OK && update != NULL)
        rv = do_update(r, update, h->actor, err);
    if (rv == MORTISE_OK && jump != NULL)
        rv = do_goto(r, jump, h->actor, err);
    if (rv == MORTISE_OK && cancel != NULL)
        rv = do_cancel(r, cancel, h->actor, err);
    if (rv == MORTISE_OK && pause != NULL)
        rv = do_pause(r, pause, h->actor, err);
    if (rv == MORTISE_OK && has(h, MORTISE_CMD_RESUME))
        rv = do_resume(r, h->actor, err);
    if (rv == MORTISE_OK)
        rv = do_continue(r, h, err);
    r->applied = rv == MORTISE_OK;
    return rv;
}

/* ---- waiting for what is in flight -------------------------------------- */

static bool in_flight(const struct mortise_run *r)
{
    return r->n_running > 0 || (r->live && r->n_intents > 0);
}

/* Strings are copied; NULL stays NULL. */
static const char *copied(struct mortise_arena *a, const char *s, bool *failed)
{
    char *copy = s != NULL ? mortise_arena_strdup(a, s) : NULL;

    *failed |= s != NULL && copy == NULL;
    return copy;
}

static struct held_command *held_new(struct mortise_run *r,
                                     const struct held_command *h)
{
    struct held_command *out = mortise_zalloc(r->mem, sizeof *out);
    struct mortise_command *list;
    bool failed = false;

    if (out == NULL)
        return NULL;
    mortise_arena_init(&out->arena, r->mem);
    list = mortise_arena_alloc(&out->arena, h->n * sizeof *list);
    for (size_t i = 0; list != NULL && i < h->n; i++) {
        list[i] = h->list[i];
        list[i].id = copied(&out->arena, h->list[i].id, &failed);
        list[i].decision = copied(&out->arena, h->list[i].decision, &failed);
        list[i].reason = copied(&out->arena, h->list[i].reason, &failed);
        list[i].digest = copied(&out->arena, h->list[i].digest, &failed);
        list[i].json = copied(&out->arena, h->list[i].json, &failed);
        list[i].node = copied(&out->arena, h->list[i].node, &failed);
    }
    out->list = list;
    out->n = h->n;
    out->flags = h->flags;
    out->patience_ms = h->patience_ms;
    out->actor = copied(&out->arena, h->actor, &failed);
    if (list == NULL || failed) {
        mortise_arena_finish(&out->arena);
        mortise_release(r->mem, out, sizeof *out);
        return NULL;
    }
    return out;
}

void command_drop_held(struct mortise_run *r)
{
    if (r->held == NULL)
        return;
    mortise_arena_finish(&r->held->arena);
    mortise_release(r->mem, r->held, sizeof *r->held);
    r->held = NULL;
}

/* Only a pause waits for effects; what changes the state does not. */
static bool is_patient(const struct held_command *h)
{
    return has(h, MORTISE_CMD_PAUSE) && !has(h, MORTISE_CMD_UPDATE) &&
           !has(h, MORTISE_CMD_GOTO) && !has(h, MORTISE_CMD_CANCEL);
}

/* When the node's own timeout ends the call; 0: never. */
static uint64_t call_end_ms(const struct mortise_run *r, const struct exec *x)
{
    uint64_t timeout = node_of(r, x)->timeout_ms;

    return timeout != 0 ? x->called_ms + timeout : 0;
}

bool command_gives_up(const struct mortise_run *r, const struct exec *x)
{
    uint64_t end = call_end_ms(r, x);

    return r->held != NULL && (end == 0 || r->time_ms < end);
}

/* Ask a call to stop; one with an effect, only when patience is over. */
static int stop_call(struct mortise_run *r, struct exec *x,
                     struct mortise_err *err)
{
    uint64_t until = r->time_ms + r->held->patience_ms;
    uint64_t end = call_end_ms(r, x);
    int rv;

    if (!is_patient(r->held) || node_of(r, x)->effect < MORTISE_WRITE)
        return cancel_call(r, x, STOP_COMMAND, err);
    if (end != 0 && end <= until)
        return MORTISE_OK;
    rv = disarm(r, x, err);
    return rv != MORTISE_OK ? rv : arm(r, x, until, err);
}

static int hold_until_quiet(struct mortise_run *r, const struct held_command *h,
                            struct mortise_err *err)
{
    assert(h->n_pins == 0); /* these come before anything was started */
    r->held = held_new(r, h);
    if (r->held == NULL)
        return mortise_nomem(err);
    for (size_t i = 1; i < r->n_execs; i++) {
        struct exec *x = r->execs[i];
        int rv = x->state == X_RUNNING ? stop_call(r, x, err) : MORTISE_OK;

        if (rv != MORTISE_OK)
            return rv;
    }
    return MORTISE_OK;
}

int command_apply_held(struct mortise_run *r, struct mortise_err *err)
{
    struct mortise_action *a;
    struct mortise_err why;
    int rv;

    if (r->held == NULL || in_flight(r))
        return MORTISE_OK;
    rv = check_all(r, r->held, &why);
    if (rv == MORTISE_OK) {
        rv = apply_all(r, r->held, err);
        command_drop_held(r);
        return rv;
    }
    command_drop_held(r);
    a = action_new(r, MORTISE_ACT_APPLIED, err);
    if (a == NULL)
        return MORTISE_ENOMEM;
    a->u.applied.result = rv;
    a->u.applied.err = why;
    return MORTISE_OK;
}

int command_step(struct mortise_run *r, const struct mortise_input *in,
                 struct mortise_err *err)
{
    const struct held_command h = {.list = in->u.command.list,
                                   .n = in->u.command.n,
                                   .flags = in->u.command.flags,
                                   .actor = in->u.command.actor,
                                   .patience_ms = in->u.command.patience_ms,
                                   .pins = in->u.command.pins,
                                   .n_pins = in->u.command.n_pins};
    int rv;

    if (r->held != NULL || r->applied_seq != 0)
        return mortise_fail(err, MORTISE_ECONFLICT,
                            "another command is being applied to run %s",
                            r->id);
    rv = check_all(r, &h, err);
    if (rv != MORTISE_OK)
        return rv;
    if ((has(&h, MORTISE_CMD_UPDATE) || has(&h, MORTISE_CMD_GOTO) ||
         has(&h, MORTISE_CMD_PAUSE)) &&
        in_flight(r))
        return hold_until_quiet(r, &h, err);
    return apply_all(r, &h, err);
}
