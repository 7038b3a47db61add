/* check.c -- checking a value against a compiled schema.
 *
 * The outputs of all nodes are checked here.  So the common keywords (types,
 * members, items) are one short walk over the value, and all others are reached
 * through one pointer, `rest`.  The promises:
 *
 *   (1) The first finding is the first in the order of the document, because
 *       the walk follows the value, not the schema.  It contains the place in
 *       the value, and the place of the rule for people.  If that place is
 *       unknown, it contains the part of the schema, if the walk reached that
 *       part through more than members and items.
 *   (2) The check ends.  The nesting of schemas, the number of judgements and
 *       the total cost of patterns are bounded.  Beyond a bound the result is
 *       MORTISE_ELIMIT, never "valid".
 *   (3) Numbers compare as numbers (order.h): 1.0 is an integer and is in [1].
 *   (4) A check for fitting only (`not`, the branches of `anyOf`) prints no
 *       message, and allocates nothing for small objects.
 *   (5) A value may have places that are not known yet (judge.unknown).  A
 *       finding means that no value in these places would fit.  So a value with
 *       such a place passes each keyword that depends on the whole value: enum,
 *       const, uniqueItems, contains, not, if, and the number of fitting
 *       schemas in oneOf.
 *
 * unevaluatedProperties and unevaluatedItems need to know the members and items
 * that other keywords evaluated.  These are kept in a set of marks, but only if
 * some schema needs it.  A branch has its own set, which counts if the branch
 * fits.
 */
#include "lang/schema/compiled.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/base/utf8.h"
#include "lang/schema/order.h"
#include "core/json/pointer.h"

enum {
    DEEPEST = 1000,       /* nested judgements, because of the stack */
    STEPS = 1000000,      /* judgements in total: a fraction of a second, */
    STEPS_PER_VALUE = 20, /* plus this many for each value in the document */
    /* small schemas and look-ups that count as one step */
    ASIDES = 8
};

/* The path of a value: on the stack, and printed only in a finding. */
struct spot {
    const struct spot *up; /* NULL at the root */
    const char *key;       /* or NULL */
    size_t index;
};

/* The resources around the current schema, innermost first. */
struct scope {
    const struct scope *up;
    const struct schema_resource *resource;
};

struct judge {
    const struct mortise_mem *mem;
    const struct scope *scope;
    unsigned depth, quiet, aside; /* aside: not through members and items */
    size_t asides;                /* not yet a whole step */
    size_t steps, most_steps;     /* judgements by schemas with `rest`: */
                                  /* the others do little work */
    const json_t *whole;          /* NULL: its size is included in most_steps */
    const json_t *unknown;        /* NULL: the whole value is known */
    uint64_t *left;               /* remaining cost of patterns */
    int rv; /* result: MORTISE_EINVAL if the value does not fit */
    struct mortise_err *err;
};

/* The evaluated members (in the value's order) or items. */
struct marks {
    size_t n; /* number of members or items */
    uint64_t few[4], *bits;
};

/* The parameters of the judge functions: the value v, the schema s.  They
 * return true if it fits; otherwise judge.rv is the reason. */
#define JUDGED                                                                 \
    struct judge *j, const struct mortise_schema *s, const json_t *v,          \
        const struct spot *spot

static bool judge_further(JUDGED, struct marks *marks);

static inline unsigned get_type_bit(const json_t *v)
{
    static const unsigned char bits[] = {
        [JSON_OBJECT] = MORTISE_T_OBJECT, [JSON_ARRAY] = MORTISE_T_ARRAY,
        [JSON_STRING] = MORTISE_T_STRING, [JSON_INTEGER] = MORTISE_T_INT,
        [JSON_REAL] = MORTISE_T_NUMBER,   [JSON_TRUE] = MORTISE_T_BOOL,
        [JSON_FALSE] = MORTISE_T_BOOL,    [JSON_NULL] = MORTISE_T_NULL,
    };

    return bits[json_typeof(v)];
}

static inline bool judge_value(JUDGED, struct marks *marks)
{
    if (s->at_once & get_type_bit(v))
        return true; /* true for most members */
    return judge_further(j, s, v, spot, marks);
}

/* ---- findings -------------------------------------------------------- */

static void print_spot(struct mortise_pointer *p, const struct spot *spot)
{
    if (spot->up == NULL)
        return;
    print_spot(p, spot->up);
    if (spot->key != NULL)
        mortise_pointer_push(p, spot->key);
    else
        mortise_pointer_push_index(p, spot->index);
}

/* Print " (schema: ...)" with the place of the rule, or "" if the value's path
 * shows it. */
