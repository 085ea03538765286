/* nvtx.c - NVTX ranges, marks and names of the program
 *
 * Pushed ranges are slices on their thread's track, begun and ended as they happen; ranges with an id are slices on
 * lanes of their own (ranges.c); marks are instants. All have the category "user_annotation", as PyTorch's, and the
 * program's domain, category, payload and color as arguments.
 *
 * A range that began while the capture was closed is not shown. One that began while it was open is shown until its
 * end.
 */
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/cuda/nvtx/impl.h"
#include "capture/cuda/window/window.h"

nvtx_state nvtx_tool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const struct {
    const char *code;
    hd_session_note_level level;
} count_rows[NVTX_COUNTS] = {
    [NVTX_SPLIT] = {"nvtx.ranges-split", HD_SESSION_REPAIR},
    [NVTX_UNMATCHED] = {"nvtx.ends-unmatched", HD_SESSION_LOSS},
    [NVTX_OVER] = {"nvtx.over-limit", HD_SESSION_LOSS},
    [NVTX_NESTED] = {"nvtx.nested", HD_SESSION_LOSS},
    [NVTX_BAD_HANDLE] = {"nvtx.handle-unknown", HD_SESSION_LOSS},
    [NVTX_NO_PAYLOAD] = {"nvtx.payloads-left-out", HD_SESSION_LOSS},
};

static void note_count(nvtx_count what)
{
    uint64_t count = atomic_load(&nvtx_tool.counts[what]);
    if (count) hd_session_note(nvtx_tool.session, count_rows[what].code, count_rows[what].level, count);
}

/* The file has it when it doubled, and in the end: a program that does it all the time does not fill its file so. */
void nvtx_tell(nvtx_count what, uint64_t count)
{
    uint64_t before = atomic_fetch_add(&nvtx_tool.counts[what], count), after = before + count;
    bool doubled = !before || (before ^ after) > before;
    if (doubled && what != NVTX_NESTED) note_count(what);
}

void nvtx_end(void)
{
    for (int i = 0; i < NVTX_COUNTS; i++) note_count((nvtx_count)i);
}

void nvtx_fork(int phase)
{
    if (phase < 0) {
        pthread_mutex_lock(&nvtx_tool.lock);
        return;
    }
    if (phase > 0) {
        atomic_fetch_add(&nvtx_tool.forks, 1);
        nvtx_ranges_forked();
    }
    pthread_mutex_unlock(&nvtx_tool.lock);
}

/* Calls are counted as they are timed, so that threads do not meet at a counter with each of them. */
void nvtx_timed(uint32_t number, int64_t start_ns)
{
    cuda_tracer *tracer = nvtx_tool.tracer;
    if (!tracer) return;
    atomic_fetch_add_explicit(&tracer->costs.callbacks, number < CUDA_TIMED ? 1 : CUDA_TIMED, memory_order_relaxed);
    cuda_describe_costs(tracer, cuda_cost_end(&tracer->costs, number, start_ns));
}

/* ---- once ---- */

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void prepare(void)
{
    cuda_tracer *tracer = cuda_tracer_begin();
    if (!tracer || !tracer->session) return;
    if (!tracer->options.nvtx && !tracer->options.has_steps) return;
    nvtx_tool.tracer = tracer;
    nvtx_tool.session = tracer->session;
    nvtx_tool.shows = tracer->options.nvtx;
    if (nvtx_names_prepare() != HD_OK || nvtx_threads_prepare() != HD_OK) nvtx_tool.session = NULL;
}

/* NVTX passes our functions between threads by plain stores without ordering: only this makes the data of `prepare`,
 * made on another thread, visible. */
static nvtx_thread *enter(void)
{
    pthread_once(&once, prepare);
    return nvtx_enter();
}

/* ---- what ranges have in common ---- */

static bool begins_step(const nvtx_text *text)
{
    if (!atomic_load_explicit(&window_counts_steps, memory_order_acquire)) return false;
    if (text->id && !text->is_step) return false;
    return text->data && window_step_begins(text->data);
}

/* A step may open the window that it is in. */
static nvtx_open range_of(nvtx_thread *here, uint32_t domain, const nvtx_text *text, const nvtx_event *event)
{
    nvtx_open range = {.domain = domain, .is_step = begins_step(text)};
    range.is_shown = nvtx_tool.shows && window_is_open();
    if (!range.is_shown) return range;
    range.name = nvtx_name(here, text);
    range.args = nvtx_args(here, domain, event);
    return range;
}

static int push(nvtx_thread *here, nvtx_domain domain, const nvtx_text *text, const nvtx_event *event)
{
    nvtx_open range = range_of(here, nvtx_domain_of(domain), text, event);
    return nvtx_push(here, &range);
}

