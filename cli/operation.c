/* operation.c -- `mortise plugin inspect PLUGIN/OPERATION`: the arguments, the
 * output and the effect of an operation.
 *
 * A schema is printed as a list of members: name, whether it is required, its
 * possible values and its description.  Other keywords of JSON Schema are
 * appended verbatim, so that nothing is hidden that calls are validated by.
 * --json prints the schemas. */
#include "cli/operation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/nearest.h"
#include "lang/config/settings.h"
#include "lang/schema/schema.h"
#include "core/json/value.h"
#include "lang/yaml/tree.h"

enum { NAME = 20, LABEL = 11, SUGGESTIONS_MAX = 256 };

/* ---- schemas ------------------------------------------------------------ */

static bool has_list_word(const json_t *list, const char *word)
{
    MORTISE_JSON_EACH (one, i, list) {
        const char *text = json_string_value(one);

        if (text != NULL && strcmp(text, word) == 0)
            return true;
    }
    return false;
}

/* Print values on one line, as "a" or "b". */
static void print_value_choices(struct mortise_out *o, const json_t *list)
{
    size_t n = json_array_size(list);

    MORTISE_JSON_EACH (one, i, list) {
        char *text = json_dumps(one, JSON_COMPACT | JSON_ENCODE_ANY);

        mortise_out_print_escaped(o, "%s%s",
                                  i == 0       ? ""
                                  : i + 1 == n ? " or "
                                               : ", ",
                                  text != NULL ? text : "?");
        free(text);
    }
}

static void print_json_value(struct mortise_out *o, const char *lead,
                             const json_t *v)
{
    char *text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);

    mortise_out_print_escaped(o, "%s%s", lead, text != NULL ? text : "?");
    free(text);
}

/* Format "string" or "string or null"; "" without a type. */
static void format_schema_type(const json_t *schema, char out[64])
{
    const json_t *type = json_object_get(schema, "type");
    size_t n = 0;

    snprintf(out, 64, "%s",
             json_is_string(type) ? json_string_value(type) : "");
    MORTISE_JSON_EACH (one, i, type) {
        const char *word = json_string_value(one);

        if (word != NULL && n + strlen(word) + 5 < 64)
            n += (size_t)snprintf(out + n, 64 - n, "%s%s", i > 0 ? " or " : "",
                                  word);
    }
}

/* Get the schema with members to list: the object itself, or the elements of a
 * list or map; NULL: none. */
static const json_t *get_member_schema(const json_t *schema)
{
    const json_t *of = json_object_get(schema, "items");

    if (json_object_size(json_object_get(schema, "properties")) > 0)
        return schema;
    of = of != NULL ? of : json_object_get(schema, "additionalProperties");
    return json_object_size(json_object_get(of, "properties")) > 0 ? of : NULL;
}

static void print_schema_type(struct mortise_out *o, const json_t *schema)
{
    const json_t *items = json_object_get(schema, "items");
    const json_t *others = json_object_get(schema, "additionalProperties");
    char type[64];

    format_schema_type(schema, type);
    if (json_is_boolean(schema))
        mortise_out_puts(o, json_is_true(schema) ? "anything" : "nothing");
    else if (json_object_get(schema, "enum") != NULL)
        print_value_choices(o, json_object_get(schema, "enum"));
    else if (json_object_get(schema, "const") != NULL)
        print_json_value(o, "", json_object_get(schema, "const"));
    else
        mortise_out_print_escaped(o, "%s", type[0] != '\0' ? type : "anything");
    if (json_is_object(items)) {
        mortise_out_puts(o, " of ");
        print_schema_type(o, items);
    } else if (json_is_object(others)) {
        mortise_out_puts(o, " of ");
        print_schema_type(o, others);
    }
}

/* Is the keyword covered by the list, or irrelevant? */
static bool is_covered_keyword(const char *keyword, const json_t *v)
{
    static const char *const covered[] = {
        "type", "properties",  "required", "enum",  "const",   "default",
        "$id",  "description", "title",    "$defs", "$schema", "$comment"};

    for (size_t i = 0; i < sizeof covered / sizeof covered[0]; i++)
        if (strcmp(keyword, covered[i]) == 0)
            return true;
    return (strcmp(keyword, "items") == 0 ||
            strcmp(keyword, "additionalProperties") == 0) &&
           (json_is_object(v) || json_is_boolean(v));
}

