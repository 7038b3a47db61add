/* limits.c -- a payload has bounds: how large it is, what it is written in,
 * where its links lead.
 *
 * Config (of the deployment; at least one)
 *   bytes    N        of the payload as JSON
 *   depth    N        of arrays and objects in each other; a text has none
 *   members  N        of objects and elements of arrays, all together
 *   tokens   N        that a model would make of its texts, about (below)
 *   scripts  [names]  in which its texts are written, as Unicode calls them:
 *                     Latin, Cyrillic, Han ...; what all scripts share (digits,
 *                     signs, emoji) is always let pass
 *   hosts    [names]  to which its links may lead: example.com, or
 *                     *.example.com for all below it; [] for none at all
 *
 * A guardrail of a deployment
 *   guardrails:
 *     small: {plugin: limits, config: {bytes: 100000, tokens: 8000,
 *             scripts: [Latin], hosts: [example.com, "*.example.com"]}}
 *
 * What it promises:
 *
 *   (1) All bounds are looked at, the cheap ones first; the reason names the
 *       first that does not hold, and what was found, in numbers.
 *   (2) A link is what begins with a scheme and ://, or is what browsers take
 *       for that (http:/\example.com), or //host or www.host at the beginning
 *       of a word, tabs and ends of lines behind the slashes or not.  Its host
 *       is what stands before the first of / \ ? # and behind the last @,
 *       without the full stop or bracket that a text has behind a link.  Where
 *       programs disagree about the host, the link leads nowhere that is
 *       allowed: a backslash and an @ in one authority, a comma in a host, and
 *       in quotes a tab or an end of line behind which the host would go on
 *       (browsers take these out).  data: and javascript: lead nowhere either.
 *   (3) Links that lead elsewhere can be masked, [link], and then that is
 *       offered as replacement.  Nothing else can.
 *   (4) Tokens are reckoned, not counted, for each model counts in its own way:
 *       a word of ASCII letters and digits has one for every four of its
 *       characters, begun ones included, every other sign of ASCII but the
 *       blank is one, and so is every character beyond.  That is about what
 *       common tokenizers make of English and of source, and more than they
 *       make of most other languages: a bound errs towards refusing.
 *   (5) It fails closed, as payload.h says, and takes time in proportion to the
 *       payload.
 *
 * Rules do not change after create(), so any number of checks may run at once.
 */
#include <stdarg.h>

#include "../../ascii.h"
#include "../../create.h"
#include "../../nomem.h"
#include "../../payload.h"
#include "../../regex.h"

enum {
    MAX_SCRIPTS = 32,
    MAX_SCRIPT = 32, /* with its NUL */
    MAX_HOSTS = 256,
    MAX_HOST = 254 /* with its NUL */
};

/* What is counted of a payload, and bounded. */
enum count { BYTES, DEPTH, MEMBERS, TOKENS, N_COUNTS };

static const char *const count_names[N_COUNTS] = {"bytes", "depth", "members",
                                                  "tokens"};

struct mortise_inst {
    mortise_host *host; /* lent until destroy(), as is the table */
    const mortise_host_api *api;
    uint64_t most[N_COUNTS];
    bool bounded[N_COUNTS];
    pcre2_code *foreign; /* a character of no script that is listed; or NULL */
    bool has_hosts;
    char hosts[MAX_HOSTS][MAX_HOST]; /* in lower case; ".x.y": all below x.y */
    size_t n_hosts;
};

/* ---- counting ------------------------------------------------------------ */

/* (4), of the content of a string. */
static uint64_t tokens_of(mortise_str s)
{
    uint64_t n = 0, word = 0;

    for (uint64_t i = 0; i < s.n; i++) {
        const unsigned char c = (unsigned char)s.p[i];

        if (ascii_alnum(c)) {
            n += word++ % 4 == 0;
            continue;
        }
        word = 0;
        n += c > ' ' && (c & 0xC0) != 0x80;
    }
    return n;
}

