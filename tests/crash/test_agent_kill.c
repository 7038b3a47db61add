/* test_agent_kill.c -- a tree of agents under a budget, whose model server lies, in
 * processes that are killed: it comes to its end, and no effect has two keys.
 *
 * The origin has two children side by side; each agent has two effects, which are
 * requests to a server of ours.  The server of the models answers by what it is
 * asked, so a call that is made again is answered likewise; but now and then it
 * closes the connection, gives an error, half a reply, a page, or another tool.  The
 * budget is too small, and is raised, as often as it stops a run.
 *
 * A process dies at the n-th place of the store (MORTISE_FAULT_CRASH), the next ones
 * go on.  Then every run has completed, by a reader that shares no code with the
 * store; each effect has come under one key, however often; and what the tree has
 * counted is what its runs have.
 *
 * MORTISE_AGENT_KILLS says how many places are tried (`make spawns`: 200); without
 * it some, spread over all.  Nothing depends on time. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/desk.h"
#include "lib/httpd.h"
#include "lib/store_reader.h"

enum {
    COMPLETED = 7,  /* of a run */
    TOOL_CALLS = 0, /* in a purse */
    PLACES = 8,     /* that are tried without being asked */
    APART = 17,
    TRIES = 60 /* commands, until a tree has ended */
};

#define LIE "lie" /* the id of a call that no true reply has */

static struct httpd *server;
static const char *const effects[] = {"root-0",  "root-1",  "kid-0-0",
                                      "kid-0-1", "kid-1-0", "kid-1-1"};
enum { EFFECTS = sizeof effects / sizeof effects[0] };

/* ---- the server of the models ------------------------------------------------- */

static char *whole(const char *status, const char *body)
{
    char *out;

    return asprintf(&out,
                    "HTTP/1.1 %s\r\nContent-Type: application/json\r\n"
                    "Content-Length: %zu\r\n\r\n%s",
                    status, strlen(body), body) < 0
               ? NULL
               : out;
}

static json_t *call(const char *id, const char *tool, json_t *arguments)
{
    char *text = json_dumps(arguments, JSON_COMPACT);
    json_t *out =
        json_pack("{s:s, s:s, s:{s:s, s:s}}", "id", id, "type", "function",
                  "function", "name", tool, "arguments", text);

    free(text);
    json_decref(arguments);
    return out;
}

static json_t *effect(const char *who, int k)
{
    char path[64], id[16];

    snprintf(path, sizeof path, "/effect/%s-%d", who, k);
    snprintf(id, sizeof id, "e%d", k);
    return json_pack("[o]", call(id, "http__submit",
                                 json_pack("{s:s, s:s}", "method", "POST",
                                           "url", httpd_url(server, path))));
}

static json_t *spawn(int k)
{
    char id[16], name[16];

    snprintf(id, sizeof id, "s%d", k);
    snprintf(name, sizeof name, "kid-%d", k);
    return call(id, "spawn_agent",
                json_pack("{s:s, s:s}", "name", name, "instructions", name));
}

/* What a model says in the turn behind so many replies of its own. */
static json_t *calls_of(const char *who, size_t turn)
{
    bool root = strcmp(who, "root") == 0;

    if (root && turn == 1)
        return json_pack("[o, o]", spawn(0), spawn(1));
    if (turn > (root ? 2 : 1))
        return NULL;
    return effect(who, turn > 0);
}

static char *reply(const char *who, size_t turn)
{
    json_t *calls = calls_of(who, turn);
    json_t *message =
        json_pack("{s:s, s:s?, s:o*}", "role", "assistant", "content",
                  calls == NULL ? "done" : NULL, "tool_calls", calls);
    json_t *body = json_pack("{s:[{s:o, s:s}], s:{s:i, s:i}}", "choices",
                             "message", message, "finish_reason",
                             calls != NULL ? "tool_calls" : "stop", "usage",
                             "prompt_tokens", 3, "completion_tokens", 2);
    char *text = json_dumps(body, JSON_COMPACT), *out = whole("200 OK", text);

    free(text);
    json_decref(body);
    return out;
}

