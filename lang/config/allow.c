/* allow.c -- the keys of a found deployment that need the user's permission,
 * and the stored permissions.
 *
 * `mortise run` obeys a mortise.yaml that lies beside the graph, as make obeys
 * a Makefile.  But users expect that `mortise check` on a downloaded directory
 * runs nothing of it.  So a person decides once about the things that a found
 * file may not decide by itself:
 *
 *   (1) These keys need permission.  Code that runs: `plugins.path`,
 *       `plugins.dev`, `trust`, `programs`, `tools.mcp`.  Secrets: `secrets`,
 *       and if there are any, all configurations, because they decide which
 *       plugin gets a secret.  Other users of the engine: `store.access`.
 *       Every key with a ${...}, because the environment and files also contain
 *       secrets.  Any other key with a text that may be a network address, or a
 *       path that leads out of the file's directory.  A model, unless it is
 *       scripted, because it is called over the network.  No plugin is known
 *       here, so a text that only looks like an address needs permission, too,
 *       which costs one command.
 *   (2) A permission applies to one file, by its path, and to the current
 *       values of those keys: it stores a digest of them, and any change asks
 *       again.  The digest covers the text from ${file:...}, but not variables,
 *       which belong to the user.
 *   (3) A permission may also cover owners and modes of files, each as it was.
 *   (4) Permissions are stored per user, in one file for each deployment, below
 *       the directory of userdir.h.
 */
#include "lang/config/allow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/digit.h"
#include "core/base/dirs.h"
#include "core/base/files.h"
#include "core/base/userdir.h"
#include "core/base/whole.h"
#include "lang/config/expand.h"

enum { RECORD_MAX = 1 << 20 };

/* The characters of a URL's scheme (RFC 3986), and of a host name. */
#define SCHEME                                                                 \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-."

static const char kept_in[] = "allowed", suffix[] = ".json";

/* ---- keys that need permission (1) --------------------------------------- */

/* The value of "KEY" or "KEY.KEY", or NULL. */
static const struct mortise_yaml *
get_deployment_value(const struct mortise_yaml *tree, const char *key)
{
    char one[64], *dot;

    snprintf(one, sizeof one, "%s", key);
    dot = strchr(one, '.');
    if (dot != NULL)
        *dot++ = '\0';
    tree = mortise_yaml_get(tree, one);
    return dot != NULL ? mortise_yaml_get(tree, dot) : tree;
}

static bool has_deployment_value(const struct mortise_deployment *d,
                                 const char *key)
{
    const struct mortise_yaml *value = get_deployment_value(d->written, key);

    return value != NULL && value->n > 0;
}

/* The directory of the file, with links resolved. */
static void get_file_directory(const struct mortise_deployment *d,
                               char dir[PATH_MAX])
{
    char path[PATH_MAX];
    const char *slash = strrchr(d->path, '/');

    snprintf(path, sizeof path, "%.*s",
             slash != NULL ? (int)(slash - d->path) + 1 : 1,
             slash != NULL ? d->path : ".");
    if (!mortise_path_resolve(dir, path))
        /* no path of the file is inside it */
        snprintf(dir, PATH_MAX, "%s", "/");
}

/* Does the predicate hold for a text of the value or below it?  The values of
 * x- keys are ignored. */
static bool has_matching_text(const struct mortise_yaml *v,
                              bool (*is)(const char *dir, const char *text),
                              const char *dir)
{
    /* the text after a NUL is not checked, so assume the worst */
    if (v->kind == MORTISE_YAML_STRING)
        return strlen(v->str) != v->len || is(dir, v->str);
    if (v->kind != MORTISE_YAML_SEQ && v->kind != MORTISE_YAML_MAP)
        return false;
    for (size_t i = 0; i < v->n; i++)
        if ((v->kind != MORTISE_YAML_MAP ||
             !mortise_yaml_is_x_key(v->keys[i]->str)) &&
            has_matching_text(v->items[i], is, dir))
            return true;
    return false;
}

