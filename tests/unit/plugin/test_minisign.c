/* test_minisign.c -- keys and signatures, against stock minisign both ways. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/test.h"
#include "lang/manifest/seckey.h"

static char dir[4096];

static void setup(void)
{
    test_begin();
    snprintf(dir, sizeof dir, "%s", test_mkdir());
    ck_assert_int_eq(chdir(dir), 0);
}

static void teardown(void)
{
    ck_assert_int_eq(chdir("/"), 0);
    test_rmdir(dir);
    test_nothing_left();
}

/* Run a shell command silently; its exit status. */
static int sh(const char *cmd)
{
    char line[4096];
    int st;

    snprintf(line, sizeof line, "( %s ) >sh.out 2>&1", cmd);
    st = system(line);
    return WIFEXITED(st) ? WEXITSTATUS(st) : -1;
}

static struct mortise_seckey new_key(void)
{
    struct mortise_seckey sk;

    ck_assert_int_eq(mortise_seckey_new(&sk, NULL), MORTISE_OK);
    return sk;
}

static struct mortise_pubkey public_of(const struct mortise_seckey *sk)
{
    struct mortise_pubkey pk;

    mortise_seckey_public(sk, &pk);
    return pk;
}

/* Signs into a static buffer, NUL-terminated. */
static char *sign(const struct mortise_seckey *sk, const char *text,
                  const char *comment)
{
    static char out[16384];
    struct mortise_buf b;

    mortise_buf_init(&b, &test_mem);
    ck_assert_int_eq(
        mortise_minisign_sign(&b, sk, text, strlen(text), comment, NULL),
        MORTISE_OK);
    ck_assert_uint_lt(b.n, sizeof out);
    memcpy(out, b.p, b.n);
    out[b.n] = '\0';
    mortise_buf_finish(&b);
    return out;
}

/* Parse and verify; the words of a refusal are in err. */
static int verify(const char *sig, const struct mortise_pubkey *pk,
                  const char *text, struct mortise_err *err)
{
    struct mortise_minisig s;
    int rv = mortise_minisign_parse(&s, sig, strlen(sig), err);

    return rv != MORTISE_OK
               ? rv
               : mortise_minisign_verify(&s, pk, text, strlen(text), err);
}

/* Stock minisign verifies what we sign, trusted comment included. */
START_TEST(stock_verifies_ours)
{
    struct mortise_seckey sk = new_key();
    struct mortise_pubkey pk = public_of(&sk);
    const char *sig = sign(&sk, "hello", "name:x version:1 seq:1 timestamp:2");
    char *out;

    test_write("f", "hello", 5);
    test_write("f.minisig", sig, strlen(sig));
    ck_assert_int_eq(mortise_pubkey_write("k.pub", &pk, NULL), MORTISE_OK);
    ck_assert_int_eq(sh("minisign -Vm f -p k.pub"), 0);
    out = test_read("sh.out", NULL);
    ck_assert_ptr_nonnull(strstr(out, "name:x version:1 seq:1 timestamp:2"));
    free(out);
    test_write("f", "hellO", 5);
    ck_assert_int_ne(sh("minisign -Vm f -p k.pub"), 0);
    mortise_seckey_wipe(&sk);
}
END_TEST

/* We read stock minisign's keys and verify what it signs. */
START_TEST(ours_verifies_stock)
{
    struct mortise_seckey sk;
    struct mortise_pubkey pk, again;
    struct mortise_err err;
    char *sig;

    test_write("f", "hello", 5);
    ck_assert_int_eq(sh("minisign -G -W -p k.pub -s k.key"), 0);
    ck_assert_int_eq(sh("minisign -S -s k.key -m f -t 'two words'"), 0);
    ck_assert_int_eq(mortise_pubkey_read(&pk, "k.pub", &err), MORTISE_OK);
    sig = test_read("f.minisig", NULL);
    ck_assert_int_eq(verify(sig, &pk, "hello", &err), MORTISE_OK);
    ck_assert_int_eq(verify(sig, &pk, "hellO", &err), MORTISE_EDENIED);
    free(sig);
    ck_assert_int_eq(mortise_seckey_read(&sk, "k.key", NULL, &err), MORTISE_OK);
    again = public_of(&sk);
    ck_assert(mortise_pubkey_is_equal(&pk, &again));
    mortise_seckey_wipe(&sk);
}
END_TEST

/* Our secret keys, unencrypted and encrypted, sign with stock minisign. */
START_TEST(stock_signs_with_our_keys)
{
    struct mortise_seckey sk = new_key();
    struct mortise_pubkey pk = public_of(&sk);
    char *sig;

    test_write("f", "hello", 5);
    ck_assert_int_eq(mortise_seckey_write("k.key", &sk, NULL, NULL), 0);
    ck_assert_int_eq(sh("minisign -S -s k.key -m f"), 0);
    sig = test_read("f.minisig", NULL);
    ck_assert_int_eq(verify(sig, &pk, "hello", NULL), MORTISE_OK);
    free(sig);
    ck_assert_int_eq(unlink("f.minisig"), 0);

    ck_assert_int_eq(mortise_seckey_write("e.key", &sk, "pass word", NULL), 0);
    ck_assert_int_eq(sh("echo 'pass word' | minisign -S -s e.key -m f"), 0);
    sig = test_read("f.minisig", NULL);
    ck_assert_int_eq(verify(sig, &pk, "hello", NULL), MORTISE_OK);
    free(sig);
    mortise_seckey_wipe(&sk);
}
END_TEST

