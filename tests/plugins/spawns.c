/* spawns.c -- asks for spawn handles:
 *
 *   claim, register, advance, settle {...}   the answer to spawn.NAME/1 of that
 *                                            body; or {status, words}
 *   begin {call, ms?}   claims, registers "child of CALL", and sleeps before it
 *                       says so: {outcome, handle, token?, state}
 *   falter {call}       claims, and fails, for now, unless it had before
 *
 *   agent {node}        for gmi and leaf nodes, in the place of a model: what the
 *                       prompt or goal says, the rest of which is W
 *
 *       say W        gives W
 *       fail W       fails, with these words
 *       ask W        asks a person, and gives the answer
 *       until W      gives W once there is a file of that name
 *       meet F G W   makes the file F, and does W once there is a file G
 *       spawn W      has a child do W, and gives what came of it
 *       leave W      ... and gives how that began, without waiting
 *       work F W     ... and waits, in its call, until there is a file F
 *       detach W     ... of a child that outlives it
 *       again W      does W twice, as two children, and gives both
 *       retry W      like spawn; but it fails, for now, when it made the child
 *       meddle W     like spawn, but registers the child itself
 *       stale W      ... but claims again, and starts with the first token
 *       other W      ... but starts another task
 *       claim W      claims a child for W, detached, and never begins it
 *       nobody W     waits for a child that there never was
 *       act N W      has the tool posts/tell tell N, an effect, and does W
 *       use T A      has the tool T work, with the arguments A, and gives its answer
 *       crowd (W)... has children, all at once, and gives a list of what came of
 *                    them; a child is linked, and waited for; `-(W)` is linked
 *                    and `~(W)` detached, and neither is waited for
 *
 * Each time that it is entered it adds a line to the file `entered`, if there
 * is one, which the host knows nothing of. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "simple.h"

#ifndef SPAWNS
#define SPAWNS "spawns"
#endif

static mortise_status said(mortise_inst *i, const mortise_request *r,
                           mortise_status status, mortise_str answer)
{
    char text[1024];
    mortise_jw w;
    mortise_str json;

    if (status == MORTISE_S_CANCELLED || status == MORTISE_S_SUSPENDED)
        return status;
    if (status == MORTISE_S_OK)
        return mortise_emit_output(i->host, i->api, r->call, answer);
    mortise_jw_fixed(&w, text, sizeof text);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "status");
    mortise_jw_int(&w, status);
    mortise_jw_key(&w, "words");
    mortise_jw_string(&w, answer);
    mortise_jw_end(&w);
    mortise_jw_finish(&w, &json);
    return mortise_emit_output(i->host, i->api, r->call, json);
}

/* A member of JSON, as text. */
static void text_of(mortise_str json, const char *member, char *out, size_t n)
{
    mortise_jv v;

    out[0] = '\0';
    if (mortise_jv_parse(json, &v) == MORTISE_S_OK)
        mortise_jv_cstr(mortise_jv_get(v, member), out, n);
}

static mortise_str claim_body(char *room, size_t n, const char *call)
{
    mortise_jw w;
    mortise_str body = {0};

    mortise_jw_fixed(&w, room, n);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "call");
    mortise_jw_cstr(&w, call);
    mortise_jw_key(&w, "name");
    mortise_jw_cstr(&w, "helper");
    mortise_jw_end(&w);
    mortise_jw_finish(&w, &body);
    return body;
}

static mortise_str register_body(char *room, size_t n, const char *call,
                                 mortise_str claimed)
{
    char handle[256], token[256], child[160];
    mortise_jw w;
    mortise_str body = {0};

    text_of(claimed, "handle", handle, sizeof handle);
    text_of(claimed, "token", token, sizeof token);
    snprintf(child, sizeof child, "child of %s", call);
    mortise_jw_fixed(&w, room, n);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "handle");
    mortise_jw_cstr(&w, handle);
    mortise_jw_key(&w, "token");
    mortise_jw_cstr(&w, token);
    mortise_jw_key(&w, "child");
    mortise_jw_cstr(&w, child);
    mortise_jw_end(&w);
    mortise_jw_finish(&w, &body);
    return body;
}

