/* test_newcomer.c -- the first day of a new user: README.md word for word, and a
 * plugin in each language, from `mortise plugin new` to runs that are killed in the
 * middle of an effect and resumed.
 *
 * lib/reader.h says how blocks are marked and what the new user's machine has.
 *
 * `make check` tries C and C++; `make check-peers PEER=rust`, where rustc is, has
 * this program try Rust (NEWCOMER=rust). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/httpd.h"
#include "lib/reader.h"
#include "lib/test.h"

static void type(const char *block, size_t n, int code)
{
    reader_type(block, n, code);
}

static void says(const char *text)
{
    reader_saw(text);
}

static const char look[] = "mortise version\n"
                           "mortise plugin list\n";

static void begin(void)
{
    reader_begin();
    reader_follow("README.md", "\n## Install\n");
    says("6 passed, 0 failed"); /* the installed configs/ */
    type(look, strlen(look), 0);
    says("mortise ");
    says("/lib/mortise/plugins/text.plugin.yaml");
    reader_leave();
}

/* ---- its first day ------------------------------------------------------------ */

/* issue 15, 12: the graph of `mortise init`, as README.md goes through it. */
START_TEST(first_graph)
{
    reader_follow("README.md", "\n## Your first graph\n");
}
END_TEST

/* ... the agent at the top of README.md, with the scripted model ... */
START_TEST(first_agent)
{
    reader_follow("README.md", "\n## Your first agent\n");
    reader_follow("README.md", "# Mortise\n");
}
END_TEST

/* What a server of OpenAI's API says, and what one of Anthropic's. */
static const char completion[] =
    "data: {\"choices\": [{\"index\": 0, \"delta\": {\"role\": \"assistant\", "
    "\"content\": \"No.\"}, \"finish_reason\": \"stop\"}]}\n\n"
    "data: [DONE]\n\n";
static const char message[] =
    "event: message_start\n"
    "data: {\"type\": \"message_start\", \"message\": {\"role\": "
    "\"assistant\", "
    "\"content\": [], \"usage\": {\"input_tokens\": 3}}}\n\n"
    "event: content_block_start\n"
    "data: {\"type\": \"content_block_start\", \"index\": 0, "
    "\"content_block\": "
    "{\"type\": \"text\", \"text\": \"\"}}\n\n"
    "event: content_block_delta\n"
    "data: {\"type\": \"content_block_delta\", \"index\": 0, \"delta\": "
    "{\"type\": \"text_delta\", \"text\": \"No.\"}}\n\n"
    "event: content_block_stop\n"
    "data: {\"type\": \"content_block_stop\", \"index\": 0}\n\n"
    "event: message_delta\n"
    "data: {\"type\": \"message_delta\", \"delta\": {\"stop_reason\": "
    "\"end_turn\"}, \"usage\": {\"output_tokens\": 2}}\n\n"
    "event: message_stop\n"
    "data: {\"type\": \"message_stop\"}\n\n";

/* The deployment of README.md with the n-th of its three real models, whose server
 * is a fake one on this machine, and the graph at its top. */
static const char ask_model[] =
    "export OPENAI_API_KEY=sk-1234567890 ANTHROPIC_API_KEY=ak-1234567890\n"
    "readme=$HOME/.local/share/doc/mortise/README.md\n"
    "rm -rf ~/asked-$n && mkdir ~/asked-$n && cd ~/asked-$n\n"
    "awk '/^```yaml file=refund/ {on = 1; next} /^```/ {on = 0} on' $readme "
    ">refund.graph.yaml\n"
    "awk -v n=$n '/^```yaml file=mortise/ {on = 1; next} /^```yaml try=/ "
    "{on = ++k == n; next} /^```/ {on = 0} on' $readme >mortise.yaml\n"
    "sed -i 's#https://api.openai.com#'$url'#; "
    "s#https://api.anthropic.com#'$url'#; "
    "s#http://127.0.0.1:11434#'$url'#' mortise.yaml\n"
    "grep -F $url mortise.yaml\n"
    "mortise config allow mortise.yaml\n"
    "mortise run refund.graph.yaml --input '{\"message\": \"Broken.\"}' --id "
    "r\n"
    "mortise show r\n";

/* Each of the three real models of README.md is asked as its server expects it. */
START_TEST(real_models)
{
    static const struct {
        const char *path, *key, *model;
    } asked[] = {
        {"/v1/chat/completions", "Bearer sk-1234567890", "gpt-4.1-mini"},
        {"/v1/messages", "ak-1234567890", "claude-sonnet-4-5"},
        {"/v1/chat/completions", "", "qwen3"}};
    static const char stream[] = "Content-Type: text/event-stream\r\n";
    struct httpd *d = httpd_start();
    char set[128];

    httpd_answer(d, "/v1/chat/completions", "200 OK", stream, completion);
    httpd_answer(d, "/v1/messages", "200 OK", stream, message);
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        const char *request;
        int n = snprintf(set, sizeof set, "export n=%zu url=%s\n", i + 1,
                         httpd_url(d, ""));

        type(set, (size_t)n, 0);
        type(ask_model, sizeof ask_model - 1, 0);
        says("\"decide\": \"No.\"");
        request = httpd_request(d, i);
        ck_assert_msg(strncmp(request + strlen("POST "), asked[i].path,
                              strlen(asked[i].path)) == 0 &&
                          strstr(request, asked[i].key) != NULL &&
                          strstr(request, asked[i].model) != NULL,
                      "%s", request);
    }
    httpd_stop(d);
}
END_TEST

