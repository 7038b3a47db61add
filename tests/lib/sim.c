#include "lib/sim.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "mortise/plugin.h"
#include "lang/yaml/diag.h"
#include "core/run/command/run_commands.h"
#include "core/run/record/journal.h"
#include "lang/graph/load.h"

uint32_t sim_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* ---- catalogue --------------------------------------------------------- */

static const struct mortise_operation ops[] = {
    {.plugin = "t", .description = "", .name = "echo", .effect = MORTISE_PURE},
    {.plugin = "t",
     .description = "",
     .name = "read",
     .effect = MORTISE_READ,
     .usage = {true, {true, true, true, true}, {1, 5, 5, 0}}},
    {.plugin = "t",
     .description = "",
     .name = "write",
     .effect = MORTISE_WRITE},
    {.plugin = "t",
     .description = "",
     .name = "idem",
     .effect = MORTISE_EXTERNAL,
     .idempotent = true},
    {.plugin = "t",
     .description = "",
     .name = "rec",
     .effect = MORTISE_WRITE,
     .reconcile = true},
    {.plugin = "t", .description = "", .name = "fail", .effect = MORTISE_PURE},
    {.plugin = "t",
     .description = "",
     .name = "spend",
     .effect = MORTISE_READ,
     .usage = {true,
               {true, true, true, true},
               {4, 100, 100, MORTISE_NANO / 2}}},
    {.plugin = "t",
     .description = "",
     .name = "spend_write",
     .effect = MORTISE_WRITE,
     .reconcile = true,
     .usage = {true,
               {true, true, true, true},
               {4, 100, 100, MORTISE_NANO / 2}}},
    {.plugin = "t",
     .description = "",
     .name = "unpriced",
     .effect = MORTISE_READ,
     .usage = {true, {true, true, true, false}, {4, 100, 100, 0}}},
    {.plugin = "t", .description = "", .name = "ask", .effect = MORTISE_READ},
    {.plugin = "t",
     .description = "",
     .name = "does",
     .effect = MORTISE_EXTERNAL,
     .steps = true},
    {.plugin = "t",
     .description = "",
     .name = "does_idem",
     .effect = MORTISE_EXTERNAL,
     .idempotent = true,
     .steps = true},
    {.plugin = "t",
     .description = "",
     .name = "does_rec",
     .effect = MORTISE_WRITE,
     .reconcile = true,
     .steps = true},
    {.plugin = "t",
     .description = "",
     .name = "acts",
     .effect = MORTISE_EXTERNAL},
    {.plugin = "t",
     .description = "",
     .name = "acts_rec",
     .effect = MORTISE_WRITE,
     .reconcile = true},
    {.plugin = "agent",
     .description = "",
     .name = "gmi",
     .effect = MORTISE_READ},
    {.plugin = "agent",
     .description = "",
     .name = "leaf",
     .effect = MORTISE_READ},
    {.plugin = "agent",
     .description = "",
     .name = "compact",
     .effect = MORTISE_READ},
    {.plugin = "agent",
     .description = "",
     .name = "judge",
     .effect = MORTISE_READ},
    {.plugin = "t", .description = "", .name = "brief", .effect = MORTISE_PURE},
    {.plugin = "voice",
     .description = "",
     .name = "run",
     .effect = MORTISE_EXTERNAL},
};

static const struct mortise_operation *
find_op(void *ud, const char *plugin, const char *op, struct mortise_err *why)
{
    (void)ud;
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        if (strcmp(ops[i].plugin, plugin) == 0 && strcmp(ops[i].name, op) == 0)
            return &ops[i];
    }
    mortise_fail(why, MORTISE_ENOTFOUND, "no operation %s/%s", plugin, op);
    return NULL;
}

static int find_guardrail(void *ud, const char *id, struct mortise_err *why)
{
    (void)ud;
    if (strcmp(id, "ok") == 0 || strcmp(id, "bad") == 0 ||
        strcmp(id, "stern") == 0 || strcmp(id, "down") == 0 ||
        strcmp(id, "wary") == 0 || strcmp(id, "judge") == 0)
        return MORTISE_OK;
    return mortise_fail(why, MORTISE_ENOTFOUND, "no guardrail '%s'", id);
}

static int each_op(void *ud,
                   int (*fn)(void *into, const char *plugin, const char *op),
                   void *into, struct mortise_err *why)
{
    int rv = MORTISE_OK;

    (void)ud;
    (void)why;
    for (size_t i = 0; rv == MORTISE_OK && i < sizeof ops / sizeof ops[0]; i++)
        rv = fn(into, ops[i].plugin, ops[i].name);
    return rv;
}

static int find_memory(void *ud, bool *as_of, struct mortise_err *why)
{
    (void)ud;
    (void)why;
    *as_of = true;
    return MORTISE_OK;
}

const struct mortise_catalog sim_catalog = {.operation = find_op,
                                            .operations = each_op,
                                            .guardrail = find_guardrail,
                                            .memory = find_memory};

/* ---- graphs ------------------------------------------------------------ */

static int read_other(void *ud, const char *path, struct mortise_buf *text,
                      struct mortise_err *why)
{
    if (strcmp(path, "other.graph.yaml") != 0)
        return mortise_fail(why, MORTISE_ENOTFOUND, "there is no such file");
    mortise_buf_puts(text, ud);
    return text->failed ? mortise_nomem(why) : MORTISE_OK;
}

