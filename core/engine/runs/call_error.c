/* call_error.c -- set the error of a call: a plugin's, a script's or the
 * engine's. */
#include <stdio.h>

#include "core/engine/runs/call.h"
#include "core/engine/common/secret_store.h"

/* [any] */
void mortise_call_set_error(struct mortise_plugin_call *c, const char *code,
                            const char *error_class, const char *message)
{
    struct mortise_secret_store *secrets = c->m->secret_store;

    mortise_release_str(c->mem, c->message);
    c->message =
        mortise_secret_store_mask_copy(secrets, message); /* NULL: no message */
    snprintf(c->code, sizeof c->code, "%s", code);
    mortise_secret_store_mask_text(secrets, c->code, sizeof c->code);
    c->error_class = error_class;
    c->ending = (struct mortise_exit_info){0, 0};
}
