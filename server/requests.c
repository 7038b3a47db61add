/* requests.c -- serve requests to the engine.
 *
 * A request is untrusted JSON: every member is checked, and an unknown member
 * is an error.  The transport supplies the actor.
 *
 * The asker may disconnect at any time.  A command in progress is still
 * executed, so its request continues without an asker.  The same holds for a
 * request that waits for the store.
 *
 * `start` and `command` may include a watch (`until`).  The watch begins in
 * the same turn of the loop, so no event is missed between the two.
 */
#include "server/requests.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/control.h"
#include "core/query/query.h"
#include "core/engine/runs/pinnable.h"
#include "core/engine/runs/remember.h"
#include "core/engine/runs/start.h"
#include "core/engine/recover.h"
#include "lang/config/deploy_digest.h"
#include "core/json/members.h"
#include "core/model/former.h"
#include "core/run/command/run_commands.h"

enum { MAX_COMMANDS = 1000 };

/* The members of a request. */
struct fields {
    const char *op, *tenant, *run, *order, *until, *version;
    const char *word; /* the argument of a query */
    const json_t *graph, *input, *commands, *deployment;
    const char *status, *name;
    uint64_t after, limit, protocol, since;
    uint32_t flags; /* of a command; of other requests: AGAIN, GO_ON, NEWEST */
};

enum { AGAIN = 1, GO_ON = 2, NEWEST = 4 };

struct mortise_request {
    struct mortise *m;
    struct mortise_asker *asker; /* NULL if it has disconnected */
    json_t *body;                /* a reference; `fields` points into it */
    struct fields fields;
    const struct mortise_members *members; /* allowed for this request */
    char *actor;
    const char *tenant, *run;
    char run_id[MORTISE_RUN_MAX]; /* the id of the started run */
    struct mortise_watch watch;
    struct mortise_order order;
    struct mortise_run_command *commands;
    size_t n_commands;
    struct mortise_graph *graph; /* of a start: a reference, or NULL */
    struct mortise_new_run start;
    struct mortise_stored_read
        stored; /* the existing run of a repeated start */
    struct mortise_order recovery;
    struct mortise_query query;
    struct mortise_buf report, findings; /* of a graph diff */
    bool ordered; /* `order` belongs to the run until the command is answered */
    bool reading; /* the store uses `start`, `stored` or `query` */
    bool giving;  /* the order is being handed to the run; delay the answer */
    bool begun;   /* of a request with a watch: its first item was sent */
};

/* ---- the life of a request ---------------------------------------------- */

static void request_free(struct mortise_request *q)
{
    const struct mortise_mem *mem = q->m->mem;

    if (q->asker != NULL)
        q->asker->request = NULL;
    mortise_release(mem, q->commands, q->n_commands * sizeof *q->commands);
    json_decref(q->start.input);
    mortise_graph_unref(q->graph);
    mortise_buf_finish(&q->report);
    mortise_buf_finish(&q->findings);
    mortise_release_str(mem, q->actor);
    json_decref(q->body);
    mortise_release(mem, q, sizeof *q);
}

/* Send the last answer.  The asker may send its next request from the
 * callback. */
static void finish_request(struct mortise_request *q, json_t *reply,
                           const struct mortise_err *err)
{
    struct mortise_asker *a = q->asker;

    q->asker = NULL;
    if (a != NULL)
        a->request = NULL;
    if (!q->ordered)
        request_free(q); /* otherwise freed when the command is answered */
    if (a != NULL && reply != NULL)
        a->reply(a, reply);
    else if (a != NULL)
        a->error(a, err);
    json_decref(reply);
}

/* Takes the reference `with`; NULL: memory ran out. */
static void reply(struct mortise_request *q, json_t *with)
{
    struct mortise_err err;

    mortise_nomem(&err);
    finish_request(q, with, &err);
}

void mortise_requests_detach(struct mortise_asker *a)
{
    struct mortise_request *q = a->request;

    a->request = NULL;
    if (q == NULL)
        return;
    q->asker = NULL;
    mortise_watch_end(q->m, &q->watch);
    if (!q->ordered && !q->reading)
        request_free(q); /* otherwise freed after the pending answer */
}

/* The store has answered.  Returns true if it succeeded and the asker still
 * waits; otherwise the request is finished. */
static bool finish_store_read(struct mortise_request *q, int rv,
                              const struct mortise_err *err)
{
    assert(q->reading);
    q->reading = false;
    if (q->asker == NULL)
        request_free(q);
    else if (rv != MORTISE_OK)
        finish_request(q, NULL, err);
    else
        return true;
    return false;
}

bool mortise_requests_is_watching(const struct mortise_asker *a)
{
    return a->request != NULL && a->request->watch.event != NULL;
}

