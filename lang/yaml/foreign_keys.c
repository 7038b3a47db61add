/* foreign_keys.c -- our names for keys of other systems.
 *
 * Users of other systems write the keys of those systems, which differ too much
 * from ours for a spelling suggestion.  Each row pairs a foreign name with one
 * of ours.  A name with different meanings in different places has several
 * rows.  The first row applies whose own key is allowed in the place.
 *
 * The names are from LangGraph, CrewAI, OpenAI's Agents SDK and API, AgentOS,
 * GitHub Actions and Step Functions.
 */
#include "lang/yaml/foreign_keys.h"

#include <string.h>

static const struct row {
    const char *theirs, *ours;
} rows[] = {
    /* a graph and its nodes */
    {"agents", "nodes"},
    {"jobs", "nodes"},
    {"states", "nodes"},
    {"steps", "nodes"},
    {"tasks", "nodes"},
    {"conditional_edges", "edges"},
    {"entry", "start"},
    {"entry_point", "start"},
    {"entrypoint", "start"},
    {"start_at", "start"},
    {"inputs", "state"},
    {"state_schema", "state"},
    {"variables", "state"},
    {"name", "metadata"},
    {"description", "metadata"},
    {"version", "metadata"},
    {"checkpointer", "checkpoint_policy"},
    {"human_input", "hitl_mode"},
    {"recursion_limit", "limits"},
    {"max_concurrency", "limits"},
    {"max_cost", "budget"},
    {"max_usd", "budget"},
    {"kind", "type"},
    {"node_type", "type"},
    /* edges and order */
    {"source", "from"},
    {"src", "from"},
    {"destination", "to"},
    {"dst", "to"},
    {"goto", "to"},
    {"target", "to"},
    {"then", "to"},
    {"condition", "when"},
    {"guard", "when"},
    {"if", "when"},
    {"if", "condition"},
    {"if", "routes"},
    {"condition", "routes"},
    {"branches", "routes"},
    {"cases", "routes"},
    {"choices", "routes"},
    {"path_map", "routes"},
    {"switch", "routes"},
    {"else", "default"},
    {"otherwise", "default"},
    {"after", "depends_on"},
    {"context", "depends_on"},
    {"dependencies", "depends_on"},
    {"needs", "depends_on"},
    {"requires", "depends_on"},
    {"for_each", "map"},
    {"foreach", "map"},
    {"iterator", "map"},
    {"matrix", "map"},
    {"parallel", "map"},
    {"strategy", "map"},
    {"each", "over"},
    {"items", "over"},
    {"items_path", "over"},
    {"max_concurrency", "max_parallel"},
    {"max-parallel", "max_parallel"},
    /* calls */
    {"action", "tool"},
    {"function", "tool"},
    {"run", "tool"},
    {"uses", "tool"},
    {"arguments", "args"},
    {"input", "args"},
    {"inputs", "args"},
    {"kwargs", "args"},
    {"parameters", "args"},
    {"params", "args"},
    {"with", "args"},
    {"input", "input_mapping"},
    {"inputs", "input_mapping"},
    {"with", "input_mapping"},
    {"output", "output_as"},
    {"output_key", "output_as"},
    {"result_path", "output_as"},
    {"save_as", "output_as"},
    {"output_json", "output_schema"},
    {"output_pydantic", "output_schema"},
    {"output_type", "output_schema"},
    {"response_format", "output_schema"},
    {"timeout-minutes", "timeout"},
    {"timeout_ms", "timeout"},
    {"timeout_seconds", "timeout"},
    {"max_retries", "retry_policy"},
    {"retries", "retry_policy"},
    {"retry", "retry_policy"},
    {"catch", "on_error"},
    {"continue-on-error", "on_error"},
    {"on_failure", "on_error"},
    {"interval", "delay"},
    {"initial_interval", "delay"},
    {"max_interval", "max_delay"},
    {"backoff_factor", "backoff"},
    {"backoff_rate", "backoff"},
    /* models */
    {"allowed_tools", "tool_allowlist"},
    {"functions", "tool_allowlist"},
    {"tools", "tool_allowlist"},
    {"tools", "default_tool_allowlist"},
    {"llm_config", "llm"},
    {"model", "llm"},
    {"model_settings", "llm"},
    {"provider", "llm"},
    {"system", "instructions"},
    {"system_message", "instructions"},
    {"system_prompt", "instructions"},
    {"backstory", "system_prompt_fragment"},
    {"instructions", "system_prompt_fragment"},
    {"system_prompt", "system_prompt_fragment"},
    {"goal", "prompt"},
    {"message", "prompt"},
    {"question", "prompt"},
    {"user_prompt", "prompt"},
    {"description", "goal"},
    {"prompt", "goal"},
    {"task", "goal"},
    {"max_iter", "max_internal_iterations"},
    {"max_iterations", "max_internal_iterations"},
    {"max_turns", "max_internal_iterations"},
    {"max_completion_tokens", "max_tokens"},
    {"max_output_tokens", "max_tokens"},
    {"parallel_tool_calls", "parallel_tools"},
    {"memory", "memory_policy"},
    {"guardrail", "guardrail_policy"},
    {"guardrails", "guardrail_policy"},
    {"input_guardrails", "guardrail_policy"},
    {"output_guardrails", "guardrail_policy"},
    /* people */
    {"approvers", "assignees"},
    {"users", "assignees"},
    {"timeout", "wait"},
};

static const char *find_known(const char *key, const char *const *known,
                              size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (known[i] != NULL && strcmp(known[i], key) == 0)
            return known[i];
    return NULL;
}

const char *mortise_foreign_find_key(const char *name, const char *const *known,
                                     size_t n)
{
    const char *ours = NULL;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && ours == NULL; i++)
        if (strcmp(rows[i].theirs, name) == 0)
            ours = find_known(rows[i].ours, known, n);
    return ours;
}
