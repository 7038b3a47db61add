/* request.c -- http.request/1: a plugin's request and its answer, as JSON.
 *
 * Request {url, method?, headers?: {name: value}, secret_headers?: {name:
 *          reference}, basic?: {user, password}, body? | json? | body_base64?,
 *          timeout_ms?, connect_timeout_ms?, idle_timeout_ms?, max_body?,
 *          redirects?, retries?, stream?}
 * Answer  {status, url, headers: {name: value}, body | body_base64, class?,
 *          retry_after_ms?}
 *
 * Any status of the server is an answer; `class` says whether a retry makes
 * sense.  Without an answer the host call fails: with MORTISE_S_IO if a retry
 * may help, with MORTISE_S_TIMEOUT if time ran out, and with other statuses if
 * a retry is useless.
 *
 * Did the effect happen?  GET, HEAD and OPTIONS change nothing; PUT and DELETE
 * may be repeated (RFC 9110).  For all other methods:
 *
 * no        The request never left (no address, connection or grant), or was
 *           answered with a status >= 400 that is not listed below (425, 429
 *           and 503 ask for a retry).
 * yes       A status below 400, with a complete answer.
 * in doubt  Once the request began to leave: a broken connection, a timeout, or
 *           an answer that is cut, too large or not HTTP.  The status 408, 500,
 *           502, 504 or another ambiguous 5xx.  Any failure after a redirect
 *           that reports success (303).
 *
 * A doubtful effect is settled in core/run/outcome/doubt.c, unless the
 * operation only reads, or declares that the server recognizes its idempotency
 * key.
 *
 * For the same reason `retries` applies only to requests that may be repeated:
 * GET, HEAD, OPTIONS, PUT, DELETE, and all requests of the operations just
 * mentioned.  All tries are one step with one key; the last answer counts
 * (http_retry.c).
 *
 * The manifest's permissions.net lists the allowed destinations; `config:PATH`
 * there refers to the deployment's config.  With `stream`, the plugin first
 * gets the head (the answer without a body) as a piece, then the bytes of the
 * body.  It also gets the complete answer, since a plugin that is re-entered
 * after a crash gets only that.
 *
 * Values of `secret_headers` are references to secrets (core/json/secret.h),
 * and only the references are journaled.  The values are filled in here, just
 * before sending; neither the plugin nor any record sees them.  `basic` (RFC
 * 7617) is turned into a header here for the same reason: its user or password,
 * or both, are references.  Like other headers, these are dropped by a redirect
 * to another origin. */
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/base/utf8.h"
#include "core/engine/runs/call.h"
#include "core/plugin/services.h"
#include "services/http/http.h"
#include "services/secrets/body.h"
#include "services/secrets/secret.h"

enum {
    REDIRECTS_MAX = 20,
    BASIC_SECRETS = 4 /* secret texts: user, password, joined, encoded */
};

/* ---- request ------------------------------------------------------------ */

static const char *get_body_text(const json_t *body, const char *name,
                                 const char *otherwise)
{
    const char *text = json_string_value(json_object_get(body, name));

    return text != NULL ? text : otherwise;
}

static uint64_t get_body_number(const json_t *body, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(body, name));
}

static bool is_safe_method(const char *method)
{
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 ||
           strcmp(method, "OPTIONS") == 0;
}

static bool is_changing_request(const json_t *body)
{
    return !is_safe_method(get_body_text(body, "method", "GET"));
}

static bool is_idempotent_request(const json_t *body)
{
    const char *method = get_body_text(body, "method", "GET");

    return strcmp(method, "PUT") == 0 || strcmp(method, "DELETE") == 0;
}

/* Is it harmless to send the request twice? */
static bool is_repeatable(const struct mortise_asked *a)
{
    const struct mortise_plugin_call *c = a->call;

    return !is_changing_request(a->body) || is_idempotent_request(a->body) ||
           (!c->is_serving && c->node != NULL &&
            (c->node->effect < MORTISE_WRITE || c->node->op->idempotent));
}

/* "secret://NAME", and nothing else. */
static bool is_whole_reference(const char *text)
{
    const char *name = mortise_secret_get_name(text);

    return name != NULL && text + strlen("secret://") == name;
}

