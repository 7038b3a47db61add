/* voice.c -- voice nodes: they listen, speak, or hold a conversation.
 *
 * The operation is voice/run unless the deployment's `executors` has another
 * one.  Its arguments are
 *
 *     {args, node}
 *
 * where `node` has `voice` and the other keys below as written, with their
 * templates evaluated.  Keys that are not written are absent: the operation has
 * the defaults.  Two keys are normalized: `exit_on` is a list, and
 * `silence_timeout` a number of milliseconds.
 *
 * The three modes have different keys.  A key without an effect in the node's
 * mode is a finding, because its author expects an effect.
 */
#include <stdio.h>
#include <string.h>

#include "lang/graph/kinds/agent.h"

enum mode {
    MODE_UNREAD, /* has a finding of its own */
    MODE_CONVERSATION = 1,
    MODE_LISTEN = 2,
    MODE_SPEAK = 4,
    HEARS = MODE_CONVERSATION | MODE_LISTEN,
    SPEAKS = MODE_CONVERSATION | MODE_SPEAK,
    ALL = HEARS | MODE_SPEAK
};

/* The reasons for the end of a session. */
enum exit {
    EXIT_HANGUP = 1,
    EXIT_SILENCE = 2,
    EXIT_KEYWORD = 4,
    EXIT_TURNS = 8,
    EXIT_MANUAL = 16
};

/* The data of a node. */
struct voice {
    struct mortise_agent agent; /* first: agent.h's rows read into it */
    struct mortise_built_map voice; /* its keys, for the operation */
    int mode;
    bool exits_said;
    unsigned exits;
};

_Static_assert(offsetof(struct voice, agent) == 0, "a voice node is an agent");

static struct voice *get_voice_data(const void *reading)
{
    const struct mortise_node_reader *r = reading;

    return r->node->own;
}

/* ---- keys of `voice` ------------------------------------------------------- */

static void put_voice_key(struct mortise_loader *ld, void *into,
                          const struct mortise_slot *slot,
                          const struct mortise_yaml *value)
{
    mortise_built_map_add(ld, &get_voice_data(into)->voice, slot->name, value);
}

/* Pass the key as written. */
static void read_voice_key(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    put_voice_key(ctx, into, slot, slot->value);
}

static const struct mortise_word modes[] = {
    {.word = "conversation", .value = MODE_CONVERSATION},
    {.word = "listen-only", .value = MODE_LISTEN},
    {.word = "speak-only", .value = MODE_SPEAK},
    {.word = NULL}};

static const struct mortise_word endpointings[] = {{.word = "acoustic"},
                                                   {.word = "heuristic"},
                                                   {.word = "semantic"},
                                                   {.word = NULL}};

static const struct mortise_word barge_ins[] = {{.word = "hard-cut"},
                                                {.word = "soft-fade"},
                                                {.word = "disabled"},
                                                {.word = NULL}};

static const struct mortise_word exits[] = {
    {.word = "hangup", .value = EXIT_HANGUP},
    {.word = "silence-timeout", .value = EXIT_SILENCE},
    {.word = "keyword", .value = EXIT_KEYWORD},
    {.word = "turns-exhausted", .value = EXIT_TURNS},
    {.word = "manual", .value = EXIT_MANUAL},
    {.word = NULL}};

static void read_voice_mode(void *ctx, void *into,
                            const struct mortise_slot *slot)
{
    get_voice_data(into)->mode = slot->word;
    read_voice_key(ctx, into, slot);
}

/* False after a finding. */
static bool add_voice_exit(struct mortise_loader *ld, struct voice *v,
                           const struct mortise_yaml *at)
{
    const struct mortise_word *w =
        mortise_word_find(exits, "exit_on", at, ld->diags);
    bool twice = w != NULL && (v->exits & (unsigned)w->value) != 0;

    if (twice)
        mortise_diag_add(ld->diags, "E0212", at->span,
                         "'%s' appears twice in exit_on", at->str);
    else if (w != NULL)
        v->exits |= (unsigned)w->value;
    return w != NULL && !twice;
}

