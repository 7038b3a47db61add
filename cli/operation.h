/* operation.h -- one operation of a plugin, as `plugin inspect` shows it. */
#ifndef MORTISE_CLI_OPERATION_H
#define MORTISE_CLI_OPERATION_H

#include "cli/cli.h"
#include "core/plugin/manifest.h"

struct mortise_deployment;

/* Print the operation of the manifest, or of the deployment's lock, that is called
 * so; MORTISE_ENOTFOUND: there is none. */
int mortise_cli_operation(struct mortise_cli *cli,
                          const struct mortise_manifest *m,
                          const struct mortise_deployment *d, const char *name,
                          struct mortise_err *err);

/* A schema for people, indented by so many columns: a line for each member, with
 * what its value may be; keywords that have no words here stand as they are. */
void mortise_cli_print_schema(struct mortise_out *o, const json_t *schema,
                              size_t indent);

#endif
