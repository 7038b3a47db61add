/* @NAME@.c -- a guardrail for Mortise: finds and masks the words of its config.
 *
 * words: [dowel, tenon]   ASCII; case is ignored
 *
 * It judges any JSON value.  A word in a string, or in the name of a member, is
 * a violation.  If all words are in strings, it offers the same value with
 * asterisks instead of them.  The graph's `on_violation` decides whether the
 * run continues with that value (sanitize) or does something else.
 *
 * Rules for guardrails (<mortise/guardrail.h> has all of them):
 *
 * - Emit the verdict once: {violation, reason}.  Any other end of a check is a
 *   violation: no verdict, a broken verdict, an error, a crash, a timeout.
 * - The reason goes into logs, events and errors.  Write what was found and
 *   where, but never the text itself.
 * - A replacement is the whole value, emitted as "output".  It must pass the
 *   check itself.
 * - The stage is the origin of the value.  The result of a tool, or a trace of
 *   a memory, may have a malicious author.
 * - A check must change nothing: it is made again after a crash. */
#define _GNU_SOURCE /* strcasestr() */
#include <mortise/ask.h>
#include <mortise/guardrail.h>

#include <stdbool.h>
#include <stdlib.h>

enum { WORDS = 64, LONGEST = 64 }; /* bytes of a word, including its NUL */

struct mortise_inst {
    mortise_host *host;
    const mortise_host_api *api;
    char words[WORDS][LONGEST];
    size_t n;
};

/* A value being checked, and its replacement. */
struct look {
    const mortise_inst *i;
    mortise_jw out;
    char *text; /* room for any string of the value */
    bool found, in_name;
};

/* ---- checking a value
 * --------------------------------------------------------- */

/* Mask the words in a text; return whether there were any. */
static bool cover(const mortise_inst *i, char *text)
{
    bool found = false;

    for (size_t k = 0; k < i->n; k++) {
        size_t n = strlen(i->words[k]);

        for (char *p = text; (p = strcasestr(p, i->words[k])) != NULL; p += n) {
            memset(p, '*', n);
            found = true;
        }
    }
    return found;
}

/* Copy a string with its words masked.  strcasestr() stops at a NUL, so check
 * the pieces between NULs. */
static bool cover_all(struct look *l, mortise_jv string, mortise_str *text)
{
    bool found = false;

    text->p = l->text;
    text->n = 0;
    mortise_jv_decode(string, l->text, string.n, &text->n);
    l->text[text->n] = '\0';
    for (size_t at = 0; at < text->n; at += strlen(l->text + at) + 1)
        found |= cover(l->i, l->text + at);
    return found;
}

static void look_at(struct look *l, mortise_jv v);

static void look_into(struct look *l, mortise_jv v)
{
    bool is_object = mortise_jv_type(v) == MORTISE_JV_OBJECT;
    mortise_jv_iter members = mortise_jv_each(v);
    mortise_jv name, value;
    mortise_str text;

    if (is_object)
        mortise_jw_object(&l->out);
    else
        mortise_jw_array(&l->out);
    while (mortise_jv_next(&members, &name, &value)) {
        if (is_object) {
            l->in_name |= cover_all(l, name, &text);
            mortise_jw_keyn(&l->out, text);
        }
        look_at(l, value);
    }
    mortise_jw_end(&l->out);
}

/* The recursion is bounded: the reader accepts at most MORTISE_JV_DEPTH levels.
 */
static void look_at(struct look *l, mortise_jv v)
{
    int32_t type = mortise_jv_type(v);
    mortise_str text;

    if (type == MORTISE_JV_OBJECT || type == MORTISE_JV_ARRAY) {
        look_into(l, v);
    } else if (type == MORTISE_JV_STRING) {
        l->found |= cover_all(l, v, &text);
        mortise_jw_string(&l->out, text);
    } else {
        mortise_jw_value(&l->out, v);
    }
}

/* ---- a check ----------------------------------------------------------------- */

