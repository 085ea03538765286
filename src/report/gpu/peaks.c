/* peaks.c - peak rates of the GPUs of a rank, and rooflines
 *
 * The model of a GPU is its name in deviceProperties, or the value of --gpu; the table of GPUs (heddle/gpus.h) has its
 * peaks. A rank with GPUs of different models has none.
 */
#include "report/gpu/peaks.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json/write.h"
#include "base/memory/vector.h"
#include "report/properties.h"

#define MIXED (HD_NONE - 1)

GPU_KEY
typedef struct place {
    int64_t rank, device;
} place;
GPU_KEY_END

/* The text of a group, HD_NONE at first. NULL: no memory. */
static uint32_t *text_of(gpu_groups *groups, uint32_t **texts, size_t *capacity, const void *key)
{
    uint32_t count = groups->count, group = gpu_group(groups, key);
    if (group == HD_NONE || !hd_grow((void **)texts, capacity, group, sizeof **texts)) return NULL;
    if (group == count) (*texts)[group] = HD_NONE;
    return &(*texts)[group];
}

static uint32_t *text_of_place(gpu_peaks *p, int64_t rank, int64_t device)
{
    const place key = {rank, device};
    return text_of(&p->places, &p->of_places, &p->place_capacity, &key);
}

/* ---- the model of each rank ---- */

static bool add_described(void *user, report_properties *properties)
{
    gpu_peaks *p = user;
    const char *name = properties->name && *properties->name ? properties->name : NULL;
    uint32_t text = name ? gpu_text(&p->texts, name, strlen(name)) : HD_NONE;
    uint32_t *known = text_of_place(p, properties->rank, properties->id);
    if (!known || (name && text == HD_NONE)) return false;
    *known = text;
    uint32_t *all = text_of_place(p, properties->rank, HD_NO_NUMBER);
    if (!all) return false;
    *all = text == HD_NONE || (*all != HD_NONE && *all != text) ? MIXED : text;
    return true;
}

/* The rank's description of a device, else the trace's. */
static bool model_of_device(uint32_t *out, gpu_peaks *p, const gpu_device *device)
{
    const int64_t ranks[] = {device->rank, HD_NO_NUMBER};
    *out = HD_NONE;
    for (size_t i = 0; i < 2 && *out == HD_NONE; i++) {
        const uint32_t *text = text_of_place(p, ranks[i], device->device);
        if (!text) return false;
        *out = *text;
    }
    return true;
}

static bool find_models(gpu_peaks *p, const gpu_scope *scope)
{
    if (!report_properties_read(scope->trace, add_described, p)) return false;
    for (uint32_t i = 0; i < scope->device_count; i++) {
        const gpu_device *device = &scope->devices[i];
        uint32_t text, count = p->ranks.count;
        uint32_t *of_rank = text_of(&p->ranks, &p->of_ranks, &p->rank_capacity, &device->rank);
        if (!of_rank || !model_of_device(&text, p, device)) return false;
        *of_rank = p->ranks.count > count || *of_rank == text ? text : MIXED;
    }
    return true;
}

hd_status gpu_peaks_init(gpu_peaks *out, const gpu_scope *scope, const hd_gpus *gpus, const char *model, bool tf32,
                         hd_error *err)
{
    *out = (gpu_peaks){
        .gpus = gpus, .tf32 = tf32, .places = {.key_size = sizeof(place)}, .ranks = {.key_size = sizeof(int64_t)}};
    if (!gpus) {
        HD_TRY(hd_gpus_new(&out->own, err));
        out->gpus = out->own;
    }
    if (model) return report_gpu_named(&out->given, out->gpus, model, err);
    return find_models(out, scope) ? HD_OK : HD_NOMEM(err);
}

void gpu_peaks_deinit(gpu_peaks *p)
{
    hd_gpus_free(p->own);
    gpu_texts_deinit(&p->texts);
    gpu_groups_deinit(&p->places);
    gpu_groups_deinit(&p->ranks);
    free(p->of_places);
    free(p->of_ranks);
    *p = (gpu_peaks){0};
}

/* ---- rooflines ---- */

HD_PRINTF(2, 3) static void add_note(gpu_peaks *p, const char *form, ...)
{
    char note[GPU_NOTE_BYTES];
    va_list arguments;
    va_start(arguments, form);
    vsnprintf(note, sizeof note, form, arguments);
    va_end(arguments);
    size_t i = 0;
    while (i < p->note_count && strcmp(p->notes[i], note) != 0) i++;
    if (i < p->note_count || i == GPU_PEAK_NOTES) return;
    memcpy(p->notes[p->note_count++], note, sizeof note);
}

/* The line to add to a table, and where, for a GPU that the table does not have. */
static void add_line_to_add(gpu_peaks *p, hd_string name)
{
    hd_json_out text = {0};
    hd_json_put_string(&text, name.data, name.size);
    int size = text.size < 90 ? (int)text.size : 90;
    add_note(p,
             "no peaks of %.*s are known: add them to ~/.config/heddle/gpus.toml, or to a file for --gpus, as lines "
             "[[gpu]], names = [%.*s], bandwidth = (GB/s), fp32 = (TFLOP/s), bf16 = (TFLOP/s) and so on",
             size, text.data ? text.data : "", size, text.data ? text.data : "");
    free(text.data);
}

static const report_gpu *gpu_of(gpu_peaks *p, uint32_t model)
{
    if (model == HD_NONE) {
        add_note(p, "the trace does not name its GPUs, so their peak rates are null: name the model with --gpu");
        return NULL;
    }
    if (model == MIXED) {
        add_note(
            p, "a rank has GPUs of several models, or of unknown models; the figures from their peaks are null there");
        return NULL;
    }
    hd_string name = gpu_text_of(&p->texts, model);
    const report_gpu *gpu = report_gpu_find(p->gpus, name);
    if (!gpu) add_line_to_add(p, name);
    return gpu;
}

/* By the type of the tensors; REPORT_DTYPES: none of those that have a peak. */
static report_dtype dtype_of(const gpu_peaks *p, const gpu_shape_figures *work)
{
    report_dtype found = gpu_shapes_dtype(work->dtype);
    return found == REPORT_FP32 && p->tf32 && gpu_is_model_flop(work->kind) ? REPORT_TF32 : found;
}

bool gpu_roofline_of(gpu_roofline *out, gpu_peaks *p, int64_t rank, const gpu_shape_figures *work)
{
    *out = (gpu_roofline){.compute_ns = -1, .memory_ns = -1};
    const uint32_t *model = text_of(&p->ranks, &p->of_ranks, &p->rank_capacity, &rank);
    if (!model) return false;
    const report_gpu *gpu = p->given ? p->given : gpu_of(p, *model);
    report_dtype dtype = dtype_of(p, work);
    if (!gpu) return true;
    if (work->bytes >= 0) out->memory_ns = (double)work->bytes / gpu->bandwidth;
    out->compute_ns = work->flop ? -1 : 0;
    if (dtype == REPORT_DTYPES) return true;
    out->peak = gpu->peaks[dtype];
    if (out->peak > 0)
        out->compute_ns = (double)work->flop / (out->peak * 1000);
    else
        add_note(p, "no peak of %s is known for the GPU: its line in the table would be %s = (TFLOP/s)",
                 report_dtype_names[dtype], report_dtype_names[dtype]);
    if (dtype == REPORT_FP32 && gpu->peaks[REPORT_TF32] > 0 && gpu_is_model_flop(work->kind))
        add_note(p, "float is compared with the peak of fp32; if TF32 was allowed, which no trace contains, use "
                    "--tf32");
    return true;
}
