/* process.c -- programs, run to their end on the loop.
 *
 *   (1) What goes in is a file in memory, so nobody waits for a reader; what
 *       comes out is read as it comes, and no more than is allowed.
 *   (2) A process is known by a descriptor (pidfd): no signal of the program
 *       that we are part of is needed to hear of its end, and none is handled.
 *   (3) Its group is killed while its leader is a zombie still, so that the
 *       number is nobody else's.  Then what its pipes hold is all there is.
 *   (4) One that was cancelled is nobody's: it stays here until it is dead.
 *   (5) Each holds a socket of ours for as long as it may live, so that it ends
 *       with us, however we do; and by which it says how it ended.
 *   (6) What it says is masked as it comes.  Of what is cut, or was when it was
 *       killed, the end that may be the beginning of a secret is left out.
 *   (7) Who speaks in lines waits for an answer to each: so of one that is kept a
 *       line's end is told at once, and a secret is looked for within lines.
 *   (8) Nothing that it does not read keeps the loop: what its stdin does not
 *       take waits here, up to a bound.
 */
#include "core/engine/parts/process.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/table.h"

#define NS_PER_MS 1000000ULL

struct stream { /* a pipe that is read */
    uv_poll_t poll;
    struct mortise_masking masking;
    struct mortise_buf got; /* masked */
    size_t n, max;          /* bytes as they came in */
    int fd;                 /* -1: closed */
    bool cut;
    bool is_lines; /* of one that is kept, without a bound */
};

/* The stdin of one that is kept. */
struct input {
    uv_poll_t poll;
    struct mortise_buf waiting;         /* from `taken` on */
    size_t taken;                       /* of those bytes */
    uint64_t put, gone;                 /* bytes, ever */
    struct mortise_process_text *first; /* in the order in which they came */
    int fd;                             /* -1: closed, or it is not kept */
    bool is_watched;
};

enum { OUTPUT, ERRORS, N_STREAMS };

enum { WORDS_MAX = 512 }; /* of a launcher that refused */

struct mortise_process {
    struct mortise_processes *all;
    struct mortise_process *next, **at;
    struct stream streams[N_STREAMS];
    uv_poll_t end; /* of pidfd */
    int pidfd, words_fd, life_fd;
    pid_t pid;
    struct mortise_timer timer;
    struct mortise_mask *mask;
    struct input in;
    uint64_t grace_ms; /* it is to end; 0: it is not */
    bool was_told;     /* so, by a signal */
    unsigned handles;  /* that are open, or being closed */
    bool is_watched;   /* `end` is one of them */
    bool killed;
    enum mortise_process_outcome why; /* it was killed */
    void (*piece)(void *ud, bool is_error, const char *p, size_t n);
    void (*done)(void *ud, const struct mortise_process_end *end);
    void *ud; /* done NULL: cancelled (4) */
};

struct mortise_processes {
    const struct mortise_mem *mem;
    uv_loop_t *loop;
    struct mortise_timers *timers;
    struct mortise_process *first;
};

int mortise_processes_open(struct mortise_processes **out,
                           const struct mortise_mem *mem, uv_loop_t *loop,
                           struct mortise_timers *timers,
                           struct mortise_err *err)
{
    struct mortise_processes *all = mortise_zalloc(mem, sizeof *all);

    *out = all;
    if (all == NULL)
        return mortise_nomem(err);
    *all = (struct mortise_processes){mem, loop, timers, NULL};
    return MORTISE_OK;
}

/* ---- the end ------------------------------------------------------------ */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void release(struct mortise_process *p, const struct mortise_mem *mem)
{
    for (int i = 0; i < N_STREAMS; i++) {
        mortise_masking_finish(&p->streams[i].masking);
        mortise_buf_finish(&p->streams[i].got);
    }
    mortise_buf_finish(&p->in.waiting);
    mortise_mask_unref(p->mask);
    mortise_release(mem, p, sizeof *p);
}

static void on_closed(uv_handle_t *h)
{
    struct mortise_process *p = h->data;
    /* the streams remember the door that their bytes came through */
    const struct mortise_mem *mem = p->streams[OUTPUT].got.mem;

    if (--p->handles == 0)
        release(p, mem);
}