static int list_other(void *ud, const char *dir,
                      int (*fn)(void *into, const char *path), void *into,
                      struct mortise_err *why)
{
    (void)ud;
    (void)dir;
    (void)why;
    return fn(into, "other.graph.yaml");
}

struct mortise_graph_files sim_files(const char *other)
{
    return (struct mortise_graph_files){
        .ud = (void *)(uintptr_t)other, .read = read_other, .list = list_other};
}

static struct mortise_graph *load(const struct mortise_catalog *catalog,
                                  const char *yaml)
{
    struct mortise_diags diags;
    struct mortise_graph *g;
    struct mortise_buf text;
    struct mortise_err err;
    int rv;

    mortise_diags_init(&diags, &test_mem);
    rv = mortise_graph_load(&g, &test_mem, "test.yaml", yaml, strlen(yaml),
                            catalog, &diags, &err);
    if (rv != MORTISE_OK) {
        mortise_buf_init(&text, &test_mem);
        mortise_diags_format(&diags, &text);
        ck_abort_msg("%s", mortise_buf_cstr(&text));
    }
    mortise_diags_finish(&diags);
    return g;
}

struct mortise_graph *sim_graph(const char *yaml)
{
    return load(&sim_catalog, yaml);
}

struct mortise_graph *sim_graph_beside(const char *other, const char *yaml)
{
    const struct mortise_graph_files files = sim_files(other);
    struct mortise_catalog catalog = sim_catalog;

    catalog.files = &files;
    return load(&catalog, yaml);
}

/* ---- carrying out actions ------------------------------------------------ */

void sim_init(struct sim *s, struct mortise_graph *g)
{
    memset(s, 0, sizeof *s);
    s->graph = g;
    s->now_ms = 1700000000000;
    s->published = json_array();
    s->pending = json_object();
    s->traces = json_array();
    s->uses = json_object();
    mortise_actions_init(&s->actions, &test_mem);
}

void sim_drop_calls(struct sim *s)
{
    for (size_t i = 0; i < s->n_calls; i++) {
        json_decref(s->calls[i].call.body);
        script_finish(&s->calls[i].script);
    }
    s->n_calls = s->n_asks = 0;
}

static int collect(void *ud, json_t *event)
{
    return json_array_append(ud, event);
}

/* Every durable event, as a reader of the store gets them. */
static json_t *stored_events(const struct sim *s, size_t n_commits)
{
    json_t *events = json_array();
    struct mortise_run *r;

    mortise_run_replay(&r, &test_mem, s->graph, "default", "run-1", collect,
                       events, NULL);
    for (size_t i = 0; i < n_commits; i++)
        mortise_run_apply(r, s->commits[i].seq, s->commits[i].time_ms,
                          s->commits[i].id, s->commits[i].entries,
                          s->commits[i].size, NULL);
    mortise_run_free(r);
    return events;
}

/* What watchers were told is what readers read, and seq has no gaps. */
static void check_events(const struct sim *s)
{
    json_t *stored = stored_events(s, s->n_commits), *event;
    size_t i;

    json_array_foreach(stored, i, event)
    {
        ck_assert_int_eq(json_integer_value(json_object_get(event, "seq")),
                         (json_int_t)i + 1);
    }
    json_array_foreach(s->published, i, event)
    {
        json_t *seq = json_object_get(event, "seq");

        if (seq != NULL)
            ck_assert(json_equal(
                event,
                json_array_get(stored, (size_t)json_integer_value(seq) - 1)));
    }
    json_decref(stored);
}

static void drop_commit(struct sim *s)
{
    struct sim_commit *k = &s->commits[--s->n_commits];

    free(k->entries);
    json_decref(k->kvs);
    json_decref(k->cached);
}

void sim_finish(struct sim *s)
{
    check_events(s);
    sim_drop_calls(s);
    mortise_run_free(s->run);
    mortise_actions_finish(&s->actions);
    while (s->n_commits > 0)
        drop_commit(s);
    json_decref(s->published);
    json_decref(s->pending);
    json_decref(s->traces);
    json_decref(s->uses);
    json_decref(s->lie);
    mortise_graph_unref(s->graph);
}

static void take_commit(struct sim *s, const struct mortise_run_commit *c)
{
    struct sim_commit *k = &s->commits[s->n_commits++];

    ck_assert_uint_lt(s->n_commits, SIM_MOST);
    ck_assert_uint_eq(c->seq, s->n_commits); /* contiguous, from 1 */
    ck_assert_uint_gt(c->size, 0);
    k->seq = c->seq;
    k->sync = c->sync;
    k->phase = c->phase;
    k->time_ms = c->now_ms;
    k->id = c->id;
    k->size = c->size;
    k->status = c->status;
    k->reason = c->reason;
    k->spend = c->spend;
    if (k->spend.origin != NULL)
        k->spend.origin = "tree"; /* the run's own may go */
    k->entries = malloc(c->size);
    memcpy(k->entries, c->entries, c->size);
    k->kvs = json_array();
    for (size_t i = 0; i < c->n_kvs; i++)
        json_array_append_new(
            k->kvs, json_pack("{s:s, s:O, s:O*}", "plugin", c->kvs[i].plugin,
                              "key", c->kvs[i].key, "value", c->kvs[i].value));
    k->cached = json_object();
    for (size_t i = 0; i < c->n_cached; i++) {
        char hex[MORTISE_DIGEST_HEX];

        mortise_hex_encode(hex, c->cached[i].key, MORTISE_DIGEST);
        json_object_set(k->cached, hex, c->cached[i].value);
    }
    for (size_t i = 0; i < c->n_closes; i++)
        json_object_del(s->pending, c->closes[i].id);
    for (size_t i = 0; i < c->n_opens; i++)
        if (!c->opens[i].timer)
            json_object_set(s->pending, c->opens[i].id, c->opens[i].payload);
    ck_assert_uint_eq(c->n_pending, json_object_size(s->pending));
}

