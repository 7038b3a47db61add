/* sketch.c -- a graph as boxes and lines of characters.
 *
 * Nodes stand in layers, each below all that lead to it; what passes a layer
 * has a place of its own there (a bend).  Between two layers lie the tracks on
 * which lines run across.  What makes the picture exact, so that it can be read
 * without guessing (and is, by tests/unit/draw/test_picture.c):
 *
 *   (1) All lines that leave a box leave by one port and are one net; lines of
 *       two nets never join.
 *   (2) Each line that reaches a box has a port of its own there, with its
 *       arrowhead.
 *   (3) Where nets cross, the upright one is drawn and the other goes on behind
 *       it: a tee or a cross always means that lines join.
 *
 * Ports that leave have even columns, those that arrive odd ones, unless a line
 * goes straight down: so two nets never want the same column between two
 * layers, and any assignment of tracks is right.
 *
 * Edges back (loops) and edges to END are words in the box, not lines: a line
 * up, or all the way down, would cross everything.
 */
#include "lang/draw/picture.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"

enum { NODES_MAX = 60, ITEMS_MAX = 3000, SWEEPS = 16, GAP = 2 };

#define BEND 0xFFFFFFFFu /* item.node of what only passes; START is n_nodes */

struct item {
    uint32_t node, layer, place; /* place: in the order of its layer */
    int left, width, out;        /* columns; out: of the port that leaves */
    unsigned n_in;
    double want;
};

struct wire {          /* from one layer to the next */
    uint32_t from, to; /* items */
    int port;          /* column where it arrives */
};

struct cell {
    uint32_t text; /* a character; 0: lines */
    uint8_t lines; /* N S E W */
    uint32_t net;  /* item + 1 */
};

enum { N = 1, S = 2, E = 4, W = 8 };

struct sketch {
    const struct mortise_picture *p;
    const struct mortise_graph *g;
    struct mortise_arena arena;
    struct mortise_buf *out;
    bool bare;   /* boxes have ids alone */
    bool failed; /* memory, or too large or too wide */

    struct item *items;
    uint32_t n_items;
    struct wire *wires; /* sorted by the layer of `from` */
    uint32_t n_wires, cap_wires;
    uint32_t n_layers;
    uint32_t **order; /* layer -> its items, from the left */
    uint32_t *n_order;
    uint32_t *first_wire; /* layer -> into wires; n_layers + 1 of them */

    struct cell *cells;
    int columns, rows;
};

static void *room(struct sketch *s, size_t size)
{
    void *p =
        s->failed ? NULL : mortise_arena_alloc(&s->arena, size != 0 ? size : 1);

    if (p != NULL)
        return memset(p, 0, size);
    s->out->failed |= !s->failed; /* memory ran out, and not before */
    s->failed = true;
    return NULL;
}

/* ---- layers ----------------------------------------------------------------
 */

/* The item of an edge's end. */
static uint32_t item_of(const struct sketch *s, uint32_t node)
{
    return node == MORTISE_START ? s->g->n_nodes : node;
}

/* Is it drawn as a line? */
static bool is_line(const struct sketch *s, const struct mortise_edge *e)
{
    return e->to != MORTISE_END && !mortise_graph_returns(s->g, e);
}

/* Longest ways from START; false when there is a circle, which the regions of a
 * graph rule out. */
static bool find_layers(struct sketch *s)
{
    uint32_t n = s->g->n_nodes + 1;

    for (uint32_t round = 0; round <= n; round++) {
        bool moved = false;

        for (uint32_t i = 0; i < s->g->n_edges; i++) {
            const struct mortise_edge *e = &s->g->edges[i];
            uint32_t from = item_of(s, e->from), to = item_of(s, e->to);

            if (!is_line(s, e) || s->items[to].layer > s->items[from].layer)
                continue;
            s->items[to].layer = s->items[from].layer + 1;
            moved = true;
        }
        if (!moved)
            return true;
    }
    return false;
}

