/* requests.c -- requests to the engine, wherever they come from.
 *
 * A request is JSON from outside: every member is checked, and one that is not
 * known is refused rather than ignored.  Who asks comes from the transport.
 *
 * The asker may go away at any time; a command that is under way then is
 * carried out all the same, so its request lives on without an asker.  So does
 * one for which the store is asked, until that has answered.
 *
 * `start` and `command` may carry a watch (`until`): it begins in the same turn
 * of the loop, so no event lies between the two.
 */
#include "service/requests.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "service/control.h"
#include "service/query.h"
#include "engine/recover.h"
#include "config/deploy_digest.h"
#include "run/command/run_commands.h"

enum { MAX_COMMANDS = 1000 };

struct mortise_request {
    struct mortise *m;
    struct mortise_asker *asker; /* NULL: gone */
    json_t *body;                /* a reference: what follows points into it */
    char *actor;
    const char *tenant, *run;
    char run_id[MORTISE_RUN_MAX]; /* of a start */
    struct mortise_watch watch;
    struct mortise_order order;
    struct mortise_run_command *commands;
    size_t n_commands;
    struct mortise_graph *graph; /* of a start: a reference, or NULL */
    bool again;                  /* a start that may have been made before */
    struct mortise_new_run start;
    struct mortise_stored stored; /* of a start that was made before */
    struct mortise_order recovery;
    struct mortise_query query;
    bool ordered; /* the order is the run's until it is done */
    bool reading; /* and what is above it, the store's */
    bool giving;  /* the order is being given to the run: the answer waits */
    bool begun;   /* a watch that is carried: its first item was sent */
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
    mortise_release_str(mem, q->actor);
    json_decref(q->body);
    mortise_release(mem, q, sizeof *q);
}

/* The last word to an asker, who may ask again from inside. */
static void finish(struct mortise_request *q, json_t *reply,
                   const struct mortise_err *err)
{
    struct mortise_asker *a = q->asker;

    q->asker = NULL;
    if (a != NULL)
        a->request = NULL;
    if (!q->ordered)
        request_free(q); /* else when the command is answered */
    if (a != NULL && reply != NULL)
        a->reply(a, reply);
    else if (a != NULL)
        a->error(a, err);
    json_decref(reply);
}

/* Takes the reply; NULL: memory ran out. */
static void reply(struct mortise_request *q, json_t *with)
{
    struct mortise_err err;

    mortise_nomem(&err);
    finish(q, with, &err);
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
        request_free(q); /* else when the command is answered, or the store
                            has */
}

/* The store has answered: does somebody still wait for what comes of it, and is
 * that more than an error?  Else the request is over. */
static bool comes_back(struct mortise_request *q, int rv,
                       const struct mortise_err *err)
{
    assert(q->reading);
    q->reading = false;
    if (q->asker == NULL)
        request_free(q);
    else if (rv != MORTISE_OK)
        finish(q, NULL, err);
    else
        return true;
    return false;
}

bool mortise_requests_is_follow(const struct mortise_asker *a)
{
    return a->request != NULL && a->request->watch.event != NULL;
}

void mortise_requests_go_on(struct mortise_asker *a)
{
    if (a->request != NULL)
        mortise_watch_go_on(a->request->m, &a->request->watch);
}

int mortise_requests_code(const char *name)
{
    for (int code = -1; code >= MORTISE_ENOSPC; code--) {
        if (strcmp(mortise_result_name(code), name) == 0)
            return code;
    }
    return MORTISE_EIO;
}

/* ---- reading members ---------------------------------------------------- */

/* Only these members; `known` ends with NULL. */
static int check_members(const json_t *body, const char *const *known,
                         struct mortise_err *err)
{
    const char *key;
    json_t *value;

    json_object_foreach(mortise_json_unconst(body), key, value)
    {
        size_t i = 0, n = 0;
        const char *near;

        while (known[i] != NULL && strcmp(known[i], key) != 0)
            i++;
        if (known[i] != NULL)
            continue;
        while (known[n] != NULL)
            n++;
        near = mortise_nearest(key, known, n);
        return mortise_fail(err, MORTISE_EINVAL,
                            "a request has no member '%.100s'%s%s%s", key,
                            near != NULL ? "; did you mean '" : "",
                            near != NULL ? near : "", near != NULL ? "'?" : "");
    }
    return MORTISE_OK;
}

