/* regex.c -- regular expressions with a cost for each search.
 *
 * CEL's `matches` and JSON Schema's `pattern` come from files and are matched
 * against data from anywhere, on the thread that owns all runs.  So a search
 * may not take longer than its caller has paid for.
 *
 * RE2      All patterns of CEL, and those of JSON Schema that RE2 can express.
 *          A search takes O(n m) for n bytes and m places of the pattern
 *          (counted as in pattern.h), whatever the text.  It is charged in
 *          advance: START + n * (1 + m / PLACES).
 *
 * PCRE2    Patterns of JSON Schema with lookaround, references, \B, a property
 *          that RE2 lacks, or repetitions that are too large for RE2.  PCRE2
 *          backtracks, and its match limit restarts at each position of the
 *          text where a match is tried.  So a callout before each item of the
 *          pattern counts the steps of the whole search: one for the callout,
 *          and one for each SCAN characters that were passed since the last
 *          one.  The search ends when the steps exceed the payment.
 *
 * Exceeding a limit is an error, never "no match" and never a hang.  The cost
 * depends on the pattern and the text, and not on the version of RE2.
 *
 * A pattern is parsed by the standard that its user requires, and written anew
 * (ecma.c, re2.c).  Only a foreign schema's pattern that is not ECMA-262 goes
 * to PCRE2 as written.
 *
 * A compiled expression is in an arena.  PCRE2 allocates from the arena.  An
 * RE2 automaton does not (automaton.cpp), and is freed together with the arena.
 * A search by PCRE2 frees the memory that it allocates.
 */
#include "lang/regex/regex.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "lang/regex/automaton.h"
#include "lang/regex/ecma.h"
#include "lang/regex/re2.h"

enum {
    START = 100, /* for each search */
    /* places of a pattern that one byte is matched against at unit cost */
    PLACES = 16,
    COMPILED = 10, /* for each range of characters */
    /* RE2 compiles this many in about ten milliseconds, within the memory limit
     * of an automaton. */
    MOST_RANGES = 20000,
    STEPS = 4, /* PCRE2 steps per unit, each about 50 ns or more */
    SCAN = 8,  /* characters that are passed without a callout, per step */
    HEAP_LIMIT_KIB = 16384,
    DEPTH_LIMIT = 100000
};

struct mortise_regex {
    const struct mortise_automaton *automaton; /* NULL: it is PCRE2's */
    uint64_t per_byte;                         /* cost of a search by the
                                                * automaton */
    pcre2_code *code;
    uint64_t per_callout; /* steps */
    bool refers;          /* it may have backreferences */
};

/* The state of a compilation. */
struct compiling {
    struct mortise_regex *re;
    struct mortise_arena *arena;
    const char *standard; /* NULL: none */
    uint64_t *left;
    struct mortise_err *err;
};

/* ---- RE2 ----------------------------------------------------------------- */

static void free_automaton(void *automaton)
{
    mortise_automaton_free(automaton);
}

static int fail_with_refusal(const struct compiling *c, const char *why)
{
    if (c->standard == NULL)
        return mortise_fail(c->err, MORTISE_EINVAL,
                            "not a regular expression: %s", why);
    return mortise_fail(
        c->err, MORTISE_EINVAL,
        "a regular expression of %s that this build does not support: %s",
        c->standard, why);
}

static int charge_regex_cost(uint64_t *left, uint64_t cost,
                             struct mortise_err *err)
{
    if (left == NULL)
        return MORTISE_OK;
    if (cost > *left)
        return mortise_fail(err, MORTISE_ELIMIT,
                            "the search with the regular expression would "
                            "exceed the cost limit");
    *left -= cost;
    return MORTISE_OK;
}

