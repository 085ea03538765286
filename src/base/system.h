/* system.h - memory and cores of the machine */
#ifndef HD_BASE_SYSTEM_H
#define HD_BASE_SYSTEM_H

#include <stdint.h>

/* The default memory limit in bytes, from the machine's memory at the first call. */
uint64_t hd_memory_default(void);

/* Number of threads that can run at once, as limited by this process's affinity and the CPU time of its control group,
 * rounded up to whole cores: at least 1. */
unsigned hd_core_count(void);

/* The smallest memory limit of the process's control group and its ancestors, read below `root`/proc and `root`/sys
 * ("": this machine); UINT64_MAX: no limit. */
uint64_t hd_memory_limit_in(const char *root); /* bytes */
uint64_t hd_core_limit_in(const char *root);   /* whole cores, at least 1 */

#endif
