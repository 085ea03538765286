/* kernel_file.c - finds tracepoints, and writes the data before their records
 *
 * The file has the format of `perf record -o -`, which `perf script -i` reads as well: header, events with their ids
 * and names, clock, host, the kernel's layouts of the events, and the threads already running.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "record/kernel.h"

enum { HEADER_ATTR = 64, HEADER_TRACING_DATA = 66, FINISHED_ROUND = 68, EVENT_UPDATE = 78, HEADER_FEATURE = 80 };
enum { FEATURE_HOSTNAME = 3, FEATURE_CLOCK = 29, UPDATE_NAME = 2, TEXT_LIMIT = 1 << 20 };

static const char *const folders[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
/* Those that readers convert to rows, and related ones: except amdgpu's register accesses, of which there are
 * millions */
static const char *const wanted[] = {
    "sched/sched_switch",
    "sched/sched_waking",
    "sched/sched_wakeup_new",
    "irq/irq_handler_*",
    "irq/softirq_*",
    "gpu_scheduler/*",
    "amdgpu/amdgpu_cs_ioctl",
    "amdgpu/amdgpu_sched_run_job",
    "i915/i915_request_*",
    "dma_fence/*",
    "gpu_mem/*",
    "power/gpu_*",
};
static const char *const gpu_systems[] = {"gpu_scheduler", "amdgpu", "i915", "gpu_mem", "power"};

/* ---- tracepoints ---- */

/* Reads a whole system file, whose size is not known in advance. NULL: unreadable (errno). */
static char *read_text(const char *path, size_t *out_size)
{
    hd_bytes text = {0};
    ssize_t got = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return NULL;
    for (uint8_t *room; text.size < TEXT_LIMIT && (room = hd_bytes_room(&text, 4096)); text.size += (size_t)got) {
        got = read(fd, room, 4096 - 1); /* and a NUL */
        room[got > 0 ? got : 0] = '\0';
        if (got <= 0) break;
    }
    int why = errno;
    close(fd);
    if (got == 0 && !text.failed && text.data) {
        if (out_size) *out_size = text.size;
        return (char *)text.data;
    }
    hd_bytes_deinit(&text);
    errno = why;
    return NULL;
}

static bool add_event(kernel_events *events, char *path)
{
    if (!hd_grow((void **)&events->list, &events->capacity, events->count, sizeof *events->list)) return false;
    kernel_event *event = &events->list[events->count];
    *event = (kernel_event){.format = read_text(path, NULL)};
    const char *id = event->format ? strstr(event->format, "\nID: ") : NULL;
    if (!id) {
        free(event->format);
        return true; /* such a folder is not an event, or may not be read */
    }
    *strrchr(path, '/') = '\0'; /* FOLDER/events/SYSTEM/NAME */
    char *name = strrchr(path, '/');
    *name++ = '\0';
    events->count++;
    event->system = strdup(strrchr(path, '/') + 1);
    event->name = strdup(name);
    event->attr.config = strtoull(id + 5, NULL, 10);
    for (size_t i = 0; i < sizeof gpu_systems / sizeof *gpu_systems && event->system; i++)
        events->has_gpu |= strcmp(event->system, gpu_systems[i]) == 0;
    return event->system && event->name;
}

static bool find_wanted(kernel_events *events, const char *pattern)
{
    char path[128];
    glob_t found;
    bool fine = true;
    snprintf(path, sizeof path, "%s/events/%s/format", events->folder, pattern);
    if (glob(path, 0, NULL, &found) != 0) return true;
    for (size_t i = 0; i < found.gl_pathc && fine; i++) fine = add_event(events, found.gl_pathv[i]);
    globfree(&found);
    return fine;
}

