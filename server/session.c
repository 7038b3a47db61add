/* session.c -- the command line's way to an engine.
 *
 * Whoever holds the store is asked; when nobody does, it is held here.  Between
 * the two there are gaps: an engine that just took the store does not listen
 * yet, one that is leaving listens no more, and a command that only looks
 * (MORTISE_SESSION_BRIEF) never does.  So both are tried for a while before the
 * store counts as held by nobody who answers.
 *
 * The promises:
 *
 *   (1) Of many commands at once, one holds the store and the others are served
 *       by it.  When it leaves, one of them takes the store over and the rest
 *       find it; none of them fails because of that.
 *   (2) A request is repeated only when that cannot do anything twice: what
 *       begins something has an id of its own (core/run/state/order.c).
 *   (3) Somebody else's store is not opened, and nothing is said there, except
 *       to the engine of one that our deployment shares with a group (peer.c).
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
#include "core/store/store.h"

enum {
    FIRST_MS = 10000, /* to find an engine that answers, or none */
    AGAIN_MS = 90000, /* to find another one: the first may await its effects */
    SHORT_MS = 5,     /* between two tries; twice as long each time */
    LONG_MS = 160
};

struct mortise_session {
    const struct mortise_mem *mem;
    struct mortise_options options; /* what they point to is lent */
    unsigned flags;
    struct mortise_settings settings; /* as found, till an engine takes them */
    char *store;                      /* where it is */
    gid_t gid;                        /* of `group` */
    const gid_t *group;               /* that shares the store; NULL: nobody */
    bool must;                        /* the engine's deployment must be ours */
    char digest[MORTISE_DIGEST_HEX];
    struct mortise *engine;       /* NULL: over the socket */
    struct mortise_client client; /* closed: in this process */
    bool lost;
    int until;      /* calls end when it is readable; -1: none */
    uv_poll_t poll; /* of it, in our engine's loop */
    bool polls;
};

/* ---- opening ------------------------------------------------------------ */

static int set_until(struct mortise_session *l, struct mortise_err *err);

/* What is known before anything is opened: where the store is, and what our
 * deployment says. */
static int look_around(struct mortise_session *l, struct mortise_err *err)
{
    uint8_t digest[MORTISE_DIGEST];
    struct mortise_diags diags;
    int rv;

    mortise_diags_init(&diags, l->mem);
    rv = mortise_settings_open(
        &l->settings, l->mem, l->options.deployment, l->options.store,
        mortise_settings_how(l->options.flags), &diags, err);
    mortise_diags_finish(&diags);
    if (rv != MORTISE_OK)
        return rv;
    if (mortise_settings_shares(&l->settings)) {
        l->gid = *l->settings.deployment->access;
        l->group = &l->gid;
    }
    l->store = mortise_strdup(l->mem, l->settings.store);
    rv = mortise_deployment_digest(digest, l->settings.deployment, l->mem);
    mortise_hex(l->digest, digest, sizeof digest);
    l->must =
        (l->flags & MORTISE_SESSION_SAME) != 0 && l->options.deployment != NULL;
    return l->store != NULL && rv == MORTISE_OK ? MORTISE_OK
                                                : mortise_nomem(err);
}

/* A store that is not there yet is nobody else's. */
static int check_owner(const struct mortise_session *l, struct mortise_err *err)
{
    int dir = open(l->store, O_PATH | O_DIRECTORY | O_CLOEXEC), rv;
    struct stat st;
    char owner[64];

    if (dir < 0)
        return MORTISE_OK;
    rv = mortise_peer_check_store(dir, l->store, l->group, err);
    if (rv == MORTISE_OK && l->group != NULL && fstat(dir, &st) == 0 &&
        st.st_uid != geteuid()) {
        mortise_owner_name(st.st_uid, owner);
        rv = mortise_fail(
            err, MORTISE_EUNAVAILABLE,
            "no engine uses the store %s, which belongs to %s: only %s can "
            "start one (mortise engine); then members of its group can use it",
            l->store, owner, owner);
    }
    close(dir);
    return rv;
}