/* MORTISE_EUNAVAILABLE: RE2 does not accept it. */
static int compile_re2(struct compiling *c, const struct mortise_buf *text,
                       const struct mortise_weight *weight)
{
    struct mortise_automaton *automaton;
    char why[160];

    if (weight->ranges > MOST_RANGES) {
        fail_with_refusal(
            c,
            "its repetitions make it too large: write smaller numbers in { }");
        return MORTISE_EUNAVAILABLE;
    }
    if (charge_regex_cost(c->left, COMPILED * weight->ranges, c->err) !=
        MORTISE_OK)
        return MORTISE_ELIMIT;
    switch (mortise_automaton_compile(&automaton, text->n > 0 ? text->p : "",
                                      text->n, why, sizeof why)) {
    case MORTISE_AUTOMATON_FOUND:
        break;
    case MORTISE_AUTOMATON_REFUSED:
        fail_with_refusal(c, why);
        return MORTISE_EUNAVAILABLE;
    default:
        return mortise_nomem(c->err);
    }
    if (mortise_arena_cleanup(c->arena, free_automaton, automaton) !=
        MORTISE_OK) {
        free_automaton(automaton);
        return mortise_nomem(c->err);
    }
    c->re->automaton = automaton;
    c->re->per_byte = 1 + weight->places / PLACES;
    return MORTISE_OK;
}

static int search_re2(const struct mortise_regex *re, const char *s, size_t n,
                      bool *found, struct mortise_err *err)
{
    enum mortise_automaton_result result =
        mortise_automaton_search(re->automaton, s, n);

    *found = result == MORTISE_AUTOMATON_FOUND;
    return result == MORTISE_AUTOMATON_NOMEM ? mortise_nomem(err) : MORTISE_OK;
}

/* ---- PCRE2: compiling ---------------------------------------------------- */

static void *alloc_from_arena(PCRE2_SIZE n, void *arena)
{
    return mortise_arena_alloc(arena, n);
}

static void ignore_arena_free(void *p, void *arena)
{
    (void)p;
    (void)arena;
}

/* Report an error of PCRE2.  A translated pattern is valid in its standard, so
 * it exceeds a limit of PCRE2.  The offset is not reported, because it refers
 * to the translation. */
static int fail_with_pcre2_error(const struct compiling *c, int code)
{
    PCRE2_UCHAR words[160];

    if (code == PCRE2_ERROR_HEAP_FAILED)
        return mortise_nomem(c->err);
    if (code == PCRE2_ERROR_LOOKBEHIND_NOT_FIXED_LENGTH)
        return fail_with_refusal(
            c, "a lookbehind must have a fixed length, without * + ? or {n,m}");
    pcre2_get_error_message(code, words, sizeof words);
    return fail_with_refusal(c, (char *)words);
}

/* The largest count of a repetition.  An item with a minimum count may fail at
 * its last copy, after that many characters without a callout. */
static uint64_t get_largest_count(const char *text, size_t n)
{
    const char *end = text + n;
    unsigned long most = 0, one;

    for (const char *p = text; p < end; p++) {
        if (*p == '\\' && end - p > 2) {
            p += p[2] == '{' ? 2 : 1; /* \x{...} is no repetition */
        } else if (*p == '{') {
            one = strtoul(p + 1, NULL, 10);
            most = one > most ? one : most;
        }
    }
    return most;
}

static int compile_pcre2(struct compiling *c, const char *text, size_t n,
                         uint32_t extra)
{
    pcre2_general_context *general = pcre2_general_context_create(
        alloc_from_arena, ignore_arena_free, c->arena);
    pcre2_compile_context *context;
    uint32_t references = 0;
    PCRE2_SIZE at = 0;
    int code = 0;

    if (general == NULL)
        return mortise_nomem(c->err);
    context = pcre2_compile_context_create(general);
    if (context == NULL)
        return mortise_nomem(c->err);
    if (extra != 0)
        pcre2_set_compile_extra_options(context, extra);
    c->re->code =
        pcre2_compile((PCRE2_SPTR)text, n,
                      PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_AUTO_CALLOUT |
                          PCRE2_NEVER_BACKSLASH_C | PCRE2_ALLOW_EMPTY_CLASS |
                          PCRE2_MATCH_UNSET_BACKREF,
                      &code, &at, context);
    if (c->re->code == NULL)
        return fail_with_pcre2_error(c, code);
    pcre2_pattern_info(c->re->code, PCRE2_INFO_BACKREFMAX, &references);
    c->re->refers = references > 0;
    c->re->per_callout = 1 + get_largest_count(text, n) / SCAN;
    return MORTISE_OK;
}

