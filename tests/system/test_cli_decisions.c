/* test_cli_decisions.c -- a decision about a run whose plugin is in the way
 * (gone, another one, older, not trusted) is recorded, and said to be; nothing
 * runs until the plugin is back, and then the run goes on, whoever lets it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/desk.h"
#include "lib/knock.h"

#define THEN(what)                                                             \
    "start: z\nnodes:\n"                                                       \
    "  z: {type: tool, tool: tried/echo, args: {value: 1}, next: a}\n"         \
    "  a: {" what ", next: b}\n"                                               \
    "  b: {type: tool, tool: tried/echo, args: {value: 2}, next: END}\n"

static const char person[] = THEN("type: human, prompt: Well?");
static const char doubt[] = THEN("type: tool, tool: tried/unsure, args: {}");
static const char call[] = "hitl_mode: approve_tools\n" THEN(
    "type: tool, tool: tried/echo, args: {value: 3}");

/* What is decided, how history tells it, and what comes of it in the end. */
static const struct decision {
    const char *graph, *line, *told, *end;
} decisions[] = {
    {person, "approve r ID", "settle a (answered by", "completed"},
    {person, "reject r ID", "settle a (answered by", "completed"},
    {person, "answer r ID --value '{\"approved\": true}'",
     "settle a (answered by", "completed"},
    {doubt, "resolve r ID --done '{}'", "happened", "completed"},
    {doubt, "resolve r ID --fail", "fail", "failed"},
    {doubt, "resolve r ID --retry", "retry", "in_doubt"},
    {call, "approve r ID", "approved", "waiting"},
    {call, "reject r ID", "rejected", "failed"},
};

/* What is in the way, and how it goes away. */
static const struct obstacle {
    const char *comes, *goes;
    int code;
    const char *says, *more; /* NULL: no command helps */
    bool older;
} obstacles[] = {
    {"mv plugins away && mkdir plugins", "rmdir plugins && mv away plugins", 78,
     "no plugin 'tried'", NULL, false},
    {"cp -r plugins away && cp -r other/. plugins",
     "rm -r plugins && mv away plugins", 78, "has digest", "--accept-plugins",
     false},
    {"sed -i 's/tried/other/' trust.d/*.yaml",
     "sed -i 's/other/tried/' trust.d/*.yaml", 77, "plugin tried", NULL, false},
    {"cp -r plugins away && cp -r other/. plugins && "
     "$MORTISE run e.yaml --id e && cp -r away/. plugins",
     "cp -r other/. plugins && cp -r away/. plugins", 77,
     "is seq 1, but seq 2 ran here before", NULL, true},
};

enum {
    DECISIONS = sizeof decisions / sizeof *decisions,
    OBSTACLES = sizeof obstacles / sizeof *obstacles
};

/* The run `r`, which asks, and in whose way the obstacle comes then. */
static void block(const struct decision *d, const struct obstacle *o)
{
    desk_own_home();
    desk_ok("cp -r %s/plugins %s/trust.d .", desk_plugins, desk_plugins);
    desk_ok("sed -i 's|%s|.|' mortise.yaml", desk_plugins);
    desk_ok("cd plugins && sed 's/^seq: 1/seq: 2/; /^artifacts/,/^[^ ]/"
            "{/^artifacts/d;/^ /d}' tried.plugin.yaml >../tried.plugin.yaml");
    desk_ok("$MORTISE plugin sign tried.plugin.yaml plugins/tried.so --key "
            "%s/k.key --out other",
            desk_plugins);
    desk_graph("e", "start: b\nnodes:\n  b: {type: tool, tool: tried/echo, "
                    "args: {value: 2}, next: END}\n");
    desk_graph("g", d->graph);
    child_run("$MORTISE run g.yaml --id r");
    ck_assert(child.code == 4 || child.code == 5);
    if (d->graph == call) {
        desk_approve_plan("r");
        child_run("$MORTISE approve r $($MORTISE inbox r --ids | cut -d' ' "
                  "-f2)"); /* z */
        desk_code(4);
    }
    desk_ok("%s", o->comes);
}

