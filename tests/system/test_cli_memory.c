/* test_cli_memory.c -- the deployment's memory: what people do with it
 * (`mortise memory`), what plugins do with it (memory.read/1, memory.write/1),
 * and what becomes of those that die, hang, lie or flood. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <signal.h>
#include <sqlite3.h>

#include "lib/desk.h"
#include "lib/shelf.h"

static struct shelf shelf;

static void sign_plugins(void)
{
    static const char *const names[] = {"recalls",      "remembers_in_a_file",
                                        "memory_dies",  "memory_lies",
                                        "memory_hangs", "memory_floods"};

    desk_sign();
    shelf_init(&shelf);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        shelf_put(&shelf, names[i]);
}

static void forget_plugins(void)
{
    shelf_finish(&shelf);
    desk_unsign();
}

/* A deployment with this memory ("": with none). */
static void deploy(const char *memory)
{
    char text[3 * PATH_MAX + 4096];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
             "plugins: {path: [\"%s\"]}\ntrust: {dir: \"%s\"}\n"
             "store: {path: ./store}\n"
             "models: {e: {provider: scripted, model: m, replies: []},\n"
             "  away: {provider: openai, model: m,\n"
             "    base_url: \"http://127.0.0.1:1/v1\"}}\n"
             "%s%s\n",
             shelf.plugins, shelf.trust, memory[0] != '\0' ? "memory: " : "",
             memory);
    desk_put("mortise.yaml", text);
}

#define TRACE(id, type, place, content)                                        \
    "{\"id\":\"" id "\",\"type\":\"" type "\"," place                          \
    ",\"content\":\"" content                                                  \
    "\",\"strength\":0.75,\"created_at\":1790000000000}\n"
#define GLOBAL         "\"scope\":\"global\""
#define OF(scope, key) "\"scope\":\"" scope "\",\"key\":\"" key "\""

static const char three[] =
    TRACE("a", "semantic", GLOBAL, "Anna wants her refund by mail") "\n" TRACE(
        "b", "episodic", OF("session", "7"), "Bert asked for a refund")
        TRACE("c", "episodic", OF("session", "8"), "Carl said hello");

static void graph(const char *operation, const char *args)
{
    char text[2048];

    snprintf(text, sizeof text,
             "start: a\nnodes:\n"
             "  a: {type: tool, tool: recalls/%s, args: %s, next: END}\n",
             operation, args);
    desk_graph("g", text);
}

/* What a run came to. */
static void came_to(const char *run)
{
    desk_ok("$MORTISE show %s --json", run);
}

/* ---- people -------------------------------------------------------------- */

/* The whole way of traces, with the bundled memory and nothing said of it. */
START_TEST(people_look_into_it)
{
    deploy("{plugin: local}");
    desk_put("t.jsonl", three);
    desk_ok("$MORTISE memory list");
    desk_out("no traces");
    desk_ok("$MORTISE memory import t.jsonl");
    desk_out("wrote 3 of 3 traces\n");
    desk_ok("$MORTISE memory import - < t.jsonl");
    desk_out(
        "wrote 0 of 3 traces; the others already existed or were forgotten");
    desk_ok("$MORTISE memory list");
    desk_out("c  episodic     session=8  0.");
    desk_out("2026-09-21T");
    desk_out("Anna wants her refund by mail\n");
    desk_ok("$MORTISE memory list --limit 1 --json | head -c 9");
    desk_out("{\"id\":\"c\"");
    desk_ok("$MORTISE memory list --limit 2");
    desk_err("more:\n  ");
    desk_err(" memory list --limit 2 --after ");
    desk_not_out("--after");
    desk_ok("$MORTISE memory list --scope session=7");
    desk_out("Bert");
    desk_not_out("Carl");
    desk_not_out("Anna");
    desk_ok("$MORTISE memory search refunds");
    desk_out("Anna");
    desk_out("Bert");
    desk_not_out("Carl");
    desk_ok("$MORTISE memory search refunds --type semantic --limit 5 --json");
    desk_out("\"score\":");
    desk_not_out("Bert");
    desk_ok("$MORTISE memory search nothing-of-it");
    desk_out("no matching traces");
    desk_ok("$MORTISE memory show b");
    desk_out("scope     session=7\n");
    desk_out("\nBert asked for a refund\n");
    child_run("$MORTISE memory show z");
    desk_code(3);
    desk_err("no trace 'z'");
    desk_ok("test -f store/memory/local/traces.db && "
            "stat -c %%a store/memory/local");
    desk_out("700\n");
}
END_TEST

