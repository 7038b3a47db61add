# Mortise.  What one would type:
#
#   make            build/mortise, the bundled plugins (signed) and their key
#   make core       build/libmortise-core.a: core/ alone, which needs sdk/ and no other
#                   directory
#   make check-core     ... tested: with a language of its own, and the suites that need
#                   nothing else of ours
#   make demo       the triage graph: run, kill -9, approve, resume
#   make check      everything that must hold, as CI runs it
#   make check-peers ... with programs of others: npm's, rustc; PEER="http" some
#   make unit       the test programs alone; ONLY="yaml cli" some of them
#   make programs   build them all and run none
#   make asan       unit and simulation suites under AddressSanitizer and UBSan;
#                   `make asan-all`: all suites
#   make tsan       all suites under ThreadSanitizer
#   make valgrind   ... under valgrind's memcheck
#   make spawns     10,000 spawns under random kills, and 10,000 native children;
#                   `make check` has 300 and 160
#   make whole      the suites of which `make check` runs a part, whole
#   make stress     all suites STRESS=20 times, on a busy machine
#   make slow       the engine's suites, on a store that answers late
#   make nightly    what takes too long for each change: asan-all, slow, tsan,
#                   valgrind, spawns, whole, mutants, fuzz, lint, analyze,
#                   stress, reproducible, cross, without
#   make reproducible   two builds of one source are byte-equal
#   make cross      a build for arm64, with Debian's packages for it
#   make mutants    prove the tests: each broken build of tests/mutants must turn
#                   red what guards it, and so must each ignored key
#   make keys       each key of the language has such a test
#   make rooms      calls and includes go down from room to room (ROOMS)
#   make writers    fields are written by the files that the header names
#   make entries    docs/format.md has the entries of the journal as they are
#   make commands   docs/control.md has the commands on a run as they are
#   make extend     what docs/extending.md says is one file and one row
#   make without    the demo, in a build without some services
#   make wire       the suites that call plugins, each call through the wire encoding
#   make bench      the table of ratios (tests/bench/)
#   make fuzz       each libFuzzer entry point for FUZZ_SECONDS=30 (clang), or
#                   those of FUZZ="import json"
#   make syntax     every file with another compiler, for its warnings:
#                   make syntax CC=clang CXX=clang++ B=build/clang
#   make headers    each public header alone, as C11 and as C++11
#   make deps       install what a bare Debian 12 lacks, with apt-get; `make demo`
#                   and `make check` do so first (NO_DEPS=1: they only say).  No
#                   other target changes the system
#   make lint       mandoc, clang-tidy, clang's warnings and cppcheck: a finding of
#                   any of them fails; `make analyze`: clang's analyzer, too
#   make format     clang-format over everything
#   make docs       docs/cli.md, docs/errors.md and schema/ anew, from the program
#   make words      how plain the English is: figures for docs, man pages, messages,
#                   headers and comments, and the ten worst sentences of each
#                   (WORST=N); only to look at, no gate.  Needs python3
#   make messages   all explanations, and the texts of findings and errors with
#                   their places in the sources, to be read
#   make abi        what we promised others still holds; abi-accept: as it is now
#   make install    PREFIX=/usr/local LIBDIR=... DESTDIR=; `uninstall`, too
#   make dist       build/mortise-VERSION.tar.gz, which builds without git
#   make deb        Debian's packages in build/deb/, from that (dpkg-buildpackage)
#   make clean
#
# V=1 shows the commands.  B=DIR builds elsewhere.
# WITHOUT="voice services/kv" leaves plugins and services out of the build.
#
# For packages: SIGN_KEY=FILE.key (FILE.pub beside it, no password) signs the bundled
# plugins; without it a key is made for this tree.  SOURCE_DATE_EPOCH, or the date of
# the last commit, is the date in what is made: with the same key, files are
# byte-equal wherever and whenever they are built.
#   make CC=aarch64-linux-gnu-gcc B=build/arm64
# builds for another machine, with Debian's packages for it; what runs while it
# builds is $(B)/native/mortise, made for this one.

PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR ?= $(PREFIX)/share
MANDIR  ?= $(DATADIR)/man
DOCDIR  ?= $(DATADIR)/doc/mortise
UNITDIR ?= $(PREFIX)/lib/systemd/system
DESTDIR ?=
CC      ?= cc
ifeq ($(origin CXX),default) # make's own is g++
CXX     := c++
endif
# For another machine?  Then all its tools are that machine's.
TARGET  := $(shell $(CC) -dumpmachine 2>/dev/null)
HERE    := $(shell cc -dumpmachine 2>/dev/null)
arch_of = $(firstword $(subst -, ,$(1)))
CROSS   := $(if $(HERE),$(filter-out $(call arch_of,$(HERE)),$(call arch_of,$(TARGET))))
ifneq ($(CROSS),)
LD      := $(TARGET)-ld
AR      := $(TARGET)-ar
OBJCOPY := $(TARGET)-objcopy
ifneq ($(filter default undefined file,$(origin CXX)),)
CXX     := $(TARGET)-g++
endif
PKG_CONFIG ?= env PKG_CONFIG_LIBDIR=/usr/lib/$(TARGET)/pkgconfig:/usr/share/pkgconfig \
                  pkg-config
endif
PKG_CONFIG ?= pkg-config
CFLAGS  ?= -O2 -g
# Added for test programs: to compile an optimised test takes four times as long.
# Without optimisation, gcc 12 takes a buffer that snprintf() filled for uninitialized,
# and crashes in its warnings about formats.
TEST_CFLAGS ?= -O0 -U_FORTIFY_SOURCE -Wno-maybe-uninitialized \
               -Wno-format-truncation -Wno-format-overflow
LDFLAGS ?=
OBJCOPY ?= objcopy
B       ?= build
# A build beside another (make asan, make extend) takes from it what would be the same:
# LIKE is the directory of that build, which must be complete.
LIKE    ?=
# What the library is made of, and what the command is made of besides.
LIBRARY := core lang services server
COMMAND := cli testkit tools/import tools/salvage
# Programs of their own, in tools/NAME/, which `mortise` starts for their commands.
TOOLS   := mortise-import mortise-salvage
WERROR  ?= $(if $(CI),-Werror,)

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
        -Wmissing-prototypes -Wvla -Wundef -Wcast-qual -Wwrite-strings \
        -Wformat=2 $(WERROR)
OURS := -std=c11 -D_GNU_SOURCE -fvisibility=hidden -fPIC -pthread $(WARN) \
        -I. -Isdk $(VARIANT)
# No object names the directory that it was built in.
PLACELESS := '-ffile-prefix-map=$(CURDIR)=.'
TEST_INC := -Itests

PKGS := yaml-0.1 libsodium libuv jansson libpcre2-8

# The packages, once, before anything else: deps.sh names what is missing and leaves
# the flags in deps.mk, which make then reads; test-deps.mk, if a goal needs more than
# what is installed.  It installs packages for these goals, unless NO_DEPS is set.
# (`make deps` looks again, once: make reads this anew when one of them has changed.)
GOALS    := $(or $(MAKECMDGOALS),all)
BUILDS   := $(filter-out clean format dist deb words,$(GOALS))
TESTS_TOO := $(filter-out all core install uninstall demo abi $(B)/mortise,$(BUILDS))
INSTALLS := $(if $(NO_DEPS),,$(filter deps demo check,$(GOALS)))
ifneq ($(BUILDS),)
include $(B)/deps.mk $(if $(TESTS_TOO),$(B)/test-deps.mk)
endif
$(B)/deps.mk $(B)/test-deps.mk: scripts/deps.sh \
    $(if $(MAKE_RESTARTS),,$(patsubst %,again,$(filter deps,$(GOALS))))
	@mkdir -p $(@D)
	@CC="$(CC)" CROSS="$(CROSS)" PKG_CONFIG="$(PKG_CONFIG)" sh scripts/deps.sh \
	    $(if $(INSTALLS),--install) $(if $(findstring test-,$(notdir $@)),--tests,"$(PKGS)") \
	    >$@.tmp
	@mv $@.tmp $@
$(B)/test-deps.mk: | $(B)/deps.mk

