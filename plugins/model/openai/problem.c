#include "problem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORDS_MAX = 1024, /* bytes of a server's words */
    DAY_MS = 86400000 /* a longer wait is none that a host takes */
};

/* ---- codes --------------------------------------------------------------- */

const char *problem_class(const char *code)
{
    static const char *const again[] = {
        MORTISE_MODEL_RATE,    MORTISE_MODEL_OVERLOAD, MORTISE_MODEL_SERVER,
        MORTISE_MODEL_CONNECT, MORTISE_MODEL_STREAM,
    };

    for (size_t i = 0; i < sizeof again / sizeof again[0]; i++)
        if (strcmp(again[i], code) == 0)
            return "transient";
    return strcmp(code, MORTISE_MODEL_TIMEOUT) == 0 ? "timeout" : "permanent";
}

/* Words that there is no memory for are left out. */
static void say_more(struct problem *p, const char *words)
{
    bytes_put(&p->words, mortise_strz(words));
}

static void begin(struct problem *p, mortise_status status, const char *code)
{
    p->status = status;
    p->code = code;
    p->klass = problem_class(code);
    p->retry_after_ms = -1;
    p->words.n = 0;
}

void problem_finish(struct problem *p)
{
    bytes_free(&p->words);
}

void problem_set(struct problem *p, const char *code, const char *fmt, ...)
{
    char words[256];
    va_list ap;

    begin(p, MORTISE_S_FAILED, code);
    va_start(ap, fmt);
    vsnprintf(words, sizeof words, fmt, ap);
    va_end(ap);
    say_more(p, words);
}

/* What a server's `code` or `type` names.  Some say more than a status does,
 * and count beside any; the others only where there is none, in a stream. */
static const struct {
    const char *word, *code;
    bool always;
} known[] = {
    {"insufficient_quota", MORTISE_MODEL_QUOTA, true},
    {"billing_hard_limit_reached", MORTISE_MODEL_QUOTA, true},
    {"billing_not_active", MORTISE_MODEL_QUOTA, true},
    {"quota_exceeded", MORTISE_MODEL_QUOTA, true},
    {"insufficient_balance", MORTISE_MODEL_QUOTA, true},
    {"context_length_exceeded", MORTISE_MODEL_CONTEXT, true},
    {"exceed_context_size_error", MORTISE_MODEL_CONTEXT, true},
    {"invalid_encrypted_content", MORTISE_MODEL_PROVIDER, true},
    {"model_not_found", MORTISE_MODEL_NOT_FOUND, true},
    {"not_found_error", MORTISE_MODEL_NOT_FOUND, false},
    {"NotFoundError", MORTISE_MODEL_NOT_FOUND, false},
    {"rate_limit_exceeded", MORTISE_MODEL_RATE, false},
    {"rate_limit_error", MORTISE_MODEL_RATE, false},
    {"invalid_api_key", MORTISE_MODEL_AUTH, false},
    {"authentication_error", MORTISE_MODEL_AUTH, false},
    {"permission_error", MORTISE_MODEL_AUTH, false},
    {"server_overloaded", MORTISE_MODEL_OVERLOAD, false},
    {"overloaded_error", MORTISE_MODEL_OVERLOAD, false},
    {"unavailable_error", MORTISE_MODEL_OVERLOAD, false}, /* still loading */
    {"invalid_prompt", MORTISE_MODEL_REQUEST, false},
    {"invalid_image", MORTISE_MODEL_REQUEST, false},
    {"invalid_request_error", MORTISE_MODEL_REQUEST, false},
    {"BadRequestError", MORTISE_MODEL_REQUEST, false},
    {"server_error", MORTISE_MODEL_SERVER, false},
    {"internal_error", MORTISE_MODEL_SERVER, false},
    {"InternalServerError", MORTISE_MODEL_SERVER, false},
};

static const char *named(mortise_jv word, bool beside_status)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if ((known[i].always || !beside_status) &&
            mortise_jv_is(word, mortise_strz(known[i].word)))
            return known[i].code;
    return NULL;
}

static const char *code_of_status(int64_t status)
{
    switch (status) {
    case 401:
    case 403:
        return MORTISE_MODEL_AUTH;
    case 402:
        return MORTISE_MODEL_QUOTA;
    case 404:
        return MORTISE_MODEL_NOT_FOUND;
    case 408:
        return MORTISE_MODEL_TIMEOUT;
    case 409:
    case 425:
        return MORTISE_MODEL_SERVER;
    case 429:
        return MORTISE_MODEL_RATE;
    case 501: /* it has no such thing, and will have none */
        return MORTISE_MODEL_REQUEST;
    case 503:
    case 529:
        return MORTISE_MODEL_OVERLOAD;
    default:
        return status >= 400 && status < 500 ? MORTISE_MODEL_REQUEST
                                             : MORTISE_MODEL_SERVER;
    }
}

/* ---- what a body says ---------------------------------------------------- */

struct said {
    mortise_jv code, type, message;
    int64_t number; /* a code that is one, 0: it is none */
};

