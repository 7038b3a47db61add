/* query.c -- what is asked about runs, as JSON (docs/json.md).
 *
 * Everything here reads the store: what is shown is on disk.  A page costs its
 * own size, whatever the number of runs.
 */
#include "engine/common/engine.h"

#include <string.h>

#include "base/clock.h"

enum { PAGE = 50, PAGE_MAX = 1000 };

static size_t page_size(size_t limit)
{
    return limit == 0 ? PAGE : limit > PAGE_MAX ? PAGE_MAX : limit;
}

static int put_time(json_t *to, const char *name, uint64_t ms)
{
    char text[MORTISE_TIME_TEXT];

    mortise_time_text(text, ms);
    return json_object_set_new(to, name, json_string(text));
}

/* {NAME: list, next: cursor or null}.  Takes the list. */
static int finish_page(const char *name, json_t *list, const char *next,
                       bool failed, json_t **out, struct mortise_err *err)
{
    *out = failed ? NULL : json_pack("{s:O, s:s?}", name, list, "next", next);
    json_decref(list);
    return *out != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* ---- runs --------------------------------------------------------------- */

struct page {
    struct mortise *m;
    json_t *list;
    size_t left;
    bool more, failed;
    char next[2 * MORTISE_NAME_MAX + 2]; /* cursor behind the last one */
};

static bool is_over(int status)
{
    return status == MORTISE_RUN_COMPLETED || status == MORTISE_RUN_FAILED ||
           status == MORTISE_RUN_CANCELLED;
}

/* Known without loading it: an execution of it took the process down too
 * often. */
static bool is_deadly(struct mortise *m, const char *tenant, const char *run,
                      const struct mortise_head *h)
{
    struct mortise_deaths d;
    const char *plugin;

    return !is_over((int)h->status) &&
           mortise_plugins_any_deaths(m->plugins, tenant, run, &plugin, &d) &&
           d.times >= MORTISE_DEATHS_BLOCK;
}

static json_t *head_json(struct mortise *m, const char *tenant, const char *run,
                         const struct mortise_head *h)
{
    bool blocked = is_deadly(m, tenant, run, h);
    json_t *one = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:I, s:i, s:b}", "run", run, "tenant",
        tenant, "graph", h->graph_name, "status",
        mortise_run_status_name(blocked ? MORTISE_RUN_BLOCKED : (int)h->status),
        "reason", blocked ? "plugin" : h->reason, "seq", (json_int_t)h->seq,
        "pending", (int)h->n_pending, "live",
        mortise_live_find(m, tenant, run) != NULL);

    if (one != NULL &&
        (put_time(one, "created", h->created_ms) != 0 ||
         put_time(one, "updated", h->updated_ms) != 0 ||
         (h->dev && json_object_set_new(one, "unsigned", json_true()) != 0))) {
        json_decref(one);
        return NULL;
    }
    return one;
}

static int add_run(void *ud, const char *tenant, const char *run,
                   const struct mortise_head *head)
{
    struct page *p = ud;

    if (p->left == 0) {
        p->more = true;
        return 1;
    }
    p->left--;
    snprintf(p->next, sizeof p->next, "%s", run);
    if (json_array_append_new(p->list, head_json(p->m, tenant, run, head)) != 0)
        p->failed = true;
    return p->failed;
}

int mortise_query_runs(struct mortise *m, const char *tenant, const char *after,
                       size_t limit, json_t **out, struct mortise_err *err)
{
    struct page p = {.m = m, .list = json_array(), .left = page_size(limit)};
    int rv = mortise_live_check_name("tenant", tenant, err);

    *out = NULL;
    if (rv == MORTISE_OK && p.list == NULL)
        rv = mortise_nomem(err);
    if (rv == MORTISE_OK)
        rv = mortise_store_runs(m->store, tenant, after, add_run, &p, err);
    if (rv != MORTISE_OK) {
        json_decref(p.list);
        return rv;
    }
    return finish_page("runs", p.list, p.more ? p.next : NULL, p.failed, out,
                       err);
}

/* ---- inbox -------------------------------------------------------------- */

/* The request as it was stored, and where it belongs. */
static json_t *request_json(const char *tenant, const char *run,
                            const struct mortise_pending *q)
{
    json_t *one;

    if (mortise_json_read(&one, q->payload, q->payload_size, NULL) !=
        MORTISE_OK)
        return NULL;
    if (json_object_set_new(one, "run", json_string(run)) != 0 ||
        json_object_set_new(one, "tenant", json_string(tenant)) != 0 ||
        json_object_set_new(one, "id", json_string(q->id)) != 0 ||
        (q->deadline_ms != 0 &&
         put_time(one, "deadline", q->deadline_ms) != 0)) {
        json_decref(one);
        return NULL;
    }
    return one;
}

static int add_request(void *ud, const char *tenant, const char *run,
                       const struct mortise_pending *q)
{
    struct page *p = ud;
    json_t *one;

    if (p->left == 0) {
        p->more = true;
        return 1;
    }
    one = request_json(tenant, run, q);
    p->left--;
    snprintf(p->next, sizeof p->next, "%s/%s", run, q->id);
    if (json_array_append_new(p->list, one) != 0)
        p->failed = true;
    return p->failed;
}

