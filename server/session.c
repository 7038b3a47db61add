/* session.c -- the command line's connection to an engine.
 *
 * A session connects to the engine that holds the store, or opens the store in
 * this process if none does.  In between, neither may work: an engine that has
 * just taken the store does not listen yet, a closing engine listens no more,
 * and a brief command (MORTISE_SESSION_BRIEF) never listens.  So both ways are
 * retried for a while before the call fails.
 *
 *   (1) If many commands start at once, one of them holds the store and serves
 *       the others.  When it exits, another one takes the store over and the
 *       rest connect to it.  No command fails because of that.
 *   (2) A request is repeated only if it cannot take effect twice: requests
 *       with effects carry an order id (core/run/state/order.c).
 *   (3) A store of another user is not opened and its engine gets no requests,
 *       unless our deployment shares that store with a group (peer.c).
 */
#include "server/session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/owner.h"
#include "server/client.h"
#include "server/control.h"
#include "server/peer.h"
#include "server/requests.h"
#include "lang/config/deploy_digest.h"
#include "lang/config/settings.h"
#include "core/store/store.h"

enum {
    FIRST_MS = 10000, /* to find the first engine, or none */
    AGAIN_MS = 90000, /* to find the next; the last may await effects */
    SHORT_MS = 5,     /* between two tries; doubled each time */
    LONG_MS = 160
};

struct mortise_session {
    const struct mortise_mem *mem;
    struct mortise_options options; /* its pointers are borrowed */
    unsigned flags;
    struct mortise_settings settings; /* read, until an engine takes them */
    char *store;                      /* its path */
    gid_t gid;                        /* storage of `group` */
    const gid_t *group;               /* shares the store; NULL: none */
    bool must;                        /* the engine must have our deployment */
    char digest[MORTISE_DIGEST_HEX];
    struct mortise *engine;       /* NULL: over the socket */
    struct mortise_client client; /* closed if the engine is in this process */
    bool lost;
    int until;      /* calls end when this descriptor is readable; -1: none */
    uv_poll_t poll; /* watches `until` in the loop of our engine */
    bool polls;
};

/* ---- opening ------------------------------------------------------------ */

static int start_until_poll(struct mortise_session *l, struct mortise_err *err);

/* Read the deployment and find the store's path, before opening anything. */
static int load_session_settings(struct mortise_session *l,
                                 struct mortise_err *err)
{
    uint8_t digest[MORTISE_DIGEST];
    struct mortise_diags diags;
    int rv;

    mortise_diags_init(&diags, l->mem);
    rv = mortise_settings_open(
        &l->settings, l->mem, l->options.deployment, l->options.store,
        mortise_settings_get_flags(l->options.flags), &diags, err);
    mortise_diags_finish(&diags);
    if (rv != MORTISE_OK)
        return rv;
    if (l->settings.access != NULL) {
        l->gid = *l->settings.access;
        l->group = &l->gid;
    }
    l->store = mortise_strdup(l->mem, l->settings.store);
    rv = mortise_deployment_digest(digest, l->settings.deployment, l->mem);
    mortise_hex_encode(l->digest, digest, sizeof digest);
    l->must = (l->flags & MORTISE_SESSION_SAME_DEPLOYMENT) != 0 &&
              l->options.deployment != NULL;
    return l->store != NULL && rv == MORTISE_OK ? MORTISE_OK
                                                : mortise_nomem(err);
}

/* A store that does not exist yet has no other owner. */
static int check_store_owner(const struct mortise_session *l,
                             struct mortise_err *err)
{
    int dir = open(l->store, O_PATH | O_DIRECTORY | O_CLOEXEC), rv;
    struct stat st;
    char owner[64];

    if (dir < 0)
        return MORTISE_OK;
    rv = mortise_peer_check_store(dir, l->store, l->group, err);
    if (rv == MORTISE_OK && l->group != NULL && fstat(dir, &st) == 0 &&
        st.st_uid != geteuid()) {
        mortise_owner_get_name(st.st_uid, owner);
        rv = mortise_fail(
            err, MORTISE_EUNAVAILABLE,
            "no engine uses the store %s, which belongs to %s: only %s can "
            "start one (mortise engine); then members of its group can use it",
            l->store, owner, owner);
    }
    close(dir);
    return rv;
}

