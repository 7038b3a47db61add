/* plugin_new.c -- `mortise plugin new`: creates a first plugin in a language.
 *
 * The files build, load and pass their tests unchanged.  The plugin has a pure
 * operation and one with an effect that can report afterwards whether the
 * effect happened, which is the hard part for an author.  It needs the files
 * that `make install` installs; in Rust not even these, since the binding is
 * one of the created files.  `--kind guardrail` creates a plugin that checks
 * values, `--kind discovery` one that finds the node for a text, `--kind
 * memory` one that stores traces in a file. */
#include <string.h>

#include "core/base/err.h"
#include "core/base/nearest.h"
#include "cli/template.h"

/* The languages as in --lang and the manifest, and their templates. */
static const char *const langs[] = {"c", "c++", "rust"};
static const char *const templates[] = {"plugin-c", "plugin-cpp",
                                        "plugin-rust"};
enum { N_LANGS = sizeof langs / sizeof langs[0] };

static const char *get_language_template(const char *lang)
{
    for (size_t i = 0; i < N_LANGS; i++)
        if (strcmp(lang, langs[i]) == 0)
            return templates[i];
    return NULL;
}

/* The template of a plugin kind, and the next commands. */
struct begun {
    const char *kind, *lang; /* its only language; NULL: any */
    const char *template;    /* NULL: an executor, depends on the language */
    const char *next;
};

static const struct begun begun[] = {
    {"executor", NULL, NULL,
     "make@V check\n"
     "@M plugin call @NAME@/shout '{\"text\": \"hello\"}' --deployment "
     "dev.yaml\n"
     "@M plugin call @NAME@/note '{\"text\": \"hello\"}' --deployment "
     "dev.yaml --effects\n"
     "@M run @NAME@.graph.yaml --deployment dev.yaml --id first\n"
     "make@V sign\n"},
    {"guardrail", "c", "plugin-guardrail-c",
     "make@V check\n"
     "@M run @NAME@.graph.yaml --deployment dev.yaml --id first --input "
     "'{\"text\": \"a dowel, please\"}'\n"
     "@M show first --deployment dev.yaml\n"
     "make@V sign\n"},
    {"discovery", "c", "plugin-discovery-c",
     "make@V check\n"
     "@M run @NAME@.graph.yaml --deployment dev.yaml --id first --input "
     "'{\"text\": \"pay me back\"}'\n"
     "@M events first --deployment dev.yaml\n"
     "make@V sign\n"},
    {"memory", "c", "plugin-memory-c",
     "make@V check\n"
     "@M memory import traces.jsonl --deployment dev.yaml\n"
     "@M memory search tea --deployment dev.yaml\n"
     "make@V sign\n"},
};
enum { N_BEGUN = sizeof begun / sizeof begun[0] };

/* NULL: there is no such kind. */
static const struct begun *find_plugin_kind(const char *kind)
{
    for (size_t i = 0; i < N_BEGUN; i++)
        if (kind == NULL || strcmp(begun[i].kind, kind) == 0)
            return &begun[i];
    return NULL;
}

/* Without --lang, the only language of the kind. */
static const char *choose_language(const struct begun *b, const char *said)
{
    return said == NULL && b != NULL ? b->lang : said;
}

static int fail_unknown_plugin_kind(struct mortise_cli *cli, const char *kind)
{
    const char *kinds[N_BEGUN], *near;

    for (size_t i = 0; i < N_BEGUN; i++)
        kinds[i] = begun[i].kind;
    near = mortise_nearest_find(kind, kinds, N_BEGUN);
    return mortise_cli_fail_usage(
        cli,
        "--kind must be executor, guardrail, discovery or "
        "memory, not '%.32s'%s%s%s",
        kind, near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
        near != NULL ? "'?" : "");
}

static int fail_unknown_language(struct mortise_cli *cli, const char *lang)
{
    const char *near = mortise_nearest_find(lang, langs, N_LANGS);

    return mortise_cli_fail_usage(
        cli, "--lang must be c, c++ or rust, not '%.32s'%s%s%s", lang,
        near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
        near != NULL ? "'?" : "");
}