/* A string member, NULL when it is missing; it has no NUL inside. */
static int get_text(const json_t *body, const char *name, bool must,
                    const char **out, struct mortise_err *err)
{
    const json_t *v = json_object_get(body, name);

    *out = NULL;
    if (v == NULL || json_is_null(v))
        return must ? mortise_fail(err, MORTISE_EINVAL, "'%s' is missing", name)
                    : MORTISE_OK;
    *out = json_string_value(v);
    if (*out == NULL || strlen(*out) != json_string_length(v))
        return mortise_fail(err, MORTISE_EINVAL, "'%s' must be a string", name);
    return MORTISE_OK;
}

static int get_number(const json_t *body, const char *name, uint64_t *out,
                      struct mortise_err *err)
{
    const json_t *v = json_object_get(body, name);

    *out = 0;
    if (v == NULL || json_is_null(v))
        return MORTISE_OK;
    if (!json_is_integer(v) || json_integer_value(v) < 0)
        return mortise_fail(err, MORTISE_EINVAL,
                            "'%s' must be a number, 0 or more", name);
    *out = (uint64_t)json_integer_value(v);
    return MORTISE_OK;
}

static int get_flag(const json_t *body, const char *name, uint32_t bit,
                    uint32_t *flags, struct mortise_err *err)
{
    const json_t *v = json_object_get(body, name);

    if (v == NULL || json_is_false(v) || json_is_null(v))
        return MORTISE_OK;
    if (!json_is_true(v))
        return mortise_fail(err, MORTISE_EINVAL, "'%s' must be true or false",
                            name);
    *flags |= bit;
    return MORTISE_OK;
}

/* The id that the asker made for what it says, if it did. */
static int get_order(struct mortise_request *q, struct mortise_err *err)
{
    int rv = get_text(q->body, "order", false, &q->order.id, err);

    return rv == MORTISE_OK && q->order.id != NULL
               ? mortise_check_name("request's order", q->order.id, err)
               : rv;
}

/* ---- watching ----------------------------------------------------------- */

/* `blocked`: the commands were recorded, and a plugin keeps the run from going
 * on with them. */
static json_t *standing(const struct mortise_request *q, int status,
                        const char *reason)
{
    return json_pack(
        "{s:s, s:s, s:s, s:o*}", "run", q->run, "status",
        mortise_run_status_name(status), "reason", reason, "blocked",
        q->order.blocked && status < MORTISE_RUN_COMPLETED ? json_true()
                                                           : NULL);
}

/* An item that says what was done of what the watch came with.  Nonzero: no
 * more. */
static int say_begun(struct mortise_request *q, json_t *item)
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

static int followed(struct mortise_watch *w, json_t *event)
{
    struct mortise_request *q = MORTISE_OF(w, struct mortise_request, watch);

    if (q->run_id[0] != '\0' && !q->begun &&
        say_begun(q, json_pack("{s:s, s:s, s:s}", "type", "started", "run",
                               q->run_id, "tenant", q->tenant)) != 0)
        return 1;
    return q->asker->item(q->asker, event);
}

static bool is_full(struct mortise_watch *w)
{
    const struct mortise_request *q =
        MORTISE_OF(w, struct mortise_request, watch);

    return q->asker->full != NULL && q->asker->full(q->asker);
}

static void follow_over(struct mortise_watch *w, int status, const char *reason,
                        const struct mortise_err *err)
{
    struct mortise_request *q = MORTISE_OF(w, struct mortise_request, watch);

    if (err == NULL) /* it wants no more: nothing is left to say */
        mortise_requests_detach(q->asker);
    else if (err->code != MORTISE_OK)
        finish(q, NULL, err);
    else
        reply(q, standing(q, status, reason));
}

static int until_of(const char *name, enum mortise_until *out,
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
                            "'until' is now, idle or end, not '%.100s'", name);
    return MORTISE_OK;
}

