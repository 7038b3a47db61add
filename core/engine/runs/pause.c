/* pause.c -- pause one run, because its engine leaves or because its calls must
 * end.
 */
#include "core/engine/common/engine.h"

struct pause_order {
    struct mortise_order order;
    struct mortise *m;
    struct mortise_run_command command;
};

static void pause_order_done(struct mortise_order *o,
                             const struct mortise_err *err)
{
    struct pause_order *l = MORTISE_CONTAINER_OF(o, struct pause_order, order);

    (void)err; /* a run that was lost keeps its state on disk */
    mortise_release(l->m->mem, l, sizeof *l);
}

void mortise_pause_one(struct mortise *m, const struct mortise_live *live)
{
    struct pause_order *l = mortise_zalloc(m->mem, sizeof *l);

    if (l == NULL)
        return; /* closing interrupts the run, as a crash would */
    l->m = m;
    l->command = (struct mortise_run_command){.kind = MORTISE_CMD_PAUSE,
                                              .flags = MORTISE_CMD_SHUTDOWN};
    l->order = (struct mortise_order){.list = &l->command,
                                      .n = 1,
                                      .flags = MORTISE_NO_CONTINUE,
                                      .actor = m->actor,
                                      .done = pause_order_done};
    mortise_live_send_order(m, live->tenant, live->id, &l->order);
}
