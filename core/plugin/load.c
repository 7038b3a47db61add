/* load.c -- the bytes of a .so in a sealed copy, and the module loaded from it.
 *
 * This file ensures that the loaded code is the signed code:
 *
 *   (1) The file is copied into a memfd, which is sealed.  Only then is it
 *       digested, inspected and loaded, all from the memfd.  Replacing the file
 *       meanwhile has no effect.
 *   (2) glibc identifies a loaded object by the *string* that opened it.  If
 *       "/proc/PID/fd/N" is used twice, the second dlopen() silently returns
 *       the first library.  Therefore the descriptors of loaded modules stay
 *       open forever, a name that is already loaded is rejected (RTLD_NOLOAD),
 *       and the loaded object's l_name must be the string that was passed.
 *   (3) Nothing is ever unloaded: a thread or a thread-specific destructor of
 *       the plugin would run unmapped code.  The same bytes give the module
 *       that is already loaded.  Other bytes under the same name are a new
 *       generation; at most eight are loaded, because each stays in memory.
 *   (4) The fields of a module are checked before use: size, abi, and every
 *       pointer that will be called.
 *
 * The memfd cannot be executed as a program (memfd.c), which no plugin needs;
 * dlopen() can still map it executable.
 *
 * Modules belong to the process, because several engines share them.  The list
 * is global, under one lock, on the heap. */
#include "core/plugin/load.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/dynlib.h"
#include "core/base/mem.h"
#include "core/base/files.h"
#include "core/plugin/memfd.h"
#include "core/plugin/status.h"

enum { OBJECT_MAX = 1 << 28, GENERATIONS = 8, PLUGINS_MAX = 64 };

struct mortise_loaded_module {
    struct mortise_loaded_module *next;
    uint8_t digest[MORTISE_DIGEST];
    char name[129];               /* the first plugin that needed it */
    const mortise_module *module; /* NULL: unusable */
    size_t users;
    bool started; /* init() ran, fini() did not */
    bool leaked;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list */
static struct mortise_loaded_module *modules;

/* ---- objects ------------------------------------------------------------- */

static int copy_object_file(int to, int from, const char *path,
                            struct mortise_err *err)
{
    char block[65536];
    uint64_t total = 0;
    ssize_t n;

    while ((n = read(from, block, sizeof block)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return mortise_syserr(err, errno, "read %s", path);
        total += (uint64_t)n;
        if (total > OBJECT_MAX)
            return mortise_fail(err, MORTISE_EINVAL, "%s is too large", path);
        if (mortise_file_write_fd(to, block, (size_t)n) != 0)
            return mortise_syserr(err, errno, "copy %s", path);
    }
    return MORTISE_OK;
}

/* Seal the copy, map it and compute its digest. */
static int seal_and_map(struct mortise_object *o, const char *path,
                        struct mortise_err *err)
{
    off_t n = lseek(o->fd, 0, SEEK_END);
    void *p;

