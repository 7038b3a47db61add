/* lock.h -- mortise.lock: the pinned definitions of the tools of a deployment's
 * servers.
 *
 * The file is beside the deployment and has its name, with .lock instead of
 * .yaml. */
#ifndef MORTISE_LANG_CONFIG_LOCK_H
#define MORTISE_LANG_CONFIG_LOCK_H

#include <limits.h>

#include "core/json/value.h"
#include "lang/yaml/tree.h"

enum { MORTISE_LOCK_TOOL = 128 }; /* longest name of a tool, in bytes */

struct mortise_lock_tool {
    const char *name;
    const struct mortise_yaml *at; /* its key */
    const char *digest;            /* of the definition, as the server sent
                                    * it */
    const char *title, *description; /* "": none */
    /* A schema, or NULL; `annotations` is a mapping. */
    const struct mortise_yaml *input, *output, *annotations;
};

struct mortise_lock_server {
    const char *name;
    const struct mortise_yaml *at; /* its key */
    const struct mortise_lock_tool *tools;
    size_t n;
};

/* The pins of a discovery plugin. */
struct mortise_lock_discovery {
    const char *plugin;
    const struct mortise_yaml *pins; /* a mapping of entries to digests */
};

struct mortise_lock { /* in an arena */
    const char *path; /* NULL: there is no file, so nothing is pinned */
    const struct mortise_yaml *tree;
    const struct mortise_lock_server *list;
    size_t n;
    const struct mortise_lock_discovery *discovery;
    size_t n_discovery;
};

/* The path of a deployment's lock file, which need not exist.  MORTISE_ELIMIT:
 * the path is too long. */
int mortise_lock_path(char out[PATH_MAX], const char *deployment,
                      struct mortise_err *err);
/* MORTISE_OK also without a file; MORTISE_ECHECK with findings. */
int mortise_lock_read(struct mortise_lock *out, struct mortise_arena *a,
                      const char *path, struct mortise_diags *diags);
/* NULL: there is no such server. */
const struct mortise_lock_server *
mortise_lock_find(const struct mortise_lock *lock, const char *server);
/* The pins of the plugin, a mapping; NULL: none. */
const struct mortise_yaml *
mortise_lock_discovery(const struct mortise_lock *lock, const char *plugin);
const struct mortise_lock_tool *
mortise_lock_tool(const struct mortise_lock_server *server, const char *tool);

/* ---- writing ------------------------------------------------------------- */

/* The whole file as JSON, which can be changed: a new reference, without
 * servers if there is no file.  NULL: memory ran out. */
json_t *mortise_lock_to_json(const struct mortise_lock *lock);
/* Make the section of a server from its answer to mcp/list: a new reference.
 * Tools that no lock file can have (invalid name or schema) are left out and
 * added to the array `odd`: {tool, why}.  MORTISE_EINVAL: the answer is
 * invalid, or has a tool twice. */
int mortise_lock_make_section(json_t **out, json_t *odd, const json_t *listed,
                              const struct mortise_mem *mem,
                              struct mortise_err *err);
/* Set the section of a server, or remove it (NULL); borrowed.
 * MORTISE_ENOMEM. */
int mortise_lock_set(json_t *lock, const char *server, json_t *section,
                     struct mortise_err *err);
/* The same for an entry of a discovery plugin. */
int mortise_lock_set_discovery(json_t *lock, const char *plugin,
                               const char *key, json_t *digest,
                               struct mortise_err *err);
/* Write the file atomically, with sorted keys.  MORTISE_EINVAL, with the first
 * finding: mortise_lock_read() would refuse the text. */
int mortise_lock_write(const char *path, const json_t *lock,
                       const struct mortise_mem *mem, struct mortise_err *err);

#endif
