/* turns.h -- the conversations with models of one call, as a tree of turns.
 *
 * A plugin that calls a model repeatedly does not repeat the earlier messages.
 * It names the turn that it continues (model.call/1, `after`) and the new
 * messages.  The turns live as long as the plugin's call; a re-entered call
 * makes its turns again, one by one.
 *
 * Everything here is [loop]. */
#ifndef MORTISE_SERVICES_MODEL_TURNS_H
#define MORTISE_SERVICES_MODEL_TURNS_H

#include "core/engine/runs/host_calls.h"

struct mortise_turn;

/* Get the turn of a model.call/1 request whose body was checked; create it if
 * it does not exist.  MORTISE_EINVAL: the turn to continue, the result of a
 * tool call or the node's conversation is missing. */
int mortise_turns_get_or_create(const struct mortise_asked *a,
                                struct mortise_turn **out,
                                struct mortise_err *err);
/* Append the whole conversation of a turn as JSON without brackets, followed by
 * `told`, a list of messages or NULL.  MORTISE_ENOMEM. */
int mortise_turn_append_json(struct mortise_turn *t, const json_t *told,
                             struct mortise_buf *out);
/* Estimate the bytes of that text, as the model charges for it. */
size_t mortise_turn_estimate_size(struct mortise_turn *t);
/* The run executes the tool call with this id, so its result has an event of
 * its own.  MORTISE_ENOMEM. */
int mortise_turns_mark_invoked(const struct mortise_asked *a, const char *id);
/* List the messages that a->made adds, for display: without results of tool
 * calls that the run executed, and with sizes in place of data.  NULL: memory
 * ran out. */
json_t *mortise_turn_list_new(const struct mortise_asked *a);
/* Store the answer of model.call/1 in the turn a->made. */
void mortise_turn_set_answer(const struct mortise_asked *a,
                             const json_t *answer);
/* Count the messages that `prune` omitted. */
size_t mortise_turn_count_omitted(const struct mortise_turn *t);

/* List the messages added since the call began, up to the turn `name`, followed
 * by `more` (a list; borrowed); without system messages.  NULL with *err. */
json_t *mortise_turns_list_kept(const struct mortise_asked *a, const char *name,
                                const json_t *more, struct mortise_err *err);

/* List all messages that the model got in the turn `name`, without its reply.
 * NULL with *err; MORTISE_EINVAL: there is no such turn. */
json_t *mortise_turns_list_sent(const struct mortise_asked *a, const char *name,
                                struct mortise_err *err);

#endif
