/* elf.c -- check a shared object before any of its code runs.
 *
 * dlopen() runs constructors, maps the segments that the program headers
 * describe, and loads libraries that were never verified.  Therefore the bytes
 * are checked first, as the dynamic linker reads them: through the program
 * headers and the dynamic section.  The section headers are not used: the
 * linker ignores them, so an attacker can fill them freely.
 *
 * Promises:
 *
 *   (1) No byte outside the file is read.  Every offset is checked against its
 *       segment and every table against its end, and the file's size bounds
 *       every loop.
 *   (2) An address has one meaning: segments ascend and share no page, so the
 *       bytes that are checked are the bytes that will be mapped.
 *   (3) Denied: another machine, no dynamic section, exported symbols other
 *       than mortise_module_v1, imports of mortise_*, RPATH and RUNPATH,
 *       libraries outside the list below, text relocations, memory that is
 *       writable and executable, an executable stack (before glibc 2.41 it
 *       makes the stack of the whole process executable), audit and filter
 *       objects.
 *   (4) The module's list of plugins is read as the linker would relocate it: a
 *       pointer in a shared object has the value of its relocation.  An unusual
 *       encoding gives no answer, never a wrong one.
 *
 * Each finding is one sentence that ends with the remedy, and has a code, which
 * `mortise explain` explains.  Loading stops at the first finding; `mortise
 * plugin check` reports all. */
#include "core/plugin/elf.h"

#include <assert.h>
#include <elf.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "mortise/plugin.h"

static const char ENTRY[] = "mortise_module_v1";

/* Libraries whose unverified constructors may run: the C and C++ runtime, and
 * those of the bundled plugins. */
static const char *const allowed[] = {
    "libc.so.6",
    "libm.so.6",
    "libpthread.so.0",
    "libdl.so.2",
    "librt.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
    "libgcc_s.so.1",
    "libstdc++.so.6",
    "libpcre2-8.so.0",
    "libsodium.so.23",
    "libsqlite3.so.0",
    "libyaml-0.so.2",
    "libflite.so.1",
    "libflite_cmu_us_awb.so.1",
    "libflite_cmu_us_rms.so.1",
    "libflite_cmu_us_slt.so.1",
    "libpocketsphinx.so.3",
    "libsphinxbase.so.3",
};

enum {
    PAGE = 4096,
    SEGMENTS_MAX = 64,
    DYN_MAX = 512,          /* entries; real files have about thirty */
    VERSIONS_MAX = 64,      /* libraries with versions */
    NAME_MAX_BYTES = 16384, /* or hostile names cost quadratic time */
    ENTRY_SIZE = 40,        /* sizeof(mortise_module) of abi 1.0 */
    PLUGINS_MAX = 64,       /* plugins in a module */
    SAYS_MAX = 128,         /* the longest name or version */
    RELOCS_MAX = 1 << 18
};

/* elf.h defines DT_RELR and DT_RELRSZ since glibc 2.36. */
enum { TAG_RELR = 36, TAG_RELRSZ = 35 };

/* The tags of the dynamic section that are checked. */
struct dynamic {
    uint64_t symtab, strtab, strsz, hash, gnu_hash, syment;
    uint64_t flags, flags_1, verneed, n_verneed;
    uint64_t rela, relasz, relr, relrsz;
    bool rpath, textrel, audit, filter; /* rpath: RPATH or RUNPATH */
};

struct object {
    const unsigned char *p; /* lent */
    size_t n;
    Elf64_Phdr load[SEGMENTS_MAX]; /* PT_LOAD, ascending */
    size_t n_load;
    Elf64_Phdr dynamic; /* p_type PT_NULL: not seen yet */
    uint32_t stack;     /* p_flags of PT_GNU_STACK */
    bool has_stack;
    struct dynamic dyn;
    struct mortise_err *err;
    const struct mortise_elf_visitor *visitor; /* NULL: stop at 1st finding */
    uint64_t entry; /* address of mortise_module_v1 */
};

