#include "lib/script.h"

#include <check.h>
#include <string.h>

#include "lib/sim.h"
#include "mortise/plugin.h"
#include "core/run/record/journal.h"

/* What a call is told to do: its body, or the args of a gmi node. */
static const json_t *told(const json_t *body)
{
    return json_object_get(body, "node") != NULL ? json_object_get(body, "args")
                                                 : body;
}

void script_init(struct script *sc, const json_t *body)
{
    const json_t *asks = json_object_get(told(body), "asks");

    memset(sc, 0, sizeof *sc);
    if (!json_is_array(asks))
        return;
    sc->n = json_array_size(asks);
    sc->at_once = json_is_true(json_object_get(told(body), "at_once"));
    sc->apart = json_is_true(json_object_get(told(body), "apart"));
    sc->answers = json_array();
    for (size_t i = 0; i < sc->n; i++)
        json_array_append_new(sc->answers, json_null());
}

void script_finish(struct script *sc)
{
    json_decref(sc->answers);
    sc->answers = NULL;
}

bool script_is_over(const struct script *sc)
{
    if (sc->answers == NULL)
        return true;
    if (sc->apart && sc->suspended)
        return sc->replied == sc->issued;
    if (!sc->at_once && !sc->apart && (sc->suspended || sc->failed != NULL))
        return true;
    return sc->replied == sc->n;
}

void script_result(const struct script *sc, struct mortise_result_in *r)
{
    if (sc->suspended) {
        r->status = MORTISE_S_SUSPENDED;
    } else if (sc->failed != NULL) {
        r->status = MORTISE_S_FAILED;
        r->message = "told to fail";
        r->error_code = sc->failed;
        r->error_class = "permanent";
    } else {
        r->output = json_incref(sc->answers);
    }
}

/* ---- asking ------------------------------------------------------------- */

static enum mortise_step_kind kind_of(const char *name)
{
    static const char *const names[] = {"read",     "look",   "effect",
                                        "question", "timer",  "get",
                                        "put",      "repeat", "tool"};

    if (strcmp(name, "child") == 0)
        return MORTISE_STEP_CHILD;
    for (int i = 0; i < 9; i++) {
        if (strcmp(names[i], name) == 0)
            return (enum mortise_step_kind)(MORTISE_STEP_READ + i);
    }
    ck_abort_msg("no kind '%s'", name);
}

static json_t *member(const struct sim_call *c, size_t i, const char *name)
{
    return json_object_get(
        json_array_get(json_object_get(told(c->call.body), "asks"), i), name);
}

static void issue(struct sim *s, struct sim_call *c)
{
    struct mortise_input in = {.kind = MORTISE_IN_ASK};
    size_t i = c->script.issued++;
    json_t *key = member(c, i, "key"), *then = member(c, i, "then"),
           *body = json_incref(
               s->crashes > 0 && then != NULL ? then : member(c, i, "body"));

    ck_assert_uint_lt(s->n_asks, SIM_MOST);
    s->asks[s->n_asks++] =
        (struct sim_ask){.call = c->call.id, .id = ++s->last_ask, .index = i};
    in.u.ask.call = c->call.id;
    in.u.ask.ask = s->last_ask;
    in.u.ask.kind = kind_of(json_string_value(member(c, i, "kind")));
    in.u.ask.method = json_string_value(member(c, i, "method"));
    in.u.ask.key = key != NULL ? json_string_value(key) : "";
    in.u.ask.alias = "";
    in.u.ask.body = body;
    in.u.ask.holds = in.u.ask.kind == MORTISE_STEP_CHILD;
    if (s->crashes == 0) /* there is room by then */
        in.u.ask.refused = json_string_value(member(c, i, "refused"));
    sim_feed(s, &in);
    json_decref(body);
}

static bool may_issue(const struct sim_call *c)
{
    const struct script *sc = &c->script;

    if (sc->answers == NULL || c->cancelled || sc->issued == sc->n || sc->apart)
        return false;
    return sc->at_once ||
           (!sc->suspended && sc->failed == NULL && sc->issued == sc->replied);
}

void script_go_on(struct sim *s)
{
    bool more = !s->scripting;

    s->scripting = true;
    while (more) {
        size_t i = 0;

        while (i < s->n_calls && !may_issue(&s->calls[i]))
            i++;
        more = i < s->n_calls;
        if (more)
            issue(s, &s->calls[i]);
    }
    s->scripting = false;
}

bool script_ask_next(struct sim *s)
{
    for (size_t i = 0; i < s->n_calls; i++) {
        const struct script *sc = &s->calls[i].script;

        if (!sc->apart || sc->suspended || sc->issued == sc->n ||
            s->calls[i].cancelled)
            continue;
        issue(s, &s->calls[i]);
        return true;
    }
    return false;
}

/* ---- performing --------------------------------------------------------- */

static struct sim_call *call_of(struct sim *s, uint64_t id)
{
    for (size_t i = 0; i < s->n_calls; i++) {
        if (s->calls[i].call.id == id)
            return &s->calls[i];
    }
    return NULL;
}

