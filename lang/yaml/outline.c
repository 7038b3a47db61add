/* outline.c -- tables of keys as JSON Schema, for editors.
 *
 *   (1) The tables are the ones that files are read by, so what a schema
 *       admits is what the reader admits, as far as a schema can say it: that
 *       an edge leads to a node which exists, it cannot.  It is never stricter
 *       than the reader: a file that loads is valid here.
 *   (2) A place stands once, under `definitions`, and is pointed at from
 *       wherever it occurs, so places may contain themselves.
 *   (3) A place whose type a key selects is one definition for each type: an
 *       editor then offers the keys of that type and no others.
 *   (4) What the table says of a key (`about`) is its description, which
 *       editors show.
 *
 * Keywords are those of draft-07 (json-schema.org/draft-07/schema).
 */
#include "lang/yaml/outline.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* json_t pointers that are NULL mean: out of memory.  The functions below take
 * such and give such, as jansson's do, so the end alone looks. */
struct outline {
    json_t *definitions;
};

static json_t *of_row(struct outline *o, const struct mortise_key *key);

/* ---- parts ----------------------------------------------------------- */

/* Takes v; an object that failed stays one that failed. */
static void put(json_t **object, const char *key, json_t *v)
{
    if (json_object_set_new(*object, key, v) == 0)
        return;
    mortise_json_drop(object);
}

static void add(json_t **list, json_t *v)
{
    if (json_array_append_new(*list, v) == 0)
        return;
    mortise_json_drop(list);
}

/* {key: v} */
static json_t *wrap(const char *key, json_t *v)
{
    json_t *object = json_object();

    put(&object, key, v);
    return object;
}

static json_t *typed(const char *type)
{
    return json_pack("{s:s}", "type", type);
}

/* A bound as it was written: 1, not 1.0. */
static json_t *number(double v)
{
    return v == (double)(json_int_t)v ? json_integer((json_int_t)v)
                                      : json_real(v);
}

static json_t *ranged(const struct mortise_key *key, const char *type)
{
    json_t *v = typed(type);

    put(&v, "minimum", number(key->min));
    put(&v, "maximum", number(key->max));
    return v;
}

static json_t *words_of(const struct mortise_word *words)
{
    json_t *list = json_array();

    for (; words->word != NULL; words++)
        if (!words->later)
            add(&list, json_string(words->word));
    return wrap("enum", list);
}

static json_t *list_of(json_t *item, size_t least)
{
    json_t *v = typed("array");

    put(&v, "items", item);
    if (least > 0)
        put(&v, "minItems", json_integer((json_int_t)least));
    return v;
}

/* ---- places ---------------------------------------------------------- */

/* "a node", of type "human": "node-human".  What is said of a place in
 * messages tells them apart, too. */
static void name_of(const struct mortise_place *place, char *out, size_t size)
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

/* A row with what is said of it.  Draft-07 passes over what stands beside a
 * $ref. */
static json_t *described(struct outline *o, const struct mortise_key *key)
{
    json_t *v = of_row(o, key), *list;

    if (key->about == NULL)
        return v;
    if (json_object_get(v, "$ref") != NULL) {
        list = json_array();
        add(&list, v);
        v = wrap("allOf", list);
    }
    put(&v, "description", json_string(key->about));
    return v;
}

/* The keys of a place, in their order. */
static json_t *keys_of(struct outline *o, const struct mortise_place *place)
{
    json_t *v = typed("object"), *keys = json_object(), *must = json_array();
    const struct mortise_key *rows[MORTISE_MAX_KEYS];
    size_t n = mortise_place_rows(place, rows);

    for (size_t i = 0; i < n; i++) {
        if (!rows[i]->later)
            put(&keys, rows[i]->name, described(o, rows[i]));
        if (rows[i]->required)
            add(&must, json_string(rows[i]->name));
    }
    put(&v, "properties", keys);
    put(&v, "patternProperties", json_pack("{s:b}", "^x-", 1));
    put(&v, "additionalProperties", json_boolean(place->open));
    if (must != NULL && json_array_size(must) == 0)
        json_decref(must);
    else
        put(&v, "required", must);
    return v;
}

static json_t *types_of(struct outline *o, const struct mortise_place *place);

/* Once; a place that contains itself finds the name taken (2). */
static json_t *define(struct outline *o, const struct mortise_place *place)
{
    char name[64];
    json_t *v;

    if (o->definitions == NULL)
        return NULL;
    name_of(place, name, sizeof name);
    if (json_object_get(o->definitions, name) == NULL) {
        put(&o->definitions, name, json_object());
        v = place->types != NULL ? types_of(o, place) : keys_of(o, place);
        put(&o->definitions, name, v);
    }
    return reference(name);
}

