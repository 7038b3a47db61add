/* commands.c -- the subcommands: one table.
 *
 * A subcommand is a row: its words, its options, its help and its function.
 * Groups (`plugin`, `key`) are rows of two words.  The overview, each --help,
 * the pages of docs/ and the shells' completion all come from here.
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
