/* peer_simdjson.cc - the limit of the scan: simdjson's On-Demand parser walks ts, dur, name and ph of every event
 *
 * `peer_simdjson FILE`. simdjson wants the whole text in padded memory and an index of it, which take longer to get
 * from the system than the walk takes; so the walk is repeated in the same memory, and seconds, mb_per_s are the
 * fastest of three. load_seconds is what comes before it. What it keeps of the trace are the sums that bench_scan
 * prints too.
 */
#include <simdjson.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string_view>

namespace ondemand = simdjson::ondemand;

struct sums {
    uint64_t events = 0, timed = 0, name_bytes = 0, phases = 0;
    double duration_us = 0;
};

static void add_event(sums &sum, ondemand::object event)
{
    sum.events++;
    for (auto field : event) {
        ondemand::raw_json_string key = field.key();
        if (key == "ts") {
            double ts = field.value().get_double();
            sum.timed += ts == ts;
        } else if (key == "dur") {
            sum.duration_us += double(field.value().get_double());
        } else if (key == "name") {
            sum.name_bytes += std::string_view(field.value().get_string()).size();
        } else if (key == "ph") {
            std::string_view phase = field.value().get_string();
            if (!phase.empty()) sum.phases += (unsigned char)phase[0];
        }
    }
}

static sums walk(ondemand::parser &parser, const simdjson::padded_string &text)
{
    sums sum;
    ondemand::document document = parser.iterate(text);
    if (document.type() == ondemand::json_type::array) {
        for (auto event : document.get_array()) add_event(sum, event.get_object());
    } else {
        for (auto event : document["traceEvents"].get_array()) add_event(sum, event.get_object());
    }
    return sum;
}

static double seconds()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int main(int argc, char **argv)
try {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }
    double start = seconds(), best = 1e9;
    simdjson::padded_string text = simdjson::padded_string::load(argv[1]);
    double loaded = seconds();
    ondemand::parser parser;
    sums sum;
    for (int run = 0; run < 3; run++) {
        double from = seconds();
        sum = walk(parser, text);
        double took = seconds() - from;
        if (took < best) best = took;
    }
    std::printf("seconds=%.4f mb_per_s=%.0f load_seconds=%.4f events=%llu timed=%llu phases=%llu name_bytes=%llu "
                "duration_us=%.0f\n",
                best, double(text.size()) / best / 1e6, loaded - start, (unsigned long long)sum.events,
                (unsigned long long)sum.timed, (unsigned long long)sum.phases, (unsigned long long)sum.name_bytes,
                sum.duration_us);
    return 0;
} catch (const simdjson::simdjson_error &error) {
    std::fprintf(stderr, "%s: %s\n", argv[1], error.what());
    return 1;
}
