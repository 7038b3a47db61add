/* list.c -- every key that a graph, a deployment, a plugin manifest or a test of
 * graphs may have, by the loader's own tables: a line for each, PLACE.KEY or
 * PLACE.KEY=WORD, a tab, and
 *
 *     here     it is available
 *     checked  it is available, and means nothing beyond what is checked
 *     later    it is of the language, and refused by this build */
#include <stdio.h>

#include "lib/ignoring.h"

/* One that is the only one to say means nothing. */
static bool is_a_choice(const struct mortise_word *words)
{
    size_t n = 0;

    for (; words->word != NULL; words++)
        n += !words->later;
    return n > 1;
}

static void print(void *ud, const struct named_key *k)
{
    bool means = k->word != NULL ? is_a_choice(k->key->words)
                                 : mortise_key_is_read(k->key);

    (void)ud;
    printf("%s\t%s\n", k->name,
           k->later ? "later"
           : means  ? "here"
                    : "checked");
}

int main(void)
{
    named_keys(print, NULL);
    return 0;
}
