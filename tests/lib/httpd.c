#include "lib/httpd.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SCRIPTS = 256, STEPS = 32, REQUESTS = 16384, PEERS = 2048 };

enum step_kind { SAY, REPEAT, SPLIT, PREFIX, WAIT, HOLD, CLOSE, RESET, ASK };

struct step {
    enum step_kind kind;
    char *p;
    size_t n, by;
    char c;
    httpd_fn *fn;
};

struct script {
    char *path;
    struct step steps[STEPS];
    size_t n, used; /* used: how often it was played */
    int times;      /* left; -1: any number */
};

struct peer {
    struct httpd *d;
    int fd;
    pthread_t thread;
    bool done;
};

struct httpd {
    int fd, port, stop[2];
    atomic_uint holding, released; /* so many did in all */
    pthread_t thread;
    pthread_mutex_t lock;
    struct script scripts[SCRIPTS];
    size_t n_scripts;
    char *requests[REQUESTS];
    size_t n_requests;
    struct peer peers[PEERS];
    size_t n_peers, n_connections;
};

/* ---- scripts ------------------------------------------------------------ */

void httpd_on(struct httpd *d, const char *path)
{
    struct script *s = &d->scripts[d->n_scripts];

    ck_assert_uint_lt(d->n_scripts, SCRIPTS);
    pthread_mutex_lock(&d->lock);
    s->path = strdup(path);
    s->times = -1;
    d->n_scripts++;
    pthread_mutex_unlock(&d->lock);
}

static void add(struct httpd *d, struct step step, const void *p, size_t n)
{
    struct script *s = &d->scripts[d->n_scripts - 1];

    ck_assert_uint_lt(s->n, STEPS);
    pthread_mutex_lock(&d->lock);
    s->steps[s->n] = step;
    s->steps[s->n].n = n;
    if (p != NULL) {
        s->steps[s->n].p = malloc(n + 1);
        memcpy(s->steps[s->n].p, p, n);
    }
    s->n++;
    pthread_mutex_unlock(&d->lock);
}

void httpd_send(struct httpd *d, const void *p, size_t n)
{
    add(d, (struct step){.kind = SAY}, p, n);
}

void httpd_say(struct httpd *d, const char *text)
{
    httpd_send(d, text, strlen(text));
}

void httpd_split(struct httpd *d, const char *text)
{
    add(d, (struct step){.kind = SPLIT}, text, strlen(text));
}

void httpd_prefixes(struct httpd *d, const void *p, size_t n, size_t by)
{
    add(d, (struct step){.kind = PREFIX, .by = by}, p, n);
}

void httpd_repeat(struct httpd *d, char c, size_t n)
{
    add(d, (struct step){.kind = REPEAT, .c = c}, NULL, n);
}

void httpd_wait(struct httpd *d, int ms)
{
    add(d, (struct step){.kind = WAIT}, NULL, (size_t)ms);
}

void httpd_hold(struct httpd *d)
{
    add(d, (struct step){.kind = HOLD}, NULL, 0);
}

void httpd_release(struct httpd *d)
{
    atomic_fetch_add(&d->released, 1);
}

void httpd_close(struct httpd *d)
{
    add(d, (struct step){.kind = CLOSE}, NULL, 0);
}

void httpd_reset(struct httpd *d)
{
    add(d, (struct step){.kind = RESET}, NULL, 0);
}

void httpd_times(struct httpd *d, int n)
{
    d->scripts[d->n_scripts - 1].times = n;
}

void httpd_answer(struct httpd *d, const char *path, const char *status,
                  const char *headers, const char *body)
{
    char head[4096];

    snprintf(head, sizeof head, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n%s\r\n",
             status, strlen(body), headers);
    httpd_on(d, path);
    httpd_say(d, head);
    httpd_say(d, body);
}

void httpd_answer_by(struct httpd *d, const char *path, httpd_fn *fn)
{
    httpd_on(d, path);
    add(d, (struct step){.kind = ASK, .fn = fn}, NULL, 0);
}

/* The first of a path that is not used up, and how often it was played. */
static struct script *script_of(struct httpd *d, const char *path, size_t *used)
{
    struct script *found = NULL;

    pthread_mutex_lock(&d->lock);
    for (size_t i = 0; found == NULL && i < d->n_scripts; i++) {
        struct script *s = &d->scripts[i];

        if (s->times != 0 && strcmp(s->path, path) == 0)
            found = s;
    }
    if (found != NULL && found->times > 0)
        found->times--;
    *used = found != NULL ? found->used++ : 0;
    pthread_mutex_unlock(&d->lock);
    return found;
}