/* "RUN/ID" in two; false when it is no cursor of ours. */
static bool split_cursor(const char *after, char run[MORTISE_NAME_MAX + 1],
                         const char **id)
{
    const char *slash = strchr(after, '/');
    size_t n = slash != NULL ? (size_t)(slash - after) : 0;

    if (n == 0 || n > MORTISE_NAME_MAX)
        return false;
    memcpy(run, after, n);
    run[n] = '\0';
    *id = slash + 1;
    return true;
}

int mortise_query_inbox(struct mortise *m, const char *tenant,
                        const char *after, size_t limit, json_t **out,
                        struct mortise_err *err)
{
    struct page p = {.m = m, .left = page_size(limit)};
    char run[MORTISE_NAME_MAX + 1];
    const char *id = NULL;
    int rv = mortise_live_check_name("tenant", tenant, err);

    *out = NULL;
    if (rv == MORTISE_OK && after != NULL && !split_cursor(after, run, &id))
        rv = mortise_fail(err, MORTISE_EINVAL,
                          "'%.200s' is no cursor of an inbox page", after);
    if (rv != MORTISE_OK)
        return rv;
    p.list = json_array();
    if (p.list == NULL)
        return mortise_nomem(err);
    rv = mortise_store_inbox(m->store, tenant, after != NULL ? run : NULL, id,
                             add_request, &p, err);
    if (rv != MORTISE_OK) {
        json_decref(p.list);
        return rv;
    }
    return finish_page("pending", p.list, p.more ? p.next : NULL, p.failed, out,
                       err);
}

/* ---- one run ------------------------------------------------------------ */

/* A run in memory is what is stored, if nothing of it is on its way. */
static bool is_as_stored(const struct mortise_live *live)
{
    return live != NULL && !live->lost && live->flying == 0 &&
           live->written == mortise_run_newest(live->run);
}

/* What an execution of it did to the process; NULL: none did anything. */
static json_t *deaths_json(struct mortise *m, const char *tenant,
                           const char *run)
{
    struct mortise_deaths d;
    const char *plugin;
    json_t *v;

    if (!mortise_plugins_any_deaths(m->plugins, tenant, run, &plugin, &d))
        return NULL;
    v = json_pack("{s:s, s:s, s:s, s:i}", "plugin", plugin, "path", d.path,
                  "how", d.how, "times", (int)d.times);
    if (v != NULL && put_time(v, "last", d.last_ms) != 0) {
        json_decref(v);
        return NULL;
    }
    return v;
}

/* How it stands else, what is wrong, and what would let it go on. */
static json_t *blocked_json(struct mortise *m, const char *tenant,
                            const char *run,
                            const struct mortise_head_copy *head,
                            const struct mortise_run *r,
                            const struct mortise_err *why)
{
    json_t *v =
        json_pack("{s:s, s:s, s:s, s:o, s:o*}", "status",
                  mortise_run_status_name(head->status), "reason", head->reason,
                  "code", mortise_result_name(why->code), "message",
                  mortise_json_strn(why->msg, strlen(why->msg)), "deaths",
                  deaths_json(m, tenant, run));
    struct mortise_obstacles o;

    mortise_live_obstacles(m, tenant, run, head->graph, r, &o);
    if (!o.stuck && json_array_size(o.lifts) > 0)
        json_object_set(v, "unquarantine", o.lifts);
    if (!o.stuck && o.changed)
        json_object_set_new(v, "accept_plugins", json_true());
    json_decref(o.lifts);
    return v;
}

/* A run that is not over, and could not go on here, is blocked, whatever it
 * was when it was left. */
static int show_blocked(struct mortise *m, const char *tenant, const char *run,
                        const struct mortise_head_copy *head,
                        const struct mortise_run *r, json_t *out,
                        struct mortise_err *err)
{
    struct mortise_err why;
    json_t *blocked;
    int rv;

    if (is_over(head->status))
        return MORTISE_OK;
    rv = mortise_live_may_run(m, tenant, run, head->graph, r, &why);
    if (rv == MORTISE_OK)
        return rv;
    if (!mortise_is_blocked(rv)) {
        *err = why;
        return rv;
    }
    blocked = blocked_json(m, tenant, run, head, r, &why);
    if (json_object_set_new(out, "blocked", blocked) != 0)
        return mortise_nomem(err);
    json_object_set_new(
        out, "status",
        json_string(mortise_run_status_name(MORTISE_RUN_BLOCKED)));
    json_object_set_new(out, "reason", json_string("plugin"));
    return MORTISE_OK;
}

/* Replayed, it does not know that it was going when it was left. */
static void show_as_left(json_t *out, const struct mortise_head_copy *head)
{
    json_object_set_new(out, "status",
                        json_string(mortise_run_status_name(head->status)));
    json_object_set_new(out, "reason", json_string(head->reason));
}

