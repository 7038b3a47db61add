/* request.c -- requests of executions to people: recording and settling them,
 * and the matching changes of the store's list of pending requests.
 */
#include <assert.h>
#include <string.h>

#include "core/run/state/state.h"

/* ---- pending requests in the store --------------------------------------- */

/* Add to the requests that the next commit opens or closes. */
static int pending_add(struct mortise_run *r, struct mortise_run_open **list,
                       size_t *n, size_t *cap, const char *id,
                       const struct mortise_run_open *one,
                       struct mortise_err *err)
{
    struct mortise_run_open *grown;

    if (r->actions == NULL)
        return MORTISE_OK; /* replaying: the store has them already */
    grown = mortise_array_grow(r->mem, *list, *n, cap, sizeof *grown);
    if (grown == NULL)
        return mortise_nomem(err);
    *list = grown;
    assert(strlen(id) == REQUEST_ID - 1);
    grown[*n] = *one;
    json_incref(one->payload);
    memcpy(grown[(*n)++].id, id, REQUEST_ID);
    return MORTISE_OK;
}

int mortise_pending_open(struct mortise_run *r, const char *id,
                         uint64_t deadline_ms, json_t *payload,
                         struct mortise_err *err)
{
    struct mortise_run_open one = {.deadline_ms = deadline_ms,
                                   .timer = payload == NULL,
                                   .payload = payload};

    return pending_add(r, &r->kept.opens, &r->kept.n_opens, &r->kept.cap_opens,
                       id, &one, err);
}

int mortise_pending_replace(struct mortise_run *r, const char *id,
                            uint64_t deadline_ms, json_t *payload,
                            struct mortise_err *err)
{
    struct mortise_run_open one = {
        .deadline_ms = deadline_ms, .again = true, .payload = payload};

    return pending_add(r, &r->kept.opens, &r->kept.n_opens, &r->kept.cap_opens,
                       id, &one, err);
}

int mortise_pending_close(struct mortise_run *r, const char *id,
                          uint64_t deadline_ms, bool timer,
                          struct mortise_err *err)
{
    struct mortise_run_open one = {.deadline_ms = deadline_ms, .timer = timer};

    return pending_add(r, &r->kept.closes, &r->kept.n_closes,
                       &r->kept.cap_closes, id, &one, err);
}

/* ---- the entries --------------------------------------------------------- */

void mortise_request_make_id(const struct mortise_run *r, const struct exec *x,
                             char out[REQUEST_ID])
{
    uint8_t digest[MORTISE_DIGEST];
    struct mortise_hasher h;

    mortise_exec_begin_hash(&h, r, x);
    mortise_hasher_add_str(&h, "request");
    mortise_hasher_add_field(&h, r->seed, sizeof r->seed);
    mortise_hasher_add_u64(&h, x->generation);
    mortise_hasher_add_u64(&h, x->ordinal);
    mortise_hasher_final(&h, digest);
    mortise_hex_encode(out, digest, (REQUEST_ID - 1) / 2);
}

int mortise_request_record(struct mortise_run *r, struct exec *x,
                           enum mortise_ask kind, json_t *payload,
                           uint64_t deadline_ms, struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_make_entry(r, x, MORTISE_E_ASK);
    char id[REQUEST_ID], path[MORTISE_EXEC_PATH];
    int rv;

    if (payload == NULL)
        return mortise_nomem(err);
    mortise_request_make_id(r, x, id);
    mortise_exec_print_path(r, x, path);
    e.id = id;
    e.how = (uint8_t)kind;
    e.at_ms = deadline_ms;
    e.value = payload;
    if (json_object_set_new(payload, "id", json_string(id)) != 0 ||
        json_object_set_new(payload, "kind",
                            json_string(mortise_ask_name(kind))) != 0 ||
        json_object_set_new(payload, "node",
                            json_string(mortise_exec_node(r, x)->id)) != 0 ||
        json_object_set_new(payload, "path", json_string(path)) != 0)
        rv = mortise_nomem(err);
    else
        rv = mortise_run_record(r, &e, err);
    json_decref(payload);
    if (rv == MORTISE_OK && deadline_ms != 0) {
        mortise_exec_renew_handle(x);
        rv = mortise_exec_arm_timer_at(r, x, deadline_ms, err);
    }
    return rv;
}

int mortise_request_settle(struct mortise_run *r, struct exec *x,
                           enum mortise_settle how, json_t *value,
                           const uint8_t *digest, const char *actor,
                           struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_make_entry(r, x, MORTISE_E_SETTLE);
    char id[REQUEST_ID];
    int rv = mortise_exec_disarm_timer(r, x, err);

    assert(x->state == X_ASKED || x->state == X_HELD);
    if (rv != MORTISE_OK)
        return rv;
    memcpy(id, x->request, sizeof id); /* applying the entry clears
                                          x->request */
    e.id = id;
    e.how = (uint8_t)how;
    e.value = value;
    e.actor = actor;
    if (digest != NULL)
        memcpy(e.digest, digest, MORTISE_DIGEST);
    return mortise_run_record(r, &e, err);
}

int mortise_request_withdraw(struct mortise_run *r, struct exec *x,
                             struct mortise_err *err)
{
    return mortise_request_settle(r, x, MORTISE_SETTLE_WITHDRAWN, NULL, NULL,
                                  "", err);
}
