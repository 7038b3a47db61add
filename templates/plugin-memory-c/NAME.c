/* @NAME@ -- a memory plugin in one file, as a start.
 *
 * It fulfils the whole contract of <mortise/memory.h> in the simplest way: all
 * traces are in memory, and each call of write() is a line of the file.
 *
 * - write() appends one line and syncs it before it answers.  A line that a
 *   crash cut has no end and is removed when the file is read again.  So a
 *   write is stored completely or not at all.
 * - A trace whose id exists, or was forgotten, is not written again.
 * - forget() writes a new file without the forgotten traces, but with their
 *   ids, and replaces the old file.
 * - The score of a trace is the number of query words in its text.
 *
 * The manifest has `concurrency: 1`, so there is one call at a time and no
 * lock. */
#define _GNU_SOURCE /* getline(), strcasestr() */
#include <mortise/memory.h>

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct entry {
    char *tenant, *id;
    char *json; /* the trace; NULL: forgotten */
    int64_t seq;
};

struct mortise_inst {
    mortise_host *host;
    const mortise_host_api *api;
    char path[4096];
    struct entry *list; /* in the order of writing */
    size_t n, room;
    FILE *file; /* open for appending */
};

/* ---- small things -------------------------------------------------------- */

static mortise_status no(mortise_inst *i, mortise_call call, const char *code,
                         const char *words)
{
    return mortise_refuse(i->host, i->api, call, MORTISE_S_FAILED, "permanent",
                          code, words);
}

static char *copy(const char *p, size_t n)
{
    char *out = malloc(n + 1);

    if (out != NULL) {
        memcpy(out, p, n);
        out[n] = '\0';
    }
    return out;
}

/* A copy of the text of a member; NULL if it is no text. */
static char *text_of(mortise_jv from, const char *name)
{
    mortise_jv v = mortise_jv_get(from, name);
    char *out = v.n > 0 ? malloc(v.n + 1) : NULL;

    if (out != NULL && mortise_jv_cstr(v, out, v.n + 1) != MORTISE_S_OK) {
        free(out);
        out = NULL;
    }
    return out;
}

static int64_t seq_of(const mortise_inst *i, const char *tenant)
{
    int64_t seq = 0;

    for (size_t k = 0; k < i->n; k++)
        if (strcmp(i->list[k].tenant, tenant) == 0 && i->list[k].seq > seq)
            seq = i->list[k].seq;
    return seq;
}

static struct entry *find(const mortise_inst *i, const char *tenant,
                          const char *id)
{
    for (size_t k = 0; k < i->n; k++)
        if (strcmp(i->list[k].tenant, tenant) == 0 &&
            strcmp(i->list[k].id, id) == 0)
            return &i->list[k];
    return NULL;
}

/* Takes over the copies; json NULL: the trace was forgotten. */
static int add(mortise_inst *i, char *tenant, char *id, char *json, int64_t seq)
{
    if (i->n == i->room) {
        size_t room = i->room > 0 ? 2 * i->room : 64;
        struct entry *more = realloc(i->list, room * sizeof *more);

        if (more == NULL)
            return 0;
        i->list = more;
        i->room = room;
    }
    if (tenant == NULL || id == NULL)
        return 0;
    i->list[i->n++] = (struct entry){tenant, id, json, seq};
    return 1;
}

/* ---- the file ------------------------------------------------------------ */

/* {"tenant", "seq", "id", "trace" (or null)} */
static void write_entry(FILE *f, const struct entry *e)
{
    char room[2048];
    mortise_str text;
    mortise_jw w;

    mortise_jw_fixed(&w, room, sizeof room);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "tenant");
    mortise_jw_cstr(&w, e->tenant);
    mortise_jw_key(&w, "seq");
    mortise_jw_int(&w, e->seq);
    mortise_jw_key(&w, "id");
    mortise_jw_cstr(&w, e->id);
    mortise_jw_end(&w);
    if (mortise_jw_finish(&w, &text) == MORTISE_S_OK)
        fprintf(f, "%.*s,\"trace\":%s}", (int)text.n - 1, text.p,
                e->json != NULL ? e->json : "null");
}

/* Append the entries from the k-th on, as one line. */
static int append(mortise_inst *i, size_t k)
{
    fputc('[', i->file);
    for (size_t at = k; at < i->n; at++) {
        if (at > k)
            fputc(',', i->file);
        write_entry(i->file, &i->list[at]);
    }
    fputs("]\n", i->file);
    return fflush(i->file) == 0 && fsync(fileno(i->file)) == 0;
}

