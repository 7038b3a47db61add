/* death.c -- a plugin takes the process down: noted, said, and never taken for
 * success.
 *
 * A poisoned run would take the engine down at every start.  To leave it out,
 * the next start must know what died, and must not be misled: a process may
 * just as well be killed from outside while it is inside a healthy plugin.
 *
 *   (1) Only what came from the plugin is noted: a fault of the thread that is
 *       inside it (or of a thread that it made), abort() and the like from this
 *       very process, exit() and _exit() from inside it, its taking a thread
 *       along, its holding up a thread that may not wait.  A signal that
 *       somebody else sent is not, nor is anything that leaves no time to note
 *       it: SIGKILL, a power cut.
 *   (2) The note is on disk (in the page cache, which outlives the process)
 *       before the process is gone: one line, written by one write() to the
 *       file of the plugin in the directory of quarantine.c, which tells its
 *       format.  Nothing else is needed at that time: no heap, no lock.
 *   (3) Whoever catches signals and exits says so here (cli/fatal.c): a
 *       library has no business with them.  Where nobody does, nothing is noted.
 *   (4) A process that a plugin ended does not end with 0.
 *   (5) Children of fork note nothing: what they are inside of, their parent
 *       is, too.
 *
 * A plugin's own threads make no visits.  They are known by where they are: at
 * an address of its object, or with return addresses of it on their stack.  No
 * thread of ours that never was inside a plugin has such addresses there.
 *
 * What cannot be noted: a fault that comes while the plugin has blocked it, or
 * has put a handler of its own in our place; exit_group() by syscall().
 */
#include "core/plugin/death.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "core/plugin/watchdog.h"

enum {
    LINE = 1200,     /* the longest note, and the longest words */
    DEEP = 64 << 10, /* of a stack that is looked at */
    FAILED = 1       /* what the process ends with */
};

static atomic_bool owned;
static _Atomic pid_t process;                /* the process that is owned */
static atomic_flag noted = ATOMIC_FLAG_INIT; /* somebody does, or did */

/* Culprits whose threads are known; read by handlers, changed under a lock. */
static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;
static struct mortise_culprit *_Atomic known;

/* ---- text, without stdio ------------------------------------------------- */

struct text {
    size_t n;
    char p[LINE];
};

static void put(struct text *t, const char *s)
{
    while (*s != '\0' && t->n < LINE)
        t->p[t->n++] = *s++;
}

/* All of them; NULL ends them. */
static void put_all(struct text *t, const char *const *words)
{
    while (*words != NULL)
        put(t, *words++);
}
#define PUT(t, ...) put_all(t, (const char *const[]){__VA_ARGS__, NULL})

/* In `digits`, whose end it is. */
static const char *number(char digits[21], uint64_t v)
{
    char *at = &digits[20];

    *at = '\0';
    do
        *--at = (char)('0' + v % 10);
    while ((v /= 10) > 0);
    return at;
}

static const char *or_dash(const char *s)
{
    return s[0] != '\0' ? s : "-";
}

static void write_all(int fd, const struct text *t)
{
    ssize_t n = write(fd, t->p, t->n);

    (void)n; /* nobody is left to be told */
}

/* ---- the note (2) -------------------------------------------------------- */

static const char *stage_name(enum mortise_inside_stage stage)
{
    static const char *const names[] = {
        [MORTISE_INSIDE_CREATE] = "create", [MORTISE_INSIDE_CALL] = "call",
        [MORTISE_INSIDE_ANSWER] = "answer", [MORTISE_INSIDE_CANCEL] = "cancel",
        [MORTISE_INSIDE_END] = "end",       [MORTISE_INSIDE_THREAD] = "thread",
    };

    return names[stage];
}

static int open_notes(const struct mortise_culprit *c)
{
    static const int flags =
        O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    int fd = openat(c->dir, c->name, flags, 0600);

    if (fd >= 0 || errno != EMFILE)
        return fd;
    close(STDIN_FILENO); /* it has taken all others, and needs none now */
    return openat(c->dir, c->name, flags, 0600);
}

