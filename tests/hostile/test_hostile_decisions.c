/* test_hostile_decisions.c -- decisions that are meant for something else: on
 * runs that are absent, removed or begin alike, and on questions that changed
 * between the look and the word.
 *
 * The oracle is what the store has of every run, before and after: a command
 * that is refused has recorded nothing anywhere. */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/desk.h"
#include "lib/matrix.h"

enum { COUNT_MAX = 64 };

#define DELETE_IT "DELETE PRODUCTION?"

static char ledger[1 << 16], id[COUNT_MAX], other[COUNT_MAX];

/* ---- the world ------------------------------------------------------------ */

static void graphs(void)
{
    desk_graph("ask", "start: q\nnodes:\n"
                      "  q: {type: human, prompt: Tidy up?, next: END}\n");
    /* One question after the other, of two nodes and of one. */
    desk_graph("two",
               "start: q1\nnodes:\n"
               "  q1: {type: human, prompt: Tidy up?, next: q2}\n"
               "  q2: {type: human, prompt: " DELETE_IT ", next: END}\n");
    desk_graph("again", "start: q\nnodes:\n"
                        "  q: {type: human, prompt: Once more?, default: END,\n"
                        "      routes: [{when: output.approved, to: q}]}\n");
    desk_graph("expires",
               "start: q1\nnodes:\n"
               "  q1: {type: human, prompt: Tidy up?, wait: 1ms, next: END,\n"
               "       on_timeout: {goto: q2}}\n"
               "  q2: {type: human, prompt: " DELETE_IT ", next: END}\n");
    desk_graph("strike", "start: a\nnodes:\n"
                         "  a: {type: tool, tool: tried/strike, next: END,\n"
                         "      args: {marker: \"${input.marker}\"}}\n");
    desk_graph("both",
               "start: [q1, q2]\nnodes:\n"
               "  q1: {type: human, prompt: Tidy up?, next: END}\n"
               "  q2: {type: human, prompt: " DELETE_IT ", next: END}\n");
}

/* What a store of this retention has removed. */
static void remove_run(const char *run)
{
    desk_ok("$MORTISE run plain.yaml --id %s", run);
    desk_ok("cp mortise.yaml kept && sed -i 's|^store:.*|store: {path: "
            "./state, retention: {finished: 1ms}}|' mortise.yaml");
    for (int i = 0; i < 50; i++) {
        child_run("$MORTISE run plain.yaml");
        child_run("$MORTISE show %s", run);
        if (child.code != 0)
            break;
    }
    desk_err("was removed at");
    desk_ok("mv kept mortise.yaml");
}

static void begin(void)
{
    desk_begin();
    desk_graph("plain", "start: a\nnodes:\n"
                        "  a: {type: tool, tool: tried/echo, args: {value: 1}, "
                        "next: END}\n");
    graphs();
}

static void waits(const char *graph, const char *run)
{
    child_run("$MORTISE run %s.yaml --id %s", graph, run);
    desk_code(4);
}

/* The id of what the run waits for. */
static void look(const char *run, char out[COUNT_MAX])
{
    desk_ok("$MORTISE inbox %s --ids", run);
    ck_assert_int_eq(sscanf(child.out, "%*s %63s", out), 1);
}

/* ---- the oracle ------------------------------------------------------------ */

static void remember(void)
{
    desk_ok("$MORTISE runs --json; $MORTISE inbox --json");
    strcpy(ledger, child.out);
}

static void nothing_happened(const char *line)
{
    desk_ok("$MORTISE runs --json; $MORTISE inbox --json");
    ck_assert_msg(strcmp(child.out, ledger) == 0, "%s changed something:\n%s",
                  line, child.out);
}

/* A line is refused, as what cannot be asked, and with this code's name. */
static void refused(const char *code, const char *line)
{
    child_run("%s </dev/null", line);
    ck_assert_msg(child.code == 3 && strstr(child.err, code) != NULL,
                  "exit code %d of %s:\n%s%s", child.code, line, child.out,
                  child.err);
}

/* ---- runs that are not meant ------------------------------------------------ */

