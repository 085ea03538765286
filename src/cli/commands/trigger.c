/* trigger.c - heddle trigger: open and close the capture of programs that run */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report_out.h"
#include "cli/times.h"
#include "heddle/capture/trigger.h"

struct trigger_options {
    const char *duration;
    bool children;
};

static const cli_option options[] = {
    {.name = "duration",
     .kind = CLI_TEXT,
     .value = "T",
     .field = offsetof(struct trigger_options, duration),
     .help = "end the capture after this time: 5s, 500ms"},
    {.name = "children",
     .kind = CLI_FLAG,
     .field = offsetof(struct trigger_options, children),
     .help = "also trigger the processes that PID started, if PID itself is traced"},
    {0},
};

static const char *const actions[] = {
    [HD_TRIGGER_STATUS] = "status",
    [HD_TRIGGER_START] = "start",
    [HD_TRIGGER_STOP] = "stop",
    [HD_TRIGGER_TOGGLE] = "toggle",
};

static int parse_action(cli_run *run, hd_trigger_action *out, const char *text)
{
    const char *best = NULL;
    unsigned distance = UINT32_MAX;
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        if (strcmp(text, actions[i]) == 0) {
            *out = (hd_trigger_action)i;
            return CLI_OK;
        }
        hd_name_suggest(text, actions[i], &best, &distance);
    }
    return cli_usage_error(run, "'%.40s' is none of start, stop, toggle, status%s%s%s", text,
                           best ? "; did you mean " : "", best ? best : "", best ? "?" : "");
}

static int parse_duration(cli_run *run, int64_t *out, const char *text)
{
    hd_convert_time time = {0};
    int status = cli_parse_time(run, &time, "--duration", text);
    if (status != CLI_OK || !text) return status;
    if (time.unit == HD_CONVERT_PERCENT || time.value <= 0)
        return cli_usage_error(run, "--duration: a time, such as 5s or 500ms");
    *out = time.value;
    return CLI_OK;
}

static int parse_pid(cli_run *run, int64_t *out, const char *text)
{
    char *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    if (errno == 0 && end != text && !*end && *out > 0) return CLI_OK;
    return cli_usage_error(run, "'%.40s' is not an id of a process", text);
}

static bool has_errors(const hd_table *captures)
{
    size_t error = hd_table_column_count(captures) - 1;
    for (size_t row = 0; row < hd_table_row_count(captures); row++) {
        if (!hd_table_is_null(captures, row, error)) return true;
    }
    return false;
}

static int run(cli_run *run)
{
    const struct trigger_options *chosen = run->options;
    const hd_sink sink = {cli_write, run};
    const hd_table_style text = {.width = run->width, .bold_head = run->color};
    hd_trigger_options how = {.action = HD_TRIGGER_TOGGLE, .children = chosen->children};
    int64_t pid = 0;
    hd_table *captures;
    int status = parse_pid(run, &pid, run->operands[0]);
    if (status == CLI_OK && run->operand_count > 1) status = parse_action(run, &how.action, run->operands[1]);
    if (status == CLI_OK) status = parse_duration(run, &how.duration_ns, chosen->duration);
    if (status != CLI_OK) return status;
    if (how.duration_ns && (how.action == HD_TRIGGER_STATUS || how.action == HD_TRIGGER_STOP))
        return cli_usage_error(run, "--duration is of a capture that starts: it makes no sense with %s",
                               actions[how.action]);
    if (hd_trigger(&captures, pid, &how, &run->err) != HD_OK) return CLI_FAILED;
    bool failed = has_errors(captures);
    if (run->global.json)
        report_json_rows(run, captures, CLI_SCHEMA("trigger"));
    else if (!run->global.quiet || failed)
        hd_table_write(captures, sink, &text, &run->err);
    hd_table_free(captures);
    return failed || run->err.status != HD_OK ? CLI_FOUND : CLI_OK;
}

const cli_command cmd_trigger = {
    .name = "trigger",
    .group = CLI_MAKE,
    .summary = "start and stop capture in a running program and its children",
    .usage = "PID [start|stop|toggle|status]",
    .offer = "start stop toggle status",
    .description =
        "Starts or stops the capture of a program that was started with `heddle record`, as often as you like, and "
        "prints the state afterwards. Without a word it toggles. PID is the program's, or that of `heddle record` or "
        "another launcher; then capture starts and stops in all traced programs below it.\n\n"
        "It works with any program under `heddle record` from its first call of CUDA or NVTX on. Use `heddle record "
        "--trigger` to capture nothing before the first start. With `--memory`, a capture begins with what is "
        "allocated at that moment. With `heddle record --keep-last`, the call writes what is kept as a trace, and the "
        "capture goes on.\n\n"
        "The exit status is 1 if a program could not be reached, or was already in the requested state. Programs in "
        "containers with a network of their own can be reached only from inside the container.",
    .options = options,
    .options_size = sizeof(struct trigger_options),
    .operands_min = 1,
    .operands_max = 2,
    .has_json = true,
    .run = run,
    .examples =
        (const cli_example[]){{"heddle trigger 4711 start --duration 5s", "five seconds of a program, from now on"},
                              {"heddle trigger $(pgrep -f 'heddle record') stop", "all that it traces"},
                              {"heddle trigger 4711 status --json", "whether it is captured, and into which file"},
                              {0}},
};
