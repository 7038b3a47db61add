/* test_run_settled.c -- join: settled (issue 15, point 8).
 *
 * The node starts once every edge to it is decided, whatever became of the
 * branches that ran; what failed is listed, and fails the run in the end unless
 * it is collected.  Where its graph is stopped it runs, too, for a bounded
 * time. */
#include "lib/drive.h"

#define FAILS "type: tool, tool: t/fail, args: {times: 9, code: broken}"
#define FIN                                                                    \
    "type: tool, tool: t/echo, join: settled,\n"                               \
    "      args: {failed: \"${node.failed.map(x, x.node)}\",\n"                \
    "             seen: \"${has(scratch.a)}\"}"

static int cancel(void)
{
    return command((struct mortise_command){.kind = MORTISE_CMD_CANCEL}, 0);
}

/* All calls end that were told to stop; the others stay. */
static void let_go(void)
{
    bool more = true;

    sync_all();
    while (more) {
        more = false;
        for (size_t i = 0; i < s.n_calls && !more; i++)
            if (s.calls[i].cancelled) {
                sim_end_call(&s, i);
                more = true;
            }
        sync_all();
    }
}

/* ---- edges that are decided -------------------------------------------------- */

static void two_ways(const char *fin, const char *input)
{
    char yaml[2048];

    snprintf(yaml, sizeof yaml,
             HEAD "start: [a, b]\n"
                  "nodes:\n"
                  "  a: {type: tool, tool: t/read, next: c,\n"
                  "      outputs: {scratch.a: '1'}}\n"
                  "  c: {type: tool, tool: t/fail, next: d, args:\n"
                  "      {times: \"${input.c ? 9 : 0}\", code: broken}}\n"
                  "  d: {type: tool, tool: t/read, next: fin}\n"
                  "  b: {type: tool, tool: t/fail, next: fin, args:\n"
                  "      {times: \"${input.b ? 9 : 0}\", code: broken}}\n"
                  "  fin: {" FIN ", %s next: z}\n"
                  "  z: {type: tool, tool: t/read, next: END}\n",
             fin);
    begin(yaml);
    admit(input);
}

/* Nothing failed: as join: all. */
START_TEST(nothing_failed)
{
    uint32_t seed = (uint32_t)_i;

    two_ways("", "{\"c\": false, \"b\": false}");
    sim_run(&s, &seed);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "fin", "{\"failed\":[],\"seen\":true}");
    assert_runs("fin", 1);
    end();
}
END_TEST

/* One failed, or a step before it did: it is listed, the node runs and goes on,
 * and the run fails in the end. */
START_TEST(one_failed)
{
    uint32_t seed = (uint32_t)_i;

    two_ways("", "{\"c\": true, \"b\": false}");
    sim_run(&s, &seed);
    assert_status(MORTISE_RUN_FAILED);
    assert_run_error("broken");
    assert_node("d", "skipped");
    assert_value("artifacts", "fin", "{\"failed\":[\"c\"],\"seen\":true}");
    assert_node("z", "done");
    end();
}
END_TEST

/* All failed: it runs.
 * key: node.join=settled */
START_TEST(all_failed)
{
    uint32_t seed = (uint32_t)_i;

    two_ways("", "{\"c\": true, \"b\": true}");
    sim_run(&s, &seed);
    assert_status(MORTISE_RUN_FAILED);
    assert_value("artifacts", "fin",
                 "{\"failed\":[\"c\",\"b\"],\"seen\":true}");
    end();
}
END_TEST

/* ... collected: then that is all of it.
 * key: node.on_branch_error=collect */
START_TEST(all_failed_and_collected)
{
    uint32_t seed = (uint32_t)_i;

    two_ways("on_branch_error: collect,", "{\"c\": true, \"b\": true}");
    sim_run(&s, &seed);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "fin",
                 "{\"failed\":[\"c\",\"b\"],\"seen\":true}");
    end();
}
END_TEST

/* Killed behind every commit and every call in turn, it is the same run. */
START_TEST(it_survives_a_death_behind_every_commit)
{
    bool more = true;

    for (uint32_t at = 1; more; at++) {
        uint32_t seed = at;

        two_ways("", "{\"c\": true, \"b\": false}");
        sim_sync_one(&s);
        for (uint32_t i = 1; i < at && more; i++)
            more = sim_sync_one(&s) || (s.n_calls > 0 && sim_end_call(&s, 0));
        sim_crash(&s, &seed);
        sim_recover(&s);
        sim_run_plain(&s);
        assert_status(MORTISE_RUN_FAILED);
        assert_value("artifacts", "fin", "{\"failed\":[\"c\"],\"seen\":true}");
        assert_runs("fin", 1);
        end();
    }
}
END_TEST

