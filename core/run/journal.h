/* journal.h -- a run's entries, as values and as bytes (docs/format.md).
 *
 * A checkpoint carries the entries that one step recorded.  They are data:
 * nothing in them names code to load.  Types are never renumbered; a field is
 * added by a new type. */
#ifndef MORTISE_RUN_JOURNAL_H
#define MORTISE_RUN_JOURNAL_H

#include "base/id.h"
#include "graph/graph.h"

enum mortise_entry_type {
    MORTISE_E_ADMIT = 1, /* input, actor, seed, edges out of START, pins */
    MORTISE_E_INTENT,    /* an effect is about to happen, under this key */
    MORTISE_E_DONE,      /* output, writes, edges taken */
    MORTISE_E_RETRY,     /* an attempt failed; the next is due then */
    MORTISE_E_FAILED,    /* for good; edges taken when on_error led on */
    MORTISE_E_ASK,       /* a request is pending */
    MORTISE_E_SETTLE,    /* ... and was answered, expired or withdrawn */
    MORTISE_E_UPDATE,    /* a person wrote the state */
    MORTISE_E_GOTO,      /* ... or moved the frontier */
    MORTISE_E_RESUME,    /* ... or had what failed tried again */
    MORTISE_E_CANCEL,
    MORTISE_E_STOPPED, /* an execution was cancelled */
    MORTISE_E_END,
    MORTISE_E_RESULT,     /* an effect was acknowledged; a `failed` follows */
    MORTISE_E_PAUSE,      /* a person had it stand still, or go on */
    MORTISE_E_STEP,       /* an execution asks: an effect, or somebody */
    MORTISE_E_ANSWER,     /* ... and was answered */
    MORTISE_E_LET_GO,     /* ... and waits for what it asked */
    MORTISE_E_FRAME = 32, /* the entries after it are in this frame */
    MORTISE_E_LOST,       /* an execution that a race had no more use for */
    MORTISE_E_LIMIT,      /* a person raised limits */
    MORTISE_E_FAN,        /* the elements of a map; a `done` follows */
    MORTISE_E_GATHER,     /* ... which are all over */
    MORTISE_E_CHILD,      /* a subgraph's execution began: its input */
    MORTISE_E_HALT,       /* a graph took too long; of the frame */
    MORTISE_E_CLOCK,      /* how long the run was active */
    MORTISE_E_PINS,       /* a person accepted plugins that changed */
    MORTISE_E_RESERVE,    /* a call may spend so much */
    MORTISE_E_EXCEEDED,   /* a budget was, of the frame's graph */
    MORTISE_E_BUDGET,     /* a person raised it */
    MORTISE_E_FOUND,      /* what a discovery came to; a `done` follows */
    MORTISE_E_LEAD,       /* a budget led to this node of the frame's graph */
    MORTISE_E_CHECKED, /* guardrails passed the arguments, or replaced them */
    MORTISE_E_SAID,    /* what came with a `result`, besides it */
    MORTISE_E_BEFORE,  /* a person wants it on disk that it will start */
    MORTISE_E_TIME,    /* the entries after it were made then */
    MORTISE_E_WALL,    /* how much of the frame's graph's budget.wall is used */
    MORTISE_E_USED,    /* what a call cost; an entry about its end follows */
    MORTISE_E_LEAVING, /* an output that is judged; on those edges, if any */
    MORTISE_E_RULES,   /* ahead of `admit`: under which, in which store */
    MORTISE_E_AGAIN,   /* a subgraph's child failed: what did is tried again */
    MORTISE_E_DOUBT,   /* why nobody knows what came of an effect */
    MORTISE_E_ORDER,   /* ahead of what a person said: under which id */
    MORTISE_E_LEFT,    /* it ends with its effect in doubt: how, follows */
    MORTISE_E_LOOK_BACK, /* a person wants to settle what an end left in doubt */
    MORTISE_E_N
};

#define MORTISE_STEP_UNORDERED 0xFFFFFFFFu /* the ordinal of a keyed step */

