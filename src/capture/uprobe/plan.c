/* plan.c - from LIB:SYMBOL and presets to functions in files */
#include "capture/uprobe/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/pattern.h"

/* ---- presets ---- */

/* Functions that launch GPU activities. Names that end in _ptsz, _ptds (per-thread default stream) and _spt count as
 * well. */
static const char *const cuda_functions[] = {
    "cudaLaunchKernel",
    "cudaLaunchKernelExC",
    "cudaLaunchCooperativeKernel",
    "cudaLaunchCooperativeKernelMultiDevice",
    "cudaGraphLaunch",
    "cudaMemcpyAsync",
    "cudaMemcpyPeerAsync",
    "cudaMemcpy2DAsync",
    "cudaMemcpy3DAsync",
    "cudaMemsetAsync",
    "cuLaunchKernel",
    "cuLaunchKernelEx",
    "cuLaunchCooperativeKernel",
    "cuGraphLaunch",
    "cuMemcpyAsync",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuMemcpyPeerAsync",
    "cuMemcpy2DAsync_v2",
    "cuMemcpy3DAsync_v2",
    "cuMemsetD8Async",
    "cuMemsetD16Async",
    "cuMemsetD32Async",
    NULL,
};
static const char *const hip_functions[] = {
    "hipLaunchKernel",
    "hipLaunchKernelExC",
    "hipExtLaunchKernel",
    "hipExtModuleLaunchKernel",
    "hipLaunchCooperativeKernel",
    "hipLaunchCooperativeKernelMultiDevice",
    "hipModuleLaunchKernel",
    "hipModuleLaunchCooperativeKernel",
    "hipHccModuleLaunchKernel",
    "hipDrvLaunchKernelEx",
    "hipGraphLaunch",
    "hipMemcpyAsync",
    "hipMemcpyWithStream",
    "hipMemcpyPeerAsync",
    "hipMemcpy2DAsync",
    "hipMemcpyHtoDAsync",
    "hipMemcpyDtoHAsync",
    "hipMemcpyDtoDAsync",
    "hipMemsetAsync",
    "hipMemsetD8Async",
    "hipMemsetD32Async",
    NULL,
};

typedef struct preset {
    const char *name;
    const char *const *functions;
    const char *libraries[3]; /* searched at once; those that are mapped later are found then */
} preset;

static const preset presets[] = {
    {"cuda", cuda_functions, {"libcudart.so", "libcuda.so.1", NULL}},
    {"hip", hip_functions, {"libamdhip64.so", NULL, NULL}},
};
enum { PRESETS = sizeof presets / sizeof *presets };

static bool is_of_preset(const char *const *functions, const char *name, size_t size)
{
    static const char *const endings[] = {"", "_ptsz", "_ptds", "_spt"};
    if (size < 4 || (memcmp(name, "cu", 2) != 0 && memcmp(name, "hi", 2) != 0)) return false;
    for (; *functions; functions++) {
        size_t length = strlen(*functions);
        if (size < length || memcmp(name, *functions, length) != 0) continue;
        for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
            if (size - length == strlen(endings[i]) && memcmp(name + length, endings[i], size - length) == 0)
                return true;
        }
    }
    return false;
}

/* ---- the functions of a file ---- */

static bool matches(const uprobe_want *want, const uprobe_symbol *symbol)
{
    if (want->preset) return is_of_preset(want->preset, symbol->name, symbol->name_bytes);
    return hd_glob_matches(want->symbol, symbol->name, symbol->name_bytes, false);
}

static bool is_known(const hd_uprobe_plan *plan, const uprobe_elf *elf, uint64_t offset)
{
    for (uint32_t i = 0; i < plan->count; i++) {
        const uprobe_target *target = &plan->targets[i];
        if (target->device == elf->device && target->inode == elf->inode && target->offset == offset) return true;
    }
    return false;
}

static hd_status add_target(hd_uprobe_plan *plan, const uprobe_elf *elf, const char *path, const uprobe_symbol *symbol,
                            uint64_t offset, hd_error *err)
{
    if (plan->count == HD_UPROBE_TARGETS_MAX)
        return hd_error_set(err, HD_ERR_LIMIT, path, HD_OFFSET_NONE,
                            "more than %d functions are asked for; name fewer of them", HD_UPROBE_TARGETS_MAX);
    uprobe_target target = {.path = strdup(path),
                            .symbol = strndup(symbol->name, symbol->name_bytes),
                            .offset = offset,
                            .address = symbol->address,
                            .bytes = symbol->bytes,
                            .device = elf->device,
                            .inode = elf->inode};
    if (!target.path || !target.symbol) {
        free(target.path);
        free(target.symbol);
        return HD_NOMEM(err);
    }
    plan->targets[plan->count++] = target;
    return HD_OK;
}

