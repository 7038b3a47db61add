/* error.c -- how a call ends that has no reply.
 *
 * A server says that it failed by its status, by {"type": "error", "error":
 * {"type", "message", "details": {"error_code"}}, "request_id"}, or by both;
 * in a stream, whose status was 200, by that alone.  Others that speak Messages
 * have {"error": TEXT}, {"detail": TEXT}, a type without an error around it, a
 * page of a proxy, or nothing.
 *
 *     status  type                    code
 *     400     invalid_request_error   model.request
 *     401     authentication_error    model.auth
 *     402     billing_error           model.quota
 *     403     permission_error        model.auth
 *     404     not_found_error         model.not_found
 *     408                             model.timeout       timeout
 *     409                             model.server        transient
 *     413     request_too_large       model.request
 *     429     rate_limit_error        model.rate_limit    transient
 *     500     api_error               model.server        transient
 *     503, 529  overloaded_error      model.overloaded    transient
 *     504     timeout_error           model.server        transient
 *     other   from 500 on             model.server        transient
 *             from 400 on             model.request
 *
 * Where a status says too little, words do: a prompt that is too long is
 * model.context; a limit of spending, or no credit, is model.quota, with 429
 * or 400: it will be the same in a minute; thinking that is bound to something
 * else than what it came back with is model.provider: it can be dropped.
 * `x-should-retry` of the server has the last word about the class, and
 * `retry-after` says when.
 */
#include "anthropic.h"

enum { WORDS = 1024, SHOWN = 600, DAY_MS = 86400000 };

/* What went wrong, and what it means. */
struct trouble {
    const char *code;
    const char *klass;
    int64_t retry_after_ms; /* 0: nobody said */
};

/* ---- ends ---------------------------------------------------------------- */

static void fail(const struct call *c, mortise_status status,
                 const struct trouble *t, mortise_str words)
{
    const mortise_inst *inst = c->inst;
    char room[256];
    mortise_str detail;
    mortise_jw w;

    mortise_jw_fixed(&w, room, sizeof room);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "class");
    mortise_jw_cstr(&w, t->klass);
    mortise_jw_key(&w, "code");
    mortise_jw_cstr(&w, t->code);
    if (t->retry_after_ms > 0) {
        mortise_jw_key(&w, "retry_after_ms");
        mortise_jw_int(&w, t->retry_after_ms);
    }
    mortise_jw_end(&w);
    mortise_jw_finish(&w, &detail); /* it has room for all of the above */
    words.n = mortise_str_utf8(words);
    inst->api->finish(inst->host, c->id, status, words, detail);
}

void anthropic_fail(const struct call *c, mortise_status status,
                    const char *klass, const char *code, const char *words)
{
    struct trouble t = {code, klass, 0};

    fail(c, status, &t, mortise_strz(words));
}

void anthropic_fail_nomem(const struct call *c)
{
    anthropic_fail(c, MORTISE_S_NOMEM, "transient", "no_memory",
                   "out of memory");
}

void anthropic_fail_host(const struct call *c, mortise_status status,
                         mortise_str words)
{
    static const struct {
        mortise_status status;
        struct trouble trouble;
    } rows[] = {
        {MORTISE_S_IO, {MORTISE_MODEL_CONNECT, "transient", 0}},
        {MORTISE_S_TIMEOUT, {MORTISE_MODEL_TIMEOUT, "timeout", 0}},
        {MORTISE_S_CANCELLED, {"cancelled", "cancelled", 0}},
        {MORTISE_S_NOMEM, {"no_memory", "transient", 0}},
        {MORTISE_S_DENIED, {MORTISE_MODEL_CONNECT, "permanent", 0}},
        {MORTISE_S_UNSUPPORTED, {MORTISE_MODEL_CONNECT, "permanent", 0}},
        {MORTISE_S_INVALID, {MORTISE_MODEL_REQUEST, "permanent", 0}},
    };
    struct trouble other = {MORTISE_MODEL_PROTOCOL, "permanent", 0};
    const struct trouble *t = &other;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].status == status)
            t = &rows[i].trouble;
    words.n = words.n < WORDS ? words.n : WORDS;
    fail(c, status, t, words);
}

