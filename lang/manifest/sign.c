/* sign.c -- the work of `mortise plugin sign`.
 *
 *   (1) The author's text is signed unchanged, byte for byte, with the
 *       artifacts appended: comments stay, and nothing is reformatted.
 *   (2) Before signing, the manifest and the objects pass the checks that
 *       loading makes, so that the author sees an error before a user does.
 *   (3) The signature's comment contains name, version, seq and time, which the
 *       loader compares with the manifest.
 *   (4) The objects are written first and the signature last.  If signing is
 *       interrupted, the directory either verifies with the intended contents
 *       or does not verify. */
#include "lang/manifest/sign.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/clock.h"
#include "core/base/dirs.h"
#include "core/plugin/elf.h"
#include "core/base/files.h"
#include "lang/manifest/manifest.h"

enum { OBJECT_MAX = 1 << 28 };

struct signing_work {
    const struct mortise_sign_request *s;
    const struct mortise_mem *mem;
    struct mortise_diags *diags;
    struct mortise_buf text; /* the manifest to sign */
    struct mortise_manifest *m;
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static int parse_work_manifest(struct signing_work *w, bool need_artifacts,
                               struct mortise_err *err)
{
    const char *path = w->s->manifest;
    int rv;

    mortise_manifest_free(w->m);
    rv = mortise_manifest_parse(&w->m, w->mem, path,
                                w->text.p != NULL ? w->text.p : "", w->text.n,
                                need_artifacts, w->diags);
    if (rv == MORTISE_ENOMEM)
        return mortise_nomem(err);
    if (rv == MORTISE_OK && !w->s->unchecked)
        rv = mortise_manifest_check_host(w->m, w->diags);
    return rv == MORTISE_OK ? rv : mortise_fail(err, rv, "%s has errors", path);
}

/* ---- objects ------------------------------------------------------------- */

/* A name that needs no quotes in YAML, shells and messages. */
static bool is_plain_file_name(const char *name)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-";

    return name[0] != '\0' && name[0] != '.' &&
           strspn(name, good) == strlen(name) && strlen(name) <= 200;
}

static int inspect_new_object(const struct signing_work *w,
                              const struct mortise_buf *so, const char *path,
                              const char **arch, struct mortise_err *err)
{
    int rv = mortise_elf_get_arch(arch, so->p, so->n, err);

    if (rv == MORTISE_OK && !w->s->unchecked)
        rv = mortise_elf_check(so->p, so->n, *arch, err);
    if (rv == MORTISE_OK && !is_plain_file_name(base_name(path)))
        rv = mortise_fail(
            err, MORTISE_EINVAL,
            "its name can contain only letters, digits, '.', '_', '+' and '-'");
    return rv == MORTISE_OK ? rv : mortise_err_prefix(err, rv, "%s", path);
}

/* Does the object contain this manifest's plugin? */
static int check_object_plugin(const struct signing_work *w,
                               const struct mortise_buf *so, const char *path,
                               struct mortise_err *err)
{
    int rv = MORTISE_OK;

    if (!w->s->unchecked)
        rv = mortise_elf_check_plugin(so->p, so->n, w->m->name, w->m->version,
                                      err);
    return rv == MORTISE_OK ? rv : mortise_err_prefix(err, rv, "%s", path);
}

/* Copy the object into OUT, unless it is there already. */
static int copy_to_output(const struct signing_work *w,
                          const struct mortise_buf *so, const char *path,
                          struct mortise_err *err)
{
    char to[PATH_MAX];
    struct stat a, b;
    int rv = mortise_file_format_path(to, sizeof to, err, "%s/%s", w->s->out,
                                      base_name(path));

    if (rv != MORTISE_OK)
        return rv;
    if (stat(path, &a) == 0 && stat(to, &b) == 0 && a.st_dev == b.st_dev &&
        a.st_ino == b.st_ino)
        return MORTISE_OK;
    return mortise_file_write(to, so->p, so->n, 0644, 0, err);
}

static int read_new_object(const struct signing_work *w, struct mortise_buf *so,
                           const char *path, const char **arch,
                           struct mortise_err *err)
{
    int rv;

    mortise_buf_init(so, w->mem);
    rv = mortise_file_read(so, path, OBJECT_MAX, err);
    if (rv == MORTISE_OK)
        rv = inspect_new_object(w, so, path, arch, err);
    return rv;
}

/* ---- a manifest without artifacts: append them --------------------------- */

/* Read, inspect and copy one object, and append its artifact to the text. */
static int append_object(struct signing_work *w, const char *path,
                         struct mortise_err *err)
{
    char hex[MORTISE_DIGEST_HEX];
    uint8_t digest[MORTISE_DIGEST];
    struct mortise_buf so;
    const char *arch;
    int rv = read_new_object(w, &so, path, &arch, err);

    if (rv == MORTISE_OK)
        rv = check_object_plugin(w, &so, path, err);
    if (rv == MORTISE_OK) {
        mortise_digest(digest, so.p, so.n);
        mortise_hex_encode(hex, digest, sizeof digest);
        mortise_buf_printf(&w->text,
                           "  - {arch: %s, file: \"%s\", size: %zu, "
                           "blake2b-256: \"%s\"}\n",
                           arch, base_name(path), so.n, hex);
        rv = copy_to_output(w, &so, path, err);
    }
    mortise_buf_finish(&so);
    return rv;
}

