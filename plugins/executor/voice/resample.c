/* resample.c -- sound of another rate, in the one that the plugin has.
 *
 * Of more samples each new one is the mean of the time that it stands for, which takes
 * off most of what the new rate has no room for; between fewer it is a straight line.
 * That is enough for speech.  (Flite's own resampler copies memory onto itself.) */
#include "voice.h"

/* The mean of the k-th of RATE parts a second; a sample of the old rate lasts RATE, and
 * one of the new `rate`. */
static int16_t mean(const struct pcm *pcm, uint64_t k, uint64_t rate)
{
    const uint64_t from = k * rate, to = from + rate;
    int64_t sum = 0;

    for (uint64_t i = from / RATE; i < pcm->n && i * RATE < to; i++) {
        const uint64_t begins = i * RATE > from ? i * RATE : from;
        const uint64_t ends = (i + 1) * RATE < to ? (i + 1) * RATE : to;

        sum += pcm->p[i] * (int64_t)(ends - begins);
    }
    return (int16_t)(sum / (int64_t)rate);
}

static int16_t between(const struct pcm *pcm, uint64_t k, uint64_t rate)
{
    const uint64_t i = k * rate / RATE;
    const int64_t part = (int64_t)(k * rate % RATE);
    const int64_t next = i + 1 < pcm->n ? pcm->p[i + 1] : pcm->p[i];

    return (int16_t)((pcm->p[i] * (RATE - part) + next * part) / RATE);
}

mortise_status sound_resample(struct session *s, struct pcm *pcm, uint32_t rate)
{
    static const uint32_t taken[] = {8000,  11025, 12000, 16000, 22050,
                                     24000, 32000, 44100, 48000};
    struct pcm out = {NULL, 0, 0};
    size_t i = 0, n;

    while (i < sizeof taken / sizeof taken[0] && taken[i] != rate)
        i++;
    if (i == sizeof taken / sizeof taken[0])
        return no(s, &voice_bad_audio,
                  "it has %u samples a second, but must have 8000, 11025, "
                  "12000, 16000, 22050, 24000, 32000, 44100 or 48000",
                  (unsigned)rate);
    if (rate == RATE || pcm->n == 0)
        return MORTISE_S_OK;
    n = (size_t)((uint64_t)pcm->n * RATE / rate);
    if (pcm_room(&out, n) != MORTISE_S_OK)
        return no_mem(s);
    for (; out.n < n; out.n++)
        out.p[out.n] =
            rate > RATE ? mean(pcm, out.n, rate) : between(pcm, out.n, rate);
    pcm_free(pcm);
    *pcm = out;
    return MORTISE_S_OK;
}
