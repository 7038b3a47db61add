/* history.c -- the entries of a checkpoint as JSON for people; docs/json.md
 * describes the members.
 *
 * Members that all entries have are added here; the function `describe` of an
 * entry's row (entries.def) adds the others.  The describe functions that
 * several rows use are in this file. */
#include "core/run/commit.h"

/* ---- members of some entries --------------------------------------------- */

static void put_how_member(json_t *out, const char *how)
{
    if (how != NULL)
        json_object_set_new(out, "how", json_string(how));
}

void mortise_describe_nothing(json_t *out, const struct mortise_entry *e)
{
    (void)out;
    (void)e;
}

void mortise_describe_done(json_t *out, const struct mortise_entry *e)
{
    static const char *const names[] = {NULL,       "reconciled", "resolved",
                                        "answered", "on_error",   "recorded",
                                        "cached"};

    if (e->how < sizeof names / sizeof names[0])
        put_how_member(out, names[e->how]);
}

void mortise_describe_ask(json_t *out, const struct mortise_entry *e)
{
    if (e->how < MORTISE_ATTENTION)
        put_how_member(out, mortise_ask_name((enum mortise_ask)e->how));
}

void mortise_describe_settle(json_t *out, const struct mortise_entry *e)
{
    json_t *approved = json_object_get(e->value, "approved");
    json_t *reason = json_object_get(e->value, "reason");

    if (e->how <= MORTISE_SETTLE_FAIL)
        put_how_member(out, mortise_settle_name((enum mortise_settle)e->how));
    if (json_is_boolean(approved))
        json_object_set(out, "approved", approved);
    if (json_is_string(reason) && json_string_length(reason) > 0)
        json_object_set(out, "reason", reason);
}

void mortise_describe_step(json_t *out, const struct mortise_entry *e)
{
    put_how_member(out, e->how == MORTISE_STEP_QUESTION ||
                                e->how == MORTISE_STEP_INNER
                            ? "custom"
                        : e->how == MORTISE_STEP_TIMER ? "timer"
                        : e->how == MORTISE_STEP_CHILD ? "spawn"
                                                       : "effect");
}

void mortise_describe_invoke(json_t *out, const struct mortise_entry *e)
{
    json_object_set(out, "arguments", json_object_get(e->value, "arguments"));
}

void mortise_describe_prompt(json_t *out, const struct mortise_entry *e)
{
    json_object_set(out, "alias", json_object_get(e->value, "alias"));
    json_object_set(out, "budget", json_object_get(e->value, "budget"));
}

/* For the answer of a model: the model, and how its answer ended. */
void mortise_describe_answer(json_t *out, const struct mortise_entry *e)
{
    const json_t *reply = json_object_get(e->value, "reply");

    json_object_set(out, "alias", json_object_get(e->value, "alias"));
    json_object_set(out, "stop", json_object_get(reply, "stop"));
    json_object_set(out, "error", json_object_get(e->value, "error"));
    json_object_set(out, "usage", json_object_get(e->value, "usage"));
}

void mortise_describe_spend(json_t *out, const struct mortise_entry *e)
{
    if (e->how < MORTISE_N_SPENDS)
        put_how_member(out, mortise_spend_name((enum mortise_spend)e->how));
}

void mortise_describe_end(json_t *out, const struct mortise_entry *e)
{
    put_how_member(out, mortise_run_status_name(e->how));
}

void mortise_describe_pause(json_t *out, const struct mortise_entry *e)
{
    put_how_member(out, e->how != MORTISE_PAUSE_OVER
                            ? mortise_pause_name((enum mortise_pause)e->how)
                            : "over");
}

void mortise_describe_doubt(json_t *out, const struct mortise_entry *e)
{
    json_object_set(out, "cause", json_object_get(e->value, "cause"));
}

void mortise_describe_steer(json_t *out, const struct mortise_entry *e)
{
    char digest[2 * MORTISE_DIGEST + 1];

    mortise_hex_encode(digest, e->digest, MORTISE_DIGEST);
    json_object_set_new(out, "digest", json_string(digest));
}

/* ---- members of all entries ---------------------------------------------- */

/* The node and the path, in the format of mortise_exec_print_path().  A gathering
 * execution is named after a node that is not of its frame's region.  `was`:
 * the entry precedes a `steer` in its record. */
