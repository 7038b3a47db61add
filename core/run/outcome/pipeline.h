/* pipeline.h -- data that the stages of an output share (pipeline.c).
 *
 * Threads   [loop] */
#ifndef MORTISE_RUN_PIPELINE_H
#define MORTISE_RUN_PIPELINE_H

#include "core/run/flow/flow.h"

/* Properties of an output, by how it came about: one row for each done_how. */
struct origin {
    bool fits;       /* must match the operation's and node's schemas */
    bool is_guarded; /* the node's guardrails check it */
    bool says;       /* x->said (update, goto) came with it */
    bool happened;   /* it reports an effect that was not recorded yet */
    bool
        from_own_call; /* x's own call, or the graph inside x, gave it just now */
    bool is_last;    /* from on_error: if it is rejected, do not retry */
};

/* An output that passes through the stages. */
struct outcome {
    struct mortise_run *r;
    struct exec *x;
    const struct origin *from;
    json_t *output; /* as given, or as guardrails left it */
    /* The `done` entry under construction.  Its value is the output, normalized
     * by its schemas. */
    struct mortise_entry entry;
    struct mortise_arena arena; /* for the entry's arrays */
    struct patch said;          /* x's update, as writes */
    json_t *grounds;            /* values recorded with the edges; NULL: none */
    /* Skip the waits of the stages before this one: they are over. 0: the
     * output has not waited yet. */
    size_t over;
    /* The code and message of a rejection. */
    const char *code;
    struct mortise_err why;
};

/* A judge returns MORTISE_OK; or MORTISE_EINVAL with o->why; or, in `err`, an
 * error of the engine.  The other stages just act. */
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
    const char *code;          /* a judge's error code */
    mortise_stage_due *is_due; /* a wait's condition */
    mortise_stage *does;
};
extern const struct stage mortise_stages[N_STAGES];

/* ---- origin.c ---- */
const struct origin *mortise_origin_get(enum done_how how);
/* A member (`what`: update, goto) that came with such an output; NULL: none. */
json_t *mortise_origin_get_member(const struct exec *x, enum done_how how,
                                  const char *what);

/* ---- pipeline.c ---- */
/* An outcome without an output.  Always call mortise_pipeline_finish(). */
void mortise_pipeline_init(struct outcome *o, struct mortise_run *r,
                           struct exec *x, enum mortise_entry_type type);
void mortise_pipeline_finish(struct outcome *o);
/* Run one judge; sets o->code for a rejection. */
int mortise_pipeline_judge(struct outcome *o, enum stage_id judge,
                           struct mortise_err *err);
/* Call this in a stage that would make a call about the output.  *stands: x
 * must stop or wait, so make no call now. */
int mortise_pipeline_must_stop(struct outcome *o, bool *stands,
                               struct mortise_err *err);
/* Store how the output that x waits with came about. */
void mortise_pipeline_set_origin(struct exec *x, enum done_how how);

#endif
