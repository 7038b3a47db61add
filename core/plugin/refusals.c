/* refusals.c -- what `mortise plugin check` may say of a shared object, each
 * with its remedy.  Up to P0114 the bytes alone decide, and loading refuses the
 * same (elf.c); the rest is about this host. */
#include "plugin/refusals.h"

const struct mortise_code mortise_refusals[] = {
    {"P0101", "not a loadable shared object",
     "The file is truncated, damaged or something else: a program, an object "
     "file, a text.  Link it with -shared.",
     "$ cc -c pay.c && mortise plugin check pay.o\n"},
    {"P0102", "built for another machine",
     "The file has code for another processor or word size.  Build one object "
     "for each architecture.  A manifest lists them all.",
     "$ aarch64-linux-gnu-gcc -shared -fPIC pay.c -o pay.so   # on x86-64\n"},
    {"P0103", "memory that is writable and executable",
     "Such memory turns every stray write into code.  Link without -N and "
     "without sections that are both writable and executable.",
     "$ cc -shared -fPIC -Wl,-N pay.c -o pay.so\n"},
    {"P0104", "an executable stack",
     "Loading the object would make the stack of the whole process executable. "
     " Nested functions of GNU C need that.  Assembler files without a "
     ".note.GNU-stack section request it.  Link with -z noexecstack.",
     "$ cc -shared -fPIC -z execstack pay.c -o pay.so   # -z noexecstack\n"},
    {"P0105", "an RPATH or RUNPATH",
     "It would let the object load libraries that nobody signed.  Link without "
     "-rpath.  Some build systems add it by default.",
     "$ cc -shared -fPIC -Wl,-rpath,/opt/acme/lib pay.c -o pay.so\n"},
    {"P0106", "text relocations",
     "The object's code would have to be writable to be loaded.  Compile "
     "everything, including static libraries, with -fPIC.",
     "$ cc -shared -fno-pic pay.c -o pay.so   # -fPIC\n"},
    {"P0107", "a library that plugins cannot load",
     "The constructors of a library run when it is loaded, and nobody has "
     "verified them.  Link the code statically, or use the host's services: "
     "HTTP, secrets and storage are available through `ask`.",
     "$ cc -shared -fPIC pay.c -lssl -o pay.so\n"},
    {"P0108", "an audit library",
     "An audit library sees and changes every symbol of the process.  Link "
     "without --audit and --depaudit.",
     "$ cc -shared -fPIC -Wl,--depaudit,spy.so pay.c -o pay.so\n"},
    {"P0109", "a filter object",
     "The object's symbols would come from another library.  Link without "
     "--filter and --auxiliary.",
     "$ cc -shared -fPIC -Wl,--filter,other.so pay.c -o pay.so\n"},
    {"P0110", "the object imports functions of the host",
     "A plugin imports nothing from Mortise.  Every function that it can call "
     "is in the table that create() gets.  The same object can therefore run "
     "in another process.",
     "extern int mortise_open(struct mortise **out, ...);   /* in a plugin "
     "*/\n"},
    {"P0111", "the object exports more than its module",
     "Two plugins that export the same symbol would get each other's.  Compile "
     "with -fvisibility=hidden.  If libraries export symbols of their own, "
     "link with a version script.",
     "$ cc -shared -fPIC pay.c -o pay.so   # without -fvisibility=hidden\n"},
    {"P0112", "no entry",
     "The host looks for one symbol, mortise_module_v1.  MORTISE_MODULE of "
     "<mortise/plugin.h> defines and exports it.",
     "static const mortise_module mortise_module_v1 = {...};   /* hidden */\n"},
    {"P0113", "an invalid entry",
     "mortise_module_v1 must be const data of type mortise_module.  Its size "
     "must be sizeof(mortise_module) of the header that you built with.",
     "MORTISE_MODULE mortise_module_v1 = {8, MORTISE_ABI_MAJOR, 0, ...};\n"},
    {"P0114", "built for another ABI",
     "Objects of another major version of the ABI use the same names for other "
     "things.  Build the object with this host's <mortise/plugin.h>.",
     "MORTISE_MODULE mortise_module_v1 = {sizeof(mortise_module), 2, 0, "
     "...};\n"},
    {"P0115", "the object needs a newer glibc than this host has",
     "The object was linked on a newer system.  Build it on the oldest system "
     "that must run it.",
     "$ mortise plugin check built-elsewhere.so\n"},
    {"P0116", "a library that is not on this host",
     "Plugins can load this library, but this host does not have it.  Install "
     "it, or link the code statically.",
     "$ mortise plugin check needs-libpcre2.so\n"},
    {"P0117", "an undefined symbol",
     "No library that the object needs defines the symbol, so the object "
     "cannot be loaded.  Add the library that defines it, and link with "
     "-Wl,-z,defs: the linker then reports such symbols.",
     "$ cc -shared -fPIC pay.c -o pay.so   # uses sqrt(), without -lm\n"},
    {"P0118", "the object and its manifest differ",
     "The module of the object lists other plugins, or another version, than "
     "the manifest beside it.  Change both together, build, and sign.",
     "metadata: {name: acme.pay, version: 1.0.1}   # .version = \"1.0.0\"\n"},
};

const size_t mortise_n_refusals =
    sizeof mortise_refusals / sizeof mortise_refusals[0];
