/* service_unit.h -- installs a systemd user unit that keeps an engine running.
 */
#ifndef MORTISE_CLI_SERVICE_UNIT_H
#define MORTISE_CLI_SERVICE_UNIT_H

#include "cli/cli.h"

/* Write the unit for the deployment and store of this command below
 * $XDG_CONFIG_HOME/systemd/user, and print the commands that start it.  A unit
 * of an earlier call is replaced. */
int mortise_service_unit_install(struct mortise_cli *cli,
                                 struct mortise_err *err);

#endif
