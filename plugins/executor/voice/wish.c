/* wish.c -- what the node says, read once and held against what this instance
 * has: whatever cannot be done is refused before anybody is heard.
 *
 * The host has checked the types by the manifest's schema, and the loader what
 * goes with which mode. */
#include "voice.h"

static int is(mortise_jv v, const char *word)
{
    return mortise_jv_is(v, mortise_strz(word));
}

/* The place of a word in a list; `otherwise` where there is none. */
static int word_of(mortise_jv v, const char *const *words, int n, int otherwise)
{
    for (int i = 0; i < n; i++)
        if (is(v, words[i]))
            return i;
    return otherwise;
}

static mortise_status read_text(struct session *s, struct bytes *to,
                                mortise_jv v)
{
    mortise_status status = MORTISE_S_OK;

    if (mortise_jv_type(v) == MORTISE_JV_STRING)
        status = bytes_decode(to, v);
    else if (mortise_jv_type(v) != MORTISE_JV_NONE)
        status = bytes_put(to, mortise_strn(v.p, v.n)); /* a value: its JSON */
    if (status == MORTISE_S_OK)
        status = bytes_put(to, mortise_strn("", 1)); /* with a NUL behind */
    if (status != MORTISE_S_OK)
        return no_mem(s);
    to->n--;
    return MORTISE_S_OK;
}

static void read_exits(struct wish *w, mortise_jv list)
{
    static const char *const words[] = {
        "",        "hangup",          "silence-timeout",
        "keyword", "turns-exhausted", "manual"};
    mortise_jv_iter it = mortise_jv_each(list);
    mortise_jv name, one;

    if (mortise_jv_type(list) == MORTISE_JV_NONE) {
        w->exits = ~0u;
        return;
    }
    while (mortise_jv_next(&it, &name, &one))
        w->exits |= 1u << word_of(one, words, 6, EXIT_NONE);
}

static mortise_status read_texts(struct session *s, mortise_jv voice)
{
    struct wish *w = &s->wish;
    const struct {
        struct bytes *to;
        const char *name;
    } all[] = {{&w->voice, "voice"},
               {&w->language, "language"},
               {&w->greeting, "speak_text"},
               {&w->audio_in, "audio_in"},
               {&w->audio_out, "audio_out"}};
    mortise_status status = MORTISE_S_OK;

    for (size_t i = 0; status == MORTISE_S_OK && i < 5; i++)
        status = read_text(s, all[i].to, mortise_jv_get(voice, all[i].name));
    if (status == MORTISE_S_OK)
        status = read_text(s, &w->grammar, mortise_jv_get(s->args, "grammar"));
    return status;
}

static void read_words(struct wish *w, mortise_jv voice)
{
    static const char *const modes[] = {"conversation", "listen-only",
                                        "speak-only"};
    static const char *const kinds[] = {"acoustic", "heuristic", "semantic"};
    static const char *const barges[] = {"hard-cut", "soft-fade", "disabled"};
    mortise_jv barge_in = mortise_jv_get(voice, "barge_in");

    w->mode = (enum mode)word_of(mortise_jv_get(voice, "mode"), modes, 3, 0);
    w->endpointing = (enum endpointing)word_of(
        mortise_jv_get(voice, "endpointing"), kinds, 3, ENDS_ACOUSTIC);
    w->barge_in = (enum barge_in)word_of(barge_in, barges, 3, BARGE_HARD_CUT);
    w->barge_in_said = mortise_jv_type(barge_in) != MORTISE_JV_NONE;
    w->stt_serves = is(mortise_jv_get(voice, "stt"), "openai");
    w->tts_serves = is(mortise_jv_get(voice, "tts"), "openai");
}

/* ---- against what there is ------------------------------------------------- */

static mortise_status check_server(struct session *s, const struct server *has,
                                   const char *which)
{
    return has->base_url != NULL
               ? MORTISE_S_OK
               : no(s, &voice_config,
                    "%s: openai needs `%s: {base_url, model}` in the config "
                    "of the plugin voice",
                    which, which);
}

/* English is what is built in: en, en-US, en_GB ... */
static mortise_status check_language(struct session *s, const char *which)
{
    const char *tag = s->wish.language.p;

    if (*tag == '\0' || (strncmp(tag, "en", 2) == 0 &&
                         (tag[2] == '\0' || tag[2] == '-' || tag[2] == '_')))
        return MORTISE_S_OK;
    return no(s, &voice_config,
              "language '%s': %s supports only English; a server (openai) may "
              "support others",
              tag, which);
}

static mortise_status check_hearing(struct session *s)
{
    const struct wish *w = &s->wish;

    if (w->stt_serves) {
        mortise_status status = check_server(s, &s->inst->stt, "stt");

        if (status != MORTISE_S_OK)
            return status;
        if (w->diarizes && !s->inst->stt.diarizes)
            return no(s, &voice_config,
                      "diarization: stt in the config of the plugin voice does "
                      "not set `diarization: true`");
        if (mortise_jv_type(w->phrases) != MORTISE_JV_NONE || w->grammar.n > 0)
            return no(
                s, &voice_invalid,
                "args: phrases and grammar work only with stt: pocketsphinx");
        return MORTISE_S_OK;
    }
    if (mortise_jv_type(w->phrases) != MORTISE_JV_NONE && w->grammar.n > 0)
        return no(s, &voice_invalid,
                  "args: give either phrases or grammar, not both");
    return check_language(s, "pocketsphinx");
}

static mortise_status check_speaking(struct session *s)
{
    const struct wish *w = &s->wish;

    if (w->tts_serves)
        return check_server(s, &s->inst->tts, "tts");
    if (!flite_has(w->voice.p))
        return no(s, &voice_invalid,
                  "voice '%s': flite has only rms, slt and awb", w->voice.p);
    return check_language(s, "flite");
}

mortise_status wish_read(struct session *s)
{
    mortise_jv voice = mortise_jv_get(s->node, "voice");
    struct wish *w = &s->wish;
    mortise_status status;
    int32_t yes = 0;

    read_words(w, voice);
    read_exits(w, mortise_jv_get(voice, "exit_on"));
    w->keywords = mortise_jv_get(voice, "exit_keywords");
    w->phrases = mortise_jv_get(s->args, "phrases");
    w->greets =
        mortise_jv_type(mortise_jv_get(voice, "speak_text")) != MORTISE_JV_NONE;
    w->silence_ms = 30000;
    mortise_jv_int(mortise_jv_get(voice, "silence_timeout"), &w->silence_ms);
    mortise_jv_int(mortise_jv_get(voice, "max_turns"), &w->max_turns);
    mortise_jv_bool(mortise_jv_get(voice, "diarization"), &yes);
    w->diarizes = yes;
    status = read_texts(s, voice);
    if (status == MORTISE_S_OK && w->mode != MODE_SPEAK)
        status = check_hearing(s);
    if (status == MORTISE_S_OK && w->mode != MODE_LISTEN)
        status = check_speaking(s);
    return status;
}

void wish_free(struct wish *w)
{
    struct bytes *const all[] = {&w->voice,    &w->language,  &w->greeting,
                                 &w->audio_in, &w->audio_out, &w->grammar};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        bytes_free(all[i]);
}
