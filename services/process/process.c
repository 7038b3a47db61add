/* process.c -- run programs to their end on the loop.
 *
 *   (1) Stdin is a file in memory, so nobody waits for a reader.  Stdout and
 *       stderr are read as they arrive, up to a limit.
 *   (2) Each process has a descriptor (pidfd), which reports its end.  So the
 *       host program needs no signal handler.
 *   (3) The process group is killed while its leader is still a zombie, so that
 *       its number cannot belong to another group.  After that the pipes hold
 *       all remaining output.
 *   (4) A cancelled process has no owner: it stays in the list until it is
 *       dead.
 *   (5) Each program is supervised by mortise-worker over a socket.  When our
 *       process ends, in whatever way, the socket closes and the program is
 *       killed.  The supervisor reports the exit status over the socket.
 *   (6) Output is masked as it arrives.  If output was cut or its program was
 *       killed, a tail that may be the beginning of a secret is dropped.
 *   (7) An interactive program speaks in lines and waits for an answer to each.
 *       So complete lines are delivered at once, and secrets are searched for
 *       within lines.
 *   (8) A program that does not read its stdin cannot block the loop: unread
 *       input waits here, up to a limit.
 */
#include "services/process/process.h"

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
    struct mortise_mask_stream masking;
    struct mortise_buf got; /* masked */
    size_t n, max;          /* bytes before masking */
    int fd;                 /* -1: closed */
    bool cut;
    bool is_lines; /* of an interactive program; `max` does not apply */
};

/* The stdin of an interactive program. */
struct input {
    uv_poll_t poll;
    struct mortise_buf waiting;         /* unwritten from `taken` on */
    size_t taken;                       /* bytes of `waiting` that were
                                           written */
    uint64_t put, gone;                 /* bytes in total */
    struct mortise_process_text *first; /* in the order of
                                           mortise_process_write() */
    int fd;                             /* -1: closed, or the program is not
                                           interactive */
    bool is_watched;
};

enum { OUTPUT, ERRORS, N_STREAMS };

enum { WORDS_MAX = 512 }; /* limit of the launcher's error message */

struct mortise_process {
    struct mortise_processes *all;
    struct mortise_process *next, **at;
    struct stream streams[N_STREAMS];
    uv_poll_t end; /* polls pidfd */
    int pidfd, words_fd, life_fd;
    pid_t pid;
    struct mortise_timer timer;
    struct mortise_mask *mask;
    struct input in;
    uint64_t grace_ms; /* not 0: the program is being ended */
    bool was_told;     /* the supervisor was asked to end it */
    unsigned handles;  /* libuv handles open or closing */
    bool is_watched;   /* `end` is one of the handles */
    bool killed;
    enum mortise_process_outcome why; /* the reason for `killed` */
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

/* ---- end and release ----------------------------------------------------- */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void release_process(struct mortise_process *p,
                            const struct mortise_mem *mem)
{
    for (int i = 0; i < N_STREAMS; i++) {
        mortise_mask_stream_finish(&p->streams[i].masking);
        mortise_buf_finish(&p->streams[i].got);
    }
    mortise_buf_finish(&p->in.waiting);
    mortise_mask_unref(p->mask);
    mortise_release(mem, p, sizeof *p);
}

static void on_closed(uv_handle_t *h)
{
    struct mortise_process *p = h->data;
    /* a stream's buffer has the allocator; `all` may be gone by now */
    const struct mortise_mem *mem = p->streams[OUTPUT].got.mem;

    if (--p->handles == 0)
        release_process(p, mem);
}

static void close_stream(struct stream *s)
{
    if (s->fd < 0)
        return;
    uv_close((uv_handle_t *)&s->poll, on_closed);
    close_fd(&s->fd);
}

static void finish_process_text(struct mortise_process_text *t, bool taken)
{
    mortise_process_text_detach(t);
    t->done(t, taken);
}

/* The texts that wait are answered: taken or not. */
static void close_input(struct mortise_process *p)
{
    if (p->in.fd < 0)
        return;
    if (p->in.is_watched)
        uv_close((uv_handle_t *)&p->in.poll, on_closed);
    close_fd(&p->in.fd);
    while (p->in.first != NULL)
        finish_process_text(p->in.first, p->in.first->until <= p->in.gone);
}

/* The process is dead and reaped: close its handles. */
static void remove_process(struct mortise_process *p)
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
        release_process(p, p->all->mem);
}

