/* flite.c -- text to speech by Flite, in this process.
 *
 * Its voices are tables that are registered once and never changed; that its
 * functions may be called from several threads at once is said nowhere, so they
 * are called by one at a time.  A sentence takes milliseconds.
 *
 * Its filter also brings sound of another rate to ours. */
#include "voice.h"

#include <flite/flite.h>

/* No header of its has them. */
cst_voice *register_cmu_us_rms(const char *directory);
cst_voice *register_cmu_us_slt(const char *directory);
cst_voice *register_cmu_us_awb(const char *directory);

static const struct {
    const char *name;
    cst_voice *(*make)(const char *directory);
} voices[] = {{"rms", register_cmu_us_rms},
              {"slt", register_cmu_us_slt},
              {"awb", register_cmu_us_awb}};
enum { N_VOICES = sizeof voices / sizeof voices[0] };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all of Flite */
static cst_voice *made[N_VOICES];

/* "": the first. */
static int find(const char *name)
{
    for (int i = 0; i < N_VOICES; i++)
        if (*name == '\0' || strcmp(name, voices[i].name) == 0)
            return i;
    return -1;
}

int flite_has(const char *voice)
{
    return find(voice) >= 0;
}

static cst_wave *synthesize(const char *text, int voice)
{
    cst_wave *w;

    pthread_mutex_lock(&lock);
    if (made[voice] == NULL) {
        flite_init(); /* more than once does no harm */
        made[voice] = voices[voice].make(NULL);
    }
    w = made[voice] != NULL ? flite_text_to_wave(text, made[voice]) : NULL;
    pthread_mutex_unlock(&lock);
    return w;
}

mortise_status flite_speak(struct session *s, mortise_str text, struct pcm *to)
{
    char *copy = strndup(text.p, text.n);
    cst_wave *w = copy != NULL ? synthesize(copy, find(s->wish.voice.p)) : NULL;
    struct pcm pcm = {NULL, 0, 0};
    mortise_status status;

    free(copy);
    if (w == NULL)
        return no_mem(s);
    status = pcm_put(&pcm, w->samples, (size_t)w->num_samples);
    if (status == MORTISE_S_OK)
        status = sound_resample(s, &pcm, (uint32_t)w->sample_rate);
    if (status == MORTISE_S_OK)
        status = pcm_put(to, pcm.p, pcm.n);
    delete_wave(w);
    pcm_free(&pcm);
    return status == MORTISE_S_NOMEM ? no_mem(s) : status;
}

/* ---- rates ----------------------------------------------------------------- */
