/* own_files.c -- what no program of a deployment may write.
 *
 * A program that could write the deployment would say itself what it may do, at
 * the next start; the same holds for the lock (what its tools are), for plugins
 * and for who is trusted to have signed them, and for the store (what was done,
 * and agreed to).  So a `write` that comes to any of these is an error.
 *
 * Paths are compared as they are on the disk, links followed, as far as they
 * exist; what does not exist yet is compared by its words. */
#include "config/own_files.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

/* ---- whole paths --------------------------------------------------------- */

/* One more component; false: there is no room. */
static bool add(char out[PATH_MAX], size_t *n, const char *part, size_t len)
{
    if (len == 0 || (len == 1 && part[0] == '.'))
        return true;
    if (len == 2 && memcmp(part, "..", 2) == 0) {
        while (*n > 0 && out[--*n] != '/')
            continue;
        out[*n] = '\0';
        return true;
    }
    if (*n + len + 2 > PATH_MAX)
        return false;
    out[(*n)++] = '/';
    memcpy(out + *n, part, len);
    *n += len;
    out[*n] = '\0';
    return true;
}

/* From the root on: what exists of it without links, what comes behind that by
 * its words.  The root is "".  False: it is too long for any file. */
static bool whole(char out[PATH_MAX], const char *path)
{
    char at[PATH_MAX], seen[PATH_MAX];
    size_t n = 0;
    bool fits = true;

    out[0] = '\0';
    if (path[0] != '/') {
        if (getcwd(out, PATH_MAX) == NULL)
            return false;
        n = strcmp(out, "/") != 0 ? strlen(out) : 0;
        out[n] = '\0';
    }
    while (fits && *path != '\0') {
        size_t len = strcspn(path, "/");

        fits = add(out, &n, path, len);
        path += len + (path[len] == '/');
        snprintf(at, sizeof at, "%s", n > 0 ? out : "/");
        if (fits && realpath(at, seen) != NULL) {
            n = strcmp(seen, "/") != 0 ? strlen(seen) : 0;
            memcpy(out, seen, n);
            out[n] = '\0';
        }
    }
    return fits;
}

/* Is `path` at `top`, or below it? */
static bool is_in(const char *path, const char *top)
{
    size_t n = strlen(top);

    return strncmp(path, top, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

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

    if (own == NULL || !whole(at, own) || !whole(from, write) ||
        (!is_in(at, from) && !(inside && is_in(from, at))))
        return false;
    d = mortise_diag_add(
        c->diags, c->code, c->at,
        "a `write` of '%.64s' comes to %s, which no program of a "
        "deployment may change",
        c->name, what);
    mortise_diag_help(c->diags, d,
                      "name a directory in `write` that has nothing else");
    return true;
}

static bool check_all(const struct checking *c, const char *write,
                      const char *const *own, size_t n)
{
    bool found = false;

    for (size_t i = 0; !found && i < n; i++)
        found = check_one(c, write, own[i], "its plugins", true);
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
    (void)(check_one(c, write, d->path, "the deployment itself", false) ||
           (lock[0] != '\0' && check_one(c, write, lock, "its lock", false)) ||
           check_one(c, write, mortise_deployment_store(d), "its store",
                     true) ||
           check_one(c, write, d->trust_dir, "whom it trusts", true) ||
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
