/* schema.c -- JSON Schemas in a YAML file.
 *
 * The compiler reads JSON and gives positions as pointers.  This module
 * converts a pointer to a line and a column of the file. */
#include "lang/yaml/schema.h"

#include <stdio.h>
#include <string.h>

struct told {
    const struct mortise_yaml *root;
    struct mortise_diags *diags;
};

/* The position of the key at the end of the pointer. */
static struct mortise_span get_key_span(const struct mortise_yaml *root,
                                        const char *pointer)
{
    const struct mortise_yaml *value = mortise_yaml_find_at(root, pointer),
                              *map;
    const char *last = strrchr(pointer, '/');
    char above[512];
    size_t n = last != NULL ? (size_t)(last - pointer) : 0;

    if (n >= sizeof above)
        return value->span;
    memcpy(above, pointer, n);
    above[n] = '\0';
    map = mortise_yaml_find_at(root, above);
    for (size_t i = 0; map->kind == MORTISE_YAML_MAP && i < map->n; i++)
        if (map->items[i] == value)
            return map->keys[i]->span;
    return value->span;
}

static void warn_unknown_keyword(void *ctx, const char *where,
                                 const char *words)
{
    struct told *t = ctx;

    mortise_diag_add(t->diags, "W0215", get_key_span(t->root, where), "%s",
                     words);
}

static void warn_foreign_pattern(void *ctx, const char *where,
                                 const char *words)
{
    struct told *t = ctx;

    mortise_diag_add(t->diags, "W0216",
                     mortise_yaml_find_at(t->root, where)->span, "%s", words);
}

static void report_schema_error(void *ctx, const char *where, int code,
                                const char *words)
{
    struct told *t = ctx;

    mortise_diag_add(t->diags, code == MORTISE_EUNAVAILABLE ? "E0205" : "E0209",
                     mortise_yaml_find_at(t->root, where)->span, "%s", words);
}

/* ---- required members that are listed with another spelling -------------- */

static const char *find_nearest_member(const struct mortise_yaml *members,
                                       const char *name)
{
    const char *two[2] = {NULL, NULL};

    for (size_t i = 0; i < members->n; i++) {
        two[1] = members->keys[i]->str;
        two[0] = mortise_nearest_find(name, two, 2);
    }
    return two[0];
}

static void check_required_list(const struct mortise_yaml *required,
                                const struct mortise_yaml *members,
                                struct mortise_diags *diags)
{
    for (size_t i = 0; i < required->n; i++) {
        const struct mortise_yaml *name = required->items[i];
        const char *near;

        if (name->kind != MORTISE_YAML_STRING ||
            mortise_yaml_get(members, name->str) != NULL)
            continue;
        near = find_nearest_member(members, name->str);
        if (near != NULL && mortise_nearest_is_typo(name->str, near))
            mortise_diag_help(
                diags,
                mortise_diag_add(
                    diags, "W0218", name->span,
                    "'required' lists '%s', which is not in 'properties'",
                    name->str),
                "did you mean '%s'?", near);
    }
}

/* Is the value data, and not a schema? */
static bool is_data(const char *keyword)
{
    static const char *const data[] = {"const", "default", "enum", "examples"};

    for (size_t i = 0; i < sizeof data / sizeof data[0]; i++)
        if (strcmp(keyword, data[i]) == 0)
            return true;
    return false;
}

/* Are the members of this keyword's value named schemas? */
static bool has_named_schemas(const char *keyword)
{
    static const char *const of_names[] = {"$defs", "definitions",
                                           "dependentSchemas",
                                           "patternProperties", "properties"};

    for (size_t i = 0; i < sizeof of_names / sizeof of_names[0]; i++)
        if (strcmp(keyword, of_names[i]) == 0)
            return true;
    return false;
}

/* Values are checked, but defaults are never added. */
static void warn_about_default(const struct mortise_yaml *name,
                               struct mortise_diags *diags)
{
    mortise_diag_help(diags,
                      mortise_diag_add(diags, "W0826", name->span,
                                       "'default' has no effect in a schema: "
                                       "an absent member stays absent"),
                      "set the default where you read the value: "
                      "${has(input.x) ? input.x : 1}");
}

/* Recursive, limited by the nesting depth of YAML. `names`: the keys are names
 * of schemas, not keywords.  `completes`: authors may expect that defaults are
 * added. */
static void inspect_schema(const struct mortise_yaml *v, bool names,
                           bool completes, struct mortise_diags *diags)
{
    const struct mortise_yaml *required, *members;

    if (v->kind == MORTISE_YAML_MAP && !names) {
        required = mortise_yaml_get(v, "required");
        members = mortise_yaml_get(v, "properties");
        if (required != NULL && required->kind == MORTISE_YAML_SEQ &&
            members != NULL && members->kind == MORTISE_YAML_MAP)
            check_required_list(required, members, diags);
        if (completes && mortise_yaml_get(v, "default") != NULL)
            warn_about_default(mortise_yaml_key(v, "default"), diags);
    }
    for (size_t i = 0; i < v->n; i++) {
        const char *key = v->kind == MORTISE_YAML_MAP ? v->keys[i]->str : "";

        if (v->kind == MORTISE_YAML_SEQ || names || !is_data(key))
            inspect_schema(v->items[i], !names && has_named_schemas(key),
                           completes, diags);
    }
}

/* ---- compiling ------------------------------------------------------------ */

/* The line and column of a rule.  Values are checked in runs, so the text is
 * recorded.  A file name that is too long is omitted. */
static void write_rule_place(const void *origin, const char *rule, char *out,
                             size_t size)
{
    struct mortise_span at = get_key_span(origin, rule);
    int n = snprintf(out, size, "%s:%u:%u", mortise_source_file_name(at.file),
                     at.line, at.col);

    if (n < 0 || (size_t)n >= size)
        snprintf(out, size, "%u:%u", at.line, at.col);
}

int mortise_yaml_compile_schema(struct mortise_schema **out,
                                struct mortise_arena *a,
                                const struct mortise_yaml *node,
                                enum mortise_schema_patterns patterns,
                                bool says_where, struct mortise_diags *diags)
{
    struct told told = {node, diags};
    struct mortise_schema_options world = {
        .unknown = warn_unknown_keyword,
        .foreign = warn_foreign_pattern,
        .wrong = report_schema_error,
        .patterns = patterns,
        .ctx = &told,
        .place = says_where ? write_rule_place : NULL,
        .origin = node};
    json_t *json = mortise_yaml_to_json(node, false);
    struct mortise_err err;
    char where[512] = "";
    int rv = MORTISE_ENOMEM;

    *out = NULL;
    if (json != NULL)
        rv = mortise_schema_compile_with(out, a, json, &world, where,
                                         sizeof where, &err);
    json_decref(json);
    if (rv == MORTISE_ENOMEM)
        return rv;
    inspect_schema(node, false, says_where, diags);
    return rv == MORTISE_OK ? rv : MORTISE_ECHECK;
}
