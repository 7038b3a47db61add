/* ollama.c -- acme.ollama: models of an Ollama server, by its chat protocol.
 *
 * A complete model plugin for Mortise in C, built outside of Mortise's tree.
 * <mortise/model.h> defines its requests and replies.  This file translates
 * them to POST /api/chat and back.  The server's answer is a JSON object a
 * line, each with a piece of the message; the last one has `done`.
 *
 * Config
 * base_url: http://localhost:11434    append " private" if the name is in a
 *                                     private network
 *
 * How it handles the choices that mortise/model.h leaves to a plugin:
 * texts      Texts of one message are joined with a blank line.  A result that
 *            is an error begins with "error: ".
 * images     Only images with data: the server fetches no URL and takes no
 *            files.
 * tools      The server has no ids of calls, so the n-th call of a reply is
 *            call_n.  It cannot be forced to call a tool: a tool_choice that
 *            demands one is model.request.  With "none" no tools are offered.
 * reasoning  Sent back, to this server only; reasoning_effort is `think`.
 * response   Sent as `format`.
 * extra      Replaces whole members of the server's request.
 * parallel_tools and cache are left out: the server has neither.
 *
 * Guarantees
 * (1) One call is one request: it is not repeated and follows no redirect.
 * (2) A reply is complete: `done` came.  If the stream breaks earlier, the
 *     error is model.stream; a later break does not matter.
 * (3) Usage is emitted once, when the server reports it: with `done`.
 * (4) Nothing blocks.  A call ends when the host answers its ask, also when it
 *     is cancelled; so the plugin needs neither cancel() nor quiesce(). */
#include <mortise/model.h>
#include <stdarg.h>

enum {
    URL = 2048,
    WORDS = 512,
    IDLE_MS = 600000 /* without a byte: the server may have to load the model */
};

struct mortise_inst {
    mortise_host *host;
    const mortise_host_api *api;
    char url[URL + 16]; /* also the issuer of `provider` */
};

struct bytes {
    char *p;
    uint64_t n, cap;
};

struct call {
    mortise_inst *inst;
    mortise_call id;
    mortise_jv body;        /* the host's request, lent until the end */
    mortise_jw w;           /* the server's request */
    int64_t http;           /* status of its answer; 0: none yet */
    int64_t retry_after_ms; /* 0: the server gave none */
    struct bytes line;      /* the part of the current line that has come */
    mortise_jv last;        /* the one with `done`, in `line`; n 0: not yet */
    struct bytes text, thought;
    struct bytes calls; /* lists of calls, a comma after each */
    int nomem;
    const char *code, *klass; /* of the first error; NULL: none */
    char words[WORDS];
};

/* ---- bytes and JSON ------------------------------------------------------ */

/* Make room for n more bytes; 0: out of memory. */
static int reserve(struct bytes *b, uint64_t n)
{
    char *p = n > b->cap - b->n ? realloc(b->p, 2 * (b->n + n)) : NULL;

    if (p != NULL) {
        b->p = p;
        b->cap = 2 * (b->n + n);
    }
    return n <= b->cap - b->n;
}

static void put(struct call *c, struct bytes *b, mortise_str s)
{
    if (!reserve(b, s.n)) {
        c->nomem = 1;
    } else if (s.n > 0) {
        memcpy(b->p + b->n, s.p, s.n);
        b->n += s.n;
    }
}

/* Append the content of a JSON string; append nothing for another value.
 * Returns the new part. */
static mortise_str append(struct call *c, struct bytes *b, mortise_jv string)
{
    uint64_t n = 0, before = b->n;

    if (!reserve(b, string.n + 1))
        c->nomem = 1;
    else
        mortise_jv_decode(string, b->p + before, b->cap - before, &n);
    b->n += n;
    return mortise_strn(n > 0 ? b->p + before : "", n);
}

static int is(mortise_jv object, const char *name, const char *word)
{
    return mortise_jv_is(mortise_jv_get(object, name), mortise_strz(word));
}

static int is_true(mortise_jv object, const char *name)
{
    int32_t yes = 0;

    mortise_jv_bool(mortise_jv_get(object, name), &yes);
    return yes != 0;
}

static int64_t number(mortise_jv object, const char *name, int64_t otherwise)
{
    mortise_jv_int(mortise_jv_get(object, name), &otherwise);
    return otherwise;
}

