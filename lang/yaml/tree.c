/* tree.c -- YAML files as trees with the position of each value.
 *
 * libyaml knows the grammar (of YAML 1.1).  This file decides which parts of it
 * are allowed, and converts libyaml's marks to positions.
 *
 *   (1) Each forbidden construct (tags, merge keys, duplicate keys, keys that
 *       are not strings, further documents) is a finding, and reading
 *       continues.  Only syntax errors, depth and the limits of aliases end it.
 *       text.c refuses forbidden characters.
 *   (2) Nothing is quadratic or unbounded in the size of the file: recursion
 *       ends at MAX_DEPTH, aliases may add at most MAX_ALIASED nodes in total,
 *       and duplicate keys are found by sorting.  An alias inside its own
 *       anchor is unknown, because an anchor is registered when its node is
 *       complete.
 *   (3) An alias shares the node of its anchor.  Trees are immutable, so the
 *       only visible difference is the span, which is the anchor's.
 *   (4) The first of two equal keys counts.  So a file without other errors can
 *       be checked further; it is refused nevertheless.
 *   (5) All errors that end the reading use one exit (core/base/escape.h).  The
 *       source owns the parser, its one live event and the stack.
 */
#include "lang/yaml/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "core/base/escape.h"
#include "core/base/infile.h"
#include "lang/yaml/scalar.h"
#include "lang/yaml/text.h"

enum {
    MAX_DEPTH = 64,       /* of nodes */
    MAX_ALIASED = 100000, /* nodes that aliases add in total */
    MAX_ANCHORS = 1000    /* searched linearly */
};

struct anchor {
    const char *name;
    struct mortise_yaml *node;
    size_t nodes;   /* in its subtree */
    unsigned depth; /* of the subtree; a scalar has 1 */
};

struct source {
    struct mortise_escape escape;
    struct mortise_arena *arena;
    struct mortise_diags *diags;
    struct mortise_text text;
    yaml_parser_t parser;
    yaml_event_t ev; /* the last event, valid until the next */
    struct mortise_yaml *root;
    struct anchor *anchors;
    size_t n_anchors;
    struct mortise_yaml **stack; /* children of the collections being read */
    size_t n, cap;
    size_t n_twice;   /* number of duplicate keys */
    size_t nodes;     /* number of nodes so far, aliased ones counted at each
                       * use */
    size_t aliased;   /* number of these that aliases added */
    unsigned deepest; /* depth of the last node that was read; see
                       * read_yaml_node() */
};

static struct mortise_span event_span(const struct source *s)
{
    return mortise_text_span(
        &s->text, mortise_text_offset(&s->text, s->ev.start_mark.index),
        mortise_text_offset(&s->text, s->ev.end_mark.index));
}

static void *alloc_in_source(struct source *s, size_t n, size_t size)
{
    return mortise_escape_alloc(&s->escape, s->arena, n, size);
}

/* After a finding, if the rest cannot be read. */
static _Noreturn void end_reading(struct source *s)
{
    mortise_escape(&s->escape, MORTISE_ECHECK);
}

/* ---- libyaml's events ------------------------------------------------ */

static void syntax_help(struct source *s, struct mortise_diag *d,
                        const char *problem)
{
    static const struct {
        const char *problem, *help;
    } known[] = {
        {"mapping values are not allowed", "quote a value that contains ': '"},
        {"cannot start any token",
         "quote a value that starts with this character"},
        {"invalid Unicode character escape",
         "write the character itself: the escape is half of a surrogate pair, "
         "or not a character"},
        {"expected ',' or '}'", "inside { }, quote a value that contains a "
                                "brace, a comma or ': ', such as \"${...}\""},
        {"expected ',' or ']'",
         "inside [ ], quote a value that contains a bracket, a brace, a comma "
         "or ': ', such as \"${...}\""},
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strstr(problem, known[i].problem) != NULL)
            mortise_diag_help(s->diags, d, "%s", known[i].help);
}

/* Did the parser stop at a tab that begins the text of a block and is deeper
 * than the surrounding indentation?  YAML allows that. libyaml regards the tab
 * as indentation, unless the header of the block gives the depth. */