static int connect_session(struct mortise_session *l, struct mortise_err *err)
{
    const struct mortise_client_requirements must = {
        .path = l->must ? l->options.deployment : NULL,
        .digest = l->digest,
        .group = l->group};
    int rv;

    rv = mortise_client_open(&l->client, l->mem, l->store, &must, err);
    if (rv == MORTISE_OK)
        l->client.until = l->until;
    else if (l->client.loss != MORTISE_CLIENT_STUCK)
        mortise_client_close(&l->client);
    return rv;
}

static int open_store_here(struct mortise_session *l, struct mortise_err *err)
{
    enum mortise_engine_mode how =
        (l->flags & MORTISE_SESSION_BRIEF) != 0        ? MORTISE_MODE_MOMENTARY
        : (l->flags & MORTISE_SESSION_PERSISTENT) != 0 ? MORTISE_MODE_SERVER
                                                       : MORTISE_MODE_TEMPORARY;
    int rv = check_store_owner(l, err);

    if (rv == MORTISE_OK)
        rv = mortise_control_serve(&l->engine, &l->options, how, &l->settings,
                                   err);
    return rv == MORTISE_OK ? start_until_poll(l, err) : rv;
}

/* Connect to the engine that holds the store, or open the store.
 * MORTISE_EBUSY: neither works yet. */
static int try_connect_or_open(struct mortise_session *l,
                               struct mortise_err *err)
{
    int rv = connect_session(l, err);

    if (rv == MORTISE_OK &&
        (l->options.flags & MORTISE_OPEN_ALLOW_DOWNGRADE) != 0) {
        mortise_client_close(&l->client);
        return mortise_fail(
            err, MORTISE_ESTATE,
            "an engine uses the store %s and cannot replace the plugins that "
            "it has loaded; stop the engine first",
            l->store);
    }
    return rv == MORTISE_ENOTFOUND ? open_store_here(l, err) : rv;
}

/* Returns false if `until` is readable. */
static bool pause_before_retry(const struct mortise_session *l, int ms)
{
    struct pollfd p = {.fd = l->until, .events = POLLIN};

    return poll(&p, 1, ms) <= 0;
}

/* Retry until `patience_ms` is over.  The pid varies the interval, so that
 * waiting processes do not retry in step. */
static int connect_or_open(struct mortise_session *l, int patience_ms,
                           struct mortise_err *err)
{
    uint64_t end = mortise_mono_ns_after((uint64_t)patience_ms);
    int between = SHORT_MS, odd = (int)(getpid() % SHORT_MS), rv;

    for (;;) {
        rv = try_connect_or_open(l, err);
        if (rv != MORTISE_EBUSY || l->client.loss == MORTISE_CLIENT_STUCK ||
            mortise_mono_ns() >= end)
            break;
        if (!pause_before_retry(l, between + odd))
            break;
        between = 2 * between < LONG_MS ? 2 * between : LONG_MS;
    }
    if (l->client.loss == MORTISE_CLIENT_STUCK)
        mortise_client_close(&l->client);
    else if (rv == MORTISE_EBUSY)
        mortise_err_prefix(err, rv, "no process answers at its socket");
    return rv;
}

static struct mortise_session *
new_session(const struct mortise_options *options)
{
    const struct mortise_mem *mem =
        options->mem != NULL ? options->mem : &mortise_heap;
    struct mortise_session *l = mortise_zalloc(mem, sizeof *l);

    if (l == NULL)
        return NULL;
    l->mem = mem;
    l->options = *options;
    l->client.fd = l->client.until = l->until = -1;
    return l;
}

/* Is there no store data and no control socket? */
static bool is_store_absent(const char *path)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool none = dir < 0 && errno == ENOENT;

    if (dir >= 0) {
        none = !mortise_store_is_present(path) &&
               faccessat(dir, "control.sock", F_OK, AT_SYMLINK_NOFOLLOW) != 0 &&
               errno == ENOENT;
        close(dir);
    }
    return none;
}

/* A command that only reads fails if there is no store. */
static int require_store(const struct mortise_session *l, bool *none,
                         struct mortise_err *err)
{
    *none = is_store_absent(l->store);
    return *none ? mortise_fail(err, MORTISE_ENOTFOUND,
                                "no store at %s: no run was started there yet",
                                l->store)
                 : MORTISE_OK;
}

