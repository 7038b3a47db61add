/* test_bundled_local.c -- the memory in a file, from any host's point of view:
 * what <mortise/memory.h> says, what becomes of it when processes die or others
 * use the file, and files that are none of its own.
 *
 * What is on the disk is also read by SQLite's library itself, which shares no
 * code with the plugin. */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mortise/memory.h>

#include "core/json/value.h"
#include "lib/barehost.h"
#include "lib/test.h"

#define NOW "\"tenant\":\"t\",\"now\":1000000"

static struct mortise_host host;
static mortise_host_api api; /* bare_api with a model */
static const mortise_plugin *plugin;
static mortise_inst *inst;
static const mortise_memory *memory;
static char dir[] = "/tmp/mortise-local-XXXXXX", path[64], config[256];
static json_t *said; /* the last output */
static bool model_fails;
static int embeds;

/* ---- a model: a vector has how often a text has each of the first letters  */

static mortise_status embed(mortise_host *h, mortise_call call,
                            mortise_str method, mortise_str body,
                            mortise_str *answer)
{
    static char text[1 << 20];
    size_t n = 0;
    mortise_jv v, one;
    mortise_jv_iter it;

    (void)h;
    (void)call;
    ck_assert(mortise_str_is(method, MORTISE_MODEL_EMBED_1));
    ck_assert_int_eq(mortise_jv_parse(body, &v), MORTISE_S_OK);
    ck_assert(mortise_jv_is(mortise_jv_get(v, "alias"), mortise_strz("e")));
    embeds++;
    if (model_fails) {
        *answer = mortise_strz("{\"error\":{\"code\":\"model.server\"}}");
        return MORTISE_S_OK;
    }
    n += (size_t)snprintf(text, sizeof text, "{\"reply\":{\"vectors\":[");
    it = mortise_jv_each(mortise_jv_get(v, "texts"));
    for (int k = 0; mortise_jv_next(&it, NULL, &one); k++) {
        int count[8] = {0};

        for (uint64_t i = 0; i < one.n; i++)
            if (one.p[i] >= 'a' && one.p[i] < 'a' + 8)
                count[one.p[i] - 'a']++;
        n += (size_t)snprintf(text + n, sizeof text - n, "%s[",
                              k > 0 ? "," : "");
        for (int i = 0; i < 8; i++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%d",
                                  i > 0 ? "," : "", count[i]);
        n += (size_t)snprintf(text + n, sizeof text - n, "]");
    }
    n += (size_t)snprintf(text + n, sizeof text - n, "]}}");
    *answer = mortise_strn(text, n);
    return MORTISE_S_OK;
}

/* ---- one instance -------------------------------------------------------- */

static bool open_with(const char *more)
{
    snprintf(config, sizeof config, "{\"directory\":\"%s\"%s}", dir, more);
    if (plugin->create(&host, &api, mortise_strz(config), &inst) !=
        MORTISE_S_OK)
        return false;
    memory = plugin->get_interface(inst, MORTISE_MEMORY_1);
    ck_assert_ptr_nonnull(memory);
    return true;
}

static void close_it(void)
{
    if (inst != NULL)
        plugin->destroy(inst);
    inst = NULL;
}

static void setup(void)
{
    strcpy(dir + strlen(dir) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/traces.db", dir);
    bare_init(&host);
    api = bare_api;
    api.ask_wait = embed;
    plugin = bare_plugin("local");
    model_fails = false;
    embeds = 0;
    ck_assert_msg(open_with(""), "%s", host.msg);
}

static void teardown(void)
{
    char command[128];

    close_it();
    json_decref(said);
    said = NULL;
    bare_finish(&host);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    ck_assert_int_eq(system(command), 0);
}

static mortise_status ask(mortise_status (*fn)(mortise_inst *,
                                               const mortise_request *),
                          const char *body)
{
    mortise_request r = {.size = sizeof r, .call = 1, .attempt = 1, .visit = 1};
    mortise_status status;

    bare_clear(&host);
    r.body = mortise_strz(body);
    status = fn(inst, &r);
    json_decref(said);
    said = host.out != NULL ? json_loads(host.out, 0, NULL) : NULL;
    ck_assert(status != MORTISE_S_OK || said != NULL);
    return status;
}

/* Members behind those that every request has; it is right. */
static void MORTISE_PRINTF(2, 3)
    do_it(mortise_status (*fn)(mortise_inst *, const mortise_request *),
          const char *fmt, ...)
{
    char more[16384], body[17000];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(more, sizeof more, fmt, ap);
    va_end(ap);
    snprintf(body, sizeof body, "{" NOW ",%s}", more);
    ck_assert_msg(ask(fn, body) == MORTISE_S_OK, "%s: %s", body, host.msg);
}

#define READ(...)   do_it(memory->read, __VA_ARGS__)
#define WRITE(...)  do_it(memory->write, __VA_ARGS__)
#define FORGET(...) do_it(memory->forget, __VA_ARGS__)

static void put(const char *id, const char *more, const char *content)
{
    WRITE(
        "\"traces\":[{\"id\":\"%s\",\"type\":\"semantic\",\"scope\":\"global\""
        ",\"strength\":0.5,\"created_at\":1000000%s,\"content\":\"%s\"}]",
        id, more, content);
}

static json_int_t number(const char *name)
{
    ck_assert(json_is_integer(json_object_get(said, name)));
    return json_integer_value(json_object_get(said, name));
}

/* "a b c", the ids of what was found, in its order. */
static const char *found(void)
{
    static char ids[8192];
    const json_t *one;
    size_t i, n = 0;

    ids[0] = '\0';
    json_array_foreach(json_object_get(said, "traces"), i, one) n +=
        (size_t)snprintf(ids + n, sizeof ids - n, "%s%s", i > 0 ? " " : "",
                         json_string_value(json_object_get(one, "id")));
    return ids;
}

static double strength_of(size_t k)
{
    return json_real_value(json_object_get(
        json_array_get(json_object_get(said, "traces"), k), "strength"));
}

/* What a reader of its own counts. */
static int64_t count(const char *sql)
{
    sqlite3_stmt *s;
    sqlite3 *db;
    int64_t n;

    ck_assert_int_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL),
                     SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(s), SQLITE_ROW);
    n = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    sqlite3_close(db);
    return n;
}

