/* host.h -- the inside of an instance, shared by instance.c (calls into the
 * plugin) and host.c (what the plugin calls). */
#ifndef MORTISE_PLUGIN_HOST_H
#define MORTISE_PLUGIN_HOST_H

#include "core/plugin/call_table.h"
#include "core/plugin/endpoint.h"
#include "core/plugin/inside.h"

/* The opaque thing that a plugin is handed. */
struct mortise_host {
    struct mortise_instance *instance;
};

struct mortise_instance {
    struct mortise_host host;
    const struct mortise_mem *mem;
    struct mortise_endpoint *to; /* owned */
    const struct mortise_manifest *manifest;
    const struct mortise_culprit *culprit; /* NULL: deaths are nobody's */
    uint64_t process; /* where it lives: no child of fork goes on with it */
    struct mortise_instance_ops ops;
    struct mortise_call_table calls;
    _Atomic uint64_t last_ask;
    _Atomic unsigned scolded; /* bits: said once, not again */
    atomic_bool closing;
    /* A leaked instance must not call its engine, which is gone: `deaf`, and
     * nobody `outside` (in one of ops) any more before close() returns. */
    atomic_bool deaf;
    struct mortise_instance *next_leaked; /* the one before it */
    atomic_int outside;
    pthread_mutex_t lock;       /* guards what follows */
    struct mortise_words words; /* for create() */
    pthread_cond_t over;        /* `returned` became true */
    bool returned;              /* what `last` is has */
    mortise_status last_status; /* ... with that */
    uint64_t last_by_ns; /* these are written before its thread is made */
    enum mortise_wire_type last; /* QUIESCE or DESTROY */
};

/* What create() gets. */
extern const mortise_host_api mortise_host_functions;

/* Whoever comes here from the plugin is in the process that created it; the
 * child of a fork ends here. */
static inline void mortise_host_not_a_child(const struct mortise_instance *i)
{
    if (!mortise_inside_is(i->process))
        mortise_inside_end_child();
}

/* Around each call of the plugin's code; what is there besides the arguments of
 * inside.h is the instance's. */
void mortise_host_visit(struct mortise_instance *i, struct mortise_visit *v,
                        enum mortise_inside_stage stage,
                        const struct mortise_whose *whose, bool on_loop);
void mortise_host_leave(struct mortise_instance *i, struct mortise_visit *v);

/* An answer, or a piece of one; the slot unlocked. */
void mortise_host_call_back(struct mortise_instance *i,
                            const struct mortise_ask *a, mortise_status status,
                            mortise_str body);
/* Take an ask out of its call's list, if it is there: it is the caller's, with
 * its pin.  Cell locked. */
struct mortise_ask *mortise_host_unlink_ask(struct mortise_call_slot *s,
                                            uint64_t ask);

/* printf into the log, in the plugin's name. */
void mortise_host_log(struct mortise_instance *i, int level, const char *fmt,
                      ...) MORTISE_PRINTF(3, 4);

/* May its call end later; may it let go, to be made again when an answer is
 * there? */
bool mortise_host_may_pend(const struct mortise_call_slot *s);
bool mortise_host_may_suspend(const struct mortise_call_slot *s);
/* Settle the outcome of a call that has none yet.  Cell locked. */
void mortise_host_settle(struct mortise_call_slot *s, mortise_status status,
                         const struct mortise_words *words);
/* Tell `done`.  Takes over the slot's lock and the call's pin. */
void mortise_host_deliver(struct mortise_instance *i,
                          struct mortise_call_slot *s);
/* Take n pins off; the slot is unlocked, and free behind the last. */
void mortise_host_unpin(struct mortise_instance *i, struct mortise_call_slot *s,
                        unsigned n);
/* Answer everything that a call has asked: it was cancelled or has ended.
 * Takes the slot locked, unlocks it. */
void mortise_host_answer_all(struct mortise_instance *i,
                             struct mortise_call_slot *s);
static inline mortise_str mortise_str_of(const char *s, size_t n)
{
    return (mortise_str){s, n};
}

#endif
