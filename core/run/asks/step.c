/* step.c -- steps: the asks of a call, their journal, and its replay.
 *
 * An executor that does several things must not start over when the third one
 * is interrupted.  So each of its asks is a step.  A step is named by its
 * ordinal, or by a key that the asker gave, and the journal has its method, a
 * digest of its arguments and its answer.  An execution that is re-entered,
 * after a crash or a suspension, makes the same asks again.  It receives the
 * recorded answers and so reaches the first ask without an answer.
 *
 *   (1) A question about the world (READ, LOOK) is performed at once and its
 *       answer recorded.  A LOOK (state.get) is recorded with the next commit:
 *       until something depends on the answer, it may as well be read again.
 *   (2) An EFFECT is performed after its intent is synced.  Commits are in
 *       order, so its answer is recorded before, or together with, everything
 *       that depends on it.  Between intent and answer it is in doubt
 *       (doubt.c), unless the call was stopped before the intent was synced:
 *       then the effect did not start, and that is recorded when the call has
 *       ended.
 *   (3) A PUT is its own answer, and both are in one commit with the written
 *       value: it is never in doubt.  The asker receives the answer after the
 *       sync.  A change of a spawn handle is put in the same way: it is decided
 *       before the ask arrives here, and this commit makes the change or
 *       nothing does.  A GET is a READ that waits until all puts of its run are
 *       synced; so it sees those, and the synced puts of other runs.
 *   (4) A QUESTION and a TIMER are answered later, by a person or by time; a
 *       CHILD is answered by the end of a child run, which the engine reports.
 *       The asker receives MORTISE_S_SUSPENDED, suspends, and is re-entered.
 *       After that answer it makes no more asks in this entrance.  So an answer
 *       that follows a later ask in the journal cannot be sent either; its
 *       asker receives MORTISE_S_SUSPENDED, too.  Alternatively the asker stays
 *       (`holds`): in the middle of something that would be lost, or as long as
 *       no other call needs its slot.  Then it receives the answer once that is
 *       synced, and the wait does not count for its timeout.  An ask inside a
 *       step that a plugin performs itself (a question, or a model) is part of
 *       that step: once the step is answered, it is not asked again, so it has
 *       no place in the order.
 *   (5) Recorded answers are sent in the order in which they were recorded,
 *       each after the number of asks that preceded it then; live answers
 *       follow them.
 *   (6) A step with another method or other arguments than recorded, or a
 *       success that left recorded steps unasked, violates the only rule for
 *       executors: the node fails with the code `determinism`.
 *   (7) A new attempt or generation starts with an empty journal.  Completed
 *       effects are kept: an effect that is asked for again, with the same
 *       operation, method, arguments and occurrence, is answered from the
 *       record.  A PUT is made again: other puts may have followed the first.
 *   (8) If the answer to an EFFECT is unclear about whether it happened, it is
 *       not recorded: the asker suspends as in (4), and doubt.c settles the
 *       doubt.  A REPEAT is an effect that can be repeated without harm (PUT):
 *       the same, but never in doubt.
 *   (9) A guardrail can only read: it has no effects, puts nothing, and waits
 *       for nothing.  Its answers are recorded like an executor's, in a journal
 *       of their own (x->checks), under the identity of the check: its stage,
 *       its position there and a digest of the checked value.  So a check that
 *       is repeated after a crash receives the same answers, and a check of
 *       another value asks anew.
 *  (10) A TOOL is run by an execution of its own (flow/tools.c); the entry that
 *       ends this execution answers the step.  While all of the tool only
 *       waits, its asker suspends as in (4).  A tool that completed in an
 *       earlier attempt or generation is answered from the record, as in (7):
 *       for the same tool, arguments and occurrence, wherever a model asks for
 *       it.  A tool that failed or was stopped there continues, by
 *       flow/tools.c (9).
 *  (11) An ask of a model is a READ that costs money.  It is made after
 *       everything that was recorded before is synced; so after a crash, only
 *       the ask that was in flight is paid for twice.  If a budget limits it,
 *       it also needs room for its cost, which is reserved (prompt.c).
 *
 * The asks of a reconciliation, and those of the memory or discovery of the
 * deployment, are part of that one call: they can only read, and nothing of
 * them is recorded.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "mortise/plugin.h"
#include "core/run/asks/asks.h"

enum {
    NEAR_MS = 60000, /* a wait this short keeps the run in memory */
    KEY_MAX = 129    /* of a key that an asker gave, with a NUL */
};

#define NO_STEP 0xFFFFFFFFu

/* The journal for the asks of the call of x. */
static struct journal *get_call_journal(const struct exec *x)
{
    return mortise_call_is_check_or_helper(x->call) ? x->checks : x->journal;
}

/* Was s asked by the current call, or by an earlier call of the same kind? */
static bool is_in_call_scope(const struct journal *j, const struct step *s)
{
    return strncmp(s->key, j->scope, strlen(j->scope)) == 0;
}

/* Is its answer sent in the recorded order? */
static bool is_step_in_order(const struct journal *j, const struct step *s)
{
    return is_in_call_scope(j, s) && !s->inside;
}

/* The next answer to send; NULL: there is none yet. */
static struct step *find_next_answer(struct journal *j)
{
    while (j->told < j->answers.n &&
           !is_step_in_order(j, j->steps[j->answers.list[j->told]]))
        j->told++;
    return j->told < j->answers.n ? j->steps[j->answers.list[j->told]] : NULL;
}

/* ---- actions ------------------------------------------------------------- */

/* `value`: borrowed; an error message if `status` is no success. */
static int reply(struct mortise_run *r, uint64_t ask, int32_t status,
                 json_t *value, struct mortise_err *err)
{
    struct mortise_action *a = mortise_action_new(r, MORTISE_ACT_REPLY, err);

    if (a == NULL)
        return MORTISE_ENOMEM;
    a->u.reply.ask = ask;
    a->u.reply.status = status;
    a->u.reply.value = json_incref(value);
    return MORTISE_OK;
}

static int send_error_reply(struct mortise_run *r, uint64_t ask, int32_t status,
                            const char *words, struct mortise_err *err)
{
    json_t *text = json_string(words);
    int rv =
        text != NULL ? reply(r, ask, status, text, err) : mortise_nomem(err);

    json_decref(text);
    return rv;
}

static int perform(struct mortise_run *r, uint64_t ask, uint32_t step,
                   const uint8_t *key, struct mortise_err *err)
{
    struct mortise_action *a = mortise_action_new(r, MORTISE_ACT_PERFORM, err);

    if (a == NULL)
        return MORTISE_ENOMEM;
    a->u.perform.ask = ask;
    a->u.perform.step = step;
    if (key != NULL)
        mortise_hex_encode(a->u.perform.key, key, MORTISE_DIGEST);
    return MORTISE_OK;
}