struct counting {
    uint64_t n[N_COUNTS];
    struct bytes text;
    bool nomem;
};

static void count_string(struct counting *c, mortise_jv v)
{
    c->text.n = 0;
    if (bytes_decode(&c->text, v) == MORTISE_S_NOMEM)
        c->nomem = true;
    else
        c->n[TOKENS] += tokens_of(bytes_str(&c->text));
}

/* The recursion is as deep as v, which json.h bounds. */
static void count_value(struct counting *c, mortise_jv v, uint64_t depth)
{
    const int32_t type = mortise_jv_type(v);
    mortise_jv_iter it = mortise_jv_each(v);
    mortise_jv name, one;

    if (type == MORTISE_JV_STRING)
        count_string(c, v);
    if (type != MORTISE_JV_OBJECT && type != MORTISE_JV_ARRAY)
        return;
    if (++depth > c->n[DEPTH])
        c->n[DEPTH] = depth;
    while (!c->nomem && mortise_jv_next(&it, &name, &one)) {
        c->n[MEMBERS]++;
        if (name.n > 0)
            count_string(c, name);
        count_value(c, one, depth);
    }
}

/* ---- links --------------------------------------------------------------- */

struct link {
    uint64_t from, to; /* bytes of the text */
    mortise_str host;  /* none: it has none */
    bool doubtful;     /* (2) */
};

static unsigned char at_of(mortise_str s, uint64_t i)
{
    return i < s.n ? (unsigned char)s.p[i] : '\0';
}

/* What ends a link in a text. */
static bool ends_link(unsigned char c)
{
    return c <= ' ' || strchr("\"'<>`{}|^", c) != NULL;
}

/* What ends a host for every program; commas, brackets and quotes do not for
 * some, and so must not here. */
static bool ends_host(unsigned char c)
{
    return c <= ' ' || strchr("\"<>/\\?#[]|^:", c) != NULL;
}

/* What text has behind a link. */
static bool is_of_host(unsigned char c)
{
    return ascii_alnum(c) || c == '-' || c == '_' || c == '%' || c >= 0x80;
}

static bool is_taken_out(unsigned char c)
{
    return c == '\t' || c == '\n' || c == '\r';
}

static bool is_slash(unsigned char c)
{
    return c == '/' || c == '\\';
}

/* Behind a quote or <, blanks or not: so it is the value of an attribute, which
 * ends with the quote and not with a blank. */
static bool is_quoted(mortise_str s, uint64_t at)
{
    while (at > 0 && (unsigned char)s.p[at - 1] <= ' ')
        at--;
    return at > 0 && strchr("\"'<", s.p[at - 1]) != NULL;
}

/* Would the authority of the link that ends at `to` go on, without the tabs and
 * ends of lines there? */
static bool goes_on(mortise_str s, const struct link *l, uint64_t to)
{
    const uint64_t end = to;

    while (is_taken_out(at_of(s, to)))
        to++;
    return to > end && !ends_link(at_of(s, to)) &&
           strchr("/\\?#", at_of(s, to)) == NULL && is_quoted(s, l->from);
}

/* The authority at `at`, up to where it surely ends. */
static void read_authority(mortise_str s, uint64_t at, struct link *l)
{
    uint64_t to = at, host = at, end;
    bool back = false;

    /* an address of IPv6 has brackets; a user may have anything */
    while (!ends_link(at_of(s, to)) && strchr("/?#", at_of(s, to)) == NULL) {
        back |= s.p[to] == '\\';
        if (s.p[to] == '@')
            host = to + 1;
        to++;
    }
    l->doubtful = (back && host > at) || goes_on(s, l, to);
    end = host;
    if (at_of(s, end) == '[')
        while (end < to && s.p[end] != ']')
            end++;
    else
        while (end < s.n && !ends_host(at_of(s, end)))
            end++;
    end += at_of(s, end) == ']';
    l->host = mortise_strn(s.p + host, end - host);
    while (l->host.n > 0 && l->host.p[l->host.n - 1] != ']' &&
           !is_of_host((unsigned char)l->host.p[l->host.n - 1]))
        l->host.n--;
    l->to = host + l->host.n;
    while (!ends_link(at_of(s, l->to)))
        l->to++;
}

