/* uprobe.h - records calls of functions of any library, with their stacks, from outside the program. Linux
 *
 *     hd_uprobe_plan *plan;   hd_uprobe *tracer;   hd_uprobe_stats stats;
 *     hd_uprobe_plan_new(&plan, argv, &err);
 *     hd_uprobe_plan_add(plan, "libcudart.so.12:cudaLaunchKernel", &err);      before the program starts
 *     pid = fork();   …                                                        the child waits
 *     hd_uprobe_start(&tracer, plan, pid, &options, &err);                     the child may exec now
 *     waitpid(pid, …);
 *     hd_uprobe_stop(&stats, tracer, &err);
 *
 * The system's kernel puts a breakpoint on each function (perf_event_open, PMU "uprobe"); whenever a thread of the
 * program or of its descendants reaches it, the kernel writes thread, time, registers and a part of the stack to a
 * ring. A thread of this library reads the ring, unwinds the stacks, and writes a capture (docs/formats/capture.md) or
 * folded text. The program is not changed, needs no debug information and no frame pointers, and continues at once.
 *
 * Rights: CAP_SYS_ADMIN, that is root in most places. Breakpoints of the kernel belong to files: other
 * programs that call the same functions of the same file are slowed down as well; their calls are counted (foreign) and
 * not recorded.
 *
 * Descriptors: without tracefs each function needs one per CPU, which may exceed the usual limit of 1024. The limit is
 * the caller's to raise (setrlimit, RLIMIT_NOFILE), after the fork.
 *
 * Loss: a full ring loses calls, which are counted (lost) in the capture's ledger.
 */
#ifndef HEDDLE_UPROBE_H
#define HEDDLE_UPROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "heddle/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- which functions ---- */

typedef struct hd_uprobe_plan hd_uprobe_plan;

/* `command`: the command that will run, as for execvp; libraries are searched in its folder and RUNPATH. NULL: unknown.
 * Borrowed until free. */
hd_status hd_uprobe_plan_new(hd_uprobe_plan **out, const char *const *command, hd_error *err);
/* For a process that runs already: libraries are those that it has loaded, then as above. Errors: ARGUMENT, no such
 * process; IO, it may not be read; MEMORY. */
hd_status hd_uprobe_plan_of_process(hd_uprobe_plan **out, int pid, hd_error *err);
void hd_uprobe_plan_free(hd_uprobe_plan *plan);

/* Add the functions that `spec` names:
 *
 *     LIB:SYMBOL   LIB is a path (with a '/'), the command itself (its name), or a name that is searched as the dynamic
 *                  linker does: what the command is linked with, LD_LIBRARY_PATH, the command's own folder, ldconfig's
 *                  cache, the system's folders. SYMBOL may have * ? and [ ].
 *     cuda, hip    launches, graph launches and copies of libcudart and libcuda, or libamdhip64, also where they are
 *                  linked into another library. Libraries that do not exist yet are found when the program loads them.
 *
 * Errors: ARGUMENT, no such library or symbol (the message has near names), or no such preset; LIMIT, more than
 * HD_UPROBE_TARGETS_MAX functions; FORMAT, no ELF file of this machine; IO; MEMORY. */
hd_status hd_uprobe_plan_add(hd_uprobe_plan *plan, const char *spec, hd_error *err);

enum { HD_UPROBE_TARGETS_MAX = 256 };

/* A function. Strings belong to the plan. */
typedef struct hd_uprobe_target {
    const char *path;   /* the file, absolute */
    const char *symbol; /* its name there */
    uint64_t offset;    /* of the function in the file */
} hd_uprobe_target;

uint32_t hd_uprobe_plan_count(const hd_uprobe_plan *plan);
hd_uprobe_target hd_uprobe_plan_at(const hd_uprobe_plan *plan, uint32_t index);

/* ---- tracing ---- */

/* Whether this process can use uprobes. Errors: UNSUPPORTED (the kernel has none), IO (not allowed); the message says
 * what to do. */
hd_status hd_uprobe_check(hd_error *err);

