/* model.c -- model.call/1 and model.embed/1: a model is asked, by its alias.
 *
 * Asked  {alias?, model?, messages, tools? ...} (<mortise/model.h>, but for
 *         the alias, "default", and the model, which the deployment says unless
 *         it is said), or {alias?, model?, texts, dimensions?, extra?}.
 *         In the place of messages, what goes on: {after: STEP, append}, from
 *         the reply that a step of this call got; or {continue: true, append,
 *         messages?}, from the conversation that the node has, with messages
 *         ahead of it (turns.c).  `prune: PART` leaves out the oldest, so that
 *         so much stays; where that is no more than `beyond: N` messages, the
 *         ask is refused.  `tools: true` are those that the node allows.
 * Answer {alias, reply, usage} where the provider gave one, {alias, error: {code,
 *         class, message, retry_after_ms?}, usage?} where it did not; the alias
 *         is the one that was asked, of another tier where that is so.  Of a
 *         reply that
 *         was to be JSON and is not cut there is `json`, what it is, or
 *         `invalid`, in words, why it is not what was asked for; of a pruned
 *         one `left_out`, how many messages were.
 *
 * An error of a provider is an answer: it is recorded like a reply, so that
 * whoever asked decides the same when it is entered again.  What is no call of
 * a model at all (another alias, messages that are none) is refused, and
 * recorded nowhere.
 *
 * The plugin behind the alias makes the call (its chat() or embed()), and is
 * told the whole conversation; what it asks meanwhile is part of this one step.
 * A call that was out when the process died is made again: it changes nothing
 * but the bill.
 *
 * What it used is what the provider told; the dollars are counted here, by the
 * alias's price, unless the provider told those, too.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lang/config/deploy.h"
#include "core/engine/common/secret_store.h"
#include "services/secrets/body.h"
#include "services/model/conversation.h"
#include "services/model/json_reply.h"
#include "services/model/turns.h"
#include "core/engine/runs/call.h"
#include "lang/schema/parameters.h"
#include "mortise/model.h"
#include "core/plugin/kind.h"

/* ---- what is asked -------------------------------------------------------- */

static const struct mortise_models *models_of(const struct mortise_asked *a)
{
    return &a->m->settings.deployment->models;
}

static const char *alias_of(const struct mortise_asked *a)
{
    const char *alias = json_string_value(json_object_get(a->body, "alias"));

    return alias != NULL ? alias : "default";
}

/* The alias, or which one stands in its place for the node that asks; of an
 * alias that there is. */
static const struct mortise_model_alias *model_of(const struct mortise_asked *a)
{
    const struct mortise_node *node = a->call->node; /* NULL: of no run */

    return mortise_model_for(models_of(a), alias_of(a),
                             node != NULL ? node->complexity : NAN);
}

static const struct mortise_graph *tools_of(const struct mortise_asked *a)
{
    return a->call->node->tools;
}

/* What it says about an ask that is none. */
static int32_t refuse(const struct mortise_asked *a, char *words, int rv,
                      const struct mortise_err *why)
{
    if (rv == MORTISE_OK)
        return MORTISE_S_OK;
    return mortise_ask_refuse(
        words, rv == MORTISE_ENOMEM ? MORTISE_S_NOMEM : MORTISE_S_INVALID,
        "not a valid request of %s: %.400s", a->method_name, why->msg);
}

/* The alias, and the plugin that is the way to it. */
static int32_t check_alias(struct mortise_asked *a, char *words)
{
    const json_t *alias = json_object_get(a->body, "alias");
    const struct mortise_manifest *man;
    struct mortise_err why;

    if (alias != NULL && !mortise_body_is_text(alias))
        return mortise_ask_refuse(words, MORTISE_S_INVALID,
                                  "'alias' must be a string without a NUL");
    if (mortise_model_need(models_of(a), alias_of(a), &why) != MORTISE_OK)
        return mortise_ask_refuse(words, MORTISE_S_NOTFOUND, "%.400s", why.msg);
    man = mortise_plugins_find(a->m->plugins, model_of(a)->provider, &why);
    if (man == NULL)
        return mortise_ask_refuse(
            words,
            why.code == MORTISE_ENOMEM ? MORTISE_S_NOMEM : MORTISE_S_NOTFOUND,
            "%.400s", why.msg);
    a->by = (struct mortise_pin){.plugin = man->name, .dev = man->dev};
    memcpy(a->by.digest, man->digest, MORTISE_DIGEST);
    return MORTISE_S_OK;
}