static bool is_block_text(const struct source *s, size_t at)
{
    const yaml_parser_t *p = &s->parser;
    const char *text = s->text.file->text, *end = text + at, *c;

    if (p->context == NULL || strstr(p->context, "block scalar") == NULL ||
        (long)p->problem_mark.column <= p->indent)
        return false;
    c = text + mortise_text_offset(&s->text, p->context_mark.index);
    for (; c < end && *c != '\n' && *c != '\r' && *c != '#'; c++)
        if (*c >= '1' && *c <= '9')
            return false;
    while (c < end && *c != '\n' && *c != '\r')
        c++;
    while (c < end && strchr(" \n\r", *c) != NULL)
        c++;
    return c == end;
}

static void report_block_tab(struct source *s, struct mortise_span span)
{
    const yaml_parser_t *p = &s->parser;
    size_t around = p->indent > 0 ? (size_t)p->indent : 0;
    struct mortise_diag *d =
        mortise_diag_add(s->diags, "E0106", span,
                         "the text of the block begins with a tab, so its "
                         "indentation is ambiguous");

    mortise_diag_help(s->diags, d,
                      "give the number of spaces: write %zu after the | or >",
                      p->problem_mark.column - around);
}

static void report_syntax(struct source *s)
{
    const yaml_parser_t *p = &s->parser;
    size_t at = mortise_text_offset(&s->text, p->problem_mark.index);
    struct mortise_span span = mortise_text_span(&s->text, at, at), began;
    struct mortise_diag *d;

    if (s->text.file->text[at] == '\t' && is_block_text(s, at)) {
        report_block_tab(s, span);
        return;
    }
    if (s->text.file->text[at] == '\t') {
        d = mortise_diag_add(s->diags, "E0107", span,
                             "YAML does not allow a tab as indentation");
        mortise_diag_help(s->diags, d, "use spaces");
        return;
    }
    if (strcmp(p->problem, "found incompatible YAML document") == 0) {
        mortise_diag_add(s->diags, "E0111", span,
                         "this version of YAML is not supported: use 1.2");
        return;
    }
    if (p->context == NULL) {
        d = mortise_diag_add(s->diags, "E0106", span, "%s", p->problem);
    } else {
        at = mortise_text_offset(&s->text, p->context_mark.index);
        began = mortise_text_span(&s->text, at, at);
        d = mortise_diag_add(s->diags, "E0106", span,
                             "%s %s that begins at %u:%u", p->problem,
                             p->context, began.line, began.col);
    }
    syntax_help(s, d, p->problem);
}

static void next_event(struct source *s)
{
    yaml_event_delete(&s->ev);
    if (yaml_parser_parse(&s->parser, &s->ev) == 1)
        return;
    if (s->parser.error == YAML_MEMORY_ERROR)
        mortise_escape(&s->escape, MORTISE_ENOMEM);
    report_syntax(s);
    end_reading(s);
}

/* ---- nodes ----------------------------------------------------------- */

static void check_tag(struct source *s, const yaml_char_t *tag)
{
    struct mortise_diag *d;

    if (tag == NULL)
        return;
    d = mortise_diag_add(s->diags, "E0111", event_span(s),
                         "tags are not allowed: '%s'", (const char *)tag);
    mortise_diag_help(s->diags, d,
                      "remove the tag; quote the value if it is a string");
}

/* Does the scalar's text end `back` bytes before `end`, byte for byte? */
static bool matches_at(const struct source *s, const struct mortise_yaml *node,
                       size_t end, size_t back)
{
    return end >= node->len + back &&
           memcmp(s->text.file->text + end - back - node->len, node->str,
                  node->len) == 0;
}

/* Set the span, reduced to the scalar itself if its text is verbatim (an anchor
 * may precede it). */
static void place_scalar(struct source *s, struct mortise_yaml *node)
{
    size_t from = mortise_text_offset(&s->text, s->ev.start_mark.index);
    size_t to = mortise_text_offset(&s->text, s->ev.end_mark.index);
    yaml_scalar_style_t style = s->ev.data.scalar.style;
    bool quoted = style == YAML_SINGLE_QUOTED_SCALAR_STYLE ||
                  style == YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    bool verbatim = false;

    if (quoted || style == YAML_PLAIN_SCALAR_STYLE)
        verbatim = matches_at(s, node, to, quoted);
    if (verbatim)
        from = to - node->len - 2 * (size_t)quoted;
    node->span = mortise_text_span(&s->text, from, to);
}

