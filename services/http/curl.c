/* curl.c -- loads libcurl when the first HTTP request is made.
 *
 * Debian's libcurl depends on thirty libraries (TLS, HTTP/2, Kerberos, LDAP,
 * IDN).  Mapping and relocating them costs about 5 ms and 6 MiB, a third of the
 * budget of a cold start (architecture.md).  Commands and graphs without
 * network access should not pay for it, so nothing links to libcurl.  It is
 * opened by its soname on first use, once for the process, and never unloaded.
 * A failure is not cached, because descriptors or memory may only have been
 * short.
 *
 * The soname is the contract: libcurl has kept it since 2006.  All functions
 * are looked up here, so a library that is too old fails at once and not in the
 * middle of a request. */
#include "services/http/curl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/dynlib.h"

static const char soname[] = "libcurl.so.4";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mortise_curl curl; /* guarded by lock until it is loaded */
static bool is_loaded;           /* guarded by lock */

/* memcpy, because ISO C cannot cast an object pointer to a function pointer
 * (POSIX can). */
static int find_curl_function(void *lib, const char *name, void *to,
                              struct mortise_err *err)
{
    void *p = dlsym(lib, name);

    memcpy(to, &p, sizeof p);
    return p != NULL ? MORTISE_OK
                     : mortise_fail(err, MORTISE_EUNAVAILABLE,
                                    "%s is too old for HTTP: %s() is missing",
                                    soname, name);
}

static int load_curl(struct mortise_err *err)
{
    CURLcode (*global_init)(long);
    void *lib = dlopen(soname, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    int rv;

    if (lib == NULL) {
        rv = mortise_dynlib_error(err, "HTTP needs libcurl (Debian: libcurl4)");
        return rv == MORTISE_EINVAL ? err->code = MORTISE_EUNAVAILABLE : rv;
    }
    rv = find_curl_function(lib, "curl_global_init", &global_init, err);
#define X(name)                                                                \
    if (rv == MORTISE_OK)                                                      \
        rv = find_curl_function(lib, "curl_" #name, &curl.name, err);
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
        rv = load_curl(err);
    is_loaded = rv == MORTISE_OK;
    pthread_mutex_unlock(&lock);
    *out = rv == MORTISE_OK ? &curl : NULL;
    return rv;
}
