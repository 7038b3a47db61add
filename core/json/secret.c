/* secret.c -- references to secrets in values, and the places that allow them.
 *
 * Values with references are written, stored, shown and digested; the secret is
 * filled in at the last moment, when a value is sent.  So references, and the
 * places that allow them, must be unambiguous:
 *
 *   (1) A reference ends its string, and begins it or follows a blank.  So
 *       there is no doubt about the end of the name.
 *   (2) A mark counts only if a value leads to it without a choice.  Below
 *       anyOf, $ref and similar keywords, a place would depend on the value;
 *       such marks are counted as lost, and the code that reads the schema
 *       rejects it.
 */
#include "core/json/secret.h"

#include <string.h>

static const char scheme[] = "secret://";

/* ---- references --------------------------------------------------------- */

static bool is_secret_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

bool mortise_secret_is_name(const char *name)
{
    size_t n = 0;

    if (strchr("._-", name[0]) != NULL) /* also true for the NUL of "" */
        return false;
    while (n < MORTISE_SECRET_NAME && is_secret_name_char(name[n]))
        n++;
    return name[n] == '\0';
}

bool mortise_secret_has_ref(const char *s)
{
    return strstr(s, scheme) != NULL;
}

const char *mortise_secret_get_name(const char *s)
{
    const char *at = strstr(s, scheme);

    if (at == NULL || (at != s && at[-1] != ' '))
        return NULL;
    at += sizeof scheme - 1;
    return mortise_secret_is_name(at) ? at : NULL;
}

json_t *mortise_secret_substitute(const struct mortise_mem *mem, const char *s,
                                  const char *value)
{
    size_t lead = (size_t)(strstr(s, scheme) - s);
    size_t n = lead + strlen(value);
    char *text = mortise_alloc(mem, n + 1);
    json_t *out;

    if (text == NULL)
        return NULL;
    memcpy(text, s, lead);
    strcpy(text + lead, value);
    out = json_stringn(text, n);
    explicit_bzero(text, n);
    mortise_release(mem, text, n + 1);
    return out;
}

/* ---- places ------------------------------------------------------------- */

struct places {
    struct mortise_arena *arena;
    struct mortise_buf pointer;
    const char **list;
    size_t n, cap;
    bool nomem;
};

static bool is_secret_schema(const json_t *schema)
{
    return json_is_true(json_object_get(schema, "x-secret"));
}

/* Count the marks of a schema at any place. */
static size_t count_marks(const json_t *v)
{
    size_t n = is_secret_schema(v);

    MORTISE_JSON_MEMBERS (key, item, v)
        n += count_marks(item);
    MORTISE_JSON_EACH (item, i, v)
        n += count_marks(item);
    return n;
}

static void add_secret_place(struct places *p)
{
    const char *text = mortise_buf_cstr(&p->pointer);

    if (text != NULL)
        text = mortise_arena_strdup(p->arena, text);
    if (text == NULL)
        p->nomem = true;
    else
        p->list[p->n++] = text;
}

static void find_secret_places(struct places *p, json_t *schema);

static void find_places_below(struct places *p, const char *token,
                              json_t *schema)
{
    size_t before = p->pointer.n;

    if (token != NULL)
        mortise_json_append_pointer(&p->pointer, token);
    else
        mortise_buf_puts(&p->pointer, "/~2");
    find_secret_places(p, schema);
    p->pointer.n = before;
}

static void find_secret_places(struct places *p, json_t *schema)
{
    if (!json_is_object(schema))
        return;
    if (is_secret_schema(schema) && p->n < p->cap)
        add_secret_place(p);
    MORTISE_JSON_MEMBERS (key, item, json_object_get(schema, "properties"))
        find_places_below(p, key, item);
    find_places_below(p, NULL, json_object_get(schema, "additionalProperties"));
    find_places_below(p, NULL, json_object_get(schema, "items"));
}

