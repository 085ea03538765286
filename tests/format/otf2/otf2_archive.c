/* otf2_archive.c - see otf2_archive.h */
#include "format/otf2/otf2_archive.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static OTF2_FlushType before_flush(void *user, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool final)
{
    (void)user, (void)type, (void)location, (void)caller, (void) final;
    return OTF2_FLUSH;
}

static OTF2_TimeStamp after_flush(void *user, OTF2_FileType type, OTF2_LocationRef location)
{
    (void)user, (void)type, (void)location;
    return 0;
}

void archive_begin(test_archive *a)
{
    static const OTF2_FlushCallbacks flush = {before_flush, after_flush};
    char *tmp = getenv("TMPDIR");
    *a = (test_archive){0};
    strcpy(a->folder, "/tmp");
    if (tmp && tmp[0] && strlen(tmp) < 40) strcpy(a->folder, tmp);
    strcat(a->folder, "/otf2-XXXXXX");
    if (!mkdtemp(a->folder)) fail_msg("no temporary folder");
    strcpy(a->anchor, a->folder);
    strcat(a->anchor, "/traces.otf2");
    rmdir(a->folder); /* the library makes it */
    a->archive = OTF2_Archive_Open(a->folder, "traces", OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_MIN, OTF2_CHUNK_SIZE_MIN,
                                   OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    assert_non_null(a->archive);
    OTF2_Archive_SetFlushCallbacks(a->archive, &flush, NULL);
    OTF2_Archive_SetSerialCollectiveCallbacks(a->archive);
    OTF2_Archive_SetCreator(a->archive, "test");
    OTF2_Archive_OpenEvtFiles(a->archive);
}

OTF2_EvtWriter *archive_events(test_archive *a, OTF2_LocationRef location)
{
    a->locations[a->location_count++] = location;
    return OTF2_Archive_GetEvtWriter(a->archive, location);
}

void archive_definitions(test_archive *a, const int64_t (*offsets)[2], size_t count)
{
    for (size_t i = 0; i < a->location_count; i++) {
        OTF2_EvtWriter *writer = OTF2_Archive_GetEvtWriter(a->archive, a->locations[i]);
        OTF2_EvtWriter_GetNumberOfEvents(writer, &a->counts[i]);
        OTF2_Archive_CloseEvtWriter(a->archive, writer);
    }
    OTF2_Archive_CloseEvtFiles(a->archive);
    OTF2_Archive_OpenDefFiles(a->archive);
    for (size_t i = 0; i < a->location_count; i++) {
        OTF2_DefWriter *writer = OTF2_Archive_GetDefWriter(a->archive, a->locations[i]);
        for (size_t k = 0; k < count && i == 0; k++)
            OTF2_DefWriter_WriteClockOffset(writer, (OTF2_TimeStamp)offsets[k][0], offsets[k][1], 0.5);
        OTF2_Archive_CloseDefWriter(a->archive, writer);
    }
    OTF2_Archive_CloseDefFiles(a->archive);
    a->defs = OTF2_Archive_GetGlobalDefWriter(a->archive);
    archive_string(a, "");
}

OTF2_StringRef archive_string(test_archive *a, const char *text)
{
    OTF2_GlobalDefWriter_WriteString(a->defs, a->string_count, text);
    return a->string_count++;
}

void archive_standard(test_archive *a)
{
    OTF2_GlobalDefWriter_WriteClockProperties(a->defs, 1000000000, 0, 1000000000, UINT64_C(1700000000000000000));
    OTF2_GlobalDefWriter_WriteSystemTreeNode(a->defs, 0, archive_string(a, "host"), archive_string(a, "machine"),
                                             OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    OTF2_GlobalDefWriter_WriteLocationGroup(a->defs, 0, archive_string(a, "process"), OTF2_LOCATION_GROUP_TYPE_PROCESS,
                                            0, OTF2_UNDEFINED_LOCATION_GROUP);
    for (size_t i = 0; i < a->location_count; i++)
        OTF2_GlobalDefWriter_WriteLocation(a->defs, a->locations[i], archive_string(a, "thread"),
                                           OTF2_LOCATION_TYPE_CPU_THREAD, a->counts[i], 0);
}

OTF2_RegionRef archive_region(test_archive *a, OTF2_RegionRef self, const char *name)
{
    OTF2_StringRef string = archive_string(a, name);
    OTF2_GlobalDefWriter_WriteRegion(a->defs, self, string, string, 0, OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER,
                                     OTF2_REGION_FLAG_NONE, OTF2_UNDEFINED_STRING, 0, 0);
    return self;
}

void archive_end(test_archive *a)
{
    OTF2_Archive_Close(a->archive);
    a->archive = NULL;
}

static void remove_folder(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder) return;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char inner[1024];
        if (entry->d_name[0] == '.') continue;
        if (snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name) >= (int)sizeof inner) continue;
        if (unlink(inner) != 0) remove_folder(inner);
    }
    closedir(folder);
    rmdir(path);
}

void archive_remove(test_archive *a)
{
    remove_folder(a->folder);
}

hd_trace *archive_read(const test_archive *a)
{
    hd_trace *trace;
    hd_error err = {0};
    if (hd_trace_read(&trace, a->anchor, NULL, &err) != HD_OK) fail_msg("%s", err.message);
    return trace;
}

uint64_t archive_found(const hd_trace *trace, const char *code)
{
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++) {
        const hd_ledger_row *row = hd_trace_ledger_at(trace, i);
        if (strcmp(row->code, code) == 0) return row->count;
    }
    return 0;
}
