/* rehearse.c -- run one case of a Test file with a real engine.
 *
 * A case runs in its own process and store, with the engine of `mortise run`.
 * core/engine/runs/script.h answers its calls, counts its commits and advances
 * its time.  The loop is: let the engine run until it is idle; answer for
 * people; advance the clock to the next event; stop when there is none.
 *
 *   (1) All data of the process besides the run (answers, people, the clock)
 *       is in the ledger before it takes effect.  So a process that continues
 *       after a crash has the same data as the crashed one.
 *   (2) The clocks are stopped (script.c) at the time when the first process
 *       began, so the outcome is reproducible.
 *   (3) The run is resumed as `mortise engine` does it: automatically, without
 *       a command, which would appear in the record.
 */
#include "testkit/rehearsing.h"

#include <ctype.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "cli/cli.h"
#include "cli/fatal.h"
#include "core/engine/recover.h"
#include "core/json/value.h"

/* ---- paths and problems ------------------------------------------------ */

static const char *strip_path(const char *path, char out[MORTISE_CONTEXT_SIZE],
                              bool elements)
{
    const char *p = strchr(path, '/');
    size_t n = 0;

    for (p = p != NULL ? p + 1 : path;
         *p != '\0' && n + 1 < MORTISE_CONTEXT_SIZE;) {
        if (*p == '#')
            for (p++; isdigit((unsigned char)*p); p++)
                continue;
        else if (*p == '[' && !elements)
            p += strcspn(p, "]") + 1;
        else
            out[n++] = *p++;
    }
    out[n] = '\0';
    return out;
}

const char *mortise_make_context_path(const char *path,
                                      char out[MORTISE_CONTEXT_SIZE])
{
    return strip_path(path, out, true);
}

const char *mortise_make_context_node(const char *path,
                                      char out[MORTISE_CONTEXT_SIZE])
{
    return strip_path(path, out, false);
}

void mortise_rehearsal_add_problem(struct mortise_rehearsal_state *r,
                                   const char *code, const char *help,
                                   const char *fmt, ...)
{
    char text[1024];
    json_t *p;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    for (size_t i = 0; i < json_array_size(r->problems); i++)
        if (strcmp(
                mortise_cli_get_text(json_array_get(r->problems, i), "message"),
                text) == 0)
            return;
    p = json_pack("{s:s, s:s, s:s*}", "code", code, "message", text, "help",
                  help);
    if (p == NULL || json_array_append_new(r->problems, p) != 0)
        mortise_nomem(&r->err);
}

void mortise_rehearsal_record(struct mortise_rehearsal_state *r, json_t *entry)
{
    struct mortise_err err;

    if (mortise_ledger_add(&r->ledger, entry, &err) != MORTISE_OK)
        r->err = err;
}

/* ---- crashing ---------------------------------------------------------- */

static void kill_at_commit(void *ud, uint64_t seq, bool on_disk)
{
    const struct mortise_rehearsal_state *r = ud;

    if (seq == r->what->die_at && on_disk == r->what->die_after)
        kill(getpid(), SIGKILL);
}

/* ---- time ---------------------------------------------------------------- */

static void skip_time(void *ud, uint64_t ms)
{
    mortise_rehearsal_record(ud, json_pack("{s:I}", "skip", (json_int_t)ms));
    mortise_clock_skip(ms);
}

/* Continue with the clock of a crashed process (1), or begin now. */
static void stop_clock_at_start(struct mortise_rehearsal_state *r)
{
    const json_t *first = json_array_get(r->ledger.list, 0);
    uint64_t began = first != NULL ? mortise_cli_get_integer(first, "began")
                                   : mortise_now_ms();

    r->crashed = first != NULL;
    r->inherited = json_array_size(r->ledger.list);
    if (first == NULL)
        mortise_rehearsal_record(
            r, json_pack("{s:I}", "began", (json_int_t)began));
    mortise_clock_stop(began);
    for (size_t i = 0; i < json_array_size(r->ledger.list); i++)
        mortise_clock_skip(
            mortise_cli_get_integer(json_array_get(r->ledger.list, i), "skip"));
}

