/* main.c -- mortise-salvage: salvages a damaged store.
 *
 * `mortise store salvage` starts this program, with the same arguments. */
#include "tools/salvage/command.h"

int main(int argc, char **argv)
{
    static const struct mortise_cmd *const commands[] = {
        &mortise_cmd_store_salvage};
    static const struct mortise_cli_function functions[] = {
        {&mortise_cmd_store_salvage, mortise_salvage_run}, {NULL, NULL}};

    return mortise_cli_main(argc, argv, commands,
                            sizeof commands / sizeof commands[0], functions);
}