static void write_note(const struct mortise_inside_entry *e, const char *how)
{
    struct text t = {.n = 0};
    struct timespec now;
    char ms[21];
    int fd = e->culprit->dir >= 0 ? open_notes(e->culprit) : -1;

    if (fd < 0)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    /* The first line end ends what stands half before it. */
    PUT(&t, "\n", e->culprit->hex, " died ",
        number(ms,
               (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000),
        " ", how, " ", stage_name(e->stage), " ", or_dash(e->tenant), " ",
        or_dash(e->run), " ", or_dash(e->path), "\n");
    write_all(fd, &t);
    close(fd);
}

static void put_where(struct text *t, const struct mortise_inside_entry *e)
{
    if (e->stage == MORTISE_INSIDE_CREATE)
        put(t, " while it started");
    else if (e->stage == MORTISE_INSIDE_THREAD)
        put(t, " in its own thread");
    if (e->is_unstored)
        PUT(t, " (node ", e->path,
            " of a new run, which may not be recorded: see 'mortise runs')");
    else if (e->run[0] != '\0')
        PUT(t, " (node ", e->path, " of run ", e->run, ")");
}

/* "mortise: plugin 'NAME' WORDS (node PATH of run RUN)REST".  The id of a run that
 * may not be on disk is not printed: no command would find the run (R3). */
static void say(const struct mortise_inside_entry *e, const char *words,
                const char *rest)
{
    struct text t = {.n = 0};

    PUT(&t, "mortise: plugin '", e->culprit->name, "' ", words);
    put_where(&t, e);
    PUT(&t, rest, "\n");
    write_all(STDERR_FILENO, &t);
}

/* The first to die: others that do meanwhile say nothing. */
static bool is_first(void)
{
    return atomic_load(&owned) && atomic_load(&process) == getpid() &&
           !atomic_flag_test_and_set(&noted);
}

/* ---- whose thread is it? ------------------------------------------------- */

static const struct mortise_culprit *owner_of(uintptr_t address)
{
    const struct mortise_culprit *c = atomic_load(&known);

    while (c != NULL && (address < c->code || address >= c->code_end))
        c = c->next;
    return c;
}

static void registers(const ucontext_t *u, uintptr_t *pc, uintptr_t *sp)
{
#if defined(__x86_64__)
    *pc = (uintptr_t)u->uc_mcontext.gregs[REG_RIP];
    *sp = (uintptr_t)u->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    *pc = (uintptr_t)u->uc_mcontext.pc;
    *sp = (uintptr_t)u->uc_mcontext.sp;
#else
    (void)u;
    *pc = *sp = 0;
#endif
}

/* Some of the stack; the kernel reads it, as its end is not known. */
static size_t read_stack(uintptr_t sp, uintptr_t *words, size_t size)
{
    struct iovec to = {words, size};
    struct iovec from = {(void *)sp, size};
    ssize_t n = process_vm_readv(getpid(), &to, 1, &from, 1, 0);

    return n > 0 ? (size_t)n / sizeof *words : 0;
}

/* The plugin whose code this thread runs or came from. */
static const struct mortise_culprit *culprit_of(const ucontext_t *u)
{
    uintptr_t pc, sp, words[128];
    const struct mortise_culprit *c;
    size_t n;

    registers(u, &pc, &sp);
    c = owner_of(pc);
    sp &= ~(uintptr_t)(sizeof words - 1); /* whole pieces are of one page */
    for (uintptr_t end = sp + DEEP; c == NULL && sp < end; sp += sizeof words) {
        n = read_stack(sp, words, sizeof words);
        if (n == 0)
            break;
        for (size_t i = 0; c == NULL && i < n; i++)
            c = owner_of(words[i]);
    }
    return c;
}

/* ---- how it ends --------------------------------------------------------- */

void mortise_death_by_signal(const char *name, const void *context)
{
    const struct mortise_inside_entry *e = mortise_inside_now();
    struct mortise_inside_entry own = {.stage = MORTISE_INSIDE_THREAD};
    struct text words = {.n = 0};

    if (e == NULL && !mortise_inside_ever()) {
        own.culprit = culprit_of(context);
        e = own.culprit != NULL ? &own : NULL;
    }
    if (e == NULL || !is_first())
        return;
    write_note(e, name);
    PUT(&words, "was killed by ", name);
    words.p[words.n] = '\0';
    say(e, words.p, "");
}

bool mortise_death_by_exit(void)
{
    const struct mortise_inside_entry *e = mortise_inside_now();

    if (e == NULL || !is_first())
        return false;
    write_note(e, MORTISE_DEATH_EXIT);
    say(e, "ended the process (exit)", "");
    return true;
}

void mortise_death_of_thread(void)
{
    const struct mortise_inside_entry *e = mortise_inside_now();

    if (e != NULL && is_first()) {
        write_note(e, MORTISE_DEATH_THREAD);
        say(e, "ended the engine's thread that called it (pthread_exit)", "");
        syscall(SYS_exit_group, FAILED);
    }
    if (e != NULL && !atomic_load(&owned))
        say(e, "ended the engine's thread that called it (pthread_exit)",
            ", which also ended the other work of that thread");
    abort(); /* nobody could go on from here */
}

void mortise_death_of_child(void)
{
    const struct mortise_inside_entry *e = mortise_inside_now();
    static const struct text nobody = {
        sizeof "mortise: the child of a fork returned into the engine of its "
               "parent and was ended\n" -
            1,
        "mortise: the child of a fork returned into the engine of its parent "
        "and was ended\n"};

    if (e != NULL)
        say(e, "called fork(), and the child returned into the engine",
            ": the child was ended, the engine continues");
    else
        write_all(STDERR_FILENO, &nobody);
}

_Noreturn void mortise_death_by_hanging(const struct mortise_inside_entry *e)
{
    struct text words = {.n = 0};
    char ms[21];

    if (is_first()) {
        PUT(&words, "blocked the engine's thread for ",
            number(ms, e->patience_ms), " ms (`idle` of its manifest)");
        words.p[words.n] = '\0';
        write_note(e, MORTISE_DEATH_HANG);
        say(e, words.p, "");
    }
    for (;;)
        syscall(SYS_exit_group, FAILED);
}

/* ---- threads of its own --------------------------------------------------- */

static bool has(const struct dl_phdr_info *info, const ElfW(Phdr) * h,
                uintptr_t at)
{
    uintptr_t low = info->dlpi_addr + h->p_vaddr;

    return h->p_type == PT_LOAD && at >= low && at < low + h->p_memsz;
}

/* Where the code of the object lies that has the address. */
static int find_object(struct dl_phdr_info *info, size_t size, void *ud)
{
    struct mortise_culprit *c = ud;
    const ElfW(Phdr) *code = NULL;
    bool here = false;

    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];

        here |= has(info, h, c->code);
        if (h->p_type == PT_LOAD && (h->p_flags & PF_X) != 0)
            code = h;
    }
    if (!here || code == NULL)
        return 0;
    c->code = info->dlpi_addr + code->p_vaddr;
    c->code_end = c->code + code->p_memsz;
    return 1;
}

