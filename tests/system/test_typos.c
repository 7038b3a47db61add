/* test_typos.c -- names are checked: of typing errors in names, fields and
 * references over configs/ `mortise check` finds nine out of ten, and nothing in
 * what is right.
 *
 * An edit is one slip of the finger in one place: a letter is left out, struck
 * twice, swapped with the next, or another one is struck.  A program makes them,
 * each from a seed that is printed, so that each can be made again:
 *
 *     MORTISE_TYPOS=FIRST:N CK_RUN_CASE=typos build/tests/test_typos
 *
 * Where it may slip: each name of three letters or more that the graphs, tests
 * and deployments of configs/ have,
 *
 *   key         of a mapping: of the language, of a plugin's arguments, of a
 *               schema; ids, names of artifacts and paths where they are defined
 *   word        that is a value: a reference to a node, an operation, a model, a
 *               guardrail, a word of the language
 *   expression  a name, member or function of an expression
 *   template    a name that text/template looks up
 *   data        a key that the author alone gives a meaning, as in `values`
 *
 * and nowhere else: prose, patterns, values of data, file names, and what is
 * outside of all files (variables, programs, people) are no names of theirs.
 * What is not found is printed, by kind. */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/child.h"
#include "lib/desk.h"
#include "lib/test.h"
#include "lang/yaml/tree.h"

enum kind { KEY, WORD, EXPRESSION, TEMPLATE, DATA, KINDS };
static const char *const kind_names[KINDS] = {"key", "word", "expression",
                                              "template", "data"};

/* The directories are checked as their READMEs do, all files at once. */
static const char *const dirs[] = {
    "configs/files",  "configs/refund", "configs/research",
    "configs/search", "configs/triage", "configs",
};
enum { DIRS = sizeof dirs / sizeof dirs[0] };

static const struct {
    size_t dir;
    const char *name;
} files[] = {
    {0, "files.graph.yaml"},    {0, "files.test.yaml"},
    {0, "mortise.yaml"},        {1, "refund.graph.yaml"},
    {1, "refund.test.yaml"},    {1, "mortise.yaml"},
    {2, "research.graph.yaml"}, {2, "research.test.yaml"},
    {2, "mortise.yaml"},        {3, "search.graph.yaml"},
    {3, "mortise.yaml"},        {4, "triage.graph.yaml"},
    {4, "triage.test.yaml"},    {4, "mortise.yaml"},
    {5, "mortise.yaml"},
};
enum { FILES = sizeof files / sizeof files[0], MOST = 8192, SHORTEST = 3 };

/* A name, and where it stands. */
struct token {
    size_t file, at, n;
    enum kind kind;
};

static struct token tokens[MOST];
static size_t n_tokens;
static char *texts[FILES];

/* ---- which names there are ------------------------------------------------- */

/* Where we are in a file. */
struct place {
    size_t file;
    const char *key;    /* the nearest key above, or NULL */
    const char *parent; /* and the one above that */
    bool data;          /* below what only its author gives a meaning */
    bool is_graph;
};

