/* complain.c -- print errors and logs, as text or JSON.
 *
 * People get text on stderr, with the code that `mortise explain` explains.
 * With --json, each line of stderr is a JSON object:
 *
 *     {"error": {"code", "message", "help"?, "findings"?, ...}} {"log":
 *     {"at"?, "level", "message", "findings"?, "after"?, "commands"?}}
 *
 * for every command and every failure, also of the command line itself.
 * stdout has only the requested output.  Prompts at a terminal are not errors.
 *
 *   (1) Findings in files belong to the error that they cause.  They are kept
 *       until that error is printed, or printed at the end if there is none.
 *   (2) An error is never lost: if memory for its JSON runs out, that is
 *       printed instead.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "cli/cli.h"
#include "core/json/value.h"

/* ---- JSON ---------------------------------------------------------------- */

/* Print {"NAME": members}; takes members. */
static void print_json_line(struct mortise_out *o, const char *name,
                            json_t *members)
{
    json_t *v = json_pack("{s:o}", name, members);

    if (v != NULL)
        mortise_out_put_json(o, v, false);
    else
        mortise_out_puts(o, "{\"error\":{\"code\":\"E_NO_MEMORY\",\"message\":"
                            "\"out of memory\"}}\n");
    json_decref(v);
    mortise_out_flush(o);
}

/* Convert the text of an error: it may have several lines, and bytes that are
 * not UTF-8, which are escaped as in text output. */
static json_t *make_error_text(const struct mortise_mem *mem, const char *text)
{
    struct mortise_buf b;
    struct mortise_out o;
    json_t *v;

    mortise_buf_init(&b, mem);
    mortise_out_init_buf(&o, &b);
    mortise_out_put_text(&o, text, 0);
    mortise_out_flush(&o);
    v = b.n > 0 ? mortise_json_make_string(b.p, b.n - 1) : json_string("");
    mortise_buf_finish(&b);
    return v;
}

/* Take the kept findings, to print them with an error: a new reference; NULL:
 * none. */
static json_t *take_findings(struct mortise_cli *cli)
{
    json_t *findings = cli->findings;

    cli->findings = NULL;
    return findings;
}

void mortise_cli_print_json_error(struct mortise_cli *cli, const char *code,
                                  const char *message, json_t *more)
{
    json_t *error = json_pack("{s:s, s:o, s:o*}", "code", code, "message",
                              make_error_text(cli->mem, message), "findings",
                              take_findings(cli));

    if (error != NULL && more != NULL && json_object_update(error, more) != 0)
        mortise_json_clear_ref(&error);
    json_decref(more);
    mortise_out_flush(&cli->out); /* keep the order of stdout and stderr */
    print_json_line(&cli->err, "error", error);
    cli->told = true;
}

/* ---- findings ------------------------------------------------------------ */

void mortise_cli_keep_findings(struct mortise_cli *cli, const json_t *list)
{
    if (cli->findings == NULL)
        cli->findings = json_array();
    json_array_extend(cli->findings, mortise_json_unconst(list));
}

static void keep_diags(struct mortise_cli *cli, struct mortise_diags *d)
{
    struct mortise_buf b;
    json_t *v;

    mortise_buf_init(&b, cli->mem);
    mortise_diags_json(d, &b);
    mortise_json_parse_written(&v, b.p, b.n, NULL);
    mortise_cli_keep_findings(cli, json_object_get(v, "findings"));
    json_decref(v);
    mortise_buf_finish(&b);
}

void mortise_cli_print_findings(struct mortise_cli *cli,
                                struct mortise_diags *d)
{
    struct mortise_buf b;

    mortise_buf_init(&b, cli->mem);
    if (cli->args.json && d->n > 0) {
        keep_diags(cli, d);
    } else if (!cli->args.json) {
        mortise_diags_format(d, &b);
        if (b.n > 0 && mortise_buf_cstr(&b) != NULL)
            mortise_out_put_text(&cli->err, b.p, 0);
    }
    mortise_buf_finish(&b);
    mortise_diags_finish(d);
}

static bool has_error_finding(const json_t *findings)
{
    for (size_t i = 0; i < json_array_size(findings); i++) {
        const char *severity = json_string_value(
            json_object_get(json_array_get(findings, i), "severity"));

        if (severity != NULL && strcmp(severity, "error") == 0)
            return true;
    }
    return false;
}

/* Warnings alone never cause an exit code. */
void mortise_cli_print_kept_findings(struct mortise_cli *cli, int code)
{
    json_t *findings;

    if (cli->findings == NULL)
        return;
    if (code != MORTISE_EXIT_OK && !cli->told &&
        has_error_finding(cli->findings)) {
        mortise_cli_print_json_error(
            cli,
            mortise_result_name(code == MORTISE_EXIT_DENIED ? MORTISE_EDENIED
                                                            : MORTISE_ECHECK),
            "a file has findings", NULL);
        return;
    }
    findings = take_findings(cli);
    print_json_line(&cli->err, "log",
                    json_pack("{s:s, s:s, s:o}", "level", "warning", "message",
                              "a file has findings", "findings", findings));
}

/* ---- log and remarks --------------------------------------------------- */

static const char *const levels[] = {"", "error", "warning", "info", "debug"};

