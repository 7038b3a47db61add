/* keys.c -- mappings, read according to tables of their keys.
 *
 * All keys of a file are processed in the same way, so that no key is parsed
 * and then ignored:
 *
 *   (1) A key that the language does not have is E0201, a key that this build
 *       does not have is E0202, and a key of another type of node is E0204.
 *       These three are never confused: the first is a mistake, and the second
 *       a request.
 *   (2) A reader runs only for a key whose value has the right kind.  So
 *       readers need no checks of kind, and a wrong value is reported once.
 *   (3) Readers run in the order of the table, not of the file.  So a reader
 *       may use the results of the readers before it.
 *   (4) A key of a later build that has a reader is read in addition to its
 *       E0202, so that errors in its value are reported already.
 */
#include "lang/yaml/keys.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "lang/yaml/foreign_keys.h"

/* ---- rows ------------------------------------------------------------ */

static size_t put_rows(const struct mortise_key *table, size_t n,
                       const struct mortise_key **rows, size_t at)
{
    for (size_t i = 0; i < n; i++) {
        if (table[i].rows != NULL) {
            at = put_rows(table[i].rows, table[i].n_rows, rows, at);
            continue;
        }
        assert(at < MORTISE_MAX_KEYS); /* our tables */
        rows[at++] = &table[i];
    }
    return at;
}

size_t mortise_place_list_keys(const struct mortise_place *place,
                               const struct mortise_key *rows[MORTISE_MAX_KEYS])
{
    return put_rows(place->keys, place->n, rows, 0);
}

/* Returns n if there is none. */
static size_t find_row(const struct mortise_key *const *rows, size_t n,
                       const char *name)
{
    size_t i = 0;

    while (i < n &&
           (rows[i]->name[0] != name[0] || strcmp(rows[i]->name, name) != 0))
        i++;
    return i;
}

const struct mortise_key *
mortise_place_find_key(const struct mortise_place *place, const char *name)
{
    const struct mortise_key *rows[MORTISE_MAX_KEYS];
    size_t n = mortise_place_list_keys(place, rows),
           i = find_row(rows, n, name);

    return i < n ? rows[i] : NULL;
}

const struct mortise_key *
mortise_place_find_key_of_types(const struct mortise_place *place,
                                const char *name)
{
    const struct mortise_key *key = NULL;

    for (size_t i = 0; place->types[i] != NULL && key == NULL; i++)
        key = mortise_place_find_key(place->types[i], name);
    return key;
}

/* ---- keys (1) -------------------------------------------------------- */

/* Returns the key that was probably intended, or NULL. */
static const char *report_unknown_key(const struct mortise_place *place,
                                      const char *const *known, size_t n,
                                      const struct mortise_yaml *name,
                                      struct mortise_diags *diags)
{
    const char *near, *ours = mortise_foreign_find_key(name->str, known, n);
    struct mortise_diag *d =
        mortise_diag_add(diags, "E0201", name->span, "unknown key '%s' in %s",
                         name->str, place->what);

    if (ours != NULL) {
        mortise_diag_help(diags, d, "Mortise's key for this is '%s'", ours);
        return ours;
    }
    near = mortise_nearest_find(name->str, known, n);
    if (near != NULL)
        mortise_diag_help(diags, d, "did you mean '%s'?", near);
    else
        mortise_diag_help(diags, d, "begin your own keys with x-");
    return near;
}

/* The description of one element of a type: "an inner graph", "a node of type
 * 'tool'". */
static const char *describe_place(const struct mortise_place *place,
                                  char out[160])
{
    if (place->of == NULL)
        return place->what;
    if (place->of->select == NULL)
        return place->type;
    snprintf(out, 160, "%s of type '%s'", place->what, place->type);
    return out;
}

/* "'human'" or "'tool' and 'extension'" ...: the types that have the key. */
static void put_types(const struct mortise_place *of, const char *name,
                      char *out, size_t size)
{
    const char *quote = of->select != NULL ? "'" : "", *last = NULL;
    size_t n = 0;

    out[0] = '\0';
    for (size_t i = 0; of->types[i] != NULL && n < size; i++) {
        if (mortise_place_find_key(of->types[i], name) == NULL)
            continue;
        if (last != NULL)
            n += (size_t)snprintf(out + n, size - n, "%s%s%s%s",
                                  n > 0 ? ", " : "", quote, last, quote);
        last = of->types[i]->type;
    }
    if (n < size)
        snprintf(out + n, size - n, "%s%s%s%s", n > 0 ? " and " : "", quote,
                 last, quote);
}

