/* test_run_memory.c -- memory_policy in the step function: what is read and
 * when, what becomes of outputs, and what of both survives a crash. */
#include "lib/drive.h"

static void start(const char *rest, const char *input)
{
    char text[4096];

    snprintf(text, sizeof text, HEAD "%s", rest);
    begin(text);
    admit(input);
}

/* One node that gives what it remembers, with this as its memory_policy. */
static void read_with(const char *policy)
{
    char text[2048];

    snprintf(text, sizeof text,
             HEAD "start: a\nnodes:\n"
                  "  a: {type: tool, tool: t/echo, next: END,\n"
                  "    args: {found: \"${memory.map(m, m.content)}\"},\n"
                  "    memory_policy: %s}\n",
             policy);
    begin(text);
}

static void go(void)
{
    admit("{\"who\": \"ann\"}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
}

/* As of what its snapshots are is answered, which is asked ahead of all. */
static void settle_pin(void)
{
    sync_all();
    ck_assert_uint_eq(s.n_calls, 1);
    ck_assert_str_eq(s.calls[0].call.node->id, "memory");
    ck_assert(sim_end_call(&s, 0));
    sync_all();
}

static void assert_found(const char *want)
{
    char text[512];

    snprintf(text, sizeof text, "{\"found\":%s}", want);
    assert_value("artifacts", "a", text);
}

/* ---- reading ------------------------------------------------------------- */

/* What was read is `memory` in the node's expressions, stands in its record and
 * in an event, and is read once.
 * key: node.memory_policy, memory_policy.read */
START_TEST(what_is_read_is_in_scope)
{
    read_with("{read: {}}");
    sim_memorize(&s, "m1", "one");
    sim_memorize(&s, "m2", "two");
    go();
    assert_found("[\"two\",\"one\"]");
    ck_assert(sim_saw(&s, "memory_read", "a"));
    ck_assert_uint_eq(s.recalls, 2); /* one says as of what */
    end();
}
END_TEST

/* What a node that is done has read it has used: the memory is told so, once for
 * each trace, also where nothing else is written. */
START_TEST(what_is_read_is_used)
{
    read_with("{read: {}}");
    sim_memorize(&s, "m1", "one");
    sim_memorize(&s, "m2", "two");
    go();
    ck_assert_uint_eq(json_object_size(s.uses), 2);
    ck_assert_uint_eq(s.written, 2); /* by the test */
    end();
}
END_TEST

/* One that does not hear it keeps nobody. */
START_TEST(a_use_keeps_nobody)
{
    read_with("{read: {}}");
    sim_memorize(&s, "m1", "one");
    admit("{\"who\": \"ann\"}");
    settle_pin();
    ck_assert(sim_end_call(&s, 0)); /* what it reads */
    sync_all();
    ck_assert(sim_end_call(&s, 0));
    s.mutes = 1;
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_uint_eq(s.mutes, 0);
    ck_assert_uint_eq(json_object_size(s.uses), 0);
    end();
}
END_TEST

/* A use is one, however often the run died on its way. */
START_TEST(a_use_is_one)
{
    uint32_t seed = (uint32_t)_i * 7 + 1;

    start("start: a\nmemory_consistency: journaled\nnodes:\n"
          "  a: {type: tool, tool: t/echo, next: b,\n"
          "    args: {v: \"${memory[0].content}\"},\n"
          "    memory_policy: {read: {scope: global}}}\n"
          "  b: {type: tool, tool: t/echo, args: {v: fresh}, next: END,\n"
          "    memory_policy: {read: {scope: global}, write: {auto_encode: "
          "true}}}\n",
          "{}");
    sim_memorize(&s, "m1", "one");
    run_dying(&seed, _i % 5);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_uint_eq(json_object_size(s.uses), 2);
    ck_assert_uint_eq(sim_memories(&s, "fresh"), 1);
    end();
}
END_TEST

/* The keys of `read` are what is asked for.
 * key: read of memory_policy.semantic_query, read of memory_policy.max_traces
 * key: read of memory_policy.min_strength, read of memory_policy.types */
START_TEST(what_is_asked_for)
{
    static const struct {
        const char *policy, *found;
    } all[] = {
        {"{read: {semantic_query: \"${input.who}\"}}", "[\"of ann\"]"},
        {"{read: {semantic_query: \"${''}\"}}", "[\"of bob\",\"of ann\"]"},
        {"{read: {semantic_query: \" ${'\\t'}\"}}", "[\"of bob\",\"of ann\"]"},
        {"{read: {semantic_query: \"?!\"}}", "[]"},
        {"{read: {max_traces: 1}}", "[\"of bob\"]"},
        {"{read: {min_strength: 0.6}}", "[]"},
        {"{read: {types: [episodic]}}", "[]"},
        {"{read: {types: [procedural, semantic]}}", "[\"of bob\",\"of ann\"]"},
    };

    read_with(all[_i].policy);
    sim_memorize(&s, "m1", "of ann");
    sim_memorize(&s, "m2", "of bob");
    go();
    assert_found(all[_i].found);
    end();
}
END_TEST

/* A query that is no text fails the node, and so does one that cannot be
 * evaluated. */
START_TEST(queries_that_are_none)
{
    read_with("{read: {semantic_query: \"${input}\"}}");
    admit("{}");
    sim_run_plain(&s);
    assert_node_error("a", "type");
    end();
    read_with("{read: {semantic_query: \"${input.none}\"}}");
    admit("{}");
    sim_run_plain(&s);
    assert_node_error("a", "expression");
    end();
}
END_TEST

/* Whose traces they are goes by scope: the graph, what `session` says (or the
 * run), and nobody's.
 * key: memory_policy.session
 * key: read of memory_policy.scope=global, read of memory_policy.scope=persona
 * key: read of memory_policy.scope=session
 * key: write of memory_policy.scope=global, write of memory_policy.scope=persona
 * key: write of memory_policy.scope=session */
START_TEST(scopes_have_keys)
{
    static const char *const scopes[] = {"global", "persona", "session"};
    static const char *const keys[] = {NULL, "g", "ann"};
    const json_t *trace;
    char text[2048];

    snprintf(text, sizeof text,
             "start: a\nmemory_consistency: live\nnodes:\n"
             "  a: {type: tool, tool: t/echo, args: {v: it}, next: b,\n"
             "    memory_policy: {session: \"${input.who}\",\n"
             "      write: {auto_encode: true, scope: %s}}}\n"
             "  b: {type: tool, tool: t/echo, next: END,\n"
             "    args: {found: \"${memory.map(m, m.content)}\"},\n"
             "    memory_policy: {session: \"${input.who}\", read: {scope: "
             "%s}}}\n",
             scopes[_i], scopes[_i]);
    start(text, "{\"who\": \"ann\"}");
    sim_memorize(&s, "m1", "of all");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    trace = json_object_get(json_array_get(s.traces, 1), "trace");
    ck_assert_str_eq(json_string_value(json_object_get(trace, "scope")),
                     scopes[_i]);
    if (keys[_i] != NULL)
        ck_assert_str_eq(json_string_value(json_object_get(trace, "key")),
                         keys[_i]);
    else
        ck_assert_ptr_null(json_object_get(trace, "key"));
    assert_value("artifacts", "b",
                 _i == 0 ? "{\"found\":[\"{\\\"v\\\":\\\"it\\\"}\",\"of "
                           "all\"]}"
                         : "{\"found\":[\"{\\\"v\\\":\\\"it\\\"}\"]}");
    end();
}
END_TEST

/* Without a `session` it is the run; a conversation is one in a session.
 * key: read of memory_policy.scope=conversation
 * key: write of memory_policy.scope=conversation */
START_TEST(a_conversation_is_of_a_session)
{
    const json_t *body;

    start("start: a\nmemory_consistency: live\nnodes:\n"
          "  a: {type: gmi, prompt: hi, conversation: chat, next: END,\n"
          "    memory_policy: {read: {scope: conversation},\n"
          "      write: {auto_encode: true, scope: conversation}}}\n",
          "{}");
    sync_all();
    body = s.calls[call_of("a")].call.body;
    ck_assert_str_eq(json_string_value(json_object_get(body, "scope")),
                     "conversation");
    body = json_object_get(body, "keys");
    ck_assert_str_eq(json_string_value(json_object_get(body, "session")),
                     "run-1");
    ck_assert_str_eq(json_string_value(json_object_get(body, "conversation")),
                     "run-1/chat");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    body = json_object_get(json_array_get(s.traces, 0), "trace");
    ck_assert_str_eq(json_string_value(json_object_get(body, "key")),
                     "run-1/chat");
    end();
}
END_TEST

/* ---- consistency --------------------------------------------------------- */

/* `a` waits for nobody, `b` comes after it and reads.  The graph says how memory
 * stands to the time, or a node does. */
#define CHAIN                                                                  \
    "start: a\nnodes:\n"                                                       \
    "  a: {type: tool, tool: t/echo, args: {v: fresh}, next: b,\n"             \
    "    memory_policy: {write: {auto_encode: true, scope: global}}}\n"        \
    "  b: {type: tool, tool: t/echo, next: END,\n"                             \
    "    args: {n: \"${memory.filter(m, m.content.contains('fresh')).size()}"  \
    "\"},\n    memory_policy: {read: {}}}\n"

static size_t memories(void)
{
    return sim_memories(&s, "fresh");
}

/* Snapshot readers never see what a sibling wrote; it is written as the run
 * completes, and not before.
 * key: graph.memory_consistency=snapshot */
START_TEST(a_snapshot_is_of_the_start)
{
    start(_i == 0   ? CHAIN
          : _i == 1 ? "memory_consistency: snapshot\n" CHAIN
                    : "memory_consistency: live\n" CHAIN,
          "{}");
    if (_i < 2)
        settle_pin();
    finish("a");
    if (_i == 2) /* it is written before it is done */
        finish("a");
    ck_assert_uint_eq(memories(), _i == 2);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "b", _i == 2 ? "{\"n\":1}" : "{\"n\":0}");
    ck_assert_uint_eq(memories(), 1);
    end();
}
END_TEST