typedef enum hd_uprobe_stacks {
    HD_UPROBE_UNWIND, /* by the unwind tables of the files (.eh_frame), else by frame pointers */
    HD_UPROBE_FRAMES, /* by frame pointers alone: cheaper, and wrong in code without them */
    HD_UPROBE_NONE,   /* calls without stacks */
} hd_uprobe_stacks;

enum {
    HD_UPROBE_STACK_BYTES = 16384,
    HD_UPROBE_RINGS_BYTES = 256 << 20, /* of all CPUs together, each having from 2 to 32 MiB */
};

/* Zero-initialised is the default; one of capture and folded is needed. */
typedef struct hd_uprobe_options {
    size_t size;         /* of this struct; see "Options" in status.h */
    const char *capture; /* file to write, replaced if there; NULL: none */
    const char *folded;  /* the same, extended folded text: "timestamp_ns comm pid tid cpu frame;frame;frame" */
    hd_uprobe_stacks stacks;
    bool no_tracefs;      /* one PMU event per function and CPU, even where a single tracefs event would do */
    bool returns;         /* probe returns as well: calls become slices. A C++ exception that leaves such a function
                             ends the program, since its unwinder cannot follow the kernel's return probe */
    uint32_t stack_bytes; /* of each stack that are copied, 512 to 61440, a multiple of 8; 0: HD_UPROBE_STACK_BYTES */
    uint32_t ring_bytes;  /* for each CPU, rounded to a power of two of pages; 0: its share of HD_UPROBE_RINGS_BYTES */
    bool is_running;      /* the process is no child that waits: it runs already, and so do its threads */
} hd_uprobe_options;

/* hits = calls + foreign + unknown; calls = samples + nested + (without stacks) bare. */
typedef struct hd_uprobe_stats {
    uint64_t hits;       /* records that were read */
    uint64_t foreign;    /* of other programs */
    uint64_t unknown;    /* at an address with an unknown mapping */
    uint64_t calls;      /* of the program: instants, or slices */
    uint64_t samples;    /* with a stack, as stack samples */
    uint64_t nested;     /* within another probed function: no sample of their own */
    uint64_t bare;       /* without a stack, as requested */
    uint64_t lost;       /* records that found the ring full, calls and returns */
    uint64_t cut;        /* stacks deeper than stack_bytes; their outer frames are missing */
    uint64_t broken;     /* stacks whose walk ended early, where neither tables nor frame pointers helped */
    uint64_t returned;   /* calls whose return was seen */
    uint64_t processes;  /* of the program, that were seen */
    uint64_t threads;    /* that called */
    uint32_t targets;    /* functions probed */
    uint32_t late;       /* of these, found while the program ran */
    uint32_t unprobed;   /* found while the program ran, but not probed: their calls are missing */
    uint32_t ring_bytes; /* actual size of each ring; less than requested where memory may not be locked */
    int64_t helper_ns;   /* CPU time of the library's thread */
} hd_uprobe_stats;

typedef struct hd_uprobe hd_uprobe;

/* Probe, and follow `pid`, a child of this process that has not called execve yet (or one that runs: is_running), and
 * the descendants that it starts from then on. The plan
 * must outlive the tracer, which adds functions found later to it. Errors: IO (not allowed, or a file cannot be
 * written), UNSUPPORTED, ARGUMENT, MEMORY; then nothing is left behind, and the program can run untraced. */
hd_status hd_uprobe_start(hd_uprobe **out, hd_uprobe_plan *plan, int pid, const hd_uprobe_options *options,
                          hd_error *err);

/* Read the rest of the rings and finish the files. Called once. `out`, unless NULL, gets the statistics. Errors: IO;
 * the files have all that could be written. */
hd_status hd_uprobe_stop(hd_uprobe_stats *out, hd_uprobe *tracer, hd_error *err);

/* Stops it if it was not stopped; NULL is fine. */
void hd_uprobe_free(hd_uprobe *tracer);

#ifdef __cplusplus
}
#endif
#endif
