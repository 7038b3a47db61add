/* foreign_node.c -- convert the nodes of compiled execution graphs.
 *
 * In the source, `executorConfig` says how a node works; its fields become keys
 * of the node.  `executionMode`, `effectClass` and `checkpoint`, which every
 * node of the source has, are only written if they differ from the default of
 * the node's type.
 */
#include "tools/import/foreign.h"

#include <string.h>

/* ---- fields of executors ------------------------------------------------ */

#define TYPE                                                                   \
    {                                                                          \
        "type", NULL, FOREIGN_CUSTOM, NULL                                     \
    }

static const struct foreign_row gmi_rows[] = {
    TYPE,
    {"instructions", "instructions", FOREIGN_COPY, NULL},
    {"maxInternalIterations", "max_internal_iterations", FOREIGN_COPY, NULL},
    {"parallelTools", "parallel_tools", FOREIGN_COPY, NULL},
    {"temperature", "temperature", FOREIGN_COPY, NULL},
    {"maxTokens", "max_tokens", FOREIGN_COPY, NULL},
    {NULL, NULL, FOREIGN_COPY, NULL},
};

static const struct foreign_row tool_rows[] = {
    TYPE,
    {"toolName", "tool", FOREIGN_COPY, NULL},
    {"args", "args", FOREIGN_COPY, NULL},
    {NULL, NULL, FOREIGN_COPY, NULL},
};

static const struct foreign_row extension_rows[] = {
    TYPE,
    {"extensionId", "extension", FOREIGN_COPY, NULL},
    {"method", "method", FOREIGN_COPY, NULL},
    {NULL, NULL, FOREIGN_COPY, NULL},
};

static const struct foreign_row judge_rows[] = {
    {"provider", "provider", FOREIGN_COPY, NULL},
    {"model", "model", FOREIGN_COPY, NULL},
    {"criteria", "criteria", FOREIGN_COPY, NULL},
    {"confidenceThreshold", "confidence_threshold", FOREIGN_COPY, NULL},
    {NULL, NULL, FOREIGN_COPY, NULL},
};

static const struct foreign_row human_rows[] = {
    TYPE,
    {"prompt", "prompt", FOREIGN_COPY, NULL},
    {"autoAccept", "auto_accept", FOREIGN_COPY, NULL},
    {"autoReject", "auto_reject", FOREIGN_VERBATIM, NULL},
    {"judge", "judge", FOREIGN_MAP, judge_rows},
    {"onTimeout", "on_timeout", FOREIGN_COPY, NULL},
    {"guardrailOverride", NULL, FOREIGN_CUSTOM, NULL},
    {NULL, NULL, FOREIGN_COPY, NULL},
};

static const struct foreign_row guardrail_policy_rows[] = {
    {"input", "input", FOREIGN_COPY, NULL},
    {"output", "output", FOREIGN_COPY, NULL},
    {"onViolation", "on_violation", FOREIGN_COPY, NULL},
    {"rerouteTarget", "reroute_target", FOREIGN_ID, NULL},
    {NULL, NULL, FOREIGN_COPY, NULL},
};

static const struct foreign_row guardrail_rows[] = {
    TYPE,
    {"guardrailIds", "guardrails", FOREIGN_COPY, NULL},
    {"onViolation", "on_violation", FOREIGN_COPY, NULL},
    {"rerouteTarget", "reroute_target", FOREIGN_ID, NULL},
    {NULL, NULL, FOREIGN_COPY, NULL},
};

static const struct foreign_row router_rows[] = {
    TYPE,
    {"condition", "condition", FOREIGN_CUSTOM, NULL},
    {NULL, NULL, FOREIGN_COPY, NULL},
};

static const struct foreign_row subgraph_rows[] = {
    TYPE,
    {"graphId", "graph", FOREIGN_COPY, NULL},
    {"inputMapping", "input_mapping", FOREIGN_CUSTOM, NULL},
    {"outputMapping", "output_mapping", FOREIGN_CUSTOM, NULL},
    {NULL, NULL, FOREIGN_COPY, NULL},
};