static struct mortise_yaml *new_node(struct source *s,
                                     enum mortise_yaml_kind kind)
{
    struct mortise_yaml *node = alloc_in_source(s, 1, sizeof *node);

    node->kind = kind;
    s->nodes++;
    return node;
}

/* A copy, terminated by NUL. */
static char *copy_chars(struct source *s, const yaml_char_t *text, size_t n)
{
    return memcpy(alloc_in_source(s, n + 1, 1), text, n);
}

static struct mortise_yaml *scalar(struct source *s)
{
    struct mortise_yaml *node = new_node(s, MORTISE_YAML_STRING);
    const char *problem = NULL;

    node->len = s->ev.data.scalar.length;
    node->str = copy_chars(s, s->ev.data.scalar.value, node->len);
    place_scalar(s, node);
    check_tag(s, s->ev.data.scalar.tag);
    if (s->ev.data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
        problem = mortise_yaml_set_type(node);
    if (problem != NULL) {
        struct mortise_diag *d = mortise_diag_add(
            s->diags, "E0116", node->span, "the number %s is out of range: %s",
            node->str, problem);

        mortise_diag_help(s->diags, d, "quote it if it is a string");
    }
    return node;
}

static struct mortise_yaml *unknown_alias(struct source *s)
{
    struct mortise_yaml *node = new_node(s, MORTISE_YAML_NULL);

    node->span = event_span(s);
    node->str = "";
    mortise_diag_add(s->diags, "E0115", node->span,
                     "no anchor '&%s' is defined before this alias",
                     (const char *)s->ev.data.alias.anchor);
    return node;
}

static struct mortise_yaml *alias(struct source *s, unsigned depth)
{
    const char *name = (const char *)s->ev.data.alias.anchor;
    const struct anchor *a = NULL;

    for (size_t i = s->n_anchors; i > 0 && a == NULL; i--)
        if (strcmp(s->anchors[i - 1].name, name) == 0)
            a = &s->anchors[i - 1];
    if (a == NULL)
        return unknown_alias(s);
    s->aliased += a->nodes;
    s->nodes += a->nodes;
    s->deepest = a->depth;
    if (s->aliased > MAX_ALIASED || depth + a->depth - 1 > MAX_DEPTH) {
        mortise_diag_add(
            s->diags, "E0114", event_span(s),
            "aliases expand to more than %d nodes, or deeper than %d levels",
            MAX_ALIASED, MAX_DEPTH);
        end_reading(s);
    }
    return a->node;
}

static void push_child(struct source *s, struct mortise_yaml *node)
{
    struct mortise_yaml **stack = mortise_array_grow(
        s->arena->mem, s->stack, s->n, &s->cap, sizeof *stack);

    if (stack == NULL)
        mortise_escape(&s->escape, MORTISE_ENOMEM);
    s->stack = stack;
    stack[s->n++] = node;
}

static struct mortise_yaml *read_yaml_node(struct source *s, unsigned depth);

/* Push the children up to the end of the collection. */
static void read_children(struct source *s, yaml_event_type_t end,
                          struct mortise_yaml *node, unsigned depth)
{
    unsigned deepest = 0;

    for (next_event(s); s->ev.type != end; next_event(s)) {
        push_child(s, read_yaml_node(s, depth + 1));
        if (s->deepest > deepest)
            deepest = s->deepest;
    }
    s->deepest = deepest + 1;
    if (s->ev.start_mark.index != s->ev.end_mark.index) { /* a bracket */
        struct mortise_span span = event_span(s);

        node->span.end_line = span.end_line;
        node->span.end_col = span.end_col;
    }
}

/* A block ends with its last child, not at the beginning of the next token. */
static void end_at_last(struct mortise_yaml *node,
                        const struct mortise_yaml *last)
{
    const struct mortise_span *end = &last->span;

    if (node->span.end_line > end->end_line ||
        (node->span.end_line == end->end_line &&
         node->span.end_col >= end->end_col))
        return;
    node->span.end_line = end->end_line;
    node->span.end_col = end->end_col;
}

static struct mortise_yaml *read_yaml_list(struct source *s, unsigned depth)
{
    struct mortise_yaml *node = new_node(s, MORTISE_YAML_SEQ);
    size_t base = s->n;

