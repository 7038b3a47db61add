# Mortise.  What one would type:
#
#   make            build/mortise, the bundled plugins (signed) and their key
#   make demo       the triage graph: run, kill -9, approve, resume
#   make check      everything that must hold, as CI runs it
#   make asan       the test suite under AddressSanitizer and UBSan
#   make tsan       ... under ThreadSanitizer
#   make valgrind   ... under valgrind's memcheck
#   make mutants    prove the kill harness: three broken builds must turn red
#   make bench      the table of ratios (tests/bench/)
#   make headers    each SDK header alone, as C11 and as C++11
#   make deps       install what a bare Debian 12 lacks (NO_DEPS=1: only say)
#   make lint       clang-tidy and cppcheck
#   make format     clang-format over everything
#   make install    PREFIX=/usr/local DESTDIR=
#   make clean
#
# V=1 shows the commands.  B=DIR builds elsewhere; LAYERS="base json" builds a
# part of the library (a layer may be tested before those above it exist).

PREFIX  ?= /usr/local
DESTDIR ?=
CC      ?= cc
CXX     ?= c++
CFLAGS  ?= -O2 -g
LDFLAGS ?=
B       ?= build
LAYERS  ?= base json yaml cel graph run store plugin engine
WERROR  ?= $(if $(CI),-Werror,)

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
        -Wmissing-prototypes -Wvla -Wundef -Wcast-qual -Wwrite-strings \
        -Wformat=2 $(WERROR)
OURS := -std=c11 -D_GNU_SOURCE -fvisibility=hidden -fPIC -pthread $(WARN) \
        -Icore -Isdk $(VARIANT)
TEST_INC := -Itests

PKGS := yaml-0.1 libsodium libuv jansson libpcre2-8

# The packages, once, before anything else: deps.sh names what is missing,
# installs it and leaves the flags in deps.mk, which make then reads.
NEEDS_NO_DEPS := clean format
ifneq ($(filter-out $(NEEDS_NO_DEPS),$(or $(MAKECMDGOALS),all)),)
include $(B)/deps.mk
endif
$(B)/deps.mk: tools/deps.sh
	@mkdir -p $(@D)
	@NO_DEPS=$(NO_DEPS) sh tools/deps.sh "$(PKGS)" >$@.tmp
	@mv $@.tmp $@

CORE_SRC   := $(foreach l,$(LAYERS),$(wildcard core/$(l)/*.c))
CORE_OBJ   := $(CORE_SRC:%.c=$(B)/%.o)
CLI_OBJ    := $(patsubst %.c,$(B)/%.o,$(wildcard core/cli/*.c))
LIB_OBJ    := $(patsubst %.c,$(B)/%.o,$(wildcard tests/lib/*.c))
TESTS      := $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/test_*.c))
PLUGIN_DIR := $(wildcard plugins/*/*)
PLUGINS    := $(foreach d,$(PLUGIN_DIR),$(B)/plugins/$(notdir $(d)).so)

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-5s %s\n' $(1) $(2))

.PHONY: all check demo bench asan tsan valgrind mutants headers format lint \
        install clean deps
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:

deps: $(B)/deps.mk

$(B)/%.o: %.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(OURS) $(DEP_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# Tests see what they need besides.
$(B)/tests/%.o: OURS += $(TEST_INC)

$(B)/libmortise.a: $(CORE_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

$(B)/tests/%: $(B)/tests/%.o $(LIB_OBJ) $(B)/libmortise.a
	$(call say,LD,$@)
	$(Q)$(CC) $(OURS) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(DEP_LIBS) $(CHECK_LIBS)

clean:
	rm -rf build

format:
	clang-format -i $$(git ls-files '*.c' '*.h')

-include $(shell test -d $(B) && find $(B) -name '*.d')
