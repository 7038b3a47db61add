/* pinned.c -- the files of a graph as they were when a run began. */
#include "core/model/pinned.h"

#include <string.h>

#include "core/base/err.h"

static int pinned_read(void *ud, const char *path, struct mortise_buf *text,
                       struct mortise_err *why)
{
    const struct mortise_pinned_graph *p = ud;

    for (size_t i = 0; i < p->n; i++) {
        if (strcmp(p->files[i].path, path) != 0)
            continue;
        mortise_buf_put(text, p->files[i].text, p->files[i].size);
        return text->failed ? mortise_nomem(why) : MORTISE_OK;
    }
    return mortise_fail(why, MORTISE_ENOTFOUND,
                        "the run has no stored copy of this file");
}

/* Lists all files: the loader selects those in the directory. */
static int pinned_list(void *ud, const char *dir,
                       int (*fn)(void *into, const char *path), void *into,
                       struct mortise_err *why)
{
    const struct mortise_pinned_graph *p = ud;
    int rv = MORTISE_OK;

    (void)dir;
    (void)why;
    for (size_t i = 1; i < p->n && rv == MORTISE_OK; i++)
        rv = fn(into, p->files[i].path);
    return rv;
}

struct mortise_graph_files
mortise_pinned_graph_get_files(const struct mortise_pinned_graph *p)
{
    return (struct mortise_graph_files){
        .ud = (void *)(uintptr_t)p, .read = pinned_read, .list = pinned_list};
}
