/* schema.c -- what a compiled schema says of values that are not there yet,
 * and values as a schema types them.
 *
 * A checker asks for the schema of a member before there is a value; it gets
 * one that will certainly hold (this schema's own, else one of those that $ref
 * and allOf add), or none.  What only holds for some values, a branch of
 * `anyOf` for one, is never given.  The promises:
 *
 *   (1) A normal value has, wherever a checker can look, one of the types that
 *       mortise_schema_types() says there.  So a checker may take a `number`
 *       for a double.
 *   (2) Normalising changes how numbers are typed and nothing else, and what
 *       does not change is not copied.
 *   (3) A value that fits still fits when it is normal, unless it has an
 *       integer that no double holds where the schema says `number`.
 *
 * Branches type what is in them, too: the first that the value fits.
 */
#include "lang/schema/compiled.h"

#include <string.h>

#include "core/base/nearest.h"
#include "lang/schema/order.h"

/* ---- asking ---------------------------------------------------------- */

/* The first pattern in the name; *unknown when that could not be told. */
static const struct mortise_schema *by_pattern(const struct mortise_schema *s,
                                               const char *name, uint64_t *left,
                                               bool *unknown)
{
    for (size_t i = 0; s->rest != NULL && i < s->rest->n_patterns; i++) {
        const struct schema_pattern *p = &s->rest->patterns[i];
        bool found;

        *unknown = mortise_schema_matches(s, p, name, strlen(name), left,
                                          &found, NULL) != MORTISE_OK;
        if (*unknown || found)
            return *unknown ? NULL : p->schema;
    }
    return NULL;
}

/* Nothing looks at members but what a checker can see. */
static bool is_plain(const struct mortise_schema *s)
{
    const struct schema_rest *r = s->rest;

    if (r == NULL)
        return true;
    if (r->any_of.n > 0 || r->one_of.n > 0 || r->when != NULL ||
        r->n_dependents > 0 || r->dynamic_ref.target != NULL)
        return false;
    for (size_t i = 0; i < r->all_of.n; i++)
        if (!is_plain(r->all_of.p[i]))
            return false;
    return r->ref.target == NULL || is_plain(r->ref.target);
}

/* By those that judge the same value as s. */
static const struct mortise_schema *
member_by_others(const struct mortise_schema *s, const char *name,
                 uint64_t *left)
{
    const struct schema_rest *r = s->rest;
    const struct mortise_schema *found = NULL;

    if (r == NULL)
        return NULL;
    if (r->ref.target != NULL)
        found = mortise_schema_member_within(r->ref.target, name, left);
    for (size_t i = 0; i < r->all_of.n && found == NULL; i++)
        found = mortise_schema_member_within(r->all_of.p[i], name, left);
    if (found == NULL && r->unevaluated_members != NULL &&
        r->unevaluated_members->types == 0 && is_plain(s))
        found = r->unevaluated_members;
    return found;
}

const struct mortise_schema *
mortise_schema_member_within(const struct mortise_schema *s, const char *name,
                             uint64_t *left)
{
    const struct mortise_schema *found = mortise_schema_listed(s, name);
    bool unknown = false;

    if (found == NULL)
        found = by_pattern(s, name, left, &unknown);
    if (found == NULL && !unknown)
        found = s->additional != NULL ? s->additional
                                      : member_by_others(s, name, left);
    return found;
}

const struct mortise_schema *
mortise_schema_member(const struct mortise_schema *s, const char *name)
{
    uint64_t left = MORTISE_COST;

    return mortise_schema_member_within(s, name, &left);
}

const struct mortise_schema *
mortise_schema_items(const struct mortise_schema *s)
{
    const struct schema_rest *r = s->rest;
    const struct mortise_schema *found = s->items;

    if (r == NULL || r->prefix.n > 0)
        return r == NULL ? found : NULL;
    if (found == NULL && r->ref.target != NULL)
        found = mortise_schema_items(r->ref.target);
    for (size_t i = 0; i < r->all_of.n && found == NULL; i++)
        found = mortise_schema_items(r->all_of.p[i]);
    return found;
}

static struct mortise_schema *anything(struct mortise_arena *a)
{
    struct mortise_schema *s = mortise_arena_alloc(a, sizeof *s);

    if (s != NULL)
        s->types = s->kinds = s->at_once = MORTISE_T_ANY;
    return s;
}

/* With that member, instead of one of that name. */
static struct mortise_schema *put_member(struct mortise_arena *a,
                                         const struct mortise_schema *base,
                                         const char *name,
                                         struct mortise_schema *part)
{
    struct mortise_schema *s = mortise_arena_alloc(a, sizeof *s);
    size_t i = 0, n = base->n_members, k = 0;
    struct schema_member *list = mortise_arena_alloc(a, (n + 1) * sizeof *list);