static void add_wire(struct sketch *s, uint32_t from, uint32_t to)
{
    if (s->n_wires == s->cap_wires) {
        s->failed = true;
        return;
    }
    s->wires[s->n_wires++] = (struct wire){from, to, 0};
    s->items[to].n_in++;
}

/* One line, with a bend in every layer that it passes. */
static void add_line(struct sketch *s, uint32_t from, uint32_t to)
{
    for (uint32_t layer = s->items[from].layer + 1; layer < s->items[to].layer;
         layer++) {
        if (s->n_items == ITEMS_MAX) {
            s->failed = true;
            return;
        }
        s->items[s->n_items] =
            (struct item){.node = BEND, .layer = layer, .width = 2};
        add_wire(s, from, s->n_items);
        from = s->n_items++;
    }
    add_wire(s, from, to);
}

/* Was a line between the same ends drawn for an earlier edge? */
static bool is_drawn(const struct sketch *s, uint32_t edge)
{
    const struct mortise_edge *e = &s->g->edges[edge];

    for (uint32_t i = 0; i < edge; i++) {
        const struct mortise_edge *other = &s->g->edges[i];

        if (is_line(s, other) && other->from == e->from && other->to == e->to)
            return true;
    }
    return false;
}

static int by_layer(const void *a, const void *b, void *ud)
{
    const struct wire *v = a, *w = b;
    const struct item *items = ud;
    uint32_t x = items[v->from].layer, y = items[w->from].layer;

    if (x == y) {
        x = v->from;
        y = w->from;
    }
    if (x == y) {
        x = v->to;
        y = w->to;
    }
    return (x > y) - (x < y);
}

static void sort_wires(struct sketch *s)
{
    uint32_t k = 0;

    qsort_r(s->wires, s->n_wires, sizeof *s->wires, by_layer, s->items);
    for (uint32_t layer = 0; layer <= s->n_layers; layer++) {
        while (k < s->n_wires && s->items[s->wires[k].from].layer < layer)
            k++;
        s->first_wire[layer] = k;
    }
}

static void fill_layers(struct sketch *s)
{
    for (uint32_t i = 0; i < s->n_items; i++)
        if (s->items[i].layer >= s->n_layers)
            s->n_layers = s->items[i].layer + 1;
    s->order = room(s, s->n_layers * sizeof *s->order);
    s->n_order = room(s, s->n_layers * sizeof *s->n_order);
    s->first_wire = room(s, (s->n_layers + 1) * sizeof *s->first_wire);
    if (s->failed)
        return;
    for (uint32_t i = 0; i < s->n_items; i++)
        s->n_order[s->items[i].layer]++;
    for (uint32_t l = 0; l < s->n_layers; l++) {
        s->order[l] = room(s, s->n_order[l] * sizeof **s->order);
        s->n_order[l] = 0;
    }
    for (uint32_t i = 0; i < s->n_items && !s->failed; i++) {
        struct item *it = &s->items[i];

        it->place = s->n_order[it->layer];
        s->order[it->layer][s->n_order[it->layer]++] = i;
    }
    if (!s->failed)
        sort_wires(s);
}

static void build(struct sketch *s)
{
    s->items = room(s, ITEMS_MAX * sizeof *s->items);
    s->cap_wires = ITEMS_MAX + s->g->n_edges;
    s->wires = room(s, s->cap_wires * sizeof *s->wires);
    s->n_items = s->g->n_nodes + 1;
    if (s->failed)
        return;
    for (uint32_t i = 0; i < s->n_items; i++)
        s->items[i].node = i;
    if (!find_layers(s)) {
        s->failed = true;
        return;
    }
    for (uint32_t i = 0; i < s->g->n_edges && !s->failed; i++) {
        const struct mortise_edge *e = &s->g->edges[i];

        if (is_line(s, e) && !is_drawn(s, i))
            add_line(s, item_of(s, e->from), item_of(s, e->to));
    }
    if (!s->failed)
        fill_layers(s);
}

/* ---- order and columns -----------------------------------------------------
 */

/* The mean of what value() gives for the neighbours of each item of a layer,
 * above it (down) or below; of itself where there are none. */
