/* tool.c - runs a command under another profiler, whose output becomes the trace if it can be read
 *
 * The tool's own folder, OUTPUT.TOOL, gets its raw output and is always kept: it contains more than the trace.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/program.h"
#include "base/sorted.h"
#include "heddle/capture/devices.h"
#include "record/impl.h"

enum { WORDS = 12, DEPTH = 4, FILES_MAX = 65536 };
#define FOLDER "@" /* in the words: the folder of the raw output */

typedef struct tool_info {
    const char *name;
    const char *programs[2];   /* on PATH: the first that is there */
    const char *words[WORDS];  /* behind the program, before the command */
    const char *export[WORDS]; /* run after the program: converts the raw output to a readable form; NULL: none */
    const char *raw;           /* name of the raw output, if it exists */
    const char *readable;      /* extension of the files that become the trace; NULL: none can be read */
    const char *otherwise;     /* what else to do with the raw output */
    const char *get;           /* how to get it */
} tool_info;

/* The template's tables about the GPU and its load; all tables would be gigabytes of kernel events. */
#define METAL_TABLES                                                                                                   \
    "/trace-toc/run[@number=\"1\"]/data/table[@schema=\"metal-gpu-intervals\" or "                                     \
    "@schema=\"metal-application-command-buffer-submissions\" or @schema=\"metal-driver-intervals\" or "               \
    "@schema=\"metal-application-intervals\" or @schema=\"time-profile\"]"

static const tool_info tools[] = {
    {.name = "nsys",
     .programs = {"nsys"},
     .words = {"profile", "--trace=cuda,nvtx,osrt", "--force-overwrite=true", "--output=" FOLDER "/report"},
     .export = {"export", "--type=sqlite", "--force-overwrite=true", "--output=" FOLDER "/report.sqlite",
                FOLDER "/report.nsys-rep"},
     .raw = "report.nsys-rep",
     .readable = ".sqlite",
     .otherwise = "open it with Nsight Systems, or nsys stats",
     .get = "it comes with Nsight Systems: https://developer.nvidia.com/nsight-systems"},
    {.name = "rocprofv3",
     .programs = {"rocprofv3"},
     .words = {"--runtime-trace", "--output-format", "pftrace", "--output-directory", FOLDER, "--output-file",
               "out-%pid%", "--"},
     .readable = ".pftrace",
     .otherwise = "rocpd convert reads what is no .pftrace",
     .get = "it comes with ROCm 6.2 and later (rocprofiler-sdk), in /opt/rocm/bin"},
    {.name = "xctrace",
     .programs = {"xctrace"},
     .words = {"record", "--template", "Metal System Trace", "--output", FOLDER "/run.trace", "--target-stdout", "-",
               "--launch", "--"},
     .export = {"export", "--input", FOLDER "/run.trace", "--output", FOLDER "/run.xml", "--xpath", METAL_TABLES},
     .raw = "run.trace",
     .readable = ".xml",
     .otherwise = "open it with Instruments, or xctrace export",
     .get = "it comes with Xcode, on macOS only"},
    {.name = "mctracer",
     .programs = {"mcTracer", "mctracer"},
     .words = {"--mctx", "--odname", FOLDER},
     .readable = ".json",
     .otherwise = "its JSON is what heddle reads",
     .get = "it comes with MetaX's MACA SDK, in /opt/maca/bin"},
};
enum { TOOLS = sizeof tools / sizeof *tools };

/* ---- the command ---- */

static hd_status find_tool(const tool_info **out, char *program, size_t size, const char *name, hd_error *err)
{
    *out = NULL;
    for (size_t i = 0; i < TOOLS; i++) {
        if (strcmp(tools[i].name, name) == 0) *out = &tools[i];
    }
    if (!*out)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "no tool '%.40s' is known: nsys, rocprofv3, xctrace or mctracer", name);
    for (size_t i = 0; i < 2 && (*out)->programs[i]; i++) {
        if (hd_devices_program(program, size, (*out)->programs[i])) return HD_OK;
    }
    return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "%s is not on PATH: %s", (*out)->programs[0],
                        (*out)->get);
}

static hd_status make_folder(recording *r, const tool_info *tool)
{
    hd_record_result *result = r->result;
    char *folder;
    if (asprintf(&folder, "%s.%s", result->output, tool->name) < 0) return HD_NOMEM(r->err);
    free(result->parts);
    result->parts = folder;
    if (mkdir(folder, 0700) != 0)
        return hd_error_set(r->err, HD_ERR_IO, folder, HD_OFFSET_NONE, "cannot make this folder for what %s writes: %s",
                            tool->name, strerror(errno));
    char *absolute = realpath(folder, NULL);
    if (!absolute) return hd_error_set(r->err, HD_ERR_IO, folder, HD_OFFSET_NONE, "%s", strerror(errno));
    free(folder);
    result->parts = absolute;
    return HD_OK;
}

/* A word with the folder in its place. NULL: no memory. */
static char *word_of(const char *word, const char *folder)
{
    char *out;
    const char *place = *word == '/' ? NULL : strstr(word, FOLDER); /* an XPath begins with '/' */
    if (!place) return strdup(word);
    return asprintf(&out, "%.*s%s%s", (int)(place - word), word, folder, place + strlen(FOLDER)) < 0 ? NULL : out;
}

static void free_words(const char **words, size_t own)
{
    while (own > 0) free((char *)(uintptr_t)words[--own]);
    free(words);
}

