/* files.c -- loading of graphs that are in files of their own.
 *
 *   (1) Each file is read and parsed once a load, and each directory listed
 *       once, however many nodes refer to it.  Findings are reported once.
 *   (2) The meaning of a reference depends on the path of the file that
 *       contains it and on the texts, never on the current directory.  The
 *       sources that a run pins, under their original paths, load to the same
 *       graph on any machine.
 *   (3) Runs record errors with a location.  The record must not depend on how
 *       a path was spelled or from which directory: it names each file relative
 *       to the directory of the graph's own file.
 *   (4) A name is looked up in the directory of the file that contains the
 *       reference, and nowhere else.  A file there that cannot be parsed has no
 *       name; this is no finding, because nobody asked for that file.
 *   (5) The digest of a graph covers the content of the graphs that it refers
 *       to, not their paths: a graph that is moved keeps its digest.
 */
#include "lang/graph/load/files.h"

#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/wild.h"

/* ---- paths ----------------------------------------------------------- */

/* Remove "." and "x/.." from the path, in place. */
static void normalize_path(char *path)
{
    char *to = path, *root = path + (path[0] == '/');
    const char *from = root;

    to = root;
    while (*from != '\0') {
        size_t n = strcspn(from, "/");
        char *last = to > root ? to - 1 : root;

        while (last > root && last[-1] != '/')
            last--;
        if (n == 2 && memcmp(from, "..", 2) == 0 && to > root &&
            strncmp(last, "../", 3) != 0) {
            to = last;
        } else if (n > 0 && !(n == 1 && from[0] == '.')) {
            memmove(to, from, n);
            to += n;
            *to++ = '/';
        }
        from += n + (from[n] == '/');
    }
    if (to > root)
        to--;
    *to = '\0';
}

/* The length of the directory part of a path, including the slash. */
static size_t dir_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? (size_t)(slash - path) + 1 : 0;
}

/* The path of `name` as the file `from` refers to it (2). */
static const char *resolve_path(struct mortise_loader *ld, const char *from,
                                const char *name)
{
    size_t dir = name[0] == '/' ? 0 : dir_of(from), n = strlen(name);
    /* normalize_path() may add a '/' */
    char *path = mortise_load_alloc(ld, dir + n + 2);

    if (path == NULL)
        return NULL;
    memcpy(path, from, dir);
    memcpy(path + dir, name, n);
    normalize_path(path);
    return path;
}

static const char *get_base_name(const char *path)
{
    return path + dir_of(path);
}

void mortise_load_name_root(const struct mortise_yaml *root)
{
    mortise_yaml_set_alias(root, get_base_name(root->span.file->path));
}

/* Set the name of the file in records (3): `name`, relative to the file that
 * contains `from`.  The first reference sets it. */
static void set_file_alias(struct mortise_loader *ld,
                           const struct mortise_graph_file *f,
                           const struct mortise_yaml *from, const char *name)
{
    if (f->tree != NULL && f->tree->span.file->alias == NULL)
        mortise_yaml_set_alias(
            f->tree,
            resolve_path(ld, mortise_source_file_name(from->span.file), name));
}

/* ---- references ------------------------------------------------------ */

/* A reference while it is read; NULL: the key is missing. */
struct ref {
    const struct mortise_yaml *at, *file, *name, *version, *digest;
    const char *id;   /* of `name`, without its version */
    const char *want; /* the version, as text */
};

static void read_ref_digest(void *ctx, void *into,
                            const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct ref *ref = into;
    uint8_t digest[MORTISE_DIGEST];

    ref->digest = slot->value;
    if (mortise_hex_decode(digest, sizeof digest, slot->value->str,
                           slot->value->len) != 0)
        mortise_diag_add(ld->diags, "E0208", slot->value->span,
                         "'digest' must be 64 hexadecimal digits");
}