/* Watch the run from event `after` on. */
static int watch(struct mortise_request *q, const char *run,
                 struct mortise_err *err)
{
    q->watch.event = followed;
    q->watch.full = is_full;
    q->watch.done = follow_over;
    return mortise_watch_add(q->m, &q->watch, q->tenant, run, err);
}

/* The watch that a request carries, if it does. */
static int get_watch(struct mortise_request *q, bool *carried,
                     struct mortise_err *err)
{
    const char *until = NULL;
    int rv = get_text(q->body, "until", false, &until, err);

    *carried = until != NULL;
    if (rv != MORTISE_OK || until == NULL)
        return rv;
    rv = until_of(until, &q->watch.until, err);
    if (rv == MORTISE_OK && q->watch.until == MORTISE_UNTIL_NOW)
        return mortise_fail(err, MORTISE_EINVAL,
                            "'until' is idle or end where something begins");
    return rv;
}

/* ---- start -------------------------------------------------------------- */

static void started(struct mortise_watch *w, int status, const char *reason,
                    const struct mortise_err *err)
{
    struct mortise_request *q = MORTISE_OF(w, struct mortise_request, watch);

    (void)status;
    (void)reason;
    if (err->code == MORTISE_OK)
        reply(q,
              json_pack("{s:s, s:s}", "run", q->run_id, "tenant", q->tenant));
    else
        finish(q, NULL, err);
}

/* Findings go to the asker as an item, since they may be many. */
static int send_report(struct mortise_request *q, struct mortise_buf *report,
                       struct mortise_err *err)
{
    json_t *item;
    int said = 0;

    if (report->n == 0)
        return MORTISE_OK;
    item = json_pack("{s:s, s:o}", "type", "report", "text",
                     mortise_json_strn(report->p, report->n));
    if (item == NULL)
        return mortise_nomem(err);
    if (q->asker != NULL)
        said = q->asker->item(q->asker, item);
    json_decref(item);
    (void)said; /* a start that was asked for is not taken back */
    return MORTISE_OK;
}

static int compile(struct mortise_request *q, const json_t *graph,
                   struct mortise_graph **out, struct mortise_err *err)
{
    static const char *const known[] = {"path", "source", "cwd", NULL};
    struct mortise_source file;
    const char *cwd;
    struct mortise_buf report;
    struct mortise_err ignored;
    int rv = json_is_object(graph)
                 ? check_members(graph, known, err)
                 : mortise_fail(err, MORTISE_EINVAL,
                                "'graph' must be {path, source, cwd?}");

    if (rv == MORTISE_OK)
        rv = get_text(graph, "path", true, &file.path, err);
    if (rv == MORTISE_OK)
        rv = get_text(graph, "source", true, &file.text, err);
    if (rv == MORTISE_OK)
        rv = get_text(graph, "cwd", false, &cwd, err);
    if (rv != MORTISE_OK)
        return rv;
    mortise_buf_init(&report, q->m->mem);
    file.size = strlen(file.text);
    rv = mortise_graphs_compile(q->m, &file, cwd, out, &report, err);
    if (rv == MORTISE_OK || rv == MORTISE_ECHECK || rv == MORTISE_EDENIED)
        send_report(q, &report, &ignored);
    mortise_buf_finish(&report);
    return rv;
}

/* It is there: its watch begins, or the answer waits for its admission. */
static void watch_start(struct mortise_request *q)
{
    struct mortise_err err;
    int rv;

    q->run = q->run_id;
    if (q->watch.until != 0) {
        rv = watch(q, q->run, &err);
    } else {
        q->watch.until = MORTISE_UNTIL_SYNCED;
        q->watch.done = started;
        rv = mortise_watch_add(q->m, &q->watch, q->tenant, q->run, &err);
    }
    if (rv != MORTISE_OK)
        finish(q, NULL, &err);
}

static void start_goes_on(struct mortise_order *o,
                          const struct mortise_err *err)
{
    struct mortise_request *q = MORTISE_OF(o, struct mortise_request, recovery);

    if (comes_back(q, err->code, err))
        watch_start(q);
}

