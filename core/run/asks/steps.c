/* steps.c -- the steps of an execution's journal: lookup, entries and removal.
 *
 * A step is found by its name (an ordinal, or the asker's key) when it is asked
 * for again.  step.c decides which asks are made and answered; this file
 * applies the entries about that, live or replayed, and keeps the completed
 * effects, by their idempotency keys, longer than the journal.
 */
#include <assert.h>
#include <string.h>

#include "core/base/utf8.h"
#include "mortise/plugin.h"
#include "core/run/asks/asks.h"

static uint64_t hash_step_name(struct step_id id)
{
    return mortise_hash_u64s(
        id.ordinal, id.key[0] != '\0' ? mortise_hash_strs(id.key, "") : 0);
}

bool mortise_step_is_of_check(struct step_id id)
{
    return id.key[0] != '\0' && id.ordinal != MORTISE_STEP_UNORDERED;
}

const char *mortise_step_get_asker_key(struct step_id id)
{
    const char *colon;

    if (!mortise_step_is_of_check(id))
        return id.key;
    colon = strchr(id.key, ':');
    return colon != NULL ? colon + 1 : "";
}

int mortise_step_add_name(json_t *to, struct step_id id)
{
    const char *name = mortise_step_get_asker_key(id);
    json_t *step = name[0] != '\0' ? json_string(name)
                                   : json_integer((json_int_t)id.ordinal);

    return json_object_set_new(to, "step", step) != 0 ||
                   (mortise_step_is_of_check(id) &&
                    json_object_set_new(to, "check", json_true()) != 0)
               ? -1
               : 0;
}

/* Is this a valid name of a step? */
static bool is_valid_step_name(struct step_id id)
{
    return mortise_step_is_of_check(id)
               ? strlen(id.key) >= MORTISE_DIGEST_HEX - 1
               : (id.ordinal == MORTISE_STEP_UNORDERED) == (id.key[0] != '\0');
}

struct step *mortise_step_find(const struct journal *j, struct step_id id)
{
    struct mortise_table_entry *e =
        j != NULL ? mortise_table_find(&j->by_name, hash_step_name(id)) : NULL;

    for (; e != NULL; e = mortise_table_find_next(e)) {
        struct step *s = MORTISE_CONTAINER_OF(e, struct step, by_name);

        if (s->ordinal == id.ordinal && strcmp(s->key, id.key) == 0)
            return s;
    }
    return NULL;
}

static struct step *alloc_step(struct mortise_run *r, struct step_id id,
                               const char *method, const uint8_t *digest)
{
    size_t n = strlen(id.key) + 1, m = strlen(method) + 1;
    size_t size = sizeof(struct step) + n + m;
    struct step *s = mortise_zalloc(r->mem, size);
    char *text;

    if (s == NULL)
        return NULL;
    text = (char *)(s + 1);
    s->size = size;
    s->ordinal = id.ordinal;
    s->key = memcpy(text, id.key, n);
    s->method = memcpy(text + n, method, m);
    memcpy(s->digest, digest, sizeof s->digest);
    s->state = STEP_IN_FLIGHT;
    return s;
}

static void free_step(struct mortise_run *r, struct step *s)
{
    mortise_doubt_remove_unclear(r, s);
    json_decref(s->answer);
    json_decref(s->payload);
    mortise_release(r->mem, s, s->size);
}

int mortise_step_get_journal(struct mortise_run *r, struct exec *x,
                             bool of_check, struct journal **out,
                             struct mortise_err *err)
{
    struct journal **at = of_check ? &x->checks : &x->journal, *j;

    *out = *at;
    if (*at != NULL)
        return MORTISE_OK;
    *out = *at = j = mortise_zalloc(r->mem, sizeof *j);
    if (j == NULL)
        return mortise_nomem(err);
    mortise_table_init(&j->by_name, r->mem);
    mortise_table_init(&j->effects, r->mem);
    return MORTISE_OK;
}

