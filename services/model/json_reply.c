/* json_reply.c -- reads the JSON of a reply that was requested as JSON.
 *
 * Servers support JSON output in different ways, mostly keep to the schema, and
 * some do not support it at all.  Therefore the host always validates the text
 * against the requested schema.  The result is part of the recorded answer, so
 * the caller need not validate it again.
 *
 * The JSON may be wrapped in a Markdown fence (three backquotes, and optionally
 * a word after the first ones).  Models that reason in their text put the
 * reasoning between <think> and </think> in front of the JSON; the chat
 * templates of some omit the first of these tags. */
#include "services/model/json_reply.h"

#include <string.h>

#include "lang/schema/schema.h"

/* A schema that is used once. */
struct validate_json_reply {
    struct mortise_arena arena;
    struct mortise_schema *schema; /* NULL: any value is valid */
};

static int open_reply_schema(struct validate_json_reply *j, struct mortise *m,
                             const json_t *response, struct mortise_err *err)
{
    const struct mortise_schema_options world = {.patterns =
                                                     MORTISE_PATTERNS_FOREIGN};
    json_t *schema = json_object_get(response, "schema");
    char where[128];
    struct mortise_err why;
    int rv;

    mortise_arena_init(&j->arena, m->mem);
    j->schema = NULL;
    if (schema == NULL)
        return MORTISE_OK;
    rv = mortise_schema_compile_with(&j->schema, &j->arena, schema, &world,
                                     where, sizeof where, &why);
    if (rv == MORTISE_OK)
        return rv;
    mortise_arena_finish(&j->arena);
    return rv == MORTISE_ENOMEM
               ? mortise_nomem(err)
               : mortise_fail(err, MORTISE_EINVAL, "at /response/schema%s: %s",
                              where, why.msg);
}

static void close_reply_schema(struct validate_json_reply *j)
{
    mortise_schema_finish(j->schema);
    mortise_arena_finish(&j->arena);
}

int mortise_json_reply_check(struct mortise *m, const json_t *response,
                             struct mortise_err *err)
{
    struct validate_json_reply j;
    int rv = open_reply_schema(&j, m, response, err);

    if (rv == MORTISE_OK)
        close_reply_schema(&j);
    return rv;
}

/* Append the text parts of a reply. */
static void put_reply_text(struct mortise_buf *b, const json_t *reply)
{
    const json_t *parts =
        json_object_get(json_object_get(reply, "message"), "parts");

    MORTISE_JSON_EACH (part, i, parts) {
        const json_t *text = json_object_get(part, "text");

        if (strcmp(json_string_value(json_object_get(part, "type")), "text") ==
            0)
            mortise_buf_put(b, json_string_value(text),
                            json_string_length(text));
    }
}

static void trim_reply_blanks(const char **p, size_t *n)
{
    static const char blanks[] = " \t\r\n";

    while (*n > 0 && strchr(blanks, **p) != NULL && **p != '\0') {
        ++*p;
        --*n;
    }
    while (*n > 0 && (*p)[*n - 1] != '\0' &&
           strchr(blanks, (*p)[*n - 1]) != NULL)
        --*n;
}

/* If all of the text is inside a Markdown fence, reduce it to the content. */
static void strip_markdown_fence(const char **p, size_t *n)
{
    static const char fence[] = "```";
    const size_t k = sizeof fence - 1;
    const char *line;

    trim_reply_blanks(p, n);
    if (*n < 2 * k || memcmp(*p, fence, k) != 0 ||
        memcmp(*p + *n - k, fence, k) != 0)
        return;
    line = memchr(*p, '\n', *n);
    if (line == NULL || line + 1 > *p + *n - k)
        return;
    *n = (size_t)(*p + *n - k - (line + 1));
    *p = line + 1;
    trim_reply_blanks(p, n);
}

/* Skip everything up to the first tag that ends a reasoning section. */
static bool skip_reasoning(const char **p, size_t *n)
{
    static const char *const ends[] = {"</think>", "</thinking>", "</thought>",
                                       "</reasoning>"};
    const char *first = NULL;
    size_t length = 0;

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        const char *at = memmem(*p, *n, ends[i], strlen(ends[i]));

        if (at == NULL || (first != NULL && at > first))
            continue;
        first = at;
        length = strlen(ends[i]);
    }
    if (first == NULL)
        return false;
    *n -= (size_t)(first + length - *p);
    *p = first + length;
    return true;
}

/* Parse a text that is JSON, or has JSON after a reasoning section. */
static int parse_reply_json(const char *p, size_t n, json_t **out,
                            struct mortise_err *err)
{
    int rv;

    strip_markdown_fence(&p, &n);
    rv = mortise_json_parse(out, p, n, err);
    if (rv != MORTISE_EINVAL || !skip_reasoning(&p, &n))
        return rv;
    strip_markdown_fence(&p, &n);
    return mortise_json_parse(out, p, n, err);
}

static int validate_json_reply(struct mortise *m, const json_t *response,
                               json_t *value, json_t **out,
                               struct mortise_err *err)
{
    struct validate_json_reply j;
    int rv = open_reply_schema(&j, m, response, err);

    if (rv != MORTISE_OK)
        return rv;
    rv = mortise_schema_check(j.schema, value, err);
    if (rv == MORTISE_OK) {
        *out = mortise_schema_normalize(j.schema, value, 0);
        rv = *out != NULL ? MORTISE_OK : mortise_nomem(err);
    }
    close_reply_schema(&j);
    return rv == MORTISE_ELIMIT ? MORTISE_EINVAL : rv;
}

int mortise_json_reply_parse(struct mortise *m, const json_t *response,
                             const json_t *reply, json_t **out,
                             struct mortise_err *err)
{
    struct mortise_buf text;
    json_t *value = NULL;
    int rv;

    *out = NULL;
    mortise_buf_init(&text, m->mem);
    put_reply_text(&text, reply);
    rv = text.failed ? mortise_nomem(err)
                     : parse_reply_json(text.p != NULL ? text.p : "", text.n,
                                        &value, err);
    if (rv == MORTISE_EINVAL)
        mortise_err_prefix(err, rv, "the reply is not JSON");
    if (rv == MORTISE_OK)
        rv = validate_json_reply(m, response, value, out, err);
    json_decref(value);
    mortise_buf_finish(&text);
    return rv;
}