/* ---- serving ------------------------------------------------------------ */

/* Readable, or the server is to stop: false. */
static bool wait_for(struct httpd *d, int fd, int ms)
{
    struct pollfd p[2] = {{.fd = fd, .events = POLLIN},
                          {.fd = d->stop[0], .events = POLLIN}};

    poll(p, 2, ms);
    return p[1].revents == 0;
}

static bool send_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);

        if (sent <= 0)
            return false;
        p += sent;
        n -= (size_t)sent;
    }
    return true;
}

static bool repeat(int fd, char c, size_t n)
{
    char block[16384];

    memset(block, c, sizeof block);
    while (n > 0) {
        size_t some = n < sizeof block ? n : sizeof block;

        if (!send_all(fd, block, some))
            return false;
        n -= some;
    }
    return true;
}

static bool split(int fd, const char *p, size_t n)
{
    const struct timespec t = {0, 200000};

    for (size_t i = 0; i < n; i++) {
        if (!send_all(fd, p + i, 1))
            return false;
        nanosleep(&t, NULL);
    }
    return true;
}

/* Whoever came first is released first. */
static bool hold(struct httpd *d)
{
    unsigned place = atomic_fetch_add(&d->holding, 1);

    while (atomic_load(&d->released) <= place)
        if (!wait_for(d, -1, 2))
            return false;
    return true;
}

/* False: the connection is over. */
static bool ask(struct httpd *d, int fd, httpd_fn *fn, const char *request,
                size_t nth)
{
    char *answer;
    bool ok;

    pthread_mutex_lock(&d->lock);
    answer = fn(request, nth);
    pthread_mutex_unlock(&d->lock);
    ok = answer != NULL && send_all(fd, answer, strlen(answer));
    free(answer);
    return ok;
}

static bool play(struct httpd *d, int fd, const struct script *s, size_t used,
                 const char *request)
{
    const struct linger hard = {1, 0};
    bool ok = true;

    for (size_t i = 0; ok && i < s->n; i++) {
        const struct step *x = &s->steps[i];

        switch (x->kind) {
        case SAY:
            ok = send_all(fd, x->p, x->n);
            break;
        case REPEAT:
            ok = repeat(fd, x->c, x->n);
            break;
        case SPLIT:
            ok = split(fd, x->p, x->n);
            break;
        case PREFIX:
            ok = send_all(fd, x->p, used * x->by < x->n ? used * x->by : x->n);
            break;
        case WAIT:
            ok = wait_for(d, -1, (int)x->n);
            break;
        case HOLD:
            ok = hold(d);
            break;
        case ASK:
            ok = ask(d, fd, x->fn, request, used);
            break;
        case RESET:
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
            return false;
        case CLOSE:
            return false;
        }
    }
    return ok;
}

static const char *keep_request(struct httpd *d, const char *p, size_t n)
{
    char *kept = strndup(p, n);

    pthread_mutex_lock(&d->lock);
    ck_assert_uint_lt(d->n_requests, REQUESTS);
    d->requests[d->n_requests++] = kept;
    pthread_mutex_unlock(&d->lock);
    return kept;
}

static size_t body_size(const char *head)
{
    const char *at = strcasestr(head, "\r\ncontent-length:");

    return at != NULL ? (size_t)atol(at + 17) : 0;
}

/* One request and its answer.  `buf` holds *n bytes that came already. */
static bool serve_one(struct httpd *d, int fd, char **buf, size_t *n)
{
    char method[32], path[1024], *end;
    const char *kept;
    struct script *s;
    size_t whole, used;

    for (;;) {
        ssize_t got;

        end = *n > 0 ? strstr(*buf, "\r\n\r\n") : NULL;
        whole = end != NULL ? (size_t)(end + 4 - *buf) + body_size(*buf) : 0;
        if (end != NULL && *n >= whole)
            break;
        if (!wait_for(d, fd, -1))
            return false;
        *buf = realloc(*buf, *n + 65536 + 1);
        got = recv(fd, *buf + *n, 65536, 0);
        if (got <= 0)
            return false;
        *n += (size_t)got;
        (*buf)[*n] = '\0';
    }
    kept = keep_request(d, *buf, whole);
    if (sscanf(*buf, "%31s %1023s", method, path) != 2)
        return false;
    *n -= whole;
    memmove(*buf, *buf + whole, *n + 1);
    s = script_of(d, path, &used);
    if (s != NULL)
        return play(d, fd, s, used, kept);
    return send_all(fd, "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", 38);
}

