/* test_found.c -- what discovery plugins said: is it an answer, and what several
 * of them come to. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine/common/found.h"
#include "lib/test.h"

static json_t *parse(const char *text)
{
    json_t *v = json_loads(text, 0, NULL);

    ck_assert_msg(v != NULL, "%s", text);
    return v;
}

/* A request of this kind for two tools, a node and an extension. */
static json_t *request(const char *kind, int max, int tokens)
{
    return json_pack(
        "{s:s, s:s, s:i, s:i, s:[{s:s, s:s}, {s:s, s:s}, {s:s, s:s}, {s:s, "
        "s:s}]}",
        "query", "q", "kind", kind, "max", max, "tokens", tokens, "candidates",
        "id", "a/b", "kind", "tool", "id", "a/c", "kind", "tool", "id", "n",
        "kind", "node", "id", "a/b", "kind", "extension");
}

/* Why that is no answer; "": it is one. */
static const char *judged(const char *kind, const char *output)
{
    static struct mortise_err why;
    json_t *r = request(kind, 3, 10), *v = parse(output), *list;

    why.msg[0] = '\0';
    mortise_found_check(&list, r, v, &why);
    ck_assert(list != NULL || why.msg[0] != '\0');
    json_decref(list);
    json_decref(v);
    json_decref(r);
    return why.msg;
}

#define ONE(members) "{\"results\": [{" members "}]}"
#define A_B          "\"id\": \"a/b\", \"kind\": \"tool\", \"score\": 1"

static const struct {
    const char *kind, *output, *why;
} odd[] = {
    {"any", "{}", "the answer of a discovery plugin must be"},
    {"any", "{\"results\": {}}", "the answer of a discovery plugin must be"},
    {"any", ONE("\"kind\": \"tool\", \"score\": 1"),
     "the id of a result must have"},
    {"any", ONE("\"id\": \"\", \"kind\": \"skill\", \"score\": 1"),
     "the id of a result must have"},
    {"any", ONE("\"id\": \"a/b\", \"score\": 1"), "is not the requested kind"},
    {"any", ONE("\"id\": \"a/b\", \"kind\": \"any\", \"score\": 1"),
     "is not the requested kind"},
    {"node", ONE(A_B), "is not the requested kind (node)"},
    {"any", ONE("\"id\": \"a/b\", \"kind\": \"tool\""), "has no numeric score"},
    {"any", ONE("\"id\": \"a/b\", \"kind\": \"tool\", \"score\": \"1\""),
     "has no numeric score"},
    {"any", ONE("\"id\": \"n\", \"kind\": \"tool\", \"score\": 1"),
     "the result 'n' is not a tool among the candidates"},
    {"any", ONE("\"id\": \"x\", \"kind\": \"node\", \"score\": 1"),
     "the result 'x' is not a node among the candidates"},
    {"any", "{\"results\": [{" A_B "}, {" A_B "}]}", "occurs twice"},
    {"any", ONE(A_B ", \"text\": \"t\""), "both 'text' and 'tier'"},
    {"any", ONE(A_B ", \"tier\": \"full\""), "both 'text' and 'tier'"},
    {"any", ONE(A_B ", \"text\": \"t\", \"tier\": \"all\""),
     "both 'text' and 'tier'"},
    {"any", ONE(A_B ", \"text\": 1, \"tier\": \"full\""),
     "both 'text' and 'tier'"},
    {"any", "{\"results\": [1, 2, 3, 4]}",
     "4 results were returned, but at most 3 were requested"},
};

/* One that breaks a rule is none, and why is said. */
START_TEST(what_is_no_answer)
{
    const char *why = judged(odd[_i].kind, odd[_i].output);

    ck_assert_msg(strstr(why, odd[_i].why) != NULL, "%s: %s", odd[_i].output,
                  why);
}
END_TEST

/* Candidates, each once for each of its kinds, and skills, whatever they are
 * called; members that nobody knows are left out. */
