/* value.c -- CEL's values: equality, order, maps, and conversion to JSON.
 *
 *   (1) Each element and byte that is read is charged to the context before, so
 *       no operation takes longer than its cost.  This includes equality and
 *       the conversion to JSON, because a small value may contain one part many
 *       times.
 *   (2) DEPTH limits recursion in all nested values.
 *   (3) Equality is that of CEL: numbers of different kinds are compared by
 *       value, NaN equals nothing, and values of different kinds are unequal,
 *       which is not an error.
 *
 * For a comparison with a double, an int or uint is converted to double, as in
 * other implementations of CEL. Above 2^53 this rounds.  Map keys are exact: a
 * double finds an integer key only if it is exactly that integer.
 *
 * In JSON, a timestamp or duration is the string that string() returns, as CEL
 * specifies. bytes and some other kinds have no form in JSON.
 */
#include "lang/cel/value.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { DEPTH = 300, FEW_KEYS = 8 };

bool mortise_cel_fault(struct cel_ctx *c, enum cel_fault_kind kind)
{
    c->fault = (struct mortise_cel_fault){.kind = kind};
    return false;
}

bool mortise_cel_fault_of(struct cel_ctx *c, enum cel_fault_kind kind,
                          unsigned x, unsigned y)
{
    c->fault = (struct mortise_cel_fault){
        .kind = kind, .x = (uint8_t)x, .y = (uint8_t)y};
    return false;
}

bool mortise_cel_fault_named(struct cel_ctx *c, enum cel_fault_kind kind,
                             const char *name, size_t n)
{
    c->fault =
        (struct mortise_cel_fault){.kind = kind, .name = name, .n_name = n};
    return false;
}

void *mortise_cel_alloc(struct cel_ctx *c, size_t n, size_t size)
{
    void *p = NULL;

    if (!cel_charge(c, n))
        return NULL;
    if (n <= SIZE_MAX / 2 / size)
        p = mortise_arena_alloc(c->arena, n * size);
    if (p == NULL)
        mortise_cel_fault(c, CEL_MEMORY);
    return p;
}

const char *mortise_cel_kind_name(unsigned kind)
{
    static const char *const names[CEL_KINDS] = {
        "null",  "bool", "int", "uint",      "double",   "string",
        "bytes", "list", "map", "timestamp", "duration", "type"};

    assert(kind < CEL_KINDS); /* there are no other kinds */
    return names[kind];
}

const char *mortise_cel_type_name(unsigned kind)
{
    switch (kind) {
    case CEL_NULL:
        return "null_type";
    case CEL_TIMESTAMP:
        return "google.protobuf.Timestamp";
    case CEL_DURATION:
        return "google.protobuf.Duration";
    default:
        return mortise_cel_kind_name(kind);
    }
}

/* ---- JSON ------------------------------------------------------------ */

struct cel_value mortise_cel_from_json(const json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        return (struct cel_value){
            .kind = CEL_MAP, .is_json = true, .u.json = v};
    case JSON_ARRAY:
        return (struct cel_value){
            .kind = CEL_LIST, .is_json = true, .u.json = v};
    case JSON_STRING:
        return (struct cel_value){
            .kind = CEL_STRING,
            .u.s = {json_string_value(v), json_string_length(v), v}};
    case JSON_INTEGER:
        return cel_int(json_integer_value(v));
    case JSON_REAL:
        return cel_double(json_real_value(v));
    case JSON_TRUE:
    case JSON_FALSE:
        return cel_bool(json_is_true(v));
    case JSON_NULL:
        break;
    }
    return (struct cel_value){.kind = CEL_NULL};
}

/* Check a value that jansson returned; NULL: out of memory. */
static bool check_json_value(struct cel_ctx *c, json_t *v, json_t **out)
{
    *out = v;
    return v != NULL || mortise_cel_fault(c, CEL_MEMORY);
}

static bool value_to_json(struct cel_ctx *c, const struct cel_value *v,
                          size_t depth, json_t **out);

static bool string_to_json(struct cel_ctx *c, const struct cel_value *v,
                           json_t **out)
{
    return check_json_value(c,
                            v->u.s.json != NULL
                                ? json_incref(mortise_json_unconst(v->u.s.json))
                                : mortise_json_make_string(v->u.s.p, v->u.s.n),
                            out);
}

