/* fuzz_json.c -- bytes as JSON and as a path.
 *
 * What parses is written and read again: the same value, the same canonical
 * form.  The first byte says how the rest is cut. */
#include <assert.h>
#include <string.h>

#include "core/json/path.h"
#include "core/json/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Canonical, written, read and canonical again. */
static void round_trip(const json_t *v)
{
    struct mortise_buf first, text, second;
    json_t *back;

    mortise_buf_init(&first, &mortise_heap);
    mortise_buf_init(&text, &mortise_heap);
    mortise_buf_init(&second, &mortise_heap);
    assert(mortise_json_write_canonical(&first, v) == MORTISE_OK);
    assert(mortise_json_write(&text, v) == MORTISE_OK);
    assert(mortise_json_parse(&back, text.p, text.n, NULL) == MORTISE_OK);
    assert(mortise_json_write_canonical(&second, back) == MORTISE_OK);
    assert(first.n == second.n && memcmp(first.p, second.p, first.n) == 0);
    json_decref(back);
    mortise_buf_finish(&first);
    mortise_buf_finish(&text);
    mortise_buf_finish(&second);
}

/* Set and get at a path, with the old root held. */
static void at_path(struct mortise_arena *a, json_t *v, const char *text,
                    size_t n)
{
    struct mortise_path path, again;
    json_t *root = json_incref(v), *copy = json_deep_copy(v);

    if (mortise_path_parse(&path, a, text, n, NULL) == MORTISE_OK) {
        assert(mortise_path_parse(&again, a, path.text, strlen(path.text),
                                  NULL) == MORTISE_OK);
        assert(mortise_path_is_equal(&path, &again));
        if (mortise_path_set(&root, &path, json_integer(7), NULL) == MORTISE_OK)
            assert(json_integer_value(mortise_path_get(root, &path)) == 7);
        assert(json_equal(v, copy));
    }
    json_decref(copy);
    json_decref(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data + 1;
    struct mortise_arena a;
    struct mortise_err err;
    size_t cut;
    json_t *v;

    if (size == 0)
        return 0;
    cut = data[0] < size ? data[0] : size - 1;
    mortise_arena_init(&a, &mortise_heap);
    if (mortise_json_parse(&v, text + cut, size - 1 - cut, &err) ==
        MORTISE_OK) {
        round_trip(v);
        at_path(&a, v, text, cut);
        json_decref(v);
    }
    mortise_arena_finish(&a);
    return 0;
}
