/* test_run_pass.c -- pass nodes, fail nodes and on_error: {fail}: a value or an error
 * of the graph's author, without a plugin. */
#include "lib/drive.h"

/* The output of a pass node is its value, with its templates filled in; routes
 * see it, and it is an artifact like any other.
 *
 * key: node.type=pass, node.value */
START_TEST(a_value_is_passed)
{
    run_plain(HEAD "start: p\nnodes:\n"
                   "  p:\n    type: pass\n"
                   "    value: {n: \"${input.n * 2}\", t: \"n: ${input.n}\"}\n"
                   "    routes: [{when: output.n > 5, to: q}]\n"
                   "    default: END\n"
                   "  q: {type: pass, outputs: {scratch.got: output}}\n",
              "{\"n\": 3}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "p", "{\"n\":6,\"t\":\"n: 3\"}");
    assert_value("artifacts", "q", "null");
    assert_value("scratch", "got", "null");
    end();
}
END_TEST

/* A pass node joins branches and maps like a node that works. */
START_TEST(it_joins)
{
    run_plain(HEAD "start: a\nnodes:\n"
                   "  a: {type: pass, value: [1, 2], map: {over: output, as: "
                   "x, to: b, join: j}}\n"
                   "  b: {type: pass, value: \"${x * 10}\", next: j}\n"
                   "  j: {type: pass, value: \"${artifacts.b.results}\", next: "
                   "END}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "j", "[10,20]");
    end();
}
END_TEST

/* A value that cannot be evaluated fails the node, and on_error handles that. */
START_TEST(a_value_may_fail)
{
    run_plain(HEAD "start: p\nnodes:\n"
                   "  p: {type: pass, value: \"${1 / input.n}\", on_error: "
                   "{value: error.code}, next: END}\n",
              "{\"n\": 0}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "p", "\"expression\"");
    end();
}
END_TEST

/* A fail node fails with its author's code and message.  Without a code, it is
 * "failed".  A message that is one expression may be any value.
 *
 * key: node.type=fail, on_error.fail.code, on_error.fail.message */
START_TEST(an_error_is_made)
{
    static const struct {
        const char *keys, *code, *message;
    } fails[] = {
        {"code: order.too_large, message: \"at most 5, not ${input.n}\"",
         "order.too_large", "at most 5, not 7"},
        {"message: no", "failed", "no"},
        {"message: \"${input}\"", "failed", "{\"n\":7}"},
    };
    char yaml[512];
    json_t *show, *error;

    snprintf(yaml, sizeof yaml,
             HEAD "start: f\nnodes:\n  f: {type: fail, %s}\n", fails[_i].keys);
    run_plain(yaml, "{\"n\": 7}");
    assert_status(MORTISE_RUN_FAILED);
    show = sim_show(&s);
    error = json_object_get(show, "error");
    ck_assert_str_eq(json_string_value(json_object_get(error, "code")),
                     fails[_i].code);
    ck_assert_str_eq(json_string_value(json_object_get(error, "message")),
                     fails[_i].message);
    json_decref(show);
    end();
}
END_TEST

/* What handles failures handles this one: on_error of the node around it, which
 * may see the code, and retry_policy does not repeat it. */
START_TEST(the_error_is_handled_outside)
{
    run_plain(HEAD "start: s\nnodes:\n"
                   "  s:\n    type: subgraph\n"
                   "    graph: {start: f, nodes: {f: {type: fail, code: own, "
                   "message: x}}}\n"
                   "    retry_policy: {max_attempts: 3, retry_on: [own]}\n"
                   "    on_error: {value: error.code}\n    next: END\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "s", "\"own\"");
    ck_assert_uint_eq(s.n_timers, 0);
    end();
}
END_TEST

/* A long message is cut between two characters. */
START_TEST(a_long_message_is_cut)
{
    size_t n = 6000;
    char *input = malloc(n + 32);
    json_t *show;
    const char *message;

    strcpy(input, "{\"t\": \"x");
    for (size_t i = 0; i < n / 2; i++)
        strcat(input, "ä");
    strcat(input, "\"}");
    run_plain(HEAD "start: f\nnodes:\n"
                   "  f: {type: fail, message: \"${input.t}\"}\n",
              input);
    show = sim_show(&s);
    message = json_string_value(
        json_object_get(json_object_get(show, "error"), "message"));
    ck_assert_ptr_nonnull(message);
    ck_assert_uint_eq(strlen(message), 4095);
    json_decref(show);
    free(input);
    end();
}
END_TEST

/* ---- on_error: {fail} ------------------------------------------------------ */

#define INSTEAD                                                                \
    "on_error: {fail: {code: order.bad, message: \"${error.code} of "          \
    "${error.node}, ${input.n}\"}}"

/* The error of an execution, by its path; a new reference. */
static json_t *error_at(const char *path)
{
    json_t *show = sim_show(&s), *error = NULL;
    const json_t *nodes = json_object_get(show, "nodes");

    for (size_t i = 0; i < json_array_size(nodes); i++) {
        json_t *x = json_array_get(nodes, i);
        const char *at = json_string_value(json_object_get(x, "path"));

        if (at != NULL && strcmp(at, path) == 0)
            error = json_incref(json_object_get(x, "error"));
    }
    json_decref(show);
    ck_assert_msg(error != NULL, "%s has no error", path);
    return error;
}

static void assert_text(const json_t *of, const char *key, const char *want)
{
    const char *text = json_string_value(json_object_get(of, key));

    ck_assert_msg(text != NULL && strcmp(text, want) == 0, "%s: %s, not %s",
                  key, text != NULL ? text : "none", want);
}

/* A node of any type fails with the code and message of its on_error, and the error
 * that it had is the cause.  No edge is taken.
 *
 * key: on_error.fail, on_error.fail.code, on_error.fail.message */
START_TEST(another_error_takes_its_place)
{
    static const struct {
        const char *node, *code;
    } row[] = {
        {"type: tool, tool: t/fail, args: {times: 9, code: broken}", "broken"},
        {"type: extension, extension: t, method: fail, args: {times: 9, code: "
         "broken}",
         "broken"},
        {"type: pass, value: \"${1 / 0}\"", "expression"},
        {"type: router, routes: [{when: input.n / 0 > 1, to: b}], default: b",
         "route"},
        {"type: human, prompt: \"${input.x}\"", "expression"},
        {"type: subgraph, graph: {start: f, nodes: {f: {type: fail, code: "
         "inner, message: x}}}",
         "inner"},
    };
    bool is_router = strstr(row[_i].node, "router") != NULL;
    char yaml[1024], message[64];
    json_t *error, *cause, *show;

    snprintf(yaml, sizeof yaml,
             HEAD "start: a\nnodes:\n  a: {%s%s, " INSTEAD "}\n"
                  "  b: {type: pass}\n",
             row[_i].node, is_router ? "" : ", next: b");
    run_plain(yaml, "{\"n\": 7}");
    assert_status(MORTISE_RUN_FAILED);
    assert_node("b", "skipped");
    error = error_at("1.0/a#1");
    cause = json_object_get(error, "cause");
    snprintf(message, sizeof message, "%s of a, 7", row[_i].code);
    assert_text(error, "node", "a");
    assert_text(error, "code", "order.bad");
    assert_text(error, "class", "permanent");
    assert_text(error, "message", message);
    assert_text(cause, "node", "a");
    assert_text(cause, "code", row[_i].code);
    ck_assert_uint_eq(json_object_size(cause), 4);
    json_decref(error);
    show = sim_show(&s);
    assert_text(json_object_get(show, "error"), "code", "order.bad");
    assert_text(json_object_get(json_object_get(show, "error"), "cause"),
                "code", row[_i].code);
    json_decref(show);
    end();
}
END_TEST

/* retry_policy comes first: on_error is for the last attempt alone. */
START_TEST(it_is_tried_again_first)
{
    run_plain(HEAD "start: a\nnodes:\n"
                   "  a: {type: tool, tool: t/fail, args: {times: 1, class: "
                   "transient}, next: END, " INSTEAD ",\n"
                   "      retry_policy: {max_attempts: 2}}\n",
              "{\"n\": 7}");
    assert_status(MORTISE_RUN_COMPLETED);
    end();
    run_plain(HEAD "start: a\nnodes:\n"
                   "  a: {type: tool, tool: t/fail, args: {times: 9, class: "
                   "transient}, next: END, " INSTEAD ",\n"
                   "      retry_policy: {max_attempts: 2}}\n",
              "{\"n\": 7}");
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("a", "order.bad");
    end();
}
END_TEST

/* In the body of a map each element fails with it, and in a subgraph the node around
 * that does: on_error of that node sees the new code. */
START_TEST(in_maps_and_graphs)
{
    run_plain(HEAD "start: m\nnodes:\n"
                   "  m: {type: pass, value: [1, 2], map: {over: output, as: "
                   "x, to: e, join: j}}\n"
                   "  e: {type: tool, tool: t/fail, args: {times: 9}, next: j,"
                   "\n      on_error: {fail: {code: own, message: \"${x}\"}}}\n"
                   "  j: {type: pass, on_branch_error: collect, value: "
                   "\"${artifacts.e.failed.map(f, f.error.code + "
                   "f.error.message)}\", next: END}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "j", "[\"own1\",\"own2\"]");
    end();
    run_plain(HEAD "start: s\nnodes:\n"
                   "  s:\n    type: subgraph\n    graph:\n"
                   "      start: a\n      nodes:\n"
                   "        a: {type: tool, tool: t/fail, args: {times: 9},\n"
                   "            on_error: {fail: {code: own, message: m}}}\n"
                   "    on_error: {value: error.code}\n    next: END\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "s", "\"own\"");
    end();
}
END_TEST

/* A message that cannot be evaluated fails the node with both reasons. */
START_TEST(its_message_may_fail)
{
    json_t *error;

    run_plain(HEAD "start: a\nnodes:\n"
                   "  a: {type: tool, tool: t/fail, args: {times: 9, code: "
                   "broken},\n      on_error: {fail: {message: "
                   "\"${1 / input.n}\"}}}\n",
              "{\"n\": 0}");
    assert_status(MORTISE_RUN_FAILED);
    error = error_at("1.0/a#1");
    assert_text(error, "code", "expression");
    ck_assert_ptr_nonnull(
        strstr(json_string_value(json_object_get(error, "message")),
               "; so on_error.fail could not replace the failure "
               "broken: told to fail"));
    assert_text(json_object_get(error, "cause"), "code", "broken");
    json_decref(error);
    end();
}
END_TEST

/* Killed behind each commit and each call in turn, it fails with the same error. */
START_TEST(it_fails_the_same_after_a_crash)
{
    bool more = true;

    for (uint32_t at = 1; more; at++) {
        uint32_t seed = at;

        begin(HEAD "start: a\nnodes:\n"
                   "  a: {type: tool, tool: t/fail, args: {times: 9, code: "
                   "broken}, " INSTEAD "}\n");
        admit("{\"n\": 7}");
        sim_sync_one(&s);
        for (uint32_t i = 1; i < at && more; i++)
            more = sim_sync_one(&s) || (s.n_calls > 0 && sim_end_call(&s, 0));
        sim_crash(&s, &seed);
        sim_recover(&s);
        sim_run_plain(&s);
        assert_status(MORTISE_RUN_FAILED);
        assert_node_error("a", "order.bad");
        end();
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("run_pass");
    TCase *tc = tcase_create("pass");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_add_test(tc, a_value_is_passed);
    tcase_add_test(tc, it_joins);
    tcase_add_test(tc, a_value_may_fail);
    tcase_add_loop_test(tc, an_error_is_made, 0, 3);
    tcase_add_test(tc, the_error_is_handled_outside);
    tcase_add_test(tc, a_long_message_is_cut);
    tcase_add_loop_test(tc, another_error_takes_its_place, 0, 6);
    tcase_add_test(tc, it_is_tried_again_first);
    tcase_add_test(tc, in_maps_and_graphs);
    tcase_add_test(tc, its_message_may_fail);
    tcase_add_test(tc, it_fails_the_same_after_a_crash);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
