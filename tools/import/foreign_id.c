/* foreign_id.c -- convert ids of other systems to valid ids.
 *
 * A valid id stays the same.  Each other id is replaced by an unused one, in
 * the order of the file.  So no two nodes get the same id, and a file of valid
 * ids stays unchanged.
 */
#include "tools/import/foreign.h"

#include <stdio.h>
#include <string.h>

#include "lang/graph/load/node.h"

enum { ID_MAX = 64, NAME_LENGTH = 128 };

static bool is_id_unused(const json_t *taken, const char *id)
{
    return json_object_get(taken, id) == NULL && strcmp(id, "START") != 0 &&
           strcmp(id, "END") != 0;
}

/* Replace the characters that an id cannot contain. */
static void make_valid_id(char out[ID_MAX + 1], const char *given)
{
    size_t n = 0;

    for (; *given != '\0' && n < ID_MAX; given++) {
        char two[] = {'a', *given, '\0'};

        if (((unsigned char)*given & 0xC0) == 0x80)
            continue; /* one '_' for a character, not for each byte */
        if (n == 0 && mortise_node_is_id(two) && !mortise_node_is_id(two + 1))
            out[n++] = '_';
        out[n++] = mortise_node_is_id(two) ? *given : '_';
        if (n > ID_MAX)
            n = ID_MAX;
    }
    if (n == 0)
        out[n++] = '_';
    out[n] = '\0';
}

/* Find an unused id that begins like `id`.  `taken` stores the last number used
 * for each beginning, so that n equal ids take n steps. */
static void find_unused_id(struct foreign *f, json_t *taken,
                           char id[ID_MAX + 1])
{
    char base[ID_MAX + 1], end[24];
    json_int_t k;

    memcpy(base, id, sizeof base);
    k = json_integer_value(json_object_get(taken, base));
    while (!is_id_unused(taken, id)) {
        size_t room = ID_MAX - (size_t)snprintf(end, sizeof end, "-%lld",
                                                (long long)++k + 1);

        snprintf(id, ID_MAX + 1, "%.*s%s", (int)room, base, end);
    }
    mortise_foreign_set(f, taken, base, json_integer(k));
}

static void add_renamed_id(struct foreign *f, json_t *taken,
                           const struct mortise_yaml *theirs)
{
    char id[ID_MAX + 1];
    struct mortise_diag *d;

    make_valid_id(id, theirs->str);
    find_unused_id(f, taken, id);
    mortise_foreign_set(f, taken, id, json_integer(0));
    mortise_foreign_set(f, f->ids, theirs->str, json_string(id));
    d = mortise_diag_add(
        f->diags, "W1002", theirs->span,
        "'%.100s' is named '%s', because it is not a valid id in Mortise",
        theirs->str, id);
    mortise_diag_help(
        f->diags, d,
        "an id has at most 64 letters, digits, '_' and '-', and begins with a "
        "letter or '_'; START and END are reserved");
}

static bool is_valid_node_id(const struct mortise_yaml *id)
{
    return mortise_node_is_id(id->str) && strcmp(id->str, "START") != 0 &&
           strcmp(id->str, "END") != 0;
}

void mortise_foreign_add_ids(struct foreign *f,
                             const struct mortise_yaml *const *list, size_t n)
{
    json_t *taken = json_object();

    for (size_t i = 0; i < n; i++)
        if (is_valid_node_id(list[i])) {
            mortise_foreign_set(f, taken, list[i]->str, json_integer(0));
            mortise_foreign_set(f, f->ids, list[i]->str,
                                json_string(list[i]->str));
        }
    for (size_t i = 0; i < n; i++)
        if (!is_valid_node_id(list[i]))
            add_renamed_id(f, taken, list[i]);
    json_decref(taken);
}

bool mortise_foreign_add_node_ids(struct foreign *f,
                                  const struct mortise_yaml *list)
{
    const struct mortise_yaml **ids = mortise_arena_alloc(
        f->arena, (list->n > 0 ? list->n : 1) * sizeof(*ids));
    json_t *seen = json_object();
    const size_t errors = f->diags->n_errors;

    for (size_t i = 0; ids != NULL && i < list->n; i++) {
        const struct mortise_yaml *id =
            mortise_foreign_get(list->items[i], "id");

        ids[i] = id;
        if (id == NULL || id->kind != MORTISE_YAML_STRING || id->len == 0 ||
            strlen(id->str) != id->len)
            mortise_foreign_report_error(
                f, list->items[i]->span, NULL,
                "a node needs an 'id', a string without a NUL");
        else if (strcmp(id->str, "__START__") == 0 ||
                 strcmp(id->str, "__END__") == 0)
            mortise_foreign_report_error(
                f, id->span, NULL, "'%s' cannot be the id of a node", id->str);
        else if (json_object_get(seen, id->str) != NULL)
            mortise_foreign_report_error(
                f, id->span, NULL, "two nodes have the id '%.100s'", id->str);
        else
            mortise_foreign_set(f, seen, id->str, json_true());
    }
    json_decref(seen);
    f->nomem |= ids == NULL;
    if (f->nomem || f->diags->n_errors > errors)
        return false;
    mortise_foreign_add_ids(f, ids, list->n);
    return !f->nomem;
}

const char *mortise_foreign_find_id(struct foreign *f,
                                    const struct mortise_yaml *id)
{
    const json_t *ours = NULL;

    if (id->kind == MORTISE_YAML_STRING && strlen(id->str) == id->len)
        ours = json_object_get(f->ids, id->str);
    if (ours == NULL && !f->nomem)
        mortise_foreign_report_error(
            f, id->span, "list every node of the graph in 'nodes'",
            "%s%.100s%s is not a node",
            id->kind == MORTISE_YAML_STRING ? "'" : "",
            id->kind == MORTISE_YAML_STRING ? id->str
                                            : mortise_yaml_kind_name(id->kind),
            id->kind == MORTISE_YAML_STRING ? "'" : "");
    return json_string_value(ours);
}

json_t *mortise_foreign_make_name(const char *given, size_t n)
{
    char name[NAME_LENGTH + 1];
    size_t at = 0;

    for (size_t i = 0; i < n && at < NAME_LENGTH; i++) {
        char two[] = {'a', given[i], '\0'};

        if (mortise_node_is_id(two) &&
            (at > 0 || strchr("_-", given[i]) == NULL))
            name[at++] = given[i];
        else if (at > 0 && given[i] == '.')
            name[at++] = '.';
        else if (at > 0 && name[at - 1] != '-')
            name[at++] = '-';
    }
    while (at > 0 && name[at - 1] == '-')
        at--;
    name[at] = '\0';
    return json_string(at > 0 ? name : "imported");
}
