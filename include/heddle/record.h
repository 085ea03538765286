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
 *   folder is removed. If anything is killed before, the folder stays: hd_record_recover makes a trace of it, as does
 *   `heddle convert OUTPUT.parts/FILE… OUTPUT`.
 *
 * Signals
 *   SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGTSTP and SIGCONT that are sent to the caller while
 *   the command runs are passed on to it, unless they are ignored; what the terminal sends reached the command by
 *   itself. They are blocked meanwhile, so other threads of the caller should block them, too. Linux.
 */
#ifndef HEDDLE_RECORD_H
#define HEDDLE_RECORD_H

#include "heddle/convert.h"
#include "heddle/ring.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One message to the user, a sentence without a full stop: what is missing or happened, and what to do. */
typedef void hd_record_say(void *user, const char *message);

/* Called while the child that will become the command waits, before it calls execve: `pid`; captures of one's own go
 * to the folder `parts`. `say` reports a failure, and the command runs; with `strict` it is the recording's. */
typedef hd_status hd_record_attach(void *user, int pid, const char *parts, hd_error *err);
/* Called when the command has ended, if attach was called and did not fail. */
typedef hd_status hd_record_detach(void *user, hd_error *err);

/* Zero-initialised records everything that costs little. Strings are borrowed for the call. */
typedef struct hd_record_options {
    size_t size;         /* of this struct; see "Options" in status.h */
    const char *output;  /* NULL: COMMAND-YYYYMMDD-HHMMSS.heddle here. Its format follows from the extension */
    const char *library; /* libheddle-cuda.so; NULL: $HEDDLE_CUDA_LIBRARY, else as hd_record_library finds it */
    bool no_cuda;        /* do not inject it: `attach`, or the program itself, captures */

    const char *tool; /* "nsys", "rocprofv3", "xctrace" or "mctracer": that program of PATH runs the command, and
                         nothing is injected. Its raw output stays in OUTPUT.TOOL; what of it can be read becomes the
                         trace. Of all options below only threads and memory_limit count. NULL: none */

    bool no_stacks;   /* of launches */
    bool python;      /* Python frames in stacks */
    bool memory;      /* allocations */
    bool graph_whole; /* a launched graph is one piece of work, and not one for each node */
    bool no_nvtx;
    bool trigger;          /* nothing is captured before the first trigger */
    int64_t delay_ns;      /* capture starts so long after the process; 0: at once */
    int64_t duration_ns;   /* and ends so much later; 0: with the process */
    const char *steps;     /* "A:B": from the start of step A to the end of step B; NULL: all */
    const char *step_name; /* NVTX ranges of this name are steps; at most 63 bytes; NULL: as docs/windows.md says */
    hd_ring_policy policy; /* of a full ring */

    bool
        kernel; /* events of the system's kernel on all CPUs as well: scheduling, interrupts, jobs and fences of GPUs */

    bool no_symbolize; /* leave addresses in stacks as they are */
    bool keep;         /* keep the folder of the parts */
    bool wait_all;     /* wait for all descendants of the command, not for it alone. Children of the caller that it did
                          not make by this call are waited for as well: it is a subreaper meanwhile (prctl) */
    bool strict; /* an error, and no command, if nothing could be captured; else a message, and the command runs */
    bool sigpipe_ignored; /* the command gets SIGPIPE ignored; else with its default action, whatever the caller's is */

    hd_record_attach *attach; /* NULL: none */
    hd_record_detach *detach;
    hd_record_say *say;
    void *user;            /* of these three */
    unsigned threads;      /* to make the trace: 0: one per core */
    uint64_t memory_limit; /* likewise, as in hd_read_options */
    hd_progress *progress; /* likewise; units: bytes of the parts */
    void *progress_user;
} hd_record_options;

/* What a process could not capture, and what to do, in its tracer's words. */
typedef struct hd_record_problem {
    char *message;
    size_t processes; /* that said so */
} hd_record_problem;

/* Strings and lists belong to it. */
typedef struct hd_record_result {
    /* the command */
    bool started;
    bool without;    /* it ran, but could not be captured: the reason was printed, and is the error */
    int exit_status; /* as shells have it: the command's, 128 + signal; 127: not found, 126: cannot be executed */
    int64_t wall_ns; /* from start to end */
    int64_t cpu_ns;  /* user and system, of the command and the children it waited for */
    /* files */
    char *output, *parts;
    bool written;    /* output is there */
    bool parts_kept; /* parts is there */
    uint64_t output_bytes, parts_bytes;
    size_t processes;  /* in the trace */
    size_t captures;   /* files of theirs: a process has several where it calls execve */
    size_t unreadable; /* files that are not in the trace: cut within their header, not readable, or not ours */
    size_t damaged;    /* files that are in it as far as they could be read */
    size_t running;    /* processes that still wrote when the trace was made */
    /* what was captured */
    uint64_t events, kernels, copies, sets, launches; /* launches: calls that started GPU work, or were to */
    uint64_t annotations;                             /* ranges that the program named */
    uint64_t addresses_named, addresses_unnamed;      /* of stacks, distinct ones of each process */
    uint64_t lost;                                    /* events that were dropped or could not be kept, by the ledger */
    /* what it cost: sums of what each process measured (`heddle.capture`) */
    size_t measured; /* processes that did */
    uint64_t callbacks;
    int64_t callback_ns, helper_ns; /* in the program's threads, without NVTX; CPU time of the library's own. 0: not
                                       measured */
    hd_record_problem *problems;    /* each once; at most 64 */
    size_t problem_count;
    hd_convert_report *convert; /* steps and ledger; NULL: nothing was made a trace of */
} hd_record_result;

void hd_record_result_free(hd_record_result *result);

/* Run command[0], searched as execvp does, with its arguments (ends with NULL), and make the trace. What happened to
 * the command is in *out whatever is returned, and the caller frees it; NULL: nothing happened, for want of memory
 * or for an option that is not known. The returned error is that of recording. HD_OK with nothing written:
 * there was nothing to capture, which `say` reports. Errors: IO (the command cannot be started; folder, files);
 * ARGUMENT (no such format, no command); what hd_convert returns: then the parts are kept. */
hd_status hd_record_run(hd_record_result **out, const char *const *command, const hd_record_options *options,
                        hd_error *err);

/* Make the trace of the folder that a killed recording left, which is removed then unless `keep`. Output NULL: beside
 * it, as it would have been called. *out: as above. Errors: as above; ARGUMENT: no captures are there. */
hd_status hd_record_recover(hd_record_result **out, const char *parts, const hd_record_options *options, hd_error *err);

/* Where the injection library is: `path` if that is not NULL, else $HEDDLE_CUDA_LIBRARY, else next to the running
 * program (its build tree) or in ../lib/heddle of its folder. It must load in a process of this machine, as NVTX turns
 * silent in a program that cannot load it. The caller frees *out. Errors: IO (not found, does not load: the message
 * says why). */
hd_status hd_record_library(char **out, const char *path, hd_error *err);

#ifdef __cplusplus
}
#endif
#endif
