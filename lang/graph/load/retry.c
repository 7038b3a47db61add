/* retry.c -- retry_policy, of a node or of defaults.
 *
 * The policy of a node replaces the default policy as a whole.  A merge would
 * be a policy that nobody wrote.
 *
 * The class of a permanent error never causes a retry.  An error from the
 * node's operation is retried if its code is listed.  An error that the engine
 * itself detects is not: listing its code has no effect, and gets a warning
 * (W0813).
 *
 * The operations of agents also report some codes of the engine.  A reply that
 * does not fit its schema is `schema`.  With `tool_errors: fail`, the error of
 * the node has the code of the tool's error, unless that code is reserved for
 * the engine (core/json/code.h).  Agents get no warning for these codes.
 *
 * Plugins have codes of their own, so an unknown code is no error.  A code that
 * is probably a misspelling of a class or of a known code gets a warning
 * (W0814).
 *
 * `when` sees only `error` and `node`.  So a `when` in `defaults`, or in a tool
 * of a node, has the same meaning for each node.
 */
#include "lang/graph/load/node.h"
#include "lang/yaml/codes.h"

#include <string.h>

#include "core/json/code.h"

static const char *const default_retry_on[] = {"transient", "timeout"};

const struct mortise_retry mortise_retry_default = {
    .max_attempts = 1,
    .backoff = MORTISE_BACKOFF_EXPONENTIAL,
    .delay_ms = 1000,
    .max_delay_ms = 30000,
    .jitter = 0.1,
    .retry_on = default_retry_on,
    .n_retry_on = 2,
};

static const char *const classes[] = {"transient", "timeout", "permanent",
                                      "cancelled"};
enum { N_CLASSES = sizeof classes / sizeof classes[0] };

/* http.503 and http.404 are two codes, not a misspelling. */
static bool has_code_digits(const char *code)
{
    return code[strcspn(code, "0123456789")] != '\0';
}

/* Is `code` the known code?  If it is a misspelling of it, set *near to
 * `known`. */
static bool match_error_code(const char *code, const char *known,
                             const char **near)
{
    if (strcmp(code, known) == 0)
        return true;
    if (*near == NULL && !has_code_digits(known) &&
        mortise_nearest_is_typo(code, known))
        *near = known;
    return false;
}

static void check_retry_code(struct mortise_loader *ld,
                             const struct mortise_yaml *code)
{
    const struct mortise_catalog *c = ld->catalog;
    const char *near = NULL;

    for (size_t i = 0; i < N_CLASSES; i++)
        if (match_error_code(code->str, classes[i], &near))
            return;
    for (size_t i = 0; i < c->n_error_codes; i++)
        if (match_error_code(code->str, c->error_codes[i].code, &near))
            return;
    if (near != NULL && c->error_codes != NULL)
        mortise_diag_help(
            ld->diags,
            mortise_diag_add(ld->diags, "W0814", code->span,
                             "no known error has the class or code '%s'",
                             code->str),
            "did you mean '%s'?", near);
}

/* The codes of permanent errors that the engine detects. */
static bool is_permanent_code(const char *code)
{
    static const char *const codes[] = {
        "budget",     "determinism", "expression",  "guardrail", "limit",
        "not_listed", "reducer",     "rejected",    "route",     "schema",
        "suspended",  "type",        "unknown_tool"};

    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (strcmp(codes[i], code) == 0)
            return true;
    return false;
}

static void read_retry_on(void *ctx, void *into,
                          const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_retry *retry = into;
    const char **codes = mortise_load_strings(ld, slot->value);
    struct mortise_diag *d;

    if (codes == NULL)
        return;
    for (size_t i = 0; i < slot->value->n; i++) {
        check_retry_code(ld, slot->value->items[i]);
        if (strcmp(codes[i], "in_doubt") == 0) {
            d = mortise_diag_add(ld->diags, "W0813",
                                 slot->value->items[i]->span,
                                 "'in_doubt' has no effect here: the engine "
                                 "never retries a call in doubt");
            mortise_diag_help(ld->diags, d,
                              "remove 'in_doubt'; if a second effect does no "
                              "harm, set `on_in_doubt: retry`");
        }
        if (strcmp(codes[i], "permanent") != 0)
            continue;
        d = mortise_diag_add(ld->diags, "E0208", slot->value->items[i]->span,
                             "'permanent' cannot be in retry_on: the engine "
                             "never retries errors of this class");
        mortise_diag_help(
            ld->diags, d,
            "remove 'permanent'; retry_on can contain 'transient', 'timeout', "
            "and codes of errors of these two classes");
    }
    retry->retry_on = codes;
    retry->n_retry_on = slot->value->n;
}