static int check_tools(const struct mortise_asked *a, struct mortise_err *why)
{
    return json_is_true(json_object_get(a->body, "tools")) &&
                   tools_of(a) == NULL
               ? mortise_fail(why, MORTISE_EINVAL,
                              "at /tools: the node has no tools")
               : MORTISE_OK;
}

static int check_turn(struct mortise_asked *a, struct mortise_err *why)
{
    struct mortise_turn *turn;
    int rv = mortise_turns_take(a, &turn, why);

    a->made = turn;
    return rv;
}

/* A pruned request that is as long as the one before it would fail like that. */
static int32_t check_pruned(const struct mortise_asked *a, char *words)
{
    const json_int_t beyond =
        json_integer_value(json_object_get(a->body, "beyond"));

    return json_object_get(a->body, "prune") == NULL ||
                   mortise_turn_left_out(a->made) > (uint64_t)beyond
               ? MORTISE_S_OK
               : mortise_ask_refuse(words, MORTISE_S_NOTFOUND,
                                    "no more messages can be omitted");
}

static int32_t check_chat(struct mortise_asked *a, char *words)
{
    struct mortise_err why;
    int32_t status;
    int rv = mortise_conversation_check(a->m, MORTISE_CONVERSATION_CHAT,
                                        a->body, &why);

    if (rv == MORTISE_OK)
        rv = mortise_json_reply_check(
            a->m, json_object_get(a->body, "response"), &why);
    if (rv == MORTISE_OK)
        rv = check_tools(a, &why);
    if (rv != MORTISE_OK)
        return refuse(a, words, rv, &why);
    status = check_alias(a, words);
    if (status == MORTISE_S_OK)
        status = refuse(a, words, check_turn(a, &why), &why);
    return status == MORTISE_S_OK ? check_pruned(a, words) : status;
}

static int32_t check_embed(struct mortise_asked *a, char *words)
{
    struct mortise_err why;
    int32_t status =
        refuse(a, words,
               mortise_conversation_check(a->m, MORTISE_CONVERSATION_EMBED,
                                          a->body, &why),
               &why);

    return status == MORTISE_S_OK ? check_alias(a, words) : status;
}

/* ---- what it may cost -------------------------------------------------------- */

/* Bytes of JSON for a token, about: texts have more, what is reckoned is not to
 * be too little. */
enum { TOKEN = 3 };

/* {alias, NAME: value}; takes the value (NULL: memory ran out), and fills in the
 * most that so many bytes, and the reply to them, cost. */
static json_t *said(const struct mortise_asked *a, const char *name,
                    json_t *value, size_t bytes, uint64_t most[MORTISE_USED_N])
{
    const struct mortise_model_alias *model = model_of(a);
    struct mortise_usage used = {0};
    uint64_t output =
        (uint64_t)json_integer_value(json_object_get(a->body, "max_tokens"));

    used.amount[MORTISE_USED_CALLS] = 1;
    used.amount[MORTISE_USED_INPUT] = bytes / TOKEN + 1;
    used.amount[MORTISE_USED_OUTPUT] = output;
    if (json_is_true(json_object_get(a->body, "cache")))
        used.amount[MORTISE_USED_CACHE_WRITE] = used.amount[MORTISE_USED_INPUT];
    mortise_model_cost(model, &used, &used.amount[MORTISE_USED_USD]);
    memcpy(most, used.amount, sizeof used.amount);
    return value != NULL
               ? json_pack("{s:s, s:o}", "alias", model->alias, name, value)
               : NULL;
}

