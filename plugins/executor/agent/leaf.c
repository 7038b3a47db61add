/* leaf.c -- leaves: workers who know their goal, and what those came to whom they
 * depend on.
 *
 * Messages, in this order, and nothing else:
 *
 *   system   the role, if there is one, an empty line, and the goal
 *   user     of each predecessor  `Result of ID:`, an empty line, and its output; of
 *            one that gave none    `Result of ID: none, it was STATUS.`
 *            of a team             `Goal of ID:`, an empty line, and its goal
 *   user     the goal
 *
 * Beside its tools a leaf is offered report_result (reports.c): to call it is to be
 * done.  A reply that calls nothing is the output, as of gmi. */
#include "agent.h"

/* ---- what it is told ---------------------------------------------------------- */

static mortise_status put(struct bytes *to, const char *text)
{
    return bytes_put(to, mortise_strz(text));
}

/* A text is itself, any other value its JSON. */
static mortise_status put_value(struct bytes *to, mortise_jv v)
{
    return mortise_jv_type(v) == MORTISE_JV_STRING
               ? bytes_decode(to, v)
               : bytes_put(to, mortise_strn(v.p, v.n));
}

static mortise_status add_system(struct call *c)
{
    mortise_jv role = mortise_jv_get(c->node, "role");
    struct bytes text = {0};
    mortise_status status = MORTISE_S_OK;

    if (mortise_jv_type(role) != MORTISE_JV_NONE) {
        status = bytes_decode(&text, role);
        if (status == MORTISE_S_OK)
            status = put(&text, "\n\n");
    }
    if (status == MORTISE_S_OK)
        status = put_value(&text, mortise_jv_get(c->node, "goal"));
    if (status == MORTISE_S_OK)
        status = agent_add_text(&c->ahead, "system", bytes_str(&text));
    bytes_free(&text);
    return status;
}

/* HEAD ID TAIL */
static mortise_status put_head(struct bytes *to, const char *head,
                               mortise_jv id, const char *tail)
{
    mortise_status status = put(to, head);

    if (status == MORTISE_S_OK)
        status = bytes_decode(to, id);
    return status == MORTISE_S_OK ? put(to, tail) : status;
}

static mortise_status put_predecessor(struct bytes *to, mortise_jv one)
{
    mortise_jv id = mortise_jv_get(one, "id");
    mortise_jv goal = mortise_jv_get(one, "goal");
    mortise_jv output = mortise_jv_get(one, "output");
    mortise_status status;

    if (mortise_jv_type(goal) != MORTISE_JV_NONE) {
        status = put_head(to, "Goal of ", id, ":\n\n");
        return status == MORTISE_S_OK ? put_value(to, goal) : status;
    }
    if (mortise_jv_type(output) != MORTISE_JV_NONE) {
        status = put_head(to, "Result of ", id, ":\n\n");
        return status == MORTISE_S_OK ? put_value(to, output) : status;
    }
    status = put_head(to, "Result of ", id, ": none, it was ");
    if (status == MORTISE_S_OK)
        status = bytes_decode(to, mortise_jv_get(one, "status"));
    return status == MORTISE_S_OK ? put(to, ".") : status;
}

static mortise_status add_predecessor(struct call *c, mortise_jv one)
{
    struct bytes text = {0};
    mortise_status status = put_predecessor(&text, one);

    if (status == MORTISE_S_OK)
        status = agent_add_text(&c->append, "user", bytes_str(&text));
    bytes_free(&text);
    return status;
}

static mortise_status add_messages(struct call *c, mortise_jv body)
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(body, "predecessors"));
    mortise_status status = add_system(c);
    mortise_jv name, one;

    while (status == MORTISE_S_OK && mortise_jv_next(&it, &name, &one))
        status = add_predecessor(c, one);
    return status == MORTISE_S_OK
               ? agent_add_of(&c->append, "user",
                              mortise_jv_get(c->node, "goal"))
               : status;
}

/* ---- the call -------------------------------------------------------------------- */

mortise_status agent_begin_leaf(struct call *c, mortise_jv body)
{
    c->own = AGENT_REPORTS | (agent_says(c, "subagents") ? AGENT_TASKS : 0);
    c->mode = MODE_REACTS;
    return add_messages(c, body);
}
