/* step.c -- the journal inside an execution: what it asked, and the answers.
 *
 * An executor that does several things must not start over when its third one
 * is interrupted.  So each of its asks is a step, identified by its ordinal
 * (or by a key that the asker gave), and kept with its method and a digest of
 * its arguments.  An execution that is entered again, after a crash or a
 * suspension, asks the same again; what was answered comes back from here, and
 * it runs forward to the first thing that was not.
 *
 *   (1) A question about the world (READ, LOOK) is performed at once and its
 *       answer recorded.  A LOOK (state.get) is recorded with whatever
 *       is committed next: until something depends on it, looking again does
 *       as well.
 *   (2) An EFFECT is performed once its intent is on disk, and its answer is
 *       recorded before, or together with, whatever depends on it, since
 *       commits are in order.  Between intent and answer it is in doubt
 *       (doubt.c), unless the call was stopped before the intent was on disk:
 *       then it did not begin, and that is recorded when the call has ended.
 *   (3) A PUT is its own answer, and both are one commit with what is put:
 *       it is never in doubt.  The asker hears of it once that is on disk.  What
 *       a spawn handle comes to is put so, too: decided before it is asked here,
 *       and changed by this commit or not at all.  A
 *       GET is a READ that waits until all that its run has put is there; so
 *       it sees that, and of other runs what is on disk by then.
 *   (4) A QUESTION and a TIMER are answered by somebody, later; a CHILD by its
 *       end, of which the engine tells.  The asker is told so
 *       (MORTISE_S_SUSPENDED), lets go, and is entered again.
 *       It asks nothing more by then, and answers that come behind what it would
 *       have asked come later, too.
 *       Or it stays for a while (`holds`), in the middle of something that would be
 *       lost, or as long as nobody needs its place: then the answer comes to it, once it is on disk, and the time that
 *       it takes is nobody's.  What is asked inside of a step that a plugin
 *       performs itself (a question, or a model) is part of that: when the step is
 *       answered it is not asked again, so it is in no order with others.
 *   (5) Recorded answers come back in the order in which they were recorded,
 *       each after as many asks as preceded it then; live answers behind them.
 *   (6) The same step with another method or other arguments, or a success
 *       that left recorded steps unasked, breaks the executor's one rule: the
 *       node fails with the code `determinism`.
 *   (7) A new attempt or generation begins with an empty journal.  What
 *       happened in the world goes along: an effect that was completed gives
 *       its recorded answer when it is asked for again, equal in operation,
 *       method, arguments and occurrence.  A PUT is put again: in between
 *       there may have been others.
 *
 *   (8) Where the answer to an EFFECT leaves it open whether it happened, none is
 *       recorded: the asker is told as in (4), and doubt.c settles it.  A REPEAT
 *       is an effect of which twice is once (PUT): the same, but never in doubt.
 *
 *   (9) A guardrail reads, and no more: it has no effect, puts nothing, and
 *       waits for nobody.  Its answers are recorded like an executor's, in a
 *       journal of their own (x->checks), under the check that asked: its
 *       stage, its place in it and a digest of what it judges.  So a check that
 *       is made again, after a crash, is told the same; and one of something
 *       else asks anew.
 *
 *  (10) A TOOL is run by an execution of its own (flow/tools.c), and its step is
 *       answered by whatever entry ends that.  As long as all that it does is to
 *       wait, its asker is told as in (4).  What a tool had done in an earlier
 *       attempt or generation it gives again, as in (7): for the same tool,
 *       arguments and occurrence, wherever a model asks for it.  What failed or
 *       was stopped there goes on (flow/tools.c (9)).
 *
 *  (11) A call of a model is a READ that costs money: it is made once all that was
 *       recorded before is on disk, so that after a crash no more than the one
 *       that was out is paid for twice; and where a budget has room for it, what
 *       it may cost reserved (prompt.c).
 *
 * What a reconciliation asks, or the deployment's memory while it is asked, is part
 * of that one call: it may read, and nothing is kept of it; so it puts nothing,
 * either.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "mortise/plugin.h"
#include "core/run/asks/asks.h"

enum {
    NEAR_MS = 60000, /* a timer that is worth staying in memory for */
    KEY_MAX = 129    /* of a step that its asker named, with a NUL */
};

#define NO_STEP 0xFFFFFFFFu

/* What the call of x asks is in this one. */
static struct journal *journal_of(const struct exec *x)
{
    return mortise_call_is_aside(x->call) ? x->checks : x->journal;
}

/* Was s asked by the call under way, or by an earlier one like it? */
static bool is_own(const struct journal *j, const struct step *s)
{
    return strncmp(s->key, j->scope, strlen(j->scope)) == 0;
}

/* Is its answer handed back in its turn? */
static bool has_turn(const struct journal *j, const struct step *s)
{
    return is_own(j, s) && !s->inside;
}

/* The next answer that is to be handed back; NULL: there is none yet. */
static struct step *next_answer(struct journal *j)
{
    while (j->told < j->answers.n &&
           !has_turn(j, j->steps[j->answers.list[j->told]]))
        j->told++;
    return j->told < j->answers.n ? j->steps[j->answers.list[j->told]] : NULL;
}

/* ---- what the world is asked to do -------------------------------------- */

/* `value`: borrowed; words when status is none of success. */
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

static int reply_words(struct mortise_run *r, uint64_t ask, int32_t status,
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
        mortise_hex(a->u.perform.key, key, MORTISE_DIGEST);
    return MORTISE_OK;
}

