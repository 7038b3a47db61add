/* order.c -- orders: ids of command lists, so that a repeated list is applied
 * once.
 *
 * If a client loses the engine before the answer, it must be able to find out
 * whether its commands are on disk; somebody else may have sent almost the same
 * commands.  So the client makes an id, the order, and the id is recorded in
 * the same commit as the effects of the list, before them:
 *
 *   (1) The id is recorded if and only if the whole list is.
 *   (2) A list whose id is recorded is not applied again: the client gets its
 *       answer, and the run continues if the list requires it.
 *   (3) An id with other commands is rejected: a digest of the commands is
 *       recorded with the id.
 *   (4) A list that changes nothing is not recorded, and neither is its id.
 *
 * A list without an id (from the API) has no such entry.
 */
#include <assert.h>
#include <string.h>

#include "core/run/state/state.h"

static const struct order *find_order_by_id(const struct mortise_run *r,
                                            const char *id)
{
    for (size_t i = r->n_orders; i-- > 0;) {
        if (strcmp(r->orders[i].id, id) == 0)
            return &r->orders[i];
    }
    return NULL;
}

bool mortise_run_has_order(const struct mortise_run *r, const char *id)
{
    return id != NULL && find_order_by_id(r, id) != NULL;
}

static void hash_optional_text(struct mortise_hasher *h, const char *text)
{
    mortise_hasher_add_u64(h, text != NULL);
    mortise_hasher_add_str(h, text != NULL ? text : "");
}

/* Values are hashed as their JSON text. */
static int digest_commands(const struct mortise_run *r,
                           const struct mortise_command_list *h,
                           uint8_t out[MORTISE_DIGEST], struct mortise_err *err)
{
    struct mortise_hasher hasher;

    mortise_hasher_init(&hasher);
    for (size_t i = 0; i < h->n; i++) {
        const struct mortise_run_command *c = &h->list[i];
        char *value =
            c->value != NULL ? mortise_json_to_text(r->mem, c->value) : NULL;

        if (c->value != NULL && value == NULL)
            return mortise_nomem(err);
        mortise_hasher_add_u64(&hasher, c->kind);
        mortise_hasher_add_u64(&hasher, c->flags);
        hash_optional_text(&hasher, c->id);
        hash_optional_text(&hasher, c->decision);
        hash_optional_text(&hasher, c->reason);
        hash_optional_text(&hasher, c->digest);
        hash_optional_text(&hasher, value);
        mortise_release_str(r->mem, value);
        hash_optional_text(&hasher, c->node);
    }
    mortise_hasher_final(&hasher, out);
    return MORTISE_OK;
}

int mortise_order_check(const struct mortise_run *r,
                        const struct mortise_command_list *h,
                        struct mortise_err *err)
{
    const struct order *o = find_order_by_id(r, h->order);
    uint8_t digest[MORTISE_DIGEST];
    int rv = digest_commands(r, h, digest, err);

    assert(o != NULL); /* the caller checked that the run has it */
    if (rv != MORTISE_OK)
        return rv;
    return memcmp(o->digest, digest, sizeof digest) == 0
               ? MORTISE_OK
               : mortise_fail(
                     err, MORTISE_EMISMATCH,
                     "the order '%s' of run %s was recorded before with other "
                     "commands; each order needs its own id",
                     h->order, r->id);
}

int mortise_order_record(struct mortise_run *r, struct mortise_err *err)
{
    const struct mortise_command_list *h = r->ordering;
    struct mortise_entry e = {.type = MORTISE_E_ORDER};
    int rv;

    r->ordering = NULL;
    if (h == NULL || h->order == NULL)
        return MORTISE_OK;
    e.id = h->order;
    rv = digest_commands(r, h, e.digest, err);
    return rv == MORTISE_OK ? mortise_run_record(r, &e, err) : rv;
}

int mortise_order_record_admission(struct mortise_run *r, const char *id,
                                   struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_ORDER, .id = id};

    return id != NULL ? mortise_run_record(r, &e, err) : MORTISE_OK;
}

int mortise_apply_order(struct mortise_run *r, const struct mortise_entry *e,
                        struct mortise_err *err)
{
    struct order *grown = mortise_array_grow(r->mem, r->orders, r->n_orders,
                                             &r->cap_orders, sizeof *grown);
    const char *id;

    if (grown == NULL)
        return mortise_nomem(err);
    r->orders = grown;
    if (e->id[0] == '\0' || find_order_by_id(r, e->id) != NULL)
        return mortise_entry_corrupt(err, e);
    id = mortise_arena_strdup(&r->arena, e->id);
    if (id == NULL)
        return mortise_nomem(err);
    grown[r->n_orders].id = id;
    memcpy(grown[r->n_orders++].digest, e->digest, MORTISE_DIGEST);
    r->order = id;
    return MORTISE_OK;
}

const char *mortise_order_get_for_actor(const struct mortise_run *r,
                                        const char *actor)
{
    return actor[0] != '\0' ? r->order : NULL;
}
