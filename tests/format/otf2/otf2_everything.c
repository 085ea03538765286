/* otf2_everything.c - an archive that holds every kind of event and nearly every kind of definition */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "format/otf2/otf2_archive.h"

static void write_cpu_events(OTF2_EvtWriter *w)
{
    OTF2_AttributeList *list = OTF2_AttributeList_New();
    OTF2_EvtWriter_ProgramBegin(w, NULL, 10, 1, 2, (const OTF2_StringRef[]){2, 3});
    OTF2_AttributeList_AddInt8(list, 0, -5);
    OTF2_AttributeList_AddUint64(list, 1, UINT64_MAX);
    OTF2_AttributeList_AddDouble(list, 2, 0.1);
    OTF2_AttributeList_AddFloat(list, 3, 2.5f);
    OTF2_AttributeList_AddStringRef(list, 4, 2);
    OTF2_AttributeList_AddRegionRef(list, 5, 1);
    OTF2_AttributeList_AddLocationRef(list, 6, UINT64_C(4294967296));
    OTF2_EvtWriter_Enter(w, list, 20, 0);
    OTF2_EvtWriter_ParameterString(w, NULL, 20, 0, 2);
    OTF2_EvtWriter_ParameterInt(w, NULL, 20, 1, -7);
    OTF2_EvtWriter_ParameterUnsignedInt(w, NULL, 22, 2, 8);
    OTF2_EvtWriter_MeasurementOnOff(w, NULL, 23, OTF2_MEASUREMENT_OFF);
    OTF2_EvtWriter_MeasurementOnOff(w, NULL, 24, OTF2_MEASUREMENT_ON);
    OTF2_EvtWriter_BufferFlush(w, NULL, 25, 26);
    OTF2_EvtWriter_Enter(w, NULL, 30, 1);
    OTF2_AttributeList_AddUint32(list, 1, 4); /* attributes of a leave */
    OTF2_EvtWriter_Leave(w, list, 40, 1);
    OTF2_EvtWriter_ParameterInt(w, NULL, 41, 1, -9); /* not behind an enter */
    OTF2_EvtWriter_CallingContextEnter(w, NULL, 50, 0, 2);
    OTF2_EvtWriter_CallingContextSample(w, NULL, 51, 1, 3, 0);
    OTF2_EvtWriter_CallingContextLeave(w, NULL, 60, 0);
    OTF2_AttributeList_Delete(list);
}

