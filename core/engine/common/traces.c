/* traces.c -- what is asked of a memory, and what it answers, judged by
 * <mortise/memory.h>.
 *
 * A plugin is promised that a request is right, so everybody's is judged here:
 * nodes', plugins' and people's.  And nobody reads what a memory gave before it
 * was seen to be what was asked for: a trace of another conversation would be
 * somebody's words in the wrong place. */
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

static bool is_among(const json_t *v, const char *const *words)
{
    const char *text = json_string_value(v);

    while (text != NULL && *words != NULL)
        if (strcmp(*words++, text) == 0)
            return true;
    return false;
}

static bool is_text(const json_t *v, size_t least, size_t most)
{
    return json_is_string(v) && json_string_length(v) >= least &&
           json_string_length(v) <= most;
}

static bool is_id(const json_t *v)
{
    return is_text(v, 1, MORTISE_MEMORY_ID);
}

static bool is_key(const json_t *v)
{
    return is_text(v, 1, MORTISE_MEMORY_KEY);
}

static bool is_content(const json_t *v)
{
    return is_text(v, 1, MORTISE_MEMORY_CONTENT);
}

static bool is_note(const json_t *v)
{
    return is_text(v, 0, MORTISE_MEMORY_CONTENT);
}

static bool is_query(const json_t *v)
{
    return is_content(v) && !mortise_json_is_blank(v);
}

static bool is_cursor(const json_t *v)
{
    return is_text(v, 1, MORTISE_MEMORY_NEXT);
}

static bool is_scope(const json_t *v)
{
    return is_among(v, mortise_trace_scopes);
}

static bool is_type(const json_t *v)
{
    return is_among(v, mortise_trace_types);
}

static bool is_order(const json_t *v)
{
    static const char *const orders[] = {"rank", "time", NULL};

    return is_among(v, orders);
}

static bool is_strength(const json_t *v)
{
    return json_is_number(v) && json_number_value(v) >= 0 &&
           json_number_value(v) <= 1;
}

static bool is_number(const json_t *v)
{
    return json_is_number(v);
}

/* Who counts on from one adds no more than that to it. */
static bool is_time(const json_t *v)
{
    return json_is_integer(v) && json_integer_value(v) >= 0 &&
           json_integer_value(v) <= MORTISE_MEMORY_TIME;
}

static bool is_seq(const json_t *v)
{
    return json_is_integer(v) && json_integer_value(v) >= 0;
}

static bool is_count(const json_t *v)
{
    return is_seq(v) && json_integer_value(v) <= MORTISE_MEMORY_TRACES;
}

static bool is_true(const json_t *v)
{
    return json_is_true(v);
}

static bool is_metadata(const json_t *v)
{
    return json_is_object(v) &&
           json_dumpb(v, NULL, 0, JSON_COMPACT) <= MORTISE_MEMORY_METADATA;
}

static bool is_list(const json_t *v, bool (*is)(const json_t *v))
{
    if (!json_is_array(v) || json_array_size(v) > MORTISE_MEMORY_TRACES)
        return false;
    MORTISE_JSON_EACH (one, i, v)
        if (!is(one))
            return false;
    return true;
}

static bool is_types(const json_t *v)
{
    return is_list(v, is_type);
}

static bool is_ids(const json_t *v)
{
    return is_list(v, is_id);
}

