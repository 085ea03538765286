/* stack_subject.h - functions to take stacks in, compiled with frame pointers and without */
#ifndef HD_TESTS_CAPTURE_STACK_SUBJECT_H
#define HD_TESTS_CAPTURE_STACK_SUBJECT_H

#include <stddef.h>

/* A function that stays one. */
#if defined(__clang__)
#define STACK_APART __attribute__((noinline, used))
#else
#define STACK_APART __attribute__((noinline, noclone, used))
#endif

typedef void stack_take(void *user);

/* plain: a small frame. sized: of a size known at run time. aligned: more than the ABI promises. large: beyond what a
 * row holds. arguments: on the stack. Each calls `inner` if that is not NULL, and so on inwards; then `take`. */
#define STACK_SUBJECTS(name)                                                                                           \
    void plain_##name(stack_take *take, void *user);                                                                   \
    void sized_##name(size_t size, stack_take *take, void *user);                                                      \
    void aligned_##name(stack_take *take, void *user);                                                                 \
    void large_##name(stack_take *take, void *user);                                                                   \
    void arguments_##name(int a, int b, int c, int d, int e, int f, int g, int h, stack_take *take, void *user);       \
    void chain_##name(stack_take *take, void *user);                                                                   \
    void recursive_##name(unsigned depth, stack_take *take, void *user);                                               \
    void trapping_##name(void);                                                                                        \
    void cleaning_##name(stack_take *leave)

/* cleaning: leave() is called, and this as the function is left, by whatever way. */
void stack_subject_clean(int *unused);

STACK_SUBJECTS(pointers);
STACK_SUBJECTS(bare);

#endif
