/* plays.c -- a model that plays what it is given: the last message of the user that is
 * {"do": SCRIPT} has a script, a list with an element for each of its turns.
 *
 *     text                  ... is what it says, and its end
 *     "$last"               ... the texts of the last message, errors marked
 *     "$show"               ... the request, as it came
 *     [[NAME, ARGUMENTS] ...]   tools that it calls
 *     {"attempts": N, "then": TURN}   it fails, for now, ahead of attempt N
 *
 * In arguments "$1", "$2" ... are the tasks that results named so far, in the order
 * in which they came; and `instructions` that are a list are a script of the child's.
 *
 * Its operation `note` has an effect that is as if done once under one key: a line
 * with that key in the file `noted`. */
#include <mortise/model.h>
#include <stdio.h>

#include "simple.h"

static const char mark[] = "{\"do\":";

enum { ROOM = 1 << 20, TASKS = 16, TASK = 160 };

struct play {
    mortise_jv turn; /* none: the script is over */
    char *last;      /* the texts of the last message */
    char tasks[TASKS][TASK];
    size_t n_tasks;
    uint32_t attempt;
};

/* ---- what was said ------------------------------------------------------------ */

static void add_text(char *to, mortise_jv text)
{
    size_t n = strlen(to);
    uint64_t m = 0;

    if (mortise_jv_decode(text, to + n, ROOM - 1 - n, &m) == MORTISE_S_OK)
        to[n + m] = '\0';
}

/* The texts of parts, and of results among them. */
static void add_texts(char *to, mortise_jv parts)
{
    mortise_jv_iter it = mortise_jv_each(parts);
    mortise_jv part;

    while (mortise_jv_next(&it, NULL, &part)) {
        int32_t is_error = 0;

        mortise_jv_bool(mortise_jv_get(part, "is_error"), &is_error);
        if (is_error)
            strcat(to, "error: ");
        add_text(to, mortise_jv_get(part, "text"));
        add_texts(to, mortise_jv_get(part, "parts"));
    }
}

/* What stands behind "task": in results. */
static void find_tasks(struct play *p, const char *text)
{
    static const char task[] = "\"task\":\"";
    char one[TASK];

    while ((text = strstr(text, task)) != NULL) {
        size_t i = 0, n;

        text += sizeof task - 1;
        n = strcspn(text, "\"");
        snprintf(one, sizeof one, "%.*s", (int)n, text);
        while (i < p->n_tasks && strcmp(p->tasks[i], one) != 0)
            i++;
        if (i == p->n_tasks && i < TASKS)
            memcpy(p->tasks[p->n_tasks++], one, sizeof one);
    }
}

static int is_role(mortise_jv message, const char *role)
{
    return mortise_jv_is(mortise_jv_get(message, "role"), mortise_strz(role));
}

/* The script, parsed in `script`, and which turn it is. */
static void read_messages(struct play *p, mortise_jv messages, char *script)
{
    mortise_jv_iter it = mortise_jv_each(messages);
    mortise_jv message, all, one;
    size_t turn = 0;

    script[0] = '\0';
    while (mortise_jv_next(&it, NULL, &message)) {
        p->last[0] = '\0';
        add_texts(p->last, mortise_jv_get(message, "parts"));
        if (is_role(message, "user") &&
            strncmp(p->last, mark, sizeof mark - 1) == 0) {
            strcpy(script, p->last);
            turn = p->n_tasks = 0;
        }
        turn += (size_t)is_role(message, "assistant");
        if (is_role(message, "tool"))
            find_tasks(p, p->last);
    }
    if (mortise_jv_parse(mortise_strz(script), &all) != MORTISE_S_OK)
        return;
    it = mortise_jv_each(mortise_jv_get(all, "do"));
    for (size_t i = 0; mortise_jv_next(&it, NULL, &one); i++)
        if (i == turn)
            p->turn = one;
}

/* ---- what it says --------------------------------------------------------------- */

static void write_text(mortise_jw *w, const char *text)
{
    mortise_jw_object(w);
    mortise_jw_key(w, "type");
    mortise_jw_cstr(w, "text");
    mortise_jw_key(w, "text");
    mortise_jw_cstr(w, text);
    mortise_jw_end(w);
}

static void write_argument(mortise_jw *w, const struct play *p, mortise_jv name,
                           mortise_jv v)
{
    char text[16] = "";
    int n = 0;

    if (mortise_jv_is(name, mortise_strz("instructions")) &&
        mortise_jv_type(v) == MORTISE_JV_ARRAY) {
        mortise_jw_string_begin(w);
        mortise_jw_string_put(w, mortise_strz(mark));
        mortise_jw_string_put(w, mortise_strn(v.p, v.n));
        mortise_jw_string_put(w, mortise_strz("}"));
        mortise_jw_string_end(w);
        return;
    }
    if (mortise_jv_cstr(v, text, sizeof text) == MORTISE_S_OK &&
        sscanf(text, "$%d", &n) == 1 && n > 0 && (size_t)n <= p->n_tasks)
        mortise_jw_cstr(w, p->tasks[n - 1]);
    else
        mortise_jw_value(w, v);
}