hd_status kernel_events_find(kernel_events *events, hd_error *err)
{
    char path[64];
    int why = ENOENT;
    *events = (kernel_events){0};
    for (size_t i = 0; i < 2 && !events->folder[0]; i++) {
        snprintf(path, sizeof path, "%s/events/header_page", folders[i]);
        if (access(path, R_OK) == 0)
            snprintf(events->folder, sizeof events->folder, "%s", folders[i]);
        else if (errno != ENOENT)
            why = errno;
    }
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted && events->folder[0]; i++) {
        if (!find_wanted(events, wanted[i])) return HD_NOMEM(err);
    }
    if (events->count) return HD_OK;
    if (!events->folder[0] && why != ENOENT)
        return hd_error_set(err, HD_ERR_IO, folders[0], HD_OFFSET_NONE,
                            "the kernel's events may not be read here: %s. Run as root, or once: sudo setcap "
                            "cap_perfmon,cap_dac_read_search+ep HEDDLE",
                            strerror(why));
    return hd_error_set(err, HD_ERR_UNSUPPORTED, folders[0], HD_OFFSET_NONE,
                        "the kernel's events are not there: sudo mount -t tracefs tracefs %s; a container needs "
                        "--privileged, or the host's folder as a volume",
                        folders[0]);
}

void kernel_events_deinit(kernel_events *events)
{
    for (size_t i = 0; i < events->count; i++) {
        free(events->list[i].system);
        free(events->list[i].name);
        free(events->list[i].format);
        free(events->list[i].ids);
    }
    free(events->list);
    *events = (kernel_events){0};
}

/* ---- records ---- */

/* Begins a record; end_record sets its size. */
static size_t begin_record(hd_bytes *out, uint32_t type)
{
    hd_bytes_put_le(out, type, 4);
    hd_bytes_put_le(out, 0, 4);
    return out->size - 8;
}

static void end_record(hd_bytes *out, size_t at)
{
    if (!out->failed) hd_le_put(out->data + at + 6, out->size - at, 2);
}

static void put_zeros(hd_bytes *out, size_t size)
{
    for (size_t i = 0; i < size; i++) hd_bytes_put_u8(out, 0);
}

/* A text padded with zeros, at least one, to a multiple of 8. */
static void put_padded(hd_bytes *out, const char *text)
{
    size_t size = strlen(text);
    hd_bytes_put(out, text, size);
    put_zeros(out, 8 - size % 8);
}

/* The end of all records other than samples: pid, tid, time, CPU, id. Without a time they are valid from the
 * beginning. */
static void put_sample_id(hd_bytes *out, uint64_t id)
{
    put_zeros(out, 24);
    hd_bytes_put_le(out, id, 8);
}

void kernel_file_round(hd_bytes *out)
{
    end_record(out, begin_record(out, FINISHED_ROUND));
}

void kernel_file_lost(hd_bytes *out, uint64_t id, uint64_t count)
{
    size_t at = begin_record(out, PERF_RECORD_LOST);
    hd_bytes_put_le(out, id, 8);
    hd_bytes_put_le(out, count, 8);
    put_sample_id(out, id);
    end_record(out, at);
}

/* ---- before the events ---- */

static void put_event(hd_bytes *out, const kernel_event *event, size_t cpu_count)
{
    size_t at = begin_record(out, HEADER_ATTR);
    hd_bytes_put(out, &event->attr, sizeof event->attr);
    for (size_t i = 0; i < cpu_count; i++) hd_bytes_put_le(out, event->ids[i], 8);
    end_record(out, at);
    char name[160];
    snprintf(name, sizeof name, "%s:%s", event->system, event->name);
    at = begin_record(out, EVENT_UPDATE);
    hd_bytes_put_le(out, UPDATE_NAME, 8);
    hd_bytes_put_le(out, event->ids[0], 8);
    put_padded(out, name);
    end_record(out, at);
}

static uint64_t now_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void put_features(hd_bytes *out)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    size_t at = begin_record(out, HEADER_FEATURE);
    hd_bytes_put_le(out, FEATURE_HOSTNAME, 8);
    hd_bytes_put_le(out, strlen(host) / 8 * 8 + 8, 4);
    put_padded(out, host);
    put_zeros(out, 4);
    end_record(out, at);
    at = begin_record(out, HEADER_FEATURE);
    hd_bytes_put_le(out, FEATURE_CLOCK, 8);
    hd_bytes_put_le(out, 1, 4); /* version */
    hd_bytes_put_le(out, CLOCK_MONOTONIC, 4);
    hd_bytes_put_le(out, now_of(CLOCK_REALTIME), 8);
    hd_bytes_put_le(out, now_of(CLOCK_MONOTONIC), 8);
    end_record(out, at);
}