static bool is_credential(const json_t *value)
{
    const char *text = json_string_value(value);

    return mortise_body_is_text(value) &&
           (!mortise_secret_has_ref(text) || is_whole_reference(text));
}

static bool is_basic(const json_t *value)
{
    const json_t *user = json_object_get(value, "user");
    const json_t *password = json_object_get(value, "password");

    return json_object_size(value) == 2 && is_credential(user) &&
           is_credential(password) &&
           (mortise_secret_has_ref(json_string_value(user)) ||
            (strchr(json_string_value(user), ':') == NULL &&
             mortise_secret_has_ref(json_string_value(password))));
}

static bool is_retries(const json_t *value)
{
    return mortise_body_is_count(value) &&
           json_integer_value(value) <= MORTISE_HTTP_RETRIES_MAX;
}

static const struct mortise_body_member members[] = {
    {"url", "a string", mortise_body_is_text},
    {"method", "a string", mortise_body_is_text},
    {"headers", "an object of at most 256 strings",
     mortise_body_is_text_object},
    {"secret_headers", "an object of at most 256 references to secrets",
     mortise_body_is_secret_object},
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

/* Describe members that exclude each other, or NULL. */
static const char *find_contradiction(const json_t *body)
{
    if (json_object_get(body, "basic") != NULL &&
        (has_authorization(json_object_get(body, "headers")) ||
         has_authorization(json_object_get(body, "secret_headers"))))
        return "`basic` and a header Authorization cannot be used together";
    if (get_body_number(body, "retries") > 0 &&
        json_is_true(json_object_get(body, "stream")))
        return "a streaming request cannot have `retries`";
    return NULL;
}

static int32_t check_http_request(struct mortise_asked *a, char *words)
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
        return mortise_ask_format_error(
            words, MORTISE_S_INVALID,
            "a request needs a url, and can have at most "
            "one of body, body_base64 and json");
    if (find_contradiction(a->body) != NULL)
        return mortise_ask_format_error(words, MORTISE_S_INVALID, "%s",
                                        find_contradiction(a->body));
    status = mortise_body_check_secrets(a, "secret_headers", words);
    return status == MORTISE_S_OK
               ? mortise_body_check_secrets(a, "basic", words)
               : status;
}

/* ---- answer ------------------------------------------------------------- */

/* Put valid UTF-8 unchanged, and anything else as Latin-1, which has a
 * character for each byte. */
static void put_header_text(struct mortise_buf *b, const char *value)
{
    size_t n = strlen(value);
    char one[4];

    if (mortise_utf8_is_valid(value, n))
        mortise_buf_put(b, value, n);
    else
        for (size_t i = 0; i < n; i++)
            mortise_buf_put(b, one,
                            mortise_utf8_encode(one, (unsigned char)value[i]));
}

/* Join the values of a repeated header with ", ".  Cookies contain commas, so
 * their values are joined with newlines.  Headers are few (http_reply.c), so a
 * linear search is fine. */
static json_t *join_header_values(const struct mortise_http_answer *a, size_t i,
                                  const struct mortise_mem *mem)
{
    const char *name = a->headers[i].name;
    bool lines = strcmp(name, "set-cookie") == 0;
    struct mortise_buf all;
    json_t *out;

    mortise_buf_init(&all, mem);
    put_header_text(&all, a->headers[i].value);
    while (++i < a->n_headers) {
        if (strcmp(a->headers[i].name, name) != 0)
            continue;
        mortise_buf_puts(&all, lines ? "\n" : ", ");
        put_header_text(&all, a->headers[i].value);
    }
    out = all.failed ? NULL : json_stringn(all.p != NULL ? all.p : "", all.n);
    mortise_buf_finish(&all);
    return out;
}

static json_t *encode_headers(const struct mortise_http_answer *a,
                              const struct mortise_mem *mem)
{
    json_t *out = json_object();

    for (size_t i = 0; out != NULL && i < a->n_headers; i++) {
        const char *name = a->headers[i].name;

        /* nobody looks up a name that is not valid UTF-8 */
        if (json_object_get(out, name) != NULL ||
            !mortise_utf8_is_valid(name, strlen(name)))
            continue;
        if (json_object_set_new(out, name, join_header_values(a, i, mem)) != 0)
            mortise_json_clear_ref(&out);
    }
    return out;
}

