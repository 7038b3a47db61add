/* doctor.c -- `mortise doctor`: check that this machine has what Mortise
 * needs.
 *
 * (1) Every check runs, whatever failed before; a check that another failure
 *     prevents is omitted, not guessed.
 * (2) Every line that is not ok tells what to do.
 * (3) Nothing is changed: no store is created, and a store is opened only as a
 *     copy.  The file that tests the disk has no name and is removed at once.
 *     Two plugins may run: the plugin for MCP if the deployment has servers,
 *     because only the servers know their tools; and the memory plugin if
 *     there are traces, because only it can open them.
 *
 * doctor_host.c checks the host, doctor_store.c the store, doctor_worker.c
 * programs, doctor_paths.c paths in configs, doctor_memory.c traces, and
 * doctor_mcp.c MCP servers.  This file checks the deployment, the keys and the
 * plugins.
 */
#include "cli/doctor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/userdir.h"
#include "cli/plugin_set.h"
#include "lang/config/guarded.h"
#include "core/plugin/trust.h"

/* ---- keys -------------------------------------------------------------- */

/* Anyone who can write here decides which keys are trusted. */
static void check_others_cannot_write(struct mortise_doctor *d,
                                      const char *path)
{
    struct stat st;

    if (stat(path, &st) == 0 && (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        mortise_doctor_report(
            d, MORTISE_DOCTOR_FAIL, "trust",
            "remove the permission with chmod go-w: anyone who "
            "can write to it decides which plugins run",
            "%s is writable by others (mode %04o)", path,
            (unsigned)(st.st_mode & 07777));
}

static void report_trusted_keys(struct mortise_doctor *d,
                                const struct mortise_trust *t)
{
    size_t n = mortise_trust_count(t), good = 0;

    for (size_t i = 0; i < n; i++) {
        const struct mortise_trusted_key *key = mortise_trust_at(t, i);

        good += !key->revoked;
        if (i == 0 || strcmp(key->path, mortise_trust_at(t, i - 1)->path) != 0)
            check_others_cannot_write(d, key->path);
    }
    if (good == 0)
        mortise_doctor_report(d, MORTISE_DOCTOR_FAIL, "trust",
                              "mortise key trust KEY.pub --plugins NAMES",
                              "no key is trusted, so no plugin can be loaded");
    else
        mortise_doctor_report(d, MORTISE_DOCTOR_OK, "trust", NULL,
                              "%zu of %zu keys can sign plugins", good, n);
}

static void check_trusted_keys(struct mortise_doctor *d,
                               const struct mortise_settings *settings)
{
    struct mortise_trust *trust = NULL;
    struct mortise_diags diags;
    struct mortise_err err;
    int rv;

    for (size_t i = 0; i < settings->n_trust_dirs; i++) {
        if (access(settings->trust_dirs[i], R_OK | X_OK) != 0)
            mortise_doctor_report(
                d, MORTISE_DOCTOR_FAIL, "trust",
                "make it readable, or set another directory in "
                "trust.dir of the deployment",
                "%s: %s", settings->trust_dirs[i], strerror(errno));
        else
            check_others_cannot_write(d, settings->trust_dirs[i]);
    }
    mortise_diags_init(&diags, d->cli->mem);
    rv = mortise_trust_open(&trust, d->cli->mem, settings->trust_dirs,
                            settings->n_trust_dirs, &diags, &err);
    mortise_cli_print_findings(d->cli, &diags);
    if (rv == MORTISE_OK)
        report_trusted_keys(d, trust);
    else
        mortise_doctor_report(d, MORTISE_DOCTOR_FAIL, "trust",
                              "correct the file: no key is trusted until then",
                              "%s", err.msg);
    mortise_trust_close(trust);
}

/* ---- data of this user ------------------------------------------------- */

static void check_user_directory(struct mortise_doctor *d)
{
    char dir[PATH_MAX] = "";
    struct mortise_err err;

    if (mortise_userdir_check(dir, &err) == MORTISE_OK)
        mortise_doctor_report(d, MORTISE_DOCTOR_OK, "memory", NULL, "%s", dir);
    else
        mortise_doctor_report(
            d, MORTISE_DOCTOR_WARN, "memory",
            "set XDG_STATE_HOME to a directory that only this user can write: "
            "Mortise records in it which releases of plugins ran, which keys "
            "were revoked and what 'config allow' allowed",
            "Mortise cannot store data for this user: %s", err.msg);
}

/* ---- plugins ----------------------------------------------------------- */

static void check_installed_plugin(struct mortise_doctor *d,
                                   struct mortise_plugin_set *s,
                                   const struct mortise_plugin_info *f)
{
    struct mortise_err err;
    const char *problem = mortise_plugin_set_find_problem(s, f, &err);

    if (f->quarantined)
        mortise_doctor_report(d, MORTISE_DOCTOR_FAIL, "plugin",
                              "install another version, or end the quarantine: "
                              "mortise plugin unquarantine NAME",
                              "%s: %s", f->path, problem);
    else if (f->problem != NULL)
        mortise_doctor_report(d, MORTISE_DOCTOR_FAIL, "plugin",
                              "remove it, or replace it with a usable plugin",
                              "%s: %s", f->path, problem);
    else if (problem != NULL)
        mortise_doctor_report(d, MORTISE_DOCTOR_FAIL, "plugin",
                              "remove the cause of this error, then check the "
                              "plugin: mortise plugin verify NAME",
                              "%s: %s", f->path, problem);
    else if (f->manifest->dev)
        mortise_doctor_report(
            d, MORTISE_DOCTOR_WARN, "plugin",
            "sign it (mortise plugin sign) before others use it",
            "%s %s is not signed; plugins.dev lets it run, and "
            "its runs are marked as unsigned",
            f->name, f->version);
    else
        mortise_doctor_report(d, MORTISE_DOCTOR_OK, "plugin", NULL,
                              "%s %s: verified", f->name, f->version);
}

static void check_installed_plugins(struct mortise_doctor *d,
                                    struct mortise_plugin_set *s)
{
    struct mortise_err err;
    int rv = mortise_plugin_set_open_with(s, d->cli, NULL, &err);
    size_t n = rv == MORTISE_OK ? mortise_plugins_count(s->plugins) : 0;

    for (size_t i = 0; i < n; i++)
        check_installed_plugin(d, s, mortise_plugins_at(s->plugins, i));
    if (rv == MORTISE_OK && n == 0)
        mortise_doctor_report(
            d, MORTISE_DOCTOR_WARN, "plugin",
            "set their directory in plugins.path of the deployment",
            "no plugins found");
    /* check_trust() has reported unreadable keys */
}

static bool is_unsigned_directory(const struct mortise_settings *settings,
                                  size_t i)
{
    return i >= settings->first_dev &&
           i - settings->first_dev < settings->n_dev;
}

static void check_plugin_directories(struct mortise_doctor *d,
                                     const struct mortise_settings *settings)
{
    for (size_t i = 0; i < settings->n_plugin_dirs; i++)
        if (access(settings->plugin_dirs[i], R_OK | X_OK) != 0)
            mortise_doctor_report(
                d, MORTISE_DOCTOR_WARN, "plugin",
                is_unsigned_directory(settings, i)
                    ? "create the directory, or remove it from "
                      "plugins.dev of the deployment"
                    : "create the directory, or remove it from "
                      "plugins.path of the deployment",
                "%s: %s", settings->plugin_dirs[i], strerror(errno));
}

/* ---- all checks -------------------------------------------------------- */

/* Print a finding of `mortise check` as one line. */
static void report_check_finding(struct mortise_doctor *d,
                                 const struct mortise_diag *f)
{
    char explain[64];

    snprintf(explain, sizeof explain, "mortise explain %s", f->code);
    mortise_doctor_report(d,
                          f->severity == MORTISE_ERROR ? MORTISE_DOCTOR_FAIL
                                                       : MORTISE_DOCTOR_WARN,
                          "deployment", f->help != NULL ? f->help : explain,
                          "%s:%u:%u: %s (%s)", f->path != NULL ? f->path : "?",
                          f->span.line, f->span.col, f->message, f->code);
}

/* Check the deployment like `mortise check`, which finds more than opening it
 * does: unset secrets, configs that plugins reject.  This check reads the
 * environment and the files that the deployment names, so it is skipped for a
 * file that was found and that nobody allowed. */
static void check_deployment_findings(struct mortise_doctor *d,
                                      struct mortise_diags *diags)
{
    struct mortise_cli *cli = d->cli;
    bool looks = cli->looks, found, may = true;
    const char *file;
    struct mortise_err err;

    if (mortise_cli_find_deployment(cli, NULL, &err) != MORTISE_OK ||
        cli->deployment == NULL)
        return; /* open_settings() reports it */
    file = cli->deployment;
    found = cli->found;
    if (found && (mortise_guarded_may_resolve(cli->mem, file, &may, &err) !=
                      MORTISE_OK ||
                  !may))
        return; /* open_settings() reports it */
    (void)mortise_cli_check_file(cli, file, diags, &err);
    mortise_diags_sort(diags);
    for (size_t i = 0; i < diags->n; i++)
        report_check_finding(d, &diags->list[i]);
    cli->deployment = file;
    cli->found = found;
    cli->looks = looks;
}

static bool was_finding_reported(const struct mortise_diags *said,
                                 const struct mortise_diag *f)
{
    for (size_t i = 0; i < said->n; i++)
        if (strcmp(said->list[i].code, f->code) == 0 &&
            strcmp(said->list[i].message, f->message) == 0)
            return true;
    return false;
}

/* Open the settings like mortise_cli_open_settings().  Print the findings that are
 * not in `said` (NULL: print none). */
static int read_doctor_settings(struct mortise_doctor *d,
                                const struct mortise_diags *said,
                                struct mortise_settings *settings,
                                struct mortise_err *err)
{
    struct mortise_cli *cli = d->cli;
    struct mortise_diags diags;
    int rv = mortise_cli_find_deployment(cli, NULL, err);

    memset(settings, 0, sizeof *settings);
    if (rv != MORTISE_OK)
        return rv;
    mortise_diags_init(&diags, cli->mem);
    rv = mortise_settings_open(settings, cli->mem, cli->deployment,
                               cli->args.store, mortise_cli_settings_flags(cli),
                               &diags, err);
    mortise_diags_sort(&diags);
    for (size_t i = 0; said != NULL && i < diags.n; i++)
        if (!was_finding_reported(said, &diags.list[i]))
            report_check_finding(d, &diags.list[i]);
    mortise_diags_finish(&diags);
    return rv;
}

/* A denied deployment is still checked, without running its code. */
static int open_doctor_settings(struct mortise_doctor *d,
                                const struct mortise_diags *said,
                                struct mortise_settings *settings,
                                struct mortise_err *err)
{
    int rv = read_doctor_settings(d, said, settings, err);

    if (rv != MORTISE_EDENIED)
        return rv;
    mortise_doctor_report(
        d, MORTISE_DOCTOR_FAIL, "deployment",
        "follow the instruction in this error; until then, no "
        "run starts or continues",
        "%s", err->msg);
    d->cli->looks = true;
    return read_doctor_settings(d, NULL, settings, err);
}

static void check_with_settings(struct mortise_doctor *d)
{
    struct mortise_plugin_set set = {.plugins = NULL};
    struct mortise_settings *settings = &set.settings;
    struct mortise_diags said;
    struct mortise_err err;
    bool good;
    int rv;

    mortise_diags_init(&said, d->cli->mem);
    check_deployment_findings(d, &said);
    rv = open_doctor_settings(d, &said, settings, &err);
    good = said.n_errors == 0;
    mortise_diags_finish(&said);

    if (rv != MORTISE_OK) {
        mortise_doctor_report(
            d, MORTISE_DOCTOR_FAIL, "deployment",
            "correct the deployment; without it, doctor cannot "
            "check the store, keys and plugins",
            "%s", err.msg);
    } else {
        if (!d->cli->looks && good)
            mortise_doctor_report(
                d, MORTISE_DOCTOR_OK, "deployment", NULL, "%s",
                d->cli->deployment != NULL ? d->cli->deployment
                                           : "none: using defaults");
        mortise_doctor_check_store(d, settings);
        mortise_doctor_check_worker(d, settings);
        check_user_directory(d);
        check_trusted_keys(d, settings);
        check_plugin_directories(d, settings);
        check_installed_plugins(d, &set);
        if (!d->cli->looks) { /* otherwise no code of it may run */
            if (set.plugins != NULL) {
                mortise_doctor_check_paths(d, settings->deployment,
                                           set.plugins);
                mortise_doctor_check_memory(d, settings, set.plugins);
            }
            mortise_doctor_check_mcp(d, settings->deployment);
        }
    }
    mortise_plugin_set_close(&set);
}

static int doctor(struct mortise_cli *cli, struct mortise_err *err)
{
    struct mortise_doctor d = {.cli = cli};

    (void)err; /* each problem is its own line */
    mortise_doctor_check_host(&d);
    check_with_settings(&d);
    if (!cli->args.json)
        mortise_out_printf(&cli->out, "%s: %u to correct, %u to review\n",
                           d.n_unhealthy > 0 ? "not fit" : "fit", d.n_unhealthy,
                           d.n_warned);
    return d.n_unhealthy > 0 ? MORTISE_EXIT_FINDINGS : MORTISE_EXIT_OK;
}

static const struct mortise_opt opts[] = {
    MORTISE_OPT_JSON("One JSON object a line"),
    MORTISE_OPTS_OF_STORE,
};

const struct mortise_cmd mortise_cmd_doctor = {
    .name = "doctor",
    .operands = "",
    .summary = "Check that this machine has what Mortise needs",
    .text =
        "Each line has ok, warn or fail, the name of the check, its\n"
        "result, and what to do.  The checks are:\n"
        "  - the host (kernel, descriptors, clock), and whether programs "
        "start\n"
        "  - the store's directory, its disk, and the checksums of all its "
        "data\n"
        "    (tables are read in place, logs in a copy)\n"
        "  - keys and plugins\n"
        "  - the files and directories of the deployment's programs, and\n"
        "    those in the configs of plugins; no program is started\n"
        "  - the deployment's memory: its plugin is started once, with the\n"
        "    stored traces\n"
        "  - the deployment, as 'mortise check' does, and unset secrets\n"
        "  - each MCP server of the deployment: it is started or contacted "
        "once\n"
        "    and asked for its tools (15 s at most)\n"
        "\n"
        "No other plugin code runs, and nothing is changed.  doctor does\n"
        "not read every trace of the memory; 'mortise memory export' does.\n"
        "If another process uses the store, doctor does not read the\n"
        "store, and prints a warning.\n"
        "\n"
        "The exit code is 2 if a check failed, and 0 if there are only\n"
        "warnings.\n",
    .opts = opts,
    .exits = MORTISE_EXITS_FINDINGS,
    .example = "mortise doctor --deployment /etc/mortise/mortise.yaml",
    .run = doctor,
};
