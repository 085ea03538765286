/* test_stack.c - walks over every kind of frame, and over what is none */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "capture/programs/stack_subject.h"
#include "capture/stack/impl.h"
#include "capture/stack_names.h"
#include "rounds.h"
#include "under_tsan.h"

#define APART STACK_APART
#if defined(__x86_64__) && !HD_UNDER_TSAN /* which keeps signals for later */
#define STEPS 1
#else
#define STEPS 0
#endif
#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define KEEP(p) __asm__ volatile("" : : "r"(p) : "memory")

void walk_here(void *user);
void walk_and_damage(void *user);
void leave_thread(void *unused);
void trap(void *unused);

/* ---- frames of functions ---- */

APART void walk_here(void *user)
{
    frames *f = user;
    f->count = hd_stack_walk(f->at, FRAMES_MAX, 0, &f->walked);
}

static void test_walk__functions_without_frame_pointers_are_all_there(void **state)
{
    static frames f;
    (void)state;
    for (int i = 0; i < 2; i++) { /* worked out, then known */
        chain_bare(walk_here, &f);
        assert_names(&f, 0,
                     NAMES("walk_here", "plain_bare", "sized_bare", "aligned_bare", "large_bare", "arguments_bare",
                           "chain_bare"));
        assert_int_equal(f.walked.end, HD_STACK_WHOLE);
        assert_int_equal(f.walked.guessed, 0);
        assert_true(frame_named(&f, "main") < f.count);
    }
}

static void test_walk__functions_with_frame_pointers_are_all_there(void **state)
{
    static frames f;
    (void)state;
    for (int i = 0; i < 2; i++) {
        chain_pointers(walk_here, &f);
        assert_names(&f, 0,
                     NAMES("walk_here", "plain_pointers", "sized_pointers", "aligned_pointers", "large_pointers",
                           "arguments_pointers", "chain_pointers"));
        assert_int_equal(f.walked.end, HD_STACK_WHOLE);
    }
}

/* What a walk by frame pointers alone loses: the frames of functions that have none, without a sign. */
static void chain_then_walk(void *user)
{
    chain_pointers(walk_here, user);
}

static void test_walk__frame_pointers_above_code_without_them_lose_nothing(void **state)
{
    static frames f;
    (void)state;
    chain_bare(chain_then_walk, &f);
    uint32_t at = frame_named(&f, "plain_bare");
    assert_int_equal(frame_named(&f, "chain_pointers"), 6);
    assert_names(&f, at,
                 NAMES("plain_bare", "sized_bare", "aligned_bare", "large_bare", "arguments_bare", "chain_bare"));
}

static void test_walk__skip_leaves_out_the_innermost(void **state)
{
    uint64_t all[64], some[64];
    (void)state;
    uint32_t count = 0, skipped = 0;
    for (int i = 0; i < 2; i++) { /* of one place */
        hd_stack_walked walked;
        uint32_t n = hd_stack_walk(i ? some : all, 64, i ? 2 : 0, &walked);
        *(i ? &skipped : &count) = n;
    }
    assert_int_equal(count, skipped + 2);
    assert_memory_equal(all + 2, some, skipped * sizeof *some);
    assert_int_equal(hd_stack_walk(some, 64, 1000, NULL), 0);
}

static void test_walk__deep_recursion_is_cut_at_the_capacity(void **state)
{
    static frames f;
    (void)state;
    recursive_bare(5000, walk_here, &f);
    assert_int_equal(f.count, FRAMES_MAX);
    assert_int_equal(f.walked.end, HD_STACK_TRUNCATED);
    for (uint32_t i = 1; i < FRAMES_MAX; i++) assert_string_equal(function_at(f.at[i]), "recursive_bare");
}

/* More than is asked for at once. */
static void *walk_deep_down(void *user)
{
    sized_bare(48 << 20, walk_here, user);
    return NULL;
}

static void test_walk__stacks_of_many_megabytes(void **state)
{
    static frames f;
    pthread_t thread;
    pthread_attr_t attributes;
    (void)state;
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstacksize(&attributes, 64 << 20), 0);
    assert_int_equal(pthread_create(&thread, &attributes, walk_deep_down, &f), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    assert_names(&f, 0, NAMES("walk_here", "plain_bare", "sized_bare"));
    assert_int_equal(f.walked.end, HD_STACK_WHOLE);
}

