/* names.c -- checks of names: the members of the state and of outputs that an
 * expression reads, and the paths that a node writes.
 *
 * The type checker of expressions (cel/) reports members that a closed schema
 * excludes.  This file compares expressions with the writes of the graph's
 * nodes:
 *
 *   (1) A path that no node writes is never set.  A node writes with outputs,
 *       output_as and output_mapping, a map writes its results.  Writes of
 *       people (update) and plugins ("update") count if the schema of the state
 *       lists the path.  E0411; W0417 for scratch, which people edit to repair
 *       runs.
 *   (2) A member that an output never has is not in an artifact of that output
 *       either.  This is checked for artifacts, and for paths that `outputs`
 *       sets to a path of the output, if all writers of the path agree.  E0412.
 *   (3) A path is not set either if its writers never run before the reader.
 *       E0413; W0415 for scratch, and for a path that the schema lists, because
 *       people may have set it.
 *   (4) A schema may list members and allow others.  For an output, an unlisted
 *       member gets a warning.  For the state, in which people may have more
 *       members than they declare, only a misspelled one does.  W0414.
 *   (5) A value of a map element is not visible outside the map's body.  E0414;
 *       W0415 if the schema lists the path, because people may have set it.
 *
 * A path that is written on some paths of the graph only may be absent on
 * others. has() is for that, and it is no finding.
 *
 * A missing finding is better than a wrong one.  The value of an expression, of
 * a reducer's expression, or of on_error is vague: nothing is concluded about
 * its members.  A value that a guardrail may replace is soft: errors become
 * warnings.
 *
 * The sources of a run were checked when it began and are not checked again.
 */
#include "lang/graph/check/names.h"

#include <stdio.h>
#include <string.h>

enum { SAID = 8, MAKERS = 4 /* shown in a message */ };

/* A value that an expression refers to, on the way down from a name. */
struct place {
    const char *path; /* for messages */
    bool is_state;    /* the name `state` itself: only `path` and this are
                       * set */
    /* For a part of the state: `depth` steps down, and the writes there. */
    const struct mortise_write_index *known; /* NULL: not in the state */
    struct mortise_write_range writes;
    size_t depth;
    bool is_declared;  /* the schema lists it */
    bool is_artifacts; /* in artifacts, otherwise in scratch */
    /* A schema that the value certainly fits, or NULL. */
    const struct mortise_schema *declared;
    /* The schemas of the values that are written here: one of them applies. */
    const struct mortise_schema *said[SAID];
    size_t n_said;
    bool vague; /* ... or any value is possible */
    bool soft;  /* ... or a guardrail may have replaced it */
    bool whole; /* the schema should list all members */
    /* For the results of a map: the schema of each result; NULL: any. */
    const struct mortise_schema *result;
};

struct names {
    struct mortise_loader *ld;
    struct mortise_arena arena;
    const struct mortise_placed_expr *at; /* the expression that is checked */
    bool quiet;                      /* add no finding, */
    bool missed;                     /* ... but record that there would be
                                      * one */
    struct mortise_order_search before;
    const struct place **item_of; /* per map: an element's place; NULL: any */
    const struct mortise_schema *results; /* of the results of a map */
};

static void *alloc_scratch(struct names *c, size_t size)
{
    return mortise_load_scratch(c->ld, &c->arena, size);
}

/* ---- places --------------------------------------------------------------- */

/* "artifacts.judge" + "enough". */
static const char *make_place_path(struct names *c, const char *path,
                                   const char *name)
{
    size_t size = strlen(path) + strlen(name) + 2;
    char *text = alloc_scratch(c, size);

    if (text == NULL)
        return path;
    snprintf(text, size, "%s%s%s", path, name[0] != '[' ? "." : "", name);
    return text;
}

static struct place *new_place(struct names *c, const char *path)
{
    struct place *p = alloc_scratch(c, sizeof *p);

    if (p != NULL)
        p->path = path;
    return p;
}

