/* test_elf.c -- shared objects judged by their bytes: real ones, and one that
 * is bent, cut and lied about in memory. */
#include <check.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "lib/shelf.h"
#include "core/plugin/elf.h"

static char *so; /* ok_inline.so, to be bent */
static size_t n_so;
static struct mortise_err err;

static void setup(void)
{
    test_begin();
    so = test_read(shelf_object("ok_inline"), &n_so);
}

static void teardown(void)
{
    free(so);
    test_nothing_left();
}

/* Judged from a copy of exactly that size, so that a read behind it shows. */
static int judge(size_t n)
{
    char *copy = malloc(n != 0 ? n : 1);
    int rv;

    memcpy(copy, so, n);
    memset(&err, 0, sizeof err);
    rv = mortise_elf_check(copy, n, mortise_elf_get_host_arch(), &err);
    free(copy);
    return rv;
}

static void refused(const char *words)
{
    ck_assert_int_ne(judge(n_so), MORTISE_OK);
    ck_assert_msg(strstr(err.msg, words) != NULL, "'%s' is not in '%s'", words,
                  err.msg);
}

static Elf64_Ehdr *header(void)
{
    return (Elf64_Ehdr *)(void *)so;
}

static Elf64_Phdr *segments(void)
{
    return (Elf64_Phdr *)(void *)(so + header()->e_phoff);
}

static Elf64_Phdr *segment(uint32_t type)
{
    for (int i = 0; i < header()->e_phnum; i++)
        if (segments()[i].p_type == type)
            return &segments()[i];
    ck_abort_msg("no such segment");
    return NULL;
}

/* Where an address is in the file. */
static void *at(uint64_t addr)
{
    for (int i = 0; i < header()->e_phnum; i++) {
        Elf64_Phdr *s = &segments()[i];

        if (s->p_type == PT_LOAD && addr >= s->p_vaddr &&
            addr - s->p_vaddr < s->p_filesz)
            return so + s->p_offset + (addr - s->p_vaddr);
    }
    ck_abort_msg("no such address");
    return NULL;
}

static Elf64_Dyn *tag(int64_t which)
{
    Elf64_Dyn *d = at(segment(PT_DYNAMIC)->p_vaddr);

    while (d->d_tag != which) {
        ck_assert_int_ne(d->d_tag, DT_NULL);
        d++;
    }
    return d;
}

static Elf64_Sym *symbol(const char *name)
{
    Elf64_Sym *s = at(tag(DT_SYMTAB)->d_un.d_ptr);
    const char *strings = at(tag(DT_STRTAB)->d_un.d_ptr);

    for (int i = 1; i < 100; i++)
        if (strcmp(strings + s[i].st_name, name) == 0)
            return &s[i];
    ck_abort_msg("no such symbol");
    return NULL;
}

/* The plugins that behave are fine, and have this machine's architecture. */
START_TEST(good_objects_pass)
{
    const char *arch;

    ck_assert_msg(judge(n_so) == MORTISE_OK, "%s", err.msg);
    ck_assert_int_eq(mortise_elf_get_arch(&arch, so, n_so, &err), MORTISE_OK);
    ck_assert_str_eq(arch, mortise_elf_get_host_arch());
}
END_TEST

static const struct {
    const char *plugin, *words;
} bad[] = {
    {"no_entry", "does not export mortise_module_v1"},
    {"extra_symbol", "exports acme_helper"},
    {"imports_host", "imports mortise_plugins_close"},
    {"rpath", "RPATH"},
    {"exec_stack", "noexecstack"},
    {"needs_library", "needs libuv.so.1"},
};

/* Each rule has a plugin that a compiler made and that breaks it. */
START_TEST(real_offenders_are_refused)
{
    free(so);
    so = test_read(shelf_object(bad[_i].plugin), &n_so);
    refused(bad[_i].words);
    ck_assert_int_eq(err.code, MORTISE_EDENIED);
}
END_TEST