/* Live ones see it, since it is written before its node is done.
 * key: graph.memory_consistency=live
 * key: memory_policy.write, write of memory_policy.auto_encode */
START_TEST(live_is_written_before)
{
    json_t *trace;

    start("memory_consistency: live\n" CHAIN, "{}");
    finish("a");
    assert_node("a", "running");
    ck_assert_int_eq(s.calls[call_of("a")].call.kind, MORTISE_RUN_REMEMBER);
    finish("a");
    assert_node("a", "done");
    ck_assert(sim_saw(&s, "memory_write", "a"));
    trace = json_object_get(json_array_get(s.traces, 0), "trace");
    ck_assert_str_eq(json_string_value(json_object_get(trace, "content")),
                     "{\"v\":\"fresh\"}");
    ck_assert_str_eq(json_string_value(json_object_get(
                         json_object_get(trace, "metadata"), "path")),
                     "1.0/a#1");
    sim_run_plain(&s);
    assert_value("artifacts", "b", "{\"n\":1}");
    end();
}
END_TEST

#define REPLYING                                                               \
    "start: a\nmemory_consistency: live\nnodes:\n"                             \
    "  a: {type: tool, tool: t/read, args: {v: asked}, next: END,\n"           \
    "    retry_policy: {max_attempts: 3, delay: 1ms},\n"                       \
    "    memory_policy: {write: {auto_encode: true, scope: global}}}\n"

