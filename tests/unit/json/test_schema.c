/* test_schema.c -- JSON Schema: what compiles, what fits, and how values are
 * typed.  The official suite runs in `make check-peers`; these are the promises
 * of our own. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/schema/schema.h"
#include "lib/json.h"
#include "lib/test.h"

static struct mortise_err err;
static struct mortise_arena arena;

static void begin(void)
{
    test_begin();
    test_count_json();
    mortise_arena_init(&arena, &test_mem);
}

static void finish(void)
{
    mortise_arena_finish(&arena);
    test_nothing_left();
}

static json_t *parsed(const char *text)
{
    json_t *v = NULL;

    ck_assert_msg(mortise_json_parse(&v, text, strlen(text), &err) ==
                      MORTISE_OK,
                  "%s: %s", text, err.msg);
    return v;
}

/* Single quotes for double ones: schemas are easier to read that way. */
static json_t *quoted(const char *text)
{
    char *copy = strdup(text);
    json_t *v;

    for (char *p = copy; *p != '\0'; p++)
        if (*p == '\'')
            *p = '"';
    v = parsed(copy);
    free(copy);
    return v;
}

static char *written(const json_t *v)
{
    static char text[4096];
    struct mortise_buf b;

    mortise_buf_init(&b, &test_mem);
    ck_assert_int_eq(mortise_json_write(&b, v), MORTISE_OK);
    ck_assert_uint_lt(b.n, sizeof text);
    memcpy(text, b.p, b.n);
    text[b.n] = '\0';
    mortise_buf_finish(&b);
    return text;
}

/* ---- compiling and judging ------------------------------------------- */

/* A schema with its JSON's reference given up: it must hold its own. */
static struct mortise_schema *schema_of(const char *text)
{
    struct mortise_schema *s;
    char where[64];
    json_t *json = quoted(text);

    ck_assert_msg(mortise_schema_compile(&s, &arena, json, where, sizeof where,
                                         &err) == MORTISE_OK,
                  "%s: %s", where, err.msg);
    json_decref(json);
    return s;
}

static void no_schema(const char *text, int code, const char *at,
                      const char *words)
{
    struct mortise_schema *s;
    char where[64];
    json_t *json = quoted(text);

    ck_assert_int_eq(
        mortise_schema_compile(&s, &arena, json, where, sizeof where, &err),
        code);
    ck_assert_ptr_null(s);
    ck_assert_str_eq(where, at);
    ck_assert_str_eq(err.msg, words);
    json_decref(json);
}

static void fits(const char *schema, const char *value)
{
    struct mortise_schema *s = schema_of(schema);
    json_t *v = quoted(value);

    ck_assert_msg(mortise_schema_check(s, v, &err) == MORTISE_OK, "%s: %s",
                  value, err.msg);
    json_decref(v);
    mortise_schema_finish(s);
}

static void breaks(const char *schema, const char *value, const char *words)
{
    struct mortise_schema *s = schema_of(schema);
    json_t *v = quoted(value);

    ck_assert_int_eq(mortise_schema_check(s, v, &err), MORTISE_EINVAL);
    ck_assert_str_eq(err.msg, words);
    json_decref(v);
    mortise_schema_finish(s);
}

static bool is_valid(const char *schema, const char *value)
{
    struct mortise_schema *s = schema_of(schema);
    json_t *v = quoted(value);
    int rv = mortise_schema_check(s, v, &err);

    ck_assert(rv == MORTISE_OK || rv == MORTISE_EINVAL);
    json_decref(v);
    mortise_schema_finish(s);
    return rv == MORTISE_OK;
}

static int compile_code(const char *text)
{
    struct mortise_schema *s;
    char where[64];
    json_t *json = quoted(text);
    int rv =
        mortise_schema_compile(&s, &arena, json, where, sizeof where, &err);

    mortise_schema_finish(s);
    json_decref(json);
    return rv;
}

