/* catalog.c -- finds tools, nodes and skills by the words of what they are for.
 *
 * What may be found is what the host offers (the candidates), and the Agent
 * Skills of its config.  What is found, and in which order, things.h says: full
 * text, BM25, stems of English words.  Nothing of it is a model, and nothing is
 * asked of anybody.
 *
 * Config (of the deployment)
 *   skills      [directories]  each is an Agent Skill, or holds some (skill.c);
 *               a relative path counts from the deployment.  They
 *               are read once, when the plugin starts
 *   stop_words  [words]  that say nothing, beside those of English
 *   max_skill   bytes that a SKILL.md may have                       (65536)
 *
 * How much a model is shown of what was found: three tiers,
 *
 *   name      the name alone
 *   summary   NAME: DESCRIPTION
 *   full      of a skill the summary and, behind a blank line, its instructions;
 *             of anything else that takes something, the summary and, in a line
 *             of its own, the schema of that
 *
 * within the tokens of the request (things.h, 5): what is long is cut down before
 * what is good is left out.
 *
 * Error codes
 *   config     the config, or a skill, is none: create() says what is wrong
 *   search     SQLite failed
 *   no_memory* (transient)
 *
 * An instance does not change after create(), so any number of calls may run at
 * once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../create.h"
#include "../../nomem.h"
#include "../../things.h"
#include "catalog.h"

enum { MAX_SKILL = 65536, MAX_STOP = 256 };

struct mortise_inst {
    mortise_host *host;
    const mortise_host_api *api;
    struct skills skills;
    char *stop[MAX_STOP];
    size_t n_stop;
};

/* ---- config -------------------------------------------------------------- */

static mortise_status no_config(struct mortise_inst *i, const char *why)
{
    return mortise_refuse(i->host, i->api, 0, MORTISE_S_INVALID, "permanent",
                          "config", why);
}

static mortise_status read_stop_words(struct mortise_inst *i, mortise_jv list)
{
    mortise_jv_iter it = mortise_jv_each(list);
    mortise_jv one;

    while (mortise_jv_next(&it, NULL, &one)) {
        if (i->n_stop == MAX_STOP)
            return no_config(i, "stop_words can have at most 256 words");
        i->stop[i->n_stop] = things_text(one);
        if (i->stop[i->n_stop++] == NULL)
            return MORTISE_S_NOMEM;
    }
    return MORTISE_S_OK;
}

static mortise_status read_skills(struct mortise_inst *i, mortise_jv list,
                                  int64_t max)
{
    mortise_jv_iter it = mortise_jv_each(list);
    mortise_status status = MORTISE_S_OK;
    mortise_jv one;

    while (status == MORTISE_S_OK && mortise_jv_next(&it, NULL, &one)) {
        char *dir = things_text(one), why[CATALOG_SAYS];

        if (dir == NULL)
            return MORTISE_S_NOMEM;
        if (!skills_read(&i->skills, dir, (size_t)max, why))
            status = no_config(i, why);
        free(dir);
    }
    return status;
}

static mortise_status configure(struct mortise_inst *i, mortise_str config)
{
    int64_t max = MAX_SKILL;
    mortise_status status;
    mortise_jv body, v;

    if (mortise_jv_parse(config, &body) != MORTISE_S_OK)
        return no_config(i, "the config is not JSON");
    v = mortise_jv_get(body, "max_skill");
    if (v.n > 0 &&
        (mortise_jv_int(v, &max) != MORTISE_S_OK || max < 1 || max > 1048576))
        return no_config(i, "max_skill must be 1 to 1048576 bytes");
    status = read_stop_words(i, mortise_jv_get(body, "stop_words"));
    return status == MORTISE_S_OK
               ? read_skills(i, mortise_jv_get(body, "skills"), max)
               : status;
}

static void destroy(mortise_inst *i)
{
    skills_free(&i->skills);
    while (i->n_stop > 0)
        free(i->stop[--i->n_stop]);
    free(i);
}

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    struct mortise_inst *i = calloc(1, sizeof *i);

    if (i != NULL)
        *i = (struct mortise_inst){.host = host, .api = api};
    return create_configured(i, host, api, config, configure, destroy, out);
}

/* ---- a call -------------------------------------------------------------- */

static bool add_skill(struct things *l, const struct skill *s)
{
    struct thing *t = things_add(l);

    if (t == NULL)
        return false;
    t->id = strdup(s->name);
    t->name = strdup(s->name);
    t->kind = strdup("skill");
    t->about = strdup(s->about);
    t->body = s->body;
    return t->id != NULL && t->name != NULL && t->kind != NULL &&
           t->about != NULL;
}

static bool gather(struct things *l, struct mortise_inst *i, mortise_jv body)
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(body, "candidates"));
    mortise_jv one;
    bool ok = true;

    while (ok && mortise_jv_next(&it, NULL, &one)) {
        char *kind = things_text(mortise_jv_get(one, "kind"));

        ok = kind != NULL &&
             (!things_wants(body, kind) || things_candidate(l, one));
        free(kind);
    }
    for (size_t k = 0; ok && k < i->skills.n && things_wants(body, "skill");
         k++)
        ok = add_skill(l, &i->skills.list[k]);
    return ok;
}

static mortise_status discover(mortise_inst *i, const mortise_request *r)
{
    mortise_jv body = mortise_jv_of(r->body);
    struct things l = {0};
    mortise_status status =
        gather(&l, i, body)
            ? things_find(i->host, i->api, r->call, body, &l,
                          (const char *const *)i->stop, i->n_stop)
            : MORTISE_S_NOMEM;

    things_free(&l);
    return status == MORTISE_S_NOMEM ? nomem(i->host, i->api, r->call) : status;
}

static const void *interface_of(mortise_inst *i, const char *id)
{
    static const mortise_discovery discovery = {sizeof discovery, 0, discover,
                                                NULL};

    (void)i;
    return strcmp(id, MORTISE_DISCOVERY_1) == 0 ? &discovery : NULL;
}

static const mortise_plugin plugin = {
    .size = sizeof plugin,
    .id = "catalog",
    .version = "0.1.0",
    .create = create,
    .get_interface = interface_of,
    .destroy = destroy,
};

MORTISE_MODULE_OF(plugin);
