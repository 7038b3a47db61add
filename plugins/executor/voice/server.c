/* server.c -- speech to text and text to speech by a server with OpenAI's API.
 *
 *     POST BASE/audio/transcriptions   multipart/form-data: file (WAV), model,
 *                                      language, response_format
 *     POST BASE/audio/speech           JSON: model, input, voice,
 *                                      response_format: wav
 *
 *   (1) The key is a secret of the deployment, which this plugin never sees: the
 *       host puts it into the header on the way out.
 *   (2) Both change nothing there, so the host may make them again (RETRIES)
 *       where a try may help: the plugin's operation says that it is idempotent.
 *   (3) A server is not believed: what it answers is a text or a WAV, or an error
 *       that says which of these it is not.
 *   (4) Who spoke is in `segments` of diarized_json: a list of {speaker, text}.
 *       A server that was to tell them apart and does not is an error, and not
 *       one speaker.
 */
#include "voice.h"

#include <sodium.h>
#include <stdio.h>

#include "wav.h"

enum { RETRIES = 3, TIMEOUT_MS = 60000, WORDS = 300 };

/* ---- asking ---------------------------------------------------------------- */

static char *url_of(const struct server *at, const char *path)
{
    const size_t n = strlen(at->base_url), m = strlen(path);
    char *url = malloc(n + m + 1);

    if (url != NULL) {
        memcpy(url, at->base_url, n);
        memcpy(url + n, path, m + 1);
    }
    return url;
}

/* (1) */
static char *bearer_of(const struct server *at)
{
    static const char before[] = "Bearer secret://";
    char *out = malloc(sizeof before + strlen(at->secret));

    if (out != NULL)
        sprintf(out, "%s%s", before, at->secret);
    return out;
}

static mortise_status ask(struct session *s, const struct server *at,
                          const char *path, mortise_http_ask *h,
                          mortise_str *answer)
{
    const uint64_t cap = h->body_base64.n + 6 * h->json.n + 8192;
    char *url = url_of(at, path), *room = malloc(cap);
    char *bearer = at->secret != NULL ? bearer_of(at) : NULL;
    mortise_status status = MORTISE_S_NOMEM;
    mortise_str body;

    *answer = mortise_str_empty();
    if (url != NULL && room != NULL && (bearer != NULL || at->secret == NULL)) {
        const mortise_str secret[] = {mortise_strz("Authorization"),
                                      mortise_strz(bearer)};

        h->method = mortise_strz("POST");
        h->url = mortise_strz(url);
        h->secret_headers = secret;
        h->n_secret_headers = bearer != NULL;
        h->timeout_ms = TIMEOUT_MS;
        h->retries = RETRIES; /* (2) */
        status = mortise_http_body(h, room, cap, &body);
        if (status == MORTISE_S_OK)
            status = call_ask(s, MORTISE_HTTP_REQUEST_1, body, answer);
    }
    free(bearer);
    free(url);
    free(room);
    return status;
}

/* ---- answers --------------------------------------------------------------- */

/* What it says of why, of {"error": {"message"}} or of any text. */
static void cite(struct session *s, mortise_jv answer, char words[WORDS])
{
    mortise_jv body = mortise_jv_get(answer, "body"), inner, message;
    struct bytes text = {0};

    *words = '\0';
    if (!is_held(s))
        bytes_decode(&text, body); /* what is none stays nothing */
    if (mortise_jv_parse(bytes_str(&text), &inner) == MORTISE_S_OK) {
        message = mortise_jv_get(mortise_jv_get(inner, "error"), "message");
        mortise_jv_cstr(message, words, WORDS);
    }
    if (*words == '\0' && text.n > 0)
        snprintf(words, WORDS, "%.*s", (int)(text.n < 200 ? text.n : 200),
                 text.p);
    bytes_free(&text);
}

