/* doubts.c - the names of defects of trust, the figures that depend on each, and their texts */
#include <stdio.h>
#include <string.h>

#include "base/sorted.h"
#include "model/trust/trust.h"

#define ALL_FIGURES (GPU_FIGURE_TIME | GPU_FIGURE_IDLE | GPU_FIGURE_DELAY | GPU_FIGURE_STEP | GPU_FIGURE_CALLER)
#define BY_LAUNCH (GPU_FIGURE_DELAY | GPU_FIGURE_STEP | GPU_FIGURE_CALLER)

const gpu_doubt_about gpu_doubt_abouts[GPU_DOUBTS] = {
    [GPU_DOUBT_INPUT_LOST] = {"input-lost", "error", ALL_FIGURES},
    [GPU_DOUBT_INPUT_REPAIRED] = {"input-repaired", "note", 0},
    [GPU_DOUBT_CLOCKS] = {"clocks-apart", "error", GPU_FIGURE_IDLE | GPU_FIGURE_DELAY | GPU_FIGURE_STEP},
    [GPU_DOUBT_BEYOND] = {"gpu-beyond", "error", GPU_FIGURE_TIME | GPU_FIGURE_IDLE | GPU_FIGURE_STEP},
    [GPU_DOUBT_FAR] = {"gpu-far", "error", GPU_FIGURE_IDLE | GPU_FIGURE_DELAY | GPU_FIGURE_STEP},
    [GPU_DOUBT_OVERLAP] = {"gpu-overlap", "error", GPU_FIGURE_TIME | GPU_FIGURE_IDLE | GPU_FIGURE_STEP},
    [GPU_DOUBT_TOO_LONG] = {"gpu-too-long", "error", GPU_FIGURE_TIME | GPU_FIGURE_IDLE | GPU_FIGURE_STEP},
    [GPU_DOUBT_UNRECORDED] = {"gpu-unrecorded", "error", ALL_FIGURES & ~GPU_FIGURE_DELAY},
    [GPU_DOUBT_STEPS] = {"steps-without-gpu", "error", GPU_FIGURE_STEP},
    [GPU_DOUBT_GRAPHS] = {"graph-nodes-missing", "warning", ALL_FIGURES & ~GPU_FIGURE_DELAY},
    [GPU_DOUBT_NO_TIME] = {"gpu-no-time", "warning", ALL_FIGURES & ~GPU_FIGURE_DELAY},
    [GPU_DOUBT_NO_END] = {"gpu-no-end", "warning", GPU_FIGURE_TIME | GPU_FIGURE_IDLE | GPU_FIGURE_STEP},
    [GPU_DOUBT_EARLY] = {"gpu-before-launch", "warning", GPU_FIGURE_DELAY},
    [GPU_DOUBT_NO_CALLS] = {"process-without-calls", "warning", BY_LAUNCH},
    [GPU_DOUBT_UNLINKED] = {"gpu-without-launch", "note", BY_LAUNCH},
    [GPU_DOUBT_BEFORE] = {"gpu-before-recording", "note", BY_LAUNCH},
    [GPU_DOUBT_GUESSED] = {"launch-guessed", "warning", BY_LAUNCH},
    [GPU_DOUBT_AFTER] = {"gpu-after-recording", "note", 0},
    [GPU_DOUBT_THINNED_GPU] = {"thinned-gpu", "error", ALL_FIGURES},
    [GPU_DOUBT_THINNED] = {"thinned", "note", GPU_FIGURE_CALLER},
    [GPU_DOUBT_WINDOWS] = {"recorded-in-windows", "note", 0},
};

/* ---- sentences ---- */

static int put_unrecorded(char *out, const gpu_doubt *d)
{
    int used =
        snprintf(out, GPU_DOUBT_TEXT, "of %llu of %llu launches of kernels and graphs no GPU activity was recorded",
                 (unsigned long long)d->count, (unsigned long long)d->of);
    if (d->graphs) used += snprintf(out + used, GPU_DOUBT_TEXT - (size_t)used, ", %u of them of graphs", d->graphs);
    if (d->steps)
        used +=
            snprintf(out + used, GPU_DOUBT_TEXT - (size_t)used, ", in %u step%s", d->steps, d->steps > 1 ? "s" : "");
    return snprintf(out + used, GPU_DOUBT_TEXT - (size_t)used,
                    ": what the GPU did then is not known, and what counts as idle may be activity");
}

