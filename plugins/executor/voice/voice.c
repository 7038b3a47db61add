/* voice.c -- voice nodes: somebody is heard, and spoken to.
 *
 * Operations
 *   run  {args?, node} -> {exit_reason, text, turns, transcript, heard_ms,
 *                          spoken_ms, keyword?, error?}
 *
 *     node.voice   the keys of `voice` (mortise-graph(5)); exit_on as a list,
 *                  silence_timeout in milliseconds.  Defaults:
 *                    stt             pocketsphinx; or openai
 *                    tts             flite; or openai
 *                    voice           rms, of flite's rms, slt and awb; that of the
 *                                    config, of a server's
 *                    endpointing     acoustic
 *                    barge_in        hard-cut on a socket; of files disabled
 *                    silence_timeout 30000
 *     node         besides: instructions, llm, temperature, max_tokens, persona
 *     args         {phrases: [text]} or {grammar: JSGF}: what may be said, for
 *                  pocketsphinx; anything else is rejected
 *
 *     exit_reason  hangup, silence-timeout, keyword, turns-exhausted, manual;
 *                  completed (all was said, or the file heard), interrupted (of
 *                  speak-only: somebody spoke into it), error
 *     text         what was understood, all of it
 *     transcript   [{role: user | assistant, text, interrupted?, speakers?}]
 *     error        {code, message}, of exit_reason error
 *
 * Config
 *   directory  where audio files are, which audio_in and audio_out name
 *   sockets    [paths] that they may name as unix:PATH
 *   stt        {base_url, model, secret?, diarization?}: of a server with
 *              OpenAI's /audio/transcriptions; `secret` is the name of a secret
 *   tts        {base_url, model, secret?, voice?}: ... /audio/speech
 *
 * Error codes
 *   invalid  not_found  denied  io  cancelled  no_memory*
 *   voice.config  the deployment does not have what the node asks for
 *   voice.audio   that is no sound, or none that is taken
 *   voice.line*   a terminal is not there, breaks its rules or stands still
 *   voice.server  voice.busy*   a server refuses, or is not there
 *   voice.answer  voice.model   what it answers is none; the model failed
 *   (* transient: retried where the node has a retry_policy)
 *
 * A node that uses it
 *   desk:
 *     type: voice
 *     voice:
 *       mode: listen-only
 *       audio_in: "${input.recording}"
 *       exit_keywords: [billing, repair]
 *     routes:
 *       - {when: "output.exit_reason == 'keyword'", to: sort}
 *     default: END
 *
 * What it promises: a turn that stands in the record is not heard, answered or
 * said again (session.c, step.c); nothing is opened that the deployment does not
 * name (audio.c); and whatever waits for somebody stops when it is told to. */
#include "voice.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <unistd.h>

#include "../../create.h"

/* ---- the operation --------------------------------------------------------- */

static mortise_status execute(mortise_inst *inst, const mortise_request *r)
{
    mortise_status status = call_start(inst, r);

    return status == MORTISE_S_PENDING ? status
                                       : nomem(inst->host, inst->api, r->call);
}

static mortise_status quiesce(mortise_inst *inst, uint64_t deadline_ns)
{
    return calls_wait(inst->calls, deadline_ns);
}

/* ---- the configuration ----------------------------------------------------- */

static char *copy(mortise_jv v, int *nomem)
{
    char *out;
    uint64_t n = 0;

    if (mortise_jv_type(v) != MORTISE_JV_STRING)
        return NULL;
    out = malloc(v.n + 1);
    if (out == NULL || mortise_jv_decode(v, out, v.n, &n) != MORTISE_S_OK) {
        free(out);
        *nomem = 1;
        return NULL;
    }
    out[n] = '\0';
    return out;
}

/* Without a slash at its end, and without what the host is told behind it. */
static void tidy(char *url)
{
    size_t n = strcspn(url, " ");

    while (n > 0 && url[n - 1] == '/')
        n--;
    url[n] = '\0';
}

