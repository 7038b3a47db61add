/* complain.c -- what goes wrong, in words or as JSON.
 *
 * People get words on stderr, with the code that `mortise explain` knows.  Who
 * asked for --json gets JSON there, too: each line of stderr is an object then,
 *
 *     {"error": {"code", "message", "help"?, "findings"?, ...}}
 *     {"log": {"at"?, "level", "message", "findings"?, "after"?, "commands"?}}
 *
 * whatever the command is and wherever it failed, its command line included.
 * stdout has what was asked for and nothing else.  What a command says at a
 * terminal, to a person who is asked something there, is no error.
 *
 *   (1) What is found in files belongs to the error that comes of it: it is kept
 *       until that is told, and told at the end where none is.
 *   (2) An error never gets lost: where there is no memory for its JSON, that is
 *       what is said.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "cli/cli.h"
#include "core/json/value.h"

/* ---- JSON ---------------------------------------------------------------- */

/* {"NAME": members}; takes them. */
static void put_line(struct mortise_out *o, const char *name, json_t *members)
{
    json_t *v = json_pack("{s:o}", name, members);

    if (v != NULL)
        mortise_out_json(o, v, false);
    else
        mortise_out_puts(o, "{\"error\":{\"code\":\"E_NO_MEMORY\",\"message\":"
                            "\"out of memory\"}}\n");
    json_decref(v);
    mortise_out_flush(o);
}

/* Text of an error: it may have lines, and bytes that are no UTF-8, which stand
 * as in what people read. */
static json_t *words(const struct mortise_mem *mem, const char *text)
{
    struct mortise_buf b;
    struct mortise_out o;
    json_t *v;

    mortise_buf_init(&b, mem);
    mortise_out_init_buf(&o, &b);
    mortise_out_text(&o, text, 0);
    mortise_out_flush(&o);
    v = b.n > 0 ? mortise_json_strn(b.p, b.n - 1) : json_string("");
    mortise_buf_finish(&b);
    return v;
}

/* What was found until now, which goes with what is told: a new reference;
 * NULL: nothing. */
static json_t *take_findings(struct mortise_cli *cli)
{
    json_t *findings = cli->findings;

    cli->findings = NULL;
    return findings;
}

void mortise_cli_error(struct mortise_cli *cli, const char *code,
                       const char *message, json_t *more)
{
    json_t *error =
        json_pack("{s:s, s:o, s:o*}", "code", code, "message",
                  words(cli->mem, message), "findings", take_findings(cli));

    if (error != NULL && more != NULL && json_object_update(error, more) != 0)
        mortise_json_drop(&error);
    json_decref(more);
    mortise_out_flush(&cli->out); /* what was said before comes before */
    put_line(&cli->err, "error", error);
    cli->told = true;
}

/* ---- findings ------------------------------------------------------------ */

void mortise_cli_keep_findings(struct mortise_cli *cli, const json_t *list)
{
    if (cli->findings == NULL)
        cli->findings = json_array();
    json_array_extend(cli->findings, mortise_json_unconst(list));
}

static void keep(struct mortise_cli *cli, struct mortise_diags *d)
{
    struct mortise_buf b;
    json_t *v;

    mortise_buf_init(&b, cli->mem);
    mortise_diags_json(d, &b);
    mortise_json_read(&v, b.p, b.n, NULL);
    mortise_cli_keep_findings(cli, json_object_get(v, "findings"));
    json_decref(v);
    mortise_buf_finish(&b);
}

void mortise_cli_findings(struct mortise_cli *cli, struct mortise_diags *d)
{
    struct mortise_buf b;

    mortise_buf_init(&b, cli->mem);
    if (cli->args.json && d->n > 0) {
        keep(cli, d);
    } else if (!cli->args.json) {
        mortise_diags_text(d, &b);
        if (b.n > 0 && mortise_buf_cstr(&b) != NULL)
            mortise_out_text(&cli->err, b.p, 0);
    }
    mortise_buf_finish(&b);
    mortise_diags_finish(d);
}

