/* command.c -- `mortise store salvage`: copies the readable part of a damaged
 * store. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/model/graph.h"
#include "core/mortise.h"
#include "core/run/run.h"
#include "tools/salvage/salvage.h"
#include "lang/yaml/tree.h"
#include "tools/salvage/command.h"

/* ---- callbacks of the salvage ------------------------------------------- */

static void print_salvage_line(void *ud, const char *words)
{
    struct mortise_cli *cli = ud;

    mortise_out_print_escaped(&cli->out, "  %s\n", words);
}

static void update_salvaged_status(void *ud,
                                   const struct mortise_checkpoint *cp,
                                   uint32_t *status)
{
    (void)ud;
    mortise_run_update_end_status(cp->entries, cp->size, status);
}

/* A salvaged run waits if it has pending requests, otherwise it is paused, so
 * that a person checks it. */
static void set_salvaged_status(void *ud, struct mortise_head *head)
{
    (void)ud;
    head->reason = "";
    if (head->status >= MORTISE_RUN_COMPLETED)
        return;
    head->status =
        head->n_pending > 0 ? MORTISE_RUN_WAITING : MORTISE_RUN_PAUSED;
    head->reason = head->n_pending > 0 ? "human" : "operator";
}

/* Get metadata.name; empty if the text is not a graph. */
static void get_salvaged_graph_name(void *ud,
                                    const struct mortise_source *files,
                                    size_t n, struct mortise_buf *out)
{
    const struct mortise_mem *mem = ((struct mortise_cli *)ud)->mem;
    const struct mortise_yaml *at = NULL;
    struct mortise_yaml *tree = NULL;
    struct mortise_diags diags;
    struct mortise_arena arena;

    mortise_arena_init(&arena, mem);
    mortise_diags_init(&diags, mem);
    if (n > 0 &&
        mortise_yaml_parse(&tree, &arena, files[0].path, files[0].text,
                           files[0].size, &diags) == MORTISE_OK &&
        tree->kind == MORTISE_YAML_MAP)
        at = mortise_yaml_get(tree, "metadata");
    if (at != NULL && at->kind == MORTISE_YAML_MAP)
        at = mortise_yaml_get(at, "name");
    if (at != NULL && at->kind == MORTISE_YAML_STRING)
        mortise_buf_puts(out, at->str);
    mortise_diags_finish(&diags);
    mortise_arena_finish(&arena);
}

/* ---- graphs of --graph -------------------------------------------------- */

static int load_salvage_graph(struct mortise_cli *cli,
                              const struct mortise_settings *settings,
                              const char *path, struct mortise_graph **out,
                              struct mortise_err *err)
{
    struct mortise_diags diags;
    int rv;

    mortise_diags_init(&diags, cli->mem);
    rv = mortise_cli_load_graph_with(cli, settings, path, &diags, out, err);
    if (rv == MORTISE_ECHECK)
        rv = mortise_fail(err, mortise_diags_result(&diags),
                          "%s has errors, so no run can have started with it",
                          path);
    mortise_cli_print_findings(cli, &diags);
    return rv;
}

/* ---- command ------------------------------------------------------------ */

static void print_salvage_summary(struct mortise_cli *cli, const char *to,
                                  const struct mortise_salvage_result *s)
{
    mortise_out_put_escaped(&cli->out, to);
    mortise_out_printf(&cli->out, ": %" PRIu64 " run%s", s->runs,
                       s->runs == 1 ? "" : "s");
    if (s->cut > 0)
        mortise_out_printf(&cli->out,
                           ", %" PRIu64 " of them possibly truncated", s->cut);
    mortise_out_printf(&cli->out,
                       "; %" PRIu64 " left out; %" PRIu64 " commit%s missing",
                       s->dropped, s->missing, s->missing == 1 ? "" : "s");
    if (s->unmarked)
        mortise_out_puts(&cli->out, " at least; the commit mark is lost, so "
                                    "the newest commits may also be missing");
    if (s->holes)
        mortise_out_puts(&cli->out, "; more commits may be missing, and runs "
                                    "that cannot be read at all");
    mortise_out_puts(&cli->out, "\n");
}

/* A memory plugin stores its files next to the database.  They are not part of
 * the store, so they are not copied: print the command that copies them. */
static bool print_memory_copy_command(struct mortise_cli *cli, const char *from,
                                      const char *to)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof path, "%s/memory", from) >= (int)sizeof path ||
        access(path, F_OK) != 0)
        return false;
    mortise_out_puts(&cli->out, "The memory is not copied. To copy it:\n"
                                "  cp -a ");
    mortise_out_put_escaped(&cli->out, path);
    mortise_out_puts(&cli->out, " ");
    mortise_out_put_escaped(&cli->out, to);
    mortise_out_puts(&cli->out, "\n");
    return true;
}

static int salvage_into(struct mortise_cli *cli, const char *from,
                        struct mortise_graph **graphs,
                        struct mortise_salvage_result *out,
                        struct mortise_err *err)
{
    struct mortise_salvage_graph given[MORTISE_ARGS_GRAPHS];
    struct mortise_salvage_callbacks how = {.ud = cli,
                                            .say = print_salvage_line,
                                            .follow = update_salvaged_status,
                                            .stand = set_salvaged_status,
                                            .name = get_salvaged_graph_name,
                                            .graphs = given};

    for (; how.n_graphs < MORTISE_ARGS_GRAPHS && graphs[how.n_graphs] != NULL;
         how.n_graphs++) {
        const struct mortise_graph *g = graphs[how.n_graphs];
        struct mortise_salvage_graph *to = &given[how.n_graphs];

        *to = (struct mortise_salvage_graph){.path =
                                                 cli->args.graphs[how.n_graphs],
                                             .files = g->sources,
                                             .n_files = g->n_sources};
        memcpy(to->digest, g->digest, sizeof to->digest);
    }
    return mortise_store_salvage(from, cli->args.operands[0], cli->mem, &how,
                                 out, err);
}

int mortise_salvage_run(struct mortise_cli *cli, struct mortise_err *err)
{
    struct mortise_graph *graphs[MORTISE_ARGS_GRAPHS] = {NULL};
    struct mortise_salvage_result s;
    struct mortise_settings settings;
    bool left = false;
    int rv = mortise_cli_open_settings(cli, &settings, err);

    for (int i = 0; rv == MORTISE_OK && i < MORTISE_ARGS_GRAPHS &&
                    cli->args.graphs[i] != NULL;
         i++)
        rv = load_salvage_graph(cli, &settings, cli->args.graphs[i], &graphs[i],
                                err);
    if (rv == MORTISE_OK)
        rv = salvage_into(cli, settings.store, graphs, &s, err);
    if (rv == MORTISE_OK) {
        print_salvage_summary(cli, cli->args.operands[0], &s);
        left = print_memory_copy_command(cli, settings.store,
                                         cli->args.operands[0]);
    }
    for (size_t i = 0; i < MORTISE_ARGS_GRAPHS; i++)
        mortise_graph_unref(graphs[i]);
    mortise_settings_close(&settings);
    if (rv != MORTISE_OK)
        return rv;
    return !left && s.cut + s.dropped + s.missing + s.unused == 0 && !s.holes &&
                   !s.unmarked
               ? MORTISE_EXIT_OK
               : MORTISE_EXIT_FINDINGS;
}
