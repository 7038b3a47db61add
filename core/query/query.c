/* query.c -- queries about runs.
 *
 * All queries read the store, so they show only data on disk.  The cost of a
 * page depends on its size, not on the number of runs, except for pages of the
 * newest runs (newest.c). */
#include "core/query/query.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/engine/runs/call.h"
#include "core/engine/runs/spawns.h"
#include "core/model/former.h"

enum { PAGE = 50, PAGE_MAX = 1000 };

static size_t clamp_page_size(size_t limit)
{
    return limit == 0 ? PAGE : limit > PAGE_MAX ? PAGE_MAX : limit;
}

static json_t *make_time_json(uint64_t ms)
{
    char text[MORTISE_TIME_TEXT];

    mortise_time_format(text, ms);
    return json_string(text);
}

/* ---- answers ------------------------------------------------------------- */

/* Reset all fields except those that the caller sets. */
static void reset_query(struct mortise *m, struct mortise_query *q,
                        const char *tenant, const char *word)
{
    *q = (struct mortise_query){.done = q->done,
                                .filter = q->filter,
                                .diff = q->diff,
                                .m = m,
                                .tenant = tenant,
                                .word = word};
    /* Finish_query_with() frees it in any case. */
    mortise_arena_init(&q->stored.arena, m->mem);
}

static void finish_query_with(struct mortise_query *q, json_t *value, int rv,
                              const struct mortise_err *err)
{
    struct mortise_err why = *err; /* err may be a field of the query */

    json_decref(q->list);
    mortise_stored_finish(&q->stored);
    q->done(q, value, rv, &why);
}

void mortise_query_fail(struct mortise_query *q, int rv,
                        const struct mortise_err *err)
{
    finish_query_with(q, NULL, rv, err);
}

void mortise_query_answer(struct mortise_query *q, json_t *value)
{
    struct mortise_err err = {.code = MORTISE_OK};

    if (value == NULL)
        mortise_nomem(&err);
    finish_query_with(q, value, err.code, &err);
}

/* Answer {NAME: list, next: cursor or null}. */
static void finish_page(struct mortise_read *r, int rv,
                        const struct mortise_err *err)
{
    struct mortise_query *q =
        MORTISE_CONTAINER_OF(r, struct mortise_query, read);

    if (rv != MORTISE_OK)
        mortise_query_fail(q, rv, err);
    else
        mortise_query_answer(
            q, q->failed ? NULL
                         : json_pack("{s:O, s:s?}", q->word, q->list, "next",
                                     q->more ? q->next : NULL));
}

bool mortise_query_begin_list(struct mortise *m, struct mortise_query *q,
                              const char *tenant, const char *word,
                              size_t limit)
{
    struct mortise_err err;
    int rv = mortise_name_check("tenant", tenant, &err);

    reset_query(m, q, tenant, word);
    q->left = clamp_page_size(limit);
    q->list = rv == MORTISE_OK ? json_array() : NULL;
    if (rv == MORTISE_OK && q->list == NULL)
        rv = mortise_nomem(&err);
    if (rv != MORTISE_OK)
        mortise_query_fail(q, rv, &err);
    return rv == MORTISE_OK;
}

/* ---- runs ---------------------------------------------------------------- */

static bool is_page_full(struct mortise_query *q)
{
    q->more = q->left == 0;
    return q->more;
}

/* Add an entry, which is consumed; NULL is out of memory.  Nonzero: stop. */
static int add_list_entry(struct mortise_query *q, json_t *entry)
{
    q->left--;
    q->failed = json_array_append_new(q->list, entry) != 0;
    return q->failed;
}

/* True if an execution of the run ended the process too often.  Needs only the
 * head. */
bool mortise_query_is_run_blocked(struct mortise *m, const char *tenant,
                                  const char *run, const struct mortise_head *h)
{
    struct mortise_deaths d;
    const char *plugin;

    return !mortise_run_has_ended((int)h->status) &&
           mortise_plugins_find_deaths(m->plugins, tenant, run, &plugin, &d) &&
           d.times >= MORTISE_DEATHS_BLOCK;
}