static void drop_timer(struct sim *s, uint64_t id)
{
    for (size_t i = 0; i < s->n_timers; i++) {
        if (s->timers[i].id == id) {
            s->timers[i] = s->timers[--s->n_timers];
            return;
        }
    }
}

/* Is the intent of this key among the commits that are on disk? */
static bool intent_is_synced(const struct sim *s, const char *key)
{
    struct mortise_reader reader;
    struct mortise_entry e;
    struct mortise_arena a;
    char hex[MORTISE_DIGEST_HEX];
    bool found = false;

    mortise_arena_init(&a, &mortise_heap);
    for (size_t i = 0; i < s->n_synced; i++) {
        mortise_reader_init(&reader, s->commits[i].entries, s->commits[i].size);
        while (mortise_entry_read(&e, &reader, &a, NULL) == MORTISE_OK) {
            mortise_hex_encode(hex, e.digest, MORTISE_DIGEST);
            found |= e.type == MORTISE_E_INTENT && strcmp(hex, key) == 0;
            mortise_entry_finish(&e);
        }
    }
    mortise_arena_finish(&a);
    return found;
}

static bool is_judge(const struct mortise_run_call *c)
{
    return c->kind == MORTISE_RUN_CHECK && strcmp(c->plugin, "judge") == 0;
}

/* R12: whatever changes the world starts on an intent that is on disk. */
static void take_call(struct sim *s, struct mortise_run_call *c)
{
    ck_assert_uint_lt(s->n_calls, SIM_MOST);
    if (c->kind == MORTISE_RUN_EXECUTE && c->node->effect >= MORTISE_WRITE &&
        !c->node->op->steps)
        ck_assert(intent_is_synced(s, c->key));
    s->calls[s->n_calls].cancelled = false;
    s->calls[s->n_calls].call = *c;
    script_init(&s->calls[s->n_calls].script,
                c->kind == MORTISE_RUN_EXECUTE || is_judge(c) ? c->body : NULL);
    s->calls[s->n_calls++].call.body = json_incref(c->body);
}

static void publish(struct sim *s, json_t *event)
{
    json_t *seq = json_object_get(event, "seq");

    if (seq != NULL) { /* durable ones in order, none twice, none missing */
        size_t i;
        json_t *old;
        json_int_t last = 0;

        json_array_foreach(s->published, i, old)
        {
            if (json_object_get(old, "seq") != NULL)
                last = json_integer_value(json_object_get(old, "seq"));
        }
        ck_assert_int_gt(json_integer_value(seq), last);
    }
    json_array_append(s->published, event);
}

static void carry_out(struct sim *s)
{
    for (size_t i = 0; i < s->actions.n; i++) {
        struct mortise_action *a = &s->actions.list[i];

        switch (a->kind) {
        case MORTISE_ACT_COMMIT:
            ck_assert_uint_eq(i, 0); /* always the first */
            take_commit(s, &a->u.commit);
            break;
        case MORTISE_ACT_CALL:
            take_call(s, &a->u.call);
            break;
        case MORTISE_ACT_CANCEL:
            for (size_t k = 0; k < s->n_calls; k++) {
                if (s->calls[k].call.id == a->u.cancel)
                    s->calls[k].cancelled = true;
            }
            break;
        case MORTISE_ACT_ARM:
            ck_assert_uint_lt(s->n_timers, 256);
            s->timers[s->n_timers++] =
                (struct sim_timer){a->u.timer.id, a->u.timer.at_ms};
            break;
        case MORTISE_ACT_DISARM:
            drop_timer(s, a->u.timer.id);
            break;
        case MORTISE_ACT_PUBLISH:
            publish(s, a->u.publish);
            break;
        case MORTISE_ACT_PERFORM:
            script_perform(s, a->u.perform.ask, a->u.perform.step,
                           a->u.perform.key);
            break;
        case MORTISE_ACT_REPLY:
            script_reply(s, a->u.reply.ask, a->u.reply.status,
                         a->u.reply.value);
            break;
        case MORTISE_ACT_APPLIED:
            ck_assert_int_eq(s->applied, 1); /* exactly once a command */
            s->applied = a->u.applied.result;
            s->applied_err = a->u.applied.err;
            break;
        case MORTISE_ACT_SYNC:
            s->wants_sync = true;
            break;
        }
    }
    mortise_actions_clear(&s->actions);
}

const char *sim_subject;

