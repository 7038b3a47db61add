/* judge.c -- what must be true of a trial at its end, whoever was killed.
 *
 *   (1) Each file is there with the expected bytes, and nothing else is beside
 *       them.  The log of renames, which the program under test knows nothing
 *       of, has for each one rename that came to stay.
 *   (2) The effect that can only be counted happened once.
 *   (3) State, nodes and outputs are those of the run that nobody disturbed.
 *   (4) The events have no gap; every one that was ever printed is among them,
 *       word for word; each node ended once, and so did the run.
 *   (5) The history has no gap, and is what somebody else reads in the store
 *       (tests/lib/store_reader.c), who also finds the store itself whole.
 *
 *   (6) No model was asked again for a reply that was recorded, and for one that
 *       was under way at most once for each death.
 *
 * Expected bytes are in tests/kill/expected/; they were written by hand, but
 * for the triage's report: there the figures were counted with grep and uniq.
 */
#include "kill/judge.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kill/shop.h"
#include "lib/powercut.h"
#include "core/mortise.h"
#include "lib/store_reader.h"
#include "lib/test.h"

/* Of the trial that nobody disturbed. */
static struct {
    json_t *looks;
    unsigned long us[MOST_PROCESSES];
    unsigned n_processes;
} undisturbed;

/* ---- (1) --------------------------------------------------------------- */

static void check_bytes(const struct trial *t, const char *name)
{
    char expected[512];
    char *is, *should;
    size_t n_is, n_should;

    snprintf(expected, sizeof expected, "tests/kill/expected/%s", name);
    snprintf(expected + 256, 256, "disk/out/%s", name);
    if (access(trial_path(t, expected + 256), F_OK) != 0)
        wrong(t, "%s is not there", name);
    is = test_read(trial_path(t, expected + 256), &n_is);
    should = test_read(expected, &n_should);
    if (n_is != n_should || memcmp(is, should, n_is) != 0)
        wrong(t, "%s holds:\n%s\nand should hold:\n%s", name, is, should);
    free(is);
    free(should);
}

/* Renames to the file that came to stay. */
static int count_renames(const struct trial *t, const char *name)
{
    char suffix[256], *log, *rest = NULL;
    int n = 0;

    if (access(trial_path(t, "renames"), F_OK) != 0)
        return 0;
    log = test_read(trial_path(t, "renames"), NULL);
    snprintf(suffix, sizeof suffix, "/disk/out/%s", name);
    for (char *line = strtok_r(log, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        size_t len = strlen(line), s = strlen(suffix);

        if (len >= s && strcmp(line + len - s, suffix) == 0)
            n += strncmp(line, "undone ", 7) == 0 ? -1 : 1;
    }
    free(log);
    return n;
}

static bool is_expected(const struct job *job, const char *name)
{
    for (const char *const *f = job->files; *f != NULL; f++)
        if (strcmp(*f, name) == 0)
            return true;
    return strcmp(name, TRIAL_LOG) == 0 || strcmp(name, ".") == 0 ||
           strcmp(name, "..") == 0;
}

static void check_files(const struct trial *t)
{
    struct dirent *e;
    DIR *d;

    for (const char *const *f = t->job->files; *f != NULL; f++) {
        int n = count_renames(t, *f);

        check_bytes(t, *f);
        if (n != 1)
            wrong(t, "%s was written %d times", *f, n);
    }
    d = opendir(trial_path(t, "disk/out"));
    ck_assert_ptr_nonnull(d);
    while ((e = readdir(d)) != NULL)
        if (!is_expected(t->job, e->d_name))
            wrong(t, "%s was left beside the files", e->d_name);
    closedir(d);
}

/* ---- (3) --------------------------------------------------------------- */

static void copy(json_t *to, const json_t *from, const char *member)
{
    json_object_set(to, member, json_object_get(from, member));
}

static int by_path(const void *a, const void *b)
{
    const json_t *const *x = a, *const *y = b;

    return strcmp(json_string_value(json_object_get(*x, "node")),
                  json_string_value(json_object_get(*y, "node")));
}

/* What guardrails said, without how long they took. */
static json_t *verdicts_of(const json_t *node)
{
    json_t *out = json_deep_copy(json_object_get(node, "guardrails"));

    for (size_t i = 0; i < json_array_size(out); i++)
        json_object_del(json_array_get(out, i), "ms");
    return out;
}

/* The nodes in the order of their names, without times and attempts. */
static json_t *looks_of_nodes(const json_t *nodes)
{
    static const char *const members[] = {"node",   "path",   "type", "visit",
                                          "status", "output", "error"};
    size_t n = json_array_size(nodes);
    json_t **list = calloc(n + 1, sizeof *list), *out = json_array();

    for (size_t i = 0; i < n; i++) {
        list[i] = json_object();
        for (size_t k = 0; k < sizeof members / sizeof members[0]; k++)
            copy(list[i], json_array_get(nodes, i), members[k]);
        json_object_set_new(list[i], "guardrails",
                            verdicts_of(json_array_get(nodes, i)));
    }
    qsort(list, n, sizeof(json_t *), by_path);
    for (size_t i = 0; i < n; i++)
        json_array_append_new(out, list[i]);
    free(list);
    return out;
}

/* Of what `show` says, that which time and chance have no part in. */
static json_t *looks_of(const json_t *shown)
{
    json_t *out = json_object();

    copy(out, shown, "run");
    copy(out, shown, "graph");
    copy(out, shown, "status");
    copy(out, shown, "state");
    copy(out, shown, "pending");
    copy(out, shown, "plugins");
    copy(out, shown, "steps");
    json_object_set_new(out, "nodes",
                        looks_of_nodes(json_object_get(shown, "nodes")));
    return out;
}

static void check_looks(const struct trial *t, const json_t *shown)
{
    json_t *looks = looks_of(shown);

    if (!json_equal(looks, undisturbed.looks))
        wrong(t, "the run looks like\n%s\nand should look like\n%s",
              json_dumps(looks, JSON_SORT_KEYS),
              json_dumps(undisturbed.looks, JSON_SORT_KEYS));
    json_decref(looks);
}

/* ---- (4) --------------------------------------------------------------- */

static const char *text_of(const json_t *object, const char *member)
{
    const char *s = json_string_value(json_object_get(object, member));

    return s != NULL ? s : "";
}

static unsigned count_events(const json_t *events, const char *type,
                             const char *node)
{
    unsigned n = 0;

    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *e = json_array_get(events, i);

        n += strcmp(text_of(e, "type"), type) == 0 &&
             strcmp(text_of(e, "node"), node) == 0;
    }
    return n;
}

