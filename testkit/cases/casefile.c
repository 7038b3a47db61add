/* casefile.c -- read a Test file by its tables of keys.
 *
 * A Test file names a graph and contains cases.  A case has an input, scripted
 * answers, and expected results.  This file only reads; `mortise check` and
 * `mortise test` share it.
 */
#include "testkit/cases/casereader.h"

#include <string.h>

#include "lang/config/expand.h"
#include "lang/yaml/header.h"

void *mortise_case_alloc(struct mortise_case_reader *r, size_t size)
{
    void *p = mortise_arena_alloc(&r->f->arena, size);

    r->nomem |= p == NULL;
    return p;
}

/* ---- expectations ------------------------------------------------------- */

static const struct mortise_key path_keys[] = {
    {.name = "contains",
     .about = "Executions that must begin in this order; others may be between "
              "them.",
     .value = MORTISE_V_STRINGS,
     MORTISE_INTO_YAML(struct mortise_case_expect, contains)},
    {.name = "lacks",
     .about = "Executions that must not begin.",
     .value = MORTISE_V_STRINGS,
     MORTISE_INTO_YAML(struct mortise_case_expect, lacks)},
};
MORTISE_PLACE(path, "an expected path");

static const struct mortise_key path_row = {.value = MORTISE_V_STRING};
static const struct mortise_key path_forms[] = {
    {.value = MORTISE_V_LIST, .each = &path_row},
    {.value = MORTISE_V_MAP, .place = &path_place},
};

static void check_item_kinds(struct mortise_case_reader *r,
                             const struct mortise_yaml *list,
                             enum mortise_yaml_kind kind, const char *rule)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->items[i]->kind != kind)
            mortise_diag_add(r->diags, "E0203", list->items[i]->span,
                             "%s, not %s", rule,
                             mortise_yaml_kind_name(list->items[i]->kind));
}

static void read_expected_path(void *ctx, void *into,
                               const struct mortise_slot *slot)
{
    struct mortise_case_reader *r = ctx;
    struct mortise_case_expect *e = into;
    const struct mortise_yaml *v = slot->value;

    if (v->kind != MORTISE_YAML_SEQ) {
        mortise_keys_read(&path_place, v, slot->name->span, r, e, r->diags);
        return;
    }
    check_item_kinds(r, v, MORTISE_YAML_STRING,
                     "an element of a path is the name of a node");
    e->path = v;
}

static const struct mortise_key state_keys[] = {
    {.name = "scratch",
     .about = "Values that scratch must contain at the end.",
     .value = MORTISE_V_MAP,
     MORTISE_INTO_YAML(struct mortise_case_expect, scratch)},
    {.name = "artifacts",
     .about = "Values that artifacts must contain at the end.",
     .value = MORTISE_V_MAP,
     MORTISE_INTO_YAML(struct mortise_case_expect, artifacts)},
};
MORTISE_PLACE(state, "an expected state");

static const struct mortise_key event_row = {.value = MORTISE_V_MAP};

static void read_expected_events(void *ctx, void *into,
                                 const struct mortise_slot *slot)
{
    struct mortise_case_reader *r = ctx;
    struct mortise_case_expect *e = into;

    check_item_kinds(r, slot->value, MORTISE_YAML_MAP,
                     "an expected event is a mapping of its members");
    for (size_t i = 0; i < slot->value->n; i++)
        if (slot->value->items[i]->kind == MORTISE_YAML_MAP)
            mortise_case_check_event(slot->value->items[i], r->diags);
    e->events = slot->value;
}

static void read_expected_parallel(void *ctx, void *into,
                                   const struct mortise_slot *slot)
{
    struct mortise_case_reader *r = ctx;
    struct mortise_case_expect *e = into;
    struct mortise_slot one = *slot;

    e->parallel = slot->value;
    for (size_t i = 0; i < slot->value->n; i++) {
        one.value = slot->value->items[i];
        mortise_keys_is_fit(&one, slot->key->each, r->diags);
    }
}

static const struct mortise_word statuses[] = {
    {.word = "completed"}, {.word = "failed"},   {.word = "waiting"},
    {.word = "paused"},    {.word = "in_doubt"}, {.word = NULL},
};

