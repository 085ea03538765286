/* stack_names.h - walks, with the names of their functions as the test's own symbols have them */
#ifndef HD_TESTS_CAPTURE_STACK_NAMES_H
#define HD_TESTS_CAPTURE_STACK_NAMES_H

#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "heddle/stack.h"

enum { FRAMES_MAX = 600 };

typedef struct frames {
    uint64_t at[FRAMES_MAX];
    uint32_t count;
    hd_stack_walked walked;
} frames;

/* "?" for functions that are not exported. Not in signal handlers. */
static inline const char *function_at(uint64_t pc)
{
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    if (!dladdr1((void *)(uintptr_t)pc, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol || !info.dli_sname)
        return "?";
    return pc - (uintptr_t)info.dli_saddr < symbol->st_size ? info.dli_sname : "?";
}

/* The names of frames from `first` on are these, ended by NULL. */
static inline void assert_names(const frames *f, uint32_t first, const char *const *names)
{
    for (uint32_t i = 0; names[i]; i++) {
        assert_true(first + i < f->count);
        assert_string_equal(function_at(f->at[first + i]), names[i]);
    }
}

/* The first frame of this name, or the count. */
static inline uint32_t frame_named(const frames *f, const char *name)
{
    uint32_t i = 0;
    while (i < f->count && strcmp(function_at(f->at[i]), name) != 0) i++;
    return i;
}

#endif
