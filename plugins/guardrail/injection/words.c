/* words.c -- what a text tells a model, read word by word.
 *
 * Each word of a text belongs to classes (a table of words, in the languages
 * that attacks are seen in); a rule is a sequence of classes that come in that
 * order, within so many words.  A rule remembers how far it has got and where
 * it began, so a text is read once, whatever stands in it.
 *
 * Before they are looked up, words are made what they look like: in lower case;
 * without characters that nobody sees; with Latin letters for the Cyrillic and
 * Greek ones that pass for them in a Latin word, and for digits among letters;
 * and letters that stand alone, four or more, are a word.  Scripts without
 * blanks are looked up character by character. */
#include "injection.h"

enum {
    WORD = 32,    /* bytes of the longest word that is looked up */
    SEQUENCE = 4, /* classes of a rule */
    SPACED = 4    /* so many letters that stand alone are a word */
};

/* ---- classes ------------------------------------------------------------- */

enum {
    C_IGNORE = 1u << 0,    /* ignore, forget, override */
    C_NOT = 1u << 1,       /* not, never */
    C_FOLLOW = 1u << 2,    /* follow, obey, refuse */
    C_PRIOR = 1u << 3,     /* previous, above, all, your */
    C_RULES = 1u << 4,     /* instructions, rules, prompt */
    C_TELL = 1u << 5,      /* reveal, print, repeat */
    C_INNER = 1u << 6,     /* system, hidden, initial */
    C_SEND = 1u << 7,      /* send, post, upload */
    C_DATA = 1u << 8,      /* conversation, secrets, files */
    C_URL = 1u << 9,       /* http://... */
    C_MAIL = 1u << 10,     /* a@b.c */
    C_USER = 1u << 11,     /* the user */
    C_MODEL = 1u << 12,    /* AI, assistant, language model */
    C_NEW = 1u << 13,      /* new, actual, updated */
    C_NOW = 1u << 14,      /* now, from */
    C_YOU = 1u << 15,      /* you, your */
    C_ACT = 1u << 16,      /* act, pretend, behave */
    C_FREE = 1u << 17,     /* unrestricted, jailbreak */
    C_WITHOUT = 1u << 18,  /* without, no, bypass */
    C_SAY = 1u << 19,      /* mention, tell: with NOT ahead */
    C_WORDS = 1u << 20,    /* words, text, context */
    C_LATER = 1u << 21,    /* ignore, where it comes last */
    C_MODE = 1u << 22,     /* mode */
    C_AS = 1u << 23,       /* as */
    C_DEVELOPER = 1u << 24 /* developer, admin, sudo */
};

