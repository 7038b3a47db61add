/* progress.c -- prints the events of a run while it proceeds.
 *
 * An event is printed in one of three ways.  For programs: the event itself,
 * one JSON object per line.  For pipes and simple terminals: one plain line,
 *
 *    2026-01-02T03:04:05.678Z node_end read ms=12
 *
 * Members that are not printed elsewhere are KEY=VALUE, so unknown event types
 * are printed, too.  For terminals: finished nodes and conversations (talk.c)
 * scroll, and active nodes are shown in the bottom lines, which are redrawn.
 * Invariants on a terminal:
 *
 *   (1) Outside of these functions, the cursor is at the start of the line
 *       below the working lines, and `drawn` is their number.  Alternatively,
 *       it is behind a part of a model's reply, and there are no working lines.
 *   (2) The working lines are cut to the width, and limited to the height,
 *       because the cursor cannot move back over wrapped or scrolled lines.
 *
 * The output is flushed after each event. */
#include "cli/progress.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "cli/cli.h"
#include "core/json/value.h"

/* Bytes of a line's details, and the minimal width for redrawing. */
enum { DETAIL_MAX = 512, MIN_COLUMNS = 40 };

void mortise_progress_init(struct mortise_progress *p, struct mortise_out *out,
                           bool json)
{
    memset(p, 0, sizeof *p);
    p->out = out;
    p->json = json;
    p->live = !json && out->tty;
    p->talk.out = out;
}

/* ---- details: KEY=VALUE ------------------------------------------------- */

