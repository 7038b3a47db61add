/* http_reply.c -- an answer while it arrives.
 *
 * The server is not trusted: each piece is checked and limited when it arrives.
 * Nothing here depends on connections.
 *
 *   (1) Everything is limited: headers in bytes and in number, the decompressed
 *       body, and the body of a redirect, which is discarded.
 *   (2) A secret that the server sends back is masked while the body arrives,
 *       also across pieces, so the pieces and the whole body are masked alike.
 *       Headers are not masked here, because redirects need the original; code
 *       that shows them masks them.
 *   (3) If there are several heads (1xx, then the answer), the last one counts.
 *       Trailers are ignored.
 *   (4) An answer without a complete head is a failure, though curl accepts it:
 *       a caller would take its effect for done.
 *   (5) So is an answer of uncertain length: its Content-Length is not one
 *       number, or comes along with a Transfer-Encoding (RFC 9112, 6.3).  curl
 *       would accept whatever arrives until the connection closes, however
 *       little. */
#include "services/http/http_reply.h"

#include <string.h>
#include <strings.h>
#include <time.h>

#include "core/base/clock.h"

enum {
    HEADERS_N = 512, /* real answers have fewer; they are searched
                        linearly */
    PAGE_MAX = 1 << 20,
    DAY_MS = 86400000
};

struct mortise_http_line {
    size_t name, value;
};

void mortise_http_reply_init(struct mortise_http_reply *a,
                             struct mortise_mask *mask,
                             const struct mortise_mem *mem)
{
    *a = (struct mortise_http_reply){.mem = mem};
    a->mask = mortise_mask_ref(mask);
    mortise_mask_stream_init(&a->masking, a->mask, mem);
    mortise_buf_init(&a->text, mem);
    mortise_buf_init(&a->body, mem);
}

void mortise_http_reply_finish(struct mortise_http_reply *a)
{
    mortise_buf_finish(&a->text);
    mortise_buf_finish(&a->body);
    mortise_mask_stream_finish(&a->masking);
    mortise_mask_unref(a->mask);
    mortise_release(a->mem, a->headers, a->cap_headers * sizeof *a->headers);
}

void mortise_http_reply_clear(struct mortise_http_reply *a)
{
    mortise_buf_clear(&a->text);
    mortise_buf_clear(&a->body);
    a->n_headers = 0;
    a->page = 0;
    a->status = 0;
    a->head_there = a->redirects = false;
}

static enum mortise_http_outcome fail_reply_memory(struct mortise_err *err)
{
    mortise_nomem(err);
    return MORTISE_HTTP_NOMEM;
}

/* ---- the head ----------------------------------------------------------- */

static void trim_header_blanks(const char **p, size_t *n)
{
    while (*n > 0 && strchr(" \t\r\n", (*p)[*n - 1]) != NULL)
        --*n;
    while (*n > 0 && strchr(" \t", **p) != NULL) {
        ++*p;
        --*n;
    }
}

static size_t add_reply_text(struct mortise_http_reply *a, const char *p,
                             size_t n, bool lower)
{
    size_t at = a->text.n;

    mortise_buf_put(&a->text, p, n);
    mortise_buf_put(&a->text, "", 1);
    for (size_t i = at; lower && !a->text.failed && i < at + n; i++) {
        char *x = &a->text.p[i];

        *x = *x >= 'A' && *x <= 'Z' ? (char)(*x - 'A' + 'a') : *x;
    }
    return at;
}

/* Append a line that begins with a blank to the previous header, whose value is
 * the last of the text. */
static enum mortise_http_outcome continue_header(struct mortise_http_reply *a,
                                                 const char *p, size_t n,
                                                 struct mortise_err *err)
{
    trim_header_blanks(&p, &n);
    if (a->n_headers == 0 || n == 0)
        return MORTISE_HTTP_ANSWERED;
    a->text.n--;
    mortise_buf_put(&a->text, " ", 1);
    add_reply_text(a, p, n, false);
    return a->text.failed ? fail_reply_memory(err) : MORTISE_HTTP_ANSWERED;
}

/* Add a header "Name: value". */
static enum mortise_http_outcome add_reply_header(struct mortise_http_reply *a,
                                                  const char *p, size_t n,
                                                  struct mortise_err *err)
{
    const char *colon = memchr(p, ':', n), *value;
    struct mortise_http_line *grown;
    size_t name, size;