int mortise_session_open_copy(struct mortise_session **out,
                              const struct mortise_options *options,
                              struct mortise_err *err)
{
    struct mortise_session *l = new_session(options);
    int rv;

    *out = NULL;
    if (l == NULL)
        return mortise_nomem(err);
    rv = load_session_settings(l, err);
    if (rv == MORTISE_OK)
        rv = check_store_owner(l, err);
    if (rv == MORTISE_OK)
        rv = mortise_engine_open(&l->engine, options, MORTISE_MODE_COPY,
                                 &l->settings, err);
    if (rv == MORTISE_OK)
        *out = l;
    else
        mortise_session_close(l);
    return rv;
}

int mortise_session_open(struct mortise_session **out,
                         const struct mortise_options *options, unsigned flags,
                         bool *none, struct mortise_err *err)
{
    struct mortise_session *l = new_session(options);
    struct mortise_err here;
    int rv;

    err = err != NULL ? err : &here;
    *out = NULL;
    *none = false;
    if (l == NULL)
        return mortise_nomem(err);
    l->flags = flags;
    rv = load_session_settings(l, err);
    if (rv == MORTISE_OK && (flags & MORTISE_SESSION_MUST_EXIST) != 0)
        rv = require_store(l, none, err);
    if (rv == MORTISE_ECHECK) /* fails with the findings as message */
        rv = mortise_control_serve(&l->engine, options, MORTISE_MODE_MOMENTARY,
                                   NULL, err);
    else if (rv == MORTISE_OK)
        rv = connect_or_open(l, FIRST_MS, err);
    if (rv != MORTISE_OK) {
        mortise_session_close(l);
        return rv;
    }
    mortise_settings_close(&l->settings); /* reopening reads them again */
    *out = l;
    return MORTISE_OK;
}

/* ---- until -------------------------------------------------------------- */

/* One event suffices: mortise_session_is_interrupted() polls the descriptor. */
static void on_until_readable(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    uv_poll_stop(poll);
}

/* Stop watching `until`.  If true, the loop must turn once before the poll
 * handle is reused or freed. */
static bool stop_until_poll(struct mortise_session *l)
{
    bool polled = l->polls;

    if (polled)
        uv_close((uv_handle_t *)&l->poll, NULL);
    l->polls = false;
    return polled;
}

bool mortise_session_is_interrupted(const struct mortise_session *l)
{
    struct pollfd p = {.fd = l->until, .events = POLLIN};

    return l->until >= 0 && poll(&p, 1, 0) > 0;
}

/* Watch `until` in the loop of our engine, or let the client watch it. */
static int start_until_poll(struct mortise_session *l, struct mortise_err *err)
{
    int rv;

    l->client.until = l->until;
    if (l->engine == NULL || l->until < 0)
        return MORTISE_OK;
    rv = uv_poll_init(&l->engine->loop, &l->poll, l->until);
    if (rv != 0)
        return mortise_syserr(err, -rv, "wait for a signal");
    l->polls = true;
    uv_poll_start(&l->poll, UV_READABLE, on_until_readable);
    return MORTISE_OK;
}

int mortise_session_set_until(struct mortise_session *l, int fd,
                              struct mortise_err *err)
{
    if (stop_until_poll(l))
        mortise_loop_turn(l->engine, 0);
    l->until = fd;
    return start_until_poll(l, err);
}

void mortise_session_close(struct mortise_session *l)
{
    if (l == NULL)
        return;
    (void)stop_until_poll(l);
    mortise_settings_close(&l->settings);
    mortise_close(l->engine); /* an extra turn before it could start a run */
    mortise_client_close(&l->client);
    mortise_release_str(l->mem, l->store);
    mortise_release(l->mem, l, sizeof *l);
}

bool mortise_session_has_losses(struct mortise_session *l,
                                struct mortise_err *why)
{
    return l->engine != NULL && l->engine->looks &&
           mortise_store_is_incomplete(l->engine->store, why);
}

struct mortise *mortise_session_engine(struct mortise_session *l)
{
    return l->engine;
}

bool mortise_session_is_persistent(const struct mortise_session *l)
{
    return l->engine == NULL && l->client.stays;
}

void mortise_session_await_end(struct mortise_session *l)
{
    if (l->engine == NULL)
        mortise_client_await_end(&l->client);
}

