/* request.c -- http.request/1: a request of a plugin, and its answer, as JSON.
 *
 * Asked   {url, method?, headers?: {name: value}, secret_headers?: {name:
 *          reference}, basic?: {user, password}, body? | json? | body_base64?,
 *          timeout_ms?, connect_timeout_ms?, idle_timeout_ms?, max_body?,
 *          redirects?, retries?, stream?}
 * Answer  {status, url, headers: {name: value}, body | body_base64, class?,
 *          retry_after_ms?}
 *
 * Whatever status a server answers with is an answer; `class` says what it
 * means for who wants to try again.  Without an answer the ask fails, with
 * MORTISE_S_IO when another try may help, MORTISE_S_TIMEOUT when time was over,
 * and others when it will not.
 *
 * Did it happen?  As RFC 9110 has it, GET, HEAD and OPTIONS change nothing,
 * PUT and DELETE may be repeated.  Of any other method
 *   no   what never left: no address, no connection, no grant; and what was
 *        refused: any status from 400 on that is not among those below
 *        (425, 429 and 503 ask for another try)
 *   yes  a status below 400, with a whole answer
 *   who knows   a connection that broke, an answer that is cut, too large or
 *        no HTTP, and time that ran out, all of them once it had begun to
 *        leave; 408, 500, 502, 504 and whatever from 500 on says nothing
 *        better; and any failure behind a redirect that says it was done (303)
 * The last is in doubt (core/run/outcome/doubt.c), unless the operation that asks
 * only reads, or declares that the server knows its idempotency key again.
 *
 * For the same reason `retries` counts only of what may be made twice: of GET,
 * HEAD, OPTIONS, PUT and DELETE, and of all that such an operation asks.  All
 * tries are one step, with one key and one answer, the last (http_retry.c).
 *
 * Where a plugin may go is said by permissions.net of its manifest, where
 * `config:PATH` is the deployment's word.  Streaming: the plugin gets the head
 * as a first piece (the answer without a body), then the body's bytes as they
 * come, and the whole answer at the end all the same: who is entered again
 * after a crash gets that alone.
 *
 * `secret_headers` have references to secrets (core/json/secret.h) for values; what
 * is journaled has no more.  The values are put in here, on the way out, and
 * neither the plugin nor any record sees them.  `basic` (RFC 7617) is made into
 * a header here for that reason: its user and password, or one of the two, are
 * references.  Like all headers they are lost at a redirect to another origin.
 */
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/base/utf8.h"
#include "core/engine/runs/call.h"
#include "services/http/http.h"
#include "services/secrets/body.h"
#include "services/secrets/secret.h"

enum {
    REDIRECTS_MAX = 20,
    OF_BASIC = 4 /* texts with secrets: user, password, both, and in base64 */
};

/* ---- what is asked ------------------------------------------------------ */

static const char *text_of(const json_t *body, const char *name,
                           const char *otherwise)
{
    const char *text = json_string_value(json_object_get(body, name));

    return text != NULL ? text : otherwise;
}

static uint64_t number_of(const json_t *body, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(body, name));
}

static bool is_safe(const char *method)
{
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 ||
           strcmp(method, "OPTIONS") == 0;
}

static bool changes(const json_t *body)
{
    return !is_safe(text_of(body, "method", "GET"));
}

static bool repeats(const json_t *body)
{
    const char *method = text_of(body, "method", "GET");

    return strcmp(method, "PUT") == 0 || strcmp(method, "DELETE") == 0;
}

/* May it be made twice? */
static bool may_repeat(const struct mortise_asked *a)
{
    const struct mortise_ongoing *c = a->call;

    return !changes(a->body) || repeats(a->body) ||
           (!c->is_serving && c->node != NULL &&
            (c->node->effect < MORTISE_WRITE || c->node->op->idempotent));
}

/* "secret://NAME", and nothing else. */
static bool is_whole_reference(const char *text)
{
    const char *name = mortise_secret_name(text);

    return name != NULL && text + strlen("secret://") == name;
}

static bool is_credential(const json_t *value)
{
    const char *text = json_string_value(value);

    return mortise_body_is_text(value) &&
           (!mortise_secret_in(text) || is_whole_reference(text));
}