static void print_rule_place(const struct judge *j,
                             const struct mortise_schema *s,
                             const char *keyword, char *out, size_t size)
{
    char rule[256], place[320];
    const char *at = rule;

    out[0] = '\0';
    mortise_schema_format_rule(rule, sizeof rule, s, keyword);
    if (s->whole->place != NULL && (rule[0] == '/' || rule[0] == '\0')) {
        s->whole->place(s->whole->origin, rule, place, sizeof place);
        at = place;
    } else if (j->aside == 0) {
        return;
    }
    snprintf(out, size, " (schema: %s)", at);
}

static bool fail_judge(struct judge *j, int rv)
{
    j->rv = rv;
    return false;
}

static bool add_schema_finding(struct judge *j, const struct mortise_schema *s,
                               const char *keyword, const struct spot *spot,
                               const char *fmt, ...) MORTISE_PRINTF(5, 6);

static bool add_schema_finding(struct judge *j, const struct mortise_schema *s,
                               const char *keyword, const struct spot *spot,
                               const char *fmt, ...)
{
    char at[256], rule[340], words[512];
    struct mortise_pointer p;
    va_list ap;

    if (j->quiet > 0 || j->err == NULL)
        return fail_judge(j, MORTISE_EINVAL);
    mortise_pointer_init(&p, at, sizeof at);
    print_spot(&p, spot);
    va_start(ap, fmt);
    vsnprintf(words, sizeof words, fmt, ap);
    va_end(ap);
    words[mortise_utf8_get_prefix_size(words, strlen(words),
                                       sizeof words - 2)] = '\0';
    print_rule_place(j, s, keyword, rule, sizeof rule);
    return fail_judge(j, mortise_fail(j->err, MORTISE_EINVAL, "%s%s%s%s%s",
                                      at[0] != '\0' ? "at " : "", at,
                                      at[0] != '\0' ? ": " : "", words, rule));
}

static size_t count_json_values(const json_t *v)
{
    size_t n = 1;

    MORTISE_JSON_MEMBERS (name, one, v)
        n += count_json_values(one);
    MORTISE_JSON_EACH (one, i, v)
        n += count_json_values(one);
    return n;
}

/* Is a bound reached?  The size of the value is counted only now. */
static bool is_step_limit_reached(struct judge *j)
{
    if (j->depth >= DEEPEST)
        return true;
    if (j->steps < j->most_steps)
        return false;
    if (j->whole != NULL)
        j->most_steps += STEPS_PER_VALUE * count_json_values(j->whole);
    j->whole = NULL;
    return j->steps >= j->most_steps;
}

static bool fail_with_step_limit(struct judge *j)
{
    return fail_judge(
        j, mortise_fail(j->err, MORTISE_ELIMIT,
                        "the schema needs too many steps for this value"));
}

/* ---- marks ----------------------------------------------------------- */

static size_t get_mark_words(const struct marks *m)
{
    return (m->n + 63) / 64;
}

static size_t get_element_count(const json_t *v)
{
    return json_is_object(v) ? json_object_size(v) : json_array_size(v);
}

static bool marks_init(struct marks *m, const struct judge *j, const json_t *v)
{
    *m = (struct marks){.n = get_element_count(v)};
    m->bits = m->few;
    if (get_mark_words(m) > sizeof m->few / sizeof m->few[0])
        m->bits = mortise_zalloc(j->mem, get_mark_words(m) * sizeof *m->bits);
    return m->bits != NULL;
}

static void marks_finish(struct marks *m, const struct judge *j)
{
    if (m->bits != m->few)
        mortise_release(j->mem, m->bits, get_mark_words(m) * sizeof *m->bits);
}

/* `m` NULL: no schema needs the marks. */
static void set_mark(struct marks *m, size_t i)
{
    if (m != NULL)
        m->bits[i / 64] |= (uint64_t)1 << i % 64;
}

static bool has_mark_at(const struct marks *m, size_t i)
{
    return (m->bits[i / 64] >> i % 64 & 1) != 0;
}

static void set_all_marks(struct marks *m)
{
    for (size_t i = 0; m != NULL && i < get_mark_words(m); i++)
        m->bits[i] = UINT64_MAX;
}

static void merge_marks(struct marks *m, const struct marks *others)
{
    for (size_t i = 0; m != NULL && i < get_mark_words(m); i++)
        m->bits[i] |= others->bits[i];
}

/* ---- unknown places --------------------------------------------------- */

static bool has_unknown_place(const json_t *v, const json_t *unknown)
{
    if (v == unknown)
        return true;
    MORTISE_JSON_MEMBERS (name, one, v)
        if (has_unknown_place(one, unknown))
            return true;
    MORTISE_JSON_EACH (one, i, v)
        if (has_unknown_place(one, unknown))
            return true;
    return false;
}