/* ---- requests ----------------------------------------------------------- */

static const char *get_request_member(const json_t *request, const char *name)
{
    return json_string_value(json_object_get(request, name));
}

static bool is_request_for(const json_t *request, const char *what)
{
    const char *op = get_request_member(request, "do");

    return op != NULL && strcmp(op, what) == 0;
}

/* Does it start or command a run, or wait for one?  Otherwise it only reads. */
static bool is_acting_request(const json_t *request)
{
    const char *until = get_request_member(request, "until");

    return is_request_for(request, "start") ||
           is_request_for(request, "command") ||
           (is_request_for(request, "follow") && until != NULL &&
            strcmp(until, "now") != 0);
}

/* ---- in this process ---------------------------------------------------- */

struct local {
    struct mortise_asker asker;
    mortise_item_fn *fn;
    void *ud;
    bool over;
    json_t *reply;
    struct mortise_err err;
};

static int local_item(struct mortise_asker *a, json_t *item)
{
    struct local *x = MORTISE_CONTAINER_OF(a, struct local, asker);

    x->over |= x->fn != NULL && x->fn(x->ud, item) != 0;
    return x->over;
}

static void local_reply(struct mortise_asker *a, json_t *reply)
{
    struct local *x = MORTISE_CONTAINER_OF(a, struct local, asker);

    x->over = true;
    x->reply = json_incref(reply);
}

static void local_error(struct mortise_asker *a, const struct mortise_err *err)
{
    struct local *x = MORTISE_CONTAINER_OF(a, struct local, asker);

    x->over = true;
    x->err = *err;
}

static int call_local_engine(struct mortise_session *l, json_t *request,
                             mortise_item_fn *fn, void *ud, json_t **reply,
                             struct mortise_err *err)
{
    struct local x = {.asker = {.item = local_item,
                                .reply = local_reply,
                                .error = local_error},
                      .fn = fn,
                      .ud = ud,
                      .err = {.code = MORTISE_OK}};

    mortise_loop_enter(l->engine);
    mortise_requests_serve(l->engine, request, l->engine->actor, &x.asker);
    if (is_acting_request(request))
        mortise_deadlines_check(l->engine); /* after serving the request */
    while (!x.over && !mortise_session_is_interrupted(l))
        mortise_loop_turn(l->engine, -1);
    mortise_requests_detach(&x.asker);
    mortise_loop_leave(l->engine);
    if (reply != NULL)
        *reply = x.reply;
    else
        json_decref(x.reply);
    if (x.err.code != MORTISE_OK)
        *err = x.err;
    return x.err.code;
}

/* ---- over the socket ---------------------------------------------------- */

/* The items of a watch, which may come from several engines in turn. */
struct stream {
    mortise_item_fn *fn;
    void *ud;
    uint64_t seq; /* of the last durable event that was delivered; 0: none */
    bool begun;   /* the start or command is on disk; its events follow */
    char run[MORTISE_RUN_MAX]; /* the run that the events belong to */
};

static int record_stream_item(void *ud, json_t *item)
{
    struct stream *s = ud;
    const char *type = json_string_value(json_object_get(item, "type"));
    const char *run = json_string_value(json_object_get(item, "run"));
    const json_t *seq = json_object_get(item, "seq");

    if (seq != NULL && (uint64_t)json_integer_value(seq) > s->seq)
        s->seq = (uint64_t)json_integer_value(seq);
    if (type != NULL && run != NULL && strlen(run) < sizeof s->run &&
        (strcmp(type, "started") == 0 || strcmp(type, "recorded") == 0)) {
        s->begun = true;
        strcpy(s->run, run);
    }
    return s->fn != NULL ? s->fn(s->ud, item) : 0;
}

/* The start or command is recorded and its watch began: follow the remaining
 * events. */
static json_t *make_remaining_follow(const json_t *request,
                                     const struct stream *s)
{
    return json_pack("{s:s, s:s*, s:s, s:s*, s:O*, s:b}", "do", "follow",
                     "tenant", get_request_member(request, "tenant"), "run",
                     s->run, "until", get_request_member(request, "until"),
                     "after", json_object_get(request, "after"), "go_on", 1);
}

/* Make the request for the next engine, given how much of it the former one
 * read.  Returns a new reference; NULL if it must not be repeated, or memory
 * ran out. */
