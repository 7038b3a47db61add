/* endpoint.c -- is somebody speaking?  By loudness alone.
 *
 * A frame's loudness is its mean square in dB below full scale.  It has a voice
 * where it is ABOVE dB louder than the noise floor, and no quieter than QUIET.
 *
 *   (1) The floor follows what is heard between words: down quickly, so that a
 *       pause shows it, and up slowly, so that a word does not become it.  While
 *       there is a voice it rises more slowly still; but it does rise, or a fan
 *       that was switched on would be a voice for ever.
 *   (2) What began goes on with STAYS dB above the floor: the end of a word is
 *       quieter than its beginning.
 *   (3) The first frame sets the floor, unless it is louder than FIRST: who
 *       speaks at once is heard from his first word.  The price is paid in a loud
 *       place: its noise begins as a voice, which comes to an end by (1), and to
 *       no words.
 *   (4) The same frames give the same answers: there is no clock here.
 */
#include "endpoint.h"

#include <math.h>

#define QUIET    (-60.0)
#define FIRST    (-50.0)
#define ABOVE    12.0
#define STAYS    8.0
#define FALLS    0.5    /* of the distance, a frame */
#define RISES    0.02   /* likewise, without a voice */
#define RISES_IN 0.0015 /* ... with one: 20 dB in about half a minute */
#define LEAST    1e-9   /* of the mean square: digital silence is -90 dB */

static double loudness(const int16_t frame[FRAME])
{
    double sum = 0, mean = 0;

    for (int i = 0; i < FRAME; i++)
        mean += frame[i];
    mean /= FRAME; /* a constant is no sound */
    for (int i = 0; i < FRAME; i++)
        sum += (frame[i] - mean) * (frame[i] - mean);
    sum /= FRAME * 32768.0 * 32768.0;
    return 10 * log10(sum > LEAST ? sum : LEAST);
}

int vad_hears(struct vad *v, const int16_t frame[FRAME])
{
    const double db = loudness(frame);

    if (v->floor == 0)
        v->floor = db < FIRST ? db : FIRST; /* (3) */
    v->on = db > QUIET && db > v->floor + (v->on ? STAYS : ABOVE);
    v->floor += (db - v->floor) * (db < v->floor ? FALLS
                                   : v->on       ? RISES_IN
                                                 : RISES);
    return v->on;
}

static void feed_before(struct endpoint *e, int voiced)
{
    e->voiced_ms = voiced ? e->voiced_ms + FRAME_MS : 0;
    if (e->voiced_ms >= BEGINS_MS)
        e->spoken_ms = e->voiced_ms;
}

void endpoint_feed(struct endpoint *e, const int16_t frame[FRAME])
{
    const int voiced = vad_hears(&e->vad, frame);

    if (!endpoint_has_begun(e)) {
        feed_before(e, voiced);
        return;
    }
    e->spoken_ms += voiced ? FRAME_MS : 0;
    e->silent_ms = voiced ? 0 : e->silent_ms + FRAME_MS;
}

void endpoint_reset(struct endpoint *e)
{
    e->voiced_ms = e->spoken_ms = e->silent_ms = 0;
}
