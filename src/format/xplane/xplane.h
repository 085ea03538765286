/* xplane.h - XSpace protobuf: planes of lines of events, with statistics by number
 *
 *     file ──> planes, one at a time (read.c) ──> names of a plane (stats.c) ──> lines and events (events.c) ──> rows
 *                          └──> statistics of planes (planes.c) ──> metadata           └──> flows.c
 *
 * In: the bytes of a file. Out: rows of a builder. Begin with read.c.
 */
#ifndef HD_FORMAT_XPLANE_XPLANE_H
#define HD_FORMAT_XPLANE_XPLANE_H

#include "base/json/write.h"
#include "base/map.h"
#include "base/protobuf/walk.h"
#include "format/format.h"
#include "format/rows_out.h"

#define XPLANE_STAGE "xplane"

enum { XPLANE_ARGS = 128, XPLANE_SHAPES = 512, XPLANE_DETAILS = 4 };

/* ---- what a statistic is, by its name ---- */

typedef enum xplane_stat_role {
    XPLANE_PLAIN,
    XPLANE_PRODUCER_TYPE, /* _pt */
    XPLANE_PRODUCER,      /* _p */
    XPLANE_CONSUMER_TYPE, /* _ct */
    XPLANE_CONSUMER,      /* _c */
    XPLANE_FLOW,          /* flow: 2 bits of direction, 56 of id, 6 of type */
    XPLANE_CORRELATION,   /* correlation_id */
    XPLANE_KERNEL,        /* kernel_details */
    XPLANE_COPY,          /* memcpy_details */
    XPLANE_SET,           /* memset_details */
} xplane_stat_role;

typedef struct xplane_stat_name {
    uint32_t text; /* string id */
    xplane_stat_role role;
} xplane_stat_name;

typedef struct xplane_arg {
    hd_arg_key key;
    int64_t bits;
    xplane_stat_role role;
} xplane_arg;

/* What events share. */
typedef struct xplane_event_name {
    hd_proto_span name, display_name, stats; /* stats: the whole message */
    hd_proto_span extra;                     /* `metadata`: bytes of anybody's */
    uint32_t text, long_text;                /* string ids; long_text where it is shown by another name */
    uint32_t first_arg, arg_count;
    bool is_resolved, is_used, has_stats, has_children, is_python;
} xplane_event_name;

/* Data of an event for flows and categories. */
typedef struct xplane_facts {
    uint64_t type[2], id[2], flow; /* of producer, consumer */
    bool has_id[2], has_correlation;
    xplane_stat_role kind; /* XPLANE_KERNEL, _COPY, _SET, or PLAIN: it does not say */
} xplane_facts;

typedef struct xplane_shape {
    uint32_t shape, count; /* count 0: free */
    hd_arg_key keys[XPLANE_ARGS];
} xplane_shape;

typedef struct xplane_flow_point {
    uint64_t type, id;
    int64_t start_ns;
    uint32_t start_ps, track;
    char phase; /* s, t, f */
} xplane_flow_point;

typedef struct xplane_plane {
    uint64_t number; /* from 1, in the order of the file */
    uint64_t id;
    hd_proto_span name;
    uint32_t text; /* its name, string id */
    bool is_device, is_gpu, has_stats, has_properties;
    int64_t device;                 /* HD_NO_NUMBER: its name has no number */
    hd_map stat_index, event_index; /* by id */
    xplane_stat_name *stats;
    size_t stat_count, stat_capacity;
    xplane_event_name *events;
    size_t event_count, event_capacity;
    xplane_arg *args; /* of names of events */
    size_t arg_count, arg_capacity;
    hd_map lines; /* by id, of tracks: the string id of its name */
    uint64_t line_count;
} xplane_plane;

