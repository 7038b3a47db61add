/* kind_scale.c -- a kind of plugin that core/ does not know: it weighs, and what
 * is too heavy is a violation. */
#include <stdio.h>

#include "extend/plugin/scale.h"
#include "core/json/value.h"
#include "core/plugin/kind.h"

static const char *lacks(const void *interface,
                         const struct mortise_manifest *m)
{
    const scale *s = interface;

    (void)m;
    return s == NULL || s->size < sizeof *s || s->weigh == NULL ? SCALE_1
                                                                : NULL;
}

static int read_weight(const char *text, size_t n, bool *violation, char *words,
                       size_t size)
{
    json_t *v = NULL;
    int rv = mortise_json_parse(&v, text, n, NULL);
    const json_t *grams = json_object_get(v, "grams");

    if (rv == MORTISE_ENOMEM)
        return rv;
    rv = json_is_integer(grams) ? MORTISE_OK : MORTISE_EINVAL;
    *violation = rv == MORTISE_OK && json_integer_value(grams) > 9;
    snprintf(words, size, "%s",
             rv == MORTISE_OK ? "too heavy" : "{\"grams\": number}");
    json_decref(v);
    return rv;
}

static int32_t weigh(const void *interface, struct mortise_inst *inst,
                     uint32_t stage, const struct mortise_request *request)
{
    const scale *s = interface;

    (void)stage;
    return s->weigh(inst, request);
}

static const struct mortise_call_kind weighing = {.kind = MORTISE_KIND_SCALE,
                                                  .number = 0,
                                                  .name = "weigh",
                                                  .may_pend = true,
                                                  .answer = "weight",
                                                  .read = read_weight,
                                                  .enter = weigh};

static const struct mortise_call_kind *const calls[] = {&weighing};

const struct mortise_plugin_kind mortise_kind_scale = {.name = "scale",
                                                       .interface = SCALE_1,
                                                       .lacks = lacks,
                                                       .calls = calls,
                                                       .n_calls = 1};