static const struct word {
    const char *text;
    uint32_t classes;
} words[] = {
    /* English */
    {"above", C_PRIOR},
    {"act", C_ACT},
    {"actual", C_NEW},
    {"admin", C_DEVELOPER},
    {"administrator", C_DEVELOPER},
    {"agent", C_MODEL},
    {"agents", C_MODEL},
    {"ai", C_MODEL},
    {"all", C_PRIOR},
    {"any", C_WITHOUT},
    {"approval", C_RULES},
    {"as", C_AS},
    {"assistant", C_MODEL},
    {"assistants", C_MODEL},
    {"before", C_PRIOR},
    {"behave", C_ACT},
    {"bypass", C_IGNORE},
    {"chat", C_DATA},
    {"chatbot", C_MODEL},
    {"comply", C_FOLLOW},
    {"confidential", C_INNER},
    {"config", C_DATA},
    {"configuration", C_DATA},
    {"constraints", C_RULES},
    {"content", C_WORDS},
    {"context", C_WORDS | C_INNER},
    {"conversation", C_DATA},
    {"cookies", C_DATA},
    {"credentials", C_DATA},
    {"dan", C_FREE},
    {"database", C_DATA},
    {"developer", C_DEVELOPER},
    {"directives", C_RULES},
    {"directive", C_RULES},
    {"disclose", C_TELL},
    {"discard", C_IGNORE},
    {"disregard", C_IGNORE},
    {"display", C_TELL},
    {"don", C_NOT},
    {"dont", C_NOT},
    {"dump", C_TELL | C_SEND},
    {"earlier", C_PRIOR},
    {"email", C_SEND},
    {"environment", C_DATA},
    {"everything", C_PRIOR},
    {"execute", C_FOLLOW},
    {"exfiltrate", C_SEND},
    {"files", C_DATA},
    {"file", C_DATA},
    {"filters", C_RULES},
    {"follow", C_FOLLOW},
    {"following", C_PRIOR},
    {"forget", C_IGNORE},
    {"former", C_PRIOR},
    {"forward", C_SEND},
    {"guardrails", C_RULES},
    {"guidelines", C_RULES},
    {"guideline", C_RULES},
    {"hidden", C_INNER},
    {"history", C_DATA},
    {"ignore", C_IGNORE},
    {"initial", C_INNER | C_PRIOR},
    {"instruction", C_RULES},
    {"instructions", C_RULES},
    {"internal", C_INNER},
    {"jailbreak", C_FREE},
    {"jailbroken", C_FREE},
    {"key", C_DATA},
    {"keys", C_DATA},
    {"leak", C_TELL | C_SEND},
    {"limits", C_RULES},
    {"llm", C_MODEL},
    {"mention", C_SAY},
    {"message", C_WORDS},
    {"messages", C_WORDS},
    {"mode", C_MODE},
    {"model", C_MODEL},
    {"models", C_MODEL},
    {"neglect", C_IGNORE},
    {"never", C_NOT},
    {"new", C_NEW},
    {"no", C_WITHOUT},
    {"not", C_NOT},
    {"notify", C_SAY},
    {"now", C_NOW},
    {"obey", C_FOLLOW},
    {"original", C_INNER | C_PRIOR},
    {"output", C_TELL},
    {"override", C_IGNORE},
    {"password", C_DATA},
    {"passwords", C_DATA},
    {"policies", C_RULES},
    {"policy", C_RULES},
    {"post", C_SEND},
    {"preceding", C_PRIOR},
    {"pretend", C_ACT},
    {"previous", C_PRIOR},
    {"previously", C_PRIOR},
    {"print", C_TELL},
    {"prior", C_PRIOR},
    {"programming", C_RULES},
    {"prompt", C_RULES | C_WORDS},
    {"prompts", C_RULES},
    {"protocols", C_RULES},
    {"recite", C_TELL},
    {"refuse", C_FOLLOW},
    {"regulations", C_RULES},
    {"repeat", C_TELL},
    {"restrictions", C_RULES},
    {"reveal", C_TELL},
    {"roleplay", C_ACT},
    {"rules", C_RULES},
    {"rule", C_RULES},
    {"safeguards", C_RULES},
    {"safety", C_RULES | C_PRIOR},
    {"secret", C_INNER | C_DATA},
    {"secretly", C_NOT},
    {"secrets", C_DATA},
    {"send", C_SEND},
    {"show", C_TELL},
    {"skip", C_IGNORE},
    {"submit", C_SEND},
    {"sudo", C_DEVELOPER},
    {"system", C_INNER},
    {"system's", C_INNER},
    {"task", C_RULES},
    {"tell", C_TELL | C_SAY},
    {"telling", C_SAY},
    {"tokens", C_DATA},
    {"transfer", C_SEND},
    {"transmit", C_SEND},
    {"unfiltered", C_FREE},
    {"uncensored", C_FREE},
    {"unrestricted", C_FREE},
    {"updated", C_NEW},
    {"upload", C_SEND},
    {"user", C_USER},
    {"users", C_USER},
    {"verbatim", C_WORDS},
    {"without", C_WITHOUT | C_NOT},
    {"words", C_WORDS},
    {"workspace", C_DATA},
    {"you", C_YOU},
    {"your", C_YOU | C_PRIOR},
    /* German */
    {"alle", C_PRIOR},
    {"alles", C_PRIOR},
    {"anweisung", C_RULES},
    {"anweisungen", C_RULES},
    {"assistent", C_MODEL},
    {"assistenten", C_MODEL},
    {"bisherigen", C_PRIOR},
    {"chatverlauf", C_DATA},
    {"deine", C_PRIOR},
    {"erw\xC3\xA4hne", C_SAY},
    {"gib", C_TELL},
    {"ignoriere", C_IGNORE},
    {"ignorier", C_IGNORE},
    {"jetzt", C_NOW},
    {"missachte", C_IGNORE},
    {"nenne", C_TELL},
    {"neue", C_NEW},
    {"nicht", C_NOT},
    {"oben", C_PRIOR},
    {"ohne", C_WITHOUT | C_NOT},
    {"regeln", C_RULES},
    {"sende", C_SEND},
    {"schicke", C_SEND},
    {"systemprompt", C_INNER | C_RULES | C_WORDS},
    {"systems", C_INNER},
    {"vergiss", C_IGNORE},
    {"verrate", C_TELL},
    {"vorgaben", C_RULES},
    {"vorherigen", C_PRIOR},
    {"vorigen", C_PRIOR},
    {"zeige", C_TELL},
    {"passwort", C_DATA},
    /* French */
    {"affichez", C_TELL},
    {"affiche", C_TELL},
    {"assistant's", C_MODEL},
    {"consignes", C_RULES},
    {"d\xC3\xA9sormais", C_NOW},
    {"envoie", C_SEND},
    {"envoyez", C_SEND},
    {"ignorez", C_IGNORE},
    {"invite", C_RULES},
    {"oublie", C_IGNORE},
    {"oubliez", C_IGNORE},
    {"pr\xC3\xA9\x63\xC3\xA9\x64\x65ntes", C_PRIOR},
    {"pr\xC3\xA9\x63\xC3\xA9\x64\x65nts", C_PRIOR},
    {"r\xC3\xA8gles", C_RULES},
    {"r\xC3\xA9v\xC3\xA8le", C_TELL},
    {"syst\xC3\xA8me", C_INNER},
    {"toutes", C_PRIOR},
    {"tu", C_YOU},
    /* Spanish, Italian, Portuguese */
    {"anteriores", C_PRIOR},
    {"clave", C_DATA},
    {"datos", C_DATA},
    {"dimentica", C_IGNORE},
    {"env\xC3\xAD\x61", C_SEND},
    {"esquece", C_IGNORE},
    {"esque\xC3\xA7\x61", C_IGNORE},
    {"ignora", C_IGNORE},
    {"instrucciones", C_RULES},
    {"instru\xC3\xA7\xC3\xB5\x65s", C_RULES},
    {"istruzioni", C_RULES},
    {"mostre", C_TELL},
    {"mostra", C_TELL},
    {"muestra", C_TELL},
    {"olvida", C_IGNORE},
    {"precedenti", C_PRIOR},
    {"reglas", C_RULES},
    {"regole", C_RULES},
    {"regras", C_RULES},
    {"revela", C_TELL},
    {"rivela", C_TELL},
    {"sistema", C_INNER},
    {"todas", C_PRIOR},
    {"todos", C_PRIOR},
    {"tus", C_PRIOR},
    {"tutte", C_PRIOR},
    {"limiti", C_RULES},
    {"senza", C_WITHOUT},
    {"sin", C_WITHOUT},
    {"comportati", C_ACT},
    /* Russian, Ukrainian */
    {"\xD0\xB7\xD0\xB0\xD0\xB1\xD1\x83\xD0\xB4\xD1\x8C", C_IGNORE},
    {"\xD0\xB8\xD0\xB3\xD0\xBD\xD0\xBE\xD1\x80\xD0\xB8\xD1\x80\xD1\x83\xD0\xB9",
     C_IGNORE},
    {"\xD0\xB2\xD1\x81\xD0\xB5", C_PRIOR},
    {"\xD0\xB8\xD0\xBD\xD1\x81\xD1\x82\xD1\x80\xD1\x83\xD0\xBA\xD1\x86\xD0\xB8"
     "\xD0\xB8",
     C_RULES},
    {"\xD0\xBF\xD1\x80\xD0\xB0\xD0\xB2\xD0\xB8\xD0\xBB\xD0\xB0", C_RULES},
    {"\xD0\xBF\xD0\xBE\xD0\xBA\xD0\xB0\xD0\xB6\xD0\xB8", C_TELL},
    {"\xD0\xBF\xD1\x80\xD0\xBE\xD0\xBC\xD0\xBF\xD1\x82", C_RULES},
};
enum { N_WORDS = sizeof words / sizeof words[0] };

