/* host.h -- internals of an instance, shared by instance.c (calls into the
 * plugin) and host.c (calls from the plugin). */
#ifndef MORTISE_PLUGIN_HOST_H
#define MORTISE_PLUGIN_HOST_H

#include "core/plugin/call_table.h"
#include "core/plugin/endpoint.h"
#include "core/plugin/inside.h"

/* The opaque handle that create() receives. */
struct mortise_host {
    struct mortise_instance *instance;
};

struct mortise_instance {
    struct mortise_host host;
    const struct mortise_mem *mem;
    struct mortise_endpoint *to; /* owned */
    const struct mortise_manifest *manifest;
    /* NULL: deaths are not attributed. */
    const struct mortise_culprit *culprit;
    uint64_t process; /* the process that opened it (inside.h) */
    struct mortise_instance_ops ops;
    struct mortise_call_table calls;
    _Atomic uint64_t last_ask;
    _Atomic unsigned scolded; /* bits WARNED_... of host.c */
    atomic_bool closing;
    /* A leaked instance must not call its engine, which is freed before it.
     * `deaf` stops new calls; close() then waits until `outside`, the number of
     * threads inside an op, is 0. */
    atomic_bool deaf;
    struct mortise_instance *next_leaked; /* list of leaked instances */
    atomic_int outside;
    pthread_mutex_t lock;              /* guards the fields below */
    struct mortise_plugin_error words; /* for create() */
    pthread_cond_t over;               /* `returned` became true */
    bool returned;                     /* the message `last` was handled */
    mortise_status last_status;        /* its result, once `returned` is true */
    uint64_t last_by_ns; /* this and `last` are set before the thread starts */
    enum mortise_wire_type last; /* QUIESCE or DESTROY */
};

/* The functions that create() receives. */
extern const mortise_host_api mortise_host_functions;

/* Called for each call from the plugin and each return of it.  Ends the process
 * if it is a child that the plugin forked. */
static inline void mortise_host_check_process(const struct mortise_instance *i)
{
    if (!mortise_process_is_current(i->process))
        mortise_process_end_child();
}

/* Call these around each call into the plugin.  They pass the instance's
 * culprit and time limit to inside.h. */
void mortise_host_enter_visit(struct mortise_instance *i,
                              struct mortise_visit *v,
                              enum mortise_visit_stage stage,
                              const struct mortise_visit_execution *whose,
                              bool on_loop);
void mortise_host_leave_visit(struct mortise_instance *i,
                              struct mortise_visit *v);

/* Call an ask's callback with an answer or a chunk of one; the slot is
 * unlocked. */
void mortise_host_call_back(struct mortise_instance *i,
                            const struct mortise_ask *a, mortise_status status,
                            mortise_str body);
/* Remove an ask from its call's list.  The caller then owns the ask and its
 * pin.  NULL: not in the list.  Slot locked. */
struct mortise_ask *mortise_host_unlink_ask(struct mortise_call_slot *s,
                                            uint64_t ask);

/* Log a message in the plugin's name, with printf's format. */
void mortise_host_log(struct mortise_instance *i, int level, const char *fmt,
                      ...) MORTISE_PRINTF(3, 4);

/* May the call end after its function returns?  May it suspend, so that the
 * engine re-enters it when an answer arrives? */
bool mortise_host_can_pend(const struct mortise_call_slot *s);
bool mortise_host_can_suspend(const struct mortise_call_slot *s);
/* Set the outcome of a call that has none yet.  Slot locked. */
void mortise_host_set_outcome(struct mortise_call_slot *s,
                              mortise_status status,
                              const struct mortise_plugin_error *words);
/* Call `done`.  Takes over the slot's lock and the call's pin. */
void mortise_host_deliver_result(struct mortise_instance *i,
                                 struct mortise_call_slot *s);
/* Release n pins and unlock the slot.  The last one frees the slot. */
void mortise_host_unpin(struct mortise_instance *i, struct mortise_call_slot *s,
                        unsigned n);
/* Answer all asks of a call that was cancelled or has ended, with CANCELLED.
 * Takes the slot locked, unlocks it. */
void mortise_host_answer_all(struct mortise_instance *i,
                             struct mortise_call_slot *s);
static inline mortise_str mortise_str_of(const char *s, size_t n)
{
    return (mortise_str){s, n};
}

#endif