static void report_foreign_key(const struct mortise_place *place,
                               const struct mortise_yaml *name,
                               struct mortise_diags *diags)
{
    char others[160], one[160];
    struct mortise_diag *d = mortise_diag_add(
        diags, "E0204", name->span, "'%s' does not belong to %s", name->str,
        describe_place(place, one));

    put_types(place->of, name->str, others, sizeof others);
    mortise_diag_help(diags, d, "it belongs to %s", others);
}

/* The state of reading a mapping: the rows of its place, and the value found
 * for each. */
struct walk {
    const struct mortise_place *place;
    const struct mortise_key *rows[MORTISE_MAX_KEYS];
    struct mortise_slot slots[MORTISE_MAX_KEYS];
    size_t n;
};

/* A misspelt key fills the slot of the key that was probably intended (with
 * `key` NULL, so that it is not read).  So the intended key is not reported as
 * missing, too. */
static void admit_unknown(struct walk *w, const struct mortise_yaml *name,
                          struct mortise_diags *diags)
{
    const char *known[MORTISE_MAX_KEYS], *meant;
    size_t at;

    for (size_t i = 0; i < w->n; i++)
        known[i] = w->rows[i]->name;
    meant = report_unknown_key(w->place, known, w->n, name, diags);
    at = meant != NULL ? find_row(w->rows, w->n, meant) : w->n;
    if (at < w->n && w->slots[at].key == NULL)
        w->slots[at].name = name;
}

/* Put the i-th key and its value into its slot, if the key is allowed here. */
static void admit_key(struct walk *w, const struct mortise_yaml *map, size_t i,
                      struct mortise_diags *diags)
{
    const struct mortise_place *of = w->place->of;
    const struct mortise_yaml *name = map->keys[i];
    size_t at = find_row(w->rows, w->n, name->str);

    if (at == w->n) {
        if (of != NULL &&
            mortise_place_find_key_of_types(of, name->str) != NULL)
            report_foreign_key(w->place, name, diags);
        else if (!w->place->open)
            admit_unknown(w, name, diags);
        return;
    }
    if (w->rows[at]->later)
        mortise_diag_add(diags, "E0202", name->span,
                         "'%s' is not available in this build", name->str);
    if (!w->rows[at]->later || mortise_key_is_read(w->rows[at])) /* (4) */
        w->slots[at] = (struct mortise_slot){.key = w->rows[at],
                                             .name = name,
                                             .value = map->items[i],
                                             .map = map,
                                             .place = w->place};
}

/* ---- values (2) ------------------------------------------------------ */

#define KIND(kind) (1u << MORTISE_YAML_##kind)

/* The description of each value, and the permitted kinds of YAML; 0: any, or a
 * separate check tests the kind. */
static const struct {
    const char *what;
    unsigned kinds;
} values[] = {
    [MORTISE_V_ANY] = {"a value", 0},
    [MORTISE_V_NULL] = {"null", KIND(NULL)},
    [MORTISE_V_BOOL] = {"true or false", KIND(BOOL)},
    [MORTISE_V_TEXT] = {"a string", KIND(STRING)},
    [MORTISE_V_STRING] = {"a string", KIND(STRING)},
    [MORTISE_V_INT] = {"an integer", KIND(INT)},
    [MORTISE_V_NUMBER] = {"a number", KIND(INT) | KIND(REAL)},
    [MORTISE_V_DURATION] = {"a duration such as 250ms, 30s or 2h", 0},
    [MORTISE_V_SIZE] = {"a size such as 64KiB or 2MiB", 0},
    [MORTISE_V_WORD] = {"a word", 0},
    [MORTISE_V_STRINGS] = {"a list of strings", KIND(SEQ)},
    [MORTISE_V_ID] = {"the id of a node", KIND(STRING)},
    [MORTISE_V_IDS] = {"the id of a node or a list of them",
                       KIND(STRING) | KIND(SEQ)},
    [MORTISE_V_EXPR] = {"an expression", ~(KIND(SEQ) | KIND(MAP))},
    [MORTISE_V_TEMPLATE] = {"a value", 0},
    [MORTISE_V_FILLED] = {"a string with ${...}", KIND(STRING)},
    [MORTISE_V_SCHEMA] = {"a JSON Schema", KIND(MAP) | KIND(BOOL)},
    [MORTISE_V_MAP] = {"a mapping", KIND(MAP)},
    [MORTISE_V_LIST] = {"a list", KIND(SEQ)},
    [MORTISE_V_FORMS] = {"a value", 0},
};
_Static_assert(sizeof values / sizeof values[0] == MORTISE_V_FORMS + 1,
               "each value has its row");

