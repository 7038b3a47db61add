/* outline.c -- tables of keys as JSON Schema, for editors.
 *
 *   (1) Files are read according to the same tables.  So a schema accepts the
 *       same files as the reader, as far as a schema can express it.  It cannot
 *       express that the target of an edge exists, for example.  The schema is
 *       never stricter than the reader: a file that loads is valid here.
 *   (2) A place occurs once, under `definitions`, and all its uses refer to the
 *       definition.  So places may contain themselves.
 *   (3) A place whose type depends on a key has one definition for each type.
 *       So an editor offers only the keys of that type.
 *   (4) The text that a table contains about a key (`about`) is the description
 *       in the schema, which editors show.
 *
 * The keywords are those of draft-07 (json-schema.org/draft-07/schema).
 */
#include "lang/yaml/outline.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* A json_t pointer that is NULL means: out of memory.  The functions below
 * accept and return NULL, as jansson's do, so only the final result is
 * checked. */
struct outline {
    json_t *definitions;
};

static json_t *make_row_schema(struct outline *o,
                               const struct mortise_key *key);

/* ---- parts ----------------------------------------------------------- */

/* Takes v.  An object that is NULL stays NULL. */
static void put_keyword(json_t **object, const char *key, json_t *v)
{
    if (json_object_set_new(*object, key, v) == 0)
        return;
    mortise_json_clear_ref(object);
}

static void add_array_item(json_t **list, json_t *v)
{
    if (json_array_append_new(*list, v) == 0)
        return;
    mortise_json_clear_ref(list);
}

/* {key: v} */
static json_t *wrap_value(const char *key, json_t *v)
{
    json_t *object = json_object();

    put_keyword(&object, key, v);
    return object;
}

static json_t *make_typed(const char *type)
{
    return json_pack("{s:s}", "type", type);
}

/* A bound in its original form: 1, not 1.0. */
static json_t *bound_to_json(double v)
{
    return v == (double)(json_int_t)v ? json_integer((json_int_t)v)
                                      : json_real(v);
}

static json_t *make_ranged(const struct mortise_key *key, const char *type)
{
    json_t *v = make_typed(type);

    put_keyword(&v, "minimum", bound_to_json(key->min));
    put_keyword(&v, "maximum", bound_to_json(key->max));
    return v;
}

static json_t *words_to_schema(const struct mortise_word *words)
{
    json_t *list = json_array();

    for (; words->word != NULL; words++)
        if (!words->later)
            add_array_item(&list, json_string(words->word));
    return wrap_value("enum", list);
}

static json_t *make_list_schema(json_t *item, size_t least)
{
    json_t *v = make_typed("array");

    put_keyword(&v, "items", item);
    if (least > 0)
        put_keyword(&v, "minItems", json_integer((json_int_t)least));
    return v;
}

/* ---- places ---------------------------------------------------------- */

/* "a node", of type "human": "node-human".  The descriptions of places for
 * messages are unique, so these names are, too. */
static void name_definition(const struct mortise_place *place, char *out,
                            size_t size)
{
    const char *what = place->what, *type = place->type;
    size_t n;

    if (strncmp(what, "a ", 2) == 0)
        what += 2;
    else if (strncmp(what, "an ", 3) == 0)
        what += 3;
    n = (size_t)snprintf(out, size, "%s%s%s", what, type != NULL ? "-" : "",
                         type != NULL ? type : "");
    assert(n < size); /* our tables */
    for (char *p = out; *p != '\0'; p++)
        if (!isalnum((unsigned char)*p) && *p != '.' && *p != '_')
            *p = '-';
}

static json_t *reference(const char *name)
{
    char to[96];

    snprintf(to, sizeof to, "#/definitions/%s", name);
    return json_pack("{s:s}", "$ref", to);
}

/* A row with its description.  Draft-07 ignores members next to $ref. */
static json_t *describe_row(struct outline *o, const struct mortise_key *key)
{
    json_t *v = make_row_schema(o, key), *list;

    if (key->about == NULL)
        return v;
    if (json_object_get(v, "$ref") != NULL) {
        list = json_array();
        add_array_item(&list, v);
        v = wrap_value("allOf", list);
    }
    put_keyword(&v, "description", json_string(key->about));
    return v;
}