static bool is_keys(const json_t *v)
{
    const char *name;
    json_t *key;

    if (!json_is_object(v))
        return false;
    json_object_foreach(mortise_json_unconst(v), name, key)
    {
        json_t *scope = json_string(name);
        bool right = is_scope(scope) && strcmp(name, "global") != 0;

        json_decref(scope);
        if (!right || !is_key(key))
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
    {"id", is_id, true, ID},
    {"type", is_type, true,
     "episodic, semantic, procedural, prospective or relational"},
    {"scope", is_scope, true, "global, persona, session or conversation"},
    {"key", is_key, false, "1 to 256 bytes of text"},
    {"content", is_content, true, "1 to 65536 bytes of text"},
    {"strength", is_strength, true, "a number from 0 to 1"},
    {"created_at", is_time, true, TIME},
    {"metadata", is_metadata, false, "an object of up to 16384 bytes"},
    {NULL, NULL, false, NULL}};

/* Beside those of a trace, in an answer. */
static const struct member more_members[] = {
    {"initial", is_strength, false, "a number from 0 to 1"},
    {"score", is_number, false, "a number"},
    {NULL, NULL, false, NULL}};

static const struct member use_members[] = {{"id", is_id, true, ID},
                                            {"by", is_id, true, ID},
                                            {"at", is_time, true, TIME},
                                            {NULL, NULL, false, NULL}};

static const struct member *member_of(const struct member *rows,
                                      const char *name)
{
    while (rows->name != NULL && strcmp(rows->name, name) != 0)
        rows++;
    return rows->name != NULL ? rows : NULL;
}

/* Each member is one of the rows, or of `more` (NULL: none), and as it says;
 * *wrong is the name of the one that is not, NULL where it is the whole. */
static int check_both(const struct member *rows, const struct member *more,
                      const json_t *v, const char **wrong,
                      struct mortise_err *err)
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
        const struct member *m = member_of(rows, name);

        if (m == NULL && more != NULL)
            m = member_of(more, name);
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

static int check_members(const struct member *rows, const json_t *v,
                         struct mortise_err *err)
{
    const char *wrong;

    return check_both(rows, NULL, v, &wrong, err);
}

/* Of all but "global" the key says which. */
static int check_key(int rv, const json_t *v, struct mortise_err *err)
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
    return check_key(check_both(trace_members, NULL, trace, wrong, err), trace,
                     err);
}

static int check_trace(const json_t *v, struct mortise_err *err)
{
    const char *wrong;

    return mortise_trace_check(v, &wrong, err);
}

/* The same in an answer. */
static int check_found(const json_t *v, struct mortise_err *err)
{
    const char *wrong;

    return check_key(check_both(trace_members, more_members, v, &wrong, err), v,
                     err);
}

static int check_use(const json_t *v, struct mortise_err *err)
{
    return check_members(use_members, v, err);
}

static int check_each(const json_t *list, const char *name,
                      int (*check)(const json_t *v, struct mortise_err *err),
                      struct mortise_err *err)
{
    MORTISE_JSON_EACH (one, i, list) {
        int rv = check(one, err);

        if (rv != MORTISE_OK)
            return mortise_doing(err, rv, "at /%s/%zu", name, i);
    }
    return MORTISE_OK;
}

/* ---- requests ------------------------------------------------------------ */

static bool is_some_list(const json_t *v)
{
    return json_is_array(v) && json_array_size(v) <= MORTISE_MEMORY_TRACES;
}

#define MEANT                                                                  \
    {"ids", is_ids, false, "a list of up to 1000 ids"},                        \
        {"types", is_types, false, "a list of types"},                         \
        {"scope", is_scope, false,                                             \
         "global, persona, session or conversation"},                          \
    {                                                                          \
        "keys", is_keys, false,                                                \
            "an object of texts: persona, session, conversation"               \
    }

static const struct member read_members[] = {
    MEANT,
    {"max_traces", is_count, true, "a number from 0 to 1000"},
    {"query", is_query, false, "1 to 65536 bytes of text, not only whitespace"},
    {"min_strength", is_strength, false, "a number from 0 to 1"},
    {"as_of", is_seq, false, "a sequence number"},
    {"order", is_order, false, "rank or time"},
    {"after", is_cursor, false, "the 'next' of an earlier answer"},
    {NULL, NULL, false, NULL}};

static const struct member write_members[] = {
    {"traces", is_some_list, false, "a list of up to 1000 traces"},
    {"uses", is_some_list, false, "a list of up to 1000 uses"},
    {"restore", is_true, false, "true"},
    {NULL, NULL, false, NULL}};

static const struct member forget_members[] = {MEANT,
                                               {"before", is_time, false, TIME},
                                               {"all", is_true, false, "true"},
                                               {NULL, NULL, false, NULL}};

static int check_read(const struct mortise_manifest *m, const json_t *body,
                      struct mortise_err *err)
{
    int rv = check_members(read_members, body, err);

    return rv != MORTISE_OK || json_object_get(body, "as_of") == NULL ||
                   m->provides[MORTISE_KIND_MEMORY].as_of
               ? rv
               : mortise_fail(err, MORTISE_EINVAL,
                              "plugin '%s' does not support `as_of`, so it "
                              "cannot read an earlier state of the traces: its "
                              "manifest does not set `as_of: true`",
                              m->name);
}

