/* discovery_pin.c -- `mortise discovery pin`: what a discovery plugin may use from
 * now on of what others told it.
 *
 * A registry is somebody else's, and what it says goes to models.  So an entry of
 * it counts only as somebody saw it once.  What is new, or is not what was pinned,
 * is printed whole; asking whether it is meant would be asking whoever just typed
 * that it is.
 *
 *   (1) The lock is written once, at the end, all or nothing (lock_file.c).  Only
 *       entries that were asked for change in it.
 *   (2) A plugin that does not answer keeps its pins.
 *   (3) Nothing is written that is as it was.
 *   (4) The digests are those that the plugin goes by: nothing is made up here. */
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/nearest.h"
#include "cli/lock_file.h"
#include "cli/oneshot.h"
#include "cli/stop.h"
#include "lang/config/lock.h"
#include "core/engine/common/engine.h"
#include "core/json/value.h"

struct pinning {
    struct mortise_cli *cli;
    struct mortise_oneshot once;
    const struct mortise_deployment *deployment;
    const char *plugin;
    json_t *before; /* {KEY: digest}: what is pinned */
    json_t *reply;  /* has `now` */
    json_t *now;    /* {KEY: {digest, entry}}: what there is */
    json_t *news;   /* {KEY: digest, or null: it is not pinned any more} */
    size_t n_new, n_changed, n_gone;
};

/* ---- which ------------------------------------------------------------------- */

/* Those that are named, or all of them. */
static bool is_meant(const struct pinning *p, const char *key)
{
    const struct mortise_args *a = &p->cli->args;

    for (size_t i = 1; i < a->n_operands; i++)
        if (strcmp(a->operands[i], key) == 0)
            return true;
    return a->n_operands == 1;
}

static int no_key(const struct pinning *p, const char *key,
                  struct mortise_err *err)
{
    const char *known[256], *near;
    size_t n = 0;

    MORTISE_JSON_MEMBERS (name, one, p->now) {
        (void)one;
        if (n < sizeof known / sizeof known[0])
            known[n++] = name;
    }
    near = mortise_nearest(key, known, n);
    return mortise_fail(err, MORTISE_ENOTFOUND,
                        "the discovery plugin '%s' has no entry '%.200s'%s%s%s",
                        p->plugin, key, near != NULL ? "; did you mean '" : "",
                        near != NULL ? near : "", near != NULL ? "'?" : "");
}

static int check_keys(const struct pinning *p, struct mortise_err *err)
{
    const struct mortise_args *a = &p->cli->args;

    for (size_t i = 1; i < a->n_operands; i++)
        if (json_object_get(p->now, a->operands[i]) == NULL &&
            json_object_get(p->before, a->operands[i]) == NULL)
            return no_key(p, a->operands[i], err);
    return MORTISE_OK;
}

/* ---- what is different --------------------------------------------------------- */

static const json_t *digest_now(const struct pinning *p, const char *key)
{
    return json_object_get(json_object_get(p->now, key), "digest");
}

static int note(struct pinning *p, const char *key, const json_t *digest,
                struct mortise_err *err)
{
    int failed =
        digest != NULL
            ? json_object_set(p->news, key, mortise_json_unconst(digest))
            : json_object_set_new(p->news, key, json_null());

    return failed ? mortise_nomem(err) : MORTISE_OK;
}

static int compare(struct pinning *p, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    MORTISE_JSON_MEMBERS (key, was, p->before) {
        const json_t *is = digest_now(p, key);

        if (rv != MORTISE_OK || !is_meant(p, key) || json_equal(was, is))
            continue;
        p->n_gone += is == NULL;
        p->n_changed += is != NULL;
        rv = note(p, key, is, err);
    }
    MORTISE_JSON_MEMBERS (name, one, p->now) {
        if (rv != MORTISE_OK || !is_meant(p, name) ||
            json_object_get(p->before, name) != NULL)
            continue;
        p->n_new++;
        rv = note(p, name, json_object_get(one, "digest"), err);
    }
    return rv;
}

/* ---- for people ---------------------------------------------------------------- */

static void print_key(struct mortise_out *o, enum mortise_style style,
                      const char *sign, const char *key)
{
    mortise_out_style(o, style);
    mortise_out_say(o, "%s %s", sign, key);
    mortise_out_style(o, MORTISE_PLAIN);
    mortise_out_puts(o, "\n");
}

/* All of it: the digest is of all of it. */
static void print_entry(struct mortise_out *o, const json_t *entry)
{
    char *text = json_dumps(entry, JSON_INDENT(2) | JSON_ENCODE_ANY);

    if (text == NULL)
        o->errnum = ENOMEM;
    else
        mortise_out_text(o, text, 4);
    free(text);
}

static void print_difference(struct pinning *p, const char *key,
                             const json_t *digest)
{
    const json_t *was = json_object_get(p->before, key);
    struct mortise_out *o = &p->cli->out;

    if (json_is_null(digest)) {
        print_key(o, MORTISE_BAD, "-", key);
        return;
    }
    print_key(o, was != NULL ? MORTISE_ASKS : MORTISE_GOOD,
              was != NULL ? "~" : "+", key);
    if (was != NULL)
        mortise_out_say(o, "    digest\n    - %s\n    + %s\n    new entry\n",
                        json_string_value(was), json_string_value(digest));
    print_entry(o, json_object_get(json_object_get(p->now, key), "entry"));
}