static const struct mortise_key ref_keys[] = {
    {.name = "file",
     .about = "The path of a graph file, relative to this file.",
     .value = MORTISE_V_STRING,
     MORTISE_INTO_YAML(struct ref, file)},
    {.name = "name",
     .about = "The name of a graph in a file *.graph.yaml of this directory.",
     .value = MORTISE_V_STRING,
     MORTISE_INTO_YAML(struct ref, name)},
    {.name = "version",
     .about = "The version that the graph must have.",
     .value = MORTISE_V_STRING,
     MORTISE_INTO_YAML(struct ref, version)},
    {.name = "digest",
     .about = "The digest that the graph must have.",
     .value = MORTISE_V_STRING,
     .read = read_ref_digest},
};

const struct mortise_place mortise_graph_ref_place = {
    MORTISE_PLACE_OF("a graph that stands elsewhere", ref_keys)};

bool mortise_load_is_ref(const struct mortise_yaml *v)
{
    return v->kind != MORTISE_YAML_MAP ||
           (mortise_yaml_get(v, "nodes") == NULL &&
            (mortise_yaml_get(v, "file") != NULL ||
             mortise_yaml_get(v, "name") != NULL));
}

/* "x.graph.yaml" and "dir/x" are files; "x" and "x@1.2.0" are names. */
static void read_ref_string(struct mortise_loader *ld, struct ref *ref,
                            const struct mortise_yaml *v)
{
    const char *at = strchr(v->str, '@');
    char *id;

    if (mortise_wild_match("*/*", v->str) ||
        mortise_wild_match("*.yaml", v->str) ||
        mortise_wild_match("*.yml", v->str) ||
        mortise_wild_match("*.json", v->str)) {
        ref->file = v;
        return;
    }
    ref->name = v;
    ref->id = v->str;
    if (at == NULL)
        return;
    ref->version = v;
    ref->want = at + 1;
    id = mortise_load_alloc(ld, (size_t)(at - v->str) + 1);
    if (id != NULL)
        memcpy(id, v->str, (size_t)(at - v->str));
    ref->id = id;
}

/* False after a finding. */
static bool read_file_ref(struct mortise_loader *ld, struct ref *ref,
                          const struct mortise_yaml *v)
{
    size_t errors = ld->diags->n_errors;

    *ref = (struct ref){.at = v};
    if (v->kind == MORTISE_YAML_STRING && v->len > 0 &&
        strlen(v->str) == v->len) {
        read_ref_string(ld, ref, v);
    } else if (v->kind != MORTISE_YAML_MAP) {
        mortise_diag_add(ld->diags, "E0203", v->span,
                         "'graph' must be a graph, the path of a file or the "
                         "name of a graph");
    } else {
        mortise_keys_read(&mortise_graph_ref_place, v, v->span, ld, ref,
                          ld->diags);
        ref->id = ref->name != NULL ? ref->name->str : NULL;
        ref->want = ref->version != NULL ? ref->version->str : NULL;
        if (ref->file != NULL && ref->name != NULL)
            mortise_diag_add(ld->diags, "E0212", v->span,
                             "use 'file' or 'name', not both");
    }
    return ld->diags->n_errors == errors && !ld->nomem;
}

/* ---- files ----------------------------------------------------------- */

static struct mortise_graph_file *find_known_file(struct mortise_loader *ld,
                                                  const char *path)
{
    struct mortise_graph_file *f = ld->root->files;

    while (f != NULL && strcmp(f->source.path, path) != 0)
        f = f->next;
    return f;
}

static struct mortise_graph_file *add_graph_file(struct mortise_loader *ld,
                                                 const char *path)
{
    struct mortise_graph_file *f = mortise_load_alloc(ld, sizeof *f), **at;

    if (f == NULL)
        return NULL;
    f->source.path = path;
    for (at = &ld->root->files; *at != NULL; at = &(*at)->next)
        ;
    *at = f;
    return f;
}