static const struct mortise_key expect_keys[] = {
    {.name = "status",
     .about = "The status that the run must have: completed, failed, waiting, "
              "paused or in_doubt.",
     .value = MORTISE_V_WORD,
     .words = statuses,
     MORTISE_INTO_YAML(struct mortise_case_expect, status)},
    {.name = "reason",
     .about = "The reason why the run must wait or be paused.",
     .value = MORTISE_V_STRING,
     MORTISE_INTO_YAML(struct mortise_case_expect, reason)},
    {.name = "error",
     .about = "The code of the error with which the run must fail.",
     .value = MORTISE_V_STRING,
     MORTISE_INTO_YAML(struct mortise_case_expect, error)},
    {.name = "path",
     .about = "All executions that must begin, in order.",
     MORTISE_FORMS(path_forms),
     .read = read_expected_path},
    {.name = "state",
     .about = "Values that the state must contain at the end.",
     MORTISE_INTO_SAME(state_place)},
    {.name = "events",
     .about = "Durable events that must be emitted, in this order.",
     .value = MORTISE_V_LIST,
     .min = 1,
     .each = &event_row,
     .read = read_expected_events},
    {.name = "elapsed",
     .about = "The exact time from the start of the run to its last event.",
     .value = MORTISE_V_DURATION,
     MORTISE_INTO_SLOT(struct mortise_case_expect, elapsed)},
    {.name = "within",
     .about = "The longest time from the start of the run to its last event.",
     .value = MORTISE_V_DURATION,
     MORTISE_INTO_SLOT(struct mortise_case_expect, within)},
    {.name = "parallel",
     .about = "Maps nodes to the highest number of their executions that must "
              "run at once.",
     .value = MORTISE_V_MAP,
     MORTISE_EACH(.value = MORTISE_V_INT, .min = 1, .max = 1e6),
     .read = read_expected_parallel},
};
MORTISE_PLACE(expect, "what is expected");

/* ---- a case ------------------------------------------------------------- */

static const struct mortise_key case_keys[] = {
    {.name = "description",
     .about = "A description for people; Mortise ignores it.",
     .value = MORTISE_V_STRING},
    {.name = "input",
     .about = "The input of the run.",
     .value = MORTISE_V_MAP,
     MORTISE_INTO_YAML(struct mortise_case, input)},
    {.name = "operations",
     .about = "Maps PLUGIN/OPERATION to an answer, or to a list of answers.",
     MORTISE_CASE_SCRIPTS(mortise_case_answers_row, operations)},
    {.name = "nodes",
     .about = "Maps the id of a node, or NODE/TOOL as 'mortise show' prints "
              "it, to an answer or a list of answers. Overrides 'operations'.",
     MORTISE_CASE_SCRIPTS(mortise_case_answers_row, nodes)},
    {.name = "guardrails",
     .about =
         "Maps the id of a guardrail to its verdict, or to a list of verdicts.",
     MORTISE_CASE_SCRIPTS(mortise_case_verdicts_row, guardrails)},
    {.name = "people",
     .about = "Maps a node, or NODE/TOOL, to the action of a person when it "
              "asks, or to a list of actions.",
     MORTISE_CASE_SCRIPTS(mortise_case_people_row, people)},
    {.name = "memory",
     .about = "Texts that every read from the memory finds, best first "
              "(default: none).",
     .value = MORTISE_V_STRINGS,
     MORTISE_INTO_YAML(struct mortise_case, memory)},
    {.name = "discovery",
     .about = "Tools, extensions and nodes that every discovery finds if they "
              "are candidates, best first (default: none).",
     .value = MORTISE_V_STRINGS,
     MORTISE_INTO_YAML(struct mortise_case, discovery)},
    {.name = "real",
     .about = "Plugins whose operations really run, ids of guardrails that "
              "really run, and providers of models that are really asked.",
     .value = MORTISE_V_STRINGS,
     MORTISE_INTO_YAML(struct mortise_case, real)},
    {.name = "expect",
     .about = "What the run must have done in the end.",
     .required = true,
     MORTISE_INTO_PLACE(expect_place, struct mortise_case, expect)},
};
MORTISE_PLACE(case, "a case");

/* ---- the file ----------------------------------------------------------- */

static void read_test_metadata(void *ctx, void *into,
                               const struct mortise_slot *slot)
{
    struct mortise_case_reader *r = ctx;
    struct mortise_metadata m;

    (void)into;
    mortise_metadata_read(&m, slot, r->diags);
}

