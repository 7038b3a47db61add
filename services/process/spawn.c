/* spawn.c -- process.spawn/1, process.write/1 and process.end/1: a program that
 * runs beside its plugin and communicates in lines.
 *
 *   process.spawn/1  {program | server, max_line?}
 *   process.write/1  {process, text}
 *   process.end/1    {process}
 *
 * `program` names one of the deployment's programs, `server` a local server of
 * its tools.mcp.  The manifest's permissions.exec lists those that the plugin
 * may start ("mcp:NAME" for a server).  mortise-worker enforces the
 * deployment's limits.
 *
 * The first piece of the answer is {"process": N}, the number for the other two
 * methods; each further piece is a line of stdout, without its line end.  When
 * the program has ended, the answer is {exit, stderr}, or one of these
 * failures:
 *
 * MORTISE_S_NOTFOUND  it was not started
 * MORTISE_S_IO        a signal ended it
 * MORTISE_S_FAILED    it was killed because of a line longer than max_line
 *
 *   (1) None of this is recorded.  The plugin stores the data that it needs
 *       after a crash by steps of its own (journal.c).
 *   (2) The program lives no longer than its spawn call: as long as the
 *       instance if the call was made in the background, otherwise as long as
 *       the plugin's call.  Ending the spawn call closes stdin, and kills the
 *       program if it does not exit then.
 *   (3) A process number is valid only within the call that spawned the
 *       process.
 *   (4) stderr goes to the log, with control characters replaced; its last
 *       bytes are in the answer. */
#include <stdio.h>
#include <string.h>

#include "lang/config/deploy.h"
#include "core/engine/common/secret_store.h"
#include "services/process/methods.h"
#include "services/secrets/body.h"
#include "services/process/launching.h"
#include "services/secrets/secret.h"
#include "services/process/process.h"
#include "core/engine/runs/call.h"

enum {
    GRACE_MS = 2000, /* after closing stdin, and after a signal */
    DEFAULT_LINE_MAX = 16 << 20,
    STDERR_TAIL = 4096, /* last bytes of stderr for the answer */
    LOG_LINE = 512
};

struct spawned {
    struct mortise_asked *a; /* NULL: the spawn call is over */
    struct mortise_process *process;
    const struct mortise_mem *mem;
    struct mortise_buf line; /* an incomplete line */
    size_t max_line;
    bool is_delivering; /* a piece is being delivered: do not free */
    size_t n_tail;
    char tail[STDERR_TAIL];
};

static void free_spawned(struct spawned *s)
{
    mortise_buf_finish(&s->line);
    mortise_release(s->mem, s, sizeof *s);
}

/* Detach from the spawn call; free, unless a delivery is in progress. */
static void detach_spawned(struct spawned *s)
{
    s->a = NULL;
    if (!s->is_delivering)
        free_spawned(s);
}

static const char *get_spawn_name(const struct mortise_asked *a)
{
    const char *program =
        json_string_value(json_object_get(a->body, "program"));

    return program != NULL
               ? program
               : json_string_value(json_object_get(a->body, "server"));
}

/* ---- output ------------------------------------------------------------- */

static void deliver_line(struct spawned *s, const char *p, size_t n)
{
    if (s->a != NULL)
        mortise_host_call_send_piece(s->a, p, n);
}

static void fail_long_line(struct spawned *s)
{
    struct mortise_asked *a = s->a;

    mortise_process_cancel(s->process);
    a->data = NULL;
    s->a = NULL;
    mortise_host_call_answer(
        a, MORTISE_S_FAILED, NULL,
        "the program wrote a line longer than max_line and was killed");
}

/* Add bytes without a line end to the incomplete line. */
static void add_to_line(struct spawned *s, const char *p, size_t n)
{
    if (s->a == NULL)
        return;
    mortise_buf_put(&s->line, p, n);
    if (s->line.n > s->max_line || s->line.failed)
        fail_long_line(s);
}

static void deliver_lines(struct spawned *s, const char *p, size_t n)
{
    const char *end;

    while (s->a != NULL && (end = memchr(p, '\n', n)) != NULL) {
        size_t len = (size_t)(end - p);

        if (s->line.n == 0 && len <= s->max_line) {
            deliver_line(s, p, len);
        } else {
            add_to_line(s, p, len);
            deliver_line(s, s->line.p, s->line.n);
            mortise_buf_clear(&s->line);
        }
        n -= len + 1;
        p = end + 1;
    }
    add_to_line(s, p, n);
}