/* Print one line with one write(). */
static void print_log_line(const struct mortise_cli *cli, struct mortise_out *o,
                           int level, const char *prefix, const char *msg)
{
    char now[MORTISE_TIME_TEXT] = "";

    if (cli->dated)
        mortise_time_format(now, mortise_now_ms());
    if (cli->args.json)
        print_json_line(o, "log",
                        json_pack("{s:s*, s:s, s:o}", "at",
                                  cli->dated ? now : NULL, "level",
                                  levels[level], "message",
                                  make_error_text(o->mem, msg)));
    else
        mortise_out_print_escaped(o, "%s%smortise: %s%s%s\n", now,
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
    print_log_line(cli, &line, level, levels[level], msg);
}

void mortise_cli_print_remark(struct mortise_cli *cli, int level,
                              const char *fmt, ...)
{
    char text[2048];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    mortise_out_flush(&cli->out);
    print_log_line(cli, &cli->err, level,
                   level < MORTISE_LOG_INFO ? levels[level] : "", text);
}

void mortise_cli_log_json(struct mortise_cli *cli, json_t *log)
{
    mortise_out_flush(&cli->out);
    print_json_line(&cli->err, "log", log);
}

/* ---- a damaged store ----------------------------------------------------- */

/* `PROGRAM store salvage ... NEW-DIR` */
static void print_salvage_command(struct mortise_cli *cli,
                                  struct mortise_out *o)
{
    mortise_out_put_shell_word(o, cli->program);
    mortise_out_puts(o, " store salvage");
    if (cli->deployment != NULL && !cli->found_by_itself)
        mortise_cli_print_option(o, "deployment", cli->deployment);
    if (cli->args.store != NULL)
        mortise_cli_print_option(o, "store", cli->args.store);
    mortise_out_puts(o, " NEW-DIR");
}

/* The advice for a damaged store, once; without --json it is printed. */
static json_t *advise_salvage(struct mortise_cli *cli)
{
    struct mortise_buf b;
    struct mortise_out o;
    json_t *help = NULL;

    if (cli->said_salvage || (cli->cmd != NULL && cli->cmd->salvages))
        return NULL;
    cli->said_salvage = true;
    if (!cli->args.json) {
        mortise_out_puts(&cli->err, "To save the readable data:\n  ");
        print_salvage_command(cli, &cli->err);
        mortise_out_puts(&cli->err, "\n");
        return NULL;
    }
    mortise_buf_init(&b, cli->mem);
    mortise_out_init_buf(&o, &b);
    print_salvage_command(cli, &o);
    mortise_out_flush(&o);
    if (mortise_buf_cstr(&b) != NULL)
        help = json_pack("{s:s}", "help", b.p);
    mortise_buf_finish(&b);
    return help;
}

void mortise_cli_report_copy(struct mortise_cli *cli,
                             const struct mortise_err *why)
{
    static const char copy[] =
        "the output is read from a copy of the store; runs cannot continue, "
        "and requests cannot be answered";

    mortise_cli_print_remark(cli, MORTISE_LOG_WARN, "%s (%s)", why->msg,
                             mortise_result_name(why->code));
    mortise_cli_print_remark(cli, MORTISE_LOG_WARN, "%s", copy);
    if (why->code == MORTISE_ECORRUPT && !cli->args.json)
        json_decref(advise_salvage(cli));
    mortise_out_flush(&cli->err);
}

int mortise_cli_report_incomplete(struct mortise_cli *cli, int code)
{
    static const char more[] =
        "; there may be more and newer data than is shown";
    const char *name = mortise_result_name(MORTISE_ECORRUPT);
    char text[sizeof(struct mortise_err) + sizeof more + 16];
    struct mortise_err why;

    if (!mortise_cli_is_incomplete(cli, &why))
        return code;
    snprintf(text, sizeof text, "incomplete: %s%s", why.msg, more);
    if (cli->args.json) {
        mortise_cli_print_json_error(cli, name, text, advise_salvage(cli));
    } else {
        mortise_out_flush(&cli->out);
        mortise_out_puts(&cli->err, "mortise: ");
        mortise_out_put_text(&cli->err, text, 0);
        cli->err.n -= cli->err.n > 0;
        mortise_out_printf(&cli->err, " (%s)\n", name);
        advise_salvage(cli);
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
        mortise_cli_print_json_error(
            cli, name, err->msg,
            more == NULL && damaged ? advise_salvage(cli) : more);
        return (int)mortise_exit_code_of_result(err->code);
    }
    json_decref(more);
    mortise_out_flush(&cli->out); /* keep the order of stdout and stderr */
    mortise_out_puts(&cli->err, "mortise: ");
    mortise_out_put_text(&cli->err, err->msg, 0);
    cli->err.n -= cli->err.n > 0; /* put the code on the last line */
    mortise_out_printf(&cli->err, " (%s)\n", name);
    if (damaged)
        advise_salvage(cli);
    mortise_out_flush(&cli->err);
    return (int)mortise_exit_code_of_result(err->code);
}

int mortise_cli_fail(struct mortise_cli *cli, const struct mortise_err *err)
{
    return mortise_cli_fail_with(cli, err, NULL);
}

int mortise_cli_fail_usage(struct mortise_cli *cli, const char *fmt, ...)
{
    const char *name = cli->cmd != NULL ? cli->cmd->name : "";
    const char *gap = cli->cmd != NULL ? " " : "";
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (cli->args.json)
        mortise_cli_print_json_error(
            cli, mortise_result_name(MORTISE_EINVAL), text,
            json_pack("{s:o}", "help",
                      json_sprintf("mortise %s%s--help", name, gap)));
    else
        mortise_out_print_escaped(&cli->err,
                                  "mortise: %s\nTry 'mortise %s%s--help'.\n",
                                  text, name, gap);
    return MORTISE_EXIT_USAGE;
}

void mortise_cli_fail_output(struct mortise_cli *cli, const char *why)
{
    char text[256];

    snprintf(text, sizeof text, "write the output: %s", why);
    if (cli->args.json)
        mortise_cli_print_json_error(cli, mortise_result_name(MORTISE_EIO),
                                     text, NULL);
    else
        mortise_out_printf(&cli->err, "mortise: %s\n", text);
}
