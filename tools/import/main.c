/* main.c -- mortise-import: converts files of other systems.
 *
 * `mortise graph import` and `mortise config import` start this program, with
 * the same arguments. */
#include "tools/import/command.h"

int main(int argc, char **argv)
{
    static const struct mortise_cmd *const commands[] = {
        &mortise_cmd_graph_import, &mortise_cmd_config_import};
    static const struct mortise_cli_function functions[] = {
        {&mortise_cmd_graph_import, mortise_import_graph_run},
        {&mortise_cmd_config_import, mortise_import_config_run},
        {NULL, NULL}};

    return mortise_cli_main(argc, argv, commands,
                            sizeof commands / sizeof commands[0], functions);
}
