/* text.c -- lines of text cut, searched, counted, ranked and compared; texts
 * taken apart and put together; templates.
 *
 * Operations (a line ends at \n, a \r before it does not count; the last one
 * needs no end)
 *   lines     {text, from?, count?}             -> {lines, total}
 *             `count` lines (100, at most 100,000) from line `from` (1) on;
 *             total: how many there are.
 *   grep      {text, pattern, ignore_case?, max?} -> {count, lines, matches}
 *             count: lines that match; matches: the first `max` (100, at most
 *             10,000) as {line, text}.
 *   count     {text, patterns, ignore_case?}    -> {lines, counts}
 *             patterns: {name: pattern}, at most 64; counts: {name: how many
 *             lines match}.  One pass over the text for all of them.
 *   top       {text | lines, pattern, ignore_case?, n?}
 *                                               -> {total, distinct, top}
 *             pattern has one group; its content in each matching line is
 *             counted.  top: the n (10, at most 1,000) most frequent as
 *             {value, count}, equals in the order of their bytes.  `lines`: a
 *             list of strings in place of a text.
 *   template  {template, values}                -> {text}
 *             {{name}}          the value; a.b reaches into objects.  Strings
 *                               and numbers as they are, null is nothing,
 *                               objects and lists are JSON.  A name that has
 *                               no value is an error.
 *             {{.}}             the current element
 *             {{#name}}..{{/name}}  for each element of a list; for an object
 *                               once, with it as the context; for anything
 *                               else once.  Not at all for what is absent,
 *                               null, false, 0, "" or an empty list.
 *             {{^name}}..{{/name}}  exactly when the # form does nothing
 *             {{! words}}       nothing
 *             Names are looked up in the innermost context that has them.  A
 *             #, ^, / or ! tag alone on its line takes the whole line away.
 *             Nothing is escaped.  {{ always opens a tag.
 *
 *   split     {text, separator | pattern, max?} -> {parts, count}
 *             What stands between separators (never empty), or matches of a
 *             pattern that are not empty.  At most `max` parts (100,000); the
 *             last one holds the rest.
 *   join      {parts, separator?}               -> {text}
 *             Strings, numbers, true and false, with `separator` ("") between.
 *   hash      {text, algorithm?}                -> {hex, bytes}
 *             Of the text's UTF-8: sha256 (the default), sha512, blake2b-256.
 *   diff      {old, new, context?}              -> {equal, removed, added,
 *                                                   unified}
 *             Lines with `context` (3, at most 1,000) around them, in the form
 *             of `diff -u`, which `patch` applies; at most a million lines.
 *
 * Patterns are PCRE2 (UTF), matched line by line, at most 4,096 bytes; \w, \d
 * and \b know ASCII only (\p{L} is any letter).
 * Texts in results are cut at 2,000 bytes, and then end in U+2026.
 *
 * Error codes
 *   invalid  bad_pattern  limit  bad_template  no_value  too_large
 *   timeout  no_memory*  cancelled                     (* transient)
 *
 * Config: none.
 *
 * A node that uses it
 *   errors:
 *     type: tool
 *     tool: text/grep
 *     args: {text: "${scratch.log}", pattern: '\b(error|failed)\b',
 *            ignore_case: true, max: 5}
 *
 * What it promises: every operation is a function of its arguments alone
 * (`pure`), and ends: regex.h bounds the patterns, and the whole call has ten
 * seconds (REGEX_SECONDS), after which it fails with `timeout`.  That is why
 * the manifest says `blocking` though nothing here ever waits: megabytes of
 * log are too much work for the engine's own thread.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../nomem.h"
#include "text.h"

/* ---- saying no --------------------------------------------------------- */

const struct reason text_invalid = {"invalid", "permanent", MORTISE_S_INVALID};
const struct reason text_bad_pattern = {"bad_pattern", "permanent",
                                        MORTISE_S_INVALID};
const struct reason text_bad_template = {"bad_template", "permanent",
                                         MORTISE_S_INVALID};
const struct reason text_no_value = {"no_value", "permanent",
                                     MORTISE_S_NOTFOUND};
const struct reason text_limit = {"limit", "permanent", MORTISE_S_FAILED};
const struct reason text_too_large = {"too_large", "permanent",
                                      MORTISE_S_INVALID};
const struct reason text_timeout = {"timeout", "timeout", MORTISE_S_FAILED};
static const struct reason no_memory = {"no_memory", "transient",
                                        MORTISE_S_NOMEM};
const struct reason text_cancelled = {"cancelled", "cancelled",
                                      MORTISE_S_CANCELLED};
const struct reason text_unsupported = {"unsupported", "permanent",
                                        MORTISE_S_UNSUPPORTED};