static bool is_one_of(const char *word, const char *const *list)
{
    while (word != NULL && *list != NULL && strcmp(word, *list) != 0)
        list++;
    return word != NULL && *list != NULL;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Bytes [offset, offset + n) of a scalar are a name. */
static void take(const struct place *p, const struct mortise_yaml *scalar,
                 size_t offset, size_t n, enum kind kind)
{
    struct mortise_span s = mortise_yaml_scalar_position(scalar, offset, n);
    size_t at = s.file->line_at[s.line - 1] + s.col - 1;

    if (n < SHORTEST || s.line != s.end_line || s.end_col - s.col != n ||
        memcmp(texts[p->file] + at, scalar->str + offset, n) != 0)
        return;
    ck_assert_uint_lt(n_tokens, MOST);
    tokens[n_tokens++] = (struct token){p->file, at, n, kind};
}

/* The names of an expression, literals aside. */
static void take_expression(const struct place *p, const struct mortise_yaml *v,
                            size_t from, size_t to)
{
    for (size_t i = from, end; i < to; i = end) {
        char c = v->str[i];

        end = i + 1;
        if (c == '\'' || c == '"') {
            while (end < to && v->str[end] != c)
                end += v->str[end] == '\\' ? 2 : 1;
            end++;
        } else if (is_letter(c) || is_digit(c)) {
            while (end < to &&
                   (is_letter(v->str[end]) || is_digit(v->str[end])))
                end++;
            if (is_letter(c))
                take(p, v, i, end - i, EXPRESSION);
        }
    }
}

/* Those of all ${...} in a text: none of them has a } inside. */
static bool take_expressions(const struct place *p,
                             const struct mortise_yaml *v)
{
    const char *at = v->str, *end;
    bool any = false;

    while ((at = strstr(at, "${")) != NULL && (end = strchr(at, '}')) != NULL) {
        if (strncmp(at, "${env:", 6) != 0 && strncmp(at, "${file:", 7) != 0)
            take_expression(p, v, (size_t)(at - v->str) + 2,
                            (size_t)(end - v->str));
        any = true;
        at = end;
    }
    return any;
}

/* {{name.member}}, {{#name}}, {{/name}} ... of text/template. */
static void take_template(const struct place *p, const struct mortise_yaml *v)
{
    const char *at = v->str;

    while ((at = strstr(at, "{{")) != NULL) {
        size_t n;

        at += 2 + strspn(at + 2, "#^/ ");
        n = strcspn(at, "} ");
        take(p, v, (size_t)(at - v->str), n, TEMPLATE);
    }
}

/* ends, next, file/read, mcp/files/write_file, agent/ *, scratch.label */
static bool is_word(const struct mortise_yaml *v)
{
    if (v->kind != MORTISE_YAML_STRING || !is_letter(v->str[0]))
        return false;
    for (size_t i = 0; i < v->len; i++)
        if (!is_letter(v->str[i]) && !is_digit(v->str[i]) &&
            strchr("./-*", v->str[i]) == NULL)
            return false;
    return strstr(v->str, ".md") == NULL && strstr(v->str, ".log") == NULL;
}

static void scalar(const struct place *p, const struct mortise_yaml *v)
{
    static const char *const conditions[] = {"when", "over", "condition",
                                             "target", NULL};
    static const char *const lines[] = {"outputs", "input_mapping",
                                        "output_mapping", NULL};
    /* Prose, patterns, and what is outside. */
    static const char *const none[] = {
        "description", "instructions", "about",       "message",
        "text",        "content",      "pattern",     "model",
        "system",      "user",         "tool_result", "env",
        "exec",        "path",         "dir",         "by",
        "actor",       "missing",      "url",         "command",
        "args",        "client_id",    "scopes",      "code",
        "X-Team",      "MODE",         NULL};

    if (p->is_graph && p->key != NULL && strcmp(p->key, "template") == 0)
        take_template(p, v);
    else if (p->is_graph && !p->data &&
             (is_one_of(p->key, conditions) || is_one_of(p->parent, lines)))
        take_expression(p, v, 0, v->len);
    else if (take_expressions(p, v))
        ;
    else if (!p->data && is_word(v) &&
             (!is_one_of(p->key, none) ||
              (strcmp(p->key, "path") == 0 && p->parent != NULL &&
               strcmp(p->parent, "expect") == 0)))
        take(p, v, 0, v->len, WORD);
}

static void walk(struct place p, const struct mortise_yaml *v);

static void walk_map(const struct place *p, const struct mortise_yaml *map)
{
    static const char *const authors[] = {"values", "patterns", "labels",
                                          "env",    "headers",  NULL};
    static const char *const none[] = {"metadata", "env", "headers", "enum",
                                       NULL};
    /* What stands below is data, in its own shape. */
    static const char *const data[] = {"args",    "input",     "output",
                                       "state",   "arguments", "json",
                                       "replies", "config",    NULL};

    for (size_t i = 0; i < map->n; i++) {
        const struct mortise_yaml *key = map->keys[i];
        struct place below = {p->file, key->str, p->key, p->data, p->is_graph};

        if (mortise_yaml_is_x_key(key->str) || is_one_of(key->str, none))
            continue;
        if (strchr(key->str, ' ') == NULL)
            take(p, key, 0, key->len, is_one_of(p->key, authors) ? DATA : KEY);
        below.data = p->data || is_one_of(p->key, authors) ||
                     (is_one_of(key->str, data) &&
                      !(p->is_graph && strcmp(key->str, "input") == 0) &&
                      !(p->is_graph && strcmp(key->str, "state") == 0));
        walk(below, map->items[i]);
    }
}

static void walk(struct place p, const struct mortise_yaml *v)
{
    if (v->kind == MORTISE_YAML_MAP)
        walk_map(&p, v);
    else if (v->kind == MORTISE_YAML_SEQ)
        for (size_t i = 0; i < v->n; i++)
            walk(p, v->items[i]);
    else
        scalar(&p, v);
}

static void find_names(size_t file)
{
    char path[2 * PATH_MAX];
    struct mortise_arena arena;
    struct mortise_diags diags;
    struct mortise_yaml *tree;
    size_t n;

    snprintf(path, sizeof path, "%s/%s/%s", desk_dir, dirs[files[file].dir],
             files[file].name);
    texts[file] = test_read(path, &n);
    mortise_arena_init(&arena, &test_mem);
    mortise_diags_init(&diags, &test_mem);
    ck_assert_int_eq(
        mortise_yaml_parse(&tree, &arena, path, texts[file], n, &diags), 0);
    walk((struct place){.file = file,
                        .is_graph = strstr(path, ".graph.") != NULL},
         tree);
    mortise_diags_finish(&diags);
    mortise_arena_finish(&arena);
}

/* ---- slips ----------------------------------------------------------------- */

static uint64_t next(uint64_t *seed)
{
    uint64_t z = (*seed += 0x9E3779B97F4A7C15u);

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Another name, one slip away. */
static void slip(uint64_t *seed, const char *name, size_t n, char *out)
{
    do {
        size_t i = next(seed) % n;

        memcpy(out, name, n);
        out[n] = '\0';
        switch (next(seed) % 4) {
        case 0: /* left out */
            memmove(out + i, out + i + 1, n - i);
            break;
        case 1: /* struck twice */
            memmove(out + i + 1, out + i, n - i + 1);
            break;
        case 2: /* swapped with the next */
            if (i + 1 < n) {
                out[i] = name[i + 1];
                out[i + 1] = name[i];
            }
            break;
        default: /* another one */
            if (is_letter(name[i]))
                out[i] = (char)('a' + next(seed) % 26);
            break;
        }
    } while (strncmp(out, name, n) == 0 && out[n] == '\0');
}

/* ---- the tests --------------------------------------------------------------- */

/* A copy of configs/, where things lie as they do in the tree, with what its
 * files say is there. */
static void begin(void)
{
    char tree[PATH_MAX];

    ck_assert_ptr_nonnull(getcwd(tree, sizeof tree));
    desk_begin();
    desk_ok(
        "rm mortise.yaml && cp -r %s/configs . && cp %s configs/refund/pay/",
        tree, child_build("configs/acme.pay.so"));
    desk_ok("cp %s configs/files/server/", child_build("configs/filesd"));
    desk_ok("mkdir -p configs/plugins/dev configs/trust.d && echo 12345678 "
            ">configs/mail.key");
    desk_ok("mkdir bin && ln -s /bin/true bin/vault");
}

static void check(size_t dir)
{
    child_run("PATH=$PWD/bin:$PATH SHOP_TOKEN=12345678 "
              "MORTISE_DEPLOYMENT=%s/mortise.yaml $MORTISE check %s/*.yaml",
              dirs[dir], dirs[dir]);
}

START_TEST(nothing_is_found_in_the_originals)
{
    check((size_t)_i);
    desk_code(0);
    ck_assert_str_eq(child.out, "");
}
END_TEST

/* True: it was found. */
static bool try(uint64_t seed, size_t missed[KINDS], size_t tried[KINDS])
{
    uint64_t state = seed;
    const struct token *t = &tokens[next(&state) % n_tokens];
    const char *text = texts[t->file], *dir = dirs[files[t->file].dir];
    char path[2 * PATH_MAX], wrong[512], *edited;
    size_t n = strlen(text), line = 1, k;
    bool found;

    ck_assert_uint_lt(t->n, sizeof wrong - 2);
    slip(&state, text + t->at, t->n, wrong);
    k = strlen(wrong);
    edited = malloc(n + 2);
    memcpy(edited, text, t->at);
    memcpy(edited + t->at, wrong, k);
    memcpy(edited + t->at + k, text + t->at + t->n, n - t->at - t->n);
    snprintf(path, sizeof path, "%s/%s/%s", desk_dir, dir, files[t->file].name);
    test_write(path, edited, n - t->n + k);
    check(files[t->file].dir);
    found = child.code != 0 || child.out[0] != '\0';
    test_write(path, text, n);
    free(edited);
    tried[t->kind]++;
    missed[t->kind] += !found;
    for (size_t i = 0; i < t->at; i++)
        line += text[i] == '\n';
    printf("seed %llu: %s, %s/%s:%zu: %s '%.*s' -> '%s'\n",
           (unsigned long long)seed, found ? "found" : "NOT FOUND", dir,
           files[t->file].name, line, kind_names[t->kind], (int)t->n,
           text + t->at, wrong);
    return found;
}

/* Issue 15, 6: names are checked. */
START_TEST(nine_typos_of_ten_are_found)
{
    size_t missed[KINDS] = {0}, tried[KINDS] = {0}, found = 0;
    const char *which = getenv("MORTISE_TYPOS");
    unsigned long long first = 1, n = 200;

    if (which != NULL)
        ck_assert_int_eq(sscanf(which, "%llu:%llu", &first, &n), 2);
    for (size_t i = 0; i < FILES; i++)
        find_names(i);
    for (unsigned long long i = 0; i < n; i++)
        found += try(first + i, missed, tried);
    printf("%zu names; found %zu of %llu\n", n_tokens, found, n);
    for (size_t i = 0; i < KINDS; i++)
        printf("%s: %zu of %zu were not found\n", kind_names[i], missed[i],
               tried[i]);
    fflush(stdout);
    for (size_t i = 0; i < FILES; i++)
        free(texts[i]);
    ck_assert_msg(found * 10 >= n * 9, "%zu of %llu typos were found", found,
                  n);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("typos");
    TCase *tc = tcase_create("typos");

    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, begin, desk_end);
    tcase_set_timeout(tc, 600);
    tcase_add_loop_test(tc, nothing_is_found_in_the_originals, 0, DIRS);
    tcase_add_test(tc, nine_typos_of_ten_are_found);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
