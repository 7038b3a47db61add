/* kind_memory.c -- the part of plugins that store traces. */
#include "lang/manifest/reading.h"
#include "lang/schema/schema.h"

static const struct mortise_key memory_keys[] = {
    MORTISE_THREADS,
    {.name = "as_of",
     .about = "true: the memory can read the traces as of an earlier sequence "
              "number.",
     MORTISE_INTO_BOOL(struct mortise_interface, as_of)},
    {.name = "directory",
     .about = "The member of the config that names the memory's directory. If "
              "the deployment does not set it, the host uses a directory of "
              "the memory's own in the store.",
     .value = MORTISE_V_STRING,
     MORTISE_INTO_TEXT(struct mortise_interface, directory)},
};
/* The host adds the directory to the config, which must still match
 * config_schema. */
static void check_directory(struct mortise_manifest_reader *r)
{
    const char *key = r->m->provides[MORTISE_KIND_MEMORY].directory;
    struct mortise_schema_member_info seen = {.never = true};
    struct mortise_diag *d;

    if (key == NULL)
        return;
    if (r->m->config_schema != NULL)
        mortise_schema_find_member(r->m->config_schema, key, &seen);
    else if (mortise_yaml_get(r->m->tree, "config_schema") != NULL)
        return; /* invalid: already a finding */
    if (!seen.never)
        return;
    d = mortise_diag_add(
        r->diags, "E0710",
        mortise_manifest_get_part(r, "memory", "directory")->span,
        "config_schema has no property '%s' for the memory's directory, which "
        "the host sets",
        key);
    if (seen.near != NULL)
        mortise_diag_help(r->diags, d, "did you mean '%s'?", seen.near);
}

MORTISE_KIND_PART(memory, check_directory);
