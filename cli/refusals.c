/* refusals.c -- the findings of `mortise plugin check` about a shared object,
 * each with its remedy.  Up to P0114 they depend on the bytes alone, and
 * loading denies the same objects (core/plugin/elf.c).  The others depend on
 * this host. */
#include "cli/refusals.h"

const struct mortise_code mortise_refusals[] = {
    {"P0101", "not a loadable shared object",
     "The file is truncated or damaged, or is not a shared object (but a "
     "program, an object file or a text, for example).  Link a plugin with "
     "-shared.",
     "$ cc -c pay.c && mortise plugin check pay.o\n"},
    {"P0102", "built for another machine",
     "The file has code for another processor or word size.  Build one object "
     "for each architecture.  The manifest lists all of them.",
     "$ aarch64-linux-gnu-gcc -shared -fPIC pay.c -o pay.so   # on x86-64\n"},
    {"P0103", "memory that is writable and executable",
     "The object asks for memory that is both writable and executable.  With "
     "such memory, a write to a wrong address can change code.  Link without "
     "-N and without sections that are both writable and executable.",
     "$ cc -shared -fPIC -Wl,-N pay.c -o pay.so\n"},
    {"P0104", "an executable stack",
     "Loading the object would make the stack of the whole process executable. "
     " Nested functions of GNU C need an executable stack, and assembler files "
     "without a .note.GNU-stack section request one.  Link with -z "
     "noexecstack.",
     "$ cc -shared -fPIC -z execstack pay.c -o pay.so   # -z noexecstack\n"},
    {"P0105", "an RPATH or RUNPATH",
     "An RPATH or RUNPATH would let the object load libraries that nobody "
     "signed.  Link without -rpath.  Some build systems add -rpath by default.",
     "$ cc -shared -fPIC -Wl,-rpath,/opt/acme/lib pay.c -o pay.so\n"},
    {"P0106", "text relocations",
     "To load the object, the host would have to make the object's code "
     "writable.  Compile everything, including static libraries, with -fPIC.",
     "$ cc -shared -fno-pic pay.c -o pay.so   # -fPIC\n"},
    {"P0107", "a library that plugins cannot load",
     "Loading a library runs its constructors, and nobody has verified this "
     "library.  Link its code statically, or use the host's services: HTTP, "
     "secrets and storage are available through `ask`.",
     "$ cc -shared -fPIC pay.c -lssl -o pay.so\n"},
    {"P0108", "an audit library",
     "An audit library sees and changes every symbol of the process.  Link "
     "without --audit and --depaudit.",
     "$ cc -shared -fPIC -Wl,--depaudit,spy.so pay.c -o pay.so\n"},
    {"P0109", "a filter object",
     "The object's symbols would come from another library, which nobody "
     "signed.  Link without --filter and --auxiliary.",
     "$ cc -shared -fPIC -Wl,--filter,other.so pay.c -o pay.so\n"},
    {"P0110", "the object imports functions of the host",
     "A plugin imports nothing from Mortise.  Every function of the host that "
     "a plugin can call is in the table that create() gets.  So the same "
     "object can also run in another process than the engine's.",
     "extern int mortise_open(struct mortise **out, ...);   /* in a plugin "
     "*/\n"},
    {"P0111", "the object exports more than its module",
     "If two plugins export the same symbol, one plugin could use the symbol "
     "of the other.  Compile with -fvisibility=hidden.  If libraries in the "
     "object export symbols of their own, link with a version script.",
     "$ cc -shared -fPIC pay.c -o pay.so   # without -fvisibility=hidden\n"},
    {"P0112", "no entry",
     "The host looks for one symbol, mortise_module_v1, and the object does "
     "not export it.  MORTISE_MODULE of <mortise/plugin.h> defines and exports "
     "this symbol.",
     "static const mortise_module mortise_module_v1 = {...};   /* hidden */\n"},
    {"P0113", "an invalid entry",
     "mortise_module_v1 must be const data of type mortise_module.  Its size "
     "must be sizeof(mortise_module) of the header that you built with.",
     "MORTISE_MODULE mortise_module_v1 = {8, MORTISE_ABI_MAJOR, 0, ...};\n"},
    {"P0114", "built for another ABI",
     "The object was built for another major version of the ABI, in which the "
     "same names have other meanings.  Build the object with this host's "
     "<mortise/plugin.h>.",
     "MORTISE_MODULE mortise_module_v1 = {sizeof(mortise_module), 2, 0, "
     "...};\n"},
    {"P0115", "the object needs a newer glibc than this host has",
     "The object was linked on a newer system.  Build the object on the oldest "
     "system that must run it.",
     "$ mortise plugin check built-elsewhere.so\n"},
    {"P0116", "a library that is not on this host",
     "Plugins are allowed to load this library, but it is not installed on "
     "this host.  Install it, or link the code statically.",
     "$ mortise plugin check needs-libpcre2.so\n"},
    {"P0117", "an undefined symbol",
     "None of the libraries that the object is linked with defines the symbol, "
     "so the object cannot be loaded.  Add the library that defines it, and "
     "link with -Wl,-z,defs: the linker then reports such symbols.",
     "$ cc -shared -fPIC pay.c -o pay.so   # uses sqrt(), without -lm\n"},
    {"P0118", "the object and its manifest differ",
     "The module in the object and the manifest beside the object differ: in "
     "the plugins that they list, or in the version.  Make both equal, then "
     "build and sign again.",
     "metadata: {name: acme.pay, version: 1.0.1}   # .version = \"1.0.0\"\n"},
};

const size_t mortise_n_refusals =
    sizeof mortise_refusals / sizeof mortise_refusals[0];
