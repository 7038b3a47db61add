/* left.c -- executions that the run has given up: their children are cancelled.
 *
 * A child of a run (asks/children.c) works for the execution that started it.
 * When the run finally gives this execution up, nobody uses the child's result,
 * so the engine cancels the child if it is linked
 * (core/engine/runs/children.c).
 *
 *   (1) An execution is given up when it ends otherwise than by its own output:
 *       it failed, its `on_error` supplied the output, it was stopped, or it
 *       lost.
 *   (2) It is given up finally when no retry and no `resume` tries it again: it
 *       lost a race, or to the end of its graph; its `on_error` supplied the
 *       output or led elsewhere; a goto abandoned it; the run is cancelled; or
 *       the execution around it is done.  Otherwise the next attempt finds the
 *       child (docs/runtime.md, 10), which therefore continues.
 *   (3) An execution that is given up finally takes along the children of all
 *       executions inside it, also of those that completed.  An attempt that
 *       begins its graph anew takes along the children of the attempt before.
 *   (4) An execution that completed keeps its children.  They end with the run.
 */
#include <string.h>

#include "core/run/flow/flow.h"

static bool has_lost(const struct exec *x)
{
    return x->loss == LOSS_RACE || x->loss == LOSS_END;
}

/* (1) */
static bool is_exec_given_up(const struct exec *x)
{
    return x->state == X_FAILED || x->state == X_CANCELLED ||
           (x->state == X_DONE && x->by_on_error) || has_lost(x);
}

/* Will its frame not continue it?  The asker, not the frame, continues a
 * tool. */
static bool is_abandoned(const struct exec *x)
{
    const struct item *it;

    if (x->frame->behind || x->serves != 0)
        return x->frame->behind;
    it = mortise_exec_item(x);
    return it->exec != x->index ||
           (it->phase != ITEM_ACTIVE && it->phase != ITEM_FAILED);
}

/* (2); x is given up. */
static bool is_given_up_finally(const struct exec *x, const struct exec *owner)
{
    if (has_lost(x) || x->state == X_DONE || is_abandoned(x))
        return true;
    return owner != NULL ? owner->state == X_DONE
                         : x->state == X_CANCELLED &&
                               x->loss == LOSS_NONE; /* by a command */
}

static bool is_left_finally(const struct exec *x)
{
    for (const struct exec *owner; x != NULL; x = owner) {
        const struct frame *top = x->frame->top;

        owner = top->scope->owner;
        if (is_exec_given_up(x) && is_given_up_finally(x, owner))
            return true;
        if (owner != NULL && owner->child != top && owner->tools != top)
            return true; /* (3) */
    }
    return false;
}

/* Can `name`, the end of a path (ID#VISIT and the indexes of maps), be that of
 * x?  Comparing ids first avoids most of the paths. */
static bool can_have_name(const struct mortise_run *r, const struct exec *x,
                          const char *name)
{
    const char *id;
    size_t n;

    if (x->node >= x->frame->graph->n_nodes)
        return false; /* START, or an update */
    id = mortise_exec_node(r, x)->id;
    n = strlen(id);
    return strncmp(name, id, n) == 0 && name[n] == '#';
}

bool mortise_run_has_abandoned(const struct mortise_run *r, const char *path,
                               uint64_t written)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    char own[MORTISE_EXEC_PATH];

    if (r->leaves || r->left_seq > written)
        return false;
    for (size_t i = r->n_execs; i-- > 1;) { /* newest first */
        if (!can_have_name(r, r->execs[i], name))
            continue;
        mortise_exec_print_path(r, r->execs[i], own);
        if (strcmp(own, path) == 0)
            return is_left_finally(r->execs[i]);
    }
    return false;
}
