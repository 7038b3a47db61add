/* sphinx.c -- speech to text by PocketSphinx, in this process: American English.
 *
 * Two ways, of one recogniser: the open model, which knows 130,000 words and how
 * they follow each other; and a grammar, of `phrases` or in JSGF, which knows
 * nothing else than what may be said.
 *
 *   (1) A grammar takes anything for one of its phrases: "delete all the files"
 *       becomes "close the garage", and it has no confidence of its own.  So
 *       what it heard counts where the open model hears the same words; or where
 *       its score, a logarithm by frame, is better by MARGIN than that of the
 *       open model, which has all words to choose from.  Of ten phrases, said by
 *       three voices with noise and without, 92 % are taken so; of 14 others that
 *       were chosen to be like them ("turn off the light" for "turn on the
 *       light"), 19 % are taken for one of them, and of others few.
 *   (2) What the open model finds no word in was no speech.
 *   (3) The same sound gives the same text: each utterance is normalised by
 *       itself (full_utt), and not by what was heard before.
 *   (4) Recognisers cost 100 MB and a third of a second: there are MOST of them,
 *       made when they are needed, and kept.  An utterance waits for its turn.
 *   (5) PocketSphinx ends the process where a file of its is missing or memory
 *       runs out.  The files are looked at before.
 */
#include "voice.h"

#include <pocketsphinx.h>
#include <sphinxbase/err.h>
#include <sphinxbase/jsgf.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "words.h"

#ifndef VOICE_MODELS
#define VOICE_MODELS "/usr/share/pocketsphinx/model/en-us"
#endif

enum { MARGIN = 18, MOST = 4, LOOK_MS = 100 };

static const char open_model[] = "open", grammar[] = "grammar";

struct recogniser {
    struct recogniser *next;
    ps_decoder_t *decoder;
    struct bytes grammar; /* that it has now, JSGF; n 0: none */
};

struct sphinx {
    pthread_mutex_t lock; /* of: */
    pthread_cond_t given_back;
    struct recogniser *idle;
    int made;
};

/* What it writes to stderr is for who works on it. */
static void say_nothing(void *ud, err_lvl_t level, const char *fmt, ...)
{
    (void)ud;
    (void)level;
    (void)fmt;
}

mortise_status sphinx_new(struct sphinx **out)
{
    struct sphinx *x = calloc(1, sizeof *x);

    if (x == NULL)
        return MORTISE_S_NOMEM;
    pthread_mutex_init(&x->lock, NULL);
    pthread_cond_init(&x->given_back, NULL);
    err_set_callback(say_nothing, NULL);
    err_set_logfp(NULL); /* its settings, which it writes otherwise */
    *out = x;
    return MORTISE_S_OK;
}

static void recogniser_free(struct recogniser *r)
{
    ps_free(r->decoder);
    bytes_free(&r->grammar);
    free(r);
}

void sphinx_free(struct sphinx *x)
{
    if (x == NULL)
        return;
    while (x->idle != NULL) {
        struct recogniser *next = x->idle->next;

        recogniser_free(x->idle);
        x->idle = next;
    }
    pthread_cond_destroy(&x->given_back);
    pthread_mutex_destroy(&x->lock);
    free(x);
}

/* ---- recognisers ----------------------------------------------------------- */

/* (5) */
static mortise_status look(struct session *s)
{
    static const char *const files[] = {VOICE_MODELS "/en-us/mdef",
                                        VOICE_MODELS "/en-us/means",
                                        VOICE_MODELS "/en-us/variances",
                                        VOICE_MODELS "/en-us/sendump",
                                        VOICE_MODELS
                                        "/en-us/transition_matrices",
                                        VOICE_MODELS "/cmudict-en-us.dict",
                                        VOICE_MODELS "/en-us.lm.bin"};

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (access(files[i], R_OK) != 0)
            return no(s, &voice_config,
                      "pocketsphinx has no model: %s does not exist (Debian: "
                      "pocketsphinx-en-us)",
                      files[i]);
    return MORTISE_S_OK;
}

static ps_decoder_t *decoder_new(void)
{
    cmd_ln_t *config =
        cmd_ln_init(NULL, ps_args(), TRUE, "-hmm", VOICE_MODELS "/en-us",
                    "-dict", VOICE_MODELS "/cmudict-en-us.dict", NULL);
    ps_decoder_t *d = config != NULL ? ps_init(config) : NULL;

    if (config != NULL)
        cmd_ln_free_r(config);
    if (d != NULL &&
        ps_set_lm_file(d, open_model, VOICE_MODELS "/en-us.lm.bin") != 0) {
        ps_free(d);
        d = NULL;
    }
    return d;
}

static mortise_status recogniser_new(struct session *s, struct recogniser **out)
{
    struct recogniser *r;
    mortise_status status = look(s);

    if (status != MORTISE_S_OK)
        return status;
    r = calloc(1, sizeof *r);
    if (r == NULL)
        return no_mem(s);
    r->decoder = decoder_new();
    if (r->decoder == NULL) {
        free(r);
        return no(s, &voice_config, "pocketsphinx rejects the model in %s",
                  VOICE_MODELS);
    }
    *out = r;
    return MORTISE_S_OK;
}

