/* wav.c -- RIFF/WAVE, read and written.
 *
 * A file is a list of chunks: a name of four letters, a length of four bytes,
 * little-endian as all of it, and so many bytes, with one more behind an odd
 * number.  Of them `fmt ` says how the samples stand, and `data` has them; all
 * others are passed over.
 *
 *   (1) Whatever the bytes are, none outside of them is read: every length is
 *       compared with what is left before it is used, and none is added up.
 *   (2) A length that says more than there is makes the file wrong, and not
 *       shorter: what is cut is not taken for the whole.  But for who streams:
 *       servers write the head before they know the length, as 0, 0xffffffff or
 *       whatever their library does.
 *   (3) PCM alone, of 8 (unsigned), 16, 24 or 32 bits.  What else a file may
 *       have (A-law, floats) is told by its name, with what can be done.
 *   (4) The length of RIFF itself says nothing that the chunks do not, and is
 *       wrong in many files: it is not looked at.
 *
 * Pure functions: no file is opened here. */
#include "wav.h"

#include <stdio.h>

enum {
    FORMAT_PCM = 1,
    FORMAT_EXTENSIBLE = 0xfffe,
    FMT_MIN = 16, /* bytes of `fmt ` that all have */
    FMT_EXTENSIBLE =
        40, /* ... that those have whose format stands at its end */
    CHANNELS_MAX = 8
};

static unsigned le16(const unsigned char *p)
{
    return (unsigned)p[0] | (unsigned)p[1] << 8;
}

static uint32_t le32(const unsigned char *p)
{
    return (uint32_t)le16(p) | (uint32_t)le16(p + 2) << 16;
}

static int is_named(const unsigned char *p, const char *name)
{
    return memcmp(p, name, 4) == 0;
}

static int refuse(char why[WAV_WHY], const char *words)
{
    snprintf(why, WAV_WHY, "%s", words);
    return 0;
}

/* (3) */
static int refuse_format(char why[WAV_WHY], unsigned format)
{
    static const struct {
        unsigned format;
        const char *name;
    } known[] = {{2, "ADPCM"},
                 {3, "floating point"},
                 {6, "A-law"},
                 {7, "mu-law"},
                 {0x55, "MP3"}};
    const char *name = "in an unknown format";

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].format == format)
            name = known[i].name;
    snprintf(why, WAV_WHY,
             "its samples are %s (format %u); convert them to PCM with 16 bits",
             name, format);
    return 0;
}

static int read_format(struct wav *w, const unsigned char *p, size_t n,
                       char why[WAV_WHY])
{
    unsigned format, block;

    if (n < FMT_MIN)
        return refuse(why, "its chunk `fmt ` is truncated");
    format = le16(p);
    if (format == FORMAT_EXTENSIBLE && n >= FMT_EXTENSIBLE)
        format = le16(p + 24); /* how the GUID of it begins */
    if (format != FORMAT_PCM)
        return refuse_format(why, format);
    w->channels = le16(p + 2);
    w->rate = le32(p + 4);
    block = le16(p + 12);
    w->bits = le16(p + 14);
    if (w->channels < 1 || w->channels > CHANNELS_MAX) {
        snprintf(why, WAV_WHY, "it has %u channels, but must have 1 to %d",
                 w->channels, CHANNELS_MAX);
        return 0;
    }
    if (w->bits % 8 != 0 || w->bits < 8 || w->bits > 32) {
        snprintf(why, WAV_WHY,
                 "its samples have %u bits, but must have 8, 16, 24 or 32",
                 w->bits);
        return 0;
    }
    if (block != w->channels * (w->bits / 8)) {
        snprintf(why, WAV_WHY,
                 "its header has a wrong block size: %u channels of %u bits in "
                 "%u bytes",
                 w->channels, w->bits, block);
        return 0;
    }
    return 1;
}

static int read_data(struct wav *w, const unsigned char *p, size_t n,
                     char why[WAV_WHY])
{
    const size_t block = (size_t)w->channels * (w->bits / 8);

    if (w->bits == 0)
        return refuse(why, "its samples come before their format (`fmt `)");
    w->p = p;
    w->n = n / block * block;
    return 1;
}

int wav_read(struct wav *out, const void *bytes, size_t n, int streamed,
             char why[WAV_WHY])
{
    const unsigned char *p = (const unsigned char *)bytes;
    size_t at = 12;

    *out = (struct wav){.p = NULL};
    if (n < 12 || !is_named(p, "RIFF") || !is_named(p + 8, "WAVE"))
        return refuse(why, "it is not a WAV file");
    while (n - at >= 8) {
        const unsigned char *chunk = p + at;
        const size_t left = n - at - 8;
        const int is_data = is_named(chunk, "data");
        size_t size = le32(chunk + 4);

        if (streamed && is_data && (size == 0 || size > left))
            size = left;
        if (size > left) { /* (2) */
            snprintf(why, WAV_WHY,
                     "its chunk at byte %zu has %zu bytes in the header, but "
                     "only %zu in the file; the file is truncated or damaged",
                     at, size, left);
            return 0;
        }
        if (is_data)
            return read_data(out, chunk + 8, size, why);
        if (is_named(chunk, "fmt ") && !read_format(out, chunk + 8, size, why))
            return 0;
        at += 8 + size;
        at += size % 2 != 0 && at < n;
    }
    return refuse(why, "it has no samples (no chunk `data`)");
}

int wav_read_raw(struct wav *out, const void *p, size_t n, char why[WAV_WHY])
{
    *out =
        (struct wav){.rate = RATE, .channels = 1, .bits = 16, .p = p, .n = n};
    return n % 2 == 0 || refuse(why, "it ends in the middle of a sample");
}

/* The top 16 bits of one. */
static int sample(const unsigned char *p, unsigned bits)
{
    const unsigned char *top = p + bits / 8 - 2;

    return bits == 8 ? (p[0] - 128) * 256 : (int16_t)(uint16_t)le16(top);
}

mortise_status wav_decode(const struct wav *w, struct pcm *to)
{
    const size_t bytes = w->bits / 8, block = bytes * w->channels;
    mortise_status status = pcm_room(to, w->n / block);

    if (status != MORTISE_S_OK)
        return status;
    for (size_t at = 0; at < w->n; at += block) {
        int sum = 0;

        for (size_t c = 0; c < w->channels; c++)
            sum += sample(w->p + at + c * bytes, w->bits);
        to->p[to->n++] = (int16_t)(sum / (int)w->channels);
    }
    return MORTISE_S_OK;
}

static void put32(unsigned char *to, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        to[i] = (unsigned char)(v >> 8 * i);
}

void wav_head(unsigned char head[WAV_HEAD], size_t samples)
{
    static const unsigned char like[WAV_HEAD] = {
        'R', 'I', 'F', 'F', 0, 0, 0,  0, 'W', 'A', 'V', 'E', 'f', 'm',
        't', ' ', 16,  0,   0, 0, 1,  0, 1,   0,   0,   0,   0,   0,
        0,   0,   0,   0,   2, 0, 16, 0, 'd', 'a', 't', 'a'};

    memcpy(head, like, WAV_HEAD);
    put32(head + 4, (uint32_t)(WAV_HEAD - 8 + 2 * samples));
    put32(head + 24, RATE);
    put32(head + 28, 2 * RATE);
    put32(head + 40, (uint32_t)(2 * samples));
}

void wav_encode(unsigned char *to, const int16_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        to[2 * i] = (unsigned char)((uint16_t)p[i] & 0xff);
        to[2 * i + 1] = (unsigned char)((uint16_t)p[i] >> 8);
    }
}