static int reach(struct mortise_session *l, struct mortise_err *err)
{
    const struct mortise_must must = {.path = l->must ? l->options.deployment
                                                      : NULL,
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

static int hold(struct mortise_session *l, struct mortise_err *err)
{
    enum mortise_holding how =
        (l->flags & MORTISE_SESSION_BRIEF) != 0   ? MORTISE_HOLDING_BRIEFLY
        : (l->flags & MORTISE_SESSION_STAYS) != 0 ? MORTISE_HOLDING_STAYS
                                                  : MORTISE_HOLDING_PASSES;
    int rv = check_owner(l, err);

    if (rv == MORTISE_OK)
        rv = mortise_control_serve(&l->engine, &l->options, how, &l->settings,
                                   err);
    return rv == MORTISE_OK ? set_until(l, err) : rv;
}

/* Reach who holds the store, or hold it; MORTISE_EBUSY: neither, as yet. */
static int try_once(struct mortise_session *l, struct mortise_err *err)
{
    int rv = reach(l, err);

    if (rv == MORTISE_OK &&
        (l->options.flags & MORTISE_OPEN_ALLOW_DOWNGRADE) != 0) {
        mortise_client_close(&l->client);
        return mortise_fail(
            err, MORTISE_ESTATE,
            "an engine uses the store %s and cannot replace the plugins that "
            "it has loaded; stop the engine first",
            l->store);
    }
    return rv == MORTISE_ENOTFOUND ? hold(l, err) : rv;
}

/* False: there is something at `until`. */
static bool pause_a_little(const struct mortise_session *l, int ms)
{
    struct pollfd p = {.fd = l->until, .events = POLLIN};

    return poll(&p, 1, ms) <= 0;
}

/* Try for so long.  Those who wait for one store do not all try at once. */
static int find(struct mortise_session *l, int patience_ms,
                struct mortise_err *err)
{
    uint64_t end = mortise_mono_in((uint64_t)patience_ms);
    int between = SHORT_MS, odd = (int)(getpid() % SHORT_MS), rv;

    for (;;) {
        rv = try_once(l, err);
        if (rv != MORTISE_EBUSY || l->client.loss == MORTISE_CLIENT_STUCK ||
            mortise_mono_ns() >= end)
            break;
        if (!pause_a_little(l, between + odd))
            break;
        between = 2 * between < LONG_MS ? 2 * between : LONG_MS;
    }
    if (l->client.loss == MORTISE_CLIENT_STUCK)
        mortise_client_close(&l->client);
    else if (rv == MORTISE_EBUSY)
        mortise_doing(err, rv, "no process answers at its socket");
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

/* Nothing of a store is there, and no engine listens for one. */
static bool is_no_store(const char *path)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool none = dir < 0 && errno == ENOENT;

    if (dir >= 0) {
        none = !mortise_store_is_there(path) &&
               faccessat(dir, "control.sock", F_OK, AT_SYMLINK_NOFOLLOW) != 0 &&
               errno == ENOENT;
        close(dir);
    }
    return none;
}

/* Who only reads finds one, or says so. */
static int find_store(const struct mortise_session *l, bool *none,
                      struct mortise_err *err)
{
    *none = is_no_store(l->store);
    return *none ? mortise_fail(err, MORTISE_ENOTFOUND,
                                "no store at %s: no run was started there yet",
                                l->store)
                 : MORTISE_OK;
}

int mortise_session_look(struct mortise_session **out,
                         const struct mortise_options *options,
                         struct mortise_err *err)
{
    struct mortise_session *l = new_session(options);
    int rv;

    *out = NULL;
    if (l == NULL)
        return mortise_nomem(err);
    rv = look_around(l, err);
    if (rv == MORTISE_OK)
        rv = check_owner(l, err);
    if (rv == MORTISE_OK)
        rv = mortise_engine_open(&l->engine, options, MORTISE_HOLDING_COPY,
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
    rv = look_around(l, err);
    if (rv == MORTISE_OK && (flags & MORTISE_SESSION_FINDS) != 0)
        rv = find_store(l, none, err);
    if (rv == MORTISE_ECHECK) /* it has the words for a file with errors */
        rv = mortise_control_serve(&l->engine, options, MORTISE_HOLDING_BRIEFLY,
                                   NULL, err);
    else if (rv == MORTISE_OK)
        rv = find(l, FIRST_MS, err);
    if (rv != MORTISE_OK) {
        mortise_session_close(l);
        return rv;
    }
    mortise_settings_close(&l->settings); /* the next one reads the file anew */
    *out = l;
    return MORTISE_OK;
}

/* ---- until -------------------------------------------------------------- */

/* Seen once is enough: mortise_session_is_over() looks for itself. */
static void on_until(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    uv_poll_stop(poll);
}

/* The loop must turn once more before the poll is used again, or gone. */
static bool poll_no_more(struct mortise_session *l)
{
    bool polled = l->polls;

    if (polled)
        uv_close((uv_handle_t *)&l->poll, NULL);
    l->polls = false;
    return polled;
}

bool mortise_session_is_over(const struct mortise_session *l)
{
    struct pollfd p = {.fd = l->until, .events = POLLIN};

    return l->until >= 0 && poll(&p, 1, 0) > 0;
}

/* Of the engine that is ours now, or of the connection. */
static int set_until(struct mortise_session *l, struct mortise_err *err)
{
    int rv;

    l->client.until = l->until;
    if (l->engine == NULL || l->until < 0)
        return MORTISE_OK;
    rv = uv_poll_init(&l->engine->loop, &l->poll, l->until);
    if (rv != 0)
        return mortise_syserr(err, -rv, "wait for a signal");
    l->polls = true;
    uv_poll_start(&l->poll, UV_READABLE, on_until);
    return MORTISE_OK;
}

int mortise_session_until(struct mortise_session *l, int fd,
                          struct mortise_err *err)
{
    if (poll_no_more(l))
        mortise_turn(l->engine, 0);
    l->until = fd;
    return set_until(l, err);
}

void mortise_session_close(struct mortise_session *l)
{
    if (l == NULL)
        return;
    (void)poll_no_more(l);
    mortise_settings_close(&l->settings);
    mortise_close(l->engine); /* turns; before, somebody's run would begin */
    mortise_client_close(&l->client);
    mortise_release_str(l->mem, l->store);
    mortise_release(l->mem, l, sizeof *l);
}

bool mortise_session_lacks(struct mortise_session *l, struct mortise_err *why)
{
    return l->engine != NULL && l->engine->looks &&
           mortise_store_lacks(l->engine->store, why);
}

struct mortise *mortise_session_engine(struct mortise_session *l)
{
    return l->engine;
}

bool mortise_session_stays(const struct mortise_session *l)
{
    return l->engine == NULL && l->client.stays;
}

void mortise_session_await_end(struct mortise_session *l)
{
    if (l->engine == NULL)
        mortise_client_await_end(&l->client);
}

/* ---- requests ----------------------------------------------------------- */

static const char *text_of(const json_t *request, const char *name)
{
    return json_string_value(json_object_get(request, name));
}

static bool does(const json_t *request, const char *what)
{
    const char *op = text_of(request, "do");

    return op != NULL && strcmp(op, what) == 0;
}

/* Does it begin something, or wait for it?  Else it looks at what is there. */
static bool acts(const json_t *request)
{
    const char *until = text_of(request, "until");

    return does(request, "start") || does(request, "command") ||
           (does(request, "follow") && until != NULL &&
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
    struct local *x = MORTISE_OF(a, struct local, asker);

    x->over |= x->fn != NULL && x->fn(x->ud, item) != 0;
    return x->over;
}

static void local_reply(struct mortise_asker *a, json_t *reply)
{
    struct local *x = MORTISE_OF(a, struct local, asker);

    x->over = true;
    x->reply = json_incref(reply);
}

static void local_error(struct mortise_asker *a, const struct mortise_err *err)
{
    struct local *x = MORTISE_OF(a, struct local, asker);

    x->over = true;
    x->err = *err;
}

static int call_here(struct mortise_session *l, json_t *request,
                     mortise_item_fn *fn, void *ud, json_t **reply,
                     struct mortise_err *err)
{
    struct local x = {.asker = {.item = local_item,
                                .reply = local_reply,
                                .error = local_error},
                      .fn = fn,
                      .ud = ud,
                      .err = {.code = MORTISE_OK}};

    mortise_enter(l->engine);
    mortise_requests_serve(l->engine, request, l->engine->actor, &x.asker);
    if (acts(request))
        mortise_deadlines_look(l->engine); /* what is due comes second */
    while (!x.over && !mortise_session_is_over(l))
        mortise_turn(l->engine, -1);
    mortise_requests_detach(&x.asker);
    mortise_leave(l->engine);
    if (reply != NULL)
        *reply = x.reply;
    else
        json_decref(x.reply);
    if (x.err.code != MORTISE_OK)
        *err = x.err;
    return x.err.code;
}

/* ---- over the socket ---------------------------------------------------- */

/* The items of a watch, which may come from one engine after the other. */
struct stream {
    mortise_item_fn *fn;
    void *ud;
    uint64_t seq; /* of the newest durable event that was given; 0: none */
    bool begun;   /* what was asked for is on disk: its events follow */
    char run[MORTISE_RUN_MAX]; /* whose events are given */
};

static int on_item(void *ud, json_t *item)
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

/* What was asked for was done, and its watch began: the rest of the watch. */
static json_t *rest_of(const json_t *request, const struct stream *s)
{
    return json_pack("{s:s, s:s*, s:s, s:s*, s:O*, s:b}", "do", "follow",
                     "tenant", text_of(request, "tenant"), "run", s->run,
                     "until", text_of(request, "until"), "after",
                     json_object_get(request, "after"), "go_on", 1);
}

/* The same request for another engine, when it is known how much of it the
 * first one had; a new reference, NULL: it may not be repeated, or memory ran
 * out. */
static json_t *again(const json_t *request, const struct stream *s,
                     enum mortise_client_loss loss)
{
    bool heard = loss != MORTISE_CLIENT_UNHEARD;
    json_t *out;
    int rv = 0;

    if (does(request, "command") && heard && !s->begun &&
        text_of(request, "order") == NULL)
        return NULL;
    out = s->begun && !does(request, "follow")
              ? rest_of(request, s)
              : json_copy(mortise_json_unconst(request));
    if (out != NULL && does(out, "follow") && s->seq > 0)
        rv =
            json_object_set_new(out, "after", json_integer((json_int_t)s->seq));
    if (out != NULL && does(out, "start") && heard)
        rv = json_object_set_new(out, "again", json_true());
    if (rv == 0)
        return out;
    json_decref(out);
    return NULL;
}

/* Ask who is there now; what went wrong is in `loss`. */
static int call_once(struct mortise_session *l, json_t *request,
                     struct stream *s, json_t **reply,
                     enum mortise_client_loss *loss, struct mortise_err *err)
{
    int rv;

    *loss = MORTISE_CLIENT_HERE;
    if (l->engine != NULL)
        return call_here(l, request, on_item, s, reply, err);
    rv = mortise_client_call(&l->client, request, on_item, s, reply, err);
    *loss = l->client.loss;
    return rv;
}

static int find_again(struct mortise_session *l, struct mortise_err *err)
{
    mortise_client_close(&l->client);
    l->lost = false;
    return find(l, AGAIN_MS, err);
}

/* The engine did not say, and nobody else does. */
static int nobody_knows(const json_t *request, struct mortise_err *err)
{
    const char *run = text_of(request, "run");

    return mortise_doing(
        err, err->code,
        "it is unknown whether the command for run '%s' was recorded; check "
        "with `mortise events %s` before you repeat it",
        run != NULL ? run : "", run != NULL ? run : "");
}

/* An engine went away with this request: repeat it elsewhere.  *request is
 * replaced.  MORTISE_OK: ask again. */
static int repeat(struct mortise_session *l, json_t **request,
                  const struct stream *s, enum mortise_client_loss loss,
                  struct mortise_err *err)
{
    json_t *next = again(*request, s, loss);
    bool open = does(*request, "command") && !s->begun &&
                loss != MORTISE_CLIENT_UNHEARD;
    int rv;

    l->lost = true;
    if (next == NULL)
        return nobody_knows(*request, err);
    json_decref(*request);
    *request = next;
    rv = find_again(l, err);
    return rv != MORTISE_OK && open ? nobody_knows(*request, err) : rv;
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
    rv = l->lost ? find_again(l, err) : MORTISE_OK;
    if (rv != MORTISE_OK)
        return rv;
    json_incref(request);
    for (;;) {
        rv = call_once(l, request, &s, reply, &loss, err);
        if (loss == MORTISE_CLIENT_STUCK && !s.begun &&
            (does(request, "start") || does(request, "command")))
            rv = nobody_knows(request, err);
        if (rv == MORTISE_OK || loss == MORTISE_CLIENT_HERE ||
            loss == MORTISE_CLIENT_STUCK || mortise_session_is_over(l))
            break;
        rv = repeat(l, &request, &s, loss, err);
        if (rv != MORTISE_OK)
            break;
    }
    json_decref(request);
    return rv == MORTISE_EBUSY && loss != MORTISE_CLIENT_HERE &&
                   mortise_session_is_over(l)
               ? MORTISE_OK /* it ends early, with or without an engine */
               : rv;
}
