/* await.c -- interrupt.request/1 and timer.wait/1: waiting for a person or for
 * time.
 *
 *   interrupt.request/1 {prompt?, payload?, schema?, assignees?, for_ms?,
 *                        hold_ms?}
 *   timer.wait/1        {for_ms} or {until_ms}
 *
 * This file only checks the requests.  The run stores both on disk, and the
 * calling plugin is suspended meanwhile (core/run/asks/step.c).  `until_ms` is
 * in milliseconds since 1970, UTC.  While the run is in memory, a timer's
 * `for_ms` is measured by the monotonic clock; the deadline of a question is a
 * time of day, like `until_ms` (clocks.c).
 *
 * `hold_ms` is the time that the caller waits before it is suspended, in order
 * to keep state that it would lose.  It is not part of the question: a repeated
 * request with another value is the same question. */
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "services/step/methods.h"
#include "services/secrets/body.h"
#include "core/engine/runs/host_calls.h"
#include "core/engine/common/secret_store.h"
#include "lang/schema/schema.h"

/* Ten years.  A longer wait is probably a mistake. */
static const json_int_t LONGEST_MS = 315360000000;

static bool is_wait_duration(const json_t *ms)
{
    return json_is_integer(ms) && json_integer_value(ms) >= 0 &&
           json_integer_value(ms) <= LONGEST_MS;
}

static bool is_string_list(const json_t *list)
{
    const json_t *one;
    size_t i;

    if (!json_is_array(list))
        return false;
    json_array_foreach(list, i, one)
    {
        if (!mortise_body_is_text(one))
            return false;
    }
    return true;
}

static int32_t check_answer_schema(const struct mortise_asked *a,
                                   json_t *schema, char *words)
{
    const struct mortise_schema_options world = {.patterns =
                                                     MORTISE_PATTERNS_FOREIGN};
    struct mortise_schema *s = NULL;
    struct mortise_arena arena;
    struct mortise_err err;
    char where[128];
    int rv;

    mortise_arena_init(&arena, a->m->mem);
    rv = mortise_schema_compile_with(&s, &arena, schema, &world, where,
                                     sizeof where, &err);
    mortise_schema_finish(s);
    mortise_arena_finish(&arena);
    if (rv == MORTISE_OK)
        return MORTISE_S_OK;
    mortise_secret_store_mask_text(a->m->secret_store, where, sizeof where);
    mortise_secret_store_mask_text(a->m->secret_store, err.msg, sizeof err.msg);
    return mortise_ask_format_error(
        words, rv == MORTISE_ENOMEM ? MORTISE_S_NOMEM : MORTISE_S_INVALID,
        "schema%s%.128s: %.300s", where[0] != '\0' ? " at " : "", where,
        err.msg);
}

/* Refuse with the reason, or return MORTISE_S_OK if it is NULL. */
static int32_t status_of_reason(char *words, const char *why)
{
    return why == NULL
               ? MORTISE_S_OK
               : mortise_ask_format_error(words, MORTISE_S_INVALID, "%s", why);
}

static const char for_ms_error[] =
    "for_ms must be a number of milliseconds, at most ten years";

static int32_t check_interrupt_member(const struct mortise_asked *a,
                                      const char *name, json_t *value,
                                      char *words)
{
    const char *why = NULL;

    if (strcmp(name, "schema") == 0)
        return check_answer_schema(a, value, words);
    if (strcmp(name, "prompt") == 0)
        why = json_is_string(value) ? NULL : "prompt must be a text";
    else if (strcmp(name, "assignees") == 0)
        why =
            is_string_list(value) ? NULL : "assignees must be a list of names";
    else if (strcmp(name, "for_ms") == 0)
        why = is_wait_duration(value) ? NULL : for_ms_error;
    else if (strcmp(name, "hold_ms") == 0)
        why =
            is_wait_duration(value)
                ? NULL
                : "hold_ms must be a number of milliseconds, at most ten years";
    else if (strcmp(name, "payload") != 0)
        why = "a request of interrupt.request/1 must be {prompt?, payload?, "
              "schema?, assignees?, for_ms?, hold_ms?}";
    return status_of_reason(words, why);
}

static int32_t check_interrupt_request(struct mortise_asked *a, char *words)
{
    int32_t status = MORTISE_S_OK;
    const char *name;
    json_t *value;

    json_object_foreach(mortise_json_unconst(a->body), name, value)
    {
        status = check_interrupt_member(a, name, value, words);
        if (status != MORTISE_S_OK)
            break;
    }
    a->hold_ms =
        (uint64_t)json_integer_value(json_object_get(a->body, "hold_ms"));
    json_object_del(mortise_json_unconst(a->body), "hold_ms");
    return status;
}

static int32_t check_timer_wait(struct mortise_asked *a, char *words)
{
    const json_t *wait = json_object_get(a->body, "for_ms");
    const json_t *until = json_object_get(a->body, "until_ms");
    const char *why = NULL;

    if (json_object_size(a->body) != 1 || (wait == NULL && until == NULL))
        why = "a request of timer.wait/1 must be {for_ms} or {until_ms}";
    else if (wait != NULL && !is_wait_duration(wait))
        why = for_ms_error;
    else if (until != NULL &&
             (!json_is_integer(until) || json_integer_value(until) < 1))
        why = "until_ms must be a number of milliseconds since 1970";
    return status_of_reason(words, why);
}

const struct mortise_host_call_method mortise_host_call_interrupt = {
    .effect = MORTISE_HOST_CALL_QUESTION,
    .check = check_interrupt_request,
};

/* A timer that belongs to no run waits in memory. */
static void on_wait_timer(struct mortise_timer *t)
{
    struct mortise_asked *a =
        MORTISE_CONTAINER_OF(t, struct mortise_asked, hold);

    mortise_host_call_answer(a, MORTISE_S_OK, json_null(), "");
}

static void start_background_timer(struct mortise_asked *a)
{
    json_int_t ms = json_integer_value(json_object_get(a->body, "for_ms"));
    json_int_t until = json_integer_value(json_object_get(a->body, "until_ms"));
    json_int_t now = (json_int_t)mortise_now_ms();

    assert(a->live == NULL); /* the timers of runs do not start here */
    if (until > 0)
        ms = until > now ? until - now : 0;
    a->hold.fire = on_wait_timer;
    mortise_timer_arm(&a->m->timers, &a->hold,
                      mortise_mono_ns_after((uint64_t)ms));
}

static void cancel_background_timer(struct mortise_asked *a)
{
    mortise_timer_disarm(&a->m->timers, &a->hold);
}

const struct mortise_host_call_method mortise_host_call_timer = {
    .effect = MORTISE_HOST_CALL_TIMER,
    .check = check_timer_wait,
    .needs_no_run = true,
    .start = start_background_timer,
    .cancel = cancel_background_timer,
};
