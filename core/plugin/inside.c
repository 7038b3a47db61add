/* inside.c -- which thread is inside which plugin, and on whose behalf.
 *
 * A plugin is code of strangers on threads of ours.  When it takes the process
 * down, somebody must be able to say who did it and for which execution; when
 * it comes back, the thread must be what it was before.  So each call of a
 * plugin's code is a visit:
 *
 *   (1) What a visit is for is copied into memory of this thread alone, which
 *       no allocator hands out, before the plugin runs: what the plugin does to
 *       the heap then changes nothing in it.  Saying so takes no lock and no
 *       system call.
 *   (2) Behind a visit the thread has the locale and the floating-point
 *       environment (rounding, traps, flush to zero) that it had before; and
 *       the signal mask, on the engine's thread at the end of its turn: system
 *       calls would cost more than a short call of a plugin does.  The working
 *       directory and the umask are a worker's own (core/engine/parts/pool.c); on the
 *       engine's thread they are the process's, like setlocale() and signal
 *       handlers, and stay as the plugin made them.
 *   (3) A thread that ends within a visit (pthread_exit, pthread_cancel) was
 *       taken from whoever lent it: that is a death (death.h).
 *   (4) A process is told from its children without a system call, by a page
 *       that the kernel empties in them (MADV_WIPEONFORK).  Where that does not
 *       exist, by the process's number.
 *   (5) Somebody can see from outside how long a visit takes, though none of
 *       them looks at a clock: look() is made at regular times, and counts.
 *       Times that this whole process was stopped count once at most.
 */
#include "core/plugin/inside.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/plugin/death.h"

enum { STACK = 64 << 10 /* of a signal handler */ };

/* A thread that has been inside a plugin.  Mapped by itself, (1). */
struct place {
    struct place *next, **at; /* under `lock` */
    void *stack;              /* NULL: none of ours */
    const struct mortise_whose *whose;
    bool stirred; /* visits were made that left the mask as it was made */
    /* Written by the thread, read by whoever looks. */
    _Atomic unsigned depth;  /* visits that were begun and have not ended */
    _Atomic uint64_t serial; /* moves with each of them */
    struct mortise_inside_entry entries[MORTISE_INSIDE_DEPTH];
    /* The looker's. */
    uint64_t seen_serial, seen_ms;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards: */
static struct place *places;
static atomic_bool want_stacks;

_Atomic bool mortise_inside_dozes;
void (*mortise_inside_wake)(void);

/* Static TLS: a handler may look at it on threads that never did. */
static _Thread_local struct place *mine
    __attribute__((tls_model("initial-exec")));

/* ---- threads ------------------------------------------------------------ */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* its destructor sees threads end */

static void drop_stack(struct place *p)
{
    const stack_t none = {.ss_flags = SS_DISABLE};

    if (p->stack == NULL)
        return;
    sigaltstack(&none, NULL);
    munmap(p->stack, STACK);
}

/* This thread ends. */
static void thread_ends(void *ud)
{
    struct place *p = ud;

    assert(p == mine);
    if (atomic_load(&p->depth) > 0)
        mortise_death_of_thread();
    mine = NULL;
    drop_stack(p);
    pthread_mutex_lock(&lock);
    assert(*p->at == p); /* in the list, once */
    *p->at = p->next;
    if (p->next != NULL)
        p->next->at = p->at;
    pthread_mutex_unlock(&lock);
    munmap(p, sizeof *p);
}

/* A stack overflow is a fault like others, if its handler has a stack of its
 * own.  One that somebody else gave this thread stays. */
static void give_stack(struct place *p)
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

static uint64_t *page; /* (4): 0 in a child; NULL: there is no such page */

static void begin(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    pthread_key_create(&key, thread_ends);
    if (p == MAP_FAILED)
        return;
    if (madvise(p, size, MADV_WIPEONFORK) == 0)
        page = p;
    else
        munmap(p, size);
}

/* This thread's, made with its first visit; NULL without memory. */
static struct place *place(void)
{
    struct place *p = mine;

