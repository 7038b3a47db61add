/* progress.c -- a run's events, as people see them go by.
 *
 * Three ways to show one event.  For programs: the event itself, one JSON
 * object a line.  For pipes and dumb terminals: one plain line,
 *
 *     2026-01-02T03:04:05.678Z node_end read ms=12
 *
 * where every member that is not said otherwise stands as KEY=VALUE, so that
 * an event type that is younger than this file is shown like any other.  For
 * terminals: what is finished scrolls by, conversations as people read them
 * (talk.c), and what is at work stays in the bottom lines, which are redrawn.
 * Hence the invariant of a terminal:
 *
 * (1) Outside of our functions the cursor stands at the start of the line under
 *     the working lines, and `drawn` is their number; or behind a piece of what
 *     a model says, and there are no working lines.
 * (2) They fit: each is cut to the width and all of them to the height, because
 *     the cursor cannot be moved back over what has wrapped or scrolled away.
 *
 * Each event is flushed: who looks, sees where the run is.
 */
#include "cli/progress.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "cli/cli.h"
#include "core/json/value.h"

/* Bytes of a line's details; the narrowest window that is redrawn. */
enum { DETAIL = 512, NARROW = 40 };

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

/* Is it for programs, or said elsewhere in the line? */
static bool is_said_elsewhere(const char *key)
{
    static const char *const keys[] = {"seq",       "run",  "tenant", "at",
                                       "type",      "node", "path",   "attempt",
                                       "ephemeral", "order"};

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

/* All members that are not said elsewhere. */
static void put_details(struct mortise_buf *b, const json_t *event)
{
    const char *key;
    json_t *v;

    json_object_foreach(mortise_json_unconst(event), key, v)
    {
        if (is_said_elsewhere(key))
            continue;
        mortise_buf_printf(b, "%s%s=", b->n > 0 ? " " : "", key);
        if (json_is_string(v))
            mortise_buf_puts(b, json_string_value(v));
        else if (mortise_json_write(b, v) != MORTISE_OK)
            mortise_buf_puts(b, "...");
    }
}

/* The same; what does not fit is cut. */
static void details(const struct mortise_mem *mem, const json_t *event,
                    char out[DETAIL])
{
    struct mortise_buf b;

    mortise_buf_init(&b, mem);
    put_details(&b, event);
    snprintf(out, DETAIL, "%s", mortise_buf_cstr(&b) != NULL ? b.p : "...");
    mortise_buf_finish(&b);
}

/* ---- plain lines -------------------------------------------------------- */

static void plain(struct mortise_progress *p, const json_t *event)
{
    struct mortise_out *o = p->out;
    char name[MORTISE_CLI_EXECUTION];
    const char *head[] = {mortise_cli_text(event, "at"),
                          mortise_cli_text(event, "type"),
                          mortise_cli_execution(event, name)};
    struct mortise_buf b;

    mortise_talk_break(&p->talk);
    for (size_t i = 0; i < sizeof head / sizeof head[0]; i++) {
        const char *s = head[i];

        if (s[0] == '\0')
            continue;
        mortise_out_puts(o, i > 0 ? " " : "");
        mortise_out_word(o, s);
    }
    mortise_buf_init(&b, o->mem);
    put_details(&b, event);
    mortise_out_puts(o, b.n > 0 ? " " : "");
    mortise_out_word(o, mortise_buf_cstr(&b) != NULL ? b.p : "...");
    mortise_out_puts(o, "\n");
    mortise_buf_finish(&b);
}

/* ---- gists: the part of an event that a person wants to read ------------- */

/* What was done comes first, and why: the rest may be cut. */
static void gist_of_verdict(const json_t *event, char out[DETAIL])
{
    const char *reason = mortise_cli_text(event, "reason");

    snprintf(out, DETAIL, "%s%s%s (%s, %s)", mortise_cli_text(event, "action"),
             reason[0] != '\0' ? ": " : "", reason,
             mortise_cli_text(event, "guardrail"),
             mortise_cli_text(event, "stage"));
}

static void gist_of_read(const json_t *event, char out[DETAIL])
{
    size_t n = json_array_size(json_object_get(event, "traces"));
    const char *note = mortise_cli_text(event, "note");

    if (n == 0)
        snprintf(out, DETAIL, "nothing");
    else
        snprintf(out, DETAIL, "%zu trace%s", n, n > 1 ? "s" : "");
    snprintf(out + strlen(out), DETAIL - strlen(out), "%s%s",
             note[0] != '\0' ? "; " : "", note);
}

static void gist_of_write(const json_t *event, char out[DETAIL])
{
    const json_t *trace = json_object_get(event, "trace");
    const char *key = mortise_cli_text(trace, "key");

    snprintf(out, DETAIL, "%s, %s%s%s: %s", mortise_cli_text(trace, "type"),
             mortise_cli_text(trace, "scope"), key[0] != '\0' ? "=" : "", key,
             mortise_cli_text(trace, "content"));
}

/* Where an edge leads, or what a node is offered, the best first. */
static void gist_of_found(const json_t *event, char out[DETAIL])
{
    const json_t *results = json_object_get(event, "results");
    const char *chosen = mortise_cli_text(event, "chosen");
    size_t n;

    snprintf(out, DETAIL, "%s",
             chosen[0] != '\0'               ? chosen
             : json_array_size(results) == 0 ? "nothing"
                                             : "");
    if (chosen[0] != '\0')
        return;
    MORTISE_JSON_EACH (one, i, results) {
        n = strlen(out);
        snprintf(out + n, DETAIL - n, "%s%s", i > 0 ? ", " : "",
                 mortise_cli_text(one, "id"));
    }
}

static void gist_of_end(const json_t *event, char out[DETAIL])
{
    char took[32];

    snprintf(out, DETAIL, "%s",
             mortise_out_took(mortise_cli_integer(event, "ms"), took));
}

static void gist_of_missed(const json_t *event, char out[DETAIL])
{
    snprintf(out, DETAIL,
             "%llu transient events were lost: this reader was too slow",
             (unsigned long long)mortise_cli_integer(event, "count"));
}

static void gist_of_warning(const json_t *event, char out[DETAIL])
{
    snprintf(out, DETAIL, "plugin %s: %s", mortise_cli_text(event, "plugin"),
             mortise_cli_text(event, "message"));
}

static void gist_of_skipped(const json_t *event, char out[DETAIL])
{
    snprintf(out, DETAIL, "%s", mortise_cli_text(event, "why"));
}

static void gist_of_interrupt(const json_t *event, char out[DETAIL])
{
    const json_t *request = json_object_get(event, "request");
    const char *prompt = mortise_cli_text(request, "prompt");

    snprintf(out, DETAIL, "%s",
             prompt[0] != '\0' ? prompt : mortise_cli_text(request, "kind"));
}

static void gist_of_decision(const json_t *event, char out[DETAIL])
{
    const char *why =
        mortise_cli_text(json_object_get(event, "value"), "reason");

    snprintf(out, DETAIL, "%s by %s%s%s", mortise_cli_text(event, "decision"),
             mortise_cli_text(event, "actor"), why[0] != '\0' ? ": " : "", why);
}

static void gist_of_proposal(const json_t *event, char out[DETAIL])
{
    snprintf(out, DETAIL, "%s, digest %.16s", mortise_cli_text(event, "graph"),
             mortise_cli_text(event, "digest"));
}

static void gist_of_word(const json_t *event, char out[DETAIL])
{
    const char *why = mortise_cli_text(event, "reason");

    snprintf(out, DETAIL, "%sby %s%s%s",
             json_is_true(json_object_get(event, "edited")) ? "with edits, "
                                                            : "",
             mortise_cli_text(event, "actor"), why[0] != '\0' ? ": " : "", why);
}

/* ---- terminals ---------------------------------------------------------- */

/* What an event is called in the margin; NULL: it is not worth a line.  And its
 * gist; NULL: KEY=VALUE. */
static const struct look {
    const char *type, *word;
    enum mortise_style style;
    void (*gist)(const json_t *event, char out[DETAIL]);
} looks[] = {
    {"run_start", "started", MORTISE_DIM, NULL},
    {"node_end", "done", MORTISE_GOOD, gist_of_end},
    {"node_failed", "failed", MORTISE_BAD, NULL},
    {"node_skipped", "skipped", MORTISE_DIM, gist_of_skipped},
    {"retry_scheduled", "retry", MORTISE_ASKS, NULL},
    {"guardrail_result", "guard", MORTISE_PLAIN, gist_of_verdict},
    {"guardrail_override", "override", MORTISE_ASKS, gist_of_verdict},
    {"memory_read", "recalls", MORTISE_PLAIN, gist_of_read},
    {"memory_write", "keeps", MORTISE_PLAIN, gist_of_write},
    {"discovery_result", "finds", MORTISE_PLAIN, gist_of_found},
    {"memory_error", "memory", MORTISE_BAD, NULL},
    {"budget_warning", "budget", MORTISE_ASKS, NULL},
    {"budget_exceeded", "budget", MORTISE_ASKS, NULL},
    {"warning", "warning", MORTISE_ASKS, gist_of_warning},
    {"interrupt", "asks", MORTISE_ASKS, gist_of_interrupt},
    {"decision", "decided", MORTISE_GOOD, gist_of_decision},
    {"plan_proposed", "plan", MORTISE_ASKS, gist_of_proposal},
    {"plan_approved", "approved", MORTISE_GOOD, gist_of_word},
    {"plan_rejected", "rejected", MORTISE_BAD, gist_of_word},
    {"command", "command", MORTISE_PLAIN, NULL},
    {"missed", "missed", MORTISE_ASKS, gist_of_missed},
    {"run_end", NULL, MORTISE_PLAIN, NULL}, /* whoever waits says more of it */
};

static const struct look *look_of(const char *type)
{
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++)
        if (strcmp(looks[i].type, type) == 0)
            return &looks[i];
    return NULL;
}

