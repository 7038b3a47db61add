/* find.h -- finders of personal data in text; of the pii guardrail.
 *
 * Threads    No state. */
#ifndef PII_FIND_H
#define PII_FIND_H

#include "../../finder.h"

/* The surer ones first: where two overlap, the earlier kind is meant. */
enum kind { IBAN, CARD, MAC, IP, MAIL, PHONE, KINDS };

find_fn find_iban, find_card, find_mac, find_ip, find_mail, find_phone;

#endif
