/* operation.h -- prints one operation of a plugin, for `plugin inspect`. */
#ifndef MORTISE_CLI_OPERATION_H
#define MORTISE_CLI_OPERATION_H

#include "cli/cli.h"
#include "core/plugin/manifest.h"

struct mortise_deployment;

/* Print the operation `name` of the manifest or the deployment's lock;
 * MORTISE_ENOTFOUND: there is none. */
int mortise_cli_print_operation(struct mortise_cli *cli,
                                const struct mortise_manifest *m,
                                const struct mortise_deployment *d,
                                const char *name, struct mortise_err *err);

/* Print a schema, indented: a line for each member with its possible values.
 * Keywords that have no phrase of their own are printed as they are. */
void mortise_cli_print_schema(struct mortise_out *o, const json_t *schema,
                              size_t indent);

#endif
