/* stdio.c -- a server that is a program of the deployment's: a message is a
 * line.
 *
 * The host starts it (process.spawn/1), with the arguments, environment and
 * sandbox that the deployment has for the server of that name, and hands over
 * its lines; what is written to it goes the other way.
 *
 *   (1) One program is one wire.  When it ends, so does the wire: what had no
 *       answer may have happened, unless it was never written.
 *   (2) Whether something was written, the host says with the answer to its
 *       write; so the end of the program is told once the answers of all writes
 *       are there.  A line that was written in part is none, and nobody acts on
 *       it.
 *   (3) close() has its stdin closed; it gets two seconds to end by itself, and
 *       two more behind SIGTERM (process.end/1).  The memory is let go of with
 *       the host's last answer.
 */
#include "../../cause.h"
#include "server.h"

#include <assert.h>

struct line {
    struct line *next;
    struct mcp_wire *wire;
    int64_t id; /* of a request, or 0 */
};

struct mcp_wire {
    struct mcp_server *server;
    struct mcp_ear ear;
    int64_t process; /* the host's number; 0: not started (yet) */
    int closed;      /* nothing is told any more */
    int ended;       /* as `why` says, in `words` */
    struct mcp_trouble why;
    struct bytes words;
    struct line *lost; /* requests that were never written (2) */
    uint64_t asks;     /* of the host, that have no last answer */
    uint64_t writes;   /* those of them that write */
};

/* The wire may be gone behind it. */
static void let_go(struct mcp_wire *w)
{
    struct line *line;

    assert(w->asks > 0); /* each answer is for one */
    w->asks--;
    if (w->asks > 0 || !w->closed)
        return;
    while ((line = w->lost) != NULL) {
        w->lost = line->next;
        free(line);
    }
    bytes_free(&w->words);
    free(w);
}

static mortise_status count(struct mcp_wire *w, mortise_status asked)
{
    if (asked == MORTISE_S_PENDING)
        w->asks++;
    return asked;
}

/* ---- the end ---------------------------------------------------------------- */

/* (2): what was never written, and then the rest. */
static void tell_end(struct mcp_wire *w)
{
    struct line *line;

    if (!w->ended || w->writes > 0 || w->closed)
        return;
    for (line = w->lost; line != NULL; line = line->next)
        w->ear.unsent(w->ear.ud, line->id);
    w->ear.lost(w->ear.ud, &w->why);
}

static void put(struct mcp_wire *w, const char *text)
{
    bytes_put(&w->words, mortise_strz(text));
}

static int has(mortise_str text, const char *word)
{
    const size_t n = strlen(word);

    for (uint64_t i = 0; i + n <= text.n; i++)
        if (memcmp(text.p + i, word, n) == 0)
            return 1;
    return 0;
}

/* A file that its sandbox does not have is denied to it, in the words of the
 * runtime that wanted it. */
static void put_advice(struct mcp_wire *w, mortise_jv written)
{
    struct bytes text = {0};

    if (bytes_decode(&text, written) == MORTISE_S_OK &&
        (has(bytes_str(&text), "EACCES") ||
         has(bytes_str(&text), "ermission denied"))) {
        put(w, " (a file may be missing in its sandbox: tools.mcp.");
        put(w, w->server->name);
        put(w, ".sandbox.fs.read)");
    }
    bytes_free(&text);
}

static void put_exit(struct mcp_wire *w, mortise_str answer)
{
    mortise_jv v = mortise_jv_of(answer);
    char words[64];
    int64_t code = 0;

    mortise_jv_int(mortise_jv_get(v, "exit"), &code);
    snprintf(words, sizeof words, "its program exited with %d", (int)code);
    put(w, words);
    put_advice(w, mortise_jv_get(v, "stderr"));
    cause_put(&w->words, mortise_jv_get(v, "stderr"));
}

/* How it ended, in w->why. */
static void judge_end(struct mcp_wire *w, mortise_status status,
                      mortise_str answer)
{
    w->ended = 1;
    w->why = mcp_trouble_of("mcp.lost", "transient", mortise_str_empty(), 1);
    if (status == MORTISE_S_OK) {
        put_exit(w, answer);
    } else if (status == MORTISE_S_FAILED) {
        w->why.code = "mcp.protocol";
        w->why.klass = "permanent";
    } else if (status == MORTISE_S_CANCELLED) {
        w->why.klass = "cancelled";
        w->why.arrived = w->process != 0;
    } else if (status != MORTISE_S_IO) { /* it was not started */
        w->why.code = "mcp.not_started";
        w->why.arrived = 0;
        if (status != MORTISE_S_NOMEM)
            w->why.klass = "permanent";
    }
    if (status != MORTISE_S_OK)
        bytes_put(&w->words, answer);
    w->why.words = bytes_str(&w->words);
}

