/* flow.h -- activation of nodes: frames, joins, races, maps, inner graphs.
 *
 * Threads   [loop] */
#ifndef MORTISE_RUN_FLOW_H
#define MORTISE_RUN_FLOW_H

#include "core/run/asks/asks.h"

/* ---- join.c ---- */
enum join_verdict { JOIN_WAIT, JOIN_FIRE, JOIN_SKIP, JOIN_SKIP_FAILED };
/* The decision of n's join, whose item in f is `it`, from the edges decided so
 * far. */
enum join_verdict mortise_join_decide(const struct frame *f,
                                      const struct mortise_node *n,
                                      const struct item *it);
/* Does a failure count that comes to n's join after the join was decided? */
bool mortise_join_counts_late_failure(const struct mortise_node *n,
                                      const struct item *it);
/* The number of branches that must come to n's race join. */
uint32_t mortise_join_get_quorum(const struct mortise_node *n);
/* Does this number of failed branches keep n from starting? */
bool mortise_join_is_failed_by(const struct mortise_node *n, size_t n_failed);
/* Does n list the failed branches, even if they fail the run? */
bool mortise_join_lists_failures(const struct mortise_node *n);
/* Can n's race join start in spite of its failed branches?  Failed
 * elements of active maps count. */
bool mortise_join_can_start(const struct frame *f, const struct mortise_node *n,
                            const struct item *it);
/* The branches that came and failed by a decided edge, and the least execution
 * that caused a failure. */
struct join_count {
    uint32_t taken, failed, cause;
};
struct join_count mortise_join_count_branches(const struct mortise_run *r,
                                              const struct frame *f,
                                              uint32_t edge);
/* The finished map behind an edge to its join; NULL: none. */
const struct fan *mortise_join_find_gathered_map(const struct mortise_run *r,
                                                 const struct frame *f,
                                                 uint32_t edge);
/* The number of maps that lead to n, and the k-th of them; NULL: it is not
 * active in f, or its edge is decided. */
uint32_t mortise_join_count_maps(const struct frame *f,
                                 const struct mortise_node *n);
struct fan *mortise_join_get_map(const struct frame *f,
                                 const struct mortise_node *n, uint32_t k);
/* Set x->caught, the failures of the branches to x in their order: [{node,
 * index?, error}]. */
int mortise_join_collect_failures(struct mortise_run *r, const struct frame *f,
                                  const struct mortise_node *n, struct exec *x,
                                  struct mortise_err *err);
/* Add the executions that failed the branches of a decided edge. */
int mortise_join_add_failures(const struct mortise_run *r,
                              const struct frame *f, uint32_t edge,
                              struct indexes *out, struct mortise_err *err);
/* Add the sources of the taken edges to n, and the gathering executions of the
 * maps that end there. */
int mortise_join_add_sources(const struct mortise_run *r, const struct frame *f,
                             const struct mortise_node *n,
                             struct indexes *preds, struct mortise_err *err);

/* ---- failures.c ---- */
/* The error of a failed graph: that of its least failed execution
 * (mortise_exec_compare) with its `path`; if several failed, also `failed`,
 * [{node, path, error}].  A new reference; NULL: no memory. */
json_t *mortise_failures_make_error(struct mortise_run *r,
                                    const struct frame *top);

/* ---- frame.c ---- */
/* A new frame for g with no edge decided; visit numbers continue from `before`.
 * NULL: no memory. */
struct frame *mortise_frame_new_for_graph(struct mortise_run *r,
                                          const struct mortise_graph *g,
                                          const char *prefix,
                                          const struct frame *before,
                                          struct mortise_err *err);
/* Abandon f, the frame of a graph, and all in it. */
void mortise_frame_abandon(struct frame *f);
/* Are f and all frames around it still active? */
bool mortise_frame_is_alive(const struct frame *f);
/* Decide the edges out of START: those in start->taken are taken. */
int mortise_frame_decide_start_edges(struct mortise_run *r,
                                     const struct exec *start,
                                     struct mortise_err *err);
/* Decide the edges out of x: those in x->taken are taken, the others get
 * `rest`.  Finishes x's item and applies everything that follows. */