/* The value of a text that is known to be JSON. */
static mortise_jv json(const char *text)
{
    return mortise_jv_of(mortise_strz(text));
}

static void write_text(mortise_jw *w, const char *name, const char *text)
{
    mortise_jw_key(w, name);
    mortise_jw_cstr(w, text);
}

/* Write a value unchanged, if there is one. */
static void write_value(mortise_jw *w, const char *name, mortise_jv v)
{
    if (v.n == 0)
        return;
    mortise_jw_key(w, name);
    mortise_jw_value(w, v);
}

/* ---- errors -------------------------------------------------------------- */

/* Kinds of errors: an HTTP status, a status of the host, or one of these. */
enum {
    SAID, /* the stream contains an error */
    CUT,  /* the stream ends too early */
    ODD   /* the answer has another format */
};

/* Only the first error counts. */
__attribute__((format(printf, 3, 4))) static void
fail(struct call *c, int64_t what, const char *fmt, ...)
{
    static const char passing[] = "transient", lasting[] = "permanent";
    static const struct {
        int64_t from, to;
        const char *code, *klass;
    } rows[] = {
        {SAID, SAID, MORTISE_MODEL_SERVER, passing},
        {CUT, CUT, MORTISE_MODEL_STREAM, passing},
        {402, 402, MORTISE_MODEL_QUOTA, lasting},
        {401, 403, MORTISE_MODEL_AUTH, lasting},
        {404, 404, MORTISE_MODEL_NOT_FOUND, lasting},
        {408, 408, MORTISE_MODEL_TIMEOUT, "timeout"},
        {429, 429, MORTISE_MODEL_RATE, passing},
        {400, 499, MORTISE_MODEL_REQUEST, lasting},
        {503, 503, MORTISE_MODEL_OVERLOAD, passing},
        {500, 599, MORTISE_MODEL_SERVER, passing},
        {MORTISE_S_CANCELLED, MORTISE_S_CANCELLED, "cancelled", "cancelled"},
        {MORTISE_S_IO, MORTISE_S_IO, MORTISE_MODEL_CONNECT, passing},
        {MORTISE_S_DENIED, MORTISE_S_DENIED, MORTISE_MODEL_CONNECT, lasting},
        {MORTISE_S_INVALID, MORTISE_S_INVALID, MORTISE_MODEL_REQUEST, lasting},
        {MORTISE_S_TIMEOUT, MORTISE_S_TIMEOUT, MORTISE_MODEL_TIMEOUT,
         "timeout"},
        {INT64_MIN, INT64_MAX, MORTISE_MODEL_PROTOCOL, lasting},
    };
    size_t k = 0;
    va_list ap;

    if (c->code != NULL)
        return;
    while (what < rows[k].from || what > rows[k].to)
        k++;
    c->code = rows[k].code;
    c->klass = rows[k].klass;
    va_start(ap, fmt);
    vsnprintf(c->words, sizeof c->words, fmt, ap);
    va_end(ap);
    if (strstr(c->words, "context length") != NULL) { /* it has no status */
        c->code = MORTISE_MODEL_CONTEXT;
        c->klass = lasting;
    }
}

/* ---- the request --------------------------------------------------------- */

/* Begin a member of the server's request; 0 if `extra` has that member. */
static int begin(struct call *c, const char *name)
{
    if (mortise_jv_get(mortise_jv_get(c->body, "extra"), name).n > 0)
        return 0;
    mortise_jw_key(&c->w, name);
    return 1;
}

/* Write a member with an unchanged value, if there is one. */
static void write_member(struct call *c, const char *name, mortise_jv v)
{
    if (v.n > 0 && begin(c, name))
        mortise_jw_value(&c->w, v);
}

/* The server accepts only objects.  If the model wrote something else, send {}:
 * the result of the call explains the error. */
static void write_call(mortise_jw *w, mortise_jv part)
{
    mortise_jv arguments = mortise_jv_get(part, "arguments");

    mortise_jw_object(w);
    mortise_jw_key(w, "function");
    mortise_jw_object(w);
    write_value(w, "name", mortise_jv_get(part, "name"));
    write_value(w, "arguments", arguments.n > 0 ? arguments : json("{}"));
    mortise_jw_end(w);
    mortise_jw_end(w);
}

