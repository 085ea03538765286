/* environment.c - the environment of a traced program, and what a launcher wrote into ours */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "record/impl.h"

enum { VARIABLES = 4 };
static const char *const names[VARIABLES] = {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "HEDDLE_CAPTURE_DIR",
                                             "HEDDLE_CAPTURE_OPTIONS"};

const char *record_environment_other(const char *library)
{
    const char *value = library ? getenv(names[0]) : NULL;
    return value && *value && strcmp(value, library) != 0 ? value : NULL;
}

static bool read_number(uint64_t *out, const char *text)
{
    char *end;
    if (!text || *text < '0' || *text > '9') return false;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0';
}

bool hd_record_rank(uint64_t *out_rank, uint64_t *out_count)
{
    /* clang-format off */
    static const char *const launchers[][2] = {
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},   {"PMI_RANK", "PMI_SIZE"},
        {"SLURM_PROCID", "SLURM_NTASKS"},                   {"RANK", "WORLD_SIZE"},
        {"JOB_COMPLETION_INDEX", "JOB_COMPLETIONS"},        {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT"}};
    /* clang-format on */
    *out_rank = *out_count = 0;
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        uint64_t rank, count; /* one process only, as in each task of an array job, says nothing if another has more */
        if (read_number(&rank, getenv(launchers[i][0])) && read_number(&count, getenv(launchers[i][1])) &&
            rank < count && *out_count <= 1 && count > *out_count) {
            *out_rank = rank;
            *out_count = count;
        }
    }
    return *out_count > 0;
}

/* `key=value,…` as docs/capture.md has it. NULL: no memory. */
static char *options_text(const hd_record_options *o)
{
    static const char *const policies[] = {
        [HD_RING_DROP_NEWEST] = "newest", [HD_RING_DROP_OLDEST] = "oldest", [HD_RING_BLOCK] = "block"};
    char *text, budget[48] = "", kept[96] = "";
    if (o->budget > 0) snprintf(budget, sizeof budget, ",budget_ppm=%.0f", o->budget * 1e6);
    if (o->keep_last_ns)
        snprintf(kept, sizeof kept, ",keep_last_ms=%" PRId64 ",on_stall_ms=%" PRId64, o->keep_last_ns / 1000000,
                 (o->on_stall_ns + 999999) / 1000000);
    int size = asprintf(&text,
                        "stacks=%d,python=%d,memory=%d,graph=%s,nvtx=%d,trigger=%d,delay_ms=%" PRId64
                        ",duration_ms=%" PRId64 ",policy=%s%s%s%s%s%s%s",
                        !o->no_stacks, o->python, o->memory, o->graph_whole ? "whole" : "node", !o->no_nvtx, o->trigger,
                        (o->delay_ns + 999999) / 1000000, (o->duration_ns + 999999) / 1000000, policies[o->policy],
                        budget, kept, o->steps ? ",steps=" : "", o->steps ? o->steps : "",
                        o->step_name ? ",step_name=" : "", o->step_name ? o->step_name : "");
    return size < 0 ? NULL : text;
}

static bool is_ours(const char *entry, const char *const *values)
{
    for (int i = 0; i < VARIABLES; i++) {
        size_t size = strlen(names[i]);
        if (values[i] && strncmp(entry, names[i], size) == 0 && entry[size] == '=') return true;
    }
    return false;
}

static bool add_variable(char **list, size_t *count, const char *name, const char *value)
{
    char *entry;
    if (asprintf(&entry, "%s%s%s", name, value ? "=" : "", value ? value : "") < 0) return false;
    list[(*count)++] = entry;
    return true;
}

hd_status record_environment(char ***out, const hd_record_options *options, const char *library, const char *parts,
                             hd_error *err)
{
    char *text = options_text(options);
    const char *values[VARIABLES] = {library, library, parts, text};
    size_t count = 0, made = 0;
    while (environ && environ[count]) count++;
    char **list = calloc(count + VARIABLES + 1, sizeof *list);
    bool fine = text && list;
    for (size_t i = 0; i < count && fine; i++) {
        if (!is_ours(environ[i], values)) fine = add_variable(list, &made, environ[i], NULL);
    }
    for (int i = 0; i < VARIABLES && fine; i++) {
        if (values[i]) fine = add_variable(list, &made, names[i], values[i]);
    }
    free(text);
    *out = fine ? list : NULL;
    if (!fine) record_environment_free(list);
    return fine ? HD_OK : HD_NOMEM(err);
}

void record_environment_free(char **environment)
{
    for (size_t i = 0; environment && environment[i]; i++) free(environment[i]);
    free(environment);
}
