/* server_text.c -- convert the strings of imported servers.
 *
 * A string of the source can contain references, which are converted:
 *
 *     ${env:NAME}, ${NAME}, ${NAME:-default}   ${env:NAME}, with its default
 *     ${input:ID}, which an editor asks for    ${env:ID}, in capitals
 *     ${userHome}, ~/                          ${env:HOME}
 *     ${workspaceFolder}                       the directory of the list
 *
 * Any other `${` is text.
 *
 * A string is a secret if its name says so (the name of the variable, header or
 * option), or if it contains a known token prefix or a password.  In doubt it
 * is a secret: a wrong guess costs a line, but a missed secret is printed.  If
 * the secret comes from a variable, this variable is kept.  If the list
 * contains the secret itself, a variable is named after its place. */
#include "tools/import/server.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/json/secret.h"

enum { VARIABLE_SIZE = 128, SECRET_NAME_MAX = 56 };

/* A string while it is converted. */
struct value {
    struct mortise_buf text;      /* the new text */
    char variable[VARIABLE_SIZE]; /* name of the last reference */
    size_t lead, tail;            /* begin and end of that reference */
    unsigned n;                   /* number of references */
    bool is_secret, has_default;
};

/* ---- detecting secrets -------------------------------------------------- */

static bool has_suffix_nocase(const char *s, const char *end)
{
    size_t n = strlen(s), k = strlen(end);

    return n >= k && strcasecmp(s + n - k, end) == 0;
}

/* Is it the usual name of a secret? */
static bool is_name_of_secret(const char *name)
{
    static const char *const words[] = {
        "token", "secret",     "password", "passwd",   "passphrase",
        "key",   "credential", "cookie",   "authoriz", "authentic"};
    static const char *const ends[] = {"_pat", "_pwd", "_auth", "-auth"};

    if (has_suffix_nocase(name, "file") || has_suffix_nocase(name, "path") ||
        has_suffix_nocase(name, "dir"))
        return false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcasestr(name, words[i]) != NULL)
            return true;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (has_suffix_nocase(name, ends[i]))
            return true;
    return false;
}

/* Does the value show that it is no secret, though its name says so?  It is a
 * number (of tokens), a boolean, or a path. */
static bool is_harmless_value(const char *s)
{
    return strspn(s, "0123456789") == strlen(s) || strcasecmp(s, "true") == 0 ||
           strcasecmp(s, "false") == 0 || strncmp(s, "./", 2) == 0 ||
           strncmp(s, "../", 3) == 0;
}

static bool is_userinfo_end(const char *s, const char *at)
{
    const char *before = s;

    while ((before = strstr(before, "://")) != NULL && before < at) {
        before += 3;
        if (before + strcspn(before, "/?#@ ") == at)
            return true;
    }
    return false;
}

/* Does the text contain the usual prefix of a token? */
static bool has_token_prefix(const char *s)
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

/* Get the name that ends before `at`: "api_key" of "?api_key=". */
static size_t get_name_before(const char *s, const char *at, char out[64])
{
    size_t n = 0;

    while (n < 63 && (size_t)(at - s) > n &&
           (isalnum((unsigned char)*(at - n - 1)) ||
            strchr("_-", *(at - n - 1)) != NULL))
        n++;
    snprintf(out, 64, "%.*s", (int)n, at - n);
    return n;
}

/* Does the text contain NAME=VALUE or NAME:VALUE with the name of a secret? */
static bool has_named_secret(const char *s)
{
    char name[64];

    for (const char *at = s; (at = strpbrk(at, ":=")) != NULL; at++) {
        size_t n = get_name_before(s, at, name);
        bool is_host = at - s > (ptrdiff_t)n && *(at - n - 1) == '/';

        if (at[1] != '\0' && strncmp(at, "://", 3) != 0 && !is_host &&
            !is_harmless_value(at + 1) && is_name_of_secret(name))
            return true;
    }
    return false;
}

/* Does the text itself show that it contains a secret? */
static bool has_secret_in_text(const char *s)
{
    if (has_token_prefix(s) || has_named_secret(s))
        return true;
    for (const char *at = s; (at = strchr(at, '@')) != NULL; at++)
        if (is_userinfo_end(s, at))
            return true;
    return false;
}

/* ---- references --------------------------------------------------------- */

static bool is_env_name(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s[i] != '_' && !isalnum((unsigned char)s[i]))
            return false;
    return n > 0 && n < VARIABLE_SIZE && !isdigit((unsigned char)s[0]);
}

