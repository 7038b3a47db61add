/* bring_up.c -- do the plugins of a graph, or those of a deployment, come up?
 *
 * Their create() is the one thing before a run's first step that reading cannot
 * judge: it opens files, parses its config, refuses.  Here it runs as it does
 * in an engine, with the deployment's config and secrets, behind the same
 * verification.
 *
 *   (1) Each plugin has a process of its own, with an empty store that goes
 *       when it goes: one that crashes, exits or hangs is a finding, and the
 *       others are still tried.
 *   (2) A signal to stop ends it, and what it left goes, too.
 *   (3) The deployment's own store is not opened: an engine may be at work on
 *       it, and nothing that is tried here is remembered there.
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

/* The child writes CREATED when create() has returned, and ENDED with the words, if
 * any, when all is over.  A process that ends without ENDED was ended by the plugin. */
enum { CREATED = '\1', ENDED = '\2' };

/* After create(): quiesce() and destroy() have MORTISE_QUIESCE_MS each. */
enum { END_MS = 2 * MORTISE_QUIESCE_MS + 5000 };

/* How the plugin stopped, by what the engine logs of it. */
struct stopping {
    const char *words; /* NULL: well */
};

static void hear_log(void *ud, int level, const char *msg)
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

static void say(int to, char what, const char *words)
{
    char text[1 + sizeof((struct mortise_err *)NULL)->msg];
    size_t n = (size_t)snprintf(text, sizeof text, "%c%s", what, words);

    if (write(to, text, n) != (ssize_t)n)
        _exit(MORTISE_EXIT_FAILED); /* nobody reads */
}

/* What is tried.  A memory that the deployment gives no directory is in that of the
 * store: `home` is the store whose memory is meant, NULL: the empty one. */
struct trial {
    const char *plugin, *home;
};

static int bring_up(const struct mortise_cli *cli, int to, const char *store,
                    const struct trial *t, struct mortise_err *err)
{
    struct stopping stopping = {NULL};
    struct mortise_options options = {.size = sizeof options,
                                      .flags =
                                          cli->found ? MORTISE_OPEN_FOUND : 0,
                                      .deployment = cli->deployment,
                                      .store = store,
                                      .mem = cli->mem,
                                      .log = hear_log,
                                      .log_ud = &stopping};
    struct mortise *m;
    int rv;

    mortise_fatal_catch();
    rv = mortise_open(&m, &options, err);

    if (rv != MORTISE_OK)
        return rv;
    if (t->home != NULL)
        m->settings.store = t->home;
    rv = mortise_calls_bring_up(m, t->plugin, err);
    if (rv != MORTISE_OK)
        return rv; /* the process ends, and its store with it */
    say(to, CREATED, "");
    mortise_close(m);
    return stopping.words == NULL
               ? MORTISE_OK
               : mortise_fail(err, MORTISE_ESTATE, "%s", stopping.words);
}

/* Words to the parent, and the end. */
_Noreturn static void child(const struct mortise_cli *cli, int to,
                            const char *store, const struct trial *t)
{
    struct mortise_err err;
    bool up;

    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody wants to know any more */
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    up = bring_up(cli, to, store, t, &err) == MORTISE_OK;
    say(to, ENDED, up ? "" : err.msg);
    _exit(up ? 0 : (int)mortise_exit_code_of_result(err.code));
}

/* ---- around it ---------------------------------------------------------- */

/* What the child wrote. */
struct heard {
    bool created, ended, late;
    char words[sizeof((struct mortise_err *)NULL)->msg];
    size_t n;
};

static void take(struct heard *h, char c)
{
    if (c == CREATED && !h->created)
        h->created = true;
    else if (c == ENDED && !h->ended)
        h->ended = true;
    else if (h->ended && h->n + 1 < sizeof h->words)
        h->words[h->n++] = c;
}

/* Read until the other side closes, or it takes too long (late), or a signal came
 * (late, too). */
