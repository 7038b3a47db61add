/* plugin_call.c -- `mortise plugin call`: calls one operation of a plugin
 * outside of a graph, mainly for authors of plugins.
 *
 * The operation is called as in a run (oneshot.h): the plugin is loaded,
 * verified and configured as the deployment says, the arguments are validated,
 * and tools.allow, ask and deny apply.  The call is not recorded, so the
 * guarantees of a run against repeated effects are missing.  Therefore
 * operations of class write or external need --effects, and an effect in doubt
 * has an exit code of its own. */
#include <string.h>

#include "core/base/err.h"
#include "cli/oneshot.h"
#include "core/engine/common/engine.h"

static const char *const effects[] = {[MORTISE_PURE] = "pure",
                                      [MORTISE_READ] = "read",
                                      [MORTISE_WRITE] = "write",
                                      [MORTISE_EXTERNAL] = "external"};

/* Check that the operation exists and may be called.  `called` is
 * PLUGIN/OPERATION; `op` points behind its slash. */
static int check_callable(struct mortise_cli *cli, const char *called,
                          const char *op, bool *has_effect,
                          struct mortise_err *err)
{
    const struct mortise_catalog *catalog =
        &mortise_session_engine(cli->session)->catalogs->strict;
    const struct mortise_operation *o;
    char plugin[MORTISE_NAME_MAX + 1];
    size_t n = (size_t)(op - 1 - called);

    if (n > MORTISE_NAME_MAX)
        return mortise_fail(
            err, MORTISE_ENOTFOUND,
            "no plugin '%.*s...': names of plugins have at most "
            "%d characters",
            32, called, MORTISE_NAME_MAX);
    memcpy(plugin, called, n);
    plugin[n] = '\0';
    o = catalog->operation(catalog->ud, plugin, op, err);
    if (o == NULL)
        return err->code;
    *has_effect = o->effect >= MORTISE_WRITE;
    if (!*has_effect || cli->args.effects)
        return MORTISE_OK;
    return mortise_fail(err, MORTISE_EDENIED,
                        "%s has an effect (%s), and no run records this call; "
                        "to call the operation anyway, give --effects",
                        called, effects[o->effect]);
}

/* Is it unknown whether the effect happened, also because the command was
 * interrupted? */
static bool is_effect_in_doubt(const struct mortise_oneshot *o, bool has_effect)
{
    return strcmp(o->code, "in_doubt") == 0 ||
           (has_effect && strcmp(o->code, "interrupted") == 0);
}

static int call_and_print_output(struct mortise_oneshot *o, const char *called,
                                 const char *op, struct mortise_err *err)
{
    json_t *args = NULL, *out = NULL;
    bool has_effect = false;
    int rv = check_callable(o->cli, called, op, &has_effect, err);

    if (rv == MORTISE_OK)
        rv = mortise_oneshot_parse_args(o->cli, &args, err);
    if (rv == MORTISE_OK)
        rv = mortise_oneshot_call(o, called, args, 0, &out, err);
    if (rv != MORTISE_OK)
        return rv;
    if (out != NULL)
        return mortise_cli_print_json(o->cli, out, !o->cli->args.json, err);
    rv = mortise_oneshot_print_error(o, called);
    return is_effect_in_doubt(o, has_effect) ? (int)MORTISE_EXIT_IN_DOUBT : rv;
}

static int plugin_call(struct mortise_cli *cli, struct mortise_err *err)
{
    const char *called = cli->args.operands[0], *slash = strchr(called, '/');
    struct mortise_oneshot once;
    int rv;

    if (slash == NULL || slash == called || slash[1] == '\0')
        return mortise_cli_fail_usage(
            cli, "write the operation as PLUGIN/OPERATION, such as file/write");
    rv = mortise_oneshot_open(&once, cli, err);
    if (rv == MORTISE_OK)
        rv = call_and_print_output(&once, called, slash + 1, err);
    mortise_oneshot_close(&once);
    return rv;
}

static const struct mortise_opt opts[] = {
    MORTISE_OPT_FLAG("effects", effects,
                     "Allow an operation of class `write` or `external`;\n"
                     "each call repeats the effect"),
    MORTISE_OPT_JSON("The output on one line"),
    MORTISE_OPT_DEPLOYMENT,
    MORTISE_OPT_END,
};

const struct mortise_cmd mortise_cmd_plugin_call = {
    .name = "plugin call",
    .operands = "PLUGIN/OPERATION [ARGS]",
    .summary = "Call an operation of a plugin once, and print its output",
    .text = "ARGS is JSON, @FILE or - for stdin (default: {}).  The operation\n"
            "is called as in a graph: with its schemas, the deployment's\n"
            "config and secrets, and the rules in tools.allow, tools.ask and\n"
            "tools.deny.  The output is printed as JSON.  If the call fails,\n"
            "the error code and the message are printed on stderr.\n"
            "\n"
            "Nothing is recorded, and the call is never repeated.  In a run,\n"
            "an effect happens once, even if the process dies.  This command\n"
            "cannot ensure that, so it calls an operation of class `write` or\n"
            "`external` only with --effects.  Questions of the operation\n"
            "appear at the terminal.  Without a terminal, the call fails at\n"
            "the first question.\n",
    .opts = opts,
    .exits = MORTISE_EXITS_STORE | MORTISE_EXITS_FINDINGS | MORTISE_EXIT_BIT(5),
    .example = "mortise plugin call text/split '{\"text\": \"a b\", "
               "\"separator\": \" \"}'",
    .run = plugin_call,
};
