/* call.c -- tool, extension, gmi, leaf and voice nodes: each is one call of a
 * plugin's operation (start.c). */
#include "core/run/outcome/outcome.h"

const struct node_kind mortise_run_kind_tool = {.start = mortise_start_call};
const struct node_kind mortise_run_kind_extension = {.start =
                                                         mortise_start_call};
const struct node_kind mortise_run_kind_gmi = {.start = mortise_start_call};
const struct node_kind mortise_run_kind_leaf = {.start = mortise_start_call};
const struct node_kind mortise_run_kind_voice = {.start = mortise_start_call};