/* Of scripts without blanks. */
static const struct word glyphs[] = {
    {"\xE5\xBF\xBD\xE7\x95\xA5", C_IGNORE},            /* ignore */
    {"\xE5\xBF\xBD\xE8\xA6\x96", C_IGNORE},            /* ignore */
    {"\xE5\xBF\x98\xE8\xAE\xB0", C_IGNORE},            /* forget */
    {"\xE6\x97\xA0\xE8\xA7\x86", C_IGNORE | C_LATER},  /* disregard */
    {"\xE7\x84\xA1\xE8\xA6\x96", C_IGNORE | C_LATER},  /* disregard */
    {"\xE4\xB9\x8B\xE5\x89\x8D", C_PRIOR},             /* before */
    {"\xE4\xBB\xA5\xE5\x89\x8D", C_PRIOR},             /* before */
    {"\xE4\xBB\xA5\xE4\xB8\x8A", C_PRIOR},             /* above */
    {"\xE6\x89\x80\xE6\x9C\x89", C_PRIOR},             /* all */
    {"\xE3\x81\x99\xE3\x81\xB9\xE3\x81\xA6", C_PRIOR}, /* all */
    {"\xE6\x8C\x87\xE4\xBB\xA4", C_RULES},             /* instruction */
    {"\xE6\x8C\x87\xE7\xA4\xBA", C_RULES},             /* instruction */
    {"\xE8\xA7\x84\xE5\x88\x99", C_RULES},             /* rule */
    {"\xE6\x8F\x90\xE7\xA4\xBA", C_RULES},             /* prompt */
    {"\xE3\x83\x97\xE3\x83\xAD\xE3\x83\xB3\xE3\x83\x97\xE3\x83\x88",
     C_RULES},                                                     /* prompt */
    {"\xE7\xB3\xBB\xE7\xBB\x9F", C_INNER},                         /* system */
    {"\xE3\x82\xB7\xE3\x82\xB9\xE3\x83\x86\xE3\x83\xA0", C_INNER}, /* system */
    {"\xE8\xBE\x93\xE5\x87\xBA", C_TELL},                          /* print */
    {"\xE8\xA1\xA8\xE7\xA4\xBA", C_TELL},                          /* show */
};
enum { N_GLYPHS = sizeof glyphs / sizeof glyphs[0] };