static bool is_basic(const json_t *value)
{
    const json_t *user = json_object_get(value, "user");
    const json_t *password = json_object_get(value, "password");

    return json_object_size(value) == 2 && is_credential(user) &&
           is_credential(password) &&
           (mortise_secret_in(json_string_value(user)) ||
            (strchr(json_string_value(user), ':') == NULL &&
             mortise_secret_in(json_string_value(password))));
}

static bool is_retries(const json_t *value)
{
    return mortise_body_is_count(value) &&
           json_integer_value(value) <= MORTISE_HTTP_RETRIES_MAX;
}

static const struct mortise_body_member members[] = {
    {"url", "a string", mortise_body_is_text},
    {"method", "a string", mortise_body_is_text},
    {"headers", "an object of at most 256 strings", mortise_body_are_texts},
    {"secret_headers", "an object of at most 256 references to secrets",
     mortise_body_are_references},
    {"basic",
     "{user, password}, at least one of which is a reference to a secret; the "
     "user has no colon",
     is_basic},
    {"body", "a string", mortise_body_is_string},
    {"body_base64", "a string", mortise_body_is_text},
    {"json", "a value", mortise_body_is_any},
    {"timeout_ms", "a number of milliseconds", mortise_body_is_count},
    {"connect_timeout_ms", "a number of milliseconds", mortise_body_is_count},
    {"idle_timeout_ms", "a number of milliseconds", mortise_body_is_count},
    {"max_body", "a number of bytes", mortise_body_is_count},
    {"redirects", "a number", mortise_body_is_count},
    {"retries", "a number from 0 to 10", is_retries},
    {"stream", "true or false", mortise_body_is_flag},
};

static bool has_authorization(const json_t *headers)
{
    const char *name;
    json_t *value;

    json_object_foreach(mortise_json_unconst(headers), name, value)
    {
        if (strcasecmp(name, "authorization") == 0)
            return true;
    }
    return false;
}

/* What does not go with one another, in words; or NULL. */
static const char *contradiction(const json_t *body)
{
    if (json_object_get(body, "basic") != NULL &&
        (has_authorization(json_object_get(body, "headers")) ||
         has_authorization(json_object_get(body, "secret_headers"))))
        return "`basic` and a header Authorization cannot be used together";
    if (number_of(body, "retries") > 0 &&
        json_is_true(json_object_get(body, "stream")))
        return "a streaming request cannot have `retries`";
    return NULL;
}

static int32_t check(struct mortise_asked *a, char *words)
{
    static const char *const bodies[] = {"body", "body_base64", "json"};
    int32_t status =
        mortise_body_check(a->body, members, sizeof members / sizeof members[0],
                           "a request of http.request/1", words);
    int n = 0;

    if (status != MORTISE_S_OK)
        return status;
    for (size_t i = 0; i < 3; i++)
        n += json_object_get(a->body, bodies[i]) != NULL;
    if (json_object_get(a->body, "url") == NULL || n > 1)
        return mortise_ask_refuse(words, MORTISE_S_INVALID,
                                  "a request needs a url, and can have at most "
                                  "one of body, body_base64 and json");
    if (contradiction(a->body) != NULL)
        return mortise_ask_refuse(words, MORTISE_S_INVALID, "%s",
                                  contradiction(a->body));
    status = mortise_body_check_secrets(a, "secret_headers", words);
    return status == MORTISE_S_OK
               ? mortise_body_check_secrets(a, "basic", words)
               : status;
}

/* ---- the answer --------------------------------------------------------- */

/* Text as it is, else in the one encoding that has a character for any byte. */
static void put_text(struct mortise_buf *b, const char *value)
{
    size_t n = strlen(value);
    char one[4];

    if (mortise_utf8_valid(value, n))
        mortise_buf_put(b, value, n);
    else
        for (size_t i = 0; i < n; i++)
            mortise_buf_put(b, one,
                            mortise_utf8_encode(one, (unsigned char)value[i]));
}

/* A name that comes again has all its values, ", " in between; but cookies,
 * which have commas of their own, a line each.  Headers are few (http.c). */