static json_t *says_chat(const struct mortise_asked *a,
                         uint64_t most[MORTISE_USED_N])
{
    size_t n = mortise_turn_size(a->made);
    json_t *news = mortise_turn_news(a), *out;

    if (json_is_true(json_object_get(a->body, "tools")))
        n += strlen(tools_of(a)->offered);
    n += mortise_run_news_size(a->call->live->run, a->run_call);
    out = said(a, "messages", news, n, most);
    if (out != NULL && json_array_size(news) == 0)
        json_object_del(out, "messages");
    return out;
}

static json_t *says_embed(const struct mortise_asked *a,
                          uint64_t most[MORTISE_USED_N])
{
    const json_t *texts = json_object_get(a->body, "texts");
    size_t n = 0;

    MORTISE_JSON_EACH (text, i, texts)
        n += json_string_length(text);
    return said(a, "texts", json_integer((json_int_t)json_array_size(texts)), n,
                most);
}

/* ---- the call -------------------------------------------------------------- */

static int put_ms(json_t *body, const char *name, uint64_t ms)
{
    return ms != 0
               ? json_object_set_new(body, name, json_integer((json_int_t)ms))
               : 0;
}

/* Tools that a plugin offers, as servers take them; 0, or -1: memory ran out. */
static int put_tools(json_t *body, const json_t *tools)
{
    json_t *list = json_array();
    int rv = list != NULL ? 0 : -1;

    MORTISE_JSON_EACH (tool, i, tools) {
        json_t *one = json_copy(mortise_json_unconst(tool));

        if (rv == 0)
            rv = json_object_set_new(
                one, "parameters",
                mortise_json_parameters(json_object_get(tool, "parameters")));
        if (rv == 0)
            rv = json_array_append(list, one);
        json_decref(one);
    }
    if (rv == 0)
        rv = json_object_set(body, "tools", list);
    json_decref(list);
    return rv;
}

/* What the provider gets beside the conversation and the node's own tools;
 * NULL: memory ran out. */
static json_t *body_for(const struct mortise_asked *a,
                        const struct mortise_model_alias *model)
{
    static const char *const ours[] = {
        "alias", "messages", "after", "append", "continue", "prune", "beyond"};
    const json_t *tools = json_object_get(a->body, "tools");
    json_t *body = json_copy(mortise_json_unconst(a->body));

    if (body == NULL)
        return NULL;
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        json_object_del(body, ours[i]);
    if (json_is_true(json_object_get(body, "tools")))
        json_object_del(body, "tools");
    if ((json_is_array(tools) && put_tools(body, tools) != 0) ||
        (json_object_get(body, "model") == NULL &&
         json_object_set_new(body, "model", json_string(model->model))) ||
        put_ms(body, "timeout_ms", model->timeout_ms) != 0 ||
        put_ms(body, "idle_timeout_ms", model->idle_timeout_ms) != 0) {
        json_decref(body);
        return NULL;
    }
    return body;
}

/* The rest of an object whose beginning is there. */
static int write_chat(const struct mortise_asked *a, struct mortise_buf *text)
{
    int rv = MORTISE_OK;

    assert(text->n > 1 && text->p[text->n - 1] == '}');
    text->n--;
    if (json_is_true(json_object_get(a->body, "tools"))) {
        mortise_buf_puts(text, ",\"tools\":");
        rv = mortise_tools_write(a, text);
    }
    mortise_buf_puts(text, ",\"messages\":[");
    if (rv == MORTISE_OK)
        rv = mortise_turn_write(a->made, a->told, text);
    mortise_buf_puts(text, "]}");
    return rv;
}

static void start(struct mortise_asked *a, const struct mortise_call_kind *kind,
                  int (*rest)(const struct mortise_asked *a,
                              struct mortise_buf *text))
{
    const struct mortise_model_alias *model = model_of(a);
    struct mortise_buf text;
    struct mortise_err err;
    json_t *body;
    int rv;

