/* marks.c -- what a text is made of, beside its words: markup that chat formats
 * have for who speaks, pictures whose address carries something away, and
 * characters that nobody sees.
 *
 * Tables of literals, compared at the places where one could begin. */
#include "injection.h"

#include "../../ascii.h"

enum {
    RUN = 6,           /* unseen characters that stand together */
    TAGS = 2,          /* tag characters, which only flags have */
    ADDRESS_MAX = 2048 /* bytes of a picture's address that are looked at */
};

/* ---- who speaks ---------------------------------------------------------- */

static const struct mark {
    const char *text; /* in lower case */
    enum signal signal;
    unsigned weight;
} marks[] = {
    {"<|im_start|>", ROLE, 60},
    {"<|im_end|>", ROLE, 60},
    {"<|system|>", ROLE, 60},
    {"<|user|>", ROLE, 60},
    {"<|assistant|>", ROLE, 60},
    {"<|endoftext|>", ROLE, 60},
    {"<|start_header_id|>", ROLE, 60},
    {"<|eot_id|>", ROLE, 60},
    {"<<sys>>", ROLE, 60},
    {"<start_of_turn>", ROLE, 60},
    {"</tool_result>", ROLE, 55},
    {"</function_results>", ROLE, 55},
    {"</tool_response>", ROLE, 55},
    {"</untrusted", ROLE, 55},
    {"<tool_call>", ROLE, 55},
    {"<function_calls>", ROLE, 55},
    {"</system>", ROLE, 30},
    {"<system>", ROLE, 30},
    {"<system_prompt>", ROLE, 55},
    {"<system-reminder>", ROLE, 55},
    {"<assistant>", ROLE, 30},
    {"&lt;system&gt;", ROLE, 40},
    {"[inst]", ROLE, 55},
    {"[/inst]", ROLE, 55},
    {"[system](", ROLE, 40},
    {"[system]", ROLE, 30},
    {"#assistant", ROLE, 40},
    {"#system", ROLE, 30},
};
enum { N_MARKS = sizeof marks / sizeof marks[0] };

/* At the beginning of a line, with a colon behind. */
static const char *const speakers[] = {"system", "assistant", "human", "user"};
enum { N_SPEAKERS = sizeof speakers / sizeof speakers[0] };

/* Which of them speaks at the beginning of a line; N_SPEAKERS: none does. */
static size_t speaker_at(mortise_str s, uint64_t at, bool *headed)
{
    *headed = false;
    for (; at < s.n && strchr("#* >-\t", s.p[at]) != NULL; at++)
        *headed |= s.p[at] == '#';
    for (size_t k = 0; k < N_SPEAKERS; k++)
        if (ascii_begins(s, at, speakers[k]) &&
            ascii_begins(s, at + strlen(speakers[k]), ":"))
            return k;
    return N_SPEAKERS;
}

/* {"role": "system"}, whatever space there is. */
static bool is_role(mortise_str s, uint64_t at)
{
    static const char *const parts[] = {"\"role\"", ":", "\"system\""};

    for (size_t k = 0; k < 3; k++) {
        while (at < s.n && strchr(" \t\n\r", s.p[at]) != NULL)
            at++;
        if (!ascii_begins(s, at, parts[k]))
            return false;
        at += strlen(parts[k]);
    }
    return true;
}

/* ---- pictures ------------------------------------------------------------ */

/* What an address carries that is not its own. */
static const char *const carried[] = {
    "{{",     "${",     "data=",        "leak",   "chat",
    "secret", "prompt", "conversation", "base64_"};

/* ![...](http...?...): nobody has to click on it.  Where what was looked at
 * ends; what seems to begin in there is part of it. */
