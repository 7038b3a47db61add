/* note_run.c -- what a note is when it runs: nothing but what it says. */
#include "extend/core/note.h"
#include "core/run/outcome/outcome.h"

static int start(struct mortise_run *r, struct exec *x, struct mortise_err *err)
{
    const struct note *note = mortise_exec_node(r, x)->own;
    struct mortise_err why;
    json_t *said = NULL;
    struct env env;
    int rv = mortise_env_init(&env, r, x, x->view, NULL, NULL,
                              mortise_tmpl_get_used_names(note->say), err);

    if (rv != MORTISE_OK)
        return rv;
    rv = mortise_tmpl_eval(note->say, &env.cel, &said, &why);
    mortise_env_finish(&env);
    rv = mortise_judge_map_result(rv, err);
    if (rv != MORTISE_OK)
        return mortise_fail_if_invalid(r, x, rv, "expression", &why, err);
    mortise_exec_set_attempt(x, x->attempt, r->time_ms);
    rv = mortise_pipeline_enter(r, x, said, DONE_EXECUTED, err);
    json_decref(said);
    return rv;
}

const struct node_kind mortise_run_kind_note = {.start = start};
