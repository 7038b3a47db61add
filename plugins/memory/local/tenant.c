/* tenant.c -- tenants, places and words of one file of traces.
 *
 * A tenant is a number, which is part of every key and of every table of words:
 * nothing that is asked for one opens a page of another's.  It is made by its
 * first write; a read of one that is not there finds nothing, and makes
 * nothing. */
#include "base.h"

#include <string.h>

static const char *const scopes[] = {"global", "persona", "session",
                                     "conversation"};
static const char *const types[] = {"episodic", "semantic", "procedural",
                                    "prospective", "relational"};

static int word_of(mortise_jv word, const char *const *words, int n)
{
    for (int k = 0; k < n; k++)
        if (mortise_jv_is(word, mortise_strz(words[k])))
            return k;
    return -1;
}

int scope_of(mortise_jv word)
{
    return word_of(word, scopes, sizeof scopes / sizeof scopes[0]);
}

int type_of(mortise_jv word)
{
    return word_of(word, types, sizeof types / sizeof types[0]);
}

const char *scope_name(int scope)
{
    return scopes[scope & 3];
}

const char *type_name(int type)
{
    return types[type < 5 ? type : 0];
}

/* A row of it: true; false: there is none, or an error, which *failed says. */
static bool look(struct job *j, bool *failed)
{
    sqlite3_stmt *s = statement(j, S_TENANT);
    int code;

    *failed =
        s == NULL || sqlite3_bind_text(s, 1, j->tenant_name, -1, SQLITE_STATIC);
    code = *failed ? SQLITE_ERROR : sqlite3_step(s);
    *failed = code != SQLITE_ROW && code != SQLITE_DONE;
    if (code == SQLITE_ROW) {
        j->tenant = sqlite3_column_int64(s, 0);
        j->seq = sqlite3_column_int64(s, 1);
        j->traces = sqlite3_column_int64(s, 2);
        j->bytes = sqlite3_column_int64(s, 3);
    }
    sqlite3_reset(s);
    return code == SQLITE_ROW;
}

static bool add(struct job *j)
{
    sqlite3_stmt *s = statement(j, S_TENANT_ADD);

    if (s == NULL ||
        sqlite3_bind_text(s, 1, j->tenant_name, -1, SQLITE_STATIC) || !run(s))
        return false;
    j->tenant = sqlite3_last_insert_rowid(j->c->db);
    return text_make(j);
}

mortise_status tenant_find(struct job *j, bool make)
{
    bool failed;

    j->tenant = j->seq = j->traces = j->bytes = 0;
    if (look(j, &failed) || (!failed && !make))
        return MORTISE_S_OK;
    return !failed && add(j) ? MORTISE_S_OK : no_database(j, "find the tenant");
}

bool tenant_set(const struct job *j)
{
    sqlite3_stmt *s = statement(j, S_TENANT_SET);

    return s != NULL && sqlite3_bind_int64(s, 1, j->tenant) == SQLITE_OK &&
           sqlite3_bind_int64(s, 2, j->seq) == SQLITE_OK &&
           sqlite3_bind_int64(s, 3, j->traces) == SQLITE_OK &&
           sqlite3_bind_int64(s, 4, j->bytes) == SQLITE_OK && run(s);
}

static bool bind_place(sqlite3_stmt *s, const struct job *j, int scope,
                       mortise_str key)
{
    return s != NULL && sqlite3_bind_int64(s, 1, j->tenant) == SQLITE_OK &&
           sqlite3_bind_int(s, 2, scope) == SQLITE_OK &&
           sqlite3_bind_text(s, 3, key.n > 0 ? key.p : "", (int)key.n,
                             SQLITE_STATIC) == SQLITE_OK;
}

bool place_find(const struct job *j, int scope, mortise_str key, bool make,
                int64_t *n)
{
    sqlite3_stmt *s = statement(j, S_PLACE);

    if (!bind_place(s, j, scope, key) || !run_number(s, n))
        return false;
    if (*n > 0 || !make)
        return true;
    s = statement(j, S_PLACE_ADD);
    if (!bind_place(s, j, scope, key) || !run(s))
        return false;
    *n = sqlite3_last_insert_rowid(j->c->db);
    return true;
}
