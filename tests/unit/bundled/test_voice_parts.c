/* test_voice_parts.c -- what the voice plugin is made of, and needs no host: WAV
 * as others write it, where an utterance begins and ends, and words. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../../plugins/executor/voice/endpoint.h"
#include "../../../plugins/executor/voice/wav.h"
#include "../../../plugins/executor/voice/words.h"
#include "lib/test.h"

/* ---- WAV ------------------------------------------------------------------- */

static unsigned char file[4096];
static size_t n_file;

static void put(const void *p, size_t n)
{
    memcpy(file + n_file, p, n);
    n_file += n;
}

static void put_le(uint64_t v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        file[n_file++] = (unsigned char)(v >> 8 * i);
}

static void chunk(const char *name, uint32_t size)
{
    put(name, 4);
    put_le(size, 4);
}

/* A file up to its samples. */
static void head(unsigned format, unsigned channels, uint32_t rate,
                 unsigned bits)
{
    const unsigned block = channels * bits / 8;

    n_file = 0;
    put("RIFF\xff\xff\xff\xffWAVE", 12); /* its length says nothing */
    chunk("fmt ", 16);
    put_le(format, 2);
    put_le(channels, 2);
    put_le(rate, 4);
    put_le(rate * block, 4);
    put_le(block, 2);
    put_le(bits, 2);
}

static struct pcm pcm;
static char why[WAV_WHY];

static void decodes(const int *want, size_t n)
{
    struct wav w;

    ck_assert_msg(wav_read(&w, file, n_file, 0, why), "%s", why);
    pcm_free(&pcm);
    ck_assert_int_eq(wav_decode(&w, &pcm), MORTISE_S_OK);
    ck_assert_uint_eq(pcm.n, n);
    for (size_t i = 0; i < n; i++)
        ck_assert_int_eq(pcm.p[i], want[i]);
    pcm_free(&pcm);
}

static void refuses(const char *words)
{
    struct wav w;

    ck_assert(!wav_read(&w, file, n_file, 0, why));
    ck_assert_msg(strstr(why, words) != NULL, "%s", why);
}

/* 8 bits are unsigned, others are not; the top 16 of them count. */
START_TEST(all_widths_are_read)
{
    static const int want[] = {-32768, 0, 16384};

    head(1, 1, 16000, 8);
    chunk("data", 3);
    put("\x00\x80\xc0", 3);
    decodes(want, 3);
    head(1, 1, 16000, 16);
    chunk("data", 6);
    put("\x00\x80\x00\x00\x00\x40", 6);
    decodes(want, 3);
    head(1, 1, 16000, 24);
    chunk("data", 9);
    put("\xff\x00\x80\x00\x00\x00\xff\x00\x40", 9);
    decodes(want, 3);
    head(1, 1, 16000, 32);
    chunk("data", 12);
    put("\xff\xff\x00\x80\x00\x00\x00\x00\xff\xff\x00\x40", 12);
    decodes(want, 3);
}
END_TEST

/* Channels are mixed; half a sample of all of them is none. */
START_TEST(channels_are_mixed)
{
    static const int want[] = {150, -50};

    head(1, 2, 8000, 16);
    chunk("data", 10);
    put_le(100, 2);
    put_le(200, 2);
    put_le((uint16_t)-100, 2);
    put_le(0, 2);
    put_le(77, 2); /* of the left alone */
    decodes(want, 2);
}
END_TEST

/* Chunks that we do not know are passed over, odd ones with the byte behind
 * them. */
START_TEST(other_chunks_are_passed_over)
{
    static const int want[] = {7};

    head(1, 1, 16000, 16);
    chunk("LIST", 3);
    put("abc\0", 4);
    chunk("fact", 0);
    chunk("data", 2);
    put_le(7, 2);
    chunk("junk", 0xffffffff); /* behind the samples nothing is looked at */
    decodes(want, 1);
}
END_TEST

/* What a format is that we do not take, is said. */
START_TEST(other_formats_are_refused)
{
    head(3, 1, 16000, 32);
    refuses("floating point");
    head(6, 1, 8000, 8);
    refuses("A-law");
    head(7, 1, 8000, 8);
    refuses("mu-law");
    head(0x1234, 1, 8000, 8);
    refuses("format 4660");
    head(1, 0, 16000, 16);
    refuses("0 channels");
    head(1, 9, 16000, 16);
    refuses("9 channels");
    head(1, 1, 16000, 12);
    refuses("12 bits");
    head(1, 1, 16000, 0);
    refuses("0 bits");
    head(1, 1, 16000, 16);
    file[32] = 3; /* of a block */
    refuses("in 3 bytes");
}
END_TEST

/* One whose format stands in a GUID is read by how that begins. */
START_TEST(extensible_formats_are_read)
{
    static const int want[] = {9};

    for (unsigned format = 1; format < 4; format += 2) {
        head(0xfffe, 1, 16000, 16);
        file[16] = 40; /* the length of `fmt ` */
        put_le(22, 2);
        put_le(16, 2);
        put_le(4, 4);
        put_le(format, 2);
        put("\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71", 14);
        chunk("data", 2);
        put_le(9, 2);
        if (format == 1)
            decodes(want, 1);
        else
            refuses("floating point");
    }
}
END_TEST