static void find_wants(struct sketch *s, uint32_t layer, bool down,
                       double (*value)(const struct item *))
{
    uint32_t gap = down ? layer - 1 : layer;
    uint32_t *n = s->order[layer];

    for (uint32_t i = 0; i < s->n_order[layer]; i++) {
        struct item *it = &s->items[n[i]];
        double sum = 0;
        unsigned count = 0;

        for (uint32_t k = s->first_wire[gap]; k < s->first_wire[gap + 1]; k++) {
            const struct wire *w = &s->wires[k];

            if ((down ? w->to : w->from) != n[i])
                continue;
            sum += value(&s->items[down ? w->from : w->to]);
            count++;
        }
        it->want = count > 0 ? sum / count : value(it);
    }
}

static double place_of(const struct item *it)
{
    return it->place;
}

static double out_of(const struct item *it)
{
    return it->out;
}

static int by_want(const void *a, const void *b, void *ud)
{
    const struct item *items = ud;
    const struct item *x = &items[*(const uint32_t *)a];
    const struct item *y = &items[*(const uint32_t *)b];

    return x->want != y->want ? (x->want > y->want) - (x->want < y->want)
                              : (x->place > y->place) - (x->place < y->place);
}

/* Few crossings: each layer in the order of where its lines come from, then of
 * where they go to, again and again. */
static void find_order(struct sketch *s)
{
    for (unsigned sweep = 0; sweep < SWEEPS; sweep++) {
        bool down = sweep % 2 == 0;

        for (uint32_t k = 1; k < s->n_layers; k++) {
            uint32_t l = down ? k : s->n_layers - 1 - k;

            find_wants(s, l, down, place_of);
            qsort_r(s->order[l], s->n_order[l], sizeof **s->order, by_want,
                    s->items);
            for (uint32_t i = 0; i < s->n_order[l]; i++)
                s->items[s->order[l][i]].place = i;
        }
    }
}

static int centre(const struct item *it)
{
    return it->node == BEND ? 0 : (it->width - 1) / 2;
}

/* A run of items side by side, moved as one. */
struct block {
    uint32_t first, n;
    double sum, shift; /* of what its items want; their mean */
};

/* Put a layer where it wants to be, as nearly as its order and widths allow:
 * least squares, by pooling what would overlap. */
static void place_layer(struct sketch *s, uint32_t layer)
{
    struct block blocks[ITEMS_MAX]; /* some 100 kB of stack */
    uint32_t n = 0, *order = s->order[layer];
    int at = 0;

    for (uint32_t i = 0; i < s->n_order[layer]; i++) {
        struct item *it = &s->items[order[i]];
        double want = it->want - centre(it) - at;

        it->left = at;
        at += it->width + GAP;
        blocks[n++] = (struct block){i, 1, want, want};
        while (n > 1 && blocks[n - 2].shift > blocks[n - 1].shift) {
            struct block *b = &blocks[n - 2];

            b->n += blocks[n - 1].n;
            b->sum += blocks[n - 1].sum;
            b->shift = b->sum / b->n;
            n--;
        }
    }
    at = -1000000; /* columns to the left of 0 are put right in the end */
    for (uint32_t b = 0; b < n; b++)
        for (uint32_t i = blocks[b].first; i < blocks[b].first + blocks[b].n;
             i++) {
            struct item *it = &s->items[order[i]];
            int left = it->left + (int)blocks[b].shift;

            left = left < at ? at : left;
            it->left = left + (left & 1); /* even */
            it->out = it->left + centre(it);
            at = it->left + it->width + GAP;
        }
}

