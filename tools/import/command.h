/* command.h -- the commands of mortise-import. */
#ifndef MORTISE_TOOLS_IMPORT_COMMAND_H
#define MORTISE_TOOLS_IMPORT_COMMAND_H

#include "cli/cli.h"

/* `graph import`. */
int mortise_import_graph_run(struct mortise_cli *cli, struct mortise_err *err);
/* `config import`. */
int mortise_import_config_run(struct mortise_cli *cli, struct mortise_err *err);

#endif