/* Add a possible schema of the value; NULL: any value. */
static void add_place_schema(struct place *p, const struct mortise_schema *s)
{
    if (s == NULL || p->n_said == SAID)
        p->vague = true;
    else
        p->said[p->n_said++] = s;
}

/* scratch or artifacts, of this graph or of an inner one. */
static struct place *new_state_place(struct names *c,
                                     const struct mortise_write_index *k,
                                     const char *root, const char *path)
{
    struct place *p = k != NULL ? new_place(c, path) : NULL;

    if (p == NULL)
        return NULL;
    p->known = k;
    p->writes = mortise_write_index_find_below(
        k, (struct mortise_write_range){0, k->n}, 0, root);
    p->depth = 1;
    p->is_artifacts = root[0] == 'a';
    p->declared = p->is_artifacts ? k->g->artifacts : k->g->scratch;
    return p;
}

static struct place *new_declared_place(struct names *c, const char *path,
                                        const struct mortise_schema *s)
{
    struct place *p = s != NULL ? new_place(c, path) : NULL;

    if (p != NULL)
        p->declared = s;
    return p;
}

/* May the output differ from its schema? */
static bool is_vague_output(const struct mortise_node *n)
{
    return n->on_error_value;
}

static bool is_soft_output(const struct mortise_node *n)
{
    return n->on_violation == MORTISE_VIOLATION_SANITIZE ||
           n->guards[MORTISE_GUARD_EDGE].n > 0;
}

/* ---- the values of writes ------------------------------------------------ */

/* {results, failed}: the value that a map writes. */
static const struct mortise_schema *get_results_schema(struct names *c)
{
    if (c->results == NULL)
        c->results = mortise_load_internal_schema(
            c->ld,
            json_pack("{s:s, s:b, s:{s:{s:s}, s:{s:s, s:{s:s, s:b, "
                      "s:{s:{s:s}, s:o}}}}}",
                      "type", "object", "additionalProperties", 0, "properties",
                      "results", "type", "array", "failed", "type", "array",
                      "items", "type", "object", "additionalProperties", 0,
                      "properties", "index", "type", "integer", "error",
                      mortise_load_error_type()));
    return c->results;
}

/* A result is the output of the last node of its element, if that is always the
 * same node. */
static const struct mortise_schema *
get_result_schema(const struct mortise_write_index *k,
                  const struct mortise_declared_write *w)
{
    const struct mortise_graph *g = k->g;
    uint32_t last = MORTISE_NOWHERE;

    for (uint32_t i = 0; i < g->n_edges; i++) {
        const struct mortise_edge *e = &g->edges[i];
        const struct mortise_region *map =
            e->yields ? &g->regions[k->body[e->from]] : NULL;

        if (map == NULL || map->join != w->node ||
            strcmp(g->nodes[map->entry].id,
                   w->path->steps[w->path->n - 1].key) != 0)
            continue;
        if (last != MORTISE_NOWHERE && last != e->from)
            return NULL;
        last = e->from;
    }
    if (last == MORTISE_NOWHERE || is_vague_output(&g->nodes[last]) ||
        is_soft_output(&g->nodes[last]) || g->nodes[last].sub != NULL)
        return NULL;
    return k->output_of[last];
}

static void add_map_results(struct names *c, struct place *p,
                            const struct mortise_declared_write *w)
{
    p->result =
        p->n_said == 0 && !p->vague ? get_result_schema(p->known, w) : NULL;
    add_place_schema(p, get_results_schema(c));
}

/* The schema, if the expression is `output` or a path below it. */
static const struct mortise_schema *
get_output_line_schema(struct names *c, const struct mortise_write_index *k,
                       const struct mortise_declared_write *w)
{
    const char *text =
        w->expr->cel != NULL ? mortise_cel_get_path(w->expr->cel) : NULL;
    struct mortise_path path;

    if (text == NULL || strncmp(text, "output", 6) != 0 ||
        mortise_path_parse(&path, &c->arena, text, strlen(text), NULL) !=
            MORTISE_OK ||
        strcmp(path.steps[0].key, "output") != 0)
        return NULL;
    return mortise_load_schema_below(k->output_of[w->node], &path);
}

