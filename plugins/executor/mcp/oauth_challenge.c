/* oauth_challenge.c -- WWW-Authenticate, as RFC 9110 (11.6.1) writes it.
 *
 *     Basic realm="a, b", Bearer scope="x y", error=invalid_token
 *
 * A comma stands between challenges and between the parameters of one, so what a
 * word is shows only behind it: with a '=' (and a value) it is a parameter of the
 * challenge before, else it begins the next one.
 *
 *   (1) Only what is said to `Bearer` counts, of several the first that says it.
 *   (2) What is badly written ends the reading; what was read before it stays.
 *   (3) Values are at most OAUTH_TEXT_MAX bytes long, and of visible ASCII and
 *       blanks: others are not said. */
#include "oauth_parts.h"

struct reader {
    const char *p, *end;
};

static int is_token(char c)
{
    return c > ' ' && c < 0x7f && strchr("\"(),/:;<=>?@[\\]{}", c) == NULL;
}

static void skip(struct reader *r, const char *what)
{
    while (r->p < r->end && *r->p != '\0' && strchr(what, *r->p) != NULL)
        r->p++;
}

static mortise_str word(struct reader *r)
{
    const char *from = r->p;

    while (r->p < r->end && is_token(*r->p))
        r->p++;
    return mortise_strn(from, (uint64_t)(r->p - from));
}

/* The credentials that may follow a scheme in place of parameters: of letters,
 * digits and these, up to the next comma. */
static int skip_token68(struct reader *r)
{
    const char *p = r->p, *from = p;

    while (p < r->end && (is_token(*p) || *p == '/'))
        p++;
    if (p == from)
        return 0;
    while (p < r->end && *p == '=')
        p++;
    while (p < r->end && (*p == ' ' || *p == '\t'))
        p++;
    if (p < r->end && *p != ',')
        return 0; /* `name = "value"`, or the next thing */
    r->p = p;
    return 1;
}

/* A value, quoted or not, behind the '='; 0: there is none (2). */
static int value(struct reader *r, struct bytes *out, mortise_status *status)
{
    mortise_str plain;

    out->n = 0;
    if (r->p == r->end || *r->p != '"') {
        plain = word(r);
        *status = bytes_put(out, plain);
        return plain.n > 0;
    }
    for (r->p++; r->p < r->end && *r->p != '"'; r->p++) {
        r->p += *r->p == '\\' && r->end - r->p > 1;
        if (*status == MORTISE_S_OK)
            *status = bytes_put(out, mortise_strn(r->p, 1));
    }
    if (r->p >= r->end)
        return 0;
    r->p++;
    return 1;
}

static int is_plain(const struct bytes *b)
{
    for (uint64_t i = 0; i < b->n; i++)
        if (b->p[i] < ' ' || b->p[i] > '~')
            return 0;
    return b->n <= OAUTH_TEXT_MAX;
}

/* (1), (3) */
static mortise_status keep(struct oauth_challenge *c, mortise_str name,
                           const struct bytes *text)
{
    const struct {
        const char *name;
        struct bytes *to;
    } known[] = {{"resource_metadata", &c->resource_metadata},
                 {"scope", &c->scope},
                 {"error", &c->error}};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (oauth_str_alike(name, mortise_strz(known[i].name)) &&
            known[i].to->n == 0 && is_plain(text))
            return bytes_put(known[i].to, bytes_str(text));
    return MORTISE_S_OK;
}

/* One word and what belongs to it; 0: the end, or (2). */
static int step(struct reader *r, struct oauth_challenge *c, int *in_bearer,
                struct bytes *room, mortise_status *status)
{
    mortise_str name;

    skip(r, " \t,");
    name = word(r);
    if (name.n == 0)
        return 0;
    skip(r, " \t");
    if (r->p < r->end && *r->p == '=') {
        r->p++;
        skip(r, " \t");
        if (!value(r, room, status))
            return 0;
        if (*in_bearer && *status == MORTISE_S_OK)
            *status = keep(c, name, room);
        return *status == MORTISE_S_OK;
    }
    *in_bearer = oauth_str_alike(name, mortise_strz("bearer"));
    c->is_bearer |= *in_bearer;
    skip_token68(r);
    return 1;
}

mortise_status oauth_challenge_read(mortise_str header,
                                    struct oauth_challenge *out)
{
    struct reader r = {header.p, header.n > 0 ? header.p + header.n : header.p};
    mortise_status status = MORTISE_S_OK;
    struct bytes room = {0};
    int in_bearer = 0;

    while (step(&r, out, &in_bearer, &room, &status))
        ;
    bytes_free(&room);
    return status;
}

void oauth_challenge_free(struct oauth_challenge *c)
{
    bytes_free(&c->resource_metadata);
    bytes_free(&c->scope);
    bytes_free(&c->error);
    c->is_bearer = 0;
}
