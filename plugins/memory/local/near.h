/* near.h -- vectors in memory, and which of them are near to one: all looked at,
 * or, of more than so many, by a graph (HNSW).  One thread at a time. */
#ifndef LOCAL_NEAR_H
#define LOCAL_NEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct near;

/* What a vector is of. */
struct near_of {
    int64_t trace, place;
    int scope, type;
};

struct near_hit {
    int64_t trace;
    float likeness; /* cosine */
};

/* Vectors of so many numbers; up to `exact` of those that are meant are all looked
 * at.  NULL: memory ran out. */
struct near *near_new(size_t dim, size_t exact);
void near_free(struct near *n); /* NULL is fine */
size_t near_dim(const struct near *n);
/* False: memory ran out. */
bool near_add(struct near *n, const struct near_of *of, const float *v);
/* The `most` nearest of those that fit, the nearest first; how many, or -1:
 * memory ran out. */
long near_find(struct near *n, const float *v,
               bool (*fits)(const struct near_of *of, const void *ud),
               const void *ud, size_t most, struct near_hit *out);

#ifdef __cplusplus
}
#endif

#endif
