/* kernel.c - tracepoints of all CPUs by perf_event_open; a thread moves the records of their rings into a file
 *
 * Records are written unchanged, and decoded when the trace is made (src/format/perfdata). Each CPU has one ring, which
 * is emptied every ROUND_MS. Records lost for lack of room are reported by the kernel's records, and at the end by the
 * events' own counts. Each event takes a descriptor for each CPU; the caller sets the limit.
 */
#include "record/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/thread.h"

/* All rings together get RINGS_BYTES, within the limits of each. */
enum { ROUND_MS = 20, RINGS_BYTES = 256 << 20, RING_BYTES = 16 << 20, RING_BYTES_LEAST = 2 << 20 };
enum { RING_BYTES_MIN = 32 << 10 }; /* where less memory may be locked */

typedef struct kernel_ring {
    struct perf_event_mmap_page *page; /* NULL: not mapped */
    size_t bytes, map_bytes;           /* of the records, a power of two; of all */
} kernel_ring;

struct record_kernel {
    kernel_events events;
    size_t cpu_count;
    int *fds; /* cpu_count for each event; -1: not open */
    kernel_ring *rings;
    int file, problem; /* why the file cannot be written; 0: it can */
    char *path;
    pthread_t thread;
    atomic_bool ending;
    uint64_t samples, told, unwritten; /* read from rings; reported as lost; of the samples */
};

/* ---- the file ---- */

static void write_bytes(record_kernel *k, const void *data, size_t size)
{
    const uint8_t *at = data;
    while (size && !k->problem) {
        ssize_t written = write(k->file, at, size);
        if (written < 0 && errno != EINTR) k->problem = errno;
        if (written <= 0) continue;
        at += written;
        size -= (size_t)written;
    }
}

static hd_status write_begin(record_kernel *k, const recording *r, hd_error *err)
{
    hd_bytes head = {0};
    if (asprintf(&k->path, "%s/" KERNEL_FILE, r->result->parts) < 0) {
        k->path = NULL;
        return HD_NOMEM(err);
    }
    k->file = open(k->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (k->file < 0) k->problem = errno;
    kernel_file_begin(&head, &k->events, k->cpu_count);
    if (!head.failed) write_bytes(k, head.data, head.size);
    bool failed = head.failed;
    hd_bytes_deinit(&head);
    if (failed) return HD_NOMEM(err);
    return k->problem
               ? hd_error_set(err, HD_ERR_IO, k->path, HD_OFFSET_NONE, "cannot be written: %s", strerror(k->problem))
               : HD_OK;
}

/* ---- rings ---- */

static void count_records(record_kernel *k, const kernel_ring *ring, uint64_t tail, uint64_t head)
{
    const uint8_t *data = (const uint8_t *)ring->page + (ring->map_bytes - ring->bytes);
    while (head - tail >= sizeof(struct perf_event_header)) {
        const uint8_t *record = data + (tail & (ring->bytes - 1)); /* in units of 8 bytes: a header is contiguous */
        uint64_t size = hd_le_get(record + 6, 2), type = hd_le_get(record, 4);
        if (size < sizeof(struct perf_event_header)) return;
        k->samples += type == PERF_RECORD_SAMPLE;
        k->unwritten += type == PERF_RECORD_SAMPLE && k->problem;
        if (type == PERF_RECORD_LOST) k->told += hd_le_get(data + ((tail + 16) & (ring->bytes - 1)), 8);
        tail += size;
    }
}

static void empty_ring(record_kernel *k, kernel_ring *ring)
{
    const uint8_t *data = (const uint8_t *)ring->page + (ring->map_bytes - ring->bytes);
    uint64_t tail = ring->page->data_tail, head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    size_t at = tail & (ring->bytes - 1), size = (size_t)(head - tail), first = ring->bytes - at;
    if (first > size) first = size;
    write_bytes(k, data + at, first);
    write_bytes(k, data, size - first);
    count_records(k, ring, tail, head);
    __atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
}

static void empty_rings(record_kernel *k)
{
    hd_bytes end = {0};
    for (size_t i = 0; i < k->cpu_count; i++) {
        if (k->rings[i].page) empty_ring(k, &k->rings[i]);
    }
    kernel_file_round(&end);
    write_bytes(k, end.data, end.size);
    hd_bytes_deinit(&end);
}

static void *reader_main(void *kernel)
{
    record_kernel *k = kernel;
    while (!atomic_load(&k->ending)) {
        usleep(ROUND_MS * 1000);
        empty_rings(k);
    }
    return NULL;
}

/* ---- events ---- */

static hd_status refused(int why, hd_error *err)
{
    if (why == EACCES || why == EPERM)
        return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE,
                            "the kernel's events are not allowed here: %s. Run as root, or once: sudo setcap "
                            "cap_perfmon,cap_dac_read_search+ep HEDDLE; in a container add the capability PERFMON and "
                            "a seccomp profile that allows perf_event_open",
                            strerror(why));
    if (why == EMFILE)
        return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE,
                            "too many open files for the kernel's events on so many CPUs; raise it: ulimit -n");
    return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "perf_event_open: %s", strerror(why));
}

