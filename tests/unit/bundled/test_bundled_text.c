/* test_bundled_text.c -- the text executor, from any host's point of view. */
#include <check.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/barehost.h"
#include "lib/matrix.h"
#include "lib/oom.h"
#include "core/base/buf.h"
#include "lib/test.h"

static struct mortise_host host;
static const mortise_plugin *plugin;
static mortise_inst *inst;

static void setup(void)
{
    plugin = bare_plugin("text");
    test_begin();
    bare_init(&host);
    inst = bare_create(&host, plugin, "{}");
    ck_assert_ptr_nonnull(inst);
}

static void teardown(void)
{
    bare_destroy(plugin, inst);
    bare_finish(&host);
    test_nothing_left();
}

static mortise_status run_json(const char *operation, const char *body)
{
    return bare_execute(
        &host, plugin, inst,
        &(struct bare_call){.operation = operation, .body = body});
}

/* A body from a format in which ' stands for ". */
__attribute__((format(printf, 2, 3))) static mortise_status
run(const char *operation, const char *fmt, ...)
{
    static char body[65536];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(body, sizeof body, fmt, ap);
    va_end(ap);
    for (char *p = body; *p != '\0'; p++)
        if (*p == '\'')
            *p = '"';
    return run_json(operation, body);
}

static void refused(mortise_status status, const char *code)
{
    ck_assert_int_lt(status, 0);
    ck_assert_str_eq(host.code, code);
    ck_assert_int_eq(host.fails, 1);
}

/* `json` with ' for " */
static void answered(mortise_status status, const char *json)
{
    char *want = strdup(json);

    for (char *p = want; *p != '\0'; p++)
        if (*p == '\'')
            *p = '"';
    ck_assert_msg(status == MORTISE_S_OK, "%d %s", status, host.msg);
    ck_assert_str_eq(host.out, want);
    free(want);
}

/* ---- lines, grep, count, top ------------------------------------------- */

/* A line ends at \n, with or without \r; the last needs no end. */
START_TEST(lines_are_cut)
{
    answered(run("lines", "{'text':''}"), "{'lines':[],'total':0}");
    answered(run("lines", "{'text':'a'}"), "{'lines':['a'],'total':1}");
    answered(run("lines", "{'text':'a\\n'}"), "{'lines':['a'],'total':1}");
    answered(run("lines", "{'text':'a\\r\\n\\r\\n\\rb\\r'}"),
             "{'lines':['a','','\\rb\\r'],'total':3}");
    answered(run("lines", "{'text':'1\\n2\\n3\\n4','from':2,'count':2}"),
             "{'lines':['2','3'],'total':4}");
    answered(run("lines", "{'text':'1\\n2','from':9223372036854775807}"),
             "{'lines':[],'total':2}");
    answered(run("lines", "{'text':'1\\n2','count':0}"),
             "{'lines':[],'total':2}");
    answered(run("lines", "{'text':'\\u00e9\\u0000\\n'}"),
             "{'lines':['\xC3\xA9\\u0000'],'total':1}");
}
END_TEST

/* Numbers outside their bounds and arguments of other types are refused. */
START_TEST(bad_arguments_are_refused)
{
    static const char *const bad[][2] = {
        {"lines", "{}"},
        {"lines", "[]"},
        {"lines", "nonsense"},
        {"lines", "{'text':1}"},
        {"lines", "{'text':'','from':0}"},
        {"lines", "{'text':'','from':'1'}"},
        {"lines", "{'text':'','count':-1}"},
        {"lines", "{'text':'','count':100001}"},
        {"grep", "{'text':'','pattern':1}"},
        {"grep", "{'text':'x'}"},
        {"grep", "{'text':'','pattern':'a','max':10001}"},
        {"grep", "{'text':'','pattern':'a','ignore_case':1}"},
        {"grep", "{'pattern':'a'}"},
        {"count", "{'text':''}"},
        {"count", "{'text':'','patterns':[]}"},
        {"count", "{'text':'','patterns':{'a':1}}"},
        {"top", "{'pattern':'(a)'}"},
        {"top", "{'pattern':'(a)','text':'','lines':[]}"},
        {"top", "{'pattern':'(a)','lines':'a'}"},
        {"top", "{'pattern':'(a)','lines':['a',1]}"},
        {"top", "{'pattern':'(a)','text':'','n':1001}"},
        {"template", "{'template':''}"},
        {"template", "{'template':'','values':[]}"},
        {"template", "{'template':1,'values':{}}"}};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused(run(bad[i][0], "%s", bad[i][1]), "invalid");
    refused(run("wc", "{}"), "unsupported");
    ck_assert_ptr_null(plugin->get_interface(inst, MORTISE_GUARDRAIL_2));
}
END_TEST

