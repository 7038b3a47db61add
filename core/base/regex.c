/* regex.c -- regular expressions that always end.
 *
 * CEL's `matches` and JSON Schema's `pattern` come from files and are held
 * against data from anywhere; PCRE2 backtracks, and for some pairs that takes
 * as good as forever.  So a search is bounded in steps (a fixed number for each
 * byte of the text, so that who pays by the byte has paid for them), depth and
 * memory; what passes a bound is an error, never "no match" and never a hang.
 *
 * PCRE2's own language is nobody's but PCRE2's.  What is given to it was read by
 * the standard that its user names, and written anew (ecma.c, re2.c).
 *
 * A compiled expression lies in an arena, where freeing does nothing, so that
 * it needs no destructor.  A search takes and returns its memory.
 */
#include "base/regex.h"

#include <stddef.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/ecma.h"
#include "base/ecma_first.h"
#include "base/re2.h"

enum {
    STEPS = 10000,
    STEPS_PER_BYTE = 100,
    MOST_STEPS = 10000000,
    DEPTH_LIMIT = 2000,
    HEAP_LIMIT_KIB = 4096
};

struct mortise_regex {
    pcre2_code *code;
};

static void *from_arena(PCRE2_SIZE n, void *arena)
{
    return mortise_arena_alloc(arena, n);
}

static void to_arena(void *p, void *arena)
{
    (void)p;
    (void)arena;
}

/* How a dialect is given to PCRE2. */
static const struct dialect {
    const char *words; /* of what PCRE2 does not take */
    int (*translate)(struct mortise_buf *out, const char *pattern, size_t n,
                     struct mortise_err *err); /* NULL: it is given as it is */
    uint32_t options, extra;
} dialects[] = {
    [MORTISE_DIALECT_ECMA] =
        {"this is ECMA-262, and this build does not take it",
         mortise_ecma_translate,
         PCRE2_ALLOW_EMPTY_CLASS | PCRE2_MATCH_UNSET_BACKREF, 0},
    [MORTISE_DIALECT_RE2] = {"this is RE2, and this build does not take it",
                             mortise_re2_translate, PCRE2_ALLOW_EMPTY_CLASS, 0},
    [MORTISE_DIALECT_ECMA_FIRST] = {"not a regular expression",
                                    mortise_ecma_first_translate,
                                    PCRE2_ALLOW_EMPTY_CLASS |
                                        PCRE2_MATCH_UNSET_BACKREF,
                                    PCRE2_EXTRA_ALT_BSUX},
    [MORTISE_DIALECT_RE2_FIRST] = {"not a regular expression", NULL, 0, 0},
};

/* PCRE2's words for what it does not take.  What was translated is in its
 * standard's language: it passes a limit of PCRE2's.  Its place is one in what
 * was written for it, which nobody has seen. */
static int refuse(const struct dialect *d, int code, struct mortise_err *err)
{
    PCRE2_UCHAR words[160];

    if (code == PCRE2_ERROR_HEAP_FAILED)
        return mortise_nomem(err);
    if (code == PCRE2_ERROR_LOOKBEHIND_NOT_FIXED_LENGTH)
        return mortise_fail(err, MORTISE_EINVAL,
                            "%s: it looks behind for a fixed length only, "
                            "without * + ? or {n,m}",
                            d->words);
    pcre2_get_error_message(code, words, sizeof words);
    return mortise_fail(err, MORTISE_EINVAL, "%s: %s", d->words, (char *)words);
}

static int compile(struct mortise_regex **out, struct mortise_arena *a,
                   const struct dialect *d, const char *text, size_t n,
                   struct mortise_err *err)
{
    pcre2_general_context *general =
        pcre2_general_context_create(from_arena, to_arena, a);
    struct mortise_regex *re = mortise_arena_alloc(a, sizeof *re);
    pcre2_compile_context *context;
    PCRE2_SIZE at = 0;
    int code = 0;

