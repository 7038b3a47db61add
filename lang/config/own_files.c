/* own_files.c -- what no program of a deployment may write.
 *
 * A program that could write the deployment would say itself what it may do, at
 * the next start; the same holds for the lock (what its tools are), for plugins
 * and for who is trusted to have signed them, and for the store (what was done,
 * and agreed to).  So a `write` that comes to any of these is an error.
 *
 * Paths are compared as they are on the disk, links followed, as far as they
 * exist; what does not exist yet is compared by its words. */
#include "lang/config/own_files.h"

#include <limits.h>

#include "core/base/err.h"
#include "core/base/whole.h"

/* ---- who may write ------------------------------------------------------- */

struct checking {
    const struct mortise_deployment *d;
    struct mortise_diags *diags;
    /* Of the one that is looked at. */
    const char *code, *name;
    struct mortise_span at;
};

/* May it write `own`, which is `what`?  `inside`: what is in it counts, too.
 * True: a finding says so. */
static bool check_one(const struct checking *c, const char *write,
                      const char *own, const char *what, bool inside)
{
    char at[PATH_MAX], from[PATH_MAX];
    struct mortise_diag *d;

    if (own == NULL || !mortise_whole(at, own) || !mortise_whole(from, write) ||
        (!mortise_whole_is_in(at, from) &&
         !(inside && mortise_whole_is_in(from, at))))
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

static bool check_all(const struct checking *c, const char *write,
                      const char *const *own, size_t n)
{
    bool found = false;

    for (size_t i = 0; !found && i < n; i++)
        found = check_one(c, write, own[i], "the plugins", true);
    return found;
}

/* One finding is enough. */
static void check_write(const struct checking *c, const char *write)
{
    const struct mortise_deployment *d = c->d;
    char lock[PATH_MAX];
    struct mortise_err err;

    if (mortise_lock_path(lock, d->path, &err) != MORTISE_OK)
        lock[0] = '\0';
    (void)(check_one(c, write, d->path, "the deployment file", false) ||
           (lock[0] != '\0' &&
            check_one(c, write, lock, "the lock file", false)) ||
           check_one(c, write, mortise_deployment_store(d), "the store",
                     true) ||
           check_one(c, write, d->trust_dir, "the trusted keys", true) ||
           check_all(c, write, d->plugin_dirs, d->n_plugin_dirs) ||
           check_all(c, write, d->dev_dirs, d->n_dev_dirs));
}

static void check_program(const struct checking *c,
                          const struct mortise_program *p)
{
    for (size_t i = 0; i < p->write.n; i++)
        if (p->write.list[i] != NULL)
            check_write(c, p->write.list[i]);
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
        check_program(&c, p);
    }
    for (size_t i = 0; i < d->tools.mcp.n; i++) {
        const struct mortise_mcp_server *s = &d->tools.mcp.list[i];

        c.code = "E0610";
        c.name = s->name;
        c.at = s->at->span;
        check_program(&c, &s->program);
    }
}
