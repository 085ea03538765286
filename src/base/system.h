/* system.h - what the machine has */
#ifndef HD_BASE_SYSTEM_H
#define HD_BASE_SYSTEM_H

#include <stdint.h>

/* What we take of its memory unless we are told, as it is at the first call: bytes. */
uint64_t hd_memory_default(void);

/* Threads that can run at once, as far as this process is allowed (its affinity, and the CPU time of its control group,
 * rounded up to whole cores): at least 1. */
unsigned hd_core_count(void);

/* What the control groups allow of which `root`/proc and `root`/sys tell ("": this machine's), the least of the
 * process's own and of all above it; UINT64_MAX: no limit. */
uint64_t hd_memory_limit_in(const char *root); /* bytes */
uint64_t hd_core_limit_in(const char *root);   /* whole cores, at least 1 */

#endif
