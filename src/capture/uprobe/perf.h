/* perf.h - the events of the kernel, and the rings that it writes records into
 *
 *     each CPU:  side ring   mappings, forks and names of the program and its descendants  a dummy event, inherited
 *                hit ring    the hits of all probes                                       events of tracefs or the PMU
 *
 * Probe events are per CPU, not per program: for an inherited event the kernel would read the probe's path again in any
 * program that forks, from our address, and that fork would fail (seen on 6.18).
 */
#ifndef HD_CAPTURE_UPROBE_PERF_H
#define HD_CAPTURE_UPROBE_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "capture/uprobe/plan.h"
#include "capture/uprobe/tracefs.h"

enum { UPROBE_RECORD_BYTES = 65536 };

typedef struct uprobe_ring {
    void *map; /* NULL: none */
    size_t map_bytes;
    const uint8_t *data;
    uint64_t bytes; /* of data, a power of two */
    uint64_t tail, head;
    int64_t time_ns; /* of the record at tail; INT64_MAX: no more up to head */
    int fd;          /* of the event that owns it */
} uprobe_ring;

/* An event of a probe. */
typedef struct uprobe_event {
    uint64_t id;
    uint64_t read;   /* records that were read from it */
    uint32_t target; /* UPROBE_ANY_TARGET: determined by its address */
    bool is_return;
    int fd;
} uprobe_event;

#define UPROBE_ANY_TARGET UINT32_MAX

typedef struct uprobe_perf {
    hd_uprobe_options options;
    uint32_t type; /* of the PMU */
    uprobe_tracefs tracefs;
    int *cpus;
    uint32_t cpu_count;
    uprobe_ring *rings; /* of CPU i: 2 * i hits, 2 * i + 1 side */
    hd_map events;      /* uprobe_event by id */
    uint64_t hit_sample_type;
    uint64_t registers; /* requested, in the kernel's numbers */
    uint32_t ring_bytes;
} uprobe_perf;

/* Opens everything except probes; pid has not called execve yet. After a failure all is closed. */
hd_status uprobe_perf_open(uprobe_perf *out, int pid, const hd_uprobe_options *options, hd_error *err);
void uprobe_perf_close(uprobe_perf *perf);
/* Probes `count` targets from `first` on: at once if tracefs is available, else one by one; *out_probed: how many. */
hd_status uprobe_perf_probe(uprobe_perf *perf, const uprobe_target *targets, uint32_t first, uint32_t count,
                            uint32_t *out_probed, hd_error *err);

/* Wait until a ring is a quarter full, or so long. */
void uprobe_perf_wait(uprobe_perf *perf, int milliseconds);
/* Fixes the current contents of the rings, which uprobe_perf_next returns. */
void uprobe_perf_look(uprobe_perf *perf);
/* The record with the smallest time up to `until`, copied to `buffer` of UPROBE_RECORD_BYTES if it wraps around; NULL:
 * none. uprobe_perf_done frees its space. */
const uint8_t *uprobe_perf_next(uprobe_perf *perf, int64_t until, uint8_t *buffer, uprobe_ring **out_ring);
void uprobe_perf_done(uprobe_perf *perf, uprobe_ring *ring);

/* No hit counts any more. */
void uprobe_perf_stop(uprobe_perf *perf);
/* Hits that were counted and are not in any ring. */
uint64_t uprobe_perf_lost(uprobe_perf *perf);

#endif
