/* curl.c -- libcurl, loaded when the first HTTP request is made.
 *
 * Debian's libcurl brings thirty libraries along (TLS, HTTP/2, Kerberos, LDAP,
 * IDN): mapping and relocating them costs some 5 ms and 6 MiB, in every
 * `mortise` command and for every graph that asks the network nothing.  That is
 * a third of what a cold start may cost (architecture.md), so nobody links to
 * it: it is found by its soname when it is needed, once for the process, and
 * stays.
 *
 * The soname is the contract (libcurl has kept it since 2006); functions that
 * an older one lacks are looked for here, and not missed in the middle of a
 * request. */
#include "engine/http/curl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static const char soname[] = "libcurl.so.4";

static struct mortise_curl curl;
static struct mortise_err trouble; /* code MORTISE_OK: it is there */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ISO C has no cast from an object's address to a function's; POSIX has. */
static bool find(void *lib, const char *name, void *to)
{
    void *p = dlsym(lib, name);

    memcpy(to, &p, sizeof p);
    if (p == NULL)
        mortise_fail(&trouble, MORTISE_EUNAVAILABLE,
                     "%s is too old for HTTP: it has no %s()", soname, name);
    return p != NULL;
}

static void load(void)
{
    CURLcode (*global_init)(long);
    void *lib = dlopen(soname, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    bool ok = lib != NULL;

    if (!ok)
        mortise_fail(&trouble, MORTISE_EUNAVAILABLE,
                     "HTTP needs libcurl (Debian: libcurl4): %s", dlerror());
#define X(name) ok = ok && find(lib, "curl_" #name, &curl.name);
    MORTISE_CURL_FUNCTIONS(X)
#undef X
    ok = ok && find(lib, "curl_global_init", &global_init);
    if (ok && global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        mortise_fail(&trouble, MORTISE_EUNAVAILABLE,
                     "libcurl could not be initialised");
}

int mortise_curl_get(const struct mortise_curl **out, struct mortise_err *err)
{
    pthread_once(&once, load);
    *out = trouble.code == MORTISE_OK ? &curl : NULL;
    if (trouble.code != MORTISE_OK && err != NULL)
        *err = trouble;
    return trouble.code;
}
