/* allow.c -- what a deployment that was found needs somebody to have said, and
 * what was said.
 *
 * `mortise run` obeys a mortise.yaml that lies beside the graph, as make obeys
 * a Makefile.  Unlike make's user, who runs `mortise check` on a directory from
 * somewhere expects that nothing of it runs; so what a found file may not decide
 * by itself is decided once, by a person:
 *
 *   (1) Which code runs: `plugins.path`, `plugins.dev`, `trust`, `programs`,
 *       `tools.mcp` with a command, the programs of `secrets`.  Who may get a
 *       secret: where there are any, `secrets` and all configurations, which
 *       name hosts.
 *   (2) What is said holds for one file, by its path, and for those keys as
 *       they were: a digest of them is kept, and any change asks again.  What
 *       comes through ${file:...} is part of it; variables are not, as they are
 *       the user's own.
 *   (3) It may hold for owners and modes of files, too, each as it was.
 *   (4) It is kept for each user, in a file of its own a deployment, below
 *       userdir.h's directory.
 */
#include "config/allow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/userdir.h"
#include "base/dirs.h"
#include "base/files.h"

enum { RECORD_MAX = 1 << 20 };

static const char kept_in[] = "allowed", suffix[] = ".json";

/* ---- what needs it (1) ---------------------------------------------------- */

/* The value of "KEY" or "KEY.KEY", or NULL. */
static const struct mortise_yaml *at(const struct mortise_yaml *tree,
                                     const char *key)
{
    char one[64], *dot;

    snprintf(one, sizeof one, "%s", key);
    dot = strchr(one, '.');
    if (dot != NULL)
        *dot++ = '\0';
    tree = mortise_yaml_get(tree, one);
    return dot != NULL ? mortise_yaml_get(tree, dot) : tree;
}

static bool is_said(const struct mortise_deployment *d, const char *key)
{
    const struct mortise_yaml *value = at(d->tree, key);

    return value != NULL && value->n > 0;
}

static bool runs_programs(const struct mortise_providers *p)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->list[i].kind == MORTISE_PROVIDER_EXEC)
            return true;
    return false;
}

size_t mortise_allow_needs(const struct mortise_deployment *d,
                           struct mortise_need needs[MORTISE_NEEDS_MAX])
{
    bool secrets = d->secrets.n > 0;
    bool configured = is_said(d, "plugins.config") ||
                      is_said(d, "guardrails") || is_said(d, "models") ||
                      is_said(d, "memory") || is_said(d, "discovery") ||
                      is_said(d, "tools.mcp");
    const struct {
        const char *key;
        bool needs;
    } keys[] = {
        {"plugins.path", true},
        {"plugins.dev", true},
        {"trust", true},
        {"programs", true},
        {"tools.mcp", secrets || mortise_mcp_runs_programs(&d->tools.mcp)},
        {"secrets", runs_programs(&d->secrets) || (secrets && configured)},
        {"plugins.config", secrets},
        {"guardrails", secrets},
        {"models", secrets},
        {"memory", secrets},
        {"discovery", secrets},
    };
    size_t n = 0;

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (keys[i].needs && is_said(d, keys[i].key))
            needs[n++] =
                (struct mortise_need){keys[i].key, at(d->tree, keys[i].key)};
    return n;
}

/* ---- their digest (2) ------------------------------------------------------
 */

static json_t *said(const struct mortise_yaml *written,
                    const struct mortise_yaml *tree)
{
    bool map = written->kind == MORTISE_YAML_MAP;
    json_t *out;

    if (!map && written->kind != MORTISE_YAML_SEQ)
        return mortise_yaml_json(written->kind == MORTISE_YAML_STRING &&
                                         strstr(written->str, "${file:")
                                     ? tree
                                     : written,
                                 false);
    out = map ? json_object() : json_array();
    for (size_t i = 0; out != NULL && i < written->n; i++) {
        json_t *one = said(written->items[i], tree->items[i]);
        int rv = map ? json_object_set_new(out, written->keys[i]->str, one)
                     : json_array_append_new(out, one);

        if (rv != 0)
            mortise_json_drop(&out);
    }
    return out;
}

