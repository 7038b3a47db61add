/* package.h -- the installed package, for tests of what other people build
 * against it: through pkg-config, with nothing of the tree.
 *
 *     tcase_add_unchecked_fixture(tc, package_install, package_remove);
 *
 * It is installed into a directory that stands for /; what is built lies beside
 * it. */
#ifndef TEST_PACKAGE_H
#define TEST_PACKAGE_H

/* A fresh directory, where scripts run; and with the package in its stage/. */
void package_begin(void);
void package_install(void);
void package_remove(void);
/* A file of that directory; static until the next call. */
const char *package_file(const char *name);

/* Run a script there with what one needs to build against the package and run
 * what was built: $prefix and $libdir, $bin and $lib, where those of them are,
 * $cc and $cxx, and $TREE, the source.  It must end well. */
void package_must(const char *script);

#endif
