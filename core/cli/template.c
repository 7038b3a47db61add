/* template.c -- directories that are begun for somebody: `mortise init`, `mortise
 * plugin new`.
 *
 * A template is a directory of files beside the bundled plugins' home (home.h),
 * which are copied, never links to be followed.
 *
 *   (1) @NAME@ in them is replaced by the name, and so is NAME at the beginning of
 *       a file's own name; `dot.` there becomes a dot.
 *   (2) Nothing that is there is touched: the first file whose name is taken is
 *       the words of the error, and nothing is written then.  Where a write fails,
 *       what was written before goes away again.
 *   (3) What is printed to be typed next works where it is pasted: the program is
 *       called as we were, from the new directory, too.
 */
#include "cli/template.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dirs.h"
#include "base/err.h"
#include "base/files.h"
#include "config/home.h"
#include "yaml/header.h"

enum { MOST = 1 << 20 }; /* bytes of a template's file */

static const char placeholder[] = "@NAME@";

/* One that is being made. */
struct making {
    struct mortise_cli *cli;
    const char *name, *dir;
    char from[MORTISE_HOME_MAX];
    struct mortise_listing files;
    size_t n_written;
    bool made_dir;
};

int mortise_template_name(const char *name, struct mortise_err *err)
{
    if (mortise_header_is_name(name))
        return MORTISE_OK;
    return mortise_fail(err, MORTISE_EINVAL,
                        "'%.128s' cannot be a name: a letter or digit, then "
                        "letters, digits, '.', '_' and '-', 128 at most",
                        name);
}

/* Where the i-th file goes. */
static int target(const struct making *m, size_t i, char out[PATH_MAX],
                  struct mortise_err *err)
{
    const char *file = m->files.names[i];

    if (strncmp(file, "NAME", 4) == 0)
        return mortise_file_path(out, PATH_MAX, err, "%s/%s%s", m->dir, m->name,
                                 file + 4);
    if (strncmp(file, "dot.", 4) == 0)
        return mortise_file_path(out, PATH_MAX, err, "%s/%s", m->dir, file + 3);
    return mortise_file_path(out, PATH_MAX, err, "%s/%s", m->dir, file);
}

static int each_target(struct making *m,
                       int (*fn)(struct making *m, size_t i, const char *path,
                                 struct mortise_err *err),
                       struct mortise_err *err)
{
    char path[PATH_MAX];
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < m->files.n; i++) {
        rv = target(m, i, path, err);
        if (rv == MORTISE_OK)
            rv = fn(m, i, path, err);
    }
    return rv;
}

static int must_be_free(struct making *m, size_t i, const char *path,
                        struct mortise_err *err)
{
    struct stat st;

    (void)m;
    (void)i;
    if (lstat(path, &st) == 0)
        return mortise_fail(err, MORTISE_EEXISTS,
                            "%s exists; nothing was written", path);
    return errno == ENOENT ? MORTISE_OK
                           : mortise_syserr(err, errno, "look at %s", path);
}

/* A text of the template with the name in it. */
static void fill(struct mortise_buf *out, const char *p, const char *name)
{
    const char *at;

    for (; (at = strstr(p, placeholder)) != NULL;
         p = at + strlen(placeholder)) {
        mortise_buf_put(out, p, (size_t)(at - p));
        mortise_buf_puts(out, name);
    }
    mortise_buf_puts(out, p);
}

static int write_one(struct making *m, size_t i, const char *path,
                     struct mortise_err *err)
{
    char from[MORTISE_HOME_MAX + 256];
    struct mortise_buf text, out;
    int rv = mortise_file_path(from, sizeof from, err, "%s/%s", m->from,
                               m->files.names[i]);

    mortise_buf_init(&text, m->cli->mem);
    mortise_buf_init(&out, m->cli->mem);
    if (rv == MORTISE_OK)
        rv = mortise_file_read(&text, from, MOST, err);
    if (rv == MORTISE_OK && mortise_buf_cstr(&text) != NULL)
        fill(&out, text.p, m->name);
    if (rv == MORTISE_OK && (text.failed || out.failed))
        rv = mortise_nomem(err);
    if (rv == MORTISE_OK)
        rv =
            mortise_file_write(path, out.p, out.n, 0666, MORTISE_FILE_NEW, err);
    m->n_written += rv == MORTISE_OK;
    mortise_buf_finish(&text);
    mortise_buf_finish(&out);
    return rv;
}

