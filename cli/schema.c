/* schema.c -- `mortise schema`: prints the JSON Schema of a kind of file.
 *
 * The schemas are generated from the tables of the parsers, so an editor
 * accepts the same files as `mortise check`.  With --with-plugins, the config
 * of each plugin is described by the schema of its manifest. */
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/nearest.h"
#include "testkit/cases/casefile.h"
#include "cli/plugin_set.h"
#include "lang/config/deploy.h"
#include "lang/graph/load/loader.h"
#include "lang/manifest/manifest.h"
#include "lang/manifest/trust_file.h"
#include "lang/yaml/outline.h"

static const struct {
    const char *kind, *title;
    const struct mortise_place *place;
} files[] = {
    {"graph", "A graph of Mortise", &mortise_graph_place},
    {"deployment", "A deployment of Mortise", &mortise_deployment_place},
    {"plugin", "A plugin manifest of Mortise", &mortise_manifest_place},
    {"trust", "A trust file of Mortise", &mortise_trust_place},
    {"test", "Tests of a graph of Mortise", &mortise_casefile_place},
};

enum { N_FILES = sizeof files / sizeof files[0] };

/* N_FILES, with an error: there is no such kind. */
static size_t find_schema_kind(const char *kind, struct mortise_err *err)
{
    const char *names[N_FILES], *near;

    for (size_t i = 0; i < N_FILES; i++) {
        names[i] = files[i].kind;
        if (strcmp(kind, names[i]) == 0)
            return i;
    }
    near = mortise_nearest_find(kind, names, N_FILES);
    mortise_fail(err, MORTISE_EINVAL,
                 "no schema '%s'%s%s%s; the schemas are graph, deployment, "
                 "plugin, trust and test",
                 kind, near != NULL ? ", did you mean '" : "",
                 near != NULL ? near : "", near != NULL ? "'?" : "");
    return N_FILES;
}

/* ---- plugins ------------------------------------------------------------ */

/* Copy a config schema so that it can be embedded: with an `$id` of its own,
 * its references "#/..." refer to itself. */
static json_t *copy_config_schema(const struct mortise_manifest *m)
{
    json_t *v = json_deep_copy(mortise_schema_json(m->config_schema));
    char id[160];

    snprintf(id, sizeof id, "mortise-plugin:%s", m->name);
    if (json_is_object(v) && json_object_get(v, "$id") == NULL &&
        json_object_set_new(v, "$id", json_string(id)) != 0) {
        json_decref(v);
        return NULL;
    }
    return v;
}

static int add_config_schemas(struct mortise_plugins *plugins,
                              json_t *properties)
{
    for (size_t i = 0; i < mortise_plugins_count(plugins); i++) {
        const struct mortise_plugin_info *f = mortise_plugins_at(plugins, i);

        if (f->manifest == NULL || f->manifest->config_schema == NULL ||
            json_object_get(properties, f->name) != NULL)
            continue;
        if (json_object_set_new(properties, f->name,
                                copy_config_schema(f->manifest)) != 0)
            return MORTISE_ENOMEM;
    }
    return MORTISE_OK;
}

static int add_plugin_schemas(struct mortise_cli *cli, json_t *schema,
                              struct mortise_err *err)
{
    json_t *at, *properties = json_object();
    struct mortise_plugin_set s = {.plugins = NULL};
    int rv = mortise_plugin_set_open(&s, cli, NULL, err);

    if (rv == MORTISE_OK &&
        (json_unpack(schema, "{s:{s:{s:{s:o}}}}", "definitions", "plugins",
                     "properties", "config", &at) != 0 ||
         json_object_set(at, "properties", properties) != 0 ||
         add_config_schemas(s.plugins, properties) != MORTISE_OK))
        rv = mortise_nomem(err);
    json_decref(properties);
    mortise_plugin_set_close(&s);
    return rv;
}

/* ---- command ------------------------------------------------------------ */

static int build_file_schema(struct mortise_cli *cli, json_t **out,
                             struct mortise_err *err)
{
    const char *kind = cli->args.operands[0];
    size_t i = find_schema_kind(kind, err);

    if (i == N_FILES)
        return MORTISE_EINVAL;
    if (cli->args.with_plugins && strcmp(kind, "deployment") != 0)
        return mortise_fail(err, MORTISE_EINVAL,
                            "--with-plugins is only for 'deployment', which "
                            "contains the configs of plugins");
    *out = mortise_outline_make(files[i].place, files[i].title);
    if (*out == NULL)
        return mortise_nomem(err);
    return cli->args.with_plugins ? add_plugin_schemas(cli, *out, err)
                                  : MORTISE_OK;
}

static int print_schema(struct mortise_cli *cli, struct mortise_err *err)
{
    json_t *v = NULL;
    int rv = build_file_schema(cli, &v, err);

    if (rv == MORTISE_OK)
        mortise_out_put_json(&cli->out, v, true);
    json_decref(v);
    return rv;
}

static const struct mortise_opt opts[] = {
    MORTISE_OPT_FLAG("with-plugins", with_plugins,
                     "For a deployment: include the schema of each\n"
                     "plugin's config"),
    MORTISE_OPTS_OF_STORE,
};

const struct mortise_cmd mortise_cmd_schema = {
    .name = "schema",
    .operands = "graph|deployment|plugin|trust|test",
    .summary = "Print the JSON Schema of a kind of file, for editors",
    .text = "The schema is made from the tables that the parser uses.  It\n"
            "accepts what `mortise check` accepts, as far as a schema can\n"
            "express it.  The schema is Draft-07, which editors support.  Put\n"
            "this line first in a file to select the schema in an editor:\n"
            "\n"
            "    # yaml-language-server: $schema=../../schema/graph.json\n",
    .opts = opts,
    .exits = MORTISE_EXITS_STORE | MORTISE_EXITS_FINDINGS,
    .example = "mortise schema graph >graph.json",
    .run = print_schema,
};
