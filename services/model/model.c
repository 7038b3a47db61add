/* model.c -- model.call/1 and model.embed/1: call a model by its alias.
 *
 * Request {alias?, model?, messages, tools? ...} as in <mortise/model.h>, or
 *         {alias?, model?, texts, dimensions?, extra?}.  The default alias is
 *         "default"; the default model comes from the deployment.
 *         Instead of messages: {after: STEP, append} continues from the reply
 *         of a step of this call; {continue: true, append, messages?} continues
 *         the node's conversation, with `messages` in front of it (turns.c).
 *         `prune: PART` omits the oldest messages, so that this part remains.
 *         If that omits no more than `beyond: N` messages, the request is
 *         refused.  `tools: true` stands for the tools that the node allows.
 * Answer  {alias, reply, usage} on success, {alias, error: {code, class,
 *         message, retry_after_ms?}, usage?} on an error of the provider.  The
 *         alias is the one that was called; the node's tier can replace the
 *         requested one.  A complete reply to a JSON request also has `json`,
 *         the value, or `invalid`, an error message.  A pruned request has
 *         `left_out`, the number of omitted messages.
 *
 * An error of the provider is an answer: it is recorded like a reply, so that a
 * re-entered caller makes the same decision again.  An invalid request (an
 * unknown alias, malformed messages) is refused and not recorded.
 *
 * The plugin of the alias makes the call in its chat() or embed(), and gets the
 * whole conversation.  Its own host calls meanwhile belong to this step.  A
 * call in flight when the process died is repeated: apart from cost it has no
 * effects.
 *
 * The provider reports the usage.  The dollars are computed here from the price
 * of the alias, unless the provider reports them, too. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lang/config/deploy.h"
#include "core/engine/common/secret_store.h"
#include "services/model/methods.h"
#include "services/secrets/body.h"
#include "services/model/conversation.h"
#include "services/model/json_reply.h"
#include "services/model/turns.h"
#include "core/engine/runs/call.h"
#include "lang/schema/parameters.h"
#include "mortise/model.h"
#include "core/plugin/kind.h"

/* ---- request ------------------------------------------------------------ */

static const struct mortise_models *get_models(const struct mortise_asked *a)
{
    return &a->m->settings.deployment->models;
}

static const char *get_requested_alias(const struct mortise_asked *a)
{
    const char *alias = json_string_value(json_object_get(a->body, "alias"));

    return alias != NULL ? alias : "default";
}

/* Get the requested alias, or the one that replaces it by the node's tier; the
 * alias must exist. */
static const struct mortise_model_alias *
get_called_model(const struct mortise_asked *a)
{
    const struct mortise_node *node = a->call->node; /* NULL: no run */

    return mortise_model_choose(get_models(a), get_requested_alias(a),
                                node != NULL ? node->complexity : NAN);
}

static const struct mortise_graph *get_node_tools(const struct mortise_asked *a)
{
    return a->call->node->tools;
}

/* The status of a check, with a message if it failed. */
static int32_t model_check_status(const struct mortise_asked *a, char *words,
                                  int rv, const struct mortise_err *why)
{
    if (rv == MORTISE_OK)
        return MORTISE_S_OK;
    return mortise_ask_format_error(
        words, rv == MORTISE_ENOMEM ? MORTISE_S_NOMEM : MORTISE_S_INVALID,
        "not a valid request of %s: %.400s", a->method_name, why->msg);
}

/* Check the alias, and pin its provider plugin. */
static int32_t check_model_alias(struct mortise_asked *a, char *words)
{
    const json_t *alias = json_object_get(a->body, "alias");
    const struct mortise_manifest *man;
    struct mortise_err why;

    if (alias != NULL && !mortise_body_is_text(alias))
        return mortise_ask_format_error(
            words, MORTISE_S_INVALID, "'alias' must be a string without a NUL");
    if (mortise_model_check(get_models(a), get_requested_alias(a), &why) !=
        MORTISE_OK)
        return mortise_ask_format_error(words, MORTISE_S_NOTFOUND, "%.400s",
                                        why.msg);
    man = mortise_plugins_find(a->m->plugins, get_called_model(a)->provider,
                               &why);
    if (man == NULL)
        return mortise_ask_format_error(
            words,
            why.code == MORTISE_ENOMEM ? MORTISE_S_NOMEM : MORTISE_S_NOTFOUND,
            "%.400s", why.msg);
    a->by = (struct mortise_pin){.plugin = man->name, .dev = man->dev};
    memcpy(a->by.digest, man->digest, MORTISE_DIGEST);
    return MORTISE_S_OK;
}

