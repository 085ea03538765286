/* system.c - memory and cores of the machine */
#include "base/system.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PATH_BYTES = 1200 };

#ifdef __wasi__
static uint64_t process_limit(void)
{
    return UINT64_MAX;
}

/* WASI has no dup; the host of the engine (src/wasm) has. */
__attribute__((import_module("heddle"), import_name("copy_descriptor"))) int host_copy_descriptor(int fd);

int hd_descriptor_copy(int fd)
{
    int copy = host_copy_descriptor(fd);
    if (copy < 0) errno = EBADF;
    return copy;
}

uint64_t hd_memory_of_module(void)
{
    enum { PAGE_BYTES = 1 << 16 };
    return (uint64_t)__builtin_wasm_memory_size(0) * PAGE_BYTES;
}
#else
#include <sys/resource.h>

/* The smaller of `ulimit -v` and `ulimit -d`; UINT64_MAX: neither is set. */
static uint64_t process_limit(void)
{
    uint64_t least = UINT64_MAX;
    struct rlimit space = {RLIM_INFINITY, RLIM_INFINITY}, data = space;
    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) least = space.rlim_cur;
    if (getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur != RLIM_INFINITY && data.rlim_cur < least)
        least = data.rlim_cur;
    return least;
}

int hd_descriptor_copy(int fd)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

uint64_t hd_memory_of_module(void)
{
    return 0;
}
#endif

void hd_pages_leave(const void *from, const void *until)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = ((uintptr_t)from + page - 1) / page * page, end = (uintptr_t)until / page * page;
    if (first < end) madvise((void *)first, end - first, MADV_DONTNEED);
}

/* The number in a file of the control group's; none, and "max", are no limit. */
static uint64_t memory_in(const char *group)
{
    char path[PATH_BYTES + 32], text[32] = "";
    uint64_t limit = UINT64_MAX;
    const char *names[] = {"memory.max", "memory.limit_in_bytes"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", group, names[i]);
        FILE *file = fopen(path, "re");
        if (!file) continue;
        if (fgets(text, sizeof text, file) && text[0] >= '0' && text[0] <= '9') limit = strtoull(text, NULL, 10);
        fclose(file);
    }
    return limit;
}

/* CPU time per period, as whole CPUs rounded up: one file in control groups v2, two in v1, where -1 is no limit. */
static uint64_t cores_in(const char *group)
{
    char path[PATH_BYTES + 32];
    long long quota = 0, period = 0;
    snprintf(path, sizeof path, "%s/cpu.max", group);
    FILE *file = fopen(path, "re");
    if (file) {
        if (fscanf(file, "%lld %lld", &quota, &period) != 2) quota = 0;
        fclose(file);
    }
    const char *names[] = {"cpu.cfs_quota_us", "cpu.cfs_period_us"};
    for (size_t i = 0; i < 2 && !file; i++) {
        snprintf(path, sizeof path, "%s/%s", group, names[i]);
        FILE *one = fopen(path, "re");
        if (!one) return UINT64_MAX;
        if (fscanf(one, "%lld", i ? &period : &quota) != 1) quota = 0;
        fclose(one);
    }
    if (quota <= 0 || period <= 0) return UINT64_MAX;
    return (uint64_t)(quota / period + (quota % period > 0));
}

typedef uint64_t limit_reader(const char *group);

/* The smallest limit of a control group and its ancestors. */
static uint64_t limit_upwards(const char *mount, char *group, limit_reader *read_limit)
{
    char path[PATH_BYTES];
    uint64_t limit = UINT64_MAX;
    group[strcspn(group, "\n")] = '\0';
    for (char *end = group + strlen(group); end; end = strrchr(group, '/')) {
        *end = '\0';
        snprintf(path, sizeof path, "%s%s", mount, group);
        uint64_t one = read_limit(path);
        if (one < limit) limit = one;
    }
    return limit;
}

/* Whether a comma-separated list of names contains a name. */
static bool is_listed(const char *list, size_t size, const char *name)
{
    size_t length = strlen(name);
    for (const char *end = list + size; list < end;) {
        const char *comma = memchr(list, ',', (size_t)(end - list));
        size_t one = (size_t)((comma ? comma : end) - list);
        if (one == length && memcmp(list, name, length) == 0) return true;
        list += one + 1;
    }
    return false;
}

/* Lines are "0::/group" for control groups v2, "9:cpu,cpuacct:/group" for v1, whose mounts are named like the list of
 * controllers. */
static uint64_t group_limit(const char *root, const char *controller, limit_reader *read_limit)
{
    char line[1024], mount[PATH_BYTES];
    uint64_t limit = UINT64_MAX;
    snprintf(mount, sizeof mount, "%s/proc/self/cgroup", root);
    FILE *file = fopen(mount, "re");
    if (!file) return limit;
    while (fgets(line, sizeof line, file)) {
        char *names = strchr(line, ':'), *group = names ? strstr(names + 1, ":/") : NULL;
        if (!group) continue;
        int size = (int)(group++ - ++names);
        if (size && !is_listed(names, (size_t)size, controller)) continue;
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s%.*s", root, size ? "/" : "", size, names);
        uint64_t one = limit_upwards(mount, group, read_limit);
        if (one < limit) limit = one;
    }
    fclose(file);
    return limit;
}

uint64_t hd_memory_limit_in(const char *root)
{
    return group_limit(root, "memory", memory_in);
}

uint64_t hd_core_limit_in(const char *root)
{
    return group_limit(root, "cpu", cores_in);
}

/* Bytes of memory that this process may hope for: the least of the machine's, its control group's and its ulimit's. */
static uint64_t memory_size(void)
{
    enum { ASSUMED = 1 << 30 };
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t machine = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : ASSUMED;
    uint64_t group = hd_memory_limit_in(""), process = process_limit();
    uint64_t least = group < machine ? group : machine;
    return process < least ? process : least;
}

uint64_t hd_memory_default(void)
{
    static _Atomic uint64_t known; /* cached, since it is read from system files */
    uint64_t size = atomic_load(&known);
    if (!size) atomic_store(&known, size = memory_size() / 4);
    return size;
}

/* The cores that the process may be put on. */
static unsigned allowed_cores(void)
{
#ifdef __linux__
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 0)
        return (unsigned)CPU_COUNT(&allowed);
#endif
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (unsigned)cores : 1;
}

unsigned hd_core_count(void)
{
    static _Atomic uint64_t known; /* likewise; 0: not yet known */
    uint64_t limit = atomic_load(&known);
    if (!limit) atomic_store(&known, limit = hd_core_limit_in(""));
    unsigned allowed = allowed_cores();
    return limit < allowed ? (unsigned)limit : allowed;
}

bool hd_write_at(int fd, const void *data, size_t size, uint64_t at)
{
    const uint8_t *p = data;
    while (size) {
        ssize_t n = pwrite(fd, p, size, (off_t)at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        p += n;
        at += (uint64_t)n;
        size -= (size_t)n;
    }
    return true;
}
