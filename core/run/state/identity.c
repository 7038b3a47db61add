/* identity.c -- stable identities for the effects and requests of an execution:
 * idempotency keys, names and approval digests.
 *
 * An identity is a hash of the run's store (rules.c), tenant and id, and of the
 * path of the execution.  So a replayed run computes the same identities, and
 * no other execution has them.
 */
#include <assert.h>
#include <string.h>

#include "core/run/state/state.h"

void mortise_exec_begin_hash(struct mortise_hasher *h,
                             const struct mortise_run *r, const struct exec *x)
{
    char path[MORTISE_EXEC_PATH];

    mortise_exec_print_path(r, x, path);
    mortise_hasher_init(h);
    mortise_hasher_add_field(h, r->store.b, sizeof r->store.b);
    mortise_hasher_add_str(h, r->tenant);
    mortise_hasher_add_str(h, r->id);
    mortise_hasher_add_str(h, path);
}

void mortise_exec_print_stable_name(const struct mortise_run *r,
                                    const struct exec *x, const char *what,
                                    char out[MORTISE_DIGEST_HEX])
{
    uint8_t digest[MORTISE_DIGEST];
    struct mortise_hasher h;

    mortise_exec_begin_hash(&h, r, x);
    mortise_hasher_add_str(&h, what);
    mortise_hasher_final(&h, digest);
    mortise_hex_encode(out, digest, MORTISE_DIGEST);
}

/* A tool's execution is identified by the key of the step that it runs for.
 * That key is the same in each attempt and generation of its asker. */
void mortise_exec_begin_effect_hash(struct mortise_hasher *h,
                                    const struct mortise_run *r,
                                    const struct exec *x)
{
    if (x->serves == 0) {
        mortise_exec_begin_hash(h, r, x);
        return;
    }
    mortise_hasher_init(h);
    mortise_hasher_add_field(h, r->store.b, sizeof r->store.b);
    mortise_hasher_add_str(h, r->tenant);
    mortise_hasher_add_str(h, r->id);
    mortise_hasher_add_str(h, "tool");
    mortise_hasher_add_field(h, x->served, sizeof x->served);
}

void mortise_exec_compute_effect_key(const struct mortise_run *r,
                                     const struct exec *x,
                                     uint8_t out[MORTISE_DIGEST])
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    struct mortise_hasher h;

    mortise_exec_begin_effect_hash(&h, r, x);
    mortise_hasher_add_str(&h, n->plugin);
    mortise_hasher_add_str(&h, n->operation);
    mortise_hasher_add_field(&h, x->body_digest, MORTISE_DIGEST);
    mortise_hasher_add_u64(&h, 0); /* occurrence: a node makes one call */
    mortise_hasher_final(&h, out);
}

void mortise_exec_set_key(struct exec *x, const uint8_t key[MORTISE_DIGEST])
{
    memcpy(x->key, key, MORTISE_DIGEST);
}

void mortise_exec_compute_key(const struct mortise_run *r, struct exec *x)
{
    mortise_exec_compute_effect_key(r, x, x->key);
}

/* An approval is bound to the operation, the plugin, the effective arguments
 * and, if the run pins it, the definition of the tool. */
void mortise_exec_approval_of_digest(const struct mortise_run *r,
                                     const struct exec *x,
                                     const uint8_t body[MORTISE_DIGEST],
                                     uint8_t out[MORTISE_DIGEST])
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    const uint8_t *tool;
    struct mortise_hasher h;

    mortise_hasher_init(&h);
    assert(n->plugin != NULL); /* only calls of plugins are approved */
    mortise_hasher_add_str(&h, n->plugin);
    mortise_hasher_add_str(&h, n->operation);
    mortise_hasher_add_field(&h, mortise_pins_get_digest(r, n->plugin),
                             MORTISE_DIGEST);
    mortise_hasher_add_field(&h, body, MORTISE_DIGEST);
    tool = mortise_pins_get_tool(r, n);
    if (tool != NULL)
        mortise_hasher_add_field(&h, tool, MORTISE_DIGEST);
    mortise_hasher_final(&h, out);
}

int mortise_exec_approval_digest(struct mortise_run *r, struct exec *x,
                                 const json_t *body,
                                 uint8_t out[MORTISE_DIGEST],
                                 struct mortise_err *err)
{
    uint8_t digest[MORTISE_DIGEST];

    if (mortise_json_digest(digest, body, r->mem) != MORTISE_OK)
        return mortise_nomem(err);
    mortise_exec_approval_of_digest(r, x, digest, out);
    return MORTISE_OK;
}
