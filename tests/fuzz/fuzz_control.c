/* fuzz_control.c -- an engine's control socket against arbitrary bytes.
 *
 * One engine with a store of its own lives as long as the process.  Each input
 * is a client: it says its bytes in pieces (the first byte says how large), half
 * closes, and hears what comes.  Whatever it says, every line of the answer is
 * an item, a reply or an error, and the next client is served. */
#include <errno.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/control.h"
#include "core/json/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TURNS = 4000 };

static char store[] = "/tmp/mortise-fuzz-XXXXXX";

static struct mortise *m;

static int drop(const char *path, const struct stat *st, int type,
                struct FTW *where)
{
    (void)st;
    (void)type;
    (void)where;
    return remove(path);
}

static void finish(void)
{
    mortise_close(m);
    nftw(store, drop, 16, FTW_DEPTH | FTW_PHYS);
}

static struct mortise *engine(void)
{
    struct mortise_options o = {
        .size = sizeof o, .flags = MORTISE_OPEN_LISTEN, .store = store};

    if (m != NULL)
        return m;
    if (mkdtemp(store) == NULL || mortise_open(&m, &o, NULL) != MORTISE_OK)
        abort();
    atexit(finish);
    return m;
}

static void check_line(const char *line, size_t n)
{
    json_t *v, *code;

    if (mortise_json_parse_written(&v, line, n, NULL) != MORTISE_OK ||
        json_object_size(v) != 1)
        abort();
    code = json_object_get(json_object_get(v, "error"), "code");
    if (code == NULL && json_object_get(v, "reply") == NULL &&
        json_object_get(v, "item") == NULL)
        abort();
    json_decref(v);
}

/* Take what is there; false at the end of all. */
static bool hear(int fd, struct mortise_buf *in)
{
    char some[4096];
    ssize_t n = recv(fd, some, sizeof some, MSG_DONTWAIT);
    const char *end;

    if (n > 0)
        mortise_buf_put(in, some, (size_t)n);
    while (in->n > 0 && (end = memchr(in->p, '\n', in->n)) != NULL) {
        size_t line = (size_t)(end - in->p) + 1;

        check_line(in->p, line - 1);
        in->n -= line;
        memmove(in->p, in->p + line, in->n);
    }
    return n != 0 && (n > 0 || errno == EAGAIN);
}

static void say(int fd, const uint8_t *data, size_t size)
{
    while (size > 0) {
        ssize_t n = send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);

        mortise_poll(engine(), 0, NULL);
        if (n < 0 && errno != EAGAIN)
            return; /* it was disconnected */
        data += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t piece = size > 0 ? (size_t)data[0] + 1 : 1;
    struct mortise_buf in;
    pid_t pid;
    bool more = true;
    int fd;

    engine();
    if (mortise_control_connect(store, NULL, &fd, &pid, NULL) != MORTISE_OK)
        abort();
    for (size_t i = 1; i < size; i += piece)
        say(fd, data + i, size - i < piece ? size - i : piece);
    shutdown(fd, SHUT_WR);
    mortise_buf_init(&in, &mortise_heap);
    for (int i = 0; more && i < TURNS; i++) {
        mortise_poll(engine(), more && i > 16 ? 1 : 0, NULL);
        more = hear(fd, &in);
    }
    mortise_buf_finish(&in);
    close(fd);
    mortise_poll(engine(), 0, NULL);
    return 0;
}