static void close_stream(struct stream *s)
{
    if (s->fd < 0)
        return;
    uv_close((uv_handle_t *)&s->poll, on_closed);
    close_fd(&s->fd);
}

static void tell_text(struct mortise_process_text *t, bool taken)
{
    mortise_process_text_forget(t);
    t->done(t, taken);
}

/* What waits is not taken any more. */
static void close_input(struct mortise_process *p)
{
    if (p->in.fd < 0)
        return;
    if (p->in.is_watched)
        uv_close((uv_handle_t *)&p->in.poll, on_closed);
    close_fd(&p->in.fd);
    while (p->in.first != NULL)
        tell_text(p->in.first, p->in.first->until <= p->in.gone);
}

/* It is dead and buried: nothing but its handles' closing is left. */
static void forget(struct mortise_process *p)
{
    close_input(p);
    mortise_timer_disarm(p->all->timers, &p->timer);
    *p->at = p->next;
    if (p->next != NULL)
        p->next->at = p->at;
    for (int i = 0; i < N_STREAMS; i++)
        close_stream(&p->streams[i]);
    if (p->is_watched)
        uv_close((uv_handle_t *)&p->end, on_closed);
    close_fd(&p->pidfd);
    close_fd(&p->words_fd);
    close_fd(&p->life_fd);
    if (p->handles == 0)
        release(p, p->all->mem);
}

static void kill_group(const struct mortise_process *p)
{
    kill(-p->pid, SIGKILL); /* which it has led since before it was ours */
}

static void end_for(struct mortise_process *p, enum mortise_process_outcome why)
{
    if (p->killed)
        return;
    p->killed = true;
    p->why = why;
    kill_group(p);
}

