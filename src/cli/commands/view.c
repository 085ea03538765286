/* view.c - heddle view: traces in a browser */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/job_in.h"
#include "cli/report_out.h"
#include "cli/shared_options.h"
#include "cli/times.h"
#include "heddle/analysis/diff.h"
#include "heddle/capture/devices.h"
#include "heddle/view.h"

extern char **environ;

struct view_options {
    cli_texts before, after;
    const char *port, *listen, *binary, *counters, *traces, *save, *from, *until, *tracks, *anonymize, *salt;
    bool no_open, token, summaries, diff;
    uint64_t memory_limit, threads;
    double stop_after_s;
};

static const cli_option options[] = {
    {.name = "port",
     .letter = 'p',
     .kind = CLI_TEXT,
     .value = "N",
     .field = offsetof(struct view_options, port),
     .help = "listen on this port, 0 for any free one; else it is 8383, or the next free one"},
    {.name = "no-open",
     .kind = CLI_FLAG,
     .field = offsetof(struct view_options, no_open),
     .help = "print the address, and open no browser"},
    {.name = "listen",
     .kind = CLI_TEXT,
     .value = "ADDR",
     .field = offsetof(struct view_options, listen),
     .help = "listen on this address of the machine (0.0.0.0: on all), so that users on other machines can open the "
             "printed address, which contains a token"},
    {.name = "token",
     .kind = CLI_FLAG,
     .field = offsetof(struct view_options, token),
     .help = "demand the token on this machine too, where others have accounts on it"},
    {.name = "stop-after",
     .kind = CLI_DECIMAL,
     .value = "S",
     .min = 0,
     .max = 1e8,
     .field = offsetof(struct view_options, stop_after_s),
     .help = "stop after so many seconds; else at Ctrl+C"},
    {.name = "memory-limit",
     .kind = CLI_COUNT,
     .value = "BYTES",
     .field = offsetof(struct view_options, memory_limit),
     .help = "memory for events; the rest goes to a mapped temporary file. 0 is 64 MiB"},
    {.name = "threads",
     .letter = 'j',
     .kind = CLI_COUNT,
     .value = "N",
     .max = 1024,
     .field = offsetof(struct view_options, threads),
     .help = "threads that read; 0 is one per core"},
    OPTION_BINARY(.field = offsetof(struct view_options, binary)),
    OPTION_COUNTERS(.field = offsetof(struct view_options, counters)),
    {.name = "summaries",
     .kind = CLI_FLAG,
     .field = offsetof(struct view_options, summaries),
     .help = "keep only a summary of each trace, and open a rank's trace when it is clicked; default with more than 32 "
             "files"},
    {.name = "traces",
     .kind = CLI_TEXT,
     .value = "FOLDER",
     .offer = "<folders>",
     .field = offsetof(struct view_options, traces),
     .help = "folder of the traces that summaries (.hds) were made from (default: next to them)"},
    {.name = "diff",
     .letter = 'd',
     .kind = CLI_FLAG,
     .field = offsetof(struct view_options, diff),
     .help = "compare two files, BEFORE AFTER, as heddle diff does: both on one axis, step by step, with the changes "
             "coloured and listed"},
    {.name = "before",
     .kind = CLI_TEXTS,
     .value = "FILE",
     .offer = "<files>",
     .field = offsetof(struct view_options, before),
     .help = "with --diff, one of several files of the side before: ranks of a job, or further runs of a rank"},
    {.name = "after",
     .kind = CLI_TEXTS,
     .value = "FILE",
     .offer = "<files>",
     .field = offsetof(struct view_options, after),
     .help = "likewise, after"},
    {.name = "save",
     .letter = 's',
     .kind = CLI_TEXT,
     .value = "FILE.html",
     .offer = "<files>",
     .field = offsetof(struct view_options, save),
     .help = "write one HTML file with the viewer and the traces in it, which any browser opens without a server; "
             "start none"},
    OPTION_FROM(.field = offsetof(struct view_options, from)),
    OPTION_UNTIL(.field = offsetof(struct view_options, until)),
    {.name = "tracks",
     .kind = CLI_TEXT,
     .value = "PATTERNS",
     .field = offsetof(struct view_options, tracks),
     .help = "with --save, keep the tracks whose name, process name or PROCESS/THREAD matches, as heddle convert does"},
    OPTION_ANONYMIZE(.field = offsetof(struct view_options, anonymize)),
    OPTION_SALT(.field = offsetof(struct view_options, salt)),
    {0},
};

