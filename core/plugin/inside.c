/* inside.c -- track which plugin each thread is in, and for which execution.
 *
 * A plugin is third-party code on the host's threads.  If it crashes the
 * process, the plugin and the execution must be known.  When it returns, the
 * thread must have its former state.  Therefore each call into a plugin is a
 * visit:
 *
 *   (1) Before the plugin runs, the details of the visit are copied into memory
 *       of this thread alone, outside the heap.  Heap corruption by the plugin
 *       cannot change them.  Recording takes no lock and no system call.
 *   (2) After a visit the thread has its former locale and floating-point
 *       environment (rounding, traps, flush to zero).  It also has its former
 *       signal mask; on the engine's thread this is restored at the end of the
 *       turn, because the system calls cost more than a short call of a plugin.
 *       Workers have their own working directory and umask
 *       (core/engine/parts/pool.c).  On the engine's thread these belong to the
 *       process, like setlocale() and signal handlers, and are not restored.
 *   (3) A thread that ends within a visit (pthread_exit, pthread_cancel) was
 *       taken from its owner: this counts as a death (death.h).
 *   (4) A process is told from its children without a system call, by a page
 *       that the kernel clears in children (MADV_WIPEONFORK).  Without that
 *       feature, getpid() tells them apart.
 *   (5) The watchdog measures visits although no visit reads a clock:
 *       mortise_visit_find_overdue() runs at regular intervals and counts them.  If
 *       the whole process was stopped, this counts as one interval at most. */
#include "core/plugin/inside.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/plugin/death.h"

enum { STACK = 64 << 10 /* size of a signal handler's stack */ };

/* A thread that has entered a plugin.  Mapped separately, (1). */
struct thread_record {
    struct thread_record *next, **at; /* guarded by `lock` */
    void *stack;                      /* NULL: not ours */
    const struct mortise_visit_execution *whose;
    bool stirred; /* a visit did not restore the signal mask */
    /* Written by the thread, read by the watchdog. */
    _Atomic unsigned depth;  /* visits in progress */
    _Atomic uint64_t serial; /* changes with each enter and leave */
    struct mortise_visit_record entries[MORTISE_VISIT_DEPTH];
    /* Used by the watchdog only. */
    uint64_t seen_serial, seen_ms;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list */
static struct thread_record *thread_records;
static atomic_bool want_stacks;

_Atomic bool mortise_watchdog_is_asleep;
void (*mortise_watchdog_wake)(void);

/* Static TLS: a signal handler may read it on any thread without allocating. */
static _Thread_local struct thread_record *current_record
    __attribute__((tls_model("initial-exec")));

/* ---- threads ------------------------------------------------------------- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* its destructor runs when a thread ends */

static void free_signal_stack(struct thread_record *p)
{
    const stack_t none = {.ss_flags = SS_DISABLE};

    if (p->stack == NULL)
        return;
    sigaltstack(&none, NULL);
    munmap(p->stack, STACK);
}

/* Destructor of `key`. */
static void end_thread_record(void *ud)
{
    struct thread_record *p = ud;

    assert(p == current_record);
    if (atomic_load(&p->depth) > 0)
        mortise_death_record_thread();
    current_record = NULL;
    free_signal_stack(p);
    pthread_mutex_lock(&lock);
    assert(*p->at == p); /* in the list, once */
    *p->at = p->next;
    if (p->next != NULL)
        p->next->at = p->at;
    pthread_mutex_unlock(&lock);
    munmap(p, sizeof *p);
}

/* A stack overflow can be handled only on an alternate stack.  Keep one that
 * other code installed. */
static void add_signal_stack(struct thread_record *p)
{
    stack_t now;
    void *stack;

    if (sigaltstack(NULL, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0)
        return;
    stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED)
        return;
    now = (stack_t){.ss_sp = stack, .ss_size = STACK};
    if (sigaltstack(&now, NULL) == 0)
        p->stack = stack;
    else
        munmap(stack, STACK);
}

static uint64_t *fork_page; /* (4): cleared in a child; NULL: not supported */

static void init_tracking(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    pthread_key_create(&key, end_thread_record);
    if (p == MAP_FAILED)
        return;
    if (madvise(p, size, MADV_WIPEONFORK) == 0)
        fork_page = p;
    else
        munmap(p, size);
}

/* The record of this thread, created at its first visit; NULL: out of
 * memory. */
static struct thread_record *get_thread_record(void)
{
    struct thread_record *p = current_record;

