/* api.c -- the functions of mortise.h, except mortise_open().
 *
 * Each function is a blocking form of an operation of the engine: it submits
 * the request, turns the loop until the answer arrives, and returns it.
 * Meanwhile all other work continues, so events of other runs may be delivered
 * from inside.  Calls from within such a callback are rejected. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/infile.h"
#include "core/base/utf8.h"
#include "core/api/api.h"
#include "core/query/query.h"
#include "core/engine/runs/start.h"
#include "core/engine/common/engine.h"
#include "core/run/command/run_commands.h"

enum { ACTOR_MAX = 255 }; /* bytes */

void mortise_free(struct mortise *m, char *text)
{
    mortise_release_str(m->mem, text);
}

/* ---- the loop ------------------------------------------------------------ */

int mortise_poll(struct mortise *m, int timeout_ms, struct mortise_err *err)
{
    WITH_ERR(err);
    assert_on_loop(m);
    if (m->turning)
        return copy_out_error(
            mortise_fail(
                err, MORTISE_ESTATE,
                "mortise_poll() was called from a callback of this engine"),
            err, their_err);
    if (m->state != MORTISE_ENGINE_BROKEN)
        mortise_loop_turn(m, timeout_ms);
    if (m->trouble_unreported || m->state == MORTISE_ENGINE_BROKEN) {
        m->trouble_unreported = false;
        *err = m->trouble;
        return copy_out_error(m->trouble.code, err, their_err);
    }
    return copy_out_error(m->lives.n + m->loads.n > 0, err, their_err);
}

int mortise_fd(struct mortise *m)
{
    assert_on_loop(m);
    return uv_backend_fd(&m->loop);
}

int mortise_timeout(struct mortise *m)
{
    assert_on_loop(m);
    if (m->state == MORTISE_ENGINE_BROKEN)
        return m->trouble_unreported ? 0 : -1;
    return m->trouble_unreported ? 0 : mortise_loop_get_timeout(m);
}

/* ---- graphs -------------------------------------------------------------- */

static int read_graph_text(const char *path, struct mortise_buf *b,
                           struct mortise_err *err)
{
    int errnum = mortise_infile_read(path, b);

    if (errnum != 0)
        return mortise_syserr(err, errnum, "read %s", path);
    return mortise_buf_cstr(b) != NULL ? MORTISE_OK : mortise_nomem(err);
}

int mortise_load(struct mortise *m, const char *path,
                 struct mortise_graph **out, char **report,
                 struct mortise_err *err)
{
    struct mortise_buf text, findings;
    int rv;

    WITH_ERR(err);
    *out = NULL;
    if (report != NULL)
        *report = NULL;
    rv = begin_api_call(m, err);
    if (rv != MORTISE_OK)
        return copy_out_error(rv, err, their_err);
    mortise_loop_enter(m);
    mortise_buf_init(&text, m->mem);
    mortise_buf_init(&findings, m->mem);
    rv = read_graph_text(path, &text, err);
    if (rv == MORTISE_OK)
        rv = mortise_graphs_compile(
            m, &(struct mortise_source){path, text.p, text.n}, NULL, 0, out,
            &findings, NULL, err);
    if (report != NULL &&
        (rv == MORTISE_OK || rv == MORTISE_ECHECK || rv == MORTISE_EDENIED) &&
        findings.n > 0)
        *report = mortise_strndup(m->mem, findings.p, findings.n);
    mortise_buf_finish(&text);
    mortise_buf_finish(&findings);
    mortise_loop_leave(m);
    return copy_out_error(rv, err, their_err);
}

void mortise_graph_close(struct mortise_graph *g)
{
    mortise_graph_unref(g);
}

/* ---- waiting ------------------------------------------------------------- */

/* A watch on the stack of an API function that waits for it. */
struct wait {
    struct mortise_watch watch;
    bool over;
    int status;
    struct mortise_err err;
};

static void finish_wait(struct mortise_watch *w, int status, const char *reason,
                        const struct mortise_err *err)
{
    struct wait *x = MORTISE_CONTAINER_OF(w, struct wait, watch);

    (void)reason;
    x->over = true;
    x->status = status;
    x->err = *err;
}

static int wait_for_run(struct mortise *m, const char *tenant, const char *run,
                        enum mortise_until until, int *status,
                        struct mortise_err *err)
{
    struct wait x = {.watch = {.until = until, .done = finish_wait}};
    int rv = mortise_watch_add(m, &x.watch, tenant, run, err);