static mortise_status begin(mortise_inst *i, const mortise_request *r)
{
    char call[128], room[1024], claimed[1024];
    mortise_str answer = {0}, first = {0};
    mortise_status status;

    text_of(r->body, "call", call, sizeof call);
    status = mortise_spawn_claim_wait(
        i->host, i->api, r->call, claim_body(room, sizeof room, call), &answer);
    if (status != MORTISE_S_OK || answer.n >= sizeof claimed)
        return said(i, r, status, answer);
    memcpy(claimed, answer.p, answer.n);
    first = mortise_strn(claimed, answer.n);
    status = mortise_spawn_register_wait(
        i->host, i->api, r->call, register_body(room, sizeof room, call, first),
        &answer);
    if (status != MORTISE_S_OK)
        return said(i, r, status, answer);
    simple_nap(r);
    return said(i, r, MORTISE_S_OK, first);
}

static mortise_status falter(mortise_inst *i, const mortise_request *r)
{
    char call[128], room[1024], outcome[64];
    mortise_str answer = {0};
    mortise_status status;

    text_of(r->body, "call", call, sizeof call);
    status = mortise_spawn_claim_wait(
        i->host, i->api, r->call, claim_body(room, sizeof room, call), &answer);
    text_of(answer, "outcome", outcome, sizeof outcome);
    if (status != MORTISE_S_OK || strcmp(outcome, "claimed") != 0)
        return said(i, r, status, answer);
    i->api->fail(i->host, r->call, mortise_strz("not now"),
                 mortise_strz("{\"class\":\"transient\"}"));
    return MORTISE_S_FAILED;
}

/* ---- in the place of a model ------------------------------------------------ */

/* {call, name, task: {instructions}, native, detached?}, or behind a claim
 * {handle, token, task}. */
static mortise_str native_body(char *room, size_t n, const char *call,
                               const char *what, mortise_str claimed,
                               int detached)
{
    char handle[256], token[256];
    mortise_jw w;
    mortise_str body = {0};

    mortise_jw_fixed(&w, room, n);
    mortise_jw_object(&w);
    if (claimed.n > 0) {
        text_of(claimed, "handle", handle, sizeof handle);
        text_of(claimed, "token", token, sizeof token);
        mortise_jw_key(&w, "handle");
        mortise_jw_cstr(&w, handle);
        mortise_jw_key(&w, "token");
        mortise_jw_cstr(&w, token);
    } else {
        mortise_jw_key(&w, "call");
        mortise_jw_cstr(&w, call);
        mortise_jw_key(&w, "name");
        mortise_jw_cstr(&w, "helper");
        mortise_jw_key(&w, "native");
        mortise_jw_bool(&w, 1);
        mortise_jw_key(&w, "detached");
        mortise_jw_bool(&w, detached);
    }
    mortise_jw_key(&w, "task");
    mortise_jw_object(&w);
    mortise_jw_key(&w, "instructions");
    mortise_jw_cstr(&w, what);
    mortise_jw_end(&w);
    mortise_jw_end(&w);
    mortise_jw_finish(&w, &body);
    return body;
}

static mortise_str handle_body(char *room, size_t n, mortise_str claimed)
{
    char handle[256];
    mortise_jw w;
    mortise_str body = {0};

    text_of(claimed, "handle", handle, sizeof handle);
    mortise_jw_fixed(&w, room, n);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "handle");
    mortise_jw_cstr(&w, handle);
    mortise_jw_end(&w);
    mortise_jw_finish(&w, &body);
    return body;
}

/* The child of that call works; `claimed` gets the answer to its claim, in
 * `kept`.  *answer: how it began. */