/* ID becomes that of what is pending. */
static void decide(const char *line, const char *more)
{
    const char *id = strstr(line, "ID");

    child_run("$MORTISE %.*s$($MORTISE inbox r --ids | cut -d' ' -f2)%s%s",
              (int)(id - line), line, id + 2, more);
}

/* How it stands is said alike everywhere, and it is neither running nor
 * interrupted, nor did anybody pause it. */
static void check_words(bool blocked)
{
    desk_ok("$MORTISE show r");
    desk_out(blocked ? "status   blocked" : "status   paused");
    desk_out("reason   plugin");
    desk_ok("$MORTISE runs");
    desk_out("  paused");
    desk_not_out("interrupted");
    desk_ok("$MORTISE why r | tr -s '\\n ' ' '");
    desk_out("has not continued since");
    desk_out("the decision is recorded");
    desk_not_out("interrupted");
    desk_not_out("paused");
    desk_not_out("died");
    ck_assert_int_eq(strstr(child.out, "It is blocked") != NULL, blocked);
    desk_ok("$MORTISE history r");
    desk_not_out("pause (by");
}

/* An engine that starts goes on with it. */
static void by_engine(void)
{
    pid_t engine = child_start("engine", "$MORTISE engine");

    child_run("for i in $(seq 600); do $MORTISE show r >shown && ! grep -q "
              "'^reason   plugin' shown && ! grep -q '^status   running' shown "
              "&& break; sleep 0.1; done");
    desk_ok("sed -n 's/^status   /run r /p' shown");
    child_kill(engine);
}

/* Each decision, whatever is in the way. */
START_TEST(is_recorded)
{
    const struct decision *d = &decisions[_i % DECISIONS];
    const struct obstacle *o = &obstacles[_i / DECISIONS];
    char wanted[64];

    block(d, o);
    decide(d->line, "");
    desk_code(o->code);
    desk_out("run r recorded; blocked: ");
    desk_out(o->says);
    desk_not_out("node_start");
    ck_assert_int_eq(strstr(child.out, " resume r") != NULL, o->more != NULL);
    if (o->more != NULL)
        desk_out(o->more);
    desk_ok("$MORTISE history r");
    desk_out(d->told);
    check_words(true);
    desk_ok("%s", o->goes);
    if (!o->older)
        check_words(false);
    if (_i % 2 != 0 && !o->older)
        by_engine();
    else
        child_run("$MORTISE resume r%s", o->older ? " --allow-downgrade" : "");
    snprintf(wanted, sizeof wanted, "run r %s", d->end);
    desk_out(wanted);
    desk_ok("$MORTISE history r");
    desk_not_out("pause (by");
}
END_TEST

/* With --no-continue nothing is to run, whatever the plugin is; nobody paused
 * it, an engine leaves it alone, and what failed so fails first. */
START_TEST(is_only_recorded)
{
    const struct decision *d = &decisions[_i % DECISIONS];
    char wanted[64];

    block(d, &obstacles[0]);
    if (_i / DECISIONS == 0)
        desk_ok("%s", obstacles[0].goes);
    decide(d->line, " --no-continue");
    desk_code(0);
    desk_out("recorded: run r is paused");
    if (_i / DECISIONS == 1)
        desk_ok("%s", obstacles[0].goes);
    desk_ok("$MORTISE show r");
    desk_out("reason   no_continue");
    desk_ok("$MORTISE why r | tr -s '\n ' ' '");
    desk_out("has not continued since");
    desk_out("the run was not continued");
    desk_not_out("paused");
    child_run("timeout 1 $MORTISE engine");
    desk_ok("$MORTISE show r");
    desk_out("reason   no_continue");
    child_run("$MORTISE resume r");
    snprintf(wanted, sizeof wanted, "run r %s", d->end);
    desk_out(wanted);
    desk_ok("$MORTISE history r");
    desk_not_out("pause (by");
}
END_TEST