/* grep counts all and shows the first, with their numbers. */
START_TEST(grep_finds_lines)
{
    answered(run("grep", "{'text':'an error\\nfine\\nERROR 2\\nerror',"
                         "'pattern':'error','max':1}"),
             "{'matches':[{'line':1,'text':'an error'}],'count':2,"
             "'lines':4}");
    answered(run("grep", "{'text':'an error\\nfine\\nERROR 2\\nerror',"
                         "'pattern':'^error','ignore_case':true}"),
             "{'matches':[{'line':3,'text':'ERROR 2'},"
             "{'line':4,'text':'error'}],'count':2,'lines':4}");
    answered(run("grep", "{'text':'','pattern':'x*'}"),
             "{'matches':[],'count':0,'lines':0}");
    answered(run("grep", "{'text':'\\n\\u00dcber','pattern':'^\\\\p{Lu}',"
                         "'max':5}"),
             "{'matches':[{'line':2,'text':'\xC3\x9C"
             "ber'}],'count':1,'lines':2}");
}
END_TEST

/* A very long line is cut at a character, and says so. */
START_TEST(long_lines_are_cut_in_results)
{
    char *text = malloc(6001);
    mortise_jv v;
    mortise_str s;

    for (int i = 0; i < 2000; i++)
        memcpy(text + 3 * i, "\xE2\x82\xAC", 3);
    text[6000] = '\0';
    ck_assert_int_eq(run("lines", "{'text':'%s'}", text), MORTISE_S_OK);
    mortise_jv_parse(mortise_strn(host.out, host.n_out), &v);
    v = mortise_jv_get(v, "lines");
    mortise_jv_iter it = mortise_jv_each(v);
    ck_assert(mortise_jv_next(&it, NULL, &v));
    ck_assert_int_eq(mortise_jv_text(v, NULL, 0, &s), MORTISE_S_OK);
    ck_assert_uint_eq(s.n, 1998 + 3);
    ck_assert_mem_eq(s.p + 1998, "\xE2\x80\xA6", 3);
    free(text);
}
END_TEST

/* All patterns are counted in one pass, each line at most once. */
START_TEST(count_counts_lines)
{
    answered(run("count", "{'text':'a a\\nb\\na b','patterns':{'a':'a','b':'b',"
                          "'n\\u00f6':'c'}}"),
             "{'lines':3,'counts':{'a':2,'b':2,'n\xC3\xB6':0}}");
    answered(run("count", "{'text':'x','patterns':{}}"),
             "{'lines':1,'counts':{}}");
    refused(run("count", "{'text':'','patterns':{'a':'('}}"), "bad_pattern");
    ck_assert_ptr_nonnull(strstr(host.msg, "a: "));
}
END_TEST

/* Too many patterns are refused before any is used. */
START_TEST(patterns_are_bounded)
{
    char body[8192] = "{\"text\":\"\",\"patterns\":{";

    for (int i = 0; i < 65; i++)
        sprintf(body + strlen(body), "%s\"p%d\":\"a\"", i > 0 ? "," : "", i);
    strcat(body, "}}");
    refused(run_json("count", body), "too_large");
    strcpy(body, "{\"text\":\"\",\"pattern\":\"");
    memset(body + strlen(body), 'a', 4097);
    strcpy(body + 22 + 4097, "\"}");
    refused(run_json("grep", body), "bad_pattern");
}
END_TEST

/* Most frequent first, equals in the order of their bytes; whatever has no
 * group there is not counted. */
START_TEST(top_ranks)
{
    answered(run("top", "{'text':'u=b\\nu=a\\nu=b\\nnone\\nu=\\nu=c',"
                        "'pattern':'u=(\\\\w*)','n':2}"),
             "{'total':4,'distinct':3,'top':[{'value':'b','count':2},"
             "{'value':'a','count':1}]}");
    answered(run("top", "{'lines':['x1','x\\u00312','x1','\\n'],"
                        "'pattern':'(?:x)(.*)'}"),
             "{'total':3,'distinct':2,'top':[{'value':'1','count':2},"
             "{'value':'12','count':1}]}");
    answered(run("top", "{'text':'','pattern':'(a)'}"),
             "{'total':0,'distinct':0,'top':[]}");
    answered(run("top", "{'lines':[],'pattern':'(a)'}"),
             "{'total':0,'distinct':0,'top':[]}");
    answered(run("top", "{'text':'b','pattern':'a|b()'}"),
             "{'total':0,'distinct':0,'top':[]}");
    refused(run("top", "{'text':'','pattern':'a'}"), "bad_pattern");
    refused(run("top", "{'text':'','pattern':'(a)(b)'}"), "bad_pattern");
}
END_TEST

