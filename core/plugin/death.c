/* death.c -- detect and record that a plugin ended the process.
 *
 * A run whose plugin crashes would take the engine down at every start.  To
 * skip that run, the next start must know which plugin crashed.  It must not
 * blame a healthy plugin because somebody killed the process during a call.
 *
 *   (1) Only deaths that the plugin caused are recorded: a fault in a thread
 *       that is inside the plugin or that it created; abort() and other signals
 *       that this process raised; exit() and _exit() from inside it; the end of
 *       a thread that it was lent; a hang of a thread that must not block.  A
 *       signal from another process is not recorded, nor is a death that leaves
 *       no time to write: SIGKILL, a power cut.
 *   (2) The note is in the file (at least in the page cache, which outlives the
 *       process) before the process ends.  It is one line, written with one
 *       write() to the plugin's file in the quarantine directory; quarantine.c
 *       describes the format.  Writing it needs no heap and no lock.
 *   (3) The program that catches signals and exits calls this file
 *       (cli/fatal.c), because a library must not install handlers.  Without
 *       these calls nothing is recorded.
 *   (4) A process that a plugin ended never exits with status 0.
 *   (5) A child of fork() records nothing, because its parent is inside the
 *       same plugin.
 *
 * A plugin's own threads make no visits (inside.h).  They are recognized by an
 * instruction pointer in the plugin's object, or by return addresses of that
 * object on the stack.  A host thread that never entered a plugin has no such
 * addresses on its stack.
 *
 * Not recorded: a fault while the plugin blocks the signal or has replaced our
 * handler; a direct syscall(SYS_exit_group). */
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
    LINE = 1200,     /* the longest note or message */
    DEEP = 64 << 10, /* bytes of a stack to search */
    FAILED = 1       /* the exit status of the process */
};

static atomic_bool owned;
static _Atomic pid_t process; /* the process that records its deaths */
static atomic_flag noted = ATOMIC_FLAG_INIT; /* a death is or was recorded */

/* Culprits with known code.  Signal handlers read the list; writers hold the
 * lock. */
static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;
static struct mortise_culprit *_Atomic known;

/* ---- text, without stdio ------------------------------------------------- */

struct text {
    size_t n;
    char p[LINE];
};

static void append_note_text(struct text *t, const char *s)
{
    while (*s != '\0' && t->n < LINE)
        t->p[t->n++] = *s++;
}

/* Append strings up to a NULL. */
static void append_texts(struct text *t, const char *const *words)
{
    while (*words != NULL)
        append_note_text(t, *words++);
}
#define PUT(t, ...) append_texts(t, (const char *const[]){__VA_ARGS__, NULL})

/* Format v at the end of `digits`. */
static const char *format_number(char digits[21], uint64_t v)
{
    char *at = &digits[20];

    *at = '\0';
    do
        *--at = (char)('0' + v % 10);
    while ((v /= 10) > 0);
    return at;
}

static const char *text_or_dash(const char *s)
{
    return s[0] != '\0' ? s : "-";
}

static void write_text_to(int fd, const struct text *t)
{
    ssize_t n = write(fd, t->p, t->n);

    (void)n; /* a failure cannot be reported any more */
}

/* ---- the note (2) -------------------------------------------------------- */