json_t *mortise_query_run_entry(struct mortise *m, const char *tenant,
                                const char *run, const struct mortise_head *h)
{
    bool blocked = mortise_query_is_run_blocked(m, tenant, run, h);

    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:I, s:i, s:b, s:o, s:o, s:o*}", "run", run,
        "tenant", tenant, "graph", h->graph_name, "status",
        mortise_run_status_name(blocked ? MORTISE_RUN_BLOCKED : (int)h->status),
        "reason", blocked ? "plugin" : h->reason, "seq", (json_int_t)h->seq,
        "pending", (int)h->n_pending, "live",
        mortise_live_find(m, tenant, run) != NULL, "created",
        make_time_json(h->created_ms), "updated", make_time_json(h->updated_ms),
        "unsigned", h->dev ? json_true() : NULL);
}

static int add_run_entry(void *ud, const char *tenant, const char *run,
                         const struct mortise_head *head)
{
    struct mortise_query *q = ud;

    if (is_page_full(q))
        return 1;
    snprintf(q->next, sizeof q->next, "%s", run);
    return add_list_entry(q, mortise_query_run_entry(q->m, tenant, run, head));
}

void mortise_query_runs(struct mortise *m, struct mortise_query *q,
                        const char *tenant, const char *after, size_t limit)
{
    if (!mortise_query_begin_list(m, q, tenant, "runs", limit))
        return;
    if (q->filter.newest) {
        mortise_query_newest(q, after);
        return;
    }
    q->read = (struct mortise_read){.kind = MORTISE_READ_RUNS,
                                    .tenant = tenant,
                                    .run = after,
                                    .head = add_run_entry,
                                    .ud = q,
                                    .done = finish_page};
    mortise_store_read(m->store, &q->read);
}

/* ---- inbox --------------------------------------------------------------- */

/* The stored request, with its run, tenant, id and deadline. */
static json_t *make_request_json(const char *tenant, const char *run,
                                 const struct mortise_pending *q)
{
    json_t *one;

    if (mortise_json_parse_written(&one, q->payload, q->payload_size, NULL) !=
        MORTISE_OK)
        return NULL;
    if (json_object_set_new(one, "run", json_string(run)) != 0 ||
        json_object_set_new(one, "tenant", json_string(tenant)) != 0 ||
        json_object_set_new(one, "id", json_string(q->id)) != 0 ||
        (q->deadline_ms != 0 &&
         json_object_set_new(one, "deadline", make_time_json(q->deadline_ms)) !=
             0)) {
        json_decref(one);
        return NULL;
    }
    return one;
}

static int add_inbox_entry(void *ud, const char *tenant, const char *run,
                           const struct mortise_pending *q)
{
    struct mortise_query *p = ud;

    if (is_page_full(p))
        return 1;
    snprintf(p->next, sizeof p->next, "%s/%s", run, q->id);
    return add_list_entry(p, make_request_json(tenant, run, q));
}

/* Split "RUN/ID"; false if it is not a cursor. */
static bool split_inbox_cursor(const char *after, char run[], const char **id)
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

void mortise_query_inbox(struct mortise *m, struct mortise_query *q,
                         const char *tenant, const char *after, size_t limit)
{
    struct mortise_err err;
    const char *id = NULL;

    if (!mortise_query_begin_list(m, q, tenant, "pending", limit))
        return;
    if (after != NULL && !split_inbox_cursor(after, q->after_run, &id)) {
        mortise_fail(&err, MORTISE_EINVAL,
                     "'%.200s' is not a cursor of an inbox page", after);
        mortise_query_fail(q, err.code, &err);
        return;
    }
    q->read = (struct mortise_read){.kind = MORTISE_READ_INBOX,
                                    .tenant = tenant,
                                    .run = after != NULL ? q->after_run : NULL,
                                    .id = id,
                                    .pending = add_inbox_entry,
                                    .ud = q,
                                    .done = finish_page};
    mortise_store_read(m->store, &q->read);
}

/* ---- one run ------------------------------------------------------------- */

/* A run in memory equals the stored one if it has no commit in flight. */
static bool is_same_as_stored(const struct mortise_live *live)
{
    return live != NULL && !live->lost && live->flying == 0 &&
           live->written == mortise_run_get_newest_seq(live->run);
}