/* An element of a list, or an entry of a map. */
static bool entry_to_json(struct cel_ctx *c, const struct cel_value *key,
                          const struct cel_value *value, size_t depth,
                          json_t *out)
{
    const bool is_list = json_is_array(out);
    json_t *item;
    int rv;

    if (!is_list && (key->kind != CEL_STRING ||
                     memchr(key->u.s.p, '\0', key->u.s.n) != NULL))
        return mortise_cel_fault(c, CEL_NOT_JSON_KEY);
    if (!value_to_json(c, value, depth, &item))
        return false;
    rv = is_list ? json_array_append_new(out, item)
                 : json_object_setn_new(out, key->u.s.p, key->u.s.n, item);
    return rv == 0 || mortise_cel_fault(c, CEL_MEMORY);
}

static bool container_to_json(struct cel_ctx *c, const struct cel_value *v,
                              size_t depth, json_t **out)
{
    struct cel_value key, value;
    struct cel_cursor cur;
    bool ok;

    if (v->is_json) {
        *out = json_incref(mortise_json_unconst(v->u.json));
        return true;
    }
    if (depth == 0)
        return mortise_cel_fault(c, CEL_DEPTH);
    ok = check_json_value(c, v->kind == CEL_LIST ? json_array() : json_object(),
                          out);
    mortise_cel_cursor_init(&cur, v);
    while (ok && mortise_cel_next(&cur, &key, &value))
        ok = entry_to_json(c, &key, &value, depth - 1, *out);
    if (!ok)
        json_decref(*out);
    return ok;
}

size_t mortise_cel_format_time_value(char out[CEL_TIME_TEXT],
                                     const struct cel_value *v)
{
    return v->kind == CEL_TIMESTAMP ? mortise_cel_time_format(out, v->u.time)
                                    : mortise_cel_duration_format(out, v->u.i);
}

static bool when_to_json(struct cel_ctx *c, const struct cel_value *v,
                         json_t **out)
{
    char text[CEL_TIME_TEXT];
    size_t n = mortise_cel_format_time_value(text, v);

    return check_json_value(c, mortise_json_make_string(text, n), out);
}

static bool value_to_json(struct cel_ctx *c, const struct cel_value *v,
                          size_t depth, json_t **out)
{
    if (!cel_charge(c, 1))
        return false;
    switch (v->kind) {
    case CEL_NULL:
        return check_json_value(c, json_null(), out);
    case CEL_BOOL:
        return check_json_value(c, json_boolean(v->u.b), out);
    case CEL_INT:
        return check_json_value(c, json_integer(v->u.i), out);
    case CEL_UINT:
        if (v->u.u > INT64_MAX)
            return mortise_cel_fault_of(c, CEL_NOT_JSON, v->kind, 0);
        return check_json_value(c, json_integer((json_int_t)v->u.u), out);
    case CEL_DOUBLE:
        if (!isfinite(v->u.d))
            return mortise_cel_fault_of(c, CEL_NOT_JSON, v->kind, 0);
        return check_json_value(c, json_real(v->u.d), out);
    case CEL_STRING:
        return cel_charge(c, v->u.s.n) && string_to_json(c, v, out);
    case CEL_LIST:
    case CEL_MAP:
        return container_to_json(c, v, depth, out);
    case CEL_TIMESTAMP:
    case CEL_DURATION:
        return when_to_json(c, v, out);
    default:
        return mortise_cel_fault_of(c, CEL_NOT_JSON, v->kind, 0);
    }
}

bool mortise_cel_to_json(struct cel_ctx *c, const struct cel_value *v,
                         json_t **out)
{
    /* A single string from JSON is returned itself, whatever its length. */
    if (v->kind == CEL_STRING && v->u.s.json != NULL)
        return cel_charge(c, 1) && string_to_json(c, v, out);
    if (value_to_json(c, v, MORTISE_JSON_DEPTH, out))
        return true;
    *out = NULL;
    return false;
}

/* ---- lists and maps -------------------------------------------------- */

size_t mortise_cel_get_count(const struct cel_value *v)
{
    if (v->kind == CEL_LIST)
        return v->is_json ? json_array_size(v->u.json) : v->u.list->n;
    return v->is_json ? json_object_size(v->u.json) : v->u.map->n;
}

struct cel_value mortise_cel_get_item(const struct cel_value *list, size_t i)
{
    if (list->is_json)
        return mortise_cel_from_json(json_array_get(list->u.json, i));
    return list->u.list->items[i];
}

struct cel_list *mortise_cel_list_new(struct cel_ctx *c, size_t n)
{
    struct cel_list *list;