static void read_retry_when(void *ctx, void *into,
                            const struct mortise_slot *slot)
{
    struct mortise_retry *retry = into;

    mortise_load_error_test(ctx, &retry->when, slot->value);
}

static const struct mortise_word backoffs[] = {
    {"fixed", MORTISE_BACKOFF_FIXED, false},
    {"linear", MORTISE_BACKOFF_LINEAR, false},
    {"exponential", MORTISE_BACKOFF_EXPONENTIAL, false},
    {NULL, 0, false},
};

static const struct mortise_key keys[] = {
    {.name = "max_attempts",
     .about = "The highest number of attempts, including the first.",
     .min = 1,
     .max = 1000,
     MORTISE_INTO_U32(struct mortise_retry, max_attempts)},
    {.name = "backoff",
     .about =
         "How the pauses grow: fixed, linear or exponential (the default).",
     .words = backoffs,
     MORTISE_INTO_WORD(struct mortise_retry, backoff)},
    {.name = "delay",
     .about = "The first pause (default: 1s).",
     MORTISE_INTO_MS(struct mortise_retry, delay_ms)},
    {.name = "max_delay",
     .about = "The longest pause (default: 30s).",
     MORTISE_INTO_MS(struct mortise_retry, max_delay_ms)},
    {.name = "jitter",
     .about = "The random part of a pause, as a fraction (default: 0.1).",
     .value = MORTISE_V_NUMBER,
     .min = 0,
     .max = 1,
     MORTISE_INTO_DOUBLE(struct mortise_retry, jitter)},
    {.name = "retry_on",
     .about = "Codes or classes of errors that are retried (default: "
              "transient, timeout).",
     .value = MORTISE_V_STRINGS,
     .read = read_retry_on},
    {.name = "when",
     .about =
         "A condition over `error` and `node.attempt` that must also be true.",
     .value = MORTISE_V_EXPR,
     .read = read_retry_when},
};

const struct mortise_place mortise_retry_place = {
    MORTISE_PLACE_OF("retry_policy", keys)};

/* Can the operation of an agent report an error with this code of the
 * engine? */
static bool can_report_code(const struct mortise_loader *ld,
                            const struct mortise_slot *slot, const char *code)
{
    const struct mortise_yaml *errors =
        mortise_yaml_get(slot->map, "tool_errors");

    if (errors == NULL)
        errors = ld->defaults.tool_errors;
    return !mortise_code_is_reserved(code) &&
           (strcmp(code, "schema") == 0 ||
            (errors != NULL && errors->kind == MORTISE_YAML_STRING &&
             strcmp(errors->str, "fail") == 0));
}

/* Warn about codes that have no effect. */
static void check_retry_effect(struct mortise_loader *ld,
                               const struct mortise_slot *slot, bool is_agent)
{
    const struct mortise_yaml *list = mortise_yaml_get(slot->value, "retry_on");

    for (size_t i = 0; list != NULL && i < list->n; i++) {
        const struct mortise_yaml *code = list->items[i];

        if (code->kind == MORTISE_YAML_STRING && is_permanent_code(code->str) &&
            !(is_agent && can_report_code(ld, slot, code->str)))
            mortise_diag_help(
                ld->diags,
                mortise_diag_add(ld->diags, "W0813", code->span,
                                 "the engine never retries its own '%s' errors",
                                 code->str),
                "remove it, or handle it with 'on_error'");
    }
}

static void load_retry_policy(struct mortise_loader *ld,
                              const struct mortise_slot *slot, bool is_agent)
{
    struct mortise_retry *out = slot->field;
    const struct mortise_yaml *at;
    struct mortise_diag *d;

    *out = mortise_retry_default;
    mortise_keys_read_slot(slot, ld, out, ld->diags);
    check_retry_effect(ld, slot, is_agent);
    if (out->delay_ms <= out->max_delay_ms)
        return;
    at = mortise_yaml_get(slot->value, "delay");
    if (at == NULL)
        at = mortise_yaml_get(slot->value, "max_delay");
    d = mortise_diag_add(ld->diags, "E0208", at->span,
                         "'delay' is longer than 'max_delay' (%llu ms)",
                         (unsigned long long)out->max_delay_ms);
    mortise_diag_help(ld->diags, d, "raise max_delay (default: 30s)");
}

void mortise_load_retry(void *ctx, void *into, const struct mortise_slot *slot)
{
    const struct mortise_node_reader *r = into;

    load_retry_policy(ctx, slot, mortise_node_kind_of(r->node->type)->is_agent);
}

/* A default policy may be meant for the agents of the graph. */
void mortise_load_default_retry(void *ctx, void *into,
                                const struct mortise_slot *slot)
{
    (void)into;
    load_retry_policy(ctx, slot, true);
}