/* What breaks the draft's rules is refused, with the place. */
START_TEST(broken_schemas_say_where)
{
    static const struct {
        const char *text, *at, *words;
    } cases[] = {
        {"{'type':'strng'}", "/type",
         "unknown type 'strng', did you mean 'string'?"},
        {"{'type':[]}", "/type", "'type' is an empty list"},
        {"{'type':['null','null']}", "/type/1", "'type' lists a type twice"},
        {"{'type':1}", "/type", "'type' must be a type or a list of types"},
        {"{'enum':[]}", "/enum",
         "'enum' must be a list of values, and not empty"},
        {"{'required':[1]}", "/required", "'required' must be a list of names"},
        {"{'required':'a'}", "/required", "'required' must be a list of names"},
        {"{'required':['a','b','a']}", "/required",
         "'required' lists 'a' twice"},
        {"{'properties':[]}", "/properties",
         "'properties' must map names to schemas"},
        {"{'title':1}", "/title", "expected a string"},
        {"{'examples':1}", "/examples", "'examples' must be a list"},
        {"{'deprecated':1}", "/deprecated",
         "'deprecated' must be true or false"},
        {"{'additionalProperties':7}", "/additionalProperties",
         "a schema must be an object, true or false"},
        {"null", "", "a schema must be an object, true or false"},
        {"{'items':[true]}", "/items",
         "'items' must be one schema; use 'prefixItems' for a list"},
        {"{'allOf':[]}", "/allOf",
         "'allOf' must be a list of at least one schema"},
        {"{'anyOf':[{},{'not':3}]}", "/anyOf/1/not",
         "a schema must be an object, true or false"},
        {"{'properties':{'a/b~':{'minimum':'1'}}}",
         "/properties/a~1b~0/minimum", "'minimum' must be a number"},
        {"{'exclusiveMinimum':true}", "/exclusiveMinimum",
         "'exclusiveMinimum' must be a number"},
        {"{'multipleOf':0}", "/multipleOf",
         "'multipleOf' must be a number greater than 0"},
        {"{'minLength':-1}", "/minLength",
         "'minLength' must be an integer of at least 0"},
        {"{'maxItems':1.5}", "/maxItems",
         "'maxItems' must be an integer of at least 0"},
        {"{'uniqueItems':1}", "/uniqueItems",
         "'uniqueItems' must be true or false"},
        {"{'pattern':'a('}", "/pattern",
         "not a regular expression of ECMA-262: this group is not closed by ) "
         "(at character 2)"},
        {"{'patternProperties':{'[':{}}}", "/patternProperties/[",
         "not a regular expression of ECMA-262: this class is not closed by ] "
         "(at character 1)"},
        {"{'dependentRequired':{'a':['b','b']}}", "/dependentRequired",
         "'dependentRequired' lists 'b' twice"},
        {"{'dependentSchemas':{'a':[]}}", "/dependentSchemas/a",
         "a schema must be an object, true or false"},
        {"{'contentSchema':1}", "/contentSchema",
         "a schema must be an object, true or false"},
        {"{'$defs':{'a':{'type':'x'}}}", "/$defs/a/type", "unknown type 'x'"},
        {"{'$anchor':'1a'}", "/$anchor",
         "'$anchor' must be a letter or _, then letters, digits, -, _ or ."},
        {"{'$defs':{'a':{'$anchor':'x'},'b':{'$anchor':'x'}}}",
         "/$defs/b/$anchor", "two anchors are named 'x'"},
        {"{'$id':'#a'}", "/$id", "'$id' cannot have a fragment: use '$anchor'"},
        {"{'$id':'a:b','$defs':{'x':{'$id':'a:b'}}}", "/$defs/x/$id",
         "two schemas are named a:b"},
        {"{'$vocabulary':{'x':1}}", "/$vocabulary",
         "'$vocabulary' must map URIs to true or false"},
        {"{'$defs':{'x':{'$schema':"
         "'https://json-schema.org/draft/2020-12/schema'}}}",
         "/$defs/x/$schema",
         "'$schema' must be at the start of a schema, with its '$id'"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        no_schema(cases[i].text, MORTISE_EINVAL, cases[i].at, cases[i].words);
}
END_TEST

/* References that lead nowhere are refused, and none is ever fetched. */
START_TEST(references_lead_somewhere)
{
    no_schema("{'$ref':1}", MORTISE_EINVAL, "/$ref",
              "'$ref' must be a string with a reference");
    no_schema("{'$ref':'#/$defs/adress','$defs':{'address':{}}}",
              MORTISE_EINVAL, "/$ref",
              "the reference has no target: there is no 'adress', did you mean "
              "'address'?");
    no_schema("{'items':{'$ref':'#/definition/a'},'definitions':{'a':{}}}",
              MORTISE_EINVAL, "/items/$ref",
              "the reference has no target: there is no 'definition', did you "
              "mean 'definitions'?");
    no_schema("{'$ref':'#/allOf/01','allOf':[{},{}]}", MORTISE_EINVAL, "/$ref",
              "the reference has no target: there is no '01'");
    no_schema("{'$ref':'#here'}", MORTISE_EINVAL, "/$ref",
              "there is no '$anchor' named 'here' here");
    no_schema("{'items':{'$ref':'http://example.com/a.json'}}", MORTISE_EINVAL,
              "/items/$ref",
              "no part of this schema is named http://example.com/a.json, and "
              "schemas are never fetched: put the schema under '$defs'");
    no_schema("{'$ref':'#/x-mine/a','x-mine':{'a':{'type':'x'}}}",
              MORTISE_EINVAL, "/$ref/type", "unknown type 'x'");
    fits("{'$ref':'#/x-mine/a','x-mine':{'a':{'type':'null'}}}", "null");
    fits("{'$ref':'#/$defs/a%25b~1c','$defs':{'a%b/c':true}}", "null");
}
END_TEST

/* A way that never goes into the value would never end. */
START_TEST(references_in_circles_are_refused)
{
    static const char words[] =
        "this schema refers to itself for the same value";

    no_schema("{'$ref':'#'}", MORTISE_EINVAL, "/$ref", words);
    no_schema("{'$defs':{'a':{'allOf':[{'$ref':'#/$defs/b'}]},"
              "'b':{'if':{'$ref':'#/$defs/a'}}}}",
              MORTISE_EINVAL, "/$defs/b/if/$ref", words);
    no_schema("{'not':{'dependentSchemas':{'a':{'$dynamicRef':'#'}}}}",
              MORTISE_EINVAL, "/not/dependentSchemas/a/$dynamicRef", words);
    fits("{'properties':{'next':{'$ref':'#'}}}", "{'next':{'next':{}}}");
}
END_TEST

/* ... and a way that is too long for a stack is refused, too, whichever end
 * of it is read first. */
START_TEST(chains_have_an_end)
{
    char text[16384], *p = text;

    p += sprintf(p, "{'$defs':{'n0':{}");
    for (int i = 1; i < 150; i++)
        p += sprintf(p, ",'n%d':{'$ref':'#/$defs/n%d'}", i, i - 1);
    sprintf(p, "}}");
    ck_assert_int_eq(compile_code(text), MORTISE_EINVAL);
    ck_assert_ptr_nonnull(
        strstr(err.msg, "more than 100 nested schemas check the same value"));
    p = text + sprintf(text, "{'$defs':{'n0':{}");
    for (int i = 1; i < 99; i++)
        p += sprintf(p, ",'n%d':{'$ref':'#/$defs/n%d'}", i, i - 1);
    sprintf(p, "}}");
    ck_assert_int_eq(compile_code(text), MORTISE_OK);
}
END_TEST

/* Names are searched one by one, so there are not too many. */
START_TEST(names_are_counted)
{
    json_t *json = json_object(), *defs = json_object();
    struct mortise_schema *s;
    char where[32], name[16];

    for (int i = 0; i < 1001; i++) {
        snprintf(name, sizeof name, "a%d", i);
        json_object_set_new(
            defs, name,
            json_pack("{s:s}", i % 2 != 0 ? "$anchor" : "$id", name));
    }
    json_object_set_new(json, "$defs", defs);
    ck_assert_int_eq(
        mortise_schema_compile(&s, &arena, json, where, sizeof where, &err),
        MORTISE_EINVAL);
    ck_assert_str_eq(where, "/$defs/a1000/$id");
    ck_assert_str_eq(err.msg, "more than 1000 parts of the schema have a name");
    json_object_del(defs, "a1000");
    ck_assert_int_eq(
        mortise_schema_compile(&s, &arena, json, where, sizeof where, &err),
        MORTISE_OK);
    mortise_schema_finish(s);
    json_decref(json);
}
END_TEST

/* Other dialects are refused by name, and so are vocabularies. */
START_TEST(dialects_are_known_or_refused)
{
    no_schema("{'$schema':'http://json-schema.org/draft-07/schema#'}",
              MORTISE_EUNAVAILABLE, "/$schema",
              "the dialect http://json-schema.org/draft-07/schema# is not "
              "available: use https://json-schema.org/draft/2020-12/schema");
    no_schema("{'$schema':1}", MORTISE_EINVAL, "/$schema", "expected a string");
    fits("{'$schema':'https://json-schema.org/draft/2020-12/schema',"
         "'title':'t','description':'d','$comment':'c',"
         "'default':1,'examples':[],'x-ours':{'minimum':'a'}}",
         "{'any':'thing'}");
}
END_TEST

/* A schema made by a program may nest as it likes: an answer, not a crash. */
START_TEST(schemas_are_not_nested_without_end)
{
    json_t *json = json_true(), *outer;
    struct mortise_schema *s;
    char where[8];

    for (int i = 0; i < 100; i++) {
        outer = json_object();
        json_object_set_new(outer, "items", json);
        json = outer;
    }
    ck_assert_int_eq(
        mortise_schema_compile(&s, &arena, json, where, sizeof where, &err),
        MORTISE_EINVAL);
    ck_assert_str_eq(err.msg, "the schema is nested too deeply");
    ck_assert_str_eq(where, "/items/");
    json_decref(json);
}
END_TEST

START_TEST(types_are_checked)
{
    fits("true", "1");
    breaks("false", "1", "no value is allowed here");
    breaks("{'type':'integer'}", "'x'", "expected integer, found string");
    fits("{'type':'integer'}", "1.0");
    breaks("{'type':'integer'}", "1.5", "expected integer, found number");
    breaks("{'type':'integer'}", "1e300", "expected integer, found number");
    fits("{'type':'number'}", "1");
    fits("{'type':['null','object']}", "{}");
    breaks("{'type':['null','object']}", "[]",
           "expected null or object, found array");
    breaks("{'type':'boolean'}", "null", "expected boolean, found null");
}
END_TEST

/* The first finding, in the value's order, with the way to it. */
START_TEST(findings_say_where)
{
    static const char schema[] =
        "{'type':'object','required':['a'],"
        "'additionalProperties':false,'properties':{"
        "'a':{'items':{'type':'object','properties':{"
        "'b/c':{'type':'integer'}}}},"
        "'z':{'type':'null'},"
        "'label':{'enum':['refund','other',1,{'k':[1.0]}]}}}";

    fits(schema, "{'a':[{'b/c':1,'free':true}]}");
    breaks(schema, "{'z':1,'a':[{},{'b/c':'x'}]}",
           "at /z: expected null, found integer");
    breaks(schema, "{'a':[{},{'b/c':'x'}],'z':1}",
           "at /a/1/b~1c: expected integer, found string");
    breaks(schema, "{}", "the member 'a' is missing");
    breaks(schema, "{'a':[],'labl':1}",
           "unknown member 'labl', did you mean 'label'?");
    breaks(schema, "{'a':[],'quite else':1}", "unknown member 'quite else'");
    breaks(schema, "{'a':[],'label':'x'}",
           "at /label: expected one of \"refund\", \"other\", 1, "
           "{\"k\":[1.0]}");
    fits(schema, "{'a':[],'label':1.0}");
    fits(schema, "{'a':[],'label':{'k':[1]}}");
    breaks(schema, "{'a':[],'label':{'k':[1,1]}}",
           "at /label: expected one of \"refund\", \"other\", 1, "
           "{\"k\":[1.0]}");
}
END_TEST

/* additionalProperties with a schema holds for what is not listed, alone. */
START_TEST(additional_members_have_their_schema)
{
    static const char schema[] = "{'additionalProperties':{'type':'null'},"
                                 "'properties':{'a':{}}}";

    fits(schema, "{'a':1,'b':null}");
    fits(schema, "[1]");
    breaks(schema, "{'b':1}", "at /b: expected null, found integer");
}
END_TEST

/* Every rule says what it found and what it wanted. */
START_TEST(rules_say_what_they_want)
{
    static const struct {
        const char *schema, *value, *words;
    } cases[] = {
        {"{'const':{'a':1}}", "{'a':2}", "expected {\"a\":1}"},
        {"{'minimum':3}", "2", "2 is less than the minimum 3"},
        {"{'maximum':3}", "3.5", "3.5 is greater than the maximum 3"},
        {"{'exclusiveMinimum':3}", "3.0", "3.0 is not greater than 3"},
        {"{'exclusiveMaximum':3}", "3", "3 is not less than 3"},
        {"{'multipleOf':0.01}", "1.005", "1.005 is not a multiple of 0.01"},
        {"{'minLength':2}", "'\u00e9'", "1 character, expected at least 2"},
        {"{'maxLength':0}", "'ab'", "2 characters, expected at most 0"},
        {"{'pattern':'^a+$'}", "'ab'", "does not match /^a+$/"},
        {"{'minItems':1}", "[]", "0 items, expected at least 1"},
        {"{'maxItems':1}", "[1,2]", "2 items, expected at most 1"},
        {"{'uniqueItems':true}", "[{'a':1,'b':[2]},3,{'b':[2.0],'a':1.0},3]",
         "items 0 and 2 are equal"},
        {"{'contains':{'type':'null'}}", "[1]", "no item matches 'contains'"},
        {"{'contains':{'type':'null'},'minContains':2}", "[null]",
         "1 item matches 'contains', expected at least 2"},
        {"{'contains':{'type':'null'},'maxContains':1}", "[null,null]",
         "2 items match 'contains', expected at most 1"},
        {"{'minProperties':1}", "{}", "0 members, expected at least 1"},
        {"{'maxProperties':0}", "{'a':1}", "1 member, expected at most 0"},
        {"{'propertyNames':{'maxLength':2}}", "{'abc':1}",
         "the name 'abc': 3 characters, expected at most 2"},
        {"{'dependentRequired':{'a':['b']}}", "{'a':1}",
         "the member 'b' is missing, but 'a' requires it"},
        {"{'not':{'type':'null'}}", "null", "matches the schema of 'not'"},
        {"{'oneOf':[{},true]}", "1",
         "matches the schemas 0 and 1 of 'oneOf', but only one is allowed"},
        {"{'anyOf':[{'minimum':3},{'multipleOf':3}]}", "1",
         "matches none of the 2 schemas of 'anyOf'"},
        {"{'unevaluatedProperties':false,'properties':{'ab':{}}}", "{'abc':1}",
         "unknown member 'abc', did you mean 'ab'?"},
        {"{'unevaluatedItems':false,'prefixItems':[{}]}", "[1,2]",
         "at /1: no value is allowed here"},
        {"{'unevaluatedItems':{'type':'null'}}", "[1]",
         "at /0: expected null, found integer"},
        {"{'patternProperties':{'^x':{'type':'null'}}}", "{'xa':1}",
         "at /xa: expected null, found integer"},
        {"{'patternProperties':{'^x':{}},'additionalProperties':false}",
         "{'xa':1,'y':2}", "unknown member 'y'"},
        {"{'prefixItems':[{'type':'null'}]}", "[1]",
         "at /0: expected null, found integer"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        breaks(cases[i].schema, cases[i].value, cases[i].words);
}
END_TEST

/* What was reached by more than members and items says where the rule is. */
START_TEST(findings_say_which_rule)
{
    static const char row[] =
        "{'items':{'$ref':'#/$defs/row'},'$defs':{'row':{'required':['id'],"
        "'allOf':[{'properties':{'id':{'type':'integer'}}}]}}}";

    breaks(row, "[{'id':1},{}]",
           "at /1: the member 'id' is missing (schema: /$defs/row/required)");
    breaks(row, "[{'id':'x'}]",
           "at /0/id: expected integer, found string (schema: "
           "/$defs/row/allOf/0/properties/id/type)");
    breaks("{'if':{'required':['a']},'then':{'required':['b']},"
           "'else':{'maxProperties':0}}",
           "{'a':1}", "the member 'b' is missing (schema: /then/required)");
    breaks("{'dependentSchemas':{'a/b':{'minProperties':2}}}", "{'a/b':1}",
           "1 member, expected at least 2 (schema: "
           "/dependentSchemas/a~1b/minProperties)");
    breaks("{'properties':{'schema':{'$ref':"
           "'https://json-schema.org/draft/2020-12/schema'}}}",
           "{'schema':{'items':{'type':'strnig'}}}",
           "at /schema/items/type: expected one of \"array\", \"boolean\", "
           "\"integer\", \"null\", \"number\", \"object\", \"string\" (schema: "
           "https://json-schema.org/draft/2020-12/meta/validation#"
           "/$defs/simpleTypes/enum)");
}
END_TEST

/* Of several branches the one that was meant is reported, if it is clear. */
START_TEST(the_branch_that_was_meant_is_reported)
{
    static const char pay[] =
        "{'oneOf':[{'$ref':'#/$defs/card'},{'$ref':'#/$defs/cash'},"
        "{'type':'null'}],'$defs':{"
        "'card':{'type':'object','required':['no'],"
        "'properties':{'by':{'const':'card'},'no':{'type':'string'}}},"
        "'cash':{'type':'object','properties':{'by':{'enum':['cash']},"
        "'sum':{'type':'number'}}}}}";

    breaks("{'anyOf':[{'type':'null'},{'type':'string','maxLength':1}]}",
           "'ab'",
           "2 characters, expected at most 1 (schema: /anyOf/1/maxLength)");
    breaks(pay, "{'by':'card'}",
           "the member 'no' is missing (schema: /$defs/card/required)");
    breaks(pay, "{'by':'cash','sum':'1'}",
           "at /sum: expected number, found string (schema: "
           "/$defs/cash/properties/sum/type)");
    breaks(pay, "{'by':'air'}", "matches none of the 3 schemas of 'oneOf'");
    breaks(pay, "1", "matches none of the 3 schemas of 'oneOf'");
    fits(pay, "null");
}
END_TEST

/* Numbers are what was written, however wide: no rounding on the way. */
START_TEST(numbers_are_exact)
{
    fits("{'const':9007199254740992}", "9007199254740992.0");
    ck_assert(!is_valid("{'const':9007199254740993}", "9007199254740992.0"));
    ck_assert(
        !is_valid("{'maximum':9223372036854775806}", "9223372036854775807"));
    ck_assert(!is_valid("{'maximum':9223372036854775807}", "1e19"));
    ck_assert(!is_valid("{'exclusiveMinimum':-9223372036854775808}",
                        "-9223372036854775808.0"));
    fits("{'minimum':-9223372036854775808}", "-9223372036854775808.0");
    fits("{'multipleOf':0.0001}", "0.0075");
    fits("{'multipleOf':0.01}", "4.35");
    fits("{'multipleOf':0.1}", "-1.1");
    fits("{'multipleOf':1e-8}", "12391239123");
    fits("{'multipleOf':0.5}", "1e308");
    fits("{'multipleOf':5e-324}", "1e308");
    fits("{'multipleOf':7}", "0.0");
    fits("{'multipleOf':9223372036854775807}", "9223372036854775807");
    fits("{'multipleOf':2}", "-9223372036854775808");
    fits("{'multipleOf':3037000499.5}", "6074000999");
    ck_assert(!is_valid("{'multipleOf':0.0001}", "0.00751"));
    ck_assert(!is_valid("{'multipleOf':0.123456789}", "1e308"));
    ck_assert(!is_valid("{'multipleOf':10}", "9223372036854775807"));
    ck_assert(
        !is_valid("{'multipleOf':9223372036854775807}", "9223372036854775806"));
    ck_assert(!is_valid("{'multipleOf':1e10}", "1"));
}
END_TEST

/* Equal elements are found among many in little more than one pass: a
 * comparison of all pairs would take minutes. */
START_TEST(many_items_are_unique_quickly)
{
    struct mortise_schema *s = schema_of("{'uniqueItems':true}");
    json_t *list = json_array();

    for (int i = 0; i < 20000; i++)
        json_array_append_new(
            list, json_pack("{s:i,s:[s,i]}", "b", i, "a", "x", i % 7));
    ck_assert_int_eq(mortise_schema_check(s, list, &err), MORTISE_OK);
    json_array_append_new(list,
                          json_pack("{s:[s,f],s:i}", "a", "x", 5.0, "b", 5));
    ck_assert_int_eq(mortise_schema_check(s, list, &err), MORTISE_EINVAL);
    ck_assert_str_eq(err.msg, "items 5 and 20000 are equal");
    json_decref(list);
    mortise_schema_finish(s);
}
END_TEST

/* More members and items than the marks have room for on the stack. */
START_TEST(marks_grow)
{
    struct mortise_schema *s = schema_of(
        "{'anyOf':[{'patternProperties':{'^a':{}}},{'contains':{'const':1}}],"
        "'unevaluatedProperties':false,'unevaluatedItems':{'const':2}}");
    json_t *object = json_object(), *array = json_array();
    char name[16];

    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "a%d", i);
        json_object_set_new(object, name, json_null());
        json_array_append_new(array, json_integer(i % 2 + 1));
    }
    ck_assert_int_eq(mortise_schema_check(s, object, &err), MORTISE_OK);
    ck_assert_int_eq(mortise_schema_check(s, array, &err), MORTISE_OK);
    json_object_set_new(object, "b", json_null());
    json_array_append_new(array, json_integer(3));
    ck_assert_int_eq(mortise_schema_check(s, object, &err), MORTISE_EINVAL);
    ck_assert_str_eq(err.msg, "unknown member 'b'");
    ck_assert_int_eq(mortise_schema_check(s, array, &err), MORTISE_EINVAL);
    ck_assert_str_eq(err.msg, "at /1000: expected 2");
    json_decref(object);
    json_decref(array);
    mortise_schema_finish(s);
}
END_TEST

static int check_code(const char *schema, const json_t *v)
{
    struct mortise_schema *s = schema_of(schema);
    int rv = mortise_schema_check(s, v, &err);

    mortise_schema_finish(s);
    return rv;
}

static json_t *chain(int n)
{
    json_t *v = json_integer(1);

    for (int i = 0; i < n; i++)
        v = json_pack("{s:o}", "n", v);
    return v;
}

/* ---- values of which some places are not known ------------------------------ */

/* "?" is a place that is not known.  `words` NULL: some value there fits. */
static const struct {
    const char *schema, *value, *words;
} parts[] = {
    {"{'required':['a','b']}", "{'a':'?'}", "the member 'b' is missing"},
    {"{'required':['a','b']}", "{'a':'?','b':'?'}", NULL},
    {"{'properties':{'a':true},'additionalProperties':false}",
     "{'a':'?','b':1}", "unknown member 'b'"},
    {"{'properties':{'o':{'required':['b']}}}", "{'o':{'a':'?'}}",
     "at /o: the member 'b' is missing"},
    {"{'properties':{'a':{'type':'integer'},'b':{'enum':['x','y']}}}",
     "{'a':'?','b':'z'}", "at /b: expected one of \"x\", \"y\""},
    {"{'items':{'type':'string'}}", "['?',1]",
     "at /1: expected string, found integer"},
    {"{'minItems':3}", "['?','?']", "2 items, expected at least 3"},
    {"{'maxProperties':1}", "{'a':'?','b':'?'}",
     "2 members, expected at most 1"},
    {"{'dependentRequired':{'a':['b']}}", "{'a':'?'}",
     "the member 'b' is missing, but 'a' requires it"},
    {"{'properties':{'a':false}}", "{'a':'?'}",
     "at /a: no value is allowed here"},
    {"{'$ref':'#/$defs/d','$defs':{'d':{'required':['b']}}}", "{'a':'?'}",
     "the member 'b' is missing (schema: /$defs/d/required)"},
    {"{'allOf':[{'required':['b']}]}", "{'a':'?'}",
     "the member 'b' is missing (schema: /allOf/0/required)"},
    {"{'anyOf':[{'required':['b']},{'required':['c']}]}", "{'a':'?'}",
     "matches none of the 2 schemas of 'anyOf'"},
    {"{'oneOf':[{'required':['b']},{'required':['c']}]}", "{'a':'?'}",
     "matches none of the 2 schemas of 'oneOf'"},
    {"{'properties':{'a':true},'unevaluatedProperties':false}",
     "{'a':'?','b':1}", "unknown member 'b'"},
    {"{'type':'integer','minimum':3}", "'?'", NULL},
    {"{'enum':[{'a':1}]}", "{'a':'?'}", NULL},
    {"{'const':[1,2]}", "[1,'?']", NULL},
    {"{'uniqueItems':true}", "['?','?']", NULL},
    {"{'contains':{'type':'integer'}}", "['a','?']", NULL},
    {"{'contains':{'type':'integer'},'maxContains':1}", "[1,'?']", NULL},
    {"{'contains':{'type':'integer'},'unevaluatedItems':false}", "[1,'?']",
     NULL},
    {"{'not':{'properties':{'a':{'type':'integer'}}}}", "{'a':'?'}", NULL},
    {"{'oneOf':[{'properties':{'a':{'type':'integer'}}},{'properties':{'a':"
     "{'type':'string'}}}]}",
     "{'a':'?'}", NULL},
    {"{'if':{'properties':{'a':{'const':1}}},'then':{'required':['b']}}",
     "{'a':'?'}", NULL},
    {"{'if':{'properties':{'a':{'const':1}}},'then':{'properties':{'c':true}},"
     "'else':{'properties':{'d':true}},'properties':{'a':true},"
     "'unevaluatedProperties':false}",
     "{'a':'?','c':1}", NULL},
    {"{'anyOf':[{'properties':{'a':{'type':'integer'},'c':true}},{'required':["
     "'x']}],'unevaluatedProperties':false}",
     "{'a':'?','c':1}", NULL},
};

/* The value with `with` in each place that holds "?". */
static json_t *filled(json_t *v, json_t *with)
{
    json_t *out;

    if (json_is_string(v) && strcmp(json_string_value(v), "?") == 0)
        return json_incref(with);
    if (json_is_array(v)) {
        out = json_array();
        for (size_t i = 0; i < json_array_size(v); i++)
            json_array_append_new(out, filled(json_array_get(v, i), with));
        return out;
    }
    if (json_is_object(v)) {
        const char *name;
        json_t *one;

        out = json_object();
        json_object_foreach(v, name, one)
            json_object_set_new(out, name, filled(one, with));
        return out;
    }
    return json_incref(v);
}

/* A place that is not known is no reason for a finding, and hides none.  A finding
 * means that no value in that place fits. */
START_TEST(places_may_be_unknown)
{
    static const char *const pool[] = {
        "null", "true", "0",  "1",     "2.5",     "5",
        "'x'",  "'z'",  "[]", "[1,2]", "{'a':1}", "{'b':{},'c':[]}"};
    struct mortise_schema *s = schema_of(parts[_i].schema);
    json_t *unknown = json_string("unknown"), *v = quoted(parts[_i].value);
    json_t *partial = filled(v, unknown);
    int rv = mortise_schema_check_partly(s, partial, unknown, &err);

    ck_assert_msg((rv == MORTISE_OK) == (parts[_i].words == NULL), "%s: %s",
                  parts[_i].schema, rv == MORTISE_OK ? "fits" : err.msg);
    if (parts[_i].words != NULL)
        ck_assert_str_eq(err.msg, parts[_i].words);
    for (size_t i = 0; i < sizeof pool / sizeof pool[0]; i++) {
        json_t *with = quoted(pool[i]), *whole = filled(v, with);

        if (mortise_schema_check(s, whole, &err) == MORTISE_OK)
            ck_assert_msg(rv == MORTISE_OK, "%s: %s fits", parts[_i].schema,
                          pool[i]);
        json_decref(whole);
        json_decref(with);
    }
    json_decref(partial);
    json_decref(unknown);
    json_decref(v);
    mortise_schema_finish(s);
}
END_TEST

/* Schemas that would take as good as forever, and one that goes too deep, end
 * with an error that is not "invalid". */
START_TEST(judging_ends)
{
    json_t *deep = chain(60), *deeper = chain(3000),
           *as = parsed("\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\"");

    ck_assert_int_eq(
        check_code("{'properties':{'n':{'allOf':[{'$ref':'#'},{'$ref':'#'}]}}}",
                   deep),
        MORTISE_ELIMIT);
    ck_assert_str_eq(err.msg, "the schema needs too many steps for this value");
    ck_assert_int_eq(
        check_code("{'properties':{'n':{'anyOf':[{'$ref':'#'},{'$ref':'#'}]}},"
                   "'required':['m']}",
                   deep),
        MORTISE_ELIMIT);
    ck_assert_int_eq(check_code("{'not':{'pattern':'^(a+)+$'}}", as),
                     MORTISE_OK);
    ck_assert_int_eq(check_code("{'not':{'pattern':'^(?=a)(a+)+$'}}", as),
                     MORTISE_ELIMIT);
    ck_assert_str_eq(err.msg, "matching the pattern /^(?=a)(a+)+$/ against 43 "
                              "bytes exceeds limits.expr_cost");
    ck_assert_int_eq(check_code("{'properties':{'n':{'$ref':'#'}}}", deeper),
                     MORTISE_ELIMIT);
    ck_assert_int_eq(check_code("{'properties':{'n':{'$ref':'#'}}}", deep),
                     MORTISE_OK);
    json_decref(deep);
    json_decref(deeper);
    json_decref(as);
}
END_TEST

/* Many choices and many small branches for each of many values do not cost their
 * product: choices are searched for, and branches are counted. */
START_TEST(large_enumerations_and_branches_end)
{
    enum { N = 5000 };
    json_t *choices = json_array(), *branches = json_array(),
           *values = json_array(), *schema;
    struct mortise_schema *s;
    char where[64];

    for (int i = 0; i < N; i++) {
        json_array_append_new(choices, json_sprintf("%d", i));
        json_array_append_new(branches, json_pack("{s:{s:{s:s}}}", "properties",
                                                  "a", "type", "string"));
        json_array_append_new(values, json_sprintf("%d", N - 1 - i));
    }
    json_array_append_new(choices, json_integer(1));
    json_array_append_new(choices, json_pack("{s:i}", "a", 1));
    json_array_append_new(values, json_real(1));
    json_array_append_new(values, json_pack("{s:f}", "a", 1.0));
    schema = json_pack("{s:{s:O}}", "items", "enum", choices);
    ck_assert_int_eq(
        mortise_schema_compile(&s, &arena, schema, where, sizeof where, &err),
        MORTISE_OK);
    ck_assert_int_eq(mortise_schema_check(s, values, &err), MORTISE_OK);
    json_array_append_new(values, json_string("none"));
    ck_assert_int_eq(mortise_schema_check(s, values, &err), MORTISE_EINVAL);
    mortise_schema_finish(s);
    json_decref(schema);
    schema = json_pack("{s:{s:{s:O}}}", "items", "not", "anyOf", branches);
    ck_assert_int_eq(
        mortise_schema_compile(&s, &arena, schema, where, sizeof where, &err),
        MORTISE_OK);
    json_array_clear(values);
    for (int i = 0; i < N; i++)
        json_array_append_new(values, json_pack("{s:i}", "a", i));
    ck_assert_int_eq(mortise_schema_check(s, values, &err), MORTISE_ELIMIT);
    mortise_schema_finish(s);
    json_decref(schema);
    json_decref(choices);
    json_decref(branches);
    json_decref(values);
}
END_TEST

/* Checking and typing cope with every allocation failing. */
START_TEST(checking_survives_oom)
{
    struct mortise_schema *s = schema_of(
        "{'anyOf':[{'patternProperties':{'^n':{'type':'number'}}},false],"
        "'propertyNames':{'pattern':'^.'},'properties':{'list':{'uniqueItems':"
        "true}},'unevaluatedProperties':false,'if':{'required':['n1']},"
        "'then':{'properties':{'list':{'items':{'type':'number'}}}}}");
    json_t *v = json_object(), *list = json_array(), *n = NULL;
    char name[16];
    int k = 0, rv;

    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "n%d", i);
        json_object_set_new(v, name, json_integer(i));
        json_array_append_new(list, json_integer(i));
    }
    json_object_set_new(v, "list", list);
    ck_assert_int_eq(mortise_schema_check(s, v, &err), MORTISE_OK);
    do {
        test_mem_fail_at(k++);
        rv = mortise_schema_check(s, v, &err);
        ck_assert_int_eq(rv, test_mem_failed() ? MORTISE_ENOMEM : MORTISE_OK);
        if (k > 40)
            k += 97; /* one of each name's is enough */
    } while (test_mem_failed());
    ck_assert_int_gt(k, 100);
    k = 0;
    do {
        test_mem_fail_at(k++);
        n = mortise_schema_normalize(s, v, 0);
        ck_assert_int_eq(n == NULL, test_mem_failed());
        json_decref(n);
        if (k > 40)
            k += 97;
    } while (test_mem_failed());
    test_mem_fail_at(-1);
    n = mortise_schema_normalize(s, v, 0);
    ck_assert(json_is_real(json_object_get(n, "n7")));
    ck_assert(json_is_real(json_array_get(json_object_get(n, "list"), 7)));
    json_decref(n);
    json_decref(v);
    mortise_schema_finish(s);
}
END_TEST

