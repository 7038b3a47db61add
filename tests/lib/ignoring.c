/* ignoring.c -- all keys of a file, and a loader that ignores one of them. */
#include "lib/ignoring.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testkit/cases/casefile.h"
#include "lang/config/deploy.h"
#include "lang/graph/load/loader.h"
#include "lang/manifest/manifest.h"

/* ---- all keys ---------------------------------------------------------- */

struct naming {
    void (*fn)(void *ud, const struct named_key *k);
    void *ud;
    const char *file;       /* in front of its places: "", "plugin/" */
    const void *seen[1024]; /* rows, and lists of words without one */
    size_t n_seen;
    bool later; /* inside a key of a later build */
};

static bool was_seen(const struct naming *n, const void *what)
{
    for (size_t i = 0; i < n->n_seen; i++)
        if (n->seen[i] == what)
            return true;
    return false;
}

static void see(struct naming *n, const void *what)
{
    assert(n->n_seen < sizeof n->seen / sizeof n->seen[0]);
    n->seen[n->n_seen++] = what;
}

static void name_place(struct naming *n, const struct mortise_place *place);

/* Do its words mean something else than their letters?  Those of other keys are
 * read as they stand, and only the row can be ignored. */
static bool has_meanings(const struct mortise_key *key)
{
    const struct mortise_word *w = key->words;

    while (w->word != NULL && w->value == key->words->value)
        w++;
    return w->word != NULL;
}

static void name_words(struct naming *n, const char *name,
                       const struct mortise_key *key)
{
    for (const struct mortise_word *w = key->words; w->word != NULL; w++) {
        struct named_key k = {.key = key, .word = w, .later = w->later};

        snprintf(k.name, sizeof k.name, "%.80s=%.40s", name, w->word);
        if (w->later || has_meanings(key))
            n->fn(n->ud, &k);
    }
}

/* What stands below a row: rows without names have that of the one above. */
static void name_inside(struct naming *n, const char *name,
                        const struct mortise_key *key)
{
    if (key->place != NULL)
        name_place(n, key->place);
    if (key->each != NULL)
        name_inside(n, name, key->each);
    for (size_t i = 0; i < key->n_forms; i++)
        name_inside(n, name, &key->forms[i]);
    if (key->name == NULL && key->words != NULL && !was_seen(n, key->words)) {
        see(n, key->words);
        name_words(n, name, key);
    }
}

static void name_row(struct naming *n, const char *place,
                     const struct mortise_key *key)
{
    bool around = n->later;
    struct named_key k = {.key = key, .later = around || key->later};

    snprintf(k.name, sizeof k.name, "%.16s%.50s.%.50s", n->file, place,
             key->name);
    if (key->later || key->words == NULL || was_seen(n, key->words) ||
        !has_meanings(key))
        n->fn(n->ud, &k);
    if (!key->later && key->words != NULL && !was_seen(n, key->words))
        name_words(n, k.name, key);
    n->later = k.later;
    name_inside(n, k.name, key);
    n->later = around;
}

/* Is it a key of this build for one type, and of a later one for another? */
static bool is_there(const struct mortise_place *of, const char *name)
{
    for (size_t i = 0; of != NULL && of->types[i] != NULL; i++) {
        const struct mortise_key *key =
            mortise_place_find_key(of->types[i], name);

        if (key != NULL && !key->later)
            return true;
    }
    return false;
}

/* Do two types have rows of their own for a key of that name? */
static bool is_shared(const struct mortise_place *of, const char *name)
{
    const struct mortise_key *first = NULL;

    for (size_t i = 0; of != NULL && of->types[i] != NULL; i++) {
        const struct mortise_key *key =
            mortise_place_find_key(of->types[i], name);

        if (key == NULL || key->later)
            continue;
        if (first != NULL && key != first)
            return true;
        first = key;
    }
    return false;
}

/* A row once, however many tables it stands in; by the name of the place, or of
 * the type where that tells it from another's. */
static void name_place(struct naming *n, const struct mortise_place *place)
{
    const struct mortise_key *rows[MORTISE_MAX_KEYS];
    size_t n_rows = mortise_place_list_keys(place, rows);
    const char *name = place->what;

    if (strncmp(name, "a ", 2) == 0 || strncmp(name, "an ", 3) == 0)
        name = strchr(name, ' ') + 1;
    for (size_t i = 0; i < n_rows; i++) {
        if (was_seen(n, rows[i]) ||
            (rows[i]->later && is_there(place->of, rows[i]->name)))
            continue;
        see(n, rows[i]);
        name_row(n, is_shared(place->of, rows[i]->name) ? place->type : name,
                 rows[i]);
    }
    for (size_t i = 0; place->types != NULL && place->types[i] != NULL; i++)
        name_place(n, place->types[i]);
}

