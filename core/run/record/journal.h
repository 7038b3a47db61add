/* journal.h -- a run's entries, as values and as bytes (docs/format.md).
 *
 * A checkpoint carries the entries that one step recorded.  They are data:
 * nothing in them names code to load.  Types are never renumbered; a field is
 * added by a new type. */
#ifndef MORTISE_RUN_JOURNAL_H
#define MORTISE_RUN_JOURNAL_H

#include "core/base/id.h"
#include "core/model/graph.h"

enum mortise_entry_type {
#define ENTRY_OF_RUN(type, number, ...)  MORTISE_E_##type = (number),
#define ENTRY_OF_EXEC(type, number, ...) MORTISE_E_##type = (number),
#define ENTRY_MARK(type, number, ...)    MORTISE_E_##type = (number),
#include "core/run/record/entries.def"
    MORTISE_E_N /* the last row has the greatest number */
};

/* What graphs and journals mean: the number of the entry `rules` (state/rules.c).
 * Another meaning gets another number. */
enum { MORTISE_RULES = 1 };

#define MORTISE_STEP_UNORDERED 0xFFFFFFFFu /* the ordinal of a keyed step ... */
#define MORTISE_STEP_NAMED     0xFFFFFFFEu /* of one that a check named */

enum mortise_ask { /* kinds of requests (runtime.md 7) */
                   MORTISE_ASK_APPROVAL = 1,
                   MORTISE_ASK_BEFORE, /* scheduled_pause before */
                   MORTISE_ASK_AFTER,  /* scheduled_pause after */
                   MORTISE_ASK_HUMAN,
                   MORTISE_ASK_DOUBT, /* in_doubt */
                   MORTISE_ASK_BUDGET,
                   MORTISE_ASK_NODE,
                   MORTISE_ASK_PLAN,
                   MORTISE_ASKS
};

enum mortise_settle {
    MORTISE_SETTLE_APPROVED = 1, /* value: {args?, reason?} */
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
    bool looked;              /* of an answer: to a LOOK; not stored */
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
/* Has it a node?  All about an execution, and some about the run. */
bool mortise_entry_has_node(const struct mortise_entry *e);
const char *mortise_ask_name(enum mortise_ask ask);
const char *mortise_settle_name(enum mortise_settle settle);
const char *mortise_pause_name(enum mortise_pause pause); /* "" for OVER */

#endif
