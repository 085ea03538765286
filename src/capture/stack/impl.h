/* impl.h - the parts of taking a stack
 *
 *     pc ──> cfi.c ──> row ──> rows.c (kept) ──> walk.c ──> addresses ──> take.c ──> id
 *                                                          python.c ──> names ──────────┘
 *
 * cfi.c      the .eh_frame rules of an address, as a row
 * rows.c     rows by address: a lock-free table; finds unwind tables, and handles code without them
 * memory.c   memory that may be read
 * walk.c     walks from frame to frame
 * python.c   the interpreter's frames, between the native ones
 * take.c     per-thread state: ids of stacks seen before, counts
 * modules.c  mapped modules, for the session
 *
 * Begin with take.c.
 */
#ifndef HD_CAPTURE_STACK_IMPL_H
#define HD_CAPTURE_STACK_IMPL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "heddle/stack.h"

#define STACK_HIDDEN __attribute__((visibility("hidden")))
/* Functions that read stacks read memory that sanitizers guard. */
#define STACK_RAW __attribute__((no_sanitize("address"), no_sanitize("thread"), no_sanitize("undefined")))

#if defined(__x86_64__) || defined(__aarch64__)
#define STACK_SUPPORTED 1
#else
#define STACK_SUPPORTED 0
#endif

/* ---- rows ---- */

typedef enum stack_row_kind {
    STACK_ROW_STEP = 1, /* the caller follows from the rules of the row */
    STACK_ROW_END,      /* the outermost function */
    STACK_ROW_SIGNAL,   /* the kernel called a signal handler here: registers are in its frame */
    STACK_ROW_GUESS,    /* no table knows this code: by the frame pointer */
    STACK_ROW_HARD,     /* rules that need more registers than a walk has */
    STACK_ROW_NO_CODE   /* nothing is there */
} stack_row_kind;

/* The canonical frame address (CFA): the stack pointer before the call. */
typedef enum stack_cfa { STACK_CFA_SP, STACK_CFA_FP, STACK_CFA_AT_FP, STACK_CFA_AT_SP } stack_cfa;

/* Where the caller's frame pointer is. */
typedef enum stack_fp { STACK_FP_SAME, STACK_FP_AT_CFA, STACK_FP_AT_FP } stack_fp;

typedef struct stack_row {
    stack_row_kind kind;
    stack_cfa cfa;
    stack_fp fp;
    bool ra_in_register;          /* aarch64: the return address is still in the link register */
    int32_t cfa_offset;           /* from SP or FP; AT: of the place it is loaded from */
    int32_t cfa_after;            /* added to the loaded value */
    int32_t fp_offset, ra_offset; /* of their places; from the CFA, or from FP */
} stack_row;

/* The tables of one module. Bytes outside of `low` to `high` are not read. */
typedef struct stack_tables {
    const uint8_t *low, *high;
    const uint8_t *header; /* .eh_frame_hdr */
} stack_tables;

/* The rules of the tables for `pc`: false if there are none. */
STACK_HIDDEN bool stack_cfi_row(stack_row *out, const stack_tables *tables, uint64_t pc);
/* The same from the description of one function. */
STACK_HIDDEN bool stack_cfi_row_of(stack_row *out, uint64_t fde, const stack_tables *tables, uint64_t pc);

/* Cached rows: words, each with a tag that identifies its address within its set, then the row in STACK_ROW_BITS. See
 * rows.c. */
enum {
    STACK_SET_BITS = 14,
    STACK_WAYS = 4,
    STACK_TAG_BITS = 48 - STACK_SET_BITS,
    STACK_ROW_BITS = 64 - STACK_TAG_BITS
};
typedef struct stack_table {
    _Alignas(64) atomic_uint_least64_t words[1 << STACK_SET_BITS][STACK_WAYS];
    atomic_uint generation;
} stack_table;
extern stack_table stack_rows STACK_HIDDEN;

static inline uint64_t stack_hash(uint64_t pc)
{
    return pc * UINT64_C(0x9e3779b97f4b) << (64 - 48) >> (64 - 48);
}

/* The row of `pc` in bits, 0: not cached. */
static inline uint64_t stack_row_bits(uint64_t pc)
{
    uint64_t hash = stack_hash(pc), tag = hash & ((UINT64_C(1) << STACK_TAG_BITS) - 1);
    atomic_uint_least64_t *set = stack_rows.words[hash >> STACK_TAG_BITS];
    for (int way = 0; way < STACK_WAYS; way++) {
        uint64_t word = atomic_load_explicit(&set[way], memory_order_relaxed);
        if (__builtin_expect(word >> STACK_ROW_BITS == tag, 1) && pc >> 48 == 0)
            return word & ((UINT64_C(1) << STACK_ROW_BITS) - 1);
    }
    return 0;
}

/* From the lowest bit: kind 3, frame pointer's offset 7 and CFA's 14 in units of 8 bytes, return address in register 1,
 * frame pointer 2, CFA 2. */
enum { STACK_FP_AT = 3, STACK_FP_BITS = 7, STACK_CFA_AT = 10, STACK_CFA_BITS = 14, STACK_OFFSET_UNIT = 8 };

static inline int32_t stack_signed_bits(uint64_t row, unsigned at, unsigned bits)
{
    return (int32_t)((int64_t)(row << (64 - at - bits)) >> (64 - bits)) * STACK_OFFSET_UNIT;
}

