/* test_cli_voice.c -- voice nodes on files, with the real engines: what one node
 * says with Flite, another hears with PocketSphinx.  The models are scripted; the
 * servers are the test's own. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "lib/desk.h"
#include "lib/httpd.h"
#include "lib/matrix.h"
#include "lib/shelf.h"

static struct shelf shelf;

static void sign_plugins(void)
{
    desk_sign();
    shelf_init(&shelf);
    shelf_put(&shelf, "ok_inline");
}

static void forget_plugins(void)
{
    shelf_finish(&shelf);
    desk_unsign();
}

/* A deployment with that in the config of the plugin besides the directory, these
 * replies of the model, and more. */
static void deploy(const char *config, const char *replies, const char *more)
{
    char text[3 * PATH_MAX + 8192];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
             "plugins:\n  path: [\"%s\"]\n"
             "  config: {voice: {directory: audio%s}}\n"
             "trust: {dir: \"%s\"}\nstore: {path: ./store}\n"
             "models:\n  default:\n    provider: scripted\n    model: m\n"
             "    replies:\n%s%s",
             shelf.plugins, config, shelf.trust, replies, more);
    desk_put("mortise.yaml", text);
    desk_ok("mkdir -p audio");
}

#define NO_REPLIES "      []\n"

/* A graph whose node `a` has these keys of `voice`, and others. */
static void graph(const char *name, const char *voice, const char *node)
{
    char text[8192];

    snprintf(text, sizeof text,
             "start: a\nnodes:\n  a:\n    type: voice\n    voice: {%s}\n%s%s",
             voice, node,
             strstr(node, "next:") != NULL || strstr(node, "routes:") != NULL
                 ? ""
                 : "    next: END\n");
    desk_graph(name, text);
}

/* A file of audio/ with that text, spoken. */
static void say(const char *file, const char *text)
{
    char voice[1024];

    snprintf(voice, sizeof voice,
             "mode: speak-only, speak_text: \"%s\", audio_out: %s", text, file);
    graph("say", voice, "");
    desk_ok("$MORTISE run say.yaml");
}

static void run(const char *voice, const char *node)
{
    graph("g", voice, node);
    child_run("$MORTISE run g.yaml --id r");
}

static json_t *shown(void)
{
    json_t *show;

    desk_ok("$MORTISE show r --json");
    show = json_loads(child.out, 0, NULL);
    ck_assert_ptr_nonnull(show);
    return show;
}

/* The output of the node: a new reference. */
static json_t *output(void)
{
    json_t *show = shown(), *out;

    out = json_incref(json_object_get(
        json_object_get(json_object_get(show, "state"), "artifacts"), "a"));
    ck_assert_msg(json_is_object(out), "%s", child.out);
    json_decref(show);
    return out;
}

static const char *text_of(const json_t *v, const char *name)
{
    const char *text = json_string_value(json_object_get(v, name));

    return text != NULL ? text : "";
}

/* It ended so, and that was understood. */
static void heard(const char *reason, const char *text)
{
    json_t *out;

    desk_code(0);
    out = output();
    ck_assert_msg(strcmp(text_of(out, "exit_reason"), reason) == 0 &&
                      strcmp(text_of(out, "text"), text) == 0,
                  "not %s, '%s':\n%s", reason, text, child.out);
    json_decref(out);
}

static void failed(const char *code, const char *words)
{
    json_t *show;
    const json_t *error;

    desk_code(1);
    show = shown();
    error = json_object_get(show, "error");
    ck_assert_msg(strcmp(text_of(error, "code"), code) == 0 &&
                      strstr(text_of(error, "message"), words) != NULL,
                  "not %s, '%s':\n%s", code, words, child.out);
    json_decref(show);
}

/* ---- sound ----------------------------------------------------------------- */

struct sound {
    int16_t p[16000 * 60];
    size_t n;
};
static struct sound sound;

/* The samples of a file of ours, behind what is there. */
static void append(const char *file)
{
    char path[512];
    size_t n;
    char *p;

    snprintf(path, sizeof path, "%.400s/audio/%s", desk_dir, file);
    p = test_read(path, &n);
    ck_assert_uint_ge(n, 44);
    memcpy(sound.p + sound.n, p + 44, n - 44);
    sound.n += (n - 44) / 2;
    free(p);
}

static void silence(int ms)
{
    memset(sound.p + sound.n, 0, (size_t)ms * 16 * sizeof *sound.p);
    sound.n += (size_t)ms * 16;
}

static void noise(int ms)
{
    for (int i = 0; i < ms * 16; i++)
        sound.p[sound.n++] = (int16_t)(rand() % 8000 - 4000);
}

static void put_le(FILE *f, unsigned v, int n)
{
    for (int i = 0; i < n; i++)
        fputc((int)(v >> 8 * i & 0xff), f);
}

/* All of it, each sample `times` in each of the channels, with so many bits. */
static void write_as(const char *file, unsigned times, unsigned channels,
                     unsigned bits)
{
    const unsigned block = channels * bits / 8, rate = 16000 * times;
    char path[512];
    FILE *f;

    snprintf(path, sizeof path, "%.400s/audio/%s", desk_dir, file);
    f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs("RIFF", f);
    put_le(f, (unsigned)sound.n * times * block + 36, 4);
    fputs("WAVEfmt ", f);
    put_le(f, 16, 4);
    put_le(f, 1, 2);
    put_le(f, channels, 2);
    put_le(f, rate, 4);
    put_le(f, rate * block, 4);
    put_le(f, block, 2);
    put_le(f, bits, 2);
    fputs("data", f);
    put_le(f, (unsigned)sound.n * times * block, 4);
    for (size_t i = 0; i < sound.n; i++)
        for (unsigned k = 0; k < times * channels; k++) {
            if (bits == 24)
                fputc(0, f);
            if (bits == 8)
                fputc(sound.p[i] / 256 + 128, f);
            else
                put_le(f, (uint16_t)sound.p[i], 2);
        }
    fclose(f);
}