static struct perf_event_attr attr_of(uint64_t id, bool has_tasks)
{
    return (struct perf_event_attr){.type = PERF_TYPE_TRACEPOINT,
                                    .config = id,
                                    .size = sizeof(struct perf_event_attr),
                                    .sample_period = 1,
                                    .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                                   PERF_SAMPLE_CPU | PERF_SAMPLE_RAW,
                                    .disabled = 1,
                                    .comm = has_tasks,
                                    .task = has_tasks,
                                    .sample_id_all = 1,
                                    .use_clockid = 1,
                                    .clockid = CLOCK_MONOTONIC};
}

static hd_status map_ring(kernel_ring *ring, int fd, size_t cpu_count, hd_error *err)
{
    size_t wanted = RING_BYTES;
    while (wanted > RING_BYTES_LEAST && wanted > RINGS_BYTES / cpu_count) wanted /= 2;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (ring->bytes = wanted; ring->bytes >= RING_BYTES_MIN; ring->bytes /= 2) {
        ring->map_bytes = page + ring->bytes;
        void *map = mmap(NULL, ring->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (map != MAP_FAILED) {
            ring->page = map;
            return HD_OK;
        }
        if (errno != EPERM && errno != ENOMEM) break;
    }
    return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE,
                        "no memory for the rings of perf: %s; see kernel.perf_event_mlock_kb", strerror(errno));
}

/* An event on a CPU; the first one there has the ring of all. */
static hd_status open_event(record_kernel *k, size_t event, size_t cpu, hd_error *err)
{
    kernel_event *e = &k->events.list[event];
    int *fd = &k->fds[event * k->cpu_count + cpu];
    *fd = (int)syscall(SYS_perf_event_open, &e->attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (*fd < 0 && errno == ENODEV) return HD_OK; /* that CPU is off */
    if (*fd < 0) return refused(errno, err);
    if (!k->rings[cpu].page)
        HD_TRY(map_ring(&k->rings[cpu], *fd, k->cpu_count, err));
    else if (ioctl(*fd, PERF_EVENT_IOC_SET_OUTPUT, k->fds[cpu]) != 0)
        return refused(errno, err);
    return ioctl(*fd, PERF_EVENT_IOC_ID, &e->ids[cpu]) == 0 ? HD_OK : refused(errno, err);
}

static hd_status open_events(record_kernel *k, hd_error *err)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    HD_TRY(kernel_events_find(&k->events, err));
    k->cpu_count = cpus > 0 ? (size_t)cpus : 1;
    k->rings = calloc(k->cpu_count, sizeof *k->rings);
    k->fds = malloc(k->events.count * k->cpu_count * sizeof *k->fds);
    if (!k->rings || !k->fds) return HD_NOMEM(err);
    memset(k->fds, 0xff, k->events.count * k->cpu_count * sizeof *k->fds);
    for (size_t i = 0; i < k->events.count; i++) {
        kernel_event *e = &k->events.list[i];
        e->attr = attr_of(e->attr.config, i == 0);
        if (!(e->ids = calloc(k->cpu_count, sizeof *e->ids))) return HD_NOMEM(err);
        for (size_t cpu = 0; cpu < k->cpu_count; cpu++) HD_TRY(open_event(k, i, cpu, err));
    }
    return HD_OK;
}