/* Where the return address is, in rows that have bits. */
static inline int32_t stack_usual_ra(stack_fp fp, int32_t fp_offset)
{
#if defined(__aarch64__)
    return fp == STACK_FP_AT_CFA ? fp_offset + 8 : -8;
#else
    (void)fp, (void)fp_offset;
    return -8;
#endif
}

static inline stack_row stack_row_of_bits(uint64_t row)
{
    stack_row out = {.kind = (stack_row_kind)(row & 7),
                     .cfa = (stack_cfa)(row >> 27 & 3),
                     .fp = (stack_fp)(row >> 25 & 3),
                     .ra_in_register = row >> 24 & 1,
                     .cfa_offset = stack_signed_bits(row, STACK_CFA_AT, STACK_CFA_BITS),
                     .fp_offset = stack_signed_bits(row, STACK_FP_AT, STACK_FP_BITS)};
    out.ra_offset = stack_usual_ra(out.fp, out.fp_offset);
    return out;
}

/* Computes the row of an uncached address, and caches it if it fits in bits. */
STACK_HIDDEN stack_row stack_row_learn(uint64_t pc);
STACK_HIDDEN void stack_rows_forget(void);

/* ---- memory ---- */

/* The memory that a walk may read: [low, high). If the stack is not the thread's own, pages are probed. */
typedef struct stack_memory {
    uintptr_t low, high;
    bool foreign;
} stack_memory;

STACK_HIDDEN void stack_memory_at(stack_memory *out, uintptr_t sp);
/* Whether 8 bytes may be read. */
STACK_HIDDEN bool stack_memory_extend(stack_memory *memory, uintptr_t address);
STACK_HIDDEN bool stack_readable(uintptr_t address, size_t size);

static inline bool stack_memory_has(stack_memory *memory, uintptr_t address)
{
    if (__builtin_expect(address >= memory->low && address <= memory->high - 8 && !(address & 7), 1)) return true;
    return stack_memory_extend(memory, address);
}

/* ---- walks ---- */

typedef struct stack_result {
    uint32_t count;
    hd_stack_walked walked;
    bool learned; /* met code for the first time */
} stack_result;

/* The frames outside of the one that `anchor` points into, without the `skip` innermost of these. `bounds`, unless
 * NULL, gets the stack pointer at the outer end of each. */
STACK_HIDDEN stack_result stack_walk(uint64_t *out, uint64_t *bounds, uint32_t capacity, unsigned skip,
                                     const void *anchor);

/* ---- what a thread keeps ---- */

enum {
    STACK_SLOTS = 1024,           /* stacks that a thread knows */
    STACK_SLOT_WORDS = 24 * 1024, /* frames of all of them */
    STACK_NAMES = 1024,           /* cached places in Python code */
};

typedef struct stack_slot {
    uint64_t hash;
    uint32_t id, count; /* 0: free */
    uint32_t at;        /* in words */
} stack_slot;

/* A place in Python code. `check` identifies the code's name, since its memory may be reused. */
typedef struct stack_name {
    uint64_t code, place, check;
    uint32_t id;
} stack_name;

/* The end of a run of Python functions, innermost first: their native frame contains `mark`. */
typedef struct stack_run {
    uint64_t mark;
    uint32_t end; /* in stack_thread.python */
} stack_run;

typedef enum stack_count {
    STACK_TAKEN,
    STACK_CACHED,
    STACK_TRUNCATED,
    STACK_BROKEN,
    STACK_GUESSED,
    STACK_PYTHON,
    STACK_FAILED,
    STACK_COUNTS
} stack_count;

typedef struct stack_thread {
    struct stack_thread *next; /* threads are added, never removed */
    atomic_int used;           /* by a thread */
    bool busy;
    uint32_t serial; /* of the session of these ids */
    atomic_uint_least64_t counts[STACK_COUNTS];
    uint32_t words_used;
    uint64_t frames[HD_SESSION_STACK_MAX], bounds[HD_SESSION_STACK_MAX], merged[HD_SESSION_STACK_MAX];
    uint64_t python[HD_SESSION_STACK_MAX];
    stack_run runs[HD_SESSION_STACK_MAX];
    stack_slot slots[STACK_SLOTS];
    stack_name names[STACK_NAMES];
    uint64_t words[STACK_SLOT_WORDS];
} stack_thread;

/* python.c: inserts the interpreter's frames between the `count` frames of t->frames, into t->merged; returns their
 * number, 0: no Python frames. `truncated` is set if there was no room for all. */
STACK_HIDDEN uint32_t stack_python_merge(stack_thread *t, hd_session *session, uint32_t count, bool *truncated);
/* Look for an interpreter. When modules are new. */
STACK_HIDDEN void stack_python_find(void);
STACK_HIDDEN bool stack_python_unsupported(void);

/* take.c: in a child of fork; other threads do not exist here. */
STACK_HIDDEN void stack_forked(void);

/* modules.c: dl_iterate_phdr, which none of our threads is in while somebody forks. */
struct dl_phdr_info;
STACK_HIDDEN int stack_objects(int (*each)(struct dl_phdr_info *info, size_t size, void *user), void *user);
STACK_HIDDEN void stack_modules_fork(int phase); /* -1: before; 0: in the parent; 1: in the child */

#endif
