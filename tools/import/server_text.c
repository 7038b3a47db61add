/* server_text.c -- the values of servers of other programs, as ours.
 *
 * Theirs may hold references, which are ours by another name:
 *
 *     ${env:NAME}, ${NAME}, ${NAME:-default}   a variable of the environment
 *     ${input:ID}                              what a person is asked for: here a
 *                                              variable, too, called as the ID is
 *     ${userHome}, ~/                          ${env:HOME}
 *     ${workspaceFolder}                       the directory of the list
 *
 * Any other ${ is text.  What may be a secret is told by the name (of the
 * variable, the header, the option) or by how it begins; to take one too many
 * for a secret costs a line, to take one too few is printed.  So in doubt it is
 * one.  Where it came from a variable, that one has it; where it stood there as
 * it is, the variable that is to have it is named after where it stood. */
#include "tools/import/server.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/json/secret.h"

enum { VARIABLE_MOST = 128, SECRET_MOST = 56 };

/* A value while it is read. */
struct value {
    struct mortise_buf text;      /* as it is to be written */
    char variable[VARIABLE_MOST]; /* the last that it refers to */
    size_t lead, tail; /* bytes of text before and behind the last one */
    unsigned n;        /* references */
    bool is_secret, has_default;
};

/* ---- what is a secret ------------------------------------------------------ */

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), k = strlen(end);

    return n >= k && strcasecmp(s + n - k, end) == 0;
}

/* Is that what a secret is called? */
static bool is_secret_name(const char *name)
{
    static const char *const words[] = {
        "token", "secret",     "password", "passwd",   "passphrase",
        "key",   "credential", "cookie",   "authoriz", "authentic"};
    static const char *const ends[] = {"_pat", "_pwd", "_auth", "-auth"};

    if (ends_with(name, "file") || ends_with(name, "path") ||
        ends_with(name, "dir"))
        return false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcasestr(name, words[i]) != NULL)
            return true;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (ends_with(name, ends[i]))
            return true;
    return false;
}

/* Though it is called so, the value shows that it is none: a number (of
 * tokens), a word of yes and no, a path. */
static bool is_harmless(const char *s)
{
    return strspn(s, "0123456789") == strlen(s) || strcasecmp(s, "true") == 0 ||
           strcasecmp(s, "false") == 0 || strncmp(s, "./", 2) == 0 ||
           strncmp(s, "../", 3) == 0;
}

static bool is_of_url(const char *s, const char *at)
{
    const char *before = s;

    while ((before = strstr(before, "://")) != NULL && before < at) {
        before += 3;
        if (before + strcspn(before, "/?#@ ") == at)
            return true;
    }
    return false;
}

/* Does how it begins, or a part of it does, say that it is a token? */
static bool has_token(const char *s)
{
    static const char *const begins[] = {
        "sk-",  "pk-",   "ghp_",  "gho_",  "ghu_",        "ghs_",
        "ghr_", "glpat", "xox",   "AKIA",  "github_pat_", "eyJ",
        "AIza", "npm_",  "hf_",   "SG.",   "-----BEGIN",  "secret://",
        "dop_", "lin_",  "ntn_",  "sbp_",  "rpa_",        "figd_",
        "pat-", "ATATT", "glsa_", "shpat", "Bearer ",     "Basic "};

    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
        const char *at = strstr(s, begins[i]);

        if (at != NULL && (at == s || !isalnum((unsigned char)at[-1])))
            return true;
    }
    return false;
}

/* The name that ends before `at`: "api_key" of "?api_key=". */
static size_t name_before(const char *s, const char *at, char out[64])
{
    size_t n = 0;

    while (n < 63 && (size_t)(at - s) > n &&
           (isalnum((unsigned char)*(at - n - 1)) ||
            strchr("_-", *(at - n - 1)) != NULL))
        n++;
    snprintf(out, 64, "%.*s", (int)n, at - n);
    return n;
}

/* Is a value named in it (NAME=..., NAME: ...) that is called as secrets are? */
static bool has_named(const char *s)
{
    char name[64];

    for (const char *at = s; (at = strpbrk(at, ":=")) != NULL; at++) {
        size_t n = name_before(s, at, name);
        bool is_host = at - s > (ptrdiff_t)n && *(at - n - 1) == '/';

        if (at[1] != '\0' && strncmp(at, "://", 3) != 0 && !is_host &&
            !is_harmless(at + 1) && is_secret_name(name))
            return true;
    }
    return false;
}

/* Does the text itself say that there is a secret in it? */
static bool is_secret_text(const char *s)
{
    if (has_token(s) || has_named(s))
        return true;
    for (const char *at = s; (at = strchr(at, '@')) != NULL; at++)
        if (is_of_url(s, at))
            return true;
    return false;
}