    if (*p == ' ' || *p == '\t')
        return continue_header(a, p, n, err);
    if (colon == NULL || colon == p)
        return MORTISE_HTTP_ANSWERED;
    if (a->n_headers == HEADERS_N) {
        mortise_fail(err, MORTISE_ELIMIT, "the answer has more than %d headers",
                     HEADERS_N);
        return MORTISE_HTTP_TOO_LARGE;
    }
    grown = mortise_array_grow(a->mem, a->headers, a->n_headers,
                               &a->cap_headers, sizeof *grown);
    if (grown == NULL)
        return fail_reply_memory(err);
    a->headers = grown;
    name = add_reply_text(a, p, (size_t)(colon - p), true);
    value = colon + 1;
    size = n - (size_t)(value - p);
    trim_header_blanks(&value, &size);
    a->headers[a->n_headers++] =
        (struct mortise_http_line){name, add_reply_text(a, value, size, false)};
    return a->text.failed ? fail_reply_memory(err) : MORTISE_HTTP_ANSWERED;
}

/* Parse "HTTP/1.1 200 OK". */
static void start_reply_head(struct mortise_http_reply *a, const char *p,
                             size_t n)
{
    const char *code = memchr(p, ' ', n);

    mortise_http_reply_clear(a);
    a->old = strncmp(p, "HTTP/1.0", 8) == 0;
    for (int i = 1; code != NULL && i <= 3 && code + i < p + n &&
                    code[i] >= '0' && code[i] <= '9';
         i++)
        a->status = a->status * 10 + (code[i] - '0');
}

/* Is it the header `text`?  `text` is in lower case.  Blanks after the name are
 * skipped: curl does not recognize such a name, but other programs do. */
static bool is_reply_header_name(const char *name, const char *text)
{
    size_t n = strlen(text);

    return strncmp(name, text, n) == 0 &&
           name[n + strspn(name + n, " \t")] == '\0';
}

/* Parse a Content-Length, which may repeat the same number; -1: not one number.
 */
static int64_t parse_content_length(const char *value)
{
    int64_t all = -1, one;

    for (;; value++) {
        value += strspn(value, " \t");
        if (*value < '0' || *value > '9')
            return -1;
        for (one = 0; *value >= '0' && *value <= '9'; value++) {
            int digit = *value - '0';

            if (one > (INT64_MAX - digit) / 10)
                return -1;
            one = one * 10 + digit;
        }
        value += strspn(value, " \t");
        if ((*value != ',' && *value != '\0') || (all >= 0 && one != all))
            return -1;
        all = one;
        if (*value == '\0')
            return all;
    }
}

/* Describe the error in the headers that delimit the body (5); NULL: none. */
static const char *find_framing_error(const struct mortise_http_reply *a)
{
    int64_t all = -1, one;
    bool coded = false;

    for (size_t i = 0; i < a->n_headers; i++) {
        const char *name = a->text.p + a->headers[i].name;
        const char *value = a->text.p + a->headers[i].value;
        bool coding = is_reply_header_name(name, "transfer-encoding");

        if (!coding && !is_reply_header_name(name, "content-length"))
            continue;
        if (strpbrk(name, " \t") != NULL)
            return "has a space after a header name";
        if (coding && (coded || a->old || strcasecmp(value, "chunked") != 0))
            return "has an unexpected Transfer-Encoding";
        one = coding ? -1 : parse_content_length(value);
        if (!coding && (one < 0 || (all >= 0 && one != all)))
            return "has a Content-Length that is not one number";
        coded |= coding;
        all = coding ? all : one;
        if (coded && all >= 0)
            return "has both a Content-Length and a Transfer-Encoding";
    }
    return NULL;
}

static bool is_followed_redirect(const struct mortise_http_reply *a)
{
    switch (a->status) {
    case 301:
    case 302:
    case 303:
    case 307:
    case 308:
        return a->follow &&
               mortise_http_reply_find_header(a, "location") != NULL;
    default:
        return false;
    }
}

static enum mortise_http_outcome end_reply_head(struct mortise_http_reply *a,
                                                struct mortise_err *err)
{
    const char *wrong;

    if (a->status < 200)
        return MORTISE_HTTP_ANSWERED; /* a 1xx head is dropped */
    wrong = find_framing_error(a);
    if (wrong != NULL) {
        mortise_fail(err, MORTISE_EINVAL, "the answer %s", wrong);
        return MORTISE_HTTP_BROKEN;
    }
    a->head_there = true;
    a->redirects = is_followed_redirect(a);
    return MORTISE_HTTP_ANSWERED;
}

