/* openai.c -- models behind OpenAI's APIs, whoever serves them: OpenAI, vLLM,
 * llama.cpp, Ollama, and what else speaks /chat/completions or /responses.
 *
 * Config (of an alias in the deployment's `models`)
 *   base_url          where the API is, with its version; nothing else is
 *                     reached.  A query stays behind the path (Azure).
 *   api_key           goes as "Authorization: Bearer"; none: no such header.
 *   api               chat (the default): /chat/completions; or responses:
 *                     /responses, which keeps what a model reasoned from one
 *                     turn to the next.  Vectors come from /embeddings.
 *   headers           {name: value}, over those that are sent otherwise
 *   organization, project   OpenAI-Organization, OpenAI-Project
 *   max_tokens_field  what a chat calls max_tokens: as a default
 *                     max_completion_tokens for OpenAI's and Azure's hosts,
 *                     max_tokens for all others
 *   turns             free (the default); or alternate, for servers whose
 *                     template demands it: a chat then has one system message
 *                     ahead of all (later ones are the user's), the user speaks
 *                     first, and user and assistant take turns.  Where somebody
 *                     is missing, a short message is put in.
 *
 * A deployment
 *   models:
 *     default:
 *       provider: openai
 *       model: gpt-5.4
 *       api: responses
 *       base_url: "https://api.openai.com/v1"
 *       api_key: "secret://openai"
 *     local:
 *       provider: openai
 *       model: qwen
 *       base_url: "http://127.0.0.1:8080/v1"
 *
 * What mortise/model.h leaves open
 *   extra      replaces whole members of the request; null takes one away
 *              ({stream_options: null} for a server that refuses it).
 *   response   {schema}: a JSON schema, `strict` where strict decoding takes
 *              it (fits.h); {}: any JSON object.  Tools of /responses have
 *              `strict` by the same rule; those of a chat never.
 *   stop       /responses knows none: model.request.
 *   cache      nothing to ask for: servers do it by themselves.
 *   texts      of one message that has nothing else are one text, a blank line
 *              in between; refusals of a chat go back as text.
 *   messages   of a chat: those of the user behind each other are one, and so
 *              are those of the system
 *   results    that are errors begin with "error: ".  In a chat a result is
 *              text: its pictures and files follow all results of the reply, in
 *              a message of the user's, where a text says of which they are.
 *   files      of a chat have data, not a URL; wav and mp3 are `input_audio`.
 *   arguments  of a call that are no JSON object go back as
 *              {"arguments_text": what the model wrote}.
 *   provider   a chat keeps the arguments as they were written, where the
 *              server put what was reasoned, and all members of a message, a
 *              call and its function that are not known here (opaque.h): they
 *              go back under their names.  /responses keeps whole items
 *              (responses_request.c).  Both are this server's, organization's
 *              and project's.  When it does not take them back
 *              (invalid_encrypted_content) the error is model.provider.
 *   times      600 s without a byte, where the request says nothing.
 *
 * What it promises
 *   (1) One call is one request; nothing is repeated, and no redirect followed.
 *   (2) Usage is told once, at the end, also of a call that fails; of several
 *       that a server says, the last.  Of a reply without usage: one call.
 *   (3) A stream is a reply when the server said that it ended: by a
 *       finish_reason or [DONE], by a terminal event of /responses.  Behind
 *       that it may break off as it likes; before, it is model.stream.
 *       [DONE], a terminal event and an error end the call, though the server
 *       keeps the connection open: nothing after them counts.
 *   (4) What is no reply and no error (a proxy's page, another service) is
 *       model.protocol; JSON that stops in the middle is model.stream.
 *   (5) Whether a body is a stream is seen from its first byte, not from what
 *       was asked or what its type says: servers get both wrong.
 *   (6) Nothing waits here, and a call holds what it was told so far, no more
 *       (call.c).
 *   (7) Any other call ends when the host answers its ask, also when it is
 *       cancelled. */
#include "openai.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../../nomem.h"

/* ---- calls --------------------------------------------------------------- */

static bool put(struct bytes *b, mortise_str s)
{
    return bytes_put(b, s) == MORTISE_S_OK;
}

static void ask(struct body *b, const mortise_request *r)
{
    mortise_inst *inst = b->inst;
    struct call *c;
    mortise_str text;
    mortise_status status;

    if (!request_make(b, &text))
        return;
    c = call_new(inst, r, b);
    if (c == NULL) {
        problem_no_memory(&b->why);
        return;
    }
    status = inst->api->ask(inst->host, r->call,
                            mortise_strz(MORTISE_HTTP_REQUEST_1), text,
                            call_on_answer, c);
    if (status == MORTISE_S_PENDING)
        return;
    call_free(c);
    problem_of_host(&b->why, status,
                    mortise_strz("the host rejected the request"), false);
}

static mortise_status start(mortise_inst *inst, const struct dialect *dialect,
                            const mortise_request *r)
{
    struct body b = {.inst = inst, .dialect = dialect};
    mortise_status status = MORTISE_S_PENDING;
    int32_t stream = 0;

    request_take(&b, r->body);
    b.extra = request_get(&b, "extra");
    if (dialect->event != NULL)
        mortise_jv_bool(request_get(&b, "stream"), &stream);
    b.stream = stream != 0;
    if (!put(&b.issuer, mortise_strz(dialect->issuer)) ||
        !put(&b.issuer, bytes_str(&inst->issuer)))
        problem_no_memory(&b.why);
    if (b.why.status == MORTISE_S_OK)
        ask(&b, r);
    if (b.why.status != MORTISE_S_OK)
        status = problem_tell(&b.why, inst->host, inst->api, r->call);
    request_finish(&b);
    return status;
}