/* ---- what is kept -------------------------------------------------------- */

/* All that was written of a trace is read. */
START_TEST(a_trace_comes_back_whole)
{
    const json_t *t;

    WRITE("\"traces\":[{\"id\":\"a\",\"type\":\"prospective\",\"scope\":"
          "\"session\",\"key\":\"s\\u00e4\",\"content\":\"Ring \\\"Anna\\\"\\n"
          "\\ud83d\\ude00\",\"strength\":1,\"created_at\":999999,\"metadata\":"
          "{\"x\":[1,null,\"\\u00e9\"]}}]");
    ck_assert_int_eq(number("written"), 1);
    ck_assert_int_eq(number("seq"), 1);
    READ("\"max_traces\":5");
    t = json_array_get(json_object_get(said, "traces"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(t, "type")),
                     "prospective");
    ck_assert_str_eq(json_string_value(json_object_get(t, "scope")), "session");
    ck_assert_str_eq(json_string_value(json_object_get(t, "key")), "s\u00e4");
    ck_assert_str_eq(json_string_value(json_object_get(t, "content")),
                     "Ring \"Anna\"\n\U0001F600");
    ck_assert_int_eq(json_integer_value(json_object_get(t, "created_at")),
                     999999);
    ck_assert_str_eq(
        json_string_value(json_array_get(
            json_object_get(json_object_get(t, "metadata"), "x"), 2)),
        "\u00e9");
    ck_assert_int_eq(number("seq"), 1);
    READ("\"max_traces\":0");
    ck_assert_str_eq(found(), "");
    ck_assert_int_eq(number("seq"), 1);
}
END_TEST

/* A tenant sees what is its own, by whatever way; one that wrote nothing is not
 * even made. */
START_TEST(tenants_are_apart)
{
    put("a", "", "the whale");
    put("b", "", "the bear");
    ck_assert_int_eq(
        ask(memory->write,
            "{\"tenant\":\"u\",\"now\":1000000,\"traces\":[{\"id\":\"a\","
            "\"type\":"
            "\"semantic\",\"scope\":\"global\",\"content\":\"whale song\","
            "\"strength\":0.5,\"created_at\":1}]}"),
        MORTISE_S_OK);
    ck_assert_int_eq(number("seq"), 1);
    ck_assert_int_eq(ask(memory->read, "{\"tenant\":\"u\",\"now\":1000000,"
                                       "\"max_traces\":9,\"query\":\"whale\"}"),
                     MORTISE_S_OK);
    ck_assert_str_eq(found(), "a");
    ck_assert_int_eq(
        ask(memory->forget, "{\"tenant\":\"u\",\"now\":1000000,\"all\":true}"),
        MORTISE_S_OK);
    ck_assert_int_eq(number("forgotten"), 1);
    ck_assert_int_eq(ask(memory->read, "{\"tenant\":\"v\",\"now\":1000000,"
                                       "\"max_traces\":9,\"ids\":[\"a\"]}"),
                     MORTISE_S_OK);
    ck_assert_str_eq(found(), "");
    ck_assert_int_eq(number("seq"), 0);
    READ("\"max_traces\":9,\"query\":\"whale\"");
    ck_assert_str_eq(found(), "a");
    ck_assert_int_eq(count("SELECT count(*) FROM tenant"), 2);
}
END_TEST

/* Said twice is said once: a trace, a use; and neither moves the number. */
START_TEST(twice_is_once)
{
    put("a", "", "one");
    put("a", "", "another");
    ck_assert_int_eq(number("written"), 0);
    ck_assert_int_eq(number("seq"), 1);
    READ("\"max_traces\":9,\"query\":\"another\"");
    ck_assert_str_eq(found(), "");
    for (int k = 0; k < 3; k++)
        WRITE("\"uses\":[{\"id\":\"a\",\"by\":\"r\",\"at\":1000000},"
              "{\"id\":\"none\",\"by\":\"r\",\"at\":1000000}]");
    ck_assert_int_eq(number("seq"), 2);
    READ("\"max_traces\":9");
    ck_assert_double_eq_tol(strength_of(0), 0.6, 1e-9); /* 0.5 + 0.2 * 0.5 */
    ck_assert_int_eq(count("SELECT count(*) FROM use"), 1);
}
END_TEST

/* Half after a half-life; a use counts at its time, whichever comes first. */
START_TEST(strength_fades_and_grows)
{
    double first;

    close_it();
    ck_assert(open_with(",\"half_life_hours\":1,\"boost\":0.5"));
    put("a", "", "one");
    ck_assert_int_eq(ask(memory->read, "{\"tenant\":\"t\",\"now\":4600000,"
                                       "\"max_traces\":9}"),
                     MORTISE_S_OK);
    ck_assert_double_eq_tol(strength_of(0), 0.25, 1e-9);
    WRITE("\"uses\":[{\"id\":\"a\",\"by\":\"2\",\"at\":4600000}]");
    WRITE("\"uses\":[{\"id\":\"a\",\"by\":\"1\",\"at\":2000000}]");
    READ("\"max_traces\":9,\"as_of\":1");
    ck_assert_double_eq_tol(strength_of(0), 0.5, 1e-9);
    ask(memory->read, "{\"tenant\":\"t\",\"now\":4600000,\"max_traces\":9}");
    first = strength_of(0);
    ck_assert_int_eq(ask(memory->read,
                         "{\"tenant\":\"t\",\"now\":4600000,\"max_traces\":9,"
                         "\"min_strength\":0.99}"),
                     MORTISE_S_OK);
    ck_assert_str_eq(found(), "");
    put("b", "", "one");
    WRITE("\"uses\":[{\"id\":\"b\",\"by\":\"1\",\"at\":2000000},{\"id\":\"b\","
          "\"by\":\"2\",\"at\":4600000}]");
    ask(memory->read, "{\"tenant\":\"t\",\"now\":4600000,\"max_traces\":9}");
    ck_assert_double_eq_tol(strength_of(0), first, 1e-12);
    ck_assert_double_eq_tol(strength_of(1), first, 1e-12);
}
END_TEST

