/* greet.c -- a subcommand that core/ does not know. */
#include "cli/cli.h"

static int greet(struct mortise_cli *cli, struct mortise_err *err)
{
    (void)err;
    mortise_out_printf(&cli->out, "Good day, %s.\n", cli->args.operands[0]);
    return 0;
}

const struct mortise_cmd mortise_cmd_greet = {
    .name = "greet",
    .operands = "NAME",
    .summary = "Say good day",
    .text = "To whoever it is.\n",
    .example = "mortise greet Ann",
    .run = greet,
};