static void *chain_in_thread(void *user)
{
    chain_bare(walk_here, user);
    return NULL;
}

static void test_walk__a_thread_ends_at_its_first_function(void **state)
{
    static frames f;
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, chain_in_thread, &f), 0);
    pthread_join(thread, NULL);
    assert_int_equal(f.walked.end, HD_STACK_WHOLE);
    assert_int_equal(frame_named(&f, "chain_bare"), 6);
    assert_in_range(f.count, 9, 12); /* the thread's function, and libc's */
}

/* ---- exceptions ---- */

static frames cleaned;

void stack_subject_clean(int *unused)
{
    (void)unused;
    cleaned.count = hd_stack_walk(cleaned.at, FRAMES_MAX, 0, &cleaned.walked);
}

APART void leave_thread(void *unused)
{
    (void)unused;
    pthread_exit(NULL);
}

static void *clean_in_thread(void *user)
{
    (void)user;
    cleaning_bare(leave_thread);
    return NULL;
}

static void test_walk__in_a_clean_up_while_the_stack_is_unwound(void **state)
{
    pthread_t thread;
    (void)state;
    cleaned.count = 0;
    assert_int_equal(pthread_create(&thread, NULL, clean_in_thread, NULL), 0);
    pthread_join(thread, NULL);
    assert_names(&cleaned, 0, NAMES("stack_subject_clean", "cleaning_bare"));
    assert_int_equal(cleaned.walked.end, HD_STACK_WHOLE);
}

/* ---- other stacks ---- */

enum { OTHER_BYTES = 1 << 20 };

static struct {
    ucontext_t outside, inside;
    stack_take *take;
    frames f;
} coroutine;

static void run_coroutine(void)
{
    chain_bare(coroutine.take, &coroutine.f);
}

/* Between pages that cannot be read. */
static char *new_stack(void)
{
    char *room = mmap(NULL, OTHER_BYTES + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(room, MAP_FAILED);
    assert_int_equal(mprotect(room + 4096, OTHER_BYTES, PROT_READ | PROT_WRITE), 0);
    return room + 4096;
}

static void free_stack(char *stack)
{
    munmap(stack - 4096, OTHER_BYTES + 8192);
}

static void run_on(char *stack, stack_take *take)
{
    coroutine.take = take;
    coroutine.f.count = 0;
    assert_int_equal(getcontext(&coroutine.inside), 0);
    coroutine.inside.uc_stack = (stack_t){.ss_sp = stack, .ss_size = OTHER_BYTES};
    coroutine.inside.uc_link = &coroutine.outside;
    makecontext(&coroutine.inside, run_coroutine, 0);
    assert_int_equal(swapcontext(&coroutine.outside, &coroutine.inside), 0);
}

static void test_walk__a_coroutine_ends_at_its_own_first_function(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) { /* on memory that is gone afterwards */
        char *stack = new_stack();
        run_on(stack, walk_here);
        free_stack(stack);
        assert_names(&coroutine.f, 0,
                     NAMES("walk_here", "plain_bare", "sized_bare", "aligned_bare", "large_bare", "arguments_bare",
                           "chain_bare"));
        assert_int_equal(coroutine.f.walked.end, HD_STACK_WHOLE);
        assert_in_range(coroutine.f.count, 8, 9);
    }
}

/* ---- signals ---- */

static frames in_handler;
static sigjmp_buf back;

static void walk_and_return(int signal)
{
    (void)signal;
    in_handler.count = hd_stack_walk(in_handler.at, FRAMES_MAX, 0, &in_handler.walked);
    siglongjmp(back, 1);
}

APART void trap(void *unused)
{
    int here = 1;
    (void)unused;
    trapping_bare();
    KEEP(&here);
}

static void walk_from_trap(int flags)
{
    struct sigaction action = {.sa_handler = walk_and_return, .sa_flags = flags}, before;
    assert_int_equal(sigaction(SIGILL, &action, &before), 0);
    in_handler.count = 0;
    if (!sigsetjmp(back, 1)) chain_bare(trap, NULL);
    sigaction(SIGILL, &before, NULL);
    uint32_t at = frame_named(&in_handler, "trapping_bare");
    assert_in_range(at, 1, HD_UNDER_TSAN ? 5 : 3);
    assert_ptr_equal((void *)(uintptr_t)in_handler.at[at], (void *)trapping_bare); /* the instruction itself */
    assert_names(&in_handler, at + 2,
                 NAMES("plain_bare", "sized_bare", "aligned_bare", "large_bare", "arguments_bare", "chain_bare"));
    assert_int_equal(in_handler.walked.end, HD_STACK_WHOLE);
}

