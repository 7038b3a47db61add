/* template.c -- creates a directory from a template: `mortise init`, `mortise
 * plugin new`.
 *
 * A template is a directory of files next to the bundled plugins (home.h).  The
 * files are copied; links are not followed.
 *
 *   (1) Words in the files are replaced (@NAME@ by the name).  In file names, a
 *       leading NAME is replaced by the name, and a leading `dot.` by a dot.
 *   (2) Existing files are never changed.  If a file exists with other content,
 *       the command fails and writes nothing.  A file with the same content is
 *       no error, so a command that was killed can be repeated.  If a write
 *       fails, the files that this command wrote are removed.
 *   (3) The printed commands work in the new directory: the program is called
 *       as this process was, by an absolute path if necessary. */
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
#include "core/base/name.h"
#include "lang/config/home.h"

enum { FILE_BYTES_MAX = 1 << 20 }; /* bytes of a file */

enum {
    PARTS = 2,              /* directories of a template */
    TEMPLATE_FILES_MAX = 64 /* in all directories together */
};

/* A template while it is copied. */
struct making {
    struct mortise_cli *cli;
    const struct mortise_template *t;
    char from[PARTS][MORTISE_HOME_MAX];
    struct mortise_listing files[PARTS];
    uint64_t written; /* bit `at`: file did not exist before */
    bool made_dir;
};

/* A file of the template. */
struct file {
    const char *from, *name; /* its directory and name in the template */
    size_t at;               /* its index among all files */
    char path[PATH_MAX];     /* its target */
};

typedef int file_fn(struct making *m, const struct file *f,
                    struct mortise_err *err);

int mortise_template_check_name(const char *name, struct mortise_err *err)
{
    if (mortise_name_is_valid(name))
        return MORTISE_OK;
    return mortise_fail(
        err, MORTISE_EINVAL,
        "'%.128s' is not a valid name: begin with a letter or digit, then use "
        "letters, digits, '.', '_' and '-'; at most 128 characters",
        name);
}

/* Make the target path. */
static int make_target_path(const struct mortise_template *t, struct file *f,
                            struct mortise_err *err)
{
    if (strncmp(f->name, "NAME", 4) == 0)
        return mortise_file_format_path(f->path, PATH_MAX, err, "%s/%s%s",
                                        t->dir, t->words[0].by, f->name + 4);
    return mortise_file_format_path(
        f->path, PATH_MAX, err, "%s/%s", t->dir,
        f->name + (strncmp(f->name, "dot.", 4) == 0 ? 3 : 0));
}

static int call_for_each_file(struct making *m, file_fn *fn,
                              struct mortise_err *err)
{
    size_t at = 0;
    int rv = MORTISE_OK;

    for (size_t p = 0; p < PARTS; p++)
        for (size_t i = 0; rv == MORTISE_OK && i < m->files[p].n; i++) {
            struct file f = {
                .from = m->from[p], .name = m->files[p].names[i], .at = at++};

            rv = make_target_path(m->t, &f, err);
            if (rv == MORTISE_OK)
                rv = fn(m, &f, err);
        }
    return rv;
}

/* Find the word at the beginning of the text; NULL: none. */
static const struct mortise_template_word *
find_template_word(const struct mortise_template *t, const char *p)
{
    for (size_t i = 0; t->words[i].word != NULL; i++)
        if (strncmp(p, t->words[i].word, strlen(t->words[i].word)) == 0)
            return &t->words[i];
    return NULL;
}

/* Copy a text with its words replaced. */
static void replace_template_words(struct mortise_buf *out, const char *p,
                                   const struct mortise_template *t)
{
    const struct mortise_template_word *w;

    while (*p != '\0') {
        size_t n = strcspn(p + 1, "@") + 1;

        w = find_template_word(t, p);
        if (w != NULL)
            mortise_buf_puts(out, w->by);
        else
            mortise_buf_put(out, p, n);
        p += w != NULL ? strlen(w->word) : n;
    }
}

/* Make the content of the target. */
static int make_file_text(struct making *m, const struct file *f,
                          struct mortise_buf *out, struct mortise_err *err)
{
    char from[MORTISE_HOME_MAX + 256];
    struct mortise_buf text;
    int rv = mortise_file_format_path(from, sizeof from, err, "%s/%s", f->from,
                                      f->name);

    mortise_buf_init(&text, m->cli->mem);
    if (rv == MORTISE_OK)
        rv = mortise_file_read(&text, from, FILE_BYTES_MAX, err);
    if (rv == MORTISE_OK && mortise_buf_cstr(&text) != NULL)
        replace_template_words(out, text.p, m->t);
    if (rv == MORTISE_OK && (text.failed || out->failed))
        rv = mortise_nomem(err);
    mortise_buf_finish(&text);
    return rv;
}

static int fail_existing_file(const struct file *f, struct mortise_err *err)
{
    return mortise_fail(err, MORTISE_EEXISTS, "%s exists; nothing was written",
                        f->path);
}

/* (2) */
static int check_existing_file(struct making *m, const struct file *f,
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
        return fail_existing_file(f, err);
    mortise_buf_init(&out, m->cli->mem);
    mortise_buf_init(&there, m->cli->mem);
    rv = make_file_text(m, f, &out, err);
    if (rv == MORTISE_OK &&
        (mortise_file_read(&there, f->path, FILE_BYTES_MAX, NULL) !=
             MORTISE_OK ||
         there.n != out.n || memcmp(there.p, out.p, out.n) != 0))
        rv = fail_existing_file(f, err);
    mortise_buf_finish(&out);
    mortise_buf_finish(&there);
    return rv;
}

static bool is_written_file(const struct making *m, const struct file *f)
{
    return (m->written >> f->at & 1) != 0;
}

