/* brief.c -- short outputs, and the first part of long ones.  Short is at most
 * 250 words and 2,000 bytes.  compact.c describes compaction. */
#include <string.h>

#include "core/base/utf8.h"
#include "core/run/outcome/outcome.h"

enum { BRIEF_BYTES = 2000, NEARLY_SHORT = 2 };

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The length of the longest prefix within `times` times the limits of a short
 * text. */
static size_t get_short_prefix(const char *text, size_t n, size_t times)
{
    size_t at = 0, words = 0,
           most = n < times * BRIEF_BYTES ? n : times * BRIEF_BYTES;

    while (at < most) {
        bool begins =
            !is_blank(text[at]) && (at == 0 || is_blank(text[at - 1]));

        if (begins && ++words > times * MORTISE_BRIEF_WORDS)
            break;
        at++;
    }
    return at < n ? mortise_utf8_get_prefix_size(text, n, at) : n;
}

/* The text of an output: the string itself, or its JSON (*made, to be
 * released). */
static const char *get_output_text(const struct mortise_run *r,
                                   const json_t *output, char **made)
{
    *made = NULL;
    if (json_is_string(output))
        return json_string_value(output);
    return *made = mortise_json_to_text(r->mem, output);
}

static size_t get_text_size(const json_t *output, const char *text)
{
    return json_is_string(output) ? json_string_length(output) : strlen(text);
}

int mortise_brief_check_short(const struct mortise_run *r, const json_t *output,
                              bool *is_short, struct mortise_err *err)
{
    char *made;
    const char *text = get_output_text(r, output, &made);
    size_t n = text != NULL ? get_text_size(output, text) : 0;

    *is_short = text != NULL && get_short_prefix(text, n, 1) == n;
    mortise_release_str(r->mem, made);
    return text != NULL ? MORTISE_OK : mortise_nomem(err);
}

json_t *mortise_brief_cut(const struct mortise_run *r, const json_t *output,
                          const char *code, const char *message)
{
    char *made, mark[64];
    const char *text = get_output_text(r, output, &made);
    size_t n = text != NULL ? get_text_size(output, text) : 0;
    size_t k = text != NULL ? get_short_prefix(text, n, 1) : 0;
    struct mortise_buf told;
    json_t *out = NULL;

    mortise_buf_init(&told, r->mem);
    mortise_buf_put(&told, text, k);
    snprintf(mark, sizeof mark, "\n[cut here: the first %zu of %zu bytes]", k,
             n);
    if (k < n)
        mortise_buf_puts(&told, mark);
    if (text != NULL && !told.failed)
        out = json_pack("{s:o, s:s, s:{s:s, s:o}}", "output",
                        mortise_json_make_string(told.p, told.n), "how", "cut",
                        "error", "code", code, "message",
                        mortise_json_make_string(message, strlen(message)));
    mortise_buf_finish(&told);
    mortise_release_str(r->mem, made);
    return out;
}

static bool has_visible_text(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!is_blank(text[i]))
            return true;
    return false;
}

json_t *mortise_brief_from_compaction(const struct mortise_run *r,
                                      const json_t *output, json_t *gave)
{
    char *made;
    const char *text = get_output_text(r, gave, &made);
    size_t n = text != NULL ? get_text_size(gave, text) : 0;
    json_t *told = NULL;

    if (text != NULL && !has_visible_text(text, n))
        told = mortise_brief_cut(r, output, "failed",
                                 "the compaction returned an empty text");
    else if (text != NULL && get_short_prefix(text, n, NEARLY_SHORT) < n)
        told = mortise_brief_cut(
            r, gave, "failed",
            "the compaction returned a text that is too long");
    else if (text != NULL)
        told = json_pack("{s:O, s:s}", "output", gave, "how", "made");
    mortise_release_str(r->mem, made);
    return told;
}

/* The run may have been steered after y ended, so that y has no compacted
 * output: cut it if it is long. */
json_t *mortise_brief_get(const struct mortise_run *r, const struct exec *y)
{
    struct mortise_err err;
    json_t *brief, *told;
    bool is_short;

    if (y->compacted != NULL)
        return json_incref(json_object_get(y->compacted, "output"));
    if (mortise_brief_check_short(r, y->output, &is_short, &err) != MORTISE_OK)
        return NULL;
    if (is_short)
        return json_incref(y->output);
    brief = mortise_brief_cut(r, y->output, "late", "");
    told = json_incref(json_object_get(brief, "output"));
    json_decref(brief);
    return told;
}
