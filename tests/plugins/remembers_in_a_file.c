/* remembers_in_a_file.c -- a memory for tests of who calls one: its traces are
 * the lines of the file `traces` (or config.file) in the working directory, SEQ
 * and the trace as it came, which whoever tests may read by himself.
 *
 * Nothing is ranked: a query finds what has it as it stands, the newest first.
 * Where there is a file `hold_write`, a write waits ahead of what it does until
 * it is gone, and with `hold_answer` behind it; `mute` has each call fail, for a
 * while (transient), `lost` for good, and `dead` has it take the process down. */
#include <mortise/memory.h>
#include <stdio.h>
#include <unistd.h>

#include "simple.h"

enum { LINE = 1 << 17 };

static const char *file_of(const mortise_inst *i)
{
    return i->file[0] != '\0' ? i->file : "traces";
}

static void wait_while(const char *file)
{
    while (access(file, F_OK) == 0)
        simple_sleep_ms(5);
}

static mortise_status is_down(mortise_inst *i, const mortise_request *r)
{
    int for_good;

    if (access("dead", F_OK) == 0) {
        unlink("dead"); /* once */
        abort();
    }
    for_good = access("lost", F_OK) == 0;
    if (!for_good && access("mute", F_OK) != 0)
        return MORTISE_S_OK;
    return mortise_refuse(i->host, i->api, r->call, MORTISE_S_FAILED,
                          for_good ? "permanent" : "transient",
                          MORTISE_MEMORY_IO, "the file is away");
}

/* A member of both that is the same text, or missing in `of`. */
static int is_same(mortise_jv of, mortise_jv trace, const char *name)
{
    char wants[512] = "", has[512] = "";

    mortise_jv_cstr(mortise_jv_get(of, name), wants, sizeof wants);
    mortise_jv_cstr(mortise_jv_get(trace, name), has, sizeof has);
    return wants[0] == '\0' || strcmp(wants, has) == 0;
}

static int is_of_keys(mortise_jv body, mortise_jv trace)
{
    char scope[32] = "", wants[512] = "", has[512] = "";

    mortise_jv_cstr(mortise_jv_get(trace, "scope"), scope, sizeof scope);
    mortise_jv_cstr(mortise_jv_get(trace, "key"), has, sizeof has);
    mortise_jv_cstr(mortise_jv_get(mortise_jv_get(body, "keys"), scope), wants,
                    sizeof wants);
    return strcmp(scope, "global") == 0 || strcmp(wants, has) == 0;
}

static int is_found(mortise_jv body, mortise_jv trace, const char *line)
{
    char query[1024] = "";

    mortise_jv_cstr(mortise_jv_get(body, "query"), query, sizeof query);
    return is_same(body, trace, "scope") && is_of_keys(body, trace) &&
           strstr(line, query) != NULL;
}

/* The lines that fit, the newest first: so many of them. */
static void write_traces(mortise_jw *w, mortise_jv body, FILE *f, char *line,
                         int64_t max, int64_t *newest)
{
    int64_t as_of = INT64_MAX, seq;
    long at[1024];
    int n = 0;

    mortise_jv_int(mortise_jv_get(body, "as_of"), &as_of);
    while (n < 1024 && (at[n] = ftell(f)) >= 0 && fgets(line, LINE, f) != NULL)
        n++;
    for (; n > 0; n--) {
        char *json;
        mortise_jv trace;

        fseek(f, at[n - 1], SEEK_SET);
        if (fgets(line, LINE, f) == NULL ||
            (json = strchr(line, ' ')) == NULL || strchr(json, '\n') == NULL)
            continue;
        seq = strtoll(line, NULL, 10);
        *newest = seq > *newest ? seq : *newest;
        *strchr(json, '\n') = '\0';
        if (seq > as_of || max == 0 ||
            mortise_jv_parse(mortise_strz(json + 1), &trace) != MORTISE_S_OK ||
            !is_found(body, trace, json))
            continue;
        mortise_jw_value(w, trace);
        max--;
    }
}

static mortise_status emit(mortise_inst *i, const mortise_request *r,
                           mortise_jw *w)
{
    mortise_str json;
    mortise_status status = mortise_jw_finish(w, &json);

    if (status == MORTISE_S_OK)
        status = mortise_emit_output(i->host, i->api, r->call, json);
    free(w->p);
    return status;
}

