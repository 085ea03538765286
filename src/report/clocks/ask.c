/* ask.c - queries of the solved clocks */
#include "base/sorted.h"
#include "report/clocks/clocks.h"

size_t hd_clocks_count(const hd_clocks *clocks)
{
    return clocks->host_count;
}

const hd_host_clock *hd_clocks_host(const hd_clocks *clocks, size_t host)
{
    return &clocks->hosts[host].public;
}

const char *hd_clock_basis_name(hd_clock_basis basis)
{
    static const char *const names[HD_CLOCK_BASES] = {"unknown", "reference", "ends", "bounds", "hint", "refused"};
    return names[basis];
}

uint64_t hd_clocks_left_out(const hd_clocks *clocks)
{
    return clocks->left_out;
}

size_t hd_clocks_cycle_size(const hd_clocks *clocks)
{
    return clocks->cycle_count;
}

const hd_clock_step *hd_clocks_cycle_at(const hd_clocks *clocks, size_t index)
{
    return &clocks->places[index];
}

bool hd_clocks_at(int64_t *out_offset_ns, int64_t *out_bar_ns, const hd_clocks *clocks, size_t host, int64_t time_ns)
{
    const clock_pieces *pieces = &clocks->hosts[host].pieces;
    size_t low = 0, high = pieces->count;
    HD_PARTITION_POINT(low, high, at, pieces->list[at].until_ns < time_ns);
    if (low == pieces->count || pieces->list[low].from_ns > time_ns) return false;
    *out_offset_ns = clock_piece_offset(&pieces->list[low], time_ns);
    *out_bar_ns = clock_piece_bar(&pieces->list[low], time_ns, clocks->drift);
    return true;
}

bool hd_clocks_wait(int64_t *out_wait_ns, int64_t *out_bar_ns, const hd_clocks *clocks, size_t from_host, int64_t from,
                    size_t to_host, int64_t to)
{
    int64_t offsets[2] = {0}, bars[2] = {0};
    if (from_host != to_host && (!hd_clocks_at(&offsets[0], &bars[0], clocks, from_host, from) ||
                                 !hd_clocks_at(&offsets[1], &bars[1], clocks, to_host, to)))
        return false;
    *out_wait_ns = clock_clip((clock_i128)to + offsets[1] - from - offsets[0]);
    *out_bar_ns = clock_clip((clock_i128)bars[0] + bars[1]);
    return from_host == to_host || *out_wait_ns > *out_bar_ns || *out_wait_ns < -*out_bar_ns;
}