/* ---- the program ------------------------------------------------------------ */

static void forget_answer(void *ud, mortise_status status, mortise_str answer)
{
    (void)status;
    (void)answer;
    let_go((struct mcp_wire *)ud);
}

/* (3) */
static void end_process(struct mcp_wire *w)
{
    const mortise_inst *i = w->server->inst;
    mortise_status status =
        count(w, mortise_process_end(i->host, i->api, i->background, w->process,
                                     forget_answer, w));

    (void)status; /* refused: the instance ends, and so does the program */
}

static void started(struct mcp_wire *w, mortise_str piece)
{
    mortise_jv v;

    if (mortise_jv_parse(piece, &v) == MORTISE_S_OK)
        mortise_jv_int(mortise_jv_get(v, "process"), &w->process);
    if (w->closed)
        end_process(w);
    else
        w->ear.opened(w->ear.ud);
}

static void spawned(void *ud, mortise_status status, mortise_str answer)
{
    struct mcp_wire *w = (struct mcp_wire *)ud;

    if (status == MORTISE_S_PENDING && w->process == 0) {
        started(w, answer);
    } else if (status == MORTISE_S_PENDING) {
        if (!w->closed && answer.n > 0)
            w->ear.heard(w->ear.ud, answer, 0);
    } else {
        judge_end(w, status, answer);
        tell_end(w);
        let_go(w);
    }
}

static mortise_status open_stdio(struct mcp_server *server,
                                 const struct mcp_ear *ear,
                                 struct mcp_wire **out)
{
    const mortise_inst *i = server->inst;
    struct mcp_wire *w;
    mortise_status status;

    if (i->background == 0)
        return MORTISE_S_UNSUPPORTED;
    w = (struct mcp_wire *)calloc(1, sizeof *w);
    if (w == NULL)
        return MORTISE_S_NOMEM;
    w->server = server;
    w->ear = *ear;
    status = count(
        w, mortise_process_spawn(i->host, i->api, i->background, "server",
                                 mortise_strz(server->name), 0, spawned, w));
    if (status != MORTISE_S_PENDING) {
        free(w);
        return status;
    }
    *out = w;
    return MORTISE_S_OK;
}

/* ---- writing ---------------------------------------------------------------- */

/* What reads no more is of no use: it is ended, and what it was not told is told
 * with its end. */
static void not_written(struct mcp_wire *w, struct line *line)
{
    int first = w->lost == NULL;

    line->next = w->lost;
    w->lost = line;
    if (first && !w->ended)
        end_process(w);
}

static void written(void *ud, mortise_status status, mortise_str answer)
{
    struct line *line = (struct line *)ud;
    struct mcp_wire *w = line->wire;
    const struct mcp_trouble full =
        mcp_trouble_of("mcp.lost", "transient", answer, 0);

    w->writes--;
    if (status == MORTISE_S_IO && line->id != 0 && !w->closed) {
        not_written(w, line);
    } else {
        if (status != MORTISE_S_OK && line->id != 0 && !w->closed)
            w->ear.failed(w->ear.ud, line->id, &full);
        free(line);
    }
    tell_end(w);
    let_go(w);
}

static mortise_status send_stdio(struct mcp_wire *w,
                                 const struct mcp_message *m)
{
    const mortise_inst *i = w->server->inst;
    struct line *line = (struct line *)calloc(1, sizeof *line);
    uint64_t cap = 6 * m->json.n + 64;
    char *room = (char *)malloc(cap);
    mortise_status status = MORTISE_S_NOMEM;

    if (line != NULL && room != NULL) {
        *line = (struct line){NULL, w, m->id};
        status = count(w, mortise_process_write(i->host, i->api, i->background,
                                                w->process, m->json, room, cap,
                                                written, line));
    }
    free(room);
    if (status != MORTISE_S_PENDING) {
        free(line);
        return status;
    }
    w->writes++;
    return MORTISE_S_OK;
}

static void agreed(struct mcp_wire *w, enum mcp_era era, const char *version)
{
    (void)w; /* a line says all that there is to be said */
    (void)era;
    (void)version;
}

/* notifications/cancelled has told it. */
static void cancel(struct mcp_wire *w, int64_t id)
{
    (void)w;
    (void)id;
}

static void close_stdio(struct mcp_wire *w)
{
    w->closed = 1;
    w->asks++; /* not gone before it is through here */
    if (w->process != 0 && !w->ended)
        end_process(w);
    let_go(w);
}

const struct mcp_transport mcp_stdio = {.silence_is_legacy = 1,
                                        .tells_cancel = 1,
                                        .open = open_stdio,
                                        .agreed = agreed,
                                        .send = send_stdio,
                                        .cancel = cancel,
                                        .close = close_stdio};