/* ---- the outcome ------------------------------------------------------- */

static int append_outcome_event(void *ud, const char *json, size_t n)
{
    struct mortise_err err;
    json_t *event;

    if (mortise_json_parse_written(&event, json, n, &err) != MORTISE_OK)
        return 1;
    return json_array_append_new(ud, event) != 0;
}

int mortise_rehearsal_get_show(struct mortise_rehearsal_state *r, json_t **out,
                               struct mortise_err *err)
{
    char *text = NULL;
    int rv = mortise_show(r->m, NULL, MORTISE_REHEARSAL_RUN_ID, &text, err);

    if (rv == MORTISE_OK)
        rv = mortise_json_parse_written(out, text, strlen(text), err);
    mortise_free(r->m, text);
    return rv;
}

static int make_outcome(struct mortise_rehearsal_state *r, json_t **out,
                        struct mortise_err *err)
{
    json_t *show = NULL, *events = json_array();
    int rv = events != NULL ? MORTISE_OK : mortise_nomem(err);

    if (rv == MORTISE_OK)
        rv = mortise_rehearsal_get_show(r, &show, err);
    if (rv == MORTISE_OK)
        rv = mortise_events(r->m, NULL, MORTISE_REHEARSAL_RUN_ID, 0, 0,
                            append_outcome_event, events, NULL, err);
    if (rv != MORTISE_OK) {
        json_decref(show);
        json_decref(events);
        return rv;
    }
    *out = json_pack("{s:I, s:o, s:o, s:O, s:b}", "commits",
                     (json_int_t)mortise_cli_get_integer(show, "seq"), "show",
                     show, "events", events, "problems", r->problems,
                     "failed_doubt", (int)r->failed_doubt);
    return *out != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* ---- starting and resuming (3) ----------------------------------------- */

static int start_rehearsed_run(struct mortise_rehearsal_state *r,
                               struct mortise_err *err)
{
    const struct mortise_case *c = r->what->one;
    struct mortise_start_options o = {.size = sizeof o,
                                      .run = MORTISE_REHEARSAL_RUN_ID,
                                      .actor = MORTISE_REHEARSAL_RUN_ID};
    json_t *input = c->input != NULL ? mortise_yaml_to_json(c->input, false)
                                     : json_object();
    char *text =
        input != NULL ? mortise_json_to_text(r->what->mem, input) : NULL;
    char run[MORTISE_RUN_MAX];
    struct mortise_graph *g;
    int rv = text != NULL ? MORTISE_OK : mortise_nomem(err);

    json_decref(input);
    o.input = text;
    if (rv == MORTISE_OK)
        rv = mortise_load(r->m, r->what->file->graph, &g, NULL, err);
    if (rv == MORTISE_OK) {
        rv = mortise_start(r->m, g, &o, run, err);
        mortise_graph_close(g);
    }
    mortise_release_str(r->what->mem, text);
    return rv;
}

static bool is_never_cancelled(void *ud)
{
    (void)ud;
    return false;
}

/* Remember the executions that ended before the crash; they must not run
 * again. */
static int record_ended_executions(struct mortise_rehearsal_state *r,
                                   const json_t *show)
{
    const json_t *nodes = json_object_get(show, "nodes");

    MORTISE_JSON_EACH (n, i, nodes) {
        const char *path = mortise_cli_get_text(n, "path");

        if (strcmp(mortise_cli_get_text(n, "status"), "done") == 0 &&
            path[0] != '\0' &&
            json_object_set_new(r->done, path, json_true()) != 0)
            return MORTISE_ENOMEM;
    }
    return MORTISE_OK;
}

static int start_or_resume_run(struct mortise_rehearsal_state *r,
                               struct mortise_err *err)
{
    json_t *show;
    int rv = mortise_rehearsal_get_show(r, &show, err);

