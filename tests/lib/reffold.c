/* reffold.c -- the cells of a model graph's state, and how writes meet.
 *
 * Every cell has one reducer of the language.  What a node writes is made of
 * its own number and its visit, so that no two executions write the same. */
#include "lib/refgraph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *reducer;
} cells[] = {
    {"sum", "sum"},
    {"min", "min"},
    {"max", "max"},
    {"first", "first"},
    {"last", "last"},
    {"longest", "longest"},
    {"text", "concat"},
    {"tree", "merge"},
    {"avg", "avg"},
    {"expr", "{expr: \"(old * 3 + new) % 1000\"}"},
    {"capped", "{reduce: concat, max_items: 3, overflow: drop_oldest}"},
    {"plain", NULL},
    {"log", "concat"}};

const char *ref_cell_name(int cell)
{
    return cells[cell].name;
}

const char *ref_cell_reducer(int cell)
{
    return cells[cell].reducer;
}

bool ref_cell_conflicts(int cell)
{
    return cell == REF_ARTIFACT ||
           (cell <= REF_CELLS && cells[cell].reducer == NULL);
}

json_t *ref_cell_value(int cell, int node, const struct ref_node *n, int turn)
{
    char text[64];

    switch (cell) {
    case REF_LONGEST:
        snprintf(text, sizeof text, "%.*s%d", n->value % 5, "xxxxx", turn);
        return json_string(text);
    case REF_TEXT:
        snprintf(text, sizeof text, "n%d.%d;", node, turn);
        return json_string(text);
    case REF_MERGE:
        snprintf(text, sizeof text, "k%d", n->value % 2);
        return json_pack("{s:{s:i, s:i}}", text, "both", turn,
                         node % 2 ? "odd" : "even", node);
    case REF_CAPPED:
        return json_pack("[i, i]", node, turn);
    default:
        return json_integer(n->value - turn * (n->value % 3 - 1));
    }
}

void ref_cell_expr(int cell, int node, const struct ref_node *n,
                   const char *turn_expr, char *out, size_t size)
{
    switch (cell) {
    case REF_LONGEST:
        snprintf(out, size, "'%.*s' + string(%s)", n->value % 5, "xxxxx",
                 turn_expr);
        break;
    case REF_TEXT:
        snprintf(out, size, "'n%d.' + string(%s) + ';'", node, turn_expr);
        break;
    case REF_MERGE:
        snprintf(out, size, "{'k%d': {'both': %s, '%s': %d}}", n->value % 2,
                 turn_expr, node % 2 ? "odd" : "even", node);
        break;
    case REF_CAPPED:
        snprintf(out, size, "[%d, %s]", node, turn_expr);
        break;
    default:
        snprintf(out, size, "%d - %s * %d", n->value, turn_expr,
                 n->value % 3 - 1);
    }
}

static void merge(json_t *old, json_t *add)
{
    const char *key;
    json_t *value;

    json_object_foreach(add, key, value)
    {
        json_t *mine = json_object_get(old, key);

        if (json_is_object(mine) && json_is_object(value))
            merge(mine, value);
        else
            json_object_set_new(old, key, json_deep_copy(value));
    }
}

static json_t *joined(const json_t *old, const json_t *add)
{
    size_t n = json_string_length(old) + json_string_length(add);
    char *text = malloc(n + 1);
    json_t *out;

    snprintf(text, n + 1, "%s%s", json_string_value(old),
             json_string_value(add));
    out = json_string(text);
    free(text);
    return out;
}

/* Of more than one: their sum and their number stand beside the state. */
static json_t *mean(json_t *state, json_t *old, json_t *add)
{
    json_t *all = json_object_get(state, "avg");
    json_int_t sum = json_integer_value(add), n = 2;

    if (all != NULL)
        n = json_integer_value(json_object_get(all, "n")) + 1;
    sum += all != NULL ? json_integer_value(json_object_get(all, "sum"))
                       : json_integer_value(old);
    json_object_set_new(state, "avg",
                        json_pack("{s:I, s:I}", "n", n, "sum", sum));
    return json_real((double)sum / (double)n);
}

static json_t *capped(json_t *old, json_t *add)
{
    json_array_extend(old, add);
    while (json_array_size(old) > 3)
        json_array_remove(old, 0);
    return json_incref(old);
}

/* What stands there when both are: a new reference. */
static json_t *reduced(json_t *state, int cell, json_t *old, json_t *add)
{
    json_int_t a = json_integer_value(old), b = json_integer_value(add);

    switch (cell) {
    case REF_SUM:
        return json_integer(a + b);
    case REF_MIN:
        return json_integer(a < b ? a : b);
    case REF_MAX:
        return json_integer(a > b ? a : b);
    case REF_FIRST:
        return json_incref(old);
    case REF_LONGEST:
        return json_incref(
            json_string_length(add) > json_string_length(old) ? add : old);
    case REF_TEXT:
        return joined(old, add);
    case REF_MERGE:
        merge(old, add);
        return json_incref(old);
    case REF_AVG:
        return mean(state, old, add);
    case REF_EXPR:
        return json_integer((a * 3 + b) % 1000);
    case REF_CAPPED:
        return capped(old, add);
    case REF_LOG:
        json_array_extend(old, add);
        return json_incref(old);
    default:
        return json_incref(add);
    }
}

void ref_fold(json_t *state, const struct ref_write *w)
{
    json_t *root = json_object_get(state, w->root);
    json_t *old = json_object_get(root, w->key);

    json_object_set_new(root, w->key,
                        old == NULL ? json_deep_copy(w->value)
                                    : reduced(state, w->cell, old, w->value));
}
