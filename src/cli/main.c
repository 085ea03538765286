/* main.c - the commands of heddle; the only place that prints errors and exits */
#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "heddle/analysis/launches.h"
#include "heddle/format.h"
#include "heddle/gpus.h"
#include "heddle/table.h"
#include "heddle/version.h"

/* Each in commands/NAME.c, in the order of `heddle help`. */
#define CLI_COMMAND(name) extern const cli_command cmd_##name
CLI_COMMAND(view);
CLI_COMMAND(flame);
CLI_COMMAND(query);
CLI_COMMAND(convert);
CLI_COMMAND(record);
CLI_COMMAND(report);
CLI_COMMAND(check);
CLI_COMMAND(info);
CLI_COMMAND(timeline);
CLI_COMMAND(memory);
CLI_COMMAND(graph);
CLI_COMMAND(diff);
CLI_COMMAND(replay);
CLI_COMMAND(mcp);
CLI_COMMAND(job);
CLI_COMMAND(summarize);
CLI_COMMAND(combine);
CLI_COMMAND(clocks);
CLI_COMMAND(fix);
CLI_COMMAND(merge);
CLI_COMMAND(symbolize);
CLI_COMMAND(trigger);
CLI_COMMAND(devices);
CLI_COMMAND(formats);
CLI_COMMAND(passes);
CLI_COMMAND(completion);
CLI_COMMAND(help);
CLI_COMMAND(version);
CLI_COMMAND(synth);

const cli_command *const cli_commands[] = {
    &cmd_view,      &cmd_flame,   &cmd_query,  &cmd_convert,
#ifdef __linux__
    &cmd_record,
#endif
    &cmd_report,    &cmd_check,   &cmd_info,   &cmd_timeline,   &cmd_memory, &cmd_graph,     &cmd_diff,  &cmd_replay,
    &cmd_mcp,
#ifdef __linux__
    &cmd_job,
#endif
    &cmd_summarize, &cmd_combine, &cmd_clocks, &cmd_fix,        &cmd_merge,  &cmd_symbolize,
#ifdef __linux__
    &cmd_trigger,
#endif
    &cmd_devices,   &cmd_formats, &cmd_passes, &cmd_completion, &cmd_help,   &cmd_version,   &cmd_synth, NULL,
};

static hd_status write_stderr(void *user, const char *data, size_t size)
{
    (void)user;
    fwrite(data, 1, size, stderr);
    return HD_OK;
}

/* Names and messages may hold bytes of a hostile file. */
static void print_safe(const char *text)
{
    hd_text_write((hd_sink){write_stderr, NULL}, text, strlen(text));
}

void cli_report(cli_run *run)
{
    char text[HD_ERROR_TEXT_BYTES];
    if (run->err.status == HD_OK) return;
    fflush(stdout);
    fputs("heddle: ", stderr);
    print_safe(hd_error_text(text, sizeof text, &run->err));
    fputc('\n', stderr);
    run->err = (hd_error){0};
    run->reported = true;
}

static int wrong_usage(cli_run *run)
{
    cli_report(run);
    char name[CLI_NAME_BYTES];
    if (run->command)
        fprintf(stderr, "Try 'heddle help %s'.\n", cli_full_name(name, run->command));
    else
        fputs("Try 'heddle help'.\n", stderr);
    return CLI_USAGE;
}

/* Fails if the command's output was not written. A closed pipe is not an error: the reader has seen enough. */
static int finish_output(cli_run *run, int status)
{
    errno = 0;
    if (fflush(stdout) != 0 && !run->out_error) run->out_error = errno;
    if (ferror(stdout) && !run->out_error) run->out_error = EIO;
    if (!run->out_error) return status;
    if (run->out_error != EPIPE) {
        run->err = (hd_error){0};
        hd_error_set(&run->err, HD_ERR_IO, "standard output", HD_OFFSET_NONE, "%s", strerror(run->out_error));
        cli_report(run);
    }
    return status == CLI_OK ? CLI_FAILED : status;
}