static const char *const changes[] = {
    "$MORTISE approve \"$RUN\"",
    "$MORTISE reject \"$RUN\"",
    "$MORTISE answer \"$RUN\" --value '{\"approved\": true}'",
    "$MORTISE resolve \"$RUN\" --fail",
    "$MORTISE approve \"$RUN\" $ID",
    "$MORTISE reject \"$RUN\" $ID",
    "$MORTISE answer \"$RUN\" $ID --value '{\"approved\": true}'",
    "$MORTISE resolve \"$RUN\" $ID --retry",
    "$MORTISE cancel \"$RUN\"",
    "$MORTISE pause \"$RUN\"",
    "$MORTISE resume \"$RUN\"",
    "$MORTISE resume \"$RUN\" --goto q",
    "$MORTISE resume \"$RUN\" --update '{\"scratch\": {}}'",
    "$MORTISE resume \"$RUN\" --limit steps=9000",
    "$MORTISE raise-budget \"$RUN\" tool_calls=+1",
    "$MORTISE inbox \"$RUN\" --ids",
};

/* Beside order-10, order-11, job-12 and only-one, and job-1, which was removed:
 * beginnings, continuations, other letters, and nothing at all. */
static const char *const names[] = {
    "order-1",   "order-", "o",         "order-100", "ORDER-10",
    "job-1",     "job-",   "only",      "only-on",   "nobody",
    "order-10/", "",       "order-10 ", "*",         "-",
};

/* Whatever changes something takes the whole id of a run, and the id of a
 * removed run is nobody else's. */
START_TEST(only_whole_ids_change_runs)
{
    enum { N = sizeof names / sizeof *names };
    size_t n = sizeof changes / sizeof *changes;

    remove_run("job-1");
    waits("ask", "order-10");
    waits("ask", "order-11");
    waits("ask", "job-12");
    waits("ask", "only-one");
    look("job-12", id);
    setenv("ID", id, 1);
    remember();
    for (size_t i = 0; i < n * N; i++) {
        const char *line = changes[i % n];

        /* Every command and every name, whatever part is taken. */
        if (!matrix_takes(i + i / n, N / 3))
            continue;
        setenv("RUN", names[i / n], 1);
        refused("(E_NOT_FOUND)", line);
        if (strcmp(names[i / n], "job-1") == 0)
            desk_err("run 'job-1' was removed at ");
        nothing_happened(line);
    }
    unsetenv("RUN");
    unsetenv("ID");
    desk_ok("$MORTISE approve order-10 $($MORTISE inbox order-10 --ids | cut "
            "-d' ' -f2)");
}
END_TEST

/* Who is refused is told which runs there are. */
START_TEST(candidates_are_named)
{
    waits("ask", "order-10");
    waits("ask", "order-12");
    refused("(E_NOT_FOUND)", "$MORTISE cancel order-1");
    desk_err("no run 'order-1' in the store");
    desk_err("needs its whole id");
    desk_err("\n  order-10\n  order-12 (E_NOT_FOUND)");
}
END_TEST

static const char *const reads[] = {
    "show", "why", "history", "events", "inbox", "graph show ask.yaml --run"};

/* What only reads takes the beginning of one id, and says whose; of several it
 * takes none; and a removed run is not the one that begins like it. */
START_TEST(reading_takes_beginnings)
{
    const char *what = reads[_i];
    char line[256];

    remove_run("job-1");
    waits("ask", "job-12");
    waits("ask", "order-10");
    waits("ask", "order-11");
    desk_ok("$MORTISE %s job-12", what);
    ck_assert_str_eq(child.err, "");
    desk_ok("$MORTISE %s job-12 >exact; $MORTISE %s job >short", what, what);
    ck_assert_str_eq(child.err, "mortise: job is short for run job-12\n");
    if (strcmp(what, "why") != 0) /* says how long it has been */
        desk_ok("cmp exact short");
    snprintf(line, sizeof line, "$MORTISE %s job-1", what);
    refused("(E_NOT_FOUND)", line);
    desk_err("was removed at");
    desk_err("\n  job-12");
    snprintf(line, sizeof line, "$MORTISE %s order-1", what);
    refused("(E_NOT_FOUND)", line);
    desk_err("is the beginning of several run ids:\n  order-10\n  order-11");
}
END_TEST

/* ---- questions that are not meant -------------------------------------------- */