static const struct foreign_row voice_config_rows[] = {
    {"mode", "mode", FOREIGN_COPY, NULL},
    {"stt", "stt", FOREIGN_COPY, NULL},
    {"tts", "tts", FOREIGN_COPY, NULL},
    {"voice", "voice", FOREIGN_COPY, NULL},
    {"language", "language", FOREIGN_COPY, NULL},
    {"endpointing", "endpointing", FOREIGN_COPY, NULL},
    {"bargeIn", "barge_in", FOREIGN_COPY, NULL},
    {"diarization", "diarization", FOREIGN_COPY, NULL},
    {"maxTurns", "max_turns", FOREIGN_COPY, NULL},
    {"exitOn", "exit_on", FOREIGN_COPY, NULL},
    {"exitKeywords", "exit_keywords", FOREIGN_VERBATIM, NULL},
    {"speakText", "speak_text", FOREIGN_COPY, NULL},
    {NULL, NULL, FOREIGN_COPY, NULL},
};

static const struct foreign_row voice_rows[] = {
    TYPE,
    {"voiceConfig", "voice", FOREIGN_MAP, voice_config_rows},
    {NULL, NULL, FOREIGN_COPY, NULL},
};

/* ---- fields of all nodes ------------------------------------------------ */

static const struct foreign_row retry_rows[] = {
    {"maxAttempts", "max_attempts", FOREIGN_COPY, NULL},
    {"backoff", "backoff", FOREIGN_COPY, NULL},
    {"backoffMs", "delay", FOREIGN_MS, NULL},
    {"retryOn", "retry_on", FOREIGN_CUSTOM, NULL},
    {NULL, NULL, FOREIGN_COPY, NULL},
};

static const struct foreign_row llm_rows[] = {
    {"providerId", "provider_id", FOREIGN_COPY, NULL},
    {"model", "model", FOREIGN_COPY, NULL},
    {"reason", "reason", FOREIGN_VERBATIM, NULL},
    {NULL, NULL, FOREIGN_COPY, NULL},
};

static const struct foreign_row memory_read_rows[] = {
    {"types", "types", FOREIGN_COPY, NULL},
    {"scope", "scope", FOREIGN_COPY, NULL},
    {"maxTraces", "max_traces", FOREIGN_COPY, NULL},
    {"minStrength", "min_strength", FOREIGN_COPY, NULL},
    {"semanticQuery", "semantic_query", FOREIGN_COPY, NULL},
    {NULL, NULL, FOREIGN_COPY, NULL},
};

static const struct foreign_row memory_write_rows[] = {
    {"autoEncode", "auto_encode", FOREIGN_COPY, NULL},
    {"type", "type", FOREIGN_COPY, NULL},
    {"scope", "scope", FOREIGN_COPY, NULL},
    {NULL, NULL, FOREIGN_COPY, NULL},
};

static const struct foreign_row memory_rows[] = {
    {"consistency", "consistency", FOREIGN_COPY, NULL},
    {"read", "read", FOREIGN_MAP, memory_read_rows},
    {"write", "write", FOREIGN_MAP, memory_write_rows},
    {NULL, NULL, FOREIGN_COPY, NULL},
};

static const struct foreign_row discovery_rows[] = {
    {"enabled", "enabled", FOREIGN_COPY, NULL},
    {"query", "query", FOREIGN_COPY, NULL},
    {"kind", "kind", FOREIGN_COPY, NULL},
    {"maxResults", "max_results", FOREIGN_COPY, NULL},
    {"fallback", "fallback", FOREIGN_COPY, NULL},
    {NULL, NULL, FOREIGN_COPY, NULL},
};

static const struct foreign_row persona_rows[] = {
    {"traits", "traits", FOREIGN_COPY, NULL},
    {"mood", "mood", FOREIGN_COPY, NULL},
    {"adaptStyle", "adapt_style", FOREIGN_COPY, NULL},
    {NULL, NULL, FOREIGN_COPY, NULL},
};