# WITHOUT="voice services/kv": plugins and services that are not built; deps.mk adds
# plugins that cannot be.  Then plugins are not built either whose manifest requires a
# method of such a service, and suites are skipped that need it (scripts/without.sh).
# Such a build is best made in a directory of its own (B=DIR).
ALL_PLUGINS  := $(wildcard plugins/*/*/*.plugin.yaml)
ALL_SERVICES := $(patsubst %/,%,$(sort $(dir $(wildcard services/*/*.c))))
LEFT_OUT := $(filter services/%,$(WITHOUT))
without  := sh scripts/without.sh
ifneq ($(filter-out $(ALL_SERVICES) $(ALL_PLUGINS:%.plugin.yaml=%),$(foreach w,\
    $(WITHOUT),$(or $(filter %/$w/$w,$(ALL_PLUGINS:%.plugin.yaml=%)),$w))),)
$(error WITHOUT=$(WITHOUT): name plugins, or services as services/NAME)
endif
ifneq ($(LEFT_OUT),)
override WITHOUT += $(shell $(without) plugins $(LEFT_OUT))
NEEDED := $(shell $(without) check $(LEFT_OUT))
$(if $(NEEDED),$(error $(NEEDED)))
endif

sources = $(foreach d,$(1),$(wildcard $d/*.$(2) $d/*/*.$(2) $d/*/*/*.$(2)))
CORE_SRC := $(filter-out $(LEFT_OUT:%=%/%),$(call sources,$(LIBRARY),c)) \
    $(if $(findstring MORTISE_EXTEND,$(VARIANT)),$(wildcard tests/extend/core/*.c))
# The services of this build, each in services/NAME/ (services/services.c).
SERVICES := $(patsubst services/%,%,$(filter-out $(LEFT_OUT),$(ALL_SERVICES))) \
    $(if $(findstring MORTISE_EXTEND,$(VARIANT)),echo)
# What the core has in C++: doors to libraries, C on the outside.
CORE_CXX_OBJ := $(patsubst %.cpp,$(B)/%.o,$(call sources,$(LIBRARY),cpp))
CORE_OBJ := $(CORE_SRC:%.c=$(B)/%.o) $(CORE_CXX_OBJ)
CLI_CXX_OBJ := $(patsubst %.cpp,$(B)/%.o,$(call sources,$(COMMAND),cpp))
CLI_SRC  := $(call sources,$(COMMAND),c)
CLI_OBJ  := $(patsubst %.c,$(B)/%.o,$(filter-out %/main.c,$(CLI_SRC))) $(CLI_CXX_OBJ)
LIB_OBJ  := $(patsubst %.c,$(B)/%.o,$(wildcard tests/lib/*.c))
# In the build of `make extend`, objects whose source includes no list that has a row
# more there are those of the other build: $(call same,OBJECTS).
ifeq ($(findstring MORTISE_EXTEND,$(VARIANT)),)
same = $(1)
else
LISTS := $(shell grep -rl --include=*.def MORTISE_EXTEND $(LIBRARY) $(COMMAND))
SAME  := $(filter-out services/services.o,$(patsubst $(LIKE)/%.d,%.o,$(shell grep -LFw $(LISTS:%=-e %) \
    $$(find $(LIBRARY:%=$(LIKE)/%) $(COMMAND:%=$(LIKE)/%) $(LIKE)/tests/lib $(LIKE)/tests/unit $(LIKE)/tests/s* \
        $(LIKE)/tests/crash $(LIKE)/tests/hostile -name '*.d'))))
same  = $(patsubst %,$(LIKE)/%,$(filter $(SAME),$(1:$(B)/%=%))) \
        $(patsubst %,$(B)/%,$(filter-out $(SAME),$(1:$(B)/%=%)))
endif
CORE_OBJ := $(call same,$(CORE_OBJ))
CLI_OBJ  := $(call same,$(CLI_OBJ))
LIB_OBJ  := $(call same,$(LIB_OBJ))
HEADERS  := $(wildcard sdk/mortise/*.h)

# Linked before the archives, these have places where a harness kills the process.
FAULTY    := $(shell grep -l base/fault.h $(CORE_SRC))
FAULT_OBJ := $(FAULTY:%.c=$(B)/faults/%.o) $(B)/tests/lib/fault.o
# ... and this sends each message between core and plugin through its encoding.
WIRE_OBJ  := $(B)/tests/wire/carry.o

comma := ,
AGAIN := $(MAKE) --no-print-directory
Q := $(if $(V),,@)

# All processors, unless -j says otherwise.  While make reads this file, its own
# variable has no -j yet; the environment of a shell has that of the caller.
ifeq ($(filter -j% --jobserver%,$(shell printf '%s' "$$MAKEFLAGS")),)
MAKEFLAGS += -j$(shell nproc)
endif

# On a terminal each line has its number, the number of all lines, and the time
# that is left if the rest is as slow: [ 37/412 1:05 left].  The lines are counted by
# `make -n`, for the goals that build only what is listed here.
COUNTED := all programs unit check demo install bench check-peers
ifneq ($(and $(MAKE_TERMOUT),$(if $(V)$(COUNTING),,1)),)
ifeq ($(filter-out $(COUNTED),$(MAKECMDGOALS)),)
STEPS := $(shell $(MAKE) -n COUNTING=1 $(patsubst unit,programs,$(patsubst \
    check,programs,$(or $(MAKECMDGOALS),all))) 2>/dev/null | grep -c '^printf .  %-5s')
STARTED := $(shell date +%s)
endif
endif
step = $(eval DONE += x)$(words $(DONE))
say = $(if $(V),,@$(if $(filter-out 0,$(STEPS)),sh scripts/progress.sh \
    $(step) $(STEPS) $(STARTED),printf '  %-5s %s\n') $(1) $(2))

.PHONY: all core check-core test-core runs check check-peers keys rooms writers entries commands patches extend slow extended wire unit programs demo bench asan asan-all stress nightly tsan valgrind spawns whole mutants fuzz headers reproducible cross without dist deb \
        format lint analyze words docs messages install uninstall abi abi-accept clean deps again syntax
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:

deps: $(B)/deps.mk

# Values that end up inside of what is made are kept in a file, which changes
# when they do and takes with it what depends on it.  An installation with other
# places makes what names them anew, one with other flags everything.  The file is
# written while make reads this, so that `make -n` knows what is to be made.
keep = $(shell mkdir -p $(B) && { printf '%s\n' '$(2)' | cmp -s - $(B)/$(1) || \
    printf '%s\n' '$(2)' >$(B)/$(1); })

PLACES := PREFIX=$(PREFIX) LIBDIR=$(LIBDIR) INCLUDEDIR=$(INCLUDEDIR) \
          DATADIR=$(DATADIR)
FLAGS  := $(subst ','\'',$(CC) $(CXX) $(CFLAGS) $(LDFLAGS) $(VARIANT) $(TEST_CFLAGS))
ifneq ($(BUILDS),)
$(call keep,places,$(PLACES))
$(call keep,flags,$(FLAGS))
$(call keep,services.list,$(SERVICES))
endif
$(B)/lang/config/home.o: $(B)/places
$(B)/lang/config/home.o: OURS += -DMORTISE_LIBDIR='"$(LIBDIR)/mortise"' \
                                 -DMORTISE_DATADIR='"$(DATADIR)/mortise"'
$(B)/services/services.o: $(B)/services.list
$(B)/services/services.o: OURS += -DMORTISE_SERVICES='$(foreach s,$(SERVICES),SERVICE($s))'

$(B)/%.o: %.c $(B)/flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(OURS) $(PLACELESS) $(DEP_CFLAGS) $(CFLAGS) $(LATER) -MMD -MP -c -o $@ $<

# g++ has other warnings than gcc.
CXX_FLAGS := -std=c++11 -D_GNU_SOURCE -fPIC -fvisibility=hidden -pthread $(PLACELESS) \
             -Wall -Wextra -Wpedantic -Wshadow -Wconversion $(WERROR)
$(CORE_CXX_OBJ) $(CLI_CXX_OBJ): $(B)/%.o: %.cpp $(B)/flags
	$(call say,CXX,$<)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(CXX_FLAGS) -I. $(VARIANT) $(DEP_CFLAGS) $(CFLAGS) -MMD -MP \
	    -c -o $@ $<

# Tests see what they need besides.
$(B)/tests/%.o: OURS += $(TEST_INC)
$(B)/tests/%.o: LATER = $(TEST_CFLAGS)
# A benchmark is measured as it would be used.
$(B)/tests/bench/%.o: LATER =

$(B)/libmortise.a: $(CORE_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# core/ alone.  Who links it defines the functions of its ports (ROOMS).
$(B)/libmortise-core.a: $(filter $(B)/core/%,$(CORE_OBJ))
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^
core: $(B)/libmortise-core.a
	@size -t $< | awk 'END { print "  " $$1 " bytes of code and constants" }'

# ---- what others link --------------------------------------------------
#
# $(B)/libmortise.a is ours, for tests and the command line, which reach below
# the API.  Others get $(B)/lib/: the API and nothing else.  The static one is
# a single object whose inner names became local, so that they meet nobody's.

VERSION := $(shell sed -n 's/^.define MORTISE_VERSION *"\(.*\)"/\1/p' \
                   core/mortise.h)
SONAME  := libmortise.so.$(firstword $(subst ., ,$(VERSION)))
SO      := $(B)/lib/libmortise.so.$(VERSION)
LIBS    := $(SO) $(B)/lib/libmortise.a
PCS     := $(B)/mortise.pc $(B)/mortise-plugin.pc

$(SO): $(CORE_OBJ) core/mortise.map
	$(call say,SO,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(OURS) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(SONAME) \
	    -Wl,--version-script=core/mortise.map -Wl,-z,relro,-z,now \
	    -o $@ $(filter %.o,$^) $(DEP_LIBS)

$(B)/lib/libmortise.a: $(CORE_OBJ)
	$(call say,AR,$@)
	@mkdir -p $(@D)
	$(Q)$(LD) -r -o $(B)/lib/mortise.o $^
	$(Q)$(OBJCOPY) --localize-hidden $(B)/lib/mortise.o
	$(Q)rm -f $@ && $(AR) rcs $@ $(B)/lib/mortise.o

abi_number = $(shell sed -n 's/^.define MORTISE_ABI_$(1) //p' \
                     sdk/mortise/plugin.h)
$(PCS): $(B)/%.pc: pkgconfig/%.pc.in core/mortise.h sdk/mortise/plugin.h \
    $(B)/places
	$(call say,PC,$@)
	$(Q)sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' \
	    -e 's|@LIBDIR@|$(LIBDIR:$(PREFIX)/%=$${prefix}/%)|' \
	    -e 's|@INCLUDEDIR@|$(INCLUDEDIR:$(PREFIX)/%=$${prefix}/%)|' \
	    -e 's|@REQUIRES@|$(PKGS)|' \
	    -e 's|@ABI_MAJOR@|$(call abi_number,MAJOR)|' \
	    -e 's|@ABI_MINOR@|$(call abi_number,MINOR)|' $< >$@

# ---- the command line and the test programs ----------------------------

# The command line without its main(), for tests of its parts.
$(B)/libcli.a: $(CLI_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# The same program besides, for two kinds of tests.
MORTISES := $(B)/mortise $(B)/faults/mortise $(B)/wire/mortise
$(B)/faults/mortise: $(FAULT_OBJ)
$(B)/wire/mortise: $(WIRE_OBJ)
$(MORTISES): $(call same,$(B)/cli/main.o) $(B)/libcli.a $(B)/libmortise.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(OURS) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) \
	    $(filter %.a,$^) $(DEP_LIBS)
# They have less in their list of commands, and so less of the archives.
TOOL_BINS := $(TOOLS:%=$(B)/%)
$(TOOL_BINS): $(B)/mortise-%: $(call same,$(B)/tools/%/main.o) $(B)/libcli.a \
    $(B)/libmortise.a
	$(call say,LD,$@)
	$(Q)$(CC) $(OURS) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) \
	    $(filter %.a,$^) $(DEP_LIBS)
$(FAULTY:%.c=$(B)/faults/%.o): OURS += -DMORTISE_FAULTS
$(FAULTY:%.c=$(B)/faults/%.o): $(B)/faults/%.o: %.c $(B)/flags
	$(call say,CC,"$< (with fault points)")
	@mkdir -p $(@D)
	$(Q)$(CC) $(OURS) $(PLACELESS) $(DEP_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# The process that starts programs, on its own: the engine is none of its.
$(B)/mortise-worker: $(patsubst %.c,$(B)/%.o,$(wildcard worker/*.c))
	$(call say,LD,$@)
	$(Q)$(CC) $(OURS) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lseccomp

# tests/README.md says what lies where.  DIR/test_X.c is X wherever it is typed,
# and becomes the program build/tests/test_X whatever DIR is.
TEST_DIRS := unit/* sim system crash hostile promises
tests_in = $(foreach d,$(1),$(wildcard tests/$(d)/test_*.c))
names_of = $(patsubst test_%.c,%,$(notdir $(1)))
programs_of = $(patsubst %,$(B)/tests/test_%,$(1))
TEST_SRC   := $(call tests_in,$(TEST_DIRS))
TEST_NAMES := $(call names_of,$(TEST_SRC))

$(call programs_of,$(call names_of,$(call tests_in,unit/cli unit/draw \
    unit/import system promises))) $(B)/tests/test_hostile_store: $(B)/libcli.a
$(B)/tests/test_native_kill: $(B)/tests/kill/counter.o
$(B)/tests/test_kill: $(patsubst %.c,$(B)/%.o,$(wildcard tests/kill/*.c))
# Parts of a plugin, which need no host.
$(foreach t,flow oauth params parts,$(B)/tests/test_mcp_$t \
    $(B)/tests/keys/test_mcp_$t): \
    $(patsubst %.c,$(B)/%.o,$(wildcard plugins/executor/mcp/*.c))
$(B)/tests/test_voice_parts $(B)/tests/keys/test_voice_parts: \
    $(foreach f,endpoint wav words,$(B)/plugins/executor/voice/$f.o)
# What tests share; an archive, so that a test needs only the layers below it.
$(B)/tests/lib.a: $(LIB_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# Who opens the file of that plugin besides it.
$(foreach t,bundled_local cli_configs cli_memory memory_kill,$(B)/tests/test_$t \
    $(B)/tests/keys/test_$t): CHECK_LIBS += -lsqlite3

# Two hundred programs are linked ten times faster by mold, where it is.
FAST_LD = $(eval FAST_LD := $(shell $(CC) -fuse-ld=mold -Wl,--version \
    >/dev/null 2>&1 && echo -fuse-ld=mold))$(FAST_LD)
# A long message of an assertion is cut (tests/lib/test.c).
CHECK_WRAP := -Wl,--wrap=_ck_assert_failed
define link_test
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(OURS) $(CFLAGS) $(LDFLAGS) $(FAST_LD) -o $@ $(filter %.o,$^) \
	    $(filter %/libcli.a,$^) $(B)/tests/lib.a $(B)/libmortise.a \
	    $(DEP_LIBS) $(CHECK_WRAP) $(CHECK_LIBS)
endef
$(foreach t,$(TEST_SRC),$(eval $(B)/tests/$(basename $(notdir $t)) \
    $(B)/tests/keys/$(basename $(notdir $t)) \
    $(B)/wire/tests/$(basename $(notdir $t)): $(call same,$(B)/$(t:.c=.o))))
$(B)/tests/test_store_crash: $(FAULT_OBJ)
$(TEST_NAMES:%=$(B)/wire/tests/test_%): $(B)/libcli.a $(WIRE_OBJ)
$(call programs_of,$(TEST_NAMES)) $(TEST_NAMES:%=$(B)/wire/tests/test_%): \
    $(B)/tests/lib.a $(B)/libmortise.a
	$(link_test)
$(B)/tests/%: $(B)/tests/%.o $(B)/tests/lib.a $(B)/libmortise.a
	$(link_test)

# Keys of the language, and what becomes of a test when one is ignored: these
# read every mapping through tests/lib/ignoring.c.
WRAP := -Wl,--wrap=mortise_keys_read -Wl,--wrap=mortise_keys_read_slot \
        -Wl,--wrap=mortise_word_find -Wl,-u,__wrap_mortise_keys_read
link_wrapped = $(Q)$(CC) $(OURS) $(CFLAGS) $(LDFLAGS) $(WRAP) -o $@ \
                   $(filter %.o,$^) $(filter %.a,$^) $(DEP_LIBS) $(CHECK_WRAP) \
                   $(CHECK_LIBS)
$(TEST_NAMES:%=$(B)/tests/keys/test_%): $(B)/tests/lib.a $(B)/libcli.a \
    $(B)/libmortise.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(link_wrapped)
$(B)/tests/keys/list: $(B)/tests/keys/list.o $(B)/tests/lib.a $(B)/libcli.a \
    $(B)/libmortise.a
	$(call say,LD,$@)
	$(link_wrapped)
# What is bundled lies around it, as it does around the other.
$(B)/tests/keys/mortise: $(B)/cli/main.o $(B)/tests/lib.a $(B)/libcli.a \
    $(B)/libmortise.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(link_wrapped)
	$(Q)for f in plugins trust.d templates mortise-worker $(TOOLS); do \
	    ln -sfn ../../$$f $(@D)/$$f || exit 1; done
# Those that run the command line run that program.
key_tests = $(sort $(shell sh scripts/key-tests.sh | sed 's/.*\t//; s/:.*//'))
key_programs = $(B)/tests/keys/mortise \
    $(addprefix $(B)/tests/keys/,$(key_tests))

# ---- bundled plugins ---------------------------------------------------
#
# plugins/KIND/NAME/ holds NAME.c, NAME.plugin.yaml and, if it needs libraries,
# a file `libs` with their linker flags, and one `pkgs` with what pkg-config
# calls those whose headers lie apart.  A plugin sees sdk/ and nothing else.
# A file `optional` names services (services/NAME) that it also works without: in a
# build without one, its manifest does not have the methods.
# The finished binary signs them, with SIGN_KEY or a key made once for this tree: what
# it will trust is decided by build/trust.d alone, as anywhere else.

PLUGIN_MANIFESTS := $(filter-out $(foreach p,$(WITHOUT),%/$(p).plugin.yaml),\
                        $(ALL_PLUGINS))
PLUGIN_DIRS  := $(patsubst %/,%,$(dir $(PLUGIN_MANIFESTS)))
PLUGIN_NAMES := $(notdir $(PLUGIN_DIRS))
PLUGINS      := $(PLUGIN_NAMES:%=$(B)/plugins/%.plugin.yaml.minisig)
# Never instrumented: the sanitizers' libraries are not on any allowlist.
PLUGIN_CFLAGS ?= $(filter-out -fsanitize% -fno-sanitize%,$(CFLAGS))
PLUGIN_FLAGS  := -std=c11 -D_GNU_SOURCE -fPIC -fvisibility=hidden -pthread \
                 $(WARN) $(PLACELESS) -Isdk
PLUGIN_LINK   := -shared -Wl,-z,relro,-z,now,-z,noexecstack -Wl,-z,defs
# Of others: their warnings are not ours.
headers_of = $(patsubst -I%,-isystem %,\
    $(if $(wildcard $(1)/pkgs),$(shell $(PKG_CONFIG) --cflags $$(cat $(1)/pkgs))))
SIGN_KEY ?= $(B)/keys/bundled.key
KEY := $(SIGN_KEY:.key=)
# Who signs, and whose texts become pages and completions.
TOOL := $(if $(CROSS),$(B)/native/mortise,$(B)/mortise)
$(B)/native/mortise: $(B)/mortise
	+$(Q)$(AGAIN) B=$(@D) CC=cc CXX=c++ PKG_CONFIG=pkg-config CFLAGS=-O1 LDFLAGS= \
	    VARIANT= $@
# The date of what is made: by default, that of the last commit, which is in a file of
# the tarball.
EPOCH = $(eval EPOCH := $(or $(SOURCE_DATE_EPOCH),$(shell cat .epoch 2>/dev/null || \
    git log -1 --format=%ct 2>/dev/null || date +%s)))$(EPOCH)

# What one has in C++ is compiled apart.
PLUGIN_CXX_OBJ := $(patsubst %.cpp,$(B)/%.o,$(wildcard plugins/*/*/*.cpp))
$(PLUGIN_CXX_OBJ): $(B)/%.o: %.cpp $(B)/flags
	$(call say,CXX,$<)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(CXX_FLAGS) -Isdk $(PLUGIN_CFLAGS) -MMD -MP -c -o $@ $<

# The objects of a plugin lie apart from those that tests link: these may be
# instrumented.
plugin_objects = $(patsubst $(1)/%.c,$(B)/plugins/objects/$(notdir $(1))/%.o,\
    $(wildcard $(1)/*.c)) $(filter $(B)/$(1)/%,$(PLUGIN_CXX_OBJ))

manifest_of = $(if $(and $(LEFT_OUT),$(wildcard $(1)/optional)),$(B)/manifests,$(1))/$\
    $(notdir $(1)).plugin.yaml

define plugin_rules
$(B)/manifests/$(notdir $(1)).plugin.yaml: $(1)/$(notdir $(1)).plugin.yaml \
    $(B)/services.list
	@mkdir -p $$(@D)
	$$(Q)$(without) manifest $$< $(LEFT_OUT) >$$@

$(B)/plugins/objects/$(notdir $(1))/%.o: $(1)/%.c $(B)/flags
	$$(call say,CC,$$<)
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(PLUGIN_FLAGS) $$(PLUGIN_CFLAGS) $$(call headers_of,$(1)) \
	    -MMD -MP -c -o $$@ $$<

ifeq ($(LIKE),)
$(B)/plugins/$(notdir $(1)).so: $(call plugin_objects,$(1)) \
    $(wildcard $(1)/libs $(1)/*.map) $(B)/flags
	$$(call say,SO,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(PLUGIN_FLAGS) $$(PLUGIN_LINK) $$(PLUGIN_CFLAGS) -o $$@ \
	    $$(filter %.o,$$^) $$(shell cat $(1)/libs 2>/dev/null)
endif

$(B)/plugins/$(notdir $(1)).plugin.yaml.minisig: \
    $(call manifest_of,$(1)) $(B)/plugins/$(notdir $(1)).so $(KEY).key \
    | $(TOOL)
	$$(call say,SIGN,$$@)
	$$(Q)SOURCE_DATE_EPOCH=$$(EPOCH) $(TOOL) plugin sign $$< --key $(KEY).key \
	    --out $(B)/plugins >/dev/null
endef
$(foreach d,$(PLUGIN_DIRS),$(eval $(call plugin_rules,$(d))))

$(B)/keys/bundled.key: | $(TOOL)
	$(call say,KEY,$@)
	@mkdir -p $(@D)
	$(Q)$(TOOL) key new $(@:.key=) -W >/dev/null

$(B)/trust.d/bundled.yaml: $(KEY).key $(PLUGIN_MANIFESTS)
	$(call say,TRUST,$@)
	@mkdir -p $(@D) && rm -f $@
	$(Q)$(TOOL) key trust $(KEY).pub --trust $(@D) --name bundled \
	    --plugins "$(PLUGIN_NAMES)" --in-process >/dev/null

# Section 1 from the help texts.
$(B)/man/mortise.1: $(TOOL) scripts/cli-man.sh
	$(call say,MAN,$(@D))
	$(Q)rm -rf $(@D) && sh scripts/cli-man.sh $< $$(date -u +%F -d @$(EPOCH)) $(@D)

# For shells, from the same table; each under the name that its shell looks for.
COMPLETIONS := $(addprefix $(B)/completion/,bash/mortise zsh/_mortise \
                                            fish/mortise.fish)
$(COMPLETIONS): $(TOOL)
	$(call say,MAKE,$@)
	@mkdir -p $(@D)
	$(Q)$< completion $(notdir $(@D)) >$@

# What `mortise init` and `mortise plugin new` begin with: those of the tree.
$(B)/templates:
	@mkdir -p $(@D)
	$(Q)ln -sfnr templates $@

# The engine as a service of the machine: its unit, its user and its directories.
SERVICE := $(B)/mortise@.service $(B)/sysusers/mortise.conf $(B)/tmpfiles/mortise.conf
$(B)/mortise@.service: packaging/mortise@.service.in $(B)/places
	$(call say,MAKE,$@)
	$(Q)sed 's|@BINDIR@|$(PREFIX)/bin|' $< >$@
$(B)/sysusers/mortise.conf $(B)/tmpfiles/mortise.conf: \
    $(B)/%/mortise.conf: packaging/mortise.%
	$(call say,MAKE,$@)
	@mkdir -p $(@D)
	$(Q)cp $< $@

RUNS := $(B)/mortise $(B)/mortise-worker $(TOOL_BINS) $(PLUGINS) $(B)/trust.d/bundled.yaml $(B)/templates
runs: $(RUNS)
all: $(RUNS) $(LIBS) $(PCS) $(B)/man/mortise.1 $(COMPLETIONS) $(SERVICE)

# ---- checking -----------------------------------------------------------

ONLY ?=
SKIP ?=
# Without a plugin those are left out that use it, or a file that names it.
SKIP += $(if $(filter voice,$(WITHOUT)),$(filter cli_voice%,$(TEST_NAMES)) typos)
SKIP += $(if $(LEFT_OUT),$(shell $(without) suites $(WITHOUT)))
SUITES := $(filter-out $(SKIP),$(or $(ONLY),$(TEST_NAMES)))
# First what takes long, beside which the others run.
LONG  := kill store_crash run_worlds hostile_socket hostile_plugins cli_words
TESTS := $(call programs_of,$(filter $(SUITES),$(LONG)) \
                            $(filter-out $(LONG),$(SUITES)))
# Those whose calls of plugins must survive the wire encoding, too.
ACROSS := $(filter plugin% instance% api% engine% cli,$(TEST_NAMES))
# Those that are about other processes, or about time: not for valgrind.
ALONE := $(filter cli%,$(call names_of,$(call tests_in,system))) \
         $(call names_of,$(call tests_in,promises)) \
         api_memory await bundled_time docs embed kv kill model_author newcomer pages store_crash \
         spawn_host spawn_kill spawn_native
# What is preloaded into other programs does not go with the sanitizers'; the
# last five do with AddressSanitizer's, when it does not mind to come second.  Nor
# does a limit of the address space.
PRELOADS := kill cli_sick api_memory
PRELOADS_TSAN := $(PRELOADS) hostile_clocks cli_http cli_lost cli_retention \
                 cli_salvage

# Plugins that misbehave, and others for tests; NAME.libs holds linker flags.
TEST_PLUGINS := $(patsubst %.c,$(B)/%.so,$(wildcard tests/plugins/*.c))
BENCH_PLUGINS := $(patsubst %.c,$(B)/%.so,$(wildcard tests/bench/plugins/*.c))
TEST_PLUGIN_HEADERS := $(wildcard tests/plugins/*.h tests/extend/plugin/*.h)
EXTEND_PLUGINS := $(patsubst %.c,$(B)/%.so,$(wildcard tests/extend/plugin/*.c))
# Of the bundled plugins and of these programs no build is instrumented.
MCPD := $(B)/tests/mcp/mcpd_stdio $(B)/tests/mcp/mcpd_http
PLAIN := $(PLUGIN_NAMES:%=$(B)/plugins/%.so) $(TEST_PLUGINS) $(EXTEND_PLUGINS) $(MCPD) \
    $(B)/tests/powercut.so $(patsubst %.c,$(B)/%.so,$(wildcard tests/preload/*.c)) \
    $(B)/configs/acme.pay.so $(B)/configs/filesd
.PHONY: plain
plain: $(PLAIN)
ifneq ($(LIKE),)
$(PLAIN): $(B)/%: $(LIKE)/%
	$(call say,COPY,$@)
	@mkdir -p $(@D)
	$(Q)cp $< $@
else
MCPD_MAINS := stdio http oauth
$(TEST_PLUGINS) $(BENCH_PLUGINS) $(EXTEND_PLUGINS): $(B)/%.so: %.c $(HEADERS) \
    $(TEST_PLUGIN_HEADERS) $(B)/flags
	$(call say,SO,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(PLUGIN_FLAGS) $(PLUGIN_LINK) $(PLUGIN_CFLAGS) -o $@ $< \
	    $(shell cat $*.libs 2>/dev/null)

# What the kill harness runs: under this library, and a build that can be
# told to die at any of its fault points.
$(B)/tests/powercut.so: tests/lib/powercut.c tests/lib/powercut.h $(B)/flags
	$(call say,SO,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(PLUGIN_FLAGS) $(PLUGIN_LINK) $(PLUGIN_CFLAGS) -o $@ $<
$(B)/tests/preload/%.so: tests/preload/%.c $(B)/flags
	$(call say,SO,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(PLUGIN_FLAGS) $(PLUGIN_LINK) $(PLUGIN_CFLAGS) -o $@ $<
# Scripted MCP servers; as plugins never instrumented, for they run in sandboxes.
$(B)/tests/mcp/mcpd_stdio: tests/mcp/stdio.c
$(B)/tests/mcp/mcpd_http: tests/mcp/http.c tests/mcp/oauth.c
$(MCPD): $(filter-out $(MCPD_MAINS:%=tests/mcp/%.c),$(wildcard tests/mcp/*.c)) \
    $(wildcard tests/mcp/*.h) $(B)/flags
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE $(WARN) $(PLUGIN_CFLAGS) -o $@ \
	    $(filter %.c,$^) -ljansson -lsodium
# The plugin of an example, which has a Makefile of its own for everybody else.
$(B)/configs/acme.pay.so: configs/refund/pay/pay.c $(HEADERS) $(B)/flags
	$(call say,SO,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(PLUGIN_FLAGS) $(PLUGIN_LINK) $(PLUGIN_CFLAGS) -o $@ $<
# A server of another.  It has 256 MiB of address space there, which a sanitizer's
# shadow is more than.
$(B)/configs/filesd: configs/files/server/filesd.c $(HEADERS) $(B)/flags
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE $(WARN) -Isdk $(PLUGIN_CFLAGS) -o $@ $<
endif
$(B)/tests/test_cli_sick: | $(B)/tests/preload/sickhost.so
$(B)/tests/test_cli_lost: | $(B)/tests/preload/lastword.so $(B)/tests/powercut.so
$(B)/tests/test_cli_pins $(B)/tests/test_cli_salvage $(B)/tests/test_cli_mcp_command $(B)/tests/test_hostile_creation $(B)/tests/test_memory_kill: | $(B)/tests/powercut.so
$(B)/tests/test_hostile_clocks $(B)/tests/test_cli_http $(B)/tests/test_cli_retention $(B)/tests/test_spawn_native: | $(B)/tests/preload/otherclock.so
$(B)/tests/test_cli_configs $(B)/tests/test_typos: | $(B)/configs/acme.pay.so $(B)/configs/filesd
$(B)/tests/test_kill: | $(B)/tests/powercut.so $(B)/configs/acme.pay.so $(B)/faults/mortise
$(call programs_of,agent_kill cli_tasks spawn_budget spawn_native): | $(B)/faults/mortise

# What the tests find beside them; those of `make asan` need less.
BESIDE ?= all
programs: $(BESIDE) $(TESTS) $(TEST_PLUGINS) $(MCPD)

unit: programs
	$(Q)MORTISE_BUILD=$(B) sh scripts/test.sh $(TESTS)

# Everything is built first.  Then each stage runs, whatever became of those
# before it, and the last lines say which failed.
stages = failed=; for s in $(1); do \
	    printf '== %s\n' "$$s"; \
	    $(AGAIN) $$s || failed="$$failed $$s"; \
	done; \
	if [ -n "$$failed" ]; then \
	    echo "make $@: failed:$$failed (the reasons are above)" >&2; exit 1; \
	fi; \
	echo "make $@: all passed: $(1)"
# ---- the core alone -------------------------------------------------------

# test_core runs the core with a language of its own (tests/core/).  The other suites
# are those that need nothing else of ours; `make unit` runs them, too.
CORE_SUITES := base json json_diff mask memfd nearest parse real secret_refs \
    spawn_rules store store_aside store_cache store_remove tempdir thread_state usage \
    utf8 zone
CORE_PROGRAMS := $(patsubst %,$(B)/tests/core/test_%,core $(CORE_SUITES))
CORE_HELP := $(patsubst %,$(B)/tests/lib/%.o,barehost commits corpus finding json \
    powercut store_now store_reader test warm)
$(B)/tests/core/test_core: $(B)/tests/core/test_core.o
$(foreach t,$(CORE_SUITES),$(eval $(B)/tests/core/test_$t: \
    $(patsubst %.c,$(B)/%.o,$(wildcard tests/unit/*/test_$t.c))))
$(CORE_PROGRAMS): $(B)/tests/core/language.o $(CORE_HELP) $(B)/libmortise-core.a
	$(call say,LD,$@)
	$(Q)$(CC) $(OURS) $(CFLAGS) $(LDFLAGS) $(FAST_LD) -o $@ $(filter %.o,$^) \
	    $(B)/libmortise-core.a $(DEP_LIBS) $(CHECK_WRAP) $(CHECK_LIBS)
check-core: $(CORE_PROGRAMS)
	$(Q)MORTISE_BUILD=$(B) sh scripts/test.sh $^
test-core: $(B)/tests/core/test_core
	$(Q)MORTISE_BUILD=$(B) sh scripts/test.sh $^

CHECKS := unit test-core headers keys rooms writers entries commands patches extend wire
check: programs
	+$(Q)$(call stages,$(CHECKS))

# Calls of plugins survive the wire encoding.  What is not linked for it is the
# same as for the other tests.
WIRED := $(ACROSS:%=$(B)/wire/tests/test_%)
wire: programs $(B)/wire/mortise $(WIRED)
	$(Q)cd $(B)/wire && for f in ../*; do case $$f in \
	        */mortise | */wire | */tests) ;; *) ln -sfn $$f . ;; esac; done && \
	    cd tests && for f in ../../tests/*; do case $$f in \
	        */test_*) ;; *) ln -sfn $$f . ;; esac; done
	$(Q)MORTISE_BUILD=$(B)/wire sh scripts/test.sh $(WIRED)

