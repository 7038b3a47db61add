/* test_cli_voice_line.c -- voice nodes on a line: the test is the terminal, which
 * sends sound faster than it is spoken, so that nothing waits for a clock. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <jansson.h>

#include "lib/desk.h"
#include "lib/test.h"

enum { MS = 16 /* samples */, FRAME = 20 * MS, HEAD = 5 };

/* ---- sound ----------------------------------------------------------------- */

struct sound {
    int16_t p[MS * 60000];
    size_t n;
};

/* What the terminal sends, and what it was sent. */
static struct sound mic, speaker;

static void append(struct sound *to, const char *file)
{
    char path[512];
    size_t n;
    char *p;

    snprintf(path, sizeof path, "%.400s/audio/%s", desk_dir, file);
    p = test_read(path, &n);
    ck_assert_uint_ge(n, 44);
    memcpy(to->p + to->n, p + 44, n - 44);
    to->n += (n - 44) / 2;
    free(p);
}

static void silence(struct sound *to, int ms)
{
    memset(to->p + to->n, 0, (size_t)ms * MS * sizeof *to->p);
    to->n += (size_t)(ms * MS);
}

/* ---- the terminal ---------------------------------------------------------- */

/* One connection: a frame is sent for each that comes, or (`talks`) all at once;
 * when all was sent, `last` goes out, if there is any, or the socket closes. */
static struct terminal {
    int fd;
    pthread_t thread;
    bool talks;       /* without waiting to be spoken to */
    bool mute;        /* it says nothing more, and keeps the line */
    bool babbles;     /* ... and sends frames of no sound meanwhile */
    const char *last; /* bytes */
    size_t n_last;
    size_t hushes;    /* frames C */
    size_t hushed_at; /* how much was in the speaker then */
    size_t sent;      /* of the microphone */
    int connections;
} term;

static bool put(int fd, const void *bytes, size_t n)
{
    const char *p = bytes;

    while (n > 0) {
        const ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);

        if (sent <= 0)
            return false;
        p += sent;
        n -= (size_t)sent;
    }
    return true;
}

static bool put_sound(int fd, const int16_t *p, size_t n)
{
    unsigned char frame[HEAD + 2 * FRAME] = {'A', (unsigned char)(2 * n),
                                             (unsigned char)(2 * n >> 8)};

    memcpy(frame + HEAD, p, 2 * n);
    return put(fd, frame, HEAD + 2 * n);
}

static bool get(int fd, void *bytes, size_t n)
{
    char *p = bytes;

    while (n > 0) {
        const ssize_t got = recv(fd, p, n, 0);

        if (got <= 0)
            return false;
        p += got;
        n -= (size_t)got;
    }
    return true;
}

/* The next of the microphone. */
static bool speak(int fd)
{
    size_t n = mic.n - term.sent;

    n = n < FRAME ? n : FRAME;
    if (n == 0)
        return true;
    if (!put_sound(fd, mic.p + term.sent, n))
        return false;
    term.sent += n;
    return true;
}

static bool hear(int fd)
{
    unsigned char head[HEAD];
    size_t n;

    if (!get(fd, head, HEAD))
        return false;
    n = head[1] | (size_t)head[2] << 8;
    if (head[0] == 'C') {
        term.hushes++;
        term.hushed_at = speaker.n;
        return n == 0;
    }
    if (head[0] != 'A' || !get(fd, speaker.p + speaker.n, n))
        return false;
    speaker.n += n / 2;
    return true;
}

static bool is_readable(int fd, int ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, ms) > 0;
}

/* A sentence that is said to us takes its time: each frame of ours goes out
 * beside one of theirs, or when they have been silent for a moment.  When they
 * take no more of ours, what they sent before is still read. */
static void serve(int fd)
{
    bool open = true, ended = false;

    while (open) {
        if (is_readable(fd, term.talks ? 0 : 2)) {
            open = hear(fd);
            ended = ended || !speak(fd);
        } else if (!ended && term.sent < mic.n) {
            ended = !speak(fd);
        } else if (!ended) {
            ended = true;
            if (term.n_last > 0)
                open = put(fd, term.last, term.n_last);
            else if (!term.mute)
                shutdown(fd, SHUT_WR);
        } else if (term.babbles) {
            open = put(fd, "A\0\0\0\0", HEAD);
        } else {
            open = is_readable(fd, 20000) && hear(fd);
        }
    }
}

