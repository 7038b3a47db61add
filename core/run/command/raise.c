/* raise.c -- raising limits (limit.c) and budgets (budget.c) of a run.
 *
 * The command is parsed, checked and recorded; then executions that waited for
 * the limit or budget continue, as far as the new amount allows.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/real.h"
#include "core/run/command/command.h"

/* ---- limits ------------------------------------------------------------- */

int mortise_command_check_limit(struct mortise_run *r,
                                const struct mortise_command_list *h,
                                const struct mortise_run_command *c,
                                struct mortise_err *err)
{
    if (mortise_run_is_closed(r) && !mortise_command_has_restart(h))
        return mortise_fail(err, MORTISE_ESTATE,
                            "run %s is %s, so no limit applies to it", r->id,
                            mortise_run_status_name(r->status));
    return mortise_limit_check_raise(r, c->value, err);
}

int mortise_command_obey_limit(struct mortise_run *r,
                               const struct mortise_command_list *h,
                               const struct mortise_run_command *c,
                               struct mortise_err *err)
{
    struct mortise_entry e = {
        .type = MORTISE_E_LIMIT, .actor = h->actor, .value = c->value};

    return mortise_run_record(r, &e, err);
}

/* ---- budgets ------------------------------------------------------------ */

/* The scope of the active graph inside the subgraph's execution at `path`; NULL
 * path: the run's. */
static struct scope *find_budget_scope(const struct mortise_run *r,
                                       const char *path)
{
    char own[MORTISE_EXEC_PATH];

    if (path == NULL)
        return r->frames[0]->scope;
    for (struct scope *in = r->graphs; in != NULL; in = in->next) {
        if (in->owner != NULL && in->owner->child == in->root &&
            strcmp(mortise_budget_print_path(r, in, own), path) == 0)
            return in;
    }
    return NULL;
}

static bool is_ascii_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "+N" adds to `now`; N is the new total.  MORTISE_EINVAL: it is neither, or
 * not positive. */
static int parse_budget_limit(enum mortise_spend what, const json_t *value,
                              uint64_t now, uint64_t *out)
{
    const char *text = json_string_value(value);
    json_t *number = NULL;
    bool is = false;
    int rv = MORTISE_OK;

    if (text == NULL) {
        is = mortise_spend_decode(what, value, out);
    } else if (text[0] == '+' && is_ascii_digit(text[1]) &&
               is_ascii_digit(text[strlen(text) - 1])) {
        rv = mortise_json_parse(&number, text + 1, strlen(text + 1), NULL);
        is = rv == MORTISE_OK && mortise_spend_decode(what, number, out) &&
             *out > 0;
        *out += is ? now : 0;
    }
    json_decref(number);
    if (rv == MORTISE_ENOMEM)
        return rv;
    return is && *out > 0 &&
                   *out <= (what == MORTISE_SPEND_WALL ? BUDGET_MOST
                                                       : MORTISE_USAGE_MAX)
               ? MORTISE_OK
               : MORTISE_EINVAL;
}

/* The message lists the budget's members. */
static int fail_no_such_budget(const struct purse *p, const char *name,
                               struct mortise_err *err)
{
    char names[256] = "";
    size_t n = 0;

    for (int k = 0; k < MORTISE_N_SPENDS; k++)
        if (p->most[k] != UINT64_MAX && n < sizeof names)
            n += (size_t)snprintf(names + n, sizeof names - n, "%s%s",
                                  n > 0 ? ", " : "",
                                  mortise_spend_name((enum mortise_spend)k));
    return mortise_fail(err, MORTISE_EINVAL,
                        "the graph's budget has no '%s'; it has %s", name,
                        names);
}