static void normal_is(const char *schema, const char *value, const char *want)
{
    struct mortise_schema *s = schema_of(schema);
    json_t *v = quoted(value), *same = quoted(value), *w = quoted(want);
    json_t *n = mortise_schema_normalize(s, v, 0);

    ck_assert_msg(json_equal(n, w), "%s", written(n)); /* 1 is not 1.0 here */
    ck_assert(json_equal(v, same));
    if (strcmp(value, want) == 0)
        ck_assert_ptr_eq(n, v);
    ck_assert_int_eq(mortise_schema_check(s, n, &err),
                     mortise_schema_check(s, v, &err));
    json_decref(n);
    json_decref(w);
    json_decref(same);
    json_decref(v);
    mortise_schema_finish(s);
}

/* What a schema calls a number is a real; nothing else is touched, and what
 * does not change is not copied. */
START_TEST(normal_values_are_typed)
{
    normal_is("{'type':'number'}", "1", "1.0");
    normal_is("{'type':'integer'}", "1.0", "1");
    normal_is("{'type':['integer','number']}", "1", "1");
    normal_is("{'type':['integer','number']}", "1.0", "1.0");
    normal_is("{}", "[1,1.0]", "[1,1.0]");
    normal_is("{'enum':[1,2]}", "1.0", "1");
    normal_is("{'type':'number','enum':[1,2]}", "1", "1.0");
    normal_is("{'items':{'type':'number'}}", "[1.5,1,2]", "[1.5,1.0,2.0]");
    normal_is("{'items':{'type':'number'}}", "[1.5]", "[1.5]");
    normal_is("{'properties':{'b':{'type':'number'}},"
              "'additionalProperties':{'type':'integer'}}",
              "{'a':1.0,'b':1,'c':[1],'d':2}", "{'a':1,'b':1.0,'c':[1],'d':2}");
}
END_TEST

