/* discovery_pin.c -- `mortise discovery pin`: pin the entries that a discovery
 * plugin may use.
 *
 * A registry belongs to somebody else, and its texts go to models.  So an
 * entry is used only in the form that a person has seen.  New and changed
 * entries are printed in full.  There is no confirmation, because the command
 * itself is one.
 *
 *   (1) The lock file is written once, at the end, atomically (lock_file.c).
 *       Only requested entries change.
 *   (2) If a plugin does not answer, its pins stay.
 *   (3) Nothing is written if nothing has changed.
 *   (4) The digests come from the plugin.
 */
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

struct pin_session {
    struct mortise_cli *cli;
    struct mortise_oneshot once;
    const struct mortise_deployment *deployment;
    const char *plugin;
    json_t *before; /* {KEY: digest}: pinned */
    json_t *reply;  /* contains `now` */
    json_t *now;    /* {KEY: {digest, entry}}: present entries */
    json_t *news;   /* {KEY: digest, or null if the entry is removed} */
    size_t n_new, n_changed, n_gone;
};

/* ---- selecting entries ------------------------------------------------- */

/* Is the entry among the operands?  Without operands, all are. */
static bool is_entry_selected(const struct pin_session *p, const char *key)
{
    const struct mortise_args *a = &p->cli->args;

    for (size_t i = 1; i < a->n_operands; i++)
        if (strcmp(a->operands[i], key) == 0)
            return true;
    return a->n_operands == 1;
}

static int fail_unknown_entry(const struct pin_session *p, const char *key,
                              struct mortise_err *err)
{
    const char *known[256], *near;
    size_t n = 0;

    MORTISE_JSON_MEMBERS (name, one, p->now) {
        (void)one;
        if (n < sizeof known / sizeof known[0])
            known[n++] = name;
    }
    near = mortise_nearest_find(key, known, n);
    return mortise_fail(err, MORTISE_ENOTFOUND,
                        "the discovery plugin '%s' has no entry '%.200s'%s%s%s",
                        p->plugin, key, near != NULL ? "; did you mean '" : "",
                        near != NULL ? near : "", near != NULL ? "'?" : "");
}

static int check_entry_keys(const struct pin_session *p,
                            struct mortise_err *err)
{
    const struct mortise_args *a = &p->cli->args;

    for (size_t i = 1; i < a->n_operands; i++)
        if (json_object_get(p->now, a->operands[i]) == NULL &&
            json_object_get(p->before, a->operands[i]) == NULL)
            return fail_unknown_entry(p, a->operands[i], err);
    return MORTISE_OK;
}

/* ---- differences ------------------------------------------------------- */

static const json_t *get_current_digest(const struct pin_session *p,
                                        const char *key)
{
    return json_object_get(json_object_get(p->now, key), "digest");
}

static int record_difference(struct pin_session *p, const char *key,
                             const json_t *digest, struct mortise_err *err)
{
    int failed =
        digest != NULL
            ? json_object_set(p->news, key, mortise_json_unconst(digest))
            : json_object_set_new(p->news, key, json_null());

    return failed ? mortise_nomem(err) : MORTISE_OK;
}

static int compare_with_pins(struct pin_session *p, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    MORTISE_JSON_MEMBERS (key, was, p->before) {
        const json_t *is = get_current_digest(p, key);

        if (rv != MORTISE_OK || !is_entry_selected(p, key) ||
            json_equal(was, is))
            continue;
        p->n_gone += is == NULL;
        p->n_changed += is != NULL;
        rv = record_difference(p, key, is, err);
    }
    MORTISE_JSON_MEMBERS (name, one, p->now) {
        if (rv != MORTISE_OK || !is_entry_selected(p, name) ||
            json_object_get(p->before, name) != NULL)
            continue;
        p->n_new++;
        rv = record_difference(p, name, json_object_get(one, "digest"), err);
    }
    return rv;
}

/* ---- printing ---------------------------------------------------------- */

static void print_entry_key(struct mortise_out *o, enum mortise_style style,
                            const char *sign, const char *key)
{
    mortise_out_set_style(o, style);
    mortise_out_print_escaped(o, "%s %s", sign, key);
    mortise_out_set_style(o, MORTISE_PLAIN);
    mortise_out_puts(o, "\n");
}

