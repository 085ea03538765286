/* otf2.h - OTF2 archives: shared by the parts of this format
 *
 * An archive is a folder: traces.otf2 (the anchor), traces.def, traces/N.evt and traces/N.def per location. Only files
 * of this folder use the OTF2 library.
 */
#ifndef HD_FORMAT_OTF2_H
#define HD_FORMAT_OTF2_H

#include <stdio.h>

#include "format/format.h"
#include "format/out_folder.h"

extern const hd_out_folder_kind otf2_folder;

/* read/read.c */
int otf2_sniff(const unsigned char *head, size_t size);
hd_status otf2_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err);

/* write/write.c: the output's folder is the archive's, or named FOLDER/traces.otf2. */
hd_status otf2_write(const hd_trace *trace, hd_output *output, const hd_write_options *options, hd_error *err);

/* join/join.c: see hd_format.join. read/read.c: tracks, metadata and facts of an archive that otf2_write made. */
hd_status otf2_join(const char *folder, const hd_format_part *parts, size_t count, const hd_trace *whole,
                    hd_error *err);
hd_status otf2_read_part(hd_trace **out, const char *path, hd_error *err);

/* Property of a location in joined archives: the offset in ns added to its times at its begin, if not 0. */
#define OTF2_CLOCK "heddle.clock_ns"

/* XXH3 of the 1 MiB chunks of a file, chained; false: unreadable. Location N of our archives has that of N.evt as the
 * property OTF2_CHECKSUM. */
#define OTF2_CHECKSUM "HEDDLE::xxh3"
bool otf2_file_checksum(uint64_t *out, FILE *file);

/* The library prints each error to standard error unless a callback is set, which is global to the process. Between
 * true and false it is silent; the last call with false restores the previous callback. Any thread. */
void otf2_be_quiet(bool quiet);

#endif
