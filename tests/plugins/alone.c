/* alone.c -- run {late, ms}: its first `late` attempts take ms and do not look
 * whether they should stop; it says how often it was entered and how many calls
 * were inside at once, at most. */
#include "simple.h"

#include <stdatomic.h>
#include <stdio.h>

static atomic_int inside, entered, most;

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    char said[96];
    int now = atomic_fetch_add(&inside, 1) + 1;

    atomic_fetch_add(&entered, 1);
    if (now > atomic_load(&most))
        atomic_store(&most, now);
    if ((int64_t)r->attempt <= simple_int(r, "late", 0))
        simple_sleep_ms(simple_int(r, "ms", 0));
    snprintf(said, sizeof said, "{\"entered\": %d, \"most\": %d}",
             atomic_load(&entered), atomic_load(&most));
    atomic_fetch_sub(&inside, 1);
    return simple_emit(i, r, said);
}

SIMPLE_EXECUTOR("alone")
