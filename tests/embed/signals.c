/* signals.c -- a program's own signal handlers stay its own.
 *
 * It catches four signals before it opens an engine.  They reach its handlers,
 * on its own thread, in the middle of a turn, the SIGPIPE of a callback's too;
 * a child of its that ends is there for it to wait for; no thread of the engine
 * would take a signal; and after all no disposition and no mask is another one
 * than before. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "embed.h"

static const int caught[] = {SIGINT, SIGTERM, SIGCHLD, SIGPIPE};
enum { CAUGHT = 4 };

static volatile sig_atomic_t times[NSIG], elsewhere;
static pthread_t here;

static void on_signal(int sig, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    times[sig]++;
    elsewhere += !pthread_equal(here, pthread_self());
}

struct dispositions {
    struct sigaction of[NSIG];
    sigset_t mask;
};

static void look(struct dispositions *d)
{
    memset(d, 0, sizeof *d);
    for (int sig = 1; sig < NSIG; sig++)
        sigaction(sig, NULL, &d->of[sig]); /* some are the C library's */
    pthread_sigmask(SIG_SETMASK, NULL, &d->mask);
}

static int differences(const struct dispositions *a,
                       const struct dispositions *b)
{
    int n = 0;

    for (int sig = 1; sig < NSIG; sig++) {
        n += a->of[sig].sa_sigaction != b->of[sig].sa_sigaction ||
             a->of[sig].sa_flags != b->of[sig].sa_flags;
        n += sigismember(&a->mask, sig) != sigismember(&b->mask, sig);
    }
    return n;
}

/* From a thread that takes none itself. */
static void *send_all(void *ud)
{
    pid_t child;

    (void)ud;
    kill(getpid(), SIGINT);
    kill(getpid(), SIGTERM);
    child = fork();
    if (child == 0)
        _exit(7);
    return (void *)(intptr_t)child;
}

static pthread_t start_sender(void)
{
    sigset_t all, before;
    pthread_t t;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_create(&t, NULL, send_all, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return t;
}

/* Does this thread block all that we caught?  SigBlk is a bit per signal. */
static int takes_none(const char *task)
{
    char path[64 + 256], line[256];
    unsigned long long mask = 0, want = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/self/task/%s/status", task);
    f = fopen(path, "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        sscanf(line, "SigBlk: %llx", &mask);
    if (f != NULL)
        fclose(f);
    for (int i = 0; i < CAUGHT; i++)
        want |= 1ull << (caught[i] - 1);
    return (mask & want) == want;
}

static void look_at_threads(void)
{
    DIR *d = opendir("/proc/self/task");
    struct dirent *e;
    int others = 0, deaf = 0;

    while ((e = readdir(d)) != NULL) {
        if (e->d_name[0] == '.' || atoi(e->d_name) == getpid())
            continue;
        others++;
        deaf += takes_none(e->d_name);
    }
    closedir(d);
    printf("threads of the engine: %s, taking signals: %d\n",
           others > 0 ? "some" : "none", others - deaf);
}

/* A pipe whose reader went away is the program's own mistake, here too. */
static void break_pipe(void)
{
    int fds[2];

    if (pipe(fds) != 0)
        exit(2);
    close(fds[0]);
    if (write(fds[1], "x", 1) != -1 || errno != EPIPE)
        exit(2);
    close(fds[1]);
}

static int on_event(void *ud, const char *json, size_t len)
{
    (void)len;
    if (!is_event(json, "run_end"))
        return 0;
    break_pipe();
    *(int *)ud = 1;
    return 0;
}

int main(int argc, char **argv)
{
    struct sigaction sa = {.sa_sigaction = on_signal,
                           .sa_flags = SA_SIGINFO | SA_NODEFER};
    struct dispositions before, after;
    struct mortise_err err;
    struct mortise_graph *g;
    struct mortise *m;
    pthread_t sender;
    void *child;
    int over = 0, status = 0;

    if (argc != 3)
        return 2;
    here = pthread_self();
    for (int i = 0; i < CAUGHT; i++)
        sigaction(caught[i], &sa, NULL);
    look(&before);
    m = open_engine(argv[2]);
    g = load_graph(m, argv[1]);
    start_run(m, g, "one", "{\"half\": 0.5}", on_event, &over);
    sender = start_sender();
    while (!over || times[SIGCHLD] == 0)
        must(mortise_poll(m, 100, &err), &err, "poll");
    look_at_threads();
    pthread_join(sender, &child);
    mortise_graph_close(g);
    mortise_close(m);
    look(&after);

    for (int i = 0; i < CAUGHT; i++)
        printf("signal %d: %d\n", i, (int)times[caught[i]]);
    printf("on another thread: %d\n", (int)elsewhere);
    printf("child: %d\n",
           waitpid((pid_t)(intptr_t)child, &status, 0) == (intptr_t)child
               ? WEXITSTATUS(status)
               : -errno);
    printf("differences: %d\n", differences(&before, &after));
    return 0;
}