static void check_told(const struct trial *t, const json_t *events)
{
    for (size_t i = 0; i < json_array_size(t->told); i++) {
        const json_t *e = json_array_get(t->told, i);
        json_int_t seq = json_integer_value(json_object_get(e, "seq"));

        if (seq < 1 || !json_equal(e, json_array_get(events, (size_t)seq - 1)))
            wrong(t, "event %lld was announced and is lost: %s", (long long)seq,
                  json_dumps(e, 0));
    }
}

static void check_ends(const struct trial *t, const json_t *events)
{
    const json_t *nodes = json_object_get(undisturbed.looks, "nodes");

    if (count_events(events, "run_start", "") != 1 ||
        count_events(events, "run_end", "") != 1)
        wrong(t, "the run did not start once and end once");
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        const char *node = text_of(json_array_get(nodes, i), "node");
        const char *status = text_of(json_array_get(nodes, i), "status");
        unsigned n = count_events(events, "node_end", node);

        if (n != (strcmp(status, "skipped") != 0))
            wrong(t, "%s ended %u times", node, n);
    }
}

static void check_events(const struct trial *t, const json_t *events)
{
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *e = json_array_get(events, i);

        if (json_integer_value(json_object_get(e, "seq")) != (json_int_t)i + 1)
            wrong(t, "event %zu is missing", i + 1);
    }
    check_told(t, events);
    check_ends(t, events);
}

/* ---- (5) --------------------------------------------------------------- */