static void write_sound(const char *file)
{
    write_as(file, 1, 1, 16);
    sound.n = 0;
}

static void begin(void)
{
    desk_begin();
    sound.n = 0;
}

/* ---- listening ------------------------------------------------------------- */

/* What was said decides where the run goes: a sentence that Flite says, and
 * PocketSphinx hears.
 * key: node.type=voice, node.voice, voice.mode=listen-only
 * key: voice.mode=speak-only, voice.audio_in, voice.audio_out
 * key: voice.speak_text, voice.exit_keywords, voice.exit_on=keyword */
START_TEST(a_sentence_routes_by_keyword)
{
    static const char rest[] =
        "    routes:\n"
        "      - {when: \"output.keyword == 'billing'\", to: bill}\n"
        "      - {when: \"output.exit_reason == 'keyword'\", to: mend}\n"
        "    default: END\n"
        "  bill: {type: tool, tool: ok_inline/echo, args: {is: bill}, next: "
        "END}\n"
        "  mend: {type: tool, tool: ok_inline/echo, args: {is: mend}, next: "
        "END}\n";

    deploy("", NO_REPLIES, "");
    say("a.wav", "I have a question about my billing account.");
    run("mode: listen-only, audio_in: a.wav, exit_on: [keyword, hangup], "
        "exit_keywords: [repair, billing]",
        rest);
    heard("keyword", "i have a question about my billing account");
    desk_out("\"bill\": {");
    desk_not_out("\"mend\": {");
    say("b.wav", "my heating is in need of repair");
    graph("g",
          "mode: listen-only, audio_in: b.wav, exit_keywords: [repair, "
          "billing]",
          rest);
    desk_ok("$MORTISE run g.yaml --id r2 && $MORTISE show r2 --json");
    desk_out("\"mend\": {");
}
END_TEST

/* Each pause ends a turn; who has heard so many has done with it.
 * key: voice.max_turns, voice.exit_on=turns-exhausted */
START_TEST(turns_are_counted)
{
    json_t *out;

    deploy("", NO_REPLIES, "");
    say("a.wav", "good morning");
    append("a.wav");
    silence(1000);
    append("a.wav");
    silence(1000);
    append("a.wav");
    write_sound("c.wav");
    run("mode: listen-only, audio_in: c.wav, max_turns: 2, exit_on: "
        "turns-exhausted",
        "");
    heard("turns-exhausted", "good morning good morning");
    out = output();
    ck_assert_int_eq(json_integer_value(json_object_get(out, "turns")), 2);
    ck_assert_uint_eq(json_array_size(json_object_get(out, "transcript")), 2);
    json_decref(out);
    graph("g", "mode: listen-only, audio_in: c.wav", "");
    desk_ok("$MORTISE run g.yaml --id r2 && $MORTISE show r2 --json");
    desk_out("\"exit_reason\": \"completed\"");
    desk_out("\"turns\": 3");
}
END_TEST

/* Silence and noise are no speech, however long; a silence may end it.
 * key: voice.silence_timeout, voice.exit_on=silence-timeout */
START_TEST(what_is_no_speech_is_rejected)
{
    deploy("", NO_REPLIES, "");
    silence(1000);
    noise(1500);
    silence(1500);
    write_sound("n.wav");
    run("mode: listen-only, audio_in: n.wav", "");
    heard("completed", "");
    silence(4000);
    write_sound("s.wav");
    graph("g", "mode: listen-only, audio_in: s.wav, silence_timeout: 2s", "");
    desk_ok("$MORTISE run g.yaml --id r2 && $MORTISE show r2 --json");
    desk_out("\"exit_reason\": \"silence-timeout\"");
    desk_out("\"heard_ms\": 2000");
    graph("g", "mode: listen-only, audio_in: s.wav, exit_on: hangup", "");
    desk_ok("$MORTISE run g.yaml --id r3 && $MORTISE show r3 --json");
    desk_out("\"exit_reason\": \"completed\"");
    desk_out("\"heard_ms\": 4000");
}
END_TEST

/* Where it is said what may be said, anything else is nothing. */
START_TEST(other_phrases_are_rejected)
{
    static const char *const args[] = {
        "    args: {phrases: [Close the garage, turn on the light, my name is "
        "Henry]}\n",
        "    args: {grammar: \"#JSGF V1.0; grammar g; public <g> = (close the "
        "garage) | (turn on the light) | (my name is henry);\"}\n"};

    deploy("", NO_REPLIES, "");
    say("a.wav", "turn on the light");
    append("a.wav");
    silence(1000);
    say("a.wav", "delete all the files");
    append("a.wav");
    silence(1000);
    say("a.wav", "close the windows");
    append("a.wav");
    silence(1000);
    say("a.wav", "close the garage");
    append("a.wav");
    silence(1000);
    say("a.wav", "my name is henry");
    append("a.wav");
    silence(1000);
    noise(1000);
    silence(1000);
    write_sound("c.wav");
    run("mode: listen-only, audio_in: c.wav", args[_i]);
    heard("completed", "turn on the light close the garage my name is henry");
}
END_TEST

