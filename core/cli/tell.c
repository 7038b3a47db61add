/* tell.c -- `mortise tell`: a message for the models of a run. */
#include "cli/cli.h"

static int tell(struct mortise_cli *cli, struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;

    return mortise_cli_order(cli,
                             json_pack("[{s:s, s:s, s:s*}]", "kind", "tell",
                                       "value", a->operands[1], "node",
                                       a->node),
                             false, err);
}

static const struct mortise_opt tell_opts[] = {
    MORTISE_OPT_TEXT("node", "ID", node,
                     "For the models of this node, or what it runs"),
    MORTISE_OPT_FLAG("no-continue", no_continue, "Record it and run nothing"),
    MORTISE_OPT_FLAG("accept-plugins", accept_plugins,
                     "Go on although plugins or tools have changed"),
    MORTISE_OPT_JSON("One event a line, then how the run stands"),
    MORTISE_OPTS_OF_RUNS,
};

const struct mortise_cmd mortise_cmd_tell = {
    .name = "tell",
    .operands = "RUN TEXT",
    .summary = "Tell a run something, which its model hears with its next turn",
    .text =
        "TEXT is a message of the user's.  It is kept with the run, and the "
        "next\n"
        "call of a model hears it, behind all that was said; where the model "
        "had\n"
        "come to its end meanwhile, it gets one more turn.  Nothing that is "
        "under\n"
        "way is disturbed.\n"
        "\n"
        "Who asks once (execution_mode: single_turn) has no next turn, and "
        "neither\n"
        "has a node whose last reply is out within its bound: then it stays "
        "with\n"
        "the run for whichever model is asked next, and 'mortise show' has it "
        "under\n"
        "'told, and not heard yet' until then.\n"
        "\n"
        "RUN is the whole id of a run.\n",
    .opts = tell_opts,
    .exits = MORTISE_EXITS_RUN,
    .example = "mortise tell night \"Leave the invoices of May alone\"",
    .run = tell,
};