/* What the launcher said; n bytes, 0: it became the program. */
static size_t said(int fd, char words[WORDS_MAX])
{
    ssize_t n = read(fd, words, WORDS_MAX - 1);

    words[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

bool mortise_process_has_begun(const struct mortise_process *p)
{
    struct pollfd words = {.fd = p->words_fd, .events = POLLIN};

    /* closed, and nothing in it, by what became the program */
    return poll(&words, 1, 0) > 0 && (words.revents & POLLHUP) != 0 &&
           (words.revents & POLLIN) == 0;
}

/* ---- what it says -------------------------------------------------------- */

/* What read() says of it: 0, there is no more. */
static ssize_t read_some(struct stream *s)
{
    char room[16384];
    ssize_t n = read(s->fd, room, sizeof room);
    size_t left = s->max - s->n, taken = n > 0 ? (size_t)n : 0;

    if (taken > left) {
        s->cut = true;
        taken = left;
    }
    mortise_masking_put(&s->masking, room, taken, &s->got);
    if (s->is_lines && taken > 0 && room[taken - 1] == '\n') /* (7) */
        mortise_masking_end(&s->masking, &s->got);
    s->n += s->is_lines ? 0 : taken;
    return n;
}

/* What came of one that is kept, to whoever speaks with it. */
static void tell_piece(struct mortise_process *p, struct stream *s)
{
    if (p->piece == NULL || s->got.n == 0)
        return;
    if (p->done != NULL)
        p->piece(p->ud, s == &p->streams[ERRORS], s->got.p, s->got.n);
    mortise_buf_clear(&s->got);
}

static void on_readable(uv_poll_t *h, int status, int events)
{
    struct mortise_process *p = h->data;
    struct stream *s = h == &p->streams[OUTPUT].poll ? &p->streams[OUTPUT]
                                                     : &p->streams[ERRORS];
    ssize_t n = read_some(s);

    (void)status;
    (void)events;
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        close_stream(s);
    else if (s->cut && s == &p->streams[OUTPUT])
        end_for(p, MORTISE_PROCESS_TOO_LARGE);
    tell_piece(p, s);
}

static void drain(struct stream *s)
{
    ssize_t n = s->fd >= 0 ? 1 : 0;

    while (n > 0 || (n < 0 && errno == EINTR))
        n = read_some(s);
}

/* ---- how it ended -------------------------------------------------------- */

/* What the supervisor said of it. */
static void hear(const struct mortise_process *p,
                 struct mortise_process_end *end, char words[WORDS_MAX])
{
    char said[32];
    ssize_t n = recv(p->life_fd, said, sizeof said - 1, MSG_DONTWAIT);

    said[n > 0 ? n : 0] = '\0';
    if (sscanf(said, "exit %d", &end->code) == 1) {
        end->outcome = MORTISE_PROCESS_EXITED;
    } else if (sscanf(said, "signal %d", &end->code) == 1) {
        end->outcome = MORTISE_PROCESS_SIGNALLED;
        snprintf(words, WORDS_MAX, "signal %d killed the program", end->code);
    } else {
        end->outcome = MORTISE_PROCESS_LOST;
        snprintf(words, WORDS_MAX,
                 "mortise-worker was killed, so it is unknown how the program "
                 "ended");
    }
}

static void reap(const struct mortise_process *p)
{
    siginfo_t info;

    /* where somebody else took its end there is nothing to wait for */
    while (waitid((idtype_t)P_PIDFD, (id_t)p->pidfd, &info, WEXITED) != 0 &&
           errno == EINTR)
        ;
}

static void judge(struct mortise_process *p, struct mortise_process_end *end,
                  char words[WORDS_MAX])
{
    reap(p);
    if (said(p->words_fd, words) > 0)
        end->outcome = MORTISE_PROCESS_REFUSED;
    else if (p->killed)
        end->outcome = p->why;
    else
        hear(p, end, words);
}

static void on_end(uv_poll_t *h, int status, int events)
{
    struct mortise_process *p = h->data;
    struct mortise_process_end end = {.words = ""};
    char words[WORDS_MAX] = "";

    (void)status;
    (void)events;
    kill_group(p); /* (3) */
    judge(p, &end, words);
    for (int i = 0; i < N_STREAMS; i++)
        drain(&p->streams[i]);
    if (p->streams[OUTPUT].cut && end.outcome <= MORTISE_PROCESS_SIGNALLED)
        end.outcome = MORTISE_PROCESS_TOO_LARGE;
    for (int i = 0; end.outcome == MORTISE_PROCESS_EXITED && i < N_STREAMS; i++)
        if (!p->streams[i].cut) /* (6) */
            mortise_masking_end(&p->streams[i].masking, &p->streams[i].got);
    if (p->streams[OUTPUT].got.failed || p->streams[ERRORS].got.failed) {
        end.outcome = MORTISE_PROCESS_LOST;
        snprintf(words, sizeof words, "out of memory for the program's output");
    }
    for (int i = 0; i < N_STREAMS; i++)
        tell_piece(p, &p->streams[i]);
    end.words = words;
    end.output = p->streams[OUTPUT].got.p;
    end.n_output = p->streams[OUTPUT].got.n;
    end.errors = p->streams[ERRORS].got.p;
    end.n_errors = p->streams[ERRORS].got.n;
    end.errors_cut = p->streams[ERRORS].cut;
    forget(p);
    if (p->done != NULL)
        p->done(p->ud, &end);
}

static void tell_to_end(struct mortise_process *p)
{
    static const char word[] = "end";

    p->was_told = true;
    send(p->life_fd, word, sizeof word - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    mortise_timer_arm(p->all->timers, &p->timer,
                      mortise_mono_ns() + p->grace_ms * NS_PER_MS);
}

static void on_time(struct mortise_timer *t)
{
    struct mortise_process *p = MORTISE_OF(t, struct mortise_process, timer);

    if (p->grace_ms != 0 && !p->was_told)
        tell_to_end(p);
    else
        end_for(p, MORTISE_PROCESS_TIMEOUT);
}

void mortise_process_cancel(struct mortise_process *p)
{
    p->done = NULL;
    end_for(p, MORTISE_PROCESS_SIGNALLED);
}

static void bury(struct mortise_process *p)
{
    kill_group(p);
    reap(p);
    forget(p);
}

bool mortise_processes_are_left(const struct mortise_processes *all)
{
    return all != NULL && all->first != NULL;
}

void mortise_processes_close(struct mortise_processes *all)
{
    if (all == NULL)
        return;
    while (all->first != NULL)
        bury(all->first);
    mortise_release(all->mem, all, sizeof *all);
}

/* ---- what it is told ----------------------------------------------------- */

void mortise_process_text_forget(struct mortise_process_text *t)
{
    if (t->process == NULL)
        return;
    *t->at = t->next;
    if (t->next != NULL)
        t->next->at = t->at;
    t->process = NULL;
}

static void link_text(struct mortise_process *p, struct mortise_process_text *t)
{
    struct mortise_process_text **at = &p->in.first;

    while (*at != NULL)
        at = &(*at)->next;
    t->next = NULL;
    t->at = at;
    *at = t;
    t->process = p;
    t->until = p->in.put;
}

/* As much as the pipe takes; false: nobody reads it any more. */
static bool push(struct input *in)
{
    while (in->taken < in->waiting.n) {
        ssize_t n =
            write(in->fd, in->waiting.p + in->taken, in->waiting.n - in->taken);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN;
        in->taken += (size_t)n;
        in->gone += (size_t)n;
    }
    explicit_bzero(in->waiting.p, in->waiting.n);
    mortise_buf_clear(&in->waiting);
    in->taken = 0;
    return true;
}

static void on_writable(uv_poll_t *h, int status, int events)
{
    struct mortise_process *p = h->data;
    bool is_read = push(&p->in);

    (void)status;
    (void)events;
    while (p->in.first != NULL && p->in.first->until <= p->in.gone)
        tell_text(p->in.first, true);
    if (!is_read || (p->in.waiting.n == 0 && p->grace_ms != 0))
        close_input(p);
    else if (p->in.waiting.n == 0 && p->in.fd >= 0)
        uv_poll_stop(&p->in.poll);
}

/* The pipe is full: the loop says when it is not.  False: it cannot. */
static bool await_room(struct mortise_process *p)
{
    struct input *in = &p->in;

    if (!in->is_watched) {
        if (uv_poll_init(p->all->loop, &in->poll, in->fd) != 0)
            return false;
        in->poll.data = p;
        in->is_watched = true;
        p->handles++;
    }
    return uv_poll_start(&in->poll, UV_WRITABLE | UV_DISCONNECT, on_writable) ==
           0;
}

static int no_stdin(struct mortise_err *err)
{
    return mortise_fail(err, MORTISE_ESTATE,
                        "the program no longer reads its input");
}

int mortise_process_write(struct mortise_process *p, const char *text, size_t n,
                          struct mortise_process_text *t,
                          struct mortise_err *err)
{
    struct input *in = &p->in;

    t->process = NULL;
    if (in->fd < 0 || p->grace_ms != 0)
        return no_stdin(err);
    if (n > MORTISE_PROCESS_WAITING_MAX - (in->waiting.n - in->taken))
        return mortise_fail(
            err, MORTISE_ELIMIT,
            "the program would have more than %d MiB of unread input",
            MORTISE_PROCESS_WAITING_MAX >> 20);
    mortise_buf_put(&in->waiting, text, n);
    if (in->waiting.failed)
        return mortise_nomem(err);
    in->put += n;
    if (!push(in)) {
        close_input(p);
        return no_stdin(err);
    }
    if (in->waiting.n == 0)
        return MORTISE_OK;
    link_text(p, t);
    if (await_room(p))
        return MORTISE_OK;
    mortise_process_text_forget(t);
    close_input(p);
    return mortise_fail(
        err, MORTISE_ESTATE,
        "the kernel cannot watch the program's stdin: too many watches");
}

void mortise_process_finish(struct mortise_process *p, uint64_t grace_ms)
{
    assert(p->piece != NULL && grace_ms > 0);
    if (p->grace_ms != 0)
        return;
    p->grace_ms = grace_ms;
    if (p->in.waiting.n == 0)
        close_input(p);
    mortise_timer_arm(p->all->timers, &p->timer,
                      mortise_mono_ns() + grace_ms * NS_PER_MS);
}

void mortise_process_leave(struct mortise_process *p, uint64_t grace_ms)
{
    p->done = NULL;
    mortise_process_finish(p, grace_ms);
}

/* ---- the beginning ------------------------------------------------------- */

/* The child's ends, as many as it has descriptors, and ours. */
struct ends {
    int child[6];
    int input, output, errors, words, life;
};

/* Above those that the child is to have, lest one be lost under another. */
static int lift(int fd)
{
    int high = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 16) : -1;

    if (fd >= 0)
        close(fd);
    return high;
}

/* A file in memory with that in it, at its beginning; -1. */
static int file_of(const char *name, const void *p, size_t n)
{
    int fd = lift(memfd_create(name, MFD_CLOEXEC));

    for (size_t done = 0; fd >= 0 && done < n;) {
        ssize_t put = write(fd, (const char *)p + done, n - done);

        if (put < 0 && errno != EINTR)
            close_fd(&fd);
        else if (put > 0)
            done += (size_t)put;
    }
    if (fd >= 0 && lseek(fd, 0, SEEK_SET) != 0)
        close_fd(&fd);
    return fd;
}

/* A pipe, of which we read without waiting; false: there is none. */
static bool pipe_of(int *ours, int *theirs)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) != 0)
        return false;
    *ours = fds[0];
    *theirs = lift(fds[1]);
    return *theirs >= 0 && fcntl(*ours, F_SETFL, O_NONBLOCK) == 0;
}