static void kill_group(const struct mortise_process *p)
{
    kill(-p->pid, SIGKILL); /* it has led this group since the spawn */
}

static void kill_process_for(struct mortise_process *p,
                             enum mortise_process_outcome why)
{
    if (p->killed)
        return;
    p->killed = true;
    p->why = why;
    kill_group(p);
}

/* Read the launcher's error message; 0 bytes: it became the program. */
static size_t read_launch_error(int fd, char words[WORDS_MAX])
{
    ssize_t n = read(fd, words, WORDS_MAX - 1);

    words[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

bool mortise_process_has_begun(const struct mortise_process *p)
{
    struct pollfd words = {.fd = p->words_fd, .events = POLLIN};

    /* closed and empty: exec() closed it */
    return poll(&words, 1, 0) > 0 && (words.revents & POLLHUP) != 0 &&
           (words.revents & POLLIN) == 0;
}

/* ---- output of the program ----------------------------------------------- */

/* Returns the result of read(); 0: end of file. */
static ssize_t read_stream(struct stream *s)
{
    char room[16384];
    ssize_t n = read(s->fd, room, sizeof room);
    size_t left = s->max - s->n, taken = n > 0 ? (size_t)n : 0;

    if (taken > left) {
        s->cut = true;
        taken = left;
    }
    mortise_mask_stream_write(&s->masking, room, taken, &s->got);
    if (s->is_lines && taken > 0 && room[taken - 1] == '\n') /* (7) */
        mortise_mask_stream_flush(&s->masking, &s->got);
    s->n += s->is_lines ? 0 : taken;
    return n;
}

/* Deliver the output of an interactive program. */
static void deliver_process_piece(struct mortise_process *p, struct stream *s)
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
    ssize_t n = read_stream(s);

    (void)status;
    (void)events;
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        close_stream(s);
    else if (s->cut && s == &p->streams[OUTPUT])
        kill_process_for(p, MORTISE_PROCESS_TOO_LARGE);
    deliver_process_piece(p, s);
}

static void drain_stream(struct stream *s)
{
    ssize_t n = s->fd >= 0 ? 1 : 0;

    while (n > 0 || (n < 0 && errno == EINTR))
        n = read_stream(s);
}

/* ---- exit status --------------------------------------------------------- */

/* Parse the supervisor's report. */
static void parse_exit_report(const struct mortise_process *p,
                              struct mortise_process_end *end,
                              char words[WORDS_MAX])
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

static void reap_process(const struct mortise_process *p)
{
    siginfo_t info;

    /* if the host reaped the process already, there is nothing to wait for */
    while (waitid((idtype_t)P_PIDFD, (id_t)p->pidfd, &info, WEXITED) != 0 &&
           errno == EINTR)
        ;
}

static void get_process_end(struct mortise_process *p,
                            struct mortise_process_end *end,
                            char words[WORDS_MAX])
{
    reap_process(p);
    if (read_launch_error(p->words_fd, words) > 0)
        end->outcome = MORTISE_PROCESS_REFUSED;
    else if (p->killed)
        end->outcome = p->why;
    else
        parse_exit_report(p, end, words);
}

static void on_end(uv_poll_t *h, int status, int events)
{
    struct mortise_process *p = h->data;
    struct mortise_process_end end = {.words = ""};
    char words[WORDS_MAX] = "";

    (void)status;
    (void)events;
    kill_group(p); /* (3) */
    get_process_end(p, &end, words);
    for (int i = 0; i < N_STREAMS; i++)
        drain_stream(&p->streams[i]);
    if (p->streams[OUTPUT].cut && end.outcome <= MORTISE_PROCESS_SIGNALLED)
        end.outcome = MORTISE_PROCESS_TOO_LARGE;
    for (int i = 0; end.outcome == MORTISE_PROCESS_EXITED && i < N_STREAMS; i++)
        if (!p->streams[i].cut) /* (6) */
            mortise_mask_stream_flush(&p->streams[i].masking,
                                      &p->streams[i].got);
    if (p->streams[OUTPUT].got.failed || p->streams[ERRORS].got.failed) {
        end.outcome = MORTISE_PROCESS_LOST;
        snprintf(words, sizeof words, "out of memory for the program's output");
    }
    for (int i = 0; i < N_STREAMS; i++)
        deliver_process_piece(p, &p->streams[i]);
    end.words = words;
    end.output = p->streams[OUTPUT].got.p;
    end.n_output = p->streams[OUTPUT].got.n;
    end.errors = p->streams[ERRORS].got.p;
    end.n_errors = p->streams[ERRORS].got.n;
    end.errors_cut = p->streams[ERRORS].cut;
    remove_process(p);
    if (p->done != NULL)
        p->done(p->ud, &end);
}

static void ask_to_end(struct mortise_process *p)
{
    static const char word[] = "end";

    p->was_told = true;
    send(p->life_fd, word, sizeof word - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    mortise_timer_arm(p->all->timers, &p->timer,
                      mortise_mono_ns() + p->grace_ms * NS_PER_MS);
}

static void on_time(struct mortise_timer *t)
{
    struct mortise_process *p =
        MORTISE_CONTAINER_OF(t, struct mortise_process, timer);

    if (p->grace_ms != 0 && !p->was_told)
        ask_to_end(p);
    else
        kill_process_for(p, MORTISE_PROCESS_TIMEOUT);
}

void mortise_process_cancel(struct mortise_process *p)
{
    p->done = NULL;
    kill_process_for(p, MORTISE_PROCESS_SIGNALLED);
}

static void kill_and_remove(struct mortise_process *p)
{
    kill_group(p);
    reap_process(p);
    remove_process(p);
}

bool mortise_processes_exist(const struct mortise_processes *all)
{
    return all != NULL && all->first != NULL;
}

void mortise_processes_close(struct mortise_processes *all)
{
    if (all == NULL)
        return;
    while (all->first != NULL)
        kill_and_remove(all->first);
    mortise_release(all->mem, all, sizeof *all);
}

/* ---- input of the program ------------------------------------------------ */

void mortise_process_text_detach(struct mortise_process_text *t)
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

/* Write as much as the pipe takes; false: the program no longer reads it. */
static bool write_waiting_input(struct input *in)
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
    bool is_read = write_waiting_input(&p->in);

    (void)status;
    (void)events;
    while (p->in.first != NULL && p->in.first->until <= p->in.gone)
        finish_process_text(p->in.first, true);
    if (!is_read || (p->in.waiting.n == 0 && p->grace_ms != 0))
        close_input(p);
    else if (p->in.waiting.n == 0 && p->in.fd >= 0)
        uv_poll_stop(&p->in.poll);
}

/* The pipe is full: wait until it has room.  False: the kernel refuses the
 * watch. */
static bool watch_for_room(struct mortise_process *p)
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

static int fail_no_stdin(struct mortise_err *err)
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
        return fail_no_stdin(err);
    if (n > MORTISE_PROCESS_WAITING_MAX - (in->waiting.n - in->taken))
        return mortise_fail(
            err, MORTISE_ELIMIT,
            "the program would have more than %d MiB of unread input",
            MORTISE_PROCESS_WAITING_MAX >> 20);
    mortise_buf_put(&in->waiting, text, n);
    if (in->waiting.failed)
        return mortise_nomem(err);
    in->put += n;
    if (!write_waiting_input(in)) {
        close_input(p);
        return fail_no_stdin(err);
    }
    if (in->waiting.n == 0)
        return MORTISE_OK;
    link_text(p, t);
    if (watch_for_room(p))
        return MORTISE_OK;
    mortise_process_text_detach(t);
    close_input(p);
    return mortise_fail(
        err, MORTISE_ESTATE,
        "the kernel cannot watch the program's stdin: too many watches");
}