/* A list of one element. */
static const struct mortise_yaml *
make_single_list(struct mortise_loader *ld, const struct mortise_yaml *one)
{
    struct mortise_yaml *list =
        mortise_load_alloc(ld, sizeof *list + sizeof *list->items);

    if (list == NULL)
        return NULL;
    *list = (struct mortise_yaml){.kind = MORTISE_YAML_SEQ,
                                  .span = one->span,
                                  .items = (struct mortise_yaml **)(list + 1),
                                  .n = 1};
    list->items[0] = mortise_yaml_unconst(one);
    return list;
}

static void read_voice_exits(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    const struct mortise_yaml *list = slot->value;
    struct mortise_loader *ld = ctx;
    struct voice *v = get_voice_data(into);
    bool right = true;

    v->exits_said = true;
    if (list->kind != MORTISE_YAML_SEQ)
        list = make_single_list(ld, list);
    for (size_t i = 0; list != NULL && i < list->n; i++)
        right &= add_voice_exit(ld, v, list->items[i]);
    if (right && list != NULL)
        put_voice_key(ld, into, slot, list);
}

/* Convert to milliseconds. */
static void read_silence_timeout(void *ctx, void *into,
                                 const struct mortise_slot *slot)
{
    struct mortise_yaml *ms =
        mortise_yaml_make_text(ctx, slot->value->str, slot->value);

    if (ms == NULL)
        return;
    ms->kind = MORTISE_YAML_INT;
    ms->u.i = (int64_t)slot->amount;
    put_voice_key(ctx, into, slot, ms);
}

static const struct mortise_key exit_forms[] = {
    {.value = MORTISE_V_WORD, .words = exits},
    {.value = MORTISE_V_LIST,
     .min = 1,
     MORTISE_EACH(.value = MORTISE_V_WORD, .words = exits)},
};

static const struct mortise_key voice_keys[] = {
    {.name = "mode",
     .about = "conversation: listen and answer, in turns. listen-only: only "
              "listen. speak-only: speak speak_text.",
     .value = MORTISE_V_WORD,
     .words = modes,
     .required = true,
     .read = read_voice_mode},
    {.name = "audio_in",
     .about = "The source of the audio: a file, or the socket of a terminal "
              "(unix:PATH).",
     .value = MORTISE_V_TEMPLATE,
     .read = read_voice_key},
    {.name = "audio_out",
     .about = "The destination of the audio (default in a conversation on a "
              "socket: the same socket).",
     .value = MORTISE_V_TEMPLATE,
     .read = read_voice_key},
    {.name = "stt",
     .about =
         "The name of the speech-to-text service, as the operation knows it.",
     .value = MORTISE_V_STRING,
     .read = read_voice_key},
    {.name = "tts",
     .about =
         "The name of the text-to-speech service, as the operation knows it.",
     .value = MORTISE_V_STRING,
     .read = read_voice_key},
    {.name = "voice",
     .about = "The name of the voice, as the text-to-speech service knows it.",
     .value = MORTISE_V_STRING,
     .read = read_voice_key},
    {.name = "language",
     .about = "The language: a tag such as en-US.",
     .value = MORTISE_V_STRING,
     .read = read_voice_key},
    {.name = "endpointing",
     .about =
         "When a speaker has finished. acoustic: after a silence. heuristic: "
         "earlier or later, depending on the words. semantic: a model decides.",
     .value = MORTISE_V_WORD,
     .words = endpointings,
     .read = read_voice_key},
    {.name = "barge_in",
     .about = "The reaction if a person interrupts the node's speech: "
              "hard-cut, soft-fade, or disabled.",
     .value = MORTISE_V_WORD,
     .words = barge_ins,
     .read = read_voice_key},
    {.name = "diarization",
     .about = "true: the speech-to-text service identifies the speakers.",
     .value = MORTISE_V_BOOL,
     .read = read_voice_key},
    {.name = "max_turns",
     .about = "The highest number of turns; 0 (the default): no limit.",
     .value = MORTISE_V_INT,
     .max = 1e6,
     .read = read_voice_key},
    {.name = "exit_on",
     .about = "The events that end the session, one or a list: hangup, "
              "silence-timeout, keyword, turns-exhausted, manual (default: all "
              "that apply).",
     MORTISE_FORMS(exit_forms),
     .read = read_voice_exits},
    {.name = "silence_timeout",
     .about = "The silence after which the session ends (default: 30s).",
     .value = MORTISE_V_DURATION,
     .min = 1,
     .read = read_silence_timeout},
    {.name = "exit_keywords",
     .about = "Words or phrases that end the session.",
     .value = MORTISE_V_STRINGS,
     .read = read_voice_key},
    {.name = "speak_text",
     .about = "The text to speak: everything for speak-only, the greeting of a "
              "conversation.",
     .value = MORTISE_V_TEMPLATE,
     .read = read_voice_key},
};
MORTISE_PLACE(voice, "voice");

