/* amount.c -- durations that may be templates: `timeout` and `wait`.
 *
 * A literal duration is parsed when the graph is loaded.  A template is
 * evaluated and checked when its node starts (core/run/outcome/judge.c).
 */
#include "lang/graph/load/node.h"

const struct mortise_key mortise_duration_forms[2] = {
    {.value = MORTISE_V_DURATION, .min = 1},
    {.value = MORTISE_V_FILLED},
};

void mortise_load_duration(struct mortise_loader *ld,
                           const struct mortise_slot *slot, uint32_t node,
                           uint64_t *ms, struct mortise_tmpl **tmpl)
{
    if (mortise_tmpl_has_expr(slot->value))
        mortise_load_defer(ld, mortise_load_deferred_tmpl, tmpl, slot->value,
                           node, MORTISE_IN_OUTPUT);
    else if (mortise_keys_is_fit(slot, &mortise_duration_forms[0], ld->diags))
        mortise_yaml_parse_duration(slot->value, ms);
}