/* ---- PCRE2: searching ---------------------------------------------------- */

/* PCRE2 does not pass the size of a block to free, so it is stored before
 * it. */
union header {
    size_t size;
    max_align_t align;
};

static void *alloc_pcre2_block(PCRE2_SIZE n, void *mem)
{
    union header *h = mortise_alloc(mem, sizeof *h + n);

    if (h == NULL)
        return NULL;
    h->size = sizeof *h + n;
    return h + 1;
}

static void free_pcre2_block(void *p, void *mem)
{
    union header *h = p;

    if (h != NULL)
        mortise_release(mem, h - 1, h[-1].size);
}

/* A running search. */
struct counter {
    const struct mortise_regex *re;
    uint64_t left; /* steps */
    size_t at;     /* position in the text at the last callout */
};

/* PCRE2 calls no callout while it compares a back reference: that takes at most
 * the length of the longest group. */
static size_t get_longest_group(const pcre2_callout_block *block)
{
    size_t most = 0;

    for (uint32_t i = 1; i < block->capture_top; i++) {
        size_t from = block->offset_vector[2 * i],
               to = block->offset_vector[2 * i + 1];

        if (from != PCRE2_UNSET && to > from && to - from > most)
            most = to - from;
    }
    return most;
}

/* PCRE2 calls this before each item of the pattern. */
static int count_pcre2_item(pcre2_callout_block *block, void *arg)
{
    struct counter *c = arg;
    size_t at = block->current_position;
    size_t passed = at > c->at ? at - c->at : c->at - at;
    uint64_t steps;

    if (c->re->refers)
        passed += get_longest_group(block);
    steps = c->re->per_callout + passed / SCAN;
    c->at = at;
    if (steps > c->left)
        return PCRE2_ERROR_MATCHLIMIT;
    c->left -= steps;
    return 0;
}

