/* waves.c - how many SMs a kernel can hold, and in how many waves its blocks run
 *
 * The number of SMs follows from the kernel's blocks per SM, or from its grid and the SMs of the GPU; the blocks that
 * an SM runs at once from their threads, registers and shared memory.
 */
#include "replay/sms/waves.h"

#include <stdlib.h>

#include "base/text/decimal.h"
#include "report/properties.h"

/* Of an SM, if the metadata do not have it: NVIDIA's server GPUs. */
enum { SM_THREADS = 2048, SM_REGISTERS = 65536, SM_BLOCKS = 32 };
enum { WARP = 32, WARP_REGISTERS = 256, BLOCK_SHARED = 1024 }; /* WARP_REGISTERS: unit of allocation */

static bool add_limits(void *user, report_properties *of)
{
    replay_waves *p = user;
    for (uint32_t i = 0; i < p->r->scope.device_count; i++) {
        const gpu_device *d = &p->r->scope.devices[i];
        if (d->device != of->id || (of->rank != HD_NO_NUMBER && of->rank != d->rank)) continue;
        int64_t sms = of->multiprocessors > 0 ? of->multiprocessors : p->limits[i].sms;
        p->limits[i] = (replay_limits){sms, of->sm_threads, of->sm_registers, of->sm_shared_bytes};
    }
    return true;
}

bool replay_waves_init(replay_waves *p, const replay *r)
{
    static const char *const names[] = {[REPLAY_PER_SM] = "blocks per SM", [REPLAY_GRID] = "grid",
                                        [REPLAY_BLOCK] = "block",          [REPLAY_REGISTERS] = "registers per thread",
                                        [REPLAY_SHARED] = "shared memory", [REPLAY_PRIORITY] = "priority"};
    bool fine = true;
    *p = (replay_waves){.r = r, .limits = calloc((size_t)r->scope.device_count + 1, sizeof *p->limits)};
    for (int i = 0; i < REPLAY_ARGUMENTS; i++) fine &= gpu_arg_init(&p->args[i], r->trace, names[i]);
    return fine && p->limits && report_properties_read(r->trace, add_limits, p);
}

void replay_waves_deinit(replay_waves *p)
{
    for (int i = 0; i < REPLAY_ARGUMENTS; i++) gpu_arg_deinit(&p->args[i]);
    free(p->limits);
}

/* ---- a kernel ---- */

/* "[512,1,1]": the product of its numbers; false: none. */
static bool product(double *out, hd_string text)
{
    bool any = false;
    *out = 1;
    for (size_t i = 0; i < text.size; i++) {
        int64_t number;
        size_t digits = i;
        while (digits < text.size && text.data[digits] >= '0' && text.data[digits] <= '9') digits++;
        if (digits == i || !hd_fixed_parse_whole(&number, text.data + i, digits - i)) continue;
        *out *= (double)number;
        any = true;
        i = digits;
    }
    return any;
}

static void lower(int64_t *most, int64_t to)
{
    if (to < *most) *most = to > 0 ? to : 1;
}

/* Blocks that an SM runs at once; 0: unknown. */
static int64_t residency(replay_waves *p, const replay_limits *l, const hd_block *block, uint32_t at)
{
    double threads;
    int64_t registers, shared, most = SM_BLOCKS;
    hd_string shape = hd_trace_string(p->r->trace, gpu_arg_text(&p->args[REPLAY_BLOCK], block, at));
    if (!product(&threads, shape) || !(threads >= 1 && threads <= SM_THREADS)) return 0;
    int64_t warps = ((int64_t)threads + WARP - 1) / WARP;
    lower(&most, (l->threads > 0 ? l->threads : SM_THREADS) / (warps * WARP));
    if (gpu_arg_whole(&registers, &p->args[REPLAY_REGISTERS], block, at) && registers > 0 && registers < SM_REGISTERS) {
        registers = (registers * WARP + WARP_REGISTERS - 1) / WARP_REGISTERS * WARP_REGISTERS;
        lower(&most, (l->registers > 0 ? l->registers : SM_REGISTERS) / registers / warps);
    }
    if (gpu_arg_whole(&shared, &p->args[REPLAY_SHARED], block, at) && shared >= 0 && l->shared > shared)
        lower(&most, l->shared / (shared + BLOCK_SHARED));
    return most;
}

/* Blocks per SM, from the trace or from the grid; 0: unknown. */
static double blocks_per_sm(replay_waves *p, const replay_limits *l, const hd_block *block, uint32_t at)
{
    hd_value value;
    double blocks;
    if (gpu_arg_get(&value, &p->args[REPLAY_PER_SM], block, at) && hd_value_double(&blocks, p->r->trace, value))
        return blocks;
    hd_string grid =
        l->sms ? hd_trace_string(p->r->trace, gpu_arg_text(&p->args[REPLAY_GRID], block, at)) : (hd_string){0};
    return product(&blocks, grid) ? blocks / (double)l->sms : 0;
}

bool replay_waves_set(replay_share *out, replay_waves *p, uint32_t node)
{
    uint32_t at;
    const hd_block *block = hd_trace_block_of(&at, p->r->trace, HD_KIND_SLICE, p->r->graph->slices[node]);
    const replay_limits *l = &p->limits[replay_gpu_work(p->r, node)->device];
    double per_sm = blocks_per_sm(p, l, block, at);
    if (!(per_sm > 0)) return false;
    int64_t priority, at_once = residency(p, l, block, at);
    out->width = out->tail = per_sm >= 1 ? SHARE_ALL : (uint16_t)(per_sm * SHARE_ALL + 1);
    double waves = per_sm / (double)(at_once ? at_once : 1);
    if (waves > UINT16_MAX - 1) waves = UINT16_MAX - 1;
    if (waves > 1) {
        out->waves = (uint16_t)((uint16_t)waves + (waves > (uint16_t)waves));
        if (at_once) out->tail = (uint16_t)(out->width * (waves - (out->waves - 1)) + 1);
        if (out->tail > out->width) out->tail = out->width;
    }
    if (!gpu_arg_whole(&priority, &p->args[REPLAY_PRIORITY], block, at)) return true;
    if (priority > INT32_MAX && priority <= UINT32_MAX) priority -= INT64_C(1) << 32; /* as in CUPTI's records */
    out->priority = (int8_t)(priority < INT8_MIN ? INT8_MIN : priority > INT8_MAX ? INT8_MAX : priority);
    return true;
}