/* Join texts and refusals; collect other parts in lists. */
static void write_parts(struct call *c, mortise_jv parts, const char *lead)
{
    mortise_jv_iter it = mortise_jv_each(parts), calls = it, images = it;
    mortise_jv part, thought = mortise_jv_none();
    const char *between = "";

    c->text.n = 0;
    put(c, &c->text, mortise_strz(lead));
    while (mortise_jv_next(&it, NULL, &part)) {
        if (is(part, "type", "text") || is(part, "type", "refusal")) {
            put(c, &c->text, mortise_strz(between));
            append(c, &c->text, mortise_jv_get(part, "text"));
            between = "\n\n";
        } else if (is(mortise_jv_get(part, "provider"), "issuer",
                      c->inst->url)) {
            thought = mortise_jv_get(part, "text");
        } else if (is(part, "type", "file") ||
                   mortise_jv_get(part, "url").n > 0) {
            fail(c, 400,
                 "an Ollama server takes the data of images, and neither files "
                 "nor URLs");
        }
    }
    mortise_jw_key(&c->w, "content");
    mortise_jw_string(&c->w, mortise_strn(c->text.p, c->text.n));
    write_value(&c->w, "thinking", thought);
    mortise_jw_key(&c->w, "images");
    mortise_jw_array(&c->w);
    while (mortise_jv_next(&images, NULL, &part))
        if (is(part, "type", "image") && c->code == NULL)
            mortise_jw_value(&c->w, mortise_jv_get(part, "data"));
    mortise_jw_end(&c->w);
    mortise_jw_key(&c->w, "tool_calls");
    mortise_jw_array(&c->w);
    while (mortise_jv_next(&calls, NULL, &part))
        if (is(part, "type", "tool_call"))
            write_call(&c->w, part);
    mortise_jw_end(&c->w);
}

/* A message may hold several results; the server needs a message for each. */
static void write_message(struct call *c, mortise_jv message)
{
    mortise_jv role = mortise_jv_get(message, "role"), part;
    mortise_jv parts = mortise_jv_get(message, "parts");
    mortise_jv_iter results = mortise_jv_each(parts);

    if (!mortise_jv_is(role, mortise_strz("tool"))) {
        mortise_jw_object(&c->w);
        write_value(&c->w, "role", role);
        write_parts(c, parts, "");
        mortise_jw_end(&c->w);
        return;
    }
    while (mortise_jv_next(&results, NULL, &part)) {
        mortise_jw_object(&c->w);
        write_value(&c->w, "role", role);
        write_value(&c->w, "tool_name", mortise_jv_get(part, "name"));
        write_parts(c, mortise_jv_get(part, "parts"),
                    is_true(part, "is_error") ? "error: " : "");
        mortise_jw_end(&c->w);
    }
}

static void write_tools(struct call *c)
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(c->body, "tools"));
    mortise_jv choice = mortise_jv_get(c->body, "tool_choice"), tool;

    if (mortise_jv_type(choice) == MORTISE_JV_OBJECT ||
        is(c->body, "tool_choice", "required"))
        fail(c, 400,
             "of an Ollama server no call of a tool can be demanded "
             "(tool_choice)");
    mortise_jw_array(&c->w);
    while (!is(c->body, "tool_choice", "none") &&
           mortise_jv_next(&it, NULL, &tool)) {
        mortise_jw_object(&c->w);
        write_text(&c->w, "type", "function");
        write_value(&c->w, "function", tool); /* it has the same members */
        mortise_jw_end(&c->w);
    }
    mortise_jw_end(&c->w);
}

static void write_options(struct call *c)
{
    mortise_jw_object(&c->w);
    write_value(&c->w, "temperature", mortise_jv_get(c->body, "temperature"));
    write_value(&c->w, "num_predict", mortise_jv_get(c->body, "max_tokens"));
    write_value(&c->w, "stop", mortise_jv_get(c->body, "stop"));
    mortise_jw_end(&c->w);
}

