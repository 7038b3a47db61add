/* template.c -- directories that are begun for somebody: `mortise init`, `mortise
 * plugin new`.
 *
 * A template is a directory of files beside the bundled plugins' home (home.h),
 * which are copied, never links to be followed.
 *
 *   (1) Its words are replaced in them (@NAME@ by the name), and so is NAME at the
 *       beginning of a file's own name; `dot.` there becomes a dot.
 *   (2) Nothing that is there is touched: the first file whose name is taken is
 *       the words of the error, and nothing is written then.  A file that is
 *       there as it would be written is no error: a command that was killed can
 *       be given again, and writes the rest.  If a write fails, the files that
 *       this command wrote are removed.
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

#include "core/base/dirs.h"
#include "core/base/err.h"
#include "core/base/files.h"
#include "lang/config/home.h"
#include "lang/yaml/header.h"

enum { MOST = 1 << 20 }; /* bytes of a template's file */

enum {
    PARTS = 2,      /* directories of a template */
    MOST_FILES = 64 /* of all of them */
};

/* One that is being made. */
struct making {
    struct mortise_cli *cli;
    const struct mortise_template *t;
    char from[PARTS][MORTISE_HOME_MAX];
    struct mortise_listing files[PARTS];
    uint64_t written; /* bit `at` of each file that was not there */
    bool made_dir;
};

/* A file of it. */
struct file {
    const char *from, *name; /* the directory, and what it is called there */
    size_t at;               /* it is the at-th of all */
    char path[PATH_MAX];     /* where it goes */
};

typedef int file_fn(struct making *m, const struct file *f,
                    struct mortise_err *err);

int mortise_template_name(const char *name, struct mortise_err *err)
{
    if (mortise_header_is_name(name))
        return MORTISE_OK;
    return mortise_fail(
        err, MORTISE_EINVAL,
        "'%.128s' is not a valid name: begin with a letter or digit, then use "
        "letters, digits, '.', '_' and '-'; at most 128 characters",
        name);
}

/* Where it goes. */
static int place(const struct mortise_template *t, struct file *f,
                 struct mortise_err *err)
{
    if (strncmp(f->name, "NAME", 4) == 0)
        return mortise_file_path(f->path, PATH_MAX, err, "%s/%s%s", t->dir,
                                 t->words[0].by, f->name + 4);
    return mortise_file_path(f->path, PATH_MAX, err, "%s/%s", t->dir,
                             f->name +
                                 (strncmp(f->name, "dot.", 4) == 0 ? 3 : 0));
}

static int each_file(struct making *m, file_fn *fn, struct mortise_err *err)
{
    size_t at = 0;
    int rv = MORTISE_OK;

    for (size_t p = 0; p < PARTS; p++)
        for (size_t i = 0; rv == MORTISE_OK && i < m->files[p].n; i++) {
            struct file f = {
                .from = m->from[p], .name = m->files[p].names[i], .at = at++};

            rv = place(m->t, &f, err);
            if (rv == MORTISE_OK)
                rv = fn(m, &f, err);
        }
    return rv;
}

/* The word of the template that a text begins with; NULL: none. */
static const struct mortise_template_word *
word_at(const struct mortise_template *t, const char *p)
{
    for (size_t i = 0; t->words[i].word != NULL; i++)
        if (strncmp(p, t->words[i].word, strlen(t->words[i].word)) == 0)
            return &t->words[i];
    return NULL;
}

/* A text of the template with its words replaced. */
static void fill(struct mortise_buf *out, const char *p,
                 const struct mortise_template *t)
{
    const struct mortise_template_word *w;

    while (*p != '\0') {
        size_t n = strcspn(p + 1, "@") + 1;

        w = word_at(t, p);
        if (w != NULL)
            mortise_buf_puts(out, w->by);
        else
            mortise_buf_put(out, p, n);
        p += w != NULL ? strlen(w->word) : n;
    }
}

/* What is to stand in it. */
static int text_of(struct making *m, const struct file *f,
                   struct mortise_buf *out, struct mortise_err *err)
{
    char from[MORTISE_HOME_MAX + 256];
    struct mortise_buf text;
    int rv =
        mortise_file_path(from, sizeof from, err, "%s/%s", f->from, f->name);

    mortise_buf_init(&text, m->cli->mem);
    if (rv == MORTISE_OK)
        rv = mortise_file_read(&text, from, MOST, err);
    if (rv == MORTISE_OK && mortise_buf_cstr(&text) != NULL)
        fill(out, text.p, m->t);
    if (rv == MORTISE_OK && (text.failed || out->failed))
        rv = mortise_nomem(err);
    mortise_buf_finish(&text);
    return rv;
}

static int exists(const struct file *f, struct mortise_err *err)
{
    return mortise_fail(err, MORTISE_EEXISTS, "%s exists; nothing was written",
                        f->path);
}

/* (2) */
static int look_at(struct making *m, const struct file *f,
                   struct mortise_err *err)
{
    struct mortise_buf out, there;
    struct stat st;
    int rv;

    if (lstat(f->path, &st) != 0) {
        m->written |= UINT64_C(1) << f->at;
        return errno == ENOENT
                   ? MORTISE_OK
                   : mortise_syserr(err, errno, "look at %s", f->path);
    }
    if (!S_ISREG(st.st_mode))
        return exists(f, err);
    mortise_buf_init(&out, m->cli->mem);
    mortise_buf_init(&there, m->cli->mem);
    rv = text_of(m, f, &out, err);
    if (rv == MORTISE_OK &&
        (mortise_file_read(&there, f->path, MOST, NULL) != MORTISE_OK ||
         there.n != out.n || memcmp(there.p, out.p, out.n) != 0))
        rv = exists(f, err);
    mortise_buf_finish(&out);
    mortise_buf_finish(&there);
    return rv;
}