static int read_entry(mortise_inst *i, mortise_jv v)
{
    mortise_jv trace = mortise_jv_get(v, "trace");
    char *json = mortise_jv_type(trace) == MORTISE_JV_OBJECT
                     ? copy(trace.p, trace.n)
                     : NULL;
    int64_t seq = 0;

    mortise_jv_int(mortise_jv_get(v, "seq"), &seq);
    return add(i, text_of(v, "tenant"), text_of(v, "id"), json, seq);
}

/* Read all whole lines; return the end of the last one. */
static long read_lines(mortise_inst *i, FILE *f)
{
    char *line = NULL;
    size_t room = 0;
    long end = 0;
    ssize_t n;

    while ((n = getline(&line, &room, f)) > 0 && line[n - 1] == '\n') {
        mortise_jv list, one;
        mortise_jv_iter it;

        if (mortise_jv_parse(mortise_strn(line, (uint64_t)n), &list) !=
            MORTISE_S_OK)
            break;
        it = mortise_jv_each(list);
        while (mortise_jv_next(&it, NULL, &one))
            if (!read_entry(i, one))
                break;
        end += (long)n;
    }
    free(line);
    return end;
}

/* A last line without its end was never acknowledged: cut it off.  Any other
 * unreadable content is not ours: leave the file unchanged. */
static mortise_status open_file(mortise_inst *i)
{
    FILE *f = fopen(i->path, "re");
    long end = f != NULL ? read_lines(i, f) : 0;
    struct stat st;
    int c, whole = 1;

    if (f != NULL) {
        fseek(f, end, SEEK_SET);
        while ((c = getc(f)) != EOF)
            whole = whole && c != '\n';
        fclose(f);
    }
    if (!whole)
        return no(i, 0, MORTISE_MEMORY_CORRUPT, "the file has lines of others");
    i->file = fopen(i->path, "ae");
    if (i->file == NULL || fstat(fileno(i->file), &st) != 0 ||
        (st.st_size > end && ftruncate(fileno(i->file), end) != 0))
        return no(i, 0, MORTISE_MEMORY_IO, strerror(errno));
    return MORTISE_S_OK;
}

/* Write a new file with all entries and replace the old one. */
static int rewrite(mortise_inst *i)
{
    char path[sizeof i->path + 8];
    FILE *old = i->file;
    int right;

    snprintf(path, sizeof path, "%s.new", i->path);
    i->file = fopen(path, "we");
    right = i->file != NULL && append(i, 0) && rename(path, i->path) == 0;
    if (!right) {
        if (i->file != NULL)
            fclose(i->file);
        i->file = old;
        return 0;
    }
    fclose(old);
    return 1;
}

/* ---- what a request means ------------------------------------------------ */

static int same(mortise_jv a, mortise_jv b)
{
    char text[512];
    mortise_str s;

    return mortise_jv_text(b, text, sizeof text, &s) == MORTISE_S_OK &&
           mortise_jv_is(a, s);
}

/* Return whether the list has the value; an absent list has all values. */
static int is_in(mortise_jv list, mortise_jv value)
{
    mortise_jv_iter it = mortise_jv_each(list);
    mortise_jv one;

    while (mortise_jv_next(&it, NULL, &one))
        if (same(one, value))
            return 1;
    return list.n == 0;
}

static int is_meant(mortise_jv body, mortise_jv t)
{
    mortise_jv scope = mortise_jv_get(body, "scope"),
               keys = mortise_jv_get(body, "keys"),
               its = mortise_jv_get(t, "scope"), key = mortise_jv_get(t, "key"),
               before = mortise_jv_get(body, "before"),
               least = mortise_jv_get(body, "min_strength");
    char name[32];
    double strength = 0, bound = 0;
    int64_t created = 0, limit = 0;

    if (before.n > 0 && (mortise_jv_int(before, &limit) != MORTISE_S_OK ||
                         mortise_jv_int(mortise_jv_get(t, "created_at"),
                                        &created) != MORTISE_S_OK ||
                         created >= limit))
        return 0;
    if (least.n > 0 && mortise_jv_double(least, &bound) == MORTISE_S_OK &&
        mortise_jv_double(mortise_jv_get(t, "strength"), &strength) ==
            MORTISE_S_OK &&
        strength < bound)
        return 0;
    if (keys.n > 0 && key.n > 0 &&
        (mortise_jv_cstr(its, name, sizeof name) != MORTISE_S_OK ||
         !same(mortise_jv_get(keys, name), key)))
        return 0;
    return (scope.n == 0 || same(scope, its)) &&
           is_in(mortise_jv_get(body, "types"), mortise_jv_get(t, "type")) &&
           is_in(mortise_jv_get(body, "ids"), mortise_jv_get(t, "id"));
}

