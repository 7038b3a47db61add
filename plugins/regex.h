/* regex.h -- PCRE2 that always comes back, for the plugins that match.
 *
 * A pattern from a graph file and a text from a stranger can keep a
 * backtracking matcher busy for years.  Four bounds hold it:
 *
 *   - a pattern has at most REGEX_PATTERN bytes, and PCRE2 refuses one that
 *     compiles to more than 64 KiB;
 *   - one attempt (a match that is tried from one place of the text) may take
 *     REGEX_STEPS steps and REGEX_HEAP KiB: beyond that it is REGEX_LIMIT;
 *   - before each attempt a callout, put before the pattern, asks whether the
 *     call was cancelled: REGEX_CANCELLED.  Attempts are many in a long text,
 *     so the first bound alone would not end a match that crawls;
 *   - and whether the time of the whole call is up: REGEX_TIME.
 *
 * Patterns are UTF, do not match the empty string where REGEX_NOTEMPTY says
 * so, and cannot loosen these bounds: option verbs such as (*LIMIT_MATCH=)
 * only count at the very start, where the callout is.
 *
 * The text must be valid UTF-8.  A compiled pattern is read-only and may be
 * used by any number of threads; a struct regex_run belongs to one call.
 */
#ifndef PLUGINS_REGEX_H
#define PLUGINS_REGEX_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <stdbool.h>

#include <mortise/ask.h>

#define REGEX_PATTERN 4096
#define REGEX_STEPS   1000000
#define REGEX_HEAP    16384 /* KiB */
#define REGEX_SECONDS 10    /* of one call, all its matches together */

enum regex_result {
    REGEX_NONE, /* no match */
    REGEX_FOUND,
    REGEX_LIMIT,
    REGEX_TIME,
    REGEX_CANCELLED,
    REGEX_NOMEM
};

struct regex_run {
    pcre2_match_context *context;
    pcre2_match_data *data;
    /* whom to ask */
    mortise_host *host;
    const mortise_host_api *api;
    mortise_call call;
    uint64_t until_ns;
    uint32_t asked, attempts;
    enum regex_result stop; /* REGEX_NONE: go on */
};

/* Compile; false, and why as a sentence. */
static inline bool regex_compile(pcre2_code **out, mortise_str pattern,
                                 uint32_t options, char *why, size_t why_size)
{
    static const char callout[] = "(?C1)";
    char text[REGEX_PATTERN + sizeof callout];
    PCRE2_UCHAR words[128];
    size_t at, n = sizeof callout - 1;
    int error;

    *out = NULL;
    if (pattern.n == 0 || pattern.n > REGEX_PATTERN) {
        snprintf(why, why_size, "it must have 1 to %d bytes", REGEX_PATTERN);
        return false;
    }
    memcpy(text, callout, n);
    memcpy(text + n, pattern.p, pattern.n);
    *out = pcre2_compile((PCRE2_SPTR)text, n + pattern.n,
                         PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | options, &error,
                         &at, NULL);
    if (*out != NULL)
        return true;
    pcre2_get_error_message(error, words, sizeof words);
    snprintf(why, why_size, "%s (at byte %zu)", (const char *)words,
             at > n ? at - n + 1 : 1);
    return false;
}

/* Cancelled, or out of time?  Cheap, so ask often. */
static inline enum regex_result regex_asked(struct regex_run *r)
{
    if (r->stop == REGEX_NONE && r->api->cancelled(r->host, r->call))
        r->stop = REGEX_CANCELLED;
    if (r->stop == REGEX_NONE && r->asked++ % 256 == 0 &&
        r->api->now_ns(r->host) > r->until_ns)
        r->stop = REGEX_TIME;
    return r->stop;
}

/* PCRE2's, before each attempt.  Most attempts end at their first character,
 * so only every 16th asks. */
static inline int regex_callout(pcre2_callout_block *block, void *ud)
{
    struct regex_run *r = (struct regex_run *)ud;

    (void)block;
    if (++r->attempts % 16 != 0)
        return 0;
    return regex_asked(r) == REGEX_NONE ? 0 : PCRE2_ERROR_CALLOUT;
}

static inline void regex_finish(struct regex_run *r)
{
    pcre2_match_data_free(r->data);
    pcre2_match_context_free(r->context);
}

/* Ready to match for one call; false when memory ran out. */
static inline bool regex_init(struct regex_run *r, mortise_host *host,
                              const mortise_host_api *api,
                              const mortise_request *request)
{
    memset(r, 0, sizeof *r);
    r->host = host;
    r->api = api;
    r->call = request->call;
    r->until_ns = api->now_ns(host) + REGEX_SECONDS * UINT64_C(1000000000);
    if (request->deadline_ns != 0 && request->deadline_ns < r->until_ns)
        r->until_ns = request->deadline_ns;
    r->context = pcre2_match_context_create(NULL);
    r->data = pcre2_match_data_create(2, NULL); /* the match, one group */
    if (r->context == NULL || r->data == NULL) {
        regex_finish(r);
        return false;
    }
    pcre2_set_match_limit(r->context, REGEX_STEPS);
    pcre2_set_depth_limit(r->context, REGEX_STEPS);
    pcre2_set_heap_limit(r->context, REGEX_HEAP);
    pcre2_set_callout(r->context, regex_callout, r);
    return true;
}

/* The first match that starts at or behind `from`. */
static inline enum regex_result regex_match(struct regex_run *r,
                                            const pcre2_code *code,
                                            mortise_str text, uint64_t from,
                                            uint32_t options)
{
    int rc =
        pcre2_match(code, (PCRE2_SPTR)(text.n > 0 ? text.p : ""), text.n, from,
                    PCRE2_NO_UTF_CHECK | options, r->data, r->context);

    if (rc >= 0) /* 0: more groups than we keep */
        return REGEX_FOUND;
    if (rc == PCRE2_ERROR_NOMATCH)
        return REGEX_NONE;
    if (rc == PCRE2_ERROR_NOMEMORY)
        return REGEX_NOMEM;
    return r->stop != REGEX_NONE ? r->stop : REGEX_LIMIT;
}

/* Where group n (0: the match, or 1) of the last match is; false when it took
 * no part. */
static inline bool regex_group(const struct regex_run *r, uint32_t n,
                               uint64_t *from, uint64_t *to)
{
    const PCRE2_SIZE *at = pcre2_get_ovector_pointer(r->data);

    *from = at[2 * n];
    *to = at[2 * n + 1];
    return *from != PCRE2_UNSET && *from <= *to;
}

#endif
