/* shown.c -- what a tool gave, as a model is shown it.
 *
 * The output of an MCP tool has everything for graphs: its content, the texts of
 * that as one text, and a structured value.  A model is shown
 *
 *   (1) each text once.  The structured value is shown if no text is its JSON.
 *   (2) an image as an image.  A picture that is none by its first bytes, or that
 *       is too large for servers of models, would have the whole request refused:
 *       it is named in place of that, as is what no model takes (audio, files).
 *   (3) what was mended of the answer (mended), so that nobody builds on it.
 *
 * The output of mcp/read is shown the same way. */
#include "../../canonical.h"
#include "agent.h"

#include <stdio.h>

enum { IMAGE_MAX = 5 << 20, NAME_SHOWN = 256 }; /* characters of base64 */

static int is(mortise_jv v, const char *text)
{
    return mortise_jv_is(v, mortise_strz(text));
}

static int is_text(mortise_jv v)
{
    return mortise_jv_type(v) == MORTISE_JV_STRING;
}

/* ---- what it is ---------------------------------------------------------------- */

static int is_known(mortise_jv name)
{
    return is(name, "content") || is(name, "text") || is(name, "structured") ||
           is(name, "mended") || is(name, "structured_text");
}

/* {content: [{type, ...}], text, structured?, ...}, and nothing else. */
static int is_content(mortise_jv output)
{
    mortise_jv content = mortise_jv_get(output, "content"), name, one;
    mortise_jv_iter it = mortise_jv_each(output);

    if (mortise_jv_type(content) != MORTISE_JV_ARRAY ||
        !is_text(mortise_jv_get(output, "text")))
        return 0;
    while (mortise_jv_next(&it, &name, &one))
        if (!is_known(name))
            return 0;
    return mortise_jv_count(content) == 0 || agent_is_parts(content);
}

/* {contents: [{uri, ...}]} */
static int is_contents(mortise_jv output)
{
    mortise_jv contents = mortise_jv_get(output, "contents"), one;
    mortise_jv_iter it = mortise_jv_each(contents);

    if (mortise_jv_count(output) != 1 ||
        mortise_jv_type(contents) != MORTISE_JV_ARRAY)
        return 0;
    while (mortise_jv_next(&it, NULL, &one))
        if (!is_text(mortise_jv_get(one, "uri")))
            return 0;
    return mortise_jv_count(contents) > 0;
}

/* ---- parts -------------------------------------------------------------------- */

/* "[image image/png, 12 characters of base64: WHY]" */
static void write_named(mortise_jw *w, const char *what, mortise_jv mime,
                        mortise_jv data, const char *why)
{
    char room[NAME_SHOWN], words[2 * NAME_SHOWN];

    if (!is_text(mime) ||
        mortise_jv_cstr(mime, room, sizeof room) != MORTISE_S_OK)
        room[0] = '\0';
    snprintf(words, sizeof words, "[%s%s%s, %llu characters of base64: %s]",
             what, room[0] != '\0' ? " " : "", room,
             (unsigned long long)(data.n > 2 ? data.n - 2 : 0), why);
    mortise_jw_object(w);
    mortise_jw_key(w, "type");
    mortise_jw_cstr(w, "text");
    mortise_jw_key(w, "text");
    mortise_jw_cstr(w, words);
    mortise_jw_end(w);
}

/* The type of a picture that every server takes, by its first bytes. */
static const char *type_of(mortise_jv data)
{
    static const char *const types[][2] = {{"\"iVBORw0KGgo", "image/png"},
                                           {"\"/9j/", "image/jpeg"},
                                           {"\"R0lGOD", "image/gif"},
                                           {"\"UklGR", "image/webp"}};

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (data.n > strlen(types[i][0]) &&
            memcmp(data.p, types[i][0], strlen(types[i][0])) == 0)
            return types[i][1];
    return NULL;
}

static int is_base64(mortise_jv data)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    uint64_t n = data.n - 2, pad = 0;

    while (pad < 2 && pad < n && data.p[n - pad] == '=')
        pad++;
    for (uint64_t i = 1; i <= n - pad; i++)
        if (memchr(digits, data.p[i], sizeof digits - 1) == NULL)
            return 0;
    return n % 4 == 0;
}

/* (2) */
static void write_image(mortise_jw *w, mortise_jv mime, mortise_jv data)
{
    const char *type = is_text(data) ? type_of(data) : NULL;

    if (type == NULL || !is_base64(data)) {
        write_named(w, "image", mime, data, "it is not a picture");
    } else if (data.n > IMAGE_MAX) {
        write_named(w, "image", mime, data, "it is too large to show");
    } else {
        mortise_jw_object(w);
        mortise_jw_key(w, "type");
        mortise_jw_cstr(w, "image");
        mortise_jw_key(w, "media_type");
        mortise_jw_cstr(w, type);
        mortise_jw_key(w, "data");
        mortise_jw_value(w, data);
        mortise_jw_end(w);
    }
}