/* Parse and check one member of the command: the new limit. */
static int parse_budget_member(const struct purse *p, const char *name,
                               const json_t *value, enum mortise_spend *k,
                               uint64_t *out, struct mortise_err *err)
{
    char text[BUDGET_TEXT];
    int rv;

    *k = mortise_spend_find(name);
    assert(p != NULL); /* the caller has checked this */
    if (*k == MORTISE_N_SPENDS || p->most[*k] == UINT64_MAX)
        return fail_no_such_budget(p, name, err);
    rv = parse_budget_limit(*k, value, p->most[*k], out);
    if (rv == MORTISE_ENOMEM)
        return mortise_nomem(err);
    if (rv != MORTISE_OK)
        return mortise_fail(
            err, MORTISE_EINVAL,
            "a budget is raised to N or by +N, where N is %s: %s",
            *k == MORTISE_SPEND_USD
                ? "a decimal number of dollars, at most 1000000"
                : "a whole number, 1 to 1e15",
            name);
    if (*out <= p->most[*k])
        return mortise_fail(
            err, MORTISE_EINVAL,
            "the budget's %s is already %s; it can only be raised", name,
            mortise_budget_print_amount(text, *k, p->most[*k]));
    if (*out < mortise_budget_get_used(p, (int)*k))
        return mortise_fail(
            err, MORTISE_EINVAL,
            "the budget's %s cannot be lower than the used amount, %s", name,
            mortise_budget_print_amount(text, *k,
                                        mortise_budget_get_used(p, (int)*k)));
    return MORTISE_OK;
}

/* Parse the command: {NAME: limit}, a new reference. */
static int parse_budget_command(const struct scope *in, const json_t *body,
                                json_t **out, struct mortise_err *err)
{
    const char *key;
    json_t *value;
    int rv = MORTISE_OK;

    *out = json_object();
    if (!json_is_object(body) || json_object_size(body) == 0)
        rv = mortise_fail(
            err, MORTISE_EINVAL,
            "a budget must be an object with at least one of tool_calls, wall, "
            "model_calls, input_tokens, output_tokens, tokens and usd");
    json_object_foreach(mortise_json_unconst(body), key, value)
    {
        uint64_t limit = 0;
        enum mortise_spend k;

        if (rv == MORTISE_OK)
            rv = parse_budget_member(in->purse, key, value, &k, &limit, err);
        if (rv == MORTISE_OK &&
            json_object_set_new(*out, key, mortise_spend_encode(k, limit)) != 0)
            rv = mortise_nomem(err);
    }
    if (rv != MORTISE_OK)
        mortise_json_clear_ref(out);
    return rv;
}

static int find_scope_and_limits(const struct mortise_run *r,
                                 const struct mortise_run_command *c,
                                 struct scope **in, json_t **limits,
                                 struct mortise_err *err)
{
    int rv;

    *limits = NULL;
    *in = find_budget_scope(r, c->node);
    if (*in == NULL)
        rv = mortise_fail(err, MORTISE_ENOTFOUND,
                          "run %s has no active subgraph at '%s'", r->id,
                          c->node);
    else if ((*in)->purse == NULL)
        rv = mortise_fail(err, MORTISE_EINVAL, "graph '%s' has no budget",
                          (*in)->root->graph->name);
    else
        rv = parse_budget_command(*in, c->value, limits, err);
    return rv;
}

int mortise_command_check_budget(struct mortise_run *r,
                                 const struct mortise_command_list *h,
                                 const struct mortise_run_command *c,
                                 struct mortise_err *err)
{
    struct scope *in;
    json_t *limits;
    int rv;

    (void)h;
    if (mortise_run_is_closed(r))
        return mortise_fail(err, MORTISE_ESTATE,
                            "run %s is %s, so it spends nothing more", r->id,
                            mortise_run_status_name(r->status));
    rv = find_scope_and_limits(r, c, &in, &limits, err);
    json_decref(limits);
    if (rv == MORTISE_OK && in->owner == NULL &&
        mortise_tree_is_foreign_unused(r))
        rv = mortise_fail(
            err, MORTISE_ESTATE,
            "run %s uses the budget of the root run of its tree, and has not "
            "requested more; raise the budget of the root run",
            r->id);
    return rv;
}

