/* test_wire.c -- calls as bytes: there and back, cut, changed, too large. */
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mortise/guardrail.h>

#include "lib/test.h"
#include "core/plugin/kind.h"
#include "core/plugin/wire.h"

/* A message of a type in which every field is something. */
static struct mortise_wire full(enum mortise_wire_type type)
{
    return (struct mortise_wire){
        .type = type,
        .call = 0x0102030405060708,
        .ask = 77,
        .deadline_ns = UINT64_MAX,
        .attempt = 3,
        .visit = 4,
        .flags = MORTISE_REQUEST_HELD,
        .kind = MORTISE_KIND_EXECUTOR,
        .function = 1,
        .stage = MORTISE_STAGE_EDGE,
        .status = MORTISE_S_NOTFOUND,
        .level = MORTISE_LEVEL_DEBUG,
        .name = {"name", 4},
        .run_id = {"run", 3},
        .node_path = {"a/b", 3},
        .idempotency_key = {"k\0y", 3},
        .trace_parent = {"00-1", 4},
        .message = {"words", 5},
        .detail = {"{}", 2},
        .body = {"{\"x\": 1}", 8},
    };
}

static bool same(mortise_str a, mortise_str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, (size_t)a.n) == 0);
}

/* Each field of `got` is that of `sent`, or nothing. */
#define OR_NOTHING(f) ck_assert(got->f == sent->f || got->f == 0)
#define STR_OR_NOTHING(f)                                                      \
    ck_assert(same(got->f, sent->f) || (got->f.n == 0 && got->f.p == NULL))

static void compare(const struct mortise_wire *got,
                    const struct mortise_wire *sent)
{
    ck_assert_int_eq(got->type, sent->type);
    ck_assert_uint_eq(got->call, sent->call);
    OR_NOTHING(ask);
    OR_NOTHING(deadline_ns);
    OR_NOTHING(attempt);
    OR_NOTHING(visit);
    OR_NOTHING(flags);
    OR_NOTHING(kind);
    OR_NOTHING(function);
    OR_NOTHING(stage);
    OR_NOTHING(status);
    OR_NOTHING(level);
    STR_OR_NOTHING(name);
    STR_OR_NOTHING(run_id);
    STR_OR_NOTHING(node_path);
    STR_OR_NOTHING(idempotency_key);
    STR_OR_NOTHING(trace_parent);
    STR_OR_NOTHING(message);
    STR_OR_NOTHING(detail);
    STR_OR_NOTHING(body);
}

static struct mortise_packet encode(const struct mortise_wire *m)
{
    struct mortise_packet p;

    ck_assert_int_eq(mortise_wire_encode(&p, &test_mem, m, NULL), MORTISE_OK);
    return p;
}

static int decode(struct mortise_wire *m, struct mortise_wire_map *map,
                  const struct mortise_packet *p)
{
    return mortise_wire_decode(m, map, p->bytes.p, p->bytes.n, p->fd, NULL);
}

/* What went in comes out, for every type; encoding that again gives the same
 * bytes, so nothing was lost that travels. */
START_TEST(there_and_back)
{
    struct mortise_wire sent = full((enum mortise_wire_type)_i), got;
    struct mortise_wire_map map;
    struct mortise_packet p = encode(&sent), again;

    ck_assert_int_eq(p.fd, -1);
    ck_assert_int_eq(decode(&got, &map, &p), MORTISE_OK);
    compare(&got, &sent);
    again = encode(&got);
    ck_assert_uint_eq(again.bytes.n, p.bytes.n);
    ck_assert_mem_eq(again.bytes.p, p.bytes.p, p.bytes.n);
    mortise_packet_finish(&again);
    mortise_packet_finish(&p);
}
END_TEST

/* The fields that matter most, by name, where they must not be missing. */
START_TEST(a_call_has_all_of_its_request)
{
    struct mortise_wire sent = full(MORTISE_WIRE_CALL), got;
    struct mortise_wire_map map;
    struct mortise_packet p = encode(&sent);

    ck_assert_int_eq(decode(&got, &map, &p), MORTISE_OK);
    ck_assert(same(got.body, sent.body) && same(got.name, sent.name));
    ck_assert(same(got.run_id, sent.run_id));
    ck_assert(same(got.node_path, sent.node_path));
    ck_assert(same(got.idempotency_key, sent.idempotency_key));
    ck_assert(same(got.trace_parent, sent.trace_parent));
    ck_assert_uint_eq(got.attempt, 3);
    ck_assert_uint_eq(got.visit, 4);
    ck_assert_uint_eq(got.flags, MORTISE_REQUEST_HELD);
    ck_assert_uint_eq(got.stage, MORTISE_STAGE_EDGE);
    ck_assert_uint_eq(got.deadline_ns, UINT64_MAX);
    mortise_packet_finish(&p);
}
END_TEST

