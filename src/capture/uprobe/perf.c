/* perf.c - perf_event_open, rings */
#include "capture/uprobe/perf.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "capture/uprobe/record.h"

#define PMU "/sys/bus/event_source/devices/uprobe/type"
enum { SIDE_BYTES = 512 << 10, FRAMES_STACK_BYTES = 64 };

static int open_event(const struct perf_event_attr *attr, int pid, int cpu)
{
    return (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* The number of the PMU "uprobe". Errors: UNSUPPORTED. */
static hd_status pmu_type(uint32_t *out, hd_error *err)
{
    FILE *file = fopen(PMU, "re");
    bool is_read = file && fscanf(file, "%u", out) == 1;
    if (file) fclose(file);
    if (is_read) return HD_OK;
    return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE,
                        "the kernel has no uprobes for perf (" PMU "): it needs CONFIG_UPROBE_EVENTS, Linux 4.17");
}

/* What failed, and the remedy. */
static hd_status refused(int why, hd_error *err)
{
    switch (why) {
    case EACCES:
    case EPERM:
        return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE,
                            "uprobes are not allowed here: %s. Run as root, or once: sudo setcap "
                            "cap_sys_admin+ep HEDDLE; in a container add the capability SYS_ADMIN",
                            strerror(why));
    case EMFILE:
        return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE,
                            "too many open files for so many functions and CPUs; raise it: ulimit -n");
    case ENOSYS:
        return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE, "the kernel has no perf_event_open");
    default: return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "perf_event_open: %s", strerror(why));
    }
}

/* ---- attributes ---- */

static struct perf_event_attr dummy_attr(void)
{
    return (struct perf_event_attr){.type = PERF_TYPE_SOFTWARE,
                                    .config = PERF_COUNT_SW_DUMMY,
                                    .size = sizeof(struct perf_event_attr),
                                    .sample_period = 1,
                                    .sample_type = UPROBE_SIDE_TYPE,
                                    .sample_id_all = 1,
                                    .use_clockid = 1,
                                    .clockid = CLOCK_MONOTONIC,
                                    .watermark = 1};
}

static struct perf_event_attr probe_attr(const uprobe_perf *perf, const uprobe_target *target, bool is_return)
{
    struct perf_event_attr attr = {.type = perf->type,
                                   .config = is_return,
                                   .size = sizeof attr,
                                   .sample_period = 1,
                                   .sample_type = perf->hit_sample_type,
                                   .sample_id_all = 1,
                                   .use_clockid = 1,
                                   .clockid = CLOCK_MONOTONIC,
                                   .watermark = 1,
                                   .disabled = 1,
                                   .exclude_callchain_kernel = 1,
                                   .sample_regs_user = perf->registers,
                                   .uprobe_path = (uint64_t)(uintptr_t)target->path,
                                   .probe_offset = target->offset};
    bool has_stack = perf->hit_sample_type & PERF_SAMPLE_STACK_USER;
    bool has_frames = perf->hit_sample_type & PERF_SAMPLE_CALLCHAIN;
    attr.sample_stack_user = has_frames ? FRAMES_STACK_BYTES : has_stack ? perf->options.stack_bytes : 0;
    if (!is_return) return attr;
    attr.sample_type = UPROBE_SAMPLE_TYPE | PERF_SAMPLE_REGS_USER;
    attr.sample_stack_user = 0;
    return attr;
}

/* ---- rings ---- */

static hd_status map_ring(uprobe_perf *perf, uprobe_ring *ring, uint32_t bytes, hd_error *err)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    ring->bytes = page;
    while (ring->bytes * 2 <= bytes) ring->bytes *= 2;
    for (;; ring->bytes /= 2) {
        ring->map_bytes = page + ring->bytes;
        ring->map = mmap(NULL, ring->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
        if (ring->map != MAP_FAILED) break;
        /* How much may be locked is limited for who is not root. */
        if ((errno != EPERM && errno != ENOMEM) || ring->bytes <= page * 4) {
            ring->map = NULL;
            return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE,
                                "no memory for the rings of perf: %s; see kernel.perf_event_mlock_kb", strerror(errno));
        }
    }
    ring->data = (const uint8_t *)ring->map + page;
    if (ring == &perf->rings[0]) perf->ring_bytes = (uint32_t)ring->bytes;
    return HD_OK;
}