static void test_walk__a_signal_handler_goes_on_at_what_it_interrupted(void **state)
{
    (void)state;
    walk_from_trap(0);
}

static void test_walk__a_signal_stack_goes_on_at_the_stack_it_interrupted(void **state)
{
    (void)state;
    char *stack = new_stack();
    stack_t before, other = {.ss_sp = stack, .ss_size = OTHER_BYTES};
    assert_int_equal(sigaltstack(&other, &before), 0);
    walk_from_trap(SA_ONSTACK);
    sigaltstack(&before, NULL);
    free_stack(stack);
}

#if STEPS
static struct {
    uint64_t steps, broken, lost, first_broken;
    volatile bool stop;
    uint64_t outer; /* an address in the function that all of this is called from */
} stepped;

static void at_step(int signal, siginfo_t *info, void *context)
{
    uint64_t at[64];
    hd_stack_walked walked;
    (void)signal, (void)info;
    if (stepped.stop) ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~0x100;
    uint32_t count = hd_stack_walk(at, 64, 0, &walked);
    bool found = false;
    for (uint32_t i = 0; i < count; i++) found |= at[i] - stepped.outer < 4096;
    if (walked.end != HD_STACK_WHOLE && !stepped.broken) stepped.first_broken = count ? at[count - 1] : 0;
    stepped.steps++;
    stepped.broken += walked.end != HD_STACK_WHOLE;
    stepped.lost += !found;
}