static const struct {
    const char *args, *words;
} bad_args[] = {
    {"{phrases: [xyzzy]}", "dictionary has no 'xyzzy'"},
    {"{phrases: [turn 2]}", "'2' is not a word"},
    {"{phrases: [\" \"]}", "a phrase is empty"},
    {"{grammar: \"no grammar\"}", "not valid JSGF"},
    {"{grammar: \"#JSGF V1.0; grammar g; import <x.y>; public <g> = a;\"}",
     "imports"},
    {"{phrases: [a], grammar: b}", "not both"},
};

/* What cannot be heard is said before anybody is heard. */
START_TEST(phrases_are_looked_at)
{
    char node[256];

    deploy("", NO_REPLIES, "");
    silence(100);
    write_sound("s.wav");
    snprintf(node, sizeof node, "    args: %s\n", bad_args[_i].args);
    run("mode: listen-only, audio_in: s.wav", node);
    failed("invalid", bad_args[_i].words);
}
END_TEST

/* Files come with other rates, widths and channels. */
START_TEST(other_files_are_heard)
{
    static const struct {
        unsigned times, channels, bits;
    } as[] = {{1, 2, 16}, {3, 1, 16}, {2, 2, 24}, {1, 1, 8}};

    deploy("", NO_REPLIES, "");
    say("a.wav", "good morning");
    append("a.wav");
    write_as("b.wav", as[_i].times, as[_i].channels, as[_i].bits);
    run("mode: listen-only, audio_in: b.wav", "");
    heard("completed", "good morning");
}
END_TEST

/* Raw samples are the same without a head. */
START_TEST(raw_samples_are_heard)
{
    deploy("", NO_REPLIES, "");
    say("a.raw", "good morning");
    desk_ok("mv audio/a.raw audio/a.pcm");
    run("mode: listen-only, audio_in: a.pcm", "");
    heard("completed", "good morning");
    desk_ok("printf x >>audio/a.pcm");
    graph("g", "mode: listen-only, audio_in: a.pcm", "");
    child_run("$MORTISE run g.yaml");
    desk_code(1);
    desk_out("the middle of a sample");
}
END_TEST

static const struct {
    const char *make, *name, *code, *words;
} bad_files[] = {
    {"", "none.wav", "not_found", "none.wav: No such file"},
    {"echo 'I am no sound at all, but text' >audio/t.wav", "t.wav",
     "voice.audio", "t.wav: it is not a WAV file"},
    {"echo x >audio/t.mp3", "t.mp3", "invalid", "is not an audio file"},
    {"mkdir audio/d.wav", "d.wav", "invalid", "not a regular file"},
    {"mkfifo audio/f.wav", "f.wav", "invalid", "not a regular file"},
    {"echo x >out.wav", "../out.wav", "denied", "out of the plugin's"},
    {"echo x >out.wav; ln -s ../out.wav audio/l.wav", "l.wav", "denied",
     "out of the plugin's"},
    {"", "/etc/passwd.wav", "denied", "out of the plugin's"},
    {"", "unix:/tmp/nobody", "denied", "not in `sockets`"},
    {"printf 'RIFF\\0\\0\\0\\0WAVEfmt "
     "\\020\\0\\0\\0\\1\\0\\1\\0\\1\\0\\0\\0\\2\\0\\0\\0\\2\\0\\020\\0data\\2"
     "\\0\\0\\0ab' >audio/r.wav",
     "r.wav", "voice.audio", "it has 1 samples a second"},
};

/* What is no sound is refused, by what is wrong with it. */
START_TEST(what_is_no_sound_is_refused)
{
    char voice[256];

    deploy("", NO_REPLIES, "");
    desk_ok(":; %s", bad_files[_i].make);
    snprintf(voice, sizeof voice, "mode: listen-only, audio_in: '%s'",
             bad_files[_i].name);
    run(voice, "");
    failed(bad_files[_i].code, bad_files[_i].words);
}
END_TEST

/* ---- endpointing ----------------------------------------------------------- */

/* A pause in the middle of a sentence: who goes by silence alone takes it for
 * two, and who looks at the words waits.
 * key: voice.endpointing */
START_TEST(open_sentences_are_waited_for)
{
    static const struct {
        const char *how;
        int turns;
    } kinds[] = {{"acoustic", 2}, {"heuristic", 1}, {"semantic", 1}};
    char voice[256];
    json_t *out;

    deploy("",
           "      - {when: {user: pizza}, json: {over: true}}\n"
           "      - {json: {over: false}}\n",
           "");
    say("a.wav", "I would like to");
    append("a.wav");
    silence(900);
    say("a.wav", "order a pizza");
    append("a.wav");
    silence(2500);
    write_sound("c.wav");
    snprintf(voice, sizeof voice,
             "mode: listen-only, audio_in: c.wav, endpointing: %s",
             kinds[_i].how);
    run(voice, "");
    desk_code(0);
    out = output();
    ck_assert_msg(json_integer_value(json_object_get(out, "turns")) ==
                      kinds[_i].turns,
                  "%s", child.out);
    json_decref(out);
}
END_TEST

/* A model that cannot say whether it is over does not hold anybody up. */
START_TEST(nobody_waits_for_a_model)
{
    deploy("", "      - {error: {code: model.server}}\n", "");
    say("a.wav", "good morning");
    append("a.wav");
    silence(900);
    append("a.wav");
    write_sound("c.wav");
    run("mode: listen-only, audio_in: c.wav, endpointing: semantic", "");
    heard("completed", "good morning good morning");
}
END_TEST

