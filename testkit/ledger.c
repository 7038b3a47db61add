/* ledger.c -- test data that survives a crash of the test's process. */
#include "testkit/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/base/infile.h"
#include "core/json/value.h"

static int read_ledger_lines(struct mortise_ledger *l,
                             const struct mortise_buf *b,
                             struct mortise_err *err)
{
    const char *p = b->p, *end = b->p + b->n, *next;
    int rv = MORTISE_OK;

    for (; rv == MORTISE_OK && p < end; p = next + 1) {
        json_t *entry;

        next = memchr(p, '\n', (size_t)(end - p));
        if (next == NULL)
            break; /* the process was killed during this write */
        rv = mortise_json_parse(&entry, p, (size_t)(next - p), err);
        if (rv == MORTISE_OK && json_array_append_new(l->list, entry) != 0)
            rv = mortise_nomem(err);
    }
    return rv;
}

int mortise_ledger_open(struct mortise_ledger *l, const struct mortise_mem *mem,
                        const char *path, struct mortise_err *err)
{
    struct mortise_buf b;
    int errnum, rv = MORTISE_OK;

    l->mem = mem;
    l->list = json_array();
    l->fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK,
                 0600);
    if (l->list == NULL)
        return mortise_nomem(err);
    if (l->fd < 0)
        return mortise_syserr(err, errno, "open %s", path);
    mortise_buf_init(&b, mem);
    errnum = mortise_infile_read(path, &b);
    if (errnum != 0)
        rv = mortise_syserr(err, errnum, "read %s", path);
    else if (b.n > 0)
        rv = read_ledger_lines(l, &b, err);
    mortise_buf_finish(&b);
    return rv;
}

void mortise_ledger_close(struct mortise_ledger *l)
{
    json_decref(l->list);
    if (l->fd >= 0)
        close(l->fd);
}

int mortise_ledger_add(struct mortise_ledger *l, json_t *entry,
                       struct mortise_err *err)
{
    struct mortise_buf b;
    int rv = MORTISE_OK;

    if (entry == NULL || json_array_append_new(l->list, entry) != 0)
        return mortise_nomem(err);
    mortise_buf_init(&b, l->mem);
    mortise_json_write(&b, entry);
    mortise_buf_puts(&b, "\n");
    if (b.failed)
        rv = mortise_nomem(err);
    else if (write(l->fd, b.p, b.n) != (ssize_t)b.n)
        rv = mortise_syserr(err, errno, "write the ledger of a test");
    mortise_buf_finish(&b);
    return rv;
}

const json_t *mortise_ledger_find(const struct mortise_ledger *l,
                                  const char *key, const char *value,
                                  const char *more, const char *and)
{
    for (size_t i = json_array_size(l->list); i-- > 0;) {
        const json_t *e = json_array_get(l->list, i);

        if (strcmp(mortise_cli_get_text(e, key), value) == 0 &&
            (more == NULL || strcmp(mortise_cli_get_text(e, more), and) == 0))
            return e;
    }
    return NULL;
}
