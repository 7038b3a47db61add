/* test_native_kill.c -- trees of native children under an engine that is killed at
 * any moment: none is lost, none made twice, and each parent hears of each end once.
 *
 * The engine is `mortise engine`.  We, over its control socket, start the parents,
 * a few at a time, and are the person: we answer, cancel and, where an effect is in
 * doubt, look whether it happened.  The effects are counted by a server of ours
 * (kill/counter.c), which a crash leaves as it is.  An engine is killed behind a
 * random number of effects, in the middle of whatever it is at; it has all the time
 * that it takes to come so far, so how fast a machine is decides nothing.  When all
 * runs have ended, what each parent was told is held against the store, read by
 * somebody who shares no code with it (store_reader.c, which also counts the records
 * of each tree against its counters).
 *
 * A parent has these children, K being its name; each has one effect, named as the
 * child is.  (...) is linked and awaited, -(...) linked, ~(...) detached:
 *
 *     (0 says) (1 fails) (2 asks, is answered) (3 asks, is cancelled)
 *     (4 has (5 says) -(6 asks, in vain) (7 has one too deep))
 *     ~(8 says) ~(9 asks, is answered when K has ended) -(10 asks, in vain)
 *
 * Every fifth parent is cancelled itself, when its child 2 asks.
 *
 * MORTISE_SPAWNS says how many children (`make spawns`: 10,000, which takes
 * minutes).  The seed is fixed, the moments are not. */
#include <dirent.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "kill/counter.h"
#include "lib/desk.h"
#include "lib/store_reader.h"

enum {
    CHILDREN = 11, /* of a parent, and of those */
    AWAITED = 5,
    AT_ONCE = 12, /* parents under way */
    BETWEEN = 40, /* effects, from one death to the next, at most */
    MOST = 2000,
    ID = 32,       /* of a request */
    COMPLETED = 7, /* enum mortise_run_status */
    CANCELLED = 9,
    SETTLED = 5, /* of a handle; and its ends */
    END_COMPLETED = 1,
    END_FAILED = 2,
    END_CANCELLED = 3
};

static char told_dir[4096];
static const char graph[] =
    "apiVersion: mortise/v1\nkind: Graph\nmetadata: {name: g}\n"
    "limits: {spawn: {active: 20, total: 20, detached_active: 4, "
    "detached_total: 4}}\nstart: a\nnodes:\n"
    "  a: {type: gmi, prompt: \"${input.do}\", tool_allowlist: "
    "[\"posts/tell\"], next: END}\n";

static int n_parents, n_started;
static bool has_ended[MOST];
static json_t *shown[MOST]; /* the parents, once all is over */
static uint64_t chance_state;
static unsigned n_doubts;

static uint32_t chance(uint32_t below)
{
    chance_state = chance_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(chance_state >> 33) % below;
}

static bool is_doomed(int k)
{
    return k % 5 == 4;
}

static void rest_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

/* ---- the place ----------------------------------------------------------------- */

static void begin(void)
{
    const char *many = getenv("MORTISE_SPAWNS");
    char deployment[16384];

    desk_sign();
    desk_sign_ours("spawns");
    desk_sign_ours("posts");
    desk_ok("$MORTISE key trust k.pub --trust trust.d --name spawns "
            "--plugins '*' --in-process");
    desk_begin();
    snprintf(told_dir, sizeof told_dir, "%s", test_mkdir());
    counter_begin(told_dir);
    snprintf(deployment, sizeof deployment,
             "apiVersion: mortise/v1\nkind: Deployment\n"
             "metadata: {name: tests}\n"
             "plugins:\n"
             "  path: [%s/plugins]\n"
             "  config:\n"
             "    posts: {file: unused, base_url: \"http://127.0.0.1:%d/\"}\n"
             "trust: {dir: %s/trust.d}\n"
             "store: {path: ./state}\n"
             "executors: {gmi: spawns/agent}\n"
             "models: {default: {provider: scripted, model: m, replies: []}}\n",
             desk_plugins, counter_port(), desk_plugins);
    desk_put("mortise.yaml", deployment);
    n_parents = (many != NULL ? atoi(many) : 160) / CHILDREN + 1;
    ck_assert(n_parents > 4 && n_parents <= MOST);
    chance_state = 1;
}

