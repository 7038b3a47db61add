/* oauth_consent.c -- what a person is asked, and how it goes on with the answer.
 *
 * A consent is JSON, kept in the journal of the call that waits for it:
 *
 *     {"url": what to open, "server", "issuer", "endpoint": of tokens,
 *      "client_id", "method", "registered", "redirect_uri", "verifier", "state",
 *      "iss": it must be there, "scope", "resource", "for": the request that was
 *      refused, "attempts"}
 *
 *   (1) It is all that is needed to go on in another process; but for the secret
 *       of a client that was registered by the way, which is in memory only:
 *       where that is gone, all begins anew.
 *   (2) The redirect is judged by what stands in the consent, never by what a
 *       server says now.
 *   (3) What it says is judged again by the deployment as it is now (oauth.c,
 *       1). */
#include "oauth.h"

static void text(mortise_jw *w, const char *name, mortise_str value)
{
    mortise_jw_key(w, name);
    mortise_jw_string(w, value);
}

static void flag(mortise_jw *w, const char *name, int yes)
{
    mortise_jw_key(w, name);
    mortise_jw_bool(w, yes);
}

static mortise_status write_consent(struct oauth *o, const struct oauth_wish *w,
                                    mortise_str url)
{
    mortise_jw out;
    mortise_str done;
    mortise_status status;

    mortise_jw_growing(&out, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&out);
    text(&out, "url", url);
    text(&out, "server", mortise_strz(o->setup->name));
    text(&out, "issuer", bytes_str(&o->issuer));
    text(&out, "endpoint", bytes_str(&o->metadata.token));
    text(&out, "client_id", w->client_id);
    text(&out, "method",
         mortise_strz(oauth_method_name((enum oauth_method)o->method)));
    flag(&out, "registered", o->registered);
    text(&out, "redirect_uri", w->redirect_uri);
    text(&out, "verifier", w->verifier);
    text(&out, "state", w->state);
    flag(&out, "iss", o->metadata.says_iss);
    text(&out, "scope", bytes_str(&o->scope));
    text(&out, "resource", w->resource);
    text(&out, "for", bytes_str(&o->keep->refused));
    mortise_jw_key(&out, "attempts");
    mortise_jw_int(&out, (int64_t)o->keep->attempts);
    mortise_jw_end(&out);
    status = mortise_jw_finish(&out, &done);
    bytes_free(&o->consent);
    o->consent.p = out.p;
    o->consent.n = done.n;
    o->consent.cap = out.cap;
    return status;
}

mortise_status oauth_redirect_uri(const struct oauth *o, struct bytes *out)
{
    mortise_status status = oauth_setting(o, "redirect_uri", out);

    if (status == MORTISE_S_OK && out->n == 0)
        status = bytes_put(out, mortise_strz("http://127.0.0.1:8484/callback"));
    return status;
}

static mortise_status all_scopes(const struct oauth *o, struct bytes *out)
{
    mortise_status status = oauth_scope_join(out, bytes_str(&o->scope));

    if (status == MORTISE_S_OK && out->n > 0 && o->metadata.lists_offline)
        status = oauth_scope_join(out, mortise_strz("offline_access"));
    return status;
}

enum oauth_act oauth_ask_person(struct oauth *o)
{
    char verifier[OAUTH_RANDOM], state[OAUTH_RANDOM];
    struct bytes redirect = {0}, scope = {0}, url = {0};
    struct oauth_wish w = {.endpoint = bytes_str(&o->metadata.authorization),
                           .client_id = bytes_str(&o->client_id),
                           .state = mortise_strn(state, sizeof state),
                           .verifier = mortise_strn(verifier, sizeof verifier),
                           .resource = bytes_str(&o->resource)};
    mortise_status status;

    if (!oauth_permits(o, w.endpoint))
        return oauth_not_permitted(o, "the authorization endpoint", w.endpoint);
    oauth_random(verifier);
    oauth_random(state);
    status = oauth_redirect_uri(o, &redirect);
    if (status == MORTISE_S_OK)
        status = all_scopes(o, &scope);
    w.redirect_uri = bytes_str(&redirect);
    w.scope = bytes_str(&scope);
    if (status == MORTISE_S_OK)
        status = oauth_authorization_url(&w, &url);
    if (status == MORTISE_S_OK)
        status = write_consent(o, &w, bytes_str(&url));
    bytes_free(&redirect);
    bytes_free(&scope);
    bytes_free(&url);
    return status == MORTISE_S_OK ? OAUTH_ASK : oauth_no_memory(o);
}

/* ---- going on ------------------------------------------------------------ */

static mortise_status take(mortise_jv from, const char *name, struct bytes *to)
{
    to->n = 0;
    return bytes_decode(to, mortise_jv_get(from, name));
}

/* (1) */
static int find_secret(struct oauth *o, mortise_status *status)
{
    const struct oauth_keep *k = o->keep;

    o->secret.n = 0;
    if (o->method == OAUTH_NONE)
        return 1;
    if (!o->registered) {
        *status = bytes_put(&o->secret, o->setup->secret);
        return o->setup->secret.n > 0;
    }
    if (!oauth_str_same(bytes_str(&k->client_id), bytes_str(&o->client_id)) ||
        !oauth_str_same(bytes_str(&k->client_issuer), bytes_str(&o->issuer)))
        return 0;
    *status = bytes_put(&o->secret, bytes_str(&k->client_secret));
    return k->client_secret.n > 0;
}

