/* uprobe_library.c - the library whose calls are traced. It does nothing; a test double of a GPU's runtime is built
 * from the same file, with LAUNCH=cudaLaunchKernel */
#include <setjmp.h>
#include <unistd.h>

#include "uprobe_library.h"

#ifndef LAUNCH
#define LAUNCH launch_kernel
#endif

void LAUNCH(int value);
void __attribute__((noinline)) LAUNCH(int value)
{
    __asm__ volatile("" ::"r"(value) : "memory");
}

#ifndef ALONE
/* A runtime that calls its driver, through frames without frame pointers. */
static void __attribute__((noinline)) within(int value)
{
    volatile int kept[20] = {value};
    launch_kernel(kept[0]);
    __asm__ volatile("" ::: "memory");
}

void __attribute__((noinline)) launch_outer(int value)
{
    within(value);
    __asm__ volatile("" ::: "memory");
}

void __attribute__((noinline)) launch_slow(int microseconds)
{
    usleep((useconds_t)microseconds);
    __asm__ volatile("" ::: "memory");
}

/* Never returns. */
void __attribute__((noinline)) launch_jump(jmp_buf *where)
{
    longjmp(*where, 1);
}

/* Jumps to another one, which returns for both. */
void __attribute__((noinline)) launch_tail(int value)
{
    launch_kernel(value);
}

int not_a_function = 1;
#endif