/* Is the member for programs only, or printed elsewhere in the line? */
static bool is_hidden_detail(const char *key)
{
    static const char *const keys[] = {"seq",       "run",  "tenant", "at",
                                       "type",      "node", "path",   "attempt",
                                       "ephemeral", "order"};

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

/* Put all members that are not printed elsewhere. */
static void put_event_details(struct mortise_buf *b, const json_t *event)
{
    const char *key;
    json_t *v;

    json_object_foreach(mortise_json_unconst(event), key, v)
    {
        if (is_hidden_detail(key))
            continue;
        mortise_buf_printf(b, "%s%s=", b->n > 0 ? " " : "", key);
        if (json_is_string(v))
            mortise_buf_puts(b, json_string_value(v));
        else if (mortise_json_write(b, v) != MORTISE_OK)
            mortise_buf_puts(b, "...");
    }
}

/* The same, truncated to the buffer. */
static void format_event_details(const struct mortise_mem *mem,
                                 const json_t *event, char out[DETAIL_MAX])
{
    struct mortise_buf b;

    mortise_buf_init(&b, mem);
    put_event_details(&b, event);
    snprintf(out, DETAIL_MAX, "%s", mortise_buf_cstr(&b) != NULL ? b.p : "...");
    mortise_buf_finish(&b);
}

/* ---- plain lines -------------------------------------------------------- */

static void print_plain_event(struct mortise_progress *p, const json_t *event)
{
    struct mortise_out *o = p->out;
    char name[MORTISE_CLI_EXECUTION];
    const char *head[] = {mortise_cli_get_text(event, "at"),
                          mortise_cli_get_text(event, "type"),
                          mortise_cli_format_execution(event, name)};
    struct mortise_buf b;

    mortise_talk_break_line(&p->talk);
    for (size_t i = 0; i < sizeof head / sizeof head[0]; i++) {
        const char *s = head[i];

        if (s[0] == '\0')
            continue;
        mortise_out_puts(o, i > 0 ? " " : "");
        mortise_out_put_escaped(o, s);
    }
    mortise_buf_init(&b, o->mem);
    put_event_details(&b, event);
    mortise_out_puts(o, b.n > 0 ? " " : "");
    mortise_out_put_escaped(o, mortise_buf_cstr(&b) != NULL ? b.p : "...");
    mortise_out_puts(o, "\n");
    mortise_buf_finish(&b);
}

/* ---- event summaries ---------------------------------------------------- */

/* The action and the reason come first, since the rest may be cut. */
static void format_verdict(const json_t *event, char out[DETAIL_MAX])
{
    const char *reason = mortise_cli_get_text(event, "reason");

    snprintf(out, DETAIL_MAX, "%s%s%s (%s, %s)",
             mortise_cli_get_text(event, "action"),
             reason[0] != '\0' ? ": " : "", reason,
             mortise_cli_get_text(event, "guardrail"),
             mortise_cli_get_text(event, "stage"));
}

static void format_memory_read(const json_t *event, char out[DETAIL_MAX])
{
    size_t n = json_array_size(json_object_get(event, "traces"));
    const char *note = mortise_cli_get_text(event, "note");

    if (n == 0)
        snprintf(out, DETAIL_MAX, "nothing");
    else
        snprintf(out, DETAIL_MAX, "%zu trace%s", n, n > 1 ? "s" : "");
    snprintf(out + strlen(out), DETAIL_MAX - strlen(out), "%s%s",
             note[0] != '\0' ? "; " : "", note);
}

static void format_memory_write(const json_t *event, char out[DETAIL_MAX])
{
    const json_t *trace = json_object_get(event, "trace");
    const char *key = mortise_cli_get_text(trace, "key");

    snprintf(out, DETAIL_MAX, "%s, %s%s%s: %s",
             mortise_cli_get_text(trace, "type"),
             mortise_cli_get_text(trace, "scope"), key[0] != '\0' ? "=" : "",
             key, mortise_cli_get_text(trace, "content"));
}

/* The target of an edge, or the results for a node, best first. */
static void format_discovery_result(const json_t *event, char out[DETAIL_MAX])
{
    const json_t *results = json_object_get(event, "results");
    const char *chosen = mortise_cli_get_text(event, "chosen");
    size_t n;

    snprintf(out, DETAIL_MAX, "%s",
             chosen[0] != '\0'               ? chosen
             : json_array_size(results) == 0 ? "nothing"
                                             : "");
    if (chosen[0] != '\0')
        return;
    MORTISE_JSON_EACH (one, i, results) {
        n = strlen(out);
        snprintf(out + n, DETAIL_MAX - n, "%s%s", i > 0 ? ", " : "",
                 mortise_cli_get_text(one, "id"));
    }
}

static void format_node_end(const json_t *event, char out[DETAIL_MAX])
{
    char took[32];

    snprintf(out, DETAIL_MAX, "%s",
             mortise_out_format_duration(mortise_cli_get_integer(event, "ms"),
                                         took));
}

static void format_missed_events(const json_t *event, char out[DETAIL_MAX])
{
    snprintf(out, DETAIL_MAX,
             "%llu transient events were lost: this reader was too slow",
             (unsigned long long)mortise_cli_get_integer(event, "count"));
}

static void format_plugin_warning(const json_t *event, char out[DETAIL_MAX])
{
    snprintf(out, DETAIL_MAX, "plugin %s: %s",
             mortise_cli_get_text(event, "plugin"),
             mortise_cli_get_text(event, "message"));
}

static void format_skipped_node(const json_t *event, char out[DETAIL_MAX])
{
    snprintf(out, DETAIL_MAX, "%s", mortise_cli_get_text(event, "why"));
}

static void format_interrupt(const json_t *event, char out[DETAIL_MAX])
{
    const json_t *request = json_object_get(event, "request");
    const char *prompt = mortise_cli_get_text(request, "prompt");

    snprintf(out, DETAIL_MAX, "%s",
             prompt[0] != '\0' ? prompt
                               : mortise_cli_get_text(request, "kind"));
}

static void format_decision(const json_t *event, char out[DETAIL_MAX])
{
    const char *why =
        mortise_cli_get_text(json_object_get(event, "value"), "reason");

    snprintf(out, DETAIL_MAX, "%s by %s%s%s",
             mortise_cli_get_text(event, "decision"),
             mortise_cli_get_text(event, "actor"), why[0] != '\0' ? ": " : "",
             why);
}

static void format_plan_proposal(const json_t *event, char out[DETAIL_MAX])
{
    snprintf(out, DETAIL_MAX, "%s, digest %.16s",
             mortise_cli_get_text(event, "graph"),
             mortise_cli_get_text(event, "digest"));
}

static void format_plan_decision(const json_t *event, char out[DETAIL_MAX])
{
    const char *why = mortise_cli_get_text(event, "reason");

    snprintf(
        out, DETAIL_MAX, "%sby %s%s%s",
        json_is_true(json_object_get(event, "edited")) ? "with edits, " : "",
        mortise_cli_get_text(event, "actor"), why[0] != '\0' ? ": " : "", why);
}

/* ---- terminals ---------------------------------------------------------- */

/* The word in the margin for an event type (NULL: print no line), and the
 * summary (NULL: KEY=VALUE). */
static const struct look {
    const char *type, *word;
    enum mortise_style style;
    void (*gist)(const json_t *event, char out[DETAIL_MAX]);
} looks[] = {
    {"run_start", "started", MORTISE_DIM, NULL},
    {"node_end", "done", MORTISE_GOOD, format_node_end},
    {"node_failed", "failed", MORTISE_BAD, NULL},
    {"node_skipped", "skipped", MORTISE_DIM, format_skipped_node},
    {"retry_scheduled", "retry", MORTISE_ATTENTION, NULL},
    {"guardrail_result", "guard", MORTISE_PLAIN, format_verdict},
    {"guardrail_override", "override", MORTISE_ATTENTION, format_verdict},
    {"memory_read", "recalls", MORTISE_PLAIN, format_memory_read},
    {"memory_write", "keeps", MORTISE_PLAIN, format_memory_write},
    {"discovery_result", "finds", MORTISE_PLAIN, format_discovery_result},
    {"memory_error", "memory", MORTISE_BAD, NULL},
    {"budget_warning", "budget", MORTISE_ATTENTION, NULL},
    {"budget_exceeded", "budget", MORTISE_ATTENTION, NULL},
    {"warning", "warning", MORTISE_ATTENTION, format_plugin_warning},
    {"interrupt", "asks", MORTISE_ATTENTION, format_interrupt},
    {"decision", "decided", MORTISE_GOOD, format_decision},
    {"plan_proposed", "plan", MORTISE_ATTENTION, format_plan_proposal},
    {"plan_approved", "approved", MORTISE_GOOD, format_plan_decision},
    {"plan_rejected", "rejected", MORTISE_BAD, format_plan_decision},
    {"command", "command", MORTISE_PLAIN, NULL},
    {"missed", "missed", MORTISE_ATTENTION, format_missed_events},
    {"run_end", NULL, MORTISE_PLAIN, NULL}, /* the command prints it */
};

static const struct look *find_event_look(const char *type)
{
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++)
        if (strcmp(looks[i].type, type) == 0)
            return &looks[i];
    return NULL;
}

