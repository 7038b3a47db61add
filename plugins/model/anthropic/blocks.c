/* blocks.c -- a part of a message as a block of the Messages API.
 *
 *   (1) What is the server's own goes back as it came, if its issuer is this
 *       server.  Else a reasoning part is left out, and a text or a call goes
 *       without it.  A text that was changed meanwhile goes as it is now: what
 *       is kept beside it (citations, say) does not hold it.
 *   (2) Blocks that the server refuses anyway are left out: texts of blanks,
 *       and images and files of the assistant.
 *   (3) An id of a call that another server made may have bytes that this one
 *       refuses: each becomes `_`, in the call as in its result.
 *   (4) Arguments that are no JSON become {}: the result of the call says what
 *       was wrong with them.
 *   (5) A file is a document; one of text is sent as the text that it is,
 *       since the server takes no base64 of that.
 */
#include "writing.h"

#include "../../blank.h"

/* ---- values -------------------------------------------------------------- */

int anthropic_is_true(mortise_jv v)
{
    int32_t yes = 0;

    return mortise_jv_bool(v, &yes) == MORTISE_S_OK && yes;
}

static int is_object(mortise_jv v)
{
    return mortise_jv_type(v) == MORTISE_JV_OBJECT;
}

static int is_type(mortise_jv part, const char *type)
{
    return mortise_jv_is(mortise_jv_get(part, "type"), mortise_strz(type));
}

/* Is a part's `provider` of this server? */
static int is_own(const mortise_inst *inst, mortise_jv provider)
{
    return mortise_jv_is(mortise_jv_get(provider, "issuer"),
                         bytes_str(&inst->issuer));
}

int anthropic_is_among(mortise_jv name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (mortise_jv_is(name, mortise_strz(*names)))
            return 1;
    return 0;
}

/* ---- small pieces -------------------------------------------------------- */

void anthropic_member_put(mortise_jw *w, mortise_jv name, mortise_jv value)
{
    char room[256];
    mortise_str text;

    if (mortise_jv_text(name, room, sizeof room, &text) != MORTISE_S_OK)
        return; /* a name that long is none that anybody knows */
    mortise_jw_keyn(w, text);
    mortise_jw_value(w, value);
}

void anthropic_text_put(mortise_jw *w, const char *name, const char *text)
{
    mortise_jw_key(w, name);
    mortise_jw_cstr(w, text);
}

void anthropic_value_put(mortise_jw *w, const char *name, mortise_jv v)
{
    if (v.n == 0)
        return;
    mortise_jw_key(w, name);
    mortise_jw_value(w, v);
}

/* A block begins. */
static void open_block(struct writing *x, const char *type)
{
    mortise_jw_object(&x->w);
    anthropic_text_put(&x->w, "type", type);
}

void anthropic_block_end(struct writing *x, int mark)
{
    if (mark) {
        mortise_jw_key(&x->w, "cache_control");
        mortise_jw_object(&x->w);
        anthropic_text_put(&x->w, "type", "ephemeral");
        anthropic_value_put(&x->w, "ttl", x->inst->cache_ttl);
        mortise_jw_end(&x->w);
    }
    mortise_jw_end(&x->w);
}

static void put_text_block(struct writing *x, mortise_jv text, int mark)
{
    open_block(x, "text");
    anthropic_value_put(&x->w, "text", text);
    anthropic_block_end(x, mark);
}

static int is_of_id(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
}

/* The id of a call, of which this server may refuse some bytes. */
static void put_id(mortise_jw *w, const char *name, mortise_jv id)
{
    const char *p = id.p, *end;

    if (mortise_jv_type(id) != MORTISE_JV_STRING)
        return;
    end = p + id.n - 1;
    mortise_jw_key(w, name);
    mortise_jw_string_begin(w);
    for (p++; p < end; p++)
        mortise_jw_string_put(w, is_of_id(*p) ? mortise_strn(p, 1)
                                              : mortise_strz("_"));
    mortise_jw_string_end(w);
}

/* ---- images and files ---------------------------------------------------- */

/* The bytes in `text`, from base64 and in place; 0: it is none. */
static int decode_base64(struct bytes *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    uint64_t n = 0;
    uint32_t bits = 0, have = 0;

    while (text->n > 0 && text->p[text->n - 1] == '=')
        text->n--;
    for (uint64_t i = 0; i < text->n; i++) {
        const char *at = memchr(digits, text->p[i], sizeof digits - 1);

        if (at == NULL)
            return 0;
        bits = bits << 6 | (uint32_t)(at - digits);
        have += 6;
        if (have < 8)
            continue;
        have -= 8;
        text->p[n++] = (char)(bits >> have);
        bits &= (1u << have) - 1;
    }
    text->n = n;
    return 1;
}

/* The server has plain text as it is, not in base64.  1: it is written. */
static int put_plain_text(struct writing *x, mortise_jv data)
{
    struct bytes text = {NULL, 0, 0};
    mortise_status status = bytes_decode(&text, data);
    int is_text = status == MORTISE_S_OK && decode_base64(&text) &&
                  mortise_str_utf8(bytes_str(&text)) == text.n;

    if (status == MORTISE_S_NOMEM)
        x->status = status;
    if (is_text) {
        anthropic_text_put(&x->w, "type", "text");
        anthropic_text_put(&x->w, "media_type", "text/plain");
        mortise_jw_key(&x->w, "data");
        mortise_jw_string(&x->w, bytes_str(&text));
    }
    bytes_free(&text);
    return is_text;
}

