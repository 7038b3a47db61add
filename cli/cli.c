/* cli.c -- where things are, and saying so.
 *
 * A person who reads `mortise approve night 8f31c09a` in our output pastes it
 * into the same shell.  So what we suggest is called as we were called, is
 * quoted, and names the store or the deployment whenever the pasted command
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

const char *mortise_cli_parent(const char *path, char out[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    size_t n = slash != NULL ? (size_t)(slash - path) : 0;

    snprintf(out, PATH_MAX, "%.*s", slash == path ? 1 : (int)n, path);
    if (out[0] == '\0')
        strcpy(out, ".");
    return out;
}

/* Look for mortise.yaml beside the graph; true if it is there. */
static bool beside(struct mortise_cli *cli, const char *graph)
{
    const char *slash = strrchr(graph, '/');
    int dir = slash != NULL ? (int)(slash - graph) + 1 : 0;
    int n = snprintf(cli->path, sizeof cli->path, "%.*s%s", dir, graph,
                     deployment_name);

    return n > 0 && (size_t)n < sizeof cli->path &&
           access(cli->path, F_OK) == 0;
}

/* Nobody named one. */
static void find_file(struct mortise_cli *cli, const char *graph)
{
    if (cli->cases != NULL) {
        cli->deployment = cli->cases;
        cli->found_by_itself = false;
    } else if (graph != NULL && beside(cli, graph)) {
        cli->deployment = cli->path;
        cli->found_by_itself = strcmp(cli->path, deployment_name) == 0;
    } else if (access(deployment_name, F_OK) == 0) {
        cli->deployment = deployment_name;
    }
}

int mortise_cli_find(struct mortise_cli *cli, const char *graph,
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
        find_file(cli, graph);
    }
    if (cli->deployment != NULL && access(cli->deployment, R_OK) != 0)
        return mortise_syserr(err, errno, "read the deployment %s",
                              cli->deployment);
    return MORTISE_OK;
}

unsigned mortise_cli_how(const struct mortise_cli *cli)
{
    return (cli->found ? MORTISE_SETTINGS_FOUND : 0) |
           (cli->looks ? MORTISE_SETTINGS_LOOK : 0);
}

int mortise_cli_settings(struct mortise_cli *cli,
                         struct mortise_settings *settings,
                         struct mortise_err *err)
{
    struct mortise_diags diags;
    int rv = mortise_cli_find(cli, NULL, err);

    memset(settings, 0, sizeof *settings);
    if (rv != MORTISE_OK)
        return rv;
    mortise_diags_init(&diags, cli->mem);
    rv = mortise_settings_open(settings, cli->mem, cli->deployment,
                               cli->args.store, mortise_cli_how(cli), &diags,
                               err);
    mortise_cli_findings(cli, &diags);
    return rv;
}

int mortise_cli_peek(struct mortise_cli *cli, struct mortise_settings *settings,
                     struct mortise_err *err)
{
    struct mortise_diags diags;
    int rv = mortise_cli_find(cli, NULL, err);

    memset(settings, 0, sizeof *settings);
    if (rv != MORTISE_OK)
        return rv;
    mortise_diags_init(&diags, cli->mem);
    rv = mortise_settings_open(
        settings, cli->mem, cli->deployment, cli->args.store,
        mortise_cli_how(cli) | MORTISE_SETTINGS_LOOK, &diags, err);
    if (rv != MORTISE_OK)
        mortise_cli_findings(cli, &diags);
    else
        mortise_diags_finish(&diags);
    return rv;
}

uint64_t mortise_cli_most(const struct mortise_settings *settings,
                          enum mortise_limit which, uint64_t wanted)
{
    const struct mortise_bounds *b = &settings->deployment->limits;

    return b->said[which] != NULL && b->value[which] < wanted ? b->value[which]
                                                              : wanted;
}

int mortise_cli_open(struct mortise_cli *cli, const char *graph,
                     struct mortise_err *err)
{
    int rv = mortise_cli_find(cli, graph, err);

    return rv != MORTISE_OK ? rv : mortise_cli_reopen(cli, err);
}

void mortise_cli_option(struct mortise_out *o, const char *name,
                        const char *value)
{
    mortise_out_printf(o, " --%s ", name);
    mortise_out_shell(o, value);
}

/* mortise_cli_suggest_begin() has said it already. */
static bool is_place(const struct mortise_opt *o)
{
    return o->at == offsetof(struct mortise_args, store) ||
           o->at == offsetof(struct mortise_args, deployment) ||
           o->at == offsetof(struct mortise_args, tenant);
}

void mortise_cli_repeat(struct mortise_out *o, const struct mortise_opt *opt,
                        const struct mortise_args *args)
{
    const char *at = (const char *)args + opt->at;
    const char *text = NULL;

    if (is_place(opt))
        return;
    if (opt->arg != NULL)
        memcpy(&text, at, sizeof text);
    if (text != NULL)
        mortise_cli_option(o, opt->name, text);
    else if (opt->arg == NULL && *(const bool *)at)
        mortise_out_printf(o, " --%s", opt->name);
}

/* Is a copy of the store good enough, after this error? */
static bool may_look(const struct mortise_cli *cli, int code)
{
    return cli->cmd->looks && !cli->args.follow &&
           (code == MORTISE_ENOSPC || code == MORTISE_EDENIED ||
            code == MORTISE_EIO || code == MORTISE_ECORRUPT);
}

bool mortise_cli_lacks(struct mortise_cli *cli, struct mortise_err *why)
{
    return cli->session != NULL && mortise_session_lacks(cli->session, why);
}

