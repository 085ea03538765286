/* thread.c - runs the same work, or different tasks, in several threads */
#include "base/thread.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/system.h"

typedef struct thread_call {
    void (*work)(void *state);
    void *state;
    pthread_t thread;
    bool started;
} thread_call;

static void *call(void *argument)
{
    thread_call *c = argument;
    c->work(c->state);
    return NULL;
}

void hd_threads_run(void (*work)(void *state), void *states, size_t size, unsigned count)
{
    thread_call calls[HD_THREAD_LIMIT];
    if (count > HD_THREAD_LIMIT) count = HD_THREAD_LIMIT;
    for (unsigned i = 0; i < count; i++) {
        calls[i] = (thread_call){.work = work, .state = (char *)states + i * size};
        calls[i].started = i > 0 && hd_thread_start(&calls[i].thread, call, &calls[i]) == 0;
    }
    for (unsigned i = 0; i < count; i++) {
        if (!calls[i].started) work(calls[i].state);
    }
    for (unsigned i = 0; i < count; i++) {
        if (calls[i].started) pthread_join(calls[i].thread, NULL);
    }
}

unsigned hd_thread_count(unsigned wanted, size_t pieces)
{
    if (pieces <= 1) return 1;
    unsigned count = wanted ? wanted : hd_core_count();
    if (count > HD_THREAD_LIMIT) count = HD_THREAD_LIMIT;
    return pieces < count ? (unsigned)pieces : count;
}

/* ---- tasks ---- */

typedef struct task_end {
    hd_status status;
    hd_error error;
} task_end;

typedef struct task_list {
    const hd_task *tasks;
    task_end *ends; /* by task */
    size_t count;
    atomic_size_t next; /* the first is the caller's */
    atomic_bool has_failed;
} task_list;

typedef struct task_thread {
    task_list *list;
    bool is_callers;
} task_thread;

static void run_task(task_list *list, size_t index)
{
    task_end *end = &list->ends[index];
    end->status = list->tasks[index].run(list->tasks[index].user, &end->error);
    if (end->status != HD_OK) list->has_failed = true;
}

static void run_some(void *state)
{
    const task_thread *thread = state;
    task_list *list = thread->list;
    if (thread->is_callers) run_task(list, 0);
    for (size_t i; !list->has_failed && (i = atomic_fetch_add(&list->next, 1)) < list->count;) run_task(list, i);
}

hd_status hd_tasks_run(const hd_task *tasks, size_t count, hd_error *err)
{
    task_thread threads[HD_THREAD_LIMIT];
    task_list list = {.tasks = tasks, .ends = calloc(count + 1, sizeof *list.ends), .count = count, .next = 1};
    hd_status status = list.ends ? HD_OK : HD_NOMEM(err);
    if (!count || status != HD_OK) {
        free(list.ends);
        return status;
    }
    for (unsigned i = 0; i < HD_THREAD_LIMIT; i++) threads[i] = (task_thread){&list, i == 0};
    hd_threads_run(run_some, threads, sizeof *threads, hd_thread_count(0, count));
    for (size_t i = 0; i < count && status == HD_OK; i++) {
        status = list.ends[i].status;
        if (status != HD_OK && err && err->status == HD_OK) *err = list.ends[i].error;
    }
    free(list.ends);
    return status;
}
