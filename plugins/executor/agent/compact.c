/* compact.c -- an output is made short, for who depends on it: {node, output, words}
 * -> a text.  `node` has the node's id, type, goal and llm; what is not there was not
 * said.  One call of a model: the host has a way out where that fails. */
#include "agent.h"

#include <inttypes.h>

static const char task[] =
    "Make what you are given shorter, for somebody who goes on working with "
    "it. "
    "Keep each fact, name, number, decision and open question that matters for "
    "that, keep lists word for word, and add nothing. Reply with the short "
    "form "
    "alone, of at most %" PRId64 " words.";

static mortise_status add_task(struct call *c, int64_t words)
{
    mortise_jv goal = mortise_jv_get(c->node, "goal");
    struct bytes text = {0};
    mortise_status status;
    char room[512];

    snprintf(room, sizeof room, task, words);
    status = bytes_put(&text, mortise_strz(room));
    if (mortise_jv_type(goal) == MORTISE_JV_STRING) {
        if (status == MORTISE_S_OK)
            status = bytes_put(&text, mortise_strz("\n\nIt came of this: "));
        if (status == MORTISE_S_OK)
            status = bytes_decode(&text, goal);
    }
    if (status == MORTISE_S_OK)
        status = agent_add_text(&c->ahead, "system", bytes_str(&text));
    bytes_free(&text);
    return status;
}

mortise_status agent_begin_compact(struct call *c, mortise_jv body)
{
    int64_t words = 250;
    mortise_status status;

    c->quiet = 1;
    c->left = 1;
    mortise_jv_int(mortise_jv_get(body, "words"), &words);
    status = add_task(c, words);
    return status == MORTISE_S_OK ? agent_add_of(&c->append, "user",
                                                 mortise_jv_get(body, "output"))
                                  : status;
}
