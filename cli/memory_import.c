/* memory_import.c -- `mortise memory import`: writes the traces of a file into
 * the deployment's memory, in batches.
 *
 *   (1) An import can be repeated, for example after it was interrupted:
 *       existing traces stay unchanged.
 *   (2) Forgotten traces are restored only with --restore.
 *   (3) An invalid line is reported with its position, and is not written; the
 *       lines before it are. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/utf8.h"
#include "cli/cli.h"
#include "core/engine/common/traces.h"
#include "core/json/value.h"
#include "mortise/json.h"

enum {
    BATCH = 200,              /* traces per write */
    BATCH_BYTES = 4 << 20,    /* bytes of their lines */
    LINE_MAX_BYTES = 1 << 20, /* more than any trace needs */
};

struct importing {
    struct mortise_cli *cli;
    const char *name; /* of the file, for messages */
    FILE *from;
    json_t *batch; /* owned */
    size_t bytes;  /* of the batch's lines */
    uint64_t line, first, read, written;
};

static int write_trace_batch(struct importing *im, struct mortise_err *err)
{
    json_t *reply = NULL, *body;
    size_t n = json_array_size(im->batch);
    int rv;

    if (n == 0)
        return MORTISE_OK;
    body = json_pack("{s:o}", "traces", im->batch);
    im->batch = json_array();
    if (body != NULL && im->cli->args.restore &&
        json_object_set_new(body, "restore", json_true()) != 0)
        mortise_json_clear_ref(&body);
    rv = mortise_cli_call_memory(im->cli, "write", body, &reply, err);
    if (rv != MORTISE_OK)
        return mortise_err_prefix(err, rv, "%s, from line %llu on", im->name,
                                  (unsigned long long)im->first);
    im->read += n;
    im->written += mortise_cli_get_integer(reply, "written");
    im->bytes = 0;
    json_decref(reply);
    return MORTISE_OK;
}

/* The column of a member's value in its line; 1 if `member` is NULL. */
static size_t get_member_column(const char *text, size_t n, const char *member)
{
    const mortise_str line = {text, n};
    mortise_jv at = mortise_jv_of(line);

    if (member != NULL)
        at = mortise_jv_get(at, member);
    return at.p != NULL ? 1 + mortise_utf8_count(text, (size_t)(at.p - text))
                        : 1;
}

/* Parse the trace of a line.  MORTISE_EINVAL: the error has the position. */
static int parse_trace_line(const struct importing *im, const char *text,
                            size_t n, json_t **out, struct mortise_err *err)
{
    const char *wrong = NULL;
    size_t column = 1;
    int rv =
        n <= LINE_MAX_BYTES
            ? mortise_json_parse_line(out, text, n, &column, err)
            : mortise_fail(err, MORTISE_EINVAL,
                           "the line exceeds the limit of %d bytes for a trace",
                           LINE_MAX_BYTES);

    if (rv == MORTISE_OK) {
        rv = mortise_trace_check(*out, &wrong, err);
        column = get_member_column(text, n, wrong);
    }
    if (rv == MORTISE_OK)
        return rv;
    mortise_json_clear_ref(out);
    return mortise_err_prefix(err, rv, "%s:%llu:%zu", im->name,
                              (unsigned long long)im->line, column);
}

static int import_line(struct importing *im, const char *text, size_t n,
                       struct mortise_err *err)
{
    json_t *trace = NULL;
    int rv = parse_trace_line(im, text, n, &trace, err);

    if (rv != MORTISE_OK)
        return rv;
    if (json_array_size(im->batch) == BATCH || im->bytes + n > BATCH_BYTES)
        rv = write_trace_batch(im, err);
    if (rv != MORTISE_OK) {
        json_decref(trace);
        return rv;
    }
    if (json_array_size(im->batch) == 0)
        im->first = im->line;
    im->bytes += n;
    return json_array_append_new(im->batch, trace) == 0 ? MORTISE_OK
                                                        : mortise_nomem(err);
}

/* Write the lines before an invalid one. */
static int import_lines(struct importing *im, struct mortise_err *err)
{
    struct mortise_err ignored;
    char *text = NULL;
    size_t room = 0;
    int rv = MORTISE_OK;
    ssize_t n;

    while (rv == MORTISE_OK && (n = getline(&text, &room, im->from)) >= 0) {
        im->line++;
        n -= n > 0 && text[n - 1] == '\n';
        if (strspn(text, " \t\r\n") < (size_t)n)
            rv = import_line(im, text, (size_t)n, err);
    }
    if (rv == MORTISE_OK && ferror(im->from))
        rv =
            mortise_fail(err, MORTISE_EIO, "%s: %s", im->name, strerror(errno));
    free(text);
    if (rv == MORTISE_OK)
        return write_trace_batch(im, err);
    write_trace_batch(im, &ignored);
    return rv;
}

static void print_import_result(const struct importing *im)
{
    struct mortise_out *o = &im->cli->out;

    if (im->cli->args.json)
        mortise_out_printf(o, "{\"read\":%llu,\"written\":%llu}\n",
                           (unsigned long long)im->read,
                           (unsigned long long)im->written);
    else
        mortise_out_printf(
            o, "wrote %llu of %llu traces%s\n", (unsigned long long)im->written,
            (unsigned long long)im->read,
            im->written < im->read
                ? "; the others already existed or were forgotten"
                : "");
}

static int memory_import(struct mortise_cli *cli, struct mortise_err *err)
{
    const char *path = cli->args.operands[0];
    bool is_stdin = strcmp(path, "-") == 0;
    struct importing im = {.cli = cli,
                           .name = is_stdin ? "stdin" : path,
                           .from = is_stdin ? stdin : fopen(path, "re"),
                           .batch = json_array()};
    int rv;

    if (im.from == NULL)
        rv =
            mortise_fail(err, errno == ENOENT ? MORTISE_ENOTFOUND : MORTISE_EIO,
                         "%s: %s", path, strerror(errno));
    else
        rv = im.batch != NULL ? mortise_cli_open(cli, NULL, err)
                              : mortise_nomem(err);
    if (rv == MORTISE_OK)
        rv = import_lines(&im, err);
    if (rv == MORTISE_OK)
        print_import_result(&im);
    if (im.from != NULL && !is_stdin)
        fclose(im.from);
    json_decref(im.batch);
    return rv;
}

static const struct mortise_opt import_opts[] = {
    MORTISE_OPT_FLAG("restore", restore, "Also restore forgotten traces"),
    MORTISE_OPT_JSON("The number of traces, as JSON"),
    MORTISE_OPTS_OF_RUNS,
};

const struct mortise_cmd mortise_cmd_memory_import = {
    .name = "memory import",
    .operands = "FILE",
    .summary = "Write the traces of a file into the deployment's memory",
    .text =
        "FILE, or - for stdin, has one JSON object a line, with these\n"
        "members: id, type, scope, key, content, strength (0 to 1),\n"
        "created_at (milliseconds since 1970) and optionally metadata.  An\n"
        "existing trace stays unchanged, so you can repeat an import.  An\n"
        "invalid line stops the import, and the command prints the line\n"
        "and the error.  The lines before it are already imported.\n"
        "Correct the line and import the file again.\n",
    .opts = import_opts,
    .exits = MORTISE_EXITS_STORE,
    .example = "mortise memory import traces.jsonl",
    .run = memory_import,
};