/* Was the stored run admitted with this input? */
static int had_input(const struct mortise_request *q, bool *had,
                     struct mortise_err *err)
{
    const struct mortise_graph *g = q->graph;
    json_t *show = mortise_run_show(q->stored.run);
    json_t *normal = g->input != NULL
                         ? mortise_schema_normal(g->input, q->start.input)
                         : json_incref(q->start.input);
    bool starved = show == NULL || normal == NULL;

    *had = json_equal(json_object_get(json_object_get(show, "state"), "input"),
                      normal);
    json_decref(show);
    json_decref(normal);
    return starved ? mortise_nomem(err) : MORTISE_OK;
}

/* Is the stored run what was asked for?  Of one that was asked for without an
 * order's id, nobody can say that it was not. */
static int check_same(const struct mortise_request *q, struct mortise_err *err)
{
    bool had = false;
    int rv = had_input(q, &had, err);

    if (rv == MORTISE_OK && !had)
        return mortise_fail(err, MORTISE_EEXISTS,
                            "a run '%s' exists already, with another input",
                            q->run);
    if (rv == MORTISE_OK && q->order.id != NULL &&
        !mortise_run_knows_order(q->stored.run, q->order.id))
        return mortise_fail(err, MORTISE_EEXISTS,
                            "a run '%s' exists already, and somebody else "
                            "started it",
                            q->run);
    return rv;
}

static void earlier_run_read(struct mortise_stored *s, int rv,
                             const struct mortise_err *err)
{
    struct mortise_request *q = MORTISE_OF(s, struct mortise_request, stored);
    struct mortise_err why = *err;

    if (rv == MORTISE_OK)
        rv = check_same(q, &why);
    mortise_stored_finish(s);
    if (!comes_back(q, rv, &why))
        return;
    snprintf(q->run_id, sizeof q->run_id, "%s", q->run);
    q->reading = true;
    q->recovery.done = start_goes_on;
    mortise_recover_one(q->m, q->tenant, q->run, &q->recovery);
}

static void earlier_head_read(struct mortise_stored *s, int rv,
                              const struct mortise_err *err)
{
    struct mortise_request *q = MORTISE_OF(s, struct mortise_request, stored);
    struct mortise_err why;

    (void)err;
    if (rv == MORTISE_OK &&
        memcmp(s->head.graph, q->graph->digest, MORTISE_DIGEST) == 0) {
        mortise_stored_rest(s, earlier_run_read);
        return;
    }
    mortise_stored_finish(s);
    mortise_fail(&why, MORTISE_EEXISTS,
                 rv == MORTISE_OK
                     ? "a run '%s' exists already, of another graph"
                     : "a run '%s' exists already",
                 q->run);
    comes_back(q, why.code, &why);
}

/* An asker whose engine went away does not know whether its run was admitted,
 * and asks again.  One of that id, of the same graph and with the same input,
 * is taken for its own, if it was asked for under the same order; what it goes
 * on from is on disk. */
static void run_begun(struct mortise_new_run *n, struct mortise_live *live,
                      const struct mortise_err *err)
{
    struct mortise_request *q = MORTISE_OF(n, struct mortise_request, start);

    if (err->code == MORTISE_EEXISTS && q->again && q->run != NULL) {
        mortise_stored_head(q->m, &q->stored, q->tenant, q->run,
                            earlier_head_read);
        return;
    }
    if (!comes_back(q, err->code, err))
        return;
    snprintf(q->run_id, sizeof q->run_id, "%s", live->id);
    watch_start(q);
}

