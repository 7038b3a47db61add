/* ahead.c -- what is read and cannot be run as yet.
 *
 * The loader knows parts of the language before a run obeys them; until it
 * does, they are refused like any key that is not in this build.  Who makes a
 * run obey one takes its bit away. */
#include "graph/loader.h"

unsigned mortise_graph_ahead = MORTISE_AHEAD_BOUNDS;

bool mortise_load_ahead(struct mortise_loader *ld, unsigned what,
                        const char *code, struct mortise_span at,
                        const char *words)
{
    if (!(mortise_graph_ahead & what))
        return false;
    mortise_diag_add(ld->diags, code, at, "%s is not available in this build",
                     words);
    return true;
}
