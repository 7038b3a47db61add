/* result.c -- the results of a node: outputs, output_as, on_error.
 *
 * outputs and output_as write to paths of the state.  The writes are recorded
 * for race.c.
 */
#include "lang/graph/load/node.h"

#include <stdio.h>
#include <string.h>

static void add_declared_write(struct mortise_loader *ld,
                               struct mortise_declared_write write)
{
    struct mortise_declared_write *list = mortise_array_grow(
        ld->mem, ld->writes, ld->n_writes, &ld->cap_writes, sizeof *list);

    if (list == NULL) {
        ld->nomem = true;
        return;
    }
    ld->writes = list;
    list[ld->n_writes++] = write;
}

void mortise_node_add_write(struct mortise_loader *ld,
                            const struct mortise_node *node,
                            const struct mortise_path *path,
                            const struct mortise_expr *expr,
                            struct mortise_span span)
{
    add_declared_write(ld,
                       (struct mortise_declared_write){.path = path,
                                                       .node = node->index,
                                                       .expr = expr,
                                                       .in_place = expr == NULL,
                                                       .span = span});
}

const struct mortise_word *
mortise_node_word_or_map(struct mortise_loader *ld, void *into,
                         const struct mortise_slot *slot, const char *also)
{
    const struct mortise_key *forms = slot->key->forms;
    struct mortise_diags *diags = ld->diags;
    const struct mortise_word *w;

    if (slot->value->kind == MORTISE_YAML_MAP) {
        mortise_keys_read(forms[1].place, slot->value, slot->name->span, ld,
                          into, diags);
        return NULL;
    }
    w = mortise_word_find(forms[0].words, slot->key->name, slot->value, diags);
    if (w == NULL && diags->n > 0 && mortise_diags_count_lost(diags) == 0 &&
        diags->list[diags->n - 1].help == NULL)
        mortise_diag_help(diags, &diags->list[diags->n - 1],
                          "the value can also be %s", also);
    return w;
}

bool mortise_node_is_id(const char *s)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    size_t n = strlen(s);

    if (n == 0 || n > 64 || strchr(letters, s[0]) == NULL)
        return false;
    for (size_t i = 1; i < n; i++)
        if (strchr(letters, s[i]) == NULL &&
            strchr("0123456789-", s[i]) == NULL)
            return false;
    return true;
}

void mortise_node_report_bad_id(struct mortise_loader *ld,
                                const struct mortise_yaml *id)
{
    struct mortise_diag *d = mortise_diag_add(ld->diags, "E0211", id->span,
                                              "'%s' cannot be an id", id->str);

    mortise_diag_help(ld->diags, d,
                      "use at most 64 letters, digits, _ and -, and begin with "
                      "a letter or _");
}

/* With an {expr} reducer, the operand may have any type. */
static void compile_output_expr(struct mortise_loader *ld,
                                const struct mortise_deferred_expr *late)
{
    struct mortise_output *out = late->into;

    mortise_load_expr(ld, &out->expr, late->at, late->end);
    if (!ld->doubtful &&
        mortise_graph_get_reduce(ld->g, &out->path) != MORTISE_REDUCE_EXPR)
        mortise_load_check_fit(ld, &out->expr, out->path.text,
                               mortise_load_schema_at(ld, &out->path));
}

size_t mortise_node_read_entries(struct mortise_loader *ld,
                                 struct mortise_node_reader *r,
                                 struct mortise_output **out,
                                 const struct mortise_yaml *map,
                                 mortise_node_entry_fn *read)
{
    struct mortise_output *lines =
        mortise_load_alloc(ld, map->n * sizeof *lines);
    size_t n = 0;

    for (size_t i = 0; i < map->n && !ld->nomem; i++)
        if (!mortise_yaml_is_x_key(map->keys[i]->str))
            n += read(ld, r, &lines[n], map->keys[i], map->items[i]);
    *out = lines;
    return n;
}

