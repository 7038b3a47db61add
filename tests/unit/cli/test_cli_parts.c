/* test_cli_parts.c -- the command line's own parts, without a process: options
 * by table, safe output, exit codes, progress.  test_cli.c has the whole. */
#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/progress.h"
#include "lib/test.h"

/* ---- capturing ------------------------------------------------------------
 */

static int pipe_ends[2];
static struct mortise_out out;
static char got[65536];

static void begin(void)
{
    test_begin();
    ck_assert_int_eq(pipe(pipe_ends), 0);
    ck_assert_int_ge(fcntl(pipe_ends[1], F_SETPIPE_SZ, 1 << 20), 0);
    mortise_out_init(&out, pipe_ends[1], &test_mem);
}

static void end(void)
{
    close(pipe_ends[0]);
    if (pipe_ends[1] >= 0)
        close(pipe_ends[1]);
    test_nothing_left();
}

/* Everything printed so far. */
static const char *printed(void)
{
    ssize_t n;

    ck_assert_int_eq(mortise_out_flush(&out), 0);
    ck_assert_int_eq(write(pipe_ends[1], "", 1), 1); /* so read() never waits */
    n = read(pipe_ends[0], got, sizeof got);
    ck_assert_int_gt(n, 0);
    return got;
}

/* ---- safe output ------------------------------------------------------------
 */

/* Controls, overrides and bytes that are no UTF-8 are shown, not sent. */
START_TEST(words_are_made_safe)
{
    static const char *const cases[][2] = {
        {"plain \xC3\xA4 \xE2\x82\xAC", "plain \xC3\xA4 \xE2\x82\xAC"},
        {"\x1b[2J", "\\x1b[2J"},
        {"a\nb\tc\r", "a\\nb\\tc\\x0d"},
        {"\x7f", "\\x7f"},
        {"\xC2\x9B"
         "31m",
         "\\u{9b}31m"},
        {"\xE2\x80\xAE"
         "txt",
         "\\u{202e}txt"},
        {"\xE2\x81\xA6", "\\u{2066}"},
        {"\xFF\xC0\xAF", "\\xff\\xc0\\xaf"},
        {"\xE2\x82", "\\xe2\\x82"},
        {"", ""},
    };

    mortise_out_put_escaped(&out, cases[_i][0]);
    ck_assert_str_eq(printed(), cases[_i][1]);
}
END_TEST

/* NULL is nothing. */
START_TEST(null_is_nothing)
{
    mortise_out_put_escaped(&out, NULL);
    mortise_out_put_text(&out, NULL, 2);
    ck_assert_str_eq(printed(), "");
}
END_TEST

/* A text keeps its lines and tabs, and nothing else that moves the cursor. */
START_TEST(texts_keep_lines)
{
    mortise_out_put_text(&out, "one\n\n\ttwo\x08\n", 2);
    ck_assert_str_eq(printed(), "  one\n\n  \ttwo\\x08\n");
}
END_TEST

/* Cells are padded by columns, not by bytes. */
START_TEST(cells_count_columns)
{
    mortise_out_put_cell(&out, "\xC3\xA4", 3);
    mortise_out_put_cell(&out, "long", 2);
    mortise_out_put_cell(&out, "\xE4\xBD\xA0", 3); /* two columns wide */
    mortise_out_put_cell(&out, "e\xCC\x81", 2);    /* an accent over the e */
    mortise_out_puts(&out, "|");
    ck_assert_str_eq(printed(), "\xC3\xA4  long\xE4\xBD\xA0 e\xCC\x81 |");
}
END_TEST

/* What a shell reads back is what was meant. */
START_TEST(shell_words)
{
    static const char *const cases[][2] = {
        {"plain-1.2/x", "plain-1.2/x"}, {"two words", "'two words'"},
        {"it's", "'it'\\''s'"},         {"", "''"},
        {"$(rm)", "'$(rm)'"},           {"#x", "'#x'"},
    };

    mortise_out_put_shell_word(&out, cases[_i][0]);
    ck_assert_str_eq(printed(), cases[_i][1]);
}
END_TEST

static void put(const char *text, bool pretty)
{
    json_t *v = json_loads(text, JSON_DECODE_ANY, NULL);

    ck_assert_ptr_nonnull(v);
    mortise_out_put_json(&out, v, pretty);
    json_decref(v);
}

