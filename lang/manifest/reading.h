/* reading.h -- the state of parsing a manifest, for manifest.c and for the
 * kinds, each of which parses its own part. */
#ifndef MORTISE_LANG_MANIFEST_READING_H
#define MORTISE_LANG_MANIFEST_READING_H

#include "core/plugin/manifest.h"
#include "lang/yaml/keys.h"

struct mortise_manifest_reader {
    struct mortise_manifest *m;
    struct mortise_diags *diags;
    bool need_artifacts;
    bool nomem;
};

/* How the part of a kind is read (kind_NAME.c). */
struct mortise_manifest_kind {
    struct mortise_place place;
    /* Check the part after the whole manifest was read; NULL: nothing to
     * check. */
    void (*check)(struct mortise_manifest_reader *r);
};

#define KIND(ID, name, about)                                                  \
    extern const struct mortise_manifest_kind mortise_manifest_kind_##name;
#include "core/plugin/kinds.def"
#undef KIND

/* Define it, with the rows KIND_keys. */
#define MORTISE_KIND_PART(kind, check_part)                                    \
    const struct mortise_manifest_kind mortise_manifest_kind_##kind = {        \
        .place = {MORTISE_PLACE_OF("provides." #kind, kind##_keys)},           \
        .check = (check_part)}

/* Allocate from the manifest's arena.  NULL: out of memory, which sets
 * r->nomem. */
void *mortise_manifest_reader_alloc(struct mortise_manifest_reader *r,
                                    size_t size);
/* The value of a key in the part of a kind; NULL: absent. */
const struct mortise_yaml *
mortise_manifest_get_part(const struct mortise_manifest_reader *r,
                          const char *kind, const char *key);
/* Fail with the first finding: "PATH:LINE:COL: MESSAGE; HELP". */
int mortise_diags_fail_first(const struct mortise_diags *d, int code,
                             struct mortise_err *err);
/* Compile a schema.  NULL after a finding, or without memory.  `secrets` NULL:
 * secrets are not collected. */
struct mortise_schema *
mortise_manifest_read_schema(struct mortise_manifest_reader *r,
                             const struct mortise_slot *slot,
                             struct mortise_secret_places *secrets);

/* ---- keys of every kind (struct mortise_interface) ------------------------ */

extern const struct mortise_word mortise_threadings[];

#define MORTISE_THREADS                                                        \
    {.name = "idle",                                                           \
     .about =                                                                  \
         "The longest time without activity. A call that neither emits"        \
         " nor asks is cancelled; code on the engine's thread that "           \
         "does not return ends the process (default: 30s; 0s: no limit).",     \
     MORTISE_INTO_MS(struct mortise_interface, idle_ms)},                      \
        {.name = "threading",                                                  \
         .about = "How the host calls the plugin: inline, async or blocking.", \
         .required = true,                                                     \
         .words = mortise_threadings,                                          \
         MORTISE_INTO_WORD(struct mortise_interface, threading)},              \
    {                                                                          \
        .name = "concurrency",                                                 \
        .about = "The number of calls at once (default: 1; 0: no limit).",     \
        .max = 1000000,                                                        \
        MORTISE_INTO_U32(struct mortise_interface, concurrency)                \
    }

#endif
