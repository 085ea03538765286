/* cfi.h - the unwind tables of a file (.eh_frame): from the registers of a frame to those of its caller
 *
 * Format   see base/unwind/cfi.h, which parses them
 * Limits   16 remembered rows, 64 operations of an expression
 */
#ifndef HD_CAPTURE_UPROBE_CFI_H
#define HD_CAPTURE_UPROBE_CFI_H

#include "capture/uprobe/elf.h"

/* DWARF's numbers of registers; higher ones (vectors) are never needed for the caller. */
#if defined(__aarch64__)
enum { UPROBE_REGISTERS = 32, UPROBE_FRAME_POINTER = 29, UPROBE_STACK_POINTER = 31, UPROBE_RETURN = 30 };
#else
enum { UPROBE_REGISTERS = 17, UPROBE_FRAME_POINTER = 6, UPROBE_STACK_POINTER = 7, UPROBE_RETURN = 16 };
#endif

/* A copy of a piece of a thread's stack. */
typedef struct uprobe_memory {
    const uint8_t *data;
    uint64_t address, size;
} uprobe_memory;

typedef struct uprobe_frame {
    uint64_t pc;
    uint64_t at[UPROBE_REGISTERS];
    uint64_t known;      /* a bit for each of at */
    bool is_interrupted; /* pc is the next instruction, not a return address: the innermost frame, and those below
                            signals */
} uprobe_frame;

typedef enum uprobe_step {
    UPROBE_STEP_OK,
    UPROBE_STEP_END,    /* the outermost frame */
    UPROBE_STEP_NONE,   /* no table covers this address */
    UPROBE_STEP_BEYOND, /* needs memory beyond the copy */
    UPROBE_STEP_BAD,    /* the table is invalid, or needs an unknown value */
} uprobe_step;

/* false: not in the copy. */
bool uprobe_memory_get(const uprobe_memory *memory, uint64_t address, uint64_t *out);

/* A cache of rules: a program's stacks go through few places. Used by one thread. */
typedef struct uprobe_cfi_cache uprobe_cfi_cache;
uprobe_cfi_cache *uprobe_cfi_cache_new(void); /* NULL: no memory */
void uprobe_cfi_cache_free(uprobe_cfi_cache *cache);

/* `frame` becomes its caller's. `pc`: frame->pc as an address of the file. cache: NULL is none; otherwise the file
 * stays open as long as the cache is used. */
uprobe_step uprobe_cfi_step(uprobe_cfi_cache *cache, const uprobe_elf *elf, uint64_t pc, uprobe_frame *frame,
                            const uprobe_memory *memory);

#endif
