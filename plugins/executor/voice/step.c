/* step.c -- what is done once: a step of the call's own (journal.begin/1), which
 * has its result in the record; and what whoever watches is told.
 *
 * Each utterance that is heard and each text that is said is one.  All of them
 * may be repeated: one that was cut off by a crash is begun again from where it
 * began, in a file to the sample.  So no turn that was recorded is heard, answered
 * or said twice, and the one that was not is lost on nobody. */
#include "voice.h"

static void write_value(mortise_jw *w, const char *name, mortise_str json)
{
    if (json.n == 0)
        return;
    mortise_jw_key(w, name);
    mortise_jw_value(w, mortise_jv_of(json));
}

static mortise_status ask(struct session *s, const char *method, mortise_jw *w,
                          mortise_str *answer)
{
    mortise_str body;
    mortise_status status = mortise_jw_finish(w, &body);

    if (status == MORTISE_S_OK)
        status = call_ask(s, method, body, answer);
    free(w->p);
    return status == MORTISE_S_OK || status == MORTISE_S_SUSPENDED
               ? status
               : no_answer(s, method, status, *answer);
}

/* Its result, where it was done before. */
static mortise_status begin(struct session *s, const char *name,
                            mortise_str arguments, struct bytes *result)
{
    mortise_str answer = {NULL, 0};
    mortise_status status;
    mortise_jv v, done;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "step");
    mortise_jw_cstr(&w, name);
    write_value(&w, "arguments", arguments);
    mortise_jw_key(&w, "repeat");
    mortise_jw_bool(&w, 1);
    mortise_jw_end(&w);
    status = ask(s, MORTISE_JOURNAL_BEGIN_1, &w, &answer);
    if (status != MORTISE_S_OK || mortise_jv_parse(answer, &v) != MORTISE_S_OK)
        return status;
    done = mortise_jv_get(v, "result");
    status = bytes_put(result, mortise_strn(done.p, done.n));
    return status == MORTISE_S_OK ? status : no_mem(s);
}

/* `result` of no bytes: it was not done. */
static mortise_status end(struct session *s, const char *name,
                          mortise_str result)
{
    mortise_str answer = {NULL, 0};
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "step");
    mortise_jw_cstr(&w, name);
    write_value(&w, "result", result);
    if (result.n == 0) {
        mortise_jw_key(&w, "undone");
        mortise_jw_bool(&w, 1);
    }
    mortise_jw_end(&w);
    return ask(s, MORTISE_JOURNAL_END_1, &w, &answer);
}

mortise_status step(struct session *s, const char *name, mortise_str arguments,
                    perform_fn *perform, void *ud, struct bytes *result)
{
    mortise_status status = begin(s, name, arguments, result), finished;
    mortise_str json;
    mortise_jw w;

    if (status != MORTISE_S_OK || result->n > 0)
        return status;
    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    status = perform(s, ud, &w);
    finished = mortise_jw_finish(&w, &json);
    if (status == MORTISE_S_OK && finished == MORTISE_S_OK)
        finished = bytes_put(result, json);
    if (status == MORTISE_S_OK && finished != MORTISE_S_OK)
        status = no_mem(s);
    finished = status == MORTISE_S_SUSPENDED
                   ? MORTISE_S_OK /* it goes on another time */
                   : end(s, name,
                         status == MORTISE_S_OK ? bytes_str(result)
                                                : mortise_str_empty());
    free(w.p);
    return status != MORTISE_S_OK ? status : finished;
}

void tell(struct session *s, const char *kind, mortise_jw *w)
{
    mortise_str json;

    /* a host that does not know the kind says so, and that is all */
    if (mortise_jw_finish(w, &json) == MORTISE_S_OK)
        s->inst->api->emit(s->inst->host, s->id, mortise_strz(kind), json);
    free(w->p);
}
