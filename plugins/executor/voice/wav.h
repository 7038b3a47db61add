/* wav.h -- RIFF/WAVE: sound as files and servers have it. */
#ifndef VOICE_WAV_H
#define VOICE_WAV_H

#include "pcm.h"

enum { WAV_HEAD = 44, WAV_WHY = 160 };

struct wav {
    uint32_t rate;           /* samples a second */
    unsigned channels, bits; /* bits of a sample: 8, 16, 24 or 32 */
    const unsigned char *p;  /* lent: the samples as they stand there */
    size_t n;                /* whole ones, of all channels */
};

/* Find the sound in n bytes.  `streamed`: who made it did not know how long it
 * would become, so that a length of 0 or beyond the end means up to the end.
 * False: `why` says what is wrong with it. */
int wav_read(struct wav *out, const void *p, size_t n, int streamed,
             char why[WAV_WHY]);
/* Its samples, channels mixed, in its own rate: added to `to`. */
mortise_status wav_decode(const struct wav *w, struct pcm *to);
/* The same of bytes that are samples and nothing else: 16 bits, little-endian,
 * RATE, one channel; false where there is half a sample. */
int wav_read_raw(struct wav *out, const void *p, size_t n, char why[WAV_WHY]);
/* What stands ahead of so many samples of ours. */
void wav_head(unsigned char head[WAV_HEAD], size_t samples);
/* Samples as they stand behind it. */
void wav_encode(unsigned char *to, const int16_t *p, size_t n);

#endif
