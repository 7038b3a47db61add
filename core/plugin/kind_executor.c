/* kind_executor.c -- plugins that run operations: mortise.executor/1.
 *
 * Graphs name an operation PLUGIN/OPERATION.  execute() runs it and may end
 * later. reconcile() reports afterwards whether its effect happened.
 * background() is for work of an instance outside of calls.
 *
 * A plugin with `more` has further operations, found at run time and pinned by
 * the deployment's lock.  Their names contain a /, and names in manifests do
 * not, so a lock cannot replace an operation that a signature covers. */
#include <mortise/plugin.h>
#include <assert.h>
#include <string.h>

#include "core/plugin/kind.h"
#include "core/plugin/manifest.h"

static const char *find_executor_gap(const void *interface,
                                     const struct mortise_manifest *m)
{
    const mortise_executor *x = interface;

    if (x == NULL || x->size < offsetof(mortise_executor, background) ||
        x->execute == NULL)
        return MORTISE_EXECUTOR_1;
    if (m->provides[MORTISE_KIND_EXECUTOR].background &&
        (x->size < sizeof *x || x->background == NULL))
        return "background() of " MORTISE_EXECUTOR_1;
    for (size_t k = 0; k < m->n_ops; k++)
        if (m->ops[k].reconcile && x->reconcile == NULL)
            return "reconcile for an operation";
    return NULL;
}

/* The catalogue checks that the operation exists, with the lock that the graphs
 * were checked against. */
static bool is_lock_operation(const struct mortise_manifest *m,
                              const char *operation)
{
    return m->provides[MORTISE_KIND_EXECUTOR].more &&
           strchr(operation, '/') != NULL;
}

static int check_has_operation(const struct mortise_manifest *m,
                               const char *operation, struct mortise_err *err)
{
    if (mortise_manifest_op(m, operation) != NULL ||
        is_lock_operation(m, operation))
        return MORTISE_OK;
    return mortise_fail(err, MORTISE_ENOTFOUND, "plugin %s has no operation %s",
                        m->name, operation);
}

static int check_can_reconcile(const struct mortise_manifest *m,
                               const char *operation, struct mortise_err *err)
{
    const struct mortise_manifest_op *op = mortise_manifest_op(m, operation);
    int rv = check_has_operation(m, operation, err);

    if (rv != MORTISE_OK || (op != NULL && op->reconcile))
        return rv;
    return mortise_fail(err, MORTISE_EINVAL, "plugin %s cannot reconcile %s",
                        m->name, operation);
}

static int32_t call_execute(const void *interface, struct mortise_inst *inst,
                            uint32_t stage,
                            const struct mortise_request *request)
{
    const mortise_executor *x = interface;

    (void)stage;
    return x->execute(inst, request);
}

static int32_t call_reconcile(const void *interface, struct mortise_inst *inst,
                              uint32_t stage,
                              const struct mortise_request *request)
{
    const mortise_executor *x = interface;

    (void)stage;
    return x->reconcile(inst, request);
}

static int check_has_background(const struct mortise_manifest *m,
                                const char *operation, struct mortise_err *err)
{
    assert(operation[0] == '\0'); /* background() has no operation */
    if (m->provides[MORTISE_KIND_EXECUTOR].background)
        return MORTISE_OK;
    return mortise_fail(err, MORTISE_EINVAL, "plugin %s has no background work",
                        m->name);
}

static int32_t call_background(const void *interface, struct mortise_inst *inst,
                               uint32_t stage,
                               const struct mortise_request *request)
{
    const mortise_executor *x = interface;

    (void)stage;
    return x->background(inst, request);
}

const struct mortise_call_kind mortise_call_execute = {
    .kind = MORTISE_KIND_EXECUTOR,
    .number = 0,
    .name = "execute",
    .may_pend = true,
    .may_suspend = true,
    .may_write = true,
    .may_use = true,
    .admit = check_has_operation,
    .enter = call_execute};

const struct mortise_call_kind mortise_call_reconcile = {
    .kind = MORTISE_KIND_EXECUTOR,
    .number = 1,
    .name = "reconcile",
    .may_pend = true,
    .may_write = true,
    .may_use = true,
    .admit = check_can_reconcile,
    .enter = call_reconcile};

const struct mortise_call_kind mortise_call_background = {
    .kind = MORTISE_KIND_EXECUTOR,
    .number = 2,
    .name = "background",
    .may_pend = true,
    .admit = check_has_background,
    .enter = call_background};

static const struct mortise_call_kind *const calls[] = {
    &mortise_call_execute, &mortise_call_reconcile, &mortise_call_background};

const struct mortise_plugin_kind mortise_kind_executor = {
    .name = "executor",
    .interface = MORTISE_EXECUTOR_1,
    .lacks = find_executor_gap,
    .calls = calls,
    .n_calls = sizeof calls / sizeof calls[0]};