/* A socket that is ours to close: then what has the other end ends (5). */
static bool life_of(int *ours, int *theirs)
{
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
        return false;
    *ours = fds[0];
    *theirs = lift(fds[1]);
    return *theirs >= 0;
}

static void close_ends(struct ends *e)
{
    for (size_t i = 0; i < sizeof e->child / sizeof e->child[0]; i++)
        close_fd(&e->child[i]);
    close_fd(&e->input);
    close_fd(&e->output);
    close_fd(&e->errors);
    close_fd(&e->words);
    close_fd(&e->life);
}

/* What it reads: a pipe of ours, or a file with all there is (1). */
static bool input_open(struct ends *e, const struct mortise_process_request *r)
{
    int fds[2];

    if (r->piece == NULL) {
        e->child[0] = file_of("stdin", r->input, r->n_input);
        return e->child[0] >= 0;
    }
    if (pipe2(fds, O_CLOEXEC) != 0)
        return false;
    e->input = fds[1];
    e->child[0] = lift(fds[0]);
    return e->child[0] >= 0 && fcntl(e->input, F_SETFL, O_NONBLOCK) == 0;
}

/* What is open by then is e's, also when this fails. */
static int ends_open(struct ends *e, const struct mortise_process_request *r,
                     struct mortise_err *err)
{
    *e = (struct ends){{-1, -1, -1, -1, -1, -1}, -1, -1, -1, -1, -1};
    if (input_open(e, r))
        e->child[3] = file_of("launch", r->words, r->n_words);
    if (e->child[3] >= 0 && pipe_of(&e->output, &e->child[1]) &&
        pipe_of(&e->errors, &e->child[2]) && pipe_of(&e->words, &e->child[4]) &&
        life_of(&e->life, &e->child[5]))
        return MORTISE_OK;
    return mortise_syserr(err, errno, "descriptors for a program");
}