/* Every keyword with every kind of value: what compiles is valid under the
 * draft's metaschema, and what is refused is not, but for what a metaschema
 * cannot know. */
START_TEST(what_compiles_is_valid_under_the_metaschema)
{
    static const char *const keywords[] = {"$anchor",
                                           "$comment",
                                           "$defs",
                                           "$dynamicAnchor",
                                           "$dynamicRef",
                                           "$id",
                                           "$ref",
                                           "$schema",
                                           "$vocabulary",
                                           "additionalProperties",
                                           "allOf",
                                           "anyOf",
                                           "const",
                                           "contains",
                                           "contentEncoding",
                                           "contentMediaType",
                                           "contentSchema",
                                           "default",
                                           "definitions",
                                           "dependentRequired",
                                           "dependentSchemas",
                                           "deprecated",
                                           "description",
                                           "else",
                                           "enum",
                                           "examples",
                                           "exclusiveMaximum",
                                           "exclusiveMinimum",
                                           "format",
                                           "if",
                                           "items",
                                           "maxContains",
                                           "maxItems",
                                           "maxLength",
                                           "maxProperties",
                                           "maximum",
                                           "minContains",
                                           "minItems",
                                           "minLength",
                                           "minProperties",
                                           "minimum",
                                           "multipleOf",
                                           "not",
                                           "oneOf",
                                           "pattern",
                                           "patternProperties",
                                           "prefixItems",
                                           "properties",
                                           "propertyNames",
                                           "readOnly",
                                           "required",
                                           "then",
                                           "title",
                                           "type",
                                           "unevaluatedItems",
                                           "unevaluatedProperties",
                                           "uniqueItems",
                                           "writeOnly",
                                           "frobnicate"};
    static const char *const values[] = {"null",        "true",
                                         "0",           "-1",
                                         "1",           "1.5",
                                         "2.0",         "'a'",
                                         "'1a'",        "'a('",
                                         "'#'",         "'null'",
                                         "''",          "[]",
                                         "[1]",         "['a']",
                                         "['a','a']",   "['null']",
                                         "[{}]",        "[{},7]",
                                         "{}",          "{'a':1}",
                                         "{'a':{}}",    "{'a':{'type':'x'}}",
                                         "{'a':['b']}", "{'a':['b','b']}",
                                         "{'a':true}",  "{'(':{}}"};
    /* These are held to more: that it is a regular expression, that it leads
     * somewhere, that something may be listed. */
    static const char more[] =
        " $dynamicRef $ref $schema enum pattern patternProperties ";
    struct mortise_schema *meta =
        schema_of("{'$ref':'https://json-schema.org/draft/2020-12/schema'}");
    char text[128], word[64];

    for (size_t k = 0; k < sizeof keywords / sizeof keywords[0]; k++) {
        for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
            json_t *json;
            int by_us, by_meta;

            snprintf(text, sizeof text, "{'%s':%s}", keywords[k], values[i]);
            snprintf(word, sizeof word, " %s ", keywords[k]);
            json = quoted(text);
            by_meta = mortise_schema_check(meta, json, &err);
            by_us = compile_code(text);
            if (strstr(more, word) == NULL || by_us == MORTISE_OK)
                ck_assert_msg((by_us == MORTISE_OK) == (by_meta == MORTISE_OK),
                              "%s: %s", text, err.msg);
            json_decref(json);
        }
    }
    mortise_schema_finish(meta);
}
END_TEST