/* Deaths of the process that an execution of the run caused; NULL: none. */
static json_t *make_deaths_json(struct mortise *m, const char *tenant,
                                const char *run)
{
    struct mortise_deaths d;
    const char *plugin;

    if (!mortise_plugins_find_deaths(m->plugins, tenant, run, &plugin, &d))
        return NULL;
    return json_pack("{s:s, s:s, s:s, s:i, s:o}", "plugin", plugin, "path",
                     d.path, "how", d.how, "times", (int)d.times, "last",
                     make_time_json(d.last_ms));
}

/* The stored status, the problem, and the commands that would let the run
 * continue. */
static json_t *make_blocked_json(const struct mortise_stored_read *s,
                                 const struct mortise_graph *g,
                                 const struct mortise_run *r,
                                 const struct mortise_err *why)
{
    json_t *v = json_pack("{s:s, s:s, s:s, s:o, s:o*}", "status",
                          mortise_run_status_name(s->head.status), "reason",
                          s->head.reason, "code",
                          mortise_result_name(why->code), "message",
                          mortise_json_make_string(why->msg, strlen(why->msg)),
                          "deaths", make_deaths_json(s->m, s->tenant, s->id));
    struct mortise_obstacles o;

    mortise_live_find_obstacles(s->m, s->tenant, s->id, g, r, &o);
    if (!o.stuck && json_array_size(o.lifts) > 0)
        json_object_set(v, "unquarantine", o.lifts);
    if (!o.stuck && o.changed)
        json_object_set_new(v, "accept_plugins", json_true());
    json_decref(o.lifts);
    return v;
}

/* The run has ended and cannot be resumed. */
static bool is_run_final(int status)
{
    return mortise_run_has_ended(status) && status != MORTISE_RUN_FAILED;
}

/* Show a run that has not ended and cannot continue here as blocked, whatever
 * its stored status.  A failed run stays failed, with the obstacles to a
 * resume. */
static int add_blocked_state(const struct mortise_stored_read *s,
                             const struct mortise_graph *g,
                             const struct mortise_run *r, json_t *out,
                             struct mortise_err *err)
{
    bool failed = s->head.status == MORTISE_RUN_FAILED;
    struct mortise_err why;
    json_t *blocked;
    int rv;

    if (is_run_final(s->head.status))
        return MORTISE_OK;
    rv = mortise_live_check_run(s->m, s->tenant, s->id, g, r, &why);
    if (rv == MORTISE_OK)
        return rv;
    if (!mortise_is_blocked(rv)) {
        *err = why;
        return rv;
    }
    blocked = make_blocked_json(s, g, r, &why);
    if (json_object_set_new(out, "blocked", blocked) != 0)
        return mortise_nomem(err);
    if (failed)
        return MORTISE_OK;
    json_object_set_new(
        out, "status",
        json_string(mortise_run_status_name(MORTISE_RUN_BLOCKED)));
    json_object_set_new(out, "reason", json_string("plugin"));
    return MORTISE_OK;
}

/* A replayed run has lost its stored status; restore it from the head. */
static void restore_stored_status(json_t *out,
                                  const struct mortise_head_copy *head)
{
    json_object_set_new(out, "status",
                        json_string(mortise_run_status_name(head->status)));
    json_object_set_new(out, "reason", json_string(head->reason));
}

/* The execution of a call; NULL: it is not shown. */
static json_t *find_execution_json(const json_t *nodes, const char *path)
{
    MORTISE_JSON_EACH (node, i, nodes) {
        const char *own = mortise_json_get_text(node, "path");

        if (own != NULL && strcmp(own, path) == 0)
            return mortise_json_unconst(node);
    }
    return NULL;
}

/* Mark executions with calls that wait for a free file descriptor. */
static int add_descriptor_waits(const struct mortise_live *live, json_t *out,
                                struct mortise_err *err)
{
    const struct mortise_plugin_call *c = live != NULL ? live->calls : NULL;

    for (; c != NULL; c = c->next) {
        json_t *node =
            c->again.armed
                ? find_execution_json(json_object_get(out, "nodes"), c->path)
                : NULL;

        if (node != NULL &&
            json_object_set_new(node, "waits_for", json_string("descriptor")))
            return mortise_nomem(err);
    }
    return MORTISE_OK;
}

/* Add {handle, name, state, child?, status?, detached?, attempt, progress?} for
 * a handle of the run. */