static void keep_parsed_file(struct mortise_graph_file *f,
                             const struct mortise_yaml *tree)
{
    f->tree = tree;
    f->source.text = tree->span.file->text;
    f->source.size = tree->span.file->size;
}

/* Read and parse the file; findings of the parser go to `diags`. */
static int fetch_graph_file(struct mortise_loader *ld,
                            struct mortise_graph_file *f,
                            struct mortise_diags *diags,
                            struct mortise_err *why)
{
    const struct mortise_graph_files *files = ld->catalog->files;
    struct mortise_yaml *tree;
    struct mortise_buf text;
    int rv;

    if (files == NULL)
        return mortise_fail(why, MORTISE_ENOTFOUND,
                            "other files are not available here");
    mortise_buf_init(&text, ld->mem);
    rv = files->read(files->ud, f->source.path, &text, why);
    if (rv == MORTISE_OK && mortise_buf_cstr(&text) == NULL)
        rv = mortise_nomem(why);
    if (rv == MORTISE_OK)
        rv = mortise_yaml_parse(&tree, ld->arena, f->source.path, text.p,
                                text.n, diags);
    if (rv == MORTISE_OK)
        keep_parsed_file(f, tree);
    mortise_buf_finish(&text);
    ld->nomem |= rv == MORTISE_ENOMEM;
    return rv;
}

static struct mortise_graph_file *find_file_by_path(struct mortise_loader *ld,
                                                    const struct ref *ref)
{
    const char *path =
        resolve_path(ld, ref->at->span.file->path, ref->file->str);
    struct mortise_graph_file *f =
        path != NULL ? find_known_file(ld, path) : NULL;
    struct mortise_err why;
    int rv;

    if (path == NULL || (f == NULL && (f = add_graph_file(ld, path)) == NULL))
        return NULL;
    rv = f->tree != NULL || f->bad ? MORTISE_OK
                                   : fetch_graph_file(ld, f, ld->diags, &why);
    set_file_alias(ld, f, ref->at, ref->file->str);
    if (rv == MORTISE_OK)
        return f;
    f->bad = true;
    if (rv != MORTISE_ECHECK && rv != MORTISE_ENOMEM)
        mortise_diag_add(ld->diags, "E0315", ref->file->span,
                         "no graph in %s: %s", path, why.msg);
    return f;
}

/* ---- names (4) ------------------------------------------------------- */

static const char *get_metadata_text(const struct mortise_graph_file *f,
                                     const char *key)
{
    const struct mortise_yaml *v =
        f->tree != NULL
            ? mortise_yaml_get(mortise_yaml_get(f->tree, "metadata"), key)
            : NULL;

    return v != NULL && v->kind == MORTISE_YAML_STRING ? v->str : "";
}

static int load_listed_file(void *into, const char *path)
{
    struct mortise_loader *ld = into;
    struct mortise_diags unasked;
    struct mortise_graph_file *f;
    struct mortise_err why;
    const char *plain_path = resolve_path(ld, "", path);

    if (plain_path == NULL)
        return MORTISE_ENOMEM;
    if (find_known_file(ld, plain_path) != NULL)
        return MORTISE_OK;
    f = add_graph_file(ld, plain_path);
    if (f == NULL)
        return MORTISE_ENOMEM;
    mortise_diags_init(&unasked, ld->mem);
    fetch_graph_file(ld, f, &unasked, &why);
    mortise_diags_finish(&unasked);
    return ld->nomem ? MORTISE_ENOMEM : MORTISE_OK;
}

/* Load all graph files in the directory of `from`, once. */
static void load_directory(struct mortise_loader *ld, const char *from)
{
    const struct mortise_graph_files *files = ld->catalog->files;
    size_t n = dir_of(from);
    struct mortise_graph_dir *d = ld->root->dirs;
    struct mortise_err why;
    char *path;

    while (d != NULL && (strlen(d->path) != n || memcmp(d->path, from, n) != 0))
        d = d->next;
    if (files == NULL || d != NULL)
        return;
    d = mortise_load_alloc(ld, sizeof *d);
    path = mortise_load_alloc(ld, n + 1);
    if (d == NULL || path == NULL)
        return;
    d->path = memcpy(path, from, n);
    d->next = ld->root->dirs;
    ld->root->dirs = d;
    files->list(files->ud, path, load_listed_file, ld, &why);
}