/* Scopes by their keys, types, ids. */
START_TEST(places_and_types)
{
    put("g", "", "word");
    WRITE(
        "\"traces\":["
        "{\"id\":\"s1\",\"type\":\"episodic\",\"scope\":\"session\",\"key\":"
        "\"1\",\"content\":\"word\",\"strength\":0.4,\"created_at\":1000000},"
        "{\"id\":\"s2\",\"type\":\"semantic\",\"scope\":\"session\",\"key\":"
        "\"2\",\"content\":\"word\",\"strength\":0.3,\"created_at\":1000000},"
        "{\"id\":\"p1\",\"type\":\"episodic\",\"scope\":\"persona\",\"key\":"
        "\"1\",\"content\":\"word\",\"strength\":0.2,\"created_at\":1000000}]");
    for (int k = 0; k < 2; k++) {
        const char *q = k == 0 ? "" : ",\"query\":\"words\"";

        READ("\"max_traces\":9%s", q);
        ck_assert_str_eq(found(), "g s1 s2 p1");
        READ("\"max_traces\":9,\"keys\":{\"session\":\"1\"}%s", q);
        ck_assert_str_eq(found(), "g s1");
        READ("\"max_traces\":9,\"keys\":{\"session\":\"1\",\"persona\":\"1\"},"
             "\"scope\":\"session\"%s",
             q);
        ck_assert_str_eq(found(), "s1");
        READ("\"max_traces\":9,\"keys\":{\"persona\":\"9\"},\"scope\":"
             "\"persona\"%s",
             q);
        ck_assert_str_eq(found(), "");
        READ("\"max_traces\":9,\"scope\":\"session\"%s", q);
        ck_assert_str_eq(found(), "s1 s2");
        READ("\"max_traces\":9,\"types\":[\"episodic\"]%s", q);
        ck_assert_str_eq(found(), "s1 p1");
    }
    READ("\"max_traces\":9,\"ids\":[\"s2\",\"x\",\"g\"]");
    ck_assert_str_eq(found(), "s2 g");
    READ(
        "\"max_traces\":9,\"ids\":[\"s2\",\"g\"],\"keys\":{\"session\":\"1\"}");
    ck_assert_str_eq(found(), "g");
}
END_TEST

#define LONG_WORD                                                              \
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

/* Words are found by their stems, without accents and case; more of a query's
 * words, rarer ones and shorter texts are better. */
START_TEST(words_are_found)
{
    put("a", "", "The Caf\\u00e9 was opening early");
    put("b", "",
        "opened doors, and a great many other things that are told of "
        "at length, and again, and then once more for those who sleep");
    put("c", "", "opened doors");
    READ("\"max_traces\":9,\"query\":\"cafe OPEN!\"");
    ck_assert_str_eq(found(), "a c b");
    READ("\"max_traces\":1,\"query\":\"doors\"");
    ck_assert_str_eq(found(), "c");
    READ("\"max_traces\":9,\"query\":\"\\\" OR NEAR(* -:()^\"");
    ck_assert_str_eq(found(), "");
    READ("\"max_traces\":9,\"query\":\"\"");
    ck_assert_str_eq(found(), "");
    READ("\"max_traces\":9,\"query\":\"zebra\"");
    ck_assert_str_eq(found(), "");
    put("d", "", LONG_WORD " was built");
    READ("\"max_traces\":9,\"query\":\"which is " LONG_WORD "?\"");
    ck_assert_str_eq(found(), "d");
}
END_TEST

/* Where words have no blanks between them, by pairs of their characters; beside
 * words that have. */
START_TEST(scripts_without_blanks)
{
    static const struct {
        const char *query, *ids;
    } asked[] = {
        {"北京", "zh"},
        {"京", "zh ja"},
        {"天气怎么样", "zh"},
        {"海上", ""},
        {"東京タワー", "ja"},
        {"ラーメン", "ja"},
        {"서울", "ko"},
        {"SQLite数据库", "mix"},
        {"sqlite", "mix"},
        {"他住在北京。", "zh"},
        {"\U00020000\U00020001", "rare"},
        {"数据", "mix"},
    };

    put("zh", "", "她喜欢北京的天气。");
    put("ja", "", "東京でラーメンを食べた");
    put("ko", "", "그는 서울에서 산다");
    put("mix", "", "用SQLite数据库保存");
    put("rare", "", "\U00020000\U00020001\U00020002");
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        READ("\"max_traces\":9,\"query\":\"%s\"", asked[i].query);
        ck_assert_msg(strcmp(found(), asked[i].ids) == 0, "%s: %s",
                      asked[i].query, found());
    }
    FORGET("\"ids\":[\"zh\"]");
    READ("\"max_traces\":9,\"query\":\"北京\"");
    ck_assert_str_eq(found(), "");
}
END_TEST

/* As many words as are looked for, each as long as counts. */
START_TEST(long_words_are_found)
{
    char text[32 * 260 + 1];
    size_t n = 0;

    for (int i = 0; i < 32; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "w%02d%0250d ", i, 7);
    put("long", "", text);
    READ("\"max_traces\":9,\"query\":\"%s\"", text);
    ck_assert_str_eq(found(), "long");
}
END_TEST

/* A word that thousands have opens its newest alone; a rare one beside it is
 * found wherever it is, also among the traces of one session. */
START_TEST(common_words_hide_no_rare_one)
{
    char more[64];

    put("old", "", "common needle");
    for (int k = 0; k < 6; k++) {
        static char body[1 << 18];
        size_t n = (size_t)snprintf(body, sizeof body, "{" NOW ",\"traces\":[");

        for (int i = 0; i < 500; i++)
            n += (size_t)snprintf(
                body + n, sizeof body - n,
                "%s{\"id\":\"%d\",\"type\":\"semantic\",\"scope\":\"session\","
                "\"key\":\"%d\",\"strength\":0.5,\"created_at\":1000000,"
                "\"content\":\"common straw\"}",
                i > 0 ? "," : "", 500 * k + i, i == 0 ? 1 : 2);
        snprintf(body + n, sizeof body - n, "]}");
        ck_assert_int_eq(ask(memory->write, body), MORTISE_S_OK);
    }
    READ("\"max_traces\":3,\"query\":\"common needle\"");
    ck_assert_int_eq(strncmp(found(), "old", 3), 0);
    READ("\"max_traces\":9,\"query\":\"common\",\"keys\":{\"session\":\"1\"},"
         "\"scope\":\"session\"");
    ck_assert_str_eq(found(), "2500 2000 1500 1000 500 0");
    snprintf(more, sizeof more, "\"max_traces\":2,\"query\":\"common\"");
    READ("%s", more);
    ck_assert_str_eq(found(), "2999 2998");
}
END_TEST

