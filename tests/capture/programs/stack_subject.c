/* stack_subject.c - see stack_subject.h; SUBJECT is the end of the names */
#include "capture/programs/stack_subject.h"

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define NAMED(name) JOIN(name, SUBJECT)
#define APART STACK_APART

/* Nothing is moved over it: a call before it is no tail call. */
#define KEEP(p) __asm__ volatile("" : : "r"(p) : "memory")

APART void NAMED(plain)(stack_take *take, void *user)
{
    int here = 1;
    KEEP(&here);
    take(user);
    KEEP(&here);
}

APART void NAMED(sized)(size_t size, stack_take *take, void *user)
{
    char *room = __builtin_alloca(size);
    KEEP(room);
    NAMED(plain)(take, user);
    KEEP(room);
}

APART void NAMED(aligned)(stack_take *take, void *user)
{
    _Alignas(128) char room[256];
    KEEP(room);
    NAMED(sized)(300, take, user);
    KEEP(room);
}

APART void NAMED(large)(stack_take *take, void *user)
{
    char room[300000];
    KEEP(room);
    NAMED(aligned)(take, user);
    KEEP(room);
}

APART void NAMED(arguments)(int a, int b, int c, int d, int e, int f, int g, int h, stack_take *take, void *user)
{
    int sum = a + b + c + d + e + f + g + h;
    KEEP(&sum);
    NAMED(large)(take, user);
    KEEP(&sum);
}

APART void NAMED(chain)(stack_take *take, void *user)
{
    int here = 1;
    NAMED(arguments)(1, 2, 3, 4, 5, 6, 7, 8, take, user);
    KEEP(&here);
}

APART void NAMED(recursive)(unsigned depth, stack_take *take, void *user)
{
    int here = 1;
    if (depth)
        NAMED(recursive)(depth - 1, take, user);
    else
        take(user);
    KEEP(&here);
}

APART void NAMED(trapping)(void)
{
#if defined(__aarch64__)
    __asm__ volatile("udf #0");
#else
    __asm__ volatile("ud2");
#endif
}

APART void NAMED(cleaning)(stack_take *leave)
{
    int here __attribute__((cleanup(stack_subject_clean)));
    here = 1;
    leave(NULL);
    KEEP(&here);
}