# The engine's suites, on a store that answers each read so many ms late: `make slow`.
SLOW_MS := 5
SLOWED_NAMES := api await cache cli_retention control durability engine events \
    hostile_events hostile_followers kv
SLOWED  := $(call programs_of,$(SLOWED_NAMES))
SLOWED_OBJ := $(patsubst %.c,$(B)/%.o,$(foreach n,$(SLOWED_NAMES),\
    $(filter %/test_$n.c,$(TEST_SRC))))

# What docs/extending.md says is one file and one row is just that: a build in
# which tests/extend/ has a file and a row more of each, and the rest is as it is.
# Only what includes one of these lists is compiled again.
# `make slow` also runs the engine's suites there, on the store of tests/extend.
slow: SLOWLY = SLOWLY=1
extend slow: $(B)/mortise plain $(LIB_OBJ) $(SLOWED_OBJ)
	+$(Q)$(AGAIN) B=$(B)/extend LIKE=$(B) CFLAGS="-O0 -g1" \
	    VARIANT="-DMORTISE_EXTEND $(TEST_INC)" $(SLOWLY) extended
EXTENDED := $(patsubst %.c,$(B)/%,$(wildcard tests/extend/test_*.c))
# Of the bundled plugins, those that they use.
SLOWED_USE := $(B)/plugins/scripted.plugin.yaml.minisig \
    $(B)/trust.d/bundled.yaml
