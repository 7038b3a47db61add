/* payload.h -- the strings of a payload, searched and masked, for guardrails.
 *
 *     static const struct payload_rules rules = {look, mask, "stands at", ...};
 *
 *     status = payload_check(host, api, request, &rules, ud);
 *
 * Every string is looked at, the names of members included, numbers are not; of a
 * value, or an element of one, the rules are told which member it is of.
 * The verdict names the first finding and its place, never the text.  What it
 * promises whoever brings the rules:
 *
 *   (1) It fails closed.  What could not be looked at to the end is a violation
 *       without a replacement, and being cancelled or out of memory an error,
 *       which the engine takes for one.
 *   (2) A finding in the name of a member is a violation without a replacement:
 *       two masked names could become one, and a value be lost.
 *   (3) A replacement is the whole payload with every string masked, or it is
 *       not offered.
 *
 * Threads    No state but the check's own: as many at once as there are.
 */
#ifndef PLUGINS_PAYLOAD_H
#define PLUGINS_PAYLOAD_H

#include <stdbool.h>
#include <stdio.h>

#include <mortise/guardrail.h>

#include "nomem.h"
#include "bytes.h"

enum {
    PAYLOAD_WHAT = 80,        /* bytes for what was found, with its NUL */
    PAYLOAD_PATH = 256,       /* of a place in a reason */
    PAYLOAD_REASON = 512,     /* of a reason */
    PAYLOAD_MASKED = 64 << 20 /* of a string that is masked */
};

enum payload_result {
    PAYLOAD_CLEAN,
    PAYLOAD_FOUND,
    PAYLOAD_LIMIT, /* too many steps */
    PAYLOAD_TIME,
    PAYLOAD_CANCELLED,
    PAYLOAD_NOMEM
};

struct payload_rules {
    /* Is there something in the text, which the member of that name has ("": none
     * has it)?  `what` gets the words for the first thing, or for what could not
     * be told: "a card number". */
    enum payload_result (*look)(void *ud, mortise_str member, mortise_str text,
                                char what[PAYLOAD_WHAT]);
    /* Point *text to what it is without that, lent until the next call, and say
     * whether it is another one; false when there is no such text. */
    bool (*mask)(void *ud, mortise_str member, mortise_str *text,
                 bool *changed);
    const char *at;      /* behind what was found: "stands at" */
    const char *in_name; /* "stands in the name of a member:" */
};

/* One step of the way from the payload to the value at hand. */
struct payload_step {
    mortise_jv name; /* none: an element */
    uint64_t index;
};

struct payload {
    const struct payload_rules *rules;
    void *ud;
    struct payload_step way[MORTISE_JV_DEPTH];
    size_t depth;
    struct bytes text, member; /* of the string at hand, and whose it is */
    char reason[PAYLOAD_REASON];
    uint64_t found;           /* strings in which there is something */
    bool maskable;            /* all that was found can be masked */
    enum payload_result stop; /* PAYLOAD_CLEAN, or why no more is known */
};

/* The content of a string value; lent until the next one in that room. */
static inline bool payload_content_in(struct payload *p, struct bytes *room,
                                      mortise_jv v, mortise_str *out)
{
    if (mortise_jv_text(v, NULL, 0, out) == MORTISE_S_OK)
        return true;
    room->n = 0;
    if (bytes_room(room, v.n) == MORTISE_S_OK)
        return mortise_jv_text(v, room->p, room->cap, out) == MORTISE_S_OK;
    p->stop = PAYLOAD_NOMEM;
    return false;
}

static inline bool payload_content(struct payload *p, mortise_jv v,
                                   mortise_str *out)
{
    return payload_content_in(p, &p->text, v, out);
}

/* The name of the member that has it; none: "". */
static inline bool payload_member(struct payload *p, mortise_jv name,
                                  mortise_str *out)
{
    *out = mortise_strz("");
    return name.n == 0 || payload_content_in(p, &p->member, name, out);
}

/* ---- reasons ----------------------------------------------------------- */

