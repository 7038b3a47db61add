/* header.h -- the first lines of each file: apiVersion, kind, metadata. */
#ifndef MORTISE_LANG_YAML_HEADER_H
#define MORTISE_LANG_YAML_HEADER_H

#include "lang/yaml/keys.h"

struct mortise_metadata { /* lent by the tree */
    const char *name;     /* NULL: missing, and reported */
    const char *version;  /* "" if missing */
};

/* Is this a file of Mortise, and of this kind?  Reports if it is not; then the
 * rest of the file must not be read. */
bool mortise_header_check(const struct mortise_yaml *root, const char *kind,
                          struct mortise_diags *diags);

/* Reads the mapping `metadata`; the key's place must be this one. */
extern const struct mortise_place mortise_metadata_place;
void mortise_metadata_read(struct mortise_metadata *out,
                           const struct mortise_slot *slot,
                           struct mortise_diags *diags);

/* Is it a valid name (core/base/name.h)?  If not, a finding that it cannot be
 * `what`. */
bool mortise_header_check_name(const struct mortise_yaml *v, const char *what,
                               struct mortise_diags *diags);

/* The two rows that mortise_header_check() has already read, and the list of
 * valid words for each. */
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
