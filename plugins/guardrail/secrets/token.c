/* token.c -- tokens that say by their beginning whose they are.
 *
 * A row for each form: how it begins, of which characters it goes on, and how
 * many.  What has a check inside of it (the CRC of GitHub's and npm's) is none
 * when that is wrong: nobody would take it. */
#include "find.h"

#include <string.h>

enum set { ALNUM, WORD, URLSAFE, DOTTED, HEX, BASE32, BASE64, BECH32 };

typedef bool right_fn(const char *rest, uint64_t n);

static right_fn is_crc, is_sendgrid;

static const struct form {
    const char *prefix;
    enum set set;
    uint16_t least, most; /* characters behind the prefix */
    right_fn *right;      /* NULL: there is nothing to check */
} forms[] = {
    {"AKIA", BASE32, 16, 16, NULL}, /* AWS */
    {"ASIA", BASE32, 16, 16, NULL}, /* AWS, of a session */
    {"ABIA", BASE32, 16, 16, NULL}, /* AWS, bearer */
    {"ACCA", BASE32, 16, 16, NULL}, /* AWS, of a context */
    {"AGE-SECRET-KEY-1", BECH32, 58, 58, NULL},
    {"AIza", URLSAFE, 35, 35, NULL},      /* Google, API keys */
    {"GOCSPX-", URLSAFE, 28, 28, NULL},   /* Google, OAuth clients */
    {"PMAK-", URLSAFE, 59, 59, NULL},     /* Postman */
    {"RWRTY0Iy", BASE64, 150, 400, NULL}, /* minisign */
    {"SG.", DOTTED, 66, 66, is_sendgrid},
    {"SK", HEX, 32, 32, NULL},            /* Twilio */
    {"dapi", HEX, 32, 32, NULL},          /* Databricks */
    {"dckr_pat_", URLSAFE, 27, 40, NULL}, /* Docker */
    {"doo_v1_", HEX, 64, 64, NULL},       /* DigitalOcean */
    {"dop_v1_", HEX, 64, 64, NULL},       /* DigitalOcean */
    {"dor_v1_", HEX, 64, 64, NULL},       /* DigitalOcean */
    {"figd_", URLSAFE, 40, 60, NULL},     /* Figma */
    {"gho_", ALNUM, 36, 36, is_crc},      /* GitHub */
    {"ghp_", ALNUM, 36, 36, is_crc},      /* GitHub */
    {"ghr_", ALNUM, 36, 36, is_crc},      /* GitHub */
    {"ghs_", ALNUM, 36, 36, is_crc},      /* GitHub */
    {"ghu_", ALNUM, 36, 36, is_crc},      /* GitHub */
    {"github_pat_", WORD, 82, 82, NULL},  /* GitHub */
    {"glcbt-", DOTTED, 20, 300, NULL},    /* GitLab, jobs */
    {"gldt-", DOTTED, 20, 300, NULL},     /* GitLab, deploy tokens */
    {"glpat-", DOTTED, 20, 300, NULL},    /* GitLab */
    {"glptt-", DOTTED, 20, 300, NULL},    /* GitLab, triggers */
    {"glrt-", DOTTED, 20, 300, NULL},     /* GitLab, runners */
    {"gsk_", ALNUM, 52, 52, NULL},        /* Groq */
    {"hf_", ALNUM, 34, 40, NULL},         /* Hugging Face */
    {"hooks.slack.com/services/T", BASE64, 30, 80, NULL},
    {"hvb.", URLSAFE, 90, 300, NULL},  /* Vault, batch */
    {"hvs.", URLSAFE, 90, 300, NULL},  /* Vault */
    {"key-", HEX, 32, 32, NULL},       /* Mailgun */
    {"lin_api_", ALNUM, 40, 40, NULL}, /* Linear */
    {"npm_", ALNUM, 36, 36, is_crc},
    {"nvapi-", URLSAFE, 60, 80, NULL}, /* NVIDIA */
    {"pplx-", ALNUM, 48, 64, NULL},    /* Perplexity */
    {"pypi-AgEIcHlwaS5vcmc", URLSAFE, 50, 400, NULL},
    {"r8_", ALNUM, 37, 37, NULL},            /* Replicate */
    {"rk_live_", ALNUM, 24, 128, NULL},      /* Stripe, restricted */
    {"rk_test_", ALNUM, 24, 128, NULL},      /* Stripe, restricted */
    {"shpat_", HEX, 32, 32, NULL},           /* Shopify */
    {"shpca_", HEX, 32, 32, NULL},           /* Shopify */
    {"shppa_", HEX, 32, 32, NULL},           /* Shopify */
    {"shpss_", HEX, 32, 32, NULL},           /* Shopify */
    {"sk-ant-", URLSAFE, 80, 200, NULL},     /* Anthropic */
    {"sk-proj-", URLSAFE, 40, 300, NULL},    /* OpenAI */
    {"sk-svcacct-", URLSAFE, 40, 300, NULL}, /* OpenAI */
    {"sk-or-v1-", HEX, 64, 64, NULL},        /* OpenRouter */
    {"sk-", ALNUM, 32, 64, NULL},            /* OpenAI and those like it */
    {"sk_live_", ALNUM, 24, 128, NULL},      /* Stripe */
    {"sk_test_", ALNUM, 24, 128, NULL},      /* Stripe */
    {"tskey-", URLSAFE, 30, 100, NULL},      /* Tailscale */
    {"whsec_", BASE64, 32, 80, NULL},        /* Stripe, Svix */
    {"xai-", ALNUM, 80, 80, NULL},           /* xAI */
    {"xapp-", URLSAFE, 30, 200, NULL},       /* Slack, apps */
    {"xoxa-", URLSAFE, 20, 200, NULL},       /* Slack */
    {"xoxb-", URLSAFE, 20, 200, NULL},       /* Slack, bots */
    {"xoxe-", URLSAFE, 20, 300, NULL},       /* Slack, refreshing */
    {"xoxp-", URLSAFE, 20, 200, NULL},       /* Slack, people */
    {"xoxr-", URLSAFE, 20, 200, NULL},       /* Slack, refreshing */
    {"xoxs-", URLSAFE, 20, 200, NULL},       /* Slack, sessions */
    {"ya29.", URLSAFE, 20, 2048, NULL},      /* Google, access tokens */
};

