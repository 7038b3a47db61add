/* expand.c -- ${env:...} and ${file:...} in a deployment's strings.
 *
 * The rules ensure that a value is never interpreted twice:
 *
 *   (1) The inserted value is plain text: a ${ in it is not expanded, and the
 *       result remains a string, whatever it looks like.
 *   (2) A missing variable or file is an error, not an empty string.  The
 *       default of ${env:NAME:-default} is used if NAME is unset or empty, as
 *       in sh.
 *   (3) One line end at the end of a file is removed, because editors add it.
 *   (4) `$${` is a literal `${`.  Any other word after ${ is an error.
 */
#include "lang/config/expand.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/infile.h"
#include "core/base/utf8.h"

enum { MAX_FILE = 1 << 20 }; /* size limit of a ${file:...}, in bytes */

struct expander {
    struct mortise_arena *arena;
    struct mortise_diags *diags;
    bool resolve;
};

/* A ${...} in a string: [from, to) with the braces, [p, end) without. */
struct hole {
    const struct mortise_yaml *at;
    const char *from, *to, *p, *end;
};

static struct mortise_span get_hole_span(const struct hole *h)
{
    return mortise_yaml_scalar_position(h->at, (size_t)(h->from - h->at->str),
                                        (size_t)(h->to - h->from));
}

/* ---- paths ----------------------------------------------------------- */

static char *join_file_path(struct mortise_arena *a, const char *file,
                            const char *path)
{
    const char *slash = strrchr(file, '/');
    size_t dir =
        slash != NULL && path[0] != '/' ? (size_t)(slash - file) + 1 : 0;
    char *out = mortise_arena_alloc(a, dir + strlen(path) + 1);

    if (out == NULL)
        return NULL;
    memcpy(out, file, dir);
    strcpy(out + dir, path);
    return out;
}

const char *mortise_expand_path(struct mortise_arena *a,
                                const struct mortise_yaml *at)
{
    return join_file_path(a, at->span.file->path, at->str);
}

/* ---- values ---------------------------------------------------------- */

/* The end of the name in [p, end): before the default, if there is one. */
static const char *find_env_name_end(const char *p, const char *end)
{
    const char *dash = strstr(p, ":-");

    return dash != NULL && dash < end ? dash : end;
}

static bool is_empty_value(const char *value)
{
    return value == NULL || value[0] == '\0';
}

/* These append a value, or report an error. */
static bool append_env_value(struct expander *x, const struct hole *h,
                             struct mortise_buf *b)
{
    const char *p = h->p + 4, *value;
    const char *name_end = find_env_name_end(p, h->end);
    char *name = mortise_arena_strndup(x->arena, p, (size_t)(name_end - p));

    if (name == NULL) {
        b->failed = true;
        return false;
    }
    if (name[0] == '\0' || strchr(name, '=') != NULL) {
        mortise_diag_add(x->diags, "E0603", get_hole_span(h),
                         "'%s' is not a valid name of a variable", name);
        return false;
    }
    value = x->resolve ? getenv(name) : NULL;
    if (name_end != h->end && is_empty_value(value)) {
        mortise_buf_put(b, name_end + 2, (size_t)(h->end - name_end) - 2);
        return true;
    }
    if (!x->resolve)
        return false;
    if (value == NULL || !mortise_utf8_is_valid(value, strlen(value))) {
        mortise_diag_add(x->diags, "E0601", get_hole_span(h),
                         "environment variable %s is not %s", name,
                         value == NULL ? "set" : "UTF-8");
        return false;
    }
    mortise_buf_puts(b, value);
    return true;
}

/* Append the file's text; returns NULL, or the reason of the failure. */
static const char *append_file_text(const char *path, struct mortise_buf *b)
{
    int fd = mortise_infile_open(AT_FDCWD, path, 0);
    FILE *f = fd >= 0 ? fdopen(fd, "rb") : NULL;
    size_t start = b->n, got;
    char block[4096];
    bool bad;

    if (fd < 0)
        return errno == MORTISE_ERRNO_NOT_REGULAR ? "it is not a regular file"
                                                  : "it cannot be opened";
    if (f == NULL) {
        close(fd);
        return "it cannot be opened";
    }
    while ((got = fread(block, 1, sizeof block, f)) > 0 &&
           b->n - start <= MAX_FILE)
        mortise_buf_put(b, block, got);
    bad = ferror(f) != 0;
    fclose(f);
    if (bad)
        return "it cannot be read";
    if (b->n - start > MAX_FILE)
        return "it is larger than 1 MiB";
    if (b->n > start && (memchr(b->p + start, '\0', b->n - start) != NULL ||
                         !mortise_utf8_is_valid(b->p + start, b->n - start)))
        return "it is not valid UTF-8";
    return NULL;
}

static void remove_line_end(struct mortise_buf *b, size_t start)
{
    if (b->n > start && b->p[b->n - 1] == '\n')
        b->n--;
    if (b->n > start && b->p[b->n - 1] == '\r')
        b->n--;
}

static bool append_file_value(struct expander *x, const struct hole *h,
                              struct mortise_buf *b)
{
    char *name =
        mortise_arena_strndup(x->arena, h->p + 5, (size_t)(h->end - h->p) - 5);
    char *path = name != NULL
                     ? join_file_path(x->arena, h->at->span.file->path, name)
                     : NULL;
    const char *why;
    size_t start = b->n;

    if (path == NULL)
        b->failed = true;
    if (path == NULL || !x->resolve)
        return false;
    why = append_file_text(path, b);
    if (why != NULL)
        mortise_diag_add(x->diags, "E0602", get_hole_span(h),
                         "file %s cannot be inserted: %s", path, why);
    else
        remove_line_end(b, start);
    return why == NULL;
}