static int digest_needs(struct mortise_allowance *a,
                        const struct mortise_deployment *d)
{
    struct mortise_need needs[MORTISE_NEEDS_MAX];
    size_t n = mortise_allow_needs(d, needs);
    uint8_t digest[MORTISE_DIGEST];
    json_t *all = json_object();
    int rv = all != NULL ? MORTISE_OK : MORTISE_ENOMEM;

    for (size_t i = 0; rv == MORTISE_OK && i < n; i++)
        if (json_object_set_new(
                all, needs[i].key,
                said(at(d->written, needs[i].key), needs[i].value)) != 0)
            rv = MORTISE_ENOMEM;
    if (rv == MORTISE_OK)
        rv = mortise_json_digest(digest, all, a->mem);
    if (rv == MORTISE_OK)
        mortise_hex(a->digest, digest, sizeof digest);
    json_decref(all);
    return rv;
}

/* ---- reading (4) -----------------------------------------------------------
 */

/* What is no record is none: then nothing was said. */
static int read_record(json_t **out, const struct mortise_mem *mem,
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

/* Where what was said of it is kept, if that can be relied on. */
static int its_record(const struct mortise_allowance *a, char path[PATH_MAX],
                      struct mortise_err *err)
{
    char dir[PATH_MAX];
    int rv = mortise_userdir_named(dir, kept_in, err);

    if (rv == MORTISE_OK)
        rv = mortise_userdir_file(path, dir, a->file, suffix, err);
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
    rv = digest_needs(a, d);
    if (rv != MORTISE_OK)
        return mortise_nomem(err);
    if (its_record(a, path, &a->why) != MORTISE_OK)
        return MORTISE_OK;
    rv = read_record(&a->record, a->mem, path, err);
    if (rv == MORTISE_OK &&
        strcmp(mortise_json_text_of(a->record, "file"), a->file) != 0)
        mortise_json_drop(&a->record);
    return rv;
}

void mortise_allow_finish(struct mortise_allowance *a)
{
    mortise_json_drop(&a->record);
}

bool mortise_allow_holds(const struct mortise_allowance *a)
{
    return a->record != NULL &&
           strcmp(mortise_json_text_of(a->record, "digest"), a->digest) == 0;
}

bool mortise_allow_has(const struct mortise_allowance *a,
                       const struct mortise_fault *f)
{
    const json_t *places = json_object_get(a->record, "places");

    if (!mortise_allow_holds(a))
        return false;
    MORTISE_JSON_EACH (p, i, places) {
        if (strcmp(mortise_json_text_of(p, "path"), f->path) == 0 &&
            json_integer_value(json_object_get(p, "uid")) ==
                (json_int_t)f->uid &&
            json_integer_value(json_object_get(p, "mode")) ==
                (json_int_t)(f->mode & 022))
            return true;
    }
    return false;
}

/* ---- saying ----------------------------------------------------------------
 */

json_t *mortise_allow_place(const struct mortise_fault *f)
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
    char *text = record != NULL ? mortise_json_text(a->mem, record) : NULL;
    int rv = text != NULL ? MORTISE_OK : mortise_nomem(err);

    if (rv == MORTISE_OK)
        rv = mortise_userdir_make(dir, kept_in, err);
    if (rv == MORTISE_OK)
        rv = mortise_userdir_file(path, dir, a->file, suffix, err);
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
    int rv = its_record(a, path, err);

    if (rv == MORTISE_OK && a->record == NULL)
        rv = mortise_fail(err, MORTISE_ENOTFOUND, "%s was never allowed",
                          a->file);
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
    rv = mortise_userdir_named(dir, kept_in, err);
    if (rv == MORTISE_OK)
        rv = mortise_listing_read(&l, mem, dir, suffix, err);
    if (rv != MORTISE_OK)
        return rv == MORTISE_ENOTFOUND ? MORTISE_OK : rv;
    for (size_t i = 0; rv == MORTISE_OK && i < l.n; i++) {
        json_t *record = NULL;

        rv =
            mortise_file_path(path, sizeof path, err, "%s/%s", dir, l.names[i]);
        if (rv == MORTISE_OK)
            rv = read_record(&record, mem, path, err);
        if (record != NULL && json_array_append_new(*out, record) != 0)
            rv = mortise_nomem(err);
    }
    mortise_listing_finish(&l);
    return rv;
}