/* Issue 15, 2: the words that an approval of a tool was given with are kept: in
 * the record, in the event, and where the run is shown. */
START_TEST(approve_reason_is_kept_for_tools)
{
    desk_graph("ok", "hitl_mode: approve_tools\nstart: a\nnodes:\n"
                     "  a: {type: tool, tool: tried/echo, args: {value: 1}, "
                     "next: END}\n");
    child_run("$MORTISE run ok.yaml --id r");
    desk_code(4);
    desk_approve_plan("r");
    desk_ok("$MORTISE approve $($MORTISE inbox r --ids) --reason 'Anna agreed' "
            "--args '{\"value\": 2}'");
    desk_ok("$MORTISE events r --json | grep '\"decision\":\"approved\"'");
    desk_out("\"value\":{\"args\":{\"value\":2},\"reason\":\"Anna agreed\"}");
    desk_ok("$MORTISE history r --json | grep '\"entry\":\"settle\"'");
    desk_out("\"reason\":\"Anna agreed\"");
    desk_ok("$MORTISE history r");
    desk_out(": Anna agreed)");
    desk_ok("$MORTISE show r --json | tr -d '\\n '");
    desk_out("\"reason\":\"Annaagreed\"");
    desk_out("\"approval\":{\"actor\":");
    desk_ok("$MORTISE show r");
    desk_out("  approved by ");
    desk_out(": Anna agreed\n");
}
END_TEST

/* An approval and an update in one request to an engine: the approved call is made
 * once, the model is not asked for it again, and what follows sees the update. */
START_TEST(an_approval_with_an_update)
{
    char request[512], state[sizeof desk_dir + 16], call_id[64];
    const char *answer;
    int fd;

    desk_deploy("models:\n  default:\n    provider: scripted\n    model: m\n"
                "    replies:\n"
                "      - {when: {turn: 0}, tool_calls: [{name: tried__echo, "
                "arguments: {value: 5}}]}\n"
                "      - {when: {turn: 1}, text: over}\n"
                "tools: {ask: [tried/echo]}");
    desk_graph("u",
               "state: {scratch: {type: object}}\nstart: a\nnodes:\n"
               "  a: {type: gmi, prompt: go, tool_allowlist: [tried/echo], "
               "next: b}\n"
               "  b: {type: router, routes: [{when: 'has(scratch.x) && "
               "scratch.x == 7', to: END}], default: c}\n"
               "  c: {type: fail, code: unseen, message: no update}\n");
    child_run("$MORTISE run u.yaml --id r");
    desk_code(4);
    desk_ok("$MORTISE inbox r --ids");
    ck_assert_int_eq(sscanf(child.out, "%*s %63s", call_id), 1);
    desk_ok("($MORTISE engine >engine.out 2>&1 & echo $! >pid); "
            "for i in $(seq 1200); do test -S state/control.sock && break; "
            "sleep 0.05; done");
    snprintf(state, sizeof state, "%s/state", desk_dir);
    fd = knock(state);
    snprintf(request, sizeof request,
             "{\"do\":\"command\",\"run\":\"r\",\"until\":\"idle\","
             "\"commands\":[{\"kind\":\"approve_tool\",\"id\":\"%s\","
             "\"decision\":\"approve\"},{\"kind\":\"update\",\"value\":"
             "{\"scratch\":{\"x\":7}}}]}\n",
             call_id);
    knock_say(fd, request, strlen(request));
    do {
        answer = knock_line(fd);
        ck_assert_str_ne(answer, "");
    } while (strncmp(answer, "{\"reply\"", 8) != 0 &&
             strncmp(answer, "{\"error\"", 8) != 0);
    ck_assert_msg(strstr(answer, "completed") != NULL, "%s", answer);
    close(fd);
    desk_ok("kill $(cat pid); $MORTISE show r --json");
    desk_out("\"status\": \"completed\"");
    desk_out("\"model_calls\": 2");
    desk_ok("$MORTISE events r --json | grep -c '\"tool_result\"'");
    ck_assert_str_eq(child.out, "1\n");
}
END_TEST