    node->span = event_span(s);
    check_tag(s, s->ev.data.sequence_start.tag);
    read_children(s, YAML_SEQUENCE_END_EVENT, node, depth);
    node->n = s->n - base;
    node->items = alloc_in_source(s, node->n, sizeof *node->items);
    for (size_t i = 0; i < node->n; i++)
        node->items[i] = s->stack[base + i];
    if (node->n > 0)
        end_at_last(node, node->items[node->n - 1]);
    s->n = base;
    return node;
}

/* ---- mappings -------------------------------------------------------- */

/* Convert the key to a string, and report other types. */
static void check_key_string(struct source *s, struct mortise_yaml *key)
{
    struct mortise_diag *d;

    if (key->kind == MORTISE_YAML_STRING) {
        if (strlen(key->str) != key->len)
            mortise_diag_add(s->diags, "E0109", key->span,
                             "a key cannot contain a NUL");
        if (strcmp(key->str, "<<") == 0 &&
            key->span.end_col - 2 == key->span.col)
            mortise_diag_add(s->diags, "E0110", key->span,
                             "merge keys (<<) are not allowed");
        return;
    }
    d = mortise_diag_add(s->diags, "E0109", key->span,
                         "a key must be a string, not %s",
                         mortise_yaml_kind_name(key->kind));
    if (key->str == NULL)
        key->str = "";
    else
        mortise_diag_help(s->diags, d, "quote it: \"%s\"", key->str);
    key->kind = MORTISE_YAML_STRING;
}

static void report_duplicate(struct source *s, const struct mortise_yaml *a,
                             const struct mortise_yaml *b)
{
    mortise_diag_add(s->diags, "E0108", b->span,
                     "key '%s' appears twice (first at %u:%u)", b->str,
                     a->span.line, a->span.col);
    s->n_twice++;
}

static int compare_map_keys(const void *pa, const void *pb, void *map)
{
    struct mortise_yaml **keys = ((const struct mortise_yaml *)map)->keys;
    uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
    int c = strcmp(keys[a]->str, keys[b]->str);

    return c != 0 ? c : (a > b) - (a < b);
}

/* Report the duplicate keys, and remove all but the first. */
static bool remove_duplicate_keys(struct source *s, struct mortise_yaml *map,
                                  const uint32_t *order)
{
    size_t first = 0, n = 0;

    for (size_t i = 1; i < map->n; i++) {
        const struct mortise_yaml *a = map->keys[order[first]],
                                  *b = map->keys[order[i]];

        if (strcmp(a->str, b->str) != 0) {
            first = i;
            continue;
        }
        report_duplicate(s, a, b);
        map->items[order[i]] = NULL;
    }
    for (size_t i = 0; i < map->n; i++) {
        map->keys[n] = map->keys[i];
        map->items[n] = map->items[i];
        n += map->items[i] != NULL;
    }
    if (n == map->n)
        return false;
    map->n = n;
    return true;
}

/* Sort the keys for searches. */
static void index_keys(struct source *s, struct mortise_yaml *map)
{
    uint32_t *order = alloc_in_source(s, map->n, sizeof *order);

    do {
        for (size_t i = 0; i < map->n; i++)
            order[i] = (uint32_t)i;
        qsort_r(order, map->n, sizeof *order, compare_map_keys, map);
    } while (remove_duplicate_keys(s, map, order));
    map->order = order;
}

static struct mortise_yaml **
copy_list(struct mortise_arena *a, struct mortise_yaml *const *from, size_t n)
{
    struct mortise_yaml **list = mortise_arena_alloc(a, n * sizeof *list);

    if (list != NULL && n > 0)
        memcpy(list, from, n * sizeof *list);
    return list;
}

struct mortise_yaml *
mortise_yaml_make_mapping(struct mortise_arena *a, struct mortise_span span,
                          struct mortise_yaml *const *keys,
                          struct mortise_yaml *const *items, size_t n)
{
    struct mortise_yaml *map = mortise_arena_alloc(a, sizeof *map);
    uint32_t *order = mortise_arena_alloc(a, n * sizeof *order);

    if (map == NULL || order == NULL)
        return NULL;
    *map = (struct mortise_yaml){.kind = MORTISE_YAML_MAP,
                                 .span = span,
                                 .keys = copy_list(a, keys, n),
                                 .items = copy_list(a, items, n),
                                 .n = n,
                                 .order = order};
    if (map->keys == NULL || map->items == NULL)
        return NULL;
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, n, sizeof *order, compare_map_keys, map);
    return map;
}