/* Cut anywhere, or with a byte more, a message is none. */
START_TEST(a_message_is_exactly_its_bytes)
{
    struct mortise_wire sent = full((enum mortise_wire_type)_i), got;
    struct mortise_wire_map map;
    struct mortise_packet p = encode(&sent);

    for (size_t n = 0; n < p.bytes.n; n++) {
        /* Of exactly this size, so that a read behind it shows. */
        char *cut = malloc(n != 0 ? n : 1);

        memcpy(cut, p.bytes.p, n);
        ck_assert_int_eq(mortise_wire_decode(&got, &map, cut, n, -1, NULL),
                         MORTISE_EINVAL);
        free(cut);
    }
    mortise_buf_put_u8(&p.bytes, 0);
    ck_assert_int_eq(decode(&got, &map, &p), MORTISE_EINVAL);
    mortise_packet_finish(&p);
}
END_TEST

/* Whatever byte is changed to whatever: accepted or refused, never astray. */
START_TEST(no_byte_leads_astray)
{
    struct mortise_wire sent = full((enum mortise_wire_type)_i), got;
    struct mortise_wire_map map;
    struct mortise_packet p = encode(&sent);

    for (size_t at = 0; at < p.bytes.n; at++) {
        char was = p.bytes.p[at];

        for (int v = 0; v < 256; v += at < 4 ? 1 : 51) {
            p.bytes.p[at] = (char)v;
            if (decode(&got, &map, &p) == MORTISE_OK)
                mortise_wire_unmap(&map);
        }
        p.bytes.p[at] = was;
    }
    mortise_packet_finish(&p);
}
END_TEST

/* Another version, an unknown type, an unknown flag. */
START_TEST(what_is_unknown_is_refused)
{
    static const struct {
        size_t at;
        char value;
    } odd[] = {{0, 0}, {0, 2}, {1, 0}, {1, MORTISE_WIRE_TYPES}, {2, 2}, {3, 1}};
    struct mortise_wire sent = full(MORTISE_WIRE_LOG), got;
    struct mortise_wire_map map;
    struct mortise_packet p = encode(&sent);
    char was = p.bytes.p[odd[_i].at];

    p.bytes.p[odd[_i].at] = odd[_i].value;
    ck_assert_int_eq(decode(&got, &map, &p), MORTISE_EINVAL);
    p.bytes.p[odd[_i].at] = was;
    ck_assert_int_eq(decode(&got, &map, &p), MORTISE_OK);
    mortise_packet_finish(&p);
}
END_TEST

static char *fill(size_t n)
{
    char *p = malloc(n);

    for (size_t i = 0; i < n; i++)
        p[i] = (char)(i * 7);
    return p;
}

/* A call of a kind, or of a function, that no plugin has is refused. */
START_TEST(calls_of_nothing)
{
    struct mortise_wire sent = full(MORTISE_WIRE_CALL), got;
    struct mortise_wire_map map;
    struct mortise_packet p;

    if (_i == 0)
        sent.kind = MORTISE_KINDS;
    else
        sent.function = 3; /* execute(), reconcile() and background() */
    ck_assert_int_eq(mortise_wire_encode(&p, &test_mem, &sent, NULL),
                     MORTISE_OK);
    ck_assert_int_eq(
        mortise_wire_decode(&got, &map, p.bytes.p, p.bytes.n, -1, NULL),
        MORTISE_EINVAL);
    mortise_packet_finish(&p);
}
END_TEST

/* Up to 64 KiB a body is in the packet, beyond it in a sealed memfd. */
START_TEST(large_bodies_travel_in_memfds)
{
    static const size_t sizes[] = {0, 1, 65536, 65537, 5000000};
    size_t n = sizes[_i];
    char *body = fill(n + 1);
    struct mortise_wire sent = full(MORTISE_WIRE_EMIT), got;
    struct mortise_wire_map map;
    struct mortise_packet p;

    sent.body = (mortise_str){body, n};
    p = encode(&sent);
    ck_assert_int_eq(p.fd >= 0, n > 65536);
    ck_assert_int_eq(decode(&got, &map, &p), MORTISE_OK);
    ck_assert(same(got.body, sent.body));
    if (p.fd >= 0) {
        ck_assert_uint_lt(p.bytes.n, 200);
        ck_assert_int_eq((int)write(p.fd, "x", 1), -1);
        ck_assert_int_eq(ftruncate(p.fd, 10), -1);
    }
    if (p.fd >= 0) { /* the map outlives the descriptor */
        close(p.fd);
        p.fd = -1;
        ck_assert(same(got.body, sent.body));
    }
    mortise_packet_finish(&p);
    mortise_wire_unmap(&map);
    free(body);
}
END_TEST

static int memfd_of(size_t n, int seals)
{
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, (off_t)n), 0);
    ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