void named_keys(void (*fn)(void *ud, const struct named_key *k), void *ud)
{
    struct naming n = {.fn = fn, .ud = ud};

    n.file = "";
    name_place(&n, &mortise_graph_place);
    name_place(&n, &mortise_deployment_place);
    n.file = "plugin/";
    name_place(&n, &mortise_manifest_place);
    n.file = "test/";
    name_place(&n, &mortise_casefile_place);
}

/* ---- the one to ignore -------------------------------------------------- */

static struct named_key ignored; /* key NULL: none */

static void take(void *ud, const struct named_key *k)
{
    if (strcmp(k->name, ud) == 0)
        ignored = *k;
}

static const struct named_key *to_ignore(void)
{
    char *name = getenv("MORTISE_IGNORE");

    if (name != NULL && ignored.key == NULL) {
        named_keys(take, name);
        if (ignored.key == NULL) {
            fprintf(stderr, "no key %s\n", name);
            abort();
        }
    }
    return name != NULL ? &ignored : NULL;
}

enum { MAX_WORDS = 32 };

/* The same list, in which that word means what another one means. */
static const struct mortise_word *other_words(const struct mortise_word *words,
                                              const struct mortise_word *word)
{
    static struct mortise_word copy[MAX_WORDS];
    size_t n = 0;

    for (; words[n].word != NULL; n++) {
        assert(n < MAX_WORDS - 1);
        copy[n] = words[n];
    }
    copy[n] = words[n];
    copy[word - words].value = words[word == words].value;
    return copy;
}

static void blind(struct mortise_key *copy, const struct named_key *ig)
{
    if (ig->word == NULL) {
        copy->read = NULL;
        copy->as = MORTISE_INTO_NONE;
    } else
        copy->words = other_words(copy->words, ig->word);
}

/* The place with that row blind, in it or in the places that the loader enters
 * by itself; else the place as it is: readers may know its rows by where they
 * stand.  Copies stay. */
static const struct mortise_place *blinded(const struct mortise_place *place,
                                           const struct named_key *ig)
{
    const struct mortise_key *rows[MORTISE_MAX_KEYS];
    size_t n = mortise_place_list_keys(place, rows);
    struct mortise_place *copy = malloc(sizeof *copy);
    struct mortise_key *keys = calloc(n + 1, sizeof *keys);
    bool has = false;

    assert(copy != NULL && keys != NULL);
    for (size_t i = 0; i < n; i++) {
        keys[i] = *rows[i];
        if (rows[i] == ig->key)
            blind(&keys[i], ig);
        else if (rows[i]->as == MORTISE_INTO_A_PLACE)
            keys[i].place = blinded(rows[i]->place, ig);
        has |= rows[i] == ig->key || keys[i].place != rows[i]->place;
    }
    *copy = *place;
    copy->keys = keys;
    copy->n = n;
    if (has)
        return copy;
    free(keys);
    free(copy);
    return place;
}

/* ---- instead of the loader's -------------------------------------------- */

/* The linker gives these names. */
void __real_mortise_keys_read(const struct mortise_place *place,
                              const struct mortise_yaml *map,
                              struct mortise_span at, void *ctx, void *into,
                              struct mortise_diags *diags);
void __wrap_mortise_keys_read(const struct mortise_place *place,
                              const struct mortise_yaml *map,
                              struct mortise_span at, void *ctx, void *into,
                              struct mortise_diags *diags);
void __wrap_mortise_keys_read_slot(const struct mortise_slot *slot, void *ctx,
                                   void *into, struct mortise_diags *diags);
const struct mortise_word *
__real_mortise_word_find(const struct mortise_word *words, const char *what,
                         const struct mortise_yaml *scalar,
                         struct mortise_diags *diags);
const struct mortise_word *
__wrap_mortise_word_find(const struct mortise_word *words, const char *what,
                         const struct mortise_yaml *scalar,
                         struct mortise_diags *diags);

void __wrap_mortise_keys_read(const struct mortise_place *place,
                              const struct mortise_yaml *map,
                              struct mortise_span at, void *ctx, void *into,
                              struct mortise_diags *diags)
{
    const struct named_key *ig = to_ignore();

    __real_mortise_keys_read(ig != NULL ? blinded(place, ig) : place, map, at,
                             ctx, into, diags);
}

void __wrap_mortise_keys_read_slot(const struct mortise_slot *slot, void *ctx,
                                   void *into, struct mortise_diags *diags)
{
    __wrap_mortise_keys_read(slot->key->place, slot->value, slot->name->span,
                             ctx, into, diags);
}

const struct mortise_word *
__wrap_mortise_word_find(const struct mortise_word *words, const char *what,
                         const struct mortise_yaml *scalar,
                         struct mortise_diags *diags)
{
    const struct named_key *ig = to_ignore();

    if (ig != NULL && ig->word != NULL && ig->key->words == words)
        words = other_words(words, ig->word);
    return __real_mortise_word_find(words, what, scalar, diags);
}