static void end(void)
{
    for (int k = 0; k < n_parents; k++)
        json_decref(shown[k]);
    counter_end();
    test_rmdir(told_dir);
    desk_end();
    desk_unsign();
}

/* ---- the socket ---------------------------------------------------------------- */

static int fd;
static FILE *answers;

/* Once it holds the store it listens. */
static void connect_to(pid_t engine)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};

    ck_assert_int_lt(snprintf(a.sun_path, sizeof a.sun_path,
                              "%.80s/state/control.sock", desk_dir),
                     (int)sizeof a.sun_path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    while (connect(fd, (struct sockaddr *)&a, sizeof a) != 0) {
        ck_assert_msg(kill(engine, 0) == 0, "there is no engine");
        rest_ms(2);
    }
    answers = fdopen(fd, "r");
    ck_assert_ptr_nonnull(answers);
}

/* Takes the request. */
static void say(json_t *request)
{
    char *text = json_dumps(request, JSON_COMPACT);
    size_t n = strlen(text);

    text[n] = '\n'; /* in the place of its NUL */
    ck_assert_int_eq(send(fd, text, n + 1, MSG_NOSIGNAL), (ssize_t)n + 1);
    free(text);
    json_decref(request);
}

/* The reply, or NULL where it is an error, which is as good: what was asked may have
 * happened before an engine died. */
static json_t *ask(json_t *request)
{
    static char line[1 << 20];
    json_t *all, *reply;

    say(request);
    do {
        ck_assert_msg(fgets(line, sizeof line, answers) != NULL,
                      "the engine has gone by itself");
        all = json_loads(line, 0, NULL);
        ck_assert_ptr_nonnull(all);
        reply = json_incref(json_object_get(all, "reply"));
        if (reply != NULL || json_object_get(all, "error") != NULL)
            break;
        json_decref(all);
    } while (true);
    json_decref(all);
    return reply;
}

static void command(const char *run, json_t *one)
{
    json_decref(ask(json_pack("{s:s, s:s, s:[o]}", "do", "command", "run", run,
                              "commands", one)));
}

static const char *text_of(const json_t *object, const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));

    return text != NULL ? text : "";
}

/* ---- the person ------------------------------------------------------------------ */

static void start(int k)
{
    char run[16], what[1024];

    snprintf(run, sizeof run, "p%d", k);
    snprintf(what, sizeof what,
             "crowd (act %d.0 say a)(act %d.1 fail b)(act %d.2 ask %s %d)"
             "(act %d.3 ask cancel %d)(act %d.4 crowd (act %d.5 say x)"
             "-(act %d.6 ask keep %d)(act %d.7 crowd (say deep)))"
             "~(act %d.8 say d)~(act %d.9 ask late %d)-(act %d.10 ask keep %d)",
             k, k, k, is_doomed(k) ? "doom" : "answer", k, k, k, k, k, k, k, k,
             k, k, k, k, k);
    json_decref(ask(json_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:s}}", "do",
                              "start", "run", run, "graph", "path", "g.yaml",
                              "source", graph, "input", "do", what)));
}

/* Who died before it said that it took it has it, or not. */
static json_t *show(int k)
{
    char run[16];

    snprintf(run, sizeof run, "p%d", k);
    return ask(json_pack("{s:s, s:s}", "do", "show", "run", run));
}

static void answer(const json_t *request)
{
    command(text_of(request, "run"),
            json_pack("{s:s, s:s, s:{s:b, s:s}}", "kind", "answer", "id",
                      text_of(request, "id"), "value", "approved", 1, "answer",
                      "fine"));
}