/* Patterns that are none, or reach for what they must not, are refused. */
START_TEST(bad_patterns_are_refused)
{
    static const char *const bad[] = {"",
                                      "(",
                                      "[",
                                      "a{2",
                                      "*",
                                      "(?<n>",
                                      "\\\\C",
                                      "(*UTF)a",
                                      "(*LIMIT_MATCH=1)a",
                                      "(*NO_START_OPT)a",
                                      "(?P>x)",
                                      "\\\\1",
                                      "((((a{999}){999}){999}){999})"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (strcmp(bad[i], "a{2") == 0) /* a literal, says PCRE2 */
            ck_assert_int_eq(run("grep", "{'text':'a{2','pattern':'a{2'}"),
                             MORTISE_S_OK);
        else
            refused(run("grep", "{'text':'a','pattern':'%s'}", bad[i]),
                    "bad_pattern");
    }
}
END_TEST

/* A pattern that would take for ever is stopped, and named as the cause. */
START_TEST(catastrophic_patterns_end)
{
    char a[5001];

    memset(a, 'a', 5000);
    a[5000] = '\0';
    a[40] = '\0';
    refused(run("grep", "{'text':'%s!','pattern':'^(a+)+$'}", a), "limit");
    refused(run("top", "{'text':'%s!','pattern':'^((?:a|aa)+)$'}", a), "limit");
    refused(run("count",
                "{'text':'%s!','patterns':{'x':'(x+x+)+y',"
                "'y':'^(.*?,){11}P|(a*)*b'}}",
                a),
            "limit");
    refused(run("grep", "{'text':'a','pattern':'(?R)a'}"), "limit");
    a[40] = 'a';
    refused(run("grep", "{'text':'%s','pattern':'(?:a?){50}(?:.*)*[^a]'}", a),
            "limit");
}
END_TEST

/* Many attempts, each cheap enough, are ended by the clock or by cancelling,
 * in the middle of a single line. */
START_TEST(a_crawling_match_ends)
{
    char a[20001];

    memset(a, 'a', 20000);
    a[20000] = '\0';
    host.tick_ns = 20000000000; /* each look at the clock takes long */
    refused(run("grep", "{'text':'%s','pattern':'a{0,9000}[bc]'}", a),
            "timeout");
    ck_assert_str_eq(host.klass, "timeout");
    host.tick_ns = 0;
    host.cancel_after = 50;
    refused(run("grep", "{'text':'%s','pattern':'a{0,9000}[bc]'}", a),
            "cancelled");
    ck_assert_str_eq(host.klass, "cancelled");
}
END_TEST

/* The call's own deadline counts when it is nearer. */
START_TEST(a_deadline_is_kept)
{
    host.now_ns = 1000;
    refused(bare_execute(&host, plugin, inst,
                         &(struct bare_call){.operation = "lines",
                                             .body = "{\"text\":\"a\"}",
                                             .deadline_ns = 999}),
            "timeout");
}
END_TEST

/* ---- template ---------------------------------------------------------- */

static void renders(const char *template, const char *values, const char *want)
{
    char *t = bare_quote(template, strlen(template));
    char *w = bare_quote(want, strlen(want));
    char *body = malloc(strlen(t) + strlen(values) + 64);
    char *json = malloc(strlen(w) + 64);
    mortise_status status;

    sprintf(body, "{\"template\":%s,\"values\":%s}", t, values);
    sprintf(json, "{\"text\":%s}", w);
    status = run_json("template", body);
    ck_assert_msg(status == MORTISE_S_OK, "%s", host.msg);
    ck_assert_str_eq(host.out, json);
    free(t);
    free(w);
    free(body);
    free(json);
}

/* Values of every type, from every depth. */
START_TEST(templates_put_values)
{
    renders("", "{}", "");
    renders("plain } {", "{}", "plain } {");
    renders("{{a}}{{ b }}|{{c}}|{{d}}",
            "{\"a\":\"x\\n\",\"b\":-1.50,"
            "\"c\":null,\"d\":true}",
            "x\n-1.50||true");
    renders("{{o.p.q}} {{o}} {{l}}",
            "{\"o\":{\"p\":{\"q\":\"<&>\"}},\"l\":[1, 2]}",
            "<&> {\"p\":{\"q\":\"<&>\"}} [1, 2]");
    renders("{{! a remark }}x{{!}}", "{}", "x");
    renders("\xC3\xA9{{a}}\xE2\x82\xAC", "{\"a\":\"\\u00e9\"}",
            "\xC3\xA9\xC3\xA9\xE2\x82\xAC");
}
END_TEST