/* An error says more than what it came with. */
static void gist(const struct mortise_mem *mem, const struct look *look,
                 const json_t *event, char out[DETAIL])
{
    const json_t *error = json_object_get(event, "error");

    if (error != NULL)
        snprintf(out, DETAIL, "%s: %s", mortise_cli_text(error, "code"),
                 mortise_cli_text(error, "message"));
    else if (look != NULL && look->gist != NULL)
        look->gist(event, out);
    else
        details(mem, event, out);
}

/* The window, and whether working lines fit into it. */
static bool window(const struct mortise_progress *p, size_t *columns,
                   size_t *rows)
{
    mortise_out_window(p->out, columns, rows);
    if (*columns >= NARROW)
        return true;
    *columns = NARROW; /* what scrolls by may wrap */
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
    mortise_talk_break(&p->talk);
}

void mortise_progress_draw(struct mortise_progress *p)
{
    size_t columns, rows;

    if (!p->live || p->talk.in_line || !window(p, &columns, &rows))
        return;
    for (size_t i = 0; i < p->n_working && p->drawn + 2 < rows; i++) {
        const struct mortise_working *w = &p->working[i];
        char name[MORTISE_CLI_EXECUTION];

        mortise_out_margin(p->out, MORTISE_BOLD, "working",
                           mortise_cli_short_path(w->path, name), w->text);
        p->drawn++;
    }
}

