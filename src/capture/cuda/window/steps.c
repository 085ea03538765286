/* steps.c - recognises steps, and opens and closes windows with them
 *
 * A step is a range, pushed or started, whose name is
 *   1. "ProfilerStep#N", as PyTorch's profiler writes them: its number is N;
 *   2. `step_name` of the options, or without it "step" or "iteration" in any case, alone or followed by a number
 *      ("step 12", "iteration_12", "Step#12"): its number is that, or without one the number of earlier steps.
 * After the first range of the first kind, the second kind no longer counts. Steps are of one thread, that of the first
 * step; steps do not nest. A window contains the steps A to B, or, with a budget, again and again those that budget.c
 * says.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/cuda/window/window.h"

#define PROFILER_STEP "ProfilerStep#"

atomic_bool window_counts_steps;

static struct {
    pthread_mutex_t lock;
    const cuda_options *options;
    int64_t from_ns; /* of the option delay_ms: steps before do not count */
    bool has_profiler, is_inside;
    bool has_opened; /* once: somebody else may close the window before the last step */
    uint64_t window; /* that steps opened; 0: it was open already */
    long thread;
    long forking;     /* the thread that forks */
    uint64_t number;  /* of the present step */
    uint64_t counted; /* of those without a number */
    uint64_t seen;
    budget budget; /* its share is 0: there is none */
} steps = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Digits to the end. false: other characters. */
static bool read_number(uint64_t *out, const char *text)
{
    uint64_t number = 0;
    size_t digits = 0;
    for (; isdigit((unsigned char)text[digits]); digits++) number = number * 10 + (uint64_t)(text[digits] - '0');
    *out = number;
    return digits > 0 && digits <= 18 && !text[digits];
}

/* `text` is `word`, or `word` followed by a number. */
static bool is_named(const char *text, const char *word, bool *has_number, uint64_t *number)
{
    size_t size = strlen(word);
    if (strncasecmp(text, word, size) != 0) return false;
    text += size;
    *has_number = *text != 0;
    if (!*text) return true;
    text += strspn(text, " _#:=-");
    return read_number(number, text);
}

typedef enum step_kind { STEP_NONE, STEP_PROFILER, STEP_NUMBERED, STEP_COUNTED } step_kind;

static step_kind classify(uint64_t *number, const char *text)
{
    const char *given = steps.options->step_name;
    bool has_number = false;
    if (!given[0] && !strchr("PSsIi", text[0])) return STEP_NONE; /* true of most ranges */
    if (!given[0] && strncmp(text, PROFILER_STEP, sizeof PROFILER_STEP - 1) == 0)
        return read_number(number, text + sizeof PROFILER_STEP - 1) ? STEP_PROFILER : STEP_NONE;
    bool is_step =
        given[0] ? is_named(text, given, &has_number, number)
                 : is_named(text, "step", &has_number, number) || is_named(text, "iteration", &has_number, number);
    if (!is_step) return STEP_NONE;
    return has_number ? STEP_NUMBERED : STEP_COUNTED;
}

bool window_is_step_name(const char *text)
{
    uint64_t number;
    return classify(&number, text) != STEP_NONE;
}

/* Under the lock. false: it is none that counts. */
static bool enter_step(const char *text)
{
    uint64_t number = 0;
    long thread = syscall(SYS_gettid);
    step_kind kind = classify(&number, text);
    if (kind == STEP_PROFILER && !steps.has_profiler) {
        steps.has_profiler = true;
        steps.thread = 0; /* whichever thread counted before */
        steps.is_inside = false;
    }
    if (kind == STEP_NONE || steps.is_inside || (steps.has_profiler && kind != STEP_PROFILER)) return false;
    if (steps.thread && steps.thread != thread) return false;
    if (hd_session_now() < steps.from_ns) return false;
    steps.thread = thread;
    steps.is_inside = true;
    steps.seen++;
    steps.number = kind == STEP_COUNTED ? steps.counted++ : number;
    return true;
}