static void find_columns(struct sketch *s)
{
    int least = 0;

    for (uint32_t l = 0; l < s->n_layers; l++) {
        for (uint32_t i = 0; i < s->n_order[l]; i++)
            s->items[s->order[l][i]].want = 0;
        place_layer(s, l);
    }
    for (unsigned sweep = 0; sweep < SWEEPS + 1; sweep++) {
        bool down = sweep % 2 == 0;

        for (uint32_t k = 1; k < s->n_layers; k++) {
            uint32_t l = down ? k : s->n_layers - 1 - k;

            find_wants(s, l, down, out_of);
            place_layer(s, l);
        }
    }
    for (uint32_t i = 0; i < s->n_items; i++)
        least = s->items[i].left < least || i == 0 ? s->items[i].left : least;
    for (uint32_t i = 0; i < s->n_items; i++) {
        struct item *it = &s->items[i];

        it->left -= least;
        it->out -= least;
        if (it->left + it->width > s->columns)
            s->columns = it->left + it->width;
    }
}

static int by_source(const void *a, const void *b, void *ud)
{
    const struct item *items = ud;
    int x = items[(*(struct wire *const *)a)->from].out;
    int y = items[(*(struct wire *const *)b)->from].out;

    return (x > y) - (x < y);
}

/* Where the n lines to one item arrive, from the left. */
static void give_ports(struct sketch *s, struct wire **in, int n,
                       const struct item *it)
{
    bool straight;
    int first = it->out - (n - 1);

    qsort_r(in, (size_t)n, sizeof *in, by_source, s->items);
    straight = n % 2 == 1 && s->items[in[n / 2]->from].out == it->out;
    if (it->node == BEND && !straight) {
        in[0]->port = it->out + 1;
        return;
    }
    for (int i = 0; i < n; i++) {
        if (straight) /* the one in the middle; the others beside it */
            in[i]->port =
                i == n / 2 ? it->out
                           : it->out + 2 * (i - n / 2) + (i < n / 2 ? 1 : -1);
        else
            in[i]->port = first + 2 * i + (n % 2 == 1 ? 1 : 0);
    }
}

static void find_ports(struct sketch *s)
{
    struct wire **in = room(s, s->n_wires * sizeof *in);

    for (uint32_t i = 0; i < s->n_items && in != NULL; i++) {
        const struct item *it = &s->items[i];
        uint32_t layer = it->layer;
        int n = 0;

        for (uint32_t k = layer > 0 ? s->first_wire[layer - 1] : 0;
             layer > 0 && k < s->first_wire[layer]; k++)
            if (s->wires[k].to == i)
                in[n++] = &s->wires[k];
        if (n > 0)
            give_ports(s, in, n, it);
    }
}

/* ---- what a box says -------------------------------------------------------
 */

/* The i-th edge out of a box's node: of its own, then of the maps that begin
 * with it, which lead to their joins; NULL: no more. */
static const struct mortise_edge *edge_of(const struct sketch *s, uint32_t node,
                                          uint32_t i)
{
    const struct mortise_graph *g = s->g;
    const struct mortise_node *n = &g->nodes[node];

    if (node == g->n_nodes)
        return i < g->n_start ? &g->edges[g->start[i]] : NULL;
    if (i < n->n_out)
        return &g->edges[n->out[i]];
    i -= n->n_out;
    for (uint32_t at = n->region; at != 0; at = g->regions[at].parent) {
        const struct mortise_region *r = &g->regions[at];

        if (r->kind == MORTISE_REGION_MAP && g->edges[r->gather].from == node &&
            i-- == 0)
            return &g->edges[r->gather];
    }
    return NULL;
}

/* Does an edge before the i-th say the same? */
static bool is_said(const struct sketch *s, uint32_t node, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (edge_of(s, node, k)->to == edge_of(s, node, i)->to)
            return true;
    return false;
}

