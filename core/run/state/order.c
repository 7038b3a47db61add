/* order.c -- what somebody said as one, under the name that they gave it.
 *
 * Whoever loses the engine before it answered must be able to find out whether
 * what they said is on disk, and somebody else may have said nearly the same
 * meanwhile.  So an order has an id, made by who gives it, and stands in the
 * commit of what it led to, ahead of that:
 *
 *   (1) The id is there when all of the order is, and else nothing of it.
 *   (2) What was recorded under an id is not done again under it: who says it
 *       again is answered, and the run goes on as it was told to.
 *   (3) An id that was used for something else is refused: a digest of what was
 *       said stands with it.
 *   (4) What changes nothing is not recorded, nor is its id.
 *
 * An order without one (through the API) has no such entry.
 */
#include <assert.h>
#include <string.h>

#include "core/run/state/state.h"

static const struct order *find(const struct mortise_run *r, const char *id)
{
    for (size_t i = r->n_orders; i-- > 0;) {
        if (strcmp(r->orders[i].id, id) == 0)
            return &r->orders[i];
    }
    return NULL;
}

bool mortise_run_knows_order(const struct mortise_run *r, const char *id)
{
    return id != NULL && find(r, id) != NULL;
}

static void hash_text(struct mortise_hasher *h, const char *text)
{
    mortise_hasher_u64(h, text != NULL);
    mortise_hasher_str(h, text != NULL ? text : "");
}

/* Its values as they are written. */
static int digest_of(const struct mortise_run *r, const struct mortise_said *h,
                     uint8_t out[MORTISE_DIGEST], struct mortise_err *err)
{
    struct mortise_hasher hasher;

    mortise_hasher_init(&hasher);
    for (size_t i = 0; i < h->n; i++) {
        const struct mortise_run_command *c = &h->list[i];
        char *value =
            c->value != NULL ? mortise_json_text(r->mem, c->value) : NULL;

        if (c->value != NULL && value == NULL)
            return mortise_nomem(err);
        mortise_hasher_u64(&hasher, c->kind);
        mortise_hasher_u64(&hasher, c->flags);
        hash_text(&hasher, c->id);
        hash_text(&hasher, c->decision);
        hash_text(&hasher, c->reason);
        hash_text(&hasher, c->digest);
        hash_text(&hasher, value);
        mortise_release_str(r->mem, value);
        hash_text(&hasher, c->node);
    }
    mortise_hasher_final(&hasher, out);
    return MORTISE_OK;
}

int mortise_order_check(const struct mortise_run *r,
                        const struct mortise_said *h, struct mortise_err *err)
{
    const struct order *o = find(r, h->order);
    uint8_t digest[MORTISE_DIGEST];
    int rv = digest_of(r, h, digest, err);

    assert(o != NULL); /* the run knows it */
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
    const struct mortise_said *h = r->ordering;
    struct mortise_entry e = {.type = MORTISE_E_ORDER};
    int rv;

    r->ordering = NULL;
    if (h == NULL || h->order == NULL)
        return MORTISE_OK;
    e.id = h->order;
    rv = digest_of(r, h, e.digest, err);
    return rv == MORTISE_OK ? mortise_run_record(r, &e, err) : rv;
}

int mortise_order_record_start(struct mortise_run *r, const char *id,
                               struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_ORDER, .id = id};

    return id != NULL ? mortise_run_record(r, &e, err) : MORTISE_OK;
}

int mortise_apply_order(struct mortise_run *r, const struct mortise_entry *e,
                        struct mortise_err *err)
{
    struct order *grown = mortise_grow(r->mem, r->orders, r->n_orders,
                                       &r->cap_orders, sizeof *grown);
    const char *id;

    if (grown == NULL)
        return mortise_nomem(err);
    r->orders = grown;
    if (e->id[0] == '\0' || find(r, e->id) != NULL)
        return mortise_entry_corrupt(err, e);
    id = mortise_arena_strdup(&r->arena, e->id);
    if (id == NULL)
        return mortise_nomem(err);
    grown[r->n_orders].id = id;
    memcpy(grown[r->n_orders++].digest, e->digest, MORTISE_DIGEST);
    r->order = id;
    return MORTISE_OK;
}

const char *mortise_order_of(const struct mortise_run *r, const char *actor)
{
    return actor[0] != '\0' ? r->order : NULL;
}