static json_t *make_repeated_request(const json_t *request,
                                     const struct stream *s,
                                     enum mortise_client_loss loss)
{
    bool heard = loss != MORTISE_CLIENT_UNREAD;
    json_t *out;
    int rv = 0;

    if (is_request_for(request, "command") && heard && !s->begun &&
        get_request_member(request, "order") == NULL)
        return NULL;
    out = s->begun && !is_request_for(request, "follow")
              ? make_remaining_follow(request, s)
              : json_copy(mortise_json_unconst(request));
    if (out != NULL && is_request_for(out, "follow") && s->seq > 0)
        rv =
            json_object_set_new(out, "after", json_integer((json_int_t)s->seq));
    if (out != NULL && is_request_for(out, "start") && heard)
        rv = json_object_set_new(out, "again", json_true());
    if (rv == 0)
        return out;
    json_decref(out);
    return NULL;
}

/* Send the request to the current engine; *loss tells if that is gone. */
static int call_current_engine(struct mortise_session *l, json_t *request,
                               struct stream *s, json_t **reply,
                               enum mortise_client_loss *loss,
                               struct mortise_err *err)
{
    int rv;

    *loss = MORTISE_CLIENT_CONNECTED;
    if (l->engine != NULL)
        return call_local_engine(l, request, record_stream_item, s, reply, err);
    rv = mortise_client_call(&l->client, request, record_stream_item, s, reply,
                             err);
    *loss = l->client.loss;
    return rv;
}

static int reconnect_session(struct mortise_session *l, struct mortise_err *err)
{
    mortise_client_close(&l->client);
    l->lost = false;
    return connect_or_open(l, AGAIN_MS, err);
}

/* The engine went away, and the outcome of the command is unknown. */
static int fail_outcome_unknown(const json_t *request, struct mortise_err *err)
{
    const char *run = get_request_member(request, "run");

    return mortise_err_prefix(
        err, err->code,
        "it is unknown whether the command for run '%s' was recorded; check "
        "with `mortise events %s` before you repeat it",
        run != NULL ? run : "", run != NULL ? run : "");
}

/* The engine went away during this request: find the next engine.  Replaces
 * *request.  MORTISE_OK: send it again. */
static int repeat_elsewhere(struct mortise_session *l, json_t **request,
                            const struct stream *s,
                            enum mortise_client_loss loss,
                            struct mortise_err *err)
{
    json_t *next = make_repeated_request(*request, s, loss);
    bool open = is_request_for(*request, "command") && !s->begun &&
                loss != MORTISE_CLIENT_UNREAD;
    int rv;

    l->lost = true;
    if (next == NULL)
        return fail_outcome_unknown(*request, err);
    json_decref(*request);
    *request = next;
    rv = reconnect_session(l, err);
    return rv != MORTISE_OK && open ? fail_outcome_unknown(*request, err) : rv;
}

int mortise_session_call(struct mortise_session *l, json_t *request,
                         mortise_item_fn *fn, void *ud, json_t **reply,
                         struct mortise_err *err)
{
    struct stream s = {.fn = fn, .ud = ud};
    enum mortise_client_loss loss;
    struct mortise_err here;
    int rv;

    err = err != NULL ? err : &here;
    if (reply != NULL)
        *reply = NULL;
    rv = l->lost ? reconnect_session(l, err) : MORTISE_OK;
    if (rv != MORTISE_OK)
        return rv;
    json_incref(request);
    for (;;) {
        rv = call_current_engine(l, request, &s, reply, &loss, err);
        if (loss == MORTISE_CLIENT_STUCK && !s.begun &&
            (is_request_for(request, "start") ||
             is_request_for(request, "command")))
            rv = fail_outcome_unknown(request, err);
        if (rv == MORTISE_OK || loss == MORTISE_CLIENT_CONNECTED ||
            loss == MORTISE_CLIENT_STUCK || mortise_session_is_interrupted(l))
            break;
        rv = repeat_elsewhere(l, &request, &s, loss, err);
        if (rv != MORTISE_OK)
            break;
    }
    json_decref(request);
    return rv == MORTISE_EBUSY && loss != MORTISE_CLIENT_CONNECTED &&
                   mortise_session_is_interrupted(l)
               ? MORTISE_OK /* end early, whether or not there is an engine */
               : rv;
}