/* The branches type what is in them, whichever fits; what a checker sees of a
 * schema is what a value is then. */
START_TEST(normal_values_are_typed_through_references)
{
    normal_is("{'$ref':'#/$defs/n','$defs':{'n':{'type':'number'}}}", "1",
              "1.0");
    normal_is("{'anyOf':[{'type':'null'},{'type':'number'}]}", "1", "1.0");
    normal_is("{'anyOf':[{'type':'integer'},{'type':'number'}]}", "1", "1");
    normal_is("{'allOf':[{'type':'integer'},{'type':'number'}]}", "1.0", "1");
    normal_is("{'type':'number','const':1}", "1", "1.0");
    normal_is("{'properties':{'next':{'$ref':'#'},'n':{'type':'number'}}}",
              "{'n':1,'next':{'n':2,'next':{'n':3,'m':4}}}",
              "{'n':1.0,'next':{'n':2.0,'next':{'n':3.0,'m':4}}}");
    normal_is("{'oneOf':[{'properties':{'by':{'const':'sum'},"
              "'v':{'type':'number'}}},{'properties':{'by':{'const':'no'},"
              "'v':{'type':'integer'}}}]}",
              "{'by':'sum','v':1}", "{'by':'sum','v':1.0}");
    normal_is("{'if':{'required':['a']},'then':{'properties':{'a':{'type':"
              "'number'}}},'else':{'properties':{'b':{'type':'number'}}}}",
              "{'b':1}", "{'b':1.0}");
    normal_is("{'dependentSchemas':{'a':{'properties':{'a':{'type':'number'}}}}"
              "}",
              "{'a':1}", "{'a':1.0}");
    normal_is("{'patternProperties':{'^n':{'type':'number'}},"
              "'additionalProperties':{'type':'integer'}}",
              "{'n1':1,'m':1.0}", "{'n1':1.0,'m':1}");
    normal_is("{'prefixItems':[{'type':'number'}],'items':{'type':'integer'}}",
              "[1,1.0]", "[1.0,1]");
    normal_is("{'allOf':[{'properties':{'a':{'type':'integer'}}}],"
              "'properties':{'a':{'type':'number'}}}",
              "{'a':1}", "{'a':1.0}");
    normal_is("{'minimum':3}", "4", "4");
    normal_is("{'not':{'type':'number'}}", "1", "1");
}
END_TEST

