/* does.c -- does things by itself, in steps of its own (journal.begin/1): for
 * each word of {"steps": [...]} it begins a step of that name, adds a line
 * "NAME KEY" to the file `done`, and ends it with NAME as its result.  A word may
 * end in some of
 *
 *   +   it may be done again
 *   -   nothing is done, which the end says
 *   !   done, and then it sleeps for a minute, unless there is a file `awake`
 *   ~   ... the call fails instead
 *   $   ... nothing is said of its end, and the call goes on
 *   %   ... once half a second has passed
 *   ?   inside, kv.get/1 and another step are asked for, and the end of that
 *   .   inside, state.get/1 is
 *
 * and the output is a list of what each step gave; of one that was done before
 * with "again " before it, and of a refusal the words. */
#include <stdio.h>
#include <unistd.h>

#include "simple.h"

struct step {
    mortise_inst *inst;
    const mortise_request *request;
    char name[64];
    const char *how; /* what stands behind it */
    char key[128];
};

static int is(const struct step *s, char how)
{
    return strchr(s->how, how) != NULL;
}

static mortise_status begin(struct step *s, mortise_str *answer)
{
    char body[256];

    snprintf(body, sizeof body,
             "{\"step\": \"%s\", \"arguments\": {\"name\": \"%s\"}%s}", s->name,
             s->name, is(s, '+') ? ", \"repeat\": true" : "");
    return mortise_journal_begin_wait(s->inst->host, s->inst->api,
                                      s->request->call, mortise_strz(body),
                                      answer);
}

static mortise_status end(struct step *s, mortise_str *answer)
{
    char body[256];

    snprintf(body, sizeof body,
             is(s, '-') ? "{\"step\": \"%s\", \"undone\": true}"
                        : "{\"step\": \"%s\", \"result\": \"%s\"}",
             s->name, s->name);
    return mortise_journal_end_wait(s->inst->host, s->inst->api,
                                    s->request->call, mortise_strz(body),
                                    answer);
}

static void act(const struct step *s)
{
    FILE *f = fopen("done", "a");

    if (f == NULL)
        return;
    fprintf(f, "%s %s\n", s->name, s->key);
    fclose(f);
}

/* What may not, and may, be asked inside. */
static void ask_inside(struct step *s, mortise_jw *out)
{
    mortise_str answer = mortise_str_empty();

    if (is(s, '?')) {
        mortise_kv_get_wait(s->inst->host, s->inst->api, s->request->call,
                            mortise_strz("k"), &answer);
        mortise_jw_string(out, answer);
        mortise_journal_begin_wait(
            s->inst->host, s->inst->api, s->request->call,
            mortise_strz("{\"step\": \"other\"}"), &answer);
        mortise_jw_string(out, answer);
        mortise_journal_end_wait(s->inst->host, s->inst->api, s->request->call,
                                 mortise_strz("{\"step\": \"other\", "
                                              "\"result\": 1}"),
                                 &answer);
        mortise_jw_string(out, answer);
    } else if (is(s, '.')) {
        mortise_state_get_wait(s->inst->host, s->inst->api, s->request->call,
                               mortise_strz("input"), &answer);
        mortise_jw_string(out, answer);
    }
}

static mortise_status do_step(struct step *s, mortise_jw *out)
{
    mortise_str answer;
    mortise_jv v;
    char text[256];
    mortise_status status = begin(s, &answer);

    if (status == MORTISE_S_OK &&
        mortise_jv_parse(answer, &v) == MORTISE_S_OK &&
        mortise_jv_cstr(mortise_jv_get(v, "result"), s->key, sizeof s->key) ==
            MORTISE_S_OK) {
        snprintf(text, sizeof text, "again %s", s->key);
        mortise_jw_cstr(out, text);
        return MORTISE_S_OK;
    }
    if (status != MORTISE_S_OK) {
        mortise_jw_string(out, answer);
        return status;
    }
    if (mortise_jv_cstr(mortise_jv_get(v, "key"), s->key, sizeof s->key) !=
        MORTISE_S_OK)
        strcpy(s->key, "no key");
    ask_inside(s, out);
    if (!is(s, '-'))
        act(s);
    if (is(s, '%'))
        simple_sleep_ms(500);
    if (is(s, '!') && access("awake", F_OK) != 0)
        simple_sleep_ms(60000);
    if (is(s, '~'))
        return mortise_refuse(s->inst->host, s->inst->api, s->request->call,
                              MORTISE_S_FAILED, "transient", "later",
                              "it is to be tried again");
    if (is(s, '$'))
        return MORTISE_S_OK;
    status = end(s, &answer);
    if (status == MORTISE_S_OK)
        mortise_jw_cstr(out, s->name);
    else
        mortise_jw_string(out, answer);
    return status;
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    struct step s = {i, r, "", "", ""};
    mortise_status status = MORTISE_S_OK;
    char room[8192];
    mortise_str json;
    mortise_jv body, word;
    mortise_jv_iter it;
    mortise_jw out;

    mortise_jw_fixed(&out, room, sizeof room);
    mortise_jw_array(&out);
    if (mortise_jv_parse(r->body, &body) != MORTISE_S_OK)
        return MORTISE_S_INVALID;
    for (it = mortise_jv_each(mortise_jv_get(body, "steps"));
         status == MORTISE_S_OK && mortise_jv_next(&it, NULL, &word);) {
        char text[64];

        mortise_jv_cstr(word, text, sizeof text);
        s.how = text + strcspn(text, "+-!~?.%$");
        snprintf(s.name, sizeof s.name, "%.*s", (int)(s.how - text), text);
        status = do_step(&s, &out);
    }
    mortise_jw_end(&out);
    if (status != MORTISE_S_OK)
        return status;
    mortise_jw_finish(&out, &json);
    return mortise_emit_output(i->host, i->api, r->call, json);
}

SIMPLE_EXECUTOR("does")
