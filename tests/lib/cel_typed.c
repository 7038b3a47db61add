/* cel_typed.c -- CEL's values with their types, as JSON.
 *
 * The form is that of the public suite's cases (tests/cel/README.md): an object
 * with one member, whose name is the type.  Numbers are strings, so that no
 * reader of JSON rounds them.
 *
 * What is read may be anything: every form is checked, and nesting is bounded
 * by JSON's own.  What is written is what was evaluated, charged for.
 */
#include "lib/cel_typed.h"

#include <math.h>
#include <string.h>

#include "core/base/real.h"
#include "lang/cel/eval.h"
#include "lang/cel/func.h"

enum { DEPTH = 60 }; /* each level is two or three of JSON's */

/* The one member's name. */
static const char *const tags[CEL_KINDS] = {
    "null",      "bool", "int", "uint",      "double",   "string",
    "bytes_hex", "list", "map", "timestamp", "duration", "type"};

struct reader {
    struct cel_ctx *c;
    struct mortise_err *err;
    int rv; /* of what went wrong */
};

static bool bad(struct reader *r, const char *what)
{
    r->rv = mortise_fail(r->err, MORTISE_EINVAL, "%s", what);
    return false;
}

/* What the context says went wrong. */
static bool faulty(struct reader *r)
{
    r->rv = mortise_cel_report_fault(r->c, NULL, r->err);
    return false;
}

static bool read_value(struct reader *r, const json_t *t, size_t depth,
                       struct cel_value *out);

/* ---- reading: scalars -------------------------------------------------- */

/* A number's text, as the language's own conversions read it. */
static bool read_number(struct reader *r, const json_t *v, enum cel_kind kind,
                        struct cel_value *out)
{
    const struct cel_function *f;
    struct cel_value text;
    size_t i = 0;

    if (!json_is_string(v))
        return bad(r, "a number is a string: {\"int\": \"5\"}");
    text = mortise_cel_from_json(v);
    do
        f = mortise_cel_function_at(i++);
    while (strcmp(f->name, mortise_cel_type_name(kind)) != 0);
    return f->call(r->c, NULL, &text, out) || faulty(r);
}

static bool read_bytes(struct reader *r, const json_t *v, struct cel_value *out)
{
    const char *hex = json_string_value(v);
    size_t n = json_string_length(v) / 2;
    char *bytes = mortise_cel_alloc(r->c, n, 1);

    if (bytes == NULL)
        return faulty(r);
    *out = cel_text(CEL_BYTES, bytes, n);
    return (hex != NULL &&
            mortise_hex_decode(bytes, n, hex, json_string_length(v)) == 0) ||
           bad(r, "bytes are {\"bytes_hex\": \"00ff\"}");
}

static bool read_type(struct reader *r, const json_t *v, struct cel_value *out)
{
    const char *name = json_is_string(v) ? json_string_value(v) : "";
    unsigned k = 0;

    while (k < CEL_KINDS && strcmp(name, mortise_cel_type_name(k)) != 0)
        k++;
    *out = (struct cel_value){.kind = CEL_TYPE, .u.type = k};
    return k < CEL_KINDS ||
           bad(r, "a type is {\"type\": \"int\"} and the like");
}

/* {"seconds": "1", "nanos": "0"} */
static bool read_seconds(struct reader *r, const json_t *v,
                         struct cel_time *out)
{
    struct cel_value s, ns;

    if (json_object_size(v) != 2 ||
        !json_is_string(json_object_get(v, "seconds")) ||
        !json_is_string(json_object_get(v, "nanos")))
        return bad(r, "a time is {\"seconds\": \"1\", \"nanos\": \"0\"}");
    if (!read_number(r, json_object_get(v, "seconds"), CEL_INT, &s) ||
        !read_number(r, json_object_get(v, "nanos"), CEL_INT, &ns))
        return false;
    *out = (struct cel_time){s.u.i, (int32_t)ns.u.i};
    return (ns.u.i > -CEL_SECOND && ns.u.i < CEL_SECOND) ||
           bad(r, "more than a second of \"nanos\"");
}

static bool read_timestamp(struct reader *r, const json_t *v,
                           struct cel_value *out)
{
    struct cel_time t;

    if (!read_seconds(r, v, &t))
        return false;
    *out = cel_timestamp(t);
    return mortise_cel_time_is_in_range(t) || bad(r, "timestamp out of range");
}

static bool read_duration(struct reader *r, const json_t *v,
                          struct cel_value *out)
{
    struct cel_time t;

    if (!read_seconds(r, v, &t))
        return false;
    out->kind = CEL_DURATION;
    return (!__builtin_mul_overflow(t.s, CEL_SECOND, &out->u.i) &&
            !__builtin_add_overflow(out->u.i, t.ns, &out->u.i)) ||
           bad(r, "duration out of range");
}

