/* tool_pins.h -- pinned operations: those of a plugin that the lock file
 * defines instead of its manifest. */
#ifndef MORTISE_LANG_CONFIG_TOOL_PINS_H
#define MORTISE_LANG_CONFIG_TOOL_PINS_H

#include "lang/config/lock.h"
#include "lang/config/mcp.h"
#include "lang/schema/schema.h"

/* PLUGIN/SERVER/TOOL: an operation. */
struct mortise_tool_pin {
    const char *operation; /* SERVER/TOOL */
    const char *server;
    const char *description;
    const char *effect; /* "read", "write" or "external" */
    bool idempotent;
    const struct mortise_lock_tool *tool;
};

struct mortise_tool_pins { /* in an arena, sorted by operation */
    const char *plugin;    /* the plugin of the operations */
    const struct mortise_tool_pin *list;
    size_t n;
};

/* Make the pins for the servers that the deployment has.  MORTISE_ENOMEM. */
int mortise_tool_pins_make(struct mortise_tool_pins *out,
                           struct mortise_arena *a,
                           const struct mortise_mcp_servers *servers,
                           const struct mortise_lock *lock);
/* NULL: there is no such operation. */
const struct mortise_tool_pin *
mortise_tool_pin_find(const struct mortise_tool_pins *pins,
                      const char *operation);
/* MORTISE_ENOTFOUND, with a suggestion and the remedy. */
int mortise_tool_pin_report_missing(const struct mortise_tool_pins *pins,
                                    const struct mortise_mcp_servers *servers,
                                    const char *operation,
                                    struct mortise_err *err);

/* The schemas of a call's input and output. */
struct mortise_pinned_schemas {
    struct mortise_schema *input, *output;
};

/* Compile into the arena; its owner finishes both, even after an error.
 * MORTISE_EINVAL: the server's schema is invalid. */
int mortise_tool_pin_compile_schemas(struct mortise_pinned_schemas *out,
                                     struct mortise_arena *a,
                                     const struct mortise_tool_pin *pin,
                                     struct mortise_err *err);

#endif