/* JSON comes out on one line, or indented; strings are left alone. */
START_TEST(json_layout)
{
    put("{\"a\":[1,{},[]],\"b\":\"x{[,:]}\\\\\\\"\"}", false);
    ck_assert_str_eq(printed(),
                     "{\"a\":[1,{},[]],\"b\":\"x{[,:]}\\\\\\\"\"}\n");
    put("{\"a\":[1,{},[]],\"b\":\"x{[,:]}\\\\\\\"\"}", true);
    ck_assert_str_eq(printed(), "{\n  \"a\": [\n    1,\n    {},\n    []\n  ],\n"
                                "  \"b\": \"x{[,:]}\\\\\\\"\"\n}\n");
}
END_TEST

/* What is a control character to some terminals is escaped inside JSON, too,
 * and means the same. */
START_TEST(json_is_safe)
{
    json_t *v, *back;

    v = json_pack("{s:s}", "k\xC2\x9B",
                  "\xE2\x80\xAE\x1b\x7f\xC3\xA4"
                  "\xF3\xA0\x81\x81");
    mortise_out_put_json(&out, v, false);
    ck_assert_str_eq(printed(), "{\"k\\u009b\":\"\\u202e\\u001b\\u007f\xC3\xA4"
                                "\\udb40\\udc41\"}\n");
    back = json_loads(got, 0, NULL);
    ck_assert(json_equal(v, back));
    json_decref(v);
    json_decref(back);
}
END_TEST

/* Without memory for a JSON text, the loss is known. */
START_TEST(json_out_of_memory)
{
    test_mem_fail_at(0);
    put("{}", false);
    test_mem_fail_at(-1);
    ck_assert_int_eq(mortise_out_flush(&out), ENOMEM);
}
END_TEST

/* An execution is called as people call it: no invocation, no first visit. */
START_TEST(executions_have_names)
{
    static const char *const names[][2] = {
        {"1.0/review#1", "review"},
        {"1.0/review#2", "review#2"},
        {"1.0/review#12", "review#12"},
        {"2.1/read#1[3]", "read[3]"},
        {"1.0/read#2[0][10]", "read#2[0][10]"},
        {"1.0/outer#1/inner#3", "outer/inner#3"},
        {"1.0/outer#1/inner#1", "outer/inner"},
    };
    char name[MORTISE_CLI_EXECUTION], path[1024];
    json_t *entry = json_pack("{s:s}", "node", "a");

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        ck_assert_str_eq(mortise_cli_format_short_path(names[i][0], name),
                         names[i][1]);
    ck_assert_str_eq(mortise_cli_format_execution(entry, name), "a");
    json_object_set_new(entry, "path", json_string("1.0/b#1"));
    ck_assert_str_eq(mortise_cli_format_execution(entry, name), "b");
    memset(path, 'x', sizeof path);
    memcpy(path, "1.0/", 4);
    path[sizeof path - 1] = '\0';
    json_object_set_new(entry, "path", json_string(path));
    ck_assert_uint_eq(strlen(mortise_cli_format_execution(entry, name)),
                      MORTISE_CLI_EXECUTION - 1);
    json_decref(entry);
}
END_TEST

/* Cutting keeps to the columns and to the room, and shows that it cut. */
START_TEST(cutting)
{
    char cut[64];

    ck_assert_uint_eq(mortise_out_truncate(cut, sizeof cut, "abc", 3), 3);
    ck_assert_str_eq(cut, "abc");
    ck_assert_uint_eq(mortise_out_truncate(cut, sizeof cut, "abcd", 3), 3);
    ck_assert_str_eq(cut, "ab\xE2\x80\xA6");
    ck_assert_uint_eq(mortise_out_truncate(cut, sizeof cut, "a\x1b[Kbcd", 4),
                      2);
    ck_assert_str_eq(cut, "a\xE2\x80\xA6"); /* no half of an escape */
    ck_assert_uint_eq(mortise_out_truncate(cut, 6, "abcdefgh", 60), 3);
    ck_assert_str_eq(cut, "ab\xE2\x80\xA6");
    ck_assert_uint_eq(mortise_out_truncate(cut, sizeof cut, "abc", 0), 0);
    ck_assert_str_eq(cut, "");
}
END_TEST

