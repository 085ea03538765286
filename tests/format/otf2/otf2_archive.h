/* otf2_archive.h - small OTF2 archives for tests, written with the library's own writer, which checks next to nothing
 */
#ifndef HD_TESTS_OTF2_ARCHIVE_H
#define HD_TESTS_OTF2_ARCHIVE_H

#include <otf2/otf2.h>

#include "heddle/format.h"

typedef struct test_archive {
    char folder[64]; /* of its own, below $TMPDIR or /tmp */
    char anchor[96]; /* FOLDER/traces.otf2 */
    OTF2_Archive *archive;
    OTF2_GlobalDefWriter *defs;
    uint32_t string_count;
    uint64_t locations[16], counts[16];
    size_t location_count;
} test_archive;

/* First the events of all locations, then the definitions, then the end. */
void archive_begin(test_archive *a);
OTF2_EvtWriter *archive_events(test_archive *a, OTF2_LocationRef location);
/* Ends the events; writes local definitions, with these clock offsets for location 0 if count is not 0. */
void archive_definitions(test_archive *a, const int64_t (*offsets)[2], size_t count);
OTF2_StringRef archive_string(test_archive *a, const char *text);
/* A clock of 1 GHz that begins at 0 and is 1 s long, a machine, a process, its locations with their event counts. */
void archive_standard(test_archive *a);
OTF2_RegionRef archive_region(test_archive *a, OTF2_RegionRef self, const char *name);
void archive_end(test_archive *a);
void archive_remove(test_archive *a);

/* All of the above: every kind of event, and markers. */
void archive_everything(test_archive *a);

/* Reads it, or fails the test. The caller frees it. */
hd_trace *archive_read(const test_archive *a);
/* The ledger's count of a code, 0 if it is not there. */
uint64_t archive_found(const hd_trace *trace, const char *code);

#endif