static mortise_status read_all(mortise_inst *i, const mortise_request *r)
{
    mortise_status status = is_down(i, r);
    char *line = (char *)malloc(LINE);
    int64_t max = 0, newest = 0;
    mortise_jv body;
    mortise_jw w;
    FILE *f;

    if (status != MORTISE_S_OK || line == NULL) {
        free(line);
        return status != MORTISE_S_OK ? status : MORTISE_S_NOMEM;
    }
    mortise_jv_parse(r->body, &body);
    mortise_jv_int(mortise_jv_get(body, "max_traces"), &max);
    mortise_jw_fixed(&w, (char *)malloc(LINE * 8), LINE * 8);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "traces");
    mortise_jw_array(&w);
    pthread_mutex_lock(&i->lock);
    f = fopen(file_of(i), "r");
    if (f != NULL) {
        write_traces(&w, body, f, line, max, &newest);
        fclose(f);
    }
    pthread_mutex_unlock(&i->lock);
    mortise_jw_end(&w);
    mortise_jw_key(&w, "seq");
    mortise_jw_int(&w, newest);
    mortise_jw_end(&w);
    free(line);
    return emit(i, r, &w);
}

/* Is a trace of that id there?  *newest: the number of the last line. */
static int is_there(mortise_inst *i, const char *id, char *line,
                    int64_t *newest)
{
    FILE *f = fopen(file_of(i), "r");
    int found = 0;

    *newest = 0;
    while (f != NULL && fgets(line, LINE, f) != NULL) {
        *newest = strtoll(line, NULL, 10);
        found |= strstr(line, id) != NULL;
    }
    if (f != NULL)
        fclose(f);
    return found;
}

static mortise_status keep(mortise_inst *i, mortise_jv trace, char *line,
                           int64_t *seq)
{
    char id[160] = "";
    FILE *f;

    if (mortise_jv_cstr(mortise_jv_get(trace, "id"), id, sizeof id) !=
        MORTISE_S_OK)
        return MORTISE_S_INVALID;
    if (is_there(i, id, line, seq))
        return MORTISE_S_OK;
    f = fopen(file_of(i), "a");
    if (f == NULL)
        return MORTISE_S_FAILED;
    fprintf(f, "%lld %.*s\n", (long long)++*seq, (int)trace.n, trace.p);
    fflush(f);
    fsync(fileno(f));
    fclose(f);
    return MORTISE_S_OK;
}

static mortise_status write_all(mortise_inst *i, const mortise_request *r)
{
    mortise_status status = is_down(i, r);
    char *line = (char *)malloc(LINE), text[64];
    mortise_jv_iter it;
    mortise_jv body, name, one;
    int64_t seq = 0;

    wait_while("hold_write");
    mortise_jv_parse(r->body, &body);
    it = mortise_jv_each(mortise_jv_get(body, "traces"));
    pthread_mutex_lock(&i->lock);
    while (status == MORTISE_S_OK && mortise_jv_next(&it, &name, &one))
        status = keep(i, one, line, &seq);
    pthread_mutex_unlock(&i->lock);
    free(line);
    wait_while("hold_answer");
    snprintf(text, sizeof text, "{\"written\":1,\"seq\":%lld}", (long long)seq);
    return status == MORTISE_S_OK ? simple_emit(i, r, text) : status;
}

static mortise_status forget_all(mortise_inst *i, const mortise_request *r)
{
    pthread_mutex_lock(&i->lock);
    unlink(file_of(i));
    pthread_mutex_unlock(&i->lock);
    return simple_emit(i, r, "{\"forgotten\":0,\"seq\":0}");
}

static const void *get_interface(mortise_inst *inst, const char *id)
{
    static const mortise_memory memory = {sizeof memory, 0, read_all, write_all,
                                          forget_all};

    (void)inst;
    return strcmp(id, MORTISE_MEMORY_1) == 0 ? &memory : NULL;
}

static const mortise_plugin plugin = {.size = sizeof plugin,
                                      .id = "remembers_in_a_file",
                                      .version = "1.0.0",
                                      .create = simple_create,
                                      .get_interface = get_interface,
                                      .cancel = simple_cancel,
                                      .quiesce = simple_quiesce,
                                      .destroy = simple_destroy};

MORTISE_MODULE_OF(plugin);
