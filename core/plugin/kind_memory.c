/* kind_memory.c -- plugins that store traces and find them again:
 * mortise.memory/1.
 *
 * read() finds traces, write() stores them, forget() removes them.  A read
 * changes nothing. write() and forget() can be repeated, so a caller that does
 * not know the result calls again. */
#include <mortise/memory.h>

#include "core/plugin/kind.h"
#include "core/plugin/manifest.h"

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
    .lacks = find_memory_gap,
    .calls = calls,
    .n_calls = sizeof calls / sizeof calls[0]};
