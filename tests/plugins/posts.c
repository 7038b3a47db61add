/* posts.c -- tells config.base_url of itself in a POST: an effect that somebody
 * else counts.  `act` adds a line to config.file besides, behind the answer: one
 * of its own.  Who is meant is the directory that the process is in, since all
 * else of a run is the same in each trial of the kill harness; `tell` {name} says
 * who. */
#include "simple.h"

#include <stdbool.h>
#include <unistd.h>

static mortise_status act(mortise_inst *i, const mortise_request *r)
{
    FILE *f = fopen(i->file, "a");

    if (f == NULL)
        return MORTISE_S_IO;
    fprintf(f, "%.*s\n", (int)r->idempotency_key.n, r->idempotency_key.p);
    return fclose(f) == 0 ? MORTISE_S_OK : MORTISE_S_IO;
}

static bool who(const mortise_request *r, char *name, size_t n)
{
    mortise_jv body;

    if (!mortise_str_is(r->operation, "tell"))
        return getcwd(name, n) != NULL;
    return mortise_jv_parse(r->body, &body) == MORTISE_S_OK &&
           mortise_jv_cstr(mortise_jv_get(body, "name"), name, n) ==
               MORTISE_S_OK;
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    char here[1024], room[4096];
    mortise_http_ask h = {0};
    mortise_str answer;
    mortise_status status;

    if (!who(r, here, sizeof here))
        return MORTISE_S_FAILED;
    h.method = mortise_strz("POST");
    h.url = mortise_strz(i->base_url);
    h.body = mortise_strz(here);
    status = mortise_http_request_wait(i->host, i->api, r->call, &h, room,
                                       sizeof room, &answer);
    if (status == MORTISE_S_OK && mortise_str_is(r->operation, "act"))
        status = act(i, r);
    if (status == MORTISE_S_OK)
        status = simple_emit(i, r, "{\"counted\": true}");
    return status;
}

SIMPLE_EXECUTOR("posts")