static void hear(int from, struct heard *h)
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
            mortise_stop_came()) {
            h->late = true;
            return;
        }
        if (p[0].revents == 0)
            continue;
        got = read(from, some, sizeof some);
        for (ssize_t i = 0; i < got; i++)
            take(h, some[i]);
        if (h->created && !created)
            end = mortise_mono_ns() / NS_PER_MS + END_MS;
        if (got < 0 && errno == EINTR)
            got = 1;
    }
}

/* What became of it, in h->words: "" when all went well.  True: trust refused it. */
static bool judge(pid_t pid, struct heard *h)
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

static int try_one(const struct mortise_cli *cli, const struct trial *t,
                   struct heard *heard, bool *denied, struct mortise_err *err)
{
    struct mortise_tempdir dir;
    char store[PATH_MAX + 8]; /* a store locks its own directory */
    int ends[2], rv = mortise_stop_begin(err);
    pid_t pid;

    if (rv == MORTISE_OK)
        rv = mortise_tempdir_make(&dir, "check", err);
    if (rv != MORTISE_OK)
        return rv;
    snprintf(store, sizeof store, "%s/store", dir.path);
    pid = pipe(ends) == 0 ? fork() : -1;
    if (pid == 0) {
        close(ends[0]);
        child(cli, ends[1], store, t);
    }
    if (pid > 0) {
        close(ends[1]);
        hear(ends[0], heard);
        *denied |= judge(pid, heard);
        close(ends[0]);
    }
    mortise_tempdir_remove(&dir);
    if (pid > 0 && mortise_stop_came())
        return mortise_fail(err, MORTISE_ESTATE, "interrupted");
    return pid > 0 ? MORTISE_OK
                   : mortise_fail(err, MORTISE_EIO, "start a process: %s",
                                  strerror(errno));
}

/* `what`: how its finding begins. */
static int try_named(struct mortise_cli *cli, const char *name,
                     const char *what, struct mortise_span at,
                     struct mortise_diags *diags, int *worst,
                     struct mortise_err *err)
{
    struct heard heard = {.created = false};
    const struct trial t = {.plugin = name};
    int rv = try_one(cli, &t, &heard, &diags->denied, err);

    if (rv != MORTISE_OK || heard.words[0] == '\0')
        return rv;
    heard.words[strcspn(heard.words, "\n")] = '\0'; /* a finding is a line */
    mortise_diag_add(diags, "E0608", at, "%s does not %s: %s", what,
                     heard.created ? "stop" : "start", heard.words);
    *worst = MORTISE_ECHECK;
    return MORTISE_OK;
}

int mortise_bring_up_memory(struct mortise_cli *cli, const char *store,
                            char *words, size_t size, struct mortise_err *err)
{
    const struct trial t = {.plugin = MORTISE_MEMORY_INSTANCE, .home = store};
    struct heard heard = {.created = false};
    bool denied = false;
    int rv = try_one(cli, &t, &heard, &denied, err);

    heard.words[strcspn(heard.words, "\n")] = '\0';
    snprintf(words, size, "%s", heard.words);
    return rv;
}

/* ---- what the deployment configures -------------------------------------- */

/* An instance of its own: what it is called, in findings, and where that stands.
 */
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

static struct configured configured_guard(const struct mortise_guard *g)
{
    return configured(MORTISE_GUARD_PREFIX, g->id, "guardrail", g->id,
                      g->config, g->at);
}

static struct configured
configured_memory(const struct mortise_memory_choice *m)
{
    return configured(MORTISE_MEMORY_INSTANCE, "", "memory", m->plugin,
                      m->config, m->at);
}