static bool is_in(enum set set, char c)
{
    switch (set) {
    case ALNUM:
        return ascii_alnum(c);
    case WORD:
        return ascii_alnum(c) || c == '_';
    case URLSAFE:
        return is_base64url(c);
    case DOTTED:
        return is_base64url(c) || c == '.';
    case HEX:
        return is_hex(c);
    case BASE32:
        return (c >= 'A' && c <= 'Z') || (c >= '2' && c <= '7');
    case BASE64:
        return ascii_alnum(c) || c == '+' || c == '/' || c == '=';
    case BECH32:
        return ascii_digit(c) || (c >= 'A' && c <= 'Z');
    }
    return false;
}

/* ---- checks inside ------------------------------------------------------ */

/* CRC-32 (ISO 3309), bit by bit: a token has thirty bytes. */
static uint32_t crc32_of(const char *p, uint64_t n)
{
    uint32_t crc = 0xFFFFFFFF;

    for (uint64_t i = 0; i < n; i++) {
        crc ^= (unsigned char)p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (crc & 1 ? 0xEDB88320 : 0);
    }
    return ~crc;
}

/* The last six are the CRC of the thirty ahead, in base 62. */
static bool is_crc(const char *rest, uint64_t n)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz";
    uint64_t sum = 0;

    for (uint64_t i = n - 6; i < n; i++)
        sum = sum * 62 + (uint64_t)(strchr(digits, rest[i]) - digits);
    return sum == crc32_of(rest, n - 6);
}

static bool is_sendgrid(const char *rest, uint64_t n)
{
    return rest[22] == '.' &&
           memchr(rest, '.', n) == memchr(rest + 22, '.', n - 22) &&
           memchr(rest + 23, '.', n - 23) == NULL;
}

/* ---- finding ------------------------------------------------------------ */

/* Where the token of this form ends that begins at `from`; 0: there is none. */
static uint64_t form_end(mortise_str s, uint64_t from, const struct form *f)
{
    const uint64_t start = from + strlen(f->prefix);
    uint64_t end = start;

    while (end < s.n && end - start <= f->most && is_in(f->set, s.p[end]))
        end++;
    while (end > start && (s.p[end - 1] == '.' || s.p[end - 1] == '/'))
        end--;
    if (end - start < f->least || end - start > f->most ||
        ascii_alnum(at_of(s, end)))
        return 0;
    return f->right == NULL || f->right(s.p + start, end - start) ? end : 0;
}

/* 123456789:AA..., of a bot of Telegram. */
static uint64_t bot_end(mortise_str s, uint64_t from)
{
    uint64_t at = from, start;

    while (at - from < 11 && ascii_digit(at_of(s, at)))
        at++;
    if (at - from < 8 || at_of(s, at) != ':')
        return 0;
    for (start = ++at; at - start < 36 && is_base64url(at_of(s, at));)
        at++;
    return at - start == 35 && s.p[start] == 'A' && s.p[start + 1] == 'A' ? at
                                                                          : 0;
}

static uint64_t token_end(mortise_str s, uint64_t from)
{
    if (ascii_digit(s.p[from]))
        return bot_end(s, from);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const size_t n = strlen(forms[i].prefix);
        uint64_t end;

        if (forms[i].prefix[0] != s.p[from] || s.n - from < n ||
            memcmp(s.p + from, forms[i].prefix, n) != 0)
            continue;
        end = form_end(s, from, &forms[i]);
        if (end > 0)
            return end;
    }
    return 0;
}

bool find_token(mortise_str s, uint64_t at, struct span *out)
{
    for (uint64_t i = at; i < s.n; i++) {
        if (!ascii_alnum(s.p[i]))
            continue;
        if (!is_word(before(s, i))) {
            out->from = i;
            out->to = token_end(s, i);
            if (out->to > 0)
                return true;
        }
        while (i + 1 < s.n && is_word(s.p[i + 1]))
            i++;
    }
    return false;
}
