/* kind_memory.c -- plugins that store traces and find them again:
 * mortise.memory/1.
 *
 * read() finds traces, write() stores them, forget() removes them.  A read
 * changes nothing. write() and forget() can be repeated, so a caller that does
 * not know the result calls again. */
#include <mortise/memory.h>

#include "core/plugin/kind.h"
#include "core/plugin/reading.h"

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
MORTISE_KIND_PLACE(memory);

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

static const char *find_memory_gap(const void *interface,
                                   const struct mortise_manifest *m)
{
    const mortise_memory *x = interface;

    (void)m;
    return x == NULL || x->size < sizeof *x || x->read == NULL ||
                   x->write == NULL || x->forget == NULL
               ? MORTISE_MEMORY_1
               : NULL;
}

static int32_t call_memory_read(const void *interface,
                                struct mortise_inst *inst, uint32_t stage,
                                const struct mortise_request *request)
{
    const mortise_memory *x = interface;

    (void)stage;
    return x->read(inst, request);
}

static int32_t call_memory_write(const void *interface,
                                 struct mortise_inst *inst, uint32_t stage,
                                 const struct mortise_request *request)
{
    const mortise_memory *x = interface;

    (void)stage;
    return x->write(inst, request);
}

static int32_t call_memory_forget(const void *interface,
                                  struct mortise_inst *inst, uint32_t stage,
                                  const struct mortise_request *request)
{
    const mortise_memory *x = interface;

    (void)stage;
    return x->forget(inst, request);
}

const struct mortise_call_kind mortise_call_recall = {
    .kind = MORTISE_KIND_MEMORY,
    .number = 0,
    .name = "read",
    .may_pend = true,
    .enter = call_memory_read};

const struct mortise_call_kind mortise_call_remember = {
    .kind = MORTISE_KIND_MEMORY,
    .number = 1,
    .name = "write",
    .may_pend = true,
    .enter = call_memory_write};

const struct mortise_call_kind mortise_call_forget = {
    .kind = MORTISE_KIND_MEMORY,
    .number = 2,
    .name = "forget",
    .may_pend = true,
    .enter = call_memory_forget};

static const struct mortise_call_kind *const calls[] = {
    &mortise_call_recall, &mortise_call_remember, &mortise_call_forget};

/* As memory.h documents. */
static const char *const asks[] = {"secret.get/1", "http.request/1",
                                   "model.embed/1", NULL};

const struct mortise_plugin_kind mortise_kind_memory = {
    .name = "memory",
    .interface = MORTISE_MEMORY_1,
    .asks = asks,
    .check = check_directory,
    .lacks = find_memory_gap,
    .calls = calls,
    .n_calls = sizeof calls / sizeof calls[0]};
