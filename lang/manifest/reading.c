/* reading.c -- helpers for parsing the parts of a manifest.
 *
 * manifest.c parses the file, and each kind (kind_NAME.c) the part under its
 * name in `provides`.  Both use these helpers. */
#include "lang/manifest/reading.h"

#include "lang/yaml/schema.h"

void *mortise_manifest_reader_alloc(struct mortise_manifest_reader *r,
                                    size_t size)
{
    void *p = mortise_arena_alloc(&r->m->arena, size);

    if (p == NULL)
        r->nomem = true;
    return p;
}

const struct mortise_yaml *
mortise_manifest_get_part(const struct mortise_manifest_reader *r,
                          const char *kind, const char *key)
{
    const struct mortise_yaml *all = mortise_yaml_get(r->m->tree, "provides");

    return mortise_yaml_get(mortise_yaml_get(all, kind), key);
}

int mortise_diags_fail_first(const struct mortise_diags *d, int code,
                             struct mortise_err *err)
{
    const struct mortise_diag *f = &d->list[0];

    if (d->n == 0)
        return mortise_fail(err, code, "has errors");
    return mortise_fail(err, code, "%s:%u:%u: %s%s%s", f->path, f->span.line,
                        f->span.col, f->message, f->help != NULL ? "; " : "",
                        f->help != NULL ? f->help : "");
}

/* ---- schemas ------------------------------------------------------------- */

static void find_schema_secrets(struct mortise_manifest_reader *r,
                                const struct mortise_slot *slot,
                                struct mortise_secret_places *secrets)
{
    json_t *json = mortise_yaml_to_json(slot->value, false);
    size_t lost = 0;

    if (json == NULL ||
        mortise_secret_places(secrets, &lost, &r->m->arena, json) != MORTISE_OK)
        r->nomem = true;
    json_decref(json);
    if (lost > 0)
        mortise_diag_add(r->diags, "E0704", slot->value->span,
                         "x-secret works only below properties, "
                         "additionalProperties and items; %zu occurrence%s "
                         "elsewhere",
                         lost, lost == 1 ? " is" : "s are");
}

struct mortise_schema *
mortise_manifest_read_schema(struct mortise_manifest_reader *r,
                             const struct mortise_slot *slot,
                             struct mortise_secret_places *secrets)
{
    struct mortise_schema *schema;

    r->nomem |= mortise_yaml_compile_schema(&schema, &r->m->arena, slot->value,
                                            MORTISE_PATTERNS_FOREIGN, false,
                                            r->diags) == MORTISE_ENOMEM;
    if (secrets != NULL)
        find_schema_secrets(r, slot, secrets);
    return schema;
}

/* ---- threading ----------------------------------------------------------- */

const struct mortise_word mortise_threadings[] = {
    {.word = "inline", .value = MORTISE_THREAD_INLINE},
    {.word = "async", .value = MORTISE_THREAD_ASYNC},
    {.word = "blocking", .value = MORTISE_THREAD_BLOCKING},
    {.word = NULL},
};
