/* value.c -- reads values of arguments: JSON, @FILE, - and numbers.
 *
 * Arguments are untrusted: they are limited in size, parsed strictly, and named
 * in each error message. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/infile.h"
#include "cli/cli.h"
#include "core/json/value.h"

enum { CHUNK = 64 * 1024, MOST = 64 * 1024 * 1024 };

/* Read fd to its end into b. */
static int read_to_end(int fd, struct mortise_buf *b, const char *path,
                       struct mortise_err *err)
{
    char chunk[CHUNK];
    ssize_t n;

    while ((n = read(fd, chunk, sizeof chunk)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return mortise_syserr(err, errno, "read %s", path);
        if (b->n + (size_t)n > MOST)
            return mortise_fail(err, MORTISE_ELIMIT,
                                "read %s: larger than 64 MiB", path);
        mortise_buf_put(b, chunk, (size_t)n);
    }
    return b->failed ? mortise_nomem(err) : MORTISE_OK;
}

/* Copy the bytes of b to a block of n + 1 bytes. */
static int copy_to_block(struct mortise_cli *cli, const struct mortise_buf *b,
                         char **text, size_t *n, struct mortise_err *err)
{
    char *p = mortise_alloc(cli->mem, b->n + 1);

    if (p == NULL)
        return mortise_nomem(err);
    if (b->n > 0)
        memcpy(p, b->p, b->n);
    p[b->n] = '\0';
    *text = p;
    *n = b->n;
    return MORTISE_OK;
}

int mortise_cli_read_file(struct mortise_cli *cli, const char *path,
                          char **text, size_t *n, struct mortise_err *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : mortise_infile_open(AT_FDCWD, path, 0);
    int rv;
    struct mortise_buf b;

    if (fd < 0)
        return mortise_syserr(err, errno, "open %s", path);
    mortise_buf_init(&b, cli->mem);
    rv = read_to_end(fd, &b, is_stdin ? "stdin" : path, err);
    if (rv == MORTISE_OK)
        rv = copy_to_block(cli, &b, text, n, err);
    mortise_buf_finish(&b);
    if (!is_stdin)
        close(fd);
    return rv;
}

int mortise_cli_parse_json(struct mortise_cli *cli, const char *what,
                           const char *path, json_t **out,
                           struct mortise_err *err)
{
    char *text;
    size_t n;
    int rv = mortise_cli_read_file(cli, path, &text, &n, err);

    if (rv != MORTISE_OK)
        return mortise_err_prefix(err, rv, "%s", what);
    rv = mortise_json_parse(out, text, n, err);
    mortise_release(cli->mem, text, n + 1);
    if (rv != MORTISE_OK)
        return mortise_err_prefix(err, rv, "%s %s", what, path);
    return rv;
}

/* Report invalid JSON.  A user may have given text without quotes, or the name
 * of a file. */
static int fail_not_json(const char *what, const char *given, int rv,
                         struct mortise_err *err)
{
    struct mortise_err why = *err;

    if (rv != MORTISE_EINVAL)
        return mortise_err_prefix(err, rv, "%s", what);
    if (access(given, F_OK) == 0)
        return mortise_fail(err, rv, "%s: %.300s; to read the file, write @%s",
                            what, why.msg, given);
    return mortise_fail(
        err, rv,
        "%s: %.500s; write JSON, such as '{\"key\": \"text\"}', "
        "'\"text\"' or 12; or @FILE; or - for stdin",
        what, why.msg);
}

int mortise_cli_parse_value(struct mortise_cli *cli, const char *what,
                            const char *given, json_t **out,
                            struct mortise_err *err)
{
    int rv;

    if (given[0] == '@' || strcmp(given, "-") == 0)
        return mortise_cli_parse_json(cli, what, given + (given[0] == '@'), out,
                                      err);
    rv = mortise_json_parse(out, given, strlen(given), err);
    return rv == MORTISE_OK ? rv : fail_not_json(what, given, rv, err);
}

int mortise_cli_parse_number(const char *what, const char *given, uint64_t *out,
                             struct mortise_err *err)
{
    uint64_t v = 0;

