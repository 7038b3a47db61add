/* flow.h -- who starts when what came before has ended: frames, joins, races,
 * maps, the graphs in nodes.
 *
 * Threads   [loop] */
#ifndef MORTISE_RUN_FLOW_H
#define MORTISE_RUN_FLOW_H

#include "core/run/asks/asks.h"

/* ---- join.c ---- */
enum join_verdict { JOIN_WAIT, JOIN_FIRE, JOIN_SKIP, JOIN_SKIP_FAILED };
/* What the join of n, an item of f, says of its edges as they are now. */
enum join_verdict mortise_join_judge(const struct frame *f,
                                     const struct mortise_node *n,
                                     const struct item *it);
/* Does the join of n look at edges that are decided after it has fired? */
bool mortise_join_minds_late(const struct mortise_node *n,
                             const struct item *it);
/* So many have to come to n, whose join is a race. */
uint32_t mortise_join_need(const struct mortise_node *n);
/* Do so many failed branches keep n from starting? */
bool mortise_join_fails_by(const struct mortise_node *n, size_t n_failed);
/* Does n list the failed branches, whether they fail the run or not? */
bool mortise_join_lists(const struct mortise_node *n);
/* May n, whose join is a race, start, as far as failures go?  Those of elements
 * of maps at work count. */
bool mortise_join_may_start(const struct frame *f, const struct mortise_node *n,
                            const struct item *it);
/* What a decided edge counts at its join: branches that came and that failed,
 * and of the latter the least execution behind one. */
struct join_count {
    uint32_t taken, failed, cause;
};
struct join_count mortise_join_count(const struct mortise_run *r,
                                     const struct frame *f, uint32_t edge);
/* The map behind an edge to its join, which has gathered; NULL: there is none. */
const struct fan *mortise_join_gathered(const struct mortise_run *r,
                                        const struct frame *f, uint32_t edge);
/* How many maps lead to n; and the k-th of them, NULL where that is not at work
 * in f or its edge is decided. */
uint32_t mortise_join_n_maps(const struct frame *f,
                             const struct mortise_node *n);
struct fan *mortise_join_map(const struct frame *f,
                             const struct mortise_node *n, uint32_t k);
/* x->caught, of x, which lists the failures of the branches to it, in their
 * order: [{node, index?, error}]. */
int mortise_join_collect(struct mortise_run *r, const struct frame *f,
                         const struct mortise_node *n, struct exec *x,
                         struct mortise_err *err);
/* Adds the executions that failed the branches of a decided edge. */
int mortise_join_failures(const struct mortise_run *r, const struct frame *f,
                          uint32_t edge, struct indexes *out,
                          struct mortise_err *err);
/* Adds the executions behind the edges to n that were taken, and what gathered
 * the maps that end there. */
int mortise_join_sources(const struct mortise_run *r, const struct frame *f,
                         const struct mortise_node *n, struct indexes *preds,
                         struct mortise_err *err);

/* ---- failures.c ---- */
/* What the graph of this frame, which failed, failed of: the error of the least
 * execution (mortise_exec_compare) with its `path`, and of several also `failed`,
 * [{node, path, error}].  A new reference; NULL when memory ran out. */
json_t *mortise_failures_of(struct mortise_run *r, const struct frame *top);

/* ---- frame.c ---- */
/* A frame for a going through g, with nothing decided; visits go on from
 * `before`.  NULL: memory ran out. */
struct frame *mortise_frame_begin(struct mortise_run *r,
                                  const struct mortise_graph *g,
                                  const char *prefix,
                                  const struct frame *before,
                                  struct mortise_err *err);
/* All in f, a graph's, is over, whatever became of it. */
void mortise_frame_leave_behind(struct frame *f);
/* Does the item of f in the frame around it live, and so on outwards? */
bool mortise_frame_is_alive(const struct frame *f);
/* The edges out of START: those in `taken` (in their order) are taken. */
int mortise_frame_follow_start(struct mortise_run *r, const struct exec *start,
                               struct mortise_err *err);