static bool report_wrong_kind(const struct mortise_slot *slot,
                              const struct mortise_yaml *at,
                              struct mortise_diags *diags)
{
    const char *name = slot->key->name, *want = values[slot->key->value].what,
               *of = "";
    bool scalar = at->kind != MORTISE_YAML_SEQ && at->kind != MORTISE_YAML_MAP;
    struct mortise_diag *d;

    if (at != slot->value) { /* an item of a list */
        of = "an item of ";
        want =
            slot->key->value == MORTISE_V_IDS ? "the id of a node" : "a string";
    }
    if (at->kind == MORTISE_YAML_STRING)
        d = mortise_diag_add(diags, "E0203", at->span,
                             "%s'%s' must be %s, not '%s'", of, name, want,
                             at->str);
    else
        d = mortise_diag_add(diags, "E0203", at->span,
                             "%s'%s' must be %s, not %s", of, name, want,
                             mortise_yaml_kind_name(at->kind));
    if (slot->key->value == MORTISE_V_STRING && scalar && at->len > 0)
        mortise_diag_help(diags, d, "quote it: \"%s\"", at->str);
    return false;
}

static bool reject_empty(const struct mortise_slot *slot,
                         const struct mortise_yaml *at,
                         struct mortise_diags *diags)
{
    if (at->n > 0 || at->len > 0) /* of a collection; of a scalar */
        return false;
    mortise_diag_add(diags, "E0208", at->span, "'%s' must not be empty",
                     slot->key->name);
    return true;
}

static bool check_string(const struct mortise_slot *slot,
                         const struct mortise_yaml *v,
                         struct mortise_diags *diags)
{
    if (v->kind != MORTISE_YAML_STRING)
        return report_wrong_kind(slot, v, diags);
    if (strlen(v->str) != v->len) {
        mortise_diag_add(diags, "E0208", v->span, "'%s' cannot contain a NUL",
                         slot->key->name);
        return false;
    }
    return !reject_empty(slot, v, diags);
}

static bool check_strings(const struct mortise_slot *slot,
                          struct mortise_diags *diags)
{
    const struct mortise_yaml *v = slot->value;
    bool good = !reject_empty(slot, v, diags);

    for (size_t i = 0; i < v->n; i++)
        good &= check_string(slot, v->items[i], diags);
    return good;
}

static bool check_range(const struct mortise_slot *slot, double v,
                        struct mortise_diags *diags)
{
    const struct mortise_key *key = slot->key;

    if (v >= key->min && v <= key->max)
        return true;
    mortise_diag_add(diags, "E0208", slot->value->span,
                     "'%s' must be between %.15g and %.15g, not %s", key->name,
                     key->min, key->max, slot->value->str);
    return false;
}

static bool check_duration(struct mortise_slot *slot,
                           struct mortise_diags *diags)
{
    double most = slot->key->max;
    bool is_short;

    if (mortise_yaml_parse_duration(slot->value, &slot->amount) != 0)
        return report_wrong_kind(slot, slot->value, diags);
    is_short = (double)slot->amount < slot->key->min;
    if (!is_short && (most == 0 || (double)slot->amount <= most))
        return true;
    if (is_short)
        mortise_diag_add(diags, "E0208", slot->value->span,
                         "'%s' must be longer than 0", slot->key->name);
    else
        mortise_diag_add(diags, "E0208", slot->value->span,
                         "'%s' must be at most %.15gh, not %s", slot->key->name,
                         most / 3600000, slot->value->str);
    return false;
}