/* Its line-th line of text, in b; false behind the last. */
static bool box_line(const struct sketch *s, const struct item *it,
                     unsigned line, struct mortise_buf *b)
{
    static const char *const marks[][2] = {{"", ""},          {"\u25b6 ", "> "},
                                           {"? ", "? "},      {"\u2713 ", "+ "},
                                           {"\u2717 ", "x "}, {"- ", "- "}};
    const struct mortise_graph *g = s->g;
    bool ascii = s->p->ascii, start = it->node == g->n_nodes;
    const struct mortise_node *n = start ? NULL : &g->nodes[it->node];
    const struct mortise_overlay *o =
        n != NULL && s->p->overlay != NULL ? &s->p->overlay[it->node] : NULL;
    const struct mortise_edge *e;

    mortise_buf_clear(b);
    if (line == 0) {
        if (o != NULL)
            mortise_buf_puts(b, marks[o->ran][ascii]);
        mortise_buf_puts(b, start ? "START" : n->id);
        if (!start && !s->bare)
            mortise_buf_printf(b, " (%s)", mortise_node_type_name(n->type));
        if (o != NULL && o->visits > 1)
            mortise_buf_printf(b, " x%u", o->visits);
        return true;
    }
    for (uint32_t i = 0; (e = edge_of(s, it->node, i)) != NULL; i++) {
        if (is_line(s, e) || is_said(s, it->node, i) || --line > 0)
            continue;
        mortise_buf_puts(b, e->to != MORTISE_END ? (ascii ? "^ " : "\u21ba ")
                                                 : (ascii ? "> " : "\u2192 "));
        mortise_buf_puts(b, mortise_picture_name(g, e->to));
        return true;
    }
    return false;
}

/* Characters of UTF-8 that are one column each: ours, and ids. */
static int columns_of(const struct mortise_buf *b)
{
    return (int)mortise_utf8_count(b->p, b->n);
}

static void find_widths(struct sketch *s, struct mortise_buf *b)
{
    for (uint32_t i = 0; i < s->n_items; i++) {
        struct item *it = &s->items[i];
        int width = 2 * (int)it->n_in + 3;

        if (it->node == BEND)
            continue;
        for (unsigned line = 0; box_line(s, it, line, b); line++)
            width = columns_of(b) + 4 > width ? columns_of(b) + 4 : width;
        while (width % 4 != 1) /* its middle is as even as its left */
            width++;
        it->width = width;
    }
}

/* Rows of a layer's boxes. */
static int height_of(const struct sketch *s, uint32_t layer,
                     struct mortise_buf *b)
{
    unsigned most = 1;

    for (uint32_t i = 0; i < s->n_order[layer]; i++) {
        const struct item *it = &s->items[s->order[layer][i]];

        while (it->node != BEND && box_line(s, it, most, b))
            most++;
    }
    return (int)most + 2;
}

/* ---- drawing ---------------------------------------------------------------
 */

static struct cell *cell_at(struct sketch *s, int x, int y)
{
    assert(x >= 0 && x < s->columns && y >= 0 && y < s->rows);
    return &s->cells[(size_t)y * (size_t)s->columns + (size_t)x];
}

static void put_char(struct sketch *s, int x, int y, uint32_t c)
{
    cell_at(s, x, y)->text = c;
}

/* Lines of a net through a cell.  Another net's can only be crossed (essay);
 * the upright one stays to be seen. */
static void put_lines(struct sketch *s, int x, int y, unsigned lines,
                      uint32_t net)
{
    struct cell *c = cell_at(s, x, y);

    if (c->lines != 0 && c->net != net + 1) {
        assert((c->lines == (N | S) && lines == (E | W)) ||
               (c->lines == (E | W) && lines == (N | S)));
        if (lines == (E | W))
            return;
        c->lines = 0;
    }
    c->lines |= (uint8_t)lines;
    c->net = net + 1;
}

/* Text of b from a column on. */
static void put_text(struct sketch *s, int x, int y,
                     const struct mortise_buf *b)
{
    size_t step = 1;

    for (size_t i = 0; step > 0 && i < b->n; i += step) {
        uint32_t cp;

        step = mortise_utf8_decode(b->p + i, b->p + b->n, &cp);
        assert(step > 0); /* ids, and marks of ours */
        put_char(s, x++, y, cp);
    }
}