/* The next that is idle; *out NULL: one more may be made.  With the lock. */
static mortise_status wait_for_turn(struct session *s, struct sphinx *x,
                                    struct recogniser **out)
{
    mortise_status status = MORTISE_S_OK;

    while (status == MORTISE_S_OK && x->idle == NULL && x->made == MOST) {
        struct timespec until;

        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LOOK_MS * 1000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000;
        }
        pthread_cond_timedwait(&x->given_back, &x->lock, &until);
        status = go_on(s);
    }
    *out = x->idle;
    if (status == MORTISE_S_OK && x->idle != NULL)
        x->idle = x->idle->next;
    else if (status == MORTISE_S_OK)
        x->made++;
    return status;
}

/* (4) */
static mortise_status take(struct session *s, struct recogniser **out)
{
    struct sphinx *x = s->inst->sphinx;
    mortise_status status;

    pthread_mutex_lock(&x->lock);
    status = wait_for_turn(s, x, out);
    pthread_mutex_unlock(&x->lock);
    if (status != MORTISE_S_OK || *out != NULL)
        return status;
    status = recogniser_new(s, out);
    if (status != MORTISE_S_OK) {
        pthread_mutex_lock(&x->lock);
        x->made--;
        pthread_mutex_unlock(&x->lock);
    }
    return status;
}

static void give_back(struct session *s, struct recogniser *r)
{
    struct sphinx *x = s->inst->sphinx;

    pthread_mutex_lock(&x->lock);
    r->next = x->idle;
    x->idle = r;
    pthread_cond_signal(&x->given_back);
    pthread_mutex_unlock(&x->lock);
}

/* ---- grammars -------------------------------------------------------------- */

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || c == '\'';
}

