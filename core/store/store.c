/* store.c -- select the maker for an address, and call its functions.
 *
 * mortise_store_wait() completes one read before anything else of the store
 * happens.  Only that read's answer is called from inside it, so no other
 * callback runs at an unexpected moment.
 */
#include "core/store/store.h"

#include <assert.h>

/* ---- opening ------------------------------------------------------------- */

#define STORE_MAKER(name)                                                      \
    extern const struct mortise_store_maker mortise_store_##name;
#include "core/store/makers.def"
#undef STORE_MAKER

static const struct mortise_store_maker *const makers[] = {
#define STORE_MAKER(name) &mortise_store_##name,
#include "core/store/makers.def"
#undef STORE_MAKER
};

static const struct mortise_store_maker *find_store_maker(const char *path)
{
    size_t last = sizeof makers / sizeof makers[0] - 1, i = 0;

    while (i < last && !makers[i]->takes(path))
        i++;
    return makers[i];
}

bool mortise_store_is_present(const char *path)
{
    return find_store_maker(path)->is_there(path);
}

int mortise_store_open(struct mortise_store **out, const char *path,
                       const struct mortise_mem *mem, struct mortise_err *err)
{
    return find_store_maker(path)->open(out, path, mem, err);
}

int mortise_store_open_view(struct mortise_store **out, const char *path,
                            const struct mortise_mem *mem,
                            struct mortise_err *err)
{
    return find_store_maker(path)->open_view(out, path, mem, err);
}

bool mortise_store_is_incomplete(struct mortise_store *s,
                                 struct mortise_err *why)
{
    return s->ops->lacks(s, why);
}

void mortise_store_close(struct mortise_store *s)
{
    if (s == NULL)
        return;
    assert(!mortise_store_is_ours(s) || !mortise_store_is_reading(s));
    s->ops->close(s);
}

int mortise_store_reopen(struct mortise_store *s, struct mortise_err *err)
{
    assert(!mortise_store_is_ours(s) || !mortise_store_is_reading(s));
    return s->ops->reopen(s, err);
}

bool mortise_store_is_ours(const struct mortise_store *s)
{
    return s->ops->is_ours(s);
}

bool mortise_store_has_written(struct mortise_store *s)
{
    return s->ops->wrote(s);
}

/* ---- reading ------------------------------------------------------------- */

void mortise_store_read(struct mortise_store *s, struct mortise_read *r)
{
    assert(r->kind < MORTISE_READ_KINDS && r->done != NULL);
    s->ops->read(s, r);
}

void mortise_store_set_wake(struct mortise_store *s, void (*wake)(void *ud),
                            void *ud)
{
    s->wake = wake;
    s->wake_ud = ud;
}

bool mortise_store_is_reading(const struct mortise_store *s)
{
    return s->ops->is_reading != NULL && s->ops->is_reading(s);
}

void mortise_store_deliver(struct mortise_store *s)
{
    if (s->ops->deliver != NULL)
        s->ops->deliver(s);
}

void mortise_store_wait(struct mortise_store *s, struct mortise_read *r)
{
    s->ops->wait(s, r);
}

/* ---- writing ------------------------------------------------------------- */

int mortise_store_write(struct mortise_store *s,
                        struct mortise_commit *const *commits, size_t n,
                        struct mortise_err *err)
{
    return s->ops->write(s, commits, n, err);
}

void mortise_store_set_cache_limit(struct mortise_store *s, uint64_t bytes)
{
    s->ops->set_cache_limit(s, bytes);
}

int mortise_store_remove(struct mortise_store *s, struct mortise_removal *list,
                         size_t n, uint64_t now_ms, struct mortise_err *err)
{
    return s->ops->remove(s, list, n, now_ms, err);
}

int mortise_store_remove_rest(struct mortise_store *s, bool *more,
                              struct mortise_err *err)
{
    return s->ops->remove_rest(s, more, err);
}

int mortise_store_set_overdue_time(struct mortise_store *s, uint64_t ms,
                                   struct mortise_err *err)
{
    return s->ops->note(s, ms, err);
}

void mortise_store_start_graph_sweep(struct mortise_store *s)
{
    s->ops->start_graph_sweep(s);
}

void mortise_store_keep_graphs(struct mortise_store *s,
                               const uint8_t (*digests)[MORTISE_DIGEST],
                               size_t n)
{
    s->ops->keep_graphs(s, digests, n);
}

int mortise_store_sweep_graphs(struct mortise_store *s, bool *more,
                               struct mortise_err *err)
{
    return s->ops->sweep(s, more, err);
}

int mortise_store_get_mark(struct mortise_store *s, const char *name,
                           uint64_t *value, struct mortise_err *err)
{
    return s->ops->get_mark(s, name, value, err);
}

int mortise_store_raise_mark(struct mortise_store *s, const char *name,
                             uint64_t value, struct mortise_err *err)
{
    return s->ops->put_mark(s, name, value, false, err);
}

int mortise_store_set_mark(struct mortise_store *s, const char *name,
                           uint64_t value, struct mortise_err *err)
{
    return s->ops->put_mark(s, name, value, true, err);
}