/* A secret key comes back with its password, and not without or with another;
 * its file is ours alone and never replaced. */
START_TEST(secret_keys_round_trip)
{
    struct mortise_seckey sk = new_key(), back;
    struct mortise_err err;
    struct stat st;
    bool encrypted;

    ck_assert_int_eq(mortise_seckey_write("e.key", &sk, "p", &err), MORTISE_OK);
    ck_assert_int_eq(stat("e.key", &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0600);
    ck_assert_int_eq(mortise_seckey_write("e.key", &sk, "p", &err),
                     MORTISE_EEXISTS);
    ck_assert_int_eq(mortise_seckey_is_encrypted(&encrypted, "e.key", &err),
                     MORTISE_OK);
    ck_assert(encrypted);
    ck_assert_int_eq(mortise_seckey_read(&back, "e.key", "p", &err),
                     MORTISE_OK);
    ck_assert_mem_eq(&back, &sk, sizeof sk);
    ck_assert_int_eq(mortise_seckey_read(&back, "e.key", "q", &err),
                     MORTISE_EDENIED);
    ck_assert_ptr_nonnull(strstr(err.msg, "wrong password"));
    ck_assert_int_eq(mortise_seckey_read(&back, "e.key", NULL, &err),
                     MORTISE_EDENIED);
    ck_assert_ptr_nonnull(strstr(err.msg, "password"));

    ck_assert_int_eq(mortise_seckey_write("k.key", &sk, NULL, &err),
                     MORTISE_OK);
    ck_assert_int_eq(mortise_seckey_is_encrypted(&encrypted, "k.key", &err),
                     MORTISE_OK);
    ck_assert(!encrypted);
    ck_assert_int_eq(mortise_seckey_read(&back, "k.key", NULL, &err),
                     MORTISE_OK);
    ck_assert_mem_eq(&back, &sk, sizeof sk);
}
END_TEST

/* A secret key whose halves were mixed would leak the secret when used. */
START_TEST(a_mixed_secret_key_is_refused)
{
    struct mortise_seckey sk = new_key(), other = new_key(), back;
    struct mortise_err err;

    memcpy(sk.key + 32, other.key + 32, 32);
    ck_assert_int_eq(mortise_seckey_write("k.key", &sk, NULL, &err),
                     MORTISE_OK);
    ck_assert_int_eq(mortise_seckey_read(&back, "k.key", NULL, &err),
                     MORTISE_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "damaged"));
}
END_TEST

/* The legacy form is refused by name, made by stock or by relabelling. */
START_TEST(legacy_is_refused)
{
    struct mortise_pubkey pk;
    struct mortise_err err;
    char *sig;

    test_write("f", "hello", 5);
    ck_assert_int_eq(sh("minisign -G -W -p k.pub -s k.key"), 0);
    ck_assert_int_eq(sh("minisign -S -l -s k.key -m f"), 0);
    ck_assert_int_eq(mortise_pubkey_read(&pk, "k.pub", &err), MORTISE_OK);
    sig = test_read("f.minisig", NULL);
    ck_assert_int_eq(verify(sig, &pk, "hello", &err), MORTISE_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "legacy"));
    free(sig);
}
END_TEST

/* Another key, another key with the same id, another comment: refused. */
START_TEST(what_does_not_belong_is_refused)
{
    struct mortise_seckey sk = new_key(), other = new_key();
    struct mortise_pubkey pk = public_of(&sk), wrong = public_of(&other);
    struct mortise_err err;
    char *sig = sign(&sk, "hello", "abc"), *at;

    ck_assert_int_eq(verify(sig, &wrong, "hello", &err), MORTISE_EDENIED);
    ck_assert_ptr_nonnull(strstr(err.msg, "another key"));
    memcpy(wrong.id, pk.id, sizeof pk.id);
    ck_assert_int_eq(verify(sig, &wrong, "hello", &err), MORTISE_EDENIED);
    ck_assert_int_eq(verify(sig, &pk, "hello", &err), MORTISE_OK);
    at = strstr(sig, "abc");
    at[1] = 'B';
    ck_assert_int_eq(verify(sig, &pk, "hello", &err), MORTISE_EDENIED);
    ck_assert_ptr_nonnull(strstr(err.msg, "trusted comment"));
}
END_TEST