int mortise_cli_mark_lack(struct mortise_cli *cli, json_t *reply,
                          struct mortise_err *err)
{
    struct mortise_err why;

    if (!mortise_cli_lacks(cli, &why))
        return MORTISE_OK;
    return json_object_set_new(reply, "incomplete",
                               mortise_json_strn(why.msg, strlen(why.msg))) == 0
               ? MORTISE_OK
               : mortise_nomem(err);
}

/* How this command reaches the engine. */
static unsigned session_flags(const struct mortise_cli *cli)
{
    unsigned flags = cli->cmd != NULL ? cli->cmd->session : 0;

    if (cli->cmd != NULL && cli->cmd->looks) /* reading makes nothing */
        flags |= MORTISE_SESSION_FINDS | MORTISE_SESSION_BRIEF;
    if (cli->args.follow) /* it stays for as long as the run does */
        flags &= ~(unsigned)MORTISE_SESSION_BRIEF;
    if (cli->args.no_continue) /* it records, and nothing runs */
        flags |= MORTISE_SESSION_BRIEF;
    return flags;
}

static struct mortise_options options_of(struct mortise_cli *cli)
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

/* After this error, a copy is looked at in place of the store; false: not. */
static bool look(struct mortise_cli *cli, const struct mortise_err *why)
{
    const struct mortise_options options = options_of(cli);

    if (cli->copied || !may_look(cli, why->code))
        return false;
    mortise_session_close(cli->session);
    cli->session = NULL;
    cli->copied =
        mortise_session_look(&cli->session, &options, NULL) == MORTISE_OK;
    if (cli->copied)
        mortise_cli_say_look(cli, why);
    return cli->copied;
}

int mortise_cli_reopen(struct mortise_cli *cli, struct mortise_err *err)
{
    const struct mortise_options options = options_of(cli);
    int rv;

    mortise_session_close(cli->session);
    cli->session = NULL;
    mortise_fatal_catch();
    rv = mortise_session_open(&cli->session, &options, session_flags(cli),
                              &cli->no_store, err);
    return rv == MORTISE_OK || look(cli, err) ? MORTISE_OK : rv;
}

/* Does the subcommand of this name know whose runs are meant? */
static bool has_tenants(const char *name)
{
    const struct mortise_opt *o;

    for (size_t i = 0; i < mortise_n_commands; i++) {
        if (strcmp(mortise_commands[i]->name, name) != 0)
            continue;
        for (size_t k = 0; (o = mortise_opt_at(mortise_commands[i], k)) != NULL;
             k++)
            if (o->at == offsetof(struct mortise_args, tenant))
                return true;
    }
    return false;
}

void mortise_cli_suggest_begin(struct mortise_cli *cli, struct mortise_out *o,
                               const char *what)
{
    mortise_out_puts(o, "  ");
    mortise_out_shell(o, cli->program);
    mortise_out_printf(o, " %s", what);
    if (!cli->found_by_itself)
        mortise_cli_option(o, "deployment", cli->deployment);
    if (cli->args.store != NULL)
        mortise_cli_option(o, "store", cli->args.store);
    if (cli->args.tenant != NULL && has_tenants(what))
        mortise_cli_option(o, "tenant", cli->args.tenant);
}

void mortise_cli_suggest(struct mortise_cli *cli, struct mortise_out *o,
                         const char *what, const char *run)
{
    mortise_cli_suggest_begin(cli, o, what);
    mortise_out_puts(o, run[0] == '-' ? " -- " : " ");
    mortise_out_shell(o, run);
}

/* The store opened, and does not read: so a copy is asked, unless another
 * process has the store. */
static bool asks_copy(struct mortise_cli *cli, const struct mortise_err *why)
{
    return why->code == MORTISE_ECORRUPT &&
           mortise_session_engine(cli->session) != NULL && look(cli, why);
}

/* Items, for people. */
struct seen {
    mortise_item_fn *fn;
    void *ud;
};

static int see(void *ud, json_t *item)
{
    const struct seen *s = ud;
    json_t *shown = mortise_visible(json_incref(item));
    int rv = shown != NULL ? s->fn(s->ud, shown) : 0;

    json_decref(shown);
    return rv;
}

static int call(struct mortise_cli *cli, json_t *request, mortise_item_fn *fn,
                void *ud, json_t **reply, struct mortise_err *err)
{
    struct seen seen = {fn, ud};
    int rv;

    if (cli->args.json)
        return mortise_session_call(cli->session, request, fn, ud, reply, err);
    rv = mortise_session_call(cli->session, request, fn != NULL ? see : NULL,
                              &seen, reply, err);
    if (rv != MORTISE_OK || reply == NULL || *reply == NULL)
        return rv;
    *reply = mortise_visible(*reply);
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
        rv = call(cli, request, fn, ud, reply, err);
    if (rv != MORTISE_OK && request != NULL && fn == NULL && err != NULL &&
        asks_copy(cli, err)) /* nobody was told some of it */
        rv = call(cli, request, fn, ud, reply, err);
    json_decref(body);
    json_decref(request);
    return rv;
}

int mortise_cli_show(struct mortise_cli *cli, const char *run, json_t **show,
                     struct mortise_err *err)
{
    return mortise_cli_call(cli, "show", json_pack("{s:s}", "run", run), NULL,
                            NULL, show, err);
}

int mortise_cli_print(struct mortise_cli *cli, json_t *v, bool pretty,
                      struct mortise_err *err)
{
    if (v == NULL)
        return mortise_nomem(err);
    mortise_out_json(&cli->out, v, pretty);
    json_decref(v);
    return MORTISE_OK;
}
