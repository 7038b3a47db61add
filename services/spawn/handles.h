/* handles.h -- common code of the host calls about spawn handles.  [loop] */
#ifndef MORTISE_SERVICES_SPAWN_HANDLES_H
#define MORTISE_SERVICES_SPAWN_HANDLES_H

#include "core/engine/runs/host_calls.h"
#include "core/engine/runs/spawns.h"

/* For check() of a method.  members: the body has no others (NULL ends the
 * list). text: a member is text of at most `most` bytes.  holder: the body has
 * {handle, token}.  node: the calling node may have native children. */
int32_t mortise_handles_check_members(const struct mortise_asked *a,
                                      const char *const *members,
                                      const char *form, char *words);
int32_t mortise_handles_check_text(const struct mortise_asked *a,
                                   const char *member, size_t most,
                                   bool optional, char *words);
int32_t mortise_handles_check_holder(const struct mortise_asked *a,
                                     char *words);
int32_t mortise_handles_check_node(const struct mortise_asked *a, char *words);
/* Check the task of a native child, or the number of an attempt (NULL: absent).
 */
int32_t mortise_handles_check_task(const struct mortise_asked *a, char *words);
int32_t mortise_handles_check_attempt(const json_t *attempt, char *words);
/* Get a text member; NULL if it is absent. */
const char *mortise_handles_get_text(const struct mortise_asked *a,
                                     const char *member);
/* Parse the body's `handle`.  False if it is not a handle of the calling run;
 * it is then reported as not found. */
bool mortise_handles_parse(const struct mortise_asked *a,
                           char parent[MORTISE_NAME_MAX + 1],
                           char id[MORTISE_SPAWN_ID]);
/* Is it an error that the handle's record reports (true), or did reading the
 * record fail (false)? */
bool mortise_handles_is_record_error(int rv);
/* Answer a read with "E_CODE: message".  The status is MORTISE_S_DENIED for
 * errors that the record reports and for invalid requests. */
void mortise_handles_answer_error(struct mortise_asked *a, int rv,
                                  const struct mortise_err *err);

#endif
