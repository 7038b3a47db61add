/* tell.c -- `mortise tell`: sends a message to the models of a run. */
#include "cli/cli.h"

static int send_run_message(struct mortise_cli *cli, struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;

    return mortise_cli_send_to_operand(
        cli,
        json_pack("[{s:s, s:s, s:s*}]", "kind", "tell", "value", a->operands[1],
                  "node", a->node),
        false, err);
}

static const struct mortise_opt tell_opts[] = {
    MORTISE_OPT_TEXT("node", "ID", node,
                     "Only for the models of this node and of the nodes\n"
                     "inside it"),
    MORTISE_OPT_FLAG("no-continue", no_continue,
                     "Record the message, but run "
                     "nothing"),
    MORTISE_OPT_FLAG("accept-plugins", accept_plugins,
                     "Continue with the present plugins and tools, even\n"
                     "if they have changed"),
    MORTISE_OPT_JSON("One event a line, then the status of the run"),
    MORTISE_OPTS_OF_RUNS,
};

const struct mortise_cmd mortise_cmd_tell = {
    .name = "tell",
    .operands = "RUN TEXT",
    .summary = "Send a run a message for the next turn of its model",
    .text =
        "TEXT is a message of the user.  The run stores TEXT, and the next\n"
        "call of a model gets it after all earlier messages.  If TEXT\n"
        "arrives during the model's last turn, the model gets one more\n"
        "turn.  Calls in flight are not disturbed.\n"
        "\n"
        "A node has no next turn if it has `execution_mode: single_turn`\n"
        "or has used all its turns.  The run then keeps the message until\n"
        "its next call of a model.  Until then, 'mortise show' lists the\n"
        "message under 'messages that no model has received yet'.\n"
        "\n"
        "RUN is the whole id of a run.\n",
    .opts = tell_opts,
    .exits = MORTISE_EXITS_RUN,
    .example = "mortise tell night \"Leave the invoices of May alone\"",
    .run = send_run_message,
};
