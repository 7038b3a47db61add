/* regex.c -- regular expressions that always end.
 *
 * CEL's `matches` and JSON Schema's `pattern` come from files and are held
 * against data from anywhere; PCRE2 backtracks, and for some pairs that takes
 * as good as forever.  So a search is bounded in steps (a fixed number for each
 * byte of the text, so that who pays by the byte has paid for them), depth and
 * memory; what passes a bound is an error, never "no match" and never a hang.
 *
 * The dialect leans towards RE2, for which CEL is written: `$` is the end of
 * the text alone, `.` and classes see code points, `\d` and `\w` are ASCII,
 * \C does not exist.
 *
 * A compiled expression lies in an arena, where freeing does nothing, so that
 * it needs no destructor.  A search takes and returns its memory.
 */
#include "base/regex.h"

#include <stddef.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/ecma.h"

enum {
    STEPS = 10000,
    STEPS_PER_BYTE = 100,
    MOST_STEPS = 10000000,
    DEPTH_LIMIT = 2000,
    HEAP_LIMIT_KIB = 4096
};

#define ECMA_OPTIONS (PCRE2_ALLOW_EMPTY_CLASS | PCRE2_MATCH_UNSET_BACKREF)

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

static int compile(struct mortise_regex **out, struct mortise_arena *a,
                   const char *pattern, size_t n, bool ecma, size_t *offset,
                   struct mortise_err *err)
{
    pcre2_general_context *general =
        pcre2_general_context_create(from_arena, to_arena, a);
    struct mortise_regex *re = mortise_arena_alloc(a, sizeof *re);
    pcre2_compile_context *context;
    PCRE2_UCHAR words[160];
    PCRE2_SIZE at = 0;
    int code = 0;

    *out = NULL;
    if (general == NULL || re == NULL)
        return mortise_nomem(err);
    context = pcre2_compile_context_create(general);
    if (context == NULL)
        return mortise_nomem(err);
    if (ecma)
        pcre2_set_compile_extra_options(context, PCRE2_EXTRA_ALT_BSUX);
    re->code = pcre2_compile((PCRE2_SPTR)pattern, n,
                             (ecma ? ECMA_OPTIONS : 0) | PCRE2_UTF |
                                 PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C,
                             &code, &at, context);
    if (offset != NULL)
        *offset = at < n ? at : n;
    if (re->code != NULL) {
        *out = re;
        return MORTISE_OK;
    }
    if (code == PCRE2_ERROR_HEAP_FAILED)
        return mortise_nomem(err);
    pcre2_get_error_message(code, words, sizeof words);
    return mortise_fail(err, MORTISE_EINVAL, "not a regular expression: %s",
                        (char *)words);
}

int mortise_regex_compile(struct mortise_regex **out, struct mortise_arena *a,
                          const char *pattern, size_t n, size_t *offset,
                          struct mortise_err *err)
{
    return compile(out, a, pattern, n, false, offset, err);
}

int mortise_regex_compile_ecma(struct mortise_regex **out,
                               struct mortise_arena *a, const char *pattern,
                               size_t n, struct mortise_err *err)
{
    struct mortise_buf text;
    int rv;

    *out = NULL;
    mortise_buf_init(&text, a->mem);
    rv = mortise_ecma_translate(&text, pattern, n, err);
    if (rv == MORTISE_OK)
        rv = compile(out, a, text.n > 0 ? text.p : "", text.n, true, NULL, err);
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
