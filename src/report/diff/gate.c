/* gate.c - conditions on which a diff fails: "step>3%", "launches>0", "idle>200us" */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/diff/diff.h"

const char *diff_column_name(unsigned column)
{
    static const char *const names[DIFF_COLUMNS + 2] = {
        [DIFF_COMPUTE] = "compute",
        [DIFF_COMMUNICATION] = "exposed_communication",
        [DIFF_COPY] = "exposed_copy",
        [DIFF_IDLE + GPU_CAUSE_HOST] = "idle:host",
        [DIFF_IDLE + GPU_CAUSE_SYNC] = "idle:sync",
        [DIFF_IDLE + GPU_CAUSE_LAUNCH] = "idle:launch",
        [DIFF_IDLE + GPU_CAUSE_DEPENDENCY] = "idle:dependency",
        [DIFF_IDLE + GPU_CAUSE_DEVICE] = "idle:device",
        [DIFF_IDLE + GPU_CAUSE_TRANSFER] = "idle:transfer",
        [DIFF_IDLE + GPU_CAUSE_UNKNOWN] = "idle:unknown",
        [DIFF_IDLE + GPU_CAUSE_OUTSIDE] = "idle:outside",
        [DIFF_HOST] = "host",
        [DIFF_LAUNCHES] = "launches",
        [DIFF_KERNELS] = "kernels",
        [DIFF_COPIES] = "copies",
        [DIFF_SYNCS] = "syncs",
        [DIFF_BYTES] = "copied_bytes",
        [DIFF_MEMORY] = "memory_peak",
        [DIFF_FLOP] = "flop",
        [DIFF_COLLECTIVE_BYTES] = "collective_bytes",
        [DIFF_COMPUTING] = "computing_ns",
        [DIFF_COMPUTING_KNOWN] = "computing_known_ns",
        [DIFF_COLLECTIVES] = "collectives_ns",
        [DIFF_COLLECTIVES_SIZED] = "collectives_sized_ns",
        [DIFF_COLLECTIVES_ON_BUS] = "collectives_on_bus_ns",
        [DIFF_BUS_BYTES] = "bus_bytes",
        [DIFF_COPIES_SIZED] = "copies_sized",
        [DIFF_COLUMNS] = "step",
        [DIFF_COLUMNS + 1] = "idle",
    };
    return column < DIFF_COLUMNS + 2 ? names[column] : NULL;
}

static bool is_time(unsigned column)
{
    return column < DIFF_PARTS || column >= DIFF_COLUMNS;
}

static hd_status refuse(const char *text, const char *why, hd_error *err)
{
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "condition '%.60s': %s", text, why);
}

hd_status diff_condition_parse(diff_condition *out, const char *text, hd_error *err)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    const char *sign = strchr(text, '>'), *digits = sign ? sign + 1 : text;
    char *end;
    *out = (diff_condition){.text = text, .column = 0};
    if (!sign) return refuse(text, "is not as 'step>3%' or 'launches>0'", err);
    size_t size = (size_t)(sign - text);
    while (size && text[size - 1] == ' ') size--;
    const char *name;
    while ((name = diff_column_name(out->column)) && (strlen(name) != size || memcmp(name, text, size) != 0))
        out->column++;
    if (!name || (out->column >= DIFF_JUDGED && out->column < DIFF_COLUMNS))
        return refuse(
            text,
            "names none of step, compute, exposed_communication, exposed_copy, idle, idle:CAUSE, host, launches, "
            "kernels, copies, copied_bytes, syncs, memory_peak, flop, collective_bytes",
            err);
    while (*digits == ' ') digits++;
    if (!*digits || strspn(digits, "0123456789.") == 0) return refuse(text, "has no number after >", err);
    out->limit = strtod(digits, &end);
    while (*end == ' ') end++;
    out->is_percent = strcmp(end, "%") == 0;
    if (out->is_percent) return HD_OK;
    for (size_t i = 0; i < sizeof units / sizeof *units && is_time(out->column); i++) {
        if (strcmp(end, units[i].name) != 0) continue;
        out->limit *= units[i].ns;
        return HD_OK;
    }
    if (*end || (is_time(out->column) && out->limit > 0))
        return refuse(text, is_time(out->column) ? "wants %, ns, us, ms or s" : "wants a number or %", err);
    return HD_OK;
}

static void put_value(char out[HD_VALUE_TEXT_BYTES], unsigned column, double value)
{
    if (is_time(column))
        hd_text_duration(out, gpu_round(value));
    else
        snprintf(out, HD_VALUE_TEXT_BYTES, "%.6g", value);
}

/* How many units more make the interval as narrow as `wanted` on either side. */
static double units_more(const diff_change *c, const diff_units *u, double wanted)
{
    double half = (c->high - c->low) / 2, n = u->half[0].units < u->half[1].units ? u->half[0].units : u->half[1].units;
    if (c->error < 0 || wanted <= 0 || isinf(half)) return DIFF_UNITS_MIN + 2 - (n < DIFF_UNITS_MIN ? n : 0);
    return ceil(n * (half / wanted) * (half / wanted) - n) + 1;
}

hd_diff_gate diff_condition_judge(hd_table_builder *out, const diff_condition *c, const diff_change *step,
                                  diff_units *u, bool conclusive)
{
    static const char *const words[] = {"passes", "fails", "cannot be said"};
    diff_change change = c->column == DIFF_COLUMNS ? *step : diff_change_of_column(u, c->column);
    double limit = c->is_percent ? c->limit / 100 * change.before : c->limit, half = (change.high - change.low) / 2;
    hd_diff_gate gate = HD_DIFF_PASSES;
    const char *unknown = NULL;
    int side = 0;
    char before[HD_VALUE_TEXT_BYTES], after[HD_VALUE_TEXT_BYTES], text[400];
    if (change.change > limit && change.low > 0)
        gate = HD_DIFF_FAILS;
    else if (change.high > limit && (change.change > limit || half > limit))
        gate = HD_DIFF_UNSAID;
    if (!conclusive || (!change.is_known && (gate == HD_DIFF_FAILS || half > 0))) gate = HD_DIFF_UNSAID;
    put_value(before, c->column, change.before);
    put_value(after, c->column, change.after);
    int size = snprintf(text, sizeof text, "%s a step is %s before and %s after",
                        c->column == DIFF_COLUMNS ? "time of" : diff_column_name(c->column), before, after);
    if (change.before > 0)
        size += snprintf(text + size, sizeof text - (size_t)size, ", %+.1f %%", 100 * change.change / change.before);
    for (int h = 0; h < 2 && !unknown; h++) unknown = diff_unknown(&u->half[side = h], c->column);
    if (unknown) gate = HD_DIFF_UNSAID;
    if (unknown)
        snprintf(text, sizeof text, "%s is not known %s: %s", diff_column_name(c->column), diff_side_names[side],
                 unknown);
    else if (gate == HD_DIFF_UNSAID && conclusive)
        snprintf(text + size, sizeof text - (size_t)size,
                 "; the noise is larger than what is looked for: about %.0f more %s are needed",
                 units_more(&change, u, limit > 0 ? limit : fabs(change.change)), u->by_run ? "runs" : "steps");
    else if (gate == HD_DIFF_UNSAID)
        snprintf(text + size, sizeof text - (size_t)size, "; nothing can be concluded from these sides");
    hd_table_add_text(out, c->text);
    hd_table_add_text(out, words[gate]);
    hd_table_add_text(out, text);
    return gate;
}