void mortise_requests_resume(struct mortise_asker *a)
{
    if (a->request != NULL)
        mortise_watch_continue(a->request->m, &a->request->watch);
}

int mortise_requests_parse_code(const char *name)
{
    for (int code = -1; code >= MORTISE_RESULTS_END; code--) {
        if (strcmp(mortise_result_name(code), name) == 0)
            return code;
    }
    return MORTISE_EIO;
}

/* ---- watching ----------------------------------------------------------- */

/* `blocked`: the commands are recorded, but the run waits for a plugin before
 * it can continue. */
static json_t *make_run_status(const struct mortise_request *q, int status,
                               const char *reason)
{
    return json_pack(
        "{s:s, s:s, s:s, s:o*}", "run", q->run, "status",
        mortise_run_status_name(status), "reason", reason, "blocked",
        q->order.blocked && !mortise_run_has_ended(status) ? json_true()
                                                           : NULL);
}

/* Send the item that confirms the start or command before the watched events.
 * Nonzero: send no more. */
static int send_begun_item(struct mortise_request *q, json_t *item)
{
    struct mortise_err err;
    int said = 1;

    mortise_nomem(&err);
    if (item != NULL)
        said = q->asker->item(q->asker, item);
    else
        q->asker->error(q->asker, &err);
    q->begun = true;
    json_decref(item);
    return said;
}

static int send_watch_event(struct mortise_watch *w, json_t *event)
{
    struct mortise_request *q =
        MORTISE_CONTAINER_OF(w, struct mortise_request, watch);

    if (q->run_id[0] != '\0' && !q->begun &&
        send_begun_item(q, json_pack("{s:s, s:s, s:s}", "type", "started",
                                     "run", q->run_id, "tenant", q->tenant)) !=
            0)
        return 1;
    return q->asker->item(q->asker, event);
}

static bool is_asker_full(struct mortise_watch *w)
{
    const struct mortise_request *q =
        MORTISE_CONTAINER_OF(w, struct mortise_request, watch);

    return q->asker->full != NULL && q->asker->full(q->asker);
}

static void finish_follow(struct mortise_watch *w, int status,
                          const char *reason, const struct mortise_err *err)
{
    struct mortise_request *q =
        MORTISE_CONTAINER_OF(w, struct mortise_request, watch);

    if (err == NULL) /* the asker stopped the watch: do not answer */
        mortise_requests_detach(q->asker);
    else if (err->code != MORTISE_OK)
        finish_request(q, NULL, err);
    else
        reply(q, make_run_status(q, status, reason));
}

static int parse_until_name(const char *name, enum mortise_until *out,
                            struct mortise_err *err)
{
    if (name == NULL || strcmp(name, "now") == 0)
        *out = MORTISE_UNTIL_NOW;
    else if (strcmp(name, "idle") == 0)
        *out = MORTISE_UNTIL_IDLE;
    else if (strcmp(name, "end") == 0)
        *out = MORTISE_UNTIL_END;
    else
        return mortise_fail(err, MORTISE_EINVAL,
                            "'until' must be now, idle or end, not '%.100s'",
                            name);
    return MORTISE_OK;
}

/* Watch the run from event `after` on. */
static int watch(struct mortise_request *q, const char *run,
                 struct mortise_err *err)
{
    q->watch.event = send_watch_event;
    q->watch.full = is_asker_full;
    q->watch.done = finish_follow;
    return mortise_watch_add(q->m, &q->watch, q->tenant, run, err);
}

/* Read the `until` of a request that may include a watch. */
static int read_watch_until(struct mortise_request *q, struct mortise_err *err)
{
    int rv = q->fields.until != NULL
                 ? parse_until_name(q->fields.until, &q->watch.until, err)
                 : MORTISE_OK;

    if (rv == MORTISE_OK && q->fields.until != NULL &&
        q->watch.until == MORTISE_UNTIL_NOW)
        return mortise_fail(
            err, MORTISE_EINVAL,
            "'until' must be idle or end for a request that starts a run");
    return rv;
}

/* Read the order id, if the asker made one, and the watch, if there is one. */
static int read_order_and_watch(struct mortise_request *q,
                                struct mortise_err *err)
{
    int rv = MORTISE_OK;

    q->order.id = q->fields.order;
    if (q->order.id != NULL)
        rv = mortise_name_check("order id", q->order.id, err);
    return rv == MORTISE_OK ? read_watch_until(q, err) : rv;
}

/* ---- start -------------------------------------------------------------- */

static void reply_started_run(struct mortise_watch *w, int status,
                              const char *reason, const struct mortise_err *err)
{
    struct mortise_request *q =
        MORTISE_CONTAINER_OF(w, struct mortise_request, watch);

    (void)status;
    (void)reason;
    if (err->code == MORTISE_OK)
        reply(q,
              json_pack("{s:s, s:s}", "run", q->run_id, "tenant", q->tenant));
    else
        finish_request(q, NULL, err);
}

