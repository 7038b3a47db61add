/* version.c -- `mortise version`. */
#include "cli/cli.h"

static int print_version(struct mortise_cli *cli, struct mortise_err *err)
{
    if (cli->args.json)
        return mortise_cli_print_json(
            cli, json_pack("{s:s}", "version", MORTISE_VERSION), false, err);
    mortise_out_puts(&cli->out, "mortise " MORTISE_VERSION "\n");
    return MORTISE_EXIT_OK;
}

static const struct mortise_opt opts[] = {
    MORTISE_OPT_JSON("As a JSON object"),
    MORTISE_OPT_END,
};

const struct mortise_cmd mortise_cmd_version = {
    .name = "version",
    .operands = "",
    .summary = "Print the version",
    .opts = opts,
    .example = "mortise version",
    .run = print_version,
};
