/* speak.c -- one text is said, and what becomes of it when somebody speaks
 * meanwhile.
 *
 *     hard-cut   it stops with the frame, and the terminal forgets what it has
 *                not played
 *     soft-fade  it becomes quieter, for FADE_MS, and stops
 *     disabled   it goes on, and what is said into it is not heard
 *
 *   (1) Who speaks into it has a voice for BARGE_MS, with gaps of GAP_MS at most:
 *       a cough does not stop anybody.
 *   (2) What he said from the first frame on is heard again, by who listens next.
 *   (3) A file is heard while it is spoken to where `barge_in` says so, as a line
 *       would be; otherwise it waits, for a file that nobody speaks into has
 *       nothing to be interrupted by.
 *   (4) The step's result says how far it came, so that a crash behind it neither
 *       repeats nor skips a word of a file.
 */
#include "voice.h"

#include "words.h"

enum {
    BARGE_MS = 200,
    GAP_MS = 100,
    FADE_MS = 300,
    PIECE_MAX = 600 /* bytes of text */
};

/* What one step says. */
struct saying {
    mortise_str text;
    struct pcm pcm;
    struct pcm into; /* what is said into it, so far */
    int64_t voice_ms, gap_ms;
    int64_t fade_ms; /* what is left of a fade; 0: there is none */
    struct speech out;
    int64_t said_ms;
};

static int is_duplex(const struct session *s)
{
    return s->has_ear &&
           (s->ear.terminal != NULL ||
            (s->wish.barge_in_said && s->wish.barge_in != BARGE_DISABLED));
}

/* (1): MORTISE_S_OK, and out.cut where it is so. */
static mortise_status take_frame(struct session *s, struct saying *g,
                                 const int16_t frame[FRAME])
{
    const int voiced = vad_hears(&s->endpoint.vad, frame);

    if (s->wish.barge_in == BARGE_DISABLED)
        return MORTISE_S_OK;
    if (!voiced && g->voice_ms == 0)
        return MORTISE_S_OK;
    if (pcm_put(&g->into, frame, FRAME) != MORTISE_S_OK)
        return no_mem(s);
    g->voice_ms += voiced ? FRAME_MS : 0;
    g->gap_ms = voiced ? 0 : g->gap_ms + FRAME_MS;
    if (g->gap_ms > GAP_MS && !g->out.cut) {
        g->voice_ms = g->gap_ms = 0;
        pcm_free(&g->into);
    }
    if (g->voice_ms >= BARGE_MS && !g->out.cut) {
        g->out.cut = 1;
        g->fade_ms = s->wish.barge_in == BARGE_SOFT_FADE ? FADE_MS : 0;
    }
    return MORTISE_S_OK;
}

static mortise_status hear_meanwhile(struct session *s, struct saying *g)
{
    int16_t frame[FRAME];

    switch (ear_hear(s, frame)) {
    case HEARD:
        return take_frame(s, g, frame);
    case HEARD_END:
        /* a file that is over is silent */
        g->out.end = s->ear.terminal != NULL ? EXIT_HANGUP : EXIT_NONE;
        return MORTISE_S_OK;
    case HEARD_STOP:
        g->out.end = EXIT_MANUAL;
        return MORTISE_S_OK;
    default:
        return s->failed->status;
    }
}

/* The next frame, quieter in a fade. */
static mortise_status say_frame(struct session *s, struct saying *g, size_t at)
{
    int16_t frame[FRAME];
    const size_t left = g->pcm.n - at, n = left < FRAME ? left : FRAME;

    for (size_t i = 0; i < n; i++) {
        int v = g->pcm.p[at + i];

        if (g->out.cut) {
            const int64_t ms = g->fade_ms - pcm_ms(i);

            v = (int)(v * ms / FADE_MS);
        }
        frame[i] = (int16_t)v;
    }
    if (g->out.cut)
        g->fade_ms -= FRAME_MS;
    g->said_ms += pcm_ms(n);
    return mouth_say(s, frame, n);
}

static int is_silenced(const struct saying *g)
{
    return g->out.end != EXIT_NONE || (g->out.cut && g->fade_ms <= 0);
}