static const struct foreign_row node_rows[] = {
    {"id", NULL, FOREIGN_CUSTOM, NULL},
    {"type", "type", FOREIGN_CUSTOM, NULL},
    {"executorConfig", NULL, FOREIGN_CUSTOM, NULL},
    {"executionMode", "execution_mode", FOREIGN_CUSTOM, NULL},
    {"effectClass", "effect_class", FOREIGN_CUSTOM, NULL},
    {"timeout", "timeout", FOREIGN_CUSTOM, NULL},
    {"checkpoint", "checkpoint", FOREIGN_CUSTOM, NULL},
    {"metadata", "metadata", FOREIGN_CUSTOM, NULL},
    {"retryPolicy", "retry_policy", FOREIGN_MAP, retry_rows},
    {"inputSchema", "input_schema", FOREIGN_VERBATIM, NULL},
    {"outputSchema", "output_schema", FOREIGN_VERBATIM, NULL},
    {"complexity", "complexity", FOREIGN_CUSTOM, NULL},
    {"llm", "llm", FOREIGN_CUSTOM, NULL},
    {"memoryPolicy", "memory_policy", FOREIGN_MAP, memory_rows},
    {"discoveryPolicy", "discovery_policy", FOREIGN_MAP, discovery_rows},
    {"personaPolicy", "persona_policy", FOREIGN_MAP, persona_rows},
    {"guardrailPolicy", "guardrail_policy", FOREIGN_MAP, guardrail_policy_rows},
    {"edges", "edges", FOREIGN_CUSTOM, NULL},
    {NULL, NULL, FOREIGN_COPY, NULL},
};

static const struct {
    const char *type;
    const struct foreign_row *rows;
    const char *effects[2]; /* its default effect classes */
} executors[] = {
    {"gmi", gmi_rows, {NULL}},
    {"tool", tool_rows, {NULL}},
    {"extension", extension_rows, {NULL}},
    {"human", human_rows, {"human"}},
    {"guardrail", guardrail_rows, {"pure", "read"}},
    {"router", router_rows, {"pure"}},
    {"subgraph", subgraph_rows, {"pure", "read"}},
    {"voice", voice_rows, {NULL}},
};

enum { N_EXECUTORS = sizeof executors / sizeof executors[0] };

/* ---- subgraphs ---------------------------------------------------------- */

static bool is_cel_identifier(const char *s, size_t n)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

    for (size_t i = 0; i < n; i++)
        if (s[i] == '\0' || strchr(letters, s[i]) == NULL)
            return false;
    return n > 0 && (s[0] < '0' || s[0] > '9') &&
           !(n == 2 && memcmp(s, "in", 2) == 0) &&
           !(n == 4 && memcmp(s, "true", 4) == 0) &&
           !(n == 4 && memcmp(s, "null", 4) == 0) &&
           !(n == 5 && memcmp(s, "false", 5) == 0);
}

static void put_path_step(struct mortise_buf *b, const char *step, size_t n)
{
    if (is_cel_identifier(step, n)) {
        mortise_buf_puts(b, ".");
        mortise_buf_put(b, step, n);
    } else {
        mortise_buf_puts(b, "[\"");
        mortise_buf_put_escaped(b, step, n);
        mortise_buf_puts(b, "\"]");
    }
}

/* Finish the buffer and return its text, in the arena. */
static char *finish_path_text(struct foreign *f, struct mortise_buf *b)
{
    char *text = b->failed ? NULL : mortise_arena_strndup(f->arena, b->p, b->n);

    f->nomem |= text == NULL;
    mortise_buf_finish(b);
    return text;
}

char *mortise_foreign_convert_path(struct foreign *f, const char *root,
                                   const char *dotted)
{
    struct mortise_buf b;

    mortise_buf_init(&b, f->arena->mem);
    mortise_buf_puts(&b, root);
    for (;;) {
        size_t n = strcspn(dotted, ".");

        put_path_step(&b, dotted, n);
        if (dotted[n] == '\0')
            break;
        dotted += n + 1;
    }
    return finish_path_text(f, &b);
}

/* Make an expression for the value at a path; null if a step of the path
 * is absent.  In the source this value is undefined; in CEL it would be an
 * error. */
