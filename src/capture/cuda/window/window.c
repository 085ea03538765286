/* window.c - capture windows: opens and closes them, and records them in the trace
 *
 * A window that opens or closes while the program runs is a slice on the track "capture windows", a row in the metadata
 * and counted in the ledger. A capture that is open throughout has none of these.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "base/capture_windows.h"
#include "capture/cuda/window/window.h"

enum { CLOCK_PERIOD_S = 16 };

window_state window_all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static window_span *last_span(window_state *w)
{
    return &w->spans[(w->count - 1) % WINDOW_LOG];
}

/* ---- what the trace says ---- */

static void put_json_span(hd_bytes *out, const window_span *span, int64_t start_ns, bool is_first)
{
    char text[192];
    int n = snprintf(text, sizeof text, "%s{\"opened_ns\":%lld,\"opened_by\":\"%s\"", is_first ? "" : ",",
                     (long long)(span->open_ns - start_ns), span->opened_by);
    hd_bytes_put(out, text, (size_t)n);
    if (span->close_ns != INT64_MAX) {
        n = snprintf(text, sizeof text, ",\"closed_ns\":%lld,\"closed_by\":\"%s\"",
                     (long long)(span->close_ns - start_ns), span->closed_by);
        hd_bytes_put(out, text, (size_t)n);
    }
    hd_bytes_put(out, "}", 1);
}

/* What the windows of a budget cost, for programs; `text` is for people. Windows by the clock cannot be measured. */
static void put_json_budget(hd_bytes *out, const window_state *w)
{
    char text[BUDGET_TEXT + 256], words[BUDGET_TEXT];
    budget b;
    if (!window_steps_budget(&b)) return;
    budget_sum sum = budget_spent(&b);
    if (b.steps)
        budget_text(words, &b);
    else
        snprintf(words, sizeof words, "budget %g %%, cost not measured without steps, %llu windows", 100 * b.share,
                 (unsigned long long)w->count);
    int n =
        snprintf(text, sizeof text,
                 ",\"budget\":{\"share\":%g,\"every\":%llu,\"windows\":%llu,\"recordedSteps\":%llu,\"steps\":%llu,"
                 "\"timeNs\":%lld,\"spentNs\":%.0f,\"errorNs\":%.0f,\"text\":\"%s\"}",
                 b.share, (unsigned long long)b.every, (unsigned long long)b.windows, (unsigned long long)b.recorded,
                 (unsigned long long)b.steps, (long long)sum.time_ns, sum.spent_ns, sum.error_ns, words);
    hd_bytes_put(out, text, (size_t)n);
}

/* {"count": …, "spans": […]}: the last hundred, times since the session began. With a budget, which has windows for
 * days, each of which writes this, the last 20. Under the lock. */
static void describe(window_state *w)
{
    const uint64_t shown = w->tracer->options.budget_ppm ? 20 : 100;
    char text[64];
    hd_bytes json = {0};
    uint64_t first = w->count > shown ? w->count - shown : 0;
    int n = snprintf(text, sizeof text, "{\"count\":%llu,\"spans\":[", (unsigned long long)w->count);
    hd_bytes_put(&json, text, (size_t)n);
    for (uint64_t i = first; i < w->count; i++)
        put_json_span(&json, &w->spans[i % WINDOW_LOG], w->tracer->start_ns, i == first);
    hd_bytes_put(&json, "]", 1);
    put_json_budget(&json, w);
    hd_bytes_put(&json, "}", 2);
    if (!json.failed) cuda_describe_window(w->tracer, (const char *)json.data);
    hd_bytes_deinit(&json);
    hd_session_note(w->tracer->session, "window.count", HD_SESSION_NOTE, w->count);
}