    if (part == NULL)
        part = anything(a);
    if (s == NULL || list == NULL || part == NULL)
        return NULL;
    for (; i < n && strcmp(base->members[i].name, name) < 0; i++)
        list[k++] = base->members[i];
    list[k++] = (struct schema_member){name, part};
    i += i < n && strcmp(base->members[i].name, name) == 0;
    for (; i < n; i++)
        list[k++] = base->members[i];
    *s = *base;
    s->members = list;
    s->n_members = k;
    return s;
}

const struct mortise_schema *
mortise_schema_with(struct mortise_arena *a, const struct mortise_schema *base,
                    const char *name, struct mortise_schema *part)
{
    return base != NULL ? put_member(a, base, name, part) : NULL;
}

/* Where more than the list says what members are, nothing is said of them. */
struct mortise_schema *mortise_schema_but(struct mortise_arena *a,
                                          const struct mortise_schema *base,
                                          const char *name)
{
    return base->rest == NULL ? put_member(a, base, name, NULL) : anything(a);
}

struct mortise_schema *mortise_schema_or_null(struct mortise_arena *a,
                                              const struct mortise_schema *part)
{
    struct mortise_schema *s = anything(a);

    if (s != NULL && part != NULL) {
        *s = *part;
        s->types |= MORTISE_T_NULL;
        s->kinds |= MORTISE_T_NULL;
    }
    return s;
}

/* One against one: the winner so far and the next. */
static const char *nearer(const struct mortise_schema *s, const char *name,
                          const char *best)
{
    for (size_t i = 0; i < s->n_members; i++) {
        const char *two[2] = {best, s->members[i].name};

        best = mortise_nearest(name, two, 2);
    }
    if (s->rest == NULL)
        return best;
    if (s->rest->ref.target != NULL)
        best = nearer(s->rest->ref.target, name, best);
    for (size_t i = 0; i < s->rest->all_of.n; i++)
        best = nearer(s->rest->all_of.p[i], name, best);
    return best;
}

const char *mortise_schema_nearest(const struct mortise_schema *s,
                                   const char *name)
{
    return nearer(s, name, NULL);
}

unsigned mortise_schema_types(const struct mortise_schema *s)
{
    return s->kinds;
}

const json_t *mortise_schema_json(const struct mortise_schema *s)
{
    return s->json;
}

/* ---- typing ---------------------------------------------------------- */

/* All of one value together: checks of branches inside of branches are repeated,
 * and each was within the limit when the value was checked. */
enum { CHECKS = 4 };

static json_t *normal_by(const struct mortise_schema *s, json_t *value,
                         uint64_t *left);

static json_t *normal_number(const struct mortise_schema *s, json_t *v)
{
    unsigned kinds = s->kinds & (MORTISE_T_INT | MORTISE_T_NUMBER);

    if (json_is_integer(v) && kinds == MORTISE_T_NUMBER)
        return json_real((double)json_integer_value(v));
    if (json_is_real(v) && kinds == MORTISE_T_INT && mortise_json_is_whole(v))
        return json_integer((json_int_t)json_real_value(v));
    return json_incref(v);
}

/* As the schema types it (NULL: as it is).  Takes the reference; NULL when
 * memory ran out, now or before. */
static json_t *then_by(const struct mortise_schema *s, json_t *v,
                       uint64_t *left)
{
    json_t *normal;

    if (s == NULL || v == NULL)
        return v;
    normal = normal_by(s, v, left);
    json_decref(v);
    return normal;
}

/* As the first branch types it that the value fits.  No more than one: two
 * that lead to the same schema again, level by level, would never end. */
static json_t *by_branch(const struct schema_list *list, json_t *v,
                         uint64_t *left)
{
    for (size_t i = 0; i < list->n && v != NULL; i++) {
        int rv = mortise_schema_judge(list->p[i], v, left, NULL);

        if (rv == MORTISE_OK)
            return then_by(list->p[i], v, left);
        if (rv == MORTISE_ENOMEM) {
            json_decref(v);
            return NULL;
        }
    }
    return v;
}

/* Whether `if` fits is asked of the value as it came. */
static json_t *by_condition(const struct schema_rest *r, json_t *v,
                            uint64_t *left)
{
    int rv = v != NULL ? mortise_schema_judge(r->when, v, left, NULL)
                       : MORTISE_ENOMEM;

    if (rv == MORTISE_OK)
        return then_by(r->then, then_by(r->when, v, left), left);
    if (rv == MORTISE_EINVAL)
        return then_by(r->otherwise, v, left);
    if (rv != MORTISE_ENOMEM)
        return v;
    json_decref(v);
    return NULL;
}

/* By all that judge the same value; those that a checker can see come last,
 * what it sees first as the very last.  Takes the reference. */
