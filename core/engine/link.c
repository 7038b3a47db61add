/* link.c -- the command line's way to an engine.
 *
 * First it tries to hold the store itself; when somebody else does, it asks
 * them.  Between the two there is a gap: an engine that just took the store
 * does not listen yet, and one that is leaving listens no more.  So both are
 * tried for a while before the store counts as held by nobody who answers.
 */
#include "engine/link.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "engine/control.h"
#include "engine/serve.h"

enum { TRIES = 100, BETWEEN_MS = 20, CHUNK = 64 << 10 };

struct mortise_link {
    const struct mortise_mem *mem;
    struct mortise *engine; /* NULL: over the socket */
    int fd;
    struct mortise_buf in; /* bytes of the engine's next lines */
    size_t scanned;        /* of in: without a line end */
    int until;             /* calls end when it is readable; -1: none */
    uv_poll_t poll;        /* of it, in our engine's loop */
    bool polls;
};

/* ---- opening ------------------------------------------------------------ */

static void pause_a_little(void)
{
    const struct timespec t = {0, BETWEEN_MS * 1000000L};

    nanosleep(&t, NULL);
}

/* Where the store is, without opening anything. */
static int connect_to(struct mortise_link *l,
                      const struct mortise_options *options,
                      struct mortise_err *err)
{
    struct mortise_diags diags;
    struct mortise_site site;
    int rv;

    mortise_diags_init(&diags, l->mem);
    rv = mortise_site_open(&site, l->mem, options->deployment, options->store,
                           &diags, err);
    mortise_diags_finish(&diags);
    if (rv != MORTISE_OK)
        return rv;
    rv = mortise_control_connect(site.store, &l->fd, err);
    mortise_site_close(&site);
    return rv;
}

/* Hold the store or reach who does; MORTISE_EBUSY: neither, as yet. */
static int try_once(struct mortise_link *l,
                    const struct mortise_options *options,
                    struct mortise_err *err)
{
    struct mortise_err why;
    int rv = mortise_open(&l->engine, options, err);

    if (rv != MORTISE_EBUSY)
        return rv;
    rv = connect_to(l, options, &why);
    if (rv == MORTISE_OK)
        return MORTISE_OK;
    if (rv == MORTISE_ENOTFOUND)
        return MORTISE_EBUSY;
    *err = why;
    return rv;
}

int mortise_link_open(struct mortise_link **out,
                      const struct mortise_options *options,
                      struct mortise_err *err)
{
    const struct mortise_mem *mem =
        options->mem != NULL ? options->mem : &mortise_heap;
    struct mortise_link *l = mortise_zalloc(mem, sizeof *l);
    struct mortise_err here;
    int rv;

    err = err != NULL ? err : &here;
    *out = NULL;
    if (l == NULL)
        return mortise_nomem(err);
    l->mem = mem;
    l->fd = l->until = -1;
    mortise_buf_init(&l->in, mem);
    rv = try_once(l, options, err);
    for (int i = 1; rv == MORTISE_EBUSY && i < TRIES; i++) {
        pause_a_little();
        rv = try_once(l, options, err);
    }
    if (rv != MORTISE_OK) {
        mortise_link_close(l);
        return rv == MORTISE_EBUSY
                   ? mortise_doing(err, rv, "nobody answers at its socket")
                   : rv;
    }
    *out = l;
    return MORTISE_OK;
}

/* ---- until -------------------------------------------------------------- */

/* Seen once is enough: mortise_link_is_over() looks for itself. */
static void on_until(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    uv_poll_stop(poll);
}

/* The loop must turn once more before the link goes: closing does that. */
static void poll_no_more(struct mortise_link *l)
{
    if (!l->polls)
        return;
    l->polls = false;
    uv_close((uv_handle_t *)&l->poll, NULL);
    mortise_turn(l->engine, 0);
}

bool mortise_link_is_over(const struct mortise_link *l)
{
    struct pollfd p = {.fd = l->until, .events = POLLIN};

    return l->until >= 0 && poll(&p, 1, 0) > 0;
}

int mortise_link_until(struct mortise_link *l, int fd, struct mortise_err *err)
{
    int rv = 0;

    poll_no_more(l);
    l->until = fd;
    if (l->engine == NULL || fd < 0)
        return MORTISE_OK;
    rv = uv_poll_init(&l->engine->loop, &l->poll, fd);
    if (rv != 0)
        return mortise_syserr(err, -rv, "wait for a signal");
    l->polls = true;
    uv_poll_start(&l->poll, UV_READABLE, on_until);
    return MORTISE_OK;
}

void mortise_link_close(struct mortise_link *l)
{
    if (l == NULL)
        return;
    poll_no_more(l);
    mortise_close(l->engine);
    if (l->fd >= 0)
        close(l->fd);
    mortise_buf_finish(&l->in);
    mortise_release(l->mem, l, sizeof *l);
}

