/* find.h -- finders of personal data in text; of the pii guardrail.
 *
 * Threads    No state. */
#ifndef PII_FIND_H
#define PII_FIND_H

#include "../../finder.h"

/* The surer ones first: where two overlap, the earlier kind is meant. */
enum kind { IBAN, CARD, MAC, IP, MAIL, PHONE, KINDS };

find_fn find_iban, find_card, find_mac, find_ip, find_mail, find_phone;

/* Is one of the words ahead of `from`, in whatever case, with some of `signs`
 * between, `most` of them? */
static inline bool is_behind_word(mortise_str s, uint64_t from,
                                  const char *signs, uint64_t most,
                                  const char *const *words, size_t n_words)
{
    uint64_t end = from, begin;

    while (end > 0 && from - end < most && s.p[end - 1] != '\0' &&
           strchr(signs, s.p[end - 1]) != NULL)
        end--;
    begin = end;
    while (begin > 0 && end - begin < 12 && is_word(s.p[begin - 1]))
        begin--;
    for (size_t i = 0; i < n_words && end < from; i++) {
        const size_t n = strlen(words[i]);
        size_t k = 0;

        while (k < n && n == end - begin &&
               ascii_upper(s.p[begin + k]) == ascii_upper(words[i][k]))
            k++;
        if (k == n)
            return true;
    }
    return false;
}

#endif