static bool have_error(const json_t *findings)
{
    for (size_t i = 0; i < json_array_size(findings); i++) {
        const char *severity = json_string_value(
            json_object_get(json_array_get(findings, i), "severity"));

        if (severity != NULL && strcmp(severity, "error") == 0)
            return true;
    }
    return false;
}

/* Warnings alone never are why a command ended as it did. */
void mortise_cli_tell_rest(struct mortise_cli *cli, int code)
{
    json_t *findings;

    if (cli->findings == NULL)
        return;
    if (code != MORTISE_EXIT_OK && !cli->told && have_error(cli->findings)) {
        mortise_cli_error(cli,
                          mortise_result_name(code == MORTISE_EXIT_DENIED
                                                  ? MORTISE_EDENIED
                                                  : MORTISE_ECHECK),
                          "a file has findings", NULL);
        return;
    }
    findings = take_findings(cli);
    put_line(&cli->err, "log",
             json_pack("{s:s, s:s, s:o}", "level", "warning", "message",
                       "a file has findings", "findings", findings));
}

/* ---- words by the way ---------------------------------------------------- */

static const char *const levels[] = {"", "error", "warning", "info", "debug"};

/* One line, one write. */
static void put_log(const struct mortise_cli *cli, struct mortise_out *o,
                    int level, const char *prefix, const char *msg)
{
    char now[MORTISE_TIME_TEXT] = "";

    if (cli->dated)
        mortise_time_text(now, mortise_now_ms());
    if (cli->args.json)
        put_line(o, "log",
                 json_pack("{s:s*, s:s, s:o}", "at", cli->dated ? now : NULL,
                           "level", levels[level], "message",
                           words(o->mem, msg)));
    else
        mortise_out_say(o, "%s%smortise: %s%s%s\n", now,
                        now[0] != '\0' ? " " : "", prefix,
                        prefix[0] != '\0' ? ": " : "", msg);
    mortise_out_flush(o);
}

/* [any] */
void mortise_cli_log(void *ud, int level, const char *msg)
{
    const struct mortise_cli *cli = ud;
    struct mortise_out line;

    if (level > MORTISE_LOG_WARN && !cli->args.verbose)
        return;
    if (level < MORTISE_LOG_ERROR || level > MORTISE_LOG_DEBUG)
        level = MORTISE_LOG_ERROR;
    mortise_out_init(&line, cli->err.fd, cli->mem);
    put_log(cli, &line, level, levels[level], msg);
}

void mortise_cli_note(struct mortise_cli *cli, int level, const char *fmt, ...)
{
    char text[2048];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    mortise_out_flush(&cli->out);
    put_log(cli, &cli->err, level,
            level < MORTISE_LOG_INFO ? levels[level] : "", text);
}

void mortise_cli_log_json(struct mortise_cli *cli, json_t *log)
{
    mortise_out_flush(&cli->out);
    put_line(&cli->err, "log", log);
}

/* ---- a damaged store ----------------------------------------------------- */

/* `PROGRAM store salvage ... NEW-DIR` */
static void put_salvage(struct mortise_cli *cli, struct mortise_out *o)
{
    mortise_out_shell(o, cli->program);
    mortise_out_puts(o, " store salvage");
    if (cli->deployment != NULL && !cli->found_by_itself)
        mortise_cli_option(o, "deployment", cli->deployment);
    if (cli->args.store != NULL)
        mortise_cli_option(o, "store", cli->args.store);
    mortise_out_puts(o, " NEW-DIR");
}

/* What to do, once; in words it is printed. */
static json_t *salvage(struct mortise_cli *cli)
{
    struct mortise_buf b;
    struct mortise_out o;
    json_t *help = NULL;

    if (cli->said_salvage || (cli->cmd != NULL && cli->cmd->salvages))
        return NULL;
    cli->said_salvage = true;
    if (!cli->args.json) {
        mortise_out_puts(&cli->err, "To save the readable data:\n  ");
        put_salvage(cli, &cli->err);
        mortise_out_puts(&cli->err, "\n");
        return NULL;
    }
    mortise_buf_init(&b, cli->mem);
    mortise_out_init_buf(&o, &b);
    put_salvage(cli, &o);
    mortise_out_flush(&o);
    if (mortise_buf_cstr(&b) != NULL)
        help = json_pack("{s:s}", "help", b.p);
    mortise_buf_finish(&b);
    return help;
}