/* Report a broken rule.  MORTISE_OK if a visitor wants the remaining
 * findings. */
static int report_violation(struct object *o, const char *code, const char *fmt,
                            ...) MORTISE_PRINTF(3, 4);
static int report_violation(struct object *o, const char *code, const char *fmt,
                            ...)
{
    char words[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(words, sizeof words, fmt, ap);
    va_end(ap);
    if (o->visitor == NULL)
        return mortise_fail(o->err, MORTISE_EDENIED, "%s (%s)", words, code);
    if (o->visitor->refused != NULL)
        o->visitor->refused(o->visitor->ud, code, words);
    return MORTISE_OK;
}

/* Report that the file cannot be checked any further. */
static int fail_unreadable(struct object *o, const char *code, const char *what)
{
    const char *const words = "not a loadable shared object: ";
    char text[256];

    snprintf(text, sizeof text, "%s%s", words, what);
    if (o->visitor != NULL && o->visitor->refused != NULL)
        o->visitor->refused(o->visitor->ud, code, text);
    return mortise_fail(o->err, MORTISE_EINVAL, "%s (%s)", text, code);
}

static int fail_malformed(struct object *o, const char *what)
{
    return fail_unreadable(o, "P0101", what);
}

/* ---- reading ------------------------------------------------------------- */

/* Copy n bytes at a file offset. */
static bool read_at_offset(const struct object *o, uint64_t off, void *out,
                           size_t n)
{
    if (off > o->n || o->n - off < n)
        return false;
    memcpy(out, o->p + off, n);
    return true;
}

/* The file's bytes at an address, and the number of bytes left in the segment;
 * NULL: none. */
static const unsigned char *find_bytes_at(const struct object *o, uint64_t addr,
                                          size_t *left)
{
    for (size_t i = 0; i < o->n_load; i++) {
        const Elf64_Phdr *s = &o->load[i];

        if (addr < s->p_vaddr || addr - s->p_vaddr >= s->p_filesz)
            continue;
        addr -= s->p_vaddr;
        assert(s->p_offset <= o->n && s->p_filesz <= o->n - s->p_offset);
        *left = (size_t)(s->p_filesz - addr);
        return o->p + s->p_offset + addr;
    }
    return NULL;
}

static bool read_at_address(const struct object *o, uint64_t addr, void *out,
                            size_t n)
{
    size_t left;
    const unsigned char *p = find_bytes_at(o, addr, &left);

    if (p == NULL || left < n)
        return false;
    memcpy(out, p, n);
    return true;
}

/* A string of the string table; NULL if it is not terminated there. */
static const char *get_table_string(const struct object *o, uint64_t off)
{
    size_t left;
    const unsigned char *p;

    if (off >= o->dyn.strsz || o->dyn.strtab > UINT64_MAX - off)
        return NULL;
    p = find_bytes_at(o, o->dyn.strtab + off, &left);
    if (p == NULL)
        return NULL;
    if (left > o->dyn.strsz - off)
        left = (size_t)(o->dyn.strsz - off);
    if (left > NAME_MAX_BYTES)
        left = NAME_MAX_BYTES;
    return memchr(p, '\0', left) != NULL ? (const char *)p : NULL;
}

/* ---- header and segments ------------------------------------------------- */

static const char *name_of_machine(uint16_t machine)
{
    return machine == EM_X86_64    ? "x86_64-linux-gnu"
           : machine == EM_AARCH64 ? "aarch64-linux-gnu"
                                   : NULL;
}

const char *mortise_elf_get_host_arch(void)
{
#if defined(__x86_64__)
    return name_of_machine(EM_X86_64);
#elif defined(__aarch64__)
    return name_of_machine(EM_AARCH64);
#else
#error "plugins have a name for no other machine yet"
#endif
}

static int read_elf_header(struct object *o, Elf64_Ehdr *eh)
{
    if (!read_at_offset(o, 0, eh, sizeof *eh) ||
        memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0)
        return fail_malformed(o, "it is not an ELF file");
    if (eh->e_ident[EI_CLASS] != ELFCLASS64 ||
        eh->e_ident[EI_DATA] != ELFDATA2LSB ||
        eh->e_ident[EI_VERSION] != EV_CURRENT || eh->e_version != EV_CURRENT)
        return fail_unreadable(o, "P0102",
                               "it is not a 64-bit little-endian ELF file");
    if (eh->e_ident[EI_OSABI] != ELFOSABI_SYSV &&
        eh->e_ident[EI_OSABI] != ELFOSABI_LINUX)
        return fail_unreadable(o, "P0102",
                               "it was built for another system than Linux");
    if (eh->e_type != ET_DYN)
        return fail_malformed(o, "it is not of type DYN; link it with -shared");
    return MORTISE_OK;
}

/* Add a PT_LOAD segment: inside the file, after the previous one, on separate
 * pages. */
static int add_load(struct object *o, const Elf64_Phdr *ph)
{
    const Elf64_Phdr *last = o->n_load != 0 ? &o->load[o->n_load - 1] : NULL;

    if (ph->p_filesz > ph->p_memsz || ph->p_offset > o->n ||
        o->n - ph->p_offset < ph->p_filesz)
        return fail_malformed(o, "a segment lies outside the file");
    if (ph->p_vaddr > UINT64_MAX / 2 || ph->p_memsz > UINT64_MAX / 4 ||
        ph->p_vaddr % PAGE != ph->p_offset % PAGE)
        return fail_malformed(o, "a segment has an invalid address");
    if (last != NULL &&
        (last->p_vaddr + last->p_memsz + PAGE - 1) / PAGE > ph->p_vaddr / PAGE)
        return fail_malformed(o, "its segments overlap");
    assert(o->n_load < SEGMENTS_MAX); /* read_segments() bounds the number */
    o->load[o->n_load++] = *ph;
    if ((ph->p_flags & PF_W) != 0 && (ph->p_flags & PF_X) != 0)
        return report_violation(
            o, "P0103",
            "has memory that is both writable and executable; link "
            "it without -N and without writable code sections");
    return MORTISE_OK;
}

static int add_segment(struct object *o, const Elf64_Phdr *ph)
{
    switch (ph->p_type) {
    case PT_LOAD:
        return add_load(o, ph);
    case PT_DYNAMIC:
        if (o->dynamic.p_type == PT_DYNAMIC)
            return fail_malformed(o, "it has two dynamic sections");
        o->dynamic = *ph;
        return MORTISE_OK;
    case PT_GNU_STACK:
        o->has_stack = true;
        o->stack |= ph->p_flags;
        return MORTISE_OK;
    default:
        return MORTISE_OK;
    }
}

static int read_segments(struct object *o, const Elf64_Ehdr *eh)
{
    if (eh->e_phentsize != sizeof(Elf64_Phdr) || eh->e_phnum == 0 ||
        eh->e_phnum > SEGMENTS_MAX)
        return fail_malformed(o, "its program headers are missing or too many");
    for (uint64_t i = 0; i < eh->e_phnum; i++) {
        Elf64_Phdr ph;
        int rv;

        if (eh->e_phoff > o->n ||
            !read_at_offset(o, eh->e_phoff + i * sizeof ph, &ph, sizeof ph))
            return fail_malformed(o,
                                  "its program headers are outside the file");
        rv = add_segment(o, &ph);
        if (rv != MORTISE_OK)
            return rv;
    }
    if (o->n_load == 0 || o->dynamic.p_type != PT_DYNAMIC)
        return fail_malformed(
            o, "it has no dynamic section; link it with -shared");
    if (!o->has_stack || (o->stack & PF_X) != 0)
        return report_violation(
            o, "P0104",
            "requests an executable stack; link it with -z noexecstack "
            "(assembler files need a .note.GNU-stack section)");
    return MORTISE_OK;
}

/* ---- the dynamic section ------------------------------------------------- */

static void record_tag(struct dynamic *d, const Elf64_Dyn *e)
{
    static const struct {
        int64_t tag;
        size_t at; /* offset of the field */
    } numbers[] = {
        {DT_SYMTAB, offsetof(struct dynamic, symtab)},
        {DT_SYMENT, offsetof(struct dynamic, syment)},
        {DT_STRTAB, offsetof(struct dynamic, strtab)},
        {DT_STRSZ, offsetof(struct dynamic, strsz)},
        {DT_HASH, offsetof(struct dynamic, hash)},
        {DT_GNU_HASH, offsetof(struct dynamic, gnu_hash)},
        {DT_VERNEED, offsetof(struct dynamic, verneed)},
        {DT_VERNEEDNUM, offsetof(struct dynamic, n_verneed)},
        {DT_RELA, offsetof(struct dynamic, rela)},
        {DT_RELASZ, offsetof(struct dynamic, relasz)},
        {TAG_RELR, offsetof(struct dynamic, relr)},
        {TAG_RELRSZ, offsetof(struct dynamic, relrsz)},
    };

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (numbers[i].tag == e->d_tag)
            memcpy((char *)d + numbers[i].at, &e->d_un.d_val, sizeof(uint64_t));
    d->flags |= e->d_tag == DT_FLAGS ? e->d_un.d_val : 0;
    d->flags_1 |= e->d_tag == DT_FLAGS_1 ? e->d_un.d_val : 0;
    d->rpath |= e->d_tag == DT_RPATH || e->d_tag == DT_RUNPATH;
    d->textrel |= e->d_tag == DT_TEXTREL;
    d->audit |= e->d_tag == DT_AUDIT || e->d_tag == DT_DEPAUDIT;
    d->filter |= e->d_tag == DT_FILTER || e->d_tag == DT_AUXILIARY;
}

/* Call fn for each entry up to DT_NULL. */
static int visit_tags(struct object *o,
                      int (*fn)(struct object *, const Elf64_Dyn *))
{
    for (uint64_t i = 0; i < DYN_MAX; i++) {
        Elf64_Dyn e;
        int rv;

        if (!read_at_address(o, o->dynamic.p_vaddr + i * sizeof e, &e,
                             sizeof e))
            return fail_malformed(o, "its dynamic section has no end");
        if (e.d_tag == DT_NULL)
            return MORTISE_OK;
        rv = fn(o, &e);
        if (rv != MORTISE_OK)
            return rv;
    }
    return fail_malformed(o, "its dynamic section is too long");
}

static int collect_tag(struct object *o, const Elf64_Dyn *e)
{
    record_tag(&o->dyn, e);
    return MORTISE_OK;
}

static int check_forbidden_tags(struct object *o, const struct dynamic *d)
{
    const struct {
        bool has;
        const char *code, *words;
    } bans[] = {
        {d->rpath, "P0105",
         "has an RPATH or RUNPATH, which could load unsigned libraries; link "
         "it without -rpath"},
        {d->textrel || (d->flags & DF_TEXTREL) != 0, "P0106",
         "has text relocations; compile everything with -fPIC"},
        {d->audit, "P0108",
         "names an audit library (DT_AUDIT); link it without --audit and "
         "--depaudit"},
        {d->filter, "P0109",
         "is a filter object (DT_FILTER); link it without --filter and "
         "--auxiliary"},
    };
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < sizeof bans / sizeof *bans; i++)
        if (bans[i].has)
            rv = report_violation(o, bans[i].code, "%s", bans[i].words);
    return rv;
}

