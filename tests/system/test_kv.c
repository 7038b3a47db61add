/* test_kv.c -- what plugins keep of their own, through the whole of mortise:
 * processes come and go, and values stay whose they are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/commits.h"
#include "lib/desk.h"
#include "lib/store_reader.h"

static void sign(void)
{
    desk_sign();
    desk_sign_ours("keeps");
    desk_sign_ours("keeps_too");
    desk_ok("$MORTISE key trust k.pub --trust trust.d --name keeps "
            "--plugins 'keeps keeps_too' --in-process");
}

/* Run the graph g; what it came to (the end of it, where it is large) is in
 * child.out, without blanks. */
static void run_g(const char *options)
{
    static unsigned n;

    desk_ok("$MORTISE run g.yaml --id r%u %s", ++n, options);
    desk_ok("$MORTISE show r%u --json %s | tr -d ' \\n' | tail -c 6000", n,
            strncmp(options, "--tenant", 8) == 0 ? options : "");
}

static void run_with(const char *options, const char *tool, const char *args)
{
    static char body[8192];

    snprintf(body, sizeof body,
             "start: a\nnodes:\n"
             "  a: {type: tool, tool: %s, args: %s, next: END}\n",
             tool, args);
    desk_graph("g", body);
    run_g(options);
}

static void run(const char *tool, const char *args)
{
    run_with("", tool, args);
}

/* A value outlives its run and its process; null is one, no value is none. */
START_TEST(values_outlive_their_run)
{
    run("keeps/get", "{key: a}");
    desk_out("{\"found\":false}");
    run("keeps/put", "{key: a, value: {n: [1, x]}}");
    run("keeps/get", "{key: a}");
    desk_out("{\"found\":true,\"value\":{\"n\":[1,\"x\"]}}");
    run("keeps/put", "{key: a, value: null}");
    run("keeps/get", "{key: a}");
    desk_out("{\"found\":true,\"value\":null}");
    run("keeps/put", "{key: a}");
    run("keeps/get", "{key: a}");
    desk_out("{\"found\":false}");
}
END_TEST

/* Another plugin's values, another tenant's and another key's are others. */
START_TEST(nobody_sees_anothers)
{
    run("keeps/put", "{key: a, value: mine}");
    run("keeps_too/get", "{key: a}");
    desk_out("{\"found\":false}");
    run_with("--tenant elsewhere", "keeps/get", "{key: a}");
    desk_out("{\"found\":false}");
    run_with("--tenant elsewhere", "keeps/put", "{key: a, value: theirs}");
    run("keeps_too/put", "{key: a, value: its}");
    run("keeps/put", "{key: \"a\\0\", value: behind}");
    run("keeps/get", "{key: a}");
    desk_out("\"value\":\"mine\"");
    run("keeps_too/get", "{key: a}");
    desk_out("\"value\":\"its\"");
    run_with("--tenant elsewhere", "keeps/get", "{key: a}");
    desk_out("\"value\":\"theirs\"");
    run("keeps/get", "{key: \"a\\0\"}");
    desk_out("\"value\":\"behind\"");
}
END_TEST

/* What is no key or value is refused with words. */
START_TEST(limits_are_told)
{
    char key[1400], *value = malloc(1200000);

    run("keeps/put", "{key: \"\", value: 1}");
    desk_out("keymustbe1to512bytesoftext");
    memset(key, 0, sizeof key);
    memcpy(key, "{value: 1, key: ", 16);
    memset(key + 16, 'k', 513);
    key[16 + 513] = '}';
    run("keeps/put", key);
    desk_out("keymustbe1to512bytesoftext");
    key[16 + 512] = '}';
    key[16 + 513] = '\0';
    run("keeps/put", key);
    desk_not_out("keymustbe");
    run("keeps/put_odd", "{key: a, value: 1, more: 2}");
    desk_out("arequestofkv.put/1mustbe{key,value?}");
    run("keeps/put_odd", "{key: 1, value: 1}");
    desk_out("keymustbe1to512bytesoftext");

    memset(value, 'v', 1200000);
    strcpy(value + 1048576 - 2, "\"}");
    memcpy(value, "{\"v\":\"", 6);
    desk_graph("g", "limits: {expr_cost: 10000000}\nstart: a\nnodes:\n"
                    "  a: {type: tool, tool: keeps/put,"
                    " args: {key: a, value: '${input.v}'}, next: END}\n");
    desk_put("in.json", value);
    run_g("--input @in.json");
    desk_not_out("bytesofJSON");
    memset(value + 1048576 - 2, 'v', 16);
    strcpy(value + 1048576 + 14, "\"}");
    desk_put("in.json", value);
    run_g("--input @in.json");
    desk_out("avaluemustbeatmost1048576bytesofJSON;thisonehas10485");
    free(value);
}
END_TEST

/* Killed between what it put and its end, a node goes on with what it was
 * told: it has counted once. */
