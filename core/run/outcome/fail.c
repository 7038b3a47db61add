/* fail.c -- failed attempts: retry, on_error, or the failure of the node.
 *
 * A failure is first retried if retry_policy allows it (by code or class, and
 * by `when`).  If there is no retry, on_error applies; only then the run fails.
 * A permanent failure is retried only if the node's operation reported it and
 * the policy lists its code.  Permanent failures that the engine detects
 * (expressions, schemas, rejections, violations, expired waits) are never
 * retried, since they would fail in the same way.  If `when` cannot be
 * evaluated, that is the failure.  on_error: {fail} replaces the code and the
 * message; the error of the attempt becomes the `cause`.
 *
 * The decision is recorded in the next entry (`retry`, `failed`), with the
 * error: a replay evaluates nothing.
 *
 * The backoff is computed from the run's seed, so a replay waits equally long.
 */
#include <string.h>

#include "core/base/utf8.h"
#include "core/run/outcome/outcome.h"

/* The error object for expressions. */
static json_t *make_failure_error(const struct mortise_run *r,
                                  const struct exec *x, const struct failure *f)
{
    json_t *error = mortise_error_new(mortise_exec_node(r, x)->id, f->code,
                                      f->class, f->message);

    if (error != NULL && mortise_exit_info_set(error, &f->ending) != 0)
        mortise_json_clear_ref(&error);
    return error;
}

/* The error object to record: with the `span` of the node. */
static json_t *make_error_with_span(const struct mortise_run *r,
                                    const struct exec *x,
                                    const struct failure *f)
{
    json_t *error = make_failure_error(r, x, f);
    struct mortise_buf at;
    json_t *text;

    mortise_buf_init(&at, r->mem);
    mortise_span_format(mortise_exec_node(r, x)->span, &at);
    text = at.failed ? NULL
                     : mortise_json_make_string(at.n != 0 ? at.p : "", at.n);
    mortise_buf_finish(&at);
    if (error == NULL || json_object_set_new(error, "span", text) != 0) {
        json_decref(error);
        return NULL;
    }
    return error;
}

json_t *mortise_fail_make_error(const struct mortise_run *r,
                                const struct exec *x, const char *code,
                                const char *message)
{
    return make_error_with_span(r, x,
                                &(struct failure){.code = code,
                                                  .class = "permanent",
                                                  .message = message});
}

/* A failure without a class is permanent, too. */
static bool is_permanent_class(const char *class)
{
    return class[0] == '\0' || strcmp(class, "permanent") == 0;
}

enum { MESSAGE_MAX = 4096 }; /* bytes of a message that the graph gives */

int mortise_fail_eval_message(struct mortise_run *r, struct exec *x,
                              const json_t *error, struct mortise_buf *out,
                              struct mortise_err *why, struct mortise_err *err)
{
    const struct mortise_tmpl *tmpl = mortise_exec_node(r, x)->failing->message;
    json_t *message = NULL;
    char *made = NULL;
    const char *text;
    int rv = mortise_judge_map_result(mortise_view_make_before(r, x, why), err);

    if (rv == MORTISE_OK)
        rv = mortise_judge_eval_with_error(r, x, tmpl, error, &message, why,
                                           err);
    if (rv != MORTISE_OK)
        return rv;
    text = json_string_value(message);
    if (text == NULL)
        text = made = mortise_json_to_text(r->mem, message);
    if (text != NULL)
        mortise_buf_put(
            out, text,
            mortise_utf8_get_prefix_size(text, strlen(text), MESSAGE_MAX));
    if (text == NULL || mortise_buf_cstr(out) == NULL)
        rv = mortise_nomem(err);
    mortise_release_str(r->mem, made);
    json_decref(message);
    return rv;
}

/* By attempts, code and class. */
static bool is_retry_allowed(const struct mortise_node *n, const struct exec *x,
                             const struct failure *f)
{
    bool permanent = is_permanent_class(f->class);

    if (x->attempt >= n->retry.max_attempts || (permanent && !f->reported) ||
        mortise_exec_is_final(x)) /* finalizers have one attempt */
        return false;
    for (size_t i = 0; i < n->retry.n_retry_on; i++) {
        const char *on = n->retry.retry_on[i];

        if (strcmp(on, f->code) == 0 ||
            (!permanent && strcmp(on, f->class) == 0))
            return true;
    }
    return false;
}

/* Evaluate `when`.  MORTISE_EINVAL: see `why`. */
static int test_retry_condition(struct mortise_run *r, struct exec *x,
                                const struct failure *f, bool *again,
                                struct mortise_err *why,
                                struct mortise_err *err)
{
    const struct mortise_expr *when = &mortise_exec_node(r, x)->retry.when;
    json_t *error = make_failure_error(r, x, f);
    struct env env;
    int rv = error != NULL ? mortise_env_init(&env, r, x, NULL, NULL, error,
                                              mortise_expr_get_uses(when), err)
                           : mortise_nomem(err);