/* Print the whole entry, because the digest covers all of it. */
static void print_whole_entry(struct mortise_out *o, const json_t *entry)
{
    char *text = json_dumps(entry, JSON_INDENT(2) | JSON_ENCODE_ANY);

    if (text == NULL)
        o->errnum = ENOMEM;
    else
        mortise_out_put_text(o, text, 4);
    free(text);
}

static void print_entry_change(struct pin_session *p, const char *key,
                               const json_t *digest)
{
    const json_t *was = json_object_get(p->before, key);
    struct mortise_out *o = &p->cli->out;

    if (json_is_null(digest)) {
        print_entry_key(o, MORTISE_BAD, "-", key);
        return;
    }
    print_entry_key(o, was != NULL ? MORTISE_ATTENTION : MORTISE_GOOD,
                    was != NULL ? "~" : "+", key);
    if (was != NULL)
        mortise_out_print_escaped(
            o, "    digest\n    - %s\n    + %s\n    new entry\n",
            json_string_value(was), json_string_value(digest));
    print_whole_entry(o,
                      json_object_get(json_object_get(p->now, key), "entry"));
}

static void print_pin_changes(struct pin_session *p)
{
    struct mortise_out *o = &p->cli->out;

    mortise_out_set_style(o, MORTISE_BOLD);
    mortise_out_print_escaped(o, "%s", p->plugin);
    mortise_out_set_style(o, MORTISE_PLAIN);
    if (json_object_size(p->news) == 0)
        mortise_out_puts(o, ": as pinned\n");
    else
        mortise_out_printf(o, ": %zu new, %zu changed, %zu removed\n", p->n_new,
                           p->n_changed, p->n_gone);
    MORTISE_JSON_MEMBERS (key, digest, p->news)
        print_entry_change(p, key, digest);
    mortise_out_flush(o);
}

/* ---- pinning ------------------------------------------------------------------- */

static int apply_entry_pins(void *ud, json_t *lock, struct mortise_err *err)
{
    struct pin_session *p = ud;
    int rv = MORTISE_OK;

    MORTISE_JSON_MEMBERS (key, digest, p->news)
        if (rv == MORTISE_OK)
            rv = mortise_lock_set_discovery(
                lock, p->plugin, key,
                json_is_null(digest) ? NULL : mortise_json_unconst(digest),
                err);
    return rv;
}

static int write_pin_lock(struct pin_session *p, struct mortise_err *err)
{
    char path[PATH_MAX];
    int rv;

    if (json_object_size(p->news) == 0 || p->cli->args.only_check)
        return MORTISE_OK;
    rv = mortise_lock_path(path, p->deployment->path, err);
    return rv == MORTISE_OK ? mortise_lock_file_change(p->cli, path,
                                                       apply_entry_pins, p, err)
                            : rv;
}

/* Ask the plugin for its entries, and read the pins. */
static int fetch_entries(struct pin_session *p, struct mortise_err *err)
{
    const struct mortise_yaml *pins;
    int rv = mortise_session_set_until(p->cli->session, mortise_stop_fd(), err);

    if (rv == MORTISE_OK)
        rv = mortise_cli_call(p->cli, "discovery",
                              json_pack("{s:s}", "plugin", p->plugin), NULL,
                              NULL, &p->reply, err);
    if (rv == MORTISE_OK && p->reply == NULL)
        return mortise_fail(err, MORTISE_ESTATE, "interrupted");
    p->now = json_object_get(p->reply, "entries");
    pins = mortise_lock_discovery(&p->deployment->lock, p->plugin);
    p->before =
        pins != NULL ? mortise_yaml_to_json(pins, false) : json_object();
    p->news = json_object();
    return rv == MORTISE_OK && (p->before == NULL || p->news == NULL)
               ? mortise_nomem(err)
               : rv;
}

static int pin_entries(struct pin_session *p, struct mortise_err *err)
{
    int rv = fetch_entries(p, err);

    if (rv == MORTISE_OK)
        rv = check_entry_keys(p, err);
    if (rv == MORTISE_OK)
        rv = compare_with_pins(p, err);
    if (rv != MORTISE_OK)
        return rv;
    print_pin_changes(p);
    return write_pin_lock(p, err);
}

static int discovery_pin(struct mortise_cli *cli, struct mortise_err *err)
{
    struct pin_session p = {.cli = cli, .plugin = cli->args.operands[0]};
    int rv = mortise_oneshot_open(&p.once, cli, err);
    bool differs;

    if (rv == MORTISE_OK) {
        p.deployment =
            mortise_session_engine(cli->session)->settings.deployment;
        rv = pin_entries(&p, err);
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