/* {if: {properties: {type: {const: T}}}, then: ...} (3) */
static json_t *when(const struct mortise_place *place, const char *word,
                    json_t *then)
{
    json_t *v = json_object();

    put(&v, "if",
        json_pack("{s:{s:{s:s}}, s:[s]}", "properties", place->select, "const",
                  word, "required", place->select));
    put(&v, "then", then);
    return v;
}

/* {if: {required: [KEY], not: {required: [type]}}, then: ...} */
static json_t *when_implied(const struct mortise_place *place, const char *key,
                            json_t *then)
{
    json_t *v = json_object();

    put(&v, "if",
        json_pack("{s:[s], s:{s:[s]}}", "required", key, "not", "required",
                  place->select));
    put(&v, "then", then);
    return v;
}

/* The key that says which, or one that implies it. */
static void put_required(json_t **v, const struct mortise_place *place)
{
    json_t *any = json_array();

    add(&any, json_pack("{s:[s]}", "required", place->select));
    for (size_t i = 0; place->types[i] != NULL; i++)
        if (place->types[i]->implied_by != NULL)
            add(&any,
                json_pack("{s:[s]}", "required", place->types[i]->implied_by));
    if (json_array_size(any) > 1) {
        put(v, "anyOf", any);
        return;
    }
    json_decref(any);
    put(v, "required", json_pack("[s]", place->select));
}

/* What all types have in common, and each of them. */
static json_t *types_of(struct outline *o, const struct mortise_place *place)
{
    const struct mortise_key *select = mortise_place_row(place, place->select);
    json_t *all = json_array(), *v = typed("object"), *keys = json_object();

    for (size_t i = 0; place->types[i] != NULL; i++) {
        const struct mortise_place *type = place->types[i];

        if (type->later)
            continue;
        add(&all, when(place, type->type, define(o, type)));
        if (type->implied_by != NULL)
            add(&all, when_implied(place, type->implied_by, define(o, type)));
    }
    put(&keys, place->select, described(o, select));
    put(&v, "properties", keys);
    put_required(&v, place);
    put(&v, "allOf", all);
    return v;
}

/* ---- rows ------------------------------------------------------------ */

static json_t *of_map(struct outline *o, const struct mortise_key *key)
{
    json_t *v;

    if (key->place != NULL)
        return define(o, key->place);
    v = typed("object");
    if (key->each != NULL) {
        put(&v, "patternProperties", json_pack("{s:b}", "^x-", 1));
        put(&v, "additionalProperties", of_row(o, key->each));
    }
    return v;
}

static json_t *of_forms(struct outline *o, const struct mortise_key *key)
{
    json_t *list = json_array();

    for (size_t i = 0; i < key->n_forms; i++)
        add(&list, of_row(o, &key->forms[i]));
    return wrap("anyOf", list);
}

#define STRING "{\"type\": \"string\", \"minLength\": 1}"
#define ID                                                                     \
    "{\"type\": \"string\", \"pattern\": \"^[A-Za-z_][A-Za-z0-9_-]{0,63}$\"}"
#define LIST_OF(item)                                                          \
    "{\"type\": \"array\", \"items\": " item ", \"minItems\": 1}"

/* What is the same for every key with such a value. */
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

static json_t *of_row(struct outline *o, const struct mortise_key *key)
{
    switch (key->value) {
    case MORTISE_V_INT:
        return ranged(key, "integer");
    case MORTISE_V_NUMBER:
        return ranged(key, "number");
    case MORTISE_V_WORD:
        return words_of(key->words);
    case MORTISE_V_MAP:
        return of_map(o, key);
    case MORTISE_V_LIST:
        return list_of(key->each != NULL ? of_row(o, key->each) : json_object(),
                       (size_t)key->min);
    case MORTISE_V_FORMS:
        return of_forms(o, key);
    default:
        assert(shapes[key->value] != NULL); /* or a case above */
        return mortise_json_ours(shapes[key->value]);
    }
}

/* ---- the whole ------------------------------------------------------- */

json_t *mortise_outline(const struct mortise_place *place, const char *title)
{
    struct outline o = {.definitions = json_object()};
    json_t *v =
        json_pack("{s:s, s:s}", "$schema",
                  "http://json-schema.org/draft-07/schema#", "title", title);
    json_t *body = keys_of(&o, place);

    if (v != NULL && body != NULL && json_object_update_missing(v, body) != 0)
        mortise_json_drop(&v);
    put(&v, "definitions", o.definitions);
    if (body == NULL)
        mortise_json_drop(&v);
    json_decref(body);
    return v;
}