static void step(struct sim *s, struct mortise_input *in)
{
    struct mortise_err err = {0, ""};
    int rv;

    in->now_ms = s->now_ms;
    rv = mortise_run_step(s->run, in, &s->actions, &err);
    if (rv != MORTISE_OK && sim_subject != NULL)
        fprintf(stderr, "%s\n", sim_subject);
    ck_assert_msg(rv == MORTISE_OK, "step: %s", err.msg);
    carry_out(s);
    script_go_on(s);
}

void sim_feed(struct sim *s, struct mortise_input *in)
{
    step(s, in);
}

int sim_admit(struct sim *s, const char *input, struct mortise_err *err)
{
    struct mortise_pin pins[4] = {{"t", {1, 2, 3}, false}};
    static const struct mortise_spawn_change begins;
    struct mortise_admission adm = {.tenant = "default",
                                    .spawned_by = s->spawned_by,
                                    .spawn = &begins,
                                    .run = "run-1",
                                    .actor = "tester",
                                    .seed = {42},
                                    .pins = pins,
                                    .n_pins = 1 + s->n_tools};
    int rv;

    ck_assert_uint_lt(s->n_tools, sizeof pins / sizeof pins[0]);
    for (size_t i = 0; i < s->n_tools; i++)
        pins[1 + i] = s->tools[i];
    ck_assert_int_eq(mortise_json_parse(&adm.input, input, strlen(input), NULL),
                     MORTISE_OK);
    rv = mortise_run_admit(&s->run, &test_mem, s->graph, &adm, s->now_ms,
                           &s->actions, err);
    json_decref(adm.input);
    if (rv == MORTISE_OK) {
        mortise_run_watch(s->run, true);
        carry_out(s);
        script_go_on(s);
    }
    mortise_actions_clear(&s->actions);
    return rv;
}

int sim_command(struct sim *s, const struct mortise_command *list, size_t n,
                uint32_t flags, const char *actor, struct mortise_err *err)
{
    struct mortise_input in = {.kind = MORTISE_IN_COMMAND, .now_ms = s->now_ms};
    struct mortise_run_command *read = calloc(n, sizeof *read);
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < n; i++)
        rv = mortise_command_read(&read[i], &list[i], err);
    in.u.command.list = read;
    in.u.command.n = n;
    in.u.command.flags = flags;
    in.u.command.actor = actor;
    in.u.command.patience_ms = SIM_PATIENCE_MS;
    in.u.command.pins = s->pins;
    in.u.command.n_pins = s->n_pins;
    in.u.command.steering = s->steering;
    s->applied = 1;
    if (rv == MORTISE_OK)
        rv = mortise_run_step(s->run, &in, &s->actions, err);
    for (size_t i = 0; i < n; i++)
        json_decref(read[i].value);
    free(read);
    if (rv != MORTISE_OK) {
        ck_assert_uint_eq(s->actions.n, 0); /* nothing happened */
        return rv;
    }
    carry_out(s);
    script_go_on(s);
    return rv;
}

/* ---- what can happen
 * --------------------------------------------------------- */

static bool has_to_sync(const struct sim *s)
{
    return s->n_written < s->n_commits || (s->lax && s->wants_sync);
}

bool sim_sync_one(struct sim *s)
{
    struct mortise_input in = {.kind = MORTISE_IN_SYNCED};
    bool sync = !s->lax;

    if (!has_to_sync(s))
        return false;
    if (s->n_written < s->n_commits)
        sync |= s->commits[s->n_written++].sync;
    else
        sync = true;
    in.u.seq = s->n_written;
    if (sync) {
        s->n_synced = s->n_written;
        s->wants_sync = s->wants_sync && s->n_written < s->n_commits;
    } else {
        in.kind = MORTISE_IN_WRITTEN;
    }
    step(s, &in);
    return true;
}

static struct sim_effect *effect_of(struct sim *s,
                                    const struct mortise_run_call *c)
{
    for (size_t i = 0; i < s->n_effects; i++) {
        if (strcmp(s->effects[i].key, c->key) == 0)
            return &s->effects[i];
    }
    ck_assert_uint_lt(s->n_effects, 256);
    snprintf(s->effects[s->n_effects].key, MORTISE_DIGEST_HEX, "%s", c->key);
    snprintf(s->effects[s->n_effects].node, sizeof s->effects[0].node, "%s",
             c->node->id);
    return &s->effects[s->n_effects++];
}

/* ---- memory and discovery ------------------------------------------------- */

static const char *said(const json_t *of, const char *name)
{
    const char *text = json_string_value(json_object_get(of, name));

    return text != NULL ? text : "";
}

static bool is_there(const struct sim *s, const char *id)
{
    MORTISE_JSON_EACH (one, i, s->traces)
        if (strcmp(said(json_object_get(one, "trace"), "id"), id) == 0)
            return true;
    return false;
}

/* Each once, and what one call wrote at once. */
static void memorize(struct sim *s, const json_t *traces)
{
    s->seq++;
    MORTISE_JSON_EACH (one, i, traces) {
        s->written++;
        if (!is_there(s, said(one, "id")))
            json_array_append_new(s->traces, json_pack("{s:I, s:O}", "seq",
                                                       s->seq, "trace", one));
    }
}

/* {ID BY: true} of what was told. */
static void note_uses(struct sim *s, const json_t *uses)
{
    MORTISE_JSON_EACH (one, i, uses) {
        char name[256];

        snprintf(name, sizeof name, "%s %s", said(one, "id"), said(one, "by"));
        json_object_set_new(s->uses, name, json_true());
    }
}