/* Is this message a reply that was no lie? */
static bool is_true_reply(const json_t *message)
{
    const json_t *first =
        json_array_get(json_object_get(message, "tool_calls"), 0);
    const char *id = json_string_value(json_object_get(first, "id"));

    return id != NULL && strcmp(id, LIE) != 0;
}

/* The first words of the user, and how often the model has told the truth. */
static void read_asked(const char *request, char who[16], size_t *turn)
{
    json_t *body = json_loads(strstr(request, "\r\n\r\n") + 4, 0, NULL), *one;
    size_t i;

    *turn = 0;
    who[0] = '\0';
    json_array_foreach(json_object_get(body, "messages"), i, one)
    {
        const char *role = json_string_value(json_object_get(one, "role"));
        const char *text = json_string_value(json_object_get(one, "content"));

        *turn += is_true_reply(one);
        if (strcmp(role, "user") == 0 && who[0] == '\0')
            snprintf(who, 16, "%.15s", text != NULL ? text : "?");
    }
    json_decref(body);
}

/* Every fourth reply is a lie, each time another one. */
static char *lie(size_t nth)
{
    switch (nth / 4 % 5) {
    case 0:
        return NULL;
    case 1:
        return whole("500 Oops", "{\"error\": {\"message\": \"no\"}}");
    case 2:
        return whole("200 OK", "{\"choices\": [{\"message\": {\"role\"");
    case 3:
        return whole("200 OK", "<html>");
    default:
        return whole(
            "200 OK",
            "{\"choices\": [{\"message\": {\"role\": \"assistant\", "
            "\"tool_calls\": [{\"id\": \"" LIE "\", \"type\": \"function\", "
            "\"function\": {\"name\": \"no_such\", \"arguments\": \"{\"}}]}, "
            "\"finish_reason\": \"tool_calls\"}]}");
    }
}

static char *answer(const char *request, size_t nth)
{
    char who[16];
    size_t turn;

    if (nth % 4 == 3)
        return lie(nth);
    read_asked(request, who, &turn);
    return reply(who, turn);
}

/* ---- the place ------------------------------------------------------------------ */

static void begin(void)
{
    char text[16384];

    desk_sign();
    desk_begin();
    server = httpd_start();
    httpd_answer_by(server, "/v1/chat/completions", answer);
    for (size_t i = 0; i < EFFECTS; i++) {
        snprintf(text, sizeof text, "/effect/%s", effects[i]);
        httpd_answer(server, text, "200 OK", "", "");
    }
    snprintf(
        text, sizeof text,
        "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
        "plugins: {path: [%s/plugins], config: {http: {allow: [\"%s\"]}}}\n"
        "trust: {dir: %s/trust.d}\nstore: {path: ./state}\n"
        "models: {default: {provider: openai, model: m, base_url: \"%s\"}}\n",
        desk_plugins, httpd_url(server, ""), desk_plugins,
        httpd_url(server, "/v1"));
    desk_put("mortise.yaml", text);
    desk_graph("g", "budget: {tool_calls: 3}\nstart: a\nnodes:\n"
                    "  a:\n    type: gmi\n    prompt: root\n"
                    "    subagents: true\n    parallel_tools: true\n"
                    "    retry_policy: {max_attempts: 2, delay: 1ms}\n"
                    "    tool_allowlist: [http/submit]\n"
                    "    next: END\n");
}

static void end(void)
{
    httpd_stop(server);
    desk_end();
    desk_unsign();
}

/* ---- going on --------------------------------------------------------------------- */

/* What lets the run go on; "": nothing. */
static const char *way_on(const struct reader_run *run)
{
    static char line[512];

    line[0] = '\0';
    if (run->status == COMPLETED)
        return line;
    snprintf(line, sizeof line,
             strcmp(run->reason, "budget") == 0
                 ? "$MORTISE raise-budget %s tool_calls=+2"
                 : "$MORTISE resume %s",
             run->run);
    return line;
}