extended: $(B)/mortise $(EXTENDED) $(if $(SLOWLY),$(SLOWED)) $(EXTEND_PLUGINS) \
    $(TEST_PLUGINS) $(SLOWED_USE)
	$(Q)MORTISE_BUILD=$(B) sh scripts/test.sh $(EXTENDED)
	$(Q)[ -z "$(SLOWLY)" ] || MORTISE_BUILD=$(B) MORTISE_SLOW_STORE=$(SLOW_MS) \
	    sh scripts/test.sh $(SLOWED)

spawns:
	+$(Q)MORTISE_SPAWNS=10000 MORTISE_AGENT_KILLS=200 \
	    $(AGAIN) ONLY="spawn_kill native_kill agent_kill" unit

# Each matrix whole (tests/lib/matrix.h).
WHOLE = $(call names_of,$(shell grep -l lib/matrix.h $(TEST_SRC)))
whole:
	+$(Q)MORTISE_MATRIX=whole $(AGAIN) ONLY="$(WHOLE)" unit

# Every key has a test that would miss it, and the list of them is this one.
keys: $(B)/tests/keys/list
	$(call say,CHECK,"each key of the language has its test")
	$(Q)sh scripts/graph-keys.sh $(B) >$(B)/graph_keys.md && \
	    diff -u tests/graph_keys.md $(B)/graph_keys.md || \
	    { echo "tests/graph_keys.md: see above; make docs" >&2; exit 1; }