/* Cut anywhere, a signature is none; nor is it with something behind. */
START_TEST(a_signature_is_exactly_its_lines)
{
    struct mortise_seckey sk = new_key();
    struct mortise_pubkey pk = public_of(&sk);
    struct mortise_minisig s;
    struct mortise_err err;
    char *sig = sign(&sk, "hello", "abc"), more[16384];
    size_t n = strlen(sig);

    ck_assert_int_eq(verify(sig, &pk, "hello", &err), MORTISE_OK);
    for (size_t cut = 0; cut < n - 1; cut++)
        ck_assert_int_ne(mortise_minisign_parse(&s, sig, cut, &err),
                         MORTISE_OK);
    /* Without the last newline it is whole, as stock minisign thinks too. */
    ck_assert_int_eq(mortise_minisign_parse(&s, sig, n - 1, &err), MORTISE_OK);
    snprintf(more, sizeof more, "%s\n", sig);
    ck_assert_int_eq(verify(more, &pk, "hello", &err), MORTISE_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "more data after"));
    snprintf(more, sizeof more, "%s%s", sig, sig);
    ck_assert_int_eq(verify(more, &pk, "hello", &err), MORTISE_EINVAL);
}
END_TEST

/* A changed byte anywhere makes a signature refused, but for the first line,
 * which promises nothing, and for line ends. */
START_TEST(every_byte_counts)
{
    struct mortise_seckey sk = new_key();
    struct mortise_pubkey pk = public_of(&sk);
    char *sig = sign(&sk, "hello", "name:x version:1.2 seq:3 timestamp:4");

    for (char *p = strchr(sig, '\n') + 1; *p != '\0'; p++) {
        char was = *p;

        if (was == '\n')
            continue;
        *p = was == 'A' ? 'B' : 'A';
        ck_assert_int_ne(verify(sig, &pk, "hello", NULL), MORTISE_OK);
        *p = was;
    }
    ck_assert_int_eq(verify(sig, &pk, "hello", NULL), MORTISE_OK);
}
END_TEST

/* Public keys: as text or as a file, and nothing else. */
START_TEST(public_keys_parse_strictly)
{
    struct mortise_seckey sk = new_key();
    struct mortise_pubkey pk = public_of(&sk), back;
    char text[MORTISE_PUBKEY_TEXT], more[128];

    mortise_pubkey_format(text, &pk);
    ck_assert_int_eq(strncmp(text, "RW", 2), 0);
    ck_assert_int_eq(mortise_pubkey_parse(&back, text, strlen(text), NULL), 0);
    ck_assert(mortise_pubkey_is_equal(&pk, &back));
    for (size_t cut = 0; cut < strlen(text); cut++)
        ck_assert_int_eq(mortise_pubkey_parse(&back, text, cut, NULL),
                         MORTISE_EINVAL);
    snprintf(more, sizeof more, "%s\nx", text);
    ck_assert_int_eq(mortise_pubkey_parse(&back, more, strlen(more), NULL),
                     MORTISE_EINVAL);
    snprintf(more, sizeof more, "SW%s", text + 2);
    ck_assert_int_eq(mortise_pubkey_parse(&back, more, strlen(more), NULL),
                     MORTISE_EINVAL);
}
END_TEST

/* A comment with a line end would forge the lines behind it. */
START_TEST(a_comment_of_two_lines_is_refused)
{
    struct mortise_seckey sk = new_key();
    struct mortise_buf b;

    mortise_buf_init(&b, &test_mem);
    ck_assert_int_eq(mortise_minisign_sign(&b, &sk, "x", 1, "a\nb", NULL),
                     MORTISE_EINVAL);
    mortise_buf_finish(&b);
}
END_TEST

/* What is no file, or too large for a key, is refused without blocking. */
START_TEST(odd_files_are_refused)
{
    struct mortise_seckey sk;
    struct mortise_pubkey pk;
    char *big = calloc(1, 100000);

    ck_assert_int_eq(mkfifo("fifo", 0600), 0);
    test_write("big", big, 100000);
    free(big);
    ck_assert_int_eq(mortise_seckey_read(&sk, "fifo", NULL, NULL),
                     MORTISE_EINVAL);
    ck_assert_int_eq(mortise_seckey_read(&sk, "big", NULL, NULL),
                     MORTISE_EINVAL);
    ck_assert_int_eq(mortise_pubkey_read(&pk, "none", NULL), MORTISE_ENOTFOUND);
    ck_assert_int_eq(mortise_pubkey_read(&pk, "/", NULL), MORTISE_EINVAL);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("minisign");
    TCase *tc = tcase_create("minisign");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, stock_verifies_ours);
    tcase_add_test(tc, ours_verifies_stock);
    tcase_add_test(tc, stock_signs_with_our_keys);
    tcase_add_test(tc, secret_keys_round_trip);
    tcase_add_test(tc, a_mixed_secret_key_is_refused);
    tcase_add_test(tc, legacy_is_refused);
    tcase_add_test(tc, what_does_not_belong_is_refused);
    tcase_add_test(tc, a_signature_is_exactly_its_lines);
    tcase_add_test(tc, every_byte_counts);
    tcase_add_test(tc, public_keys_parse_strictly);
    tcase_add_test(tc, a_comment_of_two_lines_is_refused);
    tcase_add_test(tc, odd_files_are_refused);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