/* Schemes that browsers read without their slashes. */
static const char *const special[] = {
    "https:", "http:", "wss:", "ws:", "ftp:", NULL};
/* What carries its own content, or runs. */
static const char *const rootless[] = {
    "javascript:", "vbscript:", "data:", NULL};

/* Behind the scheme at `at`; 0: none of these begins there. */
static uint64_t behind(mortise_str s, uint64_t at, const char *const *schemes)
{
    for (; *schemes != NULL; schemes++)
        if (ascii_begins(s, at, *schemes))
            return at + strlen(*schemes);
    return 0;
}

static bool is_rootless(mortise_str s, uint64_t at, struct link *l)
{
    const uint64_t to = behind(s, at, rootless);

    if (to == 0 || ends_link(at_of(s, to)))
        return false;
    l->to = to;
    while (!ends_link(at_of(s, l->to)))
        l->to++;
    return true;
}

/* Slashes, however many, and among and behind them tabs and ends of lines, which
 * programs take out of a link before they read it. */
struct gap {
    uint64_t to;
    unsigned slashes;
    bool is_plain; /* there are none of those */
};

static struct gap read_gap(mortise_str s, uint64_t at)
{
    struct gap g = {at, 0, true};

    for (; is_slash(at_of(s, g.to)) || is_taken_out(at_of(s, g.to)); g.to++) {
        g.slashes += is_slash(at_of(s, g.to));
        g.is_plain &= is_slash(at_of(s, g.to));
    }
    return g;
}

/* Does a text that has such signs in it go on with a host, rather than with
 * another word? */
static bool has_dot(mortise_str s, uint64_t at)
{
    while (is_of_host(at_of(s, at)))
        at++;
    return at_of(s, at) == '.' && is_of_host(at_of(s, at + 1));
}

/* scheme:// of any scheme; 0: none begins there. */
static uint64_t behind_scheme(mortise_str s, uint64_t at)
{
    uint64_t to = at;

    while (to - at < 32 && to < s.n &&
           (ascii_alnum(s.p[to]) || strchr("+.-", s.p[to]) != NULL))
        to++;
    return ascii_alnum(at_of(s, at)) && ascii_begins(s, to, "://") ? to + 3 : 0;
}

static bool is_before_host(mortise_str s, const struct gap *g)
{
    return g->is_plain ? ascii_alnum(at_of(s, g->to)) : has_dot(s, g->to);
}

/* Does an authority follow what is at a word's beginning?  *out is where.  What
 * is before *seen was looked at from the first slash there. */
static bool find_authority(mortise_str s, uint64_t at, uint64_t *seen,
                           uint64_t *out)
{
    const uint64_t scheme = behind(s, at, special);
    struct gap g;

    if (scheme == 0 && is_slash((unsigned char)s.p[at]) && at < *seen)
        return false;
    if (scheme > 0 || is_slash((unsigned char)s.p[at])) {
        g = read_gap(s, scheme > 0 ? scheme : at);
        *out = *seen = g.to;
        if (scheme > 0)
            return g.slashes > 0 || is_before_host(s, &g);
        return g.slashes >= 2 &&
               (is_before_host(s, &g) || at_of(s, g.to) == '[');
    }
    *out = at;
    if (ascii_begins(s, at, "www.") && ascii_alnum(at_of(s, at + 4)))
        return true;
    *out = behind_scheme(s, at);
    while (*out > 0 && is_taken_out(at_of(s, *out)))
        ++*out;
    return *out > 0;
}

