/* awaits.c -- ask {prompt, for_ms?, hold_ms?}: what a person answers; sleep {ms};
 * within, look and put {prompt, hold_ms?, undo?, then?, model?}: the same as ask, in the
 * middle of a step of its own, which is undone (`undo`) or left open when it lets
 * go; `then`: and another one behind it; `model`: a model is told that first, and
 * what became of it is `heard`, or in `refused`.  Where there is a file `changed` it
 * asks something else.  Each time that it is entered it
 * adds a line to the file `entered`, which the host knows nothing of. */
#include <stdio.h>
#include <unistd.h>

#include "simple.h"

static void note_entrance(const char *operation)
{
    FILE *f = fopen("entered", "a");

    if (f != NULL) {
        fprintf(f, "%s\n", operation);
        fclose(f);
    }
}

static mortise_status done(mortise_inst *i, const mortise_request *r,
                           mortise_status status, mortise_str answer)
{
    char text[64];

    if (status == MORTISE_S_SUSPENDED || status == MORTISE_S_CANCELLED)
        return status;
    if (status == MORTISE_S_OK)
        return mortise_emit_output(i->host, i->api, r->call, answer);
    snprintf(text, sizeof text, "{\"status\": %d}", (int)status);
    return simple_emit(i, r, text);
}

static mortise_status ask(mortise_inst *i, const mortise_request *r,
                          mortise_jv body)
{
    char prompt[256] = "", room[1024];
    mortise_str answer = {NULL, 0};
    mortise_question q = {0};
    int64_t ms = 0, hold_ms = 0;

    mortise_jv_cstr(mortise_jv_get(body, "prompt"), prompt, sizeof prompt);
    mortise_jv_int(mortise_jv_get(body, "for_ms"), &ms);
    q.prompt = mortise_strz(prompt);
    q.for_ms = (uint64_t)ms;
    mortise_jv_int(mortise_jv_get(body, "hold_ms"), &hold_ms);
    q.hold_ms = (uint64_t)hold_ms;
    return done(i, r,
                mortise_interrupt_request_wait(i->host, i->api, r->call, &q,
                                               room, sizeof room, &answer),
                answer);
}

/* Behind the step, with `then`, another question, which is let go for. */
static mortise_status then(mortise_inst *i, const mortise_request *r,
                           mortise_jv body, const char *gave)
{
    mortise_question q = {0};
    mortise_str answer = {NULL, 0};
    char room[512];
    mortise_status status;
    int32_t more = 0;

    mortise_jv_bool(mortise_jv_get(body, "then"), &more);
    if (!more)
        return simple_emit(i, r, gave);
    q.prompt = mortise_strz("And then?");
    status = mortise_interrupt_request_wait(i->host, i->api, r->call, &q, room,
                                            sizeof room, &answer);
    return status == MORTISE_S_SUSPENDED ? status : simple_emit(i, r, gave);
}

/* What a model says to `model`, {"heard": ...} or {"refused": status}. */
static void hear(mortise_inst *i, const mortise_request *r, mortise_jv body,
                 char *out, size_t size)
{
    char words[64] = "", text[512];
    mortise_str answer = {NULL, 0};
    mortise_jv reply;
    mortise_status status;

    out[0] = '\0';
    if (mortise_jv_cstr(mortise_jv_get(body, "model"), words, sizeof words) !=
        MORTISE_S_OK)
        return;
    snprintf(text, sizeof text,
             "{%s\"alias\": \"m\", \"max_tokens\": 9, \"messages\": "
             "[{\"role\": \"user\", \"parts\": [{\"type\": \"text\", "
             "\"text\": \"%s\"}]}]}",
             strcmp(words, "nameless") == 0 ? "" : "\"step\": \"model\", ",
             words);
    status = mortise_model_call_wait(i->host, i->api, r->call,
                                     mortise_strz(text), &answer);
    reply = mortise_jv_get(mortise_jv_of(answer), "reply");
    if (status == MORTISE_S_OK)
        snprintf(out, size, "\"heard\": %.*s, ",
                 (int)mortise_jv_get(reply, "message").n,
                 mortise_jv_get(reply, "message").p);
    else
        snprintf(out, size, "\"refused\": %d, ", (int)status);
}

/* The answer is the step's result, and is given when it is asked for again. */
static mortise_status within(mortise_inst *i, const mortise_request *r,
                             mortise_jv body)
{
    char prompt[256] = "", room[1024], end[256], heard[512];
    mortise_str answer = {NULL, 0}, told = {NULL, 0};
    mortise_question q = {0};
    mortise_jv known;
    mortise_status status;
    int64_t hold_ms = 0;
    int32_t undo = 0;

    mortise_jv_bool(mortise_jv_get(body, "undo"), &undo);
    status = mortise_journal_begin_wait(i->host, i->api, r->call,
                                        mortise_strz("{\"step\": \"work\"}"),
                                        &answer);
    if (status != MORTISE_S_OK)
        return done(i, r, status, answer);
    if (mortise_jv_parse(answer, &known) == MORTISE_S_OK &&
        mortise_jv_type(mortise_jv_get(known, "result")) != MORTISE_JV_NONE)
        return then(i, r, body, "{\"known\": true}");
    note_entrance("work");
    hear(i, r, body, heard, sizeof heard);
    mortise_jv_cstr(mortise_jv_get(body, "prompt"), prompt, sizeof prompt);
    mortise_jv_int(mortise_jv_get(body, "hold_ms"), &hold_ms);
    if (access("changed", F_OK) == 0)
        snprintf(prompt, sizeof prompt, "Something else?");
    q.prompt = mortise_strz(prompt);
    q.hold_ms = (uint64_t)hold_ms;
    q.step = mortise_strz(prompt);
    status = mortise_interrupt_request_wait(i->host, i->api, r->call, &q, room,
                                            sizeof room, &answer);
    if (status == MORTISE_S_OK)
        snprintf(end, sizeof end, "{\"step\": \"work\", \"result\": %.*s}",
                 (int)answer.n, answer.p);
    else
        snprintf(end, sizeof end, "{\"step\": \"work\", \"undone\": true}");
    snprintf(room, sizeof room, "{%s\"gave\": %d, \"said\": %.*s}", heard,
             (int)status, status == MORTISE_S_OK ? (int)answer.n : 4,
             status == MORTISE_S_OK ? answer.p : "null");
    if (status != MORTISE_S_SUSPENDED || undo)
        mortise_journal_end_wait(i->host, i->api, r->call, mortise_strz(end),
                                 &told);
    return status == MORTISE_S_SUSPENDED ? status : then(i, r, body, room);
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    mortise_str answer = {NULL, 0};
    mortise_jv body;
    int64_t ms = 0;

    mortise_jv_parse(r->body, &body);
    if (mortise_str_is(r->operation, "within") ||
        mortise_str_is(r->operation, "look") ||
        mortise_str_is(r->operation, "put"))
        return within(i, r, body);
    if (!mortise_str_is(r->operation, "sleep")) {
        note_entrance("ask");
        return ask(i, r, body);
    }
    note_entrance("sleep");
    mortise_jv_int(mortise_jv_get(body, "ms"), &ms);
    return done(i, r,
                mortise_timer_wait_wait(i->host, i->api, r->call, 0,
                                        (uint64_t)ms, &answer),
                answer);
}

SIMPLE_EXECUTOR("awaits")