/* Append `given` to a name, in the form of a variable's name. */
static void append_variable_name(char out[VARIABLE_SIZE], const char *given)
{
    size_t n = strlen(out);

    if (n > 0 && n + 1 < VARIABLE_SIZE)
        out[n++] = '_';
    while (*given == '-' || *given == '/')
        given++;
    for (; *given != '\0' && n + 1 < VARIABLE_SIZE; given++)
        out[n++] = isalnum((unsigned char)*given)
                       ? (char)toupper((unsigned char)*given)
                       : '_';
    out[n] = '\0';
}

/* Does the editor hide this input while the user types it? */
static bool is_hidden_input(const struct server *s, const char *id)
{
    const struct mortise_yaml *list = s->all->inputs, *hidden;

    for (size_t i = 0;
         list != NULL && list->kind == MORTISE_YAML_SEQ && i < list->n; i++)
        if (mortise_foreign_is_string(mortise_yaml_get(list->items[i], "id"),
                                      id)) {
            hidden = mortise_yaml_get(list->items[i], "password");
            return hidden != NULL && hidden->kind == MORTISE_YAML_BOOL &&
                   hidden->u.b;
        }
    return false;
}

/* Get the path that replaces "workspaceFolder" and similar words; NULL:
 * none. */
static const char *get_path_for_word(const struct server *s, const char *word)
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

