#include "opaque.h"

#include <stdlib.h>
#include <string.h>

#include "fits.h"

enum {
    MEMBERS_MAX = 64,    /* of one object; others are left out */
    BYTES_MAX = 4 << 20, /* of all that is kept; what is more is left out */
    DEPTH_MAX = 48 /* deeper pieces are not put together: the last counts */
};

/* ---- what is kept -------------------------------------------------------- */

void opaque_finish(struct opaque *o)
{
    for (size_t i = 0; i < o->n; i++) {
        bytes_free(&o->list[i].name);
        bytes_free(&o->list[i].values);
    }
    free(o->list);
    *o = (struct opaque){.list = NULL};
}

static bool is_known(mortise_jv name, const char *const *known)
{
    for (; *known != NULL; known++)
        if (mortise_jv_is(name, mortise_strz(*known)))
            return true;
    return false;
}

static bool is_empty(mortise_jv v)
{
    switch (mortise_jv_type(v)) {
    case MORTISE_JV_NONE:
    case MORTISE_JV_NULL:
        return true;
    case MORTISE_JV_STRING:
        return v.n <= 2;
    case MORTISE_JV_ARRAY:
    case MORTISE_JV_OBJECT:
        return mortise_jv_count(v) == 0;
    default:
        return false;
    }
}

