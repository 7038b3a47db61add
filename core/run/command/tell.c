/* tell.c -- the command that sends a user's message to the run: a model of the
 * run receives it with its next turn (inbox.c). */
#include <string.h>

#include "core/json/schema.h"
#include "core/run/command/command.h"

enum { MAX_MESSAGE_BYTES = 1 << 20 };

static bool uses_models(const struct mortise_graph *g);

/* Does the node, or a graph or tool inside it, call a model? */
static bool can_receive_message(const struct mortise_node *n)
{
    return (n->op != NULL && n->op->asks_models) ||
           (n->sub != NULL && uses_models(n->sub)) ||
           (n->tools != NULL && uses_models(n->tools));
}

/* The nesting of graphs is bounded. */
static bool uses_models(const struct mortise_graph *g)
{
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (can_receive_message(&g->nodes[i]))
            return true;
    return false;
}

/* Does the message, as JSON or as plain text, match the node's
 * message_schema? */
static int check_message_schema(const struct mortise_run *r,
                                const struct mortise_node *n, json_t *text,
                                struct mortise_err *err)
{
    struct mortise_err why;
    json_t *value = NULL;
    uint64_t limit = r->graph->expr_cost;
    int rv =
        mortise_schema_check_with_limit(n->message_schema, text, limit, &why);

    if (rv == MORTISE_EINVAL) {
        int parsed = mortise_json_parse(&value, json_string_value(text),
                                        json_string_length(text), NULL);

        if (parsed == MORTISE_OK)
            rv = mortise_schema_check_with_limit(n->message_schema, value,
                                                 limit, &why);
        else if (parsed == MORTISE_ENOMEM)
            rv = mortise_nomem(&why);
    }
    json_decref(value);
    if (rv != MORTISE_EINVAL) {
        if (rv != MORTISE_OK && err != NULL)
            *err = why;
        return rv;
    }
    return mortise_fail(
        err, rv,
        "the message_schema of node '%s' of run %s rejects the message: %.600s",
        n->id, r->id, why.msg);
}

/* Check the node, and everything inside it.  The nesting of graphs is
 * bounded. */
static int check_message_inside(const struct mortise_run *r,
                                const struct mortise_node *n, json_t *text,
                                struct mortise_err *err)
{
    const struct mortise_graph *const inner[] = {n->sub, n->tools};
    int rv = check_message_schema(r, n, text, err);

    for (size_t k = 0; k < 2; k++)
        for (uint32_t i = 0;
             rv == MORTISE_OK && inner[k] != NULL && i < inner[k]->n_nodes; i++)
            rv = check_message_inside(r, &inner[k]->nodes[i], text, err);
    return rv;
}

/* Can every receiver accept the message? */
static int check_receivers(const struct mortise_run *r, const char *id,
                           json_t *text, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    if (id != NULL)
        return check_message_inside(r, mortise_graph_find_node(r->graph, id),
                                    text, err);
    for (uint32_t i = 0; rv == MORTISE_OK && i < r->graph->n_nodes; i++)
        rv = check_message_inside(r, &r->graph->nodes[i], text, err);
    return rv;
}

/* Is there a receiver? */
static int check_has_receiver(const struct mortise_run *r, const char *id,
                              struct mortise_err *err)
{
    const struct mortise_node *n;

    if (id == NULL)
        return uses_models(r->graph)
                   ? MORTISE_OK
                   : mortise_fail(err, MORTISE_EINVAL,
                                  "no node of the graph uses a model, so no "
                                  "model would receive the message");
    n = mortise_graph_find_node(r->graph, id);
    if (n == NULL)
        return mortise_fail(err, MORTISE_EINVAL,
                            "the graph has no node '%.64s'", id);
    return can_receive_message(n)
               ? MORTISE_OK
               : mortise_fail(err, MORTISE_EINVAL,
                              "node '%s' uses no model, so it would not "
                              "receive the message",
                              n->id);
}

int mortise_command_check_tell(struct mortise_run *r,
                               const struct mortise_command_list *h,
                               const struct mortise_run_command *c,
                               struct mortise_err *err)
{
    size_t n = json_string_length(c->value);
    int rv;

    (void)h;
    if (mortise_run_is_closed(r))
        return mortise_fail(err, MORTISE_ESTATE,
                            "run %s has already ended: it is %s", r->id,
                            mortise_run_status_name(r->status));
    if (n == 0)
        return mortise_fail(err, MORTISE_EINVAL,
                            "a message must be a text that is not empty");
    if (n > MAX_MESSAGE_BYTES)
        return mortise_fail(err, MORTISE_ELIMIT,
                            "a message can have at most 1 MiB");
    rv = check_has_receiver(r, c->node, err);
    return rv == MORTISE_OK ? check_receivers(r, c->node, c->value, err) : rv;
}

int mortise_command_obey_tell(struct mortise_run *r,
                              const struct mortise_command_list *h,
                              const struct mortise_run_command *c,
                              struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_TELL,
                              .actor = h->actor,
                              .value = c->value,
                              .id = c->node != NULL ? c->node : ""};

    return mortise_run_record(r, &e, err);
}