/* Whoever says more than there is, is not believed; but for a stream, whose end
 * is the end. */
START_TEST(lengths_that_lie_are_refused)
{
    static const uint32_t lies[] = {3, 5, 0x7fffffff, 0xfffffff0, 0xffffffff};
    struct wav w;

    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        head(1, 1, 16000, 16);
        chunk("data", lies[i]);
        put_le(1, 2);
        refuses("is truncated or damaged");
        ck_assert_msg(wav_read(&w, file, n_file, 1, why), "%s", why);
        ck_assert_uint_eq(w.n, 2);
        head(1, 1, 16000, 16);
        chunk("LIST", lies[i]);
        put_le(1, 2);
        refuses("is truncated or damaged");
        ck_assert(!wav_read(&w, file, n_file, 1, why));
    }
    head(1, 1, 16000, 16);
    chunk("data", 0);
    put_le(1, 2);
    decodes(NULL, 0);
    ck_assert(wav_read(&w, file, n_file, 1, why));
    ck_assert_uint_eq(w.n, 2);
}
END_TEST

/* What is no WAV, or is one without samples, is told so: cut anywhere. */
START_TEST(what_is_none_is_refused)
{
    static const char text[] = "hello, I am no sound at all, but a text file";
    struct wav w;
    size_t whole;

    ck_assert(!wav_read(&w, text, sizeof text, 0, why));
    ck_assert_str_eq(why, "it is not a WAV file");
    ck_assert(!wav_read(&w, NULL, 0, 0, why));
    head(1, 1, 16000, 16);
    refuses("no samples");
    chunk("data", 2);
    put_le(1, 2);
    whole = n_file;
    for (n_file = 0; n_file < whole; n_file++)
        ck_assert(!wav_read(&w, file, n_file, 0, why));
    n_file = 0;
    put("RIFF\0\0\0\0WAVE", 12);
    chunk("data", 2);
    put_le(1, 2);
    refuses("before their format");
    ck_assert(!wav_read_raw(&w, "abc", 3, why));
    ck_assert_str_eq(why, "it ends in the middle of a sample");
}
END_TEST

/* What we write we read. */
START_TEST(what_is_written_is_read)
{
    static const int16_t samples[] = {0, 1, -1, 32767, -32768};
    static const int want[] = {0, 1, -1, 32767, -32768};

    wav_head(file, 5);
    wav_encode(file + WAV_HEAD, samples, 5);
    n_file = WAV_HEAD + 10;
    ck_assert_uint_eq(file[4] | (unsigned)file[5] << 8, n_file - 8);
    decodes(want, 5);
}
END_TEST

/* ---- endpointing ----------------------------------------------------------- */

static struct endpoint e;

/* So many milliseconds of noise of that many dB below full scale, with a tone of
 * that in it (0: none). */
static void sound(int ms, double noise, double tone)
{
    static uint32_t seed = 1;
    int16_t frame[FRAME];

    for (int t = 0; t < ms; t += FRAME_MS) {
        for (int i = 0; i < FRAME; i++) {
            double v;

            seed = seed * 1664525 + 1013904223;
            v = ((seed >> 8) / 8388608.0 - 1) * sqrt(3) * pow(10, noise / 20) *
                32768;
            if (tone != 0)
                v += sin(i * 0.3) * sqrt(2) * pow(10, tone / 20) * 32768;
            frame[i] = (int16_t)(v > 32767 ? 32767 : v < -32768 ? -32768 : v);
        }
        endpoint_feed(&e, frame);
    }
}

static void begin(void)
{
    e = (struct endpoint){.silent_ms = 0};
}

/* It begins with the third frame in a row, and a click is none. */
START_TEST(words_begin_and_clicks_do_not)
{
    begin();
    sound(1000, -70, 0);
    sound(40, -70, -20);
    sound(500, -70, 0);
    ck_assert(!endpoint_has_begun(&e));
    sound(60, -70, -20);
    ck_assert(endpoint_has_begun(&e));
    ck_assert_int_eq(e.spoken_ms, 60);
    sound(140, -70, -20);
    ck_assert_int_eq(e.spoken_ms, 200);
    ck_assert_int_eq(e.silent_ms, 0);
    sound(PAUSE_MS, -70, 0);
    ck_assert_int_ge(e.silent_ms, PAUSE_MS - FRAME_MS);
    endpoint_reset(&e);
    ck_assert(!endpoint_has_begun(&e));
}
END_TEST

/* Who speaks at once is heard; and so is who speaks in a loud place, once that was
 * taken for a voice and came to nothing. */
START_TEST(the_floor_is_that_of_the_place)
{
    begin();
    sound(100, -70, -20);
    ck_assert(endpoint_has_begun(&e));
    begin();
    sound(12000, -35, 0);
    ck_assert_int_ge(e.silent_ms, PAUSE_MS);
    endpoint_reset(&e);
    sound(3000, -35, 0);
    ck_assert(!endpoint_has_begun(&e));
    sound(100, -35, -15);
    ck_assert(endpoint_has_begun(&e));
    sound(700, -35, 0);
    ck_assert_int_ge(e.silent_ms, PAUSE_MS);
}
END_TEST