static hd_status open_rings(uprobe_perf *perf, uint32_t index, int pid, hd_error *err)
{
    uprobe_ring *hits = &perf->rings[index * 2], *side = &perf->rings[index * 2 + 1];
    struct perf_event_attr attr = dummy_attr();
    /* Once one had to be smaller, so are the others. */
    uint32_t bytes = perf->ring_bytes ? perf->ring_bytes : perf->options.ring_bytes;
    attr.wakeup_watermark = bytes / 4;
    hits->fd = open_event(&attr, -1, perf->cpus[index]);
    if (hits->fd < 0) return refused(errno, err);
    HD_TRY(map_ring(perf, hits, bytes, err));
    attr.wakeup_watermark = SIDE_BYTES / 4;
    /* Of a process that runs: of all, as its threads would need an event each. */
    bool is_running = perf->options.is_running;
    attr.disabled = attr.enable_on_exec = attr.inherit = !is_running;
    if (is_running) pid = -1;
    attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = attr.task = attr.build_id = 1;
    side->fd = open_event(&attr, pid, perf->cpus[index]);
    if (side->fd < 0 && errno == EINVAL) { /* before Linux 5.12 */
        attr.build_id = 0;
        side->fd = open_event(&attr, pid, perf->cpus[index]);
    }
    if (side->fd < 0) return refused(errno, err);
    return map_ring(perf, side, SIDE_BYTES, err);
}

/* "0-3,8": those that are on. */
static hd_status find_cpus(uprobe_perf *perf, hd_error *err)
{
    char text[4096] = "";
    FILE *file = fopen("/sys/devices/system/cpu/online", "re");
    const char *at = file && fgets(text, sizeof text, file) ? text : "0";
    long limit = sysconf(_SC_NPROCESSORS_CONF);
    if (file) fclose(file);
    if (limit < 1) limit = 1;
    perf->cpus = calloc((size_t)limit, sizeof *perf->cpus);
    perf->rings = calloc((size_t)limit * 2, sizeof *perf->rings);
    if (!perf->cpus || !perf->rings) return HD_NOMEM(err);
    for (char *end; *at >= '0' && *at <= '9'; at = *end == ',' ? end + 1 : end) {
        long first = strtol(at, &end, 10), last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        for (long cpu = first; cpu <= last && perf->cpu_count < (uint32_t)limit; cpu++)
            perf->cpus[perf->cpu_count++] = (int)cpu;
    }
    for (uint32_t i = 0; i < perf->cpu_count * 2; i++) perf->rings[i].fd = -1;
    return HD_OK;
}

static uint32_t ring_share(uint32_t cpus)
{
    uint32_t least = 2 << 20, most = 32 << 20, share = HD_UPROBE_RINGS_BYTES / (cpus ? cpus : 1);
    return share < least ? least : share > most ? most : share;
}

static hd_status open_all(uprobe_perf *perf, int pid, hd_error *err)
{
    HD_TRY(pmu_type(&perf->type, err));
    if (!perf->options.no_tracefs) uprobe_tracefs_open(&perf->tracefs);
    HD_TRY(find_cpus(perf, err));
    if (!perf->options.ring_bytes) perf->options.ring_bytes = ring_share(perf->cpu_count);
    for (uint32_t i = 0; i < perf->cpu_count; i++) HD_TRY(open_rings(perf, i, pid, err));
    return HD_OK;
}

hd_status uprobe_perf_open(uprobe_perf *out, int pid, const hd_uprobe_options *options, hd_error *err)
{
    *out = (uprobe_perf){.options = *options, .hit_sample_type = UPROBE_SAMPLE_TYPE, .tracefs = {.folder = -1}};
    out->registers = uprobe_record_registers();
    if (options->stacks == HD_UPROBE_UNWIND) out->hit_sample_type |= PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_USER;
    if (options->stacks == HD_UPROBE_FRAMES)
        out->hit_sample_type |= PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_CALLCHAIN;
    if (options->returns) out->hit_sample_type |= PERF_SAMPLE_REGS_USER;
    hd_status status = open_all(out, pid, err);
    if (status != HD_OK) uprobe_perf_close(out);
    return status;
}