static json_t *by_others(const struct mortise_schema *s, json_t *v,
                         uint64_t *left)
{
    const struct schema_rest *r = s->rest;

    for (size_t i = 0; i < r->n_dependents; i++)
        if (json_object_get(v, r->dependents[i].name) != NULL)
            v = then_by(r->dependents[i].schema, v, left);
    if (r->when != NULL)
        v = by_condition(r, v, left);
    v = by_branch(&r->one_of, v, left);
    v = by_branch(&r->any_of, v, left);
    for (size_t i = r->all_of.n; i > 0; i--)
        v = then_by(r->all_of.p[i - 1], v, left);
    v = then_by(r->dynamic_ref.target, v, left);
    return then_by(r->ref.target, v, left);
}

/* Put the part into the copy, which is made when the first part changed.
 * Takes the reference to `part`; -1 when out of memory. */
static int replace(json_t *v, json_t **copy, const char *key, size_t i,
                   json_t *part, const json_t *old)
{
    if (part == NULL)
        return -1;
    if (part == old) {
        json_decref(part);
        return 0;
    }
    if (*copy == v) {
        *copy = json_copy(v);
        json_decref(v);
    }
    if (*copy == NULL) {
        json_decref(part);
        return -1;
    }
    return key != NULL ? json_object_set_new(*copy, key, part)
                       : json_array_set_new(*copy, i, part);
}

/* By the patterns in the name.  Takes the reference. */
static json_t *by_patterns(const struct schema_rest *r,
                           const struct mortise_schema *s, const char *key,
                           json_t *v, uint64_t *left, bool *known)
{
    for (size_t i = r->n_patterns; i > 0 && v != NULL; i--) {
        const struct schema_pattern *p = &r->patterns[i - 1];
        bool found = false;
        int rv =
            mortise_schema_matches(s, p, key, strlen(key), left, &found, NULL);

        if (rv == MORTISE_ENOMEM) {
            json_decref(v);
            return NULL;
        }
        *known |= found;
        if (found)
            v = then_by(p->schema, v, left);
    }
    return v;
}

/* A member by all that judge it: what a checker sees, last. */
static json_t *normal_member(const struct mortise_schema *s, const char *key,
                             json_t *old, uint64_t *left)
{
    const struct mortise_schema *listed = mortise_schema_listed(s, key);
    json_t *v = json_incref(old);
    bool known = listed != NULL;

    if (s->rest != NULL)
        v = by_patterns(s->rest, s, key, v, left, &known);
    return then_by(known ? listed : s->additional, v, left);
}

static json_t *normal_object(const struct mortise_schema *s, json_t *v,
                             uint64_t *left)
{
    json_t *copy = json_incref(v);

    MORTISE_JSON_MEMBERS (key, old, v)
        if (replace(v, &copy, key, 0, normal_member(s, key, old, left), old) !=
            0) {
            json_decref(copy);
            return NULL;
        }
    return copy;
}

static json_t *normal_array(const struct mortise_schema *s, json_t *v,
                            uint64_t *left)
{
    size_t n_prefix = s->rest != NULL ? s->rest->prefix.n : 0;
    json_t *copy = json_incref(v);

    for (size_t i = 0; i < json_array_size(v); i++) {
        const struct mortise_schema *item =
            i < n_prefix ? s->rest->prefix.p[i] : s->items;
        json_t *old = json_array_get(v, i);

        if (item == NULL)
            break;
        if (replace(v, &copy, NULL, i, normal_by(item, old, left), old) != 0) {
            json_decref(copy);
            return NULL;
        }
    }
    return copy;
}

static json_t *normal_by_own(const struct mortise_schema *s, json_t *v,
                             uint64_t *left)
{
    if (json_is_object(v) && (s->n_members > 0 || s->additional != NULL ||
                              (s->rest != NULL && s->rest->n_patterns > 0)))
        return normal_object(s, v, left);
    if (json_is_array(v))
        return normal_array(s, v, left);
    return json_incref(v);
}

static json_t *normal_by(const struct mortise_schema *s, json_t *value,
                         uint64_t *left)
{
    json_t *v, *normal;

    if (s == NULL)
        return json_incref(value);
    if (json_is_number(value))
        return normal_number(s, value);
    if (s->rest == NULL || !(json_is_object(value) || json_is_array(value)))
        return normal_by_own(s, value, left);
    v = by_others(s, json_incref(value), left);
    if (v == NULL)
        return NULL;
    normal = normal_by_own(s, v, left);
    json_decref(v);
    return normal;
}

json_t *mortise_schema_normal(const struct mortise_schema *s, json_t *value,
                              uint64_t limit)
{
    uint64_t left = CHECKS * (limit != 0 ? limit : MORTISE_COST);

    return normal_by(s, value, &left);
}