/* Does x wait for more of this budget? */
static bool is_asking_for_budget(const struct mortise_run *r,
                                 const struct exec *x, const struct scope *in)
{
    char path[MORTISE_EXEC_PATH];
    const char *graph;

    if (x->state != X_ASKED || x->ask != MORTISE_ASK_BUDGET ||
        x->loss != LOSS_NONE)
        return false;
    graph = json_string_value(json_object_get(x->payload, "graph"));
    return strcmp(mortise_budget_print_path(r, in, path),
                  graph != NULL ? graph : "") == 0;
}

/* We made the request, but it was read from disk. */
static int get_asked_spend(const struct exec *x)
{
    const char *name = json_string_value(json_object_get(x->payload, "budget"));
    int k = (int)mortise_spend_find(name != NULL ? name : "");

    assert(x->ask == MORTISE_ASK_BUDGET);
    return k < MORTISE_N_SPENDS ? k : MORTISE_SPEND_TOOL_CALLS;
}

/* The amounts that x is known to need; as_asked: at least the amount in its
 * request. */
static void get_needed_amounts(const struct mortise_run *r,
                               const struct exec *x, bool as_asked,
                               uint64_t need[MORTISE_N_SPENDS])
{
    const json_t *said = json_object_get(x->payload, "needs");
    enum mortise_spend k = (enum mortise_spend)get_asked_spend(x);
    uint64_t asked;

    mortise_budget_get_need(r, x, need);
    if (as_asked && said != NULL && mortise_spend_decode(k, said, &asked) &&
        need[k] < asked)
        need[k] = asked;
}

/* Pass as many requests as the budget now has room for.  (They can then ask
 * about another limit.) */
static int pass_budget_requests(struct mortise_run *r, const struct scope *in,
                                bool as_asked, const char *actor,
                                struct mortise_err *err)
{
    struct purse left =
        in->owner == NULL ? mortise_tree_get_purse(r) : *in->purse;
    int rv = MORTISE_OK;

    assert(r->live || r->n_running == 0);
    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++) {
        struct exec *x = r->execs[i];
        uint64_t need[MORTISE_N_SPENDS];

        if (!is_asking_for_budget(r, x, in))
            continue;
        get_needed_amounts(r, x, as_asked, need);
        if (!mortise_budget_can_fit(&left, need, get_asked_spend(x)))
            continue;
        for (int k = 0; k < MORTISE_N_SPENDS; k++)
            left.spent[k] += need[k];
        rv = mortise_request_settle(r, x, MORTISE_SETTLE_PASSED, NULL, NULL,
                                    actor, err);
    }
    return rv;
}

int mortise_command_obey_budget(struct mortise_run *r,
                                const struct mortise_command_list *h,
                                const struct mortise_run_command *c,
                                struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_BUDGET, .actor = h->actor};
    struct scope *in;
    int rv = find_scope_and_limits(r, c, &in, &e.value, err);

    if (rv != MORTISE_OK)
        return rv;
    e.frame = in->root->index;
    assert(in->purse != NULL && json_is_object(e.value));
    rv = mortise_run_record(r, &e, err);
    json_decref(e.value);
    if (rv == MORTISE_OK && in->owner == NULL)
        mortise_tree_set_raised(r);
    if (rv == MORTISE_OK)
        rv = mortise_clock_rearm(r, in, err);
    return rv == MORTISE_OK ? pass_budget_requests(r, in, false, h->actor, err)
                            : rv;
}

int mortise_command_tree_changed(struct mortise_run *r, struct mortise_err *err)
{
    struct scope *in = r->frames[0]->scope;

    mortise_budget_set_released(r);
    if (!r->live || r->cancelling || r->held != NULL ||
        r->tree.origin == NULL || in->purse == NULL)
        return MORTISE_OK;
    return pass_budget_requests(r, in, true, r->tree.origin, err);
}