static char *make_optional_value(struct foreign *f, const char *root,
                                 const char *dotted)
{
    const char *between = "",
               *path = mortise_foreign_convert_path(f, root, dotted);
    struct mortise_buf b, at;

    mortise_buf_init(&b, f->arena->mem);
    mortise_buf_init(&at, f->arena->mem);
    mortise_buf_puts(&at, root);
    for (;;) {
        size_t n = strcspn(dotted, ".");
        size_t before = at.n;

        mortise_buf_puts(&b, between);
        put_path_step(&at, dotted, n);
        if (is_cel_identifier(dotted, n)) {
            mortise_buf_puts(&b, "has(");
            mortise_buf_put(&b, at.p, at.n);
            mortise_buf_puts(&b, ")");
        } else {
            mortise_buf_puts(&b, "\"");
            mortise_buf_put_escaped(&b, dotted, n);
            mortise_buf_puts(&b, "\" in ");
            mortise_buf_put(&b, at.p, before);
        }
        between = " && ";
        if (dotted[n] == '\0' || at.failed)
            break;
        dotted += n + 1;
    }
    b.failed |= at.failed || path == NULL;
    mortise_buf_finish(&at);
    mortise_buf_printf(&b, " ? %s : null", path != NULL ? path : "");
    return finish_path_text(f, &b);
}

/* The source maps each value to its destination, Mortise each destination
 * to its value: invert the mapping.  `from` and `to` are the roots of the
 * paths. */
static void invert_mapping(struct foreign *f, const struct mortise_yaml *config,
                           const char *theirs, const char *ours,
                           const char *from, const char *to, json_t *into)
{
    const struct mortise_yaml *map = mortise_foreign_get(config, theirs);
    json_t *turned = json_object();

    for (size_t i = 0; map != NULL && i < map->n && !f->nomem; i++) {
        const struct mortise_yaml *v = map->items[i];
        const char *key;

        if (map->kind != MORTISE_YAML_MAP || v->kind != MORTISE_YAML_STRING) {
            mortise_foreign_report_error(
                f, v->span, NULL, "'%s' must map paths to paths, as strings",
                theirs);
            continue;
        }
        key = mortise_foreign_convert_path(f, to, v->str);
        if (key != NULL && json_object_get(turned, key) != NULL)
            mortise_foreign_report_error(
                f, v->span, NULL, "two lines of '%s' write to the same path",
                theirs);
        if (key != NULL)
            mortise_foreign_set(
                f, turned, key,
                json_string(make_optional_value(f, from, map->keys[i]->str)));
    }
    mortise_foreign_set_nonempty(f, into, ours, turned);
}

/* ---- executors ---------------------------------------------------------- */

static void add_router_choice(struct foreign *f,
                              const struct mortise_yaml *config,
                              json_t *targets, json_t *into)
{
    const struct mortise_yaml *v = mortise_foreign_get(config, "condition");
    json_t *ids = json_array();
    const struct foreign_cond *expr = NULL;

    MORTISE_JSON_MEMBERS (theirs, ours, targets)
        if (json_array_append(ids, ours) != 0)
            f->nomem = true;
    if (v == NULL || v->kind != MORTISE_YAML_MAP)
        mortise_foreign_report_error(f, v != NULL ? v->span : config->span,
                                     NULL,
                                     "a router needs a 'condition', a mapping");
    else
        expr = mortise_foreign_parse_condition(f, v, "a router");
    if (expr != NULL)
        mortise_foreign_set(f, into, "condition",
                            mortise_foreign_make_router_expr(f, expr, targets));
    if (json_array_size(ids) == 0)
        mortise_foreign_report_loss(
            f, config->span, "list the nodes that it can lead to as 'targets'",
            "the targets of the router are not imported: it has no edges");
    mortise_foreign_set_nonempty(f, into, "targets", ids);
}

/* The source does not name the guardrails that check answers which were
 * accepted automatically.  Without guardrails, `false` is the behavior here. */
static void check_guardrail_override(struct foreign *f,
                                     const struct mortise_yaml *config)
{
    const struct mortise_yaml *v =
        mortise_foreign_get(config, "guardrailOverride");

    if (v != NULL && !(v->kind == MORTISE_YAML_BOOL && !v->u.b))
        mortise_foreign_report_loss(
            f, v->span, "list the guardrails as 'post_approval_guardrails'",
            "'guardrailOverride' is not imported: it does not name the "
            "guardrails");
}

/* In the source, the session supplies the audio.  Here the input of the run
 * names the audio streams. */