static void add_write_value(struct names *c, struct place *p,
                            const struct mortise_declared_write *w)
{
    const struct mortise_write_index *k = p->known;
    const struct mortise_node *node = &k->g->nodes[w->node];

    p->whole = true;
    p->soft |= is_soft_output(node);
    if (mortise_graph_get_reduce(k->g, w->path) == MORTISE_REDUCE_EXPR ||
        (is_vague_output(node) && !w->last))
        p->vague = true;
    else if (w->last)
        add_map_results(c, p, w);
    else if (node->sub != NULL)
        p->vague = true;
    else if (w->is_output)
        add_place_schema(p, k->output_of[w->node]);
    else
        add_place_schema(p, get_output_line_schema(c, k, w));
}

/* Is the write visible to the current expression? */
static bool sees_write(const struct names *c, const struct place *p,
                       const struct mortise_declared_write *w)
{
    return mortise_write_index_is_visible(c->ld, p->known, w, c->at->node);
}

/* The writes that are visible here: any, and any of a map element. */
struct seen {
    bool any, own;
};

static struct seen get_visible_writes(const struct names *c,
                                      const struct place *p)
{
    struct seen s = {false, false};

    for (size_t i = p->writes.lo; i < p->writes.hi; i++)
        if (sees_write(c, p, &p->known->writes[i])) {
            s.any = true;
            s.own |= p->known->writes[i].own_of != 0;
        }
    return s;
}

/* Add the writes of exactly this path. */
static void add_write_values(struct names *c, struct place *p)
{
    for (size_t i = p->writes.lo; i < p->writes.hi; i++) {
        const struct mortise_declared_write *w = &p->known->writes[i];

        if (w->path->n > p->depth || p->vague)
            break;
        if (sees_write(c, p, w))
            add_write_value(c, p, w);
    }
}

/* The writes of the inner graph, if the place is the artifact of a subgraph and
 * nothing else writes it. */
static const struct mortise_write_index *get_inner_writes(const struct place *p)
{
    const struct mortise_declared_write *w = &p->known->writes[p->writes.lo];

    return p->writes.hi - p->writes.lo == 1 && w->is_output && !w->last &&
                   w->path->n == p->depth &&
                   !p->known->g->nodes[w->node].on_error_value
               ? p->known->known_of[w->node]
               : NULL;
}

/* ---- findings ----------------------------------------------------------------- */

static struct mortise_diag *report_name(struct names *c, const char *code,
                                        struct mortise_cel_range where,
                                        const char *words)
{
    c->missed = true;
    if (c->quiet)
        return NULL;
    return mortise_diag_add(c->ld->diags, code,
                            mortise_expr_get_span(&c->at->expr, where), "%s",
                            words);
}

static void add_name_help(struct names *c, struct mortise_diag *d,
                          const char *near, const char *otherwise)
{
    if (near != NULL)
        mortise_diag_help(c->ld->diags, d, "did you mean '%s'?", near);
    else if (otherwise != NULL)
        mortise_diag_help(c->ld->diags, d, "%s", otherwise);
}

/* The written step most similar to the name. */
static const char *find_similar_write(struct names *c, const struct place *p,
                                      const char *name, const char *best)
{
    if (p->known == NULL || c->ld->suggestions == 0)
        return best;
    c->ld->suggestions--;
    return mortise_write_index_find_nearest(p->known, p->writes, p->depth, name,
                                            best);
}

/* (1) */
static void report_unwritten_name(struct names *c, const struct place *of,
                                  const struct place *p, const char *name,
                                  const char *near,
                                  struct mortise_cel_range where)
{
    bool is_error =
        !p->is_declared && !of->is_declared && !of->soft && of->is_artifacts;
    char words[256];