/* Does the part's media type begin so? */
static int is_media(mortise_jv part, const char *with)
{
    mortise_jv type = mortise_jv_get(part, "media_type");
    size_t n = strlen(with);

    return mortise_jv_type(type) == MORTISE_JV_STRING && type.n >= n + 2 &&
           memcmp(type.p + 1, with, n) == 0;
}

static void put_source(struct writing *x, mortise_jv part)
{
    mortise_jv url = mortise_jv_get(part, "url");
    mortise_jv data = mortise_jv_get(part, "data");

    mortise_jw_key(&x->w, "source");
    mortise_jw_object(&x->w);
    if (url.n > 0) {
        anthropic_text_put(&x->w, "type", "url");
        anthropic_value_put(&x->w, "url", url);
    } else if (!is_media(part, "text/") || !put_plain_text(x, data)) {
        anthropic_text_put(&x->w, "type", "base64");
        anthropic_value_put(&x->w, "media_type",
                            mortise_jv_get(part, "media_type"));
        anthropic_value_put(&x->w, "data", data);
    }
    mortise_jw_end(&x->w);
}

static void put_media_block(struct writing *x, mortise_jv part, int mark)
{
    int image = is_type(part, "image") || is_media(part, "image/");

    open_block(x, image ? "image" : "document");
    put_source(x, part);
    if (!image)
        anthropic_value_put(&x->w, "title", mortise_jv_get(part, "name"));
    anthropic_block_end(x, mark);
}

/* ---- of the user's, and of tools ----------------------------------------- */

enum part_kind anthropic_part_kind(mortise_jv part)
{
    mortise_jv type = mortise_jv_get(part, "type");

    if (mortise_jv_is(type, mortise_strz("text")))
        return blank_is(mortise_jv_get(part, "text")) ? PART_OTHER : PART_TEXT;
    if (mortise_jv_is(type, mortise_strz("image")) ||
        mortise_jv_is(type, mortise_strz("file")))
        return PART_MEDIA;
    return mortise_jv_is(type, mortise_strz("tool_result")) ? PART_RESULT
                                                            : PART_OTHER;
}

void anthropic_content_put(struct writing *x, mortise_jv part, int mark)
{
    if (anthropic_part_kind(part) == PART_TEXT)
        put_text_block(x, mortise_jv_get(part, "text"), mark);
    else
        put_media_block(x, part, mark);
}

void anthropic_result_put(struct writing *x, mortise_jv part, int mark)
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(part, "parts"));
    mortise_jv one;
    int open = 0;

    open_block(x, "tool_result");
    put_id(&x->w, "tool_use_id", mortise_jv_get(part, "id"));
    while (mortise_jv_next(&it, NULL, &one)) {
        enum part_kind kind = anthropic_part_kind(one);

        if (kind != PART_TEXT && kind != PART_MEDIA)
            continue;
        if (!open) {
            mortise_jw_key(&x->w, "content");
            mortise_jw_array(&x->w);
        }
        open = 1;
        anthropic_content_put(x, one, 0);
    }
    if (open)
        mortise_jw_end(&x->w);
    if (anthropic_is_true(mortise_jv_get(part, "is_error")))
        anthropic_value_put(&x->w, "is_error",
                            mortise_jv_get(part, "is_error"));
    anthropic_block_end(x, mark);
}

/* ---- of the assistant's (1) ---------------------------------------------- */

int anthropic_is_said(const mortise_inst *inst, mortise_jv part)
{
    mortise_jv provider = mortise_jv_get(part, "provider");
    int own = is_own(inst, provider);

    if (is_type(part, "text"))
        return !blank_is(mortise_jv_get(part, "text"));
    if (is_type(part, "refusal")) /* one of ours was not part of the content */
        return !own && !blank_is(mortise_jv_get(part, "text"));
    if (is_type(part, "reasoning"))
        return own && is_object(mortise_jv_get(provider, "data"));
    return is_type(part, "tool_call");
}

/* What the server put beside a text or a call. */
static void put_beside(struct writing *x, mortise_jv part)
{
    mortise_jv provider = mortise_jv_get(part, "provider"), name, value;
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(provider, "data"));

    if (!is_own(x->inst, provider))
        return;
    while (it.is_object && mortise_jv_next(&it, &name, &value))
        anthropic_member_put(&x->w, name, value);
}

static void put_call(struct writing *x, mortise_jv part)
{
    mortise_jv arguments = mortise_jv_get(part, "arguments");

    open_block(x, "tool_use");
    put_id(&x->w, "id", mortise_jv_get(part, "id"));
    anthropic_value_put(&x->w, "name", mortise_jv_get(part, "name"));
    mortise_jw_key(&x->w, "input");
    if (is_object(arguments)) {
        mortise_jw_value(&x->w, arguments);
    } else {
        mortise_jw_object(&x->w);
        mortise_jw_end(&x->w);
    }
    put_beside(x, part);
    anthropic_block_end(x, 0);
}

void anthropic_said_put(struct writing *x, mortise_jv part)
{
    if (is_type(part, "reasoning")) {
        mortise_jw_value(
            &x->w, mortise_jv_get(mortise_jv_get(part, "provider"), "data"));
    } else if (is_type(part, "tool_call")) {
        put_call(x, part);
    } else {
        open_block(x, "text");
        anthropic_value_put(&x->w, "text", mortise_jv_get(part, "text"));
        if (is_type(part, "text"))
            put_beside(x, part);
        anthropic_block_end(x, 0);
    }
}