static mortise_status chat(mortise_inst *inst, const mortise_request *r)
{
    return start(inst, inst->chat, r);
}

static mortise_status embed(mortise_inst *inst, const mortise_request *r)
{
    return start(inst, &openai_embeddings, r);
}

/* ---- plugin and module --------------------------------------------------- */

static void destroy(mortise_inst *inst)
{
    bytes_free(&inst->base);
    bytes_free(&inst->query);
    bytes_free(&inst->bearer);
    bytes_free(&inst->organization);
    bytes_free(&inst->project);
    bytes_free(&inst->headers);
    bytes_free(&inst->issuer);
    prefixes_free(&inst->said);
    free(inst);
}

/* The content of a JSON string; of anything else nothing. */
static bool decode(struct bytes *b, mortise_jv v)
{
    return bytes_decode(b, v) != MORTISE_S_NOMEM;
}

/* What stands behind the path comes behind ours; what behind a blank is the
 * host's. */
static bool take_url(mortise_inst *inst, mortise_jv config)
{
    struct bytes *base = &inst->base;
    const char *query, *blank;

    if (!decode(base, mortise_jv_get(config, "base_url")))
        return false;
    blank = base->n > 0 ? memchr(base->p, ' ', base->n) : NULL;
    if (blank != NULL)
        base->n = (uint64_t)(blank - base->p);
    query = base->n > 0 ? memchr(base->p, '?', base->n) : NULL;
    if (query != NULL) {
        uint64_t path = (uint64_t)(query - base->p);

        if (!put(&inst->query, mortise_strn(query, base->n - path)))
            return false;
        base->n = path;
    }
    while (base->n > 0 && base->p[base->n - 1] == '/')
        base->n--;
    return true;
}

/* Is the URL's host this one, or (a name that starts with a dot) one below? */
static bool is_host(const mortise_inst *inst, const char *host)
{
    const char *p = inst->base.p, *end = p + inst->base.n, *start;
    size_t n = strlen(host);

    start = memmem(p, inst->base.n, "://", 3);
    start = start != NULL ? start + 3 : p;
    for (p = start; p < end && *p != '/' && *p != ':'; p++)
        ;
    return (size_t)(p - start) >= n && strncasecmp(p - n, host, n) == 0 &&
           (*host == '.' || (size_t)(p - start) == n);
}

/* OpenAI's own (in its regions, too) has a new name for it, which most other
 * servers do not know, and ignore. */
static void take_field(mortise_inst *inst, mortise_jv config)
{
    mortise_jv field = mortise_jv_get(config, "max_tokens_field");
    bool ours = is_host(inst, "api.openai.com") ||
                is_host(inst, ".api.openai.com") ||
                is_host(inst, ".openai.azure.com");

    if (mortise_jv_cstr(field, inst->max_tokens, sizeof inst->max_tokens) !=
        MORTISE_S_OK)
        strcpy(inst->max_tokens, ours ? "max_completion_tokens" : "max_tokens");
}

static bool take_key(mortise_inst *inst, mortise_jv config)
{
    mortise_jv key = mortise_jv_get(config, "api_key");

    return key.n <= 2 || (put(&inst->bearer, mortise_strz("Bearer ")) &&
                          decode(&inst->bearer, key));
}

/* Where `provider` data is valid: BASE_URL ORGANIZATION PROJECT. */
static bool take_issuer(mortise_inst *inst)
{
    return put(&inst->issuer, bytes_str(&inst->base)) &&
           put(&inst->issuer, mortise_strz(" ")) &&
           put(&inst->issuer, bytes_str(&inst->organization)) &&
           put(&inst->issuer, mortise_strz(" ")) &&
           put(&inst->issuer, bytes_str(&inst->project));
}

static bool take_config(mortise_inst *inst, mortise_jv config)
{
    mortise_jv headers = mortise_jv_get(config, "headers");

    inst->chat = request_is(config, "api", "responses") ? &openai_responses
                                                        : &openai_chat;
    inst->alternate = request_is(config, "turns", "alternate");
    return take_url(inst, config) && take_key(inst, config) &&
           decode(&inst->organization,
                  mortise_jv_get(config, "organization")) &&
           decode(&inst->project, mortise_jv_get(config, "project")) &&
           put(&inst->headers, mortise_strn(headers.p, headers.n)) &&
           take_issuer(inst);
}

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    mortise_inst *inst = calloc(1, sizeof *inst);
    mortise_jv v;
    bool known = mortise_jv_parse(config, &v) == MORTISE_S_OK;

    if (inst == NULL || !take_config(inst, v)) {
        if (inst != NULL)
            destroy(inst);
        return nomem(host, api, 0);
    }
    if (!known || inst->base.n == 0) {
        destroy(inst);
        return mortise_refuse(host, api, 0, MORTISE_S_INVALID, "permanent",
                              "invalid", "the config needs a base_url");
    }
    take_field(inst, v);
    inst->host = host;
    inst->api = api;
    *out = inst;
    return MORTISE_S_OK;
}

static const void *get_interface(mortise_inst *inst, const char *id)
{
    static const mortise_model model = {
        .size = sizeof model, .chat = chat, .embed = embed};

    (void)inst;
    return strcmp(id, MORTISE_MODEL_1) == 0 ? &model : NULL;
}

static const mortise_plugin plugin = {
    .size = sizeof plugin,
    .id = "openai",
    .version = "0.1.0",
    .create = create,
    .get_interface = get_interface,
    .destroy = destroy,
};

MORTISE_MODULE_OF(plugin);
