/* walk.c - walks from frame to frame, by rows
 *
 * Each step must lead outwards: the stack pointer grows, except for the step from a signal handler to the interrupted
 * code, which may be on another stack. If it does not grow, if an address is not mapped, or if the code is unknown, the
 * walk ends: the frames so far are right.
 */
#include <ucontext.h>

#include "capture/stack/impl.h"

typedef struct registers {
    uint64_t pc, sp, fp, lr; /* pc: of the call, for a frame that made one */
} registers;

#if STACK_SUPPORTED
typedef struct walker {
    registers at;
    stack_memory memory;
    bool guessed, no_code; /* in the last step */
} walker;

static inline STACK_RAW bool load(uint64_t *out, walker *w, uint64_t address)
{
    if (!stack_memory_has(&w->memory, address)) return false;
    *out = *(const volatile uint64_t *)(uintptr_t)address;
    return true;
}

static inline uint64_t without_signature(uint64_t address)
{
#if defined(__aarch64__)
    register uint64_t x30 __asm__("x30") = address;
    __asm__("xpaclri" : "+r"(x30)); /* a hint: nothing where addresses are not signed */
    return x30;
#else
    return address;
#endif
}

/* The caller's frame begins at `cfa`, and goes on at `ra`. */
static inline bool leave_to(walker *w, uint64_t cfa, uint64_t ra, uint64_t fp)
{
    w->at = (registers){.pc = without_signature(ra) - 1, .sp = cfa, .fp = fp};
    return true;
}

static inline STACK_RAW bool step(walker *w, const stack_row *row)
{
    uint64_t cfa, ra, fp = w->at.fp;
    switch (row->cfa) {
    case STACK_CFA_SP: cfa = w->at.sp + (uint64_t)(int64_t)row->cfa_offset; break;
    case STACK_CFA_FP: cfa = w->at.fp + (uint64_t)(int64_t)row->cfa_offset; break;
    default:
        if (!load(&cfa, w, (row->cfa == STACK_CFA_AT_FP ? w->at.fp : w->at.sp) + (uint64_t)(int64_t)row->cfa_offset))
            return false;
        cfa += (uint64_t)(int64_t)row->cfa_after;
    }
    if (cfa < w->at.sp || (cfa == w->at.sp && !row->ra_in_register)) return false;
    if (row->ra_in_register) {
        ra = w->at.lr; /* 0 unless a signal interrupted the function */
    } else if (!load(&ra, w, cfa + (uint64_t)(int64_t)row->ra_offset)) {
        return false;
    }
    if (row->fp == STACK_FP_AT_CFA) {
        if (!load(&fp, w, cfa + (uint64_t)(int64_t)row->fp_offset)) return false;
    } else if (row->fp == STACK_FP_AT_FP) {
        if (!load(&fp, w, w->at.fp + (uint64_t)(int64_t)row->fp_offset)) return false;
    }
    return leave_to(w, cfa, ra, fp);
}

static STACK_RAW bool step_by_pointer(walker *w)
{
    uint64_t fp, ra, at = w->at.fp;
    w->guessed = true;
    if (at < w->at.sp || !load(&fp, w, at) || !load(&ra, w, at + 8)) return false;
    return leave_to(w, at + 16, ra, fp);
}

/* The kernel's frame of a signal: it contains the registers of the interrupted code. */
static STACK_RAW bool step_over_signal(walker *w)
{
#if defined(__x86_64__)
    uint64_t context = w->at.sp + offsetof(ucontext_t, uc_mcontext.gregs);
    uint64_t pc_at = context + 8 * REG_RIP, sp_at = context + 8 * REG_RSP, fp_at = context + 8 * REG_RBP, lr_at = pc_at;
#else
    enum { SIGINFO_BYTES = 128 };
    uint64_t context = w->at.sp + SIGINFO_BYTES + offsetof(ucontext_t, uc_mcontext);
    uint64_t pc_at = context + offsetof(mcontext_t, pc), sp_at = context + offsetof(mcontext_t, sp);
    uint64_t fp_at = context + offsetof(mcontext_t, regs) + 8 * 29,
             lr_at = context + offsetof(mcontext_t, regs) + 8 * 30;
#endif
    registers next;
    if (!load(&next.pc, w, pc_at) || !load(&next.sp, w, sp_at) || !load(&next.fp, w, fp_at) ||
        !load(&next.lr, w, lr_at))
        return false;
    if (next.sp & 7 || !stack_readable(next.sp, 8)) return false;
    w->at = next;
    stack_memory_at(&w->memory, next.sp);
    return true;
}

static inline __attribute__((always_inline)) registers registers_here(void)
{
    registers out = {0};
#if defined(__x86_64__)
    __asm__ volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2"
                     : "=&r"(out.pc), "=&r"(out.sp), "=&r"(out.fp));
#else
    __asm__ volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29" : "=&r"(out.pc), "=&r"(out.sp), "=&r"(out.fp));