/* Perform an effect, after its intent was synced. */
static int perform_effect(struct mortise_run *r, struct step *s,
                          struct mortise_err *err)
{
    s->made = true;
    return perform(r, s->ask, s->index, s->effect, err);
}

/* Send the answers of steps that have no place in the order (`inside`). */
static int send_inside_answers(struct mortise_run *r, struct journal *j,
                               struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < j->answers.n; i++) {
        struct step *s = j->steps[j->answers.list[i]];

        if (!s->inside || s->ask == 0 || s->entrance != j->entrance ||
            s->seq > r->synced)
            continue;
        rv = reply(r, s->ask, s->status, s->answer, err);
        s->ask = 0;
    }
    return rv;
}

/* The call must suspend, and ask again when it is re-entered. */
static int send_suspend_reply(struct mortise_run *r, struct journal *j,
                              uint64_t ask, const char *words,
                              struct mortise_err *err)
{
    j->leaves = true;
    return send_error_reply(r, ask, MORTISE_S_SUSPENDED, words, err);
}

static int suspend_asker(struct mortise_run *r, struct journal *j,
                         struct step *s, struct mortise_err *err)
{
    uint64_t ask = s->ask;

    s->ask = 0;
    s->later = true;
    return send_suspend_reply(r, j, ask, "the answer is not available yet",
                              err);
}

/* Suspend the asks of a call that asks nothing more (4): an answer that follows
 * an ask which this entrance did not make cannot be sent. */
static int suspend_blocked_askers(struct mortise_run *r, struct journal *j,
                                  struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = j->told; rv == MORTISE_OK && i < j->answers.n; i++) {
        struct step *s = j->steps[j->answers.list[i]];

        if (is_step_in_order(j, s) && s->entrance == j->entrance && s->ask != 0)
            rv = suspend_asker(r, j, s, err);
    }
    return rv;
}

/* Send the answers that can be sent (5). */
static int send_ready_answers(struct mortise_run *r, struct journal *j,
                              struct mortise_err *err)
{
    bool blocked = false;
    struct step *s;
    int rv = MORTISE_OK;

    while (rv == MORTISE_OK && (s = find_next_answer(j)) != NULL) {
        blocked = s->entrance != j->entrance || s->after > j->issued;
        if (blocked || s->seq > r->synced)
            break;
        assert(s->state == STEP_ANSWERED);
        j->told++;
        if (s->ask != 0)
            rv = reply(r, s->ask, s->status, s->answer, err);
        s->ask = 0;
    }
    if (rv == MORTISE_OK && blocked && j->leaves)
        rv = suspend_blocked_askers(r, j, err);
    return rv == MORTISE_OK && j->n_inside > 0 ? send_inside_answers(r, j, err)
                                               : rv;
}

/* ---- recording ---------------------------------------------------------- */

static struct mortise_entry make_step_entry(const struct mortise_run *r,
                                            const struct exec *x,
                                            const struct step *s,
                                            enum mortise_entry_type type)
{
    struct mortise_entry e = mortise_exec_make_entry(r, x, type);

    e.ordinal = s->ordinal;
    e.key = s->key;
    e.method = s->method;
    memcpy(e.digest, s->digest, sizeof e.digest);
    return e;
}

/* Let a step wait until a commit is synced.  `seq` is the current commit or the
 * previous one, so the list stays sorted. */
static int wait_for_commit(struct mortise_run *r, const struct exec *x,
                           struct step *s, uint64_t seq,
                           struct mortise_err *err)
{
    struct step_wait *grown =
        mortise_array_grow(r->mem, r->step_waits, r->n_step_waits,
                           &r->cap_step_waits, sizeof *grown);

    if (grown == NULL)
        return mortise_nomem(err);
    r->step_waits = grown;
    assert(r->n_step_waits == 0 || grown[r->n_step_waits - 1].seq <= seq);
    s->seq = seq;
    r->step_waits[r->n_step_waits++] = (struct step_wait){
        seq, x->index, s->index, mortise_call_is_check_or_helper(x->call)};
    return MORTISE_OK;
}

static int wait_for_this_commit(struct mortise_run *r, const struct exec *x,
                                struct step *s, struct mortise_err *err)
{
    return wait_for_commit(r, x, s, r->seq + 1, err);
}

static bool has_received_messages(const json_t *answer)
{
    return json_array_size(json_object_get(answer, "told")) > 0;
}

/* Takes the value (NULL: out of memory). */
static int record_step_answer(struct mortise_run *r, struct exec *x,
                              struct step *s, int32_t status, json_t *value,
                              bool completed, struct mortise_err *err)
{
    struct mortise_entry e = make_step_entry(r, x, s, MORTISE_E_ANSWER);

    e.status = status;
    /* a step is answered only once */
    assert(s->state == STEP_IN_FLIGHT || s->state == STEP_OPEN);
    e.after = get_call_journal(x)->issued;
    e.how = (uint8_t)((completed ? ANSWER_COMPLETED : 0) |
                      (s->spends ? ANSWER_SPENT : 0) |
                      (s->spends && has_received_messages(value)
                           ? ANSWER_TOOK_MESSAGES
                           : 0) |
                      (s->kind == MORTISE_STEP_TOOL ? ANSWER_TOOL : 0) |
                      (s->of_model ? ANSWER_MODEL : 0) |
                      (s->inside ? ANSWER_INSIDE : 0));
    e.looked = s->kind == MORTISE_STEP_CHEAP_READ;
    return mortise_run_record_value(r, &e, value, err);
}

/* ---- checks (9) --------------------------------------------------------- */

/* Set the prefix of the keys of this check's steps: a hash of its position and
 * of the checked value; for another call aside, of the kind of call. */
static int set_check_scope(struct mortise_run *r, struct exec *x,
                           struct mortise_err *err)
{
    const bool check = x->call == MORTISE_RUN_CHECK;
    uint8_t digest[MORTISE_DIGEST] = {0};
    struct mortise_hasher h;

    if (check && mortise_json_digest(digest, x->subject, r->mem) != MORTISE_OK)
        return mortise_nomem(err);
    assert(mortise_call_is_check_or_helper(x->call) && x->checks != NULL);
    mortise_hasher_init(&h);
    mortise_hasher_add_u64(&h, check
                                   ? (uint64_t)x->stage
                                   : MORTISE_GUARD_STAGES + (uint64_t)x->call);
    mortise_hasher_add_u64(&h, check ? x->turn : 0);
    mortise_hasher_add_u64(&h, check ? x->guard : 0);
    mortise_hasher_add_u64(&h,
                           check && x->stage == MORTISE_GUARD_EDGE ? x->at : 0);
    mortise_hasher_add_field(&h, digest, sizeof digest);
    mortise_hasher_final(&h, digest);
    mortise_hex_encode(x->checks->scope, digest, sizeof digest);
    return MORTISE_OK;
}

