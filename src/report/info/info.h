/* info.h - shared by the files of the info report
 *
 * In: a trace. Out: the tables of `heddle info`. Begin with info.c.
 */
#ifndef HD_REPORT_INFO_INFO_H
#define HD_REPORT_INFO_INFO_H

#include "heddle/report.h"
#include "model/roles/trace_roles.h"

/* One lane: the tracks with equal pid and tid. */
typedef struct info_lane {
    uint32_t track;                       /* the first of them */
    uint64_t rows[HD_KIND_COUNT], events; /* events: without metadata */
    int64_t start_ns, end_ns;             /* span of its slices */
    int64_t busy_ns; /* covered by slices, on a device's track by its activities; HD_NO_TIME: the track only describes
                        activities */
    hd_track_kind kind;
    hd_row_sort sort;
} info_lane;

typedef struct info_device {
    int64_t id;               /* HD_NO_NUMBER: the process's activities on GPUs without a number */
    uint32_t process;         /* track; HD_NONE: the device has a number */
    const char *kind;         /* model/identity/device.h */
    uint64_t streams, slices; /* seen in events */
    char *name;               /* from the metadata, NULL unknown; owned */
    int64_t memory_bytes, major, minor, multiprocessors; /* HD_NO_NUMBER unknown */
} info_device;

/* How much of the time is over after each part, in percent, as measured on a trace of four million events. */
enum { INFO_SPANS_DONE = 60, INFO_TRACKS_DONE = 90 };

typedef struct info_tracks {
    const hd_report_input *input; /* for its progress */
    const hd_trace *trace;
    info_lane *lanes; /* with events, busiest first */
    size_t lane_count;
    info_device *devices; /* by id */
    size_t device_count, device_capacity;
    uint64_t process_count, track_count, stream_count; /* that have events */
} info_tracks;

hd_status info_run(hd_report *out, const hd_report_input *input, hd_error *err); /* info.c */

hd_status info_tracks_init(info_tracks *tracks, const hd_report_input *input, hd_error *err); /* tracks.c */
void info_tracks_deinit(info_tracks *tracks);
hd_status info_add_tracks(hd_report *out, const info_tracks *tracks, hd_error *err);
hd_status info_add_processes(hd_report *out, const info_tracks *tracks, hd_error *err);

/* Fill in the devices from the deviceProperties of the metadata and from the lanes. */
hd_status info_find_devices(info_tracks *tracks, hd_error *err); /* devices.c */
hd_status info_add_devices(hd_report *out, const info_tracks *tracks, hd_error *err);

#endif