static int check_write(const json_t *body, struct mortise_err *err)
{
    int rv = check_members(write_members, body, err);

    if (rv == MORTISE_OK)
        rv = check_each(json_object_get(body, "traces"), "traces", check_trace,
                        err);
    return rv == MORTISE_OK ? check_each(json_object_get(body, "uses"), "uses",
                                         check_use, err)
                            : rv;
}

static int check_forget(const json_t *body, struct mortise_err *err)
{
    int rv = check_members(forget_members, body, err);

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

int mortise_traces_check(const struct mortise_manifest *m,
                         const struct mortise_call_kind *kind,
                         const json_t *body, struct mortise_err *err)
{
    if (kind == &mortise_call_recall)
        return check_read(m, body, err);
    return kind == &mortise_call_remember ? check_write(body, err)
                                          : check_forget(body, err);
}

json_t *mortise_traces_body(const json_t *body, const char *tenant,
                            uint64_t now_ms)
{
    json_t *out = json_copy(mortise_json_unconst(body));

    if (out != NULL &&
        (json_object_set_new(out, "tenant", json_string(tenant)) != 0 ||
         json_object_set_new(out, "now", json_integer((json_int_t)now_ms)) !=
             0))
        mortise_json_drop(&out);
    return out;
}

/* ---- answers ------------------------------------------------------------- */

static const struct member found_members[] = {
    {"traces", is_some_list, true, "a list of traces"},
    {"seq", is_seq, true, "a sequence number"},
    {"next", is_cursor, false, "1 to 1024 bytes of text"},
    {"note", is_note, false, "text"},
    {NULL, NULL, false, NULL}};

static const struct member written_members[] = {
    {"written", is_count, true, "a number"},
    {"seq", is_seq, true, "a sequence number"},
    {NULL, NULL, false, NULL}};

static const struct member forgotten_members[] = {
    {"forgotten", is_seq, true, "a number"},
    {"seq", is_seq, true, "a sequence number"},
    {NULL, NULL, false, NULL}};

/* A list that is not there has everything. */
static bool has(const json_t *list, const json_t *value)
{
    if (list == NULL)
        return true;
    MORTISE_JSON_EACH (one, i, list)
        if (json_equal(mortise_json_unconst(one), mortise_json_unconst(value)))
            return true;
    return false;
}

static bool is_at_its_place(const json_t *body, const json_t *trace)
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

/* What a memory that rounds calls enough is enough. */
static bool is_strong_enough(const json_t *body, const json_t *trace)
{
    return json_number_value(json_object_get(trace, "strength")) >=
           json_number_value(json_object_get(body, "min_strength")) - 1e-6;
}

static bool is_asked_for(const json_t *body, const json_t *trace)
{
    return is_at_its_place(body, trace) && is_strong_enough(body, trace) &&
           has(json_object_get(body, "types"),
               json_object_get(trace, "type")) &&
           has(json_object_get(body, "ids"), json_object_get(trace, "id"));
}

/* No id twice. */
static int judge_ids(const json_t *list, struct mortise_err *err)
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

static int judge_found(const json_t *body, const json_t *answer,
                       struct mortise_err *err)
{
    const json_t *list = json_object_get(answer, "traces");
    int rv = check_members(found_members, answer, err);

    if (rv == MORTISE_OK)
        rv = check_each(list, "traces", check_found, err);
    if (rv == MORTISE_OK &&
        (json_int_t)json_array_size(list) >
            json_integer_value(json_object_get(body, "max_traces")))
        rv = mortise_fail(err, MORTISE_EINVAL,
                          "the answer has more traces than requested");
    MORTISE_JSON_EACH (one, i, list)
        if (rv == MORTISE_OK && !is_asked_for(body, one))
            rv =
                mortise_fail(err, MORTISE_EINVAL,
                             "at /traces/%zu: this trace was not requested", i);
    return rv == MORTISE_OK ? judge_ids(list, err) : rv;
}

int mortise_traces_judge(const struct mortise_call_kind *kind,
                         const json_t *body, const json_t *answer,
                         struct mortise_err *err)
{
    if (kind == &mortise_call_recall)
        return judge_found(body, answer, err);
    return check_members(kind == &mortise_call_remember ? written_members
                                                        : forgotten_members,
                         answer, err);
}
