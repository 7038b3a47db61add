/* foreign.c -- report findings about an imported graph, and set members of the
 * new one. */
#include "tools/import/foreign.h"

#include <stdarg.h>

#include "lang/yaml/diag.h"

void mortise_foreign_report(struct foreign *f, const char *code,
                            struct mortise_span at, const char *why,
                            const char *fmt, ...)
{
    char words[1024]; /* the longest message that diag.c shows */
    struct mortise_diag *d;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(words, sizeof words, fmt, ap);
    va_end(ap);
    d = mortise_diag_add(f->diags, code, at, "%s", words);
    if (why != NULL)
        mortise_diag_help(f->diags, d, "%s", why);
}

void mortise_foreign_set(struct foreign *f, json_t *into, const char *key,
                         json_t *v)
{
    if (json_object_set_new(into, key, v) != 0)
        f->nomem = true;
}

void mortise_foreign_set_nonempty(struct foreign *f, json_t *into,
                                  const char *key, json_t *v)
{
    if (json_object_size(v) + json_array_size(v) > 0)
        mortise_foreign_set(f, into, key, v);
    else
        json_decref(v);
}
