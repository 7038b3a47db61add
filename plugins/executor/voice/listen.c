/* listen.c -- one utterance is heard, from the first silence to its end.
 *
 * Frames are listened to until somebody has spoken and stopped.  Where a pause
 * may be the end of it, the kind of endpointing decides:
 *
 *     acoustic   it is
 *     heuristic  what was said is turned into text: one that stops in the middle
 *                of a sentence (words.c) is waited for
 *     semantic   likewise, and a model says whether the turn is over
 *
 * for PATIENCE_MS of silence in all; then it is over, whatever was said.
 *
 *   (1) What is understood of it is text.  Sound in which there is none was no
 *       speech (rejected): it is no turn, and does not end a silence.
 *   (2) A silence counts from where listening began, or the last thing that was
 *       said began: in the time of the sound (terminal.c).
 *   (3) An utterance that never stops ends after LONGEST_MS.
 *   (4) Where the line ends while somebody speaks, what he said so far counts.
 *   (5) The step's result has all that the session needs of it, where a file
 *       goes on included.
 */
#include "voice.h"

#include <stdio.h>

#include "words.h"

enum {
    BEFORE_MS = 300, /* that are kept of what came before it began */
    LONGEST_MS = 30000
};

/* What one step hears. */
struct hearing {
    int64_t n; /* the turn's number */
    struct pcm pcm;
    struct utterance u;
    int64_t ms, rejected;
    int64_t asked_at; /* how long the utterance was when it was last thought
                          to be over; 0: not yet */
    int understood;   /* u.text is of all of it */
};

void utterance_free(struct utterance *u)
{
    bytes_free(&u->text);
    bytes_free(&u->speakers);
}

/* ---- an utterance ---------------------------------------------------------- */

static mortise_status understand(struct session *s, struct hearing *h)
{
    mortise_status status = MORTISE_S_OK;

    if (h->understood)
        return status;
    utterance_free(&h->u);
    if (s->endpoint.spoken_ms >= MIN_SPOKEN_MS)
        status = s->wish.stt_serves ? server_hear(s, &h->pcm, &h->u)
                                    : sphinx_hear(s, &h->pcm, &h->u.text);
    h->understood = 1;
    return status;
}

/* Somebody paused: is that all? */
static mortise_status is_over(struct session *s, struct hearing *h, int *over)
{
    mortise_status status;

    *over = s->endpoint.silent_ms >= PATIENCE_MS ||
            s->wish.endpointing == ENDS_ACOUSTIC;
    if (*over || h->asked_at == s->endpoint.spoken_ms)
        return MORTISE_S_OK; /* it was asked, in this pause */
    h->asked_at = s->endpoint.spoken_ms;
    status = understand(s, h);
    if (status != MORTISE_S_OK)
        return status;
    if (h->u.text.n == 0)
        *over = 1; /* of nothing there is no rest */
    else if (s->wish.endpointing == ENDS_HEURISTIC)
        *over = !words_are_unfinished(bytes_str(&h->u.text));
    else
        return answer_is_over(s, h->n, bytes_str(&h->u.text), over);
    return MORTISE_S_OK;
}

/* (1) */
static mortise_status finish_utterance(struct session *s, struct hearing *h,
                                       int *understood)
{
    mortise_status status = understand(s, h);

    *understood = status == MORTISE_S_OK && h->u.text.n > 0;
    if (status != MORTISE_S_OK || *understood)
        return status;
    h->rejected++;
    pcm_free(&h->pcm);
    h->understood = 0;
    h->asked_at = 0;
    endpoint_reset(&s->endpoint);
    return MORTISE_S_OK;
}

static mortise_status take_frame(struct session *s, struct hearing *h,
                                 const int16_t frame[FRAME], int *done)
{
    struct endpoint *e = &s->endpoint;
    mortise_status status = MORTISE_S_OK;
    int over = 0;

    if (pcm_put(&h->pcm, frame, FRAME) != MORTISE_S_OK)
        return no_mem(s);
    endpoint_feed(e, frame);
    if (!endpoint_has_begun(e)) {
        pcm_keep_last(&h->pcm, RATE / 1000 * BEFORE_MS);
        return MORTISE_S_OK;
    }
    if (e->silent_ms == 0)
        h->understood = 0; /* there is more of it */
    if (e->silent_ms >= PAUSE_MS)
        status = is_over(s, h, &over);
    if (status == MORTISE_S_OK && (over || pcm_ms(h->pcm.n) >= LONGEST_MS))
        status = finish_utterance(s, h, done);
    return status;
}