/* Whether the option "output" is the same file as one of the operands, which would overwrite the input. */
static int check_output(cli_run *run)
{
    const char *out = NULL;
    for (const cli_option *o = run->command->options; o && o->name; o++)
        if (o->kind == CLI_TEXT && strcmp(o->name, "output") == 0)
            out = *(const char *const *)((const char *)run->options + o->field);
    int status = CLI_OK;
    for (int i = 0; out && i < run->operand_count && status == CLI_OK; i++)
        status = cli_spare_input(run, out, run->operands[i], "");
    return status;
}

/* In the folder `path`, or next to the file. */
static bool find_next_to(char *out, size_t size, const char *path, const char *name)
{
    struct stat info;
    if (stat(path, &info) != 0) return false;
    const char *slash = strrchr(path, '/'), *separator = "/";
    size_t folder = slash ? (size_t)(slash + 1 - path) : 0;
    if (S_ISDIR(info.st_mode)) folder = strlen(path);
    if (!folder || path[folder - 1] == '/') separator = "";
    int length = snprintf(out, size, "%.*s%s%s", (int)folder, path, separator, name);
    return length > 0 && (size_t)length < size && access(out, F_OK) == 0;
}

static void note_file(const char *what, const char *path)
{
    fprintf(stderr, "note: %s by ", what);
    print_safe(path);
    fputs("\n", stderr);
}

/* A file of the user that an option gives, else NAME in the folder of the first operand that has one, or next to it,
 * else that of the configuration. A note names a file that no option gives: that of a folder with --quiet as well,
 * since it may have come with a trace. NULL: none, also for "none". */
static const char *user_file(char out[PATH_MAX], const cli_run *run, const char *given, const char *name,
                             const char *what)
{
    if (given) return strcmp(given, "none") == 0 ? NULL : given;
    for (int i = 0; i < run->operand_count && !run->command->operands_are_command; i++) {
        if (!find_next_to(out, PATH_MAX, run->operands[i], name)) continue;
        note_file(what, out);
        return out;
    }
    if (!cli_config_file(out, PATH_MAX, name)) return NULL;
    if (!run->global.quiet) note_file(what, out);
    return out;
}

static hd_status read_user_files(cli_run *run)
{
    const struct {
        const char *option, *given, *name, *what;
        hd_status (*read)(const char *path, hd_error *err);
    } files[] = {
        {"groups", run->global.groups, "groups.toml", "kernels are classified and grouped", hd_class_rules_read},
        {"ops", run->global.ops, "ops.toml", "FLOP of operators are given", hd_ops_read}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[PATH_MAX];
        const char *file = user_file(path, run, files[i].given, files[i].name, files[i].what);
        hd_status status = file ? files[i].read(file, &run->err) : HD_OK;
        if (status != HD_OK && !files[i].given)
            hd_error_add_cause(&run->err, "this file is read unless --%s none is given", files[i].option);
        if (status != HD_OK) return status;
    }
    return HD_OK;
}

static int run_command(cli_run *run)
{
    int status = check_output(run);
    if (status == CLI_OK && read_user_files(run) != HD_OK) status = CLI_FAILED;
    if (status == CLI_OK) status = run->command->run(run);
    /* 2 without an error is the exit status of a command that was run. */
    if (status == CLI_USAGE && run->err.status != HD_OK) return wrong_usage(run);
    /* finish_output reports a failed sink; it is not a failure of the table or file */
    if (!run->out_error) cli_report(run);
    return status == CLI_OK && run->reported ? CLI_FAILED : status;
}

/* Options may come before the first operand, so that is seen only now: it may be the report's name in another tool's
 * word, or a command. */
static int check_first_operand(cli_run *run)
{
    if (!run->operand_count) return CLI_OK;
    const cli_asked first = cli_resolve(run->operands, 1);
    if (first.report) run->operands[0] = first.report;
    if (!first.command || first.command == run->command || cli_has_topic(run->command, run->operands[0])) return CLI_OK;
    return cli_usage_error(run, "options of heddle %s come after its name", first.command->name);
}

