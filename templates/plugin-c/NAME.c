/* @NAME@.c -- a plugin for Mortise: a text in capitals, and a file of notes.
 *
 * shout  {text}  ->  {text}    pure: depends only on its arguments
 * note   {text}  ->  {line}    write: appends "KEY TEXT" to the config's file
 *
 * KEY is the idempotency key of the call, the same on every attempt.  If a call
 * was interrupted, reconcile() searches for the key to report whether the line
 * was added. */
#define _POSIX_C_SOURCE 200809L
#include <mortise/ask.h>

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONGEST = 4096 }; /* bytes of a line */

struct mortise_inst {
    mortise_host *host;
    const mortise_host_api *api;
    char file[LONGEST];
};

/* ---- arguments and results
 * --------------------------------------------------- */

/* Set an error message for people.  The class decides about retries; a graph
 * may name the code.  An error of an operation means that it had no effect. */
static mortise_status refuse(mortise_inst *i, const mortise_request *r,
                             mortise_status status, const char *code,
                             const char *words)
{
    return mortise_refuse(i->host, i->api, r->call, status, "permanent", code,
                          words);
}

/* Get the argument `text`; MORTISE_S_INVALID if it is too long or has a NUL.
 * The host has checked, by the manifest's schema, that it is there and a
 * string. */
static mortise_status text_of(const mortise_request *r, char text[LONGEST])
{
    mortise_jv body;

    if (mortise_jv_parse(r->body, &body) != MORTISE_S_OK)
        return MORTISE_S_INVALID;
    return mortise_jv_cstr(mortise_jv_get(body, "text"), text, LONGEST);
}

/* The line that this call appends. */
static mortise_status line_of(const mortise_request *r, char line[LONGEST])
{
    char text[LONGEST];
    int n;

    if (text_of(r, text) != MORTISE_S_OK || strpbrk(text, "\r\n") != NULL)
        return MORTISE_S_INVALID;
    n = snprintf(line, LONGEST, "%.*s %s", (int)r->idempotency_key.n,
                 r->idempotency_key.p, text);
    return n < LONGEST ? MORTISE_S_OK : MORTISE_S_INVALID;
}

static void put_text(mortise_jw *w, const char *name, const char *text)
{
    mortise_jw_object(w);
    mortise_jw_key(w, name);
    mortise_jw_cstr(w, text);
    mortise_jw_end(w);
}

static mortise_status give(mortise_inst *i, const mortise_request *r,
                           const char *name, const char *text)
{
    mortise_emitter out;
    char room[256];

    mortise_emitter_init(&out, i->host, i->api, r->call, room, sizeof room);
    put_text(&out.w, name, text);
    return mortise_emitter_finish(&out);
}

/* ---- shout -------------------------------------------------------------------- */

static mortise_status shout(mortise_inst *i, const mortise_request *r)
{
    char text[LONGEST];

    if (text_of(r, text) != MORTISE_S_OK)
        return refuse(i, r, MORTISE_S_INVALID, "text", "that text is too long");
    for (char *p = text; *p != '\0'; p++)
        *p = (char)(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
    return give(i, r, "text", text);
}

/* ---- note --------------------------------------------------------------------- */

static mortise_status note(mortise_inst *i, const mortise_request *r)
{
    char line[LONGEST + 1];
    bool written;
    size_t n;
    int fd;

    if (line_of(r, line) != MORTISE_S_OK)
        return refuse(i, r, MORTISE_S_INVALID, "text",
                      "a note is one line, and not a long one");
    fd = open(i->file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return refuse(i, r, MORTISE_S_IO, "file",
                      "the file of notes cannot be opened");
    n = strlen(line);
    line[n] = '\n';
    written = write(fd, line, n + 1) == (ssize_t)n + 1 && fsync(fd) == 0;
    line[n] = '\0';
    close(fd);
    /* After a write, the line may be in the file: return no error that denies
     * it. */
    if (written && give(i, r, "line", line) == MORTISE_S_OK)
        return MORTISE_S_OK;
    return refuse(i, r, MORTISE_S_DOUBT, "file",
                  "the note may be there, or not");
}

/* Return whether the file has this whole line.  After a power cut, a part of
 * another line may be in front of it. */
static bool has_line(FILE *in, const char *line)
{
    char *found = NULL;
    size_t room = 0, n = strlen(line);
    ssize_t length;
    bool has = false;

    while (!has && (length = getline(&found, &room, in)) >= 0)
        has = (size_t)length > n && found[length - 1] == '\n' &&
              memcmp(found + (size_t)length - 1 - n, line, n) == 0;
    free(found);
    return has;
}

/* The host asks after a crash whether the call with this key happened. */
static mortise_status reconcile(mortise_inst *i, const mortise_request *r)
{
    mortise_emitter out;
    char line[LONGEST], room[256];
    bool happened;
    FILE *in;

    if (line_of(r, line) != MORTISE_S_OK)
        return refuse(i, r, MORTISE_S_INVALID, "text", "that was no note");
    in = fopen(i->file, "re");
    if (in == NULL && access(i->file, F_OK) == 0)
        return refuse(i, r, MORTISE_S_IO, "file",
                      "the file of notes cannot be read");
    happened = in != NULL && has_line(in, line);
    if (in != NULL)
        fclose(in);
    mortise_emitter_init(&out, i->host, i->api, r->call, room, sizeof room);
    mortise_jw_object(&out.w);
    mortise_jw_key(&out.w, "happened");
    mortise_jw_bool(&out.w, happened);
    if (happened) {
        mortise_jw_key(&out.w, "result");
        put_text(&out.w, "line", line);
    }
    mortise_jw_end(&out.w);
    return mortise_emitter_finish(&out);
}

/* ---- the plugin ------------------------------------------------------------------ */

static const struct {
    const char *name;
    mortise_status (*run)(mortise_inst *, const mortise_request *);
} operations[] = {{"shout", shout}, {"note", note}};

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    for (size_t k = 0; k < sizeof operations / sizeof operations[0]; k++)
        if (r->operation.n == strlen(operations[k].name) &&
            memcmp(r->operation.p, operations[k].name, r->operation.n) == 0)
            return operations[k].run(i, r);
    return MORTISE_S_UNSUPPORTED;
}

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    mortise_inst *i = calloc(1, sizeof *i);
    mortise_jv c;

    if (i == NULL)
        return MORTISE_S_NOMEM;
    i->host = host;
    i->api = api;
    if (mortise_jv_parse(config, &c) != MORTISE_S_OK ||
        mortise_jv_cstr(mortise_jv_get(c, "file"), i->file, sizeof i->file) !=
            MORTISE_S_OK) {
        free(i);
        return mortise_refuse(host, api, 0, MORTISE_S_INVALID, NULL, NULL,
                              "config.file is too long a name");
    }
    *out = i;
    return MORTISE_S_OK;
}

static void destroy(mortise_inst *i)
{
    free(i);
}

static const mortise_executor executor = {
    .size = sizeof executor, .execute = execute, .reconcile = reconcile};

static const void *get_interface(mortise_inst *i, const char *id)
{
    (void)i;
    return strcmp(id, MORTISE_EXECUTOR_1) == 0 ? &executor : NULL;
}

static const mortise_plugin plugin = {.size = sizeof plugin,
                                      .id = "@NAME@",
                                      .version = "0.1.0",
                                      .create = create,
                                      .get_interface = get_interface,
                                      .destroy = destroy};

MORTISE_MODULE_OF(plugin);
