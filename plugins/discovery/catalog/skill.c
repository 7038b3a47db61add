/* skill.c -- Agent Skills: directories with a SKILL.md.
 *
 * What is read, by the published specification of Agent Skills:
 *
 *   (1) A SKILL.md begins with a line `---`, then YAML, then a line `---`; what
 *       stands behind that are the instructions, Markdown.
 *   (2) `name`: 1 to 64 of a-z, 0-9 and "-", none at either end nor two in a row;
 *       and it is the name of the directory.
 *   (3) `description`: 1 to 1024 characters.
 *   (4) `license`, `compatibility` (to 500 characters) and `allowed-tools` are
 *       texts, `metadata` is a mapping of texts.  They are checked, and mean
 *       nothing here: which tools a node may use is the graph's to say.
 *       Keys that the specification does not have are passed over.
 *
 * And by us: a file is regular, UTF-8, of max_skill bytes at most; there are 256
 * skills at most, no two of one name.  A link is not followed.  One that breaks
 * a rule is an error of the whole catalogue, in words: who asked for it would
 * look for it in vain.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

#include "catalog.h"

enum { COMPATIBILITY = 500 };

static const char file_name[] = "SKILL.md";

/* ---- saying no ----------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static bool
no(char why[CATALOG_SAYS], const char *dir, const char *fmt, ...)
{
    va_list ap;
    int n = snprintf(why, CATALOG_SAYS, "%.2000s/%s: ", dir, file_name);

    va_start(ap, fmt);
    vsnprintf(why + n, (size_t)(CATALOG_SAYS - n), fmt, ap);
    va_end(ap);
    return false;
}

/* ---- characters ---------------------------------------------------------- */

/* How many there are; SIZE_MAX: it is no UTF-8, or has a NUL in it. */
static size_t characters(const char *s, size_t n)
{
    const char *p = s, *end = s + n;
    size_t count = 0, step;

    for (; p < end; p += step, count++) {
        step = *p == '\0' ? 0 : mortise_jp_utf8(p, end);
        if (step == 0)
            return SIZE_MAX;
    }
    return count;
}

