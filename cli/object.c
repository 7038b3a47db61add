/* object.c -- `mortise plugin check`: checks a shared object without loading
 * it.
 *
 * The command performs the same inspection as loading (elf.c), but reports all
 * errors and not only the first.  It also finds the errors that only the
 * dynamic linker would report: a glibc that is too old here, a missing library,
 * a symbol that no library exports.  Libraries are found in /etc/ld.so.cache,
 * as by the linker.
 *
 * If a manifest NAME.plugin.yaml is in the same directory, it is checked, too,
 * and the `intent` of each operation with an effect is printed. */
#include <gnu/libc-version.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "cli/plugin_set.h"
#include "core/json/value.h"
#include "core/plugin/elf.h"

enum { LIBRARIES_MAX = 32, SONAME_MAX = 128 };

struct object {
    struct mortise_cli *cli;
    const char *path;
    json_t *refusals; /* {code, message, host?} */
    json_t *needs;    /* sonames of its libraries */
    json_t *imports;  /* symbols that a library must export */
    json_t *exports;  /* exported symbols of the libraries, as keys */
    json_t *intents;  /* operation: "call" | "steps" */
    char glibc[32];   /* the highest version needed, or "" */
    char *cache;      /* the linker's cache, NUL-terminated; NULL: none */
    size_t n_cache;
    bool blind; /* a library could not be read */
};

/* ---- libraries of the host ---------------------------------------------- */

/* Get the path after `after` (NULL: the first), or NULL.  The linker's cache
 * contains the paths of all libraries, each terminated by a NUL. */
static const char *next_cached_path(const struct object *o, const char *after)
{
    const char *end = o->cache + o->n_cache;
    const char *p = after != NULL ? after + strlen(after) : o->cache;

    while (p < end && (p = memchr(p, '/', (size_t)(end - p))) != NULL) {
        if (p > o->cache && p[-1] == '\0')
            return p;
        p += strlen(p);
    }
    return NULL;
}

/* Find the path of a library, or NULL. */
static const char *find_library(const struct object *o, const char *soname)
{
    const char *p = NULL;

    while (o->cache != NULL && (p = next_cached_path(o, p)) != NULL)
        if (strcmp(strrchr(p, '/') + 1, soname) == 0)
            return p;
    return NULL;
}

/* Find another version: a name that is equal up to ".so". */
static const char *find_other_version(const struct object *o,
                                      const char *soname)
{
    const char *dot = strstr(soname, ".so"), *p = NULL;
    size_t stem = dot != NULL ? (size_t)(dot - soname) + 3 : strlen(soname);

    while (o->cache != NULL && (p = next_cached_path(o, p)) != NULL) {
        const char *name = strrchr(p, '/') + 1;

        if (strncmp(name, soname, stem) == 0)
            return name;
    }
    return NULL;
}

/* ---- callbacks of the inspection ---------------------------------------- */

static void on_object_refused(void *ud, const char *code, const char *words)
{
    struct object *o = ud;

    json_array_append_new(
        o->refusals, json_pack("{s:s, s:s}", "code", code, "message", words));
}

static void add_object_refusal(struct object *o, const char *code,
                               const char *fmt, ...) MORTISE_PRINTF(3, 4);
