/* transcript.h -- what was said to models in a run, and what they said. */
#ifndef MORTISE_CLI_TRANSCRIPT_H
#define MORTISE_CLI_TRANSCRIPT_H

#include "cli/cli.h"

/* Print it, of all nodes or of the one of --node. */
int mortise_cli_transcript(struct mortise_cli *cli, const char *run,
                           struct mortise_err *err);

#endif
