/* check_dir.c -- the files of Mortise below a directory: what `mortise check DIR`
 * means.
 *
 * (1) One is a *.yaml or *.yml file that says apiVersion: mortise/..., parsed or
 *     not: a file that is broken further on is still ours, and a workflow of
 *     somebody else's is not.
 * (2) What is hidden (.git, .mortise) is passed over, and links are: the files of
 *     a directory are those in it, each once.
 * (3) The order is that of the names, the same on every machine.
 */
#include "cli/check_dir.h"

#include <errno.h>
#include <fts.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/err.h"

enum { LOOKED_AT = 64 << 10 }; /* bytes in which a file says whose it is */

bool mortise_cli_is_dir(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool ends(const char *name, const char *with)
{
    size_t n = strlen(name), m = strlen(with);

    return n > m && strcmp(name + n - m, with) == 0;
}

/* Does a line of it say so, in YAML or in JSON? */
static bool says_mortise(const char *text)
{
    static const char key[] = "apiVersion";

    for (const char *p = text; (p = strstr(p, key)) != NULL; p++) {
        const char *v = p + sizeof key - 1;

        v += strspn(v, "\"' \t");
        if (*v != ':')
            continue;
        v += 1 + strspn(v + 1, "\"' \t");
        if (strncmp(v, "mortise/", 8) == 0)
            return true;
    }
    return false;
}

/* One that cannot be read is, so that it is said. */
static bool is_ours(const char *path)
{
    char text[LOOKED_AT + 1];
    FILE *f = fopen(path, "re");
    size_t n = f != NULL ? fread(text, 1, LOOKED_AT, f) : 0;
    bool unread = f == NULL || ferror(f);

    if (f != NULL)
        fclose(f);
    for (size_t i = 0; i < n; i++)
        text[i] = text[i] == '\0' ? ' ' : text[i];
    text[n] = '\0';
    return unread || says_mortise(text);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Is that entry to be checked?  What is not to be entered is skipped. */
static bool is_wanted(FTS *walk, FTSENT *e)
{
    bool hidden = e->fts_level > 0 && e->fts_name[0] == '.';

    if (hidden)
        fts_set(walk, e, FTS_SKIP);
    if (hidden)
        return false;
    if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR)
        return true;
    return e->fts_info == FTS_F &&
           (ends(e->fts_name, ".yaml") || ends(e->fts_name, ".yml")) &&
           is_ours(e->fts_accpath);
}

/* DIR without the slashes that it ends with, except of "/". */
static void trim(char out[PATH_MAX], const char *dir)
{
    size_t n = strlen(dir);

    while (n > 1 && dir[n - 1] == '/')
        n--;
    snprintf(out, PATH_MAX, "%.*s", (int)n, dir);
}

int mortise_cli_each_below(const char *dir,
                           void (*fn)(void *ud, const char *path), void *ud,
                           struct mortise_err *err)
{
    char root[PATH_MAX], *roots[] = {root, NULL};
    size_t n = 0;
    FTSENT *e;
    FTS *walk;

    trim(root, dir);
    walk = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
    if (walk == NULL)
        return mortise_syserr(err, errno, "read %s", root);
    while ((e = fts_read(walk)) != NULL)
        if (is_wanted(walk, e)) {
            fn(ud, e->fts_path);
            n++;
        }
    fts_close(walk);
    return n > 0 ? MORTISE_OK
                 : mortise_fail(err, MORTISE_ENOTFOUND,
                                "%s has no Mortise files (*.yaml with "
                                "apiVersion: mortise/...)",
                                root);
}
