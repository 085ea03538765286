/* ways.c - which ways of capturing work here, and why the others do not */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "devices/impl.h"

typedef struct way_entry {
    const char *name, *summary;
} way_entry;

static const way_entry entries[] = {
    {"session", "programs that emit events themselves, with libheddle-capture"},
    {"cuda", "CUDA programs as they are, with an injected tracer (CUPTI)"},
    {"uprobe", "launch functions of any library, with uprobes"},
    {"stacks", "CPU stacks of launches, taken inside of the program"},
    {"perf-stacks", "CPU stacks of launches, taken by the kernel"},
    {"kernel", "events of the system's kernel: scheduling, interrupts, jobs and fences of GPUs, with --kernel"},
    {"python", "names of Python functions in stacks"},
    {"nsys", "NVIDIA's Nsight Systems, with --with nsys"},
    {"rocprofv3", "AMD's profiler, with --with rocprofv3"},
    {"xctrace", "Apple's Instruments, with --with xctrace"},
    {"mctracer", "MetaX's tracer, with --with mctracer"},
};

enum { WAY_COUNT = sizeof entries / sizeof *entries };

void devices_say(hd_way *way, hd_way_state state, const char *advice, const char *why, ...)
{
    char text[HD_WAY_TEXT_BYTES];
    va_list args;
    va_start(args, why);
    vsnprintf(text, sizeof text, why, args);
    va_end(args);
    way->state = state;
    devices_text(way->why, sizeof way->why, "%s", text);
    devices_text(way->advice, sizeof way->advice, "%s", advice);
}

/* ---- what needs nothing from the machine ---- */

static void way_session(hd_way *way)
{
#ifdef __linux__
    devices_say(way, HD_WAY_WORKS, "", "needs nothing but a program that calls it");
#else
    devices_say(way, HD_WAY_MISSING, "Trace on Linux.", "libheddle-capture is built on Linux only");
#endif
}

static void way_stacks(hd_way *way)
{
#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
    devices_say(way, HD_WAY_WORKS, "",
                "needs no permission, and no frame pointers: unwind tables lead, which nearly all code has");
#else
    devices_say(way, HD_WAY_MISSING, "Capture without stacks.", "not written for this processor or system");
#endif
}

/* ---- tools of others ---- */

typedef struct tool_entry {
    const char *advice; /* where it comes from */
    const char *needs;  /* a file that its driver makes; NULL: none that we could look for */
    const char *without;
} tool_entry;

static const tool_entry tools[] = {
    {"Install Nsight Systems (in the CUDA toolkit, or nsight-systems-cli of NVIDIA's package source) and put nsys on "
     "PATH.",
     "/proc/driver/nvidia/version", "no NVIDIA driver is loaded, so it records the CPU only"},
    {"Install ROCm 6.2 or newer and put its bin folder, /opt/rocm/bin, on PATH.", "/dev/kfd",
     "no /dev/kfd, so it finds no GPU of AMD"},
    {"It comes with Xcode, on macOS only.", NULL, NULL},
    {"It comes with MetaX's MACA toolkit; put its bin folder on PATH.", NULL, NULL},
};

static void way_tool(hd_way *way, const tool_entry *tool, const char *root)
{
    char path[HD_WAY_TEXT_BYTES - 128], needs[DEVICES_PATH_BYTES];
    if (!hd_devices_program(path, sizeof path, way->name))
        devices_say(way, HD_WAY_MISSING, tool->advice, "%s is not on PATH", way->name);
    else if (tool->needs && devices_path(needs, sizeof needs, root, "%s", tool->needs) && !devices_exists(needs))
        devices_say(way, HD_WAY_PARTLY, "Run it on a machine whose GPU driver is loaded.", "%s; %s", path,
                    tool->without);
    else
        devices_say(way, HD_WAY_WORKS, "", "%s", path);
}

hd_status devices_find_ways(hd_devices *devices, const char *root, hd_error *err)
{
    enum { FIRST_TOOL = 7 };
    devices->ways = calloc(WAY_COUNT, sizeof *devices->ways);
    if (!devices->ways) return HD_NOMEM(err);
    devices->way_count = WAY_COUNT;
    for (size_t i = 0; i < WAY_COUNT; i++) {
        devices->ways[i].name = entries[i].name;
        devices->ways[i].summary = entries[i].summary;
    }
    way_session(&devices->ways[0]);
    devices_way_cuda(&devices->ways[1], devices, root);
    devices_way_uprobe(&devices->ways[2], root);
    way_stacks(&devices->ways[3]);
    devices_way_callchain(&devices->ways[4], root);
    devices_way_kernel(&devices->ways[5], root);
    devices_way_python(&devices->ways[6]);
    for (size_t i = FIRST_TOOL; i < WAY_COUNT; i++) way_tool(&devices->ways[i], &tools[i - FIRST_TOOL], root);
    return HD_OK;
}