static mortise_status no_success(struct session *s, const char *doing,
                                 mortise_jv answer, int64_t code)
{
    const int passes = mortise_jv_is(mortise_jv_get(answer, "class"),
                                     mortise_strz("transient"));
    char words[WORDS];

    cite(s, answer, words);
    return no(s, passes ? &voice_busy : &voice_server,
              "%s: the server answered %lld%s%s", doing, (long long)code,
              *words != '\0' ? ": " : "", words);
}

/* An answer with a status that is a success, or a failure in words. */
static mortise_status succeed(struct session *s, const char *doing,
                              mortise_status status, mortise_str text,
                              mortise_jv *answer)
{
    int64_t code = 0;

    if (status == MORTISE_S_IO || status == MORTISE_S_TIMEOUT ||
        status == MORTISE_S_DOUBT)
        return no(s, &voice_busy, "%s: %.*s", doing,
                  (int)(text.n < 600 ? text.n : 600), text.p);
    if (status != MORTISE_S_OK)
        return no_answer(s, doing, status, text);
    if (mortise_jv_parse(text, answer) != MORTISE_S_OK)
        return no(s, &voice_answer, "the host's answer is not JSON");
    mortise_jv_int(mortise_jv_get(*answer, "status"), &code);
    return code == 200 ? MORTISE_S_OK : no_success(s, doing, *answer, code);
}

/* ---- transcriptions -------------------------------------------------------- */

static const char hearing[] = "transcribe", speaking[] = "synthesize";

/* The WAV of it. */
static mortise_status put_wav(struct bytes *to, const struct pcm *pcm)
{
    mortise_status status = bytes_room(to, WAV_HEAD + 2 * pcm->n);

    if (status != MORTISE_S_OK)
        return status;
    wav_head((unsigned char *)to->p + to->n, pcm->n);
    wav_encode((unsigned char *)to->p + to->n + WAV_HEAD, pcm->p, pcm->n);
    to->n += WAV_HEAD + 2 * pcm->n;
    return MORTISE_S_OK;
}

/* A boundary that is nowhere in the sound. */
static void choose_boundary(char room[40], const struct bytes *wav)
{
    uint64_t n = 0;

    do
        snprintf(room, 40, "mortise-voice-%llu", (unsigned long long)n++);
    while (memmem(wav->p, wav->n, room, strlen(room)) != NULL);
}

static mortise_status put_field(struct bytes *to, const char *boundary,
                                const char *name, mortise_str value)
{
    char head[160];
    mortise_status status;

    snprintf(head, sizeof head,
             "--%s\r\nContent-Disposition: form-data; name=\"%s\"%s\r\n\r\n",
             boundary, name,
             strcmp(name, "file") == 0
                 ? "; filename=\"audio.wav\"\r\nContent-Type: audio/wav"
                 : "");
    status = bytes_put(to, mortise_strz(head));
    if (status == MORTISE_S_OK)
        status = bytes_put(to, value);
    return status == MORTISE_S_OK ? bytes_put(to, mortise_strz("\r\n"))
                                  : status;
}

/* en of en-US, which is what the API takes. */
static mortise_str main_language(const struct session *s)
{
    const struct bytes *tag = &s->wish.language;

    return mortise_strn(tag->p, strcspn(tag->p, "-_"));
}

static mortise_status put_form(const struct session *s, const struct pcm *pcm,
                               struct bytes *to, char boundary[40])
{
    struct bytes wav = {0};
    const mortise_str language = main_language(s);
    const char *format = s->wish.diarizes ? "diarized_json" : "json";
    mortise_status status = put_wav(&wav, pcm);
    char end[64];

    if (status == MORTISE_S_OK) {
        choose_boundary(boundary, &wav);
        status =
            put_field(to, boundary, "model", mortise_strz(s->inst->stt.model));
    }
    if (status == MORTISE_S_OK && language.n > 0)
        status = put_field(to, boundary, "language", language);
    if (status == MORTISE_S_OK)
        status =
            put_field(to, boundary, "response_format", mortise_strz(format));
    if (status == MORTISE_S_OK)
        status = put_field(to, boundary, "file", bytes_str(&wav));
    snprintf(end, sizeof end, "--%s--\r\n", boundary);
    if (status == MORTISE_S_OK)
        status = bytes_put(to, mortise_strz(end));
    bytes_free(&wav);
    return status;
}