/* The decisions that a person may have typed for a question. */
static const char *const decisions[] = {
    "$MORTISE approve r $ID", "$MORTISE reject r $ID --reason no",
    "$MORTISE answer r $ID --value '{\"approved\": true}'"};

static void all_refused(const char *request, const char *code)
{
    setenv("ID", request, 1);
    for (size_t i = 0; i < sizeof decisions / sizeof *decisions; i++) {
        refused(code, decisions[i]);
        nothing_happened(decisions[i]);
    }
    unsetenv("ID");
}

/* No id, a part of it that is too short, one digit that is wrong, the one of
 * another run's question, the name or the path of the node, all of them: nobody
 * is there to ask, so nothing is decided.  Eight digits are enough. */
START_TEST(only_ids_name_questions)
{
    char part[COUNT_MAX];

    waits("ask", "r");
    waits("ask", "s");
    look("r", id);
    look("s", other);
    ck_assert_str_ne(id, other);
    remember();
    all_refused("", "request that the decision is for");
    all_refused("q", "request that the decision is for");
    all_refused("1.0/q#1", "request that the decision is for");
    snprintf(part, sizeof part, "%.7s", id);
    all_refused(part, "request that the decision is for");
    refused("request that the decision is for", "$MORTISE approve r ''");
    nothing_happened("an empty id");
    snprintf(part, sizeof part, "%.40sf", id);
    all_refused(part, "(E_DECISION_MISMATCH)");
    snprintf(part, sizeof part, "%.8s", id);
    part[7] = part[7] == '0' ? '1' : '0';
    all_refused(part, "(E_DECISION_MISMATCH)");
    all_refused(other, "(E_DECISION_MISMATCH)");
    all_refused("0000000000000000", "(E_DECISION_MISMATCH)");
    desk_ok("$MORTISE approve r %.8s", id);
    remember();
    all_refused("", "no request is pending");
    desk_ok("$MORTISE reject s %s --reason no", other);
}
END_TEST

/* The line that is printed where nobody can be asked is what was typed, with the
 * id in it, and does that. */
START_TEST(the_printed_line_works)
{
    char command[4096];

    waits("two", "r");
    refused("Tidy up?",
            "$MORTISE reject r --reason \"it's late\" --no-continue");
    snprintf(command, sizeof command, "%s",
             strstr(child.err, child_build("mortise")));
    command[strcspn(command, "\n")] = '\0';
    look("r", id);
    id[8] = '\0';
    ck_assert_ptr_nonnull(strstr(command, id));
    desk_ok("%s", command);
    desk_ok("$MORTISE events r --json");
    desk_out("it's late");
    desk_ok("$MORTISE show r");
    desk_not_out("approved\": true");
}
END_TEST

/* q1 expired and q2 took its place: what was typed for q1 settles nothing. */
START_TEST(an_expired_question_is_not_the_next)
{
    waits("expires", "r");
    desk_ok("$MORTISE events r --json | sed -n "
            "'s/.*\"id\":\"\\([0-9a-f]*\\)\".*\"type\":\"interrupt\".*/\\1/p;"
            "s/.*\"type\":\"interrupt\".*\"id\":\"\\([0-9a-f]*\\)\".*/\\1/p' "
            "| head -n 1");
    ck_assert_int_eq(sscanf(child.out, "%63s", id), 1);
    for (int i = 0; i < 100; i++) {
        usleep(2000);
        child_run("$MORTISE resume r");
        desk_code(4);
        look("r", other);
        if (strcmp(id, other) != 0)
            break;
    }
    ck_assert_str_ne(id, other);
    remember();
    all_refused(id, "(E_DECISION_MISMATCH)");
    id[8] = '\0';
    all_refused(id, "(E_DECISION_MISMATCH)");
    all_refused("q1", "(E_DECISION_MISMATCH)");
    all_refused("", DELETE_IT);
    desk_ok("$MORTISE approve r %s", other);
}
END_TEST

/* The same node asks again: in the next round that is another question. */
START_TEST(another_round_is_another_question)
{
    waits("again", "r");
    look("r", id);
    child_run("$MORTISE approve r %s", id);
    desk_code(4);
    look("r", other);
    ck_assert_int_ne(strncmp(id, other, 8), 0);
    remember();
    all_refused(id, "(E_DECISION_MISMATCH)");
    desk_ok("$MORTISE reject r %s", other);
}
END_TEST