/* Findings may be many, so they are sent as an item and not as an error. */
static int send_report(struct mortise_request *q,
                       const struct mortise_buf *report,
                       const struct mortise_buf *findings,
                       struct mortise_err *err)
{
    json_t *item = NULL, *all = NULL;
    int said = 0;

    if (report->n == 0)
        return MORTISE_OK;
    if (!findings->failed &&
        mortise_json_parse_written(&all, findings->p, findings->n, NULL) !=
            MORTISE_ENOMEM)
        item = json_pack("{s:s, s:o, s:O*}", "type", "report", "text",
                         mortise_json_make_string(report->p, report->n),
                         "findings", json_object_get(all, "findings"));
    json_decref(all);
    if (item == NULL)
        return mortise_nomem(err);
    if (q->asker != NULL)
        said = q->asker->item(q->asker, item);
    json_decref(item);
    (void)said; /* the start is not undone */
    return MORTISE_OK;
}

/* The member `graph` of a start. */
struct graph_fields {
    struct mortise_source file;
    const char *cwd;
};

static const struct mortise_member graph_rows[] = {
    MORTISE_MEMBER(TEXT, "path", true, struct graph_fields, file.path),
    MORTISE_MEMBER(TEXT, "source", true, struct graph_fields, file.text),
    MORTISE_MEMBER(TEXT, "cwd", false, struct graph_fields, cwd),
};
static const struct mortise_members graph_members = MORTISE_MEMBERS(graph_rows);

static int compile_start_graph(struct mortise_request *q,
                               struct mortise_graph **out,
                               struct mortise_err *err)
{
    struct graph_fields said = {.cwd = NULL};
    struct mortise_buf report, findings;
    struct mortise_err ignored;
    int rv = mortise_members_read(&graph_members, q->fields.graph,
                                  "'graph' must be {path, source, cwd?}", &said,
                                  err);

    if (rv != MORTISE_OK)
        return rv;
    said.file.size = strlen(said.file.text);
    mortise_buf_init(&report, q->m->mem);
    mortise_buf_init(&findings, q->m->mem);
    rv = mortise_graphs_compile(q->m, &said.file, said.cwd,
                                q->asker->member ? MORTISE_GRAPH_ALONE : 0, out,
                                &report, &findings, err);
    if (rv == MORTISE_OK || rv == MORTISE_ECHECK || rv == MORTISE_EDENIED)
        send_report(q, &report, &findings, &ignored);
    mortise_buf_finish(&report);
    mortise_buf_finish(&findings);
    return rv;
}

/* The run exists: begin its watch, or wait until its admission is on disk. */
static void watch_started_run(struct mortise_request *q)
{
    struct mortise_err err;
    int rv;

    q->run = q->run_id;
    if (q->watch.until != 0) {
        rv = watch(q, q->run, &err);
    } else {
        q->watch.until = MORTISE_UNTIL_SYNCED;
        q->watch.done = reply_started_run;
        rv = mortise_watch_add(q->m, &q->watch, q->tenant, q->run, &err);
    }
    if (rv != MORTISE_OK)
        finish_request(q, NULL, &err);
}

static void continue_start(struct mortise_order *o,
                           const struct mortise_err *err)
{
    struct mortise_request *q =
        MORTISE_CONTAINER_OF(o, struct mortise_request, recovery);

    if (finish_store_read(q, err->code, err))
        watch_started_run(q);
}

/* Was the stored run started with this input? */
static int had_same_input(const struct mortise_request *q, bool *had,
                          struct mortise_err *err)
{
    json_t *show = mortise_run_show(q->stored.run, NULL);
    json_t *normal = mortise_schema_normalize(q->graph->input, q->start.input,
                                              q->graph->expr_cost);
    bool starved = show == NULL || normal == NULL;

    *had = json_equal(json_object_get(json_object_get(show, "state"), "input"),
                      normal);
    json_decref(show);
    json_decref(normal);
    return starved ? mortise_nomem(err) : MORTISE_OK;
}

/* Is the stored run the one that this request asks for?  Without an order id
 * its origin cannot be checked. */
static int check_stored_run(const struct mortise_request *q,
                            struct mortise_err *err)
{
    bool had = false;
    int rv = had_same_input(q, &had, err);