static int check_tags(struct object *o)
{
    const struct dynamic *d = &o->dyn;

    if (d->symtab == 0 || d->strtab == 0 || d->syment != sizeof(Elf64_Sym) ||
        (d->hash == 0 && d->gnu_hash == 0))
        return fail_malformed(o, "it has no table of dynamic symbols");
    if ((d->flags_1 & DF_1_PIE) != 0)
        return fail_malformed(
            o, "it is a program; link it with -shared, not -pie");
    return check_forbidden_tags(o, d);
}

static bool is_allowed_library(const char *lib)
{
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++)
        if (strcmp(lib, allowed[i]) == 0)
            return true;
    return false;
}

static int check_needed(struct object *o, const Elf64_Dyn *e)
{
    const char *lib;

    if (e->d_tag != DT_NEEDED)
        return MORTISE_OK;
    lib = get_table_string(o, e->d_un.d_val);
    if (lib == NULL)
        return fail_malformed(
            o, "the name of a needed library is outside its string table");
    if (o->visitor != NULL && o->visitor->needs != NULL)
        o->visitor->needs(o->visitor->ud, lib);
    if (!is_allowed_library(lib))
        return report_violation(
            o, "P0107",
            "needs %.100s, which plugins cannot load; link it statically", lib);
    return MORTISE_OK;
}

