/* check_dir.c -- find the files that `mortise check DIR` checks.
 *
 * (1) These are *.yaml and *.yml files that contain apiVersion: mortise/...
 *     The file need not parse: a broken file of Mortise is checked, and a file
 *     of another program is not.
 * (2) Hidden entries (.git, .mortise) and symbolic links are skipped, so each
 *     file is checked once.
 * (3) The order is by name, the same on every machine.
 */
#include "cli/check_dir.h"

#include <errno.h>
#include <fts.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/err.h"

enum { LOOKED_AT = 64 << 10 }; /* apiVersion must be in these first bytes */

bool mortise_cli_is_dir(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool has_suffix(const char *name, const char *with)
{
    size_t n = strlen(name), m = strlen(with);

    return n > m && strcmp(name + n - m, with) == 0;
}

/* Is there such an apiVersion, in YAML or JSON? */
static bool has_mortise_version(const char *text)
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

/* An unreadable file counts, so that the error is reported. */
static bool is_mortise_file(const char *path)
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
    return unread || has_mortise_version(text);
}

static int compare_entry_names(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Is this entry to be checked?  Does not enter hidden directories. */
static bool is_entry_wanted(FTS *walk, FTSENT *e)
{
    bool hidden = e->fts_level > 0 && e->fts_name[0] == '.';

    if (hidden)
        fts_set(walk, e, FTS_SKIP);
    if (hidden)
        return false;
    if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR)
        return true;
    return e->fts_info == FTS_F &&
           (has_suffix(e->fts_name, ".yaml") ||
            has_suffix(e->fts_name, ".yml")) &&
           is_mortise_file(e->fts_accpath);
}

/* Remove trailing slashes, except from "/". */
static void strip_trailing_slashes(char out[PATH_MAX], const char *dir)
{
    size_t n = strlen(dir);

    while (n > 1 && dir[n - 1] == '/')
        n--;
    snprintf(out, PATH_MAX, "%.*s", (int)n, dir);
}

int mortise_cli_for_each_file(const char *dir,
                              void (*fn)(void *ud, const char *path), void *ud,
                              struct mortise_err *err)
{
    char root[PATH_MAX], *roots[] = {root, NULL};
    size_t n = 0;
    FTSENT *e;
    FTS *walk;

    strip_trailing_slashes(root, dir);
    walk = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR,
                    compare_entry_names);
    if (walk == NULL)
        return mortise_syserr(err, errno, "read %s", root);
    while ((e = fts_read(walk)) != NULL)
        if (is_entry_wanted(walk, e)) {
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