static bool read_output_line(struct mortise_loader *ld,
                             struct mortise_node_reader *r,
                             struct mortise_output *out,
                             const struct mortise_yaml *key,
                             const struct mortise_yaml *v)
{
    mortise_load_defer(ld, compile_output_expr, out, v, r->node->index,
                       MORTISE_IN_ERROR);
    if (!mortise_load_path(ld, &out->path, key))
        return false;
    mortise_node_add_write(ld, r->node, &out->path, &out->expr, key->span);
    return true;
}

void mortise_node_read_outputs(void *ctx, void *into,
                               const struct mortise_slot *slot)
{
    struct mortise_node_reader *r = into;

    r->node->n_outputs = mortise_node_read_entries(
        ctx, r, &r->node->outputs, slot->value, read_output_line);
}

const struct mortise_key mortise_output_as_forms[2] = {
    {.value = MORTISE_V_ID},
    {.value = MORTISE_V_NULL},
};

void mortise_node_read_output_as(void *ctx, void *into,
                                 const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_node_reader *r = into;
    const struct mortise_yaml *v = slot->value;

    if (v->kind == MORTISE_YAML_NULL) {
        r->node->output_as = NULL;
    } else if (v->kind != MORTISE_YAML_STRING) {
        mortise_diag_add(ld->diags, "E0203", v->span,
                         "'output_as' must be a name or null, not %s",
                         mortise_yaml_kind_name(v->kind));
    } else if (!mortise_node_is_id(v->str)) {
        mortise_node_report_bad_id(ld, v);
    } else {
        r->node->output_as = v->str;
    }
}

/* on_error can have only one of goto, value and fail. */
static void check_only_reaction(struct mortise_loader *ld,
                                const struct mortise_slot *slot)
{
    static const char *const before[] = {"goto", "value"};

    for (size_t i = 0; i < 2 && strcmp(before[i], slot->name->str) != 0; i++)
        if (mortise_yaml_get(slot->map, before[i]) != NULL) {
            mortise_diag_add(
                ld->diags, "E0212", slot->name->span,
                "'on_error' can have only one of goto, value and fail");
            return;
        }
}

static void read_error_goto(void *ctx, void *into,
                            const struct mortise_slot *slot)
{
    struct mortise_node_reader *r = into;

    mortise_load_edge(ctx, r->node->index, slot->value, MORTISE_EDGE_ERROR);
}

/* The value must fit the schemas that the output of the call must fit. */
static void compile_error_value(struct mortise_loader *ld,
                                const struct mortise_deferred_expr *late)
{
    struct mortise_node *node = late->into;
    const struct mortise_schema *given =
        node->op != NULL ? node->op->output : NULL;

    mortise_load_expr(ld, &node->error_value, late->at, late->end);
    if (!mortise_load_is_pinned(ld) &&
        mortise_load_check_output_fit(ld, &node->error_value, node, given))
        mortise_load_check_output_fit(ld, &node->error_value, node,
                                      node->output_schema);
}

static void read_error_value(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_node_reader *r = into;

    check_only_reaction(ld, slot);
    mortise_load_defer(ld, compile_error_value, r->node, slot->value,
                       r->node->index, MORTISE_IN_N);
    r->node->on_error_value = true;
}

static const struct mortise_place error_fail_place = {
    MORTISE_PLACE_OF("on_error.fail", mortise_failing_rows)};

static void read_error_fail(void *ctx, void *into,
                            const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_node_reader *r = into;

    check_only_reaction(ld, slot);
    if (r->node->type == MORTISE_NODE_FAIL)
        return; /* a fail node has no on_error (kinds/fail.c) */
    mortise_node_begin_failing(ld, r);
    mortise_keys_read_slot(slot, ld, r, ld->diags);
}