/* With a model traces have vectors, which the memory asks of it by the host; one
 * that cannot be asked takes nothing but them away, and that is said. */
START_TEST(a_model_makes_vectors)
{
    deploy("{plugin: local, config: {embed: e}}");
    desk_put("t.jsonl", three);
    desk_ok("$MORTISE memory import t.jsonl");
    desk_ok("$MORTISE memory search 'Anna wants her refund by mail' --json | "
            "head -1");
    desk_out("\"id\":\"a\"");
    ck_assert_str_eq(child.err, "");
    desk_ok("$MORTISE memory search 'greeting by Carl' --json | head -1");
    desk_out("\"id\":\"c\"");
    graph("read", "{query: 'Anna wants her refund by mail'}");
    desk_ok("$MORTISE run g.yaml --id r");
    came_to("r");
    desk_out("\"usage\": {");
    desk_out("\"model_calls\": 1");
    deploy("{plugin: local, config: {embed: away}}");
    desk_ok("$MORTISE memory search refund");
    desk_out("Anna");
    desk_err("warning: the model did not compute a vector of the query");
}
END_TEST

/* A manifest whose directory is no member of its config is refused: the host would
 * put it there, and the plugin never comes up. */
START_TEST(a_directory_that_no_config_has)
{
    static const char *const schemas[] = {
        "{type: object, properties: {directory: {type: string}}, "
        "additionalProperties: false}",
        "{type: object, properties: {directory: {type: string}}}",
        "{type: object, properties: {dir: {type: string}}, "
        "additionalProperties: false}",
        NULL};

    for (size_t i = 0; i < 4; i++) {
        desk_put("p.yaml", "apiVersion: mortise/v1\nkind: Plugin\n"
                           "metadata: {name: p, version: 1.0.0}\nseq: 1\n"
                           "abi: {major: 1, minor: 0}\nruntime: c\n"
                           "provides: {memory: {threading: blocking, "
                           "directory: dir}}\n");
        if (schemas[i] != NULL)
            desk_ok("echo 'config_schema: %s' >>p.yaml", schemas[i]);
        child_run("$MORTISE check p.yaml");
        desk_code(i == 0 || i == 3 ? 2 : 0);
        if (i == 0 || i == 3)
            desk_out("p.yaml:7:53: error[E0710]: config_schema has no property "
                     "'dir' for the memory's directory, which the host sets\n");
    }
}
END_TEST

/* What is exported is what was written, and makes the same memory elsewhere. */
START_TEST(exports_are_imported)
{
    deploy("{plugin: local, config: {half_life_hours: 1}}");
    desk_put("t.jsonl", three);
    desk_ok("$MORTISE memory import t.jsonl --json");
    desk_out("{\"read\":3,\"written\":3}");
    desk_ok("$MORTISE memory export > out.jsonl");
    desk_ok("$MORTISE memory export --tenant other");
    ck_assert_str_eq(child.out, "");
    desk_ok("$MORTISE memory import out.jsonl --tenant other");
    desk_out("wrote 3 of 3");
    desk_ok("$MORTISE memory export --tenant other | sort > again.jsonl && "
            "sort out.jsonl | diff - again.jsonl");
    desk_ok("cat out.jsonl");
    desk_out("\"strength\":0.75");
    desk_out("\"created_at\":1790000000000");
    desk_not_out("initial");
}
END_TEST

/* A page of the file is lost: the traces that can be read are exported, and the
 * command says that it could not read all. */
START_TEST(a_damaged_memory_is_exported_in_part)
{
    unsigned in_part = 0;

    deploy("{plugin: local}");
    desk_ok(
        "for i in $(seq 1000 2450); do echo "
        "\"{\\\"id\\\":\\\"t$i\\\",\\\"type\\\":\\\"semantic\\\","
        "\\\"scope\\\":\\\"global\\\",\\\"content\\\":\\\"x $i\\\","
        "\\\"strength\\\":1,\\\"created_at\\\":$((5000-i))}\"; done >t.jsonl");
    desk_ok("$MORTISE memory import t.jsonl && cp -r store whole");
    for (unsigned page = 4; page < 100; page += 8) {
        desk_ok("rm -rf store && cp -r whole store && "
                "dd if=/dev/zero of=store/memory/local/traces.db bs=4096 "
                "seek=%u count=1 conv=notrunc 2>dd",
                page);
        child_run("$MORTISE memory export");
        if (child.code == 0)
            continue;
        desk_code(1);
        desk_err("memory.corrupt");
        in_part += strncmp(child.out, "{", 1) == 0;
    }
    ck_assert_uint_gt(in_part, 0);
}
END_TEST

