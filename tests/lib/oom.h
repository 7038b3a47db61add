/* oom.h -- refuse memory to code that asks the C library itself, plugins for
 * one.  Defines malloc(), calloc() and realloc() for the whole program, so
 * exactly one file of a program includes it, and only tests that need it do.
 *
 *     oom_fail_at(n);      the nth allocation (from 0) of this thread, and all
 *                          later ones, fail, counting those made inside
 *     oom_around(inside)   what a bare host tells of its plugin: only inside is
 *                          anything refused (Check, outside, would exit)
 *     oom_failed()         did any fail?  Also disarms.
 *     oom_works()          false where a sanitizer or valgrind owns malloc()
 */
#ifndef OOM_H
#define OOM_H

#include <stdbool.h>
#include <stdlib.h>
#include <errno.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OOM_OWNED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OOM_OWNED 1
#endif
#endif

static _Thread_local long oom_left = -1; /* -1: give whatever is asked for */
static _Thread_local bool oom_hit, oom_inside;
/* Read anew each time: a compiler knows malloc(), and that it changes nothing
 * that one could see. */
static _Thread_local volatile unsigned long oom_seen;

#ifndef OOM_OWNED
#define OOM_SHOWN __attribute__((visibility("default")))

/* glibc's own, under the names that it exports for this. */
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);

static bool oom_refuses(void)
{
    oom_seen++;
    if (oom_left < 0 || !oom_inside)
        return false;
    if (oom_left > 0) {
        oom_left--;
        return false;
    }
    oom_hit = true;
    errno = ENOMEM;
    return true;
}

OOM_SHOWN void *malloc(size_t n)
{
    return oom_refuses() ? NULL : __libc_malloc(n);
}

OOM_SHOWN void *calloc(size_t n, size_t size)
{
    return oom_refuses() ? NULL : __libc_calloc(n, size);
}

OOM_SHOWN void *realloc(void *p, size_t n)
{
    return oom_refuses() ? NULL : __libc_realloc(p, n);
}
#endif

static void oom_fail_at(long n)
{
    oom_hit = false;
    oom_left = n;
}

static void oom_around(bool inside)
{
    oom_inside = inside;
}

static bool oom_failed(void)
{
    oom_left = -1;
    return oom_hit;
}

static bool oom_works(void)
{
    unsigned long before = oom_seen;
    void *volatile p = malloc(1);

    free(p);
    return oom_seen > before;
}

#endif