    if (!cel_charge(c, 1))
        return NULL;
    if (n > SIZE_MAX / 4 / sizeof list->items[0])
        n = SIZE_MAX / 4 / sizeof list->items[0]; /* more than any budget */
    if (!cel_charge(c, n))
        return NULL;
    list =
        mortise_arena_alloc(c->arena, sizeof *list + n * sizeof list->items[0]);
    if (list == NULL)
        mortise_cel_fault(c, CEL_MEMORY);
    return list;
}

void mortise_cel_cursor_init(struct cel_cursor *cur, const struct cel_value *of)
{
    *cur = (struct cel_cursor){.of = of, .n = mortise_cel_get_count(of)};
    if (of->kind == CEL_MAP && of->is_json)
        cur->it = json_object_iter(mortise_json_unconst(of->u.json));
}

bool mortise_cel_next(struct cel_cursor *cur, struct cel_value *key,
                      struct cel_value *value)
{
    const struct cel_value *of = cur->of;
    size_t i = cur->i;

    if (i == cur->n)
        return false;
    cur->i++;
    if (of->kind == CEL_LIST) {
        *key = cel_int((int64_t)i);
        *value = mortise_cel_get_item(of, i);
    } else if (!of->is_json) {
        *key = of->u.map->entries[i].key;
        *value = of->u.map->entries[i].value;
    } else {
        *key = cel_text(CEL_STRING, json_object_iter_key(cur->it),
                        json_object_iter_key_len(cur->it));
        *value = mortise_cel_from_json(json_object_iter_value(cur->it));
        cur->it =
            json_object_iter_next(mortise_json_unconst(of->u.json), cur->it);
    }
    return true;
}

/* The canonical form of a key: int if the number fits, else uint.  A double
 * that is not an integer is unchanged, and matches no key. */
static struct cel_value plain_key(const struct cel_value *key)
{
    if (key->kind == CEL_UINT && key->u.u <= INT64_MAX)
        return cel_int((int64_t)key->u.u);
    if (key->kind == CEL_DOUBLE && key->u.d == trunc(key->u.d)) {
        if (key->u.d >= -0x1p63 && key->u.d < 0x1p63)
            return cel_int((int64_t)key->u.d);
        if (key->u.d > 0 && key->u.d < 0x1p64)
            return cel_uint((uint64_t)key->u.d);
    }
    return *key;
}

static bool is_map_key(const struct cel_value *key)
{
    return key->kind == CEL_BOOL || key->kind == CEL_INT ||
           key->kind == CEL_UINT || key->kind == CEL_STRING;
}

/* Both keys are canonical. */
static bool same_key(const struct cel_value *a, const struct cel_value *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind == CEL_STRING)
        return a->u.s.n == b->u.s.n &&
               memcmp(a->u.s.p, b->u.s.p, a->u.s.n) == 0;
    return a->kind == CEL_BOOL ? a->u.b == b->u.b : a->u.u == b->u.u;
}

/* FNV-1a.  Many keys with the same hash only reach the cost limit earlier,
 * because each probe is charged. */
static uint64_t hash_key(const struct cel_value *key)
{
    uint64_t h = 14695981039346656037u ^ key->kind;

    if (key->kind == CEL_STRING) {
        for (size_t i = 0; i < key->u.s.n; i++)
            h = (h ^ (unsigned char)key->u.s.p[i]) * 1099511628211u;
    } else {
        h = (h ^ (key->kind == CEL_BOOL ? key->u.b : key->u.u)) *
            0x9E3779B97F4A7C15u;
    }
    return h ^ h >> 32;
}

struct cel_map *mortise_cel_map_new(struct cel_ctx *c, size_t cap)
{
    struct cel_map *m = mortise_cel_alloc(c, 1, sizeof *m);

    if (m == NULL)
        return NULL;
    m->cap = cap;
    m->entries = mortise_cel_alloc(c, cap, sizeof *m->entries);
    if (m->entries == NULL)
        return NULL;
    if (cap <= FEW_KEYS)
        return m;
    m->n_slots = 16;
    while (m->n_slots < 2 * cap)
        m->n_slots *= 2;
    m->slots = mortise_cel_alloc(c, m->n_slots, sizeof *m->slots);
    return m->slots != NULL ? m : NULL;
}

static struct cel_entry *get_slot_entry(const struct cel_map *m, size_t slot)
{
    return m->slots[slot] != 0 ? &m->entries[m->slots[slot] - 1] : NULL;
}

/* Is `key` (canonical) the key of the entry?  Charged for. */
static bool is_entry(struct cel_ctx *c, const struct cel_entry *e,
                     const struct cel_value *key, bool *same)
{
    struct cel_value other = plain_key(&e->key);

    *same = same_key(&other, key);
    return cel_charge(c, 1);
}