/* (4) */
static void log_stderr_line(const struct mortise_asked *a, const char *p,
                            size_t n)
{
    char fit[LOG_LINE];
    size_t len = 0;

    for (; len < n && len + 1 < sizeof fit; len++)
        fit[len] =
            (unsigned char)p[len] < 0x20 || p[len] == 0x7f ? '?' : p[len];
    fit[len] = '\0';
    if (len > 0)
        mortise_log(a->m, MORTISE_LOG_DEBUG, "program '%s': %s",
                    get_spawn_name(a), fit);
}

static void add_to_stderr_tail(struct spawned *s, const char *p, size_t n)
{
    size_t old;

    if (n >= STDERR_TAIL) {
        memcpy(s->tail, p + (n - STDERR_TAIL), STDERR_TAIL);
        s->n_tail = STDERR_TAIL;
        return;
    }
    old = s->n_tail < STDERR_TAIL - n ? s->n_tail : STDERR_TAIL - n;
    memmove(s->tail, s->tail + (s->n_tail - old), old);
    memcpy(s->tail + old, p, n);
    s->n_tail = old + n;
}

static void record_stderr(struct spawned *s, const char *p, size_t n)
{
    const char *end;

    add_to_stderr_tail(s, p, n);
    while ((end = memchr(p, '\n', n)) != NULL) {
        log_stderr_line(s->a, p, (size_t)(end - p));
        n -= (size_t)(end - p) + 1;
        p = end + 1;
    }
    log_stderr_line(s->a, p, n);
}

static void on_spawned_output(void *ud, bool is_error, const char *p, size_t n)
{
    struct spawned *s = ud;

    s->is_delivering = true;
    if (is_error)
        record_stderr(s, p, n);
    else
        deliver_lines(s, p, n);
    s->is_delivering = false;
    if (s->a == NULL)
        free_spawned(s);
}

/* ---- exit --------------------------------------------------------------- */

/* Encode the end of stderr, starting at a whole character. */
static json_t *encode_stderr_tail(const struct spawned *s)
{
    const char *p = s->tail;
    size_t n = s->n_tail;
    json_t *text;

    while (n == STDERR_TAIL && n > 0 && ((unsigned char)*p & 0xc0) == 0x80) {
        p++;
        n--;
    }
    text = json_stringn(p, n);
    return text != NULL ? text : json_string("");
}

static void on_spawned_exit(void *ud, const struct mortise_process_end *end)
{
    struct spawned *s = ud;
    struct mortise_asked *a = s->a;
    json_t *value = NULL;

    s->process = NULL; /* it is freed, even if a delivery cancels the call */
    s->is_delivering = true;
    if (s->line.n > 0)
        deliver_line(s, s->line.p, s->line.n);
    s->is_delivering = false;
    if (s->a != NULL) {
        a->data = NULL;
        snprintf(a->words, sizeof a->words, "%s",
                 end->outcome == MORTISE_PROCESS_TIMEOUT
                     ? "the program did not exit by itself and was killed"
                     : end->words);
        mortise_secret_store_mask_text(a->m->secret_store, a->words,
                                       sizeof a->words);
        if (end->outcome == MORTISE_PROCESS_EXITED)
            value = json_pack("{s:i, s:o}", "exit", end->code, "stderr",
                              encode_stderr_tail(s));
        mortise_host_call_answer(a,
                                 value != NULL ? MORTISE_S_OK
                                 : end->outcome == MORTISE_PROCESS_REFUSED
                                     ? MORTISE_S_NOTFOUND
                                     : MORTISE_S_IO,
                                 value, a->words);
    }
    free_spawned(s);
}

/* ---- process.spawn/1 ---------------------------------------------------- */

static const struct mortise_body_member spawn_members[] = {
    {"program", "a string", mortise_body_is_text},
    {"server", "a string", mortise_body_is_text},
    {"max_line", "a number of bytes", mortise_body_is_count},
};

static int find_spawn_program(const struct mortise_asked *a,
                              struct mortise_launch_target *out,
                              struct mortise_err *err)
{
    const char *server = json_string_value(json_object_get(a->body, "server"));

    return server != NULL
               ? mortise_launching_find_server(a, server, out, err)
               : mortise_launching_find(a, get_spawn_name(a), out, err);
}

