/* foreign.c -- what is said of a foreign graph, and values put into ours. */
#include "import/foreign.h"

#include <stdarg.h>

#include "yaml/diag.h"

static void report(struct foreign *f, const char *code, struct mortise_span at,
                   const char *why, const char *fmt, va_list ap)
    MORTISE_PRINTF(5, 0);

static void report(struct foreign *f, const char *code, struct mortise_span at,
                   const char *why, const char *fmt, va_list ap)
{
    char words[1024]; /* diag.c shows no more of them */
    struct mortise_diag *d;

    vsnprintf(words, sizeof words, fmt, ap);
    d = mortise_diag_add(f->diags, code, at, "%s", words);
    if (why != NULL)
        mortise_diag_help(f->diags, d, "%s", why);
}

void mortise_foreign_lost(struct foreign *f, struct mortise_span at,
                          const char *why, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    report(f, "W1001", at, why, fmt, ap);
    va_end(ap);
}

void mortise_foreign_wrong(struct foreign *f, struct mortise_span at,
                           const char *why, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    report(f, "E1001", at, why, fmt, ap);
    va_end(ap);
}

void mortise_foreign_put(struct foreign *f, json_t *into, const char *key,
                         json_t *v)
{
    if (json_object_set_new(into, key, v) != 0)
        f->nomem = true;
}
