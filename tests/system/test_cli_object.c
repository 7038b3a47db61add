/* test_cli_object.c -- `mortise plugin check`: a bad object for each code, made
 * by a compiler where one would make it, bent by hand where not. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/desk.h"
#include "cli/refusals.h"

static char *so;
static size_t n_so;

static void take(const char *plugin)
{
    char path[128];

    snprintf(path, sizeof path, "tests/plugins/%s.so", plugin);
    free(so);
    so = test_read(child_build(path), &n_so);
}

static void begin(void)
{
    desk_begin();
    so = NULL;
    take("ok_inline");
}

static void end(void)
{
    free(so);
    desk_end();
}

/* ---- bending ------------------------------------------------------------- */

static Elf64_Phdr *segment(uint32_t type)
{
    Elf64_Ehdr *eh = (Elf64_Ehdr *)(void *)so;
    Elf64_Phdr *all = (Elf64_Phdr *)(void *)(so + eh->e_phoff);

    for (int i = 0; i < eh->e_phnum; i++)
        if (all[i].p_type == type)
            return &all[i];
    ck_abort_msg("no such segment");
    return NULL;
}

static Elf64_Dyn *tag(int64_t which)
{
    Elf64_Dyn *d = (Elf64_Dyn *)(void *)(so + segment(PT_DYNAMIC)->p_offset);

    while (d->d_tag != which) {
        ck_assert_int_ne(d->d_tag, DT_NULL);
        d++;
    }
    return d;
}

/* The string of the dynamic symbols that begins so. */
static char *text(const char *s)
{
    /* The table lies in the first segment. */
    char *table = so + tag(DT_STRTAB)->d_un.d_ptr;
    size_t n = tag(DT_STRSZ)->d_un.d_val;

    for (char *p = table + 1; p < table + n; p += strlen(p) + 1)
        if (strncmp(p, s, strlen(s)) == 0)
            return p;
    ck_abort_msg("no '%s'", s);
    return NULL;
}

/* The needed library is another one now, whose name takes the place of a weak
 * symbol's. */
static void need(const char *library)
{
    char *strings = so + tag(DT_STRTAB)->d_un.d_ptr;
    char *room = text("_ITM_deregisterTMCloneTable");

    strcpy(room, library);
    tag(DT_NEEDED)->d_un.d_val = (uint64_t)(room - strings);
}

static void bend(const char *code)
{
    if (strcmp(code, "P0101") == 0)
        n_so = 2000; /* behind its loadable part may be half of it */
    else if (strcmp(code, "P0102") == 0)
        ((Elf64_Ehdr *)(void *)so)->e_machine = EM_S390;
    else if (strcmp(code, "P0103") == 0)
        segment(PT_LOAD)->p_flags = PF_R | PF_W | PF_X;
    else if (strcmp(code, "P0106") == 0)
        tag(DT_FLAGS)->d_un.d_val |= DF_TEXTREL;
    else if (strcmp(code, "P0108") == 0)
        tag(DT_INIT_ARRAYSZ)->d_tag = DT_DEPAUDIT;
    else if (strcmp(code, "P0109") == 0)
        tag(DT_INIT_ARRAYSZ)->d_tag = DT_FILTER;
    else if (strcmp(code, "P0115") == 0)
        memcpy(text("GLIBC_2."), "GLIBC_9.", 8);
    else if (strcmp(code, "P0116") == 0)
#if defined(__x86_64__)
        need("ld-linux-aarch64.so.1");
#else
        need("ld-linux-x86-64.so.2");
#endif
    else if (strcmp(code, "P0117") == 0)
        memcpy(text("memchr"), "nobody", 6);
    else if (strcmp(code, "P0118") == 0)
        desk_put("bad.plugin.yaml",
                 "apiVersion: mortise/v1\nkind: Plugin\n"
                 "metadata: {name: acme.other, version: 1.0.0}\nseq: 1\n"
                 "abi: {major: 1, minor: 0}\nruntime: c\n"
                 "provides: {executor: {threading: inline, operations: "
                 "{run: {effect: pure}}}}\n");
    else
        ck_abort_msg("%s cannot be bent", code);
}

/* ---- tests --------------------------------------------------------------- */

