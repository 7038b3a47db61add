/* tool_patterns.c -- find tool patterns in a deployment that match nothing.
 *
 * A `deny` with a typing error denies nothing, and nobody notices until the
 * forbidden tool is called.  The promises:
 *
 *   (1) A pattern is right if it matches an operation in the manifest of an
 *       installed plugin; so are `*`, and PLUGIN/`*` of an installed plugin.
 *   (2) Names that are known only at run time are not judged: those of a plugin
 *       whose manifest cannot be read, or that may have more operations than it
 *       lists.  For MCP servers the deployment lists the servers, and its lock
 *       file lists the tools of each server that it pins.
 *   (3) The finding is a warning: the plugin may be installed later.
 */
#include "lang/config/plugins/tool_patterns.h"

#include <stdio.h>
#include <string.h>

#include "core/base/wild.h"
#include "core/plugin/registry.h"

struct looking {
    const struct mortise_deployment *d;
    struct mortise_plugins *plugins;
    struct mortise_diags *diags;
    const struct mortise_pattern *pattern;
    char plugin[MORTISE_TOOL_MAX];  /* before the first '/' */
    const char *op;                 /* after it */
    bool there;                     /* a plugin of that name exists */
    bool unknown;                   /* a matching plugin may have any
                                       operation */
    bool servers;                   /* MCP servers have some */
    bool judged;                    /* policy judges some calls by a name that
                                       matches */
    const char *near, *near_plugin; /* the most similar names */
};

static bool has_star(const char *text)
{
    return strchr(text, '*') != NULL;
}

static void keep_nearer_name(const char **near, const char *word,
                             const char *name)
{
    const char *two[2] = {*near, name};

    *near = mortise_nearest_find(word, two, 2);
}

/* ---- matches ------------------------------------------------------------- */

static bool matches_operation(struct looking *l, const char *op)
{
    keep_nearer_name(&l->near, l->op, op);
    return mortise_wild_match(l->op, op);
}

static bool matches_pins(struct looking *l, const char *plugin)
{
    const struct mortise_tool_pin *pins;
    size_t n = mortise_deployment_list_tool_pins(l->d, plugin, &pins);

    for (size_t i = 0; i < n; i++)
        if (matches_operation(l, pins[i].operation))
            return true;
    return false;
}

/* Does it match a name from `judged_as`, by which policy judges a call besides
 * its operation? */
static bool matches_judged_name(const struct looking *l,
                                const struct mortise_manifest *m)
{
    for (size_t i = 0; i < m->n_ops; i++) {
        const char *as = m->ops[i].judged_as;
        const char *fixed = as != NULL ? strrchr(as, '}') : NULL;

        /* A name that ends with an argument is that of another operation. */
        if (fixed == NULL || fixed[1] == '\0' || strchr(l->op, '/') == NULL)
            continue;
        if (mortise_wild_match(strrchr(l->op, '/'), fixed + 1))
            return true;
    }
    return false;
}

/* Does it match an operation of the plugin? */
static bool matches_plugin(struct looking *l,
                           const struct mortise_plugin_info *f)
{
    const struct mortise_manifest *m = f->manifest;

    if (m == NULL) {
        l->unknown = true;
        return false;
    }
    for (size_t i = 0; i < m->n_ops; i++)
        if (matches_operation(l, m->ops[i].name))
            return true;
    l->judged = matches_judged_name(l, m);
    if (!m->provides[MORTISE_KIND_EXECUTOR].present ||
        !m->provides[MORTISE_KIND_EXECUTOR].more)
        return l->judged;
    if (strcmp(f->name, mortise_mcp_plugin) == 0)
        l->servers = true;
    else
        l->unknown = true;
    return matches_pins(l, f->name);
}

static bool matches_any_plugin(struct looking *l)
{
    for (size_t i = 0; i < mortise_plugins_count(l->plugins); i++) {
        const struct mortise_plugin_info *f = mortise_plugins_at(l->plugins, i);

        keep_nearer_name(&l->near_plugin, l->plugin, f->name);
        if (!mortise_wild_match(l->plugin, f->name))
            continue;
        l->there = true;
        if (strcmp(l->op, "*") == 0 || matches_plugin(l, f))
            return true;
    }
    return false;
}

/* ---- warnings ------------------------------------------------------------ */