static void put_variable_reference(struct value *v, const char *name, size_t n,
                                   const char *fallback)
{
    v->lead = v->text.n;
    snprintf(v->variable, sizeof v->variable, "%.*s", (int)n, name);
    v->is_secret |= is_name_of_secret(v->variable);
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

/* Append the reference between the braces; false: it is no reference. */
static bool put_source_reference(struct server *s, struct value *v,
                                 const char *word)
{
    const char *fallback = strstr(word, ":-"),
               *path = get_path_for_word(s, word);
    size_t n = fallback != NULL ? (size_t)(fallback - word) : strlen(word);
    char made[VARIABLE_SIZE] = "";

    if (path != NULL) {
        mortise_buf_puts(&v->text, path);
    } else if (strncmp(word, "input:", 6) == 0 && word[6] != '\0') {
        append_variable_name(made, word + 6);
        if (isdigit((unsigned char)made[0]))
            return false;
        v->is_secret |= is_hidden_input(s, word + 6);
        put_variable_reference(v, made, strlen(made), NULL);
    } else if (strncmp(word, "env:", 4) == 0 && n > 4 &&
               is_env_name(word + 4, n - 4)) {
        put_variable_reference(v, word + 4, n - 4,
                               fallback != NULL ? fallback + 2 : NULL);
    } else if (is_env_name(word, n)) {
        put_variable_reference(v, word, n,
                               fallback != NULL ? fallback + 2 : NULL);
    } else {
        return false;
    }
    return true;
}

/* Append the "${...}" at `at`.  Returns its length; 0: it is text. */
static size_t convert_reference(struct server *s, struct value *v,
                                const char *at, struct mortise_span span)
{
    const char *end = strchr(at, '}');
    char word[256];
    size_t n = end != NULL ? (size_t)(end - at) - 2 : 0;

    if (v->text.n > 0 && v->text.p[v->text.n - 1] == '$')
        return 0; /* "$${" would be text here */
    if (end != NULL && n < sizeof word) {
        snprintf(word, sizeof word, "%.*s", (int)n, at + 2);
        if (strstr(word, "${") == NULL && put_source_reference(s, v, word))
            return n + 3;
    }
    mortise_foreign_report_loss(
        &s->all->f, span, "the new file has it as text",
        "a ${...} of server '%.64s' has no meaning here", s->key->str);
    return 0;
}

static void convert_string(struct server *s, struct value *v,
                           const struct mortise_yaml *from)
{
    const char *p = from->str;

    if (strncmp(p, "~/", 2) == 0) {
        mortise_buf_puts(&v->text, "${env:HOME}");
        p++;
    }
    while (*p != '\0') {
        size_t n = strncmp(p, "${", 2) == 0
                       ? convert_reference(s, v, p, from->span)
                       : 0;

        if (n == 0 && strncmp(p, "${", 2) == 0)
            mortise_buf_puts(&v->text, "$");
        if (n == 0)
            mortise_buf_put(&v->text, p++, 1);
        p += n;
    }
}

/* ---- secrets ------------------------------------------------------------ */

/* Can the variable `name` hold this secret?  Yes, if it is unused or has the
 * same value.  `value` NULL: the variable's own value is the secret. */
static bool is_variable_available(const struct servers *all, const char *name,
                                  const char *value)
{
    const json_t *had = json_object_get(all->vars, name);

    if (had == NULL)
        return true;
    if (value == NULL)
        return json_is_null(had);
    return json_is_string(had) && strcmp(json_string_value(had), value) == 0;
}

/* Choose a variable for a secret that the list contains; returns `out`. */
static const char *choose_variable(struct server *s, enum server_place place,
                                   const char *name, const char *value,
                                   char out[VARIABLE_SIZE])
{
    char base[VARIABLE_SIZE - 16] = "";

    out[0] = '\0';
    if (place == SERVER_ENV && is_env_name(name, strlen(name)))
        snprintf(out, VARIABLE_SIZE, "%s", name);
    if (out[0] == '\0' || !is_variable_available(s->all, out, value)) {
        out[0] = '\0';
        append_variable_name(out, s->ours);
        append_variable_name(out, name[0] != '\0'       ? name
                                  : place == SERVER_URL ? "url"
                                                        : "secret");
    }
    snprintf(base, sizeof base, "%s", out);
    for (unsigned k = 2; !is_variable_available(s->all, out, value); k++)
        snprintf(out, VARIABLE_SIZE, "%s_%u", base, k);
    return out;
}

/* Choose the name of the secret that comes from a variable: the existing one,
 * or an unused name.  Returns `out`. */
static const char *choose_secret_name(struct servers *all, const char *variable,
                                      char out[SECRET_NAME_MAX + 16])
{
    char base[SECRET_NAME_MAX + 1];
    size_t n = 0;

    for (const char *p = variable; *p != '\0' && n < SECRET_NAME_MAX; p++)
        if (*p != '_')
            base[n++] = (char)tolower((unsigned char)*p);
        else if (n > 0)
            base[n++] = '-';
    base[n] = '\0';
    snprintf(out, SECRET_NAME_MAX + 16, "%s", base);
    if (n == 0)
        n = (size_t)snprintf(out, SECRET_NAME_MAX + 16, "secret");
    for (unsigned k = 2;; k++) {
        const json_t *had = json_object_get(all->secrets, out);
        const char *its = json_string_value(json_object_get(had, "env"));

        if (had == NULL || (its != NULL && strcmp(its, variable) == 0))
            return out;
        snprintf(out + n, 16, "-%u", k);
    }
}

/* Add a comment: the user must set the variable to the value in the list. */
static void note_unset_variable(struct servers *all, const char *secret)
{
    char pointer[128];

    snprintf(pointer, sizeof pointer, "/secrets/%s/env", secret);
    mortise_foreign_set(&all->f, all->notes, pointer,
                        json_string("set this variable: the imported list has "
                                    "its value, which was not copied"));
}

/* Add the secret that comes from a variable, and make a reference to it, after
 * the first n bytes of `lead`. */
static json_t *add_secret_reference(struct server *s, const char *variable,
                                    const char *value, const char *lead,
                                    size_t n)
{
    struct servers *all = s->all;
    char name[SECRET_NAME_MAX + 16];

    choose_secret_name(all, variable, name);
    mortise_foreign_set(&all->f, all->secrets, name,
                        json_pack("{s:s}", "env", variable));
    mortise_foreign_set(&all->f, all->vars, variable,
                        value != NULL ? json_string(value) : json_null());
    if (value != NULL)
        note_unset_variable(all, name);
    return json_sprintf("%.*ssecret://%s", (int)n, lead, name);
}

/* Get the number of bytes of a scheme and its blank ("Bearer ") before a
 * secret, which can stay in the file.  0: there is none. */
static size_t get_scheme_size(const char *s)
{
    size_t n =
        strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");

    return n > 0 && n < 16 && s[n] == ' ' && s[n + 1] != '\0' &&
                   strchr(s + n + 1, ' ') == NULL
               ? n + 1
               : 0;
}

/* For environment variables and headers, which take secret:// references. */
static json_t *make_secret_reference(struct server *s, struct value *v,
                                     enum server_place place, const char *name,
                                     const char *theirs)
{
    size_t lead = place == SERVER_HEADER ? get_scheme_size(v->text.p) : 0;
    char made[VARIABLE_SIZE];

    s->has_secret = true;
    if (v->n == 1 && v->tail == v->text.n && v->lead == lead &&
        !v->has_default && is_variable_available(s->all, v->variable, NULL))
        return add_secret_reference(s, v->variable, NULL, v->text.p, lead);
    choose_variable(s, place, name, theirs, made);
    return add_secret_reference(s, made, theirs, theirs, v->n == 0 ? lead : 0);
}

/* Report a secret in a place that others can see, and the variable that
 * replaces it. */
static void report_visible_secret(struct server *s, enum server_place place,
                                  struct mortise_span at, const char *variable)
{
    bool url = place == SERVER_URL;

    mortise_foreign_report(
        &s->all->f, "W1004", at,
        url ? "send it in `headers` if the server accepts it there"
            : "pass it in `env` if the server accepts it there: other users of "
              "the machine can see arguments",
        "%s of server '%.64s' seems to contain a secret: it is replaced by "
        "${env:%s}",
        url ? "the URL" : "an argument", s->key->str, variable);
}

/* Get the size of the option before an argument's value: "--key=".  0: none. */
static size_t get_option_size(const char *s, char option[64])
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    size_t n = strspn(s, letters);

    if (n == 0 || n > 63 || s[n] != '=' || s[n + 1] == '\0')
        return 0;
    snprintf(option, 64, "%.*s", (int)n, s);
    return n + 1;
}