START_TEST(what_is_an_answer)
{
    json_t *r = request("any", 4, 10), *list, *v, *want;
    struct mortise_err why;

    ck_assert_str_eq(judged("any", "{\"results\": []}"), "");
    ck_assert_str_eq(judged("node", ONE("\"id\": \"n\", \"kind\": \"node\", "
                                        "\"score\": -1.5")),
                     "");
    v = parse("{\"results\": [{" A_B ", \"odd\": 1}, {\"id\": \"a/b\", "
              "\"kind\": \"extension\", \"score\": 1}, {\"id\": \"new\", "
              "\"kind\": \"skill\", \"score\": 0, \"text\": \"t\", \"tier\": "
              "\"name\"}], \"more\": 1}");
    ck_assert_int_eq(mortise_found_check(&list, r, v, &why), MORTISE_OK);
    want = parse("[{" A_B "}, {\"id\": \"a/b\", \"kind\": \"extension\", "
                 "\"score\": 1}, {\"id\": \"new\", \"kind\": \"skill\", "
                 "\"score\": 0, \"text\": \"t\", \"tier\": \"name\"}]");
    ck_assert(json_equal(list, want));
    json_decref(want);
    json_decref(list);
    json_decref(v);
    json_decref(r);
}
END_TEST

/* The ids of lists of skills that were fused, and how many have a text. */
static void fuses(int max, int tokens, const char *const texts[], size_t n,
                  const char *want, size_t want_texts)
{
    json_t *r = request("any", max, tokens), *lists[4], *out, *one;
    char ids[64] = "";
    size_t i, has = 0;

    for (i = 0; i < n; i++)
        lists[i] = texts[i] != NULL ? parse(texts[i]) : NULL;
    out = mortise_found_merge(r, lists, n);
    json_array_foreach(out, i, one)
    {
        strcat(ids, json_string_value(json_object_get(one, "id")));
        has += json_object_get(one, "text") != NULL;
    }
    ck_assert_str_eq(ids, want);
    ck_assert_uint_eq(has, want_texts);
    for (i = 0; i < n; i++)
        json_decref(lists[i]);
    json_decref(out);
    json_decref(r);
}

#define S(id) "{\"id\": \"" id "\", \"kind\": \"skill\", \"score\": 1}"
#define T(id, text)                                                            \
    "{\"id\": \"" id "\", \"kind\": \"skill\", \"score\": 1, \"text\": "       \
    "\"" text "\", \"tier\": \"name\"}"

/* The more plugins and the better the places; equals as the plugins stand. */
START_TEST(places_count)
{
    static const char *const one[] = {"[" S("x") ", " S("y") "]"};
    static const char *const two[] = {"[" S("x") ", " S("y") "]",
                                      "[" S("y") ", " S("z") "]"};
    static const char *const even[] = {"[" S("x") "]", "[" S("y") "]"};
    static const char *const gone[] = {NULL, "[" S("y") ", " S("z") "]"};
    static const char *const none[] = {NULL};

    fuses(9, 10, one, 1, "xy", 0);
    fuses(1, 10, one, 1, "x", 0);
    fuses(9, 10, two, 2, "yxz", 0);
    fuses(2, 10, two, 2, "yx", 0);
    fuses(9, 10, even, 2, "xy", 0);
    fuses(9, 10, gone, 2, "yz", 0);
    fuses(9, 10, none, 1, "", 0);
}
END_TEST

/* In the list's order, a token for each four bytes or part of that; and the first
 * plugin's that gave one. */
START_TEST(texts_have_a_budget)
{
    static const char *const texts[] = {
        "[" T("x", "12345") ", " T("y", "1234") ", " T("z", "1") "]"};
    static const char *const two[] = {"[" S("x") "]", "[" T("x", "12345") "]"};

    fuses(9, 4, texts, 1, "xyz", 3);
    fuses(9, 3, texts, 1, "xyz", 2);
    fuses(9, 2, texts, 1, "xyz", 1);
    fuses(9, 1, texts, 1, "xyz", 0);
    fuses(9, 2, two, 2, "x", 1);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("found");
    TCase *tc = tcase_create("found");

    tcase_add_loop_test(tc, what_is_no_answer, 0, sizeof odd / sizeof odd[0]);
    tcase_add_test(tc, what_is_an_answer);
    tcase_add_test(tc, places_count);
    tcase_add_test(tc, texts_have_a_budget);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
