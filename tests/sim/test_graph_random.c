/* test_graph_random.c -- which graphs are structured, by a second opinion.
 *
 * The loader finds loops and maps in one linear search; lib/refgraph finds them
 * by brute force from their definition.  On small random graphs, most of them
 * not structured, both must say the same: whether there is an answer, and
 * which.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/graph/load/loader.h"
#include "lang/graph/load.h"
#include "lib/randgraph.h"
#include "lib/sim.h"
#include "lib/test.h"

enum { GRAPHS = 3000, PARTS = 2 };

/* NULL: refused; then the words in `why`. */
static struct mortise_graph *load(const char *yaml, struct mortise_buf *why)
{
    struct mortise_diags diags;
    struct mortise_graph *g;

    mortise_diags_init(&diags, &test_mem);
    mortise_graph_load(&g, &test_mem, "random.yaml", yaml, strlen(yaml),
                       &sim_catalog, &diags, NULL);
    mortise_diags_format(&diags, why);
    mortise_diags_finish(&diags);
    return g;
}

/* ---- regions as text ---------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* One line for each region: its kind, entry and nodes. */
static void sort_lines(char lines[][64], int n, char *out)
{
    qsort(lines, (size_t)n, sizeof lines[0], by_text);
    out[0] = '\0';
    for (int i = 0; i < n; i++)
        strcat(out, lines[i]);
}

static void ref_text(const struct ref_graph *g, char *out)
{
    char lines[REF_REGIONS][64];

    for (int i = 1; i < g->n_regions; i++)
        snprintf(lines[i - 1], sizeof lines[0], "%s %d: %x\n",
                 g->regions[i].kind == REF_LOOP ? "loop" : "map",
                 g->regions[i].entry, (unsigned)g->regions[i].set);
    sort_lines(lines, g->n_regions - 1, out);
}

static void graph_text(const struct mortise_graph *g, char *out)
{
    char lines[REF_REGIONS][64];
    uint32_t sets[REF_REGIONS] = {0};

    ck_assert_uint_le(g->n_regions, REF_REGIONS);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        for (uint32_t r = g->nodes[i].region; r != 0; r = g->regions[r].parent)
            sets[r] |= (uint32_t)1 << i;
    }
    for (uint32_t i = 1; i < g->n_regions; i++)
        snprintf(lines[i - 1], sizeof lines[0], "%s %u: %x\n",
                 g->regions[i].kind == MORTISE_REGION_LOOP ? "loop" : "map",
                 (unsigned)g->regions[i].entry, (unsigned)sets[i]);
    sort_lines(lines, (int)g->n_regions - 1, out);
}

/* Does the file of a graph say what the reference found? */
static void compare(const struct ref_graph *g, bool is_structured,
                    uint32_t number)
{
    char *yaml = rand_yaml(g), want[REF_REGIONS * 64] = "", got[sizeof want];
    struct mortise_graph *compiled;
    struct mortise_buf why;

    mortise_buf_init(&why, &test_mem);
    compiled = load(yaml, &why);
    if ((compiled != NULL) != is_structured) {
        fprintf(stderr, "%s\n%s\n", yaml, mortise_buf_cstr(&why));
        ck_abort_msg("graph %u is %sstructured", (unsigned)number,
                     is_structured ? "" : "not ");
    }
    if (is_structured) {
        ref_text(g, want);
        graph_text(compiled, got);
        if (strcmp(got, want) != 0)
            fprintf(stderr, "%s\n", yaml);
        ck_assert_str_eq(got, want);
    }
    mortise_buf_finish(&why);
    mortise_graph_unref(compiled);
    free(yaml);
}

/* Irreducible loops, overlapping maps and all: the loader takes a graph if and
 * only if it is structured, and finds the regions that it has. */
START_TEST(loader_takes_what_is_structured)
{
    int n_structured = 0;

    for (uint32_t i = 0; i < GRAPHS; i++) {
        uint32_t number = (uint32_t)_i * GRAPHS + i, seed = number * 7919;
        struct ref_graph g;
        bool is_structured = rand_wild(&g, &seed);

        n_structured += is_structured;
        compare(&g, is_structured, number);
    }
    ck_assert_int_gt(n_structured, GRAPHS / 8);
    ck_assert_int_lt(n_structured, GRAPHS - GRAPHS / 8);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("graph: random");
    TCase *tc = tcase_create("random");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, loader_takes_what_is_structured, 0, PARTS);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