/* The journal for the current ask, created if necessary. */
static int get_or_make_journal(struct mortise_run *r, struct exec *x,
                               struct journal **out, struct mortise_err *err)
{
    bool of_check = mortise_call_is_check_or_helper(x->call);
    bool is_new = get_call_journal(x) == NULL;
    int rv = mortise_step_get_journal(r, x, of_check, out, err);

    return rv == MORTISE_OK && is_new && of_check ? set_check_scope(r, x, err)
                                                  : rv;
}

/* ---- the first ask ------------------------------------------------------- */

/* Record the intent of an effect. */
static int record_effect_intent(struct mortise_run *r, struct exec *x,
                                struct step *s, const struct mortise_ask_in *in,
                                struct mortise_err *err)
{
    struct mortise_entry e = make_step_entry(r, x, s, MORTISE_E_STEP);
    int rv;

    assert(s->has_effect); /* the key is known before the intent is recorded */
    e.how = (uint8_t)s->kind;
    e.value = in->body;
    s->made = false;
    rv = mortise_run_record(r, &e, err);
    return rv != MORTISE_OK ? rv : wait_for_this_commit(r, x, s, err);
}

static int ask_effect(struct mortise_run *r, struct exec *x, struct step *s,
                      const struct mortise_ask_in *in, struct mortise_err *err)
{
    json_t *known;

    if (mortise_exec_node(r, x)->effect < MORTISE_WRITE) {
        s->kind = MORTISE_STEP_READ;
        return perform(r, in->ask, s->index, NULL, err);
    }
    mortise_step_become_effect(r, x, s);
    known = mortise_step_find_effect_answer(x, s->effect);
    if (known != NULL)
        return record_step_answer(r, x, s, MORTISE_S_OK, json_incref(known),
                                  true, err);
    return record_effect_intent(r, x, s, in, err);
}

/* (3) */
static int ask_get(struct mortise_run *r, struct exec *x, struct step *s,
                   const struct mortise_ask_in *in, struct mortise_err *err)
{
    if (r->put_seq > r->synced)
        return wait_for_commit(r, x, s, r->seq, err);
    return perform(r, in->ask, s->index, NULL, err);
}

static int add_kv_to_commit(struct mortise_run *r, const char *plugin,
                            const json_t *body, struct mortise_err *err)
{
    struct mortise_run_kv *grown = mortise_array_grow(
        r->mem, r->kept.kvs, r->kept.n_kvs, &r->kept.cap_kvs, sizeof *grown);

    if (grown == NULL)
        return mortise_nomem(err);
    r->kept.kvs = grown;
    r->kept.kvs[r->kept.n_kvs++] = (struct mortise_run_kv){
        plugin, json_incref(json_object_get(body, "key")),
        json_incref(json_object_get(body, "value"))};
    r->put_seq = r->seq + 1;
    return MORTISE_OK;
}

int mortise_run_add_spawn_change(struct mortise_run *r,
                                 const struct mortise_spawn_change *change,
                                 struct mortise_err *err)
{
    const struct mortise_spawn_change **grown =
        mortise_array_grow(r->mem, r->kept.spawns, r->kept.n_spawns,
                           &r->kept.cap_spawns, sizeof *grown);

    if (grown == NULL)
        return mortise_nomem(err);
    r->kept.spawns = grown;
    r->kept.spawns[r->kept.n_spawns++] = change;
    return MORTISE_OK;
}

static int ask_put(struct mortise_run *r, struct exec *x, struct step *s,
                   const struct mortise_ask_in *in, struct mortise_err *err)
{
    json_t *answer =
        in->decided != NULL ? json_incref(in->decided) : json_null();
    int rv = MORTISE_OK;

    if (in->refused != NULL) { /* recorded, so that a replay is denied, too */
        json_decref(answer);
        return record_step_answer(r, x, s, MORTISE_S_DENIED,
                                  json_string(in->refused), false, err);
    }
    if (in->decided == NULL)
        rv =
            add_kv_to_commit(r, mortise_exec_node(r, x)->plugin, in->body, err);
    else if (in->spawn != NULL)
        rv = mortise_run_add_spawn_change(r, in->spawn, err);
    if (rv == MORTISE_OK && in->spawn != NULL)
        rv = mortise_tree_create(r, err);
    if (rv == MORTISE_OK)
        rv = wait_for_this_commit(r, x, s, err);
    if (rv == MORTISE_OK)
        return record_step_answer(r, x, s, MORTISE_S_OK, answer, false, err);
    json_decref(answer);
    return rv;
}

const char *mortise_step_kind_name(const struct step *s)
{
    return s->kind == MORTISE_STEP_TIMER   ? "timer"
           : s->kind == MORTISE_STEP_CHILD ? "spawn"
                                           : "custom";
}

/* The request for people: {id, kind, node, path, ...}.  A timer with a duration
 * has for_ms. */
static json_t *build_request_payload(const struct mortise_run *r,
                                     const struct exec *x, const struct step *s,
                                     const json_t *body, const char *id)
{
    static const char *const asked[] = {"prompt", "payload", "schema",
                                        "assignees", NULL};
    static const char *const waits[] = {"for_ms", NULL};
    static const char *const awaits[] = {"handle", "child", NULL};
    const char *const *members = s->kind == MORTISE_STEP_TIMER   ? waits
                                 : s->kind == MORTISE_STEP_CHILD ? awaits
                                                                 : asked;
    char path[MORTISE_EXEC_PATH];
    json_t *out;

    mortise_exec_print_path(r, x, path);
    out = json_pack("{s:s, s:s, s:s, s:s}", "id", id, "kind",
                    mortise_step_kind_name(s), "node",
                    mortise_exec_node(r, x)->id, "path", path);
    for (size_t i = 0; out != NULL && members[i] != NULL; i++) {
        json_t *value = json_object_get(body, members[i]);

        if (value != NULL && json_object_set(out, members[i], value) != 0)
            mortise_json_clear_ref(&out);
    }
    return out;
}

/* Stable across restarts, and different in each attempt, for another store, and
 * for a run of the same name that was created anew. */
static void make_request_id(const struct mortise_run *r, const struct exec *x,
                            const struct step *s, char out[REQUEST_ID])
{
    uint8_t digest[MORTISE_DIGEST];
    struct mortise_hasher h;

    mortise_exec_begin_hash(&h, r, x);
    mortise_hasher_add_str(&h, "step");
    mortise_hasher_add_field(&h, r->seed, sizeof r->seed);
    mortise_hasher_add_u64(&h, x->generation);
    mortise_hasher_add_u64(&h, x->attempt);
    mortise_hasher_add_u64(&h, s->ordinal);
    mortise_hasher_add_str(&h, s->key);
    mortise_hasher_final(&h, digest);
    mortise_hex_encode(out, digest, (REQUEST_ID - 1) / 2);
}

