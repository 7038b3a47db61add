/* manifest.c -- the text of NAME.plugin.yaml.
 *
 * Tables of keys (lang/yaml/keys.h), one per mapping, drive the parser, so the
 * tables below list everything that this build enforces.  A feature of
 * plugins.md that this build lacks is an error (`later`), never skipped:
 * otherwise a plugin whose manifest asks for limits would run without them.
 *
 *   (1) A manifest that is returned has no error finding, and all its pointers
 *       point into its arena.
 *   (2) Permissions other than `state` are kept for `plugin inspect`; only
 *       process isolation could enforce them.
 *   (3) `digest` is that of the parsed bytes, which are the signed ones. */
#include "lang/manifest/manifest.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/name.h"
#include "core/json/path.h"
#include "mortise/plugin.h"
#include "core/plugin/services.h"
#include "lang/manifest/reading.h"
#include "core/plugin/version.h"
#include "lang/yaml/header.h"
#include "lang/yaml/schema.h"
#include "lang/yaml/text.h"

/* ---- metadata, abi ------------------------------------------------------- */

static void read_metadata_name(void *ctx, void *into,
                               const struct mortise_slot *slot)
{
    struct mortise_manifest_reader *r = ctx;
    struct mortise_manifest *m = into;

    m->name = slot->value->str;
    mortise_header_check_name(slot->value, "a name", r->diags);
}

static void read_metadata_version(void *ctx, void *into,
                                  const struct mortise_slot *slot)
{
    struct mortise_manifest_reader *r = ctx;
    struct mortise_manifest *m = into;
    struct mortise_diag *d;

    m->version = slot->value->str;
    if (mortise_version_is_valid(m->version))
        return;
    d = mortise_diag_add(r->diags, "E0702", slot->value->span,
                         "'%s' is not a valid version", m->version);
    mortise_diag_help(r->diags, d, "use one to four numbers with dots: 1.4.2");
}

static const struct mortise_key metadata_keys[] = {
    {.name = "name",
     .about = "The plugin's name, as graphs use it.",
     .value = MORTISE_V_STRING,
     .required = true,
     .read = read_metadata_name},
    {.name = "version",
     .about = "The plugin's version, MAJOR.MINOR.PATCH.",
     .value = MORTISE_V_STRING,
     .required = true,
     .read = read_metadata_version},
    {.name = "description",
     .about = "A description for people.",
     .value = MORTISE_V_STRING,
     MORTISE_INTO_TEXT(struct mortise_manifest, description)},
    {.name = "license",
     .about = "The plugin's license, as an SPDX expression.",
     .value = MORTISE_V_STRING,
     MORTISE_INTO_TEXT(struct mortise_manifest, license)},
};
MORTISE_PLACE(metadata, "metadata");

static const struct mortise_key abi_keys[] = {
    {.name = "major",
     .about = "The major number of the ABI that the plugin was built for.",
     .required = true,
     .min = 1,
     .max = 65535,
     MORTISE_INTO_U32(struct mortise_manifest, abi_major)},
    {.name = "minor",
     .about = "The lowest minor number of the ABI that the plugin needs.",
     .required = true,
     .max = 65535,
     MORTISE_INTO_U32(struct mortise_manifest, abi_minor)},
};
MORTISE_PLACE(abi, "abi");

/* go will need `isolation: process`: its runtime supports neither unloading nor
 * fork(). */
static const struct mortise_word runtimes[] = {
    {.word = "c"},
    {.word = "c++"},
    {.word = "rust"},
    {.word = "zig"},
    {.word = "go", .later = true},
    {.word = NULL},
};

/* ---- artifacts ----------------------------------------------------------- */

static const struct mortise_word arches[] = {
    {.word = "x86_64-linux-gnu"},
    {.word = "aarch64-linux-gnu"},
    {.word = NULL},
};

static void read_artifact_file(void *ctx, void *into,
                               const struct mortise_slot *slot)
{
    struct mortise_manifest_reader *r = ctx;
    struct mortise_artifact *a = into;

    a->file = slot->value->str;
    if (strchr(a->file, '/') != NULL || a->file[0] == '.' ||
        strlen(a->file) > 200)
        mortise_diag_add(r->diags, "E0703", slot->value->span,
                         "'file' must be the name of a file beside the "
                         "manifest, without a path, not '%s'",
                         a->file);
}