    assert(model != NULL); /* check() looked */
    mortise_buf_init(&text, a->m->mem);
    body = body_for(a, model);
    rv = body != NULL ? mortise_json_write(&text, body) : MORTISE_ENOMEM;
    json_decref(body);
    if (rv == MORTISE_OK && rest != NULL)
        rv = rest(a, &text);
    if (rv == MORTISE_OK)
        rv = mortise_calls_serve(a, kind, model->alias, &text,
                                 model->timeout_ms, &err);
    mortise_buf_finish(&text);
    if (rv != MORTISE_OK)
        mortise_host_call_answer(a, MORTISE_S_NOMEM, NULL, "out of memory");
}

static void start_chat(struct mortise_asked *a)
{
    json_decref(a->told);
    a->told = mortise_run_hear(a->live->run, a->run_call, a->step);
    if (a->told == NULL) {
        mortise_host_call_answer(a, MORTISE_S_NOMEM, NULL, "out of memory");
        return;
    }
    start(a, &mortise_call_chat, write_chat);
}

static void start_embed(struct mortise_asked *a)
{
    start(a, &mortise_call_embed, NULL);
}

/* ---- the answer ------------------------------------------------------------ */

/* What the server calls the model that was asked: [name].  NULL: memory ran
 * out. */
static json_t *asked_for(const struct mortise_asked *a)
{
    json_t *said = json_object_get(a->body, "model");

    return said != NULL ? json_pack("[O]", said)
                        : json_pack("[s]", model_of(a)->model);
}

/* What it cost, and of which model; NULL: memory ran out. */
static json_t *usage_of(const struct mortise_asked *a,
                        const struct mortise_host_call_served *how)
{
    const struct mortise_model_alias *model = model_of(a);
    struct mortise_usage used = *how->usage; /* its names are lent */
    json_t *out;

    if (used.amount[MORTISE_USED_CALLS] == 0)
        used.amount[MORTISE_USED_CALLS] = 1; /* it was made, however it went */
    if (used.amount[MORTISE_USED_USD] == 0)
        mortise_model_cost(model, &used, &used.amount[MORTISE_USED_USD]);
    if (used.models != NULL)
        return mortise_usage_json(&used);
    used.models = asked_for(a);
    out = used.models != NULL ? mortise_usage_json(&used) : NULL;
    json_decref(used.models);
    return out;
}

/* Takes the reference. */
static void answer(struct mortise_asked *a, json_t *out)
{
    if (out != NULL)
        mortise_host_call_answer(a, MORTISE_S_OK, out, "");
    else
        mortise_host_call_answer(a, MORTISE_S_NOMEM, NULL, "out of memory");
}

/* What there is to say of the conversation besides. */
static int put_turn(const struct mortise_asked *a, json_t *to)
{
    size_t left_out = a->made != NULL ? mortise_turn_left_out(a->made) : 0;

    return left_out > 0
               ? json_object_set_new(to, "left_out",
                                     json_integer((json_int_t)left_out))
               : 0;
}

/* What the model heard besides, and whether there is more by now. */
static int put_told(const struct mortise_asked *a, json_t *to)
{
    const struct mortise_ongoing *c = a->call;
    int rv = 0;

    if (json_array_size(a->told) > 0)
        rv = json_object_set(to, "told", a->told);
    return rv == 0 && a->made != NULL &&
                   mortise_run_has_news(c->live->run, c->run_call)
               ? json_object_set_new(to, "more", json_true())
               : rv;
}

static bool is_whole(const json_t *reply)
{
    return strcmp(json_string_value(json_object_get(reply, "stop")), "end") ==
           0;
}

/* What the reply is, if it was to be JSON; MORTISE_ENOMEM. */
static int put_json(struct mortise_asked *a, json_t *to, const json_t *reply)
{
    const json_t *response = json_object_get(a->body, "response");
    struct mortise_err why;
    json_t *value;
    int rv;

    if (response == NULL || !is_whole(reply))
        return MORTISE_OK;
    rv = mortise_json_reply_read(a->m, response, reply, &value, &why);
    if (rv == MORTISE_OK)
        rv = json_object_set_new(to, "json", value);
    else if (rv == MORTISE_EINVAL)
        rv = json_object_set_new(to, "invalid", json_string(why.msg));
    return rv == 0 ? MORTISE_OK : MORTISE_ENOMEM;
}

