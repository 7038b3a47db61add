/* discover.c -- ask all discovery plugins of the deployment, and merge their
 * answers.
 *
 *   (1) All plugins are asked at once, each in a call that serves the asking
 *       call: with its run and node, and with the permissions of the plugin's
 *       own instance.  Asks of these calls are part of the asking call
 *       (host_calls.c (7)).
 *   (2) A plugin that fails, crashes, takes longer than LOOK_MS or returns an
 *       invalid answer (found.c) is listed as failed; the other answers count.
 *   (3) The look is over when each plugin has answered or failed.  Its result
 *       depends only on the answers, not on their order in time.
 */
#include "core/engine/runs/discover.h"

#include <stdio.h>
#include <string.h>

#include "core/engine/common/found.h"
#include "core/engine/common/secret_store.h"
#include "mortise/plugin.h"

enum { LOOK_MS = 20000, NOBODY = 512 /* bytes of the message */ };

struct asked_plugin { /* one plugin that is asked */
    struct mortise_result_receiver result_receiver;
    struct mortise_discovery_search *of;
    const char *plugin;
    json_t *list; /* its results; NULL: none yet, or it failed */
    json_t *failed;
};

struct mortise_discovery_search {
    struct mortise_call_replacement waiting;
    struct mortise *m;
    json_t *request;
    mortise_discovery_done_fn *done;
    void *ud;
    bool nomem;
    size_t n, out; /* plugins without an answer */
    bool asking;   /* not all were asked yet */
    struct asked_plugin of[];
};

static void free_discovery(struct mortise_discovery_search *l)
{
    for (size_t i = 0; i < l->n; i++) {
        json_decref(l->of[i].list);
        json_decref(l->of[i].failed);
    }
    json_decref(l->request);
    mortise_release(l->m->mem, l, sizeof *l + l->n * sizeof l->of[0]);
}

/* No plugin answered: use the message of the first. */
static void format_no_answer(const struct mortise_discovery_search *l,
                             char words[NOBODY])
{
    const json_t *first = l->of[0].failed;

    snprintf(words, NOBODY, "no discovery plugin answered: %s: %.400s",
             mortise_json_get_text(first, "plugin"),
             mortise_json_get_text(first, "message"));
}

/* {results, failed?}; NULL: out of memory. */
static json_t *make_found_answer(const struct mortise_discovery_search *l,
                                 bool *nobody)
{
    json_t *lists[MORTISE_DISCOVERERS_MAX], *failed = json_array(), *results;
    int rv = failed != NULL ? 0 : -1;

    *nobody = l->n > 0;
    for (size_t i = 0; i < l->n; i++) {
        lists[i] = l->of[i].list;
        *nobody &= lists[i] == NULL;
        if (rv == 0 && l->of[i].failed != NULL)
            rv = json_array_append(failed, l->of[i].failed);
    }
    results = rv == 0 ? mortise_found_merge(l->request, lists, l->n) : NULL;
    if (json_array_size(failed) == 0)
        mortise_json_clear_ref(&failed);
    return json_pack("{s:o, s:o*}", "results", results, "failed", failed);
}

static void end_discovery_if_over(struct mortise_discovery_search *l)
{
    mortise_discovery_done_fn *done = l->done;
    void *ud = l->ud;
    char words[NOBODY];
    bool nobody = false;
    json_t *found;

    if (l->out > 0 || l->asking)
        return;
    found = l->nomem ? NULL : make_found_answer(l, &nobody);
    if (nobody)
        format_no_answer(l, words);
    free_discovery(l);
    done(ud, found, nobody ? words : NULL);
}

static void set_discovery_failed(struct asked_plugin *o, const char *code,
                                 const char *words)
{
    char told[512];

    snprintf(told, sizeof told, "%s", words);
    mortise_secret_store_mask_text(o->of->m->secret_store, told, sizeof told);
    mortise_log(o->of->m, MORTISE_LOG_WARN, "discovery by plugin '%s': %s",
                o->plugin, told);
    o->failed = json_pack("{s:s, s:s, s:o}", "plugin", o->plugin, "code",
                          code[0] != '\0' ? code : "failed", "message",
                          mortise_json_make_string(told, strlen(told)));
    o->of->nomem |= o->failed == NULL;
}