/* *out_found: matching functions, including known ones; *out_new: new ones. */
static hd_status add_matching(hd_uprobe_plan *plan, const uprobe_elf *elf, const char *path, const uprobe_want *want,
                              uint32_t *out_found, uint32_t *out_new, hd_error *err)
{
    uprobe_symbol symbol;
    for (uint64_t at = 0; uprobe_elf_next(elf, &at, &symbol);) {
        uint64_t offset;
        if (!matches(want, &symbol) || !uprobe_elf_offset(elf, symbol.address, &offset)) continue;
        ++*out_found;
        if (is_known(plan, elf, offset)) continue;
        HD_TRY(add_target(plan, elf, path, &symbol, offset, err));
        ++*out_new;
    }
    return HD_OK;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

hd_status uprobe_plan_look(hd_uprobe_plan *plan, const char *path, uint32_t *out_found, hd_error *err)
{
    uprobe_elf elf = {0};
    uint32_t found = 0;
    hd_status status = HD_OK;
    *out_found = 0;
    for (uint32_t i = 0; i < plan->want_count && status == HD_OK; i++) {
        const uprobe_want *want = &plan->wants[i];
        if (want->library && !uprobe_search_is(want->library, base_of(path))) continue;
        if (!elf.map && uprobe_elf_open(&elf, path, NULL) != HD_OK) return HD_OK;
        status = add_matching(plan, &elf, path, want, &found, out_found, err);
    }
    uprobe_elf_close(&elf);
    return status;
}

/* ---- LIB:SYMBOL ---- */

static hd_status no_library(const hd_uprobe_plan *plan, const char *library, hd_error *err)
{
    uprobe_near near = {.typed = library};
    char text[UPROBE_NEAR * UPROBE_NEAR_BYTES + 16];
    if (strchr(library, '/'))
        return hd_error_set(err, HD_ERR_ARGUMENT, library, HD_OFFSET_NONE, "there is no such file to probe");
    uprobe_search_offer(&plan->search, &near);
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                        "no library %.60s is found where the dynamic linker looks; give its path%s", library,
                        uprobe_near_text(&near, text, sizeof text));
}

static hd_status no_symbol(const uprobe_elf *elf, const char *path, const char *wanted, hd_error *err)
{
    uprobe_near near = {.typed = wanted};
    char text[UPROBE_NEAR * UPROBE_NEAR_BYTES + 16];
    uprobe_symbol symbol;
    for (uint64_t at = 0; uprobe_elf_next(elf, &at, &symbol);) uprobe_near_offer(&near, symbol.name, symbol.name_bytes);
    if (!elf->tables[0].count && !elf->tables[1].count)
        return hd_error_set(err, HD_ERR_ARGUMENT, path, HD_OFFSET_NONE, "has no symbols at all, so not %.60s", wanted);
    return hd_error_set(err, HD_ERR_ARGUMENT, path, HD_OFFSET_NONE, "defines no function %.60s%s", wanted,
                        uprobe_near_text(&near, text, sizeof text));
}

static hd_status add_path(hd_uprobe_plan *plan, const char *path, const uprobe_want *want, hd_error *err)
{
    uprobe_elf elf;
    uint32_t found = 0, fresh = 0;
    HD_TRY(uprobe_elf_open(&elf, path, err));
    hd_status status = add_matching(plan, &elf, path, want, &found, &fresh, err);
    if (status == HD_OK && !found) status = no_symbol(&elf, path, want->symbol, err);
    uprobe_elf_close(&elf);
    return status;
}

static hd_status keep_want(hd_uprobe_plan *plan, const uprobe_want *want, hd_error *err)
{
    if (plan->want_count == UPROBE_WANTS_MAX)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than %d names to probe", UPROBE_WANTS_MAX);
    uprobe_want kept = {want->library ? strdup(want->library) : NULL, want->symbol ? strdup(want->symbol) : NULL,
                        want->preset};
    if ((want->library && !kept.library) || (want->symbol && !kept.symbol)) {
        free(kept.library);
        free(kept.symbol);
        return HD_NOMEM(err);
    }
    plan->wants[plan->want_count++] = kept;
    return HD_OK;
}