    if (general == NULL || re == NULL)
        return mortise_nomem(err);
    context = pcre2_compile_context_create(general);
    if (context == NULL)
        return mortise_nomem(err);
    if (d->extra != 0)
        pcre2_set_compile_extra_options(context, d->extra);
    re->code = pcre2_compile((PCRE2_SPTR)text, n,
                             d->options | PCRE2_UTF | PCRE2_DOLLAR_ENDONLY |
                                 PCRE2_NEVER_BACKSLASH_C,
                             &code, &at, context);
    if (re->code == NULL)
        return refuse(d, code, err);
    *out = re;
    return MORTISE_OK;
}

int mortise_regex_compile(struct mortise_regex **out, struct mortise_arena *a,
                          enum mortise_dialect dialect, const char *pattern,
                          size_t n, struct mortise_err *err)
{
    const struct dialect *d = &dialects[dialect];
    struct mortise_buf text;
    int rv;

    *out = NULL;
    if (d->translate == NULL)
        return compile(out, a, d, pattern, n, err);
    mortise_buf_init(&text, a->mem);
    rv = d->translate(&text, pattern, n, err);
    if (rv == MORTISE_OK)
        rv = compile(out, a, d, text.n > 0 ? text.p : "", text.n, err);
    mortise_buf_finish(&text);
    return rv;
}

/* What PCRE2 said, in our words. */
static int search_result(int rv, bool *found, struct mortise_err *err)
{
    PCRE2_UCHAR words[160];

    *found = rv >= 0;
    switch (rv) {
    case PCRE2_ERROR_NOMATCH:
        return MORTISE_OK;
    case PCRE2_ERROR_MATCHLIMIT:
    case PCRE2_ERROR_DEPTHLIMIT:
    case PCRE2_ERROR_HEAPLIMIT:
        return mortise_fail(err, MORTISE_ELIMIT,
                            "the regular expression takes too many steps "
                            "on this text");
    case PCRE2_ERROR_NOMEMORY:
        return mortise_nomem(err);
    default:
        if (rv >= 0)
            return MORTISE_OK;
        pcre2_get_error_message(rv, words, sizeof words);
        return mortise_fail(err, MORTISE_EINVAL, "regular expression: %s",
                            (char *)words);
    }
}

/* PCRE2 does not say how large what it frees was: we note it in front. */
union header {
    size_t size;
    max_align_t align;
};

static void *take(PCRE2_SIZE n, void *mem)
{
    union header *h = mortise_alloc(mem, sizeof *h + n);

    if (h == NULL)
        return NULL;
    h->size = sizeof *h + n;
    return h + 1;
}

static void give_back(void *p, void *mem)
{
    union header *h = p;

    if (h != NULL)
        mortise_release(mem, h - 1, h[-1].size);
}

static uint32_t steps_for(size_t n)
{
    size_t most = (MOST_STEPS - STEPS) / STEPS_PER_BYTE;

    return (uint32_t)(STEPS + STEPS_PER_BYTE * (n < most ? n : most));
}

int mortise_regex_search(const struct mortise_regex *re, const char *s,
                         size_t n, const struct mortise_mem *mem, bool *found,
                         struct mortise_err *err)
{
    struct mortise_mem lent = *mem;
    pcre2_general_context *general =
        pcre2_general_context_create(take, give_back, &lent);
    pcre2_match_context *context = NULL;
    pcre2_match_data *data = NULL;
    int rv = PCRE2_ERROR_NOMEMORY;

    if (general != NULL) { /* without it PCRE2 would take the C heap */
        context = pcre2_match_context_create(general);
        data = pcre2_match_data_create(1, general);
    }
    if (context != NULL && data != NULL) {
        pcre2_set_match_limit(context, steps_for(n));
        pcre2_set_depth_limit(context, DEPTH_LIMIT);
        pcre2_set_heap_limit(context, HEAP_LIMIT_KIB);
        rv = pcre2_match(re->code, (PCRE2_SPTR)s, n, 0, 0, data, context);
    }
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_general_context_free(general);
    return search_result(rv, found, err);
}
