/* predecessors.c -- what a leaf is told of those that it depends on.
 *
 * A list, in the order of depends_on: {id, output} of a node that came to one, short
 * where it was long (compact.c); {id, status} of one that did not: `failed`, where
 * the join collected that, else `skipped`.  It is made of the causal past alone, so
 * that a replay tells the same: of each node the execution that is nearest there.
 *
 * Who comes first in a team is told in front of that what the team is: {id, goal}, and
 * what it depends on; and so on outwards, where the team comes first in another. */
#include <string.h>

#include "core/run/outcome/outcome.h"

static bool is_over_with(const struct exec *y)
{
    return (y->state == X_DONE || y->state == X_HELD) && y->output != NULL;
}

/* Of that node, in the graph that x is in; what gathers a map is none. */
static bool is_of(const struct exec *y, const struct exec *x, uint32_t node)
{
    return y->node == node && y->frame->top == x->frame->top && y->fan == NULL;
}

/* Breadth first, and of those that are as near the least; NULL in *out: there is
 * none. */
static int nearest(struct mortise_run *r, const struct exec *x, uint32_t node,
                   struct exec **out, struct mortise_err *err)
{
    const uint32_t *preds = x->preds;
    struct indexes past = {.n = 0};
    uint32_t n = x->n_preds;
    size_t at = 0, level = 0; /* so many of `past` are nearer */
    int rv = MORTISE_OK;

    *out = NULL;
    mortise_view_walk(r);
    for (;;) {
        for (uint32_t i = 0; rv == MORTISE_OK && i < n; i++) {
            struct exec *y = r->execs[preds[i]];

            if (mortise_view_was_met(r, y))
                continue;
            mortise_view_meet(r, y);
            if (!is_of(y, x, node))
                rv = mortise_indexes_add(r->mem, &past, y->index, err);
            else if (*out == NULL || mortise_exec_compare(y, *out) < 0)
                *out = y;
        }
        if (rv != MORTISE_OK ||
            (at == level && (*out != NULL || level == past.n)))
            break;
        if (at == level)
            level = past.n;
        preds = r->execs[past.list[at]]->preds;
        n = r->execs[past.list[at++]]->n_preds;
    }
    mortise_indexes_finish(r->mem, &past);
    return rv;
}

static bool is_caught(const struct exec *x, const char *id)
{
    MORTISE_JSON_EACH (one, i, x->caught)
        if (strcmp(mortise_json_text_of(one, "node"), id) == 0)
            return true;
    return false;
}

static json_t *told_of(const struct mortise_run *r, const struct exec *x,
                       const char *id, const struct exec *y)
{
    if (y == NULL || !is_over_with(y))
        return json_pack("{s:s, s:s}", "id", id, "status",
                         is_caught(x, id) ? "failed" : "skipped");
    return json_pack("{s:s, s:o}", "id", id, "output",
                     mortise_brief_told(r, y));
}

/* Those of x's own depends_on, behind what is there. */
static int add_own(struct mortise_run *r, const struct exec *x, json_t *list,
                   struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    int rv = MORTISE_OK;

    for (uint32_t i = 0; rv == MORTISE_OK && i < n->n_hears; i++) {
        const char *id = x->frame->graph->nodes[n->hears[i]].id;
        struct exec *y;

        rv = nearest(r, x, n->hears[i], &y, err);
        if (rv == MORTISE_OK &&
            json_array_append_new(list, told_of(r, x, id, y)) != 0)
            rv = mortise_nomem(err);
    }
    return rv;
}

/* The team in which it comes first; NULL: none. */
static const struct exec *team_around(const struct mortise_run *r,
                                      const struct exec *x)
{
    const struct exec *owner = x->frame->top->scope->owner;

    if (owner == NULL || mortise_exec_node(r, owner)->input_goal == NULL)
        return NULL;
    for (uint32_t i = 0; i < x->n_preds; i++)
        if (r->execs[x->preds[i]]->node != MORTISE_START)
            return NULL;
    return owner;
}

static json_t *goal_of(const struct mortise_run *r, const struct exec *team)
{
    return json_pack("{s:s, s:O}", "id", mortise_exec_node(r, team)->id, "goal",
                     json_object_get(team->child->scope->input, "goal"));
}

/* Recursive as teams nest, which limits.depth bounds. */
static int add_team(struct mortise_run *r, const struct exec *team,
                    json_t *list, struct mortise_err *err)
{
    const struct exec *outer = team_around(r, team);
    int rv = outer != NULL ? add_team(r, outer, list, err) : MORTISE_OK;

    if (rv == MORTISE_OK && json_array_append_new(list, goal_of(r, team)) != 0)
        rv = mortise_nomem(err);
    return rv == MORTISE_OK ? add_own(r, team, list, err) : rv;
}

int mortise_predecessors(struct mortise_run *r, const struct exec *x,
                         json_t **out, struct mortise_err *err)
{
    const struct exec *team = team_around(r, x);
    int rv;

    *out = json_array();
    rv = *out != NULL ? MORTISE_OK : mortise_nomem(err);
    if (rv == MORTISE_OK && team != NULL)
        rv = add_team(r, team, *out, err);
    if (rv == MORTISE_OK)
        rv = add_own(r, x, *out, err);
    if (rv != MORTISE_OK)
        mortise_json_drop(out);
    return rv;
}