static void write_call(mortise_jw *w, const struct play *p, mortise_jv call,
                       int n)
{
    mortise_jv_iter it = mortise_jv_each(call);
    mortise_jv name = mortise_jv_none(), arguments = mortise_jv_none(), key, v;
    char id[32], room[64];

    mortise_jv_next(&it, NULL, &name);
    mortise_jv_next(&it, NULL, &arguments);
    snprintf(id, sizeof id, "call_%d", n);
    mortise_jw_object(w);
    mortise_jw_key(w, "type");
    mortise_jw_cstr(w, "tool_call");
    mortise_jw_key(w, "id");
    mortise_jw_cstr(w, id);
    mortise_jw_key(w, "name");
    mortise_jw_value(w, name);
    mortise_jw_key(w, "arguments");
    mortise_jw_object(w);
    it = mortise_jv_each(arguments);
    while (mortise_jv_next(&it, &key, &v)) {
        mortise_jv_cstr(key, room, sizeof room);
        mortise_jw_key(w, room);
        write_argument(w, p, key, v);
    }
    mortise_jw_end(w);
    mortise_jw_end(w);
}

/* The parts of the reply; does it call tools? */
static int write_parts(mortise_jw *w, const struct play *p,
                       const mortise_request *r)
{
    mortise_jv_iter it = mortise_jv_each(p->turn);
    mortise_jv call;
    char text[4096];
    int n = 0;

    if (mortise_jv_type(p->turn) == MORTISE_JV_ARRAY) {
        while (mortise_jv_next(&it, NULL, &call))
            write_call(w, p, call, ++n);
        return 1;
    }
    if (mortise_jv_is(p->turn, mortise_strz("$last"))) {
        write_text(w, p->last);
    } else if (mortise_jv_is(p->turn, mortise_strz("$show"))) {
        mortise_jw_object(w);
        mortise_jw_key(w, "type");
        mortise_jw_cstr(w, "text");
        mortise_jw_key(w, "text");
        mortise_jw_string(w, r->body);
        mortise_jw_end(w);
    } else {
        if (mortise_jv_cstr(p->turn, text, sizeof text) != MORTISE_S_OK)
            strcpy(text, "the script is over");
        write_text(w, text);
    }
    return 0;
}

static mortise_status reply(mortise_inst *i, const mortise_request *r,
                            const struct play *p)
{
    char *room = malloc(2 * ROOM);
    mortise_status status;
    mortise_str json;
    mortise_jw w;
    int calls;

    mortise_jw_fixed(&w, room, 2 * ROOM);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "message");
    mortise_jw_object(&w);
    mortise_jw_key(&w, "role");
    mortise_jw_cstr(&w, "assistant");
    mortise_jw_key(&w, "parts");
    mortise_jw_array(&w);
    calls = write_parts(&w, p, r);
    mortise_jw_end(&w);
    mortise_jw_end(&w);
    mortise_jw_key(&w, "stop");
    mortise_jw_cstr(&w, calls ? "tools" : "end");
    mortise_jw_end(&w);
    status = mortise_jw_finish(&w, &json);
    if (status == MORTISE_S_OK)
        status = mortise_emit_output(i->host, i->api, r->call, json);
    free(room);
    return status;
}

/* ---- the model ------------------------------------------------------------------- */

/* Does it fail, as it is not that attempt yet? */
static int falters(struct play *p)
{
    int64_t attempts = 0;

    if (mortise_jv_int(mortise_jv_get(p->turn, "attempts"), &attempts) !=
        MORTISE_S_OK)
        return 0;
    p->turn = mortise_jv_get(p->turn, "then");
    return p->attempt < attempts;
}

static mortise_status chat(mortise_inst *i, const mortise_request *r)
{
    struct play p = {.last = malloc(ROOM), .attempt = r->attempt};
    char *script = malloc(ROOM);
    mortise_status status;
    mortise_jv body;

    status = mortise_jv_parse(r->body, &body);
    if (status == MORTISE_S_OK)
        read_messages(&p, mortise_jv_get(body, "messages"), script);
    if (status == MORTISE_S_OK && falters(&p))
        status = mortise_refuse(i->host, i->api, r->call, MORTISE_S_FAILED,
                                "transient", "model.overloaded", "not now");
    else if (status == MORTISE_S_OK)
        status = reply(i, r, &p);
    free(p.last);
    free(script);
    return status;
}

/* ---- the operation ---------------------------------------------------------------- */

static mortise_status note(mortise_inst *i, const mortise_request *r)
{
    FILE *f = fopen("noted", "a");

    if (f == NULL)
        return MORTISE_S_IO;
    fprintf(f, "%.*s\n", (int)r->idempotency_key.n, r->idempotency_key.p);
    if (fclose(f) != 0)
        return MORTISE_S_IO;
    return simple_emit(i, r, "{\"noted\": true}");
}

static const void *get_interface(mortise_inst *i, const char *id)
{
    static const mortise_model model = {.size = sizeof model, .chat = chat};
    static const mortise_executor executor = {.size = sizeof executor,
                                              .execute = note};

    (void)i;
    if (strcmp(id, MORTISE_EXECUTOR_1) == 0)
        return &executor;
    return strcmp(id, MORTISE_MODEL_1) == 0 ? &model : NULL;
}

static const mortise_plugin plugin = {.size = sizeof plugin,
                                      .id = "plays",
                                      .version = "1.0.0",
                                      .create = simple_create,
                                      .get_interface = get_interface,
                                      .destroy = simple_destroy};

MORTISE_MODULE_OF(plugin);