START_TEST(a_killed_count_counts_once)
{
    pid_t pid;

    desk_put("entered", "");
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: keeps/count, args: {ms: 60000},"
                    " next: END}\n");
    pid = child_start("run", "$MORTISE run g.yaml --id r");
    child_await("napping.60000", "");
    child_kill(pid);
    ck_assert_uint_eq(desk_entrances(), 1);
    desk_ok("touch over.60000 && $MORTISE resume r");
    desk_ok("$MORTISE show r --json");
    desk_out("\"a\": 1");
    ck_assert_uint_eq(desk_entrances(), 2);
    run("keeps/count", "{}");
    desk_out("\"a\":2");
}
END_TEST

/* So many keys of `keeps` as there may be, less `room`. */
static void fill(size_t room)
{
    static struct mortise_kv kvs[65536];
    static char keys[65536][8];
    static struct made_commit m;
    struct mortise_commit *c = &m.c;
    struct mortise_store *s;
    struct mortise_err err;
    char path[8192];

    snprintf(path, sizeof path, "%s/state", desk_dir);
    ck_assert_int_eq(mortise_store_open(&s, path, &mortise_heap, &err),
                     MORTISE_OK);
    for (size_t i = 0; i < 65536 - room; i++) {
        int n = snprintf(keys[i], sizeof keys[i], "k%zu", i);

        kvs[i] = (struct mortise_kv){"keeps", keys[i], (size_t)n, "1", 1};
    }
    make_commit(&m, "default", "filler", 1, 10);
    m.c.head.status = MORTISE_RUN_COMPLETED;
    m.c.kvs = kvs;
    m.c.n_kvs = 65536 - room;
    ck_assert_int_eq(mortise_store_write(s, &c, 1, &err), MORTISE_OK);
    mortise_store_close(s);
}

/* A namespace that is full takes no more keys, says so, and stays usable: what
 * is there can be replaced, and taken out, which makes room; in one process and
 * in the next.  Others have their own. */
START_TEST(a_namespace_can_be_full)
{
    static const char full[] = "thepluginalreadyhas65536keys";

    fill(1);
    run("keeps/put", "{key: a, value: 1}");
    desk_not_out(full);
    run("keeps/put", "{key: b, value: 1}");
    desk_out(full);
    run("keeps/put", "{key: b}");
    desk_not_out(full);
    run("keeps/put", "{key: a, value: 2}");
    desk_not_out(full);
    run("keeps_too/put", "{key: b, value: 1}");
    desk_not_out(full);
    run_with("--tenant elsewhere", "keeps/put", "{key: b, value: 1}");
    desk_not_out(full);
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: keeps/put,"
                    " args: {key: b, value: 1}, next: b}\n"
                    "  b: {type: tool, tool: keeps/put,"
                    " args: {key: a}, next: c}\n"
                    "  c: {type: tool, tool: keeps/put,"
                    " args: {key: b, value: 3}, next: d}\n"
                    "  d: {type: tool, tool: keeps/put,"
                    " args: {key: c, value: 3}, next: e}\n"
                    "  e: {type: tool, tool: keeps/get,"
                    " args: {key: c}, next: END}\n");
    run_g("");
    desk_out("\"artifacts\":{\"a\":{\"status\":-4,\"words\":\"theplugin");
    desk_out("\"b\":null,\"c\":null,\"d\":{\"status\":-4,\"words\"");
    desk_out("\"e\":{\"found\":false}");
}
END_TEST

/* In the store as docs/format.md says, for who has only that. */
START_TEST(another_reader_finds_them)
{
    struct reader_store s;
    const struct reader_kv *kv;
    char path[8192];

    run("keeps/put", "{key: \"a\\0b\", value: [1, 2]}");
    run_with("--tenant elsewhere", "keeps_too/put", "{key: c, value: 3}");
    snprintf(path, sizeof path, "%s/state", desk_dir);
    ck_assert_msg(store_reader_read(&s, path) == 0, "%s", s.why);
    ck_assert_uint_eq(s.n_kvs, 2);
    kv = store_reader_kv(&s, "default", "keeps", "a\0b", 3);
    ck_assert_ptr_nonnull(kv);
    ck_assert_str_eq(kv->value, "[1,2]");
    kv = store_reader_kv(&s, "elsewhere", "keeps_too", "c", 1);
    ck_assert_ptr_nonnull(kv);
    ck_assert_str_eq(kv->value, "3");
    store_reader_free(&s);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("kv");
    TCase *tc = tcase_create("kv");

    tcase_add_unchecked_fixture(tc, sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, values_outlive_their_run);
    tcase_add_test(tc, nobody_sees_anothers);
    tcase_add_test(tc, limits_are_told);
    tcase_add_test(tc, a_killed_count_counts_once);
    tcase_add_test(tc, a_namespace_can_be_full);
    tcase_add_test(tc, another_reader_finds_them);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
