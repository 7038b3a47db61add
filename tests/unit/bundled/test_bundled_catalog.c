/* test_bundled_catalog.c -- the catalog, from any host's point of view: what is
 * found and in which order, how much is shown of it, and which skills are read. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include <mortise/discovery.h>

#include "lib/barehost.h"
#include "lib/test.h"

static struct mortise_host host;
static const mortise_plugin *plugin;
static mortise_inst *inst;
static char dir[4096];

static void use(const char *config)
{
    if (inst != NULL)
        bare_destroy(plugin, inst);
    inst = bare_create(&host, plugin, config);
    ck_assert_msg(inst != NULL, "%s", host.msg);
}

static void setup(void)
{
    bare_init(&host);
    plugin = bare_plugin("catalog");
    inst = NULL;
    strcpy(dir, test_mkdir());
    use("{}");
}

static void teardown(void)
{
    if (inst != NULL)
        bare_destroy(plugin, inst);
    inst = NULL;
    bare_finish(&host);
    test_rmdir(dir);
}

static const char some[] =
    "["
    "{\"id\":\"shop/refund\",\"kind\":\"tool\",\"name\":\"shop__refund\","
    "\"description\":\"Pay money back to a customer\",\"input_schema\":"
    "{\"type\":\"object\",\"properties\":{\"order\":{\"type\":\"string\","
    "\"description\":\"number of the purchase\"}}}},"
    "{\"id\":\"files/readFile\",\"kind\":\"tool\",\"name\":\"files__readFile\","
    "\"description\":\"Gives the text of a document\"},"
    "{\"id\":\"mail/send\",\"kind\":\"extension\",\"name\":\"mail__send\","
    "\"description\":\"Sends letters to customers\"},"
    "{\"id\":\"billing\",\"kind\":\"node\",\"name\":\"billing\","
    "\"description\":\"Answers questions about invoices and refunds\"}]";

/* What is found, of these candidates; new. */
static json_t *find_in(const char *candidates, const char *query,
                       const char *kind, int max, int tokens)
{
    const mortise_discovery *d =
        plugin->get_interface(inst, MORTISE_DISCOVERY_1);
    json_t *all = json_loads(candidates, 0, NULL);
    json_t *body =
        json_pack("{s:s, s:s, s:i, s:i, s:o}", "query", query, "kind", kind,
                  "max", max, "tokens", tokens, "candidates", all);
    char *text = json_dumps(body, JSON_COMPACT);
    mortise_request r = {
        .size = sizeof r, .call = 1, .body = mortise_strz(text)};
    json_t *out;

    ck_assert_ptr_nonnull(all);
    bare_clear(&host);
    ck_assert_int_eq(d->discover(inst, &r), MORTISE_S_OK);
    out = json_loads(host.out, 0, NULL);
    ck_assert_msg(out != NULL, "%s", host.out);
    json_decref(body);
    free(text);
    return out;
}

/* Their ids, one behind the other. */
static void finds(const char *query, const char *kind, const char *want)
{
    json_t *out = find_in(some, query, kind, 8, 4000), *one;
    char ids[1024] = "";
    size_t i;

    json_array_foreach(json_object_get(out, "results"), i, one)
    {
        strcat(ids, i > 0 ? " " : "");
        strcat(ids, json_string_value(json_object_get(one, "id")));
    }
    ck_assert_str_eq(ids, want);
    json_decref(out);
}

static const char *text_at(const json_t *out, size_t i, const char *what)
{
    const char *text = json_string_value(json_object_get(
        json_array_get(json_object_get(out, "results"), i), what));

    return text != NULL ? text : "";
}

/* ---- searching ----------------------------------------------------------- */

/* The more and the rarer words, and those in names before others; in their
 * stems, whatever case they are in; names are cut at capitals. */
START_TEST(words_find_things)
{
    finds("refund", "any", "shop/refund billing");
    finds("Refunding an INVOICE", "any", "billing shop/refund");
    finds("read", "any", "files/readFile");
    finds("number of a purchase", "any", "shop/refund");
    finds("customers", "any", "mail/send shop/refund");
    finds("customers", "extension", "mail/send");
    finds("refund", "node", "billing");
    finds("refund", "skill", "");
}
END_TEST