/* What a linker would not easily make, made by hand. */
START_TEST(bent_objects_are_refused)
{
    switch (_i) {
    case 0:
        header()->e_machine = EM_386;
        refused("another machine");
        break;
    case 1:
        header()->e_type = ET_EXEC;
        refused("-shared");
        break;
    case 2:
        header()->e_ident[EI_CLASS] = ELFCLASS32;
        refused("64-bit");
        break;
    case 3:
        header()->e_ident[EI_OSABI] = ELFOSABI_FREEBSD;
        refused("another system");
        break;
    case 4:
        segment(PT_LOAD)->p_flags = PF_R | PF_W | PF_X;
        refused("writable and executable");
        break;
    case 5:
        segment(PT_GNU_STACK)->p_flags |= PF_X;
        refused("executable stack");
        break;
    case 6: /* absent means executable */
        segment(PT_GNU_STACK)->p_type = PT_NOTE;
        refused("executable stack");
        break;
    case 7:
        tag(DT_INIT_ARRAYSZ)->d_tag = DT_TEXTREL;
        refused("text relocations");
        break;
    case 8:
        tag(DT_INIT_ARRAYSZ)->d_tag = DT_RUNPATH;
        refused("RUNPATH");
        break;
    case 9:
        tag(DT_INIT_ARRAYSZ)->d_tag = DT_AUDIT;
        refused("DT_AUDIT");
        break;
    case 10:
        tag(DT_INIT_ARRAYSZ)->d_tag = DT_FILTER;
        refused("DT_FILTER");
        break;
    case 11:
        tag(DT_INIT_ARRAYSZ)->d_tag = DT_AUXILIARY;
        refused("DT_FILTER");
        break;
    case 12:
        tag(DT_FLAGS)->d_un.d_val |= DF_TEXTREL;
        refused("text relocations");
        break;
    case 13:
        tag(DT_FLAGS_1)->d_un.d_val |= DF_1_PIE;
        refused("-pie");
        break;
    case 14: /* as code */
        symbol("mortise_module_v1")->st_info =
            ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
        refused("as code");
        break;
    case 15:
        symbol("mortise_module_v1")->st_info =
            ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC);
        refused("as code");
        break;
    case 16:
        symbol("mortise_module_v1")->st_size = 8;
        refused("too small");
        break;
    case 17: /* beyond the file */
        symbol("mortise_module_v1")->st_value = 1 << 30;
        refused("too small");
        break;
    case 18:
        symbol("mortise_module_v1")->st_other = STV_HIDDEN;
        refused("does not export");
        break;
    case 19:
        tag(DT_NEEDED)->d_un.d_val = tag(DT_STRSZ)->d_un.d_val - 1;
        refused("needs , which");
        break;
    case 20:
        tag(DT_NEEDED)->d_un.d_val = tag(DT_STRSZ)->d_un.d_val;
        refused("outside");
        break;
    default:
        ck_abort();
    }
}
END_TEST

/* An address that two segments claim could be read here and mapped there. */
START_TEST(overlapping_segments_are_refused)
{
    Elf64_Phdr *first = segment(PT_LOAD), *second = first + 1;

    ck_assert_uint_eq(second->p_type, PT_LOAD);
    second->p_vaddr = first->p_vaddr;
    second->p_offset = first->p_offset;
    refused("overlap");
}
END_TEST

/* A second dynamic section could be the one that the linker follows. */
START_TEST(two_dynamic_sections_are_refused)
{
    segment(PT_GNU_RELRO)->p_type = PT_DYNAMIC;
    refused("two dynamic sections");
}
END_TEST

/* A symbol that the hash table hides is still seen. */
START_TEST(the_hash_table_hides_nothing)
{
    uint32_t *hash = at(tag(DT_GNU_HASH)->d_un.d_ptr);

    hash[0] = 0xFFFFFFFF; /* buckets */
    refused("hash table");
    hash[0] = 1;
    hash[1] = 0xFFFFFFFF; /* the first hashed symbol */
    ck_assert_int_ne(judge(n_so), MORTISE_OK);
}
END_TEST

/* Cut before the end of what would be mapped, an object is none; and nothing is
 * read that is not there. */
START_TEST(cut_objects_are_refused)
{
    size_t end = 0;

    for (int i = 0; i < header()->e_phnum; i++) {
        const Elf64_Phdr *s = &segments()[i];

        if (s->p_type == PT_LOAD && s->p_offset + s->p_filesz > end)
            end = (size_t)(s->p_offset + s->p_filesz);
    }
    for (size_t n = 0; n < end; n += n < 1200 ? 1 : 97)
        ck_assert_int_ne(judge(n), MORTISE_OK);
    ck_assert_int_ne(judge(end - 1), MORTISE_OK);
    ck_assert_int_eq(judge(end), MORTISE_OK); /* debug information follows */
}
END_TEST

/* Nor with any byte changed, in what is looked at. */
START_TEST(changed_bytes_lead_nowhere)
{
    char *copy = malloc(n_so);
    unsigned seed = 1;

    memcpy(copy, so, n_so);
    for (int k = 0; k < 20000; k++) {
        size_t where;

        seed = seed * 1103515245u + 12345u;
        where = seed >> 4;
        where %= k % 2 == 0 ? 4096 : n_so;
        copy[where] = (char)(seed >> 20);
        mortise_elf_check(copy, n_so, mortise_elf_get_host_arch(), NULL);
        if (k % 3 == 2) /* sometimes several at once */
            memcpy(copy, so, n_so);
    }
    free(copy);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("elf");
    TCase *tc = tcase_create("elf");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, good_objects_pass);
    tcase_add_loop_test(tc, real_offenders_are_refused, 0, 6);
    tcase_add_loop_test(tc, bent_objects_are_refused, 0, 21);
    tcase_add_test(tc, overlapping_segments_are_refused);
    tcase_add_test(tc, two_dynamic_sections_are_refused);
    tcase_add_test(tc, the_hash_table_hides_nothing);
    tcase_add_test(tc, cut_objects_are_refused);
    tcase_add_test(tc, changed_bytes_lead_nowhere);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