static void read_artifact_digest(void *ctx, void *into,
                                 const struct mortise_slot *slot)
{
    struct mortise_manifest_reader *r = ctx;
    struct mortise_artifact *a = into;

    a->is_digested = true;
    if (mortise_hex_decode(a->digest, sizeof a->digest, slot->value->str,
                           slot->value->len) != 0)
        mortise_diag_add(r->diags, "E0703", slot->value->span,
                         "'blake2b-256' must be 64 hex digits");
}

static const struct mortise_key artifact_keys[] = {
    {.name = "arch",
     .about = "The architecture of the file.",
     .value = MORTISE_V_WORD,
     .required = true,
     .words = arches,
     MORTISE_INTO_TEXT(struct mortise_artifact, arch)},
    {.name = "file",
     .about = "The shared object, beside the manifest.",
     .value = MORTISE_V_STRING,
     .required = true,
     .read = read_artifact_file},
    {.name = "size",
     .about = "The size of the file in bytes; required in a signed manifest.",
     .min = 1,
     .max = 1 << 28,
     MORTISE_INTO_U64(struct mortise_artifact, size)},
    {.name = "blake2b-256",
     .about = "The BLAKE2b-256 digest of the file, in hexadecimal; required in "
              "a signed manifest.",
     .value = MORTISE_V_STRING,
     .read = read_artifact_digest},
};
MORTISE_PLACE(artifact, "an artifact");

static void check_unique_arch(struct mortise_manifest_reader *r,
                              const struct mortise_artifact *a,
                              const struct mortise_yaml *at)
{
    for (const struct mortise_artifact *b = r->m->artifacts; b < a; b++)
        if (a->arch != NULL && b->arch != NULL && strcmp(a->arch, b->arch) == 0)
            mortise_diag_add(r->diags, "E0703", at->span,
                             "two artifacts for '%s'; remove one", a->arch);
}

/* A signed manifest must have the size and digest of each object. */
static void check_signed_artifact(struct mortise_manifest_reader *r,
                                  const struct mortise_yaml *at)
{
    bool size = mortise_keys_has_key(&artifact_place, at, "size");
    bool digest = mortise_keys_has_key(&artifact_place, at, "blake2b-256");

    if (!r->need_artifacts || at->kind != MORTISE_YAML_MAP || (size && digest))
        return;
    mortise_diag_help(
        r->diags,
        mortise_diag_add(r->diags, "E0206", at->span,
                         "an artifact of a signed manifest needs %s%s%s",
                         size ? "" : "'size'", size || digest ? "" : " and ",
                         digest ? "" : "'blake2b-256'"),
        "take 'artifacts' out of the manifest and sign it again, with each "
        "object: 'mortise plugin sign MANIFEST OBJECT ...' writes all of them");
}

static void read_artifacts(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct mortise_manifest_reader *r = ctx;
    struct mortise_manifest *m = into;
    const struct mortise_yaml *list = slot->value;

    m->artifacts =
        mortise_manifest_reader_alloc(r, list->n * sizeof *m->artifacts);
    for (size_t i = 0; m->artifacts != NULL && i < list->n; i++) {
        struct mortise_artifact *a = &m->artifacts[m->n_artifacts++];

        mortise_keys_read(&artifact_place, list->items[i], list->items[i]->span,
                          r, a, r->diags);
        check_signed_artifact(r, list->items[i]);
        check_unique_arch(r, a, list->items[i]);
    }
}

/* ---- configuration ------------------------------------------------------- */

static void read_config_schema(void *ctx, void *into,
                               const struct mortise_slot *slot)
{
    struct mortise_manifest_reader *r = ctx;
    struct mortise_manifest *m = into;

    m->config_schema =
        mortise_manifest_read_schema(r, slot, &m->config_secrets);
}

/* ---- provides ------------------------------------------------------------ */

enum { IDLE_MS = 30000 };

static void read_provided_kind(void *ctx, void *into,
                               const struct mortise_slot *slot);

