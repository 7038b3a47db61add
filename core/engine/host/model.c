/* model.c -- model.call/1 and model.embed/1: a model is asked, by its alias.
 *
 * Asked  {alias?, model?, messages, tools? ...} (<mortise/model.h>, but for
 *         the alias, "default", and the model, which the deployment says unless
 *         it is said), or {alias?, model?, texts, dimensions?, extra?}.
 * Answer {reply, usage} where the provider gave one, {error: {code, class,
 *         message, retry_after_ms?}, usage?} where it did not.  Of a reply that
 *         was to be JSON and is not cut there is `json`, what it is, or
 *         `invalid`, in words, why it is not what was asked for.
 *
 * An error of a provider is an answer: it is recorded like a reply, so that
 * whoever asked decides the same when it is entered again.  What is no call of
 * a model at all (another alias, messages that are none) is refused, and
 * recorded nowhere.
 *
 * The plugin behind the alias makes the call (its chat() or embed()); what it
 * asks meanwhile is part of this one step.  A call that was out when the process
 * died is made again: it changes nothing but the bill.
 *
 * What it used is what the provider told; the dollars are counted here, by the
 * alias's price, unless the provider told those, too.
 */
#include <stdio.h>
#include <string.h>

#include "config/deploy.h"
#include "engine/common/secret_store.h"
#include "engine/host/conversation.h"
#include "engine/host/json_reply.h"
#include "engine/runs/call.h"
#include "plugin/kind.h"

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

static int32_t check(const struct mortise_asked *a, char *words,
                     enum mortise_conversation_part what)
{
    struct mortise_err why;
    int rv = mortise_conversation_check(a->m, what, a->body, &why);

    if (rv == MORTISE_OK)
        rv = mortise_json_reply_check(
            a->m, json_object_get(a->body, "response"), &why);
    if (rv == MORTISE_OK &&
        mortise_model_need(models_of(a), alias_of(a), &why) != MORTISE_OK)
        return mortise_ask_refuse(words, MORTISE_S_NOTFOUND, "%.400s", why.msg);
    if (rv == MORTISE_OK)
        return MORTISE_S_OK;
    return mortise_ask_refuse(
        words, rv == MORTISE_ENOMEM ? MORTISE_S_NOMEM : MORTISE_S_INVALID,
        "that is no request of %s: %.400s", a->method_name, why.msg);
}

static int32_t check_chat(const struct mortise_asked *a, char *words)
{
    return check(a, words, MORTISE_CONVERSATION_CHAT);
}

static int32_t check_embed(const struct mortise_asked *a, char *words)
{
    return check(a, words, MORTISE_CONVERSATION_EMBED);
}

/* ---- the call -------------------------------------------------------------- */

static int put_ms(json_t *body, const char *name, uint64_t ms)
{
    return ms != 0
               ? json_object_set_new(body, name, json_integer((json_int_t)ms))
               : 0;
}

/* What the provider gets; NULL: memory ran out. */
static json_t *body_for(const struct mortise_asked *a,
                        const struct mortise_model_alias *model)
{
    json_t *body = json_copy(mortise_json_unconst(a->body));

    if (body == NULL)
        return NULL;
    json_object_del(body, "alias");
    if ((json_object_get(body, "model") == NULL &&
         json_object_set_new(body, "model", json_string(model->model))) ||
        put_ms(body, "timeout_ms", model->timeout_ms) != 0 ||
        put_ms(body, "idle_timeout_ms", model->idle_timeout_ms) != 0) {
        json_decref(body);
        return NULL;
    }
    return body;
}

static void start(struct mortise_asked *a, const struct mortise_call_kind *kind)
{
    const struct mortise_model_alias *model =
        mortise_model_find(models_of(a), alias_of(a));
    json_t *body;
    struct mortise_err err;
    int rv;

    assert(model != NULL); /* check() looked */
    body = body_for(a, model);
    rv = body != NULL ? mortise_calls_serve(a, kind, model->alias, body, &err)
                      : MORTISE_ENOMEM;
    json_decref(body);
    if (rv != MORTISE_OK)
        mortise_host_call_answer(a, MORTISE_S_NOMEM, NULL, "out of memory");
}

