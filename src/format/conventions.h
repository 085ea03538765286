/* conventions.h - PyTorch's conventions for arguments and top-level keys, in any format
 *
 * Sources   device and stream in the arguments of GPU slices; distributedInfo, baseTimeNanoseconds
 * Untold    facts that a reader could not derive: streams without such arguments, as those of XPlane and OTF2; threads
 *           that an argument would turn into streams; ranks of processes that differ. Writers store them explicitly: as
 *           metadata events of Chrome's JSON (HD_STREAM_EVENT with the arguments device and stream, or thread;
 *           HD_RANK_EVENT with rank), or as descriptions of Perfetto's tracks
 */
#ifndef HD_FORMAT_CONVENTIONS_H
#define HD_FORMAT_CONVENTIONS_H

#include "heddle/builder.h"

#define HD_STREAM_EVENT "gpu_stream"
#define HD_RANK_EVENT "process_rank"
#define HD_DEVICES_ON_ROW "devices-on-one-row" /* a note of the ledger, and a code of `check` */

/* What the category of a slice implies about its track. */
enum { CONVENTIONS_UNKNOWN, CONVENTIONS_CPU, CONVENTIONS_GPU, CONVENTIONS_SYNC, CONVENTIONS_CALL };
uint8_t hd_conventions_class(hd_string category);

/* Errors of all: MEMORY. Tracks of GPU slices become streams, with the numbers in their arguments. told: by track,
 * whether its kind is known already, so that it stays; NULL: none. */
hd_status hd_conventions_find_streams(hd_builder *builder, const uint8_t *told, hd_error *err);

typedef enum hd_untold { HD_UNTOLD_NOTHING, HD_UNTOLD_STREAM, HD_UNTOLD_THREAD, HD_UNTOLD_RANK } hd_untold;
/* By track, the facts that a reader of the written file could not derive. keeps_events: the file has the metadata
 * events of the trace. The caller frees it, also after an error. */
hd_status hd_conventions_untold(uint8_t **out, const hd_trace *trace, bool keeps_events, hd_error *err);
/* The value of a top-level key distributedInfo for a trace with a rank but without that key; "" otherwise. */
enum { HD_RANK_BYTES = 80 };
void hd_conventions_rank(char out[HD_RANK_BYTES], const hd_trace *trace);
/* The same of HD_BASE_TIME, for a trace that knows the Unix time of its clock's zero. */
#define HD_BASE_TIME "baseTimeNanoseconds"
enum { HD_BASE_TIME_BYTES = 24 };
void hd_conventions_base_time(char out[HD_BASE_TIME_BYTES], const hd_trace *trace);
/* facts.rank, world_size, base_ns, where top-level keys say them. */
hd_status hd_conventions_find_facts(hd_builder *builder, hd_error *err);

#endif