/* Split the nodes that read_children() pushed into keys and items. */
static void split_children(struct source *s, struct mortise_yaml *map,
                           size_t base)
{
    map->n = (s->n - base) / 2;
    map->keys = alloc_in_source(s, map->n, sizeof *map->keys);
    map->items = alloc_in_source(s, map->n, sizeof *map->items);
    for (size_t i = 0; i < map->n; i++) {
        map->keys[i] = s->stack[base + 2 * i];
        map->items[i] = s->stack[base + 2 * i + 1];
        check_key_string(s, map->keys[i]);
    }
    if (map->n > 0)
        end_at_last(map, map->items[map->n - 1]);
    s->n = base;
}

static struct mortise_yaml *read_yaml_map(struct source *s, unsigned depth)
{
    struct mortise_yaml *map = new_node(s, MORTISE_YAML_MAP);
    size_t base = s->n;

    map->span = event_span(s);
    check_tag(s, s->ev.data.mapping_start.tag);
    read_children(s, YAML_MAPPING_END_EVENT, map, depth);
    split_children(s, map, base);
    index_keys(s, map);
    return map;
}

static const yaml_char_t *anchor_of(const yaml_event_t *ev)
{
    switch (ev->type) {
    case YAML_SCALAR_EVENT:
        return ev->data.scalar.anchor;
    case YAML_SEQUENCE_START_EVENT:
        return ev->data.sequence_start.anchor;
    case YAML_MAPPING_START_EVENT:
        return ev->data.mapping_start.anchor;
    default:
        return NULL;
    }
}

static struct mortise_yaml *read_by_type(struct source *s, unsigned depth)
{
    s->deepest = 1;
    if (depth > MAX_DEPTH) {
        mortise_diag_add(s->diags, "E0113", event_span(s),
                         "nested deeper than %d levels", MAX_DEPTH);
        end_reading(s);
    }
    switch (s->ev.type) {
    case YAML_ALIAS_EVENT:
        return alias(s, depth);
    case YAML_SEQUENCE_START_EVENT:
        return read_yaml_list(s, depth);
    case YAML_MAPPING_START_EVENT:
        return read_yaml_map(s, depth);
    default:
        return scalar(s);
    }
}

/* Read the node that starts with the last event, and set s->deepest to its
 * depth. */
static struct mortise_yaml *read_yaml_node(struct source *s, unsigned depth)
{
    const yaml_char_t *name = anchor_of(&s->ev);
    struct anchor a = {.name = NULL};
    struct mortise_span span;
    size_t before = s->nodes;

    if (name == NULL)
        return read_by_type(s, depth);
    span = event_span(s);
    a.name = copy_chars(s, name, strlen((const char *)name));
    a.node = read_by_type(s, depth);
    a.nodes = s->nodes - before;
    a.depth = s->deepest;
    if (s->n_anchors == MAX_ANCHORS) {
        mortise_diag_add(s->diags, "E0114", span,
                         "the file has more than %d anchors", MAX_ANCHORS);
        end_reading(s);
    }
    s->anchors[s->n_anchors++] = a;
    return a.node;
}

/* ---- documents ------------------------------------------------------- */

static void check_directives(struct source *s)
{
    const yaml_version_directive_t *v =
        s->ev.data.document_start.version_directive;

    if (s->ev.data.document_start.tag_directives.start !=
        s->ev.data.document_start.tag_directives.end)
        mortise_diag_add(s->diags, "E0111", event_span(s),
                         "the directive %%TAG is not allowed");
    if (v != NULL && (v->major != 1 || v->minor != 2))
        mortise_diag_add(s->diags, "E0111", event_span(s),
                         "YAML %d.%d is not supported: use 1.2", v->major,
                         v->minor);
}

static void report_empty(struct source *s)
{
    mortise_diag_add(s->diags, "E0103", mortise_text_span(&s->text, 0, 0),
                     "the file is empty");
}