int mortise_step_add(struct mortise_run *r, struct journal *j,
                     struct step_id id, const char *method,
                     const uint8_t *digest, struct step **out,
                     struct mortise_err *err)
{
    struct step *old = mortise_step_find(j, id), *s, **grown;

    *out = NULL;
    grown = mortise_array_grow(r->mem, j->steps, j->n, &j->cap, sizeof *grown);
    if (grown == NULL)
        return mortise_nomem(err);
    j->steps = grown;
    s = *out = alloc_step(r, id, method, digest);
    if (s == NULL)
        return mortise_nomem(err);
    s->index = old != NULL ? old->index : (uint32_t)j->n++;
    assert(s->index < j->n && j->n <= j->cap);
    j->steps[s->index] = s;
    if (old != NULL) {
        assert(!old->has_effect); /* effects are recorded when they are asked */
        mortise_table_remove(&j->by_name, &old->by_name);
        free_step(r, old);
    }
    mortise_table_add(&j->by_name, &s->by_name, hash_step_name(id));
    return MORTISE_OK;
}

bool mortise_step_is_request(const struct step *s)
{
    return s->state == STEP_PENDING;
}

static void free_journal_contents(struct mortise_run *r, struct journal *j)
{
    for (size_t i = 0; i < j->n; i++)
        free_step(r, j->steps[i]);
    mortise_release(r->mem, j->steps, j->cap * sizeof j->steps[0]);
    mortise_table_finish(&j->by_name);
    mortise_table_finish(&j->effects);
    mortise_indexes_finish(r->mem, &j->answers);
    mortise_release(r->mem, j, sizeof *j);
}

/* Most executions have no journal. */
static inline void free_journal(struct mortise_run *r, struct journal **at)
{
    if (*at != NULL)
        free_journal_contents(r, *at);
    *at = NULL;
}

void mortise_step_finish(struct mortise_run *r, struct exec *x)
{
    free_journal(r, &x->journal);
    free_journal(r, &x->checks);
    mortise_json_clear_ref(&x->effects);
    mortise_json_clear_ref(&x->resolved);
}

static int close_step_request(struct mortise_run *r, const struct step *s,
                              struct mortise_err *err)
{
    assert(s->request[0] != '\0');
    if (s->kind == MORTISE_STEP_CHILD) { /* the store tracks its handle
                                            instead */
        assert(r->n_awaited > 0);
        r->n_awaited--;
        return MORTISE_OK;
    }
    return mortise_pending_close(r, s->request, s->deadline_ms,
                                 s->kind == MORTISE_STEP_TIMER, err);
}

/* A request that no longer needs an answer. */
static int withdraw_step_request(struct mortise_run *r, struct exec *x,
                                 struct step *s, struct mortise_err *err)
{
    const struct mortise_entry e = {
        .how = MORTISE_SETTLE_WITHDRAWN, .id = s->request, .actor = ""};
    int rv = MORTISE_OK;

    assert(mortise_step_is_request(s));
    if (s->kind == MORTISE_STEP_QUESTION) {
        assert(r->n_questions > 0);
        r->n_questions--;
        rv = mortise_event_announce_decision(r, x, &e, err);
    }
    return rv == MORTISE_OK ? close_step_request(r, s, err) : rv;
}

/* Keys are hashes already. */
static uint64_t hash_effect_key(const uint8_t key[MORTISE_DIGEST])
{
    uint64_t h;

    memcpy(&h, key, sizeof h);
    return h;
}

json_t *mortise_step_find_effect_answer(const struct exec *x,
                                        const uint8_t key[MORTISE_DIGEST])
{
    char name[MORTISE_DIGEST_HEX];

    mortise_hex_encode(name, key, MORTISE_DIGEST);
    return json_object_get(x->effects, name);
}

/* Completed effects outlive the journal (7). */
static int store_completed_effect(struct exec *x, const struct step *s,
                                  struct mortise_err *err)
{
    char name[MORTISE_DIGEST_HEX];