/* One by its name alone has what plugins.config gives it. */
static struct configured
configured_discoverer(const struct mortise_deployment *d,
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

static struct configured configured_model(const struct mortise_model_alias *m)
{
    return configured("model:", m->alias, "model", m->alias, m->config, m->at);
}

/* A plugin by its name alone, with what plugins.config has for it; false: that has
 * nothing. */
static bool has_config(const struct mortise_deployment *d, const char *prefix,
                       const char *name, struct configured *out)
{
    const struct mortise_yaml *config = mortise_yaml_get(d->config, name);

    if (config != NULL)
        *out = configured(prefix, name, "plugin", name, config, config);
    return config != NULL;
}

/* What a graph calls so, where the deployment says something of it. */
static bool is_configured(const struct mortise_deployment *d, const char *name,
                          struct configured *out)
{
    const char *id = mortise_guard_of_plugin(name);
    const struct mortise_guard *g =
        id != NULL ? mortise_guard_find(&d->guards, id) : NULL;

    if (g != NULL) {
        *out = configured_guard(g);
        return true;
    }
    if (strcmp(name, MORTISE_MEMORY_INSTANCE) == 0) {
        *out = configured_memory(&d->memory);
        return true;
    }
    for (size_t i = 0; i < d->discovery.n; i++) {
        *out = configured_discoverer(d, &d->discovery.list[i]);
        if (strcmp(out->name, name) == 0)
            return true;
    }
    return id != NULL ? has_config(d, MORTISE_GUARD_PREFIX, id, out)
                      : has_config(d, "", name, out);
}

static int try_configured(struct mortise_cli *cli, struct configured c,
                          struct mortise_diags *diags, int *worst,
                          struct mortise_err *err)
{
    return try_named(cli, c.name, c.what, c.at, diags, worst, err);
}

/* Instances of its own. */
static int try_instances(struct mortise_cli *cli,
                         const struct mortise_deployment *d,
                         struct mortise_diags *diags, int *worst,
                         struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < d->guards.n; i++)
        rv = try_configured(cli, configured_guard(&d->guards.list[i]), diags,
                            worst, err);
    if (rv == MORTISE_OK && d->memory.plugin != NULL)
        rv = try_configured(cli, configured_memory(&d->memory), diags, worst,
                            err);
    for (size_t i = 0; rv == MORTISE_OK && i < d->discovery.n; i++)
        rv =
            try_configured(cli, configured_discoverer(d, &d->discovery.list[i]),
                           diags, worst, err);
    for (size_t i = 0; rv == MORTISE_OK && i < d->models.n; i++)
        if (d->models.list[i].provider[0] != '\0') /* or others, by tiers */
            rv = try_configured(cli, configured_model(&d->models.list[i]),
                                diags, worst, err);
    return rv;
}

/* As what would an engine call a plugin that plugins.config speaks of?  False: as
 * nothing, or as what is an instance and tried anyway. */
static bool is_called(const struct mortise_deployment *d,
                      struct mortise_plugins *plugins, const char *name,
                      struct configured *out)
{
    const struct mortise_manifest *m =
        mortise_yaml_is_x(name) ? NULL
                                : mortise_plugins_find(plugins, name, NULL);

    if (m == NULL)
        return false; /* `check` has warned of it */
    if (m->provides[MORTISE_KIND_EXECUTOR].present)
        return has_config(d, "", name, out);
    return m->provides[MORTISE_KIND_GUARDRAIL].present &&
           mortise_guard_find(&d->guards, name) == NULL &&
           has_config(d, MORTISE_GUARD_PREFIX, name, out);
}

/* The plugin of the i-th of `executors`, unless plugins.config or one before
 * speaks of it. */
static bool is_named(const struct mortise_deployment *d,
                     const struct mortise_yaml *list, size_t i,
                     struct configured *out)
{
    const char *op = mortise_deployment_executor(d, list->keys[i]->str);
    size_t n = op != NULL ? strcspn(op, "/") + 1 : 0;
    char name[MORTISE_NAME_MAX + 1];

    for (size_t k = 0; n > 0 && k < i; k++) {
        const char *before = mortise_deployment_executor(d, list->keys[k]->str);

        if (before != NULL && strncmp(before, op, n) == 0)
            n = 0;
    }
    if (n == 0)
        return false;
    snprintf(name, sizeof name, "%.*s", (int)(n - 1), op);
    *out = configured("", name, "plugin", name, NULL, list->items[i]);
    return mortise_yaml_get(d->config, name) == NULL;
}

