/* test_mcp_params.c -- what of an MCP message stands in headers as well. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../plugins/executor/mcp/http_params.h"
#include "lib/test.h"

static const struct {
    const char *value, *header;
} values[] = {
    {"us-west1", "us-west1"},
    {"", ""},
    {"a b\tc", "a b\tc"},
    {" padded ", "=?base64?IHBhZGRlZCA=?="},
    {"x\t", "=?base64?eAk=?="},
    {"Hello, \xe4\xb8\x96\xe7\x95\x8c", "=?base64?SGVsbG8sIOS4lueVjA==?="},
    {"line1\nline2", "=?base64?bGluZTEKbGluZTI=?="},
    {"a\r\nX-Evil: 1", "=?base64?YQ0KWC1FdmlsOiAx?="},
    {"\x7f", "=?base64?fw==?="},
    {"=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="},
    {"=?base64?", "=?base64?"},
    {"=?base64?=", "=?base64?="}, /* its ends would overlap */
    {"=?base64?"
     "?=",
     "=?base64?PT9iYXNlNjQ/Pz0=?="},
    {"=?BASE64?x?=", "=?BASE64?x?="},
};

/* A value goes through a header as it is, or coded, and never as another. */
START_TEST(header_values)
{
    struct bytes out = {0};

    ck_assert_int_eq(http_header_value(mortise_strz(values[_i].value), &out),
                     MORTISE_S_OK);
    ck_assert_uint_eq(out.n, strlen(values[_i].header));
    if (out.n > 0)
        ck_assert_mem_eq(out.p, values[_i].header, out.n);
    bytes_free(&out);
}
END_TEST

#define P(name, more)      "\"" name "\":{" more "}"
#define OBJECT(props)      "{\"type\":\"object\",\"properties\":{" props "}}"
#define MARKED(type, name) "\"type\":\"" type "\",\"x-mcp-header\":\"" name "\""

static const struct {
    const char *schema;
    const char *wrong; /* a part of what is; NULL: nothing */
} schemas[] = {
    {OBJECT(P("a", MARKED("string", "Region"))), NULL},
    {OBJECT(P("a", MARKED("integer", "A")) "," P("b", MARKED("boolean", "b"))),
     NULL},
    {OBJECT(P("o", "\"properties\":{" P("a", MARKED("string", "A")) "}")),
     NULL},
    /* properties of that name, and values, are no marks */
    {OBJECT(P("x-mcp-header", "\"type\":\"string\"")), NULL},
    {OBJECT(P("a", "\"default\":{\"x-mcp-header\":7}")), NULL},
    {OBJECT(P("a", "\"enum\":[{\"x-mcp-header\":7}]")), NULL},
    {OBJECT(P("a", "\"examples\":[{\"x-mcp-header\":7}],\"const\":{"
                   "\"x-mcp-header\":1}")),
     NULL},
    {"{}", NULL},
    {"true", NULL},
    {OBJECT(P("a", MARKED("string", ""))), "not a valid header name"},
    {OBJECT(P("a", MARKED("string", "a b"))), "not a valid header name"},
    {OBJECT(P("a", MARKED("string", "a:"))), "not a valid header name"},
    {OBJECT(P("a", MARKED("string", "a\\r\\nb"))), "not a valid header name"},
    {OBJECT(P("a", MARKED("string", "\xc3\xa4"))), "not a valid header name"},
    {OBJECT(P("a", "\"type\":\"string\",\"x-mcp-header\":7")),
     "not a valid header name"},
    {OBJECT(P("a", MARKED("string", "X")) "," P("b", MARKED("string", "x"))),
     "twice"},
    {OBJECT(P("a", MARKED("number", "A"))), "not at a string"},
    {OBJECT(P("a", MARKED("object", "A"))), "not at a string"},
    {OBJECT(P("a", "\"x-mcp-header\":\"A\"")), "not at a string"},
    {OBJECT(P("a", "\"type\":[\"string\",\"null\"],\"x-mcp-header\":\"A\"")),
     "not at a string"},
    {"{\"type\":\"string\",\"x-mcp-header\":\"A\"}", "not at a property"},
    {OBJECT(P("a", "\"items\":{" MARKED("string", "A") "}")),
     "not at a property"},
    {OBJECT(P("a", "\"items\":{\"properties\":{" P(
                       "b", MARKED("string", "A")) "}}")),
     "not at a property"},
    {"{\"oneOf\":[" OBJECT(P("a", MARKED("string", "A"))) "]}",
     "not at a property"},
    {"{\"if\":" OBJECT(P("a", MARKED("string", "A"))) "}", "not at a property"},
    {"{\"$defs\":{" P("a", MARKED("string", "A")) "}}", "not at a property"},
    {"{\"patternProperties\":{" P("a", MARKED("string", "A")) "}}",
     "not at a property"},
    {OBJECT(P("a", "\"x-of-ours\":{\"x-mcp-header\":\"A\"}")),
     "not at a property"},
};