enum { TRACES_OPEN = 32 };

/* ---- what goes wrong while it runs ---- */

/* Errors come from the threads that read, and are printed as they come. */
typedef struct view_errors {
    pthread_mutex_t lock;
    cli_run *run; /* NULL: printing has ended */
    int wake[2];  /* a pipe to the thread that waits */
    bool is_left; /* to the end of the process */
} view_errors;

static void on_failed(void *user, const char *path, const hd_error *why)
{
    view_errors *errors = user;
    pthread_mutex_lock(&errors->lock);
    cli_run *run = errors->run;
    if (run) {
        run->err = *why;
        if (!run->err.path[0]) snprintf(run->err.path, sizeof run->err.path, "%s", path);
        cli_report(run);
    }
    pthread_mutex_unlock(&errors->lock);
    ssize_t ignored = write(errors->wake[1], "", 1);
    (void)ignored;
}

/* The files that exist; missing ones are reported at once. */
static hd_status find_files(job_files *files, cli_run *run, const char *const *operands, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *path = operands[i];
        if (strcmp(path, "-") == 0 || access(path, R_OK) == 0) {
            if (job_files_add(files, run, path) != HD_OK) return HD_ERR_MEMORY;
            continue;
        }
        hd_error_set(&run->err, HD_ERR_IO, path, HD_OFFSET_NONE, "%s", strerror(errno));
        cli_report(run);
    }
    return HD_OK;
}

/* ---- a browser ---- */

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value && *value;
}

static bool has_display(void)
{
#ifdef __APPLE__
    return !is_set("SSH_CONNECTION");
#else
    return is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
#endif
}

/* A page that only this account can read and that leads to the address: arguments of commands, which have the token of
 * the address in them, can be read by all accounts. Its name as file://PATH, for free; NULL: it cannot be made. */
static char *make_private_page(const char *url)
{
    static const char form[] =
        "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url=%s\"><a href=\"%s\">Heddle</a>\n";
    char *page;
    const char *folder = is_set("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    if (asprintf(&page, "file://%s/heddle-view-XXXXXX.html", folder) < 0) return NULL;
    char *path = page + strlen("file://");
    int fd = mkostemps(path, (int)strlen(".html"), O_CLOEXEC);
    if (fd >= 0 && dprintf(fd, form, url, url) > 0 && close(fd) == 0) {
        cli_remove_at_stop(path);
        return page;
    }
    if (fd >= 0) unlink(path);
    free(page);
    return NULL;
}

static void remove_private_page(char *page)
{
    cli_remove_at_stop(NULL);
    if (page) unlink(page + strlen("file://"));
    free(page);
}

/* In a process group of its own, so that Ctrl+C does not end it, and without our signal mask. */
static void open_browser(const char *url, const sigset_t *signals)
{
#ifdef __APPLE__
    const char *program = "open";
#else
    const char *program = is_set("BROWSER") ? getenv("BROWSER") : "xdg-open";
#endif
    char *words[] = {(char *)(uintptr_t)program, (char *)(uintptr_t)url, NULL};
    posix_spawn_file_actions_t quiet;
    posix_spawnattr_t attributes;
    pid_t child;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, signals);
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnp(&child, program, &quiet, &attributes, words, environ); /* without it the printed address does */
    posix_spawn_file_actions_destroy(&quiet);
    posix_spawnattr_destroy(&attributes);
}