    snprintf(words, sizeof words, "no node writes '%.200s'", p->path);
    near = find_similar_write(c, of, name, near);
    add_name_help(
        c, report_name(c, is_error ? "E0411" : "W0417", where, words), near,
        "write it with 'outputs' or 'output_as' of a node; if only people or "
        "plugins set it, list it in the schema of the state");
}

/* (2), (4) */
static void report_unlisted_member(struct names *c, const struct place *of,
                                   const char *name, bool never,
                                   const char *near,
                                   struct mortise_cel_range where)
{
    char words[256];

    if (never)
        snprintf(words, sizeof words, "'%.120s' never has a member '%.80s'",
                 of->path, name);
    else
        snprintf(words, sizeof words,
                 "the schema of '%.120s' has no member '%.80s'", of->path,
                 name);
    add_name_help(
        c, report_name(c, never && !of->soft ? "E0412" : "W0414", where, words),
        find_similar_write(c, of, name, near), NULL);
}

/* "'a', 'b' and others" */
static void print_writers(const struct place *p, char *out, size_t size)
{
    const struct mortise_write_index *k = p->known;
    uint32_t last = MORTISE_NOWHERE;
    size_t n = 0, shown = 0;

    out[0] = '\0';
    for (size_t i = p->writes.lo; i < p->writes.hi && n + 80 < size; i++) {
        if (k->writes[i].node == last)
            continue;
        last = k->writes[i].node;
        if (shown == MAKERS) {
            snprintf(out + n, size - n, " and others");
            return;
        }
        n += (size_t)snprintf(out + n, size - n, "%s'%s'",
                              shown++ > 0 ? ", " : "", k->g->nodes[last].id);
    }
}

static void report_later_write(struct names *c, const struct place *p,
                               struct mortise_cel_range where)
{
    char who[400], words[640];
    bool start = c->at->node == MORTISE_START;

    print_writers(p, who, sizeof who);
    snprintf(words, sizeof words,
             start ? "'%.120s' is written by %s, after START"
                   : "'%.120s' is written only by %s, and no path leads from "
                     "there to '%s'",
             p->path, who, start ? "" : c->ld->g->nodes[c->at->node].id);
    add_name_help(
        c,
        report_name(c, p->is_declared || !p->is_artifacts ? "W0415" : "E0413",
                    where, words),
        NULL, NULL);
}

/* (5) */
static void report_element_write(struct names *c, const struct place *p,
                                 struct mortise_cel_range where)
{
    const struct mortise_declared_write *w = &p->known->writes[p->writes.lo];
    const char *to;
    char who[400], words[700];

    for (size_t i = p->writes.lo; i < p->writes.hi; i++)
        /* the results of an inner map belong to the outer one */
        if (p->known->writes[i].last)
            w = &p->known->writes[i];
    to = p->known->g->nodes[w->own_of - 1].id;
    print_writers(p, who, sizeof who);
    snprintf(words, sizeof words,
             "'%.120s' is written only by %s, inside the map that runs "
             "'%.64s', and is not visible here",
             p->path, who, to);
    snprintf(who, sizeof who,
             "'artifacts.%.64s' has the results of all elements after the "
             "join; a path with a reducer (state.reducers) is also visible",
             to);
    add_name_help(
        c, report_name(c, p->is_declared ? "W0415" : "E0414", where, words),
        NULL, who);
}

/* Does one of the writers run before the current node? */
static bool may_be_written_before(struct names *c, const struct place *p)
{
    uint32_t node = c->at->node;

    for (size_t i = p->writes.lo; i < p->writes.hi; i++) {
        const struct mortise_declared_write *w = &p->known->writes[i];

        if (!sees_write(c, p, w))
            continue;
        if (w->node == node && (w->last || c->at->end > MORTISE_IN_OUTPUT))
            return true;
        if (mortise_order_search_has_path(&c->before, w->node, node))
            return true;
    }
    return false;
}

/* ---- members -------------------------------------------------------------------- */

