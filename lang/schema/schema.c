/* schema.c -- properties of values that do not exist yet, and normalizing
 * values to the types of a schema.
 *
 * A type checker asks for the schema of a member before there is a value.  It
 * gets a schema that certainly applies (this schema's own, or one from $ref and
 * allOf), or none.  A schema that applies only to some values, such as a branch
 * of `anyOf`, is never returned.  The promises:
 *
 *   (1) Wherever a checker can look, a normalized value has one of the types
 *       that mortise_schema_get_types() returns there.  So a checker may treat a
 *       `number` as a double.
 *   (2) Normalizing changes only the types of numbers, and parts that do not
 *       change are not copied.
 *   (3) A value that fits the schema still fits when normalized, unless it has
 *       an integer that no double can hold where the schema has `number`.
 *
 * Branches also normalize their values: the first branch that fits.
 */
#include "lang/schema/compiled.h"

#include <string.h>

#include "core/base/nearest.h"
#include "lang/schema/order.h"

/* ---- questions about members ----------------------------------------- */

/* The schema of the first pattern that matches the name; *unknown if that could
 * not be determined. */
static const struct mortise_schema *
find_by_pattern(const struct mortise_schema *s, const char *name,
                uint64_t *left, bool *unknown)
{
    for (size_t i = 0; s->rest != NULL && i < s->rest->n_patterns; i++) {
        const struct schema_pattern *p = &s->rest->patterns[i];
        bool found;

        *unknown = mortise_schema_match_pattern(s, p, name, strlen(name), left,
                                                &found, NULL) != MORTISE_OK;
        if (*unknown || found)
            return *unknown ? NULL : p->schema;
    }
    return NULL;
}

/* Are all rules for members visible to a checker? */
static bool has_only_visible_rules(const struct mortise_schema *s)
{
    const struct schema_rare_keywords *r = s->rest;

    if (r == NULL)
        return true;
    if (r->any_of.n > 0 || r->one_of.n > 0 || r->when != NULL ||
        r->n_dependents > 0 || r->dynamic_ref.target != NULL)
        return false;
    for (size_t i = 0; i < r->all_of.n; i++)
        if (!has_only_visible_rules(r->all_of.p[i]))
            return false;
    return r->ref.target == NULL || has_only_visible_rules(r->ref.target);
}

/* Search the other schemas for the same value. */
static const struct mortise_schema *
find_member_elsewhere(const struct mortise_schema *s, const char *name,
                      uint64_t *left)
{
    const struct schema_rare_keywords *r = s->rest;
    const struct mortise_schema *found = NULL;

    if (r == NULL)
        return NULL;
    if (r->ref.target != NULL)
        found = mortise_schema_get_member_limited(r->ref.target, name, left);
    for (size_t i = 0; i < r->all_of.n && found == NULL; i++)
        found = mortise_schema_get_member_limited(r->all_of.p[i], name, left);
    if (found == NULL && r->unevaluated_members != NULL &&
        r->unevaluated_members->types == 0 && has_only_visible_rules(s))
        found = r->unevaluated_members;
    return found;
}

const struct mortise_schema *
mortise_schema_get_member_limited(const struct mortise_schema *s,
                                  const char *name, uint64_t *left)
{
    const struct mortise_schema *found = mortise_schema_find_property(s, name);
    bool unknown = false;

    if (found == NULL)
        found = find_by_pattern(s, name, left, &unknown);
    if (found == NULL && !unknown)
        found = s->additional != NULL ? s->additional
                                      : find_member_elsewhere(s, name, left);
    return found;
}

const struct mortise_schema *
mortise_schema_get_member(const struct mortise_schema *s, const char *name)
{
    uint64_t left = MORTISE_COST;

    return mortise_schema_get_member_limited(s, name, &left);
}

const struct mortise_schema *
mortise_schema_get_items(const struct mortise_schema *s)
{
    const struct schema_rare_keywords *r = s->rest;
    const struct mortise_schema *found = s->items;

    if (r == NULL || r->prefix.n > 0)
        return r == NULL ? found : NULL;
    if (found == NULL && r->ref.target != NULL)
        found = mortise_schema_get_items(r->ref.target);
    for (size_t i = 0; i < r->all_of.n && found == NULL; i++)
        found = mortise_schema_get_items(r->all_of.p[i]);
    return found;
}

static struct mortise_schema *new_any_schema(struct mortise_arena *a)
{
    struct mortise_schema *s = mortise_arena_alloc(a, sizeof *s);

    if (s != NULL)
        s->types = s->kinds = s->at_once = MORTISE_T_ANY;
    return s;
}