/* Print the default, other keywords and the description. */
static void print_schema_details(struct mortise_out *o, const json_t *schema)
{
    const char *about = mortise_cli_get_text(schema, "description");
    const json_t *v = json_object_get(schema, "default");
    const char *keyword;
    json_t *other;

    if (v != NULL)
        print_json_value(o, ", else ", v);
    json_object_foreach(mortise_json_unconst(schema), keyword, other)
    {
        if (is_covered_keyword(keyword, other))
            continue;
        mortise_out_print_escaped(o, ", %s", keyword);
        print_json_value(o, " ", other);
    }
    if (json_object_get(schema, "items") != NULL)
        print_schema_details(o, json_object_get(schema, "items"));
    if (about[0] != '\0')
        mortise_out_print_escaped(o, ": %s", about);
}

static void print_padding(struct mortise_out *o, size_t n)
{
    while (n-- > 0)
        mortise_out_put(o, " ", 1);
}

void mortise_cli_print_schema(struct mortise_out *o, const json_t *schema,
                              size_t indent)
{
    const json_t *required = json_object_get(schema, "required");
    const char *name;
    json_t *one;

    json_object_foreach(json_object_get(schema, "properties"), name, one)
    {
        print_padding(o, indent);
        mortise_out_put_cell(o, name, NAME > indent ? NAME - indent : 1);
        mortise_out_puts(o,
                         has_list_word(required, name) ? " required, " : " ");
        print_schema_type(o, one);
        print_schema_details(o, one);
        mortise_out_puts(o, "\n");
        if (get_member_schema(one) != NULL)
            mortise_cli_print_schema(o, get_member_schema(one), indent + 2);
    }
}

/* Print "arguments" or "output" with its schema. */
static void print_operation_schema(struct mortise_out *o, const char *name,
                                   const json_t *schema)
{
    mortise_out_put_cell(o, name, LABEL);
    mortise_out_puts(o, " ");
    if (schema == NULL) {
        mortise_out_puts(o, "anything\n");
        return;
    }
    print_schema_type(o, schema);
    print_schema_details(o, schema);
    if (json_is_false(json_object_get(schema, "additionalProperties")))
        mortise_out_puts(o, ", and no other member");
    mortise_out_puts(o, "\n");
    if (get_member_schema(schema) != NULL)
        mortise_cli_print_schema(o, get_member_schema(schema), 2);
    MORTISE_JSON_MEMBERS (kind, v, json_object_get(schema, "$defs")) {
        mortise_out_print_escaped(o, "  #/$defs/%s: ", kind);
        print_schema_type(o, v);
        print_schema_details(o, v);
        mortise_out_puts(o, "\n");
        if (get_member_schema(v) != NULL)
            mortise_cli_print_schema(o, get_member_schema(v), 4);
    }
}

/* ---- operations --------------------------------------------------------- */

/* Encode an operation as --json prints it: a new reference. */
static json_t *encode_manifest_operation(const struct mortise_manifest *m,
                                         const struct mortise_manifest_op *op)
{
    const json_t *in =
        op->input != NULL ? mortise_schema_json(op->input) : NULL;
    const json_t *out =
        op->output != NULL ? mortise_schema_json(op->output) : NULL;
    bool acts =
        strcmp(op->effect, "write") == 0 || strcmp(op->effect, "external") == 0;

    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s*, s:b, s:b, s:s*, s:o*, s:O*, s:O*}",
        "plugin", m->name, "operation", op->name, "description",
        op->description, "effect", op->effect, "judged_as", op->judged_as,
        "idempotent", (int)op->idempotent, "reconcile", (int)op->reconcile,
        "intent",
        !acts       ? NULL
        : op->steps ? "steps"
                    : "call",
        "timeout_ms",
        op->timeout_ms != 0 ? json_integer((json_int_t)op->timeout_ms) : NULL,
        "input_schema", mortise_json_unconst(in), "output_schema",
        mortise_json_unconst(out));
}