    assert(o->fd >= 0 && o->p == NULL); /* copied, not mapped yet */
    if (mortise_memfd_seal(o->fd) != 0)
        return mortise_syserr(err, errno, "seal the copy of %s", path);
    if (n <= 0)
        return mortise_fail(err, MORTISE_EINVAL, "%s is empty", path);
    p = mmap(NULL, (size_t)n, PROT_READ, MAP_PRIVATE, o->fd, 0);
    if (p == MAP_FAILED)
        return mortise_syserr(err, errno, "map the copy of %s", path);
    o->p = p;
    o->n = (size_t)n;
    mortise_digest(o->digest, o->p, o->n);
    return MORTISE_OK;
}

int mortise_object_open(struct mortise_object *o, const char *path,
                        const char *label, struct mortise_err *err)
{
    char name[200]; /* the kernel's limit is 249 */
    uint64_t size;
    int file, rv = mortise_file_open(&file, &size, path, OBJECT_MAX, err);

    *o = (struct mortise_object){.fd = -1};
    if (rv != MORTISE_OK)
        return rv;
    snprintf(name, sizeof name, "%s", label);
    o->fd = mortise_memfd_new(name);
    if (o->fd < 0)
        rv = mortise_syserr(err, errno, "memfd for %s", path);
    else
        rv = copy_object_file(o->fd, file, path, err);
    close(file);
    if (rv == MORTISE_OK)
        rv = seal_and_map(o, path, err);
    if (rv != MORTISE_OK)
        mortise_object_close(o);
    return rv;
}

void mortise_object_close(struct mortise_object *o)
{
    if (o->p != NULL)
        munmap(o->p, o->n);
    if (o->fd >= 0)
        close(o->fd);
    *o = (struct mortise_object){.fd = -1};
}

/* ---- dlopen -------------------------------------------------------------- */

static struct mortise_loaded_module *
find_loaded_module(const uint8_t digest[MORTISE_DIGEST])
{
    struct mortise_loaded_module *l = modules;

    while (l != NULL && memcmp(l->digest, digest, MORTISE_DIGEST) != 0)
        l = l->next;
    return l;
}

static int check_generations(const char *name, struct mortise_err *err)
{
    int n = 0;

    for (const struct mortise_loaded_module *l = modules; l != NULL;
         l = l->next)
        n += strcmp(l->name, name) == 0;
    if (n < GENERATIONS)
        return MORTISE_OK;
    return mortise_fail(err, MORTISE_ESTATE,
                        "%d versions of it are loaded in this process and "
                        "cannot be unloaded; restart mortise to load another",
                        n);
}

/* Was the object of this handle loaded from this path? */
static bool is_loaded_from(void *handle, const char *path)
{
    struct link_map *map = NULL;

    return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != NULL &&
           strcmp(map->l_name, path) == 0;
}

static int open_memfd(void **out, int fd, struct mortise_err *err)
{
    char path[64];
    void *handle;

    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), fd);
    if (dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) != NULL)
        return mortise_fail(err, MORTISE_ESTATE,
                            "another object is loaded as %s; restart mortise",
                            path);
    dlerror();
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == NULL)
        return mortise_dynlib_error(err, "cannot be loaded");
    if (!is_loaded_from(handle, path))
        return mortise_fail(err, MORTISE_ESTATE,
                            "the dynamic linker loaded another object than %s",
                            path);
    *out = handle;
    return MORTISE_OK;
}

/* ---- checks of a module -------------------------------------------------- */

static int check_module_fields(const mortise_module *m, struct mortise_err *err)
{
    if (m->size < sizeof *m)
        return mortise_fail(err, MORTISE_EINVAL,
                            "its mortise_module has %u bytes, but needs at "
                            "least %zu; set size to sizeof(mortise_module)",
                            m->size, sizeof *m);
    if (m->abi_major != MORTISE_ABI_MAJOR)
        return mortise_fail(err, MORTISE_EINVAL,
                            "was built for abi %u.%u, but this host has %d.%d; "
                            "build it with this host's <mortise/plugin.h>",
                            m->abi_major, m->abi_minor, MORTISE_ABI_MAJOR,
                            MORTISE_ABI_MINOR);
    if (m->plugin_count == 0 || m->plugin_count > PLUGINS_MAX ||
        m->plugins == NULL)
        return mortise_fail(
            err, MORTISE_EINVAL,
            "its mortise_module lists an invalid number of plugins, %u",
            m->plugin_count);
    return MORTISE_OK;
}

/* Load a module.  The lock is held.  After dlopen() the entry always stays. */
static int add_loaded_module(struct mortise_loaded_module **out,
                             struct mortise_object *o, const char *name,
                             struct mortise_err *err)
{
    struct mortise_loaded_module *l;
    void *handle = NULL;
    int rv = check_generations(name, err);

    assert(o->fd >= 0 && find_loaded_module(o->digest) == NULL);
    /* Checked by the manifest's parser. */
    assert(strlen(name) < sizeof l->name);
    if (rv != MORTISE_OK)
        return rv;
    l = mortise_zalloc(&mortise_heap, sizeof *l);
    if (l == NULL)
        return mortise_nomem(err);
    rv = open_memfd(&handle, o->fd, err);
    if (rv != MORTISE_OK) {
        mortise_release(&mortise_heap, l, sizeof *l);
        return rv;
    }
    o->fd = -1; /* stays open forever (2) */
    memcpy(l->digest, o->digest, sizeof l->digest);
    snprintf(l->name, sizeof l->name, "%s", name);
    l->module = dlsym(handle, "mortise_module_v1");
    l->next = modules;
    modules = l;
    *out = l;
    return MORTISE_OK;
}

