/* door.c -- the one door out: asks of plugins, from their `ask` to the answer.
 *
 * An ask comes on any thread, as text; it is parsed there, and becomes a task
 * of the loop.  There it is checked, started, and answered, each by the method
 * that it names (door.h).
 *
 *   (1) Each ask is answered exactly once, also when its call has ended, or
 *       ended before the ask came here.
 *   (2) An answer never comes from inside the ask, nor from inside start():
 *       it is a task behind everything that was asked before it.
 *   (3) What is being performed for a call is let go of when the call ends or
 *       is to end.
 */
#include "engine/door.h"

#include <stdio.h>
#include <string.h>

#include "engine/call.h"

const struct mortise_door_method *const mortise_door_methods[] = {
    &mortise_door_state_get,
    &mortise_door_http_request,
    NULL,
};

static const struct mortise_door_method *method_of(const char *name)
{
    for (size_t i = 0; mortise_door_methods[i] != NULL; i++) {
        if (strcmp(mortise_door_methods[i]->name, name) == 0)
            return mortise_door_methods[i];
    }
    return NULL;
}

/* ---- records ------------------------------------------------------------ */

static void asked_free(struct mortise_asked *a)
{
    json_decref(mortise_json_unconst(a->body));
    json_decref(a->value);
    mortise_release(a->m->mem, a, sizeof *a);
}

static void link_asked(struct mortise_asked *a, struct mortise_ongoing *c)
{
    a->call = c;
    a->next = c->asked;
    if (a->next != NULL)
        a->next->prev = a;
    c->asked = a;
}

static void unlink_asked(struct mortise_asked *a)
{
    if (a->prev != NULL)
        a->prev->next = a->next;
    else
        a->call->asked = a->next;
    if (a->next != NULL)
        a->next->prev = a->prev;
    a->call = NULL;
}

/* ---- answers ------------------------------------------------------------ */

static void tell(struct mortise_instance *i, uint64_t call, uint64_t ask,
                 int32_t status, const char *text)
{
    mortise_instance_answer(i, call, ask, status, text, strlen(text));
}

static void tell_answer(struct mortise_asked *a)
{
    struct mortise_ongoing *c = a->call;
    char *text = NULL;

    if (a->status == MORTISE_S_OK) {
        text = mortise_json_text(c->mem, a->value);
        if (text == NULL) {
            a->status = MORTISE_S_NOMEM;
            snprintf(a->words, sizeof a->words, "out of memory");
        }
    }
    tell(c->lane->instance, c->id, a->id, a->status,
         text != NULL ? text : a->words);
    mortise_release_str(c->mem, text);
}

static void answered(struct mortise_task *t)
{
    struct mortise_asked *a = MORTISE_OF(t, struct mortise_asked, task);

    if (a->call != NULL) {
        tell_answer(a);
        unlink_asked(a);
    }
    asked_free(a);
}

void mortise_door_answer(struct mortise_asked *a, int32_t status, json_t *value,
                         const char *words)
{
    assert(!a->answered);
    assert((status == MORTISE_S_OK) == (value != NULL));
    a->answered = true;
    a->status = status;
    a->value = value;
    if (words != a->words)
        snprintf(a->words, sizeof a->words, "%s", words);
    a->task.run = answered;
    mortise_ready(a->m, &a->task);
}

void mortise_door_piece(struct mortise_asked *a, const char *p, size_t n)
{
    struct mortise_ongoing *c = a->call;

    if (c != NULL)
        mortise_instance_answer(c->lane->instance, c->id, a->id,
                                MORTISE_S_PENDING, p, n);
}

/* Nobody waits for it any more. */
static void forget(struct mortise_asked *a)
{
    struct mortise_ongoing *c = a->call;

    unlink_asked(a);
    tell(c->lane->instance, c->id, a->id, MORTISE_S_CANCELLED, "cancelled");
    if (a->answered)
        return; /* its task frees it */
    if (a->method->cancel != NULL)
        a->method->cancel(a);
    asked_free(a);
}

void mortise_door_forget(struct mortise_ongoing *c)
{
    while (c->asked != NULL)
        forget(c->asked);
}

/* The call ended before its ask came here, and with it went the knowledge whose
 * it was: every instance is told, and the one that asked knows. */
static void answer_late(const struct mortise_asked *a)
{
    struct mortise *m = a->m;
    struct mortise_hashed *e;

    if (m->plugins == NULL)
        return; /* closed: the instance answered it */
    for (e = mortise_table_first(&m->lanes); e != NULL;
         e = mortise_table_next(&m->lanes, e))
        tell(MORTISE_OF(e, struct mortise_lane, entry)->instance, a->run_call,
             a->id, MORTISE_S_CANCELLED, "the call is over");
}

/* ---- asking ------------------------------------------------------------- */

/* Is it to be performed?  Else its answer. */
static int32_t judge(const struct mortise_asked *a, char *words)
{
    if (a->status != MORTISE_S_OK) { /* found when it came */
        snprintf(words, MORTISE_DOOR_WORDS,
                 a->status == MORTISE_S_NOMEM ? "out of memory"
                                              : "the body is no JSON object");
        return a->status;
    }
    if (a->live->lost) {
        snprintf(words, MORTISE_DOOR_WORDS, "the call is over");
        return MORTISE_S_CANCELLED;
    }
    return a->method->check(a, words);
}

static void serve(struct mortise_asked *a, struct mortise_ongoing *c)
{
    int32_t status;

    link_asked(a, c);
    a->manifest = c->lane->manifest;
    a->deadline_ns = c->call.deadline_ns;
    a->node_path = c->path;
    a->key = "";
    a->live = c->live;
    a->run_call = c->run_call;
    status = judge(a, a->words);
    if (status == MORTISE_S_OK) {
        a->started = true;
        a->method->start(a);
    } else {
        mortise_door_answer(a, status, NULL, a->words);
    }
    a->live = NULL;
}

static void ask_task(struct mortise_task *t)
{
    struct mortise_asked *a = MORTISE_OF(t, struct mortise_asked, task);
    struct mortise_ongoing *c = mortise_call_find(a->m, a->run_call);

    if (c != NULL) {
        serve(a, c);
        return;
    }
    answer_late(a);
    asked_free(a);
}

/* [any]: the body, parsed off the loop where the plugin has threads. */
static int32_t parse(struct mortise_asked *a, const char *text, size_t n)
{
    json_t *body = NULL;
    int rv = mortise_json_parse(&body, text, n, NULL);

    a->body = body;
    if (rv == MORTISE_ENOMEM)
        return MORTISE_S_NOMEM;
    return rv == MORTISE_OK && json_is_object(body) ? MORTISE_S_OK
                                                    : MORTISE_S_INVALID;
}

void mortise_door_ask(void *ud, uint64_t call, uint64_t ask, const char *method,
                      const char *body, size_t n)
{
    struct mortise *m = ud;
    struct mortise_asked *a = mortise_zalloc(m->mem, sizeof *a);

    if (a == NULL) {
        mortise_call_starve(m, call);
        return;
    }
    a->m = m;
    a->id = ask;
    a->run_call = call; /* ours, until it is known whose it is */
    a->method = method_of(method);
    assert(a->method != NULL); /* manifest.c lets no other name in */
    a->status = parse(a, body, n);
    a->task.run = ask_task;
    mortise_call_post(m, &a->task);
}