/* What the consent says, into `o`. */
static mortise_status take_consent(struct oauth *o, mortise_jv c)
{
    struct {
        const char *name;
        struct bytes *to;
    } all[] = {{"issuer", &o->issuer},       {"endpoint", &o->metadata.token},
               {"client_id", &o->client_id}, {"scope", &o->scope},
               {"resource", &o->resource},   {"for", &o->keep->refused}};
    mortise_status status = MORTISE_S_OK;
    int64_t attempts = OAUTH_ATTEMPTS;
    int32_t registered = 0;

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (status == MORTISE_S_OK)
            status = take(c, all[i].name, all[i].to);
    o->method = oauth_method_of(mortise_jv_get(c, "method"));
    mortise_jv_bool(mortise_jv_get(c, "registered"), &registered);
    mortise_jv_int(mortise_jv_get(c, "attempts"), &attempts);
    o->registered = registered;
    o->keep->attempts = attempts >= 0 && attempts < OAUTH_ATTEMPTS
                            ? (unsigned)attempts
                            : OAUTH_ATTEMPTS;
    return status == MORTISE_S_OK && o->method < 0 ? MORTISE_S_INVALID : status;
}

/* (2); the code and the rest of the form of the token request. */
static enum oauth_act with_redirect(struct oauth *o, mortise_jv c,
                                    mortise_str address)
{
    struct bytes code = {0}, said = {0}, state = {0}, verifier = {0},
                 redirect = {0};
    struct oauth_expected expected = {.issuer = bytes_str(&o->issuer)};
    enum oauth_act act = OAUTH_FAILED;
    mortise_status status = take(c, "state", &state);
    const char *wrong = NULL;
    char shown[256];
    int32_t iss = 1;

    if (status == MORTISE_S_OK)
        status = take(c, "verifier", &verifier);
    if (status == MORTISE_S_OK)
        status = take(c, "redirect_uri", &redirect);
    mortise_jv_bool(mortise_jv_get(c, "iss"), &iss);
    expected.iss_required = iss;
    expected.state = bytes_str(&state);
    if (status == MORTISE_S_OK)
        wrong = oauth_redirect_read(address, &expected, &code, &said);
    if (wrong != NULL)
        act = oauth_fail(o, said.n > 0 ? "%s: %s" : "%s", wrong,
                         oauth_shown(&said, shown));
    if (status == MORTISE_S_OK && wrong == NULL) {
        struct bytes *form = &o->request.body;

        status = oauth_form_put(form, "grant_type",
                                mortise_strz("authorization_code"));
        if (status == MORTISE_S_OK)
            status = oauth_form_put(form, "code", bytes_str(&code));
        if (status == MORTISE_S_OK)
            status = oauth_form_put(form, "redirect_uri", bytes_str(&redirect));
        if (status == MORTISE_S_OK)
            status =
                oauth_form_put(form, "code_verifier", bytes_str(&verifier));
        if (status == MORTISE_S_OK)
            act = oauth_ask_token(o);
    }
    bytes_free(&code);
    bytes_free(&said);
    bytes_free(&state);
    bytes_free(&verifier);
    bytes_free(&redirect);
    return status == MORTISE_S_OK ? act : oauth_no_memory(o);
}

/* The person says that it was allowed elsewhere: is it? */
static enum oauth_act without_redirect(struct oauth *o)
{
    if (o->keep->access.n > 0)
        return OAUTH_DONE;
    o->again = 1;
    return oauth_fail(o, "%s is not authorized", o->setup->name);
}

enum oauth_act oauth_redeem(struct oauth *o, const struct oauth_setup *setup,
                            struct oauth_keep *keep, mortise_str consent,
                            mortise_str answer)
{
    struct bytes address = {0};
    enum oauth_act act;
    mortise_status status;
    mortise_jv c, a;

    memset(o, 0, sizeof *o);
    o->setup = setup;
    o->keep = keep;
    if (oauth_url_read(setup->server, &o->server) != MORTISE_S_OK ||
        mortise_jv_parse(consent, &c) != MORTISE_S_OK)
        return oauth_fail(o, "the authorization request of %s no longer exists",
                          setup->name);
    mortise_jv_parse(answer, &a);
    a = mortise_jv_get(a, "redirect");
    if (mortise_jv_type(a) != MORTISE_JV_STRING || a.n <= 2)
        return without_redirect(o);
    status = take_consent(o, c);
    if (status == MORTISE_S_OK && !find_secret(o, &status)) {
        o->again = 1;
        return oauth_fail(o,
                          "%s must be authorized again: the client of the "
                          "request is no longer known",
                          setup->name);
    }
    if (status == MORTISE_S_OK)
        status = bytes_decode(&address, a);
    if (status != MORTISE_S_OK)
        act = oauth_no_memory(o);
    else if (!oauth_permits(o, bytes_str(&o->issuer))) /* (3) */
        act = oauth_not_permitted(o, "the authorization server",
                                  bytes_str(&o->issuer));
    else if (!oauth_permits(o, bytes_str(&o->metadata.token)))
        act = oauth_not_permitted(o, "the token endpoint",
                                  bytes_str(&o->metadata.token));
    else
        act = with_redirect(o, c, bytes_str(&address));
    bytes_free(&address);
    return act;
}
