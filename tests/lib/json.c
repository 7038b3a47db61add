#include "lib/json.h"

#include <jansson.h>

#include "lib/test.h"

/* jansson does not say how large what it frees was: we note it in front. */
union header {
    size_t size;
    max_align_t align;
};

static void *counted_malloc(size_t n)
{
    union header *h = mortise_alloc(&test_mem, sizeof *h + n);

    if (h == NULL)
        return NULL;
    h->size = n;
    return h + 1;
}

static void counted_free(void *p)
{
    union header *h = p;

    if (h != NULL)
        mortise_release(&test_mem, h - 1, sizeof *h + h[-1].size);
}

void test_count_json(void)
{
    json_set_alloc_funcs(counted_malloc, counted_free);
}