static int add_child_handle(void *ud, const char *tenant, const char *parent,
                            const char *id, const struct mortise_spawn *s)
{
    struct mortise_query *q = ud;
    char handle[MORTISE_SPAWN_HANDLE_MAX];
    json_t *one;

    (void)tenant;
    mortise_spawns_print_handle(handle, parent, id);
    one = json_pack(
        "{s:s, s:s, s:s, s:s*, s:s*, s:o*, s:I, s:s*}", "handle", handle,
        "name", s->name, "state", mortise_spawn_state_name((int)s->state),
        "child", s->child[0] != '\0' ? s->child : NULL, "status",
        mortise_spawn_status_name((int)s->status), "detached",
        s->detached ? json_true() : NULL, "attempt", (json_int_t)s->attempt,
        "progress", s->progress[0] != '\0' ? s->progress : NULL);
    q->failed |=
        json_array_append_new(json_object_get(q->list, "children"), one) != 0;
    return 0;
}

static void finish_children(struct mortise_read *r, int rv,
                            const struct mortise_err *err)
{
    struct mortise_query *q =
        MORTISE_CONTAINER_OF(r, struct mortise_query, read);
    struct mortise_err why = *err;
    json_t *out = q->list;

    if (rv == MORTISE_OK && q->failed)
        rv = mortise_nomem(&why);
    if (rv != MORTISE_OK) {
        mortise_query_fail(q, rv, &why);
        return;
    }
    q->list = NULL;
    if (json_array_size(json_object_get(out, "children")) == 0)
        json_object_del(out, "children");
    mortise_query_answer(q, out);
}

/* Add the spawn handles of the run to the answer `out`, which is consumed. */
static void start_children_read(struct mortise_query *q, json_t *out)
{
    struct mortise_err err;

    q->list = out;
    if (json_object_set_new(out, "children", json_array()) != 0) {
        mortise_query_fail(q, mortise_nomem(&err), &err);
        return;
    }
    q->read = (struct mortise_read){.kind = MORTISE_READ_SPAWNS,
                                    .tenant = q->stored.tenant,
                                    .run = q->stored.id,
                                    .spawn = add_child_handle,
                                    .ud = q,
                                    .done = finish_children};
    mortise_store_read(q->m->store, &q->read);
}

static void answer_show_stored(struct mortise_stored_read *s, int rv,
                               const struct mortise_err *err);

/* Answer with the run and its head.  Without `going` it is the stored run, and
 * may also be active in memory. */
static void answer_show(struct mortise_query *q, const struct mortise_graph *g,
                        const struct mortise_run *r, bool going, bool checked)
{
    struct mortise_stored_read *s = &q->stored;
    const struct mortise_live *live = mortise_live_find(s->m, s->tenant, s->id);
    struct mortise_err err;
    json_t *out = mortise_run_show(
        r, !going && live != NULL && !live->lost ? live->run : NULL);
    int rv = out != NULL ? MORTISE_OK : mortise_nomem(&err);

    if (mortise_stored_has_used_guess(s)) {
        json_decref(out);
        mortise_stored_read_again(s, answer_show_stored);
        return;
    }
    if (rv == MORTISE_OK && !going)
        restore_stored_status(out, &s->head);
    if (rv == MORTISE_OK && !checked)
        rv = add_blocked_state(s, g, r, out, &err);
    if (rv == MORTISE_OK)
        rv = add_descriptor_waits(live, out, &err);
    if (rv != MORTISE_OK) {
        json_decref(out);
        mortise_query_fail(q, rv, &err);
        return;
    }
    json_object_set_new(out, "live", json_boolean(live != NULL));
    start_children_read(q, out);
}

static void answer_show_stored(struct mortise_stored_read *s, int rv,
                               const struct mortise_err *err)
{
    struct mortise_query *q =
        MORTISE_CONTAINER_OF(s, struct mortise_query, stored);

    if (rv != MORTISE_OK)
        mortise_query_fail(q, rv, err);
    else
        answer_show(q, s->graph, s->run, false, false);
}