static int is_picture(mortise_jv mime)
{
    static const char begin[] = "\"image/";

    return mime.n > sizeof begin - 1 &&
           memcmp(mime.p, begin, sizeof begin - 1) == 0;
}

/* {uri, mimeType?, text | blob} */
static void write_resource(mortise_jw *w, mortise_jv in)
{
    mortise_jv mime = mortise_jv_get(in, "mimeType"),
               blob = mortise_jv_get(in, "blob");

    if (is_text(blob) && is_picture(mime))
        write_image(w, mime, blob);
    else if (is_text(blob))
        write_named(w, "file", mime, blob, "it is not text");
    else
        agent_write_text(w, in);
}

static void write_part(mortise_jw *w, mortise_jv part)
{
    mortise_jv type = mortise_jv_get(part, "type"),
               data = mortise_jv_get(part, "data"),
               mime = mortise_jv_get(part, "mimeType");

    if (is(type, "text") && is_text(mortise_jv_get(part, "text")))
        agent_write_text(w, mortise_jv_get(part, "text"));
    else if (is(type, "image"))
        write_image(w, mime, data);
    else if (is(type, "audio"))
        write_named(w, "audio", mime, data, "it is not shown");
    else if (is(type, "resource"))
        write_resource(w, mortise_jv_get(part, "resource"));
    else
        agent_write_text(w, part);
}

/* ---- the structured value (1) ----------------------------------------------------- */

/* Is that text JSON, and the same value?  -1: memory ran out. */
static int is_json_of(mortise_jv text, const struct bytes *value)
{
    struct bytes decoded = {0}, same = {0};
    mortise_status status = bytes_decode(&decoded, text);
    int is = 0;
    mortise_jv v;

    if (status == MORTISE_S_OK &&
        mortise_jv_parse(bytes_str(&decoded), &v) == MORTISE_S_OK) {
        status = canonical_put(&same, v, 0);
        is = status == MORTISE_S_OK && same.n == value->n &&
             memcmp(same.p, value->p, same.n) == 0;
    }
    bytes_free(&decoded);
    bytes_free(&same);
    return status == MORTISE_S_NOMEM ? -1 : is;
}

/* Does a text of the content say it?  -1: memory ran out. */
static int is_said(mortise_jv content, mortise_jv structured)
{
    mortise_jv_iter it = mortise_jv_each(content);
    struct bytes value = {0};
    int said = canonical_put(&value, structured, 0) == MORTISE_S_NOMEM ? -1 : 0;
    mortise_jv part, text;

    while (said == 0 && mortise_jv_next(&it, NULL, &part)) {
        text = mortise_jv_get(part, "text");
        if (is(mortise_jv_get(part, "type"), "text") && is_text(text))
            said = is_json_of(text, &value);
    }
    bytes_free(&value);
    return said;
}

static mortise_status write_structured(mortise_jw *w, mortise_jv output)
{
    mortise_jv structured = mortise_jv_get(output, "structured"),
               as_it_came = mortise_jv_get(output, "structured_text");
    int said = structured.n == 0
                   ? 1
                   : is_said(mortise_jv_get(output, "content"), structured);

    if (said == 0)
        agent_write_text(w, as_it_came.n > 0 ? as_it_came : structured);
    return said >= 0 ? MORTISE_S_OK : MORTISE_S_NOMEM;
}

/* ---- all of it ------------------------------------------------------------------ */

static mortise_status write_content(mortise_jw *w, mortise_jv output)
{
    mortise_jv content = mortise_jv_get(output, "content"),
               mended = mortise_jv_get(output, "mended"), part;
    mortise_jv_iter it = mortise_jv_each(content);
    mortise_status status;

    while (mortise_jv_next(&it, NULL, &part))
        write_part(w, part);
    status = write_structured(w, output);
    if (mortise_jv_type(mended) == MORTISE_JV_ARRAY) /* (3) */
        agent_write_text(w, mended);
    return status;
}

mortise_status agent_write_shown(mortise_jw *w, mortise_jv output)
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(output, "contents"));
    mortise_status status = MORTISE_S_OK;
    mortise_jv one;

    mortise_jw_array(w);
    if (is_content(output))
        status = write_content(w, output);
    else if (is_contents(output))
        while (mortise_jv_next(&it, NULL, &one))
            write_resource(w, one);
    else
        agent_write_text(w, output);
    mortise_jw_end(w);
    return status;
}