/* ---- what is printed ---- */

static void print_address(cli_run *run, const hd_view *view)
{
    const char *url = hd_view_url(view), *token = hd_view_token(view);
    if (run->global.json) {
        cli_print(run, "{" CLI_SCHEMA("view") ", ");
        report_json_text(run, "url", url);
        cli_print(run, ", \"port\": %u, ", hd_view_port(view));
        if (token)
            report_json_text(run, "token", token);
        else
            cli_print(run, "\"token\": null");
        cli_print(run, "}\n");
    } else {
        cli_print(run, "%s\n", url);
    }
    fflush(stdout);
}

/* Over SSH the address is of another machine than the browser's. */
static void print_hints(cli_run *run, const hd_view *view)
{
    const struct view_options *chosen = run->options;
    char host[256] = "HOST";
    if (run->global.quiet || run->global.json) return;
    if (!chosen->listen && is_set("SSH_CONNECTION") && !has_display()) {
        gethostname(host, sizeof host - 1);
        fprintf(stderr, "On your own machine: ssh -L %u:localhost:%u %s, then open the address there.\n",
                hd_view_port(view), hd_view_port(view), host);
    }
    if (chosen->stop_after_s == 0) fputs("Ctrl+C stops.\n", stderr);
}

/* ---- waiting ---- */

static void on_signal(int number)
{
    (void)number; /* the handler only has to interrupt pselect */
}

/* Signals that end the view are blocked, but while it waits: *waiting is the mask for that. */
static void take_signals(sigset_t *before, sigset_t *waiting)
{
    const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal}, old;
    sigset_t ours;
    sigemptyset(&ours);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        sigaction(numbers[i], NULL, &old);
        if (numbers[i] == SIGHUP && old.sa_handler == SIG_IGN) continue; /* nohup */
        sigaddset(&ours, numbers[i]);
        sigaction(numbers[i], &action, NULL);
    }
    pthread_sigmask(SIG_BLOCK, &ours, before);
    *waiting = *before;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (sigismember(&ours, numbers[i])) sigdelset(waiting, numbers[i]);
    }
}

/* Shows on a terminal how far reading is. false: nothing is left to read. */
static bool show_reading(cli_progress *progress, const hd_view *view)
{
    uint64_t done, total;
    if (!progress->on) return false;
    hd_view_progress(&done, &total, view);
    if (total)
        cli_progress_update(progress, done, total);
    else
        cli_progress_pause(progress);
    return hd_view_reading(view) > 0;
}

/* Until a signal, the time given, or the failure of every file. */
static void wait_for_end(cli_run *run, hd_view *view, size_t count, int wake, const sigset_t *waiting)
{
    enum { LOOK_NS = 100000000 };
    const struct view_options *chosen = run->options;
    struct timespec now, end;
    char byte;
    cli_progress progress;
    cli_progress_init(&progress, run, "reading");
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += (time_t)chosen->stop_after_s;
    end.tv_nsec += (long)((chosen->stop_after_s - (double)(time_t)chosen->stop_after_s) * 1e9);
    while (!count || hd_view_failures(view) < count) {
        fd_set set;
        FD_ZERO(&set);
        FD_SET(wake, &set);
        clock_gettime(CLOCK_MONOTONIC, &now);
        int64_t left = (int64_t)(end.tv_sec - now.tv_sec) * 1000000000 + (end.tv_nsec - now.tv_nsec);
        if (chosen->stop_after_s > 0 && left <= 0) break;
        bool is_reading = show_reading(&progress, view), has_end = chosen->stop_after_s > 0;
        if (is_reading && (!has_end || left > LOOK_NS)) left = LOOK_NS;
        struct timespec wait = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
        int ready = pselect(wake + 1, &set, NULL, NULL, is_reading || has_end ? &wait : NULL, waiting);
        if (ready < 0 || (ready > 0 && read(wake, &byte, 1) < 0)) break;
    }
    cli_progress_deinit(&progress);
}