/* Words that say nothing find nothing, nor do those of a schema's own language;
 * and what is FTS5's own is a word like any other. */
START_TEST(words_that_say_nothing)
{
    finds("what is the", "any", "");
    finds("object string type", "any", "");
    finds("\"refund\" OR NOT (NEAR * ^", "any", "shop/refund billing");
    finds("- \" ' ; DROP TABLE", "any", "");
    use("{\"stop_words\":[\"refund\"]}");
    finds("refund", "any", "");
    finds("refund letters", "any", "mail/send");
}
END_TEST

/* No more than asked for, and no better than nothing where nothing fits. */
START_TEST(the_best_are_kept)
{
    json_t *out = find_in(some, "refund customer text", "any", 2, 4000);

    ck_assert_uint_eq(json_array_size(json_object_get(out, "results")), 2);
    json_decref(out);
    out = find_in("[]", "refund", "any", 2, 4000);
    ck_assert_uint_eq(json_array_size(json_object_get(out, "results")), 0);
    json_decref(out);
}
END_TEST

/* Names first, then summaries, then all, within the budget; and never more. */
START_TEST(tiers_within_a_budget)
{
    static const struct {
        int tokens;
        const char *first, *second; /* tiers */
    } all[] = {{1, "", ""},
               {3, "name", ""},
               {5, "name", "name"},
               {13, "summary", "name"},
               {30, "summary", "summary"},
               {1000, "full", "summary"}};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        json_t *out = find_in(some, "refund", "any", 8, all[i].tokens);
        size_t n = 0;

        ck_assert_str_eq(text_at(out, 0, "tier"), all[i].first);
        ck_assert_str_eq(text_at(out, 1, "tier"), all[i].second);
        for (size_t k = 0; k < 2; k++)
            n += (strlen(text_at(out, k, "text")) + 3) / 4;
        ck_assert_uint_le(n, (size_t)all[i].tokens);
        json_decref(out);
    }
}
END_TEST

START_TEST(what_tiers_show)
{
    json_t *out = find_in(some, "refund", "any", 8, 1000);

    ck_assert_str_eq(text_at(out, 0, "text"),
                     "shop__refund: Pay money back to a customer\n"
                     "{\"type\":\"object\",\"properties\":{\"order\":{\"type\":"
                     "\"string\",\"description\":\"number of the "
                     "purchase\"}}}");
    ck_assert_str_eq(text_at(out, 1, "text"),
                     "billing: Answers questions about invoices and refunds");
    json_decref(out);
}
END_TEST

/* ---- skills -------------------------------------------------------------- */

static void put(const char *name, const char *text)
{
    char path[8192];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    mkdir(path, 0755);
    strcat(path, "/SKILL.md");
    test_write(path, text, strlen(text));
}

static mortise_inst *with_skills(const char *below, const char *more)
{
    char config[8192];

    snprintf(config, sizeof config, "{\"skills\":[\"%s%s\"]%s}", dir, below,
             more);
    return bare_create(&host, plugin, config);
}

/* A directory of skills, or one skill; folded texts are whole; a model is shown
 * the instructions. */
START_TEST(skills_are_found)
{
    char path[8192];
    json_t *out;

    put("pay-back",
        "---\nname: pay-back\ndescription: >-\n  How money is returned\n  to "
        "buyers\nlicense: MIT\nmetadata: {author: us, version: \"1.0\"}\n"
        "allowed-tools: shop/refund\n---\n\n# Steps\n\nAsk first.\n");
    put("other", "---\r\nname: other\r\ndescription: \"Of no use\"\r\nx-own: "
                 "[1]\r\n---\r\nnothing\r\n");
    snprintf(path, sizeof path, "%s/no-skill", dir);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    bare_destroy(plugin, inst);
    inst = with_skills("", "");
    ck_assert_msg(inst != NULL, "%s", host.msg);
    out = find_in(some, "return money", "any", 8, 4000);
    ck_assert_str_eq(text_at(out, 0, "id"), "pay-back");
    ck_assert_str_eq(text_at(out, 0, "kind"), "skill");
    ck_assert_str_eq(text_at(out, 0, "tier"), "full");
    ck_assert_str_eq(text_at(out, 0, "text"),
                     "pay-back: How money is returned to buyers\n\n# Steps\n\n"
                     "Ask first.\n");
    ck_assert_str_eq(text_at(out, 1, "id"), "shop/refund");
    json_decref(out);
    bare_destroy(plugin, inst);
    inst = with_skills("/pay-back/", "");
    ck_assert_msg(inst != NULL, "%s", host.msg);
    out = find_in("[]", "return use", "skill", 8, 4000);
    ck_assert_uint_eq(json_array_size(json_object_get(out, "results")), 1);
    json_decref(out);
}
END_TEST

