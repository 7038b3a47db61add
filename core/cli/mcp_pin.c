/* mcp_pin.c -- `mortise mcp pin`: what the tools of a server are from now on.
 *
 * A server may say at any time that its tools are others than they were: with
 * other words for the model, or another meaning of their arguments.  So they are
 * called only as somebody saw them once.  What changed is printed, in full and
 * member by member; asking whether it is meant would be asking whoever just
 * typed that it is.
 *
 *   (1) The lock is written once, at the end, all or nothing.  Only servers that
 *       were asked change in it: what another `mcp pin` wrote meanwhile stays.
 *   (2) A server that does not come up keeps its pins; the others are pinned.
 *   (3) Nothing is written that is as it was.
 *   (4) Killed at any time, the lock is as it was or as it was to be; what is left
 *       beside it goes with the next one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/dirs.h"
#include "base/err.h"
#include "base/id.h"
#include "cli/mcp.h"
#include "json/value.h"

struct pinning {
    struct mortise_mcp m;
    json_t *lock; /* as it is going to be */
    json_t
        *news; /* servers -> what is not what the file has, or null: nothing */
    bool drifted, failed;
    char path[PATH_MAX];
};

static const json_t *pins_of(const struct pinning *p, const char *server)
{
    return json_object_get(json_object_get(p->lock, "mcp"), server);
}

/* Tools that no graph could call are told of, and the rest is pinned. */
static void tell_odd(struct pinning *p, const char *server, const json_t *odd)
{
    struct mortise_out *o = &p->m.cli->err;

    MORTISE_JSON_EACH (one, i, odd) {
        mortise_out_flush(&p->m.cli->out);
        mortise_out_say(o, "mortise: %s: tool '%s' is left out: %s\n", server,
                        mortise_cli_text(one, "tool"),
                        mortise_cli_text(one, "why"));
    }
}

/* `now` (lent) in the place of what is pinned of a server; NULL: nothing. */
static int replace(struct pinning *p, const char *server, json_t *now,
                   struct mortise_err *err)
{
    const json_t *before = pins_of(p, server);

    p->drifted |= mortise_mcp_diff(&p->m.cli->out, server, before, now);
    mortise_out_flush(&p->m.cli->out);
    if (json_equal(before, now))
        return MORTISE_OK;
    if ((now != NULL ? json_object_set(p->news, server, now)
                     : json_object_set_new(p->news, server, json_null())) != 0)
        return mortise_nomem(err);
    return mortise_lock_set(p->lock, server, now, err);
}

static int pin_server(struct pinning *p, const char *server,
                      struct mortise_err *err)
{
    json_t *listed, *section = NULL, *odd = json_array();
    int rv = mortise_mcp_listed(&p->m, server, 0, &listed, err);

    if (rv == MORTISE_OK && listed == NULL) {
        mortise_oneshot_failed(&p->m.once, server);
        p->failed = true;
        json_decref(odd);
        return MORTISE_OK;
    }
    if (rv == MORTISE_OK)
        rv = mortise_lock_section(&section, odd, listed, p->m.cli->mem, err);
    tell_odd(p, server, odd);
    if (rv == MORTISE_OK)
        rv = replace(p, server, section, err);
    else if (rv == MORTISE_EINVAL)
        rv = mortise_doing(err, rv, "%s", server);
    json_decref(odd);
    json_decref(section);
    json_decref(listed);
    return rv;
}

/* Those of which the deployment knows nothing any more. */
static int unpin_gone(struct pinning *p, struct mortise_err *err)
{
    const struct mortise_lock *lock = &p->m.deployment->lock;
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < lock->n; i++)
        if (mortise_mcp_find(&p->m.deployment->tools.mcp, lock->list[i].name) ==
            NULL)
            rv = replace(p, lock->list[i].name, NULL, err);
    return rv;
}

static int pin_all(struct pinning *p, struct mortise_err *err)
{
    const struct mortise_mcp_servers *all = &p->m.deployment->tools.mcp;
    int rv = unpin_gone(p, err);

    for (size_t i = 0; rv == MORTISE_OK && i < all->n; i++)
        rv = pin_server(p, all->list[i].name, err);
    if (all->n == 0 && rv == MORTISE_OK)
        mortise_out_puts(&p->m.cli->out, "no servers\n");
    return rv;
}

static int pin_named(struct pinning *p, struct mortise_err *err)
{
    const struct mortise_args *a = &p->m.cli->args;
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < a->n_operands; i++)
        if (mortise_mcp_server_named(&p->m, a->operands[i], err) == NULL)
            rv = err->code;
    for (size_t i = 0; rv == MORTISE_OK && i < a->n_operands; i++)
        rv = pin_server(p, a->operands[i], err);
    return rv;
}

/* The lock as it is by now, with what is new. */
static int renew(struct pinning *p, struct mortise_err *err)
{
    struct mortise_arena a;
    struct mortise_diags diags;
    struct mortise_lock now;
    json_t *lock = NULL;
    const char *server;
    json_t *section;
    int rv;

    mortise_arena_init(&a, p->m.cli->mem);
    mortise_diags_init(&diags, p->m.cli->mem);
    rv = mortise_lock_read(&now, &a, p->path, &diags);
    if (rv == MORTISE_OK && (lock = mortise_lock_json(&now)) == NULL)
        rv = MORTISE_ENOMEM;
    if (rv == MORTISE_ENOMEM)
        mortise_nomem(err);
    else if (rv != MORTISE_OK)
        rv = mortise_fail(err, MORTISE_EINVAL,
                          "%.300s was changed meanwhile, and is none any more",
                          p->path);
    json_object_foreach(p->news, server, section) if (rv == MORTISE_OK) rv =
        mortise_lock_set(lock, server, json_is_null(section) ? NULL : section,
                         err);
    if (rv == MORTISE_OK)
        rv = mortise_lock_write(p->path, lock, p->m.cli->mem, err);
    json_decref(lock);
    mortise_diags_finish(&diags);
    mortise_arena_finish(&a);
    return rv;
}