static int compare_ints(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* A trap after each instruction from here on, until stepped.stop. */
static void begin_steps(void)
{
    stepped.stop = false;
    __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
}

void sort_step_by_step(bool on);

/* libc's code (qsort, malloc, snprintf) and ours, with PLTs, prologues and epilogues. */
APART void sort_step_by_step(bool on)
{
    int numbers[] = {5, 3, 9, 1, 7};
    char text[64];
    frames *f = malloc(sizeof *f);
    if (on) begin_steps();
    qsort(numbers, 5, sizeof *numbers, compare_ints);
    snprintf(text, sizeof text, "%d %s", numbers[0], "text");
    chain_bare(walk_here, f);
    stepped.stop = true;
    free(f);
    assert_string_equal(text, "1 text");
}

static void test_walk__is_whole_at_every_instruction(void **state)
{
    struct sigaction action = {.sa_sigaction = at_step, .sa_flags = SA_SIGINFO}, before;
    (void)state;
    stepped.outer = (uintptr_t)sort_step_by_step;
    assert_int_equal(sigaction(SIGTRAP, &action, &before), 0);
    sort_step_by_step(false); /* the loader, when it binds functions, keeps its frame where walks cannot see it */
    sort_step_by_step(true);
    sigaction(SIGTRAP, &before, NULL);
    if (stepped.broken) {
        Dl_info where = {0};
        dladdr((void *)(uintptr_t)stepped.first_broken, &where);
        print_message("the first at %s+0x%zx, %s\n", where.dli_fname,
                      (size_t)(stepped.first_broken - (uintptr_t)where.dli_fbase), function_at(stepped.first_broken));
    }
    assert_true(stepped.steps > 1000);
    assert_int_equal(stepped.broken, 0);
    assert_int_equal(stepped.lost, 0);
}
#endif

/* ---- damage ---- */

/* The words of this frame and of those outside of it, each replaced by each of these in turn. No fault, and an end. */
APART __attribute__((no_sanitize("address"))) void walk_and_damage(void *user)
{
    frames *f = user;
    uint64_t values[] = {0, 1, 7, 8, 4096, UINT64_MAX, UINT64_MAX - 7, 1ull << 47, 1ull << 63, 0, 0, 0, 0};
    volatile uint64_t *frame = __builtin_frame_address(0);
    enum { WORDS = 64, VALUES = sizeof values / sizeof *values };
    values[VALUES - 4] = (uintptr_t)frame;
    values[VALUES - 3] = (uintptr_t)frame - 64;
    values[VALUES - 2] = (uintptr_t)frame + (64 << 20);
    values[VALUES - 1] = (uintptr_t)values; /* data, not code */
    f->count = 0;
    for (int word = 0; word < WORDS; word++) {
        for (int i = 0; i < VALUES; i++) {
            hd_stack_walked walked;
            uint64_t kept = frame[word], at[FRAMES_MAX];
            frame[word] = values[i];
            uint32_t count = hd_stack_walk(at, FRAMES_MAX, 0, &walked);
            frame[word] = kept;
            f->count += count == 0 || walked.end == 0;
            f->walked.guessed += walked.end == HD_STACK_BROKEN;
        }
    }
}

static void test_walk__damaged_stacks_end_and_do_not_fault(void **state)
{
    static frames f;
    (void)state;
    plain_pointers(walk_and_damage, &f);
    assert_int_equal(f.count, 0);
    assert_true(f.walked.guessed > 5);
    f.walked.guessed = 0;
    plain_bare(walk_and_damage, &f);
    assert_int_equal(f.count, 0);
    assert_true(f.walked.guessed > 5);
}

static void test_walk__damaged_stacks_of_coroutines_do_not_fault(void **state)
{
    char *stack = new_stack();
    (void)state;
    run_on(stack, walk_and_damage);
    free_stack(stack);
    assert_int_equal(coroutine.f.count, 0);
}

static void test_memory__what_cannot_be_read_is_known_without_a_fault(void **state)
{
    char *stack = new_stack();
    uintptr_t at = (uintptr_t)stack;
    (void)state;
    errno = 5;
    assert_true(stack_readable(at, 8));
    assert_true(stack_readable(at, OTHER_BYTES));
    assert_false(stack_readable(at - 8, 8));
    assert_false(stack_readable(at - 4, 8));
    assert_false(stack_readable(at, OTHER_BYTES + 1));
    assert_false(stack_readable(0, 8));
    assert_false(stack_readable(UINTPTR_MAX - 8, 8));
    assert_false(stack_readable(UINTPTR_MAX - 8, 64));
    assert_int_equal(errno, 5);
    free_stack(stack);
    assert_false(stack_readable(at, 8));
}

/* ---- damaged tables ---- */

static int find_own_tables(struct dl_phdr_info *info, size_t size, void *user)
{
    stack_tables *out = user;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_GNU_EH_FRAME) continue;
        out->header = (const uint8_t *)(uintptr_t)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        for (int k = 0; k < info->dlpi_phnum; k++) {
            const ElfW(Phdr) *segment = &info->dlpi_phdr[k];
            const uint8_t *start = (const uint8_t *)(uintptr_t)(info->dlpi_addr + segment->p_vaddr);
            if (segment->p_type == PT_LOAD && out->header >= start && out->header < start + segment->p_filesz)
                out->high = start + segment->p_filesz;
        }
    }
    int32_t to_frames; /* from its own place; linkers differ in which of the two comes first */
    memcpy(&to_frames, out->header + 4, sizeof to_frames);
    out->low = to_frames + 4 < 0 ? out->header + 4 + to_frames : out->header;
    return 1; /* the first is the program itself */
}

/* A copy of this program's tables with some bytes changed, at the end of its memory: a sanitizer, or the page behind
 * it, sees what is read beyond. */
static void test_cfi__damaged_tables_are_not_read_beyond_their_end(void **state)
{
    stack_tables own = {0};
    uint64_t seed = hd_test_seed(1), known = 0, rows = 0;
    (void)state;
    dl_iterate_phdr(find_own_tables, &own);
    assert_non_null(own.high);
    size_t size = (size_t)(own.high - own.low), before = (size_t)(own.header - own.low);
    uint8_t *copy = malloc(size);
    stack_tables tables = {copy, copy + size, copy};
    uint64_t moved = (uintptr_t)copy - (uintptr_t)own.low;
    for (unsigned round = 0; round < 3000; round++) {
        size_t used = round % 2 ? size : size - round % ((size - before) / 2);
        memcpy(copy + size - used, own.low, used);
        tables.low = copy + size - used;
        tables.header = tables.low + before;
        for (unsigned i = 0; round && i < 1 + round % 64; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            copy[size - used + (seed >> 33) % used] = (uint8_t)(seed >> 24);
        }
        for (unsigned i = 0; i < 40; i++) {
            stack_row row;
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            uint64_t pc = (uintptr_t)plain_bare + (i ? (seed >> 40) % 4096 : 1);
            rows += stack_cfi_row(&row, &tables, pc + moved + (size - used));
            if (round == 0) known = rows;
        }
    }
    free(copy);
    assert_true(known > 5); /* undamaged, they are tables */
    assert_true(rows > known && rows < 3000 * 40);
}

