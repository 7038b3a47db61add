/* costly.c -- pure operations that one would rather not call twice:
 *
 *   echo {...}      the arguments
 *   large {n}       so many letters
 *   say {...}       the arguments, after an event
 *   ask {...}       the arguments, after an ask
 *   nap {ms, ...}   the arguments, after a while
 *   tell {pass}     the arguments, which may refer to a secret
 *
 * Each time that it is entered it adds a line to the file `entered`, which the
 * host knows nothing of. */
#include <stdio.h>
#include <string.h>

#include "simple.h"

static mortise_status large(mortise_inst *i, const mortise_request *r)
{
    static const char quote[] = "\"";
    char piece[1024];

    memset(piece, 'x', sizeof piece);
    mortise_emit_output(i->host, i->api, r->call, mortise_strz(quote));
    for (int64_t left = simple_int(r, "n", 0); left > 0;) {
        size_t n = left < (int64_t)sizeof piece ? (size_t)left : sizeof piece;

        mortise_emit_output(i->host, i->api, r->call, mortise_strn(piece, n));
        left -= (int64_t)n;
    }
    return mortise_emit_output(i->host, i->api, r->call, mortise_strz(quote));
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    FILE *f = fopen("entered", "a");
    mortise_str answer;

    if (f != NULL) {
        fprintf(f, "costly\n");
        fclose(f);
    }
    if (mortise_str_is(r->operation, "large"))
        return large(i, r);
    if (mortise_str_is(r->operation, "say"))
        i->api->emit(i->host, r->call, mortise_strz("event"), r->body);
    if (mortise_str_is(r->operation, "ask"))
        mortise_kv_get_wait(i->host, i->api, r->call, mortise_strz("k"),
                            &answer);
    simple_nap(r);
    return simple_echo(i, r);
}

SIMPLE_EXECUTOR("costly")