static void directory_of(const struct pinning *p, char dir[PATH_MAX])
{
    char *slash;

    snprintf(dir, PATH_MAX, "%s", p->path);
    slash = strrchr(dir, '/');
    if (slash == NULL)
        strcpy(dir, ".");
    else
        slash[slash == dir] = '\0';
}

/* The directory that the lock is in, which nobody else pins in until it is
 * closed; -1 with the words. */
static int hold(const struct pinning *p, struct mortise_err *err)
{
    char dir[PATH_MAX];
    int fd, rv;

    directory_of(p, dir);
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    do
        rv = fd >= 0 ? flock(fd, LOCK_EX) : -1;
    while (rv != 0 && errno == EINTR);
    if (rv == 0)
        return fd;
    mortise_fail(err, MORTISE_EIO, "%.300s: %s", dir, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

/* LOCK.UUID.tmp, as mortise_file_write() calls what is not whole yet. */
static bool is_left(const char *name, const char *lock)
{
    size_t n = strlen(lock);

    return strncmp(name, lock, n) == 0 && name[n] == '.' &&
           strspn(name + n + 1, "0123456789abcdef-") == MORTISE_UUID_TEXT - 1 &&
           strcmp(name + n + MORTISE_UUID_TEXT, ".tmp") == 0;
}

/* (4), of the directory that is held: whoever wrote that is gone.  What cannot be
 * removed does no harm. */
static void sweep(const struct pinning *p, int held)
{
    const char *slash = strrchr(p->path, '/');
    const char *lock = slash != NULL ? slash + 1 : p->path;
    struct mortise_listing l;
    char dir[PATH_MAX];

    directory_of(p, dir);
    if (mortise_listing_read(&l, p->m.cli->mem, dir, ".tmp", NULL) !=
        MORTISE_OK)
        return;
    for (size_t i = 0; i < l.n; i++)
        if (is_left(l.names[i], lock))
            unlinkat(held, l.names[i], 0);
    mortise_listing_finish(&l);
}

static int write_lock(struct pinning *p, struct mortise_err *err)
{
    int fd, rv;

    if (json_object_size(p->news) == 0 || p->m.cli->args.only_check)
        return MORTISE_OK;
    fd = hold(p, err);
    if (fd < 0)
        return err->code;
    sweep(p, fd);
    rv = renew(p, err);
    close(fd);
    if (rv == MORTISE_OK)
        mortise_out_say(&p->m.cli->out, "wrote %s\n", p->path);
    return rv;
}

static int pin(struct pinning *p, struct mortise_err *err)
{
    const char *deployment = p->m.deployment->path;
    int rv;

    if (deployment == NULL)
        return mortise_fail(err, MORTISE_ENOTFOUND,
                            "there is no deployment that has servers");
    rv = mortise_lock_path(p->path, deployment, err);
    if (rv == MORTISE_OK) {
        p->lock = mortise_lock_json(&p->m.deployment->lock);
        p->news = json_object();
        rv = p->lock != NULL && p->news != NULL ? MORTISE_OK
                                                : mortise_nomem(err);
    }
    if (rv == MORTISE_OK)
        rv =
            p->m.cli->args.n_operands > 0 ? pin_named(p, err) : pin_all(p, err);
    return rv == MORTISE_OK ? write_lock(p, err) : rv;
}

static int mcp_pin(struct mortise_cli *cli, struct mortise_err *err)
{
    struct pinning p = {.lock = NULL};
    int rv = mortise_mcp_open(&p.m, cli, err);

    if (rv == MORTISE_OK)
        rv = pin(&p, err);
    json_decref(p.lock);
    json_decref(p.news);
    mortise_mcp_close(&p.m);
    if (rv == MORTISE_OK && (p.failed || (cli->args.only_check && p.drifted)))
        return MORTISE_EXIT_FAILED;
    return rv;
}

static const struct mortise_opt opts[] = {
    MORTISE_OPT_FLAG("check", only_check,
                     "Write nothing, and end with 1 if anything is different"),
    MORTISE_OPT_DEPLOYMENT,
    MORTISE_OPT_END,
};

const struct mortise_cmd mortise_cmd_mcp_pin = {
    .name = "mcp pin",
    .operands = "[SERVER...]",
    .summary = "Write down what the tools of MCP servers are",
    .text =
        "Each server (default: all of the deployment) is started and asked "
        "for\n"
        "its tools, and what they are is written to the lock, which lies "
        "beside\n"
        "the deployment and is called like it (mortise.lock).  Graphs call "
        "what\n"
        "is pinned, as it is pinned: a tool that is another one by then fails\n"
        "with mcp.drift.  Keep the lock with the deployment, and look at what\n"
        "this prints: what is different, member by member.\n",
    .opts = opts,
    .exits = MORTISE_EXITS_STORE | MORTISE_EXITS_FINDINGS,
    .example = "mortise mcp pin files",
    .run = mcp_pin,
};
