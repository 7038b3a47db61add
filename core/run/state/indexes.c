/* indexes.c -- growing lists of indexes: of executions, frames or steps. */
#include "core/run/state/state.h"

int mortise_indexes_add(const struct mortise_mem *mem, struct indexes *to,
                        uint32_t index, struct mortise_err *err)
{
    uint32_t *grown =
        mortise_array_grow(mem, to->list, to->n, &to->cap, sizeof *grown);

    if (grown == NULL)
        return mortise_nomem(err);
    to->list = grown;
    to->list[to->n++] = index;
    return MORTISE_OK;
}

void mortise_indexes_finish(const struct mortise_mem *mem,
                            const struct indexes *of)
{
    mortise_release(mem, of->list, of->cap * sizeof of->list[0]);
}
