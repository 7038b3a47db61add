/* foreign_row.c -- convert fields of other systems by table.
 *
 * A row names the new key of a field.  For a field of a node, the loader's own
 * table (node.c) decides whether nodes of this type have the key.  If not, the
 * field is reported and not imported: `mortise check` would reject it. */
#include "tools/import/foreign.h"

#include <string.h>

#include "lang/graph/load/loader.h"

bool mortise_foreign_is_string(const struct mortise_yaml *v, const char *word)
{
    return v != NULL && v->kind == MORTISE_YAML_STRING &&
           strcmp(v->str, word) == 0;
}

const struct mortise_yaml *mortise_foreign_get(const struct mortise_yaml *map,
                                               const char *key)
{
    const struct mortise_yaml *v = mortise_yaml_get(map, key);

    return v != NULL && v->kind != MORTISE_YAML_NULL ? v : NULL;
}

/* ---- values ------------------------------------------------------------- */

bool mortise_foreign_get_ms(const struct mortise_yaml *v, uint64_t *ms)
{
    static const double most = 9007199254740992.0; /* 2^53: exact in a double */

    if (v == NULL)
        return false;
    if (v->kind == MORTISE_YAML_INT && v->u.i > 0) {
        *ms = (uint64_t)v->u.i;
        return true;
    }
    if (v->kind != MORTISE_YAML_REAL || !(v->u.d > 0 && v->u.d <= most))
        return false;
    *ms = (uint64_t)v->u.d;
    return (double)*ms == v->u.d;
}

/* Use the largest unit that needs no fraction. */
json_t *mortise_foreign_format_duration(uint64_t ms)
{
    static const struct {
        uint64_t ms;
        const char *unit;
    } units[] = {{86400000, "d"}, {3600000, "h"}, {60000, "m"}, {1000, "s"}};
    const char *unit = "ms";

    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (ms % units[i].ms == 0) {
            unit = units[i].unit;
            ms /= units[i].ms;
            break;
        }
    return json_sprintf("%llu%s", (unsigned long long)ms, unit);
}

/* `${` begins a template here, but not in the source: escape it as `$${`. */
static json_t *escape_templates(struct foreign *f, const char *s, size_t n)
{
    struct mortise_buf b;
    json_t *v = NULL;

    mortise_buf_init(&b, f->arena->mem);
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '$' && i + 1 < n && s[i + 1] == '{')
            mortise_buf_puts(&b, "$");
        mortise_buf_put(&b, s + i, 1);
    }
    if (!b.failed)
        v = mortise_json_make_string(b.n > 0 ? b.p : "", b.n);
    mortise_buf_finish(&b);
    return v;
}

json_t *mortise_foreign_copy_literal(struct foreign *f,
                                     const struct mortise_yaml *value)
{
    json_t *v;

    if (value->kind == MORTISE_YAML_STRING)
        return escape_templates(f, value->str, value->len);
    if (value->kind == MORTISE_YAML_SEQ) {
        v = json_array();
        for (size_t i = 0; i < value->n; i++)
            if (json_array_append_new(
                    v, mortise_foreign_copy_literal(f, value->items[i])) != 0)
                f->nomem = true;
        return v;
    }
    if (value->kind != MORTISE_YAML_MAP)
        return mortise_yaml_to_json(value, false);
    v = json_object();
    for (size_t i = 0; i < value->n; i++)
        mortise_foreign_set(f, v, value->keys[i]->str,
                            mortise_foreign_copy_literal(f, value->items[i]));
    return v;
}

/* ---- one field ---------------------------------------------------------- */

/* The table may be incomplete for a type that this build lacks: then allow each
 * key of any type. */
bool mortise_foreign_has_key(const char *type, const char *ours)
{
    const struct mortise_place *node = mortise_node_row.place;

    for (size_t i = 0; node->types[i] != NULL; i++)
        if (strcmp(node->types[i]->type, type) == 0 && !node->types[i]->later)
            return mortise_place_find_key(node->types[i], ours) != NULL;
    return mortise_place_find_key_of_types(node, ours) != NULL;
}

static void carry_id_list(struct foreign *f, const char *ours,
                          const struct mortise_yaml *v, json_t *into)
{
    json_t *list = json_array();

    for (size_t i = 0; i < v->n; i++) {
        const char *id = mortise_foreign_find_id(f, v->items[i]);

        if (id != NULL && json_array_append_new(list, json_string(id)) != 0)
            f->nomem = true;
    }
    mortise_foreign_set_nonempty(f, into, ours, list);
}