static bool is_ours(const struct making *m, const struct file *f)
{
    return (m->written >> f->at & 1) != 0;
}

static int write_one(struct making *m, const struct file *f,
                     struct mortise_err *err)
{
    struct mortise_buf out;
    int rv;

    if (!is_ours(m, f))
        return MORTISE_OK;
    mortise_buf_init(&out, m->cli->mem);
    rv = text_of(m, f, &out, err);
    if (rv == MORTISE_OK)
        rv = mortise_file_write(f->path, out.p, out.n, 0666, MORTISE_FILE_NEW,
                                err);
    if (rv != MORTISE_OK) /* this one, and those behind it, are not ours */
        m->written &= (UINT64_C(1) << f->at) - 1;
    mortise_buf_finish(&out);
    return rv;
}

/* What was written before something went wrong. */
static int take_back(struct making *m, const struct file *f,
                     struct mortise_err *err)
{
    (void)err;
    if (is_ours(m, f))
        unlink(f->path);
    return MORTISE_OK;
}

static int make_dir(struct making *m, struct mortise_err *err)
{
    struct stat st;

    if (mkdir(m->t->dir, 0777) == 0) {
        m->made_dir = true;
        return MORTISE_OK;
    }
    if (errno != EEXIST)
        return mortise_syserr(err, errno, "make the directory %s", m->t->dir);
    if (stat(m->t->dir, &st) == 0 && S_ISDIR(st.st_mode))
        return MORTISE_OK;
    return mortise_fail(err, MORTISE_EEXISTS,
                        "%s exists and is not a directory; nothing was written",
                        m->t->dir);
}

static int write_all(struct making *m, struct mortise_err *err)
{
    struct mortise_err ignored;
    int rv = make_dir(m, err);

    if (rv == MORTISE_OK)
        rv = each_file(m, look_at, err);
    if (rv != MORTISE_OK)
        m->written = 0;
    else
        rv = each_file(m, write_one, err);
    if (rv == MORTISE_OK)
        return rv;
    each_file(m, take_back, &ignored);
    if (m->made_dir)
        rmdir(m->t->dir);
    return rv;
}

static int say_one(struct making *m, const struct file *f,
                   struct mortise_err *err)
{
    (void)err;
    mortise_out_say(&m->cli->out,
                    is_ours(m, f) ? "made %s\n" : "%s already exists\n",
                    f->path);
    return MORTISE_OK;
}

static int list(struct making *m, struct mortise_err *err)
{
    char all[MORTISE_HOME_MAX];
    int rv = MORTISE_OK;

    mortise_home_data(all, "templates");
    for (size_t p = 0; rv == MORTISE_OK && p < PARTS; p++) {
        if (m->t->names[p] == NULL)
            break;
        rv = mortise_file_path(m->from[p], sizeof m->from[p], err, "%s/%s", all,
                               m->t->names[p]);
        if (rv == MORTISE_OK)
            rv = mortise_listing_read(&m->files[p], m->cli->mem, m->from[p], "",
                                      err);
    }
    if (rv == MORTISE_OK && m->files[0].n + m->files[1].n > MOST_FILES)
        rv = mortise_fail(err, MORTISE_EINVAL,
                          "the template has more than %d files", MOST_FILES);
    return rv == MORTISE_OK ? rv : mortise_doing(err, rv, "the template");
}

int mortise_template_make(struct mortise_cli *cli,
                          const struct mortise_template *t,
                          struct mortise_err *err)
{
    struct making m = {.cli = cli, .t = t};
    int rv = list(&m, err);

    if (rv == MORTISE_OK)
        rv = write_all(&m, err);
    if (rv == MORTISE_OK)
        rv = each_file(&m, say_one, err);
    for (size_t p = 0; p < PARTS; p++)
        if (m.files[p].mem != NULL)
            mortise_listing_finish(&m.files[p]);
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

/* Something that begins with @ and is to be replaced; what it is long. */
static size_t print_word(struct mortise_out *o, const char *p,
                         const char *called, const struct mortise_template *t)
{
    const struct mortise_template_word *w = word_at(t, p);

    if (w != NULL) {
        mortise_out_puts(o, w->by);
        return strlen(w->word);
    }
    if (p[1] == 'V' && strchr(called, '/') != NULL)
        mortise_out_puts(o, " MORTISE=");
    if (p[1] == 'M' || strchr(called, '/') != NULL)
        mortise_out_shell(o, called);
    return 2;
}

static void print_line(struct mortise_out *o, const char *line, size_t n,
                       const char *called, const struct mortise_template *t)
{
    const char *end = line + n;

    mortise_out_puts(o, "  ");
    while (line < end) {
        if (*line == '@')
            line += print_word(o, line, called, t);
        else
            mortise_out_put(o, line++, 1);
    }
    mortise_out_puts(o, "\n");
}

void mortise_template_next(struct mortise_cli *cli,
                           const struct mortise_template *t, const char *lines)
{
    char room[PATH_MAX];
    const char *called = program(cli, t->dir, room);
    struct mortise_out *o = &cli->out;

    mortise_out_puts(o, "next:\n");
    if (strcmp(t->dir, ".") != 0) {
        mortise_out_puts(o, t->dir[0] == '-' ? "  cd -- " : "  cd ");
        mortise_out_shell(o, t->dir);
        mortise_out_puts(o, "\n");
    }
    if (getenv("MORTISE_DEPLOYMENT") != NULL)
        mortise_out_puts(o, "  unset MORTISE_DEPLOYMENT\n");
    for (; *lines != '\0'; lines += strcspn(lines, "\n") + 1)
        print_line(o, lines, strcspn(lines, "\n"), called, t);
}