    if (p != NULL)
        return p;
    pthread_once(&once, init_tracking);
    p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    if (pthread_setspecific(key, p) != 0) {
        munmap(p, sizeof *p);
        return NULL;
    }
    if (atomic_load(&want_stacks))
        add_signal_stack(p);
    pthread_mutex_lock(&lock);
    p->next = thread_records;
    p->at = &thread_records;
    if (thread_records != NULL)
        thread_records->at = &p->next;
    thread_records = p;
    pthread_mutex_unlock(&lock);
    current_record = p;
    return p;
}

void mortise_visit_enable_signal_stacks(void)
{
    atomic_store(&want_stacks, true);
    if (current_record != NULL && current_record->stack == NULL)
        add_signal_stack(current_record);
}

/* ---- floating-point control -----------------------------------------------
 *
 * fegetenv() and fesetenv() work anywhere.  On x86-64 they move the whole x87
 * environment, which is slow; the control words are enough. */

#if defined(__x86_64__)
enum { MXCSR_FLAGS = 0x3F }; /* sticky exception flags, not control bits */

static void get_float_control(struct mortise_numbers *n)
{
    n->sse = __builtin_ia32_stmxcsr();
    __asm__ volatile("fnstcw %0" : "=m"(n->x87));
}

static void set_float_control(const struct mortise_numbers *n)
{
    struct mortise_numbers now;

    get_float_control(&now);
    if ((now.sse ^ n->sse) & ~(uint32_t)MXCSR_FLAGS)
        __builtin_ia32_ldmxcsr(n->sse);
    if (now.x87 != n->x87)
        __asm__ volatile("fldcw %0" : : "m"(n->x87));
}
#else
static void get_float_control(struct mortise_numbers *n)
{
    fegetenv(&n->env);
}

static void set_float_control(const struct mortise_numbers *n)
{
    fesetenv(&n->env);
}
#endif

/* ---- visits -------------------------------------------------------------- */

/* Copy a string; cut it if it exceeds `size`. */
static void copy_truncated(char *to, const char *from, size_t size)
{
    size_t n = from != NULL ? strnlen(from, size - 1) : 0;

    assert(size > 0);
    if (n > 0)
        memcpy(to, from, n);
    to[n] = '\0';
}

static void record_visit(struct thread_record *p,
                         const struct mortise_culprit *culprit,
                         enum mortise_visit_stage stage,
                         const struct mortise_visit_execution *whose,
                         uint64_t patience_ms)
{
    static const struct mortise_visit_execution nobody;
    unsigned depth = atomic_load_explicit(&p->depth, memory_order_relaxed);
    struct mortise_visit_record *e = &p->entries[depth];

    /* Else nothing is recorded. */
    assert(p == current_record && culprit != NULL);
    assert(stage < MORTISE_VISIT_THREAD);
    if (whose == NULL)
        whose = p->whose != NULL ? p->whose : &nobody;
    if (depth < MORTISE_VISIT_DEPTH) {
        e->culprit = culprit;
        e->stage = stage;
        atomic_store_explicit(&e->patience_ms, patience_ms,
                              memory_order_relaxed);
        copy_truncated(e->tenant, whose->tenant, sizeof e->tenant);
        copy_truncated(e->run, whose->run, sizeof e->run);
        copy_truncated(e->path, whose->path, sizeof e->path);
        e->is_unstored = whose->is_unstored;
    }
    atomic_fetch_add_explicit(&p->serial, 1, memory_order_relaxed);
    /* Increment depth before reading mortise_watchdog_is_asleep; the watchdog sets
     * that flag before it searches for visits.  One of the two therefore sees
     * the other. */
    atomic_store(&p->depth, depth + 1);
    if (patience_ms != 0 && atomic_load(&mortise_watchdog_is_asleep))
        mortise_watchdog_wake();
}

void mortise_visit_enter(struct mortise_visit *v,
                         const struct mortise_culprit *culprit,
                         enum mortise_visit_stage stage,
                         const struct mortise_visit_execution *whose,
                         uint64_t patience_ms, enum mortise_visit_mask mask)
{
    struct thread_record *p = culprit != NULL ? get_thread_record() : NULL;

    v->masked = mask == MORTISE_VISIT_MASK_NOW;
    if (v->masked)
        pthread_sigmask(SIG_SETMASK, NULL, &v->mask);
    v->locale = uselocale((locale_t)0);
    get_float_control(&v->numbers);
    v->noted = p != NULL;
    if (v->noted)
        record_visit(p, culprit, stage, whose, patience_ms);
}

void mortise_visit_leave(struct mortise_visit *v)
{
    struct thread_record *p = current_record;

    if (v->noted) {
        /* Enter and leave are paired. */
        assert(p != NULL && atomic_load(&p->depth) > 0);
        atomic_fetch_sub(&p->depth, 1);
        atomic_fetch_add_explicit(&p->serial, 1, memory_order_relaxed);
    }
    set_float_control(&v->numbers);
    uselocale(v->locale);
    if (v->masked)
        pthread_sigmask(SIG_SETMASK, &v->mask, NULL);
    else if (p != NULL)
        p->stirred = true;
}

bool mortise_visit_take_mask_change(void)
{
    bool is = current_record != NULL && current_record->stirred;

    if (is)
        current_record->stirred = false;
    return is;
}

const struct mortise_visit_execution *
mortise_visit_set_execution(const struct mortise_visit_execution *whose)
{
    struct thread_record *p = get_thread_record();
    const struct mortise_visit_execution *before = p != NULL ? p->whose : NULL;

    if (p != NULL)
        p->whose = whose;
    return before;
}

static const struct mortise_visit_record *
find_innermost_visit(const struct thread_record *p)
{
    unsigned depth = atomic_load(&p->depth);

    if (depth > MORTISE_VISIT_DEPTH)
        depth = MORTISE_VISIT_DEPTH;
    return depth > 0 ? &p->entries[depth - 1] : NULL;
}

const struct mortise_visit_record *mortise_visit_get_current(void)
{
    return current_record != NULL ? find_innermost_visit(current_record) : NULL;
}

bool mortise_visit_has_entered(void)
{
    return current_record != NULL;
}

/* ---- fork ---------------------------------------------------------------- */

uint64_t mortise_process_get_id(void)
{
    pthread_once(&once, init_tracking);
    if (fork_page == NULL)
        return (uint64_t)getpid();
    /* The first caller in a process sets the id, when it opens a plugin.  No
     * other thread can ask before that. */
    if (__atomic_load_n(fork_page, __ATOMIC_RELAXED) == 0)
        __atomic_store_n(fork_page, (uint64_t)getpid(), __ATOMIC_RELAXED);
    return __atomic_load_n(fork_page, __ATOMIC_RELAXED);
}

bool mortise_process_is_current(uint64_t process)
{
    return (fork_page != NULL ? __atomic_load_n(fork_page, __ATOMIC_RELAXED)
                              : (uint64_t)getpid()) == process;
}

void mortise_process_end_child(void)
{
    mortise_death_report_child();
    for (;;)
        syscall(SYS_exit_group, 1);
}

/* ---- watchdog ------------------------------------------------------------ */

static uint64_t get_time_limit(const struct mortise_visit_record *e)
{
    return atomic_load_explicit(&e->patience_ms, memory_order_relaxed);
}

/* The outermost visit with a time limit: a nested visit delays it. */
static const struct mortise_visit_record *
find_limited_visit(const struct thread_record *p)
{
    unsigned depth = atomic_load(&p->depth);

    for (unsigned i = 0; i < depth && i < MORTISE_VISIT_DEPTH; i++)
        if (get_time_limit(&p->entries[i]) != 0)
            return &p->entries[i];
    return NULL;
}

static bool is_visit_late(struct thread_record *p,
                          const struct mortise_visit_record *e,
                          uint64_t tick_ms)
{
    uint64_t serial = atomic_load(&p->serial);
    /* 0: the visit ended meanwhile. */
    uint64_t patience_ms = get_time_limit(e);

    if (serial != p->seen_serial) {
        p->seen_serial = serial;
        p->seen_ms = 0;
        return false;
    }
    p->seen_ms += tick_ms;
    return patience_ms != 0 && p->seen_ms >= patience_ms;
}

bool mortise_visit_find_overdue(uint64_t tick_ms,
                                const struct mortise_visit_record **out)
{
    bool any = false;

    *out = NULL;
    pthread_mutex_lock(&lock);
    for (struct thread_record *p = thread_records; p != NULL && *out == NULL;
         p = p->next) {
        const struct mortise_visit_record *e = find_limited_visit(p);

        any |= e != NULL;
        if (e != NULL && is_visit_late(p, e, tick_ms))
            *out = e;
    }
    assert(*out == NULL || any);
    pthread_mutex_unlock(&lock);
    return any;
}
