/* pcm.h -- samples on the heap that grow: signed 16 bits, one channel.
 *
 * Inside of the plugin sound has one form, RATE samples a second; it comes and
 * goes in frames of 20 ms.  What fails leaves the samples as they were.
 *
 * Threads    No state but its own.
 */
#ifndef VOICE_PCM_H
#define VOICE_PCM_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <mortise/plugin.h>

enum { RATE = 16000, FRAME_MS = 20, FRAME = RATE / 1000 * FRAME_MS };

struct pcm {
    int16_t *p; /* malloc()ed; NULL: none yet */
    size_t n, cap;
};

static inline void pcm_free(struct pcm *s)
{
    free(s->p);
    *s = (struct pcm){NULL, 0, 0};
}

/* Room for n samples more. */
static inline mortise_status pcm_room(struct pcm *s, size_t n)
{
    size_t cap = 2 * s->cap > s->n + n ? 2 * s->cap : s->n + n;
    int16_t *p;

    if (n <= s->cap - s->n)
        return MORTISE_S_OK;
    p = (int16_t *)realloc(s->p, cap * sizeof *p);
    if (p == NULL)
        return MORTISE_S_NOMEM;
    s->p = p;
    s->cap = cap;
    return MORTISE_S_OK;
}

static inline mortise_status pcm_put(struct pcm *s, const int16_t *p, size_t n)
{
    mortise_status status = pcm_room(s, n);

    if (status == MORTISE_S_OK && n > 0) {
        memcpy(s->p + s->n, p, n * sizeof *p);
        s->n += n;
    }
    return status;
}

/* Give up all but the last n. */
static inline void pcm_keep_last(struct pcm *s, size_t n)
{
    if (s->n > n) {
        memmove(s->p, s->p + s->n - n, n * sizeof *s->p);
        s->n = n;
    }
}

static inline int64_t pcm_ms(size_t n)
{
    return (int64_t)(n / (RATE / 1000));
}

#endif
