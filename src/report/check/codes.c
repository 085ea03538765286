/* codes.c - the codes of the check: meaning and advice */
#include <string.h>

#include "base/options.h"
#include "format/conventions.h"
#include "format/format.h"
#include "report/check/check.h"

const hd_check_code check_codes[CHECK_CODES] = {
    [CHECK_CROSSING] =
        {"crossing", "error", "slices of one track overlap without nesting; `slices` of them do not fit the track",
         "Perfetto drops them or moves them to an overflow track, others nest them wrongly: run heddle fix"},
    [CHECK_NEGATIVE_DURATION] = {"negative-duration", "error", "a slice ends before it starts",
                                 "viewers drop it: correct the duration at the source"},
    [CHECK_MERGED_TRACK] = {"merged-track", "warning",
                            "the tid is missing, negative or over 32 bits: Perfetto draws the track on the main thread",
                            "`count` slices do not nest there and are moved or dropped: write another tid"},
    [CHECK_DEVICES_ON_ROW] = {HD_DEVICES_ON_ROW, "warning", "GPU activities of several devices are on one (pid, tid)",
                              "viewers draw the devices on one row, where they overlap; Heddle gives each device its "
                              "own: heddle convert writes the trace that way"},
    [CHECK_WIDE_PID] = {"pid-over-32-bits", "warning",
                        "the pid is over 32 bits: Perfetto draws the process as process 0",
                        "several such processes become one there: write other pids"},
    [CHECK_BEGIN_WITHOUT_END] = {"begin-without-end", "warning", "a B event that no E event closes",
                                 "viewers draw it to the end of the trace: the program was cut, or an E is missing"},
    [CHECK_END_WITHOUT_BEGIN] = {"end-without-begin", "warning", "an E event with no open B event on its track",
                                 "viewers ignore it: its begin was before the recording, or went to another tid"},
    [CHECK_END_OF_OTHER_NAME] = {"end-of-other-name", "warning",
                                 "an E event closes a B event of another name: none of its own name was open",
                                 "Perfetto ignores it, others close the innermost slice: durations may be wrong"},
    [CHECK_NO_TIME] = {"no-time", "warning", "an event without a usable ts",
                       "no viewer shows it: look at the ts of the example"},
    [CHECK_FLOW_WITHOUT_START] = {"flow-without-start", "warning",
                                  "a flow end or step of a (category, id, name) without a start before it",
                                  "no arrow is drawn: the launch was not recorded, or ids differ between the two ends"},
    [CHECK_FLOW_WITHOUT_END] = {"flow-without-end", "warning", "a flow start that no end or step follows",
                                "no arrow is drawn: the work was not recorded, or ids differ between the two ends"},
    [CHECK_FLOW_BACKWARD] = {"flow-backward", "warning", "a flow ends before it starts",
                             "the arrow is lost or points backward: the clocks of the two tracks differ"},
    [CHECK_FLOW_UNBOUND] =
        {"flow-unbound", "warning",
         "a flow point with no slice on its track to bind to (enclosing, or for f without bp the next)",
         "no arrow is drawn: the point's ts or tid is not that of its slice"},
    [CHECK_GPU_BEFORE_LAUNCH] = {"gpu-before-launch", "warning",
                                 "a GPU activity starts before the API call that launched it",
                                 "queue delays come out negative: align the CPU and GPU clocks by the worst lead"},
    [CHECK_GPU_OVERLAP] =
        {"gpu-overlap", "error", "GPU activities begin while an earlier one of their stream still runs",
         "a stream runs one after the other: the duration of the one before is wrong, and with it sums "
         "and shares; `heddle report kernels` names it"},
    [CHECK_CLOCKS_APART] =
        {"clocks-apart", "error",
         "all GPU activities of a device begin before or after their launches by more than the launches take",
         "CPU and GPU have clocks of their own: delays, idle time and steps are wrong; record with clocks that are "
         "joined"},
    [CHECK_GPU_BEYOND] =
        {"gpu-beyond", "error", "GPU activities end more than 146 years from the zero of the clock",
         "their durations are wrong, as after an overflow: reports hold them there, remove them or correct them"},
    [CHECK_GPU_FAR] =
        {"gpu-far", "error", "GPU activities lie more than an hour outside the time of all launches",
         "their times are wrong, and spans and idle time with them: remove them, or give them their time"},
    [CHECK_GPU_TOO_LONG] =
        {"gpu-too-long", "error", "a kernel takes over a second and more than 10,000 times the median of its name",
         "its duration is wrong, or it hung: sums and shares that have it say nothing of the others"},
    [CHECK_GPU_UNRECORDED] =
        {"gpu-unrecorded", "error",
         "of a hundredth of the launches or more no GPU activity was recorded, though later ones have theirs",
         "the profiler lost activities: GPU time is too low and idle time too high; record again with larger buffers"},
    [CHECK_STEPS_WITHOUT_GPU] = {"steps-without-gpu", "error",
                                 "a step launches, but has no GPU activity, while other steps have some",
                                 "its figures say nothing: the activity was not recorded; record again, or leave such "
                                 "steps out"},
    [CHECK_GRAPH_NODES] = {"graph-nodes-missing", "warning",
                           "a launch of a graph has fewer GPU activities than others of the same graph",
                           "nodes were not recorded, or it took another branch: look at the example"},
    [CHECK_NO_CALLS] = {"process-without-calls", "warning",
                        "a process, or a device, has GPU activities but no calls, while others have theirs",
                        "nothing is known of what launched them: record that process with its API calls"},
    [CHECK_GPU_WITHOUT_LAUNCH] = {"gpu-without-launch", "warning",
                                  "a GPU activity with a correlation id that no runtime or driver call has",
                                  "it cannot be traced back to the code: the launch was not recorded"},
    [CHECK_ASYNC_WITHOUT_BEGIN] = {"async-without-begin", "warning",
                                   "the end of an async slice of a (category, id, scope) that has no begin",
                                   "viewers ignore it: its begin was before the recording, or ids differ"},
    [CHECK_ASYNC_WITHOUT_END] = {"async-without-end", "warning", "the beginning of an async slice without an end",
                                 "viewers draw it to the end of the trace: it was cut, or ids differ"},
    [CHECK_COUNTER_NOT_NUMERIC] = {"counter-not-numeric", "warning",
                                   "a counter sample with a value that is not a number",
                                   "viewers skip the sample or read it as 0: write numbers"},
    [CHECK_SPAN_OVER_YEAR] = {"span-over-year", "warning", "the trace lasts more than a year",
                              "events of two clocks are mixed: see time-outlier for those far from the rest"},
    [CHECK_NO_DURATION] = {"no-duration", "note", "a complete event without dur, taken as zero long",
                           "viewers show it as a mark or not at all"},
    [CHECK_GPU_BEFORE_RECORDING] = {"gpu-before-recording", "note",
                                    "a GPU activity that began before the recording, so its launch is not in it",
                                    "it cannot be traced back to the code: begin recording earlier"},
    [CHECK_GPU_AFTER_RECORDING] =
        {"gpu-after-recording", "note",
         "a launch, copy or memset call without GPU activity, and so are all later ones of its process",
         "figures do not include it: wait for the GPU before you end the recording"},
    [CHECK_LAUNCH_WITHOUT_GPU] = {"launch-without-gpu", "note",
                                  "a launch, copy or memset call whose correlation id no GPU activity has, though "
                                  "later ones of its process have theirs",
                                  "the activity was not recorded: GPU activity was off, or the profiler lost it"},
    [CHECK_OUT_OF_ORDER] = {"out-of-order", "note", "a slice comes after one of its track that starts later",
                            "readers that do not sort by time go wrong; `worst` is the largest step back"},
    [CHECK_MIXED_IDS] = {"mixed-ids", "note", "a pid or tid is a number in some events and text in others",
                         "viewers split the track in two, flows and slices lose each other: write one type"},
    [CHECK_WIDE_TID] = {"tid-over-32-bits", "note",
                        "tids are over 32 bits: Perfetto draws their tracks on the main thread",
                        "merged-track counts the slices that do not nest there: write other tids"},
    [CHECK_TIME_OUTLIER] = {"time-outlier", "note", "an event far outside the time of all others, as at 0",
                            "viewers that show everything zoom out to nothing: remove it or give it its time"},
};

