/* embeddings.c -- POST /embeddings.
 *
 * Vectors come in any order, each with its index; all must be there, and be
 * lists of numbers. */
#include "openai.h"

#include <string.h>

static void embeddings_ask(struct body *b)
{
    request_copy(b, "model", "model");
    request_copy(b, "input", "texts");
    request_copy(b, "dimensions", "dimensions");
}

static bool is_vector(mortise_jv v)
{
    mortise_jv_iter it = mortise_jv_each(v);
    mortise_jv one;

    if (mortise_jv_type(v) != MORTISE_JV_ARRAY || mortise_jv_count(v) == 0)
        return false;
    while (mortise_jv_next(&it, NULL, &one))
        if (mortise_jv_type(one) != MORTISE_JV_NUMBER)
            return false;
    return true;
}

static void take_vector(struct call *c, mortise_jv one, int64_t at)
{
    mortise_jv vector = mortise_jv_get(one, "embedding");

    mortise_jv_int(mortise_jv_get(one, "index"), &at);
    if (at < 0 || at >= c->texts || !is_vector(vector))
        problem_set(&c->problem, MORTISE_MODEL_PROTOCOL,
                    "the answer has an item that is not a vector");
    else
        call_keep(c, at, vector);
}

static bool are_all(const struct call *c)
{
    for (size_t i = 0; i < c->n_items; i++)
        if (c->items[i].n == 0)
            return false;
    return (int64_t)c->n_items == c->texts;
}

static void embeddings_whole(struct call *c, mortise_jv body)
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(body, "data"));
    mortise_jv one;
    int64_t n = 0;

    reply_append(&c->reply, &c->reply.model, mortise_jv_get(body, "model"));
    reply_usage(&c->reply, mortise_jv_get(body, "usage"));
    while (mortise_jv_next(&it, NULL, &one) &&
           c->problem.status == MORTISE_S_OK)
        take_vector(c, one, n++);
    if (c->problem.status == MORTISE_S_OK && !c->reply.nomem && !are_all(c))
        problem_set(&c->problem, MORTISE_MODEL_PROTOCOL,
                    "the answer does not have one vector for each text");
    c->ended = true;
}

static void embeddings_end(struct call *c)
{
    (void)c;
}

static mortise_status embeddings_give(struct call *c)
{
    mortise_emitter out;
    char room[4096];

    mortise_emitter_init(&out, c->inst->host, c->inst->api, c->id, room,
                         sizeof room);
    mortise_jw_object(&out.w);
    mortise_jw_key(&out.w, "vectors");
    mortise_jw_array(&out.w);
    for (size_t i = 0; i < c->n_items; i++)
        mortise_jw_value(&out.w, (mortise_jv){c->items[i].p, c->items[i].n});
    mortise_jw_end(&out.w);
    if (c->reply.model.n > 0) {
        mortise_jw_key(&out.w, "model");
        mortise_jw_string(&out.w, bytes_str(&c->reply.model));
    }
    mortise_jw_end(&out.w);
    return mortise_emitter_finish(&out);
}

const struct dialect openai_embeddings = {
    .path = "/embeddings",
    .issuer = "",
    .ask = embeddings_ask,
    .whole = embeddings_whole,
    .end = embeddings_end,
    .give = embeddings_give,
};