static int check_model_tools(const struct mortise_asked *a,
                             struct mortise_err *why)
{
    return json_is_true(json_object_get(a->body, "tools")) &&
                   get_node_tools(a) == NULL
               ? mortise_fail(why, MORTISE_EINVAL,
                              "at /tools: the node has no tools")
               : MORTISE_OK;
}

static int check_turn(struct mortise_asked *a, struct mortise_err *why)
{
    struct mortise_turn *turn;
    int rv = mortise_turns_get_or_create(a, &turn, why);

    a->made = turn;
    return rv;
}

/* A pruned request that is no shorter than the one before would fail again. */
static int32_t check_pruned(const struct mortise_asked *a, char *words)
{
    const json_int_t beyond =
        json_integer_value(json_object_get(a->body, "beyond"));

    return json_object_get(a->body, "prune") == NULL ||
                   mortise_turn_count_omitted(a->made) > (uint64_t)beyond
               ? MORTISE_S_OK
               : mortise_ask_format_error(words, MORTISE_S_NOTFOUND,
                                          "no more messages can be omitted");
}

static int32_t check_chat(struct mortise_asked *a, char *words)
{
    struct mortise_err why;
    int32_t status;
    int rv =
        mortise_conversation_check(a, MORTISE_CONVERSATION_CHAT, a->body, &why);

    if (rv == MORTISE_OK)
        rv = mortise_json_reply_check(
            a->m, json_object_get(a->body, "response"), &why);
    if (rv == MORTISE_OK)
        rv = check_model_tools(a, &why);
    if (rv != MORTISE_OK)
        return model_check_status(a, words, rv, &why);
    status = check_model_alias(a, words);
    if (status == MORTISE_S_OK)
        status = model_check_status(a, words, check_turn(a, &why), &why);
    return status == MORTISE_S_OK ? check_pruned(a, words) : status;
}

static int32_t check_embed(struct mortise_asked *a, char *words)
{
    struct mortise_err why;
    int32_t status =
        model_check_status(a, words,
                           mortise_conversation_check(
                               a, MORTISE_CONVERSATION_EMBED, a->body, &why),
                           &why);

    return status == MORTISE_S_OK ? check_model_alias(a, words) : status;
}

/* ---- cost --------------------------------------------------------------- */

/* Bytes of JSON per token, for estimates.  Texts have more; the low number
 * keeps estimates from being too small. */
enum { BYTES_PER_TOKEN = 3 };

/* Encode {alias, NAME: value} for events; takes the value (NULL: memory ran
 * out).  Fills in the maximal usage of a request of that many bytes and its
 * reply. */
static json_t *encode_model_event(const struct mortise_asked *a,
                                  const char *name, json_t *value, size_t bytes,
                                  uint64_t most[MORTISE_USED_N])
{
    const struct mortise_model_alias *model = get_called_model(a);
    struct mortise_usage used = {0};
    uint64_t output =
        (uint64_t)json_integer_value(json_object_get(a->body, "max_tokens"));

    used.amount[MORTISE_USED_CALLS] = 1;
    used.amount[MORTISE_USED_INPUT] = bytes / BYTES_PER_TOKEN + 1;
    used.amount[MORTISE_USED_OUTPUT] = output;
    if (json_is_true(json_object_get(a->body, "cache")))
        used.amount[MORTISE_USED_CACHE_WRITE] = used.amount[MORTISE_USED_INPUT];
    mortise_model_compute_cost(model, &used, &used.amount[MORTISE_USED_USD]);
    memcpy(most, used.amount, sizeof used.amount);
    return value != NULL
               ? json_pack("{s:s, s:o}", "alias", model->alias, name, value)
               : NULL;
}

static json_t *encode_chat_event(const struct mortise_asked *a,
                                 uint64_t most[MORTISE_USED_N])
{
    size_t n = mortise_turn_estimate_size(a->made);
    json_t *news = mortise_turn_list_new(a), *out;

    if (json_is_true(json_object_get(a->body, "tools")))
        n += strlen(get_node_tools(a)->offered);
    n += mortise_run_messages_size(a->call->live->run, a->run_call);
    out = encode_model_event(a, "messages", news, n, most);
    if (out != NULL && json_array_size(news) == 0)
        json_object_del(out, "messages");
    return out;
}