enum mortise_http_outcome
mortise_http_reply_add_line(struct mortise_http_reply *a, const char *p,
                            size_t n, struct mortise_err *err)
{
    a->header_bytes += n;
    if (a->header_bytes > MORTISE_HTTP_HEADERS_MAX) {
        mortise_fail(err, MORTISE_ELIMIT,
                     "the answer's headers are larger than %d KiB",
                     MORTISE_HTTP_HEADERS_MAX >> 10);
        return MORTISE_HTTP_TOO_LARGE;
    }
    if (memchr(p, '\0', n) != NULL) {
        mortise_fail(err, MORTISE_EINVAL,
                     "the answer has a NUL in its headers");
        return MORTISE_HTTP_BROKEN;
    }
    if (a->head_there)
        return MORTISE_HTTP_ANSWERED; /* a trailer */
    if (n > 9 && strncmp(p, "HTTP/", 5) == 0) {
        start_reply_head(a, p, n);
    } else if (n <= 2 && (p[0] == '\r' || p[0] == '\n')) {
        return end_reply_head(a, err);
    } else {
        return add_reply_header(a, p, n, err);
    }
    return MORTISE_HTTP_ANSWERED;
}

/* ---- the body ----------------------------------------------------------- */

enum mortise_http_outcome
mortise_http_reply_add_body(struct mortise_http_reply *a, const char *p,
                            size_t n, struct mortise_err *err)
{
    if (!a->head_there) {
        mortise_fail(err, MORTISE_EINVAL, "the answer has no status");
        return MORTISE_HTTP_BROKEN;
    }
    if (a->redirects && n > PAGE_MAX - a->page) {
        mortise_fail(err, MORTISE_ELIMIT,
                     "the body of a redirect is larger than %d KiB",
                     PAGE_MAX >> 10);
        return MORTISE_HTTP_TOO_LARGE;
    }
    if (a->redirects) {
        a->page += n;
        return MORTISE_HTTP_ANSWERED;
    }
    if (n > a->body_max - a->body.n) {
        mortise_fail(err, MORTISE_ELIMIT,
                     "the answer is larger than %zu bytes (decompressed)",
                     a->body_max);
        return MORTISE_HTTP_TOO_LARGE;
    }
    mortise_mask_stream_write(&a->masking, p, n, &a->body);
    return a->body.failed ? fail_reply_memory(err) : MORTISE_HTTP_ANSWERED;
}

enum mortise_http_outcome
mortise_http_reply_check_end(struct mortise_http_reply *a,
                             struct mortise_err *err)
{
    mortise_mask_stream_flush(&a->masking, &a->body);
    if (!a->head_there) {
        mortise_fail(err, MORTISE_EIO,
                     "the answer ended before the end of its headers");
        return MORTISE_HTTP_LOST;
    }
    return a->body.failed ? fail_reply_memory(err) : MORTISE_HTTP_ANSWERED;
}

/* ---- reading ------------------------------------------------------------ */

const char *mortise_http_reply_find_header(const struct mortise_http_reply *a,
                                           const char *name)
{
    for (size_t i = 0; i < a->n_headers; i++) {
        if (strcmp(a->text.p + a->headers[i].name, name) == 0)
            return a->text.p + a->headers[i].value;
    }
    return NULL;
}

bool mortise_http_reply_get_retry_after(const struct mortise_http_reply *a,
                                        const struct mortise_curl *curl,
                                        uint64_t *out)
{
    const char *value = mortise_http_reply_find_header(a, "retry-after");
    size_t n = value != NULL ? strspn(value, "0123456789") : 0;
    uint64_t ms = 0, now = mortise_now_ms();
    time_t at;

    if (value == NULL)
        return false;
    if (n > 0 && value[n] == '\0') {
        for (size_t i = 0; i < n && ms < DAY_MS; i++)
            ms = ms * 10 + (uint64_t)(value[i] - '0') * 1000;
    } else {
        at = curl->getdate(value, NULL);
        if (at < 0)
            return false;
        ms = (uint64_t)at * 1000 > now ? (uint64_t)at * 1000 - now : 0;
    }
    *out = ms < DAY_MS ? ms : DAY_MS;
    return true;
}

void mortise_http_reply_copy_to(const struct mortise_http_reply *a,
                                struct mortise_http_answer *out,
                                struct mortise_http_header *room)
{
    for (size_t i = 0; i < a->n_headers; i++)
        room[i] = (struct mortise_http_header){a->text.p + a->headers[i].name,
                                               a->text.p + a->headers[i].value};
    out->status = a->status;
    out->headers = room;
    out->n_headers = a->n_headers;
    out->body = a->body.n > 0 ? a->body.p : "";
    out->n_body = a->body.n;
}