/* Sections repeat over lists, enter objects, and look outward for names. */
START_TEST(templates_have_sections)
{
    renders("{{#l}}<{{.}}>{{/l}}", "{\"l\":[1,\"b\",null]}", "<1><b><>");
    renders("{{#l}}{{n}}{{x}} {{/l}}",
            "{\"x\":\"!\",\"l\":[{\"n\":1},"
            "{\"n\":2,\"x\":\"?\"}]}",
            "1! 2? ");
    renders("{{#o}}{{a}}{{#p}}{{b}}{{a}}{{/p}}{{/o}}",
            "{\"o\":{\"a\":1,\"p\":{\"b\":2}}}", "121");
    renders("{{#t}}yes{{/t}}{{^t}}no{{/t}}", "{\"t\":true}", "yes");
    renders("{{#a}}{{#b}}x{{/b}}{{/a}}", "{\"a\":[1,2],\"b\":[1,2,3]}",
            "xxxxxx");
    renders("{{#l}}{{#.}}{{.}}{{/.}};{{/l}}", "{\"l\":[[1,2],[3]]}", "12;3;");
    renders("{{#n}}{{n}}{{/n}}", "{\"n\":3}", "3");
    renders("{{#s}}{{s}}{{/s}}", "{\"s\":\"v\"}", "v");
}
END_TEST

/* What is nothing shows nothing, and its names need no values. */
START_TEST(nothing_is_left_out)
{
    static const char *const nothings[] = {
        "{}",          "{\"x\":null}", "{\"x\":false}", "{\"x\":0}",
        "{\"x\":0.0}", "{\"x\":\"\"}", "{\"x\":[]}",    "{\"x\":-0}"};
    static const char *const somethings[] = {"{\"x\":1}",   "{\"x\":\"0\"}",
                                             "{\"x\":[0]}", "{\"x\":{}}",
                                             "{\"x\":0.1}", "{\"x\":1e999}"};

    for (size_t i = 0; i < sizeof nothings / sizeof *nothings; i++)
        renders("{{#x}}{{gone}}{{#y}}{{gone}}{{/y}}{{/x}}{{^x}}no{{/x}}",
                nothings[i], "no");
    for (size_t i = 0; i < sizeof somethings / sizeof *somethings; i++)
        renders("{{#x}}y{{/x}}{{^x}}{{gone}}{{/x}}", somethings[i], "y");
}
END_TEST

/* A tag alone on its line takes the line with it, and no other line. */
START_TEST(lone_tags_leave_no_line)
{
    renders("a\n{{#l}}\n- {{.}}\n{{/l}}\nb\n", "{\"l\":[1,2]}",
            "a\n- 1\n- 2\nb\n");
    renders("a\r\n  {{#l}}\t\r\n{{.}}\r\n  {{/l}}", "{\"l\":[1]}",
            "a\r\n1\r\n");
    renders("{{^l}}\nnone\n{{/l}}\n\nb", "{}", "none\n\nb");
    renders("a {{#l}}\nx\n{{/l}}", "{\"l\":[1]}", "a \nx\n");
    renders("{{#l}} {{/l}}\n", "{\"l\":[1]}", " \n");
    renders("{{l}}\n", "{\"l\":1}", "1\n");
    renders("{{! one }}\n{{! two }}\nx", "{}", "x");
    renders("{{#l}}\n{{/l}}\n", "{\"l\":[1,2,3]}", "");
}
END_TEST

/* A template that is none says where, and a missing value is an error. */
START_TEST(bad_templates_are_refused)
{
    static const char *const bad[] = {"{{",
                                      "{{a",
                                      "{{}}",
                                      "{{ }}",
                                      "{{a b}}",
                                      "{{{a}}}",
                                      "{{#a}}",
                                      "{{/a}}",
                                      "{{#a}}{{/b}}",
                                      "{{#a}}{{#b}}{{/a}}{{/b}}",
                                      "{{#}}{{/}}",
                                      "{{&a}}",
                                      "{{..}}",
                                      "{{a.}}",
                                      "{{.a}}",
                                      "{{a..b}}",
                                      "{{>a}}",
                                      "{{=<% %>=}}",
                                      "{{#a}}x{{^a}}y{{/a}}",
                                      "{{\xC3\xA9}}"};
    char body[256];

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(body, sizeof body,
                 "{\"template\":\"\\n\\n%s\",\"values\":{\"a\":1,\"b\":1}}",
                 bad[i]);
        ck_assert_msg(run_json("template", body) < 0, "%s", bad[i]);
        refused(run_json("template", body), "bad_template");
    }
    refused(run("template", "{'template':'\\n\\n{{none}}','values':{}}"),
            "no_value");
    ck_assert_ptr_nonnull(strstr(host.msg, "line 3"));
    refused(run("template", "{'template':'{{a.b}}','values':{'a':'b'}}"),
            "no_value");
}
END_TEST