# Calls and includes go one way (ROOMS), and who says so is not blind.
rooms: $(CORE_OBJ) $(CLI_OBJ)
	$(call say,CHECK,"calls and includes go down from room to room")
	$(Q)sh scripts/rooms.sh . $(B) && CC="$(CC)" sh tests/rooms/planted.sh

# The fields of what a run is are written by the files that state.h names.
writers:
	$(call say,CHECK,"fields are written by who is said to write them")
	$(Q)CC="$(CC)" CFLAGS="$(DEP_CFLAGS)" sh scripts/writers.sh . core/run/state/state.h core/run \
	    exec mortise_run && CC="$(CC)" sh tests/rooms/written.sh

# docs/format.md says of each entry what its row does.
entries:
	$(call say,CHECK,"docs/format.md has the entries of entries.def")
	$(Q)CC="$(CC)" sh scripts/entries-doc.sh core/run/record/entries.def \
	    docs/format.md | diff -u docs/format.md - || \
	    { echo "docs/format.md: see above; make docs" >&2; exit 1; }

# docs/control.md says of each command on a run what its row does.
commands:
	$(call say,CHECK,"docs/control.md has the commands of run_commands.def")
	$(Q)CC="$(CC)" sh scripts/commands-doc.sh core/run/command \
	    docs/control.md | diff -u docs/control.md - || \
	    { echo "docs/control.md: see above; make docs" >&2; exit 1; }