    for (const char *p = given; *p != '\0'; p++) {
        uint64_t digit = (uint64_t)(*p - '0');

        if (*p < '0' || *p > '9' || v > (INT64_MAX - digit) / 10)
            return mortise_fail(err, MORTISE_EINVAL,
                                "%s: '%s' is not a whole number", what, given);
        v = v * 10 + digit;
    }
    *out = v;
    return MORTISE_OK;
}

int mortise_cli_split_list(struct mortise_arena *a, const char *list,
                           const char ***out, size_t *n,
                           struct mortise_err *err)
{
    static const char separators[] = ", \t\n";
    size_t most = strlen(list) / 2 + 1;

    *n = 0;
    *out = mortise_arena_alloc(a, most * sizeof **out);
    if (*out == NULL)
        return mortise_nomem(err);
    for (list += strspn(list, separators); *list != '\0';
         list += strspn(list, separators)) {
        size_t len = strcspn(list, separators);

        (*out)[*n] = mortise_arena_strndup(a, list, len);
        if ((*out)[(*n)++] == NULL)
            return mortise_nomem(err);
        list += len;
    }
    return MORTISE_OK;
}

const char *mortise_cli_get_text(const json_t *object, const char *key)
{
    const char *s = json_string_value(json_object_get(object, key));

    return s != NULL ? s : "";
}

/* A first visit, "#1", is omitted.  (strchr() also matches the end of the
 * string.) */
static bool is_first_visit_mark(const char *p)
{
    return strncmp(p, "#1", 2) == 0 && strchr("[/", p[2]) != NULL;
}

const char *mortise_cli_format_short_path(const char *path,
                                          char out[MORTISE_CLI_EXECUTION])
{
    const char *p = strchr(path, '/');
    size_t n = 0;

    for (p = p != NULL ? p + 1 : path; *p != '\0'; p++) {
        if (is_first_visit_mark(p))
            p += 2;
        if (*p == '\0' || n + 1 == MORTISE_CLI_EXECUTION)
            break;
        out[n++] = *p;
    }
    out[n] = '\0';
    return out;
}

bool mortise_cli_is_active(const json_t *node)
{
    const char *status = mortise_cli_get_text(node, "status");

    return strcmp(status, "running") == 0 || strcmp(status, "compacting") == 0;
}

bool mortise_cli_waits_for_descriptor(const json_t *node)
{
    return strcmp(mortise_cli_get_text(node, "waits_for"), "descriptor") == 0;
}

bool mortise_cli_is_unsettled(const json_t *node)
{
    return json_object_get(node, "effect") != NULL &&
           !mortise_cli_is_active(node) &&
           strcmp(mortise_cli_get_text(node, "status"), "in_doubt") != 0;
}

const json_t *mortise_cli_find_unsettled(const json_t *show)
{
    const json_t *nodes = json_object_get(show, "nodes");

    MORTISE_JSON_EACH (node, i, nodes)
        if (mortise_cli_is_unsettled(node))
            return node;
    return NULL;
}

const char *mortise_cli_format_execution(const json_t *object,
                                         char out[MORTISE_CLI_EXECUTION])
{
    const char *path = mortise_cli_get_text(object, "path");
    const char *node = mortise_cli_get_text(object, "node");

    if (path[0] != '\0')
        return mortise_cli_format_short_path(path, out);
    snprintf(out, MORTISE_CLI_EXECUTION, "%s", node);
    return out;
}

uint64_t mortise_cli_parse_time(const char *text)
{
    struct tm tm = {0};
    unsigned ms = 0;
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);

    if (rest == NULL || timegm(&tm) < 0)
        return 0;
    sscanf(rest, ".%3u", &ms);
    return (uint64_t)timegm(&tm) * 1000 + ms;
}

const char *mortise_cli_get_status(const json_t *run)
{
    const char *name = mortise_cli_get_text(run, "status");
    int status = mortise_status_parse(name);

    return (status == MORTISE_RUN_ACCEPTED || status == MORTISE_RUN_RUNNING) &&
                   json_is_false(json_object_get(run, "live"))
               ? "interrupted"
               : name;
}

uint64_t mortise_cli_get_integer(const json_t *object, const char *key)
{
    json_int_t v = json_integer_value(json_object_get(object, key));

    return v > 0 ? (uint64_t)v : 0;
}
