/* commands.c -- the table of subcommands.
 *
 * A row has the command's name, options, help and function.  Commands of a
 * group (`plugin`, `key`) have two words.  The overview, each --help, the
 * pages of docs/ and shell completion are generated from this table.
 */
#include "cli/cli.h"

const struct mortise_cmd *const mortise_commands[] = {
#define COMMAND(name) &mortise_cmd_##name,
#include "cli/commands.def"
#undef COMMAND
};

enum { N = sizeof mortise_commands / sizeof mortise_commands[0] };

_Static_assert((int)N <= MORTISE_COMMANDS_MAX, "arrays of their names");

const size_t mortise_n_commands = N;