static void carry_nested_map(struct foreign *f, const struct foreign_row *row,
                             const struct mortise_yaml *v, json_t *into)
{
    const char *type = f->type;
    json_t *map = json_object();

    f->type = NULL; /* the members are no keys of a node */
    mortise_foreign_convert_map(f, row->inside, v, row->theirs, map);
    f->type = type;
    mortise_foreign_set(f, into, row->ours, map);
}

static void carry_duration(struct foreign *f, const struct foreign_row *row,
                           const struct mortise_yaml *v, json_t *into)
{
    uint64_t ms;

    if (mortise_foreign_get_ms(v, &ms))
        mortise_foreign_set(f, into, row->ours,
                            mortise_foreign_format_duration(ms));
    else if (v->kind != MORTISE_YAML_INT || v->u.i != 0)
        mortise_foreign_report_loss(
            f, v->span, "write whole milliseconds",
            "'%s' is not imported: it is not a valid time", row->theirs);
}

static void carry_field_value(struct foreign *f, const struct foreign_row *row,
                              const struct mortise_yaml *v, json_t *into)
{
    const bool is_map = v->kind == MORTISE_YAML_MAP;
    const char *id;

    if (row->how == FOREIGN_MS) {
        carry_duration(f, row, v, into);
    } else if (row->how == FOREIGN_ID) {
        id = mortise_foreign_find_id(f, v);
        if (id != NULL)
            mortise_foreign_set(f, into, row->ours, json_string(id));
    } else if (row->how == FOREIGN_IDS && v->kind == MORTISE_YAML_SEQ) {
        carry_id_list(f, row->ours, v, into);
    } else if (row->how == FOREIGN_MAP && is_map) {
        carry_nested_map(f, row, v, into);
    } else if (row->how == FOREIGN_VERBATIM) {
        mortise_foreign_set(f, into, row->ours, mortise_yaml_to_json(v, false));
    } else if (row->how == FOREIGN_STATE_SCHEMA) {
        mortise_foreign_set(f, into, row->ours,
                            mortise_foreign_convert_schema(f, row->theirs, v));
    } else {
        mortise_foreign_set(f, into, row->ours,
                            mortise_foreign_copy_literal(f, v));
    }
}

static void carry_field(struct foreign *f, const struct foreign_row *row,
                        const struct mortise_yaml *key,
                        const struct mortise_yaml *v, json_t *into)
{
    if (row->how == FOREIGN_RUN_STATE)
        mortise_foreign_report_loss(
            f, key->span, "a graph file does not contain the state of a run",
            "'%s' is not imported: it belongs to a run", row->theirs);
    else if (f->type != NULL && !mortise_foreign_has_key(f->type, row->ours))
        mortise_foreign_report_loss(
            f, key->span, NULL,
            "'%s' is not imported: nodes of type '%s' have no '%s'",
            row->theirs, f->type, row->ours);
    else
        carry_field_value(f, row, v, into);
}

/* ---- a mapping ---------------------------------------------------------- */

static bool is_known_field(const struct foreign_row *rows, const char *key)
{
    for (; rows->theirs != NULL; rows++)
        if (strcmp(rows->theirs, key) == 0)
            return true;
    return false;
}

static void report_unknown_fields(struct foreign *f,
                                  const struct foreign_row *rows,
                                  const struct mortise_yaml *map,
                                  const char *what)
{
    for (size_t i = 0; i < map->n; i++)
        if (!mortise_yaml_is_x_key(map->keys[i]->str) &&
            !is_known_field(rows, map->keys[i]->str))
            mortise_foreign_report_loss(
                f, map->keys[i]->span,
                "docs/mappings.md lists the known fields",
                "'%.100s' is not imported: it is not a known field of %s",
                map->keys[i]->str, what);
}

void mortise_foreign_convert_field(struct foreign *f,
                                   const struct foreign_row *row,
                                   const struct mortise_yaml *map, json_t *into)
{
    const struct mortise_yaml *v = mortise_foreign_get(map, row->theirs);

    if (v != NULL)
        carry_field(f, row, mortise_yaml_key(map, row->theirs), v, into);
}

void mortise_foreign_convert_map(struct foreign *f,
                                 const struct foreign_row *rows,
                                 const struct mortise_yaml *map,
                                 const char *what, json_t *into)
{
    report_unknown_fields(f, rows, map, what);
    for (const struct foreign_row *row = rows; row->theirs != NULL; row++)
        if (row->how != FOREIGN_CUSTOM)
            mortise_foreign_convert_field(f, row, map, into);
    for (size_t i = 0; i < map->n; i++)
        if (into != NULL && mortise_yaml_is_x_key(map->keys[i]->str))
            mortise_foreign_set(f, into, map->keys[i]->str,
                                mortise_yaml_to_json(map->items[i], false));
}