/* A small template cannot make the plugin run, recurse or write for ever. */
START_TEST(templates_are_bounded)
{
    char *body = malloc(1 << 20), *p = body;

    p += sprintf(p, "{\"values\":{\"l\":[");
    for (int i = 0; i < 1000; i++)
        p += sprintf(p, "%s1", i > 0 ? "," : "");
    strcpy(p, "]},\"template\":\""
              "{{#l}}{{#l}}{{#l}}{{#l}}abcdefgh{{/l}}{{/l}}{{/l}}{{/l}}\"}");
    refused(run_json("template", body), "too_large");
    strcpy(p, "]},\"template\":\""
              "{{#l}}{{#l}}{{#l}}{{#l}}{{/l}}{{/l}}{{/l}}{{/l}}\"}");
    refused(run_json("template", body), "too_large"); /* looked too much */
    p = body + sprintf(body, "{\"values\":{},\"template\":\"");
    for (int i = 0; i < 40; i++)
        p += sprintf(p, "{{#a}}");
    for (int i = 0; i < 40; i++)
        p += sprintf(p, "{{/a}}");
    strcpy(p, "\"}");
    refused(run_json("template", body), "bad_template");
    p = body + sprintf(body, "{\"values\":{\"a\":1},\"template\":\"");
    for (int i = 0; i < 32; i++)
        p += sprintf(p, "{{#a}}");
    for (int i = 0; i < 32; i++)
        p += sprintf(p, "{{/a}}");
    strcpy(p, "\"}");
    ck_assert_int_eq(run_json("template", body), MORTISE_S_OK);
    free(body);
}
END_TEST

/* ---- everywhere -------------------------------------------------------- */

static const char *const calls[][2] = {
    {"lines", "{\"text\":\"a\\nb\"}"},
    {"grep", "{\"text\":\"a\\nb\",\"pattern\":\"a\"}"},
    {"count", "{\"text\":\"a\\nb\",\"patterns\":{\"a\":\"a\",\"b\":\"b\"}}"},
    {"top", "{\"text\":\"a\\nb\",\"pattern\":\"(.)\"}"},
    {"top", "{\"lines\":[\"a\",\"b\"],\"pattern\":\"(.)\"}"},
    {"template", "{\"template\":\"\\n{{a}}{{#l}}{{.}}{{/l}}\","
                 "\"values\":{\"a\":\"\\n\",\"l\":[\"\\n\",\"longer\\n\"]}}"},
    {"split", "{\"text\":\"a\\nb\\n\",\"separator\":\"\\n\"}"},
    {"split", "{\"text\":\"a\\nb\\n\",\"pattern\":\"\\n\"}"},
    {"join", "{\"parts\":[\"\\n\",1],\"separator\":\"\\t\"}"},
    {"hash", "{\"text\":\"\\n\"}"},
    {"diff", "{\"old\":\"a\\nb\\n\",\"new\":\"b\\nc\\n\"}"}};
enum { N_CALLS = sizeof calls / sizeof *calls };

/* Cancelled at any look, a call ends with that or is complete. */
START_TEST(cancelling_ends_a_call)
{
    mortise_status status = MORTISE_S_CANCELLED;

    for (int n = 1; status != MORTISE_S_OK; n++) {
        ck_assert_int_lt(n, 50);
        host.cancel_after = n;
        status = run_json(calls[_i][0], calls[_i][1]);
        if (status != MORTISE_S_OK)
            refused(status, "cancelled");
    }
}
END_TEST

/* A host that takes nothing gets its own word back. */
START_TEST(a_deaf_host_gets_its_own_status)
{
    host.emit_status = MORTISE_S_STALE;
    ck_assert_int_eq(run_json(calls[_i][0], calls[_i][1]), MORTISE_S_STALE);
}
END_TEST

/* Each allocation refused, one after the other: an error, and no leak. */
START_TEST(survives_oom)
{
    bool failed = true;

    if (!oom_works())
        return;
    host.around = oom_around;
    for (long n = 0; failed; n++) {
        mortise_status status;

        oom_fail_at(n);
        status = run_json(calls[_i][0], calls[_i][1]);
        failed = oom_failed();
        ck_assert_int_eq(status == MORTISE_S_OK, !failed);
        ck_assert_int_lt(n, 100);
    }
}
END_TEST

/* The same where an instance is made. */
START_TEST(create_survives_oom)
{
    if (!oom_works())
        return;
    host.around = oom_around;
    oom_fail_at(0);
    ck_assert_ptr_null(bare_create(&host, plugin, "{}"));
    ck_assert(oom_failed());
}
END_TEST