/* ---- code without tables ---- */

#if defined(__x86_64__)
static void run_code(frames *f, const void *code, size_t size)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void (*function)(void *, stack_take *);
    assert_ptr_not_equal(page, MAP_FAILED);
    memcpy((char *)page + 64, code, size);
    assert_int_equal(mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
    void *start = (char *)page + 64;
    memcpy(&function, &start, sizeof function);
    function(f, walk_here);
    stack_rows_forget();
    munmap(page, 4096);
}

static void test_walk__trampolines_without_tables_and_frame_pointers(void **state)
{
    static const uint8_t code[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd6, 0x48, 0x83, 0xc4, 0x08, 0xc3};
    static frames f;
    (void)state;
    run_code(&f, code, sizeof code);
    assert_string_equal(function_at(f.at[0]), "walk_here");
    assert_int_equal(f.at[1] & 0xfff, 64 + 5);
    assert_int_equal(f.walked.end, HD_STACK_WHOLE);
    assert_int_equal(f.walked.guessed, 0);
    assert_true(frame_named(&f, "main") < f.count);
}

static void test_walk__code_without_tables_is_stepped_over_by_its_frame_pointer(void **state)
{
    /* push %rbp; mov %rsp, %rbp; sub $48, %rsp; call *%rsi; nop; leave; ret */
    static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x30, 0xff, 0xd6, 0x90, 0xc9, 0xc3};
    static frames f;
    (void)state;
    run_code(&f, code, sizeof code);
    assert_int_equal(f.at[1] & 0xfff, 64 + 9);
    assert_int_equal(f.walked.end, HD_STACK_WHOLE);
    assert_int_equal(f.walked.guessed, 1);
    assert_true(frame_named(&f, "main") < f.count);
}
#endif

/* ---- fork ---- */

static void test_walk__goes_on_in_a_child_of_fork(void **state)
{
    (void)state;
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        frames f;
        chain_bare(walk_here, &f);
        _exit(f.walked.end == HD_STACK_WHOLE && frame_named(&f, "chain_bare") == 6 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_walk__functions_without_frame_pointers_are_all_there),
        cmocka_unit_test(test_walk__functions_with_frame_pointers_are_all_there),
        cmocka_unit_test(test_walk__frame_pointers_above_code_without_them_lose_nothing),
        cmocka_unit_test(test_walk__skip_leaves_out_the_innermost),
        cmocka_unit_test(test_walk__deep_recursion_is_cut_at_the_capacity),
        cmocka_unit_test(test_walk__stacks_of_many_megabytes),
        cmocka_unit_test(test_walk__a_thread_ends_at_its_first_function),
        cmocka_unit_test(test_walk__in_a_clean_up_while_the_stack_is_unwound),
        cmocka_unit_test(test_walk__a_coroutine_ends_at_its_own_first_function),
        cmocka_unit_test(test_walk__a_signal_handler_goes_on_at_what_it_interrupted),
        cmocka_unit_test(test_walk__a_signal_stack_goes_on_at_the_stack_it_interrupted),
        cmocka_unit_test(test_walk__damaged_stacks_end_and_do_not_fault),
        cmocka_unit_test(test_walk__damaged_stacks_of_coroutines_do_not_fault),
        cmocka_unit_test(test_memory__what_cannot_be_read_is_known_without_a_fault),
        cmocka_unit_test(test_cfi__damaged_tables_are_not_read_beyond_their_end),
#if STEPS
        cmocka_unit_test(test_walk__is_whole_at_every_instruction),
#endif
#if defined(__x86_64__)
        cmocka_unit_test(test_walk__trampolines_without_tables_and_frame_pointers),
        cmocka_unit_test(test_walk__code_without_tables_is_stepped_over_by_its_frame_pointer),
#endif
        cmocka_unit_test(test_walk__goes_on_in_a_child_of_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