static bool has_substitution(const char *dir, const char *text)
{
    struct mortise_expansion o;

    (void)dir;
    return mortise_expand_find_next(&text, &o);
}

/* "SCHEME:..." at the beginning, "://" or "HOST:PORT" anywhere. */
static bool is_network_address(const char *text)
{
    size_t scheme = strcspn(text, ":");

    if (text[scheme] == ':' && scheme > 0 && strspn(text, SCHEME) == scheme &&
        (unsigned char)text[scheme + 1] > ' ')
        return true;
    for (const char *at = text; (at = strchr(at, ':')) != NULL; at++) {
        char before = at > text ? at[-1] : '\0';

        if (strncmp(at, "://", 3) == 0 ||
            (mortise_digit_get_value(at[1]) < 10 && before != '\0' &&
             strchr(SCHEME "]", before) != NULL))
            return true;
    }
    return false;
}

static bool leads_outside(const char *dir, const char *text)
{
    char path[2 * PATH_MAX], whole[PATH_MAX];

    if (has_substitution(dir, text) || is_network_address(text))
        return true;
    if (snprintf(path, sizeof path, "%s%s%s", text[0] != '/' ? dir : "",
                 text[0] != '/' ? "/" : "", text) >= (int)sizeof path)
        return false; /* too long for a file */
    return mortise_path_resolve(whole, path) &&
           !mortise_path_is_below(whole, dir);
}

static bool has_remote_model(const struct mortise_yaml *models, const char *dir)
{
    for (size_t i = 0; i < models->n; i++) {
        const struct mortise_yaml *provider =
            mortise_yaml_get(models->items[i], "provider");

        if (provider != NULL && (provider->kind != MORTISE_YAML_STRING ||
                                 strcmp(provider->str, "scripted") != 0))
            return true;
    }
    return has_matching_text(models, has_substitution, dir);
}

enum rule {
    ALWAYS, /* if the key is set */
    CONFIG, /* if it names secrets, or a file or host outside */
    MODELS, /* the same, and if a model is remote */
    PLACES, /* if a text leads outside */
    TAKES   /* if it contains a ${...} */
};

static bool needs_permission(const struct mortise_deployment *d,
                             const char *key, enum rule rule, const char *dir)
{
    const struct mortise_yaml *value = get_deployment_value(d->written, key);

    if (value == NULL || value->n == 0)
        return false;
    if (rule == ALWAYS ||
        (rule <= MODELS && has_deployment_value(d, "secrets")))
        return true;
    return rule == MODELS  ? has_remote_model(value, dir)
           : rule == TAKES ? has_matching_text(value, has_substitution, dir)
                           : has_matching_text(value, leads_outside, dir);
}

size_t mortise_allow_find_needs(const struct mortise_deployment *d,
                                struct mortise_need needs[MORTISE_NEEDS_MAX])
{
    static const struct {
        const char *key;
        enum rule rule;
    } keys[MORTISE_NEEDS_MAX] = {{"plugins.path", ALWAYS},
                                 {"plugins.dev", ALWAYS},
                                 {"trust", ALWAYS},
                                 {"programs", ALWAYS},
                                 {"tools.mcp", ALWAYS},
                                 {"secrets", ALWAYS},
                                 {"store.access", ALWAYS},
                                 {"plugins.config", CONFIG},
                                 {"guardrails", CONFIG},
                                 {"memory", CONFIG},
                                 {"discovery", CONFIG},
                                 {"models", MODELS},
                                 {"store", PLACES},
                                 {"metadata", TAKES},
                                 {"plugins.isolation", TAKES},
                                 {"tools", TAKES},
                                 {"executors", TAKES},
                                 {"limits", TAKES}};
    char dir[PATH_MAX];
    size_t n = 0;

    if (d->tree == NULL)
        return 0;
    get_file_directory(d, dir);
    for (size_t i = 0; i < MORTISE_NEEDS_MAX; i++)
        if (needs_permission(d, keys[i].key, keys[i].rule, dir))
            needs[n++] = (struct mortise_need){
                keys[i].key, get_deployment_value(d->tree, keys[i].key)};
    return n;
}