static void stop_working(struct mortise_progress *p, const char *path)
{
    for (size_t i = 0; i < p->n_working; i++)
        if (strcmp(p->working[i].path, path) == 0) {
            p->n_working--;
            memmove(&p->working[i], &p->working[i + 1],
                    (p->n_working - i) * sizeof p->working[0]);
            return;
        }
}

/* The entry of a path, made if there is room; NULL if there is none. */
static struct mortise_working *working(struct mortise_progress *p,
                                       const char *path)
{
    struct mortise_working *w;

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

/* Something passing: a node began, or its plugin says how far it is. */
static void note_passing(struct mortise_progress *p, const char *type,
                         const json_t *event)
{
    const char *path = mortise_cli_text(event, "path");
    struct mortise_working *w = path[0] != '\0' ? working(p, path) : NULL;
    char text[DETAIL];

    if (w == NULL || strcmp(type, "node_start") == 0)
        return;
    details(p->out->mem, event, text);
    mortise_out_cut(w->text, sizeof w->text, text, 120);
}

static void terminal(struct mortise_progress *p, const char *type,
                     const json_t *event)
{
    const struct look *look = look_of(type);
    char text[DETAIL], name[MORTISE_CLI_EXECUTION];

    mortise_progress_erase(p);
    if (mortise_talk_is_about(type)) {
        mortise_talk_event(&p->talk, type, event);
    } else if (json_is_true(json_object_get(event, "ephemeral")) &&
               strcmp(type, "missed") != 0) {
        note_passing(p, type, event);
    } else {
        stop_working(p, mortise_cli_text(event, "path"));
        if (look == NULL || look->word != NULL) {
            gist(p->out->mem, look, event, text);
            mortise_talk_break(&p->talk);
            mortise_out_margin(p->out,
                               look != NULL ? look->style : MORTISE_PLAIN,
                               look != NULL ? look->word : type,
                               mortise_cli_execution(event, name), text);
        }
    }
    mortise_progress_draw(p);
}

/* What a person who talks wants to know besides. */
static void aside(struct mortise_progress *p, const char *type,
                  const json_t *event)
{
    static const char *const types[] = {"node_failed", "retry_scheduled",
                                        "warning", "budget_warning"};
    const struct look *look = look_of(type);
    char text[DETAIL];

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(type, types[i]) != 0)
            continue;
        gist(p->out->mem, look, event, text);
        mortise_talk_break(&p->talk);
        mortise_out_margin(p->out, look->style, look->word, NULL, text);
    }
}

int mortise_progress_event(struct mortise_progress *p, const json_t *event)
{
    const char *type = mortise_cli_text(event, "type");

    if (p->json)
        mortise_out_json(p->out, event, false);
    else if (p->chat && mortise_talk_is_about(type))
        mortise_talk_event(&p->talk, type, event);
    else if (p->chat)
        aside(p, type, event);
    else if (p->live)
        terminal(p, type, event);
    else if (p->out->tty && mortise_talk_is_about(type))
        mortise_talk_event(&p->talk, type, event);
    else
        plain(p, event);
    return mortise_out_flush(p->out) != 0;
}