/* What a checker may rely on: never more than certainly holds. */
START_TEST(a_checker_sees_what_holds)
{
    struct mortise_schema *s =
        schema_of("{'$ref':'#/$defs/base','unevaluatedProperties':false,"
                  "'properties':{'own':{'type':'string'}},'$defs':{'base':{"
                  "'properties':{'theirs':{'type':'number'}},"
                  "'patternProperties':{'^x-':{'type':'null'}}}}}");
    struct mortise_schema *open = schema_of(
        "{'anyOf':[{'properties':{'a':{'type':'number'}}},"
        "{'additionalProperties':false}],'unevaluatedProperties':false}");
    struct mortise_schema *list = schema_of(
        "{'allOf':[{'items':{'type':'number'}}],'type':['array','null']}");
    struct mortise_schema *pair = schema_of(
        "{'prefixItems':[{'type':'null'}],'items':{'type':'number'}}");

    ck_assert_uint_eq(
        mortise_schema_get_types(mortise_schema_get_member(s, "own")),
        MORTISE_T_STRING);
    ck_assert_uint_eq(
        mortise_schema_get_types(mortise_schema_get_member(s, "theirs")),
        MORTISE_T_NUMBER);
    ck_assert_uint_eq(
        mortise_schema_get_types(mortise_schema_get_member(s, "x-y")),
        MORTISE_T_NULL);
    ck_assert_uint_eq(
        mortise_schema_get_types(mortise_schema_get_member(s, "z")), 0);
    ck_assert_str_eq(mortise_schema_find_nearest(s, "theris"), "theirs");
    ck_assert_ptr_null(mortise_schema_get_member(open, "a"));
    ck_assert_uint_eq(mortise_schema_get_types(list),
                      MORTISE_T_ARRAY | MORTISE_T_NULL);
    ck_assert_uint_eq(mortise_schema_get_types(mortise_schema_get_items(list)),
                      MORTISE_T_NUMBER);
    ck_assert_ptr_null(mortise_schema_get_items(pair));
    mortise_schema_finish(s);
    mortise_schema_finish(open);
    mortise_schema_finish(list);
    mortise_schema_finish(pair);
}
END_TEST

/* A name more, for a checker, whose schema stays part of its own document. */
START_TEST(a_name_can_be_added)
{
    struct mortise_schema *base =
        schema_of("{'type':'object','additionalProperties':false,'properties':{"
                  "'b':{'type':'null'},'d':{'type':'boolean'}}}");
    struct mortise_schema *part = schema_of(
        "{'properties':{'n':{'$ref':'#/$defs/n'}},'$defs':{'n':{'type':"
        "'number'}}}");
    const struct mortise_schema *s, *c;

    s = mortise_schema_add_member(&arena, base, "c", part);
    s = mortise_schema_add_member(&arena, s, "a", NULL);
    s = mortise_schema_add_member(&arena, s, "e", NULL);
    c = mortise_schema_get_member(s, "c");
    ck_assert_ptr_eq(c, part);
    ck_assert_uint_eq(
        mortise_schema_get_types(mortise_schema_get_member(c, "n")),
        MORTISE_T_NUMBER);
    ck_assert_uint_eq(
        mortise_schema_get_types(mortise_schema_get_member(s, "b")),
        MORTISE_T_NULL);
    ck_assert_uint_eq(
        mortise_schema_get_types(mortise_schema_get_member(s, "d")),
        MORTISE_T_BOOL);
    ck_assert_uint_eq(
        mortise_schema_get_types(mortise_schema_get_member(s, "a")),
        MORTISE_T_ANY);
    ck_assert_uint_eq(
        mortise_schema_get_types(mortise_schema_get_member(s, "e")),
        MORTISE_T_ANY);
    ck_assert_uint_eq(
        mortise_schema_get_types(mortise_schema_get_member(s, "f")), 0);
    ck_assert_uint_eq(
        mortise_schema_get_types(mortise_schema_get_member(base, "c")), 0);
    s = mortise_schema_open_member(&arena, base, "d");
    ck_assert_uint_eq(
        mortise_schema_get_types(mortise_schema_get_member(s, "d")),
        MORTISE_T_ANY);
    ck_assert_uint_eq(
        mortise_schema_get_types(mortise_schema_get_member(s, "b")),
        MORTISE_T_NULL);
    ck_assert_uint_eq(
        mortise_schema_get_types(mortise_schema_get_member(s, "f")), 0);
    ck_assert_ptr_null(mortise_schema_add_member(&arena, NULL, "a", NULL));
    mortise_schema_finish(base);
    mortise_schema_finish(part);
}
END_TEST