static mortise_status encode(const struct bytes *form, struct bytes *to)
{
    const size_t n =
        sodium_base64_encoded_len(form->n, sodium_base64_VARIANT_ORIGINAL);
    mortise_status status = bytes_room(to, n);

    if (status != MORTISE_S_OK)
        return status;
    sodium_bin2base64(to->p, n, (const unsigned char *)form->p, form->n,
                      sodium_base64_VARIANT_ORIGINAL);
    to->n = n - 1; /* a NUL is behind it */
    return MORTISE_S_OK;
}

static mortise_status ask_text(struct session *s, const struct pcm *pcm,
                               mortise_jv *answer)
{
    struct bytes form = {0}, coded = {0};
    char boundary[40], type[80];
    mortise_str text = {NULL, 0};
    mortise_status status = put_form(s, pcm, &form, boundary);

    if (status == MORTISE_S_OK)
        status = encode(&form, &coded);
    bytes_free(&form);
    if (status == MORTISE_S_OK) {
        const int n = snprintf(type, sizeof type,
                               "multipart/form-data; boundary=%s", boundary);
        const mortise_str headers[] = {mortise_strz("Content-Type"),
                                       mortise_strn(type, (uint64_t)n)};
        mortise_http_ask h = {.headers = headers,
                              .n_headers = 1,
                              .body_base64 = bytes_str(&coded)};

        status = ask(s, &s->inst->stt, "/audio/transcriptions", &h, &text);
    }
    bytes_free(&coded);
    return succeed(s, hearing, status, text, answer);
}

/* (4) */
static mortise_status take_speakers(struct session *s, mortise_jv list,
                                    struct bytes *to)
{
    mortise_jv_iter it = mortise_jv_each(list);
    mortise_jv name, one;
    mortise_status status;
    mortise_str json;
    int ok = mortise_jv_type(list) == MORTISE_JV_ARRAY;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_array(&w);
    while (ok && mortise_jv_next(&it, &name, &one)) {
        mortise_jv who = mortise_jv_get(one, "speaker");
        mortise_jv what = mortise_jv_get(one, "text");

        ok = mortise_jv_type(who) == MORTISE_JV_STRING &&
             mortise_jv_type(what) == MORTISE_JV_STRING;
        if (!ok)
            break;
        mortise_jw_object(&w);
        mortise_jw_key(&w, "speaker");
        mortise_jw_value(&w, who);
        mortise_jw_key(&w, "text");
        mortise_jw_value(&w, what);
        mortise_jw_end(&w);
    }
    mortise_jw_end(&w);
    status = mortise_jw_finish(&w, &json);
    if (status == MORTISE_S_OK)
        status = bytes_put(to, json);
    free(w.p);
    if (status != MORTISE_S_OK)
        return no_mem(s);
    return ok ? MORTISE_S_OK
              : no(s, &voice_answer,
                   "%s: the server's answer does not name speakers (segments: "
                   "[{speaker, text}])",
                   hearing);
}

/* Without blanks at its ends. */
static void trim(struct bytes *text)
{
    uint64_t from = 0;

    while (text->n > 0 && (unsigned char)text->p[text->n - 1] <= ' ')
        text->n--;
    while (from < text->n && (unsigned char)text->p[from] <= ' ')
        from++;
    if (from > 0)
        memmove(text->p, text->p + from, text->n - from);
    text->n -= from;
}

/* (3) */
static mortise_status take_text(struct session *s, mortise_jv answer,
                                struct utterance *u)
{
    struct bytes body = {0};
    mortise_jv v = mortise_jv_none();
    mortise_status status = bytes_decode(&body, mortise_jv_get(answer, "body"));

