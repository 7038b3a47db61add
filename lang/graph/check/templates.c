/* templates.c -- names in the templates of an operation: {{name}}, {{#name}} ...
 *
 * An operation may fill texts with values of its own, as text/template does, and
 * says so in its input_schema: `x-template: values` beside the property of a text
 * says that names in it are members of the argument `values`.  Those of a text
 * that stands in the graph are looked up here as the plugin will, innermost
 * context first: a section of a list is one of its elements, that of an object
 * the object, and any other opens none.  What is not known may be anything, and
 * so is each name in a section of it.
 */
#include "lang/graph/check/names.h"

#include <string.h>

enum { SECTIONS = 32, LONGEST = 200 };

/* A context: the values themselves, a place, or (both NULL) anything. */
struct context {
    const struct mortise_yaml *values;
    const void *place;
};

struct section {
    const char *name; /* in the text */
    size_t n;
    size_t contexts; /* around it */
};

struct filled {
    struct names *names;
    const struct mortise_node *node;
    struct mortise_loader *ld;
    const struct mortise_yaml *text;
    struct context contexts[SECTIONS + 1];
    struct section sections[SECTIONS];
    size_t n_contexts, n_sections;
};

/* ---- values ---------------------------------------------------------------- */

struct seeker {
    const struct mortise_yaml *at;
    const struct mortise_expr *expr; /* that fills it, or NULL */
};

static void seek(void *ud, const struct mortise_tmpl_place *p)
{
    struct seeker *k = ud;

    if (p->at == k->at)
        k->expr = p->expr;
}

/* What a value that is written in the arguments is: a mapping, or what an
 * expression gives.  False: neither, so nothing is in it. */
static bool context_of(struct filled *f, const struct mortise_yaml *v,
                       struct context *out)
{
    struct seeker k = {.at = v};

    *out = (struct context){NULL, NULL};
    mortise_tmpl_each(f->node->args, NULL, seek, &k);
    if (k.expr != NULL) {
        out->place = mortise_names_place(f->names, f->node->index, k.expr);
        return true;
    }
    if (v->kind == MORTISE_YAML_MAP)
        out->values = v;
    return v->kind == MORTISE_YAML_MAP || v->kind == MORTISE_YAML_SEQ;
}

/* What became of a name. */
enum found { NOT_THERE, VAGUE, THERE };

/* A member of a context; *out is there with THERE, and what it opens as a
 * section is so, if `opens`. */
static enum found step(struct filled *f, struct context in, const char *name,
                       struct context *out, bool *opens)
{
    const struct mortise_yaml *v;
    bool missing;

    *opens = true;
    if (in.values != NULL) {
        v = mortise_yaml_get(in.values, name);
        if (v == NULL)
            return NOT_THERE;
        *opens = context_of(f, v, out);
        return THERE;
    }
    if (in.place == NULL)
        return VAGUE;
    *out = (struct context){NULL, NULL};
    out->place = mortise_names_member(f->names, in.place, name, &missing);
    return missing ? NOT_THERE : THERE;
}

/* ---- names ----------------------------------------------------------------- */

/* Cut the first word off, at a point. */
static const char *first_word(char word[LONGEST], const char *name, size_t *n)
{
    size_t len = 0;

    while (len < *n && name[len] != '.')
        len++;
    memcpy(word, name, len);
    word[len] = '\0';
    *n -= len < *n ? len + 1 : len;
    return name + len + (*n > 0);
}

/* a.b.c, from the innermost context that has its first word. */
static enum found look_up(struct filled *f, const char *name, size_t n,
                          struct context *out, bool *opens)
{
    char word[LONGEST];
    const char *rest = first_word(word, name, &n);
    enum found found = NOT_THERE;

    for (size_t i = f->n_contexts; i > 0 && found == NOT_THERE; i--)
        found = step(f, f->contexts[i - 1], word, out, opens);
    while (found == THERE && n > 0) {
        struct context in = *out;

        if (!*opens)
            return NOT_THERE;
        rest = first_word(word, rest, &n);
        found = step(f, in, word, out, opens);
    }
    return found;
}

