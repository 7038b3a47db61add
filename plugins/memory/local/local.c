/* local.c -- a memory in one file, beside the store: traces with their words,
 * strengths and, where a model makes them, vectors.
 *
 * Config (of the deployment)
 *   directory        where the file is, traces.db        (beside the store)
 *   half_life_hours  after which a strength is half of it  (720; 0: never)
 *   boost            what a use adds, of what is missing to 1        (0.2)
 *   embed            an alias of the deployment's models: traces get vectors,
 *                    and are found by them, too                     (none)
 *   exact            so many vectors are all looked at; of more, a graph of
 *                    near ones (HNSW) is                          (20000)
 *   A relative directory counts from the deployment.
 *
 * A deployment that uses it
 *   memory:
 *     plugin: local
 *     config: {half_life_hours: 2160, embed: default-embedding}
 *
 * What it promises beside what <mortise/memory.h> says:
 *
 *   (1) A file that it did not write is left as it is (file.c).
 *   (2) What was acknowledged is on disk (file.c).
 *   (3) A search costs some thousands of postings, whatever the number of traces;
 *       what it may miss for that is said in text.c.
 *   (4) Without its model it goes on: traces are kept, their vectors made later,
 *       searches go by words and say so in `note` (vector.c).
 *   (5) Several processes may use one file at once.
 *
 * The file is SQLite's, and any program that reads those reads this one; who
 * writes it by hand knows that (1) to (3) are theirs then. */
#include "base.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "../../create.h"

static const char file_name[] = "/traces.db";

/* ---- the instance -------------------------------------------------------- */

static void destroy(mortise_inst *i)
{
    file_close(i);
    vectors_close(i);
    pthread_mutex_destroy(&i->lock);
    pthread_mutex_destroy(&i->writing);
    pthread_cond_destroy(&i->given_back);
    free(i->path);
    free(i->embed);
    free(i);
}

/* A number of the config, or what holds without it. */
static double number(mortise_jv config, const char *name, double otherwise)
{
    double value;

    return mortise_jv_double(mortise_jv_get(config, name), &value) ==
                   MORTISE_S_OK
               ? value
               : otherwise;
}

/* A text of the config with `behind` behind it; NULL: memory ran out, or there
 * is none. */
static char *text_of(mortise_jv config, const char *name, const char *behind)
{
    mortise_jv v = mortise_jv_get(config, name);
    size_t room = (size_t)v.n + strlen(behind) + 1;
    char *text = v.n > 2 ? malloc(room) : NULL;

    if (text == NULL ||
        mortise_jv_cstr(v, text, room - strlen(behind)) != MORTISE_S_OK) {
        free(text);
        return NULL;
    }
    strcat(text, behind);
    return text;
}

static mortise_status configure(struct mortise_inst *i, mortise_str text)
{
    mortise_jv config;

    if (mortise_jv_parse(text, &config) != MORTISE_S_OK)
        return no(i, 0, &bad_request, "the config is not JSON");
    i->half_life = number(config, "half_life_hours", 720) * 3600000;
    i->boost = number(config, "boost", 0.2);
    i->exact = (int64_t)number(config, "exact", 20000);
    i->path = text_of(config, "directory", file_name);
    i->embed = text_of(config, "embed", "");
    if (i->path == NULL)
        return no(i, 0, &bad_request, "`directory` is missing");
    if (mortise_jv_get(config, "embed").n > 0 && i->embed == NULL)
        return no(i, 0, &bad_request, "`embed` must be an alias of a model");
    if (!vectors_open(i))
        return no(i, 0, &out_of_memory, "out of memory");
    return sodium_init() < 0 || sqlite3_threadsafe() == 0
               ? no(i, 0, &bad_request, "libsodium or SQLite cannot be used")
               : file_open(i);
}

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    struct mortise_inst *i = calloc(1, sizeof *i);

    if (i != NULL) {
        *i = (struct mortise_inst){.host = host, .api = api};
        pthread_mutex_init(&i->lock, NULL);
        pthread_mutex_init(&i->writing, NULL);
        pthread_cond_init(&i->given_back, NULL);
    }
    return create_configured(i, host, api, config, configure, destroy, out);
}

/* ---- calls --------------------------------------------------------------- */

static mortise_status begin(struct job *j, const mortise_request *r)
{
    if (mortise_jv_parse(r->body, &j->body) != MORTISE_S_OK ||
        mortise_jv_cstr(mortise_jv_get(j->body, "tenant"), j->tenant_name,
                        sizeof j->tenant_name) != MORTISE_S_OK ||
        j->tenant_name[0] == '\0' ||
        mortise_jv_int(mortise_jv_get(j->body, "now"), &j->now) != MORTISE_S_OK)
        return no(j->inst, j->call, &bad_request,
                  "a request needs a `tenant` and a `now`");
    return file_take(j);
}

static mortise_status call(mortise_inst *i, const mortise_request *r,
                           mortise_status (*what)(struct job *))
{
    struct job j = {.inst = i, .call = r->call};
    mortise_status status = begin(&j, r);

    if (status == MORTISE_S_OK) {
        status = what(&j);
        file_give_back(&j);
    }
    bytes_free(&j.id);
    bytes_free(&j.text);
    bytes_free(&j.key);
    free(j.vector);
    return status;
}

static mortise_status read(mortise_inst *i, const mortise_request *r)
{
    return call(i, r, do_read);
}

static mortise_status write(mortise_inst *i, const mortise_request *r)
{
    return call(i, r, do_write);
}

static mortise_status forget(mortise_inst *i, const mortise_request *r)
{
    return call(i, r, do_forget);
}

static const mortise_memory memory = {sizeof memory, 0, read, write, forget};

static const void *get_interface(mortise_inst *i, const char *id)
{
    (void)i;
    return strcmp(id, MORTISE_MEMORY_1) == 0 ? &memory : NULL;
}

static const mortise_plugin plugin = {
    .size = sizeof plugin,
    .id = "local",
    .version = "0.1.0",
    .create = create,
    .get_interface = get_interface,
    .destroy = destroy,
};

MORTISE_MODULE_OF(plugin);
