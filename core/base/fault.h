/* fault.h -- points at which a test can kill the process.
 *
 * FAULT_POINT("store: before write") compiles to nothing in a normal build.
 * With -DMORTISE_FAULTS it calls tests/lib/fault.c, which can kill the process
 * at the n-th point.  The Makefile links some test programs that way.  A
 * point's name is "module: place". */
#ifndef MORTISE_BASE_FAULT_H
#define MORTISE_BASE_FAULT_H

#ifdef MORTISE_FAULTS
void mortise_fault_point(const char *name);
#define FAULT_POINT(name) mortise_fault_point(name)
#else
#define FAULT_POINT(name) ((void)0)
#endif

#endif
