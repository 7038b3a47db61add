/* counts.c -- adds a line to config.file: an effect that can neither be
 * repeated nor looked for. */
#include "simple.h"

/* A line for each time it happened: the idempotency key. */
static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    FILE *f = fopen(i->file, "a");

    if (f == NULL)
        return MORTISE_S_IO;
    fprintf(f, "%.*s\n", (int)r->idempotency_key.n, r->idempotency_key.p);
    if (fclose(f) != 0)
        return MORTISE_S_IO;
    return simple_emit(i, r, "{\"counted\": true}");
}

SIMPLE_EXECUTOR("counts")
