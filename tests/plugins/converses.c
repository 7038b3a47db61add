/* converses.c -- speaks with programs, which it keeps in the background.
 *
 *     say {with, text}    starts the program of that name ("mcp:NAME": a server)
 *                         unless it is there, writes the line, and gives the next
 *                         one that the program says: {line}
 *     say {with, end: true}   has it end, and gives how it did: {ended, words}
 *     say {leave: true}   ends what is in the background
 *     say {wait: ms}      gives the status of having waited there
 *     say {keep, value}, say {kept}    the status of keeping a secret of that name,
 *                         which is twice the value, and of looking for it, with what was said to that
 *     say {look: true}    gives the status of what may not be asked there
 */
#include <mortise/ask.h>
#include <stdio.h>
#include <stdlib.h>

enum { PROGRAMS = 8, NAME = 64 };

struct mortise_inst;

struct program {
    struct mortise_inst *inst;
    char name[NAME];
    int64_t number;
    int under_way;
    mortise_call waits; /* for a line, or its end; 0: nobody */
    int wants_end;
    char first[256]; /* to write once it is there */
};

struct mortise_inst {
    mortise_host *host;
    const mortise_host_api *api;
    mortise_call background;
    struct program programs[PROGRAMS];
};

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    mortise_inst *inst = calloc(1, sizeof *inst);

    (void)config;
    if (inst == NULL)
        return MORTISE_S_NOMEM;
    inst->host = host;
    inst->api = api;
    for (int i = 0; i < PROGRAMS; i++)
        inst->programs[i].inst = inst;
    *out = inst;
    return MORTISE_S_OK;
}

/* The call that waits gets {NAME: text}, or {NAME: number, words}. */
static void give(struct program *p, const char *name, mortise_str text,
                 int64_t number)
{
    mortise_inst *inst = p->inst;
    mortise_call call = p->waits;
    mortise_emitter out;
    char room[1024];

    if (call == 0)
        return;
    p->waits = 0;
    mortise_emitter_init(&out, inst->host, inst->api, call, room, sizeof room);
    mortise_jw_object(&out.w);
    mortise_jw_key(&out.w, name);
    if (strcmp(name, "line") == 0) {
        mortise_jw_string(&out.w, text);
    } else {
        mortise_jw_int(&out.w, number);
        mortise_jw_key(&out.w, "words");
        mortise_jw_string(&out.w, text);
    }
    mortise_jw_end(&out.w);
    inst->api->finish(inst->host, call, mortise_emitter_finish(&out),
                      mortise_str_empty(), mortise_str_empty());
}

static void wrote(void *ud, mortise_status status, mortise_str answer)
{
    struct program *p = ud;

    /* of one that is gone its end is told */
    if (status != MORTISE_S_OK && status != MORTISE_S_CANCELLED &&
        status != MORTISE_S_IO)
        give(p, "ended", answer, status);
}

static mortise_status write_line(struct program *p, mortise_str text)
{
    char room[2048];

    return mortise_process_write(p->inst->host, p->inst->api,
                                 p->inst->background, p->number, text, room,
                                 sizeof room, wrote, p);
}

static void heard(void *ud, mortise_status status, mortise_str said)
{
    struct program *p = ud;
    mortise_jv v;

    if (status != MORTISE_S_PENDING) {
        p->under_way = 0;
        p->number = 0;
        give(p, "ended", said, status);
    } else if (p->number == 0) {
        mortise_jv_parse(said, &v);
        mortise_jv_int(mortise_jv_get(v, "process"), &p->number);
        write_line(p, mortise_strz(p->first));
    } else if (!p->wants_end) {
        give(p, "line", said, 0);
    }
}

static mortise_status spawn(struct program *p)
{
    int is_server = strncmp(p->name, "mcp:", 4) == 0;
    mortise_status status = mortise_process_spawn(
        p->inst->host, p->inst->api, p->inst->background,
        is_server ? "server" : "program",
        mortise_strz(p->name + (is_server ? 4 : 0)), 1 << 16, heard, p);

    p->under_way = status == MORTISE_S_PENDING;
    return status;
}

static struct program *program_of(mortise_inst *inst, const char *name)
{
    for (int i = 0; i < PROGRAMS; i++)
        if (inst->programs[i].name[0] == '\0' ||
            strcmp(inst->programs[i].name, name) == 0) {
            snprintf(inst->programs[i].name, NAME, "%s", name);
            return &inst->programs[i];
        }
    return NULL;
}

static void looked(void *ud, mortise_status status, mortise_str answer)
{
    give(ud, "ended", answer, status);
}

