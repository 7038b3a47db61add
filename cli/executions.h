/* executions.h -- the executions of a run, as `mortise show` prints them. */
#ifndef MORTISE_CLI_EXECUTIONS_H
#define MORTISE_CLI_EXECUTIONS_H

#include "cli/cli.h"

/* "CODE: MESSAGE" of an error object. */
void mortise_cli_print_error(struct mortise_out *o, const json_t *error);
/* A line each, of `nodes` of show; elements of a map that stand alike share
 * one. */
int mortise_cli_print_nodes(struct mortise_cli *cli, const json_t *nodes,
                            struct mortise_err *err);
/* Is that what people call the execution: its node, "work#2", or the path? */
bool mortise_cli_is_called(const json_t *object, const char *name);
/* Print, whole, those of show that are called so; MORTISE_ENOTFOUND: none is. */
int mortise_cli_print_node(struct mortise_cli *cli, const json_t *show,
                           const char *name, struct mortise_err *err);

#endif