static const struct mortise_key provides_keys[] = {
#define KIND(ID, kind, words)                                                  \
    [MORTISE_KIND_##ID] = {.name = #kind,                                      \
                           .about = words,                                     \
                           .value = MORTISE_V_MAP,                             \
                           .place = &mortise_manifest_kind_##kind.place,       \
                           .read = read_provided_kind},
#include "core/plugin/kinds.def"
#undef KIND
    {.name = "state", .later = true},
    {.name = "store", .later = true},
};
MORTISE_PLACE(provides, "provides");

/* Defaults: one call at a time, and a time limit of 30 s without activity. */
static void read_provided_kind(void *ctx, void *into,
                               const struct mortise_slot *slot)
{
    struct mortise_manifest_reader *r = ctx;
    struct mortise_manifest *m = into;
    enum mortise_kind kind = mortise_kind_find(slot->key->name);
    struct mortise_interface *p;

    assert(kind < MORTISE_KINDS); /* provides_keys is made of the kinds */
    p = &m->provides[kind];
    *p = (struct mortise_interface){
        .present = true, .concurrency = 1, .idle_ms = IDLE_MS};
    mortise_keys_read_slot(slot, r, p, r->diags);
}

/* ---- requires ------------------------------------------------------------ */

static struct mortise_word methods[MORTISE_MAX_KEYS];

static void collect_methods(void)
{
    size_t n = 0;

    for (size_t i = 0; mortise_services[i] != NULL; i++) {
        const struct mortise_method *row = mortise_services[i]->methods;

        for (; row->name != NULL; row++) {
            methods[n++].word = row->name;
            assert(n < MORTISE_MAX_KEYS); /* the last word ends the list */
        }
    }
}

static const struct mortise_word *list_methods(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, collect_methods);
    return methods;
}

static void read_host_range(void *ctx, void *into,
                            const struct mortise_slot *slot)
{
    struct mortise_manifest_reader *r = ctx;
    struct mortise_manifest *m = into;
    struct mortise_diag *d;

    m->requires_host = slot->value->str;
    if (mortise_range_is_valid(m->requires_host))
        return;
    d = mortise_diag_add(r->diags, "E0702", slot->value->span,
                         "'%s' is not a valid range of versions",
                         m->requires_host);
    mortise_diag_help(r->diags, d, "use comparisons with spaces: \">=1.0 <2\"");
}

static void read_methods(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_manifest_reader *r = ctx;
    struct mortise_manifest *m = into;
    const struct mortise_yaml *list = slot->value;
    const char **items =
        mortise_manifest_reader_alloc(r, (list->n + 1) * sizeof *items);

    for (size_t i = 0; items != NULL && i < list->n; i++)
        if (mortise_word_find(list_methods(), "methods", list->items[i],
                              r->diags) != NULL)
            items[m->n_methods++] = list->items[i]->str;
    m->methods = items;
}

static const struct mortise_key requires_keys[] = {
    {.name = "host",
     .about = "The versions of the plugin ABI that the plugin works with.",
     .value = MORTISE_V_STRING,
     .read = read_host_range},
    {.name = "methods",
     .about = "The methods of the host that the plugin asks for.",
     .value = MORTISE_V_LIST,
     MORTISE_EACH(.value = MORTISE_V_WORD, .list_words = list_methods),
     .read = read_methods},
    {.name = "plugins", .later = true},
};
MORTISE_PLACE(requires, "requires");

/* ---- permissions --------------------------------------------------------- */

/* "config:PATH" refers to a value of the deployment's config. */
static bool is_config_reference(const char *s)
{
    return strncmp(s, "config:", 7) == 0 && s[7] != '\0';
}

static bool is_host_port(const char *s)
{
    const char *colon = strrchr(s, ':'), *end;

    if (is_config_reference(s))
        return true;
    if (colon == NULL || colon == s)
        return false;
    end = colon + 1 + strspn(colon + 1, "0123456789");
    return end > colon + 1 && atol(colon + 1) <= 65535 &&
           (*end == '\0' || strcmp(end, " private") == 0);
}

static bool is_file_permission(const char *s)
{
    return is_config_reference(s) || s[0] == '/';
}

/* A program's name, or, after "mcp:", a server's. */
static bool is_program_permission(const char *s)
{
    const char *name = strncmp(s, "mcp:", 4) == 0 ? s + 4 : s;

    return is_config_reference(s) || strcmp(name, "*") == 0 ||
           mortise_name_is_valid(name);
}