/* ---- digest of the keys (2) ---- */

static json_t *make_digest_value(const struct mortise_yaml *written,
                                 const struct mortise_yaml *tree)
{
    bool map = written->kind == MORTISE_YAML_MAP;
    json_t *out;

    if (!map && written->kind != MORTISE_YAML_SEQ)
        return mortise_yaml_to_json(written->kind == MORTISE_YAML_STRING &&
                                            strstr(written->str, "${file:")
                                        ? tree
                                        : written,
                                    false);
    out = map ? json_object() : json_array();
    for (size_t i = 0; out != NULL && i < written->n; i++) {
        json_t *one = make_digest_value(written->items[i], tree->items[i]);
        int rv = map ? json_object_set_new(out, written->keys[i]->str, one)
                     : json_array_append_new(out, one);

        if (rv != 0)
            mortise_json_clear_ref(&out);
    }
    return out;
}

static int make_needs_digest(struct mortise_allowance *a,
                             const struct mortise_deployment *d)
{
    struct mortise_need needs[MORTISE_NEEDS_MAX];
    size_t n = mortise_allow_find_needs(d, needs);
    uint8_t digest[MORTISE_DIGEST];
    json_t *all = json_object();
    int rv = all != NULL ? MORTISE_OK : MORTISE_ENOMEM;

    for (size_t i = 0; rv == MORTISE_OK && i < n; i++)
        if (json_object_set_new(all, needs[i].key,
                                make_digest_value(get_deployment_value(
                                                      d->written, needs[i].key),
                                                  needs[i].value)) != 0)
            rv = MORTISE_ENOMEM;
    if (rv == MORTISE_OK)
        rv = mortise_json_digest(digest, all, a->mem);
    if (rv == MORTISE_OK)
        mortise_hex_encode(a->digest, digest, sizeof digest);
    json_decref(all);
    return rv;
}

/* ---- reading (4) ---- */

/* An invalid record counts as none: then nothing is allowed. */
static int read_allow_record(json_t **out, const struct mortise_mem *mem,
                             const char *path, struct mortise_err *err)
{
    struct mortise_buf text;
    int rv;

    *out = NULL;
    mortise_buf_init(&text, mem);
    rv = mortise_file_read(&text, path, RECORD_MAX, err);
    if (rv == MORTISE_OK)
        rv = mortise_json_parse(out, text.p != NULL ? text.p : "", text.n, err);
    mortise_buf_finish(&text);
    return rv == MORTISE_ENOTFOUND || rv == MORTISE_EINVAL ? MORTISE_OK : rv;
}

/* The path of the deployment's record, if the place can be trusted. */
static int get_record_path(const struct mortise_allowance *a,
                           char path[PATH_MAX], struct mortise_err *err)
{
    char dir[PATH_MAX];
    int rv = mortise_userdir_get_path(dir, kept_in, err);

    if (rv == MORTISE_OK)
        rv = mortise_userdir_get_file_path(path, dir, a->file, suffix, err);
    return rv == MORTISE_OK ? mortise_owner_check(path, NULL, NULL, err) : rv;
}

int mortise_allow_read(struct mortise_allowance *a,
                       const struct mortise_deployment *d,
                       struct mortise_err *err)
{
    char path[PATH_MAX];
    int rv;

    *a = (struct mortise_allowance){.mem = d->arena.mem};
    if (d->path == NULL)
        return MORTISE_OK;
    if (realpath(d->path, a->file) == NULL)
        snprintf(a->file, sizeof a->file, "%s", d->path);
    rv = make_needs_digest(a, d);
    if (rv != MORTISE_OK)
        return mortise_nomem(err);
    if (get_record_path(a, path, &a->why) != MORTISE_OK)
        return MORTISE_OK;
    rv = read_allow_record(&a->record, a->mem, path, err);
    if (rv == MORTISE_OK &&
        strcmp(mortise_json_get_text(a->record, "file"), a->file) != 0)
        mortise_json_clear_ref(&a->record);
    return rv;
}

