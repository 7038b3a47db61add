/* path.c -- dot-paths into a JSON value, and copy-on-write updates.
 *
 * Checkpoints, branches and the store thread hold references to a run's state,
 * which is a JSON value.  The cost of an update must depend on the change, not
 * on the size of the state.  So mortise_path_set() guarantees:
 *
 *   (1) No holder of the old root sees a change.  Only containers with a
 *       reference count of 1, all the way from the root, are changed in place.
 *   (2) Only the shared containers along the path are copied, each one level
 *       deep.
 *   (3) An update happens completely or not at all.  The whole path is checked
 *       first, copies are made from the leaf upwards, and the one change to an
 *       existing container comes last.
 *
 * A reference count of 1 that is ours cannot grow concurrently: only a holder
 * of a reference can take another one.
 */
#include "core/json/path.h"

#include <assert.h>
#include <string.h>

#include "core/base/utf8.h"

/* ---- parsing --------------------------------------------------------- */

struct parser {
    struct mortise_arena *arena;
    const char *start, *p, *end;
    struct mortise_path_step steps[MORTISE_PATH_STEPS];
    size_t n;
    struct mortise_err *err;
};

static int fail_path_syntax(const struct parser *ps, const char *words)
{
    return mortise_fail(ps->err, MORTISE_EINVAL, "column %zu: %s",
                        (size_t)(ps->p - ps->start) + 1, words);
}

static bool is_path_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_path_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_plain_member(const char *s, size_t n)
{
    if (n == 0 || !is_path_letter(s[0]))
        return false;
    for (size_t i = 1; i < n; i++)
        if (!is_path_letter(s[i]) && !is_path_digit(s[i]) && s[i] != '-')
            return false;
    return true;
}

static int add_step(struct parser *ps, const char *key, size_t index)
{
    if (ps->n == MORTISE_PATH_STEPS)
        return fail_path_syntax(ps, "the path has too many steps");
    ps->steps[ps->n++] = (struct mortise_path_step){key, index};
    return MORTISE_OK;
}

static int parse_member(struct parser *ps)
{
    const char *from = ps->p;
    char *key;

    if (ps->p == ps->end || !is_path_letter(*ps->p))
        return fail_path_syntax(ps, "expected a name");
    while (ps->p < ps->end &&
           (is_path_letter(*ps->p) || is_path_digit(*ps->p) || *ps->p == '-'))
        ps->p++;
    key = mortise_arena_strndup(ps->arena, from, (size_t)(ps->p - from));
    return key != NULL ? add_step(ps, key, 0) : mortise_nomem(ps->err);
}

/* Parse after the opening quote.  A backslash escapes a quote or itself. */
static int parse_key(struct parser *ps)
{
    char *key = mortise_arena_alloc(ps->arena, (size_t)(ps->end - ps->p) + 1);
    size_t n = 0;

    if (key == NULL)
        return mortise_nomem(ps->err);
    for (; ps->p < ps->end && *ps->p != '"'; ps->p++) {
        if (*ps->p == '\\' && ++ps->p < ps->end && *ps->p != '"' &&
            *ps->p != '\\')
            return fail_path_syntax(ps, "only \\\" and \\\\ are escapes here");
        if (ps->p == ps->end)
            break;
        if (*ps->p == '\0')
            return fail_path_syntax(ps, "a key cannot contain a NUL");
        key[n++] = *ps->p;
    }
    if (ps->p == ps->end)
        return fail_path_syntax(ps, "the key has no closing quote");
    if (!mortise_utf8_is_valid(key, n))
        return fail_path_syntax(ps, "the key is not valid UTF-8");
    ps->p++;
    return add_step(ps, key, 0);
}

static int parse_step_index(struct parser *ps)
{
    const char *from = ps->p;
    size_t index = 0;

    for (; ps->p < ps->end && is_path_digit(*ps->p); ps->p++) {
        index = 10 * index + (size_t)(*ps->p - '0');
        if (index > INT32_MAX)
            return fail_path_syntax(ps, "the index is too large");
    }
    if (ps->p == from)
        return fail_path_syntax(ps,
                                "expected an index or a key in double quotes");
    if (*from == '0' && ps->p - from > 1)
        return fail_path_syntax(ps, "an index cannot have leading zeros");
    return add_step(ps, NULL, index);
}

static int parse_brackets(struct parser *ps)
{
    int rv;

    ps->p++;
    if (ps->p < ps->end && *ps->p == '"') {
        ps->p++;
        rv = parse_key(ps);
    } else {
        rv = parse_step_index(ps);
    }
    if (rv != MORTISE_OK)
        return rv;
    if (ps->p == ps->end || *ps->p != ']')
        return fail_path_syntax(ps, "expected ']'");
    ps->p++;
    return MORTISE_OK;
}