/* Append to a text of PAYLOAD_PATH, cut at a character. */
static inline void payload_put_path(char *path, mortise_str s)
{
    size_t n = strlen(path), left = PAYLOAD_PATH - 1 - n;

    if (s.n > left)
        s.n = left;
    s.n = mortise_str_utf8(s);
    memcpy(path + n, s.p, s.n);
    path[n + s.n] = '\0';
}

/* A member's name as a JSON Pointer has it; a star for one that has something
 * in it, or that would not read well. */
static inline void payload_put_name(struct payload *p, char *path,
                                    mortise_jv name)
{
    char what[PAYLOAD_WHAT];
    mortise_str s;

    if (!payload_content(p, name, &s))
        return;
    for (uint64_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 || s.n > 64)
            s = mortise_strz("*");
    if (p->rules->look(p->ud, mortise_strz(""), s, what) != PAYLOAD_CLEAN)
        s = mortise_strz("*");
    for (uint64_t i = 0, n; i < s.n; i += n) {
        mortise_str rest = mortise_strn(s.p + i, s.n - i);

        n = 1;
        if (rest.p[0] == '~' || rest.p[0] == '/') {
            payload_put_path(path,
                             mortise_strz(rest.p[0] == '~' ? "~0" : "~1"));
            continue;
        }
        while (n < rest.n && rest.p[n] != '~' && rest.p[n] != '/')
            n++;
        payload_put_path(path, mortise_strn(rest.p, n));
    }
}

/* Where we are. */
static inline void payload_put_way(struct payload *p, char path[PAYLOAD_PATH])
{
    char number[24];

    strcpy(path, p->depth == 0 ? "the payload itself" : "");
    for (size_t i = 0; i < p->depth; i++) {
        payload_put_path(path, mortise_strz("/"));
        if (p->way[i].name.n > 0) {
            payload_put_name(p, path, p->way[i].name);
            continue;
        }
        snprintf(number, sizeof number, "%llu",
                 (unsigned long long)p->way[i].index);
        payload_put_path(path, mortise_strz(number));
    }
}

static inline const char *payload_verb(const struct payload *p,
                                       enum payload_result result, bool is_name)
{
    switch (result) {
    case PAYLOAD_FOUND:
        return is_name ? p->rules->in_name : p->rules->at;
    case PAYLOAD_TIME:
        return "could not be checked in time at";
    default:
        return "takes too many steps to be checked at";
    }
}

/* Remember a finding; the first one gets words. */
static inline void payload_note(struct payload *p, const char *what,
                                enum payload_result result, bool is_name)
{
    char path[PAYLOAD_PATH];

    if (is_name)
        p->maskable = false;
    if (result != PAYLOAD_FOUND)
        p->stop = result;
    if (result == PAYLOAD_CANCELLED || result == PAYLOAD_NOMEM)
        return;
    if (p->found++ > 0 && result == PAYLOAD_FOUND)
        return;
    payload_put_way(p, path);
    snprintf(p->reason, PAYLOAD_REASON, "%s %s %s", what,
             payload_verb(p, result, is_name), path);
}

/* ---- searching --------------------------------------------------------- */

static inline void payload_search_string(struct payload *p, mortise_jv member,
                                         mortise_jv v, bool is_name)
{
    char what[PAYLOAD_WHAT] = "";
    enum payload_result result;
    mortise_str s, of;

    if (!payload_member(p, member, &of) || !payload_content(p, v, &s))
        return;
    result = p->rules->look(p->ud, of, s, what);
    if (result != PAYLOAD_CLEAN)
        payload_note(p, what, result, is_name);
}

/* Every string of v, which that member has, in order; the recursion is as deep as
 * v, which json.h bounds. */
static inline void payload_search(struct payload *p, mortise_jv member,
                                  mortise_jv v)
{
    mortise_jv_iter it = mortise_jv_each(v);
    struct payload_step *step = &p->way[p->depth];
    mortise_jv name, one;

    if (mortise_jv_type(v) == MORTISE_JV_STRING) {
        payload_search_string(p, member, v, false);
        return;
    }
    if (p->depth == MORTISE_JV_DEPTH)
        return; /* a scalar: no array stands that deep */
    p->depth++;
    step->index = 0;
    while (p->stop == PAYLOAD_CLEAN && mortise_jv_next(&it, &name, &one)) {
        step->name = name;
        if (name.n > 0)
            payload_search_string(p, mortise_jv_none(), name, true);
        if (p->stop == PAYLOAD_CLEAN)
            payload_search(p, name.n > 0 ? name : member, one);
        step->index++;
    }
    p->depth--;
}