    assert(s->has_effect && s->state == STEP_ANSWERED);
    if (mortise_step_find_effect_answer(x, s->effect) != NULL)
        return MORTISE_OK; /* answered from an earlier attempt */
    if (x->effects == NULL)
        x->effects = json_object();
    mortise_hex_encode(name, s->effect, MORTISE_DIGEST);
    return json_object_set(x->effects, name, s->answer) == 0
               ? MORTISE_OK
               : mortise_nomem(err);
}

int mortise_step_clear_journal(struct mortise_run *r, struct exec *x,
                               struct mortise_err *err)
{
    struct journal *j = x->journal;
    int rv = MORTISE_OK;

    for (size_t i = 0; j != NULL && rv == MORTISE_OK && i < j->n; i++) {
        struct step *s = j->steps[i];

        if (mortise_step_is_request(s))
            rv = withdraw_step_request(r, x, s, err);
        else if (s->completed)
            rv = store_completed_effect(x, s, err);
    }
    if (rv == MORTISE_OK)
        free_journal(r, &x->journal);
    free_journal(r, &x->checks);
    mortise_usage_clear_repeated(x);
    return rv;
}

/* Reset a request as if it had never been recorded. */
static int reset_request(struct mortise_run *r, struct exec *x, struct step *s,
                         struct mortise_err *err)
{
    struct journal *j = x->journal;
    int rv = withdraw_step_request(r, x, s, err);

    assert(j->recorded > 0 && j->n_inside >= s->inside);
    s->state = STEP_IN_FLIGHT;
    s->request[0] = '\0';
    mortise_json_clear_ref(&s->payload);
    j->recorded--;
    j->n_inside -= s->inside;
    s->inside = false;
    return rv;
}

/* The number of recorded steps that have a place in the order. */
static uint32_t count_ordered_steps(const struct journal *j)
{
    assert(j->recorded >= j->n_inside);
    return (uint32_t)(j->recorded - j->n_inside);
}

int mortise_step_withdraw_requests(struct mortise_run *r, struct exec *x,
                                   struct mortise_err *err)
{
    struct journal *j = x->journal;
    int rv = MORTISE_OK;

    assert(j != NULL); /* a suspended execution has asked something */
    for (size_t i = 0; rv == MORTISE_OK && i < j->n; i++) {
        struct step *s = j->steps[i];

        if (mortise_step_is_request(s))
            rv = reset_request(r, x, s, err);
    }
    return rv;
}

bool mortise_step_is_same_ask(const struct step *s, const char *method,
                              const uint8_t digest[MORTISE_DIGEST])
{
    return strcmp(s->method, method) == 0 &&
           memcmp(s->digest, digest, sizeof s->digest) == 0;
}

/* The number of equal effects that were asked for before.  A step with a key is
 * never equal to another.  A tool's key only shows the place where a model
 * asked for it, not the effect, so tools are compared. */
static uint64_t count_equal_effects(struct journal *j, struct step *s)
{
    uint64_t hash = hash_effect_key(s->digest);
    struct mortise_table_entry *e = mortise_table_find(&j->effects, hash);

    assert(s->has_effect && s->n_equal_effects == 0); /* counted only once */
    if (s->key[0] != '\0' && s->kind != MORTISE_STEP_TOOL)
        return 0;
    for (; e != NULL; e = mortise_table_find_next(e)) {
        struct step *first = MORTISE_CONTAINER_OF(e, struct step, effect_links);

        if (mortise_step_is_same_ask(first, s->method, s->digest))
            return first->n_equal_effects++;
    }
    s->n_equal_effects = 1;
    mortise_table_add(&j->effects, &s->effect_links, hash);
    return 0;
}