typedef struct xplane_reader {
    hd_builder *builder;
    hd_rows_out rows;
    const hd_read_options *options;
    hd_error *err;
    bool want_args;

    const uint8_t *base; /* of the plane at hand, for offsets */
    size_t base_size;
    uint64_t base_offset;
    bool is_cut; /* the input ends within it */
    xplane_plane plane;
    uint64_t plane_count, planes_before; /* before: planes of previous hosts */
    uint32_t first_track;                /* of this host */
    bool only_clock;                     /* read only profile_start_ns */
    int64_t shift_ns;                    /* of the times of this host, unless they are Unix times */
    int64_t host;                        /* its rank; HD_NO_NUMBER: it is the only one */

    uint32_t track; /* of the line at hand */
    int64_t line_ns;
    bool line_is_queue, line_is_stream;

    /* string ids */
    uint32_t key_bytes, key_grid, key_block, key_registers, key_shared, key_long_name, key_occurrences, key_offset,
        key_duration;
    uint32_t category_kernel, category_copy, category_set, category_python, category_call;
    xplane_shape *shapes; /* XPLANE_SHAPES of them */
    hd_arg_key keys[XPLANE_ARGS];
    int64_t values[XPLANE_ARGS];
    uint32_t arg_count;

    xplane_flow_point *flows;
    size_t flow_count, flow_capacity;
    hd_map flow_ends;  /* by type and id: 1 has a producer, 2 a consumer, 3 both */
    int64_t flow_base; /* ids of the hosts before */

    hd_json_out planes, devices, hostnames, errors, warnings; /* metadata */
    uint32_t hostname;                                        /* the first, string id */
    int64_t profile_start_ns;                                 /* HD_NO_TIME: unknown */
    int64_t first_ns;                                         /* of all lines with events, HD_NO_TIME: none */
    hd_bytes text;
} xplane_reader;

/* Whether a plane with a known name begins there. */
bool xplane_is_plane(const unsigned char *head, size_t size);
/* Did something copy the file as text, so that bytes which are not UTF-8 are lost? */
bool xplane_is_text_copy(const unsigned char *head, size_t size);
hd_status xplane_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err);
hd_status xplane_read_folder(hd_builder *builder, const char *folder, const hd_read_options *options, hd_error *err);

/* read.c */
/* Counts damage or loss at `place` of the plane's bytes (NULL: anywhere). DAMAGED when strict. */
hd_status xplane_note(xplane_reader *r, const char *code, hd_ledger_level level, const uint8_t *place);
/* The same, if the message is cut off or broken, or has fields that are not known. */
hd_status xplane_check(xplane_reader *r, const char *code, const hd_proto_reader *message, const hd_proto_head *head);
/* Counts an incomplete message, unless the input ends there, which is reported once. */
hd_status xplane_lose(xplane_reader *r, const char *code, const hd_proto_field *field);
/* The text's string id, as UTF-8. HD_STRING_NONE: no memory, which the builder remembers. */
hd_status xplane_text(uint32_t *out, xplane_reader *r, hd_proto_span text);

/* stats.c */
hd_status xplane_add_stat_name(xplane_reader *r, const hd_proto_field *entry);
hd_status xplane_add_event_name(xplane_reader *r, const hd_proto_field *entry);
/* One XStat. */
hd_status xplane_read_stat(xplane_arg *out, xplane_reader *r, xplane_facts *facts, const hd_proto_field *field);
/* The name of an event's number, its arguments made. */
hd_status xplane_find_event_name(xplane_event_name **out, xplane_reader *r, uint64_t id, const uint8_t *place);
/* Makes the texts and arguments of a name at first use. */
hd_status xplane_resolve_event_name(xplane_reader *r, xplane_event_name *name);
/* The contents of kernel_details and similar, under the keys of other readers. */
hd_status xplane_add_details(xplane_reader *r, const xplane_arg *arg);
hd_status xplane_add_arg(xplane_reader *r, uint32_t key, hd_arg_type type, int64_t bits);
uint32_t xplane_shape_of(xplane_reader *r);

/* events.c */
hd_status xplane_read_line(xplane_reader *r, const hd_proto_field *field);

/* flows.c */
hd_status xplane_note_flows(xplane_reader *r, const xplane_facts *facts, const hd_row *row);
hd_status xplane_finish_flows(xplane_reader *r);

/* Times from here on, September 2001, are Unix times. */
#define XPLANE_UNIX_NS INT64_C(1000000000000000000)

/* planes.c */
/* Whether a plane of that name has the start of the profile. */
bool xplane_is_clock(hd_proto_span name);
/* Names the plane's process; its statistics go to the metadata. */
hd_status xplane_begin_plane(xplane_reader *r);
hd_status xplane_add_plane_stat(void *reader, const hd_proto_field *field);
hd_status xplane_end_plane(xplane_reader *r);
/* The processes of a host get its name: its own, else that of its file. */
hd_status xplane_finish_host(xplane_reader *r, const char *path);
/* Metadata and facts. */
hd_status xplane_finish_metadata(xplane_reader *r);
void xplane_plane_deinit(xplane_plane *plane);

#endif