static bool check_size(struct mortise_slot *slot, struct mortise_diags *diags)
{
    double most = slot->key->max;
    bool is_small;

    if (mortise_yaml_parse_size(slot->value, &slot->amount) != 0)
        return report_wrong_kind(slot, slot->value, diags);
    is_small = (double)slot->amount < slot->key->min;
    if (!is_small && (most == 0 || (double)slot->amount <= most))
        return true;
    if (is_small)
        mortise_diag_add(diags, "E0208", slot->value->span,
                         "'%s' must be at least %.15g bytes", slot->key->name,
                         slot->key->min);
    else
        mortise_diag_add(diags, "E0208", slot->value->span,
                         "'%s' must be at most %.15gKiB, not %s",
                         slot->key->name, most / 1024, slot->value->str);
    return false;
}

static bool check_word_value(struct mortise_slot *slot,
                             struct mortise_diags *diags)
{
    const struct mortise_word *w = mortise_word_find(
        mortise_key_get_words(slot->key), slot->key->name, slot->value, diags);

    slot->word = w != NULL ? w->value : 0;
    return w != NULL;
}

static bool check_slot_value(struct mortise_slot *slot,
                             struct mortise_diags *diags)
{
    const struct mortise_yaml *v = slot->value;
    unsigned kinds = values[slot->key->value].kinds;

    if (kinds != 0 && (kinds & (1u << v->kind)) == 0)
        return report_wrong_kind(slot, v, diags);
    switch (slot->key->value) {
    case MORTISE_V_STRING:
    case MORTISE_V_ID:
    case MORTISE_V_FILLED:
        return check_string(slot, v, diags);
    case MORTISE_V_INT:
        slot->amount = (uint64_t)v->u.i;
        return check_range(slot, mortise_yaml_get_number(v), diags);
    case MORTISE_V_NUMBER:
        return check_range(slot, mortise_yaml_get_number(v), diags);
    case MORTISE_V_DURATION:
        return check_duration(slot, diags);
    case MORTISE_V_SIZE:
        return check_size(slot, diags);
    case MORTISE_V_WORD:
        return check_word_value(slot, diags);
    case MORTISE_V_IDS:
    case MORTISE_V_STRINGS:
        return v->kind == MORTISE_YAML_STRING ? check_string(slot, v, diags)
                                              : check_strings(slot, diags);
    case MORTISE_V_EXPR:
        return !reject_empty(slot, v, diags);
    case MORTISE_V_MAP:
    case MORTISE_V_LIST:
        return slot->key->min == 0 || !reject_empty(slot, v, diags);
    default:
        return true;
    }
}

bool mortise_keys_is_fit(const struct mortise_slot *slot,
                         const struct mortise_key *form,
                         struct mortise_diags *diags)
{
    struct mortise_key key = *form;
    struct mortise_slot as = *slot;

    key.name = slot->key->name;
    as.key = &key;
    return check_slot_value(&as, diags);
}

/* ---- words ----------------------------------------------------------- */

static void report_unknown_word(const struct mortise_word *words,
                                const char *what,
                                const struct mortise_yaml *scalar,
                                struct mortise_diags *diags)
{
    const char *known[MORTISE_MAX_KEYS], *near;
    char list[1024];
    size_t n = 0, len = 0;
    struct mortise_diag *d;

    list[0] = '\0';
    for (const struct mortise_word *w = words; w->word != NULL; w++) {
        if (w->later)
            continue;
        known[n] = w->word;
        len += (size_t)snprintf(list + len, sizeof list - len, "%s%s",
                                n > 0 ? ", " : "", w->word);
        n++;
        assert(len < sizeof list && n < MORTISE_MAX_KEYS); /* our tables */
    }
    d = mortise_diag_add(diags, "E0207", scalar->span,
                         "%s cannot be '%s'; use %s%s", what, scalar->str,
                         n > 1 ? "one of " : "", list);
    near = mortise_nearest_find(scalar->str, known, n);
    if (near != NULL)
        mortise_diag_help(diags, d, "did you mean '%s'?", near);
}

const struct mortise_word *mortise_word_find(const struct mortise_word *words,
                                             const char *what,
                                             const struct mortise_yaml *scalar,
                                             struct mortise_diags *diags)
{
    const struct mortise_word *w = words;

