/* listed.c -- the members that a schema lists, for the detection of
 * misspellings.
 *
 * mortise_schema_get_member() returns a schema that certainly applies.  This file
 * finds the members that the author of a schema had in mind.  A member counts
 * as listed wherever a name can be: in properties, in a pattern, in every
 * branch, condition and reference for the same value, whichever of them
 * applies.  So
 *
 *   (1) a member that some branch lists is never called a misspelling, and
 *   (2) `never` is set only if mortise_schema_get_member() shows that no fitting
 *       value can have the member.
 *
 * Nested branches may lead to one schema many times, so the number of visits is
 * bounded.  Beyond the bound, any member is accepted.
 */
#include "lang/schema/compiled.h"

#include <string.h>

#include "core/base/nearest.h"

enum { BOUND = 200 }; /* schemas to visit for one name */

struct seeker {
    const char *name;
    struct mortise_schema_member_info *out;
    unsigned left;
    uint64_t patterns; /* remaining cost of patterns */
    bool lists;        /* some schema lists members */
    bool open;         /* some schema allows further members */
};

static void add_listed_member(struct seeker *k, const struct mortise_schema *s)
{
    struct mortise_schema_member_info *out = k->out;

    out->listed = true;
    if (out->n < MORTISE_SCHEMA_MEMBER_SCHEMAS)
        out->schemas[out->n++] = s;
    else
        k->open = true;
}

static void find_listed_member(struct seeker *k, const struct mortise_schema *s)
{
    const struct mortise_schema *own = mortise_schema_find_property(s, k->name);

    k->lists |= s->n_members > 0;
    if (own != NULL)
        add_listed_member(k, own);
    for (size_t i = 0; own == NULL && i < s->n_members; i++) {
        const char *two[2] = {k->out->near, s->members[i].name};

        k->out->near = mortise_nearest_find(k->name, two, 2);
    }
}

static void find_matching_patterns(struct seeker *k,
                                   const struct mortise_schema *s)
{
    for (size_t i = 0; i < s->rest->n_patterns; i++) {
        const struct schema_pattern *p = &s->rest->patterns[i];
        bool fits = false;

        if (mortise_schema_match_pattern(s, p, k->name, strlen(k->name),
                                         &k->patterns, &fits,
                                         NULL) != MORTISE_OK)
            k->open = true;
        if (fits)
            add_listed_member(k, p->schema);
    }
}

static void find_in_schema(struct seeker *k, const struct mortise_schema *s);

static void find_in_list(struct seeker *k, const struct schema_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        find_in_schema(k, list->p[i]);
}

static void find_in_rest(struct seeker *k, const struct mortise_schema *s)
{
    const struct schema_rare_keywords *r = s->rest;

    find_matching_patterns(k, s);
    find_in_list(k, &r->all_of);
    find_in_list(k, &r->any_of);
    find_in_list(k, &r->one_of);
    find_in_schema(k, r->ref.target);
    find_in_schema(k, r->then);
    find_in_schema(k, r->otherwise);
    for (size_t i = 0; i < r->n_dependents; i++)
        find_in_schema(k, r->dependents[i].schema);
    k->open |=
        r->dynamic_ref.target != NULL ||
        (r->unevaluated_members != NULL && r->unevaluated_members->kinds != 0);
}

/* Search all schemas for the same value; s NULL: none. */
static void find_in_schema(struct seeker *k, const struct mortise_schema *s)
{
    if (s == NULL || (s->kinds & MORTISE_T_OBJECT) == 0)
        return;
    if (k->left == 0) {
        k->open = true;
        return;
    }
    k->left--;
    find_listed_member(k, s);
    k->open |= s->additional != NULL && s->additional->kinds != 0;
    if (s->rest != NULL)
        find_in_rest(k, s);
}

void mortise_schema_find_member(const struct mortise_schema *s,
                                const char *name,
                                struct mortise_schema_member_info *out)
{
    struct seeker k = {
        .name = name, .out = out, .left = BOUND, .patterns = MORTISE_COST};
    const struct mortise_schema *certain;

    *out = (struct mortise_schema_member_info){.never = false};
    find_in_schema(&k, s);
    if (out->listed)
        out->near = NULL;
    certain = out->listed ? NULL : mortise_schema_get_member(s, name);
    /* No value fits the member, or no object fits the schema. */
    out->never =
        (certain != NULL && certain->kinds == 0) ||
        (!out->listed && (mortise_schema_get_types(s) & MORTISE_T_OBJECT) == 0);
    out->others = !out->listed && !out->never && k.lists && !k.open;
    out->open = k.open;
    out->slip = out->near != NULL && mortise_nearest_is_typo(name, out->near);
    if (certain != NULL && !out->never)
        out->schemas[out->n++] = certain;
}