    if (rv == MORTISE_OK &&
        memcmp(mortise_graph_get_first(q->stored.graph)->digest,
               q->graph->digest, MORTISE_DIGEST) != 0)
        return mortise_fail(err, MORTISE_EEXISTS,
                            "a run '%s' already exists, with another graph",
                            q->run);
    if (rv == MORTISE_OK && !had)
        return mortise_fail(err, MORTISE_EEXISTS,
                            "a run '%s' already exists, with another input",
                            q->run);
    if (rv == MORTISE_OK && q->order.id != NULL &&
        !mortise_run_has_order(q->stored.run, q->order.id))
        return mortise_fail(
            err, MORTISE_EEXISTS,
            "a run '%s' already exists; another user started it", q->run);
    return rv;
}

static void on_earlier_run_read(struct mortise_stored_read *s, int rv,
                                const struct mortise_err *err)
{
    struct mortise_request *q =
        MORTISE_CONTAINER_OF(s, struct mortise_request, stored);
    struct mortise_err why = *err;

    if (rv == MORTISE_OK)
        rv = check_stored_run(q, &why);
    mortise_stored_finish(s);
    if (!finish_store_read(q, rv, &why))
        return;
    snprintf(q->run_id, sizeof q->run_id, "%s", q->run);
    q->reading = true;
    q->recovery.done = continue_start;
    mortise_recover_one(q->m, q->tenant, q->run, &q->recovery);
}

static void on_earlier_head_read(struct mortise_stored_read *s, int rv,
                                 const struct mortise_err *err)
{
    struct mortise_request *q =
        MORTISE_CONTAINER_OF(s, struct mortise_request, stored);
    struct mortise_err why;

    (void)err;
    if (rv == MORTISE_OK) {
        mortise_stored_read_run(s, on_earlier_run_read);
        return;
    }
    mortise_stored_finish(s);
    mortise_fail(&why, MORTISE_EEXISTS, "a run '%s' already exists", q->run);
    finish_store_read(q, why.code, &why);
}

/* An asker that lost its engine does not know whether its run was admitted,
 * and repeats the start.  A run with that id is accepted as its own if graph,
 * input and order id match.  It is recovered from disk before it continues. */
static void on_run_begun(struct mortise_new_run *n, struct mortise_live *live,
                         const struct mortise_err *err)
{
    struct mortise_request *q =
        MORTISE_CONTAINER_OF(n, struct mortise_request, start);

    if (err->code == MORTISE_EEXISTS && (q->fields.flags & AGAIN) != 0 &&
        q->run != NULL) {
        mortise_stored_read_head(q->m, &q->stored, q->tenant, q->run,
                                 on_earlier_head_read);
        return;
    }
    if (!finish_store_read(q, err->code, err))
        return;
    snprintf(q->run_id, sizeof q->run_id, "%s", live->id);
    watch_started_run(q);
}

static int serve_start(struct mortise_request *q, struct mortise_err *err)
{
    json_t *input = mortise_json_unconst(q->fields.input);
    int rv = read_order_and_watch(q, err);

    if (rv == MORTISE_OK)
        rv = compile_start_graph(q, &q->graph, err);
    if (rv != MORTISE_OK)
        return rv;
    q->start.input = input != NULL ? json_incref(input) : json_object();
    if (q->start.input == NULL)
        return mortise_nomem(err);
    q->start.actor = q->actor;
    q->start.order = q->order.id;
    q->start.done = on_run_begun;
    q->reading = true;
    mortise_live_start(q->m, &q->start, q->graph, q->tenant, q->run);
    return MORTISE_OK;
}

/* ---- command ------------------------------------------------------------ */

/* The run has just answered, so it is loaded. */
static json_t *make_current_status(const struct mortise_request *q)
{
    const struct mortise_live *live =
        mortise_live_find(q->m, q->tenant, q->run);

    return make_run_status(q, mortise_run_status(live->run),
                           mortise_run_reason(live->run));
}

/* Send the item of a command with a watch, once the command is on disk. */
static void send_recorded_item(struct mortise_request *q)
{
    json_t *with = make_current_status(q);

    if (with != NULL &&
        json_object_set_new(with, "type", json_string("recorded")) != 0)
        mortise_json_clear_ref(&with);
    if (send_begun_item(q, with) != 0)
        mortise_requests_detach(q->asker);
}

static void ordered(struct mortise_order *o, const struct mortise_err *err)
{
    struct mortise_request *q =
        MORTISE_CONTAINER_OF(o, struct mortise_request, order);
    bool watches = q->watch.until != 0;
    struct mortise_err why = *err, ignored;

    if (q->asker != NULL) /* the asker may disconnect in this call */
        send_report(q, &q->report, &q->findings, &ignored);
    err = &why;
    q->ordered = false;
    if (err->code != MORTISE_OK) {
        mortise_watch_end(q->m, &q->watch);
        finish_request(q, NULL, err);
        return;
    }
    if (q->giving) /* watch_after_command() sends it */
        return;
    if (!watches || q->asker == NULL)
        reply(q, make_current_status(q));
    else
        send_recorded_item(q);
}