static int parse_steps(struct parser *ps)
{
    int rv = parse_member(ps);

    while (rv == MORTISE_OK && ps->p < ps->end) {
        if (*ps->p == '[') {
            rv = parse_brackets(ps);
        } else if (*ps->p == '.') {
            ps->p++;
            rv = parse_member(ps);
        } else {
            rv = fail_path_syntax(ps, "expected '.' or '['");
        }
    }
    return rv;
}

static void print_path_step(struct mortise_buf *b,
                            const struct mortise_path_step *step)
{
    if (step->key == NULL) {
        mortise_buf_printf(b, "[%zu]", step->index);
    } else if (is_plain_member(step->key, strlen(step->key))) {
        mortise_buf_printf(b, b->n == 0 ? "%s" : ".%s", step->key);
    } else {
        mortise_buf_puts(b, "[\"");
        mortise_buf_put_escaped(b, step->key, strlen(step->key));
        mortise_buf_puts(b, "\"]");
    }
}

/* The canonical text of the path, in the arena; NULL: out of memory. */
static const char *print_path(const struct parser *ps)
{
    struct mortise_buf b;
    char *text = NULL;

    mortise_buf_init(&b, ps->arena->mem);
    for (size_t i = 0; i < ps->n; i++)
        print_path_step(&b, &ps->steps[i]);
    if (!b.failed)
        text = mortise_arena_strndup(ps->arena, b.p, b.n);
    mortise_buf_finish(&b);
    return text;
}

int mortise_path_parse(struct mortise_path *out, struct mortise_arena *a,
                       const char *text, size_t n, struct mortise_err *err)
{
    struct parser ps = {
        .arena = a, .start = text, .p = text, .end = text + n, .err = err};
    int rv = parse_steps(&ps);

    if (rv != MORTISE_OK)
        return rv;
    out->n = ps.n;
    out->steps = mortise_arena_alloc(a, ps.n * sizeof *ps.steps);
    out->text = print_path(&ps);
    if (out->steps == NULL || out->text == NULL)
        return mortise_nomem(err);
    memcpy(out->steps, ps.steps, ps.n * sizeof *ps.steps);
    return MORTISE_OK;
}

/* ---- reading --------------------------------------------------------- */

static json_t *step_into(const json_t *v, const struct mortise_path_step *step)
{
    return step->key != NULL ? json_object_get(v, step->key)
                             : json_array_get(v, step->index);
}

json_t *mortise_path_get(const json_t *root, const struct mortise_path *path)
{
    json_t *v = mortise_json_unconst(root);

    for (size_t i = 0; i < path->n && v != NULL; i++)
        v = step_into(v, &path->steps[i]);
    return v;
}

/* Other threads count references too, so load the count atomically,
 * like them. */
static bool is_sole_reference(const json_t *v)
{
    return __atomic_load_n(&v->refcount, __ATOMIC_ACQUIRE) == 1;
}

json_t *mortise_path_get_unshared(json_t *root, const struct mortise_path *path)
{
    json_t *v = root;

    for (size_t i = 0; i < path->n && v != NULL && is_sole_reference(v); i++)
        v = step_into(v, &path->steps[i]);
    return v != NULL && is_sole_reference(v) ? v : NULL;
}

static bool steps_equal(const struct mortise_path_step *a,
                        const struct mortise_path_step *b)
{
    if (a->key == NULL || b->key == NULL)
        return a->key == b->key && a->index == b->index;
    return strcmp(a->key, b->key) == 0;
}

bool mortise_path_is_prefix(const struct mortise_path *a,
                            const struct mortise_path *b)
{
    if (a->n > b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (!steps_equal(&a->steps[i], &b->steps[i]))
            return false;
    return true;
}

bool mortise_path_is_equal(const struct mortise_path *a,
                           const struct mortise_path *b)
{
    return a->n == b->n && mortise_path_is_prefix(a, b);
}

/* ---- writing --------------------------------------------------------- */

/* The containers along the path: at[i] is the one that step i leads into, NULL
 * from the first missing one on.  The first n_owned of them have no other
 * holder. */
struct walk {
    json_t *at[MORTISE_PATH_STEPS];
    size_t n_owned;
};

static const char *kind_name(const json_t *v)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array",
        [JSON_STRING] = "a string",  [JSON_INTEGER] = "an integer",
        [JSON_REAL] = "a number",    [JSON_TRUE] = "a boolean",
        [JSON_FALSE] = "a boolean",  [JSON_NULL] = "null"};

    return v != NULL ? names[json_typeof(v)] : "nothing";
}