static int serve_start(struct mortise_request *q, struct mortise_err *err)
{
    static const char *const known[] = {"do",    "graph", "tenant",
                                        "run",   "input", "until",
                                        "again", "order", NULL};
    json_t *input = json_object_get(q->body, "input");
    uint32_t again = 0;
    bool watches = false;
    int rv = check_members(q->body, known, err);

    if (rv == MORTISE_OK)
        rv = get_text(q->body, "run", false, &q->run, err);
    if (rv == MORTISE_OK)
        rv = get_flag(q->body, "again", 1, &again, err);
    if (rv == MORTISE_OK)
        rv = get_order(q, err);
    if (rv == MORTISE_OK)
        rv = get_watch(q, &watches, err);
    if (rv == MORTISE_OK)
        rv = compile(q, json_object_get(q->body, "graph"), &q->graph, err);
    if (rv != MORTISE_OK)
        return rv;
    q->again = again != 0;
    q->start.input = input != NULL ? json_incref(input) : json_object();
    if (q->start.input == NULL)
        return mortise_nomem(err);
    q->start.actor = q->actor;
    q->start.order = q->order.id;
    q->start.done = run_begun;
    q->reading = true;
    mortise_live_start(q->m, &q->start, q->graph, q->tenant, q->run);
    return MORTISE_OK;
}

/* ---- command ------------------------------------------------------------ */

/* What a command with a watch has as an item, once it is on disk. */
static int say_recorded(struct mortise_request *q, json_t *with)
{
    if (with != NULL &&
        json_object_set_new(with, "type", json_string("recorded")) != 0) {
        json_decref(with);
        with = NULL;
    }
    return say_begun(q, with);
}

static void ordered(struct mortise_order *o, const struct mortise_err *err)
{
    struct mortise_request *q = MORTISE_OF(o, struct mortise_request, order);
    const struct mortise_live *live;
    bool watches = q->watch.until != 0;

    q->ordered = false;
    if (err->code != MORTISE_OK) {
        mortise_watch_end(q->m, &q->watch);
        finish(q, NULL, err);
        return;
    }
    if (q->giving) /* watch_what_follows() says it */
        return;
    live = mortise_live_find(q->m, q->tenant, q->run);
    /* The run answered: it is in memory. */
    if (!watches || q->asker == NULL)
        reply(q, standing(q, mortise_run_status(live->run),
                          mortise_run_reason(live->run)));
    else if (say_recorded(q, standing(q, mortise_run_status(live->run),
                                      mortise_run_reason(live->run))) != 0)
        mortise_requests_detach(q->asker);
}

static int read_command(const json_t *one, struct mortise_run_command *c,
                        struct mortise_err *err)
{
    static const char *const known[] = {"kind",
#define MEMBER_TEXT(name)        #name,
#define MEMBER_JSON(name, field) #name,
#define MEMBER_FLAG(name, bit)   #name,
#include "run/command/command_members.def"
#undef MEMBER_TEXT
#undef MEMBER_JSON
#undef MEMBER_FLAG
                                        NULL};
    const char *kind = NULL;
    int rv = json_is_object(one) ? check_members(one, known, err)
                                 : mortise_fail(err, MORTISE_EINVAL,
                                                "a command must be an object");

