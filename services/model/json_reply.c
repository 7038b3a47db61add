/* json_reply.c -- a reply that is to be JSON: is it, and which?
 *
 * Servers promise it in many ways, keep to it in most, and some know no such
 * promise at all.  So the text is judged here, by the schema that was asked for,
 * whoever gave it; what the host found stands in the recorded answer, and whoever
 * asked need not judge.  A text around which a model put a fence of Markdown
 * (three backquotes, a word behind the first) is what is inside.  Models that
 * reason in their text put it between <think> and </think> ahead of the JSON;
 * templates of some begin the reply behind the first of the two.
 */
#include "services/model/json_reply.h"

#include <string.h>

#include "lang/schema/schema.h"

/* A schema for one use. */
struct judge {
    struct mortise_arena arena;
    struct mortise_schema *schema; /* NULL: anything goes */
};

static int open_judge(struct judge *j, struct mortise *m,
                      const json_t *response, struct mortise_err *err)
{
    const struct mortise_schema_world world = {.patterns =
                                                   MORTISE_PATTERNS_FOREIGN};
    json_t *schema = json_object_get(response, "schema");
    char where[128];
    struct mortise_err why;
    int rv;

    mortise_arena_init(&j->arena, m->mem);
    j->schema = NULL;
    if (schema == NULL)
        return MORTISE_OK;
    rv = mortise_schema_compile_in(&j->schema, &j->arena, schema, &world, where,
                                   sizeof where, &why);
    if (rv == MORTISE_OK)
        return rv;
    mortise_arena_finish(&j->arena);
    return rv == MORTISE_ENOMEM
               ? mortise_nomem(err)
               : mortise_fail(err, MORTISE_EINVAL, "at /response/schema%s: %s",
                              where, why.msg);
}

static void close_judge(struct judge *j)
{
    mortise_schema_finish(j->schema);
    mortise_arena_finish(&j->arena);
}

int mortise_json_reply_check(struct mortise *m, const json_t *response,
                             struct mortise_err *err)
{
    struct judge j;
    int rv = open_judge(&j, m, response, err);

    if (rv == MORTISE_OK)
        close_judge(&j);
    return rv;
}

/* All its text. */
static void put_text(struct mortise_buf *b, const json_t *reply)
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

static void trim(const char **p, size_t *n)
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

/* What is inside of a fence, if all of it stands in one. */
static void take_from_fence(const char **p, size_t *n)
{
    static const char fence[] = "```";
    const size_t k = sizeof fence - 1;
    const char *line;

    trim(p, n);
    if (*n < 2 * k || memcmp(*p, fence, k) != 0 ||
        memcmp(*p + *n - k, fence, k) != 0)
        return;
    line = memchr(*p, '\n', *n);
    if (line == NULL || line + 1 > *p + *n - k)
        return;
    *n = (size_t)(*p + *n - k - (line + 1));
    *p = line + 1;
    trim(p, n);
}

/* What is behind the end of a thought, if there is one. */
static bool take_behind_thought(const char **p, size_t *n)
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

/* The JSON that a text is, or that it has behind a thought. */
static int parse(const char *p, size_t n, json_t **out, struct mortise_err *err)
{
    int rv;

    take_from_fence(&p, &n);
    rv = mortise_json_parse(out, p, n, err);
    if (rv != MORTISE_EINVAL || !take_behind_thought(&p, &n))
        return rv;
    take_from_fence(&p, &n);
    return mortise_json_parse(out, p, n, err);
}

static int judge(struct mortise *m, const json_t *response, json_t *value,
                 json_t **out, struct mortise_err *err)
{
    struct judge j;
    int rv = open_judge(&j, m, response, err);

    if (rv != MORTISE_OK)
        return rv;
    rv = mortise_schema_check(j.schema, value, err);
    if (rv == MORTISE_OK) {
        *out = mortise_schema_normal(j.schema, value, 0);
        rv = *out != NULL ? MORTISE_OK : mortise_nomem(err);
    }
    close_judge(&j);
    return rv == MORTISE_ELIMIT ? MORTISE_EINVAL : rv;
}

int mortise_json_reply_read(struct mortise *m, const json_t *response,
                            const json_t *reply, json_t **out,
                            struct mortise_err *err)
{
    struct mortise_buf text;
    json_t *value = NULL;
    int rv;

    *out = NULL;
    mortise_buf_init(&text, m->mem);
    put_text(&text, reply);
    rv = text.failed ? mortise_nomem(err)
                     : parse(text.p != NULL ? text.p : "", text.n, &value, err);
    if (rv == MORTISE_EINVAL)
        mortise_doing(err, rv, "the reply is not JSON");
    if (rv == MORTISE_OK)
        rv = judge(m, response, value, out, err);
    json_decref(value);
    mortise_buf_finish(&text);
    return rv;
}
