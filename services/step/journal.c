/* journal.c -- journal.begin/1 and journal.end/1: a step that a plugin performs
 * by itself.
 *
 *   journal.begin/1  {step, arguments?, repeat?}
 *   journal.end/1    {step, result} or {step, undone: true}
 *
 * What http.request/1 is for requests, these two are for everything else that a
 * plugin does in the world: its intent is on disk before it happens, its result
 * after, and where both are nobody does it twice.  The answer to the first is
 * {result} when it was done before, or else {key?}: do it now, under that
 * idempotency key (where the operation has effects); the second says what came
 * of it.  The run knows one step, which the first asks for and the second
 * answers.
 *
 *   (1) Between the two it is like any other effect that is out: what ends the
 *       call, or the process, leaves it in doubt, and the operation's class and
 *       its `on_in_doubt` say what becomes of it; `repeat`: it may be done again
 *       whatever they say.
 *   (2) What the plugin asks in between is part of it, and recorded nowhere.  So
 *       it asks for nothing that waits, and steps neither nest nor overlap.
 *   (3) A call that is to stop may still say what came of its step.
 */
#include <string.h>

#include "core/engine/common/secret_store.h"
#include "core/engine/runs/call.h"

/* ---- begin ---------------------------------------------------------------- */

static int32_t check_begin(struct mortise_asked *a, char *words)
{
    const json_t *arguments = json_object_get(a->body, "arguments");
    const json_t *repeat = json_object_get(a->body, "repeat");

    if (a->name == NULL || (repeat != NULL && !json_is_boolean(repeat)) ||
        json_object_size(a->body) !=
            (size_t)(arguments != NULL) + (repeat != NULL))
        return mortise_ask_refuse(
            words, MORTISE_S_INVALID,
            "a request of %s must be {step, arguments?, repeat?: BOOL}",
            a->method_name);
    if (a->call->is_serving)
        return mortise_ask_refuse(words, MORTISE_S_UNSUPPORTED,
                                  "a call that serves a step of another call "
                                  "cannot begin a step of its own");
    if (a->call->own != NULL)
        return mortise_ask_refuse(
            words, MORTISE_S_INVALID,
            "another step of this call is open; steps cannot nest or overlap");
    return MORTISE_S_OK;
}

static void start_begin(struct mortise_asked *a)
{
    json_t *go = json_pack("{s:s*}", "key", a->key[0] != '\0' ? a->key : NULL);

    if (go == NULL)
        mortise_host_call_answer(a, MORTISE_S_NOMEM, NULL, "out of memory");
    else
        mortise_host_call_go(a, go);
}

static bool repeats(const json_t *body)
{
    return json_is_true(json_object_get(body, "repeat"));
}

/* What a person may say that it gave. */
static const char *expects(const json_t *value)
{
    return json_object_size(value) == 1 &&
                   json_object_get(value, "result") != NULL
               ? NULL
               : "{\"result\": the result of the step}";
}

const struct mortise_host_call_method mortise_host_call_journal_begin = {
    .effect = MORTISE_HOST_CALL_CALLER,
    .repeats = repeats,
    .expects = expects,
    .check = check_begin,
    .start = start_begin,
};

/* ---- end ------------------------------------------------------------------- */

static int32_t check_end(struct mortise_asked *a, char *words)
{
    const struct mortise_asked *own = a->call->own;
    const json_t *result = json_object_get(a->body, "result");

    if (a->name == NULL || json_object_size(a->body) != 1 ||
        (result == NULL && !json_is_true(json_object_get(a->body, "undone"))))
        return mortise_ask_refuse(
            words, MORTISE_S_INVALID,
            "a request of %s must be {step, result} or {step, undone: true}",
            a->method_name);
    if (own == NULL || !own->is_told || !json_equal(own->name, a->name))
        return mortise_ask_refuse(words, MORTISE_S_INVALID,
                                  "this call has no open step '%.128s'",
                                  json_string_value(a->name));
    return MORTISE_S_OK;
}

static void start_end(struct mortise_asked *a)
{
    json_t *result = json_object_get(a->body, "result"), *value = NULL;

    if (result != NULL)
        value = mortise_secret_store_masked(
            a->m->secret_store, json_pack("{s:O}", "result", result));
    if (result != NULL && value == NULL)
        mortise_host_call_answer(a, MORTISE_S_NOMEM, NULL, "out of memory");
    else
        mortise_host_call_went(a->call->own, a, value);
}

const struct mortise_host_call_method mortise_host_call_journal_end = {
    .effect = MORTISE_HOST_CALL_UNRECORDED,
    .ends = true,
    .check = check_end,
    .start = start_end,
};
