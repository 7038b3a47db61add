/* audio.c -- ears and mouths: files of the deployment's directory, and sockets
 * that it lists.
 *
 *     NAME.wav               RIFF/WAVE (wav.h); of 8 to 48 kHz, brought to ours
 *     NAME.pcm, NAME.raw     samples of ours and nothing else
 *     unix:PATH              a terminal (terminal.c)
 *
 *   (1) A name comes from a graph, and may come from whoever started the run: no
 *       file outside of the directory is opened, whatever the name says and
 *       whoever moves links meanwhile (openat2, RESOLVE_BENEATH), and no socket
 *       that the deployment does not list, letter by letter.
 *   (2) A file is heard as it was when it was opened: it is read whole, up to
 *       FILE_MAX, and then closed.
 *   (3) What was said stands in its file when mouth_settle() returns, synced, and
 *       its head says how much it is.  Behind a crash the same is written again
 *       to the same place (mouth_seek), so that no sentence stands there twice.
 *   (4) What was heard and given back is heard first.
 */
#include "voice.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "wav.h"

enum { FILE_MAX = 256 << 20 };

/* ---- files ----------------------------------------------------------------- */

static int ends_in(const char *name, const char *end)
{
    const size_t n = strlen(name), m = strlen(end);

    return n > m && strcmp(name + n - m, end) == 0;
}

static mortise_status no_errno(struct session *s, const char *doing,
                               const char *name, int error)
{
    const struct reason *why = error == ENOENT   ? &voice_not_found
                               : error == EXDEV  ? &voice_denied
                               : error == EACCES ? &voice_denied
                               : error == ENOMEM ? &voice_no_memory
                                                 : &voice_io;
    const char *words = error == EXDEV
                            ? "it leads out of the plugin's directory"
                            : strerrordesc_np(error);

    return no(s, why, "%s %s: %s", doing, name,
              words != NULL ? words : "unknown error");
}