static const struct {
    const char *code, *plugin; /* NULL: bent */
    const char *words;
} bad[] = {
    {"P0101", NULL, "not a loadable shared object"},
    {"P0102", NULL, "was built for another machine"},
    {"P0103", NULL, "writable and executable"},
    {"P0104", "exec_stack", "-z noexecstack"},
    {"P0105", "rpath", "without -rpath"},
    {"P0106", NULL, "-fPIC"},
    {"P0107", "needs_library", "statically (this host has libuv.so.1)"},
    {"P0108", NULL, "--depaudit"},
    {"P0109", NULL, "--filter"},
    {"P0110", "imports_host", "create()"},
    {"P0111", "extra_symbol", "exports acme_helper; "},
    {"P0112", "no_entry", "MORTISE_MODULE"},
    {"P0113", "small_module", "sizeof(mortise_module)"},
    {"P0114", "wrong_major", "abi 2.0"},
    {"P0115", NULL, "needs glibc 9."},
    {"P0116", NULL, "install it, or link"},
    {"P0117", NULL, "imports nobody, which none"},
    {"P0118", NULL,
     "its manifest has the plugin acme.other 1.0.0, but its module has"},
};
enum { N_BAD = sizeof bad / sizeof bad[0] };

/* Each code has an object that gets it, alone, with its remedy. */
START_TEST(each_code)
{
    char line[8192];

    if (bad[_i].plugin != NULL)
        take(bad[_i].plugin);
    else
        bend(bad[_i].code);
    snprintf(line, sizeof line, "%s/bad.so", desk_dir);
    test_write(line, so, n_so);
    child_run("$MORTISE plugin check bad.so");
    desk_code(2);
    ck_assert_int_eq(strncmp(child.out, "bad.so: would be rejected\n", 25), 0);
    snprintf(line, sizeof line, "\n  %s ", bad[_i].code);
    desk_out(line);
    desk_out(bad[_i].words);
    ck_assert_ptr_null(strstr(strstr(child.out, "\n  P") + 1, "\n  P"));
    desk_ok("$MORTISE explain %s", bad[_i].code);
}
END_TEST

/* No code is without such an object. */
START_TEST(all_codes)
{
    ck_assert_uint_eq(mortise_n_refusals, N_BAD);
    for (size_t i = 0; i < N_BAD; i++)
        ck_assert_str_eq(mortise_refusals[i].code, bad[i].code);
}
END_TEST

/* One refusal does not hide another. */
START_TEST(all_of_one_object)
{
    char path[8192];

    take("extra_symbol");
    bend("P0103");
    bend("P0106");
    bend("P0115");
    snprintf(path, sizeof path, "%s/bad.so", desk_dir);
    test_write(path, so, n_so);
    child_run("$MORTISE plugin check bad.so");
    desk_code(2);
    desk_out("  P0103 ");
    desk_out("  P0106 ");
    desk_out("  P0111 ");
    desk_out("  P0115 ");
    child_run("$MORTISE plugin check bad.so --json");
    desk_code(2);
    desk_out("\"ok\": false");
    desk_out("\"code\": \"P0106\"");
}
END_TEST

/* A good one: what it needs, the glibc, its imports. */
START_TEST(good)
{
    desk_ok("$MORTISE plugin check %s",
            child_build("tests/plugins/ok_inline.so"));
    desk_out(": can be signed and loaded\n");
    desk_out("needs    libc.so.6");
    desk_out("glibc    2.");
    desk_out("imports  ");
    desk_ok("$MORTISE plugin check --json %s",
            child_build("tests/plugins/ok_inline.so"));
    desk_out("\"ok\": true");
    desk_out("\"host_glibc\": \"2.");
    desk_not_out("effect  ");
    child_run("$MORTISE plugin check none.so");
    desk_code(3);
    desk_err("none.so: No such file");
}
END_TEST

/* How effects happen, by the manifest beside it; and what is wrong there. */
START_TEST(intents)
{
    desk_ok("$MORTISE plugin check %s", child_build("plugins/http.so"));
    desk_out("effect   request (intent: steps)\n");
    desk_out("effect   submit (intent: steps)\n");
    desk_not_out("get (");
    desk_ok("$MORTISE plugin check %s --json", child_build("plugins/file.so"));
    desk_out("\"write\": \"call\"");
    desk_ok("cp %s acts.so; printf 'apiVersion: mortise/v1\\nkind: Plugin\\n"
            "metadata: {name: acts, version: 1.0.0}\\nseq: 1\\n"
            "abi: {major: 1, minor: 0}\\nprovides: {executor: {threading: "
            "inline, operations: {a: {effect: write, intent: steps}}}}\\n' "
            ">acts.plugin.yaml",
            child_build("tests/plugins/ok_inline.so"));
    child_run("$MORTISE plugin check acts.so");
    desk_code(2);
    desk_err("E0706");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_object");
    TCase *tc = tcase_create("object");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, each_code, 0, N_BAD);
    tcase_add_test(tc, all_codes);
    tcase_add_test(tc, all_of_one_object);
    tcase_add_test(tc, good);
    tcase_add_test(tc, intents);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
