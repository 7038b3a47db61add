/* offers.c -- operation `list`: what a server is, and all that it offers.
 *
 *     {server: {name, version}, protocol, instructions?,
 *      tools: [{name, title?, description?, input_schema, output_schema?,
 *               annotations?, digest}],
 *      resources: [...], templates: [...], prompts: [...]}
 *
 * A tool's digest is of its whole definition (digest.c); a description of more
 * than 64 KiB is shown cut.  Resources, templates and prompts are as the server
 * has them.  What it does not offer is an empty list. */
#include "call.h"
#include "rpc.h"

static const struct {
    const char *method, *member, *as;
} parts[] = {
    {"tools/list", "tools", "tools"},
    {"resources/list", "resources", "resources"},
    {"resources/templates/list", "resourceTemplates", "templates"},
    {"prompts/list", "prompts", "prompts"},
};

enum { PARTS = sizeof parts / sizeof parts[0] };

void mcp_offers_stop(struct mcp_call *c)
{
    struct mcp_offers *o = &c->offers;

    mcp_list_stop(o->walk);
    o->walk = NULL;
    free(o->w.p);
    memset(&o->w, 0, sizeof o->w);
}

/* A text of the server's, cut. */
static void write_text(mortise_jw *w, const char *name, mortise_jv v)
{
    struct bytes text = {0};
    uint64_t n;

    if (mortise_jv_type(v) == MORTISE_JV_STRING &&
        bytes_decode(&text, v) == MORTISE_S_OK) {
        n = text.n < MCP_TEXT_MAX ? text.n : MCP_TEXT_MAX;
        mortise_jw_key(w, name);
        mortise_jw_string(
            w, mortise_strn(text.p, mortise_str_utf8(mortise_strn(text.p, n))));
    }
    bytes_free(&text);
}

static void write_object(mortise_jw *w, const char *name, mortise_jv v)
{
    if (mortise_jv_type(v) != MORTISE_JV_OBJECT)
        return;
    mortise_jw_key(w, name);
    mortise_jw_value(w, v);
}

static void write_tool(mortise_jw *w, mortise_jv tool)
{
    char digest[CANONICAL_HEX + 1];

    if (mortise_jv_type(mortise_jv_get(tool, "name")) != MORTISE_JV_STRING ||
        mcp_tool_digest(tool, digest) != MORTISE_S_OK)
        return; /* it cannot be called */
    mortise_jw_object(w);
    write_text(w, "name", mortise_jv_get(tool, "name"));
    write_text(w, "title", mortise_jv_get(tool, "title"));
    write_text(w, "description", mortise_jv_get(tool, "description"));
    write_object(w, "input_schema", mortise_jv_get(tool, "inputSchema"));
    write_object(w, "output_schema", mortise_jv_get(tool, "outputSchema"));
    write_object(w, "annotations", mortise_jv_get(tool, "annotations"));
    mortise_jw_key(w, "digest");
    mortise_jw_cstr(w, digest);
    mortise_jw_end(w);
}

static void write_tools(struct mcp_offers *o, const struct mcp_list *list)
{
    struct bytes all = {0};
    mortise_jv_iter it;
    mortise_jv one;

    if (bytes_put(&all, mortise_strz("[")) != MORTISE_S_OK ||
        bytes_put(&all, bytes_str(&list->items)) != MORTISE_S_OK ||
        bytes_put(&all, mortise_strz("]")) != MORTISE_S_OK)
        o->w.status = MORTISE_S_NOMEM;
    it = mortise_jv_each(mortise_jv_of(bytes_str(&all)));
    while (o->w.status == MORTISE_S_OK && mortise_jv_next(&it, NULL, &one))
        write_tool(&o->w, one);
    bytes_free(&all);
}

static void write_part(struct mcp_offers *o, const struct mcp_list *list)
{
    mortise_jv items;

    mortise_jw_key(&o->w, parts[o->at].as);
    mortise_jw_array(&o->w);
    if (list != NULL && o->at == 0) {
        write_tools(o, list);
    } else if (list != NULL && list->n > 0) {
        items.p = list->items.p;
        items.n = list->items.n;
        mortise_jw_value(&o->w, items); /* with the commas between them */
    }
    mortise_jw_end(&o->w);
    o->at++;
}

static void next(struct mcp_call *c);

static void got(void *ud, const struct mcp_list *list,
                const struct mcp_trouble *why)
{
    struct mcp_call *c = (struct mcp_call *)ud;

    c->offers.walk = NULL;
    if (why != NULL && why->consent.n > 0) {
        mcp_consent_record(c, why->consent);
        return;
    }
    if (why != NULL) {
        mcp_call_fail_with(c, why);
        return;
    }
    write_part(&c->offers, list);
    next(c);
}

static int offers(const struct mcp_server *s, size_t part)
{
    const struct mcp_agreement *a = &s->agreed;

    return part == 0  ? a->has_tools
           : part < 3 ? a->has_resources
                      : a->has_prompts;
}

/* Takes the call: all lists are there. */
static void end(struct mcp_call *c)
{
    mortise_jw w = c->offers.w;
    mortise_str text;
    mortise_status status;

    memset(&c->offers.w, 0, sizeof c->offers.w);
    mortise_jw_end(&w);
    status = mortise_jw_finish(&w, &text);
    if (status == MORTISE_S_OK)
        mcp_step_done(c, text);
    else
        mcp_call_end(c, MORTISE_S_NOMEM);
    free(w.p);
}

/* Takes the call: the next list, or the end. */
static void next(struct mcp_call *c)
{
    struct mcp_offers *o = &c->offers;

    while (o->at < PARTS && !offers(c->server, o->at))
        write_part(o, NULL);
    if (o->w.status != MORTISE_S_OK)
        mcp_call_end(c, MORTISE_S_NOMEM);
    else if (o->at == PARTS)
        end(c);
    else if (mcp_list_start(c->server, parts[o->at].method, parts[o->at].member,
                            got, c, &o->walk) != MORTISE_S_OK)
        mcp_call_fail(c, "mcp.lost", "transient",
                      mortise_strz("the request could not be sent"));
}

void mcp_offers_perform(struct mcp_call *c)
{
    struct mcp_offers *o = &c->offers;
    const struct mcp_agreement *a = &c->server->agreed;
    mortise_jv info;

    if (!mcp_call_wait(c, 0))
        return;
    mcp_offers_stop(c);
    o->at = 0;
    mortise_jw_growing(&o->w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&o->w);
    mortise_jw_key(&o->w, "server");
    info = mortise_jv_of(bytes_str(&a->info));
    if (info.n > 0)
        mortise_jw_value(&o->w, info);
    else
        mortise_jw_null(&o->w);
    mortise_jw_key(&o->w, "protocol");
    mortise_jw_cstr(&o->w, a->version);
    if (a->instructions.n > 0) {
        mortise_jw_key(&o->w, "instructions");
        mortise_jw_string(&o->w, bytes_str(&a->instructions));
    }
    next(c);
}