/* Does the value contain an unknown place? */
static inline bool is_partly_unknown(const struct judge *j, const json_t *v)
{
    return j->unknown != NULL && has_unknown_place(v, j->unknown);
}

/* ---- subschemas of the same value ------------------------------------ */

/* Many small schemas may judge one value, and many names may be looked up in
 * it. */
static void count_small_steps(struct judge *j, size_t n)
{
    j->asides += n;
    j->steps += j->asides / ASIDES;
    j->asides %= ASIDES;
}

/* Judge the same value by another schema, not through members and items. */
static bool judge_aside(JUDGED, struct marks *marks)
{
    bool fits;

    count_small_steps(j, 1);
    j->aside++;
    fits = judge_value(j, s, v, spot, marks);
    j->aside--;
    return fits;
}

/* Does the value fit?  The marks of a branch count if it does.  Returns false
 * if that cannot be determined. */
static bool try_schema(JUDGED, struct marks *marks, bool *fits)
{
    struct marks own;

    if (marks != NULL && !marks_init(&own, j, v))
        return fail_judge(j, mortise_nomem(j->err));
    count_small_steps(j, 1);
    j->quiet++;
    *fits = judge_value(j, s, v, spot, marks != NULL ? &own : NULL);
    j->quiet--;
    if (*fits && marks != NULL)
        merge_marks(marks, &own);
    if (marks != NULL)
        marks_finish(&own, j);
    return *fits || j->rv == MORTISE_EINVAL;
}

/* ---- types and values ------------------------------------------------ */

unsigned mortise_schema_type_of(const json_t *v)
{
    return get_type_bit(v);
}

static bool number_fits_types(unsigned types, const json_t *v)
{
    if (json_is_integer(v))
        return (types & MORTISE_T_NUMBER) != 0;
    return json_is_real(v) && types & MORTISE_T_INT && mortise_json_is_whole(v);
}

static inline bool fits_types(unsigned types, const json_t *v)
{
    return (types & get_type_bit(v)) != 0 || number_fits_types(types, v);
}

static bool report_wrong_type(JUDGED)
{
    char list[128] = "";

    if (j->quiet > 0)
        return fail_judge(j, MORTISE_EINVAL);
    if (s->types == 0)
        return add_schema_finding(j, s, NULL, spot, "no value is allowed here");
    for (unsigned bit = MORTISE_T_NULL; bit <= MORTISE_T_OBJECT; bit <<= 1) {
        size_t n = strlen(list);

        if (s->types & bit)
            snprintf(list + n, sizeof list - n, "%s%s", n > 0 ? " or " : "",
                     mortise_schema_type_name(bit));
    }
    return add_schema_finding(j, s, "type", spot, "expected %s, found %s", list,
                              mortise_schema_type_name(get_type_bit(v)));
}

/* A value as a short text. */
struct shown {
    char text[72];
};

static struct shown print_short_value(const json_t *v)
{
    struct shown s;
    size_t n =
        json_dumpb(v, s.text, sizeof s.text - 4,
                   JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));

    if (n == 0 || n > sizeof s.text - 4)
        return (struct shown){"..."};
    s.text[n] = '\0';
    return s;
}

/* List as many choices as there is room for. */
static bool report_not_in_enum(struct judge *j, const struct mortise_schema *s,
                               const struct spot *spot)
{
    const json_t *choices = s->enumeration;
    char list[256] = "";
    size_t n = 0;

    if (j->quiet > 0)
        return fail_judge(j, MORTISE_EINVAL);
    for (size_t i = 0; i < json_array_size(choices); i++) {
        struct shown one = print_short_value(json_array_get(choices, i));

        if (strcmp(one.text, "...") == 0 ||
            n + strlen(one.text) + 8 > sizeof list) {
            snprintf(list + n, sizeof list - n, "%s...", n > 0 ? ", " : "");
            break;
        }
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s",
                              n > 0 ? ", " : "", one.text);
    }
    return add_schema_finding(j, s, "enum", spot, "expected one of %s", list);
}

