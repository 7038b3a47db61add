/* language.h -- what the engine uses of the language of graph files.
 *
 * The engine stores and runs compiled graphs (core/model/graph.h), and knows
 * nothing of their files.  This is a port: core/ declares these functions, and
 * lang/graph/ defines them.
 *
 * Findings are appended to `report` as text, and to `findings` (if not NULL) as
 * JSON: {"findings": [{path, line, col, end_line, end_col, severity, code,
 * message, help}], left_out?}.  Everything is [loop]. */
#ifndef MORTISE_ENGINE_LANGUAGE_H
#define MORTISE_ENGINE_LANGUAGE_H

#include "core/base/buf.h"
#include "core/model/graph.h"
#include "core/run/run.h"

/* Load and check a graph; *out is a reference, or NULL after an error.  The
 * other files that it names come from the catalog.  There may be warnings with
 * MORTISE_OK.  MORTISE_ECHECK: it has errors.  MORTISE_EDENIED: trust refuses a
 * plugin.  MORTISE_ELIMIT: it cannot be checked now. */
int mortise_graph_compile(struct mortise_graph **out,
                          const struct mortise_mem *mem,
                          const struct mortise_source *file,
                          const struct mortise_catalog *catalog,
                          struct mortise_buf *report,
                          struct mortise_buf *findings,
                          struct mortise_err *err);

/* Apply a diff to the graph of a run, as `mortise check` would check the result:
 * sets the graph (a reference, with the run's graph as its predecessor) and the
 * operations of *out, also before some errors.  The diff is a list of
 * operations, or {source, path?} with the text of such a list.  `report` and
 * `findings` are both NULL or both not: if NULL, the findings become the
 * message.  MORTISE_ECHECK, MORTISE_EDENIED: there are findings, or the diff is
 * invalid. */
int mortise_graph_steer(struct mortise_steering *out,
                        const struct mortise_mem *mem,
                        const struct mortise_run *r, const json_t *diff,
                        const struct mortise_catalog *catalog,
                        struct mortise_buf *report,
                        struct mortise_buf *findings, struct mortise_err *err);
/* The same with a whole graph, {source, path?}, that replaces the run's. */
int mortise_graph_replace(struct mortise_steering *out,
                          const struct mortise_mem *mem,
                          const struct mortise_run *r, const json_t *graph,
                          const struct mortise_catalog *catalog,
                          struct mortise_buf *report,
                          struct mortise_buf *findings,
                          struct mortise_err *err);

/* Append the text of the graph for a native child of the node `at` of `g`: one
 * gmi node that takes its instructions from the run's input.  `task` is
 * {result_schema?, message_schema?, seed?}.  MORTISE_ENOMEM. */
int mortise_graph_write_child(struct mortise_buf *text,
                              const struct mortise_graph *g,
                              const struct mortise_node *at, const char *name,
                              const json_t *task, struct mortise_err *err);

#endif
