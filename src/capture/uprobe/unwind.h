/* unwind.h - from registers and a copy of the stack to frames */
#ifndef HD_CAPTURE_UPROBE_UNWIND_H
#define HD_CAPTURE_UPROBE_UNWIND_H

#include "capture/uprobe/cfi.h"
#include "capture/uprobe/spaces.h"

enum { UPROBE_FRAMES_MAX = 256 };

typedef struct uprobe_stack_frame {
    uprobe_module *module; /* NULL: none, then the address is the process's */
    uint64_t address;      /* in the file's own addresses; of a call: the return address less 1 */
} uprobe_stack_frame;

typedef enum uprobe_end {
    UPROBE_END_WHOLE,
    UPROBE_END_CUT,    /* the copy of the stack, or UPROBE_FRAMES_MAX, ended before */
    UPROBE_END_BROKEN, /* neither tables nor frame pointers led on */
} uprobe_end;

typedef struct uprobe_stack {
    uprobe_stack_frame frames[UPROBE_FRAMES_MAX]; /* innermost first */
    uint32_t count;
    uprobe_end end;
} uprobe_stack;

/* `frame` is where the probe was hit: the first instruction of a function. It is modified. thread: for probed returns.
 * cache may be NULL. */
void uprobe_unwind(uprobe_stack *out, uprobe_cfi_cache *cache, uprobe_process *process, const uprobe_thread *thread,
                   uprobe_frame *frame, const uprobe_memory *memory);

/* The same for return addresses that the kernel found by frame pointers, innermost first, beginning with the function
 * itself. They omit the caller of a function that has no frame yet: `frame` and `memory` give that one. */
void uprobe_unwind_chain(uprobe_stack *out, uprobe_process *process, const uprobe_thread *thread,
                         const uprobe_frame *frame, const uprobe_memory *memory, const uint8_t *chain, uint64_t count);

/* The address that a function which was just entered returns to; 0: not in the copy. */
uint64_t uprobe_return_address(const uprobe_frame *frame, const uprobe_memory *memory);

#endif