struct told {
    char text[4096];
};

static void tell(void *ctx, const char *where, const char *words)
{
    struct told *t = ctx;
    size_t n = strlen(t->text);

    snprintf(t->text + n, sizeof t->text - n, "%s: %s\n", where, words);
}

static json_t *lend(void *ctx, const char *uri)
{
    (void)ctx;
    return strcmp(uri, "http://a.example/int.json") == 0
               ? quoted("{'$defs':{'i':{'type':'integer'}},'$id':'other.json'}")
               : NULL;
}

/* Issue 15, point 9: patterns are ECMA-262's; those of others, who cannot mend
 * them here, are PCRE2's where they are not, and the world hears. */
START_TEST(point_9_patterns_by_whose_they_are)
{
    static const struct {
        enum mortise_schema_patterns how;
        int pcre;            /* of a pattern that ECMA-262 does not have */
        bool told;
    } ways[] = {
        {MORTISE_PATTERNS_ECMA, MORTISE_EINVAL, false},
        {MORTISE_PATTERNS_FOREIGN, MORTISE_OK, true},
    };

    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct told told = {""};
        const struct mortise_schema_options world = {
            .foreign = tell, .ctx = &told, .patterns = ways[i].how};
        json_t *pcre = quoted("{'properties':{'a':{'pattern':'(?i)^b++$'}}}");
        json_t *line = quoted("{'patternProperties':{'^a.b$':false}}");
        json_t *wrong = quoted("{'pattern':'('}");
        json_t *v = quoted("{'a\\u2028b':1}"), *b = quoted("{'a':'BB'}");
        struct mortise_schema *s;
        char where[64];

        ck_assert_int_eq(mortise_schema_compile_with(&s, &arena, pcre, &world,
                                                     where, sizeof where, &err),
                         ways[i].pcre);
        ck_assert_str_eq(
            where, ways[i].pcre == MORTISE_OK ? "" : "/properties/a/pattern");
        ck_assert_int_eq(
            strstr(told.text, "/properties/a/pattern: not a regular expression "
                              "of ECMA-262: (?i is not supported") != NULL,
            ways[i].told);
        if (s != NULL)
            ck_assert_int_eq(mortise_schema_check(s, b, &err), MORTISE_OK);
        mortise_schema_finish(s);
        ck_assert_int_eq(mortise_schema_compile_with(&s, &arena, line, &world,
                                                     where, sizeof where, &err),
                         MORTISE_OK);
        ck_assert_int_eq(mortise_schema_check(s, v, &err), MORTISE_OK);
        mortise_schema_finish(s);
        ck_assert_int_eq(mortise_schema_compile_with(&s, &arena, wrong, &world,
                                                     where, sizeof where, &err),
                         MORTISE_EINVAL);
        json_decref(pcre);
        json_decref(line);
        json_decref(wrong);
        json_decref(v);
        json_decref(b);
    }
}
END_TEST

/* The caller's world: it hears of keywords without effect, and lends documents
 * that keep both of their names. */
START_TEST(the_world_hears_and_lends)
{
    struct told told = {""};
    const struct mortise_schema_options world = {
        .find = lend, .unknown = tell, .ctx = &told};
    json_t *json =
        quoted("{'minimun':1,'x-mine':2,'items':{'nullable':true,'anyOf':["
               "{'$ref':'http://a.example/int.json#/$defs/i'},"
               "{'$ref':'http://a.example/other.json#/$defs/i'}]}}");
    json_t *v = quoted("[1]");
    struct mortise_schema *s;
    char where[32];

    ck_assert_int_eq(mortise_schema_compile_with(&s, &arena, json, &world,
                                                 where, sizeof where, &err),
                     MORTISE_OK);
    ck_assert_str_eq(told.text,
                     "/minimun: unknown keyword 'minimun' has no effect, did "
                     "you mean 'minimum'?\n/items/nullable: 'nullable' has no "
                     "effect in draft 2020-12: use 'null' in 'type'\n");
    ck_assert_int_eq(mortise_schema_check(s, v, &err), MORTISE_OK);
    json_array_append_new(v, json_true());
    ck_assert_int_eq(mortise_schema_check(s, v, &err), MORTISE_EINVAL);
    json_decref(v);
    json_decref(json);
    mortise_schema_finish(s);
}
END_TEST

static void tell_wrong(void *ctx, const char *where, int code,
                       const char *words)
{
    ck_assert_int_eq(code, MORTISE_EINVAL);
    tell(ctx, where, words);
}

static void all_wrong(const char *text, char *at, size_t size)
{
    struct told told = {""};
    const struct mortise_schema_options world = {.wrong = tell_wrong,
                                                 .ctx = &told};
    json_t *json = quoted(text);
    struct mortise_schema *s;

    ck_assert_int_eq(
        mortise_schema_compile_with(&s, &arena, json, &world, at, size, &err),
        MORTISE_EINVAL);
    ck_assert_ptr_null(s);
    json_decref(json);
    snprintf(at, size, "%s", told.text);
}

/* "All findings come at once" (a): whoever asks hears of every mistake, in its
 * place and once, also below one that is broken itself and behind it. */
START_TEST(every_mistake_is_told)
{
    char at[2048];

    all_wrong("{'required':'a','properties':{'a':{'pattern':'(?i)x','type':"
              "['strng','string'],'minimum':'3'},'b':3,'c':{'$id':1,'minimum':"
              "'x'},'d':{'$ref':'#/properties/b'},'e':{'$ref':'#/$defs/x'}}}",
              at, sizeof at);
    ck_assert_str_eq(
        at, "/required: 'required' must be a list of "
            "names\n/properties/a/pattern: not a regular expression of "
            "ECMA-262: (?i is not supported: write both cases: [aA] (at "
            "character 1)\n/properties/a/type/0: unknown type 'strng', did you "
            "mean 'string'?\n/properties/a/minimum: 'minimum' must be a "
            "number\n/properties/b: a schema must be an object, true or "
            "false\n/properties/c/$id: expected a string\n/properties/e/$ref: "
            "the reference has no target: there is no '$defs'\n");
    all_wrong("3", at, sizeof at);
    ck_assert_str_eq(at, ": a schema must be an object, true or false\n");
    all_wrong("{'$ref':'#'}", at, sizeof at);
    ck_assert_str_eq(
        at, "/$ref: this schema refers to itself for the same value\n");
}
END_TEST

/* ... and of so many that nobody reads on. */
START_TEST(mistakes_are_told_up_to_a_bound)
{
    char text[2048] = "{'anyOf':[", at[4096];
    size_t n = 0;

    for (int i = 0; i < 2 * MORTISE_SCHEMA_ERRORS_MAX; i++)
        strcat(text, "{'type':3},");
    strcat(text, "true]}");
    all_wrong(text, at, sizeof at);
    for (const char *line = at; (line = strchr(line, '\n')) != NULL; line++)
        n++;
    ck_assert_uint_eq(n, MORTISE_SCHEMA_ERRORS_MAX);
}
END_TEST

/* Branches that both fit, at every level, are not both followed. */
START_TEST(normalising_ends)
{
    struct mortise_schema *s =
        schema_of("{'properties':{'n':{'anyOf':[{'$ref':'#'},{'$ref':'#'},"
                  "{'type':'number'}]}}}");
    json_t *v = chain(60), *n;

    ck_assert_int_eq(mortise_schema_check(s, v, &err), MORTISE_OK);
    n = mortise_schema_normalize(s, v, 0);
    ck_assert_ptr_nonnull(n);
    json_decref(n);
    json_decref(v);
    mortise_schema_finish(s);
}
END_TEST

START_TEST(normal_survives_oom)
{
    struct mortise_schema *s =
        schema_of("{'properties':{'a':{'items':{'type':'number'}},"
                  "'b':{'type':'number'}}}");
    json_t *v = quoted("{'a':[1,2],'b':1}"), *n;
    int k = 0;

    do {
        test_mem_fail_at(k++);
        n = mortise_schema_normalize(s, v, 0);
        ck_assert_int_eq(n == NULL, test_mem_failed());
        json_decref(n);
    } while (test_mem_failed());
    test_mem_fail_at(-1);
    ck_assert_int_gt(k, 3);
    json_decref(v);
    mortise_schema_finish(s);
}
END_TEST

