/* left.c -- executions that the run has left: their children are cancelled.
 *
 * A child of a run (asks/children.c) works for the execution that started it.  When
 * the run gives this execution up for good, nobody uses the child's result, so the
 * engine cancels the child if it is linked (core/engine/runs/children.c).
 *
 *   (1) An execution is given up when it ends otherwise than by its own output: it
 *       failed, its `on_error` supplied the output, it was stopped, or it lost.
 *   (2) It is given up for good when no retry and no `resume` tries it again: it
 *       lost a race, or to the end of its graph; its `on_error` supplied the output
 *       or led elsewhere; a goto left it behind; the run is cancelled; or the
 *       execution around it is done.  Otherwise the next attempt finds the child
 *       (docs/runtime.md, 10), which therefore goes on.
 *   (3) An execution that is given up for good takes along the children of all
 *       executions inside it, also of those that completed.  An attempt that begins
 *       its graph anew takes along the children of the attempt before.
 *   (4) An execution that completed keeps its children.  They end with the run.
 */
#include <string.h>

#include "core/run/flow/flow.h"

static bool has_lost(const struct exec *x)
{
    return x->loss == LOSS_RACE || x->loss == LOSS_END;
}

/* (1) */
static bool is_given_up(const struct exec *x)
{
    return x->state == X_FAILED || x->state == X_CANCELLED ||
           (x->state == X_DONE && x->by_on_error) || has_lost(x);
}

/* Does its frame not continue it any more?  A tool is continued by its asker, not by
 * its frame. */
static bool is_behind(const struct exec *x)
{
    const struct item *it;

    if (x->frame->behind || x->serves != 0)
        return x->frame->behind;
    it = mortise_exec_item(x);
    return it->exec != x->index ||
           (it->phase != ITEM_ACTIVE && it->phase != ITEM_FAILED);
}

/* (2); x is given up. */
static bool is_for_good(const struct exec *x, const struct exec *owner)
{
    if (has_lost(x) || x->state == X_DONE || is_behind(x))
        return true;
    return owner != NULL ? owner->state == X_DONE
                         : x->state == X_CANCELLED &&
                               x->loss == LOSS_NONE; /* by a command */
}

static bool is_left(const struct exec *x)
{
    for (const struct exec *owner; x != NULL; x = owner) {
        const struct frame *top = x->frame->top;

        owner = top->scope->owner;
        if (is_given_up(x) && is_for_good(x, owner))
            return true;
        if (owner != NULL && owner->child != top && owner->tools != top)
            return true; /* (3) */
    }
    return false;
}

/* May `name`, the end of a path, be that of x?  It is ID#VISIT, and the indexes of
 * maps.  To compare ids first saves most of the paths. */
static bool may_be(const struct mortise_run *r, const struct exec *x,
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

bool mortise_run_has_left(const struct mortise_run *r, const char *path,
                          uint64_t written)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    char own[MORTISE_EXEC_PATH];

    if (r->leaves || r->left_seq > written)
        return false;
    for (size_t i = r->n_execs; i-- > 1;) { /* newest first */
        if (!may_be(r, r->execs[i], name))
            continue;
        mortise_exec_path(r, r->execs[i], own);
        if (strcmp(own, path) == 0)
            return is_left(r->execs[i]);
    }
    return false;
}