/* ---- references ------------------------------------------------------------ */

static bool is_variable(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s[i] != '_' && !isalnum((unsigned char)s[i]))
            return false;
    return n > 0 && n < VARIABLE_MOST && !isdigit((unsigned char)s[0]);
}

/* `given` as the name of a variable, behind what is there of it. */
static void add_variable(char out[VARIABLE_MOST], const char *given)
{
    size_t n = strlen(out);

    if (n > 0 && n + 1 < VARIABLE_MOST)
        out[n++] = '_';
    while (*given == '-' || *given == '/')
        given++;
    for (; *given != '\0' && n + 1 < VARIABLE_MOST; given++)
        out[n++] = isalnum((unsigned char)*given)
                       ? (char)toupper((unsigned char)*given)
                       : '_';
    out[n] = '\0';
}

/* Is a person who is asked for it not to see it? */
static bool is_asked_in_secret(const struct server *s, const char *id)
{
    const struct mortise_yaml *list = s->all->inputs, *hidden;

    for (size_t i = 0;
         list != NULL && list->kind == MORTISE_YAML_SEQ && i < list->n; i++)
        if (mortise_foreign_is(mortise_yaml_get(list->items[i], "id"), id)) {
            hidden = mortise_yaml_get(list->items[i], "password");
            return hidden != NULL && hidden->kind == MORTISE_YAML_BOOL &&
                   hidden->u.b;
        }
    return false;
}

/* "workspaceFolder" and its like, for which a path stands; NULL: none. */
static const char *path_for(const struct server *s, const char *word)
{
    if (strcmp(word, "workspaceFolder") == 0 ||
        strcmp(word, "workspaceRoot") == 0)
        return s->cwd == NULL ? "." : s->all->whole;
    if (strcmp(word, "userHome") == 0)
        return "${env:HOME}";
    if (strcmp(word, "pathSeparator") == 0 || strcmp(word, "/") == 0)
        return "/";
    return NULL;
}

static void put_variable(struct value *v, const char *name, size_t n,
                         const char *fallback)
{
    v->lead = v->text.n;
    snprintf(v->variable, sizeof v->variable, "%.*s", (int)n, name);
    v->is_secret |= is_secret_name(v->variable);
    v->has_default |= fallback != NULL;
    v->n++;
    mortise_buf_printf(&v->text, "${env:%s", v->variable);
    if (fallback != NULL) {
        mortise_buf_puts(&v->text, ":-");
        mortise_buf_puts(&v->text, fallback);
    }
    mortise_buf_puts(&v->text, "}");
    v->tail = v->text.n;
}

/* What stands between the braces; false: no reference. */
static bool put_reference(struct server *s, struct value *v, const char *word)
{
    const char *fallback = strstr(word, ":-"), *path = path_for(s, word);
    size_t n = fallback != NULL ? (size_t)(fallback - word) : strlen(word);
    char made[VARIABLE_MOST] = "";

    if (path != NULL) {
        mortise_buf_puts(&v->text, path);
    } else if (strncmp(word, "input:", 6) == 0 && word[6] != '\0') {
        add_variable(made, word + 6);
        if (isdigit((unsigned char)made[0]))
            return false;
        v->is_secret |= is_asked_in_secret(s, word + 6);
        put_variable(v, made, strlen(made), NULL);
    } else if (strncmp(word, "env:", 4) == 0 && n > 4 &&
               is_variable(word + 4, n - 4)) {
        put_variable(v, word + 4, n - 4,
                     fallback != NULL ? fallback + 2 : NULL);
    } else if (is_variable(word, n)) {
        put_variable(v, word, n, fallback != NULL ? fallback + 2 : NULL);
    } else {
        return false;
    }
    return true;
}

/* The "${...}" at `at`: its length, or 0: it is text. */
static size_t take_reference(struct server *s, struct value *v, const char *at,
                             struct mortise_span span)
{
    const char *end = strchr(at, '}');
    char word[256];
    size_t n = end != NULL ? (size_t)(end - at) - 2 : 0;

    if (v->text.n > 0 && v->text.p[v->text.n - 1] == '$')
        return 0; /* "$${" would be text here */
    if (end != NULL && n < sizeof word) {
        snprintf(word, sizeof word, "%.*s", (int)n, at + 2);
        if (strstr(word, "${") == NULL && put_reference(s, v, word))
            return n + 3;
    }
    mortise_foreign_lost(&s->all->f, span, "the new file has it as text",
                         "a ${...} of server '%.64s' has no meaning here",
                         s->key->str);
    return 0;
}