/* An import of an export has its order, that of writing, however many pages that
 * are. */
START_TEST(an_export_keeps_the_order)
{
    deploy("{plugin: local}");
    desk_ok(
        "for i in $(seq 1000 1450); do echo "
        "\"{\\\"id\\\":\\\"t$i\\\",\\\"type\\\":\\\"semantic\\\","
        "\\\"scope\\\":\\\"global\\\",\\\"content\\\":\\\"x $i\\\","
        "\\\"strength\\\":1,\\\"created_at\\\":$((5000-i))}\"; done >t.jsonl");
    desk_ok("$MORTISE memory import t.jsonl && "
            "$MORTISE memory export >out.jsonl && "
            "grep -o 't1[0-9]*' out.jsonl >ids; seq -f t%%g 1000 1450 | diff - "
            "ids");
    desk_ok("$MORTISE memory import --tenant b out.jsonl && "
            "$MORTISE memory export --tenant b | diff out.jsonl -");
    desk_ok("$MORTISE memory list --tenant b --limit 1");
    desk_out("t1450");
    desk_ok("$MORTISE memory export --type episodic");
    ck_assert_str_eq(child.out, "");
}
END_TEST

/* Forgotten by ids, by what they are, by when; and there again by nothing but
 * --restore. */
START_TEST(people_take_traces_away)
{
    deploy("{plugin: local}");
    desk_put("t.jsonl", three);
    desk_ok("$MORTISE memory import t.jsonl");
    child_run("$MORTISE memory forget");
    desk_code(3);
    desk_ok("$MORTISE memory forget a z --json");
    desk_out("\"forgotten\":1");
    desk_ok("$MORTISE memory forget --scope session=8 --before 2020-01-01");
    desk_out("forgot 0\n");
    desk_ok("$MORTISE memory forget --scope session=8 --before 0s");
    desk_out("forgot 1\n");
    desk_ok("$MORTISE memory import t.jsonl");
    desk_out("wrote 0 of 3");
    desk_ok("$MORTISE memory import t.jsonl --restore");
    desk_out("wrote 2 of 3");
    desk_ok("$MORTISE memory forget --all");
    desk_out("forgot 3\n");
    desk_ok("$MORTISE memory list --json");
    ck_assert_str_eq(child.out, "");
}
END_TEST

/* What is none is told with its place, and what stood ahead of it is there. */
START_TEST(wrong_imports_are_told)
{
    static const struct {
        const char *line, *words;
    } wrong[] = {
        {"{\"id\":\"x\"}", "t.jsonl:3:1: the member 'type' is missing"},
        {"{\"id\":\"\xc3\xa4\",", "t.jsonl:3:10: string or '}' expected"},
        {"", "t.jsonl:4:1: the member 'id' is missing"},
        {"[1]", "t.jsonl:3:1: the value is not an object"},
        {"{\"id\":\"x\",\"type\":\"odd\",\"scope\":\"global\",\"content\":"
         "\"x\","
         "\"strength\":1,\"created_at\":1}",
         "t.jsonl:3:18: 'type' must be episodic, "},
        {"{\"id\":\"x\",\"type\":\"semantic\",\"scope\":\"session\","
         "\"content\":"
         "\"x\",\"strength\":1,\"created_at\":1}",
         "must have a 'key', unless its scope is 'global'"},
        {"{\"id\":\"x\",\"type\":\"semantic\",\"scope\":\"global\",\"content\":"
         "\"x\",\"strength\":2,\"created_at\":1}",
         "'strength' must be a number from 0 to 1"},
        {"{\"id\":\"x\",\"type\":\"semantic\",\"scope\":\"global\",\"content\":"
         "\"x\",\"strength\":1,\"created_at\":1,\"more\":1}",
         "t.jsonl:3:95: unknown member 'more'"},
    };
    char text[1024];

    deploy("{plugin: local}");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        snprintf(text, sizeof text,
                 TRACE("a%zu", "semantic", GLOBAL, "ahead") "\n%s\n{}\n", i,
                 wrong[i].line);
        desk_put("t.jsonl", text);
        child_run("$MORTISE memory import t.jsonl");
        ck_assert_int_ne(child.code, 0);
        desk_err(wrong[i].words);
        desk_ok("$MORTISE memory show a%zu", i);
    }
    child_run("$MORTISE memory import none.jsonl");
    desk_code(3);
}
END_TEST