static void handle_show_head(struct mortise_stored_read *s, int rv,
                             const struct mortise_err *err)
{
    struct mortise_query *q =
        MORTISE_CONTAINER_OF(s, struct mortise_query, stored);
    const struct mortise_live *live;

    if (rv != MORTISE_OK) {
        mortise_query_fail(q, rv, err);
        return;
    }
    live = mortise_live_find(s->m, s->tenant, s->id);
    if (is_same_as_stored(live) && live->written == s->head.seq) {
        answer_show(q, live->graph, live->run, mortise_run_is_live(live->run),
                    live->checked);
        return;
    }
    s->names = is_run_final(s->head.status);
    mortise_stored_read_run(s, answer_show_stored);
}

void mortise_query_show(struct mortise *m, struct mortise_query *q,
                        const char *tenant, const char *run, size_t limit)
{
    (void)limit;
    reset_query(m, q, tenant, run);
    mortise_stored_read_head(m, &q->stored, tenant, run, handle_show_head);
}

/* ---- the graph of a run -------------------------------------------------- */

/* [{path, text}]; NULL: out of memory. */
static json_t *make_sources_json(const struct mortise_graph *g)
{
    size_t n = mortise_graph_count_own_sources(g->sources, g->n_sources);
    json_t *list = json_array();

    for (size_t i = 0; list != NULL && i < n; i++) {
        json_t *one = json_pack(
            "{s:s, s:o}", "path", g->sources[i].path, "text",
            mortise_json_make_string(g->sources[i].text, g->sources[i].size));

        if (one == NULL || json_array_append_new(list, one) != 0)
            mortise_json_clear_ref(&list);
    }
    return list;
}

static json_t *make_run_graph_json(const struct mortise_query *q,
                                   const struct mortise_graph *g)
{
    char digest[MORTISE_DIGEST_HEX];

    mortise_hex_encode(digest, g->digest, MORTISE_DIGEST);
    return json_pack("{s:s, s:s, s:s, s:s, s:o}", "run", q->word, "tenant",
                     q->tenant, "graph", g->name, "digest", digest, "sources",
                     make_sources_json(g));
}

/* The findings of a diff: {run, tenant, report, findings}. */
static json_t *make_diff_findings_json(const struct mortise_query *q,
                                       struct mortise_buf *report,
                                       const struct mortise_buf *findings)
{
    json_t *all, *out;

    mortise_json_parse_written(&all, findings->p, findings->n, NULL);
    out = json_pack("{s:s, s:s, s:o, s:O}", "run", q->word, "tenant", q->tenant,
                    "report", mortise_json_make_string(report->p, report->n),
                    "findings", json_object_get(all, "findings"));

    json_decref(all);
    return out;
}

static void answer_graph_diff(struct mortise_query *q,
                              const struct mortise_run *r)
{
    struct mortise_steering s;
    struct mortise_buf report, findings;
    struct mortise_err err;
    json_t *value = NULL;
    int rv;

    mortise_buf_init(&report, q->m->mem);
    mortise_buf_init(&findings, q->m->mem);
    rv = mortise_steering_make(q->m, r, q->diff, &s, &report, &findings, &err);
    if (rv == MORTISE_OK)
        rv = mortise_run_check_steer(r, s.graph, &err);
    if (rv == MORTISE_OK)
        value = make_run_graph_json(q, s.graph);
    else if (report.n > 0 && (rv == MORTISE_ECHECK || rv == MORTISE_EDENIED))
        value = make_diff_findings_json(q, &report, &findings);
    mortise_steering_free(q->m, &s);
    mortise_buf_finish(&report);
    mortise_buf_finish(&findings);
    if (value != NULL || rv == MORTISE_OK)
        mortise_query_answer(q, value);
    else
        mortise_query_fail(q, rv, &err);
}

static bool has_diff(const struct mortise_query *q)
{
    return q->diff != NULL && !json_is_null(q->diff);
}

static void answer_graph_query(struct mortise_query *q,
                               const struct mortise_run *r)
{
    if (has_diff(q))
        answer_graph_diff(q, r);
    else
        mortise_query_answer(q, make_run_graph_json(q, mortise_run_graph(r)));
}

static void finish_graph_read(struct mortise_stored_read *s, int rv,
                              const struct mortise_err *err)
{
    struct mortise_query *q =
        MORTISE_CONTAINER_OF(s, struct mortise_query, stored);

    if (rv != MORTISE_OK)
        mortise_query_fail(q, rv, err);
    else if (s->run != NULL)
        answer_graph_query(q, s->run);
    else
        mortise_query_answer(q, make_run_graph_json(q, s->graph));
}

