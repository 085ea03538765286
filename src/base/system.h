/* system.h - memory and cores of the machine */
#ifndef HD_BASE_SYSTEM_H
#define HD_BASE_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the system has. In WebAssembly one thread does everything, and a temporary file is memory, so that nothing is
 * moved to one or mapped. -DHD_HAS_FILES=0 -DHD_HAS_THREADS=0 builds the same for any system. */
#ifdef __wasi__
#define HD_HAS_FILES 0
#define HD_HAS_THREADS 0
#define HD_HAS_SIGNALS 0
#define HD_HAS_PROGRAMS 0
#endif
#ifndef HD_HAS_FILES
#define HD_HAS_FILES 1
#endif
#ifndef HD_HAS_THREADS
#define HD_HAS_THREADS 1
#endif
#ifndef HD_HAS_SIGNALS
#define HD_HAS_SIGNALS 1
#endif
#ifndef HD_HAS_PROGRAMS
#define HD_HAS_PROGRAMS 1
#endif

/* A second descriptor of the same open file, closed by exec; -1 with errno. */
int hd_descriptor_copy(int fd);

/* Writes all bytes at a place of a file. false: not all were written. */
bool hd_write_at(int fd, const void *data, size_t size, uint64_t at);

/* Gives whole pages between two places of private or mapped memory back to the system. What they held is lost, unless a
 * file has it. */
void hd_pages_leave(const void *from, const void *until);

/* The default memory limit in bytes: a quarter of what the machine, the control group and `ulimit` allow at the first
 * call. */
uint64_t hd_memory_default(void);

/* Bytes of memory that a WebAssembly module has, which never become fewer; 0: this is none. */
uint64_t hd_memory_of_module(void);

/* Number of threads that can run at once, as limited by this process's affinity and the CPU time of its control group,
 * rounded up to whole cores: at least 1. */
unsigned hd_core_count(void);

/* The smallest memory limit of the process's control group and its ancestors, read below `root`/proc and `root`/sys
 * ("": this machine); UINT64_MAX: no limit. */
uint64_t hd_memory_limit_in(const char *root); /* bytes */
uint64_t hd_core_limit_in(const char *root);   /* whole cores, at least 1 */

#endif