static const char *expand_slot_path(struct mortise_case_reader *r,
                                    const struct mortise_slot *slot)
{
    const char *path = mortise_expand_path(&r->f->arena, slot->value);

    r->nomem |= path == NULL;
    return path;
}

static void read_graph_path(void *ctx, void *into,
                            const struct mortise_slot *slot)
{
    struct mortise_case_reader *r = ctx;

    (void)into;
    r->f->graph_at = slot->value;
    r->f->graph = expand_slot_path(r, slot);
}

static void read_test_deployment(void *ctx, void *into,
                                 const struct mortise_slot *slot)
{
    struct mortise_case_reader *r = ctx;

    (void)into;
    r->f->deployment = expand_slot_path(r, slot);
}

static void read_test_cases(void *ctx, void *into,
                            const struct mortise_slot *slot)
{
    struct mortise_case_reader *r = ctx;
    const struct mortise_yaml *map = slot->value;
    struct mortise_casefile *f = r->f;

    (void)into;
    f->cases = mortise_case_alloc(r, map->n * sizeof *f->cases);
    for (size_t i = 0; i < map->n && f->cases != NULL; i++) {
        struct mortise_case *c = &f->cases[f->n_cases];

        if (mortise_yaml_is_x_key(map->keys[i]->str))
            continue;
        f->n_cases++;
        c->name = map->keys[i];
        mortise_keys_read(&case_place, map->items[i], map->keys[i]->span, r, c,
                          r->diags);
    }
    if (f->n_cases == 0)
        mortise_diag_add(r->diags, "E0208", slot->value->span,
                         "'cases' is empty; add at least one case");
}

static const struct mortise_word kinds[] = {{.word = "Test"}, {.word = NULL}};

static const struct mortise_key case_row = {.value = MORTISE_V_MAP,
                                            .place = &case_place};

static const struct mortise_key keys[] = {
    MORTISE_HEADER_KEYS(kinds),
    {.name = "metadata",
     .about = "The name of the test file.",
     .value = MORTISE_V_MAP,
     .required = true,
     .place = &mortise_metadata_place,
     .read = read_test_metadata},
    {.name = "graph",
     .about = "The graph file, relative to the test file.",
     .value = MORTISE_V_STRING,
     .required = true,
     .read = read_graph_path},
    {.name = "deployment",
     .about = "The Deployment file, relative to the test file (default: "
              "mortise.yaml beside the graph).",
     .value = MORTISE_V_STRING,
     .read = read_test_deployment},
    {.name = "cases",
     .about = "Maps names of cases to their input, scripted answers and "
              "expected results.",
     .value = MORTISE_V_MAP,
     .required = true,
     .each = &case_row,
     .read = read_test_cases},
};

const struct mortise_place mortise_casefile_place = {
    MORTISE_PLACE_OF("a test file", keys)};

static int read(struct mortise_case_reader *r, const char *path,
                const char *text, size_t n)
{
    size_t errors = r->diags->n_errors;
    struct mortise_yaml *root;
    int rv = mortise_yaml_parse(&root, &r->f->arena, path, text, n, r->diags);

    if (root == NULL)
        return rv;
    r->f->tree = root;
    if (mortise_header_check(root, "Test", r->diags))
        mortise_keys_read(&mortise_casefile_place, root, root->span, r, NULL,
                          r->diags);
    if (r->nomem || r->diags->failed)
        return MORTISE_ENOMEM;
    return r->diags->n_errors > errors ? MORTISE_ECHECK : MORTISE_OK;
}

int mortise_casefile_read(struct mortise_casefile **out,
                          const struct mortise_mem *mem, const char *path,
                          const char *text, size_t n,
                          struct mortise_diags *diags)
{
    struct mortise_casefile *f = mortise_zalloc(mem, sizeof *f);
    struct mortise_case_reader r = {.f = f, .diags = diags};
    int rv;

    *out = NULL;
    if (f == NULL)
        return MORTISE_ENOMEM;
    mortise_arena_init(&f->arena, mem);
    rv = read(&r, path, text, n);
    if (rv == MORTISE_OK)
        *out = f;
    else
        mortise_casefile_free(f);
    return rv;
}

void mortise_casefile_free(struct mortise_casefile *f)
{
    struct mortise_arena arena;

    if (f == NULL)
        return;
    arena = f->arena;
    mortise_release(arena.mem, f, sizeof *f);
    mortise_arena_finish(&arena);
}