/* What nobody can mean is said of the options that people gave. */
START_TEST(options_are_refused_in_words)
{
    static const struct {
        const char *call, *says;
    } refused[] = {
        {"search ''",
         "QUERY has no word to search for; `memory list` prints all"},
        {"search ' '", "QUERY has no word to search for"},
        {"list --type semantc",
         "--type: 'semantc' is not one of episodic, semantic, procedural, "
         "prospective and relational; did you mean 'semantic'?"},
        {"search x --scope here",
         "--scope: 'here' is not one of global, persona, session and "
         "conversation (E_INVALID)"},
        {"export --scope global=x", "--scope: global accepts no =KEY"},
        {"forget --scope session=", "--scope: a KEY has 1 to 256 bytes"},
        {"forget --all a", "--all forgets all traces of the tenant; it cannot "
                           "be used with other selections"},
        {"forget --all --before 1d", "--all forgets all traces of the tenant"},
        {"forget a ''", "'' is not a trace id: an id has 1 to 128 bytes"},
        {"show $(printf %0129d 1)",
         "is not a trace id: an id has 1 to 128 bytes"},
        {"forget $(seq 1001)",
         "1001 ids are too many: give at most 1000 at once"},
        {"list --after zz", "--after: 'zz' is not a position in this memory; "
                            "give the POSITION that `memory list`"},
        {"list --after $(printf %01025d 1)",
         "0' is not a position in this memory"},
    };

    deploy("{plugin: local}");
    desk_put("t.jsonl", three);
    desk_ok("$MORTISE memory import t.jsonl");
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        child_run("$MORTISE memory %s", refused[i].call);
        desk_code(3);
        desk_err(refused[i].says);
    }
}
END_TEST

/* To forget what is not there is no error, and it is said what that was. */
START_TEST(what_is_not_there_is_named)
{
    deploy("{plugin: local}");
    desk_put("t.jsonl", three);
    desk_ok("$MORTISE memory import t.jsonl");
    desk_ok("$MORTISE memory forget y a z");
    ck_assert_str_eq(child.out, "forgot 1\n");
    ck_assert_str_eq(child.err,
                     "mortise: no trace 'y'\nmortise: no trace 'z'\n");
    desk_ok("$MORTISE memory forget b --type semantic");
    ck_assert_str_eq(child.out, "forgot 0\n");
    ck_assert_str_eq(child.err, "");
    desk_ok("$MORTISE memory forget $(seq 1000) --json");
    desk_out("\"forgotten\":0");
    desk_err("no trace '1000'");
}
END_TEST

/* A deployment without one says so. */
START_TEST(there_may_be_none)
{
    deploy("");
    child_run("$MORTISE memory list");
    desk_code(3);
    desk_err("the deployment has no memory: set memory.plugin");
    deploy("{plugin: pii}");
    child_run("$MORTISE check mortise.yaml");
    desk_code(2);
    desk_out("error[E0517]: plugin 'pii' is not a memory");
    deploy("{plugin: loca}");
    child_run("$MORTISE check mortise.yaml");
    desk_code(2);
    desk_out("error[E0517]: no plugin 'loca'");
    deploy("{plugin: local, config: {halflife: 2}}");
    child_run("$MORTISE check mortise.yaml");
    desk_code(2);
    desk_out("error[E0607]: plugin 'local' rejects this config: unknown member "
             "'halflife'");
}
END_TEST

/* An engine that stays serves it, to several at once. */
START_TEST(an_engine_at_work_serves_it)
{
    deploy("{plugin: local}");
    desk_put("t.jsonl", three);
    desk_ok("$MORTISE engine 2>log & pid=$!; for i in $(seq 600); do test -S "
            "store/control.sock && break; sleep 0.1; done; "
            "$MORTISE memory import t.jsonl; "
            "for i in 1 2 3 4; do $MORTISE memory search refund & p=\"$p $!\"; "
            "done; wait $p; kill $pid; wait $pid; true");
    desk_out("wrote 3 of 3");
    desk_out("Bert");
    desk_ok("$MORTISE memory show a");
    desk_out("Anna");
}
END_TEST

/* Somebody else, who has the file of traces and lets nobody read it. */
static sqlite3 *lock_file(void)
{
    char path[sizeof desk_dir + 64];
    sqlite3 *db;

    snprintf(path, sizeof path, "%s/store/memory/local/traces.db", desk_dir);
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db,
                                  "PRAGMA locking_mode=EXCLUSIVE;"
                                  "BEGIN EXCLUSIVE",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    return db;
}