static const hd_check_code repaired = {"damage", "warning",
                                       "json-… and the like: the input was damaged, and repaired while reading",
                                       "other readers refuse the file: run heddle fix, which writes it whole"};
static const hd_check_code lost = {"loss", "error", "something of the input could not be read",
                                   "record or copy the file again; heddle fix keeps what could be read"};

/* The entry of the format that the code belongs to ("NAME.…"); NULL: none. */
static const hd_check_code *code_of_format(const char *code, size_t size)
{
    const char *dot = memchr(code, '.', size);
    const hd_format *format = dot ? hd_format_named(code, (size_t)(dot - code)) : NULL;
    return format ? format->code : NULL;
}

size_t hd_check_code_count(void)
{
    return CHECK_CODES;
}

const hd_check_code *hd_check_code_at(size_t index)
{
    return index < CHECK_CODES ? &check_codes[index] : NULL;
}

const hd_check_code *check_code_about(const check_finding *finding)
{
    if (finding->code != CHECK_LEDGER) return &check_codes[finding->code];
    if (finding->ledger->level == HD_LEDGER_LOSS) return &lost;
    const char *code = finding->ledger->code;
    const hd_check_code *own = code_of_format(code, strlen(code));
    return own && strcmp(own->severity, lost.severity) != 0 ? own : &repaired;
}

