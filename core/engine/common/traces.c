/* traces.c -- check requests to memory plugins and their answers against
 * <mortise/memory.h>.
 *
 * A plugin may rely on valid requests, so all requests are checked here: from
 * nodes, from plugins and from people.  An answer is checked before anybody
 * sees it: a trace of another conversation would leak one person's words to
 * another.
 */
#include "core/engine/common/traces.h"

#include <string.h>

#include <mortise/memory.h>

#include "core/json/value.h"
#include "core/plugin/kind.h"

/* ---- values -------------------------------------------------------------- */

const char *const mortise_trace_scopes[] = {"global", "persona", "session",
                                            "conversation", NULL};
const char *const mortise_trace_types[] = {
    "episodic", "semantic", "procedural", "prospective", "relational", NULL};

static bool is_among_words(const json_t *v, const char *const *words)
{
    const char *text = json_string_value(v);

    while (text != NULL && *words != NULL)
        if (strcmp(*words++, text) == 0)
            return true;
    return false;
}

static bool is_text_of_length(const json_t *v, size_t least, size_t most)
{
    return json_is_string(v) && json_string_length(v) >= least &&
           json_string_length(v) <= most;
}

static bool is_trace_id(const json_t *v)
{
    return is_text_of_length(v, 1, MORTISE_MEMORY_ID);
}

static bool is_trace_key(const json_t *v)
{
    return is_text_of_length(v, 1, MORTISE_MEMORY_KEY);
}

static bool is_trace_content(const json_t *v)
{
    return is_text_of_length(v, 1, MORTISE_MEMORY_CONTENT);
}

static bool is_trace_note(const json_t *v)
{
    return is_text_of_length(v, 0, MORTISE_MEMORY_CONTENT);
}

static bool is_trace_query(const json_t *v)
{
    return is_trace_content(v) && !mortise_json_is_blank(v);
}

static bool is_trace_cursor(const json_t *v)
{
    return is_text_of_length(v, 1, MORTISE_MEMORY_NEXT);
}

static bool is_trace_scope(const json_t *v)
{
    return is_among_words(v, mortise_trace_scopes);
}

static bool is_trace_type(const json_t *v)
{
    return is_among_words(v, mortise_trace_types);
}

static bool is_trace_order(const json_t *v)
{
    static const char *const orders[] = {"rank", "time", NULL};

    return is_among_words(v, orders);
}

static bool is_trace_strength(const json_t *v)
{
    return json_is_number(v) && json_number_value(v) >= 0 &&
           json_number_value(v) <= 1;
}

static bool is_trace_number(const json_t *v)
{
    return json_is_number(v);
}

/* The limit makes sums with one of these times safe from overflow. */
static bool is_trace_time(const json_t *v)
{
    return json_is_integer(v) && json_integer_value(v) >= 0 &&
           json_integer_value(v) <= MORTISE_MEMORY_TIME;
}

static bool is_trace_seq(const json_t *v)
{
    return json_is_integer(v) && json_integer_value(v) >= 0;
}

static bool is_trace_count(const json_t *v)
{
    return is_trace_seq(v) && json_integer_value(v) <= MORTISE_MEMORY_TRACES;
}

static bool is_trace_true(const json_t *v)
{
    return json_is_true(v);
}

static bool is_trace_metadata(const json_t *v)
{
    return json_is_object(v) &&
           json_dumpb(v, NULL, 0, JSON_COMPACT) <= MORTISE_MEMORY_METADATA;
}

static bool is_list_of_values(const json_t *v, bool (*is)(const json_t *v))
{
    if (!json_is_array(v) || json_array_size(v) > MORTISE_MEMORY_TRACES)
        return false;
    MORTISE_JSON_EACH (one, i, v)
        if (!is(one))
            return false;
    return true;
}

static bool is_trace_types(const json_t *v)
{
    return is_list_of_values(v, is_trace_type);
}

static bool is_trace_ids(const json_t *v)
{
    return is_list_of_values(v, is_trace_id);
}

static bool is_trace_keys(const json_t *v)
{
    const char *name;
    json_t *key;

    if (!json_is_object(v))
        return false;
    json_object_foreach(mortise_json_unconst(v), name, key)
    {
        json_t *scope = json_string(name);
        bool right = is_trace_scope(scope) && strcmp(name, "global") != 0;

        json_decref(scope);
        if (!right || !is_trace_key(key))
            return false;
    }
    return true;
}

