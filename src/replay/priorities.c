/* priorities.c - priorities of streams: whether they differ, and those set by options
 *
 * Traces have priorities in the argument `priority` of kernels, as Kineto writes it from CUDA 13.1 on; readers of files
 * with stream priorities write the same argument (nsys, captures). As in CUDA, lower numbers go first, and 0 is the
 * default; copies have none.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/decimal.h"
#include "replay/priorities.h"

static const char word[] = "priorities"; /* of the option */

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
                            "schedule: the trace has no streams of different priority: give priorities, as "
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
                                     : "is not a STREAM:PRIORITY, such as 7:-1, communication:-5 or all:0");
        text = colon + digits;
    }
    return replay_priorities_settle(r) ? HD_OK : HD_NOMEM(err);
}