/* An effect, whose intent is on disk. */
static int make(struct mortise_run *r, struct step *s, struct mortise_err *err)
{
    s->made = true;
    return perform(r, s->ask, s->index, s->effect, err);
}

/* The answers of questions inside of steps, which have no turn. */
static int pump_inside(struct mortise_run *r, struct journal *j,
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

/* The call is to let go, and to ask again when it is entered again. */
static int reply_later(struct mortise_run *r, struct journal *j, uint64_t ask,
                       const char *words, struct mortise_err *err)
{
    j->leaves = true;
    return reply_words(r, ask, MORTISE_S_SUSPENDED, words, err);
}

static int tell_later(struct mortise_run *r, struct journal *j, struct step *s,
                      struct mortise_err *err)
{
    uint64_t ask = s->ask;

    s->ask = 0;
    s->later = true;
    return reply_later(r, j, ask, "the answer is not available yet", err);
}

/* Of a call that asks nothing more (4): an answer that comes behind an ask that it
 * did not make in this entrance would never be handed back. */
static int tell_blocked(struct mortise_run *r, struct journal *j,
                        struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = j->told; rv == MORTISE_OK && i < j->answers.n; i++) {
        struct step *s = j->steps[j->answers.list[i]];

        if (has_turn(j, s) && s->entrance == j->entrance && s->ask != 0)
            rv = tell_later(r, j, s, err);
    }
    return rv;
}

/* Hand back what may be handed back (5). */
static int pump(struct mortise_run *r, struct journal *j,
                struct mortise_err *err)
{
    bool blocked = false;
    struct step *s;
    int rv = MORTISE_OK;

    while (rv == MORTISE_OK && (s = next_answer(j)) != NULL) {
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
        rv = tell_blocked(r, j, err);
    return rv == MORTISE_OK && j->n_inside > 0 ? pump_inside(r, j, err) : rv;
}

/* ---- recording ---------------------------------------------------------- */

static struct mortise_entry entry_for(const struct mortise_run *r,
                                      const struct exec *x,
                                      const struct step *s,
                                      enum mortise_entry_type type)
{
    struct mortise_entry e = mortise_exec_entry(r, x, type);

    e.ordinal = s->ordinal;
    e.key = s->key;
    e.method = s->method;
    memcpy(e.digest, s->digest, sizeof e.digest);
    return e;
}

/* A step that waits until this commit is on disk.  (The one under way, or the
 * last: so the waits are in order.) */
static int wait_for(struct mortise_run *r, const struct exec *x, struct step *s,
                    uint64_t seq, struct mortise_err *err)
{
    struct step_wait *grown =
        mortise_grow(r->mem, r->step_waits, r->n_step_waits, &r->cap_step_waits,
                     sizeof *grown);

    if (grown == NULL)
        return mortise_nomem(err);
    r->step_waits = grown;
    assert(r->n_step_waits == 0 || grown[r->n_step_waits - 1].seq <= seq);
    s->seq = seq;
    r->step_waits[r->n_step_waits++] = (struct step_wait){
        seq, x->index, s->index, mortise_call_is_aside(x->call)};
    return MORTISE_OK;
}

static int wait_for_sync(struct mortise_run *r, const struct exec *x,
                         struct step *s, struct mortise_err *err)
{
    return wait_for(r, x, s, r->seq + 1, err);
}

static bool has_heard(const json_t *answer)
{
    return json_array_size(json_object_get(answer, "told")) > 0;
}

/* Takes the value (NULL: out of memory). */
static int record_answer(struct mortise_run *r, struct exec *x, struct step *s,
                         int32_t status, json_t *value, bool completed,
                         struct mortise_err *err)
{
    struct mortise_entry e = entry_for(r, x, s, MORTISE_E_ANSWER);

    e.status = status;
    assert(s->state == STEP_OUT || s->state == STEP_OPEN); /* answered once */
    e.after = journal_of(x)->issued;
    e.how = (uint8_t)((completed ? ANSWER_COMPLETED : 0) |
                      (s->spends ? ANSWER_SPENT : 0) |
                      (s->spends && has_heard(value) ? ANSWER_HEARD : 0) |
                      (s->kind == MORTISE_STEP_TOOL ? ANSWER_TOOL : 0) |
                      (s->of_model ? ANSWER_MODEL : 0) |
                      (s->inside ? ANSWER_INSIDE : 0));
    e.looked = s->kind == MORTISE_STEP_LOOK;
    return mortise_run_record_value(r, &e, value, err);
}

/* ---- checks (9) --------------------------------------------------------- */

/* Which check it is, and of what; of another call aside, which. */
static int set_scope(struct mortise_run *r, struct exec *x,
                     struct mortise_err *err)
{
    const bool check = x->call == MORTISE_RUN_CHECK;
    uint8_t digest[MORTISE_DIGEST] = {0};
    struct mortise_hasher h;

    if (check && mortise_json_digest(digest, x->subject, r->mem) != MORTISE_OK)
        return mortise_nomem(err);
    assert(mortise_call_is_aside(x->call) && x->checks != NULL);
    mortise_hasher_init(&h);
    mortise_hasher_u64(&h, check ? (uint64_t)x->stage
                                 : MORTISE_GUARD_STAGES + (uint64_t)x->call);
    mortise_hasher_u64(&h, check ? x->turn : 0);
    mortise_hasher_u64(&h, check ? x->guard : 0);
    mortise_hasher_u64(&h, check && x->stage == MORTISE_GUARD_EDGE ? x->at : 0);
    mortise_hasher_field(&h, digest, sizeof digest);
    mortise_hasher_final(&h, digest);
    mortise_hex(x->checks->scope, digest, sizeof digest);
    return MORTISE_OK;
}

/* The journal of what is asked now. */
static int journal_for(struct mortise_run *r, struct exec *x,
                       struct journal **out, struct mortise_err *err)
{
    bool of_check = mortise_call_is_aside(x->call);
    bool is_new = journal_of(x) == NULL;
    int rv = mortise_step_journal(r, x, of_check, out, err);