static void add_audio_streams(struct foreign *f,
                              const struct mortise_yaml *mode, json_t *voice)
{
    if (!mortise_foreign_is_string(mode, "speak-only"))
        mortise_foreign_set(f, voice, "audio_in",
                            json_string("${input.audio_in}"));
    if (!mortise_foreign_is_string(mode, "listen-only"))
        mortise_foreign_set(f, voice, "audio_out",
                            json_string("${input.audio_out}"));
}

/* In the source, `exitOn` is one reason; the limit of turns, the keywords and a
 * hangup end the conversation, too.  Here `exit_on` must list all of them. */
static void list_exit_reasons(struct foreign *f, json_t *voice)
{
    const json_t *said = json_object_get(voice, "exit_on");
    const char *word = json_string_value(said);
    const bool bounded =
        json_integer_value(json_object_get(voice, "max_turns")) > 0;
    const bool keyed = json_object_get(voice, "exit_keywords") != NULL;
    const bool hears = json_object_get(voice, "audio_in") != NULL;
    json_t *list;

    if (word == NULL)
        return;
    list = json_pack("[s]", word);
    if (list != NULL && bounded && strcmp(word, "turns-exhausted") != 0)
        f->nomem |=
            json_array_append_new(list, json_string("turns-exhausted")) != 0;
    if (list != NULL && keyed && strcmp(word, "keyword") != 0)
        f->nomem |= json_array_append_new(list, json_string("keyword")) != 0;
    if (list != NULL && hears && strcmp(word, "hangup") != 0)
        f->nomem |= json_array_append_new(list, json_string("hangup")) != 0;
    mortise_foreign_set(f, voice, "exit_on", list);
}

static void add_voice_defaults(struct foreign *f,
                               const struct mortise_yaml *config, json_t *into)
{
    const struct mortise_yaml *theirs =
        mortise_foreign_get(config, "voiceConfig");
    json_t *voice = json_object_get(into, "voice");

    if (!json_is_object(voice))
        return;
    add_audio_streams(f, mortise_foreign_get(theirs, "mode"), voice);
    list_exit_reasons(f, voice);
}

/* The source writes each member of an extension's result to scratch. */
static void report_extension_result(struct foreign *f,
                                    const struct mortise_yaml *config)
{
    mortise_foreign_report_loss(
        f, config->span,
        "write the members that other nodes read as 'outputs': {scratch.NAME: "
        "output.NAME}; the extension gets only 'args' here, not {input, "
        "scratch}",
        "the result of an extension is not written to scratch: here it is the "
        "artifact of its node");
}

/* A gmi node of the source sees the whole state; here it sees only its input,
 * unless it has a prompt.  After START the input is all there is. */
static void add_state_prompt(struct foreign *f, const char *id, json_t *into)
{
    if (json_object_get(f->first, id) == NULL ||
        json_object_get(f->fed, id) != NULL)
        mortise_foreign_set(f, into, "prompt",
                            json_pack("{s:s, s:s, s:s}", "input", "${input}",
                                      "scratch", "${scratch}", "artifacts",
                                      "${artifacts}"));
}

static void carry_executor(struct foreign *f, const struct foreign_row *rows,
                           const struct mortise_yaml *config, json_t *targets,
                           json_t *into)
{
    mortise_foreign_convert_map(f, rows, config, "executorConfig", into);
    if (rows == router_rows)
        add_router_choice(f, config, targets, into);
    if (rows == human_rows)
        check_guardrail_override(f, config);
    if (rows == extension_rows)
        report_extension_result(f, config);
    if (rows == voice_rows)
        add_voice_defaults(f, config, into);
    if (rows != subgraph_rows)
        return;
    invert_mapping(f, config, "inputMapping", "input_mapping", "scratch",
                   "input", into);
    invert_mapping(f, config, "outputMapping", "output_mapping", "artifacts",
                   "scratch", into);
}

/* ---- conversion of common fields ---------------------------------------- */

/* In the source a router makes no calls, and a human node only asks a
 * person. */
static bool has_fixed_effect_class(const char *type)
{
    return strcmp(type, "human") == 0 || strcmp(type, "router") == 0 ||
           !mortise_foreign_has_key(type, "effect_class");
}