static json_t *values_of(const struct mortise_http_answer *a, size_t i,
                         const struct mortise_mem *mem)
{
    const char *name = a->headers[i].name;
    bool lines = strcmp(name, "set-cookie") == 0;
    struct mortise_buf all;
    json_t *out;

    mortise_buf_init(&all, mem);
    put_text(&all, a->headers[i].value);
    while (++i < a->n_headers) {
        if (strcmp(a->headers[i].name, name) != 0)
            continue;
        mortise_buf_puts(&all, lines ? "\n" : ", ");
        put_text(&all, a->headers[i].value);
    }
    out = all.failed ? NULL : json_stringn(all.p != NULL ? all.p : "", all.n);
    mortise_buf_finish(&all);
    return out;
}

static json_t *headers_json(const struct mortise_http_answer *a,
                            const struct mortise_mem *mem)
{
    json_t *out = json_object();

    for (size_t i = 0; out != NULL && i < a->n_headers; i++) {
        const char *name = a->headers[i].name;

        /* a name that is no UTF-8 is none that anybody looks for */
        if (json_object_get(out, name) != NULL ||
            !mortise_utf8_valid(name, strlen(name)))
            continue;
        if (json_object_set_new(out, name, values_of(a, i, mem)) != 0)
            mortise_json_drop(&out);
    }
    return out;
}

static const char *class_of(int status)
{
    if (status == 408 || status == 425 || status == 429 || status >= 500)
        return "transient";
    return status >= 400 ? "permanent" : NULL;
}

/* The head, with what a server sends back of our secrets covered; the body is
 * as it came in (http_reply.c). */
static json_t *head_json(const struct mortise_http_answer *a,
                         struct mortise_secret_store *secret_store,
                         const struct mortise_mem *mem)
{
    return mortise_secret_store_masked(
        secret_store, json_pack("{s:i, s:s, s:o}", "status", a->status, "url",
                                a->url, "headers", headers_json(a, mem)));
}

/* `whole`: with its body. */
static json_t *answer_json(const struct mortise_http_answer *a, bool whole,
                           struct mortise_secret_store *secret_store,
                           const struct mortise_mem *mem)
{
    json_t *out = head_json(a, secret_store, mem);
    const char *class = class_of(a->status);
    bool text = mortise_utf8_valid(a->body, a->n_body);
    int failed = out == NULL;

    if (!failed && whole)
        failed |= json_object_set_new(
            out, text ? "body" : "body_base64",
            text ? json_stringn_nocheck(a->body, a->n_body)
                 : mortise_body_base64(a->body, a->n_body, mem));
    if (!failed && class != NULL)
        failed |= json_object_set_new(out, "class", json_string(class));
    if (!failed && a->retry_after)
        failed |= json_object_set_new(
            out, "retry_after_ms", json_integer((json_int_t)a->retry_after_ms));
    if (!failed)
        return out;
    json_decref(out);
    return NULL;
}

/* Does a status leave it open whether the server did it? */
static bool says_nothing(int status)
{
    switch (status) {
    case 408:
        return true;
    case 501: /* it cannot, or will not */
    case 503:
    case 505:
    case 507:
    case 511:
        return false;
    default:
        return status >= 500;
    }
}

static bool is_doubtful(const struct mortise_http_answer *a)
{
    if (a->outcome != MORTISE_HTTP_ANSWERED)
        return a->left || a->acted;
    return a->acted ? a->status >= 400 : a->left && says_nothing(a->status);
}

enum { SEEN_MAX = 1024 }; /* bytes of a body, for people */

/* The beginning of an answer: {status, body | body_base64}, or NULL. */
static json_t *beginning_of(const struct mortise_http_answer *answer,
                            const struct mortise_mem *mem)
{
    struct mortise_http_answer first = *answer;
    json_t *out;

    if (answer->status == 0)
        return NULL;
    if (first.n_body > SEEN_MAX) {
        first.n_body = SEEN_MAX;
        while (first.n_body > SEEN_MAX - 4 &&
               !mortise_utf8_valid(first.body, first.n_body))
            first.n_body--;
    }
    first.n_headers = 0;
    out = answer_json(&first, true, NULL, mem); /* seen_of() covers it */
    if (out != NULL)
        json_object_del(out, "headers");
    return out;
}