/* The name of a node in teams is whole, or, on a terminal, loses what it stands in,
 * and never what it is called itself. */
START_TEST(names_in_the_margin)
{
    static const char nested[] = "review/correctness/logic";

    mortise_out_put_margin_line(&out, MORTISE_PLAIN, "calls", nested, "it");
    ck_assert_str_eq(printed(), "  calls    review/correctness/logic it\n");
    mortise_out_put_margin_line(&out, MORTISE_PLAIN, "user", nested, "");
    ck_assert_str_eq(printed(), "  user     review/correctness/logic\n");
    out.tty = true;
    mortise_out_put_margin_line(&out, MORTISE_PLAIN, "calls", nested, "it");
    ck_assert_ptr_nonnull(
        strstr(printed(), "\xE2\x80\xA6/correctness/logic  it"));
    mortise_out_put_margin_line(&out, MORTISE_PLAIN, "calls",
                                "a/nameofthirtytwoletters/b", "it");
    ck_assert_ptr_nonnull(
        strstr(printed(), "\xE2\x80\xA6/b                  it"));
    mortise_out_put_margin_line(&out, MORTISE_PLAIN, "calls",
                                "anameofmorethantwentyletters", "it");
    ck_assert_ptr_nonnull(
        strstr(printed(), "anameofmorethantwen\xE2\x80\xA6 it"));
    out.tty = false;
}
END_TEST

/* The first failed write is kept, and later output goes nowhere. */
START_TEST(failed_writes_are_known)
{
    close(pipe_ends[1]);
    pipe_ends[1] = -1;
    mortise_out_puts(&out, "lost");
    ck_assert_int_eq(mortise_out_flush(&out), EBADF);
    mortise_out_puts(&out, "lost, too");
    ck_assert_int_eq(mortise_out_flush(&out), EBADF);
}
END_TEST

/* More than the buffer holds arrives whole. */
START_TEST(long_output)
{
    char block[1000];

    memset(block, 'x', sizeof block);
    for (int i = 0; i < 20; i++)
        mortise_out_put(&out, block, sizeof block);
    ck_assert_uint_eq(strlen(printed()), 20000);
}
END_TEST

/* A pipe gets no colours. */
START_TEST(no_colour_for_pipes)
{
    mortise_out_set_style(&out, MORTISE_BAD);
    mortise_out_puts(&out, "x");
    ck_assert_str_eq(printed(), "x");
}
END_TEST

/* ---- options
 * ------------------------------------------------------------------ */

static const struct mortise_opt opts[] = {
    MORTISE_OPT_TEXT("reason", "WHY", reason, "Why"),
    MORTISE_OPT_STORE,
    MORTISE_OPT_JSON("As JSON"),
    {"unencrypted", NULL, offsetof(struct mortise_args, unencrypted), "Plain",
     'W', 0},
    MORTISE_OPT_END,
};
static const struct mortise_cmd cmd = {.name = "try",
                                       .operands = "RUN [ID]",
                                       .summary = "Try",
                                       .opts = opts,
                                       .example = "mortise try x"};

static struct mortise_args args;
static struct mortise_err err;

/* Parse words separated by blanks; "_" stands for an empty one. */
static int parse(const char *line)
{
    static char copy[256];
    static char *words[32];
    int n = 0;

    snprintf(copy, sizeof copy, "%s", line);
    for (char *w = strtok(copy, " "); w != NULL; w = strtok(NULL, " "))
        words[n++] = strcmp(w, "_") == 0 ? w + 1 : w;
    return mortise_opt_parse(&args, &cmd, n, words, &err);
}

/* Options and operands may be mixed, and both spellings mean the same. */
START_TEST(options_are_read)
{
    static const char *const lines[] = {
        "a --reason why b --json -W",
        "--reason=why a b --json --unencrypted",
        "--json -W --reason why -- a b",
    };

    ck_assert_int_eq(parse(lines[_i]), MORTISE_OK);
    ck_assert_str_eq(args.reason, "why");
    ck_assert(args.json && args.unencrypted && !args.help);
    ck_assert_ptr_null(args.store);
    ck_assert_uint_eq(args.n_operands, 2);
    ck_assert_str_eq(args.operands[0], "a");
    ck_assert_str_eq(args.operands[1], "b");
}
END_TEST

