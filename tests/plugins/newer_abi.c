/* newer_abi.c -- was built with a later minor version, whose structs are
 * larger: it must load. */
#include "simple.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    return simple_echo(i, r);
}

struct newer_executor {
    mortise_executor v1;
    void *later[4];
};
struct newer_plugin {
    mortise_plugin v1;
    void *later[4];
};
static const struct newer_executor executor = {
    {.size = sizeof(struct newer_executor), .execute = execute}, {NULL}};
SIMPLE_INTERFACE(MORTISE_EXECUTOR_1, executor)

static const struct newer_plugin plugin = {
    {sizeof(struct newer_plugin), 0, "newer_abi", "1.0.0", simple_create,
     simple_interface, simple_cancel, simple_quiesce, simple_destroy},
    {NULL}};
static const mortise_plugin *const plugins[] = {&plugin.v1};
MORTISE_MODULE mortise_module_v1 = {
    sizeof(mortise_module) + 32, 1, 7, 0, 1, plugins, NULL, NULL};
