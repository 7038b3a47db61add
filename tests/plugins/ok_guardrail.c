/* ok_guardrail.c -- behaves: "bad" in the body is a violation, of which
 * "harmless" is offered in its place; "spam" is one without replacement. */
#include "simple.h"

static int has(mortise_str s, const char *word)
{
    size_t n = strlen(word);

    for (uint64_t k = 0; k + n <= s.n; k++)
        if (memcmp(s.p + k, word, n) == 0)
            return 1;
    return 0;
}

static mortise_status check(mortise_inst *i, uint32_t stage,
                            const mortise_request *r)
{
    const char *why = NULL;

    (void)stage;
    if (has(r->body, "bad")) {
        simple_emit(i, r, "\"harmless\"");
        why = "it is bad";
    } else if (has(r->body, "spam")) {
        why = "it is spam";
    }
    return mortise_emit_verdict(i->host, i->api, r->call, why != NULL, why);
}

SIMPLE_GUARDRAIL("ok_guardrail")
