/* inbox.c -- what people told a run, until a model of it heard that.
 *
 *   (1) What is told waits in the order in which it was told, for the next call
 *       of a model: of any execution, or of those of the node that it is for,
 *       and what is inside of them.
 *   (2) A call hears all that waits for it, or nothing while another call that is
 *       out hears a part of that.  So what it heard are the first ones that wait
 *       for it, still when its answer is recorded: how many says all.
 *   (3) It is heard when that answer is, with a reply.  Until then it waits, and a
 *       call that failed, or died with its process, heard nothing.
 */
#include "core/run/state/state.h"

#include <string.h>

/* Is that call still out? */
static bool is_out(const struct mortise_run *r, const struct told *t)
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
    return s->state == STEP_OUT && s->ask != 0;
}

/* Is it for x, or what x is inside of? */
static bool is_for(const struct mortise_run *r, const struct told *t,
                   const struct exec *x)
{
    if (t->node[0] == '\0')
        return true;
    for (; x != NULL; x = x->frame->top->scope->owner)
        if (x->frame->top == r->frames[0])
            return strcmp(mortise_exec_node(r, x)->id, t->node) == 0;
    return false;
}

int mortise_inbox_put(struct mortise_run *r, const char *node, json_t *text,
                      struct mortise_err *err)
{
    struct told *grown = mortise_grow(r->mem, r->inbox, r->n_inbox,
                                      &r->cap_inbox, sizeof *grown);
    const char *copy = mortise_arena_strdup(&r->arena, node);

    if (grown == NULL || copy == NULL)
        return mortise_nomem(err);
    r->inbox = grown;
    r->inbox[r->n_inbox++] =
        (struct told){.text = json_incref(text), .node = copy};
    return MORTISE_OK;
}

void mortise_inbox_heard(struct mortise_run *r, const struct exec *x, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < r->n_inbox; i++) {
        if (n > 0 && is_for(r, &r->inbox[i], x)) {
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

bool mortise_inbox_waits(const struct mortise_run *r, const struct exec *x)
{
    for (size_t i = 0; i < r->n_inbox; i++)
        if (is_for(r, &r->inbox[i], x) && !is_out(r, &r->inbox[i]))
            return true;
    return false;
}

size_t mortise_inbox_size(const struct mortise_run *r, const struct exec *x)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n_inbox; i++)
        if (is_for(r, &r->inbox[i], x) && !is_out(r, &r->inbox[i]))
            n += json_string_length(r->inbox[i].text);
    return n;
}

static json_t *message_of(const struct told *t)
{
    return json_pack("{s:s, s:[{s:s, s:O}]}", "role", "user", "parts", "type",
                     "text", "text", t->text);
}

json_t *mortise_inbox_hear(struct mortise_run *r, const struct exec *x,
                           uint32_t step)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->n_inbox; i++)
        if (is_for(r, &r->inbox[i], x) && is_out(r, &r->inbox[i]))
            return list; /* (2) */
    for (size_t i = 0; list != NULL && i < r->n_inbox; i++) {
        struct told *t = &r->inbox[i];

        if (!is_for(r, t, x))
            continue;
        t->exec = x->index;
        t->step = step;
        if (json_array_append_new(list, message_of(t)) != 0)
            mortise_json_drop(&list);
    }
    return list;
}

/* [{text, node?} ...], what nobody heard yet; NULL when memory ran out. */
json_t *mortise_inbox_json(const struct mortise_run *r)
{
    json_t *list = json_array();

    for (size_t i = 0; list != NULL && i < r->n_inbox; i++) {
        const struct told *t = &r->inbox[i];

        if (json_array_append_new(
                list, json_pack("{s:O, s:s*}", "text", t->text, "node",
                                t->node[0] != '\0' ? t->node : NULL)) != 0)
            mortise_json_drop(&list);
    }
    return list;
}