    return rv == MORTISE_OK && is_new && of_check ? set_scope(r, x, err) : rv;
}

/* ---- asking for the first time ------------------------------------------ */

/* The intent of an effect. */
static int record_step(struct mortise_run *r, struct exec *x, struct step *s,
                       const struct mortise_ask_in *in, struct mortise_err *err)
{
    struct mortise_entry e = entry_for(r, x, s, MORTISE_E_STEP);
    int rv;

    assert(s->has_effect); /* its key is in the intent, and goes out with it */
    e.how = (uint8_t)s->kind;
    e.value = in->body;
    s->made = false;
    rv = mortise_run_record(r, &e, err);
    return rv != MORTISE_OK ? rv : wait_for_sync(r, x, s, err);
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
    known = mortise_step_effect_answer(x, s->effect);
    if (known != NULL)
        return record_answer(r, x, s, MORTISE_S_OK, json_incref(known), true,
                             err);
    return record_step(r, x, s, in, err);
}

/* (3) */
static int ask_get(struct mortise_run *r, struct exec *x, struct step *s,
                   const struct mortise_ask_in *in, struct mortise_err *err)
{
    if (r->put_seq > r->synced)
        return wait_for(r, x, s, r->seq, err);
    return perform(r, in->ask, s->index, NULL, err);
}

static int keep_kv(struct mortise_run *r, const char *plugin,
                   const json_t *body, struct mortise_err *err)
{
    struct mortise_run_kv *grown = mortise_grow(
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

int mortise_run_keep_spawn(struct mortise_run *r,
                           const struct mortise_spawn_change *change,
                           struct mortise_err *err)
{
    const struct mortise_spawn_change **grown =
        mortise_grow(r->mem, r->kept.spawns, r->kept.n_spawns,
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

    if (in->refused != NULL) { /* that is recorded, so that it stays so */
        json_decref(answer);
        return record_answer(r, x, s, MORTISE_S_DENIED,
                             json_string(in->refused), false, err);
    }
    if (in->decided == NULL)
        rv = keep_kv(r, mortise_exec_node(r, x)->plugin, in->body, err);
    else if (in->spawn != NULL)
        rv = mortise_run_keep_spawn(r, in->spawn, err);
    if (rv == MORTISE_OK && in->spawn != NULL)
        rv = mortise_tree_open(r, err);
    if (rv == MORTISE_OK)
        rv = wait_for_sync(r, x, s, err);
    if (rv == MORTISE_OK)
        return record_answer(r, x, s, MORTISE_S_OK, answer, false, err);
    json_decref(answer);
    return rv;
}

const char *mortise_step_kind_name(const struct step *s)
{
    return s->kind == MORTISE_STEP_TIMER   ? "timer"
           : s->kind == MORTISE_STEP_CHILD ? "spawn"
                                           : "custom";
}

/* {id, kind, node, path, ...}: what people see of a question; a timer has
 * for_ms besides, when it is for so and so long and not until a time of day. */
static json_t *request_payload(const struct mortise_run *r,
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

    mortise_exec_path(r, x, path);
    out = json_pack("{s:s, s:s, s:s, s:s}", "id", id, "kind",
                    mortise_step_kind_name(s), "node",
                    mortise_exec_node(r, x)->id, "path", path);
    for (size_t i = 0; out != NULL && members[i] != NULL; i++) {
        json_t *value = json_object_get(body, members[i]);

        if (value != NULL && json_object_set(out, members[i], value) != 0)
            mortise_json_drop(&out);
    }
    return out;
}

/* Stable across restarts; another one in each attempt, and in another run of
 * the same name: of another store, or of one made anew. */
static void request_id(const struct mortise_run *r, const struct exec *x,
                       const struct step *s, char out[REQUEST_ID])
{
    uint8_t digest[MORTISE_DIGEST];
    struct mortise_hasher h;

    mortise_exec_hasher(&h, r, x);
    mortise_hasher_str(&h, "step");
    mortise_hasher_field(&h, r->seed, sizeof r->seed);
    mortise_hasher_u64(&h, x->generation);
    mortise_hasher_u64(&h, x->attempt);
    mortise_hasher_u64(&h, s->ordinal);
    mortise_hasher_str(&h, s->key);
    mortise_hasher_final(&h, digest);
    mortise_hex(out, digest, (REQUEST_ID - 1) / 2);
}

/* Who asked for what somebody answers later lets go, or stays. */
static int tell_pending(struct mortise_run *r, struct exec *x, struct step *s,
                        const struct mortise_ask_in *in,
                        struct mortise_err *err)
{
    s->ask = in->holds ? in->ask : 0;
    return in->holds ? mortise_exec_disarm(r, x, err) /* its timeout */
                     : reply_later(r, x->journal, in->ask,
                                   "the answer is not available yet", err);
}

static int ask_somebody(struct mortise_run *r, struct exec *x, struct step *s,
                        const struct mortise_ask_in *in,
                        struct mortise_err *err)
{
    struct mortise_entry e = entry_for(r, x, s, MORTISE_E_STEP);
    const json_t *wait = json_object_get(in->body, "for_ms");
    const json_t *until = json_object_get(in->body, "until_ms");
    char id[REQUEST_ID];
    int rv;

    if (in->refused != NULL)
        return record_answer(r, x, s, MORTISE_S_DENIED,
                             json_string(in->refused), false, err);
    request_id(r, x, s, id);
    assert(s->kind == MORTISE_STEP_QUESTION || s->kind == MORTISE_STEP_TIMER ||
           s->kind == MORTISE_STEP_CHILD);
    e.id = id;
    e.how = (uint8_t)(in->inside ? MORTISE_STEP_INNER : s->kind);
    e.at_ms = 0;
    if (wait != NULL)
        e.at_ms = r->time_ms + (uint64_t)json_integer_value(wait);
    else if (until != NULL)
        e.at_ms = (uint64_t)json_integer_value(until);
    e.value = request_payload(r, x, s, in->body, id);
    rv = e.value != NULL ? mortise_run_record(r, &e, err) : mortise_nomem(err);
    json_decref(e.value);
    if (s->lasts_ms != 0)
        s->ends_ms = r->steady_ms + s->lasts_ms;
    return rv != MORTISE_OK ? rv : tell_pending(r, x, s, in, err);
}

/* (11) */
static int ask_model(struct mortise_run *r, struct exec *x, struct step *s,
                     const struct mortise_ask_in *in, struct mortise_err *err)
{
    struct mortise_entry e = entry_for(r, x, s, MORTISE_E_PROMPT);
    uint64_t seq = mortise_run_commit_now(r);
    json_t *budget = NULL;
    int rv = MORTISE_OK;

    if (s->spends)
        rv = mortise_budget_amounts(&budget, x, in->model->most, err);
    if (rv == MORTISE_OK)
        rv = mortise_prompt_record(r, &e, in->model, budget, err);
    if (rv == MORTISE_OK && budget != NULL)
        seq = mortise_run_commit_now(r);
    json_decref(budget);
    if (rv != MORTISE_OK)
        return rv;
    return seq > r->synced ? wait_for(r, x, s, seq, err)
                           : perform(r, in->ask, s->index, NULL, err);
}

static int ask_read(struct mortise_run *r, struct exec *x, struct step *s,
                    const struct mortise_ask_in *in, struct mortise_err *err)
{
    return in->model != NULL ? ask_model(r, x, s, in, err)
                             : perform(r, in->ask, s->index, NULL, err);
}

/* ---- tools (10) ----------------------------------------------------------- */

/* An answer that is no execution's: takes the value (NULL: out of memory). */
static int answer_tool(struct mortise_run *r, struct exec *x, struct step *s,
                       json_t *value, struct mortise_err *err)
{
    return record_answer(r, x, s, MORTISE_S_OK, value, false, err);
}

/* {error} for a name that no tool has, with those that there are. */
static json_t *unknown_tool(const struct exec *x,
                            const struct mortise_graph *tools, const char *name)
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

/* What an earlier attempt had run for the same call goes on; else it is run.
 * Takes the value (NULL: out of memory). */
static int record_invoke(struct mortise_run *r, struct exec *x, struct step *s,
                         const char *tool, json_t *value,
                         struct mortise_err *err)
{
    struct exec *earlier =
        s->has_effect ? mortise_tool_earlier(x, s->effect) : NULL;
    struct mortise_entry e = entry_for(
        r, x, s, earlier != NULL ? MORTISE_E_INVOKE_AGAIN : MORTISE_E_INVOKE);

    if (earlier != NULL && mortise_tool_is_refused(x, earlier)) {
        json_decref(value);
        return answer_tool(r, x, s, mortise_tool_refusal(r, earlier), err);
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
                                       ? mortise_graph_tool(tools, name)
                                       : mortise_graph_planner(tools);
    const struct mortise_handover *to = mortise_graph_handover(tools, name);
    json_t *known = NULL;

    if (n != NULL && tool != NULL &&
        !mortise_exec_is_offered(x, tools->offers[n - tools->nodes].tool))
        n = NULL;
    if (n == NULL && to != NULL)
        return answer_tool(r, x, s, json_pack("{s:s}", "goto", to->node), err);
    if (n == NULL)
        return answer_tool(r, x, s, unknown_tool(x, tools, name), err);
    if (mortise_node_acts(n)) {
        mortise_step_become_effect(r, x, s);
        known = mortise_step_effect_answer(x, s->effect);
    }
    if (known != NULL)
        return record_answer(r, x, s, MORTISE_S_OK, json_incref(known), true,
                             err);
    return record_invoke(r, x, s, n->id,
                         json_pack("{s:O, s:s*}", "arguments",
                                   json_object_get(in->body, "arguments"),
                                   "tool_use_id",
                                   in->alias[0] != '\0' ? in->alias : NULL),
                         err);
}

/* Was it asked for before, and what was run for it stopped? */
static bool was_stopped(const struct step *s)
{
    return s->kind == MORTISE_STEP_TOOL && s->state == STEP_OUT && s->exec != 0;
}

/* ... and is asked for again, by the same name. */
static int invoke_again(struct mortise_run *r, struct exec *x, struct step *s,
                        struct mortise_err *err)
{
    return record_invoke(r, x, s, mortise_exec_node(r, r->execs[s->exec])->id,
                         json_incref(s->payload), err);
}

int mortise_step_look(struct mortise_run *r, struct exec *x,
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
        if (was_stopped(s))
            rv = invoke_again(r, x, s, err);
        else if (s->state == STEP_OPEN && waits(r, r->execs[s->exec]))
            rv = tell_later(r, j, s, err);
    }
    return rv == MORTISE_OK ? pump(r, j, err) : rv;
}

/* What is asked for the first time, by its kind; and who may ask it. */
static const struct {
    int (*ask)(struct mortise_run *r, struct exec *x, struct step *s,
               const struct mortise_ask_in *in, struct mortise_err *err);
    bool changes; /* the world */
    bool waits;   /* somebody answers it later, or time does */
} kinds[] = {[MORTISE_STEP_READ] = {.ask = ask_read},
             [MORTISE_STEP_LOOK] = {.ask = ask_read},
             [MORTISE_STEP_EFFECT] = {.ask = ask_effect, .changes = true},
             [MORTISE_STEP_QUESTION] = {.ask = ask_somebody, .waits = true},
             [MORTISE_STEP_TIMER] = {.ask = ask_somebody, .waits = true},
             [MORTISE_STEP_GET] = {.ask = ask_get},
             [MORTISE_STEP_PUT] = {.ask = ask_put, .changes = true},
             [MORTISE_STEP_REPEAT] = {.ask = ask_effect, .changes = true},
             [MORTISE_STEP_TOOL] = {.ask = ask_tool, .changes = true},
             [MORTISE_STEP_CHILD] = {.ask = ask_somebody, .waits = true}};

/* ---- asking again ------------------------------------------------------- */

static int ask_again(struct mortise_run *r, struct exec *x, struct step *s,
                     const struct mortise_ask_in *in, struct mortise_err *err)
{
    /* Its wait may be under way still.  mortise_step_put() replaces what was
     * never recorded. */
    assert(s->state != STEP_OUT || was_stopped(s));
    if (was_stopped(s))
        return invoke_again(r, x, s, err);
    if (s->state == STEP_OPEN && s->kind == MORTISE_STEP_TOOL) {
        mortise_exec_list_asker(r, x); /* it may wait by now */
        return MORTISE_OK;
    }
    if (s->state == STEP_ANSWERED ||
        (s->state == STEP_OPEN && s->seq > r->synced))
        return MORTISE_OK;
    if (s->state == STEP_PENDING)
        return tell_pending(r, x, s, in, err);
    return s->cleared /* else doubt.c let it go on */
               ? record_step(r, x, s, in, err)
               : make(r, s, err);
}

/* (6).  The call has to stop; what it was told is its failure. */
static int violation(struct mortise_run *r, struct exec *x,
                     const struct step *s, const struct mortise_ask_in *in,
                     struct mortise_err *err)
{
    const char *name =
        mortise_step_called((struct step_id){s->ordinal, s->key});
    const char *node = mortise_exec_node(r, x)->id;
    char which[160];
    int rv;

    assert(x->state == X_RUNNING); /* who broke its word asked */
    snprintf(which, sizeof which, name[0] != '\0' ? "'%.128s'" : "%s%u", name,
             (unsigned)s->ordinal);
    mortise_json_drop(&x->broke);
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
    return rv != MORTISE_OK ? rv : mortise_exec_cancel(r, x, STOP_BROKE, err);
}

json_t *mortise_step_take_broke(struct exec *x)
{
    json_t *words = x->broke;

    x->broke = NULL;
    return words;
}

/* The name of what is asked now; `room` for a guardrail's key. */
static struct step_id name_of(struct journal *j,
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

/* It is called again when there is something to be spent (budget.c (7)); but in
 * the middle of an effect nothing is stopped for money, which would leave that
 * in doubt. */
static int stop_for_budget(struct mortise_run *r, struct exec *x,
                           const struct mortise_ask_in *in,
                           struct mortise_err *err)
{
    int rv = reply_words(r, in->ask,
                         in->inside ? MORTISE_S_DENIED : MORTISE_S_CANCELLED,
                         "the budget is used up", err);

    return rv == MORTISE_OK && !in->inside
               ? mortise_exec_cancel(r, x, STOP_BUDGET, err)
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
    int rv = journal_for(r, x, &j, err);

    if (rv != MORTISE_OK ||
        mortise_json_digest(digest, in->body, r->mem) != MORTISE_OK)
        return mortise_nomem(err);
    assert(strlen(in->key) < KEY_MAX); /* host_calls.c lets no longer name in */
    id = name_of(j, in, room, sizeof room);
    s = mortise_step_find(j, id);
    if (s != NULL && s->entrance == j->entrance &&
        !(s->state == STEP_OPEN && s->cleared))
        return reply_words(r, in->ask, MORTISE_S_INVALID,
                           "another ask of this call has the same step name",
                           err);
    if (in->model != NULL && (s == NULL || s->state == STEP_OUT) &&
        x->call == MORTISE_RUN_EXECUTE)
        rv = mortise_budget_has_room(r, x, in->model->most, &room_left, err);
    if (rv != MORTISE_OK || !room_left)
        return rv == MORTISE_OK ? stop_for_budget(r, x, in, err) : rv;
    if (s == NULL && j->n >= STEPS_MAX)
        return reply_words(r, in->ask, MORTISE_S_FAILED,
                           "an execution can make at most 65536 asks", err);
    assert(!in->inside || in->key[0] != '\0'); /* host_calls.c asks for it */
    j->issued += !in->inside;
    if (s == NULL || (s->state == STEP_OUT && !was_stopped(s))) {
        rv = mortise_step_put(r, j, id, in->method, digest, &s, err);
        if (rv != MORTISE_OK)
            return rv;
        s->kind = in->kind;
        s->of_model = in->model != NULL;
        s->inside = in->inside;
        s->spends = s->of_model && x->call == MORTISE_RUN_EXECUTE;
        s->entrance = j->entrance;
        s->ask = in->ask;
        if (in->model != NULL)
            rv = mortise_pins_use(r, in->model->by, err);
        if (rv == MORTISE_OK)
            rv = kinds[s->kind].ask(r, x, s, in, err);
    } else if (!mortise_step_is_like(s, in->method, digest)) {
        return violation(r, x, s, in, err);
    } else {
        s->entrance = j->entrance;
        s->ask = in->ask;
        rv = ask_again(r, x, s, in, err);
    }
    return rv != MORTISE_OK ? rv : pump(r, j, err); /* one more was asked */
}

/* (9) */
static int ask_aside(struct mortise_run *r, struct exec *x,
                     const struct mortise_ask_in *in, struct mortise_err *err)
{
    const char *who = x->call == MORTISE_RUN_CHECK ? "a guardrail"
                                                   : "a compaction or a judge";
    char words[128];

    if (kinds[in->kind].changes) {
        snprintf(words, sizeof words,
                 "%s cannot have effects: it can only read", who);
        return reply_words(r, in->ask, MORTISE_S_DENIED, words, err);
    }
    if (kinds[in->kind].waits) {
        snprintf(words, sizeof words,
                 "%s cannot wait for a person or a time: only an operation can",
                 who);
        return reply_words(r, in->ask, MORTISE_S_UNSUPPORTED, words, err);
    }
    return ask_journaled(r, x, in, err);
}

/* Of a reconciliation, a lookup, or what remembers. */
static int ask_plain(struct mortise_run *r, const struct mortise_ask_in *in,
                     struct mortise_err *err)
{
    if (kinds[in->kind].waits || in->kind == MORTISE_STEP_PUT ||
        in->kind == MORTISE_STEP_TOOL)
        return reply_words(r, in->ask, MORTISE_S_UNSUPPORTED,
                           "only an operation can ask for this", err);
    return perform(r, in->ask, NO_STEP, NULL, err);
}

int mortise_step_ask(struct mortise_run *r, const struct mortise_ask_in *in,
                     struct mortise_err *err)
{
    struct exec *x = mortise_exec_at(r, in->call);

    if (mortise_run_is_own(r, in->call))
        return ask_plain(r, in, err);
    if (x == NULL || x->state != X_RUNNING)
        return reply_words(r, in->ask, MORTISE_S_CANCELLED, "cancelled", err);
    assert(in->kind >= MORTISE_STEP_READ && in->kind <= MORTISE_STEP_CHILD &&
           in->kind != MORTISE_STEP_INNER);
    if (mortise_call_is_aside(x->call))
        return ask_aside(r, x, in, err);
    return x->call == MORTISE_RUN_EXECUTE ? ask_journaled(r, x, in, err)
                                          : ask_plain(r, in, err);
}

/* ---- answers ------------------------------------------------------------ */

/* It was told to stop before it had begun to be anything: when it is asked for
 * again, it is made as if for the first time. */
static int take_back(struct mortise_run *r, const struct exec *x,
                     struct step *s, int32_t status, json_t *words,
                     struct mortise_err *err)
{
    struct mortise_entry e = entry_for(r, x, s, MORTISE_E_ANSWER);

    assert(s->state == STEP_OUT || s->state == STEP_OPEN);
    s->ask = 0;
    e.status = status;
    e.how = ANSWER_UNDONE;
    return s->state == STEP_OPEN /* its intent is on the record */
               ? mortise_run_record_value(r, &e, json_incref(words), err)
               : MORTISE_OK;
}

int mortise_step_take_back(struct mortise_run *r, const struct exec *x,
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
        rv = take_back(r, x, s, MORTISE_S_CANCELLED, words, err);
    }
    json_decref(words);
    return rv;
}

/* (8): its asker is to let go, until somebody knows. */
static int answer_later(struct mortise_run *r, struct exec *x, struct step *s,
                        const struct mortise_answer_in *in, json_t *value,
                        struct mortise_err *err)
{
    int rv = mortise_doubt_heard(r, x, s, in, value, err);

    s->ask = 0;
    return rv != MORTISE_OK
               ? rv
               : reply_later(r, x->journal, in->ask,
                             "it is not known yet whether the effect happened",
                             err);
}

int mortise_step_refute(struct mortise_run *r, struct exec *x, struct step *s,
                        struct mortise_err *err)
{
    const struct heard *h = s->heard;
    struct mortise_entry e = entry_for(r, x, s, MORTISE_E_ANSWER);

    e.status = h != NULL ? h->status : MORTISE_S_CANCELLED;
    e.after = h != NULL ? h->after : x->journal->issued;
    return mortise_run_record_value(
        r, &e,
        h != NULL ? json_incref(h->value)
                  : json_string("the effect did not happen"),
        err);
}

int mortise_step_answer(struct mortise_run *r,
                        const struct mortise_answer_in *in,
                        struct mortise_err *err)
{
    struct exec *x = mortise_exec_at(r, in->call);
    struct journal *j = x != NULL ? journal_of(x) : NULL;
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
        rv = MORTISE_OK; /* it was ended without it */
    } else {
        s = j->steps[in->step];
        if (in->undone) {
            rv = take_back(r, x, s, in->status, value, err);
            if (rv == MORTISE_OK)
                rv = reply(r, in->ask, in->status, value, err);
        } else if (in->doubtful && mortise_doubt_is_of_step(r, x, s))
            rv = answer_later(r, x, s, in, value, err);
        else
            rv = record_answer(r, x, s, in->status, json_incref(value),
                               s->has_effect && in->completed, err);
        if (rv == MORTISE_OK)
            rv = pump(r, j, err);
    }
    json_decref(value);
    return rv;
}

static int went_to_disk(struct mortise_run *r, const struct step_wait *w,
                        struct mortise_err *err)
{
    struct exec *x = r->execs[w->exec];
    struct journal *j = w->of_check ? x->checks : x->journal;
    struct step *s = j != NULL && w->step < j->n ? j->steps[w->step] : NULL;

    if (s == NULL || s->seq != w->seq || x->state != X_RUNNING ||
        (w->of_check ? !mortise_call_is_aside(x->call)
                     : x->call != MORTISE_RUN_EXECUTE) ||
        s->entrance != j->entrance)
        return MORTISE_OK;
    if (s->state == STEP_OPEN && s->ask != 0)
        return make(r, s, err);
    if (s->state == STEP_OUT && s->ask != 0)
        return perform(r, s->ask, s->index, NULL, err); /* a GET */
    return pump(r, j, err);
}

int mortise_step_synced(struct mortise_run *r, struct mortise_err *err)
{
    size_t n = 0;
    int rv = MORTISE_OK;

    while (n < r->n_step_waits && r->step_waits[n].seq <= r->synced &&
           rv == MORTISE_OK)
        rv = went_to_disk(r, &r->step_waits[n++], err);
    r->n_step_waits -= n;
    if (n > 0)
        memmove(r->step_waits, r->step_waits + n,
                r->n_step_waits * sizeof r->step_waits[0]);
    return rv;
}

/* ---- coming and going --------------------------------------------------- */

/* What its journal was told before is told again, from the first on. */
static void begin_again(struct journal *j)
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

int mortise_step_enter(struct mortise_run *r, struct exec *x,
                       struct mortise_err *err)
{
    struct journal *j = journal_of(x);

    if (x->call == MORTISE_RUN_EXECUTE)
        x->goes_on = j != NULL && j->recorded > 0;
    if (j == NULL)
        return MORTISE_OK;
    begin_again(j);
    return mortise_call_is_aside(x->call) ? set_scope(r, x, err) : MORTISE_OK;
}

bool mortise_step_left_unasked(const struct exec *x)
{
    const struct journal *j = journal_of(x);

    for (size_t i = 0; j != NULL && i < j->n; i++) {
        if (j->steps[i]->state != STEP_OUT && !j->steps[i]->inside &&
            j->steps[i]->entrance != j->entrance && is_own(j, j->steps[i]))
            return true;
    }
    return false;
}

/* The pending request of x that is due first, and has a deadline. */
/* How long until its deadline: by the clock that is never set, when it waits
 * for so and so long.  Of one that an earlier process began to wait for, that
 * clock knows nothing: the wall clock says what is left, but never more than
 * all. */
static uint64_t left_ms(const struct mortise_run *r, struct step *s)
{
    uint64_t left =
        s->deadline_ms > r->time_ms ? s->deadline_ms - r->time_ms : 0;

    if (s->lasts_ms == 0)
        return left;
    if (s->ends_ms == 0)
        s->ends_ms = r->steady_ms + (left < s->lasts_ms ? left : s->lasts_ms);
    return s->ends_ms > r->steady_ms ? s->ends_ms - r->steady_ms : 0;
}

static struct step *soonest(const struct mortise_run *r, const struct exec *x)
{
    const struct journal *j = x->journal;
    struct step *best = NULL;

    for (size_t i = 0; j != NULL && i < j->n; i++) {
        struct step *s = j->steps[i];

        if (mortise_step_is_request(s) && s->deadline_ms != 0 &&
            (best == NULL || left_ms(r, s) < left_ms(r, best)))
            best = s;
    }
    return best;
}

int mortise_step_arm(struct mortise_run *r, struct exec *x,
                     struct mortise_err *err)
{
    struct step *s = soonest(r, x);

    assert(x->state == X_SUSPENDED);
    if (s == NULL || x->timer)
        return MORTISE_OK;
    mortise_exec_near(
        r, x, s->kind == MORTISE_STEP_TIMER && left_ms(r, s) <= NEAR_MS);
    mortise_exec_renew(x);
    return s->lasts_ms != 0 ? mortise_exec_arm_in(r, x, left_ms(r, s), err)
                            : mortise_exec_arm(r, x, s->deadline_ms, err);
}

int mortise_step_let_go(struct mortise_run *r, struct exec *x,
                        struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_entry(r, x, MORTISE_E_LET_GO);
    const struct journal *j = x->journal;
    bool pending = false, settled = false;
    int rv;

    assert(x->call == MORTISE_RUN_EXECUTE); /* a check waits for nobody (9) */
    /* Answered meanwhile: told it would be later, and is there now. */
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
    return rv == MORTISE_OK && !settled ? mortise_step_arm(r, x, err) : rv;
}

int mortise_step_expired(struct mortise_run *r, struct exec *x,
                         struct mortise_err *err)
{
    struct step *s;
    int rv = MORTISE_OK;

    assert(x->state == X_SUSPENDED);
    while (rv == MORTISE_OK && (s = soonest(r, x)) != NULL &&
           left_ms(r, s) == 0) {
        struct mortise_entry e = mortise_exec_entry(r, x, MORTISE_E_SETTLE);

        e.how = MORTISE_SETTLE_EXPIRED;
        e.id = s->request;
        rv = mortise_run_record(r, &e, err);
    }
    return rv == MORTISE_OK && x->state == X_SUSPENDED
               ? mortise_step_arm(r, x, err)
               : rv;
}

int mortise_step_check_answer(struct mortise_run *r, const struct step *s,
                              const json_t *value, struct mortise_err *err)
{
    const struct mortise_schema_world world = {.patterns =
                                                   MORTISE_PATTERNS_FOREIGN};
    json_t *json = json_object_get(s->payload, "schema");
    struct mortise_schema *schema = NULL;
    struct mortise_arena a;
    char where[256];
    int rv = mortise_fold_check_depth(value, err);

    if (rv != MORTISE_OK || json == NULL)
        return rv;
    mortise_arena_init(&a, r->mem);
    rv = mortise_schema_compile_in(&schema, &a, json, &world, where,
                                   sizeof where, err);
    if (rv == MORTISE_OK)
        rv = mortise_schema_check_within(schema, value, r->graph->expr_cost,
                                         err);
    mortise_schema_finish(schema);
    mortise_arena_finish(&a);
    return rv != MORTISE_OK ? mortise_doing(err, rv, "answer") : rv;
}

int mortise_step_answered(struct mortise_run *r, struct exec *x, struct step *s,
                          json_t *value, const char *actor,
                          struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_entry(r, x, MORTISE_E_SETTLE);
    int rv =
        x->state == X_SUSPENDED ? mortise_exec_disarm(r, x, err) : MORTISE_OK;

    assert(mortise_step_is_request(s) && s->kind != MORTISE_STEP_TIMER);
    e.how = MORTISE_SETTLE_ANSWERED;
    e.id = s->request;
    e.value = value;
    e.actor = actor;
    if (rv == MORTISE_OK)
        rv = mortise_run_record(r, &e, err);
    if (rv != MORTISE_OK || s->ask == 0 || x->state != X_RUNNING)
        return rv;
    /* its asker stayed, and has as long as at first for what it does now */
    if (mortise_exec_timeout_ms(x) != 0 && !x->timer)
        rv = mortise_exec_arm_in(r, x, mortise_exec_timeout_ms(x), err);
    return rv == MORTISE_OK ? wait_for_sync(r, x, s, err) : rv;
}

/* ---- children ------------------------------------------------------------ */

/* The handle of the child for whose end s waits; NULL: it does not. */
static const char *awaited(const struct step *s)
{
    return s->kind == MORTISE_STEP_CHILD && mortise_step_is_request(s)
               ? json_string_value(json_object_get(s->payload, "handle"))
               : NULL;
}

void mortise_run_awaited(const struct mortise_run *r,
                         void (*fn)(void *ud, const char *handle), void *ud)
{
    for (size_t i = 1; r->n_awaited > 0 && i < r->n_execs; i++) {
        const struct journal *j = r->execs[i]->journal;

        for (size_t k = 0; j != NULL && k < j->n; k++)
            if (awaited(j->steps[k]) != NULL)
                fn(ud, awaited(j->steps[k]));
    }
}

int mortise_step_child_ended(struct mortise_run *r, const char *handle,
                             json_t *end, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = 1; r->n_awaited > 0 && rv == MORTISE_OK && i < r->n_execs;
         i++) {
        struct exec *x = r->execs[i];
        struct journal *j = x->journal;

        for (size_t k = 0; j != NULL && rv == MORTISE_OK && k < j->n; k++) {
            const char *waits = awaited(j->steps[k]);

            if (waits != NULL && strcmp(waits, handle) == 0)
                rv = mortise_step_answered(r, x, j->steps[k], end, "", err);
        }
    }
    return rv;
}

/* ---- places ---------------------------------------------------------------- */

/* One that is answered is told of its answer, and stays. */
static bool stays_for(const struct step *s, const struct mortise_yield_in *in)
{
    const char *waits = awaited(s);

    if (s->ask == 0 || in->ask != 0)
        return s->ask != 0 && s->ask == in->ask;
    if (waits != NULL)
        return in->handle == NULL || strcmp(waits, in->handle) == 0;
    return in->tools && s->kind == MORTISE_STEP_TOOL && s->state == STEP_OPEN &&
           s->exec != 0;
}

int mortise_step_yield(struct mortise_run *r, const struct mortise_yield_in *in,
                       struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++) {
        const struct exec *x = r->execs[i];
        struct journal *j = x->journal;

        if (j == NULL || x->state != X_RUNNING ||
            x->call != MORTISE_RUN_EXECUTE ||
            (in->call != 0 && mortise_exec_handle(x) != in->call))
            continue;
        for (size_t k = 0; rv == MORTISE_OK && k < j->n; k++)
            if (stays_for(j->steps[k], in))
                rv = tell_later(r, j, j->steps[k], err);
        if (rv == MORTISE_OK)
            rv = pump(r, j, err);
    }
    return rv;
}

/* ---- looking ------------------------------------------------------------ */

bool mortise_run_is_replaying(const struct mortise_run *r, uint64_t call)
{
    struct exec *x = mortise_exec_at(r, call);
    struct journal *j = x != NULL ? journal_of(x) : NULL;
    const struct step *s = j != NULL ? next_answer(j) : NULL;

    return s != NULL && s->settled != j->entrance;
}