/* The asker of a pending request suspends, or stays (`holds`). */
static int suspend_or_hold_asker(struct mortise_run *r, struct exec *x,
                                 struct step *s,
                                 const struct mortise_ask_in *in,
                                 struct mortise_err *err)
{
    s->ask = in->holds ? in->ask : 0;
    return in->holds
               ? mortise_exec_disarm_timer(r, x, err) /* its timeout does not
                                                   run while it waits */
               : send_suspend_reply(r, x->journal, in->ask,
                                    "the answer is not available yet", err);
}

static int ask_pending(struct mortise_run *r, struct exec *x, struct step *s,
                       const struct mortise_ask_in *in, struct mortise_err *err)
{
    struct mortise_entry e = make_step_entry(r, x, s, MORTISE_E_STEP);
    const json_t *wait = json_object_get(in->body, "for_ms");
    const json_t *until = json_object_get(in->body, "until_ms");
    char id[REQUEST_ID];
    int rv;

    if (in->refused != NULL)
        return record_step_answer(r, x, s, MORTISE_S_DENIED,
                                  json_string(in->refused), false, err);
    make_request_id(r, x, s, id);
    assert(s->kind == MORTISE_STEP_QUESTION || s->kind == MORTISE_STEP_TIMER ||
           s->kind == MORTISE_STEP_CHILD);
    e.id = id;
    e.how = (uint8_t)(in->inside ? MORTISE_STEP_INNER : s->kind);
    e.at_ms = 0;
    if (wait != NULL)
        e.at_ms = r->time_ms + (uint64_t)json_integer_value(wait);
    else if (until != NULL)
        e.at_ms = (uint64_t)json_integer_value(until);
    e.value = build_request_payload(r, x, s, in->body, id);
    rv = e.value != NULL ? mortise_run_record(r, &e, err) : mortise_nomem(err);
    json_decref(e.value);
    if (s->lasts_ms != 0)
        s->ends_ms = r->steady_ms + s->lasts_ms;
    return rv != MORTISE_OK ? rv : suspend_or_hold_asker(r, x, s, in, err);
}

/* (11) */
static int ask_model(struct mortise_run *r, struct exec *x, struct step *s,
                     const struct mortise_ask_in *in, struct mortise_err *err)
{
    struct mortise_entry e = make_step_entry(r, x, s, MORTISE_E_PROMPT);
    uint64_t seq = mortise_run_commit_now(r);
    json_t *budget = NULL;
    int rv = MORTISE_OK;

    if (s->spends)
        rv = mortise_budget_make_amounts(&budget, x, in->model->most, err);
    if (rv == MORTISE_OK)
        rv = mortise_prompt_record(r, &e, in->model, budget, err);
    if (rv == MORTISE_OK && budget != NULL)
        seq = mortise_run_commit_now(r);
    json_decref(budget);
    if (rv != MORTISE_OK)
        return rv;
    return seq > r->synced ? wait_for_commit(r, x, s, seq, err)
                           : perform(r, in->ask, s->index, NULL, err);
}

static int ask_read(struct mortise_run *r, struct exec *x, struct step *s,
                    const struct mortise_ask_in *in, struct mortise_err *err)
{
    return in->model != NULL ? ask_model(r, x, s, in, err)
                             : perform(r, in->ask, s->index, NULL, err);
}

/* ---- tools (10) ---------------------------------------------------------- */

/* Answer a step for which no execution runs: takes the value (NULL: out of
 * memory). */
static int answer_tool(struct mortise_run *r, struct exec *x, struct step *s,
                       json_t *value, struct mortise_err *err)
{
    return record_step_answer(r, x, s, MORTISE_S_OK, value, false, err);
}

/* {error} for an unknown tool name, with the names of the tools. */
static json_t *build_unknown_tool_error(const struct exec *x,
                                        const struct mortise_graph *tools,
                                        const char *name)
{
    const char *between = "; the tools are: ";
    struct mortise_buf b;
    json_t *out;

    mortise_buf_init(&b, &mortise_heap);
    mortise_buf_printf(&b, "no tool '%.128s'", name);
    for (uint32_t i = 0; tools != NULL && i < tools->n_offered; i++) {
        if (!mortise_exec_is_offered(x, tools->offers[i].tool))
            continue;
        mortise_buf_printf(&b, "%s%s", between, tools->offers[i].name);
        between = ", ";
    }
    out = b.failed ? NULL
                   : json_pack("{s:{s:s, s:s, s:s}}", "error", "code",
                               "unknown_tool", "class", "permanent", "message",
                               mortise_buf_cstr(&b));
    mortise_buf_finish(&b);
    return out;
}

/* Continue the execution of an earlier attempt for the same call, if there is
 * one; otherwise start the tool.  Takes the value (NULL: out of memory). */
static int invoke_or_continue_tool(struct mortise_run *r, struct exec *x,
                                   struct step *s, const char *tool,
                                   json_t *value, struct mortise_err *err)
{
    struct exec *earlier =
        s->has_effect ? mortise_tool_find_earlier(x, s->effect) : NULL;
    struct mortise_entry e = make_step_entry(
        r, x, s, earlier != NULL ? MORTISE_E_INVOKE_AGAIN : MORTISE_E_INVOKE);

    if (earlier != NULL && mortise_tool_was_rejected(x, earlier)) {
        json_decref(value);
        return answer_tool(r, x, s, mortise_tool_make_rejection(r, earlier),
                           err);
    }
    e.id = tool;
    return mortise_run_record_value(r, &e, value, err);
}

static int ask_tool(struct mortise_run *r, struct exec *x, struct step *s,
                    const struct mortise_ask_in *in, struct mortise_err *err)
{
    const struct mortise_graph *tools = mortise_exec_node(r, x)->tools;
    const json_t *tool = json_object_get(in->body, "tool");
    const char *name = tool != NULL ? json_string_value(tool) : "";
    const struct mortise_node *n = tool != NULL
                                       ? mortise_graph_find_tool(tools, name)
                                       : mortise_graph_find_planner(tools);
    const struct mortise_handover *to = mortise_graph_handover(tools, name);
    json_t *known = NULL;

    if (n != NULL && tool != NULL &&
        !mortise_exec_is_offered(x, tools->offers[n - tools->nodes].tool))
        n = NULL;
    if (n == NULL && to != NULL)
        return answer_tool(r, x, s, json_pack("{s:s}", "goto", to->node), err);
    if (n == NULL)
        return answer_tool(r, x, s, build_unknown_tool_error(x, tools, name),
                           err);
    if (mortise_node_has_effects(n)) {
        mortise_step_become_effect(r, x, s);
        known = mortise_step_find_effect_answer(x, s->effect);
    }
    if (known != NULL)
        return record_step_answer(r, x, s, MORTISE_S_OK, json_incref(known),
                                  true, err);
    return invoke_or_continue_tool(
        r, x, s, n->id,
        json_pack("{s:O, s:s*}", "arguments",
                  json_object_get(in->body, "arguments"), "tool_use_id",
                  in->alias[0] != '\0' ? in->alias : NULL),
        err);
}