/* Behind `--`, and as a lone `-`, a word is an operand whatever it looks
 * like. */
START_TEST(operands_with_dashes)
{
    ck_assert_int_eq(parse("- -- --json"), MORTISE_OK);
    ck_assert(!args.json);
    ck_assert_str_eq(args.operands[0], "-");
    ck_assert_str_eq(args.operands[1], "--json");
}
END_TEST

/* Whatever is wrong is said in the fitting words. */
START_TEST(wrong_lines)
{
    static const char *const cases[][2] = {
        {"", "an operand is missing: mortise try RUN [ID]"},
        {"a b c", "unexpected operand 'c' (expected: mortise try RUN [ID])"},
        {"a --jsn", "unknown option '--jsn'; did you mean '--json'?"},
        {"a --zzzzzz", "unknown option '--zzzzzz'"},
        {"a --js", "unknown option '--js'"},
        {"a -x", "unknown option '-x'"},
        {"a -WW", "unknown option '-WW'"},
        {"a --=x", "unknown option '--'"},
        {"a --json=yes", "option '--json' takes no value"},
        {"a --reason", "option '--reason' needs a value: --reason WHY"},
        {"a --reason=", "option '--reason' needs a value: --reason WHY"},
        {"a --reason _", "option '--reason' needs a value: --reason WHY"},
        {"a --reason x --reason y", "option '--reason' is given twice"},
    };

    ck_assert_int_eq(parse(cases[_i][0]), MORTISE_EINVAL);
    ck_assert_str_eq(err.msg, cases[_i][1]);
}
END_TEST

/* A value may look like an option: it is taken as it stands. */
START_TEST(values_with_dashes)
{
    ck_assert_int_eq(parse("a --reason --json"), MORTISE_OK);
    ck_assert_str_eq(args.reason, "--json");
    ck_assert(!args.json);
}
END_TEST

/* --help wins over what comes after it and over missing operands. */
START_TEST(help_wins)
{
    ck_assert_int_eq(parse("--help --nonsense"), MORTISE_OK);
    ck_assert(args.help);
    ck_assert_int_eq(parse("-h"), MORTISE_OK);
    ck_assert(args.help);
}
END_TEST

/* A very long unknown option is reported, not copied out of bounds. */
START_TEST(long_unknown_option)
{
    char word[5000], *words[] = {word};

    memset(word, '-', 2);
    memset(word + 2, 'j', sizeof word - 3);
    word[sizeof word - 1] = '\0';
    ck_assert_int_eq(mortise_opt_parse(&args, &cmd, 1, words, &err),
                     MORTISE_EINVAL);
}
END_TEST

/* The help text has every option, the exit codes and the example. */
START_TEST(help_is_whole)
{
    static const char *const parts[] = {
        "Usage: mortise try RUN [ID] [options]",
        "--reason WHY",
        "--store DIR",
        "-W, --unencrypted",
        "-h, --help",
        "Exit codes:",
        "   0  done",
        "   3  wrong usage",
        "Example:\n  mortise try x\n",
    };

    mortise_opt_print_help(&out, &cmd);
    printed();
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        ck_assert_msg(strstr(got, parts[i]) != NULL, "no '%s' in:\n%s",
                      parts[i], got);
}
END_TEST

/* ---- exit codes
 * --------------------------------------------------------------- */

/* Every result has a line in the table, and unknown ones are failures. */
START_TEST(results_have_codes)
{
    ck_assert_int_eq(mortise_exit_code_of_result(MORTISE_OK), 0);
    for (int rv = MORTISE_ENOMEM; rv >= MORTISE_RESULTS_END; rv--)
        ck_assert_int_ne(mortise_exit_code_of_result(rv), 0);
    ck_assert_int_eq(mortise_exit_code_of_result(MORTISE_RESULTS_END - 1), 1);
    ck_assert_int_eq(mortise_exit_code_of_result(1), 1);
    ck_assert_int_eq(mortise_exit_code_of_result(MORTISE_ECHECK), 2);
    ck_assert_int_eq(mortise_exit_code_of_result(MORTISE_ENOTFOUND), 3);
    ck_assert_int_eq(mortise_exit_code_of_result(MORTISE_EINDOUBT), 5);
    ck_assert_int_eq(mortise_exit_code_of_result(MORTISE_EDENIED), 77);
    ck_assert_int_eq(mortise_exit_code_of_result(MORTISE_EFORMAT), 78);
}
END_TEST

