/* map.c -- maps: a frame for each element, and what they come to.
 *
 * When the source of a map edge has succeeded, a `fan` entry keeps the list
 * that `over` gave, ahead of the `done` which takes the edge.  Each element has
 * a frame of the map's region, with a naming scope of its own (`work#1[3]`), in
 * index order, at most max_parallel at a time.
 *
 *   (1) Elements share the source's state: each sees that, and what it wrote
 *       itself.
 *   (2) When all are over, an execution of the map's own gathers: it comes
 *       after all of them, writes artifacts.TO = {results, failed}, and takes
 *       the edge to the join.  It is no step and nobody's call: it needs no
 *       slot, and happens in the commit in which the last element ended.
 *   (3) An element's result is the output of what took an edge to the join: of
 *       several, an object by node id; of none, null.
 *   (4) Where the join says on_branch_error: fail, a failed element fails the
 *       edge to it; the others come to their end all the same, and a resume
 *       tries again what failed and nothing else, at most max_parallel at a time.
 */
#include <assert.h>
#include <string.h>

#include "run/internal.h"

/* ---- lists -------------------------------------------------------------- */

int map_keep(struct mortise_run *r, struct exec *x, uint32_t edge, json_t *list,
             struct mortise_err *err)
{
    const struct mortise_region *child;
    struct frame *home = frame_home(x->frame, edge);
    struct item *it = item_to(home, home->graph->edges[edge].to, &child);
    struct fan *fan = mortise_arena_alloc(&r->arena, sizeof *fan);

    if (fan == NULL)
        return mortise_nomem(err);
    assert(child != NULL && child->map_edge == edge); /* apply.c looked */
    fan->map = child;
    fan->home = home;
    fan->item = it;
    fan->older = it->fan;
    fan->number = it->fan != NULL ? it->fan->number + 1 : 1;
    fan->n = json_array_size(list);
    fan->elements =
        mortise_arena_alloc(&r->arena, fan->n * sizeof fan->elements[0]);
    if (fan->elements == NULL)
        return mortise_nomem(err);
    fan->list = json_incref(list);
    fan->next = r->fans;
    r->fans = fan;
    it->fan = fan;
    return MORTISE_OK;
}

void map_finish(struct mortise_run *r)
{
    for (struct fan *fan = r->fans; fan != NULL; fan = fan->next)
        json_decref(fan->list);
}

/* ---- elements ----------------------------------------------------------- */

/* The newest frame that an element of this index had before. */
static const struct frame *older_element(const struct fan *fan, size_t i)
{
    for (fan = fan->older; fan != NULL; fan = fan->older) {
        if (i < fan->n_begun)
            return fan->elements[i];
    }
    return NULL;
}

static struct scope *element_scope(struct mortise_run *r, struct fan *fan,
                                   size_t i)
{
    const struct scope *outer = fan->home->scope;
    struct scope *s = mortise_arena_alloc(&r->arena, sizeof *s);
    struct mortise_buf suffix;

    if (s == NULL)
        return NULL;
    mortise_buf_init(&suffix, r->mem);
    mortise_buf_printf(&suffix, "%s[%zu]", outer->suffix, i);
    s->prefix = outer->prefix;
    s->suffix = suffix.failed
                    ? NULL
                    : mortise_arena_strndup(&r->arena, suffix.p, suffix.n);
    mortise_buf_finish(&suffix);
    s->outer = outer;
    s->fan = fan;
    memcpy(s->at, outer->at, sizeof s->at);
    s->n_at = outer->n_at;
    assert(s->n_at < MORTISE_MAX_MAPS); /* graph/ nests no deeper */
    s->at[s->n_at++] = (uint32_t)i;
    return s->suffix != NULL ? s : NULL;
}

static int begin_element(struct mortise_run *r, struct fan *fan,
                         struct mortise_err *err)
{
    size_t i = fan->n_begun;
    struct scope *scope = element_scope(r, fan, i);
    struct frame *f;

    if (scope == NULL)
        return mortise_nomem(err);
    f = frame_new(r, fan->home, scope, fan->map, older_element(fan, i), err);
    if (f == NULL)
        return MORTISE_ENOMEM;
    scope->root = f;
    f->discard = race_discard(fan->home, fan->item);
    fan->elements[fan->n_begun++] = f;
    return frame_enter(r, f, fan->map->entry, fan->preds, fan->n_preds,
                       fan->made, err);
}

/* Did it, or what it is in, lose a race? */
static bool is_lost(const struct fan *fan)
{
    return fan->lost || fan->home->lost;
}

/* The first that waits goes on. */
static int return_element(struct mortise_run *r, struct fan *fan,
                          struct mortise_err *err)
{
    size_t i = 0;

    while (!fan->elements[i]->waits)
        i++;
    fan->elements[i]->waits = fan->elements[i]->over = false;
    fan->n_waiting--;
    fan->n_over--;
    return frame_again(r, fan->elements[i], err);
}

/* Those that were begun come before those that were not. */
static int begin_some(struct mortise_run *r, struct fan *fan,
                      struct mortise_err *err)
{
    int rv = MORTISE_OK;