/* An error takes precedence over the other members. */
static void format_event(const struct mortise_mem *mem, const struct look *look,
                         const json_t *event, char out[DETAIL_MAX])
{
    const json_t *error = json_object_get(event, "error");

    if (error != NULL)
        snprintf(out, DETAIL_MAX, "%s: %s", mortise_cli_get_text(error, "code"),
                 mortise_cli_get_text(error, "message"));
    else if (look != NULL && look->gist != NULL)
        look->gist(event, out);
    else
        format_event_details(mem, event, out);
}

/* Get the window size; false if it is too narrow for working lines. */
static bool get_progress_window(const struct mortise_progress *p,
                                size_t *columns, size_t *rows)
{
    mortise_out_get_window_size(p->out, columns, rows);
    if (*columns >= MIN_COLUMNS)
        return true;
    *columns = MIN_COLUMNS; /* lines may wrap */
    return false;
}

void mortise_progress_erase(struct mortise_progress *p)
{
    if (p->drawn > 0)
        mortise_out_printf(p->out, "\x1b[%uA\r\x1b[J", (unsigned)p->drawn);
    p->drawn = 0;
}

void mortise_progress_end(struct mortise_progress *p)
{
    mortise_progress_erase(p);
    mortise_talk_break_line(&p->talk);
}