    if (rv != MORTISE_OK)
        return rv;
    while (!x.over)
        mortise_loop_turn(m, -1);
    if (status != NULL)
        *status = x.status;
    if (x.err.code != MORTISE_OK)
        *err = x.err;
    return x.err.code;
}

int mortise_wait(struct mortise *m, const char *tenant, const char *run,
                 int *status, struct mortise_err *err)
{
    int rv;

    WITH_ERR(err);
    rv = begin_api_call(m, err);
    if (rv != MORTISE_OK)
        return copy_out_error(rv, err, their_err);
    return copy_out_error(wait_for_run(m, tenant_or_default(tenant), run,
                                       MORTISE_UNTIL_IDLE, status, err),
                          err, their_err);
}

/* ---- subscriptions ------------------------------------------------------- */

struct subscription {
    struct mortise_watch watch;
    struct mortise *m;
    mortise_event_fn *fn;
    void *ud;
    /* Set while mortise_events() waits for stored events. */
    struct wait *first;
    bool over; /* ended from inside a callback; the next event removes it */
};

/* Nonzero: the subscriber wants no more events. */
static int call_subscriber(struct subscription *s, const char *text)
{
    bool turning = s->m->turning;
    int said;

    s->m->turning = true; /* the callback must not call the engine */
    mortise_thread_state_pause(&s->m->thread_state);
    said = s->fn(s->ud, text, strlen(text));
    mortise_thread_state_resume(&s->m->thread_state, s->m->c_locale);
    s->m->turning = turning;
    return said != 0 || s->over;
}

/* Send a final "missed" event to a subscriber that is cut off.  Needs no heap
 * memory. */
static void send_last_event(struct subscription *s, int code)
{
    char text[256];

    snprintf(text, sizeof text,
             "{\"ephemeral\":true,\"type\":\"missed\",\"since\":%llu,"
             "\"error\":\"%s\",\"last\":true}",
             (unsigned long long)s->watch.after, mortise_result_name(code));
    call_subscriber(s, text);
}

static int deliver_subscribed_event(struct mortise_watch *w, json_t *event)
{
    struct subscription *s =
        MORTISE_CONTAINER_OF(w, struct subscription, watch);
    const json_t *seq = json_object_get(event, "seq");
    char *text = s->over ? NULL : mortise_json_to_text(s->m->mem, event);
    int said;

    if (s->over)
        return 1;
    if (text == NULL) {
        w->after -= seq != NULL; /* this event was not delivered */
        send_last_event(s, MORTISE_ENOMEM);
        return 1;
    }
    said = call_subscriber(s, text);
    mortise_release_str(s->m->mem, text);
    return said;
}

static void finish_subscription(struct mortise_watch *w, int status,
                                const char *reason,
                                const struct mortise_err *err)
{
    struct subscription *s =
        MORTISE_CONTAINER_OF(w, struct subscription, watch);
    const struct mortise_err fine = {.code = MORTISE_OK};

    if (s->first != NULL)
        finish_wait(&s->first->watch, status, reason,
                    err != NULL ? err : &fine);
    else if (err != NULL && err->code != MORTISE_OK && !s->over)
        send_last_event(s, err->code);
    mortise_release(s->m->mem, s, sizeof *s);
}

static struct subscription *new_subscription(struct mortise *m,
                                             mortise_event_fn *fn, void *ud)
{
    struct subscription *s = mortise_zalloc(m->mem, sizeof *s);

    if (s == NULL)
        return NULL;
    *s = (struct subscription){.watch = {.until = MORTISE_UNTIL_CLOSED,
                                         .event = deliver_subscribed_event,
                                         .done = finish_subscription},
                               .m = m,
                               .fn = fn,
                               .ud = ud};
    return s;
}

/* ---- starting ------------------------------------------------------------ */

static int parse_run_input(const char *text, json_t **out,
                           struct mortise_err *err)
{
    int rv;

    if (text == NULL) {
        *out = json_object();
        return *out != NULL ? MORTISE_OK : mortise_nomem(err);
    }
    rv = mortise_json_parse(out, text, strlen(text), err);
    return rv != MORTISE_OK ? mortise_err_prefix(err, rv, "input") : rv;
}

/* Copy the caller's options, which may have an older or newer size. */
static int copy_start_options(struct mortise_start_options *to,
                              const struct mortise_start_options *from,
                              struct mortise_err *err)
{
    size_t least = offsetof(struct mortise_start_options, event);

