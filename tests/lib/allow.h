/* allow.h -- a word for a deployment, as `mortise config allow` gives it, for
 * tests that are about something else. */
#ifndef TEST_ALLOW_H
#define TEST_ALLOW_H

/* One that cannot be read is left alone. */
void test_allow(const char *path);

#endif