/* (1); -1 and errno. */
static int open_beneath(const struct session *s, const char *name, int flags)
{
    struct open_how how = {.flags = (unsigned)flags | O_CLOEXEC,
                           .mode = flags & O_CREAT ? 0644 : 0,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    long got;
    int tries = 100;

    do
        got = syscall(SYS_openat2, s->inst->directory, name, &how, sizeof how);
    while (got < 0 && (errno == EINTR || (errno == EAGAIN && tries-- > 0)));
    return (int)got;
}

static mortise_status open_file(struct session *s, const char *name, int flags,
                                int *fd)
{
    if (!ends_in(name, ".wav") && !ends_in(name, ".pcm") &&
        !ends_in(name, ".raw"))
        return no(s, &voice_invalid,
                  "'%s' is not an audio file (.wav, .pcm or .raw) or a socket "
                  "(unix:PATH)",
                  name);
    if (s->inst->directory < 0)
        return no(s, &voice_config,
                  "%s: set `directory` of audio files in the config of the "
                  "plugin voice",
                  name);
    *fd = open_beneath(s, name, flags);
    return *fd >= 0 ? MORTISE_S_OK : no_errno(s, "open", name, errno);
}

/* A file that was made is a name in its directory (3). */
static mortise_status sync_name(struct session *s, const char *name)
{
    const char *slash = strrchr(name, '/');
    char place[PATH_MAX] = ".";
    int fd, rv;

    if (slash != NULL)
        snprintf(place, sizeof place, "%.*s", (int)(slash - name), name);
    fd = open_beneath(s, place, O_RDONLY | O_DIRECTORY);
    rv = fd >= 0 ? fsync(fd) : -1;
    if (rv != 0)
        rv = errno;
    if (fd >= 0)
        close(fd);
    return rv == 0 || rv == EINVAL ? MORTISE_S_OK
                                   : no_errno(s, "sync the place of", name, rv);
}

static mortise_status slurp(struct session *s, const char *name, int fd,
                            struct bytes *to)
{
    struct stat st;
    ssize_t got = 1;
    mortise_status status = MORTISE_S_OK;

    if (fstat(fd, &st) != 0)
        return no_errno(s, "look at", name, errno);
    if (!S_ISREG(st.st_mode))
        return no(s, &voice_invalid, "%s is not a regular file", name);
    if (st.st_size > FILE_MAX)
        return no(s, &voice_bad_audio, "%s is larger than %d MiB", name,
                  FILE_MAX >> 20);
    while (status == MORTISE_S_OK && got > 0) {
        if (bytes_room(to, 1 << 16) != MORTISE_S_OK)
            return no_mem(s);
        got = read(fd, to->p + to->n, 1 << 16);
        if (got > 0)
            to->n += (uint64_t)got;
        else if (got < 0 && errno != EINTR)
            return no_errno(s, "read", name, errno);
        else if (got < 0)
            got = 1;
        status = to->n > FILE_MAX ? no(s, &voice_bad_audio, "%s grows", name)
                                  : go_on(s);
    }
    return status;
}

static mortise_status decode(struct session *s, const char *name,
                             const struct bytes *file, struct pcm *to)
{
    char why[WAV_WHY];
    struct wav wav;
    mortise_status status;
    const int ok = ends_in(name, ".wav")
                       ? wav_read(&wav, file->p, file->n, 0, why)
                       : wav_read_raw(&wav, file->p, file->n, why);

    if (!ok)
        return no(s, &voice_bad_audio, "%s: %s", name, why);
    if (wav_decode(&wav, to) != MORTISE_S_OK)
        return no_mem(s);
    status = sound_resample(s, to, wav.rate);
    return status != MORTISE_S_INVALID
               ? status
               : no(s, &voice_bad_audio, "%s: %.600s", name, s->words);
}

/* (2) */
static mortise_status open_ear_file(struct session *s, const char *name)
{
    struct bytes file = {0};
    int fd = -1;
    mortise_status status =
        open_file(s, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, &fd);

    if (status == MORTISE_S_OK)
        status = slurp(s, name, fd, &file);
    if (status == MORTISE_S_OK)
        status = decode(s, name, &file, &s->ear.file);
    if (fd >= 0)
        close(fd);
    bytes_free(&file);
    return status;
}

static mortise_status open_mouth_file(struct session *s, const char *name)
{
    struct stat st;
    mortise_status status = open_file(
        s, name, O_RDWR | O_CREAT | O_NONBLOCK | O_NOCTTY, &s->mouth.fd);

    if (status != MORTISE_S_OK)
        return status;
    s->mouth.raw = !ends_in(name, ".wav");
    if (fstat(s->mouth.fd, &st) != 0 || !S_ISREG(st.st_mode))
        return no(s, &voice_invalid, "%s is not a regular file", name);
    return sync_name(s, name);
}

/* ---- which ----------------------------------------------------------------- */

static const char *socket_of(const struct bytes *name)
{
    return strncmp(name->p, "unix:", 5) == 0 ? name->p + 5 : NULL;
}

static mortise_status open_socket(struct session *s, const char *path,
                                  struct terminal **out)
{
    size_t i = 0;

    while (i < s->inst->n_sockets && strcmp(s->inst->sockets[i], path) != 0)
        i++;
    if (i == s->inst->n_sockets)
        return no(
            s, &voice_denied,
            "unix:%s is not in `sockets` of the config of the plugin voice",
            path);
    return terminal_open(s, path, out);
}

static mortise_status open_ear(struct session *s)
{
    const struct wish *w = &s->wish;
    const char *path = socket_of(&w->audio_in);
    mortise_status status;

    if (w->audio_in.n == 0 && w->mode == MODE_SPEAK) {
        /* whoever hears it may speak into it */
        s->ear.terminal = s->mouth.terminal;
        s->has_ear = s->mouth.terminal != NULL;
        return MORTISE_S_OK;
    }
    s->has_ear = 1;
    if (path == NULL)
        return open_ear_file(s, w->audio_in.p);
    if (socket_of(&w->audio_out) != NULL &&
        strcmp(path, socket_of(&w->audio_out)) == 0) {
        s->ear.terminal = s->mouth.terminal;
        return MORTISE_S_OK;
    }
    status = open_socket(s, path, &s->terminals[1]);
    s->ear.terminal = s->terminals[1];
    return status;
}

static mortise_status open_mouth(struct session *s)
{
    const struct wish *w = &s->wish;
    const char *path = socket_of(&w->audio_out);
    mortise_status status;

    if (w->mode == MODE_LISTEN)
        return MORTISE_S_OK;
    s->has_mouth = 1;
    if (w->audio_out.n > 0 && path == NULL)
        return open_mouth_file(s, w->audio_out.p);
    if (path == NULL)
        return MORTISE_S_OK; /* that of the ear */
    status = open_socket(s, path, &s->terminals[0]);
    s->mouth.terminal = s->terminals[0];
    return status;
}

mortise_status sound_open(struct session *s)
{
    mortise_status status;

    s->mouth.fd = -1;
    if (s->wish.audio_in.n > 0 && socket_of(&s->wish.audio_in) == NULL &&
        strcmp(s->wish.audio_in.p, s->wish.audio_out.p) == 0)
        return no(s, &voice_invalid, "%s is both audio_in and audio_out",
                  s->wish.audio_in.p);
    status = open_mouth(s);
    if (status == MORTISE_S_OK)
        status = open_ear(s);
    if (status != MORTISE_S_OK || !s->has_mouth || s->mouth.fd >= 0 ||
        s->mouth.terminal != NULL)
        return status;
    s->mouth.terminal = s->ear.terminal;
    return s->mouth.terminal != NULL
               ? MORTISE_S_OK
               : no(s, &voice_invalid,
                    "a conversation with a file as audio_in needs `audio_out`");
}

void sound_close(struct session *s)
{
    for (size_t i = 0; i < 2; i++)
        terminal_close(s->terminals[i]);
    pcm_free(&s->ear.file);
    pcm_free(&s->ear.back);
    if (s->mouth.fd >= 0)
        close(s->mouth.fd);
}

/* ---- hearing --------------------------------------------------------------- */

/* (4) */
static int hear_back(struct ear *e, int16_t frame[FRAME])
{
    if (e->back.n - e->back_at < FRAME)
        return 0;
    memcpy(frame, e->back.p + e->back_at, FRAME * sizeof *frame);
    e->back_at += FRAME;
    return 1;
}

static enum heard hear_file(struct ear *e, int16_t frame[FRAME])
{
    const size_t left = e->file.n - e->at, n = left < FRAME ? left : FRAME;

    if (n == 0)
        return HEARD_END;
    memset(frame, 0, FRAME * sizeof *frame);
    memcpy(frame, e->file.p + e->at, n * sizeof *frame);
    e->at += n;
    return HEARD;
}

enum heard ear_hear(struct session *s, int16_t frame[FRAME])
{
    struct ear *e = &s->ear;

    if (hear_back(e, frame))
        return HEARD;
    return e->terminal != NULL ? terminal_hear(s, e->terminal, frame)
                               : hear_file(e, frame);
}

mortise_status ear_return(struct session *s, const struct pcm *heard)
{
    struct ear *e = &s->ear;
    struct pcm all = {NULL, 0, 0};
    mortise_status status = pcm_put(&all, heard->p, heard->n);

    if (status == MORTISE_S_OK)
        status = pcm_put(&all, e->back.p + e->back_at, e->back.n - e->back_at);
    if (status != MORTISE_S_OK) {
        pcm_free(&all);
        return no_mem(s);
    }
    pcm_free(&e->back);
    e->back = all;
    e->back_at = 0;
    return MORTISE_S_OK;
}

int64_t ear_tell(const struct session *s)
{
    const struct ear *e = &s->ear;
    const size_t back = e->back.n - e->back_at;

    return (int64_t)(e->at > back ? e->at - back : 0);
}

void ear_seek(struct session *s, int64_t at)
{
    struct ear *e = &s->ear;

    if (e->terminal != NULL)
        return; /* what was said meanwhile is lost */
    pcm_free(&e->back);
    e->back_at = 0;
    e->at = at < 0 || (size_t)at > e->file.n ? e->file.n : (size_t)at;
}

/* ---- speaking -------------------------------------------------------------- */

static mortise_status write_at(struct session *s, const unsigned char *p,
                               size_t n, size_t at)
{
    while (n > 0) {
        const ssize_t put = pwrite(s->mouth.fd, p, n, (off_t)at);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return no_errno(s, "write", s->wish.audio_out.p, errno);
        p += put;
        n -= (size_t)put;
        at += (size_t)put;
    }
    return MORTISE_S_OK;
}

static size_t byte_of(const struct mouth *m, size_t sample)
{
    return (m->raw ? 0 : WAV_HEAD) + 2 * sample;
}

mortise_status mouth_say(struct session *s, const int16_t *p, size_t n)
{
    unsigned char bytes[2 * FRAME];
    struct mouth *m = &s->mouth;
    mortise_status status;

    if (m->terminal != NULL)
        return terminal_say(s, m->terminal, p, n);
    assert(n <= FRAME);
    wav_encode(bytes, p, n);
    status = write_at(s, bytes, 2 * n, byte_of(m, m->at));
    m->at += n;
    return status;
}

/* (3) */
mortise_status mouth_settle(struct session *s)
{
    unsigned char head[WAV_HEAD];
    const struct mouth *m = &s->mouth;
    mortise_status status = MORTISE_S_OK;

    if (m->terminal != NULL)
        return MORTISE_S_OK;
    if (ftruncate(m->fd, (off_t)byte_of(m, m->at)) != 0)
        return no_errno(s, "cut", s->wish.audio_out.p, errno);
    wav_head(head, m->at);
    if (!m->raw)
        status = write_at(s, head, sizeof head, 0);
    if (status == MORTISE_S_OK && fsync(m->fd) != 0)
        status = no_errno(s, "sync", s->wish.audio_out.p, errno);
    return status;
}

void mouth_seek(struct session *s, int64_t at)
{
    s->mouth.at = at > 0 ? (size_t)at : 0;
}

mortise_status mouth_hush(struct session *s)
{
    return s->mouth.terminal != NULL ? terminal_hush(s, s->mouth.terminal)
                                     : MORTISE_S_OK;
}