/* Always stream, so that there is only one format to read. */
static void write_request(struct call *c)
{
    mortise_jv response = mortise_jv_get(c->body, "response"), name, value;
    mortise_jv schema = mortise_jv_get(response, "schema");
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(c->body, "messages"));

    mortise_jw_object(&c->w);
    write_member(c, "model", mortise_jv_get(c->body, "model"));
    write_member(c, "think", mortise_jv_get(c->body, "reasoning_effort"));
    write_member(c, "format",
                 response.n == 0 || schema.n > 0 ? schema : json("\"json\""));
    write_member(c, "stream", json("true"));
    if (begin(c, "options"))
        write_options(c);
    if (begin(c, "tools"))
        write_tools(c);
    if (begin(c, "messages")) {
        mortise_jw_array(&c->w);
        while (mortise_jv_next(&it, NULL, &value))
            write_message(c, value);
        mortise_jw_end(&c->w);
    }
    it = mortise_jv_each(mortise_jv_get(c->body, "extra"));
    while (mortise_jv_next(&it, &name, &value)) {
        c->text.n = 0;
        mortise_jw_keyn(&c->w, append(c, &c->text, name));
        mortise_jw_value(&c->w, value);
    }
    mortise_jw_end(&c->w);
}

/* ---- the answer ---------------------------------------------------------- */

/* See (3). */
static void tell_usage(struct call *c)
{
    mortise_jv name = mortise_jv_get(c->last, "model");
    char room[512];
    mortise_str usage;
    mortise_jw w;

    mortise_jw_fixed(&w, room, sizeof room);
    mortise_jw_object(&w);
    write_value(&w, "model_calls", json("1"));
    write_value(&w, "input_tokens",
                mortise_jv_get(c->last, "prompt_eval_count"));
    write_value(&w, "output_tokens", mortise_jv_get(c->last, "eval_count"));
    if (name.n <= 128) /* a longer name would make the usage invalid */
        write_value(&w, "model", name);
    mortise_jw_end(&w);
    if (mortise_jw_finish(&w, &usage) == MORTISE_S_OK)
        mortise_emit_usage(c->inst->host, c->inst->api, c->id, usage);
}

static void take_message(struct call *c, mortise_jv message)
{
    mortise_jv calls = mortise_jv_get(message, "tool_calls");
    mortise_str thought =
        append(c, &c->thought, mortise_jv_get(message, "thinking"));
    mortise_str text = append(c, &c->text, mortise_jv_get(message, "content"));

    if (mortise_jv_count(calls) > 0) {
        put(c, &c->calls, mortise_strn(calls.p, calls.n));
        put(c, &c->calls, mortise_strz(","));
    }
    if (is_true(c->body, "stream")) {
        mortise_emit_reasoning(c->inst->host, c->inst->api, c->id, thought);
        mortise_emit_delta(c->inst->host, c->inst->api, c->id, text);
    }
}

static void take_line(struct call *c)
{
    mortise_jv line, message, error;
    mortise_str words;

    if (c->line.n == 0)
        return;
    mortise_jv_parse(mortise_strn(c->line.p, c->line.n), &line);
    message = mortise_jv_get(line, "message");
    error = mortise_jv_get(line, "error");
    c->line.n = 0;
    if (line.n == 0 && *c->line.p == '{') {
        fail(c, CUT, "the stream broke off in a line");
    } else if (error.n > 0) {
        words = append(c, &c->text, error);
        fail(c, SAID, "the server says: %.*s", (int)words.n, words.p);
    } else if (mortise_jv_type(message) != MORTISE_JV_OBJECT) {
        fail(c, ODD,
             "that is no message of an Ollama server: is base_url right?");
    } else {
        take_message(c, message);
        c->last = is_true(line, "done") ? line : mortise_jv_none();
    }
    if (c->last.n > 0)
        tell_usage(c);
}

/* Pieces are cut anywhere.  Bytes after the last line are ignored. */
static void take_piece(struct call *c, mortise_str piece)
{
    while (piece.n > 0 && c->last.n == 0 && c->code == NULL) {
        const char *end = memchr(piece.p, '\n', piece.n);
        uint64_t n = end != NULL ? (uint64_t)(end - piece.p) : piece.n;

        put(c, &c->line, mortise_strn(piece.p, n));
        if (end == NULL)
            return;
        take_line(c);
        piece = mortise_strn(end + 1, piece.n - n - 1);
    }
}

/* ---- the end ------------------------------------------------------------- */

/* Mark the reasoning with the issuer, so that it is recognized when it comes
 * back. */
