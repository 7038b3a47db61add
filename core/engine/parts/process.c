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
 */
#include "engine/parts/process.h"

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

#include "base/buf.h"
#include "base/clock.h"
#include "base/table.h"

#define NS_PER_MS 1000000ULL

struct stream { /* a pipe that is read */
    uv_poll_t poll;
    struct mortise_masking masking;
    struct mortise_buf got; /* masked */
    size_t n, max;          /* bytes as they came in */
    int fd;                 /* -1: closed */
    bool cut;
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
    unsigned handles; /* that are open, or being closed */
    bool is_watched;  /* `end` is one of them */
    bool killed;
    enum mortise_process_outcome why; /* it was killed */
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

/* It is dead and buried: nothing but its handles' closing is left. */
static void forget(struct mortise_process *p)
{
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
    s->n += taken;
    return n;
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
        snprintf(words, WORDS_MAX, "the program was ended by signal %d",
                 end->code);
    } else {
        end->outcome = MORTISE_PROCESS_LOST;
        snprintf(words, WORDS_MAX,
                 "mortise-worker was killed: how the program ended nobody "
                 "knows");
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
        snprintf(words, sizeof words, "out of memory for what it said");
    }
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

static void on_time(struct mortise_timer *t)
{
    end_for(MORTISE_OF(t, struct mortise_process, timer),
            MORTISE_PROCESS_TIMEOUT);
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

void mortise_processes_close(struct mortise_processes *all)
{
    if (all == NULL)
        return;
    while (all->first != NULL)
        bury(all->first);
    mortise_release(all->mem, all, sizeof *all);
}

/* ---- the beginning ------------------------------------------------------- */

/* The child's ends, as many as it has descriptors, and ours. */
struct ends {
    int child[6];
    int output, errors, words, life;
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
    close_fd(&e->output);
    close_fd(&e->errors);
    close_fd(&e->words);
    close_fd(&e->life);
}

/* What is open by then is e's, also when this fails. */
static int ends_open(struct ends *e, const struct mortise_process_request *r,
                     struct mortise_err *err)
{
    *e = (struct ends){{-1, -1, -1, -1, -1, -1}, -1, -1, -1, -1};
    e->child[0] = file_of("stdin", r->input, r->n_input);
    if (e->child[0] >= 0)
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

    p->done = r->done;
    p->ud = r->ud;
    p->words_fd = e->words;
    p->life_fd = e->life;
    e->words = e->life = -1;
    enlist(p);
    p->timer.fire = on_time;
    if (!take_stream(p, OUTPUT, &e->output, most) ||
        !take_stream(p, ERRORS, &e->errors, MORTISE_PROCESS_ERRORS_MAX) ||
        !watch(p, &p->end, p->pidfd, UV_READABLE, on_end)) {
        bury(p);
        return mortise_fail(err, MORTISE_ESTATE,
                            "the kernel has no room to watch a program, and it "
                            "was killed");
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
                            "no program is started without %s: %s", worker,
                            strerror(rv));
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