void mortise_step_become_effect(const struct mortise_run *r,
                                const struct exec *x, struct step *s)
{
    uint64_t occurrence;
    struct mortise_hasher h;

    assert(x->journal != NULL && x->journal->steps[s->index] == s);
    if (s->has_effect)
        return;
    s->has_effect = true;
    occurrence = count_equal_effects(x->journal, s);
    mortise_exec_begin_effect_hash(&h, r, x);
    mortise_hasher_add_str(&h, mortise_exec_node(r, x)->plugin);
    mortise_hasher_add_str(&h, mortise_exec_node(r, x)->operation);
    mortise_hasher_add_str(&h, s->method);
    mortise_hasher_add_field(&h, s->digest, sizeof s->digest);
    mortise_hasher_add_str(&h, s->kind != MORTISE_STEP_TOOL ? s->key : "");
    mortise_hasher_add_u64(&h, occurrence);
    mortise_hasher_final(&h, s->effect);
}

static const struct step *find_open_effect(const struct exec *x,
                                           uint64_t synced)
{
    const struct journal *j = x->journal;

    for (size_t i = 0; j != NULL && i < j->n; i++) {
        if (j->steps[i]->state == STEP_OPEN &&
            j->steps[i]->kind == MORTISE_STEP_EFFECT && !j->steps[i]->cleared &&
            j->steps[i]->seq <= synced)
            return j->steps[i];
    }
    return NULL;
}

void mortise_step_clear_doubts(const struct exec *x)
{
    const struct journal *j = x->journal;

    for (size_t i = 0; j != NULL && i < j->n; i++)
        j->steps[i]->cleared |= j->steps[i]->state == STEP_OPEN;
}

const struct step *mortise_step_find_in_doubt(const struct mortise_run *r,
                                              const struct exec *x)
{
    return find_open_effect(x, r->synced);
}

bool mortise_step_has_open_effect(const struct exec *x)
{
    return find_open_effect(x, UINT64_MAX) != NULL;
}

bool mortise_step_has_kept_journal(const struct exec *x)
{
    return !x->effect_open && x->evidence_has_entry &&
           json_object_get(x->told, "step") != NULL &&
           mortise_step_has_open_effect(x);
}

bool mortise_step_has_answered_request(const struct exec *x)
{
    const struct journal *j = x->journal;

    for (size_t i = 0; j != NULL && i < j->n; i++) {
        if (j->steps[i]->request[0] != '\0' &&
            j->steps[i]->state == STEP_ANSWERED)
            return true;
    }
    return false;
}

struct step *mortise_step_find_by_request(const struct exec *x, const char *id)
{
    const struct journal *j = x->journal;

    for (size_t i = 0; j != NULL && i < j->n; i++) {
        if (mortise_step_is_request(j->steps[i]) &&
            strcmp(j->steps[i]->request, id) == 0)
            return j->steps[i];
    }
    return NULL;
}

static bool is_journaled_kind(uint8_t how)
{
    return how == MORTISE_STEP_EFFECT || how == MORTISE_STEP_QUESTION ||
           how == MORTISE_STEP_TIMER || how == MORTISE_STEP_REPEAT ||
           how == MORTISE_STEP_INNER || how == MORTISE_STEP_CHILD;
}

/* The step of an entry, created if it is unknown or not recorded. */
static int find_entry_step(struct mortise_run *r, struct exec *x,
                           const struct mortise_entry *e, struct step **out,
                           struct mortise_err *err)
{
    struct step_id id = {e->ordinal, e->key};
    struct journal *j;
    int rv =
        mortise_step_get_journal(r, x, mortise_step_is_of_check(id), &j, err);
    bool is_like;

    if (rv != MORTISE_OK)
        return rv;
    *out = mortise_step_find(j, id);
    is_like =
        *out != NULL && mortise_step_is_same_ask(*out, e->method, e->digest);
    if (e->generation != x->generation || e->method[0] == '\0' ||
        !is_valid_step_name(id) || (*out == NULL && j->n >= STEPS_MAX) ||
        (*out != NULL && (*out)->state != STEP_IN_FLIGHT && !is_like))
        return mortise_entry_corrupt(err, e);
    if (!is_like)
        rv = mortise_step_add(r, j, id, e->method, e->digest, out, err);
    if (rv == MORTISE_OK && (*out)->state == STEP_IN_FLIGHT)
        j->recorded++;
    return rv;
}