/* ... and the plugin of `mortise plugin new`. */
START_TEST(first_plugin)
{
    reader_follow("README.md", "\n## Your first plugin\n");
    says("acme.notes: signed by a trusted key; it would load");
    says("status   completed");
    says(" HELLO\n");
}
END_TEST

/* Pastes what `mortise plugin new` prints, of a program that is not on the PATH and
 * has a blank in its own; and does what the README says that it made. */
static const char make_plugin[] =
    "cd\n"
    "mkdir -p 'b in' && cp .local/bin/mortise 'b in/mo'\n"
    "'b in/mo' plugin new acme.$name --lang $lang >said\n"
    "sed -n '/^next:$/,$s/^  //p' said >pasted\n"
    "test $(wc -l <pasted) = 6\n"
    ". ./pasted\n"
    "make -B CFLAGS='-O2 -Werror' CXXFLAGS='-O2 -Werror' "
    "RUSTFLAGS='-O -D warnings'\n"
    "mortise plugin check acme.$name.so\n"
    "sed -n '/^```sh/,/^```$/{/^```/!p}' README.md >readme\n"
    "test $(wc -l <readme) = 10\n"
    ". ./readme\n"
    "mortise plugin verify acme.$name\n";

/* Any text goes in and comes out; one that is no note is refused, in words. */
static const char call_it[] =
    "mortise plugin call acme.$name/shout --json "
    "'{\"text\": \"a\\\"\\\\\\u00fc\\ud83d\\ude00/\\n\\u0001\"}' >got\n"
    "printf '%s\\n' '{\"text\":\"A\\\"\\\\\xc3\xbc\xf0\x9f\x98\x80/\\n"
    "\\u0001\"}' >want\n"
    "diff want got\n"
    "rm notes.txt\n"
    "! mortise plugin call acme.$name/note '{\"text\": \"a\\nb\"}' --effects "
    "2>why\n"
    "grep \"acme.$name/note: text: \" why\n"
    "! mortise plugin call acme.$name/note '{\"text\": \"a\"}' 2>why\n"
    "grep -e --effects why\n"
    "! mortise plugin call acme.$name/shout '{\"text\": 1}'\n"
    "test ! -e notes.txt\n";

/* A pipe that nobody reads holds a call up before its effect: killed there, the
 * plugin is asked, says no, and does it. */
static const char kill_before[] =
    "mkfifo notes.txt\n"
    "mortise run acme.$name.graph.yaml --id before >before.out 2>&1 & pid=$!\n"
    "for i in $(seq 1200); do\n"
    "    ! grep -q 'node_start note' before.out || break; sleep 0.05\n"
    "done\n"
    "grep 'node_start note' before.out\n"
    "kill -9 $pid; code=0; wait $pid || code=$?; test $code = 137\n"
    "rm notes.txt\n"
    "mortise resume before\n"
    "grep -c ' HELLO$' notes.txt\n"
    "test $(wc -l <notes.txt) = 1\n";

/* One that is read takes the line, and holds up what comes behind: killed there,
 * the plugin is asked, finds its line, and adds no second one. */
static const char kill_behind[] =
    "rm notes.txt; mkfifo notes.txt\n"
    "mortise run acme.$name.graph.yaml --id behind >behind.out 2>&1 & pid=$!\n"
    "timeout 100 cat notes.txt >line\n"
    "kill -9 $pid; code=0; wait $pid || code=$?; test $code = 137\n"
    "rm notes.txt; cp line notes.txt\n"
    "mortise resume behind\n"
    "test $(wc -l <line) = 1\n"
    "diff line notes.txt\n"
    "mortise show behind --json | tr -d '\\n ' | grep "
    "'\"line\":\"[0-9a-f]*HELLO\"'\n"
    "mortise show behind | grep 'status   completed'\n";

/* What is thrown stays inside: behind an effect it is doubt, which the plugin
 * settles itself; of a pure operation it is an error, and the process lives. */
static const char throw_behind[] =
    "rm notes.txt\n"
    "make >/dev/null\n"
    "mortise run acme.$name.graph.yaml --deployment dev.yaml --id thrown\n"
    "test $(wc -l <notes.txt) = 1\n"
    "code=0\n"
    "mortise plugin call acme.$name/shout '{\"text\": \"throw\"}' --deployment "
    "dev.yaml 2>why || code=$?\n"
    "test $code = 1\n"
    "grep 'mortise: acme.*/shout: ' why\n";

