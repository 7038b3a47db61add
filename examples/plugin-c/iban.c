/* iban.c -- acme.iban: checks account numbers.
 *
 * A complete executor plugin for Mortise in C, built outside of Mortise's tree.
 *
 * check  {iban}  ->  {valid, country, iban}
 *        Blanks are ignored, and letters may be lower case.  `iban` in the
 *        answer is the number without blanks, in capitals.
 *
 * Config
 * country: DE    another country is an error with the code "country"
 *
 * The operation depends only on its arguments (`pure`) and is short, so it runs
 * on the engine's own thread (`inline`). */
#include <ctype.h>
#include <mortise/ask.h>

enum { LONGEST = 34 };

struct mortise_inst {
    mortise_host *host;
    const mortise_host_api *api;
    char country[3]; /* "": any */
};

/* Copy `text` without blanks, in capitals; 0 if it cannot be an IBAN. */
static int compact(mortise_str text, char iban[LONGEST + 1])
{
    size_t n = 0;

    for (uint64_t k = 0; k < text.n; k++) {
        unsigned char c = (unsigned char)text.p[k];

        if (c == ' ')
            continue;
        if (n == LONGEST || !isalnum(c))
            return 0;
        iban[n++] = (char)toupper(c);
    }
    iban[n] = '\0';
    return n > 4 && isupper((unsigned char)iban[0]) &&
           isupper((unsigned char)iban[1]);
}

/* The check of ISO 7064: move the first four characters to the end, replace
 * letters by numbers from 10 on; the number modulo 97 must be 1. */
static int adds_up(const char *iban)
{
    size_t n = strlen(iban);
    unsigned rest = 0;

    for (size_t k = 0; k < n; k++) {
        char c = iban[(k + 4) % n];

        rest = c <= '9' ? rest * 10 + (unsigned)(c - '0')
                        : rest * 100 + (unsigned)(c - 'A' + 10);
        rest %= 97;
    }
    return rest == 1;
}

static mortise_status answer(mortise_inst *i, const mortise_request *r,
                             const char *iban)
{
    mortise_emitter out;
    char room[256];

    mortise_emitter_init(&out, i->host, i->api, r->call, room, sizeof room);
    mortise_jw_object(&out.w);
    mortise_jw_key(&out.w, "valid");
    mortise_jw_bool(&out.w, adds_up(iban));
    mortise_jw_key(&out.w, "country");
    mortise_jw_string(&out.w, mortise_strn(iban, 2));
    mortise_jw_key(&out.w, "iban");
    mortise_jw_cstr(&out.w, iban);
    mortise_jw_end(&out.w);
    return mortise_emitter_finish(&out);
}

/* The manifest has one operation, and the host has checked its schema. */
static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    char room[256], iban[LONGEST + 1];
    mortise_jv body;
    mortise_str text;

    if (mortise_jv_parse(r->body, &body) != MORTISE_S_OK ||
        mortise_jv_text(mortise_jv_get(body, "iban"), room, sizeof room,
                        &text) != MORTISE_S_OK ||
        !compact(text, iban))
        return mortise_refuse(i->host, i->api, r->call, MORTISE_S_INVALID,
                              "permanent", "iban", "that is no IBAN at all");
    if (i->country[0] != '\0' && memcmp(iban, i->country, 2) != 0)
        return mortise_refuse(i->host, i->api, r->call, MORTISE_S_DENIED,
                              "permanent", "country",
                              "an account in a country that is not served");
    return answer(i, r, iban);
}

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    mortise_inst *i = calloc(1, sizeof *i);
    mortise_jv c;

    if (i == NULL)
        return MORTISE_S_NOMEM;
    i->host = host;
    i->api = api;
    if (mortise_jv_parse(config, &c) == MORTISE_S_OK)
        mortise_jv_cstr(mortise_jv_get(c, "country"), i->country,
                        sizeof i->country);
    *out = i;
    return MORTISE_S_OK;
}

static void destroy(mortise_inst *i)
{
    free(i);
}

static const mortise_executor executor = {.size = sizeof executor,
                                          .execute = execute};

static const void *get_interface(mortise_inst *i, const char *id)
{
    (void)i;
    return strcmp(id, MORTISE_EXECUTOR_1) == 0 ? &executor : NULL;
}

static const mortise_plugin plugin = {.size = sizeof plugin,
                                      .id = "acme.iban",
                                      .version = "1.0.0",
                                      .create = create,
                                      .get_interface = get_interface,
                                      .destroy = destroy};

MORTISE_MODULE_OF(plugin);