/* ---- reading: containers ----------------------------------------------- */

static bool read_list(struct reader *r, const json_t *v, size_t depth,
                      struct cel_value *out)
{
    struct cel_list *list;

    if (!json_is_array(v))
        return bad(r, "a list is {\"list\": [...]}");
    list = mortise_cel_list_new(r->c, json_array_size(v));
    if (list == NULL)
        return faulty(r);
    for (size_t i = 0; i < json_array_size(v); i++, list->n++)
        if (!read_value(r, json_array_get(v, i), depth, &list->items[i]))
            return false;
    *out = cel_list_value(list);
    return true;
}

static bool read_map(struct reader *r, const json_t *v, size_t depth,
                     struct cel_value *out)
{
    struct cel_map *map;

    if (!json_is_array(v))
        return bad(r, "a map is {\"map\": [[key, value], ...]}");
    map = mortise_cel_map_new(r->c, json_array_size(v));
    if (map == NULL)
        return faulty(r);
    for (size_t i = 0; i < json_array_size(v); i++) {
        const json_t *pair = json_array_get(v, i);
        struct cel_value key, value;

        if (json_array_size(pair) != 2)
            return bad(r, "a map is {\"map\": [[key, value], ...]}");
        if (!read_value(r, json_array_get(pair, 0), depth, &key) ||
            !read_value(r, json_array_get(pair, 1), depth, &value))
            return false;
        if (!mortise_cel_map_add(r->c, map, &key, &value))
            return faulty(r);
    }
    *out = (struct cel_value){.kind = CEL_MAP, .u.map = map};
    return true;
}

static bool read_kind(struct reader *r, enum cel_kind kind, const json_t *v,
                      size_t depth, struct cel_value *out)
{
    switch (kind) {
    case CEL_NULL:
        *out = (struct cel_value){.kind = CEL_NULL};
        return json_is_null(v) || bad(r, "a null is {\"null\": null}");
    case CEL_BOOL:
        *out = cel_bool(json_is_true(v));
        return json_is_boolean(v) ||
               bad(r, "a bool is {\"bool\": true} or false");
    case CEL_STRING:
        *out = mortise_cel_from_json(v);
        return json_is_string(v) || bad(r, "a string is {\"string\": \"...\"}");
    case CEL_BYTES:
        return read_bytes(r, v, out);
    case CEL_TYPE:
        return read_type(r, v, out);
    case CEL_TIMESTAMP:
        return read_timestamp(r, v, out);
    case CEL_DURATION:
        return read_duration(r, v, out);
    case CEL_LIST:
    case CEL_MAP:
        if (depth == 0)
            return bad(r, "values are nested too deeply");
        return kind == CEL_LIST ? read_list(r, v, depth - 1, out)
                                : read_map(r, v, depth - 1, out);
    default:
        return read_number(r, v, kind, out);
    }
}

static bool read_value(struct reader *r, const json_t *t, size_t depth,
                       struct cel_value *out)
{
    if (json_object_size(t) != 1)
        return bad(r, "a typed value is an object of one member, its type: "
                      "{\"int\": \"5\"}");
    for (unsigned k = 0; k < CEL_KINDS; k++)
        if (json_object_get(t, tags[k]) != NULL)
            return read_kind(r, k, json_object_get(t, tags[k]), depth, out);
    return bad(r, "the types are null, bool, int, uint, double, string, "
                  "bytes_hex, list, map, timestamp, duration and type");
}

/* ---- writing ----------------------------------------------------------- */

static bool write_value(struct cel_ctx *c, const struct cel_value *v,
                        size_t depth, json_t **out);

/* A double is "5.0", so that nobody takes it for an int. */
static json_t *number(const struct cel_value *v)
{
    char text[MORTISE_REAL_TEXT + 2];
    size_t n = mortise_cel_format_number(text, v);

    if (v->kind == CEL_DOUBLE && strpbrk(text, ".ein") == NULL)
        strcpy(text + n, ".0");
    return json_string(text);
}

static json_t *seconds(int64_t s, int64_t ns)
{
    const struct cel_value whole = cel_int(s), rest = cel_int(ns);

    return json_pack("{s:o, s:o}", "seconds", number(&whole), "nanos",
                     number(&rest));
}

static json_t *bytes(struct cel_ctx *c, const struct cel_value *v)
{
    char *hex = mortise_cel_alloc(c, 2 * v->u.s.n + 1, 1);

    if (hex == NULL)
        return NULL;
    mortise_hex_encode(hex, v->u.s.p, v->u.s.n);
    return json_string(hex);
}

/* Append v, taken, to a list; false when either is missing. */
static bool append(struct cel_ctx *c, json_t *list, json_t *v)
{
    return json_array_append_new(list, v) == 0 ||
           mortise_cel_fault(c, CEL_MEMORY);
}

