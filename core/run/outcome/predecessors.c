/* predecessors.c -- the list of predecessors that a leaf receives.
 *
 * In the order of depends_on: {id, output} of a node with an output, in its
 * short form if it was long (compact.c); {id, status} of one without: `failed`
 * if the join collected its failure, else `skipped`.  The list is made from the
 * causal past alone, so that a replay gives the same: of each node, its nearest
 * execution there.
 *
 * For the first node of a team, the team's {id, goal} and its predecessors come
 * first; if the team is first in another team, that team's come before, and so
 * on. */
#include <string.h>

#include "core/run/outcome/outcome.h"

static bool has_usable_output(const struct exec *y)
{
    return (y->state == X_DONE || y->state == X_HELD) && y->output != NULL;
}

/* Is y an execution of that node in x's graph?  An execution that gathers a map
 * is none. */
static bool is_execution_of_node(const struct exec *y, const struct exec *x,
                                 uint32_t node)
{
    return y->node == node && y->frame->top == x->frame->top && y->fan == NULL;
}

/* Search breadth first; among equally near executions take the least.  *out is
 * NULL if there is none. */
static int find_nearest_execution(struct mortise_run *r, const struct exec *x,
                                  uint32_t node, struct exec **out,
                                  struct mortise_err *err)
{
    const uint32_t *preds = x->preds;
    struct indexes past = {.n = 0};
    uint32_t n = x->n_preds;
    size_t at = 0, level = 0; /* end of this level in `past` */
    int rv = MORTISE_OK;

    *out = NULL;
    mortise_view_begin_walk(r);
    for (;;) {
        for (uint32_t i = 0; rv == MORTISE_OK && i < n; i++) {
            struct exec *y = r->execs[preds[i]];

            if (mortise_view_is_reached(r, y))
                continue;
            mortise_view_set_reached(r, y);
            if (!is_execution_of_node(y, x, node))
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

static bool is_failure_collected(const struct exec *x, const char *id)
{
    MORTISE_JSON_EACH (one, i, x->caught)
        if (strcmp(mortise_json_get_text(one, "node"), id) == 0)
            return true;
    return false;
}

static json_t *make_predecessor(const struct mortise_run *r,
                                const struct exec *x, const char *id,
                                const struct exec *y)
{
    if (y == NULL || !has_usable_output(y))
        return json_pack("{s:s, s:s}", "id", id, "status",
                         is_failure_collected(x, id) ? "failed" : "skipped");
    return json_pack("{s:s, s:o}", "id", id, "output", mortise_brief_get(r, y));
}

/* Append the predecessors in x's own depends_on. */
static int add_own_predecessors(struct mortise_run *r, const struct exec *x,
                                json_t *list, struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    int rv = MORTISE_OK;

    for (uint32_t i = 0; rv == MORTISE_OK && i < n->n_hears; i++) {
        const char *id = x->frame->graph->nodes[n->hears[i]].id;
        struct exec *y;

        rv = find_nearest_execution(r, x, n->hears[i], &y, err);
        if (rv == MORTISE_OK &&
            json_array_append_new(list, make_predecessor(r, x, id, y)) != 0)
            rv = mortise_nomem(err);
    }
    return rv;
}

/* The team in which x comes first; NULL: none. */
static const struct exec *get_team_it_starts(const struct mortise_run *r,
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

static json_t *make_team_goal(const struct mortise_run *r,
                              const struct exec *team)
{
    return json_pack("{s:s, s:O}", "id", mortise_exec_node(r, team)->id, "goal",
                     json_object_get(team->child->scope->input, "goal"));
}

/* The depth of the recursion is the nesting of teams, which limits.depth
 * bounds. */
static int add_team_predecessors(struct mortise_run *r, const struct exec *team,
                                 json_t *list, struct mortise_err *err)
{
    const struct exec *outer = get_team_it_starts(r, team);
    int rv =
        outer != NULL ? add_team_predecessors(r, outer, list, err) : MORTISE_OK;

    if (rv == MORTISE_OK &&
        json_array_append_new(list, make_team_goal(r, team)) != 0)
        rv = mortise_nomem(err);
    return rv == MORTISE_OK ? add_own_predecessors(r, team, list, err) : rv;
}

int mortise_predecessors_list_outputs(struct mortise_run *r,
                                      const struct exec *x, json_t **out,
                                      struct mortise_err *err)
{
    const struct exec *team = get_team_it_starts(r, x);
    int rv;

    *out = json_array();
    rv = *out != NULL ? MORTISE_OK : mortise_nomem(err);
    if (rv == MORTISE_OK && team != NULL)
        rv = add_team_predecessors(r, team, *out, err);
    if (rv == MORTISE_OK)
        rv = add_own_predecessors(r, x, *out, err);
    if (rv != MORTISE_OK)
        mortise_json_clear_ref(out);
    return rv;
}
