/* mcp.c -- what a call of an MCP tool costs beside its server.
 *
 * The server is the scripted one of the tests, over stdio.  A call through the
 * plugin is held against a client that does no more than write a line and read
 * and parse the line that answers it.  Commits are written beside the calls: what
 * they take is not all waited for. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/mortise.h"

enum { CALLS = 200, REPEATS = 7 };

extern char **environ;

/* ---- the bare client ------------------------------------------------------ */

struct pipes {
    pid_t pid;
    FILE *in, *out; /* of the server */
};

static struct pipes bare_open(void)
{
    const char *argv[] = {bench_build("tests/mcp/mcpd_stdio"), NULL};
    posix_spawn_file_actions_t actions;
    int to[2], from[2], rv;
    struct pipes p;

    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
        bench_die("no pipe: %s", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], 0);
    posix_spawn_file_actions_adddup2(&actions, from[1], 1);
    rv = posix_spawn(&p.pid, argv[0], &actions, NULL,
                     (char *const *)(uintptr_t)argv, environ);
    if (rv != 0)
        bench_die("cannot run %s: %s", argv[0], strerror(rv));
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    p.in = fdopen(to[1], "w");
    p.out = fdopen(from[0], "r");
    return p;
}

static void bare_close(struct pipes *p)
{
    fclose(p->in);
    fclose(p->out);
    waitpid(p->pid, NULL, 0);
}

static void bare_send(struct pipes *p, int id)
{
    fprintf(p->in,
            "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\","
            "\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"hello\"},"
            "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
            "\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{},"
            "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"bench\","
            "\"version\":\"1\"}}}}\n",
            id);
}

static void bare_receive(struct pipes *p)
{
    char line[8192];
    json_t *m;

    if (fgets(line, sizeof line, p->out) == NULL)
        bench_die("the scripted server is gone");
    m = json_loads(line, 0, NULL);
    if (json_object_get(m, "result") == NULL)
        bench_die("the scripted server says: %s", line);
    json_decref(m);
}

/* Seconds of so many calls, all sent before the first is answered or each
 * behind the one before. */
static double bare(struct pipes *p, bool at_once)
{
    static int id;
    double begun = bench_now();

    for (int i = 0; i < CALLS; i++) {
        bare_send(p, ++id);
        if (!at_once) {
            fflush(p->in);
            bare_receive(p);
        }
    }
    fflush(p->in);
    for (int i = 0; at_once && i < CALLS; i++)
        bare_receive(p);
    return bench_now() - begun;
}

/* ---- through the plugin ----------------------------------------------------- */

static void deploy(void)
{
    const char *argv[] = {
        bench_build("mortise"), "mcp", "pin", "s", "--deployment",
        bench_path("mcp.yaml"), NULL};
    struct bench_child c;
    char text[4096];
    int n = snprintf(text, sizeof text,
                     "apiVersion: mortise/v1\nkind: Deployment\n"
                     "metadata: {name: bench}\n"
                     "plugins: {path: [plugins]}\ntrust: {dir: trust.d}\n"
                     "tools: {mcp: {s: {command: [\"%s\"], effects: {read: "
                     "[echo]}}}}\n",
                     bench_build("tests/mcp/mcpd_stdio"));

    bench_write_file(bench_path("mcp.yaml"), text, (size_t)n);
    c = bench_spawn(argv);
    if (bench_reap(&c) != 0)
        bench_die("mortise mcp pin failed");
}

static struct mortise_graph *load(struct mortise *m, bool at_once)
{
    struct mortise_graph *g;
    struct mortise_buf b;

    mortise_buf_init(&b, &mortise_heap);
    if (!at_once) {
        bench_chain(&b, "mcp/s/echo", "{text: hello}", CALLS);
    } else {
        bench_graph_head(&b, "fan", "all");
        mortise_buf_printf(&b,
                           "limits: {concurrency: %d, steps: %d}\nnodes:\n"
                           "  all: {type: tool, tool: bench_now/step, next: [",
                           CALLS, CALLS + 2);
        for (int i = 0; i < CALLS; i++)
            mortise_buf_printf(&b, "%sc%d", i > 0 ? ", " : "", i);
        mortise_buf_puts(&b, "]}\n");
        for (int i = 0; i < CALLS; i++)
            mortise_buf_printf(&b,
                               "  c%d: {type: tool, tool: mcp/s/echo, args: "
                               "{text: hello}, output_as: null, next: done}\n",
                               i);
        mortise_buf_puts(&b, "  done: {type: tool, tool: bench_now/step}\n");
    }
    g = bench_load(m, &b);
    mortise_buf_finish(&b);
    return g;
}

static void measure(struct mortise *m, struct pipes *p, bool at_once)
{
    struct mortise_graph *g = load(m, at_once);
    double ours[REPEATS], theirs[REPEATS], write[REPEATS], call, each, commit;
    double per = at_once ? 1 : CALLS;

    bench_finish(m, g); /* starts the server */
    bare(p, at_once);
    for (int i = 0; i < REPEATS; i++) {
        theirs[i] = bare(p, at_once) / per;
        bench_meter_reset();
        ours[i] = bench_finish(m, g) / per;
        write[i] = bench_meter_read().write / per;
    }
    call = bench_median(theirs, REPEATS);
    each = bench_median(ours, REPEATS);
    commit = bench_median(write, REPEATS);
    bench_row(&(struct bench_row){
        .what = at_once ? "200 calls of an MCP tool at once, on one server"
                        : "a call of an MCP tool over stdio, in a chain",
        .measured = each,
        .against = at_once ? "bare client, 200 lines ahead" : "bare client",
        .reference = call,
        .at_most = at_once ? 100e-3 : 1e-3});
    bench_row(&(struct bench_row){.what = "  ... its commits, in LevelDB",
                                  .measured = commit,
                                  .against = "bare synced put",
                                  .reference = bench_base.put});
    mortise_graph_close(g);
}

void bench_mcp(void)
{
    struct pipes p;
    struct mortise *m;

    bench_section("an MCP server over stdio");
    deploy();
    p = bare_open();
    m = bench_open_with("mcp", "mcp.yaml");
    measure(m, &p, false);
    measure(m, &p, true);
    mortise_close(m);
    bare_close(&p);
}