static int apply_request(struct mortise_run *r, struct exec *x, struct step *s,
                         const struct mortise_entry *e, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    if (strlen(e->id) != REQUEST_ID - 1 || !json_is_object(e->value) ||
        s->state != STEP_IN_FLIGHT)
        return mortise_entry_corrupt(err, e);
    memcpy(s->request, e->id, REQUEST_ID);
    s->deadline_ms = e->at_ms;
    s->lasts_ms = (uint64_t)json_integer_value(
        s->kind == MORTISE_STEP_TIMER ? json_object_get(e->value, "for_ms")
                                      : NULL);
    mortise_json_set_ref(&s->payload, e->value);
    s->state = STEP_PENDING;
    if (s->kind == MORTISE_STEP_QUESTION) {
        r->n_questions++;
        rv = mortise_event_announce_request(r, x, s->request, s->payload, err);
    }
    if (rv != MORTISE_OK)
        return rv;
    if (s->kind == MORTISE_STEP_CHILD) {
        r->n_awaited++;
        return MORTISE_OK;
    }
    return mortise_pending_open(
        r, s->request, s->deadline_ms,
        s->kind == MORTISE_STEP_TIMER ? NULL : s->payload, err);
}

enum mortise_phase mortise_step_get_phase(const struct mortise_entry *e)
{
    return e->how == MORTISE_STEP_EFFECT ? MORTISE_PHASE_BEFORE
                                         : MORTISE_PHASE_INTERRUPT;
}

int mortise_apply_step(struct mortise_run *r, struct exec *x,
                       const struct mortise_entry *e, struct mortise_err *err)
{
    struct step *s;
    bool fits = is_journaled_kind(e->how) &&
                !mortise_step_is_of_check((struct step_id){e->ordinal, e->key});
    int rv = fits ? find_entry_step(r, x, e, &s, err)
                  : mortise_entry_corrupt(err, e);

    if (rv != MORTISE_OK)
        return rv;
    s->inside = e->how == MORTISE_STEP_INNER;
    x->journal->n_inside += s->inside;
    s->kind =
        s->inside ? MORTISE_STEP_QUESTION : (enum mortise_step_kind)e->how;
    if (s->kind == MORTISE_STEP_QUESTION || s->kind == MORTISE_STEP_TIMER ||
        s->kind == MORTISE_STEP_CHILD)
        return apply_request(r, x, s, e, err);
    if (s->state != STEP_IN_FLIGHT && !(s->state == STEP_OPEN && s->cleared))
        return mortise_entry_corrupt(err, e);
    s->state = STEP_OPEN;
    s->cleared = false;
    mortise_doubt_remove_unclear(r, s);
    mortise_json_set_ref(&s->payload, e->value);
    mortise_step_become_effect(r, x, s);
    return MORTISE_OK;
}

/* The step is answered: it is the next in the order of (5). */
static int set_step_answer(struct mortise_run *r, struct journal *j,
                           struct step *s, int32_t status, json_t *value,
                           uint32_t after, struct mortise_err *err)
{
    /* a step is answered only once */
    assert(s->state != STEP_ANSWERED && j->answers.n < j->n);
    if (mortise_indexes_add(r->mem, &j->answers, s->index, err) != MORTISE_OK)
        return MORTISE_ENOMEM;
    s->state = STEP_ANSWERED;
    s->status = status;
    s->after = after;
    s->settled = j->entrance;
    mortise_json_set_ref(&s->answer, value);
    mortise_json_clear_ref(&s->payload);
    mortise_doubt_remove_unclear(r, s);
    return MORTISE_OK;
}

