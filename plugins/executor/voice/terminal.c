/* terminal.c -- a terminal: whoever has a microphone and a loudspeaker, behind a
 * local socket on which he listens and we call.
 *
 * Both ways go frames: a letter, a length of four bytes, little-endian, and so
 * many bytes, FRAME_MAX at most.
 *
 *     A   both ways: sound; samples of 16 bits, little-endian, 16 kHz, one
 *         channel
 *     C   to the terminal, of no bytes: forget what you have not played yet
 *     E   from the terminal: it is over; its bytes are `hangup`, or `manual`
 *         where somebody at the terminal ended it.  The socket's end is a hangup
 *         as well
 *
 *   (1) Time is the sound's own.  Who sends faster than it is spoken is heard as
 *       fast; where no sound comes for WAIT_MS, so much silence was heard, whatever
 *       else came.  So a terminal may leave out silence, and a test need not wait.
 *   (2) Speech leaves a frame for each that is heard, and no faster: what was
 *       said is at most a moment ahead of what was played, and stops within it.
 *   (3) A terminal that takes nothing for STUCK_MS, or no call, is gone: nobody
 *       waits for it without a bound, and a call that is to stop stops.
 *   (4) Whatever a terminal sends, it gets no more memory than FRAME_MAX.
 */
#include "voice.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "wav.h"

enum {
    FRAME_MAX = 64 << 10, /* bytes behind a head */
    HEAD = 5,
    WAIT_MS = 100,
    LOOK_MS = 50, /* between two looks at whether to stop */
    STUCK_MS = 10000
};

struct terminal {
    int fd;
    const char *path; /* lent by the wish */
    unsigned char in[HEAD + FRAME_MAX];
    size_t n_in;
    struct pcm heard; /* whole frames that came, and */
    size_t heard_at;  /* how much of them was used */
    int64_t quiet;    /* frames of silence that are to be heard */
    enum heard ended; /* HEARD: it did not */
};

static mortise_status no_line(struct session *s, const char *path, int error)
{
    const char *words = strerrordesc_np(error);
    int is_gone = error == ENOENT || error == ENOTDIR;

    return no(s, &voice_line, "unix:%s: %s%s", path,
              words != NULL ? words : "unknown error",
              is_gone ? "; start the terminal, or change `sockets` of the "
                        "plugin's config"
                      : "");
}

/* A socket before which others wait says so at once, and has room later (3). */
static mortise_status reach(struct session *s, const struct terminal *t,
                            const struct sockaddr_un *to)
{
    int waited = 0;

    while (connect(t->fd, (const struct sockaddr *)to, sizeof *to) != 0) {
        if (errno != EAGAIN)
            return no_line(s, t->path, errno);
        if (waited >= STUCK_MS)
            return no(s, &voice_line,
                      "unix:%s: the terminal did not accept the connection "
                      "within %d s",
                      t->path, STUCK_MS / 1000);
        poll(NULL, 0, LOOK_MS);
        waited += LOOK_MS;
        if (go_on(s) != MORTISE_S_OK)
            return voice_cancelled.status;
    }
    return MORTISE_S_OK;
}

mortise_status terminal_open(struct session *s, const char *path,
                             struct terminal **out)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    mortise_status status;
    struct terminal *t;

    if (strlen(path) >= sizeof to.sun_path)
        return no(s, &voice_invalid,
                  "unix:%s has %zu bytes, but the path of a socket can have at "
                  "most %zu; shorten it in `sockets` of the plugin's config",
                  path, strlen(path), sizeof to.sun_path - 1);
    memcpy(to.sun_path, path, strlen(path));
    t = calloc(1, sizeof *t);
    if (t == NULL)
        return no_mem(s);
    t->path = path;
    t->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    status = t->fd >= 0 ? reach(s, t, &to) : no_line(s, path, errno);
    if (status == MORTISE_S_OK)
        *out = t;
    else
        terminal_close(t);
    return status;
}

void terminal_close(struct terminal *t)
{
    if (t == NULL)
        return;
    if (t->fd >= 0)
        close(t->fd);
    pcm_free(&t->heard);
    free(t);
}

/* ---- what comes ------------------------------------------------------------ */

static uint32_t length_of(const unsigned char *head)
{
    return (uint32_t)head[1] | (uint32_t)head[2] << 8 |
           (uint32_t)head[3] << 16 | (uint32_t)head[4] << 24;
}

static enum heard fail(struct session *s, const struct terminal *t,
                       const char *words)
{
    no(s, &voice_line, "unix:%s: %s", t->path, words);
    return HEARD_FAILED;
}

static enum heard take_sound(struct session *s, struct terminal *t,
                             const unsigned char *p, size_t n)
{
    char why[WAV_WHY];
    struct wav wav;

    if (!wav_read_raw(&wav, p, n, why))
        return fail(s, t, "a frame of sound ends in the middle of a sample");
    pcm_keep_last(&t->heard, t->heard.n - t->heard_at);
    t->heard_at = 0;
    if (wav_decode(&wav, &t->heard) != MORTISE_S_OK) {
        no_mem(s);
        return HEARD_FAILED;
    }
    return HEARD;
}

