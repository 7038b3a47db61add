/* releases.c -- what was seen does not go back: releases of plugins, the keys
 * that were revoked, trust directories.
 *
 * An older release may bring back what was mended, another one of the same
 * number is not what was looked at, and a trust directory from before a
 * revocation trusts again what was revoked.  So what ran and what was revoked
 * is remembered by the store and by the user (registry.c (7)), each thing as a
 * number under a name:
 *
 *     PLUGIN KEY                  the highest seq that this key signed of it
 *     release:NAME VERSION SEQ    a mark of that manifest
 *     revoked:KEY                 1: it was
 *     trust:DIRECTORY             its seq
 *
 * allow_downgrade goes back once, and the lower number is what is remembered.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/plugin/entry.h"
#include "lang/yaml/header.h"

enum { NAME_ROOM = 512 }; /* for what something is remembered by */

/* What is the program's own changes with it. */
static bool is_own(const struct mortise_plugins *p, const struct entry *e)
{
    return p->config.last_is_own && e->dir + 1 == p->config.n_dirs;
}

/* Does this user's own memory count for it? */
static bool is_remembered(const struct mortise_plugins *p,
                          const struct entry *e)
{
    return p->config.user_remembers && (e == NULL || !is_own(p, e));
}

/* The higher of what the store and the user have under a name, and (`stored`
 * may be NULL) what the store has, if there is one; `e` NULL: it is of no
 * plugin.  What the user alone knows is told to the store, which others may
 * use; not the other way round: a store that somebody sent decides nothing for
 * the user's others. */
static int seen_get(struct mortise_plugins *p, const struct entry *e,
                    const char *name, uint64_t *most, uint64_t *stored,
                    struct mortise_err *err)
{
    uint64_t its = 0, users = 0;
    int rv = MORTISE_OK;

    assert(name[0] != '\0'); /* what is remembered has a name */
    if (p->config.seq_get != NULL)
        rv = p->config.seq_get(p->config.seq_ud, name, &its, err);
    if (rv == MORTISE_OK && is_remembered(p, e))
        rv = mortise_rollback_state_get(&p->rollback_state, name, &users, err);
    *most = its > users ? its : users;
    if (stored != NULL)
        *stored = p->config.seq_get != NULL ? its : *most;
    return rv;
}

/* The user's first: if the process dies in between, the store learns it from the
 * user (seen_get()), and the user never from the store. */
static int seen_put(struct mortise_plugins *p, const struct entry *e,
                    const char *name, uint64_t value, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    if (is_remembered(p, e))
        rv = mortise_rollback_state_put(&p->rollback_state, name, value, err);
    if (rv == MORTISE_OK && p->config.seq_put != NULL)
        rv = p->config.seq_put(p->config.seq_ud, name, value, err);
    if (p->rollback_state.lost[0] != '\0' && !p->said_lost &&
        p->config.forgets != NULL)
        p->config.forgets(p->config.seq_ud, p->rollback_state.lost);
    p->said_lost = p->rollback_state.lost[0] != '\0';
    return rv;
}

/* What a key signed of a plugin. */
static void name_of_seq(char out[NAME_ROOM], const char *plugin,
                        const struct mortise_pubkey *key)
{
    char text[MORTISE_PUBKEY_TEXT];

    assert(mortise_header_is_name(plugin)); /* so it fits */
    mortise_pubkey_text(text, key);
    snprintf(out, NAME_ROOM, "%s %s", plugin, text);
}

/* The highest seq of a plugin that was seen, of all that keys signed which count
 * now: who has a key that was revoked could lock the name with it for good. */
static int highest_seq(struct mortise_plugins *p, const struct entry *e,
                       uint64_t *seen, struct mortise_err *err)
{
    const char *plugin = e->manifest->name;
    char name[NAME_ROOM];
    int rv = MORTISE_OK;

    *seen = 0;
    for (size_t i = 0; rv == MORTISE_OK && i < mortise_trust_count(p->trust);
         i++) {
        const struct mortise_trusted *by = mortise_trust_at(p->trust, i);
        uint64_t one = 0;

        if (by->revoked)
            continue;
        name_of_seq(name, plugin, &by->key);
        rv = seen_get(p, e, name, &one, NULL, err);
        if (one > *seen)
            *seen = one;
    }
    return rv;
}

/* Going back was meant: everything that is higher is forgotten. */
static int lower_seq(struct mortise_plugins *p, const struct entry *e,
                     uint64_t seq, struct mortise_err *err)
{
    const char *plugin = e->manifest->name;
    char name[NAME_ROOM];
    uint64_t seen;
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < mortise_trust_count(p->trust);
         i++) {
        name_of_seq(name, plugin, &mortise_trust_at(p->trust, i)->key);
        rv = seen_get(p, e, name, &seen, NULL, err);
        if (rv == MORTISE_OK && seen > seq)
            rv = seen_put(p, e, name, seq, err);
    }
    return rv;
}

/* What is told of a release's manifest, so that another one is not taken for
 * it; never 0. */
static uint64_t mark_of(const struct mortise_manifest *m)
{
    uint64_t mark;

    memcpy(&mark, m->digest, sizeof mark);
    return mark | 1;
}

static void name_of_release(char out[NAME_ROOM],
                            const struct mortise_manifest *m)
{
    snprintf(out, NAME_ROOM, "release:%s %s %llu", m->name, m->version,
             (unsigned long long)m->seq);
}

static int check_release(struct mortise_plugins *p, const struct entry *e,
                         struct mortise_err *why)
{
    const struct mortise_manifest *m = e->manifest;
    char name[NAME_ROOM];
    uint64_t seen;
    int rv;