/* Memory of a request goes back to the system after it: blocks of 256 kB and more are mapped separately (glibc
 * otherwise keeps freed memory), and threads share few heaps. */
static void choose_heap(void)
{
#ifdef __GLIBC__
    enum { OWN_PAGES = 1 << 18, KEPT = 1 << 20, HEAPS = 2 };
    mallopt(M_MMAP_THRESHOLD, OWN_PAGES);
    mallopt(M_TRIM_THRESHOLD, KEPT);
    mallopt(M_ARENA_MAX, HEAPS);
#endif
}

/* ---- the command ---- */

static int parse_port(cli_run *run, hd_view_options *out)
{
    const struct view_options *chosen = run->options;
    const cli_option number = {.name = "port", .kind = CLI_INTEGER, .max = UINT16_MAX};
    char problem[160];
    int64_t port = HD_VIEW_PORT;
    if (chosen->port && !cli_value_parse(&number, &port, chosen->port, problem, sizeof problem))
        return cli_usage_error(run, "--port: '%.60s' %s", chosen->port, problem);
    out->port = (uint16_t)port;
    out->next_port = !chosen->port;
    return CLI_OK;
}

/* before: so many are the side before of a diff. */
static int serve(cli_run *run, const char *const *paths, size_t count, size_t before_count, view_errors *errors)
{
    enum { STOP_MS = 500 };
    const struct view_options *chosen = run->options;
    char engine[PATH_MAX];
    bool has_engine = hd_devices_library(engine, sizeof engine, "engine.html");
    hd_view_options start = {.listen = chosen->listen,
                             .token = chosen->token,
                             .threads = (unsigned)chosen->threads,
                             .memory_limit = chosen->memory_limit,
                             .binary = chosen->binary,
                             .counters = chosen->counters,
                             .traces = chosen->traces,
                             .summaries = chosen->summaries || count > TRACES_OPEN,
                             .diff_before = before_count,
                             .engine = has_engine ? engine : NULL,
                             .failed = on_failed,
                             .failed_user = errors};
    sigset_t before, waiting;
    hd_view *view = NULL;
    if (start.counters && start.summaries)
        return cli_usage_error(run, "--counters joins whole traces, and of so many only summaries are kept");
    if (parse_port(run, &start) != CLI_OK) return CLI_USAGE;
    choose_heap();
    take_signals(&before, &waiting);
    hd_status status = hd_view_start(&view, paths, count, &start, &run->err);
    int exit_status = status == HD_OK ? CLI_OK : status == HD_ERR_ARGUMENT ? CLI_USAGE : CLI_FAILED;
    if (status == HD_OK) {
        print_address(run, view);
        print_hints(run, view);
        bool has_secret = hd_view_token(view) && strstr(hd_view_url(view), hd_view_token(view));
        bool opens = !chosen->no_open && !run->out_error && has_display();
        char *page = opens && has_secret ? make_private_page(hd_view_url(view)) : NULL;
        if (opens && (page || !has_secret)) open_browser(page ? page : hd_view_url(view), &before);
        if (!run->out_error) wait_for_end(run, view, count, errors->wake[0], &waiting);
        remove_private_page(page);
        if (count && hd_view_failures(view) == count) exit_status = CLI_FAILED;
        if (hd_view_stop(view, STOP_MS)) {
            hd_view_free(view);
            view = NULL;
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_mutex_lock(&errors->lock);
    errors->run = NULL; /* a file that is still being read is left to the end of the process, as are its errors */
    errors->is_left = view != NULL;
    pthread_mutex_unlock(&errors->lock);
    return exit_status;
}

static int check_sides(cli_run *run)
{
    const struct view_options *o = run->options;
    return cli_check_sides(run, o->diff, &o->before, &o->after, "BEFORE AFTER");
}

/* Those of the side before come first. Of a diff with a file that does not exist nothing is shown. */
static int find_all(job_files *files, size_t *out_before, cli_run *run)
{
    const struct view_options *o = run->options;
    size_t before = o->before.count ? o->before.count : o->diff ? 1 : 0;
    const char *const *operands = run->operands;
    hd_status status = find_files(files, run, o->before.count ? o->before.items : operands, before);
    *out_before = files->count;
    if (status == HD_OK && o->after.count)
        status = find_files(files, run, o->after.items, o->after.count);
    else if (status == HD_OK)
        status = find_files(files, run, operands + before, (size_t)run->operand_count - before);
    bool is_named = o->diff || run->operand_count > 0; /* else the viewer waits for a file to be dropped on it */
    if (status != HD_OK || (is_named && !files->count) || (o->diff && run->reported)) return CLI_FAILED;
    for (size_t i = 0; o->diff && i < files->count; i++)
        if (hd_job_is_file(files->list[i]) || hd_diff_is_file(files->list[i]))
            return cli_usage_error(run, "--diff shows traces: '%.200s' is a summary or a baseline", files->list[i]);
    if (o->diff && (files->count > TRACES_OPEN || *out_before == files->count || !*out_before))
        return cli_usage_error(run, "--diff compares two sides of %d traces at most together", TRACES_OPEN);
    return CLI_OK;
}

/* ---- without a server ---- */

static int check_save(cli_run *run)
{
    const struct view_options *o = run->options;
    if (!o->save && (o->from || o->until || o->tracks || o->anonymize))
        return cli_usage_error(run, "--from, --until, --tracks and --anonymize are for --save");
    if (o->salt && !o->anonymize) return cli_usage_error(run, "--salt needs --anonymize");
    if (!o->save) return CLI_OK;
    if (o->diff || o->summaries || o->listen || o->port || o->token)
        return cli_usage_error(run,
                               "--save starts no server: it takes no --diff, --summaries, --listen, --port, --token");
    if (o->counters)
        return cli_usage_error(run, "--save takes no --counters: heddle convert --counters comes before it");
    return CLI_OK;
}

static int save_page(cli_run *run, const char *const *paths, size_t count)
{
    const struct view_options *o = run->options;
    char engine[PATH_MAX];
    hd_view_save_options save = {.engine = engine,
                                 .tracks = o->tracks,
                                 .anonymize = o->anonymize,
                                 .salt = o->salt,
                                 .threads = (unsigned)o->threads,
                                 .memory_limit = o->memory_limit};
    int status = cli_parse_time(run, &save.from, "--from", o->from);
    if (status == CLI_OK) status = cli_parse_time(run, &save.until, "--until", o->until);
    if (status != CLI_OK) return status;
    if (!hd_devices_library(engine, sizeof engine, "engine.html")) {
        hd_error_set(
            &run->err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE,
            "--save needs the viewer's engine, share/heddle/engine.html, which is not installed: run make wasm "
            "in Heddle's source, then make install");
        return CLI_FAILED;
    }
    cli_progress reading, writing;
    cli_progress_init(&reading, run, "reading");
    cli_progress_init_later(&writing, run, "writing");
    writing.events = true;
    save.reading = save.writing = cli_progress_update;
    save.reading_user = &reading;
    save.writing_user = &writing;
    hd_status saved = hd_view_save(o->save, paths, count, &save, &run->err);
    cli_progress_deinit(&reading);
    cli_progress_deinit(&writing);
    return saved == HD_OK ? CLI_OK : CLI_FAILED;
}

static int run_view(cli_run *run, view_errors *errors)
{
    const struct view_options *o = run->options;
    job_files files = {0};
    size_t before;
    int status = check_sides(run);
    if (status == CLI_OK) status = check_save(run);
    if (status == CLI_OK) status = find_all(&files, &before, run);
    if (status == CLI_OK && o->save)
        status = save_page(run, (const char *const *)files.list, files.count);
    else if (status == CLI_OK)
        status = serve(run, (const char *const *)files.list, files.count, before, errors);
    job_files_deinit(&files);
    return status == CLI_OK && run->reported ? CLI_FOUND : status;
}

static int run(cli_run *run)
{
    if (!hd_view_has_server() || !hd_view_has_page()) {
        hd_error_set(&run->err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE,
                     "this heddle was built without %s: %s, and build it again",
                     hd_view_has_server() ? "its page" : "libmicrohttpd",
                     hd_view_has_server() ? "install Node.js 18 and npm (tools/setup.sh)"
                                          : "install it (Debian: libmicrohttpd-dev)");
        return CLI_FAILED;
    }
    view_errors *errors = calloc(1, sizeof *errors);
    int status = CLI_FAILED;
    if (!errors) {
        hd_error_set(&run->err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
    } else if (pipe2(errors->wake, O_CLOEXEC) != 0) {
        errors->wake[0] = errors->wake[1] = -1;
        hd_error_set(&run->err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "no pipe: %s", strerror(errno));
    } else {
        pthread_mutex_init(&errors->lock, NULL);
        errors->run = run;
        status = run_view(run, errors);
    }
    if (!errors || errors->is_left) return status;
    if (errors->wake[0] >= 0) close(errors->wake[0]);
    if (errors->wake[1] >= 0) close(errors->wake[1]);
    free(errors);
    return status;
}

const cli_command cmd_view = {
    .name = "view",
    .group = CLI_START,
    .summary = "show traces in a browser: timeline, search, SQL",
    .usage = "[FILE...]",
    .offer = "<files>",
    .description =
        "Reads the files, prints an address, and opens it in a browser if there is a display. The web UI is "
        "available at once, while files of any format are read; a store (heddle convert) opens in milliseconds. "
        "Several files are the ranks of one run: they share one time axis, by Unix time if all of them contain it. "
        "Clock offsets are corrected as heddle clocks does where the traces have enough collectives. A folder opens "
        "its traces, or if it has none, its summaries (.hds), or dumps of flight recorders. Files dropped on the web "
        "UI are opened too.\n\n"
        "Summaries (heddle job summarize) are shown as a job of any number of ranks: a heat map of its steps. A "
        "click opens the trace of that rank and of two peers, aligned, with their collectives drawn across them, if "
        "the traces exist.\n\n"
        "--save FILE.html writes the viewer and the traces as one file that opens in any browser, without a server and "
        "without a network: the same analysis code runs in it as WebAssembly. Without FILE it is an empty viewer, for "
        "a web site: traces dropped on it are read in the browser, and sent nowhere.\n\n"
        "Without FILE the viewer shows a place to drop one, and the files opened in this browser before, if the "
        "browser allows it to reopen them.\n\n"
        "Nothing leaves the machine: the web UI is part of this program, loads nothing else, and changes no file. "
        "Only this machine can open it, and web sites cannot make a browser do so. With --listen other machines can "
        "open it if they have the address with its token.\n\n"
        "On a machine without a display, for example a GPU node, forward the port: ssh -L 8383:localhost:8383 HOST, "
        "and open http://localhost:8383/ on your own.\n\n"
        "With --json standard output is one line: {\"url\", \"port\", \"token\"}. The exit status is 1 if a file could "
        "not be read. If none of them can be read, the command ends.",
    .options = options,
    .options_size = sizeof(struct view_options),
    .operands_min = 0,
    .operands_max = -1,
    .has_json = true,
    .run = run,
    .examples =
        (const cli_example[]){{"heddle view trace.json.gz", "a trace"},
                              {"heddle view", "a page to drop one on"},
                              {"heddle view --diff before.json.gz after.json.gz", "what changed between two runs"},
                              {"heddle view rank*.json", "all ranks of a run, on one axis"},
                              {"heddle view --traces /data/run7 job.hds", "a job of thousands, by its summaries"},
                              {"heddle view --no-open --port 8383 trace.heddle",
                               "on a machine that is reached by ssh -L 8383:localhost:8383"},
                              {0}},
};
