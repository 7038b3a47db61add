/* foreign_voice.c -- convert the edges of voice nodes.
 *
 * A voice node of the source can have its own `edges`, a mapping from the
 * reason for which it ended to the next node.  They replace all other edges of
 * the node; if no reason matches, the other edges are taken.  Here each edge
 * gets a condition:
 *
 *     {"hangup": "lost"}, and an edge to "lost" and to "bye"
 *         to lost   when: artifacts.call.exit_reason == "hangup" ||
 *                         !(artifacts.call.exit_reason == "hangup")
 *         to bye    when: !(artifacts.call.exit_reason == "hangup")
 *
 * The reason `keyword:WORD` becomes a test of `exit_reason` and `keyword`. */
#include "tools/import/foreign.h"

#include <string.h>

static const char keyword[] = "keyword:";

/* The reasons for which a voice node ends here. */
static bool is_exit_reason(const char *word)
{
    static const char *const reasons[] = {
        "hangup", "silence-timeout", "keyword",     "turns-exhausted",
        "manual", "completed",       "interrupted", "error"};

    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (strcmp(word, reasons[i]) == 0)
            return true;
    return strncmp(word, keyword, strlen(keyword)) == 0;
}

static const char *get_output_path(struct foreign *f,
                                   const struct mortise_yaml *node,
                                   const char *id)
{
    const struct mortise_yaml *as =
        mortise_foreign_get(mortise_foreign_get(node, "metadata"), "outputAs");

    return mortise_foreign_convert_path(
        f, "artifacts",
        as != NULL && as->kind == MORTISE_YAML_STRING && as->len > 0 ? as->str
                                                                     : id);
}

static json_t *convert_exit_reasons(struct foreign *f,
                                    const struct mortise_yaml *map)
{
    json_t *reasons = json_object();

    for (size_t i = 0; i < map->n; i++) {
        const struct mortise_yaml *v = map->items[i];
        const char *to = mortise_foreign_is_string(v, "__END__")
                             ? "END"
                             : mortise_foreign_find_id(f, v);

        if (!is_exit_reason(map->keys[i]->str))
            mortise_foreign_report_loss(
                f, map->keys[i]->span,
                "docs/mappings.md lists the reasons for which a voice node "
                "ends",
                "'%.100s' is not imported: no voice node ends for this reason",
                map->keys[i]->str);
        else if (to != NULL)
            mortise_foreign_set(f, reasons, map->keys[i]->str, json_string(to));
    }
    return reasons;
}

void mortise_foreign_find_voices(struct foreign *f,
                                 const struct mortise_yaml *nodes)
{
    f->voices = json_object();
    f->speakers = json_object();
    for (size_t i = 0; i < nodes->n && !f->nomem; i++) {
        const struct mortise_yaml *node = nodes->items[i];
        const struct mortise_yaml *edges = mortise_foreign_get(node, "edges");
        const char *id;

        if (!mortise_foreign_is_string(mortise_yaml_get(node, "type"), "voice"))
            continue;
        id = mortise_foreign_find_id(f, mortise_yaml_get(node, "id"));
        mortise_foreign_set(f, f->speakers, mortise_yaml_get(node, "id")->str,
                            json_string(get_output_path(f, node, id)));
        if (edges == NULL)
            continue;
        if (edges->kind != MORTISE_YAML_MAP) {
            mortise_foreign_report_error(
                f, edges->span, NULL,
                "'edges' of a voice node must map reasons to nodes");
            continue;
        }
        mortise_foreign_set(f, f->voices, id,
                            json_pack("{s:s, s:o, s:{}}", "output",
                                      get_output_path(f, node, id), "reasons",
                                      convert_exit_reasons(f, edges),
                                      "covered"));
    }
}

void mortise_foreign_check_voice_path(struct foreign *f,
                                      const struct mortise_yaml *expr)
{
    MORTISE_JSON_MEMBERS (id, output, f->speakers) {
        const char *path = mortise_foreign_convert_path(f, "scratch", id);
        const char *at = path != NULL ? strstr(expr->str, path) : NULL;

        if (at != NULL && strchr(".[", at[strlen(path)]) != NULL)
            mortise_foreign_report_loss(
                f, expr->span,
                "it has 'exit_reason', 'keyword', 'turns' and 'transcript'",
                "the result of the voice node '%s' is not in scratch here: it "
                "is %s",
                id, json_string_value(output));
    }
}