static void resolve(const json_t *request)
{
    const char *name = text_of(json_object_get(request, "args"), "body");
    bool happened = counter_count(name) > 0;
    json_t *one = json_pack("{s:s, s:s, s:s}", "kind", "resolve", "id",
                            text_of(request, "id"), "decision",
                            happened ? "done" : "retry");

    if (happened)
        json_object_set_new(one, "value", json_pack("{s:i}", "status", 200));
    n_doubts++;
    command(text_of(request, "run"), one);
}

static void cancel(const char *run)
{
    command(run, json_pack("{s:s}", "kind", "cancel"));
}

static void decide(const json_t *request)
{
    char word[16] = "", parent[16];
    int k = -1;

    if (strcmp(text_of(request, "kind"), "in_doubt") == 0) {
        resolve(request);
        return;
    }
    sscanf(text_of(request, "prompt"), "%15s %d", word, &k);
    ck_assert_msg(k >= 0 && k < n_parents, "%s asks: %s",
                  text_of(request, "run"), text_of(request, "prompt"));
    snprintf(parent, sizeof parent, "p%d", k);
    if (strcmp(word, "answer") == 0 ||
        (strcmp(word, "late") == 0 && has_ended[k]))
        answer(request);
    else if (strcmp(word, "cancel") == 0)
        cancel(text_of(request, "run"));
    else if (strcmp(word, "doom") == 0)
        cancel(parent);
}

static void decide_all(void)
{
    json_t *page = NULL, *one;
    size_t i;

    do {
        json_t *next = json_incref(json_object_get(page, "next"));

        json_decref(page);
        page = ask(json_pack("{s:s, s:o*}", "do", "inbox", "after", next));
        ck_assert_ptr_nonnull(page);
        json_array_foreach(json_object_get(page, "pending"), i, one)
            decide(one);
    } while (json_is_string(json_object_get(page, "next")));
    json_decref(page);
}

/* More parents, as others end. */
static void keep_busy(void)
{
    int open = 0;

    for (int k = 0; k < n_started; k++) {
        json_t *run = has_ended[k] ? NULL : show(k);
        const char *status = text_of(run, "status");

        has_ended[k] |= strcmp(status, "completed") == 0 ||
                        strcmp(status, "cancelled") == 0;
        ck_assert_str_ne(status, "failed");
        if (run == NULL && !has_ended[k])
            start(k); /* it was lost with the engine */
        json_decref(run);
        open += !has_ended[k];
    }
    for (; n_started < n_parents && open < AT_ONCE; open++)
        start(n_started++);
}

static bool is_over(void)
{
    json_t *reply = ask(json_pack(
        "{s:s, s:b, s:i, s:s}", "do", "runs", "newest", 1, "limit", 1, "status",
        "running,waiting,in_doubt,accepted,paused,blocked,"
        "interrupted"));
    bool over;

    ck_assert_ptr_nonnull(reply);
    over = json_array_size(json_object_get(reply, "runs")) == 0;
    json_decref(reply);
    for (int k = 0; over && k < n_parents; k++)
        over = k < n_started && has_ended[k];
    return over;
}

/* ---- the killer ------------------------------------------------------------------ */

/* Effects of so many names happened. */
static unsigned n_told(void)
{
    DIR *d = opendir(told_dir);
    unsigned n = 0;

    ck_assert_ptr_nonnull(d);
    while (readdir(d) != NULL)
        n++;
    closedir(d);
    return n;
}

/* One engine, from its start to its death; true: nothing is left to do. */
static bool live_once(void)
{
    pid_t engine = child_start("engine", "$MORTISE engine");
    unsigned until = n_told() + chance(BETWEEN);
    bool over;

    connect_to(engine);
    do {
        keep_busy();
        decide_all();
        over = is_over();
    } while (!over && n_told() <= until);
    for (int k = 0; over && k < n_parents; k++)
        shown[k] = show(k);
    rest_ms(chance(5));
    child_kill(engine);
    fclose(answers);
    return over;
}

/* ---- what is left ------------------------------------------------------------------ */

struct found {
    const struct reader_spawn *spawns[MOST][CHILDREN];
};

