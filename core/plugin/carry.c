#include "core/plugin/carry.h"

#include "core/base/mem.h"

#include <assert.h>
#include <string.h>

int mortise_carry_lend(struct mortise_wire *msg,
                       struct mortise_wire_storage *held,
                       const struct mortise_mem *mem, struct mortise_err *err)
{
    (void)msg;
    (void)err;
    *held = (struct mortise_wire_storage){.mem = mem};
    return MORTISE_OK;
}

/* Copy one string to *to, point the string to the copy, and advance *to. */
static void copy_str_into(mortise_str *s, char **to)
{
    if (s->n != 0)
        memcpy(*to, s->p, (size_t)s->n);
    s->p = *to;
    *to += s->n;
}

/* One block holds all strings. */
int mortise_carry_copy(struct mortise_wire *msg,
                       struct mortise_wire_storage *held,
                       const struct mortise_mem *mem, struct mortise_err *err)
{
    mortise_str *all[] = {&msg->name, &msg->run_id, &msg->node_path,
                          &msg->idempotency_key, &msg->body};
    char *to;

    *held = (struct mortise_wire_storage){.mem = mem};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
        held->n += (size_t)all[k]->n;
    held->p = to = mortise_alloc(mem, held->n);
    if (to == NULL)
        return mortise_nomem(err);
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
        copy_str_into(all[k], &to);
    assert(to == (char *)held->p + held->n);
    return MORTISE_OK;
}
