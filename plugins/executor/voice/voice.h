/* voice.h -- a call of the plugin, as its files share it.
 *
 *     voice.c     the plugin, its page and its configuration
 *     call.c      a thread for each call, and what it asks the host
 *     wish.c      what the node says
 *     session.c   turns, until something ends them; the output
 *     step.c      what is done once and recorded
 *     listen.c    one utterance is heard
 *     speak.c     one text is said
 *     answer.c    a model is asked
 *     audio.c     files and sockets, as ears and mouths
 *     terminal.c  the frames of a socket
 *     sphinx.c    speech to text by PocketSphinx
 *     resample.c  sound of another rate
 *     flite.c     text to speech by Flite
 *     server.c    both by a server with OpenAI's API
 *
 * and pcm.h, wav.c, endpoint.c and words.c, which know nothing of these.
 *
 * A call is one thread's of its own, from its beginning to its end; what calls
 * share is the instance, and that has locks of its own.  A function that fails has said why
 * with no(), which the session keeps. */
#ifndef VOICE_H
#define VOICE_H

#include <pthread.h>

#include "../../bytes.h"
#include "endpoint.h"
#include "pcm.h"

enum mode { MODE_CONVERSATION, MODE_LISTEN, MODE_SPEAK };
enum endpointing { ENDS_ACOUSTIC, ENDS_HEURISTIC, ENDS_SEMANTIC };
enum barge_in { BARGE_HARD_CUT, BARGE_SOFT_FADE, BARGE_DISABLED };

/* Why it ended; the first five are those of `exit_on`. */
enum exit {
    EXIT_NONE, /* it goes on */
    EXIT_HANGUP,
    EXIT_SILENCE,
    EXIT_KEYWORD,
    EXIT_TURNS,
    EXIT_MANUAL,
    EXIT_COMPLETED,
    EXIT_INTERRUPTED,
    EXIT_ERROR
};

/* Why something failed. */
struct reason {
    const char *code, *klass;
    mortise_status status;
};
extern const struct reason voice_invalid, voice_config, voice_no_memory,
    voice_cancelled, voice_not_found, voice_denied, voice_io, voice_bad_audio,
    voice_line, voice_server, voice_busy, voice_answer, voice_model;

/* A server with OpenAI's API; base_url NULL: there is none. */
struct server {
    char *base_url, *model, *secret, *voice; /* NULL: not said */
    int diarizes;
};

struct mortise_inst {
    mortise_host *host; /* lent until destroy(), as is the table */
    const mortise_host_api *api;
    int directory; /* of audio files; O_PATH; -1: none */
    char **sockets;
    size_t n_sockets;
    struct server stt, tts;
    struct sphinx *sphinx; /* recognisers */
    struct calls *calls;   /* that are under way */
};

/* What the node says. */
struct wish {
    enum mode mode;
    enum endpointing endpointing;
    enum barge_in barge_in;
    int barge_in_said, diarizes;
    int stt_serves, tts_serves; /* by the server, and not by what is built in */
    int64_t max_turns;          /* 0: any number */
    int64_t silence_ms;
    unsigned exits; /* bits, of enum exit */
    mortise_jv keywords;
    struct bytes voice, language, greeting, audio_in, audio_out;
    int greets;           /* there is a text, if an empty one */
    mortise_jv phrases;   /* args: what may be said; none: anything */
    struct bytes grammar; /* args: likewise, JSGF; n 0: none */
};

/* ---- audio.c --------------------------------------------------------------- */

enum heard { HEARD, HEARD_END, HEARD_STOP, HEARD_FAILED };

/* Where sound comes from, a frame at a time.  Of what is live, silence is heard
 * while nothing comes. */
struct ear {
    struct terminal *terminal; /* NULL: it is a file */
    struct pcm file;
    size_t at;
    struct pcm back; /* heard, and to be heard again */
    size_t back_at;
};

/* Where it goes to. */
struct mouth {
    struct terminal *terminal; /* NULL: it is a file */
    int fd;                    /* of that; -1: none */
    int raw;                   /* it has no head */
    size_t at;                 /* samples so far */
};

/* ---- the session ----------------------------------------------------------- */

struct session {
    mortise_inst *inst;
    mortise_call id;
    const mortise_request *request;
    mortise_jv node, args;
    struct wish wish;
    struct terminal *terminals[2]; /* that were opened */
    struct ear ear;
    struct mouth mouth;
    int has_ear, has_mouth;
    struct endpoint endpoint;

    int64_t n_turns;     /* utterances that were understood */
    struct bytes script; /* what was said, JSON: the items of a list */
    struct bytes text;   /* ... by the user alone */
    struct bytes keyword;
    int64_t spoken_ms, heard_ms;
    int began; /* something of it stands in the record */

    int64_t asked; /* calls of models so far: the newest is its name */
    int64_t after; /* whose reply it goes on from; 0: none yet */
    uint64_t alias;

    const struct reason *failed; /* what the first failure was, and */
    char words[1024];
    struct bytes answer; /* the host's, to what was asked last */
};

/* ---- call.c ---------------------------------------------------------------- */