/* Find a member in the schemas of the written values; fills in `out`. */
static struct mortise_schema_member_info
find_said_member(const struct place *of, const char *name, struct place *out)
{
    struct mortise_schema_member_info all = {.never = of->n_said > 0};

    for (size_t i = 0; i < of->n_said; i++) {
        struct mortise_schema_member_info one;

        mortise_schema_find_member(of->said[i], name, &one);
        all.listed |= one.listed;
        all.never &= one.never;
        all.others |= one.others;
        if (all.near == NULL || (one.slip && !all.slip))
            all.near = one.near;
        all.slip |= one.slip;
        for (size_t n = 0; n < one.n; n++)
            add_place_schema(out, one.schemas[n]);
        if (one.n == 0 && !one.never)
            out->vague = true;
    }
    out->vague |= of->vague;
    out->soft = of->soft;
    out->whole = of->whole;
    return all;
}

static struct mortise_schema_member_info
find_declared_member(const struct place *of, const char *name,
                     struct place *out)
{
    struct mortise_schema_member_info seen = {.listed = false};

    if (of->declared == NULL)
        return seen;
    mortise_schema_find_member(of->declared, name, &seen);
    out->is_declared = seen.listed || seen.open;
    out->declared = seen.n == 1 ? seen.schemas[0] : NULL;
    return seen;
}

/* Report a member that no node writes and no schema lists. */
static void
check_unlisted_member(struct names *c, const struct place *of,
                      const struct place *p, const char *name,
                      const struct mortise_schema_member_info *said,
                      const struct mortise_schema_member_info *declared,
                      struct mortise_cel_range where)
{
    bool slip = said->slip || declared->slip;
    bool others = said->others || declared->others;
    const char *near = declared->near != NULL ? declared->near : said->near;

    if (of->vague || (of->known == NULL && of->n_said == 0)) {
        if (declared->slip || (of->whole && others && !of->vague))
            report_unlisted_member(c, of, name, false, near, where);
    } else if (of->n_said > 0) {
        if (said->never || slip || (of->whole && said->others))
            report_unlisted_member(c, of, name, said->never, near, where);
    } else if (declared->open ? slip
                              : !of->is_declared || slip ||
                                    of->writes.hi > of->writes.lo) {
        report_unwritten_name(c, of, p, name, near, where);
    }
}

/* A member of `state`. */
static const void *get_state_part(struct names *c, const char *name)
{
    const struct mortise_loader *ld = c->ld;

    if (strcmp(name, "input") == 0)
        return new_declared_place(c, "input", ld->g->input);
    return new_state_place(
        c, ld->known, strcmp(name, "scratch") == 0 ? "scratch" : "artifacts",
        name);
}

static const void *find_place_member(void *ctx, const void *place,
                                     const char *name,
                                     struct mortise_cel_range where)
{
    struct names *c = ctx;
    const struct place *of = place;
    struct mortise_schema_member_info said, declared = {.listed = false};
    struct place *p;
    struct seen seen = {false, false};

    if (of->is_state)
        return get_state_part(c, name);
    p = new_place(c, make_place_path(c, of->path, name));
    if (p == NULL)
        return NULL;
    said = find_said_member(of, name, p);
    if (strcmp(name, "results") == 0)
        p->result = of->result;
    if (of->known != NULL) {
        p->known = of->known;
        p->writes = mortise_write_index_find_below(of->known, of->writes,
                                                   of->depth, name);
        p->depth = of->depth + 1;
        p->is_artifacts = of->is_artifacts;
        seen = get_visible_writes(c, p);
    }
    /* The schema of the state does not apply to values of map elements. */
    if (!seen.own)
        declared = find_declared_member(of, name, p);
    if (!seen.any && p->writes.hi > p->writes.lo && !declared.listed) {
        report_element_write(c, p, where);
        return NULL;
    }
    if (!seen.any && !declared.listed && !said.listed) {
        check_unlisted_member(c, of, p, name, &said, &declared, where);
        return p->n_said > 0 || p->declared != NULL ? p : NULL;
    }
    if (seen.any && of->depth == 1 && of->known == c->ld->known && !c->quiet &&
        c->at->inner == NULL && !may_be_written_before(c, p))
        report_later_write(c, p, where);
    if (seen.any && get_inner_writes(p) != NULL)
        return new_state_place(c, get_inner_writes(p), "artifacts", p->path);
    if (seen.any)
        add_write_values(c, p);
    return p;
}