/* The number of query words in the text. */
static int score_of(const char *query, const char *text)
{
    int score = 0;

    for (const char *p = query; *p != '\0';) {
        char word[64];
        size_t n = 0;

        while (*p != '\0' && !isalnum((unsigned char)*p))
            p++;
        while (isalnum((unsigned char)*p)) {
            if (n < sizeof word - 1)
                word[n++] = *p;
            p++;
        }
        word[n] = '\0';
        score += n > 0 && strcasestr(text, word) != NULL;
    }
    return score;
}

/* ---- read() -------------------------------------------------------------- */

struct hit {
    size_t at; /* index in the list */
    int score;
};

static int better(const void *a, const void *b)
{
    const struct hit *x = a, *y = b;

    if (x->score != y->score)
        return y->score - x->score;
    return (x->at < y->at) - (x->at > y->at);
}

static size_t find_hits(const mortise_inst *i, const char *tenant,
                        mortise_jv body, struct hit *hits)
{
    char *query = text_of(body, "query"), after[32];
    size_t n = 0, end = i->n;

    if (mortise_jv_cstr(mortise_jv_get(body, "after"), after, sizeof after) ==
        MORTISE_S_OK)
        end = strtoul(after, NULL, 10);
    for (size_t k = end < i->n ? end : i->n; k-- > 0;) {
        const struct entry *e = &i->list[k];
        mortise_jv t = mortise_jv_of(
            mortise_strn(e->json, e->json != NULL ? strlen(e->json) : 0));
        char *content;
        int score = 1;

        if (e->json == NULL || strcmp(e->tenant, tenant) != 0 ||
            !is_meant(body, t))
            continue;
        if (query != NULL && (content = text_of(t, "content")) != NULL) {
            score = score_of(query, content);
            free(content);
        }
        if (score > 0)
            hits[n++] = (struct hit){k, score};
    }
    if (query != NULL)
        qsort(hits, n, sizeof *hits, better);
    free(query);
    return n;
}

static mortise_status give(mortise_inst *i, mortise_call call, mortise_jv body,
                           const struct hit *hits, size_t n, int64_t seq)
{
    char room[4096], next[32];
    mortise_emitter out;
    int64_t most = 0, bytes = 0;
    size_t k = 0;

    mortise_jv_int(mortise_jv_get(body, "max_traces"), &most);
    mortise_emitter_init(&out, i->host, i->api, call, room, sizeof room);
    mortise_jw_object(&out.w);
    mortise_jw_key(&out.w, "traces");
    mortise_jw_array(&out.w);
    for (; k < n && (int64_t)k < most; k++) {
        const char *json = i->list[hits[k].at].json;

        bytes += (int64_t)strlen(json);
        if (k > 0 && bytes > MORTISE_MEMORY_ANSWER)
            break;
        mortise_jw_value(&out.w,
                         mortise_jv_of(mortise_strn(json, strlen(json))));
    }
    mortise_jw_end(&out.w);
    mortise_jw_key(&out.w, "seq");
    mortise_jw_int(&out.w, seq);
    if (k > 0 && k < n &&
        mortise_jv_is(mortise_jv_get(body, "order"), mortise_strz("time"))) {
        snprintf(next, sizeof next, "%zu", hits[k - 1].at);
        mortise_jw_key(&out.w, "next");
        mortise_jw_cstr(&out.w, next);
    }
    mortise_jw_end(&out.w);
    return mortise_emitter_finish(&out);
}

static mortise_status on_read(mortise_inst *i, mortise_call call,
                              const char *tenant, mortise_jv body)
{
    struct hit *hits = calloc(i->n + 1, sizeof *hits);
    mortise_status status =
        hits == NULL
            ? MORTISE_S_NOMEM
            : give(i, call, body, hits, find_hits(i, tenant, body, hits),
                   seq_of(i, tenant));

    free(hits);
    return status;
}

/* ---- write() and forget() ------------------------------------------------ */

static mortise_status say(mortise_inst *i, mortise_call call, const char *word,
                          size_t n, int64_t seq)
{
    char text[96];

    snprintf(text, sizeof text, "{\"%s\":%zu,\"seq\":%lld}", word, n,
             (long long)seq);
    return mortise_emit_output(i->host, i->api, call, mortise_strz(text));
}

/* Free the entries that were added since: they are in memory only. */
static void take_back(mortise_inst *i, size_t n)
{
    while (i->n > n) {
        struct entry *e = &i->list[--i->n];

        free(e->tenant);
        free(e->id);
        free(e->json);
    }
}