/* ---- what a server says -------------------------------------------------- */

static const struct {
    const char *type;
    int64_t status;
} types[] = {
    {"invalid_request_error", 400}, {"authentication_error", 401},
    {"billing_error", 402},         {"permission_error", 403},
    {"not_found_error", 404},       {"request_too_large", 413},
    {"rate_limit_error", 429},      {"api_error", 500},
    {"timeout_error", 504},         {"overloaded_error", 529},
};

/* What an error of that type, which came without a status, would have had. */
static int64_t status_of(mortise_jv type)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (mortise_jv_is(type, mortise_strz(types[i].type)))
            return types[i].status;
    return 500;
}

static struct trouble trouble_of(int64_t status)
{
    static const struct {
        int64_t status;
        struct trouble trouble;
    } rows[] = {
        {401, {MORTISE_MODEL_AUTH, "permanent", 0}},
        {402, {MORTISE_MODEL_QUOTA, "permanent", 0}},
        {403, {MORTISE_MODEL_AUTH, "permanent", 0}},
        {404, {MORTISE_MODEL_NOT_FOUND, "permanent", 0}},
        {408, {MORTISE_MODEL_TIMEOUT, "timeout", 0}},
        {409, {MORTISE_MODEL_SERVER, "transient", 0}},
        {429, {MORTISE_MODEL_RATE, "transient", 0}},
        {503, {MORTISE_MODEL_OVERLOAD, "transient", 0}},
        {529, {MORTISE_MODEL_OVERLOAD, "transient", 0}},
    };
    struct trouble request = {MORTISE_MODEL_REQUEST, "permanent", 0};
    struct trouble server = {MORTISE_MODEL_SERVER, "transient", 0};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].status == status)
            return rows[i].trouble;
    return status >= 500 ? server : request;
}

/* Words of an error, a NUL behind them, where a status says too little. */
static void judge_words(struct trouble *t, const char *words)
{
    static const struct {
        const char *words, *code;
    } rows[] = {
        {"spend_limit_reached", MORTISE_MODEL_QUOTA},
        {"api usage limits", MORTISE_MODEL_QUOTA},
        {"credit balance", MORTISE_MODEL_QUOTA},
        {"bound to a different conversation", MORTISE_MODEL_PROVIDER},
        {"`signature` in `thinking`", MORTISE_MODEL_PROVIDER},
        {"blocks in the latest assistant message cannot be modified",
         MORTISE_MODEL_PROVIDER},
        {"prompt is too long", MORTISE_MODEL_CONTEXT},
        {"exceed context limit", MORTISE_MODEL_CONTEXT},
        {"exceed_context_size", MORTISE_MODEL_CONTEXT},
        {"context_length_exceeded", MORTISE_MODEL_CONTEXT},
        {"maximum context length", MORTISE_MODEL_CONTEXT},
    };

    if (strcmp(t->code, MORTISE_MODEL_REQUEST) != 0 &&
        strcmp(t->code, MORTISE_MODEL_RATE) != 0)
        return;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcasestr(words, rows[i].words) != NULL) {
            t->code = rows[i].code;
            t->klass = "permanent";
            return;
        }
}

/* A header that is a number of milliseconds. */
static int64_t header_ms(mortise_jv headers, const char *name)
{
    char room[32];

    if (mortise_jv_cstr(mortise_jv_get(headers, name), room, sizeof room) !=
        MORTISE_S_OK)
        return 0;
    return strtoll(room, NULL, 10);
}

static void judge_headers(struct trouble *t, mortise_jv answer)
{
    mortise_jv headers = mortise_jv_get(answer, "headers");
    mortise_jv retry = mortise_jv_get(headers, "x-should-retry");
    int64_t ms = header_ms(headers, "retry-after-ms");

    if (ms <= 0)
        mortise_jv_int(mortise_jv_get(answer, "retry_after_ms"), &ms);
    if (ms > 0)
        t->retry_after_ms = ms < DAY_MS ? ms : DAY_MS;
    if (mortise_jv_is(retry, mortise_strz("true")))
        t->klass = "transient";
    else if (mortise_jv_is(retry, mortise_strz("false")))
        t->klass = "permanent";
}