START_TEST(a_checker_can_ask)
{
    struct mortise_schema *s =
        schema_of("{'type':'object','properties':{'label':{'enum':['a',null]}"
                  ","
                  "'amount':{'type':'number'},'list':{'items':{'type':"
                  "'string'}}},'additionalProperties':false}");
    const struct mortise_schema *label = mortise_schema_get_member(s, "label"),
                                *list = mortise_schema_get_member(s, "list");

    ck_assert_uint_eq(mortise_schema_get_types(s), MORTISE_T_OBJECT);
    ck_assert_uint_eq(mortise_schema_get_types(label),
                      MORTISE_T_STRING | MORTISE_T_NULL);
    ck_assert_uint_eq(
        mortise_schema_get_types(mortise_schema_get_member(s, "amount")),
        MORTISE_T_NUMBER);
    ck_assert_uint_eq(mortise_schema_get_types(list), MORTISE_T_ANY);
    ck_assert_uint_eq(mortise_schema_get_types(mortise_schema_get_items(list)),
                      MORTISE_T_STRING);
    ck_assert_ptr_null(mortise_schema_get_member(list, "x"));
    ck_assert_ptr_null(mortise_schema_get_items(s));
    ck_assert_str_eq(mortise_schema_find_nearest(s, "amuont"), "amount");
    ck_assert_ptr_null(mortise_schema_find_nearest(s, "zzz"));
    ck_assert(json_is_object(mortise_schema_json(s)));
    mortise_schema_finish(s);
    mortise_schema_finish(NULL);
}
END_TEST

static struct mortise_schema_member_info seen(const struct mortise_schema *s,
                                              const char *name)
{
    struct mortise_schema_member_info out;

    mortise_schema_find_member(s, name, &out);
    return out;
}

/* What any branch lists is listed; never is what no value has. */
START_TEST(names_are_looked_for)
{
    struct mortise_schema *s = schema_of(
        "{'properties':{'label':{'type':'string'}},'patternProperties':"
        "{'^n_':{'type':'integer'}},'allOf':[{'$ref':'#/$defs/base'}],"
        "'anyOf':[{'properties':{'left':{}}},{'properties':{'right':{}}}],"
        "'if':{},'then':{'properties':{'then':{}}},"
        "'$defs':{'base':{'properties':{'theirs':{'type':'number'}}}}}");
    struct mortise_schema *closed =
        schema_of("{'properties':{'label':{}},'additionalProperties':false}");
    struct mortise_schema *open = schema_of(
        "{'properties':{'label':{}},'additionalProperties':{'type':'null'}}");
    struct mortise_schema *again = schema_of(
        "{'properties':{'a':{}},'anyOf':[{'$ref':'#/$defs/x'},{'$ref':"
        "'#/$defs/x'}],'$defs':{'x':{'oneOf':[{'$ref':'#/$defs/y'},{'$ref':"
        "'#/$defs/y'}]},'y':{'properties':{'deep':{}}}}}");
    static const char *const listed[] = {"label", "n_x",    "left",
                                         "right", "theirs", "then"};

    for (size_t i = 0; i < sizeof listed / sizeof listed[0]; i++)
        ck_assert(seen(s, listed[i]).listed);
    ck_assert_uint_eq(seen(s, "label").n, 1);
    ck_assert(seen(s, "lable").slip && seen(s, "lable").others);
    ck_assert_str_eq(seen(s, "theris").near, "theirs");
    ck_assert(!seen(s, "zzz").slip && !seen(s, "zzz").never);
    ck_assert(seen(closed, "lable").never && !seen(closed, "label").never);
    ck_assert(seen(open, "other").open && !seen(open, "other").others);
    ck_assert(seen(open, "lable").slip && seen(open, "lable").n == 1);
    ck_assert(seen(again, "deep").listed && seen(again, "dep").slip);
    mortise_schema_finish(s);
    mortise_schema_finish(closed);
    mortise_schema_finish(open);
    mortise_schema_finish(again);
}
END_TEST

/* Compiling copes with every allocation failing, and then keeps nothing. */
START_TEST(schema_compile_survives_oom)
{
    json_t *json = quoted(
        "{'$id':'a:b','properties':{'a':{'items':{'enum':[1]}}},'required':"
        "['a','b'],'patternProperties':{'^x':{'pattern':'\\\\s'}},'oneOf':[{"
        "'$ref':'#/$defs/c'},{'$dynamicRef':'#d'}],'minLength':1,'$defs':{'c':{"
        "'$id':'c','$anchor':'k'},'d':{'$dynamicAnchor':'d'},'e':{'$ref':"
        "'https://json-schema.org/draft/2020-12/meta/unevaluated'}}}");
    struct mortise_schema *s;
    char where[32];
    int n = 0, rv;

    do {
        struct mortise_arena a;

        test_mem_fail_at(n++);
        mortise_arena_init(&a, &test_mem);
        rv = mortise_schema_compile(&s, &a, json, where, sizeof where, &err);
        ck_assert_int_eq(rv, test_mem_failed() ? MORTISE_ENOMEM : MORTISE_OK);
        ck_assert_int_eq(s == NULL, test_mem_failed());
        mortise_schema_finish(s);
        mortise_arena_finish(&a);
    } while (test_mem_failed());
    ck_assert_int_gt(n, 1);
    json_decref(json);
}
END_TEST

static TCase *compiling(void)
{
    TCase *tc = tcase_create("compile");

    tcase_add_checked_fixture(tc, begin, finish);
    tcase_add_test(tc, broken_schemas_say_where);
    tcase_add_test(tc, references_lead_somewhere);
    tcase_add_test(tc, references_in_circles_are_refused);
    tcase_add_test(tc, chains_have_an_end);
    tcase_add_test(tc, names_are_counted);
    tcase_add_test(tc, dialects_are_known_or_refused);
    tcase_add_test(tc, schemas_are_not_nested_without_end);
    tcase_add_test(tc, what_compiles_is_valid_under_the_metaschema);
    tcase_add_test(tc, the_world_hears_and_lends);
    tcase_add_test(tc, every_mistake_is_told);
    tcase_add_test(tc, mistakes_are_told_up_to_a_bound);
    tcase_add_test(tc, point_9_patterns_by_whose_they_are);
    tcase_add_test(tc, schema_compile_survives_oom);
    return tc;
}

static TCase *judging(void)
{
    TCase *tc = tcase_create("check");

    tcase_add_checked_fixture(tc, begin, finish);
    tcase_add_test(tc, types_are_checked);
    tcase_add_test(tc, findings_say_where);
    tcase_add_test(tc, additional_members_have_their_schema);
    tcase_add_test(tc, rules_say_what_they_want);
    tcase_add_test(tc, findings_say_which_rule);
    tcase_add_test(tc, the_branch_that_was_meant_is_reported);
    tcase_add_test(tc, numbers_are_exact);
    tcase_add_test(tc, many_items_are_unique_quickly);
    tcase_add_test(tc, marks_grow);
    tcase_add_loop_test(tc, places_may_be_unknown, 0,
                        (int)(sizeof parts / sizeof parts[0]));
    tcase_set_timeout(tc, 120); /* judging_ends has millions of steps */
    tcase_add_test(tc, judging_ends);
    tcase_add_test(tc, large_enumerations_and_branches_end);
    tcase_add_test(tc, checking_survives_oom);
    return tc;
}

static TCase *typing(void)
{
    TCase *tc = tcase_create("normal");

    tcase_add_checked_fixture(tc, begin, finish);
    tcase_add_test(tc, normal_values_are_typed);
    tcase_add_test(tc, normal_values_are_typed_through_references);
    tcase_add_test(tc, normalising_ends);
    tcase_add_test(tc, normal_survives_oom);
    tcase_add_test(tc, a_checker_sees_what_holds);
    tcase_add_test(tc, a_name_can_be_added);
    tcase_add_test(tc, a_checker_can_ask);
    tcase_add_test(tc, names_are_looked_for);
    return tc;
}

static Suite *suite(void)
{
    Suite *s = suite_create("schema");

    suite_add_tcase(s, compiling());
    suite_add_tcase(s, judging());
    suite_add_tcase(s, typing());
    return s;
}

int main(void)
{
    return test_run(suite());
}