/* A list's element, or a map's pair. */
static bool write_entry(struct cel_ctx *c, json_t *list, bool pair,
                        const struct cel_value *key,
                        const struct cel_value *value, size_t depth)
{
    json_t *k, *v;

    if (!pair)
        return write_value(c, value, depth, &v) && append(c, list, v);
    if (!write_value(c, key, depth, &k))
        return false;
    if (!write_value(c, value, depth, &v)) {
        json_decref(k);
        return false;
    }
    return append(c, list, json_pack("[o, o]", k, v));
}

static json_t *container(struct cel_ctx *c, const struct cel_value *v,
                         size_t depth)
{
    struct cel_value key, value;
    struct cel_cursor cur;
    json_t *list = json_array();

    mortise_cel_cursor_init(&cur, v);
    while (list != NULL && mortise_cel_next(&cur, &key, &value))
        if (!write_entry(c, list, v->kind == CEL_MAP, &key, &value, depth)) {
            json_decref(list);
            return NULL;
        }
    return list;
}

/* What stands under the tag; NULL with the fault set, or without one when
 * memory ran out. */
static json_t *payload(struct cel_ctx *c, const struct cel_value *v,
                       size_t depth)
{
    switch ((enum cel_kind)v->kind) {
    case CEL_NULL:
        return json_null();
    case CEL_BOOL:
        return json_boolean(v->u.b);
    case CEL_INT:
    case CEL_UINT:
    case CEL_DOUBLE:
        return number(v);
    case CEL_STRING:
        return cel_charge(c, v->u.s.n)
                   ? mortise_json_make_string(v->u.s.p, v->u.s.n)
                   : NULL;
    case CEL_BYTES:
        return bytes(c, v);
    case CEL_TIMESTAMP:
        return seconds(v->u.time.s, v->u.time.ns);
    case CEL_DURATION:
        return seconds(v->u.i / CEL_SECOND, v->u.i % CEL_SECOND);
    case CEL_TYPE:
        return json_string(mortise_cel_type_name(v->u.type));
    case CEL_LIST:
    case CEL_MAP:
        if (depth > 0)
            return container(c, v, depth - 1);
        mortise_cel_fault(c, CEL_DEPTH);
        break;
    case CEL_KINDS:
        break;
    }
    return NULL;
}

static bool write_value(struct cel_ctx *c, const struct cel_value *v,
                        size_t depth, json_t **out)
{
    *out = cel_charge(c, 1) ? payload(c, v, depth) : NULL;
    if (*out != NULL)
        *out = json_pack("{s:o}", tags[v->kind], *out);
    return *out != NULL ||
           (c->fault.kind == CEL_FINE && mortise_cel_fault(c, CEL_MEMORY));
}

/* ---- evaluating -------------------------------------------------------- */

/* All values of the scope, in an arena; *which is the one that is none. */
static int read_all(const struct mortise_cel *prog,
                    const struct mortise_expr_env *env,
                    struct mortise_arena *arena, struct cel_value **out,
                    size_t *which, struct mortise_err *err)
{
    struct cel_ctx c = {.left = UINT64_MAX, .arena = arena};
    struct reader r = {&c, err, MORTISE_OK};
    struct cel_value *values =
        mortise_arena_alloc(arena, (prog->n_names + 1) * sizeof *values);

    if (values == NULL)
        return mortise_nomem(err);
    for (size_t i = 0; i < prog->n_names; i++) {
        if (!read_value(&r, env->values[i], DEPTH, &values[i])) {
            *which = i;
            return r.rv;
        }
    }
    *out = values;
    return MORTISE_OK;
}

int test_cel_eval_typed(const struct mortise_cel *prog,
                        const struct mortise_expr_env *env, json_t **out,
                        struct mortise_cel_range *where, size_t *which,
                        struct mortise_err *err)
{
    struct cel_inputs in = {NULL, NULL};
    struct cel_value *values = NULL, v;
    struct mortise_arena arena;
    struct cel_ctx c;
    int rv;

    *out = NULL;
    *which = SIZE_MAX;
    mortise_arena_init(&arena, prog->mem);
    rv = read_all(prog, env, &arena, &values, which, err);
    if (rv == MORTISE_OK) {
        c = (struct cel_ctx){.left = cel_budget(env), .arena = &arena};
        in.typed = values;
        if (mortise_cel_evaluate_typed(prog, &in, &c, &v) &&
            !write_value(&c, &v, DEPTH, out) && c.fault.at == NULL)
            c.fault.at = prog->root;
        rv = mortise_cel_report_fault(&c, where, err);
    }
    mortise_arena_finish(&arena);
    return rv;
}