void sim_memorize(struct sim *s, const char *id, const char *content)
{
    json_t *list = json_pack("[{s:s, s:s, s:s, s:s, s:f, s:i}]", "id", id,
                             "type", "semantic", "scope", "global", "content",
                             content, "strength", 0.5, "created_at", 1);

    memorize(s, list);
    json_decref(list);
}

size_t sim_memories(const struct sim *s, const char *text)
{
    size_t n = 0;

    MORTISE_JSON_EACH (one, i, s->traces)
        n += strstr(said(json_object_get(one, "trace"), "content"), text) !=
             NULL;
    return n;
}

static bool is_type(const json_t *types, const char *type)
{
    MORTISE_JSON_EACH (one, i, types)
        if (strcmp(json_string_value(one), type) == 0)
            return true;
    return types == NULL;
}

static bool is_read(const json_t *body, const json_t *one)
{
    const json_t *t = json_object_get(one, "trace");
    const json_t *as_of = json_object_get(body, "as_of");
    const char *scope = said(t, "scope"), *wants = said(body, "scope");

    return (as_of == NULL || json_integer_value(json_object_get(one, "seq")) <=
                                 json_integer_value(as_of)) &&
           (wants[0] == '\0' || strcmp(wants, scope) == 0) &&
           (strcmp(scope, "global") == 0 ||
            strcmp(said(json_object_get(body, "keys"), scope),
                   said(t, "key")) == 0) &&
           is_type(json_object_get(body, "types"), said(t, "type")) &&
           json_number_value(json_object_get(t, "strength")) >=
               json_number_value(json_object_get(body, "min_strength")) &&
           strstr(said(t, "content"), said(body, "query")) != NULL;
}

static json_t *recall(struct sim *s, const json_t *body)
{
    json_int_t max = json_integer_value(json_object_get(body, "max_traces"));
    json_t *list = json_array();

    ck_assert_str_eq(said(body, "tenant"), "default");
    s->recalls++;
    for (size_t i = json_array_size(s->traces); i-- > 0;) {
        json_t *one = json_array_get(s->traces, i);

        if ((json_int_t)json_array_size(list) < max && is_read(body, one))
            json_array_append(list, json_object_get(one, "trace"));
    }
    return json_pack("{s:o, s:I}", "traces", list, "seq", s->seq);
}

static json_t *discover(const json_t *body)
{
    const char *query = said(body, "query");
    json_t *list = json_array();

    MORTISE_JSON_EACH (one, i, json_object_get(body, "candidates"))
        if (strstr(said(one, "id"), query) != NULL)
            json_array_append_new(
                list, json_pack("{s:s, s:s, s:f}", "id", said(one, "id"),
                                "kind", said(one, "kind"), "score", 1.0));
    if (strstr(query, "knack") != NULL)
        json_array_append_new(list, json_pack("{s:s, s:s, s:f, s:s, s:s}", "id",
                                              "knack", "kind", "skill", "score",
                                              0.5, "text", "Have a knack.",
                                              "tier", "full"));
    return json_pack("{s:o}", "results", list);
}

static void consult(struct sim *s, struct sim_call *c,
                    struct mortise_result_in *r)
{
    if (s->mutes > 0) {
        s->mutes--;
        r->status = -1;
        r->message = "it is mute";
        r->error_class = s->mute != NULL ? s->mute : "transient";
    } else if (s->lie != NULL) {
        r->output = s->lie;
        s->lie = NULL;
    } else if (c->call.kind == MORTISE_RUN_RECALL) {
        r->output = recall(s, c->call.body);
    } else if (c->call.kind == MORTISE_RUN_REMEMBER) {
        memorize(s, json_object_get(c->call.body, "traces"));
        note_uses(s, json_object_get(c->call.body, "uses"));
        r->output = json_pack("{s:i, s:I}", "written", 1, "seq", s->seq);
    } else {
        r->output = discover(c->call.body);
    }
}

/* Who judges says what the criteria are, JSON; or fails, with words that are none. */
static void judge(struct sim *s, const struct sim_call *c,
                  struct mortise_result_in *r)
{
    const char *criteria = said(c->call.body, "criteria");

    s->judgements++;
    r->output = json_loads(criteria, JSON_DECODE_ANY, NULL);
    if (r->output != NULL)
        return;
    r->status = -1;
    r->message = criteria;
    r->error_code = "model.failed";
    r->error_class = "permanent";
}

/* What makes an output short says of which node it is, and by what. */
static void compact(struct sim *s, const struct sim_call *c,
                    struct mortise_result_in *r)
{
    s->compactions++;
    if (s->mutes > 0) {
        s->mutes--;
        r->status = -1;
        r->message = "it is mute";
        r->error_code = "mute";
        r->error_class = s->mute != NULL ? s->mute : "transient";
    } else if (s->lie != NULL) {
        r->output = s->lie;
        s->lie = NULL;
    } else {
        r->output =
            json_sprintf("%s of %s", c->call.operation,
                         said(json_object_get(c->call.body, "node"), "id"));
    }
}

/* ---- what happens ----------------------------------------------------------- */