/* ---- masking ----------------------------------------------------------- */

static inline bool payload_write_string(struct payload *p, mortise_jw *w,
                                        mortise_jv member, mortise_jv v)
{
    bool changed = false;
    mortise_str s, of;

    if (!payload_member(p, member, &of) || !payload_content(p, v, &s) ||
        !p->rules->mask(p->ud, of, &s, &changed))
        return false;
    if (changed)
        mortise_jw_string(w, s);
    else
        mortise_jw_value(w, v);
    return true;
}

/* v, masked; names are as they were, for none was found in them (2). */
static inline bool payload_write(struct payload *p, mortise_jw *w,
                                 mortise_jv member, mortise_jv v)
{
    int32_t type = mortise_jv_type(v);
    mortise_jv_iter it = mortise_jv_each(v);
    mortise_jv name, one;
    mortise_str s;

    if (type == MORTISE_JV_STRING)
        return payload_write_string(p, w, member, v);
    if (type != MORTISE_JV_OBJECT && type != MORTISE_JV_ARRAY) {
        mortise_jw_value(w, v);
        return true;
    }
    if (type == MORTISE_JV_OBJECT)
        mortise_jw_object(w);
    else
        mortise_jw_array(w);
    while (mortise_jv_next(&it, &name, &one)) {
        if (type == MORTISE_JV_OBJECT) {
            if (!payload_content(p, name, &s))
                return false;
            mortise_jw_keyn(w, s);
        }
        if (!payload_write(p, w, name.n > 0 ? name : member, one))
            return false;
    }
    mortise_jw_end(w);
    return true;
}

/* Offer the masked payload: whole, or not at all (3). */
static inline void payload_offer(struct payload *p, mortise_host *host,
                                 const mortise_host_api *api, mortise_call call,
                                 mortise_jv payload)
{
    mortise_str text;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    if (payload_write(p, &w, mortise_jv_none(), payload) &&
        mortise_jw_finish(&w, &text) == MORTISE_S_OK)
        mortise_emit_output(host, api, call, text);
    free(w.p);
}

/* ---- the check --------------------------------------------------------- */

static inline mortise_status payload_decide(struct payload *p,
                                            mortise_host *host,
                                            const mortise_host_api *api,
                                            mortise_call call,
                                            mortise_jv payload)
{
    size_t n;

    payload_search(p, mortise_jv_none(), payload);
    if (p->stop == PAYLOAD_CANCELLED)
        return mortise_refuse(host, api, call, MORTISE_S_CANCELLED, "cancelled",
                              "cancelled", "cancelled");
    if (p->stop == PAYLOAD_NOMEM)
        return nomem(host, api, call);
    if (p->found == 0)
        return mortise_emit_verdict(host, api, call, 0, NULL);
    n = strlen(p->reason);
    if (p->found > 1)
        snprintf(p->reason + n, PAYLOAD_REASON - n, ", and %llu more",
                 (unsigned long long)p->found - 1);
    if (p->stop == PAYLOAD_CLEAN && p->maskable)
        payload_offer(p, host, api, call, payload);
    return mortise_emit_verdict(host, api, call, 1, p->reason);
}

/* What a guardrail's check() is: the verdict is emitted, and a replacement where
 * there is one. */
static inline mortise_status payload_check(mortise_host *host,
                                           const mortise_host_api *api,
                                           const mortise_request *r,
                                           const struct payload_rules *rules,
                                           void *ud)
{
    struct payload p = {.rules = rules, .ud = ud, .maskable = true};
    mortise_status status;
    mortise_jv payload;

    if (mortise_jv_parse(r->body, &payload) != MORTISE_S_OK)
        return mortise_refuse(host, api, r->call, MORTISE_S_INVALID,
                              "permanent", "invalid",
                              "the payload is not JSON");
    status = payload_decide(&p, host, api, r->call, payload);
    bytes_free(&p.text);
    bytes_free(&p.member);
    return status;
}

#endif