/* Is the file in the directory of `from`, however that is spelled? */
static bool is_in_directory_of(struct mortise_loader *ld,
                               const struct mortise_graph_file *f,
                               const char *from)
{
    const char *plain = resolve_path(ld, "", from);
    size_t n = plain != NULL ? dir_of(plain) : 0;

    return plain != NULL && dir_of(f->source.path) == n &&
           memcmp(f->source.path, plain, n) == 0;
}

static bool file_fits_ref(struct mortise_loader *ld,
                          const struct mortise_graph_file *f,
                          const struct ref *ref)
{
    return is_in_directory_of(ld, f, ref->at->span.file->path) &&
           strcmp(get_metadata_text(f, "name"), ref->id) == 0 &&
           (ref->want == NULL ||
            strcmp(get_metadata_text(f, "version"), ref->want) == 0);
}

/* Find the reference among the files that were read; *n is the number of
 * matches. */
static struct mortise_graph_file *
find_named_file(struct mortise_loader *ld, const struct ref *ref, size_t *n)
{
    struct mortise_graph_file *found = NULL;

    *n = 0;
    for (struct mortise_graph_file *f = ld->root->files; f != NULL;
         f = f->next) {
        if (!file_fits_ref(ld, f, ref))
            continue;
        if (found == NULL)
            found = f;
        ++*n;
    }
    return found;
}

/* Suggest another version of the same graph, or a similar name. */
static void suggest_graph_name(struct mortise_loader *ld, const struct ref *ref,
                               struct mortise_diag *d)
{
    const char *names[64], *near;
    size_t n = 0;

    for (const struct mortise_graph_file *f = ld->root->files;
         f != NULL && n < 64; f = f->next) {
        if (!is_in_directory_of(ld, f, ref->at->span.file->path))
            continue;
        if (strcmp(get_metadata_text(f, "name"), ref->id) == 0) {
            mortise_diag_help(ld->diags, d, "%s has the version '%s'",
                              f->source.path, get_metadata_text(f, "version"));
            return;
        }
        names[n++] = get_metadata_text(f, "name");
    }
    near = mortise_nearest_find(ref->id, names, n);
    if (near != NULL)
        mortise_diag_help(ld->diags, d, "did you mean '%s'?", near);
    else
        mortise_diag_help(
            ld->diags, d,
            "names are looked up in the *.graph.yaml files of the same "
            "directory; a path contains '/' or ends with .yaml");
}

static struct mortise_graph_file *find_file_by_name(struct mortise_loader *ld,
                                                    const struct ref *ref)
{
    struct mortise_graph_file *f;
    size_t n;

    load_directory(ld, ref->at->span.file->path);
    if (ld->nomem)
        return NULL;
    f = find_named_file(ld, ref, &n);
    if (f != NULL)
        set_file_alias(ld, f, ref->at, get_base_name(f->source.path));
    if (n == 0)
        suggest_graph_name(
            ld, ref,
            mortise_diag_add(ld->diags, "E0315", ref->name->span,
                             "no graph '%s'%s%s in the directory of this file",
                             ref->id, ref->want != NULL ? " of version " : "",
                             ref->want != NULL ? ref->want : ""));
    else if (n > 1)
        mortise_diag_help(
            ld->diags,
            mortise_diag_add(
                ld->diags, "E0315", ref->name->span,
                "%zu graphs in the directory of this file are named '%s'", n,
                ref->id),
            "choose one: %s@VERSION", ref->id);
    return n == 1 ? f : NULL;
}