static void carry_effect_class(struct foreign *f,
                               const struct mortise_yaml *node,
                               const char *const effects[2], json_t *into)
{
    const struct mortise_yaml *v = mortise_foreign_get(node, "effectClass");

    if (v == NULL || v->kind != MORTISE_YAML_STRING)
        return;
    for (int i = 0; i < 2; i++)
        if (effects[i] != NULL && strcmp(v->str, effects[i]) == 0)
            return;
    if (has_fixed_effect_class(f->type))
        mortise_foreign_report_loss(
            f, v->span, NULL,
            "'effectClass' is not imported: nodes of type "
            "'%s' have a fixed effect class",
            f->type);
    else if (strcmp(v->str, "human") == 0)
        mortise_foreign_report_loss(
            f, v->span, "set 'effect_class' to its effect",
            "'effectClass' is not imported: nodes of type '%s' ask no person",
            f->type);
    else
        mortise_foreign_set(f, into, "effect_class", json_string(v->str));
}

/* A node that calls no model always takes one turn. */
static void carry_execution_mode(struct foreign *f,
                                 const struct mortise_yaml *node, json_t *into)
{
    const struct mortise_yaml *v = mortise_foreign_get(node, "executionMode");

    if (v == NULL || v->kind != MORTISE_YAML_STRING)
        return;
    if (strcmp(f->type, "gmi") == 0) {
        mortise_foreign_set(f, into, "execution_mode", json_string(v->str));
        if (strcmp(v->str, "single_turn") != 0)
            mortise_foreign_report_loss(
                f, v->span,
                "list them as 'tool_allowlist'; without it, "
                "the node has no tools",
                "the tools of this node are not imported: the "
                "file does not list them");
    } else if (strcmp(v->str, "single_turn") != 0)
        mortise_foreign_report_loss(
            f, v->span, NULL,
            "'executionMode' is not imported: nodes of type '%s' call no model",
            f->type);
}

/* Settings of models are only for nodes that call one. */
static bool is_model_node(const struct foreign *f, const json_t *into)
{
    const char *mode = json_string_value(
        json_object_get(json_object_get(into, "voice"), "mode"));

    return strcmp(f->type, "gmi") == 0 ||
           (mode != NULL && strcmp(mode, "conversation") == 0);
}

static void carry_model(struct foreign *f, const struct mortise_yaml *node,
                        json_t *into)
{
    static const struct foreign_row rows[] = {
        {"complexity", "complexity", FOREIGN_COPY, NULL},
        {"llm", "llm", FOREIGN_MAP, llm_rows},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct mortise_yaml *v =
            mortise_foreign_get(node, rows[i].theirs);

        if (is_model_node(f, into))
            mortise_foreign_convert_field(f, &rows[i], node, into);
        else if (v != NULL)
            mortise_foreign_report_loss(
                f, v->span, NULL,
                "'%s' is not imported: nodes of type '%s' call no model",
                rows[i].theirs, f->type);
    }
}

/* The timeout of a human node limits the wait for the answer, not an
 * attempt. */
static void carry_timeout(struct foreign *f, const struct mortise_yaml *node,
                          json_t *into)
{
    const char *ours = strcmp(f->type, "human") == 0 ? "wait" : "timeout";
    const struct foreign_row row = {"timeout", ours, FOREIGN_MS, NULL};

    mortise_foreign_convert_field(f, &row, node, into);
}

/* In the source, the policy every_node adds to a node's own setting; here the
 * node's setting overrides the policy.  So `before` becomes `both`, and `after`
 * and `none` are left to the policy. */
static void carry_checkpoint(struct foreign *f, const struct mortise_yaml *node,
                             bool every_node, json_t *into)
{
    const struct mortise_yaml *v = mortise_foreign_get(node, "checkpoint");
    const char *word;

    if (v == NULL || v->kind != MORTISE_YAML_STRING ||
        strcmp(v->str, "none") == 0)
        return;
    word = v->str;
    if (every_node && strcmp(word, "after") == 0)
        return;
    if (every_node && strcmp(word, "before") == 0)
        word = "both";
    mortise_foreign_set(f, into, "checkpoint", json_string(word));
}