/* ---- symbols ------------------------------------------------------------- */

/* Find the last symbol of the GNU hash table's chain that starts at *sym. */
static bool find_chain_end(const struct object *o, uint64_t chains,
                           uint32_t offset, uint32_t *sym)
{
    uint32_t word;

    do {
        if (!read_at_address(o, chains + (uint64_t)(*sym - offset) * 4, &word,
                             4))
            return false;
    } while ((word & 1) == 0 && ++*sym != 0);
    return (word & 1) != 0;
}

/* Count the symbols of the GNU hash table.  Symbols are sorted by bucket, so
 * the chain of the highest bucket ends with the last symbol. */
static bool count_gnu_symbols(const struct object *o, uint64_t *count)
{
    uint32_t head[4], bucket, last = 0; /* buckets, offset, bloom, shift */
    uint64_t at;

    if (!read_at_address(o, o->dyn.gnu_hash, head, sizeof head))
        return false;
    at = o->dyn.gnu_hash + sizeof head + (uint64_t)head[2] * 8;
    for (uint64_t i = 0; i < head[0]; i++) {
        if (!read_at_address(o, at + i * 4, &bucket, 4))
            return false;
        if (bucket > last)
            last = bucket;
    }
    *count = head[1];
    if (last == 0)
        return true;
    if (last < head[1] ||
        !find_chain_end(o, at + (uint64_t)head[0] * 4, head[1], &last))
        return false;
    *count = (uint64_t)last + 1;
    return true;
}