/* `near` NULL: no similar name. */
static void add_pattern_warning(struct looking *l, const char *plugin,
                                const char *near, const char *why)
{
    struct mortise_diag *d = mortise_diag_add(l->diags, "W0825", l->pattern->at,
                                              "'%s' matches no operation: %s",
                                              l->pattern->text, why);

    if (near != NULL)
        mortise_diag_help(l->diags, d, "did you mean '%s/%s'?", plugin, near);
}

static void warn_unknown_plugin(struct looking *l)
{
    char why[2 * MORTISE_TOOL_MAX];

    snprintf(why, sizeof why, "no plugin '%s'", l->plugin);
    add_pattern_warning(l, l->near_plugin,
                        l->near_plugin != NULL ? l->op : NULL, why);
}

static void warn_unknown_server(struct looking *l, const char *server,
                                const char *rest)
{
    const struct mortise_mcp_servers *servers = &l->d->tools.mcp;
    char why[2 * MORTISE_TOOL_MAX], meant[2 * MORTISE_TOOL_MAX];
    const char *near = NULL;

    for (size_t i = 0; i < servers->n; i++)
        keep_nearer_name(&near, server, servers->list[i].name);
    snprintf(meant, sizeof meant, "%s%s", near != NULL ? near : "", rest);
    snprintf(why, sizeof why, "tools.mcp has no server '%s'", server);
    add_pattern_warning(l, l->plugin, near != NULL ? meant : NULL, why);
}

/* SERVER/TOOL, or a part of it. */
static void check_server_pattern(struct looking *l)
{
    char server[MORTISE_TOOL_MAX], why[3 * MORTISE_TOOL_MAX];
    size_t n = strcspn(l->op, "/");
    bool pinned;

    snprintf(server, sizeof server, "%.*s", (int)n, l->op);
    if (has_star(server))
        return;
    if (mortise_mcp_find(&l->d->tools.mcp, server) == NULL) {
        warn_unknown_server(l, server, l->op + n);
        return;
    }
    pinned = mortise_lock_find(&l->d->lock, server) != NULL;
    if (l->op[n] == '\0') {
        snprintf(why, sizeof why, "its tools are %s/%s/TOOL", l->plugin,
                 server);
        add_pattern_warning(l, l->plugin, NULL, why);
    } else if (pinned && !l->judged && strcmp(l->op + n, "/*") != 0) {
        snprintf(why, sizeof why, "the lock file has no such tool of '%s'",
                 server);
        add_pattern_warning(l, l->plugin, has_star(l->op) ? NULL : l->near,
                            why);
    }
}

static void warn_unknown_operation(struct looking *l)
{
    char why[2 * MORTISE_TOOL_MAX];

    if (has_star(l->plugin)) {
        add_pattern_warning(l, l->plugin, NULL,
                            "no plugin has an operation of that name");
        return;
    }
    snprintf(why, sizeof why, "plugin '%s' has no operation of that name",
             l->plugin);
    add_pattern_warning(l, l->plugin, has_star(l->op) ? NULL : l->near, why);
}

static void check_policy_pattern(struct looking *l)
{
    const char *slash = strchr(l->pattern->text, '/');

    if (slash == NULL) /* it is `*` */
        return;
    snprintf(l->plugin, sizeof l->plugin, "%.*s",
             (int)(slash - l->pattern->text), l->pattern->text);
    l->op = slash + 1;
    if (l->plugin[0] == '\0' || l->op[0] == '\0' ||
        strcmp(l->plugin, "graph") == 0) /* reported by the deployment's own
                                            check */
        return;
    if (matches_any_plugin(l) || l->unknown ||
        (l->servers && has_star(l->plugin)))
        return;
    if (!l->there && l->d->dirs_in_doubt)
        return;
    if (!l->there)
        warn_unknown_plugin(l);
    else if (l->servers && !l->d->broken)
        check_server_pattern(l);
    else if (l->servers)
        return;
    else
        warn_unknown_operation(l);
}

void mortise_tool_patterns_advise(const struct mortise_deployment *d,
                                  struct mortise_plugins *plugins,
                                  struct mortise_diags *diags)
{
    const struct mortise_policy *p = &d->tools.policy;
    const struct mortise_patterns *const lists[] = {&p->allow, &p->ask,
                                                    &p->deny};

    for (size_t k = 0; k < sizeof lists / sizeof lists[0]; k++)
        for (size_t i = 0; i < lists[k]->n; i++) {
            struct looking l = {.d = d,
                                .plugins = plugins,
                                .diags = diags,
                                .pattern = &lists[k]->list[i]};

            check_policy_pattern(&l);
        }
}