/* ---- speaking and conversations -------------------------------------------- */

/* Flite has three voices; a file is as long as it says.
 * key: voice.voice */
START_TEST(voices_differ)
{
    static const char *const voices[] = {"rms", "slt", "awb"};
    size_t before = 0;

    deploy("", NO_REPLIES, "");
    for (size_t i = 0; i < 3; i++) {
        char voice[160], path[512];
        struct stat st;
        json_t *out;

        snprintf(voice, sizeof voice,
                 "mode: speak-only, speak_text: \"${'Good ' + 'morning.'}\", "
                 "audio_out: o.wav, voice: %s",
                 voices[i]);
        desk_ok("rm -rf store");
        run(voice, "");
        heard("completed", "");
        out = output();
        snprintf(path, sizeof path, "%.400s/audio/o.wav", desk_dir);
        ck_assert_int_eq(stat(path, &st), 0);
        ck_assert_int_eq(json_integer_value(json_object_get(out, "spoken_ms")),
                         (st.st_size - 44) / 32);
        ck_assert_uint_ne((size_t)st.st_size, before);
        before = (size_t)st.st_size;
        json_decref(out);
    }
    desk_ok("rm -rf store");
    run("mode: speak-only, speak_text: x, audio_out: o.wav, voice: bob", "");
    failed("invalid", "flite has only rms, slt and awb");
}
END_TEST

static const char two_replies[] =
    "      - {when: {turn: 0}, text: \"What is your name?\"}\n"
    "      - {when: {turn: 1}, text: \"Good to see you.\"}\n";

/* Three utterances, the last of which is a goodbye. */
static void write_three(const char *file)
{
    static const char *const lines[] = {"i want to open an account",
                                        "my name is henry", "good bye"};

    for (size_t i = 0; i < 3; i++) {
        say("a.wav", lines[i]);
        append("a.wav");
        silence(1000);
    }
    write_sound(file);
}

/* What is in the transcript, ROLE: TEXT a line. */
static void transcript(const char *want)
{
    json_t *out = output(), *one;
    char text[4096] = "";
    size_t i;

    json_array_foreach(json_object_get(out, "transcript"), i, one)
    {
        const size_t n = strlen(text);

        snprintf(text + n, sizeof text - n, "%s: %s\n", text_of(one, "role"),
                 text_of(one, "text"));
    }
    ck_assert_str_eq(text, want);
    json_decref(out);
}

/* It greets, hears, asks the model, says what that says, and so on, until the
 * goodbye, which nobody answers.  Who watches is told.
 * key: voice.mode=conversation, voice.instructions */
START_TEST(conversations_take_turns)
{
    deploy("", two_replies, "");
    write_three("c.wav");
    graph("g",
          "mode: conversation, audio_in: c.wav, audio_out: o.wav, "
          "speak_text: Hello there., exit_keywords: [good bye]",
          "    instructions: Be kind.\n"
          "    persona_policy: {traits: {openness: 0.9}, mood: calm}\n");
    desk_ok("$MORTISE run g.yaml --id r --json");
    desk_out("\"type\":\"voice_session\"");
    desk_out("\"data\":{\"state\":\"start\",\"mode\":\"conversation\"}");
    desk_out("\"data\":{\"role\":\"assistant\",\"text\":\"Hello there.\"}");
    desk_out("\"type\":\"voice_transcript\"");
    desk_out("\"data\":{\"role\":\"user\",\"text\":\"my name is henry\"}");
    desk_out("\"type\":\"voice_turn_complete\"");
    desk_out("\"data\":{\"turn\":2}");
    desk_out("\"exit_reason\":\"keyword\"");
    desk_out("Be kind.\\n\\nYour persona:\\n- honesty_humility: 0.5");
    desk_out("- mood: calm");
    heard("keyword", "i want to open an account my name is henry goodbye");
    transcript("assistant: Hello there.\n"
               "user: i want to open an account\n"
               "assistant: What is your name?\n"
               "user: my name is henry\n"
               "assistant: Good to see you.\n"
               "user: goodbye\n");
    /* what was said stands in its file, and can be heard again */
    graph("h", "mode: listen-only, audio_in: o.wav", "");
    desk_ok("$MORTISE run h.yaml --id h && $MORTISE show h --json");
    desk_out("what is your name");
}
END_TEST

/* A file that ends is a caller who has gone, unless that is not what may end it.
 * key: voice.exit_on, voice.exit_on=hangup */
START_TEST(a_file_ends)
{
    deploy("", "      - {text: Yes.}\n", "");
    say("a.wav", "good morning");
    append("a.wav");
    silence(1000);
    write_sound("c.wav");
    run("mode: conversation, audio_in: c.wav, audio_out: o.wav", "");
    heard("hangup", "good morning");
    graph("g",
          "mode: conversation, audio_in: c.wav, audio_out: o.wav, exit_on: "
          "silence-timeout",
          "");
    desk_ok("$MORTISE run g.yaml --id r2 && $MORTISE show r2 --json");
    desk_out("\"exit_reason\": \"completed\"");
}
END_TEST

/* What is left of a conversation whose model fails, is its output; one that has
 * not begun fails. */