static int put_clocks(char *out, const gpu_doubt *d)
{
    return snprintf(out, GPU_DOUBT_TEXT,
                    "all %llu GPU activities with a launch%s begin %.6g s or more %s it, longer than the launches of "
                    "the trace take: CPU and GPU have clocks of their own, and what compares their times is wrong",
                    (unsigned long long)d->count, d->count == d->of ? "" : " of some devices",
                    (double)(d->ns < 0 ? -d->ns : d->ns) / 1e9, d->ns < 0 ? "before" : "behind");
}

static int put_windows(char *out, const gpu_doubt *d)
{
    return snprintf(out, GPU_DOUBT_TEXT,
                    "the devices were recorded in %llu windows, together %.6g s of their spans: other time is in no "
                    "account, and unrecorded on a path",
                    (unsigned long long)d->count, (double)d->ns / 1e9);
}

/* Each with count, of, and seconds. */
static const char *const forms[GPU_DOUBTS] = {
    [GPU_DOUBT_INPUT_LOST] = "parts of the input that were lost while reading, see the ledger: %llu",
    [GPU_DOUBT_INPUT_REPAIRED] = "parts of the input that were damaged, and repaired while reading: %llu",
    [GPU_DOUBT_BEYOND] =
        "%llu of %llu GPU activities end more than 146 years from the zero of the clock: there they are "
        "held in all reports, so that durations and sums with them are too low",
    [GPU_DOUBT_FAR] = "%llu of %llu GPU activities lie more than an hour outside the time of all launches: their times "
                      "are wrong, and spans and idle time with them",
    [GPU_DOUBT_OVERLAP] = "%llu of %llu GPU activities begin while an earlier one of their stream runs, by up to %.6g "
                          "s: a stream runs one after the other, so durations or times are wrong",
    [GPU_DOUBT_TOO_LONG] = "%llu of %llu kernels take more than 10,000 times the median of their name, up to %.6g s: "
                           "durations are wrong, or a kernel hung",
    [GPU_DOUBT_STEPS] = "%llu of %llu steps have no GPU activity, though they launch some: it was not recorded",
    [GPU_DOUBT_GRAPHS] = "%llu of %llu launches of graphs have fewer activities than others of the same graph: the "
                         "rest was not recorded, or they took another branch",
    [GPU_DOUBT_NO_TIME] = "%llu of %llu GPU activities have no time, since the profiler could not take it: kernels "
                          "are counted, and no time includes them",
    [GPU_DOUBT_NO_END] = "%llu of %llu GPU activities never end in this trace: they count as 0 ns",
    [GPU_DOUBT_EARLY] = "%llu of %llu GPU activities begin before the call that launched them, by up to %.6g s: the "
                        "clocks of CPU and GPU differ, and delays are wrong by as much",
    [GPU_DOUBT_NO_CALLS] = "%llu of %llu GPU activities are of processes or devices of which no call was recorded: "
                           "what launched them, and why they waited, is not known",
    [GPU_DOUBT_GUESSED] = "several processes have the correlation ids of %llu of %llu GPU activities: which process "
                          "launched them is taken from the order of calls and may be wrong",
    [GPU_DOUBT_UNLINKED] = "%llu of %llu GPU activities have no launch, though they began within the recording: no "
                           "operator, range or step has them",
    [GPU_DOUBT_BEFORE] = "%llu of %llu GPU activities began before the recording, so their launches are not in it: no "
                         "operator, range or step has them",
    [GPU_DOUBT_AFTER] = "%llu of %llu launches, the last of their process, have no GPU activity in the recording",
    [GPU_DOUBT_THINNED_GPU] = "GPU activities that were removed as too short when the trace was written, and are in no "
                              "figure: %llu",
    [GPU_DOUBT_THINNED] = "slices of the host that were removed as too short when the trace was written, whose time "
                          "belongs to the slices around them (thinned_ns): %llu",
};

const char *gpu_doubt_text(char out[GPU_DOUBT_TEXT], gpu_doubt_code code, const gpu_doubt *d)
{
    if (code == GPU_DOUBT_UNRECORDED)
        put_unrecorded(out, d);
    else if (code == GPU_DOUBT_CLOCKS)
        put_clocks(out, d);
    else if (code == GPU_DOUBT_WINDOWS)
        put_windows(out, d);
    else
        snprintf(out, GPU_DOUBT_TEXT, forms[code], (unsigned long long)d->count, (unsigned long long)d->of,
                 d->ns == HD_NO_TIME ? 0 : (double)d->ns / 1e9);
    return out;
}