static void report(struct filled *f, const char *name, size_t n, bool closes)
{
    char text[LONGEST];
    const struct mortise_yaml *values = f->contexts[0].values;
    struct mortise_diag *d;
    const char *near;
    size_t len = n;

    memcpy(text, name, n);
    text[n] = '\0';
    d = mortise_diag_add(
        f->ld->diags, "W0416",
        mortise_yaml_scalar_position(f->text, (size_t)(name - f->text->str), n),
        closes ? "'%s' does not close the section that was opened last"
               : "the template has no value '%s'",
        text);
    first_word(text, name, &len);
    near =
        values != NULL && !closes ? mortise_names_nearest(values, text) : NULL;
    if (near != NULL && strcmp(near, text) != 0)
        mortise_diag_help(f->ld->diags, d, "did you mean '%s'?", near);
}

/* ---- sections ---------------------------------------------------------------- */

static void open_section(struct filled *f, const char *name, size_t n,
                         const struct context *c)
{
    f->sections[f->n_sections++] = (struct section){name, n, f->n_contexts};
    if (c != NULL)
        f->contexts[f->n_contexts++] = *c;
}

static void close_section(struct filled *f, const char *name, size_t n)
{
    const struct section *last =
        f->n_sections > 0 ? &f->sections[f->n_sections - 1] : NULL;

    if (last == NULL || last->n != n || memcmp(last->name, name, n) != 0)
        report(f, name, n, true);
    if (last == NULL)
        return;
    f->n_contexts = last->contexts;
    f->n_sections--;
}

/* {{#name}}: in a list, one of its elements. */
static void enter(struct filled *f, const char *name, size_t n,
                  enum found found, struct context c, bool opens)
{
    bool is_object = true;

    if (found == THERE && opens && c.place != NULL)
        c.place = mortise_names_inside(f->names, c.place, &is_object);
    if (found != THERE)
        c = (struct context){NULL, NULL};
    open_section(f, name, n,
                 found != THERE || (opens && is_object) ? &c : NULL);
}

/* False: too many sections, or too long a name; the plugin will say. */
static bool tag(struct filled *f, char kind, const char *name, size_t n)
{
    struct context c = {NULL, NULL};
    bool opens = false;
    enum found found;

    if (n == 0 || n >= LONGEST || f->n_sections == SECTIONS)
        return false;
    if (n == 1 && name[0] == '.')
        return true;
    if (kind == '/') {
        close_section(f, name, n);
        return true;
    }
    found = look_up(f, name, n, &c, &opens);
    if (found == NOT_THERE)
        report(f, name, n, false);
    if (kind == '#')
        enter(f, name, n, found == NOT_THERE ? VAGUE : found, c, opens);
    else if (kind == '^')
        open_section(f, name, n, NULL);
    return true;
}

static void check_text(struct filled *f)
{
    const char *at = f->text->str, *end;
    bool goes_on = true;

    while (goes_on && (at = strstr(at, "{{")) != NULL &&
           (end = strstr(at, "}}")) != NULL) {
        const char *name = at + 2;
        char kind = strchr("#^/!", *name) != NULL ? *name++ : ' ';
        size_t n;

        name += strspn(name, " ");
        n = strcspn(name, " }");
        at = end;
        goes_on = kind == '!' || tag(f, kind, name, n);
    }
}

/* ---- entry -------------------------------------------------------------------- */

void mortise_check_templates(struct names *names, struct mortise_loader *ld,
                             const struct mortise_node *node)
{
    const json_t *members =
        json_object_get(mortise_schema_json(node->op->input), "properties");
    const struct mortise_yaml *args = mortise_tmpl_yaml(node->args);

    MORTISE_JSON_MEMBERS (key, schema, members) {
        const char *of =
            json_string_value(json_object_get(schema, "x-template"));
        struct filled f = {.names = names, .node = node, .ld = ld};
        const struct mortise_yaml *values;

        f.text = of != NULL ? mortise_yaml_get(args, key) : NULL;
        values = of != NULL ? mortise_yaml_get(args, of) : NULL;
        if (f.text == NULL || f.text->kind != MORTISE_YAML_STRING ||
            values == NULL || mortise_tmpl_in(f.text) ||
            !context_of(&f, values, &f.contexts[0]))
            continue;
        f.n_contexts = 1;
        check_text(&f);
    }
}
