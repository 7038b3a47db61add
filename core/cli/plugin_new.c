/* plugin_new.c -- `mortise plugin new`: a plugin to begin with, in a language.
 *
 * What it makes builds, loads and has its tests as it is: an operation that is a
 * function of its arguments, and one that changes the world and can tell afterwards
 * whether it did, which is what an author has to get right.  It needs what `make
 * install` leaves behind; in Rust not even that, as its binding is one of the
 * files.
 */
#include <string.h>

#include "base/err.h"
#include "base/nearest.h"
#include "cli/template.h"

/* The languages: how --lang says them (and the manifest), and whose template. */
static const char *const langs[] = {"c", "c++", "rust"};
static const char *const templates[] = {"plugin-c", "plugin-cpp",
                                        "plugin-rust"};
enum { N_LANGS = sizeof langs / sizeof langs[0] };

static const char *template_of(const char *lang)
{
    for (size_t i = 0; i < N_LANGS; i++)
        if (strcmp(lang, langs[i]) == 0)
            return templates[i];
    return NULL;
}

static int unknown_lang(struct mortise_cli *cli, const char *lang)
{
    const char *near = mortise_nearest(lang, langs, N_LANGS);

    return mortise_cli_usage(cli, "--lang: c, c++ or rust, not '%.32s'%s%s%s",
                             lang, near != NULL ? "; did you mean '" : "",
                             near != NULL ? near : "",
                             near != NULL ? "'?" : "");
}

/* The name is one, and not that of a file of the binding. */
static int check_name(const char *name, struct mortise_err *err)
{
    if (strcmp(name, "mortise") != 0 && strcmp(name, "mortise_json") != 0)
        return mortise_template_name(name, err);
    return mortise_fail(err, MORTISE_EINVAL,
                        "'%s' is what a file of Mortise's own is called", name);
}

static int plugin_new(struct mortise_cli *cli, struct mortise_err *err)
{
    const char *name = cli->args.operands[0], *lang = cli->args.lang,
               *out = cli->args.to;
    struct mortise_template t = {.dir = out != NULL ? out : name,
                                 .words = {{"@NAME@", name}, {"@LANG@", lang}}};
    int rv;

    if (lang == NULL)
        return mortise_cli_usage(cli, "--lang is missing: c, c++ or rust");
    t.names[0] = "plugin";
    t.names[1] = template_of(lang);
    if (t.names[1] == NULL)
        return unknown_lang(cli, lang);
    rv = check_name(name, err);
    if (rv == MORTISE_OK)
        rv = mortise_template_make(cli, &t, err);
    if (rv == MORTISE_OK)
        mortise_template_next(cli, &t,
                              "make@V check\n"
                              "@M plugin call @NAME@/shout '{\"text\": "
                              "\"hello\"}' --deployment dev.yaml\n"
                              "@M plugin call @NAME@/note '{\"text\": "
                              "\"hello\"}' --deployment dev.yaml --effects\n"
                              "@M run @NAME@.graph.yaml --deployment dev.yaml "
                              "--id first\n"
                              "make@V sign\n");
    return rv;
}

static const struct mortise_opt opts[] = {
    MORTISE_OPT_TEXT("lang", "c|c++|rust", lang, "The language of its code"),
    MORTISE_OPT_TEXT("out", "DIR", to, "Where (default: a directory NAME)"),
    MORTISE_OPT_END,
};

const struct mortise_cmd mortise_cmd_plugin_new = {
    .name = "plugin new",
    .operands = "NAME",
    .summary = "Begin a plugin: its code, manifest, Makefile and tests",
    .text =
        "NAME is what graphs will call it: acme.pay.  What is made has an\n"
        "operation that is pure, and one that writes and can tell after a\n"
        "crash whether it did; the manifest; a Makefile, whose `make check`\n"
        "is what CI runs; a graph, its tests, and deployments to try it\n"
        "unsigned (dev.yaml) and signed (mortise.yaml); and a README.  C and\n"
        "C++ need pkg-config mortise-plugin, Rust needs nothing but rustc:\n"
        "its binding, mortise.rs, is yours.  Nothing that is there is written\n"
        "over.  What is printed works when it is pasted.\n",
    .opts = opts,
    .example = "mortise plugin new acme.pay --lang c",
    .run = plugin_new,
};