/* ---- several at once ------------------------------------------------------------ */

/* Two nodes of the run ID ask a person, and a third one wants JSON. */
static void ask_thrice(const char *id, bool third)
{
    desk_graph("s", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: tried/echo, args: {value: 1}}\n"
                    "  b: {type: human, prompt: One?}\n"
                    "  c: {type: human, prompt: Two?}\n"
                    "  d: {type: human, prompt: Three?, schema: {type: "
                    "integer}}\n"
                    "edges:\n  - {from: a, to: b}\n  - {from: a, to: c}\n");
    if (third)
        desk_ok("echo '  - {from: a, to: d}' >>s.yaml");
    else
        desk_ok("sed -i '/^  d:/d' s.yaml");
    child_run("$MORTISE run s.yaml --id %s", id);
    desk_code(4);
}

/* What `inbox RUN --ids` prints of a run that asks twice is settled by one
 * command; so are ids alone, and one that comes twice. */
START_TEST(several_are_settled_at_once)
{
    ask_thrice("r", false);
    desk_ok("test $($MORTISE inbox r --ids | wc -l) = 2 && $MORTISE approve "
            "$($MORTISE inbox r --ids) --reason fine");
    desk_ok("$MORTISE show r --json");
    desk_out("\"status\": \"completed\"");
    ask_thrice("q", false);
    desk_ok("ids=$($MORTISE inbox q --ids | cut -d' ' -f2); $MORTISE reject q "
            "$ids $ids");
    desk_ok("$MORTISE show q --json | grep -c '\"approved\": false'");
    ck_assert_int_eq(atoi(child.out), 4); /* outputs, and in the state */
}
END_TEST

/* Where one cannot be settled so, or is not named, none is. */
START_TEST(several_or_none)
{
    ask_thrice("r", true);
    child_run("$MORTISE approve $($MORTISE inbox r --ids)");
    desk_code(3);
    desk_err("needs an answer");
    child_run("$MORTISE approve r $($MORTISE inbox r --ids | head -n 1 | cut "
              "-d' ' -f2) c");
    desk_code(3);
    desk_err("'c' is not a request id");
    child_run("$MORTISE approve r $($MORTISE inbox r --ids | head -n 1 | cut "
              "-d' ' -f2) 0123456789abcdef");
    desk_code(3);
    desk_err("request '0123456789abcdef' is neither pending nor settled");
    desk_ok("$MORTISE inbox r --ids | wc -l");
    ck_assert_int_eq(atoi(child.out), 3);
}
END_TEST

/* ---- a command for another kind of request ---------------------------------------- */

/* What waits, and the commands that are for other kinds of requests. */
static const struct {
    const char *graph, *asks;
    const char *wrong[4];
    int commands; /* that settle it */
} others[] = {
    {THEN("type: human, prompt: Well?"),
     "asks a person",
     {"resolve --fail"},
     2},
    {THEN("type: tool, tool: tried/unsure, args: {}"),
     "has an effect that may or may not have happened",
     {"approve", "reject", "answer --value 1"},
     3},
    {THEN("type: tool, tool: awaits/ask, args: {prompt: Well?}"),
     "asks a question",
     {"approve", "reject", "resolve --fail"},
     1},
    {"interrupt_before: [a]\n" THEN(
         "type: tool, tool: tried/echo, args: {value: 3}"),
     "is paused by the graph",
     {"approve", "reject", "resolve --fail"},
     1},
    {"budget: {tool_calls: 1}\n" THEN(
         "type: tool, tool: tried/echo, args: {value: 3}"),
     "would exceed the budget of its graph",
     {"approve", "reject", "answer --value 1", "resolve --fail"},
     1},
    {"hitl_mode: approve_plan\n" THEN(
         "type: tool, tool: tried/echo, args: {value: 3}"),
     "waits for the approval of its plan",
     {"resolve --fail"},
     2},
    {"hitl_mode: approve_each_node\n" THEN(
         "type: tool, tool: tried/echo, args: {value: 3}"),
     "is about to run and needs an approval",
     {"resolve --fail"},
     2},
    {"hitl_mode: approve_tools\n" THEN(
         "type: tool, tool: tried/echo, args: {value: 3}"),
     "wants to call a tool and needs an approval",
     {"resolve --fail", "answer --value 1"},
     2},
};