static const struct mortise_key on_error_keys[] = {
    {.name = "goto",
     .about = "The next node if this node fails.",
     .value = MORTISE_V_ID,
     .read = read_error_goto},
    {.name = "value",
     .about = "An expression that gives the output if the node fails.",
     .value = MORTISE_V_EXPR,
     .read = read_error_value},
    {.name = "fail",
     .about = "The error that replaces the error of the node.",
     .value = MORTISE_V_MAP,
     .place = &error_fail_place,
     .read = read_error_fail},
};

MORTISE_PLACE(on_error, "on_error");

static const struct mortise_word on_errors[] = {
    {"fail", 0, false},
    {NULL, 0, false},
};

const struct mortise_key mortise_on_error_forms[2] = {
    {.value = MORTISE_V_WORD, .words = on_errors},
    {.value = MORTISE_V_MAP, .place = &on_error_place},
};

void mortise_node_read_on_error(void *ctx, void *into,
                                const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    const struct mortise_yaml *v = slot->value;

    if (v->kind == MORTISE_YAML_MAP &&
        !mortise_keys_has_key(&on_error_place, v, "goto") &&
        !mortise_keys_has_key(&on_error_place, v, "value") &&
        !mortise_keys_has_key(&on_error_place, v, "fail"))
        mortise_diag_add(ld->diags, "E0206", v->span,
                         "on_error needs the key 'goto', 'value' or 'fail'");
    mortise_node_word_or_map(
        ld, into, slot,
        "{goto: ID}, {value: EXPRESSION} or {fail: {code, message}}");
}

/* The path artifacts.NAME; NULL after a finding.  If a map element has its own
 * value of the artifact (`own`), the schema of the state does not apply. */
static struct mortise_path *make_artifact_path(struct mortise_loader *ld,
                                               const char *name,
                                               struct mortise_span span,
                                               bool own)
{
    struct mortise_path *path = mortise_load_alloc(ld, sizeof *path);
    char text[80];
    struct mortise_yaml key = {.str = text, .span = span};

    if (path == NULL || !mortise_node_is_id(name))
        return NULL;
    snprintf(text, sizeof text, "artifacts.%s", name);
    key.len = strlen(text);
    if (own && mortise_load_own_path(ld, path, &key) &&
        mortise_graph_is_element_path(ld->g, path))
        return path;
    return mortise_load_path(ld, path, &key) ? path : NULL;
}

/* output_as is a write, too. */
static void add_output_artifact(struct mortise_loader *ld,
                                const struct mortise_node *node,
                                struct mortise_span span, bool implied)
{
    /* otherwise not known yet */
    bool own = implied && ld->body[node->index] != 0;
    const struct mortise_path *path =
        make_artifact_path(ld, node->output_as, span, own);

    if (path != NULL)
        add_declared_write(ld,
                           (struct mortise_declared_write){.path = path,
                                                           .node = node->index,
                                                           .is_output = true,
                                                           .implied = implied,
                                                           .span = span});
}

void mortise_node_add_results(struct mortise_loader *ld, uint32_t join,
                              const struct mortise_yaml *to)
{
    const struct mortise_path *path =
        make_artifact_path(ld, to->str, to->span, false);

    if (path != NULL)
        add_declared_write(
            ld,
            (struct mortise_declared_write){
                .path = path, .node = join, .last = true, .span = to->span});
}

/* The default of output_as: the node's id. */
static void add_default_artifact(struct mortise_loader *ld,
                                 const struct mortise_deferred_expr *late)
{
    struct mortise_node *node = late->into;

    add_output_artifact(ld, node, node->span, true);
}

void mortise_node_complete_output(struct mortise_loader *ld,
                                  struct mortise_node_reader *r)
{
    const struct mortise_yaml *at = mortise_yaml_get(r->map, "output_as");

    if (r->node->output_as == NULL)
        return;
    if (at != NULL)
        add_output_artifact(ld, r->node, at->span, false);
    else
        mortise_load_defer(ld, add_default_artifact, r->node, NULL,
                           r->node->index, MORTISE_IN_INPUT);
}