static int pop(nvtx_domain domain)
{
    nvtx_thread *here = enter();
    if (!here) return -2;
    int level = nvtx_pop(here, nvtx_domain_of(domain));
    nvtx_leave();
    return level;
}

static nvtx_range start(nvtx_thread *here, nvtx_domain domain, const nvtx_text *text, const nvtx_event *event)
{
    nvtx_open range = range_of(here, nvtx_domain_of(domain), text, event);
    return nvtx_range_begin(&range);
}

static void finish(nvtx_range range)
{
    if (!enter()) return;
    nvtx_range_finish(range);
    nvtx_leave();
}

static void mark(nvtx_thread *here, nvtx_domain domain, const nvtx_text *text, const nvtx_event *event)
{
    if (!nvtx_tool.shows || !window_is_open()) return;
    hd_session_emit(nvtx_tool.session, &(hd_session_record){.kind = HD_SESSION_INSTANT,
                                                            .time_ns = hd_session_now(),
                                                            .name = nvtx_name(here, text),
                                                            .category = nvtx_tool.category,
                                                            .args = nvtx_args(here, nvtx_domain_of(domain), event)});
}

static void name_thread(uint32_t tid, const nvtx_text *name)
{
    if (!name->data) return;
    if ((long)tid == syscall(SYS_gettid))
        hd_session_name_thread(nvtx_tool.session, name->data);
    else
        hd_session_track(nvtx_tool.session,
                         &(hd_session_track_info){.kind = HD_SESSION_TRACK_THREAD, .number = tid, .name = name->data});
}

static void *register_in(nvtx_domain domain, const nvtx_text *string)
{
    (void)domain; /* equal strings of all domains are one */
    return nvtx_register(string);
}

/* ---- the functions of NVTX, in the order of its tables ---- */

/* Most functions exist for each form of a text: `given` is a string or an event, from which `set` makes `text`. `none`
 * is the result of an ignored call. */
#define ENTRY(result, name, parameters, set, none, does)                                                               \
    static result name parameters                                                                                      \
    {                                                                                                                  \
        nvtx_text text;                                                                                                \
        nvtx_thread *here = enter();                                                                                   \
        if (!here) return none;                                                                                        \
        set(&text, given);                                                                                             \
        result value = does;                                                                                           \
        nvtx_leave();                                                                                                  \
        return value;                                                                                                  \
    }

#define VOID_ENTRY(name, parameters, set, does)                                                                        \
    static void name parameters                                                                                        \
    {                                                                                                                  \
        nvtx_text text;                                                                                                \
        nvtx_thread *here = enter();                                                                                   \
        if (!here) return;                                                                                             \
        set(&text, given);                                                                                             \
        does;                                                                                                          \
        nvtx_leave();                                                                                                  \
    }

VOID_ENTRY(on_mark_ex, (const nvtx_event *given), nvtx_text_of, mark(here, NULL, &text, given))
VOID_ENTRY(on_mark_a, (const char *given), nvtx_text_ascii, mark(here, NULL, &text, NULL))
VOID_ENTRY(on_mark_w, (const wchar_t *given), nvtx_text_wide, mark(here, NULL, &text, NULL))
ENTRY(nvtx_range, on_start_ex, (const nvtx_event *given), nvtx_text_of, 0, start(here, NULL, &text, given))
ENTRY(nvtx_range, on_start_a, (const char *given), nvtx_text_ascii, 0, start(here, NULL, &text, NULL))
ENTRY(nvtx_range, on_start_w, (const wchar_t *given), nvtx_text_wide, 0, start(here, NULL, &text, NULL))
ENTRY(int, on_push_ex, (const nvtx_event *given), nvtx_text_of, -2, push(here, NULL, &text, given))
ENTRY(int, on_push_a, (const char *given), nvtx_text_ascii, -2, push(here, NULL, &text, NULL))
ENTRY(int, on_push_w, (const wchar_t *given), nvtx_text_wide, -2, push(here, NULL, &text, NULL))
VOID_ENTRY(on_name_category_a, (uint32_t category, const char *given), nvtx_text_ascii,
           nvtx_name_category(0, category, &text))
VOID_ENTRY(on_name_category_w, (uint32_t category, const wchar_t *given), nvtx_text_wide,
           nvtx_name_category(0, category, &text))
VOID_ENTRY(on_name_thread_a, (uint32_t tid, const char *given), nvtx_text_ascii, name_thread(tid, &text))
VOID_ENTRY(on_name_thread_w, (uint32_t tid, const wchar_t *given), nvtx_text_wide, name_thread(tid, &text))
VOID_ENTRY(on_domain_mark, (nvtx_domain domain, const nvtx_event *given), nvtx_text_of,
           mark(here, domain, &text, given))
ENTRY(nvtx_range, on_domain_start, (nvtx_domain domain, const nvtx_event *given), nvtx_text_of, 0,
      start(here, domain, &text, given))
