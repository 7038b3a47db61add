/* asks.h -- the journal inside an execution: what it asked, what was answered,
 * and what it forgets between two generations.
 *
 * Threads   [loop] */
#ifndef MORTISE_RUN_ASKS_H
#define MORTISE_RUN_ASKS_H

#include "run/spend/spend.h"

/* ---- steps.c ---- */
/* Who asked: an ordinal, or (ordinal UNORDERED) a key. */
struct step_id {
    uint32_t ordinal;
    const char *key;
};
/* NULL: no step has that name. */
struct step *mortise_step_find(const struct journal *j, struct step_id id);
/* A new step; one of that name that was never recorded makes way. */
int mortise_step_put(struct mortise_run *r, struct journal *j,
                     struct step_id id, const char *method,
                     const uint8_t *digest, struct step **out,
                     struct mortise_err *err);
/* x has a journal. */
int mortise_step_journal(struct mortise_run *r, struct exec *x,
                         struct journal **out, struct mortise_err *err);
bool mortise_step_is_request(const struct step *s);
/* What an effect of that key gave in an earlier attempt or generation; NULL:
 * there was none. */
json_t *mortise_step_effect_answer(const struct exec *x,
                                   const uint8_t key[MORTISE_DIGEST]);
/* It is an effect, with a key that is the same in every attempt and generation,
 * and never another's. */
void mortise_step_become_effect(const struct mortise_run *r,
                                const struct exec *x, struct step *s);
/* All that are between intent and answer are to be made again. */
void mortise_step_clear_doubts(const struct exec *x);
/* The first effect between intent and answer that must not be repeated by
 * itself; NULL: none. */
const struct step *mortise_step_in_doubt(const struct mortise_run *r,
                                         const struct exec *x);
/* Is there one, on disk already or not?  What a replay sees, too. */
bool mortise_step_is_open(const struct exec *x);
/* Was anything that it waited for answered? */
bool mortise_step_was_awaited(const struct exec *x);
/* Is its journal kept for the step of it that is in doubt? */
bool mortise_step_is_kept(const struct exec *x);
json_t *mortise_step_name(const struct step *s);
/* The pending request of that id, NULL: none of x. */
struct step *mortise_step_requested(const struct exec *x, const char *id);
int mortise_step_pending_json(const struct exec *x, json_t *list);
/* A generation ends: its requests are withdrawn, its journal forgotten. */
int mortise_step_clear(struct mortise_run *r, struct exec *x,
                       struct mortise_err *err);
/* ... but its requests only. */
int mortise_step_rest(struct mortise_run *r, struct exec *x,
                      struct mortise_err *err);
void mortise_step_finish(struct mortise_run *r, struct exec *x);
/* A `settle` of one of its requests ... */
int mortise_apply_settle_step(struct mortise_run *r, struct exec *x,
                              const struct mortise_entry *e,
                              struct mortise_err *err);
/* ... or of the doubt about the step of that name. */
int mortise_step_resolved(struct mortise_run *r, struct exec *x,
                          const json_t *name, const struct mortise_entry *e,
                          struct mortise_err *err);

/* ---- step.c ---- */
enum mortise_phase mortise_step_phase(const struct mortise_entry *e);
int mortise_step_ask(struct mortise_run *r, const struct mortise_ask_in *in,
                     struct mortise_err *err);
int mortise_step_answer(struct mortise_run *r,
                        const struct mortise_answer_in *in,
                        struct mortise_err *err);
/* Commits are on disk: what waited for them goes on. */
int mortise_step_synced(struct mortise_run *r, struct mortise_err *err);
/* A call of x begins: what it asks is compared with the journal from now. */
void mortise_step_enter(struct exec *x);
/* Did it, this time, ask less than what is recorded? */
bool mortise_step_left_unasked(const struct exec *x);
/* The call ended as suspended.  MORTISE_ENOTFOUND, and nothing is recorded: it
 * waits for nothing. */
int mortise_step_let_go(struct mortise_run *r, struct exec *x,
                        struct mortise_err *err);
/* x is SUSPENDED: wait for the first of its deadlines. */
int mortise_step_arm(struct mortise_run *r, struct exec *x,
                     struct mortise_err *err);
/* ... which has come. */
int mortise_step_expired(struct mortise_run *r, struct exec *x,
                         struct mortise_err *err);
const char *mortise_step_kind_name(const struct step *s);
/* MORTISE_EINVAL: not what the question's schema wants. */
int mortise_step_check_answer(struct mortise_run *r, const struct step *s,
                              const json_t *value, struct mortise_err *err);
/* Somebody answered (checked). */
int mortise_step_answered(struct mortise_run *r, struct exec *x, struct step *s,
                          json_t *value, const char *actor,
                          struct mortise_err *err);

/* A step in doubt did not happen: what was heard of it is its answer, or
 * that. */
int mortise_step_refute(struct mortise_run *r, struct exec *x, struct step *s,
                        struct mortise_err *err);

/* ---- heard.c ---- */
/* An effect of which twice is once, or whose author wants it so (doubt.c (2)). */
bool mortise_doubt_may_be_repeated(const struct mortise_node *n);
/* Is it open whether that effect happened, until somebody settles it? */
bool mortise_doubt_is_of_step(const struct mortise_run *r, const struct exec *x,
                              const struct step *s);
/* `value`: the answer, or words. */
int mortise_doubt_heard(struct mortise_run *r, struct exec *x, struct step *s,
                        const struct mortise_answer_in *in, json_t *value,
                        struct mortise_err *err);
void mortise_heard_forget(struct mortise_run *r, struct step *s);
/* What people are told of its doubt, {cause, step?, answer?} among others;
 * `apart`: by an entry of its own.  Nothing but memory can be missing. */
int mortise_doubt_tell(struct exec *x, const json_t *what, bool apart);
void mortise_doubt_forget(struct exec *x);

/* ---- generation.c ---- */
int mortise_exec_next_generation(struct mortise_run *r, struct exec *x,
                                 struct mortise_err *err);
/* Its arguments are to be found anew; unless an effect is in doubt, which is
 * about those that it was begun with. */
void mortise_exec_drop_body(struct exec *x);
/* Nothing that it asked matters any more. */
int mortise_exec_forget_live(struct mortise_run *r, struct exec *x,
                             struct mortise_err *err);

#endif