static int32_t check_process_spawn(struct mortise_asked *a, char *words)
{
    int32_t status = mortise_body_check(
        a->body, spawn_members, sizeof spawn_members / sizeof spawn_members[0],
        "a program of process.spawn/1", words);
    struct mortise_launch_target what;
    struct mortise_err err;
    int rv;

    if (status != MORTISE_S_OK)
        return status;
    if ((json_object_get(a->body, "program") == NULL) ==
        (json_object_get(a->body, "server") == NULL))
        return mortise_ask_format_error(
            words, MORTISE_S_INVALID,
            "a program of process.spawn/1 needs a name: `program` or `server`");
    rv = find_spawn_program(a, &what, &err);
    return rv == MORTISE_OK
               ? MORTISE_S_OK
               : mortise_ask_format_error(
                     words, mortise_launching_map_error(rv), "%.500s", err.msg);
}

static int start_spawned_process(struct mortise_asked *a,
                                 const struct mortise_buf *words,
                                 struct mortise_err *err)
{
    json_int_t most = json_integer_value(json_object_get(a->body, "max_line"));
    struct spawned *s = mortise_zalloc(a->m->mem, sizeof *s);
    struct mortise_process_request r = {
        .worker = a->m->settings.worker,
        .words = words->p,
        .n_words = words->n,
        .mask = mortise_secret_store_get_mask(a->m->secret_store),
        .piece = on_spawned_output,
        .done = on_spawned_exit,
        .ud = s};
    int rv = s != NULL ? MORTISE_OK : mortise_nomem(err);

    if (rv == MORTISE_OK) {
        s->a = a;
        s->mem = a->m->mem;
        s->max_line = most > 0 ? (size_t)most : DEFAULT_LINE_MAX;
        mortise_buf_init(&s->line, s->mem);
        rv = mortise_process_start(*a->kept, &r, &s->process, err);
    }
    mortise_mask_unref(r.mask);
    if (rv == MORTISE_OK)
        a->data = s;
    else if (s != NULL)
        free_spawned(s);
    return rv;
}

/* All secrets are available, or their errors are reported now. */
static void launch_spawned(struct mortise_asked *a)
{
    struct mortise_launch_target what;
    struct mortise_buf words;
    struct mortise_err err;
    char number[48];
    int rv = find_spawn_program(a, &what, &err);

    mortise_buf_init(&words, a->m->mem);
    if (rv == MORTISE_OK)
        rv = mortise_launching_add_all(&words, a, &what, &err);
    if (rv == MORTISE_OK && words.failed)
        rv = mortise_nomem(&err);
    if (rv == MORTISE_OK)
        rv = start_spawned_process(a, &words, &err);
    mortise_launching_wipe(&words);
    mortise_buf_finish(&words);
    if (rv != MORTISE_OK) {
        mortise_host_call_answer(a, mortise_launching_map_error(rv), NULL,
                                 err.msg);
        return;
    }
    snprintf(number, sizeof number, "{\"process\":%llu}",
             (unsigned long long)a->handle);
    mortise_host_call_send_piece(a, number, strlen(number));
}

static void start_process_spawn(struct mortise_asked *a)
{
    struct mortise_launch_target what;
    struct mortise_err err;
    int rv = find_spawn_program(a, &what, &err);

    if (rv == MORTISE_OK)
        rv = mortise_launching_await_secrets(a, &what, launch_spawned, &err);
    if (rv != MORTISE_OK)
        mortise_host_call_answer(a, mortise_launching_map_error(rv), NULL,
                                 err.msg);
}

/* (2) */
static void cancel_process_spawn(struct mortise_asked *a)
{
    struct spawned *s = a->data;

    if (s == NULL)
        return;
    a->data = NULL;
    if (s->process != NULL)
        mortise_process_abandon(s->process, GRACE_MS);
    detach_spawned(s);
}

const struct mortise_host_call_method mortise_host_call_process_spawn = {
    .effect = MORTISE_HOST_CALL_UNRECORDED,
    .check = check_process_spawn,
    .needs_no_run = true,
    .start = start_process_spawn,
    .cancel = cancel_process_spawn,
};

/* ---- process.write/1 and process.end/1 ---------------------------------- */

/* (3).  NULL: the process has ended, or the number is not valid. */
static struct mortise_process *
find_spawned_process(const struct mortise_asked *a)
{
    json_int_t number = json_integer_value(json_object_get(a->body, "process"));

    for (struct mortise_asked *b = a->call->asked; b != NULL; b = b->next) {
        const struct spawned *s = b->data;

        if (b->method == &mortise_host_call_process_spawn && s != NULL &&
            b->fetch == NULL && (json_int_t)b->handle == number)
            return s->process;
    }
    return NULL;
}

static bool is_process_number(const json_t *value)
{
    return json_is_integer(value);
}

