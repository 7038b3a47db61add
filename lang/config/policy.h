/* policy.h -- `tools` of a deployment: what graphs may call, whom to ask, and
 * which servers have tools for them. */
#ifndef MORTISE_LANG_CONFIG_POLICY_H
#define MORTISE_LANG_CONFIG_POLICY_H

#include "lang/config/mcp.h"
#include "lang/yaml/keys.h"

/* Room for PLUGIN/OPERATION, which manifests and the lock bound. */
enum { MORTISE_TOOL_MAX = 384 };

/* Patterns of PLUGIN/OPERATION; each is a scalar of the deployment's tree. */
struct mortise_patterns {
    const struct mortise_yaml *key; /* NULL: nothing is said */
    struct mortise_yaml *const *list;
    size_t n;
};

struct mortise_policy {
    struct mortise_patterns allow; /* nothing is said: everything is allowed */
    struct mortise_patterns ask, deny;
    struct mortise_mcp_servers mcp;
};

enum mortise_judgement { MORTISE_ALLOW = 1, MORTISE_ASK, MORTISE_DENY };

/* What may stand in it; `into` of its readers is the policy. */
extern const struct mortise_place mortise_policy_place;

/* *by: the scalar that says so, NULL when nothing is said. */
enum mortise_judgement mortise_policy_judge(const struct mortise_policy *p,
                                            const char *plugin, const char *op,
                                            const struct mortise_yaml **by);

/* The same for a call whose arguments name what it acts on.  `judged_as` is the
 * operation with {ARGUMENT} for the arguments that are in it.  `tool` gets the
 * name that is judged.  What no name can be is denied, and *by is NULL. */
enum mortise_judgement
mortise_policy_judge_call(const struct mortise_policy *p, const char *plugin,
                          const char *judged_as, const json_t *args,
                          char tool[MORTISE_TOOL_MAX],
                          const struct mortise_yaml **by);

/* MORTISE_EDENIED, in words: what denies that name (NULL: it is no name that the
 * lists could have). */
int mortise_policy_denied(const char *tool, const struct mortise_yaml *by,
                          struct mortise_err *why);

#endif