static uint64_t look_at_picture(mortise_str s, uint64_t at, struct score *out)
{
    const char *open, *close;
    mortise_str address;
    bool query;

    if (!ascii_begins(s, at, "!["))
        return at;
    open = memchr(s.p + at, ']', s.n - at > 256 ? 256 : s.n - at);
    if (open == NULL || !ascii_begins(s, (uint64_t)(open - s.p), "](http"))
        return at;
    address = mortise_strn(open + 2, s.n - (uint64_t)(open + 2 - s.p));
    address.n = address.n > ADDRESS_MAX ? ADDRESS_MAX : address.n;
    close = memchr(address.p, ')', address.n);
    if (close != NULL)
        address.n = (uint64_t)(close - address.p);
    query = memchr(address.p, '?', address.n) != NULL;
    if (query)
        score_add(out, EXFILTRATE, 30);
    for (uint64_t i = 0; query && i < address.n; i++)
        for (size_t k = 0; k < sizeof carried / sizeof carried[0]; k++)
            if (ascii_begins(address, i, carried[k]))
                score_add(out, EXFILTRATE, 60);
    return (uint64_t)(address.p - s.p) + address.n;
}

/* A link whose address is a template. */
static void look_at_link(mortise_str s, uint64_t at, struct score *out)
{
    uint64_t to = at + 2;

    if (!ascii_begins(s, at, "](http"))
        return;
    for (; to < s.n && to - at < 256 && s.p[to] != ')'; to++)
        if (ascii_begins(s, to, "${") || ascii_begins(s, to, "{{"))
            score_add(out, EXFILTRATE, 55);
}

/* ---- what nobody sees ---------------------------------------------------- */

struct unseen {
    unsigned run, tags, selectors;
    bool flag; /* a black flag is in front, whose tags are its own */
};

static void look_at_char(struct unseen *u, uint32_t c, struct score *out)
{
    const bool tag = c >= 0xE0000 && c <= 0xE007F;
    const bool selector = c >= 0xE0100 && c <= 0xE01EF;

    /* directions that are turned by force; marks and isolates of right-to-left
     * text are its own */
    if ((c >= 0x202A && c <= 0x202E && c != 0x202C) || c == 0x2066 ||
        c == 0x2067)
        score_add(out, HIDDEN, c == 0x202E || c == 0x202D ? 60 : 20);
    if (c == 0x1F3F4)
        u->flag = true;
    else if (!tag)
        u->flag = false;
    u->tags = tag && !u->flag ? u->tags + 1 : 0;
    u->selectors = selector ? u->selectors + 1 : 0;
    u->run = injection_is_unseen(c) && !tag ? u->run + 1 : 0;
    if (u->tags >= TAGS || u->selectors >= 3 || u->run >= RUN)
        score_add(out, HIDDEN, 60);
}

/* ---- a text -------------------------------------------------------------- */

static void look_at_mark(mortise_str s, uint64_t at, struct score *out)
{
    for (size_t k = 0; k < N_MARKS; k++)
        if (ascii_begins(s, at, marks[k].text))
            score_add(out, marks[k].signal, marks[k].weight);
}

/* Several who speak in turn are a conversation. */
static unsigned speakers_weight(unsigned spoke, bool headed)
{
    static const unsigned weights[] = {0, 20, 35, 55, 55};
    unsigned n = 0;

    for (size_t k = 0; k < N_SPEAKERS; k++)
        n += spoke >> k & 1;
    return headed && (spoke & 1) != 0 ? 55 : weights[n];
}

void injection_marks(mortise_str s, struct score *out)
{
    struct unseen u = {.run = 0};
    bool line = true, headed = false, one;
    unsigned spoke = 0;
    uint64_t n, pictured = 0;
    size_t who;

    for (uint64_t at = 0; at < s.n; at += n) {
        const uint32_t c = injection_char(s, at, &n);

        if (line && (who = speaker_at(s, at, &one)) < N_SPEAKERS) {
            spoke |= 1u << who;
            headed |= one;
        }
        line = c == '\n';
        if (c == '<' || c == '[' || c == '#' || c == '&')
            look_at_mark(s, at, out);
        else if (c == '!' && at >= pictured)
            pictured = look_at_picture(s, at, out);
        else if (c == ']')
            look_at_link(s, at, out);
        else if (c == '"' && is_role(s, at))
            score_add(out, ROLE, 55);
        look_at_char(&u, c, out);
    }
    score_add(out, ROLE, speakers_weight(spoke, headed));
}