/* A branch that was not chosen did not run: alone it has the node skipped, and
 * beside another it is nothing. */
START_TEST(no_branch_ran)
{
    run_plain(HEAD "start: r\n"
                   "nodes:\n"
                   "  r: {type: router, routes: [{when: input.x, to: a}],\n"
                   "      default: b}\n"
                   "  a: {type: tool, tool: t/read, next: [fin, both]}\n"
                   "  b: {type: tool, tool: t/read, next: both}\n"
                   "  fin: {" FIN ", next: END}\n"
                   "  both: {" FIN ", next: END}\n",
              "{\"x\": false}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("fin", "skipped");
    assert_node("both", "done");
    end();
}
END_TEST

/* A failure that was handled is none; the branch ran all the same. */
START_TEST(a_failure_that_was_handled)
{
    run_plain(HEAD "start: a\n"
                   "nodes:\n"
                   "  a: {" FAILS ", on_error: {goto: h}, next: fin}\n"
                   "  h: {type: tool, tool: t/read, next: END}\n"
                   "  fin: {" FIN ", next: END}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "fin", "{\"failed\":[],\"seen\":false}");
    end();
}
END_TEST

/* It waits for what is at work beside a join that was skipped at once, and comes
 * after that. */
START_TEST(beside_a_skipped_join)
{
    begin(HEAD "start: [a, b]\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/read, next: k,\n"
               "      outputs: {scratch.a: '1'}}\n"
               "  b: {" FAILS ", next: k}\n"
               "  k: {type: tool, tool: t/read, next: fin}\n"
               "  fin: {" FIN ", next: END}\n");
    admit("{}");
    finish("b");
    ck_assert(!is_out("fin"));
    finish("a");
    ck_assert(is_out("fin"));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_value("artifacts", "fin", "{\"failed\":[\"b\"],\"seen\":true}");
    end();
}
END_TEST

/* In a loop: once in each visit; a failure ends the loop, behind it. */
START_TEST(in_a_loop)
{
    run_plain(HEAD "start: e\n"
                   "state: {reducers: {scratch.n: concat}}\n"
                   "nodes:\n"
                   "  e: {type: tool, tool: t/fail, next: fin, args: {times:\n"
                   "      \"${node.visit == 2 ? 9 : 0}\", code: broken}}\n"
                   "  fin: {type: tool, tool: t/read, join: settled,\n"
                   "      outputs: {scratch.n: '[size(node.failed)]'},\n"
                   "      routes: [{when: node.visit < 4, to: e}],\n"
                   "      default: END}\n",
              "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_value("scratch", "n", "[0,1]");
    end();
}
END_TEST

/* In the body of a map: of each element, which fails all the same; what it had
 * of its own is seen. */
START_TEST(in_an_element)
{
    run_plain(HEAD
              "start: s\n"
              "state: {reducers: {scratch.n: concat}}\n"
              "nodes:\n"
              "  s: {type: tool, tool: t/read,\n"
              "      map: {over: '[1, 2]', to: w, join: j}}\n"
              "  w: {type: tool, tool: t/read, args: {n: \"${item}\"},\n"
              "      next: v}\n"
              "  v: {type: tool, tool: t/fail, next: fin, args:\n"
              "      {times: \"${item == 2 ? 9 : 0}\", code: broken}}\n"
              "  fin: {type: tool, tool: t/read, join: settled, next: j,\n"
              "      args: {n: \"${artifacts.w.n}\"},\n"
              "      outputs: {scratch.n: '[output.n]'}}\n"
              "  j: {type: tool, tool: t/read, on_branch_error: collect,\n"
              "      args: {r: \"${artifacts.w.results}\", f:\n"
              "      \"${artifacts.w.failed.map(x, x.index)}\"}, next: END}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("scratch", "n", "[1,2]");
    assert_value("artifacts", "j", "{\"f\":[1],\"r\":[{\"n\":1},null]}");
    end();
}
END_TEST

/* At the join of a map that failed, behind all its elements. */
START_TEST(behind_a_map)
{
    run_plain(
        HEAD "start: s\n"
             "state: {reducers: {scratch.n: concat}}\n"
             "nodes:\n"
             "  s: {type: tool, tool: t/read,\n"
             "      map: {over: '[1, 2, 3]', to: w, join: fin}}\n"
             "  w: {type: tool, tool: t/read, outputs: {scratch.n: '[item]'},\n"
             "      next: v}\n"
             "  v: {type: tool, tool: t/fail, next: fin, args:\n"
             "      {times: \"${item == 2 ? 9 : 0}\", code: broken}}\n"
             "  fin: {type: tool, tool: t/read, join: settled, next: END,\n"
             "      args: {n: \"${scratch.n}\",\n"
             "             failed: \"${size(node.failed)}\"}}\n",
        "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_value("artifacts", "fin", "{\"failed\":1,\"n\":[1,2,3]}");
    end();
}
END_TEST

/* What failed is tried again; the node that was done stays done, and what failed
 * itself waits for it. */
START_TEST(a_resume_leaves_it_done)
{
    begin(HEAD "start: a\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/fail, next: fin, args: {times:\n"
               "      \"${has(scratch.ok) ? 0 : 9}\", code: broken}}\n"
               "  fin: {" FIN ", next: END}\n");
    admit("{}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_FAILED);
    ck_assert_int_eq(update("{\"scratch\": {\"ok\": 1}}"), MORTISE_OK);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("a", "done");
    assert_runs("fin", 1);
    end();
}
END_TEST

START_TEST(a_resume_begins_a_failed_one_anew)
{
    begin(HEAD "start: a\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/fail, next: fin, args: {times:\n"
               "      \"${has(scratch.ok) ? 0 : 9}\", code: broken}}\n"
               "  fin: {type: tool, tool: t/fail, join: settled, next: END,\n"
               "      args: {times: \"${size(node.failed) > 0 ? 9 : 0}\",\n"
               "             code: more}}\n");
    admit("{}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    ck_assert_int_eq(update("{\"scratch\": {\"ok\": 1}}"), MORTISE_OK);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("fin", 2);
    end();
}
END_TEST

/* best_effort with nothing but failures fails. */
START_TEST(best_effort_of_nothing_fails)
{
    run_plain(HEAD "start: [a, b]\n"
                   "nodes:\n"
                   "  a: {" FAILS ", next: j}\n"
                   "  b: {" FAILS ", next: j}\n"
                   "  j: {type: tool, tool: t/read, join: best_effort}\n",
              "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_node("j", "skipped");
    end();
}
END_TEST

/* ---- graphs that are stopped ---------------------------------------------------- */

/* `slow` is at work while `a` fails; two finalisers, one behind the other, and
 * what follows them. */
static void stopped(const char *keys)
{
    char yaml[2048];

    snprintf(yaml, sizeof yaml,
             HEAD "%s"
                  "start: [a, slow]\n"
                  "nodes:\n"
                  "  a: {" FAILS ", next: x}\n"
                  "  x: {type: tool, tool: t/read, next: fin}\n"
                  "  slow: {type: tool, tool: t/read, next: fin,\n"
                  "      outputs: {scratch.a: '1'}}\n"
                  "  fin: {" FIN ", next: last}\n"
                  "  last: {" FIN ", next: z}\n"
                  "  other: {" FIN ", next: z}\n"
                  "  never: {type: tool, tool: t/read, next: other}\n"
                  "  z: {type: tool, tool: t/read, next: END}\n"
                  "edges:\n"
                  "  - {from: START, to: never, when: 'false'}\n",
             keys);
    begin(yaml);
    admit("{}");
}

static void assert_finished(int status)
{
    assert_status(status);
    assert_runs("fin", 1);
    assert_node("fin", "done");
    assert_node("last", "done");
    assert_runs("other", 0);
    assert_runs("z", 0);
}

/* key: graph.failure=fail_fast */
START_TEST(fail_fast_lets_it_run)
{
    stopped("failure: fail_fast\n");
    finish("a");
    ck_assert(s.calls[call_of("slow")].cancelled);
    let_go();
    sim_run_plain(&s);
    assert_finished(MORTISE_RUN_FAILED);
    assert_run_error("broken");
    end();
}
END_TEST

START_TEST(fail_fast_survives_a_death_behind_every_commit)
{
    bool more = true;

    for (uint32_t at = 1; more; at++) {
        uint32_t seed = at;

        stopped("failure: fail_fast\n");
        sim_sync_one(&s);
        for (uint32_t i = 1; i < at && more; i++)
            more = sim_sync_one(&s) || (s.n_calls > 0 && sim_end_call(&s, 0));
        sim_crash(&s, &seed);
        sim_recover(&s);
        sim_run_plain(&s);
        assert_status(MORTISE_RUN_FAILED);
        assert_node("fin", "done");
        assert_node("last", "done");
        assert_runs("z", 0);
        end();
    }
}
END_TEST

/* What failed, and what was stopped, is tried again; the finalisers are done. */
START_TEST(a_resume_after_fail_fast)
{
    begin(HEAD "failure: fail_fast\n"
               "start: [a, slow]\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/fail, next: fin, args: {times:\n"
               "      \"${has(scratch.ok) ? 0 : 9}\", code: broken}}\n"
               "  slow: {type: tool, tool: t/read, next: fin}\n"
               "  fin: {" FIN ", next: z}\n"
               "  z: {type: tool, tool: t/read, next: END}\n");
    admit("{}");
    finish("a");
    let_go();
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_runs("z", 0);
    ck_assert_int_eq(update("{\"scratch\": {\"ok\": 1}}"), MORTISE_OK);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("slow", "done");
    assert_runs("fin", 1);
    assert_runs("z", 1);
    end();
}
END_TEST

START_TEST(cancel_lets_it_run)
{
    stopped("");
    sync_all();
    ck_assert_int_eq(cancel(), MORTISE_OK);
    let_go();
    sim_run_plain(&s);
    assert_finished(MORTISE_RUN_CANCELLED);
    end();
}
END_TEST

/* Wherever the process dies: between the cancel and the finaliser, too. */
START_TEST(cancel_survives_a_death_behind_every_commit)
{
    bool more = true;

    for (uint32_t at = 1; more; at++) {
        uint32_t seed = at;

        stopped("");
        sync_all();
        ck_assert_int_eq(cancel(), MORTISE_OK);
        sim_sync_one(&s);
        for (uint32_t i = 1; i < at && more; i++)
            more = sim_sync_one(&s) || (s.n_calls > 0 && sim_end_call(&s, 0));
        sim_crash(&s, &seed);
        sim_recover(&s);
        sim_run_plain(&s);
        assert_status(MORTISE_RUN_CANCELLED);
        assert_node("fin", "done");
        assert_node("last", "done");
        assert_runs("z", 0);
        end();
    }
}
END_TEST

/* A finaliser that asks somebody fails in the commit in which it asks: no commit
 * leaves the run waiting, since an engine that starts would not load it then. */
START_TEST(no_commit_waits_for_a_finaliser)
{
    static const char *const fins[][2] = {
        {"type: human, prompt: by hand?", ""},
        {"type: human, prompt: by hand?, wait: 1h, on_timeout: accept", ""},
        {"type: tool, tool: t/read", "interrupt_before: [fin]\n"},
        {"type: tool, tool: t/read", "interrupt_after: [fin]\n"},
        {"type: tool, tool: t/ask, args: {asks: [{kind: question, method: q, "
         "body: {prompt: x}}]}",
         ""},
        {"type: subgraph, graph: {hitl_mode: approve_each_node, start: k, "
         "nodes: {k: {type: tool, tool: t/read}}}",
         ""},
        {"type: subgraph, graph: {start: k, nodes: {k: {type: human, prompt: "
         "k}}}",
         ""},
        {"type: team, goal: g, graph: {hitl_mode: approve_tools, start: k, "
         "nodes: {k: {type: tool, tool: t/write}}}",
         ""},
    };
    char yaml[1024];
    size_t before;

    for (size_t i = 0; i < sizeof fins / sizeof fins[0]; i++) {
        snprintf(yaml, sizeof yaml,
                 HEAD "%s%sstart: [a, slow]\n"
                      "nodes:\n"
                      "  a: {type: tool, tool: t/fail, next: fin, args: {code: "
                      "broken, times: %d}}\n"
                      "  slow: {type: tool, tool: t/read, next: fin}\n"
                      "  fin: {%s, join: settled}\n",
                 _i == 0 ? "failure: fail_fast\n" : "", fins[i][1],
                 _i == 0 ? 9 : 0, fins[i][0]);
        begin(yaml);
        admit("{}");
        finish("a");
        before = s.n_commits;
        if (_i == 1)
            ck_assert_int_eq(cancel(), MORTISE_OK);
        sim_run_plain(&s);
        assert_status(_i == 0 ? MORTISE_RUN_FAILED : MORTISE_RUN_CANCELLED);
        for (size_t k = before; k < s.n_commits; k++)
            ck_assert_msg(s.commits[k].status == MORTISE_RUN_RUNNING ||
                              mortise_run_has_ended(s.commits[k].status),
                          "%s: commit %zu leaves it %s", fins[i][0], k + 1,
                          mortise_run_status_name(s.commits[k].status));
        end();
    }
}
END_TEST

/* A branch waits for a person: its question is withdrawn. */
START_TEST(cancel_while_somebody_is_asked)
{
    begin(HEAD "start: a\n"
               "nodes:\n"
               "  a: {type: human, prompt: hm, next: b}\n"
               "  b: {type: tool, tool: t/read, next: fin}\n"
               "  fin: {" FIN ", next: END}\n");
    admit("{}");
    sync_all();
    assert_status(MORTISE_RUN_WAITING);
    ck_assert_int_eq(cancel(), MORTISE_OK);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_CANCELLED);
    assert_node("fin", "done");
    assert_node("b", "skipped");
    end();
}
END_TEST

/* To cancel it once more is to wait no longer. */
START_TEST(cancelled_twice)
{
    stopped("");
    sync_all();
    ck_assert_int_eq(cancel(), MORTISE_OK);
    let_go();
    ck_assert(is_out("fin"));
    assert_status(MORTISE_RUN_RUNNING);
    ck_assert_int_eq(cancel(), MORTISE_OK);
    ck_assert(s.calls[call_of("fin")].cancelled);
    let_go();
    assert_status(MORTISE_RUN_CANCELLED);
    assert_runs("last", 0);
    end();
}
END_TEST

/* A run that was paused is cancelled, and is not to go on: it says so, and its
 * finalisers run once it is resumed. */
START_TEST(cancelled_and_not_to_go_on)
{
    const struct mortise_command ends = {.kind = MORTISE_CMD_CANCEL},
                                 pause = {.kind = MORTISE_CMD_PAUSE},
                                 resume = {.kind = MORTISE_CMD_RESUME};

    stopped("");
    sync_all();
    ck_assert_int_eq(command(pause, 0), MORTISE_OK);
    let_go();
    ck_assert_int_eq(command(ends, MORTISE_NO_CONTINUE), MORTISE_OK);
    sync_all();
    assert_status(MORTISE_RUN_PAUSED);
    ck_assert_str_eq(mortise_run_reason(s.run), "no_continue");
    ck_assert_uint_eq(s.n_calls, 0);
    if (_i == 1) {
        uint32_t seed = 1;

        sim_crash(&s, &seed);
    }
    ck_assert_int_eq(command(resume, 0), MORTISE_OK);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_CANCELLED);
    assert_runs("fin", 1);
    end();
}
END_TEST

/* An attempt has a bounded time, whatever the node says. */
START_TEST(it_is_bounded)
{
    stopped("");
    sync_all();
    ck_assert_int_eq(cancel(), MORTISE_OK);
    let_go();
    ck_assert_uint_eq(s.calls[call_of("fin")].call.timeout_ms, 60000);
    sim_run_plain(&s);
    end();
    begin(HEAD "start: a\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/read, next: [fin, ask, again]}\n"
               "  fin: {" FIN ", timeout: 5s, next: END}\n"
               "  ask: {type: human, join: settled, prompt: hm, next: END}\n"
               "  again: {type: tool, tool: t/fail, join: settled, args:\n"
               "      {times: 9, code: x, class: transient}, next: END,\n"
               "      retry_policy: {max_attempts: 5}}\n");
    admit("{}");
    sync_all();
    ck_assert_int_eq(cancel(), MORTISE_OK);
    let_go();
    ck_assert_uint_eq(s.calls[call_of("fin")].call.timeout_ms, 5000);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_CANCELLED);
    assert_node("fin", "done");
    assert_node_error("ask", "stopped");
    assert_record("again", "attempts", "1");
    end();
}
END_TEST

/* One that dies in the middle of its effect: nobody is waited for, and the doubt
 * is kept, as of anything that a cancel stopped. */
START_TEST(one_in_doubt)
{
    uint32_t seed = (uint32_t)_i;

    begin(HEAD
          "start: a\n"
          "nodes:\n"
          "  a: {type: tool, tool: t/read, next: fin}\n"
          "  fin: {type: tool, tool: t/write, join: settled, next: END}\n");
    admit("{}");
    sync_all();
    ck_assert_int_eq(cancel(), MORTISE_OK);
    let_go();
    ck_assert(is_out("fin"));
    sim_crash(&s, &seed);
    sim_recover(&s);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_CANCELLED);
    assert_node_error("fin", "stopped");
    ck_assert(mortise_run_has_kept_doubt(s.run));
    ck_assert_int_le(sim_effect_count(&s, "fin"), 1);
    end();
}
END_TEST

/* A finaliser failed with its doubt, since it waits for nobody.  The run is resumed:
 * the finaliser runs anew when its branches are over, and the doubt of the earlier
 * visit is settled beside that, although the plugin does not know and a person is
 * asked. */
START_TEST(a_doubt_of_an_earlier_visit)
{
    uint32_t seed = 1;
    size_t i = 0;

    begin(HEAD
          "failure: fail_fast\n"
          "start: [a, side]\n"
          "nodes:\n"
          "  side: {type: tool, tool: t/fail, args: {code: side, times: 1}}\n"
          "  a: {type: tool, tool: t/read, next: x}\n"
          "  x: {type: tool, tool: t/acts_rec, join: settled, args: {asks: [\n"
          "      {method: e, kind: effect, lost: 1, body: {n: 1}},\n"
          "      {method: q, kind: question, body: {prompt: x}}]}}\n");
    admit("{}");
    finish("side");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("x", "stopped");
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_RESUME}, 0),
        MORTISE_OK);
    sync_all();
    finish("a");
    finish("side");
    if (_i == 1) {
        sim_crash(&s, &seed);
        sim_recover(&s);
        sync_all();
    }
    ck_assert(is_out("x"));
    while (s.calls[i].call.visit != 1)
        i++;
    ck_assert_int_eq((int)s.calls[i].call.kind, MORTISE_RUN_RECONCILE);
    sim_end_call(&s, i);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_IN_DOUBT);
    ck_assert_int_eq(
        do_command((struct mortise_command){.kind = MORTISE_CMD_RESOLVE,
                                            .id = sim_request(&s, "x"),
                                            .decision = "done",
                                            .json = "{\"n\": 1}"}),
        MORTISE_OK);
    assert_status(MORTISE_RUN_FAILED);
    assert_runs("x", 2);
    end();
}
END_TEST