int mortise_secret_places(struct mortise_secret_places *out, size_t *lost,
                          struct mortise_arena *a, const json_t *schema)
{
    struct places p = {.arena = a};
    json_t *root = mortise_json_unconst(schema);

    *out = (struct mortise_secret_places){0};
    p.cap = count_marks(root);
    *lost = 0;
    if (p.cap == 0)
        return MORTISE_OK;
    p.list = mortise_arena_alloc(a, p.cap * sizeof *p.list);
    if (p.list == NULL)
        return MORTISE_ENOMEM;
    mortise_buf_init(&p.pointer, a->mem);
    find_secret_places(&p, root);
    p.nomem |= p.pointer.failed;
    mortise_buf_finish(&p.pointer);
    *lost = p.cap - p.n;
    out->list = p.list;
    out->n = p.n;
    return p.nomem ? MORTISE_ENOMEM : MORTISE_OK;
}

static bool matches_place(const char *place, const char *pointer)
{
    while (*place == '/' && *pointer == '/') {
        size_t want = strcspn(++place, "/"), got = strcspn(++pointer, "/");
        bool any = want == 2 && strncmp(place, "~2", 2) == 0;

        if (!any && (want != got || strncmp(place, pointer, want) != 0))
            return false;
        place += want;
        pointer += got;
    }
    return *place == '\0' && *pointer == '\0';
}

bool mortise_secret_is_allowed_at(const struct mortise_secret_places *places,
                                  const char *pointer)
{
    for (size_t i = 0; i < places->n; i++)
        if (matches_place(places->list[i], pointer))
            return true;
    return false;
}

/* ---- strings ------------------------------------------------------------ */

struct walk {
    struct mortise_buf pointer;
    mortise_secret_fn *fn;
    void *ud;
};

static int visit_secret_value(struct walk *w, json_t *v);

/* Visit one child of a container.  The callback may replace it. */
static int visit_child(struct walk *w, json_t **item)
{
    const char *pointer;

    if (!json_is_string(*item))
        return visit_secret_value(w, *item);
    if (!mortise_secret_has_ref(json_string_value(*item)))
        return MORTISE_OK;
    pointer = mortise_buf_cstr(&w->pointer);
    return pointer != NULL ? w->fn(w->ud, pointer, item) : MORTISE_ENOMEM;
}

static int walk_members(struct walk *w, json_t *object)
{
    void *it;
    int rv = MORTISE_OK;

    for (it = json_object_iter(object); it != NULL && rv == MORTISE_OK;
         it = json_object_iter_next(object, it)) {
        json_t *before = json_object_iter_value(it), *item = before;
        size_t n = w->pointer.n;

        mortise_json_append_pointer(&w->pointer, json_object_iter_key(it));
        rv = visit_child(w, &item);
        w->pointer.n = n;
        if (item != before && json_object_iter_set_new(object, it, item) != 0)
            return MORTISE_ENOMEM;
    }
    return rv;
}

static int walk_elements(struct walk *w, json_t *array)
{
    int rv = MORTISE_OK;

    for (size_t i = 0; i < json_array_size(array) && rv == MORTISE_OK; i++) {
        json_t *before = json_array_get(array, i), *item = before;
        size_t n = w->pointer.n;

        mortise_buf_printf(&w->pointer, "/%zu", i);
        rv = visit_child(w, &item);
        w->pointer.n = n;
        if (item != before && json_array_set_new(array, i, item) != 0)
            return MORTISE_ENOMEM;
    }
    return rv;
}

static int visit_secret_value(struct walk *w, json_t *v)
{
    if (json_is_object(v))
        return walk_members(w, v);
    return json_is_array(v) ? walk_elements(w, v) : MORTISE_OK;
}

int mortise_secret_for_each(json_t *value, const struct mortise_mem *mem,
                            mortise_secret_fn *fn, void *ud)
{
    struct walk w = {.fn = fn, .ud = ud};
    int rv;

    mortise_buf_init(&w.pointer, mem);
    rv = visit_secret_value(&w, value);
    mortise_buf_finish(&w.pointer);
    return rv;
}