#endif
    return out;
}

/* One step outwards: 0 to continue, or the reason for the end of the walk. */
static inline STACK_RAW int step_out(walker *w, const stack_row *row)
{
    bool found = false;
    switch (row->kind) {
    case STACK_ROW_STEP: found = step(w, row); break;
    case STACK_ROW_GUESS:
        if (w->at.fp == 0) return HD_STACK_WHOLE; /* as the outermost function has it by the ABI */
        found = step_by_pointer(w);
        break;
    case STACK_ROW_SIGNAL: found = step_over_signal(w); break;
    case STACK_ROW_END: return HD_STACK_WHOLE;
    default: break;
    }
    return found ? 0 : HD_STACK_BROKEN;
}

/* The steps that most code has: from SP or FP, with the frame pointer untouched or saved. False: nothing was done. */
static inline __attribute__((always_inline)) STACK_RAW bool quick_step(registers *at, const stack_memory *memory,
                                                                       uint64_t bits)
{
    enum { PLAIN = 7 | 1 << 24 | 1 << 26 | 1 << 28 };
    if ((bits & PLAIN) != STACK_ROW_STEP) return false;
    bool saved = bits >> 25 & 1;
    int32_t fp_offset = stack_signed_bits(bits, STACK_FP_AT, STACK_FP_BITS);
    uint64_t cfa =
        (bits >> 27 & 1 ? at->fp : at->sp) + (uint64_t)(int64_t)stack_signed_bits(bits, STACK_CFA_AT, STACK_CFA_BITS);
    uint64_t ra_at = cfa + (uint64_t)(int64_t)stack_usual_ra(saved ? STACK_FP_AT_CFA : STACK_FP_SAME, fp_offset);
    uint64_t fp_at = saved ? cfa + (uint64_t)(int64_t)fp_offset : ra_at;
    uint64_t least = ra_at < fp_at ? ra_at : fp_at, most = ra_at < fp_at ? fp_at : ra_at;
    if (cfa <= at->sp || least < memory->low || most > memory->high - 8 || (cfa | at->sp) & 7) return false;
    uint64_t fp = *(const volatile uint64_t *)(uintptr_t)fp_at;
    at->pc = without_signature(*(const volatile uint64_t *)(uintptr_t)ra_at) - 1;
    at->sp = cfa;
    if (saved) at->fp = fp;
    return true;
}

/* Any other step: 0 to continue, or the reason for the end of the walk. */
static __attribute__((noinline)) STACK_RAW int slow_step(walker *w, uint64_t bits, stack_result *result)
{
    stack_row row;
    w->no_code = w->at.pc == UINT64_MAX; /* returned to 0, which is nowhere */
    if (w->no_code) return HD_STACK_WHOLE;
    if (bits) {
        row = stack_row_of_bits(bits);
    } else {
        row = stack_row_learn(w->at.pc);
        result->learned = true;
    }
    w->no_code = row.kind == STACK_ROW_NO_CODE;
    return step_out(w, &row);
}

STACK_RAW stack_result stack_walk(uint64_t *out, uint64_t *bounds, uint32_t capacity, unsigned skip, const void *anchor)
{
    stack_result result = {.walked.end = 0};
    registers at = registers_here();
    walker w = {.no_code = false};
    bool inside = true; /* of this library */
    uint32_t count = 0;
    stack_memory_at(&w.memory, at.sp);
    while (!result.walked.end) {
        uint64_t pc = at.pc, bits = stack_row_bits(pc);
        bool full = !inside && !skip && count == capacity;
        w.guessed = false;
        if (full || !quick_step(&at, &w.memory, bits)) {
            w.at = at;
            result.walked.end = (hd_stack_end)slow_step(&w, bits, &result);
            at = w.at;
            if (w.no_code) break; /* no frame */
        }
        if (full) {
            result.walked.end = HD_STACK_TRUNCATED;
        } else if (inside) {
            inside = at.sp <= (uintptr_t)anchor;
        } else if (skip) {
            skip--;
        } else {
            if (bounds) bounds[count] = at.sp;
            out[count++] = pc;
            result.walked.guessed += w.guessed;
        }
    }
    result.count = count;
    return result;
}
#else
stack_result stack_walk(uint64_t *out, uint64_t *bounds, uint32_t capacity, unsigned skip, const void *anchor)
{
    (void)out, (void)bounds, (void)capacity, (void)skip, (void)anchor;
    return (stack_result){.walked.end = HD_STACK_BROKEN};
}
#endif

__attribute__((noinline)) uint32_t hd_stack_walk(uint64_t *out, uint32_t capacity, unsigned skip,
                                                 hd_stack_walked *walked)
{
    stack_result result = stack_walk(out, NULL, capacity, skip, __builtin_frame_address(0));
    if (walked) *walked = result.walked;
    return result.count;
}