    while (rv == MORTISE_OK && !is_lost(fan) &&
           fan->n_waiting + (fan->n - fan->n_begun) > 0 &&
           fan->n_begun - fan->n_over < fan->map->max_parallel)
        rv = fan->n_waiting > 0 ? return_element(r, fan, err)
                                : begin_element(r, fan, err);
    return rv;
}

void map_wait(struct frame *f)
{
    f->scope->fan->n_waiting += !f->waits;
    f->waits = true;
}

int map_go_on(struct mortise_run *r, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (struct fan *fan = r->fans; rv == MORTISE_OK && fan != NULL;
         fan = fan->next) {
        if (fan->n_waiting > 0 && fan->item->fan == fan &&
            fan->item->phase == ITEM_ACTIVE && frame_is_alive(fan->home))
            rv = begin_some(r, fan, err);
    }
    return rv;
}

/* ---- when all are over -------------------------------------------------- */

/* The least execution behind a failed element; 0: none failed. */
static uint32_t cause_of(const struct fan *fan)
{
    uint32_t cause = 0;

    for (size_t i = 0; i < fan->n_begun; i++) {
        const struct frame *f = fan->elements[i];

        if (f->failed && (cause == 0 || f->cause < cause))
            cause = f->cause;
    }
    return cause;
}

static int gather_later(struct mortise_run *r, struct fan *fan,
                        struct mortise_err *err)
{
    uint32_t *preds, n;
    size_t room;
    int rv = past_of_frames(r, fan->elements, fan->n_begun, fan->made, &preds,
                            &n, &room, err);
    struct exec *x;

    if (rv != MORTISE_OK)
        return rv;
    x = exec_new(r, fan->home, fan->map->entry, fan->number,
                 n > 0 ? preds : fan->preds, n > 0 ? n : fan->n_preds, err);
    mortise_release(r->mem, preds, room);
    if (x == NULL)
        return MORTISE_ENOMEM;
    x->fan = fan;
    x->counted = true; /* it is no step */
    x->discard = race_discard(fan->home, fan->item);
    fan->gather = x;
    return exec_ready(r, x, err);
}

static int map_over(struct mortise_run *r, struct fan *fan,
                    struct mortise_err *err)
{
    const struct mortise_node *join = &fan->home->graph->nodes[fan->map->join];
    uint32_t cause = cause_of(fan);

    if (is_lost(fan))
        return frame_map_over(r, fan, EDGE_DEAD, 0, err);
    if (cause != 0 && join_on_error(r, join) == MORTISE_BRANCH_FAIL)
        return frame_map_over(r, fan, EDGE_FAILED, cause, err);
    return gather_later(r, fan, err);
}

int map_begin(struct mortise_run *r, struct item *it, const uint32_t *preds,
              uint32_t n, struct mortise_err *err)
{
    struct fan *fan = it->fan;
    int rv;

    if (fan == NULL || fan->preds != NULL)
        return mortise_fail(err, MORTISE_ECORRUPT, "a map has no list");
    fan->preds = mortise_arena_alloc(&r->arena, n * sizeof fan->preds[0]);
    if (fan->preds == NULL)
        return mortise_nomem(err);
    memcpy(fan->preds, preds, n * sizeof preds[0]);
    fan->n_preds = n;
    fan->made = r->n_execs;
    for (uint32_t i = 0; i < n; i++)
        r->execs[preds[i]]->shared = true; /* (1) */
    rv = begin_some(r, fan, err);
    return rv == MORTISE_OK && fan->n == 0 ? map_over(r, fan, err) : rv;
}

int map_element_over(struct mortise_run *r, struct frame *f,
                     struct mortise_err *err)
{
    struct fan *fan = f->scope->fan;
    int rv;

    f->over = true;
    fan->n_over++;
    rv = begin_some(r, fan, err);
    return rv == MORTISE_OK && fan->n_over == fan->n_begun &&
                   (fan->n_waiting == 0 || is_lost(fan))
               ? map_over(r, fan, err)
               : rv;
}

/* ---- gathering ---------------------------------------------------------- */

/* (3): a new reference. */
static json_t *result_of(const struct mortise_run *r, const struct frame *f)
{
    json_t *all;

    if (f->yields == NULL)
        return json_null();
    if (f->yields->next_yield == NULL)
        return f->yields->output != NULL ? json_incref(f->yields->output)
                                         : json_null();
    all = json_object();
    for (const struct exec *x = f->yields; all != NULL && x != NULL;
         x = x->next_yield) {
        json_t *output =
            x->output != NULL ? json_incref(x->output) : json_null();

        if (json_object_set_new(all, node_of(r, x)->id, output) != 0)
            drop(&all);
    }
    return all;
}