/* ---- objects ------------------------------------------------------------- */

struct member {
    const char *name;
    bool (*is)(const json_t *v);
    bool must;
    const char *what;
};

#define ID   "1 to 128 bytes of text"
#define TIME "milliseconds since 1970, up to the end of 9999"

static const struct member trace_members[] = {
    {"id", is_trace_id, true, ID},
    {"type", is_trace_type, true,
     "episodic, semantic, procedural, prospective or relational"},
    {"scope", is_trace_scope, true, "global, persona, session or conversation"},
    {"key", is_trace_key, false, "1 to 256 bytes of text"},
    {"content", is_trace_content, true, "1 to 65536 bytes of text"},
    {"strength", is_trace_strength, true, "a number from 0 to 1"},
    {"created_at", is_trace_time, true, TIME},
    {"metadata", is_trace_metadata, false, "an object of up to 16384 bytes"},
    {NULL, NULL, false, NULL}};

/* Additional members in an answer. */
static const struct member more_members[] = {
    {"initial", is_trace_strength, false, "a number from 0 to 1"},
    {"score", is_trace_number, false, "a number"},
    {NULL, NULL, false, NULL}};

static const struct member use_members[] = {{"id", is_trace_id, true, ID},
                                            {"by", is_trace_id, true, ID},
                                            {"at", is_trace_time, true, TIME},
                                            {NULL, NULL, false, NULL}};

static const struct member *find_trace_member(const struct member *rows,
                                              const char *name)
{
    while (rows->name != NULL && strcmp(rows->name, name) != 0)
        rows++;
    return rows->name != NULL ? rows : NULL;
}

/* Each member must be in `rows` or in `more` (NULL: none) and valid; *wrong is
 * the name of the offending member, NULL: the whole object. */
static int check_trace_members(const struct member *rows,
                               const struct member *more, const json_t *v,
                               const char **wrong, struct mortise_err *err)
{
    const char *name;
    json_t *one;

    *wrong = NULL;
    if (!json_is_object(v))
        return mortise_fail(err, MORTISE_EINVAL, "the value is not an object");
    for (const struct member *m = rows; m->name != NULL; m++)
        if (m->must && json_object_get(v, m->name) == NULL)
            return mortise_fail(err, MORTISE_EINVAL,
                                "the member '%s' is missing", m->name);
    json_object_foreach(mortise_json_unconst(v), name, one)
    {
        const struct member *m = find_trace_member(rows, name);

        if (m == NULL && more != NULL)
            m = find_trace_member(more, name);
        *wrong = name;
        if (m == NULL)
            return mortise_fail(err, MORTISE_EINVAL, "unknown member '%.64s'",
                                name);
        if (!m->is(one))
            return mortise_fail(err, MORTISE_EINVAL, "'%s' must be %s", name,
                                m->what);
    }
    *wrong = NULL;
    return MORTISE_OK;
}

static int check_row_members(const struct member *rows, const json_t *v,
                             struct mortise_err *err)
{
    const char *wrong;

    return check_trace_members(rows, NULL, v, &wrong, err);
}

/* Every scope except "global" needs a key. */
static int check_trace_key(int rv, const json_t *v, struct mortise_err *err)
{
    bool is_global =
        rv == MORTISE_OK &&
        strcmp(json_string_value(json_object_get(v, "scope")), "global") == 0;

    return rv != MORTISE_OK || is_global == (json_object_get(v, "key") == NULL)
               ? rv
               : mortise_fail(err, MORTISE_EINVAL,
                              "a trace must have a 'key', unless its scope is "
                              "'global': then it must have none");
}

int mortise_trace_check(const json_t *trace, const char **wrong,
                        struct mortise_err *err)
{
    return check_trace_key(
        check_trace_members(trace_members, NULL, trace, wrong, err), trace,
        err);
}

static int check_trace(const json_t *v, struct mortise_err *err)
{
    const char *wrong;

    return mortise_trace_check(v, &wrong, err);
}

/* The same for a trace in an answer. */
static int check_found_trace(const json_t *v, struct mortise_err *err)
{
    const char *wrong;

    return check_trace_key(
        check_trace_members(trace_members, more_members, v, &wrong, err), v,
        err);
}

static int check_trace_use(const json_t *v, struct mortise_err *err)
{
    return check_row_members(use_members, v, err);
}