static bool is_variable_name(const char *s)
{
    return s[0] != '\0' && strchr(s, '=') == NULL;
}

static bool is_secret_permission(const char *s)
{
    return is_config_reference(s) || mortise_secret_is_name(s);
}

/* The valid entries of each list of names, by its key. */
static const struct permission_list {
    const char *key;
    size_t at; /* offset of its struct mortise_names */
    bool (*good)(const char *name);
    const char *expected;
} permitted[] = {
    {"net", offsetof(struct mortise_manifest, net), is_host_port,
     "HOST:PORT, HOST:PORT private or config:PATH"},
    {"read", offsetof(struct mortise_manifest, fs_read), is_file_permission,
     "absolute paths of files or config:PATH"},
    {"write", offsetof(struct mortise_manifest, fs_write), is_file_permission,
     "absolute paths of files or config:PATH"},
    {"exec", offsetof(struct mortise_manifest, exec), is_program_permission,
     "names of the deployment's programs, * or config:PATH; mcp:NAME or mcp:* "
     "for servers"},
    {"env", offsetof(struct mortise_manifest, env), is_variable_name,
     "names of variables"},
    {"secrets", offsetof(struct mortise_manifest, secrets),
     is_secret_permission, "names of secrets or config:PATH"},
};

/* Parse a list of strings, which may be empty; each must be `good`. */
static struct mortise_names parse_name_list(struct mortise_manifest_reader *r,
                                            const struct mortise_slot *slot,
                                            bool (*good)(const char *),
                                            const char *expected)
{
    const struct mortise_yaml *list = slot->value;
    const char **items =
        mortise_manifest_reader_alloc(r, (list->n + 1) * sizeof *items);
    struct mortise_names out = {items, 0};

    for (size_t i = 0; items != NULL && i < list->n; i++) {
        const struct mortise_yaml *v = list->items[i];

        if (v->kind == MORTISE_YAML_STRING && strlen(v->str) == v->len &&
            good(v->str))
            items[out.n++] = v->str;
        else
            mortise_diag_add(r->diags, "E0705", v->span, "'%s' must list %s",
                             slot->key->name, expected);
    }
    return out;
}

static void read_permission_names(void *ctx, void *into,
                                  const struct mortise_slot *slot)
{
    const struct permission_list *l = permitted,
                                 *end =
                                     l + sizeof permitted / sizeof permitted[0];

    while (l < end && strcmp(l->key, slot->key->name) != 0)
        l++;
    assert(l < end); /* the table has every key with this reader */
    *(struct mortise_names *)(void *)((char *)into + l->at) =
        parse_name_list(ctx, slot, l->good, l->expected);
}

static void read_state_paths(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    struct mortise_manifest_reader *r = ctx;
    struct mortise_manifest *m = into;
    struct mortise_names paths =
        parse_name_list(r, slot, is_variable_name, "paths of the run's state");

    m->state_paths = paths.items;
    m->n_state_paths = paths.n;
    for (size_t i = 0; i < paths.n; i++) {
        struct mortise_path path;
        struct mortise_err err;
        int rv = mortise_path_parse(&path, &m->arena, paths.items[i],
                                    strlen(paths.items[i]), &err);

        if (rv == MORTISE_ENOMEM)
            r->nomem = true;
        else if (rv != MORTISE_OK)
            mortise_diag_add(r->diags, "E0705", slot->value->span,
                             "'%s' is not a valid path: %s", paths.items[i],
                             err.msg);
    }
}

#define NAMES                                                                  \
    .value = MORTISE_V_LIST, MORTISE_EACH(.value = MORTISE_V_STRING),          \
    .read = read_permission_names

static const struct mortise_key fs_keys[] = {
    {.name = "read", .about = "Directories that the plugin can read.", NAMES},
    {.name = "write", .about = "Directories that the plugin can write.", NAMES},
};
MORTISE_PLACE(fs, "permissions.fs");