static const char *stage_name(enum mortise_visit_stage stage)
{
    static const char *const names[] = {
        [MORTISE_VISIT_CREATE] = "create", [MORTISE_VISIT_CALL] = "call",
        [MORTISE_VISIT_ANSWER] = "answer", [MORTISE_VISIT_CANCEL] = "cancel",
        [MORTISE_VISIT_END] = "end",       [MORTISE_VISIT_THREAD] = "thread",
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
    /* The plugin used up all descriptors; stdin is expendable. */
    close(STDIN_FILENO);
    return openat(c->dir, c->name, flags, 0600);
}

static void write_note(const struct mortise_visit_record *e, const char *how)
{
    struct text t = {.n = 0};
    struct timespec now;
    char ms[21];
    int fd = e->culprit->dir >= 0 ? open_notes(e->culprit) : -1;

    if (fd < 0)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    /* The leading newline ends an incomplete line of an earlier death. */
    PUT(&t, "\n", e->culprit->hex, " died ",
        format_number(ms, (uint64_t)now.tv_sec * 1000 +
                              (uint64_t)now.tv_nsec / 1000000),
        " ", how, " ", stage_name(e->stage), " ", text_or_dash(e->tenant), " ",
        text_or_dash(e->run), " ", text_or_dash(e->path), "\n");
    write_text_to(fd, &t);
    close(fd);
}

static void append_location(struct text *t,
                            const struct mortise_visit_record *e)
{
    if (e->stage == MORTISE_VISIT_CREATE)
        append_note_text(t, " while it started");
    else if (e->stage == MORTISE_VISIT_THREAD)
        append_note_text(t, " in its own thread");
    if (e->is_unstored)
        PUT(t, " (node ", e->path,
            " of a new run, which may not be recorded: see 'mortise runs')");
    else if (e->run[0] != '\0')
        PUT(t, " (node ", e->path, " of run ", e->run, ")");
}

/* Print "mortise: plugin 'NAME' WORDS (node PATH of run RUN)REST".  Omit the id
 * of a run that may not be on disk: no command would find it (R3). */
static void print_death(const struct mortise_visit_record *e, const char *words,
                        const char *rest)
{
    struct text t = {.n = 0};

    PUT(&t, "mortise: plugin '", e->culprit->name, "' ", words);
    append_location(&t, e);
    PUT(&t, rest, "\n");
    write_text_to(STDERR_FILENO, &t);
}

/* True for the first thread that dies; the others record and print nothing. */
static bool claim_first_death(void)
{
    return atomic_load(&owned) && atomic_load(&process) == getpid() &&
           !atomic_flag_test_and_set(&noted);
}

/* ---- attribution of a thread to a plugin --------------------------------- */

static const struct mortise_culprit *find_code_owner(uintptr_t address)
{
    const struct mortise_culprit *c = atomic_load(&known);

    while (c != NULL && (address < c->code || address >= c->code_end))
        c = c->next;
    return c;
}

static void get_registers(const ucontext_t *u, uintptr_t *pc, uintptr_t *sp)
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

/* Copy a part of the stack.  The kernel does the read, because the end of the
 * stack is unknown and a direct read could fault. */
static size_t read_stack(uintptr_t sp, uintptr_t *words, size_t size)
{
    struct iovec to = {words, size};
    struct iovec from = {(void *)sp, size};
    ssize_t n = process_vm_readv(getpid(), &to, 1, &from, 1, 0);

    return n > 0 ? (size_t)n / sizeof *words : 0;
}

/* Find the plugin whose code this thread runs, or whose code is on its
 * stack. */
static const struct mortise_culprit *find_thread_culprit(const ucontext_t *u)
{
    uintptr_t pc, sp, words[128];
    const struct mortise_culprit *c;
    size_t n;

    get_registers(u, &pc, &sp);
    c = find_code_owner(pc);
    /* Aligned pieces do not cross a page. */
    sp &= ~(uintptr_t)(sizeof words - 1);
    for (uintptr_t end = sp + DEEP; c == NULL && sp < end; sp += sizeof words) {
        n = read_stack(sp, words, sizeof words);
        if (n == 0)
            break;
        for (size_t i = 0; c == NULL && i < n; i++)
            c = find_code_owner(words[i]);
    }
    return c;
}

/* ---- causes of death ----------------------------------------------------- */

void mortise_death_record_signal(const char *name, const void *context)
{
    const struct mortise_visit_record *e = mortise_visit_get_current();
    struct mortise_visit_record own = {.stage = MORTISE_VISIT_THREAD};
    struct text words = {.n = 0};

    if (e == NULL && !mortise_visit_has_entered()) {
        own.culprit = find_thread_culprit(context);
        e = own.culprit != NULL ? &own : NULL;
    }
    if (e == NULL || !claim_first_death())
        return;
    write_note(e, name);
    PUT(&words, "was killed by ", name);
    words.p[words.n] = '\0';
    print_death(e, words.p, "");
}

bool mortise_death_record_exit(void)
{
    const struct mortise_visit_record *e = mortise_visit_get_current();

    if (e == NULL || !claim_first_death())
        return false;
    write_note(e, MORTISE_DEATH_EXIT);
    print_death(e, "ended the process (exit)", "");
    return true;
}

void mortise_death_record_thread(void)
{
    const struct mortise_visit_record *e = mortise_visit_get_current();

    if (e != NULL && claim_first_death()) {
        write_note(e, MORTISE_DEATH_THREAD);
        print_death(
            e, "ended the engine's thread that called it (pthread_exit)", "");
        syscall(SYS_exit_group, FAILED);
    }
    if (e != NULL && !atomic_load(&owned))
        print_death(e,
                    "ended the engine's thread that called it (pthread_exit)",
                    ", which also ended the other work of that thread");
    abort(); /* no caller can continue from here */
}

void mortise_death_report_child(void)
{
    const struct mortise_visit_record *e = mortise_visit_get_current();
    static const struct text nobody = {
        sizeof "mortise: the child of a fork returned into the engine of its "
               "parent and was ended\n" -
            1,
        "mortise: the child of a fork returned into the engine of its parent "
        "and was ended\n"};

    if (e != NULL)
        print_death(e, "called fork(), and the child returned into the engine",
                    ": the child was ended, the engine continues");
    else
        write_text_to(STDERR_FILENO, &nobody);
}

_Noreturn void mortise_death_record_hang(const struct mortise_visit_record *e)
{
    struct text words = {.n = 0};
    char ms[21];

    if (claim_first_death()) {
        PUT(&words, "blocked the engine's thread for ",
            format_number(ms, e->patience_ms), " ms (`idle` of its manifest)");
        words.p[words.n] = '\0';
        write_note(e, MORTISE_DEATH_HANG);
        print_death(e, words.p, "");
    }
    for (;;)
        syscall(SYS_exit_group, FAILED);
}

/* ---- threads of plugins -------------------------------------------------- */

static bool segment_has_address(const struct dl_phdr_info *info,
                                const ElfW(Phdr) * h, uintptr_t at)
{
    uintptr_t low = info->dlpi_addr + h->p_vaddr;

    return h->p_type == PT_LOAD && at >= low && at < low + h->p_memsz;
}

/* Store the bounds of the executable segment of the object that contains
 * c->code. */
static int find_object_code(struct dl_phdr_info *info, size_t size, void *ud)
{
    struct mortise_culprit *c = ud;
    const ElfW(Phdr) *code = NULL;
    bool here = false;

    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];

        here |= segment_has_address(info, h, c->code);
        if (h->p_type == PT_LOAD && (h->p_flags & PF_X) != 0)
            code = h;
    }
    if (!here || code == NULL)
        return 0;
    c->code = info->dlpi_addr + code->p_vaddr;
    c->code_end = c->code + code->p_memsz;
    return 1;
}

void mortise_death_add_culprit(struct mortise_culprit *c,
                               const void *in_its_object)
{
    assert(c->code == 0 && in_its_object != NULL); /* once, until forgotten */
    c->code = (uintptr_t)in_its_object;
    c->code_end = 0;
    if (dl_iterate_phdr(find_object_code, c) == 0) {
        c->code = 0;
        return;
    }
    pthread_mutex_lock(&known_lock);
    c->next = atomic_load(&known);
    atomic_store(&known, c);
    pthread_mutex_unlock(&known_lock);
}

void mortise_death_remove_culprit(struct mortise_culprit *c)
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
            assert(k->next != NULL); /* mortise_death_add_culprit() added it */
        k->next = c->next;
    }
    pthread_mutex_unlock(&known_lock);
    c->code = c->code_end = 0;
}

/* ---- owning -------------------------------------------------------------- */

void mortise_death_start_recording(void)
{
    if (atomic_load(&owned) && atomic_load(&process) == getpid())
        return;
    atomic_store(&process, getpid());
    atomic_flag_clear(&noted);
    atomic_store(&owned, true);
    mortise_visit_enable_signal_stacks();
    mortise_watchdog_enable();
}