static size_t put_word(char out[GPU_DOUBT_TEXT], size_t used, const char *word)
{
    if (used >= GPU_DOUBT_TEXT) return used;
    return used + (size_t)snprintf(out + used, GPU_DOUBT_TEXT - used, "%s%s", used ? ", " : "", word);
}

const char *gpu_doubt_codes(char out[GPU_DOUBT_TEXT], unsigned doubts)
{
    size_t used = 0;
    *out = '\0';
    for (int i = 0; i < GPU_DOUBTS; i++)
        if (doubts >> i & 1) used = put_word(out, used, gpu_doubt_abouts[i].code);
    return out;
}

const char *gpu_figure_names(char out[GPU_DOUBT_TEXT], unsigned figures)
{
    static const char *const names[] = {"GPU time", "idle time", "delays", "steps", "operators and ranges"};
    size_t used = 0;
    *out = '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (figures >> i & 1) used = put_word(out, used, names[i]);
    return out;
}

const char *gpu_trust_text(char out[GPU_DOUBT_TEXT], const gpu_trust *t)
{
    static const char *const levels[] = {"error", "warning", "note"};
    int first = GPU_DOUBTS, count = 0;
    for (int level = 2; level >= 0; level--) {
        for (int i = GPU_DOUBTS - 1; i >= 0; i--) {
            if (!t->doubts[i].count || strcmp(gpu_doubt_abouts[i].level, levels[level]) != 0) continue;
            first = i;
            count++;
        }
    }
    if (count) {
        char more[32] = "";
        gpu_doubt_text(out, (gpu_doubt_code)first, &t->doubts[first]);
        if (count > 1) snprintf(more, sizeof more, "; %d more", count - 1);
        size_t used = strlen(out);
        if (used + strlen(more) < GPU_DOUBT_TEXT) strcpy(out + used, more);
        return out;
    }
    char steps[48] = "";
    if (t->steps)
        snprintf(steps, sizeof steps, " and %llu step%s", (unsigned long long)t->steps, t->steps == 1 ? "" : "s");
    if (t->is_of_input)
        snprintf(out, GPU_DOUBT_TEXT, "nothing was lost or repaired while reading; GPU activities were not looked at");
    else if (t->works && !t->has_launches)
        snprintf(out, GPU_DOUBT_TEXT,
                 "nothing impossible found in %llu GPU activities, but none has a known launch, so missing activities "
                 "cannot be found",
                 (unsigned long long)t->works);
    else if (t->works)
        snprintf(out, GPU_DOUBT_TEXT, "nothing missing or impossible found in %llu GPU activities%s %llu launches%s",
                 (unsigned long long)t->works, t->steps ? "," : " and", (unsigned long long)t->launches, steps);
    else
        snprintf(out, GPU_DOUBT_TEXT, "there is no GPU activity to judge");
    return out;
}

/* ---- what rests on them ---- */

bool gpu_clock_is_apart(const gpu_trust *trust, const gpu_scope *scope, uint32_t device)
{
    const unsigned apart = 1u << GPU_DOUBT_CLOCKS;
    return trust->doubts[GPU_DOUBT_CLOCKS].count &&
           gpu_doubts_of_device(trust, scope, device, GPU_FIGURE_DELAY) & apart;
}

unsigned gpu_doubts_of_step(const gpu_trust *trust, const gpu_step *step, unsigned works)
{
    const unsigned by_step = 1u << GPU_DOUBT_UNRECORDED | 1u << GPU_DOUBT_STEPS;
    size_t low = 0, high = trust->of_steps ? (size_t)trust->steps : 0;
    HD_PARTITION_POINT(low, high, i, trust->of_steps[i].row < step->row);
    bool is_known = trust->of_steps && low < trust->steps && trust->of_steps[low].row == step->row;
    unsigned all = is_known ? (trust->all & ~by_step) | trust->of_steps[low].doubts : trust->all;
    return gpu_doubts_of(all | works, GPU_FIGURE_STEP);
}

unsigned gpu_doubts_of(unsigned doubts, unsigned figures)
{
    for (int i = 0; i < GPU_DOUBTS; i++) {
        if (!(gpu_doubt_abouts[i].figures & figures)) doubts &= ~(1u << i);
    }
    return doubts;
}

unsigned gpu_doubts_of_device(const gpu_trust *trust, const gpu_scope *scope, uint32_t device, unsigned figures)
{
    unsigned doubts = trust->all;
    for (uint32_t r = 0; trust->of_lanes && r < scope->row_count; r++)
        if (scope->rows[r].device == device) doubts |= trust->of_lanes[scope->rows[r].lane];
    return gpu_doubts_of(doubts, figures);
}
