/* deploy_digest.c -- do two Deployment files mean the same?
 *
 * A command that connects to an engine runs under the engine's deployment.  Two
 * files are the same deployment if all their effects are the same:
 *
 *   (1) Values are compared as they apply: ${env:...} and ${file:...} replaced,
 *       defaults filled in, durations and sizes as numbers.  So `durability:
 *       sync` equals its absence, and `1h` equals `60m`.
 *   (2) Paths are compared as absolute paths: `path: [plugins]` in two
 *       directories differs.
 *   (3) The deployment's name, comments, the order of keys and the values of x-
 *       keys do not count.  Neither does store.path: the caller compares
 *       deployments for one store.
 *   (4) The lock file counts, because it defines the tools.
 *
 * All other keys are taken from the tree as written, so that a new key of the
 * language counts from its first version on.
 */
#include "lang/config/deploy_digest.h"

#include <string.h>

#include "core/json/absolute.h"
#include "core/json/value.h"

static json_t *make_absolute_list(const char *const *paths, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; list != NULL && i < n; i++) {
        if (json_array_append_new(list, mortise_json_absolute_path(paths[i])) ==
            0)
            continue;
        mortise_json_clear_ref(&list);
    }
    return list;
}

/* A copy of the mapping without the members that are compared separately; {} if
 * the file does not have it. */
static json_t *copy_other_members(const json_t *tree, const char *key,
                                  const char *const *but)
{
    const json_t *v = json_object_get(tree, key);
    json_t *out =
        json_is_object(v) ? json_copy(mortise_json_unconst(v)) : json_object();

    for (; out != NULL && *but != NULL; but++)
        json_object_del(out, *but);
    return out;
}

static json_t *make_plugins_value(const struct mortise_deployment *d,
                                  const json_t *tree)
{
    static const char *const but[] = {"path", "dev", NULL};

    return json_pack("{s:o, s:o, s:o}", "path",
                     make_absolute_list(d->plugin_dirs, d->n_plugin_dirs),
                     "dev", make_absolute_list(d->dev_dirs, d->n_dev_dirs),
                     "rest", copy_other_members(tree, "plugins", but));
}

static json_t *make_trust_value(const struct mortise_deployment *d,
                                const json_t *tree)
{
    static const char *const but[] = {"dir", NULL};

    return json_pack("{s:o, s:o}", "dir",
                     d->trust_dir != NULL
                         ? mortise_json_absolute_path(d->trust_dir)
                         : json_null(),
                     "rest", copy_other_members(tree, "trust", but));
}

static json_t *make_store_value(const struct mortise_deployment *d,
                                const json_t *tree)
{
    static const char *const but[] = {"path", "durability", "cache",
                                      "retention", NULL};

    return json_pack("{s:i, s:I, s:I, s:I, s:o}", "durability",
                     (int)d->durability, "max_ms", (json_int_t)d->max_ms,
                     "cache", (json_int_t)d->cache_bytes, "finished",
                     (json_int_t)d->finished_ms, "rest",
                     copy_other_members(tree, "store", but));
}

/* The limits that are set, in the order of the table; null: not set. */
static json_t *make_limits_value(const struct mortise_deployment *d)
{
    json_t *list = json_array();

    for (size_t i = 0; list != NULL && i < MORTISE_N_LIMITS; i++) {
        const struct mortise_bounds *b = &d->limits;

        if (json_array_append_new(
                list, b->said[i] != NULL ? json_integer((json_int_t)b->value[i])
                                         : json_null()) == 0)
            continue;
        mortise_json_clear_ref(&list);
    }
    return list;
}

/* The absolute path of a program, or the name that is searched in PATH. */
static json_t *make_program_value(const char *path)
{
    return strchr(path, '/') != NULL ? mortise_json_absolute_path(path)
                                     : json_string(path);
}