static void switch_events(const record_kernel *k, unsigned long how)
{
    for (size_t i = 0; i < k->events.count * k->cpu_count; i++) {
        if (k->fds[i] >= 0) ioctl(k->fds[i], how, 0);
    }
}

/* ---- start and stop ---- */

static void close_all(record_kernel *k)
{
    for (size_t i = 0; k->fds && i < k->events.count * k->cpu_count; i++) {
        if (k->fds[i] >= 0) close(k->fds[i]);
    }
    for (size_t i = 0; k->rings && i < k->cpu_count; i++) {
        if (k->rings[i].page) munmap(k->rings[i].page, k->rings[i].map_bytes);
    }
    if (k->file >= 0) close(k->file);
    kernel_events_deinit(&k->events);
    free(k->path);
    free(k->fds);
    free(k->rings);
    free(k);
}

static hd_status start(record_kernel *k, const recording *r, hd_error *err)
{
    HD_TRY(open_events(k, err));
    switch_events(k, PERF_EVENT_IOC_ENABLE); /* first: threads that are not in the list of running ones are announced as
                                                new */
    HD_TRY(write_begin(k, r, err));
    int failed = hd_thread_start(&k->thread, reader_main, k);
    if (failed)
        return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "no thread for the kernel's events: %s",
                            strerror(failed));
    if (!k->events.has_gpu)
        record_say(r, "kernel: no tracepoints of GPU drivers are here; scheduling, interrupts and fences are captured");
    return HD_OK;
}

hd_status record_kernel_start(record_kernel **out, const recording *r, hd_error *err)
{
    record_kernel *k = *out = calloc(1, sizeof *k);
    if (!k) return HD_NOMEM(err);
    k->file = -1;
    hd_status status = start(k, r, err);
    if (status == HD_OK) return HD_OK;
    if (k->file >= 0) unlink(k->path);
    close_all(k);
    *out = NULL;
    return status;
}

/* Reports hits that are neither in the file nor reported as lost there. */
static void tell_rest(record_kernel *k)
{
    uint64_t hits = 0, count;
    hd_bytes lost = {0};
    for (size_t i = 0; i < k->events.count * k->cpu_count; i++) {
        if (k->fds[i] >= 0 && read(k->fds[i], &count, sizeof count) == sizeof count) hits += count;
    }
    if (hits <= k->samples + k->told) return;
    kernel_file_lost(&lost, k->events.list[0].ids[0], hits - k->samples - k->told);
    write_bytes(k, lost.data, lost.size);
    hd_bytes_deinit(&lost);
}

hd_status record_kernel_stop(record_kernel *k, hd_error *err)
{
    if (!k) return HD_OK;
    hd_status status = HD_OK;
    atomic_store(&k->ending, true);
    pthread_join(k->thread, NULL);
    switch_events(k, PERF_EVENT_IOC_DISABLE);
    empty_rings(k);
    tell_rest(k);
    if (k->problem)
        status = hd_error_set(err, HD_ERR_IO, k->path, HD_OFFSET_NONE,
                              "cannot be written: %s; at least %llu events of the kernel are lost",
                              strerror(k->problem), (unsigned long long)k->unwritten);
    close_all(k);
    return status;
}