    if (rv == MORTISE_OK)
        rv = get_text(one, "kind", true, &kind, err);
#define MEMBER_TEXT(name)                                                      \
    if (rv == MORTISE_OK)                                                      \
        rv = get_text(one, #name, false, &c->name, err);
#define MEMBER_JSON(name, field) c->name = json_object_get(one, #name);
#define MEMBER_FLAG(name, bit)                                                 \
    if (rv == MORTISE_OK)                                                      \
        rv = get_flag(one, #name, bit, &c->flags, err);
#include "run/command/command_members.def"
#undef MEMBER_TEXT
#undef MEMBER_JSON
#undef MEMBER_FLAG
    if (rv != MORTISE_OK)
        return rv;
    c->kind = mortise_command_named(kind)->kind;
    return c->kind != 0 ? MORTISE_OK
                        : mortise_fail(err, MORTISE_EINVAL,
                                       "there is no command '%.100s'", kind);
}

static int read_commands(struct mortise_request *q, struct mortise_err *err)
{
    const json_t *list = json_object_get(q->body, "commands");
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
        rv = read_command(json_array_get(list, i), &q->commands[i], err);
        if (rv != MORTISE_OK)
            mortise_doing(err, rv, "command %zu", i + 1);
    }
    return rv;
}

/* The command was given; it may be answered already.  Whatever it leads to
 * happens from the next turn on. */
static void watch_what_follows(struct mortise_order *o)
{
    struct mortise_request *q = MORTISE_OF(o, struct mortise_request, order);
    const struct mortise_asker *a = q->asker;
    const struct mortise_live *live;
    struct mortise_err err;
    int rv;

    if (a == NULL) { /* it went away while the run was loaded */
        q->giving = false;
        if (!q->ordered)
            request_free(q);
        return;
    }
    rv = watch(q, q->run, &err);
    if (rv != MORTISE_OK) {
        q->giving = false;
        finish(q, NULL, &err);
        return;
    }
    if (a->request == NULL) /* the asker wants no more */
        return;
    q->giving = false;
    if (q->ordered)
        return;
    live = mortise_live_find(q->m, q->tenant, q->run);
    if (say_recorded(q, standing(q, mortise_run_status(live->run),
                                 mortise_run_reason(live->run))) != 0)
        mortise_requests_detach(q->asker);
}

static int serve_command(struct mortise_request *q, struct mortise_err *err)
{
    static const char *const known[] = {
        "do",    "tenant", "run",   "commands", "no_continue", "accept_plugins",
        "after", "until",  "order", NULL};
    bool watches = false;
    int rv = check_members(q->body, known, err);

    if (rv == MORTISE_OK)
        rv = get_text(q->body, "run", true, &q->run, err);
    if (rv == MORTISE_OK)
        rv = get_order(q, err);
    if (rv == MORTISE_OK)
        rv = get_watch(q, &watches, err);
    if (rv == MORTISE_OK)
        rv = get_number(q->body, "after", &q->watch.after, err);
    if (rv == MORTISE_OK && !watches && q->watch.after != 0)
        rv = mortise_fail(err, MORTISE_EINVAL, "'after' goes with 'until'");
    if (rv == MORTISE_OK)
        rv = get_flag(q->body, "no_continue", MORTISE_NO_CONTINUE,
                      &q->order.flags, err);
    if (rv == MORTISE_OK)
        rv = get_flag(q->body, "accept_plugins", MORTISE_ACCEPT_PLUGINS,
                      &q->order.flags, err);
    if (rv == MORTISE_OK)
        rv = read_commands(q, err);
    if (rv != MORTISE_OK)
        return rv;
    q->order.list = q->commands;
    q->order.n = q->n_commands;
    q->order.actor = q->actor;
    q->order.done = ordered;
    q->ordered = true;
    q->order.given = watches ? watch_what_follows : NULL;
    q->giving = watches;
    mortise_live_command(q->m, q->tenant, q->run, &q->order);
    return MORTISE_OK;
}

/* ---- follow ------------------------------------------------------------- */

static void follow_recovered(struct mortise_order *o,
                             const struct mortise_err *err)
{
    struct mortise_request *q = MORTISE_OF(o, struct mortise_request, recovery);
    struct mortise_err why;

    if (comes_back(q, err->code, err) && watch(q, q->run, &why) != MORTISE_OK)
        finish(q, NULL, &why);
}

static int serve_follow(struct mortise_request *q, struct mortise_err *err)
{
    static const char *const known[] = {"do",    "tenant", "run", "after",
                                        "until", "go_on",  NULL};
    const char *until = NULL;
    uint32_t go_on = 0;
    int rv = check_members(q->body, known, err);

    if (rv == MORTISE_OK)
        rv = get_text(q->body, "run", true, &q->run, err);
    if (rv == MORTISE_OK)
        rv = get_number(q->body, "after", &q->watch.after, err);
    if (rv == MORTISE_OK)
        rv = get_text(q->body, "until", false, &until, err);
    if (rv == MORTISE_OK)
        rv = until_of(until, &q->watch.until, err);
    if (rv == MORTISE_OK)
        rv = get_flag(q->body, "go_on", 1, &go_on, err);
    if (rv != MORTISE_OK || go_on == 0)
        return rv != MORTISE_OK ? rv : watch(q, q->run, err);
    q->reading = true;
    q->recovery.done = follow_recovered;
    mortise_recover_one(q->m, q->tenant, q->run, &q->recovery);
    return MORTISE_OK;
}

/* ---- queries ------------------------------------------------------------ */

static void query_over(struct mortise_query *query, json_t *value, int rv,
                       const struct mortise_err *err)
{
    struct mortise_request *q =
        MORTISE_OF(query, struct mortise_request, query);

    if (comes_back(q, rv, err))
        reply(q, value);
    else
        json_decref(value);
}

static int serve_list(struct mortise_request *q, mortise_query_list_fn *list,
                      struct mortise_err *err)
{
    static const char *const known[] = {"do", "tenant", "after", "limit", NULL};
    const char *after = NULL;
    uint64_t limit = 0;
    int rv = check_members(q->body, known, err);

