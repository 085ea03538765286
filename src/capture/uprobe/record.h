/* record.h - the bytes of the kernel's records
 *
 * A sample of a probe begins with id, ip, thread, time and CPU, whatever follows; all other records end with thread,
 * time, CPU and id (sample_id_all). Although the bytes come from the kernel, nothing is read beyond a record's size.
 */
#ifndef HD_CAPTURE_UPROBE_RECORD_H
#define HD_CAPTURE_UPROBE_RECORD_H

#include <linux/perf_event.h>
#include <string.h>

#include "capture/uprobe/cfi.h"
#include "capture/uprobe/spaces.h"

enum {
    UPROBE_SAMPLE_TYPE = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
    UPROBE_SIDE_TYPE = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
    UPROBE_SAMPLE_FIXED = 48, /* header, id, ip, thread, time, CPU */
    UPROBE_TRAILER = 32,
};

typedef struct uprobe_hit {
    uint64_t id, ip;
    uint32_t pid, tid, cpu;
    int64_t time_ns;
    uprobe_frame frame;
    const uint8_t *chain; /* addresses; may be unaligned */
    uint64_t chain_count;
    uprobe_memory stack;
} uprobe_hit;

static inline struct perf_event_header uprobe_record_header(const uint8_t *record)
{
    struct perf_event_header header;
    memcpy(&header, record, sizeof header);
    return header;
}

/* ns; 0 for a record too short to have one. */
int64_t uprobe_record_time(const uint8_t *record);
/* false: shorter than it claims. The sample's type is UPROBE_SAMPLE_TYPE and the bits of `type`. */
bool uprobe_record_hit(uprobe_hit *out, const uint8_t *record, uint64_t type, uint64_t registers);
/* A PERF_RECORD_MMAP2; false: damaged. */
bool uprobe_record_mapped(uprobe_mapped *out, const uint8_t *record);

/* The kernel's registers needed for unwinding, and their order in a frame. */
uint64_t uprobe_record_registers(void);

#endif
