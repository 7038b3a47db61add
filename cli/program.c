/* program.c -- replaces this process by another program of Mortise. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/base/err.h"
#include "lang/config/home.h"

int mortise_cli_exec(struct mortise_cli *cli, char **argv,
                     struct mortise_err *err)
{
    char home[MORTISE_HOME_MAX], path[MORTISE_HOME_MAX + 64];

    mortise_home_get_dir(home);
    snprintf(path, sizeof path, "%s/%s", home, cli->cmd->program);
    /* Our stdout has another number (move_stdout() in start.c), and the program needs it as
     * descriptor 1. */
    if (cli->out.fd != STDOUT_FILENO && dup2(cli->out.fd, STDOUT_FILENO) < 0)
        return mortise_fail(err, MORTISE_EIO, "cannot start %s: %s", path,
                            strerror(errno));
    execv(path, argv);
    return mortise_fail(err, MORTISE_EIO,
                        "cannot start %s: %s; install Mortise again", path,
                        strerror(errno));
}