int mortise_apply_answer(struct mortise_run *r, struct exec *x,
                         const struct mortise_entry *e, struct mortise_err *err)
{
    const struct step_id id = {e->ordinal, e->key};
    struct step *s;
    int rv = find_entry_step(r, x, e, &s, err);

    if (rv != MORTISE_OK)
        return rv;
    if ((s->state != STEP_IN_FLIGHT && s->state != STEP_OPEN) ||
        e->value == NULL)
        return mortise_entry_corrupt(err, e);
    if ((mortise_step_is_of_check(id) && (e->how & ~ANSWER_MODEL) != 0) ||
        e->how > ANSWER_ALL)
        return mortise_entry_corrupt(err, e);
    if (e->how & ANSWER_UNDONE) {
        if (s->state != STEP_OPEN || e->how != ANSWER_UNDONE)
            return mortise_entry_corrupt(err, e);
        s->cleared = true;
        return MORTISE_OK;
    }
    if (e->how & ANSWER_INSIDE) { /* not for a check, which has at most one
                                     flag */
        s->inside = true;
        x->journal->n_inside++;
    }
    s->completed = (e->how & ANSWER_COMPLETED) != 0;
    if (s->completed) {
        s->kind =
            e->how & ANSWER_TOOL ? MORTISE_STEP_TOOL : MORTISE_STEP_EFFECT;
        mortise_step_become_effect(r, x, s);
    }
    if (e->how & ANSWER_SPENT)
        rv = mortise_usage_add_step(r, x, e, err);
    if (e->how & ANSWER_TOOK_MESSAGES)
        mortise_inbox_remove(
            r, x, json_array_size(json_object_get(e->value, "told")));
    if (rv == MORTISE_OK && e->how & ANSWER_MODEL) {
        if (!mortise_step_is_of_check(id))
            x->journal->has_reply = true;
        rv = mortise_prompt_announce_answer(r, x, e, err);
    }
    if (rv == MORTISE_OK && e->how & ANSWER_TOOL)
        rv = mortise_prompt_announce_untooled(r, x, e, err);
    if (rv == MORTISE_OK)
        rv = mortise_child_announce_change(r, x, s, e, err);
    if (rv != MORTISE_OK)
        return rv;
    return set_step_answer(
        r, mortise_step_is_of_check(id) ? x->checks : x->journal, s, e->status,
        e->value, e->after, err);
}

/* Answer the asker of a request. */
static int answer_request_step(struct mortise_run *r, struct exec *x,
                               struct step *s, const struct mortise_entry *e,
                               struct mortise_err *err)
{
    struct journal *j = x->journal;
    bool late =
        s->kind == MORTISE_STEP_QUESTION && e->how == MORTISE_SETTLE_EXPIRED;
    json_t *value = late               ? json_string("no answer in time")
                    : e->value != NULL ? json_incref(e->value)
                                       : json_null();
    int rv =
        value != NULL
            ? set_step_answer(r, j, s, late ? MORTISE_S_TIMEOUT : MORTISE_S_OK,
                              value, count_ordered_steps(j), err)
            : mortise_nomem(err);

    json_decref(value);
    return rv;
}

int mortise_apply_settle_step(struct mortise_run *r, struct exec *x,
                              const struct mortise_entry *e,
                              struct mortise_err *err)
{
    struct step *s = mortise_step_find_by_request(x, e->id);
    int rv = MORTISE_OK;

    if (s == NULL ||
        (e->how != MORTISE_SETTLE_ANSWERED && e->how != MORTISE_SETTLE_EXPIRED))
        return mortise_entry_corrupt(err, e);
    if (s->kind == MORTISE_STEP_QUESTION)
        rv = mortise_event_announce_decision(r, x, e, err);
    else if (s->kind == MORTISE_STEP_CHILD)
        rv = mortise_child_announce_end(r, x, s, e, err);
    if (rv == MORTISE_OK)
        rv = close_step_request(r, s, err);
    if (rv != MORTISE_OK)
        return rv;
    assert(s->kind != MORTISE_STEP_QUESTION || r->n_questions > 0);
    r->n_questions -= s->kind == MORTISE_STEP_QUESTION;
    rv = answer_request_step(r, x, s, e, err);
    return rv == MORTISE_OK && x->state == X_SUSPENDED
               ? mortise_exec_make_ready(r, x, err)
               : rv;
}

