/* pipeline.h -- what the stages of an output share (pipeline.c).
 *
 * Threads   [loop] */
#ifndef MORTISE_RUN_PIPELINE_H
#define MORTISE_RUN_PIPELINE_H

#include "core/run/flow/flow.h"

/* What holds of an output by how it came about: one of each done_how. */
struct origin {
    bool fits;       /* it is of the operation, whose schemas it has to fit */
    bool is_guarded; /* the node's guardrails look at it */
    bool says;       /* x->said came with it: an update, a goto */
    bool happened;   /* it is what an effect came to, and was not known yet */
    bool first_hand; /* x's own call, or the graph inside x, gave it just now */
    bool is_last;    /* on_error gave it: a refusal is a failure for good */
};

/* An output on its way through the stages. */
struct outcome {
    struct mortise_run *r;
    struct exec *x;
    const struct origin *from;
    json_t *output; /* as it was given, or as guardrails left it */
    /* The `done` entry, as far as it is made; its value is the output, as its
     * schemas type it. */
    struct mortise_entry entry;
    struct mortise_arena arena; /* of its arrays */
    struct patch said;          /* x's update, as writes */
    json_t *grounds; /* what the entry's edges stand on; NULL: nothing */
    /* What it waited for at the stages ahead of this is over; 0: it has not
     * waited yet. */
    size_t over;
    /* Refused: so. */
    const char *code;
    struct mortise_err why;
};

/* A judge: MORTISE_OK, or MORTISE_EINVAL with o->why, or what is no fault of
 * the output's, in `err`. Else what is done. */
typedef int mortise_stage(struct outcome *o, struct mortise_err *err);
typedef bool mortise_stage_due(const struct outcome *o);

#define STAGE(name) mortise_stage mortise_stage_##name;
#define STAGE_WAITS(name)                                                      \
    mortise_stage mortise_stage_##name;                                        \
    mortise_stage_due mortise_stage_##name##_is_due;
#include "core/run/outcome/stages.def"

enum stage_id {
#define STAGE(name) STAGE_##name,
#include "core/run/outcome/stages.def"
    N_STAGES
};

/* ---- stages.c ---- */
struct stage {
    const char *code;          /* a judge's, of what it refuses */
    mortise_stage_due *is_due; /* a wait's */
    mortise_stage *does;
};
extern const struct stage mortise_stages[N_STAGES];

/* ---- origin.c ---- */
const struct origin *mortise_origin_of(enum done_how how);
/* What x said besides an output that came about so: NULL: nothing. */
json_t *mortise_origin_said(const struct exec *x, enum done_how how,
                            const char *what);

/* ---- pipeline.c ---- */
/* An outcome without an output, which is finished in any case. */
void mortise_pipeline_init(struct outcome *o, struct mortise_run *r,
                           struct exec *x, enum mortise_entry_type type);
void mortise_pipeline_finish(struct outcome *o);
/* One judge; o->code, when it says no. */
int mortise_pipeline_judge(struct outcome *o, enum stage_id judge,
                           struct mortise_err *err);
/* At a stage that asks somebody about the output: *stands, it is not asked about
 * now. */
int mortise_pipeline_stands(struct outcome *o, bool *stands,
                            struct mortise_err *err);
/* The output that x waits with came about so. */
void mortise_pipeline_hold(struct exec *x, enum done_how how);

#endif
