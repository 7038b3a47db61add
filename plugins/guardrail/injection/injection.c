/* injection.c -- texts that try to tell a model what to do.
 *
 * Made for what comes from outside: results of tools, pages, mails, documents,
 * what is recalled.  Each string of the payload, the names of members included,
 * gets a score, the sum of its signals, each with the weight of the heaviest
 * thing that was found of it:
 *
 *   override    what was said before is to count no more
 *   role        it plays somebody else's part: markup of chat formats, "System:"
 *   persona     the model is to be somebody without rules
 *   leak        the model is to tell its instructions
 *   exfiltrate  something is to be sent somewhere, by words or by a picture's
 *               address
 *   conceal     somebody is not to hear of it
 *   address     it speaks to a model
 *   hidden      characters that nobody sees: tags, forced directions, many
 *               joiners in a row
 *   encoded     any of these in base64 or in percent signs
 *
 * One strong signal or two weak ones are a violation.  Its reason names them and
 * the place, never the text.  Nothing is offered as replacement: what is left of
 * an instruction when a part of it is taken out, nobody knows.
 *
 * Config (of the deployment), all of it optional
 *   threshold  1 to 200: the score that is a violation                    (50)
 *   signals    [names]   which are counted                               (all)
 *   allow      [texts]   a string that is one of these, to the byte, is let
 *                        pass
 *
 * A guardrail of a deployment
 *   guardrails:
 *     strangers: {plugin: injection, config: {threshold: 40}}
 *
 * These are rules of thumb.  Somebody who knows them writes a text that passes,
 * and some texts about such texts do not; docs/security.md has how often on a
 * corpus that was held out.  What a model may do is bounded by the tools it has,
 * by approvals and by guardrails of what leaves it, not by this.
 *
 * It takes time in proportion to the text.  Rules do not change after create(),
 * so any number of checks may run at once. */
#include "injection.h"

#include <stdio.h>

#include "../../create.h"

enum { THRESHOLD = 50, THRESHOLD_MAX = 200, ALLOWED = 256 };

static const char *const names[SIGNALS] = {
    [OVERRIDE] = "override",     [ROLE] = "role",
    [PERSONA] = "persona",       [LEAK] = "leak",
    [EXFILTRATE] = "exfiltrate", [CONCEAL] = "conceal",
    [ADDRESS] = "address",       [HIDDEN] = "hidden",
    [ENCODED] = "encoded",
};

struct mortise_inst {
    mortise_host *host; /* lent until destroy(), as is the table */
    const mortise_host_api *api;
    bool counted[SIGNALS];
    unsigned threshold;
    struct bytes allowed; /* texts, one behind the other */
    struct {
        uint64_t from, to;
    } allow[ALLOWED];
    size_t n_allow;
};

/* ---- texts (payload.h) --------------------------------------------------- */

struct judge {
    const struct mortise_inst *inst;
    struct bytes room;
};

static bool is_allowed(const struct mortise_inst *i, mortise_str s)
{
    for (size_t k = 0; k < i->n_allow; k++)
        if (i->allow[k].to - i->allow[k].from == s.n &&
            memcmp(i->allowed.p + i->allow[k].from, s.p, s.n) == 0)
            return true;
    return false;
}

/* "signs of an injection (override, leak)", as far as there is room. */
static void put_words(const struct score *score, char what[PAYLOAD_WHAT])
{
    size_t n = (size_t)snprintf(what, PAYLOAD_WHAT, "an injection");
    const char *between = " (";

    for (size_t k = 0; k < SIGNALS; k++) {
        if (score->of[k] == 0 || n + strlen(names[k]) + 4 > PAYLOAD_WHAT)
            continue;
        n += (size_t)sprintf(what + n, "%s%s", between, names[k]);
        between = ", ";
    }
    strcpy(what + n, ")");
}

static enum payload_result look(void *ud, mortise_str member, mortise_str text,
                                char what[PAYLOAD_WHAT])
{
    struct judge *j = ud;
    struct score score = {.of = {0}};

    (void)member;
    injection_words(text, &score);
    injection_marks(text, &score);
    if (!injection_coded(text, &score, &j->room))
        return PAYLOAD_NOMEM;
    for (size_t k = 0; k < SIGNALS; k++)
        if (!j->inst->counted[k])
            score.of[k] = 0;
    if (score_sum(&score) < j->inst->threshold || is_allowed(j->inst, text))
        return PAYLOAD_CLEAN;
    put_words(&score, what);
    return PAYLOAD_FOUND;
}