static void uuid_text(char out[37], const uint8_t id[16])
{
    char *p = out;

    for (int i = 0; i < 16; i++)
        p += sprintf(
            p, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", id[i]);
}

/* Checkpoint i as `history` has it and as the store does. */
static void check_checkpoint(const struct trial *t, const struct reader_run *r,
                             size_t i, const json_t *said)
{
    const struct reader_checkpoint *c = &r->checkpoints[i];
    uint64_t events = i == 0 ? 0 : c[-1].first_event + c[-1].n_events - 1;
    char id[37];

    uuid_text(id, c->id);
    if (strcmp(text_of(said, "id"), id) != 0 ||
        json_integer_value(json_object_get(said, "seq")) != (json_int_t)c->seq)
        wrong(t, "checkpoint %zu is %s in the store, but history says %s",
              i + 1, id, json_dumps(said, 0));
    if (c->seq != i + 1 || c->first_event != events + 1 ||
        (i > 0 && memcmp(c->parent, c[-1].id, 16) != 0))
        wrong(t, "checkpoint %zu does not follow the one before", i + 1);
}

static void read_store(const struct trial *t, struct reader_store *s)
{
    powercut_begin(trial_path(t, "books"), NULL, NULL,
                   NULL); /* no real syncs */
    if (store_reader_read(s, trial_path(t, "disk/store")) != 0)
        wrong(t, "the store is broken: %s", s->why);
}

static _Noreturn void compare_history(const struct trial *t,
                                      const json_t *history)
{
    struct reader_store s;
    const struct reader_run *r;

    read_store(t, &s);
    r = store_reader_run(&s, "default", "r");
    if (r == NULL || s.n_runs != 1)
        wrong(t, "the store has %zu runs", s.n_runs);
    if (r->n_checkpoints != json_array_size(history))
        wrong(t, "the store has %zu checkpoints, history %zu", r->n_checkpoints,
              json_array_size(history));
    for (size_t i = 0; i < r->n_checkpoints; i++)
        check_checkpoint(t, r, i, json_array_get(history, i));
    _exit(0);
}

/* Whoever uses LevelDB has a thread for good; so a child does. */
static void await_reader(const struct trial *t, pid_t child)
{
    int status;

    ck_assert_int_eq(waitpid(child, &status, 0), child);
    if (status != 0)
        wrong(t, "the reader of the store ended with status %d", status);
}

static bool says_reconciled(const json_t *history)
{
    for (size_t i = 0; i < json_array_size(history); i++) {
        const json_t *entries =
            json_object_get(json_array_get(history, i), "entries");

        for (size_t k = 0; k < json_array_size(entries); k++)
            if (strcmp(text_of(json_array_get(entries, k), "how"),
                       "reconciled") == 0)
                return true;
    }
    return false;
}

static void check_history(const struct trial *t, const json_t *history)
{
    pid_t child;

    if (says_reconciled(history))
        saw(SAW_RECONCILED);
    child = fork();
    if (child == 0)
        compare_history(t, history);
    await_reader(t, child);
}

/* ---- in between -------------------------------------------------------- */

static json_int_t newest_told(const struct trial *t)
{
    json_int_t newest = 0;

    for (size_t i = 0; i < json_array_size(t->told); i++) {
        json_int_t seq = json_integer_value(
            json_object_get(json_array_get(t->told, i), "seq"));

        newest = seq > newest ? seq : newest;
    }
    return newest;
}

static _Noreturn void look_at_store(const struct trial *t)
{
    struct reader_store s;
    const struct reader_run *r;
    const struct reader_checkpoint *c;

    read_store(t, &s);
    r = store_reader_run(&s, "default", "r");
    c = r != NULL ? &r->checkpoints[r->n_checkpoints - 1] : NULL;
    if (r == NULL && t->told_of)
        wrong(t, "the run was announced, and now it is not there");
    if (c != NULL &&
        newest_told(t) >= (json_int_t)(c->first_event + c->n_events))
        wrong(t, "event %lld was announced and is lost",
              (long long)newest_told(t));
    _exit(0);
}

/* Before the stamp is there, there may be no database either. */
void judge_death(const struct trial *t)
{
    pid_t child;

    if (access(trial_path(t, "disk/store/format"), F_OK) != 0) {
        if (t->told_of)
            wrong(t, "the run was announced, and now there is no store");
        return;
    }
    child = fork();
    if (child == 0)
        look_at_store(t);
    await_reader(t, child);
}

/* ---- what the engine says ------------------------------------------------ */

static void parse(json_t *to, const char *name, const char *text)
{
    if (json_object_set_new(to, name, json_loads(text, 0, NULL)) != 0)
        _exit(2);
}

static int take_event(void *events, const char *json, size_t len)
{
    return json_array_append_new(events, json_loadb(json, len, 0, NULL));
}

/* In a child: an engine of ours opens the store, as a process of the run's
 * would, and says what it has.  (Three commands would say the same, and be the
 * half of what a trial costs.) */
static _Noreturn void tell(const struct trial *t)
{
    char store[512];
    const struct mortise_options o = {
        .size = sizeof o, .store = store, .deployment = trial_deployment()};
    json_t *said = json_object(), *events = json_array();
    char *show = NULL, *history = NULL;
    struct mortise_err err;
    struct mortise *m;

    snprintf(store, sizeof store, "%s", trial_path(t, "disk/store"));
    powercut_begin(trial_path(t, "books"), NULL, NULL, NULL);
    if (mortise_open(&m, &o, &err) != MORTISE_OK ||
        mortise_show(m, NULL, "r", &show, &err) != MORTISE_OK ||
        mortise_history(m, NULL, "r", &history, &err) != MORTISE_OK ||
        mortise_events(m, NULL, "r", 0, 0, take_event, events, NULL, &err) !=
            MORTISE_OK)
        wrong(t, "asked at the end: %s", err.msg);
    parse(said, "show", show);
    parse(said, "history", history);
    json_object_set_new(said, "events", events);
    if (json_dump_file(said, trial_path(t, "said"), 0) != 0)
        _exit(3);
    _exit(0);
}

/* {show, events, history} */
static json_t *ask(const struct trial *t)
{
    pid_t child = fork();
    json_t *said;

    if (child == 0)
        tell(t);
    await_reader(t, child);
    said = json_load_file(trial_path(t, "said"), 0, NULL);
    ck_assert_ptr_nonnull(said);
    json_object_set(
        said, "history",
        json_object_get(json_object_get(said, "history"), "checkpoints"));
    return said;
}

/* ---- (6) -------------------------------------------------------- */

enum { MOST_CALLS = 64 };

/* "2026-11-26T00:22:59.095Z" */
static uint64_t time_of(const char *text)
{
    struct tm tm = {0};
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);

    ck_assert_ptr_nonnull(rest);
    return (uint64_t)timegm(&tm) * 1000 +
           (uint64_t)(strtod(rest, NULL) * 1000 + 0.5);
}