/* A body whose sender could still change or cut it, that has another size, that
 * is no memfd or did not come, is refused. */
START_TEST(a_body_must_be_sealed_and_right)
{
    enum { ALL = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK };
    char *body = fill(70000);
    struct mortise_wire sent = full(MORTISE_WIRE_EMIT), got;
    struct mortise_wire_map map;
    struct mortise_packet p;
    int good, fds[6];

    sent.body = (mortise_str){body, 70000};
    p = encode(&sent);
    good = p.fd;
    fds[0] = memfd_of(70000, ALL & ~F_SEAL_WRITE);
    fds[1] = memfd_of(70000, ALL & ~F_SEAL_SHRINK);
    fds[2] = memfd_of(70000, ALL & ~F_SEAL_GROW);
    fds[3] = memfd_of(69999, ALL);
    fds[4] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    fds[5] = -1;
    for (int i = 0; i < 6; i++) {
        p.fd = fds[i];
        ck_assert_int_eq(decode(&got, &map, &p), MORTISE_EINVAL);
        ck_assert_ptr_null(map.p);
        if (fds[i] >= 0)
            close(fds[i]);
    }
    p.fd = good;
    ck_assert_int_eq(decode(&got, &map, &p), MORTISE_OK);
    mortise_wire_unmap(&map);
    mortise_packet_finish(&p);
    free(body);
}
END_TEST

/* A body that fits the packet must be there, a large one must not: one message
 * has one encoding. */
START_TEST(one_message_has_one_encoding)
{
    struct mortise_wire sent = full(MORTISE_WIRE_CREATE), got;
    struct mortise_wire_map map;
    struct mortise_packet p = encode(&sent);
    int fd = memfd_of(8, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK);

    p.bytes.p[2] = 1; /* in a memfd, says the flag */
    p.bytes.n -= 8;
    p.fd = fd;
    ck_assert_int_eq(decode(&got, &map, &p), MORTISE_EINVAL);
    mortise_packet_finish(&p);
}
END_TEST

/* What is too large is refused when it is sent. */
START_TEST(too_large_is_refused)
{
    struct mortise_wire sent = full(MORTISE_WIRE_EMIT);
    struct mortise_packet p;
    char *text = fill(200000);

    sent.body.n = MORTISE_WIRE_BODY_MAX + 1u; /* never read */
    ck_assert_int_eq(mortise_wire_encode(&p, &test_mem, &sent, NULL),
                     MORTISE_ELIMIT);
    sent = full(MORTISE_WIRE_FAIL);
    sent.message = (mortise_str){text, 200000};
    ck_assert_int_eq(mortise_wire_encode(&p, &test_mem, &sent, NULL),
                     MORTISE_ELIMIT);
    free(text);
}
END_TEST

/* Crossing gives the same message in other memory, or nothing at all. */
START_TEST(crossing_survives_oom)
{
    char *body = fill(100000);
    bool failed;
    int n = 0;

    do {
        struct mortise_wire msg = full(MORTISE_WIRE_CALL);
        struct mortise_wire sent = msg;
        struct mortise_wire_storage held;
        int rv;

        if (_i == 1)
            msg.body = sent.body = (mortise_str){body, 100000};
        test_mem_fail_at(n++);
        rv = mortise_wire_round_trip(&msg, &held, &test_mem, NULL);
        failed = test_mem_failed();
        test_mem_fail_at(-1);
        ck_assert_int_eq(rv, failed ? MORTISE_ENOMEM : MORTISE_OK);
        if (rv == MORTISE_OK) {
            compare(&msg, &sent);
            ck_assert_ptr_ne(msg.body.p, sent.body.p);
            ck_assert_ptr_ne(msg.name.p, sent.name.p);
            mortise_wire_release(&held);
        }
    } while (failed);
    ck_assert_int_gt(n, 1);
    free(body);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("wire");
    TCase *tc = tcase_create("wire");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_add_loop_test(tc, there_and_back, 1, MORTISE_WIRE_TYPES);
    tcase_add_test(tc, a_call_has_all_of_its_request);
    tcase_add_loop_test(tc, a_message_is_exactly_its_bytes, 1,
                        MORTISE_WIRE_TYPES);
    tcase_add_loop_test(tc, calls_of_nothing, 0, 2);
    tcase_add_loop_test(tc, no_byte_leads_astray, 1, MORTISE_WIRE_TYPES);
    tcase_add_loop_test(tc, what_is_unknown_is_refused, 0, 6);
    tcase_add_loop_test(tc, large_bodies_travel_in_memfds, 0, 5);
    tcase_add_test(tc, a_body_must_be_sealed_and_right);
    tcase_add_test(tc, one_message_has_one_encoding);
    tcase_add_test(tc, too_large_is_refused);
    tcase_add_loop_test(tc, crossing_survives_oom, 0, 2);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