static bool mask(void *ud, mortise_str member, mortise_str *text, bool *changed)
{
    (void)ud;
    (void)member;
    (void)text;
    *changed = false;
    return false;
}

static mortise_status check(mortise_inst *i, uint32_t stage,
                            const mortise_request *r)
{
    static const struct payload_rules rules = {look, mask, "is at",
                                               "is in the name of a member:"};
    struct judge j = {.inst = i};
    mortise_status status;

    (void)stage; /* whoever names it wants it looked for */
    status = payload_check(i->host, i->api, r, &rules, &j);
    bytes_free(&j.room);
    return status;
}

/* ---- the instance -------------------------------------------------------- */

static void destroy(mortise_inst *i)
{
    bytes_free(&i->allowed);
    free(i);
}

static mortise_status no_config(const struct mortise_inst *i, const char *why)
{
    return create_refuse(i->host, i->api, why);
}

static mortise_status read_signals(struct mortise_inst *i, mortise_jv list)
{
    mortise_jv_iter it = mortise_jv_each(list);
    bool any = list.n == 0;
    mortise_jv v;

    for (size_t k = 0; k < SIGNALS; k++)
        i->counted[k] = list.n == 0;
    while (mortise_jv_next(&it, NULL, &v)) {
        size_t k = 0;

        while (k < SIGNALS && !mortise_jv_is(v, mortise_strz(names[k])))
            k++;
        if (k == SIGNALS)
            return no_config(
                i,
                "signals has an unknown name; the names are override, role, "
                "persona, leak, exfiltrate, conceal, address, hidden, encoded");
        any = i->counted[k] = true;
    }
    return any ? MORTISE_S_OK
               : no_config(
                     i,
                     "signals is empty, so the guardrail would check nothing");
}

static mortise_status read_allow(struct mortise_inst *i, mortise_jv list)
{
    mortise_jv_iter it = mortise_jv_each(list);
    mortise_jv v;

    while (mortise_jv_next(&it, NULL, &v)) {
        mortise_status status;

        if (i->n_allow == ALLOWED)
            return no_config(i, "allow has more than 256 texts");
        i->allow[i->n_allow].from = i->allowed.n;
        status = bytes_decode(&i->allowed, v);
        if (status == MORTISE_S_NOMEM)
            return no_config(i, "out of memory");
        if (status != MORTISE_S_OK)
            return no_config(i, "allow must be a list of texts");
        i->allow[i->n_allow++].to = i->allowed.n;
    }
    return MORTISE_S_OK;
}

static mortise_status configure(mortise_inst *i, mortise_str config)
{
    mortise_status status;
    mortise_jv body, v;
    int64_t n = THRESHOLD;

    if (mortise_jv_parse(config, &body) != MORTISE_S_OK)
        return no_config(i, "the config is not JSON");
    v = mortise_jv_get(body, "threshold");
    if (v.n > 0 &&
        (mortise_jv_int(v, &n) != MORTISE_S_OK || n < 1 || n > THRESHOLD_MAX))
        return no_config(i, "threshold must be a number from 1 to 200");
    i->threshold = (unsigned)n;
    status = read_signals(i, mortise_jv_get(body, "signals"));
    return status == MORTISE_S_OK ? read_allow(i, mortise_jv_get(body, "allow"))
                                  : status;
}

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    struct mortise_inst *i = calloc(1, sizeof *i);

    if (i != NULL) {
        i->host = host;
        i->api = api;
    }
    return create_configured(i, host, api, config, configure, destroy, out);
}

static const mortise_guardrail guardrail = {sizeof guardrail, 0, check};

static const void *get_interface(mortise_inst *i, const char *id)
{
    (void)i;
    return strcmp(id, MORTISE_GUARDRAIL_2) == 0 ? &guardrail : NULL;
}

static const mortise_plugin plugin = {
    .size = sizeof plugin,
    .id = "injection",
    .version = "0.1.0",
    .create = create,
    .get_interface = get_interface,
    .destroy = destroy,
};

MORTISE_MODULE_OF(plugin);