/* Megabytes are no problem: a pass is linear. */
START_TEST(a_large_text_is_fine)
{
    size_t n = 4 << 20;
    char *text = malloc(n + 128), *p = text;

    p += sprintf(p, "{\"pattern\":\"\\\\bwarn\",\"max\":0,\"text\":\"");
    while (p < text + n)
        p += sprintf(p, "Nov 21 00:00:00 host unit[1]: a line of a log\\n");
    strcpy(p, "\"}");
    ck_assert_int_eq(run_json("grep", text), MORTISE_S_OK);
    ck_assert_ptr_nonnull(strstr(host.out, "\"count\":0"));
    free(text);
}
END_TEST

/* ---- pieces ------------------------------------------------------------- */

/* A text falls apart at separators; empty parts count, and the last of `max`
 * parts is the rest. */
START_TEST(split_cuts_at_separators)
{
    answered(run("split", "{'text':'a,b,,c,','separator':','}"),
             "{'parts':['a','b','','c',''],'count':5}");
    answered(run("split", "{'text':'','separator':','}"),
             "{'parts':[''],'count':1}");
    answered(run("split", "{'text':'a, b;c','pattern':'[,;] *'}"),
             "{'parts':['a','b','c'],'count':3}");
    answered(run("split", "{'text':'aXbxc','pattern':'x','ignore_case':true}"),
             "{'parts':['a','b','c'],'count':3}");
    answered(run("split", "{'text':'a--b--c','separator':'--','max':2}"),
             "{'parts':['a','b--c'],'count':2}");
    answered(run("split", "{'text':'a b','separator':' ','max':1}"),
             "{'parts':['a b'],'count':1}");
    answered(run("split", "{'text':'ab','pattern':'x*'}"),
             "{'parts':['ab'],'count':1}"); /* empty matches are none */
    answered(run("split", "{'text':'a\\u0000b','separator':'\\u0000'}"),
             "{'parts':['a','b'],'count':2}");
}
END_TEST

/* Joining what split gave gives the text back. */
START_TEST(join_is_the_inverse_of_split)
{
    answered(run("join", "{'parts':['a','b','','c',''],'separator':','}"),
             "{'text':'a,b,,c,'}");
    answered(run("join", "{'parts':[]}"), "{'text':''}");
    answered(run("join", "{'parts':['x',1,-2.50,true],'separator':'\\n'}"),
             "{'text':'x\\n1\\n-2.50\\ntrue'}");
    answered(run("join", "{'parts':['\\u00e9','\\\\','\\u0000']}"),
             "{'text':'\xC3\xA9\\\\\\u0000'}");
}
END_TEST

START_TEST(pieces_refuse_what_makes_no_sense)
{
    static const char *const bad[][2] = {
        {"split", "{'text':'a'}"},
        {"split", "{'text':'a','separator':','  ,'pattern':','}"},
        {"split", "{'text':'a','separator':''}"},
        {"split", "{'text':'a','separator':1}"},
        {"split", "{'text':1,'separator':','}"},
        {"split", "{'text':'a','separator':',','max':0}"},
        {"split", "{'text':'a','separator':',','max':100001}"},
        {"join", "{}"},
        {"join", "{'parts':'a'}"},
        {"join", "{'parts':[null]}"},
        {"join", "{'parts':['a',['b']]}"},
        {"join", "{'parts':[],'separator':0}"},
        {"hash", "{}"},
        {"hash", "{'text':1}"},
        {"hash", "{'text':'','algorithm':'md5'}"},
        {"hash", "{'text':'','algorithm':1}"},
        {"diff", "{'old':''}"},
        {"diff", "{'new':''}"},
        {"diff", "{'old':1,'new':''}"},
        {"diff", "{'old':'','new':'','context':-1}"},
        {"diff", "{'old':'','new':'','context':1001}"}};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused(run(bad[i][0], "%s", bad[i][1]), "invalid");
    refused(run("split", "{'text':'a','pattern':'('}"), "bad_pattern");
}
END_TEST

/* A separator makes a short list a long text; that ends at 16 MiB. */
START_TEST(join_makes_no_endless_text)
{
    struct mortise_buf b;

    mortise_buf_init(&b, &test_mem);
    mortise_buf_puts(&b, "{\"separator\":\"");
    for (int i = 0; i < 20000; i++)
        mortise_buf_puts(&b, "x");
    mortise_buf_puts(&b, "\",\"parts\":[0");
    for (int i = 0; i < 1000; i++)
        mortise_buf_puts(&b, ",0");
    mortise_buf_puts(&b, "]}");
    refused(run_json("join", mortise_buf_cstr(&b)), "too_large");
    mortise_buf_finish(&b);
}
END_TEST

