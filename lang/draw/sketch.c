/* sketch.c -- drawing a graph with boxes and lines of characters.
 *
 * Nodes are in layers, each below all of its predecessors.  A line that passes
 * a layer has a place of its own there (a bend).  Between two layers are tracks
 * for the horizontal lines.  These rules make the picture unambiguous
 * (tests/unit/draw/test_picture.c reads it back):
 *
 *   (1) All lines from a box leave through one port and form one net; lines of
 *       two nets never join.
 *   (2) Each line to a box has its own port there, with an arrowhead.
 *   (3) Where nets cross, the vertical line is drawn and the horizontal one is
 *       interrupted.  So a tee or a cross always means that lines join.
 *
 * Ports of outgoing lines have even columns and ports of incoming lines have
 * odd ones, unless the line is straight.  So two nets never need the same
 * column between two layers, and any assignment of tracks is correct.
 *
 * Back edges (loops) and edges to END are text in the box, because lines
 * upwards, or down through all layers, would cross everything.
 */
#include "lang/draw/picture.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"

enum { NODES_MAX = 60, ITEMS_MAX = 3000, SWEEPS = 16, GAP = 2 };

#define BEND 0xFFFFFFFFu /* item.node of a bend; START is n_nodes */

struct item {
    uint32_t node, layer, place; /* place: index in its layer */
    int left, width, out;        /* columns; out: of the outgoing port */
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
    bool bare;   /* boxes have only ids */
    bool failed; /* no memory, or too large or too wide */

    struct item *items;
    uint32_t n_items;
    struct wire *wires; /* sorted by the layer of `from` */
    uint32_t n_wires, cap_wires;
    uint32_t n_layers;
    uint32_t **order; /* layer -> its items, from left to right */
    uint32_t *n_order;
    uint32_t *first_wire; /* layer -> index in wires; n_layers + 1 entries */

    struct cell *cells;
    int columns, rows;
};

static void *alloc_sketch(struct sketch *s, size_t size)
{
    void *p =
        s->failed ? NULL : mortise_arena_alloc(&s->arena, size != 0 ? size : 1);

    if (p != NULL)
        return memset(p, 0, size);
    s->out->failed |= !s->failed; /* the first failure is lack of memory */
    s->failed = true;
    return NULL;
}

/* ---- layers ---- */

/* The item at an end of an edge. */
static uint32_t get_edge_item(const struct sketch *s, uint32_t node)
{
    return node == MORTISE_START ? s->g->n_nodes : node;
}

/* Is it drawn as a line? */
static bool is_drawn_as_line(const struct sketch *s,
                             const struct mortise_edge *e)
{
    return e->to != MORTISE_END &&
           !mortise_graph_is_edge_to_later_visit(s->g, e);
}

/* The longest paths from START. False: there is a cycle, which the regions of a
 * graph exclude. */