START_TEST(what_was_said_is_not_lost)
{
    json_t *out;

    deploy("",
           "      - {when: {turn: 0}, text: \"What is your name?\"}\n"
           "      - {when: {turn: 1}, error: {code: model.server, message: "
           "it is broken}}\n",
           "");
    write_three("c.wav");
    run("mode: conversation, audio_in: c.wav, audio_out: o.wav", "");
    heard("error", "i want to open an account my name is henry");
    out = output();
    ck_assert_str_eq(text_of(json_object_get(out, "error"), "code"),
                     "voice.model");
    ck_assert_ptr_nonnull(strstr(
        text_of(json_object_get(out, "error"), "message"), "it is broken"));
    json_decref(out);
}
END_TEST

/* Where the first model fails, the next is asked, from then on. */
START_TEST(other_models_are_asked)
{
    deploy("", "      - {error: {code: model.server}}\n",
           "  other: {provider: scripted, model: o, replies: [{text: Ah.}]}\n");
    write_three("c.wav");
    run("mode: conversation, audio_in: c.wav, audio_out: o.wav, "
        "exit_keywords: [good bye]",
        "    llm: {fallback: [other]}\n    temperature: 0.5\n    max_tokens: "
        "50\n");
    heard("keyword", "i want to open an account my name is henry goodbye");
    transcript("user: i want to open an account\nassistant: Ah.\n"
               "user: my name is henry\nassistant: Ah.\nuser: goodbye\n");
    desk_ok("$MORTISE events r --json | grep -c '\"type\":\"model_call\"'");
    ck_assert_str_eq(child.out, "3\n");
}
END_TEST

/* ---- kills ----------------------------------------------------------------- */

#define REPLY(text)                                                            \
    "{\"id\": \"x\", \"object\": \"chat.completion\", \"choices\": "           \
    "[{\"index\": 0, \"message\": {\"role\": \"assistant\", \"content\": "     \
    "\"" text                                                                  \
    "\"}, \"finish_reason\": \"stop\"}], \"usage\": {\"prompt_tokens\": "      \
    "5, \"completion_tokens\": 2}}"
#define JSON_TYPE "Content-Type: application/json\r\n"

static void answer(struct httpd *d, const char *reply)
{
    httpd_answer(d, "/v1/chat/completions", "200 OK", JSON_TYPE, reply);
    httpd_times(d, 1);
}

/* So long, and the same words: Flite's noise differs from process to process. */
static void sounds_like(const char *file, const char *other)
{
    desk_ok("test $(stat -c %%s audio/%s) = $(stat -c %%s audio/%s)", file,
            other);
}

/* After kill -9 a conversation goes on where it was: what was heard is not heard
 * again, what was answered not asked, and what was said stands in the file once. */
START_TEST(a_killed_conversation_goes_on)
{
    static const char voice[] =
        "mode: conversation, audio_in: c.wav, audio_out: o.wav, speak_text: "
        "Hello there., exit_keywords: [good bye]";
    struct httpd *d = httpd_start();
    char model[512];
    pid_t pid;

    snprintf(model, sizeof model,
             "  far: {provider: openai, model: m, base_url: \"%s\"}\n",
             httpd_url(d, "/v1"));
    deploy("", NO_REPLIES, model);
    write_three("c.wav");
    answer(d, REPLY("What is your name?"));
    httpd_on(d, "/v1/chat/completions");
    httpd_wait(d, 60000);
    httpd_times(d, 1);
    answer(d, REPLY("Good to see you."));
    graph("g", voice, "    llm: {provider_id: far}\n");
    pid = child_start("run", "$MORTISE run g.yaml --id r");
    httpd_await(d, 2);
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    child_wait(pid);
    desk_ok("$MORTISE history r --json >before");
    desk_ok("$MORTISE resume r");
    heard("keyword", "i want to open an account my name is henry goodbye");
    transcript("assistant: Hello there.\n"
               "user: i want to open an account\n"
               "assistant: What is your name?\n"
               "user: my name is henry\n"
               "assistant: Good to see you.\n"
               "user: goodbye\n");
    ck_assert_uint_eq(httpd_requests(d), 3);
    ck_assert_str_eq(strstr(httpd_request(d, 1), "\r\n\r\n"),
                     strstr(httpd_request(d, 2), "\r\n\r\n"));
    /* as if nothing had happened */
    desk_ok("mv audio/o.wav audio/killed.wav");
    answer(d, REPLY("What is your name?"));
    answer(d, REPLY("Good to see you."));
    desk_ok("$MORTISE run g.yaml --id whole");
    sounds_like("o.wav", "killed.wav");
    httpd_stop(d);
}
END_TEST

/* The same while somebody speaks, wherever in it: cut off is not said twice. */
START_TEST(killed_anywhere_it_is_the_same)
{
    pid_t pid;

    deploy("", two_replies, "");
    write_three("c.wav");
    graph("g",
          "mode: conversation, audio_in: c.wav, audio_out: o.wav, speak_text: "
          "Hello there., exit_keywords: [good bye]",
          "");
    desk_ok("$MORTISE run g.yaml --id whole && mv audio/o.wav "
            "audio/whole.wav && $MORTISE show whole --json | "
            "grep -c transcript");
    pid = child_start("run", "$MORTISE run g.yaml --id r");
    usleep((useconds_t)(150000 * ((_i + 2) % 6 + 1)));
    kill(pid, SIGKILL);
    child_wait(pid);
    child_run("$MORTISE resume r || $MORTISE run g.yaml --id r");
    heard("keyword", "i want to open an account my name is henry goodbye");
    sounds_like("o.wav", "whole.wav");
    graph("h", "mode: listen-only, audio_in: o.wav", "");
    desk_ok("$MORTISE run h.yaml --id h && $MORTISE show h --json");
    desk_out("what is your name");
}
END_TEST

