/* uprobe_run.h - run the test's program with probes, and look at what comes back */
#ifndef HD_TESTS_UPROBE_RUN_H
#define HD_TESTS_UPROBE_RUN_H

#include <fcntl.h>
#include <sys/wait.h>

#include "capture/session_support.h"
#include "heddle/capture/uprobe.h"
#include "heddle/stacks.h"

typedef struct uprobe_run {
    const char *spec;
    hd_uprobe_options options;
    const char *const *command;
    hd_uprobe_stats stats;
    hd_status status; /* of start */
    hd_error err;
    int exit_status; /* as waitpid has it */
} uprobe_run;

/* Do tests of this machine's own uprobes make sense? Says why not. */
static inline bool uprobes_work(void)
{
    hd_error err = {0};
    if (hd_uprobe_check(&err) == HD_OK) return true;
    print_message("skipped: %s\n", err.message);
    return false;
}

static inline pid_t start_waiting(const char *const *command, int *out_go)
{
    int go[2];
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        close(go[1]);
        if (read(go[0], &byte, 1) < 0) _exit(126);
        execv(command[0], (char *const *)(uintptr_t)command);
        _exit(127);
    }
    close(go[0]);
    *out_go = go[1];
    return pid;
}

/* The program runs whatever happens to the tracer. */
static inline void run_with_probes(uprobe_run *run)
{
    hd_uprobe_plan *plan;
    hd_uprobe *tracer = NULL;
    int go;
    assert_int_equal(hd_uprobe_plan_new(&plan, run->command, &run->err), HD_OK);
    if (hd_uprobe_plan_add(plan, run->spec, &run->err) != HD_OK) fail_msg("%s: %s", run->err.path, run->err.message);
    pid_t pid = start_waiting(run->command, &go);
    run->status = hd_uprobe_start(&tracer, plan, pid, &run->options, &run->err);
    close(go);
    assert_int_equal(waitpid(pid, &run->exit_status, 0), pid);
    if (tracer) assert_int_equal(hd_uprobe_stop(&run->stats, tracer, &run->err), HD_OK);
    hd_uprobe_free(tracer);
    hd_uprobe_plan_free(plan);
}

/* Lines of folded text whose frames are `frames`, or end so (behind a ';'); NULL: all lines. */
static inline uint64_t lines_with(const char *path, const char *frames)
{
    char *line = NULL;
    size_t room = 0, count = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (ssize_t size; (size = getline(&line, &room, file)) > 0;) {
        line[size - 1] = 0;
        size_t wanted = frames ? strlen(frames) : 0;
        count += !frames || ((size_t)size > wanted + 1 && strcmp(line + size - 1 - wanted, frames) == 0 &&
                             strchr(" ;", line[size - 2 - wanted]));
    }
    free(line);
    fclose(file);
    return count;
}

#endif