static int show_stored(struct mortise *m, const char *tenant, const char *run,
                       const struct mortise_head_copy *head, json_t **out,
                       struct mortise_err *err)
{
    struct mortise_graph *g;
    struct mortise_run *r;
    int rv = mortise_graphs_get(m, run, head->graph, true, &g, err);

    if (rv != MORTISE_OK)
        return rv;
    rv = mortise_replay(m, tenant, run, g, NULL, NULL, &r, err);
    mortise_graph_unref(g);
    if (rv != MORTISE_OK)
        return rv;
    *out = mortise_run_show(r);
    if (*out != NULL) {
        show_as_left(*out, head);
        rv = show_blocked(m, tenant, run, head, r, *out, err);
    } else {
        rv = mortise_nomem(err);
    }
    mortise_run_free(r);
    return rv;
}

int mortise_query_show(struct mortise *m, const char *tenant, const char *run,
                       json_t **out, struct mortise_err *err)
{
    struct mortise_live *live = mortise_live_find(m, tenant, run);
    struct mortise_head_copy head;
    int rv = mortise_head_read(m, tenant, run, &head, err);

    *out = NULL;
    if (rv == MORTISE_OK && is_as_stored(live)) {
        *out = mortise_run_show(live->run);
        if (*out != NULL && !mortise_run_is_going(live->run))
            show_as_left(*out, &head);
        rv = *out == NULL ? mortise_nomem(err)
             : live->checked
                 ? MORTISE_OK
                 : show_blocked(m, tenant, run, &head, live->run, *out, err);
    } else if (rv == MORTISE_OK) {
        rv = show_stored(m, tenant, run, &head, out, err);
    }
    if (rv == MORTISE_OK)
        json_object_set_new(*out, "live", json_boolean(live != NULL));
    return rv;
}

/* ---- history ------------------------------------------------------------ */

struct history {
    struct mortise_run *run; /* replayed alongside: it knows what is where */
    json_t *list;
    struct mortise_err *err;
    int rv;
};

static const char *phase_name(enum mortise_phase phase)
{
    static const char *const names[] = {
        "", "admit", "before", "after", "interrupt", "error", "command", "end"};

    return phase <= MORTISE_PHASE_END ? names[phase] : "";
}

static json_t *checkpoint_json(const struct mortise_run *r,
                               const struct mortise_checkpoint *cp)
{
    char id[MORTISE_UUID_TEXT], parent[MORTISE_UUID_TEXT];
    json_t *one;

    mortise_uuid_text(id, cp->id);
    mortise_uuid_text(parent, cp->parent);
    one = json_pack("{s:I, s:s, s:s?, s:s, s:i, s:I, s:i, s:I, s:o}", "seq",
                    (json_int_t)cp->seq, "id", id, "parent",
                    cp->seq > 1 ? parent : NULL, "phase", phase_name(cp->phase),
                    "steps", (int)cp->step, "first_event",
                    (json_int_t)cp->first_event, "events", (int)cp->n_events,
                    "size", (json_int_t)cp->size, "entries",
                    mortise_run_describe(r, cp->entries, cp->size));
    if (one != NULL && put_time(one, "time", cp->time_ms) != 0) {
        json_decref(one);
        return NULL;
    }
    return one;
}

static int add_checkpoint(void *ud, const struct mortise_checkpoint *cp)
{
    struct history *h = ud;

    h->rv = mortise_run_apply(h->run, cp->seq, cp->time_ms, cp->id, cp->entries,
                              cp->size, h->err);
    if (h->rv == MORTISE_OK &&
        json_array_append_new(h->list, checkpoint_json(h->run, cp)) != 0)
        h->rv = mortise_nomem(h->err);
    return h->rv != MORTISE_OK;
}

int mortise_query_history(struct mortise *m, const char *tenant,
                          const char *run, json_t **out,
                          struct mortise_err *err)
{
    struct history h = {.list = json_array(), .err = err};
    struct mortise_head_copy head;
    struct mortise_graph *g = NULL;
    int rv = mortise_head_read(m, tenant, run, &head, err);

    *out = NULL;
    if (rv == MORTISE_OK)
        rv = mortise_graphs_get(m, run, head.graph, true, &g, err);
    if (rv == MORTISE_OK)
        rv =
            mortise_run_replay(&h.run, m->mem, g, tenant, run, NULL, NULL, err);
    if (rv == MORTISE_OK)
        rv = h.list != NULL
                 ? mortise_store_checkpoints(m->store, tenant, run, 1,
                                             add_checkpoint, &h, err)
                 : mortise_nomem(err);
    rv = rv == MORTISE_OK ? h.rv : rv;
    if (rv == MORTISE_OK) {
        *out = json_pack("{s:s, s:s, s:O}", "run", run, "tenant", tenant,
                         "checkpoints", h.list);
        rv = *out != NULL ? rv : mortise_nomem(err);
    }
    json_decref(h.list);
    mortise_run_free(h.run);
    mortise_graph_unref(g);
    return rv;
}