/* A command as sent: its kind and its members. */
struct said {
    const char *kind;
    const json_t *value;
    struct mortise_run_command c;
};

static const struct mortise_member command_rows[] = {
    MORTISE_MEMBER(TEXT, "kind", true, struct said, kind),
#define MEMBER_TEXT(name)                                                      \
    MORTISE_MEMBER(TEXT, #name, false, struct said, c.name),
#define MEMBER_JSON(name, field)                                               \
    MORTISE_MEMBER(VALUE, #name, false, struct said, name),
#define MEMBER_FLAG(name, bit)                                                 \
    MORTISE_MEMBER_BIT(#name, bit, struct said, c.flags),
#include "core/run/command/command_members.def"
};

static const struct mortise_members command_members =
    MORTISE_MEMBERS(command_rows);

/* Reject a member that the command does not use, instead of ignoring it.  null
 * and false count as absent. */
static int check_command_members(const struct mortise_command_row *row,
                                 const json_t *one, struct mortise_err *err)
{
    for (size_t i = 1; i < command_members.n; i++) {
        const char *name = command_rows[i].name;
        const json_t *v = json_object_get(one, name);

        if (v != NULL && !json_is_null(v) && !json_is_false(v) &&
            !mortise_command_has_member(row, name))
            return mortise_fail(err, MORTISE_EINVAL,
                                "'%s' is not a member of the command '%s'",
                                name, row->name);
    }
    return MORTISE_OK;
}

static int parse_run_command(const json_t *one, struct mortise_run_command *c,
                             struct mortise_err *err)
{
    struct said said = {.kind = NULL};
    const struct mortise_command_row *row;
    int rv = mortise_members_read(&command_members, one,
                                  "a command must be an object", &said, err);

    if (rv != MORTISE_OK)
        return rv;
    row = mortise_command_find_by_name(said.kind);
    if (row->kind == 0)
        return mortise_fail(err, MORTISE_EINVAL, "unknown command '%.100s'",
                            said.kind);
    *c = said.c;
    c->kind = row->kind;
    c->value = mortise_json_unconst(said.value);
    return check_command_members(row, one, err);
}

static int parse_run_commands(struct mortise_request *q,
                              struct mortise_err *err)
{
    const json_t *list = q->fields.commands;
    size_t n = json_array_size(list);
    int rv = MORTISE_OK;

    if (!json_is_array(list) || n == 0 || n > MAX_COMMANDS)
        return mortise_fail(err, MORTISE_EINVAL,
                            "'commands' must be a list of 1 to %d commands",
                            MAX_COMMANDS);
    q->commands = mortise_zalloc(q->m->mem, n * sizeof *q->commands);
    if (q->commands == NULL)
        return mortise_nomem(err);
    q->n_commands = n;
    for (size_t i = 0; rv == MORTISE_OK && i < n; i++) {
        rv = parse_run_command(json_array_get(list, i), &q->commands[i], err);
        if (rv != MORTISE_OK)
            mortise_err_prefix(err, rv, "command %zu", i + 1);
    }
    return rv;
}

/* The command was handed to the run, and may be answered already.  Its effects
 * happen from the next turn on. */
static void watch_after_command(struct mortise_order *o)
{
    struct mortise_request *q =
        MORTISE_CONTAINER_OF(o, struct mortise_request, order);
    const struct mortise_asker *a = q->asker;
    struct mortise_err err;
    int rv;

    if (a == NULL) { /* the asker disconnected while the run was loaded */
        q->giving = false;
        if (!q->ordered)
            request_free(q);
        return;
    }
    rv = watch(q, q->run, &err);
    if (rv != MORTISE_OK) {
        q->giving = false;
        finish_request(q, NULL, &err);
        return;
    }
    if (a->request == NULL) /* the asker stopped the watch */
        return;
    q->giving = false;
    if (!q->ordered)
        send_recorded_item(q);
}

static int serve_command(struct mortise_request *q, struct mortise_err *err)
{
    bool watches = q->fields.until != NULL;
    int rv = read_order_and_watch(q, err);

    if (rv == MORTISE_OK && !watches && q->fields.after != 0)
        rv = mortise_fail(err, MORTISE_EINVAL, "'after' needs 'until'");
    if (rv == MORTISE_OK)
        rv = parse_run_commands(q, err);
    if (rv != MORTISE_OK)
        return rv;
    q->watch.after = q->fields.after;
    q->order.flags = q->fields.flags;
    q->order.list = q->commands;
    q->order.n = q->n_commands;
    q->order.actor = q->actor;
    q->order.report = &q->report;
    q->order.findings = &q->findings;
    q->order.done = ordered;
    q->ordered = true;
    q->order.given = watches ? watch_after_command : NULL;
    q->giving = watches;
    mortise_live_send_order(q->m, q->tenant, q->run, &q->order);
    return MORTISE_OK;
}

/* ---- follow ------------------------------------------------------------- */

static void follow_recovered(struct mortise_order *o,
                             const struct mortise_err *err)
{
    struct mortise_request *q =
        MORTISE_CONTAINER_OF(o, struct mortise_request, recovery);
    struct mortise_err why;

    if (finish_store_read(q, err->code, err) &&
        watch(q, q->run, &why) != MORTISE_OK)
        finish_request(q, NULL, &why);
}

static int serve_follow(struct mortise_request *q, struct mortise_err *err)
{
    int rv = parse_until_name(q->fields.until, &q->watch.until, err);

    if (rv != MORTISE_OK)
        return rv;
    q->watch.after = q->fields.after;
    if ((q->fields.flags & GO_ON) == 0)
        return watch(q, q->run, err);
    q->reading = true;
    q->recovery.done = follow_recovered;
    mortise_recover_one(q->m, q->tenant, q->run, &q->recovery);
    return MORTISE_OK;
}

/* ---- queries ------------------------------------------------------------ */

static void reply_query_result(struct mortise_query *query, json_t *value,
                               int rv, const struct mortise_err *err)
{
    struct mortise_request *q =
        MORTISE_CONTAINER_OF(query, struct mortise_request, query);

    if (finish_store_read(q, rv, err))
        reply(q, value);
    else
        json_decref(value);
}

static int serve_engine(struct mortise_request *q, struct mortise_err *err)
{
    (void)err;
    reply(q,
          json_pack("{s:I, s:s, s:s}", "pid", (json_int_t)getpid(), "version",
                    MORTISE_VERSION, "store", q->m->settings.store));
    return MORTISE_OK;
}

/* ---- memory ------------------------------------------------------------- */

static void reply_memory_result(void *ud, const json_t *answer,
                                const struct mortise_err *err)
{
    struct mortise_request *q = ud;

    if (finish_store_read(q, answer != NULL ? MORTISE_OK : err->code, err))
        reply(q, json_incref(mortise_json_unconst(answer)));
}

static int serve_memory(struct mortise_request *q, struct mortise_err *err)
{
    static const struct {
        const char *what;
        const struct mortise_call_kind *kind;
    } all[] = {{"read", &mortise_call_recall},
               {"write", &mortise_call_remember},
               {"forget", &mortise_call_forget}};
    size_t i = 0;

    while (i < 3 && strcmp(all[i].what, q->fields.word) != 0)
        i++;
    if (i == 3)
        return mortise_fail(err, MORTISE_EINVAL,
                            "'what' must be read, write or forget");
    q->reading = true;
    mortise_memory_call_plugin(q->m, q->tenant, all[i].kind, q->fields.input,
                               reply_memory_result, q);
    return MORTISE_OK;
}

/* ---- discovery ---------------------------------------------------------- */

static void reply_discovery_result(void *ud, const json_t *entries,
                                   const struct mortise_err *err)
{
    struct mortise_request *q = ud;

    if (finish_store_read(q, entries != NULL ? MORTISE_OK : err->code, err))
        reply(q, json_pack("{s:O}", "entries", mortise_json_unconst(entries)));
}

static int serve_discovery(struct mortise_request *q, struct mortise_err *err)
{
    (void)err;
    q->reading = true;
    mortise_pinnable_ask(q->m, q->fields.name, reply_discovery_result, q);
    return MORTISE_OK;
}

/* ---- hello -------------------------------------------------------------- */

struct deployment_fields {
    const char *path, *digest;
};

static const struct mortise_member deployment_rows[] = {
    MORTISE_MEMBER(TEXT, "path", true, struct deployment_fields, path),
    MORTISE_MEMBER(TEXT, "digest", true, struct deployment_fields, digest),
};
static const struct mortise_members deployment_members =
    MORTISE_MEMBERS(deployment_rows);

/* Reject a client with another deployment: its runs would get ours instead. */
static int check_client_deployment(struct mortise_request *q,
                                   struct mortise_err *err)
{
    const struct mortise_deployment *d = q->m->settings.deployment;
    struct deployment_fields said = {.path = NULL};
    uint8_t ours[MORTISE_DIGEST];
    char hex[MORTISE_DIGEST_HEX];
    int rv =
        mortise_members_read(&deployment_members, q->fields.deployment,
                             "'deployment' must be {path, digest}", &said, err);

    if (rv != MORTISE_OK)
        return rv;
    if (mortise_deployment_digest(ours, d, q->m->mem) != MORTISE_OK)
        return mortise_nomem(err);
    mortise_hex_encode(hex, ours, sizeof ours);
    if (strcmp(hex, said.digest) == 0)
        return MORTISE_OK;
    return mortise_fail(
        err, MORTISE_ECONFIG,
        "process %ld uses the store %s with %s%s, which differs from %s; give "
        "the same deployment, or wait until the process ends (kill %ld stops "
        "it; its runs can be resumed)",
        (long)getpid(), q->m->settings.store,
        d->path != NULL ? "the deployment " : "no deployment file",
        d->path != NULL ? d->path : "", said.path, (long)getpid());
}

static int serve_hello(struct mortise_request *q, struct mortise_err *err)
{
    const char *version = q->fields.version;
    int rv;

    if (q->fields.protocol != MORTISE_PROTOCOL_VERSION)
        return mortise_fail(
            err, MORTISE_EUNAVAILABLE,
            "process %ld uses the store with protocol %d of the control socket "
            "(Mortise %s), but this program uses %llu%s%s; wait until it ends, "
            "stop it (kill %ld), or use its version",
            (long)getpid(), MORTISE_PROTOCOL_VERSION, MORTISE_VERSION,
            (unsigned long long)q->fields.protocol,
            version != NULL ? ", Mortise " : "", version != NULL ? version : "",
            (long)getpid());
    rv = mortise_members_check(q->members, q->body, err);
    if (rv == MORTISE_OK && q->fields.deployment != NULL)
        rv = check_client_deployment(q, err);
    if (rv != MORTISE_OK)
        return rv;
    q->asker->greeted = true;
    reply(q, json_pack("{s:I, s:s, s:i, s:s, s:b}", "pid", (json_int_t)getpid(),
                       "version", MORTISE_VERSION, "protocol",
                       MORTISE_PROTOCOL_VERSION, "store", q->m->settings.store,
                       "stays", q->m->holding == MORTISE_MODE_SERVER));
    return MORTISE_OK;
}

/* ---- serving ------------------------------------------------------------ */

#define MAY(kind, name, field)                                                 \
    MORTISE_MEMBER(kind, name, false, struct fields, field)
#define MUST(kind, name, field)                                                \
    MORTISE_MEMBER(kind, name, true, struct fields, field)
#define FLAG(name, bit) MORTISE_MEMBER_BIT(name, bit, struct fields, flags)
#define ALL             MUST(TEXT, "do", op), MAY(TEXT, "tenant", tenant)

static const struct mortise_member start_members[] = {
    ALL,
    MAY(TEXT, "run", run),
    MAY(TEXT, "order", order),
    MAY(TEXT, "until", until),
    MAY(VALUE, "graph", graph),
    MAY(VALUE, "input", input),
    FLAG("again", AGAIN),
};

static const struct mortise_member command_request_members[] = {
    ALL,
    MUST(TEXT, "run", run),
    MAY(TEXT, "order", order),
    MAY(TEXT, "until", until),
    MAY(NUMBER, "after", after),
    FLAG("no_continue", MORTISE_NO_CONTINUE),
    FLAG("accept_plugins", MORTISE_ACCEPT_PLUGINS),
    MAY(VALUE, "commands", commands),
};

static const struct mortise_member follow_members[] = {
    ALL,
    MUST(TEXT, "run", run),
    MAY(NUMBER, "after", after),
    MAY(TEXT, "until", until),
    FLAG("go_on", GO_ON),
};

static const struct mortise_member list_members[] = {
    ALL, MAY(TEXT, "after", word), MAY(NUMBER, "limit", limit)};

static const struct mortise_member runs_members[] = {
    ALL,
    MAY(TEXT, "after", word),
    MAY(NUMBER, "limit", limit),
    FLAG("newest", NEWEST),
    MAY(TEXT, "status", status),
    MAY(TEXT, "graph", name),
    MAY(NUMBER, "since", since),
};

static const struct mortise_member look_members[] = {ALL,
                                                     MUST(TEXT, "run", word)};

static const struct mortise_member graph_request_members[] = {
    ALL, MUST(TEXT, "run", word), MAY(VALUE, "diff", input)};

static const struct mortise_member memory_members[] = {
    ALL, MUST(TEXT, "what", word), MUST(VALUE, "body", input)};

static const struct mortise_member discovery_members[] = {
    ALL, MUST(TEXT, "plugin", name)};

static const struct mortise_member engine_members[] = {ALL};

static const struct mortise_member hello_members[] = {
    ALL, MAY(NUMBER, "protocol", protocol), MAY(TEXT, "version", version),
    MAY(VALUE, "deployment", deployment)};

static const struct op {
    const char *name;
    struct mortise_members members;
    int (*serve_request)(struct mortise_request *q, struct mortise_err *err);
    mortise_query_fn *query; /* instead of `serve_request` */
    bool reads;              /* works while the store recovers */
    bool greets;             /* check the protocol before the members */
} ops[] = {
    {"start", MORTISE_MEMBERS(start_members), .serve_request = serve_start},
    {"command", MORTISE_MEMBERS(command_request_members),
     .serve_request = serve_command},
    {"follow", MORTISE_MEMBERS(follow_members), .serve_request = serve_follow},
    {"runs", MORTISE_MEMBERS(runs_members), .query = mortise_query_runs},
    {"inbox", MORTISE_MEMBERS(list_members), .query = mortise_query_inbox},
    {"show", MORTISE_MEMBERS(look_members), .query = mortise_query_show},
    {"history", MORTISE_MEMBERS(look_members), .query = mortise_query_history},
    {"find", MORTISE_MEMBERS(look_members), .query = mortise_query_find},
    {"graph", MORTISE_MEMBERS(graph_request_members),
     .query = mortise_query_graph},
    {"memory", MORTISE_MEMBERS(memory_members), .serve_request = serve_memory},
    {"discovery", MORTISE_MEMBERS(discovery_members),
     .serve_request = serve_discovery},
    {"engine", MORTISE_MEMBERS(engine_members), .serve_request = serve_engine,
     .reads = true},
    {"hello", MORTISE_MEMBERS(hello_members), .serve_request = serve_hello,
     .reads = true, .greets = true},
};

static const struct op *find_op(const char *name)
{
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (strcmp(ops[i].name, name) == 0)
            return &ops[i];
    return NULL;
}

/* Set the filter of a list of runs; only `newest` lists can be filtered. */
static int set_query_filter(struct mortise_request *q, struct mortise_err *err)
{
    const struct fields *a = &q->fields;
    bool newest = (a->flags & NEWEST) != 0;

    if (!newest && (a->status != NULL || a->name != NULL || a->since != 0))
        return mortise_fail(err, MORTISE_EINVAL,
                            "'status', 'graph' and 'since' need 'newest'");
    q->query.filter =
        (struct mortise_query_filter){newest, a->status, a->name, a->since};
    return MORTISE_OK;
}

/* MORTISE_OK: the request is answered, or will be.  Otherwise the error is the
 * answer. */
static int serve_request(struct mortise_request *q, struct mortise_err *err)
{
    static const struct mortise_members all = MORTISE_MEMBERS(engine_members);
    struct fields *a = &q->fields;
    const struct op *op;
    int rv = json_is_object(q->body)
                 ? mortise_members_get(&all, q->body, a, err)
                 : mortise_fail(err, MORTISE_EINVAL,
                                "a request must be a JSON object");

    if (rv != MORTISE_OK)
        return rv;
    op = find_op(a->op);
    if (op == NULL)
        return mortise_fail(err, MORTISE_EUNAVAILABLE,
                            "this build has no request '%.100s'", a->op);
    q->members = &op->members;
    rv = mortise_engine_check_ready(q->m, err);
    if (op->reads && !(op->greets && rv == MORTISE_EBUSY))
        rv = MORTISE_OK; /* a closing engine rejects even `hello` */
    if (rv == MORTISE_OK && !op->greets)
        rv = mortise_members_check(q->members, q->body, err);
    if (rv == MORTISE_OK)
        rv = mortise_members_get(q->members, q->body, a, err);
    q->tenant = a->tenant != NULL ? a->tenant : "default";
    q->run = a->run;
    if (rv == MORTISE_OK && op->query == NULL)
        return op->serve_request(q, err);
    if (rv == MORTISE_OK)
        rv = set_query_filter(q, err);
    if (rv != MORTISE_OK)
        return rv;
    q->reading = true;
    q->query.diff = a->input;
    q->query.done = reply_query_result;
    op->query(q->m, &q->query, q->tenant, a->word, (size_t)a->limit);
    return MORTISE_OK;
}

void mortise_requests_serve(struct mortise *m, json_t *request,
                            const char *actor, struct mortise_asker *a)
{
    struct mortise_request *q = mortise_zalloc(m->mem, sizeof *q);
    struct mortise_err err;

    assert(a->request == NULL); /* one request at a time */
    if (q != NULL) {
        q->m = m;
        q->asker = a;
        q->body = json_incref(request);
        mortise_buf_init(&q->report, m->mem);
        mortise_buf_init(&q->findings, m->mem);
        q->actor = mortise_strdup(m->mem, actor);
        a->request = q;
    }
    if (q == NULL || q->actor == NULL) {
        if (q != NULL)
            request_free(q);
        mortise_nomem(&err);
        a->error(a, &err);
        return;
    }
    if (serve_request(q, &err) != MORTISE_OK)
        finish_request(q, NULL, &err);
}