/* The vectors of FIPS 180 and of RFC 7693's reference for "abc". */
START_TEST(hashes_are_the_standard_ones)
{
    answered(run("hash", "{'text':'abc'}"),
             "{'hex':'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61"
             "f20015ad','bytes':3}");
    answered(run("hash", "{'text':'abc','algorithm':'blake2b-256'}"),
             "{'hex':'bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c0"
             "68d52319','bytes':3}");
    answered(run("hash", "{'text':'abc','algorithm':'sha512'}"),
             "{'hex':'ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee6"
             "4b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94f"
             "a54ca49f','bytes':3}");
    answered(run("hash", "{'text':''}"),
             "{'hex':'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b"
             "7852b855','bytes':0}");
}
END_TEST

/* ---- diff --------------------------------------------------------------- */

START_TEST(diff_shows_what_changed)
{
    answered(run("diff", "{'old':'a\\nb\\n','new':'a\\nb\\n'}"),
             "{'equal':true,'removed':0,'added':0,'unified':''}");
    answered(run("diff", "{'old':'','new':''}"),
             "{'equal':true,'removed':0,'added':0,'unified':''}");
    answered(run("diff", "{'old':'','new':'x\\n'}"),
             "{'equal':false,'removed':0,'added':1,'unified':'--- old\\n+++ "
             "new\\n@@ -0,0 +1,1 @@\\n+x\\n'}");
    answered(run("diff", "{'old':'a\\nb\\nc','new':'a\\nx\\nc\\n'}"),
             "{'equal':false,'removed':2,'added':2,'unified':'--- old\\n+++ "
             "new\\n@@ -1,3 +1,3 @@\\n a\\n-b\\n-c\\n\\\\ No newline at end of "
             "file\\n+x\\n+c\\n'}");
    answered(
        run("diff", "{'old':'1\\n2\\n3\\n4\\n5\\n','new':'0\\n1\\n2\\n3\\n"
                    "4\\n5\\n6\\n','context':1}"),
        "{'equal':false,'removed':0,'added':2,'unified':'--- old\\n+++ "
        "new\\n@@ -1,1 +1,2 @@\\n+0\\n 1\\n@@ -5,1 +6,2 @@\\n 5\\n+6\\n'}");
}
END_TEST

/* Apply a unified diff to `old`, believing no line of it: what it says of the
 * old text must be there. */
static char *patched(const char *old, const char *patch)
{
    char *out = calloc(1, strlen(old) + strlen(patch) + 1);
    const char *p = strstr(patch, "@@");
    unsigned line = 1;

    for (; p != NULL && *p != '\0';) {
        unsigned from, n, to, m;

        ck_assert_int_eq(sscanf(p, "@@ -%u,%u +%u,%u @@", &from, &n, &to, &m),
                         4);
        for (; line < from + (n == 0); line++) { /* what lies before */
            size_t len = strcspn(old, "\n") + 1;

            strncat(out, old, len);
            old += len;
        }
        for (p = strchr(p, '\n') + 1; *p != '\0' && *p != '@';) {
            size_t len = strcspn(p, "\n") + 1;
            const char *text = p + 1;
            size_t size = len - 1;
            char sign = *p;

            p += len;
            if (*p == '\\') { /* the line before it has no end */
                p += strcspn(p, "\n") + 1;
                size--;
            }
            if (sign != '+') {
                ck_assert_int_eq(strncmp(old, text, size), 0);
                old += size;
                line++;
                n--;
            }
            if (sign != '-') {
                strncat(out, text, size);
                m--;
            }
        }
        ck_assert_uint_eq(n, 0);
        ck_assert_uint_eq(m, 0);
    }
    return strcat(out, old);
}

/* How many lines the longest common subsequence has, by the textbook. */
static int common(const char *a, const char *b)
{
    static int t[64][64];
    int n = (int)strlen(a), m = (int)strlen(b);

    for (int i = n; i >= 0; i--)
        for (int k = m; k >= 0; k--)
            t[i][k] = i == n || k == m            ? 0
                      : a[i] == b[k]              ? t[i + 1][k + 1] + 1
                      : t[i + 1][k] > t[i][k + 1] ? t[i + 1][k]
                                                  : t[i][k + 1];
    return t[0][0];
}

/* Letters as lines; the last one without an end now and then. */
static void lines_of(char *out, const char *letters, bool open)
{
    size_t n = 0;

    for (; *letters != '\0'; letters++) {
        out[n++] = *letters;
        out[n++] = '\n';
    }
    out[n - (open && n > 0)] = '\0';
}

static void escaped(char *out, const char *text)
{
    for (; *text != '\0'; text++)
        out += sprintf(out, *text == '\n' ? "\\n" : "%c", *text);
    *out = '\0';
}

