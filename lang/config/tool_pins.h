/* tool_pins.h -- what is pinned: operations of a plugin that the lock names, and not
 * its manifest. */
#ifndef MORTISE_LANG_CONFIG_TOOL_PINS_H
#define MORTISE_LANG_CONFIG_TOOL_PINS_H

#include "lang/config/lock.h"
#include "lang/config/mcp.h"
#include "lang/schema/schema.h"

/* A run pins the definition of PLUGIN/OPERATION under this and that name. */
#define MORTISE_TOOL_PIN_PREFIX "tool:"

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
    const char *plugin;    /* whose operations they are */
    const struct mortise_tool_pin *list;
    size_t n;
};

/* Of the servers that the deployment has.  MORTISE_ENOMEM. */
int mortise_tool_pins_make(struct mortise_tool_pins *out,
                           struct mortise_arena *a,
                           const struct mortise_mcp_servers *servers,
                           const struct mortise_lock *lock);
/* NULL: none is called so. */
const struct mortise_tool_pin *
mortise_tool_pin_find(const struct mortise_tool_pins *pins,
                      const char *operation);
/* Why there is none: MORTISE_ENOTFOUND with what to do, and which may be
 * meant. */
int mortise_tool_pin_missing(const struct mortise_tool_pins *pins,
                             const struct mortise_mcp_servers *servers,
                             const char *operation, struct mortise_err *err);

/* What a call of it takes and gives. */
struct mortise_pinned_schemas {
    struct mortise_schema *input, *output;
};

/* Into the arena; whoever owns it finishes both, also after an error.
 * MORTISE_EINVAL: its server's schema is none. */
int mortise_tool_pin_schemas(struct mortise_pinned_schemas *out,
                             struct mortise_arena *a,
                             const struct mortise_tool_pin *pin,
                             struct mortise_err *err);

#endif