/* budget: on_exceeded: fail; and it may call a tool after that.
 * key: budget.on_exceeded=fail */
START_TEST(a_budget_lets_it_run)
{
    run_plain(HEAD "budget: {tool_calls: 1, on_exceeded: fail}\n"
                   "start: a\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/read, next: b}\n"
                   "  b: {type: tool, tool: t/read, next: fin}\n"
                   "  fin: {" FIN ", next: z}\n"
                   "  z: {type: tool, tool: t/read, next: END}\n",
              "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_run_error("budget");
    assert_node("fin", "done");
    assert_runs("z", 0);
    end();
}
END_TEST

/* limits.timeout */
START_TEST(a_timeout_lets_it_run)
{
    begin(HEAD "limits: {timeout: 1s}\n"
               "start: a\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/read, next: fin}\n"
               "  fin: {" FIN ", next: END}\n");
    admit("{}");
    sync_all();
    s.now_ms += 2000;
    ck_assert(sim_fire_timer(&s, 0));
    let_go();
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_node("fin", "done");
    end();
}
END_TEST

/* In a graph inside, before those around it; in an element, and in a loop. */
START_TEST(inside_what_is_stopped)
{
    static const char yaml[] =
        HEAD "%s"
             "start: [bad, s]\n"
             "state: {reducers: {scratch.n: concat}}\n"
             "nodes:\n"
             "  bad: {" FAILS ", next: END}\n"
             "  s: {type: tool, tool: t/read, map: {over: '[1, 2]', to: w,\n"
             "      join: fin}}\n"
             "  w:\n"
             "    type: subgraph\n"
             "    next: in\n"
             "    graph:\n"
             "      start: a\n"
             "      nodes:\n"
             "        a: {type: tool, tool: t/read, next: deep}\n"
             "        deep: {" FIN ", next: END}\n"
             "  in: {type: tool, tool: t/read, join: settled, next: fin,\n"
             "      outputs: {scratch.n: '[item]'}}\n"
             "  fin: {type: tool, tool: t/read, join: settled, next: END,\n"
             "      args: {n: \"${scratch.n}\"}}\n";
    char text[2048];

    snprintf(text, sizeof text, yaml, _i == 0 ? "" : "failure: fail_fast\n");
    begin(text);
    admit("{}");
    finish("s");
    ck_assert(is_out("a"));
    if (_i == 0)
        ck_assert_int_eq(cancel(), MORTISE_OK);
    else
        finish("bad");
    let_go();
    ck_assert(is_out("deep"));
    ck_assert(!is_out("fin"));
    sim_run_plain(&s);
    assert_status(_i == 0 ? MORTISE_RUN_CANCELLED : MORTISE_RUN_FAILED);
    assert_value("artifacts", "fin", "{\"n\":[1,2]}");
    assert_record("1.0/w#1[1]/deep#1", "status", "done");
    end();
}
END_TEST

/* Whatever the timing and wherever the process dies, they run. */
START_TEST(stops_survive_deaths)
{
    uint32_t seed = (uint32_t)_i;

    stopped("failure: fail_fast\n");
    run_dying(&seed, 5);
    assert_status(MORTISE_RUN_FAILED);
    assert_node("fin", "done");
    assert_node("last", "done");
    assert_runs("z", 0);
    end();
}
END_TEST

/* ---- at work when its graph is stopped ------------------------------------------ */

/* `fin` is at work beside `slow`. */
static void at_work(const char *keys, const char *fin)
{
    char yaml[2048];

    snprintf(yaml, sizeof yaml,
             HEAD "%s"
                  "start: [a, bad, slow]\n"
                  "nodes:\n"
                  "  a: {type: tool, tool: t/read, next: fin}\n"
                  "  bad: {" FAILS ", next: END}\n"
                  "  slow: {type: tool, tool: t/read, next: last}\n"
                  "  fin: {%s, join: settled, next: z}\n"
                  "  last: {" FIN ", next: END}\n"
                  "  z: {type: tool, tool: t/read, next: END}\n",
             keys, fin);
    begin(yaml);
    admit("{}");
    sync_all();
    finish("a");
}

static void stop_it(bool by_cancel)
{
    if (by_cancel)
        ck_assert_int_eq(cancel(), MORTISE_OK);
    else
        finish("bad");
}

/* It comes to its end, however its graph is stopped, and nothing follows; one
 * that waits runs, too. */
START_TEST(one_at_work_goes_on)
{
    at_work(_i == 0 ? "" : "failure: fail_fast\n", "type: tool, tool: t/write");
    ck_assert(is_out("fin"));
    stop_it(_i == 0);
    ck_assert(!s.calls[call_of("fin")].cancelled);
    ck_assert(s.calls[call_of("slow")].cancelled);
    let_go();
    ck_assert(is_out("fin"));
    sim_run_plain(&s);
    assert_status(_i == 0 ? MORTISE_RUN_CANCELLED : MORTISE_RUN_FAILED);
    assert_node("fin", "done");
    assert_node("last", "done");
    assert_runs("z", 0);
    ck_assert_int_eq(sim_effect_count(&s, "fin"), 1);
    end();
}
END_TEST

/* So does a graph in it. */
START_TEST(a_graph_at_work_goes_on)
{
    at_work(_i == 0 ? "" : "failure: fail_fast\n",
            "type: subgraph, graph: {start: p, nodes: {p: {type: tool, tool: "
            "t/read, next: q}, q: {type: tool, tool: t/read, next: END}}}");
    ck_assert(is_out("p"));
    stop_it(_i == 0);
    let_go();
    ck_assert(is_out("p"));
    sim_run_plain(&s);
    assert_status(_i == 0 ? MORTISE_RUN_CANCELLED : MORTISE_RUN_FAILED);
    assert_node("fin", "done");
    assert_record("1.0/fin#1/q#1", "status", "done");
    assert_runs("z", 0);
    end();
}
END_TEST

/* It has as long as any finaliser from then on, or what is left of its own. */
START_TEST(one_at_work_is_bounded)
{
    at_work("", "type: tool, tool: t/read");
    s.now_ms += 300000;
    ck_assert_int_eq(cancel(), MORTISE_OK);
    ck_assert_uint_eq(s.timers[0].at_ms, s.now_ms + 60000);
    sim_run_plain(&s);
    end();
    at_work("", "type: tool, tool: t/read, timeout: 5s");
    s.now_ms += 2000;
    ck_assert_int_eq(cancel(), MORTISE_OK);
    ck_assert_uint_eq(s.timers[0].at_ms, s.now_ms + 3000);
    sim_run_plain(&s);
    end();
}
END_TEST

/* A second cancel stops it. */
START_TEST(one_at_work_is_given_up)
{
    at_work("", "type: tool, tool: t/read");
    ck_assert_int_eq(cancel(), MORTISE_OK);
    let_go();
    ck_assert(!s.calls[call_of("fin")].cancelled);
    ck_assert_int_eq(cancel(), MORTISE_OK);
    ck_assert(s.calls[call_of("fin")].cancelled);
    let_go();
    assert_status(MORTISE_RUN_CANCELLED);
    assert_node("fin", "skipped");
    end();
}
END_TEST

/* Dead in its last act and resumed, a run ends first: what failed is not tried
 * again before that, and the finaliser's effect keeps its key. */
START_TEST(a_resume_in_the_last_act)
{
    uint32_t seed = (uint32_t)_i;

    at_work("failure: fail_fast\n", "type: tool, tool: t/idem");
    finish("bad");
    sim_crash(&s, &seed);
    ck_assert_int_eq(resume(), MORTISE_OK);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_runs("bad", 1);
    assert_runs("fin", 1);
    assert_node("fin", "done");
    ck_assert_uint_eq(s.n_effects, 1);
    end();
}
END_TEST

/* An engine that stops leaves it as a crash would, and starts nothing. */
START_TEST(an_engine_that_stops_leaves_it)
{
    const struct mortise_command shutdown = {.kind = MORTISE_CMD_PAUSE,
                                             .flags = MORTISE_CMD_SHUTDOWN};

    at_work("", "type: tool, tool: t/read");
    ck_assert_int_eq(cancel(), MORTISE_OK);
    let_go();
    command(shutdown, 0);
    ck_assert(s.calls[call_of("fin")].cancelled);
    let_go();
    ck_assert_uint_eq(s.n_calls, 0);
    assert_status(MORTISE_RUN_RUNNING);
    sim_recover(&s);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_CANCELLED);
    assert_node("fin", "done");
    assert_node("last", "done");
    end();
}
END_TEST