/* A server with its paths made absolute and its defaults filled in. */
static json_t *make_server_value(const struct mortise_mcp_server *s,
                                 const json_t *servers)
{
    static const char *const but[] = {"command", "dir",  "sandbox", "protocol",
                                      "timeout", "hold", "roots",   NULL};
    const struct mortise_program *p = &s->program;
    json_t *words = json_array();

    for (size_t i = 0; i < p->n_args; i++)
        json_array_append_new(words, json_string(p->args[i]));
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:b, s:s?, s:I, s:s, s:I, s:I, s:o, s:o}",
        "program", p->path != NULL ? make_program_value(p->path) : json_null(),
        "words", words, "dir",
        p->path != NULL ? mortise_json_absolute_path(p->dir) : json_null(),
        "read", make_absolute_list(p->read.list, p->read.n), "write",
        make_absolute_list(p->write.list, p->write.n), "online", p->online,
        "user", p->user, "memory", (json_int_t)p->memory, "protocol",
        s->protocol, "timeout", (json_int_t)s->timeout_ms, "hold",
        (json_int_t)s->hold_ms, "roots",
        make_absolute_list(s->roots.list, s->roots.n), "rest",
        copy_other_members(servers, s->name, but));
}

static json_t *make_tools_value(const struct mortise_deployment *d,
                                const json_t *tree)
{
    static const char *const but[] = {"mcp", NULL};
    const json_t *written =
        json_object_get(json_object_get(tree, "tools"), "mcp");
    json_t *out = copy_other_members(tree, "tools", but),
           *servers = json_object();
    int failed = out == NULL || servers == NULL;

    for (size_t i = 0; !failed && i < d->tools.mcp.n; i++) {
        const struct mortise_mcp_server *s = &d->tools.mcp.list[i];

        failed = json_object_set_new(servers, s->name,
                                     make_server_value(s, written));
    }
    if (!failed && json_object_size(servers) > 0)
        failed = json_object_set(out, "mcp", servers);
    json_decref(servers);
    if (!failed)
        return out;
    json_decref(out);
    return NULL;
}

/* The sources of all secrets. */
static json_t *make_secrets_value(const struct mortise_deployment *d,
                                  const json_t *tree)
{
    static const char *const none[] = {NULL};
    json_t *out = copy_other_members(tree, "secrets", none);

    for (size_t i = 0; out != NULL && i < d->secrets.n; i++) {
        const struct mortise_provider *p = &d->secrets.list[i];

        if (p->kind != MORTISE_PROVIDER_FILE ||
            json_object_set_new(
                out, p->name,
                json_pack("{s:o}", "file",
                          mortise_json_absolute_path(p->text))) == 0)
            continue;
        mortise_json_clear_ref(&out);
    }
    return out;
}

/* Add the pins of the lock file, if it has any. */
static int add_lock_values(json_t *all, const struct mortise_deployment *d)
{
    const struct mortise_yaml *found =
        mortise_yaml_get(d->lock.tree, "discovery");

    if (d->lock.n_discovery > 0 &&
        json_object_set_new(all, "found", mortise_yaml_to_json(found, false)) !=
            0)
        return -1;
    return d->lock.n == 0
               ? 0
               : json_object_set_new(
                     all, "lock",
                     mortise_yaml_to_json(mortise_yaml_get(d->lock.tree, "mcp"),
                                          false));
}

int mortise_deployment_digest(uint8_t out[MORTISE_DIGEST],
                              const struct mortise_deployment *d,
                              const struct mortise_mem *mem)
{
    json_t *all =
        d->tree != NULL ? mortise_yaml_to_json(d->tree, true) : json_object();
    json_t *held = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o}", "plugins", make_plugins_value(d, all),
        "trust", make_trust_value(d, all), "store", make_store_value(d, all),
        "secrets", make_secrets_value(d, all), "limits", make_limits_value(d),
        "tools", make_tools_value(d, all));
    json_t *silent = json_pack("{s:{}}", "guardrails");
    int rv = MORTISE_ENOMEM;

    if (json_object_update(all, held) == 0 && add_lock_values(all, d) == 0 &&
        json_object_update_missing(all, silent) == 0) {
        json_object_del(all, "apiVersion");
        json_object_del(all, "kind");
        json_object_del(all, "metadata");
        rv = mortise_json_digest(out, all, mem);
    }
    json_decref(silent);
    json_decref(held);
    json_decref(all);
    return rv;
}
