/* turns.h -- the turns of conversations with models, as one call has them.
 *
 * A plugin that asks a model again does not say again what was said: it names
 * the turn that it goes on from (model.call/1, `after`), and what comes behind.
 * Here is what was said, for as long as the call is out; a call that is entered
 * again says its turns again, one by one.
 *
 * Everything here is [loop]. */
#ifndef MORTISE_SERVICES_MODEL_TURNS_H
#define MORTISE_SERVICES_MODEL_TURNS_H

#include "core/engine/runs/host_calls.h"

struct mortise_turn;

/* The turn that an ask of model.call/1 is, whose body was checked: made, unless
 * it was there.  MORTISE_EINVAL says what it lacks: a turn that it goes on from,
 * a result of a tool, a conversation of its node's. */
int mortise_turns_take(const struct mortise_asked *a, struct mortise_turn **out,
                       struct mortise_err *err);
/* Append the whole conversation of a turn, JSON without its brackets; behind it
 * `told`, a list of messages or NULL.  MORTISE_ENOMEM. */
int mortise_turn_write(struct mortise_turn *t, const json_t *told,
                       struct mortise_buf *out);
/* How many bytes that are, about: what a model is charged for. */
size_t mortise_turn_size(struct mortise_turn *t);
/* The run makes the tool call of that id: its result has an event of its own.
 * MORTISE_ENOMEM. */
int mortise_turns_invoke(const struct mortise_asked *a, const char *id);
/* For people: what a->made says that was not said before.  A new list of
 * messages, without the results of calls that the run made, and with the size of
 * data in its place.  NULL: memory ran out. */
json_t *mortise_turn_news(const struct mortise_asked *a);
/* The turn a->made was answered with this: what model.call/1 gives. */
void mortise_turn_answered(const struct mortise_asked *a, const json_t *answer);
/* So many of its messages were left out for it (`prune`); 0: none. */
size_t mortise_turn_left_out(const struct mortise_turn *t);

/* What was said since its conversation was there, up to the turn of that name
 * and with `more` behind it (a list; borrowed): a new list, without system
 * messages.  NULL with *err. */
json_t *mortise_turns_said(const struct mortise_asked *a, const char *name,
                           const json_t *more, struct mortise_err *err);

/* All that its model was told in the turn of that name, its reply not: a new list.
 * NULL with *err; MORTISE_EINVAL: there is no such turn. */
json_t *mortise_turns_told(const struct mortise_asked *a, const char *name,
                           struct mortise_err *err);

#endif