static int write_template_file(struct making *m, const struct file *f,
                               struct mortise_err *err)
{
    struct mortise_buf out;
    int rv;

    if (!is_written_file(m, f))
        return MORTISE_OK;
    mortise_buf_init(&out, m->cli->mem);
    rv = make_file_text(m, f, &out, err);
    if (rv == MORTISE_OK)
        rv = mortise_file_write(f->path, out.p, out.n, 0666, MORTISE_FILE_NEW,
                                err);
    if (rv != MORTISE_OK) /* neither this file nor the later ones are ours */
        m->written &= (UINT64_C(1) << f->at) - 1;
    mortise_buf_finish(&out);
    return rv;
}

/* Remove a file that was written before the failure. */
static int remove_written_file(struct making *m, const struct file *f,
                               struct mortise_err *err)
{
    (void)err;
    if (is_written_file(m, f))
        unlink(f->path);
    return MORTISE_OK;
}

static int make_target_directory(struct making *m, struct mortise_err *err)
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

static int write_template_files(struct making *m, struct mortise_err *err)
{
    struct mortise_err ignored;
    int rv = make_target_directory(m, err);

    if (rv == MORTISE_OK)
        rv = call_for_each_file(m, check_existing_file, err);
    if (rv != MORTISE_OK)
        m->written = 0;
    else
        rv = call_for_each_file(m, write_template_file, err);
    if (rv == MORTISE_OK)
        return rv;
    call_for_each_file(m, remove_written_file, &ignored);
    if (m->made_dir)
        rmdir(m->t->dir);
    return rv;
}

static int print_file_result(struct making *m, const struct file *f,
                             struct mortise_err *err)
{
    (void)err;
    mortise_out_print_escaped(
        &m->cli->out,
        is_written_file(m, f) ? "made %s\n" : "%s already exists\n", f->path);
    return MORTISE_OK;
}

static int read_template_files(struct making *m, struct mortise_err *err)
{
    char all[MORTISE_HOME_MAX];
    int rv = MORTISE_OK;

    mortise_home_get_data_dir(all, "templates");
    for (size_t p = 0; rv == MORTISE_OK && p < PARTS; p++) {
        if (m->t->names[p] == NULL)
            break;
        rv = mortise_file_format_path(m->from[p], sizeof m->from[p], err,
                                      "%s/%s", all, m->t->names[p]);
        if (rv == MORTISE_OK)
            rv = mortise_listing_read(&m->files[p], m->cli->mem, m->from[p], "",
                                      err);
    }
    if (rv == MORTISE_OK && m->files[0].n + m->files[1].n > TEMPLATE_FILES_MAX)
        rv = mortise_fail(err, MORTISE_EINVAL,
                          "the template has more than %d files",
                          TEMPLATE_FILES_MAX);
    return rv == MORTISE_OK ? rv : mortise_err_prefix(err, rv, "the template");
}

int mortise_template_make(struct mortise_cli *cli,
                          const struct mortise_template *t,
                          struct mortise_err *err)
{
    struct making m = {.cli = cli, .t = t};
    int rv = read_template_files(&m, err);

    if (rv == MORTISE_OK)
        rv = write_template_files(&m, err);
    if (rv == MORTISE_OK)
        rv = call_for_each_file(&m, print_file_result, err);
    for (size_t p = 0; p < PARTS; p++)
        if (m.files[p].mem != NULL)
            mortise_listing_finish(&m.files[p]);
    return rv;
}

/* ---- next commands ------------------------------------------------------ */

/* The program's path, as seen from the new directory. */
static const char *get_program_path(const struct mortise_cli *cli,
                                    const char *dir, char out[PATH_MAX])
{
    const char *called = cli->program;

    if (called[0] == '/' || strchr(called, '/') == NULL ||
        strcmp(dir, ".") == 0 || realpath(called, out) == NULL)
        return called;
    return out;
}

/* Print the replacement of a word that starts with @; returns the word's
 * length. */
static size_t print_replaced_word(struct mortise_out *o, const char *p,
                                  const char *called,
                                  const struct mortise_template *t)
{
    const struct mortise_template_word *w = find_template_word(t, p);

    if (w != NULL) {
        mortise_out_puts(o, w->by);
        return strlen(w->word);
    }
    if (p[1] == 'V' && strchr(called, '/') != NULL)
        mortise_out_puts(o, " MORTISE=");
    if (p[1] == 'M' || strchr(called, '/') != NULL)
        mortise_out_put_shell_word(o, called);
    return 2;
}

static void print_next_line(struct mortise_out *o, const char *line, size_t n,
                            const char *called,
                            const struct mortise_template *t)
{
    const char *end = line + n;

    mortise_out_puts(o, "  ");
    while (line < end) {
        if (*line == '@')
            line += print_replaced_word(o, line, called, t);
        else
            mortise_out_put(o, line++, 1);
    }
    mortise_out_puts(o, "\n");
}

void mortise_template_print_next_steps(struct mortise_cli *cli,
                                       const struct mortise_template *t,
                                       const char *lines)
{
    char room[PATH_MAX];
    const char *called = get_program_path(cli, t->dir, room);
    struct mortise_out *o = &cli->out;

    mortise_out_puts(o, "next:\n");
    if (strcmp(t->dir, ".") != 0) {
        mortise_out_puts(o, t->dir[0] == '-' ? "  cd -- " : "  cd ");
        mortise_out_put_shell_word(o, t->dir);
        mortise_out_puts(o, "\n");
    }
    if (getenv("MORTISE_DEPLOYMENT") != NULL)
        mortise_out_puts(o, "  unset MORTISE_DEPLOYMENT\n");
    for (; *lines != '\0'; lines += strcspn(lines, "\n") + 1)
        print_next_line(o, lines, strcspn(lines, "\n"), called, t);
}