void uprobe_perf_close(uprobe_perf *perf)
{
    for (size_t i = 0; i < perf->events.count; i++) {
        uprobe_event *event = perf->events.entries[i].pointer;
        close(event->fd);
        free(event);
    }
    hd_map_deinit(&perf->events);
    uprobe_tracefs_close(&perf->tracefs);
    for (uint32_t i = 0; perf->rings && i < perf->cpu_count * 2; i++) {
        if (perf->rings[i].map) munmap(perf->rings[i].map, perf->rings[i].map_bytes);
        if (perf->rings[i].fd >= 0) close(perf->rings[i].fd);
    }
    free(perf->rings);
    free(perf->cpus);
    *perf = (uprobe_perf){.tracefs = {.folder = -1}};
}

/* ---- probes ---- */

static hd_status add_event(uprobe_perf *perf, uprobe_event event, hd_error *err)
{
    uprobe_event *kept = NULL;
    if (ioctl(event.fd, PERF_EVENT_IOC_ID, &event.id)) goto failed;
    kept = malloc(sizeof *kept);
    if (!kept) goto failed;
    *kept = event;
    if (!hd_map_set_pointer(&perf->events, event.id, 0, kept)) goto failed;
    if (ioctl(event.fd, PERF_EVENT_IOC_ENABLE, 0)) return refused(errno, err);
    return HD_OK;
failed:
    free(kept);
    close(event.fd);
    return hd_error_set(err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "no memory for an event of perf");
}

/* The same event for each CPU, all into their rings. */
static hd_status open_on_cpus(uprobe_perf *perf, const struct perf_event_attr *attr, uprobe_event event,
                              const uprobe_target *target, hd_error *err)
{
    for (uint32_t i = 0; i < perf->cpu_count; i++) {
        event.fd = open_event(attr, -1, perf->cpus[i]);
        if (event.fd < 0 && errno != EACCES && errno != EPERM && errno != EMFILE)
            return hd_error_set(err, HD_ERR_IO, target->path, HD_OFFSET_NONE, "%.80s cannot be probed: %s",
                                target->symbol, strerror(errno));
        if (event.fd < 0) return refused(errno, err);
        if (ioctl(event.fd, PERF_EVENT_IOC_SET_OUTPUT, perf->rings[i * 2].fd)) {
            int why = errno;
            close(event.fd);
            return refused(why, err);
        }
        HD_TRY(add_event(perf, event, err));
    }
    return HD_OK;
}

/* Return probes before entry probes: then the return of every entered call is seen. */
static hd_status probe_together(uprobe_perf *perf, const uprobe_target *targets, uint32_t first, uint32_t count,
                                bool *out_is_done, hd_error *err)
{
    uint64_t ids[2] = {0};
    bool returns = perf->options.returns;
    *out_is_done = (!returns || uprobe_tracefs_add(&perf->tracefs, targets + first, count, true, &ids[1])) &&
                   uprobe_tracefs_add(&perf->tracefs, targets + first, count, false, &ids[0]);
    for (int is_return = returns; is_return >= 0 && *out_is_done; is_return--) {
        struct perf_event_attr attr = probe_attr(perf, &targets[first], is_return);
        attr.type = PERF_TYPE_TRACEPOINT;
        attr.config = ids[is_return];
        attr.uprobe_path = attr.probe_offset = 0;
        uprobe_event event = {.target = UPROBE_ANY_TARGET, .is_return = is_return};
        HD_TRY(open_on_cpus(perf, &attr, event, &targets[first], err));
    }
    return HD_OK;
}

hd_status uprobe_perf_probe(uprobe_perf *perf, const uprobe_target *targets, uint32_t first, uint32_t count,
                            uint32_t *out_probed, hd_error *err)
{
    bool is_done;
    *out_probed = 0;
    HD_TRY(probe_together(perf, targets, first, count, &is_done, err));
    if (is_done) *out_probed = count;
    for (uint32_t i = first; i < first + count && !is_done; i++) {
        for (int is_return = perf->options.returns; is_return >= 0; is_return--) {
            struct perf_event_attr attr = probe_attr(perf, &targets[i], is_return);
            uprobe_event event = {.target = i, .is_return = is_return};
            HD_TRY(open_on_cpus(perf, &attr, event, &targets[i], err));
        }
        ++*out_probed;
    }
    return HD_OK;
}