/* Nor do many weak ones hide a strong one, which is asked for. */
START_TEST(weak_ones_hide_no_strong_one)
{
    static char body[1 << 18];
    size_t n = (size_t)snprintf(body, sizeof body, "{" NOW ",\"traces\":[");

    put("strong", "", "common straw");
    for (int i = 0; i < 900; i++)
        n += (size_t)snprintf(body + n, sizeof body - n,
                              "%s{\"id\":\"%d\",\"type\":\"semantic\","
                              "\"scope\":\"global\",\"strength\":0.1,"
                              "\"created_at\":1000000,\"content\":\"common "
                              "straw\"}",
                              i > 0 ? "," : "", i);
    snprintf(body + n, sizeof body - n, "]}");
    ck_assert_int_eq(ask(memory->write, body), MORTISE_S_OK);
    READ("\"max_traces\":3,\"query\":\"straw\",\"min_strength\":0.4");
    ck_assert_str_eq(found(), "strong");
}
END_TEST

/* A read as of a number sees what was there then, but nothing that was forgotten
 * since. */
START_TEST(as_of_sees_what_was_there)
{
    put("a", "", "word");
    put("b", "", "word");
    put("c", "", "word");
    for (int k = 0; k < 4; k++) {
        static const char *const there[] = {"", "a", "b a", "c b a"};

        READ("\"max_traces\":9,\"as_of\":%d,\"order\":\"time\"", k);
        ck_assert_str_eq(found(), there[k]);
        ck_assert_int_eq(number("seq"), k);
        READ("\"max_traces\":9,\"as_of\":%d,\"query\":\"word\"", k);
        ck_assert_int_eq((int)json_array_size(json_object_get(said, "traces")),
                         k);
        READ("\"max_traces\":9,\"as_of\":%d,\"ids\":[\"c\"]", k);
        ck_assert_str_eq(found(), k == 3 ? "c" : "");
    }
    FORGET("\"ids\":[\"a\",\"x\"]");
    ck_assert_int_eq(number("forgotten"), 1);
    ck_assert_int_eq(number("seq"), 4);
    READ("\"max_traces\":9,\"as_of\":2,\"query\":\"word\"");
    ck_assert_str_eq(found(), "b");
}
END_TEST

/* What was forgotten is nowhere in the file, and is not written again by who
 * delivers it again; a person may bring it back. */
START_TEST(forgetting_is_for_good)
{
    char command[160];

    put("a", "", "xylophone");
    put("b", "", "drums");
    WRITE("\"uses\":[{\"id\":\"a\",\"by\":\"r\",\"at\":1000000}]");
    FORGET("\"types\":[\"semantic\"],\"before\":1000000");
    ck_assert_int_eq(number("forgotten"), 0);
    FORGET("\"ids\":[\"a\"]");
    FORGET("\"ids\":[\"a\"]");
    ck_assert_int_eq(number("forgotten"), 0);
    ck_assert_int_eq(number("seq"), 4);
    put("a", "", "xylophone");
    ck_assert_int_eq(number("written"), 0);
    READ("\"max_traces\":9,\"query\":\"xylophone\"");
    ck_assert_str_eq(found(), "");
    close_it();
    snprintf(command, sizeof command, "grep -rqs xylophon %s", dir);
    ck_assert_int_ne(system(command), 0);
    ck_assert(open_with(""));
    WRITE("\"restore\":true,\"traces\":[{\"id\":\"a\",\"type\":\"semantic\","
          "\"scope\":\"global\",\"strength\":0.5,\"created_at\":1000000,"
          "\"content\":\"xylophone\"}]");
    ck_assert_int_eq(number("written"), 1);
    READ("\"max_traces\":9,\"query\":\"xylophone\"");
    ck_assert_str_eq(found(), "a");
    FORGET("\"all\":true");
    ck_assert_int_eq(number("forgotten"), 2);
    ck_assert_int_eq(count("SELECT count(*) FROM place"), 0);
    ck_assert_int_ne(ask(memory->forget, "{" NOW "}"), MORTISE_S_OK);
    ck_assert_str_eq(host.code, MORTISE_MEMORY_REQUEST);
}
END_TEST

/* Page by page nothing is missed and nothing comes twice, while others write. */
START_TEST(pages_are_whole)
{
    char after[80] = "", all[256] = "";

    for (int k = 0; k < 7; k++) {
        char id[16];

        snprintf(id, sizeof id, "%d", k);
        put(id, k % 2 ? ",\"metadata\":{}" : "", "x");
    }
    for (int k = 0;; k++) {
        const char *next;

        READ("\"max_traces\":3,\"order\":\"time\"%s", after);
        strcat(strcat(all, found()), ";");
        next = json_string_value(json_object_get(said, "next"));
        if (next == NULL)
            break;
        snprintf(after, sizeof after, ",\"after\":\"%s\"", next);
        put(k == 0 ? "new" : "newer", "", "x");
    }
    ck_assert_str_eq(all, "6 5 4;3 2 1;0;");
    ck_assert_int_ne(ask(memory->read, "{" NOW ",\"max_traces\":3,\"order\":"
                                       "\"time\",\"after\":\"x\"}"),
                     MORTISE_S_OK);
}
END_TEST

/* So is it over several places, of which one has more than a page, and so is
 * forgetting. */
START_TEST(places_are_whole)
{
    char after[80] = "";
    size_t n = 0;

    put("g1", "", "x");
    for (int k = 0; k < 700; k++) {
        char id[16];

        snprintf(id, sizeof id, "%d", k);
        WRITE("\"traces\":[{\"id\":\"%s\",\"type\":\"semantic\",\"scope\":"
              "\"session\",\"key\":\"k\",\"strength\":0.5,\"created_at\":"
              "1000000,\"content\":\"x\"}]",
              id);
        if (k == 350)
            put("g2", "", "x");
    }
    for (int k = 0; k < 300; k++) {
        const char *next;

        READ("\"max_traces\":4,\"order\":\"time\",\"keys\":{\"session\":"
             "\"k\"}%s",
             after);
        n += json_array_size(json_object_get(said, "traces"));
        next = json_string_value(json_object_get(said, "next"));
        if (next == NULL)
            break;
        snprintf(after, sizeof after, ",\"after\":\"%s\"", next);
    }
    ck_assert_uint_eq(n, 702);
    FORGET("\"types\":[\"semantic\"],\"keys\":{\"session\":\"k\"}");
    ck_assert_int_eq(number("forgotten"), 702);
}
END_TEST