/* ---- servers --------------------------------------------------------------- */

/* Config of a server for both, with more for the ears. */
static void deploy_server(struct httpd *d, const char *more)
{
    char config[1024];

    snprintf(config, sizeof config,
             ", stt: {base_url: \"%s\", model: w, secret: key%s}, tts: "
             "{base_url: \"%s/\", model: s, voice: nova}",
             httpd_url(d, "/v1"), more, httpd_url(d, "/v1"));
    deploy(config, NO_REPLIES, "secrets: {key: {env: VOICE_KEY}}\n");
    ck_assert_int_eq(setenv("VOICE_KEY", "sk-very-secret", 1), 0);
    silence(200);
    noise(800);
    silence(200);
    write_sound("a.wav");
}

static void server_says(struct httpd *d, const char *status, const char *body)
{
    httpd_answer(d, "/v1/audio/transcriptions", status, JSON_TYPE, body);
}

static const char listens[] =
    "mode: listen-only, audio_in: a.wav, stt: openai, language: de-CH";

/* A server gets a WAV, its model and the language, and the key from whoever keeps
 * it; nobody else sees that.
 * key: voice.stt, voice.language */
START_TEST(servers_hear)
{
    struct httpd *d = httpd_start();
    const char *request;

    deploy_server(d, "");
    server_says(d, "200 OK", "{\"text\": \" Guten Morgen. \"}");
    run(listens, "");
    heard("completed", "Guten Morgen.");
    request = httpd_request(d, 0);
    ck_assert_msg(
        strstr(request, "POST /v1/audio/transcriptions ") != NULL &&
            strstr(request, "Authorization: Bearer sk-very-secret\r\n") !=
                NULL &&
            strstr(request, "Content-Type: multipart/form-data; boundary=") !=
                NULL &&
            strstr(request, "name=\"model\"\r\n\r\nw\r\n") != NULL &&
            strstr(request, "name=\"language\"\r\n\r\nde\r\n") != NULL &&
            strstr(request, "name=\"response_format\"\r\n\r\njson\r\n") !=
                NULL &&
            strstr(request, "filename=\"audio.wav\"\r\nContent-Type: "
                            "audio/wav\r\n\r\nRIFF") != NULL,
        "%s", request);
    desk_ok("$MORTISE show r --json; $MORTISE history r --json; $MORTISE "
            "events r --json");
    desk_not_out("sk-very-secret");
    httpd_stop(d);
}
END_TEST

static const struct {
    const char *status, *body, *code, *words;
} lies[] = {
    {"200 OK", "[1, 2]", "voice.answer", "not a transcription"},
    {"200 OK", "{\"text\": 7}", "voice.answer", "not a transcription"},
    {"200 OK", "{\"txet\": \"x\"}", "voice.answer", "not a transcription"},
    {"200 OK", "hello", "voice.answer", "not a transcription"},
    {"200 OK", "\xff\xfe", "voice.answer", "not a transcription"},
    {"200 OK", "{\"text\": \"a\"", "voice.answer", "not a transcription"},
    {"204 No Content", "", "voice.server", "answered 204"},
    {"401 Unauthorized", "{\"error\": {\"message\": \"no such key\"}}",
     "voice.server", "answered 401: no such key"},
    {"400 Bad Request", "what?", "voice.server", "answered 400: what?"},
};

/* A server is not believed. */
START_TEST(servers_may_lie)
{
    struct httpd *d = httpd_start();

    deploy_server(d, "");
    server_says(d, lies[_i].status, lies[_i].body);
    run(listens, "");
    failed(lies[_i].code, lies[_i].words);
    httpd_stop(d);
}
END_TEST

/* What may pass is tried again; and nothing that was understood is a silence. */
START_TEST(servers_may_be_busy)
{
    struct httpd *d = httpd_start();

    deploy_server(d, "");
    server_says(d, "503 Service Unavailable", "later");
    httpd_times(d, 1);
    server_says(d, "200 OK", "{\"text\": \"\"}");
    run(listens, "");
    heard("completed", "");
    ck_assert_uint_eq(httpd_requests(d), 2);
    httpd_stop(d);
}
END_TEST

/* Who spoke, where the server says so, and nowhere else: a graph that wants it of
 * PocketSphinx does not load.
 * key: voice.diarization */
START_TEST(speakers_are_told_apart)
{
    struct httpd *d = httpd_start();
    char voice[160];

    deploy_server(d, ", diarization: true");
    server_says(d, "200 OK",
                "{\"text\": \"Yes. No.\", \"segments\": [{\"speaker\": \"A\", "
                "\"text\": \"Yes.\", \"start\": 0}, {\"speaker\": \"B\", "
                "\"text\": \"No.\"}]}");
    httpd_times(d, 1);
    server_says(d, "200 OK", "{\"text\": \"Yes. No.\"}");
    snprintf(voice, sizeof voice, "%s, diarization: true", listens);
    run(voice, "");
    heard("completed", "Yes. No.");
    desk_out("\"speaker\": \"B\"");
    desk_not_out("\"start\"");
    ck_assert_ptr_nonnull(strstr(httpd_request(d, 0), "diarized_json"));
    desk_ok("rm -rf store");
    run(voice, "");
    failed("voice.answer", "does not name speakers");
    desk_ok("rm -rf store");
    deploy_server(d, "");
    run(voice, "");
    failed("voice.config", "does not set `diarization: true`");
    desk_ok("rm -rf store");
    graph("g",
          "mode: listen-only, audio_in: a.wav, stt: pocketsphinx, "
          "diarization: true",
          "");
    child_run("$MORTISE check g.yaml");
    desk_code(2);
    desk_out("error[E0503]: voice/run does not accept these args: at "
             "/node/voice/stt: expected one of \"openai\"");
    httpd_stop(d);
}
END_TEST

