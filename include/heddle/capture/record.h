/* record.h - run a command and write what it and its children did on the GPU into one trace
 *
 *     const char *command[] = {"python", "train.py", NULL};
 *     hd_record_options options = {.output = "train.heddle"};
 *     hd_record_result *result;
 *     hd_status status = hd_record_run(&result, command, &options, &err);
 *     if (result && result->started) exit_status = result->exit_status;
 *     hd_record_result_free(result);
 *
 * How
 *   The command runs as it would alone: same terminal, same process group, same descriptors; a few variables of its
 *   environment are added. CUDA_INJECTION64_PATH and NVTX_INJECTION64_PATH name libheddle-cuda.so, which the driver
 *   loads into each process that uses the GPU; each appends what happens to a file of its own (docs/formats/capture.md)
 *   in the folder OUTPUT.parts, HEDDLE_CAPTURE_DIR. When the command has ended, those files become one trace, and the
 *   folder is removed. If heddle or the machine is killed before, the folder stays: hd_record_recover makes a trace of
 *   it, as does `heddle convert OUTPUT.parts/FILE… OUTPUT`.
 *
 * Signals
 *   SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGTSTP and SIGCONT that are sent to the caller while
 *   the command runs are passed on to it, unless they are ignored; signals from the terminal reach the command
 *   directly. They are blocked meanwhile, so other threads of the caller should block them, too. Linux.
 */
#ifndef HEDDLE_RECORD_H
#define HEDDLE_RECORD_H

#include "heddle/convert.h"
#include "heddle/ring.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One message for the user, a sentence without a full stop: what is missing or happened, and what to do. */
typedef void hd_record_say(void *user, const char *message);

/* Called while the child that will become the command waits before execve. `pid`: the child; the caller's own captures
 * go to the folder `parts`. A failure is reported by `say` and the command still runs; with `strict` the recording
 * fails. */
typedef hd_status hd_record_attach(void *user, int pid, const char *parts, hd_error *err);
/* Called when the command has ended, if attach was called and did not fail. */
typedef hd_status hd_record_detach(void *user, hd_error *err);

/* Zero-initialised records everything that costs little. Strings are borrowed for the call. */
typedef struct hd_record_options {
    size_t size;         /* of this struct; see "Options" in status.h */
    const char *output;  /* NULL: COMMAND-YYYYMMDD-HHMMSS.heddle in the current folder, with -rankN after the time if
                            hd_record_rank finds several processes. The format follows from the extension */
    const char *library; /* libheddle-cuda.so; NULL: $HEDDLE_CUDA_LIBRARY, else as hd_record_library finds it */
    bool no_cuda;        /* do not inject the library: attach, or the program itself, captures */

    const char *tool; /* "nsys", "rocprofv3", "xctrace" or "mctracer": this program on PATH runs the command, and
                         nothing is injected. Its raw output stays in OUTPUT.TOOL; its readable part becomes the trace.
                         Of the options below, only threads and memory_limit apply. NULL: none */

    bool no_stacks;   /* of launches */
    bool python;      /* Python frames in stacks */
    bool memory;      /* allocations */
    bool graph_whole; /* record a graph launch as one activity instead of one per node */
    bool no_nvtx;
    bool trigger;          /* nothing is captured before the first trigger */
    int64_t delay_ns;      /* capture starts this long after the process; 0: at once */
    int64_t duration_ns;   /* and ends after this duration; 0: with the process */
    const char *steps;     /* "A:B": from the start of step A to the end of step B; NULL: all */
    double budget;         /* windows of steps that cost at most this share of the time, 0.01; 0: none, capture all */
    const char *step_name; /* NVTX ranges of this name are steps; at most 63 bytes; NULL: as docs/windows.md says */
    hd_ring_policy policy; /* of a full ring */

    bool kernel; /* also events of the operating system's kernel, on all CPUs: scheduling, interrupts, GPU jobs and
                    fences */

    bool no_symbolize; /* leave addresses in stacks as they are */
    bool keep;         /* keep the folder of the parts */
    bool wait_all;     /* wait for all descendants of the command, not only for the command. Other children of the
                          caller are waited for as well, since the caller is a subreaper meanwhile (prctl) */
    bool strict; /* fail without running the command if nothing could be captured; else print a message and run it */
    bool sigpipe_ignored; /* the command ignores SIGPIPE; else it has the default action, whatever the caller's is */

    hd_record_attach *attach; /* NULL: none */
    hd_record_detach *detach;
    hd_record_say *say;
    void *user;            /* of these three */
    unsigned threads;      /* for making the trace; 0: one per core */
    uint64_t memory_limit; /* likewise, as in hd_read_options */
    hd_progress *progress; /* likewise; units: bytes of the parts */
    void *progress_user;

    int64_t keep_last_ns; /* the trace has only what was recorded in so much time, and up to a quarter more, before the
                             end. SIGUSR2 to the caller or to the program, or hd_trigger, also writes what is kept at
                             that moment, as OUTPUT with a number; 0: all */
    int64_t on_stall_ns;  /* and so does a process that recorded nothing for so long; 0: never */
    int pid; /* a process that runs already, instead of a command: captured by `attach`, until it ends, for duration_ns,
                or until SIGINT, SIGTERM or SIGHUP; 0: a command */
} hd_record_options;