void mortise_death_know(struct mortise_culprit *c, const void *in_its_object)
{
    assert(c->code == 0 && in_its_object != NULL); /* once, until forgotten */
    c->code = (uintptr_t)in_its_object;
    c->code_end = 0;
    if (dl_iterate_phdr(find_object, c) == 0) {
        c->code = 0;
        return;
    }
    pthread_mutex_lock(&known_lock);
    c->next = atomic_load(&known);
    atomic_store(&known, c);
    pthread_mutex_unlock(&known_lock);
}

void mortise_death_forget(struct mortise_culprit *c)
{
    struct mortise_culprit *k;

    if (c->code == 0)
        return;
    pthread_mutex_lock(&known_lock);
    k = atomic_load(&known);
    if (k == c) {
        atomic_store(&known, c->next);
    } else {
        for (; k->next != c; k = k->next)
            assert(k->next != NULL); /* know() put it there */
        k->next = c->next;
    }
    pthread_mutex_unlock(&known_lock);
    c->code = c->code_end = 0;
}

/* ---- owning --------------------------------------------------------------- */

void mortise_death_own(void)
{
    if (atomic_load(&owned) && atomic_load(&process) == getpid())
        return;
    atomic_store(&process, getpid());
    atomic_flag_clear(&noted);
    atomic_store(&owned, true);
    mortise_inside_want_stacks();
    mortise_watchdog_enable();
}
