/* look.c -- access to a tree: members, pointers, JSON.
 *
 * These functions fail only if memory runs out.  A tree is checked when it is
 * read, so each of its values has a form in JSON.
 */
#include "lang/yaml/tree.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

size_t mortise_yaml_find(const struct mortise_yaml *map, const char *key)
{
    size_t low = 0, high;

    if (map == NULL || map->kind != MORTISE_YAML_MAP)
        return SIZE_MAX;
    for (high = map->n; low < high;) {
        size_t mid = low + (high - low) / 2;
        int c = strcmp(map->keys[map->order[mid]]->str, key);

        if (c == 0)
            return map->order[mid];
        if (c < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return SIZE_MAX;
}

const struct mortise_yaml *mortise_yaml_get(const struct mortise_yaml *map,
                                            const char *key)
{
    size_t i = mortise_yaml_find(map, key);

    return i != SIZE_MAX ? map->items[i] : NULL;
}

const struct mortise_yaml *mortise_yaml_key(const struct mortise_yaml *map,
                                            const char *key)
{
    size_t i = mortise_yaml_find(map, key);

    return i != SIZE_MAX ? map->keys[i] : NULL;
}

/* ---- pointers -------------------------------------------------------- */

/* Does the token [p, end) of a pointer denote this key?  In it "~1" means "/"
 * and "~0" means "~". */
static bool matches_token(const char *p, const char *end, const char *key)
{
    for (; p < end && *key != '\0'; p++, key++) {
        char c = *p;

        if (c == '~' && p + 1 < end)
            c = *++p == '1' ? '/' : '~';
        if (c != *key)
            return false;
    }
    return p == end && *key == '\0';
}

static const struct mortise_yaml *
get_pointer_child(const struct mortise_yaml *node, const char *p,
                  const char *end)
{
    unsigned long i;
    char *stop;

    if (node->kind == MORTISE_YAML_MAP) {
        for (size_t k = 0; k < node->n; k++)
            if (matches_token(p, end, node->keys[k]->str))
                return node->items[k];
        return NULL;
    }
    if (node->kind != MORTISE_YAML_SEQ || p == end || *p < '0' || *p > '9')
        return NULL;
    i = strtoul(p, &stop, 10);
    return stop == end && i < node->n ? node->items[i] : NULL;
}

const struct mortise_yaml *mortise_yaml_find_at(const struct mortise_yaml *root,
                                                const char *pointer)
{
    const struct mortise_yaml *node = root, *next = root;

    while (*pointer == '/' && next != NULL) {
        size_t n = strcspn(++pointer, "/");

        next = get_pointer_child(node, pointer, pointer + n);
        if (next != NULL)
            node = next;
        pointer += n;
    }
    return node;
}

/* The unknown key that the message names, or the map. */
static const struct mortise_yaml *
find_unknown_key(const struct mortise_yaml *map, const char *words)
{
    static const char unknown[] = "unknown member '";

    if (map->kind != MORTISE_YAML_MAP ||
        strncmp(words, unknown, sizeof unknown - 1) != 0)
        return map;
    words += sizeof unknown - 1;
    for (size_t i = 0; i < map->n; i++) {
        size_t n = map->keys[i]->len;

        if (strncmp(words, map->keys[i]->str, n) == 0 && words[n] == '\'')
            return map->keys[i];
    }
    return map;
}

const struct mortise_yaml *
mortise_yaml_find_at_message(const struct mortise_yaml *root, const char *words)
{
    char pointer[512];
    size_t n;

    if (strncmp(words, "at /", 4) != 0)
        return find_unknown_key(root, words);
    n = strcspn(words + 3, ":");
    if (n >= sizeof pointer)
        return root;
    memcpy(pointer, words + 3, n);
    pointer[n] = '\0';
    words += 3 + n;
    return find_unknown_key(mortise_yaml_find_at(root, pointer),
                            strncmp(words, ": ", 2) == 0 ? words + 2 : words);
}

/* ---- JSON ------------------------------------------------------------ */

double mortise_yaml_get_number(const struct mortise_yaml *scalar)
{
    assert(scalar->kind == MORTISE_YAML_INT ||
           scalar->kind == MORTISE_YAML_REAL);
    return scalar->kind == MORTISE_YAML_INT ? (double)scalar->u.i : scalar->u.d;
}

bool mortise_yaml_is_x_key(const char *key)
{
    return key[0] == 'x' && key[1] == '-';
}

/* Takes the reference to `value`, which may be NULL. */
static json_t *append_value(json_t *list, json_t *value)
{
    if (json_array_append_new(list, value) == 0)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *set_member(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) == 0)
        return object;
    json_decref(object);
    return NULL;
}

/* Options for the conversion to JSON. */
struct as_json {
    bool sans_x;
    json_t *unknown; /* replaces each string that is_unknown() accepts; or
                      * NULL */
    bool (*is_unknown)(const struct mortise_yaml *string);
};

static json_t *node_to_json(const struct as_json *how,
                            const struct mortise_yaml *node);

static json_t *list_to_json(const struct as_json *how,
                            const struct mortise_yaml *node)
{
    json_t *list = json_array();

    for (size_t i = 0; i < node->n && list != NULL; i++)
        list = append_value(list, node_to_json(how, node->items[i]));
    return list;
}

static json_t *map_to_json(const struct as_json *how,
                           const struct mortise_yaml *node)
{
    json_t *object = json_object();

    for (size_t i = 0; i < node->n && object != NULL; i++) {
        const char *key = node->keys[i]->str;

        if (!how->sans_x || !mortise_yaml_is_x_key(key))
            object = set_member(object, key, node_to_json(how, node->items[i]));
    }
    return object;
}

static json_t *node_to_json(const struct as_json *how,
                            const struct mortise_yaml *node)
{
    switch (node->kind) {
    case MORTISE_YAML_NULL:
        return json_null();
    case MORTISE_YAML_BOOL:
        return json_boolean(node->u.b);
    case MORTISE_YAML_INT:
        return json_integer(node->u.i);
    case MORTISE_YAML_REAL:
        return json_real(node->u.d);
    case MORTISE_YAML_STRING:
        return how->unknown != NULL && how->is_unknown(node)
                   ? json_incref(how->unknown)
                   : mortise_json_make_string(node->str, node->len);
    case MORTISE_YAML_SEQ:
        return list_to_json(how, node);
    case MORTISE_YAML_MAP:
        return map_to_json(how, node);
    }
    return NULL;
}

json_t *mortise_yaml_to_json(const struct mortise_yaml *node, bool sans_x)
{
    return node_to_json(&(struct as_json){.sans_x = sans_x}, node);
}

json_t *mortise_yaml_to_json_partly(
    const struct mortise_yaml *node, json_t *unknown,
    bool (*is_unknown)(const struct mortise_yaml *string))
{
    return node_to_json(
        &(struct as_json){.unknown = unknown, .is_unknown = is_unknown}, node);
}

const char *mortise_yaml_kind_name(enum mortise_yaml_kind kind)
{
    static const char *const names[] = {
        [MORTISE_YAML_NULL] = "null",       [MORTISE_YAML_BOOL] = "a boolean",
        [MORTISE_YAML_INT] = "an integer",  [MORTISE_YAML_REAL] = "a number",
        [MORTISE_YAML_STRING] = "a string", [MORTISE_YAML_SEQ] = "a list",
        [MORTISE_YAML_MAP] = "a mapping",
    };

    return names[kind];
}