mortise_status calls_new(struct calls **out);
void calls_free(struct calls *c); /* none is under way */
/* MORTISE_S_TIMEOUT: some are, still. */
mortise_status calls_wait(struct calls *c, uint64_t deadline_ns);
/* A call with all that it has; it ends by itself.  MORTISE_S_PENDING, or there is
 * no thread for it. */
mortise_status call_start(mortise_inst *inst, const mortise_request *r);
/* Ask, and wait; *answer stays valid until the next one. */
mortise_status call_ask(struct session *s, const char *method, mortise_str body,
                        mortise_str *answer);

/* It fails, in words; gives the reason's status. */
mortise_status no(struct session *s, const struct reason *why, const char *fmt,
                  ...) __attribute__((format(printf, 3, 4)));
mortise_status no_mem(struct session *s);
/* MORTISE_S_OK, or that it is to stop. */
mortise_status go_on(struct session *s);
/* What an ask that was refused means, in the host's words. */
mortise_status no_answer(struct session *s, const char *doing,
                         mortise_status status, mortise_str words);
int is_held(const struct session *s);

/* ---- wish.c ---------------------------------------------------------------- */

mortise_status wish_read(struct session *s);
void wish_free(struct wish *w);

/* ---- session.c ------------------------------------------------------------- */

/* All of a call. */
mortise_status session_run(struct session *s);
void session_free(struct session *s);

/* ---- step.c ---------------------------------------------------------------- */

/* What a step gives is written into the writer; *ud is the step's own. */
typedef mortise_status perform_fn(struct session *s, void *ud, mortise_jw *w);
/* Do something that is recorded, or take what was: into `result`, JSON.
 * `arguments` is JSON, what people see of it. */
mortise_status step(struct session *s, const char *name, mortise_str arguments,
                    perform_fn *perform, void *ud, struct bytes *result);
/* An event of that kind, of a JSON object. */
void tell(struct session *s, const char *kind, mortise_jw *w);

/* ---- listen.c, speak.c, answer.c ------------------------------------------- */

struct utterance {
    struct bytes text;     /* "": nothing was understood */
    struct bytes speakers; /* JSON, of who tells them apart; else nothing */
    enum exit end;         /* what ended it, besides that somebody spoke */
};
void utterance_free(struct utterance *u);
/* The n-th. */
mortise_status listen_once(struct session *s, int64_t n, struct utterance *u);
/* Is the turn over, says a model of what was understood so far. */
mortise_status answer_is_over(struct session *s, int64_t n, mortise_str text,
                              int *over);

struct speech {
    int cut;       /* somebody spoke into it */
    enum exit end; /* the line ended */
};
mortise_status speak_once(struct session *s, const char *name, mortise_str text,
                          struct speech *out);
/* The answer to what was said; `interrupted`: into what was said before. */
mortise_status answer_once(struct session *s, mortise_str said, int interrupted,
                           struct bytes *reply);

/* ---- audio.c --------------------------------------------------------------- */

/* What the node names, opened. */
mortise_status sound_open(struct session *s);
void sound_close(struct session *s);
enum heard ear_hear(struct session *s, int16_t frame[FRAME]);
/* What was heard will be heard again. */
mortise_status ear_return(struct session *s, const struct pcm *heard);
/* Of a file: where it goes on, in samples. */
int64_t ear_tell(const struct session *s);
void ear_seek(struct session *s, int64_t at);
mortise_status mouth_say(struct session *s, const int16_t *p, size_t n);
/* All that was said is where it belongs. */
mortise_status mouth_settle(struct session *s);
/* Of a file: what stands behind is overwritten. */
void mouth_seek(struct session *s, int64_t at);
/* Whoever plays it forgets what he has not played. */
mortise_status mouth_hush(struct session *s);

/* ---- terminal.c ------------------------------------------------------------ */

mortise_status terminal_open(struct session *s, const char *path,
                             struct terminal **out);
void terminal_close(struct terminal *t);
enum heard terminal_hear(struct session *s, struct terminal *t,
                         int16_t frame[FRAME]);
mortise_status terminal_say(struct session *s, struct terminal *t,
                            const int16_t *p, size_t n);
mortise_status terminal_hush(struct session *s, struct terminal *t);

/* ---- sphinx.c, flite.c, server.c ------------------------------------------- */

mortise_status sphinx_new(struct sphinx **out);
void sphinx_free(struct sphinx *x);
/* What was said, into `text`; nothing of it: it was no speech, or nothing that
 * may be said. */
mortise_status sphinx_hear(struct session *s, const struct pcm *pcm,
                           struct bytes *text);
/* Can that be heard, with these phrases? */
mortise_status sphinx_check(struct session *s);
/* Added to `to`. */
mortise_status flite_speak(struct session *s, mortise_str text, struct pcm *to);
int flite_has(const char *voice);
/* Any rate into ours: in place. */
mortise_status sound_resample(struct session *s, struct pcm *pcm,
                              uint32_t rate);

mortise_status server_hear(struct session *s, const struct pcm *pcm,
                           struct utterance *u);
mortise_status server_speak(struct session *s, mortise_str text,
                            struct pcm *to);

#endif
