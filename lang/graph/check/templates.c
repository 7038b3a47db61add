/* templates.c -- names in the templates of an operation: {{name}}, {{#name}}
 * ...
 *
 * An operation may fill texts with values of its own, as text/template does.
 * It declares this in its input_schema: `x-template: values` at the property of
 * a text means that names in the text are members of the argument `values`.
 * The names in a literal text are looked up here as the plugin does it,
 * innermost context first.  A section of a list has one of its elements as its
 * context, a section of an object the object, and any other section none.  An
 * unknown value may be anything, and so may every name in its section.
 */
#include "lang/graph/check/names.h"

#include <string.h>

enum { SECTIONS = 32, LONGEST = 200 };

/* A context: literal values, a place, or (both NULL) anything. */
struct context {
    const struct mortise_yaml *values;
    const void *place;
};

struct section {
    const char *name; /* in the text */
    size_t n;
    size_t contexts; /* number of contexts around it */
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
    const struct mortise_expr *expr; /* the expression for the value, or NULL */
};

static void match_template_place(void *ud, const struct mortise_tmpl_place *p)
{
    struct seeker *k = ud;

    if (p->at == k->at)
        k->expr = p->expr;
}

/* The context of a value in the arguments: a mapping, or the place of an
 * expression.  False: the value is neither, so it has no members. */
static bool get_context(struct filled *f, const struct mortise_yaml *v,
                        struct context *out)
{
    struct seeker k = {.at = v};

    *out = (struct context){NULL, NULL};
    mortise_tmpl_for_each_place(f->node->args, NULL, match_template_place, &k);
    if (k.expr != NULL) {
        out->place = mortise_names_get_place(f->names, f->node->index, k.expr);
        return true;
    }
    if (v->kind == MORTISE_YAML_MAP)
        out->values = v;
    return v->kind == MORTISE_YAML_MAP || v->kind == MORTISE_YAML_SEQ;
}

/* The result of looking up a name. */
enum found { NOT_THERE, VAGUE, THERE };

/* Find a member of a context.  With THERE, *out is its context, which is a
 * section if *opens. */
static enum found find_context_member(struct filled *f, struct context in,
                                      const char *name, struct context *out,
                                      bool *opens)
{
    const struct mortise_yaml *v;
    bool missing;

    *opens = true;
    if (in.values != NULL) {
        v = mortise_yaml_get(in.values, name);
        if (v == NULL)
            return NOT_THERE;
        *opens = get_context(f, v, out);
        return THERE;
    }
    if (in.place == NULL)
        return VAGUE;
    *out = (struct context){NULL, NULL};
    out->place = mortise_names_get_member(f->names, in.place, name, &missing);
    return missing ? NOT_THERE : THERE;
}

/* ---- names ----------------------------------------------------------------- */

/* Copy the first word, up to a '.', and return the rest. */
static const char *copy_first_word(char word[LONGEST], const char *name,
                                   size_t *n)
{
    size_t len = 0;

    while (len < *n && name[len] != '.')
        len++;
    memcpy(word, name, len);
    word[len] = '\0';
    *n -= len < *n ? len + 1 : len;
    return name + len + (*n > 0);
}

/* Look up a.b.c, in the innermost context that has its first word. */
static enum found look_up_name(struct filled *f, const char *name, size_t n,
                               struct context *out, bool *opens)
{
    char word[LONGEST];
    const char *rest = copy_first_word(word, name, &n);
    enum found found = NOT_THERE;

    for (size_t i = f->n_contexts; i > 0 && found == NOT_THERE; i--)
        found = find_context_member(f, f->contexts[i - 1], word, out, opens);
    while (found == THERE && n > 0) {
        struct context in = *out;

        if (!*opens)
            return NOT_THERE;
        rest = copy_first_word(word, rest, &n);
        found = find_context_member(f, in, word, out, opens);
    }
    return found;
}

static void report_template_name(struct filled *f, const char *name, size_t n,
                                 bool closes)
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
    copy_first_word(text, name, &len);
    near = values != NULL && !closes ? mortise_names_find_nearest(values, text)
                                     : NULL;
    if (near != NULL && strcmp(near, text) != 0)
        mortise_diag_help(f->ld->diags, d, "did you mean '%s'?", near);
}

/* ---- sections ---------------------------------------------------------------- */

static void push_section(struct filled *f, const char *name, size_t n,
                         const struct context *c)
{
    f->sections[f->n_sections++] = (struct section){name, n, f->n_contexts};
    if (c != NULL)
        f->contexts[f->n_contexts++] = *c;
}

static void pop_section(struct filled *f, const char *name, size_t n)
{
    const struct section *last =
        f->n_sections > 0 ? &f->sections[f->n_sections - 1] : NULL;

    if (last == NULL || last->n != n || memcmp(last->name, name, n) != 0)
        report_template_name(f, name, n, true);
    if (last == NULL)
        return;
    f->n_contexts = last->contexts;
    f->n_sections--;
}

/* {{#name}}: for a list, the context is one of its elements. */
static void enter_section(struct filled *f, const char *name, size_t n,
                          enum found found, struct context c, bool opens)
{
    bool is_object = true;

    if (found == THERE && opens && c.place != NULL)
        c.place = mortise_names_get_element(f->names, c.place, &is_object);
    if (found != THERE)
        c = (struct context){NULL, NULL};
    push_section(f, name, n,
                 found != THERE || (opens && is_object) ? &c : NULL);
}

/* False: too many sections, or too long a name.  The plugin reports that. */
static bool check_template_tag(struct filled *f, char kind, const char *name,
                               size_t n)
{
    struct context c = {NULL, NULL};
    bool opens = false;
    enum found found;

    if (n == 0 || n >= LONGEST || f->n_sections == SECTIONS)
        return false;
    if (n == 1 && name[0] == '.')
        return true;
    if (kind == '/') {
        pop_section(f, name, n);
        return true;
    }
    found = look_up_name(f, name, n, &c, &opens);
    if (found == NOT_THERE)
        report_template_name(f, name, n, false);
    if (kind == '#')
        enter_section(f, name, n, found == NOT_THERE ? VAGUE : found, c, opens);
    else if (kind == '^')
        push_section(f, name, n, NULL);
    return true;
}

static void check_template_text(struct filled *f)
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
        goes_on = kind == '!' || check_template_tag(f, kind, name, n);
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
            values == NULL || mortise_tmpl_has_expr_within(f.text) ||
            !get_context(&f, values, &f.contexts[0]))
            continue;
        f.n_contexts = 1;
        check_template_text(&f);
    }
}