/* Was the tool of this step started and stopped? */
static bool was_tool_stopped(const struct step *s)
{
    return s->kind == MORTISE_STEP_TOOL && s->state == STEP_IN_FLIGHT &&
           s->exec != 0;
}

/* Then it is started again, by the same name. */
static int invoke_stopped_tool(struct mortise_run *r, struct exec *x,
                               struct step *s, struct mortise_err *err)
{
    return invoke_or_continue_tool(r, x, s,
                                   mortise_exec_node(r, r->execs[s->exec])->id,
                                   json_incref(s->payload), err);
}

int mortise_step_check_tools(struct mortise_run *r, struct exec *x,
                             bool (*waits)(const struct mortise_run *r,
                                           const struct exec *tool),
                             struct mortise_err *err)
{
    struct journal *j = x->journal;
    int rv = MORTISE_OK;

    if (j == NULL || x->state != X_RUNNING || x->call != MORTISE_RUN_EXECUTE)
        return rv;
    for (size_t i = 0; rv == MORTISE_OK && i < j->n; i++) {
        struct step *s = j->steps[i];

        if (s->kind != MORTISE_STEP_TOOL || s->ask == 0 || s->exec == 0)
            continue;
        if (was_tool_stopped(s))
            rv = invoke_stopped_tool(r, x, s, err);
        else if (s->state == STEP_OPEN && waits(r, r->execs[s->exec]))
            rv = suspend_asker(r, j, s, err);
    }
    return rv == MORTISE_OK ? send_ready_answers(r, j, err) : rv;
}

/* The function for the first ask of each kind, and the restrictions on its
 * askers. */
static const struct {
    int (*ask)(struct mortise_run *r, struct exec *x, struct step *s,
               const struct mortise_ask_in *in, struct mortise_err *err);
    bool changes; /* it changes the world */
    bool waits;   /* a person or time answers it later */
} step_kind_rules[] = {
    [MORTISE_STEP_READ] = {.ask = ask_read},
    [MORTISE_STEP_CHEAP_READ] = {.ask = ask_read},
    [MORTISE_STEP_EFFECT] = {.ask = ask_effect, .changes = true},
    [MORTISE_STEP_QUESTION] = {.ask = ask_pending, .waits = true},
    [MORTISE_STEP_TIMER] = {.ask = ask_pending, .waits = true},
    [MORTISE_STEP_GET] = {.ask = ask_get},
    [MORTISE_STEP_PUT] = {.ask = ask_put, .changes = true},
    [MORTISE_STEP_REPEAT] = {.ask = ask_effect, .changes = true},
    [MORTISE_STEP_TOOL] = {.ask = ask_tool, .changes = true},
    [MORTISE_STEP_CHILD] = {.ask = ask_pending, .waits = true}};

/* ---- asking again ------------------------------------------------------ */

static int repeat_ask(struct mortise_run *r, struct exec *x, struct step *s,
                      const struct mortise_ask_in *in, struct mortise_err *err)
{
    /* Its sync may still be pending.  mortise_step_add() replaced a step with
     * nothing recorded. */
    assert(s->state != STEP_IN_FLIGHT || was_tool_stopped(s));
    if (was_tool_stopped(s))
        return invoke_stopped_tool(r, x, s, err);
    if (s->state == STEP_OPEN && s->kind == MORTISE_STEP_TOOL) {
        mortise_exec_add_asker(r, x); /* the tool may only wait by now */
        return MORTISE_OK;
    }
    if (s->state == STEP_ANSWERED ||
        (s->state == STEP_OPEN && s->seq > r->synced))
        return MORTISE_OK;
    if (s->state == STEP_PENDING)
        return suspend_or_hold_asker(r, x, s, in, err);
    return s->cleared /* otherwise doubt.c allowed the repetition */
               ? record_effect_intent(r, x, s, in, err)
               : perform_effect(r, s, err);
}

/* (6): the error is the answer, and the failure of the call, which must
 * stop. */
static int fail_determinism(struct mortise_run *r, struct exec *x,
                            const struct step *s,
                            const struct mortise_ask_in *in,
                            struct mortise_err *err)
{
    const char *name =
        mortise_step_get_asker_key((struct step_id){s->ordinal, s->key});
    const char *node = mortise_exec_node(r, x)->id;
    char which[160];
    int rv;

    assert(x->state == X_RUNNING); /* it made the ask */
    snprintf(which, sizeof which, name[0] != '\0' ? "'%.128s'" : "%s%u", name,
             (unsigned)s->ordinal);
    mortise_json_clear_ref(&x->broke);
    x->broke =
        strcmp(s->method, in->method) != 0
            ? json_sprintf("E_DETERMINISM: step %s of '%s' asked for %.128s "
                           "before, but for %s after the re-entry",
                           which, node, s->method, in->method)
            : json_sprintf("E_DETERMINISM: step %s of '%s', %.128s, has "
                           "different arguments after the re-entry",
                           which, node, s->method);
    if (x->broke == NULL)
        return mortise_nomem(err);
    rv = reply(r, in->ask, MORTISE_S_FAILED, x->broke, err);
    return rv != MORTISE_OK
               ? rv
               : mortise_exec_cancel_call(r, x, STOP_DIVERGED, err);
}

json_t *mortise_step_take_divergence(struct exec *x)
{
    json_t *words = x->broke;

    x->broke = NULL;
    return words;
}

/* The name of the current ask; `room` is the buffer for a guardrail's key. */
static struct step_id make_ask_name(struct journal *j,
                                    const struct mortise_ask_in *in, char *room,
                                    size_t size)
{
    bool of_check = j->scope[0] != '\0', named = in->key[0] != '\0';
    struct step_id id = {MORTISE_STEP_UNORDERED, in->key};

    if (!named)
        id.ordinal = j->next++;
    else if (of_check)
        id.ordinal = MORTISE_STEP_NAMED;
    if (!of_check)
        return id;
    snprintf(room, size, "%s%s%s", j->scope, named ? ":" : "", in->key);
    id.key = room;
    return id;
}

/* The call is started again when there is budget (budget.c (7)).  But it is not
 * stopped in the middle of an effect (`inside`), which would then be in
 * doubt. */
static int stop_for_budget(struct mortise_run *r, struct exec *x,
                           const struct mortise_ask_in *in,
                           struct mortise_err *err)
{
    int rv = send_error_reply(
        r, in->ask, in->inside ? MORTISE_S_DENIED : MORTISE_S_CANCELLED,
        "the budget is used up", err);

    return rv == MORTISE_OK && !in->inside
               ? mortise_exec_cancel_call(r, x, STOP_BUDGET, err)
               : rv;
}