/* The edges out of x: x->taken are taken, the others are `rest`.  Its item is
 * over, and whatever follows from that happens. */
int mortise_frame_follow(struct mortise_run *r, struct exec *x,
                         enum edge_state rest, struct mortise_err *err);
/* An edge is decided, and its target is to be told: which _spread() does for
 * all such edges. */
int mortise_frame_push(struct mortise_run *r, struct frame *home, uint32_t edge,
                       struct mortise_err *err);
int mortise_frame_spread(struct mortise_run *r, struct mortise_err *err);
/* It has other items than before: if none is left open, it is over, which
 * _spread() sees to. */
int mortise_frame_look(struct mortise_run *r, const struct frame *f,
                       struct mortise_err *err);
/* Has the join of `node`, which waits, something to say by now? */
int mortise_frame_weigh(struct mortise_run *r, struct frame *f, uint32_t node,
                        const struct item *it, struct mortise_err *err);
/* Start `node`, whose join says so, in f: after `preds`, with what its join lists.
 */
int mortise_frame_start(struct mortise_run *r, struct frame *f, uint32_t node,
                        const struct indexes *preds, struct mortise_err *err);
/* Was `node`, or a region that it is in, skipped in f? */
bool mortise_frame_skipped(const struct frame *f, uint32_t node);

/* A frame for a region inside `parent` (NULL: of a graph), with nothing
 * decided. NULL: memory ran out. */
struct frame *mortise_frame_new(struct mortise_run *r, struct frame *parent,
                                struct scope *scope,
                                const struct mortise_region *region,
                                const struct frame *before,
                                struct mortise_err *err);
/* Start what `node` is, or is the entry of, in f: after `preds`, and after an
 * update made since there were `since` executions. */
int mortise_frame_enter(struct mortise_run *r, struct frame *f, uint32_t node,
                        const struct indexes *preds, size_t since,
                        struct mortise_err *err);
/* The edge of a map to its join is decided so; and the map has no more to do.
 */
int mortise_frame_map_decided(struct mortise_run *r, struct fan *fan,
                              enum edge_state state, uint32_t src,
                              struct mortise_err *err);
int mortise_frame_map_over(struct mortise_run *r, struct fan *fan, bool failed,
                           struct mortise_err *err);

/* ---- final.c ---- */
/* Adds what the settled join of n comes after, in f; nothing: no branch that
 * leads to it ran.  *busy: something that leads to it is still at work (NULL: all
 * is over). */
int mortise_final_sources(struct mortise_run *r, struct frame *f,
                          const struct mortise_node *n, bool *busy,
                          struct indexes *preds, struct mortise_err *err);
/* A finaliser of a graph that is stopped, which is due: after these, or behind
 * another one. */
struct final_due {
    struct frame *f;
    uint32_t node;
    struct indexes preds;
    bool behind;
};
struct final_dues {
    struct final_due *list;
    size_t n, cap;
};
/* Those of the graph of `top`, all of which is over; they are given up by _found(),
 * whatever became of it. */
int mortise_final_find(struct mortise_run *r, const struct frame *top,
                       struct final_dues *out, struct mortise_err *err);
void mortise_final_found(const struct mortise_run *r, struct final_dues *dues);
/* Is f the newest of what it is, and so on outwards?  What a cancel stopped is left
 * behind, and counts all the same. */
bool mortise_final_is_current(const struct frame *f);
/* Is the graph of `top`, which is halted, so for something that lets them run? */
bool mortise_final_may(const struct frame *top);
/* x is one. */
void mortise_final_begin(struct mortise_run *r, struct exec *x);
/* Is x at work, and one if its graph is stopped now, for what lets them run? */
bool mortise_final_goes_on(const struct exec *x);
/* The run was cancelled: those at work are finalisers. */
void mortise_final_cancelled(struct mortise_run *r);
/* Those that were at work when they became finalisers have so long from then. */
int mortise_final_bind(struct mortise_run *r, struct mortise_err *err);
/* Is one at work?  The run is cancelled once more: they are given up; that is
 * over. */