/* A fresh run that waits; its request's id. */
static void wait_for_somebody(size_t which, char id[33])
{
    desk_ok("rm -rf state");
    child_run("$MORTISE run g.yaml --id r");
    ck_assert(child.code == 4 || child.code == 5);
    if (strstr(others[which].graph, "approve_tools") != NULL ||
        strstr(others[which].graph, "approve_each_node") != NULL) {
        child_run("$MORTISE show r --json | grep -q '\"plan\"'");
        if (child.code == 0)
            desk_approve_plan("r");
    }
    desk_ok("$MORTISE inbox r --ids | cut -d' ' -f2");
    snprintf(id, 33, "%.32s", child.out);
    id[strcspn(id, "\n")] = '\0';
}

/* The nth command that is printed on stderr, two blanks before it. */
static void take_line(int n, char *out, size_t size)
{
    const char *p = child.err;

    while ((p = strstr(p, "\n  ")) != NULL && n-- > 0)
        p++;
    ck_assert_msg(p != NULL, "%s", child.err);
    snprintf(out, size, "%.*s", (int)strcspn(p + 3, "\n"), p + 3);
}

/* A command for another kind of request names each command that settles this one;
 * pasted, it does. */
START_TEST(the_commands_that_help_are_printed)
{
    char id[33], line[1024], name[16];

    desk_graph("g", others[_i].graph);
    for (size_t w = 0; w < 4 && others[_i].wrong[w] != NULL; w++) {
        const char *wrong = others[_i].wrong[w];
        size_t n = strcspn(wrong, " ");

        snprintf(name, sizeof name, "%.*s", (int)n, wrong);
        for (int k = 0; k < (w == 0 ? others[_i].commands : 1); k++) {
            wait_for_somebody((size_t)_i, id);
            child_run("$MORTISE %s r %s%s", name, id, wrong + n);
            desk_code(3);
            desk_err(others[_i].asks);
            desk_err("(E_DECISION_MISMATCH); settle it with:\n  ");
            take_line(k, line, sizeof line);
            child_run("%s", line);
            ck_assert_msg(child.code != 2 && child.code != 3, "%s: %d %s", line,
                          child.code, child.err);
            desk_ok("$MORTISE inbox r --ids");
            desk_not_out(id);
        }
    }
    wait_for_somebody((size_t)_i, id);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(others[_i].wrong[0], " "),
             others[_i].wrong[0]);
    child_run("$MORTISE %s r %s%s --json | grep -c .", name, id,
              others[_i].wrong[0] + strlen(name));
    desk_err("\"code\":\"E_DECISION_MISMATCH\"");
    desk_err("\"commands\":[\"");
}
END_TEST

static void sign(void)
{
    desk_sign();
    desk_sign_ours("awaits");
    desk_ok("$MORTISE key trust k.pub --trust trust.d --name awaits "
            "--plugins awaits --in-process");
}

static Suite *suite(void)
{
    Suite *s = suite_create("cli_decisions");
    TCase *tc = tcase_create("decisions");

    tcase_set_timeout(tc, 120);
    tcase_add_unchecked_fixture(tc, sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_loop_test(tc, is_recorded, 0, DECISIONS * OBSTACLES);
    tcase_add_loop_test(tc, is_only_recorded, 0, DECISIONS * 2);
    tcase_add_test(tc, several_are_settled_at_once);
    tcase_add_test(tc, several_or_none);
    tcase_add_loop_test(tc, the_commands_that_help_are_printed, 0,
                        (int)(sizeof others / sizeof others[0]));
    tcase_add_test(tc, approve_reason_is_kept_for_tools);
    tcase_add_test(tc, an_approval_with_an_update);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
