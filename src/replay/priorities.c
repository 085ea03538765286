/* priorities.c - priorities of streams, and in how many waves the blocks of a kernel run: so soon it gives way
 *
 * Traces tell priorities by the argument `priority` of kernels, as Kineto has it from CUDA 13.1 on; readers whose
 * files say it of streams write the same (nsys, captures). As CUDA has it, lower numbers go first, and 0 is the
 * default; copies have none. How many blocks of a kernel an SM has at once: by their threads, registers and shared
 * memory.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/decimal.h"
#include "replay/priorities.h"
#include "report/properties.h"

/* Of an SM, where metadata does not say it: NVIDIA's GPUs for servers. */
enum { SM_THREADS = 2048, SM_REGISTERS = 65536, SM_BLOCKS = 32 };
enum { WARP = 32, WARP_REGISTERS = 256, BLOCK_SHARED = 1024 }; /* WARP_REGISTERS: given out in such parts */

static const char word[] = "priorities"; /* of the option */

static bool add_limits(void *user, report_properties *of)
{
    replay_waves *p = user;
    for (uint32_t i = 0; i < p->r->scope.device_count; i++) {
        const gpu_device *d = &p->r->scope.devices[i];
        if (d->device == of->id && (of->rank == HD_NO_NUMBER || of->rank == d->rank))
            p->limits[i] = (replay_limits){of->sm_threads, of->sm_registers, of->sm_shared_bytes};
    }
    return true;
}

bool replay_waves_init(replay_waves *p, const replay *r)
{
    static const char *const names[] = {"block", "registers per thread", "shared memory", "priority"};
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

bool replay_product(double *out, hd_string text)
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

/* Blocks that an SM has at once; 0: not known. */
static int64_t residency(replay_waves *p, const replay_limits *l, const hd_block *block, uint32_t at)
{
    double threads;
    int64_t registers, shared, most = SM_BLOCKS;
    hd_string shape = hd_trace_string(p->r->trace, gpu_arg_text(&p->args[REPLAY_BLOCK], block, at));
    if (!replay_product(&threads, shape) || !(threads >= 1 && threads <= SM_THREADS)) return 0;
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

void replay_waves_set(replay_share *out, replay_waves *p, uint32_t node, double per_sm)
{
    uint32_t at;
    const hd_block *block = hd_trace_block_of(&at, p->r->trace, HD_KIND_SLICE, p->r->graph->slices[node]);
    int64_t priority, at_once = residency(p, &p->limits[replay_gpu_work(p->r, node)->device], block, at);
    double waves = per_sm / (double)(at_once ? at_once : 1);
    if (waves > UINT16_MAX - 1) waves = UINT16_MAX - 1;
    if (waves > 1) {
        out->waves = (uint16_t)((uint16_t)waves + (waves > (uint16_t)waves));
        if (at_once) out->tail = (uint16_t)(out->width * (waves - (out->waves - 1)) + 1);
        if (out->tail > out->width) out->tail = out->width;
    }
    if (!gpu_arg_whole(&priority, &p->args[REPLAY_PRIORITY], block, at)) return;
    if (priority > INT32_MAX && priority <= UINT32_MAX) priority -= INT64_C(1) << 32; /* as CUPTI's records have it */
    out->priority = (int8_t)(priority < INT8_MIN ? INT8_MIN : priority > INT8_MAX ? INT8_MAX : priority);
}

bool replay_priorities_settle(replay *r)
{
    const replay_share **firsts = calloc((size_t)r->scope.device_count + 1, sizeof(replay_share *));
    r->has_priorities = false;
    for (uint32_t n = r->first_work; firsts && n < r->graph->node_count; n++) {
        const replay_share *s = &r->shares[n - r->first_work];
        if (s->sort != SHARE_SMS && s->sort != SHARE_HELD) continue;
        const replay_share **first = &firsts[replay_gpu_work(r, n)->device];
        if (!*first) *first = s;
        r->has_priorities |= s->priority != (*first)->priority;
    }
    free(firsts);
    return firsts != NULL;
}

/* ---- --schedule priorities=STREAM:P,… ---- */

bool replay_is_priorities(const char *schedule)
{
    size_t size = strlen(word);
    return !strncmp(schedule, word, size) && (!schedule[size] || schedule[size] == '=');
}

/* "7", "communication" or "all": the kernels of that get a priority. *any: there are some. */
static bool give(bool *any, replay *r, const char *stream, size_t size, int64_t priority)
{
    int64_t number = HD_NO_NUMBER;
    bool is_all = size == 3 && !memcmp(stream, "all", 3);
    bool is_communication = size == strlen("communication") && !memcmp(stream, "communication", size);
    *any = false;
    if (!is_all && !is_communication && !hd_fixed_parse_whole(&number, stream, size)) return false;
    for (uint32_t n = r->first_work; n < r->graph->node_count; n++) {
        bool is_it = is_communication
                         ? replay_gpu_work(r, n)->class == GPU_COMMUNICATION
                         : is_all || hd_trace_track_at(r->trace, replay_work(r, n)->track)->stream == number;
        if (is_it) r->shares[n - r->first_work].priority = (int8_t)priority;
        *any |= is_it;
    }
    return true;
}

hd_status replay_change_priorities(replay *r, hd_error *err)
{
    const char *text = r->options->schedule + strlen(word);
    if (!*text && !r->has_priorities)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "schedule: the trace tells no priorities of streams that differ: give them, as "
                            "priorities=STREAM:PRIORITY,… with the number of a stream, communication or all, where a "
                            "lower priority goes first");
    while (*text) {
        const char *stream = text + 1, *colon = stream + strcspn(stream, ":,");
        size_t digits = strcspn(colon, ",");
        int64_t priority;
        bool any, fine = *colon == ':' && hd_fixed_parse_whole(&priority, colon + 1, digits - 1) &&
                         priority >= INT8_MIN && priority <= INT8_MAX &&
                         give(&any, r, stream, (size_t)(colon - stream), priority);
        int size = (int)(colon - stream) + (int)digits;
        if (!fine || !any)
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "schedule: '%.*s' %s",
                                size < 40 ? size : 40, stream,
                                fine ? "is of no work in this trace"
                                     : "is no STREAM:PRIORITY, such as 7:-1, communication:-5 or all:0");
        text = colon + digits;
    }
    return replay_priorities_settle(r) ? HD_OK : HD_NOMEM(err);
}