int mortise_frame_decide_edges(struct mortise_run *r, struct exec *x,
                               enum edge_state rest, struct mortise_err *err);
/* Queue a decided edge. mortise_frame_process_queue() updates the targets of
 * all queued edges. */
int mortise_frame_queue_edge(struct mortise_run *r, struct frame *home,
                             uint32_t edge, struct mortise_err *err);
int mortise_frame_process_queue(struct mortise_run *r, struct mortise_err *err);
/* f's items changed: queue f as finished if none is open. */
int mortise_frame_queue_if_finished(struct mortise_run *r,
                                    const struct frame *f,
                                    struct mortise_err *err);
/* Decide the join of `node`, if it can be decided now. */
int mortise_frame_decide_join(struct mortise_run *r, struct frame *f,
                              uint32_t node, const struct item *it,
                              struct mortise_err *err);
/* The join of `node` fired: start it after `preds`, and store the failures that
 * the join lists. */
int mortise_frame_start_joined_node(struct mortise_run *r, struct frame *f,
                                    uint32_t node, const struct indexes *preds,
                                    struct mortise_err *err);
/* Was `node`, or a region around it, skipped in f? */
bool mortise_frame_has_skipped(const struct frame *f, uint32_t node);

/* A new frame for a region inside `parent` (NULL: of a graph), with no edge
 * decided.  NULL: no memory. */
struct frame *mortise_frame_new(struct mortise_run *r, struct frame *parent,
                                struct scope *scope,
                                const struct mortise_region *region,
                                const struct frame *before,
                                struct mortise_err *err);
/* Start `node`, or the region that it is the entry of, in f: after `preds`, and
 * after an update made since there were `since` executions. */
int mortise_frame_start_item(struct mortise_run *r, struct frame *f,
                             uint32_t node, const struct indexes *preds,
                             size_t since, struct mortise_err *err);
/* Decide the edge of a map to its join; finish the map. */
int mortise_frame_decide_map_edge(struct mortise_run *r, struct fan *fan,
                                  enum edge_state state, uint32_t src,
                                  struct mortise_err *err);
int mortise_frame_finish_map(struct mortise_run *r, struct fan *fan,
                             bool failed, struct mortise_err *err);

/* ---- final.c ---- */
/* Add the predecessors of n, whose join is `settled`, in f.  Adds none if no
 * branch that leads to n ran.  *busy: something that leads to n is still active
 * (NULL: everything has ended). */
int mortise_final_add_sources(struct mortise_run *r, struct frame *f,
                              const struct mortise_node *n, bool *busy,
                              struct indexes *preds, struct mortise_err *err);
/* A finalizer of a stopped graph that is due, after `preds`.  `behind`: another
 * due finalizer leads to it. */
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
/* Find the due finalizers of graph `top`, in which nothing is active.  Always
 * release them with mortise_final_dues_finish(). */
int mortise_final_find_due(struct mortise_run *r, const struct frame *top,
                           struct final_dues *out, struct mortise_err *err);
void mortise_final_dues_finish(const struct mortise_run *r,
                               struct final_dues *dues);
/* Is f the newest frame of its region, and each frame around it too?  A
 * cancelled run's frames count, although they are abandoned. */
bool mortise_final_is_current(const struct frame *f);
/* Does the reason for which `top` was halted allow finalizers? */
bool mortise_final_is_allowed(const struct frame *top);
/* Mark x as a finalizer: it runs although its graph was stopped. */
void mortise_final_mark(struct mortise_run *r, struct exec *x);
/* Is x active, and a finalizer if its graph is stopped now for a reason that
 * allows them? */
bool mortise_final_can_mark(const struct exec *x);
/* The run was cancelled: mark its active settled nodes as finalizers. */
void mortise_final_mark_settled(struct mortise_run *r);
/* Limit the time of finalizers that were active when they were marked. */
int mortise_final_limit_time(struct mortise_run *r, struct mortise_err *err);
/* mortise_final_is_active(): is a finalizer active?
 *
 * mortise_final_abandon(): a second cancel arrived, so the run no longer waits
 * for finalizers. mortise_final_clear_abandoned() clears that. */