/* Words that the dictionary has, in small letters, with a blank ahead of each. */
static mortise_status put_word(struct session *s, ps_decoder_t *d,
                               mortise_str word, struct bytes *to)
{
    char room[64], *sounds;

    if (word.n >= sizeof room)
        return no(s, &voice_invalid, "phrases: '%.*s' is too long for a word",
                  (int)sizeof room, word.p);
    for (uint64_t i = 0; i < word.n; i++) {
        const char c = word.p[i];

        room[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
        if (!is_letter(room[i]))
            return no(s, &voice_invalid,
                      "phrases: '%.*s' is not a word; use only letters and ', "
                      "and write numbers as words",
                      (int)word.n, word.p);
    }
    room[word.n] = '\0';
    sounds = ps_lookup_word(d, room);
    if (sounds == NULL)
        return no(s, &voice_invalid,
                  "phrases: pocketsphinx's dictionary has no '%s'", room);
    ckd_free(sounds);
    return bytes_put(to, mortise_strz(" ")) == MORTISE_S_OK &&
                   bytes_put(to, mortise_strz(room)) == MORTISE_S_OK
               ? MORTISE_S_OK
               : no_mem(s);
}

static mortise_status put_phrase(struct session *s, ps_decoder_t *d,
                                 mortise_str phrase, struct bytes *to)
{
    mortise_status status = MORTISE_S_OK;
    uint64_t at = 0, n = 0, words = 0;

    while (status == MORTISE_S_OK && at < phrase.n) {
        n = at;
        while (n < phrase.n && phrase.p[n] != ' ')
            n++;
        if (n > at) {
            status = put_word(s, d, mortise_strn(phrase.p + at, n - at), to);
            words++;
        }
        at = n + 1;
    }
    return status == MORTISE_S_OK && words == 0
               ? no(s, &voice_invalid, "phrases: a phrase is empty")
               : status;
}

static mortise_status put_phrases(struct session *s, ps_decoder_t *d,
                                  struct bytes *to)
{
    mortise_jv_iter it = mortise_jv_each(s->wish.phrases);
    mortise_jv name, one;
    mortise_status status =
        bytes_put(to, mortise_strz("#JSGF V1.0;\ngrammar g;\npublic <g> ="));
    const char *between = "";

    if (status != MORTISE_S_OK)
        return no_mem(s);
    while (status == MORTISE_S_OK && mortise_jv_next(&it, &name, &one)) {
        struct bytes phrase = {0};

        if (bytes_put(to, mortise_strz(between)) != MORTISE_S_OK ||
            bytes_decode(&phrase, one) != MORTISE_S_OK)
            status = no_mem(s);
        else
            status = put_phrase(s, d, bytes_str(&phrase), to);
        between = " |";
        bytes_free(&phrase);
    }
    if (status == MORTISE_S_OK &&
        bytes_put(to, mortise_strn(";\n", 3)) != MORTISE_S_OK)
        status = no_mem(s);
    return status;
}

/* A grammar that another file is imported by would read files. */
static mortise_status put_grammar(struct session *s, struct bytes *to)
{
    const struct bytes *g = &s->wish.grammar;

    if (memmem(g->p, g->n, "import", 6) != NULL)
        return no(s, &voice_invalid, "grammar: imports are not supported");
    return bytes_put(to, mortise_strn(g->p, g->n + 1)) == MORTISE_S_OK
               ? MORTISE_S_OK
               : no_mem(s);
}

/* As ps_set_jsgf_string() does, which forgets to give up what it parsed. */
static int set_jsgf(ps_decoder_t *d, const char *text)
{
    jsgf_t *jsgf = jsgf_parse_string(text, NULL);
    jsgf_rule_t *rule = jsgf != NULL ? jsgf_get_public_rule(jsgf) : NULL;
    fsg_model_t *fsg =
        rule != NULL
            ? jsgf_build_fsg(jsgf, rule, ps_get_logmath(d),
                             (float32)cmd_ln_float_r(ps_get_config(d), "-lw"))
            : NULL;
    int failed = fsg == NULL || ps_set_fsg(d, grammar, fsg) != 0;

    if (fsg != NULL)
        fsg_model_free(fsg);
    if (jsgf != NULL)
        jsgf_grammar_free(jsgf);
    return failed;
}

/* Another one than it has. */
static mortise_status change_grammar(struct session *s, struct recogniser *r,
                                     struct bytes *text)
{
    if (r->grammar.n > 0) {
        ps_set_search(r->decoder, open_model);
        ps_unset_search(r->decoder, grammar);
    }
    bytes_free(&r->grammar);
    if (set_jsgf(r->decoder, text->p))
        return no(s, &voice_invalid,
                  "args: the grammar is not valid JSGF, or has words that are "
                  "not in pocketsphinx's dictionary");
    r->grammar = *text;
    *text = (struct bytes){NULL, 0, 0};
    return MORTISE_S_OK;
}

static int is_bound(const struct session *s)
{
    return mortise_jv_type(s->wish.phrases) != MORTISE_JV_NONE ||
           s->wish.grammar.n > 0;
}

static mortise_status set_grammar(struct session *s, struct recogniser *r)
{
    struct bytes text = {0};
    mortise_status status;

    if (!is_bound(s))
        return MORTISE_S_OK;
    status = s->wish.grammar.n > 0 ? put_grammar(s, &text)
                                   : put_phrases(s, r->decoder, &text);
    if (status == MORTISE_S_OK &&
        (text.n != r->grammar.n || memcmp(text.p, r->grammar.p, text.n) != 0))
        status = change_grammar(s, r, &text);
    bytes_free(&text);
    return status;
}

/* ---- hearing --------------------------------------------------------------- */

/* The text, lent by the decoder, and its score a frame; "": none. */
static const char *decode(ps_decoder_t *d, const char *search,
                          const struct pcm *pcm, double *score)
{
    const char *text = NULL;
    int32 sum = 0;
    int frames;

    *score = 0;
    if (ps_set_search(d, search) != 0 || ps_start_utt(d) < 0)
        return "";
    if (ps_process_raw(d, pcm->p, pcm->n, FALSE, TRUE) >= 0 && /* (3) */
        ps_end_utt(d) >= 0)
        text = ps_get_hyp(d, &sum);
    frames = ps_get_n_frames(d);
    if (text == NULL || *text == '\0' || frames <= 0)
        return "";
    *score = (double)sum / frames;
    return text;
}

/* (1), of what the open model heard, which is in `text` and has that score: in its
 * place the phrase, or nothing. */
static mortise_status hear_bound(struct session *s, struct recogniser *r,
                                 const struct pcm *pcm, double open_score,
                                 struct bytes *text)
{
    mortise_status status = set_grammar(s, r);
    const char *phrase;
    double score;

    if (status != MORTISE_S_OK)
        return status;
    phrase = decode(r->decoder, grammar, pcm, &score);
    if (*phrase != '\0' && score < open_score + MARGIN &&
        !words_have(bytes_str(text), mortise_strz(phrase)))
        phrase = "";
    bytes_free(text);
    return bytes_put(text, mortise_strz(phrase)) == MORTISE_S_OK ? MORTISE_S_OK
                                                                 : no_mem(s);
}

static mortise_status hear(struct session *s, struct recogniser *r,
                           const struct pcm *pcm, struct bytes *text)
{
    double score;
    const char *heard = decode(r->decoder, open_model, pcm, &score);

    if (*heard == '\0') /* (2) */
        return MORTISE_S_OK;
    if (bytes_put(text, mortise_strz(heard)) != MORTISE_S_OK)
        return no_mem(s);
    return is_bound(s) ? hear_bound(s, r, pcm, score, text) : MORTISE_S_OK;
}

mortise_status sphinx_hear(struct session *s, const struct pcm *pcm,
                           struct bytes *text)
{
    struct recogniser *r;
    mortise_status status = take(s, &r);

    if (status != MORTISE_S_OK)
        return status;
    status = hear(s, r, pcm, text);
    give_back(s, r);
    return status;
}

mortise_status sphinx_check(struct session *s)
{
    struct recogniser *r;
    mortise_status status = take(s, &r);

    if (status != MORTISE_S_OK)
        return status;
    status = set_grammar(s, r);
    give_back(s, r);
    return status;
}
