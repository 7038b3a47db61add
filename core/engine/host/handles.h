/* handles.h -- what the methods about spawn handles have in common.  [loop] */
#ifndef MORTISE_ENGINE_HOST_HANDLES_H
#define MORTISE_ENGINE_HOST_HANDLES_H

#include "engine/runs/host_calls.h"

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
/* Is it the handle's to say, and no failure to ask it? */
bool mortise_handles_is_word(int rv);

#endif
