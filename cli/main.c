/* main.c -- the `mortise` command.
 *
 * A plugin in this process can call _exit().  The caller of `mortise` would take the
 * plugin's exit code for that of the command, for example 0 for success.  So the
 * program has functions of this name: the symbols of an executable come before those
 * of libc.
 */
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/plugin/death.h"

#define MORTISE_EXPORTED __attribute__((visibility("default")))

MORTISE_EXPORTED _Noreturn void _exit(int status)
{
    if (mortise_death_record_exit())
        status = MORTISE_EXIT_FAILED;
    for (;;)
        syscall(SYS_exit_group, status);
}

MORTISE_EXPORTED _Noreturn void _Exit(int status)
{
    _exit(status);
}

int main(int argc, char **argv)
{
    return mortise_cli_main(argc, argv, mortise_commands, mortise_n_commands,
                            NULL);
}
