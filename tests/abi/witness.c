/* witness.c -- everything that we promised in a header, mentioned by name.
 *
 * abidiff compares what it can reach from exported symbols.  The tables of the
 * plugin ABI are reached through pointers that dlsym and get_interface() gave,
 * and constants are macros or enums that no function's type names: it would see
 * none of them.  So this object exports a variable of each type, and an enum
 * that has the macros' values.  Nobody runs it.
 *
 * scripts/abi.sh refuses a struct or an enum of the headers that is missing
 * here. */
#include <mortise/discovery.h>
#include <mortise/guardrail.h>
#include <mortise/memory.h>
#include <mortise/model.h>
#include <mortise/plugin.h>

#include "core/mortise.h"

#define WITNESS(type, name)                                                    \
    extern MORTISE_EXPORT type name;                                           \
    type name

/* ---- plugins: tables and what goes through them ---------------------------
 */

WITNESS(mortise_module, w_module);
WITNESS(mortise_plugin, w_plugin);
WITNESS(mortise_host_api, w_host_api);
WITNESS(mortise_executor, w_executor);
WITNESS(mortise_guardrail, w_guardrail);
WITNESS(mortise_model, w_model);
WITNESS(mortise_discovery, w_discovery);
WITNESS(mortise_memory, w_memory);
WITNESS(mortise_request, w_request);
WITNESS(mortise_str, w_str);

/* Interface ids; here only how long they are. */
WITNESS(char, w_executor_1[sizeof MORTISE_EXECUTOR_1]);
WITNESS(char, w_guardrail_2[sizeof MORTISE_GUARDRAIL_2]);
WITNESS(char, w_model_1[sizeof MORTISE_MODEL_1]);
WITNESS(char, w_discovery_1[sizeof MORTISE_DISCOVERY_1]);
WITNESS(char, w_memory_1[sizeof MORTISE_MEMORY_1]);

/* ---- embedders: what no function's type names ---------------------------- */

WITNESS(enum mortise_result, w_result);
WITNESS(enum mortise_log_level, w_log_level);
WITNESS(enum mortise_open_flag, w_open_flag);
WITNESS(enum mortise_command_kind, w_command_kind);
WITNESS(enum mortise_run_status, w_run_status);
WITNESS(enum mortise_spawn_outcome, w_spawn_outcome);
WITNESS(enum mortise_spawn_state, w_spawn_state);
WITNESS(enum mortise_spawn_status, w_spawn_status);

/* ---- numbers: the macros of both headers ----------------------------------
 */

/* enum w_constants, made by scripts/abi.sh: W_S_OK = MORTISE_S_OK, ... */
#include "constants.h"
WITNESS(enum w_constants, w_constants);