static void read_voice_map(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;

    mortise_keys_read_slot(slot, ld, into, ld->diags);
}

/* ---- keys of the node ------------------------------------------------------ */

static const struct mortise_key own_keys[] = {
    {.name = "voice",
     .about = "How the node listens and speaks.",
     .value = MORTISE_V_MAP,
     .place = &voice_place,
     .required = true,
     .read = read_voice_map},
    {.name = "instructions",
     .about = "The system message, before all other messages.",
     .value = MORTISE_V_TEMPLATE,
     .read = mortise_agent_read_own},
    MORTISE_ROW(mortise_agent_rows[MORTISE_AGENT_LLM]),
    MORTISE_ROW(mortise_agent_rows[MORTISE_AGENT_COMPLEXITY]),
    MORTISE_ROW(mortise_agent_rows[MORTISE_AGENT_TEMPERATURE]),
    MORTISE_ROW(mortise_agent_rows[MORTISE_AGENT_MAX_TOKENS]),
};

static const struct mortise_key keys[] = {
    MORTISE_ROW(mortise_type_row),    MORTISE_ROWS(mortise_call_rows),
    MORTISE_ROW(mortise_args_row),    MORTISE_ROWS(own_keys),
    MORTISE_ROW(mortise_policy_row),  MORTISE_ROWS(mortise_output_rows),
    MORTISE_ROWS(mortise_join_rows),  MORTISE_ROW(mortise_next_row),
    MORTISE_ROWS(mortise_route_rows), MORTISE_ROW(mortise_targets_row),
    MORTISE_ROW(mortise_map_row),     MORTISE_ROWS(mortise_visit_rows),
    MORTISE_ROW(mortise_persona_row), MORTISE_ROW(mortise_resource_row),
    MORTISE_ROWS(mortise_end_rows),
};

/* ---- combinations of keys ------------------------------------------------ */

static const struct mortise_yaml *
get_voice_value(const struct mortise_node_reader *r, const char *key)
{
    const struct mortise_yaml *voice = mortise_yaml_get(r->map, "voice");

    return voice != NULL && voice->kind == MORTISE_YAML_MAP
               ? mortise_yaml_get(voice, key)
               : NULL;
}

static struct mortise_span
get_voice_key_span(const struct mortise_node_reader *r, const char *key)
{
    return mortise_yaml_key(mortise_yaml_get(r->map, "voice"), key)->span;
}

static const char *get_voice_mode_name(int mode)
{
    const struct mortise_word *w = modes;

    while (w->value != mode)
        w++;
    return w->word;
}

static bool is_yaml_word(const struct mortise_yaml *v, const char *word)
{
    return v != NULL && v->kind == MORTISE_YAML_STRING &&
           strcmp(v->str, word) == 0;
}

/* A value that is no string is no word. */
static bool is_semantic_endpointing(const struct mortise_node_reader *r)
{
    return is_yaml_word(get_voice_value(r, "endpointing"), "semantic");
}