/* A copy of `base` with this member, which replaces one of the same name. */
static struct mortise_schema *
set_schema_member(struct mortise_arena *a, const struct mortise_schema *base,
                  const char *name, struct mortise_schema *part)
{
    struct mortise_schema *s = mortise_arena_alloc(a, sizeof *s);
    size_t i = 0, n = base->n_members, k = 0;
    struct schema_member *list = mortise_arena_alloc(a, (n + 1) * sizeof *list);

    if (part == NULL)
        part = new_any_schema(a);
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
mortise_schema_add_member(struct mortise_arena *a,
                          const struct mortise_schema *base, const char *name,
                          struct mortise_schema *part)
{
    return base != NULL ? set_schema_member(a, base, name, part) : NULL;
}

/* If more than the list of members applies, the result allows anything. */
struct mortise_schema *
mortise_schema_open_member(struct mortise_arena *a,
                           const struct mortise_schema *base, const char *name)
{
    return base->rest == NULL ? set_schema_member(a, base, name, NULL)
                              : new_any_schema(a);
}

struct mortise_schema *
mortise_schema_allow_null(struct mortise_arena *a,
                          const struct mortise_schema *part)
{
    struct mortise_schema *s = new_any_schema(a);

    if (s != NULL && part != NULL) {
        *s = *part;
        s->types |= MORTISE_T_NULL;
        s->kinds |= MORTISE_T_NULL;
    }
    return s;
}

/* Compare the best name so far with each further one. */
static const char *find_nearer_name(const struct mortise_schema *s,
                                    const char *name, const char *best)
{
    for (size_t i = 0; i < s->n_members; i++) {
        const char *two[2] = {best, s->members[i].name};

        best = mortise_nearest_find(name, two, 2);
    }
    if (s->rest == NULL)
        return best;
    if (s->rest->ref.target != NULL)
        best = find_nearer_name(s->rest->ref.target, name, best);
    for (size_t i = 0; i < s->rest->all_of.n; i++)
        best = find_nearer_name(s->rest->all_of.p[i], name, best);
    return best;
}

const char *mortise_schema_find_nearest(const struct mortise_schema *s,
                                        const char *name)
{
    return find_nearer_name(s, name, NULL);
}

unsigned mortise_schema_get_types(const struct mortise_schema *s)
{
    return s->kinds;
}

const json_t *mortise_schema_json(const struct mortise_schema *s)
{
    return s->json;
}

/* ---- normalizing ----------------------------------------------------- */

/* Limit for a whole value: nested branches repeat checks that were each within
 * the limit when the value was checked. */
enum { CHECKS = 4 };

static json_t *normalize_by_schema(const struct mortise_schema *s,
                                   json_t *value, uint64_t *left);

static json_t *normalize_number(const struct mortise_schema *s, json_t *v)
{
    unsigned kinds = s->kinds & (MORTISE_T_INT | MORTISE_T_NUMBER);

    if (json_is_integer(v) && kinds == MORTISE_T_NUMBER)
        return json_real((double)json_integer_value(v));
    if (json_is_real(v) && kinds == MORTISE_T_INT && mortise_json_is_whole(v))
        return json_integer((json_int_t)json_real_value(v));
    return json_incref(v);
}

/* Normalize by this schema (NULL: unchanged).  Takes the reference; NULL:
 * memory ran out, now or before. */
static json_t *normalize_next(const struct mortise_schema *s, json_t *v,
                              uint64_t *left)
{
    json_t *normal;

    if (s == NULL || v == NULL)
        return v;
    normal = normalize_by_schema(s, v, left);
    json_decref(v);
    return normal;
}

/* Normalize by the first branch that fits.  Only by one: two branches that lead
 * to the same schema, level by level, would take exponential time. */
static json_t *normalize_by_branch(const struct schema_list *list, json_t *v,
                                   uint64_t *left)
{
    for (size_t i = 0; i < list->n && v != NULL; i++) {
        int rv = mortise_schema_check_limited(list->p[i], v, left, NULL);

        if (rv == MORTISE_OK)
            return normalize_next(list->p[i], v, left);
        if (rv == MORTISE_ENOMEM) {
            json_decref(v);
            return NULL;
        }
    }
    return v;
}

/* `if` is checked with the value before normalizing. */
static json_t *normalize_by_condition(const struct schema_rare_keywords *r,
                                      json_t *v, uint64_t *left)
{
    int rv = v != NULL ? mortise_schema_check_limited(r->when, v, left, NULL)
                       : MORTISE_ENOMEM;

    if (rv == MORTISE_OK)
        return normalize_next(r->then, normalize_next(r->when, v, left), left);
    if (rv == MORTISE_EINVAL)
        return normalize_next(r->otherwise, v, left);
    if (rv != MORTISE_ENOMEM)
        return v;
    json_decref(v);
    return NULL;
}

/* Normalize by all schemas for the same value.  The schemas that a checker sees
 * come last, in reverse order.  Takes the reference. */
static json_t *normalize_by_others(const struct mortise_schema *s, json_t *v,
                                   uint64_t *left)
{
    const struct schema_rare_keywords *r = s->rest;

    for (size_t i = 0; i < r->n_dependents; i++)
        if (json_object_get(v, r->dependents[i].name) != NULL)
            v = normalize_next(r->dependents[i].schema, v, left);
    if (r->when != NULL)
        v = normalize_by_condition(r, v, left);
    v = normalize_by_branch(&r->one_of, v, left);
    v = normalize_by_branch(&r->any_of, v, left);
    for (size_t i = r->all_of.n; i > 0; i--)
        v = normalize_next(r->all_of.p[i - 1], v, left);
    v = normalize_next(r->dynamic_ref.target, v, left);
    return normalize_next(r->ref.target, v, left);
}

/* Store the part in the copy, which is made at the first change.  Takes the
 * reference of `part`; -1: out of memory. */
static int replace_element(json_t *v, json_t **copy, const char *key, size_t i,
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

/* Normalize by the patterns that match the name.  Takes the reference. */
static json_t *normalize_by_patterns(const struct schema_rare_keywords *r,
                                     const struct mortise_schema *s,
                                     const char *key, json_t *v, uint64_t *left,
                                     bool *known)
{
    for (size_t i = r->n_patterns; i > 0 && v != NULL; i--) {
        const struct schema_pattern *p = &r->patterns[i - 1];
        bool found = false;
        int rv = mortise_schema_match_pattern(s, p, key, strlen(key), left,
                                              &found, NULL);

        if (rv == MORTISE_ENOMEM) {
            json_decref(v);
            return NULL;
        }
        *known |= found;
        if (found)
            v = normalize_next(p->schema, v, left);
    }
    return v;
}

/* Normalize a member by all schemas for it; the one that a checker sees comes
 * last. */
static json_t *normalize_member(const struct mortise_schema *s, const char *key,
                                json_t *old, uint64_t *left)
{
    const struct mortise_schema *listed = mortise_schema_find_property(s, key);
    json_t *v = json_incref(old);
    bool known = listed != NULL;

    if (s->rest != NULL)
        v = normalize_by_patterns(s->rest, s, key, v, left, &known);
    return normalize_next(known ? listed : s->additional, v, left);
}

static json_t *normalize_object(const struct mortise_schema *s, json_t *v,
                                uint64_t *left)
{
    json_t *copy = json_incref(v);

    MORTISE_JSON_MEMBERS (key, old, v)
        if (replace_element(v, &copy, key, 0,
                            normalize_member(s, key, old, left), old) != 0) {
            json_decref(copy);
            return NULL;
        }
    return copy;
}

static json_t *normalize_array(const struct mortise_schema *s, json_t *v,
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
        if (replace_element(v, &copy, NULL, i,
                            normalize_by_schema(item, old, left), old) != 0) {
            json_decref(copy);
            return NULL;
        }
    }
    return copy;
}

static json_t *normalize_by_own_rules(const struct mortise_schema *s, json_t *v,
                                      uint64_t *left)
{
    if (json_is_object(v) && (s->n_members > 0 || s->additional != NULL ||
                              (s->rest != NULL && s->rest->n_patterns > 0)))
        return normalize_object(s, v, left);
    if (json_is_array(v))
        return normalize_array(s, v, left);
    return json_incref(v);
}

static json_t *normalize_by_schema(const struct mortise_schema *s,
                                   json_t *value, uint64_t *left)
{
    json_t *v, *normal;

    if (s == NULL)
        return json_incref(value);
    if (json_is_number(value))
        return normalize_number(s, value);
    if (s->rest == NULL || !(json_is_object(value) || json_is_array(value)))
        return normalize_by_own_rules(s, value, left);
    v = normalize_by_others(s, json_incref(value), left);
    if (v == NULL)
        return NULL;
    normal = normalize_by_own_rules(s, v, left);
    json_decref(v);
    return normal;
}

json_t *mortise_schema_normalize(const struct mortise_schema *s, json_t *value,
                                 uint64_t limit)
{
    uint64_t left = CHECKS * (limit != 0 ? limit : MORTISE_COST);

    return normalize_by_schema(s, value, &left);
}