    if (status == MORTISE_S_OK)
        status = mortise_jv_parse(bytes_str(&body), &v);
    if (status == MORTISE_S_OK)
        status = bytes_decode(&u->text, mortise_jv_get(v, "text"));
    if (status == MORTISE_S_NOMEM)
        status = no_mem(s);
    else if (status != MORTISE_S_OK)
        status = no(
            s, &voice_answer,
            "%s: the server's answer is not a transcription ({\"text\": ...})",
            hearing);
    trim(&u->text);
    if (status == MORTISE_S_OK && s->wish.diarizes && u->text.n > 0)
        status = take_speakers(s, mortise_jv_get(v, "segments"), &u->speakers);
    bytes_free(&body);
    return status;
}

mortise_status server_hear(struct session *s, const struct pcm *pcm,
                           struct utterance *u)
{
    mortise_jv answer;
    mortise_status status = ask_text(s, pcm, &answer);

    return status == MORTISE_S_OK ? take_text(s, answer, u) : status;
}

/* ---- speech ---------------------------------------------------------------- */

static mortise_status ask_sound(struct session *s, mortise_str text,
                                mortise_jv *answer)
{
    const struct server *at = &s->inst->tts;
    const char *voice = s->wish.voice.n > 0 ? s->wish.voice.p : at->voice;
    mortise_str said = {NULL, 0}, json;
    mortise_status status;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "model");
    mortise_jw_cstr(&w, at->model);
    mortise_jw_key(&w, "input");
    mortise_jw_string(&w, text);
    mortise_jw_key(&w, "voice");
    mortise_jw_cstr(&w, voice != NULL ? voice : "alloy");
    mortise_jw_key(&w, "response_format");
    mortise_jw_cstr(&w, "wav");
    mortise_jw_end(&w);
    status = mortise_jw_finish(&w, &json);
    if (status == MORTISE_S_OK) {
        mortise_http_ask h = {.json = json};

        status = ask(s, at, "/audio/speech", &h, &said);
    }
    free(w.p);
    return succeed(s, speaking, status, said, answer);
}

/* Its bytes, which the host writes as a text where they happen to be one. */
static mortise_status body_of(mortise_jv answer, struct bytes *to)
{
    mortise_jv coded = mortise_jv_get(answer, "body_base64");
    struct bytes text = {0};
    size_t n = 0;
    mortise_status status;

    if (mortise_jv_type(coded) == MORTISE_JV_NONE)
        return bytes_decode(to, mortise_jv_get(answer, "body"));
    status = bytes_decode(&text, coded);
    if (status == MORTISE_S_OK)
        status = bytes_room(to, text.n + 1);
    if (status == MORTISE_S_OK) {
        if (sodium_base642bin((unsigned char *)to->p, to->cap, text.p, text.n,
                              NULL, &n, NULL,
                              sodium_base64_VARIANT_ORIGINAL) == 0)
            to->n = n;
        else
            status = MORTISE_S_INVALID;
    }
    bytes_free(&text);
    return status;
}

/* (3) */
static mortise_status take_sound(struct session *s, mortise_jv answer,
                                 struct pcm *to)
{
    struct bytes body = {0};
    struct pcm pcm = {NULL, 0, 0};
    char why[WAV_WHY] = "it is empty";
    struct wav wav;
    mortise_status status = body_of(answer, &body);

    if (status == MORTISE_S_NOMEM) {
        status = no_mem(s);
    } else if (status != MORTISE_S_OK ||
               !wav_read(&wav, body.p, body.n, 1, why)) {
        status =
            no(s, &voice_answer, "%s: the server's answer is not a sound: %s",
               speaking, why);
    } else {
        status = wav_decode(&wav, &pcm);
        if (status == MORTISE_S_OK)
            status = sound_resample(s, &pcm, wav.rate);
        if (status == MORTISE_S_OK)
            status = pcm_put(to, pcm.p, pcm.n);
        if (status == MORTISE_S_NOMEM)
            status = no_mem(s);
    }
    pcm_free(&pcm);
    bytes_free(&body);
    return status;
}

mortise_status server_speak(struct session *s, mortise_str text, struct pcm *to)
{
    mortise_jv answer;
    mortise_status status = ask_sound(s, text, &answer);

    return status == MORTISE_S_OK ? take_sound(s, answer, to) : status;
}
