/* result.c -- results of effects, which are kept even if their node fails.
 *
 * A `write` or `external` call happened, even if its output waits or is
 * rejected.  A `result` entry records its output, so that a retry of the node
 * does not repeat the effect (R11).  A `said` entry after it records the update
 * and goto that came with the output. */
#include <string.h>

#include "core/run/outcome/outcome.h"

bool mortise_result_is_kept(const struct exec *x)
{
    return x->result != NULL &&
           memcmp(x->key, x->result_key, sizeof x->key) == 0;
}

bool mortise_result_is_reusable(const struct mortise_run *r,
                                const struct exec *x)
{
    uint8_t key[MORTISE_DIGEST];

    if (x->result == NULL || mortise_exec_node(r, x)->effect < MORTISE_WRITE)
        return false;
    mortise_exec_compute_effect_key(r, x, key);
    return memcmp(key, x->result_key, sizeof key) == 0;
}

int mortise_result_record_said(struct mortise_run *r, struct exec *x,
                               json_t *said, struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_make_entry(r, x, MORTISE_E_SAID);

    e.value = said;
    return said != NULL ? mortise_run_record(r, &e, err) : MORTISE_OK;
}

/* Values that are nested too deeply are dropped. */
static int record_result(struct mortise_run *r, struct exec *x, json_t *output,
                         json_t *said, struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_make_entry(r, x, MORTISE_E_RESULT);
    int rv;

    assert(mortise_exec_node(r, x)->effect >= MORTISE_WRITE);
    if (mortise_fold_check_depth(said, NULL) != MORTISE_OK)
        said = NULL;
    if (mortise_fold_check_depth(output, NULL) != MORTISE_OK)
        output = NULL;
    memcpy(e.digest, x->key, sizeof e.digest);
    rv = mortise_run_record_value(
        r, &e, output != NULL ? json_incref(output) : json_null(), err);
    return rv == MORTISE_OK ? mortise_result_record_said(r, x, said, err) : rv;
}

int mortise_result_record(struct mortise_run *r, struct exec *x, json_t *output,
                          enum done_how how, struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    const struct origin *from = mortise_origin_get(how);
    json_t *said;
    int rv;

    if (n->effect < MORTISE_WRITE || !from->happened ||
        (mortise_result_is_kept(x) &&
         mortise_judge_check_output(x->frame->graph, n, x->result, NULL) ==
             MORTISE_OK))
        return MORTISE_OK;
    said = json_incref(x->said); /* applying a `result` drops it */
    rv = record_result(r, x, output, from->says ? said : NULL, err);
    json_decref(said);
    return rv;
}

void mortise_result_set_said(struct exec *x, json_t *said)
{
    mortise_json_set_ref(&x->said, said);
}

void mortise_result_forget(struct exec *x)
{
    mortise_json_clear_ref(&x->result);
}

int mortise_apply_result(struct mortise_run *r, struct exec *x,
                         const struct mortise_entry *e, struct mortise_err *err)
{
    (void)r;
    (void)err;
    mortise_json_set_ref(&x->result, e->value);
    mortise_result_set_said(x, NULL);
    memcpy(x->result_key, e->digest, sizeof x->result_key);
    mortise_exec_set_effect_open(x, false);
    mortise_step_clear_doubts(x); /* the result includes all steps */
    mortise_doubt_remove_evidence(x);
    return MORTISE_OK;
}

int mortise_apply_said(struct mortise_run *r, struct exec *x,
                       const struct mortise_entry *e, struct mortise_err *err)
{
    (void)r;
    if (!json_is_object(e->value))
        return mortise_entry_corrupt(err, e);
    mortise_result_set_said(x, e->value);
    return MORTISE_OK;
}