static mortise_status play(struct session *s, struct saying *g)
{
    const int duplex = is_duplex(s);
    mortise_status status = MORTISE_S_OK;

    for (size_t at = 0;
         status == MORTISE_S_OK && at < g->pcm.n && !is_silenced(g);
         at += FRAME) {
        status = say_frame(s, g, at);
        if (status == MORTISE_S_OK && duplex)
            status = hear_meanwhile(s, g);
        if (status == MORTISE_S_OK)
            status = go_on(s);
    }
    if (status == MORTISE_S_OK && g->out.cut && g->out.end == EXIT_NONE)
        status = mouth_hush(s);
    if (status == MORTISE_S_OK && g->out.cut) /* (2) */
        status = ear_return(s, &g->into);
    return status == MORTISE_S_OK ? mouth_settle(s) : status;
}

static void write_int(mortise_jw *w, const char *name, int64_t v)
{
    mortise_jw_key(w, name);
    mortise_jw_int(w, v);
}

/* Piece by piece: nobody makes sound of any length at once. */
static mortise_status synthesize(struct session *s, struct saying *g)
{
    mortise_str left = g->text;
    mortise_status status = MORTISE_S_OK;

    while (status == MORTISE_S_OK && left.n > 0) {
        const uint64_t n = words_piece(left, PIECE_MAX);
        const mortise_str piece = mortise_strn(left.p, n);

        status = s->wish.tts_serves ? server_speak(s, piece, &g->pcm)
                                    : flite_speak(s, piece, &g->pcm);
        left = mortise_strn(left.p + n, left.n - n);
        if (status == MORTISE_S_OK)
            status = go_on(s);
    }
    return status;
}

/* (4) */
static mortise_status perform(struct session *s, void *ud, mortise_jw *w)
{
    struct saying *g = ud;
    mortise_status status = synthesize(s, g);

    if (status == MORTISE_S_OK)
        status = play(s, g);
    if (status != MORTISE_S_OK)
        return status;
    mortise_jw_object(w);
    mortise_jw_key(w, "cut");
    mortise_jw_bool(w, g->out.cut);
    write_int(w, "end", g->out.end);
    write_int(w, "ms", g->said_ms);
    if (s->mouth.terminal == NULL)
        write_int(w, "out", (int64_t)s->mouth.at);
    if (s->has_ear && s->ear.terminal == NULL)
        write_int(w, "at", ear_tell(s));
    mortise_jw_end(w);
    return MORTISE_S_OK;
}

static mortise_status read_result(struct session *s, const struct bytes *json,
                                  struct speech *out)
{
    int64_t end = EXIT_NONE, ms = 0, at = -1, to = -1;
    int32_t cut = 0;
    mortise_jv v;

    if (mortise_jv_parse(bytes_str(json), &v) != MORTISE_S_OK)
        return no(s, &voice_answer, "the record of a step is not JSON");
    mortise_jv_bool(mortise_jv_get(v, "cut"), &cut);
    mortise_jv_int(mortise_jv_get(v, "end"), &end);
    mortise_jv_int(mortise_jv_get(v, "ms"), &ms);
    mortise_jv_int(mortise_jv_get(v, "at"), &at);
    mortise_jv_int(mortise_jv_get(v, "out"), &to);
    *out = (struct speech){.cut = cut, .end = (enum exit)end};
    s->spoken_ms += ms;
    if (at >= 0)
        ear_seek(s, at);
    if (to >= 0)
        mouth_seek(s, to);
    return MORTISE_S_OK;
}

static mortise_status write_text(struct session *s, mortise_str text,
                                 struct bytes *to)
{
    mortise_status status = bytes_put(to, mortise_strz("{\"text\":"));

    if (status == MORTISE_S_OK)
        status = bytes_quote(to, text);
    if (status == MORTISE_S_OK)
        status = bytes_put(to, mortise_strz("}"));
    return status == MORTISE_S_OK ? status : no_mem(s);
}

mortise_status speak_once(struct session *s, const char *name, mortise_str text,
                          struct speech *out)
{
    struct saying g = {.text = text};
    struct bytes arguments = {0}, result = {0};
    mortise_status status = write_text(s, text, &arguments);

    if (status == MORTISE_S_OK)
        status = step(s, name, bytes_str(&arguments), perform, &g, &result);
    if (status == MORTISE_S_OK)
        status = read_result(s, &result, out);
    pcm_free(&g.pcm);
    pcm_free(&g.into);
    bytes_free(&arguments);
    bytes_free(&result);
    return status;
}