/* ---- files --------------------------------------------------------------- */

static void write_file(const char *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");

    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

static void make_database(const char *sql)
{
    sqlite3 *db;

    unlink(path);
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static uint64_t sum_of_file(void)
{
    FILE *f = fopen(path, "rb");
    uint64_t sum = 0;
    int c;

    ck_assert_ptr_nonnull(f);
    while ((c = getc(f)) != EOF)
        sum = sum * 31 + (uint64_t)c;
    fclose(f);
    return sum;
}

/* A file that is none of its own is refused in words, and left as it is. */
START_TEST(a_foreign_file_is_left_alone)
{
    static const char *const words[] = {
        "not a file of traces", "of another program", "of another program",
        "later version",        "is damaged",         "before 0.2.0"};
    uint64_t before;

    close_it();
    unlink(path);
    if (_i == 0)
        write_file("my novel, chapter one: it was a dark and stormy night", 53);
    else if (_i == 1)
        make_database("CREATE TABLE x (y); INSERT INTO x VALUES (1)");
    else if (_i == 2)
        make_database("PRAGMA application_id=5; CREATE TABLE x (y)");
    else if (_i == 5)
        make_database("PRAGMA application_id=0x4d6d656d; PRAGMA user_version=1;"
                      "CREATE TABLE trace (y)");
    else if (_i == 4)
        make_database("PRAGMA application_id=0x4d747263; CREATE TABLE trace "
                      "(y)");
    else
        make_database("PRAGMA application_id=0x4d747263; PRAGMA user_version=9;"
                      "CREATE TABLE trace (y)");
    before = sum_of_file();
    ck_assert(!open_with(""));
    ck_assert_str_eq(host.code, MORTISE_MEMORY_CORRUPT);
    ck_assert_msg(strstr(host.msg, words[_i]) != NULL, "%s", host.msg);
    ck_assert_uint_eq(sum_of_file(), before);
}
END_TEST

/* A file that lacks a part is damaged, and no request is wrong. */
START_TEST(a_table_that_is_gone)
{
    sqlite3 *db;

    put("a", "", "word");
    close_it();
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, "DROP TABLE gone", NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    ck_assert(open_with(""));
    ck_assert_int_ne(ask(memory->forget, "{" NOW ",\"ids\":[\"a\"]}"),
                     MORTISE_S_OK);
    ck_assert_str_eq(host.code, MORTISE_MEMORY_CORRUPT);
    ck_assert_ptr_nonnull(strstr(host.msg, "no such table"));
}
END_TEST

/* Runs it on the file, as somebody else. */
static sqlite3 *by_hand(const char *sql)
{
    sqlite3 *db;

    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    return db;
}

/* A value that nobody could have written is damage, and named, not handed on. */
START_TEST(a_value_that_is_none)
{
    static const char *const wrong[] = {
        "created = -1", "created = 253402300800000",
        "created = -9223372036854775807, at = -9223372036854775807",
        "strength = 2", "by_now = 1.5"};

    put("a", "", "word");
    put("b", "", "another");
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
        char sql[160];

        snprintf(sql, sizeof sql,
                 "UPDATE trace SET created = 1, at = 1, strength = 0.5, "
                 "by_now = 0.5; UPDATE trace SET %s WHERE id = 'a'",
                 wrong[k]);
        sqlite3_close(by_hand(sql));
        ck_assert_int_ne(ask(memory->read, "{" NOW ",\"max_traces\":9,"
                                           "\"query\":\"word\"}"),
                         MORTISE_S_OK);
        ck_assert_str_eq(host.code, MORTISE_MEMORY_CORRUPT);
        ck_assert_msg(strstr(host.msg, "of trace 'a' is invalid") != NULL, "%s",
                      host.msg);
        READ("\"max_traces\":9,\"query\":\"another\"");
        ck_assert_str_eq(found(), "b");
    }
}
END_TEST

/* Whoever has the file locked is busy, also while it is opened; to open it waits
 * for nobody who writes. */
START_TEST(a_locked_file_is_busy)
{
    sqlite3 *db;

    put("a", "", "word");
    close_it();
    db = by_hand("PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE");
    ck_assert(!open_with(""));
    ck_assert_str_eq(host.code, MORTISE_MEMORY_BUSY);
    ck_assert_str_eq(host.klass, "transient");
    ck_assert_msg(strstr(host.msg, "is locked by another process") != NULL,
                  "%s", host.msg);
    sqlite3_close(db);
    db = by_hand("BEGIN IMMEDIATE");
    ck_assert_msg(open_with(""), "%s", host.msg);
    READ("\"max_traces\":9");
    ck_assert_str_eq(found(), "a");
    ck_assert_int_ne(ask(memory->forget, "{" NOW ",\"all\":true}"),
                     MORTISE_S_OK);
    ck_assert_str_eq(host.code, MORTISE_MEMORY_BUSY);
    sqlite3_close(db);
    FORGET("\"all\":true");
}
END_TEST

/* While another process makes the file, it is busy. */
START_TEST(one_that_is_made_meanwhile)
{
    int fd;

    close_it();
    unlink(path);
    fd = open(dir, O_RDONLY | O_DIRECTORY);
    ck_assert_int_eq(flock(fd, LOCK_EX), 0);
    ck_assert(!open_with(""));
    ck_assert_str_eq(host.code, MORTISE_MEMORY_BUSY);
    ck_assert_str_eq(host.klass, "transient");
    close(fd);
    ck_assert(open_with(""));
}
END_TEST

/* What a removed file left beside it is not taken into the new one; nor is what a
 * process left that died while it made one. */
START_TEST(leftovers_are_not_taken)
{
    char command[512];

    put("old", "", "an old word");
    snprintf(command, sizeof command,
             "cp %s-wal %s/w && cp %s %s.new && cp %s-wal %s.new-wal", path,
             dir, path, path, path, path);
    ck_assert_int_eq(system(command), 0);
    close_it();
    snprintf(command, sizeof command, "mv %s/w %s-wal && rm %s", dir, path,
             path);
    ck_assert_int_eq(system(command), 0);
    ck_assert_msg(open_with(""), "%s", host.msg);
    READ("\"max_traces\":9");
    ck_assert_str_eq(found(), "");
    put("new", "", "a new word");
    close_it();
    snprintf(command, sizeof command, "test \"$(ls %s)\" = traces.db", dir);
    ck_assert_int_eq(system(command), 0);
    ck_assert(open_with(""));
    READ("\"max_traces\":9");
    ck_assert_str_eq(found(), "new");
}
END_TEST

/* An empty file is filled. */
START_TEST(an_empty_file_is_filled)
{
    close_it();
    write_file("", 0);
    ck_assert_msg(open_with(""), "%s", host.msg);
    put("a", "", "word");
    READ("\"max_traces\":9");
    ck_assert_str_eq(found(), "a");
}
END_TEST

/* Change the file without its log, and die in the middle: the pages are in the file,
 * and what they were is in a journal beside it. */
static void die_with_a_hot_journal(void)
{
    sqlite3 *db = by_hand("PRAGMA journal_mode=DELETE; PRAGMA cache_size=1;"
                          "PRAGMA cache_spill=1; BEGIN IMMEDIATE");

    for (int i = 0; i < 400; i++)
        sqlite3_exec(db, "UPDATE trace SET content = hex(randomblob(2000))",
                     NULL, NULL, NULL);
    _exit(0);
}

/* What a process left half done in the file itself is taken back by the next one
 * that opens it: it does not begin with a connection that only reads. */
START_TEST(a_hot_journal_is_rolled_back)
{
    char journal[80];
    struct stat st;
    int status;
    pid_t pid;

    for (int i = 0; i < 30; i++) {
        char id[16];

        snprintf(id, sizeof id, "t%d", i);
        put(id, "", "what it was");
    }
    close_it();
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        die_with_a_hot_journal();
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    snprintf(journal, sizeof journal, "%s-journal", path);
    ck_assert_int_eq(stat(journal, &st), 0);
    ck_assert_int_gt(st.st_size, 1000);
    ck_assert_msg(open_with(""), "%s", host.msg);
    READ("\"max_traces\":99,\"query\":\"what it was\"");
    ck_assert_int_eq((int)json_array_size(json_object_get(said, "traces")), 30);
    ck_assert_int_ne(stat(journal, &st), 0);
}
END_TEST

/* Wrong bytes anywhere in it are an error in words, or no matter; what can be
 * read is right, and nothing dies of it. */
START_TEST(wrong_bytes_are_told)
{
    struct stat st;
    int bad = 0, fd;

    for (int k = 0; k < 40; k++) {
        char id[16];

        snprintf(id, sizeof id, "id%d", k);
        put(id, "",
            "some words that are kept in a file, some more of them, and "
            "then words again to fill its pages with");
    }
    FORGET("\"ids\":[\"id0\"]");
    close_it();
    ck_assert_int_eq(stat(path, &st), 0);
    for (off_t at = 100; at < st.st_size; at += st.st_size / 61) {
        char command[160], wrong[64], was[64];
        ssize_t n;

        fd = open(path, O_RDWR);
        n = pread(fd, was, sizeof was, at);
        memset(wrong, 0xA7, sizeof wrong);
        ck_assert_int_eq(pwrite(fd, wrong, (size_t)n, at), n);
        if (open_with("")) {
            static const char read[] =
                "{" NOW ",\"max_traces\":50,\"query\":\"words kept\"}";
            mortise_status status = ask(memory->read, read);

            bad += status != MORTISE_S_OK;
            ck_assert(status == MORTISE_S_OK || host.code[0] != '\0');
            status = ask(memory->read,
                         "{" NOW ",\"max_traces\":50,\"order\":\"time\"}");
            bad += status != MORTISE_S_OK;
            close_it();
        } else {
            bad++;
            ck_assert_str_ne(host.msg, "");
        }
        ck_assert_int_eq(pwrite(fd, was, (size_t)n, at), n);
        close(fd);
        snprintf(command, sizeof command, "rm -f %s-wal %s-shm", path, path);
        ck_assert_int_eq(system(command), 0);
    }
    ck_assert_int_gt(bad, 0);
    ck_assert(open_with(""));
    READ("\"max_traces\":50,\"query\":\"words\"");
    ck_assert_uint_eq(json_array_size(json_object_get(said, "traces")), 39);
}
END_TEST

/* ---- deaths, and others -------------------------------------------------- */

enum { IN_A_BATCH = 20 };

/* Batch `b` of a writer; true when it was acknowledged. */
static bool write_batch(int writer, int b)
{
    char body[8192];
    size_t n = (size_t)snprintf(body, sizeof body, "{" NOW ",\"traces\":[");

    for (int k = 0; k < IN_A_BATCH; k++)
        n += (size_t)snprintf(body + n, sizeof body - n,
                              "%s{\"id\":\"%d.%d.%d\",\"type\":\"episodic\","
                              "\"scope\":\"global\",\"strength\":0.5,\"created_"
                              "at\":1000000,\"content\":\"w%d b%d k%d\"}",
                              k > 0 ? "," : "", writer, b, k, writer, b, k);
    snprintf(body + n, sizeof body - n, "]}");
    return ask(memory->write, body) == MORTISE_S_OK;
}

/* A child that writes until it is killed, and says what was acknowledged. */
static pid_t start_writer(int writer, int most, int *from)
{
    int ends[2];
    pid_t pid;

    ck_assert_int_eq(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        close(ends[0]);
        inst = NULL;
        for (int b = 0; open_with("") && b < most; b++) {
            if (!write_batch(writer, b) || write(ends[1], "", 1) != 1)
                _exit(1);
            plugin->destroy(inst);
        }
        _exit(0);
    }
    close(ends[1]);
    *from = ends[0];
    return pid;
}

static int acknowledged(int from)
{
    char bytes[256];
    ssize_t n;
    int all = 0;

    while ((n = read(from, bytes, sizeof bytes)) > 0)
        all += (int)n;
    close(from);
    return all;
}

/* Killed at whatever moment: what was acknowledged is there, and each batch is
 * whole or not there at all, as a reader of its own sees. */
START_TEST(killed_it_keeps_what_was_acknowledged)
{
    close_it();
    for (int round = 0; round < 12; round++) {
        char sql[200];
        int from, told = 0;
        pid_t pid = start_writer(round, 100000, &from);
        int64_t there;
        char one;

        if (round % 2 != 0) /* however slow it is, some writes are answered */
            told = read(from, &one, 1) == 1;
        usleep((useconds_t)(4000 * (round + 1)));
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        told += acknowledged(from);
        if (access(path, F_OK) != 0)
            continue;
        snprintf(sql, sizeof sql,
                 "SELECT count(*) FROM sqlite_schema WHERE name = 'trace'");
        if (count(sql) == 0)
            continue; /* it was not even made */
        snprintf(sql, sizeof sql,
                 "SELECT count(*) FROM trace WHERE id LIKE '%d.%%'", round);
        there = count(sql);
        ck_assert_int_ge(there, (int64_t)told * IN_A_BATCH);
        ck_assert_int_le(there, (int64_t)(told + 1) * IN_A_BATCH);
        ck_assert_int_eq(there % IN_A_BATCH, 0);
    }
    ck_assert(open_with(""));
    READ("\"max_traces\":9,\"query\":\"b0\"");
    ck_assert_int_gt((int)json_array_size(json_object_get(said, "traces")), 0);
    ck_assert_int_eq(count("SELECT traces FROM tenant"),
                     count("SELECT count(*) FROM trace"));
}
END_TEST

/* Two processes that write at once, half of it the same. */
START_TEST(two_processes_at_once)
{
    int from[4], status;
    pid_t pids[4];

    close_it();
    for (int k = 0; k < 4; k++)
        pids[k] = start_writer(k / 2, 8, &from[k]);
    for (int k = 0; k < 4; k++) {
        ck_assert_int_eq(acknowledged(from[k]), 8);
        waitpid(pids[k], &status, 0);
        ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    ck_assert_int_eq(count("SELECT count(*) FROM trace"), 2 * 8 * IN_A_BATCH);
    ck_assert_int_eq(count("SELECT traces FROM tenant"), 2 * 8 * IN_A_BATCH);
    ck_assert_int_eq(count("SELECT seq FROM tenant"), 2 * 8);
    ck_assert(open_with(""));
    READ("\"max_traces\":50,\"query\":\"w1\",\"types\":[\"episodic\"]");
    ck_assert_uint_eq(json_array_size(json_object_get(said, "traces")), 50);
}
END_TEST

/* ---- random interleavings ------------------------------------------------ */

enum { IDS = 12, STEPS = 400 };

/* What a reader must find, by the plainest means. */
struct reference {
    int64_t seq;
    int64_t born[IDS]; /* 0: it is not there */
    bool gone[IDS];
};

static void check_reference(const struct reference *r, int64_t as_of)
{
    READ("\"max_traces\":50,\"order\":\"time\",\"as_of\":%lld",
         (long long)as_of);
    for (int k = 0; k < IDS; k++) {
        char id[16];
        bool is = false;
        const json_t *one;
        size_t i;

        snprintf(id, sizeof id, "i%d", k);
        json_array_foreach(json_object_get(said, "traces"), i, one) is |=
            strcmp(json_string_value(json_object_get(one, "id")), id) == 0;
        ck_assert_int_eq(is, r->born[k] > 0 && r->born[k] <= as_of);
    }
}

/* Writes, repeats, uses and forgets in any order, by two instances on one file:
 * every number that there was shows what was written up to it, without what is
 * forgotten by now. */
START_TEST(random_interleavings)
{
    struct reference r = {0};
    mortise_inst *one = inst, *two;
    unsigned x = 7919u * (unsigned)(_i + 1);

    ck_assert(open_with(""));
    two = inst;
    for (int step = 0; step < STEPS; step++) {
        int k, what;
        char id[16];

        x = x * 1103515245u + 12345u;
        k = (int)(x >> 16) % IDS;
        what = (int)(x >> 8) % 8;
        inst = (x >> 24) % 2 ? one : two;
        snprintf(id, sizeof id, "i%d", k);
        if (what < 4) {
            put(id, "", "any words");
            if (r.born[k] == 0 && !r.gone[k])
                r.born[k] = ++r.seq;
        } else if (what == 4) {
            WRITE("\"uses\":[{\"id\":\"%s\",\"by\":\"%d\",\"at\":1000000}]", id,
                  step);
            r.seq += r.born[k] > 0;
        } else if (what == 5) {
            FORGET("\"ids\":[\"%s\"]", id);
            r.seq += r.born[k] > 0;
            r.gone[k] |= r.born[k] > 0;
            r.born[k] = 0;
        } else {
            check_reference(&r, (int64_t)(x >> 12) % (r.seq + 1));
            continue;
        }
        ck_assert_int_eq(number("seq"), r.seq);
    }
    check_reference(&r, r.seq);
    plugin->destroy(two);
    inst = one;
}
END_TEST

/* ---- vectors ------------------------------------------------------------- */

/* What shares no word with the query is found by what it is about; with all of
 * them looked at, and by a graph of near ones. */
START_TEST(vectors_find_what_words_do_not)
{
    close_it();
    ck_assert(open_with(_i == 0 ? ",\"embed\":\"e\""
                                : ",\"embed\":\"e\",\"exact\":0"));
    put("x", "", "aaaa");
    put("y", "", "bbbb");
    put("z", "", "cccc xx");
    READ("\"max_traces\":1,\"query\":\"aa\"");
    ck_assert_str_eq(found(), "x");
    READ("\"max_traces\":1,\"query\":\"bb\"");
    ck_assert_str_eq(found(), "y");
    READ("\"max_traces\":3,\"query\":\"c xx b\"");
    ck_assert_str_eq(found(), "z y x");
    FORGET("\"ids\":[\"y\"]");
    READ("\"max_traces\":9,\"query\":\"bb\"");
    ck_assert_ptr_null(strstr(found(), "y"));
    put("w", "", "bbbbb");
    READ("\"max_traces\":1,\"query\":\"bb\"");
    ck_assert_str_eq(found(), "w");
    READ("\"max_traces\":9,\"query\":\"bb\",\"as_of\":3");
    ck_assert_ptr_null(strstr(found(), "w"));
    ck_assert_ptr_null(json_object_get(said, "note"));
}
END_TEST

/* Without its model it keeps traces, finds them by words and says so; vectors are
 * made when it is back. */
START_TEST(a_model_that_fails_loses_nothing)
{
    close_it();
    ck_assert(open_with(",\"embed\":\"e\""));
    model_fails = true;
    put("x", "", "aaaa");
    ck_assert_int_eq(number("written"), 1);
    READ("\"max_traces\":9,\"query\":\"aaaa\"");
    ck_assert_str_eq(found(), "x");
    ck_assert_ptr_nonnull(
        strstr(json_string_value(json_object_get(said, "note")), "only words"));
    READ("\"max_traces\":9,\"query\":\"aa\"");
    ck_assert_str_eq(found(), "");
    ck_assert_int_eq(count("SELECT count(*) FROM due"), 1);
    model_fails = false;
    READ("\"max_traces\":9,\"query\":\"aa\"");
    ck_assert_str_eq(found(), "x");
    ck_assert_int_eq(count("SELECT count(*) FROM due"), 0);
    ck_assert_int_eq(count("SELECT count(*) FROM vector"), 1);
}
END_TEST

/* What stops a call stops it, and nothing of it is there. */
START_TEST(a_bad_request_changes_nothing)
{
    static const char *const bodies[] = {
        "{}",
        "{" NOW ",\"max_traces\":1,\"types\":[\"odd\"]}",
        "{" NOW ",\"max_traces\":1001}",
        "{" NOW ",\"max_traces\":1,\"scope\":\"odd\"}",
    };

    put("a", "", "x");
    for (size_t k = 0; k < sizeof bodies / sizeof bodies[0]; k++) {
        ck_assert_int_eq(ask(memory->read, bodies[k]), MORTISE_S_INVALID);
        ck_assert_str_eq(host.code, MORTISE_MEMORY_REQUEST);
    }
    ck_assert_int_eq(
        ask(memory->write,
            "{" NOW
            ",\"traces\":[{\"id\":\"b\",\"type\":\"semantic\",\"scope\":"
            "\"global\",\"content\":\"x\",\"strength\":0.5,\"created_at\":1},"
            "{\"id\":\"c\"}]}"),
        MORTISE_S_INVALID);
    for (int k = 0; k < 2; k++)
        ck_assert_int_eq(
            ask(memory->write,
                k == 0 ? "{" NOW ",\"traces\":[{\"id\":\"b\",\"type\":"
                         "\"semantic\",\"scope\":\"global\",\"content\":"
                         "\"x\",\"strength\":0.5,\"created_at\":"
                         "9223372036854775807}]}"
                       : "{" NOW ",\"uses\":[{\"id\":\"a\",\"by\":\"r\","
                         "\"at\":-1}]}"),
            MORTISE_S_INVALID);
    READ("\"max_traces\":9");
    ck_assert_str_eq(found(), "a");
    ck_assert_int_eq(number("seq"), 1);
}
END_TEST

/* Where somebody reads what is forgotten, its text is still in the log: that is
 * said, and it is done once it can be. */
START_TEST(forgetting_waits_for_nobody)
{
    char command[160], file[160];
    sqlite3 *db;

    put("a", "", "xylophone");
    snprintf(file, sizeof file, "%s/traces.db", dir);
    ck_assert_int_eq(sqlite3_open(file, &db), SQLITE_OK);
    ck_assert_int_eq(
        sqlite3_exec(db, "BEGIN; SELECT count(*) FROM trace", NULL, NULL, NULL),
        SQLITE_OK);
    ck_assert_int_ne(ask(memory->forget, "{" NOW ",\"ids\":[\"a\"]}"),
                     MORTISE_S_OK);
    ck_assert_str_eq(host.code, MORTISE_MEMORY_BUSY);
    READ("\"max_traces\":9");
    ck_assert_str_eq(found(), "");
    sqlite3_close(db);
    FORGET("\"ids\":[\"a\"]");
    snprintf(command, sizeof command, "grep -rqs xylophon %s", dir);
    ck_assert_int_ne(system(command), 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("bundled_local");
    TCase *tc = tcase_create("local");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, a_trace_comes_back_whole);
    tcase_add_test(tc, tenants_are_apart);
    tcase_add_test(tc, twice_is_once);
    tcase_add_test(tc, strength_fades_and_grows);
    tcase_add_test(tc, places_and_types);
    tcase_add_test(tc, words_are_found);
    tcase_add_test(tc, scripts_without_blanks);
    tcase_add_test(tc, long_words_are_found);
    tcase_add_test(tc, common_words_hide_no_rare_one);
    tcase_add_test(tc, weak_ones_hide_no_strong_one);
    tcase_add_test(tc, as_of_sees_what_was_there);
    tcase_add_test(tc, forgetting_is_for_good);
    tcase_add_test(tc, pages_are_whole);
    tcase_add_test(tc, places_are_whole);
    tcase_add_loop_test(tc, a_foreign_file_is_left_alone, 0, 6);
    tcase_add_test(tc, a_table_that_is_gone);
    tcase_add_test(tc, a_value_that_is_none);
    tcase_add_test(tc, a_locked_file_is_busy);
    tcase_add_test(tc, one_that_is_made_meanwhile);
    tcase_add_test(tc, leftovers_are_not_taken);
    tcase_add_test(tc, an_empty_file_is_filled);
    tcase_add_test(tc, a_hot_journal_is_rolled_back);
    tcase_add_test(tc, wrong_bytes_are_told);
    tcase_add_test(tc, killed_it_keeps_what_was_acknowledged);
    tcase_add_test(tc, two_processes_at_once);
    tcase_add_loop_test(tc, random_interleavings, 0, 4);
    tcase_add_loop_test(tc, vectors_find_what_words_do_not, 0, 2);
    tcase_add_test(tc, a_model_that_fails_loses_nothing);
    tcase_add_test(tc, forgetting_waits_for_nobody);
    tcase_add_test(tc, a_bad_request_changes_nothing);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