/* Statuses are found by name, and only those. */
START_TEST(statuses_have_codes)
{
    ck_assert_int_eq(mortise_status_parse("completed"), MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(mortise_status_parse("nonsense"), 0);
    ck_assert_int_eq(mortise_exit_code_of_status(MORTISE_RUN_COMPLETED), 0);
    ck_assert_int_eq(mortise_exit_code_of_status(MORTISE_RUN_FAILED), 1);
    ck_assert_int_eq(mortise_exit_code_of_status(MORTISE_RUN_WAITING), 4);
    ck_assert_int_eq(mortise_exit_code_of_status(MORTISE_RUN_IN_DOUBT), 5);
    ck_assert_int_eq(mortise_exit_code_of_status(0), 1);
    ck_assert_int_eq(mortise_exit_code_of_status(99), 1);
}
END_TEST

/* ---- progress
 * ------------------------------------------------------------------ */

static struct mortise_progress progress;

static void show(const char *event)
{
    json_t *v = json_loads(event, 0, NULL);

    ck_assert_ptr_nonnull(v);
    mortise_progress_print_event(&progress, v);
    json_decref(v);
}

/* A pipe gets one plain line an event, with all that it says. */
START_TEST(plain_events)
{
    mortise_progress_init(&progress, &out, false);
    show("{\"seq\":7,\"run\":\"r\",\"tenant\":\"default\",\"at\":\"T\","
         "\"type\":\"node_end\",\"node\":\"read\",\"path\":\"1.0/read#1\","
         "\"attempt\":1,\"ms\":12}");
    ck_assert_str_eq(printed(), "T node_end read ms=12\n");
    show("{\"seq\":8,\"at\":\"T\",\"type\":\"new_type\",\"x\":{\"y\":"
         "\"\\u001b\"}}");
    ck_assert_str_eq(printed(), "T new_type x={\"y\":\"\\u001b\"}\n");
}
END_TEST

/* For programs, the event itself. */
START_TEST(json_events)
{
    mortise_progress_init(&progress, &out, true);
    show("{\"seq\":7,\"type\":\"node_end\"}");
    ck_assert_str_eq(printed(), "{\"seq\":7,\"type\":\"node_end\"}\n");
}
END_TEST

/* When nobody reads any more, the caller hears of it. */
START_TEST(nobody_reads)
{
    json_t *v = json_pack("{s:s}", "type", "x");

    mortise_progress_init(&progress, &out, false);
    close(pipe_ends[1]);
    pipe_ends[1] = -1;
    ck_assert_int_ne(mortise_progress_print_event(&progress, v), 0);
    json_decref(v);
}
END_TEST

/* An emulation of a terminal that is good enough for what we send: text, line
 * feeds, CR, cursor up, erase below, colours. */
struct screen {
    char line[64][128];
    size_t row, col;
};

static size_t control(struct screen *s, const char *p)
{
    size_t n = strspn(p + 2, "0123456789");
    size_t by = (size_t)atoi(p + 2);

    switch (p[2 + n]) {
    case 'A':
        ck_assert_uint_le(by, s->row);
        s->row -= by;
        break;
    case 'J':
        memset(s->line[s->row] + s->col, 0, sizeof s->line[0] - s->col);
        for (size_t i = s->row + 1; i < 64; i++)
            memset(s->line[i], 0, sizeof s->line[0]);
        break;
    case 'm':
        break;
    default:
        ck_abort_msg("unexpected control %s", p + 1);
    }
    return 3 + n;
}

static void feed(struct screen *s, const char *p)
{
    while (*p != '\0') {
        if (*p == '\x1b') {
            p += control(s, p);
            continue;
        }
        if (*p == '\n') {
            s->row++;
            s->col = 0;
        } else if (*p == '\r') {
            s->col = 0;
        } else {
            ck_assert_uint_lt(s->col, 127);
            s->line[s->row][s->col++] = *p;
        }
        p++;
    }
}

static int master;

static void open_terminal(unsigned short columns, unsigned short rows)
{
    struct winsize w = {.ws_col = columns, .ws_row = rows};
    int slave;

    setenv("TERM", "xterm", 1);
    ck_assert_int_eq(openpty(&master, &slave, NULL, NULL, &w), 0);
    close(pipe_ends[1]);
    pipe_ends[1] = slave;
    mortise_out_init(&out, slave, &test_mem);
    mortise_progress_init(&progress, &out, false);
    ck_assert(progress.live);
}

/* What was written so far, onto a screen.  The line discipline delivers when it
 * likes: a mark says that it has. */
static void close_terminal(struct screen *s)
{
    size_t n = 0;

    memset(s, 0, sizeof *s);
    ck_assert_int_eq(mortise_out_flush(&out), 0);
    ck_assert_int_eq(write(out.fd, "\f", 1), 1);
    do {
        ssize_t part = read(master, got + n, sizeof got - 1 - n);

        ck_assert_int_gt(part, 0);
        n += (size_t)part;
    } while (got[n - 1] != '\f');
    got[n - 1] = '\0';
    close(master);
    feed(s, got);
}

/* What is at work stays at the bottom; what is done scrolls by above it. */
START_TEST(live_events)
{
    struct screen s;

    open_terminal(60, 24);
    show("{\"type\":\"run_start\",\"graph\":\"g\",\"actor\":\"uid:0\"}");
    show("{\"ephemeral\":true,\"type\":\"node_start\",\"node\":\"a\","
         "\"path\":\"1.0/a#1\"}");
    show("{\"ephemeral\":true,\"type\":\"node_start\",\"node\":\"b\","
         "\"path\":\"1.0/b#1\"}");
    show("{\"ephemeral\":true,\"type\":\"event\",\"path\":\"1.0/b#1\","
         "\"done\":5}");
    show("{\"type\":\"node_end\",\"node\":\"a\",\"path\":\"1.0/a#1\","
         "\"ms\":1500}");
    close_terminal(&s);
    ck_assert_ptr_nonnull(strstr(s.line[0], "started"));
    ck_assert_ptr_nonnull(strstr(s.line[1], "done"));
    ck_assert_ptr_nonnull(strstr(s.line[1], "1.5 s"));
    ck_assert_ptr_nonnull(strstr(s.line[2], "working"));
    ck_assert_ptr_nonnull(strstr(s.line[2], " b "));
    ck_assert_ptr_nonnull(strstr(s.line[2], "done=5"));
    ck_assert_str_eq(s.line[3], "");
}
END_TEST

/* What was done and why stands in front, where 80 columns have room for it; a word
 * that fills its place does not run into the node's name. */
static const char *const gists[][2] = {
    {"\"guardrail_result\",\"guardrail\":\"people\",\"stage\":\"output\","
     "\"violation\":true,\"action\":\"sanitize\",\"reason\":\"a mail address\","
     "\"ms\":0",
     "  guard    reply                sanitize: a mail address (people, "
     "output)"},
    {"\"guardrail_result\",\"guardrail\":\"people\",\"stage\":\"memory_write\","
     "\"violation\":false,\"action\":\"pass\",\"ms\":0",
     "  guard    reply                pass (people, memory_write)"},
    {"\"memory_read\",\"consistency\":\"live\",\"as_of\":0,\"traces\":[]",
     "  recalls  reply                nothing"},
    {"\"memory_read\",\"consistency\":\"live\",\"traces\":[{},{}],\"note\":"
     "\"no vectors\"",
     "  recalls  reply                2 traces; no vectors"},
    {"\"memory_write\",\"consistency\":\"live\",\"trace\":{\"id\":\"f3\","
     "\"type\":"
     "\"episodic\",\"scope\":\"session\",\"key\":\"a\",\"content\":\"Hi "
     "Anna\"}",
     "  keeps    reply                episodic, session=a: Hi Anna"},
    {"\"discovery_result\",\"query\":\"q\",\"results\":[{\"id\":\"a\"},{\"id\":"
     "\"b\"}],\"chosen\":\"a\"",
     "  finds    reply                a"},
    {"\"discovery_result\",\"results\":[{\"id\":\"a\"},{\"id\":\"b\"}]",
     "  finds    reply                a, b"},
    {"\"discovery_result\",\"results\":[],\"error\":{\"code\":\"x\","
     "\"message\":"
     "\"m\"}",
     "  finds    reply                x: m"},
    {"\"something_new\",\"x\":1",
     "  somethin\xe2\x80\xa6 reply               x=1"},
};

START_TEST(live_gists)
{
    struct screen s;
    char event[1024];

    snprintf(event, sizeof event, "{\"node\":\"reply\",\"type\":%s}",
             gists[_i][0]);
    open_terminal(80, 24);
    show(event);
    close_terminal(&s);
    ck_assert_str_eq(s.line[0], gists[_i][1]);
}
END_TEST

/* However narrow or low the window, no line wraps and none scrolls away. */
START_TEST(live_events_fit)
{
    static const unsigned short windows[][2] = {
        {10, 24}, {30, 5}, {1, 1}, {40, 3}, {80, 4}};
    unsigned short columns = windows[_i][0], rows = windows[_i][1];
    struct screen s;
    char event[512];

    open_terminal(columns, rows);
    for (int i = 0; i < 20; i++) {
        snprintf(event, sizeof event,
                 "{\"ephemeral\":true,\"type\":\"node_start\",\"path\":"
                 "\"1.0/node_with_a_long_name_%d#1\"}",
                 i);
        show(event);
        ck_assert_uint_lt(progress.drawn, rows);
    }
    close_terminal(&s);
    for (size_t i = 0; i < 64; i++)
        ck_assert_uint_le(strlen(s.line[i]), columns);
}
END_TEST

/* Erasing leaves nothing of the working lines, for others to write there. */
START_TEST(erasing)
{
    struct screen s;

    open_terminal(60, 24);
    show("{\"ephemeral\":true,\"type\":\"node_start\",\"path\":\"1.0/a#1\"}");
    mortise_progress_erase(&progress);
    mortise_out_puts(&out, "a warning\n");
    mortise_progress_draw(&progress);
    close_terminal(&s);
    ck_assert_str_eq(s.line[0], "a warning");
    ck_assert_ptr_nonnull(strstr(s.line[1], " a"));
}
END_TEST

/* An event may carry anything: no control character passes. */
START_TEST(live_events_are_safe)
{
    struct screen s;

    open_terminal(60, 24);
    show("{\"ephemeral\":true,\"type\":\"node_start\",\"path\":"
         "\"1.0/\\u001b[9;9Ha\"}");
    show("{\"ephemeral\":true,\"type\":\"event\",\"path\":"
         "\"1.0/\\u001b[9;9Ha\",\"t\":\"\\u001b]0;x\\u0007\"}");
    show("{\"type\":\"node_failed\",\"node\":\"\\u001b[2J\",\"error\":"
         "{\"code\":\"\\u0008\",\"message\":\"\\u001b[2J\"}}");
    close_terminal(&s); /* control() aborts on any but ours */
}
END_TEST

/* NO_COLOR takes the colours, not the redrawing; dumb terminals get plain
 * lines. */
START_TEST(terminals_that_want_less)
{
    struct screen s;

    setenv("NO_COLOR", "1", 1);
    open_terminal(60, 24);
    show("{\"type\":\"node_end\",\"node\":\"a\",\"ms\":1}");
    close_terminal(&s);
    ck_assert_ptr_null(strstr(got, "\x1b["));
    unsetenv("NO_COLOR");
    setenv("TERM", "dumb", 1);
    mortise_out_init(&out, pipe_ends[1], &test_mem);
    ck_assert(!out.tty && !out.color);
}
END_TEST

/* Durations read well. */
START_TEST(durations)
{
    char text[32];

    ck_assert_str_eq(mortise_out_format_duration(0, text), "0 ms");
    ck_assert_str_eq(mortise_out_format_duration(999, text), "999 ms");
    ck_assert_str_eq(mortise_out_format_duration(1250, text), "1.2 s");
    ck_assert_str_eq(mortise_out_format_duration(61500, text), "1 min 1 s");
}
END_TEST

/* ---- requests ------------------------------------------------------------- */

/* Each thing that a request may say has its line, by this name and in this
 * order. */
START_TEST(requests_have_lines)
{
    json_t *request = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:{s:i}, s:s, s:s, s:i, s:s, s:{s:i},"
        " s:[{s:i}], s:{s:s}, s:s, s:s, s:s, s:{s:s}, s:[s], s:s}",
        "kind", "in_doubt", "node", "a", "path", "1.0/a#1", "prompt", "Well?",
        "id", "8f31", "tool", "http/request", "args", "n", 1, "effect",
        "external", "cause", "it broke", "step", 0, "method", "http.request/1",
        "answer", "status", 500, "open", "step", 2, "budget", "node", "b",
        "limit", "steps", "graph", "g", "digest", "6f1c", "schema", "type",
        "object", "assignees", "anna", "deadline", "soon");

    ck_assert_ptr_nonnull(request);
    mortise_cli_print_question(&out, request);
    json_decref(request);
    ck_assert_str_eq(printed(),
                     "a has an effect that may or may not have happened\n"
                     "    Well?\n"
                     "    request  8f31\n"
                     "    tool     http/request\n"
                     "    args     {\"n\":1}\n"
                     "    effect   external\n"
                     "    because  it broke\n"
                     "    step     http.request/1\n"
                     "    heard    {\"status\":500}\n"
                     "    inside   [{\"step\":2}]\n"
                     "    budget   {\"node\":\"b\"}\n"
                     "    limit    steps\n"
                     "    graph    g\n"
                     "    digest   6f1c\n"
                     "    result   {\"type\":\"object\"}\n"
                     "    for      [\"anna\"]\n"
                     "    until    soon\n");
}
END_TEST