/* Which child that is, by what it was told to do. */
static void name_of(const struct reader_run *run, int *k, int *j)
{
    static const char begins[] = "{\"instructions\":\"act ";
    const struct reader_checkpoint *first = &run->checkpoints[0];
    const char *at =
        memmem(first->entries, first->size, begins, sizeof begins - 1);

    ck_assert_msg(at != NULL, "run %s is no child of ours", run->run);
    ck_assert_int_eq(sscanf(at + sizeof begins - 1, "%d.%d ", k, j), 2);
    ck_assert(*k >= 0 && *k < n_parents && *j >= 0 && *j < CHILDREN);
}

/* Its end is that of its run. */
static void check_end(const struct reader_spawn *s,
                      const struct reader_run *run)
{
    ck_assert_msg(s->state == SETTLED && run->status >= COMPLETED &&
                      s->status - END_COMPLETED == run->status - COMPLETED,
                  "%s/%s: state %u, status %u; its run: %u", s->parent, s->id,
                  s->state, s->status, run->status);
}

static void find_one(const struct reader_store *r, struct found *f,
                     const struct reader_spawn *s)
{
    const struct reader_run *run = store_reader_run(r, s->tenant, s->child);
    char origin[16];
    int k, j;

    ck_assert_uint_eq(s->native, 1);
    if (run == NULL) { /* its parent ended before it began */
        ck_assert_msg(s->state == SETTLED + 1, "%s/%s is lost: state %u",
                      s->parent, s->id, s->state);
        return;
    }
    name_of(run, &k, &j);
    check_end(s, run);
    ck_assert_msg(f->spawns[k][j] == NULL, "%d.%d was made twice", k, j);
    f->spawns[k][j] = s;
    snprintf(origin, sizeof origin, "p%d", k);
    ck_assert_str_eq(s->origin, origin);
    ck_assert_uint_eq(s->detached, j == 8 || j == 9);
}

/* How one of a parent that was not cancelled ends. */
static const unsigned ends[CHILDREN] = {
    END_COMPLETED, END_FAILED,    END_COMPLETED, END_CANCELLED,
    END_COMPLETED, END_COMPLETED, END_CANCELLED, END_COMPLETED,
    END_COMPLETED, END_COMPLETED, END_CANCELLED};

/* Its effect happened once; or, where it was cancelled first, not at all. */
static void check_child(const struct found *f, int k, int j)
{
    const struct reader_spawn *s = f->spawns[k][j];
    bool asks_in_vain = j == 6 || j == 10;
    char name[32];
    unsigned n;

    snprintf(name, sizeof name, "%d.%d", k, j);
    n = counter_count(name);
    ck_assert_msg(n <= 1, "%s happened %u times", name, n);
    ck_assert_msg(n == 0 || s != NULL, "%s happened, and is lost", name);
    if (s == NULL || is_doomed(k)) {
        ck_assert_msg(is_doomed(k), "%s is lost", name);
        ck_assert(s == NULL || !s->detached || s->status == END_COMPLETED);
        return;
    }
    ck_assert_msg(s->status == ends[j], "%s ended with %u", name, s->status);
    ck_assert_msg(n == 1 || asks_in_vain, "%s never happened", name);
    ck_assert_str_eq(s->parent,
                     j >= 5 && j <= 7 ? f->spawns[k][4]->child : s->origin);
}

/* What a parent was told of one. */
static void check_told(const json_t *told, const struct reader_spawn *s)
{
    static const char *const names[] = {"", "completed", "failed", "cancelled"};

    ck_assert_str_eq(text_of(told, "child"), s->child);
    ck_assert_str_eq(text_of(told, "status"), names[s->status]);
}

static const json_t *output_of(const json_t *told)
{
    return json_object_get(
        json_object_get(json_object_get(told, "result"), "output"), "result");
}