static hd_status add_named(hd_uprobe_plan *plan, const char *library, const char *symbol, hd_error *err)
{
    uprobe_want want = {.library = (char *)(uintptr_t)library, .symbol = (char *)(uintptr_t)symbol};
    char *path = uprobe_search_find(&plan->search, library);
    if (!path) return no_library(plan, library, err);
    hd_status status = add_path(plan, path, &want, err);
    free(path);
    if (status == HD_OK && !strchr(library, '/')) status = keep_want(plan, &want, err);
    return status;
}

/* ---- presets, again ---- */

static hd_status add_preset(hd_uprobe_plan *plan, const preset *known, hd_error *err)
{
    uprobe_want want = {.preset = known->functions};
    uint32_t found;
    HD_TRY(keep_want(plan, &want, err));
    if (plan->search.executable) HD_TRY(uprobe_plan_look(plan, plan->search.executable, &found, err));
    for (uint32_t i = 0; i < plan->search.count; i++)
        HD_TRY(uprobe_plan_look(plan, plan->search.libraries[i].path, &found, err));
    for (const char *const *library = known->libraries; *library; library++) {
        char *path = uprobe_search_find(&plan->search, *library);
        hd_status status = path ? uprobe_plan_look(plan, path, &found, err) : HD_OK;
        free(path);
        HD_TRY(status);
    }
    return HD_OK;
}

hd_status hd_uprobe_plan_add(hd_uprobe_plan *plan, const char *spec, hd_error *err)
{
    const char *colon = strrchr(spec, ':');
    uint32_t before = plan->count;
    for (size_t i = 0; i < PRESETS && !colon; i++) {
        if (strcmp(spec, presets[i].name) == 0) return add_preset(plan, &presets[i], err);
    }
    if (!colon || colon == spec || !colon[1])
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "\"%.80s\" is not LIB:SYMBOL, and no preset: those are cuda and hip", spec);
    char *library = strndup(spec, (size_t)(colon - spec));
    if (!library) return HD_NOMEM(err);
    hd_status status = add_named(plan, library, colon + 1, err);
    free(library);
    for (; status != HD_OK && plan->count > before; plan->count--) {
        free(plan->targets[plan->count - 1].path);
        free(plan->targets[plan->count - 1].symbol);
    }
    return status;
}

/* ---- new, free, look ---- */

hd_status hd_uprobe_plan_new(hd_uprobe_plan **out, const char *const *command, hd_error *err)
{
    hd_uprobe_plan *plan = calloc(1, sizeof *plan);
    *out = NULL;
    if (!plan) return HD_NOMEM(err);
    hd_status status = uprobe_search_init(&plan->search, command, err);
    if (status == HD_OK)
        *out = plan;
    else
        hd_uprobe_plan_free(plan);
    return status;
}

hd_status hd_uprobe_plan_of_process(hd_uprobe_plan **out, int pid, hd_error *err)
{
    HD_TRY(hd_uprobe_plan_new(out, NULL, err));
    hd_status status = uprobe_search_process(&(*out)->search, (uint32_t)pid, err);
    if (status == HD_OK) return HD_OK;
    hd_uprobe_plan_free(*out);
    *out = NULL;
    return status;
}

void hd_uprobe_plan_free(hd_uprobe_plan *plan)
{
    if (!plan) return;
    for (uint32_t i = 0; i < plan->count; i++) {
        free(plan->targets[i].path);
        free(plan->targets[i].symbol);
    }
    for (uint32_t i = 0; i < plan->want_count; i++) {
        free(plan->wants[i].library);
        free(plan->wants[i].symbol);
    }
    uprobe_search_deinit(&plan->search);
    free(plan);
}

uint32_t hd_uprobe_plan_count(const hd_uprobe_plan *plan)
{
    return plan->count;
}

hd_uprobe_target hd_uprobe_plan_at(const hd_uprobe_plan *plan, uint32_t index)
{
    const uprobe_target *target = &plan->targets[index];
    return (hd_uprobe_target){target->path, target->symbol, target->offset};
}