/* For who has to find out: {cause, answer?}, our secrets covered. */
static json_t *seen_of(const struct mortise_http_answer *a,
                       struct mortise_secret_store *secret_store,
                       const struct mortise_mem *mem)
{
    char words[sizeof "the server answered with status -2147483648"];

    if (a->outcome == MORTISE_HTTP_ANSWERED)
        snprintf(words, sizeof words, "the server answered with status %d",
                 a->status);
    return mortise_secret_store_masked(
        secret_store,
        json_pack("{s:s, s:o*}", "cause",
                  a->outcome == MORTISE_HTTP_ANSWERED ? words : a->words,
                  "answer", beginning_of(a, mem)));
}

static const int32_t statuses[] = {
    [MORTISE_HTTP_ANSWERED] = MORTISE_S_OK,
    [MORTISE_HTTP_INVALID] = MORTISE_S_INVALID,
    [MORTISE_HTTP_DENIED] = MORTISE_S_DENIED,
    [MORTISE_HTTP_UNREACHABLE] = MORTISE_S_IO,
    [MORTISE_HTTP_INSECURE] = MORTISE_S_FAILED,
    [MORTISE_HTTP_LOST] = MORTISE_S_IO,
    [MORTISE_HTTP_TIMEOUT] = MORTISE_S_TIMEOUT,
    [MORTISE_HTTP_TOO_LARGE] = MORTISE_S_FAILED,
    [MORTISE_HTTP_BROKEN] = MORTISE_S_FAILED,
    [MORTISE_HTTP_NOMEM] = MORTISE_S_NOMEM,
    [MORTISE_HTTP_UNAVAILABLE] = MORTISE_S_UNSUPPORTED,
};
_Static_assert(sizeof statuses / sizeof statuses[0] ==
                   MORTISE_HTTP_UNAVAILABLE + 1,
               "every outcome has a status");

static void on_done(void *ud, const struct mortise_http_answer *answer)
{
    struct mortise_asked *a = ud;
    int32_t status = statuses[answer->outcome];
    const char *words = answer->words;
    json_t *value = NULL;

    a->data = NULL;
    a->doubtful = is_doubtful(answer);
    if (status == MORTISE_S_OK) {
        value = answer_json(answer, true, a->m->secret_store, a->m->mem);
        status = value != NULL ? MORTISE_S_OK : MORTISE_S_NOMEM;
        words = value != NULL ? "" : "out of memory for the answer";
        a->doubtful |= value == NULL && answer->left;
    }
    if (a->doubtful)
        a->seen = seen_of(answer, a->m->secret_store, a->m->mem);
    if (a->doubtful && status == MORTISE_S_IO && a->call->own != NULL)
        status = MORTISE_S_DOUBT; /* which its plugin has to settle */
    snprintf(a->words, sizeof a->words, "%s", words);
    mortise_secret_store_cover(a->m->secret_store, a->words, sizeof a->words);
    mortise_host_call_answer(a, status, value, a->words);
}

static void on_head(void *ud, const struct mortise_http_answer *answer)
{
    struct mortise_asked *a = ud;
    json_t *head = answer_json(answer, false, a->m->secret_store, a->m->mem);
    char *text = head != NULL ? mortise_json_text(a->m->mem, head) : NULL;

    json_decref(head);
    if (text != NULL) /* else what comes last says that memory ran out */
        mortise_host_call_piece(a, text, strlen(text));
    mortise_release_str(a->m->mem, text);
}

static void on_piece(void *ud, const char *p, size_t n)
{
    mortise_host_call_piece(ud, p, n);
}

/* ---- start and cancel --------------------------------------------------- */

struct wish { /* a request, with all that it is lent */
    struct mortise_arena arena;
    struct mortise_http_request http;
    struct mortise_egress egress;
    char *json;     /* NULL: none */
    char **secrets; /* headers' values, to be wiped */
    size_t n_secrets;
};

/* A text with the value of its secret, if it refers to one, in memory that is
 * wiped. */
static int fill_secret(struct wish *w, const struct mortise_asked *a,
                       const char *reference, const char **out,
                       struct mortise_err *err)
{
    const char *name = mortise_secret_name(reference);
    size_t lead;
    char *value, *text;
    int rv;