static void draw_box(struct sketch *s, const struct item *it, int top,
                     int height, bool leads_on, struct mortise_buf *b)
{
    int right = it->left + it->width - 1, bottom = top + height - 1;

    for (int x = it->left; x <= right; x++) {
        unsigned sides = (x > it->left ? W : 0u) | (x < right ? E : 0u);

        put_lines(s, x, top, sides, BEND);
        put_lines(s, x, bottom, sides, BEND);
    }
    for (int y = top; y <= bottom; y++) {
        unsigned sides = (y > top ? N : 0u) | (y < bottom ? S : 0u);

        put_lines(s, it->left, y, sides, BEND);
        put_lines(s, right, y, sides, BEND);
    }
    if (leads_on)
        put_lines(s, it->out, bottom, S, BEND);
    for (int line = 0; line < height - 2; line++)
        if (box_line(s, it, (unsigned)line, b))
            put_text(s, it->left + 2, top + 1 + line, b);
}

/* A line passes: from where it arrives to where it leaves. */
static void draw_bend(struct sketch *s, uint32_t i, int top, int height)
{
    const struct item *it = &s->items[i];
    int in = it->out;

    for (uint32_t k = s->first_wire[it->layer - 1];
         k < s->first_wire[it->layer]; k++)
        if (s->wires[k].to == i)
            in = s->wires[k].port;
    for (int y = top; y < top + height; y++) {
        if (y != top + 1 || in == it->out) {
            put_lines(s, y <= top ? in : it->out, y, N | S, i);
            continue;
        }
        put_lines(s, in, y, N | W, i); /* from one column right of it */
        put_lines(s, it->out, y, S | E, i);
    }
}

struct net { /* all wires from one item */
    uint32_t item;
    int left, right; /* the columns that its track covers */
    int track;       /* -1: it only goes straight down */
};

static int by_left(const void *a, const void *b)
{
    const struct net *x = a, *y = b;

    return (x->left > y->left) - (x->left < y->left);
}

/* The nets between a layer and the next; returns how many tracks they need. */
static int find_tracks(struct sketch *s, uint32_t layer, struct net *nets,
                       size_t *n)
{
    int ends[ITEMS_MAX], n_tracks = 0;

    *n = 0;
    for (uint32_t i = 0; i < s->n_order[layer]; i++) {
        uint32_t item = s->order[layer][i];
        struct net net = {item, s->items[item].out, s->items[item].out, -1};

        for (uint32_t k = s->first_wire[layer]; k < s->first_wire[layer + 1];
             k++) {
            const struct wire *w = &s->wires[k];

            if (w->from != item)
                continue;
            net.left = w->port < net.left ? w->port : net.left;
            net.right = w->port > net.right ? w->port : net.right;
        }
        nets[(*n)++] = net;
    }
    qsort(nets, *n, sizeof *nets, by_left);
    for (size_t i = 0; i < *n; i++) {
        int t = 0;

        if (nets[i].left == nets[i].right)
            continue;
        while (t < n_tracks && ends[t] >= nets[i].left)
            t++;
        ends[t] = nets[i].right;
        nets[i].track = t;
        n_tracks = t == n_tracks ? t + 1 : n_tracks;
    }
    return n_tracks;
}

/* One net, from row `top` on; row `last` is that of the arrowheads. */
static void draw_net(struct sketch *s, uint32_t layer, const struct net *net,
                     int top, int last)
{
    int out = s->items[net->item].out, across = top + net->track;

    if (net->track >= 0) {
        for (int x = net->left; x <= net->right; x++)
            put_lines(s, x, across,
                      (x > net->left ? W : 0u) | (x < net->right ? E : 0u),
                      net->item);
        for (int y = top; y < across; y++)
            put_lines(s, out, y, N | S, net->item);
        put_lines(s, out, across, N, net->item);
    }
    for (uint32_t k = s->first_wire[layer]; k < s->first_wire[layer + 1]; k++) {
        const struct wire *w = &s->wires[k];

        if (w->from != net->item)
            continue;
        if (net->track >= 0)
            put_lines(s, w->port, across, S, net->item);
        for (int y = net->track >= 0 ? across + 1 : top; y < last; y++)
            put_lines(s, w->port, y, N | S, net->item);
        if (s->items[w->to].node == BEND)
            put_lines(s, w->port, last, N | S, net->item);
        else
            put_char(s, w->port, last, s->p->ascii ? 'v' : 0x25BC);
    }
}