/* The origin of a value; a newer host may have more stages. */
static const char *place_of(uint32_t stage)
{
    static const char *const places[] = {
        [MORTISE_STAGE_INPUT] = "what goes into the node",
        [MORTISE_STAGE_OUTPUT] = "what came out of the node",
        [MORTISE_STAGE_EDGE] = "what passes along the edge",
        [MORTISE_STAGE_NODE] = "what the node looks at",
        [MORTISE_STAGE_TOOL_RESULT] = "what a tool gave",
        [MORTISE_STAGE_TOOL_CALL] = "what a model calls a tool with",
        [MORTISE_STAGE_MEMORY_READ] = "what the memory gave",
        [MORTISE_STAGE_MEMORY_WRITE] = "what is to be remembered",
    };

    return stage < sizeof places / sizeof places[0] && places[stage] != NULL
               ? places[stage]
               : "a value";
}

/* Emit the replacement, if there is one, then the verdict. */
static mortise_status answer(mortise_inst *i, uint32_t stage,
                             const mortise_request *r, struct look *l)
{
    bool violation = l->found || l->in_name;
    char reason[128] = "";
    mortise_str json;
    mortise_status status = mortise_jw_finish(&l->out, &json);

    if (status == MORTISE_S_OK && violation && !l->in_name)
        status = mortise_emit_output(i->host, i->api, r->call, json);
    if (status != MORTISE_S_OK)
        return status;
    if (violation)
        snprintf(reason, sizeof reason, "a word that is not to be used, in %s",
                 place_of(stage));
    return mortise_emit_verdict(i->host, i->api, r->call, violation, reason);
}

static mortise_status check(mortise_inst *i, uint32_t stage,
                            const mortise_request *r)
{
    /* Rewritten JSON is never longer, and no string is longer than the body. */
    char *room = malloc(2 * r->body.n + 1);
    struct look l = {.i = i};
    mortise_status status = MORTISE_S_NOMEM;
    mortise_jv body;

    if (room == NULL)
        return status;
    l.text = room + r->body.n;
    mortise_jw_fixed(&l.out, room, r->body.n);
    status = mortise_jv_parse(r->body, &body);
    if (status == MORTISE_S_OK) {
        look_at(&l, body);
        status = answer(i, stage, r, &l);
    }
    free(room);
    return status;
}

/* ---- the plugin -------------------------------------------------------------- */

static mortise_status read_words(mortise_inst *i, mortise_str config)
{
    mortise_jv c, word;
    mortise_jv_iter each;

    if (mortise_jv_parse(config, &c) != MORTISE_S_OK)
        return MORTISE_S_INVALID;
    each = mortise_jv_each(mortise_jv_get(c, "words"));
    while (mortise_jv_next(&each, NULL, &word)) {
        if (i->n == WORDS ||
            mortise_jv_cstr(word, i->words[i->n], LONGEST) != MORTISE_S_OK)
            return MORTISE_S_INVALID;
        i->n += i->words[i->n][0] != '\0'; /* "" would match always */
    }
    return MORTISE_S_OK;
}

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    mortise_inst *i = calloc(1, sizeof *i);

    *out = NULL;
    if (i == NULL)
        return MORTISE_S_NOMEM;
    i->host = host;
    i->api = api;
    if (read_words(i, config) != MORTISE_S_OK) {
        free(i);
        return mortise_refuse(host, api, 0, MORTISE_S_INVALID, NULL, NULL,
                              "config.words: 64 words at most, of 63 bytes");
    }
    *out = i;
    return MORTISE_S_OK;
}

static void destroy(mortise_inst *i)
{
    free(i);
}

static const mortise_guardrail guardrail = {sizeof guardrail, 0, check};

static const void *get_interface(mortise_inst *i, const char *id)
{
    (void)i;
    return strcmp(id, MORTISE_GUARDRAIL_2) == 0 ? &guardrail : NULL;
}

static const mortise_plugin plugin = {.size = sizeof plugin,
                                      .id = "@NAME@",
                                      .version = "0.1.0",
                                      .create = create,
                                      .get_interface = get_interface,
                                      .destroy = destroy};

MORTISE_MODULE_OF(plugin);