/* PENDING, or it is no such request. */
static mortise_status keep(struct program *p, mortise_jv args)
{
    char name[NAME] = "", half[100] = "", value[256], room[2048];

    mortise_jv_cstr(mortise_jv_get(args, "keep"), name, sizeof name);
    mortise_jv_cstr(mortise_jv_get(args, "value"), half, sizeof half);
    snprintf(value, sizeof value, "%s%s", half, half);
    if (name[0] != '\0')
        return mortise_secret_keep(p->inst->host, p->inst->api,
                                   p->inst->background, mortise_strz(name),
                                   value[0] != '\0' ? mortise_strz(value)
                                                    : mortise_str_empty(),
                                   room, sizeof room, looked, p);
    mortise_jv_cstr(mortise_jv_get(args, "kept"), name, sizeof name);
    return mortise_secret_kept(p->inst->host, p->inst->api, p->inst->background,
                               mortise_strz(name), looked, p);
}

static mortise_status say(mortise_inst *inst, const mortise_request *r,
                          mortise_jv args)
{
    char name[NAME] = "", text[256] = "";
    int32_t end = 0, leave = 0, look = 0;
    int64_t wait = -1;
    struct program *p;
    mortise_status status;

    mortise_jv_cstr(mortise_jv_get(args, "with"), name, sizeof name);
    mortise_jv_cstr(mortise_jv_get(args, "text"), text, sizeof text);
    mortise_jv_bool(mortise_jv_get(args, "end"), &end);
    mortise_jv_bool(mortise_jv_get(args, "leave"), &leave);
    mortise_jv_bool(mortise_jv_get(args, "look"), &look);
    mortise_jv_int(mortise_jv_get(args, "wait"), &wait);
    if (leave) {
        inst->api->finish(inst->host, inst->background, MORTISE_S_FAILED,
                          mortise_strz("it was told to"), mortise_str_empty());
        inst->background = 0;
        return mortise_emit_output(inst->host, inst->api, r->call,
                                   mortise_strz("{}"));
    }
    p = program_of(inst, name);
    if (p == NULL)
        return MORTISE_S_FAILED;
    p->waits = r->call;
    p->wants_end = end;
    if (mortise_jv_type(mortise_jv_get(args, "keep")) != MORTISE_JV_NONE ||
        mortise_jv_type(mortise_jv_get(args, "kept")) != MORTISE_JV_NONE)
        status = keep(p, args);
    else if (wait >= 0)
        status = mortise_timer_wait(inst->host, inst->api, inst->background, 0,
                                    (uint64_t)wait, looked, p);
    else if (look)
        status = mortise_state_get(inst->host, inst->api, inst->background,
                                   mortise_strz("input"), looked, p);
    else if (end)
        status = mortise_process_end(inst->host, inst->api, inst->background,
                                     p->number, wrote, p);
    else if (p->under_way)
        status = write_line(p, mortise_strz(text));
    else {
        snprintf(p->first, sizeof p->first, "%s", text);
        status = spawn(p);
    }
    if (status != MORTISE_S_PENDING)
        p->waits = 0;
    return status;
}

static mortise_status execute(mortise_inst *inst, const mortise_request *r)
{
    mortise_jv args;

    return mortise_jv_parse(r->body, &args) == MORTISE_S_OK ? say(inst, r, args)
                                                            : MORTISE_S_INVALID;
}

static mortise_status background(mortise_inst *inst, const mortise_request *r)
{
    inst->background = r->call;
    return MORTISE_S_PENDING;
}

static void cancel(mortise_inst *inst, mortise_call call)
{
    for (int i = 0; i < PROGRAMS; i++)
        if (inst->programs[i].waits == call)
            inst->programs[i].waits = 0;
    inst->api->finish(inst->host, call, MORTISE_S_CANCELLED,
                      mortise_str_empty(), mortise_str_empty());
}

static const void *get_interface(mortise_inst *inst, const char *id)
{
    static const mortise_executor executor = {
        .size = sizeof executor, .execute = execute, .background = background};

    (void)inst;
    return strcmp(id, MORTISE_EXECUTOR_1) == 0 ? &executor : NULL;
}

static void destroy(mortise_inst *inst)
{
    free(inst);
}

static const mortise_plugin plugin = {.size = sizeof plugin,
                                      .id = "converses",
                                      .version = "1.0.0",
                                      .create = create,
                                      .get_interface = get_interface,
                                      .cancel = cancel,
                                      .destroy = destroy};

MORTISE_MODULE_OF(plugin);