    if (rv == MORTISE_OK)
        rv = get_text(q->body, "after", false, &after, err);
    if (rv == MORTISE_OK)
        rv = get_number(q->body, "limit", &limit, err);
    if (rv != MORTISE_OK)
        return rv;
    q->reading = true;
    q->query.done = query_over;
    list(q->m, &q->query, q->tenant, after, (size_t)limit);
    return MORTISE_OK;
}

static int serve_look(struct mortise_request *q, mortise_query_look_fn *look,
                      struct mortise_err *err)
{
    static const char *const known[] = {"do", "tenant", "run", NULL};
    int rv = check_members(q->body, known, err);

    if (rv == MORTISE_OK)
        rv = get_text(q->body, "run", true, &q->run, err);
    if (rv != MORTISE_OK)
        return rv;
    q->reading = true;
    q->query.done = query_over;
    look(q->m, &q->query, q->tenant, q->run);
    return MORTISE_OK;
}

static int serve_runs(struct mortise_request *q, struct mortise_err *err)
{
    return serve_list(q, mortise_query_runs, err);
}

static int serve_inbox(struct mortise_request *q, struct mortise_err *err)
{
    return serve_list(q, mortise_query_inbox, err);
}

static int serve_show(struct mortise_request *q, struct mortise_err *err)
{
    return serve_look(q, mortise_query_show, err);
}

static int serve_history(struct mortise_request *q, struct mortise_err *err)
{
    return serve_look(q, mortise_query_history, err);
}

static int serve_find(struct mortise_request *q, struct mortise_err *err)
{
    return serve_look(q, mortise_query_find, err);
}

static int serve_engine(struct mortise_request *q, struct mortise_err *err)
{
    static const char *const known[] = {"do", "tenant", NULL};
    int rv = check_members(q->body, known, err);

    if (rv == MORTISE_OK)
        reply(q, json_pack("{s:I, s:s, s:s}", "pid", (json_int_t)getpid(),
                           "version", MORTISE_VERSION, "store",
                           q->m->settings.store));
    return rv;
}

/* ---- hello -------------------------------------------------------------- */

/* A deployment other than ours is refused: what is started here runs under
 * ours. */
static int check_deployment(struct mortise_request *q, const json_t *theirs,
                            struct mortise_err *err)
{
    static const char *const known[] = {"path", "digest", NULL};
    const struct mortise_deployment *d = q->m->settings.deployment;
    uint8_t ours[MORTISE_DIGEST];
    char hex[MORTISE_DIGEST_HEX];
    const char *path, *digest;
    int rv = json_is_object(theirs)
                 ? check_members(theirs, known, err)
                 : mortise_fail(err, MORTISE_EINVAL,
                                "'deployment' must be {path, digest}");

