/* journal.c -- journal.begin/1 and journal.end/1: a step that a plugin performs
 * itself.
 *
 *   journal.begin/1  {step, arguments?, repeat?}
 *   journal.end/1    {step, result} or {step, undone: true}
 *
 * They record arbitrary effects of a plugin, as http.request/1 records HTTP
 * requests: the intent is on disk before the effect, and the result afterwards.
 * A step that has both is not performed again.
 *
 * If the step has a result, begin answers {result}.  Otherwise it answers
 * {key?}: the plugin performs the step now, with that idempotency key (if the
 * operation has effects), and passes the result to end.  The run sees one step,
 * which begin requests and end answers.
 *
 *   (1) Between the two calls the step is an effect in flight.  If the call or
 *       the process ends, the step is in doubt, and the operation's class and
 *       its `on_in_doubt` decide.  With `repeat`, it may be performed again in
 *       any case.
 *   (2) The plugin's host calls in between are part of the step and are not
 *       recorded.  Therefore they must not wait, and steps neither nest nor
 *       overlap.
 *   (3) A call that is being cancelled may still report the result of its step.
 */
#include <string.h>

#include "core/engine/common/secret_store.h"
#include "core/engine/runs/call.h"
#include "services/step/methods.h"

/* ---- journal.begin/1 ---------------------------------------------------- */

static int32_t check_journal_begin(struct mortise_asked *a, char *words)
{
    const json_t *arguments = json_object_get(a->body, "arguments");
    const json_t *repeat = json_object_get(a->body, "repeat");

    if (a->name == NULL || (repeat != NULL && !json_is_boolean(repeat)) ||
        json_object_size(a->body) !=
            (size_t)(arguments != NULL) + (repeat != NULL))
        return mortise_ask_format_error(
            words, MORTISE_S_INVALID,
            "a request of %s must be {step, arguments?, repeat?: BOOL}",
            a->method_name);
    if (a->call->is_serving)
        return mortise_ask_format_error(
            words, MORTISE_S_UNSUPPORTED,
            "a call that serves a step of another call "
            "cannot begin a step of its own");
    if (a->call->own != NULL)
        return mortise_ask_format_error(
            words, MORTISE_S_INVALID,
            "another step of this call is open; steps cannot nest or overlap");
    return MORTISE_S_OK;
}

static void start_journal_begin(struct mortise_asked *a)
{
    json_t *go = json_pack("{s:s*}", "key", a->key[0] != '\0' ? a->key : NULL);

    if (go == NULL)
        mortise_host_call_answer(a, MORTISE_S_NOMEM, NULL, "out of memory");
    else
        mortise_host_call_begin_step(a, go);
}

static bool is_repeatable_step(const json_t *body)
{
    return json_is_true(json_object_get(body, "repeat"));
}

/* Check the result that a person supplies. */
static const char *describe_invalid_step_result(const json_t *value)
{
    return json_object_size(value) == 1 &&
                   json_object_get(value, "result") != NULL
               ? NULL
               : "{\"result\": the result of the step}";
}

const struct mortise_host_call_method mortise_host_call_journal_begin = {
    .effect = MORTISE_HOST_CALL_CALLER,
    .repeats = is_repeatable_step,
    .expects = describe_invalid_step_result,
    .check = check_journal_begin,
    .start = start_journal_begin,
};

/* ---- journal.end/1 ------------------------------------------------------ */

static int32_t check_journal_end(struct mortise_asked *a, char *words)
{
    const struct mortise_asked *own = a->call->own;
    const json_t *result = json_object_get(a->body, "result");

    if (a->name == NULL || json_object_size(a->body) != 1 ||
        (result == NULL && !json_is_true(json_object_get(a->body, "undone"))))
        return mortise_ask_format_error(
            words, MORTISE_S_INVALID,
            "a request of %s must be {step, result} or {step, undone: true}",
            a->method_name);
    if (own == NULL || !own->is_told || !json_equal(own->name, a->name))
        return mortise_ask_format_error(words, MORTISE_S_INVALID,
                                        "this call has no open step '%.128s'",
                                        json_string_value(a->name));
    return MORTISE_S_OK;
}

static void start_journal_end(struct mortise_asked *a)
{
    json_t *result = json_object_get(a->body, "result"), *value = NULL;

    if (result != NULL)
        value = mortise_secret_store_mask_json(
            a->m->secret_store, json_pack("{s:O}", "result", result));
    if (result != NULL && value == NULL)
        mortise_host_call_answer(a, MORTISE_S_NOMEM, NULL, "out of memory");
    else
        mortise_host_call_end_step(a->call->own, a, value);
}

const struct mortise_host_call_method mortise_host_call_journal_end = {
    .effect = MORTISE_HOST_CALL_UNRECORDED,
    .ends = true,
    .check = check_journal_end,
    .start = start_journal_end,
};
