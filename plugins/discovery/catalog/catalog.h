/* catalog.h -- what the files of the catalog share. */
#ifndef CATALOG_H
#define CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mortise/ask.h>

enum {
    CATALOG_SKILLS = 256,  /* in all */
    CATALOG_NAME = 64,     /* of a skill: what the specification allows */
    CATALOG_ABOUT = 1024,  /* its description, in characters */
    CATALOG_FRONT = 16384, /* all of its front matter, in bytes */
    CATALOG_DEPTH = 32,    /* of collections in it */
    CATALOG_SAYS = 4608    /* bytes for why something is none */
};

/* An Agent Skill. */
struct skill {
    char name[CATALOG_NAME + 1];
    char *about; /* its description */
    char *body;  /* what stands behind the front matter */
};

struct skills {
    struct skill list[CATALOG_SKILLS];
    size_t n;
};

/* ---- skill.c ---- */
/* Those of a directory, which is a skill or holds some, behind those that are
 * there; false: `why` says what is wrong, and where. */
bool skills_read(struct skills *s, const char *dir, size_t max_skill,
                 char why[CATALOG_SAYS]);
void skills_free(struct skills *s);

#endif
