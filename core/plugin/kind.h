/* kind.h -- a kind of plugin: what the host makes of one of its interfaces.
 *
 * A kind is a row of kinds.def and a file.  Whoever loads, trusts, calls or
 * lists plugins goes by the row; what is said of a kind here is all that it
 * knows. */
#ifndef MORTISE_PLUGIN_KIND_H
#define MORTISE_PLUGIN_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

struct mortise_inst; /* of <mortise/plugin.h>, as is the request */
struct mortise_manifest;
struct mortise_place;
struct mortise_reading;
struct mortise_request;

enum mortise_kind {
#define KIND(ID, name, about) MORTISE_KIND_##ID,
#include "core/plugin/kinds.def"
#undef KIND
    MORTISE_KINDS
};

/* A set of kinds has the bit of each. */
#define MORTISE_KIND_BIT(kind) (UINT32_C(1) << (kind))
#define MORTISE_KIND_ALL       (MORTISE_KIND_BIT(MORTISE_KINDS) - 1)

/* One function of an interface that the host calls. */
struct mortise_call_kind {
    enum mortise_kind kind;
    uint32_t number; /* its index in the kind's `calls` */
    const char *name;
    /* What it may do, but for inline ones. */
    bool may_pend;    /* end later */
    bool may_suspend; /* let go, and be entered again */
    bool may_write;   /* emit "update" and "goto" */
    bool may_use;     /* emit "usage" */
    bool may_stream;  /* emit "delta" and "reasoning" */
    /* Why it cannot be called for this operation; NULL: it always can. */
    int (*admit)(const struct mortise_manifest *m, const char *operation,
                 struct mortise_err *err);
    /* What a success must have emitted besides "output": one JSON value, under
     * this word; NULL: nothing. */
    const char *answer;
    /* What `answer` says: MORTISE_OK, MORTISE_ENOMEM, or MORTISE_EINVAL and
     * what is expected, instead of the reason of a violation. */
    int (*read)(const char *text, size_t n, bool *violation, char *words,
                size_t size);
    /* Call it; its status. */
    int32_t (*enter)(const void *interface, struct mortise_inst *inst,
                     uint32_t stage, const struct mortise_request *request);
};

struct mortise_plugin_kind {
    const char *name;
    const char *interface; /* "mortise.executor/1" */
    const char *former;    /* one that is not taken any more; or NULL */
    /* Methods that its calls may ask, up to a NULL; NULL: any. */
    const char *const *asks;
    /* What can be judged of its part when all of a manifest was read; NULL:
     * nothing. */
    void (*check)(struct mortise_reading *r);
    /* What an interface, which may be NULL, lacks of what the manifest promises
     * of it; NULL: nothing. */
    const char *(*lacks)(const void *interface,
                         const struct mortise_manifest *m);
    const struct mortise_call_kind *const *calls;
    size_t n_calls;
};

extern const struct mortise_plugin_kind *const mortise_kinds[MORTISE_KINDS];

/* Each in its file, with the place of its part of the manifest. */
#define KIND(ID, name, about)                                                  \
    extern const struct mortise_plugin_kind mortise_kind_##name;               \
    extern const struct mortise_place mortise_kind_##name##_place;
#include "core/plugin/kinds.def"
#undef KIND

/* MORTISE_KINDS: there is none of that name. */
enum mortise_kind mortise_kind_named(const char *name);
enum { MORTISE_KINDS_TEXT = 32 * MORTISE_KINDS }; /* room for all names */
/* "executor, guardrail" of a set of them, with `between` between two. */
const char *mortise_kind_list(char *out, size_t size, uint32_t set,
                              const char *between);

/* What the core calls. */
extern const struct mortise_call_kind mortise_call_execute;
extern const struct mortise_call_kind mortise_call_reconcile;
extern const struct mortise_call_kind mortise_call_background;
extern const struct mortise_call_kind mortise_call_check;
extern const struct mortise_call_kind mortise_call_chat;
extern const struct mortise_call_kind mortise_call_embed;
extern const struct mortise_call_kind mortise_call_discover;
extern const struct mortise_call_kind mortise_call_list;
extern const struct mortise_call_kind mortise_call_recall;
extern const struct mortise_call_kind mortise_call_remember;
extern const struct mortise_call_kind mortise_call_forget;

#endif