/* The name must be valid, and not that of a file of the binding. */
static int check_plugin_name(const char *name, struct mortise_err *err)
{
    if (strcmp(name, "mortise") != 0 && strcmp(name, "mortise_json") != 0)
        return mortise_template_check_name(name, err);
    return mortise_fail(
        err, MORTISE_EINVAL,
        "'%s' is the name of a file of Mortise; choose another name", name);
}

/* Choose the template directories. */
static int choose_templates(struct mortise_cli *cli, const struct begun *b,
                            const char *lang, struct mortise_template *t)
{
    if (lang == NULL)
        return mortise_cli_fail_usage(cli,
                                      "--lang is missing: give c, c++ or rust");
    if (b->lang != NULL && strcmp(b->lang, lang) != 0)
        return mortise_cli_fail_usage(cli, "--kind %s is available only in %s",
                                      b->kind, b->lang);
    if (get_language_template(lang) == NULL)
        return fail_unknown_language(cli, lang);
    t->names[0] = b->template != NULL ? b->template : "plugin";
    t->names[1] = b->template != NULL ? NULL : get_language_template(lang);
    return MORTISE_OK;
}

static int plugin_new(struct mortise_cli *cli, struct mortise_err *err)
{
    const struct begun *b = find_plugin_kind(cli->args.kind);
    const char *name = cli->args.operands[0], *out = cli->args.to,
               *lang = choose_language(b, cli->args.lang);
    struct mortise_template t = {.dir = out != NULL ? out : name,
                                 .words = {{"@NAME@", name}, {"@LANG@", lang}}};
    int rv;

    if (b == NULL)
        return fail_unknown_plugin_kind(cli, cli->args.kind);
    rv = choose_templates(cli, b, lang, &t);
    if (rv == MORTISE_OK)
        rv = check_plugin_name(name, err);
    if (rv == MORTISE_OK)
        rv = mortise_template_make(cli, &t, err);
    if (rv == MORTISE_OK)
        mortise_template_print_next_steps(cli, &t, b->next);
    return rv;
}

static const struct mortise_opt opts[] = {
    MORTISE_OPT_TEXT("lang", "c|c++|rust", lang, "Language of the code"),
    MORTISE_OPT_TEXT("kind", "executor|guardrail|discovery|memory", kind,
                     "Kind of the plugin (default: executor); other\n"
                     "kinds are written in C and need no --lang"),
    MORTISE_OPT_TEXT("out", "DIR", to, "Directory to create (default: NAME)"),
    MORTISE_OPT_END,
};

const struct mortise_cmd mortise_cmd_plugin_new = {
    .name = "plugin new",
    .operands = "NAME",
    .summary = "Create a plugin: its code, manifest, Makefile and tests",
    .text =
        "NAME is the plugin's name in graphs, such as acme.pay.  The\n"
        "plugin has two operations: one is pure, and the other writes and\n"
        "can report after a crash whether the write happened.  The command\n"
        "writes:\n"
        "  - the code, the manifest and a README\n"
        "  - a Makefile, whose `make check` is what CI runs\n"
        "  - a graph and its tests\n"
        "  - a deployment for the unsigned plugin (dev.yaml) and one for the\n"
        "    signed plugin (mortise.yaml)\n"
        "\n"
        "C and C++ need pkg-config mortise-plugin.  Rust needs only rustc,\n"
        "because the command also writes the binding, mortise.rs.\n"
        "\n"
        "With --kind guardrail, the plugin judges values and offers\n"
        "replacements, and the graph lets the plugin check an output and a\n"
        "value.  With --kind discovery, the plugin decides which node a\n"
        "text is about, and the graph has an edge that asks the plugin.\n"
        "With --kind memory, the plugin stores traces in a file, and `make\n"
        "check` imports, finds, exports and forgets traces.\n"
        "\n"
        "If one of these files exists with other content, the command\n"
        "fails and writes nothing.  Otherwise it prints the next commands,\n"
        "and you can paste these into the shell.\n",
    .opts = opts,
    .example = "mortise plugin new acme.pay --lang c\n"
               "mortise plugin new acme.polite --kind guardrail",
    .run = plugin_new,
};