static void open_window(const char *why)
{
    int64_t start_ns = hd_session_now();
    uint64_t window = window_open(why, 0);
    pthread_mutex_lock(&steps.lock);
    steps.window = window;
    budget_pay(&steps.budget, hd_session_now() - start_ns);
    pthread_mutex_unlock(&steps.lock);
}

static void close_window(const char *why, uint64_t window)
{
    int64_t start_ns = hd_session_now();
    window_close(why, window);
    pthread_mutex_lock(&steps.lock);
    budget_pay(&steps.budget, hd_session_now() - start_ns);
    pthread_mutex_unlock(&steps.lock);
}

/* The last step is over: the window to close; 0: none. Under the lock. */
static uint64_t take_window(void)
{
    uint64_t window = steps.window;
    steps.window = 0;
    steps.has_opened = false;
    return window;
}

bool window_step_begins(const char *text)
{
    char why[WINDOW_WHY_BYTES];
    uint64_t unused;
    int64_t now_ns = hd_session_now();
    if (!text || classify(&unused, text) == STEP_NONE) return false;
    pthread_mutex_lock(&steps.lock);
    bool counts = enter_step(text);
    uint64_t number = steps.number;
    bool is_within = number >= steps.options->step_first && number <= steps.options->step_last;
    bool is_behind = number > steps.options->step_last;
    if (counts && steps.budget.share > 0) {
        is_within = budget_begins(&steps.budget, number, now_ns);
        is_behind = !is_within;
    }
    bool opens = counts && is_within && !steps.has_opened;
    uint64_t window = counts && is_behind ? take_window() : 0;
    if (opens) steps.has_opened = true;
    const char *slow = opens && steps.budget.is_anomaly ? "slow " : "";
    pthread_mutex_unlock(&steps.lock);
    snprintf(why, sizeof why, "%sstep %llu", slow, (unsigned long long)number);
    if (opens) open_window(why);
    if (window) close_window(why, window);
    return counts;
}

void window_step_ends(void)
{
    char why[WINDOW_WHY_BYTES];
    pthread_mutex_lock(&steps.lock);
    uint64_t number = steps.number;
    bool is_last = steps.budget.share > 0 ? budget_ends(&steps.budget) : number == steps.options->step_last;
    uint64_t window = steps.is_inside && is_last ? take_window() : 0;
    steps.is_inside = false;
    pthread_mutex_unlock(&steps.lock);
    snprintf(why, sizeof why, "step %llu", (unsigned long long)number);
    if (window) close_window(why, window);
}

void window_steps_fork(int phase)
{
    if (phase < 0) {
        pthread_mutex_lock(&steps.lock);
        steps.forking = syscall(SYS_gettid);
        return;
    }
    if (phase > 0) {
        /* The child has one thread, with a new number. If steps were another thread's, its first step makes them its
         * own. */
        bool is_same = steps.thread == steps.forking;
        steps.thread = is_same ? syscall(SYS_gettid) : 0;
        steps.is_inside = steps.is_inside && is_same;
        steps.budget = (budget){.share = steps.budget.share}; /* the parent's windows are in its trace */
    }
    pthread_mutex_unlock(&steps.lock);
}

uint64_t window_steps_seen(void)
{
    pthread_mutex_lock(&steps.lock);
    uint64_t seen = steps.seen;
    pthread_mutex_unlock(&steps.lock);
    return seen;
}

bool window_steps_budget(budget *out)
{
    pthread_mutex_lock(&steps.lock);
    *out = steps.budget;
    pthread_mutex_unlock(&steps.lock);
    return out->share > 0;
}

void window_steps_start(const cuda_tracer *tracer)
{
    const cuda_options *options = &tracer->options;
    if (!window_is_by_steps(options)) return;
    steps.budget.share = (double)options->budget_ppm / 1e6;
    uint64_t delay_ms = options->delay_ms < INT64_MAX / 2000000 ? options->delay_ms : INT64_MAX / 2000000;
    steps.options = options;
    steps.from_ns = options->delay_ms ? tracer->start_ns + (int64_t)delay_ms * 1000000 : 0;
    atomic_store_explicit(&window_counts_steps, true, memory_order_release);
}