/* What a process could not capture and what to do, as reported by its tracer. */
typedef struct hd_record_problem {
    char *message;
    size_t processes; /* that said so */
} hd_record_problem;

/* Strings and lists belong to it. */
typedef struct hd_record_result {
    /* the command */
    bool started;
    bool without;    /* the command ran, but could not be captured: the reason was printed, and is also the error */
    int exit_status; /* as in shells: the command's status, or 128 + signal; 127: not found, 126: cannot be executed */
    int64_t wall_ns; /* from start to end */
    int64_t cpu_ns;  /* user and system time of the command and of the children that it waited for */
    /* files */
    char *output, *parts;
    bool written;    /* output is there */
    bool parts_kept; /* parts is there */
    uint64_t output_bytes, parts_bytes;
    size_t processes;  /* in the trace */
    size_t captures;   /* their files: a process has several if it calls execve */
    size_t unreadable; /* files that are not in the trace: cut within their header, not readable, or not captures */
    size_t damaged;    /* damaged files: the trace has their readable part */
    size_t running;    /* processes that were still writing when the trace was made */
    /* what was captured */
    uint64_t events, kernels, copies, sets, launches; /* launches: API calls that started, or should have started, GPU
                                                         activities */
    uint64_t annotations;                             /* ranges that the program named */
    uint64_t addresses_named, addresses_unnamed;      /* distinct addresses in stacks, per process */
    uint64_t lost;                                    /* events that were dropped or could not be stored, from the
                                                         ledger */
    /* what it cost: sums of what each process measured (`heddle.capture`) */
    size_t measured; /* processes that did */
    uint64_t callbacks;
    int64_t callback_ns, helper_ns; /* in the program's threads: CUPTI's callbacks and calls of NVTX; CPU time of the
                                       library's own. 0: not measured. Of a process that did not finish its file, at
                                       least */
    char *budget; /* what the windows of the budget cost, a sentence, of the process that spent the largest share;
                     NULL: no process had a budget */
    double budget_spent;         /* that share: 0.0031; 0: not measured */
    hd_record_problem *problems; /* without duplicates; at most 64 */
    size_t problem_count;
    hd_convert_report *convert; /* steps and ledger; NULL: no trace was made */
} hd_record_result;

void hd_record_result_free(hd_record_result *result);

/* Run command[0], searched as execvp does, with its arguments (ends with NULL), and make the trace. *out describes what
 * happened to the command, also after an error; the caller frees it. It is NULL if nothing ran: no memory, or an
 * unknown option. The returned error is that of the recording. HD_OK without an output: there was nothing to capture,
 * which `say` reports. Errors: IO (the command cannot be started; folder, files); ARGUMENT (no such format, no
 * command); what hd_convert returns: then the parts are kept. */
hd_status hd_record_run(hd_record_result **out, const char *const *command, const hd_record_options *options,
                        hd_error *err);

/* Make the trace from the folder that a killed recording left; the folder is then removed unless `keep`. Output NULL:
 * next to the folder, under its original name. *out: as above. Errors: as above; ARGUMENT: the folder has no
 * captures. */
hd_status hd_record_recover(hd_record_result **out, const char *parts, const hd_record_options *options, hd_error *err);

/* Finds the injection library: `path` if not NULL, else $HEDDLE_CUDA_LIBRARY, else next to the running program (build
 * tree) or in ../lib/heddle of its folder. It also checks that the library loads on this machine, since NVTX is silent
 * in a program that cannot load it. The caller frees *out. Errors: IO (not found, does not load: the message says
 * why). */
hd_status hd_record_library(char **out, const char *path, hd_error *err);

/* The number of this process, counted from 0, and the number of processes, as a launcher wrote them into the
 * environment: Open MPI, PMI (MPICH), Slurm, torchrun, an indexed job of Kubernetes, an array job. False, and 0, 0:
 * none did. */
bool hd_record_rank(uint64_t *out_rank, uint64_t *out_count);

#ifdef __cplusplus
}
#endif
#endif