static void read_value(struct server *s, struct value *v,
                       const struct mortise_yaml *from)
{
    const char *p = from->str;

    if (strncmp(p, "~/", 2) == 0) {
        mortise_buf_puts(&v->text, "${env:HOME}");
        p++;
    }
    while (*p != '\0') {
        size_t n =
            strncmp(p, "${", 2) == 0 ? take_reference(s, v, p, from->span) : 0;

        if (n == 0 && strncmp(p, "${", 2) == 0)
            mortise_buf_puts(&v->text, "$");
        if (n == 0)
            mortise_buf_put(&v->text, p++, 1);
        p += n;
    }
}

/* ---- secrets -------------------------------------------------------------- */

/* May `name` be the variable of that secret?  `value` NULL: of whatever it has
 * already. */
static bool is_free(const struct servers *all, const char *name,
                    const char *value)
{
    const json_t *had = json_object_get(all->vars, name);

    if (had == NULL)
        return true;
    if (value == NULL)
        return json_is_null(had);
    return json_is_string(had) && strcmp(json_string_value(had), value) == 0;
}

/* The variable for a secret that stood there as it is; gives `out`. */
static const char *variable_for(struct server *s, enum server_place place,
                                const char *name, const char *value,
                                char out[VARIABLE_MOST])
{
    char base[VARIABLE_MOST - 16] = "";

    out[0] = '\0';
    if (place == SERVER_ENV && is_variable(name, strlen(name)))
        snprintf(out, VARIABLE_MOST, "%s", name);
    if (out[0] == '\0' || !is_free(s->all, out, value)) {
        out[0] = '\0';
        add_variable(out, s->ours);
        add_variable(out, name[0] != '\0'       ? name
                          : place == SERVER_URL ? "url"
                                                : "secret");
    }
    snprintf(base, sizeof base, "%s", out);
    for (unsigned k = 2; !is_free(s->all, out, value); k++)
        snprintf(out, VARIABLE_MOST, "%s_%u", base, k);
    return out;
}

/* The secret that a variable has, made if there is none; gives `out`. */
static const char *secret_of(struct servers *all, const char *variable,
                             char out[SECRET_MOST + 16])
{
    char base[SECRET_MOST + 1];
    size_t n = 0;

    for (const char *p = variable; *p != '\0' && n < SECRET_MOST; p++)
        if (*p != '_')
            base[n++] = (char)tolower((unsigned char)*p);
        else if (n > 0)
            base[n++] = '-';
    base[n] = '\0';
    snprintf(out, SECRET_MOST + 16, "%s", base);
    if (n == 0)
        n = (size_t)snprintf(out, SECRET_MOST + 16, "secret");
    for (unsigned k = 2;; k++) {
        const json_t *had = json_object_get(all->secrets, out);
        const char *its = json_string_value(json_object_get(had, "env"));

        if (had == NULL || (its != NULL && strcmp(its, variable) == 0))
            return out;
        snprintf(out + n, 16, "-%u", k);
    }
}

/* It was found: what is to be exported, said where the secret stands. */
static void note_found(struct servers *all, const char *secret)
{
    char pointer[128];

    snprintf(pointer, sizeof pointer, "/secrets/%s/env", secret);
    mortise_foreign_put(&all->f, all->notes, pointer,
                        json_string("set this variable: the imported list has "
                                    "its value, which was not copied"));
}

/* A reference to the secret that a variable has, behind n bytes of `lead`. */
static json_t *refer(struct server *s, const char *variable, const char *value,
                     const char *lead, size_t n)
{
    struct servers *all = s->all;
    char name[SECRET_MOST + 16];

    secret_of(all, variable, name);
    mortise_foreign_put(&all->f, all->secrets, name,
                        json_pack("{s:s}", "env", variable));
    mortise_foreign_put(&all->f, all->vars, variable,
                        value != NULL ? json_string(value) : json_null());
    if (value != NULL)
        note_found(all, name);
    return json_sprintf("%.*ssecret://%s", (int)n, lead, name);
}

/* So many bytes before a secret are a scheme ("Bearer ") and a blank, which may
 * stay; 0: there is none. */
static size_t scheme(const char *s)
{
    size_t n =
        strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");

    return n > 0 && n < 16 && s[n] == ' ' && s[n + 1] != '\0' &&
                   strchr(s + n + 1, ' ') == NULL
               ? n + 1
               : 0;
}

/* Where a reference may stand. */
static json_t *as_reference(struct server *s, struct value *v,
                            enum server_place place, const char *name,
                            const char *theirs)
{
    size_t lead = place == SERVER_HEADER ? scheme(v->text.p) : 0;
    char made[VARIABLE_MOST];

    s->has_secret = true;
    if (v->n == 1 && v->tail == v->text.n && v->lead == lead &&
        !v->has_default && is_free(s->all, v->variable, NULL))
        return refer(s, v->variable, NULL, v->text.p, lead);
    variable_for(s, place, name, theirs, made);
    return refer(s, made, theirs, theirs, v->n == 0 ? lead : 0);
}