/* Can step i be taken into v (NULL: a missing value)? */
static int check_path_step(const json_t *v, const struct mortise_path *path,
                           size_t i, struct mortise_err *err)
{
    const struct mortise_path_step *step = &path->steps[i];

    if (step->key != NULL) {
        if (v == NULL || json_is_object(v))
            return MORTISE_OK;
        return mortise_fail(err, MORTISE_EINVAL,
                            "%s: '%s' needs an object, found %s", path->text,
                            step->key, kind_name(v));
    }
    if (!json_is_array(v))
        return mortise_fail(err, MORTISE_EINVAL,
                            "%s: [%zu] needs an array, found %s", path->text,
                            step->index, kind_name(v));
    if (step->index > json_array_size(v))
        return mortise_fail(err, MORTISE_EINVAL,
                            "%s: [%zu] is beyond the array's %zu elements",
                            path->text, step->index, json_array_size(v));
    return MORTISE_OK;
}

static int walk_down(struct walk *w, json_t *root,
                     const struct mortise_path *path, struct mortise_err *err)
{
    bool owned = true;
    json_t *v = root;

    for (size_t i = 0; i < path->n; i++) {
        int rv = check_path_step(v, path, i, err);

        if (rv != MORTISE_OK)
            return rv;
        w->at[i] = v;
        owned = owned && v != NULL && is_sole_reference(v);
        w->n_owned += owned;
        v = v != NULL ? step_into(v, &path->steps[i]) : NULL;
    }
    return MORTISE_OK;
}

bool mortise_path_is_settable(const json_t *root,
                              const struct mortise_path *path)
{
    struct walk w = {.n_owned = 0};

    return walk_down(&w, mortise_json_unconst(root), path, NULL) == MORTISE_OK;
}

/* Set one child.  Takes the reference to `value`, also on failure. */
static int put_path_child(json_t *container,
                          const struct mortise_path_step *step, json_t *value)
{
    int failed;

    if (step->key != NULL)
        failed = json_object_set_new(container, step->key, value);
    else if (step->index < json_array_size(container))
        failed = json_array_set_new(container, step->index, value);
    else
        failed = json_array_append_new(container, value);
    return failed ? MORTISE_ENOMEM : MORTISE_OK;
}

/* A copy of the container (a new object if it is NULL) with `value` as a child.
 * Takes the reference to `value`.  NULL: out of memory. */
static json_t *copy_with_child(json_t *container,
                               const struct mortise_path_step *step,
                               json_t *value)
{
    json_t *copy = container != NULL ? json_copy(container) : json_object();

    if (copy == NULL) {
        json_decref(value);
        return NULL;
    }
    if (put_path_child(copy, step, value) != MORTISE_OK) {
        json_decref(copy);
        return NULL;
    }
    return copy;
}

int mortise_path_set(json_t **root, const struct mortise_path *path,
                     json_t *value, struct mortise_err *err)
{
    struct walk w = {.n_owned = 0};
    size_t i = path->n;
    int rv;

    /* guaranteed by the parser */
    assert(path->n > 0 && path->n <= MORTISE_PATH_STEPS);
    rv = walk_down(&w, *root, path, err);
    if (rv != MORTISE_OK) {
        json_decref(value);
        return rv;
    }
    for (; i > w.n_owned && value != NULL; i--)
        value = copy_with_child(w.at[i - 1], &path->steps[i - 1], value);
    if (value == NULL)
        return mortise_nomem(err);
    if (i == 0) {
        json_decref(*root);
        *root = value;
        return MORTISE_OK;
    }
    rv = put_path_child(w.at[i - 1], &path->steps[i - 1], value);
    return rv == MORTISE_OK ? rv : mortise_nomem(err);
}

/* ---- order --------------------------------------------------------------- */

static int compare_path_steps(const struct mortise_path_step *a,
                              const struct mortise_path_step *b)
{
    if (a->key != NULL && b->key != NULL)
        return strcmp(a->key, b->key);
    if (a->key == NULL && b->key == NULL)
        return (a->index > b->index) - (a->index < b->index);
    return a->key == NULL ? -1 : 1;
}

int mortise_path_compare(const struct mortise_path *a,
                         const struct mortise_path *b)
{
    for (size_t i = 0; i < a->n && i < b->n; i++) {
        int c = compare_path_steps(&a->steps[i], &b->steps[i]);

        if (c != 0)
            return c;
    }
    return (a->n > b->n) - (a->n < b->n);
}