static void put_sized(hd_bytes *out, const char *data, size_t size)
{
    hd_bytes_put_le(out, size, 8);
    hd_bytes_put(out, data, size);
}

static void put_header(hd_bytes *out, const char *folder, const char *name)
{
    char path[64];
    size_t size = 0;
    snprintf(path, sizeof path, "%s/events/%s", folder, name);
    char *text = read_text(path, &size);
    hd_bytes_put(out, name, strlen(name) + 1);
    put_sized(out, text ? text : "", size);
    free(text);
}

/* The parts of the tracing folder that readers need: the layout of pages, and those of our events. */
static void put_layouts(hd_bytes *out, const kernel_events *events)
{
    static const char magic[] = "\x17\x08\x44tracing0.6";
    size_t at = begin_record(out, HEADER_TRACING_DATA), size_at = out->size;
    hd_bytes_put_le(out, 0, 4);
    end_record(out, at);
    at = out->size;
    hd_bytes_put(out, magic, sizeof magic);
    hd_bytes_put_u8(out, 0); /* little endian */
    hd_bytes_put_u8(out, sizeof(long));
    hd_bytes_put_le(out, (uint64_t)sysconf(_SC_PAGESIZE), 4);
    put_header(out, events->folder, "header_page");
    put_header(out, events->folder, "header_event");
    hd_bytes_put_le(out, 0, 4); /* ftrace's own */
    hd_bytes_put_le(out, events->count, 4);
    for (size_t i = 0; i < events->count; i++) {
        const kernel_event *event = &events->list[i];
        hd_bytes_put(out, event->system, strlen(event->system) + 1);
        hd_bytes_put_le(out, 1, 4);
        put_sized(out, event->format, strlen(event->format));
    }
    put_zeros(out, 4 + 4 + 8); /* kallsyms, printk formats, names of threads */
    put_zeros(out, (8 - (out->size - at) % 8) % 8);
    if (!out->failed) hd_le_put(out->data + size_at, out->size - at, 4);
}

static void put_thread(hd_bytes *out, uint32_t pid, uint32_t tid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/task/%u/comm", pid, tid);
    char *name = read_text(path, NULL);
    if (!name) return; /* it has ended */
    name[strcspn(name, "\n")] = '\0';
    size_t at = begin_record(out, PERF_RECORD_COMM);
    hd_bytes_put_le(out, pid, 4);
    hd_bytes_put_le(out, tid, 4);
    put_padded(out, name);
    put_sample_id(out, 0);
    end_record(out, at);
    free(name);
}

/* The threads that run already. */
static void put_threads(hd_bytes *out)
{
    DIR *processes = opendir("/proc");
    for (struct dirent *process; processes && (process = readdir(processes));) {
        char path[280];
        if (!isdigit((unsigned char)process->d_name[0])) continue;
        snprintf(path, sizeof path, "/proc/%s/task", process->d_name);
        DIR *threads = opendir(path);
        for (struct dirent *thread; threads && (thread = readdir(threads));) {
            if (isdigit((unsigned char)thread->d_name[0]))
                put_thread(out, (uint32_t)atol(process->d_name), (uint32_t)atol(thread->d_name));
        }
        if (threads) closedir(threads);
    }
    if (processes) closedir(processes);
}

void kernel_file_begin(hd_bytes *out, const kernel_events *events, size_t cpu_count)
{
    hd_bytes_put(out, "PERFILE2\x10\0\0\0\0\0\0", 16);
    for (size_t i = 0; i < events->count; i++) put_event(out, &events->list[i], cpu_count);
    put_features(out);
    put_layouts(out, events);
    put_threads(out);
}