static int spawn(const char *worker, const struct ends *e, pid_t *pid)
{
    char launch[] = "--launch", name[] = "mortise-worker";
    char *argv[] = {name, launch, NULL}, *env[] = {NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none;
    int rv = 0;

    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attr);
    for (int i = 0; rv == 0 && i < 6; i++)
        rv = posix_spawn_file_actions_adddup2(&files, e->child[i], i);
    posix_spawnattr_setflags(&attr,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attr, &none);
    if (rv == 0)
        rv = posix_spawn(pid, worker, &files, &attr, argv, env);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return rv;
}

/* False: the kernel has no room for it. */
static bool watch(struct mortise_process *p, uv_poll_t *h, int fd, int events,
                  uv_poll_cb on)
{
    if (uv_poll_init(p->all->loop, h, fd) != 0)
        return false;
    h->data = p;
    p->handles++;
    return uv_poll_start(h, events, on) == 0;
}

static bool take_stream(struct mortise_process *p, int which, int *fd,
                        size_t max)
{
    struct stream *s = &p->streams[which];

    if (!watch(p, &s->poll, *fd, UV_READABLE | UV_DISCONNECT, on_readable))
        return false;
    s->fd = *fd;
    s->max = max;
    s->is_lines = p->piece != NULL;
    *fd = -1;
    return true;
}

