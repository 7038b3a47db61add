/* call_table.h -- the open calls of one instance.
 *
 * The plugin finds a call by its handle, without the table's lock; the engine
 * finds it by the call's id.  Internal to instance.c and host.c. */
#ifndef MORTISE_PLUGIN_CALL_TABLE_H
#define MORTISE_PLUGIN_CALL_TABLE_H

#include <mortise/plugin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "core/base/buf.h"
#include "core/json/usage.h"
#include "core/plugin/instance.h"
#include "core/plugin/wire.h"

enum {
    MORTISE_PLUGIN_MESSAGE_MAX = 1024
}; /* bytes of a message, with its NUL */

/* The error of a call or of create(): message, class, code and details. */
struct mortise_plugin_error {
    char message[MORTISE_PLUGIN_MESSAGE_MAX];
    const char *class; /* static string; NULL: not given */
    char code[MORTISE_CODE_MAX];
    uint64_t retry_after_ms; /* earliest retry; 0: not given */
    struct mortise_exit_info ending;
};

/* An ask without an answer yet. */
struct mortise_ask {
    struct mortise_ask *next;
    uint64_t id;
    mortise_answer_fn *fn;
    void *ud;
    size_t bytes; /* size of its body */
};

/* A table reuses its slots and frees them only with itself.  A stale handle
 * therefore still leads to a slot that can be locked; the slot's `handle`
 * differs by then. */
struct mortise_call_slot {
    /* The handle while the call is open and not cancelled, else 0. */
    _Atomic uint64_t live;
    /* The call emitted, asked or polled since the last
     * mortise_instance_is_idle(). */
    atomic_bool was_active;

    /* Guarded by the table's lock. */
    struct mortise_call_slot *next; /* in the free list or a bucket */
    uint64_t key_id, key_handle;
    uint32_t index;

    pthread_mutex_t lock;    /* guards the fields below */
    pthread_cond_t answered; /* `waiting` became 0 */
    uint64_t handle;         /* 0: free */
    uint64_t id;
    const struct mortise_call_kind *kind;
    enum mortise_threading threading;
    pthread_t thread; /* the thread that runs `inside` */
    /* References that keep the slot from reuse: one for the call itself (until
     * the plugin has returned or finished, and `done` was called), and one for
     * each ask. */
    unsigned pins;
    bool open;      /* `done` is still due */
    bool inside;    /* the plugin's function has not returned */
    bool finished;  /* the outcome below is final */
    bool cancelled; /* the plugin was asked to stop */
    bool overflow;  /* it emitted more than the limit */
    bool lost;      /* out of memory for data that it sent */
    bool mute;      /* its error does not tell whether the effect happened */
    bool violation;
    bool said_more; /* it emitted more than output, or it asked */
    mortise_status status;
    struct mortise_plugin_error words;
    struct mortise_buf output, update;
    struct mortise_buf own; /* chunks of its kind's `answer` */
    bool has_output, has_update, has_own, has_target;
    char target[MORTISE_TARGET_MAX]; /* raw; the first n_target bytes */
    size_t n_target;
    struct mortise_usage usage; /* sum of all emitted usage */

    /* Lent to the plugin until it returns or finishes. */
    mortise_request request;
    struct mortise_wire_storage held;

    struct mortise_ask *asks;
    /* Number of open asks, and bytes of their bodies. */
    size_t n_asks, ask_bytes;
    uint64_t waiting;         /* the ask that ask_wait() waits for; 0: none */
    mortise_status answer_status;
    struct mortise_buf answer;
};

enum { MORTISE_SLOT_CHUNKS = 20 };

struct mortise_call_table {
    const struct mortise_mem *mem;
    _Atomic size_t open; /* calls whose `done` is still due */
    _Atomic(struct mortise_call_slot *) chunks[MORTISE_SLOT_CHUNKS];

    /* Guards the fields below, and the slots' links and keys. */
    pthread_mutex_t lock;
    size_t n_chunks;
    struct mortise_call_slot *free;
    struct mortise_call_slot **buckets;
    size_t n_buckets, n_used;
};

int mortise_call_table_init(struct mortise_call_table *c,
                            const struct mortise_mem *mem);
/* Free all slots, whatever their state. */
void mortise_call_table_finish(struct mortise_call_table *c);

/* Reserve a slot for a call and create its handle.  NULL: out of memory.
 * [any] */
struct mortise_call_slot *mortise_call_table_add(struct mortise_call_table *c,
                                                 uint64_t id, uint64_t *handle);
/* Return a slot to the free list.  No thread may hold its lock.  [any] */
void mortise_call_table_remove(struct mortise_call_table *c,
                               struct mortise_call_slot *s);

/* Both return the slot locked, or NULL if no slot holds this call.  [any] */
struct mortise_call_slot *
mortise_call_table_find_handle(struct mortise_call_table *c, uint64_t handle);
struct mortise_call_slot *
mortise_call_table_find_id(struct mortise_call_table *c, uint64_t id);

/* Is the call cancelled or ended?  Takes no lock.  The instance must be alive.
 * [any] */
bool mortise_call_table_is_stopped(struct mortise_call_table *c,
                                   uint64_t handle);

/* Call fn for every slot, unlocked. */
void mortise_call_table_for_each(struct mortise_call_table *c,
                                 void (*fn)(struct mortise_call_slot *s,
                                            void *ud),
                                 void *ud);

#endif
