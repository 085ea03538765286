/* kernel.h - records events of the operating system's kernel along with a command; for src/record only
 *
 *   kernel.c       tracepoints of all CPUs by perf_event_open; a thread moves the records of their rings into a file
 *   kernel_file.c  finds tracepoints, and writes the data before their records: the file is perf.data of a pipe
 */
#ifndef HD_RECORD_KERNEL_H
#define HD_RECORD_KERNEL_H

#include <linux/perf_event.h>

#include "base/bytes.h"
#include "record/impl.h"

#define KERNEL_FILE "kernel.perfdata"

typedef struct kernel_event {
    char *system, *name; /* "sched", "sched_switch" */
    char *format;        /* the text of its `format` file */
    uint64_t *ids;       /* of perf, one for each CPU */
    struct perf_event_attr attr;
} kernel_event;

typedef struct kernel_events {
    kernel_event *list;
    size_t count, capacity;
    char folder[32]; /* of tracefs */
    bool has_gpu;    /* one of them is of a GPU's driver */
} kernel_events;

/* The known tracepoints that this kernel has. Errors: UNSUPPORTED, IO: none can be read, with a remedy. */
hd_status kernel_events_find(kernel_events *events, hd_error *err);
void kernel_events_deinit(kernel_events *events);

/* All that the reader has to know before the first record of a ring. `failed` of *out: no memory. */
void kernel_file_begin(hd_bytes *out, const kernel_events *events, size_t cpu_count);
void kernel_file_round(hd_bytes *out);
void kernel_file_lost(hd_bytes *out, uint64_t id, uint64_t count);

/* Begin to capture into `parts`. Errors: as above; IO: not allowed. */
hd_status record_kernel_start(record_kernel **out, const recording *r, hd_error *err);
/* End, and free it; NULL is fine. Errors: IO: the file could not be written whole. */
hd_status record_kernel_stop(record_kernel *kernel, hd_error *err);

#endif