/* The dynamic linker prefers the GNU table.  With both tables, take the larger
 * count, so that neither can hide symbols. */
static int count_symbols(struct object *o, uint64_t *count)
{
    uint32_t head[2]; /* buckets, chains: as many as symbols */
    uint64_t n = 0;

    *count = 0;
    if (o->dyn.gnu_hash != 0 && !count_gnu_symbols(o, count))
        return fail_malformed(o, "its symbol hash table is damaged");
    if (o->dyn.hash != 0) {
        if (!read_at_address(o, o->dyn.hash, head, sizeof head))
            return fail_malformed(o, "its symbol hash table is damaged");
        n = head[1];
    }
    if (n > *count)
        *count = n;
    return MORTISE_OK;
}

static bool is_exported(const Elf64_Sym *s)
{
    unsigned vis = ELF64_ST_VISIBILITY(s->st_other);

    return s->st_shndx != SHN_UNDEF && ELF64_ST_BIND(s->st_info) != STB_LOCAL &&
           vis != STV_HIDDEN && vis != STV_INTERNAL;
}

/* Check the first fields of the module, which are the same in every abi
 * version. */
static int check_module_header(struct object *o, const unsigned char *p)
{
    uint32_t size;
    uint16_t abi[2];

    memcpy(&size, p, sizeof size);
    memcpy(abi, p + sizeof size, sizeof abi);
    if (abi[0] != MORTISE_ABI_MAJOR)
        return report_violation(
            o, "P0114",
            "was built for abi %u.%u, but this host has %d.%d; build "
            "it with this host's <mortise/plugin.h>",
            abi[0], abi[1], MORTISE_ABI_MAJOR, MORTISE_ABI_MINOR);
    if (size < ENTRY_SIZE)
        return report_violation(
            o, "P0113",
            "its mortise_module has %u bytes, but needs at least %d; "
            "set size to sizeof(mortise_module)",
            size, ENTRY_SIZE);
    return MORTISE_OK;
}

