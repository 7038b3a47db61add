/* test_parameters.c -- schemas of tools, as model servers take them. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/schema/parameters.h"
#include "core/json/value.h"
#include "lib/json.h"
#include "lib/test.h"

static void begin(void)
{
    test_begin();
    test_count_json();
}

/* JSON in which ' stands for ". */
static json_t *value(const char *text)
{
    char *copy = strdup(text);
    json_t *v;

    ck_assert_ptr_nonnull(copy);
    for (char *p = copy; *p != '\0'; p++)
        if (*p == '\'')
            *p = '"';
    v = json_loads(copy, JSON_DECODE_ANY, NULL);
    ck_assert_msg(v != NULL, "%s", copy);
    free(copy);
    return v;
}

#define OBJECT "'type':'object','properties':"

static const struct {
    const char *schema, *want;
} cases[] = {
    {"{" OBJECT "{'a':true},'required':['a'],'x':1}",
     "{" OBJECT "{'a':true},'required':['a'],'x':1}"},
    {"true", "{" OBJECT "{}}"},
    {"{}", "{" OBJECT "{}}"},
    {"{'type':'object','additionalProperties':false}",
     "{" OBJECT "{},'additionalProperties':false}"},
    {"{'type':['object','null'],'description':'d'}",
     "{" OBJECT "{},'description':'d'}"},
    {"{'enum':[1],'not':{},'if':{},'then':{},'else':{},'const':1}",
     "{" OBJECT "{}}"},
    /* All hold. */
    {"{" OBJECT "{'a':{'type':'string'}},'allOf':[{'properties':{'b':{}},"
     "'required':['b']},{'properties':{'a':{'minLength':1}},'required':['a']}]"
     "}",
     "{" OBJECT "{'a':{'allOf':[{'type':'string'},{'minLength':1}]},'b':{}},"
     "'required':['b','a']}"},
    /* One holds: what all of them require is required. */
    {"{'oneOf':[{" OBJECT
     "{'k':{'const':1},'b':{}},'required':['k','b']},{" OBJECT
     "{'k':{'const':2},'c':{}},'required':['k']},{" OBJECT
     "{'k':{'const':3}},'required':['k']}]}",
     "{" OBJECT "{'k':{'anyOf':[{'const':1},{'const':2},{'const':3}]},'b':{},"
     "'c':{}},'required':['k']}"},
    {"{'type':'object','anyOf':[{'required':['a']},{'required':['b']}],"
     "'properties':{'a':{},'b':{}}}",
     "{" OBJECT "{'a':{},'b':{}}}"},
    /* References, also in a circle; those to elsewhere say nothing. */
    {"{'$ref':'#/$defs/x','$defs':{'x':{" OBJECT
     "{'a':{'$ref':'#/$defs/x'}}}}}",
     "{" OBJECT "{'a':{'$ref':'#/$defs/x'}},'$defs':{'x':{" OBJECT
     "{'a':{'$ref':'#/$defs/x'}}}}}"},
    {"{'anyOf':[{'$ref':'#/$defs/x'}],'$defs':{'x':{'required':['a']}}}",
     "{" OBJECT "{},'$defs':{'x':{'required':['a']}},'required':['a']}"},
    {"{'$ref':'#'}", "{" OBJECT "{}}"},
    {"{'allOf':[{'$ref':'#'},{'$ref':'https://x'},{'$ref':'#/no/way'}]}",
     "{" OBJECT "{}}"},
    /* What is no schema. */
    {"{'properties':1,'required':[1],'anyOf':{},'allOf':[1]}",
     "{" OBJECT "{}}"},
};

/* It is an object, and has all properties that any part names. */
START_TEST(an_object_of_all)
{
    json_t *schema = value(cases[_i].schema), *want = value(cases[_i].want);
    json_t *have = mortise_json_make_parameters(schema);

    if (!json_equal(have, want))
        json_dumpf(have, stderr, 0);
    ck_assert_msg(json_equal(have, want), "%s", cases[_i].schema);
    json_decref(have);
    json_decref(want);
    json_decref(schema);
}
END_TEST

/* Parts of parts of parts: all is over soon. */
START_TEST(deep_schemas_end)
{
    json_t *schema = value("{'anyOf':[{'$ref':'#'},{'$ref':'#'},{'oneOf':["
                           "{'$ref':'#'},{'$ref':'#'}]}]}");
    json_t *have = mortise_json_make_parameters(schema);

    ck_assert_ptr_nonnull(have);
    json_decref(have);
    json_decref(schema);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("parameters");
    TCase *tc = tcase_create("schemas");

    tcase_add_checked_fixture(tc, begin, test_nothing_left);
    tcase_add_loop_test(tc, an_object_of_all, 0,
                        sizeof cases / sizeof cases[0]);
    tcase_add_test(tc, deep_schemas_end);
    suite_add_tcase(s, tc);
    return test_run(s);
}