static mortise_status have_child(mortise_inst *i, const mortise_request *r,
                                 const char *call, const char *what,
                                 int detached, char *kept, size_t n,
                                 mortise_str *claimed, mortise_str *answer)
{
    char room[4096];
    mortise_str none = {0};
    mortise_status status = mortise_spawn_claim_wait(
        i->host, i->api, r->call,
        native_body(room, sizeof room, call, what, none, detached), answer);

    if (status != MORTISE_S_OK || answer->n >= n)
        return status;
    memcpy(kept, answer->p, answer->n);
    *claimed = mortise_strn(kept, answer->n);
    if (memmem(kept, answer->n, "already_settled", 15) != NULL)
        return MORTISE_S_OK;
    return mortise_spawn_start_wait(
        i->host, i->api, r->call,
        native_body(room, sizeof room, call, what, *claimed, detached), answer);
}

static mortise_status await_child(mortise_inst *i, const mortise_request *r,
                                  mortise_str claimed, mortise_str *answer)
{
    char room[512];

    return mortise_spawn_await_wait(i->host, i->api, r->call,
                                    handle_body(room, sizeof room, claimed),
                                    answer);
}

static mortise_status spawn(mortise_inst *i, const mortise_request *r,
                            const char *what, int detached, int waits)
{
    char kept[2048];
    mortise_str claimed = {0}, answer = {0};
    mortise_status status = have_child(i, r, "c1", what, detached, kept,
                                       sizeof kept, &claimed, &answer);

    if (status == MORTISE_S_OK && waits)
        status = await_child(i, r, claimed, &answer);
    return said(i, r, status, answer);
}

/* The child is there, and its maker fails as if it did not know. */
static mortise_status retry(mortise_inst *i, const mortise_request *r,
                            const char *what)
{
    char kept[2048], outcome[64];
    mortise_str claimed = {0}, answer = {0};
    mortise_status status =
        have_child(i, r, "c1", what, 0, kept, sizeof kept, &claimed, &answer);

    if (status != MORTISE_S_OK)
        return said(i, r, status, answer);
    text_of(claimed, "outcome", outcome, sizeof outcome);
    if (strcmp(outcome, "claimed") == 0)
        return mortise_refuse(i->host, i->api, r->call, MORTISE_S_FAILED,
                              "transient", NULL, "not now");
    return said(i, r, await_child(i, r, claimed, &answer), answer);
}

/* What is no way to treat a native child. */
static mortise_status misuse(mortise_inst *i, const mortise_request *r,
                             const char *word, const char *what)
{
    char room[4096], kept[2048], task[2048];
    mortise_str none = {0}, first = {0}, answer = {0};
    mortise_status status = mortise_spawn_claim_wait(
        i->host, i->api, r->call,
        native_body(room, sizeof room, "c1", what, none, 0), &answer);

    if (status != MORTISE_S_OK || answer.n >= sizeof kept)
        return said(i, r, status, answer);
    memcpy(kept, answer.p, answer.n);
    first = mortise_strn(kept, answer.n);
    if (strcmp(word, "meddle") == 0)
        status = mortise_spawn_register_wait(
            i->host, i->api, r->call,
            register_body(room, sizeof room, what, first), &answer);
    if (strcmp(word, "meddle") == 0)
        return said(i, r, status, answer);
    if (strcmp(word, "stale") == 0)
        mortise_spawn_claim_wait(
            i->host, i->api, r->call,
            native_body(room, sizeof room, "c1", what, none, 0), &answer);
    snprintf(task, sizeof task, "%s%s", what,
             strcmp(word, "other") == 0 ? ", or not" : "");
    status = mortise_spawn_start_wait(
        i->host, i->api, r->call,
        native_body(room, sizeof room, "c1", task, first, 0), &answer);
    return said(i, r, status, answer);
}

static mortise_status claim_only(mortise_inst *i, const mortise_request *r,
                                 const char *what)
{
    char room[4096];
    mortise_str none = {0}, answer = {0};
    mortise_status status = mortise_spawn_claim_wait(
        i->host, i->api, r->call,
        native_body(room, sizeof room, "c1", what, none, 1), &answer);

    return said(i, r, status, answer);
}

static mortise_status nobody(mortise_inst *i, const mortise_request *r)
{
    mortise_str answer = {0};
    mortise_status status = mortise_spawn_await_wait(
        i->host, i->api, r->call,
        mortise_strz("{\"handle\":\"p/00000000000000000000000000000000\"}"),
        &answer);

    return said(i, r, status, answer);
}