static void happen(struct sim *s, const struct mortise_run_call *c)
{
    struct sim_effect *e;

    if (c->kind == MORTISE_RUN_REMEMBER)
        memorize(s, json_object_get(c->body, "traces"));

    if (c->kind != MORTISE_RUN_EXECUTE || c->node->effect < MORTISE_WRITE ||
        c->node->op->steps)
        return;
    e = effect_of(s, c);
    if (c->node->op->idempotent && e->times > 0)
        return; /* it knows the key */
    e->times++;
}

static void fail_as_told(const struct sim_call *c, struct mortise_result_in *r)
{
    json_t *times = json_object_get(c->call.body, "times");

    if (times != NULL &&
        json_integer_value(times) < (json_int_t)c->call.attempt) {
        r->output = json_incref(c->call.body);
        return;
    }
    r->status = -1;
    r->message = "told to fail";
    r->error_code = json_string_value(json_object_get(c->call.body, "code"));
    r->error_class = json_string_value(json_object_get(c->call.body, "class"));
    r->ending = mortise_exit_info_get(c->call.body);
    if (r->error_code == NULL)
        r->error_code = "";
    if (r->error_class == NULL)
        r->error_class = "permanent";
}

/* A trace of something bad. */
static bool is_bad_trace(const json_t *trace)
{
    const char *content = json_string_value(json_object_get(trace, "content"));

    return content != NULL && strstr(content, "bad") != NULL;
}

/* {"bad": ...} there, or in the scratch of what writes it; or among traces. */
static bool is_bad(const json_t *body)
{
    MORTISE_JSON_EACH (one, i, body)
        if (is_bad_trace(one))
            return true;
    return json_object_get(body, "bad") != NULL ||
           json_object_get(json_object_get(body, "scratch"), "bad") != NULL;
}

static json_t *without_bad(const json_t *body)
{
    json_t *clean = json_deep_copy(body);

    for (size_t i = json_array_size(clean); i-- > 0;)
        if (is_bad_trace(json_array_get(clean, i)))
            json_array_remove(clean, i);
    json_object_del(clean, "bad");
    json_object_del(json_object_get(clean, "scratch"), "bad");
    return clean;
}

static void guard(const struct sim_call *c, struct mortise_result_in *r)
{
    if (strcmp(c->call.plugin, "down") == 0) {
        r->status = -1;
        r->message = "it is down";
        r->output = json_incref(c->call.body);
        return;
    }
    if (c->script.answers != NULL)
        script_result(&c->script, r);
    r->violation =
        c->script.answers != NULL ||
        (strcmp(c->call.plugin, "wary") == 0 &&
         json_integer_value(json_object_get(c->call.body, "times")) > 0) ||
        strcmp(c->call.plugin, "stern") == 0 ||
        (strcmp(c->call.plugin, "bad") == 0 && is_bad(c->call.body));
    if (!r->violation)
        return;
    r->message = "found something";
    if (strcmp(c->call.plugin, "bad") == 0)
        r->output = without_bad(c->call.body);
}

/* What was given before, as far as it is stored; else where it may be kept. */
static void look_up(struct sim *s, const struct sim_call *c,
                    struct mortise_result_in *r)
{
    static uint8_t key[MORTISE_DIGEST];
    char hex[MORTISE_DIGEST_HEX];
    struct mortise_hasher h;

    mortise_json_digest(key, c->call.body, &mortise_heap);
    mortise_hasher_init(&h);
    mortise_hasher_add_str(&h, c->call.operation);
    mortise_hasher_add_field(&h, key, sizeof key);
    mortise_hasher_final(&h, key);
    mortise_hex_encode(hex, key, sizeof key);
    r->status = -1;
    r->cache_key = key;
    for (size_t i = 0; i < s->n_written && r->status != 0; i++) {
        r->output = json_incref(json_object_get(s->commits[i].cached, hex));
        r->status = r->output != NULL ? 0 : -1;
    }
    s->hits += r->status == 0;
}

static void answer(struct sim *s, struct sim_call *c,
                   struct mortise_result_in *r)
{
    if (c->call.kind == MORTISE_RUN_LOOKUP) {
        look_up(s, c, r);
    } else if (c->cancelled) {
        r->status = -3;
        r->message = "cancelled";
        r->error_class = "cancelled";
        /* it let go, and knows no more */
        r->silent = json_object_get(c->call.body, "sure") == NULL;
    } else if (c->call.kind == MORTISE_RUN_CHECK) {
        guard(c, r);
    } else if (c->call.kind == MORTISE_RUN_JUDGE) {
        judge(s, c, r);
    } else if (c->call.kind == MORTISE_RUN_COMPACT) {
        compact(s, c, r);
    } else if (c->call.kind > MORTISE_RUN_LOOKUP) {
        consult(s, c, r);
    } else if (c->call.kind == MORTISE_RUN_RECONCILE) {
        bool did = c->call.node->op->steps
                       ? sim_effect_count(s, c->call.node->id) > 0
                       : effect_of(s, &c->call)->times > 0;

        if (!did && !c->call.node->op->steps &&
            json_object_get(c->call.body, "sure") == NULL &&
            sim_effect_count(s, c->call.node->id) > 0)
            r->status = -1; /* some of it did, so it cannot tell */
        else
            r->output = json_pack("{s:b, s:O}", "happened", (int)did, "result",
                                  c->call.body);
    } else if (c->script.answers != NULL) {
        script_result(&c->script, r);
        if (r->status == 0)
            happen(s, &c->call);
    } else if (strcmp(c->call.operation, "fail") == 0) {
        fail_as_told(c, r);
    } else {
        happen(s, &c->call);
        r->output = json_incref(c->call.body);
        if (json_object_get(c->call.body, "unsure") != NULL)
            r->status = MORTISE_S_DOUBT;
    }
}