static json_t *encode_embed_event(const struct mortise_asked *a,
                                  uint64_t most[MORTISE_USED_N])
{
    const json_t *texts = json_object_get(a->body, "texts");
    size_t n = 0;

    MORTISE_JSON_EACH (text, i, texts)
        n += json_string_length(text);
    return encode_model_event(
        a, "texts", json_integer((json_int_t)json_array_size(texts)), n, most);
}

/* ---- call --------------------------------------------------------------- */

static int put_milliseconds(json_t *body, const char *name, uint64_t ms)
{
    return ms != 0
               ? json_object_set_new(body, name, json_integer((json_int_t)ms))
               : 0;
}

/* Put tools that the plugin defines, with parameters in the form that servers
 * accept; 0, or -1: memory ran out. */
static int put_plugin_tools(json_t *body, const json_t *tools)
{
    json_t *list = json_array();
    int rv = list != NULL ? 0 : -1;

    MORTISE_JSON_EACH (tool, i, tools) {
        json_t *one = json_copy(mortise_json_unconst(tool));

        if (rv == 0)
            rv = json_object_set_new(one, "parameters",
                                     mortise_json_make_parameters(
                                         json_object_get(tool, "parameters")));
        if (rv == 0)
            rv = json_array_append(list, one);
        json_decref(one);
    }
    if (rv == 0)
        rv = json_object_set(body, "tools", list);
    json_decref(list);
    return rv;
}

/* Build the provider's request, without the conversation and the node's tools;
 * NULL: memory ran out. */
static json_t *build_provider_request(const struct mortise_asked *a,
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
    if ((json_is_array(tools) && put_plugin_tools(body, tools) != 0) ||
        (json_object_get(body, "model") == NULL &&
         json_object_set_new(body, "model", json_string(model->model))) ||
        put_milliseconds(body, "timeout_ms", model->timeout_ms) != 0 ||
        put_milliseconds(body, "idle_timeout_ms", model->idle_timeout_ms) !=
            0) {
        json_decref(body);
        return NULL;
    }
    return body;
}

/* Add tools and messages to an encoded object, and close it again. */
static int write_chat_messages(const struct mortise_asked *a,
                               struct mortise_buf *text)
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
        rv = mortise_turn_append_json(a->made, a->told, text);
    mortise_buf_puts(text, "]}");
    return rv;
}

static void start_model_call(struct mortise_asked *a,
                             const struct mortise_call_kind *kind,
                             int (*rest)(const struct mortise_asked *a,
                                         struct mortise_buf *text))
{
    const struct mortise_model_alias *model = get_called_model(a);
    struct mortise_buf text;
    struct mortise_err err;
    json_t *body;
    int rv;

    assert(model != NULL); /* checked by check_model_alias() */
    mortise_buf_init(&text, a->m->mem);
    body = build_provider_request(a, model);
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
    a->told = mortise_run_take_messages(a->live->run, a->run_call, a->step);
    if (a->told == NULL) {
        mortise_host_call_answer(a, MORTISE_S_NOMEM, NULL, "out of memory");
        return;
    }
    start_model_call(a, &mortise_call_chat, write_chat_messages);
}

static void start_embed(struct mortise_asked *a)
{
    start_model_call(a, &mortise_call_embed, NULL);
}

/* ---- answer ------------------------------------------------------------- */

/* [name of the model as the server knows it]; NULL: memory ran out. */
static json_t *get_requested_models(const struct mortise_asked *a)
{
    json_t *encode_model_event = json_object_get(a->body, "model");

    return encode_model_event != NULL
               ? json_pack("[O]", encode_model_event)
               : json_pack("[s]", get_called_model(a)->model);
}

/* Encode the usage by model; NULL: memory ran out. */
static json_t *encode_call_usage(const struct mortise_asked *a,
                                 const struct mortise_host_call_result *how)
{
    const struct mortise_model_alias *model = get_called_model(a);
    struct mortise_usage used = *how->usage; /* its models are borrowed */
    json_t *out;

    if (used.amount[MORTISE_USED_CALLS] == 0)
        used.amount[MORTISE_USED_CALLS] = 1; /* failed calls count, too */
    if (used.amount[MORTISE_USED_USD] == 0)
        mortise_model_compute_cost(model, &used,
                                   &used.amount[MORTISE_USED_USD]);
    if (used.models != NULL)
        return mortise_usage_to_json(&used);
    used.models = get_requested_models(a);
    out = used.models != NULL ? mortise_usage_to_json(&used) : NULL;
    json_decref(used.models);
    return out;
}