bool mortise_final_is_active(const struct mortise_run *r);
void mortise_final_abandon(struct mortise_run *r);
void mortise_final_clear_abandoned(struct mortise_run *r);
/* x is retried or waits again: it is not a finalizer any more. */
void mortise_final_unmark(struct exec *x);

/* ---- reopen.c ---- */
/* Taken edges whose targets have not started come from u, an update, from now
 * on. */
void mortise_frame_replace_sources(struct mortise_run *r, const struct exec *u);
/* In f, the frame of a graph, abandon everything but the part that `node` leads
 * to.  *out: the new execution of `node`, after everything in f. */
int mortise_frame_goto(struct mortise_run *r, struct frame *f, uint32_t node,
                       uint32_t visit, struct exec **out,
                       struct mortise_err *err);
/* Retry the failures, and let nodes that were skipped because of them wait
 * again: in a waiting element of a map, or (NULL) everywhere. */
int mortise_frame_retry_failures(struct mortise_run *r,
                                 const struct frame *element,
                                 struct mortise_err *err);

/* ---- regraph.c ---- */
/* Can the run switch to this graph?  MORTISE_ESTATE, MORTISE_EINVAL: no. */
int mortise_regraph_check(const struct mortise_run *r,
                          const struct mortise_graph *to,
                          struct mortise_err *err);
/* The graph that follows the run's; NULL: none is known. */
struct mortise_graph *mortise_regraph_get_next(const struct mortise_run *r);
/* mortise_regraph_can_replace(): has nothing of the run started, and has
 * nothing been written?  Then any graph can replace the run's.
 * mortise_regraph_replace() does this. */
bool mortise_regraph_can_replace(const struct mortise_run *r);
int mortise_regraph_replace(struct mortise_run *r, struct mortise_graph *to,
                            struct mortise_err *err);
/* Switch to this graph, which was checked. */
int mortise_regraph_switch(struct mortise_run *r, struct mortise_graph *to,
                           struct mortise_err *err);

/* ---- race.c ---- */
/* The join of `node` in f fired: items that lead only to it have lost. */
int mortise_race_mark_losers(struct mortise_run *r, struct frame *f,
                             uint32_t node, struct mortise_err *err);
/* Halt f, the frame of a graph. */
int mortise_race_halt_graph(struct mortise_run *r, struct frame *f,
                            enum loss why, struct mortise_err *err);
/* If f, the frame of a halted graph, has nothing active, start its finalizers
 * or end it. */
int mortise_race_end_idle_graph(struct mortise_run *r, struct frame *f,
                                struct mortise_err *err);
/* Make x lose, unless it has ended or lost. */
int mortise_race_stop_exec(struct mortise_run *r, struct exec *x, enum loss why,
                           struct mortise_err *err);
/* Set x->loss without stopping anything; LOSS_NONE clears it. */
void mortise_race_set_loss(struct exec *x, enum loss why);
/* f, an active element, lost a race in the frame `in`. */
int mortise_race_stop_element(struct mortise_run *r, struct frame *f,
                              const struct frame *in, bool finish,
                              struct mortise_err *err);
/* mortise_race_get_discard(): the `discard` of executions that start in an item of
 * f. mortise_race_set_discard() sets it in x. */
uint32_t mortise_race_get_discard(const struct frame *f, const struct item *it);
void mortise_race_set_discard(struct exec *x, const struct frame *f,
                              const struct item *it);
/* mortise_race_has_undoable_loss(): was x stopped by something that a resume can undo?
 *
 * mortise_race_can_resume(): does a resume continue x, because each loss of
 * x and of the executions around it can be undone?  Also true if nothing was
 * stopped. */
bool mortise_race_has_undoable_loss(const struct exec *x);
/* Did f's graph reach END, so that only earlier failures are retried in it? */
static inline bool mortise_race_has_reached_end(const struct frame *f)
{
    return f->top->scope->at_end;
}
bool mortise_race_can_resume(const struct exec *x);
/* The reason as a message. */
const char *mortise_race_get_message(enum loss why);
/* An execution ended in a cancelled run: if it was the last, start the
 * finalizers. */