    assert(!m->dev); /* its seq says nothing (registry.c (6)) */
    if (is_own(p, e) || p->config.allow_downgrade)
        return MORTISE_OK;
    name_of_release(name, m);
    rv = seen_get(p, e, name, &seen, NULL, why);
    if (rv != MORTISE_OK || seen == 0 || seen == mark_of(m))
        return rv;
    return mortise_fail(
        why, MORTISE_EDENIED,
        "is %s seq %llu, but another manifest with that version and seq ran "
        "here before; each release needs its own seq; install one with seq "
        "%llu or later (to accept this one: --allow-downgrade)",
        m->version, (unsigned long long)m->seq, (unsigned long long)m->seq + 1);
}

int mortise_releases_check(struct mortise_plugins *p, const struct entry *e,
                           struct mortise_err *why)
{
    const struct mortise_manifest *m = e->manifest;
    uint64_t seen = 0;
    int rv = highest_seq(p, e, &seen, why);

    if (rv != MORTISE_OK || p->config.allow_downgrade)
        return rv;
    if (m->seq >= seen)
        return check_release(p, e, why);
    return mortise_fail(why, MORTISE_EDENIED,
                        "is seq %llu, but seq %llu ran here before; an older "
                        "release may contain fixed bugs; install one with seq "
                        "%llu or later (to accept this one: --allow-downgrade)",
                        (unsigned long long)m->seq, (unsigned long long)seen,
                        (unsigned long long)seen);
}

/* ---- revocations that were seen -------------------------------------------- */

static void name_of_revocation(char out[NAME_ROOM],
                               const struct mortise_pubkey *key)
{
    char text[MORTISE_PUBKEY_TEXT];

    mortise_pubkey_text(text, key);
    snprintf(out, NAME_ROOM, "revoked:%s", text);
}

int mortise_releases_note_key(struct mortise_plugins *p,
                              const struct mortise_trusted *by,
                              struct mortise_err *err)
{
    char name[NAME_ROOM];
    uint64_t most, stored;
    int rv;

    name_of_revocation(name, &by->key);
    rv = seen_get(p, NULL, name, &most, &stored, err);
    if (rv != MORTISE_OK)
        return rv;
    if (!by->revoked && p->config.allow_downgrade)
        return most != 0 ? seen_put(p, NULL, name, 0, err) : MORTISE_OK;
    return (by->revoked || most != 0) && stored == 0
               ? seen_put(p, NULL, name, 1, err)
               : MORTISE_OK;
}

int mortise_releases_check_key(struct mortise_plugins *p, const struct entry *e,
                               struct mortise_err *why)
{
    char name[NAME_ROOM], id[MORTISE_KEYID_TEXT];
    uint64_t seen;
    int rv;

    name_of_revocation(name, &e->key);
    rv = seen_get(p, NULL, name, &seen, NULL, why);
    if (rv != MORTISE_OK || seen == 0)
        return rv;
    mortise_keyid_text(id, e->key.id);
    return mortise_fail(
        why, MORTISE_EDENIED,
        "is signed with key %s, which a trust file revoked before, but no "
        "trust file revokes it now; restore the trust file (to accept the key "
        "again: --allow-downgrade)",
        id);
}

/* ---- trust directories ----------------------------------------------------- */

/* A trust directory never goes back: a copy from before a revocation would
 * trust again what was revoked. */
int mortise_releases_check_trust(struct mortise_plugins *p, size_t dir,
                                 struct mortise_err *err)
{
    uint64_t seen = 0, stored, seq = mortise_trust_seq(p->trust, dir);
    const char *path = p->config.trust_dirs[dir];
    char real[PATH_MAX], key[PATH_MAX + 8];
    int rv;

    assert(dir < p->config.n_trust_dirs);
    if (realpath(path, real) == NULL)
        return MORTISE_OK;
    snprintf(key, sizeof key, "trust:%s", real);
    rv = seen_get(p, NULL, key, &seen, &stored, err);
    if (rv != MORTISE_OK)
        return rv;
    if (seq < seen && p->config.allow_downgrade)
        return seen_put(p, NULL, key, seq, err);
    if (seq < seen)
        return mortise_fail(
            err, MORTISE_EDENIED,
            "trust directory %s has seq %llu, but had %llu before; a "
            "revocation may be missing; restore its newest files (to accept "
            "this state: --allow-downgrade)",
            path, (unsigned long long)seq, (unsigned long long)seen);
    return seq > stored ? seen_put(p, NULL, key, seq, err) : MORTISE_OK;
}

/* ---- what came up ---------------------------------------------------------- */

/* From now on an older release is refused, and another of the same number. */
int mortise_releases_remember(struct mortise_plugins *p, const struct entry *e,
                              struct mortise_err *err)
{
    const struct mortise_manifest *m = e->manifest;
    char name[NAME_ROOM];
    uint64_t most, stored;
    int rv = MORTISE_OK;

    if (m->dev)
        return rv;
    if (p->config.allow_downgrade)
        rv = lower_seq(p, e, m->seq, err);
    name_of_seq(name, m->name, &e->key);
    if (rv == MORTISE_OK)
        rv = seen_get(p, e, name, &most, &stored, err);
    if (rv == MORTISE_OK && m->seq > stored)
        rv = seen_put(p, e, name, m->seq, err);
    if (rv != MORTISE_OK || is_own(p, e))
        return rv;
    name_of_release(name, m);
    rv = seen_get(p, e, name, &most, &stored, err);
    return rv == MORTISE_OK && (most != mark_of(m) || stored != mark_of(m))
               ? seen_put(p, e, name, mark_of(m), err)
               : rv;
}