/* A file that is locked where the memory comes up is no fault of the deployment:
 * it is said, and a node whose policy says so tries again. */
START_TEST(a_locked_one_is_tried_again)
{
    sqlite3 *db;
    pid_t run;

    deploy("{plugin: local}");
    desk_put("t.jsonl", three);
    desk_ok("$MORTISE memory import t.jsonl");
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: text/join, next: END,\n"
                    "    args: {parts: \"${memory.map(m, m.content)}\"},\n"
                    "    memory_policy: {read: {}},\n"
                    "    retry_policy: {max_attempts: 9, delay: 100ms}}\n");
    db = lock_file();
    child_run("$MORTISE memory list");
    desk_code(1);
    desk_err("memory.busy");
    desk_err("is locked by another process");
    run = child_start("run", "$MORTISE run g.yaml --id r");
    child_await("run.out", "memory.busy");
    sqlite3_close(db);
    ck_assert_int_eq(child_wait(run), 0);
    came_to("r");
    desk_out("Anna");
}
END_TEST

/* `mortise doctor` has the plugin look at the file, wherever it is, and makes none: one
 * that is locked and one that is damaged are named, with what to do. */
START_TEST(doctor_names_a_file_that_cannot_be_used)
{
    sqlite3 *db;

    deploy("{plugin: local}");
    desk_ok("$MORTISE doctor");
    desk_out("ok   traces      ./store/memory/local: no traces yet");
    desk_ok("test ! -e store/memory");
    desk_put("t.jsonl", three);
    desk_ok("$MORTISE memory import t.jsonl && $MORTISE doctor");
    desk_out("ok   traces      memory 'local' can use ./store/memory/local");
    db = lock_file();
    child_run("$MORTISE doctor");
    desk_code(2);
    desk_out(
        "fail traces      memory 'local' cannot use ./store/memory/local: ");
    desk_out("is locked by another process");
    desk_out("end the process that locks the file");
    sqlite3_close(db);
    desk_ok("printf 'garbage, garbage' | dd of=store/memory/local/traces.db "
            "conv=notrunc 2>dd");
    child_run("$MORTISE doctor");
    desk_code(2);
    desk_out("traces.db is not a file of traces");
    desk_out("move all files of the directory to another place");
    desk_ok("cat store/memory/local/traces.db | head -c 16");
    desk_out("garbage, garbage"); /* it is left as it is */

    deploy("{plugin: local, config: {directory: kept}}");
    desk_ok("$MORTISE doctor && test ! -e kept");
    desk_out("ok   traces      ");
    desk_out("kept: no traces yet");
    desk_ok("mkdir kept && cp store/memory/local/traces.db kept");
    child_run("$MORTISE doctor");
    desk_code(2);
    desk_out("kept/traces.db is not a file of traces");
}
END_TEST

/* What an engine that is stopped has not begun is nobody's error: who asked asks the
 * next one, and each trace is there once. */
START_TEST(an_engine_that_closes_is_no_error)
{
    pid_t engine, clients[6];

    deploy("{plugin: remembers_in_a_file}");
    engine = child_start("engine", "$MORTISE engine");
    child_await("engine.err", "holding the store");
    desk_put("hold_write", "");
    for (int i = 0; i < 6; i++) {
        char name[16], trace[256];

        snprintf(trace, sizeof trace,
                 TRACE("id%d", "semantic", GLOBAL, "a trace"), i);
        snprintf(name, sizeof name, "t%d", i);
        desk_put(name, trace);
        clients[i] = child_start(name, "$MORTISE memory import %s", name);
    }
    /* Four of them are in the plugin by then, as many as it takes at once. */
    desk_ok("sleep 1.5");
    kill(engine, SIGTERM);
    desk_ok("sleep 0.3; rm hold_write");
    ck_assert_int_eq(child_wait(engine), 0);
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(child_wait(clients[i]), 0);
    desk_ok("$MORTISE memory list --json | wc -l");
    ck_assert_str_eq(child.out, "6\n");
}
END_TEST

/* What nodes read becomes stronger, once for each that is done; where `boost` is 0
 * nothing does. */
