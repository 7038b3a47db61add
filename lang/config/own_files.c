/* own_files.c -- files of the deployment that its programs may not write.
 *
 * A program that could write the deployment could grant itself rights at the
 * next start.  The same holds for the lock file (the definitions of tools), for
 * plugins and their trusted keys, and for the store (past actions and
 * approvals).  So a `write` that includes any of these is an error.
 *
 * Paths are compared with links resolved, as far as they exist; the rest is
 * compared as text. */
#include "lang/config/own_files.h"

#include <limits.h>

#include "core/base/err.h"
#include "core/base/whole.h"

/* ---- write access -------------------------------------------------------- */

struct checking {
    const struct mortise_deployment *d;
    struct mortise_diags *diags;
    /* The current program. */
    const char *code, *name;
    struct mortise_span at;
};

/* Does the path `write` include `own`, described by `what`?  With `inside`,
 * also a path inside `own`.  True after a finding. */
static bool check_own_path(const struct checking *c, const char *write,
                           const char *own, const char *what, bool inside)
{
    char at[PATH_MAX], from[PATH_MAX];
    struct mortise_diag *d;

    if (own == NULL || !mortise_path_resolve(at, own) ||
        !mortise_path_resolve(from, write) ||
        (!mortise_path_is_below(at, from) &&
         !(inside && mortise_path_is_below(from, at))))
        return false;
    d = mortise_diag_add(c->diags, c->code, c->at,
                         "`write` of '%.64s' includes %s, which programs of "
                         "the deployment are not allowed to change",
                         c->name, what);
    mortise_diag_help(
        c->diags, d,
        "name in `write` a directory that contains only files of the program");
    return true;
}

static bool check_own_dirs(const struct checking *c, const char *write,
                           const char *const *own, size_t n)
{
    bool found = false;

    for (size_t i = 0; !found && i < n; i++)
        found = check_own_path(c, write, own[i], "the plugins", true);
    return found;
}

/* Only the first match is reported. */
static void check_write_path(const struct checking *c, const char *write)
{
    const struct mortise_deployment *d = c->d;
    char lock[PATH_MAX];
    struct mortise_err err;

    if (mortise_lock_path(lock, d->path, &err) != MORTISE_OK)
        lock[0] = '\0';
    (void)(check_own_path(c, write, d->path, "the deployment file", false) ||
           (lock[0] != '\0' &&
            check_own_path(c, write, lock, "the lock file", false)) ||
           check_own_path(c, write, mortise_deployment_get_store(d),
                          "the store", true) ||
           check_own_path(c, write, d->trust_dir, "the trusted keys", true) ||
           check_own_dirs(c, write, d->plugin_dirs, d->n_plugin_dirs) ||
           check_own_dirs(c, write, d->dev_dirs, d->n_dev_dirs));
}

static void check_program_writes(const struct checking *c,
                                 const struct mortise_program *p)
{
    for (size_t i = 0; i < p->write.n; i++)
        if (p->write.list[i] != NULL)
            check_write_path(c, p->write.list[i]);
}

void mortise_own_files_check(const struct mortise_deployment *d,
                             struct mortise_diags *diags)
{
    const struct mortise_yaml *programs = mortise_yaml_get(d->tree, "programs");
    struct checking c = {.d = d, .diags = diags};

    for (size_t i = 0; i < d->programs.n; i++) {
        const struct mortise_program *p = &d->programs.list[i];

        c.code = "E0609";
        c.name = p->name;
        c.at = mortise_yaml_key(programs, p->name)->span;
        check_program_writes(&c, p);
    }
    for (size_t i = 0; i < d->tools.mcp.n; i++) {
        const struct mortise_mcp_server *s = &d->tools.mcp.list[i];

        c.code = "E0610";
        c.name = s->name;
        c.at = s->at->span;
        check_program_writes(&c, &s->program);
    }
}