    if (rv == MORTISE_OK) {
        rv = mortise_judge_map_result(
            mortise_expr_test(when, &env.cel, again, why), err);
        mortise_env_finish(&env);
    }
    json_decref(error);
    return rv;
}

/* A number in [0, 1) that depends only on the seed and this attempt. */
static double get_jitter_fraction(const struct mortise_run *r,
                                  const struct exec *x)
{
    uint8_t digest[MORTISE_DIGEST];
    struct mortise_hasher h;
    uint32_t u;

    mortise_hasher_init(&h);
    mortise_hasher_add_field(&h, r->seed, sizeof r->seed);
    mortise_hasher_add_u64(&h, x->index);
    mortise_hasher_add_u64(&h, x->generation);
    mortise_hasher_add_u64(&h, x->attempt);
    mortise_hasher_final(&h, digest);
    memcpy(&u, digest, sizeof u);
    return u / 4294967296.0;
}

/* The k-th retry waits b, b*k or b*2^(k-1), limited, then jittered. */
static uint64_t get_backoff_ms(const struct mortise_run *r,
                               const struct exec *x)
{
    const struct mortise_retry *p = &mortise_exec_node(r, x)->retry;
    double wait = (double)p->delay_ms, k = x->attempt;

    if (p->backoff == MORTISE_BACKOFF_LINEAR)
        wait *= k;
    for (uint32_t i = 1; p->backoff == MORTISE_BACKOFF_EXPONENTIAL &&
                         i < x->attempt && wait < (double)p->max_delay_ms;
         i++)
        wait *= 2;
    if (wait > (double)p->max_delay_ms)
        wait = (double)p->max_delay_ms;
    wait *= 1 + p->jitter * (2 * get_jitter_fraction(r, x) - 1);
    return (uint64_t)wait;
}

void mortise_fail_delay_retry(struct exec *x, uint64_t in_ms)
{
    x->retry_after_ms = in_ms;
}

static int record_retry(struct mortise_run *r, struct exec *x,
                        const struct failure *f, struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_make_entry(r, x, MORTISE_E_RETRY);
    int rv;

    assert(x->attempt < mortise_exec_node(r, x)->retry.max_attempts);
    e.at_ms = get_backoff_ms(r, x);
    if (e.at_ms < x->retry_after_ms)
        e.at_ms = x->retry_after_ms;
    e.at_ms += r->time_ms;
    x->retry_after_ms = 0;
    rv = mortise_run_record_value(r, &e, make_error_with_span(r, x, f), err);
    if (rv != MORTISE_OK)
        return rv;
    mortise_exec_renew_handle(x);
    return mortise_exec_arm_timer_after(r, x, x->next_ms - r->time_ms, err);
}

/* The attempt that was stopped or never made does not count. */
int mortise_fail_undo_intent(struct mortise_run *r, struct exec *x,
                             struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_make_entry(r, x, MORTISE_E_RETRY);
    int rv;

    e.attempt--;
    rv = mortise_run_record_value(
        r, &e,
        make_error_with_span(
            r, x,
            &(struct failure){.code = "cancelled",
                              .class = "cancelled",
                              .message = "stopped by a command"}),
        err);
    return rv != MORTISE_OK ? rv : mortise_exec_make_ready(r, x, err);
}

/* Record a failure without retry.  `open`: the effect is in doubt.  `cause`:
 * the attempt's error, which on_error: {fail} replaced; else NULL. */
static int record_failed(struct mortise_run *r, struct exec *x,
                         const struct failure *f, json_t *cause, bool open,
                         struct mortise_err *err)
{
    json_t *error;
    struct mortise_entry e = mortise_exec_make_entry(r, x, MORTISE_E_FAILED);
    uint32_t edge[1];
    int rv = open && !x->failing ? mortise_doubt_record_cause(r, x, err)
                                 : MORTISE_OK;

    if (rv != MORTISE_OK)
        return rv;
    e.edges = edge;
    e.note = json_incref(x->verdicts);
    e.how = open || x->failing;
    mortise_route_add_edge_of_kind(
        x, &e,
        json_is_true(json_object_get(x->refusal, "goto")) ? MORTISE_EDGE_TIMEOUT
                                                          : MORTISE_EDGE_ERROR);
    error = make_error_with_span(r, x, f);
    if (error != NULL && cause != NULL &&
        json_object_set(error, "cause", cause) != 0)
        mortise_json_clear_ref(&error);
    return mortise_run_record_value(r, &e, error, err);
}

/* on_error: {fail}: record its error, with `cause` in it. */
static int record_failure_replacement(struct mortise_run *r, struct exec *x,
                                      json_t *cause, bool open,
                                      struct mortise_err *err)
{
    struct failure f = {.code = mortise_exec_node(r, x)->failing->code,
                        .class = "permanent"};
    struct mortise_err why, both;
    struct mortise_buf said;
    int rv;

