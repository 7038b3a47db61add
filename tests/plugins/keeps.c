/* keeps.c -- keeps values of its own:
 *
 *   get {key}                 the answer to kv.get/1
 *   put {key, value?}         null; or {status, words} of the refusal
 *   put_odd {key, value?, x}  ... of a request with a member too many
 *   count {ms?}               one more than it had counted; sleeps before it
 *                             says so
 *
 * Each time that it is entered it adds a line to the file `entered`, if there
 * is one, which the host knows nothing of. */
#include <stdio.h>

#include "simple.h"

#ifndef KEEPS
#define KEEPS "keeps"
#endif

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

/* The members key and value of the body, in a room of their own. */
struct wish {
    char key[1024], *room;
    uint64_t cap;
    mortise_str name, value;
};

static int read_wish(const mortise_request *r, struct wish *w)
{
    mortise_jv body, value;

    w->cap = r->body.n + MORTISE_KV_KEY_ROOM;
    w->room = malloc(w->cap);
    if (w->room == NULL || mortise_jv_parse(r->body, &body) != MORTISE_S_OK ||
        mortise_jv_text(mortise_jv_get(body, "key"), w->key, sizeof w->key,
                        &w->name) != MORTISE_S_OK)
        return 0;
    value = mortise_jv_get(body, "value");
    w->value = mortise_strn(value.p, value.n);
    return 1;
}

static mortise_status get(mortise_inst *i, const mortise_request *r)
{
    mortise_str answer = {NULL, 0};
    struct wish w;
    mortise_status status = MORTISE_S_INVALID;

    if (read_wish(r, &w))
        status = mortise_kv_get_wait(i->host, i->api, r->call, w.name, &answer);
    free(w.room);
    return said(i, r, status, answer);
}

static mortise_status put(mortise_inst *i, const mortise_request *r)
{
    mortise_str answer = {NULL, 0};
    struct wish w;
    mortise_status status = MORTISE_S_INVALID;

    if (read_wish(r, &w))
        status = mortise_kv_put_wait(i->host, i->api, r->call, w.name, w.value,
                                     w.room, w.cap, &answer);
    free(w.room);
    return said(i, r, status, answer);
}

static mortise_status put_odd(mortise_inst *i, const mortise_request *r)
{
    mortise_str answer = {NULL, 0};
    mortise_status status = i->api->ask_wait(
        i->host, r->call, mortise_strz(MORTISE_KV_PUT_1), r->body, &answer);

    return said(i, r, status, answer);
}

static mortise_status count(mortise_inst *i, const mortise_request *r)
{
    mortise_str key = mortise_strz("count"), answer;
    char text[32], room[MORTISE_KV_KEY_ROOM + 32];
    int64_t n = 0;
    mortise_jv v;
    mortise_status status =
        mortise_kv_get_wait(i->host, i->api, r->call, key, &answer);

    if (status == MORTISE_S_OK && mortise_kv_value(answer, &v) == MORTISE_S_OK)
        mortise_jv_int(v, &n);
    snprintf(text, sizeof text, "%lld", (long long)n + 1);
    if (status == MORTISE_S_OK)
        status =
            mortise_kv_put_wait(i->host, i->api, r->call, key,
                                mortise_strz(text), room, sizeof room, &answer);
    if (status != MORTISE_S_OK)
        return said(i, r, status, answer);
    simple_nap(r);
    return simple_emit(i, r, text);
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    FILE *f = fopen("entered", "r+");

    if (f != NULL) {
        fseek(f, 0, SEEK_END);
        fprintf(f, KEEPS "\n");
        fclose(f);
    }
    if (mortise_str_is(r->operation, "get"))
        return get(i, r);
    if (mortise_str_is(r->operation, "put"))
        return put(i, r);
    if (mortise_str_is(r->operation, "put_odd"))
        return put_odd(i, r);
    return count(i, r);
}

SIMPLE_EXECUTOR(KEEPS)