static void print_all(struct pinning *p)
{
    struct mortise_out *o = &p->cli->out;

    mortise_out_style(o, MORTISE_BOLD);
    mortise_out_say(o, "%s", p->plugin);
    mortise_out_style(o, MORTISE_PLAIN);
    if (json_object_size(p->news) == 0)
        mortise_out_puts(o, ": as pinned\n");
    else
        mortise_out_printf(o, ": %zu new, %zu changed, %zu removed\n", p->n_new,
                           p->n_changed, p->n_gone);
    MORTISE_JSON_MEMBERS (key, digest, p->news)
        print_difference(p, key, digest);
    mortise_out_flush(o);
}

/* ---- pinning ------------------------------------------------------------------- */

static int change(void *ud, json_t *lock, struct mortise_err *err)
{
    struct pinning *p = ud;
    int rv = MORTISE_OK;

    MORTISE_JSON_MEMBERS (key, digest, p->news)
        if (rv == MORTISE_OK)
            rv = mortise_lock_set_found(
                lock, p->plugin, key,
                json_is_null(digest) ? NULL : mortise_json_unconst(digest),
                err);
    return rv;
}

static int write_lock(struct pinning *p, struct mortise_err *err)
{
    char path[PATH_MAX];
    int rv;

    if (json_object_size(p->news) == 0 || p->cli->args.only_check)
        return MORTISE_OK;
    rv = mortise_lock_path(path, p->deployment->path, err);
    return rv == MORTISE_OK
               ? mortise_lock_file_change(p->cli, path, change, p, err)
               : rv;
}

/* What there is, by the plugin itself, and what is pinned of it. */
static int ask(struct pinning *p, struct mortise_err *err)
{
    const struct mortise_yaml *pins;
    int rv = mortise_session_until(p->cli->session, mortise_stop_fd(), err);

    if (rv == MORTISE_OK)
        rv = mortise_cli_call(p->cli, "discovery",
                              json_pack("{s:s}", "plugin", p->plugin), NULL,
                              NULL, &p->reply, err);
    if (rv == MORTISE_OK && p->reply == NULL)
        return mortise_fail(err, MORTISE_ESTATE, "interrupted");
    p->now = json_object_get(p->reply, "entries");
    pins = mortise_lock_discovery(&p->deployment->lock, p->plugin);
    p->before = pins != NULL ? mortise_yaml_json(pins, false) : json_object();
    p->news = json_object();
    return rv == MORTISE_OK && (p->before == NULL || p->news == NULL)
               ? mortise_nomem(err)
               : rv;
}

static int pin(struct pinning *p, struct mortise_err *err)
{
    int rv = ask(p, err);

    if (rv == MORTISE_OK)
        rv = check_keys(p, err);
    if (rv == MORTISE_OK)
        rv = compare(p, err);
    if (rv != MORTISE_OK)
        return rv;
    print_all(p);
    return write_lock(p, err);
}

static int discovery_pin(struct mortise_cli *cli, struct mortise_err *err)
{
    struct pinning p = {.cli = cli, .plugin = cli->args.operands[0]};
    int rv = mortise_oneshot_open(&p.once, cli, err);
    bool differs;

    if (rv == MORTISE_OK) {
        p.deployment =
            mortise_session_engine(cli->session)->settings.deployment;
        rv = pin(&p, err);
    }
    differs = json_object_size(p.news) > 0;
    json_decref(p.before);
    json_decref(p.reply);
    json_decref(p.news);
    mortise_oneshot_close(&p.once);
    return rv == MORTISE_OK && cli->args.only_check && differs
               ? MORTISE_EXIT_FAILED
               : rv;
}

static const struct mortise_opt opts[] = {
    MORTISE_OPT_FLAG("check", only_check,
                     "Write nothing; exit code 1 if anything has changed"),
    MORTISE_OPT_DEPLOYMENT,
    MORTISE_OPT_END,
};

const struct mortise_cmd mortise_cmd_discovery_pin = {
    .name = "discovery pin",
    .operands = "PLUGIN [KEY...]",
    .summary = "Record which registry entries Mortise can use",
    .text =
        "The command asks PLUGIN, one of the deployment's\n"
        "discovery.plugins, for its entries.  For the plugin `registry`,\n"
        "the entries are the servers in the plugin's config, or the\n"
        "entries of an index.  The command prints the entries that are new\n"
        "or have changed.  Then it writes the digests of all entries, or\n"
        "only of the entries with the given KEYs, to the lock file.  The\n"
        "lock file is beside the deployment and has the same name, with\n"
        ".lock at its end (mortise.lock).\n"
        "\n"
        "Mortise uses an entry only if the entry is pinned and has not\n"
        "changed since.  Read the entries that the command prints, because\n"
        "models will read them.  To see the entries before you pin them,\n"
        "use --check.\n",
    .opts = opts,
    .exits = MORTISE_EXITS_STORE | MORTISE_EXITS_FINDINGS,
    .example = "mortise discovery pin registry --check\n"
               "mortise discovery pin registry io.github.example/files",
    .run = discovery_pin,
};
