/* tasks.h - pieces of work that may run at the same time */
#ifndef HD_BASE_TASKS_H
#define HD_BASE_TASKS_H

#include <stddef.h>

#include "heddle/status.h"

typedef struct hd_task {
    hd_status (*run)(void *user, hd_error *err);
    void *user;
} hd_task;

/* Runs them with a thread per core, the first in the caller's; the others start in the order of the list, and none
 * after one has failed. Returns the status and error of the first of the list that failed. Errors: MEMORY. */
hd_status hd_tasks_run(const hd_task *tasks, size_t count, hd_error *err);

#endif