/* A run of the same name in another store asks the same, and that is another
 * question: what was typed for the one settles nothing where it lands by
 * mistake. */
START_TEST(another_store_is_another_question)
{
    char line[256];

    waits("ask", "r");
    look("r", id);
    child_run("$MORTISE run ask.yaml --id r --store elsewhere");
    desk_code(4);
    snprintf(line, sizeof line, "$MORTISE approve r %s --store elsewhere", id);
    refused("(E_DECISION_MISMATCH)", line);
    desk_ok("$MORTISE approve r $($MORTISE inbox r --ids --store elsewhere | "
            "cut -d' ' -f2) --store elsewhere");
    desk_ok("$MORTISE approve r %s", id);
}
END_TEST

/* Of several questions none is meant by no name, and each by its own; where one
 * that is named is none, nothing is said of the others. */
START_TEST(one_of_several)
{
    char line[256];

    waits("both", "r");
    remember();
    all_refused("", "several requests are pending");
    desk_ok("$MORTISE inbox r --ids | cut -d' ' -f2 | tr '\\n' ' '");
    ck_assert_int_eq(sscanf(child.out, "%63s %63s", id, other), 2);
    snprintf(line, sizeof line,
             "$MORTISE approve r %s 00000000000000000000000000000000", id);
    refused("(E_", line);
    nothing_happened(line);
    child_run("$MORTISE approve r %s", id);
    desk_code(4);
    remember();
    all_refused(id, "(E_DECISION_MISMATCH)");
    desk_ok("$MORTISE approve r %s", other);
}
END_TEST

/* An effect in doubt again is another doubt: who looked into the first one has
 * said nothing about the second. */
START_TEST(another_doubt_is_another_question)
{
    child_run("$MORTISE run strike.yaml --id r --input '{\"marker\": "
              "\"%s/struck\"}'",
              desk_dir);
    desk_code(128 + SIGKILL);
    child_run("$MORTISE resume r");
    desk_code(5);
    look("r", id);
    child_run("rm struck; $MORTISE resolve r %s --retry", id);
    desk_code(128 + SIGKILL);
    child_run("$MORTISE resume r");
    desk_code(5);
    look("r", other);
    ck_assert_int_ne(strncmp(id, other, 8), 0);
    remember();
    refused("(E_DECISION_MISMATCH)", "$MORTISE resolve r a/b --done '{}'");
    refused("request that the decision is for",
            "$MORTISE resolve r a --done '{}'");
    refused("request that the decision is for", "$MORTISE resolve r --retry");
    setenv("ID", id, 1);
    refused("(E_DECISION_MISMATCH)", "$MORTISE resolve r $ID --done '{}'");
    unsetenv("ID");
    nothing_happened("resolve");
    desk_ok("$MORTISE resolve r %.8s --done '{\"by\": \"hand\"}'", other);
}
END_TEST

/* ---- at a terminal ------------------------------------------------------------ */

/* A line that runs with a terminal of its own; what it prints there is read. */
struct typed {
    pid_t pid;
    int fd;
    char text[1 << 14];
    size_t n;
};