static void start_chat(struct mortise_asked *a)
{
    start(a, &mortise_call_chat);
}

static void start_embed(struct mortise_asked *a)
{
    start(a, &mortise_call_embed);
}

/* ---- the answer ------------------------------------------------------------ */

/* What it cost; NULL: nothing, or memory ran out. */
static json_t *usage_of(const struct mortise_asked *a,
                        const struct mortise_host_call_served *how)
{
    const struct mortise_model_alias *model =
        mortise_model_find(models_of(a), alias_of(a));
    struct mortise_usage used = *how->usage; /* its names are lent */

    if (used.amount[MORTISE_USED_CALLS] == 0 && how->status == MORTISE_S_OK)
        used.amount[MORTISE_USED_CALLS] = 1;
    if (used.amount[MORTISE_USED_USD] == 0)
        mortise_model_cost(model, &used, &used.amount[MORTISE_USED_USD]);
    return mortise_usage_is_none(&used) ? NULL : mortise_usage_json(&used);
}

/* Takes the reference. */
static void answer(struct mortise_asked *a, json_t *out)
{
    if (out != NULL)
        mortise_host_call_answer(a, MORTISE_S_OK, out, "");
    else
        mortise_host_call_answer(a, MORTISE_S_NOMEM, NULL, "out of memory");
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

/* Takes the usage. */
static void answer_reply(struct mortise_asked *a, const json_t *reply,
                         json_t *usage)
{
    json_t *out = json_pack("{s:O, s:o*}", "reply", reply, "usage", usage);

    if (out != NULL && put_json(a, out, reply) != MORTISE_OK) {
        json_decref(out);
        out = NULL;
    }
    answer(a, out);
}

static void fail(struct mortise_asked *a, const char *code,
                 const char *error_class, const char *message,
                 uint64_t retry_after_ms, json_t *usage)
{
    json_t *error = json_pack("{s:s, s:s, s:s}", "code", code, "class",
                              error_class, "message", message);

    if (error != NULL && put_ms(error, "retry_after_ms", retry_after_ms) != 0) {
        json_decref(error);
        error = NULL;
    }
    if (error != NULL)
        error = mortise_secret_store_masked(a->m->secret_store, error);
    answer(a, error != NULL
                  ? json_pack("{s:o, s:O*}", "error", error, "usage", usage)
                  : NULL);
    json_decref(usage);
}

/* Its call ended; what it emitted is to be that. */
static void served(struct mortise_asked *a,
                   const struct mortise_host_call_served *how,
                   enum mortise_conversation_part what)
{
    struct mortise_err why = {.code = MORTISE_OK};
    char words[MORTISE_HOST_CALL_WORDS];

    if (how->status == MORTISE_S_NOMEM || how->status == MORTISE_S_CANCELLED) {
        mortise_host_call_answer(a, how->status, NULL, how->message);
        return;
    }
    if (how->status != MORTISE_S_OK) {
        fail(a, how->code[0] != '\0' ? how->code : "model.failed",
             how->error_class, how->message, how->retry_after_ms,
             usage_of(a, how));
        return;
    }
    if (how->output != NULL &&
        mortise_conversation_check(a->m, what, how->output, &why) ==
            MORTISE_OK) {
        answer_reply(a, how->output, usage_of(a, how));
        return;
    }
    snprintf(words, sizeof words, "the provider's reply is none: %.400s",
             how->output == NULL ? "it gave nothing" : why.msg);
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

const struct mortise_host_call_method mortise_host_call_model_call = {
    .effect = MORTISE_HOST_CALL_READ,
    .check = check_chat,
    .start = start_chat,
    .cancel = mortise_calls_let_go,
    .served = served_chat,
};

const struct mortise_host_call_method mortise_host_call_model_embed = {
    .effect = MORTISE_HOST_CALL_READ,
    .check = check_embed,
    .start = start_embed,
    .cancel = mortise_calls_let_go,
    .served = served_embed,
};