/* (2) */
static bool is_name(const char *s)
{
    size_t n = strlen(s);

    if (n == 0 || n > CATALOG_NAME || s[0] == '-' || s[n - 1] == '-' ||
        strstr(s, "--") != NULL)
        return false;
    return strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

/* ---- the file ------------------------------------------------------------ */

static char *read_all(int fd, size_t n)
{
    char *text = malloc(n + 1);
    size_t at = 0;

    while (text != NULL && at < n) {
        ssize_t got = read(fd, text + at, n - at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            free(text);
            return NULL;
        }
        at += (size_t)got;
    }
    if (text != NULL)
        text[n] = '\0';
    return text;
}

/* The text of the SKILL.md in that directory; NULL: why, or (not *there) there is
 * none. */
static char *read_file(int at, const char *dir, size_t max, bool *there,
                       char why[CATALOG_SAYS])
{
    int fd =
        openat(at, file_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char *text = NULL;
    struct stat st;

    *there = fd >= 0 || errno != ENOENT;
    if (fd < 0) {
        no(why, dir, "%s", strerrordesc_np(errno));
        return NULL;
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        no(why, dir, "it is not a regular file");
    else if ((uint64_t)st.st_size > max)
        no(why, dir, "it has %lld bytes, but the limit is %zu (max_skill)",
           (long long)st.st_size, max);
    else if ((text = read_all(fd, (size_t)st.st_size)) == NULL)
        no(why, dir, "it cannot be read");
    else if (characters(text, (size_t)st.st_size) == SIZE_MAX) {
        no(why, dir, "it is not UTF-8");
        free(text);
        text = NULL;
    }
    close(fd);
    return text;
}

/* ---- front matter (1) ---------------------------------------------------- */

/* Behind a line that is `---` and nothing else; NULL: `p` begins none. */
static char *behind_mark(char *p)
{
    if (strncmp(p, "---", 3) != 0)
        return NULL;
    p += 3;
    p += strspn(p, " \t\r");
    return *p == '\n' ? p + 1 : *p == '\0' ? p : NULL;
}

/* Where the YAML begins and ends, and the instructions begin. */
static bool split(char *text, char **yaml, char **end, char **body)
{
    char *line;

    if (strncmp(text, "\xEF\xBB\xBF", 3) == 0)
        text += 3;
    *yaml = behind_mark(text);
    if (*yaml == NULL)
        return false;
    for (line = *yaml; line != NULL && *line != '\0';) {
        *body = behind_mark(line);
        if (*body != NULL) {
            *end = line;
            return true;
        }
        line = strchr(line, '\n');
        if (line != NULL)
            line++;
    }
    return false;
}

struct front {
    yaml_document_t doc;
    const char *dir;
    char *why;
};

static const char *text_of(const yaml_node_t *n)
{
    return n != NULL && n->type == YAML_SCALAR_NODE &&
                   strlen((const char *)n->data.scalar.value) ==
                       n->data.scalar.length
               ? (const char *)n->data.scalar.value
               : NULL;
}

/* The value of a key; NULL: it has none. */
static yaml_node_t *value_of(struct front *f, const char *key)
{
    yaml_node_t *root = yaml_document_get_root_node(&f->doc);

    for (yaml_node_pair_t *p = root->data.mapping.pairs.start;
         p < root->data.mapping.pairs.top; p++) {
        const char *name = text_of(yaml_document_get_node(&f->doc, p->key));

        if (name != NULL && strcmp(name, key) == 0)
            return yaml_document_get_node(&f->doc, p->value);
    }
    return NULL;
}

static bool check_keys(struct front *f)
{
    yaml_node_t *root = yaml_document_get_root_node(&f->doc);

    if (root == NULL || root->type != YAML_MAPPING_NODE)
        return no(f->why, f->dir, "its front matter is not a mapping");
    for (yaml_node_pair_t *p = root->data.mapping.pairs.start;
         p < root->data.mapping.pairs.top; p++) {
        yaml_node_t *key = yaml_document_get_node(&f->doc, p->key);

        if (text_of(key) == NULL)
            return no(f->why, f->dir, "a key of its front matter is not text");
        if (value_of(f, text_of(key)) !=
            yaml_document_get_node(&f->doc, p->value))
            return no(f->why, f->dir, "'%.100s' occurs twice", text_of(key));
    }
    return true;
}

/* (4) */
static bool check_rest(struct front *f)
{
    static const char *const texts[] = {"license", "compatibility",
                                        "allowed-tools"};
    yaml_node_t *map = value_of(f, "metadata"), *v;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        v = value_of(f, texts[i]);
        if (v != NULL && text_of(v) == NULL)
            return no(f->why, f->dir, "'%s' is not text", texts[i]);
    }
    v = value_of(f, "compatibility");
    if (v != NULL && characters(text_of(v), strlen(text_of(v))) > COMPATIBILITY)
        return no(f->why, f->dir, "'compatibility' has more than %d characters",
                  (int)COMPATIBILITY);
    if (map != NULL && map->type != YAML_MAPPING_NODE)
        return no(f->why, f->dir, "'metadata' is not a mapping");
    for (yaml_node_pair_t *p = map != NULL ? map->data.mapping.pairs.start
                                           : NULL;
         map != NULL && p < map->data.mapping.pairs.top; p++)
        if (text_of(yaml_document_get_node(&f->doc, p->key)) == NULL ||
            text_of(yaml_document_get_node(&f->doc, p->value)) == NULL)
            return no(f->why, f->dir, "'metadata' is not a mapping of texts");
    return true;
}

/* The last part of a directory's path. */
static const char *base_of(const char *dir)
{
    const char *slash = strrchr(dir, '/');

    return slash != NULL ? slash + 1 : dir;
}

static bool take_front(struct front *f, struct skill *s)
{
    const char *name = text_of(value_of(f, "name"));
    const char *about = text_of(value_of(f, "description"));
    size_t n;

    if (name == NULL)
        return no(f->why, f->dir, "its front matter has no 'name'");
    if (!is_name(name))
        return no(f->why, f->dir,
                  "the name '%.80s' must be 1 to %d of a-z, 0-9 and single "
                  "hyphens inside",
                  name, CATALOG_NAME);
    if (strcmp(name, base_of(f->dir)) != 0)
        return no(f->why, f->dir,
                  "its name is '%s', but its directory is '%.80s'; they must "
                  "be equal",
                  name, base_of(f->dir));
    if (about == NULL)
        return no(f->why, f->dir, "its front matter has no 'description'");
    n = characters(about, strlen(about));
    if (n == 0 || n > CATALOG_ABOUT)
        return no(f->why, f->dir,
                  "its description has %zu characters, but the limit is %d", n,
                  CATALOG_ABOUT);
    snprintf(s->name, sizeof s->name, "%s", name);
    s->about = strdup(about);
    return check_rest(f) &&
           (s->about != NULL || no(f->why, f->dir, "out of memory"));
}

static bool begins(const yaml_event_t *e)
{
    return e->type == YAML_SEQUENCE_START_EVENT ||
           e->type == YAML_MAPPING_START_EVENT;
}

static bool ends(const yaml_event_t *e)
{
    return e->type == YAML_SEQUENCE_END_EVENT ||
           e->type == YAML_MAPPING_END_EVENT;
}

/* Where its collections are too deep; 0: nowhere, or what stands there is no
 * YAML, which who loads it says.  libyaml takes time by the square of how deep
 * they are, and is stopped before it does. */
static size_t deep_line(yaml_parser_t *parser)
{
    size_t depth = 0, line = 0;
    yaml_event_t e;
    bool more = true;

    while (more && line == 0 && yaml_parser_parse(parser, &e)) {
        depth = depth + begins(&e) - ends(&e);
        line = depth > CATALOG_DEPTH ? e.start_mark.line + 2 : 0;
        more = e.type != YAML_STREAM_END_EVENT;
        yaml_event_delete(&e);
    }
    return line;
}

static bool check_depth(const char *yaml, size_t n, const char *dir,
                        char why[CATALOG_SAYS])
{
    yaml_parser_t parser;
    size_t line;

    if (!yaml_parser_initialize(&parser))
        return no(why, dir, "out of memory");
    yaml_parser_set_input_string(&parser, (const unsigned char *)yaml, n);
    line = deep_line(&parser);
    yaml_parser_delete(&parser);
    return line == 0 ||
           no(why, dir,
              "line %zu of its front matter is nested more than %d deep", line,
              CATALOG_DEPTH);
}

static bool read_front(const char *yaml, size_t n, const char *dir,
                       struct skill *s, char why[CATALOG_SAYS])
{
    struct front f = {.dir = dir, .why = why};
    yaml_parser_t parser;
    bool ok;

    if (n > CATALOG_FRONT)
        return no(why, dir, "its front matter has more than %d bytes",
                  CATALOG_FRONT);
    if (!check_depth(yaml, n, dir, why))
        return false;
    if (!yaml_parser_initialize(&parser))
        return no(why, dir, "out of memory");
    yaml_parser_set_input_string(&parser, (const unsigned char *)yaml, n);
    if (!yaml_parser_load(&parser, &f.doc)) {
        no(why, dir, "line %zu of its front matter: %s",
           parser.problem_mark.line + 2,
           parser.problem != NULL ? parser.problem : "out of memory");
        yaml_parser_delete(&parser);
        return false;
    }
    ok = check_keys(&f) && take_front(&f, s);
    yaml_document_delete(&f.doc);
    yaml_parser_delete(&parser);
    return ok;
}

/* ---- directories --------------------------------------------------------- */

static bool is_there(const struct skills *s, const char *name)
{
    for (size_t i = 0; i + 1 < s->n; i++)
        if (strcmp(s->list[i].name, name) == 0)
            return true;
    return false;
}

/* The skill that is in the directory, into the list. */
static bool take(struct skills *s, char *text, const char *dir,
                 char why[CATALOG_SAYS])
{
    char *yaml, *end, *body;
    struct skill *one;

    if (s->n == CATALOG_SKILLS)
        return no(why, dir, "there are more than %d skills", CATALOG_SKILLS);
    if (!split(text, &yaml, &end, &body))
        return no(why, dir,
                  "it must begin with front matter between two lines '---'");
    one = &s->list[s->n++];
    if (!read_front(yaml, (size_t)(end - yaml), dir, one, why))
        return false;
    if (is_there(s, one->name))
        return no(why, dir, "another skill has the name '%s'", one->name);
    one->body = strdup(body + strspn(body, "\r\n"));
    return one->body != NULL || no(why, dir, "out of memory");
}

/* *there: it is a skill. */
static bool read_skill(struct skills *s, int fd, const char *dir, size_t max,
                       bool *there, char why[CATALOG_SAYS])
{
    char *text = read_file(fd, dir, max, there, why);
    bool ok = text != NULL && take(s, text, dir, why);

    free(text);
    return ok || !*there;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in it, sorted, so that the same directories give the same list; the
 * count, or -1. */
static int names_of(int fd, char ***out)
{
    int own = dup(fd), n = 0, cap = 0;
    DIR *d = own >= 0 ? fdopendir(own) : NULL;
    char **list = NULL;
    struct dirent *e;

    *out = NULL;
    while (d != NULL && (e = readdir(d)) != NULL) {
        char **more = list;

        if (e->d_name[0] == '.')
            continue;
        if (n == cap) {
            cap = cap > 0 ? 2 * cap : 64;
            more = realloc(list, (size_t)cap * sizeof *more);
        }
        if (more != NULL)
            list = more;
        if (more == NULL || (list[n] = strdup(e->d_name)) == NULL) {
            while (n > 0)
                free(list[--n]);
            free(list);
            closedir(d);
            return -1;
        }
        n++;
    }
    if (d == NULL) {
        if (own >= 0)
            close(own);
        return -1;
    }
    closedir(d);
    qsort(list, (size_t)n, sizeof *list, by_name);
    *out = list;
    return n;
}

static bool read_below(struct skills *s, int fd, const char *dir,
                       const char *name, size_t max, char why[CATALOG_SAYS])
{
    char path[4096];
    int below =
        openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool there, ok = true;

    if (below < 0)
        return true; /* a file beside the skills, or a link */
    snprintf(path, sizeof path, "%.3800s/%.250s", dir, name);
    ok = read_skill(s, below, path, max, &there, why);
    close(below);
    return ok;
}

bool skills_read(struct skills *s, const char *dir, size_t max_skill,
                 char why[CATALOG_SAYS])
{
    char path[4096], **names;
    int fd, n;
    bool there, ok;

    snprintf(path, sizeof path, "%.4000s", dir);
    while (strlen(path) > 1 && path[strlen(path) - 1] == '/')
        path[strlen(path) - 1] = '\0';
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        snprintf(why, CATALOG_SAYS, "%s: %s", path, strerrordesc_np(errno));
        return false;
    }
    ok = read_skill(s, fd, path, max_skill, &there, why);
    if (!there) {
        n = names_of(fd, &names);
        ok = n >= 0 || (snprintf(why, CATALOG_SAYS,
                                 "%s: the directory cannot be listed", path),
                        false);
        for (int i = 0; i < n; i++) {
            ok = ok && read_below(s, fd, path, names[i], max_skill, why);
            free(names[i]);
        }
        free(names);
    }
    close(fd);
    return ok;
}

void skills_free(struct skills *s)
{
    for (size_t i = 0; i < s->n; i++) {
        free(s->list[i].about);
        free(s->list[i].body);
    }
    s->n = 0;
}