/* ---- its words ----------------------------------------------------------- */

/* The error in a body, of whatever form, and the text that says what it is. */
struct told {
    mortise_jv error; /* none: the body has no such thing */
    mortise_jv text;
    mortise_jv request_id;
};

static struct told read_error(mortise_str body)
{
    struct told t = {mortise_jv_none(), mortise_jv_none(), mortise_jv_none()};
    mortise_jv v;

    if (mortise_jv_parse(body, &v) != MORTISE_S_OK)
        return t;
    t.error = mortise_jv_get(v, "error");
    t.request_id = mortise_jv_get(v, "request_id");
    if (mortise_jv_type(t.error) == MORTISE_JV_STRING)
        t.text = t.error;
    else if (mortise_jv_type(t.error) == MORTISE_JV_OBJECT)
        t.text = mortise_jv_get(t.error, "message");
    else
        t.error = t.text = v;
    if (mortise_jv_type(t.text) != MORTISE_JV_STRING)
        t.text = mortise_jv_get(v, "message");
    if (mortise_jv_type(t.text) != MORTISE_JV_STRING)
        t.text = mortise_jv_get(v, "detail");
    return t;
}

/* Up to n bytes of a text behind what is there, whole characters. */
static void append(char *words, const char *lead, mortise_jv text, size_t n)
{
    struct bytes plain = {NULL, 0, 0};
    size_t used = strlen(words);

    if (mortise_jv_type(text) == MORTISE_JV_STRING && text.n > 2 &&
        bytes_decode(&plain, text) == MORTISE_S_OK) {
        plain.n = plain.n < n ? plain.n : n;
        plain.n = mortise_str_utf8(bytes_str(&plain));
        snprintf(words + used, WORDS - used, "%s%.*s", lead, (int)plain.n,
                 plain.p);
    }
    bytes_free(&plain);
}

/* What the server said in a body that has no error in it, if that is text. */
static void append_body(char *words, mortise_str body)
{
    size_t used = strlen(words);

    if (body.n == 0 || *body.p == '<' || *body.p == '{' || *body.p == '[')
        return;
    body.n = body.n < SHOWN ? body.n : SHOWN;
    body.n = mortise_str_utf8(body);
    snprintf(words + used, WORDS - used, ": %.*s", (int)body.n, body.p);
}

/* Words for people, and in `all` all of those that a judgement needs. */
static void write_words(char *words, char *all, int64_t status,
                        const struct told *t, mortise_jv answer,
                        mortise_str body)
{
    mortise_jv details = mortise_jv_get(t->error, "details");
    mortise_jv headers = mortise_jv_get(answer, "headers");
    mortise_jv id = mortise_jv_get(headers, "request-id");

    snprintf(words, WORDS, "the server answered with an error");
    if (status > 0)
        snprintf(words, WORDS, "the server answered with status %lld",
                 (long long)status);
    if (status == 404) /* base_url may be wrong */
        append(words, " for ", mortise_jv_get(answer, "url"), SHOWN / 2);
    all[0] = '\0';
    append(all, "", mortise_jv_get(t->error, "type"), SHOWN / 6);
    append(all, " ", mortise_jv_get(details, "error_code"), SHOWN / 6);
    append(all, " ", t->text, SHOWN);
    append(words, ", ", mortise_jv_get(t->error, "type"), SHOWN / 6);
    append(words, ": ", t->text, SHOWN);
    if (t->error.n == 0)
        append_body(words, body);
    append(words, " ", id.n > 0 ? id : t->request_id, SHOWN / 6);
}

void anthropic_fail_server(const struct call *c, int64_t status,
                           mortise_jv answer, mortise_str body)
{
    char words[WORDS], all[WORDS];
    struct told told = read_error(body);
    int64_t means =
        status > 0 ? status : status_of(mortise_jv_get(told.error, "type"));
    struct trouble t = trouble_of(means);

    write_words(words, all, status, &told, answer, body);
    judge_words(&t, all);
    judge_headers(&t, answer);
    fail(c, MORTISE_S_FAILED, &t, mortise_strz(words));
}