/* For arguments and URLs, which take no secret:// references: use ${env:NAME},
 * which is replaced when the file is loaded. */
static json_t *make_variable_reference(struct server *s, struct value *v,
                                       enum server_place place,
                                       const char *name,
                                       const struct mortise_yaml *theirs)
{
    char option[64], made[VARIABLE_SIZE];
    size_t lead = 0;

    if (v->n > 0 && !v->has_default && !has_secret_in_text(theirs->str)) {
        report_visible_secret(s, place, theirs->span, v->variable);
        return mortise_json_make_string(v->text.p, v->text.n);
    }
    if (place == SERVER_ARG && name[0] == '\0')
        lead = get_option_size(theirs->str, option);
    choose_variable(s, place, lead > 0 ? option : name, theirs->str, made);
    mortise_foreign_set(&s->all->f, s->all->vars, made,
                        json_string(theirs->str));
    report_visible_secret(s, place, theirs->span, made);
    return json_sprintf("%.*s${env:%s}", (int)lead, theirs->str, made);
}

/* ---- interface ---------------------------------------------------------- */

static bool is_importable_text(struct server *s, const struct mortise_yaml *v)
{
    bool scalar = v->kind != MORTISE_YAML_NULL && v->kind != MORTISE_YAML_SEQ &&
                  v->kind != MORTISE_YAML_MAP;

    if (scalar && strlen(v->str) == v->len)
        return true;
    mortise_foreign_report_loss(
        &s->all->f, v->span, NULL,
        "a value of server '%.64s' is not imported: it is %s", s->key->str,
        scalar ? "a text that contains a NUL"
               : mortise_yaml_kind_name(v->kind));
    return false;
}

json_t *mortise_server_convert_string(struct server *s,
                                      const struct mortise_yaml *v,
                                      enum server_place place, const char *name)
{
    struct value value = {.n = 0};
    json_t *out = NULL;

    if (!is_importable_text(s, v))
        return NULL;
    mortise_buf_init(&value.text, s->all->f.arena->mem);
    convert_string(s, &value, v);
    value.is_secret |= has_secret_in_text(v->str) ||
                       (is_name_of_secret(name) && !is_harmless_value(v->str));
    if (mortise_buf_cstr(&value.text) == NULL)
        out = NULL;
    else if (!value.is_secret)
        out = mortise_json_make_string(value.text.p, value.text.n);
    else if (place == SERVER_ENV || place == SERVER_HEADER)
        out = make_secret_reference(s, &value, place, name, v->str);
    else
        out = make_variable_reference(s, &value, place, name, v);
    s->all->f.nomem |= out == NULL;
    mortise_buf_finish(&value.text);
    return out;
}

json_t *mortise_server_convert_path(struct server *s,
                                    const struct mortise_yaml *v)
{
    struct value value = {.n = 0};
    json_t *out = NULL;

    if (!is_importable_text(s, v))
        return NULL;
    mortise_buf_init(&value.text, s->all->f.arena->mem);
    convert_string(s, &value, v);
    if (mortise_buf_cstr(&value.text) != NULL)
        out = mortise_json_make_string(value.text.p, value.text.n);
    s->all->f.nomem |= out == NULL;
    mortise_buf_finish(&value.text);
    return out;
}

/* ---- expansion ---------------------------------------------------------- */

const char *mortise_server_expand_home(struct server *s, const char *text)
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
