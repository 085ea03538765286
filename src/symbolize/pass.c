/* pass.c - symbolize as a pass */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "heddle/symbolize.h"

typedef struct pass_symbolize {
    bool no_inline, lines, paths, debuginfod;
    hd_option_texts debug_dirs, perf_maps;
    const char *root;
} pass_symbolize;

static hd_status run(hd_trace **out, hd_pass_report *report, const void *options, hd_pass_input *inputs, size_t count,
                     const hd_pass_input *second, hd_error *err)
{
    const pass_symbolize *o = options;
    const hd_symbolize_options how = {
        .no_inline = o->no_inline,
        .lines = o->lines,
        .paths = o->paths,
        .debuginfod = o->debuginfod,
        .debug_dirs = o->debug_dirs.items,
        .debug_dir_count = o->debug_dirs.count,
        .perf_maps = o->perf_maps.items,
        .perf_map_count = o->perf_maps.count,
        .root = o->root,
    };
    (void)report, (void)count, (void)second; /* events stay as they are */
    return hd_symbolize(out, NULL, inputs->trace, &how, err);
}

static hd_status check(const void *options, hd_error *err)
{
    const pass_symbolize *o = options;
    if (!o->paths || o->lines) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "pass symbolize: paths needs lines");
}

const hd_pass_about *hd_symbolize_pass(void)
{
    static const hd_option_about options[] = {
        {"debug-dir", HD_OPTION_TEXTS, NULL, "look for files of symbols here as well",
         offsetof(pass_symbolize, debug_dirs)},
        {"perf-map", HD_OPTION_TEXTS, NULL, "names of JIT code, as in /tmp/perf-PID.map",
         offsetof(pass_symbolize, perf_maps)},
        {"root", HD_OPTION_TEXT, NULL, "paths of modules are below this folder", offsetof(pass_symbolize, root)},
        {"no-inline", HD_OPTION_FLAG, NULL, "no frames for functions that the compiler inlined",
         offsetof(pass_symbolize, no_inline)},
        {"lines", HD_OPTION_FLAG, NULL, "source and line in each frame", offsetof(pass_symbolize, lines)},
        {"paths", HD_OPTION_FLAG, NULL, "with lines, whole paths of sources", offsetof(pass_symbolize, paths)},
        {"debuginfod", HD_OPTION_FLAG, NULL, "ask the servers of $DEBUGINFOD_URLS for what is not here",
         offsetof(pass_symbolize, debuginfod)},
        {0},
    };
    static const hd_pass_about about = {
        .name = "symbolize",
        .summary = "give the addresses in stacks their names",
        .options = options,
        .options_size = sizeof(pass_symbolize),
        .check = check,
        .run = run,
    };
    return &about;
}
