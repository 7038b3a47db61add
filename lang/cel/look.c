/* look.c -- the members that an expression uses of its names.
 *
 * The checker refuses errors that are visible from types.  A caller that knows
 * more than the types (whether names are ever set, and by which node) can
 * analyze a compiled program with this module.  The analysis follows each name
 * to its members, and into lists by indexes and by the variables of macros.
 * The meaning of a place is known only to the caller.  Here it is a pointer,
 * and NULL is an unknown place.
 *
 *   (1) The callback is called once for each member that the text selects by a
 *       constant name, also in has(), after the call for its parent.
 *   (2) A place is followed while the value is identical: selected, indexed,
 *       filtered, or an element in a macro's variable.  A computed value is
 *       NULL.
 */
#include "lang/cel/ast.h"
#include "lang/cel/cel.h"
#include "lang/cel/eval.h"

#include <assert.h>
#include <string.h>

/* A tree has at most CEL_HEIGHT levels, and a macro has two variables. */
enum { SLOTS = 2 * CEL_HEIGHT };

struct look {
    const struct mortise_cel_walk *by;
    const void *slots[SLOTS];
};

static const void *look_at_node(struct look *l, const struct cel_node *n);

static const void *look_all(struct look *l, const struct cel_node *n)
{
    for (uint32_t i = 0; i < n->n; i++)
        if (n->kids[i] != NULL)
            look_at_node(l, n->kids[i]);
    return NULL;
}

static const void *look_at_member(struct look *l, const void *of,
                                  const struct cel_node *at, const char *name,
                                  size_t n)
{
    struct mortise_cel_range where = {at->offset, at->length};

    if (of == NULL || memchr(name, '\0', n) != NULL)
        return NULL;
    return l->by->member(l->by->ctx, of, name, where);
}

static const void *look_index(struct look *l, const struct cel_node *n)
{
    const void *of = look_at_node(l, n->kids[0]);
    const struct cel_node *key = n->kids[1];

    look_at_node(l, key);
    if (key->op == CEL_CONST && key->u.constant.kind == CEL_STRING)
        return look_at_member(l, of, key, key->u.constant.u.s.p,
                              key->u.constant.u.s.n);
    return of != NULL ? l->by->item(l->by->ctx, of) : NULL;
}

/* A filter returns a part of its range. */
static const void *look_fold(struct look *l, const struct cel_node *n)
{
    bool two = n->u.fold.var[1].p != NULL;
    const void *range = look_at_node(l, n->kids[0]);
    const void *item = range != NULL ? l->by->item(l->by->ctx, range) : NULL;

    assert(n->u.fold.slot[two] < SLOTS);
    l->slots[n->u.fold.slot[0]] = two ? NULL : item;
    if (two)
        l->slots[n->u.fold.slot[1]] = item;
    for (int i = 1; i < 3; i++)
        if (n->kids[i] != NULL)
            look_at_node(l, n->kids[i]);
    return n->op == CEL_MAKE_LIST && n->kids[2] == NULL ? range : NULL;
}

static const void *look_at_node(struct look *l, const struct cel_node *n)
{
    switch (n->op) {
    case CEL_NAME:
        return l->by->name(l->by->ctx, n->u.index);
    case CEL_LOCAL:
        return l->slots[n->u.index];
    case CEL_SELECT:
    case CEL_HAS:
        return look_at_member(l, look_at_node(l, n->kids[0]), n, n->u.name.p,
                              n->u.name.n);
    case CEL_INDEX:
        return look_index(l, n);
    case CEL_ALL:
    case CEL_EXISTS:
    case CEL_EXISTS_ONE:
    case CEL_MAKE_LIST:
    case CEL_MAKE_MAP:
        return look_fold(l, n);
    default:
        return look_all(l, n);
    }
}

const void *mortise_cel_walk(const struct mortise_cel *prog,
                             const struct mortise_cel_walk *by)
{
    struct look l = {.by = by};

    return look_at_node(&l, prog->root);
}