START_TEST(what_is_read_becomes_stronger)
{
    static const char *const configs[] = {
        "{plugin: local, config: {boost: 0.5, half_life_hours: 0}}",
        "{plugin: local, config: {boost: 0, half_life_hours: 0}}"};
    static const char *const want[][2] = {{"0.700", "0.850"},
                                          {"0.400", "0.400"}};

    deploy(configs[_i]);
    desk_put("t.jsonl", "{\"id\": \"t\", \"type\": \"semantic\", \"scope\": "
                        "\"global\", \"content\": \"tea\", \"strength\": 0.4, "
                        "\"created_at\": 1000}\n");
    desk_ok("$MORTISE memory import t.jsonl");
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: text/join, next: END,\n"
                    "    args: {parts: \"${memory.map(m, m.content)}\"},\n"
                    "    memory_policy: {read: {}}}\n");
    for (int i = 0; i < 2; i++) {
        desk_ok("$MORTISE run g.yaml --id r%d", i);
        desk_ok("$MORTISE memory show t");
        desk_out(want[_i][i]);
    }
}
END_TEST

/* ---- plugins ------------------------------------------------------------- */

/* A plugin writes, and reads what it wrote; each within the run's tenant. */
START_TEST(plugins_remember)
{
    deploy("{plugin: local}");
    graph("write", "{traces: [{type: semantic, scope: global, content: \"likes "
                   "tea\"}, {type: episodic, scope: session, key: s, content: "
                   "\"tea time\", strength: 1, metadata: {by: me}}]}");
    desk_ok("$MORTISE run g.yaml --id w");
    came_to("w");
    desk_out("\"written\":");
    desk_out("\"step-");
    graph("read", "{query: teas, keys: {session: s}}");
    desk_ok("$MORTISE run g.yaml --id r");
    came_to("r");
    desk_out("likes tea");
    desk_out("tea time");
    graph("read", "{query: ' '}");
    desk_ok("$MORTISE run g.yaml --id blank");
    came_to("blank");
    desk_out("likes tea");
    graph("read", "{query: teas}");
    desk_ok("$MORTISE run g.yaml --id q");
    came_to("q");
    desk_out("likes tea");
    desk_not_out("tea time");
    desk_ok("$MORTISE run g.yaml --id o --tenant other");
    desk_ok("$MORTISE show o --tenant other --json | tr -d ' \\n'");
    desk_out("\"traces\":[]");
}
END_TEST

/* A read stands in the record: who is entered again after the process died is
 * told what it was told, whatever the memory has by then. */
START_TEST(a_replay_reads_the_same)
{
    deploy("{plugin: local}");
    desk_put("t.jsonl", three);
    desk_ok("$MORTISE memory import t.jsonl");
    graph("read", "{query: refund, keys: {session: '7'}}");
    desk_ok("touch die; $MORTISE run g.yaml --id r; test $? -gt 128");
    desk_ok("$MORTISE memory forget --all");
    desk_ok("$MORTISE resume r");
    came_to("r");
    desk_out("Anna");
    desk_out("Bert");
    ck_assert_uint_eq(desk_entrances(), 2);
}
END_TEST

/* A write that is made again after the process died is there once. */
START_TEST(a_write_is_there_once)
{
    deploy("{plugin: local}");
    graph("write",
          "{traces: [{type: semantic, scope: global, content: once}]}");
    desk_ok("touch die; $MORTISE run g.yaml --id w; test $? -gt 128");
    desk_ok("$MORTISE resume w");
    desk_ok("$MORTISE memory list --json | wc -l");
    desk_out("1\n");
    ck_assert_uint_eq(desk_entrances(), 2);
}
END_TEST

static const struct {
    const char *operation, *args, *words;
} refused[] = {
    {"sneak", "{traces: [{type: semantic, scope: global, content: x}]}",
     "an operation without an effect cannot write"},
    {"write", "{traces: [{type: semantic, scope: global, content: x, id: y}]}",
     "the host sets `id`"},
    {"write", "{traces: [{type: semantic, scope: session, content: x}]}",
     "must have a 'key', unless its scope is 'global'"},
    {"write", "{restore: true}", "cannot have 'restore'"},
    {"read", "{tenant: other}", "cannot have 'tenant'"},
    {"read", "{as_of: 1}", "cannot have 'as_of'"},
    {"read", "{max_traces: 9999}", "'max_traces' must be a number"},
};

/* What is no request, or none of theirs to make, is refused in words. */
START_TEST(plugins_may_not_all)
{
    deploy("{plugin: local}");
    graph(refused[_i].operation, refused[_i].args);
    desk_ok("$MORTISE run g.yaml --id r");
    came_to("r");
    desk_out("\"status\":");
    desk_out(refused[_i].words);
}
END_TEST