struct mortise *mortise_link_engine(struct mortise_link *l)
{
    return l->engine;
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

static int call_here(struct mortise_link *l, json_t *request,
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
    mortise_serve(l->engine, request, l->engine->actor, &x.asker);
    while (!x.over && !mortise_link_is_over(l))
        mortise_turn(l->engine, -1);
    mortise_serve_detach(&x.asker);
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

static int send_line(struct mortise_link *l, json_t *request,
                     struct mortise_err *err)
{
    struct mortise_buf line;
    size_t sent = 0;
    int rv;

    mortise_buf_init(&line, l->mem);
    rv = mortise_json_write(&line, request);
    mortise_buf_puts(&line, "\n");
    if (rv != MORTISE_OK || line.failed) {
        mortise_buf_finish(&line);
        return mortise_nomem(err);
    }
    while (sent < line.n) {
        ssize_t n = send(l->fd, line.p + sent, line.n - sent, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        sent += (size_t)n;
    }
    rv = sent == line.n ? MORTISE_OK
                        : mortise_fail(err, MORTISE_EBUSY,
                                       "the engine that held the store went "
                                       "away; try again");
    mortise_buf_finish(&line);
    return rv;
}

/* One more piece from the engine, unless it is over. */
static int receive(struct mortise_link *l, bool *over, struct mortise_err *err)
{
    struct pollfd p[] = {{.fd = l->fd, .events = POLLIN},
                         {.fd = l->until, .events = POLLIN}};
    char chunk[CHUNK];
    ssize_t n;

    do
        n = poll(p, 2, -1);
    while (n < 0 && errno == EINTR);
    if (p[1].revents != 0) {
        *over = true;
        return MORTISE_OK;
    }
    do
        n = recv(l->fd, chunk, sizeof chunk, 0);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return mortise_fail(err, MORTISE_EBUSY,
                            "the engine that held the store went away; try "
                            "again");
    mortise_buf_put(&l->in, chunk, (size_t)n);
    if (l->in.failed)
        return mortise_nomem(err);
    return l->in.n <= MORTISE_LINE_MAX
               ? MORTISE_OK
               : mortise_fail(err, MORTISE_ELIMIT,
                              "the engine's answer is larger than %d MiB",
                              MORTISE_LINE_MAX >> 20);
}

/* The next line as JSON, taken off the buffer; NULL when it is over. */
static int next_line(struct mortise_link *l, json_t **out, bool *over,
                     struct mortise_err *err)
{
    const char *end = NULL;
    size_t n;
    int rv = MORTISE_OK;

    *out = NULL;
    for (;;) {
        if (l->in.n > l->scanned)
            end = memchr(l->in.p + l->scanned, '\n', l->in.n - l->scanned);
        if (end != NULL)
            break;
        l->scanned = l->in.n;
        rv = receive(l, over, err);
        if (rv != MORTISE_OK || *over)
            return rv;
    }
    n = (size_t)(end - l->in.p);
    rv = mortise_json_read(out, l->in.p, n, err);
    l->in.n -= n + 1;
    memmove(l->in.p, l->in.p + n + 1, l->in.n);
    l->scanned = 0;
    return rv;
}

static int read_error(const json_t *error, struct mortise_err *err)
{
    const char *code = json_string_value(json_object_get(error, "code"));
    const char *words = json_string_value(json_object_get(error, "message"));

    return mortise_fail(err, mortise_serve_code(code != NULL ? code : ""), "%s",
                        words != NULL ? words : "(no words)");
}

static int call_there(struct mortise_link *l, json_t *request,
                      mortise_item_fn *fn, void *ud, json_t **reply,
                      struct mortise_err *err)
{
    json_t *line, *v;
    bool over = false;
    int rv = send_line(l, request, err);

    while (rv == MORTISE_OK && !over) {
        rv = next_line(l, &line, &over, err);
        if (rv != MORTISE_OK || over)
            break;
        if ((v = json_object_get(line, "item")) != NULL) {
            /* A detached connection is of no more use: the rest of the items
             * would answer the next request. */
            over = fn != NULL && fn(ud, v) != 0;
            if (over)
                shutdown(l->fd, SHUT_RDWR);
        } else if ((v = json_object_get(line, "reply")) != NULL) {
            over = true;
            if (reply != NULL)
                *reply = json_incref(v);
        } else {
            rv = read_error(json_object_get(line, "error"), err);
        }
        json_decref(line);
    }
    return rv;
}

int mortise_link_call(struct mortise_link *l, json_t *request,
                      mortise_item_fn *fn, void *ud, json_t **reply,
                      struct mortise_err *err)
{
    struct mortise_err here;

    err = err != NULL ? err : &here;
    if (reply != NULL)
        *reply = NULL;
    return l->engine != NULL ? call_here(l, request, fn, ud, reply, err)
                             : call_there(l, request, fn, ud, reply, err);
}
