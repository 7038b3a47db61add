/* said.c -- messages, as <mortise/model.h> has them. */
#include "agent.h"

mortise_status agent_add(struct bytes *list, mortise_str message)
{
    mortise_status status = bytes_room(list, message.n + 2);

    if (status != MORTISE_S_OK)
        return status;
    if (list->n == 0)
        bytes_put(list, mortise_strz("["));
    else
        list->p[list->n - 1] = ','; /* the list goes on */
    bytes_put(list, message);
    return bytes_put(list, mortise_strz("]"));
}

void agent_write_text(mortise_jw *w, mortise_jv v)
{
    mortise_jw_object(w);
    mortise_jw_key(w, "type");
    mortise_jw_cstr(w, "text");
    mortise_jw_key(w, "text");
    if (mortise_jv_type(v) == MORTISE_JV_STRING)
        mortise_jw_value(w, v);
    else
        mortise_jw_string(w, mortise_strn(v.p, v.n));
    mortise_jw_end(w);
}

/* A list of objects, whose kind the host judges. */
int agent_is_parts(mortise_jv v)
{
    mortise_jv_iter it = mortise_jv_each(v);
    mortise_jv name, one;
    int any = 0;

    if (mortise_jv_type(v) != MORTISE_JV_ARRAY)
        return 0;
    while (mortise_jv_next(&it, &name, &one)) {
        any = 1;
        if (mortise_jv_type(mortise_jv_get(one, "type")) != MORTISE_JV_STRING)
            return 0;
    }
    return any;
}

mortise_status agent_add_of(struct bytes *list, const char *role, mortise_jv v)
{
    mortise_status status;
    mortise_str json;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "role");
    mortise_jw_cstr(&w, role);
    mortise_jw_key(&w, "parts");
    if (agent_is_parts(v)) {
        mortise_jw_value(&w, v);
    } else {
        mortise_jw_array(&w);
        agent_write_text(&w, v);
        mortise_jw_end(&w);
    }
    mortise_jw_end(&w);
    status = mortise_jw_finish(&w, &json);
    if (status == MORTISE_S_OK)
        status = agent_add(list, json);
    free(w.p);
    return status;
}

mortise_status agent_add_text(struct bytes *list, const char *role,
                              mortise_str text)
{
    struct bytes json = {0};
    mortise_status status = bytes_quote(&json, text);
    mortise_jv v;

    if (status == MORTISE_S_OK) {
        v.p = json.p;
        v.n = json.n;
        status = agent_add_of(list, role, v);
    }
    bytes_free(&json);
    return status;
}

mortise_status agent_text_of(struct bytes *to, mortise_jv message)
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(message, "parts"));
    mortise_status status = MORTISE_S_OK;
    mortise_jv name, part;

    while (status == MORTISE_S_OK && mortise_jv_next(&it, &name, &part))
        if (mortise_jv_is(mortise_jv_get(part, "type"), mortise_strz("text")))
            status = bytes_decode(to, mortise_jv_get(part, "text"));
    return status;
}

void agent_write_member(mortise_jw *w, const char *name, mortise_jv v)
{
    if (mortise_jv_type(v) == MORTISE_JV_NONE)
        return;
    mortise_jw_key(w, name);
    mortise_jw_value(w, v);
}

static void write_result(mortise_jw *w, const struct result *r)
{
    mortise_jv parts;

    parts.p = r->parts.p;
    parts.n = r->parts.n;
    mortise_jw_object(w);
    mortise_jw_key(w, "type");
    mortise_jw_cstr(w, "tool_result");
    agent_write_member(w, "id", mortise_jv_get(r->call, "id"));
    agent_write_member(w, "name", mortise_jv_get(r->call, "name"));
    agent_write_member(w, "parts", parts);
    if (r->is_error) {
        mortise_jw_key(w, "is_error");
        mortise_jw_bool(w, 1);
    }
    mortise_jw_end(w);
}

mortise_status agent_add_results(struct bytes *list, const struct batch *b)
{
    mortise_status status;
    mortise_str json;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "role");
    mortise_jw_cstr(&w, "tool");
    mortise_jw_key(&w, "parts");
    mortise_jw_array(&w);
    for (uint64_t i = 0; i < b->n; i++)
        write_result(&w, &b->results[i]);
    mortise_jw_end(&w);
    mortise_jw_end(&w);
    status = mortise_jw_finish(&w, &json);
    if (status == MORTISE_S_OK)
        status = agent_add(list, json);
    free(w.p);
    return status;
}