static const struct mortise_key permissions_keys[] = {
    {.name = "net", .about = "Hosts that the plugin can connect to.", NAMES},
    {.name = "fs",
     .about = "Directories that the plugin can use.",
     MORTISE_INTO_SAME(fs_place)},
    {.name = "exec",
     .about = "The deployment's programs that the plugin can run; * for all.",
     NAMES},
    {.name = "env",
     .about = "Environment variables that the plugin can read.",
     NAMES},
    {.name = "state",
     .about = "Parts of the state that the plugin can read.",
     .value = MORTISE_V_LIST,
     MORTISE_EACH(.value = MORTISE_V_STRING),
     .read = read_state_paths},
    {.name = "secrets", .about = "Secrets that the plugin can use.", NAMES},
    {.name = "limits", .later = true},
};
MORTISE_PLACE(permissions, "permissions");

static const struct mortise_word isolations[] = {
    {.word = "process", .value = 1},
    {.word = "in-process", .value = 2},
    {.word = NULL},
};

static void read_isolation_modes(void *ctx, void *into,
                                 const struct mortise_slot *slot)
{
    struct mortise_manifest_reader *r = ctx;
    struct mortise_manifest *m = into;

    m->process = m->in_process = false;
    for (size_t i = 0; i < slot->value->n; i++) {
        const struct mortise_word *w = mortise_word_find(
            isolations, "isolation", slot->value->items[i], r->diags);

        m->process = m->process || (w != NULL && w->value == 1);
        m->in_process = m->in_process || (w != NULL && w->value == 2);
    }
}

/* ---- the file ------------------------------------------------------------ */

static const struct mortise_word kinds[] = {{.word = "Plugin"}, {.word = NULL}};

static const struct mortise_key manifest_keys[] = {
    MORTISE_HEADER_KEYS(kinds),
    {.name = "metadata",
     .about = "The name of the plugin.",
     .required = true,
     MORTISE_INTO_SAME(metadata_place)},
    {.name = "seq",
     .about = "A number that increases with each release. After a newer "
              "release ran, an older one is not loaded.",
     .required = true,
     .min = 1,
     .max = 9007199254740992.0,
     MORTISE_INTO_U64(struct mortise_manifest, seq)},
    {.name = "abi",
     .about = "The ABI that the plugin was built for.",
     .required = true,
     MORTISE_INTO_SAME(abi_place)},
    {.name = "runtime",
     .about = "The language of the code: c, c++, rust, zig or go.",
     .value = MORTISE_V_WORD,
     .words = runtimes,
     MORTISE_INTO_TEXT(struct mortise_manifest, runtime)},
    {.name = "artifacts",
     .about = "The files of the plugin, one for each architecture.",
     .value = MORTISE_V_LIST,
     .min = 1,
     MORTISE_EACH(.value = MORTISE_V_MAP, .place = &artifact_place),
     .read = read_artifacts},
    {.name = "provides",
     .about = "The interfaces that the plugin provides.",
     .required = true,
     .min = 1,
     MORTISE_INTO_SAME(provides_place)},
    {.name = "requires",
     .about = "What the plugin requires from its host.",
     MORTISE_INTO_SAME(requires_place)},
    {.name = "permissions",
     .about = "The permissions of the plugin.",
     MORTISE_INTO_SAME(permissions_place)},
    {.name = "isolation",
     .about = "How the plugin can run: process, in-process.",
     .value = MORTISE_V_LIST,
     .min = 1,
     MORTISE_EACH(.value = MORTISE_V_WORD, .words = isolations),
     .read = read_isolation_modes},
    {.name = "on_failure", .later = true},
    {.name = "config_schema",
     .about = "A JSON Schema for the plugin's configuration.",
     .value = MORTISE_V_SCHEMA,
     .read = read_config_schema},
};

const struct mortise_place mortise_manifest_place = {
    MORTISE_PLACE_OF("a plugin manifest", manifest_keys)};

/* May the calls of any provided kind ask this method?  If not, `may` lists the
 * methods that they may ask. */
