/* steering.c -- change the graph of a run, for a command.
 *
 * The language applies the diff and loads the result (language.h).  Here the run
 * is asked whether it can be steered, and the plugins of the new graph are
 * pinned.
 */
#include "core/engine/common/engine.h"
#include "core/engine/language.h"

static int pin_steered_graph(struct mortise *m, struct mortise_steering *s,
                             struct mortise_err *err)
{
    struct mortise_pin *pins =
        mortise_zalloc(m->mem, (s->graph->n_plugins + 1) * sizeof *pins);

    s->pins = pins;
    return pins != NULL ? mortise_pins_find(m, s->graph, pins, &s->n_pins, err)
                        : mortise_nomem(err);
}

int mortise_steering_make(struct mortise *m, const struct mortise_run *r,
                          const json_t *diff, struct mortise_steering *out,
                          struct mortise_buf *report,
                          struct mortise_buf *findings, struct mortise_err *err)
{
    int rv = mortise_run_check_steer(r, NULL, err);

    *out = (struct mortise_steering){.graph = NULL};
    if (rv == MORTISE_OK)
        rv = mortise_graph_steer(out, m->mem, r, diff, &m->catalogs->strict,
                                 report, findings, err);
    return rv == MORTISE_OK ? pin_steered_graph(m, out, err) : rv;
}

int mortise_steering_replace(struct mortise *m, const struct mortise_run *r,
                             const json_t *graph, struct mortise_steering *out,
                             struct mortise_buf *report,
                             struct mortise_buf *findings,
                             struct mortise_err *err)
{
    int rv;

    *out = (struct mortise_steering){.graph = NULL};
    rv = mortise_graph_replace(out, m->mem, r, graph, &m->catalogs->strict,
                               report, findings, err);
    return rv == MORTISE_OK ? pin_steered_graph(m, out, err) : rv;
}

void mortise_steering_free(struct mortise *m, struct mortise_steering *s)
{
    if (s->pins != NULL)
        mortise_release(m->mem, (void *)(uintptr_t)s->pins,
                        (s->graph->n_plugins + 1) * sizeof *s->pins);
    json_decref(s->operations);
    mortise_graph_unref(s->graph);
}