    mortise_buf_init(&said, r->mem);
    rv = mortise_fail_eval_message(r, x, cause, &said, &why, err);
    f.message = rv == MORTISE_OK ? said.p : both.msg;
    if (rv == MORTISE_EINVAL) {
        mortise_fail(&both, rv,
                     "%.500s; so on_error.fail could not replace "
                     "the failure %s: %.400s",
                     why.msg, mortise_json_get_text(cause, "code"),
                     mortise_json_get_text(cause, "message"));
        f.code = "expression";
    }
    if (rv == MORTISE_OK || rv == MORTISE_EINVAL)
        rv = record_failed(r, x, &f, cause, open, err);
    mortise_buf_finish(&said);
    return rv;
}

static int record_failure(struct mortise_run *r, struct exec *x,
                          const struct failure *f, bool open,
                          struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    json_t *cause;
    int rv;

    if (n->failing == NULL || n->type == MORTISE_NODE_FAIL)
        return record_failed(r, x, f, NULL, open, err);
    cause = make_failure_error(r, x, f);
    rv = cause != NULL ? record_failure_replacement(r, x, cause, open, err)
                       : mortise_nomem(err);
    json_decref(cause);
    return rv;
}

int mortise_fail_without_retry(struct mortise_run *r, struct exec *x,
                               const char *code, const char *message, bool open,
                               struct mortise_err *err)
{
    return record_failure(r, x,
                          &(struct failure){.code = code,
                                            .class = "permanent",
                                            .message = message},
                          open, err);
}

/* on_error: {value}: use the value as the output. */
static int enter_on_error_value(struct mortise_run *r, struct exec *x,
                                const struct failure *f,
                                struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    json_t *error = make_failure_error(r, x, f);
    json_t *value = NULL;
    struct mortise_err why, both;
    struct env env;
    int rv;

    if (error == NULL)
        return mortise_nomem(err);
    rv = mortise_view_make_before(r, x, &why);
    if (rv == MORTISE_OK) {
        rv = mortise_env_init(&env, r, x, x->view, NULL, error,
                              mortise_expr_get_uses(&n->error_value), err);
        if (rv != MORTISE_OK) {
            json_decref(error);
            return rv;
        }
        rv = mortise_expr_eval(&n->error_value, &env.cel, &value, &why);
        mortise_env_finish(&env);
    }
    json_decref(error);
    rv = mortise_judge_map_result(rv, err);
    if (rv == MORTISE_ENOMEM)
        return rv;
    if (rv != MORTISE_OK) {
        mortise_fail(&both, rv,
                     "%.500s; so on_error.value could not replace "
                     "the failure %s: %.400s",
                     why.msg, f->code, f->message);
        return mortise_fail_without_retry(r, x, "expression", both.msg, false,
                                          err);
    }
    mortise_exec_drop_leaving(x);
    rv = mortise_pipeline_enter(r, x, value, DONE_ON_ERROR, err);
    json_decref(value);
    return rv;
}

/* There is no retry. */
static int settle_without_retry(struct mortise_run *r, struct exec *x,
                                const struct failure *f,
                                struct mortise_err *err)
{
    int rv = MORTISE_OK;

    if (!mortise_exec_node(r, x)->on_error_value)
        return record_failure(r, x, f, mortise_step_find_in_doubt(r, x) != NULL,
                              err);
    if (x->failing || mortise_step_find_in_doubt(r, x) != NULL)
        rv = mortise_doubt_record_left(r, x, err);
    return rv == MORTISE_OK ? enter_on_error_value(r, x, f, err) : rv;
}

int mortise_fail_exec(struct mortise_run *r, struct exec *x,
                      const struct failure *f, struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    struct failure instead = {.code = "expression", .class = "permanent"};
    struct mortise_err why, both;
    int rv = mortise_exec_disarm_timer(r, x, err);
    bool again;

    assert(!mortise_exec_has_ended(x));
    if (rv != MORTISE_OK)
        return rv;
    again = is_retry_allowed(n, x, f);
    if (again && n->retry.when.cel != NULL)
        rv = test_retry_condition(r, x, f, &again, &why, err);
    if (rv == MORTISE_EINVAL) {
        mortise_fail(&both, rv,
                     "%.500s; so retry_policy.when could not judge the failure "
                     "%s: %.400s",
                     why.msg, f->code, f->message);
        instead.message = both.msg;
        return settle_without_retry(r, x, &instead, err);
    }
    if (rv != MORTISE_OK)
        return rv;
    return again ? record_retry(r, x, f, err)
                 : settle_without_retry(r, x, f, err);
}

int mortise_fail_attempt(struct mortise_run *r, struct exec *x,
                         const char *code, const char *class,
                         const char *message, struct mortise_err *err)
{
    return mortise_fail_exec(
        r, x,
        &(struct failure){.code = code, .class = class, .message = message},
        err);
}

int mortise_fail_if_invalid(struct mortise_run *r, struct exec *x, int rv,
                            const char *code, const struct mortise_err *why,
                            struct mortise_err *err)
{
    return rv == MORTISE_EINVAL
               ? mortise_fail_attempt(r, x, code, "permanent", why->msg, err)
               : rv;
}