void mortise_progress_draw(struct mortise_progress *p)
{
    size_t columns, rows;

    if (!p->live || p->talk.in_line || !get_progress_window(p, &columns, &rows))
        return;
    for (size_t i = 0; i < p->n_working && p->drawn + 2 < rows; i++) {
        const struct mortise_active_node *w = &p->working[i];
        char name[MORTISE_CLI_EXECUTION];

        mortise_out_put_margin_line(
            p->out, MORTISE_BOLD, "working",
            mortise_cli_format_short_path(w->path, name), w->text);
        p->drawn++;
    }
}

static void remove_working_node(struct mortise_progress *p, const char *path)
{
    for (size_t i = 0; i < p->n_working; i++)
        if (strcmp(p->working[i].path, path) == 0) {
            p->n_working--;
            memmove(&p->working[i], &p->working[i + 1],
                    (p->n_working - i) * sizeof p->working[0]);
            return;
        }
}

/* Find or add the entry of a path; NULL if there is no room. */
static struct mortise_active_node *
find_or_add_working(struct mortise_progress *p, const char *path)
{
    struct mortise_active_node *w;

    for (size_t i = 0; i < p->n_working; i++)
        if (strcmp(p->working[i].path, path) == 0)
            return &p->working[i];
    if (p->n_working == MORTISE_PROGRESS_NODES ||
        strlen(path) >= sizeof w->path)
        return NULL;
    w = &p->working[p->n_working++];
    strcpy(w->path, path);
    w->text[0] = '\0';
    return w;
}

/* Handle a transient event: a node started, or its plugin reports progress. */
static void update_working_node(struct mortise_progress *p, const char *type,
                                const json_t *event)
{
    const char *path = mortise_cli_get_text(event, "path");
    struct mortise_active_node *w =
        path[0] != '\0' ? find_or_add_working(p, path) : NULL;
    char text[DETAIL_MAX];

    if (w == NULL || strcmp(type, "node_start") == 0)
        return;
    format_event_details(p->out->mem, event, text);
    mortise_out_truncate(w->text, sizeof w->text, text, 120);
}

static void draw_terminal_event(struct mortise_progress *p, const char *type,
                                const json_t *event)
{
    const struct look *look = find_event_look(type);
    char text[DETAIL_MAX], name[MORTISE_CLI_EXECUTION];

    mortise_progress_erase(p);
    if (mortise_talk_is_event(type)) {
        mortise_talk_print_event(&p->talk, type, event);
    } else if (json_is_true(json_object_get(event, "ephemeral")) &&
               strcmp(type, "missed") != 0) {
        update_working_node(p, type, event);
    } else {
        remove_working_node(p, mortise_cli_get_text(event, "path"));
        if (look == NULL || look->word != NULL) {
            format_event(p->out->mem, look, event, text);
            mortise_talk_break_line(&p->talk);
            mortise_out_put_margin_line(
                p->out, look != NULL ? look->style : MORTISE_PLAIN,
                look != NULL ? look->word : type,
                mortise_cli_format_execution(event, name), text);
        }
    }
    mortise_progress_draw(p);
}

/* Print the problems that a chat user should see. */
static void print_chat_notice(struct mortise_progress *p, const char *type,
                              const json_t *event)
{
    static const char *const types[] = {"node_failed", "retry_scheduled",
                                        "warning", "budget_warning"};
    const struct look *look = find_event_look(type);
    char text[DETAIL_MAX];

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(type, types[i]) != 0)
            continue;
        format_event(p->out->mem, look, event, text);
        mortise_talk_break_line(&p->talk);
        mortise_out_put_margin_line(p->out, look->style, look->word, NULL,
                                    text);
    }
}

int mortise_progress_print_event(struct mortise_progress *p,
                                 const json_t *event)
{
    const char *type = mortise_cli_get_text(event, "type");

    if (p->json)
        mortise_out_put_json(p->out, event, false);
    else if (p->chat && mortise_talk_is_event(type))
        mortise_talk_print_event(&p->talk, type, event);
    else if (p->chat)
        print_chat_notice(p, type, event);
    else if (p->live)
        draw_terminal_event(p, type, event);
    else if (p->out->tty && mortise_talk_is_event(type))
        mortise_talk_print_event(&p->talk, type, event);
    else
        print_plain_event(p, event);
    return mortise_out_flush(p->out) != 0;
}