static void on_discovery_answer(struct mortise_result_receiver *h,
                                const struct mortise_host_call_result *how)
{
    struct asked_plugin *o =
        MORTISE_CONTAINER_OF(h, struct asked_plugin, result_receiver);
    struct mortise_discovery_search *l = o->of;
    struct mortise_err why;
    int rv;

    if (how->status == MORTISE_S_OK) {
        rv = mortise_found_check(&o->list, l->request, how->output, &why);
        if (rv == MORTISE_EINVAL)
            set_discovery_failed(o, "bad_output", why.msg);
        l->nomem |= rv == MORTISE_ENOMEM;
    } else {
        set_discovery_failed(o, how->code, how->message);
    }
    l->out--;
    end_discovery_if_over(l);
}

/* `name` is the plugin, or its instance. */
static void ask_discovery_plugin(struct mortise_discovery_search *l,
                                 struct asked_plugin *o, const char *name,
                                 struct mortise_plugin_call *by)
{
    struct mortise_buf text;
    struct mortise_err err;
    int rv;

    mortise_buf_init(&text, l->m->mem);
    rv = mortise_json_write(&text, l->request);
    if (rv == MORTISE_OK)
        rv = mortise_calls_serve_part(by, &o->result_receiver,
                                      &mortise_call_discover, name, &text,
                                      LOOK_MS, &err);
    mortise_buf_finish(&text);
    if (rv == MORTISE_OK)
        return;
    l->nomem = true;
    l->out--;
}

static size_t list_discoverers(const struct mortise_deployment *d,
                               const char *names[MORTISE_DISCOVERERS_MAX],
                               const char *plugins[MORTISE_DISCOVERERS_MAX])
{
    size_t n = 0;

    while (n < MORTISE_DISCOVERERS_MAX &&
           (names[n] = mortise_deployment_get_discoverer(d, n, &plugins[n])) !=
               NULL)
        n++;
    return n;
}

struct mortise_discovery_search *
mortise_discovery_start(struct mortise_plugin_call *by, json_t *request,
                        mortise_discovery_done_fn *done, void *ud)
{
    const char *names[MORTISE_DISCOVERERS_MAX],
        *plugins[MORTISE_DISCOVERERS_MAX];
    size_t n = list_discoverers(by->m->settings.deployment, names, plugins);
    struct mortise_discovery_search *l =
        mortise_zalloc(by->m->mem, sizeof *l + n * sizeof l->of[0]);
    bool over;

    if (l == NULL) {
        done(ud, NULL, NULL);
        return NULL;
    }
    l->m = by->m;
    l->request = json_incref(request);
    l->done = done;
    l->ud = ud;
    l->n = l->out = n;
    l->asking = true;
    for (size_t i = 0; i < n; i++) {
        l->of[i] = (struct asked_plugin){
            .result_receiver = {.hear = on_discovery_answer},
            .of = l,
            .plugin = plugins[i]};
        ask_discovery_plugin(l, &l->of[i], names[i], by);
    }
    l->asking = false;
    over = l->out == 0;
    end_discovery_if_over(l);
    return over ? NULL : l;
}

void mortise_discovery_cancel(struct mortise_discovery_search *l)
{
    for (size_t i = 0; i < l->n; i++)
        mortise_calls_stop_part(&l->of[i].result_receiver);
    free_discovery(l);
}

/* ---- a DISCOVER call of a run -------------------------------------------- */

static void end_run_discovery(void *ud, json_t *found, const char *nobody)
{
    struct mortise_plugin_call *c = ud;

    c->waits = NULL;
    if (found == NULL) {
        c->status = MORTISE_S_NOMEM;
        mortise_call_set_error(c, "memory", "transient", "out of memory");
    } else if (nobody != NULL) {
        c->status = MORTISE_S_FAILED;
        mortise_call_set_error(c, "discovery.failed", "transient", nobody);
        json_decref(found);
    } else {
        c->output = found;
    }
    mortise_task_make_ready(c->m, &c->ended);
}

static void stop_run_discovery(struct mortise_call_replacement *w)
{
    mortise_discovery_cancel(
        MORTISE_CONTAINER_OF(w, struct mortise_discovery_search, waiting));
}

void mortise_discovery_attach_run(struct mortise_plugin_call *c,
                                  const struct mortise_run_call *rc)
{
    struct mortise_discovery_search *l =
        mortise_discovery_start(c, rc->body, end_run_discovery, c);

    if (l == NULL)
        return;
    l->waiting.stop = stop_run_discovery;
    c->waits = &l->waiting;
}
