/* test_run_pass.c -- pass nodes and fail nodes: a value or an error of the graph's
 * author, without a plugin. */
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
 * key: node.type=fail, node.code, node.message */
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
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