/* However short its waits are, it waits for no time to come. */
START_TEST(no_wait_is_short_enough)
{
    at_work("", "type: tool, tool: t/ask, args: {asks: [{kind: timer, method: "
                "'timer.wait/1', body: {for_ms: 500}}]}");
    ck_assert_int_eq(cancel(), MORTISE_OK);
    let_go();
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_CANCELLED);
    assert_node_error("fin", "stopped");
    end();
}
END_TEST

/* A goto is refused while a cancelled run's finalisers are at work, and nothing is
 * recorded. */
START_TEST(no_goto_past_a_finaliser_at_work)
{
    size_t commits;

    begin(HEAD "start: a\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/read, next: b}\n"
               "  b: {type: tool, tool: t/read, join: settled}\n");
    admit("{}");
    finish("a");
    ck_assert(is_out("b"));
    ck_assert_int_eq(cancel(), MORTISE_OK);
    sync_all();
    ck_assert(is_out("b"));
    commits = s.n_commits;
    ck_assert_int_eq(jump("a"), MORTISE_ESTATE);
    ck_assert_uint_eq(s.n_commits, commits);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_CANCELLED);
    ck_assert_int_eq(jump("a"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

static Suite *suite(void)
{
    Suite *s_ = suite_create("settled");
    TCase *tc = tcase_create("settled");

    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, nothing_failed, 0, 10);
    tcase_add_loop_test(tc, one_failed, 0, 20);
    tcase_add_loop_test(tc, all_failed, 0, 20);
    tcase_add_loop_test(tc, all_failed_and_collected, 0, 10);
    tcase_add_test(tc, it_survives_a_death_behind_every_commit);
    tcase_add_test(tc, no_branch_ran);
    tcase_add_test(tc, a_failure_that_was_handled);
    tcase_add_test(tc, beside_a_skipped_join);
    tcase_add_test(tc, in_a_loop);
    tcase_add_test(tc, in_an_element);
    tcase_add_test(tc, behind_a_map);
    tcase_add_test(tc, a_resume_leaves_it_done);
    tcase_add_test(tc, a_resume_begins_a_failed_one_anew);
    tcase_add_test(tc, best_effort_of_nothing_fails);
    tcase_add_test(tc, fail_fast_lets_it_run);
    tcase_add_test(tc, fail_fast_survives_a_death_behind_every_commit);
    tcase_add_loop_test(tc, no_commit_waits_for_a_finaliser, 0, 2);
    tcase_add_test(tc, a_resume_after_fail_fast);
    tcase_add_test(tc, cancel_lets_it_run);
    tcase_add_test(tc, cancel_survives_a_death_behind_every_commit);
    tcase_add_test(tc, cancel_while_somebody_is_asked);
    tcase_add_test(tc, cancelled_twice);
    tcase_add_loop_test(tc, cancelled_and_not_to_go_on, 0, 2);
    tcase_add_test(tc, it_is_bounded);
    tcase_add_loop_test(tc, one_in_doubt, 0, 6);
    tcase_add_loop_test(tc, a_doubt_of_an_earlier_visit, 0, 2);
    tcase_add_test(tc, a_budget_lets_it_run);
    tcase_add_test(tc, a_timeout_lets_it_run);
    tcase_add_loop_test(tc, inside_what_is_stopped, 0, 2);
    tcase_add_loop_test(tc, stops_survive_deaths, 0, 40);
    tcase_add_loop_test(tc, one_at_work_goes_on, 0, 2);
    tcase_add_loop_test(tc, a_graph_at_work_goes_on, 0, 2);
    tcase_add_test(tc, one_at_work_is_bounded);
    tcase_add_test(tc, one_at_work_is_given_up);
    tcase_add_loop_test(tc, a_resume_in_the_last_act, 0, 6);
    tcase_add_test(tc, an_engine_that_stops_leaves_it);
    tcase_add_test(tc, no_wait_is_short_enough);
    tcase_add_test(tc, no_goto_past_a_finaliser_at_work);
    suite_add_tcase(s_, tc);
    return s_;
}

int main(void)
{
    return test_run(suite());
}
