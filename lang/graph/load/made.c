/* made.c -- mappings that the loader builds from written keys and from texts of
 * its own.  A built text has the position of the value that it stands for.
 */
#include "lang/graph/load/node.h"

#include <string.h>

/* Copy the list into a larger one in the arena. */
static struct mortise_yaml **grow_made_list(struct mortise_loader *ld,
                                            struct mortise_yaml **list,
                                            size_t n, size_t cap)
{
    struct mortise_yaml **out = mortise_load_alloc(ld, cap * sizeof *out);

    if (out != NULL && n > 0)
        memcpy(out, list, n * sizeof *out);
    return out;
}

void mortise_built_map_add(struct mortise_loader *ld,
                           struct mortise_built_map *m,
                           const struct mortise_yaml *key,
                           const struct mortise_yaml *item)
{
    if (m->n == m->cap) {
        size_t cap = m->cap != 0 ? 2 * m->cap : 8;

        m->keys = grow_made_list(ld, m->keys, m->n, cap);
        m->items = grow_made_list(ld, m->items, m->n, cap);
        m->cap = cap;
    }
    if (ld->nomem)
        return;
    m->keys[m->n] = mortise_yaml_unconst(key);
    m->items[m->n++] = mortise_yaml_unconst(item);
}

struct mortise_yaml *mortise_yaml_make_text(struct mortise_loader *ld,
                                            const char *text,
                                            const struct mortise_yaml *like)
{
    struct mortise_yaml *made = mortise_load_alloc(ld, sizeof *made);

    if (made != NULL)
        *made = (struct mortise_yaml){.kind = MORTISE_YAML_STRING,
                                      .span = like->span,
                                      .str = text,
                                      .len = strlen(text)};
    return made;
}

struct mortise_yaml *mortise_yaml_make_number(struct mortise_loader *ld,
                                              double value,
                                              const struct mortise_yaml *like)
{
    struct mortise_yaml *made = mortise_yaml_make_text(ld, "", like);
    char text[32];

    if (made == NULL)
        return NULL;
    snprintf(text, sizeof text, "%g", value);
    made->kind = MORTISE_YAML_REAL;
    made->str = mortise_arena_strdup(ld->arena, text);
    made->u.d = value;
    ld->nomem |= made->str == NULL;
    made->len = made->str != NULL ? strlen(made->str) : 0;
    return made;
}

struct mortise_yaml *
mortise_built_map_to_yaml(struct mortise_loader *ld,
                          const struct mortise_built_map *m,
                          struct mortise_span at)
{
    struct mortise_yaml *map =
        ld->nomem
            ? NULL
            : mortise_yaml_make_mapping(ld->arena, at, m->keys, m->items, m->n);

    ld->nomem |= map == NULL;
    return map;
}