/* ---- one that is begun --------------------------------------------------- */

/* What `mortise plugin new` begins is a memory: built against the headers, tried
 * as its Makefile does, signed, trusted and used; a line that was cut by a crash is
 * left out, and a file of others is left alone. */
static const char begun[] =
    "set -e; export PATH=${MORTISE%%/*}:$PATH CPATH=%s HOME=$PWD\n"
    "mortise plugin new acme.recall --kind memory --lang c >said\n"
    "cd acme.recall; make check sign CFLAGS='-O2 -Werror'\n"
    "mortise key trust acme.recall.pub --plugins acme.recall --kinds memory "
    "--in-process --trust trust.d\n"
    "mortise config allow mortise.yaml\n"
    "mortise plugin verify acme.recall\n"
    "mortise memory import traces.jsonl\n"
    "printf '[{\"tenant\":\"default\",\"seq\":9,\"id\":\"cut' "
    ">>store/memory/acme.recall/traces.jsonl\n"
    "mortise memory list --json | wc -l | grep -x 3\n"
    "mortise memory search tea | grep 'likes tea'\n"
    "echo 'a line of others' >store/memory/acme.recall/traces.jsonl\n"
    "! mortise memory list 2>why\n"
    "grep 'lines of others' why\n"
    "grep -x 'a line of others' store/memory/acme.recall/traces.jsonl\n";

START_TEST(a_begun_one_is_one)
{
    char sdk[PATH_MAX];

    ck_assert_ptr_nonnull(realpath("sdk", sdk));
    desk_ok(begun, sdk);
}
END_TEST

/* ---- those that break their promises ------------------------------------- */

static const struct {
    const char *plugin, *read, *write;
} broken[] = {
    {"memory_lies", "this trace was not requested",
     "'written' must be a number"},
    {"memory_floods", "more traces than requested", ""},
    {"memory_hangs", "showed no activity", "showed no activity"},
};

/* One that lies, floods or hangs gives nothing to anybody, in words. */
START_TEST(a_broken_one_gives_nothing)
{
    char memory[64];

    snprintf(memory, sizeof memory, "{plugin: %s}", broken[_i].plugin);
    deploy(memory);
    graph("read", "{}");
    desk_ok("$MORTISE run g.yaml --id r");
    came_to("r");
    desk_out("\"status\":");
    desk_out(broken[_i].read);
    graph("write", "{traces: [{type: semantic, scope: global, content: x}]}");
    desk_ok("$MORTISE run g.yaml --id w");
    came_to("w");
    desk_out("\"status\":");
    desk_out(broken[_i].write);
    child_run("$MORTISE memory show x");
    ck_assert_int_ne(child.code, 0);
    child_run("$MORTISE memory search x --scope global --limit 3");
    ck_assert_int_ne(child.code, 0);
    desk_err(broken[_i].read);
    desk_put("t.jsonl", three);
    child_run("$MORTISE memory import t.jsonl");
    ck_assert_int_ne(child.code, 0);
}
END_TEST

#define LIE(more)                                                              \
    "{\"seq\": 1, \"traces\": [{\"id\": \"t\", \"content\": \"LIE\", "         \
    "\"created_at\": 1, " more "}]}"
#define OF_ME "\"scope\": \"session\", \"key\": \"me\""

static const struct {
    const char *file, *answer, *why; /* NULL: it is right */
} lies[] = {
    {"lie", LIE(OF_ME ", \"type\": \"semantic\", \"strength\": 0.5"), NULL},
    {"lie",
     LIE("\"scope\": \"session\", \"key\": \"you\", \"type\": \"semantic\", "
         "\"strength\": 0.5"),
     "this trace was not requested"},
    {"lie", LIE(OF_ME ", \"type\": \"episodic\", \"strength\": 0.5"),
     "this trace was not requested"},
    {"lie", LIE(OF_ME ", \"type\": \"semantic\", \"strength\": 0.05"),
     "this trace was not requested"},
    {"lie", LIE(OF_ME ", \"type\": \"semantic\", \"strength\": 2"),
     "'strength' must be a number from 0 to 1"},
    {"lie",
     LIE(OF_ME ", \"type\": \"semantic\", \"strength\": 0.5, \"tenant\": "
               "\"other\""),
     "unknown member 'tenant'"},
    {"lie",
     LIE("\"scope\": \"global\", \"key\": \"me\", \"type\": \"semantic\", "
         "\"strength\": 0.5"),
     "unless its scope is 'global'"},
    {"lie",
     LIE(OF_ME ", \"type\": \"semantic\", \"strength\": 0.5}, {\"id\": \"t\", "
               "\"content\": \"LIE\", \"created_at\": 1, " OF_ME
               ", \"type\": \"semantic\", \"strength\": 0.5"),
     "this trace occurs twice"},
    {"lie", "[]", "the value is not an object"},
    {"lie", "", "the value is not an object"},
    {"write_lie", "[]", "the value is not an object"},
    {"write_lie", "", "the value is not an object"},
    {"write_lie", "{\"written\": 1, \"seq\": -1}", "'seq' must be"},
};