void uprobe_perf_stop(uprobe_perf *perf)
{
    for (size_t i = 0; i < perf->events.count; i++)
        ioctl(((uprobe_event *)perf->events.entries[i].pointer)->fd, PERF_EVENT_IOC_DISABLE, 0);
}

/* Lost records at the end may not be reported by any record, but all hits are counted. */
uint64_t uprobe_perf_lost(uprobe_perf *perf)
{
    uint64_t lost = 0, count;
    for (size_t i = 0; i < perf->events.count; i++) {
        const uprobe_event *event = perf->events.entries[i].pointer;
        if (read(event->fd, &count, sizeof count) == sizeof count && count > event->read) lost += count - event->read;
    }
    return lost;
}

/* ---- taking records out ---- */

void uprobe_perf_wait(uprobe_perf *perf, int milliseconds)
{
    struct pollfd *polled = calloc(perf->cpu_count * 2, sizeof *polled);
    if (!polled) {
        usleep((useconds_t)milliseconds * 1000);
        return;
    }
    for (uint32_t i = 0; i < perf->cpu_count * 2; i++)
        polled[i] = (struct pollfd){.fd = perf->rings[i].fd, .events = POLLIN};
    if (poll(polled, perf->cpu_count * 2, milliseconds) > 0) {
        /* A ring whose task has ended hangs up, and would be ready for ever. */
        bool is_full = false;
        for (uint32_t i = 0; i < perf->cpu_count * 2; i++) is_full |= (polled[i].revents & POLLIN) != 0;
        if (!is_full) usleep((useconds_t)milliseconds * 1000);
    }
    free(polled);
}

/* `size` contiguous bytes at a position. */
static const uint8_t *ring_at(const uprobe_ring *ring, uint64_t at, size_t size, uint8_t *buffer)
{
    uint64_t place = at & (ring->bytes - 1), first = ring->bytes - place;
    if (first >= size) return ring->data + place;
    memcpy(buffer, ring->data + place, first);
    memcpy(buffer + first, ring->data, size - first);
    return buffer;
}

static size_t record_size(const uprobe_ring *ring)
{
    struct perf_event_header header; /* records are aligned to 8: a header is contiguous */
    memcpy(&header, ring->data + (ring->tail & (ring->bytes - 1)), sizeof header);
    return header.size;
}

static void peek(uprobe_ring *ring)
{
    uint8_t buffer[UPROBE_RECORD_BYTES];
    ring->time_ns = INT64_MAX;
    if (ring->tail == ring->head) return;
    size_t size = record_size(ring);
    if (size < sizeof(struct perf_event_header) || size > ring->head - ring->tail) {
        ring->tail = ring->head; /* cannot be */
        return;
    }
    ring->time_ns = uprobe_record_time(ring_at(ring, ring->tail, size, buffer));
}

void uprobe_perf_look(uprobe_perf *perf)
{
    for (uint32_t i = 0; i < perf->cpu_count * 2; i++) {
        const struct perf_event_mmap_page *page = perf->rings[i].map;
        perf->rings[i].head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
        peek(&perf->rings[i]);
    }
}

const uint8_t *uprobe_perf_next(uprobe_perf *perf, int64_t until, uint8_t *buffer, uprobe_ring **out_ring)
{
    uprobe_ring *first = NULL;
    int64_t time = INT64_MAX;
    /* Of equal times mappings come before hits. */
    for (uint32_t i = perf->cpu_count * 2; i-- > 0;) {
        if (perf->rings[i].time_ns >= time) continue;
        first = &perf->rings[i];
        time = first->time_ns;
    }
    if (!first || time > until) return NULL;
    *out_ring = first;
    return ring_at(first, first->tail, record_size(first), buffer);
}

void uprobe_perf_done(uprobe_perf *perf, uprobe_ring *ring)
{
    struct perf_event_mmap_page *page = ring->map;
    (void)perf;
    ring->tail += record_size(ring);
    __atomic_store_n(&page->data_tail, ring->tail, __ATOMIC_RELEASE);
    peek(ring);
}
