/* found.c -- check and merge the answers of discovery plugins.
 *
 *   (1) An answer is accepted as a whole or not at all.  A plugin that returns
 *       an item which is not a candidate, too many items, or an item twice may
 *       be wrong about the rest as well.  So no item is offered that the
 *       request did not allow.
 *   (2) Several answers are merged by reciprocal rank: place p of a list counts
 *       1 / (60 + p).  An item that several plugins found ranks above the first
 *       choice of one plugin.  Ties keep the order of the plugins and of their
 *       lists, so the same answers always give the same list.
 *   (3) Texts are kept in this order within the token budget, at one token per
 *       started four bytes.  The first text that exceeds it is dropped, and all
 *       later ones.
 */
#include "core/engine/common/found.h"

#include <math.h>
#include <string.h>

#include <mortise/discovery.h>

#include "core/base/hash.h"

enum { RANK_DAMP = 60 }; /* k of reciprocal rank fusion; 60 is customary */

static const char *const kinds[] = {"tool", "skill", "extension", "node"};
static const char *const tiers[] = {"name", "summary", "full"};

static bool is_word_in_list(const char *word, const char *const *list, size_t n)
{
    for (size_t i = 0; word != NULL && i < n; i++)
        if (strcmp(word, list[i]) == 0)
            return true;
    return false;
}

bool mortise_found_is_kind(const char *word, bool or_any)
{
    return is_word_in_list(word, kinds, sizeof kinds / sizeof kinds[0]) ||
           (or_any && word != NULL && strcmp(word, "any") == 0);
}

