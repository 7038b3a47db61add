/* bring_up.c -- start the plugins of a graph or a deployment on trial.
 *
 * Only a plugin's create() can tell whether the plugin starts: it opens files,
 * parses its config and may reject it.  Here it runs as in an engine, with the
 * deployment's config and secrets, after the same verification.
 *
 *   (1) Each plugin runs in its own process with an empty store, which is
 *       removed afterwards.  If it crashes, exits or hangs, that is a finding,
 *       and the other plugins are still tried.
 *   (2) A signal stops the trial, and its files are removed.
 *   (3) The deployment's own store is not opened: an engine may be using it,
 *       and a trial must leave no data there.
 */
#include "cli/bring_up.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/tempdir.h"
#include "cli/fatal.h"
#include "cli/stop.h"
#include "core/engine/common/engine.h"

enum { NS_PER_MS = 1000000 };

/* ---- in the plugin's process -------------------------------------------- */

/* The child writes CREATED when create() has returned, and at the end ENDED
 * and a message, if there is one.  If the process exits without ENDED, the
 * plugin ended it. */
enum { CREATED = '\1', ENDED = '\2' };

/* After create(), quiesce() and destroy() have MORTISE_QUIESCE_MS each. */
enum { END_MS = 2 * MORTISE_QUIESCE_MS + 5000 };

/* How the plugin stopped, derived from the engine's log. */
struct stopping {
    const char *words; /* NULL: without errors */
};

static void record_stop_failure(void *ud, int level, const char *msg)
{
    static const struct {
        const char *logged, *words;
    } failures[] = {
        {"did not quiesce within", "quiesce() did not return within 10 s"},
        {"did not quiesce", "quiesce() failed"},
        {"was not destroyed within", "destroy() did not return within 10 s"},
    };
    struct stopping *s = ud;

    (void)level;
    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++)
        if (s->words == NULL && strstr(msg, failures[i].logged) != NULL)
            s->words = failures[i].words;
}

static void write_trial_report(int to, char what, const char *words)
{
    char text[1 + sizeof((struct mortise_err *)NULL)->msg];
    size_t n = (size_t)snprintf(text, sizeof text, "%c%s", what, words);

    if (write(to, text, n) != (ssize_t)n)
        _exit(MORTISE_EXIT_FAILED); /* the parent is gone */
}

/* The plugin to try.  A memory without a configured directory uses a directory
 * of the store.  `home` is the store whose memory to use; NULL: the empty
 * store. */
struct trial {
    const char *plugin, *home;
};

static int start_and_stop_plugin(const struct mortise_cli *cli, int to,
                                 const char *store, const struct trial *t,
                                 struct mortise_err *err)
{
    struct stopping stopping = {NULL};
    struct mortise_options options = {.size = sizeof options,
                                      .flags =
                                          cli->found ? MORTISE_OPEN_FOUND : 0,
                                      .deployment = cli->deployment,
                                      .store = store,
                                      .mem = cli->mem,
                                      .log = record_stop_failure,
                                      .log_ud = &stopping};
    struct mortise *m;
    int rv;

    mortise_fatal_catch();
    rv = mortise_open(&m, &options, err);

    if (rv != MORTISE_OK)
        return rv;
    if (t->home != NULL)
        m->settings.store = t->home;
    rv = mortise_calls_start_plugin(m, t->plugin, err);
    if (rv != MORTISE_OK)
        return rv; /* the process exits; the parent removes the store */
    write_trial_report(to, CREATED, "");
    mortise_close(m);
    return stopping.words == NULL
               ? MORTISE_OK
               : mortise_fail(err, MORTISE_ESTATE, "%s", stopping.words);
}

/* Report to the parent and exit. */
_Noreturn static void run_trial_child(const struct mortise_cli *cli, int to,
                                      const char *store, const struct trial *t)
{
    struct mortise_err err;
    bool up;

    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody needs the result */
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    up = start_and_stop_plugin(cli, to, store, t, &err) == MORTISE_OK;
    write_trial_report(to, ENDED, up ? "" : err.msg);
    _exit(up ? 0 : (int)mortise_exit_code_of_result(err.code));
}