/* Takes the reply and the usage (NULL: memory ran out). */
static void answer_reply(struct mortise_asked *a, json_t *reply, json_t *usage)
{
    json_t *out = json_pack("{s:s, s:o, s:o}", "alias", model_of(a)->alias,
                            "reply", reply, "usage", usage);

    if (out != NULL && (put_json(a, out, reply) != MORTISE_OK ||
                        put_turn(a, out) != 0 || put_told(a, out) != 0))
        mortise_json_drop(&out);
    answer(a, out);
}

static void fail(struct mortise_asked *a, const char *code,
                 const char *error_class, const char *message,
                 uint64_t retry_after_ms, json_t *usage)
{
    json_t *error = json_pack("{s:s, s:s, s:s}", "code", code, "class",
                              error_class, "message", message);
    json_t *out;

    if (error != NULL && put_ms(error, "retry_after_ms", retry_after_ms) != 0)
        mortise_json_drop(&error);
    if (error != NULL)
        error = mortise_secret_store_masked(a->m->secret_store, error);
    out = error != NULL
              ? json_pack("{s:s, s:o, s:O}", "alias", model_of(a)->alias,
                          "error", error, "usage", usage)
              : NULL;
    json_decref(usage);
    if (out != NULL && put_turn(a, out) != 0)
        mortise_json_drop(&out);
    answer(a, out);
}

static bool is_type(const json_t *part, const char *type)
{
    return strcmp(json_string_value(json_object_get(part, "type")), type) == 0;
}

/* The calls of tools in a reply; -1: two have one id, or one has an id or a name with
 * a NUL, which no tool has. */
static int count_calls(const json_t *reply, struct mortise_err *why)
{
    json_t *ids = json_object();
    int n = ids != NULL ? 0 : -1;

    mortise_nomem(why); /* unless */
    MORTISE_JSON_EACH (
        part, i, json_object_get(json_object_get(reply, "message"), "parts")) {
        const char *id = json_string_value(json_object_get(part, "id"));

        if (!is_type(part, "tool_call") || n < 0)
            continue;
        n++;
        if (!mortise_body_is_text(json_object_get(part, "id")) ||
            !mortise_body_is_text(json_object_get(part, "name")))
            n = mortise_fail(why, MORTISE_EINVAL,
                             "a tool call has a NUL in its id or name");
        else if (json_object_get(ids, id) != NULL)
            n = mortise_fail(why, MORTISE_EINVAL,
                             "two tool calls of the reply have the id '%.128s'",
                             id);
        else if (json_object_set_new(ids, id, json_true()) != 0)
            n = mortise_nomem(why);
    }
    json_decref(ids);
    return n;
}

/* Has the part a text that is not blank? */
static bool has_text(const json_t *part)
{
    const char *text = json_string_value(json_object_get(part, "text"));

    return text != NULL && text[strspn(text, " \t\r\n")] != '\0';
}

static bool refuses(const json_t *reply)
{
    MORTISE_JSON_EACH (
        part, i, json_object_get(json_object_get(reply, "message"), "parts"))
        if (is_type(part, "refusal") && has_text(part))
            return true;
    return false;
}

/* The stop that follows from the parts (<mortise/model.h>): a reply with calls
 * stopped for tools, another one with a refusal refused.  Return the reply with that
 * stop as a new reference, or NULL and why. */
static json_t *with_stop(const json_t *reply, struct mortise_err *why)
{
    const char *stop = json_string_value(json_object_get(reply, "stop"));
    int n = count_calls(reply, why);
    const char *follows = n > 0 ? "tools" : refuses(reply) ? "refusal" : NULL;
    json_t *out;

    if (n == 0 && stop != NULL && strcmp(stop, "tools") == 0)
        n = mortise_fail(
            why, MORTISE_EINVAL,
            "the reply has the stop reason 'tools', but no tool calls");
    out = n >= 0 ? json_copy(mortise_json_unconst(reply)) : NULL;

    if (out == NULL || follows == NULL ||
        (strcmp(stop, "end") != 0 && strcmp(stop, "other") != 0) ||
        json_object_set_new(out, "stop", json_string(follows)) == 0)
        return out;
    json_decref(out);
    return NULL;
}

