/* recalls.c -- read {...} and write {...}: what memory.read/1 and memory.write/1
 * answer to that, or {status, words}; sneak is write, with a manifest that says that
 * it has no effect. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "simple.h"

static mortise_status give(mortise_inst *i, const mortise_request *r,
                           mortise_status status, mortise_str answer)
{
    char room[1024];
    mortise_str out;
    mortise_jw w;

    if (status == MORTISE_S_CANCELLED)
        return status;
    if (status == MORTISE_S_OK)
        return mortise_emit_output(i->host, i->api, r->call, answer);
    mortise_jw_fixed(&w, room, sizeof room);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "status");
    mortise_jw_int(&w, status);
    mortise_jw_key(&w, "words");
    mortise_jw_string(&w, answer);
    mortise_jw_end(&w);
    return mortise_jw_finish(&w, &out) == MORTISE_S_OK
               ? mortise_emit_output(i->host, i->api, r->call, out)
               : MORTISE_S_NOMEM;
}

/* A line more in the file `entered`, of which the host knows nothing. */
static void note(void)
{
    FILE *f = fopen("entered", "a");

    if (f != NULL) {
        fprintf(f, "x\n");
        fclose(f);
    }
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    mortise_str answer;
    mortise_status status;

    note();
    status = mortise_str_is(r->operation, "read")
                 ? mortise_memory_read_wait(i->host, i->api, r->call, r->body,
                                            &answer)
                 : mortise_memory_write_wait(i->host, i->api, r->call, r->body,
                                             &answer);
    if (status == MORTISE_S_OK && access("die", F_OK) == 0) {
        simple_sleep_ms(500); /* what it was told is on disk by then */
        unlink("die");
        kill(getpid(), SIGKILL);
    }
    return give(i, r, status, answer);
}

SIMPLE_EXECUTOR("recalls")
