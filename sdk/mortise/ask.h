/* mortise/ask.h -- typed wrappers over what the host gives, so that nobody
 * writes its JSON or its strings by hand.
 *
 * Three parts: making a mortise_str; emitting and failing in one line; and one
 * pair of functions for each method of the one door, host->ask().  In this
 * build the door knows
 *
 *     state.get/1   read a path of the run's state
 *
 * and refuses every other method with MORTISE_S_UNSUPPORTED.  A method must be
 * named in the manifest (`requires.methods`).  The order of the arguments is
 * always host, its table, the call, then the method's own.
 *
 * Each _wait form may only be used from [call] of a `blocking` interface; its
 * answer is lent until the call's next ask_wait or its end.
 */
#ifndef MORTISE_SDK_ASK_H
#define MORTISE_SDK_ASK_H

#include <mortise/json.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- strings ----------------------------------------------------------- */

MORTISE_INLINE mortise_str mortise_strn(const char *p, uint64_t n)
{
    mortise_str s;

    s.p = p;
    s.n = n;
    return s;
}

/* Of a literal or any string with a NUL behind; NULL is empty. */
MORTISE_INLINE mortise_str mortise_strz(const char *text)
{
    return mortise_strn(text, text != NULL ? strlen(text) : 0);
}

MORTISE_INLINE mortise_str mortise_str_empty(void)
{
    return mortise_strn(NULL, 0);
}

MORTISE_INLINE int mortise_str_is(mortise_str s, const char *text)
{
    size_t n = strlen(text);

    return s.n == n && (n == 0 || memcmp(s.p, text, n) == 0);
}

/* ---- results ----------------------------------------------------------- */

MORTISE_INLINE mortise_status mortise_emit_output(mortise_host *host,
                                                  const mortise_host_api *api,
                                                  mortise_call call,
                                                  mortise_str json)
{
    return api->emit(host, call, mortise_strz("output"), json);
}

/* Words for an error, and its status to return:
 *
 *     return mortise_refuse(host, api, call, MORTISE_S_NOTFOUND, "permanent",
 *                           "not_found", "there is no such file");
 *
 * `klass` and `code` as plugin.h's fail() has them; either may be NULL. */
MORTISE_INLINE mortise_status mortise_refuse(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_status status, const char *klass, const char *code, const char *msg)
{
    char room[256];
    mortise_str detail;
    mortise_jw w;

    mortise_jw_fixed(&w, room, sizeof room);
    mortise_jw_object(&w);
    if (klass != NULL) {
        mortise_jw_key(&w, "class");
        mortise_jw_cstr(&w, klass);
    }
    if (code != NULL) {
        mortise_jw_key(&w, "code");
        mortise_jw_cstr(&w, code);
    }
    mortise_jw_end(&w);
    if (mortise_jw_finish(&w, &detail) != MORTISE_S_OK)
        detail = mortise_str_empty();
    /* in parentheses: Check, for one, has a macro of that name */
    (api->fail)(host, call, mortise_strz(msg), detail);
    return status;
}

/* A writer whose bytes leave for the host as the call's output whenever the
 * buffer is full, so that a large result needs little memory:
 *
 *     mortise_emitter out;
 *     char room[4096];
 *
 *     mortise_emitter_init(&out, host, api, request->call, room, sizeof room);
 *     mortise_jw_object(&out.w);
 *     ...
 *     return mortise_emitter_finish(&out);
 *
 * The emitter must not move between the two. */
typedef struct mortise_emitter {
    mortise_jw w;
    mortise_host *host;
    const mortise_host_api *api;
    mortise_call call;
} mortise_emitter;

/* A mortise_jw_more_fn. */
MORTISE_INLINE mortise_status mortise_emitter_more(mortise_jw *w, void *ud)
{
    mortise_emitter *e = (mortise_emitter *)ud;
    mortise_status status = MORTISE_S_OK;

    if (w->n > 0)
        status = mortise_emit_output(e->host, e->api, e->call,
                                     mortise_strn(w->p, w->n));
    w->n = 0;
    return status;
}

MORTISE_INLINE void mortise_emitter_init(mortise_emitter *e, mortise_host *host,
                                         const mortise_host_api *api,
                                         mortise_call call, char *room,
                                         uint64_t cap)
{
    mortise_jw_growing(&e->w, room, cap, mortise_emitter_more, e);
    e->host = host;
    e->api = api;
    e->call = call;
}

/* Send what is left.  The first failure of all, the host's included. */
MORTISE_INLINE mortise_status mortise_emitter_finish(mortise_emitter *e)
{
    mortise_str rest;
    mortise_status status = mortise_jw_finish(&e->w, &rest);

    return status == MORTISE_S_OK ? mortise_emitter_more(&e->w, e) : status;
}

/* ---- state.get/1 ------------------------------------------------------- */

#define MORTISE_STATE_GET_1 "state.get/1"

/* {"path": ...} into room, which suffices for paths of up to 512 bytes. */
#define MORTISE_STATE_GET_ROOM (6 * 512 + 16)

MORTISE_INLINE mortise_status mortise_state_get_body(char *room,
                                                     mortise_str path,
                                                     mortise_str *body)
{
    mortise_jw w;

    mortise_jw_fixed(&w, room, MORTISE_STATE_GET_ROOM);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "path");
    mortise_jw_string(&w, path);
    mortise_jw_end(&w);
    return mortise_jw_finish(&w, body) == MORTISE_S_OK ? MORTISE_S_OK
                                                       : MORTISE_S_INVALID;
}

/* The value at a path of the state, such as "scratch.label" or "input.a.b",
 * as the call sees it.  The answer is that value as JSON; MORTISE_S_NOTFOUND
 * when nothing is there; MORTISE_S_DENIED for a path that the manifest's
 * permissions.state does not list; MORTISE_S_INVALID for one that is not UTF-8
 * or too long.  Results as those of host->ask(). */
MORTISE_INLINE mortise_status mortise_state_get(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str path, mortise_answer_fn *on_answer, void *ud)
{
    char room[MORTISE_STATE_GET_ROOM];
    mortise_str body;
    mortise_status status = mortise_state_get_body(room, path, &body);

    if (status != MORTISE_S_OK)
        return status;
    return api->ask(host, call, mortise_strz(MORTISE_STATE_GET_1), body,
                    on_answer, ud);
}

MORTISE_INLINE mortise_status
mortise_state_get_wait(mortise_host *host, const mortise_host_api *api,
                       mortise_call call, mortise_str path, mortise_str *answer)
{
    char room[MORTISE_STATE_GET_ROOM];
    mortise_str body;
    mortise_status status = mortise_state_get_body(room, path, &body);

    if (status != MORTISE_S_OK)
        return status;
    return api->ask_wait(host, call, mortise_strz(MORTISE_STATE_GET_1), body,
                         answer);
}

#ifdef __cplusplus
}
#endif
#endif