/* The next link at or behind `at`; words begin behind what is of none. */
static bool next_link(mortise_str s, uint64_t at, struct link *l)
{
    uint64_t authority, seen = 0;

    for (; at < s.n; at++) {
        if (at > 0 && ascii_alnum(s.p[at - 1]))
            continue;
        *l = (struct link){.from = at};
        if (is_rootless(s, at, l))
            return true;
        if (!find_authority(s, at, &seen, &authority))
            continue;
        read_authority(s, authority, l);
        if (l->host.n > 0 || l->to > authority)
            return true;
    }
    return false;
}

static bool is_allowed(const struct mortise_inst *i, const struct link *l)
{
    char host[MAX_HOST];

    if (l->doubtful || l->host.n == 0 || l->host.n >= sizeof host)
        return false;
    for (uint64_t k = 0; k < l->host.n; k++)
        host[k] = ascii_lower(l->host.p[k]);
    host[l->host.n] = '\0';
    for (size_t k = 0; k < i->n_hosts; k++) {
        const char *name = i->hosts[k];
        const size_t n = strlen(name);

        if (name[0] != '.'
                ? strcmp(host, name) == 0
                : l->host.n > n && strcmp(host + l->host.n - n, name) == 0)
            return true;
    }
    return false;
}

/* The next one that leads elsewhere. */
static bool next_astray(const struct mortise_inst *i, mortise_str s,
                        uint64_t at, struct link *l)
{
    while (next_link(s, at, l)) {
        if (!is_allowed(i, l))
            return true;
        at = l->to > l->from ? l->to : l->from + 1;
    }
    return false;
}

/* ---- texts (payload.h) --------------------------------------------------- */

struct judge {
    const struct mortise_inst *inst;
    struct regex_run run;
    struct bytes masked;
};

static enum payload_result look_script(struct judge *j, mortise_str text,
                                       char what[PAYLOAD_WHAT])
{
    switch (regex_match(&j->run, j->inst->foreign, text, 0, PCRE2_NOTEMPTY)) {
    case REGEX_NONE:
        return PAYLOAD_CLEAN;
    case REGEX_FOUND:
        snprintf(what, PAYLOAD_WHAT, "a character of another script");
        return PAYLOAD_FOUND;
    case REGEX_CANCELLED:
        return PAYLOAD_CANCELLED;
    case REGEX_NOMEM:
        return PAYLOAD_NOMEM;
    case REGEX_TIME:
        snprintf(what, PAYLOAD_WHAT, "a text");
        return PAYLOAD_TIME;
    case REGEX_LIMIT:
        break;
    }
    snprintf(what, PAYLOAD_WHAT, "a text");
    return PAYLOAD_LIMIT;
}

static enum payload_result look(void *ud, mortise_str member, mortise_str text,
                                char what[PAYLOAD_WHAT])
{
    struct judge *j = ud;
    enum payload_result result = PAYLOAD_CLEAN;
    struct link l;

    (void)member;
    if (j->inst->foreign != NULL)
        result = look_script(j, text, what);
    if (result != PAYLOAD_CLEAN || !j->inst->has_hosts ||
        !next_astray(j->inst, text, 0, &l))
        return result;
    snprintf(what, PAYLOAD_WHAT, "a link to another host");
    return PAYLOAD_FOUND;
}

/* (3); a text in another script stays one. */
static bool mask(void *ud, mortise_str member, mortise_str *text, bool *changed)
{
    struct judge *j = ud;
    char what[PAYLOAD_WHAT];
    uint64_t at = 0;
    struct link l;

    (void)member;
    *changed = false;
    if (j->inst->foreign != NULL && look_script(j, *text, what) != 0)
        return false;
    j->masked.n = 0;
    while (j->inst->has_hosts && next_astray(j->inst, *text, at, &l)) {
        if (bytes_put(&j->masked, mortise_strn(text->p + at, l.from - at)) !=
                MORTISE_S_OK ||
            bytes_put(&j->masked, mortise_strz("[link]")) != MORTISE_S_OK)
            return false;
        at = l.to;
        *changed = true;
    }
    if (!*changed)
        return true;
    if (bytes_put(&j->masked, mortise_strn(text->p + at, text->n - at)) !=
        MORTISE_S_OK)
        return false;
    *text = bytes_str(&j->masked);
    return !next_astray(j->inst, *text, 0, &l);
}