/* When the step of a model's reply was recorded: the n-th, from 0; 0: never. */
static uint64_t answered_ms(const json_t *history, unsigned n)
{
    for (size_t i = 0; i < json_array_size(history); i++) {
        const json_t *one = json_array_get(history, i);
        const json_t *entries = json_object_get(one, "entries");

        for (size_t k = 0; k < json_array_size(entries); k++) {
            const json_t *e = json_array_get(entries, k);

            if (strcmp(text_of(e, "entry"), "answer") != 0 ||
                strcmp(text_of(e, "method"), "model.call/1") != 0 || n-- != 0)
                continue;
            return time_of(text_of(one, "time"));
        }
    }
    return 0;
}

/* The first request that was the same. */
static unsigned first_of(const struct shop_call *calls, unsigned i)
{
    unsigned k = 0;

    while (calls[k].digest != calls[i].digest)
        k++;
    return k;
}

/* Which of the different requests it is, in the order in which they came. */
static unsigned which(const struct shop_call *calls, unsigned i)
{
    unsigned n = 0;

    for (unsigned k = 0; k < first_of(calls, i); k++)
        n += first_of(calls, k) == k;
    return n;
}

static void check_models(const struct trial *t, const json_t *history)
{
    struct shop_call calls[MOST_CALLS];
    unsigned n = shop_calls(t->dir, calls, MOST_CALLS), deaths = 0;

    for (unsigned i = 0; i < t->n_blows; i++)
        deaths += t->landed[i];
    if (n < 2 || n > 2 + deaths)
        wrong(t, "the model was asked %u times, over %u deaths", n, deaths);
    for (unsigned i = 0; i < n; i++) {
        unsigned of = which(calls, i);
        uint64_t ms = answered_ms(history, of);

        if (of > 1)
            wrong(t, "the model was asked %u different things", of + 1);
        if (calls[i].at_ms > ms)
            wrong(t, "reply %u was recorded at %llu, and asked for at %llu",
                  of + 1, (unsigned long long)ms,
                  (unsigned long long)calls[i].at_ms);
    }
}

/* ---- all of it --------------------------------------------------------- */

void judge(struct trial *t)
{
    json_t *said;

    check_files(t);
    if (t->job->counted && trial_count(t) != 1) /* (2) */
        wrong(t, "the effect happened %u times", trial_count(t));
    if (t->job->posted && trial_posts(t) != 1)
        wrong(t, "it was asked for %u times", trial_posts(t));
    if (t->job->refunds && shop_refunds(t->dir) != 1)
        wrong(t, "there were %u refunds", shop_refunds(t->dir));
    said = ask(t);
    check_looks(t, json_object_get(said, "show"));
    check_events(t, json_object_get(said, "events"));
    check_history(t, json_object_get(said, "history"));
    if (t->job->refunds)
        check_models(t, json_object_get(said, "history"));
    json_decref(said);
}

void judge_begin(const struct job *job)
{
    struct trial t = {.job = job};
    json_t *said;

    trial_drive(&t);
    said = ask(&t);
    undisturbed.looks = looks_of(json_object_get(said, "show"));
    json_decref(said);
    undisturbed.n_processes = t.n_processes;
    memcpy(undisturbed.us, t.us, sizeof t.us);
    ck_assert_str_eq(text_of(undisturbed.looks, "status"), "completed");
    judge(&t);
    trial_finish(&t);
}

void judge_end(void)
{
    json_decref(undisturbed.looks);
}

unsigned long judge_us(unsigned process)
{
    return process < undisturbed.n_processes ? undisturbed.us[process] : 0;
}
