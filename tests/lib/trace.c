/* trace.c -- the edges of a drawn graph, read back from its boxes and lines. */
#include "lib/trace.h"

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"

enum { ROWS = 2000, COLUMNS = 1000, BOXES = 128 };
enum { N = 1, S = 2, E = 4, W = 8 };

struct box {
    char name[TRACE_NAME];
    int left, right, top, bottom;
};

static uint32_t grid[ROWS][COLUMNS];
static struct box boxes[BOXES];
static size_t n_boxes;

static uint32_t at(int x, int y)
{
    return x >= 0 && x < COLUMNS && y >= 0 && y < ROWS ? grid[y][x] : ' ';
}

/* Which ways a line leaves a character. */
static unsigned sides(uint32_t c)
{
    static const struct {
        uint32_t c;
        unsigned sides;
    } table[] = {
        {0x2502, N | S},     {0x2500, E | W},        {0x250C, S | E},
        {0x2510, S | W},     {0x2514, N | E},        {0x2518, N | W},
        {0x251C, N | S | E}, {0x2524, N | S | W},    {0x252C, S | E | W},
        {0x2534, N | E | W}, {0x253C, N | S | E | W}};

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].c == c)
            return table[i].sides;
    return 0;
}

static void read_grid(const char *p)
{
    const char *end = p + strlen(p);

    for (int y = 0; y < ROWS; y++)
        for (int x = 0; x < COLUMNS; x++)
            grid[y][x] = ' ';
    for (int y = 0; p < end && *p != '\n'; y++, p++) {
        ck_assert_int_lt(y, ROWS);
        for (int x = 0; *p != '\n'; x++) {
            ck_assert_int_lt(x, COLUMNS);
            p += mortise_utf8_decode(p, end, &grid[y][x]);
        }
    }
}

/* Letters from a place on, as one word. */
static void word_at(int x, int y, char out[TRACE_NAME])
{
    size_t n = 0;

    for (; at(x, y) < 0x80 && at(x, y) > ' ' && n + 1 < TRACE_NAME; x++)
        out[n++] = (char)at(x, y);
    out[n] = '\0';
}

/* The box whose upper left corner is there, if one is. */
static void find_box(int x, int y)
{
    struct box *b = &boxes[n_boxes];
    int right = x + 1, bottom = y + 1;

    if (at(x, y) != 0x250C)
        return;
    while (at(right, y) == 0x2500)
        right++;
    while (at(x, bottom) == 0x2502)
        bottom++;
    if (at(right, y) != 0x2510 || at(x, bottom) != 0x2514 || bottom < y + 2)
        return;
    ck_assert_uint_lt(n_boxes, BOXES);
    *b = (struct box){.left = x, .right = right, .top = y, .bottom = bottom};
    word_at(x + 2, y + 1, b->name);
    if (b->name[0] != '\0')
        n_boxes++;
}

static void add(struct trace *t, const char *from, const char *to, bool back)
{
    ck_assert_uint_lt(t->n_edges, TRACE_EDGES);
    strcpy(t->edges[t->n_edges].from, from);
    strcpy(t->edges[t->n_edges].to, to);
    t->edges[t->n_edges++].back = back;
}

static void arrive(struct trace *t, const struct box *from, int x, int y)
{
    for (size_t i = 0; i < n_boxes; i++) {
        const struct box *b = &boxes[i];

        if (b->top == y && x > b->left && x < b->right) {
            add(t, from->name, b->name, false);
            return;
        }
    }
    ck_abort_msg("an arrow at %d,%d points at nothing", x, y);
}

/* Go on into (x, y), having moved that way. */
static void follow(struct trace *t, const struct box *from, int x, int y,
                   unsigned way)
{
    uint32_t c = at(x, y);
    unsigned back = way == S ? N : way == E ? W : E, next;

    if (c == 0x25BC && way == S) {
        arrive(t, from, x, y + 1);
        return;
    }
    if (c == 0x2502 && way != S) { /* behind an upright line */
        follow(t, from, way == E ? x + 1 : x - 1, y, way);
        return;
    }
    next = sides(c);
    ck_assert_msg((next & back) != 0, "a line of %s ends at %d,%d", from->name,
                  x, y);
    next &= ~back;
    ck_assert_msg((next & N) == 0, "a line of %s turns up at %d,%d", from->name,
                  x, y);
    if ((next & S) != 0)
        follow(t, from, x, y + 1, S);
    if ((next & E) != 0)
        follow(t, from, x + 1, y, E);
    if ((next & W) != 0)
        follow(t, from, x - 1, y, W);
}

/* Its lines, and the words in it that stand for lines. */
static void trace_box(struct trace *t, const struct box *b)
{
    for (int x = b->left + 1; x < b->right; x++)
        if (at(x, b->bottom) == 0x252C)
            follow(t, b, x, b->bottom + 1, S);
    for (int y = b->top + 2; y < b->bottom; y++) {
        char to[TRACE_NAME];

        word_at(b->left + 4, y, to);
        if (at(b->left + 2, y) == 0x2192 || at(b->left + 2, y) == 0x21BA)
            add(t, b->name, to, at(b->left + 2, y) == 0x21BA);
    }
}

bool trace_picture(struct trace *t, const char *picture)
{
    t->n_edges = n_boxes = 0;
    read_grid(picture);
    for (int y = 0; y < ROWS; y++)
        for (int x = 0; x < COLUMNS; x++)
            find_box(x, y);
    for (size_t i = 0; i < n_boxes; i++)
        trace_box(t, &boxes[i]);
    t->n_boxes = n_boxes;
    return n_boxes > 0;
}

bool trace_has(const struct trace *t, const char *from, const char *to)
{
    for (size_t i = 0; i < t->n_edges; i++)
        if (strcmp(t->edges[i].from, from) == 0 &&
            strcmp(t->edges[i].to, to) == 0)
            return true;
    return false;
}
