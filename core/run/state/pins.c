/* pins.c -- pinned digests of plugins, and of the definitions of tools (R4).
 *
 * A run pins the digest of each plugin that its graph names.  If a plugin has
 * changed, the run pauses until the old plugin is back or a person accepts the
 * new one.  A tool of an MCP server is defined by the deployment's lock, not by
 * its plugin.  So the run also pins the digest of each tool definition that its
 * graph names or offers to a model, as "tool:PLUGIN/OPERATION".
 *
 *   (1) An accepted plugin is recorded in the commit of the command that
 *       accepted it.  So the next process need not ask again, and the history
 *       shows which plugin ran when.
 *   (2) An approval is valid for one plugin and one tool definition.  If one of
 *       them changes, a person is asked again about calls that wait for
 *       approval, and about approved calls that have not started.
 *   (2a) The plugin that connects to a model is not named in the graph, but by
 *       the asking plugin: it is pinned at its first use.
 *   (3) An unsigned plugin is recorded as "dev:DIGEST".  The run is marked from
 *       then on, even if a signed plugin replaces it: the unsigned one ran.
 */
#include <assert.h>
#include <string.h>

#include "core/run/state/state.h"

static const char dev[] = "dev:";

static struct mortise_pin *named_pin(const struct mortise_run *r,
                                     const char *plugin)
{
    for (size_t i = 0; i < r->n_pins; i++) {
        if (strcmp(r->pins[i].plugin, plugin) == 0)
            return &r->pins[i];
    }
    return NULL;
}

/* Is this "tool:PLUGIN/OPERATION" of the node? */
static bool is_tool_pin_of(const char *named_pin, const struct mortise_node *n)
{
    static const char prefix[] = MORTISE_TOOL_PIN_PREFIX;
    size_t len = strlen(n->plugin);

    if (strncmp(named_pin, prefix, sizeof prefix - 1) != 0)
        return false;
    named_pin += sizeof prefix - 1;
    return strncmp(named_pin, n->plugin, len) == 0 && named_pin[len] == '/' &&
           strcmp(named_pin + len + 1, n->operation) == 0;
}

bool mortise_pins_is_of_node(const char *named_pin,
                             const struct mortise_node *n)
{
    return strcmp(named_pin, n->plugin) == 0 || is_tool_pin_of(named_pin, n);
}

const uint8_t *mortise_pins_get_tool(const struct mortise_run *r,
                                     const struct mortise_node *n)
{
    for (size_t i = 0; i < r->n_pins; i++)
        if (is_tool_pin_of(r->pins[i].plugin, n))
            return r->pins[i].digest;
    return NULL;
}

const uint8_t *mortise_pins_get_digest(const struct mortise_run *r,
                                       const char *plugin)
{
    static const uint8_t none[MORTISE_DIGEST];
    const struct mortise_pin *p = named_pin(r, plugin);

    return p != NULL ? p->digest : none;
}

static json_t *build_pins_json(const struct mortise_pin *pins, size_t n,
                               bool marked)
{
    json_t *out = json_object();

    for (size_t i = 0; out != NULL && i < n; i++) {
        char hex[MORTISE_DIGEST_HEX];

        mortise_hex_encode(hex, pins[i].digest, MORTISE_DIGEST);
        if (json_object_set_new(
                out, pins[i].plugin,
                json_sprintf("%s%s", marked && pins[i].dev ? dev : "", hex)) !=
            0)
            mortise_json_clear_ref(&out);
    }
    return out;
}

json_t *mortise_pins_make_entry_json(const struct mortise_pin *pins, size_t n)
{
    return build_pins_json(pins, n, true);
}

json_t *mortise_pins_make_show_json(const struct mortise_run *r)
{
    return build_pins_json(r->pins, r->n_pins, false);
}

bool mortise_pins_has_unsigned(const struct mortise_run *r)
{
    for (size_t i = 0; i < r->n_pins; i++) {
        if (r->pins[i].dev)
            return true;
    }
    return false;
}

json_t *mortise_pins_list_unsigned(const struct mortise_run *r)
{
    json_t *out = json_array();

    for (size_t i = 0; out != NULL && i < r->n_pins; i++) {
        if (r->pins[i].dev &&
            json_array_append_new(out, json_string(r->pins[i].plugin)) != 0)
            mortise_json_clear_ref(&out);
    }
    return out;
}

/* ---- entries ------------------------------------------------------------- */

static bool is_unsigned_digest(const json_t *value)
{
    const char *s = json_string_value(value);

    return s != NULL && strncmp(s, dev, sizeof dev - 1) == 0;
}

static int read_pin_digest(struct mortise_pin *p, const json_t *value,
                           struct mortise_err *err)
{
    size_t skip = is_unsigned_digest(value) ? sizeof dev - 1 : 0;

    p->dev |= is_unsigned_digest(value);
    if (json_is_string(value) &&
        mortise_hex_decode(p->digest, MORTISE_DIGEST,
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
        if (read_pin_digest(p, value, err) != MORTISE_OK)
            return err->code;
        r->n_pins++;
    }
    return MORTISE_OK;
}

int mortise_pins_record_used(struct mortise_run *r,
                             const struct mortise_pin *used,
                             struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_USES};

    return named_pin(r, used->plugin) != NULL
               ? MORTISE_OK
               : mortise_run_record_value(
                     r, &e, mortise_pins_make_entry_json(used, 1), err);
}

int mortise_pins_replace(struct mortise_run *r, const json_t *pins,
                         struct mortise_err *err)
{
    const char *key;
    json_t *value;

    json_object_foreach(mortise_json_unconst(pins), key, value)
    {
        struct mortise_pin *p = named_pin(r, key);

        if (p == NULL)
            return mortise_fail(
                err, MORTISE_ECORRUPT,
                "the run has no pin of '%s' that the new pin could replace",
                key);
        if (read_pin_digest(p, value, err) != MORTISE_OK)
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

        if (!is_unsigned_digest(value))
            continue;
        if (mortise_run_has_watcher(r))
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