static void check_lists(const struct found *f, int k)
{
    const json_t *list = json_object_get(
        json_object_get(json_object_get(shown[k], "state"), "artifacts"), "a");
    const json_t *inner = output_of(json_array_get(list, 4));

    ck_assert_uint_eq(json_array_size(list), AWAITED);
    for (size_t j = 0; j < AWAITED; j++)
        check_told(json_array_get(list, j), f->spawns[k][j]);
    ck_assert_str_eq(text_of(output_of(json_array_get(list, 2)), "answer"),
                     "fine");
    ck_assert_uint_eq(json_array_size(inner), 2);
    check_told(json_array_get(inner, 0), f->spawns[k][5]);
    check_told(json_array_get(inner, 1), f->spawns[k][7]);
    ck_assert_ptr_nonnull(
        strstr(text_of(json_array_get(output_of(json_array_get(inner, 1)), 0),
                       "refused"),
               "E_LIMIT: limits.spawn.depth"));
}

/* The entries of a run that settle the request of that id, which stands in the one
 * that made it: type 7, a node, a byte, and the id behind its length. */
static unsigned n_settled(const struct reader_run *run, const char *id)
{
    enum { BEFORE = 1 + 8 + 1 + 4 };
    unsigned n = 0;

    for (size_t i = 0; i < run->n_checkpoints; i++) {
        const struct reader_checkpoint *c = &run->checkpoints[i];
        const char *at = c->entries, *end = at + c->size;

        for (; (at = memmem(at, (size_t)(end - at), id, ID)) != NULL; at++)
            n += at != id && at - c->entries >= BEFORE && at[-BEFORE] == 7;
    }
    return n;
}

/* Of each step in which a run waits for a child (type 16; behind the method a
 * digest, a byte, and its id behind the length) there is one end.  How many? */
static unsigned n_heard(const struct reader_run *run)
{
    static const char method[] = "spawn.await/1";
    enum { BEFORE = 1 + 16 + 8 + 4, BEHIND = sizeof method - 1 + 32 + 1 + 4 };
    unsigned n = 0;

    for (size_t i = 0; i < run->n_checkpoints; i++) {
        const struct reader_checkpoint *c = &run->checkpoints[i];
        const char *at = c->entries, *end = at + c->size;

        for (; (at = memmem(at, (size_t)(end - at), method,
                            sizeof method - 1)) != NULL;
             at++) {
            if (at - c->entries < BEFORE || at[-BEFORE] != 16)
                continue;
            ck_assert_int_ge(end - at, BEHIND + ID);
            ck_assert_uint_eq(n_settled(run, at + BEHIND), 1);
            n++;
        }
    }
    return n;
}

static void check_parent(const struct reader_store *r, const struct found *f,
                         int k)
{
    const struct reader_run *run;
    char name[16];

    snprintf(name, sizeof name, "p%d", k);
    run = store_reader_run(r, "default", name);
    ck_assert_ptr_nonnull(run);
    ck_assert_uint_eq(run->status, is_doomed(k) ? CANCELLED : COMPLETED);
    for (int j = 0; j < CHILDREN; j++)
        check_child(f, k, j);
    if (is_doomed(k))
        return;
    check_lists(f, k);
    ck_assert_uint_eq(n_heard(run), AWAITED);
}

static void judge(void)
{
    static struct reader_store r;
    static struct found f;
    char path[8192];

    snprintf(path, sizeof path, "%s/state", desk_dir);
    ck_assert_msg(store_reader_read(&r, path) == 0, "%s", r.why);
    for (size_t i = 0; i < r.n_spawns; i++)
        find_one(&r, &f, &r.spawns[i]);
    for (size_t i = 0; i < r.n_trees; i++)
        ck_assert_uint_eq(r.trees[i].active + r.trees[i].detached_active, 0);
    for (int k = 0; k < n_parents; k++)
        check_parent(&r, &f, k);
    store_reader_free(&r);
}

/* Killed again and again, all come to their ends: each child once, each end heard
 * once. */
START_TEST(trees_under_kills)
{
    int deaths = 1;

    while (!live_once())
        deaths++;
    judge();
    ck_assert_int_ge(deaths, n_parents * (CHILDREN - 4) / BETWEEN);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("native_kill");
    TCase *tc = tcase_create("kills");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_set_timeout(tc, 3600);
    tcase_add_test(tc, trees_under_kills);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