static void add_object_refusal(struct object *o, const char *code,
                               const char *fmt, ...)
{
    char words[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(words, sizeof words, fmt, ap);
    va_end(ap);
    on_object_refused(o, code, words);
}

static void add_needed_library(void *ud, const char *library)
{
    struct object *o = ud;

    json_array_append_new(o->needs, json_string(library));
}

static bool is_newer_version(const char *a, const char *b)
{
    unsigned x[3] = {0}, y[3] = {0};

    sscanf(a, "%u.%u.%u", &x[0], &x[1], &x[2]);
    sscanf(b, "%u.%u.%u", &y[0], &y[1], &y[2]);
    for (size_t i = 0; i < 3; i++)
        if (x[i] != y[i])
            return x[i] > y[i];
    return false;
}

static void update_glibc_version(void *ud, const char *version)
{
    struct object *o = ud;

    if (strncmp(version, "GLIBC_", 6) == 0 && strlen(version) < 32 &&
        is_newer_version(version + 6, o->glibc))
        strcpy(o->glibc, version + 6);
}

static void add_imported_symbol(void *ud, const char *symbol, bool weak)
{
    struct object *o = ud;

    if (!weak)
        json_array_append_new(o->imports, json_string(symbol));
}

static void add_exported_symbol(void *ud, const char *symbol)
{
    struct object *o = ud;

    json_object_set_new(o->exports, symbol, json_true());
}

/* ---- checks on this host ------------------------------------------------ */

/* Add the version that this host has to each refusal of a library. */
static void add_host_versions(struct object *o)
{
    size_t k;
    json_t *r;

    MORTISE_JSON_EACH (lib, i, o->needs) {
        const char *name = json_string_value(lib), *other;
        char start[SONAME_MAX + 8], host[SONAME_MAX + 64];

        snprintf(start, sizeof start, "needs %.100s, ", name);
        other =
            find_library(o, name) != NULL ? name : find_other_version(o, name);
        if (other == NULL)
            snprintf(host, sizeof host, "this host has no version of it");
        else
            snprintf(host, sizeof host, "this host has %s", other);
        json_array_foreach(o->refusals, k, r)
        {
            if (o->cache != NULL && strncmp(mortise_cli_get_text(r, "message"),
                                            start, strlen(start)) == 0)
                json_object_set_new(r, "host", json_string(host));
        }
    }
}

/* Was the object refused because it needs this library? */
static bool is_refused_library(const struct object *o, const char *library)
{
    MORTISE_JSON_EACH (r, i, o->refusals)
        if (strcmp(mortise_cli_get_text(r, "code"), "P0107") == 0 &&
            strstr(mortise_cli_get_text(r, "message"), library) != NULL)
            return true;
    return false;
}

static void check_glibc_version(struct object *o)
{
    const char *ours = gnu_get_libc_version();

    if (is_newer_version(o->glibc, ours))
        add_object_refusal(
            o, "P0115",
            "needs glibc %s, and this host has %s; build it on an older "
            "system",
            o->glibc, ours);
}

/* Read the exported symbols and the libraries of a library. */
static void read_library_symbols(struct object *o, json_t *libraries,
                                 const char *path)
{
    const struct mortise_elf_visitor visitor = {
        .ud = o, .needs = add_needed_library, .exports = add_exported_symbol};
    json_t *own = o->needs;
    char *bytes;
    size_t n;

    if (mortise_cli_read_file(o->cli, path, &bytes, &n, NULL) != MORTISE_OK) {
        o->blind = true;
        return;
    }
    o->needs = libraries;
    if (mortise_elf_visit(bytes, n, mortise_elf_get_host_arch(), &visitor) !=
        MORTISE_OK)
        o->blind = true;
    o->needs = own;
    mortise_release(o->cli->mem, bytes, n + 1);
}

static bool is_repeated_library(const json_t *list, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (json_equal(json_array_get(list, k), json_array_get(list, i)))
            return true;
    return false;
}

/* Read all libraries, including those that they need. */
static void read_all_libraries(struct object *o)
{
    json_t *libraries = json_copy(o->needs);

    for (size_t i = 0; i < json_array_size(libraries) && !o->blind; i++) {
        const char *name = json_string_value(json_array_get(libraries, i));
        const char *path = find_library(o, name);

        if (is_repeated_library(libraries, i))
            continue;
        if (i >= LIBRARIES_MAX) {
            o->blind = true;
        } else if (path != NULL) {
            read_library_symbols(o, libraries, path);
        } else {
            o->blind = true;
            if (is_refused_library(o, name))
                continue;
            add_object_refusal(
                o, "P0116",
                "needs %.100s, which this host does not have; install it, "
                "or link it statically",
                name);
        }
    }
    json_decref(libraries);
}

static void check_imported_symbols(struct object *o)
{
    read_all_libraries(o);
    MORTISE_JSON_EACH (symbol, i, o->imports) {
        const char *name = json_string_value(symbol);

        if (!o->blind && json_object_get(o->exports, name) == NULL &&
            strncmp(name, "mortise_", 8) != 0)
            add_object_refusal(
                o, "P0117",
                "imports %.100s, which none of its libraries exports; link "
                "with the library that does",
                name);
    }
}

/* ---- manifest ----------------------------------------------------------- */

static void add_operation_intents(struct object *o,
                                  const struct mortise_manifest *m)
{
    for (size_t i = 0; i < m->n_ops; i++) {
        const struct mortise_manifest_op *op = &m->ops[i];

        if (strcmp(op->effect, "pure") != 0 && strcmp(op->effect, "read") != 0)
            json_object_set_new(o->intents, op->name,
                                json_string(op->steps ? "steps" : "call"));
    }
}

/* Add the errors that loading would report about the two together. */
static void check_manifest_and_object(struct object *o,
                                      const struct mortise_manifest *m,
                                      const char *bytes, size_t n)
{
    struct mortise_err why;
    char words[256];

    if (mortise_elf_check_plugin(bytes, n, m->name, m->version, &why) !=
        MORTISE_OK)
        on_object_refused(o, "P0118", why.msg);
    if (mortise_manifest_find_unsupported(m, words, sizeof words) != NULL)
        on_object_refused(o, "P0114", words);
}

static int check_adjacent_manifest(struct object *o, const char *bytes,
                                   size_t n, struct mortise_err *err)
{
    struct mortise_manifest *m = NULL;
    const char *suffix = strrchr(o->path, '.');
    char path[PATH_MAX];
    int rv;

    if (suffix == NULL || strcmp(suffix, ".so") != 0 ||
        snprintf(path, sizeof path, "%.*s.plugin.yaml", (int)(suffix - o->path),
                 o->path) >= (int)sizeof path ||
        access(path, F_OK) != 0)
        return MORTISE_OK;
    rv = mortise_cli_read_manifest(o->cli, path, &m, err);
    if (rv == MORTISE_OK) {
        add_operation_intents(o, m);
        check_manifest_and_object(o, m, bytes, n);
    }
    mortise_manifest_free(m);
    return rv;
}

/* ---- command ------------------------------------------------------------ */

static int inspect_object(struct object *o, struct mortise_err *err)
{
    const struct mortise_elf_visitor visitor = {
        .ud = o,
        .refused = on_object_refused,
        .needs = add_needed_library,
        .needs_version = update_glibc_version,
        .imports = add_imported_symbol,
    };
    char *bytes;
    size_t n;
    int rv = mortise_cli_read_file(o->cli, o->path, &bytes, &n, err);

    if (rv != MORTISE_OK)
        return rv;
    if (mortise_elf_visit(bytes, n, mortise_elf_get_host_arch(), &visitor) ==
        MORTISE_OK) {
        check_glibc_version(o);
        if (o->cache != NULL)
            check_imported_symbols(o);
        add_host_versions(o);
    }
    rv = check_adjacent_manifest(o, bytes, n, err);
    mortise_release(o->cli->mem, bytes, n + 1);
    return rv;
}

static void print_string_list(struct mortise_out *o, const char *name,
                              const json_t *list)
{
    if (json_array_size(list) == 0)
        return;
    mortise_out_put_cell(o, name, 9);
    MORTISE_JSON_EACH (one, i, list)
        mortise_out_print_escaped(o, "%s%s", i > 0 ? ", " : "",
                                  json_string_value(one));
    mortise_out_puts(o, "\n");
}

static void print_operation_intents(struct mortise_out *o,
                                    const json_t *intents)
{
    const char *operation;
    json_t *intent;

    json_object_foreach(mortise_json_unconst(intents), operation, intent)
    {
        mortise_out_put_cell(o, "effect", 9);
        mortise_out_print_escaped(o, "%s (intent: %s)\n", operation,
                                  json_string_value(intent));
    }
}

static void print_object_refusal(struct mortise_out *o, const json_t *r)
{
    const char *host = mortise_cli_get_text(r, "host");

    mortise_out_puts(o, "  ");
    mortise_out_put_styled(o, MORTISE_BAD, mortise_cli_get_text(r, "code"), 0);
    mortise_out_print_escaped(o, " %s", mortise_cli_get_text(r, "message"));
    if (host[0] != '\0')
        mortise_out_print_escaped(o, " (%s)", host);
    mortise_out_puts(o, "\n");
}

static void print_object_report(const struct object *o)
{
    struct mortise_out *out = &o->cli->out;
    size_t n = json_array_size(o->refusals);

    mortise_out_print_escaped(out, "%s: %s\n", o->path,
                              n == 0 ? "can be signed and loaded"
                                     : "would be rejected");
    MORTISE_JSON_EACH (r, i, o->refusals)
        print_object_refusal(out, r);
    print_string_list(out, "needs", o->needs);
    if (o->glibc[0] != '\0')
        mortise_out_printf(out, "glibc    %s (this host has %s)\n", o->glibc,
                           gnu_get_libc_version());
    print_string_list(out, "imports", o->imports);
    print_operation_intents(out, o->intents);
    if (n > 0)
        mortise_out_puts(out, "'mortise explain CODE' explains a code.\n");
}

static int print_object_json(const struct object *o, struct mortise_err *err)
{
    return mortise_cli_print_json(
        o->cli,
        json_pack("{s:s, s:b, s:O, s:O, s:s*, s:s, s:O, s:O}", "file", o->path,
                  "ok", json_array_size(o->refusals) == 0, "refusals",
                  o->refusals, "needs", o->needs, "glibc",
                  o->glibc[0] != '\0' ? o->glibc : NULL, "host_glibc",
                  gnu_get_libc_version(), "imports", o->imports, "intents",
                  o->intents),
        true, err);
}

static void finish_object(struct object *o)
{
    json_decref(o->refusals);
    json_decref(o->needs);
    json_decref(o->imports);
    json_decref(o->exports);
    json_decref(o->intents);
    if (o->cache != NULL)
        mortise_release(o->cli->mem, o->cache, o->n_cache + 1);
}

static int plugin_check(struct mortise_cli *cli, struct mortise_err *err)
{
    struct object o = {.cli = cli,
                       .path = cli->args.operands[0],
                       .refusals = json_array(),
                       .needs = json_array(),
                       .imports = json_array(),
                       .exports = json_object(),
                       .intents = json_object()};
    int rv;

    if (mortise_cli_read_file(cli, "/etc/ld.so.cache", &o.cache, &o.n_cache,
                              NULL) != MORTISE_OK)
        o.cache = NULL;
    rv = inspect_object(&o, err);
    if (rv == MORTISE_OK && cli->args.json)
        rv = print_object_json(&o, err);
    else if (rv == MORTISE_OK)
        print_object_report(&o);
    if (rv == MORTISE_OK && json_array_size(o.refusals) > 0)
        rv = MORTISE_EXIT_FINDINGS;
    finish_object(&o);
    return rv;
}

static const struct mortise_opt opts[] = {
    MORTISE_OPT_JSON("One JSON object"),
    MORTISE_OPT_END,
};

const struct mortise_cmd mortise_cmd_plugin_check = {
    .name = "plugin check",
    .operands = "FILE.so",
    .summary = "List everything that prevents loading a shared object",
    .text =
        "The command reads the file and loads nothing.  Signatures are not\n"
        "checked here (see 'mortise plugin verify').  Each problem is\n"
        "printed with its code and a remedy.  Then the command lists the\n"
        "libraries that the object needs, the highest version of glibc\n"
        "that it needs, and the symbols that the libraries must have.\n"
        "\n"
        "If a manifest (NAME.plugin.yaml) is beside the object, the\n"
        "command also checks the manifest.  For each operation with an\n"
        "effect, it prints how the effect happens: by the call itself\n"
        "(intent: call), or only by requests to the host (intent: steps).\n",
    .opts = opts,
    .exits = MORTISE_EXITS_FINDINGS,
    .example = "mortise plugin check build/acme_pay.so",
    .run = plugin_check,
};