int mortise_race_start_cancel_finals(struct mortise_run *r,
                                     struct mortise_err *err);
/* The finalizer x has ended. */
int mortise_race_handle_final_end(struct mortise_run *r, const struct exec *x,
                                  struct mortise_err *err);

/* ---- sub.c ---- */
/* Start the graph inside x with this input. */
int mortise_sub_start_graph(struct mortise_run *r, struct exec *x,
                            json_t *input, struct mortise_err *err);
/* f, the frame of a graph, has nothing left to do: its owner will end. */
int mortise_sub_handle_graph_end(struct mortise_run *r, struct frame *f,
                                 struct mortise_err *err);
/* Continue the inner graph of x.  If that graph has ended, x ends soon. */
int mortise_sub_continue(struct mortise_run *r, struct exec *x,
                         struct mortise_err *err);
/* Did the graph of f fail? */
bool mortise_sub_has_failed(const struct frame *f);
/* The graph inside x succeeded and does not run again. */
void mortise_sub_set_done(struct exec *x);
/* Set x->child_state (takes `state`; NULL: clear it). mortise_sub_rebuild_state()
 * computes the state from the finished inner graph, with these artifacts. */
void mortise_sub_set_state(struct exec *x, json_t *state);
int mortise_sub_rebuild_state(struct mortise_run *r, struct exec *x,
                              json_t *artifacts, struct mortise_err *err);

/* The path prefix of executions inside x; NULL: no memory. */
const char *mortise_sub_make_prefix(struct mortise_run *r,
                                    const struct exec *x);

/* ---- tools.c ---- */
/* y, a tool call, has ended: answer its asker. */
int mortise_tool_answer_asker(struct mortise_run *r, struct exec *y,
                              struct mortise_err *err);
/* Does y only wait: for a person, for a distant time, or for resources that
 * others hold? */
bool mortise_tool_is_only_waiting(const struct mortise_run *r,
                                  const struct exec *y);
/* The execution in f that asked for the tool that x is, or is inside of; NULL:
 * none. */
struct exec *mortise_tool_find_asker(const struct exec *x,
                                     const struct frame *f);
/* Does x have active tools?  They must end before x does. */
bool mortise_tools_are_active(const struct exec *x);
/* Are all active tools of x being stopped? */
bool mortise_tools_are_stopping(const struct exec *x);
int mortise_tools_stop(struct mortise_run *r, struct exec *x,
                       struct mortise_err *err);

/* ---- map.c ---- */
/* Store the list, or {list, max_parallel}, of a map edge that x is about to
 * take. */
int mortise_map_store_list(struct mortise_run *r, const struct exec *x,
                           uint32_t edge, json_t *value,
                           struct mortise_err *err);
/* The edge to the map of item `it` was taken: start it after `preds`. */
int mortise_map_start(struct mortise_run *r, struct item *it,
                      const struct indexes *preds, struct mortise_err *err);
/* f, the frame of an element, has nothing left to do. */
int mortise_map_finish_element(struct mortise_run *r, struct frame *f,
                               struct mortise_err *err);
/* Have all elements of the map ended that will run? */
bool mortise_map_has_ended(const struct fan *fan);
/* The state of the edge of a map that has gathered; *cause: the least execution
 * that failed it. */
enum edge_state mortise_map_get_edge_state(const struct mortise_run *r,
                                           const struct fan *fan,
                                           uint32_t *cause);
/* The join of `node` waits in f: if enough elements came to it, gather their
 * maps.  `own`: one of these maps, or NULL. */
int mortise_map_check_race(struct mortise_run *r, struct frame *f,
                           uint32_t node, const struct item *it,
                           struct fan *own, struct mortise_err *err);
/* mortise_map_add_waiting(): retry f, a finished element, when its turn comes.
 * mortise_map_continue_waiting(): continue waiting elements within max_parallel. */
void mortise_map_add_waiting(struct frame *f);
int mortise_map_continue_waiting(struct mortise_run *r,
                                 struct mortise_err *err);
/* Release the maps of a run. */
void mortise_map_free_all(struct mortise_run *r);

#endif