static bool is_same(mortise_jv a, mortise_jv b)
{
    return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

static mortise_jv value_of(const struct bytes *b)
{
    return (mortise_jv){b->p, b->n};
}

/* The member of that name, or a new one; NULL: no memory, or one too many. */
static struct opaque_member *member_of(struct opaque *o, mortise_jv name,
                                       mortise_status *status)
{
    struct opaque_member *list;

    for (size_t i = 0; i < o->n; i++)
        if (is_same(value_of(&o->list[i].name), name))
            return &o->list[i];
    if (o->n == MEMBERS_MAX)
        return NULL;
    list = realloc(o->list, (o->n + 1) * sizeof *list);
    if (list == NULL) {
        *status = MORTISE_S_NOMEM;
        return NULL;
    }
    o->list = list;
    list[o->n] = (struct opaque_member){.n = 0};
    *status = bytes_put(&list[o->n].name, mortise_strn(name.p, name.n));
    return *status == MORTISE_S_OK ? &list[o->n++] : NULL;
}

static mortise_status add(struct opaque *o, mortise_jv name, mortise_jv value)
{
    mortise_status status = MORTISE_S_OK;
    struct opaque_member *m;

    if (value.n > BYTES_MAX - o->bytes)
        return status;
    m = member_of(o, name, &status);
    if (m == NULL)
        return status;
    status = bytes_put(&m->values, mortise_strz(m->n == 0 ? "[" : ","));
    if (status == MORTISE_S_OK)
        status = bytes_put(&m->values, mortise_strn(value.p, value.n));
    m->n++;
    o->bytes += value.n;
    return status;
}

mortise_status opaque_take(struct opaque *o, mortise_jv object,
                           const char *const *known)
{
    mortise_jv_iter it = mortise_jv_each(object);
    mortise_status status = MORTISE_S_OK;
    mortise_jv name, value;

    if (!it.is_object)
        return MORTISE_S_OK;
    while (status == MORTISE_S_OK && mortise_jv_next(&it, &name, &value))
        if (!is_known(name, known) && !is_empty(value))
            status = add(o, name, value);
    return status;
}

/* ---- pieces become one --------------------------------------------------- */

/* Pieces of one value, in their order. */
struct pieces {
    mortise_jv *list;
    size_t n;
};

/* Each of these leaves what went wrong in w->status. */
static void fold(mortise_jw *w, struct pieces p, bool joins, unsigned depth);

/* A list of n values; with room for at least one. */
static mortise_jv *room_for(size_t n)
{
    return malloc((n + 1) * sizeof(mortise_jv));
}

static bool ends_with(mortise_jv name, const char *end)
{
    size_t n = strlen(end);

    return name.n >= n + 2 && memcmp(name.p + name.n - 1 - n, end, n) == 0;
}

/* Do strings of that member come in pieces? */
static bool is_joined(mortise_jv name)
{
    static const char *const whole[] = {"id",     "name",  "type",   "format",
                                        "object", "model", "status", NULL};

    return !is_known(name, whole) && !ends_with(name, "signature");
}

static void join(mortise_jw *w, struct pieces p)
{
    struct bytes all = {.p = NULL};
    mortise_status status = MORTISE_S_OK;

    for (size_t i = 0; i < p.n && status == MORTISE_S_OK; i++)
        status = bytes_decode(&all, p.list[i]);
    if (status == MORTISE_S_OK)
        mortise_jw_string(w, bytes_str(&all));
    else
        w->status = status;
    bytes_free(&all);
}

static void put_key(mortise_jw *w, mortise_jv name)
{
    struct bytes text = {.p = NULL};

    if (bytes_decode(&text, name) == MORTISE_S_OK)
        mortise_jw_keyn(w, bytes_str(&text));
    else
        w->status = MORTISE_S_NOMEM;
    bytes_free(&text);
}

/* The names of all these objects, each once. */
static size_t names_of(struct pieces p, mortise_jv names[MEMBERS_MAX])
{
    size_t n = 0, k;

    for (size_t i = 0; i < p.n; i++) {
        mortise_jv_iter it = mortise_jv_each(p.list[i]);
        mortise_jv name, value;

        while (n < MEMBERS_MAX && mortise_jv_next(&it, &name, &value)) {
            for (k = 0; k < n && !is_same(names[k], name); k++)
                ;
            if (k == n)
                names[n++] = name;
        }
    }
    return n;
}

/* The values of that member, but null. */
static void gather(struct pieces p, mortise_jv name, struct pieces *out)
{
    out->n = 0;
    for (size_t i = 0; i < p.n; i++) {
        mortise_jv_iter it = mortise_jv_each(p.list[i]);
        mortise_jv key, value, found = mortise_jv_none();

        while (mortise_jv_next(&it, &key, &value))
            if (is_same(key, name))
                found = value;
        if (mortise_jv_type(found) > MORTISE_JV_NULL)
            out->list[out->n++] = found;
    }
}

/* p.n > 1, as in those below */
static void fold_objects(mortise_jw *w, struct pieces p, unsigned depth)
{
    mortise_jv names[MEMBERS_MAX];
    struct pieces values = {.list = room_for(p.n)};
    size_t n = values.list != NULL ? names_of(p, names) : 0;

    if (values.list == NULL)
        w->status = MORTISE_S_NOMEM;
    mortise_jw_object(w);
    for (size_t i = 0; i < n; i++) {
        gather(p, names[i], &values);
        if (values.n == 0)
            continue;
        put_key(w, names[i]);
        fold(w, values, is_joined(names[i]), depth + 1);
    }
    mortise_jw_end(w);
    free(values.list);
}

/* An element of a list. */
struct element {
    mortise_jv value, type;
    int64_t index;
    bool indexed;
    size_t order;
};

static int compare_texts(mortise_jv a, mortise_jv b)
{
    uint64_t n = a.n < b.n ? a.n : b.n;
    int order = n > 0 ? memcmp(a.p, b.p, n) : 0;

    return order != 0 ? order : (a.n > b.n) - (a.n < b.n);
}

/* Those with an index first; the same element's pieces beside each other. */
static int compare(const void *x, const void *y)
{
    const struct element *a = x, *b = y;
    int order = (int)b->indexed - (int)a->indexed;

    if (order == 0 && a->indexed)
        order = (a->index > b->index) - (a->index < b->index);
    if (order == 0 && a->indexed)
        order = compare_texts(a->type, b->type);
    return order != 0 ? order : (a->order > b->order) - (a->order < b->order);
}

static bool is_one(const struct element *a, const struct element *b)
{
    return a->indexed && b->indexed && a->index == b->index &&
           compare_texts(a->type, b->type) == 0;
}

static struct element *elements_of(struct pieces p, size_t *n)
{
    struct element *out;
    size_t count = 0;

    for (size_t i = 0; i < p.n; i++)
        count += mortise_jv_count(p.list[i]);
    out = calloc(count + 1, sizeof *out);
    *n = 0;
    for (size_t i = 0; i < p.n && out != NULL; i++) {
        mortise_jv_iter it = mortise_jv_each(p.list[i]);
        struct element *e = &out[*n];

        for (; *n < count && mortise_jv_next(&it, NULL, &e->value); e++) {
            e->order = (*n)++;
            e->type = mortise_jv_get(e->value, "type");
            e->indexed = mortise_jv_int(mortise_jv_get(e->value, "index"),
                                        &e->index) == MORTISE_S_OK;
        }
    }
    return out;
}

static void fold_arrays(mortise_jw *w, struct pieces p, unsigned depth)
{
    size_t n, k;
    struct element *all = elements_of(p, &n);
    struct pieces one = {.list = all != NULL ? room_for(n) : NULL};

    if (one.list == NULL)
        w->status = MORTISE_S_NOMEM;
    else
        qsort(all, n, sizeof *all, compare);
    mortise_jw_array(w);
    for (size_t i = 0; one.list != NULL && i < n; i = k) {
        one.n = 0;
        for (k = i; k < n && (k == i || is_one(&all[i], &all[k])); k++)
            one.list[one.n++] = all[k].value;
        fold(w, one, false, depth + 1);
    }
    mortise_jw_end(w);
    free(one.list);
    free(all);
}

static bool are_alike(struct pieces p)
{
    for (size_t i = 1; i < p.n; i++)
        if (mortise_jv_type(p.list[i]) != mortise_jv_type(p.list[0]))
            return false;
    return true;
}

/* p.n > 0.  What cannot be put together is its last piece. */
static void fold(mortise_jw *w, struct pieces p, bool joins, unsigned depth)
{
    mortise_jv last = p.list[p.n - 1];
    bool merges = p.n > 1 && depth < DEPTH_MAX && are_alike(p);

    if (merges && mortise_jv_type(last) == MORTISE_JV_OBJECT)
        fold_objects(w, p, depth);
    else if (merges && mortise_jv_type(last) == MORTISE_JV_ARRAY)
        fold_arrays(w, p, depth);
    else if (merges && joins && mortise_jv_type(last) == MORTISE_JV_STRING)
        join(w, p);
    else
        mortise_jw_value(w, last);
}

/* ---- the object ---------------------------------------------------------- */

static void write_member(mortise_jw *w, const struct opaque_member *m)
{
    struct bytes list = {.p = NULL};
    struct pieces p = {.list = room_for(m->n)};
    mortise_jv_iter it;

    if (p.list == NULL || bytes_put(&list, bytes_str(&m->values)) != 0 ||
        bytes_put(&list, mortise_strz("]")) != 0) {
        w->status = MORTISE_S_NOMEM;
    } else {
        it = mortise_jv_each(value_of(&list));
        while (p.n < m->n && mortise_jv_next(&it, NULL, &p.list[p.n]))
            p.n++;
        put_key(w, value_of(&m->name));
        fold(w, p, is_joined(value_of(&m->name)), 0);
    }
    free(p.list);
    bytes_free(&list);
}

mortise_status opaque_write(mortise_jw *w, const char *name,
                            const struct opaque *o)
{
    mortise_status status;
    mortise_str text;
    mortise_jw object;

    if (o->n == 0)
        return MORTISE_S_OK;
    mortise_jw_growing(&object, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&object);
    for (size_t i = 0; i < o->n; i++)
        write_member(&object, &o->list[i]);
    mortise_jw_end(&object);
    status = mortise_jw_finish(&object, &text);
    if (status == MORTISE_S_OK)
        status = fits_host(mortise_jv_of(text));
    if (status == MORTISE_S_OK) {
        mortise_jw_key(w, name);
        mortise_jw_value(w, mortise_jv_of(text));
    }
    free(object.p);
    return status == MORTISE_S_NOMEM ? status : MORTISE_S_OK;
}