ENTRY(int, on_domain_push, (nvtx_domain domain, const nvtx_event *given), nvtx_text_of, -2,
      push(here, domain, &text, given))
VOID_ENTRY(on_domain_name_category_a, (nvtx_domain domain, uint32_t category, const char *given), nvtx_text_ascii,
           nvtx_name_category(nvtx_domain_of(domain), category, &text))
VOID_ENTRY(on_domain_name_category_w, (nvtx_domain domain, uint32_t category, const wchar_t *given), nvtx_text_wide,
           nvtx_name_category(nvtx_domain_of(domain), category, &text))
ENTRY(void *, on_register_a, (nvtx_domain domain, const char *given), nvtx_text_ascii, NULL, register_in(domain, &text))
ENTRY(void *, on_register_w, (nvtx_domain domain, const wchar_t *given), nvtx_text_wide, NULL,
      register_in(domain, &text))
ENTRY(nvtx_domain, on_create_a, (const char *given), nvtx_text_ascii, NULL, nvtx_domain_make(&text))
ENTRY(nvtx_domain, on_create_w, (const wchar_t *given), nvtx_text_wide, NULL, nvtx_domain_make(&text))

static int on_pop(void)
{
    return pop(NULL);
}

static void on_domain_finish(nvtx_domain domain, nvtx_range range)
{
    (void)domain; /* ids are unique in all */
    finish(range);
}

/* ---- attaching ---- */

#define PUT(name, function) [name] = (nvtx_function)(function)

static const nvtx_function core[] = {
    PUT(NVTX_MARK_EX, on_mark_ex),
    PUT(NVTX_MARK_A, on_mark_a),
    PUT(NVTX_MARK_W, on_mark_w),
    PUT(NVTX_RANGE_START_EX, on_start_ex),
    PUT(NVTX_RANGE_START_A, on_start_a),
    PUT(NVTX_RANGE_START_W, on_start_w),
    PUT(NVTX_RANGE_END, finish),
    PUT(NVTX_PUSH_EX, on_push_ex),
    PUT(NVTX_PUSH_A, on_push_a),
    PUT(NVTX_PUSH_W, on_push_w),
    PUT(NVTX_POP, on_pop),
    PUT(NVTX_NAME_CATEGORY_A, on_name_category_a),
    PUT(NVTX_NAME_CATEGORY_W, on_name_category_w),
    PUT(NVTX_NAME_THREAD_A, on_name_thread_a),
    PUT(NVTX_NAME_THREAD_W, on_name_thread_w),
};

static const nvtx_function core2[] = {
    PUT(NVTX_DOMAIN_MARK_EX, on_domain_mark),
    PUT(NVTX_DOMAIN_RANGE_START_EX, on_domain_start),
    PUT(NVTX_DOMAIN_RANGE_END, on_domain_finish),
    PUT(NVTX_DOMAIN_PUSH_EX, on_domain_push),
    PUT(NVTX_DOMAIN_POP, pop),
    PUT(NVTX_DOMAIN_NAME_CATEGORY_A, on_domain_name_category_a),
    PUT(NVTX_DOMAIN_NAME_CATEGORY_W, on_domain_name_category_w),
    PUT(NVTX_DOMAIN_REGISTER_A, on_register_a),
    PUT(NVTX_DOMAIN_REGISTER_W, on_register_w),
    PUT(NVTX_DOMAIN_CREATE_A, on_create_a),
    PUT(NVTX_DOMAIN_CREATE_W, on_create_w),
};

/* Unsupported functions (resources, names of devices) do nothing. */
static bool attach_table(const nvtx_callbacks_table *callbacks, uint32_t module, const nvtx_function *ours,
                         size_t count)
{
    nvtx_function **table = NULL;
    unsigned entries = 0;
    if (!callbacks->get_module(module, &table, &entries) || !table) return false;
    for (size_t i = 1; i < count && i < entries; i++) {
        if (ours[i] && table[i]) *table[i] = ours[i];
    }
    return true;
}

/* Called once for each library of the program that contains NVTX. 0: NVTX does nothing from here on. */
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(nvtx_get_table get_table);

int InitializeInjectionNvtx2(nvtx_get_table get_table)
{
    const nvtx_callbacks_table *callbacks = get_table ? get_table(NVTX_TABLE_CALLBACKS) : NULL;
    pthread_once(&once, prepare);
    if (!nvtx_tool.session || !callbacks || callbacks->bytes < sizeof *callbacks || !callbacks->get_module) return 0;
    /* Before version 2 there were no domains. */
    bool has_core = attach_table(callbacks, NVTX_MODULE_CORE, core, sizeof core / sizeof *core);
    bool has_core2 = attach_table(callbacks, NVTX_MODULE_CORE2, core2, sizeof core2 / sizeof *core2);
    return has_core || has_core2;
}