static void write_messages(OTF2_EvtWriter *w)
{
    OTF2_EvtWriter_MpiSend(w, NULL, 100, 1, 0, 5, 1000);
    OTF2_EvtWriter_MpiIsend(w, NULL, 101, 1, 0, 5, 1001, 77);
    OTF2_EvtWriter_MpiIsendComplete(w, NULL, 102, 77);
    OTF2_EvtWriter_MpiRequestTest(w, NULL, 103, 78);
    OTF2_EvtWriter_MpiRequestCancelled(w, NULL, 104, 79);
    OTF2_EvtWriter_MpiCollectiveBegin(w, NULL, 105);
    OTF2_EvtWriter_MpiCollectiveEnd(w, NULL, 106, OTF2_COLLECTIVE_OP_ALLREDUCE, 0, OTF2_COLLECTIVE_ROOT_NONE, 8, 16);
    OTF2_EvtWriter_NonBlockingCollectiveRequest(w, NULL, 107, 80);
    OTF2_EvtWriter_NonBlockingCollectiveComplete(w, NULL, 108, OTF2_COLLECTIVE_OP_BCAST, 0, 1, 8, 16, 80);
    OTF2_EvtWriter_CommCreate(w, NULL, 109, 0);
    OTF2_EvtWriter_CommDestroy(w, NULL, 110, 0);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* old archives hold the events that began with Omp */
static void write_threads(OTF2_EvtWriter *w)
{
    OTF2_EvtWriter_OmpFork(w, NULL, 200, 4);
    OTF2_EvtWriter_OmpJoin(w, NULL, 201);
    OTF2_EvtWriter_OmpAcquireLock(w, NULL, 202, 1, 2);
    OTF2_EvtWriter_OmpReleaseLock(w, NULL, 203, 1, 2);
    OTF2_EvtWriter_OmpTaskCreate(w, NULL, 204, 9);
    OTF2_EvtWriter_OmpTaskSwitch(w, NULL, 205, 9);
    OTF2_EvtWriter_OmpTaskComplete(w, NULL, 206, 9);
    OTF2_EvtWriter_ThreadFork(w, NULL, 210, OTF2_PARADIGM_OPENMP, 4);
    OTF2_EvtWriter_ThreadTeamBegin(w, NULL, 211, 0);
    OTF2_EvtWriter_ThreadAcquireLock(w, NULL, 212, OTF2_PARADIGM_PTHREAD, 3, 1);
    OTF2_EvtWriter_ThreadReleaseLock(w, NULL, 213, OTF2_PARADIGM_PTHREAD, 3, 1);
    OTF2_EvtWriter_ThreadTaskCreate(w, NULL, 214, 0, 1, 2);
    OTF2_EvtWriter_ThreadTaskSwitch(w, NULL, 215, 0, 1, 2);
    OTF2_EvtWriter_ThreadTaskComplete(w, NULL, 216, 0, 1, 2);
    OTF2_EvtWriter_ThreadTeamEnd(w, NULL, 217, 0);
    OTF2_EvtWriter_ThreadJoin(w, NULL, 218, OTF2_PARADIGM_OPENMP);
    OTF2_EvtWriter_ThreadCreate(w, NULL, 219, 0, 11);
    OTF2_EvtWriter_ThreadBegin(w, NULL, 220, 0, 11);
    OTF2_EvtWriter_ThreadWait(w, NULL, 221, 0, 11);
    OTF2_EvtWriter_ThreadEnd(w, NULL, 222, 0, 11);
}

#pragma GCC diagnostic pop

static void write_io(OTF2_EvtWriter *w)
{
    OTF2_EvtWriter_IoCreateHandle(w, NULL, 300, 0, OTF2_IO_ACCESS_MODE_READ_WRITE, OTF2_IO_CREATION_FLAG_CREATE, 2);
    OTF2_EvtWriter_IoDuplicateHandle(w, NULL, 301, 0, 1, 0);
    OTF2_EvtWriter_IoSeek(w, NULL, 302, 0, -4, OTF2_IO_SEEK_FROM_END, 96);
    OTF2_EvtWriter_IoChangeStatusFlags(w, NULL, 303, 0, OTF2_IO_STATUS_FLAG_SYNC);
    OTF2_EvtWriter_IoOperationBegin(w, NULL, 304, 0, OTF2_IO_OPERATION_MODE_WRITE, 0, 512, 33);
    OTF2_EvtWriter_IoOperationTest(w, NULL, 305, 0, 33);
    OTF2_EvtWriter_IoOperationIssued(w, NULL, 306, 0, 33);
    OTF2_EvtWriter_IoOperationComplete(w, NULL, 307, 0, 512, 33);
    OTF2_EvtWriter_IoOperationBegin(w, NULL, 308, 0, OTF2_IO_OPERATION_MODE_READ, 0, 64, 34);
    OTF2_EvtWriter_IoOperationCancelled(w, NULL, 309, 0, 34);
    OTF2_EvtWriter_IoAcquireLock(w, NULL, 310, 0, OTF2_LOCK_SHARED);
    OTF2_EvtWriter_IoReleaseLock(w, NULL, 311, 0, OTF2_LOCK_SHARED);
    OTF2_EvtWriter_IoTryLock(w, NULL, 312, 0, OTF2_LOCK_EXCLUSIVE);
    OTF2_EvtWriter_IoDeleteFile(w, NULL, 313, 0, 0);
    OTF2_EvtWriter_IoDestroyHandle(w, NULL, 314, 0);
    OTF2_EvtWriter_Leave(w, NULL, 400, 0);
    OTF2_EvtWriter_ProgramEnd(w, NULL, 410, -1);
}

static void write_stream(OTF2_EvtWriter *w)
{
    const OTF2_Type types[] = {OTF2_TYPE_UINT64, OTF2_TYPE_INT64, OTF2_TYPE_DOUBLE};
    const OTF2_MetricValue values[] = {
        {.unsigned_int = UINT64_MAX}, {.signed_int = INT64_MIN}, {.floating_point = 1.5}};
    OTF2_EvtWriter_MpiIrecvRequest(w, NULL, 10, 99);
    OTF2_EvtWriter_MpiRecv(w, NULL, 110, 0, 0, 5, 1000);
    OTF2_EvtWriter_MpiIrecv(w, NULL, 111, 0, 0, 5, 1001, 99);
    OTF2_EvtWriter_Metric(w, NULL, 120, 0, 3, types, values);
    OTF2_EvtWriter_Metric(w, NULL, 121, 1, 1, types, values);
    OTF2_EvtWriter_RmaWinCreate(w, NULL, 200, 0);
    OTF2_EvtWriter_RmaCollectiveBegin(w, NULL, 201);
    OTF2_EvtWriter_RmaCollectiveEnd(w, NULL, 202, OTF2_COLLECTIVE_OP_BARRIER, OTF2_RMA_SYNC_LEVEL_PROCESS, 0, 0, 1, 2);
    OTF2_EvtWriter_RmaGroupSync(w, NULL, 203, OTF2_RMA_SYNC_LEVEL_MEMORY, 0, 1);
    OTF2_EvtWriter_RmaRequestLock(w, NULL, 204, 0, 0, 4, OTF2_LOCK_EXCLUSIVE);
    OTF2_EvtWriter_RmaAcquireLock(w, NULL, 205, 0, 0, 4, OTF2_LOCK_EXCLUSIVE);
    OTF2_EvtWriter_RmaTryLock(w, NULL, 206, 0, 0, 4, OTF2_LOCK_SHARED);
    OTF2_EvtWriter_RmaReleaseLock(w, NULL, 207, 0, 0, 4);
    OTF2_EvtWriter_RmaSync(w, NULL, 208, 0, 0, OTF2_RMA_SYNC_TYPE_NOTIFY_IN);
    OTF2_EvtWriter_RmaWaitChange(w, NULL, 209, 0);
    OTF2_EvtWriter_RmaPut(w, NULL, 210, 0, 0, 4096, 1);
    OTF2_EvtWriter_RmaOpTest(w, NULL, 211, 0, 1);
    OTF2_EvtWriter_RmaOpCompleteBlocking(w, NULL, 212, 0, 1);
    OTF2_EvtWriter_RmaGet(w, NULL, 213, 0, 0, 8192, 2);
    OTF2_EvtWriter_RmaOpCompleteNonBlocking(w, NULL, 214, 0, 2);
    OTF2_EvtWriter_RmaOpCompleteRemote(w, NULL, 215, 0, 2);
    OTF2_EvtWriter_RmaAtomic(w, NULL, 216, 0, 0, OTF2_RMA_ATOMIC_TYPE_SWAP, 8, 8, 3);
    OTF2_EvtWriter_RmaOpCompleteBlocking(w, NULL, 217, 0, 3);
    OTF2_EvtWriter_RmaWinDestroy(w, NULL, 218, 0);
}

static void write_more_definitions(test_archive *a)
{
    OTF2_GlobalDefWriter *d = a->defs;
    static const OTF2_Type types[] = {OTF2_TYPE_INT8,   OTF2_TYPE_UINT64, OTF2_TYPE_DOUBLE,  OTF2_TYPE_FLOAT,
                                      OTF2_TYPE_STRING, OTF2_TYPE_REGION, OTF2_TYPE_LOCATION};
    for (OTF2_AttributeRef i = 0; i < 7; i++) {
        char name[16];
        snprintf(name, sizeof name, "attribute %u", i);
        OTF2_GlobalDefWriter_WriteAttribute(d, i, archive_string(a, name), 0, types[i]);
    }
    OTF2_GlobalDefWriter_WriteParameter(d, 0, archive_string(a, "text"), OTF2_PARAMETER_TYPE_STRING);
    OTF2_GlobalDefWriter_WriteParameter(d, 1, archive_string(a, "int"), OTF2_PARAMETER_TYPE_INT64);
    OTF2_GlobalDefWriter_WriteParameter(d, 2, archive_string(a, "uint"), OTF2_PARAMETER_TYPE_UINT64);
    OTF2_GlobalDefWriter_WriteGroup(d, 0, 0, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI, 0, 2,
                                    (const uint64_t[]){0, UINT64_C(4294967296)});
    OTF2_GlobalDefWriter_WriteGroup(d, 1, archive_string(a, "both"), OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, 0,
                                    2, (const uint64_t[]){0, 1});
    OTF2_GlobalDefWriter_WriteComm(d, 0, archive_string(a, "world"), 1, OTF2_UNDEFINED_COMM, 0);
    OTF2_GlobalDefWriter_WriteRmaWin(d, 0, archive_string(a, "window"), 0, 0);
    OTF2_GlobalDefWriter_WriteMetricMember(d, 0, archive_string(a, "allocated"), 0, OTF2_METRIC_TYPE_USER,
                                           OTF2_METRIC_ABSOLUTE_POINT, OTF2_TYPE_UINT64, OTF2_BASE_DECIMAL, 0,
                                           archive_string(a, "bytes"));
    OTF2_GlobalDefWriter_WriteMetricMember(d, 1, archive_string(a, "change"), 0, OTF2_METRIC_TYPE_USER,
                                           OTF2_METRIC_RELATIVE_POINT, OTF2_TYPE_INT64, OTF2_BASE_BINARY, 10,
                                           archive_string(a, "B"));
    OTF2_GlobalDefWriter_WriteMetricMember(d, 2, archive_string(a, "load"), 0, OTF2_METRIC_TYPE_OTHER,
                                           OTF2_METRIC_ABSOLUTE_NEXT, OTF2_TYPE_DOUBLE, OTF2_BASE_DECIMAL, 0, 0);
    OTF2_GlobalDefWriter_WriteMetricClass(d, 0, 3, (const OTF2_MetricMemberRef[]){0, 1, 2}, OTF2_METRIC_SYNCHRONOUS,
                                          OTF2_RECORDER_KIND_CPU);
    OTF2_GlobalDefWriter_WriteMetricClass(d, 2, 1, (const OTF2_MetricMemberRef[]){0}, OTF2_METRIC_ASYNCHRONOUS,
                                          OTF2_RECORDER_KIND_GPU);
    OTF2_GlobalDefWriter_WriteMetricInstance(d, 1, 2, UINT64_C(4294967296), OTF2_SCOPE_LOCATION_GROUP, 0);
    OTF2_GlobalDefWriter_WriteSourceCodeLocation(d, 0, archive_string(a, "main.c"), 12);
    OTF2_GlobalDefWriter_WriteCallingContext(d, 0, 0, 0, OTF2_UNDEFINED_CALLING_CONTEXT);
    OTF2_GlobalDefWriter_WriteCallingContext(d, 1, 1, 0, 0);
    OTF2_GlobalDefWriter_WriteInterruptGenerator(d, 0, archive_string(a, "timer"), OTF2_INTERRUPT_GENERATOR_MODE_TIME,
                                                 OTF2_BASE_DECIMAL, -3, 10);
    OTF2_GlobalDefWriter_WriteIoRegularFile(d, 0, archive_string(a, "/data"), 0);
    OTF2_GlobalDefWriter_WriteIoParadigm(d, 0, archive_string(a, "POSIX"), archive_string(a, "POSIX I/O"),
                                         OTF2_IO_PARADIGM_CLASS_SERIAL, OTF2_IO_PARADIGM_FLAG_OS, 0, NULL, NULL, NULL);
    for (OTF2_IoHandleRef i = 0; i < 2; i++)
        OTF2_GlobalDefWriter_WriteIoHandle(d, i, archive_string(a, i ? "copy" : "file"), 0, 0, OTF2_IO_HANDLE_FLAG_NONE,
                                           OTF2_UNDEFINED_COMM, OTF2_UNDEFINED_IO_HANDLE);
}

static void write_tree(test_archive *a)
{
    OTF2_GlobalDefWriter *d = a->defs;
    OTF2_AttributeValue value = {.stringRef = 2};
    OTF2_GlobalDefWriter_WriteClockProperties(d, 1000000000, 5, 1000, UINT64_C(1700000000000000000));
    OTF2_GlobalDefWriter_WriteSystemTreeNode(d, 0, archive_string(a, "host"), archive_string(a, "machine"),
                                             OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(d, 0, OTF2_SYSTEM_TREE_DOMAIN_MACHINE);
    OTF2_GlobalDefWriter_WriteSystemTreeNodeProperty(d, 0, archive_string(a, "vendor"), OTF2_TYPE_STRING, value);
    OTF2_GlobalDefWriter_WriteLocationGroup(d, 0, archive_string(a, "MPI Rank 3"), OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                            OTF2_UNDEFINED_LOCATION_GROUP);
    OTF2_GlobalDefWriter_WriteLocationGroup(d, 1, archive_string(a, "GPU 5"), OTF2_LOCATION_GROUP_TYPE_ACCELERATOR, 0,
                                            0);
    OTF2_GlobalDefWriter_WriteLocation(d, 0, archive_string(a, "main thread"), OTF2_LOCATION_TYPE_CPU_THREAD,
                                       a->counts[0], 0);
    OTF2_GlobalDefWriter_WriteLocation(d, UINT64_C(4294967296), archive_string(a, "CUDA[5:7]"),
                                       OTF2_LOCATION_TYPE_ACCELERATOR_STREAM, a->counts[1], 1);
    archive_region(a, 0, "outer");
    archive_region(a, 1, "inner");
}

static void write_markers(const test_archive *a)
{
    OTF2_Reader *reader = OTF2_Reader_Open(a->anchor);
    OTF2_Reader_SetSerialCollectiveCallbacks(reader);
    OTF2_MarkerWriter *writer = OTF2_Reader_GetMarkerWriter(reader);
    assert_non_null(writer);
    OTF2_MarkerWriter_WriteDefMarker(writer, 4, "group", "category", OTF2_SEVERITY_HIGH);
    OTF2_MarkerWriter_WriteMarker(writer, 50, 7, 4, OTF2_MARKER_SCOPE_LOCATION, 0, "look here");
    OTF2_MarkerWriter_WriteMarker(writer, 60, 0, 4, OTF2_MARKER_SCOPE_GLOBAL, 0, "and there");
    OTF2_Reader_CloseMarkerWriter(reader, writer);
    OTF2_Reader_Close(reader);
}

void archive_everything(test_archive *a)
{
    archive_begin(a);
    OTF2_EvtWriter *w = archive_events(a, 0);
    write_cpu_events(w);
    write_messages(w);
    write_threads(w);
    write_io(w);
    write_stream(archive_events(a, UINT64_C(4294967296)));
    archive_definitions(a, NULL, 0);
    archive_string(a, "program");
    archive_string(a, "--fast");
    archive_string(a, "\xff bad");
    write_tree(a);
    write_more_definitions(a);
    archive_end(a);
    write_markers(a);
}
