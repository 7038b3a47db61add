/* @NAME@.c -- a discovery plugin for Mortise: finds candidates by words of the
 * query.
 *
 * The score of a candidate is the number of query words, of three letters or
 * more, in its name or description.  `least` of the config is the lowest score
 * that counts.  The plugin emits at most `max` candidates, the best first. */
#define _POSIX_C_SOURCE 200809L
#include <mortise/ask.h>
#include <mortise/discovery.h>

#include <ctype.h>
#include <stdlib.h>

enum { MOST = 256 }; /* candidates that are ranked */

struct mortise_inst {
    mortise_host *host;
    const mortise_host_api *api;
    int64_t least;
};

struct candidate {
    mortise_jv id, kind;
    int64_t score;
};

/* ---- words --------------------------------------------------------------- */

/* A text of the request in lower case; NULL: out of memory. */
static char *text_of(mortise_jv v)
{
    char *text = malloc(v.n + 1);

    if (text == NULL || mortise_jv_cstr(v, text, v.n + 1) != MORTISE_S_OK) {
        if (text != NULL)
            text[0] = '\0';
        return text;
    }
    for (char *p = text; *p != '\0'; p++)
        *p = (char)tolower((unsigned char)*p);
    return text;
}

/* The number of query words in one of the two texts. */
static int64_t words_in(const char *query, const char *name, const char *about)
{
    char word[64];
    int64_t n = 0;

    while (*query != '\0') {
        size_t k = 0;

        while (*query != '\0' && !isalnum((unsigned char)*query))
            query++;
        for (; isalnum((unsigned char)*query); query++)
            if (k + 1 < sizeof word)
                word[k++] = *query;
        word[k] = '\0';
        n += k >= 3 &&
             (strstr(name, word) != NULL || strstr(about, word) != NULL);
    }
    return n;
}

/* ---- a call -------------------------------------------------------------- */

static mortise_status look_at(mortise_jv one, const char *query,
                              struct candidate *c)
{
    char *name = text_of(mortise_jv_get(one, "name"));
    char *about = text_of(mortise_jv_get(one, "description"));
    mortise_status status = MORTISE_S_NOMEM;

    if (name != NULL && about != NULL) {
        c->id = mortise_jv_get(one, "id");
        c->kind = mortise_jv_get(one, "kind");
        c->score = words_in(query, name, about);
        status = MORTISE_S_OK;
    }
    free(name);
    free(about);
    return status;
}

static int by_score(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    return x->score != y->score ? (x->score > y->score ? -1 : 1)
           : x->id.p < y->id.p  ? -1
                                : 1;
}

/* Copy id and kind unchanged: they are JSON already. */
static void put(mortise_jw *w, const struct candidate *c)
{
    mortise_jw_object(w);
    mortise_jw_key(w, "id");
    mortise_jw_value(w, c->id);
    mortise_jw_key(w, "kind");
    mortise_jw_value(w, c->kind);
    mortise_jw_key(w, "score");
    mortise_jw_int(w, c->score);
    mortise_jw_end(w);
}

static mortise_status answer(mortise_inst *i, const mortise_request *r,
                             struct candidate *all, size_t n, int64_t max)
{
    static const size_t room = MOST * 512 + 64;
    char *text = malloc(room);
    mortise_status status = MORTISE_S_NOMEM;
    mortise_str json;
    mortise_jw w;

    if (text == NULL)
        return status;
    qsort(all, n, sizeof *all, by_score);
    mortise_jw_fixed(&w, text, room);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "results");
    mortise_jw_array(&w);
    for (size_t k = 0; k < n && (int64_t)k < max && all[k].score >= i->least;
         k++)
        put(&w, &all[k]);
    mortise_jw_end(&w);
    mortise_jw_end(&w);
    status = mortise_jw_finish(&w, &json);
    if (status == MORTISE_S_OK)
        status = mortise_emit_output(i->host, i->api, r->call, json);
    free(text);
    return status;
}

static mortise_status discover(mortise_inst *i, const mortise_request *r)
{
    mortise_jv body = mortise_jv_of(r->body), one;
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(body, "candidates"));
    char *query = text_of(mortise_jv_get(body, "query"));
    struct candidate all[MOST];
    mortise_status status = query != NULL ? MORTISE_S_OK : MORTISE_S_NOMEM;
    int64_t max = 1;
    size_t n = 0;

    mortise_jv_int(mortise_jv_get(body, "max"), &max);
    while (status == MORTISE_S_OK && n < MOST &&
           mortise_jv_next(&it, NULL, &one))
        status = look_at(one, query, &all[n++]);
    free(query);
    return status == MORTISE_S_OK ? answer(i, r, all, n, max) : status;
}

/* ---- the module ---------------------------------------------------------- */

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    mortise_inst *i = calloc(1, sizeof *i);
    mortise_jv c;

    *out = i;
    if (i == NULL)
        return MORTISE_S_NOMEM;
    i->host = host;
    i->api = api;
    i->least = 1;
    if (mortise_jv_parse(config, &c) == MORTISE_S_OK)
        mortise_jv_int(mortise_jv_get(c, "least"), &i->least);
    return MORTISE_S_OK;
}

static void destroy(mortise_inst *i)
{
    free(i);
}

static const void *interface_of(mortise_inst *i, const char *id)
{
    static const mortise_discovery discovery = {sizeof discovery, 0, discover,
                                                NULL};

    (void)i;
    return strcmp(id, MORTISE_DISCOVERY_1) == 0 ? &discovery : NULL;
}

static const mortise_plugin plugin = {
    .size = sizeof plugin,
    .id = "@NAME@",
    .version = "0.1.0",
    .create = create,
    .get_interface = interface_of,
    .destroy = destroy,
};

MORTISE_MODULE_OF(plugin);
