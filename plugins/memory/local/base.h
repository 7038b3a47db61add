/* base.h -- what the files of `local` share: the file of traces, connections to
 * it, and a call. */
#ifndef LOCAL_BASE_H
#define LOCAL_BASE_H

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include <mortise/memory.h>

#include "../../bytes.h"

enum { CONNECTIONS = 4 }; /* as many calls as the manifest lets in */

/* Statements that every connection has prepared once it needed them. */
enum statement {
    S_BEGIN,
    S_BEGIN_WRITE,
    S_COMMIT,
    S_ROLLBACK,
    S_TENANT,
    S_TENANT_ADD,
    S_TENANT_SET,
    S_PLACE,
    S_PLACE_ADD,
    S_ANY_GONE,
    S_GONE,
    S_GONE_ADD,
    S_GONE_DROP,
    S_TRACE_ADD,
    S_TRACE_OF,
    S_TRACE,
    S_TRACE_DROP,
    S_STRENGTH_SET,
    S_USE_ADD,
    S_USES,
    S_USES_DROP,
    S_HORIZON,
    S_DUE_ADD,
    S_DUE_DROP,
    S_DUE,
    S_VECTOR_ADD,
    S_VECTOR_DROP,
    S_VECTORS,
    S_FIRST,
    S_OF_PLACE,
    S_OF_TENANT,
    S_PLACES_DROP,
    S_WHERE,
    N_STATEMENTS
};

struct connection {
    sqlite3 *db; /* NULL: not opened yet */
    sqlite3_stmt *s[N_STATEMENTS];
    /* The index of the tenant that was written to last. */
    int64_t text_tenant;
    sqlite3_stmt *text_add, *text_drop;
    struct mortise_inst *inst; /* who has it, for its progress handler */
    mortise_call call;
    bool taken;
};

struct mortise_inst {
    mortise_host *host; /* lent until destroy(), as is the table */
    const mortise_host_api *api;
    char *path;       /* of the file */
    double half_life; /* ms; 0: nothing decays */
    double boost;     /* of what is missing to 1, by each use */
    char *embed;      /* an alias of a model; NULL: there are no vectors */
    int64_t exact;    /* vectors that are all looked at */
    struct vectors *vectors; /* vector.c's */

    pthread_mutex_t lock; /* guards `taken` of connections */
    pthread_cond_t given_back;
    struct connection connections[CONNECTIONS];
    pthread_mutex_t writing; /* one call of ours writes at a time */
};

/* A call: its request, read, and what it works with. */
struct job {
    struct mortise_inst *inst;
    mortise_call call;
    mortise_jv body;
    struct connection *c;
    int64_t now;           /* ms */
    int64_t tenant;        /* its number; 0: there is none */
    int64_t seq;           /* the newest that it can see */
    int64_t traces, bytes; /* how many the tenant has, and of contents */
    char tenant_name[1024];
    const char *note;           /* static; NULL: nothing */
    struct bytes id, text, key; /* what was read of the request */
    float *vector;              /* of the query; NULL: there is none */
    size_t n_vector;
};

/* How something failed: the host was told, where `status` says so. */
struct reason {
    const char *code, *klass;
    mortise_status status;
};

extern const struct reason bad_request, out_of_memory, corrupt_file;

/* ---- file.c -------------------------------------------------------------- */