/* The first of the runs that has not ended, the origin last. */
static bool go_on(void)
{
    struct reader_store *r = desk_store();
    char line[512] = "";

    for (size_t i = 0; i < r->n_runs; i++)
        if (line[0] == '\0' || strcmp(r->runs[i].run, "p") != 0)
            if (way_on(&r->runs[i])[0] != '\0')
                snprintf(line, sizeof line, "%s", way_on(&r->runs[i]));
    if (r->n_runs == 0)
        snprintf(line, sizeof line, "$MORTISE run g.yaml --id p");
    store_reader_free(r);
    if (line[0] != '\0')
        child_run("%s", line);
    return line[0] != '\0';
}

/* ---- what it came to ---------------------------------------------------------------- */

/* The header of a request, up to the end of its line. */
static void header(const char *request, const char *name, char out[128])
{
    const char *at = strcasestr(request, name);

    ck_assert_ptr_nonnull(at);
    at += strlen(name);
    snprintf(out, 128, "%.*s", (int)strcspn(at, "\r\n"), at);
}

/* It came since the `from`-th request, and always under the same key. */
static void check_effect(const char *name, size_t from)
{
    char begins[64], key[128] = "", one[128];

    snprintf(begins, sizeof begins, "POST /effect/%s ", name);
    for (size_t i = from; i < httpd_requests(server); i++) {
        const char *request = httpd_request(server, i);

        if (strncmp(request, begins, strlen(begins)) != 0)
            continue;
        header(request, "\r\nidempotency-key: ", one);
        ck_assert_msg(key[0] == '\0' || strcmp(key, one) == 0,
                      "%s happened under two keys", name);
        strcpy(key, one);
    }
    ck_assert_msg(key[0] != '\0', "%s never happened", name);
}

static void check_purse(const struct reader_store *r)
{
    const struct reader_purse *p = store_reader_purse(r, "default", "p");
    json_int_t own = 0;

    ck_assert_ptr_nonnull(p);
    for (size_t i = 0; i < r->n_runs; i++) {
        json_t *show;

        desk_ok("$MORTISE show %s --json", r->runs[i].run);
        show = json_loads(child.out, 0, NULL);
        own += json_integer_value(json_object_get(
            json_object_get(json_object_get(show, "budget"), "tool_calls"),
            "own"));
        json_decref(show);
    }
    ck_assert_uint_eq(p->used[TOOL_CALLS], (uint64_t)own);
}

static void judge(size_t from)
{
    struct reader_store *r = desk_store();

    ck_assert_uint_eq(r->n_runs, 3);
    for (size_t i = 0; i < r->n_runs; i++)
        ck_assert_uint_eq(r->runs[i].status, COMPLETED);
    for (size_t i = 0; i < EFFECTS; i++)
        check_effect(effects[i], from);
    check_purse(r);
    store_reader_free(r);
}

/* ---- dying ------------------------------------------------------------------------- */

static bool dies_at(unsigned long place, const char *faulty)
{
    size_t from = httpd_requests(server);
    bool died;
    int tries = 0;

    desk_ok("rm -rf state");
    child_run("MORTISE_FAULT_CRASH=%lu %s run g.yaml --id p", place, faulty);
    died = child.code > 128;
    while (go_on())
        ck_assert_msg(++tries < TRIES, "place %lu: no end: %s%s", place,
                      child.out, child.err);
    judge(from);
    return died;
}

/* Killed at one place after the other. */
START_TEST(agents_come_through)
{
    const char *many = getenv("MORTISE_AGENT_KILLS");
    unsigned long places = many != NULL ? strtoul(many, NULL, 10) : PLACES;
    unsigned long deaths = 0;
    char faulty[4096];

    snprintf(faulty, sizeof faulty, "%s", child_build("faults/mortise"));
    for (unsigned long i = 0; i < places; i++)
        deaths += dies_at(1 + i * (many != NULL ? 1 : APART), faulty);
    ck_assert_uint_gt(deaths, 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("agent_kill");
    TCase *tc = tcase_create("kills");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_set_timeout(tc, 3600);
    tcase_add_test(tc, agents_come_through);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
