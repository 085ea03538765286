/* test_nvtx_abi.c - our declarations of NVTX against the real headers
 *
 * Built where nvtx3 is found. Whatever is wrong does not compile. */
#include <nvtx3/nvToolsExt.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Names that both have, for the same numbers. */
#include "capture/cuda/nvtx/abi.h"

#define EQUAL(ours, real) _Static_assert((long long)(ours) == (long long)(real), #ours " is " #real)
#define FIELD(ours, field, real, real_field)                                                                           \
    EQUAL(offsetof(ours, field), offsetof(real, real_field));                                                          \
    EQUAL(sizeof(((ours *)0)->field), sizeof(((real *)0)->real_field))

EQUAL(NVTX_TABLE_CALLBACKS, NVTX_ETID_CALLBACKS);
EQUAL(NVTX_TABLE_VERSION, NVTX_ETID_VERSIONINFO);
EQUAL(NVTX_MODULE_CORE, NVTX_CB_MODULE_CORE);
EQUAL(NVTX_MODULE_CUDA, NVTX_CB_MODULE_CUDA);
EQUAL(NVTX_MODULE_CUDART, NVTX_CB_MODULE_CUDART);
EQUAL(NVTX_MODULE_CORE2, NVTX_CB_MODULE_CORE2);
FIELD(nvtx_callbacks_table, bytes, NvtxExportTableCallbacks, struct_size);
FIELD(nvtx_callbacks_table, get_module, NvtxExportTableCallbacks, GetModuleFunctionTable);
FIELD(nvtx_version_table, bytes, NvtxExportTableVersionInfo, struct_size);
FIELD(nvtx_version_table, version, NvtxExportTableVersionInfo, version);
FIELD(nvtx_version_table, set_tool_version, NvtxExportTableVersionInfo, SetInjectionNvtxVersion);

EQUAL(NVTX_MARK_EX, NVTX_CBID_CORE_MarkEx);
EQUAL(NVTX_MARK_A, NVTX_CBID_CORE_MarkA);
EQUAL(NVTX_MARK_W, NVTX_CBID_CORE_MarkW);
EQUAL(NVTX_RANGE_START_EX, NVTX_CBID_CORE_RangeStartEx);
EQUAL(NVTX_RANGE_START_A, NVTX_CBID_CORE_RangeStartA);
EQUAL(NVTX_RANGE_START_W, NVTX_CBID_CORE_RangeStartW);
EQUAL(NVTX_RANGE_END, NVTX_CBID_CORE_RangeEnd);
EQUAL(NVTX_PUSH_EX, NVTX_CBID_CORE_RangePushEx);
EQUAL(NVTX_PUSH_A, NVTX_CBID_CORE_RangePushA);
EQUAL(NVTX_PUSH_W, NVTX_CBID_CORE_RangePushW);
EQUAL(NVTX_POP, NVTX_CBID_CORE_RangePop);
EQUAL(NVTX_NAME_CATEGORY_A, NVTX_CBID_CORE_NameCategoryA);
EQUAL(NVTX_NAME_CATEGORY_W, NVTX_CBID_CORE_NameCategoryW);
EQUAL(NVTX_NAME_THREAD_A, NVTX_CBID_CORE_NameOsThreadA);
EQUAL(NVTX_NAME_THREAD_W, NVTX_CBID_CORE_NameOsThreadW);
EQUAL(NVTX_DOMAIN_MARK_EX, NVTX_CBID_CORE2_DomainMarkEx);
EQUAL(NVTX_DOMAIN_RANGE_START_EX, NVTX_CBID_CORE2_DomainRangeStartEx);
EQUAL(NVTX_DOMAIN_RANGE_END, NVTX_CBID_CORE2_DomainRangeEnd);
EQUAL(NVTX_DOMAIN_PUSH_EX, NVTX_CBID_CORE2_DomainRangePushEx);
EQUAL(NVTX_DOMAIN_POP, NVTX_CBID_CORE2_DomainRangePop);
EQUAL(NVTX_DOMAIN_RESOURCE_CREATE, NVTX_CBID_CORE2_DomainResourceCreate);
EQUAL(NVTX_DOMAIN_RESOURCE_DESTROY, NVTX_CBID_CORE2_DomainResourceDestroy);
EQUAL(NVTX_DOMAIN_NAME_CATEGORY_A, NVTX_CBID_CORE2_DomainNameCategoryA);
EQUAL(NVTX_DOMAIN_NAME_CATEGORY_W, NVTX_CBID_CORE2_DomainNameCategoryW);
EQUAL(NVTX_DOMAIN_REGISTER_A, NVTX_CBID_CORE2_DomainRegisterStringA);
EQUAL(NVTX_DOMAIN_REGISTER_W, NVTX_CBID_CORE2_DomainRegisterStringW);
EQUAL(NVTX_DOMAIN_CREATE_A, NVTX_CBID_CORE2_DomainCreateA);
EQUAL(NVTX_DOMAIN_CREATE_W, NVTX_CBID_CORE2_DomainCreateW);
EQUAL(NVTX_DOMAIN_DESTROY, NVTX_CBID_CORE2_DomainDestroy);
EQUAL(NVTX_INITIALIZE, NVTX_CBID_CORE2_Initialize);
EQUAL(NVTX_CUDART_NAME_STREAM_A, NVTX_CBID_CUDART_NameCudaStreamA);
EQUAL(NVTX_CUDART_NAME_STREAM_W, NVTX_CBID_CUDART_NameCudaStreamW);
EQUAL(NVTX_CUDA_NAME_STREAM_A, NVTX_CBID_CUDA_NameCuStreamA);
EQUAL(NVTX_CUDA_NAME_STREAM_W, NVTX_CBID_CUDA_NameCuStreamW);