/* Why a reply that ended has nothing that its caller can use (<mortise/model.h>:
 * a text, a call or a refusal); NULL: it has. */
static const char *why_empty(const json_t *reply)
{
    const char *why = "the model's reply is empty";

    if (!is_whole(reply))
        return NULL;
    MORTISE_JSON_EACH (
        part, i, json_object_get(json_object_get(reply, "message"), "parts")) {
        if (is_type(part, "tool_call") ||
            (!is_type(part, "reasoning") && has_text(part)))
            return NULL;
        if (is_type(part, "image"))
            why = "the model's reply is an image without a text; ask the model "
                  "for a text, or use another model";
        else if (is_type(part, "file"))
            why = "the model's reply is a file without a text; ask the model "
                  "for a text, or use another model";
    }
    return why;
}

/* Its call ended; what it emitted is to be that. */
static void served(struct mortise_asked *a,
                   const struct mortise_host_call_served *how,
                   enum mortise_conversation_part what)
{
    struct mortise_err why = {.code = MORTISE_OK};
    char words[MORTISE_HOST_CALL_WORDS];
    const char *empty = NULL;
    json_t *reply = NULL;

    if (how->status == MORTISE_S_NOMEM || how->status == MORTISE_S_CANCELLED) {
        mortise_host_call_answer(a, how->status, NULL, how->message);
        return;
    }
    if (how->status != MORTISE_S_OK) {
        bool late = strcmp(how->code, "timeout.call") == 0;

        fail(a,
             late                   ? MORTISE_MODEL_TIMEOUT
             : how->code[0] != '\0' ? how->code
                                    : "model.failed",
             how->error_class, how->message, how->retry_after_ms,
             usage_of(a, how));
        return;
    }
    if (how->output != NULL &&
        mortise_conversation_check(a->m, what, how->output, &why) == MORTISE_OK)
        reply = with_stop(how->output, &why);
    if (reply != NULL && what == MORTISE_CONVERSATION_REPLY)
        empty = why_empty(reply);
    if (empty != NULL) {
        json_decref(reply);
        fail(a, MORTISE_MODEL_EMPTY, "transient", empty, 0, usage_of(a, how));
        return;
    }
    if (reply != NULL || why.code == MORTISE_ENOMEM) {
        answer_reply(a, reply, usage_of(a, how));
        return;
    }
    snprintf(words, sizeof words, "the provider's reply is invalid: %.400s",
             how->output == NULL ? "it has no output" : why.msg);
    fail(a, "model.protocol", "permanent", words, 0, usage_of(a, how));
}

static void served_chat(struct mortise_asked *a,
                        const struct mortise_host_call_served *how)
{
    served(a, how, MORTISE_CONVERSATION_REPLY);
}

static void served_embed(struct mortise_asked *a,
                         const struct mortise_host_call_served *how)
{
    served(a, how, MORTISE_CONVERSATION_VECTORS);
}

static void answered_chat(struct mortise_asked *a, const json_t *answer)
{
    mortise_turn_answered(a, answer);
}

const struct mortise_host_call_method mortise_host_call_model_call = {
    .effect = MORTISE_HOST_CALL_READ,
    .check = check_chat,
    .start = start_chat,
    .says = says_chat,
    .cancel = mortise_calls_let_go,
    .served = served_chat,
    .answered = answered_chat,
};

const struct mortise_host_call_method mortise_host_call_model_embed = {
    .effect = MORTISE_HOST_CALL_READ,
    .check = check_embed,
    .start = start_embed,
    .says = says_embed,
    .cancel = mortise_calls_let_go,
    .served = served_embed,
};
