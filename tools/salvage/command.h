/* command.h -- the command of mortise-salvage. */
#ifndef MORTISE_TOOLS_SALVAGE_COMMAND_H
#define MORTISE_TOOLS_SALVAGE_COMMAND_H

#include "cli/cli.h"

/* `store salvage`. */
int mortise_salvage_run(struct mortise_cli *cli, struct mortise_err *err);

#endif