static mortise_status on_write(mortise_inst *i, mortise_call call,
                               const char *tenant, mortise_jv body)
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(body, "traces"));
    int64_t seq = seq_of(i, tenant);
    size_t before = i->n;
    int32_t restore = 0;
    mortise_jv one;

    mortise_jv_bool(mortise_jv_get(body, "restore"), &restore);
    while (mortise_jv_next(&it, NULL, &one)) {
        char *id = text_of(one, "id");
        struct entry *e = id != NULL ? find(i, tenant, id) : NULL;

        if (e != NULL && e->json == NULL && restore)
            e->id[0] = '\0'; /* another entry owns it now */
        else if (e != NULL) {
            free(id);
            continue;
        }
        if (!add(i, copy(tenant, strlen(tenant)), id, copy(one.p, one.n),
                 seq + 1)) {
            take_back(i, before);
            return MORTISE_S_NOMEM;
        }
    }
    if (i->n > before && !(restore ? rewrite(i) : append(i, before))) {
        take_back(i, before);
        return no(i, call, MORTISE_MEMORY_IO, strerror(errno));
    }
    return say(i, call, "written", i->n - before, seq + (i->n > before));
}

static mortise_status on_forget(mortise_inst *i, mortise_call call,
                                const char *tenant, mortise_jv body)
{
    int64_t seq = seq_of(i, tenant);
    size_t n = 0;

    for (size_t k = 0; k < i->n; k++) {
        struct entry *e = &i->list[k];

        if (e->json == NULL || strcmp(e->tenant, tenant) != 0 ||
            !is_meant(body,
                      mortise_jv_of(mortise_strn(e->json, strlen(e->json)))))
            continue;
        free(e->json);
        e->json = NULL;
        e->seq = seq + 1;
        n++;
    }
    if (n > 0 && !rewrite(i))
        return no(i, call, MORTISE_MEMORY_IO, strerror(errno));
    return say(i, call, "forgotten", n, seq + (n > 0));
}

/* ---- the plugin ---------------------------------------------------------- */

static mortise_status call(mortise_inst *i, const mortise_request *r,
                           mortise_status (*what)(mortise_inst *, mortise_call,
                                                  const char *, mortise_jv))
{
    mortise_jv body;
    char *tenant = mortise_jv_parse(r->body, &body) == MORTISE_S_OK
                       ? text_of(body, "tenant")
                       : NULL;
    mortise_status status =
        tenant != NULL ? what(i, r->call, tenant, body)
                       : no(i, r->call, MORTISE_MEMORY_REQUEST, "no tenant");

    free(tenant);
    return status;
}

static mortise_status read_traces(mortise_inst *i, const mortise_request *r)
{
    return call(i, r, on_read);
}

static mortise_status write_traces(mortise_inst *i, const mortise_request *r)
{
    return call(i, r, on_write);
}

static mortise_status forget_traces(mortise_inst *i, const mortise_request *r)
{
    return call(i, r, on_forget);
}

static const mortise_memory memory = {sizeof memory, 0, read_traces,
                                      write_traces, forget_traces};

static void destroy(mortise_inst *i)
{
    take_back(i, 0);
    free(i->list);
    if (i->file != NULL)
        fclose(i->file);
    free(i);
}

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    struct mortise_inst *i = calloc(1, sizeof *i);
    mortise_status status = MORTISE_S_OK;
    mortise_jv c;

    *out = NULL;
    if (i == NULL)
        return MORTISE_S_NOMEM;
    i->host = host;
    i->api = api;
    if (mortise_jv_parse(config, &c) != MORTISE_S_OK ||
        mortise_jv_cstr(mortise_jv_get(c, "directory"), i->path,
                        sizeof i->path - sizeof "/traces.jsonl") !=
            MORTISE_S_OK)
        status = no(i, 0, MORTISE_MEMORY_REQUEST, "no directory");
    if (status == MORTISE_S_OK) {
        char *slash = i->path;

        while ((slash = strchr(slash + 1, '/')) != NULL) {
            *slash = '\0';
            mkdir(i->path, 0700);
            *slash = '/';
        }
        mkdir(i->path, 0700); /* if it fails, opening the file fails too */
        strcat(i->path, "/traces.jsonl");
        status = open_file(i);
    }
    if (status == MORTISE_S_OK)
        *out = i;
    else
        destroy(i);
    return status;
}

static const void *get_interface(mortise_inst *i, const char *id)
{
    (void)i;
    return strcmp(id, MORTISE_MEMORY_1) == 0 ? &memory : NULL;
}

static const mortise_plugin plugin = {.size = sizeof plugin,
                                      .id = "@NAME@",
                                      .version = "0.1.0",
                                      .create = create,
                                      .get_interface = get_interface,
                                      .destroy = destroy};

MORTISE_MODULE_OF(plugin);
