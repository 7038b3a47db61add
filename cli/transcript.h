/* transcript.h -- prints the conversations with models in a run. */
#ifndef MORTISE_CLI_TRANSCRIPT_H
#define MORTISE_CLI_TRANSCRIPT_H

#include "cli/cli.h"

/* Print all conversations, or those of --node. */
int mortise_cli_print_transcript(struct mortise_cli *cli, const char *run,
                                 struct mortise_err *err);

#endif