/* ---- the check ----------------------------------------------------------- */

/* The first bound that does not hold. */
static bool is_beyond(const struct mortise_inst *i, const struct counting *c,
                      char *reason, size_t size)
{
    for (size_t k = 0; k < N_COUNTS; k++)
        if (i->bounded[k] && c->n[k] > i->most[k]) {
            snprintf(reason, size, "%s: %llu, but the limit is %llu",
                     count_names[k], (unsigned long long)c->n[k],
                     (unsigned long long)i->most[k]);
            return true;
        }
    return false;
}

static mortise_status check_texts(mortise_inst *i, const mortise_request *r)
{
    static const struct payload_rules rules = {look, mask, "is at",
                                               "is in the name of a member:"};
    struct judge j = {.inst = i};
    mortise_status status;

    if (!regex_init(&j.run, i->host, i->api, r))
        return nomem(i->host, i->api, r->call);
    status = payload_check(i->host, i->api, r, &rules, &j);
    regex_finish(&j.run);
    bytes_free(&j.masked);
    return status;
}

static mortise_status check(mortise_inst *i, uint32_t stage,
                            const mortise_request *r)
{
    struct counting c = {.n = {[BYTES] = r->body.n}};
    char reason[160];
    mortise_jv payload;

    (void)stage; /* a bound is one everywhere */
    if (mortise_jv_parse(r->body, &payload) != MORTISE_S_OK)
        return mortise_refuse(i->host, i->api, r->call, MORTISE_S_INVALID,
                              "permanent", "invalid",
                              "the payload is not JSON");
    if (!is_beyond(i, &c, reason, sizeof reason))
        count_value(&c, payload, 0);
    bytes_free(&c.text);
    if (c.nomem)
        return nomem(i->host, i->api, r->call);
    if (is_beyond(i, &c, reason, sizeof reason))
        return mortise_emit_verdict(i->host, i->api, r->call, 1, reason);
    return check_texts(i, r);
}

/* ---- the instance -------------------------------------------------------- */

static void destroy(mortise_inst *i)
{
    pcre2_code_free(i->foreign);
    free(i);
}

__attribute__((format(printf, 2, 3))) static mortise_status
no_config(const struct mortise_inst *i, const char *fmt, ...)
{
    char msg[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    return create_refuse(i->host, i->api, msg);
}

static mortise_status read_counts(struct mortise_inst *i, mortise_jv config)
{
    for (size_t k = 0; k < N_COUNTS; k++) {
        mortise_jv v = mortise_jv_get(config, count_names[k]);
        int64_t n = -1;

        if (v.n == 0)
            continue;
        if (mortise_jv_int(v, &n) != MORTISE_S_OK || n < 0)
            return no_config(i, "%s must be a number, at least 0",
                             count_names[k]);
        i->most[k] = (uint64_t)n;
        i->bounded[k] = true;
    }
    return MORTISE_S_OK;
}

/* A script's name is letters: nothing else gets into a pattern. */
static bool is_script(const char *name)
{
    size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                            "abcdefghijklmnopqrstuvwxyz_");

    return n > 0 && name[n] == '\0';
}

