/* store.c -- `mortise store salvage`: what can be read of a damaged store. */
#include <inttypes.h>

#include "base/err.h"
#include "cli/cli.h"
#include "store/salvage.h"

static void say(void *ud, const char *words)
{
    struct mortise_cli *cli = ud;

    mortise_out_puts(&cli->out, "  ");
    mortise_out_word(&cli->out, words);
    mortise_out_puts(&cli->out, "\n");
}

static void sum_up(struct mortise_cli *cli, const char *to,
                   const struct mortise_salvaged *s)
{
    mortise_out_word(&cli->out, to);
    mortise_out_printf(&cli->out, ": %" PRIu64 " run%s", s->runs,
                       s->runs == 1 ? "" : "s");
    if (s->cut > 0)
        mortise_out_printf(&cli->out, ", %" PRIu64 " of them not to the end",
                           s->cut);
    mortise_out_printf(&cli->out,
                       "; %" PRIu64 " left out; %" PRIu64 " commit%s missing\n",
                       s->dropped, s->missing, s->missing == 1 ? "" : "s");
}

static int salvage(struct mortise_cli *cli)
{
    const char *to = cli->args.operands[0];
    struct mortise_salvaged s;
    struct mortise_site site;
    struct mortise_err err;
    int rv = mortise_cli_site(cli, &site, &err);

    if (rv == MORTISE_OK)
        rv =
            mortise_store_salvage(site.store, to, cli->mem, say, cli, &s, &err);
    mortise_site_close(&site);
    if (rv != MORTISE_OK)
        return mortise_cli_fail(cli, &err);
    sum_up(cli, to, &s);
    return s.cut + s.dropped + s.missing == 0 ? MORTISE_EXIT_OK
                                              : MORTISE_EXIT_FINDINGS;
}

static const struct mortise_opt salvage_opts[] = {
    MORTISE_OPT_DEPLOYMENT, MORTISE_OPT_STORE, MORTISE_OPT_END};

const struct mortise_cmd mortise_cmd_store_salvage = {
    .name = "store salvage",
    .operands = "NEW-DIR",
    .min = 1,
    .max = 1,
    .summary = "Save what can be read of a damaged store into a new one",
    .text = "For a store that E_STORE_CORRUPT refuses, when there is no "
            "backup.  It is\n"
            "not changed; NEW-DIR, which must not be there or be empty, "
            "becomes a store\n"
            "with each run from its first commit up to the last one that has "
            "all others\n"
            "before it.  A line for what is left out, then the sum.\n"
            "\n"
            "The new store has the identity of the old one, by which servers "
            "know what\n"
            "was done for it: put it in the old one's place, and do not go on "
            "with both.\n"
            "What a run did in commits that are missing it does again: look "
            "at what\n"
            "was in flight before you resume.\n",
    .opts = salvage_opts,
    .exits = MORTISE_EXITS_STORE | MORTISE_EXITS_FINDINGS,
    .example = "mortise store salvage ./saved",
    .run = salvage,
};
