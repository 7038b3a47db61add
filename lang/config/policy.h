/* policy.h -- `tools` of a deployment: the operations that graphs may call,
 * those that need approval, and MCP servers. */
#ifndef MORTISE_LANG_CONFIG_POLICY_H
#define MORTISE_LANG_CONFIG_POLICY_H

#include "lang/config/mcp.h"
#include "lang/yaml/keys.h"

/* Size of a buffer for PLUGIN/OPERATION; manifests and the lock limit its
 * length. */
enum { MORTISE_TOOL_MAX = 384 };

/* Patterns of PLUGIN/OPERATION; each is a scalar of the deployment's tree. */
struct mortise_patterns {
    const struct mortise_yaml *key; /* NULL: not set */
    struct mortise_yaml *const *list;
    size_t n;
};

struct mortise_policy {
    struct mortise_patterns allow; /* not set: everything is allowed */
    struct mortise_patterns ask, deny;
    struct mortise_mcp_servers mcp;
};

enum mortise_judgement { MORTISE_ALLOW = 1, MORTISE_ASK, MORTISE_DENY };

/* The keys; `into` of the readers is the policy. */
extern const struct mortise_place mortise_policy_place;

/* *by: the scalar that decided, or NULL if none did. */
enum mortise_judgement mortise_policy_judge(const struct mortise_policy *p,
                                            const char *plugin, const char *op,
                                            const struct mortise_yaml **by);

/* The same for a call whose arguments name its object.  `judged_as` is the
 * operation with {ARGUMENT} for arguments in the name.  `tool` gets the name
 * that is judged.  A name that is too long or invalid is denied, with *by
 * NULL. */
enum mortise_judgement
mortise_policy_judge_call(const struct mortise_policy *p, const char *plugin,
                          const char *judged_as, const json_t *args,
                          char tool[MORTISE_TOOL_MAX],
                          const struct mortise_yaml **by);

/* MORTISE_EDENIED, with a message about the scalar that denies the name (NULL:
 * the name is invalid). */
int mortise_policy_report_denial(const char *tool,
                                 const struct mortise_yaml *by,
                                 struct mortise_err *why);

#endif
