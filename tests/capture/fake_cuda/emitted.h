/* emitted.h - what a program and its children have emitted, counted by themselves in $FAKE_APP_COUNTS, a file of four
 * 64-bit numbers that is shared by all and outlives them: kernels begun and done, ranges begun and done. What other
 * threads still do while a process runs its exit handlers counts as begun, and not as done
 */
#ifndef HEDDLE_TESTS_EMITTED_H
#define HEDDLE_TESTS_EMITTED_H

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct emitted {
    atomic_ullong begun, done;
} emitted;

enum { EMITTED_KERNELS, EMITTED_RANGES, EMITTED_KINDS };

static atomic_bool emitted_is_over;
static emitted emitted_here[EMITTED_KINDS], *emitted_all = emitted_here;

static void emitted_open(void)
{
    const char *path = getenv("FAKE_APP_COUNTS");
    int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd < 0) return;
    void *memory = ftruncate(fd, sizeof emitted_here) == 0
                       ? mmap(NULL, sizeof emitted_here, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                       : MAP_FAILED;
    if (memory == MAP_FAILED) abort();
    emitted_all = memory;
    close(fd);
}

static inline void emitted_begin(int kind, unsigned count)
{
    atomic_fetch_add(&emitted_all[kind].begun, count);
}

static inline void emitted_end(int kind, unsigned count)
{
    if (!atomic_load(&emitted_is_over)) atomic_fetch_add(&emitted_all[kind].done, count);
}

#endif