    if (from == NULL || from->size < least || from->flags != 0)
        return mortise_fail(err, MORTISE_EINVAL,
                            "start.size or start.flags is invalid");
    *to = (struct mortise_start_options){.size = sizeof *to};
    memcpy(to, from, from->size < sizeof *to ? from->size : sizeof *to);
    return MORTISE_OK;
}

/* Subscribe before the loop turns, so that no event is missed. */
static int subscribe_to_start(struct mortise *m,
                              const struct mortise_live *live,
                              const struct mortise_start_options *s,
                              uint64_t *id, struct mortise_err *err)
{
    struct subscription *sub;
    int rv;

    *id = 0;
    if (s->event == NULL)
        return MORTISE_OK;
    sub = new_subscription(m, s->event, s->event_ud);
    if (sub == NULL)
        return mortise_nomem(err);
    rv = mortise_watch_add(m, &sub->watch, live->tenant, live->id, err);
    if (rv == MORTISE_OK)
        *id = sub->watch.id;
    else
        mortise_release(m->mem, sub, sizeof *sub);
    return rv;
}

static void end_subscription(struct mortise *m, uint64_t id)
{
    struct mortise_watch *w = mortise_watch_find(m, id);

    if (w == NULL || w->event != deliver_subscribed_event)
        return;
    if (m->turning) { /* the engine is iterating over its watches */
        MORTISE_CONTAINER_OF(w, struct subscription, watch)->over = true;
        return;
    }
    mortise_watch_end(m, w);
    mortise_release(m->mem, MORTISE_CONTAINER_OF(w, struct subscription, watch),
                    sizeof(struct subscription));
}

/* A start on the stack of an API function that waits for it. */
struct start_wait {
    struct mortise_new_run run;
    const struct mortise_start_options *options;
    char *run_id;
    uint64_t *event_id;
    struct wait admitted; /* until the run is on disk */
};

static void finish_start(struct mortise_new_run *n, struct mortise_live *live,
                         const struct mortise_err *err)
{
    struct start_wait *x = MORTISE_CONTAINER_OF(n, struct start_wait, run);
    struct wait *w = &x->admitted;
    int rv = err->code;

    w->err = *err;
    if (rv == MORTISE_OK) {
        strcpy(x->run_id, live->id); /* live.c limits it to 128 bytes */
        rv =
            subscribe_to_start(live->m, live, x->options, x->event_id, &w->err);
    }
    if (rv == MORTISE_OK)
        rv = mortise_watch_add(live->m, &w->watch, live->tenant, live->id,
                               &w->err);
    w->over |= rv != MORTISE_OK;
}

/* Check the caller's actor; NULL: use that of the process. */
static int check_api_actor(const struct mortise *m, const char **actor,
                           struct mortise_err *err)
{
    if (*actor == NULL) {
        *actor = m->actor;
        return MORTISE_OK;
    }
    return mortise_utf8_check_line("actor", *actor, ACTOR_MAX, err);
}

static int start_and_wait(struct mortise *m, struct mortise_graph *g,
                          const struct mortise_start_options *s, char *run_id,
                          uint64_t *event_id, struct mortise_err *err)
{
    struct start_wait x = {
        .options = s,
        .run_id = run_id,
        .event_id = event_id,
        .admitted.watch = {.until = MORTISE_UNTIL_SYNCED, .done = finish_wait}};
    int rv;

    x.run.actor = s->actor;
    rv = check_api_actor(m, &x.run.actor, err);
    if (rv == MORTISE_OK)
        rv = parse_run_input(s->input, &x.run.input, err);
    if (rv != MORTISE_OK)
        return rv;
    x.run.done = finish_start;
    mortise_live_start(m, &x.run, g, tenant_or_default(s->tenant), s->run);
    while (!x.admitted.over)
        mortise_loop_turn(m, -1);
    json_decref(x.run.input);
    if (x.admitted.err.code == MORTISE_OK)
        return MORTISE_OK;
    *err = x.admitted.err;
    end_subscription(m, *event_id);
    *event_id = 0;
    run_id[0] = '\0';
    return err->code;
}