void mortise_allow_finish(struct mortise_allowance *a)
{
    mortise_json_clear_ref(&a->record);
}

bool mortise_allow_is_valid(const struct mortise_allowance *a)
{
    return a->record != NULL &&
           strcmp(mortise_json_get_text(a->record, "digest"), a->digest) == 0;
}

bool mortise_allow_has_fault(const struct mortise_allowance *a,
                             const struct mortise_owner_fault *f)
{
    const json_t *places = json_object_get(a->record, "places");

    if (!mortise_allow_is_valid(a))
        return false;
    MORTISE_JSON_EACH (p, i, places) {
        if (strcmp(mortise_json_get_text(p, "path"), f->path) == 0 &&
            json_integer_value(json_object_get(p, "uid")) ==
                (json_int_t)f->uid &&
            json_integer_value(json_object_get(p, "mode")) ==
                (json_int_t)(f->mode & 022))
            return true;
    }
    return false;
}

/* ---- writing ---- */

json_t *mortise_allow_make_place(const struct mortise_owner_fault *f)
{
    return json_pack("{s:s, s:I, s:I}", "path", f->path, "uid",
                     (json_int_t)f->uid, "mode", (json_int_t)(f->mode & 022));
}

int mortise_allow_write(const struct mortise_allowance *a, json_t *places,
                        struct mortise_err *err)
{
    char dir[PATH_MAX], path[PATH_MAX];
    json_t *record = json_pack("{s:s, s:s, s:O}", "file", a->file, "digest",
                               a->digest, "places", places);
    char *text = record != NULL ? mortise_json_to_text(a->mem, record) : NULL;
    int rv = text != NULL ? MORTISE_OK : mortise_nomem(err);

    if (rv == MORTISE_OK)
        rv = mortise_userdir_make(dir, kept_in, err);
    if (rv == MORTISE_OK)
        rv = mortise_userdir_get_file_path(path, dir, a->file, suffix, err);
    if (rv == MORTISE_OK)
        rv = mortise_file_write(path, text, strlen(text), 0600, 0, err);
    mortise_release_str(a->mem, text);
    json_decref(record);
    return rv;
}

int mortise_allow_remove(const struct mortise_allowance *a,
                         struct mortise_err *err)
{
    char path[PATH_MAX];
    int rv = get_record_path(a, path, err);

    if (rv == MORTISE_OK && a->record == NULL)
        rv = mortise_fail(
            err, MORTISE_ENOTFOUND,
            "%s is not allowed, so there is no permission to remove", a->file);
    if (rv == MORTISE_OK && unlink(path) != 0)
        rv = mortise_syserr(err, errno, "remove %s", path);
    return rv;
}

int mortise_allow_list(json_t **out, const struct mortise_mem *mem,
                       struct mortise_err *err)
{
    char dir[PATH_MAX], path[PATH_MAX];
    struct mortise_listing l;
    int rv;

    *out = json_array();
    if (*out == NULL)
        return mortise_nomem(err);
    rv = mortise_userdir_get_path(dir, kept_in, err);
    if (rv == MORTISE_OK)
        rv = mortise_listing_read(&l, mem, dir, suffix, err);
    if (rv != MORTISE_OK)
        return rv == MORTISE_ENOTFOUND ? MORTISE_OK : rv;
    for (size_t i = 0; rv == MORTISE_OK && i < l.n; i++) {
        json_t *record = NULL;

        rv = mortise_file_format_path(path, sizeof path, err, "%s/%s", dir,
                                      l.names[i]);
        if (rv == MORTISE_OK)
            rv = read_allow_record(&record, mem, path, err);
        if (record != NULL && json_array_append_new(*out, record) != 0)
            rv = mortise_nomem(err);
    }
    mortise_listing_finish(&l);
    return rv;
}
