/* host.h -- the inside of an instance, shared by instance.c (calls into the
 * plugin) and host.c (what the plugin calls). */
#ifndef MORTISE_PLUGIN_HOST_H
#define MORTISE_PLUGIN_HOST_H

#include "plugin/cells.h"

/* The opaque thing that a plugin is handed. */
struct mortise_host {
    struct mortise_instance *instance;
};

struct mortise_instance {
    struct mortise_host host;
    const struct mortise_mem *mem;
    const struct mortise_plugin *plugin;
    const struct mortise_manifest *manifest;
    struct mortise_instance_ops ops;
    mortise_inst *inst;
    const mortise_executor *executor;   /* NULL: not provided */
    const mortise_guardrail *guardrail; /* NULL: not provided */
    struct mortise_cells calls;
    _Atomic uint64_t last_ask;
    _Atomic unsigned scolded; /* bits: said once, not again */
    atomic_bool closing;
    /* A leaked instance must not call its engine, which is gone: `deaf`, and
     * nobody `outside` (in one of ops) any more before close() returns. */
    atomic_bool deaf;
    atomic_int outside;
    pthread_mutex_t lock;       /* guards words */
    struct mortise_words words; /* for create() */
};

/* What create() gets. */
extern const mortise_host_api mortise_host_functions;

/* In the loopback build: msg through bytes and back; else nothing. */
int mortise_host_carry(struct mortise_wire *msg, struct mortise_wire_held *held,
                       const struct mortise_mem *mem, struct mortise_err *err);

/* Around each call of an op, which is skipped when this says false. */
bool mortise_host_go_out(struct mortise_instance *i);
void mortise_host_come_back(struct mortise_instance *i);

/* printf into the log, in the plugin's name. */
void mortise_host_log(struct mortise_instance *i, int level, const char *fmt,
                      ...) MORTISE_PRINTF(3, 4);

/* Settle the outcome of a call that has none yet.  Cell locked. */
void mortise_host_settle(struct mortise_cell *s, mortise_status status,
                         const struct mortise_words *words);
/* Tell `done`.  Takes over the cell's lock and the call's pin. */
void mortise_host_deliver(struct mortise_instance *i, struct mortise_cell *s);
/* Take n pins off; the cell is unlocked, and free behind the last. */
void mortise_host_unpin(struct mortise_instance *i, struct mortise_cell *s,
                        unsigned n);
/* Answer everything that a call has asked: it was cancelled or has ended.
 * Takes the cell locked, unlocks it. */
void mortise_host_answer_all(struct mortise_instance *i,
                             struct mortise_cell *s);
/* What a plugin said, made fit for people and logs. */
void mortise_host_text(char *out, size_t size, mortise_str s);

static inline mortise_str mortise_str_of(const char *s, size_t n)
{
    return (mortise_str){s, n};
}

#endif