static bool find_linear(struct cel_ctx *c, const struct cel_map *m,
                        const struct cel_value *key, struct cel_entry **out)
{
    bool same;

    *out = NULL;
    for (size_t i = 0; i < m->n && *out == NULL; i++) {
        if (!is_entry(c, &m->entries[i], key, &same))
            return false;
        if (same)
            *out = &m->entries[i];
    }
    return true;
}

/* *slot is the slot of the key, or the slot for inserting it. */
static bool find_hashed(struct cel_ctx *c, const struct cel_map *m,
                        const struct cel_value *key, size_t *slot,
                        struct cel_entry **out)
{
    bool same = false;

    *slot = hash_key(key) & (m->n_slots - 1);
    while ((*out = get_slot_entry(m, *slot)) != NULL) {
        if (!is_entry(c, *out, key, &same))
            return false;
        if (same)
            return true;
        *slot = (*slot + 1) & (m->n_slots - 1);
    }
    return true;
}

/* Hashing or comparing a key reads it. */
static bool charge_key(struct cel_ctx *c, const struct cel_value *key)
{
    return cel_charge(c, key->kind == CEL_STRING ? key->u.s.n + 1 : 1);
}

/* The entry of a canonical key, or NULL. */
static bool find_map_entry(struct cel_ctx *c, const struct cel_map *m,
                           const struct cel_value *key, size_t *slot,
                           struct cel_entry **out)
{
    *slot = 0;
    return m->slots != NULL ? find_hashed(c, m, key, slot, out)
                            : find_linear(c, m, key, out);
}

bool mortise_cel_map_add(struct cel_ctx *c, struct cel_map *m,
                         const struct cel_value *key,
                         const struct cel_value *value)
{
    struct cel_value plain = plain_key(key);
    struct cel_entry *there;
    size_t slot;

    if (!is_map_key(key))
        return mortise_cel_fault_of(c, CEL_KEY_KIND, key->kind, 0);
    if (!charge_key(c, key) || !find_map_entry(c, m, &plain, &slot, &there))
        return false;
    if (there != NULL)
        return mortise_cel_fault(c, CEL_KEY_TWICE);
    /* the caller of map_new() gives the number of entries */
    assert(m->n < m->cap);
    m->entries[m->n++] = (struct cel_entry){*key, *value};
    if (m->slots != NULL)
        m->slots[slot] = (uint32_t)m->n;
    return true;
}

bool mortise_cel_map_find(struct cel_ctx *c, const struct cel_value *map,
                          const struct cel_value *key, bool *found,
                          struct cel_value *out)
{
    struct cel_value plain;
    struct cel_entry *e;
    size_t slot;

    if (!charge_key(c, key))
        return false;
    if (map->is_json) {
        const json_t *v =
            key->kind == CEL_STRING
                ? json_object_getn(map->u.json, key->u.s.p, key->u.s.n)
                : NULL;

        *found = v != NULL;
        if (v != NULL)
            *out = mortise_cel_from_json(v);
        return true;
    }
    plain = plain_key(key);
    *found = false;
    if (!is_map_key(&plain))
        return true;
    if (!find_map_entry(c, map->u.map, &plain, &slot, &e))
        return false;
    *found = e != NULL;
    if (e != NULL)
        *out = e->value;
    return true;
}

/* ---- equality and order ---------------------------------------------- */

static int compare_two_numbers(const struct cel_value *a,
                               const struct cel_value *b)
{
    if (a->kind == CEL_DOUBLE || b->kind == CEL_DOUBLE) {
        double x = cel_as_double(a), y = cel_as_double(b);

        return isnan(x) || isnan(y) ? 2 : (x > y) - (x < y);
    }
    if (a->kind == b->kind)
        return a->kind == CEL_INT ? (a->u.i > b->u.i) - (a->u.i < b->u.i)
                                  : (a->u.u > b->u.u) - (a->u.u < b->u.u);
    if (a->kind == CEL_UINT)
        return -compare_two_numbers(b, a);
    if (a->u.i < 0)
        return -1;
    return ((uint64_t)a->u.i > b->u.u) - ((uint64_t)a->u.i < b->u.u);
}

/* By bytes, which is the order of code points in UTF-8. */
static int compare_two_texts(const struct cel_value *a,
                             const struct cel_value *b)
{
    size_t n = a->u.s.n < b->u.s.n ? a->u.s.n : b->u.s.n;
    int d = memcmp(a->u.s.p, b->u.s.p, n);

    if (d == 0)
        d = (a->u.s.n > b->u.s.n) - (a->u.s.n < b->u.s.n);
    return (d > 0) - (d < 0);
}