static bool can_ask_method(const struct mortise_manifest *m, const char *method,
                           char *may, size_t size)
{
    size_t n = 0;

    may[0] = '\0';
    for (size_t i = 0; i < MORTISE_KINDS; i++) {
        const char *const *asks = mortise_kinds[i]->asks;

        if (!m->provides[i].present)
            continue;
        if (asks == NULL)
            return true;
        n += (size_t)snprintf(may + n, size - n, "%sa %s can ask for",
                              n > 0 ? "; " : "", mortise_kinds[i]->name);
        for (size_t k = 0; asks[k] != NULL; k++) {
            if (strcmp(asks[k], method) == 0)
                return true;
            n += (size_t)snprintf(may + n, size - n, "%s %s", k > 0 ? "," : "",
                                  asks[k]);
        }
        assert(n < size); /* names of kinds and methods fit */
    }
    return may[0] == '\0'; /* it provides nothing: already a finding */
}

static bool has_required_method(const struct mortise_manifest *m,
                                const char *name)
{
    for (size_t i = 0; i < m->n_methods; i++)
        if (strcmp(m->methods[i], name) == 0)
            return true;
    return false;
}

/* Report a required method that would always be denied. */
static void check_methods(struct mortise_manifest_reader *r,
                          const struct mortise_yaml *root)
{
    const struct mortise_yaml *list =
        mortise_yaml_get(mortise_yaml_get(root, "requires"), "methods");
    struct mortise_diag *d;
    char may[512];

    for (size_t i = 0; r->m->n_methods > 0 && i < list->n; i++) {
        const struct mortise_yaml *at = list->items[i];

        if (at->kind != MORTISE_YAML_STRING ||
            !has_required_method(r->m, at->str) ||
            can_ask_method(r->m, at->str, may, sizeof may))
            continue;
        d = mortise_diag_add(
            r->diags, "E0708", at->span,
            "a plugin that provides %s cannot require the method %s",
            r->m->kinds, at->str);
        mortise_diag_help(r->diags, d, "%s", may);
    }
}

static void check_parts(struct mortise_manifest_reader *r)
{
    static const struct mortise_manifest_kind *const parts[] = {
#define KIND(ID, kind, words) &mortise_manifest_kind_##kind,
#include "core/plugin/kinds.def"
#undef KIND
    };

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i]->check != NULL)
            parts[i]->check(r);
}

static void read_manifest_root(struct mortise_manifest_reader *r,
                               const struct mortise_yaml *root)
{
    struct mortise_manifest *m = r->m;
    char list[MORTISE_KINDS_TEXT];

    m->tree = root;
    m->description = m->license = "";
    m->runtime = "c";
    m->process = m->in_process = true;
    if (!mortise_header_check(root, "Plugin", r->diags))
        return;
    mortise_keys_read(&mortise_manifest_place, root, root->span, r, m,
                      r->diags);
    m->kinds = mortise_arena_strdup(
        &m->arena, mortise_kind_format_list(list, sizeof list,
                                            mortise_manifest_kinds(m), ", "));
    r->nomem |= m->kinds == NULL;
    check_parts(r);
    if (m->kinds != NULL)
        check_methods(r, root);
    if (r->need_artifacts && mortise_yaml_get(root, "artifacts") == NULL)
        mortise_diag_help(r->diags,
                          mortise_diag_add(r->diags, "E0703", root->span,
                                           "the manifest names no artifacts"),
                          "sign it: mortise plugin sign");
}

static int report_oversize(struct mortise_manifest *m,
                           struct mortise_diags *diags)
{
    struct mortise_text text;
    int rv = mortise_text_set_path(&text, &m->arena, m->path);

    if (rv != MORTISE_OK)
        return rv;
    mortise_diag_add(diags, "E0102", mortise_text_span(&text, 0, 0),
                     "the manifest is larger than %d MiB",
                     MORTISE_MANIFEST_MAX >> 20);
    return MORTISE_ECHECK;
}

int mortise_manifest_parse(struct mortise_manifest **out,
                           const struct mortise_mem *mem, const char *path,
                           const char *text, size_t n, bool need_artifacts,
                           struct mortise_diags *diags)
{
    struct mortise_manifest *m = mortise_manifest_new(mem, path);
    struct mortise_manifest_reader r = {
        .m = m, .diags = diags, .need_artifacts = need_artifacts};
    size_t errors = diags->n_errors;
    struct mortise_yaml *root;
    int rv;