/* Two children at once, then the end of each. */
static mortise_status again(mortise_inst *i, const mortise_request *r,
                            const char *what)
{
    char kept[2][2048], text[4096];
    mortise_str claimed[2] = {{0}, {0}}, answer = {0};
    mortise_status status = MORTISE_S_OK;
    int n = 0;

    for (int k = 0; status == MORTISE_S_OK && k < 2; k++)
        status = have_child(i, r, k == 0 ? "c1" : "c2", what, 0, kept[k],
                            sizeof kept[k], &claimed[k], &answer);
    for (int k = 0; status == MORTISE_S_OK && k < 2; k++) {
        status = await_child(i, r, claimed[k], &answer);
        if (status == MORTISE_S_OK)
            n += snprintf(text + n, sizeof text - (size_t)n, "%s%.*s",
                          k == 0 ? "[" : ",", (int)answer.n, answer.p);
    }
    if (status != MORTISE_S_OK)
        return said(i, r, status, answer);
    snprintf(text + n, sizeof text - (size_t)n, "]");
    return simple_emit(i, r, text);
}

/* One of a crowd. */
struct one {
    char mark; /* '-', '~', or '(' */
    char what[1024], kept[8192];
    mortise_str claimed;
};

enum { CROWD = 16, ROOM = 1 << 16 };

struct crowd {
    struct one ones[CROWD];
    char text[ROOM];
    size_t n;
};

/* The next of them, behind the parentheses that belong together; NULL: that was
 * the last. */
static const char *next_one(const char *at, struct one *one)
{
    const char *begins = strchr(at, '(');
    int depth = 0;
    size_t n;

    if (begins == NULL)
        return NULL;
    one->mark = begins > at ? begins[-1] : '(';
    for (at = begins; *at != '\0'; at++) {
        depth += (*at == '(') - (*at == ')');
        if (depth == 0)
            break;
    }
    n = (size_t)(at - begins) - 1;
    if (*at == '\0' || n >= sizeof one->what)
        return NULL;
    memcpy(one->what, begins + 1, n);
    one->what[n] = '\0';
    return at + 1;
}

/* What came of one, or how it was refused. */
static void add_end(struct crowd *c, mortise_status status, mortise_str answer)
{
    mortise_jw w;
    mortise_str json;
    size_t left = ROOM - c->n;

    c->n += (size_t)snprintf(c->text + c->n, left, c->n == 0 ? "[" : ",");
    left = ROOM - c->n;
    if (status == MORTISE_S_OK) {
        c->n += (size_t)snprintf(c->text + c->n, left, "%.*s", (int)answer.n,
                                 answer.p);
        return;
    }
    mortise_jw_fixed(&w, c->text + c->n, left);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "refused");
    mortise_jw_string(&w, answer);
    mortise_jw_end(&w);
    mortise_jw_finish(&w, &json);
    c->n += json.n;
}

static bool is_over(mortise_status status)
{
    return status == MORTISE_S_CANCELLED || status == MORTISE_S_SUSPENDED;
}

static mortise_status crowd_of(mortise_inst *i, const mortise_request *r,
                               struct crowd *c, const char *what)
{
    mortise_status status = MORTISE_S_OK;
    mortise_str answer = {0};
    int n = 0;

    while (n < CROWD && (what = next_one(what, &c->ones[n])) != NULL) {
        struct one *one = &c->ones[n];
        char call[16];

        snprintf(call, sizeof call, "c%d", n++);
        status = have_child(i, r, call, one->what, one->mark == '~', one->kept,
                            sizeof one->kept, &one->claimed, &answer);
        if (is_over(status))
            return status;
        if (status != MORTISE_S_OK)
            add_end(c, status, answer);
    }
    for (int k = 0; k < n; k++) {
        struct one *one = &c->ones[k];

        if (one->claimed.n == 0 || one->mark == '-' || one->mark == '~')
            continue;
        status = await_child(i, r, one->claimed, &answer);
        if (is_over(status))
            return status;
        add_end(c, status, answer);
    }
    snprintf(c->text + c->n, ROOM - c->n, c->n == 0 ? "[]" : "]");
    return simple_emit(i, r, c->text);
}