/* A mark stands where it may, or the tool is not called. */
START_TEST(marks)
{
    const char *wrong =
        http_params_refuse(mortise_jv_of(mortise_strz(schemas[_i].schema)));

    ck_assert_int_eq(wrong != NULL, schemas[_i].wrong != NULL);
    if (wrong != NULL)
        ck_assert_msg(strstr(wrong, schemas[_i].wrong) != NULL, "%s", wrong);
}
END_TEST

/* 64 are not too many; one more is. */
START_TEST(many)
{
    char *text = malloc(65 * 64 + 64);
    size_t n;

    ck_assert_ptr_nonnull(text);
    for (int count = 64; count <= 65; count++) {
        n = (size_t)sprintf(text, "{\"properties\":{");
        for (int i = 0; i < count; i++)
            n += (size_t)sprintf(
                text + n,
                "%s\"p%d\":{\"type\":\"string\",\"x-mcp-header\":\"h%d\"}",
                i > 0 ? "," : "", i, i);
        sprintf(text + n, "}}");
        ck_assert_int_eq(
            http_params_refuse(mortise_jv_of(mortise_strz(text))) != NULL,
            count > 64);
    }
    free(text);
}
END_TEST

static char seen[1024];

static mortise_status put(void *ud, mortise_str name, mortise_str value)
{
    ck_assert_ptr_eq(ud, seen);
    snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "%.*s=%.*s\n",
             (int)name.n, name.p, (int)value.n, value.n > 0 ? value.p : "");
    return MORTISE_S_OK;
}

static mortise_status refuse(void *ud, mortise_str name, mortise_str value)
{
    (void)ud;
    (void)name;
    (void)value;
    return MORTISE_S_NOMEM;
}

#define CALLED                                                                 \
    OBJECT(P("s", MARKED("string", "S")) "," P(                                \
        "n", MARKED("integer",                                                 \
                    "N")) "," P("b",                                           \
                                MARKED("boolean",                              \
                                       "B")) "," P("o",                        \
                                                   "\"properties\":{" P(       \
                                                       "t", MARKED("string",   \
                                                                   "T")) "}"))

static const struct {
    const char *arguments, *headers;
} calls[] = {
    {"{\"s\":\"x\",\"n\":42,\"b\":true,\"o\":{\"t\":\"y\"}}",
     "S=x\nN=42\nB=true\nT=y\n"},
    {"{\"n\":-7,\"b\":false}", "N=-7\nB=false\n"},
    {"{\"n\":4.2e1}", "N=42\n"},
    {"{\"s\":\"\"}", "S=\n"},
    {"{\"s\":null,\"o\":null}", ""},
    {"{\"s\":{},\"n\":[1],\"o\":7}", ""},
    {"{\"s\":\"a\\nb\"}", "S==?base64?YQpi?=\n"},
    {"{\"\\u0073\":\"x\"}", "S=x\n"},
    {"{}", ""},
    {"7", ""},
};

/* What a call says stands in its headers, by the property's exact path. */
START_TEST(of_calls)
{
    mortise_jv schema = mortise_jv_of(mortise_strz(CALLED));
    mortise_jv arguments = mortise_jv_of(mortise_strz(calls[_i].arguments));

    seen[0] = '\0';
    ck_assert_int_eq(http_params_each(schema, arguments, put, seen),
                     MORTISE_S_OK);
    ck_assert_str_eq(seen, calls[_i].headers);
    ck_assert_int_eq(http_params_each(mortise_jv_none(), arguments, put, seen),
                     MORTISE_S_OK);
    if (calls[_i].headers[0] != '\0')
        ck_assert_int_eq(http_params_each(schema, arguments, refuse, NULL),
                         MORTISE_S_NOMEM);
}
END_TEST

#define COUNT(list) ((int)(sizeof(list) / sizeof(list)[0]))

static Suite *suite(void)
{
    Suite *suite = suite_create("mcp_params");
    TCase *tc = tcase_create("params");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_add_loop_test(tc, header_values, 0, COUNT(values));
    tcase_add_loop_test(tc, marks, 0, COUNT(schemas));
    tcase_add_test(tc, many);
    tcase_add_loop_test(tc, of_calls, 0, COUNT(calls));
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