EQUAL(NVTX_TEXT_NONE, NVTX_MESSAGE_UNKNOWN);
EQUAL(NVTX_TEXT_ASCII, NVTX_MESSAGE_TYPE_ASCII);
EQUAL(NVTX_TEXT_WIDE, NVTX_MESSAGE_TYPE_UNICODE);
EQUAL(NVTX_TEXT_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED);
EQUAL(NVTX_COLOUR_NONE, NVTX_COLOR_UNKNOWN);
EQUAL(NVTX_COLOUR_ARGB, NVTX_COLOR_ARGB);
EQUAL(NVTX_PAYLOAD_NONE, NVTX_PAYLOAD_UNKNOWN);
EQUAL(NVTX_PAYLOAD_UINT64, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64);
EQUAL(NVTX_PAYLOAD_INT64, NVTX_PAYLOAD_TYPE_INT64);
EQUAL(NVTX_PAYLOAD_DOUBLE, NVTX_PAYLOAD_TYPE_DOUBLE);
EQUAL(NVTX_PAYLOAD_UINT32, NVTX_PAYLOAD_TYPE_UNSIGNED_INT32);
EQUAL(NVTX_PAYLOAD_INT32, NVTX_PAYLOAD_TYPE_INT32);
EQUAL(NVTX_PAYLOAD_FLOAT, NVTX_PAYLOAD_TYPE_FLOAT);

FIELD(nvtx_event, version, nvtxEventAttributes_t, version);
FIELD(nvtx_event, bytes, nvtxEventAttributes_t, size);
FIELD(nvtx_event, category, nvtxEventAttributes_t, category);
FIELD(nvtx_event, colour_type, nvtxEventAttributes_t, colorType);
FIELD(nvtx_event, colour, nvtxEventAttributes_t, color);
FIELD(nvtx_event, payload_type, nvtxEventAttributes_t, payloadType);
FIELD(nvtx_event, payload, nvtxEventAttributes_t, payload);
FIELD(nvtx_event, text_type, nvtxEventAttributes_t, messageType);
FIELD(nvtx_event, text, nvtxEventAttributes_t, message);
EQUAL(sizeof(nvtx_event), sizeof(nvtxEventAttributes_t));
EQUAL(sizeof(nvtx_range), sizeof(nvtxRangeId_t));

static void test_nvtx_abi__an_event_of_the_program_reads_as_ours(void **state)
{
    (void)state;
    const nvtxEventAttributes_t real = {
        .version = NVTX_VERSION,
        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
        .payloadType = NVTX_PAYLOAD_TYPE_DOUBLE,
        .payload.dValue = 2.5,
        .messageType = NVTX_MESSAGE_TYPE_ASCII,
        .message.ascii = "step",
    };
    nvtx_event ours;
    memcpy(&ours, &real, sizeof ours);
    assert_int_equal(ours.bytes, sizeof ours);
    assert_true(ours.payload.f64 == 2.5);
    assert_string_equal(ours.text.ascii, "step");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nvtx_abi__an_event_of_the_program_reads_as_ours)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
