/* commands.c -- the subcommands: one table.
 *
 * A subcommand is a row: its words, its options, its help and its function.
 * Groups (`plugin`, `key`) are rows of two words.  The overview, each --help,
 * the pages of docs/ and the shells' completion all come from here.
 */
#include "cli/cli.h"

const struct mortise_cmd *const mortise_commands[] = {
    &mortise_cmd_run,          &mortise_cmd_resume,
    &mortise_cmd_approve,      &mortise_cmd_reject,
    &mortise_cmd_answer,       &mortise_cmd_resolve,
    &mortise_cmd_pause,        &mortise_cmd_cancel,
    &mortise_cmd_raise_budget,
    &mortise_cmd_engine,       &mortise_cmd_runs,
    &mortise_cmd_why,          &mortise_cmd_show,
    &mortise_cmd_history,      &mortise_cmd_events,
    &mortise_cmd_inbox,        &mortise_cmd_check,        &mortise_cmd_test,
    &mortise_cmd_graph_show,   &mortise_cmd_graph_import, &mortise_cmd_config_print,
    &mortise_cmd_config_allow,
    &mortise_cmd_plugin_list,  &mortise_cmd_plugin_inspect,
    &mortise_cmd_plugin_check, &mortise_cmd_plugin_verify,
    &mortise_cmd_plugin_sign,  &mortise_cmd_plugin_unquarantine,
    &mortise_cmd_key_new,      &mortise_cmd_key_list,
    &mortise_cmd_key_trust,    &mortise_cmd_key_revoke,
    &mortise_cmd_store_salvage,
    &mortise_cmd_schema,       &mortise_cmd_eval,         &mortise_cmd_explain,
    &mortise_cmd_doctor,       &mortise_cmd_completion,
    &mortise_cmd_version,
};

enum { N = sizeof mortise_commands / sizeof mortise_commands[0] };

_Static_assert((int)N <= MORTISE_COMMANDS_MAX, "arrays of their names");

const size_t mortise_n_commands = N;