/* A server's sound is what is said: of another rate, and with a length that its
 * library made up.
 * key: voice.tts */
START_TEST(servers_speak)
{
    struct httpd *d = httpd_start();
    char head[128], path[512], *wav;
    size_t n;
    json_t *out;

    deploy_server(d, "");
    noise(1000);
    write_as("w.wav", 3, 2, 16);
    snprintf(path, sizeof path, "%.400s/audio/w.wav", desk_dir);
    wav = test_read(path, &n);
    memset(wav + 40, 0xff, 4);
    snprintf(head, sizeof head,
             "HTTP/1.1 200 OK\r\nContent-Type: audio/wav\r\nContent-Length: "
             "%zu\r\n\r\n",
             n);
    httpd_on(d, "/v1/audio/speech");
    httpd_say(d, head);
    httpd_send(d, wav, n);
    run("mode: speak-only, tts: openai, speak_text: \"Good \\\"morning\\\".\", "
        "audio_out: o.wav",
        "");
    heard("completed", "");
    out = output();
    ck_assert_int_ge(json_integer_value(json_object_get(out, "spoken_ms")),
                     980);
    ck_assert_int_le(json_integer_value(json_object_get(out, "spoken_ms")),
                     1020);
    json_decref(out);
    ck_assert_ptr_nonnull(
        strstr(httpd_request(d, 0),
               "{\"model\":\"s\",\"input\":\"Good \\\"morning\\\".\","
               "\"voice\":\"nova\",\"response_format\":\"wav\"}"));
    ck_assert_ptr_null(strstr(httpd_request(d, 0), "Authorization"));
    free(wav);
    httpd_stop(d);
}
END_TEST

/* What is no sound is not said. */
START_TEST(servers_may_say_nothing)
{
    static const char *const bodies[] = {"RIFF", "{\"error\": 1}", ""};
    struct httpd *d = httpd_start();

    deploy_server(d, "");
    httpd_answer(d, "/v1/audio/speech", "200 OK", "", bodies[_i]);
    run("mode: speak-only, tts: openai, speak_text: x, audio_out: o.wav", "");
    failed("voice.answer", "is not a sound");
    httpd_stop(d);
}
END_TEST

/* ---- what is refused ------------------------------------------------------- */

static const struct {
    const char *voice, *code, *words;
} refused[] = {
    {"mode: listen-only, audio_in: a.wav, stt: openai", "voice.config",
     "stt: openai needs `stt: {base_url, model}`"},
    {"mode: speak-only, audio_out: a.wav, tts: openai, speak_text: x",
     "voice.config", "tts: openai needs"},
    {"mode: listen-only, audio_in: a.wav, language: de", "voice.config",
     "pocketsphinx supports only English"},
    {"mode: speak-only, audio_out: a.wav, speak_text: x, language: fr-FR",
     "voice.config", "flite supports only English"},
    {"mode: conversation, audio_in: a.wav, audio_out: a.wav", "invalid",
     "both audio_in and audio_out"},
};

/* What the deployment has not is said before anybody is heard. */
START_TEST(what_is_not_there_is_refused)
{
    deploy("", NO_REPLIES, "");
    run(refused[_i].voice, "");
    failed(refused[_i].code, refused[_i].words);
}
END_TEST

/* Without a directory there is no file. */
START_TEST(a_directory_is_needed)
{
    deploy("", NO_REPLIES, "");
    desk_ok("sed -i '/config:/d' mortise.yaml");
    run("mode: listen-only, audio_in: a.wav", "");
    failed("voice.config", "set `directory` of audio files");
    deploy("", NO_REPLIES, "");
    desk_ok("rm -r audio");
    child_run("$MORTISE run g.yaml --id r2");
    desk_code(1);
    desk_out("/audio is not an existing directory");
}
END_TEST

static const struct {
    const char *voice, *words;
} misfits[] = {
    {"mode: listen-only, audio_in: a.wav, stt: whisper",
     "E0503]: voice/run does not accept"},
    {"mode: listen-only, audio_in: a.wav, language: \"no language\"",
     "E0503]: voice/run does not accept"},
    {"mode: listen-only, audio_in: [a.wav]",
     "E0503]: voice/run does not accept"},
};

/* What the plugin takes is checked where it stands. */
START_TEST(values_are_checked)
{
    deploy("", NO_REPLIES, "");
    graph("g", misfits[_i].voice, "");
    child_run("$MORTISE check g.yaml");
    desk_code(2);
    desk_out(misfits[_i].words);
}
END_TEST

/* The deployment may have another operation for such nodes, which gets all keys:
 * a list and milliseconds, whatever was written.
 * key: executors.voice, voice.barge_in, voice.exit_on=manual */