/* Plugins by their names alone: what plugins.config, `tools.mcp`, which is the
 * config of one, and `executors` speak of. */
static int try_plugins(struct mortise_cli *cli,
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
        if (is_called(d, plugins, d->config->keys[i]->str, &c))
            rv = try_configured(cli, c, diags, worst, err);
    if (rv == MORTISE_OK && mcp != NULL)
        rv = try_configured(cli,
                            configured("", mortise_mcp_plugin, "plugin",
                                       mortise_mcp_plugin, NULL, mcp),
                            diags, worst, err);
    for (size_t i = 0; rv == MORTISE_OK && i < n_executors; i++)
        if (is_named(d, executors, i, &c))
            rv = try_configured(cli, c, diags, worst, err);
    return rv;
}

int mortise_bring_up_deployment(struct mortise_cli *cli,
                                const struct mortise_deployment *d,
                                struct mortise_plugins *plugins,
                                struct mortise_diags *diags,
                                struct mortise_err *err)
{
    int worst = MORTISE_OK;
    int rv = try_instances(cli, d, diags, &worst, err);

    if (rv == MORTISE_OK)
        rv = try_plugins(cli, d, plugins, diags, &worst, err);
    return rv == MORTISE_OK ? worst : rv;
}

/* ---- what a graph needs --------------------------------------------------- */

static bool needs(const struct mortise_node *n, const char *plugin)
{
    const char *id = mortise_guard_of_plugin(plugin);

    if (id == NULL)
        return n->plugin != NULL && strcmp(n->plugin, plugin) == 0;
    return mortise_node_is_guarded(n, id);
}

static const struct mortise_node *needed_by(const struct mortise_graph *g,
                                            const char *plugin)
{
    const struct mortise_node *found = NULL;

    for (uint32_t i = 0; i < g->n_nodes && found == NULL; i++) {
        const struct mortise_node *n = &g->nodes[i];

        if (needs(n, plugin))
            found = n;
        else if (n->sub != NULL)
            found = needed_by(n->sub, plugin);
        if (found == NULL && n->tools != NULL &&
            needed_by(n->tools, plugin) != NULL)
            found = n;
    }
    return found;
}

/* A plugin itself, at the first node that needs it. */
static int try_needed(struct mortise_cli *cli, const struct mortise_graph *g,
                      const char *plugin, struct mortise_diags *diags,
                      int *worst, struct mortise_err *err)
{
    const struct mortise_node *n = needed_by(g, plugin);
    char what[272];

    snprintf(what, sizeof what, "'%.256s'", plugin);
    return try_named(cli, plugin, what, n != NULL ? n->span : g->tree->span,
                     diags, worst, err);
}

int mortise_bring_up(struct mortise_cli *cli,
                     const struct mortise_deployment *d,
                     const struct mortise_graph *g, struct mortise_diags *diags,
                     struct mortise_err *err)
{
    int worst = MORTISE_OK, rv = MORTISE_OK;
    const struct mortise_tool_pin *tool;
    struct configured c;

    for (size_t i = 0; rv == MORTISE_OK && i < g->n_plugins; i++) {
        if (mortise_deployment_is_tool(d, g->plugins[i], &tool))
            continue; /* its plugin is there, too */
        rv = is_configured(d, g->plugins[i], &c)
                 ? try_configured(cli, c, diags, &worst, err)
                 : try_needed(cli, g, g->plugins[i], diags, &worst, err);
    }
    for (size_t i = 0; rv == MORTISE_OK && i < g->n_models; i++)
        rv = try_configured(
            cli, configured_model(mortise_model_find(&d->models, g->models[i])),
            diags, &worst, err);
    return rv == MORTISE_OK ? worst : rv;
}