/* Convert a result of PCRE2 to an error with our message. */
static int convert_pcre2_result(int rv, bool *found, struct mortise_err *err)
{
    PCRE2_UCHAR words[160];

    *found = rv >= 0;
    switch (rv) {
    case PCRE2_ERROR_NOMATCH:
        return MORTISE_OK;
    case PCRE2_ERROR_MATCHLIMIT:
    case PCRE2_ERROR_DEPTHLIMIT:
    case PCRE2_ERROR_HEAPLIMIT:
        return mortise_fail(
            err, MORTISE_ELIMIT,
            "the regular expression needs too many steps on this text");
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

static int run_pcre2_match(struct counter *c, const char *s, size_t n,
                           const struct mortise_mem *mem)
{
    struct mortise_mem lent = *mem;
    pcre2_general_context *general = pcre2_general_context_create(
        alloc_pcre2_block, free_pcre2_block, &lent);
    pcre2_match_context *context = NULL;
    pcre2_match_data *data = NULL;
    int rv = PCRE2_ERROR_NOMEMORY;

    if (general != NULL) { /* without it PCRE2 would use the C heap */
        context = pcre2_match_context_create(general);
        data = pcre2_match_data_create(1, general);
    }
    if (context != NULL && data != NULL) {
        pcre2_set_match_limit(context, UINT32_MAX);
        pcre2_set_depth_limit(context, DEPTH_LIMIT);
        pcre2_set_heap_limit(context, HEAP_LIMIT_KIB);
        pcre2_set_callout(context, count_pcre2_item, c);
        rv = pcre2_match(c->re->code, (PCRE2_SPTR)s, n, 0, 0, data, context);
    }
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_general_context_free(general);
    return rv;
}

static int search_pcre2(const struct mortise_regex *re, const char *s, size_t n,
                        uint64_t *left, const struct mortise_mem *mem,
                        bool *found, struct mortise_err *err)
{
    uint64_t steps = *left > UINT64_MAX / STEPS ? UINT64_MAX : *left * STEPS;
    struct counter c = {.re = re, .left = steps};
    int rv = convert_pcre2_result(run_pcre2_match(&c, s, n, mem), found, err);

    *left -= (steps - c.left) / STEPS;
    return rv;
}

/* ---- RE2 and PCRE2 ------------------------------------------------------- */

static int compile_ecma(struct compiling *c, struct mortise_buf *text,
                        const char *pattern, size_t n)
{
    struct mortise_weight weight;
    int rv = mortise_ecma_translate(text, pattern, n, true, &weight, c->err);

    if (rv == MORTISE_OK)
        rv = compile_re2(c, text, &weight);
    if (rv != MORTISE_EUNAVAILABLE)
        return rv;
    text->n = 0;
    rv = mortise_ecma_translate(text, pattern, n, false, &weight, c->err);
    return rv == MORTISE_OK ? compile_pcre2(c, text->p, text->n, 0) : rv;
}

static int compile_by_dialect(struct compiling *c, enum mortise_dialect dialect,
                              struct mortise_buf *text, const char *pattern,
                              size_t n)
{
    struct mortise_weight weight;
    int rv;

    switch (dialect) {
    case MORTISE_DIALECT_ECMA:
        c->standard = "ECMA-262";
        return compile_ecma(c, text, pattern, n);
    case MORTISE_DIALECT_RE2:
        c->standard = "RE2";
        rv = mortise_re2_translate(text, pattern, n, &weight, c->err);
        if (rv == MORTISE_OK)
            rv = compile_re2(c, text, &weight);
        return rv == MORTISE_EUNAVAILABLE ? MORTISE_EINVAL : rv;
    default:
        return compile_pcre2(c, pattern, n, PCRE2_EXTRA_ALT_BSUX);
    }
}

int mortise_regex_compile(struct mortise_regex **out, struct mortise_arena *a,
                          enum mortise_dialect dialect, const char *pattern,
                          size_t n, uint64_t *left, struct mortise_err *err)
{
    struct compiling c = {.re = mortise_arena_alloc(a, sizeof *c.re),
                          .arena = a,
                          .left = left,
                          .err = err};
    struct mortise_buf text;
    int rv;

    *out = NULL;
    if (c.re == NULL)
        return mortise_nomem(err);
    mortise_buf_init(&text, a->mem);
    rv = charge_regex_cost(left, START + n, err);
    if (rv == MORTISE_OK)
        rv = compile_by_dialect(&c, dialect, &text, pattern, n);
    mortise_buf_finish(&text);
    *out = rv == MORTISE_OK ? c.re : NULL;
    return rv;
}

/* The cost that is known before a search: RE2 matches each byte against the
 * whole pattern, PCRE2 reads each byte at least once. */
static uint64_t get_search_cost(const struct mortise_regex *re, size_t n)
{
    uint64_t cost;

    if (re->automaton == NULL)
        return n / PLACES;
    return __builtin_mul_overflow(n, re->per_byte, &cost) ? UINT64_MAX : cost;
}

int mortise_regex_search(const struct mortise_regex *re, const char *s,
                         size_t n, uint64_t *left,
                         const struct mortise_mem *mem, bool *found,
                         struct mortise_err *err)
{
    int rv = charge_regex_cost(left, START, err);

    *found = false;
    if (rv == MORTISE_OK)
        rv = charge_regex_cost(left, get_search_cost(re, n), err);
    if (rv != MORTISE_OK)
        return rv;
    return re->automaton != NULL
               ? search_re2(re, s, n, found, err)
               : search_pcre2(re, s, n, left, mem, found, err);
}