static const struct {
    const char *lang, *name;
    const char
        *throws; /* an edit of its source; "": the language has no such */
} languages[] = {
    {"c", "c", ""},
    {"c++", "cpp",
     "sed -i 's/if (added && give/if (added) throw std::exception(); &/; "
     "s/^    std::string text = member(r->body, \"text\");$/&if (text == "
     "\"throw\") throw std::exception();/' acme.cpp.cpp\n"
     "test $(grep -c 'throw std::exception' acme.cpp.cpp) = 3\n"},
    {"rust", "rust",
     "sed -i 's/^        file.sync_all.*/& if !line.is_empty() { "
     "panic!(\"behind\") }/; s/^        let text = .*/& if text == \"throw\" { "
     "panic!(\"at once\") }/' acme.rust.rs\n"
     "test $(grep -c 'panic!' acme.rust.rs) = 2\n"},
};
enum { C, CPP, RUST, N_LANGUAGES };

START_TEST(a_language)
{
    const char *const parts[] = {make_plugin, call_it, kill_before,
                                 kill_behind};
    char lang[64];
    int n = snprintf(lang, sizeof lang, "export lang=%s name=%s\n",
                     languages[_i].lang, languages[_i].name);

    type(lang, (size_t)n, 0);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        type(parts[i], strlen(parts[i]), 0);
    if (languages[_i].throws[0] == '\0')
        return;
    type(languages[_i].throws, strlen(languages[_i].throws), 0);
    type(throw_behind, strlen(throw_behind), 0);
}
END_TEST

/* A discovery plugin of a third party: begun, built and signed outside of the tree,
 * it leads a graph; what it cannot find goes to the fallback. */
static const char make_discovery[] =
    "cd\n"
    "mortise plugin new acme.find --lang c --kind discovery >said\n"
    "cd acme.find\n"
    "make check CFLAGS='-O2 -Werror'\n"
    "make sign\n"
    "mortise key trust acme.find.pub --plugins acme.find --kinds discovery "
    "--in-process --trust trust.d\n"
    "mortise config allow mortise.yaml\n"
    "mortise plugin verify acme.find --deployment mortise.yaml\n"
    "mortise check acme.find.graph.yaml mortise.yaml\n"
    "mortise run acme.find.graph.yaml --deployment mortise.yaml --id first "
    "--input '{\"text\": \"Money back, please\"}'\n"
    "mortise events first --deployment mortise.yaml --json | grep "
    "'\"chosen\":\"refunds\"'\n"
    "mortise run acme.find.graph.yaml --deployment mortise.yaml --id second "
    "--input '{\"text\": \"hm\"}'\n"
    "mortise events second --deployment mortise.yaml --json | grep "
    "'\"chosen\":\"people\"'\n";

START_TEST(a_discovery_plugin)
{
    type(make_discovery, sizeof make_discovery - 1, 0);
}
END_TEST

/* A guardrail of a third party, the same way: what it covers nobody sees, what it
 * finds goes another way, and where it crashes nothing passes. */
static const char make_guardrail[] =
    "cd\n"
    "mortise plugin new acme.polite --kind guardrail >said\n"
    "cd acme.polite\n"
    "make check CFLAGS='-O2 -Werror'\n"
    "make sign\n"
    "mortise key trust acme.polite.pub --plugins acme.polite --kinds guardrail "
    "--in-process --trust trust.d\n"
    "mortise config allow mortise.yaml\n"
    "mortise plugin verify acme.polite --deployment mortise.yaml\n"
    "mortise check acme.polite.graph.yaml mortise.yaml\n"
    "mortise run acme.polite.graph.yaml --deployment mortise.yaml --id first "
    "--input '{\"text\": \"a dowel\", \"subject\": \"TENONS\"}' >first.out\n"
    "! grep dowel first.out\n"
    "mortise show first --deployment mortise.yaml --json >first\n"
    "grep -F 'a *****' first\n"
    "grep 'somebody will read it' first\n"
    "mortise events first --deployment mortise.yaml --json >seen\n"
    "grep 'in what came out of the node' seen\n"
    "sed -i 's/^    status = mortise_jv_parse(r->body, &body);/abort();/' "
    "acme.polite.c\n"
    "make >/dev/null\n"
    "! mortise run acme.polite.graph.yaml --deployment dev.yaml --id bad\n"
    "! mortise resume bad --deployment dev.yaml\n"
    "! mortise show bad --deployment dev.yaml | grep completed\n";

START_TEST(a_guardrail)
{
    type(make_guardrail, sizeof make_guardrail - 1, 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("newcomer");
    TCase *tc = tcase_create("first day");
    const char *only = getenv("NEWCOMER");

    tcase_set_timeout(tc, 240);
    tcase_add_unchecked_fixture(tc, begin, reader_end);
    if (only != NULL && strcmp(only, "rust") == 0) {
        tcase_add_loop_test(tc, a_language, RUST, N_LANGUAGES);
    } else {
        tcase_add_test(tc, first_graph);
        tcase_add_test(tc, first_agent);
        tcase_add_test(tc, real_models);
        tcase_add_test(tc, first_plugin);
        tcase_add_test(tc, a_discovery_plugin);
        tcase_add_test(tc, a_guardrail);
        tcase_add_loop_test(tc, a_language, C, RUST);
    }
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