/* Append a test for the reason. */
static void put_reason_test(struct mortise_buf *b, const char *output,
                            const char *reason)
{
    size_t n = strlen(keyword);
    bool word = strncmp(reason, keyword, n) == 0;

    mortise_buf_printf(b, "%s.exit_reason == \"", output);
    if (!word)
        mortise_buf_put_escaped(b, reason, strlen(reason));
    else
        mortise_buf_puts(b, "keyword");
    mortise_buf_puts(b, "\"");
    if (!word)
        return;
    mortise_buf_printf(b, " && %s.keyword == \"", output);
    mortise_buf_put_escaped(b, reason + n, strlen(reason) - n);
    mortise_buf_puts(b, "\"");
}

/* Append a test for the reasons that lead to `to`; NULL: all reasons.  False:
 * there are none. */
static bool put_reason_tests(struct mortise_buf *b, const json_t *voice,
                             const char *to)
{
    const char *output = json_string_value(json_object_get(voice, "output"));
    const char *between = "";

    MORTISE_JSON_MEMBERS (reason, leads, json_object_get(voice, "reasons")) {
        if (to != NULL && strcmp(json_string_value(leads), to) != 0)
            continue;
        mortise_buf_puts(b, between);
        put_reason_test(b, output, reason);
        between = " || ";
    }
    return *between != '\0';
}

/* Make the condition of an edge to `to`.  `is_edge`: the source has such
 * an edge, taken if no reason matches; `else_when` is its own condition,
 * or NULL. */
static json_t *make_voice_when(struct foreign *f, const json_t *voice,
                               const char *to, bool is_edge,
                               const char *else_when)
{
    struct mortise_buf b;
    json_t *out = NULL;
    bool leads;

    mortise_buf_init(&b, f->arena->mem);
    leads = put_reason_tests(&b, voice, to);
    if (is_edge) {
        mortise_buf_puts(&b, leads ? " || !(" : "!(");
        put_reason_tests(&b, voice, NULL);
        mortise_buf_puts(&b, ")");
    }
    if (else_when != NULL)
        mortise_buf_printf(&b, " && (%s)", else_when);
    if (!b.failed)
        out = mortise_json_make_string(b.p, b.n);
    mortise_buf_finish(&b);
    return out;
}

void mortise_foreign_convert_exit(struct foreign *f,
                                  const struct mortise_yaml *theirs,
                                  const char *from, const char *to,
                                  json_t *edge)
{
    json_t *voice = json_object_get(f->voices, from);

    if (json_object_size(json_object_get(voice, "reasons")) == 0)
        return;
    if (to == NULL || json_object_get(edge, "type") != NULL ||
        json_object_get(edge, "discovery") != NULL ||
        json_object_get(edge, "personality") != NULL) {
        mortise_foreign_report_loss(
            f, theirs->span, "write its condition as 'when'",
            "this edge is always taken: the 'edges' of the "
            "voice node are not used for it");
        return;
    }
    mortise_foreign_set(
        f, edge, "when",
        make_voice_when(f, voice, to, true,
                        json_string_value(json_object_get(edge, "when"))));
    mortise_foreign_set(f, json_object_get(voice, "covered"), to, json_true());
}

void mortise_foreign_add_voice_edges(struct foreign *f, json_t *edges)
{
    MORTISE_JSON_MEMBERS (from, voice, f->voices) {
        json_t *covered = json_object_get(voice, "covered");

        MORTISE_JSON_MEMBERS (reason, leads,
                              json_object_get(voice, "reasons")) {
            const char *to = json_string_value(leads);

            if (json_object_get(covered, to) != NULL)
                continue;
            mortise_foreign_set(f, covered, to, json_true());
            mortise_foreign_record_edge(f, from, to);
            f->nomem |=
                json_array_append_new(
                    edges,
                    json_pack("{s:s, s:s, s:o}", "from", from, "to", to, "when",
                              make_voice_when(f, voice, to, false, NULL))) != 0;
        }
    }
}
