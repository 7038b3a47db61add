/* test_url.c -- where pages lead: plugins/executor/http/url.h. */
#include <check.h>

#include "../../../plugins/executor/http/url.h"
#include "lib/test.h"

static struct bytes out;

static void teardown(void)
{
    bytes_free(&out);
}

static void assert_out(const char *want)
{
    ck_assert_msg(mortise_str_is(bytes_str(&out), want), "%.*s, not %s",
                  (int)out.n, out.p, want);
}

static const struct {
    const char *reference, *to;
} resolved[] = {
    /* RFC 3986, 5.4; a fragment is left out */
    {"g:h", "g:h"},
    {"g", "http://a/b/c/g"},
    {"./g", "http://a/b/c/g"},
    {"g/", "http://a/b/c/g/"},
    {"/g", "http://a/g"},
    {"//g", "http://g"},
    {"?y", "http://a/b/c/d;p?y"},
    {"g?y", "http://a/b/c/g?y"},
    {"#s", "http://a/b/c/d;p?q"},
    {"g#s", "http://a/b/c/g"},
    {"g?y#s", "http://a/b/c/g?y"},
    {";x", "http://a/b/c/;x"},
    {"g;x", "http://a/b/c/g;x"},
    {"g;x?y#s", "http://a/b/c/g;x?y"},
    {"", "http://a/b/c/d;p?q"},
    {".", "http://a/b/c/"},
    {"./", "http://a/b/c/"},
    {"..", "http://a/b/"},
    {"../", "http://a/b/"},
    {"../g", "http://a/b/g"},
    {"../..", "http://a/"},
    {"../../", "http://a/"},
    {"../../g", "http://a/g"},
    {"../../../g", "http://a/g"},
    {"../../../../g", "http://a/g"},
    {"/./g", "http://a/g"},
    {"/../g", "http://a/g"},
    {"g.", "http://a/b/c/g."},
    {".g", "http://a/b/c/.g"},
    {"g..", "http://a/b/c/g.."},
    {"..g", "http://a/b/c/..g"},
    {"./../g", "http://a/b/g"},
    {"./g/.", "http://a/b/c/g/"},
    {"g/./h", "http://a/b/c/g/h"},
    {"g/../h", "http://a/b/c/h"},
    {"g;x=1/./y", "http://a/b/c/g;x=1/y"},
    {"g;x=1/../y", "http://a/b/c/y"},
    {"g?y/./x", "http://a/b/c/g?y/./x"},
    {"g?y/../x", "http://a/b/c/g?y/../x"},
    {"https://b:8/x/../y?z", "https://b:8/y?z"},
};

/* A reference means what the RFC's own examples say. */
START_TEST(references_are_resolved)
{
    ck_assert_int_eq(url_resolve(&out, mortise_strz("http://a/b/c/d;p?q"),
                                 mortise_strz(resolved[_i].reference)),
                     MORTISE_S_OK);
    assert_out(resolved[_i].to);
}
END_TEST

/* A URL without a path has one. */
START_TEST(a_host_alone_has_a_root)
{
    ck_assert_int_eq(
        url_resolve(&out, mortise_strz("http://a?x"), mortise_strz("g")),
        MORTISE_S_OK);
    assert_out("http://a/g");
}
END_TEST

static const struct {
    const char *a, *b;
    int same;
} origins[] = {
    {"http://a/x", "http://a/y?z", 1},  {"http://a/x", "HTTP://A:80", 1},
    {"https://a", "https://a:443/", 1}, {"https://a:80", "http://a:80", 0},
    {"http://a:443", "http://a", 0},    {"http://a", "http://b", 0},
    {"http://a", "http://a.b", 0},      {"http://a", "http://a:8080", 0},
    {"http://a", "http://a@b", 0},      {"http://a", "/x", 0},
    {"http://a", "http:a", 0},
};

/* An origin is a scheme, a host and a port, however they are written. */
START_TEST(origins_are_compared)
{
    ck_assert_int_eq(url_same_origin(mortise_strz(origins[_i].a),
                                     mortise_strz(origins[_i].b)),
                     origins[_i].same);
}
END_TEST

static const struct {
    const char *url, *name, *value, *to;
} queries[] = {
    {"http://a/b", "p", "1", "http://a/b?p=1"},
    {"http://a/b?", "p", "1", "http://a/b?p=1"},
    {"http://a", "p", "1", "http://a?p=1"},
    {"http://a/b?x=y#s", "p", "1", "http://a/b?x=y&p=1"},
    {"http://a/b?p=7&x=y&p&p=8", "p", "1", "http://a/b?x=y&p=1"},
    {"http://a/b?pp=7&&q", "p", "1", "http://a/b?pp=7&q&p=1"},
    {"http://a/b", "p", "a b/=&+%\xc3\xa4",
     "http://a/b?p=a%20b%2F%3D%26%2B%25"
     "%C3%A4"},
    {"http://a/b?page[n]=2&page%5Bn%5D=3", "page[n]", "4",
     "http://a/b?page%5Bn%5D=4"},
};

/* A parameter is put in the place of all others of its name. */
START_TEST(parameters_are_set)
{
    ck_assert_int_eq(url_with(&out, mortise_strz(queries[_i].url),
                              mortise_strz(queries[_i].name),
                              mortise_strz(queries[_i].value)),
                     MORTISE_S_OK);
    assert_out(queries[_i].to);
}
END_TEST

static const struct {
    const char *header, *target; /* NULL: none */
} links[] = {
    {"<http://a/2>; rel=\"next\"", "http://a/2"},
    {"<http://a/2>;rel=next", "http://a/2"},
    {"<1>; rel=\"prev\", <3>; rel=\"next\", <9>; rel=\"last\"", "3"},
    {"<a,b;c>; title=\"x, <y>; rel=\\\"next\\\"\"; rel=\"last NEXT\"", "a,b;c"},
    {" , ,<2> ; REL = \"up  Next\" ; x", "2"},
    {"<2>; rel=prev; rel=next", NULL},
    {"<2>; rel=\"nextish\"", NULL},
    {"<2>; rel=\"next\"; anchor=\"/x\", <3>; rel=next", "3"},
    {"<2>", NULL},
    {"<2>; rel", NULL},
    {"<2; rel=next", NULL},
    {"2; rel=next, <3>; rel=next", "3"},
    {"<2>; rel=\"next", "2"},
    {"<2>; ; =; rel=next", "2"},
    {"<>; rel=next", ""},
    {"<", NULL},
    {"", NULL},
};

/* A Link header is read as it is written, and as it is not. */
START_TEST(links_are_read)
{
    mortise_str target = url_link_next(mortise_strz(links[_i].header));

    if (links[_i].target == NULL)
        ck_assert_ptr_null(target.p);
    else
        ck_assert_msg(target.p != NULL &&
                          mortise_str_is(target, links[_i].target),
                      "%.*s", (int)target.n, target.p);
}
END_TEST

#define N(list) (int)(sizeof(list) / sizeof((list)[0]))

static Suite *suite(void)
{
    Suite *suite = suite_create("url");
    TCase *tc = tcase_create("url");

    tcase_add_checked_fixture(tc, NULL, teardown);
    tcase_add_loop_test(tc, references_are_resolved, 0, N(resolved));
    tcase_add_test(tc, a_host_alone_has_a_root);
    tcase_add_loop_test(tc, origins_are_compared, 0, N(origins));
    tcase_add_loop_test(tc, parameters_are_set, 0, N(queries));
    tcase_add_loop_test(tc, links_are_read, 0, N(links));
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
