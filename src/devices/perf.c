/* perf.c - whether the kernel lets us probe functions, take stacks, and read its events: tries perf_event_open
 *
 * A uprobe event needs CAP_SYS_ADMIN (before Linux 6.18 perhaps CAP_PERFMON) whatever perf_event_paranoid says; stacks
 * of one's own processes need perf_event_paranoid of at most 2. Containers often forbid the call as a whole (seccomp).
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/perf_event.h>
#include <sys/syscall.h>
#endif

#include "devices/impl.h"

typedef struct perf_facts {
    char paranoid[DEVICES_NAME_BYTES]; /* "2"; "": no such file */
    bool capable;                      /* CAP_PERFMON or CAP_SYS_ADMIN */
} perf_facts;

static bool is_capable(const char *root)
{
    enum { SYS_ADMIN_BIT = 21, PERFMON_BIT = 38 };
    char path[DEVICES_PATH_BYTES], line[256];
    unsigned long long bits = 0;
    FILE *file = devices_path(path, sizeof path, root, "/proc/self/status") ? devices_open(path) : NULL;
    if (!file) return false;
    for (int i = 0; i < 256 && fgets(line, sizeof line, file); i++)
        if (strncmp(line, "CapEff:", 7) == 0) bits = strtoull(line + 7, NULL, 16);
    fclose(file);
    return bits >> PERFMON_BIT & 1 || bits >> SYS_ADMIN_BIT & 1;
}

static void find_facts(perf_facts *facts, const char *root)
{
    char path[DEVICES_PATH_BYTES];
    *facts = (perf_facts){.capable = is_capable(root)};
    if (devices_path(path, sizeof path, root, "/proc/sys/kernel/perf_event_paranoid"))
        devices_line(facts->paranoid, sizeof facts->paranoid, path);
}

static int64_t uprobe_type(const char *root)
{
    char path[DEVICES_PATH_BYTES];
    bool fits = devices_path(path, sizeof path, root, "/sys/bus/event_source/devices/uprobe/type");
    int64_t type = fits ? devices_number(path) : -1;
    return type <= UINT32_MAX ? type : -1;
}

static void describe(char *out, size_t size, const perf_facts *facts)
{
    devices_text(out, size, "perf_event_paranoid is %s, CAP_PERFMON is %s",
                 facts->paranoid[0] ? facts->paranoid : "not there", facts->capable ? "held" : "not held");
}

#ifdef __linux__
/* The target of the trial probe; never called. */
__attribute__((noinline, used)) static void probed(void)
{
    __asm__ volatile("" ::: "memory");
}

/* The file of this program's code and the place of `probed` in it. */
static bool find_place(char *path, size_t size, uint64_t *offset)
{
    char line[DEVICES_PATH_BYTES];
    uintptr_t address = (uintptr_t)probed;
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && !found && fgets(line, sizeof line, maps)) {
        unsigned long start, end, at;
        int name = 0;
        if (sscanf(line, "%lx-%lx %*4s %lx %*s %*s %n", &start, &end, &at, &name) != 3 || !name || line[name] != '/')
            continue;
        line[strcspn(line, "\n")] = '\0';
        if (address < start || address >= end || strlen(line + name) >= size) continue;
        memcpy(path, line + name, strlen(line + name) + 1);
        *offset = address - start + at;
        found = true;
    }
    if (maps) fclose(maps);
    return found;
}

/* 0, or why the event could not be had. It is never enabled. */
static int try_event(struct perf_event_attr *attr, int pid, int cpu)
{
    attr->size = sizeof *attr;
    attr->disabled = 1;
    long fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0) return errno;
    close((int)fd);
    return 0;
}

static int try_uprobe(int64_t type)
{
    char path[DEVICES_PATH_BYTES];
    uint64_t offset;
    if (!find_place(path, sizeof path, &offset)) return ENOENT;
    struct perf_event_attr attr = {.type = (uint32_t)type, .sample_period = 1};
    attr.config1 = (uintptr_t)path;
    attr.config2 = offset;
    return try_event(&attr, 0, -1);
}

static int try_callchain(void)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .config = PERF_COUNT_SW_TASK_CLOCK,
                                   .sample_period = 1000000,
                                   .sample_type = PERF_SAMPLE_CALLCHAIN,
                                   .exclude_kernel = 1,
                                   .exclude_callchain_kernel = 1};
    return try_event(&attr, 0, -1);
}

static int try_tracepoint(int64_t id)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_TRACEPOINT, .config = (uint64_t)id, .sample_period = 1, .sample_type = PERF_SAMPLE_RAW};
    return try_event(&attr, -1, 0);
}
#else
static int try_uprobe(int64_t type)
{
    (void)type;
    return ENOSYS;
}

static int try_callchain(void)
{
    return ENOSYS;
}

static int try_tracepoint(int64_t id)
{
    (void)id;
    return ENOSYS;
}
#endif

#define ADVICE_CONTAINER                                                                                               \
    "The system refuses perf_event_open as a whole: a container needs --cap-add PERFMON and a seccomp profile that "   \
    "allows "                                                                                                          \
    "it (or --security-opt seccomp=unconfined)."

