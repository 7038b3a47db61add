/* releases.c -- rollback protection: releases of plugins, revoked keys and
 * trust directories.
 *
 * An older release may bring back fixed bugs.  A different release with the
 * same number is not the one that was reviewed.  A trust directory from before
 * a revocation trusts a revoked key again.  Therefore the store and the user
 * record releases and revocations (registry.c (7)), each as a number under a
 * name:
 *
 *   PLUGIN KEY                the highest seq that this key signed for it
 *   release:NAME VERSION SEQ  a mark of that manifest
 *   revoked:KEY               1: it was revoked
 *   trust:DIRECTORY           its seq
 *
 * allow_downgrade goes back once, and records the lower number.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/name.h"
#include "core/plugin/entry.h"

enum { NAME_ROOM = 512 }; /* for a recorded name */

/* Is it bundled with the program, and so changes with it? */
static bool is_bundled_plugin(const struct mortise_plugins *p,
                              const struct entry *e)
{
    return p->config.last_is_own && e->dir + 1 == p->config.n_dirs;
}

/* Do this user's records apply to it? */
static bool is_recorded_for_user(const struct mortise_plugins *p,
                                 const struct entry *e)
{
    return p->config.user_remembers && (e == NULL || !is_bundled_plugin(p, e));
}

/* *most: the higher of the numbers that the store and the user record under a
 * name.  *stored (may be NULL): the store's number, or *most without a store.
 * `e` NULL: not about a plugin.  The caller copies a number of the user to the
 * store, which others may use.  A store's number is never copied to the user: a
 * store from another person must not affect this user's other stores. */
static int get_seen_number(struct mortise_plugins *p, const struct entry *e,
                           const char *name, uint64_t *most, uint64_t *stored,
                           struct mortise_err *err)
{
    uint64_t its = 0, users = 0;
    int rv = MORTISE_OK;

    assert(name[0] != '\0'); /* every record has a name */
    if (p->config.seq_get != NULL)
        rv = p->config.seq_get(p->config.seq_ud, name, &its, err);
    if (rv == MORTISE_OK && is_recorded_for_user(p, e))
        rv = mortise_rollback_state_get(&p->rollback_state, name, &users, err);
    *most = its > users ? its : users;
    if (stored != NULL)
        *stored = p->config.seq_get != NULL ? its : *most;
    return rv;
}

/* Record for the user first.  If the process dies in between, the store gets
 * the number from the user later (get_seen_number()), but never the reverse. */
static int set_seen_number(struct mortise_plugins *p, const struct entry *e,
                           const char *name, uint64_t value,
                           struct mortise_err *err)
{
    int rv = MORTISE_OK;

    if (is_recorded_for_user(p, e))
        rv = mortise_rollback_state_put(&p->rollback_state, name, value, err);
    if (rv == MORTISE_OK && p->config.seq_put != NULL)
        rv = p->config.seq_put(p->config.seq_ud, name, value, err);
    if (p->rollback_state.lost[0] != '\0' && !p->said_lost &&
        p->config.forgets != NULL)
        p->config.forgets(p->config.seq_ud, p->rollback_state.lost);
    p->said_lost = p->rollback_state.lost[0] != '\0';
    return rv;
}

/* The name for the seq that a key signed for a plugin. */
static void make_seq_name(char out[NAME_ROOM], const char *plugin,
                          const struct mortise_pubkey *key)
{
    char text[MORTISE_PUBKEY_TEXT];

    assert(mortise_name_is_valid(plugin)); /* so it fits */
    mortise_pubkey_format(text, key);
    snprintf(out, NAME_ROOM, "%s %s", plugin, text);
}

/* The highest recorded seq of a plugin, over all keys that are not revoked.
 * The holder of a revoked key could otherwise lock the name forever. */
static int get_highest_seq(struct mortise_plugins *p, const struct entry *e,
                           uint64_t *seen, struct mortise_err *err)
{
    const char *plugin = e->manifest->name;
    char name[NAME_ROOM];
    int rv = MORTISE_OK;

    *seen = 0;
    for (size_t i = 0; rv == MORTISE_OK && i < mortise_trust_count(p->trust);
         i++) {
        const struct mortise_trusted_key *by = mortise_trust_at(p->trust, i);
        uint64_t one = 0;

        if (by->revoked)
            continue;
        make_seq_name(name, plugin, &by->key);
        rv = get_seen_number(p, e, name, &one, NULL, err);
        if (one > *seen)
            *seen = one;
    }
    return rv;
}

/* A downgrade was requested: lower every recorded seq that is higher. */
static int lower_recorded_seqs(struct mortise_plugins *p, const struct entry *e,
                               uint64_t seq, struct mortise_err *err)
{
    const char *plugin = e->manifest->name;
    char name[NAME_ROOM];
    uint64_t seen;
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < mortise_trust_count(p->trust);
         i++) {
        make_seq_name(name, plugin, &mortise_trust_at(p->trust, i)->key);
        rv = get_seen_number(p, e, name, &seen, NULL, err);
        if (rv == MORTISE_OK && seen > seq)
            rv = set_seen_number(p, e, name, seq, err);
    }
    return rv;
}

/* A number that identifies a release's manifest; never 0. */
static uint64_t get_manifest_mark(const struct mortise_manifest *m)
{
    uint64_t mark;

    memcpy(&mark, m->digest, sizeof mark);
    return mark | 1;
}