/* A live write waits until what it stands on is on the disk (R12). */
START_TEST(a_live_write_waits_for_the_disk)
{
    start(REPLYING, "{}");
    sync_all();
    ck_assert(sim_end_call(&s, call_of("a")));
    ck_assert(!is_out("a"));
    sync_all();
    ck_assert_int_eq(s.calls[call_of("a")].call.kind, MORTISE_RUN_REMEMBER);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* Calls of `a` that are out give another reply each time, as a model does. */
static void reply_anew(unsigned *replies)
{
    for (size_t i = 0; i < s.n_calls; i++) {
        struct sim_call *c = &s.calls[i];
        json_t *body;

        if (c->call.kind != MORTISE_RUN_EXECUTE)
            continue;
        body = json_pack("{s:i}", "v", (int)++*replies);
        json_decref(c->call.body);
        c->call.body = body;
    }
}

/* One thing that can happen; syncs first. */
static bool go_on(unsigned *replies)
{
    if (sim_sync_one(&s))
        return true;
    reply_anew(replies);
    return s.n_calls > 0 ? sim_end_call(&s, 0) : sim_fire_timer(&s, 0);
}

/* What the memory has is what the run has. */
static void assert_one_reply(void)
{
    char *state = sim_state(&s);
    json_t *trace = json_object_get(json_array_get(s.traces, 0), "trace");
    json_t *all = json_loads(state, 0, NULL);
    json_t *a = json_object_get(json_object_get(all, "artifacts"), "a");
    char *text = json_dumps(a, JSON_COMPACT);

    ck_assert_uint_eq(json_array_size(s.traces), 1);
    ck_assert_str_eq(json_string_value(json_object_get(trace, "content")),
                     text);
    free(text);
    free(state);
    json_decref(all);
}

/* Killed at each place, with the write to the memory done or not, in a store that
 * syncs at once and in one that does not, the memory keeps no reply but the run's. */
START_TEST(a_live_write_is_of_the_reply_that_stays)
{
    uint32_t seed = (uint32_t)_i % 4 + 1;
    unsigned replies = 0;

    begin(HEAD REPLYING);
    s.lax = _i / 4 % 2 != 0;
    admit("{}");
    sync_all();
    for (int n = _i / 8; n > 0 && go_on(&replies);)
        n--;
    sim_crash(&s, &seed);
    sim_recover(&s);
    while (go_on(&replies))
        ;
    assert_status(MORTISE_RUN_COMPLETED);
    assert_one_reply();
    end();
}
END_TEST

/* An attempt that the memory failed is followed by one that writes the same; the
 * operation is not called again. */
START_TEST(a_failed_live_write_is_repeated_alone)
{
    unsigned replies = 0;

    start(REPLYING, "{}");
    sync_all();
    reply_anew(&replies);
    ck_assert(sim_end_call(&s, call_of("a")));
    sync_all();
    s.mutes = 2;
    while (go_on(&replies))
        ;
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_uint_eq(replies, 1);
    assert_one_reply();
    end();
}
END_TEST

/* What a node used is told once it is on the disk that the node is done. */
START_TEST(uses_wait_for_the_disk)
{
    begin(HEAD "start: a\nnodes:\n"
               "  a: {type: tool, tool: t/echo, args: {}, next: END,\n"
               "    memory_policy: {consistency: live, read: {}}}\n");
    sim_memorize(&s, "m1", "from before");
    admit("{}");
    finish("a"); /* its read */
    ck_assert(sim_end_call(&s, call_of("a")));
    ck_assert(!is_out("memory"));
    sync_all();
    ck_assert(is_out("memory"));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_uint_eq(json_object_size(s.uses), 1);
    end();
}
END_TEST

/* What a journaled node wrote is visible to its run with its commit, before the
 * memory has it; which it has once, behind that commit.
 * key: graph.memory_consistency=journaled */
START_TEST(journaled_is_overlaid_and_delivered)
{
    size_t i;

    start("memory_consistency: journaled\n" CHAIN, "{}");
    finish("a");
    ck_assert_uint_eq(memories(), 0); /* it is on its way */
    i = call_of("memory");
    ck_assert_int_eq(s.calls[i].call.kind, MORTISE_RUN_REMEMBER);
    finish("b"); /* reads, and goes on */
    ck_assert_uint_eq(memories(), 0);
    finish("b");
    assert_value("artifacts", "b", "{\"n\":1}");
    assert_status(MORTISE_RUN_RUNNING); /* `completed` says that it is there */
    finish("memory");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_uint_eq(memories(), 1);
    ck_assert_uint_eq(s.written, 1);
    end();
}
END_TEST

/* What is behind the commit alone is delivered: nothing before it is on disk. */
START_TEST(nothing_goes_out_before_the_disk)
{
    start("memory_consistency: journaled\n" CHAIN, "{}");
    sync_all();
    ck_assert(sim_end_call(&s, call_of("a")));
    ck_assert(!is_out("memory"));
    sync_all();
    ck_assert(is_out("memory"));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* Killed anywhere, a run of each kind comes to the same: what its nodes read
 * stands in the record, and each trace is in the memory once. */
START_TEST(deaths_change_nothing)
{
    static const char *const how[] = {"snapshot", "live", "journaled"};
    uint32_t seed = (uint32_t)_i + 1;
    char text[2048];

    snprintf(text, sizeof text, HEAD "memory_consistency: %s\n" CHAIN,
             how[_i % 3]);
    begin(text);
    s.lax = _i % 2 != 0;
    sim_memorize(&s, "m1", "fresh from before");
    admit("{}");
    run_dying(&seed, 1 + _i % 5);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_uint_eq(memories(), 2);
    assert_value("artifacts", "b", _i % 3 == 0 ? "{\"n\":1}" : "{\"n\":2}");
    end();
}
END_TEST

/* A node's own word comes before its graph's.
 * key: memory_policy.consistency=snapshot */
START_TEST(a_node_has_its_own_word)
{
    start("start: a\nmemory_consistency: live\nnodes:\n"
          "  a: {type: tool, tool: t/echo, args: {v: fresh}, next: b,\n"
          "    memory_policy: {write: {auto_encode: true, scope: global}}}\n"
          "  b: {type: tool, tool: t/echo, next: END,\n"
          "    args: {n: \"${memory.size()}\"},\n"
          "    memory_policy: {consistency: snapshot, read: {}}}\n",
          "{}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "b", "{\"n\":0}");
    ck_assert_uint_eq(memories(), 1);
    end();
}
END_TEST

/* Branches beside each other, in whatever order their calls end and wherever the
 * process dies: a snapshot has nothing of what the others wrote, what is behind a
 * live write has it, and each trace is in the memory once.
 * key: memory_policy.consistency=live, memory_policy.consistency=journaled */
START_TEST(siblings_in_any_order)
{
    static const char graph[] =
        "start: [w, j, r1, r2]\nnodes:\n"
        "  w: {type: tool, tool: t/echo, args: {v: fresh}, next: r3,\n"
        "    memory_policy: {consistency: live,\n"
        "      write: {auto_encode: true, scope: global}}}\n"
        "  j: {type: tool, tool: t/echo, args: {v: fresh too}, next: r4,\n"
        "    memory_policy: {consistency: journaled,\n"
        "      write: {auto_encode: true, scope: global}}}\n"
        "  r1: {type: tool, tool: t/echo, next: END, args: {n: "
        "\"${memory.size()}\"},\n    memory_policy: {read: {}}}\n"
        "  r2: {type: tool, tool: t/read, next: r1b, args: {}}\n"
        "  r1b: {type: tool, tool: t/echo, next: END, args: {n: "
        "\"${memory.size()}\"},\n    memory_policy: {read: {}}}\n"
        "  r3: {type: tool, tool: t/echo, next: END, args: {n: "
        "\"${memory.exists(m, m.content == '{\\\"v\\\":\\\"fresh\\\"}')}\"},\n"
        "    memory_policy: {consistency: live, read: {}}}\n"
        "  r4: {type: tool, tool: t/echo, next: END, args: {n: "
        "\"${memory.exists(m, m.content.contains('too'))}\"},\n"
        "    memory_policy: {consistency: journaled, read: {}}}\n";
    uint32_t seed = (uint32_t)_i * 31 + 3;
    char text[4096];

    snprintf(text, sizeof text, HEAD "%s", graph);
    begin(text);
    s.lax = _i % 2 != 0;
    admit("{}");
    run_dying(&seed, _i % 4);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "r1", "{\"n\":0}");
    assert_value("artifacts", "r1b", "{\"n\":0}");
    assert_value("artifacts", "r3", "{\"n\":true}");
    assert_value("artifacts", "r4", "{\"n\":true}");
    ck_assert_uint_eq(memories(), 2);
    end();
}
END_TEST

/* A crash ahead of the commit leaves nothing in the memory. */
START_TEST(a_crash_before_the_commit)
{
    uint32_t seed = 5;

    start("memory_consistency: journaled\n" CHAIN, "{}");
    sync_all();
    ck_assert(sim_end_call(&s, call_of("a"))); /* its commit is not on disk */
    sim_crash(&s, &seed);
    assert_node("a", "pending");
    ck_assert_uint_eq(memories(), 0);
    sim_recover(&s);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_uint_eq(memories(), 1);
    end();
}
END_TEST

/* A snapshot is written as its run completes: one that failed writes when it is
 * resumed and completes, one that is cancelled never does; what was journaled is
 * delivered in any case. */
START_TEST(what_becomes_of_it_at_the_end)
{
    static const char graph[] =
        "start: a\nmemory_consistency: %s\nnodes:\n"
        "  a: {type: tool, tool: t/echo, args: {v: fresh}, next: b,\n"
        "    memory_policy: {write: {auto_encode: true}}}\n"
        "  b: {type: tool, tool: t/read, args: {}, next: END}\n";
    bool snapshot = _i < 2, cancels = _i % 2 != 0;
    char text[2048];

    snprintf(text, sizeof text, graph, snapshot ? "snapshot" : "journaled");
    start(text, "{}");
    finish("a");
    if (cancels) {
        do_command((struct mortise_command){.kind = MORTISE_CMD_CANCEL});
        assert_status(MORTISE_RUN_CANCELLED);
        ck_assert_uint_eq(memories(), !snapshot);
    } else {
        sim_run_plain(&s);
        assert_status(MORTISE_RUN_COMPLETED);
        ck_assert_uint_eq(memories(), 1);
    }
    end();
}
END_TEST

START_TEST(a_failed_run_keeps_what_it_would_write)
{
    start("start: a\nnodes:\n"
          "  a: {type: tool, tool: t/echo, args: {v: fresh}, next: b,\n"
          "    memory_policy: {write: {auto_encode: true}}}\n"
          "  b: {type: tool, tool: t/fail, args: {v: \"${scratch.x}\"}, next: "
          "END}\n",
          "{}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    ck_assert_uint_eq(memories(), 0);
    ck_assert_int_eq(update("{\"scratch\": {\"x\": 1}}"), MORTISE_OK);
    ck_assert_int_eq(resume(), MORTISE_OK);
    ck_assert_uint_eq(memories(), 0); /* it fails once more */
    assert_status(MORTISE_RUN_FAILED);
    ck_assert_int_eq(jump("a"), MORTISE_OK);
    assert_status(MORTISE_RUN_FAILED);
    end();
}
END_TEST

/* ---- failures ------------------------------------------------------------ */

/* A memory that fails is the node's failure, by its class: retry_policy and
 * on_error follow, and what was read before stays. */
START_TEST(a_failing_memory_fails_the_node)
{
    static const char graph[] =
        "start: a\nmemory_consistency: live\nnodes:\n"
        "  a: {type: tool, tool: t/echo, next: END,\n"
        "    args: {n: \"${memory.size()}\"}, on_error: {value: error.code},\n"
        "    retry_policy: {max_attempts: 3, delay: 1ms},\n"
        "    memory_policy: {%s: {}}}\n";
    char text[2048];

    snprintf(text, sizeof text, graph, "read");
    start(text, "{}");
    s.mutes = 2;
    sim_run_plain(&s);
    assert_record("a", "attempts", "3");
    assert_value("artifacts", "a", "{\"n\":0}");
    end();
    start(text, "{}");
    s.mutes = 3;
    sim_run_plain(&s);
    assert_value("artifacts", "a", "\"memory.failed\"");
    end();
    start(text, "{}");
    s.mutes = 1;
    s.mute = "permanent";
    sim_run_plain(&s);
    assert_record("a", "attempts", "1");
    assert_value("artifacts", "a", "\"memory.failed\"");
    end();
    start(text, "{}");
    s.lie = json_pack("{s:i}", "traces", 5);
    sim_run_plain(&s);
    assert_value("artifacts", "a", "\"memory.bad_answer\"");
    end();
}
END_TEST

/* A live write that fails is tried again, without the effect being done twice. */
START_TEST(a_failing_write_repeats_no_effect)
{
    start("start: a\nmemory_consistency: live\nnodes:\n"
          "  a: {type: tool, tool: t/write, args: {v: fresh}, next: END,\n"
          "    retry_policy: {max_attempts: 3, delay: 1ms},\n"
          "    memory_policy: {write: {auto_encode: true}}}\n",
          "{}");
    finish("a");
    s.mutes = 2;
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    ck_assert_uint_eq(memories(), 1);
    end();
}
END_TEST

/* One that takes longer than its node may. */
START_TEST(a_slow_memory_is_a_timeout)
{
    start("start: a\nmemory_consistency: live\nnodes:\n"
          "  a: {type: tool, tool: t/echo, args: {}, next: END, timeout: 1s,\n"
          "    memory_policy: {read: {}}}\n",
          "{}");
    sync_all();
    ck_assert(is_out("a"));
    ck_assert(sim_fire_timer(&s, 0));
    sim_run_plain(&s);
    assert_node_error("a", "memory.timeout");
    end();
}
END_TEST

/* What cannot be delivered is tried again, with pauses; when that is over the
 * run stands still, and to resume it tries anew. */
START_TEST(a_run_waits_for_its_memory)
{
    start("start: a\nmemory_consistency: journaled\nnodes:\n"
          "  a: {type: tool, tool: t/echo, args: {v: fresh}, next: END,\n"
          "    memory_policy: {write: {auto_encode: true}}}\n",
          "{}");
    finish("a");
    s.mutes = 6;
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_PAUSED);
    ck_assert_str_eq(mortise_run_reason(s.run), "memory");
    ck_assert(mortise_run_is_idle(s.run));
    ck_assert_uint_eq(memories(), 0);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_uint_eq(memories(), 1);
    end();
}
END_TEST

/* ... and another process does, when it goes on with it. */
START_TEST(another_process_delivers)
{
    uint32_t seed = 2;

    start("start: a\nmemory_consistency: journaled\nnodes:\n"
          "  a: {type: tool, tool: t/echo, args: {v: fresh}, next: END,\n"
          "    memory_policy: {write: {auto_encode: true}}}\n",
          "{}");
    finish("a");
    s.mutes = 1;
    s.mute = "permanent";
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_PAUSED);
    sim_crash(&s, &seed);
    mortise_run_set_stored_status(s.run, MORTISE_RUN_PAUSED, "memory");
    assert_status(MORTISE_RUN_PAUSED);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_uint_eq(memories(), 1);
    end();
}
END_TEST

/* ---- what is remembered -------------------------------------------------- */

/* The type is the policy's; nothing is remembered of nothing, nor of what
 * on_error gave, nor where the policy does not encode.
 * key: write of memory_policy.type */
START_TEST(what_becomes_a_trace)
{
    const json_t *t;

    start("start: a\nmemory_consistency: live\nnodes:\n"
          "  a: {type: tool, tool: t/echo, args: {v: 1}, next: b,\n"
          "    memory_policy: {write: {auto_encode: true, type: "
          "procedural}}}\n"
          "  b: {type: tool, tool: t/echo, args: {v: 2}, next: c,\n"
          "    memory_policy: {read: {}, write: {auto_encode: false}}}\n"
          "  c: {type: tool, tool: t/fail, args: {}, next: END,\n"
          "    on_error: {value: \"'none'\"},\n"
          "    memory_policy: {write: {auto_encode: true}}}\n",
          "{}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_uint_eq(json_array_size(s.traces), 1);
    t = json_object_get(json_array_get(s.traces, 0), "trace");
    ck_assert_str_eq(json_string_value(json_object_get(t, "type")),
                     "procedural");
    end();
}
END_TEST

/* A pause in the middle of a lookup, of a write and of a delivery loses nothing
 * and does nothing twice. */
START_TEST(pauses_in_between)
{
    static const char *const how[] = {"snapshot", "live", "journaled"};
    int rv;

    for (int at = 0; at < 12; at++) {
        char text[2048];

        snprintf(text, sizeof text, HEAD "memory_consistency: %s\n" CHAIN,
                 how[_i]);
        begin(text);
        admit("{}");
        for (int k = 0; k < at; k++)
            if (!sim_sync_one(&s))
                sim_end_call(&s, 0);
        if (!mortise_run_is_finished(s.run)) {
            rv =
                do_command((struct mortise_command){.kind = MORTISE_CMD_PAUSE});
            ck_assert_msg(rv == MORTISE_OK, "%s", err.msg);
            assert_status(MORTISE_RUN_PAUSED);
            ck_assert_int_eq(resume(), MORTISE_OK);
        }
        sim_run_plain(&s);
        assert_status(MORTISE_RUN_COMPLETED);
        ck_assert_uint_eq(memories(), 1);
        end();
    }
}
END_TEST

/* ---- guardrails ---------------------------------------------------------- */

/* Guardrails see what was read before the node knows of it, and before anybody is
 * told.
 * key: guardrail_policy.memory_read */
START_TEST(guards_see_what_is_recalled)
{
    static const struct {
        const char *policy, *found; /* NULL: the node fails */
    } cases[] = {
        {"memory_read: [ok, bad]", NULL},
        {"memory_read: [down], on_violation: sanitize", NULL},
        {"memory_read: [ok, bad], on_violation: sanitize", "[\"good\"]"},
        {"memory_read: [bad], on_violation: warn", "[\"a bad one\",\"good\"]"},
    };
    char text[1024];

    snprintf(text, sizeof text,
             "start: a\nmemory_consistency: live\nnodes:\n"
             "  a: {type: tool, tool: t/echo, next: END,\n"
             "    args: {found: \"${memory.map(m, m.content)}\"},\n"
             "    memory_policy: {read: {}},\n"
             "    guardrail_policy: {%s}, on_error: {goto: z}}\n"
             "  z: {type: tool, tool: t/echo, args: {v: \"${error.code}\"}}\n",
             cases[_i].policy);
    start(text, "{}");
    sim_memorize(&s, "m1", "good");
    sim_memorize(&s, "m2", "a bad one");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    if (cases[_i].found != NULL) {
        assert_found(cases[_i].found);
        ck_assert(sim_saw(&s, "memory_read", "a"));
    } else {
        assert_value("artifacts", "z", "{\"v\":\"guardrail\"}");
        ck_assert(!sim_saw(&s, "memory_read", "a"));
    }
    ck_assert(sim_saw(&s, "guardrail_result", "a"));
    end();
}
END_TEST

static const char *const consistencies[] = {"snapshot", "live", "journaled"};

/* Guardrails see what is to be remembered before any of it is written; what they
 * put in its place is remembered, and the output stays.
 * key: guardrail_policy.memory_write */
START_TEST(guards_see_what_is_remembered)
{
    static const struct {
        const char *policy;
        int status;
        size_t bad, all; /* traces */
    } cases[] = {
        {"memory_write: [ok, bad]", MORTISE_RUN_FAILED, 0, 0},
        {"memory_write: [down], on_violation: sanitize", MORTISE_RUN_FAILED, 0,
         0},
        {"memory_write: [bad, ok], on_violation: sanitize",
         MORTISE_RUN_COMPLETED, 0, 1},
        {"memory_write: [bad], on_violation: warn", MORTISE_RUN_COMPLETED, 1,
         1},
        {"memory_write: [ok]", MORTISE_RUN_COMPLETED, 1, 1},
    };
    char text[1024];

    snprintf(text, sizeof text,
             "start: a\nmemory_consistency: %s\nnodes:\n"
             "  a: {type: tool, tool: t/echo, next: END,\n"
             "    args: {bad: 1, n: fresh},\n"
             "    memory_policy: {write: {auto_encode: true}},\n"
             "    guardrail_policy: {%s}}\n",
             consistencies[_i % 3], cases[_i / 3].policy);
    start(text, "{}");
    sim_run_plain(&s);
    assert_status(cases[_i / 3].status);
    ck_assert_uint_eq(sim_memories(&s, "bad"), cases[_i / 3].bad);
    ck_assert_uint_eq(sim_memories(&s, "fresh"), cases[_i / 3].all);
    if (cases[_i / 3].status == MORTISE_RUN_COMPLETED)
        assert_value("artifacts", "a", "{\"bad\":1,\"n\":\"fresh\"}");
    end();
}
END_TEST

/* Killed anywhere, what is remembered is what they left, once, and what is known
 * is what they let pass. */
START_TEST(guarded_memory_survives_deaths)
{
    uint32_t seed = (uint32_t)_i + 1;
    char text[2048];

    snprintf(text, sizeof text,
             HEAD "memory_consistency: %s\nstart: a\nnodes:\n"
                  "  a: {type: tool, tool: t/idem, next: b,\n"
                  "    args: {bad: 1, n: fresh},\n"
                  "    memory_policy: {write: {auto_encode: true, scope: "
                  "global}},\n"
                  "    guardrail_policy: {memory_write: [bad, ok],\n"
                  "      on_violation: sanitize}}\n"
                  "  b: {type: tool, tool: t/echo, next: END,\n"
                  "    args: {n: \"${memory.size()}\"},\n"
                  "    memory_policy: {read: {}},\n"
                  "    guardrail_policy: {memory_read: [ok, bad],\n"
                  "      on_violation: sanitize}}\n",
             consistencies[_i % 3]);
    begin(text);
    s.lax = _i % 2 != 0;
    sim_memorize(&s, "m1", "a bad one");
    sim_memorize(&s, "m2", "good");
    admit("{}");
    run_dying(&seed, 1 + _i % 5);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_uint_eq(sim_memories(&s, "bad"), 1);
    ck_assert_uint_eq(sim_memories(&s, "fresh"), 1);
    assert_value("artifacts", "b", _i % 3 == 0 ? "{\"n\":1}" : "{\"n\":2}");
    end();
}
END_TEST

static Suite *suite(void)
{
    Suite *su = suite_create("run_memory");
    TCase *tc = tcase_create("read");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_add_test(tc, what_is_read_is_in_scope);
    tcase_add_test(tc, what_is_read_is_used);
    tcase_add_test(tc, a_use_keeps_nobody);
    tcase_add_loop_test(tc, a_use_is_one, 0, 40);
    tcase_add_loop_test(tc, what_is_asked_for, 0, 8);
    tcase_add_test(tc, queries_that_are_none);
    tcase_add_loop_test(tc, scopes_have_keys, 0, 3);
    tcase_add_test(tc, a_conversation_is_of_a_session);
    suite_add_tcase(su, tc);
    tc = tcase_create("consistency");
    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_add_loop_test(tc, a_snapshot_is_of_the_start, 0, 3);
    tcase_add_test(tc, live_is_written_before);
    tcase_add_test(tc, a_live_write_waits_for_the_disk);
    tcase_add_loop_test(tc, a_live_write_is_of_the_reply_that_stays, 0, 80);
    tcase_add_test(tc, a_failed_live_write_is_repeated_alone);
    tcase_add_test(tc, uses_wait_for_the_disk);
    tcase_add_test(tc, journaled_is_overlaid_and_delivered);
    tcase_add_test(tc, nothing_goes_out_before_the_disk);
    tcase_add_loop_test(tc, deaths_change_nothing, 0, 120);
    tcase_add_test(tc, a_node_has_its_own_word);
    tcase_add_loop_test(tc, siblings_in_any_order, 0, 100);
    tcase_add_test(tc, a_crash_before_the_commit);
    tcase_add_loop_test(tc, what_becomes_of_it_at_the_end, 0, 4);
    tcase_add_test(tc, a_failed_run_keeps_what_it_would_write);
    tcase_add_loop_test(tc, pauses_in_between, 0, 3);
    suite_add_tcase(su, tc);
    tc = tcase_create("failures");
    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_add_test(tc, a_failing_memory_fails_the_node);
    tcase_add_test(tc, a_failing_write_repeats_no_effect);
    tcase_add_test(tc, a_slow_memory_is_a_timeout);
    tcase_add_test(tc, a_run_waits_for_its_memory);
    tcase_add_test(tc, another_process_delivers);
    tcase_add_test(tc, what_becomes_a_trace);
    suite_add_tcase(su, tc);
    tc = tcase_create("guards");
    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_add_loop_test(tc, guards_see_what_is_recalled, 0, 4);
    tcase_add_loop_test(tc, guards_see_what_is_remembered, 0, 15);
    tcase_add_loop_test(tc, guarded_memory_survives_deaths, 0, 60);
    suite_add_tcase(su, tc);
    return su;
}

int main(void)
{
    return test_run(suite());
}