/* The elements have the items' schemas. */
static const void *get_place_item(void *ctx, const void *place)
{
    struct names *c = ctx;
    const struct place *of = place;
    struct place *p =
        !of->is_state ? new_place(c, make_place_path(c, of->path, "[]")) : NULL;

    if (p == NULL)
        return NULL;
    p->vague = of->vague || of->known != NULL;
    p->soft = of->soft;
    p->whole = of->whole;
    for (size_t i = 0; i < of->n_said; i++)
        add_place_schema(
            p, mortise_schema_get_types(of->said[i]) & MORTISE_T_OBJECT ? NULL
               : of->result != NULL ? of->result
                                    : mortise_schema_get_items(of->said[i]));
    if (of->known != NULL && of->n_said > 0 && !of->vague)
        p->vague = false;
    if (of->declared != NULL &&
        !(mortise_schema_get_types(of->declared) & MORTISE_T_OBJECT))
        p->declared = mortise_schema_get_items(of->declared);
    return p->n_said > 0 || p->declared != NULL ? p : NULL;
}

/* ---- names ----------------------------------------------------------------------- */

static const void *get_place_of_name(void *ctx, size_t index);

static const void *check_expression_names(struct names *c,
                                          const struct mortise_placed_expr *at,
                                          bool quiet)
{
    const struct mortise_cel_walk look = {c, get_place_of_name,
                                          find_place_member, get_place_item};
    const struct mortise_placed_expr *was = c->at;
    bool was_quiet = c->quiet;
    const void *place;

    c->at = at;
    c->quiet |= quiet;
    if (at->inner == NULL)
        mortise_load_set_scope_node(c->ld, at->node);
    place = mortise_cel_walk(at->expr.cel, &look);
    c->at = was;
    c->quiet = was_quiet;
    if (was != NULL && was->inner == NULL)
        mortise_load_set_scope_node(c->ld, was->node);
    return place;
}

/* The output of a guardrail node is the value of its target. */
static const void *get_guard_target_place(struct names *c,
                                          const struct mortise_node *node)
{
    struct mortise_placed_expr at = {
        .expr = node->target, .node = node->index, .end = MORTISE_IN_OUTPUT};
    const struct place *target =
        node->has_target && node->target.cel != NULL && !is_vague_output(node)
            ? check_expression_names(c, &at, true)
            : NULL;
    struct place *p = target != NULL ? new_place(c, "output") : NULL;

    if (p == NULL || target->is_state)
        return NULL;
    *p = *target;
    p->path = "output";
    p->soft |= is_soft_output(node);
    return p;
}

static const void *get_node_output_place(struct names *c, uint32_t index)
{
    const struct mortise_node *node = &c->ld->g->nodes[index];
    struct place *p;

    if (node->guards[MORTISE_GUARD_TARGET].n > 0)
        return get_guard_target_place(c, node);
    if (node->sub != NULL && !is_vague_output(node))
        return new_state_place(c, c->ld->known_of[index], "artifacts",
                               "output");
    p = new_declared_place(c, "output", c->ld->output_of[index]);
    if (p == NULL || is_vague_output(node))
        return NULL;
    p->whole = true;
    return p;
}

