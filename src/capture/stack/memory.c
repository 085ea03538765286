/* memory.c - determines the memory that a walk may read
 *
 * A walk that follows a wrong pointer must not fault. It reads only mapped parts of the stack that it runs on. The
 * upper end of a thread's own stack is known: libc puts the thread's descriptor (pthread_self) right above the stacks
 * that it makes or is given, and ld.so stores the start of the first thread's (__libc_stack_end). That all pages up to
 * there are mapped is probed once per page, and stays valid as long as the thread lives. Other stacks, of coroutines
 * and of signal handlers, may be unmapped at any time: their pages are probed in each walk.
 *
 * The probe is rt_sigprocmask with an invalid `how`: the kernel reads the set first, and fails with EFAULT if it
 * cannot, else with EINVAL. A tenth of a microsecond, no file, no lock, no signal.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/stack/impl.h"

enum {
    PAGE = 4096,    /* or a part of one */
    RED_ZONE = 128, /* below the stack pointer, which signals leave alone */
    OWN_MAX = 4096, /* pages probed at once: deeper stacks are probed in each walk */
};

/* Of ld.so; musl has none. */
extern void *__libc_stack_end __attribute__((weak));

static _Thread_local __attribute__((tls_model("initial-exec"))) struct {
    uintptr_t low, high; /* mapped; high is the upper end of the thread's own stack, 0: not looked for yet */
    uintptr_t gap;       /* other stacks are below it */
} here;

bool stack_readable(uintptr_t address, size_t size)
{
    int kept = errno;
    bool readable = true;
    uintptr_t last = address + size - 8;
    if (address < PAGE || last < address) return false;
    for (uintptr_t at = address; readable; at = at + PAGE < last ? at + PAGE : last) {
        readable = syscall(SYS_rt_sigprocmask, -1, at, NULL, 8) == -1 && errno == EINVAL;
        if (at == last) break;
    }
    errno = kept;
    return readable;
}

static uintptr_t own_end(void)
{
    if (syscall(SYS_gettid) != getpid()) return (uintptr_t)pthread_self() & ~(uintptr_t)7;
    return &__libc_stack_end ? (uintptr_t)__libc_stack_end & ~(uintptr_t)7 : 1;
}

/* Make `low` the page of sp, if all is mapped in between. */
static bool grow(uintptr_t sp)
{
    uintptr_t page = sp & ~(uintptr_t)(PAGE - 1), from = here.low ? here.low : here.high;
    if (sp >= here.high || sp < here.gap) return false;
    for (unsigned pages = 0; page < from; page += PAGE) {
        if (++pages <= OWN_MAX && stack_readable(page, 8)) continue;
        here.gap = page + PAGE;
        return false;
    }
    here.low = sp & ~(uintptr_t)(PAGE - 1);
    return true;
}

void stack_memory_at(stack_memory *out, uintptr_t sp)
{
    if (here.high == 0) here.high = own_end();
    out->foreign = sp < here.low || sp >= here.high || here.low == 0 ? !grow(sp) : false;
    /* A function about to return has popped values that the tables still describe. */
    out->low = (sp & (PAGE - 1)) >= RED_ZONE || stack_readable(sp - RED_ZONE, 8) ? sp - RED_ZONE : sp;
    out->high = out->foreign ? (sp & ~(uintptr_t)(PAGE - 1)) + PAGE : here.high;
}

bool stack_memory_extend(stack_memory *memory, uintptr_t address)
{
    if (!memory->foreign || address < memory->low || address & 7) return false;
    if (!stack_readable(address, 8)) return false;
    uintptr_t page = address & ~(uintptr_t)(PAGE - 1);
    if (page != memory->high) memory->low = page; /* the pages in between are unknown */
    memory->high = page + PAGE;
    return true;
}
