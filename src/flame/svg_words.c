/* svg_words.c - title and sentences of a flame graph */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "flame/svg.h"

static const struct {
    const char *what; /* is counted, in the title */
    const char *of;   /* what they are */
} words[HD_FLAME_OFS] = {
    [HD_FLAME_AUTO] = {"weight", "of stacks"},
    [HD_FLAME_GPU_TIME] = {"GPU time", "of kernels, copies and memsets"},
    [HD_FLAME_CPU_TIME] = {"CPU time", "of slices"},
    [HD_FLAME_CPU_SELF] = {"CPU time", "of slices less those in them"},
    [HD_FLAME_LAUNCHES] = {"weight", ""},
    [HD_FLAME_BYTES] = {"bytes", "moved by copies and memsets"},
    [HD_FLAME_SAMPLES] = {"weight", ""},
};

/* 1234567 -> "1,234,567" */
static void put_grouped(char *out, size_t size, uint64_t value)
{
    char digits[32];
    int count = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    size_t at = 0;
    for (int i = 0; i < count && at + 2 < size; i++) {
        if (i && (count - i) % 3 == 0) out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = 0;
}

typedef struct step {
    double size;
    const char *unit;
} step;

/* "1.234 s", "1.2 GB", "1,234 launches". */
static void words_weight(char *out, size_t size, int64_t weight, const char *unit)
{
    static const step times[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {0, NULL}};
    static const step bytes[] = {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {0, NULL}};
    const char *sign = weight == INT64_MAX ? "at least " : weight < 0 ? "−" : ""; /* sums saturate */
    const step *at = strcmp(unit, "ns") == 0 ? times : strcmp(unit, "bytes") == 0 ? bytes : NULL;
    double value = weight < 0 ? -(double)weight : (double)weight;
    for (; at && at->unit; at++) {
        if (value < at->size) continue;
        snprintf(out, size, "%s%.*f %s", sign, value >= at->size * 1e3 ? 0 : 3, value / at->size, at->unit);
        return;
    }
    char digits[40];
    put_grouped(digits, sizeof digits, weight < 0 ? 0 - (uint64_t)weight : (uint64_t)weight);
    snprintf(out, size, "%s%s%s%s", sign, digits, *unit ? " " : "", unit);
}

HD_PRINTF(2, 3) static void say(svg_words *out, const char *format, ...)
{
    if (out->count == SVG_SENTENCES) return;
    va_list args;
    va_start(args, format);
    vsnprintf(out->sentences[out->count++], sizeof *out->sentences, format, args);
    va_end(args);
}

static double percent_of(int64_t part, int64_t whole)
{
    return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

static int64_t change_of(const flame_view *view)
{
    int64_t change;
    if (!__builtin_sub_overflow(view->total[0], view->base_total[0], &change)) return change;
    return view->total[0] < 0 ? INT64_MIN : INT64_MAX;
}

static uint64_t works_of(const flame_view *view)
{
    uint64_t works = 0;
    for (uint32_t n = 0; n < hd_stacks_count(view->stacks); n++) works += view->count[n];
    return works;
}

static void say_compared_totals(svg_words *out, const hd_flame *flame, const flame_view *view)
{
    char total[64], before[64], change[64], percent[32] = "";
    int64_t by = change_of(view);
    words_weight(total, sizeof total, view->total[0], flame->unit);
    words_weight(before, sizeof before, view->base_total[0], flame->unit);
    words_weight(change, sizeof change, by, flame->unit);
    const char *sign = by > 0 ? "+" : by < 0 ? "−" : "";
    if (view->base_total[0] > 0)
        snprintf(percent, sizeof percent, " (%s%.1f %%)", sign, fabs(percent_of(by, view->base_total[0])));
    snprintf(out->title, sizeof out->title, "%s compared: %s, was %s: %s%s%s", flame_title_of(flame->of), total, before,
             by > 0 ? "+" : "", change, percent);
}

static void say_what(svg_words *out, const hd_flame *flame, const flame_view *view)
{
    char total[64], works[40], missing[64] = "";
    const char *title = flame_title_of(flame->of);
    uint64_t count = works_of(view);
    words_weight(total, sizeof total, view->total[0], flame->unit);
    put_grouped(works, sizeof works, count);
    if (flame->no_stack_count)
        snprintf(missing, sizeof missing, "; %.1f %% without a stack", percent_of(flame->no_stack, view->total[0]));
    if (view->base_total)
        say_compared_totals(out, flame, view);
    else if (view->total[0] == 0 && count == 0)
        snprintf(out->title, sizeof out->title, "%s: nothing was counted", title);
    else if (flame->of == HD_FLAME_LAUNCHES)
        snprintf(out->title, sizeof out->title, "%s: %s%s", title, total, missing);
    else if (flame->of == HD_FLAME_SAMPLES && view->total[0] >= 0 && (uint64_t)view->total[0] == count)
        snprintf(out->title, sizeof out->title, "%s: %s%s", title, works, missing);
    else if (flame->of == HD_FLAME_SAMPLES)
        snprintf(out->title, sizeof out->title, "%s: %s, of weight %s%s", title, works, total, missing);
    else
        snprintf(out->title, sizeof out->title, "%s: %s %s, %s of them%s", title, total, words[flame->of].of, works,
                 missing);
}

static void say_more(svg_words *out, const hd_flame *flame, const svg_layout *layout, double min_percent)
{
    char count[40], all[40], weight[64];
    if (flame->pending_count) {
        put_grouped(count, sizeof count, flame->pending_count);
        say(out, "%s launches of work that is not there", count);
    }
    if (flame->removed > 0) {
        words_weight(weight, sizeof weight, flame->removed, flame->unit);
        say(out, "%s left out as asked for", weight);
    }
    if (flame->negative_count) {
        put_grouped(count, sizeof count, flame->negative_count);
        say(out, "%s samples below 0 left out", count);
    }
    put_grouped(all, sizeof all, layout->frames + layout->left_out);
    if (layout->left_out && min_percent > 0) {
        put_grouped(count, sizeof count, layout->left_out);
        say(out, "%s of %s frames below %g %% are not drawn (use --min-percent)", count, all, min_percent);
    } else if (layout->left_out) {
        put_grouped(count, sizeof count, layout->left_out);
        say(out, "%s of %s frames without weight are not drawn", count, all);
    } else {
        say(out, "%s frames", all);
    }
}

static void say_compared(svg_words *out, const hd_flame *flame, const flame_view *view, const svg_layout *layout)
{
    char count[40], weight[64];
    if (flame->no_stack_count) say(out, "%.1f %% without a stack", percent_of(flame->no_stack, view->total[0]));
    say(out, "widths: the new one; red: more than before, blue: less");
    if (layout->gone_stacks == 0) return;
    put_grouped(count, sizeof count, layout->gone_stacks);
    words_weight(weight, sizeof weight, layout->gone_weight, flame->unit);
    snprintf(out->gone, sizeof out->gone, "gone: %s stack%s, %s", count, layout->gone_stacks == 1 ? "" : "s", weight);
    say(out, "%s", out->gone);
}

void svg_words_init(svg_words *out, const hd_flame *flame, const flame_view *view, const svg_layout *layout,
                    const hd_flame_write_options *options, double min_percent)
{
    *out = (svg_words){.what = words[flame->of].what};
    say_what(out, flame, view);
    if (options->title) {
        say(out, "%.150s", out->title);
        snprintf(out->title, sizeof out->title, "%s", options->title);
    }
    if (view->base_total) say_compared(out, flame, view, layout);
    say_more(out, flame, layout, min_percent);
}
