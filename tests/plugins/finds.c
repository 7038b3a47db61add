/* finds.c -- behaves: finds the candidates whose description has a word of the
 * query in it, the first one first; with `last: true` of its config the last.
 * The skill of that name in its config is found by each query with "skill" in
 * it, ahead of all.  Each call adds its query to the file `entered`, and while
 * there is a file `wait` (`config.file`) it waits until that is gone. */
#include <unistd.h>

#include "finds.h"

struct finding {
    char skill[64];
    int32_t last;
    char file[1024];
    mortise_host *host;
    const mortise_host_api *api;
};

static struct mortise_inst *inst_of(struct finding *f)
{
    return (struct mortise_inst *)(void *)f;
}

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    struct finding *f = (struct finding *)calloc(1, sizeof *f);
    mortise_jv c;

    if (f == NULL)
        return MORTISE_S_NOMEM;
    f->host = host;
    f->api = api;
    if (mortise_jv_parse(config, &c) == MORTISE_S_OK) {
        mortise_jv_cstr(mortise_jv_get(c, "skill"), f->skill, sizeof f->skill);
        mortise_jv_cstr(mortise_jv_get(c, "file"), f->file, sizeof f->file);
        mortise_jv_bool(mortise_jv_get(c, "last"), &f->last);
    }
    *out = inst_of(f);
    return MORTISE_S_OK;
}

static void destroy(mortise_inst *i)
{
    free(i);
}

/* Is a word of `query`, of three bytes or more, in `text`? */
static int is_about(char *text, const char *query)
{
    char words[256], *save, *word;

    snprintf(words, sizeof words, "%s", query);
    for (word = strtok_r(words, " ", &save); word != NULL;
         word = strtok_r(NULL, " ", &save))
        if (strlen(word) >= 3 && strstr(text, word) != NULL)
            return 1;
    return 0;
}

static void put(mortise_jw *w, mortise_jv one, const char *query, double score)
{
    static char text[4096], id[256], kind[32];
    mortise_str said;

    text[0] = '\0';
    mortise_jv_cstr(mortise_jv_get(one, "description"), text, sizeof text);
    mortise_jv_cstr(mortise_jv_get(one, "id"), id, sizeof id);
    mortise_jv_cstr(mortise_jv_get(one, "kind"), kind, sizeof kind);
    said = mortise_strz(text);
    if (is_about(text, query))
        mortise_jw_found(w, id, kind, score, &said, "summary");
}

static mortise_status discover(mortise_inst *inst, const mortise_request *r)
{
    struct finding *f = (struct finding *)(void *)inst;
    char room[16384], query[256] = "", kind[32] = "";
    mortise_jv body, one, all[64];
    mortise_jv_iter it;
    mortise_str out, skill = mortise_strz("how it is done");
    size_t n = 0;
    mortise_jw w;

    if (mortise_jv_parse(r->body, &body) != MORTISE_S_OK)
        return MORTISE_S_INVALID;
    mortise_jv_cstr(mortise_jv_get(body, "query"), query, sizeof query);
    mortise_jv_cstr(mortise_jv_get(body, "kind"), kind, sizeof kind);
    finds_note(query);
    while (f->file[0] != '\0' && access(f->file, F_OK) == 0)
        simple_sleep_ms(5);
    for (it = mortise_jv_each(mortise_jv_get(body, "candidates"));
         n < 64 && mortise_jv_next(&it, NULL, &one);)
        all[n++] = one;
    mortise_jw_fixed(&w, room, sizeof room);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "results");
    mortise_jw_array(&w);
    if (f->skill[0] != '\0' && strstr(query, "skill") != NULL &&
        (strcmp(kind, "any") == 0 || strcmp(kind, "skill") == 0))
        mortise_jw_found(&w, f->skill, "skill", 100, &skill, "full");
    for (size_t k = 0; k < n; k++)
        put(&w, all[f->last ? n - 1 - k : k], query, (double)(n - k));
    mortise_jw_end(&w);
    mortise_jw_end(&w);
    if (mortise_jw_finish(&w, &out) != MORTISE_S_OK)
        return MORTISE_S_NOMEM;
    return mortise_emit_output(f->host, f->api, r->call, out);
}

static mortise_status quiesce(mortise_inst *i, uint64_t deadline)
{
    (void)i;
    (void)deadline;
    return MORTISE_S_OK;
}

/* As one that was built before there was a list(). */
static const mortise_discovery discovery = {offsetof(mortise_discovery, list),
                                            0, discover, NULL};
SIMPLE_INTERFACE(MORTISE_DISCOVERY_1, discovery)

static const mortise_plugin plugin = {
    sizeof(mortise_plugin), 0,       "finds", "1.0.0", create, simple_interface,
    simple_cancel,          quiesce, destroy};

MORTISE_MODULE_OF(plugin);
