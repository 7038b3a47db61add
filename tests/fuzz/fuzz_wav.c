/* fuzz_wav.c -- arbitrary bytes as WAV, as a file and as a stream: what is read
 * lies within them, in whole samples, and becomes as many. */
#include <stdlib.h>

#include "../../plugins/executor/voice/wav.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
    if (!holds)
        abort();
}

static void try_as(const uint8_t *data, size_t size, int streamed)
{
    char why[WAV_WHY] = "";
    struct pcm pcm = {NULL, 0, 0};
    struct wav w;

    if (!wav_read(&w, data, size, streamed, why)) {
        must(why[0] != '\0');
        return;
    }
    must(w.p >= data && w.n <= size - (size_t)(w.p - data));
    must(w.n % (w.channels * (w.bits / 8)) == 0);
    must(wav_decode(&w, &pcm) == MORTISE_S_OK);
    must(pcm.n == w.n / (w.channels * (w.bits / 8)));
    pcm_free(&pcm);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_as(data, size, 0);
    try_as(data, size, 1);
    return 0;
}
