/* test_cli_misjudged.c -- a guardrail that says nothing, nonsense, too much or too
 * late, in each position: what it was to judge goes no further, and the run ends
 * as its graph says.  What kills the process is test_hostile_plugins.c's. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/desk.h"
#include "lib/matrix.h"
#include "lib/shelf.h"

static struct shelf shelf;

static void sign_plugins(void)
{
    desk_sign();
    shelf_init(&shelf);
    shelf_put(&shelf, "misjudges");
    shelf_put(&shelf, "remembers_in_a_file");
}

static void forget_plugins(void)
{
    shelf_finish(&shelf);
    desk_unsign();
}

static const char *const ways[] = {"mute",  "garbage", "other",  "half",
                                   "fails", "errs",    "offers", "slow",
                                   "flood", "twice",   "late",   "blocks"};
enum {
    N_WAYS = sizeof ways / sizeof ways[0],
    SHARE = 5 /* one of so many cases */
};

#define LEAKS(more)                                                            \
    "{type: tool, tool: text/lines, args: {text: leaked}, timeout: 1s" more "}"

/* Where it judges.  With one that lets it pass, `leaked` is what comes out. */
static const struct {
    const char *where, *nodes;
    bool feeds; /* whoever called a tool is told, and goes on */
} positions[] = {
    {"input", "  a: " LEAKS(", guardrail_policy: {input: [g]}, next: END") "\n",
     false},
    {"output",
     "  a: " LEAKS(", guardrail_policy: {output: [g]}, next: END") "\n", false},
    {"sanitized output",
     "  a: " LEAKS(", guardrail_policy: {output: [g], on_violation: sanitize}, "
                   "next: END") "\n",
     false},
    {"edge",
     "  a: {type: tool, tool: text/lines, args: {text: hi}, timeout: 1s,\n"
     "      routes: [{when: 'true', to: b, guardrail_policy: {input: [g]}}],\n"
     "      default: b}\n"
     "  b: " LEAKS(", next: END") "\n",
     false},
    {"target",
     "  a: {type: guardrail, guardrails: [g], target: input, timeout: 1s,\n"
     "      next: b}\n"
     "  b: " LEAKS(", next: END") "\n",
     false},
    {"decision",
     "  a: {type: human, prompt: p, auto_accept: true, guardrail_override: "
     "true,\n      post_approval_guardrails: [g], next: b}\n"
     "  b: " LEAKS(", next: END") "\n",
     false},
    {"text as it comes",
     "  a: {type: gmi, prompt: p, timeout: 2s, guardrail_policy: {output: "
     "[g], hold_back: 1B}, next: END}\n",
     false},
    {"what is remembered",
     "  a: " LEAKS(", guardrail_policy: {memory_write: [g]}, next: END,\n"
                   "      memory_policy: {consistency: live, write: "
                   "{auto_encode: true}}") "\n",
     false},
    {"what is recalled",
     "  a: {type: tool, tool: text/lines, args: {text: hi}, next: b,\n"
     "      memory_policy: {consistency: live, write: {auto_encode: true, "
     "scope: global}}}\n"
     "  b: " LEAKS(", guardrail_policy: {memory_read: [g]}, next: END,\n"
                   "      memory_policy: {consistency: live, read: {}}") "\n",
     false},
    {"arguments of a tool",
     "  a: {type: gmi, prompt: tool, timeout: 5s,\n"
     "      guardrail_policy: {tools: [g]}, next: END,\n"
     "      tool_allowlist: [{tool: text/lines, timeout: 1s}]}\n",
     true},
    {"result of a tool",
     "  a: {type: gmi, prompt: tool, timeout: 5s,\n"
     "      guardrail_policy: {tool_results: [g]}, next: END,\n"
     "      tool_allowlist: [{tool: text/lines, timeout: 1s}]}\n",
     true},
};
enum { N_POSITIONS = sizeof positions / sizeof positions[0] };

static void run(size_t position, const char *how)
{
    char text[8192];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
             "plugins: {path: [\"%s\"]}\ntrust: {dir: \"%s\"}\n"
             "store: {path: ./store}\n"
             "memory: {plugin: remembers_in_a_file}\n"
             "models:\n  default:\n    provider: scripted\n    model: m\n"
             "    replies:\n"
             "      - {when: {tool: guardrail}, text: it was told}\n"
             "      - {when: {user: tool, turn: 0}, tool_calls: [{name: "
             "text__lines, arguments: {text: x}}]}\n"
             "      - {text: what is leaked in words}\n"
             "guardrails:\n  g: {plugin: misjudges, config: {file: %s}}\n",
             shelf.plugins, shelf.trust, how);
    desk_put("mortise.yaml", text);
    snprintf(text, sizeof text, "defaults: {timeout: 2s}\nstart: a\nnodes:\n%s",
             positions[position].nodes);
    desk_graph("g", text);
    desk_ok("rm -rf store");
    if (strcmp(how, "ok") == 0) /* and so it does on a busy machine */
        desk_ok("sed -i 's/timeout: [12]s/timeout: 60s/' g.yaml");
    child_run("$MORTISE run g.yaml --id r");
}

/* One that lets it pass does: so what the others hold up would have come. */
START_TEST(what_is_let_pass_passes)
{
    run((size_t)_i, "ok");
    desk_code(0);
    desk_ok("$MORTISE show r --json");
    desk_out(positions[_i].feeds ? "what is leaked" : "leaked");
}
END_TEST

START_TEST(nothing_else_does)
{
    const size_t i = (size_t)_i * matrix_step(SHARE);
    const size_t at = i / N_WAYS;
    const char *how = ways[i % N_WAYS];

    run(at, how);
    ck_assert_msg(child.code == (positions[at].feeds ? 0 : 1), "%s, %s: %d %s",
                  positions[at].where, how, child.code, child.out);
    ck_assert_msg(strstr(child.out, "text_delta a text=what") == NULL,
                  "%s, %s: %s", positions[at].where, how, child.out);
    desk_out("guardrail_result");
    desk_out("guardrail=g");
    desk_out("violation=true action=block");
    desk_ok("$MORTISE show r --json");
    if (positions[at].feeds)
        desk_out("it was told");
    else
        desk_out("\"code\": \"guardrail\"");
    if (strcmp(positions[at].where, "text as it comes") != 0)
        desk_not_out("leaked");
    if (strcmp(positions[at].where, "what is remembered") == 0)
        desk_ok("test ! -s traces");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_misjudged");
    TCase *tc = tcase_create("misjudged");

    tcase_add_unchecked_fixture(tc, sign_plugins, forget_plugins);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, what_is_let_pass_passes, 0, N_POSITIONS);
    tcase_add_loop_test(tc, nothing_else_does, 0,
                        (N_POSITIONS * N_WAYS - 1) / (int)matrix_step(SHARE) +
                            1);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