static int check_loaded(const struct mortise_loaded_module *l,
                        struct mortise_err *err)
{
    if (l->module == NULL)
        return mortise_fail(err, MORTISE_EINVAL,
                            "does not export mortise_module_v1");
    if (l->leaked)
        return mortise_fail(err, MORTISE_ESTATE,
                            "did not stop when it was closed before; restart "
                            "mortise to use it again");
    return check_module_fields(l->module, err);
}

int mortise_module_load(struct mortise_loaded_module **out,
                        struct mortise_object *o, const char *name,
                        struct mortise_err *err)
{
    struct mortise_loaded_module *l;
    int rv = MORTISE_OK;

    pthread_mutex_lock(&lock);
    l = find_loaded_module(o->digest);
    if (l == NULL)
        rv = add_loaded_module(&l, o, name, err);
    if (rv == MORTISE_OK)
        rv = check_loaded(l, err);
    if (rv == MORTISE_OK)
        l->users++;
    pthread_mutex_unlock(&lock);
    if (rv == MORTISE_OK)
        *out = l;
    return rv;
}

/* ---- plugins of a module ------------------------------------------------- */

static bool is_plugin_complete(const mortise_plugin *p)
{
    return p != NULL && p->size >= sizeof *p && p->id != NULL &&
           p->version != NULL && p->create != NULL &&
           p->get_interface != NULL && p->destroy != NULL;
}

static int find_module_plugin(const mortise_plugin **out,
                              const mortise_module *m, const char *name,
                              const char *version, struct mortise_err *err)
{
    const mortise_plugin *last = NULL;

    for (uint32_t i = 0; i < m->plugin_count; i++) {
        const mortise_plugin *p = m->plugins[i];

        if (!is_plugin_complete(p))
            return mortise_fail(
                err, MORTISE_EINVAL,
                "its mortise_plugin %u is too small, or id, version, create, "
                "get_interface or destroy is missing",
                i);
        last = p;
        if (strcmp(p->id, name) == 0 && strcmp(p->version, version) == 0) {
            *out = p;
            return MORTISE_OK;
        }
    }
    assert(last != NULL); /* check_module_fields() rejects an empty list */
    return mortise_fail(err, MORTISE_EINVAL,
                        "its manifest has the plugin %s %s, but its module has "
                        "%.100s %.50s; build and sign them together",
                        name, version, last->id, last->version);
}

static int init_module(struct mortise_loaded_module *l, struct mortise_err *err)
{
    mortise_status status = MORTISE_S_OK;

    /* Mortise_module_load() succeeded. */
    assert(l->users > 0 && l->module != NULL);
    if (l->started)
        return MORTISE_OK;
    if (l->module->init != NULL)
        status = l->module->init();
    if (status != MORTISE_S_OK)
        return mortise_fail(err, MORTISE_EINVAL,
                            "its module's init() failed with status %d (%s)",
                            (int)status, mortise_status_name(status));
    l->started = true;
    return MORTISE_OK;
}

int mortise_module_find_plugin(const mortise_plugin **out,
                               struct mortise_loaded_module *l,
                               const char *name, const char *version,
                               struct mortise_err *err)
{
    int rv = find_module_plugin(out, l->module, name, version, err);

    pthread_mutex_lock(&lock);
    if (rv == MORTISE_OK)
        rv = init_module(l, err);
    pthread_mutex_unlock(&lock);
    return rv;
}

void mortise_module_release(struct mortise_loaded_module *l, bool leaked)
{
    pthread_mutex_lock(&lock);
    assert(l->users > 0); /* each load is released once */
    l->users--;
    l->leaked = l->leaked || leaked;
    if (l->users == 0 && l->started && !l->leaked) {
        assert(l->module != NULL); /* it was checked and started */
        l->started = false;
        if (l->module->fini != NULL)
            l->module->fini();
    }
    pthread_mutex_unlock(&lock);
}