/* A noise that begins and stays becomes the floor, within a minute; and in the
 * quiet behind it a word is heard again at once. */
START_TEST(a_fan_is_no_voice_for_ever)
{
    begin();
    sound(1000, -70, 0);
    sound(60000, -40, 0);
    ck_assert_int_ge(e.silent_ms, 1000);
    endpoint_reset(&e);
    sound(500, -70, 0);
    sound(100, -70, -45);
    ck_assert(endpoint_has_begun(&e));
}
END_TEST

/* Silence, and a voltage that never changes, have no voice in them. */
START_TEST(nothing_is_heard_in_nothing)
{
    int16_t frame[FRAME] = {0};

    begin();
    for (int i = 0; i < 100; i++)
        endpoint_feed(&e, frame);
    ck_assert(!endpoint_has_begun(&e));
    for (int i = 0; i < FRAME; i++)
        frame[i] = 20000;
    for (int i = 0; i < 100; i++)
        endpoint_feed(&e, frame);
    ck_assert(!endpoint_has_begun(&e));
}
END_TEST

/* ---- words ----------------------------------------------------------------- */

static mortise_str str(const char *s)
{
    return (mortise_str){s, strlen(s)};
}

static const struct {
    const char *text, *phrase;
    int found;
} phrases[] = {
    {"my bill is wrong", "bill", 1},
    {"my billing is wrong", "bill", 0},
    {"Good-bye, then!", "good bye", 1},
    {"goodbye", "good bye", 1},
    {"good bye", "goodbye", 1},
    {"a good buy", "good bye", 0},
    {"so it is GOOD", "Good", 1},
    {"I don't know", "don't", 1},
    {"I don't know", "don", 0},
    {"the end", "the end of it", 0},
    {"", "x", 0},
    {"anything", "", 0},
    {"anything", " - ", 0},
    {"gr\xc3\xbc\xc3\x9f gott", "gr\xc3\xbc\xc3\x9f gott", 1},
};

START_TEST(phrases_are_whole_words)
{
    ck_assert_int_eq(words_have(str(phrases[_i].text), str(phrases[_i].phrase)),
                     phrases[_i].found);
}
END_TEST

static const struct {
    const char *text;
    int open;
} sentences[] = {
    {"i would like to", 1},
    {"i would like to order a pizza", 0},
    {"and then the", 1},
    {"Well,", 1},
    {"well", 1},
    {"It is about my bill.", 0},
    {"It is about my.", 0},
    {"so ...", 1},
    {"um", 1},
    {"yes", 0},
    {"what is that?", 0},
    {"", 1},
    {"first of all -", 1},
    {"a and", 1},
};

START_TEST(sentences_may_be_open)
{
    ck_assert_int_eq(words_are_unfinished(str(sentences[_i].text)),
                     sentences[_i].open);
}
END_TEST

/* Pieces end where a sentence does, or a word, or else a character; together
 * they are the text. */
START_TEST(texts_are_said_in_pieces)
{
    ck_assert_uint_eq(words_piece(str("short"), 10), 5);
    ck_assert_uint_eq(words_piece(str("One. Two three. Four"), 17), 15);
    ck_assert_uint_eq(words_piece(str("one two three four"), 10), 7);
    ck_assert_uint_eq(words_piece(str("abcdefghijkl"), 10), 10);
    ck_assert_uint_eq(words_piece(str("aaaaaaaaa\xc3\xbc"
                                      "b"),
                                  10),
                      9);
    ck_assert_uint_eq(words_piece(str(""), 10), 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("voice_parts");
    TCase *tc = tcase_create("wav");

    tcase_add_test(tc, all_widths_are_read);
    tcase_add_test(tc, channels_are_mixed);
    tcase_add_test(tc, other_chunks_are_passed_over);
    tcase_add_test(tc, other_formats_are_refused);
    tcase_add_test(tc, extensible_formats_are_read);
    tcase_add_test(tc, lengths_that_lie_are_refused);
    tcase_add_test(tc, what_is_none_is_refused);
    tcase_add_test(tc, what_is_written_is_read);
    suite_add_tcase(suite, tc);
    tc = tcase_create("endpoint");
    tcase_add_test(tc, words_begin_and_clicks_do_not);
    tcase_add_test(tc, the_floor_is_that_of_the_place);
    tcase_add_test(tc, a_fan_is_no_voice_for_ever);
    tcase_add_test(tc, nothing_is_heard_in_nothing);
    suite_add_tcase(suite, tc);
    tc = tcase_create("words");
    tcase_add_loop_test(tc, phrases_are_whole_words, 0,
                        (int)(sizeof phrases / sizeof phrases[0]));
    tcase_add_loop_test(tc, sentences_may_be_open, 0,
                        (int)(sizeof sentences / sizeof sentences[0]));
    tcase_add_test(tc, texts_are_said_in_pieces);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