static int check_entry_symbol(struct object *o, const Elf64_Sym *s)
{
    const unsigned char *p;
    size_t left;

    if (ELF64_ST_TYPE(s->st_info) != STT_OBJECT)
        return report_violation(
            o, "P0113",
            "exports mortise_module_v1 as code; it must be data, "
            "of type mortise_module");
    p = find_bytes_at(o, s->st_value, &left);
    if (s->st_size < ENTRY_SIZE || p == NULL || left < ENTRY_SIZE)
        return report_violation(
            o, "P0113",
            "exports a mortise_module_v1 that is too small; it "
            "must be const data of type mortise_module");
    return check_module_header(o, p);
}

static int check_import(struct object *o, const char *name, bool weak)
{
    if (o->visitor != NULL && o->visitor->imports != NULL && name[0] != '\0')
        o->visitor->imports(o->visitor->ud, name, weak);
    if (strncmp(name, "mortise_", 8) == 0)
        return report_violation(
            o, "P0110",
            "imports %.100s; a plugin cannot import symbols of the "
            "host, it gets a table of functions in create()",
            name);
    return MORTISE_OK;
}

/* Check one symbol; *found counts mortise_module_v1. */
static int check_symbol(struct object *o, const Elf64_Sym *s, int *found)
{
    const char *name = get_table_string(o, s->st_name);

    if (name == NULL)
        return fail_malformed(
            o, "the name of a symbol is outside its string table");
    if (s->st_shndx == SHN_UNDEF)
        return check_import(o, name, ELF64_ST_BIND(s->st_info) == STB_WEAK);
    if (!is_exported(s))
        return MORTISE_OK;
    if (o->visitor != NULL && o->visitor->exports != NULL)
        o->visitor->exports(o->visitor->ud, name);
    if (strcmp(name, ENTRY) != 0)
        return report_violation(
            o, "P0111",
            "exports %.100s; only mortise_module_v1 can be visible: compile "
            "with -fvisibility=hidden, or link with a version script",
            name);
    ++*found;
    o->entry = s->st_value;
    return check_entry_symbol(o, s);
}

static int check_symbols(struct object *o)
{
    uint64_t count;
    int found = 0, rv = count_symbols(o, &count);

    for (uint64_t i = 1; rv == MORTISE_OK && i < count; i++) {
        Elf64_Sym s;

        if (!read_at_address(o, o->dyn.symtab + i * sizeof s, &s, sizeof s))
            return fail_malformed(o, "its symbols are outside the file");
        rv = check_symbol(o, &s, &found);
    }
    if (rv == MORTISE_OK && found != 1)
        rv = report_violation(
            o, "P0112",
            "does not export mortise_module_v1; define it with "
            "MORTISE_MODULE_OF() of <mortise/plugin.h>");
    return rv;
}

/* ---- versions ------------------------------------------------------------ */

/* Visit the symbol versions of one needed library, from its DT_VERNEED entry.
 * Ignore damaged entries: this is a report, not the check before loading. */