void mortise_cli_say_look(struct mortise_cli *cli,
                          const struct mortise_err *why)
{
    static const char copy[] =
        "the output is read from a copy of the store; runs cannot continue, "
        "and requests cannot be answered";

    mortise_cli_note(cli, MORTISE_LOG_WARN, "%s (%s)", why->msg,
                     mortise_result_name(why->code));
    mortise_cli_note(cli, MORTISE_LOG_WARN, "%s", copy);
    if (why->code == MORTISE_ECORRUPT && !cli->args.json)
        json_decref(salvage(cli));
    mortise_out_flush(&cli->err);
}

int mortise_cli_own_up(struct mortise_cli *cli, int code)
{
    static const char more[] =
        "; there may be more and newer data than is shown";
    const char *name = mortise_result_name(MORTISE_ECORRUPT);
    char text[sizeof(struct mortise_err) + sizeof more + 16];
    struct mortise_err why;

    if (!mortise_cli_lacks(cli, &why))
        return code;
    snprintf(text, sizeof text, "incomplete: %s%s", why.msg, more);
    if (cli->args.json) {
        mortise_cli_error(cli, name, text, salvage(cli));
    } else {
        mortise_out_flush(&cli->out);
        mortise_out_puts(&cli->err, "mortise: ");
        mortise_out_text(&cli->err, text, 0);
        cli->err.n -= cli->err.n > 0;
        mortise_out_printf(&cli->err, " (%s)\n", name);
        salvage(cli);
    }
    return code == MORTISE_EXIT_OK
               ? (int)mortise_exit_code_of_result(MORTISE_ECORRUPT)
               : code;
}

/* ---- errors -------------------------------------------------------------- */

int mortise_cli_fail_with(struct mortise_cli *cli,
                          const struct mortise_err *err, json_t *more)
{
    const char *name = mortise_result_name(err->code);
    bool damaged = err->code == MORTISE_ECORRUPT;

    if (cli->args.json) {
        mortise_cli_error(cli, name, err->msg,
                          more == NULL && damaged ? salvage(cli) : more);
        return (int)mortise_exit_code_of_result(err->code);
    }
    json_decref(more);
    mortise_out_flush(&cli->out); /* what was said before comes before */
    mortise_out_puts(&cli->err, "mortise: ");
    mortise_out_text(&cli->err, err->msg, 0);
    cli->err.n -= cli->err.n > 0; /* the code goes on the last line */
    mortise_out_printf(&cli->err, " (%s)\n", name);
    if (damaged)
        salvage(cli);
    mortise_out_flush(&cli->err);
    return (int)mortise_exit_code_of_result(err->code);
}

int mortise_cli_fail(struct mortise_cli *cli, const struct mortise_err *err)
{
    return mortise_cli_fail_with(cli, err, NULL);
}

int mortise_cli_usage(struct mortise_cli *cli, const char *fmt, ...)
{
    const char *name = cli->cmd != NULL ? cli->cmd->name : "";
    const char *gap = cli->cmd != NULL ? " " : "";
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (cli->args.json)
        mortise_cli_error(
            cli, mortise_result_name(MORTISE_EINVAL), text,
            json_pack("{s:o}", "help",
                      json_sprintf("mortise %s%s--help", name, gap)));
    else
        mortise_out_say(&cli->err, "mortise: %s\nTry 'mortise %s%s--help'.\n",
                        text, name, gap);
    return MORTISE_EXIT_USAGE;
}

void mortise_cli_lost_output(struct mortise_cli *cli, const char *why)
{
    char text[256];

    snprintf(text, sizeof text, "write the output: %s", why);
    if (cli->args.json)
        mortise_cli_error(cli, mortise_result_name(MORTISE_EIO), text, NULL);
    else
        mortise_out_printf(&cli->err, "mortise: %s\n", text);
}
