/* counts_reconcile.c -- adds a line to config.file, and can tell whether it
 * did. */
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

static mortise_status reconcile(mortise_inst *i, const mortise_request *r)
{
    char line[512];
    int found = 0;
    FILE *f = fopen(i->file, "r");

    while (f != NULL && !found && fgets(line, sizeof line, f) != NULL)
        found = strlen(line) == r->idempotency_key.n + 1 &&
                memcmp(line, r->idempotency_key.p, strlen(line) - 1) == 0;
    if (f != NULL)
        fclose(f);
    return simple_emit(i, r,
                       found ? "{\"happened\": true, "
                               "\"result\": {\"counted\": true}}"
                             : "{\"happened\": false}");
}

static const mortise_executor executor = {.size = sizeof(mortise_executor),
                                          .execute = execute,
                                          .reconcile = reconcile};
SIMPLE_INTERFACE(MORTISE_EXECUTOR_1, executor)
SIMPLE_MODULE("counts_reconcile", simple_create, simple_quiesce)