static enum heard take_end(struct session *s, const struct terminal *t,
                           const unsigned char *p, size_t n)
{
    const mortise_str why = mortise_strn((const char *)p, n);

    if (n == 0 || mortise_str_is(why, "hangup"))
        return HEARD_END;
    if (mortise_str_is(why, "manual"))
        return HEARD_STOP;
    return fail(s, t, "a frame E has neither hangup nor manual");
}

static enum heard take_frame(struct session *s, struct terminal *t, size_t n)
{
    switch (t->in[0]) {
    case 'A':
        return take_sound(s, t, t->in + HEAD, n);
    case 'E':
        return take_end(s, t, t->in + HEAD, n);
    default:
        return fail(s, t, "the terminal sent a frame that is neither A nor E");
    }
}

/* All whole frames of what came. */
static enum heard take_frames(struct session *s, struct terminal *t)
{
    enum heard heard = HEARD;

    while (heard == HEARD && t->n_in >= HEAD) {
        const uint32_t n = length_of(t->in);

        if (n > FRAME_MAX) /* (4) */
            return fail(s, t, "a frame exceeds 65536 bytes");
        if (t->n_in < HEAD + n)
            break;
        heard = take_frame(s, t, n);
        t->n_in -= HEAD + n;
        memmove(t->in, t->in + HEAD + n, t->n_in);
    }
    return heard;
}

static enum heard take_bytes(struct session *s, struct terminal *t)
{
    const ssize_t got =
        recv(t->fd, t->in + t->n_in, sizeof t->in - t->n_in, MSG_DONTWAIT);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return HEARD;
    if (got < 0 && errno != ECONNRESET) {
        no_line(s, t->path, errno);
        return HEARD_FAILED;
    }
    if (got <= 0)
        return HEARD_END;
    t->n_in += (size_t)got;
    return take_frames(s, t);
}

static int has_frame(const struct terminal *t)
{
    return t->heard.n - t->heard_at >= FRAME;
}

/* What is there to be heard before the end: the last of it may be less than a
 * frame. */
static enum heard give(struct terminal *t, int16_t frame[FRAME])
{
    size_t n = t->heard.n - t->heard_at;

    n = n < FRAME ? n : FRAME;
    memset(frame, 0, FRAME * sizeof *frame);
    if (n > 0)
        memcpy(frame, t->heard.p + t->heard_at, n * sizeof *frame);
    t->heard_at += n;
    return HEARD;
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

enum heard terminal_hear(struct session *s, struct terminal *t,
                         int16_t frame[FRAME])
{
    const int64_t since = now_ms();

    while (t->ended == HEARD && t->quiet == 0 && !has_frame(t)) {
        struct pollfd fd = {.fd = t->fd, .events = POLLIN};
        const int ready = poll(&fd, 1, LOOK_MS);

        if (go_on(s) != MORTISE_S_OK)
            return HEARD_FAILED;
        if (ready > 0)
            t->ended = take_bytes(s, t);
        if (!has_frame(t) && now_ms() - since >= WAIT_MS) /* (1) */
            t->quiet = WAIT_MS / FRAME_MS;
    }
    if (t->heard.n > t->heard_at && (has_frame(t) || t->ended != HEARD))
        return give(t, frame);
    if (t->ended != HEARD)
        return t->ended;
    t->quiet--;
    memset(frame, 0, FRAME * sizeof *frame);
    return HEARD;
}

/* ---- what goes ------------------------------------------------------------- */

/* (3) */
static mortise_status put(struct session *s, struct terminal *t,
                          const unsigned char *p, size_t n)
{
    int waited = 0;

    while (n > 0) {
        const ssize_t sent = send(t->fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        struct pollfd fd = {.fd = t->fd, .events = POLLOUT};

        if (sent >= 0) {
            p += sent;
            n -= (size_t)sent;
            continue;
        }
        if (errno == EPIPE || errno == ECONNRESET) {
            t->ended = t->ended == HEARD ? HEARD_END : t->ended;
            return MORTISE_S_OK; /* it is heard that it is over */
        }
        if (errno != EAGAIN && errno != EINTR)
            return no_line(s, t->path, errno);
        if (waited >= STUCK_MS)
            return no(s, &voice_line,
                      "unix:%s: the terminal read no data for %d s", t->path,
                      STUCK_MS / 1000);
        waited += poll(&fd, 1, LOOK_MS) == 0 ? LOOK_MS : 0;
        if (go_on(s) != MORTISE_S_OK)
            return voice_cancelled.status;
    }
    return MORTISE_S_OK;
}

static void put_head(unsigned char *to, char kind, size_t n)
{
    to[0] = (unsigned char)kind;
    for (int i = 0; i < 4; i++)
        to[1 + i] = (unsigned char)(n >> 8 * i);
}

mortise_status terminal_say(struct session *s, struct terminal *t,
                            const int16_t *p, size_t n)
{
    unsigned char frame[HEAD + 2 * FRAME];

    put_head(frame, 'A', 2 * n);
    wav_encode(frame + HEAD, p, n);
    return put(s, t, frame, HEAD + 2 * n);
}

mortise_status terminal_hush(struct session *s, struct terminal *t)
{
    unsigned char frame[HEAD];

    put_head(frame, 'C', 0);
    return put(s, t, frame, sizeof frame);
}
