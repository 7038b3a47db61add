/* awaits.c -- ask {prompt, for_ms?}: what a person answers; sleep {ms}.  Each
 * time that it is entered it adds a line to the file `entered`, which the host
 * knows nothing of. */
#include <stdio.h>

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
    mortise_question q = {{NULL, 0}, {NULL, 0}, {NULL, 0}, 0};
    int64_t ms = 0;

    mortise_jv_cstr(mortise_jv_get(body, "prompt"), prompt, sizeof prompt);
    mortise_jv_int(mortise_jv_get(body, "for_ms"), &ms);
    q.prompt = mortise_strz(prompt);
    q.for_ms = (uint64_t)ms;
    return done(i, r,
                mortise_interrupt_request_wait(i->host, i->api, r->call, &q,
                                               room, sizeof room, &answer),
                answer);
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    mortise_str answer = {NULL, 0};
    mortise_jv body;
    int64_t ms = 0;

    mortise_jv_parse(r->body, &body);
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