    assert(text != NULL || n == 0);
    *out = NULL;
    if (m == NULL)
        return MORTISE_ENOMEM;
    rv = n > MORTISE_MANIFEST_MAX
             ? report_oversize(m, diags)
             : mortise_yaml_parse(&root, &m->arena, m->path, text, n, diags);
    if (rv == MORTISE_OK) {
        mortise_digest(m->digest, text, n);
        read_manifest_root(&r, root);
        rv = r.nomem || diags->failed   ? MORTISE_ENOMEM
             : diags->n_errors > errors ? MORTISE_ECHECK
                                        : MORTISE_OK;
    }
    if (rv != MORTISE_OK) {
        mortise_manifest_free(m);
        return rv;
    }
    *out = m;
    return MORTISE_OK;
}

int mortise_manifest_read(struct mortise_manifest **out,
                          const struct mortise_mem *mem, const char *path,
                          const char *text, size_t n, bool is_signed,
                          struct mortise_err *err)
{
    struct mortise_diags diags;
    int rv;

    mortise_diags_init(&diags, mem);
    rv = mortise_manifest_parse(out, mem, path, text, n, is_signed, &diags);
    if (rv == MORTISE_ENOMEM)
        mortise_nomem(err);
    else if (rv != MORTISE_OK)
        mortise_diags_fail_first(&diags, rv, err);
    mortise_diags_finish(&diags);
    return rv;
}

/* ---- support by this host ------------------------------------------------ */

int mortise_manifest_check_host(const struct mortise_manifest *m,
                                struct mortise_diags *diags)
{
    char why[256];
    const char *key = mortise_manifest_find_unsupported(m, why, sizeof why);
    const struct mortise_yaml *at;

    if (key == NULL)
        return MORTISE_OK;
    at = mortise_yaml_get(m->tree, key);
    if (strcmp(key, "requires") == 0)
        at = mortise_yaml_get(at, "host");
    mortise_diag_add(diags, "E0707", at->span, "%s %s", m->name, why);
    return diags->failed ? MORTISE_ENOMEM : MORTISE_ECHECK;
}

/* ---- permissions without effect ------------------------------------------ */

/* True if no valid config can have this member.  Keywords that refer to other
 * schemas make it uncertain. */
static bool is_member_impossible(const struct mortise_yaml *schema,
                                 const char *name)
{
    static const char *const open[] = {
        "$ref",  "$dynamicRef", "allOf", "anyOf",
        "oneOf", "if",          "not",   "patternProperties"};
    const struct mortise_yaml *more =
        mortise_yaml_get(schema, "additionalProperties");

    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++)
        if (mortise_yaml_get(schema, open[i]) != NULL)
            return false;
    if (more != NULL && (more->kind != MORTISE_YAML_BOOL || more->u.b))
        return false;
    return mortise_yaml_get(mortise_yaml_get(schema, "properties"), name) ==
           NULL;
}

static void advise_config_references(const struct mortise_manifest *m,
                                     const struct mortise_yaml *list,
                                     struct mortise_diags *diags)
{
    const struct mortise_yaml *schema =
        mortise_yaml_get(m->tree, "config_schema");

    for (size_t i = 0; list != NULL && i < list->n; i++) {
        const struct mortise_yaml *one = list->items[i];
        char name[128];

        if (one->kind != MORTISE_YAML_STRING || !is_config_reference(one->str))
            continue;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(one->str + 7, ".["),
                 one->str + 7);
        if (schema == NULL || is_member_impossible(schema, name))
            mortise_diag_add(diags, "W0822", one->span,
                             "config_schema has no property '%s', so this "
                             "permission grants nothing",
                             name);
    }
}

int mortise_manifest_add_warnings(const struct mortise_manifest *m,
                                  struct mortise_diags *diags)
{
    static const char *const lists[] = {"net", "exec", "secrets"};
    const struct mortise_yaml *all = mortise_yaml_get(m->tree, "permissions");
    const struct mortise_yaml *fs = mortise_yaml_get(all, "fs");

    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        advise_config_references(m, mortise_yaml_get(all, lists[i]), diags);
    advise_config_references(m, mortise_yaml_get(fs, "read"), diags);
    advise_config_references(m, mortise_yaml_get(fs, "write"), diags);
    return diags->failed ? MORTISE_ENOMEM : MORTISE_OK;
}
