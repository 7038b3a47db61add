/* executions.h -- print the executions of a run, for `mortise show`. */
#ifndef MORTISE_CLI_EXECUTIONS_H
#define MORTISE_CLI_EXECUTIONS_H

#include "cli/cli.h"

/* Print "CODE: MESSAGE" of an error object. */
void mortise_cli_print_error(struct mortise_out *o, const json_t *error);
/* Print one line for each of `nodes` of show; elements of a map with the same
 * status share a line. */
int mortise_cli_print_nodes(struct mortise_cli *cli, const json_t *nodes,
                            struct mortise_err *err);
/* Is this name the execution's node, display name ("work#2") or path? */
bool mortise_cli_is_called(const json_t *object, const char *name);
/* Print the executions of show with that name in full; MORTISE_ENOTFOUND:
 * none. */
int mortise_cli_print_node(struct mortise_cli *cli, const json_t *show,
                           const char *name, struct mortise_err *err);

#endif