/* R12: an effect is performed once its intent is on disk. */
static bool intent_is_synced(const struct sim *s, const json_t *body)
{
    uint8_t digest[MORTISE_DIGEST];
    struct mortise_reader reader;
    struct mortise_entry e;
    struct mortise_arena a;
    bool found = false;

    mortise_json_digest(digest, body, &mortise_heap);
    mortise_arena_init(&a, &mortise_heap);
    for (size_t i = 0; i < s->n_synced; i++) {
        mortise_reader_init(&reader, s->commits[i].entries, s->commits[i].size);
        while (mortise_entry_read(&e, &reader, &a, NULL) == MORTISE_OK) {
            found |= e.type == MORTISE_E_STEP &&
                     memcmp(e.digest, digest, sizeof digest) == 0;
            mortise_entry_finish(&e);
        }
    }
    mortise_arena_finish(&a);
    return found;
}

static struct sim_ask *ask_of(struct sim *s, uint64_t id)
{
    for (size_t i = 0; i < s->n_asks; i++) {
        if (s->asks[i].id == id)
            return &s->asks[i];
    }
    ck_abort_msg("no such ask");
}

void script_perform(struct sim *s, uint64_t id, uint32_t step, const char *key)
{
    struct sim_ask *a = ask_of(s, id);

    ck_assert(!a->performing);
    a->performing = true;
    a->step = step;
    strcpy(a->key, key);
    if (key[0] != '\0')
        ck_assert(
            intent_is_synced(s, member(call_of(s, a->call), a->index, "body")));
}

static struct sim_effect *effect_of(struct sim *s, const struct sim_ask *a)
{
    for (size_t i = 0; i < s->n_effects; i++) {
        if (strcmp(s->effects[i].key, a->key) == 0)
            return &s->effects[i];
    }
    ck_assert_uint_lt(s->n_effects, 256);
    strcpy(s->effects[s->n_effects].key, a->key);
    strcpy(s->effects[s->n_effects].node, call_of(s, a->call)->call.node->id);
    return &s->effects[s->n_effects++];
}

void script_happen(struct sim *s, const struct sim_ask *a)
{
    struct sim_call *c = call_of(s, a->call);
    struct sim_effect *e;

    if (!a->performing || a->key[0] == '\0')
        return;
    e = effect_of(s, a);
    if (!c->call.node->op->idempotent || e->times == 0)
        e->times++;
}

static void drop_ask(struct sim *s, const struct sim_ask *a)
{
    size_t i = (size_t)(a - s->asks);

    memmove(s->asks + i, s->asks + i + 1,
            (--s->n_asks - i) * sizeof s->asks[0]);
}

/* What it gives: of the store, or of its own body. */
static json_t *outcome(struct sim *s, const struct sim_ask *a)
{
    const struct sim_call *c = call_of(s, a->call);
    json_t *body = member(c, a->index, "body"), *value;

    if (strcmp(json_string_value(member(c, a->index, "kind")), "get") != 0)
        return json_pack("{s:O}", "did", body);
    value = sim_kept(s, c->call.plugin,
                     json_string_value(json_object_get(body, "key")));
    return json_pack("{s:b, s:O*}", "found", value != NULL, "value", value);
}

/* Is it one of those that nobody hears of?  It has happened then, or not. */
static bool is_lost(struct sim *s, const struct sim_ask *a)
{
    struct sim_call *c = call_of(s, a->call);
    struct sim_effect *e;

    if (a->key[0] == '\0')
        return false;
    e = effect_of(s, a);
    if (e->lost >= json_integer_value(member(c, a->index, "lost")))
        return false;
    if (e->lost++ % 2 == 0)
        script_happen(s, a);
    return true;
}

bool sim_end_ask(struct sim *s, size_t nth)
{
    json_t *seen = json_pack("{s:s, s:{s:i}}", "cause", "the wire was cut",
                             "answer", "status", 500);
    struct mortise_input in = {.kind = MORTISE_IN_ANSWER};
    struct sim_ask *a = NULL;

    for (size_t i = 0; i < s->n_asks && a == NULL; i++) {
        if (s->asks[i].performing && nth-- == 0)
            a = &s->asks[i];
    }
    if (a == NULL) {
        json_decref(seen);
        return false;
    }
    in.u.answer.call = a->call;
    in.u.answer.ask = a->id;
    in.u.answer.step = a->step;
    if (is_lost(s, a)) {
        in.u.answer.status = MORTISE_S_IO;
        in.u.answer.words = "lost";
        in.u.answer.doubtful = true;
        in.u.answer.seen = seen;
    } else {
        script_happen(s, a);
        in.u.answer.completed = true;
        in.u.answer.value = outcome(s, a);
    }
    a->performing = false;
    sim_feed(s, &in);
    json_decref(in.u.answer.value);
    json_decref(seen);
    return true;
}

/* ---- answers ------------------------------------------------------------ */

void script_reply(struct sim *s, uint64_t id, int32_t status, json_t *value)
{
    struct sim_ask *a = ask_of(s, id);
    struct sim_call *c = call_of(s, a->call);
    struct script *sc = &c->script;
    json_t *fail = member(c, a->index, "fail");

    ck_assert(!a->performing);
    sc->replied++;
    sc->suspended |= status == MORTISE_S_SUSPENDED;
    if (fail != NULL && status != MORTISE_S_SUSPENDED)
        sc->failed = json_string_value(fail);
    json_array_set_new(sc->answers, a->index,
                       status == MORTISE_S_OK
                           ? json_incref(value)
                           : json_pack("{s:i}", "status", (int)status));
    drop_ask(s, a);
}

void script_drop(struct sim *s, uint64_t call)
{
    for (size_t i = s->n_asks; i-- > 0;) {
        if (s->asks[i].call == call)
            drop_ask(s, &s->asks[i]);
    }
}