/* The names of the inner graph, in its output_mapping. */
static const void *get_inner_name_place(struct names *c, size_t index)
{
    const struct mortise_write_index *k = c->ld->known_of[c->at->node];

    switch (index) {
    case MORTISE_IN_INPUT:
        return new_declared_place(c, "input", c->at->inner[index].schema);
    case MORTISE_IN_SCRATCH:
        return new_state_place(c, k, "scratch", "scratch");
    case MORTISE_IN_ARTIFACTS:
    case MORTISE_IN_OUTPUT:
        return new_state_place(c, k, "artifacts",
                               index == MORTISE_IN_OUTPUT ? "output"
                                                          : "artifacts");
    default:
        return NULL;
    }
}

/* The map at this level around the node, or 0. */
static uint32_t find_map_at_level(const struct mortise_loader *ld,
                                  uint32_t node, size_t level)
{
    uint32_t map = node != MORTISE_START ? ld->body[node] : 0;

    while (map != 0 && ld->g->regions[map].level != level)
        map = ld->g->regions[map].parent;
    return map;
}

static const void *get_place_of_name(void *ctx, size_t index)
{
    struct names *c = ctx;
    const struct mortise_loader *ld = c->ld;
    struct place *state;

    if (c->at->inner != NULL)
        return get_inner_name_place(c, index);
    switch (index) {
    case MORTISE_IN_INPUT:
        return new_declared_place(c, "input", ld->g->input);
    case MORTISE_IN_SCRATCH:
        return new_state_place(c, ld->known, "scratch", "scratch");
    case MORTISE_IN_ARTIFACTS:
        return new_state_place(c, ld->known, "artifacts", "artifacts");
    case MORTISE_IN_STATE:
        state = new_place(c, "state");
        if (state != NULL)
            state->is_state = true;
        return state;
    case MORTISE_IN_OUTPUT:
        return c->at->node != MORTISE_START
                   ? get_node_output_place(c, c->at->node)
                   : NULL;
    default:
        return index >= MORTISE_IN_ITEM && index < MORTISE_IN_ITEM_END
                   ? c->item_of[find_map_at_level(ld, c->at->node,
                                                  index - MORTISE_IN_ITEM)]
                   : NULL;
    }
}

/* ---- for templates.c ----------------------------------------------------------------- */

const void *mortise_names_get_place(struct names *c, uint32_t node,
                                    const struct mortise_expr *e)
{
    struct mortise_placed_expr at = {
        .expr = *e, .node = node, .end = MORTISE_IN_OUTPUT};

    return check_expression_names(c, &at, true);
}

const void *mortise_names_get_member(struct names *c, const void *place,
                                     const char *name, bool *missing)
{
    struct mortise_placed_expr at = {.node = MORTISE_NOWHERE};
    const struct mortise_placed_expr *was = c->at;
    const void *found;

    c->at = &at;
    c->quiet = true;
    c->missed = false;
    found = find_place_member(c, place, name, (struct mortise_cel_range){0, 0});
    *missing = c->missed;
    c->quiet = false;
    c->at = was;
    return found;
}

/* The possible types of the value. */
static unsigned get_place_types(const struct place *p)
{
    unsigned said = 0, declared = MORTISE_T_ANY;

    for (size_t i = 0; i < p->n_said; i++)
        said |= mortise_schema_get_types(p->said[i]);
    if (p->n_said == 0 || p->vague)
        said = MORTISE_T_ANY;
    if (p->declared != NULL)
        declared = mortise_schema_get_types(p->declared);
    return said & declared;
}

const void *mortise_names_get_element(struct names *c, const void *place,
                                      bool *opens)
{
    unsigned types =
        get_place_types(place) & (MORTISE_T_ARRAY | MORTISE_T_OBJECT);

    *opens = types != 0;
    if (types == MORTISE_T_ARRAY)
        return get_place_item(c, place);
    return types == MORTISE_T_OBJECT ? place : NULL;
}

const char *mortise_names_find_nearest(const struct mortise_yaml *map,
                                       const char *name)
{
    const char *two[2] = {NULL, NULL};

    for (size_t i = 0; i < map->n; i++) {
        two[1] = map->keys[i]->str;
        two[0] = mortise_nearest_find(name, two, 2);
    }
    return two[0];
}