/* The keys of a place, in their order. */
static json_t *make_keys_schema(struct outline *o,
                                const struct mortise_place *place)
{
    json_t *v = make_typed("object"), *keys = json_object(),
           *must = json_array();
    const struct mortise_key *rows[MORTISE_MAX_KEYS];
    size_t n = mortise_place_list_keys(place, rows);

    for (size_t i = 0; i < n; i++) {
        if (!rows[i]->later)
            put_keyword(&keys, rows[i]->name, describe_row(o, rows[i]));
        if (rows[i]->required)
            add_array_item(&must, json_string(rows[i]->name));
    }
    put_keyword(&v, "properties", keys);
    put_keyword(&v, "patternProperties", json_pack("{s:b}", "^x-", 1));
    put_keyword(&v, "additionalProperties", json_boolean(place->open));
    if (must != NULL && json_array_size(must) == 0)
        json_decref(must);
    else
        put_keyword(&v, "required", must);
    return v;
}

static json_t *make_types_schema(struct outline *o,
                                 const struct mortise_place *place);

/* Define it once; a place that contains itself finds its name defined (2). */
static json_t *define_place(struct outline *o,
                            const struct mortise_place *place)
{
    char name[64];
    json_t *v;

    if (o->definitions == NULL)
        return NULL;
    name_definition(place, name, sizeof name);
    if (json_object_get(o->definitions, name) == NULL) {
        put_keyword(&o->definitions, name, json_object());
        v = place->types != NULL ? make_types_schema(o, place)
                                 : make_keys_schema(o, place);
        put_keyword(&o->definitions, name, v);
    }
    return reference(name);
}

/* {if: {properties: {type: {const: T}}}, then: ...} (3) */
static json_t *make_if_then_schema(const struct mortise_place *place,
                                   const char *word, json_t *then)
{
    json_t *v = json_object();

    put_keyword(&v, "if",
                json_pack("{s:{s:{s:s}}, s:[s]}", "properties", place->select,
                          "const", word, "required", place->select));
    put_keyword(&v, "then", then);
    return v;
}

/* {if: {required: [KEY], not: {required: [type]}}, then: ...} */
static json_t *when_implied(const struct mortise_place *place, const char *key,
                            json_t *then)
{
    json_t *v = json_object();

    put_keyword(&v, "if",
                json_pack("{s:[s], s:{s:[s]}}", "required", key, "not",
                          "required", place->select));
    put_keyword(&v, "then", then);
    return v;
}

/* The key that names the type, or one that implies it. */
static void put_required(json_t **v, const struct mortise_place *place)
{
    json_t *any = json_array();

    add_array_item(&any, json_pack("{s:[s]}", "required", place->select));
    for (size_t i = 0; place->types[i] != NULL; i++)
        if (place->types[i]->implied_by != NULL)
            add_array_item(&any, json_pack("{s:[s]}", "required",
                                           place->types[i]->implied_by));
    if (json_array_size(any) > 1) {
        put_keyword(v, "anyOf", any);
        return;
    }
    json_decref(any);
    put_keyword(v, "required", json_pack("[s]", place->select));
}

/* The common part of all types, and each type. */
static json_t *make_types_schema(struct outline *o,
                                 const struct mortise_place *place)
{
    const struct mortise_key *select =
        mortise_place_find_key(place, place->select);
    json_t *all = json_array(), *v = make_typed("object"),
           *keys = json_object();

    for (size_t i = 0; place->types[i] != NULL; i++) {
        const struct mortise_place *type = place->types[i];

        if (type->later)
            continue;
        add_array_item(&all, make_if_then_schema(place, type->type,
                                                 define_place(o, type)));
        if (type->implied_by != NULL)
            add_array_item(&all, when_implied(place, type->implied_by,
                                              define_place(o, type)));
    }
    put_keyword(&keys, place->select, describe_row(o, select));
    put_keyword(&v, "properties", keys);
    put_required(&v, place);
    put_keyword(&v, "allOf", all);
    return v;
}

