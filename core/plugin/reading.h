/* reading.h -- what reads a manifest has in hand, for manifest.c and the kinds,
 * each of which reads its own part. */
#ifndef MORTISE_PLUGIN_READING_H
#define MORTISE_PLUGIN_READING_H

#include "core/plugin/manifest.h"

struct mortise_reading {
    struct mortise_manifest *m;
    struct mortise_diags *diags;
    bool need_artifacts;
    bool nomem;
};

/* For rows of keys, and the place that has them. */

/* The place of a kind's part, of the rows KIND_keys. */
#define MORTISE_KIND_PLACE(kind)                                               \
    const struct mortise_place mortise_kind_##kind##_place = {                 \
        MORTISE_PLACE_OF("provides." #kind, kind##_keys)}

/* In the manifest's arena; NULL: memory ran out, which is noted. */
void *mortise_reading_take(struct mortise_reading *r, size_t size);
/* NULL after a finding, or without memory.  `secrets` NULL: nobody looks for
 * some here. */
struct mortise_schema *
mortise_reading_schema(struct mortise_reading *r,
                       const struct mortise_slot *slot,
                       struct mortise_secret_places *secrets);

/* ---- what each kind has (struct mortise_provides) ------------------------ */

extern const struct mortise_word mortise_threadings[];

#define MORTISE_THREADS                                                        \
    {.name = "idle",                                                           \
     .about =                                                                  \
         "The longest time without activity. A call that neither emits"        \
         " nor asks is cancelled; code on the engine's thread that "           \
         "does not return ends the process (default: 30s; 0s: no limit).",     \
     MORTISE_INTO_MS(struct mortise_provides, idle_ms)},                       \
        {.name = "threading",                                                  \
         .about = "How the host calls the plugin: inline, async or blocking.", \
         .required = true,                                                     \
         .words = mortise_threadings,                                          \
         MORTISE_INTO_WORD(struct mortise_provides, threading)},               \
    {                                                                          \
        .name = "concurrency",                                                 \
        .about = "The number of calls at once (default: 1; 0: no limit).",     \
        .max = 1000000, MORTISE_INTO_U32(struct mortise_provides, concurrency) \
    }

#endif