static bool judge_enum(JUDGED)
{
    size_t low = 0, high = json_array_size(s->enumeration);

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int d = mortise_json_compare(v, s->choices[mid]);

        if (d == 0)
            return true;
        if (d < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return report_not_in_enum(j, s, spot);
}

static bool judge_const(JUDGED)
{
    if (mortise_json_compare(v, s->rest->constant) == 0)
        return true;
    if (j->quiet > 0)
        return fail_judge(j, MORTISE_EINVAL);
    return add_schema_finding(j, s, "const", spot, "expected %s",
                              print_short_value(s->rest->constant).text);
}

static bool judge_number(JUDGED)
{
    const struct schema_rare_keywords *r = s->rest;
    const struct {
        const json_t *bound;
        const char *keyword, *words;
        bool breaks;
    } rules[] = {
        {r->minimum, "minimum", "is less than the minimum",
         r->minimum != NULL && mortise_json_compare(v, r->minimum) < 0},
        {r->maximum, "maximum", "is greater than the maximum",
         r->maximum != NULL && mortise_json_compare(v, r->maximum) > 0},
        {r->above, "exclusiveMinimum", "is not greater than",
         r->above != NULL && mortise_json_compare(v, r->above) <= 0},
        {r->below, "exclusiveMaximum", "is not less than",
         r->below != NULL && mortise_json_compare(v, r->below) >= 0},
        {r->multiple_of, "multipleOf", "is not a multiple of",
         r->multiple_of != NULL &&
             !mortise_json_is_multiple(v, r->multiple_of)},
    };

    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].breaks && j->quiet > 0)
            return fail_judge(j, MORTISE_EINVAL);
        else if (rules[i].breaks)
            return add_schema_finding(j, s, rules[i].keyword, spot, "%s %s %s",
                                      print_short_value(v).text, rules[i].words,
                                      print_short_value(rules[i].bound).text);
    return true;
}

/* Compare a count with a minimum and a maximum. */
static bool judge_count(struct judge *j, const struct mortise_schema *s,
                        const struct spot *spot, size_t n, size_t min,
                        size_t max, const char *const keywords[2],
                        const char *what)
{
    if (n < min)
        return add_schema_finding(j, s, keywords[0], spot,
                                  "%zu %s%s, expected at least %zu", n, what,
                                  n == 1 ? "" : "s", min);
    if (n > max)
        return add_schema_finding(j, s, keywords[1], spot,
                                  "%zu %s%s, expected at most %zu", n, what,
                                  n == 1 ? "" : "s", max);
    return true;
}

int mortise_schema_match_pattern(const struct mortise_schema *s,
                                 const struct schema_pattern *p,
                                 const char *text, size_t n, uint64_t *left,
                                 bool *found, struct mortise_err *err)
{
    int rv = mortise_regex_search(p->regex, text, n, left, s->whole->mem, found,
                                  err);

    if (rv != MORTISE_ELIMIT)
        return rv;
    return mortise_fail(err, rv,
                        "matching the pattern /%.200s/ against %zu bytes "
                        "exceeds limits.expr_cost",
                        p->text, n);
}

/* Search the pattern in the text; false if that cannot be determined. */
static bool search_pattern(struct judge *j, const struct mortise_schema *s,
                           const struct schema_pattern *p, const char *text,
                           size_t n, bool *found)
{
    int rv =
        mortise_schema_match_pattern(s, p, text, n, j->left, found, j->err);

    return rv == MORTISE_OK || fail_judge(j, rv);
}

static bool judge_string(JUDGED)
{
    static const char *const keywords[2] = {"minLength", "maxLength"};
    const struct schema_rare_keywords *r = s->rest;
    const char *text = json_string_value(v);
    size_t n = json_string_length(v);
    bool found;

    if ((r->min_length > 0 || r->max_length != SIZE_MAX) &&
        !judge_count(j, s, spot, mortise_utf8_count(text, n), r->min_length,
                     r->max_length, keywords, "character"))
        return false;
    if (r->pattern.regex == NULL)
        return true;
    return search_pattern(j, s, &r->pattern, text, n, &found) &&
           (found ||
            add_schema_finding(j, s, "pattern", spot, "does not match /%.200s/",
                               r->pattern.text));
}

/* ---- arrays ---------------------------------------------------------- */

static bool judge_array_items(JUDGED, struct marks *marks)
{
    size_t n_prefix = s->rest != NULL ? s->rest->prefix.n : 0;

    for (size_t i = 0; i < json_array_size(v); i++) {
        const struct mortise_schema *item =
            i < n_prefix ? s->rest->prefix.p[i] : s->items;
        struct spot at = {spot, NULL, i};

        if (item == NULL)
            break;
        if (!judge_value(j, item, json_array_get(v, i), &at, NULL))
            return false;
        set_mark(marks, i);
    }
    return true;
}

/* Count all fitting items, or stop when the result is known and no marks are
 * needed. */
static bool count_contained_items(struct judge *j,
                                  const struct schema_rare_keywords *r,
                                  const json_t *v, struct marks *marks,
                                  size_t *hits)
{
    static const struct spot nowhere; /* no finding is reported there */
    bool all = marks != NULL || r->max_contains != SIZE_MAX, fits;

    for (size_t i = 0; i < json_array_size(v); i++) {
        if (!all && *hits >= r->min_contains)
            break;
        if (!try_schema(j, r->contains, json_array_get(v, i), &nowhere, NULL,
                        &fits))
            return false;
        if (fits)
            set_mark(marks, i);
        *hits += fits;
    }
    return true;
}

