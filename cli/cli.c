/* cli.c -- find the deployment, open the session, and suggest commands.
 *
 * A person pastes `mortise approve night 8f31c09a` from our output into the
 * same shell.  So a suggested command uses the name by which this program was
 * called, is quoted, and names the store or the deployment if the command
 * would not find them by itself.
 */
#include "cli/cli.h"
#include "cli/fatal.h"
#include "cli/visible.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"

static const char deployment_name[] = "mortise.yaml";

const char *mortise_cli_get_parent_dir(const char *path, char out[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    size_t n = slash != NULL ? (size_t)(slash - path) : 0;

    snprintf(out, PATH_MAX, "%.*s", slash == path ? 1 : (int)n, path);
    if (out[0] == '\0')
        strcpy(out, ".");
    return out;
}

/* Look for mortise.yaml beside the graph. */
static bool is_deployment_beside(struct mortise_cli *cli, const char *graph)
{
    const char *slash = strrchr(graph, '/');
    int dir = slash != NULL ? (int)(slash - graph) + 1 : 0;
    int n = snprintf(cli->path, sizeof cli->path, "%.*s%s", dir, graph,
                     deployment_name);

    return n > 0 && (size_t)n < sizeof cli->path &&
           access(cli->path, F_OK) == 0;
}

/* Find a deployment that the user did not name. */
static void find_deployment_file(struct mortise_cli *cli, const char *graph)
{
    if (cli->cases != NULL) {
        cli->deployment = cli->cases;
        cli->found_by_itself = false;
    } else if (graph != NULL && is_deployment_beside(cli, graph)) {
        cli->deployment = cli->path;
        cli->found_by_itself = strcmp(cli->path, deployment_name) == 0;
    } else if (access(deployment_name, F_OK) == 0) {
        cli->deployment = deployment_name;
    }
}

int mortise_cli_find_deployment(struct mortise_cli *cli, const char *graph,
                                struct mortise_err *err)
{
    const char *env = getenv("MORTISE_DEPLOYMENT");

    cli->deployment = NULL;
    cli->found_by_itself = true;
    cli->found = false;
    if (cli->args.deployment != NULL) {
        cli->deployment = cli->args.deployment;
        cli->found_by_itself = false;
    } else if (cli->cases == NULL && env != NULL && env[0] != '\0') {
        cli->deployment = env;
    } else {
        cli->found = true;
        find_deployment_file(cli, graph);
    }
    if (cli->deployment != NULL && access(cli->deployment, R_OK) != 0)
        return mortise_syserr(err, errno, "read the deployment %s",
                              cli->deployment);
    return MORTISE_OK;
}

unsigned mortise_cli_settings_flags(const struct mortise_cli *cli)
{
    return (cli->found ? MORTISE_SETTINGS_FOUND : 0) |
           (cli->looks ? MORTISE_SETTINGS_READ_ONLY : 0);
}

int mortise_cli_open_settings(struct mortise_cli *cli,
                              struct mortise_settings *settings,
                              struct mortise_err *err)
{
    struct mortise_diags diags;
    int rv = mortise_cli_find_deployment(cli, NULL, err);

    memset(settings, 0, sizeof *settings);
    if (rv != MORTISE_OK)
        return rv;
    mortise_diags_init(&diags, cli->mem);
    rv = mortise_settings_open(settings, cli->mem, cli->deployment,
                               cli->args.store, mortise_cli_settings_flags(cli),
                               &diags, err);
    mortise_cli_print_findings(cli, &diags);
    return rv;
}

int mortise_cli_open_settings_quietly(struct mortise_cli *cli,
                                      struct mortise_settings *settings,
                                      struct mortise_err *err)
{
    struct mortise_diags diags;
    int rv = mortise_cli_find_deployment(cli, NULL, err);

    memset(settings, 0, sizeof *settings);
    if (rv != MORTISE_OK)
        return rv;
    mortise_diags_init(&diags, cli->mem);
    rv = mortise_settings_open(
        settings, cli->mem, cli->deployment, cli->args.store,
        mortise_cli_settings_flags(cli) | MORTISE_SETTINGS_READ_ONLY, &diags,
        err);
    if (rv != MORTISE_OK)
        mortise_cli_print_findings(cli, &diags);
    else
        mortise_diags_finish(&diags);
    return rv;
}

uint64_t mortise_cli_get_limit(const struct mortise_settings *settings,
                               enum mortise_limit which, uint64_t wanted)
{
    const struct mortise_bounds *b = &settings->deployment->limits;

    return b->said[which] != NULL && b->value[which] < wanted ? b->value[which]
                                                              : wanted;
}

int mortise_cli_open(struct mortise_cli *cli, const char *graph,
                     struct mortise_err *err)
{
    int rv = mortise_cli_find_deployment(cli, graph, err);

    return rv != MORTISE_OK ? rv : mortise_cli_reopen(cli, err);
}

void mortise_cli_print_option(struct mortise_out *o, const char *name,
                              const char *value)
{
    mortise_out_printf(o, " --%s ", name);
    mortise_out_put_shell_word(o, value);
}

/* mortise_cli_start_suggestion() prints these options. */
static bool is_store_option(const struct mortise_opt *o)
{
    return o->at == offsetof(struct mortise_args, store) ||
           o->at == offsetof(struct mortise_args, deployment) ||
           o->at == offsetof(struct mortise_args, tenant);
}

void mortise_cli_print_given_option(struct mortise_out *o,
                                    const struct mortise_opt *opt,
                                    const struct mortise_args *args)
{
    const char *at = (const char *)args + opt->at;
    const char *text = NULL;

    if (is_store_option(opt))
        return;
    if (opt->arg != NULL)
        memcpy(&text, at, sizeof text);
    if (text != NULL)
        mortise_cli_print_option(o, opt->name, text);
    else if (opt->arg == NULL && *(const bool *)at)
        mortise_out_printf(o, " --%s", opt->name);
}

/* May the command read a copy of the store after this error? */
static bool is_copy_sufficient(const struct mortise_cli *cli, int code)
{
    return cli->cmd->looks && !cli->args.follow &&
           (code == MORTISE_ENOSPC || code == MORTISE_EDENIED ||
            code == MORTISE_EIO || code == MORTISE_ECORRUPT);
}

bool mortise_cli_is_incomplete(struct mortise_cli *cli, struct mortise_err *why)
{
    return cli->session != NULL &&
           mortise_session_has_losses(cli->session, why);
}

int mortise_cli_mark_incomplete(struct mortise_cli *cli, json_t *reply,
                                struct mortise_err *err)
{
    struct mortise_err why;

    if (!mortise_cli_is_incomplete(cli, &why))
        return MORTISE_OK;
    return json_object_set_new(
               reply, "incomplete",
               mortise_json_make_string(why.msg, strlen(why.msg))) == 0
               ? MORTISE_OK
               : mortise_nomem(err);
}

/* The flags with which this command opens its session. */
static unsigned get_session_flags(const struct mortise_cli *cli)
{
    unsigned flags = cli->cmd != NULL ? cli->cmd->session : 0;

    if (cli->cmd != NULL && cli->cmd->looks) /* reading creates no store */
        flags |= MORTISE_SESSION_MUST_EXIST | MORTISE_SESSION_BRIEF;
    if (cli->args.follow) /* it stays as long as the run */
        flags &= ~(unsigned)MORTISE_SESSION_BRIEF;
    if (cli->args.no_continue) /* it records only, and runs nothing */
        flags |= MORTISE_SESSION_BRIEF;
    return flags;
}

static struct mortise_options make_session_options(struct mortise_cli *cli)
{
    struct mortise_options options = {.size = sizeof options};

    options.deployment = cli->deployment;
    options.flags =
        (cli->found ? MORTISE_OPEN_FOUND : 0) |
        (cli->args.allow_downgrade ? MORTISE_OPEN_ALLOW_DOWNGRADE : 0);
    options.store = cli->args.store;
    options.mem = cli->mem;
    options.log = mortise_cli_log;
    options.log_ud = cli;
    return options;
}

/* After this error, open a copy of the store instead; false if that fails. */
static bool open_store_copy(struct mortise_cli *cli,
                            const struct mortise_err *why)
{
    const struct mortise_options options = make_session_options(cli);

    if (cli->copied || !is_copy_sufficient(cli, why->code))
        return false;
    mortise_session_close(cli->session);
    cli->session = NULL;
    cli->copied =
        mortise_session_open_copy(&cli->session, &options, NULL) == MORTISE_OK;
    if (cli->copied)
        mortise_cli_report_copy(cli, why);
    return cli->copied;
}

int mortise_cli_reopen(struct mortise_cli *cli, struct mortise_err *err)
{
    const struct mortise_options options = make_session_options(cli);
    int rv;

    mortise_session_close(cli->session);
    cli->session = NULL;
    mortise_fatal_catch();
    rv = mortise_session_open(&cli->session, &options, get_session_flags(cli),
                              &cli->no_store, err);
    return rv == MORTISE_OK || open_store_copy(cli, err) ? MORTISE_OK : rv;
}

/* Does the command of this name have the option --tenant? */
static bool has_tenant_option(const char *name)
{
    const struct mortise_opt *o;

    for (size_t i = 0; i < mortise_n_commands; i++) {
        if (strcmp(mortise_commands[i]->name, name) != 0)
            continue;
        for (size_t k = 0;
             (o = mortise_opt_get(mortise_commands[i], k)) != NULL; k++)
            if (o->at == offsetof(struct mortise_args, tenant))
                return true;
    }
    return false;
}

void mortise_cli_start_suggestion(struct mortise_cli *cli,
                                  struct mortise_out *o, const char *what)
{
    mortise_out_puts(o, "  ");
    mortise_out_put_shell_word(o, cli->program);
    mortise_out_printf(o, " %s", what);
    if (!cli->found_by_itself)
        mortise_cli_print_option(o, "deployment", cli->deployment);
    if (cli->args.store != NULL)
        mortise_cli_print_option(o, "store", cli->args.store);
    if (cli->args.tenant != NULL && has_tenant_option(what))
        mortise_cli_print_option(o, "tenant", cli->args.tenant);
}

void mortise_cli_print_suggestion(struct mortise_cli *cli,
                                  struct mortise_out *o, const char *what,
                                  const char *run)
{
    mortise_cli_start_suggestion(cli, o, what);
    mortise_out_puts(o, run[0] == '-' ? " -- " : " ");
    mortise_out_put_shell_word(o, run);
}

/* The store opened but is corrupt: read a copy, unless another process has the
 * store. */
static bool retry_with_copy(struct mortise_cli *cli,
                            const struct mortise_err *why)
{
    return why->code == MORTISE_ECORRUPT &&
           mortise_session_engine(cli->session) != NULL &&
           open_store_copy(cli, why);
}

/* A wrapper that escapes items for people. */
struct item_filter {
    mortise_item_fn *fn;
    void *ud;
};

static int pass_visible_item(void *ud, json_t *item)
{
    const struct item_filter *s = ud;
    json_t *shown = mortise_json_show_nul(json_incref(item));
    int rv = shown != NULL ? s->fn(s->ud, shown) : 0;

    json_decref(shown);
    return rv;
}

static int call_session_visibly(struct mortise_cli *cli, json_t *request,
                                mortise_item_fn *fn, void *ud, json_t **reply,
                                struct mortise_err *err)
{
    struct item_filter item_filter = {fn, ud};
    int rv;

    if (cli->args.json)
        return mortise_session_call(cli->session, request, fn, ud, reply, err);
    rv = mortise_session_call(cli->session, request,
                              fn != NULL ? pass_visible_item : NULL,
                              &item_filter, reply, err);
    if (rv != MORTISE_OK || reply == NULL || *reply == NULL)
        return rv;
    *reply = mortise_json_show_nul(*reply);
    return *reply != NULL ? rv : mortise_nomem(err);
}

int mortise_cli_call(struct mortise_cli *cli, const char *what, json_t *body,
                     mortise_item_fn *fn, void *ud, json_t **reply,
                     struct mortise_err *err)
{
    json_t *request =
        json_pack("{s:s, s:s*}", "do", what, "tenant", cli->args.tenant);
    int rv;

    if (body == NULL || request == NULL ||
        json_object_update(request, body) != 0)
        rv = mortise_nomem(err);
    else
        rv = call_session_visibly(cli, request, fn, ud, reply, err);
    if (rv != MORTISE_OK && request != NULL && fn == NULL && err != NULL &&
        retry_with_copy(cli, err)) /* nothing was printed yet: safe to repeat */
        rv = call_session_visibly(cli, request, fn, ud, reply, err);
    json_decref(body);
    json_decref(request);
    return rv;
}

int mortise_cli_get_show(struct mortise_cli *cli, const char *run,
                         json_t **show, struct mortise_err *err)
{
    return mortise_cli_call(cli, "show", json_pack("{s:s}", "run", run), NULL,
                            NULL, show, err);
}

int mortise_cli_print_json(struct mortise_cli *cli, json_t *v, bool pretty,
                           struct mortise_err *err)
{
    if (v == NULL)
        return mortise_nomem(err);
    mortise_out_put_json(&cli->out, v, pretty);
    json_decref(v);
    return MORTISE_OK;
}