static json_t *encode_pinned_operation(const struct mortise_manifest *m,
                                       const struct mortise_tool_pin *pin)
{
    const struct mortise_lock_tool *t = pin->tool;

    return json_pack(
        "{s:s, s:s, s:s, s:s, s:b, s:o*, s:o*}", "plugin", m->name, "operation",
        pin->operation, "description", pin->description, "effect", pin->effect,
        "idempotent", (int)pin->idempotent, "input_schema",
        t->input != NULL ? mortise_yaml_to_json(t->input, true) : NULL,
        "output_schema",
        t->output != NULL ? mortise_yaml_to_json(t->output, true) : NULL);
}

static void print_operation_effect(struct mortise_out *o, const json_t *op)
{
    mortise_out_put_cell(o, "effect", LABEL);
    mortise_out_print_escaped(
        o, " %s%s%s", mortise_cli_get_text(op, "effect"),
        json_is_true(json_object_get(op, "idempotent")) ? ", idempotent" : "",
        json_is_true(json_object_get(op, "reconcile")) ? ", reconcile" : "");
    if (json_object_get(op, "intent") != NULL)
        mortise_out_print_escaped(o, ", intent: %s",
                                  mortise_cli_get_text(op, "intent"));
    mortise_out_puts(o, "\n");
}

static void print_operation_details(struct mortise_out *o, const json_t *op)
{
    uint64_t ms = mortise_cli_get_integer(op, "timeout_ms");
    const char *about = mortise_cli_get_text(op, "description");
    char took[32];

    mortise_out_put_cell(o, "operation", LABEL);
    mortise_out_print_escaped(o, " %s/%s\n", mortise_cli_get_text(op, "plugin"),
                              mortise_cli_get_text(op, "operation"));
    mortise_out_put_cell(o, "description", LABEL);
    if (strchr(about, '\n') == NULL)
        mortise_out_print_escaped(o, " %s\n", about);
    else
        mortise_out_puts(o, "\n");
    if (strchr(about, '\n') != NULL)
        mortise_out_put_text(o, about, 2);
    print_operation_effect(o, op);
    if (ms > 0) {
        mortise_out_put_cell(o, "timeout", LABEL);
        mortise_out_printf(o, " %s\n", mortise_out_format_duration(ms, took));
    }
    print_operation_schema(o, "arguments", json_object_get(op, "input_schema"));
    print_operation_schema(o, "output", json_object_get(op, "output_schema"));
}

static int fail_no_operation(const struct mortise_manifest *m,
                             const struct mortise_tool_pin *pins, size_t n_pins,
                             const char *name, struct mortise_err *err)
{
    const char *known[SUGGESTIONS_MAX], *near;
    size_t n = 0;

    for (size_t i = 0; i < m->n_ops && n < SUGGESTIONS_MAX; i++)
        known[n++] = m->ops[i].name;
    for (size_t i = 0; i < n_pins && n < SUGGESTIONS_MAX; i++)
        known[n++] = pins[i].operation;
    near = mortise_nearest_find(name, known, n);
    return mortise_fail(err, MORTISE_ENOTFOUND,
                        "plugin '%s' has no operation '%.128s'%s%s%s", m->name,
                        name, near != NULL ? "; did you mean '" : "",
                        near != NULL ? near : "", near != NULL ? "'?" : "");
}

int mortise_cli_print_operation(struct mortise_cli *cli,
                                const struct mortise_manifest *m,
                                const struct mortise_deployment *d,
                                const char *name, struct mortise_err *err)
{
    const struct mortise_tool_pin *pins;
    size_t n = mortise_deployment_list_tool_pins(d, m->name, &pins);
    json_t *op = NULL;
    bool found = false;

    for (size_t i = 0; i < m->n_ops && !found; i++)
        if ((found = strcmp(m->ops[i].name, name) == 0))
            op = encode_manifest_operation(m, &m->ops[i]);
    for (size_t i = 0; i < n && !found; i++)
        if ((found = strcmp(pins[i].operation, name) == 0))
            op = encode_pinned_operation(m, &pins[i]);
    if (!found)
        return fail_no_operation(m, pins, n, name, err);
    if (op == NULL || cli->args.json)
        return mortise_cli_print_json(cli, op, true, err);
    print_operation_details(&cli->out, op);
    json_decref(op);
    return MORTISE_OK;
}
