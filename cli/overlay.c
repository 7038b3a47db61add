/* overlay.c -- the state of a run's executions, for each node of its graph.
 *
 * The path of an execution consists of the nodes that contain nested graphs,
 * down to its own node ("1.0/review#2/inner#1[3]").
 *
 *   (1) Nodes are found only by their path: node `a` of one nested graph is not
 *       node `a` of another.
 *   (2) If a node has several visits, the newest counts.  The elements of a map
 *       belong to the same visit; the one that most needs attention counts.
 *   (3) A pending request is visible at every level: each node that contains it
 *       is waiting, too.
 *   (4) When a nested graph has ended, its nodes that never started count as
 *       skipped, as the run reports for its own nodes. */
#include "cli/overlay.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "core/json/value.h"

static enum mortise_ran_state parse_ran_status(const char *status)
{
    static const struct {
        const char *status;
        enum mortise_ran_state ran;
    } table[] = {
        {"running", MORTISE_RAN_RUNNING},
        {"compacting", MORTISE_RAN_RUNNING},
        {"awaiting_approval", MORTISE_RAN_WAITS},
        {"in_doubt", MORTISE_RAN_WAITS},
        {"waiting", MORTISE_RAN_WAITS},
        {"done", MORTISE_RAN_DONE},
        {"failed", MORTISE_RAN_FAILED},
        {"skipped", MORTISE_RAN_SKIPPED},
    };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(table[i].status, status) == 0)
            return table[i].ran;
    return MORTISE_RAN_NOT;
}

/* How much attention a state needs. */
static int get_attention_weight(enum mortise_ran_state ran)
{
    static const int weights[] = {
        [MORTISE_RAN_SKIPPED] = 0, [MORTISE_RAN_DONE] = 1,
        [MORTISE_RAN_NOT] = 2,     [MORTISE_RAN_FAILED] = 3,
        [MORTISE_RAN_RUNNING] = 4, [MORTISE_RAN_WAITS] = 5};

    return weights[ran];
}

/* ---- paths ------------------------------------------------------------- */

/* Find the node at *at, "ID#VISIT..." up to a slash, and advance *at.  NULL:
 * the graph has no such node. */
static const struct mortise_node *
find_node_in_path(const struct mortise_graph *g, const char **at)
{
    size_t n = strcspn(*at, "#/");
    char id[128] = "";

    if (n >= sizeof id)
        return NULL;
    memcpy(id, *at, n);
    *at += strcspn(*at, "/");
    *at += **at == '/';
    return mortise_graph_find_node(g, id);
}

/* Compare the visits in two paths of one node, from the outermost on.  Below 0:
 * b's are newer. */
static long compare_visits(const char *a, const char *b)
{
    long newer = 0;

    while (newer == 0 && (a = strchr(a, '#')) != NULL &&
           (b = strchr(b, '#')) != NULL)
        newer = strtol(++a, NULL, 10) - strtol(++b, NULL, 10);
    return newer;
}

/* ---- states ------------------------------------------------------------- */

/* (2) */
static void add_execution_state(struct mortise_overlay *o, const json_t *one,
                                enum mortise_ran_state ran)
{
    const char *path = mortise_cli_get_text(one, "path");
    long newer = o->newest != NULL ? compare_visits(path, o->newest) : 1;

    o->visits +=
        ran != MORTISE_RAN_NOT || json_object_get(one, "started") != NULL;
    if (newer > 0 || (newer == 0 &&
                      get_attention_weight(ran) > get_attention_weight(o->ran)))
        o->ran = ran;
    if (newer > 0)
        o->newest = path;
}

/* A started execution has a path; a node of the run's own graph that has not
 * started has only a name. */
static void set_execution_state(struct mortise_overlay *o,
                                const struct mortise_graph *g,
                                const json_t *one)
{
    enum mortise_ran_state ran =
        parse_ran_status(mortise_cli_get_text(one, "status"));
    const char *at = strchr(mortise_cli_get_text(one, "path"), '/');
    const struct mortise_node *n;

    if (at == NULL) {
        n = mortise_graph_find_node(g, mortise_cli_get_text(one, "node"));
        if (n != NULL)
            o[n->index].ran = ran;
        return;
    }
    for (at++; g != NULL && (n = find_node_in_path(g, &at)) != NULL;
         g = n->sub) {
        if (*at == '\0') {
            add_execution_state(&o[n->index], one, ran);
            return;
        }
        o = o[n->index].inside;
    }
}

/* (3) */
static void set_waiting_states(struct mortise_overlay *o,
                               const struct mortise_graph *g,
                               const json_t *request)
{
    const char *at = strchr(mortise_cli_get_text(request, "path"), '/');
    const struct mortise_node *n;

    for (at += at != NULL; at != NULL && *at != '\0' && g != NULL; g = n->sub) {
        n = find_node_in_path(g, &at);
        if (n == NULL)
            return;
        o[n->index].ran = MORTISE_RAN_WAITS;
        o = o[n->index].inside;
    }
}

/* (4); `over`: the node that contains this graph has ended. */
static void set_skipped_states(struct mortise_overlay *o,
                               const struct mortise_graph *g, bool over)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (over && o[i].ran == MORTISE_RAN_NOT)
            o[i].ran = MORTISE_RAN_SKIPPED;
        if (g->nodes[i].sub != NULL)
            set_skipped_states(o[i].inside, g->nodes[i].sub,
                               o[i].ran == MORTISE_RAN_DONE ||
                                   o[i].ran == MORTISE_RAN_FAILED ||
                                   o[i].ran == MORTISE_RAN_SKIPPED);
    }
}

static struct mortise_overlay *new_blank_overlay(struct mortise_arena *a,
                                                 const struct mortise_graph *g)
{
    size_t size = (g->n_nodes + 1) * sizeof(struct mortise_overlay);
    struct mortise_overlay *o = mortise_arena_alloc(a, size);

    if (o == NULL)
        return NULL;
    memset(o, 0, size);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].sub == NULL)
            continue;
        o[i].inside = new_blank_overlay(a, g->nodes[i].sub);
        if (o[i].inside == NULL)
            return NULL;
    }
    return o;
}

struct mortise_overlay *mortise_overlay_new(struct mortise_arena *a,
                                            const struct mortise_graph *g,
                                            const json_t *show)
{
    struct mortise_overlay *o = new_blank_overlay(a, g);

    if (o == NULL)
        return NULL;
    MORTISE_JSON_EACH (one, i, json_object_get(show, "nodes"))
        set_execution_state(o, g, one);
    MORTISE_JSON_EACH (one, i, json_object_get(show, "pending"))
        set_waiting_states(o, g, one);
    set_skipped_states(o, g, false);
    return o;
}
