/* impl.h - the steps of a recording; for src/record only
 *
 * In: a command. Out: its captures, then one trace. Begin with record.c.
 */
#ifndef HD_RECORD_IMPL_H
#define HD_RECORD_IMPL_H

#include "heddle/capture/record.h"
#include "heddle/session.h"

#define RECORD_README "README"

typedef struct record_kernel record_kernel; /* kernel.h */
typedef struct record_live record_live;     /* live.c */

typedef struct recording {
    const hd_record_options *options;
    hd_record_result *result;
    hd_error *err;
    const char *const *command; /* NULL: of a folder that is there already */
    char *library;              /* NULL: nothing is injected */
    char **environment;         /* of the command; NULL: the caller's */
    record_live *live;          /* NULL: none */
    hd_error missing;           /* why the library is not injected although it was requested */
    bool without;               /* nothing can be captured: the command runs alone */
    bool left;                  /* a signal ended the wait for the command's descendants, which still run */
} recording;

/* Sends the user a message, if there is a callback. */
void record_say(const recording *r, const char *format, ...) HD_PRINTF(2, 3);

/* ---- library.c ---- */

/* As in `heddle record --check`: no program can be captured here by CUDA; prints the reason. */
bool record_cuda_missing(const recording *r);

/* ---- environment.c ---- */

/* The caller's environment with the variables that libheddle-cuda reads. library NULL: only those of the session. */
hd_status record_environment(char ***out, const hd_record_options *options, const char *library, const char *parts,
                             hd_error *err);
void record_environment_free(char **environment);
/* The environment's previous value, which this recording replaces; NULL: none. Borrowed. */
const char *record_environment_other(const char *library);

/* ---- command.c ---- */

/* Start, wait, pass signals on. Fills in started, exit_status, wall_ns, cpu_ns. Errors: IO if it cannot be started. */
hd_status record_command(recording *r);

/* ---- process.c ---- */

/* The same for a process that runs already, options->pid, by options->attach. */
hd_status record_running_process(recording *r);
char *record_name_of_process(int pid); /* NULL: no memory */

/* ---- parts.c ---- */

/* COMMAND-DATE.heddle, or a similar free name. NULL: no memory. */
char *record_output_name(const char *command);
hd_status record_parts_make(const recording *r, hd_error *err);
/* Removes the folder with our files: captures and the README. It stays if it has other files; then false. */
bool record_parts_remove(const char *parts);

typedef struct record_part {
    char *path;
    uint64_t bytes;
    int64_t start_ns;
    int64_t began_s; /* Unix time */
    uint32_t pid;    /* 0: not known */
    size_t process;  /* its number: captures of one pid are of one process */
    bool is_kernel;  /* of the system, and no process */
    bool full;       /* may have events: more than a header, or unknown */
} record_part;

typedef struct record_list {
    record_part *parts; /* the full ones first, by their start */
    size_t count, full, capacity;
    size_t processes; /* of the full ones */
} record_list;

/* The captures of a folder. Zero-initialise it. Errors: IO, MEMORY. */
hd_status record_list_read(record_list *list, const char *folder, hd_error *err);
void record_list_deinit(record_list *list);
/* Fill in who wrote which. Errors: MEMORY. */
hd_status record_list_number(record_list *list, hd_error *err);
/* How many of them a process has open. */
size_t record_list_running(const record_list *list);

/* ---- live.c ---- */

/* Receives what processes of the command share. NULL: not possible here. */
record_live *record_live_start(const recording *r);
/* Completes the captures of processes that have ended. */
void record_live_end(record_live *live);
/* With keep_last_ns: what is kept is written out soon. Any thread. NULL: nothing happens. */
void record_live_request(record_live *live, hd_session_message why);

/* ---- keep.c ---- */

/* OUT.heddle, 2 -> OUT.2.heddle. NULL: no memory. */
char *record_numbered(const char *output, unsigned number);
/* Removes captures of processes that ended too long ago. Returns how many. */
size_t record_remove_old(const recording *r);
/* What all processes have kept until now, as a folder of captures like that of a recording; its name, NULL: no memory,
 * or nothing could be copied, which was said. */
char *record_snapshot(const recording *r, unsigned *number);
/* The trace of such a folder, which is then removed. */
void record_write_out(const recording *r, const char *folder, unsigned number, hd_session_message why);

/* ---- collect.c ---- */

/* result->parts becomes result->output. */
hd_status record_collect(recording *r);
/* Adds up the conversion's statistics of the whole trace. */
void record_sum_up(hd_record_result *result);

/* ---- tool.c ---- */

/* The same as all other steps together, by options->tool. */
hd_status record_with_tool(recording *r);

/* ---- count.c ---- */

enum { RECORD_PROBLEMS = 64 };

/* Data from earlier captures of the process. */
typedef struct record_process {
    bool is_counted, is_measured, has[RECORD_PROBLEMS];
} record_process;

/* A capture that the recording process wrote, of calls of all processes. */
bool record_is_of_uprobes(const hd_trace *trace);
/* Adds a capture's statistics of its process and of the capture's cost to the result. */
hd_status record_count(hd_record_result *result, record_process *process, const hd_trace *trace, hd_error *err);

#endif