static void visit_library(const struct object *o, uint64_t at,
                          const Elf64_Verneed *need)
{
    at += need->vn_aux;
    for (uint32_t i = 0; i < need->vn_cnt; i++) {
        Elf64_Vernaux aux;
        const char *version;

        if (!read_at_address(o, at, &aux, sizeof aux))
            return;
        version = get_table_string(o, aux.vna_name);
        if (version != NULL)
            o->visitor->needs_version(o->visitor->ud, version);
        if (aux.vna_next == 0)
            return;
        at += aux.vna_next;
    }
}

static void visit_versions(const struct object *o)
{
    uint64_t at = o->dyn.verneed;

    assert(o->visitor != NULL); /* only mortise_elf_visit() calls this */
    for (uint64_t i = 0; i < o->dyn.n_verneed && i < VERSIONS_MAX &&
                         o->visitor->needs_version != NULL;
         i++) {
        Elf64_Verneed need;

        if (!read_at_address(o, at, &need, sizeof need))
            return;
        visit_library(o, at, &need);
        if (need.vn_next == 0)
            return;
        at += need.vn_next;
    }
}

/* ---- the module's list of plugins (4) ------------------------------------ */

static bool is_relative(uint64_t info)
{
    return ELF64_R_TYPE(info) == R_X86_64_RELATIVE ||
           ELF64_R_TYPE(info) == R_AARCH64_RELATIVE;
}

/* The pointer at an address, by DT_RELA. */
static bool read_rela_pointer(const struct object *o, uint64_t at, uint64_t *to)
{
    uint64_t n = o->dyn.relasz / sizeof(Elf64_Rela);

    for (uint64_t i = 0; i < n && i < RELOCS_MAX; i++) {
        Elf64_Rela r;

        if (!read_at_address(o, o->dyn.rela + i * sizeof r, &r, sizeof r))
            return false;
        if (r.r_offset != at)
            continue;
        *to = (uint64_t)r.r_addend;
        return is_relative(r.r_info);
    }
    return false;
}

/* The pointer at an address, by DT_RELR.  An even word is an address; an odd
 * word is a bit mask of the 63 words after it.  The relocated word itself holds
 * the pointer. */
static bool read_relr_pointer(const struct object *o, uint64_t at, uint64_t *to)
{
    uint64_t n = o->dyn.relrsz / 8, where = 0;

    for (uint64_t i = 0; i < n && i < RELOCS_MAX; i++) {
        uint64_t word;

        if (!read_at_address(o, o->dyn.relr + i * 8, &word, sizeof word))
            return false;
        if ((word & 1) == 0) {
            if (word == at)
                return read_at_address(o, at, to, sizeof *to);
            where = word + 8;
            continue;
        }
        if (at >= where && at - where < (uint64_t)63 * 8 &&
            (at - where) % 8 == 0 && (word >> (1 + (at - where) / 8) & 1) != 0)
            return read_at_address(o, at, to, sizeof *to);
        where += (uint64_t)63 * 8;
    }
    return false;
}

static bool read_pointer_at(const struct object *o, uint64_t at, uint64_t *to)
{
    return read_rela_pointer(o, at, to) || read_relr_pointer(o, at, to);
}

/* The string that the pointer at an address points to, or NULL. */
static const char *read_pointed_string(const struct object *o, uint64_t at)
{
    const unsigned char *p;
    uint64_t to;
    size_t left;

    if (!read_pointer_at(o, at, &to) ||
        (p = find_bytes_at(o, to, &left)) == NULL)
        return NULL;
    if (left > SAYS_MAX + 1)
        left = SAYS_MAX + 1;
    return memchr(p, '\0', left) != NULL ? (const char *)p : NULL;
}

/* The i-th plugin of the list at this address. */
static bool read_listed_plugin(const struct object *o, uint64_t list,
                               uint32_t i, const char **id,
                               const char **version)
{
    uint64_t plugin;

    if (!read_pointer_at(o, list + (uint64_t)i * 8, &plugin))
        return false;
    *id = read_pointed_string(o, plugin + offsetof(mortise_plugin, id));
    *version =
        read_pointed_string(o, plugin + offsetof(mortise_plugin, version));
    return *id != NULL && *version != NULL;
}

