/* journal.h -- the entries of a run's journal: their types and their encoding
 * (docs/format.md).
 *
 * A checkpoint contains the entries that one step recorded.  Entries are data
 * and never name code to load.  Types are never renumbered; a new field needs a
 * new type. */
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

/* The version of the meaning of graphs and journals, stored in the entry
 * `rules` (state/rules.c).  It changes whenever that meaning changes. */
enum { MORTISE_RULES = 1 };

#define MORTISE_STEP_UNORDERED 0xFFFFFFFFu /* ordinal of a step with a key */
#define MORTISE_STEP_NAMED     0xFFFFFFFEu /* ... of a guardrail's named step */

enum mortise_ask { /* kinds of requests (runtime.md 7) */
                   MORTISE_ASK_APPROVAL = 1,
                   MORTISE_ASK_BEFORE, /* scheduled_pause before */
                   MORTISE_ASK_AFTER,  /* scheduled_pause after */
                   MORTISE_ASK_HUMAN,
                   MORTISE_ASK_DOUBT, /* in_doubt */
                   MORTISE_ASK_BUDGET,
                   MORTISE_ASK_NODE,
                   MORTISE_ASK_PLAN,
                   MORTISE_ATTENTION
};

enum mortise_settle {
    MORTISE_SETTLE_APPROVED = 1, /* value: {args?, reason?} */
    MORTISE_SETTLE_REJECTED,     /* value: {reason?} */
    MORTISE_SETTLE_ANSWERED,     /* value: the answer */
    MORTISE_SETTLE_PASSED,       /* a scheduled pause is over */
    MORTISE_SETTLE_EXPIRED,
    MORTISE_SETTLE_WITHDRAWN, /* no decision is needed any more */
    MORTISE_SETTLE_HAPPENED,  /* in doubt: it happened; value: its result */
    MORTISE_SETTLE_RETRY,     /* in doubt: perform it again */
    MORTISE_SETTLE_FAIL       /* in doubt: declare it failed */
};

enum mortise_pause {
    MORTISE_PAUSE_OVER = 0,
    MORTISE_PAUSE_OPERATOR, /* until a person resumes the run */
    MORTISE_PAUSE_SHUTDOWN  /* until an engine opens the store again */
};

/* The path of a write in a record: a reference into the node, or spelled
 * out. */
enum {
    MORTISE_WRITE_AS = 0,           /* artifacts.OUTPUT_AS */
    MORTISE_WRITE_OUTPUT = 1,       /* + i: outputs[i]; greater numbers
                                       continue in output_mapping */
    MORTISE_WRITE_TARGET = 0xFFFE,  /* a guardrail's target */
    MORTISE_WRITE_SPELLED = 0xFFFF, /* the path is `text` */
};

struct mortise_entry_write {
    uint16_t ref;
    enum mortise_reduce reduce; /* SPELLED: the reducer of this write */
    const char *text;           /* SPELLED: the path */
    json_t *value;              /* a reference that the entry owns */
};

/* The fields of all types; entries.def lists the fields of each type. */
struct mortise_entry {
    enum mortise_entry_type type;
    uint32_t frame; /* of its execution; stored as FRAME when it changes */
    uint32_t node, visit, generation, attempt;
    uint8_t how; /* enum mortise_ask, _settle, _pause, done_how, status */
    uint64_t started_ms, at_ms;
    struct mortise_uuid store;
    json_t *value, *note;   /* references that the entry owns; NULL: none */
    const char *actor, *id; /* "" if none */
    /* `ordinal`: of a step.  `after`: of an answer, the number of asks before
     * it. */
    uint32_t ordinal, after;
    int32_t status;           /* of an answer, as in plugin.h */
    bool looked;              /* answer to a LOOK; not stored */
    const char *key, *method; /* of a step; `key` is "" if it has an ordinal */
    uint8_t digest[MORTISE_DIGEST];
    uint32_t *edges;
    size_t n_edges;
    struct mortise_entry_write *writes;
    size_t n_writes;
};

/* Append an entry to a record.  Sets b->failed when memory ran out. */
void mortise_entry_write(struct mortise_buf *b, const struct mortise_entry *e);

/* Decode the next entry of a record: MORTISE_OK, MORTISE_ENOTFOUND at its end,
 * or MORTISE_ECORRUPT.  Arrays and strings are allocated in `a`;
 * mortise_entry_finish() releases the values. */
int mortise_entry_read(struct mortise_entry *e, struct mortise_reader *r,
                       struct mortise_arena *a, struct mortise_err *err);
void mortise_entry_finish(struct mortise_entry *e);

const char *mortise_entry_type_name(enum mortise_entry_type type);
/* Does the entry have a node?  True for all about an execution, and for some
 * about the run. */
bool mortise_entry_has_node(const struct mortise_entry *e);
const char *mortise_ask_name(enum mortise_ask ask);
const char *mortise_settle_name(enum mortise_settle settle);
/* "" for OVER */
const char *mortise_pause_name(enum mortise_pause pause);

#endif