static int ask_journaled(struct mortise_run *r, struct exec *x,
                         const struct mortise_ask_in *in,
                         struct mortise_err *err)
{
    char room[MORTISE_DIGEST_HEX + 1 + KEY_MAX];
    uint8_t digest[MORTISE_DIGEST];
    struct journal *j;
    struct step_id id;
    struct step *s;
    bool room_left = true;
    int rv = get_or_make_journal(r, x, &j, err);

    if (rv != MORTISE_OK ||
        mortise_json_digest(digest, in->body, r->mem) != MORTISE_OK)
        return mortise_nomem(err);
    assert(strlen(in->key) < KEY_MAX); /* host_calls.c limits the length */
    id = make_ask_name(j, in, room, sizeof room);
    s = mortise_step_find(j, id);
    if (s != NULL && s->entrance == j->entrance &&
        !(s->state == STEP_OPEN && s->cleared))
        return send_error_reply(
            r, in->ask, MORTISE_S_INVALID,
            "another ask of this call has the same step name", err);
    if (in->model != NULL && (s == NULL || s->state == STEP_IN_FLIGHT) &&
        x->call == MORTISE_RUN_EXECUTE)
        rv = mortise_budget_has_room(r, x, in->model->most, &room_left, err);
    if (rv != MORTISE_OK || !room_left)
        return rv == MORTISE_OK ? stop_for_budget(r, x, in, err) : rv;
    if (s == NULL && j->n >= STEPS_MAX)
        return send_error_reply(r, in->ask, MORTISE_S_FAILED,
                                "an execution can make at most 65536 asks",
                                err);
    assert(!in->inside || in->key[0] != '\0'); /* host_calls.c requires a key */
    j->issued += !in->inside;
    if (s == NULL || (s->state == STEP_IN_FLIGHT && !was_tool_stopped(s))) {
        rv = mortise_step_add(r, j, id, in->method, digest, &s, err);
        if (rv != MORTISE_OK)
            return rv;
        s->kind = in->kind;
        s->of_model = in->model != NULL;
        s->inside = in->inside;
        s->spends = s->of_model && x->call == MORTISE_RUN_EXECUTE;
        s->entrance = j->entrance;
        s->ask = in->ask;
        if (in->model != NULL)
            rv = mortise_pins_record_used(r, in->model->by, err);
        if (rv == MORTISE_OK)
            rv = step_kind_rules[s->kind].ask(r, x, s, in, err);
    } else if (!mortise_step_is_same_ask(s, in->method, digest)) {
        return fail_determinism(r, x, s, in, err);
    } else {
        s->entrance = j->entrance;
        s->ask = in->ask;
        rv = repeat_ask(r, x, s, in, err);
    }
    return rv != MORTISE_OK
               ? rv
               : send_ready_answers(r, j, err); /* this ask may allow more
                                                   answers */
}

/* (9) */
static int ask_aside(struct mortise_run *r, struct exec *x,
                     const struct mortise_ask_in *in, struct mortise_err *err)
{
    const char *who = x->call == MORTISE_RUN_CHECK ? "a guardrail"
                                                   : "a compaction or a judge";
    char words[128];

    if (step_kind_rules[in->kind].changes) {
        snprintf(words, sizeof words,
                 "%s cannot have effects: it can only read", who);
        return send_error_reply(r, in->ask, MORTISE_S_DENIED, words, err);
    }
    if (step_kind_rules[in->kind].waits) {
        snprintf(words, sizeof words,
                 "%s cannot wait for a person or a time: only an operation can",
                 who);
        return send_error_reply(r, in->ask, MORTISE_S_UNSUPPORTED, words, err);
    }
    return ask_journaled(r, x, in, err);
}

/* An ask of a reconciliation, a lookup or a write to the memory. */
static int ask_plain(struct mortise_run *r, const struct mortise_ask_in *in,
                     struct mortise_err *err)
{
    if (step_kind_rules[in->kind].waits || in->kind == MORTISE_STEP_PUT ||
        in->kind == MORTISE_STEP_TOOL)
        return send_error_reply(r, in->ask, MORTISE_S_UNSUPPORTED,
                                "only an operation can ask for this", err);
    return perform(r, in->ask, NO_STEP, NULL, err);
}

int mortise_step_handle_ask(struct mortise_run *r,
                            const struct mortise_ask_in *in,
                            struct mortise_err *err)
{
    struct exec *x = mortise_exec_find_by_handle(r, in->call);

    if (mortise_run_is_own(r, in->call))
        return ask_plain(r, in, err);
    if (x == NULL || x->state != X_RUNNING)
        return send_error_reply(r, in->ask, MORTISE_S_CANCELLED, "cancelled",
                                err);
    assert(in->kind >= MORTISE_STEP_READ && in->kind <= MORTISE_STEP_CHILD &&
           in->kind != MORTISE_STEP_INNER);
    if (mortise_call_is_check_or_helper(x->call))
        return ask_aside(r, x, in, err);
    return x->call == MORTISE_RUN_EXECUTE ? ask_journaled(r, x, in, err)
                                          : ask_plain(r, in, err);
}

/* ---- answers ------------------------------------------------------------ */

/* The effect was stopped before it started: the next ask for it performs it as
 * if for the first time. */
static int undo_step(struct mortise_run *r, const struct exec *x,
                     struct step *s, int32_t status, json_t *words,
                     struct mortise_err *err)
{
    struct mortise_entry e = make_step_entry(r, x, s, MORTISE_E_ANSWER);

    assert(s->state == STEP_IN_FLIGHT || s->state == STEP_OPEN);
    s->ask = 0;
    e.status = status;
    e.how = ANSWER_UNDONE;
    return s->state == STEP_OPEN /* its intent is recorded */
               ? mortise_run_record_value(r, &e, json_incref(words), err)
               : MORTISE_OK;
}

int mortise_step_undo_unstarted(struct mortise_run *r, const struct exec *x,
                                struct mortise_err *err)
{
    const struct journal *j = x->journal;
    json_t *words = NULL;
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && j != NULL && i < j->n; i++) {
        struct step *s = j->steps[i];

        if (s->state != STEP_OPEN || s->kind != MORTISE_STEP_EFFECT ||
            s->ask == 0 || s->made || s->cleared)
            continue;
        if (words == NULL &&
            (words = json_string("the effect did not start")) == NULL)
            return mortise_nomem(err);
        rv = undo_step(r, x, s, MORTISE_S_CANCELLED, words, err);
    }
    json_decref(words);
    return rv;
}

/* (8): the asker suspends until the doubt is settled. */
static int keep_unclear_answer(struct mortise_run *r, struct exec *x,
                               struct step *s,
                               const struct mortise_answer_in *in,
                               json_t *value, struct mortise_err *err)
{
    int rv = mortise_doubt_add_unclear(r, x, s, in, value, err);

    s->ask = 0;
    return rv != MORTISE_OK
               ? rv
               : send_suspend_reply(
                     r, x->journal, in->ask,
                     "it is not known yet whether the effect happened", err);
}