/* (4) */
static mortise_status take_end(struct session *s, struct hearing *h,
                               enum heard heard)
{
    int understood = 0;

    if (heard == HEARD_FAILED)
        return s->failed->status;
    h->u.end = EXIT_NONE;
    if (endpoint_has_begun(&s->endpoint)) {
        mortise_status status = finish_utterance(s, h, &understood);

        if (status != MORTISE_S_OK)
            return status;
    }
    h->u.end = heard == HEARD_STOP ? EXIT_MANUAL : EXIT_HANGUP;
    return MORTISE_S_OK;
}

/* (2) */
static int is_silent_for_too_long(const struct session *s,
                                  const struct hearing *h)
{
    return (s->wish.exits & 1u << EXIT_SILENCE) != 0 &&
           !endpoint_has_begun(&s->endpoint) && h->ms >= s->wish.silence_ms;
}

static mortise_status hear(struct session *s, struct hearing *h)
{
    int16_t frame[FRAME];
    mortise_status status = MORTISE_S_OK;
    int done = 0;

    endpoint_reset(&s->endpoint);
    while (status == MORTISE_S_OK && !done) {
        const enum heard heard = ear_hear(s, frame);

        if (heard != HEARD)
            return take_end(s, h, heard);
        h->ms += FRAME_MS;
        status = take_frame(s, h, frame, &done);
        if (status == MORTISE_S_OK && !done && is_silent_for_too_long(s, h)) {
            h->u.end = EXIT_SILENCE;
            done = 1;
        }
        if (status == MORTISE_S_OK)
            status = go_on(s);
    }
    return status;
}

/* ---- the step -------------------------------------------------------------- */

static void write_int(mortise_jw *w, const char *name, int64_t v)
{
    mortise_jw_key(w, name);
    mortise_jw_int(w, v);
}

/* (5) */
static mortise_status perform(struct session *s, void *ud, mortise_jw *w)
{
    struct hearing *h = ud;
    mortise_status status = hear(s, h);

    if (status != MORTISE_S_OK)
        return status;
    mortise_jw_object(w);
    mortise_jw_key(w, "text");
    mortise_jw_string(w, bytes_str(&h->u.text));
    if (h->u.speakers.n > 0) {
        mortise_jw_key(w, "speakers");
        mortise_jw_value(w, mortise_jv_of(bytes_str(&h->u.speakers)));
    }
    write_int(w, "end", h->u.end);
    write_int(w, "ms", h->ms);
    write_int(w, "rejected", h->rejected);
    if (s->ear.terminal == NULL)
        write_int(w, "at", ear_tell(s));
    mortise_jw_end(w);
    return MORTISE_S_OK;
}

static mortise_status read_result(struct session *s, const struct bytes *json,
                                  struct utterance *u)
{
    mortise_jv v, speakers;
    int64_t end = EXIT_NONE, at = -1, ms = 0;
    mortise_status status = mortise_jv_parse(bytes_str(json), &v);

    if (status != MORTISE_S_OK)
        return no(s, &voice_answer, "the record of a step is not JSON");
    mortise_jv_int(mortise_jv_get(v, "end"), &end);
    mortise_jv_int(mortise_jv_get(v, "ms"), &ms);
    mortise_jv_int(mortise_jv_get(v, "at"), &at);
    speakers = mortise_jv_get(v, "speakers");
    u->end = (enum exit)end;
    s->heard_ms += ms;
    if (at >= 0)
        ear_seek(s, at);
    status = bytes_decode(&u->text, mortise_jv_get(v, "text"));
    if (status == MORTISE_S_OK)
        status = bytes_put(&u->speakers, mortise_strn(speakers.p, speakers.n));
    return status == MORTISE_S_OK ? status : no_mem(s);
}

mortise_status listen_once(struct session *s, int64_t n, struct utterance *u)
{
    struct hearing h = {.n = n};
    struct bytes result = {0};
    char name[32];
    mortise_status status;

    snprintf(name, sizeof name, "listen.%lld", (long long)n);
    status = step(s, name, mortise_str_empty(), perform, &h, &result);
    if (status == MORTISE_S_OK)
        status = read_result(s, &result, u);
    utterance_free(&h.u);
    pcm_free(&h.pcm);
    bytes_free(&result);
    return status;
}