static void make_release_name(char out[NAME_ROOM],
                              const struct mortise_manifest *m)
{
    snprintf(out, NAME_ROOM, "release:%s %s %llu", m->name, m->version,
             (unsigned long long)m->seq);
}

static int check_release_mark(struct mortise_plugins *p, const struct entry *e,
                              struct mortise_err *why)
{
    const struct mortise_manifest *m = e->manifest;
    char name[NAME_ROOM];
    uint64_t seen;
    int rv;

    assert(!m->dev); /* its seq is ignored (registry.c (6)) */
    if (is_bundled_plugin(p, e) || p->config.allow_downgrade)
        return MORTISE_OK;
    make_release_name(name, m);
    rv = get_seen_number(p, e, name, &seen, NULL, why);
    if (rv != MORTISE_OK || seen == 0 || seen == get_manifest_mark(m))
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
    int rv = get_highest_seq(p, e, &seen, why);

    if (rv != MORTISE_OK || p->config.allow_downgrade)
        return rv;
    if (m->seq >= seen)
        return check_release_mark(p, e, why);
    return mortise_fail(why, MORTISE_EDENIED,
                        "is seq %llu, but seq %llu ran here before; an older "
                        "release may contain fixed bugs; install one with seq "
                        "%llu or later (to accept this one: --allow-downgrade)",
                        (unsigned long long)m->seq, (unsigned long long)seen,
                        (unsigned long long)seen);
}

/* ---- recorded revocations ------------------------------------------------ */

static void make_revocation_name(char out[NAME_ROOM],
                                 const struct mortise_pubkey *key)
{
    char text[MORTISE_PUBKEY_TEXT];

    mortise_pubkey_format(text, key);
    snprintf(out, NAME_ROOM, "revoked:%s", text);
}

int mortise_releases_record_key(struct mortise_plugins *p,
                                const struct mortise_trusted_key *by,
                                struct mortise_err *err)
{
    char name[NAME_ROOM];
    uint64_t most, stored;
    int rv;

    make_revocation_name(name, &by->key);
    rv = get_seen_number(p, NULL, name, &most, &stored, err);
    if (rv != MORTISE_OK)
        return rv;
    if (!by->revoked && p->config.allow_downgrade)
        return most != 0 ? set_seen_number(p, NULL, name, 0, err) : MORTISE_OK;
    return (by->revoked || most != 0) && stored == 0
               ? set_seen_number(p, NULL, name, 1, err)
               : MORTISE_OK;
}

int mortise_releases_check_key(struct mortise_plugins *p, const struct entry *e,
                               struct mortise_err *why)
{
    char name[NAME_ROOM], id[MORTISE_KEYID_TEXT];
    uint64_t seen;
    int rv;

    make_revocation_name(name, &e->key);
    rv = get_seen_number(p, NULL, name, &seen, NULL, why);
    if (rv != MORTISE_OK || seen == 0)
        return rv;
    mortise_keyid_format(id, e->key.id);
    return mortise_fail(
        why, MORTISE_EDENIED,
        "is signed with key %s, which a trust file revoked before, but no "
        "trust file revokes it now; restore the trust file (to accept the key "
        "again: --allow-downgrade)",
        id);
}

/* ---- trust directories --------------------------------------------------- */

/* A trust directory from before a revocation would trust a revoked key
 * again. */
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
    rv = get_seen_number(p, NULL, key, &seen, &stored, err);
    if (rv != MORTISE_OK)
        return rv;
    if (seq < seen && p->config.allow_downgrade)
        return set_seen_number(p, NULL, key, seq, err);
    if (seq < seen)
        return mortise_fail(
            err, MORTISE_EDENIED,
            "trust directory %s has seq %llu, but had %llu before; a "
            "revocation may be missing; restore its newest files (to accept "
            "this state: --allow-downgrade)",
            path, (unsigned long long)seq, (unsigned long long)seen);
    return seq > stored ? set_seen_number(p, NULL, key, seq, err) : MORTISE_OK;
}

/* ---- after a start ------------------------------------------------------- */

/* Record the release: from now on an older one is denied, and a different one
 * with the same number. */
int mortise_releases_record(struct mortise_plugins *p, const struct entry *e,
                            struct mortise_err *err)
{
    const struct mortise_manifest *m = e->manifest;
    char name[NAME_ROOM];
    uint64_t most, stored;
    int rv = MORTISE_OK;

    if (m->dev)
        return rv;
    if (p->config.allow_downgrade)
        rv = lower_recorded_seqs(p, e, m->seq, err);
    make_seq_name(name, m->name, &e->key);
    if (rv == MORTISE_OK)
        rv = get_seen_number(p, e, name, &most, &stored, err);
    if (rv == MORTISE_OK && m->seq > stored)
        rv = set_seen_number(p, e, name, m->seq, err);
    if (rv != MORTISE_OK || is_bundled_plugin(p, e))
        return rv;
    make_release_name(name, m);
    rv = get_seen_number(p, e, name, &most, &stored, err);
    return rv == MORTISE_OK && (most != get_manifest_mark(m) ||
                                stored != get_manifest_mark(m))
               ? set_seen_number(p, e, name, get_manifest_mark(m), err)
               : rv;
}
