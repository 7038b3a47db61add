/* consult.c -- calls of a run that go to the deployment's discovery plugins
 * instead of its node's plugin.  Calls to the memory plugin are ordinary plugin
 * calls (calls.c).  With a script no plugin is asked: script.c answers. */
#include "core/engine/runs/call.h"
#include "core/engine/runs/discover.h"
#include "core/engine/runs/script.h"

void mortise_consult_discovery(struct mortise_plugin_call *c,
                               const struct mortise_run_call *rc)
{
    if (!mortise_script_call(c, rc, NULL))
        mortise_discovery_attach_run(c, rc);
}