/* Say that a secret stands where others see it, and what is to have it. */
static void tell_shown(struct server *s, enum server_place place,
                       struct mortise_span at, const char *variable)
{
    bool url = place == SERVER_URL;

    mortise_foreign_say(
        &s->all->f, "W1004", at,
        url ? "send it in `headers` if the server accepts it there"
            : "pass it in `env` if the server accepts it there: other users of "
              "the machine can see arguments",
        "%s of server '%.64s' seems to contain a secret: it is replaced by "
        "${env:%s}",
        url ? "the URL" : "an argument", s->key->str, variable);
}

/* So many bytes of an argument name what stands behind them: "--key="; 0: none
 * do. */
static size_t named(const char *s, char option[64])
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    size_t n = strspn(s, letters);

    if (n == 0 || n > 63 || s[n] != '=' || s[n + 1] == '\0')
        return 0;
    snprintf(option, 64, "%.*s", (int)n, s);
    return n + 1;
}

/* Where none may: the variable itself, which is put in when the file is
 * read. */
static json_t *as_variable(struct server *s, struct value *v,
                           enum server_place place, const char *name,
                           const struct mortise_yaml *theirs)
{
    char option[64], made[VARIABLE_MOST];
    size_t lead = 0;

    if (v->n > 0 && !v->has_default && !is_secret_text(theirs->str)) {
        tell_shown(s, place, theirs->span, v->variable);
        return mortise_json_strn(v->text.p, v->text.n);
    }
    if (place == SERVER_ARG && name[0] == '\0')
        lead = named(theirs->str, option);
    variable_for(s, place, lead > 0 ? option : name, theirs->str, made);
    mortise_foreign_put(&s->all->f, s->all->vars, made,
                        json_string(theirs->str));
    tell_shown(s, place, theirs->span, made);
    return json_sprintf("%.*s${env:%s}", (int)lead, theirs->str, made);
}

/* ---- all of it --------------------------------------------------------------- */

static bool is_text(struct server *s, const struct mortise_yaml *v)
{
    bool scalar = v->kind != MORTISE_YAML_NULL && v->kind != MORTISE_YAML_SEQ &&
                  v->kind != MORTISE_YAML_MAP;

    if (scalar && strlen(v->str) == v->len)
        return true;
    mortise_foreign_lost(&s->all->f, v->span, NULL,
                         "a value of server '%.64s' is not imported: it is %s",
                         s->key->str,
                         scalar ? "a text that contains a NUL"
                                : mortise_yaml_kind_name(v->kind));
    return false;
}

json_t *mortise_server_text(struct server *s, const struct mortise_yaml *v,
                            enum server_place place, const char *name)
{
    struct value value = {.n = 0};
    json_t *out = NULL;

    if (!is_text(s, v))
        return NULL;
    mortise_buf_init(&value.text, s->all->f.arena->mem);
    read_value(s, &value, v);
    value.is_secret |= is_secret_text(v->str) ||
                       (is_secret_name(name) && !is_harmless(v->str));
    if (mortise_buf_cstr(&value.text) == NULL)
        out = NULL;
    else if (!value.is_secret)
        out = mortise_json_strn(value.text.p, value.text.n);
    else if (place == SERVER_ENV || place == SERVER_HEADER)
        out = as_reference(s, &value, place, name, v->str);
    else
        out = as_variable(s, &value, place, name, v);
    s->all->f.nomem |= out == NULL;
    mortise_buf_finish(&value.text);
    return out;
}

json_t *mortise_server_path(struct server *s, const struct mortise_yaml *v)
{
    struct value value = {.n = 0};
    json_t *out = NULL;

    if (!is_text(s, v))
        return NULL;
    mortise_buf_init(&value.text, s->all->f.arena->mem);
    read_value(s, &value, v);
    if (mortise_buf_cstr(&value.text) != NULL)
        out = mortise_json_strn(value.text.p, value.text.n);
    s->all->f.nomem |= out == NULL;
    mortise_buf_finish(&value.text);
    return out;
}

/* ---- what it stands for --------------------------------------------------- */

const char *mortise_server_meant(struct server *s, const char *text)
{
    const char *home = getenv("HOME"), *rest;
    size_t room;
    char *out;

    if (strncmp(text, "${env:HOME}", 11) != 0 || home == NULL)
        return text;
    rest = text + 11;
    room = strlen(home) + strlen(rest) + 1;
    out = mortise_arena_alloc(s->all->f.arena, room);
    if (out == NULL) {
        s->all->f.nomem = true;
        return "";
    }
    snprintf(out, room, "%s%s", home, rest);
    return out;
}