/* ---- rules --------------------------------------------------------------- */

static const struct rule {
    enum signal signal;
    unsigned weight;
    unsigned within; /* words, from the first to the last */
    uint32_t sequence[SEQUENCE];
} rules[] = {
    {OVERRIDE, 60, 10, {C_IGNORE, C_PRIOR, C_RULES}},
    {OVERRIDE, 60, 8, {C_IGNORE, C_RULES, C_PRIOR}},
    {OVERRIDE, 60, 10, {C_NOT, C_FOLLOW, C_PRIOR, C_RULES}},
    {OVERRIDE, 60, 14, {C_RULES, C_LATER}},
    {OVERRIDE, 60, 8, {C_IGNORE, C_INNER, C_RULES | C_WORDS}},
    {OVERRIDE, 30, 6, {C_IGNORE, C_RULES}},
    {OVERRIDE, 40, 6, {C_IGNORE, C_USER}},
    {OVERRIDE, 25, 5, {C_NEW, C_RULES}},
    {OVERRIDE, 40, 8, {C_NEW, C_RULES, C_YOU | C_MODEL}},
    {OVERRIDE, 40, 8, {C_IGNORE, C_YOU, C_PRIOR}},
    {PERSONA, 30, 6, {C_YOU, C_NOW}},
    {PERSONA, 55, 8, {C_YOU, C_NOW, C_DEVELOPER, C_MODE}},
    {PERSONA, 40, 8, {C_FREE}},
    {PERSONA, 20, 3, {C_ACT, C_AS}},
    {PERSONA, 40, 8, {C_WITHOUT, C_RULES}},
    {PERSONA, 50, 10, {C_ACT, C_RULES}},
    {PERSONA, 50, 14, {C_ACT, C_WITHOUT, C_RULES}},
    {PERSONA, 40, 4, {C_DEVELOPER, C_MODE}},
    {PERSONA, 40, 6, {C_DEVELOPER, C_IGNORE}},
    {LEAK, 55, 8, {C_TELL, C_INNER, C_RULES}},
    {LEAK, 30, 8, {C_TELL, C_INNER, C_WORDS | C_DATA}},
    {LEAK, 30, 8, {C_TELL, C_YOU, C_RULES}},
    {LEAK, 40, 8, {C_TELL, C_WORDS, C_PRIOR}},
    {LEAK, 55, 14, {C_TELL, C_WORDS, C_PRIOR, C_YOU}},
    {LEAK, 55, 8, {C_YOU, C_INNER, C_RULES}},
    {LEAK, 20, 8, {C_TELL, C_DATA}},
    {EXFILTRATE, 55, 16, {C_SEND, C_DATA, C_URL}},
    {EXFILTRATE, 35, 16, {C_SEND, C_DATA, C_MAIL}},
    {EXFILTRATE, 25, 6, {C_SEND, C_DATA}},
    {EXFILTRATE, 40, 16, {C_URL, C_DATA}},
    {CONCEAL, 35, 8, {C_NOT, C_SAY}},
    {ADDRESS, 20, 4, {C_MODEL}},
};
enum { N_RULES = sizeof rules / sizeof rules[0] };