static bool is_number_value(const struct cel_value *v)
{
    return v->kind >= CEL_INT && v->kind <= CEL_DOUBLE;
}

static bool is_text_value(const struct cel_value *v)
{
    return v->kind == CEL_STRING || v->kind == CEL_BYTES;
}

static bool is_scalar(const struct cel_value *v)
{
    return v->kind == CEL_BOOL || v->kind == CEL_TIMESTAMP ||
           v->kind == CEL_DURATION;
}

/* Of two bools, timestamps or durations. */
static int compare_two_scalars(const struct cel_value *a,
                               const struct cel_value *b)
{
    const struct cel_time *s = &a->u.time, *t = &b->u.time;

    if (a->kind == CEL_BOOL)
        return a->u.b - b->u.b;
    if (a->kind == CEL_DURATION)
        return (a->u.i > b->u.i) - (a->u.i < b->u.i);
    if (s->s != t->s)
        return s->s > t->s ? 1 : -1;
    return (s->ns > t->ns) - (s->ns < t->ns);
}

bool mortise_cel_compare(struct cel_ctx *c, const struct cel_value *a,
                         const struct cel_value *b, int *order)
{
    if (is_number_value(a) && is_number_value(b)) {
        *order = compare_two_numbers(a, b);
        return true;
    }
    if (a->kind == b->kind && is_text_value(a)) {
        if (!cel_charge(c, a->u.s.n < b->u.s.n ? a->u.s.n : b->u.s.n))
            return false;
        *order = compare_two_texts(a, b);
        return true;
    }
    if (a->kind == b->kind && is_scalar(a)) {
        *order = compare_two_scalars(a, b);
        return true;
    }
    return mortise_cel_fault_of(c, CEL_OVERLOAD, a->kind, b->kind);
}

static bool equal_values(struct cel_ctx *c, const struct cel_value *a,
                         const struct cel_value *b, size_t depth, bool *out);

static bool equal_lists(struct cel_ctx *c, const struct cel_value *a,
                        const struct cel_value *b, size_t depth, bool *out)
{
    size_t n = mortise_cel_get_count(a);

    *out = mortise_cel_get_count(b) == n;
    for (size_t i = 0; i < n && *out; i++) {
        struct cel_value x = mortise_cel_get_item(a, i),
                         y = mortise_cel_get_item(b, i);

        if (!equal_values(c, &x, &y, depth, out))
            return false;
    }
    return true;
}

static bool equal_maps(struct cel_ctx *c, const struct cel_value *a,
                       const struct cel_value *b, size_t depth, bool *out)
{
    struct cel_value key, value, other;
    struct cel_cursor cur;

    *out = mortise_cel_get_count(a) == mortise_cel_get_count(b);
    mortise_cel_cursor_init(&cur, a);
    while (*out && mortise_cel_next(&cur, &key, &value)) {
        if (!mortise_cel_map_find(c, b, &key, out, &other))
            return false;
        if (*out && !equal_values(c, &value, &other, depth, out))
            return false;
    }
    return true;
}

static bool equal_values(struct cel_ctx *c, const struct cel_value *a,
                         const struct cel_value *b, size_t depth, bool *out)
{
    if (!cel_charge(c, 1))
        return false;
    *out = false;
    if (is_number_value(a) && is_number_value(b)) {
        *out = compare_two_numbers(a, b) == 0;
        return true;
    }
    if (a->kind != b->kind)
        return true;
    if (depth == 0)
        return mortise_cel_fault(c, CEL_DEPTH);
    switch (a->kind) {
    case CEL_BOOL:
    case CEL_TIMESTAMP:
    case CEL_DURATION:
        *out = compare_two_scalars(a, b) == 0;
        return true;
    case CEL_STRING:
    case CEL_BYTES:
        if (a->u.s.n != b->u.s.n)
            return true;
        *out = memcmp(a->u.s.p, b->u.s.p, a->u.s.n) == 0;
        return cel_charge(c, a->u.s.n);
    case CEL_LIST:
        return equal_lists(c, a, b, depth - 1, out);
    case CEL_MAP:
        return equal_maps(c, a, b, depth - 1, out);
    case CEL_TYPE:
        *out = a->u.type == b->u.type;
        return true;
    default:
        *out = true; /* null equals null */
        return true;
    }
}

bool mortise_cel_equal(struct cel_ctx *c, const struct cel_value *a,
                       const struct cel_value *b, bool *out)
{
    return equal_values(c, a, b, DEPTH, out);
}