START_TEST(an_executor_gets_all_keys)
{
    static const char want[] =
        "{\"args\": {\"x\": 1}, \"node\": {\"instructions\": \"Be 7.\", "
        "\"temperature\": 0.5, \"max_tokens\": 9, \"llm\": {\"provider_id\": "
        "\"default\"}, \"voice\": {\"mode\": \"conversation\", \"audio_in\": "
        "\"unix:7\", \"audio_out\": \"o.wav\", \"stt\": \"s\", \"tts\": "
        "\"t\", \"voice\": \"v\", \"language\": \"en\", \"endpointing\": "
        "\"semantic\", \"barge_in\": \"soft-fade\", \"diarization\": true, "
        "\"max_turns\": 3, \"exit_on\": [\"manual\", \"keyword\", "
        "\"turns-exhausted\", \"silence-timeout\"], \"silence_timeout\": "
        "90000, \"exit_keywords\": [\"bye\"], \"speak_text\": {\"n\": 7}}}}";
    json_t *value = json_loads(want, 0, NULL), *out;

    ck_assert_ptr_nonnull(value);
    deploy("", NO_REPLIES, "executors: {voice: ok_inline/echo}\n");
    graph("g",
          "mode: conversation, audio_in: \"unix:${input.n}\", audio_out: "
          "o.wav, stt: s, tts: t, voice: v, language: en, endpointing: "
          "semantic, barge_in: soft-fade, diarization: true, max_turns: 3, "
          "exit_on: [manual, keyword, turns-exhausted, silence-timeout], "
          "silence_timeout: 90s, exit_keywords: [bye], speak_text: {n: "
          "\"${input.n}\"}",
          "    args: {x: 1}\n    instructions: \"Be ${input.n}.\"\n"
          "    temperature: 0.5\n    max_tokens: 9\n    complexity: 0.9\n"
          "    llm: {tiers: {high: default}}\n");
    desk_ok("$MORTISE run g.yaml --id r --input '{\"n\": 7}'");
    out = output();
    ck_assert_msg(json_equal(out, value), "%s", child.out);
    json_decref(out);
    json_decref(value);
    deploy("", NO_REPLIES, "executors: {voice: ok_inline/hear}\n");
    child_run("$MORTISE check mortise.yaml");
    desk_code(2);
    desk_out("E0501]: plugin 'ok_inline' has no operation 'hear'");
}
END_TEST

/* ---- the kiosk ------------------------------------------------------------- */

/* The kiosk of configs/ leads where its own tests say, also where it is killed;
 * test_docs.c does what its README says. */
START_TEST(the_kiosk_holds)
{
    static const char *const ways[] = {"", "--crash-everywhere"};
    char tree[PATH_MAX];

    ck_assert_ptr_nonnull(getcwd(tree, sizeof tree));
    desk_ok("rm mortise.yaml && cp -r %s/configs . && $MORTISE config allow "
            "configs/kiosk/mortise.yaml",
            tree);
    desk_ok("$MORTISE check --deployment configs/kiosk/mortise.yaml "
            "configs/kiosk/*.yaml");
    ck_assert_str_eq(child.out, "");
    for (size_t i = 0; i < 2; i++) {
        desk_ok("$MORTISE test %s --deployment configs/kiosk/mortise.yaml "
                "configs/kiosk/kiosk.test.yaml",
                ways[i]);
        desk_out("4 passed, 0 failed");
    }
}
END_TEST

#define N(of) (int)(sizeof of / sizeof of[0])

static Suite *suite(void)
{
    Suite *s = suite_create("cli_voice");
    TCase *tc = tcase_create("cli_voice");

    tcase_add_unchecked_fixture(tc, sign_plugins, forget_plugins);
    tcase_add_checked_fixture(tc, begin, desk_end);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, a_sentence_routes_by_keyword);
    tcase_add_test(tc, turns_are_counted);
    tcase_add_test(tc, what_is_no_speech_is_rejected);
    tcase_add_loop_test(tc, other_phrases_are_rejected, 0, 2);
    tcase_add_loop_test(tc, phrases_are_looked_at, 0, N(bad_args));
    tcase_add_loop_test(tc, other_files_are_heard, 0, 4);
    tcase_add_test(tc, raw_samples_are_heard);
    tcase_add_loop_test(tc, what_is_no_sound_is_refused, 0, N(bad_files));
    tcase_add_loop_test(tc, open_sentences_are_waited_for, 0, 3);
    tcase_add_test(tc, nobody_waits_for_a_model);
    tcase_add_test(tc, voices_differ);
    tcase_add_test(tc, conversations_take_turns);
    tcase_add_test(tc, a_file_ends);
    tcase_add_test(tc, what_was_said_is_not_lost);
    tcase_add_test(tc, other_models_are_asked);
    tcase_add_test(tc, a_killed_conversation_goes_on);
    tcase_add_loop_test(tc, killed_anywhere_it_is_the_same, 0,
                        matrix_is_whole() ? 6 : 1);
    tcase_add_test(tc, servers_hear);
    tcase_add_loop_test(tc, servers_may_lie, 0, N(lies));
    tcase_add_test(tc, servers_may_be_busy);
    tcase_add_test(tc, speakers_are_told_apart);
    tcase_add_test(tc, servers_speak);
    tcase_add_loop_test(tc, servers_may_say_nothing, 0, 3);
    tcase_add_loop_test(tc, what_is_not_there_is_refused, 0, N(refused));
    tcase_add_test(tc, a_directory_is_needed);
    tcase_add_loop_test(tc, values_are_checked, 0, N(misfits));
    tcase_add_test(tc, an_executor_gets_all_keys);
    tcase_add_test(tc, the_kiosk_holds);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
