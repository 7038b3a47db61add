/* manifest.h -- the text of NAME.plugin.yaml: reading and checking it. [any] */
#ifndef MORTISE_LANG_MANIFEST_MANIFEST_H
#define MORTISE_LANG_MANIFEST_MANIFEST_H

#include "core/plugin/manifest.h"
#include "lang/yaml/keys.h"

/* Parse a manifest.  Findings go to diags; *out is NULL after an error.
 * need_artifacts is false for an unsigned manifest, which may omit the
 * artifacts or their sizes and digests. */
int mortise_manifest_parse(struct mortise_manifest **out,
                           const struct mortise_mem *mem, const char *path,
                           const char *text, size_t n, bool need_artifacts,
                           struct mortise_diags *diags);
/* The same, for mortise_plugin_reader (reader.h). */
int mortise_manifest_read(struct mortise_manifest **out,
                          const struct mortise_mem *mem, const char *path,
                          const char *text, size_t n, bool is_signed,
                          struct mortise_err *err);
/* MORTISE_ECHECK, with the reason as a finding, if this host does not support
 * the manifest. */
int mortise_manifest_check_host(const struct mortise_manifest *m,
                                struct mortise_diags *diags);

/* Add warnings for its author. */
int mortise_manifest_add_warnings(const struct mortise_manifest *m,
                                  struct mortise_diags *diags);

/* The keys of a manifest. */
extern const struct mortise_place mortise_manifest_place;

#endif