    if (p != NULL)
        return p;
    pthread_once(&once, begin);
    p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    if (pthread_setspecific(key, p) != 0) {
        munmap(p, sizeof *p);
        return NULL;
    }
    if (atomic_load(&want_stacks))
        give_stack(p);
    pthread_mutex_lock(&lock);
    p->next = places;
    p->at = &places;
    if (places != NULL)
        places->at = &p->next;
    places = p;
    pthread_mutex_unlock(&lock);
    mine = p;
    return p;
}

void mortise_inside_want_stacks(void)
{
    atomic_store(&want_stacks, true);
    if (mine != NULL && mine->stack == NULL)
        give_stack(mine);
}

/* ---- numbers --------------------------------------------------------------
 *
 * fegetenv() and fesetenv() do it anywhere; but the x87's environment, which
 * they move whole, is slow to move, and its control word is all that counts. */

#if defined(__x86_64__)
enum { MXCSR_FLAGS = 0x3F }; /* what has happened, not what is to happen */

static void get_numbers(struct mortise_numbers *n)
{
    n->sse = __builtin_ia32_stmxcsr();
    __asm__ volatile("fnstcw %0" : "=m"(n->x87));
}

static void put_numbers(const struct mortise_numbers *n)
{
    struct mortise_numbers now;

    get_numbers(&now);
    if ((now.sse ^ n->sse) & ~(uint32_t)MXCSR_FLAGS)
        __builtin_ia32_ldmxcsr(n->sse);
    if (now.x87 != n->x87)
        __asm__ volatile("fldcw %0" : : "m"(n->x87));
}
#else
static void get_numbers(struct mortise_numbers *n)
{
    fegetenv(&n->env);
}

static void put_numbers(const struct mortise_numbers *n)
{
    fesetenv(&n->env);
}
#endif

/* ---- visits ------------------------------------------------------------- */

/* `size` is room for the longest that there is; what is longer is cut. */
static void copy(char *to, const char *from, size_t size)
{
    size_t n = from != NULL ? strnlen(from, size - 1) : 0;

    assert(size > 0);
    if (n > 0)
        memcpy(to, from, n);
    to[n] = '\0';
}

static void note(struct place *p, const struct mortise_culprit *culprit,
                 enum mortise_inside_stage stage,
                 const struct mortise_whose *whose, uint64_t patience_ms)
{
    static const struct mortise_whose nobody;
    unsigned depth = atomic_load_explicit(&p->depth, memory_order_relaxed);
    struct mortise_inside_entry *e = &p->entries[depth];

    assert(p == mine && culprit != NULL); /* else nothing is noted */
    assert(stage < MORTISE_INSIDE_THREAD);
    if (whose == NULL)
        whose = p->whose != NULL ? p->whose : &nobody;
    if (depth < MORTISE_INSIDE_DEPTH) {
        e->culprit = culprit;
        e->stage = stage;
        atomic_store_explicit(&e->patience_ms, patience_ms,
                              memory_order_relaxed);
        copy(e->tenant, whose->tenant, sizeof e->tenant);
        copy(e->run, whose->run, sizeof e->run);
        copy(e->path, whose->path, sizeof e->path);
        e->is_unstored = whose->is_unstored;
    }
    atomic_fetch_add_explicit(&p->serial, 1, memory_order_relaxed);
    /* Before it is looked whether anybody watches, who looks for visits before
     * dozing off: one of the two sees the other. */
    atomic_store(&p->depth, depth + 1);
    if (patience_ms != 0 && atomic_load(&mortise_inside_dozes))
        mortise_inside_wake();
}

void mortise_inside_enter(struct mortise_visit *v,
                          const struct mortise_culprit *culprit,
                          enum mortise_inside_stage stage,
                          const struct mortise_whose *whose,
                          uint64_t patience_ms, enum mortise_inside_mask mask)
{
    struct place *p = culprit != NULL ? place() : NULL;

    v->masked = mask == MORTISE_MASK_NOW;
    if (v->masked)
        pthread_sigmask(SIG_SETMASK, NULL, &v->mask);
    v->locale = uselocale((locale_t)0);
    get_numbers(&v->numbers);
    v->noted = p != NULL;
    if (v->noted)
        note(p, culprit, stage, whose, patience_ms);
}

void mortise_inside_leave(struct mortise_visit *v)
{
    struct place *p = mine;

    if (v->noted) {
        assert(p != NULL && atomic_load(&p->depth) > 0); /* pairs */
        atomic_fetch_sub(&p->depth, 1);
        atomic_fetch_add_explicit(&p->serial, 1, memory_order_relaxed);
    }
    put_numbers(&v->numbers);
    uselocale(v->locale);
    if (v->masked)
        pthread_sigmask(SIG_SETMASK, &v->mask, NULL);
    else if (p != NULL)
        p->stirred = true;
}

bool mortise_inside_stirred(void)
{
    bool is = mine != NULL && mine->stirred;

    if (is)
        mine->stirred = false;
    return is;
}

const struct mortise_whose *
mortise_inside_for(const struct mortise_whose *whose)
{
    struct place *p = place();
    const struct mortise_whose *before = p != NULL ? p->whose : NULL;

    if (p != NULL)
        p->whose = whose;
    return before;
}

static const struct mortise_inside_entry *innermost(const struct place *p)
{
    unsigned depth = atomic_load(&p->depth);

    if (depth > MORTISE_INSIDE_DEPTH)
        depth = MORTISE_INSIDE_DEPTH;
    return depth > 0 ? &p->entries[depth - 1] : NULL;
}

const struct mortise_inside_entry *mortise_inside_now(void)
{
    return mine != NULL ? innermost(mine) : NULL;
}

bool mortise_inside_ever(void)
{
    return mine != NULL;
}

/* ---- fork --------------------------------------------------------------- */

uint64_t mortise_inside_process(void)
{
    pthread_once(&once, begin);
    if (page == NULL)
        return (uint64_t)getpid();
    /* The first in a process gives it its number, before it has threads that
     * could ask: who asks first opens a plugin. */
    if (__atomic_load_n(page, __ATOMIC_RELAXED) == 0)
        __atomic_store_n(page, (uint64_t)getpid(), __ATOMIC_RELAXED);
    return __atomic_load_n(page, __ATOMIC_RELAXED);
}

bool mortise_inside_is(uint64_t process)
{
    return (page != NULL ? __atomic_load_n(page, __ATOMIC_RELAXED)
                         : (uint64_t)getpid()) == process;
}

void mortise_inside_end_child(void)
{
    mortise_death_of_child();
    for (;;)
        syscall(SYS_exit_group, 1);
}

/* ---- looking ------------------------------------------------------------ */

static uint64_t patience_of(const struct mortise_inside_entry *e)
{
    return atomic_load_explicit(&e->patience_ms, memory_order_relaxed);
}

/* The outermost visit that is to return by some time: what is inside of it
 * keeps it. */
static const struct mortise_inside_entry *bounded(const struct place *p)
{
    unsigned depth = atomic_load(&p->depth);

    for (unsigned i = 0; i < depth && i < MORTISE_INSIDE_DEPTH; i++)
        if (patience_of(&p->entries[i]) != 0)
            return &p->entries[i];
    return NULL;
}

static bool is_late(struct place *p, const struct mortise_inside_entry *e,
                    uint64_t tick_ms)
{
    uint64_t serial = atomic_load(&p->serial);
    uint64_t patience_ms = patience_of(e); /* 0: its thread went on meanwhile */

    if (serial != p->seen_serial) {
        p->seen_serial = serial;
        p->seen_ms = 0;
        return false;
    }
    p->seen_ms += tick_ms;
    return patience_ms != 0 && p->seen_ms >= patience_ms;
}

bool mortise_inside_look(uint64_t tick_ms,
                         const struct mortise_inside_entry **out)
{
    bool any = false;

    *out = NULL;
    pthread_mutex_lock(&lock);
    for (struct place *p = places; p != NULL && *out == NULL; p = p->next) {
        const struct mortise_inside_entry *e = bounded(p);

        any |= e != NULL;
        if (e != NULL && is_late(p, e, tick_ms))
            *out = e;
    }
    assert(*out == NULL || any);
    pthread_mutex_unlock(&lock);
    return any;
}