    *out = reference;
    if (name == NULL)
        return MORTISE_OK;
    lead = (size_t)(name - reference) - strlen("secret://");
    rv = mortise_secret_store_get(a->m->secret_store, name, &value, err);
    if (rv != MORTISE_OK)
        return rv;
    text = mortise_arena_alloc(&w->arena, lead + strlen(value) + 1);
    if (text != NULL) {
        memcpy(text, reference, lead);
        strcpy(text + lead, value);
        w->secrets[w->n_secrets++] = text;
    }
    mortise_secret_store_give_back(a->m->secret_store, value);
    *out = text;
    return text != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* "Basic " and user:password in base64. */
static const char *encode_basic(struct wish *w, const char *user,
                                const char *password)
{
    static const char scheme[] = "Basic ";
    size_t n = strlen(user) + 1 + strlen(password);
    size_t lead = sizeof scheme - 1,
           size = sodium_base64_encoded_len(n, sodium_base64_VARIANT_ORIGINAL);
    char *both = mortise_arena_alloc(&w->arena, n + 1);
    char *text = mortise_arena_alloc(&w->arena, lead + size);

    if (both == NULL || text == NULL)
        return NULL;
    snprintf(both, n + 1, "%s:%s", user, password);
    memcpy(text, scheme, lead);
    sodium_bin2base64(text + lead, size, (const unsigned char *)both, n,
                      sodium_base64_VARIANT_ORIGINAL);
    w->secrets[w->n_secrets++] = both;
    w->secrets[w->n_secrets++] = text;
    return text;
}

static int take_basic(struct wish *w, const struct mortise_asked *a,
                      struct mortise_http_header *list, size_t *n,
                      struct mortise_err *err)
{
    const json_t *basic = json_object_get(a->body, "basic");
    const char *user, *password, *value;
    int rv;

    if (basic == NULL)
        return MORTISE_OK;
    rv = fill_secret(w, a, json_string_value(json_object_get(basic, "user")),
                     &user, err);
    if (rv == MORTISE_OK)
        rv = fill_secret(w, a,
                         json_string_value(json_object_get(basic, "password")),
                         &password, err);
    if (rv != MORTISE_OK)
        return rv;
    if (strchr(user, ':') != NULL)
        return mortise_fail(
            err, MORTISE_EINVAL,
            "the user of `basic` contains a colon, which HTTP does not allow");
    value = encode_basic(w, user, password);
    if (value == NULL)
        return mortise_nomem(err);
    list[(*n)++] = (struct mortise_http_header){"Authorization", value};
    return MORTISE_OK;
}

static int take_secrets(struct wish *w, const struct mortise_asked *a,
                        struct mortise_http_header *list, size_t *n,
                        struct mortise_err *err)
{
    const json_t *headers = json_object_get(a->body, "secret_headers");
    const char *name;
    json_t *value;
    int rv = MORTISE_OK;

    w->secrets = mortise_arena_alloc(
        &w->arena, (json_object_size(headers) + OF_BASIC) * sizeof *w->secrets);
    if (w->secrets == NULL)
        return mortise_nomem(err);
    json_object_foreach(mortise_json_unconst(headers), name, value)
    {
        struct mortise_http_header *h = &list[(*n)++];

        h->name = name;
        if (rv == MORTISE_OK)
            rv = fill_secret(w, a, json_string_value(value), &h->value, err);
    }
    return rv == MORTISE_OK ? take_basic(w, a, list, n, err) : rv;
}

static void wipe_secrets(struct wish *w)
{
    for (size_t i = 0; i < w->n_secrets; i++)
        explicit_bzero(w->secrets[i], strlen(w->secrets[i]));
}

static int take_headers(struct wish *w, const struct mortise_asked *a,
                        struct mortise_err *err)
{
    const json_t *headers = json_object_get(a->body, "headers");
    size_t n = json_object_size(headers) +
               json_object_size(json_object_get(a->body, "secret_headers"));
    struct mortise_http_header *list =
        mortise_arena_alloc(&w->arena, (n + 2) * sizeof *list);
    bool typed = w->json == NULL;
    const char *name;
    json_t *value;
    int rv;