/* What was written before something went wrong. */
static int take_back(struct making *m, size_t i, const char *path,
                     struct mortise_err *err)
{
    (void)err;
    if (i < m->n_written)
        unlink(path);
    return MORTISE_OK;
}

static int make_dir(struct making *m, struct mortise_err *err)
{
    struct stat st;

    if (mkdir(m->dir, 0777) == 0) {
        m->made_dir = true;
        return MORTISE_OK;
    }
    if (errno != EEXIST)
        return mortise_syserr(err, errno, "make the directory %s", m->dir);
    if (stat(m->dir, &st) == 0 && S_ISDIR(st.st_mode))
        return MORTISE_OK;
    return mortise_fail(err, MORTISE_EEXISTS,
                        "%s exists, and is no directory; nothing was written",
                        m->dir);
}

static int write_all(struct making *m, struct mortise_err *err)
{
    struct mortise_err ignored;
    int rv = make_dir(m, err);

    if (rv == MORTISE_OK)
        rv = each_target(m, must_be_free, err);
    if (rv == MORTISE_OK)
        rv = each_target(m, write_one, err);
    if (rv == MORTISE_OK)
        return rv;
    each_target(m, take_back, &ignored);
    if (m->made_dir)
        rmdir(m->dir);
    return rv;
}

static int say_one(struct making *m, size_t i, const char *path,
                   struct mortise_err *err)
{
    (void)i;
    (void)err;
    mortise_out_say(&m->cli->out, "made %s\n", path);
    return MORTISE_OK;
}

int mortise_template_make(struct mortise_cli *cli, const char *template,
                          const char *dir, const char *name,
                          struct mortise_err *err)
{
    struct making m = {.cli = cli, .name = name, .dir = dir};
    char all[MORTISE_HOME_MAX];
    int rv;

    mortise_home_data(all, "templates");
    rv = mortise_file_path(m.from, sizeof m.from, err, "%s/%s", all, template);
    if (rv == MORTISE_OK)
        rv = mortise_listing_read(&m.files, cli->mem, m.from, "", err);
    if (rv != MORTISE_OK)
        return mortise_doing(err, rv, "the template");
    rv = write_all(&m, err);
    if (rv == MORTISE_OK)
        rv = each_target(&m, say_one, err);
    mortise_listing_finish(&m.files);
    return rv;
}

/* ---- what to type next ------------------------------------------------------ */

/* How we are called from elsewhere. */
static const char *program(const struct mortise_cli *cli, const char *dir,
                           char out[PATH_MAX])
{
    const char *called = cli->program;

    if (called[0] == '/' || strchr(called, '/') == NULL ||
        strcmp(dir, ".") == 0 || realpath(called, out) == NULL)
        return called;
    return out;
}

static void print_line(struct mortise_out *o, const char *line, size_t n,
                       const char *called, const char *name)
{
    const char *end = line + n;

    mortise_out_puts(o, "  ");
    while (line < end) {
        if (strncmp(line, "@M", 2) == 0) {
            mortise_out_shell(o, called);
            line += 2;
        } else if (strncmp(line, placeholder, strlen(placeholder)) == 0) {
            mortise_out_puts(o, name);
            line += strlen(placeholder);
        } else {
            mortise_out_put(o, line++, 1);
        }
    }
    mortise_out_puts(o, "\n");
}

void mortise_template_next(struct mortise_cli *cli, const char *dir,
                           const char *name, const char *lines)
{
    char room[PATH_MAX];
    const char *called = program(cli, dir, room);
    struct mortise_out *o = &cli->out;

    mortise_out_puts(o, "next:\n");
    if (strcmp(dir, ".") != 0) {
        mortise_out_puts(o, dir[0] == '-' ? "  cd -- " : "  cd ");
        mortise_out_shell(o, dir);
        mortise_out_puts(o, "\n");
    }
    if (getenv("MORTISE_DEPLOYMENT") != NULL)
        mortise_out_puts(o, "  unset MORTISE_DEPLOYMENT\n");
    for (; *lines != '\0'; lines += strcspn(lines, "\n") + 1)
        print_line(o, lines, strcspn(lines, "\n"), called, name);
}
