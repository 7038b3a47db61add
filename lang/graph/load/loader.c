/* loader.c -- services for all readers of a graph: memory, lists and schemas in
 * the graph's arena, and the number of errors so far.
 */
#include "lang/graph/load/loader.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "lang/yaml/schema.h"

size_t mortise_load_count_errors(const struct mortise_loader *ld)
{
    return ld->diags->n_errors - ld->root->errors_before;
}

void *mortise_load_scratch(struct mortise_loader *ld, struct mortise_arena *a,
                           size_t size)
{
    void *p = mortise_arena_alloc(a, size);

    ld->nomem |= p == NULL;
    return p;
}

void *mortise_load_alloc(struct mortise_loader *ld, size_t size)
{
    return mortise_load_scratch(ld, ld->arena, size);
}

const char *mortise_load_json(struct mortise_loader *ld, const json_t *json)
{
    char *text = json != NULL ? mortise_json_to_text(ld->mem, json) : NULL;
    const char *copy =
        text != NULL ? mortise_arena_strdup(ld->arena, text) : NULL;

    ld->nomem |= copy == NULL;
    mortise_release_str(ld->mem, text);
    return copy;
}

const char **mortise_load_strings(struct mortise_loader *ld,
                                  const struct mortise_yaml *list)
{
    const char **out = mortise_load_alloc(ld, list->n * sizeof *out);

    for (size_t i = 0; i < list->n && out != NULL; i++)
        out[i] = list->items[i]->str;
    return out;
}

bool mortise_load_is_pinned(const struct mortise_loader *ld)
{
    return ld->catalog->files != NULL && ld->catalog->files->pinned;
}

/* Register the schema with the graph, which frees it at its end. */
static struct mortise_schema *add_graph_schema(struct mortise_loader *ld,
                                               struct mortise_schema *s)
{
    struct mortise_graph *g = ld->root->g;
    struct mortise_owned_schema *kept = mortise_load_alloc(ld, sizeof *kept);

    if (kept == NULL) {
        mortise_schema_finish(s);
        return NULL;
    }
    *kept = (struct mortise_owned_schema){g->schemas, s};
    g->schemas = kept;
    return s;
}

void mortise_load_schema(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_schema *s;
    int rv = mortise_yaml_compile_schema(
        &s, ld->arena, slot->value, MORTISE_PATTERNS_ECMA, true, ld->diags);

    (void)into;
    ld->nomem |= rv == MORTISE_ENOMEM;
    *(struct mortise_schema **)slot->field =
        rv == MORTISE_OK ? add_graph_schema(ld, s) : NULL;
}

struct mortise_schema *mortise_load_internal_schema(struct mortise_loader *ld,
                                                    json_t *json)
{
    struct mortise_schema *s = NULL;
    char where[64];
    int rv = json != NULL ? mortise_schema_compile(&s, ld->arena, json, where,
                                                   sizeof where, NULL)
                          : MORTISE_ENOMEM;

    json_decref(json);
    assert(rv == MORTISE_OK || rv == MORTISE_ENOMEM); /* the schema is ours */
    ld->nomem |= rv == MORTISE_ENOMEM;
    return rv == MORTISE_OK ? add_graph_schema(ld, s) : NULL;
}

void mortise_load_plugin(struct mortise_loader *ld, const char *prefix,
                         const char *name)
{
    struct mortise_loader *root = ld->root;
    size_t size = strlen(prefix) + strlen(name) + 1;
    struct mortise_shared_name *one = mortise_load_alloc(ld, sizeof *one);
    char *whole = mortise_load_alloc(ld, size);

    if (ld->nomem)
        return;
    snprintf(whole, size, "%s%s", prefix, name);
    *one = (struct mortise_shared_name){.next = root->plugins, .name = whole};
    root->plugins = one;
    root->g->n_plugins++;
}

/* Does trust or quarantine refuse the plugin as a whole? */
static bool is_plugin_refusal(const struct mortise_err *why)
{
    return why->code == MORTISE_EDENIED || why->code == MORTISE_EBLOCKED;
}

static const struct mortise_refusal *
find_refusal(const struct mortise_refusal *list, const char *words)
{
    while (list != NULL && strcmp(list->words, words) != 0)
        list = list->next;
    return list;
}

static void add_refusal(struct mortise_loader *ld, struct mortise_span at,
                        const char *words)
{
    struct mortise_refusal *one = mortise_load_alloc(ld, sizeof *one);
    char *copy = mortise_arena_strdup(ld->arena, words);

    ld->nomem |= copy == NULL;
    if (ld->nomem)
        return;
    *one = (struct mortise_refusal){
        .next = ld->root->refusals, .words = copy, .at = at};
    ld->root->refusals = one;
}

void mortise_load_report_refusal(struct mortise_loader *ld, const char *code,
                                 struct mortise_span at, const char *what,
                                 const struct mortise_err *why)
{
    const struct mortise_refusal *said =
        is_plugin_refusal(why) ? find_refusal(ld->root->refusals, why->msg)
                               : NULL;

    if (said != NULL)
        mortise_diag_add(ld->diags, code, at,
                         "'%s' is refused for the same reason as at %s:%u:%u",
                         what, said->at.file->path, (unsigned)said->at.line,
                         (unsigned)said->at.col);
    else
        mortise_diag_add(ld->diags, code, at, "%s", why->msg);
    mortise_diags_set_reason(ld->diags, why);
    if (said == NULL && is_plugin_refusal(why))
        add_refusal(ld, at, why->msg);
}

void mortise_load_model(struct mortise_loader *ld, const char *alias)
{
    struct mortise_shared_name *one = mortise_load_alloc(ld, sizeof *one);

    if (one == NULL)
        return;
    *one =
        (struct mortise_shared_name){.next = ld->root->models, .name = alias};
    ld->root->models = one;
    ld->root->g->n_models++;
}

void mortise_load_finish(struct mortise_loader *ld)
{
    mortise_release(ld->mem, ld->edges, ld->cap_edges * sizeof *ld->edges);
    mortise_release(ld->mem, ld->writes, ld->cap_writes * sizeof *ld->writes);
    mortise_release(ld->mem, ld->late, ld->cap_late * sizeof *ld->late);
    mortise_release(ld->mem, ld->looked, ld->cap_looked * sizeof *ld->looked);
    if (ld->root == ld)
        json_decref(ld->matches);
}

size_t mortise_check_count_doubts(const struct mortise_loader *ld)
{
    size_t n = ld->diags->failed + (mortise_diags_count_lost_errors(ld->diags) -
                                    ld->left_out_before);

    for (size_t i = ld->first_diag; i < ld->diags->n; i++) {
        const char *code = ld->diags->list[i].code;

        n += strcmp(code, "E0108") == 0 || strncmp(code, "E02", 3) == 0 ||
             strncmp(code, "E03", 3) == 0;
    }
    return n - ld->n_inner_doubts;
}