static void carry_metadata(struct foreign *f, const struct mortise_yaml *node,
                           json_t *into)
{
    const struct mortise_yaml *v = mortise_foreign_get(node, "metadata");
    const struct mortise_yaml *as = mortise_foreign_get(v, "outputAs");
    json_t *rest;

    if (v == NULL)
        return;
    rest = mortise_yaml_to_json(v, false);
    if (as != NULL && as->kind == MORTISE_YAML_STRING && as->len > 0) {
        json_object_del(rest, "outputAs");
        if (mortise_foreign_has_key(f->type, "output_as"))
            mortise_foreign_set(f, into, "output_as", json_string(as->str));
        else
            mortise_foreign_report_loss(
                f, as->span, NULL,
                "'outputAs' is not imported: nodes of type '%s' have no output",
                f->type);
    }
    if (json_is_object(rest))
        mortise_foreign_set_nonempty(f, into, "metadata", rest);
    else
        mortise_foreign_set(f, into, "metadata", rest);
}

static bool is_retry_class(const char *word)
{
    return strcmp(word, "transient") == 0 || strcmp(word, "timeout") == 0;
}

/* The source searches messages for the items of `retryOn`.  Here an item is an
 * error code only if it has the form of a plugin's error code. */
static bool is_plugin_error_code(const char *word)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    const size_t n = strspn(word, letters);

    return n > 0 && word[n] == '.' &&
           word[n + 1 + strspn(word + n + 1, letters)] == '\0' &&
           word[n + 1] != '\0';
}

static void add_when_term(struct mortise_buf *when, const char *ahead,
                          const char *word, const char *behind)
{
    if (when->n > 0)
        mortise_buf_puts(when, " || ");
    mortise_buf_printf(when, "%s\"", ahead);
    mortise_buf_put_escaped(when, word, strlen(word));
    mortise_buf_printf(when, "\"%s", behind);
}

/* Add one item of `retryOn` to `when`, and to `codes` if it is a class or a
 * code.  True: it is a text to find in messages. */
static bool carry_retry_item(struct foreign *f, const struct mortise_yaml *v,
                             json_t *codes, struct mortise_buf *when)
{
    if (v->kind != MORTISE_YAML_STRING || strcmp(v->str, "permanent") == 0) {
        mortise_foreign_report_loss(
            f, v->span,
            "list codes of errors as 'retry_on' (`mortise explain` lists them)",
            v->kind == MORTISE_YAML_STRING
                ? "'permanent' in 'retryOn' is not imported: permanent errors "
                  "are retried by code"
                : "a value in 'retryOn' is not imported: it is not a string");
        return false;
    }
    if (!is_retry_class(v->str) && !is_plugin_error_code(v->str)) {
        add_when_term(when, "error.message.contains(", v->str, ")");
        return true;
    }
    f->nomem |= json_array_append_new(codes, json_string(v->str)) != 0;
    add_when_term(when,
                  is_retry_class(v->str) ? "error.class == " : "error.code == ",
                  v->str, "");
    return false;
}

/* A text is only searched for in messages of these classes, so they must be
 * listed. */
static void add_retry_classes(struct foreign *f, json_t *codes)
{
    static const char *const classes[] = {"transient", "timeout"};

    for (size_t i = 0; i < 2; i++) {
        bool listed = false;

        MORTISE_JSON_EACH (code, k, codes)
            listed |= strcmp(json_string_value(code), classes[i]) == 0;
        if (!listed)
            f->nomem |=
                json_array_append_new(codes, json_string(classes[i])) != 0;
    }
}

static void carry_retry_on(struct foreign *f, const struct mortise_yaml *node,
                           json_t *into)
{
    const struct mortise_yaml *on = mortise_foreign_get(
        mortise_foreign_get(node, "retryPolicy"), "retryOn");
    json_t *retry = json_object_get(into, "retry_policy"), *codes;
    struct mortise_buf when;
    bool texts = false;

    if (on == NULL || !json_is_object(retry))
        return;
    codes = json_array();
    mortise_buf_init(&when, f->arena->mem);
    for (size_t i = 0; on->kind == MORTISE_YAML_SEQ && i < on->n; i++)
        texts |= carry_retry_item(f, on->items[i], codes, &when);
    if (texts) {
        add_retry_classes(f, codes);
        mortise_foreign_report_loss(
            f, on->span, "list the codes of permanent errors as 'retry_on'",
            "texts in 'retryOn' are compared only with "
            "messages of transient errors and timeouts");
    }
    mortise_foreign_set_nonempty(f, retry, "retry_on", codes);
    if (texts && mortise_buf_cstr(&when) != NULL)
        mortise_foreign_set(f, retry, "when", json_string(when.p));
    f->nomem |= when.failed;
    mortise_buf_finish(&when);
}