static void handle_graph_head(struct mortise_stored_read *s, int rv,
                              const struct mortise_err *err)
{
    struct mortise_query *q =
        MORTISE_CONTAINER_OF(s, struct mortise_query, stored);
    const struct mortise_live *live;

    if (rv != MORTISE_OK) {
        mortise_query_fail(q, rv, err);
        return;
    }
    live = mortise_live_find(s->m, s->tenant, s->id);
    if (live != NULL && !live->lost) /* it also has uncommitted work */
        answer_graph_query(q, live->run);
    else if (has_diff(q))
        mortise_stored_read_run(s, finish_graph_read);
    else /* the head names the graph; no replay is needed */
        mortise_stored_read_graph(s, finish_graph_read);
}

void mortise_query_graph(struct mortise *m, struct mortise_query *q,
                         const char *tenant, const char *run, size_t limit)
{
    (void)limit;
    reset_query(m, q, tenant, run);
    mortise_stored_read_head(m, &q->stored, tenant, run, handle_graph_head);
}

/* ---- history ------------------------------------------------------------- */

static const char *get_phase_name(enum mortise_phase phase)
{
    static const char *const names[] = {
        "", "admit", "before", "after", "interrupt", "error", "command", "end"};

    return phase <= MORTISE_PHASE_END ? names[phase] : "";
}

static json_t *make_checkpoint_json(const struct mortise_run *r,
                                    const struct mortise_checkpoint *cp)
{
    char id[MORTISE_UUID_TEXT], parent[MORTISE_UUID_TEXT];

    mortise_uuid_format(id, cp->id);
    mortise_uuid_format(parent, cp->parent);
    return json_pack("{s:I, s:s, s:s?, s:s, s:i, s:I, s:i, s:I, s:o, s:o}",
                     "seq", (json_int_t)cp->seq, "id", id, "parent",
                     cp->seq > 1 ? parent : NULL, "phase",
                     get_phase_name(cp->phase), "steps", (int)cp->step,
                     "first_event", (json_int_t)cp->first_event, "events",
                     (int)cp->n_events, "size", (json_int_t)cp->size, "entries",
                     mortise_run_describe_entries(r, cp->entries, cp->size),
                     "time", make_time_json(cp->time_ms));
}

static int add_checkpoint_entry(struct mortise_stored_read *s,
                                const struct mortise_checkpoint *cp,
                                struct mortise_err *err)
{
    struct mortise_query *q =
        MORTISE_CONTAINER_OF(s, struct mortise_query, stored);

    return json_array_append_new(q->list, make_checkpoint_json(s->run, cp)) == 0
               ? MORTISE_OK
               : mortise_nomem(err);
}

static void finish_history(struct mortise_stored_read *s, int rv,
                           const struct mortise_err *err)
{
    struct mortise_query *q =
        MORTISE_CONTAINER_OF(s, struct mortise_query, stored);

    if (rv != MORTISE_OK)
        mortise_query_fail(q, rv, err);
    else
        mortise_query_answer(q, json_pack("{s:s, s:s, s:O}", "run", q->word,
                                          "tenant", q->tenant, "checkpoints",
                                          q->list));
}

static void reset_history_list(struct mortise_stored_read *s)
{
    json_array_clear(
        MORTISE_CONTAINER_OF(s, struct mortise_query, stored)->list);
}

static void handle_history_head(struct mortise_stored_read *s, int rv,
                                const struct mortise_err *err)
{
    struct mortise_query *q =
        MORTISE_CONTAINER_OF(s, struct mortise_query, stored);

    if (rv != MORTISE_OK) {
        mortise_query_fail(q, rv, err);
        return;
    }
    q->list = json_array(); /* NULL: appending fails */
    s->each = add_checkpoint_entry;
    s->names = true;
    s->again = reset_history_list;
    mortise_stored_read_run(s, finish_history);
}

void mortise_query_history(struct mortise *m, struct mortise_query *q,
                           const char *tenant, const char *run, size_t limit)
{
    (void)limit;
    reset_query(m, q, tenant, run);
    mortise_stored_read_head(m, &q->stored, tenant, run, handle_history_head);
}
