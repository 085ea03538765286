/* straggler_tables.c - the tables of report stragglers */
#include "report/job/cells.h"

#define MEMBER                                                                                                         \
    {"rank", HD_VALUE_INT, "of the job; where it is not known, the place of the file"},                                \
    {                                                                                                                  \
        "device", HD_VALUE_INT, "of the GPU"                                                                           \
    }
#define GROUP                                                                                                          \
    {"group", HD_VALUE_STRING,                                                                                         \
     "the process group, as the trace names it; tp from 2: of several groups tp the one whose lowest rank is 2"},      \
        {"stream", HD_VALUE_INT, "identifies the group if the group has no name"},                                     \
        {"point_to_point", HD_VALUE_BOOL, "sends and receives are counted separately"},                                \
    {                                                                                                                  \
        "sequence", HD_VALUE_INT, "number within the group"                                                            \
    }

static const hd_report_column straggler_columns[] = {
    MEMBER,
    {"collectives", HD_VALUE_COUNT, "collectives that were compared"},
    {"last", HD_VALUE_COUNT, "collectives at which it arrived last; the lowest rank, if several did"},
    {"late", HD_VALUE_DURATION, "sum over collectives of the longest duration minus its own"},
    {"waited", HD_VALUE_DURATION, "sum over collectives of its own duration minus the shortest"},
    {"transfer", HD_VALUE_DURATION, "sum of the shortest durations, in which no rank waited"},
    {"z", HD_VALUE_DECIMAL,
     "(late / collectives - median) / (1.4826 MAD) among all of the same tp and pp; above 3 it stands out"},
    {"host", HD_VALUE_STRING, "host on which it ran"},
    {"tp", HD_VALUE_INT, "position in its tensor-parallel group, as of report topology"},
    {"pp", HD_VALUE_INT, "pipeline stage, likewise"},
    GPU_COLUMN_DOUBT,
    {0}};
static const hd_report_column collective_columns[] = {
    GROUP,
    {"counted", HD_VALUE_BOOL,
     "counted, not from the trace: 10^9 * (number of the step + 1) + position in the step, from 0"},
    {"operation", HD_VALUE_STRING, "AllReduce, AllGather …"},
    {"members", HD_VALUE_COUNT, "members that have it"},
    {"last_rank", HD_VALUE_INT, "the last to arrive; null: all arrived at the same time"},
    {"last_device", HD_VALUE_INT, "its GPU"},
    {"late", HD_VALUE_DURATION, "how much later than the first it arrived: longest minus shortest duration"},
    {"transfer", HD_VALUE_DURATION, "the shortest duration"},
    {"bytes", HD_VALUE_BYTES, "as report communication counts them; null: unknown"},
    {"bus_bandwidth", HD_VALUE_DECIMAL, "GB/s over each link in the shortest duration, as nccl-tests count it"},
    {0}};
static const hd_report_column step_columns[] = {
    MEMBER,
    {"step", HD_VALUE_STRING, "its name"},
    {"step_start", HD_VALUE_TIME, "on the clock of the rank"},
    {"collectives", HD_VALUE_COUNT, "collectives that were compared"},
    {"late", HD_VALUE_DURATION, "sum over collectives of the longest duration minus its own"},
    {"latest", HD_VALUE_DURATION, "the largest single delay, which the viewer shows"},
    {"waited", HD_VALUE_DURATION, "sum over collectives of its own duration minus the shortest"},
    {"z", HD_VALUE_DECIMAL, "as of stragglers, among those in this step"},
    {0}};
static const hd_report_column persistent_columns[] = {MEMBER,
                                                      {"host", HD_VALUE_STRING, "host on which it ran"},
                                                      {"first_step", HD_VALUE_STRING, "of those in a row"},
                                                      {"last_step", HD_VALUE_STRING, "of them"},
                                                      {"steps", HD_VALUE_COUNT, "in a row with z above 3; at least 3"},
                                                      {"late", HD_VALUE_DURATION, "in all of them"},
                                                      {"mean_late", HD_VALUE_DURATION, "of a collective"},
                                                      {"lowest_z", HD_VALUE_DECIMAL, "of these steps"},
                                                      {0}};
