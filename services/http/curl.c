/* curl.c -- libcurl, loaded when the first HTTP request is made.
 *
 * Debian's libcurl brings thirty libraries along (TLS, HTTP/2, Kerberos, LDAP,
 * IDN): mapping and relocating them costs some 5 ms and 6 MiB, in every
 * `mortise` command and for every graph that asks the network nothing.  That is
 * a third of what a cold start may cost (architecture.md), so nobody links to
 * it: it is found by its soname when it is needed, once for the process, and
 * stays.  A failure is not remembered: descriptors or memory may have been short.
 *
 * The soname is the contract (libcurl has kept it since 2006); functions that
 * an older one lacks are looked for here, and not missed in the middle of a
 * request. */
#include "services/http/curl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/dynlib.h"

static const char soname[] = "libcurl.so.4";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mortise_curl curl; /* under the lock until it is loaded */
static bool is_loaded;           /* under the lock */

/* ISO C has no cast from an object's address to a function's; POSIX has. */
static int find(void *lib, const char *name, void *to, struct mortise_err *err)
{
    void *p = dlsym(lib, name);

    memcpy(to, &p, sizeof p);
    return p != NULL ? MORTISE_OK
                     : mortise_fail(err, MORTISE_EUNAVAILABLE,
                                    "%s is too old for HTTP: %s() is missing",
                                    soname, name);
}

static int load(struct mortise_err *err)
{
    CURLcode (*global_init)(long);
    void *lib = dlopen(soname, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    int rv;

    if (lib == NULL) {
        rv = mortise_dynlib_error(err, "HTTP needs libcurl (Debian: libcurl4)");
        return rv == MORTISE_EINVAL ? err->code = MORTISE_EUNAVAILABLE : rv;
    }
    rv = find(lib, "curl_global_init", &global_init, err);
#define X(name)                                                                \
    if (rv == MORTISE_OK)                                                      \
        rv = find(lib, "curl_" #name, &curl.name, err);
    MORTISE_CURL_FUNCTIONS(X)
#undef X
    if (rv == MORTISE_OK && global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        rv = mortise_fail(err, MORTISE_EUNAVAILABLE,
                          "libcurl could not be initialised");
    return rv;
}

int mortise_curl_get(const struct mortise_curl **out, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    pthread_mutex_lock(&lock);
    if (!is_loaded)
        rv = load(err);
    is_loaded = rv == MORTISE_OK;
    pthread_mutex_unlock(&lock);
    *out = rv == MORTISE_OK ? &curl : NULL;
    return rv;
}