int mortise_apply_let_go(struct mortise_run *r, struct exec *x,
                         const struct mortise_entry *e, struct mortise_err *err)
{
    if (x->journal == NULL)
        return mortise_entry_corrupt(err, e);
    mortise_exec_set_effect_open(x, false); /* it suspended by itself */
    mortise_doubt_remove_evidence(x);
    if (e->how != 0)
        return mortise_exec_make_ready(r, x, err);
    mortise_exec_set_state(r, x, X_SUSPENDED);
    return MORTISE_OK;
}

/* ---- tools --------------------------------------------------------------- */

int mortise_step_begin_tool(struct mortise_run *r, struct exec *x,
                            const struct mortise_entry *e, bool effect,
                            struct step **out, struct mortise_err *err)
{
    int rv = mortise_step_is_of_check((struct step_id){e->ordinal, e->key})
                 ? mortise_entry_corrupt(err, e)
                 : find_entry_step(r, x, e, out, err);

    if (rv != MORTISE_OK)
        return rv;
    if ((*out)->state != STEP_IN_FLIGHT)
        return mortise_entry_corrupt(err, e);
    (*out)->kind = MORTISE_STEP_TOOL;
    (*out)->state = STEP_OPEN;
    mortise_json_set_ref(&(*out)->payload, e->value);
    if (effect)
        mortise_step_become_effect(r, x, *out);
    return MORTISE_OK;
}

void mortise_step_set_tool_exec(struct step *s, const struct exec *tool)
{
    s->exec = tool->index;
}

struct step *mortise_step_find_served(const struct exec *tool)
{
    const struct exec *owner = tool->frame->top->scope->owner;
    struct journal *j = owner->journal;
    struct step *s;

    if (tool->serves == 0 || j == NULL || tool->serves > j->n)
        return NULL;
    s = j->steps[tool->serves - 1];
    return s->kind == MORTISE_STEP_TOOL && s->state == STEP_OPEN &&
                   s->exec == tool->index
               ? s
               : NULL;
}

int mortise_step_end_tool(struct mortise_run *r, struct exec *x, struct step *s,
                          json_t *value, bool completed,
                          struct mortise_err *err)
{
    int rv = set_step_answer(r, x->journal, s, MORTISE_S_OK, value,
                             x->journal->recorded, err);

    s->completed = completed && s->has_effect;
    return rv;
}

void mortise_step_reopen_tool(struct exec *x, struct step *s)
{
    assert(s->state == STEP_OPEN && x->journal->recorded > 0);
    s->state = STEP_IN_FLIGHT;
    x->journal->recorded--;
}

json_t *mortise_step_make_name(const struct step *s)
{
    return s->key[0] != '\0' ? json_string(s->key) : json_integer(s->ordinal);
}

static struct step *find_step_by_json_name(const struct exec *x,
                                           const json_t *name)
{
    struct step_id id = {MORTISE_STEP_UNORDERED, ""};

    if (json_is_string(name))
        id.key = json_string_value(name);
    else if (json_is_integer(name))
        id.ordinal = (uint32_t)json_integer_value(name);
    return mortise_step_find(x->journal, id);
}

/* Withdraw the questions that were asked inside a step that is now settled. */
static int withdraw_inside_questions(struct mortise_run *r, struct exec *x,
                                     struct mortise_err *err)
{
    struct journal *j = x->journal;
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < j->n; i++)
        if (j->steps[i]->inside && j->steps[i]->state == STEP_PENDING)
            rv = reset_request(r, x, j->steps[i], err);
    return rv;
}

