/* endpoint.h -- is somebody speaking, and has he finished? */
#ifndef VOICE_ENDPOINT_H
#define VOICE_ENDPOINT_H

#include "pcm.h"

/* Whether a frame has a voice in it. */
struct vad {
    double floor; /* dB of what is there anyway; 0: nothing heard yet */
    int on;       /* the frame before had one */
};

/* [any]: a function of the frames that it was given. */
int vad_hears(struct vad *v, const int16_t frame[FRAME]);

/* Where an utterance begins and where it may end. */
struct endpoint {
    struct vad vad;
    int64_t voiced_ms; /* in a row, before it began */
    int64_t spoken_ms; /* of voice, since it did; 0: it did not */
    int64_t silent_ms; /* since the last voice in it */
};

enum {
    BEGINS_MS = 60,     /* of voice in a row: shorter is a click */
    PAUSE_MS = 600,     /* of silence: it may be over */
    PATIENCE_MS = 1800, /* ... it is, whatever else speaks against it */
    MIN_SPOKEN_MS = 100 /* of voice in all: shorter is nobody's word */
};

/* The next frame.  Once it began, until endpoint_reset(). */
void endpoint_feed(struct endpoint *e, const int16_t frame[FRAME]);
static inline int endpoint_has_begun(const struct endpoint *e)
{
    return e->spoken_ms > 0;
}
/* For the next utterance; what was learnt about the noise stays. */
void endpoint_reset(struct endpoint *e);

#endif