/* Of random texts, the result leads from the old to the new one and is as
 * short as can be. */
START_TEST(diffs_apply_and_are_shortest)
{
    uint32_t seed = 7;

    for (int round = 0; round < (matrix_is_whole() ? 1500 : 300); round++) {
        char letters[2][41], text[2][128], json[2][256], *got, *unified;
        int n[2], want;
        uint32_t letters_of = 1 + (uint32_t)round % 6;
        json_t *out;

        for (int s = 0; s < 2; s++) {
            seed = seed * 1664525u + 1013904223u;
            n[s] = (int)(seed >> 16) % 41;
            for (int i = 0; i < n[s]; i++) {
                seed = seed * 1664525u + 1013904223u;
                letters[s][i] = (char)('a' + (seed >> 16) % letters_of);
            }
            letters[s][n[s]] = '\0';
            lines_of(text[s], letters[s], round % 7 == s);
            escaped(json[s], text[s]);
        }
        ck_assert_int_eq(run("diff", "{'old':'%s','new':'%s','context':%d}",
                             json[0], json[1], round % 5),
                         MORTISE_S_OK);
        out = json_loads(host.out, 0, NULL);
        ck_assert_ptr_nonnull(out);
        unified = strdup(json_string_value(json_object_get(out, "unified")));
        got = patched(text[0], unified);
        ck_assert_str_eq(got, text[1]);
        want = common(letters[0], letters[1]);
        if (round % 7 > 1) {
            ck_assert_int_eq(
                json_integer_value(json_object_get(out, "removed")),
                n[0] - want);
            ck_assert_int_eq(json_integer_value(json_object_get(out, "added")),
                             n[1] - want);
        }
        free(got);
        free(unified);
        json_decref(out);
    }
}
END_TEST

/* Two long texts without anything in common end soon, with a right answer. */
START_TEST(diff_of_strangers_ends)
{
    enum { LINES = 40000 };
    struct mortise_buf b;
    json_t *out;

    mortise_buf_init(&b, &test_mem);
    for (int s = 0; s < 2; s++) {
        mortise_buf_puts(&b, s == 0 ? "{\"old\":\"" : "\",\"new\":\"");
        for (int i = 0; i < LINES; i++)
            mortise_buf_printf(&b, "%c%d\\n", s == 0 ? 'o' : 'n', i % 977);
    }
    mortise_buf_puts(&b, "\"}");
    ck_assert_int_eq(run_json("diff", mortise_buf_cstr(&b)), MORTISE_S_OK);
    out = json_loads(host.out, 0, NULL);
    ck_assert_int_eq(json_integer_value(json_object_get(out, "removed")),
                     LINES);
    ck_assert_int_eq(json_integer_value(json_object_get(out, "added")), LINES);
    json_decref(out);
    mortise_buf_finish(&b);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("bundled_text");
    TCase *tc = tcase_create("text");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, lines_are_cut);
    tcase_add_test(tc, bad_arguments_are_refused);
    tcase_add_test(tc, grep_finds_lines);
    tcase_add_test(tc, long_lines_are_cut_in_results);
    tcase_add_test(tc, count_counts_lines);
    tcase_add_test(tc, patterns_are_bounded);
    tcase_add_test(tc, top_ranks);
    tcase_add_test(tc, bad_patterns_are_refused);
    tcase_add_test(tc, catastrophic_patterns_end);
    tcase_add_test(tc, a_crawling_match_ends);
    tcase_add_test(tc, a_deadline_is_kept);
    tcase_add_test(tc, templates_put_values);
    tcase_add_test(tc, templates_have_sections);
    tcase_add_test(tc, nothing_is_left_out);
    tcase_add_test(tc, lone_tags_leave_no_line);
    tcase_add_test(tc, bad_templates_are_refused);
    tcase_add_test(tc, templates_are_bounded);
    tcase_add_test(tc, split_cuts_at_separators);
    tcase_add_test(tc, join_is_the_inverse_of_split);
    tcase_add_test(tc, pieces_refuse_what_makes_no_sense);
    tcase_add_test(tc, join_makes_no_endless_text);
    tcase_add_test(tc, hashes_are_the_standard_ones);
    tcase_add_test(tc, diff_shows_what_changed);
    tcase_add_test(tc, diffs_apply_and_are_shortest);
    tcase_add_test(tc, diff_of_strangers_ends);
    tcase_add_loop_test(tc, cancelling_ends_a_call, 0, N_CALLS);
    tcase_add_loop_test(tc, a_deaf_host_gets_its_own_status, 0, N_CALLS);
    tcase_add_loop_test(tc, survives_oom, 0, N_CALLS);
    tcase_add_test(tc, create_survives_oom);
    tcase_add_test(tc, a_large_text_is_fine);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