static bool is_single_line(const json_t *value)
{
    return json_is_string(value) && memchr(json_string_value(value), '\n',
                                           json_string_length(value)) == NULL;
}

static const struct mortise_body_member write_members[] = {
    {"process", "the number of a process", is_process_number},
    {"text", "one line, without its line end", is_single_line},
};

static int32_t check_process_write(struct mortise_asked *a, char *words)
{
    int32_t status = mortise_body_check(
        a->body, write_members, sizeof write_members / sizeof write_members[0],
        "a request of process.write/1", words);

    if (status != MORTISE_S_OK || json_object_size(a->body) == 2)
        return status;
    return mortise_ask_format_error(
        words, MORTISE_S_INVALID,
        "a request of process.write/1 must be {process, text}");
}

struct writing {
    struct mortise_process_text text;
    struct mortise_asked *a;
};

static void free_writing(struct writing *w)
{
    mortise_release(w->a->m->mem, w, sizeof *w);
}

static void answer_write(struct mortise_asked *a, bool taken)
{
    if (taken)
        mortise_host_call_answer(a, MORTISE_S_OK, json_null(), "");
    else
        mortise_host_call_answer(a, MORTISE_S_IO, NULL,
                                 "the program no longer reads its input");
}

static void on_line_written(struct mortise_process_text *t, bool taken)
{
    struct writing *w = MORTISE_CONTAINER_OF(t, struct writing, text);
    struct mortise_asked *a = w->a;

    a->data = NULL;
    free_writing(w);
    answer_write(a, taken);
}

static int write_process_line(const struct mortise_asked *a,
                              struct mortise_process *p, struct writing *w,
                              struct mortise_err *err)
{
    const json_t *text = json_object_get(a->body, "text");
    struct mortise_buf line;
    int rv;

    mortise_buf_init(&line, a->m->mem);
    mortise_buf_put(&line, json_string_value(text), json_string_length(text));
    mortise_buf_puts(&line, "\n");
    rv = line.failed ? mortise_nomem(err)
                     : mortise_process_write(p, line.p, line.n, &w->text, err);
    mortise_launching_wipe(&line);
    mortise_buf_finish(&line);
    return rv;
}

static void start_process_write(struct mortise_asked *a)
{
    struct mortise_process *p = find_spawned_process(a);
    struct writing *w;
    struct mortise_err err;
    int rv;

    if (p == NULL) {
        answer_write(a, false);
        return;
    }
    w = mortise_zalloc(a->m->mem, sizeof *w);
    if (w == NULL) {
        mortise_host_call_answer(a, MORTISE_S_NOMEM, NULL, "out of memory");
        return;
    }
    w->a = a;
    w->text.done = on_line_written;
    rv = write_process_line(a, p, w, &err);
    if (rv == MORTISE_OK && w->text.process != NULL) {
        a->data = w;
        return;
    }
    free_writing(w);
    if (rv == MORTISE_OK)
        answer_write(a, true);
    else
        mortise_host_call_answer(a,
                                 rv == MORTISE_ENOMEM   ? MORTISE_S_NOMEM
                                 : rv == MORTISE_ELIMIT ? MORTISE_S_DENIED
                                                        : MORTISE_S_IO,
                                 NULL, err.msg);
}

static void cancel_process_write(struct mortise_asked *a)
{
    struct writing *w = a->data;

    if (w == NULL)
        return;
    mortise_process_text_detach(&w->text);
    free_writing(w);
    a->data = NULL;
}

const struct mortise_host_call_method mortise_host_call_process_write = {
    .effect = MORTISE_HOST_CALL_UNRECORDED,
    .check = check_process_write,
    .needs_no_run = true,
    .start = start_process_write,
    .cancel = cancel_process_write,
};

static int32_t check_process_end(struct mortise_asked *a, char *words)
{
    return json_object_size(a->body) == 1 &&
                   json_is_integer(json_object_get(a->body, "process"))
               ? MORTISE_S_OK
               : mortise_ask_format_error(
                     words, MORTISE_S_INVALID,
                     "a request of process.end/1 must be {process}");
}

static void start_process_end(struct mortise_asked *a)
{
    struct mortise_process *p = find_spawned_process(a);

    if (p != NULL)
        mortise_process_end_input(p, GRACE_MS);
    mortise_host_call_answer(a, MORTISE_S_OK, json_null(), "");
}

const struct mortise_host_call_method mortise_host_call_process_end = {
    .effect = MORTISE_HOST_CALL_UNRECORDED,
    .check = check_process_end,
    .needs_no_run = true,
    .start = start_process_end,
};