/* ---- maps ------------------------------------------------------------------------- */

static void find_item_place(struct names *c, uint32_t map)
{
    const struct mortise_region *r = &c->ld->g->regions[map];
    struct mortise_placed_expr at = {.expr = r->over,
                                     .node = c->ld->g->edges[r->map_edge].from,
                                     .end = MORTISE_IN_ERROR};
    const void *list =
        r->over.cel != NULL ? check_expression_names(c, &at, true) : NULL;
    const struct place *one = list != NULL ? get_place_item(c, list) : NULL;
    struct place *p = one != NULL ? new_place(c, r->as) : NULL;

    if (p == NULL)
        return;
    *p = *one;
    p->path = r->as;
    c->item_of[map] = p;
}

/* Outer maps first: an inner map may iterate over a part of an outer
 * element. */
static void find_item_places(struct names *c)
{
    const struct mortise_loader *ld = c->ld;

    c->item_of = alloc_scratch(c, (ld->n_maps + 1) * sizeof *c->item_of);
    for (uint32_t level = 0; level < MORTISE_MAX_MAPS && !ld->nomem; level++)
        for (uint32_t i = 1; i <= ld->n_maps && !ld->nomem; i++)
            if (ld->g->regions[i].level == level)
                find_item_place(c, i);
}

/* ---- written paths (4) --------------------------------------------------- */

static void check_written_path(struct names *c, const struct mortise_path *path,
                               const struct mortise_schema *s,
                               struct mortise_span span)
{
    for (size_t i = 1; i < path->n && s != NULL; i++) {
        struct mortise_schema_member_info seen;

        if (path->steps[i].key == NULL) {
            s = mortise_schema_get_items(s);
            continue;
        }
        mortise_schema_find_member(s, path->steps[i].key, &seen);
        if (!seen.listed && !seen.never && seen.slip) {
            mortise_diag_help(
                c->ld->diags,
                mortise_diag_add(c->ld->diags, "W0414", span,
                                 "the schema of '%s' has no member '%s'",
                                 path->steps[0].key, path->steps[i].key),
                "did you mean '%s'?", seen.near);
            return;
        }
        s = seen.n == 1 ? seen.schemas[0] : NULL;
    }
}

static void check_written_paths(struct names *c)
{
    const struct mortise_graph *g = c->ld->g;
    const struct mortise_write_index *k = c->ld->known;

    for (size_t i = 0; i < k->n; i++) {
        const struct mortise_declared_write *w = &k->writes[i];

        if (!w->implied && !w->last)
            check_written_path(c, w->path,
                               w->path->steps[0].key[0] == 's' ? g->scratch
                                                               : g->artifacts,
                               w->span);
    }
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (size_t l = 0; l < g->nodes[i].n_input_mapping; l++) {
            const struct mortise_output *line = &g->nodes[i].input_mapping[l];

            check_written_path(c, &line->path, g->nodes[i].sub->input,
                               line->expr.at->span);
        }
}

/* ---- entry ------------------------------------------------------------------------- */

void mortise_check_names(struct mortise_loader *ld)
{
    struct names c = {.ld = ld};

    if (mortise_load_is_pinned(ld))
        return;
    mortise_arena_init(&c.arena, ld->mem);
    ld->known = mortise_write_index_new(ld);
    if (ld->known != NULL && mortise_order_search_init(&c.before, ld, &c.arena))
        find_item_places(&c);
    for (size_t i = 0; i < ld->n_looked && !ld->nomem; i++)
        check_expression_names(&c, &ld->looked[i], false);
    for (uint32_t i = 0; i < ld->g->n_nodes && !ld->nomem; i++) {
        const struct mortise_node *n = &ld->g->nodes[i];

        if (n->op != NULL && n->op->input != NULL && n->args != NULL)
            mortise_check_templates(&c, ld, n);
    }
    if (!ld->nomem)
        check_written_paths(&c);
    mortise_arena_finish(&c.arena);
}
