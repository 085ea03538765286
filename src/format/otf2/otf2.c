/* otf2.c - the descriptor of OTF2 archives */
#include "format/otf2/otf2.h"

#include <otf2/otf2.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"

static bool is_part(const char *name)
{
    static const char *const parts[] = {"traces", "traces.otf2", "traces.def", "traces.marker"};
    bool found = false;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) found |= strcmp(name, parts[i]) == 0;
    return found;
}

const hd_out_folder_kind otf2_folder = {"an OTF2 archive", "traces.otf2", is_part};

static const hd_check_code about_codes = {"archive", "warning",
                                          "otf2.…: the archive breaks a rule of OTF2 that otf2-print does not look at",
                                          "Vampir and others draw it wrongly or stop: docs/formats/otf2.md"};

const hd_format hd_otf2_format = {
    .info =
        {.name = "otf2",
         .title = "OTF2 archive (Vampir, Score-P)",
         .extensions = ".otf2",
         .reads = true,
         .writes = true,
         .keeps =
             "events to the nanosecond, arguments as typed attributes, counters, copies, collectives, matched flows",
         .loses = "picoseconds, flow points without a partner, events without a time, order of the input"},
    .sniff = otf2_sniff,
    .read = otf2_read,
    .write = otf2_write,
    .is_folder = true,
    .folder = &otf2_folder,
    .read_part = otf2_read_part,
    .join = otf2_join,
    .code = &about_codes,
};

bool otf2_file_checksum(uint64_t *out, FILE *file)
{
    enum { PIECE = 1 << 20 };
    uint64_t chain[2] = {0};
    char *piece = malloc(PIECE);
    if (!piece) return false;
    setvbuf(file, NULL, _IONBF, 0);
    for (size_t got; (got = fread(piece, 1, PIECE, file)) > 0;) {
        chain[1] = hd_checksum(piece, got);
        chain[0] = hd_checksum(chain, sizeof chain);
    }
    free(piece);
    *out = chain[0];
    return !ferror(file);
}

static pthread_mutex_t quiet_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned quiet_count;
static OTF2_ErrorCallback loud;

static OTF2_ErrorCode say_nothing(void *user, const char *file, uint64_t line, const char *function,
                                  OTF2_ErrorCode code, const char *format, va_list args)
{
    (void)user, (void)file, (void)line, (void)function, (void)format, (void)args;
    return code;
}

void otf2_be_quiet(bool quiet)
{
    pthread_mutex_lock(&quiet_lock);
    if (quiet && quiet_count++ == 0) loud = OTF2_Error_RegisterCallback(say_nothing, NULL);
    if (!quiet && --quiet_count == 0) OTF2_Error_RegisterCallback(loud, NULL);
    pthread_mutex_unlock(&quiet_lock);
}
