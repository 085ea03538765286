/* unwind.c - unwinds frame by frame: by the file's table, else by the frame pointer
 *
 * CPython's trampolines have no table; their frame is known.
 *
 * A function with a probed return returns to a page of the kernel's; its real return address was recorded at its entry.
 */
#include "capture/uprobe/unwind.h"

#include <string.h>

#if defined(__aarch64__)
/* Above are bits of a signature, or of a tag. */
#define ADDRESS_BITS UINT64_C(0x0000ffffffffffff)
#else
#define ADDRESS_BITS UINT64_MAX
#endif

typedef struct walk {
    uprobe_stack *out;
    uprobe_process *process;
    const uprobe_thread *thread;
    const uprobe_memory *memory;
    uint32_t open; /* calls of the thread that the walk has not reached yet */
} walk;

static bool is_known(const uprobe_frame *frame, unsigned number)
{
    return frame->known >> number & 1;
}

static void set(uprobe_frame *frame, unsigned number, uint64_t value)
{
    frame->at[number] = value;
    frame->known |= UINT64_C(1) << number;
}

uint64_t uprobe_return_address(const uprobe_frame *frame, const uprobe_memory *memory)
{
    uint64_t value = 0;
#if defined(__aarch64__)
    (void)memory;
    if (is_known(frame, UPROBE_RETURN)) value = frame->at[UPROBE_RETURN] & ADDRESS_BITS;
#else
    if (is_known(frame, UPROBE_STACK_POINTER)) uprobe_memory_get(memory, frame->at[UPROBE_STACK_POINTER], &value);
#endif
    return value;
}

/* For unknown code: at its first instruction it has no frame yet, else its frame pointer may lead on. */
static uprobe_step step_without_table(uprobe_frame *frame, const uprobe_memory *memory, bool is_first)
{
    uprobe_frame caller = *frame;
    uint64_t next, back, pointer = frame->at[UPROBE_FRAME_POINTER];
    caller.is_interrupted = false;
    if (is_first) {
        caller.pc = uprobe_return_address(frame, memory);
#if !defined(__aarch64__)
        set(&caller, UPROBE_STACK_POINTER, frame->at[UPROBE_STACK_POINTER] + 8);
#endif
    } else {
        if (!is_known(frame, UPROBE_FRAME_POINTER)) return UPROBE_STEP_BAD;
        if (!pointer) return UPROBE_STEP_END;
        if (pointer & 7 || pointer < frame->at[UPROBE_STACK_POINTER]) return UPROBE_STEP_BAD;
        if (!uprobe_memory_get(memory, pointer, &next) || !uprobe_memory_get(memory, pointer + 8, &back))
            return UPROBE_STEP_BEYOND;
        caller.known = 0; /* others may have been saved anywhere */
        caller.pc = back;
        set(&caller, UPROBE_FRAME_POINTER, next);
        set(&caller, UPROBE_STACK_POINTER, pointer + 16);
    }
    *frame = caller;
    return UPROBE_STEP_OK;
}

/* 16 bytes: padding or the frame pointer, then the return address. */
static uprobe_step step_python(uprobe_frame *frame, const uprobe_memory *memory, uprobe_code code)
{
    uint64_t below, back, pointer = frame->at[UPROBE_STACK_POINTER];
    if (!uprobe_memory_get(memory, pointer, &below) || !uprobe_memory_get(memory, pointer + 8, &back))
        return UPROBE_STEP_BEYOND;
    if (code == UPROBE_CODE_PUSHES) set(frame, UPROBE_FRAME_POINTER, below);
    set(frame, UPROBE_STACK_POINTER, pointer + 16);
    frame->pc = back;
    frame->is_interrupted = false;
    return UPROBE_STEP_OK;
}

/* Code of a process that has ended: Python's, if it returns to the interpreter from such a frame. What may be a frame
 * pointer is taken for one. */
static uprobe_code guess_code(const walk *w, const uprobe_frame *frame)
{
    enum { FAR = 1 << 23 };
    uint64_t below, back, pointer = frame->at[UPROBE_STACK_POINTER];
    if (!uprobe_memory_get(w->memory, pointer, &below) || !uprobe_memory_get(w->memory, pointer + 8, &back))
        return UPROBE_CODE_OTHER;
    const uprobe_mapping *mapping = uprobe_process_at(w->process, back);
    if (!mapping || !mapping->module || !strstr(mapping->module->path, "python")) return UPROBE_CODE_OTHER;
    return below > pointer && below - pointer < FAR && below % 8 == 0 ? UPROBE_CODE_PUSHES : UPROBE_CODE_PADS;
}

static uprobe_step step_other(const walk *w, uprobe_frame *frame, bool is_first)
{
    uprobe_code code = is_first ? UPROBE_CODE_OTHER : uprobe_process_code(w->process, frame->pc);
    if (code == UPROBE_CODE_GONE) code = guess_code(w, frame);
    if (code == UPROBE_CODE_PADS || code == UPROBE_CODE_PUSHES) return step_python(frame, w->memory, code);
    return step_without_table(frame, w->memory, is_first);
}

