/* allow.c -- `mortise config allow`: permit the use of a deployment that was
 * found.
 *
 * The command prints the permissions that it grants line by line, so a person
 * who pasted it from an error message sees them again.  lang/config/allow.h
 * stores the permission.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "cli/cli.h"
#include "lang/config/guarded.h"

struct fault_report {
    struct mortise_cli *cli;
    json_t *places;
    bool nomem;
    bool is_printing; /* false: collect the faults; true: print them */
};

/* ---- allow ------------------------------------------------------------- */

static bool report_fault(void *ud, const struct mortise_owner_fault *f)
{
    struct fault_report *s = ud;
    struct mortise_out *o = &s->cli->out;

    if (!s->is_printing) {
        s->nomem |=
            json_array_append_new(s->places, mortise_allow_make_place(f)) != 0;
        return true;
    }
    mortise_out_print_escaped(o, "  %s", f->path);
    if (f->foreign)
        mortise_out_printf(o, " belongs to uid %lu\n", (unsigned long)f->uid);
    else
        mortise_out_printf(o, " is writable by others (mode %04o)\n",
                           (unsigned)(f->mode & 07777));
    return true;
}

static void print_allowed_keys(struct mortise_cli *cli,
                               const struct mortise_deployment *d)
{
    struct mortise_need needs[MORTISE_NEEDS_MAX];
    size_t n = mortise_allow_find_needs(d, needs);

    for (size_t i = 0; i < n; i++)
        mortise_out_printf(&cli->out, "  %s (line %u)\n", needs[i].key,
                           needs[i].value->span.line);
}

static int allow_deployment(struct mortise_cli *cli,
                            const struct mortise_settings *settings,
                            struct mortise_allowance *a,
                            struct mortise_err *err)
{
    struct fault_report s = {.cli = cli, .places = json_array()};
    int rv = mortise_guarded_report_faults(settings, report_fault, &s, err);

    if (rv == MORTISE_OK && (s.nomem || s.places == NULL))
        rv = mortise_nomem(err);
    if (rv == MORTISE_OK)
        rv = mortise_allow_write(a, s.places, err);
    if (rv == MORTISE_OK) {
        mortise_out_print_escaped(&cli->out, "allowed: %s\n", a->file);
        print_allowed_keys(cli, settings->deployment);
        s.is_printing = true;
        rv = mortise_guarded_report_faults(settings, report_fault, &s, err);
    }
    json_decref(s.places);
    return rv;
}

static int remove_permission(struct mortise_cli *cli,
                             const struct mortise_allowance *a,
                             struct mortise_err *err)
{
    int rv = mortise_allow_remove(a, err);

    if (rv == MORTISE_OK)
        mortise_out_print_escaped(&cli->out, "no longer allowed: %s\n",
                                  a->file);
    return rv;
}

static int change_permission(struct mortise_cli *cli, struct mortise_err *err)
{
    struct mortise_diags diags;
    struct mortise_settings settings = {0};
    struct mortise_allowance a = {.record = NULL};
    int rv;

    mortise_diags_init(&diags, cli->mem);
    rv = mortise_settings_open(&settings, cli->mem, cli->args.operands[0],
                               cli->args.store, MORTISE_SETTINGS_READ_ONLY,
                               &diags, err);
    if (rv == MORTISE_ECHECK) /* this command resolves other errors */
        mortise_cli_print_findings(cli, &diags);
    if (rv == MORTISE_OK)
        rv = mortise_allow_read(&a, settings.deployment, err);
    if (rv == MORTISE_OK)
        rv = cli->args.remove ? remove_permission(cli, &a, err)
                              : allow_deployment(cli, &settings, &a, err);
    mortise_allow_finish(&a);
    mortise_settings_close(&settings);
    mortise_diags_finish(&diags);
    return rv;
}

/* ---- list -------------------------------------------------------------- */

static int list_permissions(struct mortise_cli *cli, struct mortise_err *err)
{
    json_t *all;
    int rv = mortise_allow_list(&all, cli->mem, err);

    if (rv == MORTISE_OK)
        mortise_out_printf(
            &cli->err,
            "%s; to allow %s, name its file: mortise config allow %s\n",
            json_array_size(all) == 0 ? "no deployment is allowed"
                                      : "these deployments are allowed",
            json_array_size(all) == 0 ? "one" : "another",
            access("mortise.yaml", F_OK) == 0 ? "mortise.yaml" : "FILE");
    MORTISE_JSON_EACH (record, i, all)
        mortise_out_print_escaped(&cli->out, "%s\n",
                                  mortise_cli_get_text(record, "file"));
    json_decref(all);
    return rv;
}

static int config_allow(struct mortise_cli *cli, struct mortise_err *err)
{
    if (cli->args.n_operands > 0)
        return change_permission(cli, err);
    if (cli->args.remove)
        return mortise_cli_fail_usage(cli, "--remove needs a FILE");
    return list_permissions(cli, err);
}

static const struct mortise_opt opts[] = {
    MORTISE_OPT_FLAG("remove", remove, "Remove the permission"),
    MORTISE_OPT_END,
};

const struct mortise_cmd mortise_cmd_config_allow = {
    .name = "config allow",
    .operands = "[FILE]",
    .summary = "Allow Mortise to use a mortise.yaml that it finds",
    .text = "Mortise finds a mortise.yaml beside a graph or in the current\n"
            "directory, even if you did not name it.  If the file has one of\n"
            "these, Mortise uses the file only after you allow it:\n"
            "\n"
            "  plugins.path, plugins.dev, trust, programs, tools.mcp\n"
            "  secrets, store.access\n"
            "  a model whose provider is not `scripted`\n"
            "  ${env:...} or ${file:...}\n"
            "  the address of a server (https://..., HOST:PORT), or a path\n"
            "  that leads out of the file's directory, in plugins.config,\n"
            "  guardrails, memory, discovery or store\n"
            "\n"
            "Read the file first.  The permission is stored for this path and\n"
            "for the current values of these keys.  After a change of these\n"
            "keys, you must allow the file again.\n"
            "\n"
            "The permission also covers a mortise.yaml, or a file that it\n"
            "names, that belongs to another user or is writable by others, as\n"
            "in a container.  Without FILE, the command lists the allowed\n"
            "deployments.  A deployment that --deployment or\n"
            "MORTISE_DEPLOYMENT names needs no permission.\n",
    .opts = opts,
    .exits = MORTISE_EXITS_FINDINGS | MORTISE_EXITS_STORE,
    .example = "mortise config allow examples/plugin-c/mortise.yaml",
    .run = config_allow,
};