/* ---- in the parent ----------------------------------------------------- */

/* The child's report. */
struct outcome {
    bool created, ended, late;
    char words[sizeof((struct mortise_err *)NULL)->msg];
    size_t n;
};

static void parse_trial_byte(struct outcome *h, char c)
{
    if (c == CREATED && !h->created)
        h->created = true;
    else if (c == ENDED && !h->ended)
        h->ended = true;
    else if (h->ended && h->n + 1 < sizeof h->words)
        h->words[h->n++] = c;
}

/* Read until the child closes the pipe.  A timeout or a signal sets `late`. */
static void read_trial_report(int from, struct outcome *h)
{
    uint64_t end = mortise_mono_ns() / NS_PER_MS + MORTISE_BRING_UP_MS;
    char some[256];
    ssize_t got = 1;

    while (got > 0) {
        struct pollfd p[] = {{.fd = from, .events = POLLIN},
                             {.fd = mortise_stop_fd(), .events = POLLIN}};
        uint64_t now = mortise_mono_ns() / NS_PER_MS;
        bool created = h->created;

        if (now >= end || poll(p, 2, (int)(end - now)) == 0 ||
            mortise_stop_has_signal()) {
            h->late = true;
            return;
        }
        if (p[0].revents == 0)
            continue;
        got = read(from, some, sizeof some);
        for (ssize_t i = 0; i < got; i++)
            parse_trial_byte(h, some[i]);
        if (h->created && !created)
            end = mortise_mono_ns() / NS_PER_MS + END_MS;
        if (got < 0 && errno == EINTR)
            got = 1;
    }
}

/* Determine the outcome as a message in h->words; "" on success.  Returns true
 * if trust refused the plugin. */
static bool get_trial_outcome(pid_t pid, struct outcome *h)
{
    const char *where = h->created ? "quiesce() or destroy()" : "create()";
    size_t cap = sizeof h->words;
    int status = 0;

    if (h->late)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    h->words[h->n] = '\0';
    if (h->late)
        snprintf(h->words, cap, "%s did not return within %d s", where,
                 (h->created ? END_MS : MORTISE_BRING_UP_MS) / 1000);
    else if (WIFSIGNALED(status))
        snprintf(h->words, cap, "signal %d (%s) killed it in %s",
                 WTERMSIG(status), strsignal(WTERMSIG(status)), where);
    else if (!h->ended)
        snprintf(h->words, cap, "%s ended the process", where);
    else
        return WEXITSTATUS(status) == MORTISE_EXIT_DENIED;
    return false;
}

static int run_trial(const struct mortise_cli *cli, const struct trial *t,
                     struct outcome *outcome, bool *denied,
                     struct mortise_err *err)
{
    struct mortise_tempdir dir;
    char store[PATH_MAX + 8]; /* a store locks its own directory */
    int ends[2], rv = mortise_stop_install(err);
    pid_t pid;

    if (rv == MORTISE_OK)
        rv = mortise_tempdir_make(&dir, "check", err);
    if (rv != MORTISE_OK)
        return rv;
    snprintf(store, sizeof store, "%s/store", dir.path);
    pid = pipe(ends) == 0 ? fork() : -1;
    if (pid == 0) {
        close(ends[0]);
        run_trial_child(cli, ends[1], store, t);
    }
    if (pid > 0) {
        close(ends[1]);
        read_trial_report(ends[0], outcome);
        *denied |= get_trial_outcome(pid, outcome);
        close(ends[0]);
    }
    mortise_tempdir_remove(&dir);
    if (pid > 0 && mortise_stop_has_signal())
        return mortise_fail(err, MORTISE_ESTATE, "interrupted");
    return pid > 0
               ? MORTISE_OK
               : mortise_fail(err, MORTISE_EIO, "cannot start a process: %s",
                              strerror(errno));
}