/* Everything, or (cells NULL) only how many rows it takes. */
static int draw(struct sketch *s, struct mortise_buf *b)
{
    struct net *nets = room(s, s->n_items * sizeof *nets);
    int top = 0;

    for (uint32_t l = 0; l < s->n_layers && nets != NULL; l++) {
        int height = height_of(s, l, b), tracks;
        size_t n;

        for (uint32_t i = 0; i < s->n_order[l] && s->cells != NULL; i++) {
            uint32_t item = s->order[l][i];
            const struct item *it = &s->items[item];
            bool leads_on = false;

            for (uint32_t k = s->first_wire[l]; k < s->first_wire[l + 1]; k++)
                leads_on |= s->wires[k].from == item;
            if (it->node == BEND)
                draw_bend(s, item, top, height);
            else
                draw_box(s, it, top, height, leads_on, b);
        }
        top += height;
        if (l + 1 == s->n_layers)
            break;
        tracks = find_tracks(s, l, nets, &n);
        for (size_t i = 0; i < n && s->cells != NULL; i++)
            draw_net(s, l, &nets[i], top, top + tracks);
        top += tracks + 1;
    }
    return top;
}

/* ---- printing --------------------------------------------------------------
 */

static void put_utf8(struct mortise_buf *b, uint32_t c)
{
    char text[4];

    mortise_buf_put(b, text, mortise_utf8_encode(text, c));
}

static uint32_t look_of(const struct sketch *s, const struct cell *c)
{
    /* N 1, S 2, E 4, W 8 */
    static const uint32_t lines[] = {
        ' ',    0x2502, 0x2502, 0x2502, 0x2500, 0x2514, 0x250C, 0x251C,
        0x2500, 0x2518, 0x2510, 0x2524, 0x2500, 0x2534, 0x252C, 0x253C};

    if (c->text != 0 || c->lines == 0)
        return c->text != 0 ? c->text : ' ';
    if (!s->p->ascii)
        return lines[c->lines];
    return (c->lines & (E | W)) == 0   ? '|'
           : (c->lines & (N | S)) == 0 ? '-'
                                       : '+';
}

static void print(struct sketch *s, struct mortise_buf *b)
{
    for (int y = 0; y < s->rows; y++) {
        int end = s->columns;

        while (end > 0 && look_of(s, cell_at(s, end - 1, y)) == ' ')
            end--;
        for (int x = 0; x < end; x++)
            put_utf8(b, look_of(s, cell_at(s, x, y)));
        mortise_buf_puts(b, "\n");
    }
}

/* Once; `bare`: without the types of nodes. */
static bool sketch(struct mortise_buf *b, const struct mortise_picture *p,
                   bool bare)
{
    struct sketch s = {.p = p, .g = p->graph, .out = b, .bare = bare};
    struct mortise_buf line;

    mortise_arena_init(&s.arena, b->mem);
    mortise_buf_init(&line, b->mem);
    build(&s);
    if (!s.failed) {
        find_widths(&s, &line);
        find_order(&s);
        find_columns(&s);
        s.failed = (size_t)s.columns > p->columns;
    }
    if (!s.failed)
        find_ports(&s);
    if (!s.failed)
        s.rows = draw(&s, &line);
    s.cells = room(&s, (size_t)s.rows * (size_t)s.columns * sizeof *s.cells);
    if (!s.failed)
        draw(&s, &line);
    b->failed |= line.failed;
    if (!s.failed)
        print(&s, b);
    mortise_buf_finish(&line);
    mortise_arena_finish(&s.arena);
    return !s.failed;
}

bool mortise_picture_sketch(struct mortise_buf *b,
                            const struct mortise_picture *p)
{
    return p->graph->n_nodes <= NODES_MAX &&
           (sketch(b, p, false) || sketch(b, p, true));
}
