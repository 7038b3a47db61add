/* call_table.h -- the open calls of one instance: slots found by the plugin's
 * handle without a lock, and by the owner's id.  Internal to instance.c and
 * host.c. */
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

enum { MORTISE_WORDS_MAX = 1024 }; /* of a message, with its NUL */

/* Why something failed. */
struct mortise_words {
    char message[MORTISE_WORDS_MAX];
    const char *class; /* static; NULL: not said */
    char code[MORTISE_CODE_MAX];
    uint64_t retry_after_ms; /* not before; 0: not said */
    struct mortise_ending ending;
};

/* An ask that waits for its answer. */
struct mortise_ask {
    struct mortise_ask *next;
    uint64_t id;
    mortise_answer_fn *fn;
    void *ud;
    size_t bytes; /* of its body */
};

/* A slot is used for one call after the other and never freed before its table,
 * so a stale handle finds a slot whose lock may be taken and whose `handle` is
 * another one by now. */
struct mortise_call_slot {
    /* The handle while its call is open and not cancelled, else 0. */
    _Atomic uint64_t live;
    /* It said or asked something since somebody looked. */
    atomic_bool stirred;

    /* The table's, under its lock. */
    struct mortise_call_slot *next; /* in the free list or in a bucket */
    uint64_t key_id, key_handle;
    uint32_t index;

    pthread_mutex_t lock;    /* guards everything below */
    pthread_cond_t answered; /* `waiting` became 0 */
    uint64_t handle;         /* 0: free */
    uint64_t id;
    const struct mortise_call_kind *kind;
    enum mortise_threading threading;
    pthread_t thread; /* where `inside` is */
    /* Why the slot cannot be used again yet: one for the call itself (until the
     * plugin returned or finished and `done` was told), one an ask. */
    unsigned pins;
    bool open;      /* `done` is owed */
    bool inside;    /* the plugin's function has not returned */
    bool finished;  /* the outcome below is settled */
    bool cancelled; /* the plugin was told */
    bool overflow;  /* more output than it may emit */
    bool lost;      /* memory ran out for something it said */
    bool mute;      /* its end says nothing of what it did */
    bool violation;
    bool said_more; /* it emitted something besides output, or asked */
    mortise_status status;
    struct mortise_words words;
    struct mortise_buf output, update;
    struct mortise_buf own; /* what its kind's `answer` names */
    bool has_output, has_update, has_own, has_target;
    char target[MORTISE_TARGET_MAX]; /* raw, the first n_target bytes */
    size_t n_target;
    struct mortise_usage usage; /* all that was emitted */

    /* What the plugin was lent, until it returned or finished. */
    mortise_request request;
    struct mortise_wire_held held;

    struct mortise_ask *asks;
    size_t n_asks, ask_bytes; /* so many of them, and of their bodies */
    uint64_t waiting;         /* the ask that ask_wait() waits for; 0: none */
    mortise_status answer_status;
    struct mortise_buf answer;
};

enum { MORTISE_CHUNKS = 20 };

struct mortise_call_table {
    const struct mortise_mem *mem;
    _Atomic size_t open; /* calls whose `done` is owed */
    _Atomic(struct mortise_call_slot *) chunks[MORTISE_CHUNKS];

    pthread_mutex_t lock; /* guards what follows, and links and keys of slots */
    size_t n_chunks;
    struct mortise_call_slot *free;
    struct mortise_call_slot **buckets;
    size_t n_buckets, n_used;
};

int mortise_call_table_init(struct mortise_call_table *c,
                            const struct mortise_mem *mem);
/* All slots are gone, whatever their state. */
void mortise_call_table_finish(struct mortise_call_table *c);

/* A free slot for a call, and its handle; NULL when memory ran out.  [any] */
struct mortise_call_slot *mortise_call_table_take(struct mortise_call_table *c,
                                                  uint64_t id,
                                                  uint64_t *handle);
/* Back again.  Nobody may hold its lock.  [any] */
void mortise_call_table_give(struct mortise_call_table *c,
                             struct mortise_call_slot *s);

/* Both return the slot locked, or NULL when it holds no such call.  [any] */
struct mortise_call_slot *
mortise_call_table_by_handle(struct mortise_call_table *c, uint64_t handle);
struct mortise_call_slot *mortise_call_table_by_id(struct mortise_call_table *c,
                                                   uint64_t id);

/* Should the call stop?  Also when it has ended.  Who asks is alive.  No lock.
 * [any] */
bool mortise_call_table_stopped(struct mortise_call_table *c, uint64_t handle);

/* Call fn for every slot, unlocked. */
void mortise_call_table_each(struct mortise_call_table *c,
                             void (*fn)(struct mortise_call_slot *s, void *ud),
                             void *ud);

#endif
