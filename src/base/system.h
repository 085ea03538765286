/* system.h - what the machine has */
#ifndef HD_BASE_SYSTEM_H
#define HD_BASE_SYSTEM_H

#include <stdint.h>

/* Bytes of memory that this process may hope for: the machine's, or its control group's if that is less. */
uint64_t hd_memory_size(void);
/* What we take of it unless we are told. */
uint64_t hd_memory_default(void);

/* Threads that can run at once, as far as this process is allowed: at least 1. */
unsigned hd_core_count(void);

#endif