void devices_way_uprobe(hd_way *way, const char *root)
{
    perf_facts facts;
    char told[128];
    find_facts(&facts, root);
    describe(told, sizeof told, &facts);
    int64_t type = uprobe_type(root);
    if (type < 0) {
        devices_say(way, HD_WAY_MISSING,
                    "Use a Linux kernel with CONFIG_UPROBE_EVENTS (4.17 or newer), and mount /sys.",
                    "the kernel has no uprobe events (/sys/bus/event_source/devices/uprobe/type); %s", told);
        return;
    }
    if (root[0]) {
        devices_say(way, HD_WAY_PARTLY, "Look from that machine itself.", "uprobe events are there, not tried; %s",
                    told);
        return;
    }
    int failed = try_uprobe(type);
    if (!failed)
        devices_say(way, HD_WAY_WORKS, "", "a uprobe was opened; %s", told);
    else if ((failed == EACCES || failed == EPERM) && facts.capable)
        devices_say(way, HD_WAY_MISSING, ADVICE_CONTAINER, "opening a uprobe failed: %s; %s", strerror(failed), told);
    else if (failed == EACCES || failed == EPERM)
        devices_say(way, HD_WAY_MISSING,
                    "Run heddle as root, or give it the right: sudo setcap cap_sys_admin+ep \"$(command -v heddle)\".",
                    "opening a uprobe failed: %s; %s", strerror(failed), told);
    else
        devices_say(way, HD_WAY_MISSING, "The kernel may not support uprobes on this file system (overlay, FUSE).",
                    "opening a uprobe failed: %s; %s", strerror(failed), told);
}

void devices_way_callchain(hd_way *way, const char *root)
{
    perf_facts facts;
    char told[128];
    find_facts(&facts, root);
    describe(told, sizeof told, &facts);
    if (root[0]) {
        devices_say(way, facts.paranoid[0] ? HD_WAY_PARTLY : HD_WAY_MISSING, "Look from that machine itself.",
                    "not tried; %s", told);
        return;
    }
    int failed = try_callchain();
    if (!failed)
        devices_say(way, HD_WAY_WORKS, "", "an event with stacks was opened; %s", told);
    else if ((failed == EACCES || failed == EPERM) && (facts.capable || atoi(facts.paranoid) <= 2))
        devices_say(way, HD_WAY_MISSING, ADVICE_CONTAINER, "opening an event with stacks failed: %s; %s",
                    strerror(failed), told);
    else if (failed == EACCES || failed == EPERM)
        devices_say(way, HD_WAY_MISSING, "Ask for sudo sysctl kernel.perf_event_paranoid=2, or run heddle as root.",
                    "opening an event with stacks failed: %s; %s", strerror(failed), told);
    else
        devices_say(way, HD_WAY_MISSING, "Use a Linux kernel with CONFIG_PERF_EVENTS.",
                    "opening an event with stacks failed: %s; %s", strerror(failed), told);
}

#define ADVICE_KERNEL                                                                                                  \
    "Run heddle as root, or give it the right: sudo setcap cap_perfmon,cap_dac_read_search+ep \"$(command -v "         \
    "heddle)\"."

/* The number of sched_switch, or -1 - errno. */
static int64_t switch_id(const char *root)
{
    static const char *const folders[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
    char path[DEVICES_PATH_BYTES];
    int why = ENOENT;
    for (int i = 0; i < 2; i++) {
        if (!devices_path(path, sizeof path, root, "%s/events/sched/sched_switch/id", folders[i])) continue;
        int64_t id = devices_number(path);
        if (id >= 0) return id;
        if (access(path, R_OK) != 0 && errno != ENOENT) why = errno;
    }
    return -1 - why;
}

void devices_way_kernel(hd_way *way, const char *root)
{
    perf_facts facts;
    char told[128];
    find_facts(&facts, root);
    describe(told, sizeof told, &facts);
    int64_t id = switch_id(root);
    if (id == -1 - ENOENT) {
        devices_say(way, HD_WAY_MISSING,
                    "Mount the kernel's events: sudo mount -t tracefs tracefs /sys/kernel/tracing.",
                    "no /sys/kernel/tracing/events/sched/sched_switch; %s", told);
        return;
    }
    if (root[0]) {
        devices_say(way, HD_WAY_PARTLY, "Look from that machine itself.", "tracepoints are there, not tried; %s", told);
        return;
    }
    int failed = id < 0 ? (int)(-1 - id) : try_tracepoint(id);
    if (!failed)
        devices_say(way, HD_WAY_WORKS, "", "a tracepoint was opened; %s", told);
    else
        devices_say(way, HD_WAY_MISSING,
                    failed != EACCES && failed != EPERM ? "Use a Linux kernel with CONFIG_PERF_EVENTS."
                    : id >= 0 && facts.capable          ? ADVICE_CONTAINER
                                                        : ADVICE_KERNEL,
                    "%s failed: %s; %s", id < 0 ? "reading the kernel's events" : "opening a tracepoint",
                    strerror(failed), told);
}
