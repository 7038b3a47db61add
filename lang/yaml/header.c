/* header.c -- the first lines of each file: apiVersion, kind, metadata.
 *
 * A file of another kind gets one finding, not one for each of its keys.  For a
 * file of a later version, the finding names the version instead of unknown
 * keys.
 */
#include "lang/yaml/header.h"

#include <string.h>

#include "core/base/name.h"

static const char api_version[] = "mortise/v1";

const struct mortise_word mortise_api_versions[] = {{.word = api_version},
                                                    {.word = NULL}};

static const char *const kinds[] = {"Graph", "Deployment", "Plugin",
                                    "Trust", "Test",       "Lock"};

/* The correct spelling of a misspelt kind; NULL: the kind is not misspelt. */
static const char *correct_kind(const char *key, const struct mortise_yaml *v)
{
    const char *near = strcmp(key, "kind") == 0
                           ? mortise_nearest_find(
                                 v->str, kinds, sizeof kinds / sizeof kinds[0])
                           : NULL;

    return near == NULL || strcmp(near, v->str) == 0 ? NULL : near;
}

static void expect_value(const struct mortise_yaml *root, const char *key,
                         const char *want, struct mortise_diags *diags)
{
    const struct mortise_yaml *v = mortise_yaml_get(root, key);
    struct mortise_diag *d;

    if (v == NULL) {
        d = mortise_diag_add(diags, "E0210", root->span, "the file has no '%s'",
                             key);
    } else if (v->kind == MORTISE_YAML_STRING && strcmp(v->str, want) == 0) {
        return;
    } else if (v->kind == MORTISE_YAML_STRING && correct_kind(key, v) != NULL) {
        d = mortise_diag_add(diags, "E0210", v->span, "unknown kind '%s'",
                             v->str);
        want = correct_kind(key, v);
    } else {
        d = mortise_diag_add(diags, "E0210", v->span, "'%s' must be %s here",
                             key, want);
    }
    mortise_diag_help(diags, d, "write %s: %s", key, want);
}

bool mortise_header_check(const struct mortise_yaml *root, const char *kind,
                          struct mortise_diags *diags)
{
    size_t errors = diags->n_errors;

    if (root->kind != MORTISE_YAML_MAP) {
        mortise_diag_add(diags, "E0210", root->span,
                         "a %s must be a mapping, not %s", kind,
                         mortise_yaml_kind_name(root->kind));
        return false;
    }
    expect_value(root, "apiVersion", api_version, diags);
    expect_value(root, "kind", kind, diags);
    return diags->n_errors == errors;
}

/* ---- metadata -------------------------------------------------------- */

bool mortise_header_check_name(const struct mortise_yaml *v, const char *what,
                               struct mortise_diags *diags)
{
    if (mortise_name_is_valid(v->str))
        return true;
    mortise_diag_help(diags,
                      mortise_diag_add(diags, "E0211", v->span,
                                       "'%s' cannot be %s", v->str, what),
                      "use at most 128 letters, digits, '.', '_' and '-', and "
                      "begin with a letter or digit");
    return false;
}

static void read_header_name(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    struct mortise_metadata *m = into;

    if (mortise_header_check_name(slot->value, "a name", ctx))
        m->name = slot->value->str;
}

static void read_labels(void *ctx, void *into, const struct mortise_slot *slot)
{
    const struct mortise_yaml *map = slot->value;

    (void)into;
    for (size_t i = 0; i < map->n; i++)
        if (map->items[i]->kind != MORTISE_YAML_STRING)
            mortise_diag_add(ctx, "E0203", map->items[i]->span,
                             "label '%s' must be a string, not %s",
                             map->keys[i]->str,
                             mortise_yaml_kind_name(map->items[i]->kind));
}

static const struct mortise_key label = {.value = MORTISE_V_TEXT};

static const struct mortise_key keys[] = {
    {.name = "name",
     .about = "At most 128 letters, digits, '.', '_' and '-'.",
     .value = MORTISE_V_STRING,
     .required = true,
     .read = read_header_name},
    {.name = "version",
     .about = "The version, in your own scheme.",
     .value = MORTISE_V_STRING,
     MORTISE_INTO_TEXT(struct mortise_metadata, version)},
    {.name = "description",
     .about = "A description for people.",
     .value = MORTISE_V_STRING},
    {.name = "labels",
     .about = "Maps names to strings, for your own use.",
     .value = MORTISE_V_MAP,
     .each = &label,
     .read = read_labels},
};

const struct mortise_place mortise_metadata_place = {
    MORTISE_PLACE_OF("metadata", keys)};

void mortise_metadata_read(struct mortise_metadata *out,
                           const struct mortise_slot *slot,
                           struct mortise_diags *diags)
{
    *out = (struct mortise_metadata){NULL, ""};
    mortise_keys_read_slot(slot, diags, out, diags);
}