static struct said said_of(mortise_jv body)
{
    mortise_jv error = mortise_jv_get(body, "error");
    mortise_jv at = mortise_jv_type(error) == MORTISE_JV_OBJECT ? error : body;
    struct said s = {.code = mortise_jv_get(at, "code"),
                     .type = mortise_jv_get(at, "type"),
                     .message = mortise_jv_get(at, "message")};
    char digits[8];

    if (s.message.n == 0)
        s.message = mortise_jv_type(error) == MORTISE_JV_STRING
                        ? error
                        : mortise_jv_get(body, "detail");
    if (mortise_jv_int(s.code, &s.number) != MORTISE_S_OK) {
        s.number = 0;
        if (mortise_jv_cstr(s.code, digits, sizeof digits) == MORTISE_S_OK)
            s.number = strtol(digits, NULL, 10);
    }
    if (s.number < 400 || s.number > 599)
        s.number = 0;
    return s;
}

/* Servers that have no code for it say so in words. */
static bool is_too_long(mortise_jv message)
{
    static const char *const words[] = {"context length", "context window",
                                        "context size", "maximum model length",
                                        "prompt is too long"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (message.n > 0 &&
            memmem(message.p, message.n, words[i], strlen(words[i])) != NULL)
            return true;
    return false;
}

/* Of what a server says, and its status; 0: there is none. */
static const char *code_of(const struct said *s, int64_t status)
{
    static const int64_t too_long[] = {0, 400, 413, 422, 500};
    const char *code = named(s->code, status > 0);

    if (code == NULL)
        code = named(s->type, status > 0);
    if (code == NULL && is_too_long(s->message))
        for (size_t i = 0; i < sizeof too_long / sizeof too_long[0]; i++)
            if (status == too_long[i])
                return MORTISE_MODEL_CONTEXT;
    return code != NULL ? code : code_of_status(status);
}

/* ---- when to try again --------------------------------------------------- */

/* "6m0s", "1s", "250ms", "1h2m3.5s" in milliseconds; -1: it is no duration. */
static int64_t duration(const char *p)
{
    static const struct {
        const char *unit;
        double ms;
    } units[] = {
        {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    double total = 0;

    if (*p == '\0')
        return -1;
    while (*p != '\0') {
        size_t n = strspn(p, "0123456789."), letters, i;
        double value = 0, scale = 1;

        for (i = 0; i < n && p[i] != '.'; i++)
            value = value * 10 + (p[i] - '0');
        for (i++; i < n && p[i] != '.'; i++)
            value += (scale /= 10) * (p[i] - '0');
        p += n;
        letters = strspn(p, "dhms");
        for (i = 0; i < sizeof units / sizeof units[0]; i++)
            if (strlen(units[i].unit) == letters &&
                strncmp(units[i].unit, p, letters) == 0)
                break;
        if (n == 0 || i == sizeof units / sizeof units[0])
            return -1;
        total += value * units[i].ms;
        p += letters;
    }
    return total < DAY_MS ? (int64_t)(total + 0.999) : DAY_MS;
}

/* A header's value; "": it has none, or a long one. */
static const char *header(mortise_jv answer, const char *name, char room[64])
{
    mortise_jv v = mortise_jv_get(mortise_jv_get(answer, "headers"), name);

    if (mortise_jv_cstr(v, room, 64) != MORTISE_S_OK)
        room[0] = '\0';
    return room;
}

/* When what is used up is there again: of requests and tokens that which says
 * that none remain, else that of tokens, of which this request wants more. */
static int64_t reset_of_limits(mortise_jv answer)
{
    static const char *const names[][2] = {
        {"x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"},
        {"x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"}};
    int64_t ms = -1;
    char room[64];

    for (size_t i = 0; i < 2; i++) {
        int64_t one = strcmp(header(answer, names[i][0], room), "0") == 0
                          ? duration(header(answer, names[i][1], room))
                          : -1;

        ms = one > ms ? one : ms;
    }
    return ms >= 0 ? ms : duration(header(answer, names[1][1], room));
}

static int64_t retry_after(mortise_jv answer, int64_t status)
{
    const char *value;
    char room[64], *end;
    int64_t ms = -1;
    long said;

    value = header(answer, "retry-after-ms", room);
    said = strtol(value, &end, 10);
    if (end != value && (*end == '\0' || *end == '.') && said >= 0)
        return said < DAY_MS ? said : DAY_MS;
    if (mortise_jv_int(mortise_jv_get(answer, "retry_after_ms"), &ms) !=
            MORTISE_S_OK &&
        status == 429)
        ms = reset_of_limits(answer);
    return ms;
}

static const char *again_of(mortise_jv answer, const char *klass)
{
    char room[64];

    header(answer, "x-should-retry", room);
    if (strcmp(room, "true") == 0)
        return "transient";
    return strcmp(room, "false") == 0 ? "permanent" : klass;
}

/* ---- words --------------------------------------------------------------- */

/* Cut where a character starts. */
static void cut(struct bytes *t)
{
    if (t->n <= WORDS_MAX)
        return;
    t->n = WORDS_MAX;
    t->n = mortise_str_utf8(bytes_str(t));
}

static void say(struct problem *p, mortise_jv answer, int64_t status,
                mortise_jv message)
{
    mortise_jv url = mortise_jv_get(answer, "url");
    char words[128], room[64];

    snprintf(words, sizeof words, "the server answered with status %d",
             (int)status);
    say_more(p, answer.n > 0
                    ? words
                    : "the server stopped in the middle of its answer");
    if (status == 404 && url.n > 0) { /* base_url may be wrong */
        say_more(p, " for ");
        bytes_decode(&p->words, url);
    }
    if (message.n > 0) {
        say_more(p, ": ");
        if (mortise_jv_type(message) == MORTISE_JV_STRING)
            bytes_decode(&p->words, message);
        else
            bytes_put(&p->words, mortise_strn(message.p, message.n));
    }
    cut(&p->words);
    if (*header(answer, "x-request-id", room) == '\0')
        return;
    say_more(p, " (request ");
    say_more(p, room);
    say_more(p, ")");
}

void problem_of_server(struct problem *p, mortise_jv answer, mortise_jv body)
{
    struct said s = said_of(body);
    int64_t status = 0, meant;

    mortise_jv_int(mortise_jv_get(answer, "status"), &status);
    meant = status >= 400 ? status : s.number;
    begin(p, MORTISE_S_FAILED, code_of(&s, meant));
    p->klass = again_of(answer, p->klass);
    if (strcmp(p->klass, "permanent") != 0)
        p->retry_after_ms = retry_after(answer, meant);
    say(p, answer, status, s.message);
}

/* No server has a code for it.  The words are those of the templates of Mistral
 * and Gemma, of Perplexity and of DeepSeek. */
bool problem_is_of_turns(const struct problem *p)
{
    static const char *const words[] = {"must alternate", "should alternate",
                                        "successive user"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (p->words.n > 0 &&
            memmem(p->words.p, p->words.n, words[i], strlen(words[i])) != NULL)
            return true;
    return false;
}

void problem_advise(struct problem *p, const char *sentence)
{
    bool ended = p->words.n > 0 && p->words.p[p->words.n - 1] == '.';

    say_more(p, ended ? " " : ". ");
    say_more(p, sentence);
}

static const char *code_of_host(mortise_status status, bool begun)
{
    switch (status) {
    case MORTISE_S_TIMEOUT:
        return MORTISE_MODEL_TIMEOUT;
    case MORTISE_S_INVALID:
        return MORTISE_MODEL_REQUEST;
    case MORTISE_S_FAILED:
        return MORTISE_MODEL_PROTOCOL;
    case MORTISE_S_CANCELLED:
        return "cancelled";
    case MORTISE_S_NOMEM:
        return "no_memory";
    default:
        return begun ? MORTISE_MODEL_STREAM : MORTISE_MODEL_CONNECT;
    }
}

void problem_of_host(struct problem *p, mortise_status status,
                     mortise_str words, bool begun)
{
    begin(p, status, code_of_host(status, begun));
    if (status == MORTISE_S_NOMEM)
        p->klass = "transient";
    else if (status == MORTISE_S_CANCELLED)
        p->klass = "cancelled";
    else if (status == MORTISE_S_DENIED || status == MORTISE_S_UNSUPPORTED)
        p->klass = "permanent"; /* it may not go there, or nowhere */
    bytes_put(&p->words, words);
    p->words.n = mortise_str_utf8(bytes_str(&p->words));
    cut(&p->words);
}

void problem_no_memory(struct problem *p)
{
    problem_of_host(p, MORTISE_S_NOMEM, mortise_strz("out of memory"), false);
}

/* ---- telling ------------------------------------------------------------- */

static mortise_str detail_of(const struct problem *p, char *room, size_t size)
{
    mortise_str text;
    mortise_jw w;

    mortise_jw_fixed(&w, room, size);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "class");
    mortise_jw_cstr(&w, p->klass);
    mortise_jw_key(&w, "code");
    mortise_jw_cstr(&w, p->code);
    if (p->retry_after_ms >= 0) {
        mortise_jw_key(&w, "retry_after_ms");
        mortise_jw_int(&w, p->retry_after_ms);
    }
    mortise_jw_end(&w);
    mortise_jw_finish(&w, &text);
    return text;
}

mortise_status problem_tell(const struct problem *p, mortise_host *host,
                            const mortise_host_api *api, mortise_call call)
{
    char room[256];

    (api->fail)(host, call, bytes_str(&p->words),
                detail_of(p, room, sizeof room));
    return p->status;
}

void problem_finish_call(const struct problem *p, mortise_host *host,
                         const mortise_host_api *api, mortise_call call)
{
    char room[256];

    api->finish(host, call, p->status, bytes_str(&p->words),
                detail_of(p, room, sizeof room));
}