static int append_artifacts(struct signing_work *w, struct mortise_err *err)
{
    char only[PATH_MAX];
    int rv;

    if (w->text.n > 0 && w->text.p[w->text.n - 1] != '\n')
        mortise_buf_puts(&w->text, "\n");
    mortise_buf_puts(&w->text, "artifacts:\n");
    if (w->s->n_objects == 0) {
        rv = mortise_file_format_path(only, sizeof only, err, "%s/%s.so",
                                      w->s->out, w->m->name);
        if (rv == MORTISE_OK)
            rv = append_object(w, only, err);
    } else {
        rv = MORTISE_OK;
    }
    for (size_t i = 0; rv == MORTISE_OK && i < w->s->n_objects; i++)
        rv = append_object(w, w->s->objects[i], err);
    if (rv == MORTISE_OK && w->text.failed)
        rv = mortise_nomem(err);
    /* Appending breaks a manifest in flow style, or one that ends inside
     * another mapping.  This parse then reports findings. */
    return rv == MORTISE_OK ? parse_work_manifest(w, true, err) : rv;
}

/* ---- a manifest with artifacts: compare them with the objects ------------ */

/* The path of an artifact's object: a given one, or one in the manifest's
 * directory. */
static int find_artifact_object(const struct signing_work *w,
                                const struct mortise_artifact *a,
                                char path[PATH_MAX], struct mortise_err *err)
{
    const char *manifest = w->s->manifest;

    for (size_t i = 0; i < w->s->n_objects; i++)
        if (strcmp(base_name(w->s->objects[i]), a->file) == 0)
            return mortise_file_format_path(path, PATH_MAX, err, "%s",
                                            w->s->objects[i]);
    return mortise_file_format_path(path, PATH_MAX, err, "%.*s%s",
                                    (int)(base_name(manifest) - manifest),
                                    manifest, a->file);
}

static int compare_object(const struct signing_work *w,
                          const struct mortise_artifact *a,
                          struct mortise_err *err)
{
    uint8_t digest[MORTISE_DIGEST];
    char path[PATH_MAX];
    struct mortise_buf so;
    const char *arch;
    int rv = find_artifact_object(w, a, path, err);

    if (rv != MORTISE_OK)
        return rv;
    rv = read_new_object(w, &so, path, &arch, err);
    if (rv == MORTISE_OK) {
        mortise_digest(digest, so.p, so.n);
        if (so.n != a->size || strcmp(arch, a->arch) != 0 ||
            memcmp(digest, a->digest, sizeof digest) != 0)
            rv = mortise_fail(err, MORTISE_EINVAL,
                              "%s differs from the artifact that %s describes; "
                              "remove `artifacts` and sign again",
                              path, w->s->manifest);
        else if ((rv = check_object_plugin(w, &so, path, err)) == MORTISE_OK)
            rv = copy_to_output(w, &so, path, err);
    }
    mortise_buf_finish(&so);
    return rv;
}

static int compare_artifacts(struct signing_work *w, struct mortise_err *err)
{
    int rv = parse_work_manifest(w, true, err); /* with sizes and digests */

    for (size_t i = 0; rv == MORTISE_OK && i < w->m->n_artifacts; i++)
        rv = compare_object(w, &w->m->artifacts[i], err);
    return rv;
}

/* ---- signing ------------------------------------------------------------- */

static int write_signed(const struct signing_work *w, const char *path,
                        struct mortise_err *err)
{
    uint64_t when = w->s->timestamp;
    char sig_path[PATH_MAX], comment[512];
    struct mortise_buf sig;
    int rv = mortise_file_format_path(sig_path, sizeof sig_path, err,
                                      "%s.minisig", path);

    if (rv != MORTISE_OK)
        return rv;
    snprintf(comment, sizeof comment,
             "name:%s version:%s seq:%llu timestamp:%llu", w->m->name,
             w->m->version, (unsigned long long)w->m->seq,
             (unsigned long long)(when != 0 ? when : mortise_now_ms() / 1000));
    assert(w->m->n_artifacts > 0); /* parsed with artifacts */
    mortise_buf_init(&sig, w->mem);
    rv = mortise_minisign_sign(&sig, w->s->key, w->text.p, w->text.n, comment,
                               err);
    if (rv == MORTISE_OK)
        rv = mortise_file_write(path, w->text.p, w->text.n, 0644, 0, err);
    if (rv == MORTISE_OK)
        rv = mortise_file_write(sig_path, sig.p, sig.n, 0644, 0, err);
    mortise_buf_finish(&sig);
    return rv;
}

int mortise_plugin_sign(const struct mortise_sign_request *s,
                        char path[PATH_MAX], const struct mortise_mem *mem,
                        struct mortise_diags *diags, struct mortise_err *err)
{
    struct signing_work w = {.s = s, .mem = mem, .diags = diags};
    char to[PATH_MAX];
    int rv;

    mortise_buf_init(&w.text, mem);
    rv = mortise_file_read(&w.text, s->manifest, OBJECT_MAX, err);
    if (rv == MORTISE_OK)
        rv = parse_work_manifest(&w, false, err);
    if (rv == MORTISE_OK)
        rv = mortise_dir_make(AT_FDCWD, s->out, 0755, err);
    if (rv == MORTISE_OK)
        rv = w.m->n_artifacts == 0 ? append_artifacts(&w, err)
                                   : compare_artifacts(&w, err);
    if (rv == MORTISE_OK)
        rv = mortise_file_format_path(to, sizeof to, err, "%s/%s.plugin.yaml",
                                      s->out, w.m->name);
    if (rv == MORTISE_OK)
        rv = write_signed(&w, to, err);
    if (rv == MORTISE_OK && path != NULL)
        strcpy(path, to);
    mortise_manifest_free(w.m);
    mortise_buf_finish(&w.text);
    return rv;
}