bool mortise_final_is_at_work(const struct mortise_run *r);
void mortise_final_give_up(struct mortise_run *r);
void mortise_final_forget(struct mortise_run *r);
/* x is tried again, or waits again, as in a run that nobody stopped. */
void mortise_final_release(struct exec *x);

/* ---- reopen.c ---- */
/* Edges that were taken and led nowhere yet lead from u, an update. */
void mortise_frame_lead_from(struct mortise_run *r, const struct exec *u);
/* In f, which is a graph's, all is behind but what `node` leads to; it is made,
 * to start after everything there. */
int mortise_frame_goto(struct mortise_run *r, struct frame *f, uint32_t node,
                       uint32_t visit, struct exec **out,
                       struct mortise_err *err);
/* What failed is tried again, and what was skipped for it waits again: in the
 * element of a map that waited for it, or (NULL) everywhere. */
int mortise_frame_reopen(struct mortise_run *r, const struct frame *element,
                         struct mortise_err *err);

/* ---- regraph.c ---- */
/* May the run go by this graph?  MORTISE_ESTATE, MORTISE_EINVAL: says why not. */
int mortise_regraph_check(const struct mortise_run *r,
                          const struct mortise_graph *to,
                          struct mortise_err *err);
/* The one that comes after the run's; NULL: nobody knows of any. */
struct mortise_graph *mortise_regraph_next(const struct mortise_run *r);
/* Has nothing of the run begun, and was nothing written?  Then it may go by any
 * graph instead: it does, from now on. */
bool mortise_regraph_may_replace(const struct mortise_run *r);
int mortise_regraph_replace(struct mortise_run *r, struct mortise_graph *to,
                            struct mortise_err *err);
/* It does, from now on; that was checked. */
int mortise_regraph(struct mortise_run *r, struct mortise_graph *to,
                    struct mortise_err *err);

/* ---- race.c ---- */
/* The join of `node` in f fired: what leads nowhere but to it has lost. */
int mortise_race_won(struct mortise_run *r, struct frame *f, uint32_t node,
                     struct mortise_err *err);
/* Nothing more happens in f, which is a graph's. */
int mortise_race_halt(struct mortise_run *r, struct frame *f, enum loss why,
                      struct mortise_err *err);
/* If nobody is at work any more in f, a graph's that is halted, it is over. */
int mortise_race_quiet(struct mortise_run *r, struct frame *f,
                       struct mortise_err *err);
/* x is not to come to its end.  Nothing where it did, or has lost already. */
int mortise_race_lose(struct mortise_run *r, struct exec *x, enum loss why,
                      struct mortise_err *err);
/* The same, but nothing is stopped for it; LOSS_NONE: that is taken back. */
void mortise_race_mark(struct exec *x, enum loss why);
/* f, an element that is not over, lost a race in the frame `in`. */
int mortise_race_beaten(struct mortise_run *r, struct frame *f,
                        const struct frame *in, bool finish,
                        struct mortise_err *err);
/* The `discard` of what begins in an item of f; x does. */
uint32_t mortise_race_discard(const struct frame *f, const struct item *it);
void mortise_race_enter(struct exec *x, const struct frame *f,
                        const struct item *it);
/* Was x stopped by something that a resume may mend; and is nothing around it
 * lost for good?  The latter also of what was not stopped at all. */
bool mortise_race_may_return(const struct exec *x);
/* Did the graph of f come to END, and only what failed before that is tried
 * again in it? */
static inline bool mortise_race_at_end(const struct frame *f)
{
    return f->top->scope->at_end;
}
bool mortise_race_may_come_back(const struct exec *x);
/* Why, in words. */
const char *mortise_race_words(enum loss why);
/* An execution is over in a run that is cancelled: if it is the last, finalisers
 * start. */
