/* symbolize.c - heddle symbolize: names for the addresses in the stacks of a trace */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/flame_out.h"
#include "cli/printer.h"
#include "cli/report_out.h"
#include "cli/shared_options.h"
#include "heddle/symbolize.h"

struct symbolize_options {
    const char *output, *to, *root;
    cli_texts debug_dirs, perf_maps;
    bool no_inline, lines, paths, debuginfod, strict, sync;
    uint64_t threads, debuginfod_timeout;
};

/* ---- options ---- */

static int check_output(cli_run *run)
{
    const struct symbolize_options *o = run->options;
    if (!o->output) {
        if (o->to) return cli_usage_error(run, "--to needs -o OUT");
        if (o->sync) return cli_usage_error(run, "--sync needs -o OUT");
        return CLI_OK;
    }
    return report_check_format(run, o->output, o->to, true);
}

static int fill_options(cli_run *run, hd_symbolize_options *out)
{
    const struct symbolize_options *o = run->options;
    if (o->paths && !o->lines) return cli_usage_error(run, "--paths needs --lines");
    *out = (hd_symbolize_options){
        .no_inline = o->no_inline,
        .lines = o->lines,
        .paths = o->paths,
        .debuginfod = o->debuginfod,
        .debuginfod_timeout_s = (unsigned)o->debuginfod_timeout,
        .debug_dirs = o->debug_dirs.items,
        .debug_dir_count = o->debug_dirs.count,
        .perf_maps = o->perf_maps.items,
        .perf_map_count = o->perf_maps.count,
        .root = o->root,
        .threads = (unsigned)o->threads,
    };
    return check_output(run);
}

/* ---- the report ---- */

static hd_status modules_table(hd_table **out, const hd_symbolize_report *r, bool full, hd_error *err)
{
    hd_table_builder *b;
    if (hd_table_builder_new(&b, "modules", err) != HD_OK) return err->status;
    hd_table_add_column(b, "module", HD_VALUE_STRING);
    hd_table_add_column(b, "addresses", HD_VALUE_COUNT);
    hd_table_add_column(b, "named", HD_VALUE_COUNT);
    hd_table_add_column(b, "result", HD_VALUE_STRING);
    if (full) hd_table_add_column(b, "path", HD_VALUE_STRING);
    if (full) hd_table_add_column(b, "build_id", HD_VALUE_STRING);
    if (full) hd_table_add_column(b, "unchecked", HD_VALUE_BOOL);
    hd_table_add_column(b, "symbols", HD_VALUE_STRING);
    if (full) hd_table_add_column(b, "lines", HD_VALUE_STRING);
    hd_table_add_column(b, "why", HD_VALUE_STRING);
    for (size_t i = 0; i < r->module_count; i++) {
        const hd_symbolize_module *m = &r->modules[i];
        hd_table_add_text(b, m->name);
        hd_table_add_count(b, m->addresses);
        hd_table_add_count(b, m->named);
        hd_table_add_text(b, hd_symbolize_result_name(m->result));
        if (full) hd_table_add_text(b, m->path);
        if (full) hd_table_add_text(b, m->build_id);
        if (full) hd_table_add_bool(b, m->unchecked);
        hd_table_add_text(b, m->symbols);
        if (full) hd_table_add_text(b, m->lines);
        hd_table_add_text(b, m->why);
    }
    return hd_table_finish(out, b, err);
}

static void say_modules(cli_printer *p, const hd_symbolize_report *r)
{
    const hd_table_style style = {.width = p->run->width, .indent = 2, .bold_head = p->run->color && !p->to_stderr};
    hd_table *table;
    if (!r->module_count || modules_table(&table, r, false, &p->run->err) != HD_OK) return;
    cli_say(p, "modules\n");
    hd_table_write(table, (hd_sink){cli_printer_write, p}, &style, &p->run->err);
    hd_table_free(table);
}

static void say_advice(cli_printer *p, const hd_symbolize_report *r)
{
    bool missing = false, other = false;
    for (size_t i = 0; i < r->module_count; i++) {
        hd_symbolize_result result = r->modules[i].result;
        missing |= result == HD_SYMBOLIZE_NOT_FOUND || result == HD_SYMBOLIZE_NO_SYMBOLS;
        other |= result == HD_SYMBOLIZE_OTHER;
    }
    if (missing) cli_say(p, "files that are not here: name their folder with --debug-dir, or ask --debuginfod\n");
    if (other)
        cli_say(p, "files of another build than the one that ran are not used, since their names would be wrong\n");
}