static void type_line(struct typed *t, const char *line)
{
    memset(t, 0, sizeof *t);
    t->fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    ck_assert_int_ge(t->fd, 0);
    ck_assert_int_eq(grantpt(t->fd) | unlockpt(t->fd), 0);
    setenv("MORTISE", child_build("mortise"), 1);
    t->pid = fork();
    ck_assert_int_ge(t->pid, 0);
    if (t->pid == 0) {
        char name[128];
        int tty;

        if (ptsname_r(t->fd, name, sizeof name) != 0 || setsid() < 0)
            _exit(125);
        tty = open(name, O_RDWR); /* a session's first: it controls it */
        if (tty < 0 || dup2(tty, 0) < 0 || dup2(tty, 1) < 0 ||
            dup2(tty, 2) < 0 || chdir(desk_dir) != 0)
            _exit(126);
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
}

/* Read until it has said that; false: it ended first. */
static bool says(struct typed *t, const char *text)
{
    while (strstr(t->text, text) == NULL) {
        ssize_t n = read(t->fd, t->text + t->n, sizeof t->text - 1 - t->n);

        if (n <= 0)
            return false;
        t->n += (size_t)n;
    }
    return true;
}

static int typed_end(struct typed *t)
{
    int status;

    while (says(t, "no such thing is said"))
        continue;
    ck_assert_int_eq(waitpid(t->pid, &status, 0), t->pid);
    close(t->fd);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void answer_with(struct typed *t, const char *words)
{
    ck_assert_msg(says(t, "Do this? [y/N] "), "%s", t->text);
    ck_assert_int_eq(write(t->fd, words, strlen(words)),
                     (ssize_t)strlen(words));
}

static const struct {
    const char *words;
    bool yes;
} answers[] = {
    {"y\n", true},   {"YES\n", true},  {"n\n", false},
    {"\n", false},   {"\4", false},    {"yesterday\n", false},
    {"ny\n", false}, {"y y\n", false}, {"yessssssssssssssy\n", false}};

/* A person is shown what is asked, and the command that names it; y and yes mean
 * it, all else does not. */
START_TEST(asked_at_a_terminal)
{
    struct typed t;
    int code;

    waits("ask", "r");
    look("r", id);
    id[8] = '\0';
    remember();
    type_line(&t, "$MORTISE approve r --reason seen");
    answer_with(&t, answers[_i].words);
    code = typed_end(&t);
    ck_assert_ptr_nonnull(strstr(t.text, "Tidy up?"));
    ck_assert_ptr_nonnull(strstr(t.text, id));
    ck_assert_ptr_nonnull(strstr(t.text, " --reason seen"));
    ck_assert_msg(code == (answers[_i].yes ? 0 : 3), "%d: %s", code, t.text);
    if (!answers[_i].yes)
        nothing_happened(answers[_i].words);
}
END_TEST

/* While a person thinks the store is free; and what they then mean is what they
 * were shown, not what has taken its place. */
START_TEST(what_was_shown_is_meant)
{
    struct typed t;

    waits("two", "r");
    look("r", id);
    type_line(&t, "$MORTISE approve r");
    ck_assert(says(&t, "Do this? [y/N] "));
    child_run("$MORTISE approve r %s", id);
    desk_code(4);
    remember();
    answer_with(&t, "y\n");
    ck_assert_int_eq(typed_end(&t), 3);
    ck_assert_ptr_nonnull(strstr(t.text, "Tidy up?"));
    ck_assert_ptr_nonnull(strstr(t.text, "(E_DECISION_MISMATCH)"));
    nothing_happened("a late yes");
    look("r", other);
    desk_ok("$MORTISE show r");
    desk_out(DELETE_IT);
}
END_TEST

/* A name that is given needs no question, and several get none. */
START_TEST(nothing_to_ask_at_a_terminal)
{
    struct typed t;

    waits("both", "r");
    remember();
    type_line(&t, "$MORTISE approve r");
    ck_assert_int_eq(typed_end(&t), 3);
    ck_assert_ptr_nonnull(strstr(t.text, "several requests are pending"));
    nothing_happened("several");
    waits("ask", "s");
    type_line(&t, "$MORTISE approve $($MORTISE inbox s --ids)");
    ck_assert_int_eq(typed_end(&t), 0);
    ck_assert_ptr_null(strstr(t.text, "Do this?"));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("hostile decisions");
    TCase *tc = tcase_create("decisions");

    tcase_set_timeout(tc, matrix_is_whole() ? 600 : 120);
    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, begin, desk_end);
    tcase_add_test(tc, only_whole_ids_change_runs);
    tcase_add_test(tc, candidates_are_named);
    tcase_add_loop_test(tc, reading_takes_beginnings, 0,
                        (int)(sizeof reads / sizeof *reads));
    tcase_add_test(tc, only_ids_name_questions);
    tcase_add_test(tc, the_printed_line_works);
    tcase_add_test(tc, an_expired_question_is_not_the_next);
    tcase_add_test(tc, another_round_is_another_question);
    tcase_add_test(tc, another_store_is_another_question);
    tcase_add_test(tc, one_of_several);
    tcase_add_test(tc, another_doubt_is_another_question);
    tcase_add_loop_test(tc, asked_at_a_terminal, 0,
                        (int)(sizeof answers / sizeof *answers));
    tcase_add_test(tc, what_was_shown_is_meant);
    tcase_add_test(tc, nothing_to_ask_at_a_terminal);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