static bool is_trampoline(const walk *w, uint64_t pc)
{
    const uprobe_mapping *mapping = uprobe_process_at(w->process, pc);
    return mapping && mapping->is_trampoline;
}

/* Functions with probed returns are in order, the innermost first. */
static uint64_t behind_trampoline(walk *w, uint64_t pc)
{
    while (w->open && is_trampoline(w, pc)) pc = w->thread->open[--w->open].return_address;
    return pc;
}

/* Adds the frame; *out_address: of the file, if there is one. */
static const uprobe_elf *add_frame(walk *w, uint64_t pc, bool is_call, uint64_t *out_address)
{
    const uprobe_mapping *mapping = uprobe_process_at(w->process, pc - is_call);
    uprobe_module *module = mapping ? mapping->module : NULL;
    const uprobe_elf *elf = module ? uprobe_module_elf(module, w->process->pid) : NULL;
    uprobe_stack_frame frame = {.address = pc - is_call};
    bool is_placed = elf && uprobe_elf_address(elf, pc - is_call - mapping->start + mapping->offset, &frame.address);
    if (is_placed) frame.module = module;
    *out_address = frame.address + is_call;
    w->out->frames[w->out->count++] = frame;
    return is_placed ? elf : NULL;
}

static uprobe_end end_of(uprobe_step step)
{
    return step == UPROBE_STEP_END ? UPROBE_END_WHOLE : step == UPROBE_STEP_BEYOND ? UPROBE_END_CUT : UPROBE_END_BROKEN;
}

void uprobe_unwind(uprobe_stack *out, uprobe_cfi_cache *cache, uprobe_process *process, const uprobe_thread *thread,
                   uprobe_frame *frame, const uprobe_memory *memory)
{
    walk w = {out, process, thread, memory, thread ? thread->open_count : 0};
    out->count = 0;
    out->end = UPROBE_END_CUT;
    frame->is_interrupted = true;
    while (out->count < UPROBE_FRAMES_MAX) {
        uint64_t address, before = frame->at[UPROBE_STACK_POINTER];
        bool is_first = !out->count;
        const uprobe_elf *elf = add_frame(&w, frame->pc, !frame->is_interrupted, &address);
        uprobe_step step = elf ? uprobe_cfi_step(cache, elf, address, frame, memory) : UPROBE_STEP_NONE;
        if (step == UPROBE_STEP_NONE) step = step_other(&w, frame, is_first);
        if (step != UPROBE_STEP_OK) {
            out->end = end_of(step);
            return;
        }
        frame->pc &= ADDRESS_BITS;
        if (!frame->pc) {
            out->end = UPROBE_END_WHOLE;
            return;
        }
        /* The caller's frame is above; only a leaf without a frame is an exception. */
        if (frame->at[UPROBE_STACK_POINTER] < before || (frame->at[UPROBE_STACK_POINTER] == before && !is_first)) {
            out->end = UPROBE_END_BROKEN;
            return;
        }
        frame->pc = behind_trampoline(&w, frame->pc);
        if (is_trampoline(&w, frame->pc)) { /* of a call that we have not seen */
            out->end = UPROBE_END_BROKEN;
            return;
        }
    }
}

static uint64_t chain_at(const uint8_t *chain, uint64_t index)
{
    uint64_t value;
    memcpy(&value, chain + index * 8, sizeof value);
    return value & ADDRESS_BITS;
}

void uprobe_unwind_chain(uprobe_stack *out, uprobe_process *process, const uprobe_thread *thread,
                         const uprobe_frame *frame, const uprobe_memory *memory, const uint8_t *chain, uint64_t count)
{
    enum { CONTEXTS = 4096 }; /* addresses from here on mark the kind of those that follow: user, kernel */
    walk w = {out, process, thread, memory, thread ? thread->open_count : 0};
    uint64_t ignored, caller = uprobe_return_address(frame, memory), at = 0;
    out->count = 0;
    out->end = UPROBE_END_WHOLE;
    add_frame(&w, frame->pc, false, &ignored);
    while (at < count &&
           (chain_at(chain, at) >= (UINT64_MAX & ADDRESS_BITS) - CONTEXTS || chain_at(chain, at) == frame->pc))
        at++;
    if (caller && (at == count || chain_at(chain, at) != caller))
        add_frame(&w, behind_trampoline(&w, caller), true, &ignored);
    for (; at < count && chain_at(chain, at); at++) {
        if (out->count == UPROBE_FRAMES_MAX) {
            out->end = UPROBE_END_CUT;
            return;
        }
        add_frame(&w, behind_trampoline(&w, chain_at(chain, at)), true, &ignored);
    }
}