/* Takes the reference. */
static void answer_model_call(struct mortise_asked *a, json_t *out)
{
    if (out != NULL)
        mortise_host_call_answer(a, MORTISE_S_OK, out, "");
    else
        mortise_host_call_answer(a, MORTISE_S_NOMEM, NULL, "out of memory");
}

/* Put the number of messages that were pruned. */
static int put_left_out_count(const struct mortise_asked *a, json_t *to)
{
    size_t left_out = a->made != NULL ? mortise_turn_count_omitted(a->made) : 0;

    return left_out > 0
               ? json_object_set_new(to, "left_out",
                                     json_integer((json_int_t)left_out))
               : 0;
}

/* Put the messages of the run that the model also got, and whether more have
 * arrived since. */
static int put_run_messages(const struct mortise_asked *a, json_t *to)
{
    const struct mortise_plugin_call *c = a->call;
    int rv = 0;

    if (json_array_size(a->told) > 0)
        rv = json_object_set(to, "told", a->told);
    return rv == 0 && a->made != NULL &&
                   mortise_run_has_messages(c->live->run, c->run_call)
               ? json_object_set_new(to, "more", json_true())
               : rv;
}

static bool is_complete_reply(const json_t *reply)
{
    return strcmp(json_string_value(json_object_get(reply, "stop")), "end") ==
           0;
}

/* Put the value of a reply that was to be JSON.  MORTISE_ENOMEM. */
static int put_reply_json(struct mortise_asked *a, json_t *to,
                          const json_t *reply)
{
    const json_t *response = json_object_get(a->body, "response");
    struct mortise_err why;
    json_t *value;
    int rv;

    if (response == NULL || !is_complete_reply(reply))
        return MORTISE_OK;
    rv = mortise_json_reply_parse(a->m, response, reply, &value, &why);
    if (rv == MORTISE_OK)
        rv = json_object_set_new(to, "json", value);
    else if (rv == MORTISE_EINVAL)
        rv = json_object_set_new(to, "invalid", json_string(why.msg));
    return rv == 0 ? MORTISE_OK : MORTISE_ENOMEM;
}

/* Takes the reply and the usage (NULL: memory ran out). */
static void answer_model_reply(struct mortise_asked *a, json_t *reply,
                               json_t *usage)
{
    json_t *out =
        json_pack("{s:s, s:o, s:o}", "alias", get_called_model(a)->alias,
                  "reply", reply, "usage", usage);

    if (out != NULL &&
        (put_reply_json(a, out, reply) != MORTISE_OK ||
         put_left_out_count(a, out) != 0 || put_run_messages(a, out) != 0))
        mortise_json_clear_ref(&out);
    answer_model_call(a, out);
}

static void answer_model_error(struct mortise_asked *a, const char *code,
                               const char *error_class, const char *message,
                               uint64_t retry_after_ms, json_t *usage)
{
    json_t *error = json_pack("{s:s, s:s, s:s}", "code", code, "class",
                              error_class, "message", message);
    json_t *out;

    if (error != NULL &&
        put_milliseconds(error, "retry_after_ms", retry_after_ms) != 0)
        mortise_json_clear_ref(&error);
    if (error != NULL)
        error = mortise_secret_store_mask_json(a->m->secret_store, error);
    out = error != NULL ? json_pack("{s:s, s:o, s:O}", "alias",
                                    get_called_model(a)->alias, "error", error,
                                    "usage", usage)
                        : NULL;
    json_decref(usage);
    if (out != NULL && put_left_out_count(a, out) != 0)
        mortise_json_clear_ref(&out);
    answer_model_call(a, out);
}

static bool is_part_of_type(const json_t *part, const char *type)
{
    return strcmp(json_string_value(json_object_get(part, "type")), type) == 0;
}

/* Count the tool calls of a reply; -1: two have the same id, or an id or a name
 * contains a NUL, which is invalid. */