/* What it gives a node is what the node asked for, or an error of its; what it
 * says of a write, too. */
START_TEST(nodes_are_not_lied_to)
{
    bool writes = strcmp(lies[_i].file, "write_lie") == 0;

    deploy("{plugin: memory_lies}");
    desk_put(lies[_i].file, lies[_i].answer);
    desk_graph(
        "g", writes ? "start: a\nmemory_consistency: live\nnodes:\n"
                      "  a: {type: tool, tool: text/join, args: {parts: [x]}, "
                      "next: END,\n    memory_policy: {session: me, write: "
                      "{auto_encode: true}}}\n"
                    : "start: a\nmemory_consistency: live\nnodes:\n"
                      "  a: {type: tool, tool: text/join, args: {parts: "
                      "\"${memory.map(m, m.content)}\"}, next: END,\n"
                      "    memory_policy: {session: me, read: {scope: session, "
                      "types: [semantic], min_strength: 0.1}}}\n");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(lies[_i].why != NULL ? 1 : 0);
    desk_ok("$MORTISE show r --json");
    if (lies[_i].why == NULL) {
        desk_out("LIE");
        return;
    }
    desk_out("memory.bad_answer");
    desk_out(lies[_i].why);
    desk_not_out("LIE");
}
END_TEST

/* One that takes the process with it is quarantined after three times; its run
 * stands still, and all else goes on. */
START_TEST(a_deadly_one_is_put_aside)
{
    deploy("{plugin: memory_dies}");
    graph("read", "{}");
    desk_ok("for i in 1 2 3; do $MORTISE run g.yaml --id r$i; done; true");
    desk_ok("for i in 1 2 3; do $MORTISE resume r$i; done; true");
    desk_ok("$MORTISE plugin list");
    desk_out("memory_dies");
    desk_ok("$MORTISE plugin list --json | grep memory_dies");
    desk_out("quarantine");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_memory");
    TCase *tc = tcase_create("memory");

    tcase_add_unchecked_fixture(tc, sign_plugins, forget_plugins);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, people_look_into_it);
    tcase_add_test(tc, a_model_makes_vectors);
    tcase_add_test(tc, a_directory_that_no_config_has);
    tcase_add_test(tc, exports_are_imported);
    tcase_add_test(tc, an_export_keeps_the_order);
    tcase_add_test(tc, a_damaged_memory_is_exported_in_part);
    tcase_add_test(tc, people_take_traces_away);
    tcase_add_test(tc, wrong_imports_are_told);
    tcase_add_test(tc, options_are_refused_in_words);
    tcase_add_test(tc, what_is_not_there_is_named);
    tcase_add_test(tc, there_may_be_none);
    tcase_add_test(tc, an_engine_at_work_serves_it);
    tcase_add_test(tc, a_locked_one_is_tried_again);
    tcase_add_test(tc, doctor_names_a_file_that_cannot_be_used);
    tcase_add_test(tc, an_engine_that_closes_is_no_error);
    tcase_add_loop_test(tc, what_is_read_becomes_stronger, 0, 2);
    tcase_add_test(tc, plugins_remember);
    tcase_add_test(tc, a_replay_reads_the_same);
    tcase_add_test(tc, a_write_is_there_once);
    tcase_add_test(tc, a_begun_one_is_one);
    tcase_add_loop_test(tc, plugins_may_not_all, 0,
                        sizeof refused / sizeof refused[0]);
    tcase_add_loop_test(tc, a_broken_one_gives_nothing, 0,
                        sizeof broken / sizeof broken[0]);
    tcase_add_loop_test(tc, nodes_are_not_lied_to, 0,
                        sizeof lies / sizeof lies[0]);
    tcase_add_test(tc, a_deadly_one_is_put_aside);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