/* ---- reading ------------------------------------------------------------- */

struct reader {
    struct score *out;
    uint64_t at; /* words read */
    uint64_t began[N_RULES];
    unsigned got[N_RULES]; /* classes of each that were seen */
};

static unsigned length_of(const struct rule *r)
{
    unsigned n = 0;

    while (n < SEQUENCE && r->sequence[n] != 0)
        n++;
    return n;
}

static void rule_sees(struct reader *rd, size_t k, uint32_t classes)
{
    const struct rule *r = &rules[k];

    if (rd->got[k] > 0 && rd->at - rd->began[k] >= r->within)
        rd->got[k] = 0;
    if ((r->sequence[rd->got[k]] & classes) != 0) {
        if (rd->got[k]++ == 0)
            rd->began[k] = rd->at;
    } else if ((r->sequence[0] & classes) != 0 && rd->got[k] == 1) {
        rd->began[k] = rd->at; /* the nearest of them */
    }
    if (rd->got[k] == length_of(r)) {
        score_add(rd->out, r->signal, r->weight);
        rd->got[k] = 0;
    }
}

static void read_classes(struct reader *rd, uint32_t classes)
{
    rd->at++;
    for (size_t k = 0; classes != 0 && k < N_RULES; k++)
        rule_sees(rd, k, classes);
}

static uint32_t classes_of(const char *word, size_t n)
{
    for (size_t k = 0; k < N_WORDS; k++)
        if (words[k].text[0] == word[0] && strlen(words[k].text) == n &&
            memcmp(words[k].text, word, n) == 0)
            return words[k].classes;
    return 0;
}

/* ---- what a word looks like ---------------------------------------------- */

/* Letters of others that pass for Latin ones. */
static const struct {
    uint16_t from;
    char to;
} alike[] = {{0x430, 'a'}, {0x435, 'e'}, {0x456, 'i'}, {0x43E, 'o'},
             {0x440, 'p'}, {0x441, 'c'}, {0x443, 'y'}, {0x445, 'x'},
             {0x455, 's'}, {0x458, 'j'}, {0x3BF, 'o'}, {0x3B1, 'a'},
             {0x3B9, 'i'}, {0x3BD, 'v'}};

static char latin_of(uint32_t c)
{
    if (c >= 0xFF21 && c <= 0xFF5A) /* wide forms */
        return (char)(c - 0xFF21 + 'A' + (c >= 0xFF41 ? 0 : 32));
    for (size_t i = 0; i < sizeof alike / sizeof alike[0]; i++)
        if (alike[i].from == c)
            return alike[i].to;
    return '\0';
}

static char letter_of(char digit)
{
    static const char letters[] = "oizeasgtbg";

    return letters[digit - '0'];
}

/* A word as it is read, and as it would be if it were Latin. */
struct word_read {
    char plain[WORD], latin[WORD];
    size_t n_plain, n_latin;
    bool has_latin, has_other, has_digit, too_long;
};

static void put(char *to, size_t *n, const char *p, size_t len,
                struct word_read *w)
{
    if (*n + len > WORD) {
        w->too_long = true;
        return;
    }
    memcpy(to + *n, p, len);
    *n += len;
}

static void word_add(struct word_read *w, uint32_t c, const char *p, size_t n)
{
    char one = (char)c;

    if (c < 0x80) {
        one = one >= 'A' && one <= 'Z' ? (char)(one + 32) : one;
        put(w->plain, &w->n_plain, &one, 1, w);
        if (one >= '0' && one <= '9') {
            one = letter_of(one);
            w->has_digit = true;
        } else {
            w->has_latin = true;
        }
        put(w->latin, &w->n_latin, &one, 1, w);
        return;
    }
    put(w->plain, &w->n_plain, p, n, w);
    one = latin_of(c);
    w->has_other |= one != '\0';
    put(w->latin, &w->n_latin, one != '\0' ? &one : p, one != '\0' ? 1 : n, w);
}