static bool judge_contains_keyword(JUDGED, struct marks *marks)
{
    const struct schema_rare_keywords *r = s->rest;
    size_t hits = 0;

    if (is_partly_unknown(j, v)) {
        set_all_marks(marks);
        return true;
    }
    if (!count_contained_items(j, r, v, marks, &hits))
        return false;
    if (hits > r->max_contains)
        return add_schema_finding(
            j, s, "maxContains", spot,
            "%zu items match 'contains', expected at most %zu", hits,
            r->max_contains);
    if (hits >= r->min_contains)
        return true;
    if (r->min_contains == 1)
        return add_schema_finding(j, s, "contains", spot,
                                  "no item matches 'contains'");
    return add_schema_finding(j, s, "minContains", spot,
                              "%zu item%s 'contains', expected at least %zu",
                              hits, hits == 1 ? " matches" : "s match",
                              r->min_contains);
}

static bool judge_unique(JUDGED)
{
    size_t first, second;
    bool found;

    if (mortise_json_find_repeated(v, j->mem, &found, &first, &second) !=
        MORTISE_OK)
        return fail_judge(j, mortise_nomem(j->err));
    return !found ||
           add_schema_finding(j, s, "uniqueItems", spot,
                              "items %zu and %zu are equal", first, second);
}

/* The keywords of `rest` for an array. */
static bool judge_array(JUDGED, struct marks *marks)
{
    static const char *const keywords[2] = {"minItems", "maxItems"};
    const struct schema_rare_keywords *r = s->rest;

    return judge_count(j, s, spot, json_array_size(v), r->min_items,
                       r->max_items, keywords, "item") &&
           (r->contains == NULL ||
            judge_contains_keyword(j, s, v, spot, marks)) &&
           (!r->unique || is_partly_unknown(j, v) ||
            judge_unique(j, s, v, spot));
}

/* ---- objects --------------------------------------------------------- */