static void *terminal(void *ud)
{
    int fd;

    (void)ud;
    while ((fd = accept4(term.fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        term.connections++;
        serve(fd);
        close(fd);
    }
    return NULL;
}

static void socket_path(char *to, size_t n)
{
    snprintf(to, n, "%.80s/t.sock", desk_dir);
}

static void terminal_start(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    socket_path(at.sun_path, sizeof at.sun_path);
    term.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(term.fd, 0);
    ck_assert_int_eq(bind(term.fd, (struct sockaddr *)&at, sizeof at), 0);
    ck_assert_int_eq(listen(term.fd, 4), 0);
    ck_assert_int_eq(pthread_create(&term.thread, NULL, terminal, NULL), 0);
}

static void terminal_stop(void)
{
    shutdown(term.fd, SHUT_RDWR);
    pthread_join(term.thread, NULL);
    close(term.fd);
}

/* ---- the desk -------------------------------------------------------------- */

static void deploy(const char *replies)
{
    char text[4096], path[128];

    socket_path(path, sizeof path);
    snprintf(
        text, sizeof text,
        "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
        "plugins: {config: {voice: {directory: audio, sockets: [\"%s\"]}}}\n"
        "store: {path: ./store}\nmodels:\n  default:\n    provider: "
        "scripted\n    model: m\n    replies:\n%s",
        path, replies);
    desk_put("mortise.yaml", text);
    desk_ok("mkdir -p audio");
}

/* `$S` in it is the socket. */
static void graph(const char *voice)
{
    char text[4096], path[128];
    const char *at = strstr(voice, "$S");

    socket_path(path, sizeof path);
    if (at != NULL)
        snprintf(text, sizeof text,
                 "start: a\nnodes:\n  a:\n    type: voice\n    voice: "
                 "{%.*s\"unix:%s\"%s}\n    next: END\n",
                 (int)(at - voice), voice, path, at + 2);
    else
        snprintf(text, sizeof text,
                 "start: a\nnodes:\n  a:\n    type: voice\n    voice: "
                 "{%s}\n    next: END\n",
                 voice);
    desk_graph("g", text);
}

static void say(const char *file, const char *text)
{
    char voice[1024];

    snprintf(voice, sizeof voice,
             "mode: speak-only, speak_text: \"%s\", audio_out: %s", text, file);
    graph(voice);
    desk_ok("$MORTISE run g.yaml");
}

static void run(const char *voice)
{
    graph(voice);
    terminal_start();
    child_run("$MORTISE run g.yaml --id r --json");
    terminal_stop();
}

/* The output of the node: a new reference. */
static json_t *output(void)
{
    json_t *show, *out;

    desk_ok("$MORTISE show r --json");
    show = json_loads(child.out, 0, NULL);
    ck_assert_ptr_nonnull(show);
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

/* It ended so, and that was said, ROLE: TEXT a line, with * where it was cut. */
static void came_to(const char *reason, const char *want)
{
    json_t *out, *one;
    char text[4096] = "";
    size_t i;

    desk_code(0);
    out = output();
    json_array_foreach(json_object_get(out, "transcript"), i, one)
    {
        const size_t n = strlen(text);

        snprintf(text + n, sizeof text - n, "%s: %s%s\n", text_of(one, "role"),
                 text_of(one, "text"),
                 json_is_true(json_object_get(one, "interrupted")) ? "*" : "");
    }
    ck_assert_msg(strcmp(text_of(out, "exit_reason"), reason) == 0 &&
                      strcmp(text, want) == 0,
                  "not %s,\n%s:\n%s", reason, want, child.out);
    json_decref(out);
}

static void begin(void)
{
    desk_begin();
    mic.n = speaker.n = 0;
    term = (struct terminal){.fd = -1};
}

static const char yes[] = "      - {text: \"Yes, of course.\"}\n";

/* ---- conversations --------------------------------------------------------- */

/* Both ways on one socket: it greets, hears, answers; and the end of the socket
 * is a hangup. */
START_TEST(a_line_is_spoken_on)
{
    json_t *out;

    deploy(yes);
    say("a.wav", "good morning");
    silence(&mic, 2000);
    append(&mic, "a.wav");
    silence(&mic, 3000);
    run("mode: conversation, audio_in: $S, speak_text: Hello.");
    came_to("hangup", "assistant: Hello.\nuser: good morning\nassistant: Yes, "
                      "of course.\n");
    out = output();
    ck_assert_int_eq(json_integer_value(json_object_get(out, "spoken_ms")),
                     (json_int_t)(speaker.n / MS));
    ck_assert_uint_gt(speaker.n, 1000 * MS);
    ck_assert_uint_eq(term.hushes, 0);
    ck_assert_int_eq(term.connections, 1);
    json_decref(out);
}
END_TEST

static const struct {
    const char *last;
    size_t n;
    const char *exit_on, *reason;
} ends[] = {
    {"E\0\0\0\0", 5, "", "hangup"},
    {"E\6\0\0\0hangup", 11, "", "hangup"},
    {"E\6\0\0\0manual", 11, "", "manual"},
    {"E\6\0\0\0manual", 11, ", exit_on: [manual]", "manual"},
    {"E\6\0\0\0manual", 11, ", exit_on: hangup", "hangup"},
    {"E\6\0\0\0hangup", 11, ", exit_on: manual", "completed"},
};

/* A terminal says why it is over, and exit_on whether that counts.
 * key: voice.exit_on=manual */
START_TEST(a_terminal_says_why)
{
    char voice[128];

    deploy(yes);
    silence(&mic, 200);
    term.last = ends[_i].last;
    term.n_last = ends[_i].n;
    snprintf(voice, sizeof voice, "mode: listen-only, audio_in: $S%s",
             ends[_i].exit_on);
    run(voice);
    came_to(ends[_i].reason, "");
}
END_TEST

/* Who says nothing, and sends nothing either, has been silent for as long. */
START_TEST(nothing_sent_is_silence)
{
    json_t *out;

    deploy(yes);
    term.mute = true;
    run("mode: listen-only, audio_in: $S, silence_timeout: 400ms");
    came_to("silence-timeout", "");
    out = output();
    ck_assert_int_eq(json_integer_value(json_object_get(out, "heard_ms")), 400);
    json_decref(out);
}
END_TEST

/* Nor does it help to send frames in which there is no sound. */
START_TEST(frames_without_sound_are_silence)
{
    deploy(yes);
    term.mute = term.babbles = true;
    run("mode: listen-only, audio_in: $S, silence_timeout: 400ms");
    came_to("silence-timeout", "");
}
END_TEST

/* ---- speaking into it ------------------------------------------------------ */

#define LONG                                                                   \
    "This is a long announcement, and it goes on and on, so that nobody who "  \
    "is in a hurry will want to hear all of it before he says a word."

/* The loudness of a piece of what was heard, as a mean of amplitudes. */
static double loudness(size_t from, size_t n)
{
    double sum = 0;

    for (size_t i = from; i < from + n; i++)
        sum += abs(speaker.p[i]);
    return sum / (double)n;
}

/* How long all of it is: said to a file. */
static size_t whole_length(void)
{
    char path[512];
    struct stat st;

    say("whole.wav", LONG);
    snprintf(path, sizeof path, "%.400s/audio/whole.wav", desk_dir);
    ck_assert_int_eq(stat(path, &st), 0);
    return (size_t)(st.st_size - 44) / 2;
}

/* Somebody speaks a second after it began. */
static void interrupt_after_a_second(const char *barge_in)
{
    char voice[1024];

    say("a.wav", "good morning");
    silence(&mic, 1000);
    append(&mic, "a.wav");
    silence(&mic, 12000);
    snprintf(voice, sizeof voice,
             "mode: conversation, audio_in: $S, speak_text: \"%s\", max_turns: "
             "1%s",
             LONG, barge_in);
    run(voice);
}

static const char cut[] =
    "assistant: " LONG "*\nuser: good morning\nassistant: "
    "Yes, of course.\n";

/* It stops at once, the terminal forgets what it has not played, and what was said
 * into it is heard from its first word on. */
START_TEST(hard_cuts_stop_at_once)
{
    static const char *const said[] = {"", ", barge_in: hard-cut"};
    size_t whole;

    deploy(yes);
    whole = whole_length();
    interrupt_after_a_second(said[_i]);
    desk_out("\"type\":\"voice_barge_in\"");
    came_to("turns-exhausted", cut);
    ck_assert_uint_eq(term.hushes, 1);
    ck_assert_uint_lt(term.hushed_at, 2200 * MS);
    ck_assert_uint_lt(term.hushed_at, whole / 2);
    /* it was as loud as ever until then */
    ck_assert(loudness(0, term.hushed_at) > 300);
}
END_TEST

/* It becomes quieter, until it is nothing.
 * key: voice.barge_in */
START_TEST(soft_fades_fade)
{
    size_t at;

    deploy(yes);
    interrupt_after_a_second(", barge_in: soft-fade");
    came_to("turns-exhausted", cut);
    ck_assert_uint_eq(term.hushes, 1);
    at = term.hushed_at;
    ck_assert_uint_gt(at, 1200 * MS);
    ck_assert_uint_lt(at, 2600 * MS);
    ck_assert(loudness(at - 40 * MS, 40 * MS) <
              0.2 * (1 + loudness(at - 600 * MS, 300 * MS)));
}
END_TEST

/* It goes on to its end, and what was said into it was not heard. */
START_TEST(disabled_goes_on)
{
    size_t whole;

    deploy(yes);
    whole = whole_length();
    interrupt_after_a_second(", barge_in: disabled, silence_timeout: 3s");
    came_to("silence-timeout", "assistant: " LONG "\n");
    ck_assert_uint_eq(term.hushes, 0);
    ck_assert_uint_ge(speaker.n + 2000, whole);
}
END_TEST

/* A cough stops nobody. */
START_TEST(a_cough_does_not_interrupt)
{
    deploy(yes);
    silence(&mic, 1000);
    for (int i = 0; i < 120 * MS; i++)
        mic.p[mic.n++] = (int16_t)(rand() % 20000 - 10000);
    silence(&mic, 12000);
    run("mode: speak-only, audio_out: $S, speak_text: \"" LONG "\"");
    came_to("completed", "assistant: " LONG "\n");
}
END_TEST

/* Who is only spoken to may interrupt it, too. */
START_TEST(announcements_are_interrupted)
{
    deploy(yes);
    say("a.wav", "good morning");
    silence(&mic, 500);
    append(&mic, "a.wav");
    silence(&mic, 12000);
    run("mode: speak-only, audio_out: $S, speak_text: \"" LONG "\"");
    came_to("interrupted", "assistant: " LONG "*\n");
    ck_assert_uint_eq(term.hushes, 1);
}
END_TEST

/* A file is spoken into where that is said, as a line would be. */
START_TEST(files_may_be_lines)
{
    char path[512];
    struct stat st;
    size_t whole;
    FILE *f;

    deploy(yes);
    whole = whole_length();
    say("a.wav", "good morning");
    silence(&mic, 1000);
    append(&mic, "a.wav");
    silence(&mic, 2000);
    snprintf(path, sizeof path, "%.400s/audio/in.raw", desk_dir);
    f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(mic.p, 2, mic.n, f), mic.n);
    fclose(f);
    graph("mode: conversation, audio_in: in.raw, audio_out: o.raw, speak_text: "
          "\"" LONG "\", max_turns: 1, barge_in: hard-cut");
    child_run("$MORTISE run g.yaml --id r");
    came_to("turns-exhausted", cut);
    snprintf(path, sizeof path, "%.400s/audio/o.raw", desk_dir);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_lt((size_t)st.st_size / 2, whole);
}
END_TEST

/* ---- lines that break ------------------------------------------------------ */

static const struct {
    const char *last;
    size_t n;
    const char *words;
} broken[] = {
    {"X\0\0\0\0", 5, "neither A nor E"},
    {"A\3\0\0\0abc", 8, "the middle of a sample"},
    {"A\0\0\1\1", 5, "exceeds 65536 bytes"},
    {"A\xff\xff\xff\xff", 5, "exceeds 65536 bytes"},
    {"E\3\0\0\0huh", 8, "neither hangup nor manual"},
};

/* A terminal that breaks the rules: before anything was recorded the node fails,
 * later that is how it ended. */
START_TEST(terminals_may_lie)
{
    json_t *out;

    deploy(yes);
    silence(&mic, 100);
    term.last = broken[_i].last;
    term.n_last = broken[_i].n;
    run("mode: listen-only, audio_in: $S");
    desk_code(1);
    desk_out("\"code\":\"voice.line\"");
    desk_out(broken[_i].words);
    desk_ok("rm -r store t.sock");
    mic.n = term.sent = 0;
    silence(&mic, 4000);
    run("mode: conversation, audio_in: $S, speak_text: Hello.");
    came_to("error", "assistant: Hello.\n");
    out = output();
    ck_assert_str_eq(text_of(json_object_get(out, "error"), "code"),
                     "voice.line");
    ck_assert_ptr_nonnull(strstr(
        text_of(json_object_get(out, "error"), "message"), broken[_i].words));
    json_decref(out);
}
END_TEST

/* Nobody there, which may pass; one who is none of the deployment's; and one whose
 * path no socket can have. */
START_TEST(terminals_may_be_missing)
{
    deploy(yes);
    graph("mode: listen-only, audio_in: $S");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(1);
    desk_out("\"code\":\"voice.line\"");
    desk_out("\"class\":\"transient\"");
    desk_out("t.sock: No such file or directory; start the terminal, or "
             "change `sockets`");
    graph("mode: listen-only, audio_in: \"unix:/tmp/other.sock\"");
    child_run("$MORTISE run g.yaml --id r2");
    desk_code(1);
    desk_out("\"code\":\"denied\"");
    desk_ok("sed -i 's#sockets: .#&\"/tmp/%0110d\", #' mortise.yaml", 0);
    child_run("$MORTISE run g.yaml --id r3");
    desk_code(78);
    desk_err("at /sockets/0: 115 characters, expected at most 107");
}
END_TEST

/* A call that waits for somebody stops when it is told to. */
START_TEST(waiting_is_cancelled)
{
    pid_t pid;

    deploy(yes);
    term.mute = true;
    graph("mode: listen-only, audio_in: $S");
    terminal_start();
    pid = child_start("run", "$MORTISE run g.yaml --id r --json");
    child_await("run.out", "voice_session");
    desk_ok("$MORTISE cancel r");
    ck_assert_int_eq(child_wait(pid), 1);
    terminal_stop();
    desk_ok("$MORTISE show r --json");
    desk_out("\"status\": \"cancelled\"");
}
END_TEST

/* A terminal that takes no call, and before which others wait, is not waited for
 * without end: who calls stops when it is told to, and its plugin goes on. */
START_TEST(calling_is_cancelled)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int waits[8];
    size_t n = 0;
    pid_t pid;

    deploy(yes);
    socket_path(at.sun_path, sizeof at.sun_path);
    term.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(term.fd, (struct sockaddr *)&at, sizeof at), 0);
    ck_assert_int_eq(listen(term.fd, 0), 0);
    do {
        ck_assert_uint_lt(n, sizeof waits / sizeof waits[0]);
        waits[n] =
            socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    } while (connect(waits[n++], (struct sockaddr *)&at, sizeof at) == 0);
    graph("mode: listen-only, audio_in: $S");
    pid = child_start("run", "$MORTISE run g.yaml --id r --json");
    child_await("run.out", "node_start");
    desk_ok("$MORTISE cancel r");
    ck_assert_int_eq(child_wait(pid), 1);
    desk_ok("$MORTISE show r --json");
    desk_out("\"status\": \"cancelled\"");
    graph("mode: listen-only, audio_in: $S");
    child_run("$MORTISE run g.yaml --id r2");
    desk_code(1);
    desk_out("the terminal did not accept the connection within 10 s");
    while (n > 0)
        close(waits[--n]);
    close(term.fd);
}
END_TEST

