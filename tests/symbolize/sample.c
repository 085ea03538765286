/* sample.c - a library with functions inlined into each other, which knows where it was called from
 *
 * note() keeps the address that it returns to. Its callers are inlined, so that the address lies in sample_outer, and
 * the names of the others are known by DWARF alone. The lines are those of the calls.
 */
#include "symbolize/sample.h"

static sample_place places[SAMPLE_PLACES];
static int place_count;

__attribute__((noinline)) static void note(int inner_line, int middle_line, int outer_line)
{
    if (place_count < SAMPLE_PLACES)
        places[place_count++] = (sample_place){__builtin_return_address(0), {inner_line, middle_line, outer_line}};
    __asm__ volatile("" ::: "memory");
}

#define INLINED static inline __attribute__((always_inline))

INLINED void sample_inner(int middle_line, int outer_line)
{
    note(__LINE__, middle_line, outer_line);
    __asm__ volatile("nop"); /* no tail call */
}

INLINED void sample_middle(int outer_line)
{
    sample_inner(__LINE__, outer_line);
    sample_inner(__LINE__, outer_line);
}

__attribute__((noinline)) void sample_outer(void)
{
    note(0, 0, __LINE__);
    sample_middle(__LINE__);
    sample_middle(__LINE__);
    __asm__ volatile("nop");
}

int sample_list(const sample_place **out)
{
    place_count = 0;
    sample_outer();
    *out = places;
    return place_count;
}