static void say_text(cli_printer *p, const hd_symbolize_report *r)
{
    const struct symbolize_options *o = p->run->options;
    char a[HD_VALUE_TEXT_BYTES], b[HD_VALUE_TEXT_BYTES], c[HD_VALUE_TEXT_BYTES];
    say_modules(p, r);
    cli_say(p, "addresses in stacks: %s, named %s, not %s\n", hd_text_count(a, r->named + r->unnamed),
            hd_text_count(b, r->named), hd_text_count(c, r->unnamed));
    if (r->by_maps) cli_say(p, "named by maps and symbols of the capture: %s\n", hd_text_count(a, r->by_maps));
    if (r->no_module) cli_say(p, "in no module that is known: %s\n", hd_text_count(a, r->no_module));
    if (r->inlined) cli_say(p, "frames of inlined functions: %s\n", hd_text_count(a, r->inlined));
    say_advice(p, r);
    if (!o->output) {
        cli_say(p, "nothing written: -o OUT writes the trace with these names\n");
        return;
    }
    cli_say(p, "wrote ");
    cli_say_name(p, strcmp(o->output, "-") == 0 ? "standard output" : o->output);
    cli_say(p, ": %s frames in the stacks, from %s\n", hd_text_count(a, r->nodes), hd_text_count(b, r->nodes_in));
}

static void say_json(cli_printer *p, const hd_symbolize_report *r)
{
    const struct symbolize_options *o = p->run->options;
    hd_table *table;
    const struct {
        const char *key;
        uint64_t value;
    } sums[] = {
        {"frames", r->frames},   {"named", r->named},         {"unnamed", r->unnamed}, {"others", r->others},
        {"by_maps", r->by_maps}, {"no_module", r->no_module}, {"inlined", r->inlined}, {"nodes_in", r->nodes_in},
        {"nodes", r->nodes},     {"texts", r->texts},
    };
    cli_say(p, "{\n  " CLI_SCHEMA("symbolize") ",\n  \"written\": %s", o->output ? "true" : "false");
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        cli_say(p, ",\n  \"%s\": %" PRIu64, sums[i].key, sums[i].value);
    cli_say_table_json(p, "modules", modules_table(&table, r, true, &p->run->err), &table);
    cli_say(p, "\n}\n");
}

/* ---- the command ---- */

static hd_status symbolize(hd_trace **out, hd_symbolize_report **report, cli_run *run, const hd_trace *trace,
                           hd_symbolize_options *options)
{
    cli_progress progress;
    cli_progress_init(&progress, run, "naming");
    progress.events = true;
    options->progress = cli_progress_update;
    options->progress_user = &progress;
    cli_printer note = {.run = run, .to_stderr = true};
    if (options->debuginfod && getenv("DEBUGINFOD_URLS") && !run->global.quiet)
        cli_say(&note, "files that are not here are asked from the servers of DEBUGINFOD_URLS, which may take long\n");
    hd_status status = hd_symbolize(out, report, trace, options, &run->err);
    cli_progress_deinit(&progress);
    return status;
}

static hd_status write_out(cli_run *run, const hd_trace *trace)
{
    const struct symbolize_options *o = run->options;
    cli_progress progress;
    cli_progress_init(&progress, run, "writing");
    progress.events = true;
    const hd_write_options options = {.format = o->to,
                                      .sync = o->sync,
                                      .threads = (unsigned)o->threads,
                                      .progress = cli_progress_update,
                                      .progress_user = &progress};
    hd_status status = report_write(run, trace, o->output, options);
    cli_progress_deinit(&progress);
    return status;
}

static int run(cli_run *run)
{
    const struct symbolize_options *o = run->options;
    const hd_read_options read = {.strict = o->strict, .threads = (unsigned)o->threads};
    hd_symbolize_options options;
    hd_symbolize_report *report = NULL;
    hd_trace *trace = NULL, *named = NULL;
    int result = fill_options(run, &options);
    if (result != CLI_OK) return result;
    hd_status status = report_read(&trace, run, run->operands[0], read);
    if (status == HD_OK) flame_out_say_damage(run, run->operands[0], trace);
    if (status == HD_OK) status = symbolize(&named, &report, run, trace, &options);
    hd_trace_free(trace);
    if (status == HD_OK && o->output) status = write_out(run, named);
    hd_trace_free(named);
    cli_printer p = {.run = run, .to_stderr = o->output && strcmp(o->output, "-") == 0};
    if (status == HD_OK && run->global.json)
        say_json(&p, report);
    else if (status == HD_OK && !run->global.quiet)
        say_text(&p, report);
    hd_symbolize_report_free(report);
    return status == HD_OK && run->err.status == HD_OK ? CLI_OK : CLI_FAILED;
}