int mortise_start(struct mortise *m, struct mortise_graph *g,
                  const struct mortise_start_options *options,
                  char run_id[MORTISE_RUN_MAX], struct mortise_err *err)
{
    struct mortise_start_options s;
    uint64_t event_id = 0;
    int rv;

    WITH_ERR(err);
    run_id[0] = '\0';
    rv = begin_api_call(m, err);
    if (rv == MORTISE_OK)
        rv = copy_start_options(&s, options, err);
    if (rv != MORTISE_OK)
        return copy_out_error(rv, err, their_err);
    mortise_loop_enter(m);
    rv = start_and_wait(m, g, &s, run_id, &event_id, err);
    mortise_loop_leave(m);
    if (s.event_id != NULL)
        *s.event_id = event_id;
    return copy_out_error(rv, err, their_err);
}

/* ---- commands ------------------------------------------------------------ */

struct command_wait {
    struct mortise_order order;
    bool over;
    struct mortise_err err;
};

static void finish_command(struct mortise_order *o,
                           const struct mortise_err *err)
{
    struct command_wait *x =
        MORTISE_CONTAINER_OF(o, struct command_wait, order);

    x->over = true;
    x->err = *err;
}

static void free_api_commands(struct mortise *m,
                              struct mortise_run_command *list, size_t n)
{
    for (size_t i = 0; list != NULL && i < n; i++)
        json_decref(list[i].value);
    mortise_release(m->mem, list, n * sizeof *list);
}

/* Read one of the caller's commands; its struct may be larger than ours. */
static int read_api_command(struct mortise_run_command *out,
                            const struct mortise_command *from, size_t stride,
                            size_t i, struct mortise_err *err)
{
    struct mortise_command c;

    memcpy(&c, (const char *)from + i * stride, sizeof c);
    if (c.size != stride)
        return mortise_fail(err, MORTISE_EINVAL,
                            "commands[%zu].size differs from the first's", i);
    if ((c.flags & ~mortise_command_row(c.kind)->flags) != 0)
        return mortise_fail(
            err, MORTISE_EINVAL,
            "commands[%zu].flags has bits that its kind does not support", i);
    return mortise_command_read(out, &c, err);
}

static int read_api_commands(struct mortise *m,
                             const struct mortise_command *from, size_t n,
                             struct mortise_run_command **out,
                             struct mortise_err *err)
{
    int rv = MORTISE_OK;

    if (n == 0 || from == NULL || from->size < sizeof *from)
        return mortise_fail(err, MORTISE_EINVAL,
                            "no commands, or command.size is invalid");
    if (n > SIZE_MAX / from->size)
        return mortise_fail(err, MORTISE_EINVAL, "too many commands");
    *out = mortise_zalloc(m->mem, n * sizeof **out);
    if (*out == NULL)
        return mortise_nomem(err);
    for (size_t i = 0; rv == MORTISE_OK && i < n; i++)
        rv = read_api_command(&(*out)[i], from, from->size, i, err);
    return rv;
}

int mortise_apply(struct mortise *m, const char *tenant, const char *run,
                  const struct mortise_command *commands, size_t n_commands,
                  uint32_t flags, const char *actor, struct mortise_err *err)
{
    struct mortise_run_command *list = NULL;
    struct command_wait x = {.over = false};
    int rv;

    WITH_ERR(err);
    rv = begin_api_call(m, err);
    if (rv == MORTISE_OK &&
        (flags & ~(MORTISE_NO_CONTINUE | MORTISE_ACCEPT_PLUGINS)) != 0)
        rv = mortise_fail(err, MORTISE_EINVAL,
                          "flags has bits that this version does not support");
    if (rv != MORTISE_OK)
        return copy_out_error(rv, err, their_err);
    mortise_loop_enter(m);
    rv = check_api_actor(m, &actor, err);
    if (rv == MORTISE_OK)
        rv = read_api_commands(m, commands, n_commands, &list, err);
    x.order = (struct mortise_order){.list = list,
                                     .n = n_commands,
                                     .flags = flags,
                                     .actor = actor,
                                     .done = finish_command};
    if (rv == MORTISE_OK)
        mortise_live_send_order(m, tenant_or_default(tenant), run, &x.order);
    mortise_loop_leave(m);
    while (rv == MORTISE_OK && !x.over)
        mortise_loop_turn(m, -1);
    free_api_commands(m, list, n_commands);
    if (rv == MORTISE_OK && x.err.code != MORTISE_OK) {
        *err = x.err;
        rv = err->code;
    }
    return copy_out_error(rv, err, their_err);
}