static void configure_server(struct server *to, mortise_jv v, int *nomem)
{
    int32_t yes = 0;

    to->base_url = copy(mortise_jv_get(v, "base_url"), nomem);
    to->model = copy(mortise_jv_get(v, "model"), nomem);
    to->secret = copy(mortise_jv_get(v, "secret"), nomem);
    to->voice = copy(mortise_jv_get(v, "voice"), nomem);
    mortise_jv_bool(mortise_jv_get(v, "diarization"), &yes);
    to->diarizes = yes;
    if (to->base_url != NULL)
        tidy(to->base_url);
}

static void configure_sockets(mortise_inst *inst, mortise_jv list, int *nomem)
{
    mortise_jv_iter it = mortise_jv_each(list);
    mortise_jv name, one;

    inst->sockets = calloc(mortise_jv_count(list) + 1, sizeof(char *));
    *nomem |= inst->sockets == NULL;
    while (!*nomem && mortise_jv_next(&it, &name, &one))
        inst->sockets[inst->n_sockets++] = copy(one, nomem);
}

static mortise_status open_directory(mortise_inst *inst, mortise_jv v)
{
    char words[1200], *path;
    int nomem = 0;

    path = copy(v, &nomem);
    if (path == NULL)
        return nomem ? MORTISE_S_NOMEM : MORTISE_S_OK;
    inst->directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf(words, sizeof words,
             "directory: %.1000s is not an existing directory", path);
    free(path);
    return inst->directory >= 0 ? MORTISE_S_OK
                                : create_refuse(inst->host, inst->api, words);
}

static mortise_status configure(mortise_inst *inst, mortise_str config)
{
    mortise_jv v = mortise_jv_of(config);
    int none = 0;
    mortise_status status;

    configure_server(&inst->stt, mortise_jv_get(v, "stt"), &none);
    configure_server(&inst->tts, mortise_jv_get(v, "tts"), &none);
    configure_sockets(inst, mortise_jv_get(v, "sockets"), &none);
    status = none ? MORTISE_S_NOMEM
                  : open_directory(inst, mortise_jv_get(v, "directory"));
    if (status == MORTISE_S_OK)
        status = sphinx_new(&inst->sphinx);
    if (status == MORTISE_S_OK)
        status = calls_new(&inst->calls);
    return status == MORTISE_S_NOMEM ? nomem(inst->host, inst->api, 0) : status;
}

/* ---- plugin and module ----------------------------------------------------- */

static void server_free(struct server *at)
{
    free(at->base_url);
    free(at->model);
    free(at->secret);
    free(at->voice);
}

static void destroy(mortise_inst *inst)
{
    server_free(&inst->stt);
    server_free(&inst->tts);
    for (size_t i = 0; i < inst->n_sockets; i++)
        free(inst->sockets[i]);
    free(inst->sockets);
    if (inst->directory >= 0)
        close(inst->directory);
    sphinx_free(inst->sphinx);
    calls_free(inst->calls);
    free(inst);
}

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    mortise_inst *inst = calloc(1, sizeof *inst);

    if (inst != NULL)
        *inst = (mortise_inst){.host = host, .api = api, .directory = -1};
    return create_configured(inst, host, api, config, configure, destroy, out);
}

static const void *get_interface(mortise_inst *inst, const char *id)
{
    static const mortise_executor executor = {.size = sizeof executor,
                                              .execute = execute};

    (void)inst;
    return strcmp(id, MORTISE_EXECUTOR_1) == 0 ? &executor : NULL;
}

static const mortise_plugin plugin = {
    .size = sizeof plugin,
    .id = "voice",
    .version = "0.1.0",
    .create = create,
    .get_interface = get_interface,
    .quiesce = quiesce,
    .destroy = destroy,
};

MORTISE_MODULE_OF(plugin);
