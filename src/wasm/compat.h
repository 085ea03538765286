/* compat.h - what the code takes from a C library and wasi-libc lacks; included before each file */
#ifndef HD_WASM_COMPAT_H
#define HD_WASM_COMPAT_H

#include <stddef.h>
#include <sys/types.h>

int fchown(int fd, uid_t owner, gid_t group);
int mkostemps(char *path, int suffix_size, int flags);
char *mkdtemp(char *path);
void qsort_r(void *list, size_t count, size_t size, int (*compare)(const void *, const void *, void *), void *user);

#endif
