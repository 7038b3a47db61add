/* lone.c -- an engine of its own, for runs of one node: lone.h. */
#include "lib/lone.h"

#include <check.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/json/value.h"

struct mortise *lone;
struct mortise_err lone_err;
char lone_dir[PATH_MAX - 64], lone_run[MORTISE_RUN_MAX];
int lone_status;

void lone_begin(void)
{
    snprintf(lone_dir, sizeof lone_dir, "%s", test_mkdir());
}

/* `more` are lines of the deployment. */
static void open_with(const char *trust, const char *plugins,
                      const char *config, const char *more)
{
    struct mortise_options o = {.size = sizeof o, .mem = &test_mem};
    char text[4 * PATH_MAX], path[PATH_MAX], store[PATH_MAX];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\n"
             "metadata: {name: lone}\n"
             "plugins: {path: [\"%s\"], config: %s}\ntrust: {dir: \"%s\"}\n%s",
             plugins, config, trust, more);
    snprintf(path, sizeof path, "%s/mortise.yaml", lone_dir);
    snprintf(store, sizeof store, "%s/store", lone_dir);
    test_write(path, text, strlen(text));
    o.deployment = path;
    o.store = store;
    ck_assert_msg(mortise_open(&lone, &o, &lone_err) == MORTISE_OK, "%s",
                  lone_err.msg);
    lone->quiesce_ms = 300;
}

void lone_open(const char *trust, const char *plugins, const char *config)
{
    open_with(trust, plugins, config, "");
}

void lone_open_models(const char *trust, const char *plugins,
                      const char *models)
{
    char more[PATH_MAX];

    setenv("LONE_KEY", "0123456789abcdef", 1);
    snprintf(more, sizeof more, "secrets: {key: {env: LONE_KEY}}\nmodels: %s\n",
             models);
    open_with(trust, plugins, "{}", more);
}

void lone_close(void)
{
    mortise_close(lone);
    lone = NULL;
}

void lone_end(void)
{
    lone_close();
    test_rmdir(lone_dir);
}

void lone_start(const char *fmt, ...)
{
    struct mortise_start_options s = {.size = sizeof s};
    struct mortise_graph *g;
    char node[4096], text[8192], path[PATH_MAX], *report = NULL;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(node, sizeof node, fmt, ap);
    va_end(ap);
    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Graph\n"
             "metadata: {name: g, version: 1.0.0}\n"
             "start: a\nnodes:\n  a: {type: tool, %s}\n",
             node);
    snprintf(path, sizeof path, "%s/g.yaml", lone_dir);
    test_write(path, text, strlen(text));
    if (mortise_load(lone, path, &g, &report, &lone_err) != MORTISE_OK)
        ck_abort_msg("%s\n%s", lone_err.msg, report);
    mortise_free(lone, report);
    ck_assert_msg(mortise_start(lone, g, &s, lone_run, &lone_err) == MORTISE_OK,
                  "%s", lone_err.msg);
    mortise_graph_close(g);
}

int lone_finish(void)
{
    ck_assert_msg(mortise_wait(lone, NULL, lone_run, &lone_status, &lone_err) ==
                      MORTISE_OK,
                  "%s", lone_err.msg);
    return lone_status;
}

json_t *lone_shown(const char *member)
{
    char *text;
    json_t *show, *v;

    lone_finish();
    ck_assert_int_eq(mortise_show(lone, NULL, lone_run, &text, &lone_err),
                     MORTISE_OK);
    ck_assert_int_eq(
        mortise_json_parse_written(&show, text, strlen(text), &lone_err),
        MORTISE_OK);
    mortise_free(lone, text);
    v = json_incref(json_object_get(show, member));
    json_decref(show);
    return v;
}

void lone_failed(const char *code, const char *words)
{
    json_t *error = lone_shown("error");
    const char *msg = json_string_value(json_object_get(error, "message"));

    ck_assert_int_eq(lone_status, MORTISE_RUN_FAILED);
    ck_assert_str_eq(json_string_value(json_object_get(error, "code")), code);
    ck_assert_msg(strstr(msg, words) != NULL, "%s", msg);
    json_decref(error);
}