    if (list == NULL)
        return mortise_nomem(err);
    n = 0;
    json_object_foreach(mortise_json_unconst(headers), name, value)
    {
        typed |= strcasecmp(name, "content-type") == 0;
        list[n++] =
            (struct mortise_http_header){name, json_string_value(value)};
    }
    rv = take_secrets(w, a, list, &n, err);
    if (!typed)
        list[n++] =
            (struct mortise_http_header){"Content-Type", "application/json"};
    w->http.headers = list;
    w->http.n_headers = n;
    return rv;
}

static int decode(struct wish *w, const json_t *text, struct mortise_err *err)
{
    size_t n = json_string_length(text);
    unsigned char *p = mortise_arena_alloc(&w->arena, n + 1);
    size_t size;

    if (p == NULL)
        return mortise_nomem(err);
    if (sodium_base642bin(p, n + 1, json_string_value(text), n, NULL, &size,
                          NULL, sodium_base64_VARIANT_ORIGINAL) != 0)
        return mortise_fail(err, MORTISE_EINVAL, "body_base64 is not base64");
    w->http.body = p;
    w->http.n_body = size;
    return MORTISE_OK;
}

static int take_body(struct wish *w, const struct mortise_asked *a,
                     struct mortise_err *err)
{
    const json_t *text = json_object_get(a->body, "body");
    const json_t *coded = json_object_get(a->body, "body_base64");
    const json_t *json = json_object_get(a->body, "json");

    if (text != NULL) {
        w->http.body = json_string_value(text);
        w->http.n_body = json_string_length(text);
    } else if (coded != NULL) {
        return decode(w, coded, err);
    } else if (a->raw != NULL) {
        w->http.body = a->raw;
        w->http.n_body = a->raw_room - 1;
    } else if (json != NULL) {
        w->json = mortise_json_text(a->m->mem, json);
        if (w->json == NULL)
            return mortise_nomem(err);
        w->http.body = w->json;
        w->http.n_body = strlen(w->json);
    }
    return MORTISE_OK;
}

static int take_grants(struct wish *w, const struct mortise_asked *a,
                       struct mortise_err *err)
{
    json_t *config = mortise_deployment_config(a->m->settings.deployment,
                                               a->manifest->name, a->as);
    int rv = config != NULL
                 ? mortise_egress_make(&w->egress, &w->arena, &a->manifest->net,
                                       config, err)
                 : mortise_nomem(err);

    json_decref(config);
    w->http.egress = &w->egress;
    return rv;
}

static int fill(struct wish *w, struct mortise_asked *a,
                struct mortise_err *err)
{
    struct mortise_http_request *r = &w->http;
    const json_t *redirects = json_object_get(a->body, "redirects");
    int rv = take_grants(w, a, err);

    if (rv == MORTISE_OK)
        rv = take_body(w, a, err);
    if (rv == MORTISE_OK)
        rv = take_headers(w, a, err);
    if (rv != MORTISE_OK)
        return rv;
    r->method = text_of(a->body, "method", "GET");
    r->url = text_of(a->body, "url", "");
    r->safe = is_safe(r->method);
    r->timeout_ms = number_of(a->body, "timeout_ms");
    r->connect_ms = number_of(a->body, "connect_timeout_ms");
    r->idle_ms = number_of(a->body, "idle_timeout_ms");
    r->body_max = (size_t)number_of(a->body, "max_body");
    r->redirects = redirects == NULL ? MORTISE_HTTP_REDIRECTS
                                     : (unsigned)json_integer_value(redirects);
    if (r->redirects > REDIRECTS_MAX)
        r->redirects = REDIRECTS_MAX;
    r->retries = may_repeat(a) ? (unsigned)number_of(a->body, "retries") : 0;
    if (json_is_true(json_object_get(a->body, "stream"))) {
        r->head = on_head;
        r->piece = on_piece;
    }
    r->done = on_done;
    r->ud = a;
    return MORTISE_OK;
}

static int32_t refused(int rv)
{
    switch (rv) {
    case MORTISE_ENOMEM:
    case MORTISE_ELIMIT: /* descriptors: another time there may be some */
        return MORTISE_S_NOMEM;
    case MORTISE_ECONFIG:
    case MORTISE_ENOTFOUND:
        return MORTISE_S_DENIED;
    default:
        return MORTISE_S_INVALID;
    }
}

/* What is asked in the background is of no run, and its answer in no record: the
 * plugin may hear there what it keeps itself, a token for one that it is given
 * once more. */
static int mask_of(const struct mortise_asked *a, struct mortise_mask **out,
                   struct mortise_err *err)
{
    struct mortise_secret_store *v = a->m->secret_store;

