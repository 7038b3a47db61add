/* diff.c -- report the places at which two JSON values differ. */
#include "core/json/diff.h"

#include <stdio.h>

#include "core/base/err.h"

struct diff {
    mortise_json_diff_fn *differ;
    void *ud;
    struct mortise_buf pointer;
};

static void diff_json_values(struct diff *d, const json_t *a, const json_t *b);

static void diff_member(struct diff *d, const char *key, const json_t *a,
                        const json_t *b)
{
    size_t n = d->pointer.n;

    mortise_json_append_pointer(&d->pointer, key);
    diff_json_values(d, a, b);
    d->pointer.n = n;
}

static void diff_members(struct diff *d, const json_t *a, const json_t *b)
{
    MORTISE_JSON_MEMBERS (key, one, a)
        diff_member(d, key, one, json_object_get(b, key));
    MORTISE_JSON_MEMBERS (name, another, b)
        if (json_object_get(a, name) == NULL)
            diff_member(d, name, NULL, another);
}

static void diff_elements(struct diff *d, const json_t *a, const json_t *b)
{
    char index[24];

    MORTISE_JSON_EACH (one, i, a) {
        snprintf(index, sizeof index, "%zu", i);
        diff_member(d, index, one, json_array_get(b, i));
    }
}

static void diff_json_values(struct diff *d, const json_t *a, const json_t *b)
{
    const char *pointer;

    if (json_equal(a, b))
        return;
    if (json_is_object(a) && json_is_object(b)) {
        diff_members(d, a, b);
    } else if (json_is_array(a) && json_is_array(b) &&
               json_array_size(a) == json_array_size(b)) {
        diff_elements(d, a, b);
    } else {
        pointer = mortise_buf_cstr(&d->pointer);
        if (pointer != NULL)
            d->differ(d->ud, pointer, a, b);
    }
}

int mortise_json_diff(const json_t *a, const json_t *b,
                      const struct mortise_mem *mem,
                      mortise_json_diff_fn *differ, void *ud)
{
    struct diff d = {.differ = differ, .ud = ud};
    int rv;

    mortise_buf_init(&d.pointer, mem);
    diff_json_values(&d, a, b);
    rv = d.pointer.failed ? MORTISE_ENOMEM : MORTISE_OK;
    mortise_buf_finish(&d.pointer);
    return rv;
}
