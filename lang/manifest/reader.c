/* reader.c -- the table through which core/ reads manifests and trust files. */
#include "core/plugin/reader.h"

#include "lang/manifest/manifest.h"
#include "lang/manifest/trust_file.h"

const struct mortise_plugin_reader mortise_plugin_reader = {
    .read_manifest = mortise_manifest_read,
    .read_trust = mortise_trust_read_file};
