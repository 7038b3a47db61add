/* lock.h -- mortise.lock: which tools the servers of a deployment had when
 * somebody looked, word for word.
 *
 * It lies beside the deployment and is called like it, with .lock for .yaml. */
#ifndef MORTISE_LANG_CONFIG_LOCK_H
#define MORTISE_LANG_CONFIG_LOCK_H

#include <limits.h>

#include "core/json/value.h"
#include "lang/yaml/tree.h"

enum { MORTISE_LOCK_TOOL = 128 }; /* bytes of a tool's name, at most */

struct mortise_lock_tool {
    const char *name;
    const struct mortise_yaml *at; /* its key */
    const char *digest;            /* of its definition, as its server had it */
    const char *title, *description; /* "": it has none */
    /* A schema, or NULL; the annotations are a mapping. */
    const struct mortise_yaml *input, *output, *annotations;
};

struct mortise_lock_server {
    const char *name;
    const struct mortise_yaml *at; /* its key */
    const struct mortise_lock_tool *tools;
    size_t n;
};

/* What is pinned for a discovery plugin. */
struct mortise_lock_discovery {
    const char *plugin;
    const struct mortise_yaml *pins; /* a mapping of entries to digests */
};

struct mortise_lock { /* in an arena */
    const char *path; /* NULL: there is no file, and nothing is pinned */
    const struct mortise_yaml *tree;
    const struct mortise_lock_server *list;
    size_t n;
    const struct mortise_lock_discovery *discovery;
    size_t n_discovery;
};

/* Where that of a deployment is, or would be.  MORTISE_ELIMIT: the path is too
 * long. */
int mortise_lock_path(char out[PATH_MAX], const char *deployment,
                      struct mortise_err *err);
/* MORTISE_OK also where there is no file; MORTISE_ECHECK with findings. */
int mortise_lock_read(struct mortise_lock *out, struct mortise_arena *a,
                      const char *path, struct mortise_diags *diags);
/* NULL: it has none of that name. */
const struct mortise_lock_server *
mortise_lock_find(const struct mortise_lock *lock, const char *server);
/* What is pinned for the plugin, a mapping; NULL: nothing. */
const struct mortise_yaml *
mortise_lock_discovery(const struct mortise_lock *lock, const char *plugin);
const struct mortise_lock_tool *
mortise_lock_tool(const struct mortise_lock_server *server, const char *tool);

/* ---- writing ------------------------------------------------------------- */

/* All of it as JSON, to be changed: a new reference, without servers where there
 * is no file.  NULL: memory ran out. */
json_t *mortise_lock_json(const struct mortise_lock *lock);
/* What is pinned of a server that answered mcp/list with this: a new reference.
 * Tools that no lock could have (their name or a schema is none) are left out,
 * and go to the array `odd`: {tool, why}.  MORTISE_EINVAL where that is no such
 * answer, or a tool is there twice. */
int mortise_lock_section(json_t **out, json_t *odd, const json_t *listed,
                         const struct mortise_mem *mem,
                         struct mortise_err *err);
/* Have `section` for the server, or nothing (NULL); lent.  MORTISE_ENOMEM. */
int mortise_lock_set(json_t *lock, const char *server, json_t *section,
                     struct mortise_err *err);
/* The same of an entry that a discovery plugin finds. */
int mortise_lock_set_found(json_t *lock, const char *plugin, const char *key,
                           json_t *digest, struct mortise_err *err);
/* Keys sorted, all or nothing.  What mortise_lock_read() would refuse is not
 * written: MORTISE_EINVAL with its first finding. */
int mortise_lock_write(const char *path, const json_t *lock,
                       const struct mortise_mem *mem, struct mortise_err *err);

#endif