/* What a success says besides its output. */
static json_t *said_by(const struct sim_call *c)
{
    json_t *said, *update = json_object_get(c->call.body, "update");
    const char *id = json_string_value(json_object_get(c->call.body, "goto"));

    said = json_object();
    if (id != NULL && id[0] != '\0')
        json_object_set_new(said, "goto", json_string(id));
    if (update != NULL)
        json_object_set(said, "update", update);
    if (json_object_size(said) > 0)
        return said;
    json_decref(said);
    return NULL;
}

/* What it says that it cost. */
static void spend(const struct sim *s, const struct sim_call *c,
                  struct mortise_usage *out)
{
    json_t *said = json_object_get(c->call.body, "usage");
    struct mortise_usage one;
    size_t times = 1;

    if (s->tells && c->call.kind == MORTISE_RUN_EXECUTE)
        *out = (struct mortise_usage){.amount = {1, SIM_TOKENS - 1, 1, 0}};
    if (said == NULL || c->call.kind != MORTISE_RUN_EXECUTE)
        return;
    if (c->script.answers != NULL)
        times += c->script.replied - c->script.suspended;
    ck_assert_int_eq(mortise_usage_parse(&one, said, NULL), MORTISE_OK);
    while (times-- > 0)
        ck_assert_int_eq(mortise_usage_add(out, &one), MORTISE_OK);
    mortise_usage_finish(&one);
}

bool sim_end_call(struct sim *s, size_t i)
{
    struct mortise_input in = {.kind = MORTISE_IN_RESULT};
    struct mortise_usage usage = {0};
    struct sim_call c;

    while (i < s->n_calls && !s->calls[i].cancelled &&
           !script_is_over(&s->calls[i].script))
        i++;
    if (i >= s->n_calls)
        return false;
    c = s->calls[i];
    script_drop(s, c.call.id);
    memmove(s->calls + i, s->calls + i + 1,
            (--s->n_calls - i) * sizeof s->calls[0]);
    in.u.result = (struct mortise_result_in){
        .call = c.call.id, .message = "", .error_code = "", .error_class = ""};
    answer(s, &c, &in.u.result);
    in.u.result.plain = true;
    if (in.u.result.status == 0 && c.call.kind <= MORTISE_RUN_RECONCILE)
        in.u.result.said = said_by(&c);
    spend(s, &c, &usage);
    in.u.result.usage = &usage;
    step(s, &in);
    mortise_usage_finish(&usage);
    json_decref(in.u.result.output);
    json_decref(in.u.result.said);
    json_decref(c.call.body);
    script_finish(&c.script);
    return true;
}

bool sim_fire_timer(struct sim *s, size_t i)
{
    struct mortise_input in = {.kind = MORTISE_IN_TIMER};

    if (i >= s->n_timers)
        return false;
    if (s->now_ms < s->timers[i].at_ms)
        s->now_ms = s->timers[i].at_ms;
    in.u.timer = s->timers[i].id;
    s->timers[i] = s->timers[--s->n_timers];
    step(s, &in);
    return true;
}

/* A person's deadline (a day away and more) is not waited for. */
static bool fire_soonest(struct sim *s)
{
    size_t best = s->n_timers;

    for (size_t i = 0; i < s->n_timers; i++) {
        if (s->timers[i].at_ms < s->now_ms + 86400000 &&
            (best == s->n_timers || s->timers[i].at_ms < s->timers[best].at_ms))
            best = i;
    }
    return sim_fire_timer(s, best);
}

void sim_run(struct sim *s, uint32_t *seed)
{
    for (;;) {
        bool may_sync = has_to_sync(s);

        s->now_ms++;
        if (may_sync && (s->n_calls == 0 || sim_random(seed) % 3 == 0))
            sim_sync_one(s);
        else if (s->n_asks > 0 && sim_end_ask(s, sim_random(seed) % s->n_asks))
            continue;
        else if (s->n_calls > 0 &&
                 (sim_end_call(s, sim_random(seed) % s->n_calls) ||
                  sim_end_call(s, 0) || sim_end_ask(s, 0)))
            continue;
        else if (sim_sync_one(s))
            continue;
        else if (!fire_soonest(s))
            return;
    }
}

void sim_run_plain(struct sim *s)
{
    do {
        s->now_ms++;
    } while (sim_sync_one(s) || sim_end_ask(s, 0) || sim_end_call(s, 0) ||
             fire_soonest(s));
}

/* ---- dying
 * --------------------------------------------------------------------- */

/* What was told and is gone, of a world that tells before it syncs. */
static void forget_told(struct sim *s)
{
    json_t *stored = stored_events(s, s->n_commits);
    json_int_t last = (json_int_t)json_array_size(stored);

    for (size_t i = json_array_size(s->published); i-- > 0;) {
        json_t *seq = json_object_get(json_array_get(s->published, i), "seq");

        if (json_integer_value(seq) > last)
            json_array_remove(s->published, i);
    }
    json_decref(stored);
}