int mortise_step_set_not_happened(struct mortise_run *r, struct exec *x,
                                  struct step *s, struct mortise_err *err)
{
    const struct heard *h = s->heard;
    struct mortise_entry e = make_step_entry(r, x, s, MORTISE_E_ANSWER);

    e.status = h != NULL ? h->status : MORTISE_S_CANCELLED;
    e.after = h != NULL ? h->after : x->journal->issued;
    return mortise_run_record_value(
        r, &e,
        h != NULL ? json_incref(h->value)
                  : json_string("the effect did not happen"),
        err);
}

int mortise_step_handle_answer(struct mortise_run *r,
                               const struct mortise_answer_in *in,
                               struct mortise_err *err)
{
    struct exec *x = mortise_exec_find_by_handle(r, in->call);
    struct journal *j = x != NULL ? get_call_journal(x) : NULL;
    json_t *value = in->status == MORTISE_S_OK ? json_incref(in->value)
                                               : json_string(in->words);
    struct step *s;
    int rv;

    if (value == NULL)
        return mortise_nomem(err);
    if (in->step == NO_STEP) {
        rv = reply(r, in->ask, in->status, value, err);
    } else if (j == NULL || in->step >= j->n ||
               j->steps[in->step]->ask != in->ask ||
               (x->state != X_RUNNING && x->state != X_STOPPING)) {
        rv = MORTISE_OK; /* the call ended without the answer */
    } else {
        s = j->steps[in->step];
        if (in->undone) {
            rv = undo_step(r, x, s, in->status, value, err);
            if (rv == MORTISE_OK)
                rv = reply(r, in->ask, in->status, value, err);
        } else if (in->doubtful && mortise_doubt_can_arise_in_step(r, x, s))
            rv = keep_unclear_answer(r, x, s, in, value, err);
        else
            rv = record_step_answer(r, x, s, in->status, json_incref(value),
                                    s->has_effect && in->completed, err);
        if (rv == MORTISE_OK)
            rv = send_ready_answers(r, j, err);
    }
    json_decref(value);
    return rv;
}

static int continue_synced_step(struct mortise_run *r,
                                const struct step_wait *w,
                                struct mortise_err *err)
{
    struct exec *x = r->execs[w->exec];
    struct journal *j = w->of_check ? x->checks : x->journal;
    struct step *s = j != NULL && w->step < j->n ? j->steps[w->step] : NULL;

    if (s == NULL || s->seq != w->seq || x->state != X_RUNNING ||
        (w->of_check ? !mortise_call_is_check_or_helper(x->call)
                     : x->call != MORTISE_RUN_EXECUTE) ||
        s->entrance != j->entrance)
        return MORTISE_OK;
    if (s->state == STEP_OPEN && s->ask != 0)
        return perform_effect(r, s, err);
    if (s->state == STEP_IN_FLIGHT && s->ask != 0)
        /* a GET, or an ask of a model */
        return perform(r, s->ask, s->index, NULL, err);
    return send_ready_answers(r, j, err);
}

int mortise_step_handle_synced(struct mortise_run *r, struct mortise_err *err)
{
    size_t n = 0;
    int rv = MORTISE_OK;

    while (n < r->n_step_waits && r->step_waits[n].seq <= r->synced &&
           rv == MORTISE_OK)
        rv = continue_synced_step(r, &r->step_waits[n++], err);
    r->n_step_waits -= n;
    if (n > 0)
        memmove(r->step_waits, r->step_waits + n,
                r->n_step_waits * sizeof r->step_waits[0]);
    return rv;
}

/* ---- start and end of a call --------------------------------------------- */

/* Replay the journal from its start. */
static void restart_replay(struct journal *j)
{
    assert(j->recorded <= j->n && j->answers.n <= j->recorded);
    j->entrance++;
    j->issued = j->next = 0;
    j->told = 0;
    j->leaves = false;
    for (size_t i = 0; i < j->n; i++) {
        j->steps[i]->ask = 0;
        j->steps[i]->later = false;
    }
}

int mortise_step_begin_call(struct mortise_run *r, struct exec *x,
                            struct mortise_err *err)
{
    struct journal *j = get_call_journal(x);

    if (x->call == MORTISE_RUN_EXECUTE)
        x->goes_on = j != NULL && j->recorded > 0;
    if (j == NULL)
        return MORTISE_OK;
    restart_replay(j);
    return mortise_call_is_check_or_helper(x->call) ? set_check_scope(r, x, err)
                                                    : MORTISE_OK;
}

bool mortise_step_has_unasked(const struct exec *x)
{
    const struct journal *j = get_call_journal(x);

    for (size_t i = 0; j != NULL && i < j->n; i++) {
        if (j->steps[i]->state != STEP_IN_FLIGHT && !j->steps[i]->inside &&
            j->steps[i]->entrance != j->entrance &&
            is_in_call_scope(j, j->steps[i]))
            return true;
    }
    return false;
}

/* The time until its deadline.  A duration is measured by steady_ms.  If an
 * earlier process began the wait, steady_ms does not know its start: the wall
 * clock gives the rest, which is at most the whole duration. */
static uint64_t get_step_wait_ms(const struct mortise_run *r, struct step *s)
{
    uint64_t left =
        s->deadline_ms > r->time_ms ? s->deadline_ms - r->time_ms : 0;

    if (s->lasts_ms == 0)
        return left;
    if (s->ends_ms == 0)
        s->ends_ms = r->steady_ms + (left < s->lasts_ms ? left : s->lasts_ms);
    return s->ends_ms > r->steady_ms ? s->ends_ms - r->steady_ms : 0;
}

static struct step *find_soonest_request(const struct mortise_run *r,
                                         const struct exec *x)
{
    const struct journal *j = x->journal;
    struct step *best = NULL;

    for (size_t i = 0; j != NULL && i < j->n; i++) {
        struct step *s = j->steps[i];

        if (mortise_step_is_request(s) && s->deadline_ms != 0 &&
            (best == NULL ||
             get_step_wait_ms(r, s) < get_step_wait_ms(r, best)))
            best = s;
    }
    return best;
}

int mortise_step_arm_deadline(struct mortise_run *r, struct exec *x,
                              struct mortise_err *err)
{
    struct step *s = find_soonest_request(r, x);

    assert(x->state == X_SUSPENDED);
    if (s == NULL || x->timer)
        return MORTISE_OK;
    mortise_exec_set_near(r, x,
                          s->kind == MORTISE_STEP_TIMER &&
                              get_step_wait_ms(r, s) <= NEAR_MS);
    mortise_exec_renew_handle(x);
    return s->lasts_ms != 0
               ? mortise_exec_arm_timer_after(r, x, get_step_wait_ms(r, s), err)
               : mortise_exec_arm_timer_at(r, x, s->deadline_ms, err);
}

