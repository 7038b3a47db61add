/* pins.c -- the plugins that a run goes on with, and definitions of tools (R4).
 *
 * A run pins the digest of each plugin that its graph names.  If one has
 * changed, the run stands still until the old one is back, or until somebody
 * accepts the new one.  A tool of an MCP server is defined by the deployment's
 * lock, and not by its plugin: the run pins the digest of each definition that its
 * graph names, or offers to a model, as "tool:PLUGIN/OPERATION".
 *
 *   (1) What was accepted is recorded, in the commit of the command that said
 *       so: the next process need not be told again, and whoever reads the
 *       history sees which plugin did what.
 *   (2) An approval is for the plugin that it was given for, and for the tool's
 *       definition.  If one of them changes, a person is asked again about calls
 *       that wait for approval, or were approved and have not begun.
 *   (2a) What it asks models by is not named in the graph, but by who asks: that
 *       is pinned when it is used first.
 *   (3) A plugin that nobody signed stands as "dev:DIGEST".  The run says so
 *       from then on, with a signed one in its place, too: what it did before
 *       stays done.
 */
#include <assert.h>
#include <string.h>

#include "lang/config/tool_pins.h"
#include "core/run/state/state.h"

static const char dev[] = "dev:";

static struct mortise_pin *pin(const struct mortise_run *r, const char *plugin)
{
    for (size_t i = 0; i < r->n_pins; i++) {
        if (strcmp(r->pins[i].plugin, plugin) == 0)
            return &r->pins[i];
    }
    return NULL;
}

/* Is that "tool:PLUGIN/OPERATION" of the node? */
static bool is_tool_of(const char *pin, const struct mortise_node *n)
{
    static const char prefix[] = MORTISE_TOOL_PIN_PREFIX;
    size_t len = strlen(n->plugin);

    if (strncmp(pin, prefix, sizeof prefix - 1) != 0)
        return false;
    pin += sizeof prefix - 1;
    return strncmp(pin, n->plugin, len) == 0 && pin[len] == '/' &&
           strcmp(pin + len + 1, n->operation) == 0;
}

bool mortise_pins_is_of(const char *pin, const struct mortise_node *n)
{
    return strcmp(pin, n->plugin) == 0 || is_tool_of(pin, n);
}

const uint8_t *mortise_pins_tool(const struct mortise_run *r,
                                 const struct mortise_node *n)
{
    for (size_t i = 0; i < r->n_pins; i++)
        if (is_tool_of(r->pins[i].plugin, n))
            return r->pins[i].digest;
    return NULL;
}

const uint8_t *mortise_pins_digest(const struct mortise_run *r,
                                   const char *plugin)
{
    static const uint8_t none[MORTISE_DIGEST];
    const struct mortise_pin *p = pin(r, plugin);

    return p != NULL ? p->digest : none;
}

static json_t *list(const struct mortise_pin *pins, size_t n, bool marked)
{
    json_t *out = json_object();

    for (size_t i = 0; out != NULL && i < n; i++) {
        char hex[MORTISE_DIGEST_HEX];

        mortise_hex(hex, pins[i].digest, MORTISE_DIGEST);
        if (json_object_set_new(
                out, pins[i].plugin,
                json_sprintf("%s%s", marked && pins[i].dev ? dev : "", hex)) !=
            0)
            mortise_json_drop(&out);
    }
    return out;
}

json_t *mortise_pins_json(const struct mortise_pin *pins, size_t n)
{
    return list(pins, n, true);
}

json_t *mortise_pins_show(const struct mortise_run *r)
{
    return list(r->pins, r->n_pins, false);
}

bool mortise_pins_dev(const struct mortise_run *r)
{
    for (size_t i = 0; i < r->n_pins; i++) {
        if (r->pins[i].dev)
            return true;
    }
    return false;
}

json_t *mortise_pins_dev_json(const struct mortise_run *r)
{
    json_t *out = json_array();

    for (size_t i = 0; out != NULL && i < r->n_pins; i++) {
        if (r->pins[i].dev &&
            json_array_append_new(out, json_string(r->pins[i].plugin)) != 0)
            mortise_json_drop(&out);
    }
    return out;
}

/* ---- what entries say --------------------------------------------------- */

static bool is_dev(const json_t *value)
{
    const char *s = json_string_value(value);

    return s != NULL && strncmp(s, dev, sizeof dev - 1) == 0;
}

static int read_digest(struct mortise_pin *p, const json_t *value,
                       struct mortise_err *err)
{
    size_t skip = is_dev(value) ? sizeof dev - 1 : 0;

    p->dev |= is_dev(value);
    if (json_is_string(value) &&
        mortise_unhex(p->digest, MORTISE_DIGEST,
                      json_string_value(value) + skip,
                      json_string_length(value) - skip) == 0)
        return MORTISE_OK;
    return mortise_fail(err, MORTISE_ECORRUPT,
                        "the pin of '%s' is not a digest", p->plugin);
}

int mortise_pins_add(struct mortise_run *r, const json_t *pins,
                     struct mortise_err *err)
{
    size_t n = r->n_pins + json_object_size(pins);
    struct mortise_pin *grown =
        mortise_arena_alloc(&r->arena, n * sizeof r->pins[0]);
    const char *key;
    json_t *value;

    if (grown == NULL)
        return mortise_nomem(err);
    if (r->n_pins > 0)
        memcpy(grown, r->pins, r->n_pins * sizeof grown[0]);
    r->pins = grown;
    json_object_foreach(mortise_json_unconst(pins), key, value)
    {
        struct mortise_pin *p = &r->pins[r->n_pins];

        assert(r->n_pins < n);
        *p = (struct mortise_pin){.plugin = NULL};
        p->plugin = mortise_arena_strdup(&r->arena, key);
        if (p->plugin == NULL)
            return mortise_nomem(err);
        if (read_digest(p, value, err) != MORTISE_OK)
            return err->code;
        r->n_pins++;
    }
    return MORTISE_OK;
}

int mortise_pins_use(struct mortise_run *r, const struct mortise_pin *used,
                     struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_USES};

    return pin(r, used->plugin) != NULL
               ? MORTISE_OK
               : mortise_run_record_value(r, &e, mortise_pins_json(used, 1),
                                          err);
}

int mortise_pins_replace(struct mortise_run *r, const json_t *pins,
                         struct mortise_err *err)
{
    const char *key;
    json_t *value;

    json_object_foreach(mortise_json_unconst(pins), key, value)
    {
        struct mortise_pin *p = pin(r, key);

        if (p == NULL)
            return mortise_fail(
                err, MORTISE_ECORRUPT,
                "the run has no pin of '%s' that the new pin could replace",
                key);
        if (read_digest(p, value, err) != MORTISE_OK)
            return err->code;
    }
    return MORTISE_OK;
}

int mortise_pins_announce(struct mortise_run *r, const json_t *pins,
                          struct mortise_err *err)
{
    const char *key;
    json_t *value;

    json_object_foreach(mortise_json_unconst(pins), key, value)
    {
        json_t *extra = NULL;
        int rv;

        if (!is_dev(value))
            continue;
        if (mortise_run_is_seen(r))
            extra =
                json_pack("{s:s, s:s, s:s, s:s}", "code", "unsigned_plugin",
                          "plugin", key, "digest",
                          json_string_value(value) + sizeof dev - 1, "message",
                          "the plugin is not signed: it was loaded from a "
                          "directory of plugins.dev");
        rv = mortise_event_announce(r, NULL, "warning", extra, err);
        if (rv != MORTISE_OK)
            return rv;
    }
    return MORTISE_OK;
}