#define FIELD(member) .field = offsetof(struct symbolize_options, member)
static const cli_option options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = CLI_TEXT,
     .value = "OUT",
     .offer = "<files>",
     FIELD(output),
     .help = "write the trace with named frames, in the format of the extension; it may be FILE, - prints. Without it "
             "nothing is written, and the report says how many addresses could be named"},
    {.name = "to",
     .kind = CLI_TEXT,
     .value = "FORMAT",
     .offer = "<formats>",
     FIELD(to),
     .help = "write this format, whatever the extension"},
    {.name = "debug-dir",
     .letter = 'd',
     .kind = CLI_TEXTS,
     .value = "DIR",
     FIELD(debug_dirs),
     .help = "look for files of symbols here as well: DIR/.build-id/xx/yyyy.debug, and by path and name; may be given "
             "several times"},
    {.name = "perf-map",
     .letter = 'm',
     .kind = CLI_TEXTS,
     .value = "FILE",
     FIELD(perf_maps),
     .help = "names of JIT code: START SIZE NAME in hexadecimal, as /tmp/perf-PID.map; may be given several times"},
    {.name = "root",
     .letter = 'r',
     .kind = CLI_TEXT,
     .value = "DIR",
     FIELD(root),
     .help = "paths of modules are below DIR, as /proc/PID/root of a container"},
    {.name = "no-inline",
     .letter = 'n',
     .kind = CLI_FLAG,
     FIELD(no_inline),
     .help = "no frames for functions that the compiler inlined"},
    {.name = "lines",
     .letter = 'l',
     .kind = CLI_FLAG,
     FIELD(lines),
     .help =
         "name (file.c:12): source and line in each frame; frames of one function at several lines are then distinct"},
    {.name = "paths", .kind = CLI_FLAG, FIELD(paths), .help = "with --lines, whole paths of sources"},
    {.name = "debuginfod",
     .kind = CLI_FLAG,
     FIELD(debuginfod),
     .help = "request missing files from the servers in $DEBUGINFOD_URLS; without this option the network is not used"},
    {.name = "debuginfod-timeout",
     .kind = CLI_COUNT,
     .value = "SECONDS",
     .min = 1,
     .max = 86400,
     FIELD(debuginfod_timeout),
     .help = "stop using these servers after this time without data; 0 is $DEBUGINFOD_TIMEOUT, else 30"},
    OPTION_STRICT(FIELD(strict)),
    OPTION_THREADS(FIELD(threads), "threads to use"),
    OPTION_SYNC(FIELD(sync)),
    {0},
};

const cli_command cmd_symbolize = {
    .name = "symbolize",
    .group = CLI_CHANGE,
    .summary = "resolve addresses in stacks to functions and lines",
    .usage = "FILE",
    .offer = "<files>",
    .description =
        "Replaces addresses in stacks (libfoo.so+0x1234) by names. A capture contains addresses, since looking up "
        "names takes too long while a program runs. Run symbolize on the machine that has the files that ran; "
        "`heddle record` does so at its end.\n\n"
        "A file is used only if it has the build-id of the one that ran. It searches the path of the module, "
        "DIR/.build-id of each --debug-dir and of /usr/lib/debug, the file that .gnu_debuglink names, each "
        "--debug-dir by path and name, and debuginfod if requested. Names come from .symtab, else from "
        ".gnu_debugdata and .dynsym; inlined functions and lines come from DWARF. C++ and Rust names are "
        "demangled.\n\n"
        "Frames of stacks that get equal names are merged, and every event keeps its stack. Addresses without a name "
        "stay, and the ledger counts them by reason; a second run that searches more places can name them. Frames of "
        "Python's perf trampoline become NAME (FILE).",
    .options = options,
    .examples =
        (const cli_example[]){
            {"heddle symbolize run.hdcap -o run.heddle", "a capture with names"},
            {"heddle symbolize run.hdcap", "what can be named, and which files are missing"},
            {"heddle symbolize -d ./symbols run.heddle -o run.heddle", "with files of symbols from elsewhere"},
            {"heddle symbolize -m /tmp/perf-4711.map run.hdcap -o run.heddle", "with JIT code of Node.js or Java"},
            {"heddle symbolize --lines run.hdcap -o - | heddle flame - -o lines.svg", "line by line"},
            {0},
        },
    .options_size = sizeof(struct symbolize_options),
    .operands_min = 1,
    .operands_max = 1,
    .has_json = true,
    .run = run,
};
