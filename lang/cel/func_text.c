/* func_text.c -- the standard functions of strings: size() and searching.
 *
 * A search compares bytes, which gives the same result as comparing characters
 * in UTF-8.  The size counts code points.
 */
#include "lang/cel/func.h"

#include <string.h>

#include "core/base/utf8.h"

static bool call_size(CEL_PARAMS)
{
    size_t size;

    switch (args->kind) {
    case CEL_STRING:
        if (!cel_charge(c, args->u.s.n))
            return false;
        size = mortise_utf8_count(args->u.s.p, args->u.s.n);
        break;
    case CEL_BYTES:
        size = args->u.s.n;
        break;
    default: /* a list or a map */
        size = mortise_cel_get_count(args);
    }
    *out = cel_int((int64_t)size);
    return true;
}

static bool call_contains(CEL_PARAMS)
{
    if (!cel_charge(c, args[1].u.s.n) || !cel_charge(c, args[0].u.s.n))
        return false;
    *out = cel_bool(memmem(args[0].u.s.p, args[0].u.s.n, args[1].u.s.p,
                           args[1].u.s.n) != NULL);
    return true;
}

static bool call_starts_with(CEL_PARAMS)
{
    size_t len;

    if (!cel_charge(c, args[1].u.s.n))
        return false;
    len = args[1].u.s.n;
    *out = cel_bool(len <= args[0].u.s.n &&
                    memcmp(args[0].u.s.p, args[1].u.s.p, len) == 0);
    return true;
}

static bool call_ends_with(CEL_PARAMS)
{
    size_t len, all;

    if (!cel_charge(c, args[1].u.s.n))
        return false;
    len = args[1].u.s.n;
    all = args[0].u.s.n;
    *out = cel_bool(len <= all &&
                    memcmp(args[0].u.s.p + all - len, args[1].u.s.p, len) == 0);
    return true;
}

/* Search with a pattern that is not constant, compiled only for this search. */
static int search_with(const struct cel_value *pattern,
                       const struct cel_value *s, uint64_t *left,
                       const struct mortise_mem *mem, bool *found)
{
    struct mortise_regex *regex;
    struct mortise_arena own;
    int rv;

    mortise_arena_init(&own, mem);
    rv = mortise_regex_compile(&regex, &own, MORTISE_DIALECT_RE2,
                               pattern->u.s.p, pattern->u.s.n, left, NULL);
    if (rv == MORTISE_OK)
        rv = mortise_regex_search(regex, s->u.s.p, s->u.s.n, left, mem, found,
                                  NULL);
    mortise_arena_finish(&own);
    return rv;
}

static bool call_matches(CEL_PARAMS)
{
    const struct mortise_regex *regex = n->u.call.regex;
    const struct mortise_mem *mem = c->arena->mem;
    bool found = false;
    int rv;

    rv = regex != NULL
             ? mortise_regex_search(regex, args[0].u.s.p, args[0].u.s.n,
                                    &c->left, mem, &found, NULL)
             : search_with(&args[1], &args[0], &c->left, mem, &found);
    *out = cel_bool(found);
    if (rv == MORTISE_OK)
        return true;
    return mortise_cel_fault(c, rv == MORTISE_ENOMEM   ? CEL_MEMORY
                                : rv == MORTISE_ELIMIT ? CEL_STEPS
                                                       : CEL_REGEX);
}

/* A constant pattern is compiled once. */
static void prepare_matches(const struct cel_source *src, struct cel_node *n)
{
    const struct cel_node *p = n->kids[n->n - 1];
    struct mortise_regex *regex;
    int rv;

    if (p->op != CEL_CONST)
        return;
    rv = mortise_regex_compile(&regex, src->arena, MORTISE_DIALECT_RE2,
                               p->u.constant.u.s.p, p->u.constant.u.s.n, NULL,
                               src->out->err);
    if (rv == MORTISE_EINVAL && src->where != NULL)
        *src->where = (struct mortise_cel_range){p->offset, p->length};
    mortise_escape_on_error(src->out, rv);
    n->u.call.regex = regex;
}

static const struct cel_function rows[] = {
    CEL_FUNCTION("size", 1, CEL_RECEIVER | CEL_GLOBAL, 0, INT, call_size, NULL,
                 STRING | BYTES | LIST | MAP),
    CEL_METHOD("contains", 2, 0, BOOL, call_contains, STRING, STRING),
    CEL_METHOD("startsWith", 2, 0, BOOL, call_starts_with, STRING, STRING),
    CEL_METHOD("endsWith", 2, 0, BOOL, call_ends_with, STRING, STRING),
    CEL_FUNCTION("matches", 2, CEL_RECEIVER | CEL_GLOBAL, 0, BOOL, call_matches,
                 prepare_matches, STRING, STRING),
};

const struct cel_functions mortise_cel_text_functions = {
    rows, sizeof rows / sizeof rows[0]};