static void *serve(void *ud)
{
    struct peer *p = ud;
    char *buf = NULL;
    size_t n = 0;

    while (serve_one(p->d, p->fd, &buf, &n))
        continue;
    close(p->fd);
    free(buf);
    pthread_mutex_lock(&p->d->lock);
    p->done = true;
    pthread_mutex_unlock(&p->d->lock);
    return NULL;
}

/* A place for one more: whose connection is over gives up its own. */
static struct peer *place(struct httpd *d)
{
    struct peer *p = NULL;

    pthread_mutex_lock(&d->lock);
    for (size_t i = 0; p == NULL && i < d->n_peers; i++)
        if (d->peers[i].done)
            p = &d->peers[i];
    pthread_mutex_unlock(&d->lock);
    if (p != NULL) {
        pthread_join(p->thread, NULL);
        return p;
    }
    ck_assert_uint_lt(d->n_peers, PEERS);
    return &d->peers[d->n_peers++];
}

static void *listening(void *ud)
{
    struct httpd *d = ud;
    int one = 1;

    while (wait_for(d, d->fd, -1)) {
        int fd = accept(d->fd, NULL, NULL);
        struct peer *p;

        if (fd < 0)
            continue;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        p = place(d);
        *p = (struct peer){.d = d, .fd = fd};
        pthread_mutex_lock(&d->lock);
        d->n_connections++; /* before an answer says that there is one */
        pthread_mutex_unlock(&d->lock);
        pthread_create(&p->thread, NULL, serve, p);
    }
    return NULL;
}

/* ---- start and stop ----------------------------------------------------- */

struct httpd *httpd_start(void)
{
    struct httpd *d = calloc(1, sizeof *d);
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;

    pthread_mutex_init(&d->lock, NULL);
    ck_assert_int_eq(pipe(d->stop), 0);
    d->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(d->fd, (struct sockaddr *)&a, sizeof a), 0);
    ck_assert_int_eq(listen(d->fd, 1024), 0);
    getsockname(d->fd, (struct sockaddr *)&a, &n);
    d->port = ntohs(a.sin_port);
    pthread_create(&d->thread, NULL, listening, d);
    return d;
}

void httpd_stop(struct httpd *d)
{
    if (d == NULL)
        return;
    close(d->stop[1]); /* everybody sees the end of that pipe */
    pthread_join(d->thread, NULL);
    for (size_t i = 0; i < d->n_peers; i++)
        pthread_join(d->peers[i].thread, NULL);
    for (size_t i = 0; i < d->n_scripts; i++) {
        for (size_t k = 0; k < d->scripts[i].n; k++)
            free(d->scripts[i].steps[k].p);
        free(d->scripts[i].path);
    }
    for (size_t i = 0; i < d->n_requests; i++)
        free(d->requests[i]);
    close(d->fd);
    close(d->stop[0]);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

int httpd_port(const struct httpd *d)
{
    return d->port;
}

const char *httpd_url(const struct httpd *d, const char *path)
{
    static char text[4][2048];
    static unsigned turn;
    char *out = text[turn++ % 4];

    snprintf(out, sizeof text[0], "http://127.0.0.1:%d%s", d->port, path);
    return out;
}

const char *httpd_request(struct httpd *d, size_t i)
{
    const char *text = "";

    pthread_mutex_lock(&d->lock);
    if (i < d->n_requests)
        text = d->requests[i];
    pthread_mutex_unlock(&d->lock);
    return text;
}

size_t httpd_requests(struct httpd *d)
{
    size_t n;

    pthread_mutex_lock(&d->lock);
    n = d->n_requests;
    pthread_mutex_unlock(&d->lock);
    return n;
}

void httpd_await(struct httpd *d, size_t n)
{
    for (int i = 0; i < 6000 && httpd_requests(d) < n; i++)
        usleep(10000);
    ck_assert_uint_ge(httpd_requests(d), n);
}

size_t httpd_connections(struct httpd *d)
{
    size_t n;

    pthread_mutex_lock(&d->lock);
    n = d->n_connections;
    pthread_mutex_unlock(&d->lock);
    return n;
}