static void replay(struct sim *s)
{
    struct mortise_err err;

    ck_assert_int_eq(mortise_run_replay(&s->run, &test_mem, s->graph, "default",
                                        "run-1", NULL, NULL, &err),
                     MORTISE_OK);
    for (size_t i = 0; i < s->n_commits; i++) {
        int rv = mortise_run_apply(
            s->run, s->commits[i].seq, s->commits[i].time_ms, s->commits[i].id,
            s->commits[i].entries, s->commits[i].size, &err);

        ck_assert_msg(rv == MORTISE_OK, "replay: %s", err.msg);
    }
}

void sim_crash(struct sim *s, uint32_t *seed)
{
    for (size_t i = 0; i < s->n_calls; i++) {
        if (sim_random(seed) % 2 == 0)
            happen(s, &s->calls[i].call);
    }
    for (size_t i = 0; i < s->n_asks; i++) {
        if (sim_random(seed) % 2 == 0)
            script_happen(s, &s->asks[i]);
    }
    s->crashes++;
    sim_drop_calls(s);
    s->n_timers = 0;
    mortise_run_free(s->run);
    if (s->lax && sim_random(seed) % 2 == 0)
        s->n_synced = s->n_written; /* the process alone */
    while (s->n_commits > s->n_synced)
        drop_commit(s);
    s->n_written = s->n_synced;
    s->wants_sync = false;
    if (s->lax)
        forget_told(s);
    json_object_clear(s->pending);
    replay(s);
    mortise_run_watch(s->run, true);
    /* what the store would list */
    json_t *show = mortise_run_show(s->run, NULL), *p;
    size_t i;

    json_array_foreach(json_object_get(show, "pending"), i, p)
    {
        if (strcmp(json_string_value(json_object_get(p, "kind")), "timer") == 0)
            continue;
        json_object_set(s->pending, json_string_value(json_object_get(p, "id")),
                        p);
    }
    json_decref(show);
}

void sim_recover(struct sim *s)
{
    struct mortise_input in = {.kind = MORTISE_IN_RECOVER};

    step(s, &in);
}

/* ---- looking
 * ---------------------------------------------------------------------- */

json_t *sim_show(struct sim *s)
{
    json_t *show = mortise_run_show(s->run, NULL);

    ck_assert_ptr_nonnull(show);
    return show;
}

char *sim_state(struct sim *s)
{
    json_t *show = sim_show(s);
    struct mortise_buf b;
    char *text;

    mortise_buf_init(&b, &mortise_heap);
    mortise_json_write_canonical(&b, json_object_get(show, "state"));
    text = strdup(mortise_buf_cstr(&b));
    mortise_buf_finish(&b);
    json_decref(show);
    return text;
}

json_t *sim_kept(const struct sim *s, const char *plugin, const char *key)
{
    json_t *value = NULL, *kv;
    size_t k;

    for (size_t i = 0; i < s->n_synced; i++) {
        json_array_foreach(s->commits[i].kvs, k, kv)
        {
            if (strcmp(json_string_value(json_object_get(kv, "plugin")),
                       plugin) == 0 &&
                strcmp(json_string_value(json_object_get(kv, "key")), key) == 0)
                value = json_object_get(kv, "value");
        }
    }
    return value;
}

int sim_effect_count(const struct sim *s, const char *node)
{
    int times = 0;

    for (size_t i = 0; i < s->n_effects; i++) {
        if (strcmp(s->effects[i].node, node) == 0)
            times += s->effects[i].times;
    }
    return times;
}

int sim_effect_times(const struct sim *s, const char *key)
{
    for (size_t i = 0; i < s->n_effects; i++) {
        if (strcmp(s->effects[i].key, key) == 0)
            return s->effects[i].times;
    }
    return 0;
}

const char *sim_request(struct sim *s, const char *node)
{
    const char *id;
    json_t *p;

    json_object_foreach(s->pending, id, p)
    {
        if (strcmp(json_string_value(json_object_get(p, "node")), node) == 0)
            return id;
    }
    return NULL;
}

void sim_let_go(struct sim *s, const char *path)
{
    struct mortise_command c = {.size = sizeof c,
                                .kind = MORTISE_CMD_ANSWER,
                                .id = sim_request(s, path),
                                .json = "{\"approved\": true}"};
    struct mortise_err err;

    ck_assert_msg(c.id != NULL, "%s asks nobody", path);
    ck_assert_msg(sim_command(s, &c, 1, 0, "ann", &err) == MORTISE_OK, "%s: %s",
                  path, err.msg);
    sim_run_plain(s);
}

static bool has_event(const json_t *events, const char *type, const char *node)
{
    size_t i;
    json_t *event;

    json_array_foreach(events, i, event)
    {
        const char *of = json_string_value(json_object_get(event, "node"));

        if (strcmp(json_string_value(json_object_get(event, "type")), type) ==
                0 &&
            (node == NULL || (of != NULL && strcmp(of, node) == 0)))
            return true;
    }
    return false;
}

bool sim_saw(const struct sim *s, const char *type, const char *node)
{
    json_t *stored = stored_events(s, s->n_synced);
    bool saw =
        has_event(s->published, type, node) || has_event(stored, type, node);

    json_decref(stored);
    return saw;
}
