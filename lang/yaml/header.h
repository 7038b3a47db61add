/* header.h -- the first lines of every file: apiVersion, kind, metadata. */
#ifndef MORTISE_LANG_YAML_HEADER_H
#define MORTISE_LANG_YAML_HEADER_H

#include "lang/yaml/keys.h"

struct mortise_metadata { /* lent by the tree */
    const char *name;     /* NULL: missing, and reported */
    const char *version;  /* "" when not given */
};

/* Is this a file of ours, and of this kind?  Reports when not: then nothing
 * else in it means what it seems to. */
bool mortise_header_check(const struct mortise_yaml *root, const char *kind,
                          struct mortise_diags *diags);

/* The mapping `metadata`, of a key whose place is this. */
extern const struct mortise_place mortise_metadata_place;
void mortise_metadata_read(struct mortise_metadata *out,
                           const struct mortise_slot *slot,
                           struct mortise_diags *diags);

/* [A-Za-z0-9][A-Za-z0-9._-]*, 128 at most: what a file, a plugin or a guardrail
 * may be called. */
bool mortise_header_is_name(const char *s);
/* The same of a string; when not, a finding that it cannot be `what`. */
bool mortise_header_name(const struct mortise_yaml *v, const char *what,
                         struct mortise_diags *diags);

/* The two rows that mortise_header_check() has read already; the words that
 * they take, each a list. */
extern const struct mortise_word mortise_api_versions[];
#define MORTISE_HEADER_KEYS(kinds)                                             \
    {.name = "apiVersion",                                                     \
     .about = "The version of this format: mortise/v1.",                       \
     .value = MORTISE_V_WORD,                                                  \
     .required = true,                                                         \
     .words = mortise_api_versions},                                           \
    {                                                                          \
        .name = "kind", .about = "What kind of file this is.",                 \
        .value = MORTISE_V_WORD, .required = true, .words = (kinds)            \
    }

#endif