static void report_useless_key(struct mortise_loader *ld,
                               struct mortise_span at, const char *key,
                               const char *help)
{
    mortise_diag_help(ld->diags,
                      mortise_diag_add(ld->diags, "E0212", at,
                                       "'%s' has no effect here", key),
                      "%s", help);
}

/* Report keys of `voice` that the mode does not use. */
static void check_mode_keys(struct mortise_loader *ld,
                            const struct mortise_node_reader *r)
{
    static const struct {
        const char *key;
        int modes;
    } of[] = {{"stt", HEARS},           {"endpointing", HEARS},
              {"diarization", HEARS},   {"max_turns", HEARS},
              {"exit_on", HEARS},       {"silence_timeout", HEARS},
              {"exit_keywords", HEARS}, {"tts", SPEAKS},
              {"voice", SPEAKS},        {"barge_in", SPEAKS},
              {"speak_text", SPEAKS},   {"audio_out", SPEAKS}};
    const int mode = get_voice_data(r)->mode;

    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++)
        if ((of[i].modes & mode) == 0 && get_voice_value(r, of[i].key) != NULL)
            mortise_diag_add(ld->diags, "E0212",
                             get_voice_key_span(r, of[i].key),
                             "'%s' has no effect in mode %s", of[i].key,
                             get_voice_mode_name(mode));
}

/* Report keys of the node that only models use. */
static void check_model_keys(struct mortise_loader *ld,
                             const struct mortise_node_reader *r)
{
    static const char *const all[] = {"instructions", "llm", "complexity",
                                      "temperature", "max_tokens"};
    const int mode = get_voice_data(r)->mode;
    const bool asks = mode == MODE_CONVERSATION || is_semantic_endpointing(r);

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        /* the model that detects the end of a turn has fixed instructions */
        const bool answers = i == 0 || i > 2;

        if (mortise_yaml_get(r->map, all[i]) != NULL &&
            (!asks || (answers && mode != MODE_CONVERSATION)))
            report_useless_key(
                ld, mortise_yaml_key(r->map, all[i])->span, all[i],
                answers ? "set mode: conversation, or remove the key"
                        : "set mode: conversation or endpointing: "
                          "semantic, or remove the key");
    }
}

static void check_needed_key(struct mortise_loader *ld,
                             const struct mortise_node_reader *r,
                             const char *key, const char *why)
{
    const struct mortise_yaml *voice = mortise_yaml_get(r->map, "voice");

    if (get_voice_value(r, key) == NULL &&
        !mortise_keys_has_key(&voice_place, voice, key))
        mortise_diag_add(ld->diags, "E0206",
                         mortise_yaml_key(r->map, "voice")->span,
                         "%s needs the key '%s'", why, key);
}

static bool is_socket_place(const struct mortise_yaml *v)
{
    return v != NULL && v->kind == MORTISE_YAML_STRING &&
           strncmp(v->str, "unix:", 5) == 0;
}

/* The operation checks the results of templates. */
static bool has_voice_template(const struct mortise_yaml *v)
{
    return v != NULL && mortise_tmpl_has_expr_within(v);
}

static void check_audio_places(struct mortise_loader *ld,
                               const struct mortise_node_reader *r)
{
    const struct mortise_yaml *in = get_voice_value(r, "audio_in");
    const int mode = get_voice_data(r)->mode;

    if (mode & HEARS)
        check_needed_key(ld, r, "audio_in", "a node that listens");
    if (mode == MODE_SPEAK) {
        check_needed_key(ld, r, "audio_out", "mode speak-only");
        check_needed_key(ld, r, "speak_text", "mode speak-only");
    } else if (mode == MODE_CONVERSATION && in != NULL &&
               !is_socket_place(in) && !has_voice_template(in)) {
        check_needed_key(ld, r, "audio_out",
                         "a conversation with a file as audio_in");
    }
    if (mode == MODE_SPEAK && in != NULL &&
        is_yaml_word(get_voice_value(r, "barge_in"), "disabled"))
        report_useless_key(ld, get_voice_key_span(r, "audio_in"), "audio_in",
                           "with barge_in: disabled, the node does not listen");
}

