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

/* The least limit of a control group and those above it. */
static uint64_t limit_upwards(const char *root, char *group, const char *file)
{
    char path[1200];
    uint64_t limit = UINT64_MAX;
    group[strcspn(group, "\n")] = '\0';
    for (char *end = group + strlen(group); end; end = strrchr(group, '/')) {
        *end = '\0';
        snprintf(path, sizeof path, "%s%s/%s", root, group, file);
        uint64_t one = limit_in(path);
        if (one < limit) limit = one;
    }
    return limit;
}

/* Lines are "0::/group" for version 2 of control groups, "9:memory:/group" for version 1. */
static uint64_t group_limit(void)
{
    char line[1024];
    uint64_t limit = UINT64_MAX;
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (!file) return limit;
    while (fgets(line, sizeof line, file)) {
        char *memory = strstr(line, ":memory:");
        uint64_t one = UINT64_MAX;
        if (strncmp(line, "0::/", 4) == 0)
            one = limit_upwards("/sys/fs/cgroup", line + 3, "memory.max");
        else if (memory)
            one = limit_upwards("/sys/fs/cgroup/memory", memory + 8, "memory.limit_in_bytes");
        if (one < limit) limit = one;
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

uint64_t hd_memory_default(void)
{
    return hd_memory_size() / 4;
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
