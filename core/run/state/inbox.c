/* inbox.c -- messages from people to a run, until a model has received them.
 *
 *   (1) Messages wait in the order in which they were sent, for the next call
 *       of a model: by any execution, or, if the message names a node, by an
 *       execution of this node or inside of it.
 *   (2) A call carries all messages that wait for it, or none while another
 *       call in flight carries some of them.  So the messages that it carried
 *       are still the first ones when its answer is recorded, and the entry
 *       only needs their number.
 *   (3) A message is removed when the answer with the reply is recorded.  Until
 *       then it waits: a call that failed, or that was lost with its process,
 *       delivers nothing.
 */
#include "core/run/state/state.h"

#include <string.h>

/* Is the call that carries the message in flight? */
static bool is_message_in_flight(const struct mortise_run *r,
                                 const struct told *t)
{
    const struct exec *x;
    const struct step *s;

    if (t->exec == 0)
        return false;
    x = r->execs[t->exec];
    if ((x->state != X_RUNNING && x->state != X_STOPPING) ||
        x->journal == NULL || t->step >= x->journal->n)
        return false;
    s = x->journal->steps[t->step];
    return s->state == STEP_IN_FLIGHT && s->ask != 0;
}

/* Is the message for x, or for the node that x is inside of? */
static bool is_message_for(const struct mortise_run *r, const struct told *t,
                           const struct exec *x)
{
    if (t->node[0] == '\0')
        return true;
    for (; x != NULL; x = x->frame->top->scope->owner)
        if (x->frame->top == r->frames[0])
            return strcmp(mortise_exec_node(r, x)->id, t->node) == 0;
    return false;
}

int mortise_inbox_add(struct mortise_run *r, const char *node, json_t *text,
                      struct mortise_err *err)
{
    struct told *grown = mortise_array_grow(r->mem, r->inbox, r->n_inbox,
                                            &r->cap_inbox, sizeof *grown);
    const char *copy = mortise_arena_strdup(&r->arena, node);

    if (grown == NULL || copy == NULL)
        return mortise_nomem(err);
    r->inbox = grown;
    r->inbox[r->n_inbox++] =
        (struct told){.text = json_incref(text), .node = copy};
    return MORTISE_OK;
}

void mortise_inbox_remove(struct mortise_run *r, const struct exec *x, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < r->n_inbox; i++) {
        if (n > 0 && is_message_for(r, &r->inbox[i], x)) {
            json_decref(r->inbox[i].text);
            n--;
        } else {
            r->inbox[kept++] = r->inbox[i];
        }
    }
    r->n_inbox = kept;
}

void mortise_inbox_finish(struct mortise_run *r)
{
    for (size_t i = 0; i < r->n_inbox; i++)
        json_decref(r->inbox[i].text);
    mortise_release(r->mem, r->inbox, r->cap_inbox * sizeof r->inbox[0]);
}

bool mortise_inbox_has_messages(const struct mortise_run *r,
                                const struct exec *x)
{
    for (size_t i = 0; i < r->n_inbox; i++)
        if (is_message_for(r, &r->inbox[i], x) &&
            !is_message_in_flight(r, &r->inbox[i]))
            return true;
    return false;
}

size_t mortise_inbox_count_bytes(const struct mortise_run *r,
                                 const struct exec *x)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n_inbox; i++)
        if (is_message_for(r, &r->inbox[i], x) &&
            !is_message_in_flight(r, &r->inbox[i]))
            n += json_string_length(r->inbox[i].text);
    return n;
}

static json_t *build_user_message(const struct told *t)
{
    return json_pack("{s:s, s:[{s:s, s:O}]}", "role", "user", "parts", "type",
                     "text", "text", t->text);
}

json_t *mortise_inbox_take_messages(struct mortise_run *r, const struct exec *x,
                                    uint32_t step)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->n_inbox; i++)
        if (is_message_for(r, &r->inbox[i], x) &&
            is_message_in_flight(r, &r->inbox[i]))
            return list; /* (2) */
    for (size_t i = 0; list != NULL && i < r->n_inbox; i++) {
        struct told *t = &r->inbox[i];

        if (!is_message_for(r, t, x))
            continue;
        t->exec = x->index;
        t->step = step;
        if (json_array_append_new(list, build_user_message(t)) != 0)
            mortise_json_clear_ref(&list);
    }
    return list;
}

json_t *mortise_inbox_make_json(const struct mortise_run *r)
{
    json_t *list = json_array();

    for (size_t i = 0; list != NULL && i < r->n_inbox; i++) {
        const struct told *t = &r->inbox[i];

        if (json_array_append_new(
                list, json_pack("{s:O, s:s*}", "text", t->text, "node",
                                t->node[0] != '\0' ? t->node : NULL)) != 0)
            mortise_json_clear_ref(&list);
    }
    return list;
}