/* `what`: the beginning of the finding's message. */
static int try_instance(struct mortise_cli *cli, const char *name,
                        const char *what, struct mortise_span at,
                        struct mortise_diags *diags, int *worst,
                        struct mortise_err *err)
{
    struct outcome outcome = {.created = false};
    const struct trial t = {.plugin = name};
    int rv = run_trial(cli, &t, &outcome, &diags->denied, err);

    if (rv != MORTISE_OK || outcome.words[0] == '\0')
        return rv;
    outcome.words[strcspn(outcome.words, "\n")] = '\0'; /* one line */
    mortise_diag_add(diags, "E0608", at, "%s does not %s: %s", what,
                     outcome.created ? "stop" : "start", outcome.words);
    *worst = MORTISE_ECHECK;
    return MORTISE_OK;
}

int mortise_bring_up_memory(struct mortise_cli *cli, const char *store,
                            char *words, size_t size, struct mortise_err *err)
{
    const struct trial t = {.plugin = MORTISE_MEMORY_INSTANCE, .home = store};
    struct outcome outcome = {.created = false};
    bool denied = false;
    int rv = run_trial(cli, &t, &outcome, &denied, err);

    outcome.words[strcspn(outcome.words, "\n")] = '\0';
    snprintf(words, size, "%s", outcome.words);
    return rv;
}

/* ---- plugins that the deployment configures ---------------------------- */

/* An instance to start: its name, its description and its place in the file. */
struct configured {
    char name[512], what[320];
    struct mortise_span at;
};

static struct configured configured(const char *prefix, const char *name,
                                    const char *kind, const char *called,
                                    const struct mortise_yaml *config,
                                    const struct mortise_yaml *at)
{
    struct configured c = {.at = config != NULL ? config->span : at->span};

    snprintf(c.name, sizeof c.name, "%s%s", prefix, name);
    snprintf(c.what, sizeof c.what, "%s '%.256s'", kind, called);
    return c;
}

static struct configured describe_guard(const struct mortise_guard *g)
{
    return configured(MORTISE_GUARD_PREFIX, g->id, "guardrail", g->id,
                      g->config, g->at);
}

static struct configured describe_memory(const struct mortise_memory_choice *m)
{
    return configured(MORTISE_MEMORY_INSTANCE, "", "memory", m->plugin,
                      m->config, m->at);
}

/* A plugin listed by name alone gets its config from plugins.config. */
static struct configured
describe_discoverer(const struct mortise_deployment *d,
                    const struct mortise_discoverer *one)
{
    static const char kind[] = "discovery plugin";

    return one->instance[0] != '\0'
               ? configured("", one->instance, kind, one->plugin, one->config,
                            one->at)
               : configured(MORTISE_DISCOVERY_PREFIX, one->plugin, kind,
                            one->plugin,
                            mortise_yaml_get(d->config, one->plugin), one->at);
}

static struct configured describe_model(const struct mortise_model_alias *m)
{
    return configured("model:", m->alias, "model", m->alias, m->config, m->at);
}

/* A plugin with a config in plugins.config; false if it has none. */
static bool find_plugin_config(const struct mortise_deployment *d,
                               const char *prefix, const char *name,
                               struct configured *out)
{
    const struct mortise_yaml *config = mortise_yaml_get(d->config, name);

    if (config != NULL)
        *out = configured(prefix, name, "plugin", name, config, config);
    return config != NULL;
}

/* Find the deployment's configuration of a plugin, by the graph's name for
 * it. */
static bool find_configured_instance(const struct mortise_deployment *d,
                                     const char *name, struct configured *out)
{
    const char *id = mortise_guard_parse_id(name);
    const struct mortise_guard *g =
        id != NULL ? mortise_guard_find(&d->guards, id) : NULL;

    if (g != NULL) {
        *out = describe_guard(g);
        return true;
    }
    if (strcmp(name, MORTISE_MEMORY_INSTANCE) == 0) {
        *out = describe_memory(&d->memory);
        return true;
    }
    for (size_t i = 0; i < d->discovery.n; i++) {
        *out = describe_discoverer(d, &d->discovery.list[i]);
        if (strcmp(out->name, name) == 0)
            return true;
    }
    return id != NULL ? find_plugin_config(d, MORTISE_GUARD_PREFIX, id, out)
                      : find_plugin_config(d, "", name, out);
}

