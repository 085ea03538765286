/* quiet_fork.h - fork in a process that has threads of ours, in tests that AddressSanitizer may be in
 *
 * Before that of clang 18, and so in gcc 12, its allocator takes no locks over a fork, as malloc does: a child that was
 * made while another thread allocated may wait for ever when it allocates itself, above all right after a thread was
 * started.
 */
#ifndef HD_TESTS_QUIET_FORK_H
#define HD_TESTS_QUIET_FORK_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* 'S': it sleeps. 0: there is no such thread. */
static inline char hd_test_thread_state(const char *tid)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", tid);
    FILE *file = fopen(path, "r");
    size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    text[size] = 0;
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[1] ? name_end[2] : 0;
}

static inline bool hd_test_others_sleep(void)
{
    bool all = true;
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *task; tasks && (task = readdir(tasks));) {
        if (task->d_name[0] == '.' || atol(task->d_name) == (long)gettid()) continue;
        char state = hd_test_thread_state(task->d_name);
        all = all && (state == 'S' || state == 0);
    }
    if (tasks) closedir(tasks);
    return all;
}

/* Under AddressSanitizer once all other threads sleep, or 10 s have passed; else at once. */
static inline pid_t hd_test_fork(void)
{
#if defined(__SANITIZE_ADDRESS__)
    const struct timespec pause = {0, 1000000};
    for (int looks = 0; looks < 10000 && !hd_test_others_sleep(); looks++) nanosleep(&pause, NULL);
#endif
    return fork();
}

#endif