# Each broken build that `make mutants` makes can be made of this tree.
patches:
	$(call say,CHECK,"each patch of tests/mutants applies")
	$(Q)for p in tests/mutants/*.patch; do git apply --check $$p || exit 1; done

PEER ?=
check-peers: all $(patsubst %.c,$(B)/%,$(wildcard tests/peers/*.c)) \
    $(B)/tests/test_newcomer
	$(call say,AGAIN,"with programs of others")
	$(Q)MORTISE_BUILD=$(B) sh scripts/peers.sh $(PEER)

SANITIZE = CFLAGS="-O1 -g1 -fno-omit-frame-pointer -fsanitize=$(1) \
    -fno-sanitize-recover=undefined" LDFLAGS="-fsanitize=$(1)"

# A large quarantine makes the search for leaks, which each test ends with, slow.
asan asan-all: export ASAN_OPTIONS = verify_asan_link_order=0:quarantine_size_mb=16
# Its leak checker attaches to the process like a debugger.
asan asan-all: export MORTISE_CORE_DUMPS = 1
# For each change, with a fifth of the random graphs; `make asan-all`, a part of `make
# nightly`, runs all suites with all graphs.  ASAN="api run": these suites.
ASAN ?= $(call names_of,$(call tests_in,unit/* sim))
asan: export MORTISE_WORLDS = 200
asan: plain
	+$(Q)$(AGAIN) B=$(B)/asan LIKE=$(B) $(call SANITIZE,address$(comma)undefined) \
	    BESIDE=runs ONLY="$(ASAN)" unit
asan-all: plain
	+$(Q)$(AGAIN) B=$(B)/asan LIKE=$(B) $(call SANITIZE,address$(comma)undefined) \
	    SKIP="$(PRELOADS)" unit

# Every suite so many times, with every processor kept busy: whatever fails
# depends on the time that something takes.
STRESS ?= 20
stress: programs
	$(Q)MORTISE_BUILD=$(B) STRESS=$(STRESS) sh scripts/stress.sh $(TESTS)

# What takes too long for each change.  It is run whole before a release.
NIGHTLY := asan-all slow tsan valgrind spawns whole mutants fuzz lint analyze stress \
           reproducible cross without
nightly:
	+$(Q)$(call stages,$(NIGHTLY))

# The demo needs none of these services.
without:
	+$(Q)$(AGAIN) B=$(B)/without WITHOUT="$(addprefix services/,discovery kv memory spawn)" demo

reproducible: $(B)/mortise
	$(Q)MAKEFLAGS= sh scripts/reproducible.sh $(B)/mortise
CROSS_CC := aarch64-linux-gnu-gcc
cross:
	+$(Q)$(AGAIN) CC=$(CROSS_CC) CXX=$(CROSS_CC:gcc=g++) B=$(B)/cross all
	$(Q)for f in $(B)/cross/mortise $(B)/cross/mortise-worker $(TOOLS:%=$(B)/cross/%) $(B)/cross/lib/*.so.* \
	    $(B)/cross/plugins/*.so; do \
	    readelf -h $$f | grep -q AArch64 || { echo "$$f: not for arm64" >&2; exit 1; }; \
	done

# Programs that fork with threads and go on, as plugins do that misbehave, live.
tsan: export TSAN_OPTIONS = suppressions=$(CURDIR)/tests/tsan.supp:atexit_sleep_ms=0:die_after_fork=0
# It is ten times slower.
tsan: export CK_TIMEOUT_MULTIPLIER = 15
tsan:
	+$(Q)$(AGAIN) B=$(B)/tsan $(call SANITIZE,thread) SKIP="$(PRELOADS_TSAN)" unit

# A fifth of the random graphs: what is wrong with memory shows in few.
valgrind: programs
	$(Q)MORTISE_BUILD=$(B) MORTISE_WORLDS=200 CK_FORK=no UNDER="valgrind -q --error-exitcode=9 \
	    --suppressions=$(CURDIR)/tests/valgrind.supp --leak-check=full --errors-for-leak-kinds=definite" sh scripts/test.sh \
	    $(filter-out $(call programs_of,$(ALONE)),$(TESTS))

headers: $(B)/deps.mk
	$(call say,CHECK,"each public header alone: C11 and C++11")
	$(Q)for h in $(HEADERS) core/mortise.h; do \
	    $(CC) -std=c11 $(WARN) -Werror -Isdk -fsyntax-only -x c $$h && \
	    $(CXX) -std=c++11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion \
	        -Wold-style-cast -Wzero-as-null-pointer-constant -Werror \
	        -Isdk -fsyntax-only -x c++ $$h || exit 1; \
	done
	$(call say,CHECK,"core/json/parse.c reads all JSON")
	$(Q)! grep -rnE --include='*.[ch]' --include='*.cpp' '\<json_load' $(LIBRARY) $(COMMAND) sdk plugins || \
	    { echo "jansson's parser is not safe without memory: mortise_json_parse()" >&2; exit 1; }

# What another compiler warns of.  It makes no object.
SYNTAX_C := $(CORE_SRC) $(CLI_SRC) $(TEST_SRC) $(wildcard worker/*.c \
    plugins/*/*/*.c tests/lib/*.c tests/kill/*.c tests/keys/*.c \
    tests/bench/*.c tests/plugins/*.c tests/preload/*.c tests/mcp/*.c)
SYNTAX_CXX := $(call sources,$(LIBRARY) $(COMMAND),cpp) $(wildcard plugins/*/*/*.cpp)
syntax: $(B)/deps.mk
	$(call say,CHECK,"the warnings of $(CC) in every file")
	$(Q)printf '%s\n' $(SYNTAX_C) | xargs -n 20 -P $(shell nproc) $(CC) $(OURS) \
	    -Werror -fsyntax-only $(TEST_INC) $(DEP_CFLAGS) \
	    $(foreach d,$(PLUGIN_DIRS),$(call headers_of,$(d)))
	$(Q)$(CXX) $(CXX_FLAGS) -Werror -fsyntax-only -I. -Isdk $(DEP_CFLAGS) \
	    $(SYNTAX_CXX)

# Each entry point for FUZZ_SECONDS (or those that are named: FUZZ="import json");
# what it finds is kept in its corpus.  Files to begin with lie in FUZZ_SEEDS_NAME.
FUZZ_SECONDS ?= 30
FUZZ ?= $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/*.c))
FUZZ_SEEDS_graph := tests/graphs/good tests/graphs/bad
FUZZ_SEEDS_import := tests/graphs/import
FUZZ_SEEDS_servers := tests/servers
FUZZ_SEEDS_control := tests/fuzz/requests
FUZZ_SEEDS_http_reply := tests/fuzz/http_replies
FUZZ_SEEDS_journal := tests/fuzz/journals
FUZZ_SEEDS_steer := tests/fuzz/diffs
FUZZ_FLAGS := -g -O1 -fno-omit-frame-pointer
fuzz:
	+$(Q)$(AGAIN) B=$(B)/fuzz CC=clang CXX=clang++ CFLAGS="$(FUZZ_FLAGS) \
	    -fsanitize=fuzzer-no-link$(comma)address$(comma)undefined" \
	    $(B)/fuzz/libmortise.a $(B)/fuzz/libcli.a $(B)/fuzz/tests/lib.a
	$(Q)$(foreach f,$(FUZZ),mkdir -p $(B)/fuzz/corpus/fuzz_$f && \
	    clang $(OURS) $(TEST_INC) $(DEP_CFLAGS) $(FUZZ_FLAGS) \
	        -fsanitize=fuzzer,address,undefined -o $(B)/fuzz/fuzz_$f \
	        tests/fuzz/fuzz_$f.c $(B)/fuzz/tests/lib.a \
	        $(B)/fuzz/libcli.a $(B)/fuzz/libmortise.a $(DEP_LIBS) && \
	    $(B)/fuzz/fuzz_$f -max_total_time=$(FUZZ_SECONDS) -timeout=10 \
	        -print_final_stats=0 $(B)/fuzz/corpus/fuzz_$f \
	        $(FUZZ_SEEDS_$f) || exit 1;)

mutants: export MORTISE_MATRIX = whole
mutants:
	+$(Q)$(AGAIN) ONLY="store_crash kill run_memory run_guards" programs
	$(Q)sh scripts/mutants.sh $(B)
	+$(Q)$(AGAIN) $(key_programs)
	$(Q)sh scripts/ignore-keys.sh $(B)

# ROWS="dispatch durable": these sections of the table alone.  Around the program
# lies what an installation has, as far as it is of use: plugins it signs itself.
ROWS ?=
$(B)/tests/bench/bench: $(patsubst %.c,$(B)/%.o,$(wildcard tests/bench/*.c)) \
    $(B)/tests/lib/corpus.o $(B)/libmortise.a
	$(call say,LD,$@)
	$(Q)$(CC) $(OURS) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(DEP_LIBS)
	$(Q)mkdir -p $(@D)/mortise/plugins $(@D)/mortise/trust.d && \
	    ln -sfn ../../../mortise-worker $(@D)/mortise/mortise-worker
bench: all $(B)/tests/bench/bench $(BENCH_PLUGINS) $(MCPD)
	$(Q)MORTISE_BUILD=$(B) $(B)/tests/bench/bench $(ROWS)

# What the demo runs, and no more: the plugins of configs/triage, and of its store.
DEMO_PLUGINS := agent file pattern scripted text
demo: $(B)/mortise $(B)/mortise-worker $(B)/trust.d/bundled.yaml $(B)/templates \
    $(patsubst %,$(B)/plugins/%.plugin.yaml.minisig,$(DEMO_PLUGINS))
	$(Q)MORTISE_BUILD=$(B) sh scripts/demo.sh

abi abi-accept: $(LIBS)
	$(Q)CC="$(CC)" CFLAGS_ABI="$(OURS) $(DEP_CFLAGS)" sh scripts/abi.sh $(B) $@

messages: $(B)/mortise
	@sh scripts/messages.sh $(B)/mortise

docs: $(B)/mortise $(B)/tests/keys/list
	$(Q)sh scripts/cli-doc.sh $(B)/mortise >docs/cli.md
	$(Q)sh scripts/errors-doc.sh $(B)/mortise >docs/errors.md
	$(Q)for k in graph deployment plugin trust test; do \
	    $(B)/mortise schema $$k >schema/$$k.json || exit 1; done
	$(Q)sh scripts/graph-keys.sh $(B) >tests/graph_keys.md
	$(Q)CC="$(CC)" sh scripts/entries-doc.sh core/run/record/entries.def \
	    docs/format.md >$(B)/format.md && cp $(B)/format.md docs/format.md
	$(Q)CC="$(CC)" sh scripts/commands-doc.sh core/run/command \
	    docs/control.md >$(B)/control.md && cp $(B)/control.md docs/control.md

# clang-tidy has the warnings of clang besides its own, so clang alone sees only what
# clang-tidy does not read: the tests, which are not worth its time, and C++.
LINTED := $(CORE_SRC) $(CLI_SRC) $(wildcard worker/*.c plugins/*/*/*.c)
TIDY = printf '%s\n' $(LINTED) | xargs -n 10 -P $(shell nproc) sh scripts/tidy.sh \
    $(1) $(OURS) $(TEST_INC) $(DEP_CFLAGS) \
    $(foreach d,$(PLUGIN_DIRS),$(call headers_of,$(d))) --
# cppcheck takes twice as long for the plugins as for the rest.
CPPCHECK_TOO ?= plugins
CPPCHECK := $(LIBRARY) $(COMMAND) worker $(CPPCHECK_TOO)
lint: $(B)/man/mortise.1
	$(call say,CHECK,"mandoc: the man pages")
	$(Q)mandoc -T lint -W warning $(MAN)
	$(call say,CHECK,"clang-tidy: core and plugins")
	$(Q)$(call TIDY,'')
	+$(Q)$(AGAIN) CC=clang CXX=clang++ B=$(B)/clang \
	    SYNTAX_C="$(filter-out $(LINTED),$(SYNTAX_C))" syntax
	$(call say,CHECK,"cppcheck: $(CPPCHECK)")
	$(Q)mkdir -p $(B)/cppcheck
	$(Q)cppcheck --quiet --enable=warning,portability --max-configs=1 --error-exitcode=1 \
	    -j $(shell nproc) --cppcheck-build-dir=$(B)/cppcheck \
	    --library=scripts/cppcheck.cfg --suppressions-list=scripts/cppcheck.supp \
	    -I. -Isdk $(CPPCHECK)
# Much slower than the other checks of clang-tidy.  It advises and does not fail.
# Left out: advice to use Annex K, which glibc does not have.
ANALYZE := -*$(comma)clang-analyzer-*$(comma)-clang-analyzer-valist.Uninitialized$(comma)$\
    -clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling
analyze: $(B)/deps.mk
	$(call say,CHECK,"clang-analyzer: core and plugins")
	$(Q)$(call TIDY,'$(ANALYZE)') || :

WORST ?= 10
words:
	$(Q)python3 scripts/words.py --worst $(WORST) --groups

# ---- installing ---------------------------------------------------------

# Each group: where it goes, with which mode, and its files.
GROUPS = bin header sdk lib pc worker plugins trust schema man1 man3 man5 \
          bash zsh fish unit users tmpfiles pages docs tutorials how-to $(DOC_DIRS) \
          $(TEMPLATE_DIRS)
bin     = $(PREFIX)/bin                  755 $(B)/mortise
header  = $(INCLUDEDIR)/mortise          644 core/mortise.h
sdk     = $(INCLUDEDIR)/mortise          644 $(HEADERS)
lib     = $(LIBDIR)                      644 $(LIBS)
pc      = $(LIBDIR)/pkgconfig            644 $(PCS)
worker  = $(LIBDIR)/mortise              755 $(B)/mortise-worker $(TOOL_BINS)
plugins = $(LIBDIR)/mortise/plugins      644 $(PLUGINS) $(PLUGINS:.minisig=) \
                                         $(PLUGIN_NAMES:%=$(B)/plugins/%.so)
trust   = $(LIBDIR)/mortise/trust.d      644 $(B)/trust.d/bundled.yaml
schema  = $(DATADIR)/mortise/schema      644 $(wildcard schema/*.json)
man1    = $(MANDIR)/man1                 644 $(shell echo $(B)/man/*.1)
man3    = $(MANDIR)/man3                 644 $(wildcard docs/man/*.3)
man5    = $(MANDIR)/man5                 644 $(wildcard docs/man/*.5)
bash    = $(DATADIR)/bash-completion/completions 644 $(filter %/bash/mortise,$(COMPLETIONS))
zsh     = $(DATADIR)/zsh/site-functions  644 $(filter %/_mortise,$(COMPLETIONS))
fish    = $(DATADIR)/fish/vendor_completions.d 644 $(filter %.fish,$(COMPLETIONS))
unit     = $(UNITDIR)                    644 $(B)/mortise@.service
users    = $(PREFIX)/lib/sysusers.d      644 $(B)/sysusers/mortise.conf
tmpfiles = $(PREFIX)/lib/tmpfiles.d      644 $(B)/tmpfiles/mortise.conf
# What pages and headers call docs/, configs/ and examples/ is below one
# directory, as it is in the tree.
pages   = $(DOCDIR)                      644 README.md CHANGELOG.md LICENSE
docs    = $(DOCDIR)/docs                 644 $(wildcard docs/*.md)
tutorials = $(DOCDIR)/docs/tutorials     644 $(wildcard docs/tutorials/*.md)
how-to  = $(DOCDIR)/docs/how-to          644 $(wildcard docs/how-to/*.md)
DOC_DIRS := $(sort $(patsubst %/,%,$(dir $(shell find configs/ examples/ -type f))))
DOC_LEAVES := $(shell find configs/ examples/ -type d -links 2)
DOC_FILES := %.md %.yaml %.lock %.log %.diff %.c %.cpp %.map %/Makefile
$(foreach d,$(DOC_DIRS),$(eval $d = $(value DOCDIR)/$d 644 \
    $(filter $(DOC_FILES),$(wildcard $d/*))))
TEMPLATE_DIRS := $(sort $(patsubst %/,%,$(dir $(wildcard templates/*/*))))
$(foreach d,$(TEMPLATE_DIRS),$(eval $d = $(value DATADIR)/mortise/$d 644 \
    $(wildcard $d/*)))
MAN     = $(call files,man1) $(call files,man3) $(call files,man5)
SO_LINKS := $(SONAME) libmortise.so

to    = $(DESTDIR)$(word 1,$($(1)))
mode  = $(word 2,$($(1)))
files = $(wordlist 3,999,$($(1)))
define newline


endef
each = $(foreach g,$(GROUPS),$(call $(1),$(g))$(newline))
put  = install -d $(call to,$(1)) && \
    install -m $(call mode,$(1)) $(call files,$(1)) $(call to,$(1))
drop = rm -f $(addprefix $(call to,$(1))/,$(notdir $(call files,$(1))))

install: all
	$(call each,put)
	for l in $(SO_LINKS); do \
	    ln -sf $(notdir $(SO)) $(call to,lib)/$$l || exit 1; done
	ln -sfnr $(call to,schema) $(DESTDIR)$(DOCDIR)/schema

# Directories stay when they hold what is not ours.
uninstall:
	$(call each,drop)
	rm -f $(SO_LINKS:%=$(call to,lib)/%) $(DESTDIR)$(DOCDIR)/schema
	-rmdir --ignore-fail-on-non-empty $(call to,plugins) $(call to,trust) \
	    $(LIBDIR:%=$(DESTDIR)%/mortise) $(call to,sdk) $(call to,tutorials) \
	    $(call to,how-to) $(call to,docs)
	-cd $(DESTDIR)$(DATADIR)/mortise && \
	    rmdir -p --ignore-fail-on-non-empty $(TEMPLATE_DIRS)
	-cd $(DESTDIR)$(DOCDIR) && \
	    rmdir -p --ignore-fail-on-non-empty $(DOC_LEAVES) && \
	    rmdir --ignore-fail-on-non-empty $(DESTDIR)$(DOCDIR)

# What git has, as it is in the tree, and the date of the last commit.
DIST := mortise-$(VERSION)
dist:
	$(call say,TAR,$(B)/$(DIST).tar.gz)
	$(Q)rm -rf $(B)/$(DIST) && mkdir -p $(B)/$(DIST)
	$(Q)git ls-files -z | tar -c --null -T - | tar -x -C $(B)/$(DIST)
	$(Q)echo $(EPOCH) >$(B)/$(DIST)/.epoch
	$(Q)tar -C $(B) -c --sort=name --mtime=@$(EPOCH) --owner=0 --group=0 \
	    --numeric-owner --mode=u=rwX,go=rX $(DIST) | gzip -9n >$(B)/$(DIST).tar.gz
	$(Q)rm -rf $(B)/$(DIST)

# SIGN_KEY is taken from the environment, too, by packaging/debian/rules.
deb: dist
	$(call say,DEB,$(B)/deb)
	$(Q)rm -rf $(B)/deb && mkdir -p $(B)/deb
	$(Q)cp $(B)/$(DIST).tar.gz $(B)/deb/mortise_$(VERSION).orig.tar.gz
	$(Q)tar -xzf $(B)/$(DIST).tar.gz -C $(B)/deb
	$(Q)cp -r packaging/debian $(B)/deb/$(DIST)
	$(Q)cd $(B)/deb/$(DIST)/debian && sed "s|@VERSION@|$(VERSION)|; \
	    s|@DATE@|$$(LC_ALL=C date -u -R -d @$(EPOCH))|" changelog.in >changelog && \
	    rm changelog.in
	$(Q)cd $(B)/deb/$(DIST) && env -u MAKEFLAGS -u MAKELEVEL -u MAKEOVERRIDES \
	    SOURCE_DATE_EPOCH=$(EPOCH) $(if $(filter file,$(origin SIGN_KEY)),,\
	    SIGN_KEY=$(abspath $(SIGN_KEY))) dpkg-buildpackage -b -us -uc

clean:
	rm -rf build

format:
	clang-format -i $$(git ls-files '*.c' '*.h' '*.cpp')

-include $(shell test -d $(B) && find $(B) -name '*.d' -type f)