static uint32_t word_classes(const struct word_read *w)
{
    if (w->too_long || w->n_plain == 0)
        return 0;
    return w->has_other || (w->has_digit && w->has_latin)
               ? classes_of(w->latin, w->n_latin)
               : classes_of(w->plain, w->n_plain);
}

/* ---- what is no word of letters ------------------------------------------ */

/* Of Cyrillic in upper case: as it is in lower. */
static uint32_t lower_of(uint32_t c, char out[4], size_t *n)
{
    if (c >= 0x410 && c <= 0x42F)
        c += 32;
    else if (c >= 0xC0 && c <= 0xDE && c != 0xD7)
        c += 32;
    else
        return c;
    out[0] = (char)(0xC0 | (c >> 6));
    out[1] = (char)(0x80 | (c & 0x3F));
    *n = 2;
    return c;
}

static bool is_glyph(uint32_t c)
{
    return (c >= 0x3040 && c <= 0x30FF) || (c >= 0x3400 && c <= 0x9FFF);
}

static bool is_letter(uint32_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') ||
           (c >= 0xC0 && c < 0x2000 && c != 0xD7 && c != 0xF7) ||
           (c >= 0xFF21 && c <= 0xFF5A);
}

static void read_glyph(struct reader *rd, mortise_str s, uint64_t at)
{
    uint32_t classes = 0;

    for (size_t k = 0; k < N_GLYPHS; k++) {
        const size_t n = strlen(glyphs[k].text);

        if (n <= s.n - at && memcmp(s.p + at, glyphs[k].text, n) == 0)
            classes |= glyphs[k].classes;
    }
    read_classes(rd, classes);
}

/* Is it that of a link, or of an address? */
static uint32_t sign_classes(mortise_str s, uint64_t at)
{
    if (s.n - at >= 3 && memcmp(s.p + at, "://", 3) == 0)
        return C_URL;
    return s.p[at] == '@' && at > 0 && at + 1 < s.n &&
                   is_letter((unsigned char)s.p[at - 1]) &&
                   is_letter((unsigned char)s.p[at + 1])
               ? C_MAIL
               : 0;
}

/* ---- a text -------------------------------------------------------------- */

/* Letters that stand alone, one blank apart. */
struct spaced {
    struct word_read word;
    unsigned n;
    uint64_t end; /* of the last one */
};

static void spaced_end(struct reader *rd, struct spaced *sp)
{
    if (sp->n >= SPACED)
        read_classes(rd, word_classes(&sp->word));
    *sp = (struct spaced){.n = 0};
}

static void word_end(struct reader *rd, struct spaced *sp, struct word_read *w,
                     uint64_t from, uint64_t to)
{
    if (w->n_plain == 1) {
        if (sp->n > 0 && from != sp->end + 1)
            spaced_end(rd, sp);
        word_add(&sp->word, (unsigned char)w->plain[0], w->plain, 1);
        sp->n++;
        sp->end = to;
    } else {
        spaced_end(rd, sp);
        read_classes(rd, word_classes(w));
    }
    *w = (struct word_read){.n_plain = 0};
}

/* Characters that nobody sees part words, or are not there. */
static bool read_text(mortise_str s, bool parts, struct score *out)
{
    struct reader rd = {.out = out};
    struct spaced sp = {.n = 0};
    struct word_read w = {.n_plain = 0};
    uint64_t from = 0, n;
    bool unseen = false;

    for (uint64_t at = 0; at < s.n; at += n) {
        uint32_t c = injection_char(s, at, &n), sign;
        char lower[4];
        size_t n_lower = n;

        if (injection_is_unseen(c)) {
            unseen = true;
            if (!parts)
                continue;
        } else if (is_letter(c)) {
            if (w.n_plain == 0)
                from = at;
            memcpy(lower, s.p + at, n);
            c = lower_of(c, lower, &n_lower);
            word_add(&w, c, lower, n_lower);
            continue;
        }
        if (w.n_plain > 0)
            word_end(&rd, &sp, &w, from, at);
        sign = sign_classes(s, at);
        if (sign != 0)
            read_classes(&rd, sign);
        if (is_glyph(c))
            read_glyph(&rd, s, at);
    }
    if (w.n_plain > 0)
        word_end(&rd, &sp, &w, from, s.n);
    spaced_end(&rd, &sp);
    return unseen;
}

void injection_words(mortise_str s, struct score *out)
{
    if (read_text(s, false, out))
        read_text(s, true, out);
}