int mortise_step_suspend(struct mortise_run *r, struct exec *x,
                         struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_make_entry(r, x, MORTISE_E_LET_GO);
    const struct journal *j = x->journal;
    bool pending = false, settled = false;
    int rv;

    assert(x->call == MORTISE_RUN_EXECUTE); /* a check never waits (9) */
    /* Some steps may have been answered since their asker was told to
     * suspend. */
    for (size_t i = 0; j != NULL && i < j->n; i++) {
        const struct step *s = j->steps[i];

        if (s->entrance != j->entrance || (s->request[0] == '\0' && !s->later))
            continue;
        pending |= s->state == STEP_PENDING || s->state == STEP_OPEN;
        settled |= s->state == STEP_ANSWERED && s->settled == j->entrance;
    }
    if (!pending && !settled)
        return MORTISE_ENOTFOUND;
    e.how = settled;
    rv = mortise_run_record(r, &e, err);
    return rv == MORTISE_OK && !settled ? mortise_step_arm_deadline(r, x, err)
                                        : rv;
}

int mortise_step_expire_due(struct mortise_run *r, struct exec *x,
                            struct mortise_err *err)
{
    struct step *s;
    int rv = MORTISE_OK;

    assert(x->state == X_SUSPENDED);
    while (rv == MORTISE_OK && (s = find_soonest_request(r, x)) != NULL &&
           get_step_wait_ms(r, s) == 0) {
        struct mortise_entry e =
            mortise_exec_make_entry(r, x, MORTISE_E_SETTLE);

        e.how = MORTISE_SETTLE_EXPIRED;
        e.id = s->request;
        rv = mortise_run_record(r, &e, err);
    }
    return rv == MORTISE_OK && x->state == X_SUSPENDED
               ? mortise_step_arm_deadline(r, x, err)
               : rv;
}

int mortise_step_check_answer(struct mortise_run *r, const struct step *s,
                              const json_t *value, struct mortise_err *err)
{
    json_t *json = json_object_get(s->payload, "schema");
    struct mortise_schema *schema = NULL;
    struct mortise_arena a;
    char where[256];
    int rv = mortise_fold_check_depth(value, err);

    if (rv != MORTISE_OK || json == NULL)
        return rv;
    mortise_arena_init(&a, r->mem);
    rv = mortise_schema_compile_foreign(&schema, &a, json, where, sizeof where,
                                        err);
    if (rv == MORTISE_OK)
        rv = mortise_schema_check_with_limit(schema, value, r->graph->expr_cost,
                                             err);
    mortise_schema_finish(schema);
    mortise_arena_finish(&a);
    return rv != MORTISE_OK ? mortise_err_prefix(err, rv, "answer") : rv;
}

int mortise_step_record_answer(struct mortise_run *r, struct exec *x,
                               struct step *s, json_t *value, const char *actor,
                               struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_make_entry(r, x, MORTISE_E_SETTLE);
    int rv = x->state == X_SUSPENDED ? mortise_exec_disarm_timer(r, x, err)
                                     : MORTISE_OK;

    assert(mortise_step_is_request(s) && s->kind != MORTISE_STEP_TIMER);
    e.how = MORTISE_SETTLE_ANSWERED;
    e.id = s->request;
    e.value = value;
    e.actor = actor;
    if (rv == MORTISE_OK)
        rv = mortise_run_record(r, &e, err);
    if (rv != MORTISE_OK || s->ask == 0 || x->state != X_RUNNING)
        return rv;
    /* its asker stayed: its timeout starts again */
    if (mortise_exec_get_timeout_ms(x) != 0 && !x->timer)
        rv = mortise_exec_arm_timer_after(r, x, mortise_exec_get_timeout_ms(x),
                                          err);
    return rv == MORTISE_OK ? wait_for_this_commit(r, x, s, err) : rv;
}

/* ---- children ------------------------------------------------------------ */

/* The handle of the child that s waits for; NULL: s waits for none. */
static const char *get_awaited_handle(const struct step *s)
{
    return s->kind == MORTISE_STEP_CHILD && mortise_step_is_request(s)
               ? json_string_value(json_object_get(s->payload, "handle"))
               : NULL;
}

void mortise_run_for_each_awaited(const struct mortise_run *r,
                                  void (*fn)(void *ud, const char *handle),
                                  void *ud)
{
    for (size_t i = 1; r->n_awaited > 0 && i < r->n_execs; i++) {
        const struct journal *j = r->execs[i]->journal;

        for (size_t k = 0; j != NULL && k < j->n; k++)
            if (get_awaited_handle(j->steps[k]) != NULL)
                fn(ud, get_awaited_handle(j->steps[k]));
    }
}

int mortise_step_handle_child_end(struct mortise_run *r, const char *handle,
                                  json_t *end, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = 1; r->n_awaited > 0 && rv == MORTISE_OK && i < r->n_execs;
         i++) {
        struct exec *x = r->execs[i];
        struct journal *j = x->journal;

        for (size_t k = 0; j != NULL && rv == MORTISE_OK && k < j->n; k++) {
            const char *waits = get_awaited_handle(j->steps[k]);

            if (waits != NULL && strcmp(waits, handle) == 0)
                rv =
                    mortise_step_record_answer(r, x, j->steps[k], end, "", err);
        }
    }
    return rv;
}

/* ---- slots --------------------------------------------------------------- */

/* Does the asker of s stay for it, and should release its slot?  An answered
 * step is sent its answer instead. */
static bool is_held_for(const struct step *s, const struct mortise_yield_in *in)
{
    const char *waits = get_awaited_handle(s);

    if (s->ask == 0 || in->ask != 0)
        return s->ask != 0 && s->ask == in->ask;
    if (waits != NULL)
        return in->handle == NULL || strcmp(waits, in->handle) == 0;
    return in->tools && s->kind == MORTISE_STEP_TOOL && s->state == STEP_OPEN &&
           s->exec != 0;
}

int mortise_step_handle_yield(struct mortise_run *r,
                              const struct mortise_yield_in *in,
                              struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++) {
        const struct exec *x = r->execs[i];
        struct journal *j = x->journal;

        if (j == NULL || x->state != X_RUNNING ||
            x->call != MORTISE_RUN_EXECUTE ||
            (in->call != 0 && mortise_exec_get_handle(x) != in->call))
            continue;
        for (size_t k = 0; rv == MORTISE_OK && k < j->n; k++)
            if (is_held_for(j->steps[k], in))
                rv = suspend_asker(r, j, j->steps[k], err);
        if (rv == MORTISE_OK)
            rv = send_ready_answers(r, j, err);
    }
    return rv;
}

/* ---- queries ------------------------------------------------------------- */

bool mortise_run_is_replaying(const struct mortise_run *r, uint64_t call)
{
    struct exec *x = mortise_exec_find_by_handle(r, call);
    struct journal *j = x != NULL ? get_call_journal(x) : NULL;
    const struct step *s = j != NULL ? find_next_answer(j) : NULL;

    return s != NULL && s->settled != j->entrance;
}