/* ... and so has each kind its words. */
START_TEST(requests_have_words)
{
    static const char *const words[][2] = {
        {"human", "asks a person"},
        {"approval_pending", "wants to call a tool and needs an approval"},
        {"node", "is about to run and needs an approval"},
        {"plan", "waits for the approval of its plan"},
        {"scheduled_pause", "is paused by the graph"},
        {"budget", "would exceed the budget of its graph"},
        {"in_doubt", "has an effect that may or may not have happened"},
        {"custom", "asks a question"},
        {"timer", "waits for a timer"},
        {"of a newer version", "waits"},
    };
    json_t *request = json_pack("{s:s}", "kind", words[_i][0]);

    ck_assert_str_eq(mortise_cli_describe_kind(request), words[_i][1]);
    json_decref(request);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli parts");
    TCase *tc = tcase_create("output");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, words_are_made_safe, 0, 10);
    tcase_add_test(tc, null_is_nothing);
    tcase_add_test(tc, texts_keep_lines);
    tcase_add_test(tc, cells_count_columns);
    tcase_add_loop_test(tc, shell_words, 0, 6);
    tcase_add_test(tc, requests_have_lines);
    tcase_add_loop_test(tc, requests_have_words, 0, 10);
    tcase_add_test(tc, json_layout);
    tcase_add_test(tc, json_is_safe);
    tcase_add_test(tc, json_out_of_memory);
    tcase_add_test(tc, cutting);
    tcase_add_test(tc, names_in_the_margin);
    tcase_add_test(tc, executions_have_names);
    tcase_add_test(tc, failed_writes_are_known);
    tcase_add_test(tc, long_output);
    tcase_add_test(tc, no_colour_for_pipes);
    suite_add_tcase(s, tc);

    tc = tcase_create("options");
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, options_are_read, 0, 3);
    tcase_add_test(tc, operands_with_dashes);
    tcase_add_loop_test(tc, wrong_lines, 0, 13);
    tcase_add_test(tc, values_with_dashes);
    tcase_add_test(tc, help_wins);
    tcase_add_test(tc, long_unknown_option);
    tcase_add_test(tc, help_is_whole);
    tcase_add_test(tc, results_have_codes);
    tcase_add_test(tc, statuses_have_codes);
    suite_add_tcase(s, tc);

    tc = tcase_create("progress");
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, plain_events);
    tcase_add_test(tc, json_events);
    tcase_add_test(tc, nobody_reads);
    tcase_add_test(tc, live_events);
    tcase_add_loop_test(tc, live_gists, 0, sizeof gists / sizeof gists[0]);
    tcase_add_loop_test(tc, live_events_fit, 0, 5);
    tcase_add_test(tc, erasing);
    tcase_add_test(tc, live_events_are_safe);
    tcase_add_test(tc, terminals_that_want_less);
    tcase_add_test(tc, durations);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