static int check_listed_plugin(const struct object *o, const char *name,
                               const char *version, struct mortise_err *err)
{
    const char *id = NULL, *its = NULL;
    uint64_t list;
    uint32_t n;

    if (!read_at_address(o, o->entry + offsetof(mortise_module, plugin_count),
                         &n, sizeof n) ||
        n == 0 || n > PLUGINS_MAX ||
        !read_pointer_at(o, o->entry + offsetof(mortise_module, plugins),
                         &list))
        return MORTISE_OK;
    for (uint32_t i = 0; i < n; i++)
        if (!read_listed_plugin(o, list, i, &id, &its) ||
            (strcmp(id, name) == 0 && strcmp(its, version) == 0))
            return MORTISE_OK;
    return mortise_fail(err, MORTISE_EINVAL,
                        "its manifest has the plugin %s %s, but its module has "
                        "%.100s %.50s; build and sign them together",
                        name, version, id, its);
}

/* ---- public functions ---------------------------------------------------- */

int mortise_elf_get_arch(const char **arch, const void *p, size_t n,
                         struct mortise_err *err)
{
    struct object o = {.p = p, .n = n, .err = err};
    Elf64_Ehdr eh;
    int rv = read_elf_header(&o, &eh);

    if (rv != MORTISE_OK)
        return rv;
    *arch = name_of_machine(eh.e_machine);
    if (*arch == NULL)
        return fail_malformed(
            &o, "it was built for another machine than x86-64 and arm64");
    return MORTISE_OK;
}

static int check_arch(struct object *o, const Elf64_Ehdr *eh, const char *arch)
{
    if (name_of_machine(eh->e_machine) != NULL &&
        strcmp(name_of_machine(eh->e_machine), arch) == 0)
        return MORTISE_OK;
    return report_violation(
        o, "P0102", "was built for another machine; build it for this one: %s",
        arch);
}

static int inspect_elf_object(struct object *o, const char *arch)
{
    Elf64_Ehdr eh;
    int rv;

    if ((rv = read_elf_header(o, &eh)) != MORTISE_OK ||
        (rv = check_arch(o, &eh, arch)) != MORTISE_OK ||
        (rv = read_segments(o, &eh)) != MORTISE_OK ||
        (rv = visit_tags(o, collect_tag)) != MORTISE_OK ||
        (rv = check_tags(o)) != MORTISE_OK ||
        (rv = visit_tags(o, check_needed)) != MORTISE_OK)
        return rv;
    return check_symbols(o);
}

int mortise_elf_check(const void *p, size_t n, const char *arch,
                      struct mortise_err *err)
{
    struct object o = {.p = p, .n = n, .err = err};

    return inspect_elf_object(&o, arch);
}

int mortise_elf_visit(const void *p, size_t n, const char *arch,
                      const struct mortise_elf_visitor *visitor)
{
    struct object o = {.p = p, .n = n, .visitor = visitor};
    int rv = inspect_elf_object(&o, arch);

    if (rv == MORTISE_OK)
        visit_versions(&o);
    return rv;
}

int mortise_elf_check_plugin(const void *p, size_t n, const char *name,
                             const char *version, struct mortise_err *err)
{
    const struct mortise_elf_visitor silent = {.ud = NULL};
    struct object o = {.p = p, .n = n, .visitor = &silent};
    const char *arch;

    if (mortise_elf_get_arch(&arch, p, n, NULL) != MORTISE_OK ||
        inspect_elf_object(&o, arch) != MORTISE_OK || o.entry == 0)
        return MORTISE_OK; /* mortise_elf_check() reports the problem */
    return check_listed_plugin(&o, name, version, err);
}
