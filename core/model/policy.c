/* policy.c -- the operations that graphs may call, and those that need
 * approval.
 *
 *   (1) deny has precedence over ask, and ask over allow.
 *   (2) If there is an `allow`, an operation that matches no list is denied.
 *   (3) A deployment can only make a graph stricter.  An allowed operation
 *       still needs approval if the graph's hitl_mode requires it.
 *   (4) An operation whose arguments name its object (`judged_as` in its
 *       manifest) is judged by its own name when a graph is loaded, and by the
 *       name with its arguments at each call.  Both must be allowed.
 */
#include "core/model/policy.h"

#include <stdio.h>
#include <string.h>

#include "core/base/wild.h"

static const struct mortise_span *
find_pattern(const struct mortise_patterns *patterns, const char *tool)
{
    for (size_t i = 0; i < patterns->n; i++)
        if (mortise_wild_match(patterns->list[i].text, tool))
            return &patterns->list[i].at;
    return NULL;
}

static enum mortise_judgement judge_tool(const struct mortise_policy *p,
                                         const char *tool,
                                         const struct mortise_span **by)
{
    *by = find_pattern(&p->deny, tool);
    if (*by != NULL)
        return MORTISE_DENY;
    *by = find_pattern(&p->ask, tool);
    if (*by != NULL)
        return MORTISE_ASK;
    *by = find_pattern(&p->allow, tool);
    if (*by != NULL || !p->allow.said)
        return MORTISE_ALLOW;
    *by = &p->allow.at;
    return MORTISE_DENY;
}

enum mortise_judgement mortise_policy_judge(const struct mortise_policy *p,
                                            const char *plugin, const char *op,
                                            const struct mortise_span **by)
{
    char tool[MORTISE_TOOL_MAX];

    snprintf(tool, sizeof tool, "%s/%s", plugin, op);
    return judge_tool(p, tool, by);
}

/* The value of the argument for {NAME} at `at`. *n is its length, *taken that
 * of {NAME}. */
static const char *get_name_argument(const char *at, const json_t *args,
                                     size_t *n, size_t *taken)
{
    size_t name = strcspn(at + 1, "}");
    const json_t *v = json_object_getn(args, at + 1, name);

    *taken = name + 2;
    *n = json_string_length(v);
    return json_string_value(v);
}

/* False: the name is too long or contains a NUL. */
static bool make_call_name(char tool[MORTISE_TOOL_MAX], const char *plugin,
                           const char *judged_as, const json_t *args)
{
    size_t at = (size_t)snprintf(tool, MORTISE_TOOL_MAX, "%s/", plugin);

    while (*judged_as != '\0' && at < MORTISE_TOOL_MAX) {
        size_t n = strcspn(judged_as, "{"), taken = n;
        const char *text =
            n > 0 ? judged_as : get_name_argument(judged_as, args, &n, &taken);

        if (n >= MORTISE_TOOL_MAX - at ||
            (n > 0 && memchr(text, '\0', n) != NULL))
            return false;
        if (n > 0)
            memcpy(tool + at, text, n);
        at += n;
        judged_as += taken;
    }
    if (at >= MORTISE_TOOL_MAX)
        return false;
    tool[at] = '\0';
    return true;
}

enum mortise_judgement mortise_policy_judge_call(const struct mortise_policy *p,
                                                 const char *plugin,
                                                 const char *judged_as,
                                                 const json_t *args,
                                                 char tool[MORTISE_TOOL_MAX],
                                                 const struct mortise_span **by)
{
    if (make_call_name(tool, plugin, judged_as, args))
        return judge_tool(p, tool, by);
    *by = NULL;
    snprintf(tool, MORTISE_TOOL_MAX, "%s/%s", plugin, judged_as);
    return MORTISE_DENY;
}

int mortise_policy_report_denial(const char *tool,
                                 const struct mortise_span *by,
                                 struct mortise_err *why)
{
    if (by == NULL)
        return mortise_fail(
            why, MORTISE_EDENIED,
            "the deployment denies this call, because judged_as (%s) with "
            "these arguments is not a valid name of a tool: it is too long, or "
            "has a NUL",
            tool);
    return mortise_fail(why, MORTISE_EDENIED,
                        "the deployment denies %s (%s:%u:%u)", tool,
                        by->file->path, (unsigned)by->line, (unsigned)by->col);
}