    if (scalar->kind == MORTISE_YAML_SEQ || scalar->kind == MORTISE_YAML_MAP) {
        mortise_diag_add(diags, "E0203", scalar->span,
                         "'%s' must be a word, not %s", what,
                         mortise_yaml_kind_name(scalar->kind));
        return NULL;
    }
    while (w->word != NULL && strcmp(w->word, scalar->str) != 0)
        w++;
    if (w->word != NULL && !w->later)
        return w;
    if (w->word == NULL)
        report_unknown_word(words, what, scalar, diags);
    else
        mortise_diag_add(diags, "E0205", scalar->span,
                         "%s '%s' is not available in this build", what,
                         scalar->str);
    return NULL;
}

/* ---- reading (3) ----------------------------------------------------- */

static void check_required_keys(const struct walk *w, struct mortise_span at,
                                struct mortise_diags *diags)
{
    char one[160];

    for (size_t i = 0; i < w->n; i++) {
        const struct mortise_key *row = w->rows[i];
        struct mortise_diag *d;

        if (!row->required || w->slots[i].name != NULL)
            continue;
        d = mortise_diag_add(diags, "E0206", at, "%s needs the key '%s'",
                             describe_place(w->place, one), row->name);
        if (row->about != NULL)
            mortise_diag_help(diags, d, "%s: %s", row->name, row->about);
    }
}

static bool is_map(const struct mortise_place *place,
                   const struct mortise_yaml *map, struct mortise_diags *diags)
{
    if (map->kind == MORTISE_YAML_MAP)
        return true;
    mortise_diag_add(diags, "E0203", map->span, "%s must be a mapping, not %s",
                     place->what, mortise_yaml_kind_name(map->kind));
    return false;
}

/* Store the value in the field that its row names. */
static void store_value(void *ctx, const struct mortise_slot *slot,
                        struct mortise_diags *diags)
{
    const struct mortise_yaml *v = slot->value;
    void *to = slot->field;

    switch (slot->key->as) {
    case MORTISE_INTO_NONE:
        break;
    case MORTISE_INTO_A_NODE:
        *(const struct mortise_yaml **)to = v;
        break;
    case MORTISE_INTO_A_TEXT:
        *(const char **)to = v->str;
        break;
    case MORTISE_INTO_A_U64:
        *(uint64_t *)to = slot->amount;
        break;
    case MORTISE_INTO_A_U32:
        *(uint32_t *)to = (uint32_t)slot->amount;
        break;
    case MORTISE_INTO_A_DOUBLE:
        *(double *)to = mortise_yaml_get_number(v);
        break;
    case MORTISE_INTO_A_BOOL:
        *(bool *)to = v->u.b;
        break;
    case MORTISE_INTO_A_WORD: /* any enum */
        memcpy(to, &slot->word, sizeof slot->word);
        break;
    case MORTISE_INTO_A_FLAG:
        *(bool *)to = slot->word != 0;
        break;
    case MORTISE_INTO_A_SLOT:
        *(struct mortise_slot *)to = *slot;
        break;
    case MORTISE_INTO_A_PLACE:
        mortise_keys_read_slot(slot, ctx, to, diags);
        break;
    }
}

static void take_value(void *ctx, void *into, struct mortise_slot *slot,
                       struct mortise_diags *diags)
{
    const struct mortise_key *key = slot->key;

    assert(key->read == NULL || key->as == MORTISE_INTO_NONE);
    if (into != NULL)
        slot->field =
            (char *)(key->in != NULL ? key->in(into) : into) + key->at;
    store_value(ctx, slot, diags);
    if (key->read != NULL)
        key->read(ctx, into, slot);
}

void mortise_keys_read(const struct mortise_place *place,
                       const struct mortise_yaml *map, struct mortise_span at,
                       void *ctx, void *into, struct mortise_diags *diags)
{
    struct walk w = {.place = place};

    if (!is_map(place, map, diags))
        return;
    w.n = mortise_place_list_keys(place, w.rows);
    for (size_t i = 0; i < map->n; i++)
        if (!mortise_yaml_is_x_key(map->keys[i]->str))
            admit_key(&w, map, i, diags);
    check_required_keys(&w, at, diags);
    for (size_t i = 0; i < w.n; i++)
        if (w.slots[i].key != NULL && check_slot_value(&w.slots[i], diags))
            take_value(ctx, into, &w.slots[i], diags);
}

