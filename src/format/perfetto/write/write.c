/* write.c - trace -> Perfetto protobuf
 *
 * Format   github.com/google/perfetto, protos/perfetto/trace; packets of track events, in groups that are compressed
 *          unless options.raw
 * Maps     see docs/formats/perfetto.md
 * Units    nanoseconds; picoseconds below are cut
 * Limits   2^32 events of one kind, 2^30 tracks
 * Memory   24 bytes an event, 48 a flow point, 4 to 24 a string; the output is streamed
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "format/perfetto/write/writer.h"
#include "trace/spill.h"

static const struct {
    const char *code;
    hd_ledger_level level;
} note_texts[PF_NOTE_COUNT] = {
    [PF_NOTE_NO_TIME] = {"perfetto.event-without-time", HD_LEDGER_LOSS},
    [PF_NOTE_BEYOND_TIME] = {"perfetto.event-beyond-time", HD_LEDGER_LOSS},
    [PF_NOTE_END_UNMATCHED] = {"perfetto.event-end-unmatched", HD_LEDGER_LOSS},
    [PF_NOTE_ASYNC_UNMATCHED] = {"perfetto.event-async-unmatched", HD_LEDGER_LOSS},
    [PF_NOTE_FLOW_UNBOUND] = {"perfetto.event-flow-unbound", HD_LEDGER_LOSS},
    [PF_NOTE_FLOW_WITHOUT_START] = {"perfetto.event-flow-without-start", HD_LEDGER_LOSS},
    [PF_NOTE_COUNTER_EMPTY] = {"perfetto.event-counter-empty", HD_LEDGER_LOSS},
    [PF_NOTE_SAMPLE] = {"perfetto.event-sample", HD_LEDGER_LOSS},
    [PF_NOTE_OBJECT] = {"perfetto.event-object", HD_LEDGER_LOSS},
    [PF_NOTE_META] = {"perfetto.event-metadata", HD_LEDGER_LOSS},
    [PF_NOTE_OTHER] = {"perfetto.event-other", HD_LEDGER_LOSS},
    [PF_NOTE_COUNTER_VALUE] = {"perfetto.counter-value", HD_LEDGER_LOSS},
    [PF_NOTE_COUNTER_ROUNDED] = {"perfetto.counter-rounded", HD_LEDGER_LOSS},
    [PF_NOTE_COUNTER_UNIT] = {"perfetto.counter-unit", HD_LEDGER_LOSS},
    [PF_NOTE_SAMPLE_VALUES] = {"perfetto.sample-values", HD_LEDGER_LOSS},
    [PF_NOTE_FLOW_NAME] = {"perfetto.flow-name", HD_LEDGER_LOSS},
    [PF_NOTE_END_NAME] = {"perfetto.end-name", HD_LEDGER_LOSS},
    [PF_NOTE_METADATA] = {"perfetto.metadata-too-long", HD_LEDGER_LOSS},
    [PF_NOTE_NEGATIVE_DURATION] = {"perfetto.duration-negative", HD_LEDGER_LOSS},
    [PF_NOTE_PICOSECONDS] = {"perfetto.time-cut-to-ns", HD_LEDGER_REPAIR},
    [PF_NOTE_FLOW_BACKWARD] = {"perfetto.flow-backward", HD_LEDGER_REPAIR},
    [PF_NOTE_SHIFTED] = {"perfetto.time-shifted", HD_LEDGER_REPAIR},
    [PF_NOTE_CROSSING] = {"perfetto.slice-on-sibling", HD_LEDGER_NOTE},
    [PF_NOTE_NUMBER_TEXT] = {"perfetto.number-as-text", HD_LEDGER_NOTE},
    [PF_NOTE_NUMBER_MADE] = {"perfetto.number-made-up", HD_LEDGER_NOTE},
    [PF_NOTE_IDS_MERGED] = {"perfetto.ids-merged", HD_LEDGER_LOSS},
};

static void note_losses(const pf_writer *w)
{
    hd_write_note(w->options, PERFETTO_STAGE, "perfetto.events-written", HD_LEDGER_NOTE, w->written);
    for (int i = 0; i < PF_NOTE_COUNT; i++) {
        if (strncmp(note_texts[i].code, "perfetto.event-", 15) == 0) /* whole events, all of them losses */
            hd_write_lost_events(w->options, PERFETTO_STAGE, note_texts[i].code, w->notes[i]);
        else
            hd_write_note(w->options, PERFETTO_STAGE, note_texts[i].code, note_texts[i].level, w->notes[i]);
    }
}

static hd_status write_all(pf_writer *w, hd_output *output, hd_error *err)
{
    HD_TRY(pf_packets_new(&w->packets, output, w->options->raw, w->options->threads, err));
    HD_TRY(pf_intern_init(w, err));
    HD_TRY(pf_places_init(w, err));
    HD_TRY(pf_collect(w, err));
    HD_TRY(pf_flows_collect(w, err));
    HD_TRY(pf_lanes(w, err));
    HD_TRY(pf_flows_join(w, err));
    if (w->options->typed_gpu) HD_TRY(pf_stages_init(w, err));
    HD_TRY(pf_emit(w, err));
    return pf_packets_finish(w->packets, err);
}

hd_status perfetto_write(const hd_trace *trace, hd_output *output, const hd_write_options *options, hd_error *err)
{
    pf_writer w = {.trace = trace, .options = options, .large = hd_trace_large_bytes(trace)};
    hd_status status = write_all(&w, output, err);
    if (status == HD_OK) note_losses(&w);
    pf_packets_free(w.packets);
    pf_places_deinit(&w);
    pf_intern_deinit(&w);
    pf_samples_deinit(&w);
    pf_stages_deinit(&w);
    hd_large_free(w.items);
    hd_large_free(w.async_pairs);
    hd_large_free(w.points);
    hd_large_free(w.links);
    hd_bytes_deinit(&w.event);
    hd_bytes_deinit(&w.interned);
    hd_bytes_deinit(&w.json);
    return status;
}