static int try_configured_instance(struct mortise_cli *cli, struct configured c,
                                   struct mortise_diags *diags, int *worst,
                                   struct mortise_err *err)
{
    return try_instance(cli, c.name, c.what, c.at, diags, worst, err);
}

/* Try all guardrails, memory, discovery plugins and models. */
static int try_all_instances(struct mortise_cli *cli,
                             const struct mortise_deployment *d,
                             struct mortise_diags *diags, int *worst,
                             struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < d->guards.n; i++)
        rv = try_configured_instance(cli, describe_guard(&d->guards.list[i]),
                                     diags, worst, err);
    if (rv == MORTISE_OK && d->memory.plugin != NULL)
        rv = try_configured_instance(cli, describe_memory(&d->memory), diags,
                                     worst, err);
    for (size_t i = 0; rv == MORTISE_OK && i < d->discovery.n; i++)
        rv = try_configured_instance(
            cli, describe_discoverer(d, &d->discovery.list[i]), diags, worst,
            err);
    for (size_t i = 0; rv == MORTISE_OK && i < d->models.n; i++)
        if (d->models.list[i].provider[0] != '\0') /* not a mere alias */
            rv = try_configured_instance(
                cli, describe_model(&d->models.list[i]), diags, worst, err);
    return rv;
}

/* The engine's name for a plugin of plugins.config.  Returns false if the
 * engine would not start it, or if it is tried as an instance anyway. */
static bool find_config_instance(const struct mortise_deployment *d,
                                 struct mortise_plugins *plugins,
                                 const char *name, struct configured *out)
{
    const struct mortise_manifest *m =
        mortise_yaml_is_x_key(name) ? NULL
                                    : mortise_plugins_find(plugins, name, NULL);

    if (m == NULL)
        return false; /* `check` has already warned */
    if (m->provides[MORTISE_KIND_EXECUTOR].present)
        return find_plugin_config(d, "", name, out);
    return m->provides[MORTISE_KIND_GUARDRAIL].present &&
           mortise_guard_find(&d->guards, name) == NULL &&
           find_plugin_config(d, MORTISE_GUARD_PREFIX, name, out);
}

/* The plugin of executors[i], unless plugins.config or an earlier entry covers
 * it. */
static bool find_executor_plugin(const struct mortise_deployment *d,
                                 const struct mortise_yaml *list, size_t i,
                                 struct configured *out)
{
    const char *op = mortise_deployment_get_executor(d, list->keys[i]->str);
    size_t n = op != NULL ? strcspn(op, "/") + 1 : 0;
    char name[MORTISE_NAME_MAX + 1];

    for (size_t k = 0; n > 0 && k < i; k++) {
        const char *before =
            mortise_deployment_get_executor(d, list->keys[k]->str);

        if (before != NULL && strncmp(before, op, n) == 0)
            n = 0;
    }
    if (n == 0)
        return false;
    snprintf(name, sizeof name, "%.*s", (int)(n - 1), op);
    *out = configured("", name, "plugin", name, NULL, list->items[i]);
    return mortise_yaml_get(d->config, name) == NULL;
}

/* Try the plugins of plugins.config, of `tools.mcp` (the config of the mcp
 * plugin) and of `executors`. */