static const char *class_from_status(int status)
{
    if (status == 408 || status == 425 || status == 429 || status >= 500)
        return "transient";
    return status >= 400 ? "permanent" : NULL;
}

/* Encode status, URL and headers, and mask secrets that the server sent back.
 * The body was masked when it arrived (http_reply.c). */
static json_t *encode_head(const struct mortise_http_answer *a,
                           struct mortise_secret_store *secret_store,
                           const struct mortise_mem *mem)
{
    return mortise_secret_store_mask_json(
        secret_store, json_pack("{s:i, s:s, s:o}", "status", a->status, "url",
                                a->url, "headers", encode_headers(a, mem)));
}

/* `whole`: include the body. */
static json_t *encode_http_answer(const struct mortise_http_answer *a,
                                  bool whole,
                                  struct mortise_secret_store *secret_store,
                                  const struct mortise_mem *mem)
{
    json_t *out = encode_head(a, secret_store, mem);
    const char *class = class_from_status(a->status);
    bool text = mortise_utf8_is_valid(a->body, a->n_body);
    int failed = out == NULL;

    if (!failed && whole)
        failed |= json_object_set_new(
            out, text ? "body" : "body_base64",
            text ? json_stringn_nocheck(a->body, a->n_body)
                 : mortise_body_encode_base64(a->body, a->n_body, mem));
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

/* Does the status leave open whether the server acted? */
static bool is_ambiguous_status(int status)
{
    switch (status) {
    case 408:
        return true;
    case 501: /* it cannot or will not act */
    case 503:
    case 505:
    case 507:
    case 511:
        return false;
    default:
        return status >= 500;
    }
}

static bool is_in_doubt(const struct mortise_http_answer *a)
{
    if (a->outcome != MORTISE_HTTP_ANSWERED)
        return a->left || a->acted;
    return a->acted ? a->status >= 400
                    : a->left && is_ambiguous_status(a->status);
}

enum { EVIDENCE_MAX = 1024 }; /* bytes of a body that a person gets to see */

/* Encode the start of an answer: {status, body | body_base64}, or NULL. */
static json_t *encode_body_start(const struct mortise_http_answer *answer,
                                 const struct mortise_mem *mem)
{
    struct mortise_http_answer first = *answer;
    json_t *out;

    if (answer->status == 0)
        return NULL;
    if (first.n_body > EVIDENCE_MAX) {
        first.n_body = EVIDENCE_MAX;
        while (first.n_body > EVIDENCE_MAX - 4 &&
               !mortise_utf8_is_valid(first.body, first.n_body))
            first.n_body--;
    }
    first.n_headers = 0;
    out = encode_http_answer(&first, true, NULL, mem); /* the caller masks it */
    if (out != NULL)
        json_object_del(out, "headers");
    return out;
}

/* Encode {cause, answer?}, masked, for the person who has to settle the doubt.
 */
static json_t *encode_doubt_evidence(const struct mortise_http_answer *a,
                                     struct mortise_secret_store *secret_store,
                                     const struct mortise_mem *mem)
{
    char words[sizeof "the server answered with status -2147483648"];

    if (a->outcome == MORTISE_HTTP_ANSWERED)
        snprintf(words, sizeof words, "the server answered with status %d",
                 a->status);
    return mortise_secret_store_mask_json(
        secret_store,
        json_pack("{s:s, s:o*}", "cause",
                  a->outcome == MORTISE_HTTP_ANSWERED ? words : a->words,
                  "answer", encode_body_start(a, mem)));
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

static void on_http_done(void *ud, const struct mortise_http_answer *answer)
{
    struct mortise_asked *a = ud;
    int32_t status = statuses[answer->outcome];
    const char *words = answer->words;
    json_t *value = NULL;

    a->data = NULL;
    a->doubtful = is_in_doubt(answer);
    if (status == MORTISE_S_OK) {
        value = encode_http_answer(answer, true, a->m->secret_store, a->m->mem);
        status = value != NULL ? MORTISE_S_OK : MORTISE_S_NOMEM;
        words = value != NULL ? "" : "out of memory for the answer";
        a->doubtful |= value == NULL && answer->left;
    }
    if (a->doubtful)
        a->seen = encode_doubt_evidence(answer, a->m->secret_store, a->m->mem);
    if (a->doubtful && status == MORTISE_S_IO && a->call->own != NULL)
        status = MORTISE_S_DOUBT; /* its plugin has to settle the doubt */
    snprintf(a->words, sizeof a->words, "%s", words);
    mortise_secret_store_mask_text(a->m->secret_store, a->words,
                                   sizeof a->words);
    mortise_host_call_answer(a, status, value, a->words);
}

static void on_http_head(void *ud, const struct mortise_http_answer *answer)
{
    struct mortise_asked *a = ud;
    json_t *head =
        encode_http_answer(answer, false, a->m->secret_store, a->m->mem);
    char *text = head != NULL ? mortise_json_to_text(a->m->mem, head) : NULL;

    json_decref(head);
    if (text != NULL) /* on failure, the final answer reports it */
        mortise_host_call_send_piece(a, text, strlen(text));
    mortise_release_str(a->m->mem, text);
}

static void on_http_piece(void *ud, const char *p, size_t n)
{
    mortise_host_call_send_piece(ud, p, n);
}

/* ---- start and cancel --------------------------------------------------- */

struct wish { /* a request with the data that it borrows */
    struct mortise_arena arena;
    struct mortise_http_request http;
    struct mortise_egress egress;
    char *json;     /* NULL: none */
    char **secrets; /* values of headers, to be wiped */
    size_t n_secrets;
};

/* Replace the secret reference in a text by its value, in memory that is wiped
 * afterwards.  A text without a reference is returned unchanged. */
static int resolve_secret_text(struct wish *w, const struct mortise_asked *a,
                               const char *reference, const char **out,
                               struct mortise_err *err)
{
    const char *name = mortise_secret_get_name(reference);
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
    mortise_secret_store_release(a->m->secret_store, value);
    *out = text;
    return text != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* Encode "Basic " and user:password in base64. */
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

static int add_basic_header(struct wish *w, const struct mortise_asked *a,
                            struct mortise_http_header *list, size_t *n,
                            struct mortise_err *err)
{
    const json_t *basic = json_object_get(a->body, "basic");
    const char *user, *password, *value;
    int rv;

    if (basic == NULL)
        return MORTISE_OK;
    rv = resolve_secret_text(
        w, a, json_string_value(json_object_get(basic, "user")), &user, err);
    if (rv == MORTISE_OK)
        rv = resolve_secret_text(
            w, a, json_string_value(json_object_get(basic, "password")),
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

static int add_secret_headers(struct wish *w, const struct mortise_asked *a,
                              struct mortise_http_header *list, size_t *n,
                              struct mortise_err *err)
{
    const json_t *headers = json_object_get(a->body, "secret_headers");
    const char *name;
    json_t *value;
    int rv = MORTISE_OK;

    w->secrets = mortise_arena_alloc(
        &w->arena,
        (json_object_size(headers) + BASIC_SECRETS) * sizeof *w->secrets);
    if (w->secrets == NULL)
        return mortise_nomem(err);
    json_object_foreach(mortise_json_unconst(headers), name, value)
    {
        struct mortise_http_header *h = &list[(*n)++];

        h->name = name;
        if (rv == MORTISE_OK)
            rv = resolve_secret_text(w, a, json_string_value(value), &h->value,
                                     err);
    }
    return rv == MORTISE_OK ? add_basic_header(w, a, list, n, err) : rv;
}

static void wipe_wish_secrets(struct wish *w)
{
    for (size_t i = 0; i < w->n_secrets; i++)
        explicit_bzero(w->secrets[i], strlen(w->secrets[i]));
}

static int set_wish_headers(struct wish *w, const struct mortise_asked *a,
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
    rv = add_secret_headers(w, a, list, &n, err);
    if (!typed)
        list[n++] =
            (struct mortise_http_header){"Content-Type", "application/json"};
    w->http.headers = list;
    w->http.n_headers = n;
    return rv;
}

static int decode_base64_body(struct wish *w, const json_t *text,
                              struct mortise_err *err)
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

static int set_wish_body(struct wish *w, const struct mortise_asked *a,
                         struct mortise_err *err)
{
    const json_t *text = json_object_get(a->body, "body");
    const json_t *coded = json_object_get(a->body, "body_base64");
    const json_t *json = json_object_get(a->body, "json");

    if (text != NULL) {
        w->http.body = json_string_value(text);
        w->http.n_body = json_string_length(text);
    } else if (coded != NULL) {
        return decode_base64_body(w, coded, err);
    } else if (a->raw != NULL) {
        w->http.body = a->raw;
        w->http.n_body = a->raw_room - 1;
    } else if (json != NULL) {
        w->json = mortise_json_to_text(a->m->mem, json);
        if (w->json == NULL)
            return mortise_nomem(err);
        w->http.body = w->json;
        w->http.n_body = strlen(w->json);
    }
    return MORTISE_OK;
}

static int set_wish_egress(struct wish *w, const struct mortise_asked *a,
                           struct mortise_err *err)
{
    json_t *config = mortise_deployment_get_config(a->m->settings.deployment,
                                                   a->manifest->name, a->as);
    int rv = config != NULL
                 ? mortise_egress_make(&w->egress, &w->arena, &a->manifest->net,
                                       config, err)
                 : mortise_nomem(err);

    json_decref(config);
    w->http.egress = &w->egress;
    return rv;
}

static int fill_wish(struct wish *w, struct mortise_asked *a,
                     struct mortise_err *err)
{
    struct mortise_http_request *r = &w->http;
    const json_t *redirects = json_object_get(a->body, "redirects");
    int rv = set_wish_egress(w, a, err);

    if (rv == MORTISE_OK)
        rv = set_wish_body(w, a, err);
    if (rv == MORTISE_OK)
        rv = set_wish_headers(w, a, err);
    if (rv != MORTISE_OK)
        return rv;
    r->method = get_body_text(a->body, "method", "GET");
    r->url = get_body_text(a->body, "url", "");
    r->safe = is_safe_method(r->method);
    r->timeout_ms = get_body_number(a->body, "timeout_ms");
    r->connect_ms = get_body_number(a->body, "connect_timeout_ms");
    r->idle_ms = get_body_number(a->body, "idle_timeout_ms");
    r->body_max = (size_t)get_body_number(a->body, "max_body");
    r->redirects = redirects == NULL ? MORTISE_HTTP_REDIRECTS
                                     : (unsigned)json_integer_value(redirects);
    if (r->redirects > REDIRECTS_MAX)
        r->redirects = REDIRECTS_MAX;
    r->retries =
        is_repeatable(a) ? (unsigned)get_body_number(a->body, "retries") : 0;
    if (json_is_true(json_object_get(a->body, "stream"))) {
        r->head = on_http_head;
        r->piece = on_http_piece;
    }
    r->done = on_http_done;
    r->ud = a;
    return MORTISE_OK;
}

static int32_t status_from_error(int rv)
{
    switch (rv) {
    case MORTISE_ENOMEM:
    case MORTISE_ELIMIT: /* descriptors are short: a retry may succeed */
        return MORTISE_S_NOMEM;
    case MORTISE_ECONFIG:
    case MORTISE_ENOTFOUND:
        return MORTISE_S_DENIED;
    default:
        return MORTISE_S_INVALID;
    }
}

/* A call in the background belongs to no run, and its answer is in no record.
 * It gets a mask for this plugin, so that the plugin can read a token that it
 * stores itself. */
static int get_answer_mask(const struct mortise_asked *a,
                           struct mortise_mask **out, struct mortise_err *err)
{
    struct mortise_secret_store *v = a->m->secret_store;

    if (a->call->live == NULL)
        return mortise_secret_store_get_mask_for(v, a->manifest->name, out,
                                                 err);
    *out = mortise_secret_store_get_mask(v);
    return MORTISE_OK;
}

/* All secrets are available, or their errors are reported now. */
static void start_http_call(struct mortise_asked *a)
{
    struct mortise *m = a->m;
    struct mortise_err err = {.code = MORTISE_OK};
    struct wish w = {.json = NULL};
    struct mortise_mask *mask = NULL;
    int rv;

    mortise_arena_init(&w.arena, m->mem);
    rv = fill_wish(&w, a, &err);
    if (rv == MORTISE_OK)
        rv = get_answer_mask(a, &mask, &err);
    if (rv == MORTISE_OK) {
        w.http.mask = mask;
        a->data = mortise_http_start(*a->kept, &w.http);
        rv = a->data != NULL ? MORTISE_OK : mortise_nomem(&err);
    }
    if (rv != MORTISE_OK)
        mortise_host_call_answer(a, status_from_error(rv), NULL, err.msg);
    wipe_wish_secrets(&w);
    mortise_mask_unref(mask);
    mortise_release_str(m->mem, w.json);
    mortise_arena_finish(&w.arena);
}

static void await_request_secrets(struct mortise_asked *a, const char *member,
                                  void (*then)(struct mortise_asked *a))
{
    struct mortise_err err;
    int rv = mortise_body_await_secrets(a, member, then, &err);

    if (rv != MORTISE_OK)
        mortise_host_call_answer(a, status_from_error(rv), NULL, err.msg);
}

static void await_basic_secrets(struct mortise_asked *a)
{
    await_request_secrets(a, "basic", start_http_call);
}

static void start_http_request(struct mortise_asked *a)
{
    await_request_secrets(a, "secret_headers", await_basic_secrets);
}

static bool has_request_left(const struct mortise_asked *a)
{
    return a->data != NULL && mortise_http_has_left(a->data);
}

static void cancel_http_request(struct mortise_asked *a)
{
    if (a->data != NULL)
        mortise_http_cancel(a->data);
}

/* A rejected request had no effect: another attempt may repeat it. */
static bool is_completed_answer(const json_t *answer)
{
    return json_integer_value(json_object_get(answer, "status")) < 400;
}

static bool is_http_status(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 100 &&
           json_integer_value(value) <= 599;
}

static bool is_error_class(const json_t *value)
{
    return json_is_string(value) &&
           (strcmp(json_string_value(value), "transient") == 0 ||
            strcmp(json_string_value(value), "permanent") == 0);
}

static const struct mortise_body_member answer_members[] = {
    {"status", "", is_http_status},
    {"url", "", mortise_body_is_text},
    {"headers", "", mortise_body_is_text_object},
    {"body", "", mortise_body_is_string},
    {"body_base64", "", mortise_body_is_text},
    {"class", "", is_error_class},
    {"retry_after_ms", "", mortise_body_is_count},
};

/* Check an answer that a person supplies.  Unlike those of
 * encode_http_answer(), it needs nothing but `status`. */
static const char *describe_invalid_answer(const json_t *answer)
{
    bool fits =
        json_object_get(answer, "status") != NULL &&
        (json_object_get(answer, "body") == NULL ||
         json_object_get(answer, "body_base64") == NULL) &&
        mortise_body_is_valid(answer, answer_members,
                              sizeof answer_members / sizeof answer_members[0]);
    return fits ? NULL
                : "an object: `status` (100 to 599), and optionally `headers` "
                  "(an object of strings), `body` (a string) or `body_base64`, "
                  "`url`, `class`, `retry_after_ms`";
}

static const struct mortise_host_call_method http_request_method = {
    .effect = MORTISE_HOST_CALL_CALLER,
    .raw = "json",
    .changes = is_changing_request,
    .repeats = is_idempotent_request,
    .completed = is_completed_answer,
    .expects = describe_invalid_answer,
    .check = check_http_request,
    .needs_no_run = true,
    .start = start_http_request,
    .has_left = has_request_left,
    .cancel = cancel_http_request,
};

static const struct mortise_method methods[] = {
    {.name = "http.request/1",
     .changes = true,
     .performs = &http_request_method},
    {.name = NULL},
};

static int open_client(struct mortise *m, void **kept, struct mortise_err *err)
{
    struct mortise_http *h = NULL;
    int rv = mortise_http_open(&h, m->mem, &m->loop, &m->timers, err);

    *kept = h;
    return rv;
}

static void close_client(struct mortise *m, void *kept)
{
    (void)m;
    mortise_http_close(kept);
}

const struct mortise_service mortise_service_http = {.name = "http",
                                                     .methods = methods,
                                                     .open = open_client,
                                                     .close = close_client};