/* ---- pins ------------------------------------------------------------ */

static bool check_graph_version(struct mortise_loader *ld,
                                const struct ref *ref,
                                const struct mortise_graph_file *f)
{
    if (ref->want == NULL || f->tree == NULL ||
        strcmp(get_metadata_text(f, "version"), ref->want) == 0)
        return true;
    mortise_diag_add(ld->diags, "E0317", ref->version->span,
                     "%s has the version '%s', not '%s'", f->source.path,
                     get_metadata_text(f, "version"), ref->want);
    return false;
}

void mortise_load_check_digest(struct mortise_loader *ld,
                               const struct mortise_yaml *ref,
                               const struct mortise_graph_file *f)
{
    const struct mortise_yaml *at =
        ref->kind == MORTISE_YAML_MAP ? mortise_yaml_get(ref, "digest") : NULL;
    uint8_t want[MORTISE_DIGEST];
    char have[2 * MORTISE_DIGEST + 1];

    if (at == NULL ||
        mortise_hex_decode(want, sizeof want, at->str, at->len) != 0 ||
        memcmp(want, f->digest, sizeof want) == 0)
        return;
    mortise_hex_encode(have, f->digest, sizeof f->digest);
    mortise_diag_add(ld->diags, "E0317", at->span,
                     "%s does not match 'digest': its digest is %s",
                     f->source.path, have);
}

/* ---- entry ----------------------------------------------------------- */

/* Is the graph that is being loaded inside one from this file? */
static bool check_file_recursion(struct mortise_loader *ld,
                                 const struct ref *ref,
                                 const struct mortise_graph_file *f)
{
    const struct mortise_loader *at = ld;
    const char *path = f->source.path;

    while (at != NULL && (path = resolve_path(ld, "", at->g->path)) != NULL &&
           strcmp(path, f->source.path) != 0)
        at = at->outer;
    if (at == NULL)
        return false;
    if (path != NULL)
        mortise_diag_add(ld->diags, "E0316", ref->at->span,
                         "%s would contain itself", f->source.path);
    return true;
}

struct mortise_graph_file *mortise_load_file(struct mortise_loader *ld,
                                             const struct mortise_yaml *v)
{
    struct mortise_graph_file *f;
    struct ref ref;

    if (!read_file_ref(ld, &ref, v))
        return NULL;
    f = ref.file != NULL ? find_file_by_path(ld, &ref)
                         : find_file_by_name(ld, &ref);
    if (f == NULL || f->bad || !check_graph_version(ld, &ref, f) ||
        check_file_recursion(ld, &ref, f))
        return NULL;
    f->used = true;
    return f;
}

const struct mortise_graph_file *
mortise_load_find_file(struct mortise_loader *ld, const struct mortise_yaml *v)
{
    const char *path;
    struct ref ref;
    size_t n;

    if (!read_file_ref(ld, &ref, v))
        return NULL;
    if (ref.file == NULL)
        return find_named_file(ld, &ref, &n);
    path = resolve_path(ld, v->span.file->path, ref.file->str);
    return path != NULL ? find_known_file(ld, path) : NULL;
}

void mortise_load_sources(struct mortise_loader *ld)
{
    const struct mortise_source_file *own = ld->g->tree->span.file;
    struct mortise_source *list, matches;
    size_t n = 1;

    bool has_matches = mortise_load_matches_source(ld, &matches);

    for (struct mortise_graph_file *f = ld->files; f != NULL; f = f->next)
        n += f->used;
    list = mortise_load_alloc(ld, (n + has_matches) * sizeof *list);
    ld->g->sources = list;
    if (list == NULL)
        return;
    ld->g->n_sources = n + has_matches;
    if (has_matches)
        list[n] = matches;
    *list++ = (struct mortise_source){own->path, own->text, own->size};
    for (struct mortise_graph_file *f = ld->files; f != NULL; f = f->next)
        if (f->used)
            *list++ = f->source;
}
