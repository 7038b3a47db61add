/* handles.h -- what the methods about spawn handles have in common.  [loop] */
#ifndef MORTISE_SERVICES_SPAWN_HANDLES_H
#define MORTISE_SERVICES_SPAWN_HANDLES_H

#include "core/engine/runs/host_calls.h"
#include "core/engine/runs/spawns.h"

/* As check() of a method: no members but those (NULL ends them); a member that is
 * text of so many bytes; {handle, token} among them; who asks is a node that may
 * have native children. */
int32_t mortise_handles_check_members(const struct mortise_asked *a,
                                      const char *const *members,
                                      const char *form, char *words);
int32_t mortise_handles_check_text(const struct mortise_asked *a,
                                   const char *member, size_t most,
                                   bool optional, char *words);
int32_t mortise_handles_check_holder(const struct mortise_asked *a,
                                     char *words);
int32_t mortise_handles_check_node(const struct mortise_asked *a, char *words);
/* The task of a native child, in the body; an attempt (NULL: none is said). */
int32_t mortise_handles_check_task(const struct mortise_asked *a, char *words);
int32_t mortise_handles_check_attempt(const json_t *attempt, char *words);
/* NULL: it is not there. */
const char *mortise_handles_text(const struct mortise_asked *a,
                                 const char *member);
/* Is the body's `handle` one of the run that asks?  Then what it is made of; else it
 * is none, and not found. */
bool mortise_handles_parse(const struct mortise_asked *a,
                           char parent[MORTISE_NAME_MAX + 1],
                           char id[MORTISE_SPAWN_ID]);
/* Is it the handle's to say, and no failure to ask it? */
bool mortise_handles_is_word(int rv);
/* The answer of a read: "E_CODE: words", denied where it is the handle's to say, or
 * what was said is not allowed. */
void mortise_handles_answer_error(struct mortise_asked *a, int rv,
                                  const struct mortise_err *err);

#endif