static int try_named_plugins(struct mortise_cli *cli,
                             const struct mortise_deployment *d,
                             struct mortise_plugins *plugins,
                             struct mortise_diags *diags, int *worst,
                             struct mortise_err *err)
{
    const struct mortise_yaml *mcp =
        mortise_yaml_key(mortise_yaml_get(d->tree, "tools"), "mcp");
    const struct mortise_yaml *executors =
        mortise_yaml_get(d->tree, "executors");
    size_t n = d->config != NULL ? d->config->n : 0;
    size_t n_executors = executors != NULL ? executors->n : 0;
    struct configured c;
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < n; i++)
        if (find_config_instance(d, plugins, d->config->keys[i]->str, &c))
            rv = try_configured_instance(cli, c, diags, worst, err);
    if (rv == MORTISE_OK && mcp != NULL)
        rv =
            try_configured_instance(cli,
                                    configured("", mortise_mcp_plugin, "plugin",
                                               mortise_mcp_plugin, NULL, mcp),
                                    diags, worst, err);
    for (size_t i = 0; rv == MORTISE_OK && i < n_executors; i++)
        if (find_executor_plugin(d, executors, i, &c))
            rv = try_configured_instance(cli, c, diags, worst, err);
    return rv;
}

int mortise_bring_up_deployment(struct mortise_cli *cli,
                                const struct mortise_deployment *d,
                                struct mortise_plugins *plugins,
                                struct mortise_diags *diags,
                                struct mortise_err *err)
{
    int worst = MORTISE_OK;
    int rv = try_all_instances(cli, d, diags, &worst, err);

    if (rv == MORTISE_OK)
        rv = try_named_plugins(cli, d, plugins, diags, &worst, err);
    return rv == MORTISE_OK ? worst : rv;
}

/* ---- plugins that a graph needs ---------------------------------------- */

static bool is_plugin_needed(const struct mortise_node *n, const char *plugin)
{
    const char *id = mortise_guard_parse_id(plugin);

    if (id == NULL)
        return n->plugin != NULL && strcmp(n->plugin, plugin) == 0;
    return mortise_node_is_guarded(n, id);
}

static const struct mortise_node *
find_needing_node(const struct mortise_graph *g, const char *plugin)
{
    const struct mortise_node *found = NULL;

    for (uint32_t i = 0; i < g->n_nodes && found == NULL; i++) {
        const struct mortise_node *n = &g->nodes[i];

        if (is_plugin_needed(n, plugin))
            found = n;
        else if (n->sub != NULL)
            found = find_needing_node(n->sub, plugin);
        if (found == NULL && n->tools != NULL &&
            find_needing_node(n->tools, plugin) != NULL)
            found = n;
    }
    return found;
}

/* Try a plugin without configuration, at the first node that needs it. */
static int try_needed_plugin(struct mortise_cli *cli,
                             const struct mortise_graph *g, const char *plugin,
                             struct mortise_diags *diags, int *worst,
                             struct mortise_err *err)
{
    const struct mortise_node *n = find_needing_node(g, plugin);
    char what[272];

    snprintf(what, sizeof what, "'%.256s'", plugin);
    return try_instance(cli, plugin, what, n != NULL ? n->span : g->tree->span,
                        diags, worst, err);
}

int mortise_try_graph_plugins(struct mortise_cli *cli,
                              const struct mortise_deployment *d,
                              const struct mortise_graph *g,
                              struct mortise_diags *diags,
                              struct mortise_err *err)
{
    int worst = MORTISE_OK, rv = MORTISE_OK;
    const char *digest;
    struct configured c;

    for (size_t i = 0; rv == MORTISE_OK && i < g->n_plugins; i++) {
        if (mortise_deployment_is_tool(d, g->plugins[i], &digest))
            continue; /* a pinned tool; its plugin is in the list, too */
        rv = find_configured_instance(d, g->plugins[i], &c)
                 ? try_configured_instance(cli, c, diags, &worst, err)
                 : try_needed_plugin(cli, g, g->plugins[i], diags, &worst, err);
    }
    for (size_t i = 0; rv == MORTISE_OK && i < g->n_models; i++)
        rv = try_configured_instance(
            cli, describe_model(mortise_model_find(&d->models, g->models[i])),
            diags, &worst, err);
    return rv == MORTISE_OK ? worst : rv;
}
