/* apply_steer.c -- the entry that a run goes by another graph from now on.
 *
 * The entry has the digest of the graph; the graph is with the one that the run is
 * read with, which pins all those before it (lang/graph/former.h).  Entries before it
 * count nodes and edges as the graph before it does, those behind it as that one.
 */
#include <string.h>

#include "core/run/commit.h"

static int announce(struct mortise_run *r, const struct mortise_entry *e,
                    struct mortise_err *err)
{
    char digest[2 * MORTISE_DIGEST + 1];
    json_t *extra = NULL;
    int rv = mortise_event_command(r, "steer", e->actor, NULL, NULL, err);

    mortise_hex(digest, e->digest, MORTISE_DIGEST);
    if (rv == MORTISE_OK && mortise_run_is_seen(r))
        extra = json_pack("{s:s, s:s, s:O}", "actor", e->actor, "digest",
                          digest, "operations", e->value);
    return rv == MORTISE_OK
               ? mortise_event_announce(r, NULL, "steering_applied", extra, err)
               : rv;
}

int mortise_apply_steer(struct mortise_run *r, const struct mortise_entry *e,
                        struct mortise_err *err)
{
    struct mortise_graph *to = mortise_regraph_next(r);
    int rv;

    if (!json_is_array(e->value) || to == NULL ||
        memcmp(to->digest, e->digest, MORTISE_DIGEST) != 0 ||
        mortise_regraph_check(r, to, NULL) != MORTISE_OK)
        return mortise_entry_corrupt(err, e);
    rv = announce(r, e, err); /* before what follows from it */
    return rv == MORTISE_OK ? mortise_regraph(r, to, err) : rv;
}
