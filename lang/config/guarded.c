/* guarded.c -- can a deployment and the files that it names be trusted?
 *
 *   (1) The Deployment file and its lock, the directories of plugins and trust
 *       with their files, and the store must not belong to another user, and
 *       other users must not be able to write or replace them
 *       (core/base/owner.h).  Only the store, and the path to it, may belong to
 *       another user, if the deployment gives that user's group a socket there
 *       (store.access) and passes the checks: its author chose the store's
 *       owner.  Nobody but that owner may have write access.
 *   (2) A deployment that was found beside a graph or in the working directory,
 *       and not named by the user, needs permission for some keys (allow.h).
 *   (3) The default store ./.mortise must not be a symbolic link.  Otherwise
 *       the author of the directory could choose any directory of the user, and
 *       the engine that receives the commands.
 *   (4) All checks precede any use of the files, and each error message
 *       contains the command that solves the problem.
 *
 * The bundled directories are beside the program: a user who can change them
 * can change the program, too.
 */
#include "lang/config/guarded.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { KEYS_TEXT = 400 };

/* For a shared store: its owner, and the caller's handler of faults. */
struct shared {
    uid_t owner;
    mortise_owner_fault_fn *fault;
    void *ud;
};

static bool is_allowed_owner(void *ud, const struct mortise_owner_fault *f)
{
    const struct shared *x = ud;

    return (f->foreign && f->uid == x->owner &&
            (f->mode & (S_IWGRP | S_IWOTH)) == 0) ||
           (x->fault != NULL && x->fault(x->ud, f));
}

static int check_store_faults(const struct mortise_settings *s,
                              mortise_owner_fault_fn *fault, void *ud,
                              struct mortise_err *err)
{
    struct shared x = {.fault = fault, .ud = ud};
    struct stat st;

    if (s->access == NULL || stat(s->store, &st) != 0)
        return mortise_owner_check(s->store, fault, ud, err);
    x.owner = st.st_uid;
    return mortise_owner_check(s->store, is_allowed_owner, &x, err);
}

int mortise_guarded_report_faults(const struct mortise_settings *s,
                                  mortise_owner_fault_fn *fault, void *ud,
                                  struct mortise_err *err)
{
    const struct mortise_deployment *d = s->deployment;
    int rv = d->path != NULL ? mortise_owner_check(d->path, fault, ud, err)
                             : MORTISE_OK;

    if (rv == MORTISE_OK && d->lock.path != NULL)
        rv = mortise_owner_check(d->lock.path, fault, ud, err);
    for (size_t i = 0; rv == MORTISE_OK && i < d->n_plugin_dirs; i++)
        rv = mortise_owner_check_dir(d->plugin_dirs[i], fault, ud, err);
    for (size_t i = 0; rv == MORTISE_OK && i < d->n_dev_dirs; i++)
        rv = mortise_owner_check_dir(d->dev_dirs[i], fault, ud, err);
    if (rv == MORTISE_OK && d->trust_dir != NULL)
        rv = mortise_owner_check_dir(d->trust_dir, fault, ud, err);
    return rv == MORTISE_OK ? check_store_faults(s, fault, ud, err) : rv;
}

/* ---- permissions --------------------------------------------------------- */

struct judging {
    const struct mortise_allowance *allowance;
    const char *store;
    bool of_store; /* the fault is in the store itself (peer.c) */
};

static bool is_fault_allowed(void *ud, const struct mortise_owner_fault *f)
{
    struct judging *j = ud;
    char store[PATH_MAX];

    j->of_store =
        realpath(j->store, store) != NULL && strcmp(store, f->path) == 0;
    return mortise_allow_has_fault(j->allowance, f);
}

/* "plugins.dev (line 7), secrets (line 12)" */
static void print_need_keys(char out[KEYS_TEXT],
                            const struct mortise_need *needs, size_t n)
{
    size_t at = 0;

    out[0] = '\0';
    for (size_t i = 0; i < n && at < KEYS_TEXT; i++)
        at += (size_t)snprintf(out + at, KEYS_TEXT - at, "%s%s (line %u)",
                               i > 0 ? ", " : "", needs[i].key,
                               needs[i].value->span.line);
}

#define NEEDS                                                                  \
    "%s was found, and you did not name it; with %s, this file controls "      \
    "which code runs, who gets secrets, or what is read, written or reached "  \
    "outside of its directory"

static int check_permission(const struct mortise_settings *s,
                            const struct mortise_allowance *a,
                            struct mortise_span *span, struct mortise_err *err)
{
    struct mortise_need needs[MORTISE_NEEDS_MAX];
    size_t n = mortise_allow_find_needs(s->deployment, needs);
    char keys[KEYS_TEXT];