/* Append one element to {results, failed}: 0, or -1 without memory. */
static int add_element(const struct mortise_run *r, const struct frame *f,
                       size_t i, enum mortise_branch_error how, json_t *results,
                       json_t *failed)
{
    if (!f->failed)
        return json_array_append_new(results, result_of(r, f));
    if (how == MORTISE_BRANCH_DROP)
        return 0;
    return json_array_append_new(results, json_null()) != 0
               ? -1
               : json_array_append_new(
                     failed, json_pack("{s:I, s:O}", "index", (json_int_t)i,
                                       "error", r->execs[f->cause]->error));
}

/* artifacts.TO, which is written like any other. */
static int gather_writes(struct mortise_run *r, struct exec *x,
                         struct mortise_entry *e, struct mortise_arena *a,
                         const char **code, struct mortise_err *why,
                         struct mortise_err *err)
{
    struct mortise_path *path = mortise_arena_alloc(a, sizeof *path);
    struct mortise_buf text;
    int rv;

    e->writes = mortise_arena_alloc(a, sizeof *e->writes);
    mortise_buf_init(&text, r->mem);
    mortise_buf_printf(&text, "artifacts[\"%s\"]", node_of(r, x)->id);
    if (path == NULL || e->writes == NULL || text.failed)
        rv = mortise_nomem(err);
    else
        rv = mortise_path_parse(path, a, text.p, text.n, err);
    mortise_buf_finish(&text);
    if (rv != MORTISE_OK)
        return rv;
    rv = judge_add_write(x->frame->graph, e, MORTISE_WRITE_SPELLED, path,
                         e->value, err);
    e->writes[0].text = path->text;
    e->writes[0].reduce = mortise_graph_reduce(x->frame->graph, path);
    /* Maps in elements of a map gather side by side: no conflict. */
    if (e->writes[0].reduce == MORTISE_REDUCE_DEFAULT)
        e->writes[0].reduce = MORTISE_REDUCE_LAST;
    *code = "limit";
    if (rv == MORTISE_OK)
        rv = judge_depths(e, why);
    return rv == MORTISE_OK ? judge_writes(r, x, e, code, why, err) : rv;
}

/* What a map came to breaks a schema, say: the map failed. */
static int gather_failed(struct mortise_run *r, struct exec *x,
                         const char *code, const struct mortise_err *why,
                         struct mortise_err *err)
{
    struct mortise_entry e = entry_of(r, x, MORTISE_E_FAILED);
    int rv;

    e.value = fail_json(r, x, code, why->msg);
    if (e.value == NULL)
        return mortise_nomem(err);
    rv = record(r, &e, err);
    json_decref(e.value);
    return rv;
}

static int settle_gather(struct mortise_run *r, struct exec *x, json_t *value,
                         struct mortise_err *err)
{
    struct mortise_entry e = entry_of(r, x, MORTISE_E_GATHER);
    struct mortise_arena a;
    struct mortise_err why;
    const char *code = "reducer";
    int rv = past_view(r, x, &why);

    if (rv == MORTISE_ECONFLICT)
        code = "conflict";
    rv = judge_verdict(rv, err);
    mortise_arena_init(&a, r->mem);
    e.value = json_incref(value);
    if (rv == MORTISE_OK)
        rv = gather_writes(r, x, &e, &a, &code, &why, err);
    if (rv == MORTISE_OK)
        rv = record(r, &e, err);
    else if (rv == MORTISE_EINVAL) {
        judge_undo(r, x);
        rv = gather_failed(r, x, code, &why, err);
    }
    mortise_entry_finish(&e);
    mortise_arena_finish(&a);
    return rv;
}

static int gather(struct mortise_run *r, struct exec *x,
                  struct mortise_err *err)
{
    const struct fan *fan = x->fan;
    enum mortise_branch_error how =
        join_on_error(r, &fan->home->graph->nodes[fan->map->join]);
    json_t *results = json_array(), *failed = json_array();
    json_t *value =
        json_pack("{s:o, s:o}", "results", results, "failed", failed);
    int rv = value != NULL ? MORTISE_OK : mortise_nomem(err);

    for (size_t i = 0; rv == MORTISE_OK && i < fan->n; i++) {
        if (add_element(r, fan->elements[i], i, how, results, failed) != 0)
            rv = mortise_nomem(err);
    }
    if (rv == MORTISE_OK)
        rv = settle_gather(r, x, value, err);
    json_decref(value);
    return rv;
}

int map_ready(struct mortise_run *r, struct exec *x, struct mortise_err *err)
{
    uint32_t *grown = mortise_grow(r->mem, r->gathers, r->n_gathers,
                                   &r->cap_gathers, sizeof grown[0]);

    if (grown == NULL)
        return mortise_nomem(err);
    r->gathers = grown;
    r->gathers[r->n_gathers++] = x->index;
    exec_become(r, x, X_READY);
    return MORTISE_OK;
}

int map_gather_all(struct mortise_run *r, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    /* A map that ends may be the last of an element around it. */
    for (size_t i = 0; rv == MORTISE_OK && i < r->n_gathers; i++) {
        struct exec *x = r->execs[r->gathers[i]];

        if (x->state == X_READY && x->loss == LOSS_NONE) /* still */
            rv = gather(r, x, err);
    }
    r->n_gathers = 0;
    return rv;
}