static void write_reply_text(mortise_jw *w, const struct bytes *text,
                             const char *type, const char *issuer)
{
    if (text->n == 0)
        return;
    mortise_jw_object(w);
    write_text(w, "type", type);
    mortise_jw_key(w, "text");
    mortise_jw_string(w, mortise_strn(text->p, text->n));
    if (issuer != NULL) {
        mortise_jw_key(w, "provider");
        mortise_jw_object(w);
        write_text(w, "issuer", issuer);
        write_value(w, "data", json("null"));
        mortise_jw_end(w);
    }
    mortise_jw_end(w);
}

static void write_reply_call(mortise_jw *w, mortise_jv function, int n)
{
    char id[32];

    snprintf(id, sizeof id, "call_%d", n);
    mortise_jw_object(w);
    write_text(w, "type", "tool_call");
    write_text(w, "id", id);
    write_value(w, "name", mortise_jv_get(function, "name"));
    write_value(w, "arguments", mortise_jv_get(function, "arguments"));
    mortise_jw_end(w);
}

static const char *stop_of(mortise_jv reason, int n_calls)
{
    if (mortise_jv_is(reason, mortise_strz("length")))
        return "length";
    if (n_calls > 0)
        return "tools";
    return reason.n == 0 || mortise_jv_is(reason, mortise_strz("stop"))
               ? "end"
               : "other";
}

static mortise_status give(struct call *c)
{
    mortise_jv reason = mortise_jv_get(c->last, "done_reason"), list, call;
    mortise_jv_iter calls, lists = {c->calls.p, c->calls.p, 0};
    mortise_emitter out;
    char room[4096];
    int n = 0;

    mortise_emitter_init(&out, c->inst->host, c->inst->api, c->id, room,
                         sizeof room);
    mortise_jw_object(&out.w);
    mortise_jw_key(&out.w, "message");
    mortise_jw_object(&out.w);
    write_text(&out.w, "role", "assistant");
    mortise_jw_key(&out.w, "parts");
    mortise_jw_array(&out.w);
    write_reply_text(&out.w, &c->thought, "reasoning", c->inst->url);
    write_reply_text(&out.w, &c->text, "text", NULL);
    lists.end += c->calls.n;
    while (c->calls.n > 0 && mortise_jv_next(&lists, NULL, &list)) {
        calls = mortise_jv_each(list);
        while (mortise_jv_next(&calls, NULL, &call))
            write_reply_call(&out.w, mortise_jv_get(call, "function"), ++n);
    }
    mortise_jw_end(&out.w);
    mortise_jw_end(&out.w);
    write_text(&out.w, "stop", stop_of(reason, n));
    write_value(&out.w, "stop_reason", reason);
    write_value(&out.w, "model", mortise_jv_get(c->last, "model"));
    mortise_jw_end(&out.w);
    return mortise_emitter_finish(&out);
}

/* The status is an error; {"error": "..."} has the reason. */
static void take_refusal(struct call *c, mortise_str answer)
{
    mortise_str words;
    mortise_jv body;

    c->line.n = 0;
    words = append(c, &c->line, mortise_jv_get(mortise_jv_of(answer), "body"));
    mortise_jv_parse(words, &body);
    words = append(c, &c->text, mortise_jv_get(body, "error"));
    fail(c, c->http, "status %d: %.*s", (int)c->http, (int)words.n, words.p);
}

/* Handle the last answer of the host: the whole answer, or an error. */
static void conclude(struct call *c, mortise_status status, mortise_str answer)
{
    char detail[128] = "";

    if (c->http == 200)
        take_line(c); /* the last line may lack its end */
    if (status == MORTISE_S_OK && c->http != 200)
        take_refusal(c, answer);
    else if (status == MORTISE_S_OK && c->last.n == 0)
        fail(c, CUT, "the stream ended before the end of the reply");
    else if (c->last.n == 0) /* MORTISE_S_IO: did an answer begin? */
        fail(c, status == MORTISE_S_IO && c->http != 0 ? CUT : status, "%.*s",
             (int)answer.n, answer.p);
    if (c->nomem)
        status = MORTISE_S_NOMEM;
    else if (status != MORTISE_S_CANCELLED && status != MORTISE_S_NOMEM)
        status = c->code != NULL ? MORTISE_S_FAILED : give(c);
    if (c->code != NULL)
        snprintf(detail, sizeof detail,
                 "{\"code\":\"%s\",\"class\":\"%s\",\"retry_after_ms\":%lld}",
                 c->code, c->klass, (long long)c->retry_after_ms);
    c->inst->api->finish(c->inst->host, c->id, status, mortise_strz(c->words),
                         mortise_strz(detail));
}