const struct mortise_schema *
mortise_schema_find_property(const struct mortise_schema *s, const char *name)
{
    size_t low = 0, high = s->n_members;

    while (low < high) {
        size_t mid = (low + high) / 2;
        const char *other = s->members[mid].name;
        int d = (unsigned char)name[0] - (unsigned char)other[0];

        if (d == 0) /* the first character decides most comparisons */
            d = strcmp(name, other);
        if (d == 0)
            return s->members[mid].schema;
        if (d < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}

static bool report_unknown_member(struct judge *j,
                                  const struct mortise_schema *s,
                                  const char *keyword, const char *name,
                                  const struct spot *spot)
{
    const char *near;

    if (j->quiet > 0)
        return fail_judge(j, MORTISE_EINVAL);
    near = mortise_schema_find_nearest(s, name);
    return add_schema_finding(j, s, keyword, spot,
                              near != NULL
                                  ? "unknown member '%s', did you mean '%s'?"
                                  : "unknown member '%s'",
                              name, near);
}

/* Judge by each pattern that matches the member's name. */
static bool judge_matching_patterns(struct judge *j,
                                    const struct mortise_schema *s,
                                    const json_t *v, const struct spot *at,
                                    bool *known)
{
    for (size_t i = 0; s->rest != NULL && i < s->rest->n_patterns; i++) {
        const struct schema_pattern *p = &s->rest->patterns[i];
        bool found;

        if (!search_pattern(j, s, p, at->key, strlen(at->key), &found) ||
            (found && !judge_value(j, p->schema, v, at, NULL)))
            return false;
        *known |= found;
    }
    return true;
}

static bool judge_object_member(struct judge *j, const struct mortise_schema *s,
                                const json_t *v, const struct spot *at,
                                bool *known)
{
    const struct mortise_schema *part =
        mortise_schema_find_property(s, at->key);

    *known = part != NULL;
    if ((part != NULL && !judge_value(j, part, v, at, NULL)) ||
        !judge_matching_patterns(j, s, v, at, known))
        return false;
    if (*known || s->additional == NULL)
        return true;
    *known = true;
    if (s->additional->types == 0)
        return report_unknown_member(j, s, "additionalProperties", at->key,
                                     at->up);
    return judge_value(j, s->additional, v, at, NULL);
}

static bool judge_object_members(JUDGED, struct marks *marks)
{
    size_t i = 0;

    MORTISE_JSON_MEMBERS (name, one, v) {
        struct spot at = {spot, name, 0};
        bool known;

        if (!judge_object_member(j, s, one, &at, &known))
            return false;
        if (known)
            set_mark(marks, i);
        i++;
    }
    return true;
}

static bool judge_plain_object(JUDGED, struct marks *marks)
{
    if ((s->n_members > 0 || s->additional != NULL || s->rest != NULL) &&
        !judge_object_members(j, s, v, spot, marks))
        return false;
    for (size_t i = 0; i < s->n_required; i++)
        if (json_object_get(v, s->required[i]) == NULL)
            return add_schema_finding(j, s, "required", spot,
                                      "the member '%s' is missing",
                                      s->required[i]);
    return true;
}

/* Judge the name again, to get the reason why it does not fit. */
static bool report_bad_name(struct judge *j, const struct mortise_schema *s,
                            const json_t *name, const struct spot *spot)
{
    static const struct spot root;
    struct mortise_err why;
    struct judge loud = *j;

    if (j->quiet > 0)
        return fail_judge(j, MORTISE_EINVAL);
    loud.err = &why;
    loud.aside = 0;
    judge_value(&loud, s->rest->names, name, &root, NULL);
    return add_schema_finding(j, s, "propertyNames", spot, "the name '%s': %s",
                              json_string_value(name), why.msg);
}

static bool judge_property_names(JUDGED)
{
    json_t *object = mortise_json_unconst(v);
    bool good = true;

    for (void *it = json_object_iter(object); it != NULL && good;
         it = json_object_iter_next(object, it)) {
        json_t *name = mortise_json_make_string(json_object_iter_key(it),
                                                json_object_iter_key_len(it));
        bool fits;

        if (name == NULL)
            return fail_judge(j, mortise_nomem(j->err));
        good = try_schema(j, s->rest->names, name, spot, NULL, &fits) &&
               (fits || report_bad_name(j, s, name, spot));
        json_decref(name);
    }
    return good;
}

static bool judge_dependent_required(JUDGED)
{
    count_small_steps(j, json_object_size(s->rest->dependent_required));
    MORTISE_JSON_MEMBERS (name, list, s->rest->dependent_required) {
        if (json_object_get(v, name) == NULL)
            continue;
        for (size_t i = 0; i < json_array_size(list); i++) {
            const char *need = json_string_value(json_array_get(list, i));

            if (json_object_get(v, need) == NULL)
                return add_schema_finding(
                    j, s, "dependentRequired", spot,
                    "the member '%s' is missing, but '%s' requires it", need,
                    name);
        }
    }
    return true;
}

/* The keywords of `rest` for an object. */
static bool judge_object(JUDGED)
{
    static const char *const keywords[2] = {"minProperties", "maxProperties"};
    const struct schema_rare_keywords *r = s->rest;

    return judge_count(j, s, spot, json_object_size(v), r->min_members,
                       r->max_members, keywords, "member") &&
           (r->names == NULL || judge_property_names(j, s, v, spot)) &&
           (r->dependent_required == NULL ||
            judge_dependent_required(j, s, v, spot));
}

/* ---- applicators for the same value ---------------------------------- */

/* The target of a $dynamicRef: the outermost resource that has the anchor. */
static const struct mortise_schema *get_ref_target(struct judge *j,
                                                   const struct schema_ref *ref)
{
    const struct mortise_schema *found = ref->target;
    size_t n = 0;

    if (ref->dynamic == NULL)
        return found;
    for (const struct scope *s = j->scope; s != NULL; s = s->up)
        for (const struct schema_anchor *a = s->resource->anchors; a != NULL;
             a = a->next, n++)
            if (a->dynamic && strcmp(a->name, ref->dynamic) == 0)
                found = a->schema;
    count_small_steps(j, n);
    return found;
}

static bool judge_ref(struct judge *j, const struct schema_ref *ref,
                      const json_t *v, const struct spot *spot,
                      struct marks *marks)
{
    const struct mortise_schema *to = get_ref_target(j, ref);
    struct scope scope = {j->scope, to->resource};
    bool fits;

    j->scope = &scope;
    fits = judge_aside(j, to, v, spot, marks);
    j->scope = scope.up;
    return fits;
}

/* Could this be the intended branch?  No, if the value has another type, or if
 * a member that distinguishes the branches (const, enum) does not fit. */
static bool is_plausible_branch(struct judge *j, const struct mortise_schema *s,
                                const json_t *v)
{
    bool yes = fits_types(s->kinds, v);

    MORTISE_JSON_MEMBERS (name, one, v) {
        const struct mortise_schema *m =
            mortise_schema_get_member_limited(s, name, j->left);
        static const struct spot nowhere;

        if (yes && m != NULL &&
            (m->enumeration != NULL ||
             (m->rest != NULL && m->rest->constant != NULL)))
            try_schema(j, m, one, &nowhere, NULL, &yes);
    }
    return yes;
}

/* If only one branch is plausible, report the findings of that branch. */
static bool report_no_branch_fits(struct judge *j,
                                  const struct mortise_schema *s,
                                  const char *keyword,
                                  const struct schema_list *list,
                                  const json_t *v, const struct spot *spot)
{
    const struct mortise_schema *meant = NULL;
    size_t n = 0;

    if (j->quiet > 0)
        return fail_judge(j, MORTISE_EINVAL);
    for (size_t i = 0; i < list->n; i++) {
        if (!is_plausible_branch(j, list->p[i], v))
            continue;
        meant = list->p[i];
        n++;
    }
    if (n == 1)
        return judge_aside(j, meant, v, spot, NULL);
    return add_schema_finding(j, s, keyword, spot,
                              "matches none of the %zu schemas of '%s'",
                              list->n, keyword);
}

static bool judge_any_of(JUDGED, struct marks *marks)
{
    const struct schema_list *list = &s->rest->any_of;
    bool any = false, fits;

    for (size_t i = 0; i < list->n && !(any && marks == NULL); i++) {
        if (!try_schema(j, list->p[i], v, spot, marks, &fits))
            return false;
        any |= fits;
    }
    return any || list->n == 0 ||
           report_no_branch_fits(j, s, "anyOf", list, v, spot);
}

static bool judge_one_of(JUDGED, struct marks *marks)
{
    const struct schema_list *list = &s->rest->one_of;
    bool partial = list->n > 0 && is_partly_unknown(j, v), fits;
    size_t first = list->n;

    for (size_t i = 0; i < list->n; i++) {
        if (!try_schema(j, list->p[i], v, spot, marks, &fits))
            return false;
        if (fits && first < list->n && !partial)
            return add_schema_finding(
                j, s, "oneOf", spot,
                "matches the schemas %zu and %zu of 'oneOf', but "
                "only one is allowed",
                first, i);
        if (fits)
            first = i;
    }
    return first < list->n || list->n == 0 ||
           report_no_branch_fits(j, s, "oneOf", list, v, spot);
}

static bool judge_not(JUDGED)
{
    bool fits;

    if (is_partly_unknown(j, v))
        return true;
    return try_schema(j, s->rest->not, v, spot, NULL, &fits) &&
           (!fits || add_schema_finding(j, s, "not", spot,
                                        "matches the schema of 'not'"));
}

static bool judge_if(JUDGED, struct marks *marks)
{
    const struct mortise_schema *next;
    bool fits;

    if (is_partly_unknown(j, v)) {
        set_all_marks(marks);
        return true;
    }
    if (!try_schema(j, s->rest->when, v, spot, marks, &fits))
        return false;
    next = fits ? s->rest->then : s->rest->otherwise;
    return next == NULL || judge_aside(j, next, v, spot, marks);
}

static bool judge_all_of(JUDGED, struct marks *marks)
{
    const struct schema_list *list = &s->rest->all_of;

    for (size_t i = 0; i < list->n; i++)
        if (!judge_aside(j, list->p[i], v, spot, marks))
            return false;
    return true;
}

static bool judge_dependents(JUDGED, struct marks *marks)
{
    const struct schema_rare_keywords *r = s->rest;

    count_small_steps(j, r->n_dependents);
    for (size_t i = 0; i < r->n_dependents; i++)
        if (json_object_get(v, r->dependents[i].name) != NULL &&
            !judge_aside(j, r->dependents[i].schema, v, spot, marks))
            return false;
    return true;
}

static bool judge_subschemas(JUDGED, struct marks *marks)
{
    const struct schema_rare_keywords *r = s->rest;

    return (r->ref.target == NULL || judge_ref(j, &r->ref, v, spot, marks)) &&
           (r->dynamic_ref.target == NULL ||
            judge_ref(j, &r->dynamic_ref, v, spot, marks)) &&
           judge_all_of(j, s, v, spot, marks) &&
           judge_any_of(j, s, v, spot, marks) &&
           judge_one_of(j, s, v, spot, marks) &&
           (r->not == NULL || judge_not(j, s, v, spot)) &&
           (r->when == NULL || judge_if(j, s, v, spot, marks)) &&
           judge_dependents(j, s, v, spot, marks);
}

/* ---- unevaluated members and items ----------------------------------- */

static bool judge_unevaluated_members(JUDGED, const struct marks *marks)
{
    const struct mortise_schema *by = s->rest->unevaluated_members;
    size_t i = 0;

    MORTISE_JSON_MEMBERS (name, one, v) {
        struct spot at = {spot, name, 0};

        if (has_mark_at(marks, i++))
            continue;
        if (by->types == 0)
            return report_unknown_member(j, s, "unevaluatedProperties", name,
                                         spot);
        if (!judge_value(j, by, one, &at, NULL))
            return false;
    }
    return true;
}

static bool judge_unevaluated_items(JUDGED, const struct marks *marks)
{
    for (size_t i = 0; i < json_array_size(v); i++) {
        struct spot at = {spot, NULL, i};

        if (!has_mark_at(marks, i) &&
            !judge_value(j, s->rest->unevaluated_items, json_array_get(v, i),
                         &at, NULL))
            return false;
    }
    return true;
}

static bool judge_unevaluated(JUDGED, const struct marks *marks)
{
    return json_is_object(v) ? judge_unevaluated_members(j, s, v, spot, marks)
                             : judge_unevaluated_items(j, s, v, spot, marks);
}

/* ---- judging --------------------------------------------------------- */

/* The common keywords; sufficient for schemas without `rest`. */
static bool judge_plain(JUDGED, struct marks *marks)
{
    if (s->enumeration != NULL && !is_partly_unknown(j, v) &&
        !judge_enum(j, s, v, spot))
        return false;
    if (json_is_object(v))
        return judge_plain_object(j, s, v, spot, marks);
    return !json_is_array(v) || judge_array_items(j, s, v, spot, marks);
}

static bool judge_by_type(JUDGED, struct marks *marks)
{
    switch (json_typeof(v)) {
    case JSON_INTEGER:
    case JSON_REAL:
        return judge_number(j, s, v, spot);
    case JSON_STRING:
        return judge_string(j, s, v, spot);
    case JSON_ARRAY:
        return judge_array(j, s, v, spot, marks);
    case JSON_OBJECT:
        return judge_object(j, s, v, spot);
    default:
        return true;
    }
}

static bool judge_rules(JUDGED, struct marks *marks)
{
    return (s->rest->constant == NULL || is_partly_unknown(j, v) ||
            judge_const(j, s, v, spot)) &&
           judge_plain(j, s, v, spot, marks) &&
           judge_by_type(j, s, v, spot, marks) &&
           judge_subschemas(j, s, v, spot, marks);
}

/* With a new set of marks: evaluations by sibling schemas do not count. */
static bool judge_with_own_marks(JUDGED, struct marks *marks)
{
    struct marks own;
    bool fits;

    if (!marks_init(&own, j, v))
        return fail_judge(j, mortise_nomem(j->err));
    fits = judge_rules(j, s, v, spot, &own) &&
           judge_unevaluated(j, s, v, spot, &own);
    marks_finish(&own, j);
    set_all_marks(marks);
    return fits;
}

static bool judge_full(JUDGED, struct marks *marks)
{
    struct scope scope = {j->scope, s->resource};
    bool good;

    if (s->rest->is_resource)
        j->scope = &scope;
    if ((json_is_object(v) && s->rest->unevaluated_members != NULL) ||
        (json_is_array(v) && s->rest->unevaluated_items != NULL))
        good = judge_with_own_marks(j, s, v, spot, marks);
    else
        good = judge_rules(j, s, v, spot, marks);
    j->scope = scope.up;
    return good;
}

static bool judge_further(JUDGED, struct marks *marks)
{
    bool good;

    if (v == j->unknown && s->types != 0)
        return true;
    if (!fits_types(s->types, v))
        return report_wrong_type(j, s, v, spot);
    if (s->rest == NULL)
        return judge_plain(j, s, v, spot, marks);
    if (is_step_limit_reached(j))
        return fail_with_step_limit(j);
    j->steps++;
    j->depth++;
    good = judge_full(j, s, v, spot, marks);
    j->depth--;
    return good;
}

static int check_value_by_schema(const struct mortise_schema *s,
                                 const json_t *value, const json_t *unknown,
                                 uint64_t *left, struct mortise_err *err)
{
    static const struct spot root = {NULL, NULL, 0};
    struct scope scope = {NULL, NULL};
    struct judge j = {.scope = &scope,
                      .most_steps = STEPS,
                      .whole = value,
                      .unknown = unknown,
                      .left = left,
                      .err = err};

    if (s == NULL)
        return MORTISE_OK;
    scope.resource = s->resource;
    j.mem = s->whole->mem;
    return judge_value(&j, s, value, &root, NULL) ? MORTISE_OK : j.rv;
}

int mortise_schema_check_limited(const struct mortise_schema *s,
                                 const json_t *value, uint64_t *left,
                                 struct mortise_err *err)
{
    return check_value_by_schema(s, value, NULL, left, err);
}

int mortise_schema_check_with_limit(const struct mortise_schema *s,
                                    const json_t *value, uint64_t limit,
                                    struct mortise_err *err)
{
    uint64_t left = limit != 0 ? limit : MORTISE_COST;

    return check_value_by_schema(s, value, NULL, &left, err);
}

int mortise_schema_check_partly(const struct mortise_schema *s,
                                const json_t *value, const json_t *unknown,
                                struct mortise_err *err)
{
    uint64_t left = MORTISE_COST;

    return check_value_by_schema(s, value, unknown, &left, err);
}
