/* words.c -- how a call ended, in words: of a plugin, a script, or ours. */
#include <stdio.h>

#include "engine/runs/call.h"
#include "engine/common/vault.h"

/* [any] */
void mortise_call_words(struct mortise_ongoing *c, const char *code,
                        const char *error_class, const char *message)
{
    struct mortise_vault *vault = c->live->m->vault;

    mortise_release_str(c->mem, c->message);
    c->message = mortise_vault_covered(vault, message); /* NULL: no words */
    snprintf(c->code, sizeof c->code, "%s", code);
    mortise_vault_cover(vault, c->code, sizeof c->code);
    c->error_class = error_class;
}