static mortise_status crowd(mortise_inst *i, const mortise_request *r,
                            const char *what)
{
    struct crowd *c = calloc(1, sizeof *c);
    mortise_status status =
        c != NULL ? crowd_of(i, r, c, what) : MORTISE_S_NOMEM;

    free(c);
    return status;
}

static mortise_status agent_does(mortise_inst *i, const mortise_request *r,
                                 const char *what);

/* The first of two words, and the rest; NULL: there is none. */
static const char *first_word(const char *what, char *word, size_t n)
{
    const char *rest = strchr(what, ' ');

    if (rest == NULL || (size_t)(rest - what) >= n)
        return NULL;
    memcpy(word, what, (size_t)(rest - what));
    word[rest - what] = '\0';
    return rest + 1;
}

static mortise_status invoke(mortise_inst *i, const mortise_request *r,
                             const char *tool, const char *arguments,
                             mortise_str *answer)
{
    char body[1024];

    snprintf(body, sizeof body, "{\"tool\": \"%s\", \"arguments\": %s}", tool,
             arguments);
    return mortise_tool_invoke_wait(i->host, i->api, r->call,
                                    mortise_strz(body), answer);
}

static mortise_status act(mortise_inst *i, const mortise_request *r,
                          const char *what)
{
    char name[128], arguments[160];
    const char *rest = first_word(what, name, sizeof name);
    mortise_str answer = {0};
    mortise_status status;

    if (rest == NULL)
        return MORTISE_S_INVALID;
    snprintf(arguments, sizeof arguments, "{\"name\": \"%s\"}", name);
    status = invoke(i, r, "posts/tell", arguments, &answer);
    return status == MORTISE_S_OK &&
                   memmem(answer.p, answer.n, "\"error\"", 7) == NULL
               ? agent_does(i, r, rest)
               : said(i, r, status, answer);
}

static mortise_status use(mortise_inst *i, const mortise_request *r,
                          const char *what)
{
    char tool[128];
    const char *arguments = first_word(what, tool, sizeof tool);
    mortise_str answer = {0};

    return arguments == NULL
               ? MORTISE_S_INVALID
               : said(i, r, invoke(i, r, tool, arguments, &answer), answer);
}

static mortise_status say(mortise_inst *i, const mortise_request *r,
                          const char *what)
{
    char room[1024];
    mortise_jw w;
    mortise_str json = {0};

    mortise_jw_fixed(&w, room, sizeof room);
    mortise_jw_cstr(&w, what);
    mortise_jw_finish(&w, &json);
    return mortise_emit_output(i->host, i->api, r->call, json);
}

/* Waits for the file; false: the call was cancelled before. */
static bool await_file(mortise_inst *i, const mortise_request *r,
                       const char *file)
{
    while (access(file, F_OK) != 0) {
        if (i->api->cancelled(i->host, r->call))
            return false;
        simple_sleep_ms(2);
    }
    return true;
}

static mortise_status until(mortise_inst *i, const mortise_request *r,
                            const char *file)
{
    return await_file(i, r, file) ? say(i, r, file) : MORTISE_S_CANCELLED;
}

static mortise_status meet(mortise_inst *i, const mortise_request *r,
                           const char *what)
{
    char mine[128], theirs[128];
    const char *rest = first_word(what, mine, sizeof mine);
    FILE *f;

    if (rest == NULL ||
        (rest = first_word(rest, theirs, sizeof theirs)) == NULL)
        return MORTISE_S_INVALID;
    f = fopen(mine, "w");
    if (f == NULL)
        return MORTISE_S_IO;
    fclose(f);
    return await_file(i, r, theirs) ? agent_does(i, r, rest)
                                    : MORTISE_S_CANCELLED;
}