static bool set_item_layers(struct sketch *s)
{
    uint32_t n = s->g->n_nodes + 1;

    for (uint32_t round = 0; round <= n; round++) {
        bool moved = false;

        for (uint32_t i = 0; i < s->g->n_edges; i++) {
            const struct mortise_edge *e = &s->g->edges[i];
            uint32_t from = get_edge_item(s, e->from),
                     to = get_edge_item(s, e->to);

            if (!is_drawn_as_line(s, e) ||
                s->items[to].layer > s->items[from].layer)
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

/* Add a line, with a bend in every layer that it passes. */
static void add_sketch_line(struct sketch *s, uint32_t from, uint32_t to)
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

/* Is there a line with the same ends for an earlier edge? */
static bool has_earlier_line(const struct sketch *s, uint32_t edge)
{
    const struct mortise_edge *e = &s->g->edges[edge];

    for (uint32_t i = 0; i < edge; i++) {
        const struct mortise_edge *other = &s->g->edges[i];

        if (is_drawn_as_line(s, other) && other->from == e->from &&
            other->to == e->to)
            return true;
    }
    return false;
}

static int compare_wires(const void *a, const void *b, void *ud)
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

    qsort_r(s->wires, s->n_wires, sizeof *s->wires, compare_wires, s->items);
    for (uint32_t layer = 0; layer <= s->n_layers; layer++) {
        while (k < s->n_wires && s->items[s->wires[k].from].layer < layer)
            k++;
        s->first_wire[layer] = k;
    }
}

static void fill_layer_lists(struct sketch *s)
{
    for (uint32_t i = 0; i < s->n_items; i++)
        if (s->items[i].layer >= s->n_layers)
            s->n_layers = s->items[i].layer + 1;
    s->order = alloc_sketch(s, s->n_layers * sizeof *s->order);
    s->n_order = alloc_sketch(s, s->n_layers * sizeof *s->n_order);
    s->first_wire = alloc_sketch(s, (s->n_layers + 1) * sizeof *s->first_wire);
    if (s->failed)
        return;
    for (uint32_t i = 0; i < s->n_items; i++)
        s->n_order[s->items[i].layer]++;
    for (uint32_t l = 0; l < s->n_layers; l++) {
        s->order[l] = alloc_sketch(s, s->n_order[l] * sizeof **s->order);
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

static void build_sketch(struct sketch *s)
{
    s->items = alloc_sketch(s, ITEMS_MAX * sizeof *s->items);
    s->cap_wires = ITEMS_MAX + s->g->n_edges;
    s->wires = alloc_sketch(s, s->cap_wires * sizeof *s->wires);
    s->n_items = s->g->n_nodes + 1;
    if (s->failed)
        return;
    for (uint32_t i = 0; i < s->n_items; i++)
        s->items[i].node = i;
    if (!set_item_layers(s)) {
        s->failed = true;
        return;
    }
    for (uint32_t i = 0; i < s->g->n_edges && !s->failed; i++) {
        const struct mortise_edge *e = &s->g->edges[i];

        if (is_drawn_as_line(s, e) && !has_earlier_line(s, i))
            add_sketch_line(s, get_edge_item(s, e->from),
                            get_edge_item(s, e->to));
    }
    if (!s->failed)
        fill_layer_lists(s);
}

/* ---- order and columns ---- */

/* For each item of a layer, the mean of value() of its neighbours above
 * (`down`) or below; its own value if it has none. */
static void set_wanted_positions(struct sketch *s, uint32_t layer, bool down,
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

static double get_item_place(const struct item *it)
{
    return it->place;
}

static double get_item_port(const struct item *it)
{
    return it->out;
}

static int compare_wanted_positions(const void *a, const void *b, void *ud)
{
    const struct item *items = ud;
    const struct item *x = &items[*(const uint32_t *)a];
    const struct item *y = &items[*(const uint32_t *)b];

    return x->want != y->want ? (x->want > y->want) - (x->want < y->want)
                              : (x->place > y->place) - (x->place < y->place);
}

/* Reduce crossings: order each layer by its predecessors, then by its
 * successors, several times. */
static void order_layers(struct sketch *s)
{
    for (unsigned sweep = 0; sweep < SWEEPS; sweep++) {
        bool down = sweep % 2 == 0;

        for (uint32_t k = 1; k < s->n_layers; k++) {
            uint32_t l = down ? k : s->n_layers - 1 - k;

            set_wanted_positions(s, l, down, get_item_place);
            qsort_r(s->order[l], s->n_order[l], sizeof **s->order,
                    compare_wanted_positions, s->items);
            for (uint32_t i = 0; i < s->n_order[l]; i++)
                s->items[s->order[l][i]].place = i;
        }
    }
}

static int get_item_centre(const struct item *it)
{
    return it->node == BEND ? 0 : (it->width - 1) / 2;
}

/* A group of adjacent items that is moved as one. */
struct block {
    uint32_t first, n;
    double sum, shift; /* sum and mean of the shifts that its items want */
};

/* Place a layer as near to the wanted positions as its order and widths allow:
 * least squares, by merging items that would overlap. */
static void place_layer(struct sketch *s, uint32_t layer)
{
    struct block blocks[ITEMS_MAX]; /* about 100 kB of stack */
    uint32_t n = 0, *order = s->order[layer];
    int at = 0;

    for (uint32_t i = 0; i < s->n_order[layer]; i++) {
        struct item *it = &s->items[order[i]];
        double want = it->want - get_item_centre(it) - at;

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
    at = -1000000; /* negative columns are corrected at the end */
    for (uint32_t b = 0; b < n; b++)
        for (uint32_t i = blocks[b].first; i < blocks[b].first + blocks[b].n;
             i++) {
            struct item *it = &s->items[order[i]];
            int left = it->left + (int)blocks[b].shift;

            left = left < at ? at : left;
            it->left = left + (left & 1); /* even */
            it->out = it->left + get_item_centre(it);
            at = it->left + it->width + GAP;
        }
}

static void set_item_columns(struct sketch *s)
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

            set_wanted_positions(s, l, down, get_item_port);
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

static int compare_wire_sources(const void *a, const void *b, void *ud)
{
    const struct item *items = ud;
    int x = items[(*(struct wire *const *)a)->from].out;
    int y = items[(*(struct wire *const *)b)->from].out;

    return (x > y) - (x < y);
}

/* Set the columns where n lines arrive at an item, from left to right. */
static void set_item_ports(struct sketch *s, struct wire **in, int n,
                           const struct item *it)
{
    bool straight;
    int first = it->out - (n - 1);

    qsort_r(in, (size_t)n, sizeof *in, compare_wire_sources, s->items);
    straight = n % 2 == 1 && s->items[in[n / 2]->from].out == it->out;
    if (it->node == BEND && !straight) {
        in[0]->port = it->out + 1;
        return;
    }
    for (int i = 0; i < n; i++) {
        if (straight) /* the middle one is straight, the others are beside it */
            in[i]->port =
                i == n / 2 ? it->out
                           : it->out + 2 * (i - n / 2) + (i < n / 2 ? 1 : -1);
        else
            in[i]->port = first + 2 * i + (n % 2 == 1 ? 1 : 0);
    }
}

static void set_all_ports(struct sketch *s)
{
    struct wire **in = alloc_sketch(s, s->n_wires * sizeof *in);

    for (uint32_t i = 0; i < s->n_items && in != NULL; i++) {
        const struct item *it = &s->items[i];
        uint32_t layer = it->layer;
        int n = 0;

        for (uint32_t k = layer > 0 ? s->first_wire[layer - 1] : 0;
             layer > 0 && k < s->first_wire[layer]; k++)
            if (s->wires[k].to == i)
                in[n++] = &s->wires[k];
        if (n > 0)
            set_item_ports(s, in, n, it);
    }
}

/* ---- text in boxes ---- */

/* The i-th outgoing edge of a box's node: its own edges, then those of the maps
 * that begin with it, which lead to their joins; NULL: no more. */
static const struct mortise_edge *get_box_edge(const struct sketch *s,
                                               uint32_t node, uint32_t i)
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

/* Does an earlier edge have the same target? */
static bool has_earlier_target(const struct sketch *s, uint32_t node,
                               uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (get_box_edge(s, node, k)->to == get_box_edge(s, node, i)->to)
            return true;
    return false;
}

/* Print the given line of the box's text to b; false after the last. */
static bool print_box_line(const struct sketch *s, const struct item *it,
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
    for (uint32_t i = 0; (e = get_box_edge(s, it->node, i)) != NULL; i++) {
        if (is_drawn_as_line(s, e) || has_earlier_target(s, it->node, i) ||
            --line > 0)
            continue;
        mortise_buf_puts(b, e->to != MORTISE_END ? (ascii ? "^ " : "\u21ba ")
                                                 : (ascii ? "> " : "\u2192 "));
        mortise_buf_puts(b, mortise_picture_get_node_name(g, e->to));
        return true;
    }
    return false;
}

/* The characters have one column each: marks, and ids. */
static int count_columns(const struct mortise_buf *b)
{
    return (int)mortise_utf8_count(b->p, b->n);
}

static void set_box_widths(struct sketch *s, struct mortise_buf *b)
{
    for (uint32_t i = 0; i < s->n_items; i++) {
        struct item *it = &s->items[i];
        int width = 2 * (int)it->n_in + 3;

        if (it->node == BEND)
            continue;
        for (unsigned line = 0; print_box_line(s, it, line, b); line++)
            width = count_columns(b) + 4 > width ? count_columns(b) + 4 : width;
        /* makes the middle column even, like the left one */
        while (width % 4 != 1)
            width++;
        it->width = width;
    }
}

/* The number of rows for a layer's boxes. */
static int get_layer_height(const struct sketch *s, uint32_t layer,
                            struct mortise_buf *b)
{
    unsigned most = 1;

    for (uint32_t i = 0; i < s->n_order[layer]; i++) {
        const struct item *it = &s->items[s->order[layer][i]];

        while (it->node != BEND && print_box_line(s, it, most, b))
            most++;
    }
    return (int)most + 2;
}

/* ---- drawing ---- */

static struct cell *get_cell(struct sketch *s, int x, int y)
{
    assert(x >= 0 && x < s->columns && y >= 0 && y < s->rows);
    return &s->cells[(size_t)y * (size_t)s->columns + (size_t)x];
}

static void set_cell_text(struct sketch *s, int x, int y, uint32_t c)
{
    get_cell(s, x, y)->text = c;
}

/* Add lines of a net to a cell.  A line of another net can only be crossed (see
 * the top); the vertical one remains. */
static void set_cell_lines(struct sketch *s, int x, int y, unsigned lines,
                           uint32_t net)
{
    struct cell *c = get_cell(s, x, y);

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

/* Draw the text of b, starting at a column. */
static void draw_box_text(struct sketch *s, int x, int y,
                          const struct mortise_buf *b)
{
    size_t step = 1;

    for (size_t i = 0; step > 0 && i < b->n; i += step) {
        uint32_t cp;

        step = mortise_utf8_decode(b->p + i, b->p + b->n, &cp);
        assert(step > 0); /* ids and marks are valid UTF-8 */
        set_cell_text(s, x++, y, cp);
    }
}

static void draw_box(struct sketch *s, const struct item *it, int top,
                     int height, bool leads_on, struct mortise_buf *b)
{
    int right = it->left + it->width - 1, bottom = top + height - 1;

    for (int x = it->left; x <= right; x++) {
        unsigned sides = (x > it->left ? W : 0u) | (x < right ? E : 0u);

        set_cell_lines(s, x, top, sides, BEND);
        set_cell_lines(s, x, bottom, sides, BEND);
    }
    for (int y = top; y <= bottom; y++) {
        unsigned sides = (y > top ? N : 0u) | (y < bottom ? S : 0u);

        set_cell_lines(s, it->left, y, sides, BEND);
        set_cell_lines(s, right, y, sides, BEND);
    }
    if (leads_on)
        set_cell_lines(s, it->out, bottom, S, BEND);
    for (int line = 0; line < height - 2; line++)
        if (print_box_line(s, it, (unsigned)line, b))
            draw_box_text(s, it->left + 2, top + 1 + line, b);
}

/* Draw a passing line, from the column where it arrives to the one where it
 * leaves. */
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
            set_cell_lines(s, y <= top ? in : it->out, y, N | S, i);
            continue;
        }
        /* the arriving column is one to the right */
        set_cell_lines(s, in, y, N | W, i);
        set_cell_lines(s, it->out, y, S | E, i);
    }
}

struct net { /* all wires from one item */
    uint32_t item;
    int left, right; /* the columns of its track */
    int track;       /* -1: it only goes straight down */
};

static int compare_nets(const void *a, const void *b)
{
    const struct net *x = a, *y = b;

    return (x->left > y->left) - (x->left < y->left);
}

/* Assign tracks to the nets between a layer and the next; returns the number of
 * tracks. */
static int assign_net_tracks(struct sketch *s, uint32_t layer, struct net *nets,
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
    qsort(nets, *n, sizeof *nets, compare_nets);
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

/* Draw a net, starting at row `top`; `last` is the row of the arrowheads. */
static void draw_net(struct sketch *s, uint32_t layer, const struct net *net,
                     int top, int last)
{
    int out = s->items[net->item].out, across = top + net->track;

    if (net->track >= 0) {
        for (int x = net->left; x <= net->right; x++)
            set_cell_lines(s, x, across,
                           (x > net->left ? W : 0u) | (x < net->right ? E : 0u),
                           net->item);
        for (int y = top; y < across; y++)
            set_cell_lines(s, out, y, N | S, net->item);
        set_cell_lines(s, out, across, N, net->item);
    }
    for (uint32_t k = s->first_wire[layer]; k < s->first_wire[layer + 1]; k++) {
        const struct wire *w = &s->wires[k];

        if (w->from != net->item)
            continue;
        if (net->track >= 0)
            set_cell_lines(s, w->port, across, S, net->item);
        for (int y = net->track >= 0 ? across + 1 : top; y < last; y++)
            set_cell_lines(s, w->port, y, N | S, net->item);
        if (s->items[w->to].node == BEND)
            set_cell_lines(s, w->port, last, N | S, net->item);
        else
            set_cell_text(s, w->port, last, s->p->ascii ? 'v' : 0x25BC);
    }
}

/* Draw everything; if `cells` is NULL, only count the rows. */
static int draw_sketch(struct sketch *s, struct mortise_buf *b)
{
    struct net *nets = alloc_sketch(s, s->n_items * sizeof *nets);
    int top = 0;

    for (uint32_t l = 0; l < s->n_layers && nets != NULL; l++) {
        int height = get_layer_height(s, l, b), tracks;
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
        tracks = assign_net_tracks(s, l, nets, &n);
        for (size_t i = 0; i < n && s->cells != NULL; i++)
            draw_net(s, l, &nets[i], top, top + tracks);
        top += tracks + 1;
    }
    return top;
}

/* ---- printing ---- */

static void append_utf8(struct mortise_buf *b, uint32_t c)
{
    char text[4];

    mortise_buf_put(b, text, mortise_utf8_encode(text, c));
}

static uint32_t get_cell_character(const struct sketch *s, const struct cell *c)
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

static void print_sketch(struct sketch *s, struct mortise_buf *b)
{
    for (int y = 0; y < s->rows; y++) {
        int end = s->columns;

        while (end > 0 && get_cell_character(s, get_cell(s, end - 1, y)) == ' ')
            end--;
        for (int x = 0; x < end; x++)
            append_utf8(b, get_cell_character(s, get_cell(s, x, y)));
        mortise_buf_puts(b, "\n");
    }
}

/* Try to draw; `bare`: without the types of nodes. */
static bool make_sketch(struct mortise_buf *b, const struct mortise_picture *p,
                        bool bare)
{
    struct sketch s = {.p = p, .g = p->graph, .out = b, .bare = bare};
    struct mortise_buf line;

    mortise_arena_init(&s.arena, b->mem);
    mortise_buf_init(&line, b->mem);
    build_sketch(&s);
    if (!s.failed) {
        set_box_widths(&s, &line);
        order_layers(&s);
        set_item_columns(&s);
        s.failed = (size_t)s.columns > p->columns;
    }
    if (!s.failed)
        set_all_ports(&s);
    if (!s.failed)
        s.rows = draw_sketch(&s, &line);
    s.cells =
        alloc_sketch(&s, (size_t)s.rows * (size_t)s.columns * sizeof *s.cells);
    if (!s.failed)
        draw_sketch(&s, &line);
    b->failed |= line.failed;
    if (!s.failed)
        print_sketch(&s, b);
    mortise_buf_finish(&line);
    mortise_arena_finish(&s.arena);
    return !s.failed;
}

bool mortise_picture_print_sketch(struct mortise_buf *b,
                                  const struct mortise_picture *p)
{
    return p->graph->n_nodes <= NODES_MAX &&
           (make_sketch(b, p, false) || make_sketch(b, p, true));
}