static void put_node_and_path(json_t *out, const struct mortise_run *r,
                              const struct mortise_entry *e, bool was)
{
    const struct frame *f = r->frames[e->frame < r->n_frames ? e->frame : 0];
    const struct mortise_graph *g = was && f->was != NULL ? f->was : f->graph;
    const struct mortise_node *n =
        e->node < g->n_nodes ? &g->nodes[e->node] : NULL;
    const char *id = n != NULL ? n->id : "?";
    bool gathers = n != NULL && n->region != f->region->index;

    json_object_set_new(out, "node", json_string(id));
    json_object_set_new(out, "path",
                        json_sprintf("%s%s#%u%s%s", f->scope->prefix, id,
                                     (unsigned)e->visit, f->scope->suffix,
                                     gathers ? "[*]" : ""));
    json_object_set_new(out, "visit", json_integer(e->visit));
}

static json_t *build_entry_json(const struct mortise_run *r,
                                const struct mortise_entry *e, bool was)
{
    const struct entry_rules *of = mortise_entry_rules(e);
    json_t *out = json_pack("{s:s}", "entry", mortise_entry_type_name(e->type));

    if (out == NULL)
        return NULL;
    if (mortise_entry_has_node(e))
        put_node_and_path(out, r, e, was);
    if (e->method[0] != '\0') {
        json_object_set_new(out, "method", json_string(e->method));
        mortise_step_add_name(out, (struct step_id){e->ordinal, e->key});
    }
    if (e->attempt > 0)
        json_object_set_new(out, "attempt", json_integer(e->attempt));
    if (e->actor[0] != '\0')
        json_object_set_new(out, "actor", json_string(e->actor));
    if (e->id[0] != '\0')
        json_object_set_new(out, "id", json_string(e->id));
    if (mortise_entry_has_node(e)) /* for the run itself, `note` has plugins */
        json_object_set(out, "guardrails", e->note);
    of->describe(out, e);
    if (of->shows != NULL && e->value != NULL)
        json_object_set(out, of->shows, e->value);
    return out;
}

/* Does the record contain a `steer`? */
static bool has_steer(const void *entries, size_t size)
{
    struct mortise_reader reader;
    struct mortise_arena a;
    struct mortise_entry e;
    bool has = false;

    mortise_arena_init(&a, &mortise_heap);
    mortise_reader_init(&reader, entries, size);
    while (!has && mortise_entry_read(&e, &reader, &a, NULL) == MORTISE_OK) {
        has = e.type == MORTISE_E_STEER;
        mortise_entry_finish(&e);
    }
    mortise_arena_finish(&a);
    return has;
}

json_t *mortise_run_describe_entries(const struct mortise_run *r,
                                     const void *entries, size_t size)
{
    bool was = has_steer(entries, size);
    json_t *list = json_array();
    uint32_t frame = 0;
    struct mortise_reader reader;
    struct mortise_arena a;
    struct mortise_entry e;

    mortise_arena_init(&a, &mortise_heap);
    mortise_reader_init(&reader, entries, size);
    while (list != NULL &&
           mortise_entry_read(&e, &reader, &a, NULL) == MORTISE_OK) {
        if (e.type == MORTISE_E_FRAME)
            frame = e.frame;
        e.frame = frame;
        was &= e.type != MORTISE_E_STEER;
        if (!mortise_entry_rules(&e)->hidden &&
            json_array_append_new(list, build_entry_json(r, &e, was)) != 0)
            mortise_json_clear_ref(&list);
        mortise_entry_finish(&e);
    }
    mortise_arena_finish(&a);
    return list;
}

void mortise_run_update_end_status(const void *entries, size_t size,
                                   uint32_t *status)
{
    struct mortise_reader reader;
    struct mortise_arena a;
    struct mortise_entry e;

    mortise_arena_init(&a, &mortise_heap);
    mortise_reader_init(&reader, entries, size);
    while (mortise_entry_read(&e, &reader, &a, NULL) == MORTISE_OK) {
        if (mortise_entry_rules(&e)->then == RUN_ENDS)
            *status = e.how;
        else if (mortise_entry_rules(&e)->then == RUN_CONTINUES)
            *status = 0;
        mortise_entry_finish(&e);
    }
    mortise_arena_finish(&a);
}
