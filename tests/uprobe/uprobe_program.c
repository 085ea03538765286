/* uprobe_program.c - the program that is traced: calls of the library by known ways, so many times
 *
 *     uprobe_program run THREADS CHILDREN CALLS     each thread of each process: main or begin, then way_one and
 * way_two by turns, CALLS each. Children are forked and have as many threads uprobe_program exec THREADS CHILDREN CALLS
 * the same behind an execve uprobe_program nested | slow | jump | tail CALLS uprobe_program load LIBRARY SYMBOL CALLS
 * dlopen, wait, call uprobe_program wait CALLS                     calls once there is a line on standard input
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "uprobe_library.h"

#define NOINLINE __attribute__((noinline))
#define HERE __asm__ volatile("" ::: "memory") /* so that no call is the last of its function */

typedef struct plan {
    int threads, children, calls;
} plan;

static NOINLINE void deeper(int value, int more)
{
    char room[200];
    __asm__ volatile("" ::"r"(room) : "memory");
    if (more)
        deeper(value, more - 1);
    else
        launch_kernel(value);
    HERE;
}

static NOINLINE void way_one(int value)
{
    launch_kernel(value);
    HERE;
}

static NOINLINE void way_two(int value)
{
    deeper(value, 3);
    HERE;
}

static NOINLINE void *begin(void *argument)
{
    const plan *p = argument;
    for (int i = 0; i < p->calls; i++) {
        way_one(i);
        way_two(i);
    }
    HERE;
    return NULL;
}

static NOINLINE int process(plan *p)
{
    pthread_t *threads = calloc((size_t)p->threads + 1, sizeof *threads);
    int failed = !threads;
    for (int i = 0; i < p->threads && !failed; i++) failed = pthread_create(&threads[i], NULL, begin, p);
    begin(p);
    for (int i = 0; i < p->threads && !failed; i++) pthread_join(threads[i], NULL);
    free(threads);
    HERE;
    return failed;
}

static int run(plan *p)
{
    int failed = 0, status;
    for (int i = 0; i < p->children; i++) {
        pid_t child = fork();
        if (child == 0) _exit(process(p));
        failed |= child < 0;
    }
    failed |= process(p);
    for (int i = 0; i < p->children; i++) failed |= wait(&status) < 0 || status != 0;
    return failed;
}

static int jump(int calls)
{
    for (volatile int i = 0; i < calls; i++) {
        jmp_buf here;
        if (!setjmp(here)) launch_jump(&here);
        launch_kernel(i);
    }
    return 0;
}

static int load(const char *library, const char *symbol, int calls)
{
    void *handle = dlopen(library, RTLD_NOW);
    void (*call)(int) = NULL;
    if (handle) *(void **)&call = dlsym(handle, symbol);
    if (!call) return 1;
    getchar(); /* until the tracer has found it */
    for (int i = 0; i < calls; i++) call(i);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    plan p = {argc > 2 ? atoi(argv[2]) : 0, argc > 3 ? atoi(argv[3]) : 0, argc > 4 ? atoi(argv[4]) : 0};
    int calls = argc > 2 ? atoi(argv[2]) : 0;
    if (strcmp(what, "run") == 0) return run(&p);
    if (strcmp(what, "exec") == 0) return execl(argv[0], argv[0], "run", argv[2], argv[3], argv[4], (char *)NULL);
    if (strcmp(what, "jump") == 0) return jump(calls);
    if (strcmp(what, "load") == 0 && argc > 4) return load(argv[2], argv[3], atoi(argv[4]));
    if (strcmp(what, "wait") == 0) getchar();
    for (int i = 0; i < calls; i++) {
        if (strcmp(what, "slowly") == 0) {
            usleep((useconds_t)(i * 37 % 1000));
            way_one(i);
            usleep((useconds_t)(i * 91 % 700));
            way_two(i);
        }
        if (strcmp(what, "nested") == 0) launch_outer(i);
        if (strcmp(what, "slow") == 0) launch_slow(2000);
        if (strcmp(what, "tail") == 0) launch_tail(i);
        if (strcmp(what, "wait") == 0) launch_kernel(i);
    }
    return 0;
}