static const hd_report_column wait_columns[] = {
    GROUP,
    MEMBER,
    {"step", HD_VALUE_STRING, "in which it was launched"},
    {"wait", HD_VALUE_DURATION, "its duration minus the shortest: the wait for the last rank"},
    {"transfer", HD_VALUE_DURATION, "the shortest duration"},
    {0}};
static const hd_report_column share_columns[] = {
    {"by", HD_VALUE_STRING, "host, pp (pipeline stage) or tp (tensor-parallel position)"},
    {"of", HD_VALUE_STRING, "name of the host, or number of the stage or position"},
    {"members", HD_VALUE_COUNT, "ranks and devices in it"},
    {"collectives", HD_VALUE_COUNT, "of them that were compared"},
    {"last", HD_VALUE_COUNT, "collectives at which a member arrived last"},
    {"late", HD_VALUE_DURATION, "sum over them"},
    {"mean_late", HD_VALUE_DURATION, "of a collective"},
    {"median_late", HD_VALUE_DURATION, "the median over its members of late / collectives of each"},
    {"z", HD_VALUE_DECIMAL,
     "z of median_late among all hosts, stages or positions: high if most of its members are late, not just one"},
    {0}};
static const hd_report_column lost_columns[] = {JOB_COLUMNS_LOST};
static const hd_report_column mismatched_columns[] = {
    GROUP,
    {"defect", HD_VALUE_STRING,
     "not compared: double, untimed, operation (differs from the first member's); compared: missing, size, bytes "
     "(differ from the first member's); counted: first collective of a step that is not compared, since numbers are "
     "counted and members have different ones there; of a group: several (more members than its size, not compared), "
     "fewer (ranks are missing, or have none of its collectives)"},
    MEMBER,
    {"members", HD_VALUE_COUNT, "members with the defect"},
    {0}};
static const hd_report_column last_columns[] = {MEMBER,
                                                GROUP,
                                                {"operation", HD_VALUE_STRING, "of its last"},
                                                {"behind", HD_VALUE_COUNT, "collectives behind the last of the group"},
                                                {0}};

const hd_report_table_about job_straggler_tables[] = {
    {.name = "stragglers",
     .meaning = "a row per rank and device: how often it arrived last, and what that cost the others",
     .columns = straggler_columns,
     .chart = HD_CHART_BARS,
     .chart_label = "rank,device",
     .chart_values = "late"},
    {.name = "collectives",
     .meaning = "a row per compared collective: which rank arrived last",
     .columns = collective_columns},
    {.name = "mismatched",
     .meaning = "a row per defect: collectives that a rank does not have, or has with other properties",
     .columns = mismatched_columns},
    {.name = "last",
     .meaning = "a row per rank and group: its last collective, which shows where a job hangs",
     .columns = last_columns},
    {.name = "steps",
     .meaning = "a row per rank, device and step: how late it was in that step",
     .columns = step_columns},
    {.name = "persistent",
     .meaning = "a row per run of steps in which a rank was conspicuously late; a single event is not listed",
     .columns = persistent_columns},
    {.name = "shares",
     .meaning = "a row per host, pipeline stage and tensor-parallel position: how late its ranks were",
     .columns = share_columns},
    {.name = "bandwidths",
     .meaning = "a row per operation, size of the group and bytes: bandwidth, and the share of waiting in its time",
     .columns = job_bandwidth_columns},
    {.name = "waits",
     .meaning = "with --each: a row per collective and rank: how long it waited, how long the transfer took",
     .columns = wait_columns},
    {.name = "lost", .meaning = "what of the summaries cannot be read", .columns = lost_columns},
    {0},
};
