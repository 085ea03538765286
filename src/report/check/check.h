/* check.h - shared by the files of the check: the findings while they are collected
 *
 * A finding is one code on one track. Each part of the check calls check_found for every case it sees, in the order of
 * time or of the input; the first cases are kept as examples.
 *
 * In: a trace. Out: the tables findings, examples, summary. Begin with check.c; codes.c describes the codes.
 */
#ifndef HD_REPORT_CHECK_CHECK_H
#define HD_REPORT_CHECK_CHECK_H

#include "heddle/analysis/launches.h"
#include "heddle/report.h"
#include "model/trust/trust.h"
#include "report/spans.h"

/* In the order of check_codes. */
typedef enum check_code {
    CHECK_CROSSING,
    CHECK_NEGATIVE_DURATION,
    CHECK_MERGED_TRACK,
    CHECK_DEVICES_ON_ROW,
    CHECK_WIDE_PID,
    CHECK_BEGIN_WITHOUT_END,
    CHECK_END_WITHOUT_BEGIN,
    CHECK_END_OF_OTHER_NAME,
    CHECK_NO_TIME,
    CHECK_FLOW_WITHOUT_START,
    CHECK_FLOW_WITHOUT_END,
    CHECK_FLOW_BACKWARD,
    CHECK_FLOW_UNBOUND,
    CHECK_GPU_BEFORE_LAUNCH,
    CHECK_GPU_OVERLAP,
    CHECK_CLOCKS_APART,
    CHECK_GPU_BEYOND,
    CHECK_GPU_FAR,
    CHECK_GPU_TOO_LONG,
    CHECK_GPU_UNRECORDED,
    CHECK_STEPS_WITHOUT_GPU,
    CHECK_GRAPH_NODES,
    CHECK_NO_CALLS,
    CHECK_GPU_WITHOUT_LAUNCH,
    CHECK_ASYNC_WITHOUT_BEGIN,
    CHECK_ASYNC_WITHOUT_END,
    CHECK_COUNTER_NOT_NUMERIC,
    CHECK_SPAN_OVER_YEAR,
    CHECK_NO_DURATION,
    CHECK_GPU_BEFORE_RECORDING,
    CHECK_GPU_AFTER_RECORDING,
    CHECK_LAUNCH_WITHOUT_GPU,
    CHECK_OUT_OF_ORDER,
    CHECK_MIXED_IDS,
    CHECK_WIDE_TID,
    CHECK_TIME_OUTLIER,
    CHECK_CODES,
    CHECK_LEDGER = CHECK_CODES /* a reader's code: in check_finding.ledger */
} check_code;

/* An event and, for cases of two events, the other one. */
typedef struct check_example {
    uint64_t row, other_row;
    int8_t kind, other_kind; /* hd_kind, -1 none */
    int64_t value_ns;        /* HD_NO_TIME: none */
} check_example;

#define CHECK_EVENT(event_kind, event_row)                                                                             \
    ((check_example){.row = (event_row), .kind = (int8_t)(event_kind), .other_kind = -1, .value_ns = HD_NO_TIME})
#define CHECK_PAIR(event_kind, event_row, other_event_kind, other_event_row, ns)                                       \
    ((check_example){.row = (event_row),                                                                               \
                     .kind = (int8_t)(event_kind),                                                                     \
                     .other_row = (other_event_row),                                                                   \
                     .other_kind = (int8_t)(other_event_kind),                                                         \
                     .value_ns = (ns)})

typedef struct check_finding {
    check_code code;
    const hd_ledger_row *ledger; /* CHECK_LEDGER */
    uint32_t track;              /* HD_NONE: of the whole trace */
    uint64_t count, slices;      /* slices: 0 if it adds nothing to count */
    int64_t worst_ns;            /* largest by amount, HD_NO_TIME none */
    uint32_t example_count;
    check_example *examples; /* room for options.examples */
} check_finding;

typedef struct check {
    const hd_report_input *input; /* for its progress */
    const hd_trace *trace;
    hd_check_options options;
    span_index spans;
    hd_report *report; /* check_launches sets its trust */
    check_finding *findings;
    size_t finding_count, finding_capacity;
    uint32_t *by_track[CHECK_CODES]; /* finding + 1 by track, made when a code is first found */
    bool failed;                     /* memory ran out */
} check;

/* Whether the options leave a code in. */
bool check_wants(const check *c, check_code code);
/* The finding of a code on a track, made if need be; NULL: not wanted, or no memory. */
check_finding *check_finding_of(check *c, check_code code, uint32_t track);
/* One more case. */
void check_found(check *c, check_code code, uint32_t track, check_example example);
/* Keep an example and the worst value without counting. */
void check_keep(const check *c, check_finding *finding, check_example example);

/* The whole, with progress. */
hd_status check_run(hd_report *out, const hd_report_input *input, const hd_check_options *options, hd_error *err);
/* The parts. Those that return a status fail when memory runs out. */
hd_status check_lanes(check *c, hd_error *err);         /* lanes.c */
hd_status check_merged_tracks(check *c, hd_error *err); /* merged.c */
hd_status check_flows(check *c, hd_error *err);         /* flows.c */
hd_status check_async(check *c, hd_error *err);         /* async.c */
hd_status check_launches(check *c, hd_error *err);      /* launches.c */
hd_status check_events(check *c, hd_error *err);        /* events.c */
void check_clock(check *c);

/* Counts slices of a lane that do not nest in those before them; *out_first is the row of the first, HD_NONE if
 * none. */
uint64_t check_count_spilled(int64_t *stack, const slice_span *spans, uint64_t count, uint32_t *out_first);

/* ---- what the page counts as well ---- */

/* Called for each case: an activity without a launch, a launch without an activity (work is NULL), and an activity that
 * starts `lead_ns` before its launch. false: no memory (launches.c). */
typedef void check_launch_found(void *user, check_code code, const hd_work *work, const hd_launch *launch,
                                int64_t lead_ns);
bool check_launches_walk(const hd_launches *launches, const gpu_trust *trust, check_launch_found *found, void *user);
/* A stack of open slices by their ends, as viewers keep one per track: whether the next slice nests in them, and is
 * open now. If not it spills, and crosses the last of the remaining ones. `ends` has room for one more. */
static inline bool check_nests(int64_t *ends, uint64_t *depth, int64_t start, int64_t end)
{
    while (*depth && ends[*depth - 1] <= start) --*depth;
    if (*depth && end > ends[*depth - 1]) return false;
    ends[(*depth)++] = end;
    return true;
}
static inline bool check_is_negative(int64_t duration_ns)
{
    return duration_ns < 0 && duration_ns != HD_NO_TIME;
}
/* An event of the table of others that should have a time. */
static inline bool check_is_without_time(int64_t start_ns, int64_t phase)
{
    return start_ns == HD_NO_TIME && (phase & HD_PHASE_MASK);
}

/* codes.c */
extern const hd_check_code check_codes[CHECK_CODES];
const hd_check_code *check_code_about(const check_finding *finding);
/* Whether a code is in a comma-separated list. */
bool check_code_listed(const char *list, const char *code);

/* tables.c */
hd_status check_make_tables(hd_report *out, check *c, hd_error *err);

#endif