/* A delay longer than the default of `max_delay`, 30 s, needs a `max_delay`. */
static void add_max_delay(struct foreign *f, const struct mortise_yaml *node,
                          const json_t *into)
{
    const struct mortise_yaml *policy =
        mortise_foreign_get(node, "retryPolicy");
    json_t *retry = json_object_get(into, "retry_policy");
    uint64_t ms;

    if (json_is_object(retry) &&
        mortise_foreign_get_ms(mortise_foreign_get(policy, "backoffMs"), &ms) &&
        ms > 30000)
        mortise_foreign_set(f, retry, "max_delay",
                            mortise_foreign_format_duration(ms));
}

/* Only voice nodes have edges of their own (foreign_voice.c). */
static void check_node_edges(struct foreign *f, const struct mortise_yaml *node)
{
    if (mortise_foreign_get(node, "edges") != NULL &&
        strcmp(f->type, "voice") != 0)
        mortise_foreign_report_loss(
            f, mortise_yaml_key(node, "edges")->span, NULL,
            "'edges' is not imported: nodes of type '%s' have "
            "no edges of their own",
            f->type);
}

/* ---- nodes -------------------------------------------------------------- */

/* Get the node's index in executors; N_EXECUTORS: invalid, which was
 * reported. */
static size_t find_executor(struct foreign *f, const struct mortise_yaml *node)
{
    const struct mortise_yaml *type = mortise_foreign_get(node, "type"),
                              *config =
                                  mortise_foreign_get(node, "executorConfig"),
                              *again = mortise_yaml_get(config, "type");
    size_t i = 0;

    while (i < N_EXECUTORS &&
           !mortise_foreign_is_string(type, executors[i].type))
        i++;
    if (i == N_EXECUTORS) {
        mortise_foreign_report_error(
            f, type != NULL ? type->span : node->span, NULL,
            "the 'type' of a node must be gmi, tool, extension, human, "
            "guardrail, router, subgraph or voice");
    } else if (again == NULL) {
        mortise_foreign_report_error(
            f, node->span, NULL,
            "a node needs an 'executorConfig' with a 'type'");
        i = N_EXECUTORS;
    } else if (!mortise_foreign_is_string(again, executors[i].type)) {
        mortise_foreign_report_error(
            f, again->span, "the two types must be equal: correct one of them",
            "the 'type' of 'executorConfig' differs from the 'type' of the "
            "node, '%s'",
            executors[i].type);
        i = N_EXECUTORS;
    }
    return i;
}

json_t *mortise_foreign_convert_node(struct foreign *f,
                                     const struct mortise_yaml *node,
                                     json_t *targets, bool every_node)
{
    const size_t i = find_executor(f, node);
    json_t *into = json_object();

    if (i == N_EXECUTORS)
        return into;
    f->type = executors[i].type;
    mortise_foreign_set(f, into, "type", json_string(f->type));
    carry_executor(f, executors[i].rows,
                   mortise_yaml_get(node, "executorConfig"), targets, into);
    carry_execution_mode(f, node, into);
    carry_effect_class(f, node, executors[i].effects, into);
    carry_timeout(f, node, into);
    carry_checkpoint(f, node, every_node, into);
    carry_model(f, node, into);
    if (strcmp(f->type, "gmi") == 0)
        add_state_prompt(
            f, mortise_foreign_find_id(f, mortise_yaml_get(node, "id")), into);
    mortise_foreign_convert_map(f, node_rows, node, "a node", into);
    check_node_edges(f, node);
    carry_retry_on(f, node, into);
    add_max_delay(f, node, into);
    carry_metadata(f, node, into);
    f->type = NULL;
    return into;
}