static void call_free(struct call *c)
{
    if (c == NULL)
        return;
    free(c->line.p);
    free(c->text.p);
    free(c->thought.p);
    free(c->calls.p);
    free(c);
}

/* Called with the head of the answer, then with pieces of its body, then with
 * the whole answer. */
static void on_answer(void *ud, mortise_status status, mortise_str answer)
{
    struct call *c = ud;

    if (status != MORTISE_S_PENDING) {
        conclude(c, status, answer);
        call_free(c);
    } else if (c->http == 0) {
        c->http = number(mortise_jv_of(answer), "status", ODD);
        c->retry_after_ms = number(mortise_jv_of(answer), "retry_after_ms", 0);
    } else if (c->http == 200) {
        take_piece(c, answer);
    }
}

/* ---- the call ------------------------------------------------------------ */

static mortise_status ask(struct call *c, char *room, uint64_t cap)
{
    const mortise_inst *i = c->inst;
    mortise_http_ask h = {0};
    mortise_status status;

    mortise_jw_fixed(&c->w, room, cap);
    write_request(c);
    c->text.n = 0; /* from here on it is the text of the reply */
    status = c->nomem ? MORTISE_S_NOMEM : mortise_jw_finish(&c->w, &h.json);
    if (c->code != NULL || status != MORTISE_S_OK)
        return c->code != NULL ? MORTISE_S_INVALID : status;
    h.method = mortise_strz("POST");
    h.url = mortise_strz(i->url);
    h.timeout_ms = (uint64_t)number(c->body, "timeout_ms", 0);
    h.idle_timeout_ms = (uint64_t)number(c->body, "idle_timeout_ms", IDLE_MS);
    h.no_redirects = 1;
    h.stream = 1;
    return mortise_http_request(i->host, i->api, c->id, &h, room + cap, cap,
                                on_answer, c);
}

/* The host has checked the request.  No part of it grows more than four times.
 */
static mortise_status chat(mortise_inst *i, const mortise_request *r)
{
    uint64_t cap = 4 * r->body.n + 8 * sizeof i->url;
    struct call *c = calloc(1, sizeof *c);
    char *room = malloc(2 * cap);
    mortise_status status = MORTISE_S_NOMEM;

    if (c != NULL && room != NULL) {
        c->inst = i;
        c->id = r->call;
        c->body = mortise_jv_of(r->body);
        status = ask(c, room, cap);
    }
    free(room);
    if (status == MORTISE_S_PENDING)
        return status;
    if (c != NULL) {
        fail(c, status, "the host did not take the request");
        mortise_refuse(i->host, i->api, r->call, status, c->klass, c->code,
                       c->words);
    }
    call_free(c);
    return status;
}

/* ---- plugin and module --------------------------------------------------- */

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    mortise_jv url = mortise_jv_get(mortise_jv_of(config), "base_url");
    char base[URL] = "http://localhost:11434"; /* the default */
    mortise_inst *i;
    size_t n;

    if (url.n > 0 && mortise_jv_cstr(url, base, sizeof base) != MORTISE_S_OK)
        return mortise_refuse(host, api, 0, MORTISE_S_INVALID, "permanent",
                              "config", "base_url is too long");
    n = strcspn(base, " "); /* " private" is for the host */
    while (n > 0 && base[n - 1] == '/')
        n--;
    base[n] = '\0';
    i = calloc(1, sizeof *i);
    if (i == NULL)
        return MORTISE_S_NOMEM;
    i->host = host;
    i->api = api;
    snprintf(i->url, sizeof i->url, "%s/api/chat", base);
    *out = i;
    return MORTISE_S_OK;
}

static void destroy(mortise_inst *i)
{
    free(i);
}

static const mortise_model model = {.size = sizeof model, .chat = chat};

static const void *get_interface(mortise_inst *i, const char *id)
{
    (void)i;
    return strcmp(id, MORTISE_MODEL_1) == 0 ? &model : NULL;
}

static const mortise_plugin plugin = {.size = sizeof plugin,
                                      .id = "acme.ollama",
                                      .version = "1.0.0",
                                      .create = create,
                                      .get_interface = get_interface,
                                      .destroy = destroy};

MORTISE_MODULE_OF(plugin);