static void enlist(struct mortise_process *p)
{
    struct mortise_processes *all = p->all;

    p->next = all->first;
    p->at = &all->first;
    if (p->next != NULL)
        p->next->at = &p->next;
    all->first = p;
}

/* It runs; from now on it is heard, or it ends. */
static int begin(struct mortise_process *p, struct ends *e,
                 const struct mortise_process_request *r,
                 struct mortise_err *err)
{
    size_t most =
        r->output_max > 0 ? r->output_max : MORTISE_PROCESS_OUTPUT_MAX;

    p->piece = r->piece;
    p->done = r->done;
    p->ud = r->ud;
    p->words_fd = e->words;
    p->life_fd = e->life;
    p->in.fd = e->input;
    e->words = e->life = e->input = -1;
    enlist(p);
    p->timer.fire = on_time;
    if (!take_stream(p, OUTPUT, &e->output, most) ||
        !take_stream(p, ERRORS, &e->errors, MORTISE_PROCESS_ERRORS_MAX) ||
        !watch(p, &p->end, p->pidfd, UV_READABLE, on_end)) {
        bury(p);
        return mortise_fail(err, MORTISE_ESTATE,
                            "the kernel cannot watch the program: too many "
                            "watches; the program was killed");
    }
    p->is_watched = true;
    if (r->timeout_ms > 0)
        mortise_timer_arm(p->all->timers, &p->timer,
                          mortise_mono_ns() + r->timeout_ms * NS_PER_MS);
    return MORTISE_OK;
}

static int launch(struct mortise_process *p, const struct ends *e,
                  const char *worker, struct mortise_err *err)
{
    int rv = spawn(worker, e, &p->pid);

    if (rv == ENOENT || rv == EACCES)
        return mortise_fail(err, MORTISE_EUNAVAILABLE,
                            "the engine cannot start programs without %s: %s",
                            worker, strerror(rv));
    if (rv != 0)
        return mortise_syserr(err, rv, "%s", worker);
    p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
    if (p->pidfd >= 0)
        return MORTISE_OK;
    rv = errno;
    kill(p->pid, SIGKILL);
    waitpid(p->pid, NULL, 0);
    return mortise_syserr(err, rv, "a descriptor of a process");
}

int mortise_process_start(struct mortise_processes *all,
                          const struct mortise_process_request *request,
                          struct mortise_process **out, struct mortise_err *err)
{
    struct mortise_process *p = mortise_zalloc(all->mem, sizeof *p);
    struct ends e;
    int rv;

    *out = NULL;
    if (p == NULL)
        return mortise_nomem(err);
    p->all = all;
    p->mask = request->mask != NULL ? mortise_mask_ref(request->mask) : NULL;
    mortise_buf_init(&p->in.waiting, all->mem);
    p->in.fd = -1;
    for (int i = 0; i < N_STREAMS; i++) {
        mortise_masking_init(&p->streams[i].masking, p->mask, all->mem);
        mortise_buf_init(&p->streams[i].got, all->mem);
        p->streams[i].fd = -1;
    }
    rv = ends_open(&e, request, err);
    if (rv == MORTISE_OK)
        rv = launch(p, &e, request->worker, err);
    if (rv == MORTISE_OK) {
        rv = begin(p, &e, request, err);
        *out = rv == MORTISE_OK ? p : NULL;
    } else {
        release(p, all->mem);
    }
    close_ends(&e);
    return rv;
}