/* A person resolved the step, and may correct that later. */
static int note_resolved_step(struct exec *x, const struct step *s,
                              const struct mortise_entry *e,
                              struct mortise_err *err)
{
    char key[MORTISE_DIGEST_HEX];

    assert(s->has_effect);
    if (!mortise_utf8_is_valid(s->method, strlen(s->method)))
        return mortise_entry_corrupt(err, e);
    mortise_hex_encode(key, s->effect, MORTISE_DIGEST);
    if (x->resolved == NULL)
        x->resolved = json_object();
    return json_object_set_new(
               x->resolved, e->id,
               json_pack("{s:s, s:s}", "key", key, "method", s->method)) == 0
               ? MORTISE_OK
               : mortise_nomem(err);
}

int mortise_step_apply_resolution(struct mortise_run *r, struct exec *x,
                                  const json_t *name,
                                  const struct mortise_entry *e,
                                  struct mortise_err *err)
{
    struct step *s = find_step_by_json_name(x, name);
    int rv;

    if (s == NULL || s->state != STEP_OPEN)
        return mortise_entry_corrupt(err, e);
    if (e->how == MORTISE_SETTLE_RETRY) {
        s->cleared = true;
        return MORTISE_OK;
    }
    if (e->how != MORTISE_SETTLE_HAPPENED)
        return MORTISE_OK;
    s->completed = true;
    rv = set_step_answer(r, x->journal, s, MORTISE_S_OK,
                         e->value != NULL ? e->value : json_null(),
                         count_ordered_steps(x->journal), err);
    if (rv == MORTISE_OK)
        rv = note_resolved_step(x, s, e, err);
    return rv == MORTISE_OK ? withdraw_inside_questions(r, x, err) : rv;
}

/* The effect with that key, if its answer is the newest entry in the journal of
 * x: no other entry depends on it. */
static struct step *find_newest_effect(const struct exec *x, const char *key)
{
    const struct journal *j = x->journal;
    char its[MORTISE_DIGEST_HEX];
    struct step *s;

    if (j == NULL || j->answers.n == 0)
        return NULL;
    for (size_t i = 0; i < j->n; i++)
        if (j->steps[i]->state == STEP_OPEN ||
            j->steps[i]->state == STEP_PENDING)
            return NULL;
    s = j->steps[j->answers.list[j->answers.n - 1]];
    mortise_hex_encode(its, s->effect, MORTISE_DIGEST);
    return s->has_effect && strcmp(its, key) == 0 ? s : NULL;
}

const char *mortise_step_get_correctable(const struct mortise_run *r,
                                         const struct exec *x, const char *id)
{
    const json_t *what = json_object_get(x->resolved, id);
    const char *key = json_string_value(json_object_get(what, "key"));

    if (key == NULL || r->live)
        return NULL;
    if (x->state == X_FAILED
            ? x->handled || json_object_get(x->effects, key) == NULL
            : x->state != X_READY || find_newest_effect(x, key) == NULL)
        return NULL;
    return json_string_value(json_object_get(what, "method"));
}

int mortise_apply_correct(struct mortise_run *r, struct exec *x,
                          const struct mortise_entry *e,
                          struct mortise_err *err)
{
    const char *key = json_string_value(
        json_object_get(json_object_get(x->resolved, e->id), "key"));
    struct mortise_entry settled = *e;
    struct step *s = key != NULL ? find_newest_effect(x, key) : NULL;
    int rv;

    if (key == NULL || e->value == NULL ||
        (s == NULL && json_object_get(x->effects, key) == NULL))
        return mortise_entry_corrupt(err, e);
    settled.how = MORTISE_SETTLE_HAPPENED;
    rv = mortise_event_announce_decision(r, x, &settled, err);
    if (rv != MORTISE_OK)
        return rv;
    if (s != NULL)
        mortise_json_set_ref(&s->answer, e->value);
    else if (json_object_set(x->effects, key, e->value) != 0)
        return mortise_nomem(err);
    return mortise_settled_add(r, &settled, err);
}