    if (n == 0 || mortise_allow_is_valid(a))
        return MORTISE_OK;
    *span = needs[0].value->span;
    print_need_keys(keys, needs, n);
    if (a->why.code == MORTISE_ELIMIT)
        return mortise_fail(err, MORTISE_ELIMIT, "%s", a->why.msg);
    if (a->why.code != MORTISE_OK)
        return mortise_fail(err, MORTISE_EDENIED,
                            NEEDS "; you cannot allow this file: %s",
                            s->deployment->path, keys, a->why.msg);
    return mortise_fail(
        err, MORTISE_EDENIED,
        NEEDS "%s; read the file, then allow it: mortise config allow %s",
        s->deployment->path, keys,
        a->record != NULL ? "; the file changed since you allowed it" : "",
        a->file);
}

struct word {
    bool needed, said, holds;
};

/* Findings are dropped here: the caller reads the file again. */
static int read_permission(struct word *w, const struct mortise_mem *mem,
                           const char *path, bool resolve,
                           struct mortise_err *err)
{
    struct mortise_need needs[MORTISE_NEEDS_MAX];
    struct mortise_deployment *d;
    struct mortise_diags quiet;
    struct mortise_allowance a;
    int rv;

    *w = (struct word){.needed = false};
    mortise_diags_init(&quiet, mem);
    rv = resolve ? mortise_deployment_read_partly(&d, mem, path, &quiet)
                 : mortise_deployment_read_unresolved(&d, mem, path, &quiet);
    mortise_diags_finish(&quiet);
    if (d == NULL)
        return rv == MORTISE_ENOMEM ? mortise_nomem(err) : MORTISE_OK;
    w->needed = mortise_allow_find_needs(d, needs) > 0;
    rv = mortise_allow_read(&a, d, err);
    w->said = a.record != NULL;
    w->holds = mortise_allow_is_valid(&a);
    mortise_allow_finish(&a);
    mortise_deployment_free(d);
    return rv;
}

int mortise_guarded_may_resolve(const struct mortise_mem *mem, const char *path,
                                bool *may, struct mortise_err *err)
{
    struct word w;
    int rv = read_permission(&w, mem, path, false, err);

    if (rv == MORTISE_OK && w.said) /* the digest also covers ${file:...} */
        rv = read_permission(&w, mem, path, true, err);
    *may = !w.needed || w.holds;
    return rv;
}

/* Add the alternative to chmod and chown.  A permission cannot cover the
 * store. */
static void suggest_allow_command(const struct mortise_allowance *a,
                                  struct mortise_err *err)
{
    char words[sizeof err->msg];

    if (a->file[0] == '\0')
        return;
    snprintf(words, sizeof words, "%s", err->msg);
    mortise_fail(err, err->code,
                 "%s; or accept this state: mortise config allow %s", words,
                 a->file);
}

/* (3) */
static int check_default_store_link(const struct mortise_settings *s,
                                    struct mortise_err *err)
{
    struct stat st;

    if (s->store_given || s->deployment->store_path != NULL ||
        lstat(s->store, &st) != 0 || !S_ISLNK(st.st_mode))
        return MORTISE_OK;
    return mortise_fail(
        err, MORTISE_EDENIED,
        "the store %s is a symbolic link, and Mortise follows a link only if "
        "--store or store.path names it; if you made this link, name the "
        "directory that it leads to: --store \"$(readlink -f %s)\"",
        s->store, s->store);
}

/* `span` is set only if the file's text causes the error. */
static int check_trusted_settings(const struct mortise_settings *s,
                                  unsigned how, struct mortise_span *span,
                                  struct mortise_err *err)
{
    struct mortise_allowance a;
    struct judging j = {&a, s->store, false};
    int rv = mortise_allow_read(&a, s->deployment, err);

    if (rv == MORTISE_OK)
        rv = check_default_store_link(s, err);
    if (rv == MORTISE_OK) {
        rv = mortise_guarded_report_faults(s, is_fault_allowed, &j, err);
        if (rv == MORTISE_EDENIED && !j.of_store)
            suggest_allow_command(&a, err);
    }
    if (rv == MORTISE_OK && (how & MORTISE_SETTINGS_FOUND) != 0)
        rv = check_permission(s, &a, span, err);
    mortise_allow_finish(&a);
    return rv;
}

int mortise_guarded_check(const struct mortise_settings *s, unsigned how,
                          struct mortise_diags *diags, struct mortise_err *err)
{
    const struct mortise_yaml *tree = s->deployment->tree;
    struct mortise_span span = {0};
    struct mortise_err why;
    int rv;

    if (tree != NULL)
        span = tree->span;
    rv = check_trusted_settings(s, how, &span, &why);
    if (rv == MORTISE_OK)
        return rv;
    if ((how & MORTISE_SETTINGS_READ_ONLY) == 0 || rv == MORTISE_ENOMEM)
        return mortise_fail(err, rv, "%s", why.msg);
    if (tree != NULL)
        mortise_diag_add(diags, "W0820", span, "%s", why.msg);
    return MORTISE_OK;
}
