/* system.c - what the machine has */
#include "base/system.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The number in a file of the control group's; none, and "max", are no limit. */
static uint64_t limit_in(const char *path)
{
    char text[32] = "";
    FILE *file = fopen(path, "re");
    if (!file) return UINT64_MAX;
    uint64_t limit = UINT64_MAX;
    if (fgets(text, sizeof text, file) && text[0] >= '0' && text[0] <= '9') limit = strtoull(text, NULL, 10);
    fclose(file);
    return limit;
}

/* Version 2 of control groups: the group's own limit and those above it. */
static uint64_t group_limit(void)
{
    char line[1024], path[1200];
    uint64_t limit = limit_in("/sys/fs/cgroup/memory/memory.limit_in_bytes"); /* version 1, and containers */
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (!file) return limit;
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, "0::/", 4) != 0) continue;
        char *group = line + 3;
        group[strcspn(group, "\n")] = '\0';
        for (char *end = group + strlen(group); end; end = strrchr(group, '/')) {
            *end = '\0';
            snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.max", group);
            uint64_t one = limit_in(path);
            if (one < limit) limit = one;
        }
    }
    fclose(file);
    return limit;
}

uint64_t hd_memory_size(void)
{
    enum { ASSUMED = 1 << 30 };
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t machine = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : ASSUMED, group = group_limit();
    return group < machine ? group : machine;
}

unsigned hd_core_count(void)
{
#ifdef __linux__
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 0)
        return (unsigned)CPU_COUNT(&allowed);
#endif
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (unsigned)cores : 1;
}
