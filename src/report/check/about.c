/* about.c - the description of the report check, table by table */
#include "report/check/check.h"
#include "report/report.h"

static const hd_report_column findings_columns[] = {
    {"severity", HD_VALUE_STRING, "error, warning or note"},
    {"code", HD_VALUE_STRING, "of the finding; heddle check --explain explains each"},
    {"pid", HD_VALUE_STRING, "of the track, as in the input"},
    {"tid", HD_VALUE_STRING, "likewise"},
    {"track", HD_VALUE_STRING, "its name"},
    {"count", HD_VALUE_COUNT, "how often it was found"},
    {"slices", HD_VALUE_COUNT, "how many different slices; null if the finding is not about slices"},
    {"worst", HD_VALUE_DURATION, "the longest time that one of them affects"},
    {"start", HD_VALUE_TIME, "of the first example"},
    {"offset", HD_VALUE_INT, "byte offset of the first example in the decompressed input"},
    {"example", HD_VALUE_STRING, "name of the first example"},
    {0},
};

static const hd_report_column examples_columns[] = {
    {"finding", HD_VALUE_INT, "row of the table findings"},
    {"name", HD_VALUE_STRING, "of the event"},
    {"start", HD_VALUE_TIME, "of the event"},
    {"duration", HD_VALUE_DURATION, "of the event"},
    {"offset", HD_VALUE_INT, "byte offset in the decompressed input"},
    {"other_name", HD_VALUE_STRING, "of the event that it is in conflict with"},
    {"other_start", HD_VALUE_TIME, "of that event"},
    {"other_duration", HD_VALUE_DURATION, "of that event"},
    {"other_offset", HD_VALUE_INT, "byte offset of that event"},
    {"value", HD_VALUE_DURATION, "how much time the finding is about"},
    {0},
};

static const hd_report_column summary_columns[] = {
    {"findings", HD_VALUE_COUNT, "all of them, a code of a track counting once"},
    {"errors", HD_VALUE_COUNT, "of severity error"},
    {"warnings", HD_VALUE_COUNT, "of severity warning"},
    {"notes", HD_VALUE_COUNT, "of severity note"},
    {0},
};

static const hd_report_table_about tables[] = {
    {"findings", "a row per code and track, the worst severity first", findings_columns},
    {"examples", "the first examples of each finding", examples_columns},
    {"summary", "one row: findings by severity", summary_columns},
    {0},
};

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    return check_run(out, input, options, err);
}

static const hd_option_about options[] = {
    {"only", HD_OPTION_PATTERNS, NULL, "look for these codes only", offsetof(hd_check_options, only)},
    {"ignore", HD_OPTION_PATTERNS, NULL, "leave these codes out", offsetof(hd_check_options, ignore)},
    {"examples", HD_OPTION_COUNT, "1", "examples kept of each finding", offsetof(hd_check_options, examples)},
    {"tracks", HD_OPTION_COUNT, NULL, "rows per code, the rest is summed up in one more; all unless given",
     offsetof(hd_check_options, tracks_per_code)},
    {0},
};

const hd_report_about report_check_about = {
    .name = "check",
    .title = "lint a trace: what viewers would drop, and what makes numbers wrong",
    .text = "Lists slices that cross, flows and launches without their other end, times in the future, duplicate "
            "tracks and all other defects that mislead a viewer or an analysis, each with its first examples.",
    .options = options,
    .wants_sources = true,
    .options_size = sizeof(hd_check_options),
    .tables = tables,
    .run = run,
};
