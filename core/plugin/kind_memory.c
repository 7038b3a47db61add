/* kind_memory.c -- plugins that keep traces and find them again:
 * mortise.memory/1.
 *
 * read() finds, write() keeps, forget() takes away.  A read changes nothing,
 * and the others may be said twice: whoever calls them may call again when it
 * does not know what became of the first time.
 */
#include <mortise/memory.h>

#include "core/plugin/kind.h"
#include "core/plugin/reading.h"

static const struct mortise_key memory_keys[] = {
    MORTISE_THREADS,
    {.name = "as_of",
     .about = "true: the memory can read the traces as of an earlier sequence "
              "number.",
     MORTISE_INTO_BOOL(struct mortise_provides, as_of)},
    {.name = "directory",
     .about = "The member of the config that names the memory's directory. If "
              "the deployment does not set it, the host uses a directory of "
              "the memory's own in the store.",
     .value = MORTISE_V_STRING,
     MORTISE_INTO_TEXT(struct mortise_provides, directory)},
};
MORTISE_KIND_PLACE(memory);

/* What the host puts into the config is looked at like the rest of it. */
static void check_directory(struct mortise_reading *r)
{
    const char *key = r->m->provides[MORTISE_KIND_MEMORY].directory;
    struct mortise_schema_seen seen = {.never = true};
    struct mortise_diag *d;

    if (key == NULL)
        return;
    if (r->m->config_schema != NULL)
        mortise_schema_look(r->m->config_schema, key, &seen);
    else if (mortise_yaml_get(r->m->tree, "config_schema") != NULL)
        return; /* it is broken: a finding already */
    if (!seen.never)
        return;
    d = mortise_diag_add(
        r->diags, "E0710",
        mortise_yaml_get(
            mortise_yaml_get(mortise_yaml_get(r->m->tree, "provides"),
                             "memory"),
            "directory")
            ->span,
        "config_schema has no property '%s' for the memory's directory, which "
        "the host sets",
        key);
    if (seen.near != NULL)
        mortise_diag_help(r->diags, d, "did you mean '%s'?", seen.near);
}

static const char *lacks(const void *interface,
                         const struct mortise_manifest *m)
{
    const mortise_memory *x = interface;

    (void)m;
    return x == NULL || x->size < sizeof *x || x->read == NULL ||
                   x->write == NULL || x->forget == NULL
               ? MORTISE_MEMORY_1
               : NULL;
}

static int32_t recall(const void *interface, struct mortise_inst *inst,
                      uint32_t stage, const struct mortise_request *request)
{
    const mortise_memory *x = interface;

    (void)stage;
    return x->read(inst, request);
}

static int32_t remember(const void *interface, struct mortise_inst *inst,
                        uint32_t stage, const struct mortise_request *request)
{
    const mortise_memory *x = interface;

    (void)stage;
    return x->write(inst, request);
}

static int32_t forget(const void *interface, struct mortise_inst *inst,
                      uint32_t stage, const struct mortise_request *request)
{
    const mortise_memory *x = interface;

    (void)stage;
    return x->forget(inst, request);
}

const struct mortise_call_kind mortise_call_recall = {.kind =
                                                          MORTISE_KIND_MEMORY,
                                                      .number = 0,
                                                      .name = "read",
                                                      .may_pend = true,
                                                      .enter = recall};

const struct mortise_call_kind mortise_call_remember = {.kind =
                                                            MORTISE_KIND_MEMORY,
                                                        .number = 1,
                                                        .name = "write",
                                                        .may_pend = true,
                                                        .enter = remember};

const struct mortise_call_kind mortise_call_forget = {.kind =
                                                          MORTISE_KIND_MEMORY,
                                                      .number = 2,
                                                      .name = "forget",
                                                      .may_pend = true,
                                                      .enter = forget};

static const struct mortise_call_kind *const calls[] = {
    &mortise_call_recall, &mortise_call_remember, &mortise_call_forget};

/* As memory.h says. */
static const char *const asks[] = {"secret.get/1", "http.request/1",
                                   "model.embed/1", NULL};

const struct mortise_plugin_kind mortise_kind_memory = {
    .name = "memory",
    .interface = MORTISE_MEMORY_1,
    .asks = asks,
    .check = check_directory,
    .lacks = lacks,
    .calls = calls,
    .n_calls = sizeof calls / sizeof calls[0]};