#define GOOD "---\nname: s\ndescription: d\n"

static const struct {
    const char *dir, *text, *words;
} broken[] = {
    {"s", "name: s\n", "must begin with front matter"},
    {"s", "---\nname: s\ndescription: d\n", "must begin with front matter"},
    {"s", "---\nname: s\n---\n", "its front matter has no 'description'"},
    {"s", "---\ndescription: d\n---\n", "its front matter has no 'name'"},
    {"s", "---\nname: t\ndescription: d\n---\n",
     "its name is 't', but its directory is 's'; they must be equal"},
    {"S", "---\nname: S\ndescription: d\n---\n",
     "the name 'S' must be 1 to 64"},
    {"a--b", "---\nname: a--b\ndescription: d\n---\n",
     "the name 'a--b' must be"},
    {"-a", "---\nname: -a\ndescription: d\n---\n", "the name '-a' must be"},
    {"s", "---\nname: s\ndescription: \"\"\n---\n",
     "its description has 0 characters, but the limit is 1024"},
    {"s", GOOD "license: [a]\n---\n", "'license' is not text"},
    {"s", GOOD "metadata: [a]\n---\n", "'metadata' is not a mapping"},
    {"s", GOOD "metadata: {a: [b]}\n---\n",
     "'metadata' is not a mapping of texts"},
    {"s", GOOD "name: s\n---\n", "'name' occurs twice"},
    {"s", "---\nname: s\n  description: [\n---\n", "of its front matter: "},
    {"s", "---\n- a\n---\n", "its front matter is not a mapping"},
    {"s", GOOD "---\n\xff\n", "it is not UTF-8"},
};

/* What breaks the rules is refused, with its path and the rule. */
START_TEST(broken_skills_are_refused)
{
    char want[8192];

    put(broken[_i].dir, broken[_i].text);
    ck_assert_ptr_null(with_skills("", ""));
    ck_assert_msg(strstr(host.msg, broken[_i].words) != NULL, "%s", host.msg);
    snprintf(want, sizeof want, "%s/%s/SKILL.md: ", dir, broken[_i].dir);
    ck_assert_msg(strstr(host.msg, want) != NULL, "%s", host.msg);
    ck_assert_str_eq(host.code, "config");
}
END_TEST

/* So deep, in one of the styles that there are: in brackets, by indentation, by
 * "- - -" in one line, and as keys of keys. */
static void put_deep(int style, int depth)
{
    static char text[40000];
    char *p = stpcpy(text, GOOD);

    depth--; /* the front matter's own mapping */
    if (style == 0) {
        p = stpcpy(p, "x: ");
        memset(p, '[', (size_t)depth);
        memset(p + depth, ']', (size_t)depth);
        strcpy(p + 2 * depth, "\n---\n");
    } else {
        for (int k = 0; k < depth && style == 1; k++)
            p += sprintf(p, "%*sx:\n", k, "");
        if (style == 1)
            sprintf(p, "%*sx: y\n---\n", depth, "");
        p = style == 1 ? p : stpcpy(p, "x:\n  ");
        for (int k = 0; k < depth && style > 1; k++)
            p = stpcpy(p, style == 2 ? "- " : "? ");
        if (style > 1)
            strcpy(p, "y\n---\n");
    }
    put("s", text);
}

/* Front matter is small and flat, whatever its style: its reader takes time by
 * the square of its depth, and the engine waits for it.  What stands in a text
 * is no collection. */
