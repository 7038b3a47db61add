/* refusals.c -- what `mortise plugin check` may say of a shared object, each
 * with its remedy.  Up to P0114 the bytes alone decide, and loading refuses the
 * same (elf.c); the rest is about this host. */
#include "plugin/refusals.h"

const struct mortise_code mortise_refusals[] = {
    {"P0101", "not a shared object that can be loaded",
     "The file is cut short, damaged or something else: a program, an object "
     "file, a text.  Link it with -shared.",
     "$ cc -c pay.c && mortise plugin check pay.o\n"},
    {"P0102", "for another machine",
     "The file has code for another kind of processor or word size.  Build "
     "one object for each architecture; a manifest lists them all.",
     "$ aarch64-linux-gnu-gcc -shared -fPIC pay.c -o pay.so   # on x86-64\n"},
    {"P0103", "memory that is writable and executable",
     "Such memory turns every stray write into code.  Link without -N and "
     "without sections that are both.",
     "$ cc -shared -fPIC -Wl,-N pay.c -o pay.so\n"},
    {"P0104", "an executable stack",
     "Loading it would make the whole process's stack executable.  Nested "
     "functions of GNU C need one, and assembler files ask for one when they "
     "have no .note.GNU-stack section.",
     "$ cc -shared -fPIC -z execstack pay.c -o pay.so   # -z noexecstack\n"},
    {"P0105", "an RPATH or RUNPATH",
     "It would let the object bring libraries that nobody signed.  Link "
     "without -rpath; build systems add one of their own accord.",
     "$ cc -shared -fPIC -Wl,-rpath,/opt/acme/lib pay.c -o pay.so\n"},
    {"P0106", "text relocations",
     "Its code would have to be made writable to be loaded.  Compile all of "
     "it, static libraries included, with -fPIC.",
     "$ cc -shared -fno-pic pay.c -o pay.so   # -fPIC\n"},
    {"P0107", "a library that plugins may not load",
     "A library's constructors run when it is loaded, and nobody verified "
     "them.  Link that code statically, or use what the host offers: HTTP, "
     "secrets and storage come through `ask`.",
     "$ cc -shared -fPIC pay.c -lssl -o pay.so\n"},
    {"P0108", "an audit library",
     "It would see and change every symbol of the process.  Link without "
     "--audit and --depaudit.",
     "$ cc -shared -fPIC -Wl,--depaudit,spy.so pay.c -o pay.so\n"},
    {"P0109", "a filter object",
     "Its symbols would come from another library.  Link without --filter and "
     "--auxiliary.",
     "$ cc -shared -fPIC -Wl,--filter,other.so pay.c -o pay.so\n"},
    {"P0110", "it imports functions of the host",
     "A plugin imports nothing of Mortise: all that it may call is in the "
     "table that create() is handed.  That is what lets the same object run "
     "in another process.",
     "extern int mortise_open(struct mortise **out, ...);   /* in a plugin "
     "*/\n"},
    {"P0111", "it exports more than its module",
     "Two plugins with a symbol of one name would get each other's.  Compile "
     "with -fvisibility=hidden, and link with a version script where "
     "libraries bring their own.",
     "$ cc -shared -fPIC pay.c -o pay.so   # without -fvisibility=hidden\n"},
    {"P0112", "no entry",
     "The host looks for one symbol, mortise_module_v1.  MORTISE_MODULE of "
     "<mortise/plugin.h> defines it so that it is seen.",
     "static const mortise_module mortise_module_v1 = {...};   /* hidden */\n"},
    {"P0113", "an entry that is none",
     "mortise_module_v1 is const data of type mortise_module, and its size "
     "says how much of it its maker knew: sizeof(mortise_module).",
     "MORTISE_MODULE mortise_module_v1 = {8, MORTISE_ABI_MAJOR, 0, ...};\n"},
    {"P0114", "made for another ABI",
     "Objects of another major version of the ABI mean other things by the "
     "same words.  Build it with this host's <mortise/plugin.h>.",
     "MORTISE_MODULE mortise_module_v1 = {sizeof(mortise_module), 2, 0, "
     "...};\n"},
    {"P0115", "it needs a newer glibc than this host has",
     "It was linked on a newer system.  Build it on the oldest one that it is "
     "for.",
     "$ mortise plugin check built-elsewhere.so\n"},
    {"P0116", "a library that is not on this host",
     "Plugins may load it, and this host does not have it.  Install it, or "
     "link that code statically.",
     "$ mortise plugin check needs-libpcre2.so\n"},
    {"P0117", "a symbol that nobody has",
     "None of the libraries that it needs defines the symbol, so it could not "
     "be loaded.  Name the library that does, and link with -Wl,-z,defs: then "
     "the linker says so.",
     "$ cc -shared -fPIC pay.c -o pay.so   # uses sqrt(), without -lm\n"},
    {"P0118", "another plugin than its manifest says",
     "The module of the object lists other plugins, or another version, than "
     "the manifest beside it.  Change both together, build, and sign.",
     "metadata: {name: acme.pay, version: 1.0.1}   # .version = \"1.0.0\"\n"},
};

const size_t mortise_n_refusals =
    sizeof mortise_refusals / sizeof mortise_refusals[0];