__attribute__((format(printf, 3, 4))) mortise_status
text_no(const struct job *j, const struct reason *r, const char *fmt, ...)
{
    char msg[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    /* never half a character, where a name was too long for the sentence */
    msg[mortise_str_utf8(mortise_strz(msg))] = '\0';
    return mortise_refuse(j->inst->host, j->inst->api, j->call, r->status,
                          r->klass, r->code, msg);
}

mortise_status text_no_mem(const struct job *j)
{
    return text_no(j, &no_memory, "out of memory");
}

/* Why matching ended early. */
mortise_status text_no_result(const struct job *j, enum regex_result why)
{
    switch (why) {
    case REGEX_CANCELLED:
        return text_no(j, &text_cancelled, "cancelled");
    case REGEX_TIME:
        return text_no(j, &text_timeout,
                       "the operation did not finish within %d seconds or "
                       "before the deadline",
                       REGEX_SECONDS);
    case REGEX_NOMEM:
        return text_no_mem(j);
    default:
        return text_no(j, &text_limit,
                       "a pattern needs too many steps on a line; simplify it, "
                       "for example remove repeats inside repeats");
    }
}

/* ---- arguments --------------------------------------------------------- */

mortise_status text_string(const struct job *j, const char *what, mortise_jv v,
                           char **room, mortise_str *out)
{
    mortise_status status = mortise_jv_text(v, NULL, 0, out);

    if (status == MORTISE_S_NOMEM) {
        *room = malloc(v.n);
        if (*room == NULL)
            return text_no_mem(j);
        status = mortise_jv_text(v, *room, v.n, out);
    }
    if (status != MORTISE_S_OK)
        return text_no(j, &text_invalid, "%s must be a string", what);
    return MORTISE_S_OK;
}

mortise_status text_number(const struct job *j, const char *name, int64_t min,
                           int64_t max, int64_t *out)
{
    mortise_jv v = mortise_jv_get(j->body, name);

    if (v.n == 0)
        return MORTISE_S_OK;
    if (mortise_jv_int(v, out) != MORTISE_S_OK || *out < min || *out > max)
        return text_no(j, &text_invalid,
                       "%s must be a whole number from %lld to %lld", name,
                       (long long)min, (long long)max);
    return MORTISE_S_OK;
}

mortise_status text_pattern(const struct job *j, const char *name, mortise_jv v,
                            pcre2_code **out)
{
    mortise_jv fold = mortise_jv_get(j->body, "ignore_case");
    char room[REGEX_PATTERN], why[256];
    mortise_str text;
    int32_t yes = 0;

    if (fold.n > 0 && mortise_jv_bool(fold, &yes) != MORTISE_S_OK)
        return text_no(j, &text_invalid, "ignore_case must be true or false");
    switch (mortise_jv_text(v, room, sizeof room, &text)) {
    case MORTISE_S_OK:
        break;
    case MORTISE_S_NOMEM:
        return text_no(j, &text_bad_pattern, "%s: it must have 1 to %d bytes",
                       name, REGEX_PATTERN);
    default:
        return text_no(j, &text_invalid, "%s must be a string", name);
    }
    if (regex_compile(out, text, yes ? PCRE2_CASELESS : 0, why, sizeof why))
        return MORTISE_S_OK;
    return text_no(j, &text_bad_pattern, "%s: %s", name, why);
}

/* ---- results ----------------------------------------------------------- */

mortise_jw *text_begin(struct job *j)
{
    mortise_emitter_init(&j->out, j->inst->host, j->inst->api, j->call, j->room,
                         sizeof j->room);
    mortise_jw_object(&j->out.w);
    return &j->out.w;
}

mortise_status text_finish(struct job *j)
{
    mortise_jw_end(&j->out.w);
    return mortise_emitter_finish(&j->out);
}

void text_put_number(mortise_jw *w, const char *name, uint64_t v)
{
    mortise_jw_key(w, name);
    mortise_jw_int(w, (int64_t)v);
}

/* ---- the interface ----------------------------------------------------- */

static mortise_status dispatch(struct job *j, mortise_str operation)
{
    static const struct {
        const char *name;
        mortise_status (*run)(struct job *);
    } operations[] = {{"lines", text_lines},       {"grep", text_grep},
                      {"count", text_count},       {"top", text_top},
                      {"template", text_template}, {"split", text_split},
                      {"join", text_join},         {"hash", text_hash},
                      {"diff", text_diff}};

    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (mortise_str_is(operation, operations[i].name))
            return operations[i].run(j);
    return text_no(j, &text_unsupported,
                   "the plugin text has no such operation");
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    struct job j;
    mortise_status status;

    j.inst = i;
    j.call = r->call;
    if (mortise_jv_parse(r->body, &j.body) != MORTISE_S_OK)
        return text_no(&j, &text_invalid, "the arguments are not JSON");
    if (!regex_init(&j.run, i->host, i->api, r))
        return text_no_mem(&j);
    status = dispatch(&j, r->operation);
    regex_finish(&j.run);
    return status;
}

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    (void)config; /* the schema lets nothing in */
    *out = malloc(sizeof **out);
    if (*out == NULL)
        return nomem(host, api, 0);
    (*out)->host = host;
    (*out)->api = api;
    return MORTISE_S_OK;
}

static void destroy(mortise_inst *i)
{
    free(i);
}

static const mortise_executor executor = {.size = sizeof executor,
                                          .execute = execute};

static const void *get_interface(mortise_inst *i, const char *id)
{
    (void)i;
    return strcmp(id, MORTISE_EXECUTOR_1) == 0 ? &executor : NULL;
}

static const mortise_plugin plugin = {
    .size = sizeof plugin,
    .id = "text",
    .version = "0.1.0",
    .create = create,
    .get_interface = get_interface,
    .destroy = destroy,
};

MORTISE_MODULE_OF(plugin);