static mortise_status read_scripts(struct mortise_inst *i, mortise_jv list)
{
    char pattern[(MAX_SCRIPTS + 2) * (MAX_SCRIPT + 8)], why[256];
    mortise_jv_iter it = mortise_jv_each(list);
    char *to = stpcpy(pattern, "[^\\p{Common}\\p{Inherited}");
    size_t n = 0;
    mortise_jv v;

    if (list.n == 0)
        return MORTISE_S_OK;
    while (mortise_jv_next(&it, NULL, &v)) {
        char name[MAX_SCRIPT];

        if (n++ == MAX_SCRIPTS)
            return no_config(i, "scripts has more than %d names", MAX_SCRIPTS);
        if (mortise_jv_cstr(v, name, sizeof name) != MORTISE_S_OK ||
            !is_script(name))
            return no_config(i, "scripts must list Unicode names of scripts: "
                                "Latin, Cyrillic, Han");
        to += sprintf(to, "\\p{%s}", name);
    }
    if (n == 0)
        return no_config(
            i, "scripts is empty, so the guardrail would reject every text");
    strcpy(to, "]");
    if (!regex_compile(&i->foreign, mortise_strz(pattern), 0, why, sizeof why))
        return no_config(i, "scripts has an unknown script: %s", why);
    return MORTISE_S_OK;
}

static bool read_host(struct mortise_inst *i, mortise_jv v)
{
    char text[MAX_HOST], *name = i->hosts[i->n_hosts];
    const char *from = text;

    if (mortise_jv_cstr(v, text, sizeof text) != MORTISE_S_OK)
        return false;
    from += text[0] == '*' && text[1] == '.'; /* a dot ahead: all below */
    if (from[0] == '\0' || (from == text && text[0] == '.') ||
        from[strcspn(from, "/@ *?#\\")] != '\0')
        return false;
    for (; *from != '\0'; from++)
        *name++ = ascii_lower(*from);
    *name = '\0';
    return i->hosts[i->n_hosts][1] != '\0' || i->hosts[i->n_hosts][0] != '.';
}

static mortise_status read_hosts(struct mortise_inst *i, mortise_jv list)
{
    mortise_jv_iter it = mortise_jv_each(list);
    mortise_jv v;

    i->has_hosts = list.n > 0;
    while (mortise_jv_next(&it, NULL, &v)) {
        if (i->n_hosts == MAX_HOSTS)
            return no_config(i, "hosts has more than %d names", MAX_HOSTS);
        if (!read_host(i, v))
            return no_config(i, "hosts must list host names: example.com, or "
                                "*.example.com for all hosts below it");
        i->n_hosts++;
    }
    return MORTISE_S_OK;
}

static mortise_status configure(mortise_inst *i, mortise_str config)
{
    mortise_status status;
    mortise_jv body;
    bool any;

    if (mortise_jv_parse(config, &body) != MORTISE_S_OK)
        return no_config(i, "the config is not JSON");
    status = read_counts(i, body);
    if (status == MORTISE_S_OK)
        status = read_scripts(i, mortise_jv_get(body, "scripts"));
    if (status == MORTISE_S_OK)
        status = read_hosts(i, mortise_jv_get(body, "hosts"));
    any = i->foreign != NULL || i->has_hosts;
    for (size_t k = 0; k < N_COUNTS; k++)
        any |= i->bounded[k];
    if (status == MORTISE_S_OK && !any)
        return no_config(
            i, "no limit is set, so the guardrail would check nothing; set "
               "bytes, depth, members, tokens, scripts or hosts");
    return status;
}

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    struct mortise_inst *i = calloc(1, sizeof *i);

    if (i != NULL) {
        i->host = host;
        i->api = api;
    }
    return create_configured(i, host, api, config, configure, destroy, out);
}

static const mortise_guardrail guardrail = {sizeof guardrail, 0, check};

static const void *get_interface(mortise_inst *i, const char *id)
{
    (void)i;
    return strcmp(id, MORTISE_GUARDRAIL_2) == 0 ? &guardrail : NULL;
}

static const mortise_plugin plugin = {
    .size = sizeof plugin,
    .id = "limits",
    .version = "0.1.0",
    .create = create,
    .get_interface = get_interface,
    .destroy = destroy,
};

MORTISE_MODULE_OF(plugin);
