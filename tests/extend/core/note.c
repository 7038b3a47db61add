/* note.c -- a command on a run that core/ does not know: it has somebody's words
 * recorded, in an entry that core/ does not know either (remark.c). */
#include <string.h>

#include "core/run/command/command.h"

int mortise_command_check_note(struct mortise_run *r,
                               const struct mortise_command_list *h,
                               const struct mortise_run_command *c,
                               struct mortise_err *err)
{
    (void)r;
    (void)h;
    return c->reason != NULL ? MORTISE_OK
                             : mortise_fail(err, MORTISE_EINVAL,
                                            "a note needs words: its reason");
}

int mortise_command_obey_note(struct mortise_run *r,
                              const struct mortise_command_list *h,
                              const struct mortise_run_command *c,
                              struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_REMARK, .actor = h->actor};
    int rv;

    e.value = mortise_json_make_string(c->reason, strlen(c->reason));
    rv = e.value != NULL ? mortise_run_record(r, &e, err) : mortise_nomem(err);
    json_decref(e.value);
    return rv;
}