/* After a kill it calls the terminal again, and goes on at the turn that was not
 * over. */
START_TEST(a_killed_line_is_called_again)
{
    pid_t pid;

    deploy(yes);
    say("a.wav", "good morning");
    append(&mic, "a.wav");
    silence(&mic, 3000);
    term.mute = true;
    graph("mode: conversation, audio_in: $S, max_turns: 2");
    terminal_start();
    pid = child_start("run", "$MORTISE run g.yaml --id r --json");
    child_await("run.out", "voice_turn_complete");
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    child_wait(pid);
    term.sent = 0;
    child_run("$MORTISE resume r");
    terminal_stop();
    came_to("turns-exhausted",
            "user: good morning\nassistant: Yes, of course.\n"
            "user: good morning\nassistant: Yes, of course.\n");
    ck_assert_int_eq(term.connections, 2);
    desk_ok("$MORTISE events r --json | grep -c '\"type\":\"model_call\"'");
    ck_assert_str_eq(child.out, "2\n");
}
END_TEST

#define N(of) (int)(sizeof of / sizeof of[0])

static Suite *suite(void)
{
    Suite *s = suite_create("cli_voice_line");
    TCase *tc = tcase_create("cli_voice_line");

    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, begin, desk_end);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, a_line_is_spoken_on);
    tcase_add_loop_test(tc, a_terminal_says_why, 0, N(ends));
    tcase_add_test(tc, nothing_sent_is_silence);
    tcase_add_test(tc, frames_without_sound_are_silence);
    tcase_add_loop_test(tc, hard_cuts_stop_at_once, 0, 2);
    tcase_add_test(tc, soft_fades_fade);
    tcase_add_test(tc, disabled_goes_on);
    tcase_add_test(tc, a_cough_does_not_interrupt);
    tcase_add_test(tc, announcements_are_interrupted);
    tcase_add_test(tc, files_may_be_lines);
    tcase_add_loop_test(tc, terminals_may_lie, 0, N(broken));
    tcase_add_test(tc, terminals_may_be_missing);
    tcase_add_test(tc, waiting_is_cancelled);
    tcase_add_test(tc, calling_is_cancelled);
    tcase_add_test(tc, a_killed_line_is_called_again);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