/* Check an exit together with the key that it needs, or that only it uses. */
static void check_voice_exit(struct mortise_loader *ld,
                             const struct mortise_node_reader *r, unsigned exit,
                             const char *word, const char *key, bool is_there)
{
    const struct voice *v = get_voice_data(r);
    char help[96];

    if (!v->exits_said)
        return;
    if (is_there && (v->exits & exit) == 0) {
        snprintf(help, sizeof help, "exit_on does not contain %s", word);
        report_useless_key(ld, get_voice_key_span(r, key), key, help);
    } else if ((v->exits & exit) != 0 && exit != EXIT_SILENCE && !is_there) {
        snprintf(help, sizeof help, "%s in exit_on", word);
        check_needed_key(ld, r, key, help);
    }
}

static void check_voice_exits(struct mortise_loader *ld,
                              const struct mortise_node_reader *r)
{
    const struct mortise_yaml *turns = get_voice_value(r, "max_turns");
    const bool bounded =
        turns != NULL && turns->kind == MORTISE_YAML_INT && turns->u.i > 0;

    check_voice_exit(ld, r, EXIT_KEYWORD, "keyword", "exit_keywords",
                     get_voice_value(r, "exit_keywords") != NULL);
    check_voice_exit(ld, r, EXIT_SILENCE, "silence-timeout", "silence_timeout",
                     get_voice_value(r, "silence_timeout") != NULL);
    check_voice_exit(ld, r, EXIT_TURNS, "turns-exhausted", "max_turns",
                     bounded);
    if (turns != NULL && !bounded &&
        (get_voice_data(r)->exits & EXIT_TURNS) != 0)
        mortise_diag_add(
            ld->diags, "E0212", turns->span,
            "max_turns is 0, so turns-exhausted in exit_on never happens");
}

/* Few servers can tell speakers apart, so `stt` must name one. */
static void check_diarization(struct mortise_loader *ld,
                              const struct mortise_node_reader *r)
{
    const struct mortise_yaml *v = get_voice_value(r, "diarization");

    if (v != NULL && v->kind == MORTISE_YAML_BOOL && v->u.b)
        check_needed_key(ld, r, "stt", "diarization");
}

/* ---- the arguments of the operation -------------------------------------- */

static void begin_voice_node(struct mortise_loader *ld,
                             struct mortise_node_reader *r)
{
    mortise_node_read_executor(ld, r, "voice", "voice/run");
}

static void finish_voice_node(struct mortise_loader *ld,
                              struct mortise_node_reader *r)
{
    struct voice *v = get_voice_data(r);
    struct mortise_built_map all = {.n = 0};
    size_t at = mortise_yaml_find(r->map, "args");

    if (v->mode != MODE_UNREAD) {
        check_mode_keys(ld, r);
        check_model_keys(ld, r);
        check_audio_places(ld, r);
        if (v->mode & HEARS) {
            check_voice_exits(ld, r);
            check_diarization(ld, r);
        }
        if (v->mode == MODE_CONVERSATION || is_semantic_endpointing(r)) {
            mortise_agent_add_llm(ld, r);
            mortise_agent_add_persona(ld, r);
        }
    }
    mortise_agent_add_key(
        ld, r, "voice", mortise_built_map_to_yaml(ld, &v->voice, r->map->span));
    if (at != SIZE_MAX)
        mortise_built_map_add(ld, &all, r->map->keys[at], r->map->items[at]);
    mortise_agent_set_args(ld, r, &all);
}

const struct mortise_node_kind mortise_graph_kind_voice = {
    .place = {MORTISE_KIND_PLACE("voice", keys)},
    .size = sizeof(struct voice),
    .begin = begin_voice_node,
    .finish = finish_voice_node};
