/* overlay.c -- what of a graph ran.
 *
 * A run says of each execution where it was: its path goes through the nodes
 * that hold nested graphs down to its own ("1.0/review#2/inner#1[3]").
 *
 *   (1) Nodes are found by that way alone: a nested graph's `a` is not its
 *       neighbour's.
 *   (2) Of several visits the newest one counts; of the elements of a map,
 *       which visit it together, the one that most wants somebody's eye.
 *   (3) What waits for somebody is seen at every depth: each node around it
 *       waits, too.
 *   (4) Of a nested graph that has ended, what never began was skipped, as the
 *       run says it of its own nodes.
 */
#include "cli/overlay.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "core/json/value.h"

static enum mortise_ran ran_of(const char *status)
{
    static const struct {
        const char *status;
        enum mortise_ran ran;
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

/* How much it wants to be seen. */
static int weight(enum mortise_ran ran)
{
    static const int weights[] = {
        [MORTISE_RAN_SKIPPED] = 0, [MORTISE_RAN_DONE] = 1,
        [MORTISE_RAN_NOT] = 2,     [MORTISE_RAN_FAILED] = 3,
        [MORTISE_RAN_RUNNING] = 4, [MORTISE_RAN_WAITS] = 5};

    return weights[ran];
}

/* ---- paths ------------------------------------------------------------- */

/* The node named at *at, "ID#VISIT..." up to a slash; *at moves behind it.
 * NULL: the graph has none of that name. */
static const struct mortise_node *step_in(const struct mortise_graph *g,
                                          const char **at)
{
    size_t n = strcspn(*at, "#/");
    char id[128] = "";

    if (n >= sizeof id)
        return NULL;
    memcpy(id, *at, n);
    *at += strcspn(*at, "/");
    *at += **at == '/';
    return mortise_graph_node(g, id);
}

/* Two executions of one node: whose visits, the outermost first, are newer?
 * Below 0: b's. */
static long compare_visits(const char *a, const char *b)
{
    long newer = 0;

    while (newer == 0 && (a = strchr(a, '#')) != NULL &&
           (b = strchr(b, '#')) != NULL)
        newer = strtol(++a, NULL, 10) - strtol(++b, NULL, 10);
    return newer;
}

/* ---- laying ------------------------------------------------------------ */

/* (2) */
static void lay_one(struct mortise_overlay *o, const json_t *one,
                    enum mortise_ran ran)
{
    const char *path = mortise_cli_text(one, "path");
    long newer = o->newest != NULL ? compare_visits(path, o->newest) : 1;

    o->visits +=
        ran != MORTISE_RAN_NOT || json_object_get(one, "started") != NULL;
    if (newer > 0 || (newer == 0 && weight(ran) > weight(o->ran)))
        o->ran = ran;
    if (newer > 0)
        o->newest = path;
}

/* One that began has a path, one of the run's own that did not a name. */
static void lay(struct mortise_overlay *o, const struct mortise_graph *g,
                const json_t *one)
{
    enum mortise_ran ran = ran_of(mortise_cli_text(one, "status"));
    const char *at = strchr(mortise_cli_text(one, "path"), '/');
    const struct mortise_node *n;

    if (at == NULL) {
        n = mortise_graph_node(g, mortise_cli_text(one, "node"));
        if (n != NULL)
            o[n->index].ran = ran;
        return;
    }
    for (at++; g != NULL && (n = step_in(g, &at)) != NULL; g = n->sub) {
        if (*at == '\0') {
            lay_one(&o[n->index], one, ran);
            return;
        }
        o = o[n->index].inside;
    }
}

/* (3) */
static void lay_pending(struct mortise_overlay *o,
                        const struct mortise_graph *g, const json_t *request)
{
    const char *at = strchr(mortise_cli_text(request, "path"), '/');
    const struct mortise_node *n;

    for (at += at != NULL; at != NULL && *at != '\0' && g != NULL; g = n->sub) {
        n = step_in(g, &at);
        if (n == NULL)
            return;
        o[n->index].ran = MORTISE_RAN_WAITS;
        o = o[n->index].inside;
    }
}

/* (4); `over`: what holds this graph has ended. */
static void lay_skipped(struct mortise_overlay *o,
                        const struct mortise_graph *g, bool over)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (over && o[i].ran == MORTISE_RAN_NOT)
            o[i].ran = MORTISE_RAN_SKIPPED;
        if (g->nodes[i].sub != NULL)
            lay_skipped(o[i].inside, g->nodes[i].sub,
                        o[i].ran == MORTISE_RAN_DONE ||
                            o[i].ran == MORTISE_RAN_FAILED ||
                            o[i].ran == MORTISE_RAN_SKIPPED);
    }
}

static struct mortise_overlay *blank(struct mortise_arena *a,
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
        o[i].inside = blank(a, g->nodes[i].sub);
        if (o[i].inside == NULL)
            return NULL;
    }
    return o;
}

struct mortise_overlay *mortise_overlay_new(struct mortise_arena *a,
                                            const struct mortise_graph *g,
                                            const json_t *show)
{
    struct mortise_overlay *o = blank(a, g);

    if (o == NULL)
        return NULL;
    MORTISE_JSON_EACH (one, i, json_object_get(show, "nodes"))
        lay(o, g, one);
    MORTISE_JSON_EACH (one, i, json_object_get(show, "pending"))
        lay_pending(o, g, one);
    lay_skipped(o, g, false);
    return o;
}
