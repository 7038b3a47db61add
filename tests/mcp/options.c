/* options.c -- the flags of scripted servers: each with what it does. */
#include "mcpd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mcpd_options mcpd = {.eras = MCPD_2025 | MCPD_2026,
                            .legacy_version = MCPD_LEGACY,
                            .modern_version = MCPD_MODERN,
                            .pages = 1,
                            .change_after = -1,
                            .die_after = -1,
                            .forget_after = -1};

static const struct flag {
    const char *name;
    enum { YES, NUMBER, TEXT, ERA } kind;
    void *at;
    const char *what;
} flags[] = {
    {"era", ERA, &mcpd.eras, "2025, 2026 or both"},
    {"effects", TEXT, &mcpd.effects, "FILE: a line for each effect of a tool"},
    {"log", TEXT, &mcpd.log, "FILE: what comes, and \"! ...\" what is wrong"},
    {"starts", TEXT, &mcpd.starts, "FILE: the pid of each process, a line"},
    {"legacy-version", TEXT, &mcpd.legacy_version, "of initialize's result"},
    {"modern-version", TEXT, &mcpd.modern_version, "the one that it supports"},
    {"describe", TEXT, &mcpd.describe, "TEXT: the description of echo"},
    {"drop", TEXT, &mcpd.drop, "TOOL: not listed, not known"},
    {"instructions", TEXT, &mcpd.instructions, "TEXT"},
    {"pages", NUMBER, &mcpd.pages, "N: of tools/list"},
    {"tools", NUMBER, &mcpd.tools, "N more: extra-1 ..."},
    {"empty-cursor", YES, &mcpd.empty_cursor, "the second page's is \"\""},
    {"endless-pages", YES, &mcpd.endless_pages, "the same cursor for ever"},
    {"change-after", NUMBER, &mcpd.change_after,
     "N calls: echo is described otherwise"},
    {"announce", YES, &mcpd.announce, "... and the client is told"},
    {"die-after", NUMBER, &mcpd.die_after,
     "N calls: the next is not answered, and it exits"},
    {"start-delay", NUMBER, &mcpd.start_delay, "MS until it reads"},
    {"exit-at-start", YES, &mcpd.exit_at_start, "without a word"},
    {"exit-code", NUMBER, &mcpd.exit_code, "of that exit, and on discover"},
    {"exit-on-discover", YES, &mcpd.exit_on_discover, ""},
    {"silent-on-discover", YES, &mcpd.silent_on_discover, ""},
    {"silent", YES, &mcpd.silent, "answers nothing"},
    {"ignore-close", YES, &mcpd.ignore_close, "lives on when stdin ends"},
    {"ignore-term", YES, &mcpd.ignore_term, "... and after SIGTERM"},
    {"ask-at-start", YES, &mcpd.ask_at_start,
     "ping (id 0), roots/list, sampling/createMessage at once"},
    {"babble-at-start", YES, &mcpd.babble_at_start,
     "lines that are no protocol"},
    {"flood-stderr", NUMBER, &mcpd.flood_stderr, "BYTES at once"},
    {"no-result-type", YES, &mcpd.no_result_type,
     "2026, after discover: as one that took us for an old client"},
    {"state-expires", YES, &mcpd.state_expires,
     "2026: each first requestState that comes back is refused"},
    {"refuse-tasks", YES, &mcpd.refuse_tasks, "tasks/get: -32601"},
    {"odd-header", YES, &mcpd.odd_header,
     "one more tool, with an x-mcp-header that no client may take"},
    {"odd-schemas", YES, &mcpd.odd_schemas,
     "more tools: one with a maximum beyond 63 bits, one with a tuple"},
    {"port-file", TEXT, &mcpd.port_file, "http: FILE for its port"},
    {"port", NUMBER, &mcpd.port, "http: N; without: any"},
    {"json", YES, &mcpd.json, "http, 2025: answers are JSON, not streams"},
    {"sse", YES, &mcpd.sse, "http, 2026: answers are streams, not JSON"},
    {"odd-sse", YES, &mcpd.odd_sse, "http: streams as odd as they may be"},
    {"prime", YES, &mcpd.prime,
     "http, 2025: streams begin with an empty event"},
    {"drop-stream", YES, &mcpd.drop_stream,
     "http, 2025: each call's stream breaks before its answer, after 'retry'"},
    {"ask-on-get", YES, &mcpd.ask_on_get,
     "http, 2025: the client is asked on the stream that it got with GET"},
    {"no-session", YES, &mcpd.no_session, "http, 2025: without ids of them"},
    {"no-get", YES, &mcpd.no_get, "http, 2025: GET is 405"},
    {"forget-session", NUMBER, &mcpd.forget_after,
     "http, 2025: N calls of a session, then it is 404; SIGUSR2: all are"},
    {"token-ms", NUMBER, &mcpd.token_ms, "http: how long tokens are good"},
    {"auth", TEXT, &mcpd.auth,
     "http: WORD,WORD...: OAuth (oauth.c has the words)"},
};

static void usage(const char *wrong)
{
    fprintf(stderr, "%s: not understood; flags:\n", wrong);
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        fprintf(stderr, "  --%-20s %s\n", flags[i].name, flags[i].what);
    exit(64);
}

static void take(const struct flag *f, const char *text)
{
    switch (f->kind) {
    case YES:
        *(bool *)f->at = true;
        break;
    case NUMBER:
        *(int *)f->at = atoi(text);
        break;
    case TEXT:
        *(const char **)f->at = text;
        break;
    case ERA:
        *(int *)f->at = strcmp(text, "2025") == 0   ? MCPD_2025
                        : strcmp(text, "2026") == 0 ? MCPD_2026
                                                    : MCPD_2025 | MCPD_2026;
        break;
    }
}

void mcpd_options_read(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const struct flag *f = NULL;

        for (size_t k = 0; f == NULL && k < sizeof flags / sizeof flags[0]; k++)
            if (strncmp(argv[i], "--", 2) == 0 &&
                strcmp(argv[i] + 2, flags[k].name) == 0)
                f = &flags[k];
        if (f == NULL || (f->kind != YES && i + 1 == argc))
            usage(argv[i]);
        take(f, f->kind == YES ? NULL : argv[++i]);
    }
}
