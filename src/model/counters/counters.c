/* counters.c - what counters of a GPU are about, from any source */
#include "model/counters/counters.h"

#include <string.h>

#include "trace/text.h"

hd_counter_kind hd_counter_kind_of(hd_string name)
{
    static const char *const reasons[] = {
        "throttle_reasons.active", "event_reasons.active", "THROTTLE_REASONS", "EVENT_REASONS", "DVCCTR", NULL};
    static const char *const whole[] = {"pclk", "SMCLK", "SM_CLOCK", "clocks.gr", "clocks.sm", "gfx_clk", NULL};
    static const char *const clock[] = {"Clock", "clock", "sclk", "SCLK", NULL};
    static const char *const of_gpu[] = {"SM",   "GPC", "GFX", "gfx", "raphics", "sclk",
                                         "SCLK", ".sm", ".gr", "GPU", "gpu",     NULL};
    static const char *const of_others[] = {"Mem",     "mem",   "DRAM",         "level", "reasons",
                                            "REASONS", "video", "applications", NULL};
    static const char *const max[] = {"max", "MAX", "Max", NULL};
    if (hd_string_holds_any(name, reasons)) return HD_COUNTER_REASONS;
    if (!hd_string_holds_any(name, whole) && (!hd_string_holds_any(name, clock) || !hd_string_holds_any(name, of_gpu)))
        return HD_COUNTER_OTHER;
    if (hd_string_holds_any(name, of_others)) return HD_COUNTER_OTHER;
    return hd_string_holds_any(name, max) ? HD_COUNTER_CLOCK_MAX : HD_COUNTER_CLOCK;
}

int64_t hd_counter_device(hd_string process_name)
{
    static const char *const ends[] = {" counters", " monitor", " metrics"};
    int64_t number = 0;
    size_t at = 4;
    if (process_name.size < 5 || memcmp(process_name.data, "GPU ", 4) != 0) return HD_NO_NUMBER;
    for (; at < process_name.size && process_name.data[at] >= '0' && process_name.data[at] <= '9'; at++) {
        if (number > INT32_MAX) return HD_NO_NUMBER;
        number = number * 10 + (process_name.data[at] - '0');
    }
    for (size_t i = 0; i < 3 && at > 4; i++)
        if (process_name.size - at == strlen(ends[i]) && memcmp(process_name.data + at, ends[i], strlen(ends[i])) == 0)
            return number;
    return HD_NO_NUMBER;
}