/* Tell why, with words; the status to return. */
mortise_status no(const struct mortise_inst *i, mortise_call call,
                  const struct reason *why, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* What SQLite said of a connection, as an answer. */
mortise_status no_database(const struct job *j, const char *doing);

/* Look at the file, and make it where there is none. */
mortise_status file_open(struct mortise_inst *i);
void file_close(struct mortise_inst *i);
/* A connection of the call's own, which waits for one. */
mortise_status file_take(struct job *j);
void file_give_back(struct job *j);

/* The statement, reset and without what was bound; NULL: it cannot be made. */
sqlite3_stmt *statement(const struct job *j, enum statement which);
/* Run one that gives no rows; NULL fails, here as below. */
bool run(sqlite3_stmt *s);
/* Run one that gives one number, or, by no row, 0. */
bool run_number(sqlite3_stmt *s, int64_t *out);
bool run_plain(const struct job *j, enum statement which);
/* Run a text that is made here, and has no parameters. */
bool run_text(const struct job *j, const char *sql);

/* ---- tenant.c ------------------------------------------------------------ */

/* Within a transaction: j->tenant and what it is at; one that is not there has
 * the number 0, unless it is to be made. */
mortise_status tenant_find(struct job *j, bool make);
/* What was changed is to be seen: seq, traces and bytes as they are by now. */
bool tenant_set(const struct job *j);
/* The number of a place (scope and key) of the tenant; 0: there is none.  False:
 * the file failed. */
bool place_find(const struct job *j, int scope, mortise_str key, bool make,
                int64_t *n);

/* Numbers of words; -1: it is none. */
int scope_of(mortise_jv word);
int type_of(mortise_jv word);
const char *scope_name(int scope);
const char *type_name(int type);

/* ---- strength.c ---------------------------------------------------------- */

/* What is left of it after that time. */
double faded(const struct mortise_inst *i, double strength, int64_t from,
             int64_t now);
/* As of a number, from all that is recorded of a trace. */
bool strength_fold(const struct job *j, int64_t n, double strength,
                   int64_t created, int64_t as_of, double *out, int64_t *at);

/* ---- text.c -------------------------------------------------------------- */

enum { WORDS_MAX = 32, PLACES_MAX = 4, OPENED = 1024 };

/* Which traces are meant. */
struct filter {
    int scope;     /* of this one alone; -1: of any */
    bool by_place; /* at one of these alone, whose scope is no less */
    int64_t places[PLACES_MAX]; /* so, else at any */
    size_t n_places;
    unsigned types;  /* a bit for each; 0: all */
    int64_t horizon; /* no number beyond it */
    int64_t as_of;   /* a sequence number; -1: now */
    double min_strength;
    int64_t before; /* created before; INT64_MAX: whenever */
};

struct hit {
    int64_t n;
    double score;
};

/* Of hits, for qsort(): the best first, of equals the newest. */
int better(const void *a, const void *b);

bool text_make(const struct job *j);
bool text_add(const struct job *j, int64_t n, mortise_str content, int scope,
              int64_t place, int type);
bool text_drop(const struct job *j, int64_t n, mortise_str content, int scope,
               int64_t place, int type);
bool text_settle(const struct job *j);
/* The best `most` hits of a query, best first; the caller frees.  Contents count
 * by their lengths only in what rank() makes of it. */
bool text_search(const struct job *j, mortise_str query, const struct filter *f,
                 struct hit **out, size_t *n);
/* The auxiliary function of the index, for a connection. */
bool text_prepare(sqlite3 *db);

/* ---- vector.c ------------------------------------------------------------ */

enum { VECTOR_HITS = 256 };

bool vectors_open(struct mortise_inst *i);
void vectors_close(struct mortise_inst *i);
/* Vectors for what has none yet; what fails is tried again later. */
void vectors_make(struct job *j);
/* Before the transaction: the query's, or j->note says that there is none. */
void vectors_ask(struct job *j);
/* Those near to it, best first, up to VECTOR_HITS; none without it. */
bool vectors_search(struct job *j, const struct filter *f, struct hit **out,
                    size_t *n);

/* ---- the calls ----------------------------------------------------------- */

mortise_status do_read(struct job *j);
mortise_status do_write(struct job *j);
mortise_status do_forget(struct job *j);

/* What stands of a trace, until the next statement of that kind. */
struct trace {
    int64_t n, seq, place, created, at, uses, bytes;
    int scope, type;
    double strength, by_now;
    mortise_str id, content, key, metadata; /* metadata.p NULL: none */
};

/* The statement with the tenant, and j->id as ?2. */
sqlite3_stmt *statement_of_id(const struct job *j, enum statement which);
/* The number of the trace with j->id; 0: there is none.  False: the file failed. */
bool trace_find(const struct job *j, int64_t *n);
/* False: it is not there, or (*failed) the file failed. */
bool trace_get(const struct job *j, int64_t n, struct trace *t, bool *failed);
bool trace_fits(const struct filter *f, const struct trace *t);

/* What a request means; *none: there can be nothing. */
mortise_status filter_read(const struct job *j, struct filter *f, bool *none);
/* Numbers of those at the places of a filter, the newest first, from behind the
 * one with `seq` and `n`; more than fit the rest of the filter.  Of each place there
 * are `most`, so that of all of them only the first `most` are without a gap. */
bool newest(const struct job *j, const struct filter *f, int64_t seq, int64_t n,
            size_t most, struct hit **out, size_t *n_out);

#endif
