/* kind.h -- a kind of plugin: the host's view of one interface.
 *
 * A kind is a row of kinds.def and a file.  The code that loads, trusts, calls
 * or lists plugins depends only on that row and on the descriptions here. */
#ifndef MORTISE_PLUGIN_KIND_H
#define MORTISE_PLUGIN_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

struct mortise_inst; /* <mortise/plugin.h> defines it and the request */
struct mortise_manifest;
struct mortise_request;

enum mortise_kind {
#define KIND(ID, name, about) MORTISE_KIND_##ID,
#include "core/plugin/kinds.def"
#undef KIND
    MORTISE_KINDS
};

/* A set of kinds: one bit each. */
#define MORTISE_KIND_BIT(kind) (UINT32_C(1) << (kind))
#define MORTISE_KIND_ALL       (MORTISE_KIND_BIT(MORTISE_KINDS) - 1)

/* One function of an interface that the host calls. */
struct mortise_call_kind {
    enum mortise_kind kind;
    uint32_t number; /* its index in the kind's `calls` */
    const char *name;
    /* Permissions of a call, except for inline plugins. */
    bool may_pend;    /* end after its function returns */
    bool may_suspend; /* suspend and be re-entered */
    bool may_write;   /* emit "update" and "goto" */
    bool may_use;     /* emit "usage" */
    bool may_stream;  /* emit "delta" and "reasoning" */
    /* Check that this operation can be called; NULL: always. */
    int (*admit)(const struct mortise_manifest *m, const char *operation,
                 struct mortise_err *err);
    /* A success must emit, besides "output", one JSON value under this word;
     * NULL: none. */
    const char *answer;
    /* Parse the `answer`.  MORTISE_OK, MORTISE_ENOMEM, or MORTISE_EINVAL with
     * the expected form in `words`.  On success `words` has the reason of a
     * violation. */
    int (*read)(const char *text, size_t n, bool *violation, char *words,
                size_t size);
    /* Call it; returns its status. */
    int32_t (*enter)(const void *interface, struct mortise_inst *inst,
                     uint32_t stage, const struct mortise_request *request);
};

struct mortise_plugin_kind {
    const char *name;
    const char *interface; /* "mortise.executor/1" */
    const char *former;    /* an older one, no longer supported; or NULL */
    /* The methods that its calls may ask, up to a NULL; NULL: any. */
    const char *const *asks;
    /* The name of a function that the manifest promises and the interface (may
     * be NULL) lacks; NULL: complete. */
    const char *(*lacks)(const void *interface,
                         const struct mortise_manifest *m);
    const struct mortise_call_kind *const *calls;
    size_t n_calls;
};

extern const struct mortise_plugin_kind *const mortise_kinds[MORTISE_KINDS];

/* Each is defined in the kind's file. */
#define KIND(ID, name, about)                                                  \
    extern const struct mortise_plugin_kind mortise_kind_##name;
#include "core/plugin/kinds.def"
#undef KIND

/* MORTISE_KINDS: no kind has this name. */
enum mortise_kind mortise_kind_find(const char *name);
enum { MORTISE_KINDS_TEXT = 32 * MORTISE_KINDS }; /* room for all names */
/* The names of a set, "executor, guardrail", with `between` as the
 * separator. */
const char *mortise_kind_format_list(char *out, size_t size, uint32_t set,
                                     const char *between);

/* The functions that the core calls. */
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