    if (rv == MORTISE_OK)
        rv = get_text(theirs, "path", true, &path, err);
    if (rv == MORTISE_OK)
        rv = get_text(theirs, "digest", true, &digest, err);
    if (rv != MORTISE_OK)
        return rv;
    if (mortise_deployment_digest(ours, d, q->m->mem) != MORTISE_OK)
        return mortise_nomem(err);
    mortise_hex(hex, ours, sizeof ours);
    if (strcmp(hex, digest) == 0)
        return MORTISE_OK;
    return mortise_fail(
        err, MORTISE_ECONFIG,
        "process %ld works on the store %s under %s%s, and you named %s: they "
        "do not say the same, and what you start there would run under the "
        "former; name that one, or wait until the process has ended (kill %ld "
        "stops it, and its runs can be resumed)",
        (long)getpid(), q->m->settings.store,
        d->path != NULL ? "the deployment " : "no deployment file",
        d->path != NULL ? d->path : "", path, (long)getpid());
}

static int serve_hello(struct mortise_request *q, struct mortise_err *err)
{
    static const char *const known[] = {"do",      "tenant",     "protocol",
                                        "version", "deployment", NULL};
    const json_t *theirs = json_object_get(q->body, "deployment");
    const char *version = NULL;
    uint64_t protocol = 0;
    int rv = mortise_engine_ready(q->m, err);

    if (rv != MORTISE_EBUSY) /* one that closes would be asked in vain */
        rv = get_number(q->body, "protocol", &protocol, err);
    if (rv == MORTISE_OK)
        rv = get_text(q->body, "version", false, &version, err);
    if (rv == MORTISE_OK && protocol != MORTISE_PROTOCOL)
        rv = mortise_fail(err, MORTISE_EUNAVAILABLE,
                          "process %ld works on the store and speaks protocol "
                          "%d of the control socket (Mortise %s), and you "
                          "speak %llu%s%s: wait until it has ended, stop it "
                          "(kill %ld), or use its version",
                          (long)getpid(), MORTISE_PROTOCOL, MORTISE_VERSION,
                          (unsigned long long)protocol,
                          version != NULL ? ", Mortise " : "",
                          version != NULL ? version : "", (long)getpid());
    if (rv == MORTISE_OK)
        rv = check_members(q->body, known, err);
    if (rv == MORTISE_OK && theirs != NULL)
        rv = check_deployment(q, theirs, err);
    if (rv != MORTISE_OK)
        return rv;
    q->asker->greeted = true;
    reply(q, json_pack("{s:I, s:s, s:i, s:s, s:b, s:b}", "pid",
                       (json_int_t)getpid(), "version", MORTISE_VERSION,
                       "protocol", MORTISE_PROTOCOL, "store",
                       q->m->settings.store, "stays",
                       q->m->holding == MORTISE_HOLDING_STAYS, "orders", 1));
    return MORTISE_OK;
}

/* ---- serving ------------------------------------------------------------ */

typedef int serve_fn(struct mortise_request *q, struct mortise_err *err);

static const struct {
    const char *op;
    serve_fn *serve;
    bool reads; /* works while the store recovers */
} ops[] = {
    {"start", serve_start, false},     {"command", serve_command, false},
    {"follow", serve_follow, false},   {"runs", serve_runs, false},
    {"inbox", serve_inbox, false},     {"show", serve_show, false},
    {"history", serve_history, false}, {"find", serve_find, false},
    {"engine", serve_engine, true},    {"hello", serve_hello, true},
};

/* MORTISE_OK: it is answered, or will be.  Else the error is the answer. */
static int serve(struct mortise_request *q, struct mortise_err *err)
{
    const char *op = NULL;
    int rv = json_is_object(q->body)
                 ? get_text(q->body, "do", true, &op, err)
                 : mortise_fail(err, MORTISE_EINVAL,
                                "a request must be a JSON object");

    if (rv == MORTISE_OK)
        rv = get_text(q->body, "tenant", false, &q->tenant, err);
    if (rv != MORTISE_OK)
        return rv;
    if (q->tenant == NULL)
        q->tenant = "default";
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        if (strcmp(ops[i].op, op) != 0)
            continue;
        if (!ops[i].reads)
            rv = mortise_engine_ready(q->m, err);
        return rv == MORTISE_OK ? ops[i].serve(q, err) : rv;
    }
    return mortise_fail(err, MORTISE_EUNAVAILABLE,
                        "the request '%.100s' is not available in this build",
                        op);
}

void mortise_requests_serve(struct mortise *m, json_t *request,
                            const char *actor, struct mortise_asker *a)
{
    struct mortise_request *q = mortise_zalloc(m->mem, sizeof *q);
    struct mortise_err err;

    assert(a->request == NULL); /* one at a time */
    if (q != NULL) {
        q->m = m;
        q->asker = a;
        q->body = json_incref(request);
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
    if (serve(q, &err) != MORTISE_OK)
        finish(q, NULL, &err);
}
