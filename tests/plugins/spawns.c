/* spawns.c -- asks for spawn handles:
 *
 *   claim, register, advance, settle {...}   the answer to spawn.NAME/1 of that
 *                                            body; or {status, words}
 *   begin {call, ms?}   claims, registers "child of CALL", and sleeps before it
 *                       says so: {outcome, handle, token?, state}
 *   falter {call}       claims, and fails, for now, unless it had before
 *
 * Each time that it is entered it adds a line to the file `entered`, if there
 * is one, which the host knows nothing of. */
#include <stdio.h>
#include <string.h>

#include "simple.h"

static mortise_status said(mortise_inst *i, const mortise_request *r,
                           mortise_status status, mortise_str answer)
{
    char text[1024];
    mortise_jw w;
    mortise_str json;

    if (status == MORTISE_S_CANCELLED)
        return status;
    if (status == MORTISE_S_OK)
        return mortise_emit_output(i->host, i->api, r->call, answer);
    mortise_jw_fixed(&w, text, sizeof text);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "status");
    mortise_jw_int(&w, status);
    mortise_jw_key(&w, "words");
    mortise_jw_string(&w, answer);
    mortise_jw_end(&w);
    mortise_jw_finish(&w, &json);
    return mortise_emit_output(i->host, i->api, r->call, json);
}

/* A member of JSON, as text. */
static void text_of(mortise_str json, const char *member, char *out, size_t n)
{
    mortise_jv v;

    out[0] = '\0';
    if (mortise_jv_parse(json, &v) == MORTISE_S_OK)
        mortise_jv_cstr(mortise_jv_get(v, member), out, n);
}

static mortise_str claim_body(char *room, size_t n, const char *call)
{
    mortise_jw w;
    mortise_str body = {0};

    mortise_jw_fixed(&w, room, n);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "call");
    mortise_jw_cstr(&w, call);
    mortise_jw_key(&w, "name");
    mortise_jw_cstr(&w, "helper");
    mortise_jw_end(&w);
    mortise_jw_finish(&w, &body);
    return body;
}

static mortise_str register_body(char *room, size_t n, const char *call,
                                 mortise_str claimed)
{
    char handle[256], token[256], child[160];
    mortise_jw w;
    mortise_str body = {0};

    text_of(claimed, "handle", handle, sizeof handle);
    text_of(claimed, "token", token, sizeof token);
    snprintf(child, sizeof child, "child of %s", call);
    mortise_jw_fixed(&w, room, n);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "handle");
    mortise_jw_cstr(&w, handle);
    mortise_jw_key(&w, "token");
    mortise_jw_cstr(&w, token);
    mortise_jw_key(&w, "child");
    mortise_jw_cstr(&w, child);
    mortise_jw_end(&w);
    mortise_jw_finish(&w, &body);
    return body;
}

static mortise_status begin(mortise_inst *i, const mortise_request *r)
{
    char call[128], room[1024], claimed[1024];
    mortise_str answer = {0}, first = {0};
    mortise_status status;

    text_of(r->body, "call", call, sizeof call);
    status = mortise_spawn_claim_wait(
        i->host, i->api, r->call, claim_body(room, sizeof room, call), &answer);
    if (status != MORTISE_S_OK || answer.n >= sizeof claimed)
        return said(i, r, status, answer);
    memcpy(claimed, answer.p, answer.n);
    first = mortise_strn(claimed, answer.n);
    status = mortise_spawn_register_wait(
        i->host, i->api, r->call, register_body(room, sizeof room, call, first),
        &answer);
    if (status != MORTISE_S_OK)
        return said(i, r, status, answer);
    simple_sleep_ms(simple_int(r, "ms", 0));
    return said(i, r, MORTISE_S_OK, first);
}

static mortise_status falter(mortise_inst *i, const mortise_request *r)
{
    char call[128], room[1024], outcome[64];
    mortise_str answer = {0};
    mortise_status status;

    text_of(r->body, "call", call, sizeof call);
    status = mortise_spawn_claim_wait(
        i->host, i->api, r->call, claim_body(room, sizeof room, call), &answer);
    text_of(answer, "outcome", outcome, sizeof outcome);
    if (status != MORTISE_S_OK || strcmp(outcome, "claimed") != 0)
        return said(i, r, status, answer);
    i->api->fail(i->host, r->call, mortise_strz("not now"),
                 mortise_strz("{\"class\":\"transient\"}"));
    return MORTISE_S_FAILED;
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    mortise_str answer = {0};
    FILE *f = fopen("entered", "r+");
    mortise_status status;

    if (f != NULL) {
        fseek(f, 0, SEEK_END);
        fprintf(f, "spawns\n");
        fclose(f);
    }
    if (mortise_str_is(r->operation, "begin"))
        return begin(i, r);
    if (mortise_str_is(r->operation, "falter"))
        return falter(i, r);
    if (mortise_str_is(r->operation, "claim"))
        status = mortise_spawn_claim_wait(i->host, i->api, r->call, r->body,
                                          &answer);
    else if (mortise_str_is(r->operation, "register"))
        status = mortise_spawn_register_wait(i->host, i->api, r->call, r->body,
                                             &answer);
    else if (mortise_str_is(r->operation, "advance"))
        status = mortise_spawn_advance_wait(i->host, i->api, r->call, r->body,
                                            &answer);
    else
        status = mortise_spawn_settle_wait(i->host, i->api, r->call, r->body,
                                           &answer);
    return said(i, r, status, answer);
}

SIMPLE_EXECUTOR("spawns")