/* ---- reading ------------------------------------------------------------- */

/* A query on the stack of an API function that waits for it. */
struct query_wait {
    struct mortise_query query;
    bool over;
    json_t *value;
    int rv;
    struct mortise_err err;
};

static void finish_api_query(struct mortise_query *q, json_t *value, int rv,
                             const struct mortise_err *err)
{
    struct query_wait *x = MORTISE_CONTAINER_OF(q, struct query_wait, query);

    x->over = true;
    x->value = value;
    x->rv = rv;
    if (rv != MORTISE_OK)
        x->err = *err;
}

static int query_and_wait(struct mortise *m, mortise_query_fn *fn,
                          const char *tenant, const char *word, size_t limit,
                          char **json, struct mortise_err *err)
{
    struct query_wait x = {.query.done = finish_api_query};
    int rv;

    WITH_ERR(err);
    *json = NULL;
    rv = begin_api_call(m, err);
    if (rv != MORTISE_OK)
        return copy_out_error(rv, err, their_err);
    mortise_loop_enter(m);
    fn(m, &x.query, tenant_or_default(tenant), word, limit);
    mortise_loop_leave(m);
    while (!x.over)
        mortise_loop_turn(m, -1);
    if (x.rv == MORTISE_OK) {
        *json = mortise_json_to_text(m->mem, x.value);
        if (*json == NULL)
            x.rv = mortise_nomem(&x.err);
    }
    json_decref(x.value);
    return copy_out_error(x.rv, &x.err, their_err);
}

int mortise_runs(struct mortise *m, const char *tenant, const char *after,
                 size_t limit, char **json, struct mortise_err *err)
{
    return query_and_wait(m, mortise_query_runs, tenant, after, limit, json,
                          err);
}

int mortise_inbox(struct mortise *m, const char *tenant, const char *after,
                  size_t limit, char **json, struct mortise_err *err)
{
    return query_and_wait(m, mortise_query_inbox, tenant, after, limit, json,
                          err);
}

int mortise_show(struct mortise *m, const char *tenant, const char *run,
                 char **json, struct mortise_err *err)
{
    return query_and_wait(m, mortise_query_show, tenant, run, 0, json, err);
}

int mortise_history(struct mortise *m, const char *tenant, const char *run,
                    char **json, struct mortise_err *err)
{
    return query_and_wait(m, mortise_query_history, tenant, run, 0, json, err);
}

/* ---- reading events ------------------------------------------------------ */

int mortise_events(struct mortise *m, const char *tenant, const char *run,
                   uint64_t after, uint32_t flags, mortise_event_fn *fn,
                   void *ud, uint64_t *id, struct mortise_err *err)
{
    struct subscription *s;
    struct wait x = {.over = false};
    uint64_t made;
    int rv;

    WITH_ERR(err);
    if (id != NULL)
        *id = 0;
    rv = begin_api_call(m, err);
    if (rv == MORTISE_OK && (flags & ~MORTISE_EVENTS_FOLLOW) != 0)
        rv = mortise_fail(err, MORTISE_EINVAL,
                          "flags has bits that this version does not support");
    if (rv != MORTISE_OK)
        return copy_out_error(rv, err, their_err);
    s = new_subscription(m, fn, ud);
    if (s == NULL)
        return copy_out_error(mortise_nomem(err), err, their_err);
    if ((flags & MORTISE_EVENTS_FOLLOW) == 0)
        s->watch.until = MORTISE_UNTIL_NOW;
    s->watch.after = after;
    s->first = &x;
    mortise_loop_enter(m);
    rv = mortise_watch_add(m, &s->watch, tenant_or_default(tenant), run, err);
    mortise_loop_leave(m);
    if (rv != MORTISE_OK) {
        mortise_release(m->mem, s, sizeof *s);
        return copy_out_error(rv, err, their_err);
    }
    made = m->last_watch;
    while (!x.over && (s->watch.behind || s->watch.until == MORTISE_UNTIL_NOW))
        mortise_loop_turn(m, -1);
    if (x.over) {
        if (x.err.code != MORTISE_OK)
            *err = x.err;
        return copy_out_error(x.err.code, err, their_err);
    }
    s->first = NULL;
    if (id != NULL)
        *id = made;
    return MORTISE_OK;
}

void mortise_unsubscribe(struct mortise *m, uint64_t id)
{
    assert_on_loop(m);
    end_subscription(m, id);
}