/* After the first document, only the end of the file is allowed. */
static void check_document_end(struct source *s)
{
    do {
        next_event(s);
        if (s->ev.type == YAML_DOCUMENT_START_EVENT)
            mortise_diag_add(
                s->diags, "E0112", event_span(s),
                "the file contains a second document; only one is allowed");
    } while (s->ev.type == YAML_DOCUMENT_END_EVENT);
}

static void read_document(void *arg)
{
    struct source *s = arg;

    do {
        next_event(s);
        if (s->ev.type == YAML_DOCUMENT_START_EVENT)
            check_directives(s);
        if (s->ev.type == YAML_STREAM_END_EVENT) {
            report_empty(s);
            end_reading(s);
        }
    } while (s->ev.type == YAML_STREAM_START_EVENT ||
             s->ev.type == YAML_DOCUMENT_START_EVENT);
    s->root = read_yaml_node(s, 1);
    if (s->root->kind == MORTISE_YAML_NULL)
        report_empty(s);
    check_document_end(s);
}

static int parse_source(struct source *s)
{
    const struct mortise_mem *mem = s->arena->mem;
    int rv = MORTISE_ENOMEM;

    s->anchors = mortise_alloc(mem, MAX_ANCHORS * sizeof *s->anchors);
    if (s->anchors != NULL && yaml_parser_initialize(&s->parser) == 1) {
        yaml_parser_set_input_string(
            &s->parser, (const unsigned char *)s->text.read, s->text.n_read);
        yaml_parser_set_encoding(&s->parser, YAML_UTF8_ENCODING);
        rv = mortise_escape_catch(&s->escape, read_document, s);
        yaml_event_delete(&s->ev);
        yaml_parser_delete(&s->parser);
    }
    mortise_release(mem, s->anchors, MAX_ANCHORS * sizeof *s->anchors);
    mortise_release(mem, s->stack, s->cap * sizeof *s->stack);
    return rv;
}

/* ---- entry points ---------------------------------------------------- */

int mortise_yaml_parse(struct mortise_yaml **out, struct mortise_arena *a,
                       const char *path, const char *text, size_t n,
                       struct mortise_diags *diags)
{
    struct source s = {.arena = a, .diags = diags};
    size_t errors = diags->n_errors;
    int rv = mortise_text_open(&s.text, a, path, text, n, diags);

    if (rv == MORTISE_OK)
        rv = parse_source(&s);
    errors = diags->n_errors - errors;
    if (rv == MORTISE_OK && errors > 0)
        rv = MORTISE_ECHECK;
    if (diags->failed)
        rv = MORTISE_ENOMEM;
    *out =
        /* (4) */
        rv != MORTISE_ENOMEM && errors <= s.n_twice ? s.root : NULL;
    return rv;
}

void mortise_yaml_set_alias(const struct mortise_yaml *tree, const char *alias)
{
    struct mortise_source_file *file =
        (struct mortise_source_file *)(uintptr_t)tree->span.file;

    file->alias = alias;
}

int mortise_yaml_report_unreadable(struct mortise_arena *a, const char *path,
                                   const char *why, struct mortise_diags *diags)
{
    struct mortise_text name;

    if (mortise_text_set_path(&name, a, path) != MORTISE_OK)
        return MORTISE_ENOMEM;
    mortise_diag_add(diags, "E0101", mortise_text_span(&name, 0, 0), "%s", why);
    return diags->failed ? MORTISE_ENOMEM : MORTISE_ECHECK;
}

static int report_unreadable(struct mortise_arena *a, const char *path,
                             int errnum, struct mortise_diags *diags)
{
    struct mortise_err err;

    if (errnum == ENOMEM)
        return MORTISE_ENOMEM;
    mortise_syserr(&err, errnum, "cannot read the file");
    mortise_diags_set_reason(diags, &err);
    return mortise_yaml_report_unreadable(a, path, err.msg, diags);
}

int mortise_yaml_read(struct mortise_yaml **out, struct mortise_arena *a,
                      const char *path, struct mortise_diags *diags)
{
    struct mortise_buf b;
    int errnum, rv;

    *out = NULL;
    mortise_buf_init(&b, a->mem);
    errnum = mortise_infile_read(path, &b);
    if (errnum == 0)
        rv = mortise_yaml_parse(out, a, path, b.n > 0 ? b.p : "", b.n, diags);
    else
        rv = report_unreadable(a, path, errnum, diags);
    mortise_buf_finish(&b);
    return rv;
}