static int check_trace_list(const json_t *list, const char *name,
                            int (*check)(const json_t *v,
                                         struct mortise_err *err),
                            struct mortise_err *err)
{
    MORTISE_JSON_EACH (one, i, list) {
        int rv = check(one, err);

        if (rv != MORTISE_OK)
            return mortise_err_prefix(err, rv, "at /%s/%zu", name, i);
    }
    return MORTISE_OK;
}

/* ---- requests ------------------------------------------------------------ */

static bool is_short_list(const json_t *v)
{
    return json_is_array(v) && json_array_size(v) <= MORTISE_MEMORY_TRACES;
}

#define SELECT_MEMBERS                                                         \
    {"ids", is_trace_ids, false, "a list of up to 1000 ids"},                  \
        {"types", is_trace_types, false, "a list of types"},                   \
        {"scope", is_trace_scope, false,                                       \
         "global, persona, session or conversation"},                          \
    {                                                                          \
        "keys", is_trace_keys, false,                                          \
            "an object of texts: persona, session, conversation"               \
    }

static const struct member read_members[] = {
    SELECT_MEMBERS,
    {"max_traces", is_trace_count, true, "a number from 0 to 1000"},
    {"query", is_trace_query, false,
     "1 to 65536 bytes of text, not only whitespace"},
    {"min_strength", is_trace_strength, false, "a number from 0 to 1"},
    {"as_of", is_trace_seq, false, "a sequence number"},
    {"order", is_trace_order, false, "rank or time"},
    {"after", is_trace_cursor, false, "the 'next' of an earlier answer"},
    {NULL, NULL, false, NULL}};

static const struct member write_members[] = {
    {"traces", is_short_list, false, "a list of up to 1000 traces"},
    {"uses", is_short_list, false, "a list of up to 1000 uses"},
    {"restore", is_trace_true, false, "true"},
    {NULL, NULL, false, NULL}};

static const struct member forget_members[] = {
    SELECT_MEMBERS,
    {"before", is_trace_time, false, TIME},
    {"all", is_trace_true, false, "true"},
    {NULL, NULL, false, NULL}};

static int check_read_body(const struct mortise_manifest *m, const json_t *body,
                           struct mortise_err *err)
{
    int rv = check_row_members(read_members, body, err);

    return rv != MORTISE_OK || json_object_get(body, "as_of") == NULL ||
                   m->provides[MORTISE_KIND_MEMORY].as_of
               ? rv
               : mortise_fail(err, MORTISE_EINVAL,
                              "plugin '%s' does not support `as_of`, so it "
                              "cannot read an earlier state of the traces: its "
                              "manifest does not set `as_of: true`",
                              m->name);
}

static int check_write_body(const json_t *body, struct mortise_err *err)
{
    int rv = check_row_members(write_members, body, err);

    if (rv == MORTISE_OK)
        rv = check_trace_list(json_object_get(body, "traces"), "traces",
                              check_trace, err);
    return rv == MORTISE_OK ? check_trace_list(json_object_get(body, "uses"),
                                               "uses", check_trace_use, err)
                            : rv;
}

static int check_forget_body(const json_t *body, struct mortise_err *err)
{
    int rv = check_row_members(forget_members, body, err);

    if (rv != MORTISE_OK)
        return rv;
    if (json_object_size(body) == 0)
        return mortise_fail(err, MORTISE_EINVAL,
                            "name the traces to forget, or give 'all'");
    return json_object_get(body, "all") == NULL || json_object_size(body) == 1
               ? MORTISE_OK
               : mortise_fail(err, MORTISE_EINVAL,
                              "'all' cannot be used with other members");
}

int mortise_traces_check_request(const struct mortise_manifest *m,
                                 const struct mortise_call_kind *kind,
                                 const json_t *body, struct mortise_err *err)
{
    if (kind == &mortise_call_recall)
        return check_read_body(m, body, err);
    return kind == &mortise_call_remember ? check_write_body(body, err)
                                          : check_forget_body(body, err);
}

json_t *mortise_traces_make_body(const json_t *body, const char *tenant,
                                 uint64_t now_ms)
{
    json_t *out = json_copy(mortise_json_unconst(body));

    if (out != NULL &&
        (json_object_set_new(out, "tenant", json_string(tenant)) != 0 ||
         json_object_set_new(out, "now", json_integer((json_int_t)now_ms)) !=
             0))
        mortise_json_clear_ref(&out);
    return out;
}