/* PROGRAM WORDS… COMMAND…; the first `*out_own` of them are ours to free. */
static const char **words_of(size_t *out_own, const char *const *tool_words, const char *program, const recording *r,
                             const char *const *command)
{
    size_t count = 0, own = 0;
    while (command[count]) count++;
    const char **words = calloc(count + WORDS + 2, sizeof *words);
    if (!words) return NULL;
    bool fine = (words[own++] = strdup(program)) != NULL;
    for (size_t i = 0; i < WORDS && tool_words[i] && fine; i++)
        fine = (words[own++] = word_of(tool_words[i], r->result->parts)) != NULL;
    *out_own = own;
    if (fine) memcpy(words + own, command, count * sizeof *words);
    if (fine) return words;
    free_words(words, own);
    return NULL;
}

static hd_status run_tool(recording *r, const tool_info *tool, const char *program)
{
    size_t own = 0;
    const char **words = words_of(&own, tool->words, program, r, r->command);
    if (!words) return HD_NOMEM(r->err);
    const char *const *command = r->command;
    r->command = words;
    hd_status status = record_command(r);
    r->command = command;
    free_words(words, own);
    return status;
}

/* A failure is reported: the tool's output is kept. */
static hd_status export_output(recording *r, const tool_info *tool, const char *program)
{
    static const char *const nothing[] = {NULL};
    hd_error why = {0};
    size_t own = 0;
    char raw[4096];
    snprintf(raw, sizeof raw, "%s/%s", r->result->parts, tool->raw ? tool->raw : "");
    if (!tool->raw || access(raw, F_OK) != 0) return HD_OK;
    const char **words = words_of(&own, tool->export, program, r, nothing);
    if (!words) return HD_NOMEM(r->err);
    if (hd_program_run(words, &why) != HD_OK) record_say(r, "cannot export what %s wrote: %s", tool->name, why.message);
    free_words(words, own);
    return HD_OK;
}

/* ---- what it wrote ---- */

typedef struct outputs {
    char **paths; /* that can be read */
    size_t count, capacity;
    size_t others; /* files of another kind */
    const char *extension;
    bool failed;
} outputs;

static bool has_extension(const char *name, const char *extension)
{
    size_t size = strlen(name), tail = extension ? strlen(extension) : 0;
    return tail && size > tail && strcmp(name + size - tail, extension) == 0;
}

static void look(outputs *o, const char *path, int depth)
{
    struct dirent *entry;
    struct stat info;
    DIR *folder = opendir(path);
    while (folder && !o->failed && o->count + o->others < FILES_MAX && (entry = readdir(folder))) {
        char *inner;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (fstatat(dirfd(folder), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (asprintf(&inner, "%s/%s", path, entry->d_name) < 0) {
            o->failed = true;
            break;
        }
        bool wanted = S_ISREG(info.st_mode) && info.st_size && has_extension(entry->d_name, o->extension);
        if (S_ISDIR(info.st_mode) && depth < DEPTH) look(o, inner, depth + 1);
        o->others += S_ISREG(info.st_mode) && !wanted;
        if (wanted && hd_grow((void **)&o->paths, &o->capacity, o->count, sizeof *o->paths))
            o->paths[o->count++] = inner;
        else
            free(inner);
    }
    if (folder) closedir(folder);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static hd_status count_input(void *user, hd_trace **trace, size_t index, hd_error *err)
{
    recording *r = user;
    record_process process = {0};
    (void)index;
    return record_count(r->result, &process, *trace, err);
}

static hd_status convert_outputs(recording *r, const outputs *o)
{
    hd_record_result *result = r->result;
    const hd_record_options *options = r->options;
    struct stat info;
    hd_convert_options convert = {
        .processes = true,
        .read = &(hd_read_options){.threads = options->threads, .memory_limit = options->memory_limit},
        .write = &(hd_write_options){.threads = options->threads},
        .each = count_input,
        .user = r,
    };
    HD_TRY(hd_convert(&result->convert, (const char *const *)o->paths, o->count, result->output, &convert, r->err));
    record_sum_up(result);
    if (stat(result->output, &info) == 0) result->output_bytes = (uint64_t)info.st_size;
    return HD_OK;
}

static hd_status collect(recording *r, const tool_info *tool)
{
    outputs o = {.extension = tool->readable};
    hd_status status = HD_OK;
    look(&o, r->result->parts, 0);
    if (o.count) hd_sort(o.paths, o.count, sizeof *o.paths, by_name);
    if (o.failed) {
        status = HD_NOMEM(r->err);
    } else if (o.count) {
        status = convert_outputs(r, &o);
        if (status != HD_OK)
            hd_error_add_cause(r->err, "cannot read what %s wrote, which is in %.200s", tool->name, r->result->parts);
    } else if (o.others) {
        record_say(r, "what %s wrote is in %s, and heddle cannot read it: %s", tool->name, r->result->parts,
                   tool->otherwise);
    } else {
        status = hd_error_set(r->err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "%s wrote nothing (it ended with status %d)",
                              tool->name, r->result->exit_status);
    }
    r->result->parts_kept = rmdir(r->result->parts) != 0;
    for (size_t i = 0; i < o.count; i++) free(o.paths[i]);
    free(o.paths);
    return status;
}

hd_status record_with_tool(recording *r)
{
    const tool_info *tool;
    char program[4096];
    HD_TRY(find_tool(&tool, program, sizeof program, r->options->tool, r->err));
    HD_TRY(hd_trace_write_check(r->result->output, NULL, r->err));
    HD_TRY(make_folder(r, tool));
    hd_status status = run_tool(r, tool, program);
    if (!r->result->started) {
        rmdir(r->result->parts);
        return status;
    }
    hd_status collected = export_output(r, tool, program);
    if (collected == HD_OK) collected = collect(r, tool);
    return status == HD_OK ? collected : status;
}