static mortise_status work(mortise_inst *i, const mortise_request *r,
                           const char *what)
{
    char file[128], kept[2048];
    const char *rest = first_word(what, file, sizeof file);
    mortise_str claimed = {0}, answer = {0};
    mortise_status status = MORTISE_S_INVALID;

    if (rest != NULL)
        status = have_child(i, r, "c1", rest, 0, kept, sizeof kept, &claimed,
                            &answer);
    return status == MORTISE_S_OK ? until(i, r, file)
                                  : said(i, r, status, answer);
}

static mortise_status ask_person(mortise_inst *i, const mortise_request *r,
                                 const char *prompt)
{
    char room[1024];
    const mortise_question q = {.prompt = mortise_strz(prompt)};
    mortise_str answer = {0};
    mortise_status status = mortise_interrupt_request_wait(
        i->host, i->api, r->call, &q, room, sizeof room, &answer);

    return said(i, r, status, answer);
}

static mortise_status agent_does(mortise_inst *i, const mortise_request *r,
                                 const char *what)
{
    char word[16];
    const char *rest = first_word(what, word, sizeof word);

    if (rest == NULL)
        return MORTISE_S_INVALID;
    if (strcmp(word, "say") == 0)
        return say(i, r, rest);
    if (strcmp(word, "fail") == 0)
        return mortise_refuse(i->host, i->api, r->call, MORTISE_S_FAILED, NULL,
                              NULL, rest);
    if (strcmp(word, "ask") == 0)
        return ask_person(i, r, rest);
    if (strcmp(word, "until") == 0)
        return until(i, r, rest);
    if (strcmp(word, "meet") == 0)
        return meet(i, r, rest);
    if (strcmp(word, "again") == 0)
        return again(i, r, rest);
    if (strcmp(word, "retry") == 0)
        return retry(i, r, rest);
    if (strcmp(word, "work") == 0)
        return work(i, r, rest);
    if (strcmp(word, "claim") == 0)
        return claim_only(i, r, rest);
    if (strcmp(word, "nobody") == 0)
        return nobody(i, r);
    if (strcmp(word, "act") == 0)
        return act(i, r, rest);
    if (strcmp(word, "crowd") == 0)
        return crowd(i, r, rest);
    if (strcmp(word, "use") == 0)
        return use(i, r, rest);
    if (strcmp(word, "meddle") == 0 || strcmp(word, "stale") == 0 ||
        strcmp(word, "other") == 0)
        return misuse(i, r, word, rest);
    return spawn(i, r, rest, strcmp(word, "detach") == 0,
                 strcmp(word, "spawn") == 0);
}

static mortise_status agent(mortise_inst *i, const mortise_request *r)
{
    char prompt[4096] = "";
    mortise_jv v;

    if (mortise_jv_parse(r->body, &v) == MORTISE_S_OK) {
        v = mortise_jv_get(v, "node");
        if (mortise_jv_cstr(mortise_jv_get(v, "prompt"), prompt,
                            sizeof prompt) != MORTISE_S_OK)
            mortise_jv_cstr(mortise_jv_get(v, "goal"), prompt, sizeof prompt);
    }
    return agent_does(i, r, prompt);
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    mortise_str answer = {0};
    FILE *f = fopen("entered", "r+");
    mortise_status status;

    if (f != NULL) {
        fseek(f, 0, SEEK_END);
        fprintf(f, "spawns\n");
        fclose(f);
    }
    if (mortise_str_is(r->operation, "begin"))
        return begin(i, r);
    if (mortise_str_is(r->operation, "agent"))
        return agent(i, r);
    if (mortise_str_is(r->operation, "falter"))
        return falter(i, r);
    if (mortise_str_is(r->operation, "claim"))
        status = mortise_spawn_claim_wait(i->host, i->api, r->call, r->body,
                                          &answer);
    else if (mortise_str_is(r->operation, "register"))
        status = mortise_spawn_register_wait(i->host, i->api, r->call, r->body,
                                             &answer);
    else if (mortise_str_is(r->operation, "advance"))
        status = mortise_spawn_advance_wait(i->host, i->api, r->call, r->body,
                                            &answer);
    else
        status = mortise_spawn_settle_wait(i->host, i->api, r->call, r->body,
                                           &answer);
    return said(i, r, status, answer);
}

SIMPLE_EXECUTOR(SPAWNS)