/* Keep the ${...} as written if it is invalid or not resolved: an empty value
 * would cause a second finding. */
static void append_hole_value(struct expander *x, const struct hole *h,
                              struct mortise_buf *b)
{
    bool put = false;

    if (strncmp(h->p, "env:", 4) == 0)
        put = append_env_value(x, h, b);
    else if (strncmp(h->p, "file:", 5) == 0)
        put = append_file_value(x, h, b);
    else
        mortise_diag_add(x->diags, "E0603", get_hole_span(h),
                         "'%.*s' is neither ${env:NAME} nor ${file:PATH}",
                         (int)(h->to - h->from), h->from);
    if (!put)
        mortise_buf_put(b, h->from, (size_t)(h->to - h->from));
}

/* ---- strings --------------------------------------------------------- */

/* The next ${ that is not escaped, or NULL. The text before it is appended to b
 * (NULL: dropped). */
static const char *find_next_hole(const char *p, struct mortise_buf *b)
{
    const char *from;

    while ((from = strstr(p, "${")) != NULL) {
        bool literal = from > p && from[-1] == '$';

        if (b != NULL)
            mortise_buf_put(b, p, (size_t)(from - p) - literal);
        if (!literal)
            return from;
        if (b != NULL)
            mortise_buf_puts(b, "${");
        p = from + 2;
    }
    if (b != NULL)
        mortise_buf_puts(b, p);
    return NULL;
}

static void append_expanded_string(struct expander *x,
                                   const struct mortise_yaml *at,
                                   struct mortise_buf *b)
{
    const char *p = at->str, *end = at->str + at->len;
    struct hole h = {.at = at};

    while ((h.from = find_next_hole(p, b)) != NULL) {
        h.p = h.from + 2;
        h.end = strchr(h.p, '}');
        h.to = h.end != NULL ? h.end + 1 : end;
        if (h.end == NULL) {
            mortise_diag_add(x->diags, "E0603", get_hole_span(&h),
                             "this ${ is never closed");
            return;
        }
        append_hole_value(x, &h, b);
        p = h.to;
    }
}

static bool has_hole(const struct mortise_yaml *v)
{
    if (v->kind == MORTISE_YAML_STRING)
        return memmem(v->str, v->len, "${", 2) != NULL;
    if (v->kind == MORTISE_YAML_SEQ || v->kind == MORTISE_YAML_MAP)
        for (size_t i = 0; i < v->n; i++)
            if (has_hole(v->items[i]))
                return true;
    return false;
}

/* A copy that can be changed; its items are still shared. */
static struct mortise_yaml *copy_yaml_node(struct expander *x,
                                           const struct mortise_yaml *v)
{
    struct mortise_yaml *out = mortise_arena_alloc(x->arena, sizeof *out);

    if (out == NULL)
        return NULL;
    *out = *v;
    if (v->kind != MORTISE_YAML_SEQ && v->kind != MORTISE_YAML_MAP)
        return out;
    out->items = mortise_arena_alloc(x->arena, v->n * sizeof *out->items);
    return out->items != NULL ? out : NULL;
}

static struct mortise_yaml *expand_string(struct expander *x,
                                          const struct mortise_yaml *v)
{
    struct mortise_yaml *out = copy_yaml_node(x, v);
    struct mortise_buf b;

    if (out == NULL)
        return NULL;
    if (strlen(v->str) != v->len) {
        mortise_diag_add(x->diags, "E0603", v->span,
                         "a string with a NUL cannot contain ${");
        return out;
    }
    mortise_buf_init(&b, x->arena->mem);
    append_expanded_string(x, v, &b);
    out->str = !b.failed
                   ? mortise_arena_strndup(x->arena, b.n > 0 ? b.p : "", b.n)
                   : NULL;
    out->len = b.n;
    mortise_buf_finish(&b);
    return out->str != NULL ? out : NULL;
}

static struct mortise_yaml *expand_value(struct expander *x,
                                         struct mortise_yaml *v)
{
    struct mortise_yaml *out;

    if (!has_hole(v))
        return v;
    if (v->kind == MORTISE_YAML_STRING)
        return expand_string(x, v);
    out = copy_yaml_node(x, v);
    for (size_t i = 0; out != NULL && i < v->n; i++) {
        bool ignored = v->kind == MORTISE_YAML_MAP &&
                       mortise_yaml_is_x_key(v->keys[i]->str);

        out->items[i] = ignored ? v->items[i] : expand_value(x, v->items[i]);
        if (out->items[i] == NULL)
            return NULL;
    }
    return out;
}

struct mortise_yaml *mortise_expand_tree(struct mortise_arena *a,
                                         struct mortise_yaml *root,
                                         bool resolve,
                                         struct mortise_diags *diags)
{
    struct expander x = {a, diags, resolve};

    return expand_value(&x, root);
}

/* ---- origin of a value ------------------------------------------------ */

/* This reads the environment again: if it changed in the meantime, the answer
 * differs from the string. */
static bool is_env_unset(const char *name, size_t n)
{
    char room[256];

    if (n >= sizeof room)
        return false;
    memcpy(room, name, n);
    room[n] = '\0';
    return is_empty_value(getenv(room));
}

bool mortise_expand_find_next(const char **p, struct mortise_expansion *out)
{
    const char *from = find_next_hole(*p, NULL), *end, *name_end;

    end = from != NULL ? strchr(from, '}') : NULL;
    if (end == NULL)
        return false;
    out->file = strncmp(from + 2, "file:", 5) == 0;
    out->name = from + 2 + (out->file ? 5 : 4);
    name_end = out->file ? end : find_env_name_end(out->name, end);
    out->n = (size_t)(name_end - out->name);
    out->by_default = name_end != end && is_env_unset(out->name, out->n);
    *p = end + 1;
    return true;
}