void mortise_process_end_input(struct mortise_process *p, uint64_t grace_ms)
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

void mortise_process_abandon(struct mortise_process *p, uint64_t grace_ms)
{
    p->done = NULL;
    mortise_process_end_input(p, grace_ms);
}

/* ---- start --------------------------------------------------------------- */

/* The child's descriptors, by number, and our ends. */
struct ends {
    int child[6];
    int input, output, errors, words, life;
};

/* Move a descriptor above 15: posix_spawn() assigns the low numbers to the
 * child and would overwrite it. */
static int move_fd_above_child(int fd)
{
    int high = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 16) : -1;

    if (fd >= 0)
        close(fd);
    return high;
}

/* A memfd with n bytes, positioned at its start; -1 on failure. */
static int make_memfd(const char *name, const void *p, size_t n)
{
    int fd = move_fd_above_child(memfd_create(name, MFD_CLOEXEC));

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

/* A pipe with a nonblocking read end for us; false on failure. */
static bool make_output_pipe(int *ours, int *theirs)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) != 0)
        return false;
    *ours = fds[0];
    *theirs = move_fd_above_child(fds[1]);
    return *theirs >= 0 && fcntl(*ours, F_SETFL, O_NONBLOCK) == 0;
}

/* A socket pair: the supervisor ends when we close our end (5). */
static bool make_life_socket(int *ours, int *theirs)
{
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
        return false;
    *ours = fds[0];
    *theirs = move_fd_above_child(fds[1]);
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

/* Its stdin: a pipe of ours, or a file with the whole input (1). */
static bool open_process_input(struct ends *e,
                               const struct mortise_process_request *r)
{
    int fds[2];

    if (r->piece == NULL) {
        e->child[0] = make_memfd("stdin", r->input, r->n_input);
        return e->child[0] >= 0;
    }
    if (pipe2(fds, O_CLOEXEC) != 0)
        return false;
    e->input = fds[1];
    e->child[0] = move_fd_above_child(fds[0]);
    return e->child[0] >= 0 && fcntl(e->input, F_SETFL, O_NONBLOCK) == 0;
}

/* On failure, `e` still owns the descriptors that are open. */
static int open_process_ends(struct ends *e,
                             const struct mortise_process_request *r,
                             struct mortise_err *err)
{
    *e = (struct ends){{-1, -1, -1, -1, -1, -1}, -1, -1, -1, -1, -1};
    if (open_process_input(e, r))
        e->child[3] = make_memfd("launch", r->words, r->n_words);
    if (e->child[3] >= 0 && make_output_pipe(&e->output, &e->child[1]) &&
        make_output_pipe(&e->errors, &e->child[2]) &&
        make_output_pipe(&e->words, &e->child[4]) &&
        make_life_socket(&e->life, &e->child[5]))
        return MORTISE_OK;
    return mortise_syserr(err, errno, "descriptors for a program");
}

static int spawn_worker(const char *worker, const struct ends *e, pid_t *pid)
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

/* False: the kernel refuses the watch. */
static bool watch_process_fd(struct mortise_process *p, uv_poll_t *h, int fd,
                             int events, uv_poll_cb on)
{
    if (uv_poll_init(p->all->loop, h, fd) != 0)
        return false;
    h->data = p;
    p->handles++;
    return uv_poll_start(h, events, on) == 0;
}

static bool start_stream(struct mortise_process *p, int which, int *fd,
                         size_t max)
{
    struct stream *s = &p->streams[which];

    if (!watch_process_fd(p, &s->poll, *fd, UV_READABLE | UV_DISCONNECT,
                          on_readable))
        return false;
    s->fd = *fd;
    s->max = max;
    s->is_lines = p->piece != NULL;
    *fd = -1;
    return true;
}

static void add_process(struct mortise_process *p)
{
    struct mortise_processes *all = p->all;

    p->next = all->first;
    p->at = &all->first;
    if (p->next != NULL)
        p->next->at = &p->next;
    all->first = p;
}

/* The program runs: watch its descriptors, or kill it. */
static int start_watching_process(struct mortise_process *p, struct ends *e,
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
    add_process(p);
    p->timer.fire = on_time;
    if (!start_stream(p, OUTPUT, &e->output, most) ||
        !start_stream(p, ERRORS, &e->errors, MORTISE_PROCESS_ERRORS_MAX) ||
        !watch_process_fd(p, &p->end, p->pidfd, UV_READABLE, on_end)) {
        kill_and_remove(p);
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

static int launch_worker(struct mortise_process *p, const struct ends *e,
                         const char *worker, struct mortise_err *err)
{
    int rv = spawn_worker(worker, e, &p->pid);

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
        mortise_mask_stream_init(&p->streams[i].masking, p->mask, all->mem);
        mortise_buf_init(&p->streams[i].got, all->mem);
        p->streams[i].fd = -1;
    }
    rv = open_process_ends(&e, request, err);
    if (rv == MORTISE_OK)
        rv = launch_worker(p, &e, request->worker, err);
    if (rv == MORTISE_OK) {
        rv = start_watching_process(p, &e, request, err);
        *out = rv == MORTISE_OK ? p : NULL;
    } else {
        release_process(p, all->mem);
    }
    close_ends(&e);
    return rv;
}
