/* func_encode.c -- values as text and back: the encoder extension.
 *
 *   base64.encode(bytes)   string   as in cel-go's extension `encoders`
 *   base64.decode(string)  bytes
 *   json.marshal(x)        string   compact JSON
 *   json.unmarshal(string) x
 *
 * cel-go has no JSON functions.  The names are those of Open Policy Agent and
 * Kyverno.
 */
#include "lang/cel/func.h"

#include <string.h>

#include <sodium.h>

/* ---- base64 ------------------------------------------------------------ */

enum { VARIANT = sodium_base64_VARIANT_ORIGINAL };

static bool call_base64_encode(CEL_PARAMS)
{
    size_t size = sodium_base64_encoded_len(args->u.s.n, VARIANT);
    char *text = mortise_cel_alloc(c, size, 1);

    if (text == NULL)
        return false;
    sodium_bin2base64(text, size, (const unsigned char *)args->u.s.p,
                      args->u.s.n, VARIANT);
    *out = cel_text(CEL_STRING, text, size - 1);
    return true;
}

static bool call_base64_decode(CEL_PARAMS)
{
    size_t room = args->u.s.n / 4 * 3 + 3, n_bytes = 0;
    unsigned char *bytes;
    const char *end;

    if (!cel_charge(c, args->u.s.n))
        return false;
    bytes = mortise_cel_alloc(c, room, 1);
    if (bytes == NULL)
        return false;
    if (sodium_base642bin(bytes, room, args->u.s.p, args->u.s.n, NULL, &n_bytes,
                          &end, VARIANT) != 0 ||
        end != args->u.s.p + args->u.s.n)
        return mortise_cel_fault(c, CEL_NOT_BASE64);
    *out = cel_text(CEL_BYTES, (const char *)bytes, n_bytes);
    return true;
}

/* ---- JSON -------------------------------------------------------------- */

/* Charge for writing the value.  Its parts may be shared. */
static bool charge_json(struct cel_ctx *c, const json_t *v)
{
    if (!cel_charge(c, 1 + json_string_length(v)))
        return false;
    MORTISE_JSON_MEMBERS (name, one, v)
        if (!cel_charge(c, strlen(name)) || !charge_json(c, one))
            return false;
    MORTISE_JSON_EACH (one, i, v)
        if (!charge_json(c, one))
            return false;
    return true;
}

static bool write_json_text(struct cel_ctx *c, const json_t *v,
                            struct cel_value *out)
{
    struct mortise_buf b;
    bool good = false;

    if (!charge_json(c, v))
        return false;
    mortise_buf_init(&b, c->arena->mem);
    switch (mortise_json_write(&b, v)) {
    case MORTISE_OK:
        good = mortise_cel_copy_text(c, b.p, b.n, out);
        break;
    case MORTISE_ELIMIT:
        mortise_cel_fault(c, CEL_DEPTH);
        break;
    default:
        mortise_cel_fault(c, CEL_MEMORY);
    }
    mortise_buf_finish(&b);
    return good;
}

static bool call_json_marshal(CEL_PARAMS)
{
    json_t *v;
    bool good;

    if (!mortise_cel_to_json(c, args, &v))
        return false;
    good = write_json_text(c, v, out);
    json_decref(v);
    return good;
}

static void release_json(void *json)
{
    json_decref(json);
}

static bool call_json_unmarshal(CEL_PARAMS)
{
    json_t *v;
    int rv;

    if (!cel_charge(c, args->u.s.n))
        return false;
    rv = mortise_json_parse(&v, args->u.s.p, args->u.s.n, NULL);
    if (rv == MORTISE_OK) {
        rv = mortise_arena_cleanup(c->arena, release_json, v);
        if (rv != MORTISE_OK)
            json_decref(v);
    }
    if (rv != MORTISE_OK)
        return mortise_cel_fault(c, rv == MORTISE_ENOMEM ? CEL_MEMORY
                                                         : CEL_NO_JSON);
    *out = mortise_cel_from_json(v);
    return true;
}

static const struct cel_function rows[] = {
    CEL_FUNCTION("base64.encode", 1, CEL_GLOBAL, 0, STRING, call_base64_encode,
                 NULL, BYTES),
    CEL_FUNCTION("base64.decode", 1, CEL_GLOBAL, 0, BYTES, call_base64_decode,
                 NULL, STRING),
    CEL_FUNCTION("json.marshal", 1, CEL_GLOBAL, 0, STRING, call_json_marshal,
                 NULL, ANY),
    CEL_FUNCTION("json.unmarshal", 1, CEL_GLOBAL, 0, ANY & ~(BYTES | UINT),
                 call_json_unmarshal, NULL, STRING),
};

const struct cel_functions mortise_cel_encode_functions = {
    rows, sizeof rows / sizeof rows[0]};