/* The names of the keys of all types, each once.  Returns their number. */
static size_t known_to_types(const struct mortise_place *place,
                             const char *known[MORTISE_MAX_KEYS])
{
    const struct mortise_key *rows[MORTISE_MAX_KEYS];
    size_t n = 0;

    for (size_t i = 0; place->types[i] != NULL; i++) {
        size_t n_rows = mortise_place_list_keys(place->types[i], rows);

        for (size_t k = 0; k < n_rows; k++) {
            size_t at = 0;

            while (at < n && strcmp(known[at], rows[k]->name) != 0)
                at++;
            assert(at < MORTISE_MAX_KEYS); /* our tables */
            known[at] = rows[k]->name;
            n += at == n;
        }
    }
    return n;
}

static size_t known_to(const struct mortise_place *place,
                       const char *known[MORTISE_MAX_KEYS])
{
    const struct mortise_key *rows[MORTISE_MAX_KEYS];
    size_t n;

    if (place->types != NULL)
        return known_to_types(place, known);
    n = mortise_place_list_keys(place, rows);
    for (size_t i = 0; i < n; i++)
        known[i] = rows[i]->name;
    return n;
}

static bool is_known_key(const char *const *known, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(known[i], name) == 0)
            return true;
    return false;
}

/* The key of `known` that `key`, which is not one of them, probably stands
 * for. */
static const char *guess_key(const char *key, const char *const *known,
                             size_t n)
{
    const char *ours = mortise_foreign_find_key(key, known, n);

    return ours != NULL ? ours : mortise_nearest_find(key, known, n);
}

/* Does the mapping have an unknown key that probably stands for `name`? */
static bool is_misspelt(const struct mortise_place *place,
                        const struct mortise_yaml *map, const char *name)
{
    const char *known[MORTISE_MAX_KEYS], *near;
    size_t n = known_to(place, known);

    for (size_t i = 0; map->kind == MORTISE_YAML_MAP && i < map->n; i++) {
        const char *key = map->keys[i]->str;

        if (mortise_yaml_is_x_key(key) || is_known_key(known, n, key))
            continue;
        near = guess_key(key, known, n);
        if (near != NULL && strcmp(near, name) == 0)
            return true;
    }
    return false;
}

bool mortise_keys_has_key(const struct mortise_place *place,
                          const struct mortise_yaml *map, const char *name)
{
    return mortise_yaml_get(map, name) != NULL || is_misspelt(place, map, name);
}

/* The words of the key, or of one of its forms. */
static const struct mortise_word *get_key_words(const struct mortise_key *key)
{
    const struct mortise_word *words = mortise_key_get_words(key);

    for (size_t i = 0; words == NULL && i < key->n_forms; i++)
        words = mortise_key_get_words(&key->forms[i]);
    return words;
}

bool mortise_keys_is_uncertain(const struct mortise_place *place,
                               const struct mortise_yaml *map, const char *name)
{
    const struct mortise_yaml *v = mortise_yaml_get(map, name);
    const struct mortise_word *w =
        get_key_words(mortise_place_find_key(place, name));

    if (v == NULL)
        return is_misspelt(place, map, name);
    while (w->word != NULL && v->str != NULL && strcmp(w->word, v->str) != 0)
        w++;
    return v->kind != MORTISE_YAML_MAP && w->word == NULL;
}

void mortise_keys_report_unknown(const struct mortise_place *place,
                                 const struct mortise_yaml *map,
                                 struct mortise_diags *diags)
{
    const char *known[MORTISE_MAX_KEYS];
    size_t n = known_to_types(place, known);

    for (size_t i = 0; map->kind == MORTISE_YAML_MAP && i < map->n; i++)
        if (!mortise_yaml_is_x_key(map->keys[i]->str) &&
            mortise_place_find_key_of_types(place, map->keys[i]->str) == NULL)
            report_unknown_key(place, known, n, map->keys[i], diags);
}

void mortise_keys_read_slot(const struct mortise_slot *slot, void *ctx,
                            void *into, struct mortise_diags *diags)
{
    mortise_keys_read(slot->key->place, slot->value, slot->name->span, ctx,
                      into, diags);
}