START_TEST(front_matter_has_bounds)
{
    static char text[40000];
    char want[128];
    mortise_inst *i;
    char *p;

    for (int style = 0; style < 4; style++) {
        put_deep(style, 32);
        i = with_skills("", "");
        ck_assert_msg(i != NULL, "%d: %s", style, host.msg);
        bare_destroy(plugin, i);
        for (int depth = 33; depth < 7000; depth = depth * 14 + 1) {
            put_deep(style, style == 1 && depth > 150 ? 150 : depth);
            ck_assert_ptr_null(with_skills("", ""));
            snprintf(want, sizeof want,
                     "line %d of its front matter is nested more than 32 deep",
                     style == 0   ? 4
                     : style == 1 ? 36
                                  : 5);
            ck_assert_msg(strstr(host.msg, want) != NULL, "%d: %s", style,
                          host.msg);
        }
    }
    p = stpcpy(text, GOOD "x: \"");
    memset(p, '[', 100);
    strcpy(p + 100, "\"\n---\n");
    put("s", text);
    i = with_skills("", "");
    ck_assert_msg(i != NULL, "%s", host.msg);
    bare_destroy(plugin, i);
    memset(p, 'x', 20000);
    strcpy(p + 20000, "\n---\n");
    put("s", text);
    ck_assert_ptr_null(with_skills("", ""));
    ck_assert_msg(strstr(host.msg, "more than 16384 bytes") != NULL, "%s",
                  host.msg);
}
END_TEST

/* Bounds: of a description, of a file, of names; links are not followed. */
START_TEST(skills_have_bounds)
{
    char text[4096], about[2048], path[8192];
    mortise_inst *i;

    memset(about, 'x', sizeof about);
    about[1025] = '\0';
    snprintf(text, sizeof text, "---\nname: s\ndescription: %s\n---\n", about);
    put("s", text);
    ck_assert_ptr_null(with_skills("", ""));
    ck_assert_msg(
        strstr(host.msg, "has 1025 characters, but the limit is 1024") != NULL,
        "%s", host.msg);
    about[1024] = '\0';
    snprintf(text, sizeof text, "---\nname: s\ndescription: %s\n---\n", about);
    put("s", text);
    i = with_skills("", "");
    ck_assert_msg(i != NULL, "%s", host.msg);
    bare_destroy(plugin, i);
    ck_assert_ptr_null(with_skills("", ",\"max_skill\":1000"));
    ck_assert_msg(strstr(host.msg, "but the limit is 1000 (max_skill)") != NULL,
                  "%s", host.msg);
    ck_assert_ptr_null(with_skills("/gone", ""));
    ck_assert_msg(strstr(host.msg, "No such file") != NULL, "%s", host.msg);
    snprintf(path, sizeof path, "%s/s/SKILL.md", dir);
    unlink(path);
    ck_assert_int_eq(symlink("/etc/hostname", path), 0);
    ck_assert_ptr_null(with_skills("", ""));
}
END_TEST

/* The same skill in two directories would be two things of one id. */
START_TEST(names_are_unique)
{
    char config[12288];

    put("s", GOOD "---\n");
    snprintf(config, sizeof config, "{\"skills\":[\"%s\",\"%s/s\"]}", dir, dir);
    ck_assert_ptr_null(bare_create(&host, plugin, config));
    ck_assert_msg(strstr(host.msg, "another skill has the name 's'") != NULL,
                  "%s", host.msg);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("bundled_catalog");
    TCase *tc = tcase_create("catalog");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, words_find_things);
    tcase_add_test(tc, words_that_say_nothing);
    tcase_add_test(tc, the_best_are_kept);
    tcase_add_test(tc, tiers_within_a_budget);
    tcase_add_test(tc, what_tiers_show);
    tcase_add_test(tc, skills_are_found);
    tcase_add_loop_test(tc, broken_skills_are_refused, 0,
                        sizeof broken / sizeof broken[0]);
    tcase_add_test(tc, front_matter_has_bounds);
    tcase_add_test(tc, skills_have_bounds);
    tcase_add_test(tc, names_are_unique);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