/* ---- rows ------------------------------------------------------------ */

static json_t *make_map_schema(struct outline *o, const struct mortise_key *key)
{
    json_t *v;

    if (key->place != NULL)
        return define_place(o, key->place);
    v = make_typed("object");
    if (key->each != NULL) {
        put_keyword(&v, "patternProperties", json_pack("{s:b}", "^x-", 1));
        put_keyword(&v, "additionalProperties", make_row_schema(o, key->each));
    }
    return v;
}

static json_t *make_forms_schema(struct outline *o,
                                 const struct mortise_key *key)
{
    json_t *list = json_array();

    for (size_t i = 0; i < key->n_forms; i++)
        add_array_item(&list, make_row_schema(o, &key->forms[i]));
    return wrap_value("anyOf", list);
}

#define STRING "{\"type\": \"string\", \"minLength\": 1}"
#define ID                                                                     \
    "{\"type\": \"string\", \"pattern\": \"^[A-Za-z_][A-Za-z0-9_-]{0,63}$\"}"
#define LIST_OF(item)                                                          \
    "{\"type\": \"array\", \"items\": " item ", \"minItems\": 1}"

/* The schema of each value that is the same for all keys. */
static const char *const shapes[] = {
    [MORTISE_V_ANY] = "{}",
    [MORTISE_V_NULL] = "{\"type\": \"null\"}",
    [MORTISE_V_BOOL] = "{\"type\": \"boolean\"}",
    [MORTISE_V_TEXT] = "{\"type\": \"string\"}",
    [MORTISE_V_STRING] = STRING,
    [MORTISE_V_DURATION] = "{\"type\": \"string\", "
                           "\"pattern\": \"^[0-9]+(ms|s|m|h|d)$\"}",
    [MORTISE_V_SIZE] = "{\"type\": \"string\", "
                       "\"pattern\": \"^[0-9]+([KMGT]i)?B$\"}",
    [MORTISE_V_STRINGS] = LIST_OF(STRING),
    [MORTISE_V_ID] = ID,
    [MORTISE_V_IDS] = "{\"anyOf\": [" ID ", " LIST_OF(ID) "]}",
    [MORTISE_V_EXPR] =
        "{\"type\": [\"string\", \"boolean\", \"number\", \"null\"]}",
    [MORTISE_V_TEMPLATE] = "{}",
    [MORTISE_V_FILLED] = "{\"type\": \"string\", "
                         "\"pattern\": \"\\\\$\\\\{\"}",
    [MORTISE_V_SCHEMA] = "{\"type\": [\"object\", \"boolean\"]}",
    [MORTISE_V_FORMS] = NULL,
};

static json_t *make_row_schema(struct outline *o, const struct mortise_key *key)
{
    switch (key->value) {
    case MORTISE_V_INT:
        return make_ranged(key, "integer");
    case MORTISE_V_NUMBER:
        return make_ranged(key, "number");
    case MORTISE_V_WORD:
        return words_to_schema(mortise_key_get_words(key));
    case MORTISE_V_MAP:
        return make_map_schema(o, key);
    case MORTISE_V_LIST:
        return make_list_schema(
            key->each != NULL ? make_row_schema(o, key->each) : json_object(),
            (size_t)key->min);
    case MORTISE_V_FORMS:
        return make_forms_schema(o, key);
    default:
        assert(shapes[key->value] != NULL); /* otherwise a case above */
        return mortise_json_parse_trusted(shapes[key->value]);
    }
}

/* ---- the whole schema ------------------------------------------------ */

json_t *mortise_outline_make(const struct mortise_place *place,
                             const char *title)
{
    struct outline o = {.definitions = json_object()};
    json_t *v =
        json_pack("{s:s, s:s}", "$schema",
                  "http://json-schema.org/draft-07/schema#", "title", title);
    json_t *body = make_keys_schema(&o, place);

    if (v != NULL && body != NULL && json_object_update_missing(v, body) != 0)
        mortise_json_clear_ref(&v);
    put_keyword(&v, "definitions", o.definitions);
    if (body == NULL)
        mortise_json_clear_ref(&v);
    json_decref(body);
    return v;
}