const hd_check_code *hd_check_damage(void)
{
    return &repaired;
}

const hd_check_code *hd_check_loss(void)
{
    return &lost;
}

static bool is_text(const char *text, const char *part, size_t size)
{
    return strlen(text) == size && memcmp(text, part, size) == 0;
}

const hd_check_code *hd_check_code_find(const char *code, size_t size)
{
    for (size_t i = 0; i < CHECK_CODES; i++) {
        if (is_text(check_codes[i].code, code, size)) return &check_codes[i];
    }
    return code_of_format(code, size);
}

/* Whether `part` names `code` or the family it begins with: "json" for "json-quote" and "json.unclosed". */
static bool names(const char *part, size_t size, const char *code)
{
    if (strncmp(code, part, size) != 0) return false;
    if (code[size] == '\0') return true;
    return code[size] == '.' || (code[size] == '-' && size == 4 && memcmp(part, "json", 4) == 0);
}

bool check_code_listed(const char *list, const char *code)
{
    for (const char *at = list; at && *at;) {
        size_t size = strcspn(at, ",");
        if (size && names(at, size, code)) return true;
        at += size + (at[size] == ',');
    }
    return false;
}

/* Codes of readers are not listed here; they are "family.what", "json-what", or a family. */
static bool may_be_reader_code(const char *code, size_t size)
{
    static const char *const families[] = {"json", "gzip", "zstd", "input"};
    if (hd_format_named(code, size)) return true;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        size_t n = strlen(families[i]);
        if (size >= n && memcmp(code, families[i], n) == 0 && (size == n || code[n] == '.' || code[n] == '-'))
            return true;
    }
    return memchr(code, '.', size) != NULL;
}

static hd_status valid_list(const char *list, hd_error *err)
{
    for (const char *at = list; at && *at;) {
        size_t size = strcspn(at, ",");
        if (!size || (!hd_check_code_find(at, size) && !may_be_reader_code(at, size)))
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                                "'%.*s' is not a code of check; heddle check --explain lists them",
                                (int)(size < 60 ? size : 60), at);
        at += size + (at[size] == ',');
    }
    return HD_OK;
}

hd_status hd_check_options_valid(const hd_check_options *options, hd_error *err)
{
    HD_OWN_OPTIONS(hd_check_options, options, err);
    if (options->examples > HD_CHECK_EXAMPLES)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "at most %d examples are kept of a finding",
                            HD_CHECK_EXAMPLES);
    hd_status status = valid_list(options->only, err);
    return status == HD_OK ? valid_list(options->ignore, err) : status;
}