    if (rv == MORTISE_ENOTFOUND) /* it crashed before the run was admitted */
        return start_rehearsed_run(r, err);
    if (rv != MORTISE_OK)
        return rv;
    rv = record_ended_executions(r, show);
    json_decref(show);
    return rv == MORTISE_OK
               ? mortise_recover_all(r->m, is_never_cancelled, NULL, err)
               : mortise_nomem(err);
}

/* ---- the loop ------------------------------------------------------------ */

/* Advance the clock to the next event; false if there is none.  A paused run
 * ignores its deadlines, so give up if the time does not advance 8 times in a
 * row. */
static bool advance_to_next_event(struct mortise_rehearsal_state *r,
                                  unsigned *stands)
{
    uint64_t ms;

    if (mortise_script_find_next_event(r->m, mortise_human_answers_is_timeout,
                                       r, &ms, &r->err) != MORTISE_OK ||
        ms == UINT64_MAX)
        return false;
    *stands = ms > 0 ? 0 : *stands + 1;
    if (ms > 0)
        skip_time(r, ms);
    return *stands < 8;
}

static int play_until_idle(struct mortise_rehearsal_state *r,
                           struct mortise_err *err)
{
    unsigned stands = 0;

    do {
        mortise_script_turn_until_idle(r->m);
        while (mortise_human_answers_send(r))
            mortise_script_turn_until_idle(r->m);
    } while (r->err.code == MORTISE_OK && advance_to_next_event(r, &stands));
    if (r->err.code != MORTISE_OK)
        *err = r->err;
    return r->err.code;
}

static int run_rehearsal(struct mortise_rehearsal_state *r, json_t **out,
                         struct mortise_err *err)
{
    const struct mortise_script script = {.ud = r,
                                          .name = r->what->one->name->str,
                                          .call = mortise_answer_call,
                                          .act = mortise_answer_record_step,
                                          .commit = kill_at_commit,
                                          .late = skip_time};
    int rv;

    mortise_script(r->m, &script);
    rv = start_or_resume_run(r, err);
    if (rv == MORTISE_OK)
        rv = play_until_idle(r, err);
    if (rv == MORTISE_OK)
        mortise_human_answers_check_idle(r);
    if (rv == MORTISE_OK)
        rv = make_outcome(r, out, err);
    mortise_clock_start(); /* mortise_close() waits in real time */
    mortise_close(r->m);
    return rv;
}

static int open_rehearsal(struct mortise_rehearsal_state *r,
                          struct mortise_err *err)
{
    const struct mortise_rehearsal *what = r->what;
    struct mortise_options o = {.size = sizeof o,
                                .flags = what->found ? MORTISE_OPEN_FOUND : 0,
                                .deployment = what->deployment,
                                .mem = what->mem};
    char ledger[PATH_MAX], store[PATH_MAX];
    int rv;

    snprintf(ledger, sizeof ledger, "%s/ledger", what->dir);
    snprintf(store, sizeof store, "%s/store", what->dir);
    o.store = store;
    r->problems = json_array();
    r->done = json_object();
    if (r->problems == NULL || r->done == NULL)
        return mortise_nomem(err);
    rv = mortise_ledger_open(&r->ledger, what->mem, ledger, err);
    if (rv != MORTISE_OK)
        return rv;
    stop_clock_at_start(r);
    mortise_fatal_catch();
    return mortise_open(&r->m, &o, err);
}

int mortise_rehearse(const struct mortise_rehearsal *what, json_t **out,
                     struct mortise_err *err)
{
    struct mortise_rehearsal_state r = {.what = what, .ledger = {.fd = -1}};
    int rv = open_rehearsal(&r, err);

    *out = NULL;
    if (rv == MORTISE_OK)
        rv = run_rehearsal(&r, out, err);
    mortise_ledger_close(&r.ledger);
    json_decref(r.problems);
    json_decref(r.done);
    return rv;
}
