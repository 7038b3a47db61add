/* consult.c -- calls of a run that are of the deployment's discovery, and not of
 * its node's plugin.  Those of its memory are calls of a plugin like others
 * (calls.c).  Under a script nobody is asked: script.c answers. */
#include "core/engine/runs/call.h"
#include "core/engine/runs/discover.h"
#include "core/engine/runs/script.h"

void mortise_consult_discovery(struct mortise_ongoing *c,
                               const struct mortise_run_call *rc)
{
    if (!mortise_script_call(c, rc, NULL))
        mortise_look_for_run(c, rc);
}
