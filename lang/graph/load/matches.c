/* matches.c -- the tools that patterns match, while a graph is loaded.
 *
 * The operations that `mail/` and a star match depend on the installed plugins
 * and on the operations that the deployment denies.  A run must keep the tools
 * that it began with, because it identifies them by their position.  So the
 * matches of each pattern are a source of the graph, like the files that it
 * names: runs pin them, and a run's graph reads them from there, whatever is
 * installed later.  A tool that was since denied or removed blocks the run, as
 * if the graph named it. */
#include <string.h>

#include "core/base/hash.h"
#include "lang/graph/load/loader.h"

/* No file of a graph can have this name. */
static const char matches_path[] = ":tools";

/* {PATTERN: [tool ...]}, from the run's sources. */
static void read_pinned_matches(struct mortise_loader *root)
{
    const struct mortise_graph_files *files = root->catalog->files;
    struct mortise_err why = {0};
    struct mortise_buf text;

    root->looked_for_matches = true;
    if (files == NULL || !files->pinned)
        return;
    mortise_buf_init(&text, root->mem);
    if (files->read(files->ud, matches_path, &text, &why) == MORTISE_OK)
        mortise_json_parse_written(&root->matches, text.p, text.n, &why);
    root->nomem |= why.code == MORTISE_ENOMEM;
    mortise_buf_finish(&text);
    root->has_pinned_matches = root->matches != NULL;
}

const json_t *mortise_load_matches(struct mortise_loader *ld,
                                   const char *pattern)
{
    if (!ld->root->looked_for_matches)
        read_pinned_matches(ld->root);
    return ld->root->has_pinned_matches
               ? json_object_get(ld->root->matches, pattern)
               : NULL;
}

void mortise_load_record_match(struct mortise_loader *ld, const char *pattern,
                               const char *tool)
{
    struct mortise_loader *root = ld->root;
    json_t *list;

    if (root->matches == NULL)
        root->matches = json_object();
    list = json_object_get(root->matches, pattern);
    if (list == NULL) {
        json_object_set_new(root->matches, pattern, json_array());
        list = json_object_get(root->matches, pattern);
    }
    MORTISE_JSON_EACH (one, i, list)
        if (strcmp(json_string_value(one), tool) == 0)
            return; /* another node has the same pattern */
    root->nomem |= json_array_append_new(list, json_string(tool)) != 0;
}

/* The matches as a source; they also enter the digest of the graph. */
bool mortise_load_matches_source(struct mortise_loader *ld,
                                 struct mortise_source *out)
{
    struct mortise_graph *g = ld->g;
    struct mortise_hasher h;
    char *text, *kept;

    if (ld->matches == NULL)
        return false;
    text = json_dumps(ld->matches, JSON_COMPACT | JSON_SORT_KEYS);
    kept = text != NULL ? mortise_arena_strdup(ld->arena, text) : NULL;
    free(text);
    if (kept == NULL) {
        ld->nomem = true;
        return false;
    }
    *out = (struct mortise_source){matches_path, kept, strlen(kept)};
    mortise_hasher_init(&h);
    mortise_hasher_add_field(&h, g->content, sizeof g->content);
    mortise_hasher_add_field(&h, kept, strlen(kept));
    mortise_hasher_final(&h, g->digest);
    return true;
}