/* ---- answers ------------------------------------------------------------- */

static const struct member found_members[] = {
    {"traces", is_short_list, true, "a list of traces"},
    {"seq", is_trace_seq, true, "a sequence number"},
    {"next", is_trace_cursor, false, "1 to 1024 bytes of text"},
    {"note", is_trace_note, false, "text"},
    {NULL, NULL, false, NULL}};

static const struct member written_members[] = {
    {"written", is_trace_count, true, "a number"},
    {"seq", is_trace_seq, true, "a sequence number"},
    {NULL, NULL, false, NULL}};

static const struct member forgotten_members[] = {
    {"forgotten", is_trace_seq, true, "a number"},
    {"seq", is_trace_seq, true, "a sequence number"},
    {NULL, NULL, false, NULL}};

/* Without a list, everything matches. */
static bool has_or_no_list(const json_t *list, const json_t *value)
{
    if (list == NULL)
        return true;
    MORTISE_JSON_EACH (one, i, list)
        if (json_equal(mortise_json_unconst(one), mortise_json_unconst(value)))
            return true;
    return false;
}

static bool has_wanted_scope(const json_t *body, const json_t *trace)
{
    const json_t *scope = json_object_get(trace, "scope"),
                 *asked = json_object_get(body, "scope"),
                 *keys = json_object_get(body, "keys"),
                 *key = json_object_get(trace, "key");

    if (asked != NULL &&
        !json_equal(mortise_json_unconst(asked), mortise_json_unconst(scope)))
        return false;
    return keys == NULL || key == NULL ||
           json_equal(json_object_get(keys, json_string_value(scope)),
                      mortise_json_unconst(key));
}

/* Tolerates a memory plugin that rounds. */
static bool has_wanted_strength(const json_t *body, const json_t *trace)
{
    return json_number_value(json_object_get(trace, "strength")) >=
           json_number_value(json_object_get(body, "min_strength")) - 1e-6;
}

static bool matches_read_body(const json_t *body, const json_t *trace)
{
    return has_wanted_scope(body, trace) && has_wanted_strength(body, trace) &&
           has_or_no_list(json_object_get(body, "types"),
                          json_object_get(trace, "type")) &&
           has_or_no_list(json_object_get(body, "ids"),
                          json_object_get(trace, "id"));
}

/* Ids must be unique. */
static int check_unique_ids(const json_t *list, struct mortise_err *err)
{
    json_t *seen = json_object();
    int rv = seen != NULL ? MORTISE_OK : mortise_nomem(err);

    MORTISE_JSON_EACH (one, i, list) {
        const json_t *id = json_object_get(one, "id");
        const char *text = json_string_value(id);
        size_t n = json_string_length(id);

        if (rv == MORTISE_OK && json_object_getn(seen, text, n) != NULL)
            rv = mortise_fail(err, MORTISE_EINVAL,
                              "at /traces/%zu: this trace occurs twice", i);
        else if (rv == MORTISE_OK &&
                 json_object_setn_new(seen, text, n, json_true()) != 0)
            rv = mortise_nomem(err);
    }
    json_decref(seen);
    return rv;
}

static int check_read_answer(const json_t *body, const json_t *answer,
                             struct mortise_err *err)
{
    const json_t *list = json_object_get(answer, "traces");
    int rv = check_row_members(found_members, answer, err);

    if (rv == MORTISE_OK)
        rv = check_trace_list(list, "traces", check_found_trace, err);
    if (rv == MORTISE_OK &&
        (json_int_t)json_array_size(list) >
            json_integer_value(json_object_get(body, "max_traces")))
        rv = mortise_fail(err, MORTISE_EINVAL,
                          "the answer has more traces than requested");
    MORTISE_JSON_EACH (one, i, list)
        if (rv == MORTISE_OK && !matches_read_body(body, one))
            rv =
                mortise_fail(err, MORTISE_EINVAL,
                             "at /traces/%zu: this trace was not requested", i);
    return rv == MORTISE_OK ? check_unique_ids(list, err) : rv;
}

int mortise_traces_check_answer(const struct mortise_call_kind *kind,
                                const json_t *body, const json_t *answer,
                                struct mortise_err *err)
{
    if (kind == &mortise_call_recall)
        return check_read_answer(body, answer, err);
    return check_row_members(kind == &mortise_call_remember ? written_members
                                                            : forgotten_members,
                             answer, err);
}