static const char *get_text_member(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

/* ---- one answer ---------------------------------------------------------- */

/* Sets {kind: {id: true}}: of the candidates, or of the results so far. */
static bool is_in_found_set(const json_t *set, const char *kind, const char *id)
{
    return json_object_get(json_object_get(set, kind), id) != NULL;
}

static int add_to_found_set(json_t *set, const char *kind, const char *id)
{
    json_t *of = json_object_get(set, kind);

    if (of == NULL && (json_object_set_new(set, kind, json_object()) != 0 ||
                       (of = json_object_get(set, kind)) == NULL))
        return MORTISE_ENOMEM;
    return json_object_set_new(of, id, json_true()) == 0 ? MORTISE_OK
                                                         : MORTISE_ENOMEM;
}

static json_t *make_candidate_set(const json_t *request)
{
    json_t *set = json_object();

    MORTISE_JSON_EACH (one, i, json_object_get(request, "candidates")) {
        if (add_to_found_set(set, get_text_member(one, "kind"),
                             get_text_member(one, "id")) != MORTISE_OK) {
            json_decref(set);
            return NULL;
        }
    }
    return set;
}

/* A string of at most `most` bytes without NUL. */
static bool is_text_without_nul(const json_t *v, size_t most)
{
    return json_is_string(v) && json_string_length(v) <= most &&
           strlen(json_string_value(v)) == json_string_length(v);
}

static int check_result_text(const json_t *one, const char *id,
                             struct mortise_err *why)
{
    const json_t *text = json_object_get(one, "text");
    const char *tier = get_text_member(one, "tier");

    if ((text != NULL && !json_is_string(text)) ||
        (text != NULL) != (json_object_get(one, "tier") != NULL) ||
        (text != NULL &&
         !is_word_in_list(tier, tiers, sizeof tiers / sizeof tiers[0])))
        return mortise_fail(why, MORTISE_EINVAL,
                            "the result '%.200s' must have both 'text' and "
                            "'tier' (name, summary or full), or neither",
                            id);
    return MORTISE_OK;
}

static int check_found_result(const json_t *request, const json_t *known,
                              json_t *seen, const json_t *one,
                              struct mortise_err *why)
{
    const json_t *id = json_object_get(one, "id");
    const json_t *score = json_object_get(one, "score");
    const char *kind = get_text_member(one, "kind"),
               *wanted = get_text_member(request, "kind");
    const char *name = json_string_value(id);

    if (!is_text_without_nul(id, MORTISE_DISCOVERY_ID_MAX) ||
        json_string_length(id) == 0)
        return mortise_fail(why, MORTISE_EINVAL,
                            "the id of a result must have 1 to %d bytes",
                            MORTISE_DISCOVERY_ID_MAX);
    if (!mortise_found_is_kind(kind, false) ||
        (strcmp(wanted, "any") != 0 && strcmp(wanted, kind) != 0))
        return mortise_fail(
            why, MORTISE_EINVAL,
            "the kind of the result '%.200s' is not the requested kind (%s)",
            name, wanted);
    if (!json_is_number(score) || !isfinite(json_number_value(score)))
        return mortise_fail(why, MORTISE_EINVAL,
                            "the result '%.200s' has no numeric score", name);
    if (strcmp(kind, "skill") != 0 && !is_in_found_set(known, kind, name))
        return mortise_fail(
            why, MORTISE_EINVAL,
            "the result '%.200s' is not a %s among the candidates", name, kind);
    if (is_in_found_set(seen, kind, name))
        return mortise_fail(why, MORTISE_EINVAL, "'%.200s' occurs twice", name);
    return check_result_text(one, name, why);
}

static json_t *copy_known_members(const json_t *one)
{
    return json_pack(
        "{s:O, s:O, s:O, s:O*, s:O*}", "id", json_object_get(one, "id"), "kind",
        json_object_get(one, "kind"), "score", json_object_get(one, "score"),
        "text", json_object_get(one, "text"), "tier",
        json_object_get(one, "tier"));
}

static int check_found_results(json_t *out, const json_t *request,
                               const json_t *results, json_t *seen,
                               struct mortise_err *why)
{
    json_t *known = make_candidate_set(request);
    int rv = known != NULL ? MORTISE_OK : MORTISE_ENOMEM;

    MORTISE_JSON_EACH (one, i, results) {
        if (rv == MORTISE_OK)
            rv = check_found_result(request, known, seen, one, why);
        if (rv == MORTISE_OK)
            rv = add_to_found_set(seen, get_text_member(one, "kind"),
                                  get_text_member(one, "id"));
        if (rv == MORTISE_OK &&
            json_array_append_new(out, copy_known_members(one)) != 0)
            rv = MORTISE_ENOMEM;
    }
    json_decref(known);
    return rv;
}

int mortise_found_check(json_t **out, const json_t *request,
                        const json_t *output, struct mortise_err *why)
{
    const json_t *results = json_object_get(output, "results");
    json_int_t max = json_integer_value(json_object_get(request, "max"));
    json_t *seen, *list;
    int rv;

    *out = NULL;
    if (!json_is_array(results))
        return mortise_fail(
            why, MORTISE_EINVAL,
            "the answer of a discovery plugin must be {\"results\": [...]}");
    if ((json_int_t)json_array_size(results) > max)
        return mortise_fail(
            why, MORTISE_EINVAL,
            "%zu results were returned, but at most %lld were requested",
            json_array_size(results), (long long)max);
    seen = json_object();
    list = json_array();
    rv = seen != NULL && list != NULL
             ? check_found_results(list, request, results, seen, why)
             : MORTISE_ENOMEM;
    json_decref(seen);
    if (rv == MORTISE_OK)
        *out = list;
    else
        json_decref(list);
    return rv == MORTISE_ENOMEM ? mortise_nomem(why) : rv;
}

/* ---- pinned entries ------------------------------------------------------ */

static bool is_digest(const json_t *v)
{
    const char *text = json_string_value(v);

    return text != NULL && json_string_length(v) == MORTISE_DIGEST_HEX - 1 &&
           strspn(text, "0123456789abcdef") == MORTISE_DIGEST_HEX - 1;
}

static int check_found_entry(json_t *out, const json_t *one,
                             struct mortise_err *why)
{
    json_t *key = json_object_get(one, "key"),
           *digest = json_object_get(one, "digest"),
           *entry = json_object_get(one, "entry");
    const char *name = json_string_value(key);

    if (!is_text_without_nul(key, MORTISE_DISCOVERY_KEY_MAX) ||
        json_string_length(key) == 0)
        return mortise_fail(why, MORTISE_EINVAL,
                            "the key of an entry must have 1 to %d bytes",
                            MORTISE_DISCOVERY_KEY_MAX);
    if (!is_digest(digest) || entry == NULL)
        return mortise_fail(why, MORTISE_EINVAL,
                            "the entry '%.200s' must have a 'digest' of %d "
                            "hexadecimal digits and a value 'entry'",
                            name, MORTISE_DIGEST_HEX - 1);
    if (json_object_get(out, name) != NULL)
        return mortise_fail(why, MORTISE_EINVAL, "'%.200s' occurs twice", name);
    return json_object_set_new(
               out, name,
               json_pack("{s:O, s:O}", "digest", digest, "entry", entry)) == 0
               ? MORTISE_OK
               : mortise_nomem(why);
}

int mortise_found_check_entries(json_t **out, const json_t *output,
                                struct mortise_err *why)
{
    const json_t *entries = json_object_get(output, "entries");
    int rv = MORTISE_OK;

    *out = NULL;
    if (!json_is_array(entries))
        return mortise_fail(
            why, MORTISE_EINVAL,
            "the answer of a discovery plugin must be {\"entries\": [...]}");
    *out = json_object();
    if (*out == NULL)
        return mortise_nomem(why);
    MORTISE_JSON_EACH (one, i, entries) {
        if (rv == MORTISE_OK)
            rv = check_found_entry(*out, one, why);
    }
    if (rv != MORTISE_OK)
        mortise_json_clear_ref(out);
    return rv;
}

/* ---- several answers ----------------------------------------------------- */

/* The item of the list with the same id and kind, or NULL. */
static json_t *find_same_item(const json_t *list, const json_t *one)
{
    MORTISE_JSON_EACH (other, i, list)
        if (json_equal(json_object_get(one, "id"),
                       json_object_get(other, "id")) &&
            json_equal(json_object_get(one, "kind"),
                       json_object_get(other, "kind")))
            return mortise_json_unconst(other);
    return NULL;
}

static int copy_missing_text(json_t *to, const json_t *from)
{
    json_t *text = json_object_get(from, "text");

    if (text == NULL || json_object_get(to, "text") != NULL)
        return 0;
    return json_object_set(to, "text", text) |
           json_object_set(to, "tier", json_object_get(from, "tier"));
}

/* Add the item at this place of a list, counted from 1. */
static int add_rank(json_t *all, const json_t *one, size_t place)
{
    double worth = 1.0 / (double)(RANK_DAMP + place);
    json_t *there = find_same_item(all, one);

    if (there == NULL)
        return json_array_append_new(all,
                                     json_copy(mortise_json_unconst(one))) != 0
                   ? -1
                   : json_object_set_new(
                         json_array_get(all, json_array_size(all) - 1), "score",
                         json_real(worth));
    worth += json_number_value(json_object_get(there, "score"));
    return json_object_set_new(there, "score", json_real(worth)) |
           copy_missing_text(there, one);
}

static double get_item_score(const json_t *all, size_t i)
{
    return json_number_value(json_object_get(json_array_get(all, i), "score"));
}

/* Sort by score, the best first; ties keep their order. */
static json_t *sort_by_score(json_t *all)
{
    json_t *out = json_array();

    while (out != NULL && json_array_size(all) > 0) {
        size_t best = 0;

        for (size_t i = 1; i < json_array_size(all); i++)
            if (get_item_score(all, i) > get_item_score(all, best))
                best = i;
        if (json_array_append(out, json_array_get(all, best)) != 0 ||
            json_array_remove(all, best) != 0) {
            json_decref(out);
            return NULL;
        }
    }
    return out;
}

/* Apply (3) and the request's maximum. */
static void apply_request_limits(json_t *list, const json_t *request)
{
    size_t max = (size_t)json_integer_value(json_object_get(request, "max"));
    size_t left =
        (size_t)json_integer_value(json_object_get(request, "tokens"));
    bool over = false;

    while (json_array_size(list) > max)
        json_array_remove(list, json_array_size(list) - 1);
    MORTISE_JSON_EACH (one, i, list) {
        const json_t *text = json_object_get(one, "text");
        size_t takes = (json_string_length(text) + 3) / 4;

        if (text == NULL)
            continue;
        over |= takes > left;
        if (over) {
            json_object_del(mortise_json_unconst(one), "text");
            json_object_del(mortise_json_unconst(one), "tier");
        } else {
            left -= takes;
        }
    }
}

static json_t *merge_found_lists(json_t *const *lists, size_t n)
{
    json_t *all = json_array(), *out = NULL;
    int failed = all == NULL;

    for (size_t i = 0; i < n; i++)
        MORTISE_JSON_EACH (one, p, lists[i])
            if (!failed)
                failed = add_rank(all, one, p + 1);
    if (!failed)
        out = sort_by_score(all);
    json_decref(all);
    return out;
}

json_t *mortise_found_merge(const json_t *request, json_t *const *lists,
                            size_t n)
{
    json_t *out =
        n == 1 ? json_deep_copy(lists[0]) : merge_found_lists(lists, n);

    if (n == 1 && lists[0] == NULL)
        out = json_array();
    if (out != NULL)
        apply_request_limits(out, request);
    return out;
}