static hd_session_record marker(window_state *w, hd_session_kind kind, int64_t time_ns)
{
    char name[WINDOW_WHY_BYTES + 32];
    hd_session *session = w->tracer->session;
    if (!w->track) {
        w->track = hd_session_track(session, &(hd_session_track_info){.kind = HD_SESSION_TRACK_THREAD,
                                                                      .number = HD_CAPTURE_WINDOWS_TID,
                                                                      .name = HD_CAPTURE_WINDOWS_NAME});
        w->category = hd_session_intern(session, HD_CAPTURE_WINDOWS_CATEGORY);
    }
    snprintf(name, sizeof name, "window %llu (%s)", (unsigned long long)w->count, last_span(w)->opened_by);
    return (hd_session_record){.kind = kind,
                               .track = w->track,
                               .time_ns = time_ns,
                               .name = hd_session_intern(session, name),
                               .category = w->category};
}

static void mark_open(window_state *w)
{
    hd_session_record record = marker(w, HD_SESSION_BEGIN, last_span(w)->open_ns);
    hd_session_emit(w->tracer->session, &record);
    w->has_marker = true;
}

static void mark_close(window_state *w)
{
    const window_span *span = last_span(w);
    hd_session_record record = marker(w, w->has_marker ? HD_SESSION_END : HD_SESSION_SLICE, span->close_ns);
    if (!w->has_marker) {
        record.time_ns = span->open_ns;
        record.value = (uint64_t)(span->close_ns - span->open_ns);
    } else {
        record.name = record.category = 0;
    }
    hd_session_emit(w->tracer->session, &record);
    w->has_marker = false;
}

/* ---- open and close ---- */

static void add_span(window_state *w, const char *why, int64_t now)
{
    w->count++;
    window_span *span = last_span(w);
    *span = (window_span){.open_ns = now, .close_ns = INT64_MAX};
    snprintf(span->opened_by, sizeof span->opened_by, "%s", why);
}

static int64_t after_ms(int64_t now, uint64_t ms)
{
    if (!ms) return 0;
    return ms > (uint64_t)(INT64_MAX - now) / 1000000 ? INT64_MAX : now + (int64_t)ms * 1000000;
}

uint64_t window_open(const char *why, uint64_t duration_ms)
{
    window_state *w = &window_all;
    pthread_mutex_lock(&w->lock);
    bool opens = w->tracer && !window_is_open();
    if (opens) {
        const cuda_options *options = &w->tracer->options;
        int64_t now = hd_session_now();
        w->open_at_ns = 0;
        w->close_at_ns = after_ms(now, duration_ms ? duration_ms : options->duration_ms);
        add_span(w, why, now);
        mark_open(w);
        window_memory_opened(now);
        cuda_capture_set(w->tracer, true);
        describe(w);
    }
    bool is_timed = opens && w->close_at_ns;
    uint64_t number = opens ? w->count : 0;
    pthread_mutex_unlock(&w->lock);
    if (is_timed) control_wake();
    return number;
}

bool window_close(const char *why, uint64_t number)
{
    window_state *w = &window_all;
    pthread_mutex_lock(&w->lock);
    bool closes = w->tracer && window_is_open() && w->count && (number == WINDOW_ANY || number == w->count);
    if (closes) {
        cuda_capture_set(w->tracer, false);
        window_span *span = last_span(w);
        span->close_ns = hd_session_now();
        snprintf(span->closed_by, sizeof span->closed_by, "%s", why);
        w->close_at_ns = 0;
        w->is_default = false;
        window_memory_closed(span->close_ns);
        mark_close(w);
        describe(w);
    }
    pthread_mutex_unlock(&w->lock);
    return closes;
}

/* With a budget and without steps: the next multiple of CLOCK_PERIOD_S of the wall clock, on all ranks the same. */
static int64_t next_by_clock(void)
{
    struct timespec wall;
    const int64_t period = CLOCK_PERIOD_S * INT64_C(1000000000);
    clock_gettime(CLOCK_REALTIME, &wall);
    return hd_session_now() + period - ((int64_t)wall.tv_sec * 1000000000 + wall.tv_nsec) % period;
}

