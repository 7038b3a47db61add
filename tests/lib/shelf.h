/* shelf.h -- a directory of signed test plugins, and of whom to trust, made
 * anew for a test.
 *
 * The objects are those of $MORTISE_BUILD/tests/plugins (or beside the running
 * test program), the source manifests those of tests/plugins.  Everything in a
 * header, so that test programs without plugins need not link them.
 *
 * Modules stay loaded for good, each with its descriptor, so a test that starts
 * plugins uses shelf_begin() and shelf_nothing_left() around itself: as many
 * descriptors are held in reserve, and given back, as modules were loaded. */
#ifndef SHELF_H
#define SHELF_H

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/test.h"
#include "lang/manifest/sign.h"
#include "lang/manifest/trust_file.h"

#define SHELF_FN static inline __attribute__((unused))

struct shelf {
    char root[PATH_MAX - 512];
    char plugins[PATH_MAX - 256]; /* ROOT/plugins */
    char trust[PATH_MAX - 256];   /* ROOT/trust.d */
    char quarantine[PATH_MAX - 256];
    struct mortise_seckey key;
};

/* Where the built test plugins are. */
SHELF_FN const char *shelf_objects(void)
{
    static char dir[PATH_MAX];
    const char *build = getenv("MORTISE_BUILD");
    char exe[PATH_MAX - 64], *slash;
    ssize_t n;

    if (build != NULL) {
        snprintf(dir, sizeof dir, "%.*s/tests/plugins", PATH_MAX - 64, build);
        return dir;
    }
    n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    ck_assert_int_gt(n, 0);
    exe[n] = '\0';
    slash = strrchr(exe, '/');
    *slash = '\0';
    snprintf(dir, sizeof dir, "%s/plugins", exe);
    return dir;
}

/* The path of a built object; static until the next call. */
SHELF_FN const char *shelf_object(const char *name)
{
    static char path[PATH_MAX];

    snprintf(path, sizeof path, "%.*s/%s.so", PATH_MAX - 300, shelf_objects(),
             name);
    return path;
}

/* The path of a source manifest; static until the next call. */
SHELF_FN const char *shelf_source(const char *name)
{
    static char path[PATH_MAX];

    snprintf(path, sizeof path, "tests/plugins/%s.plugin.yaml", name);
    return path;
}

SHELF_FN void shelf_sign(const struct shelf *s, const char *name,
                         const char *manifest, const char *object)
{
    struct mortise_sign_request signing = {.manifest = manifest,
                                           .objects = &object,
                                           .n_objects = 1,
                                           .out = s->plugins,
                                           .key = &s->key,
                                           .unchecked = true};
    struct mortise_diags diags;
    struct mortise_err err = {0};
    int rv;

    mortise_diags_init(&diags, &mortise_heap);
    rv = mortise_plugin_sign(&signing, NULL, &mortise_heap, &diags, &err);
    ck_assert_msg(rv == MORTISE_OK, "sign %s: %s: %s", name, err.msg,
                  diags.n > 0 ? diags.list[0].message : "");
    mortise_diags_finish(&diags);
}

/* Sign one plugin into the shelf, refusable or not. */
SHELF_FN void shelf_put(const struct shelf *s, const char *name)
{
    shelf_sign(s, name, shelf_source(name), shelf_object(name));
}

/* ... as its release of that seq, a module of its own: so many bytes longer.
 * Its source says `seq: 1`. */
SHELF_FN void shelf_put_release(const struct shelf *s, const char *name,
                                unsigned seq)
{
    char manifest[PATH_MAX], object[PATH_MAX], text[4096];
    size_t n, m;
    char *source = test_read(shelf_source(name), &m);
    char *so = test_read(shelf_object(name), &n), *longer = calloc(1, n + seq);
    const char *at = strstr(source, "\nseq: 1\n");

    ck_assert_ptr_nonnull(at);
    memcpy(longer, so, n);
    snprintf(manifest, sizeof manifest, "%s/%s.plugin.yaml", s->root, name);
    snprintf(object, sizeof object, "%s/%s.so", s->root, name);
    snprintf(text, sizeof text, "%.*s\nseq: %u%s", (int)(at - source), source,
             seq, at + strlen("\nseq: 1"));
    test_write(manifest, text, strlen(text));
    test_write(object, longer, n + seq);
    shelf_sign(s, name, manifest, object);
    free(longer);
    free(so);
    free(source);
}

/* Trust the shelf's key for everything, in this process. */
SHELF_FN void shelf_trust(const struct shelf *s)
{
    static const char *const all[] = {"*"};
    struct mortise_trusted_key by = {.plugins = all,
                                     .n_plugins = 1,
                                     .kinds = MORTISE_KIND_ALL,
                                     .in_process = true};

    mortise_seckey_public(&s->key, &by.key);
    ck_assert_int_eq(
        mortise_trust_add(s->trust, "test", &by, &mortise_heap, NULL),
        MORTISE_OK);
}

/* An empty shelf in a fresh directory, with a key that it trusts. */
SHELF_FN void shelf_init(struct shelf *s)
{
    snprintf(s->root, sizeof s->root, "%s", test_mkdir());
    snprintf(s->plugins, sizeof s->plugins, "%s/plugins", s->root);
    snprintf(s->trust, sizeof s->trust, "%s/trust.d", s->root);
    snprintf(s->quarantine, sizeof s->quarantine, "%s/quarantine", s->root);
    ck_assert_int_eq(mortise_seckey_new(&s->key, NULL), MORTISE_OK);
    shelf_trust(s);
}

SHELF_FN void shelf_finish(struct shelf *s)
{
    test_rmdir(s->root);
}

/* ---- descriptors -----------------------------------------------------------
 */

enum { SHELF_RESERVE = 128 };

static int shelf_reserve[SHELF_RESERVE];

SHELF_FN int shelf_count_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    ck_assert_ptr_nonnull(d);
    while (readdir(d) != NULL)
        n++;
    closedir(d);
    return n;
}

static int shelf_fds_before;

SHELF_FN void *shelf_nothing(void *ud)
{
    return ud;
}

SHELF_FN void shelf_begin(void)
{
    pthread_t thread;

    /* ThreadSanitizer starts a thread of its own with our first one: now. */
    if (pthread_create(&thread, NULL, shelf_nothing, NULL) == 0)
        pthread_join(thread, NULL);
    for (int k = 0; k < SHELF_RESERVE; k++)
        shelf_reserve[k] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    test_begin();
    shelf_fds_before = shelf_count_fds();
}

/* Is fd a module's memfd? */
SHELF_FN bool shelf_is_module(int fd)
{
    char link[64], target[512];
    ssize_t n;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, target, sizeof target - 1);
    if (n <= 0)
        return false;
    target[n] = '\0';
    return strncmp(target, "/memfd:", 7) == 0 && strchr(target, '@') != NULL;
}

/* How many modules this process holds. */
SHELF_FN int shelf_modules(void)
{
    int n = 0;

    for (int fd = 0; fd < 1024; fd++)
        n += shelf_is_module(fd);
    return n;
}

SHELF_FN void shelf_nothing_left(void)
{
    int more = shelf_count_fds() - shelf_fds_before;

    ck_assert_int_le(more, shelf_modules());
    ck_assert_int_le(more, SHELF_RESERVE);
    for (int k = 0; k < more; k++)
        close(shelf_reserve[k]);
    test_nothing_left();
    for (int k = more > 0 ? more : 0; k < SHELF_RESERVE; k++)
        close(shelf_reserve[k]);
}

#endif