enum mortise_ask { /* kinds of requests (runtime.md 7) */
                   MORTISE_ASK_APPROVAL = 1,
                   MORTISE_ASK_BEFORE, /* scheduled_pause before */
                   MORTISE_ASK_AFTER,  /* scheduled_pause after */
                   MORTISE_ASK_HUMAN,
                   MORTISE_ASK_DOUBT, /* in_doubt */
                   MORTISE_ASK_BUDGET
};

enum mortise_settle {
    MORTISE_SETTLE_APPROVED = 1, /* value: {args?} */
    MORTISE_SETTLE_REJECTED,     /* value: {reason?} */
    MORTISE_SETTLE_ANSWERED,     /* value: the answer */
    MORTISE_SETTLE_PASSED,       /* a scheduled pause is over */
    MORTISE_SETTLE_EXPIRED,
    MORTISE_SETTLE_WITHDRAWN, /* nobody needs to know any more */
    MORTISE_SETTLE_HAPPENED,  /* in doubt: it was done; value: its result */
    MORTISE_SETTLE_RETRY,     /* in doubt: do it again */
    MORTISE_SETTLE_FAIL       /* in doubt: take it as failed */
};

enum mortise_pause {
    MORTISE_PAUSE_OVER = 0,
    MORTISE_PAUSE_OPERATOR, /* until somebody resumes it */
    MORTISE_PAUSE_SHUTDOWN  /* until an engine opens the store for long */
};

/* A write, in a record: which path follows from the node, or is spelled out. */
enum {
    MORTISE_WRITE_AS = 0,           /* artifacts.OUTPUT_AS */
    MORTISE_WRITE_OUTPUT = 1,       /* + i: outputs[i] */
    MORTISE_WRITE_TARGET = 0xFFFE,  /* a guardrail's target */
    MORTISE_WRITE_SPELLED = 0xFFFF, /* text */
};

struct mortise_entry_write {
    uint16_t ref;
    enum mortise_reduce reduce; /* SPELLED: of this write */
    const char *text;           /* SPELLED: the path */
    json_t *value;              /* a reference of the entry's */
};

/* All fields that any type has; journal.c says which type has which. */
struct mortise_entry {
    enum mortise_entry_type type;
    uint32_t frame; /* of its execution; stored when it changes (FRAME) */
    uint32_t node, visit, generation, attempt;
    uint8_t how; /* enum mortise_ask, _settle, _pause, done_how, status */
    uint64_t started_ms, at_ms;
    struct mortise_uuid store;
    json_t *value, *note;     /* references of the entry's; NULL: none */
    const char *actor, *id;   /* "" when none */
    uint32_t ordinal, after;  /* of a step: which one; its answer: after how
                                 many asks */
    int32_t status;           /* of an answer, as plugin.h has them */
    bool looked;              /* ... to a LOOK; not stored */
    const char *key, *method; /* of a step; key "" when it has an ordinal */
    uint8_t digest[MORTISE_DIGEST];
    uint32_t *edges;
    size_t n_edges;
    struct mortise_entry_write *writes;
    size_t n_writes;
};

/* Append to a record.  b->failed when memory ran out. */
void mortise_entry_write(struct mortise_buf *b, const struct mortise_entry *e);

/* The next entry of a record: MORTISE_OK, MORTISE_ENOTFOUND at its end,
 * MORTISE_ECORRUPT.  Arrays and strings live in `a`, values are references
 * that mortise_entry_finish() gives up. */
int mortise_entry_read(struct mortise_entry *e, struct mortise_reader *r,
                       struct mortise_arena *a, struct mortise_err *err);
void mortise_entry_finish(struct mortise_entry *e);

const char *mortise_entry_type_name(enum mortise_entry_type type);
const char *mortise_ask_name(enum mortise_ask ask);
const char *mortise_settle_name(enum mortise_settle settle);
const char *mortise_pause_name(enum mortise_pause pause); /* "" for OVER */

#endif
