/* seen.c -- what this user saw of plugins and of trust.
 *
 * A store remembers for itself; a fresh one remembers nothing, and `plugin
 * verify` has none.  So each user remembers as well: a name and a number, in a
 * file of its own below userdir.h's directory, called by the digest of the name.
 * A file is replaced whole, so nobody reads half of one.
 */
#include "plugin/seen.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/owner.h"
#include "base/userdir.h"
#include "plugin/files.h"

enum { TEXT_MAX = 8192, DIGITS = 32 };

static int path_of(char out[PATH_MAX], const char *dir, const char *name,
                   struct mortise_err *err)
{
    uint8_t digest[MORTISE_DIGEST];
    char hex[MORTISE_DIGEST_HEX];

    mortise_digest(digest, name, strlen(name));
    mortise_hex(hex, digest, sizeof digest);
    return mortise_file_path(out, PATH_MAX, err, "%s/%.*s", dir, DIGITS, hex);
}

static int read_value(const struct mortise_mem *mem, const char *path,
                      uint64_t *value, struct mortise_err *err)
{
    struct mortise_buf text;
    int rv;

    mortise_buf_init(&text, mem);
    rv = mortise_file_read(&text, path, TEXT_MAX, err);
    if (rv == MORTISE_OK && mortise_buf_cstr(&text) == NULL)
        rv = mortise_nomem(err);
    else if (rv == MORTISE_OK && sscanf(text.p, "%" SCNu64, value) != 1)
        rv = mortise_fail(err, MORTISE_ECORRUPT,
                          "%s does not begin with a number; what was seen is "
                          "lost: remove it if that is meant",
                          path);
    mortise_buf_finish(&text);
    return rv == MORTISE_ENOTFOUND ? MORTISE_OK : rv;
}

int mortise_seen_get(void *mem, const char *name, uint64_t *value,
                     struct mortise_err *err)
{
    char base[PATH_MAX], dir[PATH_MAX], path[PATH_MAX];
    int rv = mortise_userdir(base, err);

    *value = 0;
    if (rv == MORTISE_ENOTFOUND)
        return MORTISE_OK;
    if (rv == MORTISE_OK)
        rv = mortise_file_path(dir, sizeof dir, err, "%s/seen", base);
    if (rv == MORTISE_OK)
        rv = path_of(path, dir, name, err);
    if (rv == MORTISE_OK)
        rv = mortise_owner_check(path, NULL, NULL, err);
    return rv == MORTISE_OK ? read_value(mem, path, value, err) : rv;
}

int mortise_seen_put(void *mem, const char *name, uint64_t value,
                     struct mortise_err *err)
{
    char dir[PATH_MAX], path[PATH_MAX];
    struct mortise_buf text;
    int rv = mortise_userdir_make(dir, "seen", err);

    if (rv != MORTISE_OK)
        return rv == MORTISE_EDENIED ? rv : MORTISE_OK;
    mortise_buf_init(&text, mem);
    mortise_buf_printf(&text, "%" PRIu64 " %s\n", value, name);
    rv = text.failed ? mortise_nomem(err) : path_of(path, dir, name, err);
    if (rv == MORTISE_OK)
        rv = mortise_file_write(path, text.p, text.n, 0600, 0, err);
    mortise_buf_finish(&text);
    return rv;
}