    if (a->call->live == NULL)
        return mortise_secret_store_mask_for(v, a->manifest->name, out, err);
    *out = mortise_secret_store_mask(v);
    return MORTISE_OK;
}

/* The secrets are there, or what is wrong with them is told now. */
static void send_off(struct mortise_asked *a)
{
    struct mortise *m = a->m;
    struct mortise_err err = {.code = MORTISE_OK};
    struct wish w = {.json = NULL};
    struct mortise_mask *mask = NULL;
    int rv;

    mortise_arena_init(&w.arena, m->mem);
    rv = fill(&w, a, &err);
    if (rv == MORTISE_OK)
        rv = mask_of(a, &mask, &err);
    if (rv == MORTISE_OK) {
        w.http.mask = mask;
        a->data = mortise_http_start(m->http, &w.http);
        rv = a->data != NULL ? MORTISE_OK : mortise_nomem(&err);
    }
    if (rv != MORTISE_OK)
        mortise_host_call_answer(a, refused(rv), NULL, err.msg);
    wipe_secrets(&w);
    mortise_mask_unref(mask);
    mortise_release_str(m->mem, w.json);
    mortise_arena_finish(&w.arena);
}

static void await_secrets(struct mortise_asked *a, const char *member,
                          void (*then)(struct mortise_asked *a))
{
    struct mortise_err err;
    int rv = mortise_body_await_secrets(a, member, then, &err);

    if (rv != MORTISE_OK)
        mortise_host_call_answer(a, refused(rv), NULL, err.msg);
}

static void await_basic(struct mortise_asked *a)
{
    await_secrets(a, "basic", send_off);
}

static void start(struct mortise_asked *a)
{
    await_secrets(a, "secret_headers", await_basic);
}

static bool has_left(const struct mortise_asked *a)
{
    return a->data != NULL && mortise_http_has_left(a->data);
}

static void cancel(struct mortise_asked *a)
{
    if (a->data != NULL)
        mortise_http_cancel(a->data);
}

/* One that was refused was not done: another attempt may make it. */
static bool completed(const json_t *answer)
{
    return json_integer_value(json_object_get(answer, "status")) < 400;
}

static bool is_status(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 100 &&
           json_integer_value(value) <= 599;
}

static bool is_class(const json_t *value)
{
    return json_is_string(value) &&
           (strcmp(json_string_value(value), "transient") == 0 ||
            strcmp(json_string_value(value), "permanent") == 0);
}

static const struct mortise_body_member answer_members[] = {
    {"status", "", is_status},
    {"url", "", mortise_body_is_text},
    {"headers", "", mortise_body_are_texts},
    {"body", "", mortise_body_is_string},
    {"body_base64", "", mortise_body_is_text},
    {"class", "", is_class},
    {"retry_after_ms", "", mortise_body_is_count},
};

/* answer_json() above makes them; a person may leave out all but the status. */
static const char *expects(const json_t *answer)
{
    bool fits =
        json_object_get(answer, "status") != NULL &&
        (json_object_get(answer, "body") == NULL ||
         json_object_get(answer, "body_base64") == NULL) &&
        mortise_body_fits(answer, answer_members,
                          sizeof answer_members / sizeof answer_members[0]);
    return fits ? NULL
                : "an object: `status` (100 to 599), and optionally `headers` "
                  "(an object of strings), `body` (a string) or `body_base64`, "
                  "`url`, `class`, `retry_after_ms`";
}

const struct mortise_host_call_method mortise_host_call_http_request = {
    .effect = MORTISE_HOST_CALL_CALLER,
    .raw = "json",
    .changes = changes,
    .repeats = repeats,
    .completed = completed,
    .expects = expects,
    .check = check,
    .needs_no_run = true,
    .start = start,
    .has_left = has_left,
    .cancel = cancel,
};