static int count_tool_calls(const json_t *reply, struct mortise_err *why)
{
    json_t *ids = json_object();
    int n = ids != NULL ? 0 : -1;

    mortise_nomem(why); /* the default */
    MORTISE_JSON_EACH (
        part, i, json_object_get(json_object_get(reply, "message"), "parts")) {
        const char *id = json_string_value(json_object_get(part, "id"));

        if (!is_part_of_type(part, "tool_call") || n < 0)
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

/* Does the part have a text that is not blank? */
static bool has_nonblank_text(const json_t *part)
{
    const char *text = json_string_value(json_object_get(part, "text"));

    return text != NULL && text[strspn(text, " \t\r\n")] != '\0';
}

static bool has_refusal(const json_t *reply)
{
    MORTISE_JSON_EACH (
        part, i, json_object_get(json_object_get(reply, "message"), "parts"))
        if (is_part_of_type(part, "refusal") && has_nonblank_text(part))
            return true;
    return false;
}

/* Set the stop reason that follows from the parts (<mortise/model.h>): "tools"
 * if there are tool calls, otherwise "refusal" if there is one.  Returns a new
 * reference, or NULL with err. */
static json_t *set_derived_stop(const json_t *reply, struct mortise_err *why)
{
    const char *stop = json_string_value(json_object_get(reply, "stop"));
    int n = count_tool_calls(reply, why);
    const char *follows = n > 0                ? "tools"
                          : has_refusal(reply) ? "refusal"
                                               : NULL;
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

/* Describe why a complete reply is useless to its caller: it has neither a
 * text, nor a tool call, nor a refusal (<mortise/model.h>).  NULL: it has one.
 */
static const char *describe_empty_reply(const json_t *reply)
{
    const char *why = "the model's reply is empty";

    if (!is_complete_reply(reply))
        return NULL;
    MORTISE_JSON_EACH (
        part, i, json_object_get(json_object_get(reply, "message"), "parts")) {
        if (is_part_of_type(part, "tool_call") ||
            (!is_part_of_type(part, "reasoning") && has_nonblank_text(part)))
            return NULL;
        if (is_part_of_type(part, "image"))
            why = "the model's reply is an image without a text; ask the model "
                  "for a text, or use another model";
        else if (is_part_of_type(part, "file"))
            why = "the model's reply is a file without a text; ask the model "
                  "for a text, or use another model";
    }
    return why;
}

/* The provider's call ended: check its output and answer the caller. */
static void finish_model_call(struct mortise_asked *a,
                              const struct mortise_host_call_result *how,
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

        answer_model_error(a,
                           late                   ? MORTISE_MODEL_TIMEOUT
                           : how->code[0] != '\0' ? how->code
                                                  : "model.failed",
                           how->error_class, how->message, how->retry_after_ms,
                           encode_call_usage(a, how));
        return;
    }
    if (how->output != NULL &&
        mortise_conversation_check(a, what, how->output, &why) == MORTISE_OK)
        reply = set_derived_stop(how->output, &why);
    if (reply != NULL && what == MORTISE_CONVERSATION_REPLY)
        empty = describe_empty_reply(reply);
    if (empty != NULL) {
        json_decref(reply);
        answer_model_error(a, MORTISE_MODEL_EMPTY, "transient", empty, 0,
                           encode_call_usage(a, how));
        return;
    }
    if (reply != NULL || why.code == MORTISE_ENOMEM) {
        answer_model_reply(a, reply, encode_call_usage(a, how));
        return;
    }
    snprintf(words, sizeof words, "the provider's reply is invalid: %.400s",
             how->output == NULL ? "it has no output" : why.msg);
    answer_model_error(a, "model.protocol", "permanent", words, 0,
                       encode_call_usage(a, how));
}

static void finish_chat(struct mortise_asked *a,
                        const struct mortise_host_call_result *how)
{
    finish_model_call(a, how, MORTISE_CONVERSATION_REPLY);
}

static void finish_embed(struct mortise_asked *a,
                         const struct mortise_host_call_result *how)
{
    finish_model_call(a, how, MORTISE_CONVERSATION_VECTORS);
}

static void record_chat_answer(struct mortise_asked *a,
                               const json_t *answer_model_call)
{
    mortise_turn_set_answer(a, answer_model_call);
}

const struct mortise_host_call_method mortise_host_call_model_call = {
    .effect = MORTISE_HOST_CALL_READ,
    .check = check_chat,
    .start = start_chat,
    .says = encode_chat_event,
    .cancel = mortise_calls_stop_serving,
    .served = finish_chat,
    .answered = record_chat_answer,
};

const struct mortise_host_call_method mortise_host_call_model_embed = {
    .effect = MORTISE_HOST_CALL_READ,
    .check = check_embed,
    .start = start_embed,
    .says = encode_embed_event,
    .cancel = mortise_calls_stop_serving,
    .served = finish_embed,
};
