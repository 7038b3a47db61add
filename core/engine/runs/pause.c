/* pause.c -- one run is to stand still: its engine leaves, or what it began has
 * to end.
 */
#include "core/engine/common/engine.h"

struct leave {
    struct mortise_order order;
    struct mortise *m;
    struct mortise_run_command command;
};

static void left(struct mortise_order *o, const struct mortise_err *err)
{
    struct leave *l = MORTISE_OF(o, struct leave, order);

    (void)err; /* a run that was lost is as it is on disk */
    mortise_release(l->m->mem, l, sizeof *l);
}

void mortise_pause_one(struct mortise *m, const struct mortise_live *live)
{
    struct leave *l = mortise_zalloc(m->mem, sizeof *l);

    if (l == NULL)
        return; /* closing interrupts it, as a crash would */
    l->m = m;
    l->command = (struct mortise_run_command){.kind = MORTISE_CMD_PAUSE,
                                              .flags = MORTISE_CMD_SHUTDOWN};
    l->order = (struct mortise_order){.list = &l->command,
                                      .n = 1,
                                      .flags = MORTISE_NO_CONTINUE,
                                      .actor = m->actor,
                                      .done = left};
    mortise_live_command(m, live->tenant, live->id, &l->order);
}
