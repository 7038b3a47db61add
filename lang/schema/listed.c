/* listed.c -- which members a schema lists, for who looks for slips.
 *
 * mortise_schema_member() gives what will certainly hold; here it is asked what
 * a schema's author had in mind.  A member counts as listed wherever a name may
 * stand: in properties, in a pattern, in every branch, condition and reference
 * that judges the same value, whichever of them will hold.  So
 *
 *   (1) what some branch lists is never called a slip, and
 *   (2) NEVER is said of what no value that fits can have, by
 *       mortise_schema_member() itself.
 *
 * Branches of branches that lead to one schema again and again are looked at a
 * bounded number of times; behind the bound anything goes.
 */
#include "lang/schema/compiled.h"

#include <string.h>

#include "core/base/nearest.h"

enum { BOUND = 200 }; /* schemas that are looked at for one name */

struct seeker {
    const char *name;
    struct mortise_schema_seen *out;
    unsigned left;
    uint64_t patterns; /* what they may still cost */
    bool lists;        /* some member is listed */
    bool open;         /* somebody says that there may be others */
};

static void found(struct seeker *k, const struct mortise_schema *s)
{
    struct mortise_schema_seen *out = k->out;

    out->listed = true;
    if (out->n < MORTISE_SCHEMA_SEEN)
        out->schemas[out->n++] = s;
    else
        k->open = true;
}

static void seek_members(struct seeker *k, const struct mortise_schema *s)
{
    const struct mortise_schema *own = mortise_schema_listed(s, k->name);

    k->lists |= s->n_members > 0;
    if (own != NULL)
        found(k, own);
    for (size_t i = 0; own == NULL && i < s->n_members; i++) {
        const char *two[2] = {k->out->near, s->members[i].name};

        k->out->near = mortise_nearest(k->name, two, 2);
    }
}

static void seek_patterns(struct seeker *k, const struct mortise_schema *s)
{
    for (size_t i = 0; i < s->rest->n_patterns; i++) {
        const struct schema_pattern *p = &s->rest->patterns[i];
        bool fits = false;

        if (mortise_schema_matches(s, p, k->name, strlen(k->name), &k->patterns,
                                   &fits, NULL) != MORTISE_OK)
            k->open = true;
        if (fits)
            found(k, p->schema);
    }
}

static void seek(struct seeker *k, const struct mortise_schema *s);

static void seek_list(struct seeker *k, const struct schema_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        seek(k, list->p[i]);
}

static void seek_rest(struct seeker *k, const struct mortise_schema *s)
{
    const struct schema_rest *r = s->rest;

    seek_patterns(k, s);
    seek_list(k, &r->all_of);
    seek_list(k, &r->any_of);
    seek_list(k, &r->one_of);
    seek(k, r->ref.target);
    seek(k, r->then);
    seek(k, r->otherwise);
    for (size_t i = 0; i < r->n_dependents; i++)
        seek(k, r->dependents[i].schema);
    k->open |=
        r->dynamic_ref.target != NULL ||
        (r->unevaluated_members != NULL && r->unevaluated_members->kinds != 0);
}

/* By all that judge the same value; s NULL: nobody does. */
static void seek(struct seeker *k, const struct mortise_schema *s)
{
    if (s == NULL || (s->kinds & MORTISE_T_OBJECT) == 0)
        return;
    if (k->left == 0) {
        k->open = true;
        return;
    }
    k->left--;
    seek_members(k, s);
    k->open |= s->additional != NULL && s->additional->kinds != 0;
    if (s->rest != NULL)
        seek_rest(k, s);
}

void mortise_schema_look(const struct mortise_schema *s, const char *name,
                         struct mortise_schema_seen *out)
{
    struct seeker k = {
        .name = name, .out = out, .left = BOUND, .patterns = MORTISE_COST};
    const struct mortise_schema *certain;

    *out = (struct mortise_schema_seen){.never = false};
    seek(&k, s);
    if (out->listed)
        out->near = NULL;
    certain = out->listed ? NULL : mortise_schema_member(s, name);
    /* Nothing fits it, or no object fits the whole. */
    out->never = (certain != NULL && certain->kinds == 0) ||
                 (!out->listed &&
                  (mortise_schema_types(s) & MORTISE_T_OBJECT) == 0);
    out->others = !out->listed && !out->never && k.lists && !k.open;
    out->open = k.open;
    out->slip = out->near != NULL && mortise_is_slip(name, out->near);
    if (certain != NULL && !out->never)
        out->schemas[out->n++] = certain;
}
