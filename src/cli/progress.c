/* progress.c - how far long work is, on a terminal */
#include "cli/cli.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

enum { SECOND_NS = 1000000000, REDRAW_NS = SECOND_NS / 10, TENTHS = 10 };

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

void cli_progress_init(cli_progress *progress, const cli_run *run, const char *verb)
{
    *progress = (cli_progress){.verb = verb, .started_ns = now_ns()};
    progress->on = !run->global.quiet && isatty(STDERR_FILENO);
}

void cli_progress_init_later(cli_progress *progress, const cli_run *run, const char *verb)
{
    cli_progress_init(progress, run, verb);
    progress->started_ns = 0;
}

void cli_progress_init_analysis(cli_progress *progress, const cli_run *run)
{
    cli_progress_init(progress, run, "analysing");
    progress->shares = true;
}

static void draw(const cli_progress *progress, uint64_t done, uint64_t total, uint64_t elapsed_ns)
{
    double seconds = (double)elapsed_ns / SECOND_NS;
    double rate = (double)done / seconds;
    fprintf(stderr, "%s%s ", progress->in_lines ? "heddle: " : "\r", progress->verb);
    if (total) fprintf(stderr, "%3.0f%%  ", 100.0 * (double)done / (double)total);
    if (progress->files)
        fprintf(stderr, "%" PRIu64 " of %" PRIu64 " files  %.1f files/s", done, total, rate);
    else if (progress->shares)
        fprintf(stderr, "%.0f %%/s", 100 * rate / (double)total);
    else if (progress->events)
        fprintf(stderr, "%.1f M events  %.1f M/s", (double)done / 1e6, rate / 1e6);
    else
        fprintf(stderr, "%.1f MB  %.0f MB/s", (double)done / 1e6, rate / 1e6);
    if (total > done && rate > 0) fprintf(stderr, "  %.0f s left", (double)(total - done) / rate);
    fputs(progress->in_lines ? "\n" : "\033[K", stderr);
    fflush(stderr);
}

void cli_progress_in_lines(cli_progress *progress, const cli_run *run)
{
    progress->in_lines = !progress->on && !run->global.quiet;
    progress->on |= progress->in_lines;
}

void cli_progress_update(void *user, uint64_t done, uint64_t total)
{
    cli_progress *progress = user;
    if (!progress->on) return;
    uint64_t now = now_ns();
    if (progress->started_ns == 0) progress->started_ns = now;
    uint64_t elapsed = now - progress->started_ns;
    if (elapsed < SECOND_NS) return;
    if (progress->in_lines) {
        if (done >= total || done * TENTHS / total <= progress->tenths) return;
        progress->tenths = (unsigned)(done * TENTHS / total);
        draw(progress, done, total, elapsed);
        return;
    }
    if (now - progress->shown_ns < REDRAW_NS) return;
    progress->shown_ns = now;
    progress->shown = true;
    draw(progress, done, total, elapsed);
}

void cli_progress_pause(cli_progress *progress)
{
    if (progress->shown) fputs("\r\033[K", stderr);
    progress->shown = false;
}

void cli_progress_deinit(cli_progress *progress)
{
    cli_progress_pause(progress);
    progress->on = false;
}
