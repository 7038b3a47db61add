/* apply_steer.c -- applies the entry that steers the run to another graph.
 *
 * The entry only has the digest of the new graph.  The graph itself comes with
 * the graph that the run is loaded with, which pins all its predecessors
 * (core/model/former.h).  Node and edge numbers in earlier entries are those of
 * the old graph, numbers in later entries those of the new one.
 */
#include <string.h>

#include "core/run/commit.h"

static int emit_steering_applied(struct mortise_run *r,
                                 const struct mortise_entry *e,
                                 struct mortise_err *err)
{
    char digest[2 * MORTISE_DIGEST + 1];
    json_t *extra = NULL;
    int rv =
        mortise_event_announce_command(r, "steer", e->actor, NULL, NULL, err);

    mortise_hex_encode(digest, e->digest, MORTISE_DIGEST);
    if (rv == MORTISE_OK && mortise_run_has_watcher(r))
        extra = json_pack("{s:s, s:s, s:O}", "actor", e->actor, "digest",
                          digest, "operations", e->value);
    return rv == MORTISE_OK
               ? mortise_event_announce(r, NULL, "steering_applied", extra, err)
               : rv;
}

int mortise_apply_steer(struct mortise_run *r, const struct mortise_entry *e,
                        struct mortise_err *err)
{
    struct mortise_graph *to = mortise_regraph_get_next(r);
    int rv;

    if (!json_is_array(e->value) || to == NULL ||
        memcmp(to->digest, e->digest, MORTISE_DIGEST) != 0 ||
        mortise_regraph_check(r, to, NULL) != MORTISE_OK)
        return mortise_entry_corrupt(err, e);
    rv = emit_steering_applied(r, e,
                               err); /* before the events that follow from it */
    return rv == MORTISE_OK ? mortise_regraph_switch(r, to, err) : rv;
}