static void open_when_due(void)
{
    window_state *w = &window_all;
    const cuda_options *options = &cuda_the_tracer.options;
    if (!options->budget_ppm) {
        window_open("delay", 0);
        return;
    }
    bool has_steps = window_steps_seen() != 0;
    int64_t from_ns = cuda_the_tracer.start_ns + (int64_t)(options->delay_ms + CLOCK_PERIOD_S * 1000) * 1000000;
    if (!has_steps && hd_session_now() >= from_ns)
        window_open("clock",
                    options->budget_ppm * CLOCK_PERIOD_S / 1000 ? options->budget_ppm * CLOCK_PERIOD_S / 1000 : 1);
    pthread_mutex_lock(&w->lock);
    w->open_at_ns = has_steps ? 0 : next_by_clock();
    pthread_mutex_unlock(&w->lock);
}

int64_t window_keep_time(void)
{
    window_state *w = &window_all;
    int64_t now = hd_session_now();
    pthread_mutex_lock(&w->lock);
    int64_t open_at = w->open_at_ns, close_at = w->close_at_ns;
    uint64_t number = w->count;
    pthread_mutex_unlock(&w->lock);
    if (open_at && open_at <= now) open_when_due();
    if (close_at && close_at <= now) window_close("duration", number);
    int64_t next = window_memory_keep_time(now);
    pthread_mutex_lock(&w->lock);
    if (w->open_at_ns && w->open_at_ns < next) next = w->open_at_ns;
    if (w->close_at_ns && w->close_at_ns < next) next = w->close_at_ns;
    pthread_mutex_unlock(&w->lock);
    return next;
}

/* ---- beginning and end ---- */

static void before_fork(void)
{
    nvtx_quiet(1);
    pthread_mutex_lock(&window_all.lock);
    window_steps_fork(-1);
    window_memory_fork(-1);
    nvtx_fork(-1);
}

static void in_parent(void)
{
    nvtx_fork(0);
    window_memory_fork(0);
    window_steps_fork(0);
    pthread_mutex_unlock(&window_all.lock);
    nvtx_quiet(-1);
}

/* The parent's marks are in the parent's file: the child's first window counts as open from the beginning. */
static void in_child(void)
{
    nvtx_fork(1);
    window_memory_fork(1);
    window_steps_fork(1);
    window_all.has_marker = false;
    if (window_all.count && last_span(&window_all)->close_ns == INT64_MAX)
        last_span(&window_all)->open_ns = hd_session_now();
    control_forked();
    pthread_mutex_unlock(&window_all.lock);
    nvtx_quiet(-1);
}

void cuda_window_start(cuda_tracer *tracer)
{
    window_state *w = &window_all;
    const cuda_options *options = &tracer->options;
    bool is_open = atomic_load(&tracer->is_open);
    pthread_mutex_lock(&w->lock);
    w->tracer = tracer;
    if (is_open) {
        add_span(w, "start", tracer->start_ns);
        w->is_default = true;
        w->close_at_ns = after_ms(tracer->start_ns, options->duration_ms);
    } else if (options->budget_ppm) {
        w->open_at_ns = next_by_clock();
    } else if (options->delay_ms && !options->has_steps) {
        w->open_at_ns = after_ms(tracer->start_ns, options->delay_ms);
    }
    pthread_mutex_unlock(&w->lock);
    window_memory_start(tracer);
    window_steps_start(tracer);
    pthread_atfork(before_fork, in_parent, in_child);
    control_start(tracer);
}

void cuda_window_end(cuda_tracer *tracer)
{
    window_state *w = &window_all;
    nvtx_quiet(1);
    control_stop();
    nvtx_end();
    pthread_mutex_lock(&w->lock);
    bool is_default = w->is_default;
    uint64_t count = w->count;
    pthread_mutex_unlock(&w->lock);
    if (!is_default) window_close("end", WINDOW_ANY);
    /* The requested steps did not occur: note which ones did. */
    if (!count) hd_session_note(tracer->session, "window.never-opened", HD_SESSION_LOSS, 1);
    if (!count && window_is_by_steps(&tracer->options))
        hd_session_note(tracer->session, "window.steps-seen", HD_SESSION_NOTE, window_steps_seen());
    pthread_mutex_lock(&w->lock);
    if (tracer->options.budget_ppm) describe(w); /* with the steps since the last window */
    w->tracer = NULL;                            /* nothing opens from here on */
    pthread_mutex_unlock(&w->lock);
    nvtx_quiet(-1);
}