int mortise_race_cancelled(struct mortise_run *r, struct mortise_err *err);
/* x, a finaliser, is over. */
int mortise_race_finished(struct mortise_run *r, const struct exec *x,
                          struct mortise_err *err);

/* ---- sub.c ---- */
/* The graph inside x begins, with this input. */
int mortise_sub_begin(struct mortise_run *r, struct exec *x, json_t *input,
                      struct mortise_err *err);
/* Nothing is left to do in f, a graph's: its owner will end. */
int mortise_sub_over(struct mortise_run *r, struct frame *f,
                     struct mortise_err *err);
/* x goes on inside; it will end at once if its child had come to its end. */
int mortise_sub_go_on(struct mortise_run *r, struct exec *x,
                      struct mortise_err *err);
/* Did the graph of f end by a failure? */
bool mortise_sub_failed(const struct frame *f);
/* The graph inside x is over, ended well, and does not run again. */
void mortise_sub_done(struct exec *x);
/* x->child_state: this one, which is taken (NULL: none any more); or the state
 * of the graph inside x, which is over and did not fail, with these artifacts.
 */
void mortise_sub_hold(struct exec *x, json_t *state);
int mortise_sub_recall(struct mortise_run *r, struct exec *x, json_t *artifacts,
                       struct mortise_err *err);

/* The names of what is in x begin so; NULL: memory ran out. */
const char *mortise_sub_prefix(struct mortise_run *r, const struct exec *x);

/* ---- tools.c ---- */
/* y, which ran for somebody, has ended, and answers. */
int mortise_tool_over(struct mortise_run *r, struct exec *y,
                      struct mortise_err *err);
/* Does y wait for somebody, for a time that is far off, or for what others hold,
 * and do nothing else? */
bool mortise_tool_waits(const struct mortise_run *r, const struct exec *y);
/* Who in f asked for the tool that x is, or is in; NULL: nobody did. */
struct exec *mortise_tool_asker(const struct exec *x, const struct frame *f);
/* Is anything run for x?  It is not to come to its end. */
bool mortise_tools_are_at_work(const struct exec *x);
/* Is all that is run for x being stopped? */
bool mortise_tools_are_lost(const struct exec *x);
int mortise_tools_lose(struct mortise_run *r, struct exec *x,
                       struct mortise_err *err);

/* ---- map.c ---- */
/* Keep the list, or {list, max_parallel}, for a map edge that x is about to take. */
int mortise_map_keep(struct mortise_run *r, const struct exec *x, uint32_t edge,
                     json_t *value, struct mortise_err *err);
/* The edge to a map, whose item is `it`, was taken: after `preds`. */
int mortise_map_begin(struct mortise_run *r, struct item *it,
                      const struct indexes *preds, struct mortise_err *err);
/* f, an element's frame, has nothing left to do. */
int mortise_map_element_over(struct mortise_run *r, struct frame *f,
                             struct mortise_err *err);
/* Are all elements of a map over that are to be? */
bool mortise_map_is_over(const struct fan *fan);
/* What is decided of the edge of a map that has gathered; *cause: of one that
 * failed, the least execution that it failed of. */
enum edge_state mortise_map_outcome(const struct mortise_run *r,
                                    const struct fan *fan, uint32_t *cause);
/* The join of `node` waits in f: have enough elements come to it?  Then the
 * maps that they are of gather.  `own` is one of them, if anything. */
int mortise_map_look(struct mortise_run *r, struct frame *f, uint32_t node,
                     const struct item *it, struct fan *own,
                     struct mortise_err *err);
/* f, the frame of an element that is over, is to be tried again when its turn
 * comes; and each that waits so goes on, where there is room. */
void mortise_map_wait(struct frame *f);
int mortise_map_go_on(struct mortise_run *r, struct mortise_err *err);
/* Give up the maps of a run. */
void mortise_map_finish(struct mortise_run *r);

#endif