static int parse_and_run(cli_run *run, cli_asked asked, const char *const *argv, int count)
{
    const cli_command *command = run->command;
    void *options = calloc(1, command->options_size + 1);
    run->operands = calloc((size_t)count + 2, sizeof *run->operands);
    int status = CLI_FAILED;
    if (!options || !run->operands) {
        hd_error_set(&run->err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
        cli_report(run);
    } else {
        if (command->defaults) memcpy(options, command->defaults, command->options_size);
        run->options = options;
        if (asked.report) run->operands[run->operand_count++] = asked.report;
        if (cli_parse(run, options, argv, count) < 0 || (!asked.used && check_first_operand(run) != CLI_OK)) {
            status = wrong_usage(run);
        } else {
            cli_term_init(run);
            if (run->global.help) cli_help_command(run, command, run->operands[0]);
            status = run->global.help ? CLI_OK : run_command(run);
        }
    }
    free(run->operands);
    free(options);
    return status;
}

static _Atomic(const char *) unfinished;

void cli_remove_at_stop(const char *path)
{
    unfinished = path;
}

void cli_remove_unfinished(void)
{
    const char *path = unfinished;
    if (path) unlink(path);
    hd_outputs_abandon();
}

static char late_text[100];

static void end_late(int number)
{
    (void)number;
    cli_remove_unfinished();
    if (write(STDERR_FILENO, late_text, strlen(late_text)) < 0) {} /* the status says it as well */
    _exit(CLI_FAILED);
}

void cli_end_after(double seconds)
{
    if (seconds <= 0) return;
    time_t whole = (time_t)seconds;
    const struct itimerval time = {.it_value = {whole, (suseconds_t)((seconds - (double)whole) * 999998) + 1}};
    snprintf(late_text, sizeof late_text, "heddle: stopped after %.12g seconds, the limit\n", seconds);
    signal(SIGALRM, end_late);
    setitimer(ITIMER_REAL, &time, NULL);
}

static void stop(int number)
{
    cli_remove_unfinished();
    signal(number, SIG_DFL);
    raise(number);
}

/* Removes unfinished outputs on Ctrl+C, SIGTERM (batch systems) and SIGHUP (closed terminals). Commands that shut down
 * in order have handlers of their own. Ignored signals stay ignored (nohup). */
static void catch_stops(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction before, action = {.sa_handler = stop};
        sigemptyset(&action.sa_mask);
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) sigaddset(&action.sa_mask, numbers[k]);
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(numbers[i], &action, NULL);
    }
}

static void ignore(int number)
{
    (void)number;
}

/* Beyond ulimit -f a write is an error, after which outputs are cleaned up. A handler, since programs that are run
 * would inherit SIG_IGN. */
static void catch_size_limit(void)
{
    struct sigaction before, action = {.sa_handler = ignore, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGXFSZ, NULL, &before) == 0 && before.sa_handler == SIG_DFL) sigaction(SIGXFSZ, &action, NULL);
}

int main(int argc, char **argv)
{
    cli_run run = {.unnamed = &cmd_report};
    catch_stops();
    catch_size_limit();
    /* So that a closed pipe is an error, after which outputs are cleaned up. */
    run.sigpipe_ignored = signal(SIGPIPE, SIG_IGN) == SIG_IGN;
    const char *const *words = (const char *const *)argv + 1;
    int count = argc > 0 ? argc - 1 : 0;

    int used = cli_parse(&run, NULL, words, count);
    if (used < 0) return wrong_usage(&run);
    cli_term_init(&run);

    int status = CLI_OK;
    if (run.global.version) {
        cli_print(&run, "heddle %s\n", hd_version());
    } else if (run.global.help || used == count) {
        cli_help_overview(&run, false);
        if (!run.global.help) status = CLI_USAGE;
    } else {
        const cli_asked asked = cli_resolve(words + used, count - used);
        run.command = asked.command;
        if (!run.command) {
            cli_unknown_command(&run, words[used]);
            return wrong_usage(&run);
        }
        if (run.global.json && !run.command->has_json) {
            cli_usage_error(&run, "heddle %s does not print JSON", run.command->name);
            return wrong_usage(&run);
        }
        used += asked.used;
        status = parse_and_run(&run, asked, words + used, count - used);
    }
    return finish_output(&run, status);
}
